//! An engine that runs, from its making to its removal; `faults` is how it ends and comes back in between.

mod faults;

use crate::cgroup::{Cgroup, Throttling, gated};
use crate::cluster::Role;
use crate::command::{Account, ended_within, signal, within};
use crate::disk::{Disk, flush_all};
use crate::home::{Home, random_hex};
use crate::place::{Place, creating};
use crate::settings::{Settings, memory};
use crate::shared_memory::Orphaned;
use crate::state::{self, EngineState};
use crate::technology::{Making, Starting};
use crate::watchdog::Watchdog;
use crate::{Engine, Installation, Options, RigError, base, cluster, find_in, galera};
use model::Tier;
use rustix::process::Signal;
use sql::{Secret, ServerUrl};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

/// Lines of an engine's log that an error repeats.
const TAIL_LINES: usize = 20;
/// Ports tried, because another process may take a free one before the engine does.
const PORTS_MAX: usize = 5;
/// What the log of a start says that failed because another process took the port in the meantime.
const PORT_TAKEN: &str = "Address already in use";
/// How long an engine may take to end in an orderly way: it writes out everything that is only in memory.
const HALT_MAX: Duration = Duration::from_secs(120);

/// A private engine. It ends, and its folder goes, when this value is dropped or this process ends in any way.
#[derive(Debug)]
pub struct Running {
    installation: Installation,
    pub(crate) options: Options,
    pub(crate) account: Account,
    pub(crate) home: Home,
    pub(crate) password: Secret,
    port: u16,
    settings: Settings,
    /// `None` between [`Running::kill`] or [`Running::halt`] and [`Running::restart`].
    child: Option<Child>,
    pid: u32,
    orphaned: Orphaned,
    cgroup: Option<Cgroup>,
    /// What the data is on where its power can be cut.
    disk: Option<Disk>,
    /// `None` once it has been dismissed, and for an engine that stays.
    watchdog: Option<Watchdog>,
    /// Of a server that belongs together with others.
    pub(crate) role: Option<Role>,
    /// The others, if it is the first.
    pub(crate) peers: Vec<Running>,
}

/// Makes and starts a private engine. Returns when it takes connections.
///
/// # Errors
///
/// The engine is not installed, the folder or the options cannot be used, or the engine does not come up within
/// [`Options::start_max`]; then the error has the end of its log. Nothing is left behind but the log.
pub fn start(engine: Engine, options: &Options) -> Result<Running, RigError> {
    let (installation, account, base) = prepare(engine, options)?;
    Running::begin(installation, options, account, Home::make(&base, engine, account)?)
}

/// What has to be right before a folder is made.
pub(crate) fn prepare(
    engine: Engine,
    options: &Options,
) -> Result<(Installation, Account, PathBuf), RigError> {
    if options.durability == Tier::Volatile {
        return Err(RigError::Invalid("a private engine is durable or delayed, never volatile".into()));
    }
    if !(10..=10_000).contains(&options.connections) {
        return Err(RigError::Invalid(format!("connections are 10 to 10000, not {}", options.connections)));
    }
    Settings::default().overlay(engine, &options.settings)?;
    if cluster::asked(engine, &options.settings)?.is_some() && options.own_disk {
        return Err(RigError::Invalid(
            "a cluster has no file system of its own here: cut the power of one server, or fill its disk"
                .into(),
        ));
    }
    let installation = find_in(engine, options.programs.as_deref())?;
    let base = base::make(options)?;
    let account = match engine.about().account {
        Some(name) => {
            let account = Account::find(name)?;
            base::reachable(&base, account, name)?;
            account
        }
        None => Account { other: None },
    };
    Ok((installation, account, base))
}

impl Running {
    pub(crate) fn begin(
        installation: Installation,
        options: &Options,
        account: Account,
        home: Home,
    ) -> Result<Running, RigError> {
        let shape = cluster::asked(installation.engine, &options.settings)?;
        let mut running = Running::laid_out(installation, options, account, home)?;
        // From here on, dropping `running` removes everything.
        running.role = shape.map(|shape| Role::first(shape, &running.installation)).transpose()?;
        let started = running.make().and_then(|init_file| running.start_on_a_free_port(init_file.as_deref()));
        match started.and_then(|()| running.join_others()).and_then(|()| running.count_statements()) {
            Ok(()) => Ok(running),
            Err(RigError::Failed { what, log, .. }) => {
                Err(RigError::Failed { what, log, kept: running.home.keep_log() })
            }
            Err(error) => Err(error),
        }
    }

