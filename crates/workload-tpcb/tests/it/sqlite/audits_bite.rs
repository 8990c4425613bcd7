//! Every audit passes on what a right run leaves behind, and fails on what a wrong one does.

use super::support::{Bank, run};
use model::{Inputs as _, Ledger as _};
use std::collections::BTreeSet;
use workload_tpcb::audit::AuditOutcome;
use workload_tpcb::{Call, Cardinality, Claims, Inputs, Ledger, Stmt};

const SIZE: Cardinality = Cardinality::of(3, 100, 10);
const CALLS: u32 = 3_000;

/// A bank after calls whose statements, and which themselves, may have been tampered with; and their ledger.
fn used(tamper: impl FnOnce(&mut Vec<String>), change: impl FnMut(&mut Call)) -> (Bank, Ledger) {
    used_of(SIZE, tamper, change)
}

fn used_of(
    size: Cardinality,
    tamper: impl FnOnce(&mut Vec<String>),
    mut change: impl FnMut(&mut Call),
) -> (Bank, Ledger) {
    let bank = Bank::new(size);
    let mut session = bank.session(|statements| {
        tamper(statements);
    });
    let (mut inputs, mut ledger) = (Inputs::new(size, 11, 0), Ledger::new(size));
    for _ in 0..CALLS {
        let mut call = inputs.draw();
        change(&mut call);
        let (result, _) = run(&mut session, &call);
        ledger.post(&call, &result);
    }
    (bank, ledger)
}

fn honest() -> (Bank, Ledger) {
    used(|_| {}, |_| {})
}

fn replace(stmt: Stmt, from: &'static str, to: &'static str) -> impl FnOnce(&mut Vec<String>) {
    move |statements| {
        let text = &mut statements[stmt as usize];
        assert!(text.contains(from), "{text}");
        *text = text.replace(from, to);
    }
}

/// Sentences of the ledger audit.
fn ledger_violations(bank: &Bank, ledger: &Ledger) -> Vec<String> {
    let before = Bank::new(SIZE).tallies();
    let findings = Claims::of(ledger, true).audit(&before, &bank.tallies()).unwrap();
    findings.into_iter().flat_map(|finding| finding.violations).collect()
}

#[test]
fn a_right_run_passes_everything() {
    let (bank, ledger) = honest();
    for whole in [true, false] {
        for (name, finding) in bank.audit(whole) {
            assert_eq!(finding.verdict, AuditOutcome::Passed, "{name}: {finding:?}");
        }
    }
    assert_eq!(ledger_violations(&bank, &ledger), [""; 0]);
}

#[test]
fn a_store_of_several_is_audited_by_the_ids_of_the_whole() {
    let size = Cardinality { shards: 2, ..Cardinality::of(5, 100, 10) }.part(1);
    let (bank, ledger) = used_of(size, |_| {}, |_| {});
    for (name, finding) in bank.audit(true) {
        assert_eq!(finding.verdict, AuditOutcome::Passed, "{name}: {finding:?}");
    }
    let findings = Claims::of(&ledger, true).audit(&Bank::new(size).tallies(), &bank.tallies()).unwrap();
    assert!(findings.iter().all(|finding| finding.violations.is_empty()), "{findings:?}");
    // That of another store is another, though it has as many rows.
    let elsewhere = Bank::new(Cardinality { first: 0, ..size });
    assert_eq!(elsewhere.failed(true), [""; 0]);
    bank.execute("update pgbench_tellers set tid = 1, bid = 1 where tid = 21");
    assert!(bank.failed(true).contains(&"row-counts".to_owned()));
}

#[test]
fn a_bank_that_was_only_loaded_fails_nothing_and_has_nothing_to_show() {
    let bank = Bank::new(SIZE);
    assert_eq!(bank.failed(true), [""; 0]);
    let told: Vec<String> = bank
        .audit(true)
        .into_iter()
        .filter(|(_, finding)| finding.verdict == AuditOutcome::Passed)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(told.len(), 12, "{told:?}");
}

