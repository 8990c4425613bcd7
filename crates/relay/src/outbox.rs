//! The relay of an outbox: rows that transactions have left in a table are published in the order of their numbers and removed.
//!
//! One relay at a time works on an outbox, the one that has its lease; others wait until the lease has run out. What is read is
//! always the beginning of what is there, so that a row whose transaction commits late is found by the next look: no place is
//! remembered. A row is removed after its message has been acknowledged; a relay that ends in between leaves it to be
//! published again. So messages come at least once, and the first ones of a key in its order.

use crate::{Batch, BoxFuture, Ending, Message, Relay, SharedDeliveries, Sink, Wake};
use measure::{Monotonic, unix_nanoseconds};
use model::random::Random;
use model::{Clock as _, Fault, Nanos};
use sql::{Param, Read, SqlConn, SqlOpener, StmtId, TxKind};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Names of the statements of an outbox, in their order:
///
/// 1. takes or prolongs the lease for the relay ?1 by ?2 microseconds, and changes one row if that can be;
/// 2. the time by the clock of the store, in microseconds since 1970;
/// 3. the first ?1 rows by their numbers, as [`OutboxRow`]s are read from them;
/// 4. removes the rows with the numbers in ?1, a list in JSON.
pub const STATEMENTS: &[&str] = &["take_lease", "read_clock", "read_outbox", "remove_rows"];

const TAKE_LEASE: StmtId = StmtId(0);
const READ_CLOCK: StmtId = StmtId(1);
const READ_OUTBOX: StmtId = StmtId(2);
const REMOVE_ROWS: StmtId = StmtId(3);

/// How long a relay has an outbox to itself that does not prolong it.
const LEASE: Nanos = Nanos::from_secs(3);
/// The lease is prolonged when so much of it has passed.
const PROLONG_AFTER: Nanos = Nanos::from_secs(1);

/// A row of an outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    pub id: i64,
    /// When it was written, by the clock of its store, in microseconds since 1970.
    pub created_us: i64,
    /// What keeps its order, see [`Message::key`].
    pub key: u64,
    /// What is published of it, see [`Message::payload`].
    pub payload: Vec<u8>,
}

/// The relay of an outbox, with its connection while the store is there.
pub struct OutboxRelay<O: SqlOpener> {
    opener: O,
    read: Read<OutboxRow>,
    sink: Box<dyn Sink>,
    /// Rows that are published together.
    batch: u32,
    /// No other relay has it.
    holder: i64,
    clock: Monotonic,
    open: Option<Open<O::Conn>>,
    deliveries: SharedDeliveries,
    wake: Option<Box<dyn Wake>>,
}

struct Open<C> {
    conn: C,
    /// The clock of the store less ours, in microseconds.
    ahead_us: i64,
    /// When the lease was last taken, by our clock.
    leased: Option<Nanos>,
}

impl<O: SqlOpener> OutboxRelay<O> {
    /// A relay of an outbox whose opener prepares [`STATEMENTS`].
    pub fn new(opener: O, read: Read<OutboxRow>, sink: Box<dyn Sink>, batch: u32) -> OutboxRelay<O> {
        let holder = Random::stream(unix_nanoseconds(), &[std::process::id().into()]).range(1, i64::MAX);
        let clock = Monotonic::start();
        OutboxRelay {
            opener,
            read,
            sink,
            batch,
            holder,
            clock,
            open: None,
            deliveries: SharedDeliveries::default(),
            wake: None,
        }
    }

    /// The same relay, which also polls when it is notified while it has the lease.
    #[must_use]
    pub fn woken_by(self, wake: Box<dyn Wake>) -> OutboxRelay<O> {
        OutboxRelay { wake: Some(wake), ..self }
    }

    async fn turn(&mut self) -> Batch {
        match self.relay().await {
            Ok(batch) => Batch { error: self.wake.as_mut().and_then(|wake| wake.failure()), ..batch },
            Err(error) => Batch { error: Some(error), ..Batch::default() },
        }
    }

    async fn relay(&mut self) -> Result<Batch, String> {
        let now = self.clock.now();
        if self.open.is_none() {
            self.open = Some(open(&self.opener).await?);
        }
        let Some(open) = &mut self.open else { return Ok(Batch::default()) };
        let batch = async {
            if open.leased.is_none_or(|leased| now >= leased + PROLONG_AFTER) {
                let is_ours = take_lease(&mut open.conn, self.holder, LEASE).await?;
                open.leased = is_ours.then_some(now);
            }
            match open.leased {
                Some(_) => read(&mut open.conn, self.read, self.batch).await,
                None => Ok(Vec::new()),
            }
        };
        let rows = match batch.await {
            Ok(rows) => rows,
            Err(fault) => return self.lost(&fault),
        };
        if rows.is_empty() {
            return Ok(Batch::default());
        }
        let ahead_us = self.open.as_ref().map_or(0, |open| open.ahead_us);
        let split = |OutboxRow { id, created_us, key, payload }| {
            let created_us = created_us - ahead_us;
            ((id, created_us), Message { key, payload, created_us: Some(created_us) })
        };
        let (rows, messages): (Vec<(i64, i64)>, Vec<Message>) = rows.into_iter().map(split).unzip();
        self.sink.publish(&messages).await?;
        let acknowledged_us = (unix_nanoseconds() / 1_000) as i64;
        let Some(open) = &mut self.open else { return Ok(Batch::default()) };
        let written_us = rows.iter().map(|(_, created_us)| *created_us);
        self.deliveries.lock().unwrap_or_else(PoisonError::into_inner).note(acknowledged_us, written_us);
        if let Err(fault) = remove(&mut open.conn, &rows).await {
            return self.lost(&fault);
        }
        let is_partial = rows.len() < self.batch as usize;
        Ok(Batch { settled: rows.len() as u64, transactions: 1, is_partial, ..Batch::default() })
    }