    /// An engine that does not run yet, with everything that ends it.
    pub(crate) fn laid_out(
        installation: Installation,
        options: &Options,
        account: Account,
        home: Home,
    ) -> Result<Running, RigError> {
        let password = random_hex().map(Secret::new)?;
        let made = limited(options, &home).and_then(|cgroup| {
            let groups = cgroup.as_ref().map_or(Vec::new(), Cgroup::folders);
            Ok((
                cgroup,
                Watchdog::start(
                    installation.engine.title(),
                    installation.engine.about().end.1,
                    &home.path,
                    &groups,
                )?,
            ))
        });
        let (cgroup, watchdog) = made.inspect_err(|_| {
            // What cannot be removed now is swept at the next start.
            let _ = home.remove();
        })?;
        Ok(Running {
            installation,
            options: options.clone(),
            account,
            home,
            password,
            port: 0,
            settings: Settings::default(),
            child: None,
            pid: 0,
            orphaned: Orphaned::default(),
            cgroup,
            disk: None,
            watchdog: Some(watchdog),
            role: None,
            peers: Vec::new(),
        })
    }

    /// Lets every database that is made from here on say what its statements cost, where that is asked for.
    fn count_statements(&self) -> Result<(), RigError> {
        match (self.engine(), self.options.statement_statistics) {
            (Engine::Postgres, true) => {
                self.client("template1", "create extension if not exists pg_stat_statements").map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Makes the data; gives the file of first statements, where the engine takes one.
    pub(crate) fn make(&mut self) -> Result<Option<PathBuf>, RigError> {
        let technology = self.engine().technology();
        if self.options.own_disk {
            self.disk = Some(Disk::make(&self.home.path, state::data(&self.home.path), self.account)?);
        }
        self.home.write_private("client.conf", &technology.client_file(&self.password))?;
        let making = Making {
            installation: &self.installation,
            options: &self.options,
            home: &self.home,
            account: self.account,
            password: &self.password,
        };
        let mut watchdog = self.watchdog.as_mut();
        technology.make(&making, &mut |pid| {
            if let Some(watchdog) = &mut watchdog {
                watchdog.watch(pid);
            }
        })
    }

    pub(crate) fn start_on_a_free_port(&mut self, init_file: Option<&Path>) -> Result<(), RigError> {
        let mut last = None;
        for _ in 0..PORTS_MAX {
            self.port = free_port()?;
            self.configure()?;
            match self.launch(init_file) {
                Err(RigError::Failed { what, log, kept }) if log.contains(PORT_TAKEN) => {
                    last = Some(RigError::Failed { what, log, kept });
                }
                started => {
                    if let Some(path) = init_file {
                        std::fs::remove_file(path).map_err(|error| RigError::folder(path, error))?;
                    }
                    return started;
                }
            }
        }
        Err(last.expect("each turn without a return leaves an error"))
    }

    fn configure(&mut self) -> Result<(), RigError> {
        let technology = self.engine().technology();
        let mut settings = technology.settings(&self.options, &self.home.path, self.port, self.memory());
        if let Some(role) = &self.role {
            role.set(&mut settings);
        }
        // Data nodes do not have the engine of the head.
        let is_data_node = matches!(self.role, Some(Role::DataNode { .. }));
        let given: Vec<_> = self
            .options
            .settings
            .iter()
            .filter(|(name, _)| !(is_data_node && name.starts_with("spider")))
            .cloned()
            .collect();
        settings.overlay(self.engine(), &given)?;
        let text = technology.file(&settings);
        // No secret is in it, and the engine's account must be able to read it.
        let path = self.home.write_private("engine.conf", &text)?;
        self.account.own(&path)?;
        self.settings = settings;
        Ok(())
    }

    /// Memory that the engine may use.
    fn memory(&self) -> Option<u64> {
        let limit = self.options.limits.and_then(|limits| limits.mem);
        limit.into_iter().chain(memory()).min()
    }

    /// Starts the engine on its data and waits until it takes connections; fails at once when it ends instead.
    pub(crate) fn launch(&mut self, init_file: Option<&Path>) -> Result<(), RigError> {
        let engine = self.installation.engine;
        let log = self.home.log()?;
        let began = log.metadata().map_or(0, |about| about.len());
        let error = log.try_clone().map_err(|error| RigError::folder(&self.home.path, error))?;
        let program = &self.installation.server;
        let server = if self.cgroup.is_some() { gated(program) } else { Command::new(program) };
        let mut command = self.account.command(server, &self.home.path);
        let starting = Starting {
            installation: &self.installation,
            options: &self.options,
            home: &self.home.path,
            settings: &self.settings,
            init_file,
            more: self.role.as_ref().map_or(&[], Role::arguments),
        };
        engine.technology().arguments(&mut command, &starting);
        command.stdout(log).stderr(error);
        let child = match &self.cgroup {
            Some(cgroup) => cgroup.spawn(&mut command)?,
            None => command.spawn().map_err(|error| {
                RigError::failed(format!("could not run {}: {error}", program.display()), "")
            })?,
        };
        self.pid = child.id();
        self.child = Some(child);
        self.watch(self.pid);
        self.state(self.watchdog.is_none()).write(&self.home.path)?;
        let joins = matches!(self.role, Some(Role::Galera(_)));
        let max = self.options.start_max.max(if joins { galera::JOIN_MAX } else { Duration::ZERO });
        let answer = within(max, || self.has_come_up());
        if let Some(Role::Galera(node)) = &mut self.role {
            node.has_started();
        }
        let how = match answer {
            Some(Ok(())) => {
                self.orphaned.clear();
                return Ok(());
            }
            Some(Err(how)) => how,
            None => format!("did not take connections within {max:?}"),
        };
        self.end();
        let log = std::fs::read(self.home.path.join("log")).unwrap_or_default();
        let words = String::from_utf8_lossy(log.get(began as usize..).unwrap_or_default()).into_owned();
        Err(RigError::failed(format!("{} {how}", engine.title()), last_lines(&words)))
    }

    /// Has a process of it end with us.
    pub(crate) fn watch(&mut self, pid: u32) {
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.watch(pid);
        }
    }

    fn has_come_up(&mut self) -> Option<Result<(), String>> {
        let child = self.child.as_mut()?;
        if let Some(status) = child.try_wait().ok().flatten() {
            return Some(Err(format!("ended while it started ({status})")));
        }
        let technology = self.engine().technology();
        technology.is_ready(&self.home.path, self.pid, self.port).then_some(Ok(()))
    }

    pub(crate) fn state(&self, stays: bool) -> EngineState {
        EngineState {
            engine: self.installation.engine,
            version: self.installation.version.clone(),
            programs: self.options.programs.clone(),
            pid: self.pid,
            port: self.port,
            settings: self.settings.0.clone(),
            groups: self.cgroup.as_ref().map_or(Vec::new(), Cgroup::folders),
            role: self.role.clone(),
            stays,
        }
    }

    /// An engine that stays and does not run, on its data. Nothing removes these: they are still there if it cannot be started.
    pub(crate) fn resumed(
        installation: Installation,
        options: &Options,
        account: Account,
        home: Home,
        password: Secret,
        state: &EngineState,
    ) -> Result<Running, RigError> {
        Ok(Running {
            installation,
            options: Options { programs: state.programs.clone(), ..options.clone() },
            account,
            cgroup: limited(options, &home)?,
            home,
            password,
            port: state.port,
            settings: Settings(state.settings.clone()),
            child: None,
            pid: 0,
            orphaned: Orphaned::default(),
            disk: None,
            watchdog: None,
            role: state.role.clone(),
            peers: Vec::new(),
        })
    }

    /// Lets the engine run on without us, with all of its nodes.
    pub(crate) fn leave(mut self) -> Result<EngineState, RigError> {
        for peer in std::mem::take(&mut self.peers) {
            peer.leave()?;
        }
        let state = self.state(true);
        state.write(&self.home.path)?;
        self.child = None;
        if let Some(cgroup) = self.cgroup.take() {
            cgroup.leave();
        }
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.dismiss();
        }
        Ok(state)
    }

    /// What the limits did to it so far; `None` without limits.
    pub fn throttling(&self) -> Option<Throttling> {
        self.cgroup.as_ref().map(Cgroup::throttling)
    }

    pub fn engine(&self) -> Engine {
        self.installation.engine
    }

    /// The programs it was started from.
    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// A database of it, through its unix socket, as its one user, who may do everything; of a cluster with all nodes. The password is
    /// in the URL, and nothing shows it.
    ///
    /// # Panics
    /// It has no databases: see [`Running::address`].
    pub fn url(&self, database: &str) -> ServerUrl {
        self.of_cluster(self.place().url(database))
    }

    /// The same through its port on the loopback; of a cluster only the first node.
    pub fn tcp_url(&self, database: &str) -> ServerUrl {
        ServerUrl { socket: None, host: self.ip().to_string(), ..self.place().url(database) }
    }

    /// Where its clients reach it, and with which password its one user gets in: of an engine without databases, such as a broker.
    pub fn address(&self) -> (String, Secret) {
        (self.place().address(), self.password.clone())
    }

    pub(crate) fn place(&self) -> Place {
        Place {
            engine: self.engine(),
            folder: self.home.path.clone(),
            port: self.port,
            password: self.password.clone(),
        }
    }

    /// Number of the engine's first process: the postmaster, or `mariadbd`. After a kill or halt, of the last.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn data(&self) -> PathBuf {
        state::data(&self.home.path)
    }

