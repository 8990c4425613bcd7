//! What a server says no to is told before anything starts: what, where, and what would be right; exit status 2, nothing
//! left.

use crate::workdir::{Ran, Workdir, until};
use crate::{
    ENGINES, command_on, driver, loaded, run_on, start_on, trial_of, until_committed, with_password,
};
use rig::Engine;
use sql::{DbUrl, Dialect, ServerUrl};
use stackmark_tests::engines::{CONNECTIONS, LockedServer, small};
use stackmark_tests::fake;
use std::path::PathBuf;
use std::process::Command;

/// A command in a folder of its own cannot run, says all of `words`, and leaves nothing.
#[track_caller]
fn refused(line: &str, url: &ServerUrl, words: &[&str]) {
    let workdir = Workdir::empty();
    let ran: Ran = run_on(&workdir, line, url);
    ran.refused(words);
    assert!(!ran.err.contains(SECRET), "{ran:?}");
    let left: Vec<_> = workdir.files().into_iter().filter(|file| file != "results").collect();
    assert!(left.is_empty(), "{left:?} is left: {ran:?}");
}

const SECRET: &str = "hunter2";

fn run(engine: Engine) -> String {
    format!("run tpcb/{} --calls 100 --warmup 0s", driver(engine))
}

#[test]
fn who_is_not_let_in_is_told_why() {
    for engine in ENGINES {
        let mut server = LockedServer::of(engine);
        let url = loaded(&mut server, "tpcb");
        let (line, place) = (run(engine), url.place());
        let wrong = with_password(&url, SECRET);
        refused(&line, &wrong, &[&place, "password"]);
        refused(&line, &ServerUrl { password: None, ..url.clone() }, &[&place, "password"]);
        refused(&line, &ServerUrl { user: "nobody".into(), ..wrong.clone() }, &[&place, "`nobody`"]);
        let encrypted = ServerUrl { tls: sql::Tls::Require, ..url.clone() };
        refused(&line, &encrypted, &["`sslmode=disable` or `prefer`"]);
        let nobody = ServerUrl { port: 1, ..wrong.clone() };
        for command in [line.as_str(), "load tpcb", "audit tpcb", "serve tpcb --listen 127.0.0.1:0"] {
            refused(command, &nobody, &["127.0.0.1:1", "refused"]);
        }
        let other = if engine == Engine::Postgres { "tpcb/mariadb" } else { "tpcb/postgres" };
        refused(
            &format!("run {other}"),
            &url,
            &["--db names a database of", driver(engine).split('/').next().unwrap()],
        );
    }
}

#[test]
fn a_database_that_cannot_be_run_on_says_why() {
    for engine in ENGINES {
        let mut server = LockedServer::of(engine);
        let url = loaded(&mut server, "tpcb");
        let line = run(engine);
        let nowhere = url.with_database("nowhere");
        let how = if engine == Engine::Postgres { "createdb" } else { "stackmark load tpcb/mariadb" };
        refused(&line, &nowhere, &["`nowhere`", how]);
        let tpcc = line.replace("tpcb/", "tpcc/");
        refused(&tpcc, &url, &["was loaded for `tpcb`, not for `tpcc`"]);

        let empty = server.database("empty", |_| ());
        refused(&line, &empty, &["there is nothing in database `empty`", "stackmark load tpcb"]);
        let shop = server.database("shop", |_| ());
        let _ = server.ask("shop", "create table basket (id integer); create table book (id integer)");
        refused(&line, &shop, &["basket, book"]);
        refused("load tpcb --fresh", &shop, &["basket, book", "was not created by Stackmark"]);

        let half = server.database("half", |_| ());
        let _ = server.ask("half", "select 1");
        let workdir = Workdir::empty();
        let load = crate::start_on(&workdir, "load tpcb --scale 40", &half);
        // Not by looking at rows: MariaDB may spin for ever over a count of rows that it bulk loads at that moment.
        load.until("tables are made", || {
            // Of this database: the server has others with tables of that name.
            let made = "select count(*) from information_schema.tables where table_name = 'pgbench_accounts' \
                        and table_schema in ('half', 'public')";
            server.engine.client("half", made).is_ok_and(|count| count.trim() == "1")
        });
        load.signal(rustix::process::Signal::KILL);
        let _ = load.end();
        // A server notices after its clients have gone that they have.
        let (system, count) = match engine {
            Engine::Postgres => ("postgres", "select count(*) from pg_stat_activity where datname = 'half'"),
            Engine::Kafka => panic!("a broker has no SQL"),
            Engine::MariaDb => {
                ("mysql", "select count(*) from information_schema.processlist where db = 'half'")
            }
        };
        until("the sessions of the load have gone", || server.ask(system, count) == "0");
        refused(&line, &half, &["incomplete load", "--fresh"]);
    }
}

