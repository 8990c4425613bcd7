//! What a subject stands on: its stores, in the order of the data that is split over them.

use crate::database::LoadOptions;
use crate::foreseen;
use crate::host::Host;
use crate::interrupt::Interrupt;
use crate::private::Private;
use crate::reporter::Reporter;
use crate::spec::{EngineOptions, Spec};
use crate::topic::BrokerHost;
use crate::{Database, Databases};
use admin::ensure_room;
use anyhow::{Result, bail};
use broker::Address;
use model::{Tier, store_name};
use sql::{DbUrl, Dialect, Journal, SqliteUrl};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use targets::Driven;
use workload::{Chosen, LOAD_SEED};

/// Bytes on disk that a byte of the rows takes on a private engine: heads of rows, indexes, and the log of the load.
const DISK_OVERHEAD: f64 = 2.0;

/// The stores of a subject, each in a private folder, on a private engine, or next to a database that the user named.
#[derive(Debug)]
pub struct Deployment {
    hosts: Vec<Host>,
    broker: Option<BrokerHost>,
    /// What was chosen of the parameters of the workload whose data it gets.
    chosen: Chosen,
}

impl Deployment {
    /// Prepares the stores that a run asks for, in its folder, for so many sessions of calls on each. `named` are the databases of
    /// the user's, with their passwords: none, or one for each store.
    ///
    /// # Errors
    /// Something was asked of a private engine where there is none, or an engine does not start. Nothing is left then.
    pub fn create(
        run: &Path,
        spec: &Spec,
        named: &[DbUrl],
        engine_options: &EngineOptions,
        sessions: u32,
        reporter: &dyn Reporter,
    ) -> Result<Deployment> {
        if !named.is_empty() && engine_options.durability != Tier::Durable {
            bail!(
                "--durability is for private engines; what the database of --db flushes is its own setting\nhint: leave \
                 --db out, or change the setting there"
            );
        }
        if engine_options.limits.is_some() && (!named.is_empty() || spec.dialect()? == Dialect::Sqlite) {
            bail!(
                "--limit engine:… is for a private engine; there is none here\nhint: SQLite runs inside the generator or \
                 the server, and Stackmark does not limit your server"
            );
        }
        Deployment::create_in(&Rc::new(Private::create(run)?), 0, spec, named, sessions, reporter)
    }

    /// Prepares one of several places in a private folder that they share.
    ///
    /// # Errors
    /// An engine does not start; which store it is of is said where there are several.
    pub fn create_in(
        private: &Rc<Private>,
        index: usize,
        spec: &Spec,
        named: &[DbUrl],
        sessions: u32,
        reporter: &dyn Reporter,
    ) -> Result<Deployment> {
        // First: what is wrong is told before an engine is started.
        foreseen::check_sessions(named, sessions)?;
        let broker = spec.broker.as_ref().map(|wanted| BrokerHost::create(wanted, reporter)).transpose()?;
        let mut hosts = Vec::new();
        for store in 0..spec.shards {
            let label = match (index, spec.shards) {
                (0, 1) => String::new(),
                (place, 1) => place.to_string(),
                (place, _) => format!("{place}-{store}"),
            };
            let named = named.get(store as usize).cloned();
            let host = Host::create(private, &label, spec, named, sessions, reporter);
            hosts.push(host.map_err(|error| at(error, store as usize, spec.shards as usize))?);
        }
        Ok(Deployment { hosts, broker, chosen: spec.chosen.clone() })
    }

    /// Ends the private engines and keeps their data, so that they take no part in what is measured elsewhere.
    ///
    /// # Errors
    /// One cannot be ended; the others are.
    pub fn stop(&mut self) -> Result<()> {
        let mut done: Vec<Result<()>> = self.hosts.iter_mut().map(Host::stop).collect();
        done.extend(self.broker.as_mut().map(BrokerHost::stop));
        done.into_iter().collect()
    }

