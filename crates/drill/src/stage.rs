//! What a drill strikes: the processes of a subject, and the ways between them.

use crate::component::{Component, has_phases};
use crate::generator::LoadOrder;
use crate::load::Load;
use crate::proxy::Proxy;
use anyhow::{Context, Result};
use deploy::{
    Consuming, Databases, Deployment, GeneratorProcess, Interrupt, Route, Server, ServerSettings, Subject,
};
use measure::Monotonic;
use model::{Clock as _, Nanos};
use result::FaultAction;
use rustix::process::Signal;
use sql::{Address, DbUrl, Dialect};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use targets::Driven;
use trial::Destination;

/// Environment variable of a relay: it logs [`ENDED_AFTER_PUBLISHING`] when the sink has acknowledged a batch, and ends by SIGKILL.
pub const ENDS_AFTER_PUBLISHING: &str = "STACKMARK_ENDS_AFTER_PUBLISHING";
/// Log line of such a relay.
pub const ENDED_AFTER_PUBLISHING: &str =
    "this relay ends after publishing a batch, as requested by the drill";
/// How long a coordinator may take to come to the phase in which it ends.
const PHASE_MAX: Nanos = Nanos::from_secs(30);
/// How long such a relay may take to publish a batch.
const PUBLISHED_MAX: Nanos = Nanos::from_secs(30);
/// How long a broker may take to exit when its disk is full.
const FULL_MAX: Nanos = Nanos::from_secs(10);
/// How long a fault lasts.
const AWAY_MS: (i64, i64) = (50, 1_000);
/// The others of a Galera cluster go on without a node when they have missed it for 5 s (`evs.suspect_timeout`).
const NODE_AWAY_MS: (i64, i64) = (1_000, 9_000);
const ISOLATED_MS: (i64, i64) = (7_000, 9_000);
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// How often the state of a process is read.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The variable that has a coordinator take the signals of [`between_phases`]; none for a subject without such phases.
fn between_phases_of(subject: &Subject) -> &'static [(&'static str, &'static str)] {
    if has_phases(subject) { &[(targets::ENDS_BETWEEN_PHASES, "1")] } else { &[] }
}

/// The signal with which a coordinator ends between two phases; none for another fault.
pub(crate) fn between_phases(action: FaultAction) -> Option<Signal> {
    match action {
        FaultAction::KillAfterPrepare => Some(Signal::USR1),
        FaultAction::KillAfterDecision => Some(Signal::USR2),
        _ => None,
    }
}

/// Waits until a coordinator has ended between two phases. Returns why it did not.
pub(crate) fn not_within_phase(interrupt: &Interrupt, has_ended: impl FnMut() -> bool) -> Option<String> {
    let max = PHASE_MAX.as_secs_f64();
    (!wait_until(PHASE_MAX, interrupt, has_ended))
        .then(|| format!("fault not injected: no transfer between stores came to that phase within {max} s"))
}

