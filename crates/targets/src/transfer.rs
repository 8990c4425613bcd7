//! Transfers: beside those within one store, those between two.

use crate::sharded::{each, in_store, joined, name};
use crate::{Driver, How, Style, generic, server_only, wait_for};
use anyhow::{Result, anyhow, bail};
use measure::Monotonic;
use model::{AnyTarget, Fault, Home, OpenError, Stack, Target};
use sql::{DbUrl, SqlOpener, TwoPhase};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use workload_transfer::{Cardinality, Crossing, SqlSession, Transfers, TwoPhaseSession, catalogue, recover};

pub(crate) fn open(how: How, url: &DbUrl, clock: Monotonic) -> Result<AnyTarget<Transfers>> {
    let (style, crossing) = match how.style {
        // In one store nothing is crossed.
        Style::TwoPhase => (Style::Plain, Crossing::TwoPhase),
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
    let statements = || catalogue(how.dialect);
    match (how.driver, how.style) {
        (Driver::TokioPostgres, Style::TwoPhase) => {
            let reach = |url: &_| {
                Ok(wait_for(adapter_tokio_postgres::PostgresOpener::reach(
                    server_only(url)?,
                    statements()?,
                ))??)
            };
            across(each(stores, reach)?, *size, clock)
        }
        (Driver::MySqlAsync, Style::TwoPhase) => {
            let reach = |url: &_| {
                Ok(wait_for(adapter_mysql_async::MySqlOpener::reach(server_only(url)?, statements()?))??)
            };
            across(each(stores, reach)?, *size, clock)
        }
        (driver, style) => bail!("no {} between stores through {}", style.name(), driver.name()),
    }
}

fn across<O: SqlOpener<Conn: TwoPhase>>(
    openers: Vec<O>,
    size: Cardinality,
    clock: Monotonic,
) -> Result<AnyTarget<Transfers>> {
    let stores = Arc::new(Stores { openers, size, clock });
    let recovery = Recovery::start(Arc::clone(&stores))?;
    Ok(AnyTarget::new(Across { stores, _recovery: recovery }))
}

/// The stores of one deployment, in order.
struct Stores<O> {
    openers: Vec<O>,
    size: Cardinality,
    clock: Monotonic,
}

impl<O: SqlOpener<Conn: TwoPhase>> Stores<O> {
    async fn open(&self) -> Result<TwoPhaseSession<O::Conn, Monotonic>, OpenError> {
        let mut sessions = Vec::with_capacity(self.openers.len());
        for (shard, opener) in self.openers.iter().enumerate() {
            let conn = opener.open().await.map_err(|error| in_store(shard, error))?;
            sessions.push(SqlSession::new(conn, self.clock));
        }
        let unusable =
            |(shard, fault): (_, Fault)| OpenError::Unusable { what: name(shard), why: fault.to_string() };
        TwoPhaseSession::new(sessions, self.size).await.map_err(unusable)
    }
}

/// Sessions over all stores, and somebody who decides what they leave undecided.
struct Across<O> {
    stores: Arc<Stores<O>>,
    _recovery: Recovery,
}

impl<O: SqlOpener<Conn: TwoPhase>> Target<Transfers> for Across<O> {
    type Session = TwoPhaseSession<O::Conn, Monotonic>;

    fn home(&self) -> Home {
        O::HOME
    }

    async fn open(&self, _worker: u32) -> Result<Self::Session, OpenError> {
        self.stores.open().await
    }

    fn stack(&self) -> Stack {
        let style = Crossing::TwoPhase.name();
        let stacks = self.stores.openers.iter().map(|opener| Stack { style: style.into(), ..opener.stack() });
        joined(stacks.collect())
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
            let mut session = stores.open().await?;
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
            None => match stores.open().await {
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
