//! Transfers between stores that are written to a log first: a saga behind a log that is never ahead of what will be done.
//!
//! A session publishes a record of a transfer, and waits until that was acknowledged, before the transaction in the store of the source.
//! Whatever the log holds is executed, exactly once, since a transfer is identified by its key:
//!
//! - What a session could not execute is left to all sessions of its process. None of them publishes another record before it was
//!   executed, and the call is in doubt, never refused.
//! - What a process could not execute is found by the next one in the log ([`execute_log`]). A session continues with a new stream after
//!   it has left something, so only the last record of each stream may still have to be executed.

use crate::{Single, Stores};
use anyhow::{Result, anyhow, bail};
use measure::{Monotonic, unix_nanoseconds};
use model::random::Random;
use model::{
    AnyTarget, Doubt, Effort, Fault, Home, OpenError, Refusal, RetryPolicy, Retrying, Said, Session, Stack,
    StatementTimes, Target,
};
use sql::{SqlConn, SqlOpener};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use workload_transfer::{
    Call, Crossing, LogRecord, Outcome, Purpose, Router, SagaSession, SqlSession, Transfer, Transfers,
};

/// Sessions that write transfers between stores to the sink of this process ([`relay::produce_to`]) first. What earlier processes have
/// left in it is executed before.
///
/// # Errors
/// The log cannot be read, is not that of these stores, or cannot be executed.
pub async fn log_first<O: SqlOpener>(stores: Stores<O>) -> Result<AnyTarget<Transfers>> {
    execute_log(&stores).await?;
    Ok(AnyTarget::new(LogFirst { stores, log: Arc::new(Log::new()) }))
}

/// Executes the last record of each stream; for most it finds that this was done.
///
/// It reads the whole log: a few hundred thousand records a second.
async fn execute_log<O: SqlOpener>(stores: &Stores<O>) -> Result<()> {
    let last: Arc<Mutex<BTreeMap<u64, Transfer>>> = Arc::default();
    let (router, shared) = (stores.router.clone(), Arc::clone(&last));
    let each = move |payload: &[u8]| {
        let record = LogRecord::parse(payload)?;
        if router.crossing(&call_of(record.transfer)).is_none() {
            let Transfer { source, target, .. } = record.transfer;
            return Err(format!("accounts {source} and {target} are not accounts of two stores"));
        }
        shared.lock().unwrap_or_else(PoisonError::into_inner).insert(record.stream, record.transfer);
        Ok(())
    };
    let read = relay::read_published(each).await;
    read.map_err(|why| {
        anyhow!("the log of transfers cannot be used: {why}\nhint: data has a log of its own; give new data a new file or topic with --sink")
    })?;
    let last = std::mem::take(&mut *last.lock().unwrap_or_else(PoisonError::into_inner));
    if last.is_empty() {
        return Ok(());
    }
    let mut session = session(stores.sessions().await?, stores.router.clone());
    for transfer in last.into_values() {
        match session.run(&call_of(transfer), &mut Effort::default()).await {
            // A defect is final too: such as a key that has expired.
            Ok(_) | Err(Fault::Defect(_)) => {}
            Err(fault) => bail!("transfer {} is in the log and could not be executed: {fault}", transfer.key),
        }
    }
    Ok(())
}

fn call_of(transfer: Transfer) -> Call {
    Call::Transfer { purpose: Purpose::Across, transfer }
}

/// What is in the log is executed whatever it takes, so that a conflict is repeated here.
type Executor<C, K> = Retrying<SagaSession<C, K>>;

fn session<C: SqlConn, K: model::Clock>(stores: Vec<SqlSession<C, K>>, router: Router) -> Executor<C, K> {
    Retrying::new(SagaSession::new(stores, router), RetryPolicy::default())
}

/// A record that was published, or perhaps was, and is still to be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    record: LogRecord,
    /// Whether that was acknowledged.
    is_published: bool,
}

impl Entry {
    async fn publish(&mut self) -> Result<(), String> {
        // Records of a stream stay in their order.
        let (key, payload) = (self.record.stream, self.record.to_json());
        relay::publish(relay::Message { key, payload, created_us: None }).await?;
        self.is_published = true;
        Ok(())
    }
}