#[test]
fn a_full_server_says_so() {
    for engine in ENGINES {
        let mut server = LockedServer::of(engine);
        let url = loaded(&mut server, "tpcb");
        let line = format!("{} --clients {}", run(engine), CONNECTIONS + 10);
        refused(&line, &url, &["has room for", "max_connections", "fewer clients"]);
        let served = line.replace("/tokio-", "/axum+tokio-").replace("/mysql-", "/axum+mysql-");
        let line = format!("{served} --pool {}", CONNECTIONS + 10);
        refused(&line, &url, &["has room for", "--pool"]);
        let http = if engine == Engine::Postgres { "axum+tokio-postgres" } else { "axum+mysql-async" };
        let pool = CONNECTIONS + 10;
        let verify = format!(
            "verify tpcb/{}/{http} --pool {pool} --idle 0s",
            driver(engine).split('/').next().unwrap()
        );
        refused(&verify, &url, &["has room for", "--pool"]);
        let ran = run_on(&Workdir::empty(), &format!("serve tpcb --listen 127.0.0.1:0 --pool {pool}"), &url);
        assert!(ran.code() == 2 && ran.out.is_empty() && ran.err.contains("has room for"), "{ran:?}");
        // A server notices after its clients have gone that they have. The next test would find it full still.
        let count = match engine {
            Engine::Postgres => "select count(*) from pg_stat_activity where usename is not null",
            Engine::Kafka => panic!("a broker has no SQL"),
            Engine::MariaDb => "select count(*) from information_schema.processlist",
        };
        let system = if engine == Engine::Postgres { "postgres" } else { "mysql" };
        let connections = || server.engine.client(system, count).ok()?.trim().parse::<u32>().ok();
        until("its connections have gone", || connections().is_some_and(|count| count < CONNECTIONS / 2));
    }
}

#[test]
fn statements_that_a_server_would_not_take_are_refused_before_they_are_sent() {
    let mut server = LockedServer::of(Engine::MariaDb);
    let url = loaded(&mut server, "catalogue");
    let _ = server.ask("mysql", "set global max_allowed_packet = 4096");
    refused(
        "run catalogue/mariadb --calls 100 --warmup 0s",
        &url,
        &["max_allowed_packet", "4096 bytes", "hint: `set global"],
    );
    let _ = server.ask("mysql", "set global max_allowed_packet = 16777216");
}

#[test]
fn a_server_that_takes_no_writes_is_not_measured() {
    let mut server = LockedServer::of(Engine::MariaDb);
    let url = loaded(&mut server, "tpcb");
    let plain = "create user if not exists plain@'127.0.0.1' identified by 'plain'; \
                 grant select, insert, update, delete, create, drop, create temporary tables on *.* to plain@'127.0.0.1'";
    let _ = server.ask("mysql", plain);
    let url = ServerUrl { user: "plain".into(), ..with_password(&url, "plain") };
    let _ = server.ask("mysql", "set global read_only = on");
    refused(&run(Engine::MariaDb), &url, &["read-only"]);
    let audited = run_on(&Workdir::empty(), "audit tpcb", &url);
    let _ = server.ask("mysql", "set global read_only = off");
    assert_eq!(audited.code(), 0, "{audited:?}");
}

