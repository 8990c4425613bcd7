//! Runs in parts on servers: the parts begin together by the clock of the database, also in a closed loop with many clients.

use crate::e2e_workdir::{Running, Workdir};
use crate::engines_workdir::on;
use rig::Engine;
use serde_json::Value;

#[test]
fn parts_on_a_server_begin_by_its_clock_and_are_one_result() {
    for engine in [Engine::Postgres, Engine::MariaDb] {
        on(engine, |server| {
            let workdir = Workdir::empty();
            let db = server.loaded(&workdir, "tpcc --golden", "in_parts");
            // Few calls: a load generator that is saturated voids a result.
            let load = "--rate 60 --clients 6 --duration 2s --warmup 300ms";
            let name = if engine == Engine::Postgres { "postgres" } else { "mariadb" };
            server.done(&workdir, &format!("run tpcc/{name} --db {db} {load} --write-plan plan.json"));
            let plan = std::fs::read_to_string(workdir.path("plan.json")).unwrap();
            assert!(!plan.contains(&server.password()), "a plan has no password");
            let at = measure::unix_seconds() + 12;
            let parts = (1..=3).map(|part| {
                let line = format!("run --plan plan.json --part {part}/3 --start-at @{at} --db {db}");
                let mut command = workdir.command(&line);
                command.env("STACKMARK_DB_PASSWORD", server.password());
                Running::start(command)
            });
            let parts: Vec<Running> = parts.collect();
            parts[0].until("all have their folders", || workdir.runs().len() == 3);
            let second = server.run(&workdir, &format!("run tpcc/{name} --db {db} --calls 10"));
            second.refused(&["another run uses ", "hint: wait for its end"]);
            for part in parts {
                let ran = part.end();
                assert_eq!(ran.code(), 0, "{ran:?}");
            }
            let folders: Vec<String> = workdir.runs().iter().map(|run| run.display().to_string()).collect();
            let document = server.json(&workdir, &format!("merge {} --db {db}", folders.join(" ")));
            let trial = &document["trials"][0];
            let parts = trial["parts"].as_array().unwrap();
            assert_eq!(parts.len(), 3);
            for part in parts {
                let [offset, error] =
                    ["clock_offset_ms", "clock_error_ms"].map(|name| part[name].as_f64().unwrap());
                // It is the clock of this machine.
                assert!(offset.abs() <= error + 1.0 && error < 100.0, "{part}");
                assert!(part["opened_s"].as_f64().unwrap() < 0.3, "{part}");
            }
            let sum: u64 = parts.iter().map(|part| part["due"].as_u64().unwrap()).sum();
            assert_eq!(trial["overall"]["call_counts"]["due"], sum);
            let engines = trial["processes"].as_array().unwrap().iter();
            let engines = engines.filter(|process: &&Value| process["roles"][0] == "engine");
            assert_eq!(engines.count(), 1, "{}", trial["processes"]);
        });
    }
}
