//! One run at a time on a file: the second is refused, whatever the route, until the first has ended in whatever way.

use crate::e2e_workdir::{Running, Workdir, kill};
use std::fs;

#[test]
fn a_second_run_on_the_same_file_is_refused_until_the_first_has_ended() {
    for subject in ["tpcc/sqlite/rusqlite", "tpcc/sqlite/axum+rusqlite"] {
        let workdir = Workdir::loaded();
        let lock = workdir.path("bench.db.lock");
        let first = workdir
            .start(&format!("run {subject} --db sqlite:bench.db --warmup 0s --duration 300s --think 10ms"));
        first.until("it works in its folder", || {
            workdir.runs().first().is_some_and(|run| {
                fs::read_to_string(&lock)
                    .is_ok_and(|who| who.contains(&*run.file_name().unwrap().to_string_lossy()))
            })
        });
        let before = workdir.runs();
        for second in [
            "run tpcc/sqlite/rusqlite --db sqlite:bench.db --duration 1s",
            "run tpcc/sqlite/axum+rusqlite --db sqlite:./bench.db?journal=truncate --duration 1s",
        ] {
            let ran = workdir.run(second);
            let us = format!("process {}", first.pid());
            ran.refused(&["another run uses ", "bench.db (", &us, "hint: wait for its end"]);
        }
        let compare =
            "compare tpcc/sqlite/rusqlite tpcc/sqlite/sqlx --db sqlite:bench.db --quick --duration 1s";
        workdir
            .run(compare)
            .refused(&["another run is measuring on this machine", &format!("process {}", first.pid())]);
        let mut elsewhere = workdir.command(compare);
        elsewhere.env("STACKMARK_LOCK", workdir.path("other.lock"));
        Running::start(elsewhere).end().refused(&["another run uses ", "bench.db ("]);
        assert_eq!(workdir.runs(), before, "what was refused leaves no folder");
        // Its own server, and whoever only looks, are not in the way.
        first.until("calls are committed", || workdir.has_committed());
        kill(first.pid());
        first.end();
        let ran = workdir.run("run tpcc/sqlite/rusqlite --db sqlite:bench.db --warmup 0s --duration 1s");
        assert!(ran.code() < 2, "a killed run keeps no one out: {ran:?}");
        assert!(!lock.exists(), "and nothing is left behind");
    }
}
