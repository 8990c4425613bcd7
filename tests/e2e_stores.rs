//! A bank over two stores: each has its branches and no others, money is summed over both, and what is wrong with one of them
//! is told with its name.

use crate::e2e_bad_input::refused;
use crate::e2e_workdir::{INTERRUPTED, Ran, Running, Workdir, assert_good, parse, write};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const BOTH: &str = "--db shard-0=sqlite:a.db --db shard-1=sqlite:b.db";
const SHORT: &str = "--warmup 0s --calls 400 --clients 4 --generator-threads 2 --json";
/// Trials whose lengths do not matter.
const TRIALS: &str = "--blocks 1 --no-control --warmup 0s --calls 200 --clients 2";

/// The two files of a bank of five branches: two in the first, three in the second.
static LOADED: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let loaded = LazyLock::<Workdir>::new(|| {
        let workdir = Workdir::empty();
        let ran = workdir.run(&format!("load tpcb --scale 5 --shards 2 {BOTH}"));
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert_eq!(workdir.files(), ["a.db", "b.db"]);
        workdir
    });
    ["a.db", "b.db"].map(|name| {
        let read = || fs::read(loaded.path(name)).unwrap();
        rig::for_tests::fixture(&format!("e2e-tpcb-{name}").replace('.', "-"), read)
    })
});

/// With `a.db` and `b.db`.
fn bank() -> Workdir {
    let workdir = Workdir::empty();
    for (name, bytes) in ["a.db", "b.db"].into_iter().zip(&*LOADED) {
        fs::write(workdir.path(name), bytes).unwrap();
    }
    workdir
}

/// The whole number that a query gives.
fn number(file: &Path, query: &str) -> i64 {
    let file = rusqlite::Connection::open(file).unwrap();
    file.query_row(query, [], |row| row.get(0)).unwrap()
}

/// Behind everybody's back.
fn act(file: &Path, statement: &str) {
    let file = rusqlite::Connection::open(file).unwrap();
    // Until the calls under way let it in.
    file.busy_timeout(std::time::Duration::from_secs(300)).unwrap();
    file.execute_batch(statement).unwrap();
}

fn done(ran: Ran) -> String {
    assert_eq!(ran.code(), 0, "{ran:?}");
    ran.out
}

/// Names of what was checked and has failed.
fn failed(of: &Value) -> Vec<String> {
    let all = of.as_array().unwrap().iter().filter(|found| found["check"] == "failed");
    all.map(|found| {
        format!("{} {}", found["store"].as_str().unwrap_or("all"), found["name"].as_str().unwrap())
    })
    .collect()
}

/// A trial says what each store holds and holds them to the same audits, all of which passed; money was summed over both.
#[track_caller]
fn assert_over_both(trial: &Value) {
    let stores = trial["data"]["stores"].as_array().unwrap();
    let names: Vec<&Value> = stores.iter().map(|store| &store["name"]).collect();
    assert_eq!(names, ["shard-0", "shard-1"]);
    let sum = |column: &str| stores.iter().map(|store| store[column].as_u64().unwrap()).sum::<u64>();
    assert_eq!(
        (Some(sum("rows")), Some(sum("bytes"))),
        (trial["data"]["rows"].as_u64(), trial["data"]["bytes"].as_u64())
    );
    let audited = |store: &str| -> Vec<&str> {
        let all = trial["audits"].as_array().unwrap().iter().filter(|audit| audit["store"] == store);
        all.map(|audit| audit["name"].as_str().unwrap()).collect()
    };
    assert!(audited("shard-0").contains(&"balance-sums"), "{trial}");
    assert_eq!(audited("shard-0"), audited("shard-1"));
    assert_eq!(failed(&trial["audits"]), [""; 0]);
    let ledger = trial["ledger"].as_array().unwrap();
    assert!(!ledger.is_empty() && ledger.iter().all(|found| found["check"] == "passed"), "{ledger:?}");
    let setting =
        trial["stack"]["settings"].as_array().unwrap().iter().find(|found| found["name"] == "stores");
    assert_eq!(setting.unwrap()["value"], "2");
}

