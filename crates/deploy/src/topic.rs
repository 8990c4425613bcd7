//! The broker that a relay publishes to, a private one or the user's, and the topic of a trial on it.

use crate::reporter::{Reporter, announce};
use crate::secrets::with_brokers_password;
use anyhow::{Context, Result};
use broker::{Address, Broker, BrokerError, Record, Stored};
use observe::{Listening, is_here, listener};
use serde::{Deserialize, Serialize};
use targets::wait_for;

/// Batches that a private broker takes before anything is measured, records of each, and their size.
const WARM_UP_BATCHES: usize = 1_000;
const WARM_UP_RECORDS: usize = 20;
const WARM_UP_BYTES: usize = 128;

/// A broker that is asked for, as plain data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokerSpec {
    /// The address of the user's own, without its password; none of a private one.
    pub named: Option<String>,
    /// What a private one may use: `cpu=0.5,mem=1GiB`.
    pub limits: Option<String>,
    /// Whether the data of a private one is on a file system of its own, which can be filled.
    pub own_disk: bool,
}

/// Reads the address of a broker, and gives it back without its password.
pub fn broker_address(text: &str) -> Result<String> {
    Ok(text.parse::<Address>()?.to_string())
}

impl BrokerSpec {
    /// Checks that it is available: connects to the user's, and looks for the programs of a private one.
    pub fn check_available(&self) -> Result<()> {
        match &self.named {
            Some(named) => {
                let address = with_brokers_password(named.parse()?);
                wait_for(Broker::connect(&address))?
                    .context("could not use the broker given by --db")
                    .map(drop)
            }
            None => Ok(rig::find(rig::Engine::Kafka).map(drop)?),
        }
    }
}

/// The broker of a deployment.
#[derive(Debug)]
pub(crate) enum BrokerHost {
    Private { engine: Box<rig::Running>, limits: Option<rig::Limits> },
    Named(Address),
}

impl BrokerHost {
    /// Starts a private broker, or takes the user's.
    pub(crate) fn create(spec: &BrokerSpec, reporter: &dyn Reporter) -> Result<BrokerHost> {
        let Some(named) = &spec.named else {
            let limits = spec.limits.as_deref().map(str::parse).transpose()?;
            announce(reporter, &format!("starting a private {}", rig::Engine::Kafka.title()));
            let options = rig::Options { limits, own_disk: spec.own_disk, ..rig::Options::default() };
            let engine = Box::new(rig::start(rig::Engine::Kafka, &options)?);
            let host = BrokerHost::Private { engine, limits };
            host.warm_up()?;
            return Ok(host);
        };
        Ok(BrokerHost::Named(with_brokers_password(named.parse()?)))
    }

    pub(crate) fn stop(&mut self) -> Result<()> {
        match self {
            BrokerHost::Private { engine, .. } => Ok(engine.halt()?),
            BrokerHost::Named(_) => Ok(()),
        }
    }

    /// Starts a private broker after a rest, or again.
    pub(crate) fn start(&mut self, restart: bool) -> Result<()> {
        let BrokerHost::Private { engine, .. } = self else { return Ok(()) };
        if restart {
            engine.halt()?;
        }
        if engine.is_alive() {
            return Ok(());
        }
        engine.restart()?;
        self.warm_up()
    }

    /// Has a private broker compile what it does for each batch, which would otherwise be measured: it takes records for a topic that is
    /// deleted again.
    fn warm_up(&self) -> Result<()> {
        let (address, payload) = (self.address()?, vec![b'-'; WARM_UP_BYTES]);
        let record = || Record { key: b"1".to_vec(), value: payload.clone(), created: None };
        let name = unique_name();
        wait_for(async {
            let broker = Broker::connect(&address).await?;
            broker.create_topic(&name, 1).await?;
            let partition = broker.partition(&name, 0).await?;
            for _ in 0..WARM_UP_BATCHES {
                partition.write((0..WARM_UP_RECORDS).map(|_| record()).collect()).await?;
            }
            broker.delete_topic(&name).await
        })??;
        Ok(())
    }

    pub(crate) fn address(&self) -> Result<Address> {
        match self {
            BrokerHost::Named(address) => Ok(address.clone()),
            BrokerHost::Private { engine, .. } => {
                let (place, password) = engine.address();
                Address::of_user(&place, rig::USER, password).context("a private broker has host and port")
            }
        }
    }

