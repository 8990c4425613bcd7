//! The procedures on a real MariaDB: conformance, conflicts, doubt, and who may not make them.

#[path = "../../../adapter-mysql-async/tests/support/mod.rs"]
mod support;

use adapter_mysql_async::connect;
use measure::Monotonic;
use model::{CallWork, Cents, Conflict, Doubt, Fault, OpenError, RetryPolicy, Session, Target};
use mysql_async::prelude::Queryable;
use pair_tpcc::mysql::ProcedureTarget;
use sql::{Isolation, Secret, ServerUrl};
use support::{Cut, Proxy, block_on, database, load_tiny, server, server_with};
use workload_tpcc::conformance::{ConformancePlan, conform};
use workload_tpcc::{Call, Delivery, Line, NewOrder, Outcome, Payment, Tpcc, Who};

fn order(lines: impl IntoIterator<Item = u32>) -> Call {
    let lines = lines.into_iter().map(|i_id| Line { i_id, supply_w_id: 1, quantity: 3 }).collect();
    Call::NewOrder(NewOrder { w_id: 1, d_id: 1, c_id: 1, lines })
}

fn payment() -> Call {
    Call::Payment(Payment {
        w_id: 1,
        d_id: 1,
        c_w_id: 1,
        c_d_id: 1,
        customer: Who::Id(1),
        h_amount: Cents(1_000),
    })
}

async fn number(url: &ServerUrl, question: &str) -> i64 {
    connect(url).await.unwrap().query_first(question).await.unwrap().unwrap()
}

#[test]
fn the_procedures_answer_as_tpcc_asks_at_every_isolation() {
    for (count, isolation) in
        [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable].into_iter().enumerate()
    {
        let url = ServerUrl { isolation, ..database(&format!("tpcc{count}")) };
        block_on(async {
            load_tiny(&url).await;
            let target = ProcedureTarget::reach(&url, Monotonic::start()).await.unwrap();
            let stack = Target::<Tpcc>::stack(&target);
            assert_eq!((stack.style.as_str(), stack.isolation.as_str()), ("procedure", isolation.name()));
            let mut session = target.open(0).await.unwrap();
            let done = conform(&mut session, &ConformancePlan::golden(7, 400)).await.unwrap();
            assert!(
                done.golden > 20 && done.random == 400 && done.declined > 0 && done.rejected > 0,
                "{done:?}"
            );
        });
    }
}

#[test]
fn a_call_is_one_statement_and_a_declined_one_leaves_nothing() {
    let url = database("statements");
    block_on(async {
        load_tiny(&url).await;
        let mut session =
            ProcedureTarget::reach(&url, Monotonic::start()).await.unwrap().open(0).await.unwrap();
        let count = "select (select count(*) from orders) + (select count(*) from order_line) \
                     + (select count(*) from new_order) + (select sum(s_order_cnt) from stock)";
        let before = number(&url, count).await;
        let mut work = CallWork::default();
        let declined = session.run(&order([1, 2, 3, 4, 1_000_000]), &mut work).await;
        assert!(matches!(declined, Ok(Outcome::Unused(_))), "{declined:?}");
        assert_eq!((work.attempts, work.statements, work.commits), (1, 1, 0));
        assert_eq!(number(&url, count).await, before);
        let placed = session.run(&order([1, 2, 3, 4, 5]), &mut work).await;
        assert!(matches!(placed, Ok(Outcome::Placed(_))), "{placed:?}");
        assert_eq!((work.attempts, work.statements, work.commits), (2, 2, 1));
        // The order, its five lines, its new_order and five stock rows.
        assert_eq!(number(&url, count).await, before + 12);
    });
}

