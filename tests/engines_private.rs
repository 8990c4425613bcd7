//! Engines of our own: started for a run, held to limits, kept up on request.

use crate::e2e_workdir::{Ran, Running, Workdir, assert_good, assert_tier, parse};
use crate::engines_workdir::{SHORT, on};
use rig::Engine;
use rig::for_tests::engines_folder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A command line with a place of its own for engines, so that tests do not meet each other's.
fn run(workdir: &Workdir, line: &str) -> Ran {
    let mut command = workdir.command(line);
    command.env("STACKMARK_RIG_DIR", rig_folder(workdir));
    Running::start(command).end()
}

/// Not below the working folder: the engine's user must be able to reach it, and a temporary folder is its owner's alone.
fn rig_folder(workdir: &Workdir) -> PathBuf {
    let name = workdir.path("").file_name().unwrap().to_string_lossy().replace('.', "");
    engines_folder().join(format!("stackmark-test-{name}"))
}

/// Removes what is left of a test, whatever became of it.
struct Swept<'a>(&'a Workdir);

impl Drop for Swept<'_> {
    fn drop(&mut self) {
        let _ = run(self.0, "rig down");
        let _ = std::fs::remove_dir_all(rig_folder(self.0));
    }
}

#[test]
fn a_run_without_a_database_brings_its_own_engine_and_takes_it_away_again() {
    let workdir = Workdir::empty();
    let _swept = Swept(&workdir);
    for (subject, setting) in [
        ("booking/postgres", "synchronous_commit=off"),
        ("transfer/mariadb", "innodb_flush_log_at_trx_commit=2"),
    ] {
        let ran = run(&workdir, &format!("run {subject} --scale 1 {SHORT} --durability delayed --json"));
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        let trial = &document["trials"][0];
        assert_tier(trial, "delayed");
        // The whole configuration is in the result, and what the engine cost.
        assert!(document["notes"].to_string().contains(setting), "{}", document["notes"]);
        let engine = trial["processes"]
            .as_array()
            .unwrap()
            .iter()
            .find(|process| process["roles"].as_array().unwrap().iter().any(|role| role == "engine"));
        assert!(engine.unwrap()["cpu_user_s"].as_f64().unwrap() > 0.0, "{subject}");
        let text = run(&workdir, &format!("report {}", workdir.runs().last().unwrap().display())).out;
        assert!(text.contains(trial["stack"]["durability"]["tier"].as_str().unwrap()), "{text}");
    }
    let left: Vec<_> = std::fs::read_dir(rig_folder(&workdir))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("pg-") || name.starts_with("my-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_engine_is_limited_or_it_is_said_why_it_cannot_be() {
    let workdir = Workdir::empty();
    let _swept = Swept(&workdir);
    // Commits wait for no disk: behind a slow one the engine would never come to its limit.
    let how = "--durability delayed --limit engine:cpu=0.2";
    let ran = run(&workdir, &format!("run tpcb/postgres --scale 1 --duration 2s --warmup 0s {how} --json"));
    if ran.code() == 2 {
        // Where control groups are not ours to make, this is all that can be tested.
        ran.refused(&["cgroup"]);
        return rig::for_tests::not_run("control groups are not ours to make; the refusal was seen");
    }
    let document = parse(&ran.out);
    let processes = document["trials"][0]["processes"].as_array().unwrap();
    let limits: Vec<&Value> =
        processes.iter().map(|process| &process["limits"]).filter(|limits| !limits.is_null()).collect();
    assert_eq!(limits.len(), 1, "{processes:#?}");
    assert_eq!(limits[0]["cpu"], 0.2);
    assert!(limits[0]["throttling"]["throttled_periods"].as_u64().unwrap() > 0, "{}", limits[0]);
}

#[test]
fn what_only_a_private_engine_can_be_told_is_refused_elsewhere() {
    let workdir = Workdir::loaded();
    let refused = |line: &str, words: &[&str]| run(&workdir, line).refused(words);
    refused("run tpcc --db sqlite:bench.db --durability delayed", &["--durability is for private engines"]);
    refused("run tpcc --limit engine:cpu=0.5", &["--limit engine:… is for a private engine"]);
    refused("run tpcc --limit server:cpu=0.5", &["there is none of tpcc/sqlite/rusqlite"]);
    let through = "--through-checkpoints";
    refused(
        &format!("run tpcc {through}"),
        &["--through-checkpoints cannot be done", "SQLite writes its log back"],
    );
    refused(&format!("run tpcc/mariadb {through}"), &["InnoDB writes pages back all the time"]);
    let short = format!("run tpcc/postgres {through} --duration 30s");
    refused(&short, &["the window is 30s", "--duration 75s"]);
    refused("sweep tpcc --clients 1,2 --through-checkpoints", &["SQLite writes its log back"]);
    refused("run tpcc --warmup 10s --warmup-max 5s", &["--warmup-max 5s is shorter than --warmup 10s"]);
    refused("run tpcc --limit cpu=0.5", &["engine:cpu=0.5,mem=1GiB"]);
    refused("run tpcc --limit engine:cpu=fast", &["engine:cpu=fast"]);
    refused("rig up oracle", &["no engine `oracle`", "postgres, mariadb, galera, spider, kafka"]);
    refused("compare tpcc/postgres tpcb/postgres", &["different workloads"]);
    refused("serve tpcc --engine mysql --adapter sqlx/procedure --db mysql://me@127.0.0.1:1/x", &["nearest"]);
    refused("run tpcb --think spec", &["tpcb has no think times"]);
    refused("run tpcc --setting work_mem=8MB", &["SQLite has no server to set", "cache=32MiB"]);
    refused("run tpcc/postgres --setting work_mem", &["a setting is NAME=VALUE"]);
    refused("run tpcc/postgres --setting jit=on --setting jit=off", &["jit has two values, off and on"]);
    let both = "compare tpcc/postgres tpcc/postgres/sqlx";
    refused(
        &format!("{both} --setting jit=on --setting jit=off"),
        &["jit has several values; compare takes them with one subject alone"],
    );
    refused("rig up --setting work_mem=8MB", &["each engine has settings and programs of its own"]);
}

/// A folder of programs that lead to those of an engine of this machine.
fn other_programs(workdir: &Workdir, engine: Engine) -> PathBuf {
    let installation = rig::find(engine).unwrap();
    let folder = rig_folder(workdir).join("programs");
    fs::create_dir_all(&folder).unwrap();
    for program in [&installation.server, &installation.initialiser, &installation.client] {
        std::os::unix::fs::symlink(program, folder.join(program.file_name().unwrap())).unwrap();
    }
    folder
}

#[test]
fn two_versions_of_an_engine_are_compared() {
    let workdir = Workdir::empty();
    let _swept = Swept(&workdir);
    let programs = other_programs(&workdir, Engine::Postgres);
    let how = format!(
        "--scale 1 --clients 2 --blocks 1 --duration 500ms --warmup 0s --engine-bin {}",
        programs.display()
    );
    let ran = run(&workdir, &format!("compare tpcb/postgres {how} --json"));
    assert!([0, 3].contains(&ran.code()), "{ran:?}");
    let document = parse(&ran.out);
    let comparison = &document["experiment"]["comparisons"][0];
    assert_eq!(comparison["factors"], serde_json::json!(["version"]));
    let label = comparison["b"]["label"].as_str().unwrap();
    // Both say the same of themselves, so that the folder tells them apart.
    assert!(label.starts_with("PostgreSQL ") && label.contains(programs.to_str().unwrap()), "{label}");
    // What the statements of the workload are executed by is known.
    let plans = document["trials"][0]["stack"]["plans"].as_array().unwrap();
    assert!(plans.iter().any(|plan| plan["statement"] == "read_account"), "{plans:?}");

    let refused = |line: &str, words: &[&str]| run(&workdir, line).refused(words);
    refused("run tpcc --engine-bin 15", &["SQLite is compiled in"]);
    refused("run tpcc/postgres --engine-bin /nowhere", &["--engine-bin is /nowhere", "initdb"]);
    refused("run tpcc/postgres --engine-bin 3", &["PostgreSQL 3 is not installed"]);
    refused("run tpcc/postgres --engine-bin 3 --engine-bin 4", &["compares two versions"]);
    refused("rig up --engine-bin 15", &["each engine has settings and programs of its own"]);
}

/// The plan for one that is compared with itself: what a setting does is measured, and never "different work".
#[test]
fn a_setting_is_compared_with_its_default() {
    let workdir = Workdir::empty();
    let _swept = Swept(&workdir);
    let how = "--scale 1 --clients 2 --blocks 2 --duration 1s --warmup 200ms";
    let ran = run(&workdir, &format!("compare tpcb/postgres --setting synchronous_commit=off {how} --json"));
    assert!([0, 3].contains(&ran.code()), "{ran:?}");
    let document = parse(&ran.out);
    let variants = document["experiment"]["variants"].as_array().unwrap();
    let names: Vec<&str> = variants.iter().map(|variant| variant["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["default settings", "default settings, again", "synchronous_commit=off"]);
    // In turn, the base and its control on one engine, the other on one of its own.
    assert!(!document["notes"].to_string().contains("not in turn"), "{}", document["notes"]);
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 6, "{trials:?}");
    let mut engines = BTreeSet::new();
    for trial in trials {
        let settings = trial["stack"]["settings"].as_array().unwrap();
        let commits = settings.iter().find(|setting| setting["name"] == "synchronous_commit").unwrap();
        let is_base = commits["value"] == "on";
        assert_tier(trial, if is_base { "durable" } else { "delayed" });
        assert_eq!(trial["rounds"].as_array().unwrap().len(), 2);
        let is_engine = |process: &&Value| process["roles"][0] == "engine";
        let own: Vec<&Value> = trial["processes"].as_array().unwrap().iter().filter(is_engine).collect();
        assert!(own.len() == 1 && own[0]["cpu_user_s"].as_f64().unwrap() > 0.0, "{own:?}");
        engines.insert(own[0]["pid"].as_u64().unwrap());
        // What is stored is the work of those on the same copy of the data.
        let check = &trial["ledger"][0];
        assert_eq!(check["check"], "passed", "{check}");
        let (sentence, other) = (check["sentence"].as_str().unwrap(), "synchronous_commit=off");
        assert_eq!(sentence.contains("default settings, again"), is_base, "{sentence}");
        assert_eq!(sentence.contains(other), !is_base, "{sentence}");
    }
    // Two in each block.
    assert_eq!(engines.len(), 4, "{engines:?}");
    let comparison = &document["experiment"]["comparisons"][0];
    assert_ne!(comparison["verdict"], "not_comparable", "{comparison}");
    let differences = comparison["key_differences"].to_string();
    assert!(differences.contains("synchronous_commit"), "{comparison}");
    let text = run(&workdir, &format!("report {}", workdir.only_run().display())).out;
    assert!(text.contains("synchronous_commit=off") && text.contains("default settings"), "{text}");
}

/// An index is dropped while calls are made: what was planned before is planned otherwise afterwards.
#[test]
fn a_plan_that_changes_while_calls_are_made_is_reported() {
    let workdir = Workdir::empty();
    on(Engine::Postgres, |server| {
        let url = server.loaded(&workdir, "catalogue --scale 1", "plans");
        let mut command =
            workdir.command(&format!("run catalogue/postgres --db {url} --warmup 0s --duration 4s --json"));
        command.env("STACKMARK_DB_PASSWORD", server.password());
        let running = Running::start(command);
        running.until("calls are made", || workdir.has_committed());
        server.engine.client("plans", "drop index food_kcal").unwrap();
        let ran = running.end();
        assert_eq!(ran.code(), 0, "{ran:?}");
        let trial = &parse(&ran.out)["trials"][0];
        let plans = trial["stack"]["plans"].as_array().unwrap();
        let changed: Vec<&Value> = plans.iter().filter(|plan| plan["later"].is_string()).collect();
        assert!(!changed.is_empty() && changed.len() < plans.len(), "{plans:?}");
        let of_page = changed.iter().find(|plan| plan["statement"] == "foods_by_kcal_page").unwrap();
        assert_eq!(of_page["plan"], "Limit > Index Scan using food_kcal on food");
        assert_eq!(of_page["later"], "Limit > Sort > Seq Scan on food");
        let rule = trial["rules"].as_array().unwrap().iter().find(|rule| rule["name"] == "plans").unwrap();
        assert_eq!(rule["severity"], "info", "{rule}");
    });
}

/// The user's own server is asked for its settings, and never changed.
#[test]
fn a_setting_of_the_users_server_is_compared_and_never_changed() {
    for (engine, subject, setting, has, other) in [
        (Engine::Postgres, "tpcb/postgres", "work_mem", "4MB", "7MB"),
        (Engine::MariaDb, "tpcb/mariadb", "innodb_doublewrite", "on", "off"),
    ] {
        on(engine, |server| {
            let workdir = Workdir::empty();
            let url = server.loaded(&workdir, "tpcb --golden", "settings");
            let line = |value: &str| {
                format!("run {subject} --db {url} --calls 10 --warmup 0s --setting {setting}={value}")
            };
            server.run(&workdir, &line(other)).refused(&[
                &format!("{setting} of the server of --db is "),
                &format!("and not {other}: Stackmark does not change your server"),
            ]);
            server.done(&workdir, &line(has));
            let unknown = format!("run {subject} --db {url} --setting no_such_setting=1");
            server.run(&workdir, &unknown).refused(&["no_such_setting"]);
            let varied = format!("compare {subject} --db {url} --setting {setting}={other}");
            server.run(&workdir, &varied).refused(&["Stackmark does not change your server"]);
        });
    }
}

/// Calls that were committed or declined.
fn answered(document: &Value) -> u64 {
    let counts = &document["trials"][0]["overall"]["call_counts"];
    ["committed", "declined"].iter().map(|column| counts[column].as_u64().unwrap()).sum()
}

/// More sessions than the engines take by default, on as much data as is loaded without being asked for.
#[test]
fn a_private_engine_has_room_for_the_clients_that_are_asked_for() {
    for (subject, clients, scale, sentence) in [
        ("booking/postgres", 230, None, None),
        ("booking/mariadb", 230, None, None),
        ("tpcb/postgres/axum+tokio-postgres", 1, Some(2), Some("2 branches, the default for 1 client")),
    ] {
        let workdir = Workdir::empty();
        let _swept = Swept(&workdir);
        let ran = run(&workdir, &format!("run {subject} --clients {clients} --calls 400 --warmup 0s --json"));
        let document = parse(&ran.out);
        assert_eq!(answered(&document), 400, "{subject}: {ran:?}");
        assert!(scale.is_none_or(|scale| document["trials"][0]["data"]["scale"] == scale), "{subject}");
        assert!(sentence.is_none_or(|sentence| ran.err.starts_with(sentence)), "{}", ran.err);
    }
}

#[test]
fn variables_of_other_clients_do_not_reach_a_private_engine() {
    let of_others = [
        ("PGPASSWORD", "wrong"),
        ("PGOPTIONS", "-c default_transaction_read_only=on"),
        ("PGHOST", "nowhere.invalid"),
        ("PGSSLMODE", "verify-full"),
        ("PGSERVICE", "none"),
        ("MYSQL_PWD", "wrong"),
        ("MYSQL_HOST", "nowhere.invalid"),
        ("MYSQL_TCP_PORT", "1"),
        ("MYSQL_UNIX_PORT", "/nowhere"),
    ];
    for how in [
        "transfer/postgres --statement-statistics",
        "transfer/mariadb",
        "transfer/postgres/axum+tokio-postgres",
    ] {
        let workdir = Workdir::empty();
        let _swept = Swept(&workdir);
        let mut command =
            workdir.command(&format!("run {how} --scale 1 --clients 2 --calls 100 --warmup 0s --json"));
        command.env("STACKMARK_RIG_DIR", rig_folder(&workdir)).envs(of_others);
        let ran = Running::start(command).end();
        assert_ne!(ran.code(), 2, "{how}: {ran:?}");
        assert_eq!(answered(&parse(&ran.out)), 100, "{how}");
    }
}

#[test]
fn a_warm_up_goes_on_until_the_engine_has_settled() {
    let workdir = Workdir::empty();
    let _swept = Swept(&workdir);
    // After 2 s there are too few readings to tell that it has, however fast it logs.
    let how = "--durability delayed --warmup 2s --warmup-max 8s --duration 2s";
    let ran = run(&workdir, &format!("run transfer/postgres --scale 1 {how} --json"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let trial = &document["trials"][0];
    assert_eq!((&trial["plan"]["warmup_s"], &trial["plan"]["warmup_max_s"]), (&2.0.into(), &8.0.into()));
    let warmed = trial["warmup_s"].as_f64().expect("it went on");
    assert!((3.0..=8.0).contains(&warmed), "{warmed}");
    let slices = trial["slices"].as_array().unwrap();
    assert_eq!(slices.iter().filter(|slice| slice["warmup"] == true).count(), warmed as usize);
    assert_eq!(slices.iter().filter(|slice| slice["warmup"] == false).count(), 2);
    assert!((slices[0]["t_s"].as_f64().unwrap() + warmed).abs() < 1e-6, "{}", slices[0]);
}

#[test]
fn an_engine_stays_up_until_it_is_told_to_go() {
    let workdir = Workdir::empty();
    let _swept = Swept(&workdir);
    run(&workdir, "rig up kafka --database bench").refused(&["Kafka has no databases"]);
    for line in ["rig up postgres --nodes 3", "rig up mariadb --setting stackmark.galera=3"] {
        run(&workdir, line).refused(&["--nodes", "`stackmark rig up galera --nodes 3`"]);
    }
    run(&workdir, "rig up galera postgres").refused(&["a cluster is started by itself"]);
    run(&workdir, "rig up postgres --database Bench").refused(&["`Bench` is not a name for a database"]);
    let asked = "rig up postgres --database bench --setting work_mem=5MB --json";
    let up = run(&workdir, asked);
    assert_eq!(up.code(), 0, "{up:?}");
    let up: Value = serde_json::from_str(&up.out).unwrap();
    let [engine] = &up.as_array().unwrap()[..] else { panic!("{up}") };
    let [url, file] = ["url", "password_file"].map(|name| engine[name].as_str().unwrap());
    assert_eq!(fs::metadata(file).unwrap().mode() & 0o777, 0o600, "{file}");
    // What it prints works as it is.
    let place = format!("--db {url} --password-file {file}");
    for line in ["load tpcb --golden", "run tpcb/postgres --calls 10 --warmup 0s --setting work_mem=5MB"] {
        let ran = run(&workdir, &format!("{line} {place}"));
        assert_eq!(ran.code(), 0, "{line}: {ran:?}");
    }
    let printed = run(&workdir, "rig status").out;
    assert!(
        printed.contains("--db 'postgres://") && printed.contains(&format!("--password-file {file}")),
        "{printed}"
    );
    // It is there, with the data in it, and cannot be had with other settings.
    assert_eq!(run(&workdir, asked).code(), 0);
    assert_eq!(run(&workdir, &format!("audit tpcb {place}")).code(), 0);
    run(&workdir, "rig up postgres --setting work_mem=6MB")
        .refused(&["postgres is already running without work_mem = 6MB", "rig down postgres"]);
    let status: Value = serde_json::from_str(&run(&workdir, "rig status --json").out).unwrap();
    let [engine] = &status.as_array().unwrap()[..] else { panic!("{status}") };
    assert_eq!((&engine["engine"], &engine["alive"]), (&"postgres".into(), &true.into()), "{status}");
    assert!(engine["settings"].to_string().contains("fsync"), "{status}");
    let pid = engine["pid"].as_u64().unwrap() as u32;
    assert!(crate::e2e_workdir::is_alive(pid));
    let down = run(&workdir, "rig down");
    assert!(down.code() == 0 && down.out.contains("stopped postgres and deleted its data"), "{down:?}");
    assert!(!crate::e2e_workdir::is_alive(pid));
    assert_eq!(run(&workdir, "rig status").out, "nothing is up\n");
}

mod extended {
    use super::*;

    #[test]
    fn a_trial_through_checkpoints_holds_two() {
        let workdir = Workdir::empty();
        let _swept = Swept(&workdir);
        let how = "--through-checkpoints --durability delayed --clients 2 --warmup 1s --duration 75s";
        let ran = run(&workdir, &format!("run tpcb/postgres --scale 1 {how} --json"));
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        let trial = &document["trials"][0];
        let settings = trial["stack"]["settings"].as_array().unwrap();
        let timeout = settings.iter().find(|setting| setting["name"] == "checkpoint_timeout");
        assert!(
            timeout.is_some_and(|setting| setting["value"].as_str().unwrap().starts_with("30")),
            "{timeout:?}"
        );
        let rules = trial["rules"].as_array().unwrap();
        let rule = rules.iter().find(|rule| rule["name"] == "checkpoints").expect("the engine counts them");
        assert_eq!(rule["severity"], "ok", "{rule}");
    }
}