    /// The folder with everything of it.
    pub fn folder(&self) -> &Path {
        &self.home.path
    }

    /// Everything that was written into its configuration, in the order of the file.
    pub fn settings(&self) -> &[(String, String)] {
        &self.settings.0
    }

    /// What a reader of numbers taken on it must know, a sentence each.
    pub fn warnings(&self) -> Vec<String> {
        base::warnings(&self.home.path)
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        let log = std::fs::read(self.home.path.join("log")).unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&log))
    }

    /// Has the system write out whatever the engine has written to its data folder and not flushed: a copy of a database that
    /// goes through the log is flushed by the next checkpoint, and until then the system would write it while something else is
    /// measured.
    ///
    /// # Errors
    /// When a file cannot be read or flushed.
    pub fn flush(&self) -> Result<(), RigError> {
        flush_all(&self.data())?;
        self.peers.iter().try_for_each(Running::flush)
    }

    /// Makes an empty database.
    ///
    /// # Errors
    ///
    /// The name is not made of at most 63 lower-case letters, digits and underscores, or the engine refuses.
    pub fn create_database(&self, name: &str) -> Result<(), RigError> {
        self.client(self.engine().sql().system_database, &creating(name)?).map(|_| ())
    }

    /// Has the engine's own command-line client run statements; gives its rows, with tabs (MariaDB) or bars (PostgreSQL)
    /// between columns. For setting up and for tests, not for measuring.
    ///
    /// # Errors
    ///
    /// The client cannot run, or the engine refuses a statement.
    pub fn client(&self, database: &str, statements: &str) -> Result<String, RigError> {
        self.place().client(&self.installation, database, statements)
    }

    /// Ends it and removes its folder, as dropping does, but says what went wrong.
    pub fn stop(mut self) -> Result<(), RigError> {
        self.end();
        self.clean()
    }

    /// Ends the engine without care for its data.
    pub(crate) fn end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        self.end_transfers();
        signal(self.pid, self.engine().about().end.0);
        if ended_within(&mut child, Duration::from_secs(10)).is_none() {
            self.orphaned.note(self.pid);
            signal(self.pid, Signal::KILL);
            let _ = child.wait();
        }
    }

    fn clean(&mut self) -> Result<(), RigError> {
        let Some(watchdog) = self.watchdog.take() else { return Ok(()) };
        self.orphaned.remove();
        let removed = self.home.remove();
        watchdog.dismiss();
        removed
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
        // What cannot be removed now is swept at the next start.
        let _ = self.clean();
    }
}

/// Limits, if any are asked for, under the name of the engine's folder.
fn limited(options: &Options, home: &Home) -> Result<Option<Cgroup>, RigError> {
    let name = home.path.file_name().unwrap_or_default().to_string_lossy();
    options.limits.map(|limits| Cgroup::new(&name, &limits)).transpose()
}

pub(crate) fn free_port() -> Result<u16, RigError> {
    let taken = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    taken
        .map(|address| address.port())
        .map_err(|error| RigError::NotPermitted(format!("no port on 127.0.0.1 can be had: {error}")))
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