#[test]
fn each_store_holds_its_branches_only_and_calls_stay_there() {
    let workdir = bank();
    let [a, b] = ["a.db", "b.db"].map(|name| workdir.path(name));
    let ids = "select group_concat(bid) = ";
    for (file, branches) in [(&a, "'1,2'"), (&b, "'3,4,5'")] {
        assert_eq!(
            number(file, &format!("{ids}{branches} from (select bid from pgbench_branches order by bid)")),
            1
        );
        assert_eq!(
            number(file, &format!("select count(*) from pgbench_accounts where instr({branches}, bid) = 0")),
            0
        );
    }
    assert_eq!(number(&b, "select min(aid) from pgbench_accounts"), 200_001);
    for (subject, conformance) in
        [("tpcb/sqlite/rusqlite", "passed"), ("tpcb/sqlite/axum+rusqlite", "passed")]
    {
        let ran = workdir.run(&format!("run {subject} {BOTH} {SHORT}"));
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        let trial = &document["trials"][0];
        assert_over_both(trial);
        assert_eq!(
            (&trial["conformance"]["check"], &trial["data"]["scale"]),
            (&conformance.into(), &5.into())
        );
        let stored: i64 =
            [&a, &b].map(|file| number(file, "select count(*) from pgbench_history")).iter().sum();
        let committed = trial["overall"]["call_counts"]["committed"].as_i64().unwrap();
        assert!(committed > 0 && stored >= committed, "{committed} of {stored}");
    }
    for (file, own) in
        [(&a, "bid < 3 and aid <= 200000 and tid <= 20"), (&b, "bid > 2 and aid > 200000 and tid > 20")]
    {
        assert!(number(file, "select count(*) from pgbench_history") > 0);
        assert_eq!(number(file, &format!("select count(*) from pgbench_history where not ({own})")), 0);
    }
    // Each run's claims hold only for what followed: the last one's do, of both stores together.
    let runs = workdir.runs();
    let audit = workdir.run(&format!("audit tpcb {BOTH} --json --run {}", runs.last().unwrap().display()));
    let audited: Value = serde_json::from_str(&done(audit)).unwrap();
    assert!(!audited["ledger"].as_array().unwrap().is_empty());
    let text = done(workdir.run(&format!("audit tpcb {BOTH}")));
    for words in ["a.db and b.db: 5 branches", "balance-sums in shard-0", "balance-sums in shard-1"] {
        assert!(text.contains(words), "{text}");
    }
    // A report of what is stored says how many there were.
    let report = done(workdir.run(&format!("report {}", runs[0].display())));
    assert!(report.contains("audits") && !report.contains("FAILED"), "{report}");
}

