//! Subjects of MariaDB on a Galera cluster: a private one, and one that is the user's.

use crate::e2e_workdir::Workdir;
use crate::engines_workdir::{SHORT, Server, on};
use rig::Engine;
use serde_json::Value;

fn setting(trial: &Value, name: &str) -> Option<String> {
    let settings = trial["stack"]["settings"].as_array().unwrap();
    let found = settings.iter().find(|setting| setting["name"] == name)?;
    found["value"].as_str().map(str::to_owned)
}

/// What is done to tablespaces is not replicated: copies as files on one node would put it out of its cluster.
#[test]
fn a_comparison_on_the_users_cluster_leaves_it_whole() {
    let small = rig::Options::small(Engine::MariaDb);
    let more = [("stackmark.galera", "2"), ("wsrep_sync_wait", "7")];
    let more = more.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = rig::Options { settings: [&small.settings[..], &more].concat(), ..small };
    let server =
        Server { engine: rig::start(Engine::MariaDb, &options).unwrap_or_else(|error| panic!("{error}")) };
    let workdir = Workdir::empty();
    let url = server.loaded(&workdir, "tpcb --golden", "bank");
    let how = "--duration 1s --warmup 0s --blocks 2 --clients 2";
    server.run(&workdir, &format!("compare tpcb/mariadb/mysql-async tpcb/mariadb/sqlx --db {url} {how}"));
    let size = "show status like 'wsrep_cluster_size'";
    for node in std::iter::once(&server.engine).chain(server.engine.peers()) {
        assert_eq!(node.client("mysql", size).unwrap().trim(), "wsrep_cluster_size\t2");
        let databases = node.client("mysql", "show databases").unwrap();
        assert!(!databases.contains("stackmark_"), "{databases}");
    }
    // Both nodes, by a URL of the user's.
    let both = server.engine.peers()[0].tcp_url("bank").place();
    let both = url.replace("/bank", &format!(",{both}/bank"));
    let document = server.json(&workdir, &format!("run tpcb/mariadb --db {both} {SHORT}"));
    let trial = &document["trials"][0];
    assert_eq!(setting(trial, "stackmark.writers").as_deref(), Some("2"), "{}", trial["stack"]);
    assert_eq!(trial["conformance"]["check"], "passed");
    let agree = |trial: &Value| {
        let audits = trial["audits"].as_array().unwrap().clone();
        audits.into_iter().rfind(|audit| audit["name"] == "nodes-agree").unwrap()
    };
    assert_eq!(agree(trial)["check"], "passed");
    // A row that one node changed for itself.
    server.engine.peers()[0]
        .client(
            "bank",
            "set session wsrep_on = 0; update pgbench_branches set bbalance = bbalance + 1 where bid = 1",
        )
        .unwrap();
    let audited = server.run(&workdir, &format!("audit tpcb --db {both}"));
    assert_eq!(audited.code(), 1, "{audited:?}");
    assert!(audited.out.contains("pgbench_branches at 127.0.0.1:"), "{audited:?}");
    // Two servers that are not one cluster.
    let alone = on(Engine::MariaDb, |alone| alone.engine.tcp_url("bank").place());
    let strangers = url.replace("/bank", &format!(",{alone}/bank"));
    let refused = server.run(&workdir, &format!("run tpcb/mariadb --db {strangers} {SHORT}"));
    assert_eq!(refused.code(), 2, "{refused:?}");
    assert!(refused.err.contains(&alone), "{refused:?}");
}

mod extended {
    use super::setting;
    use crate::e2e_workdir::{Running, Workdir, assert_good, assert_tier, parse};
    use crate::engines_workdir::{SHORT, assert_setting_is_the_only_difference};
    use serde_json::Value;

    #[test]
    fn a_private_cluster_gets_calls_on_one_node_or_on_all() {
        for (subject, writers) in [
            ("tpcb/mariadb", "1"),
            ("tpcb/mariadb", "3"),
            ("tpcc/mariadb/sqlx", "3"),
            ("catalogue/mariadb", "3"),
            ("tpcb/mariadb/axum+mysql-async", "3"),
        ] {
            let workdir = Workdir::empty();
            let line = format!(
                "run {subject} --setting stackmark.galera=3 --setting stackmark.writers={writers} --scale 1 {SHORT} --json"
            );
            let ran = Running::start(workdir.command(&line)).end();
            let document = parse(&ran.out);
            assert_good(&ran, &document);
            let trial = &document["trials"][0];
            assert_tier(trial, "durable");
            let detail = trial["stack"]["durability"]["detail"].as_str().unwrap();
            assert!(detail.contains("a Galera cluster of 3"), "{detail}");
            assert_eq!(setting(trial, "stackmark.galera").as_deref(), Some("3"), "{trial}");
            assert_eq!(setting(trial, "stackmark.writers").as_deref(), Some(writers));
            let processes = trial["processes"].as_array().unwrap();
            let is_engine =
                |process: &&Value| process["roles"].as_array().unwrap().iter().any(|role| role == "engine");
            assert_eq!(processes.iter().filter(is_engine).count(), 3, "{subject}");
        }
    }

    #[test]
    fn a_cluster_is_compared_with_one_server() {
        assert_setting_is_the_only_difference("stackmark.galera=2");
    }
}
