//! Two runs on one database of a server: the second is refused with the name of the first, and neither is spoiled. Whoever else uses the
//! database is named.

use crate::workdir::Workdir;
use crate::{assert_audited, driver, ended, interrupted, loaded, run_on, start_on, until_committed};
use stackmark_tests::engines::LockedServer;

#[test]
fn a_second_run_on_a_database_is_refused_until_the_first_has_ended() {
    for engine in crate::ENGINES {
        let mut server = LockedServer::of(engine);
        let url = loaded(&mut server, "tpcb");
        let (first, second) = (Workdir::empty(), Workdir::empty());
        let line = format!("run tpcb/{} --warmup 0s --clients 2 --think 10ms", driver(engine));
        let run = start_on(&first, &format!("{line} --duration 300s --json"), &url);
        until_committed(&run, &first);
        let short = format!("{line} --calls 20");
        let refused = run_on(&second, &short, &url);
        refused.refused(&["another run uses", "wait for its end"]);
        if engine == rig::Engine::Postgres {
            let folder = first.only_run();
            let name = folder.file_name().unwrap().to_string_lossy();
            assert!(refused.err.contains(&*name), "{name}: {refused:?}");
        }
        assert!(second.runs().is_empty(), "{:?}", second.files());
        // Who only copies it is in the way of the first run as well.
        run_on(
            &second,
            &format!("compare tpcb/{0} tpcb/{0} --blocks 1 --warmup 0s --duration 1s", driver(engine)),
            &url,
        )
        .refused(&["another run uses"]);
        run_on(&second, "load tpcb --golden --fresh", &url).refused(&["another run uses it"]);
        let (_, trial) = ended(run);
        assert_audited(&trial);
        assert!(matches!(run_on(&second, &short, &url).code(), 0 | 1));

        // A run would change what a comparison copies.
        let line =
            format!("compare tpcb/{0} tpcb/{0} --blocks 1 --warmup 0s --duration 300s", driver(engine));
        let third = Workdir::empty();
        let compare = start_on(&third, &line, &url);
        until_committed(&compare, &third);
        run_on(&first, &short, &url).refused(&["another run uses"]);
        compare.signal(rustix::process::Signal::INT);
        compare.end();
    }
}

#[test]
fn another_program_that_writes_into_the_database_is_named_beside_the_audits_that_fail() {
    for engine in crate::ENGINES {
        let mut server = LockedServer::of(engine);
        let url = loaded(&mut server, "tpcb");
        let workdir = Workdir::empty();
        let options = "--warmup 0s --clients 2 --think 10ms --duration 300s --json";
        let run = start_on(&workdir, &format!("run tpcb/{} {options}", driver(engine)), &url);
        until_committed(&run, &workdir);
        if engine == rig::Engine::Postgres {
            for _ in 0..12 {
                let _ = server
                    .ask(&url.database, "update pgbench_tellers set tbalance = tbalance + 1 where tid = 1");
            }
        }
        // Each time by a new session that stays for a while.
        let pause =
            if engine == rig::Engine::Postgres { "select pg_sleep(1.5)" } else { "select sleep(1.5)" };
        for _ in 0..2 {
            let taken = "update pgbench_tellers set tbalance = tbalance + 1 where tid = 1";
            let _ = server.ask(&url.database, &format!("{taken}; {pause}"));
        }
        let (ran, trial) = interrupted(run);
        assert_eq!(ran.code(), crate::INTERRUPTED, "{}", ran.err);
        let others = trial["rules"].as_array().unwrap().iter().find(|rule| rule["name"] == "other-sessions");
        let sentence = others.map(|rule| rule["sentence"].to_string()).unwrap_or_default();
        let name = if engine == rig::Engine::Postgres { "psql of user" } else { "user" };
        if engine == rig::Engine::Postgres {
            let counted =
                "were opened in the database during the measurement, and the run accounts for at most";
            assert!(sentence.contains(counted), "{sentence}");
        }
        assert!(sentence.contains(name) && sentence.contains(&url.user), "{sentence}: {trial}");
        let failed = |audit: &&serde_json::Value| audit["check"] == "failed";
        assert_ne!(trial["audits"].as_array().unwrap().iter().filter(failed).count(), 0, "{trial}");
    }
}
