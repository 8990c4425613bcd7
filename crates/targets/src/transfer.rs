//! Transfers: beside those within one store, those between two.

use crate::sharded::{each, in_store, joined, name};
use crate::{Driver, How, Style, generic, server_only, sqlite_only, wait_for};
use adapter_mysql_async::MySqlOpener;
use adapter_rusqlite::{AttachedOpener, SqliteConn, SqliteOpener};
use adapter_tokio_postgres::PostgresOpener;
use anyhow::{Result, anyhow, bail};
use events::{Taking, Turn};
use measure::{Monotonic, unix_nanoseconds};
use model::random::Random;
use model::{AnyTarget, Clock as _, Fault, Home, Nanos, OpenError, Session, Stack, Target};
use sql::{CatalogueError, DbUrl, Dialect, SqlOpener, TwoPhase};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use workload_transfer::{
    AttachedSession, Cardinality, Crossing, Forgetting, Relay, Relayed, Router, SagaSession, SqlSession,
    Transfers, TwoPhaseSession, UnrecordedSession, catalogue, expiry_catalogue, recover, relay_catalogue,
    router_catalogue,
};

pub(crate) fn open(how: How, url: &DbUrl, clock: Monotonic) -> Result<AnyTarget<Transfers>> {
    let (style, crossing) = match how.style {
        // In one store nothing is crossed.
        Style::TwoPhase => (Style::Plain, Crossing::TwoPhase),
        Style::TwoPhaseLog => (Style::Plain, Crossing::TwoPhaseLog),
        Style::Saga => (Style::Plain, Crossing::Saga),
        Style::Unrecorded => (Style::Plain, Crossing::Unrecorded),
        Style::Attached => (Style::Plain, Crossing::Attached),
        style => (style, Crossing::None),
    };
    generic::target_in_form(How { style, ..how }, url, catalogue(how.dialect)?, clock, crossing)
}

pub(crate) fn open_over(
    how: How,
    stores: &[DbUrl],
    size: &Cardinality,
    clock: Monotonic,
) -> Result<AnyTarget<Transfers>> {
    match (how.driver, how.style) {
        (Driver::TokioPostgres, Style::TwoPhase | Style::TwoPhaseLog) => {
            across(how.style, Stores::of(&|statements| postgres(how, stores, statements), size, clock)?)
        }
        (Driver::MySqlAsync, Style::TwoPhase | Style::TwoPhaseLog) => {
            across(how.style, Stores::of(&|statements| mysql(how, stores, statements), size, clock)?)
        }
        (Driver::Rusqlite, Style::Attached) => {
            attached(Stores::of(&|statements| sqlite(how, stores, statements, clock), size, clock)?)
        }
        (Driver::Rusqlite, style) => {
            alone(style, Stores::of(&|statements| sqlite(how, stores, statements, clock), size, clock)?)
        }
        (Driver::TokioPostgres, style) => {
            alone(style, Stores::of(&|statements| postgres(how, stores, statements), size, clock)?)
        }
        (Driver::MySqlAsync, style) => {
            alone(style, Stores::of(&|statements| mysql(how, stores, statements), size, clock)?)
        }
        (driver, style) => bail!("no {} between stores through {}", style.name(), driver.name()),
    }
}

/// The relay between the stores of a saga.
pub(crate) fn relay(
    how: How,
    stores: &[DbUrl],
    size: &Cardinality,
    keep: Duration,
) -> Result<Box<dyn events::Relay>> {
    match (how.driver, how.style) {
        (Driver::Rusqlite, Style::Saga) => {
            relaying(&|statements| sqlite(how, stores, statements, Monotonic::start()), size, keep)
        }
        (Driver::TokioPostgres, Style::Saga) => {
            relaying(&|statements| postgres(how, stores, statements), size, keep)
        }
        (Driver::MySqlAsync, Style::Saga) => {
            relaying(&|statements| mysql(how, stores, statements), size, keep)
        }
        (driver, style) => bail!("{} through {} leaves nothing to a relay", style.name(), driver.name()),
    }
}

/// Which statements are prepared.
type Statements = fn(Dialect) -> Result<Vec<String>, CatalogueError>;

fn sqlite(
    how: How,
    stores: &[DbUrl],
    statements: Statements,
    clock: Monotonic,
) -> Result<Vec<SqliteOpener<Monotonic>>> {
    each(stores, |url| Ok(SqliteOpener::new(sqlite_only(url)?, statements(how.dialect)?, clock)?))
}

fn postgres(how: How, stores: &[DbUrl], statements: Statements) -> Result<Vec<PostgresOpener>> {
    each(stores, |url| Ok(wait_for(PostgresOpener::reach(server_only(url)?, statements(how.dialect)?))??))
}

fn mysql(how: How, stores: &[DbUrl], statements: Statements) -> Result<Vec<MySqlOpener>> {
    each(stores, |url| Ok(wait_for(MySqlOpener::reach(server_only(url)?, statements(how.dialect)?))??))
}

