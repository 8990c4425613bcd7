//! The transaction on real SQLite: answers, what it takes, and the rows that are left behind.

use super::support::{Bank, now, rows, run};
use model::CallWork;
use workload_tpcb::conformance::{ConformancePlan, conform};
use workload_tpcb::{Call, Cardinality, Data, Inputs, Oracle, Stmt};

#[test]
fn sqlite_answers_as_the_oracle_does() {
    let plan = ConformancePlan::golden(3, 3_000);
    let bank = Bank::new(plan.size);
    let done = now(conform(&mut bank.session(|_| {}), &plan)).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!((done.golden, done.random), (53, 3_000));
    assert!(done.rejected > 100, "{done:?}");
}

#[test]
fn what_is_stored_is_what_the_oracle_holds() {
    use model::Inputs as _;
    let bank = Bank::new(Cardinality::tiny());
    let mut oracle = Oracle::new(&Data::new(Cardinality::tiny()));
    let mut session = bank.session(|_| {});
    let mut inputs = Inputs::new(Cardinality::tiny(), 9, 0);
    for number in 0..500 {
        let mut call = inputs.draw();
        if number % 50 == 0 {
            call.bid = 4;
        }
        assert_eq!(run(&mut session, &call).0.ok(), oracle.answer(&call).ok());
    }
    drop(session);
    let connection = bank.connection();
    let column = |sql: &str| -> Vec<i64> {
        rows(&connection, sql, &[]).iter().map(|row| row[0].int().unwrap()).collect()
    };
    assert_eq!(column("select abalance from pgbench_accounts order by aid"), oracle.accounts());
    assert_eq!(column("select tbalance from pgbench_tellers order by tid"), oracle.tellers());
    assert_eq!(column("select bbalance from pgbench_branches order by bid"), oracle.branches());
    let history: Vec<i64> =
        oracle.history().iter().flat_map(|entry| [entry.tid, entry.bid, entry.aid].map(i64::from)).collect();
    let stored = rows(&connection, "select tid, bid, aid from pgbench_history order by rowid", &[]);
    assert_eq!(stored.iter().flatten().map(|value| value.int().unwrap()).collect::<Vec<_>>(), history);
    let times = "select count(*) from pgbench_history where mtime < 1704067200 or mtime > 100000000000";
    assert_eq!(column(times), [0]);
}

#[test]
fn a_call_takes_five_statements_five_rows_and_one_commit() {
    let bank = Bank::new(Cardinality::tiny());
    let mut session = bank.session(|_| {});
    let (_, work) = run(&mut session, &Call { aid: 1, tid: 1, bid: 1, delta: 5 });
    let CallWork { attempts, statements, rows, commits, .. } = work;
    assert_eq!((attempts, statements, rows, commits), (1, 5, 5, 1));
    let (result, work) = run(&mut session, &Call { aid: 1, tid: 1, bid: 9, delta: 5 });
    assert_eq!(result.unwrap_err().to_string(), "defect: there is no branch 9");
    assert_eq!((work.attempts, work.commits), (1, 0));
}

/// One statement changed a little each; conformance sees those that reach the balance of an account.
#[test]
fn a_changed_statement_is_caught_by_conformance_where_an_answer_shows_it() {
    let check = |stmt: Stmt, from: &str, to: &str| {
        let plan = ConformancePlan::golden(3, 200);
        let bank = Bank::new(plan.size);
        let mut session = bank.session(|statements| {
            let text = &mut statements[stmt as usize];
            assert!(text.contains(from), "{text}");
            *text = text.replace(from, to);
        });
        assert!(now(conform(&mut session, &plan)).is_err(), "{stmt:?}: {from} -> {to}");
    };
    check(Stmt::AddToAccount, "+ ?2", "- ?2");
    check(Stmt::AddToAccount, "abalance + ?2", "?2");
    check(Stmt::AddToAccount, "aid = ?1", "aid = max(?1, 2)");
    check(Stmt::ReadAccount, "aid = ?1", "aid = 1");
    check(Stmt::ReadAccount, "select abalance", "select abalance + 1");
}
