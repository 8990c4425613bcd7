//! Banks of `tpcb` and their fault injectors: for each audit of the stored data and each measure of the ledger at least one.

use crate::injected::{Injected, Injector, RANDOM_CALLS};
use crate::tamper::Tampering;
use contract::conformance::{Conformance, Disagreement};
use model::Session;
use sql::Dialect;
use workload_tpcb::conformance::{ConformancePlan, conform};
use workload_tpcb::{Call, Cardinality, Stmt, Tpcb, catalogue};

/// Three branches, so that who takes the wrong one is seen, and few accounts, so that each is used.
const SIZE: Cardinality = Cardinality::of(3, 100, 10);

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

impl Injected for Tpcb {
    const SIZE: Cardinality = SIZE;
    const CALLS: u32 = 1_500;
    const MIX_CALLS: u64 = 800;
    const CONFORMED: [u32; 2] = [50, 0];
    const INJECTORS: &'static [Injector<Tpcb>] = &[
        Injector::edits(
            "accounts get nothing",
            &[(Stmt::AddToAccount.id(), "abalance + ", "abalance + 0 * ")],
            &["account-history", "balance-sums", "ledger"],
        ),
        Injector::edits(
            "accounts are written absolutely",
            &[(Stmt::AddToAccount.id(), "abalance + ", "0 * abalance + ")],
            &["account-history", "balance-sums", "ledger"],
        ),
        Injector::edits(
            "a neighbour's account gets the amount",
            &[(Stmt::AddToAccount.id(), "aid = ?1", "aid = ?1 - (?1 + 1) % 2")],
            &["account-history"],
        ),
        Injector::edits(
            "a neighbour's account gets the amount, and history says so",
            &[
                (Stmt::AddToAccount.id(), "aid = ?1", "aid = ?1 - (?1 + 1) % 2"),
                (Stmt::InsertHistory.id(), "?3,", "?3 - (?3 + 1) % 2,"),
            ],
            &["account-spread", "ledger"],
        ),
        Injector::edits(
            "tellers get nothing",
            &[(Stmt::AddToTeller.id(), "tbalance + ", "tbalance + 0 * ")],
            &["balance-sums", "teller-history", "ledger"],
        ),
        Injector::edits(
            "another teller gets the amount",
            &[(Stmt::AddToTeller.id(), "tid = ?1", "tid = 1 + ?1 % 30")],
            &["teller-history", "ledger"],
        ),
        Injector::edits(
            "branches get nothing",
            &[(Stmt::AddToBranch.id(), "bbalance + ", "bbalance + 0 * ")],
            &["balance-sums", "branch-history", "history-sum", "ledger"],
        ),
        Injector::edits(
            "all amounts go to one branch",
            &[(Stmt::AddToBranch.id(), "bid = ?1", "bid = 1 + 0 * ?1")],
            &["branch-history", "ledger"],
        ),
        Injector::edits(
            "history says a cent more",
            &[(Stmt::InsertHistory.id(), "?3, ?4", "?3, ?4 + 1")],
            &["account-history", "branch-history", "history-sum", "teller-history", "ledger"],
        ),
        Injector::edits(
            "history says more than can be asked for",
            &[(Stmt::InsertHistory.id(), "?3, ?4", "?3, ?4 + 5000")],
            AMOUNTS_TOO_LARGE,
        ),
        Injector::tampered(
            "a call is acknowledged and never committed",
            Tampering::ForgetsCommit(Stmt::InsertHistory.id(), 5),
            &["ledger"],
        ),
        Injector::after(
            "an account loses its balance",
            &["update pgbench_accounts set abalance = null where aid = 1"],
            &["balance-sums", "missing-balances", "ledger"],
        ),
        Injector::after(
            "an account moves to another branch",
            &["update pgbench_accounts set bid = 2 where aid = 1"],
            &["account-branches", "ledger"],
        ),
        Injector::after(
            "an account loses its filler, so that its row is shorter",
            &["update pgbench_accounts set filler = null where aid = 1"],
            &["account-branches"],
        ),
        Injector::after(
            "a teller moves to another branch",
            &["update pgbench_tellers set bid = 2 where tid = 1"],
            &["teller-branches"],
        ),
        Injector::after(
            "an account appears",
            &["insert into pgbench_accounts (aid, bid, abalance, filler) values (301, 3, 0, '')"],
            &["account-branches", "row-counts"],
        ),
        Injector::after(
            "history names an account that is not there",
            &["insert into pgbench_history (tid, bid, aid, delta, mtime) values (1, 1, 999, 0, {now})"],
            &["history-references", "ledger"],
        ),
        Injector::after(
            "history is dated years ago",
            &["update pgbench_history set mtime = {old}"],
            &["history-dates"],
        ),
        Injector::after(
            "an account gets a unit that no one moved",
            &["update pgbench_accounts set abalance = abalance + 1 where aid = 1"],
            &["account-history", "balance-sums", "ledger"],
        ),
        Injector::after(
            "a teller gets a unit that no one moved",
            &["update pgbench_tellers set tbalance = tbalance + 1 where tid = 1"],
            &["balance-sums", "teller-history", "ledger"],
        ),
        Injector::after(
            "a branch gets a unit that no one moved",
            &["update pgbench_branches set bbalance = bbalance + 1 where bid = 1"],
            &["balance-sums", "branch-history", "history-sum", "ledger"],
        ),
        Injector::after(
            "history has amounts that cannot be asked for",
            &["update pgbench_history set delta = delta + 5000"],
            AMOUNTS_TOO_LARGE,
        ),
        Injector::after(
            "history takes no money out",
            &["update pgbench_history set delta = abs(delta)"],
            &["account-history", "amount-mean", "branch-history", "history-sum", "teller-history", "ledger"],
        ),
        Injector::after(
            "history has small amounts",
            &["update pgbench_history set delta = delta / 10"],
            &[
                "account-history",
                "amount-spread",
                "branch-history",
                "history-sum",
                "teller-history",
                "ledger",
            ],
        ),
        Injector::after(
            "history is of a third of the accounts",
            &[
                "update pgbench_history set aid = aid - 100 where aid > 100",
                "update pgbench_history set aid = aid - 100 where aid > 100",
            ],
            &["account-history", "account-spread", "ledger"],
        ),
        Injector::after(
            "history is of half of the tellers",
            &["update pgbench_history set tid = 15 where tid > 15"],
            &["teller-history", "teller-spread", "ledger"],
        ),
        Injector::after(
            "history is of two of the branches",
            &["update pgbench_history set bid = 2 where bid = 3"],
            &["branch-history", "branch-spread", "ledger"],
        ),
        Injector::after(
            "history has the branches of the accounts",
            &[
                "update pgbench_history set bid = (select bid from pgbench_accounts as a where a.aid = pgbench_history.aid)",
            ],
            &["accounts-at-home", "branch-history", "ledger"],
        ),
        Injector::after(
            "history has the branches of the tellers",
            &[
                "update pgbench_history set bid = (select bid from pgbench_tellers as t where t.tid = pgbench_history.tid)",
            ],
            &["branch-history", "tellers-at-home", "ledger"],
        ),
        Injector::drawn(
            "half of the accounts are used",
            |call: &mut Call| call.aid = call.aid.div_ceil(2),
            &["account-spread"],
        ),
        Injector::drawn(
            "half of the tellers are used",
            |call: &mut Call| call.tid = call.tid.min(15),
            &["teller-spread"],
        ),
        Injector::drawn(
            "two of the branches are used",
            |call: &mut Call| call.bid = call.bid.min(2),
            &["branch-spread"],
        ),
        Injector::drawn(
            "the branch is the account's",
            |call: &mut Call| call.bid = SIZE.branch_of_account(call.aid),
            &["accounts-at-home"],
        ),
        Injector::drawn(
            "the branch is the teller's",
            |call: &mut Call| call.bid = SIZE.branch_of_teller(call.tid),
            &["tellers-at-home"],
        ),
        Injector::drawn(
            "no one takes money out",
            |call: &mut Call| call.delta = call.delta.abs(),
            &["amount-mean"],
        ),
        Injector::drawn("amounts are small", |call: &mut Call| call.delta /= 10, &["amount-spread"]),
    ];

    fn statements(dialect: Dialect) -> Vec<String> {
        catalogue(dialect).expect("kept by a test of the workload")
    }

    async fn conform<S: Session<Tpcb>>(session: &mut S) -> Result<Conformance, Disagreement> {
        conform(session, &ConformancePlan::golden(5, RANDOM_CALLS)).await
    }
}
