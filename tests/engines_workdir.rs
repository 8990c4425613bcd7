//! A working folder next to engines that are started once for all tests of this program.

use crate::e2e_workdir::{Ran, Running, Workdir, parse};
use rig::Engine;
use serde_json::Value;
use sql::Secret;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// A short run. Two generator threads, because one is easily saturated on a fast machine, which would make the result invalid.
pub(crate) const SHORT: &str = "--calls 500 --warmup 0s --clients 4 --generator-threads 2";

/// A private engine for the tests.
pub(crate) struct Server {
    pub(crate) engine: rig::Running,
}

static POSTGRES: Mutex<Option<Server>> = Mutex::new(None);
static MARIADB: Mutex<Option<Server>> = Mutex::new(None);

/// Runs one test's part on the engine. One at a time, so that runs do not disturb each other's timing.
pub(crate) fn on<T>(engine: Engine, part: impl FnOnce(&Server) -> T) -> T {
    let slot = if engine == Engine::Postgres { &POSTGRES } else { &MARIADB };
    let mut server = slot.lock().unwrap_or_else(PoisonError::into_inner);
    let server = server.get_or_insert_with(|| {
        let started = rig::start(engine, &rig::Options::small(engine));
        // A missing package is an error that names it.
        Server { engine: started.unwrap_or_else(|error| panic!("{error}")) }
    });
    part(server)
}

impl Server {
    /// The address of a database, without the password.
    pub(crate) fn url(&self, database: &str) -> String {
        self.engine.tcp_url(database).to_string()
    }

    pub(crate) fn password(&self) -> String {
        self.engine.url("x").password.as_ref().map(Secret::reveal).unwrap().to_owned()
    }

    /// A command line that may use the password.
    pub(crate) fn run(&self, workdir: &Workdir, line: &str) -> Ran {
        let mut command: Command = workdir.command(line);
        command.env("STACKMARK_DB_PASSWORD", self.password());
        Running::start(command).end()
    }

    /// The same, which must end well; what it printed.
    #[track_caller]
    pub(crate) fn done(&self, workdir: &Workdir, line: &str) -> String {
        let ran = self.run(workdir, line);
        assert_eq!(ran.code(), 0, "{line}: {ran:?}");
        ran.out
    }

    /// The same, for a command that prints JSON.
    #[track_caller]
    pub(crate) fn json(&self, workdir: &Workdir, line: &str) -> Value {
        serde_json::from_str(&self.done(workdir, &format!("{line} --json"))).unwrap()
    }

    pub(crate) fn database(&self, name: &str) -> String {
        self.engine.create_database(name).unwrap();
        self.url(name)
    }

    /// Creates a database and loads it; `load` is the workload and options such as `--golden`.
    pub(crate) fn loaded(&self, workdir: &Workdir, load: &str, name: &str) -> String {
        let url = self.database(name);
        self.done(workdir, &format!("load {load} --db {url}"));
        url
    }

    pub(crate) fn databases(&self) -> String {
        let query = match self.engine.engine() {
            Engine::Postgres => "select datname from pg_database order by 1",
            Engine::Kafka => panic!("a broker has no SQL"),
            Engine::MariaDb => "show databases",
        };
        let database = if self.engine.engine() == Engine::Postgres { "postgres" } else { "mysql" };
        self.engine.client(database, query).unwrap()
    }
}

/// Compares a private MariaDB that has a setting with one that does not: nothing else may differ, and both are measured.
#[track_caller]
pub(crate) fn assert_setting_is_the_only_difference(setting: &str) {
    let workdir = Workdir::empty();
    let line = format!(
        "compare tpcb/mariadb --setting {setting} --scale 2 --duration 1s --warmup 0s --blocks 2 --clients 2 --json"
    );
    let ran = Running::start(workdir.command(&line)).end();
    let document = parse(&ran.out);
    let comparison = &document["experiment"]["comparisons"][0];
    assert!(comparison["ratio"]["value"].as_f64().is_some_and(|ratio| ratio > 0.0), "{ran:?}");
    let differences = comparison["key_differences"].as_array().unwrap();
    let unintended: Vec<&Value> = differences.iter().filter(|found| found["intended"] != true).collect();
    assert!(unintended.is_empty(), "{unintended:#?}");
}