/// What can be read is audited; two audits need a temporary table, and what was not checked is not passed.
#[track_caller]
fn assert_audited_in_part(audited: &Ran) {
    assert_eq!(audited.code(), 1, "{audited:?}");
    let first = audited.out.lines().nth(1).unwrap_or_default();
    assert!(first.contains("2 of 19 audits NOT RUN") && first.contains("CREATE TABLE"), "{audited:?}");
    // How much can be told depends on what tests before have left there.
    assert!(
        audited.out.contains(" passed, 0 failed, ") && audited.out.contains(", 2 not run"),
        "{audited:?}"
    );
}

#[test]
fn a_standby_is_audited_and_not_measured() {
    let mut standby = small(Engine::Postgres, &[]);
    standby.create_database("tpcb").unwrap();
    let url = standby.tcp_url("tpcb");
    assert_eq!(run_on(&Workdir::empty(), "load tpcb --scale 1", &url).code(), 0);
    // With this file the server replays the log that it finds, takes no writes, and waits for a primary.
    std::fs::write(standby.data().join("standby.signal"), "").unwrap();
    standby.restart().unwrap();
    assert_eq!(standby.client("tpcb", "select pg_is_in_recovery()").unwrap().trim(), "t");
    for line in [run(Engine::Postgres), run(Engine::Postgres).replace("tokio-", "axum+tokio-")] {
        refused(&line, &url, &["read-only replica", "primary"]);
    }
    refused("load tpcb --fresh", &url, &["read-only"]);
    assert_audited_in_part(&run_on(&Workdir::empty(), "audit tpcb", &url));
}

#[test]
fn a_server_that_is_too_old_is_named() {
    let text = "postgres://me:hunter2@127.0.0.1/tpcc";
    let old = |dialect: Dialect, version: &str, url: &str| {
        let port = fake::server(dialect, version).unwrap();
        ServerUrl { port, ..url.parse().unwrap() }
    };
    let postgres = old(Dialect::Postgres, "9.6.24", text);
    let mariadb = old(Dialect::MySql, "10.1.48-MariaDB", &text.replace("postgres", "mysql"));
    for (engine, url, words) in [
        (Engine::Postgres, postgres, ["PostgreSQL 9.6.24", "13 is the oldest"]),
        (Engine::MariaDb, mariadb, ["10.1.48", "10.6 or newer"]),
    ] {
        for line in [format!("run tpcc/{}", driver(engine)), "load tpcc".into(), "audit tpcc".into()] {
            refused(&line, &url, &words);
        }
    }
}

#[test]
fn a_wrong_url_is_told_without_its_password() {
    let url: ServerUrl = "postgres://me@127.0.0.1:1/db".parse().unwrap();
    for wrong in [
        "postgres://me:hunter2@127.0.0.1:port/db",
        "mysql://me:hunter2@127.0.0.1/",
        "oracle://me:hunter2@h/db",
    ] {
        let workdir = Workdir::empty();
        let mut command = command_on(&workdir, "run tpcb", &url);
        command.env("STACKMARK_DB", wrong);
        let ran = crate::Running::start(command).end();
        assert!(ran.code() == 2 && !ran.err.contains(SECRET), "{ran:?}");
    }
}

