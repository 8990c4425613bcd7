//! Banks of `tpcb` for tests, what vouches for them, and everybody who does wrong there: for each audit of the stored data
//! and each measure of the ledger at least one.

use crate::beds::Bed;
use crate::calls::runtime;
use crate::ground::{Ground, asked, audited, execute, rows};
use crate::sabotage::said;
use crate::store::{plan, retrying};
use crate::tamper::{TamperedOpener, Tampering};
use admin::store;
use measure::Monotonic;
use model::{Effort, Inputs as _, Ledger as _, RetryingTarget, Session as _, Target as _};
use sql::{DbUrl, SqliteUrl, Value};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workload_tpcb::audit::{self, Check};
use workload_tpcb::{
    Call, Cardinality, Claims, Data, Inputs, Ledger, SqlTarget, Stmt, StoredTally, catalogue, schema,
};

/// Three branches, so that who takes the wrong one is seen, and few accounts, so that each is used.
pub const SIZE: Cardinality = Cardinality::of(3, 100, 10);

/// Calls that are enough for every saboteur.
const CALLS: u32 = 1_500;

/// The sessions that users have, on connections that may be tampered with.
pub type BankTarget<O> = RetryingTarget<SqlTarget<TamperedOpener<O>, Monotonic>>;

/// A freshly loaded bank of its own, which goes with this value.
#[derive(Debug)]
pub struct Bank {
    ground: Ground,
    /// How much was loaded.
    pub size: Cardinality,
}

/// One way to do wrong.
#[derive(Debug, Clone, Copy)]
pub struct Wrong {
    /// What goes wrong.
    pub what: &'static str,
    /// Texts in statements, and what they are replaced by; as [`said`].
    pub edits: &'static [(Stmt, &'static str, &'static str)],
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

impl Bank {
    /// A bank of that size on an engine.
    ///
    /// # Panics
    /// When it cannot be made: the test could not run.
    #[must_use]
    pub fn on<B: Bed>(size: Cardinality) -> Bank {
        let load = || {
            let schema = schema(B::DIALECT).expect("kept by a test of the workload");
            plan(Arc::new(Data::new(size)), schema, "tpcb", u64::from(size.branches))
        };
        let ground = match B::ENGINE {
            Some(engine) => {
                Ground::copied(engine, &format!("tpcb_{}_{}", size.branches, size.accounts), load)
            }
            None => {
                let folder = tempfile::tempdir().expect("a test needs a folder");
                let url = SqliteUrl::file(folder.path().join("tpcb.db"));
                store(&url)
                    .load(load(), &mut |_| {}, &AtomicBool::new(false))
                    .expect("a test needs its data");
                let url: SqliteUrl = format!("sqlite:{}?synchronous=off", url.path.display())
                    .parse()
                    .expect("the test's own URL");
                Ground::Folder { folder, url }
            }
        };
        Bank { ground, size }
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> DbUrl {
        self.ground.place()
    }

    /// The sessions that users have.
    #[must_use]
    pub fn target<B: Bed>(&self) -> BankTarget<B::Opener> {
        self.sabotaged::<B>(&HONEST)
    }

    /// The same with a saboteur in them.
    ///
    /// # Panics
    /// When an edit does not fit its statement.
    #[must_use]
    pub fn sabotaged<B: Bed>(&self, wrong: &Wrong) -> BankTarget<B::Opener> {
        let mut texts = catalogue(B::DIALECT).expect("kept by a test of the workload");
        for (stmt, from, to) in wrong.edits {
            let (text, from) = (&mut texts[*stmt as usize], said(B::DIALECT, from));
            assert!(text.contains(&from), "`{from}` is not in {text}");
            *text = text.replace(&from, &said(B::DIALECT, to));
        }
        let opener = B::opener(&self.place(), texts);
        retrying(SqlTarget::new(TamperedOpener { opener, tampering: wrong.tampering }, Monotonic::start()))
    }

    /// What it says of itself.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn tallies(&self) -> Vec<StoredTally> {
        let query = audit::tallies(self.place().dialect()).expect("kept by a test of the workload");
        let tally = |row: &Vec<Value>| {
            let row: Vec<i64> = row.iter().filter_map(Value::int).collect();
            StoredTally::from_row(&row).expect("whole numbers")
        };
        rows(&self.place(), &query, &[]).iter().map(tally).collect()
    }

