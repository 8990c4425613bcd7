//! The relay of sagas, with its connections.

use crate::{connections, router};
use anyhow::Result;
use measure::{Monotonic, unix_nanoseconds};
use model::random::Random;
use model::{Clock as _, Fault, Nanos, store_name};
use relay::{Batch, BoxFuture, Relay};
use sql::SqlOpener;
use std::time::Duration;
use workload_transfer::{Cardinality, Forgetting, Relayed, Router, SagaRelay};

/// Time between two searches of all keys for expired ones.
const EXPIRE_EVERY: Nanos = Nanos::from_secs(1);

/// A relay, with its connections while all stores are there; it also removes keys that have expired.
pub struct RelayProcess<O: SqlOpener> {
    openers: Vec<O>,
    expirers: Vec<O>,
    router: Router,
    keep_us: i64,
    relay: Option<SagaRelay<O::Conn>>,
    expiry: Option<Forgetting<O::Conn>>,
    clock: Monotonic,
    rests_until: Nanos,
}

impl<O: SqlOpener> RelayProcess<O> {
    /// A relay over stores in their order. `readers` have the statements of [`workload_transfer::router_catalogue`], `openers` those of
    /// [`workload_transfer::relay_catalogue`], and `expirers` those of [`workload_transfer::expiry_catalogue`]; a key is kept for `keep`.
    ///
    /// # Errors
    /// A store cannot be reached, or does not hold the accounts that it was loaded with.
    pub async fn new(
        readers: &[O],
        openers: Vec<O>,
        expirers: Vec<O>,
        size: &Cardinality,
        keep: Duration,
    ) -> Result<RelayProcess<O>> {
        Ok(RelayProcess {
            openers,
            expirers,
            router: router(readers, size).await?,
            keep_us: i64::try_from(keep.as_micros())?,
            relay: None,
            expiry: None,
            clock: Monotonic::start(),
            rests_until: Nanos::ZERO,
        })
    }

    async fn relay(&mut self) -> Batch {
        if self.relay.is_none() {
            // No two relays have these in common.
            let names = Random::stream(unix_nanoseconds(), &[std::process::id().into()]);
            match connections(&self.openers).await {
                Ok(conns) => self.relay = Some(SagaRelay::new(conns, self.router.clone(), names)),
                Err(error) => return Batch { error: Some(error.to_string()), ..Batch::default() },
            }
        }
        let Some(relay) = &mut self.relay else { return Batch::default() };
        let (Relayed { settled, refunded, batches }, ended) = relay.turn().await;
        let error = match ended {
            // Another relay was there at the same moment.
            Ok(()) | Err((_, Fault::Conflict(_))) => None,
            Err((shard, fault)) => {
                // Connections may be gone, and are opened again.
                self.relay = None;
                Some(format!("{}: {fault}", store_name(shard)))
            }
        };
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
