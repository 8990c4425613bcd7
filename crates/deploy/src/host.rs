//! Where the databases of one store live: in a private folder, on a private engine, or next to the database that the user named.

use crate::database::Database;
use crate::foreseen::SESSIONS_OF_OURS;
use crate::in_use;
use crate::private::Private;
use crate::reporter::{Reporter, announce};
use crate::spec::Spec;
use admin::store;
use anyhow::{Context, Result};
use observe::{Listening, is_here, listener};
use sql::{DbUrl, Dialect, ServerUrl, SqliteUrl};
use std::cell::RefCell;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;
use targets::Driven;

/// What the processes of engines are called.
const POSTGRES: [&str; 2] = ["postgres", "postmaster"];
const MARIADB: [&str; 2] = ["mariadbd", "mysqld"];

/// One store of a deployment.
#[derive(Debug)]
pub(crate) struct Host {
    /// Of a private SQLite database.
    sqlite: SqliteUrl,
    /// Tells the databases of several places and stores apart on the user's server.
    label: String,
    /// Of the private engine.
    limits: Option<rig::Limits>,
    /// The database that the user named; ours are made next to it, with the same settings.
    named: Option<DbUrl>,
    /// Databases of ours on the user's server, to be removed.
    made: RefCell<Vec<DbUrl>>,
    /// A private engine, where one is needed.
    engine: Option<rig::Running>,
    /// Our folder in the private one.
    folder: PathBuf,
    /// Where files of SQLite lie instead, if their power is to be cut.
    disk: Option<rig::FileDisk>,
    /// Last: it goes when everything that may use it has gone.
    _private: Rc<Private>,
}

impl Host {
    /// Prepares one of several stores in a private folder that they share. `label` distinguishes them, and is empty of one that
    /// is alone; `named` is the database of the user's with its password. On a server engine without one a private engine is
    /// started.
    pub(crate) fn create(
        private: &Rc<Private>,
        label: &str,
        spec: &Spec,
        named: Option<DbUrl>,
        sessions: u32,
        reporter: &dyn Reporter,
    ) -> Result<Host> {
        let folder = private.path().join(label);
        fs::create_dir_all(&folder).with_context(|| format!("could not create {}", folder.display()))?;
        let sqlite = spec.sqlite()?;
        let has_disk = spec.power_cut && named.is_none() && spec.dialect()? == Dialect::Sqlite;
        let disk = has_disk.then(|| rig::FileDisk::make(&folder)).transpose().context(
            "SQLite's files cannot have a file system of their own\nhint: `--only storage` cuts their power by simulation",
        )?;
        if spec.dialect()? == Dialect::Sqlite {
            // Copies of what is named lie here too, and are in its journal mode.
            let near = match &named {
                Some(DbUrl::Sqlite(near)) => near.clone(),
                Some(DbUrl::Server(_)) | None => sqlite.clone(),
            };
            let of_files = disk.as_ref().map_or(&*folder, rig::FileDisk::folder);
            in_use::allow_journal(&DbUrl::Sqlite(SqliteUrl { path: of_files.join("run.db"), ..near }))?;
        }
        let limits = spec.limits.as_deref().map(str::parse).transpose()?;
        let engine = match rig::Engine::of(spec.dialect()?).filter(|_| named.is_none()) {
            None => None,
            Some(engine) => {
                announce(reporter, &format!("starting a private {}", engine.title()));
                let options = rig::Options {
                    durability: spec.tier()?,
                    settings: spec.settings.clone(),
                    programs: spec.programs.as_deref().map(PathBuf::from),
                    statement_statistics: spec.statement_statistics,
                    limits,
                    own_disk: spec.power_cut,
                    ..rig::Options::default()
                };
                let connections = options.connections.max(sessions.saturating_add(SESSIONS_OF_OURS));
                let options = rig::Options { connections, ..options };
                Some(rig::start(engine, &options)?)
            }
        };
        let made = RefCell::default();
        let label = label.to_owned();
        Ok(Host { sqlite, label, limits, named, made, engine, folder, disk, _private: Rc::clone(private) })
    }

    /// Ends the private engine and keeps its data, so that it takes no part in what is measured elsewhere.
    pub(crate) fn stop(&mut self) -> Result<()> {
        Ok(self.engine.as_mut().map_or(Ok(()), rig::Running::halt)?)
    }

