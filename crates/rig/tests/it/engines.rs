//! Real engines, made, killed and removed. Every test has a base folder of its own.

use model::{Clock, Tier};
use rig::for_tests::{engines_folder, not_run};
use rig::{Engine, EngineKind, Options, RigError, Running};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A base folder on a disk that engine accounts can pass through.
pub(crate) fn base() -> tempfile::TempDir {
    let mut builder = tempfile::Builder::new();
    builder.prefix("rigt-").permissions(fs::Permissions::from_mode(0o711));
    builder.tempdir_in(engines_folder()).unwrap()
}

fn options_of(engine: Engine, base: &tempfile::TempDir) -> Options {
    Options { base: Some(base.path().to_owned()), ..Options::small(engine) }
}

fn options(base: &tempfile::TempDir) -> Options {
    options_of(Engine::Postgres, base)
}

/// What is left in a base folder but its lock.
pub(crate) fn leftovers(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().is_some_and(|name| name != "lock")).collect()
}

/// Waits for what another process does; the clock is the tests' own.
pub(crate) fn eventually(what: &str, mut ask: impl FnMut() -> bool) {
    let clock = measure::Monotonic::start();
    while !ask() {
        assert!(clock.now().as_secs_f64() < 300.0, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Processes whose working folder is in `folder`.
pub(crate) fn living_in(folder: &Path) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|at| at.starts_with(folder)))
        .collect()
}

fn one_row_each(running: &Running, database: &str) -> String {
    running.client(database, "select count(*) from t").unwrap().trim().to_owned()
}

fn with_a_row(running: &Running) {
    running.create_database("bench").unwrap();
    running.client("bench", "create table t (k int primary key); insert into t values (1);").unwrap();
}

#[test]
fn an_engine_is_made_answers_and_leaves_nothing() {
    for engine in Engine::DATABASES {
        let base = base();
        let running = rig::start(engine, &options_of(engine, &base)).unwrap();
        with_a_row(&running);
        assert_eq!(one_row_each(&running, "bench"), "1");
        let (data, folder, pid) = (running.data(), running.folder().to_owned(), running.pid());
        assert_eq!(data.metadata().unwrap().mode() & 0o777, 0o700);
        assert_ne!(data.metadata().unwrap().uid(), 0, "no engine runs as root");
        assert!(living_in(&folder).contains(&pid));
        running.stop().unwrap();
        assert_eq!((leftovers(base.path()), living_in(&folder)), (vec![], vec![]));
    }
}

#[test]
fn two_engines_of_a_kind_run_side_by_side() {
    let base = base();
    let [first, second] = [(); 2].map(|()| rig::start(Engine::Postgres, &options(&base)).unwrap());
    assert_ne!(first.url("postgres").port, second.url("postgres").port);
    with_a_row(&first);
    drop(first);
    with_a_row(&second);
}

#[test]
fn a_killed_engine_comes_back_on_the_same_data_and_port() {
    for engine in Engine::DATABASES {
        let base = base();
        let mut running = rig::start(engine, &options_of(engine, &base)).unwrap();
        with_a_row(&running);
        let (url, pid) = (running.url("bench"), running.pid());
        running.kill();
        assert!(!running.is_alive());
        if !rig::for_tests::recovers(&mut running) {
            continue;
        }
        assert!(running.is_alive());
        assert_ne!(running.pid(), pid);
        assert_eq!((one_row_each(&running, "bench").as_str(), running.url("bench")), ("1", url));
        running.halt().unwrap();
        assert!(!running.is_alive() && running.data().is_dir());
        running.restart().unwrap();
        assert_eq!(one_row_each(&running, "bench"), "1");
    }
}