    /// What to say of a fault. The connection may be gone, and is opened again.
    fn lost(&mut self, fault: &Fault) -> Result<Batch, String> {
        if let Fault::Conflict(_) = fault {
            // Someone was there at the same moment: it is tried again.
            return Ok(Batch::default());
        }
        self.open = None;
        Err(fault.to_string())
    }
}

impl<O: SqlOpener> Relay for OutboxRelay<O> {
    fn batch(&mut self) -> BoxFuture<'_> {
        Box::pin(self.turn())
    }

    fn rest(&mut self, most: Duration) -> Ending<'_> {
        Box::pin(async move {
            let rested = tokio::time::sleep(most);
            let has_lease = self.open.as_ref().is_some_and(|open| open.leased.is_some());
            match &mut self.wake {
                // Another relay is notified of the same rows, and publishes them.
                Some(wake) if has_lease => tokio::select! { () = rested => {}, () = wake.wait() => {} },
                _ => rested.await,
            }
        })
    }

    /// Gives its lease back, so that the next relay need not wait until it has run out. Over a connection of its own: the other one may
    /// have been left within a transaction.
    fn end(&mut self) -> Ending<'_> {
        Box::pin(async {
            let Some(Open { leased: Some(_), .. }) = self.open.take() else { return };
            if let Ok(mut conn) = self.opener.open().await {
                // If it does not go, the lease runs out by itself.
                let _ = take_lease(&mut conn, self.holder, Nanos::ZERO).await;
            }
        })
    }

    fn deliveries(&self) -> Option<SharedDeliveries> {
        Some(Arc::clone(&self.deliveries))
    }
}

async fn open<O: SqlOpener>(opener: &O) -> Result<Open<O::Conn>, String> {
    let mut conn = opener.open().await.map_err(|error| error.to_string())?;
    let before = unix_nanoseconds();
    let theirs = read_clock(&mut conn).await.map_err(|fault| fault.to_string())?;
    // Half of the way there and back.
    let ours = (before + unix_nanoseconds()) / 2_000;
    Ok(Open { conn, ahead_us: theirs - ours as i64, leased: None })
}

async fn read_clock<C: SqlConn>(conn: &mut C) -> Result<i64, Fault> {
    conn.begin(TxKind::OneRead).await?;
    let found = conn.row(READ_CLOCK, &[], |row| row.int(0)).await;
    ended(conn, found).await.map(|found| found.unwrap_or(0))
}

async fn take_lease<C: SqlConn>(conn: &mut C, holder: i64, length: Nanos) -> Result<bool, Fault> {
    conn.begin(TxKind::OneWrite).await?;
    let micros = (length.0 / 1_000).cast_signed();
    let changed = conn.exec(TAKE_LEASE, &[Param::Int(holder), Param::Int(micros)]).await;
    ended(conn, changed).await.map(|changed| changed == 1)
}

async fn read<C: SqlConn>(conn: &mut C, read: Read<OutboxRow>, most: u32) -> Result<Vec<OutboxRow>, Fault> {
    let mut rows = Vec::new();
    conn.begin(TxKind::OneRead).await?;
    let found = conn.rows(READ_OUTBOX, &[most.into()], read, &mut rows).await;
    ended(conn, found).await.map(|()| rows)
}

async fn remove<C: SqlConn>(conn: &mut C, rows: &[(i64, i64)]) -> Result<(), Fault> {
    let ids: Vec<String> = rows.iter().map(|(id, _)| id.to_string()).collect();
    let list = format!("[{}]", ids.join(","));
    conn.begin(TxKind::OneWrite).await?;
    let removed = conn.exec(REMOVE_ROWS, &[Param::Text(&list)]).await;
    ended(conn, removed).await.map(drop)
}

/// Ends a transaction as its statements have.
async fn ended<C: SqlConn, T>(conn: &mut C, done: Result<T, Fault>) -> Result<T, Fault> {
    match done {
        Ok(done) => conn.commit().await.map(|()| done),
        Err(fault) => {
            let _ = conn.rollback().await;
            Err(fault)
        }
    }
}