    /// Its name and version, as far as it is known.
    pub(crate) fn described(&self) -> String {
        match self {
            BrokerHost::Private { engine, .. } => engine.installation().version.clone(),
            BrokerHost::Named(address) => format!("unknown version at {}", address.place()),
        }
    }

    /// Its process, where that is on this machine.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            BrokerHost::Private { engine, .. } => Some(engine.pid()),
            BrokerHost::Named(address) if is_here(&address.host) => {
                listener(Listening::Port(address.port), &["java"])
            }
            BrokerHost::Named(_) => None,
        }
    }

    pub(crate) fn limits(&self) -> Option<rig::Limits> {
        match self {
            BrokerHost::Private { limits, .. } => *limits,
            BrokerHost::Named(_) => None,
        }
    }

    /// The private one, to be killed, paused and started again.
    pub(crate) fn engine(&mut self) -> Option<&mut rig::Running> {
        match self {
            BrokerHost::Private { engine, .. } => Some(engine),
            BrokerHost::Named(_) => None,
        }
    }

    pub(crate) fn throttling(&self) -> Option<rig::Throttling> {
        match self {
            BrokerHost::Private { engine, .. } => engine.throttling(),
            BrokerHost::Named(_) => None,
        }
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        match self {
            BrokerHost::Private { engine, .. } => {
                let warmed = format!(
                    "The broker was sent {} records in {WARM_UP_BATCHES} batches before each trial, to warm it up.",
                    WARM_UP_BATCHES * WARM_UP_RECORDS
                );
                crate::host::notes_on(engine).into_iter().chain([warmed]).collect()
            }
            BrokerHost::Named(_) => Vec::new(),
        }
    }
}

/// Of a topic of this process.
fn unique_name() -> String {
    format!("stackmark-{}-{:x}", std::process::id(), measure::unix_nanoseconds())
}

/// A topic that is created for one trial and deleted with this value.
#[derive(Debug)]
pub struct RunTopic {
    broker: Address,
    name: String,
    partitions: u32,
    is_created: bool,
}

impl RunTopic {
    /// Creates one with a unique name.
    pub fn create(broker: Address, partitions: u32) -> Result<RunTopic> {
        let name = unique_name();
        // What fails may have created it all the same: it is deleted then.
        let topic = RunTopic { broker, name, partitions, is_created: true };
        wait_for(async {
            Broker::connect(&topic.broker).await?.create_topic(&topic.name, partitions).await
        })??;
        Ok(topic)
    }

    /// The broker that it is on.
    pub fn broker(&self) -> &Address {
        &self.broker
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the record of a message with this key must be: its key, and its partition.
    pub fn place_of(&self, key: u64) -> (Vec<u8>, u32) {
        (key.to_string().into_bytes(), (key % u64::from(self.partitions)) as u32)
    }

    /// Reads all its records, one partition after the other and each in its order.
    pub fn read(&self, mut each: impl FnMut(&Stored) -> Result<()>) -> Result<()> {
        /// Of the broker, or of `each`.
        struct Why(anyhow::Error);
        impl From<BrokerError> for Why {
            fn from(error: BrokerError) -> Why {
                Why(error.into())
            }
        }
        let read = wait_for(async {
            let broker = Broker::connect(&self.broker).await?;
            broker.read(&self.name, |stored| each(&stored).map_err(Why)).await
        })?;
        read.map_err(|Why(error)| error.context(format!("could not read the topic {}", self.name)))
    }

    /// Deletes it.
    ///
    /// # Errors
    /// The broker is unavailable, or refuses: the topic stays.
    pub fn delete(mut self) -> Result<()> {
        self.is_created = false;
        self.deleted().with_context(|| format!("could not delete topic {}", self.name))
    }

    fn deleted(&self) -> Result<()> {
        Ok(wait_for(async { Broker::connect(&self.broker).await?.delete_topic(&self.name).await })??)
    }
}

impl Drop for RunTopic {
    fn drop(&mut self) {
        if self.is_created {
            // The failure that led here is already reported.
            let _ = self.deleted();
        }
    }
}