#[test]
fn a_server_that_was_started_by_hand_is_measured_over_both() {
    let workdir = bank();
    let serving = |stores: &str, environment: &[(&str, &str)]| {
        let mut command = workdir.command(&format!("serve tpcb --listen 127.0.0.1:0 --pool 4 {stores}"));
        command.envs(environment.iter().copied());
        let server = Running::start(command);
        server.until("it listens", || server.out().ends_with('\n'));
        let url = server.out().trim().strip_prefix("listening on ").unwrap().to_owned();
        (server, url)
    };
    let (server, url) = serving(BOTH, &[]);
    let ran = workdir.run(&format!("run tpcb --url {url} {BOTH} {SHORT}"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    assert_over_both(&document["trials"][0]);
    // Whoever knows of one store would make calls that are in two.
    refused(
        &workdir,
        &format!("run tpcb --url {url} {SHORT}"),
        &["the server's data is split over 2 stores, and this run's over 1", "hint: --shards 2"],
    );
    server.signal(Signal::TERM);
    assert_eq!(server.end().code(), 0);

    // As a server is told that is started for a run.
    let (_server, url) = serving("", &[("STACKMARK_DB", "sqlite:a.db"), ("STACKMARK_DB_1", "sqlite:b.db")]);
    let ran = workdir.run(&format!("run tpcb --url {url} --shards 2 {SHORT}"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let trial = &document["trials"][0];
    assert!(trial["overall"]["call_counts"]["committed"].as_u64().unwrap() > 0, "{trial}");
    assert!(trial["audits"].as_array().unwrap().is_empty() && ran.err.contains("result: "), "{ran:?}");
}

/// What the stores held before each trial of the only run, by its claims: places and, of all of them, calls that they knew of.
fn before_trials(workdir: &Workdir) -> Vec<(usize, i64)> {
    let trials = fs::read_dir(workdir.only_run().join("trials")).unwrap();
    let claims = trials.map(|trial| fs::read_to_string(trial.unwrap().path().join("claims.json")).unwrap());
    claims
        .map(|claims| {
            let claims: Value = serde_json::from_str(&claims).unwrap();
            let places = claims["before"].as_array().unwrap();
            let known =
                |place: &Value| place["entries"].as_i64().unwrap() + place["balance"].as_i64().unwrap().abs();
            (places.len(), places.iter().map(known).sum())
        })
        .collect()
}

/// Files of databases that are left anywhere.
fn databases(workdir: &Workdir) -> Vec<String> {
    workdir.files().into_iter().filter(|file| file.contains(".db") || file.contains("private")).collect()
}

#[test]
fn every_trial_begins_from_the_loaded_state_and_leaves_nothing() {
    // Accounts, tellers and the branch of each of the branches.
    let places = |branches: usize| branches * (1 + 10 + 1);
    let workdir = Workdir::empty();
    let private = workdir.run(&format!("compare tpcb/sqlite tpcb/sqlite --shards 2 {TRIALS}"));
    assert!(matches!(private.code(), 0 | 1), "{private:?}");
    assert!(
        private.err.contains("2 branches, the default for 2 stores; --scale sets another"),
        "{private:?}"
    );
    assert_eq!(before_trials(&workdir), [(places(2), 0); 2]);
    assert_eq!(databases(&workdir), [""; 0]);
    workdir.document()["trials"].as_array().unwrap().iter().for_each(assert_over_both);

    let workdir = bank();
    let named = workdir.run(&format!("compare tpcb/sqlite tpcb/sqlite/axum+rusqlite {BOTH} {TRIALS}"));
    assert!(matches!(named.code(), 0 | 1), "{named:?}");
    assert_eq!(before_trials(&workdir), [(places(5), 0); 2]);
    assert_eq!(databases(&workdir), ["a.db", "b.db"]);
    for (name, bytes) in ["a.db", "b.db"].into_iter().zip(&*LOADED) {
        assert!(fs::read(workdir.path(name)).unwrap() == *bytes, "{name} was written to");
    }
    workdir.document()["trials"].as_array().unwrap().iter().for_each(assert_over_both);
}

#[test]
fn two_deployments_of_one_experiment_differ_in_their_shards_and_nothing_else() {
    let workdir = Workdir::empty();
    write(
        workdir.path("stores.toml"),
        "workload = \"tpcb\"\nscale = 4\n[plan]\nblocks = 3\ncalls = 200\nwarmup = \"0s\"\nclients = 2\n\
         control = false\n[[variant]]\nname = \"stores\"\nsubject = \"sqlite/rusqlite\"\ndurability = \"delayed\"\n\
         shards = [1, 2]\n",
    );
    let ran = workdir.run("experiment stores.toml");
    assert!(matches!(ran.code(), 0 | 1), "{ran:?}");
    let document = workdir.document();
    assert_eq!(document["state"], "complete");
    let comparison = &document["experiment"]["comparisons"][0];
    assert_eq!(comparison["factor"], "shards");
    assert_ne!(comparison["verdict"], "not_comparable", "{comparison:#}");
    let differences = comparison["key_differences"].as_array().unwrap();
    assert!(differences.iter().any(|found| found["field"] == "data.stores"), "{comparison:#}");
    assert!(differences.iter().all(|found| found["intended"] == true), "{comparison:#}");
    let mut before = before_trials(&workdir);
    before.dedup();
    assert_eq!(before, [(48, 0)]);
    assert_eq!(databases(&workdir), [""; 0]);
    let stores: Vec<usize> = document["trials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|trial| trial["data"]["stores"].as_array().map_or(1, Vec::len))
        .collect();
    assert_eq!(stores.iter().sum::<usize>(), 3 + 6, "{stores:?}");
}

const THEFT: &str = "update pgbench_accounts set abalance = abalance - 7 where aid = 300000";

#[test]
fn money_that_is_taken_before_a_run_is_missed_in_its_store() {
    let workdir = bank();
    act(&workdir.path("b.db"), THEFT);
    for subject in ["tpcb/sqlite/rusqlite", "tpcb/sqlite/axum+rusqlite"] {
        let ran = workdir.run(&format!("run {subject} {BOTH} {SHORT}"));
        ran.refused(&["data audit failed before the run (account-history in shard-1", "account 300000"]);
    }
    let compared = workdir.run(&format!("compare tpcb/sqlite tpcb/sqlite {BOTH} {TRIALS}"));
    assert_eq!(compared.code(), 2, "{compared:?}");
    assert!(compared.err.contains("in shard-1"), "{compared:?}");
    assert!(workdir.runs().is_empty(), "{:?}", workdir.files());
    let audit = workdir.run(&format!("audit tpcb {BOTH}"));
    assert_eq!(audit.code(), 1, "{audit:?}");
    let failed: Vec<&str> = audit.out.lines().filter(|line| line.contains("FAILED")).collect();
    assert!(!failed.is_empty() && failed.iter().all(|line| line.contains(" in shard-1 ")), "{}", audit.out);
}

#[test]
fn money_that_is_taken_behind_a_run_is_missed_in_its_store_and_in_the_sum() {
    let workdir = bank();
    let run =
        workdir.start(&format!("run tpcb {BOTH} --duration 60s --warmup 0s --clients 2 --think 10ms --json"));
    run.until("calls are committed", || workdir.has_committed());
    act(&workdir.path("b.db"), THEFT);
    run.signal(Signal::INT);
    let ran = run.end();
    assert_eq!(ran.code(), INTERRUPTED, "{ran:?}");
    let trial = &parse(&ran.out)["trials"][0];
    let audits = failed(&trial["audits"]);
    assert!(audits.contains(&"shard-1 balance-sums".to_owned()), "{audits:?}");
    assert!(audits.iter().all(|name| name.starts_with("shard-1 ")), "{audits:?}");
    assert!(failed(&trial["ledger"]).contains(&"all balances of accounts vs history".to_owned()), "{trial}");
    let report = workdir.run(&format!("report {}", workdir.only_run().display()));
    assert!(report.out.contains("balance-sums in shard-1"), "{}", report.out);
    let audit = workdir.run(&format!("audit tpcb {BOTH} --run {}", workdir.only_run().display()));
    assert_eq!(audit.code(), 1, "{audit:?}");
}

#[test]
fn ctrl_c_ends_a_run_over_two_with_a_valid_partial_result() {
    for subject in ["tpcb/sqlite/rusqlite", "tpcb/sqlite/axum+rusqlite"] {
        let workdir = bank();
        let run = workdir.start(&format!(
            "run {subject} {BOTH} --duration 60s --warmup 0s --clients 2 --think 10ms --json"
        ));
        run.until("calls are committed", || workdir.has_committed());
        run.signal(Signal::INT);
        let ran = run.end();
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        assert_eq!(document["state"], "interrupted");
        assert_over_both(&document["trials"][0]);
        assert!(!workdir.files().iter().any(|file| file.contains("private")), "{:?}", workdir.files());
        let audit = workdir.run(&format!("audit tpcb {BOTH} --run {}", workdir.only_run().display()));
        assert_eq!(audit.code(), 0, "{audit:?}");
    }
}

#[test]
fn stores_that_do_not_belong_together_are_refused_before_anything_starts() {
    let workdir = bank();
    let loaded = |line: &str| assert_eq!(workdir.run(&format!("load tpcb {line}")).code(), 0, "{line}");
    loaded("--scale 3 --shards 2 --db shard-0=sqlite:three-0.db --db shard-1=sqlite:three-1.db");
    loaded("--scale 5 --shards 2 --seed 2 --db shard-0=sqlite:seed-0.db --db shard-1=sqlite:seed-1.db");
    let users = [
        "run tpcb",
        "run tpcb/sqlite/axum+rusqlite",
        "serve tpcb --listen 127.0.0.1:0",
        "compare tpcb tpcb",
        "sweep tpcb",
        "find-max tpcb --slo p99<50ms",
    ];
    let check = |user: &str, first: &str, second: &str, words: &[&str]| {
        refused(&workdir, &format!("{user} --db shard-0={first} --db shard-1={second}"), words);
    };
    for user in users {
        let misplaced =
            ["shard-0 does not hold its part of 5 branches over 2 stores", "in the place of another"];
        check(user, "sqlite:b.db", "sqlite:a.db", &misplaced);
        let other_size = ["does not hold its part of 7 branches", "of another size"];
        check(
            user,
            "sqlite:a.db",
            "sqlite:three-1.db",
            &["does not hold its part of 4 branches", other_size[1]],
        );
        check(
            user,
            "sqlite:three-0.db",
            "sqlite:b.db",
            &["does not hold its part of 4 branches", other_size[1]],
        );
        check(user, "sqlite:a.db", "sqlite:seed-1.db", &["loaded with the seed 1", "seed-1.db with 2"]);
        let gone = ["shard-1: there is no database at gone.db", "load tpcb --scale 2 --shards 2"];
        check(user, "sqlite:a.db", "sqlite:gone.db", &gone);
        check(user, "sqlite:a.db", "sqlite:./a.db", &["shard-0 and shard-1 are the same database, ./a.db"]);
        let mixed = ["the stores of one subject are on one engine", "names sqlite and postgres"];
        check(user, "sqlite:a.db", "postgres://me@127.0.0.1:1/b", &mixed);
    }
    check("audit tpcb", "sqlite:b.db", "sqlite:a.db", &["shard-0 does not hold its part of 5 branches"]);
    check("audit tpcb", "sqlite:a.db", "postgres://me@127.0.0.1:1/b", &["names sqlite and postgres"]);
    let named = |line: &str, words: &[&str]| {
        refused(&workdir, line, words);
    };
    named(&format!("run tpcb {BOTH} --scale 6"), &["5 branches together, requested 6", "leave --scale out"]);
    named("run tpcb --db sqlite:a.db --db sqlite:b.db", &["named without their stores", "--db shard-1=URL"]);
    named("run tpcb --db shard-0=sqlite:a.db --db shard-0=sqlite:b.db", &["shard-0 is named twice"]);
    named("run tpcb --db shard-0=sqlite:a.db --db shard-2=sqlite:b.db", &["no store `shard-2`"]);
    named("load tpcb --db shard-0=sqlite:a.db --db broker=h:1", &["no store `broker`"]);
    named(
        "run tpcb --db sqlite:a.db --db broker=sqlite:b.db",
        &["`sqlite:b.db` is not an address of a broker"],
    );
    named("run tpcb --shards 2 --db sqlite:a.db", &["--shards is 2, and --db names 1"]);
    named(&format!("run tpcb --shards 3 {BOTH}"), &["--shards is 3, and --db names 2"]);
}

#[test]
fn what_cannot_be_split_is_refused_before_anything_starts() {
    let workdir = Workdir::empty();
    for user in ["run", "sweep", "find-max --slo p99<50ms"] {
        refused(&workdir, &format!("{user} tpcc --shards 2"), &["tpcc cannot be split over several stores"]);
        let few = "tpcb with 3 branches can be split over 3 stores at most, and not over 4";
        refused(&workdir, &format!("{user} tpcb --scale 3 --shards 4"), &[few]);
        refused(
            &workdir,
            &format!("{user} tpcb --scale 1 --shards 2"),
            &["tpcb with 1 branch can be split over 1 store at most"],
        );
    }
    refused(&workdir, "compare tpcc tpcc --shards 2", &["tpcc cannot be split over several stores"]);
    refused(&workdir, "run tpcb --shards 65", &["65", "1..=64"]);
    refused(&workdir, &format!("load tpcc --scale 2 {BOTH}"), &["tpcc cannot be split over several stores"]);
    refused(&workdir, &format!("load tpcb --scale 1 {BOTH}"), &["can be split over 1 store at most"]);
    write(workdir.path("tpcc.toml"), "workload = \"tpcc\"\n[[variant]]\nsubject = \"sqlite\"\nshards = 2\n");
    refused(&workdir, "experiment tpcc.toml", &["tpcc.toml:4:", "tpcc cannot be split over several stores"]);
}

/// Every store is looked at before the first is loaded.
#[test]
fn a_load_of_which_one_store_cannot_be_had_loads_none() {
    let workdir = bank();
    write(workdir.path("text.db"), "hello, this is a text of more than sixteen bytes");
    let into = |second: &str| {
        format!("load tpcb --scale 4 --shards 2 --db shard-0=sqlite:new.db --db shard-1={second}")
    };
    refused(&workdir, &into("sqlite:text.db"), &["shard-1: text.db", "was not created by Stackmark"]);
    refused(&workdir, &into("sqlite:b.db"), &["shard-1: b.db has tpcb at scale 3", "--shards 2", "--fresh"]);
    refused(&workdir, &into("sqlite:new.db"), &["shard-0 and shard-1 are the same database, new.db"]);
    // What is there already is the same bank.
    let both = done(workdir.run(&format!("load tpcb --scale 5 {BOTH}")));
    assert_eq!(both.matches("already loaded").count(), 2, "{both}");
    let bytes: Vec<PathBuf> = ["a.db", "b.db"].map(|name| workdir.path(name)).into();
    assert!(bytes.iter().zip(&*LOADED).all(|(file, bytes)| fs::read(file).unwrap() == *bytes));
}
