//! The broker that a relay publishes to, a private one or the user's, and the topic of a trial on it.

use crate::secrets::with_brokers_password;
use crate::viewer::{Viewer, tell};
use anyhow::{Context, Result};
use broker::{Address, Broker, BrokerError, Stored};
use observe::{Listening, is_here, listener};
use serde::{Deserialize, Serialize};
use targets::wait_for;

/// A broker that is asked for, as plain data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokerSpec {
    /// The address of the user's own, without its password; none of a private one.
    pub named: Option<String>,
    /// What a private one may use: `cpu=0.5,mem=1GiB`.
    pub limits: Option<String>,
}

/// Reads the address of a broker, and gives it back without its password.
///
/// # Errors
/// It is none.
pub fn broker_address(text: &str) -> Result<String> {
    Ok(text.parse::<Address>()?.to_string())
}

impl BrokerSpec {
    /// Looks whether it can be used: the user's is connected to, and of a private one the programs are looked for.
    ///
    /// # Errors
    /// It cannot, and why.
    pub fn can_be_used(&self) -> Result<()> {
        match &self.named {
            Some(named) => {
                let address = with_brokers_password(named.parse()?);
                wait_for(Broker::connect(&address))?.context("the broker of --db cannot be used").map(drop)
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
    pub(crate) fn lay(spec: &BrokerSpec, viewer: &dyn Viewer) -> Result<BrokerHost> {
        let Some(named) = &spec.named else {
            let limits = spec.limits.as_deref().map(str::parse).transpose()?;
            tell(viewer, &format!("starting a private {}", rig::Engine::Kafka.title()));
            let options = rig::Options { limits, ..rig::Options::default() };
            let engine = Box::new(rig::start(rig::Engine::Kafka, &options)?);
            return Ok(BrokerHost::Private { engine, limits });
        };
        Ok(BrokerHost::Named(with_brokers_password(named.parse()?)))
    }

    pub(crate) fn rest(&mut self) -> Result<()> {
        match self {
            BrokerHost::Private { engine, .. } => Ok(engine.halt()?),
            BrokerHost::Named(_) => Ok(()),
        }
    }

    /// Starts a private broker after a rest, or anew.
    pub(crate) fn wake(&mut self, anew: bool) -> Result<()> {
        let BrokerHost::Private { engine, .. } = self else { return Ok(()) };
        if anew {
            engine.halt()?;
        }
        if !engine.is_alive() {
            engine.restart()?;
        }
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
            BrokerHost::Private { engine, .. } => crate::host::notes_on(engine),
            BrokerHost::Named(_) => Vec::new(),
        }
    }
}

/// A topic that is made for one trial and removed with this value, with everything in it.
#[derive(Debug)]
pub struct RunTopic {
    broker: Address,
    name: String,
    is_there: bool,
}

impl RunTopic {
    /// Makes one with a name of its own.
    ///
    /// # Errors
    /// The broker is unavailable, or refuses.
    pub fn make(broker: Address, partitions: u32) -> Result<RunTopic> {
        let name = format!("stackmark-{}-{:x}", std::process::id(), measure::unix_nanoseconds());
        wait_for(async { Broker::connect(&broker).await?.make_topic(&name, partitions).await })??;
        Ok(RunTopic { broker, name, is_there: true })
    }

    /// The broker that it is on.
    #[must_use]
    pub fn broker(&self) -> &Address {
        &self.broker
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads all its records, one partition after the other and each in its order: partition, offset and value.
    ///
    /// # Errors
    /// The broker is unavailable, or `each` fails.
    pub fn read(&self, mut each: impl FnMut(u32, i64, &[u8]) -> Result<()>) -> Result<()> {
        /// Of the broker, or of `each`.
        struct Why(anyhow::Error);
        impl From<BrokerError> for Why {
            fn from(error: BrokerError) -> Why {
                Why(error.into())
            }
        }
        let read = wait_for(async {
            let broker = Broker::connect(&self.broker).await?;
            let take = |Stored { partition, offset, record, .. }| {
                each(partition, offset, &record.value).map_err(Why)
            };
            broker.read(&self.name, take).await
        })?;
        read.map_err(|Why(error)| error.context(format!("could not read the topic {}", self.name)))
    }

    /// Removes it.
    ///
    /// # Errors
    /// The broker is unavailable, or refuses: the topic stays.
    pub fn remove(mut self) -> Result<()> {
        self.is_there = false;
        self.removed().with_context(|| format!("the topic {} could not be removed", self.name))
    }

    fn removed(&self) -> Result<()> {
        Ok(wait_for(async { Broker::connect(&self.broker).await?.remove_topic(&self.name).await })??)
    }
}

impl Drop for RunTopic {
    fn drop(&mut self) {
        if self.is_there {
            // Whoever ends here has said already that something failed.
            let _ = self.removed();
        }
    }
}