/// What was done to the tables of a used bank, and what must then be found.
const TAMPERED: &[(&str, &[&str])] = &[
    (
        "update pgbench_accounts set abalance = abalance + 7 where aid = 5",
        &["account-history", "balance-sums"],
    ),
    (
        "update pgbench_accounts set abalance = abalance + case aid when 5 then 7 else -7 end where aid in (5, 6)",
        &["account-history"],
    ),
    (
        "update pgbench_tellers set tbalance = tbalance + case tid when 5 then 7 else -7 end where tid in (5, 6)",
        &["teller-history"],
    ),
    (
        "update pgbench_branches set bbalance = bbalance + case bid when 1 then 7 else -7 end where bid in (1, 2)",
        &["branch-history"],
    ),
    ("update pgbench_tellers set tbalance = tbalance + 7 where tid = 1", &["balance-sums", "teller-history"]),
    (
        "update pgbench_branches set bbalance = bbalance + 7 where bid = 1",
        &["balance-sums", "branch-history", "history-sum"],
    ),
    (
        "delete from pgbench_history where rowid = (select min(rowid) from pgbench_history where delta <> 0)",
        &["account-history", "branch-history", "history-sum", "teller-history"],
    ),
    (
        "insert into pgbench_history select * from pgbench_history where delta = (select max(delta) from pgbench_history) limit 1",
        &["account-history", "branch-history", "history-sum", "teller-history"],
    ),
    ("delete from pgbench_accounts where aid = 300", &["balance-sums", "history-references", "row-counts"]),
    ("insert into pgbench_tellers values (31, 3, 0, null)", &["row-counts", "teller-branches"]),
    (
        "update pgbench_accounts set aid = 301 where aid = 300",
        &["account-branches", "account-history", "history-references", "row-counts"],
    ),
    (
        "update pgbench_branches set bbalance = null where bid = 1",
        &["balance-sums", "history-sum", "missing-balances"],
    ),
    ("update pgbench_tellers set tbalance = null where tid = 1", &["balance-sums", "missing-balances"]),
    ("update pgbench_accounts set abalance = null where aid = 1", &["balance-sums", "missing-balances"]),
    ("update pgbench_accounts set bid = 2 where aid = 1", &["account-branches"]),
    ("update pgbench_accounts set bid = null where aid = 1", &["account-branches"]),
    ("update pgbench_accounts set filler = null where aid = 1", &["account-branches"]),
    ("update pgbench_tellers set bid = 2 where tid = 1", &["teller-branches"]),
    ("update pgbench_history set aid = 999 where rowid = 1", &["account-history", "history-references"]),
    ("update pgbench_history set tid = null where rowid = 1", &["history-references", "teller-history"]),
    ("update pgbench_history set bid = 4 where rowid = 1", &["branch-history", "history-references"]),
    ("update pgbench_history set mtime = null where rowid = 1", &["history-amounts"]),
    (
        "update pgbench_history set delta = 5001 where rowid = 1",
        &["account-history", "branch-history", "history-amounts", "history-sum", "teller-history"],
    ),
];

#[test]
fn rows_that_were_tampered_with_are_found() {
    let (bank, _) = honest();
    let original = bank.connection();
    for (tampering, expected) in TAMPERED {
        original.execute_batch("begin").unwrap();
        original.execute_batch(tampering).unwrap();
        original.execute_batch("commit").unwrap();
        let found: BTreeSet<String> = bank.failed(true).into_iter().collect();
        for name in *expected {
            assert!(found.contains(*name), "{tampering}: {name} is not among {found:?}");
        }
        restore(&bank);
    }
    assert_eq!(bank.failed(true), [""; 0], "what was restored is whole again");
}

/// Puts back what an honest run leaves behind.
fn restore(bank: &Bank) {
    let (fresh, _) = honest();
    let path: String = fresh.connection().path().unwrap().to_owned();
    let tables = ["branches", "tellers", "accounts", "history"];
    let copy: String = tables
        .map(|table| format!("delete from pgbench_{table}; insert into pgbench_{table} select * from fresh.pgbench_{table};"))
        .join("\n");
    bank.execute(&format!("attach '{path}' as fresh; begin; {copy} commit; detach fresh"));
}