#[test]
fn a_restart_waits_for_backends_of_the_killed_postmaster() {
    let base = base();
    let mut running = rig::start(Engine::Postgres, &options(&base)).unwrap();
    // This backend is busy without looking up until its postmaster is gone; not for ever, should we fail to say so.
    let gone = running.folder().join("gone");
    let busy = format!(
        "do $$ declare e timestamp := clock_timestamp() + '50 s'; begin \
         while clock_timestamp() < e and (pg_stat_file('{}', true)).size is null loop end loop; end $$",
        gone.display()
    );
    std::thread::scope(|scope| {
        let client = scope.spawn(|| running.client("postgres", &busy));
        let count = "select count(*) from pg_stat_activity where query like 'do $$%'";
        eventually("the backend is busy", || running.client("postgres", count).unwrap().trim() == "1");
        // As `kill` does, which wants the only reference.
        let pid = rustix::process::Pid::from_raw(running.pid() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        fs::write(&gone, "").unwrap();
        let _ = client.join().unwrap();
    });
    running.restart().unwrap();
    assert_eq!(running.client("postgres", "select 1").unwrap().trim(), "1");
}

#[test]
fn the_list_of_settings_is_what_is_in_effect() {
    for engine in Engine::DATABASES {
        let base = base();
        let mut options = options_of(engine, &base);
        options.connections = 33;
        let extra = match engine {
            Engine::Postgres => ("work_mem", "5MB"),
            Engine::Kafka => panic!("a broker has no SQL"),
            Engine::MariaDb => ("innodb_io_capacity", "321"),
        };
        options.settings.push((extra.0.into(), extra.1.into()));
        let running = rig::start(engine, &options).unwrap();
        let listed = running.settings();
        assert!(listed.contains(&(extra.0.into(), extra.1.into())));
        match engine {
            Engine::Postgres => {
                // The server's own view of where each setting came from: nothing but our list, and what it sets itself.
                // The depth of its stack follows the limit that the system has for it.
                let asked = "select name from pg_settings where source not in ('default', 'client', 'override', \
                             'session') and name <> 'max_stack_depth' order by name";
                let set = running.client("postgres", asked).unwrap();
                let mut names: Vec<&str> = listed.iter().map(|(key, _)| key.as_str()).collect();
                names.sort_unstable();
                let mut found: Vec<String> = set.lines().map(str::to_ascii_lowercase).collect();
                found.sort_unstable();
                assert_eq!(found, names);
                for (key, value) in listed {
                    let shown = running.client("postgres", &format!("show {key}")).unwrap();
                    assert!(same_size(shown.trim(), value), "{key} = {value}, in effect {shown}");
                }
            }
            Engine::Kafka => panic!("a broker has no SQL"),
            Engine::MariaDb => {
                for (key, value) in listed {
                    // A few are written under another name than they are read by.
                    let (name, value) = match (key.as_str(), value.as_str()) {
                        ("skip_log_bin", "ON") => ("log_bin", "0"),
                        ("default_time_zone", value) => ("time_zone", value),
                        (name, "ON") => (name, "1"),
                        (name, value) => (name, value),
                    };
                    let shown = running.client("mysql", &format!("select @@global.{name}")).unwrap();
                    // MariaDB shows a folder with a slash at its end.
                    assert_eq!(shown.trim().trim_end_matches('/'), value, "{key}");
                }
            }
        }
    }
}

/// Whether PostgreSQL shows a value as it was written, or in a larger unit.
fn same_size(shown: &str, written: &str) -> bool {
    let mib = |text: &str| {
        let whole = |text: &str, unit: u64| text.parse::<u64>().ok().map(|number| number * unit);
        text.strip_suffix("GB")
            .map(|n| whole(n, 1024))
            .or_else(|| text.strip_suffix("MB").map(|n| whole(n, 1)))
    };
    shown == written || (mib(shown).is_some() && mib(shown) == mib(written))
}

#[test]
fn durability_is_full_unless_delayed_is_asked_for() {
    for (tier, postgres, mariadb) in [(Tier::Durable, "on", "1"), (Tier::Delayed, "off", "2")] {
        let base = base();
        let of = |engine| Options { durability: tier, ..options_of(engine, &base) };
        let running = rig::start(Engine::Postgres, &of(Engine::Postgres)).unwrap();
        assert_eq!(running.client("postgres", "show synchronous_commit").unwrap().trim(), postgres);
        assert_eq!(running.client("postgres", "show fsync").unwrap().trim(), "on");
        let running = rig::start(Engine::MariaDb, &of(Engine::MariaDb)).unwrap();
        let shown = running.client("mysql", "select @@innodb_flush_log_at_trx_commit").unwrap();
        assert_eq!(shown.trim(), mariadb);
    }
    let base = base();
    let options = Options { durability: Tier::Volatile, ..options(&base) };
    assert!(matches!(rig::start(Engine::Postgres, &options), Err(RigError::Invalid(_))));
}

#[test]
fn no_one_gets_in_without_the_password() {
    for engine in Engine::DATABASES {
        let base = base();
        let running = rig::start(engine, &options_of(engine, &base)).unwrap();
        let (url, socket) = (running.tcp_url("postgres"), running.folder().join("run/s"));
        let installation = running.installation();
        let ways: Vec<Vec<String>> = match engine {
            Engine::Postgres => [url.host.clone(), running.folder().join("run").display().to_string()]
                .into_iter()
                .map(|host| {
                    vec!["-w".into(), "-h".into(), host, "-p".into(), url.port.to_string(), "-U".into()]
                })
                .collect(),
            Engine::Kafka => panic!("a broker has no SQL"),
            Engine::MariaDb => vec![
                vec!["--no-defaults".into(), format!("--socket={}", socket.display()), "-u".into()],
                vec!["--no-defaults".into(), "-h127.0.0.1".into(), format!("-P{}", url.port), "-u".into()],
            ],
        };
        for way in ways {
            for user in ["stackmark", "root", "postgres", "mysql", ""] {
                let mut command = Command::new(&installation.client);
                command.args(&way).arg(user).arg("-c").arg("select 1").stdin(Stdio::null());
                let words = command.output().unwrap();
                assert!(!words.status.success(), "{way:?} {user}");
            }
        }
    }
}

#[test]
fn the_password_is_in_no_argument_log_or_debug_output() {
    for engine in Engine::DATABASES {
        let base = base();
        let running = rig::start(engine, &options_of(engine, &base)).unwrap();
        let url = running.url("postgres");
        let password = url.password.as_ref().unwrap().reveal().to_owned();
        assert_eq!(password.len(), 32);
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&words).contains(&password), "{:?}", entry.path());
        }
        assert!(!format!("{running:?} {url}").contains(&password));
        for entry in fs::read_dir(running.folder()).unwrap().map(Result::unwrap) {
            let holds =
                entry.path().is_file() && fs::read_to_string(entry.path()).unwrap().contains(&password);
            assert_eq!(holds, entry.file_name() == "client.conf", "{:?}", entry.path());
            assert!(!holds || entry.metadata().unwrap().mode() & 0o777 == 0o600);
        }
    }
}

