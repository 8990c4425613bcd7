//! Clusters of MariaDB: each node has all data, and one that ends comes back.

use crate::engines::{base, leftovers, living_in};
use rig::{Engine, EngineKind, Options, RigError, Running};
use rustix::process::{Pid, Signal, kill_process};

fn options(base: &tempfile::TempDir, settings: &[(&str, &str)]) -> Options {
    let small = Options::small(Engine::MariaDb);
    let more = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let settings = small.settings.iter().cloned().chain(more).collect();
    Options { base: Some(base.path().to_owned()), settings, ..small }
}

fn start(base: &tempfile::TempDir, settings: &[(&str, &str)]) -> Result<Running, RigError> {
    rig::start(Engine::MariaDb, &options(base, settings))
}

/// The rows of the table on a node, which first applies what the others have committed.
fn rows(node: &Running) -> String {
    node.client("shop", "set session wsrep_sync_wait = 15; select x from t order by x")
        .unwrap()
        .replace('\n', " ")
}

#[test]
fn all_nodes_of_a_cluster_have_all_data_also_one_that_was_gone_for_a_while() {
    let base = base();
    let mut cluster = start(&base, &[("stackmark.galera", "3"), ("stackmark.writers", "2")]).unwrap();
    cluster.create_database("shop").unwrap();
    cluster.client("shop", "create table t (x integer primary key); insert into t values (1)").unwrap();
    let [second, third] = cluster.peers() else { panic!("{:?}", cluster.peers()) };
    third.client("shop", "insert into t values (2)").unwrap();
    assert_eq!([rows(&cluster), rows(second), rows(third)], ["1 2 "; 3]);
    let url = cluster.url("shop");
    assert_eq!((url.nodes().len(), url.writers().len()), (3, 2));
    assert!(url.nodes().iter().all(|node| node.socket.is_some() && node.password == url.password));
    // Without its first node.
    cluster.kill_node(0);
    assert!(!cluster.is_alive());
    cluster.peers()[0].client("shop", "insert into t values (3)").unwrap();
    cluster.restart().unwrap();
    assert!(cluster.is_alive());
    assert_eq!([rows(&cluster), rows(&cluster.peers()[1])], ["1 2 3 "; 2]);
    // All of it, in an orderly way.
    cluster.halt().unwrap();
    cluster.restart().unwrap();
    assert_eq!([rows(&cluster), rows(&cluster.peers()[0]), rows(&cluster.peers()[1])], ["1 2 3 "; 3]);
    // One by one without notice, so that the last one to end has more than the others; then the rest at once.
    cluster.kill_node(2);
    cluster.client("shop", "insert into t values (4)").unwrap();
    cluster.kill_node(0);
    cluster.kill();
    cluster.restart().unwrap();
    cluster.wait_for_nodes().unwrap();
    assert_eq!([rows(&cluster), rows(&cluster.peers()[0]), rows(&cluster.peers()[1])], ["1 2 3 4 "; 3]);
    // Cut off from the others a node executes nothing; it gets what it has missed.
    cluster.isolate_node(1, true).unwrap();
    cluster.client("shop", "set session wsrep_sync_wait = 15; insert into t values (5)").unwrap();
    let alone = cluster.peers()[0].client("shop", "set session wsrep_sync_wait = 15; select x from t");
    assert!(alone.is_err(), "{alone:?}");
    cluster.isolate_node(1, false).unwrap();
    cluster.wait_for_nodes().unwrap();
    assert_eq!(rows(&cluster.peers()[0]), "1 2 3 4 5 ");
    let size = |node: &Running| node.client("mysql", "show status like 'wsrep_cluster_size'").unwrap();
    assert!(
        size(&cluster).ends_with("\t3\n") && size(&cluster.peers()[1]).ends_with("\t3\n"),
        "{}",
        size(&cluster)
    );
    // Nothing but loopback.
    for node in [&cluster, &cluster.peers()[0]] {
        let far = node
            .settings()
            .iter()
            .filter(|(name, value)| name.contains("addr") && !value.contains("127.0.0.1"));
        assert_eq!(far.count(), 0, "{:?}", node.settings());
    }
    drop(cluster);
    assert!(
        leftovers(base.path()).is_empty() && living_in(base.path()).is_empty(),
        "{:?}",
        leftovers(base.path())
    );
}

#[test]
fn a_cluster_that_cannot_be_is_refused_before_anything_starts() {
    let base = base();
    for (settings, why) in [
        (&[("stackmark.galera", "1")][..], "a number of nodes from 2 to 7"),
        (&[("stackmark.galera", "two")], "a number of nodes from 2 to 7"),
        (&[("stackmark.writers", "2")], "set stackmark.galera as well"),
        (&[("stackmark.galera", "2"), ("stackmark.writers", "3")], "the cluster has 2 nodes"),
        (&[("stackmark.galera", "2"), ("wsrep_provider", "none")], "wsrep_provider"),
    ] {
        let error = start(&base, settings).unwrap_err().to_string();
        assert!(error.contains(why), "{settings:?}: {error}");
    }
    assert!(leftovers(base.path()).is_empty());
}

#[test]
fn a_cluster_that_stays_is_shown_started_again_and_taken_down() {
    let base = base();
    let options = options(&base, &[("stackmark.galera", "2"), ("stackmark.writers", "2")]);
    let up = || rig::up(&[EngineKind::Galera], &options).unwrap().remove(0);
    let first = up();
    first.create_database("shop").unwrap();
    let (url, pid) = (first.url("shop"), first.pid);
    assert_eq!((url.nodes().len(), url.writers().len()), (2, 2));
    let kill = |pid: u32| kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
    let shown = || rig::status(&options).remove(0);
    let ends = |what| crate::engines::eventually(what, || !shown().alive);
    assert!(shown().alive && shown().kind == EngineKind::Galera);
    // One node of two: the other one waits for it, as it is.
    kill(pid);
    ends("the first node ends");
    let again = up();
    assert!(again.alive && again.pid != pid && again.url("shop") == url, "{again:?}");
    // All of them, as by a restart of the machine.
    living_in(base.path()).into_iter().for_each(kill);
    ends("all nodes end");
    assert!(up().alive);
    assert_eq!(rig::down(&EngineKind::ALL, &options).unwrap(), [EngineKind::Galera]);
    assert_eq!((leftovers(base.path()), living_in(base.path())), (vec![], vec![]));
    // Nodes and kind belong together.
    let alone = Options { settings: Vec::new(), ..options.clone() };
    for (kind, options) in [(EngineKind::Galera, &alone), (EngineKind::Single(Engine::MariaDb), &options)] {
        let error = rig::up(&[kind], options).unwrap_err().to_string();
        assert!(error.contains("these settings are of the kind"), "{error}");
    }
    assert!(leftovers(base.path()).is_empty());
}
