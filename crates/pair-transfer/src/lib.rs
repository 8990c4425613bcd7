//! Transfers over several stores, through any driver: sessions whose transfers cross by two-phase commit, by a saga, perhaps after a
//! record in a log, in attached files, or by two writes that know nothing of each other; the relay of sagas, and the recovery of branches in doubt.

mod background;
mod failpoint;
mod log_first;
mod reach;
mod recovery;
mod relaying;

use adapter_rusqlite::{AttachedOpener, SqliteConn, SqliteOpener};
use anyhow::{Context, Result, bail};
use background::Background;
use log_first::log_first;
use measure::Monotonic;
use model::{AnyTarget, Fault, Home, OpenError, Session, Stack, Target, store_name};
use reach::reach_all;
use sql::{DbUrl, SqlOpener, TwoPhase};
use std::sync::Arc;
use workload_transfer::{
    AttachedSession, Cardinality, Crossing, DualWriteSession, Router, SagaSession, SqlSession, Transfers,
    TwoPhaseSession, catalogue, router_catalogue,
};

pub use failpoint::ENDS_BETWEEN_PHASES;
pub use reach::Reach;
pub use relaying::saga_relay;

/// Sessions over several files, whose transfers between two of them cross in one of the ways that SQLite has. `size` is that of the data
/// over all files, which are in their order.
///
/// # Errors
/// A file cannot be used or does not hold the accounts that it was loaded with, or SQLite does not have this way.
pub async fn over_files(
    crossing: Crossing,
    stores: &[DbUrl],
    size: &Cardinality,
    clock: Monotonic,
) -> Result<AnyTarget<Transfers>> {
    let stores = Stores::<SqliteOpener<Monotonic>>::reach(stores, size, clock).await?;
    match crossing {
        Crossing::Attached => attached(stores),
        _ => unshared(crossing, stores).await,
    }
}

/// The same over databases on servers, which can commit in two phases.
///
/// # Errors
/// A store cannot be reached or does not hold the accounts that it was loaded with, or servers do not have this way.
pub async fn over_servers<O: Reach<Conn: TwoPhase>>(
    crossing: Crossing,
    stores: &[DbUrl],
    size: &Cardinality,
    clock: Monotonic,
) -> Result<AnyTarget<Transfers>> {
    let stores = Stores::<O>::reach(stores, size, clock).await?;
    match crossing {
        Crossing::TwoPhase | Crossing::TwoPhaseLog => two_phase(crossing, stores).await,
        _ => unshared(crossing, stores).await,
    }
}

/// Sessions whose transactions are in one store each, on any engine.
async fn unshared<O: SqlOpener>(crossing: Crossing, stores: Stores<O>) -> Result<AnyTarget<Transfers>> {
    match crossing {
        // A relay settles what these promise.
        Crossing::Saga => Ok(per_store(crossing, stores, SagaSession::new)),
        Crossing::LogFirst => log_first(stores).await,
        // These debit in one store and credit in another, and record neither: a counter-example.
        Crossing::DualWrite => Ok(per_store(crossing, stores, DualWriteSession::new)),
        crossing => bail!("no {} between stores of this engine", crossing.name()),
    }
}

/// The stores of one deployment, in order.
struct Stores<O> {
    openers: Vec<O>,
    router: Router,
    clock: Monotonic,
}

impl<O: Reach> Stores<O> {
    /// Stores in their order; `size` is that of the data over all of them.
    ///
    /// # Errors
    /// A store cannot be reached, or does not hold the accounts that it was loaded with.
    async fn reach(stores: &[DbUrl], size: &Cardinality, clock: Monotonic) -> Result<Stores<O>> {
        let readers = reach_all(stores, router_catalogue, clock).await?;
        let openers = reach_all(stores, catalogue, clock).await?;
        Ok(Stores { router: router::<O>(&readers, size).await?, openers, clock })
    }
}

/// Which accounts each store holds, as they say themselves; they are the parts of what was loaded.
async fn router<O: SqlOpener>(readers: &[O], size: &Cardinality) -> Result<Router> {
    let mut conns = connections(readers).await?;
    let read = Router::read(&mut conns).await;
    let router = read.map_err(|(shard, why)| OpenError::Unusable { what: store_name(shard), why })?;
    let loaded = Router::from(*size);
    // Each begins where the one before has ended, so that the first that differs ends elsewhere.
    let other = (0..readers.len()).find(|shard| router.ids(*shard) != loaded.ids(*shard));
    match other.map(|shard| (shard, router.ids(shard), loaded.ids(shard))) {
        None => Ok(router),
        Some((shard, [first, last], [from, to])) => bail!(
            "{} reports the accounts {first} to {last}, and was loaded with {from} to {to}",
            store_name(shard)
        ),
    }
}

/// A connection to each of several stores, in their order.
async fn connections<O: SqlOpener>(openers: &[O]) -> Result<Vec<O::Conn>, OpenError> {
    let mut conns = Vec::with_capacity(openers.len());
    for (shard, opener) in openers.iter().enumerate() {
        conns.push(opener.open().await.map_err(|error| error.in_store(shard))?);
    }
    Ok(conns)
}