/// Waits at most `max` until a condition holds, and no longer than until the user stops the drill. Returns whether it holds.
fn wait_until(max: Nanos, interrupt: &Interrupt, mut holds: impl FnMut() -> bool) -> bool {
    let clock = Monotonic::start();
    loop {
        let it_holds = holds();
        if it_holds || clock.now() >= max || interrupt.requested() {
            return it_holds;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The processes of a subject, with proxies on the ways that can be cut.
pub(crate) struct RunningSubject<'a, W: Driven> {
    pub(crate) subject: &'static Subject,
    /// As those see them who look at the data.
    pub(crate) databases: &'a Databases<W>,
    pub(crate) deployment: &'a mut Deployment,
    pub(crate) settings: ServerSettings,
    pub(crate) folder: &'a Path,
    pub(crate) interrupt: &'a Interrupt,
    /// In front of each node of each engine: one, unless it is a cluster.
    engines: Vec<Vec<Proxy>>,
    /// From the head of each engine to its data nodes, if it is Spider.
    data_ways: Vec<Vec<Proxy>>,
    /// From the relay to the first node of each of these.
    relay_ways: Vec<Vec<Proxy>>,
    /// In front of the server.
    server_way: Option<Proxy>,
    server: Option<Server>,
    relay: Option<Server>,
    /// Of the current fault.
    destination: Destination,
    /// Of the current fault.
    inbox: PathBuf,
    /// Of the current fault.
    consumer: Option<Consuming>,
}

impl<'a, W: Driven> RunningSubject<'a, W> {
    pub(crate) fn new(
        subject: &'static Subject,
        databases: &'a Databases<W>,
        deployment: &'a mut Deployment,
        settings: ServerSettings,
        folder: &'a Path,
        interrupt: &'a Interrupt,
    ) -> Result<RunningSubject<'a, W>> {
        let (mut engines, mut data_ways) = (Vec::new(), Vec::new());
        if subject.how.dialect != Dialect::Sqlite {
            for store in 0..databases.each.len() {
                let engine: &rig::Running =
                    deployment.engine(store).context("a drill needs private engines")?;
                let before = |server: &rig::Running| Proxy::start(server.ip(), Some(server.tcp()));
                let is_spider = engine.has_data_nodes();
                let nodes = engine.peers().iter().filter(|_| !is_spider);
                engines.push(std::iter::once(engine).chain(nodes).map(before).collect::<Result<Vec<_>>>()?);
                let data_nodes = engine.peers().iter().filter(|_| is_spider);
                data_ways.push(data_nodes.map(before).collect::<Result<Vec<_>>>()?);
                for (number, way) in (1..).zip(&data_ways[store]) {
                    engine.lead_to_data_node(number, way.address().port())?;
                }
            }
        }
        let relay_ways = match subject.has_relay(databases.each.len()) {
            true => engines
                .iter()
                .map(|nodes| Ok(vec![Proxy::start(LOOPBACK, Some(nodes[0].address()))?]))
                .collect::<Result<_>>()?,
            false => Vec::new(),
        };
        let server_way =
            (subject.route() == Route::Http).then(|| Proxy::start(LOOPBACK, None)).transpose()?;
        let (server, relay) = (None, None);
        Ok(RunningSubject {
            subject,
            databases,
            deployment,
            settings,
            folder,
            interrupt,
            engines,
            data_ways,
            relay_ways,
            server_way,
            server,
            relay,
            destination: Destination::Null,
            inbox: PathBuf::new(),
            consumer: None,
        })
    }

    /// The databases as those reach them who can be cut off, by these ways.
    fn urls(&self, ways: &[Vec<Proxy>]) -> Vec<DbUrl> {
        let mut ways = ways.iter();
        let through = |url: DbUrl| match (url, ways.next()) {
            (DbUrl::Server(url), Some(ways)) => {
                let address = |way: &Proxy| Address::Host("127.0.0.1".to_owned(), way.address().port());
                DbUrl::Server(url.through(ways.iter().take(url.writers().len()).map(address)))
            }
            (url, _) => url,
        };
        self.databases.urls().into_iter().map(through).collect()
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// Creates a new destination for the fault of this number.
    pub(crate) fn renew_destination(&mut self, number: u64) -> Result<()> {
        if self.subject.publishes() {
            let file = self.folder.join(format!("announced-{}.jsonl", number + 1));
            self.inbox = self.folder.join(format!("inbox-{}.db", number + 1));
            self.destination = Destination::create(&self.settings.relaying, self.deployment, &file)?;
        }
        Ok(())
    }

    /// Takes the destination of the current fault and its consumer, which has ended.
    pub(crate) fn take_destination(&mut self) -> (Destination, Option<Consuming>) {
        (std::mem::take(&mut self.destination), self.consumer.take())
    }

    /// Starts consumer, relay and server.
    pub(crate) fn start(&mut self) -> Result<()> {
        if self.settings.relaying.consumer && self.consumer.is_none() {
            let (sink, log) = (self.destination.address(), self.log("consumer"));
            self.consumer = Consuming::start(&sink, &self.inbox, log, self.interrupt)?;
        }
        self.start_relay()?;
        self.start_server()
    }

    /// Waits until the consumer has read everything published, at most `max`, and stops it. Returns why that failed.
    pub(crate) fn end_consumer(&mut self, max: Nanos) -> Option<String> {
        let consumer = self.consumer.as_mut()?;
        let left = consumer.catch_up(max, self.interrupt);
        match left.and_then(|left| consumer.stop().map(|()| left)) {
            Ok(0) => None,
            Ok(left) => {
                let unit = consumer.unit();
                Some(format!("the consumer had not read {left} {unit} after {} s", max.as_secs_f64()))
            }
            Err(error) => Some(format!("{error:#}")),
        }
    }

    fn start_relay(&mut self) -> Result<()> {
        // Dropping the earlier one removes an empty log.
        self.relay = None;
        self.relay = self.relay_with(&[])?;
        Ok(())
    }

    /// A relay with more variables in its environment.
    fn relay_with(&self, more: &[(&str, &str)]) -> Result<Option<Server>> {
        let (urls, log) = (self.urls(&self.relay_ways), self.log("relay"));
        let (relaying, sink) = (&self.settings.relaying, self.destination.address());
        self.subject.relay(&urls, relaying, &sink, more, &log, self.interrupt.flag())
    }

    /// Replaces the relay by one that ends between publishing and removing, and waits for that. Returns why it did not.
    fn kill_relay_after_publishing(&mut self) -> Result<Option<String>> {
        // One that is stopped gives its lease back.
        self.relay.take().map_or(Ok(()), Server::stop)?;
        let mut relay = match self.relay_with(&[(ENDS_AFTER_PUBLISHING, "1")]) {
            Ok(relay) => relay.context("there is no relay to kill")?,
            // It ended before it was found ready.
            Err(error) if format!("{error:#}").contains(ENDED_AFTER_PUBLISHING) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut ended = None;
        wait_until(PUBLISHED_MAX, self.interrupt, || {
            ended = relay.ended();
            ended.is_some()
        });
        if let Some(how) = ended {
            let is_requested = how.contains(ENDED_AFTER_PUBLISHING);
            return Ok((!is_requested).then(|| how.replacen("the server", "the relay", 1)));
        }
        let max = PUBLISHED_MAX.as_secs_f64();
        Ok(Some(format!("fault not injected: the relay had published nothing after {max} s")))
    }

    fn start_server(&mut self) -> Result<()> {
        let Some(way) = &self.server_way else { return Ok(()) };
        let (urls, log) = (self.urls(&self.engines), self.log("server"));
        let sink = self.destination.address();
        let interrupt = self.interrupt.flag();
        let extra = between_phases_of(self.subject);
        let server = self.subject.serve(&urls, &self.settings, &sink, extra, &log, interrupt)?;
        let at = server.url().trim_start_matches("http://");
        let at =
            at.parse().with_context(|| format!("the server listens on {at}, which is not an address"))?;
        way.leads_to(Some(at));
        self.server = Some(server);
        Ok(())
    }

    /// Starts a load generator.
    pub(crate) fn generator(&self, order: LoadOrder, clock: Monotonic) -> Result<Load<W>> {
        let url = self.server_way.as_ref().map(|way| format!("http://{}", way.address()));
        let order = LoadOrder { url, ..order };
        let (urls, how) = (self.urls(&self.engines), self.subject.how.path());
        // Through HTTP the server publishes.
        let mut more = match self.subject.route() {
            Route::Direct => {
                self.subject.published_by_itself(&self.settings.relaying, &self.destination.address())
            }
            Route::Http => Vec::new(),
        };
        more.extend(deploy::owned_variables(between_phases_of(self.subject)));
        let whole = deploy::ServerOrder {
            workload: self.subject.workload(),
            how: &how,
            databases: &urls,
            more: &more,
        };
        let asked = serde_json::to_string(&order)?;
        let process = GeneratorProcess::start(&whole, &asked, &self.log("generator"))?;
        Ok(Load::of(process, clock, &order, &self.databases.size))
    }

    /// Begins again with what a power cut would lose: what was written before this fault is on the disk.
    pub(crate) fn forget_unflushed(&mut self) -> Result<()> {
        for store in 0..self.engines.len() {
            self.engine(store)?.flush_disk()?;
        }
        self.deployment.disks().try_for_each(|disk| disk.flush())?;
        self.files()
            .try_for_each(|file| slow_storage::forget(&file).context("could not forget what was not flushed"))
    }

    /// Ends all that writes to the files of an embedded engine, but for the load generator, which is gone. What they have not flushed is
    /// lost: all that is on a file system of their own, which then writes its journal every `commit_s` seconds; otherwise what `keeps`
    /// does not keep. Gives how many writes that was, where it is known.
    pub(crate) fn cut_power(
        &mut self,
        keeps: &mut dyn FnMut() -> bool,
        commit_s: u32,
    ) -> Result<Option<u64>> {
        for process in [&mut self.server, &mut self.relay].into_iter().flatten() {
            process.kill();
        }
        (self.server, self.relay) = (None, None);
        if let Some(way) = &self.server_way {
            way.leads_to(None);
        }
        let mut has_disk = false;
        for disk in self.deployment.disks() {
            disk.cut_power(commit_s).context("the power could not be cut")?;
            has_disk = true;
        }
        if has_disk {
            return Ok(None);
        }
        let cut = |file: PathBuf| slow_storage::cut_power(&file, &mut *keeps).map(|found| found.lost);
        let lost = self.files().map(cut).sum::<std::io::Result<u64>>();
        lost.map(Some).context("could not lose what was not flushed")
    }

    /// Of an embedded engine.
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.databases.urls().into_iter().filter_map(|url| match url {
            DbUrl::Sqlite(url) => Some(url.path),
            DbUrl::Server(_) => None,
        })
    }

    /// Injects a fault, unless that takes the load generator. `commit_s` is for power cuts, see [`rig::Running::cut_power`]. Returns why
    /// the fault did not have its effect, if that is known.
    pub(crate) fn strike(
        &mut self,
        component: Component,
        action: FaultAction,
        commit_s: u32,
    ) -> Result<Option<String>> {
        let interrupt = self.interrupt;
        match (component, action) {
            (Component::Generator | Component::Storage, _) => {}
            (Component::Engine(store), FaultAction::CutOff) => self.cut_clients(store, true),
            (Component::Engine(store), FaultAction::Pause) => self.engine(store)?.pause(true),
            (Component::Node { store, server, .. }, FaultAction::CutOff) => {
                match self.data_way(store, server) {
                    Some(way) => way.cut(true),
                    None => self
                        .engine(store)?
                        .isolate_node(server, true)
                        .context("could not isolate the node")?,
                }
            }
            (Component::Node { store, server, .. }, FaultAction::Pause) => {
                self.engine(store)?.pause_node(server, true);
            }
            (Component::Node { store, server, .. }, _) => {
                self.engine(store)?.kill_node(server);
                self.cut_server(store, server, true);
            }
            (Component::Engine(store), action) => {
                let engine = self.engine(store)?;
                match action {
                    FaultAction::PowerCut => {
                        engine.cut_power(commit_s).context("the power could not be cut")?
                    }
                    _ => engine.kill(),
                }
                self.cut_clients(store, true);
            }
            (Component::Server, FaultAction::CutOff) => self.way()?.cut(true),
            (Component::Server | Component::Relay | Component::Consumer, FaultAction::Pause) => {
                self.process(component)?.pause(true)
            }
            (Component::Server, action) => {
                let server = self.process(component)?;
                let not_injected = between_phases(action).and_then(|signal| {
                    server.signal(signal);
                    not_within_phase(interrupt, || server.was_killed())
                });
                server.kill();
                self.way()?.leads_to(None);
                return Ok(not_injected);
            }
            (Component::Broker, FaultAction::Pause) => self.broker()?.pause(true),
            (Component::Broker, FaultAction::DiskFull) => {
                let broker = self.broker()?;
                broker.fill_disk().context("could not fill the disk of the broker")?;
                if !wait_until(FULL_MAX, interrupt, || !broker.is_alive()) {
                    let max = FULL_MAX.as_secs_f64();
                    return Ok(Some(format!("the broker was still running {max} s after its disk was full")));
                }
            }
            (Component::Relay, FaultAction::KillAfterPublishing) => {
                return self.kill_relay_after_publishing();
            }
            (Component::Broker, _) => self.broker()?.kill(),
            (Component::Relay, FaultAction::CutOff) => self.cut_relay(true),
            (Component::Relay | Component::Consumer, _) => self.process(component)?.kill(),
        }
        Ok(None)
    }

    /// How long a fault lasts, in ms.
    pub(crate) fn away_ms(&self, component: Component, action: FaultAction) -> (i64, i64) {
        match (component, action) {
            (Component::Node { store, .. }, action) if self.data_ways[store].is_empty() => match action {
                FaultAction::CutOff => ISOLATED_MS,
                _ => NODE_AWAY_MS,
            },
            _ => AWAY_MS,
        }
    }

    /// Why a fault that is to end now has had no effect, if that is known.
    pub(crate) fn without_effect(
        &mut self,
        component: Component,
        action: FaultAction,
    ) -> Result<Option<String>> {
        match (component, action) {
            (Component::Node { store, server, .. }, FaultAction::CutOff)
                if self.data_ways[store].is_empty() =>
            {
                let is_alone = self.engine(store)?.is_isolated(server);
                Ok((!is_alone)
                    .then(|| "fault not injected: the node did not find out that it was cut off".to_owned()))
            }
            _ => Ok(None),
        }
    }

    /// Puts a component back. Returns how many transactions it had left undecided, where that is known.
    pub(crate) fn mend(&mut self, component: Component, action: FaultAction) -> Result<Option<u64>> {
        let mut left = None;
        match (component, action) {
            (Component::Generator | Component::Storage, _) => {}
            (Component::Engine(store), FaultAction::CutOff) => self.cut_clients(store, false),
            (Component::Engine(store), action) => {
                let engine = self.engine(store)?;
                match action {
                    FaultAction::Pause => engine.pause(false),
                    _ => engine.restart().context("the engine did not come back")?,
                }
                left = engine.wait_for_nodes().context("the cluster did not come back")?;
                self.cut_clients(store, false);
            }
            (Component::Node { store, server, .. }, action) => {
                let is_spider = self.data_way(store, server).is_some();
                if action == FaultAction::CutOff && is_spider {
                    self.cut_server(store, server, false);
                }
                let engine = self.engine(store)?;
                match action {
                    FaultAction::Pause => engine.pause_node(server, false),
                    FaultAction::CutOff if is_spider => {}
                    FaultAction::CutOff => engine.isolate_node(server, false)?,
                    _ => engine.restart_node(server).context("the node did not come back")?,
                }
                left = engine.wait_for_nodes().context("the cluster did not come back")?;
                self.cut_server(store, server, false);
            }
            (Component::Server, FaultAction::CutOff) => self.way()?.cut(false),
            (Component::Server | Component::Relay | Component::Consumer, FaultAction::Pause) => {
                self.process(component)?.pause(false)
            }
            (Component::Server, _) => self.start_server()?,
            (Component::Broker, FaultAction::Pause) => self.broker()?.pause(false),
            (Component::Broker, _) => self.broker()?.restart().context("the broker did not come back")?,
            (Component::Relay, FaultAction::CutOff) => self.cut_relay(false),
            (Component::Relay, _) => self.start_relay()?,
            (Component::Consumer, _) => {
                let consumer = self.consumer.as_mut().context("there is no consumer to restart")?;
                consumer.restart(self.interrupt)?;
            }
        }
        Ok(left)
    }

    /// Cuts clients off from all nodes of an engine, or lets them reach it again.
    fn cut_clients(&self, store: usize, is_cut: bool) {
        self.engines[store].iter().for_each(|way| way.cut(is_cut));
    }

    /// Cuts those off from one server of a cluster who reach it, clients or the head, or lets them reach it again.
    fn cut_server(&self, store: usize, server: usize, is_cut: bool) {
        let ways = self.engines[store].get(server).into_iter().chain(self.data_way(store, server));
        ways.for_each(|way| way.cut(is_cut));
    }

    /// From the head to a data node, the servers from 1 on.
    fn data_way(&self, store: usize, server: usize) -> Option<&Proxy> {
        server.checked_sub(1).and_then(|node| self.data_ways[store].get(node))
    }

    fn cut_relay(&self, is_cut: bool) {
        self.relay_ways.iter().flatten().for_each(|way| way.cut(is_cut));
    }

    fn engine(&mut self, store: usize) -> Result<&mut rig::Running> {
        self.deployment.engine(store).context("a drill needs private engines")
    }

    fn broker(&mut self) -> Result<&mut rig::Running> {
        self.deployment.broker_engine().context("a drill needs a private broker")
    }

    fn way(&self) -> Result<&Proxy> {
        self.server_way.as_ref().context("there is no server to cut off")
    }

    fn process(&mut self, component: Component) -> Result<&mut Server> {
        let process = match component {
            Component::Relay => self.relay.as_mut(),
            Component::Consumer => self.consumer.as_mut().and_then(Consuming::process_mut),
            _ => self.server.as_mut(),
        };
        process.with_context(|| format!("there is no {} to inject a fault into", component.group()))
    }

    /// How server or relay ended, if one did by itself.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let all = [("the server", self.server.as_mut()), ("the relay", self.relay.as_mut())];
        let mut ended = all.into_iter().filter_map(|(name, process)| {
            process.and_then(Server::ended).map(|how| how.replacen("the server", name, 1))
        });
        ended.next()
    }

    /// Ends server and relay.
    ///
    /// # Errors
    /// One does not end as it should; both are gone.
    pub(crate) fn stop(&mut self) -> Result<()> {
        let stopped: Vec<_> =
            [self.server.take(), self.relay.take()].into_iter().flatten().map(Server::stop).collect();
        stopped.into_iter().collect::<Result<(), _>>()?;
        Ok(())
    }
}