    /// Names of the audits that fail; `ledger` where the store is not what was acknowledged since `before`.
    ///
    /// # Panics
    /// When an audit could not be run.
    #[must_use]
    pub fn failed(&self, before: &[StoredTally], claims: &Claims) -> BTreeSet<String> {
        let context = audit::Context { size: self.size, history_whole: true };
        let groups = audit::audits(self.place().dialect()).expect("kept by a test of the workload");
        let queries = groups.iter().map(|group| {
            let queries = group.audits.iter().map(|audit| (&audit.name, &audit.query, audit.rows_max));
            asked(&group.prepare, queries, context.params())
        });
        let found = audited(&self.place(), &queries.collect::<Vec<_>>());
        let all = groups.into_iter().flat_map(|group| group.audits).zip(found);
        let failed = all.filter(|(audit, rows)| audit.judge(rows, &context).verdict == Check::Failed);
        let ledger = claims.audit(before, &self.tallies()).expect("the rows stay what they are");
        let missed = ledger.iter().any(|found| !found.violations.is_empty());
        failed.map(|(audit, _)| audit.name).chain(missed.then(|| "ledger".to_owned())).collect()
    }
}

/// Names of what notices a saboteur after some calls on a fresh bank.
///
/// # Panics
/// When a call fails.
#[must_use]
pub fn noticed<B: Bed>(wrong: &Wrong) -> BTreeSet<String> {
    let bank = Bank::on::<B>(SIZE);
    let before = bank.tallies();
    let target = bank.sabotaged::<B>(wrong);
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
    let after: Vec<String> = wrong.after.iter().map(|text| said(B::DIALECT, text)).collect();
    execute(&bank.place(), &after);
    bank.failed(&before, &Claims::of(&ledger, true))
}

const fn edits(
    what: &'static str,
    edits: &'static [(Stmt, &'static str, &'static str)],
    caught_by: &'static [&'static str],
) -> Wrong {
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

/// All of them.
pub const WRONGS: &[Wrong] = &[
    edits(
        "accounts get nothing",
        &[(Stmt::AddToAccount, "abalance + ", "abalance + 0 * ")],
        &["account-history", "balance-sums", "ledger"],
    ),
    edits(
        "accounts are written absolutely",
        &[(Stmt::AddToAccount, "abalance + ", "0 * abalance + ")],
        &["account-history", "balance-sums", "ledger"],
    ),
    edits(
        "a neighbour's account gets the amount",
        &[(Stmt::AddToAccount, "aid = ?1", "aid = ?1 - (?1 + 1) % 2")],
        &["account-history"],
    ),
    edits(
        "tellers get nothing",
        &[(Stmt::AddToTeller, "tbalance + ", "tbalance + 0 * ")],
        &["balance-sums", "teller-history", "ledger"],
    ),
    edits(
        "another teller gets the amount",
        &[(Stmt::AddToTeller, "tid = ?1", "tid = 1 + ?1 % 30")],
        &["teller-history", "ledger"],
    ),
    edits(
        "branches get nothing",
        &[(Stmt::AddToBranch, "bbalance + ", "bbalance + 0 * ")],
        &["balance-sums", "branch-history", "history-sum", "ledger"],
    ),
    edits(
        "all amounts go to one branch",
        &[(Stmt::AddToBranch, "bid = ?1", "bid = 1 + 0 * ?1")],
        &["branch-history", "ledger"],
    ),
    edits(
        "history says a cent more",
        &[(Stmt::InsertHistory, "?3, ?4", "?3, ?4 + 1")],
        &["account-history", "branch-history", "history-sum", "teller-history", "ledger"],
    ),
    edits(
        "history says more than can be asked for",
        &[(Stmt::InsertHistory, "?3, ?4", "?3, ?4 + 5000")],
        &[
            "account-history",
            "amount-mean",
            "amount-spread",
            "branch-history",
            "history-amounts",
            "history-sum",
            "teller-history",
            "ledger",
        ],
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
