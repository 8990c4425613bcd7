//! What tests of every crate need: an engine and fixtures that all processes share, and a way to report that a test could not
//! run.
//!
//! Each test is a process of its own. `scripts/test.sh` starts one engine of a kind for all of them and provides a folder for
//! fixtures. Without these a process starts its own engine and makes its own fixtures. Tests that stop, fill or
//! re-configure an engine, or look at all of it, take one with [`crate::start`].

use crate::place::{Place, creating};
use crate::state::USER;
use crate::{Engine, EngineKind, Installation, Options, RigError, Running, base, find, start, status};
use model::Tier;
use sql::{Secret, ServerUrl};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The base folder of the engines that test processes share.
const ENGINES: &str = "STACKMARK_TEST_ENGINES";
/// The folder of the fixtures that test processes share.
const FIXTURES: &str = "STACKMARK_TEST_FIXTURES";
/// The file that names the tests that could not run, a line each.
const NOT_RUN: &str = "STACKMARK_TESTS_NOT_RUN";

/// A copy of a template is two checkpoints and three hundred files, each flushed; dropping it is another checkpoint.
const FLUSH_NOTHING: &str =
    "alter system set fsync = off; alter system set full_page_writes = off; select pg_reload_conf();";

/// Where a test makes a folder for engines of its own: accounts of engines may pass through it, which they may not through a
/// temporary folder. `STACKMARK_RIG_DIR`, else `/var/tmp`.
pub fn engines_folder() -> PathBuf {
    env::var_os("STACKMARK_RIG_DIR").map_or_else(|| "/var/tmp".into(), PathBuf::from)
}

/// Makes a fixture once for all test processes, while all others that want it wait, and returns what `make` gave. Without
/// `STACKMARK_TEST_FIXTURES` it is made once for this process. Names are of letters, digits, `-` and `_`.
///
/// # Panics
///
/// When `make` panics, or the folder cannot be used. The next process that wants the fixture then tries again.
pub fn fixture(name: &str, make: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    /// Goes with this process.
    static OWN: LazyLock<Mutex<BTreeMap<String, Vec<u8>>>> = LazyLock::new(Mutex::default);
    let Some(folder) = env::var_os(FIXTURES).map(PathBuf::from) else {
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        return own.entry(name.to_owned()).or_insert_with(make).clone();
    };
    let _held = hold(&folder, name, File::lock);
    let path = folder.join(name);
    fs::read(&path).unwrap_or_else(|_| {
        let bytes = make();
        // Renamed when whole: a process may be killed while it writes.
        let part = folder.join(format!("{name}.part"));
        fs::write(&part, &bytes).and_then(|()| fs::rename(&part, &path)).expect("fixtures can be written");
        bytes
    })
}

/// Excludes all other test processes that ask for the same name until the value is dropped.
pub fn exclusive(name: &str) -> Option<File> {
    locked(name, File::lock)
}

/// Excludes those test processes that ask for the same name with [`exclusive`].
pub fn together(name: &str) -> Option<File> {
    locked(name, File::lock_shared)
}

fn locked(name: &str, lock: fn(&File) -> io::Result<()>) -> Option<File> {
    env::var_os(FIXTURES).map(|folder| hold(Path::new(&folder), name, lock))
}

fn hold(folder: &Path, name: &str, lock: fn(&File) -> io::Result<()>) -> File {
    let file =
        base::lock_file(&folder.join(format!("{name}.lock"))).expect("the folder of fixtures is there");
    lock(&file).expect("a file that was just opened can be locked");
    file
}

/// The engine that is up for all test processes; without one, one of our own, which ends with this process. What processes
/// that have ended left on it is removed first. Its commits wait for no disk: MariaDB is [`Tier::Delayed`], and PostgreSQL
/// [`Tier::Volatile`].
///
/// # Panics
///
/// When there is none, with the package that has it.
pub fn shared(engine: Engine) -> &'static SharedEngine {
    static POSTGRES: LazyLock<SharedEngine> = LazyLock::new(|| SharedEngine::started(Engine::Postgres));
    static MARIADB: LazyLock<SharedEngine> = LazyLock::new(|| SharedEngine::started(Engine::MariaDb));
    match engine {
        Engine::Postgres => &POSTGRES,
        Engine::MariaDb => &MARIADB,
        Engine::Kafka => panic!("a broker is shared by `broker`"),
    }
}

