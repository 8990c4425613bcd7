//! Engines that stay when the process that started them ends, one of a kind in a base folder: `stackmark rig`.

use crate::cluster::{Role, Shape, stays_as};
use crate::command::{Account, lives_in};
use crate::find::find_in;
use crate::home::{Home, discard, is_abandoned};
use crate::place::{Place, creating};
use crate::running::{Running, prepare};
use crate::state::EngineState;
use crate::technology::Sql;
use crate::{Engine, Options, RigError, base, cluster, spider};
use rustix::process::{Pid, WaitOptions};
use sql::{Address, GALERA, NODES_MAX, SPIDER, Secret, ServerUrl};
use std::path::{Path, PathBuf};

/// The file with nothing but the password, as other programs read it.
const PASSWORD_FILE: &str = "password";

/// How a database is made.
///
/// # Errors
///
/// The name would need quotes, or the engine has no databases.
fn creates_database(engine: Engine, name: &str) -> Result<(&'static Sql, String), RigError> {
    match &engine.about().sql {
        Some(sql) => Ok((sql, creating(name)?)),
        None => Err(RigError::Invalid(format!("{} has no databases", engine.title()))),
    }
}

/// Fails where an engine cannot have a database of this name, before it is started.
///
/// # Errors
///
/// The name would need quotes, or the engine has no databases.
pub fn can_have_database(engine: Engine, name: &str) -> Result<(), RigError> {
    creates_database(engine, name).map(|_| ())
}

/// What can stay: one server, or a cluster of them, at most one of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// One server.
    Single(Engine),
    /// A Galera cluster of MariaDB.
    Galera,
    /// A MariaDB whose tables have their rows on others.
    Spider,
}

impl EngineKind {
    /// All, in the order of lists.
    pub const ALL: [EngineKind; 5] = [
        EngineKind::Single(Engine::Postgres),
        EngineKind::Single(Engine::MariaDb),
        EngineKind::Galera,
        EngineKind::Spider,
        EngineKind::Single(Engine::Kafka),
    ];

    /// The name in commands and folders: `postgres`, `mariadb`, `galera`, `spider`, `kafka`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Single(engine) => engine.name(),
            EngineKind::Galera => "galera",
            EngineKind::Spider => "spider",
        }
    }

    /// What its servers are.
    #[must_use]
    pub fn engine(self) -> Engine {
        match self {
            EngineKind::Single(engine) => engine,
            EngineKind::Galera | EngineKind::Spider => Engine::MariaDb,
        }
    }

    /// The setting that says how many nodes it has, of a cluster, and its default.
    #[must_use]
    pub fn nodes(self) -> Option<(&'static str, u32)> {
        match self {
            EngineKind::Single(_) => None,
            // A majority is left when one ends.
            EngineKind::Galera => Some((GALERA, 3)),
            EngineKind::Spider => Some((SPIDER, 2)),
        }
    }

    fn of(engine: Engine, shape: Option<Shape>) -> EngineKind {
        match shape {
            None => EngineKind::Single(engine),
            Some(Shape::Galera { .. }) => EngineKind::Galera,
            Some(Shape::Spider { .. }) => EngineKind::Spider,
        }
    }

    /// The kind by the name that a user types.
    pub fn named(name: &str) -> Option<EngineKind> {
        let found = EngineKind::ALL.into_iter().find(|kind| kind.name() == name);
        found.or_else(|| Engine::named(name).map(EngineKind::Single))
    }
}

/// An engine that stays.
#[derive(Debug, Clone)]
pub struct NamedEngine {
    pub kind: EngineKind,
    /// What it says of its version.
    pub version: String,
    /// What its programs were looked for by, as [`Options::programs`].
    pub programs: Option<PathBuf>,
    /// Whether it runs, with all of its nodes; what does not is started again, on its data, by [`up`].
    pub alive: bool,
    /// Number of its first process, or of the last one; of a cluster that of its first node.
    pub pid: u32,
    /// The folder with everything of it.
    pub folder: PathBuf,
    /// Everything that was written into its configuration.
    pub settings: Vec<(String, String)>,
    port: u16,
    password: Secret,
    /// Of a cluster how many nodes get calls.
    writers: Option<usize>,
    /// The other nodes of a cluster.
    others: Vec<NamedEngine>,
}

impl NamedEngine {
    /// A database of it, through its unix socket, or those of all nodes; the password is in it, and nothing shows it.
    pub fn url(&self, database: &str) -> ServerUrl {
        let socket = |node: &NamedEngine| node.place().url(database).socket.map(Address::Socket);
        let is_reached = |_: &&NamedEngine| self.kind == EngineKind::Galera;
        let others = self.others.iter().filter(is_reached).filter_map(socket).collect();
        ServerUrl { others, writers: self.writers, ..self.place().url(database) }
    }