/// Openers of all stores, in order, for some statements.
type Openers<'a, O> = &'a dyn Fn(Statements) -> Result<Vec<O>>;

/// Which accounts each store holds, as they say themselves; they are the parts of what was loaded.
fn router<O: SqlOpener>(openers: Openers<'_, O>, size: &Cardinality) -> Result<Router> {
    let openers = openers(router_catalogue)?;
    let read = async {
        let mut conns = connections(&openers).await?;
        let read = Router::read(&mut conns).await;
        read.map_err(|(shard, why)| OpenError::Unusable { what: name(shard), why })
    };
    let (router, loaded) = (wait_for(read)??, Router::from(*size));
    // Each begins where the one before has ended, so that the first that differs ends elsewhere.
    let other = (0..openers.len()).find(|shard| router.ids(*shard) != loaded.ids(*shard));
    match other.map(|shard| (shard, router.ids(shard), loaded.ids(shard))) {
        None => Ok(router),
        Some((shard, [first, last], [from, to])) => bail!(
            "{} says that it holds the accounts {first} to {last}, and was loaded with {from} to {to}",
            name(shard)
        ),
    }
}

fn across<O: SqlOpener<Conn: TwoPhase>>(style: Style, stores: Stores<O>) -> Result<AnyTarget<Transfers>> {
    let stores = Arc::new(stores);
    let recovery = Recovery::start(Arc::clone(&stores))?;
    let crossing = match style {
        Style::TwoPhaseLog => Crossing::TwoPhaseLog,
        _ => Crossing::TwoPhase,
    };
    Ok(AnyTarget::new(Across { stores, crossing, _recovery: recovery }))
}

/// Sessions whose transactions lie in one store each.
fn alone<O: SqlOpener>(style: Style, stores: Stores<O>) -> Result<AnyTarget<Transfers>> {
    match style {
        Style::Saga => {
            Ok(AnyTarget::new(Alone { stores, crossing: Crossing::Saga, session: SagaSession::new }))
        }
        Style::Unrecorded => {
            let crossing = Crossing::Unrecorded;
            Ok(AnyTarget::new(Alone { stores, crossing, session: UnrecordedSession::new }))
        }
        style => bail!("no {} between stores", style.name()),
    }
}

fn relaying<O: SqlOpener>(
    openers: Openers<'_, O>,
    size: &Cardinality,
    keep: Duration,
) -> Result<Box<dyn events::Relay>> {
    Ok(Box::new(Relaying {
        openers: openers(relay_catalogue)?,
        forgetters: openers(expiry_catalogue)?,
        router: router(openers, size)?,
        keep_us: i64::try_from(keep.as_micros())?,
        relay: None,
        forgetting: None,
        clock: Monotonic::start(),
        rests_until: Nanos::ZERO,
    }))
}

/// The stores of one deployment, in order.
struct Stores<O> {
    openers: Vec<O>,
    router: Router,
    clock: Monotonic,
}

impl<O: SqlOpener> Stores<O> {
    fn of(openers: Openers<'_, O>, size: &Cardinality, clock: Monotonic) -> Result<Stores<O>> {
        let router = router(openers, size)?;
        Ok(Stores { openers: openers(catalogue)?, router, clock })
    }
}

/// A connection to each of several stores, in their order.
async fn connections<O: SqlOpener>(openers: &[O]) -> Result<Vec<O::Conn>, OpenError> {
    let mut conns = Vec::with_capacity(openers.len());
    for (shard, opener) in openers.iter().enumerate() {
        conns.push(opener.open().await.map_err(|error| in_store(shard, error))?);
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
        joined(stacks.collect())
    }
}

impl<O: SqlOpener<Conn: TwoPhase>> Stores<O> {
    /// With a log where the style has one. Who recovers needs one too: branches may have been left by either style.
    async fn open(&self, is_logged: bool) -> Result<TwoPhaseSession<O::Conn, Monotonic>, OpenError> {
        let sessions = self.sessions().await?;
        let log = if is_logged { self.sessions().await? } else { Vec::new() };
        let unusable =
            |(shard, fault): (_, Fault)| OpenError::Unusable { what: name(shard), why: fault.to_string() };
        TwoPhaseSession::new(sessions, log, self.router.clone()).await.map_err(unusable)
    }
}