/// What the sessions of a process share.
#[derive(Debug)]
struct Log {
    /// Names streams, which no other process names alike.
    names: Mutex<Random>,
    /// What sessions could not execute.
    left: Mutex<Vec<Entry>>,
}

impl Log {
    fn new() -> Log {
        let names = Random::stream(unix_nanoseconds(), &[std::process::id().into()]);
        Log { names: Mutex::new(names), left: Mutex::default() }
    }

    fn new_stream(&self) -> u64 {
        const STREAM_MAX: i64 = (1 << 53) - 1;
        self.names.lock().unwrap_or_else(PoisonError::into_inner).range(1, STREAM_MAX).unsigned_abs()
    }

    fn leave(&self, entry: Entry) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    fn first_left(&self) -> Option<Entry> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).first().copied()
    }

    fn executed(&self, record: &LogRecord) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).retain(|entry| entry.record != *record);
    }
}

/// A saga whose transfers between stores are logged first.
struct LogFirstSession<C: SqlConn> {
    session: Executor<C, Monotonic>,
    router: Router,
    log: Arc<Log>,
    stream: u64,
    /// Of the call that is being made; that of a call which was cancelled is still there at the next one.
    entry: Option<Entry>,
}

impl<C: SqlConn> LogFirstSession<C> {
    /// Leaves the current record to all sessions, this one included.
    fn leave(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.log.leave(entry);
            self.stream = self.log.new_stream();
        }
    }

    /// Executes what sessions have left. It is removed only when that has ended: if this call is cancelled, others try.
    async fn execute_left(&mut self) -> Result<(), Fault> {
        while let Some(mut entry) = self.log.first_left() {
            if !entry.is_published {
                entry.publish().await.map_err(|why| refused(&why))?;
            }
            match self.session.run(&call_of(entry.record.transfer), &mut Effort::default()).await {
                Ok(_) | Err(Fault::Defect(_)) => self.log.executed(&entry.record),
                Err(fault) => return Err(refused(&fault.to_string())),
            }
        }
        Ok(())
    }

    async fn log_and_run(
        &mut self,
        call: &Call,
        transfer: Transfer,
        effort: &mut Effort,
    ) -> Result<Outcome, Fault> {
        let record = LogRecord { stream: self.stream, transfer };
        let entry = self.entry.insert(Entry { record, is_published: false });
        if entry.publish().await.is_err() {
            return Err(Fault::InDoubt(Doubt::ServerError));
        }
        let outcome = self.session.run(call, effort).await;
        match outcome {
            Ok(_) => self.entry = None,
            // It is executed later.
            Err(Fault::Conflict(_) | Fault::Refused(_)) => return Err(Fault::InDoubt(Doubt::ServerError)),
            Err(_) => {}
        }
        outcome
    }
}

/// Nothing was done, since something else is to be done first.
fn refused(why: &str) -> Fault {
    Fault::Refused(Refusal::Unwritable(Said::of(&format!(
        "a logged transfer is still to be executed: {why}"
    ))))
}

impl<C: SqlConn> Session<Transfers> for LogFirstSession<C> {
    async fn run(&mut self, call: &Call, effort: &mut Effort) -> Result<Outcome, Fault> {
        self.leave();
        let Some(transfer) = self.router.crossing(call) else { return self.session.run(call, effort).await };
        self.execute_left().await?;
        let outcome = self.log_and_run(call, transfer, effort).await;
        self.leave();
        outcome
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.session.statement_times()
    }
}

impl<C: SqlConn> Drop for LogFirstSession<C> {
    fn drop(&mut self) {
        self.leave();
    }
}

struct LogFirst<O> {
    stores: Stores<O>,
    log: Arc<Log>,
}

impl<O: SqlOpener> Target<Transfers> for LogFirst<O> {
    type Session = LogFirstSession<O::Conn>;

    fn home(&self) -> Home {
        O::HOME
    }

    async fn open(&self, _worker: u32) -> Result<Self::Session, OpenError> {
        let stores: Vec<Single<O>> = self.stores.sessions().await?;
        let (router, log) = (self.stores.router.clone(), Arc::clone(&self.log));
        let stream = log.new_stream();
        Ok(LogFirstSession { session: session(stores, router.clone()), router, log, stream, entry: None })
    }

    fn stack(&self) -> Stack {
        self.stores.stack(Crossing::LogFirst)
    }
}