    /// The same through its port on 127.0.0.1; of a cluster only the first node.
    pub fn tcp_url(&self, database: &str) -> ServerUrl {
        ServerUrl { socket: None, ..self.place().url(database) }
    }

    /// As [`Running::address`].
    pub fn address(&self) -> (String, Secret) {
        (self.place().address(), self.password.clone())
    }

    /// The file whose only line is the password, readable only by its owner.
    pub fn password_file(&self) -> PathBuf {
        self.folder.join(PASSWORD_FILE)
    }

    /// Makes an empty database, unless there is one of that name.
    ///
    /// # Errors
    ///
    /// Those of [`can_have_database`], or the engine refuses.
    pub fn create_database(&self, name: &str) -> Result<(), RigError> {
        let (sql, statement) = creates_database(self.kind.engine(), name)?;
        let (installation, place) = (find_in(self.kind.engine(), self.programs.as_deref())?, self.place());
        let existing = place.client(&installation, sql.system_database, sql.databases)?;
        if existing.lines().all(|line| line.trim() != name) {
            place.client(&installation, sql.system_database, &statement)?;
        }
        Ok(())
    }

    /// Decides what was left prepared on data nodes of Spider.
    fn resolve_prepared(&self) -> Result<(), RigError> {
        let installation = &find_in(self.kind.engine(), self.programs.as_deref())?;
        let ask = |server: &NamedEngine| {
            let place = server.place();
            move |statement: &str| place.client(installation, "mysql", statement)
        };
        let nodes: Vec<_> =
            self.others.iter().map(|node| Box::new(ask(node)) as Box<spider::Asked<'_>>).collect();
        spider::resolve_prepared(&ask(self), &nodes).map(drop)
    }

    pub(crate) fn place(&self) -> Place {
        let NamedEngine { kind, folder, port, password, .. } = self.clone();
        Place { engine: kind.engine(), folder, port, password }
    }

    /// What a folder has by itself.
    fn of(folder: &Path, state: &EngineState) -> Option<NamedEngine> {
        let text = std::fs::read_to_string(folder.join("client.conf")).ok()?;
        // The only word of 32 hexadecimal digits, whatever the client's format.
        let password =
            text.split(|letter: char| !letter.is_ascii_hexdigit()).find(|word| word.len() == 32)?;
        Some(NamedEngine {
            kind: match &state.role {
                None => EngineKind::Single(state.engine),
                Some(Role::Galera(_)) => EngineKind::Galera,
                Some(Role::Head { .. } | Role::DataNode { .. }) => EngineKind::Spider,
            },
            version: state.version.clone(),
            programs: state.programs.clone(),
            alive: lives_in(state.pid, folder),
            pid: state.pid,
            folder: folder.to_owned(),
            settings: state.settings.clone(),
            port: state.port,
            password: Secret::new(password),
            writers: match &state.role {
                Some(Role::Galera(node)) => Some(node.writers()),
                _ => None,
            },
            others: Vec::new(),
        })
    }

    /// What stays in a folder, with all of its nodes.
    fn read(folder: &Path) -> Option<NamedEngine> {
        let state = staying(folder)?;
        let mut first = NamedEngine::of(folder, &state)?;
        for folder in others(folder, state.role.as_ref()) {
            // One whose start failed is not marked as staying.
            let other = EngineState::read(&folder).and_then(|state| NamedEngine::of(&folder, &state));
            first.alive &= other.as_ref().is_some_and(|other| other.alive);
            first.others.extend(other);
        }
        Some(first)
    }
}

fn staying(folder: &Path) -> Option<EngineState> {
    EngineState::read(folder).filter(|state| state.stays)
}

fn folder(base: &Path, kind: EngineKind) -> PathBuf {
    base.join(format!("{}-up", kind.name()))
}

/// The folders of the further servers of a cluster.
fn others(first: &Path, role: Option<&Role>) -> Vec<PathBuf> {
    let others = role.map_or(Vec::new(), Role::others);
    others.iter().filter_map(|other| stays_as(first, other.number())).collect()
}

/// Starts engines that stay until [`down`]. One that runs is left as it is; one whose process is gone, after a restart of
/// the machine, is started again on its data and with its settings, whatever `options` say. How many nodes a cluster has is a
/// setting ([`EngineKind::nodes`]).
///
/// # Errors
///
/// As for [`crate::start`]. Engines named before the one that failed stay up.
pub fn up(kinds: &[EngineKind], options: &Options) -> Result<Vec<NamedEngine>, RigError> {
    kinds.iter().map(|kind| one_up(*kind, options)).collect()
}

fn one_up(kind: EngineKind, options: &Options) -> Result<NamedEngine, RigError> {
    let (installation, account, base) = prepare(kind.engine(), options)?;
    let of_settings = EngineKind::of(kind.engine(), cluster::asked(kind.engine(), &options.settings)?);
    if of_settings != kind {
        let (wanted, found) = (kind.name(), of_settings.name());
        return Err(RigError::Invalid(format!(
            "these settings are of the kind {found}, and not of {wanted}"
        )));
    }
    let path = folder(&base, kind);
    let locked = base::hold(&base)?;
    match NamedEngine::read(&path) {
        Some(found) if found.alive => return Ok(found),
        Some(found) => resume(&found, account, options, locked)?,
        None if path.exists() && !is_abandoned(&path) => {
            return Err(RigError::folder(&path, "another process is starting an engine in it"));
        }
        None => {
            discard_with_others(&path);
            let home = Home::lay_out(path.clone(), kind.engine(), account)?;
            drop(locked);
            let running = Running::begin(installation, options, account, home)?;
            running.home.write_private(PASSWORD_FILE, &format!("{}\n", running.password.reveal()))?;
            running.leave()?;
        }
    }
    let found =
        NamedEngine::read(&path).ok_or_else(|| RigError::folder(&path, "another process removed it"))?;
    match found.alive {
        true => Ok(found),
        false => Err(RigError::folder(
            &path,
            format!(
                "it does not run, or one of its nodes is gone\nhint: `stackmark rig down {}` removes it",
                kind.name()
            ),
        )),
    }
}

/// Starts what does not run of an engine that stays. The base folder is let go as soon as the folders are ours.
fn resume(
    found: &NamedEngine,
    account: Account,
    options: &Options,
    locked: std::fs::File,
) -> Result<(), RigError> {
    let nodes = || std::iter::once(found).chain(&found.others);
    let lives = |node: &NamedEngine| lives_in(node.pid, &node.folder);
    let ended: Vec<&NamedEngine> = nodes().filter(|node| !lives(node)).collect();
    let homes = ended.iter().map(|node| Home::open(node.folder.clone())).collect::<Result<Vec<_>, _>>()?;
    drop(locked);
    let mut servers = Vec::new();
    for (node, home) in ended.iter().zip(homes) {
        let changed = || RigError::folder(&node.folder, "another process changed its state");
        let state = staying(&node.folder).ok_or_else(changed)?;
        crate::cgroup::remove(&state.groups);
        reap(state.pid);
        let installation = find_in(state.engine, state.programs.as_deref())?;
        servers.push(Running::resumed(installation, options, account, home, node.password.clone(), &state)?);
    }
    let some_run = nodes().any(lives);
    let started = cluster::start_servers(servers.iter_mut().collect(), some_run);
    // Those that have come up stay, also if another one has not.
    let left = servers.into_iter().filter_map(|mut server| server.is_alive().then(|| server.leave()));
    left.fold(started, |result, left| result.and(left.map(drop)))?;
    match found.kind {
        EngineKind::Spider => found.resolve_prepared(),
        EngineKind::Single(_) | EngineKind::Galera => Ok(()),
    }
}

/// Takes note of the end of an engine that this very process had started: PostgreSQL does not start next to a number that
/// the kernel still keeps for us to ask about.
fn reap(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // Mostly it was another process's child, which its own parent or the system has seen to.
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// The engines that stay in the base folder, running or not.
pub fn status(options: &Options) -> Vec<NamedEngine> {
    let base = base::path(options);
    let base = base.canonicalize().unwrap_or(base);
    EngineKind::ALL.into_iter().filter_map(|kind| NamedEngine::read(&folder(&base, kind))).collect()
}

/// Ends engines that stay and removes their folders, with their data; gives those that were there.
pub fn down(kinds: &[EngineKind], options: &Options) -> Result<Vec<EngineKind>, RigError> {
    let base = base::path(options);
    if !base.exists() {
        return Ok(Vec::new());
    }
    let base = base::make(options)?;
    let _held = base::hold(&base)?;
    let mut ended = Vec::new();
    for kind in kinds {
        let path = folder(&base, *kind);
        let others = (1..=NODES_MAX).filter_map(|number| stays_as(&path, number));
        let there: Vec<PathBuf> =
            std::iter::once(path.clone()).chain(others).filter(|path| path.exists()).collect();
        // What is not yet marked as staying ends with its process.
        if there.iter().all(|path| staying(path).is_none()) {
            continue;
        }
        if let Some(path) = there.iter().find(|path| !is_abandoned(path)) {
            return Err(RigError::folder(path, "another process is starting an engine in it"));
        }
        if let Some(left) = discard_with_others(&path) {
            return Err(RigError::folder(&left, "it could not be removed"));
        }
        ended.push(*kind);
    }
    Ok(ended)
}

/// Removes an engine with all nodes that it may have, the first one last: what fails can be tried again. Gives a folder that is left.
fn discard_with_others(first: &Path) -> Option<PathBuf> {
    let others = (1..=NODES_MAX).rev().filter_map(|number| stays_as(first, number));
    let found: Vec<PathBuf> =
        others.chain([first.to_owned()]).filter(|path| path.exists()).inspect(|path| discard(path)).collect();
    found.into_iter().find(|path| path.exists())
}
