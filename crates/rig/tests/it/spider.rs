//! Spider: a MariaDB whose tables have their rows on other servers.

use crate::engines::{base, leftovers, living_in};
use rig::for_tests::has_spider;
use rig::{Engine, EngineKind, Options, Running};

fn options(base: &tempfile::TempDir) -> Options {
    let small = Options::small(Engine::MariaDb);
    let spider = ("stackmark.spider".to_owned(), "2".to_owned());
    let settings = small.settings.iter().cloned().chain([spider]).collect();
    Options { base: Some(base.path().to_owned()), settings, ..small }
}

fn on_data_nodes(head: &Running, statement: &str) -> Vec<String> {
    head.peers().iter().map(|node| node.client("mysql", statement).unwrap().trim().to_owned()).collect()
}

#[test]
fn a_head_reaches_its_data_nodes_and_what_is_left_prepared_is_decided() {
    if !has_spider() {
        return;
    }
    let base = base();
    let mut head = rig::start(Engine::MariaDb, &options(&base)).unwrap();
    let made = "select spider_direct_sql('create database shop', '', concat('srv \"', server_name, '\", database \"mysql\"')) \
                from mysql.servers order by server_name";
    assert_eq!(head.client("mysql", made).unwrap(), "1\n1\n");
    on_data_nodes(&head, "create table shop.t (x integer primary key) engine = InnoDB");
    // Each has an address of its own.
    let addresses: Vec<_> = head.peers().iter().map(|node| node.tcp_url("shop").host).collect();
    assert_eq!(
        (addresses, head.url("shop").nodes().len()),
        (vec!["127.0.0.2".into(), "127.0.0.3".into()], 1)
    );
    assert_eq!(head.wait_for_nodes().unwrap(), Some(0));
    // As the head leaves them when a data node is killed between the two phases; one could not be printed.
    for (xid, row) in [("'aa','1',1", 1), ("'bb','1',1", 2), ("X'61C3','1',1", 3)] {
        on_data_nodes(
            &head,
            &format!("xa start {xid}; insert into shop.t values ({row}); xa end {xid}; xa prepare {xid}"),
        );
    }
    let noted = "insert into mysql.spider_xa (format_id, gtrid_length, bqual_length, data, status) \
                 values (1, 2, 1, 'aa', 'COMMIT'), (1, 2, 1, 'bb', 'NOT YET'), (1, 2, 1, X'61C3', 'COMMIT')";
    head.client("mysql", noted).unwrap();
    head.kill_node(2);
    assert!(!head.is_alive());
    head.restart_node(2).unwrap();
    assert!(head.is_alive());
    assert_eq!((head.wait_for_nodes().unwrap(), head.wait_for_nodes().unwrap()), (Some(3), Some(0)));
    assert_eq!(on_data_nodes(&head, "select group_concat(x order by x) from shop.t"), ["1,3"; 2]);
    let kept =
        "select (select count(*) from mysql.spider_xa) + (select count(*) from mysql.spider_xa_member)";
    assert_eq!(head.client("mysql", kept).unwrap().trim(), "0");
    drop(head);
    assert!(leftovers(base.path()).is_empty() && living_in(base.path()).is_empty());
}

#[test]
fn a_head_stays_with_its_data_nodes() {
    if !has_spider() {
        return;
    }
    let base = base();
    let options = options(&base);
    let up = || rig::up(&[EngineKind::Spider], &options).unwrap().remove(0);
    let first = up();
    assert!(first.alive && first.url("x").nodes().len() == 1, "{first:?}");
    let kill = |pid: u32| {
        let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    };
    let all = living_in(base.path());
    assert_eq!(all.len(), 3);
    kill(*all.iter().find(|pid| **pid != first.pid).unwrap());
    crate::engines::eventually("a data node ends", || !rig::status(&options)[0].alive);
    let again = up();
    assert!(again.alive && again.pid == first.pid && living_in(base.path()).len() == 3, "{again:?}");
    assert_eq!(rig::down(&EngineKind::ALL, &options).unwrap(), [EngineKind::Spider]);
    assert_eq!((leftovers(base.path()), living_in(base.path())), (vec![], vec![]));
}