    /// Starts the private engine after a rest, or again.
    pub(crate) fn start(&mut self, restart: bool) -> Result<()> {
        let Some(engine) = &mut self.engine else { return Ok(()) };
        if restart {
            engine.halt()?;
        }
        if !engine.is_alive() {
            engine.restart()?;
        }
        Ok(())
    }

    /// The private engine, if there is one.
    pub(crate) fn engine(&mut self) -> Option<&mut rig::Running> {
        self.engine.as_mut()
    }

    /// What files of SQLite lie on whose power is to be cut, if there are any.
    pub(crate) fn disk(&mut self) -> Option<&mut rig::FileDisk> {
        self.disk.as_mut()
    }

    /// The address of a database of ours, by name. It need not be there yet.
    pub(crate) fn url(&self, name: &str) -> DbUrl {
        match (&self.engine, &self.named) {
            (Some(engine), _) => DbUrl::Server(engine.url(name)),
            (None, Some(DbUrl::Server(near))) => {
                // Someone's server has other databases, and perhaps another run of ours.
                let label = if self.label.is_empty() { "0".to_owned() } else { self.label.replace('-', "_") };
                DbUrl::Server(near.with_database(&format!("stackmark_{name}_{}_{label}", us())))
            }
            (None, Some(DbUrl::Sqlite(near))) => {
                DbUrl::Sqlite(SqliteUrl { path: self.file(name), ..near.clone() })
            }
            (None, None) => DbUrl::Sqlite(SqliteUrl { path: self.file(name), ..self.sqlite.clone() }),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        let folder = self.disk.as_ref().map_or(&*self.folder, rig::FileDisk::folder);
        folder.join(format!("{name}.db"))
    }

    /// An empty database of ours, to be loaded.
    pub(crate) fn empty(&self, name: &str) -> Result<DbUrl> {
        let url = self.url(name);
        if matches!(url, DbUrl::Server(_)) {
            self.drop_databases(&url)?;
            // First: one whose answer was lost is there.
            self.note(&url);
            let created = store(&url).create();
            if created.as_ref().is_err_and(admin::Error::is_refusal) {
                self.made.borrow_mut().retain(|made| *made != url);
            }
            created.with_context(|| format!("could not make {}", url.place()))?;
        }
        Ok(url)
    }

    /// A copy of a database, for one trial.
    pub(crate) fn copy<W: Driven>(&self, template: &Database<W>, name: &str) -> Result<Database<W>> {
        let url = self.url(name);
        self.note(&url);
        let copied = template.copied_to(url.clone(), self.engine.is_some());
        if copied.as_ref().is_err_and(|error| error.downcast_ref().is_some_and(admin::Error::is_refusal)) {
            self.made.borrow_mut().retain(|made| *made != url);
        }
        let copy = copied?;
        if let Some(engine) = &self.engine {
            engine.flush()?;
        }
        Ok(copy)
    }

    /// Removes a database of ours.
    pub(crate) fn drop_databases(&self, url: &DbUrl) -> Result<()> {
        if matches!(url, DbUrl::Sqlite(_)) || self.made.borrow().contains(url) {
            store(url).remove().with_context(|| format!("could not remove {}", url.place()))?;
            self.made.borrow_mut().retain(|made| made != url);
        }
        Ok(())
    }

    fn note(&self, url: &DbUrl) {
        let mut made = self.made.borrow_mut();
        if matches!(url, DbUrl::Server(_)) && !made.contains(url) {
            made.push(url.clone());
        }
    }

    /// Where the store lies, if that is known and on this machine: what is watched of the disk.
    pub(crate) fn store(&self, url: &DbUrl) -> Option<PathBuf> {
        match (url, &self.engine) {
            (DbUrl::Sqlite(url), _) => Some(url.path.clone()),
            (DbUrl::Server(_), engine) => engine.as_ref().map(rig::Running::data),
        }
    }

    /// The nodes of the private engine: one, unless it is a cluster.
    fn nodes(&self) -> impl Iterator<Item = &rig::Running> {
        self.engine.iter().flat_map(|engine| std::iter::once(engine).chain(engine.peers()))
    }

    /// The first process of each node of the private engine, and where it writes its number, since it may come back under another; or
    /// of an engine on this machine that the user named.
    pub(crate) fn engines(&self) -> Vec<(u32, Option<PathBuf>)> {
        let pid_file = |engine: &rig::Running| {
            (engine.engine() == rig::Engine::Postgres).then(|| engine.data().join("postmaster.pid"))
        };
        let named = self.named_pid().map(|pid| (pid, None));
        self.nodes().map(|node| (node.pid(), pid_file(node))).chain(named).collect()
    }

    fn named_pid(&self) -> Option<u32> {
        match (&self.engine, &self.named) {
            (None, Some(DbUrl::Server(url))) if !self.is_elsewhere() => {
                let at = match &url.socket {
                    None => Listening::Port(url.port),
                    // PostgreSQL names a folder, in which the socket is called after the port.
                    Some(folder) if url.dialect == Dialect::Postgres => {
                        return listener(
                            Listening::Socket(&folder.join(format!(".s.PGSQL.{}", url.port))),
                            &POSTGRES,
                        );
                    }
                    Some(file) => Listening::Socket(file),
                };
                listener(at, if url.dialect == Dialect::Postgres { &POSTGRES } else { &MARIADB })
            }
            _ => None,
        }
    }

    /// Whether the engine that the user named is on another machine.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(&self.named, Some(DbUrl::Server(url)) if url.socket.is_none() && !is_here(&url.host))
    }

