//! The relay of sagas, with its connections.

use crate::reach::{Reach, reach_all};
use crate::{connections, router};
use anyhow::Result;
use futures_util::future::join_all;
use measure::{Monotonic, unix_nanoseconds};
use model::random::Random;
use model::{Clock as _, Fault, Nanos, OpenError, store_name};
use relay::{Batch, BoxFuture, Relay, Settings};
use sql::{DbUrl, SqlOpener};
use workload_transfer::{
    Cardinality, Forgetting, RELAY_BATCH, Relayed, Router, SagaRelay, directions, expiry_catalogue,
    relay_catalogue, router_catalogue,
};

/// Time between two searches of all keys for expired ones.
const EXPIRE_EVERY: Nanos = Nanos::from_secs(1);

/// A relay over stores in their order; `size` is that of the data over all of them. Of `settings` it uses the time for which a key is
/// kept, the batch and the connections to each store, of which no more than there are directions between stores.
///
/// # Errors
/// A store cannot be reached, or does not hold the accounts that it was loaded with.
pub async fn saga_relay<O: Reach>(
    stores: &[DbUrl],
    size: &Cardinality,
    settings: &Settings,
) -> Result<Box<dyn Relay>> {
    let clock = Monotonic::start();
    let readers = reach_all::<O>(stores, router_catalogue, clock).await?;
    let openers = reach_all::<O>(stores, relay_catalogue, clock).await?;
    let expirers = reach_all::<O>(stores, expiry_catalogue, clock).await?;
    Ok(Box::new(RelayProcess {
        openers,
        expirers,
        router: router(&readers, size).await?,
        keep_us: i64::try_from(settings.keep.as_micros())?,
        batch: settings.batch.unwrap_or(RELAY_BATCH),
        connections: settings.connections,
        relays: Vec::new(),
        expiry: None,
        clock,
        rests_until: Nanos::ZERO,
    }))
}

/// A relay, with its connections while all stores can be reached; it also removes keys that have expired.
struct RelayProcess<O: SqlOpener> {
    openers: Vec<O>,
    expirers: Vec<O>,
    router: Router,
    keep_us: i64,
    batch: u32,
    connections: u32,
    /// One for each connection, over directions of its own; none while a store cannot be reached.
    relays: Vec<SagaRelay<O::Conn>>,
    expiry: Option<Forgetting<O::Conn>>,
    clock: Monotonic,
    rests_until: Nanos,
}

impl<O: SqlOpener> RelayProcess<O> {
    /// Opens the connections, each for its share of the directions.
    async fn connect(&mut self) -> Result<(), OpenError> {
        let directions = directions(self.openers.len());
        let count = (self.connections.max(1) as usize).min(directions.len());
        let mut relays = Vec::with_capacity(count);
        for first in 0..count {
            // No two relays have these in common.
            let names = Random::stream(unix_nanoseconds(), &[std::process::id().into(), first as u64]);
            let own = directions.iter().copied().skip(first).step_by(count).collect();
            let conns = connections(&self.openers).await?;
            relays.push(SagaRelay::new(conns, own, self.batch, self.router.clone(), names));
        }
        self.relays = relays;
        Ok(())
    }

    async fn relay(&mut self) -> Batch {
        if self.relays.is_empty()
            && let Err(error) = self.connect().await
        {
            return Batch { error: Some(error.to_string()), ..Batch::default() };
        }
        let mut all = Relayed::default();
        let mut error = None;
        for (Relayed { settled, refunded, batches }, ended) in
            join_all(self.relays.iter_mut().map(SagaRelay::turn)).await
        {
            all.settled += settled;
            all.refunded += refunded;
            all.batches += batches;
            match ended {
                // Another relay, or another direction, was there at the same moment: the next turn takes the batch again.
                Ok(()) | Err((_, Fault::Conflict(_))) => {}
                Err((shard, fault)) => {
                    error.get_or_insert_with(|| format!("{}: {fault}", store_name(shard)));
                }
            }
        }
        if error.is_some() {
            // Connections may be gone, and are opened again.
            self.relays.clear();
        }
        let Relayed { settled, refunded, batches } = all;
        let (expired, not_expired) = match self.expire().await {
            Ok(expired) => (expired, None),
            Err(why) => (0, Some(why)),
        };
        let error = error.or(not_expired);
        Batch { settled, refunded, transactions: batches, expired, error, ..Batch::default() }
    }

    /// Looks at some keys; gives how many had expired and were removed.
    async fn expire(&mut self) -> Result<u64, String> {
        if self.clock.now() < self.rests_until {
            return Ok(0);
        }
        if self.expiry.is_none() {
            let conns = connections(&self.expirers).await.map_err(|error| error.to_string())?;
            self.expiry = Some(Forgetting::new(conns, self.router.clone(), self.keep_us));
        }
        let Some(expiry) = &mut self.expiry else { return Ok(0) };
        match expiry.turn().await {
            Ok((expired, is_over)) => {
                if is_over {
                    self.rests_until = self.clock.now() + EXPIRE_EVERY;
                }
                Ok(expired)
            }
            // Another relay was there at the same moment.
            Err((_, Fault::Conflict(_))) => Ok(0),
            Err((shard, fault)) => {
                self.expiry = None;
                Err(format!("{}: {fault}", store_name(shard)))
            }
        }
    }
}

impl<O: SqlOpener> Relay for RelayProcess<O> {
    fn batch(&mut self) -> BoxFuture<'_> {
        Box::pin(self.relay())
    }
}