#[test]
fn tables_that_a_crash_empties_make_no_durable_run() {
    let mut server = LockedServer::of(Engine::Postgres);
    let url = server.database("unlogged", |url| {
        assert_eq!(run_on(&Workdir::empty(), "load tpcb --golden", url).code(), 0);
    });
    // The tests may have their engines in memory, and then a run has to say that.
    let in_memory = observe::FileSystem::of(&rig::for_tests::engines_folder()).unwrap().in_memory;
    let durability = |url: &ServerUrl| {
        let ran = run_on(&Workdir::empty(), &format!("{} --json", run(Engine::Postgres)), url);
        let trial = trial_of(&ran);
        let on = trial["data"]["file_system"].as_str().unwrap_or_default();
        assert_eq!(on.ends_with("(memory)"), in_memory, "{on}");
        let durability = trial["stack"]["durability"].clone();
        (durability["tier"].as_str().unwrap().to_owned(), durability["detail"].as_str().unwrap().to_owned())
    };
    let is_sound = |(tier, detail): (String, String)| {
        assert!(!detail.contains("not logged"), "{tier} {detail}");
        assert_eq!((tier == "volatile", detail.contains("is in memory")), (in_memory, in_memory), "{detail}");
    };
    let single = |kept: &str| server.ask("unlogged", &format!("alter table pgbench_accounts set {kept}"));
    is_sound(durability(&url));
    single("unlogged");
    let (tier, detail) = durability(&url);
    assert!(
        tier == "volatile" && detail.contains("not logged") && detail.contains("pgbench_accounts"),
        "{tier} {detail}"
    );
    single("logged");
    // And not one that they make so while it runs.
    let workdir = Workdir::empty();
    let line = "run tpcb/postgres --duration 2s --warmup 0s --clients 2 --json";
    let running = start_on(&workdir, line, &url);
    until_committed(&running, &workdir);
    single("unlogged");
    let ran = running.end();
    let later = trial_of(&ran)["stack"]["durability"].clone();
    assert_eq!(later["tier"], "volatile", "{later}");
    let after = "after the last call these tables are not logged";
    assert!(in_memory || later["detail"].as_str().unwrap().contains(after), "{later}");
    single("logged");
    // A table of someone else's next to ours says nothing of ours.
    let _ = server.ask("unlogged", "create unlogged table of_others (id int)");
    is_sound(durability(&url));

    let mut server = LockedServer::of(Engine::MariaDb);
    let url = server.database("myisam", |url| {
        assert_eq!(run_on(&Workdir::empty(), "load tpcb --golden", url).code(), 0);
    });
    let _ = server.ask("myisam", "alter table pgbench_history engine = MyISAM");
    refused(
        &run(Engine::MariaDb),
        &url,
        &["pgbench_history", "MyISAM", "no transactions", "engine = InnoDB"],
    );
    let _ = server.ask("myisam", "alter table pgbench_history engine = InnoDB");
    assert_ne!(run_on(&Workdir::empty(), &run(Engine::MariaDb), &url).code(), 2);
}

/// Where the server has what the data depends on: an index, the log and the states of transactions, wherever they were moved.
#[test]
fn all_folders_that_data_depends_on_are_known() {
    let folders = |url: &ServerUrl| -> Vec<PathBuf> {
        let kept = admin::store(DbUrl::Server(url.clone())).kept().unwrap();
        kept.into_iter().filter_map(|kept| kept.folder).collect()
    };
    let mut server = LockedServer::of(Engine::Postgres);
    let url = server.database("folders", |url| {
        assert_eq!(run_on(&Workdir::empty(), "load tpcb --golden", url).code(), 0);
    });
    let place = rig::for_tests::engines_folder().join("tablespace-of-an-index");
    std::fs::create_dir(&place).unwrap();
    let owned = Command::new("chown").arg("--reference").args([&server.engine.data(), &place]).status();
    assert!(owned.is_ok_and(|status| status.success()));
    let _ = server.ask("postgres", &format!("create tablespace of_index location '{}'", place.display()));
    let _ = server.ask("folders", "alter index pgbench_accounts_pkey set tablespace of_index");
    let found = folders(&url);
    for folder in [&place, &server.engine.data(), &server.engine.data().join("pg_wal")] {
        assert!(found.contains(folder), "{}: {found:?}", folder.display());
    }
    let _ = server.ask("postgres", "drop database folders with (force)");
    let _ = server.ask("postgres", "drop tablespace of_index");
    std::fs::remove_dir(&place).unwrap();

    let mut server = LockedServer::of(Engine::MariaDb);
    let url = server.database("folders", |url| {
        assert_eq!(run_on(&Workdir::empty(), "load tpcb --golden", url).code(), 0);
    });
    let named = "select case when @@innodb_log_group_home_dir like '/%' then @@innodb_log_group_home_dir
        else concat(@@datadir, @@innodb_log_group_home_dir) end";
    let log = PathBuf::from(server.ask("folders", named).trim());
    assert!(folders(&url).contains(&log), "{}: {:?}", log.display(), folders(&url));
}