#[test]
fn a_wrong_setting_is_reported_in_the_engines_own_words() {
    for (engine, says) in
        [(Engine::Postgres, "unrecognized configuration parameter"), (Engine::MariaDb, "unknown variable")]
    {
        let base = base();
        let mut options = options_of(engine, &base);
        options.settings.push(("no_such_thing".into(), "1".into()));
        let clock = measure::Monotonic::start();
        let error = rig::start(engine, &options).unwrap_err();
        assert!(clock.now().as_secs_f64() < 300.0, "it fails when the engine ends, not at the deadline");
        let text = error.to_string();
        assert!(text.contains(says) && text.contains("no_such_thing"), "{text}");
        let RigError::Failed { kept: Some(kept), .. } = error else { panic!("{text}") };
        assert!(fs::read_to_string(&kept).unwrap().contains(says));
        assert_eq!(leftovers(base.path()), [kept]);
    }
}

#[test]
fn engines_that_stay_are_shown_started_again_and_taken_down() {
    let base = base();
    let options = options(&base);
    assert!(rig::status(&options).is_empty());
    let kinds = Engine::DATABASES.map(EngineKind::Single);
    let up = rig::up(&kinds, &options).unwrap();
    let again = rig::up(&kinds, &options).unwrap();
    assert_eq!(up[0].pid, again[0].pid, "one that runs is left as it is");
    let shown = rig::status(&options);
    assert_eq!(shown.len(), 2);
    for (named, engine) in shown.iter().zip(kinds) {
        assert!(named.alive && named.kind == engine && !named.settings.is_empty());
        assert!(named.url("a").password.is_some());
    }
    // An engine of another run is made and swept next to them.
    drop(rig::start(Engine::Postgres, &options).unwrap());
    let pid = rustix::process::Pid::from_raw(up[0].pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    eventually("the engine ends", || !rig::status(&options)[0].alive);
    let revived = rig::up(&kinds[..1], &options).unwrap();
    assert!(revived[0].alive && revived[0].pid != up[0].pid);
    assert_eq!(revived[0].url("a"), up[0].url("a"));
    assert_eq!(rig::down(&kinds, &options).unwrap(), kinds);
    assert_eq!((leftovers(base.path()), living_in(base.path())), (vec![], vec![]));
    assert_eq!(rig::down(&kinds, &options).unwrap(), []);
}

#[test]
fn a_limited_engine_runs_and_tells_what_it_was_denied() {
    let base = base();
    // So little that the engine gets more of a machine on which many others run.
    let options = Options { limits: Some("cpu=0.05".parse().unwrap()), ..options(&base) };
    let running = match rig::start(Engine::Postgres, &options) {
        Ok(running) => running,
        Err(RigError::NotPermitted(why)) => {
            assert_eq!(leftovers(base.path()), Vec::<PathBuf>::new());
            return not_run(why);
        }
        Err(error) => panic!("{error}"),
    };
    running.client("postgres", "select count(*) from generate_series(1, 500000)").unwrap();
    let denied = running.throttling().unwrap();
    assert!(denied.throttled > 0 && denied.throttled_ns > 0, "{denied:?}");
}

/// A group of version 1 below the first, which knows no delegation: whoever made it for us may count on it being as it was
/// made. Who says with `STACKMARK_TEST_MEMORY=1` that it is his gets a group made in it.
fn in_another_memory_group() -> bool {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    std::env::var_os("STACKMARK_TEST_MEMORY").is_none()
        && groups.lines().any(|line| {
            let (controllers, path) =
                line.split_once(':').and_then(|(_, rest)| rest.split_once(':')).unwrap_or_default();
            controllers.split(',').any(|name| name == "memory") && path != "/"
        })
}

/// The limit of memory that the system says a process is under, whichever version of groups it has.
fn memory_limit_of(pid: u32) -> Option<u64> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let own: Vec<&str> = groups.lines().filter_map(|line| line.rsplit(':').next()).collect();
    let points = mounts.lines().filter_map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
        [_, point, kind, ..] if kind.starts_with("cgroup") => Some(point),
        _ => None,
    });
    points
        .flat_map(|point| own.iter().map(move |path| format!("{point}{path}")))
        .flat_map(|folder| ["memory.max", "memory.limit_in_bytes"].map(|file| format!("{folder}/{file}")))
        .filter(|path| path.contains("/stackmark-"))
        .find_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok())
}

