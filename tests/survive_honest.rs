//! Servers that answer as they should: no check of a run fails, with one client, with few and with many over the same rows, and none
//! of a drill that kills them.
//!
//! Only in the extended tests, once; `STACKMARK_HONEST_RUNS` says how often each server is run and killed.

mod extended {
    use crate::workdir::{Ran, Running, Workdir, parse};
    use crate::{assert_audited, book, command_on, driver, in_other_languages, run_on, start_with_home};
    use rig::Engine;
    use serde_json::Value;
    use stackmark_tests::engines::LockedServer;

    const WORKLOADS: [&str; 5] = ["tpcc", "tpcb", "catalogue", "transfer", "booking"];
    /// Of the run and those after it. On the golden data many clients meet at few rows, so that calls are retried; in `catalogue` they would
    /// mostly find that a version is stale, so that it has more.
    const CLIENTS: [u32; 3] = [64, 8, 1];

    fn size(workload: &str) -> &'static str {
        if workload == "catalogue" { "--scale 1" } else { "--golden" }
    }

    fn runs() -> u32 {
        std::env::var("STACKMARK_HONEST_RUNS").map_or(1, |runs| runs.parse().unwrap())
    }

    /// The arguments of a run, without its subject.
    fn plan(run: u32) -> String {
        let clients = CLIENTS[run as usize % CLIENTS.len()];
        format!("--clients {clients} --pool 16 --warmup 600ms --duration 600ms --seed {run} --json")
    }

    /// Every check of the run passed, those of calls that were looked up at once included, and every call came to its end.
    #[track_caller]
    fn assert_honest(line: &str, ran: &Ran) {
        assert!(matches!(ran.code(), 0 | 1), "{line}: {ran:?}");
        let trial = &parse(&ran.out)["trials"][0];
        assert_eq!(trial["state"], "complete", "{line}: {}", ran.err);
        assert_audited(trial);
        let rules = trial["rules"].as_array().unwrap();
        // A load generator without a free core says nothing of the server.
        let is_bad = |rule: &&Value| rule["severity"] == "bad" && rule["name"] != "saturation";
        let bad: Vec<_> = rules.iter().filter(is_bad).collect();
        assert!(bad.is_empty(), "{line}: {bad:#?}");
        let faults = ["refused", "in_doubt", "defect"].map(|column| book(trial, column));
        assert_eq!(faults, [0; 3], "{line}: {}", trial["overall"]["call_counts"]);
        assert!(book(trial, "committed") > 0, "{line}");
    }

    #[track_caller]
    fn assert_survived(line: &str, ran: &Ran) {
        assert_eq!(ran.code(), 0, "{line}: {}{}", ran.out, ran.err);
    }

    /// Runs each server of an engine, on a database of its own for each workload.
    fn run_all(engine: Engine) {
        let mut held = LockedServer::of(engine);
        for workload in WORKLOADS {
            let ours = format!("{workload}/{}", driver(engine).replacen('/', "/axum+", 1));
            let others = in_other_languages(workload, engine);
            for (server, subject) in [ours].iter().chain(&others).enumerate() {
                let url = held.database(&format!("honest_{workload}_{server}"), |url| {
                    let ran = run_on(&Workdir::empty(), &format!("load {workload} {}", size(workload)), url);
                    assert_eq!(ran.code(), 0, "{ran:?}");
                });
                for run in 0..runs() {
                    let (line, workdir) = (format!("run {subject} {}", plan(run)), Workdir::empty());
                    assert_honest(&line, &start_with_home(command_on(&workdir, &line, &url)).end());
                }
            }
        }
    }

    /// Kills each server of an engine under load.
    fn kill_all(engine: Engine) {
        for workload in WORKLOADS {
            let ours = format!("{workload}/{}", driver(engine).replacen('/', "/axum+", 1));
            for subject in [ours].into_iter().chain(in_other_languages(workload, engine)) {
                let line = format!("drill {subject} --only server:kill --scale 1 --faults {}", runs());
                let workdir = Workdir::empty();
                assert_survived(&line, &start_with_home(workdir.command(&line)).end());
            }
        }
    }

    #[test]
    fn no_check_fails_of_a_server_on_postgresql() {
        run_all(Engine::Postgres);
    }

    #[test]
    fn no_check_fails_of_a_server_on_mariadb() {
        run_all(Engine::MariaDb);
    }

    #[test]
    fn no_check_fails_of_a_server_on_sqlite() {
        let workdir = Workdir::empty();
        for workload in WORKLOADS {
            let load =
                workdir.command(&format!("load {workload} {} --db sqlite:{workload}.db", size(workload)));
            let ran = Running::start(load).end();
            assert_eq!(ran.code(), 0, "{ran:?}");
            let subject = format!("{workload}/sqlite/axum+rusqlite");
            for run in 0..runs() {
                let line = format!("run {subject} --db sqlite:{workload}.db {}", plan(run));
                assert_honest(&line, &Running::start(workdir.command(&line)).end());
            }
            let line = format!("drill {subject} --only server:kill --scale 1 --faults {}", runs());
            assert_survived(&line, &Running::start(workdir.command(&line)).end());
        }
    }

    #[test]
    fn nothing_is_lost_when_a_server_on_postgresql_is_killed() {
        kill_all(Engine::Postgres);
    }

    #[test]
    fn nothing_is_lost_when_a_server_on_mariadb_is_killed() {
        kill_all(Engine::MariaDb);
    }
}
