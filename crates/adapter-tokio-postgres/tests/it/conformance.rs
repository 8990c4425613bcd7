//! TPC-C on a real PostgreSQL, one statement at a time, held to the golden vectors and the oracle.

use crate::support::{database, load, server, wait};
use adapter_tokio_postgres::PostgresOpener;
use measure::Monotonic;
use model::{Target as _, Tier};
use sql::{Dialect, Isolation, ServerUrl};
use workload_tpcc::conformance::{ConformancePlan, GOLDEN_LOAD_SEED, conform};
use workload_tpcc::{Cardinality, SqlTarget, catalogue};

fn conforms(url: &ServerUrl, random_calls: u32) {
    wait(async {
        load(url, Cardinality::tiny(), GOLDEN_LOAD_SEED).await;
        let opener = PostgresOpener::reach(url, catalogue(Dialect::Postgres).unwrap()).await.unwrap();
        let target = SqlTarget::new(opener, Monotonic::start());
        let mut session = target.open(0).await.unwrap();
        let plan = ConformancePlan::golden(1, random_calls);
        let done = conform(&mut session, &plan).await.unwrap_or_else(|wrong| panic!("{wrong}"));
        assert!(done.golden > 0 && done.random == random_calls, "{done:?}");
    });
}

#[test]
fn tpcc_answers_what_the_vectors_and_the_oracle_say() {
    conforms(&database("conformance"), 400);
}

#[test]
fn it_does_so_at_serializable_and_over_tcp() {
    database("conformance_serializable");
    let url =
        ServerUrl { isolation: Isolation::Serializable, ..server().tcp_url("conformance_serializable") };
    conforms(&url, 300);
}

#[test]
fn a_stack_says_what_is_in_force() {
    // A server of its own, whose settings are known.
    let options = rig::Options { connections: 20, ..rig::Options::small(rig::Engine::Postgres) };
    let own = rig::start(rig::Engine::Postgres, &options).unwrap();
    own.create_database("stack").unwrap();
    let url = ServerUrl { isolation: Isolation::RepeatableRead, ..own.url("stack") };
    let url = ServerUrl { statement_timeout_ms: 1_234, ..url };
    let opener = wait(PostgresOpener::reach(&url, vec!["select ?1::integer".into()])).unwrap();
    let stack = sql::SqlOpener::stack(&opener);
    assert_eq!((stack.engine.as_str(), stack.adapter.as_str()), ("postgres", "tokio-postgres"));
    assert!(stack.isolation.starts_with("repeatable read;"), "{}", stack.isolation);
    assert_eq!(stack.durability.tier, Tier::Durable);
    let setting = |name: &str| {
        let found = stack.settings.iter().find(|(found, _)| found == name);
        found.unwrap_or_else(|| panic!("no {name}")).1.as_str()
    };
    assert_eq!(setting("max_connections"), "20");
    assert_eq!((setting("transport"), setting("tls")), ("unix", "off"));
    assert_eq!(setting("statement_timeout_ms"), "1234");
}