#[test]
fn an_engine_gets_no_more_memory_than_its_limit_or_is_not_started() {
    if in_another_memory_group() {
        return not_run(
            "this process is in a memory group of someone else; STACKMARK_TEST_MEMORY=1 says that a group may be \
             made in it",
        );
    }
    for engine in Engine::DATABASES {
        let base = base();
        let options = Options { limits: Some("mem=512MiB".parse().unwrap()), ..options_of(engine, &base) };
        match rig::start(engine, &options) {
            Ok(running) => {
                with_a_row(&running);
                assert_eq!(memory_limit_of(running.pid()), Some(512 << 20));
                // Kernels before 5.19 keep no peak in version 2.
                let peak = running.throttling().unwrap().memory_peak;
                assert!(peak.is_none_or(|bytes| (1 << 20..=512 << 20).contains(&bytes)), "{peak:?}");
                running.stop().unwrap();
            }
            Err(RigError::NotPermitted(why)) => {
                assert!(why.contains("control groups") && why.contains("systemd-run"), "{why}");
                not_run(format!("{} under a limit of memory; the refusal was seen: {why}", engine.title()));
            }
            Err(error) => panic!("{error}"),
        }
        assert_eq!(leftovers(base.path()), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_name_that_is_none_makes_no_database() {
    let base = base();
    let running = rig::start(Engine::Postgres, &options(&base)).unwrap();
    for name in ["", "1a", "a b", "a;drop database postgres", "A", &"a".repeat(64)] {
        assert!(matches!(running.create_database(name), Err(RigError::Invalid(_))), "{name}");
    }
    let twice = [running.create_database("a1"), running.create_database("a1")];
    assert!(twice[0].is_ok());
    assert!(twice[1].as_ref().unwrap_err().to_string().contains("already exists"));
}

/// PostgreSQL would remove it when it starts again on the same data.
#[test]
fn shared_memory_of_a_killed_engine_goes_with_its_data() {
    let base = base();
    let mut running = rig::start(Engine::Postgres, &options(&base)).unwrap();
    with_a_row(&running);
    let maps = fs::read_to_string(format!("/proc/{}/maps", running.pid())).unwrap();
    let of_postgres = |line: &str| {
        line.split_whitespace().nth(5).filter(|name| name.contains("/PostgreSQL.")).map(PathBuf::from)
    };
    let files: Vec<PathBuf> = maps.lines().filter_map(of_postgres).collect();
    let numbers: Vec<&str> = maps
        .lines()
        .filter(|line| line.contains("/SYSV"))
        .filter_map(|line| line.split_whitespace().nth(4))
        .collect();
    let is_there = |number: &&str| {
        let all = fs::read_to_string("/proc/sysvipc/shm").unwrap();
        all.lines().any(|line| line.split_whitespace().nth(1) == Some(number))
    };
    assert!(!files.is_empty() && files.iter().all(|file| file.exists()), "{maps}");
    assert!(!numbers.is_empty() && numbers.iter().all(is_there), "{maps}");
    running.kill();
    assert!(files.iter().all(|file| file.exists()), "{files:?}");
    drop(running);
    assert!(!files.iter().any(|file| file.exists()), "{files:?}");
    // Backends that are still ending have it for a moment.
    eventually("System V segments are gone", || !numbers.iter().any(is_there));
}