impl<O: SqlOpener> Stores<O> {
    async fn sessions(&self) -> Result<Vec<Single<O>>, OpenError> {
        let conns = connections(&self.openers).await?;
        Ok(conns.into_iter().map(|conn| SqlSession::new(conn, self.clock)).collect())
    }

    fn stack(&self, crossing: Crossing) -> Stack {
        let style = crossing.name();
        let stacks = self.openers.iter().map(|opener| Stack { style: style.into(), ..opener.stack() });
        Stack::joined(&stacks.collect::<Vec<_>>())
    }
}

impl<O: SqlOpener<Conn: TwoPhase>> Stores<O> {
    /// With a log where the style has one. Who recovers needs one too: branches may have been left by either style.
    async fn open(&self, is_logged: bool) -> Result<TwoPhaseSession<O::Conn, Monotonic>, OpenError> {
        let sessions = self.sessions().await?;
        let log = if is_logged { self.sessions().await? } else { Vec::new() };
        let unusable = |(shard, fault): (_, Fault)| OpenError::Unusable {
            what: store_name(shard),
            why: fault.to_string(),
        };
        let session = TwoPhaseSession::new(sessions, log, self.router.clone()).await.map_err(unusable)?;
        Ok(session.watched(failpoint::reached))
    }
}

/// Sessions that commit in two phases. Branches that a process has left undecided are decided first, and others as long as the
/// target is there.
async fn two_phase<O: SqlOpener<Conn: TwoPhase>>(
    crossing: Crossing,
    stores: Stores<O>,
) -> Result<AnyTarget<Transfers>> {
    failpoint::listen().context("could not listen for signals")?;
    let stores = Arc::new(stores);
    let recovery = recovery::start(Arc::clone(&stores)).await?;
    Ok(AnyTarget::new(Across { stores, crossing, _recovery: recovery }))
}

/// Sessions whose transfers between files are one transaction of SQLite's.
///
/// # Errors
/// The files cannot be attached to one connection.
fn attached(stores: Stores<SqliteOpener<Monotonic>>) -> Result<AnyTarget<Transfers>> {
    let over_all = AttachedOpener::over(&stores.openers)?;
    Ok(AnyTarget::new(AttachedFiles { stores, over_all }))
}

/// Sessions over all stores, and a recovery that decides what they leave undecided.
struct Across<O> {
    stores: Arc<Stores<O>>,
    crossing: Crossing,
    _recovery: Background,
}

impl<O: SqlOpener<Conn: TwoPhase>> Target<Transfers> for Across<O> {
    type Session = TwoPhaseSession<O::Conn, Monotonic>;

    fn home(&self) -> Home {
        O::HOME
    }

    async fn open(&self, _worker: u32) -> Result<Self::Session, OpenError> {
        self.stores.open(self.crossing == Crossing::TwoPhaseLog).await
    }

    fn stack(&self) -> Stack {
        self.stores.stack(self.crossing)
    }
}

/// A session in one store.
type Single<O> = SqlSession<<O as SqlOpener>::Conn, Monotonic>;

fn per_store<O: SqlOpener, S: Session<Transfers> + 'static>(
    crossing: Crossing,
    stores: Stores<O>,
    session: fn(Vec<Single<O>>, Router) -> S,
) -> AnyTarget<Transfers> {
    AnyTarget::new(PerStore { stores, crossing, session })
}

/// Sessions over all stores, none of whose transactions is in two of them.
struct PerStore<O: SqlOpener, S> {
    stores: Stores<O>,
    crossing: Crossing,
    session: fn(Vec<Single<O>>, Router) -> S,
}

impl<O: SqlOpener, S: Session<Transfers> + 'static> Target<Transfers> for PerStore<O, S> {
    type Session = S;

    fn home(&self) -> Home {
        O::HOME
    }

    async fn open(&self, _worker: u32) -> Result<S, OpenError> {
        Ok((self.session)(self.stores.sessions().await?, self.stores.router.clone()))
    }

    fn stack(&self) -> Stack {
        self.stores.stack(self.crossing)
    }
}

/// Sessions in each file and over all of them.
struct AttachedFiles {
    stores: Stores<SqliteOpener<Monotonic>>,
    over_all: AttachedOpener<Monotonic>,
}

impl Target<Transfers> for AttachedFiles {
    type Session = AttachedSession<SqliteConn<Monotonic>, Monotonic>;

    fn home(&self) -> Home {
        SqliteOpener::<Monotonic>::HOME
    }

    async fn open(&self, _worker: u32) -> Result<Self::Session, OpenError> {
        let sessions = self.stores.sessions().await?;
        let over_all = SqlSession::new(self.over_all.open().await?, self.stores.clock);
        Ok(AttachedSession::new(sessions, over_all, self.stores.router.clone()))
    }

    fn stack(&self) -> Stack {
        self.stores.stack(Crossing::Attached)
    }
}
