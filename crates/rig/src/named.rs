//! Engines that stay when the process that started them ends, one of a kind in a base folder: `stackmark rig`.

use crate::command::lives_in;
use crate::find::find_in;
use crate::home::{Home, discard, is_abandoned};
use crate::place::{Place, creating};
use crate::running::{Running, prepare};
use crate::state::State;
use crate::technology::Sql;
use crate::{Engine, Options, RigError, base, galera};
use rustix::process::{Pid, WaitOptions};
use sql::{Secret, ServerUrl};
use std::path::{Path, PathBuf};

/// The file with the password alone, as other programs read it.
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

/// An engine that stays.
#[derive(Debug, Clone)]
pub struct NamedEngine {
    pub engine: Engine,
    /// What it says of its version.
    pub version: String,
    /// What its programs were looked for by, as [`Options::programs`].
    pub programs: Option<PathBuf>,
    /// Whether it runs; one that does not is started again, on its data, by [`up`].
    pub alive: bool,
    /// Number of its first process, or of the last one.
    pub pid: u32,
    /// The folder with everything of it.
    pub folder: PathBuf,
    /// Everything that was written into its configuration.
    pub settings: Vec<(String, String)>,
    port: u16,
    password: Secret,
}

impl NamedEngine {
    /// A database of it, through its unix socket; the password is in it, and nothing shows it.
    pub fn url(&self, database: &str) -> ServerUrl {
        self.place().url(database)
    }

    /// The same through its port on 127.0.0.1.
    pub fn tcp_url(&self, database: &str) -> ServerUrl {
        ServerUrl { socket: None, ..self.url(database) }
    }

    /// As [`Running::address`].
    pub fn address(&self) -> (String, Secret) {
        (self.place().address(), self.password.clone())
    }

    /// The file whose only line is the password, readable by its owner alone.
    pub fn password_file(&self) -> PathBuf {
        self.folder.join(PASSWORD_FILE)
    }

    /// Makes an empty database, unless there is one of that name.
    ///
    /// # Errors
    ///
    /// Those of [`can_have_database`], or the engine refuses.
    pub fn create_database(&self, name: &str) -> Result<(), RigError> {
        let (sql, statement) = creates_database(self.engine, name)?;
        let (installation, place) = (find_in(self.engine, self.programs.as_deref())?, self.place());
        let existing = place.client(&installation, sql.system_database, sql.databases)?;
        if existing.lines().all(|line| line.trim() != name) {
            place.client(&installation, sql.system_database, &statement)?;
        }
        Ok(())
    }

    pub(crate) fn place(&self) -> Place {
        let NamedEngine { engine, folder, port, password, .. } = self.clone();
        Place { engine, folder, port, password }
    }

    fn of(folder: &Path, state: State) -> Option<NamedEngine> {
        let text = std::fs::read_to_string(folder.join("client.conf")).ok()?;
        // The only word of 32 hexadecimal digits, whatever the client's format.
        let password =
            text.split(|letter: char| !letter.is_ascii_hexdigit()).find(|word| word.len() == 32)?;
        Some(NamedEngine {
            engine: state.engine,
            version: state.version,
            programs: state.programs,
            alive: lives_in(state.pid, folder),
            pid: state.pid,
            folder: folder.to_owned(),
            settings: state.settings,
            port: state.port,
            password: Secret::new(password),
        })
    }

    fn read(folder: &Path) -> Option<NamedEngine> {
        State::read(folder).filter(|state| state.stays).and_then(|state| NamedEngine::of(folder, state))
    }
}

fn folder(base: &Path, engine: Engine) -> PathBuf {
    base.join(format!("{}-up", engine.name()))
}

/// Starts engines that stay until [`down`]. One that runs is left as it is; one whose process is gone, after a restart of
/// the machine, is started again on its data and with its settings, whatever `options` say.
///
/// # Errors
///
/// As for [`crate::start`]. Engines named before the one that failed stay up.
pub fn up(engines: &[Engine], options: &Options) -> Result<Vec<NamedEngine>, RigError> {
    engines.iter().map(|engine| one_up(*engine, options)).collect()
}

fn one_up(engine: Engine, options: &Options) -> Result<NamedEngine, RigError> {
    let (installation, account, base) = prepare(engine, options)?;
    if galera::asked(engine, &options.settings)?.is_some() {
        return Err(RigError::Invalid("a cluster goes with the run that started it; it cannot stay".into()));
    }
    let path = folder(&base, engine);
    let locked = base::hold(&base)?;
    let running = match NamedEngine::read(&path) {
        Some(standing) if standing.alive => return Ok(standing),
        Some(standing) => {
            let state = State::read(&path).filter(|state| state.stays);
            let home = Home::open(path.clone())?;
            drop(locked);
            let state = state.ok_or_else(|| RigError::folder(&path, "another process changed its state"))?;
            crate::cgroup::remove(&state.groups);
            reap(state.pid);
            let installation = find_in(engine, state.programs.as_deref())?;
            Running::resumed(installation, options, account, home, standing.password, &state)?
        }
        None if path.exists() && !is_abandoned(&path) => {
            return Err(RigError::folder(&path, "another process is starting an engine in it"));
        }
        None => {
            discard(&path);
            let home = Home::lay_out(path.clone(), engine, account)?;
            drop(locked);
            Running::begin(installation, options, account, home)?
        }
    };
    running.home.write_private(PASSWORD_FILE, &format!("{}\n", running.password.reveal()))?;
    let state = running.leave()?;
    NamedEngine::of(&path, state).ok_or_else(|| RigError::folder(&path, "another process removed it"))
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
    Engine::ALL.into_iter().filter_map(|engine| NamedEngine::read(&folder(&base, engine))).collect()
}

/// Ends engines that stay and removes their folders, with their data; gives those that were there.
pub fn down(engines: &[Engine], options: &Options) -> Result<Vec<Engine>, RigError> {
    let base = base::path(options);
    if !base.exists() {
        return Ok(Vec::new());
    }
    let base = base::make(options)?;
    let _held = base::hold(&base)?;
    let mut ended = Vec::new();
    for engine in engines {
        let path = folder(&base, *engine);
        if NamedEngine::read(&path).is_none() {
            continue;
        }
        discard(&path);
        if path.exists() {
            return Err(RigError::folder(&path, "it could not be removed"));
        }
        ended.push(*engine);
    }
    Ok(ended)
}
