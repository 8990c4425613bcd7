//! A pooler in front of PostgreSQL: what would leave something behind for its other clients is refused before the first statement that
//! changes anything, and audits, which leave nothing, work through it.

use crate::run_on;
use crate::workdir::Workdir;
use rig::{Engine, Running};
use sql::ServerUrl;
use stackmark_tests::engines::small;
use stackmark_tests::pooler::{POOL, Pooler, renumbered};
use std::collections::BTreeSet;
use std::process::Command;

/// What someone else's session in the pool must find as it was.
const LEFT: &str = "select string_agg(name || '=' || setting, ' ' order by name) from pg_settings where name in \
    ('default_transaction_read_only', 'work_mem', 'temp_buffers', 'statement_timeout', 'lock_timeout', 'TimeZone', 'jit', \
     'search_path', 'client_min_messages', 'max_parallel_workers_per_gather', 'enable_mergejoin')";

/// Everything on a server that could be left behind.
fn listed(server: &Running) -> String {
    let questions = [
        "select datname, datacl, datconnlimit from pg_database order by 1",
        "select rolname, rolconnlimit, rolconfig from pg_roles order by 1",
        "select * from pg_db_role_setting order by 1, 2",
        "select gid from pg_prepared_xacts order by 1",
        "select spcname from pg_tablespace order by 1",
        "select name, setting from pg_settings where source not in ('client', 'session') order by 1",
    ];
    let of_database = "select schemaname, tablename from pg_tables where schemaname not in ('pg_catalog', 'information_schema') order by 1, 2";
    let all = questions.iter().map(|question| server.client("postgres", question).unwrap());
    all.chain([server.client("bank", of_database).unwrap()]).collect()
}

/// What clients that know nothing of us find on the connections of the pool, all of them at once.
fn found_in(pool: &ServerUrl) -> String {
    let question = format!("select ({LEFT}), pg_sleep(0.5)");
    let found: BTreeSet<String> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..POOL).map(|_| scope.spawn(|| through_the_pool(pool, &question))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(found.len(), 1, "{found:#?}");
    found.into_iter().collect()
}

fn through_the_pool(url: &ServerUrl, statement: &str) -> String {
    let password = url.password.as_ref().map(|password| password.reveal().to_owned()).unwrap_or_default();
    let ran = Command::new("psql")
        .args(["-h", "127.0.0.1", "-p", &url.port.to_string(), "-U", &url.user, "-d", &url.database])
        .args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement])
        .env("PGPASSWORD", password)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{statement}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