/// Sessions over all stores, and somebody who decides what they leave undecided.
struct Across<O> {
    stores: Arc<Stores<O>>,
    crossing: Crossing,
    _recovery: Recovery,
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

/// Sessions over all stores, none of whose transactions lies in two of them.
struct Alone<O: SqlOpener, S> {
    stores: Stores<O>,
    crossing: Crossing,
    session: fn(Vec<Single<O>>, Router) -> S,
}

impl<O: SqlOpener, S: Session<Transfers> + 'static> Target<Transfers> for Alone<O, S> {
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

fn attached(stores: Stores<SqliteOpener<Monotonic>>) -> Result<AnyTarget<Transfers>> {
    let over_all = AttachedOpener::over(&stores.openers)?;
    Ok(AnyTarget::new(AttachedFiles { stores, over_all }))
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

/// Who has looked at all keys for such that have expired rests for so long.
const FORGET_EVERY: Nanos = Nanos::from_secs(1);

/// A relay, with its connections while all stores are there; it also forgets keys that have expired.
struct Relaying<O: SqlOpener> {
    openers: Vec<O>,
    forgetters: Vec<O>,
    router: Router,
    keep_us: i64,
    relay: Option<Relay<O::Conn>>,
    forgetting: Option<Forgetting<O::Conn>>,
    clock: Monotonic,
    rests_until: Nanos,
}

impl<O: SqlOpener> Relaying<O> {
    async fn relay(&mut self) -> Turn {
        if self.relay.is_none() {
            // No two relays have these in common.
            let names = Random::stream(unix_nanoseconds(), &[std::process::id().into()]);
            match connections(&self.openers).await {
                Ok(conns) => self.relay = Some(Relay::new(conns, self.router.clone(), names)),
                Err(error) => return Turn { wrong: Some(error.to_string()), ..Turn::default() },
            }
        }
        let Some(relay) = &mut self.relay else { return Turn::default() };
        let (Relayed { settled, refunded, batches }, ended) = relay.turn().await;
        let wrong = match ended {
            // Somebody else was there at the same moment.
            Ok(()) | Err((_, Fault::Conflict(_))) => None,
            Err((shard, fault)) => {
                // Connections may be gone, and are opened again.
                self.relay = None;
                Some(format!("{}: {fault}", name(shard)))
            }
        };
        let (forgotten, unforgotten) = match self.forget().await {
            Ok(forgotten) => (forgotten, None),
            Err(why) => (0, Some(why)),
        };
        Turn { done: settled, undone: refunded, batches, forgotten, wrong: wrong.or(unforgotten) }
    }

    /// Looks at some keys; gives how many it has forgotten.
    async fn forget(&mut self) -> Result<u64, String> {
        if self.clock.now() < self.rests_until {
            return Ok(0);
        }
        if self.forgetting.is_none() {
            let conns = connections(&self.forgetters).await.map_err(|error| error.to_string())?;
            self.forgetting = Some(Forgetting::new(conns, self.router.clone(), self.keep_us));
        }
        let Some(forgetting) = &mut self.forgetting else { return Ok(0) };
        match forgetting.turn().await {
            Ok((forgotten, is_over)) => {
                if is_over {
                    self.rests_until = self.clock.now() + FORGET_EVERY;
                }
                Ok(forgotten)
            }
            // Somebody else was there at the same moment.
            Err((_, Fault::Conflict(_))) => Ok(0),
            Err((shard, fault)) => {
                self.forgetting = None;
                Err(format!("{}: {fault}", name(shard)))
            }
        }
    }
}

impl<O: SqlOpener> events::Relay for Relaying<O> {
    fn turn(&mut self) -> Taking<'_> {
        Box::pin(self.relay())
    }
}

/// How often somebody looks for branches in doubt. One that is found twice has been left by whoever prepared it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A thread that decides branches whose owner has gone, until this value goes.
struct Recovery {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Recovery {
    /// Decides what is in doubt now, as it was left by a process that died, and goes on.
    fn start<O: SqlOpener<Conn: TwoPhase>>(stores: Arc<Stores<O>>) -> Result<Recovery> {
        wait_for(async {
            let mut session = stores.open(true).await?;
            let left = match session.in_doubt().await {
                Ok(found) => recover(&mut session, &found).await.map(drop),
                Err(fault) => Err(fault),
            };
            left.map_err(|fault| {
                anyhow!("branches of transfers that are in doubt cannot be decided: {fault}")
            })
        })??;
        let (stop, stopped) = oneshot::channel();
        // Where the system gives no runtime there are no sessions either.
        let look = move || drop(wait_for(look(&stores, stopped)));
        let thread = std::thread::Builder::new().name("recovery".into()).spawn(look)?;
        Ok(Recovery { stop: Some(stop), thread: Some(thread) })
    }
}

/// Decides what it finds twice, until it is told to stop.
async fn look<O: SqlOpener<Conn: TwoPhase>>(stores: &Stores<O>, mut stopped: oneshot::Receiver<()>) {
    let (mut session, mut before) = (None, BTreeSet::new());
    while timeout(LOOK_EVERY, &mut stopped).await.is_err() {
        let mut open = match session.take() {
            Some(open) => open,
            None => match stores.open(true).await {
                Ok(open) => open,
                // A store that is away is tried again.
                Err(_) => continue,
            },
        };
        let Ok(found) = open.in_doubt().await else { continue };
        let left: Vec<_> = found.iter().filter(|branch| before.contains(*branch)).copied().collect();
        if recover(&mut open, &left).await.is_ok() {
            before = found.into_iter().collect();
            session = Some(open);
        }
    }
}

impl Drop for Recovery {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