    /// What the private engine is held to.
    pub(crate) fn engine_limits(&self) -> Option<rig::Limits> {
        self.limits
    }

    /// How often each has met its limits, in the order of [`Host::engines`].
    pub(crate) fn engine_throttling(&self) -> Vec<Option<rig::Throttling>> {
        let of_named = self.named_pid().map(|_| None);
        self.nodes().map(rig::Running::throttling).chain(of_named).collect()
    }

    /// What a reader of a number must know about the private engine, a sentence each.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.engine.as_ref().map_or(Vec::new(), notes_on)
    }

    /// Whether the databases are on a server that is not ours.
    pub(crate) fn is_on_users_server(&self) -> bool {
        matches!(&self.named, Some(DbUrl::Server(ServerUrl { .. })))
    }
}

/// What a reader of a number must know about a private engine or broker, a sentence each.
pub(crate) fn notes_on(engine: &rig::Running) -> Vec<String> {
    // Its ports and folders differ at each start and say nothing of it: without them each start is noted in the same words.
    let folder = engine.data().parent().map(|folder| folder.display().to_string());
    let folder = folder.filter(|folder| !folder.is_empty());
    let is_of_start = |name: &str, value: &str| {
        let is_in_it = folder.as_ref().is_some_and(|folder| value.contains(folder));
        name == "port" || value.contains("127.0.0.1:") || is_in_it
    };
    let settings = engine.settings().iter().filter(|(name, value)| !is_of_start(name, value));
    let settings: Vec<_> = settings.map(|(name, value)| format!("{name}={value}")).collect();
    let mut notes = vec![format!(
        "{} was started for this run, with this configuration and the package's defaults for the rest: {}.",
        engine.engine().title(),
        settings.join(", ")
    )];
    notes.extend(engine.warnings());
    notes
}

/// What tells databases of this process from those of every other, also of one on another machine with the same process id.
fn us() -> &'static str {
    static US: OnceLock<String> = OnceLock::new();
    US.get_or_init(|| {
        let moment = measure::unix_nanoseconds();
        format!("{}_{:08x}", std::process::id(), moment as u32)
    })
}

/// How often a database of ours is removed that does not go, and how much longer is waited each time: its server may be restarting.
const REMOVED_AGAIN: u32 = 4;
const PAUSE: Duration = Duration::from_millis(500);

impl Drop for Host {
    fn drop(&mut self) {
        if self.engine.is_some() {
            return;
        }
        for url in self.made.take() {
            // On the user's server nothing of ours may be left.
            let removed = (0..REMOVED_AGAIN).find_map(|again| {
                thread::sleep(PAUSE * again);
                store(&url).remove().err().map_or(Some(()), |_| None)
            });
            if let (None, DbUrl::Server(server)) = (removed, &url) {
                let _ = writeln!(
                    std::io::stderr(),
                    "could not drop the scratch database `{0}` at {1}\nhint: drop it with `drop database {0}`",
                    server.database,
                    server.place()
                );
            }
        }
    }
}