    /// Starts the private engines after a rest, or again.
    pub fn start(&mut self, restart: bool) -> Result<()> {
        let all = self.hosts.len();
        self.broker.as_mut().map_or(Ok(()), |broker| broker.start(restart))?;
        let mut hosts = self.hosts.iter_mut().enumerate();
        hosts.try_for_each(|(store, host)| host.start(restart).map_err(|error| at(error, store, all)))
    }

    /// The private engine of a store, to be killed, paused and started again; nothing where that has none.
    pub fn engine(&mut self, store: usize) -> Option<&mut rig::Running> {
        self.hosts.get_mut(store).and_then(Host::engine)
    }

    /// The file systems of SQLite's files, whose power can be cut; none unless [`Spec::power_cut`] asked for them.
    pub fn disks(&mut self) -> impl Iterator<Item = &mut rig::FileDisk> {
        self.hosts.iter_mut().filter_map(Host::disk)
    }

    /// Empty databases of ours of this name, one in each store, to be loaded.
    pub fn empty(&self, name: &str) -> Result<Vec<DbUrl>> {
        let each = self.hosts.iter().enumerate();
        each.map(|(store, host)| host.empty(name).map_err(|error| at(error, store, self.hosts.len())))
            .collect()
    }

    /// Copies of databases, for one trial.
    pub fn copy<W: Driven>(&self, template: &Databases<W>, name: &str) -> Result<Databases<W>> {
        let pairs = self.hosts.iter().zip(&template.each).enumerate();
        let copied = pairs.map(|(store, (host, database))| {
            host.copy(database, name).map_err(|error| at(error, store, self.hosts.len()))
        });
        let each: Vec<Database<W>> = copied.collect::<Result<_>>()?;
        Ok(Databases { each, size: template.size.clone() })
    }

    /// Removes databases of ours.
    ///
    /// # Errors
    /// One cannot be removed; the others are.
    pub fn drop_databases(&self, urls: &[DbUrl]) -> Result<()> {
        let removed: Vec<Result<()>> =
            self.hosts.iter().zip(urls).map(|(host, url)| host.drop_databases(url)).collect();
        removed.into_iter().collect()
    }

    /// Loads databases that go with the run.
    ///
    /// # Errors
    /// One cannot be made or loaded, or the user has interrupted.
    pub fn load<W: Driven>(
        &self,
        scale: u32,
        reporter: &dyn Reporter,
        interrupt: &Interrupt,
    ) -> Result<Databases<W>> {
        self.load_at(&self.empty(W::NAME)?, scale, reporter, interrupt)
    }

    /// Loads databases that go with the run and that only copies are made of. Files are plain, whatever is asked
    /// for: without a write-ahead log, which would tie them to shared memory, and on the machine's own storage.
    pub fn load_template<W: Driven>(
        &self,
        scale: u32,
        reporter: &dyn Reporter,
        interrupt: &Interrupt,
    ) -> Result<Databases<W>> {
        let plain = |url| match url {
            DbUrl::Sqlite(url) => {
                DbUrl::Sqlite(SqliteUrl { journal: Journal::Truncate, ..SqliteUrl::file(url.path) })
            }
            url @ DbUrl::Server(_) => url,
        };
        let urls: Vec<DbUrl> = self.empty(W::NAME)?.into_iter().map(plain).collect();
        self.load_at(&urls, scale, reporter, interrupt)
    }

    fn load_at<W: Driven>(
        &self,
        urls: &[DbUrl],
        scale: u32,
        reporter: &dyn Reporter,
        interrupt: &Interrupt,
    ) -> Result<Databases<W>> {
        let size = workload::sized::<W>(scale, &self.chosen)?;
        self.check_room::<W>(urls, &size)?;
        match Databases::load(urls, &size, LoadOptions::default(), reporter, interrupt) {
            Ok((databases, _)) => Ok(databases),
            // It goes with the run, so there is nothing to start again.
            Err(_) if interrupt.requested() => {
                bail!("interrupted while loading; nothing was measured or stored")
            }
            Err(error) => Err(error),
        }
    }

