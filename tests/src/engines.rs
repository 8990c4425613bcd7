//! Private engines that the tests of one program share: one server of each kind, used by one test at a time, with databases
//! that are loaded once.

use rig::{Engine, Options, Running};
use sql::ServerUrl;
use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Connections that a server of these tests takes.
pub const CONNECTIONS: u32 = 60;

static POSTGRES: LazyLock<Mutex<Server>> = LazyLock::new(|| Mutex::new(Server::start(Engine::Postgres)));
static MARIADB: LazyLock<Mutex<Server>> = LazyLock::new(|| Mutex::new(Server::start(Engine::MariaDb)));

/// An engine, and what has been loaded into it.
#[derive(Debug)]
pub struct Server {
    /// The engine. Its watchdog ends it with this program: statics are never dropped.
    pub engine: Running,
    loaded: BTreeSet<String>,
}

/// A server that no one else uses meanwhile.
#[derive(Debug)]
pub struct LockedServer(MutexGuard<'static, Server>);

impl LockedServer {
    /// The server of one kind.
    ///
    /// # Panics
    /// When it cannot be started, or has no SQL.
    pub fn of(engine: Engine) -> LockedServer {
        let server = match engine {
            Engine::Postgres => &POSTGRES,
            Engine::MariaDb => &MARIADB,
            Engine::Kafka => panic!("a broker has no SQL"),
        };
        // A test that failed leaves the server as it is; the next one makes do with it.
        let mut locked = LockedServer(server.lock().unwrap_or_else(PoisonError::into_inner));
        if !locked.engine.is_alive()
            && let Err(error) = locked.engine.restart()
        {
            // An engine that cannot recover its data fails the test that killed it, and none of those that come after it.
            eprintln!("a new server is started in place of one that does not come back: {error}");
            *locked = Server::start(engine);
        }
        locked
    }
}

impl Deref for LockedServer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}

impl DerefMut for LockedServer {
    fn deref_mut(&mut self) -> &mut Server {
        &mut self.0
    }
}

impl Server {
    fn start(engine: Engine) -> Server {
        Server { engine: small(engine, &[]), loaded: BTreeSet::new() }
    }

    /// The database of that name through the server's port; `load` fills it the first time.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn database(&mut self, name: &str, load: impl FnOnce(&ServerUrl)) -> ServerUrl {
        let url = self.engine.tcp_url(name);
        if !self.loaded.contains(name) {
            self.engine.create_database(name).unwrap_or_else(|error| panic!("{error}"));
            load(&url);
            self.loaded.insert(name.to_owned());
        }
        url
    }

    /// Rows of a statement, by the engine's own client.
    ///
    /// # Panics
    /// When it is refused.
    pub fn ask(&self, database: &str, statement: &str) -> String {
        let answer = self.engine.client(database, statement);
        answer.unwrap_or_else(|error| panic!("{statement}: {error}")).trim().to_owned()
    }

    /// Names of the databases that are there.
    pub fn databases(&self) -> BTreeSet<String> {
        let (system, statement) = match self.engine.engine() {
            Engine::Postgres => ("postgres", "select datname from pg_database"),
            Engine::MariaDb => ("mysql", "show databases"),
            Engine::Kafka => panic!("a broker has no SQL"),
        };
        self.ask(system, statement).lines().map(str::to_owned).collect()
    }
}

/// A server that takes little room, with more settings.
///
/// # Panics
/// When it cannot be started.
pub fn small(engine: Engine, settings: &[(&str, &str)]) -> Running {
    let cache = match engine {
        Engine::Postgres => ("shared_buffers", "64MB"),
        Engine::MariaDb => ("innodb_buffer_pool_size", "134217728"),
        Engine::Kafka => panic!("a broker has no SQL"),
    };
    let settings = std::iter::once(&cache).chain(settings);
    let mut options = Options { connections: CONNECTIONS, ..Options::small(engine) };
    options.settings.extend(settings.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    rig::start(engine, &options).unwrap_or_else(|error| panic!("{error}"))
}