/// The broker that is up for all test processes; without one, one of our own. Nothing where it cannot be had, which is reported by
/// [`not_run`]: its address, its user and the password.
///
/// # Panics
/// When it is installed and does not start.
pub fn broker() -> Option<(String, &'static str, Secret)> {
    static OWN: LazyLock<Result<Running, RigError>> =
        LazyLock::new(|| start(Engine::Kafka, &Options::small(Engine::Kafka)));
    let up = env::var_os(ENGINES).map(PathBuf::from).and_then(|base| {
        let options = Options { base: Some(base), ..Options::default() };
        status(&options).into_iter().find(|up| up.kind == EngineKind::Single(Engine::Kafka) && up.alive)
    });
    let (address, password) = match (up, find(Engine::Kafka)) {
        (Some(up), _) => up.address(),
        (None, Err(why)) => {
            not_run(why);
            return None;
        }
        (None, Ok(_)) => match OWN.as_ref() {
            Ok(running) => running.address(),
            Err(why @ RigError::Missing(_)) => {
                not_run(why);
                return None;
            }
            Err(error) => panic!("{error}"),
        },
    };
    Some((address, USER, password))
}

/// An engine that others may be using at the same time. Databases keep out of each other's way by their names, which begin
/// with the number of this process wherever this module names them.
#[derive(Debug)]
pub struct SharedEngine {
    kept: Kept,
    prefix: String,
    /// What [`SharedEngine::once`] has done on an engine of our own.
    made: Mutex<BTreeSet<String>>,
}

#[derive(Debug)]
enum Kept {
    Ours(Box<Running>),
    Theirs { base: PathBuf, installation: Installation, place: Box<Place> },
}

/// Begins the names of databases that all processes share.
const SHARED: &str = "shared_";

impl SharedEngine {
    fn started(engine: Engine) -> SharedEngine {
        SharedEngine::of(engine).unwrap_or_else(|error| panic!("this test needs {}: {error}", engine.title()))
    }

    fn of(engine: Engine) -> Result<SharedEngine, RigError> {
        let up = env::var_os(ENGINES).map(PathBuf::from).and_then(|base| {
            let options = Options { base: Some(base.clone()), ..Options::default() };
            let up =
                status(&options).into_iter().find(|up| up.kind == EngineKind::Single(engine) && up.alive)?;
            Some((base, up))
        });
        let options = Options { durability: Tier::Delayed, ..Options::small(engine) };
        let kept = match up {
            Some((base, up)) => {
                Kept::Theirs { base, installation: find(engine)?, place: Box::new(up.place()) }
            }
            None => Kept::Ours(Box::new(start(engine, &options)?)),
        };
        let shared =
            SharedEngine { kept, prefix: format!("t{}_", std::process::id()), made: Mutex::default() };
        shared.once("settings", || match engine {
            Engine::Postgres => {
                shared.client(engine.sql().system_database, FLUSH_NOTHING).expect("settings are taken");
            }
            Engine::MariaDb | Engine::Kafka => (),
        });
        if matches!(shared.kept, Kept::Theirs { .. }) {
            shared.sweep()?;
        }
        Ok(shared)
    }

    /// Does something once for all processes that share this engine, while all others that ask for it wait; then `use_it` while
    /// they still wait.
    fn once_and<T>(&self, name: &str, make: impl FnOnce(), use_it: impl FnOnce() -> T) -> T {
        match &self.kept {
            Kept::Ours(_) => {
                let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
                if !made.contains(name) {
                    make();
                    made.insert(name.to_owned());
                }
                use_it()
            }
            Kept::Theirs { base, .. } => {
                let name = format!("{}-{name}", self.engine().name());
                let _held = hold(base, &name, File::lock);
                let done = base.join(format!("{name}.done"));
                if !done.exists() {
                    make();
                    File::create(done).expect("the folder of the engines can be written");
                }
                use_it()
            }
        }
    }

    fn once(&self, name: &str, make: impl FnOnce()) {
        self.once_and(name, make, || ());
    }

    /// The URL of a database that all processes share, for `use_it`, during which no other test uses it. `load` makes and fills it the first time.
    ///
    /// # Panics
    ///
    /// When `load` panics. The next process then finds what it has left.
    pub fn with_template<T>(
        &self,
        name: &str,
        load: impl FnOnce(&ServerUrl),
        use_it: impl FnOnce(&ServerUrl) -> T,
    ) -> T {
        let url = self.url(&format!("{SHARED}{name}"));
        self.once_and(name, || load(&url), || use_it(&url))
    }

    /// The full name of a database. One that is full already, or the engine's own, stays as it is.
    pub fn name(&self, database: &str) -> String {
        let full = [self.prefix.as_str(), SHARED].iter().any(|prefix| database.starts_with(prefix))
            || database == self.engine().sql().system_database;
        if full { database.to_owned() } else { format!("{}{database}", self.prefix) }
    }

    /// A database of it, through its unix socket.
    pub fn url(&self, database: &str) -> ServerUrl {
        self.place().url(&self.name(database))
    }