    /// Refuses data that does not fit where private engines have theirs. Files are looked at when they are loaded, and where someone
    /// else's server has its data is not known.
    fn check_room<W: Driven>(&self, urls: &[DbUrl], size: &W::Extent) -> Result<()> {
        let size = workload::split::<W>(size.clone(), urls.len() as u32)?;
        for ((host, url), part) in self.hosts.iter().zip(urls).zip(W::parts(&size)) {
            if let (DbUrl::Server(_), Some(folder)) = (url, host.store(url)) {
                let dataset = W::dataset(&part, LOAD_SEED);
                ensure_room(dataset.as_ref(), &folder.display().to_string(), &folder, DISK_OVERHEAD)?;
            }
        }
        Ok(())
    }

    /// Where the stores are, as far as that is known and on this machine: what is watched of the disk.
    pub fn places(&self, urls: &[DbUrl]) -> Vec<PathBuf> {
        self.hosts.iter().zip(urls).filter_map(|(host, url)| host.store(url)).collect()
    }

    /// The first process of each engine: of private ones, or of those on this machine that the user named; and where private
    /// ones write theirs, since they may come back under another.
    pub fn engines(&self) -> Vec<(u32, Option<PathBuf>)> {
        let mut engines = Vec::new();
        for engine in self.hosts.iter().flat_map(Host::engines) {
            // Two databases of the user's may be on one server.
            if !engines.contains(&engine) {
                engines.push(engine);
            }
        }
        engines
    }

    /// Whether an engine that the user named is on another machine.
    pub fn is_elsewhere(&self) -> bool {
        self.hosts.iter().any(Host::is_elsewhere)
    }

    /// What each private engine is held to.
    pub fn engine_limits(&self) -> Option<rig::Limits> {
        self.hosts.first().and_then(Host::engine_limits)
    }

    /// How often each private engine has met its limits, in the order of [`Deployment::engines`].
    pub fn engine_throttling(&self) -> Vec<Option<rig::Throttling>> {
        self.hosts.iter().flat_map(Host::engine_throttling).collect()
    }

    /// The broker that a relay publishes to, where there is one.
    pub fn broker(&self) -> Result<Option<Address>> {
        self.broker.as_ref().map(BrokerHost::address).transpose()
    }

    /// The private broker, to be killed, paused and started again; nothing where there is none.
    pub fn broker_engine(&mut self) -> Option<&mut rig::Running> {
        self.broker.as_mut().and_then(BrokerHost::engine)
    }

    /// Its name and version, as far as it is known.
    pub fn broker_version(&self) -> Option<String> {
        self.broker.as_ref().map(BrokerHost::described)
    }

    /// Its process, where that is on this machine.
    pub fn broker_pid(&self) -> Option<u32> {
        self.broker.as_ref().and_then(BrokerHost::pid)
    }

    /// What a private one is held to, and how often it has met that.
    pub fn broker_limits(&self) -> (Option<rig::Limits>, Option<rig::Throttling>) {
        let broker = self.broker.as_ref();
        (broker.and_then(BrokerHost::limits), broker.and_then(BrokerHost::throttling))
    }

    /// What a reader of a number must know about the private engines, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for (store, host) in self.hosts.iter().enumerate() {
            for note in host.notes() {
                let note =
                    if self.hosts.len() == 1 { note } else { format!("{}: {note}", store_name(store)) };
                notes.push(note);
            }
        }
        notes.extend(self.broker.iter().flat_map(BrokerHost::notes));
        notes
    }

    /// Whether the databases are on a server that is not ours.
    pub fn is_on_users_server(&self) -> bool {
        self.hosts.iter().any(Host::is_on_users_server)
    }
}

/// An error of one of several stores, which says which.
pub fn at(error: anyhow::Error, store: usize, all: usize) -> anyhow::Error {
    if all == 1 { error } else { error.context(store_name(store)) }
}
