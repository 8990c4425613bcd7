//! Banks of `tpcb` for tests, what vouches for them, and everybody who does wrong there: for each audit of the stored data
//! and each measure of the ledger at least one.

use crate::beds::Bed;
use crate::calls::runtime;
use crate::housed::{DrivenDb, Edit, Housed, HousedTarget, RowChange};
use crate::sabotage::said;
use crate::tamper::Tampering;
use model::{Effort, Inputs as _, Ledger as _, Session as _, Target as _};
use std::collections::BTreeSet;
use workload_tpcb::{Call, Cardinality, Claims, Inputs, Ledger, Stmt, Tpcb, catalogue};

/// Three branches, so that who takes the wrong one is seen, and few accounts, so that each is used.
pub const SIZE: Cardinality = Cardinality::of(3, 100, 10);

/// Calls that are enough for every saboteur.
const CALLS: u32 = 1_500;

/// A freshly loaded bank.
pub type Bank = Housed<Tpcb>;

/// One way to do wrong.
#[derive(Debug, Clone, Copy)]
pub struct Wrong {
    /// What goes wrong.
    pub what: &'static str,
    /// Texts in statements, and what they are replaced by.
    pub edits: &'static [Edit],
    /// What goes wrong inside the connection.
    pub tampering: Tampering,
    /// What becomes of a call before it is made: of the inputs, or of everybody's rows.
    pub change: fn(&mut Call),
    /// Statements that somebody executes after the last call.
    pub after: &'static [&'static str],
    /// Every audit that notices, and no other does; measures of the ledger together as `ledger`.
    pub caught_by: &'static [&'static str],
}

/// Nobody.
pub const HONEST: Wrong = Wrong {
    what: "nothing is wrong",
    edits: &[],
    tampering: Tampering::None,
    change: |_| {},
    after: &[],
    caught_by: &[],
};

/// The sessions that users have on a bank, with a saboteur in them.
///
/// # Panics
/// When an edit does not fit its statement.
#[must_use]
pub fn sabotaged<B: Bed>(bank: &Bank, wrong: &Wrong) -> HousedTarget<Tpcb, B::Opener> {
    let texts = catalogue(B::DIALECT).expect("kept by a test of the workload");
    bank.target::<B>(texts, (), wrong.edits, wrong.tampering)
}

/// Names of what notices a saboteur after some calls on a fresh bank.
///
/// # Panics
/// When a call fails.
#[must_use]
pub fn noticed<B: Bed>(wrong: &Wrong) -> BTreeSet<String> {
    driven::<B>(wrong).failed_after(&wrong.statements::<B>())
}

/// Every change of rows after honest calls is caught by exactly the audits that it violates, and every audit catches one.
///
/// # Panics
/// When that is not so.
pub fn row_changes_are_caught<B: Bed>() {
    let changes: Vec<RowChange> = WRONGS.iter().filter_map(Wrong::row_change::<B>).collect();
    let db = driven::<B>(&HONEST);
    db.assert_caught(&changes, &db.audit_names());
}

impl Wrong {
    fn statements<B: Bed>(&self) -> Vec<String> {
        self.after.iter().map(|text| said(B::DIALECT, text)).collect()
    }

    /// Its statements after the last call, unless it has none.
    fn row_change<B: Bed>(&self) -> Option<RowChange> {
        let Wrong { what, caught_by, .. } = *self;
        (!self.after.is_empty()).then(|| RowChange { what, statements: self.statements::<B>(), caught_by })
    }
}

/// A fresh bank after the calls of a fault injector.
fn driven<B: Bed>(wrong: &Wrong) -> DrivenDb<Tpcb> {
    let bank = Bank::on::<B>(SIZE);
    let before = bank.evidence();
    let target = sabotaged::<B>(&bank, wrong);
    let mut ledger = Ledger::new(SIZE);
    runtime().block_on(async {
        let mut session = target.open(0).await.expect("a bank that was just made");
        let mut inputs = Inputs::new(SIZE, 11, 0);
        for _ in 0..CALLS {
            let mut call = inputs.draw();
            (wrong.change)(&mut call);
            let answer = session.run(&call, &mut Effort::default()).await;
            assert!(answer.is_ok(), "{}: {call:?}: {answer:?}", wrong.what);
            ledger.post(&call, &answer);
        }
    });
    DrivenDb::new(bank, before, Claims::of(&ledger, true))
}

const fn edits(what: &'static str, edits: &'static [Edit], caught_by: &'static [&'static str]) -> Wrong {
    Wrong { what, edits, caught_by, ..HONEST }
}

const fn drawn(what: &'static str, change: fn(&mut Call), caught_by: &'static [&'static str]) -> Wrong {
    Wrong { what, change, caught_by, ..HONEST }
}

const fn after(
    what: &'static str,
    after: &'static [&'static str],
    caught_by: &'static [&'static str],
) -> Wrong {
    Wrong { what, after, caught_by, ..HONEST }
}

/// What catches amounts larger than any call has.
const AMOUNTS_TOO_LARGE: &[&str] = &[
    "account-history",
    "amount-mean",
    "amount-spread",
    "branch-history",
    "history-amounts",
    "history-sum",
    "teller-history",
    "ledger",
];

