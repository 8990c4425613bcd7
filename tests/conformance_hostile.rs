//! What a server sends is its choice: whatever that is, no driver of ours ends the process.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use adapter_sqlx::SqlxMySql;
use admin::store;
use measure::Monotonic;
use model::Clock;
use rig::Engine;
use rig::for_tests::shared;
use sql::{DbUrl, Dialect, Secret, ServerUrl};
use stackmark_tests::calls::runtime;
use stackmark_tests::scripted::{scripts, server};
use std::panic::{set_hook, take_hook};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use targets::COMBINATIONS;
use workload_tpcb::Tpcb;
use workload_tpcc::Tpcc;

/// Scripts that are played at the same time: most of the time goes by while someone waits.
const AT_ONCE: usize = 16;

/// Connects through each driver of the engine and through the one that loads and audits, by each script: encrypted and not, or where
/// `options` is 1, in turn.
fn check(dialect: Dialect, scheme: &str, options: usize) {
    let panics = Arc::new(Mutex::new(Vec::new()));
    let before = take_hook();
    let seen = Arc::clone(&panics);
    // Those that are caught do not come here.
    set_hook(Box::new(move |info| {
        seen.lock().unwrap().push(info.to_string());
        before(info);
    }));
    let (all, next) = (scripts(dialect), AtomicUsize::new(0));
    assert!(all.len() > 500, "{} scripts", all.len());
    let play = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(script) = all.get(number) else { break };
            let port = server(dialect, script.clone()).unwrap();
            let place = format!("{scheme}://me:secret@127.0.0.1:{port}/db");
            for option in ["?sslmode=disable", ""].iter().cycle().skip(number).take(options) {
                let url: DbUrl = format!("{place}{option}").parse().unwrap();
                let clock = Monotonic::start();
                let subjects = COMBINATIONS.iter().filter(|subject| subject.how.dialect == dialect);
                for subject in subjects {
                    let opened = match subject.path.split_once('/').unwrap().0 {
                        "tpcb" => targets::target::<Tpcb>(subject.how, &url).map(drop),
                        "tpcc" => targets::target::<Tpcc>(subject.how, &url).map(drop),
                        _ => continue,
                    };
                    let error = opened.expect_err(&script.name);
                    assert!(!format!("{error:#}").contains("secret"), "{}: {error:#}", script.name);
                }
                store(url).inspect().map(drop).unwrap_err();
                let took = clock.now();
                assert!(took.as_secs_f64() < 60.0, "{} took {took:?}", script.name);
            }
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(play))));
    let panics = panics.lock().unwrap();
    assert!(panics.is_empty(), "{panics:#?}");
}

#[test]
fn no_message_of_postgresql_ends_the_process() {
    check(Dialect::Postgres, "postgres", 1);
}

#[test]
fn no_message_of_mariadb_ends_the_process() {
    check(Dialect::MySql, "mysql", 1);
}

mod extended {
    use super::*;

    #[test]
    fn no_message_of_an_engine_ends_the_process_encrypted_or_not() {
        check(Dialect::Postgres, "postgres", 2);
        check(Dialect::MySql, "mysql", 2);
    }
}

/// What each driver and the loader say of a server that asks for a plugin which none of them has.
#[test]
fn a_plugin_that_no_driver_has_is_named() {
    for plugin in ["dialog", "auth_gssapi_client", "no_such_plugin"] {
        let script = scripts(Dialect::MySql)
            .into_iter()
            .find(|script| script.name == format!("switch to {plugin:?} with 20"));
        let port = server(Dialect::MySql, script.unwrap()).unwrap();
        let url: DbUrl = format!("mysql://me:secret@127.0.0.1:{port}/db?sslmode=disable").parse().unwrap();
        let subjects = COMBINATIONS.iter().filter(|subject| subject.path.starts_with("tpcb/mariadb/"));
        let mut said: Vec<String> = subjects
            .map(|subject| format!("{:#}", targets::target::<Tpcb>(subject.how, &url).map(drop).unwrap_err()))
            .collect();
        said.push(format!("{:?}", store(url).inspect().map(drop).unwrap_err()));
        assert!(
            said.iter().all(|said| said.contains(plugin) && !said.contains("panicked")),
            "{plugin}: {said:#?}"
        );
    }
}

/// A user whom MariaDB knows by an Ed25519 key is let in through the driver that has the plugin, and told by name where one has not.
#[test]
fn a_user_with_ed25519_is_let_in() {
    let server = shared(Engine::MariaDb);
    let sql = "install plugin if not exists ed25519 soname 'auth_ed25519';
        create or replace user 'ed'@'%' identified via ed25519 using password('signed');
        grant all on *.* to 'ed'@'%'";
    server.client("mysql", sql).unwrap();
    let url = ServerUrl { user: "ed".into(), password: Some(Secret::new("signed")), ..server.url("mysql") };
    runtime().block_on(adapter_mysql_async::connect(&url)).unwrap();
    store(url.clone()).ensure_direct().unwrap();
    let error = runtime().block_on(SqlxMySql::reach(&url, Vec::new())).map(drop).unwrap_err();
    assert!(error.to_string().contains("client_ed25519"), "{error}");
    server.client("mysql", "drop user 'ed'@'%'").unwrap();
}