/// A statement that does not what it should: what the audits find, and that the ledger finds it too.
#[test]
fn statements_that_do_something_else_are_found() {
    let check = |stmt, from, to, expected: &[&str]| {
        let (bank, ledger) = used(replace(stmt, from, to), |_| {});
        let found = bank.failed(true);
        assert_eq!(found, expected, "{stmt:?}: {from} -> {to}");
        assert!(!ledger_violations(&bank, &ledger).is_empty(), "{stmt:?}: {from} -> {to}");
    };
    check(Stmt::AddToAccount, "abalance + ?2", "abalance + 0 * ?2", &["account-history", "balance-sums"]);
    check(Stmt::AddToAccount, "abalance + ?2", "?2", &["account-history", "balance-sums"]);
    check(Stmt::AddToTeller, "tbalance + ?2", "tbalance + 0 * ?2", &["balance-sums", "teller-history"]);
    check(Stmt::AddToTeller, "tid = ?1", "tid = 1 + ?1 % 30", &["teller-history"]);
    check(
        Stmt::AddToBranch,
        "bbalance + ?2",
        "bbalance + 0 * ?2",
        &["balance-sums", "history-sum", "branch-history"],
    );
    check(Stmt::AddToBranch, "bid = ?1", "bid = 1", &["branch-history"]);
    let all = ["account-history", "history-sum", "branch-history", "teller-history"];
    check(Stmt::InsertHistory, "?4, ", "?4 + 1, ", &all);
    check(Stmt::InsertHistory, "?1, ?2, ?3", "?1, ?2, 1 + ?3 % 300", &["account-history"]);
    let none = "select ?1, ?2, ?3, ?4, unixepoch() where ?4 > -4000";
    check(
        Stmt::InsertHistory,
        "values (?1, ?2, ?3, ?4, unixepoch())",
        none,
        &[&all[..], &["amount-mean", "amount-spread"]].concat()[..],
    );
}

/// The wrong account, of the same branch: the one wrong that only a whole history shows.
#[test]
fn the_wrong_account_is_found() {
    let (bank, _) = used(replace(Stmt::AddToAccount, "aid = ?1", "aid = (?1 - 1) / 2 * 2 + 1"), |_| {});
    assert_eq!(bank.failed(true), ["account-history"]);
    let (bank, ledger) = used(replace(Stmt::AddToAccount, "aid = ?1", "aid = 1 + ?1 % 300"), |_| {});
    assert_eq!(bank.failed(true), ["account-history"]);
    // A neighbour beyond the border of the branch: the ledger sees that.
    assert!(!ledger_violations(&bank, &ledger).is_empty());
}

#[test]
fn calls_that_pgbench_would_not_draw_are_found() {
    let check = |expected: &str, change: fn(&mut Call)| {
        let found = used(|_| {}, change).0.failed(true);
        assert!(found.iter().any(|name| name == expected), "{expected} is not among {found:?}");
    };
    check("account-spread", |call| call.aid = call.aid.div_ceil(2));
    check("teller-spread", |call| call.tid = call.tid.min(15));
    check("branch-spread", |call| call.bid = call.bid.min(2));
    check("accounts-at-home", |call| call.bid = SIZE.branch_of_account(call.aid));
    check("tellers-at-home", |call| call.bid = SIZE.branch_of_teller(call.tid));
    check("amount-mean", |call| call.delta = call.delta.abs());
    check("amount-spread", |call| call.delta /= 10);
}

#[test]
fn an_acknowledged_call_that_is_not_there_is_found_by_the_ledger_alone() {
    let (bank, mut ledger) = honest();
    let lost = Call { aid: 1, tid: 1, bid: 1, delta: 1_000 };
    ledger.post(&lost, &Ok(workload_tpcb::Outcome { abalance: 0 }));
    assert_eq!(bank.failed(true), [""; 0]);
    assert_eq!(ledger_violations(&bank, &ledger).len(), 12);
}

/// `pgbench` without `-n` empties history: what cannot be told is said so, and what can be told still is.
#[test]
fn a_history_that_was_emptied_convicts_no_one() {
    let (bank, _) = honest();
    bank.execute("delete from pgbench_history");
    let before = bank.tallies();
    assert_eq!(bank.failed(false), [""; 0]);
    let not_told = |name: &str| {
        bank.audit(false)
            .iter()
            .any(|(found, finding)| found == name && finding.verdict == AuditOutcome::Inconclusive)
    };
    assert!(not_told("branch-history") && not_told("account-history") && not_told("history-sum"));

    // A run on what is there is held to its own growth.
    let (mut session, mut inputs) = (bank.session(|_| {}), Inputs::new(SIZE, 12, 0));
    let mut ledger = Ledger::new(SIZE);
    for _ in 0..200 {
        let call = inputs.draw();
        ledger.post(&call, &run(&mut session, &call).0);
    }
    drop(session);
    let findings = |ledger: &Ledger| Claims::of(ledger, true).audit(&before, &bank.tallies()).unwrap();
    assert!(findings(&ledger).iter().all(|finding| finding.violations.is_empty()));
    bank.execute("update pgbench_branches set bbalance = bbalance - 1 where bid = 2");
    assert_eq!(bank.failed(false), ["balance-sums"]);
    let found: Vec<&str> = findings(&ledger)
        .into_iter()
        .filter(|found| !found.violations.is_empty())
        .map(|found| found.name)
        .collect();
    assert_eq!(found, ["balances of branches", "balances of branches vs history"]);
}