/// All of them.
pub const WRONGS: &[Wrong] = &[
    edits(
        "accounts get nothing",
        &[(Stmt::AddToAccount.id(), "abalance + ", "abalance + 0 * ")],
        &["account-history", "balance-sums", "ledger"],
    ),
    edits(
        "accounts are written absolutely",
        &[(Stmt::AddToAccount.id(), "abalance + ", "0 * abalance + ")],
        &["account-history", "balance-sums", "ledger"],
    ),
    edits(
        "a neighbour's account gets the amount",
        &[(Stmt::AddToAccount.id(), "aid = ?1", "aid = ?1 - (?1 + 1) % 2")],
        &["account-history"],
    ),
    edits(
        "tellers get nothing",
        &[(Stmt::AddToTeller.id(), "tbalance + ", "tbalance + 0 * ")],
        &["balance-sums", "teller-history", "ledger"],
    ),
    edits(
        "another teller gets the amount",
        &[(Stmt::AddToTeller.id(), "tid = ?1", "tid = 1 + ?1 % 30")],
        &["teller-history", "ledger"],
    ),
    edits(
        "branches get nothing",
        &[(Stmt::AddToBranch.id(), "bbalance + ", "bbalance + 0 * ")],
        &["balance-sums", "branch-history", "history-sum", "ledger"],
    ),
    edits(
        "all amounts go to one branch",
        &[(Stmt::AddToBranch.id(), "bid = ?1", "bid = 1 + 0 * ?1")],
        &["branch-history", "ledger"],
    ),
    edits(
        "history says a cent more",
        &[(Stmt::InsertHistory.id(), "?3, ?4", "?3, ?4 + 1")],
        &["account-history", "branch-history", "history-sum", "teller-history", "ledger"],
    ),
    edits(
        "history says more than can be asked for",
        &[(Stmt::InsertHistory.id(), "?3, ?4", "?3, ?4 + 5000")],
        AMOUNTS_TOO_LARGE,
    ),
    Wrong {
        what: "a call is acknowledged and never committed",
        tampering: Tampering::ForgetsCommit(Stmt::InsertHistory.id(), 5),
        caught_by: &["ledger"],
        ..HONEST
    },
    after(
        "an account loses its balance",
        &["update pgbench_accounts set abalance = null where aid = 1"],
        &["balance-sums", "missing-balances", "ledger"],
    ),
    after(
        "an account moves to another branch",
        &["update pgbench_accounts set bid = 2 where aid = 1"],
        &["account-branches", "ledger"],
    ),
    after(
        "a teller moves to another branch",
        &["update pgbench_tellers set bid = 2 where tid = 1"],
        &["teller-branches"],
    ),
    after(
        "an account appears",
        &["insert into pgbench_accounts (aid, bid, abalance, filler) values (301, 3, 0, '')"],
        &["account-branches", "row-counts"],
    ),
    after(
        "history names an account that is not there",
        &["insert into pgbench_history (tid, bid, aid, delta, mtime) values (1, 1, 999, 0, {now})"],
        &["history-references", "ledger"],
    ),
    after(
        "an account gets a unit that nobody moved",
        &["update pgbench_accounts set abalance = abalance + 1 where aid = 1"],
        &["account-history", "balance-sums", "ledger"],
    ),
    after(
        "a teller gets a unit that nobody moved",
        &["update pgbench_tellers set tbalance = tbalance + 1 where tid = 1"],
        &["balance-sums", "teller-history", "ledger"],
    ),
    after(
        "a branch gets a unit that nobody moved",
        &["update pgbench_branches set bbalance = bbalance + 1 where bid = 1"],
        &["balance-sums", "branch-history", "history-sum", "ledger"],
    ),
    after(
        "history has amounts that cannot be asked for",
        &["update pgbench_history set delta = delta + 5000"],
        AMOUNTS_TOO_LARGE,
    ),
    after(
        "history takes no money out",
        &["update pgbench_history set delta = abs(delta)"],
        &["account-history", "amount-mean", "branch-history", "history-sum", "teller-history", "ledger"],
    ),
    after(
        "history has small amounts",
        &["update pgbench_history set delta = delta / 10"],
        &["account-history", "amount-spread", "branch-history", "history-sum", "teller-history", "ledger"],
    ),
    after(
        "history is of a third of the accounts",
        &[
            "update pgbench_history set aid = aid - 100 where aid > 100",
            "update pgbench_history set aid = aid - 100 where aid > 100",
        ],
        &["account-history", "account-spread", "ledger"],
    ),
    after(
        "history is of half of the tellers",
        &["update pgbench_history set tid = 15 where tid > 15"],
        &["teller-history", "teller-spread", "ledger"],
    ),
    after(
        "history is of two of the branches",
        &["update pgbench_history set bid = 2 where bid = 3"],
        &["branch-history", "branch-spread", "ledger"],
    ),
    after(
        "history has the branches of the accounts",
        &[
            "update pgbench_history set bid = (select bid from pgbench_accounts as a where a.aid = pgbench_history.aid)",
        ],
        &["accounts-at-home", "branch-history", "ledger"],
    ),
    after(
        "history has the branches of the tellers",
        &[
            "update pgbench_history set bid = (select bid from pgbench_tellers as t where t.tid = pgbench_history.tid)",
        ],
        &["branch-history", "tellers-at-home", "ledger"],
    ),
    drawn("half of the accounts are used", |call| call.aid = call.aid.div_ceil(2), &["account-spread"]),
    drawn("half of the tellers are used", |call| call.tid = call.tid.min(15), &["teller-spread"]),
    drawn("two of the branches are used", |call| call.bid = call.bid.min(2), &["branch-spread"]),
    drawn(
        "the branch is the account's",
        |call| call.bid = SIZE.branch_of_account(call.aid),
        &["accounts-at-home"],
    ),
    drawn(
        "the branch is the teller's",
        |call| call.bid = SIZE.branch_of_teller(call.tid),
        &["tellers-at-home"],
    ),
    drawn("nobody takes money out", |call| call.delta = call.delta.abs(), &["amount-mean"]),
    drawn("amounts are small", |call| call.delta /= 10, &["amount-spread"]),
];