    /// The same through its port on 127.0.0.1.
    pub fn tcp_url(&self, database: &str) -> ServerUrl {
        ServerUrl { socket: None, ..self.url(database) }
    }

    /// Makes an empty database.
    ///
    /// # Errors
    ///
    /// As for [`Running::create_database`].
    pub fn create_database(&self, name: &str) -> Result<(), RigError> {
        self.client(self.engine().sql().system_database, &creating(&self.name(name))?).map(|_| ())
    }

    /// Has the engine's own command-line client run statements, as [`Running::client`].
    ///
    /// # Errors
    ///
    /// The client cannot run, or the engine refuses a statement.
    pub fn client(&self, database: &str, statements: &str) -> Result<String, RigError> {
        self.place().client(self.installation(), &self.name(database), statements)
    }

    /// The engine's programs.
    pub fn installation(&self) -> &Installation {
        match &self.kept {
            Kept::Ours(running) => running.installation(),
            Kept::Theirs { installation, .. } => installation,
        }
    }

    fn engine(&self) -> Engine {
        self.installation().engine
    }

    fn place(&self) -> Place {
        match &self.kept {
            Kept::Ours(running) => running.place(),
            Kept::Theirs { place, .. } => (**place).clone(),
        }
    }

    /// Removes the databases of programs that have ended. Another program may do so at the same time.
    fn sweep(&self) -> Result<(), RigError> {
        let (system, names) = (self.engine().sql().system_database, self.engine().sql().databases);
        for name in self.client(system, names)?.lines().filter(|name| is_left_over(name)) {
            let quote = self.engine().sql().quote;
            let name = name.replace(quote, &format!("{quote}{quote}"));
            let drop = format!("drop database if exists {quote}{name}{quote}");
            let _ = self.client(system, &drop);
        }
        Ok(())
    }
}

/// Whether a database belongs to a program of tests that has ended.
fn is_left_over(name: &str) -> bool {
    let number = name.strip_prefix('t').and_then(|rest| rest.split_once('_')).map(|(number, _)| number);
    number.is_some_and(|number| {
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && Path::new("/proc/self").exists() && !Path::new("/proc").join(number).exists()
    })
}

/// What MariaDB logs when it cannot recover its own data after `SIGKILL`: in one of some hundreds of recoveries under load
/// 10.11.19 ends by itself, at once or soon after it has come back, and does not start again.
const CORRUPTED: &str = "Data structure corruption";

/// Whether an engine that was killed can recover its data, as far as is known by now. Where MariaDB cannot, that is reported
/// by [`not_run`]: the test has shown nothing, and the engine's defect does not fail it.
///
/// # Panics
/// When the engine has ended, or does not start again, for any other reason.
pub fn recovers(engine: &mut Running) -> bool {
    if engine.is_alive() {
        return true;
    }
    let Err(error) = engine.restart() else { return true };
    assert!(is_corrupted(engine.engine(), &format!("{error} {}", engine.log_tail())), "{error}");
    false
}

/// Whether a text tells of data that MariaDB cannot recover after `SIGKILL`; it is then reported by [`not_run`].
pub fn is_corrupted(engine: Engine, text: &str) -> bool {
    let is_corrupted = engine == Engine::MariaDb && text.contains(CORRUPTED);
    if is_corrupted {
        not_run(format_args!("{} could not recover after SIGKILL: {CORRUPTED}", engine.title()));
    }
    is_corrupted
}

/// Whether the engine Spider is installed; otherwise the test says why it did not run.
pub fn has_spider() -> bool {
    let installed = find(Engine::MariaDb).and_then(|found| crate::spider::ensure_installed(&found.server));
    installed.map_err(not_run).is_ok()
}

/// Says that the test that calls this could not run, or not all of it: to its reader, and to who counts the tests.
///
/// # Panics
///
/// When whoever counts them has named a file that cannot be written.
pub fn not_run(why: impl Display) {
    let thread = std::thread::current();
    // The only test of a process may run on the main thread, which has not its name.
    let name = env::var("NEXTEST_TEST_NAME").ok();
    let name = name.as_deref().or(thread.name()).unwrap_or("a test");
    let line = format!("{name}: {why}").replace('\n', " ");
    eprintln!("NOT RUN: {line}");
    if let Some(file) = env::var_os(NOT_RUN).map(PathBuf::from) {
        let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
        let written = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        written.expect("the file of the tests that could not run is there to be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_of_programs_that_live_are_not_left_over() {
        let ours = format!("t{}_tpcc", std::process::id());
        // No process has a number of ten digits.
        for (name, left) in
            [("t9999999999_tpcc", true), (ours.as_str(), false), ("tpcc", false), ("t_", false)]
        {
            assert_eq!(is_left_over(name), left, "{name}");
        }
    }
}
