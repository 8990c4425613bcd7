//! Subjects of MariaDB whose rows are on data nodes of Spider: private ones, and a head that is the user's.

use crate::e2e_workdir::{Running, Workdir};
use crate::engines_workdir::{SHORT, Server, assert_setting_is_the_only_difference};
use rig::Engine;
use rig::for_tests::has_spider;

const SPIDER: &str = "--setting stackmark.spider=2";

#[test]
fn what_spider_cannot_do_is_refused_before_anything_starts() {
    let workdir = Workdir::empty();
    for (line, why) in [
        (
            format!("run tpcc/mariadb {SPIDER}"),
            "tpcc cannot run on Spider: it reports 0 rows for each `delete`",
        ),
        (format!("run catalogue/mariadb {SPIDER}"), "no column to spread rows by"),
        (format!("run tpcb/mariadb {SPIDER} --setting stackmark.galera=3"), "cannot both be set"),
        ("run tpcb/mariadb --setting stackmark.spider=1".to_owned(), "a number of data nodes from 2 to 7"),
        ("run tpcb/postgres --setting stackmark.spider=2".to_owned(), "stackmark.spider"),
        ("drill tpcb/mariadb --only head:kill".to_owned(), "has no `head` without a cluster"),
    ] {
        let ran = Running::start(workdir.command(&line)).end();
        assert_eq!(ran.code(), 2, "{line}: {ran:?}");
        assert!(ran.err.contains(why), "{line}: {ran:?}");
    }
}

#[test]
fn a_run_on_the_users_head_spreads_tables_and_leaves_nothing_behind() {
    if !has_spider() {
        return;
    }
    let small = rig::Options::small(Engine::MariaDb);
    let spider = [("stackmark.spider".to_owned(), "2".to_owned())];
    let options = rig::Options { settings: [&small.settings[..], &spider].concat(), ..small };
    let server =
        Server { engine: rig::start(Engine::MariaDb, &options).unwrap_or_else(|error| panic!("{error}")) };
    let on_data_nodes = |statement: &str| -> Vec<String> {
        let nodes = server.engine.peers().iter();
        nodes.map(|node| node.client("mysql", statement).unwrap().trim().to_owned()).collect()
    };
    let workdir = Workdir::empty();
    server.engine.create_database("bank").unwrap();
    let url = server.url("bank");
    // Tables of someone else's on a data node are not dropped.
    let others = server.engine.peers();
    others[1].client("mysql", "create database bank; create table bank.pgbench_tellers (x integer)").unwrap();
    let load = format!("load tpcb --golden --db {url}");
    let refused = server.run(&workdir, &load);
    assert_eq!(refused.code(), 2, "{refused:?}");
    assert!(refused.err.contains("data node stackmark_2 already has tables of these names"), "{refused:?}");
    others[1].client("bank", "drop table pgbench_tellers").unwrap();
    server.done(&workdir, &load);
    let counts = on_data_nodes("select count(*) from bank.pgbench_accounts");
    assert!(counts.iter().all(|count| count.parse::<u64>().unwrap() > 0), "{counts:?}");
    let document = server.json(&workdir, &format!("run tpcb/mariadb --db {url} {SPIDER} {SHORT}"));
    let trial = &document["trials"][0];
    assert_eq!(trial["conformance"]["check"], "passed");
    let settings = trial["stack"]["settings"].as_array().unwrap();
    let has = |name: &str, value: &str| {
        settings.iter().any(|setting| setting["name"] == name && setting["value"] == value)
    };
    assert!(has("stackmark.spider", "2") && has("spider_internal_xa", "ON"), "{settings:?}");
    let durability = trial["stack"]["durability"]["detail"].as_str().unwrap();
    assert!(durability.contains("2 data nodes of Spider, which flush in the same way"), "{durability}");
    assert!(trial["audits"].as_array().unwrap().iter().all(|audit| audit["check"] != "failed"), "{trial}");
    // A row that a data node changed for itself.
    others[0].client("bank", "update pgbench_tellers set tbalance = tbalance + 1 limit 1").unwrap();
    assert_eq!(server.run(&workdir, &format!("audit tpcb --db {url}")).code(), 1);
    // One whose commits are not what the results would say.
    others[0].client("mysql", "set global innodb_flush_log_at_trx_commit = 2").unwrap();
    let refused = server.run(&workdir, &format!("run tpcb/mariadb --db {url} {SHORT}"));
    assert_eq!(refused.code(), 2, "{refused:?}");
    assert!(refused.err.contains("data node stackmark_1 flushes in another way"), "{refused:?}");
    others[0].client("mysql", "set global innodb_flush_log_at_trx_commit = 1").unwrap();
    // Copies are gone, and what is removed is removed everywhere.
    let how = "--duration 1s --warmup 0s --blocks 2 --clients 2";
    server.done(&workdir, &format!("load tpcb --golden --db {url} --fresh"));
    server.run(&workdir, &format!("compare tpcb/mariadb/mysql-async tpcb/mariadb/sqlx --db {url} {how}"));
    let databases = "select count(*) from information_schema.schemata where schema_name like 'stackmark%'";
    assert_eq!(on_data_nodes(databases), ["0"; 2]);
    assert_eq!(server.engine.client("mysql", databases).unwrap().trim(), "0");
}

mod extended {
    use super::*;

    #[test]
    fn data_nodes_are_compared_with_one_server() {
        if !has_spider() {
            return;
        }
        assert_setting_is_the_only_difference("stackmark.spider=2");
    }
}
