//! A password is seen nowhere: not in what is printed, not in what is written, not in the list of processes, however it was
//! handed over.

use crate::workdir::{Ran, Running, Workdir, write};
use crate::{driver, loaded, without_passwords};
use rig::Engine;
use sql::{Secret, ServerUrl};
use stackmark_tests::engines::LockedServer;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Arguments of the command, of its descendants and of everything else that runs here are read this often.
const SAMPLE: Duration = Duration::from_millis(10);

/// How a password is handed over.
#[derive(Debug, Clone, Copy)]
enum Way {
    Argument,
    Equals,
    UrlInEnvironment,
    Environment,
    File,
    EnginesVariable,
    EnginesFile,
}

const PASSWORD_FILE: &str = "password.txt";
const PGPASS: &str = ".pgpass";

/// A command that gets the password of a URL in one way, run under watch.
fn handed(workdir: &Workdir, way: Way, line: &str, url: &ServerUrl) -> Command {
    let password = url.password.as_ref().map_or("", Secret::reveal);
    let plain = url.to_string();
    let full = plain.replacen('@', &format!(":{password}@"), 1);
    let private = |name: &str, text: &str| {
        write(workdir.path(name), text);
        fs::set_permissions(workdir.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    };
    let mut command = match way {
        Way::Argument => workdir.command(&format!("{line} --db {full}")),
        Way::Equals => workdir.command(&format!("{line} --db={full}")),
        Way::File => workdir.command(&format!("{line} --db {plain} --password-file {PASSWORD_FILE}")),
        Way::UrlInEnvironment => workdir.command(line),
        Way::Environment | Way::EnginesVariable | Way::EnginesFile => {
            workdir.command(&format!("{line} --db {plain}"))
        }
    };
    without_passwords(&mut command);
    let engines_own = if url.dialect == sql::Dialect::Postgres { "PGPASSWORD" } else { "MYSQL_PWD" };
    match way {
        Way::Argument | Way::Equals => {}
        Way::UrlInEnvironment => {
            command.env("STACKMARK_DB", full);
        }
        Way::Environment => {
            command.env("STACKMARK_DB_PASSWORD", password);
        }
        Way::EnginesVariable => {
            command.env(engines_own, password);
        }
        Way::File => private(PASSWORD_FILE, &format!("{password}\nnot this\n")),
        Way::EnginesFile => {
            private(PGPASS, &format!("*:{}:*:{}:{password}\n", url.port, url.user));
            command.env("HOME", workdir.path("."));
        }
    }
    command
}

/// Runs a command while the arguments of all processes are looked at.
fn watched(command: Command, password: &str) -> Ran {
    let over = Arc::new(AtomicBool::new(false));
    let (until, secret) = (over.clone(), password.to_owned());
    let run = Running::start(command);
    let own = format!("/proc/{}/cmdline", run.pid());
    let look = std::thread::spawn(move || {
        let (mut late, mut restarted) = (Vec::new(), false);
        for sample in 0.. {
            if until.load(Ordering::Relaxed) {
                break;
            }
            // A program cannot choose the arguments that it is started with; it is started again before it does anything
            // else. In between, and after its end, it has none.
            let arguments = fs::read(&own).unwrap_or_default();
            restarted |=
                sample >= FIRST_SAMPLES_MAX || !arguments.is_empty() && !contains(&arguments, &secret);
            for process in fs::read_dir("/proc").unwrap().flatten() {
                let arguments = fs::read(process.path().join("cmdline")).unwrap_or_default();
                if restarted && contains(&arguments, &secret) {
                    late.push(String::from_utf8_lossy(&arguments).into_owned());
                }
            }
            std::thread::sleep(SAMPLE);
        }
        late
    });
    let ran = run.end();
    over.store(true, Ordering::Relaxed);
    let late = look.join().unwrap();
    assert!(late.is_empty(), "{late:?}");
    ran
}

/// A command that has not been started again after so many samples, more than a second, never is.
const FIRST_SAMPLES_MAX: u32 = 100;

fn contains(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
}

/// No file of a working folder but those that the test itself has made, and nothing that was printed, has the password.
#[track_caller]
fn assert_unseen(workdir: &Workdir, ran: &Ran, password: &str) {
    assert!(!ran.out.contains(password) && !ran.err.contains(password), "{ran:?}");
    for file in workdir.files() {
        let path = workdir.path(&file);
        let is_ours = [PASSWORD_FILE, PGPASS].contains(&file.as_str());
        if path.is_file() && !is_ours {
            assert!(!contains(&fs::read(&path).unwrap(), password), "{file} has the password");
        }
    }
}

/// Runs under watch, and finds the password nowhere.
#[track_caller]
fn check(server: &LockedServer, way: Way, line: &str, url: &ServerUrl) -> Ran {
    let workdir = Workdir::empty();
    let password = url.password.as_ref().map_or("", Secret::reveal).to_owned();
    let ran = watched(handed(&workdir, way, line, url), &password);
    assert_unseen(&workdir, &ran, &password);
    let log = fs::read(Path::new(server.engine.folder()).join("log")).unwrap();
    assert!(!contains(&log, &password), "the engine's log has the password");
    ran
}

#[test]
fn a_password_that_is_right_is_used_and_never_seen() {
    use Way::{Argument, EnginesFile, EnginesVariable, Environment, Equals, File, UrlInEnvironment};
    let mut server = LockedServer::of(Engine::Postgres);
    let url = loaded(&mut server, "tpcb");
    // The server behind HTTP is a process of its own, which needs the password too.
    let run = "run tpcb/postgres/axum+tokio-postgres --calls 200 --warmup 0s --clients 2";
    let http = [(Argument, ""), (File, " --json")];
    for (way, more) in http {
        let ran = check(&server, way, &format!("{run}{more}"), &url);
        assert!(matches!(ran.code(), 0 | 1), "{way:?}: {ran:?}");
    }
    for way in [Equals, UrlInEnvironment, Environment, EnginesVariable, EnginesFile] {
        let ran = check(&server, way, "audit tpcb", &url);
        assert_eq!(ran.code(), 0, "{way:?}: {ran:?}");
    }
    drop(server);
    let mut server = LockedServer::of(Engine::MariaDb);
    let url = loaded(&mut server, "tpcb");
    let run = format!("run tpcb/{} --json --calls 200 --warmup 0s --clients 2", driver(Engine::MariaDb));
    assert!(matches!(check(&server, Argument, &run, &url).code(), 0 | 1));
    for way in [EnginesVariable, File] {
        let ran = check(&server, way, "audit tpcb --json", &url);
        assert_eq!(ran.code(), 0, "{way:?}: {ran:?}");
    }
}

#[test]
fn the_password_of_one_of_several_stores_is_used_and_never_seen() {
    let server = LockedServer::of(Engine::Postgres);
    let names = ["stores_0", "stores_1"];
    names.iter().for_each(|name| server.engine.create_database(name).unwrap());
    let password =
        server.engine.tcp_url("x").password.map_or(String::new(), |secret| secret.reveal().to_owned());
    let with =
        |name: &str| server.engine.tcp_url(name).to_string().replacen('@', &format!(":{password}@"), 1);
    let [first, second] = names.map(with);
    let lines = [
        "load tpcb/postgres --shards 2 --scale 2".to_owned(),
        "run tpcb/postgres/axum+tokio-postgres --calls 200 --warmup 0s --clients 2 --json".to_owned(),
        "audit tpcb --json".to_owned(),
    ];
    let workdir = Workdir::empty();
    for line in lines {
        let mut command = workdir.command(&format!("{line} --db shard-0={first} --db=shard-1={second}"));
        without_passwords(&mut command);
        let ran = watched(command, &password);
        assert!(matches!(ran.code(), 0 | 1), "{line}: {ran:?}");
        assert_unseen(&workdir, &ran, &password);
    }
    // A name that no store has.
    for name in ["shard-7", "broker", "shard-x"] {
        let mut command = workdir.command(&format!("audit tpcb --db shard-0={first} --db {name}={second}"));
        without_passwords(&mut command);
        let ran = watched(command, &password);
        ran.refused(&[&format!("no store `{name}`")]);
        assert_unseen(&workdir, &ran, &password);
    }
}

#[test]
fn a_password_that_is_wrong_is_never_seen_either() {
    for engine in crate::ENGINES {
        let mut server = LockedServer::of(engine);
        let url = crate::with_password(&loaded(&mut server, "tpcb"), "hunter2-hunter2");
        let run = format!("run tpcb/{}", driver(engine));
        for way in [Way::Argument, Way::UrlInEnvironment, Way::File] {
            for line in [run.as_str(), "load tpcb", "audit tpcb --json"] {
                let ran = check(&server, way, line, &url);
                assert_eq!(ran.code(), 2, "{way:?}: {ran:?}");
            }
        }
        // Where it is not even understood what is asked for.
        for line in ["run tpcb --clients", "run", "report", "rnu tpcb"] {
            let ran = check(&server, Way::Argument, &line.replace(" --db", ""), &url);
            assert_eq!(ran.code(), 2, "{ran:?}");
        }
    }
}

#[test]
fn a_password_file_that_others_can_read_is_not_used() {
    let workdir = Workdir::empty();
    let url: ServerUrl = "postgres://me:hunter2@127.0.0.1:1/db".parse().unwrap();
    for (way, file) in [(Way::File, PASSWORD_FILE), (Way::EnginesFile, PGPASS)] {
        let command = handed(&workdir, way, "audit tpcb", &url);
        fs::set_permissions(workdir.path(file), fs::Permissions::from_mode(0o640)).unwrap();
        let ran = Running::start(command).end();
        ran.refused(&["can be read by others", "chmod 600", file]);
        assert_unseen(&workdir, &ran, "hunter2");
    }
    let mut command = handed(&workdir, Way::File, "audit tpcb", &url);
    fs::remove_file(workdir.path(PASSWORD_FILE)).unwrap();
    command.env("HOME", workdir.path("."));
    Running::start(command).end().refused(&["could not read the password file", PASSWORD_FILE]);
}