fn check(mode: &str, settings: &str) {
    let server = small(Engine::Postgres, &[]);
    let Some(pooler) = Pooler::start(&server, mode, settings) else { return };
    for database in ["bank", "empty"] {
        server.create_database(database).unwrap();
    }
    let workdir = Workdir::empty();
    let ran = run_on(&workdir, "load tpcb --golden", &server.tcp_url("bank"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    let (pooled, empty) = (pooler.url(&server, "bank"), pooler.url(&server, "empty"));
    let settings_before = found_in(&pooled);
    let before = listed(&server);

    let refused = ["connection pooler", "address of PostgreSQL itself"];
    let options = "--clients 2 --warmup 0s --duration 1s";
    for line in [
        format!("run tpcb/postgres {options}"),
        format!("run tpcb/postgres/sqlx {options}"),
        format!("run tpcb/postgres/tokio-postgres/simple {options}"),
        format!("run tpcb/postgres/axum+tokio-postgres {options}"),
        format!("compare tpcb/postgres tpcb/postgres/sqlx --blocks 1 {options}"),
        "sweep tpcb/postgres --clients 1,2 --warmup 0s --duration 1s".to_owned(),
        "load tpcb --golden --fresh".to_owned(),
        "serve tpcb --listen 127.0.0.1:0".to_owned(),
        "verify tpcb/postgres/axum+tokio-postgres --idle 0s".to_owned(),
    ] {
        run_on(&workdir, &line, &pooled).refused(&refused);
    }
    run_on(&workdir, "load tpcc --golden", &empty).refused(&refused);
    run_on(&workdir, &format!("run tpcc/postgres/diesel {options}"), &empty)
        .refused(&["nothing in database `empty`"]);

    for workload in ["tpcc", "catalogue", "transfer"] {
        let (direct, pooled) = (server.tcp_url(workload), pooler.url(&server, workload));
        server.create_database(workload).unwrap();
        assert_eq!(run_on(&workdir, &format!("load {workload} --golden"), &direct).code(), 0);
        run_on(&workdir, &format!("run {workload}/postgres {options}"), &pooled).refused(&refused);
        let audit = run_on(&workdir, &format!("audit {workload}"), &pooled);
        assert!(audit.code() == 0 && audit.out.contains(" 0 failed"), "{audit:?}");
        server.client("postgres", &format!("drop database {workload} with (force)")).unwrap();
    }
    let audit = run_on(&workdir, "audit tpcb", &pooled);
    assert!(audit.code() == 0 && audit.out.contains(" 0 failed"), "{audit:?}");
    let mut with_options = pooled.clone();
    with_options.options = Some("-c search_path=public".into());
    run_on(&workdir, "audit tpcb", &with_options).refused(&["if the address has no `options`"]);
    // The same as straight from the server.
    let direct = run_on(&workdir, "audit tpcb", &server.tcp_url("bank"));
    assert_eq!(summary(&audit.out), summary(&direct.out));

    assert_eq!(found_in(&pooled), settings_before);
    through_the_pool(&pooled, "update pgbench_branches set filler = filler");
    assert_eq!(listed(&server), before);
}

fn summary(out: &str) -> &str {
    out.lines().find(|line| line.contains(" passed, ")).unwrap_or(out)
}

#[test]
fn pgbouncer_with_transaction_pooling_is_recognised_and_audited_through() {
    check("transaction", "");
}

#[test]
fn pgbouncer_with_session_pooling_is_recognised_and_audited_through() {
    check("session", "");
}

/// As many set it up, for drivers that send parameters which it does not know.
#[test]
fn pgbouncer_that_drops_what_it_does_not_know_is_recognised_all_the_same() {
    for mode in ["transaction", "session"] {
        check(mode, "ignore_startup_parameters = options,extra_float_digits");
    }
}

/// It says so, and does not wait for the pool's other clients for ever.
#[test]
fn an_audit_through_a_pool_of_one_connection_says_that_it_needs_two() {
    let server = small(Engine::Postgres, &[]);
    let Some(pooler) = Pooler::start(&server, "transaction", "default_pool_size = 1") else { return };
    server.create_database("bank").unwrap();
    let workdir = Workdir::empty();
    assert_eq!(run_on(&workdir, "load tpcb --golden", &server.tcp_url("bank")).code(), 0);
    let pooled = pooler.url(&server, "bank");
    let audit = run_on(&workdir, "audit tpcb", &pooled);
    let text = format!("{}{}", audit.out, audit.err);
    assert!(audit.code() != 0 && text.contains("an audit needs two"), "{audit:?}");
    // The one connection is free again.
    through_the_pool(&pooled, "update pgbench_branches set filler = filler");
}

#[test]
fn a_proxy_in_front_of_mariadb_is_recognised() {
    let server = small(Engine::MariaDb, &[]);
    server.create_database("bank").unwrap();
    let (workdir, direct) = (Workdir::empty(), server.tcp_url("bank"));
    assert_eq!(run_on(&workdir, "load tpcb --golden", &direct).code(), 0);
    let proxied = ServerUrl { port: renumbered(direct.port).unwrap(), ..direct };
    let options = "--clients 2 --warmup 0s --duration 1s";
    for line in [
        format!("run tpcb/mariadb {options}"),
        format!("run tpcb/mariadb/axum+mysql-async {options}"),
        format!("compare tpcb/mariadb tpcb/mariadb/sqlx --blocks 1 {options}"),
        "load tpcb --golden --fresh".to_owned(),
        "serve tpcb --listen 127.0.0.1:0".to_owned(),
        "audit tpcb".to_owned(),
    ] {
        run_on(&workdir, &line, &proxied).refused(&["it is a proxy", "address of MariaDB itself"]);
    }
}