#[test]
fn a_lock_that_is_not_given_is_a_conflict_that_leaves_nothing() {
    let server = server_with(&[("innodb_lock_wait_timeout", "1")]);
    block_on(async {
        let url = server.url("tpcc");
        load_tiny(&url).await;
        let mut session =
            ProcedureTarget::reach(&url, Monotonic::start()).await.unwrap().open(0).await.unwrap();
        let mut other = connect(&url).await.unwrap();
        other.query_drop("start transaction").await.unwrap();
        other
            .query_drop("select * from customer where c_w_id = 1 and c_d_id = 1 and c_id = 1 for update")
            .await
            .unwrap();
        let before = number(&url, "select cast(w_ytd * 100 as signed) from warehouse where w_id = 1").await;
        let mut work = CallWork::default();
        let waited = session.run(&payment(), &mut work).await;
        assert_eq!(waited.err(), Some(Fault::Conflict(Conflict::Busy)));
        assert_eq!((work.statements, work.commits), (0, 0));
        other.query_drop("rollback").await.unwrap();
        // The warehouse, paid before the customer was waited for, is free and as it was.
        assert!(session.run(&payment(), &mut work).await.is_ok());
        let after = number(&url, "select cast(w_ytd * 100 as signed) from warehouse where w_id = 1").await;
        assert_eq!(after, before + 1_000);
    });
}

#[test]
fn sessions_that_meet_are_retried_and_lose_nothing() {
    const EACH: i64 = 40;
    let url = database("meeting");
    block_on(async {
        load_tiny(&url).await;
        let target = ProcedureTarget::reach(&url, Monotonic::start()).await.unwrap();
        let next = "select d_next_o_id from district where d_w_id = 1 and d_id = 1";
        let paid = "select cast(w_ytd * 100 as signed) from warehouse where w_id = 1";
        let (next_before, paid_before) = (number(&url, next).await, number(&url, paid).await);
        let work = async |worker| {
            let mut session = target.open(worker).await.unwrap();
            let policy = RetryPolicy { attempts_max: 100, reopens: false };
            for _ in 0..EACH {
                let delivery = Call::Delivery(Delivery { w_id: 1, o_carrier_id: 1 });
                for call in [order([5, 4, 3, 2, 1]), payment(), delivery] {
                    policy.run::<Tpcc, _>(&mut session, &call, &mut CallWork::default()).await.unwrap();
                }
            }
        };
        tokio::join!(work(0), work(1), work(2));
        assert_eq!(number(&url, next).await, next_before + 3 * EACH);
        assert_eq!(number(&url, paid).await, paid_before + 3 * EACH * 1_000);
        let orphans = "select count(*) from orders where o_carrier_id is not null and exists (select 1 from new_order \
                       where no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id)";
        assert_eq!(number(&url, orphans).await, 0);
    });
}

#[test]
fn an_answer_that_is_lost_leaves_a_writing_call_in_doubt() {
    database("lost");
    let direct = server().tcp_url("lost");
    block_on(async {
        load_tiny(&direct).await;
        let proxy = Proxy::before(&direct).await;
        let mut session =
            ProcedureTarget::reach(&proxy.url, Monotonic::start()).await.unwrap().open(0).await.unwrap();
        let paid = "select cast(w_ytd * 100 as signed) from warehouse where w_id = 1";
        let before = number(&direct, paid).await;
        proxy.cut(Cut::Answer);
        let lost = session.run(&payment(), &mut CallWork::default()).await;
        assert_eq!(lost.err(), Some(Fault::InDoubt(Doubt::CommitUnanswered)));
        // The rows come before the commit: whoever wants to write waits for it.
        assert_eq!(number(&direct, &format!("{paid} for update")).await, before + 1_000);
    });
}

#[test]
fn who_may_not_make_procedures_is_told_what_is_missing() {
    let url = database("forbidden");
    // A user of this database alone: others may share the server.
    let user = url.database.clone();
    let grant =
        format!("grant select, insert, update, delete on {user}.* to {user}@'%' identified by 's3cret'");
    server().client("forbidden", &grant).unwrap();
    let url = ServerUrl { user, password: Some(Secret::new("s3cret")), ..server().tcp_url("forbidden") };
    let error = block_on(ProcedureTarget::reach(&url, Monotonic::start())).unwrap_err();
    assert!(matches!(error, OpenError::Unusable { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("grant create routine") && !text.contains("s3cret"), "{text}");
}
