//! Sagas that log first: a record of a transfer between stores is published, and acknowledged, before the transaction in the store of its
//! source begins.
//!
//! Each record is executed exactly once, because the key identifies the transfer:
//!
//! - A call that could not execute its record is in doubt. It leaves the record to a thread of the process, which executes it as soon as
//!   sink and stores allow.
//! - A process that ends may leave records too. The next process reads the log and executes the last record of each stream
//!   ([`execute_log`]). No other record can be unexecuted: a session writes to its stream only after it has executed the record before,
//!   and continues with a new stream after it has left one.

use crate::background::Background;
use crate::{Single, Stores};
use anyhow::{Result, anyhow, bail};
use measure::{Monotonic, unix_nanoseconds};
use model::random::Random;
use model::{
    AnyTarget, CallWork, DefectKind, Doubt, Fault, Home, OpenError, Refusal, RetryPolicy, Session, Stack,
    StatementTimes, Target,
};
use sql::{SqlConn, SqlOpener};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use workload_transfer::{
    Call, Crossing, LogRecord, Outcome, Purpose, Router, SagaSession, Transfer, Transfers,
};

/// Time between two looks at what sessions have left.
const EXECUTE_EVERY: Duration = Duration::from_millis(50);
/// Records that sessions may leave; while there are as many, transfers between stores are refused.
const LEFT_MAX: usize = 100_000;

/// Sessions whose transfers between stores are first written to the sink of this process ([`relay::produce_to`]). What earlier processes
/// have left in it is executed before.
///
/// # Errors
/// The log cannot be read, is not that of these stores, or cannot be executed.
pub(crate) async fn log_first<O: SqlOpener>(stores: Stores<O>) -> Result<AnyTarget<Transfers>> {
    execute_log(&stores).await?;
    let (stores, log) = (Arc::new(stores), Arc::new(Log::new()));
    let (of_executor, left) = (Arc::clone(&stores), Arc::clone(&log));
    let work = async move |stopped| execute_left(&of_executor, &left, stopped).await;
    let executor = Background::start("log", work)?;
    Ok(AnyTarget::new(LogFirst { stores, log, _executor: executor }))
}

/// Executes the last record of each stream, which for most was done before.
///
/// It reads the whole log, some hundred thousand records per second.
async fn execute_log<O: SqlOpener>(stores: &Stores<O>) -> Result<()> {
    let last: Arc<Mutex<BTreeMap<u64, LogRecord>>> = Arc::default();
    let (router, shared) = (stores.router.clone(), Arc::clone(&last));
    let each = move |payload: &[u8]| {
        const HINT: &str = "hint: data has a log of its own; give new data a new file or topic with --sink";
        let record = LogRecord::parse(payload).map_err(|why| format!("{why}\n{HINT}"))?;
        if router.crossing(&call_of(record.transfer)).is_none() {
            let Transfer { source, target, .. } = record.transfer;
            return Err(format!("accounts {source} and {target} are not accounts of two stores\n{HINT}"));
        }
        let mut last = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.entry(record.stream).or_insert(record);
        if known.number < record.number {
            *known = record;
        }
        Ok(())
    };
    relay::read_published(each).await.map_err(|why| anyhow!("the log of transfers cannot be used: {why}"))?;
    let last = std::mem::take(&mut *last.lock().unwrap_or_else(PoisonError::into_inner));
    if last.is_empty() {
        return Ok(());
    }
    let mut session = SagaSession::new(stores.sessions().await?, stores.router.clone());
    for LogRecord { transfer, .. } in last.into_values() {
        if let Err(fault) = execute(&mut session, &call_of(transfer), &mut CallWork::default()).await
            && !is_final(&fault)
        {
            bail!("transfer {} is in the log and could not be executed: {fault}", transfer.key);
        }
    }
    Ok(())
}

const fn call_of(transfer: Transfer) -> Call {
    Call::Transfer { purpose: Purpose::Across, transfer }
}

/// Executes a record. A conflict is repeated here, since the record is already published.
async fn execute<S: Session<Transfers>>(
    session: &mut S,
    call: &Call,
    work: &mut CallWork,
) -> Result<Outcome, Fault> {
    RetryPolicy::default().run(session, call, work).await
}

/// Whether an attempt is the last one although it failed: the store refuses the call itself, such as one whose key has expired.
fn is_final(fault: &Fault) -> bool {
    matches!(fault, Fault::Defect(defect) if defect.kind == DefectKind::BadCall)
}

/// A record that is published, or perhaps is, and is still to be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LoggedTransfer {
    record: LogRecord,
    /// Whether that was acknowledged.
    is_published: bool,
}

impl LoggedTransfer {
    async fn publish(&mut self) -> Result<(), String> {
        // Records of a stream are in one partition.
        let (key, payload) = (self.record.stream, self.record.to_json());
        relay::publish(relay::Message { key, payload, created_us: None }).await?;
        self.is_published = true;
        Ok(())
    }
}

/// What the sessions of a process share.
#[derive(Debug)]
struct Log {
    /// Names of streams; no two processes have the same.
    names: Mutex<Random>,
    /// What sessions have left to be executed.
    left: Mutex<VecDeque<LoggedTransfer>>,
}

impl Log {
    fn new() -> Log {
        let names = Random::stream(unix_nanoseconds(), &[std::process::id().into()]);
        Log { names: Mutex::new(names), left: Mutex::default() }
    }

    fn new_stream(&self) -> u64 {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.range(1, LogRecord::STREAM_MAX.cast_signed()).unsigned_abs()
    }

    fn left(&self) -> std::sync::MutexGuard<'_, VecDeque<LoggedTransfer>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Executes what sessions leave until it is told to stop, and then tries once more.
async fn execute_left<O: SqlOpener>(stores: &Stores<O>, log: &Log, mut stopped: oneshot::Receiver<()>) {
    let mut session = None;
    loop {
        let is_last = timeout(EXECUTE_EVERY, &mut stopped).await.is_ok();
        loop {
            let first = log.left().front().copied();
            let Some(mut entry) = first else { break };
            let executed = execute_entry(stores, &mut session, &mut entry).await;
            // Sessions only append, so that the first one is still this one.
            let mut left = log.left();
            left.pop_front();
            if !executed {
                // Behind the others, of which some may be possible. Connections may be gone, and are opened again.
                left.push_back(entry);
                session = None;
                break;
            }
        }
        if is_last {
            return;
        }
    }
}

async fn execute_entry<O: SqlOpener>(
    stores: &Stores<O>,
    session: &mut Option<SagaSession<O::Conn, Monotonic>>,
    entry: &mut LoggedTransfer,
) -> bool {
    if !entry.is_published && entry.publish().await.is_err() {
        return false;
    }
    let session = match session {
        Some(open) => open,
        None => match stores.sessions().await {
            Ok(sessions) => session.insert(SagaSession::new(sessions, stores.router.clone())),
            Err(_) => return false,
        },
    };
    let executed = execute(session, &call_of(entry.record.transfer), &mut CallWork::default()).await;
    executed.map_or_else(|fault| is_final(&fault), |_| true)
}

/// A session of a saga that logs first.
struct LogFirstSession<C: SqlConn> {
    session: SagaSession<C, Monotonic>,
    router: Router,
    log: Arc<Log>,
    stream: u64,
    /// Of the next record in the stream.
    number: u32,
    /// Of the call that is being made. That of a call which was cancelled is still here at the next one.
    entry: Option<LoggedTransfer>,
}

impl<C: SqlConn> LogFirstSession<C> {
    /// Leaves the current record, if it has not been executed, and continues with a new stream.
    fn leave(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.log.left().push_back(entry);
            (self.stream, self.number) = (self.log.new_stream(), 0);
        }
    }

    async fn log_and_execute(
        &mut self,
        call: &Call,
        transfer: Transfer,
        work: &mut CallWork,
    ) -> Result<Outcome, Fault> {
        let record = LogRecord { stream: self.stream, number: self.number, transfer };
        self.number += 1;
        let entry = self.entry.insert(LoggedTransfer { record, is_published: false });
        if entry.publish().await.is_err() {
            return Err(Fault::InDoubt(Doubt::ServerError));
        }
        match execute(&mut self.session, call, work).await {
            Err(fault) if !is_final(&fault) => Err(match fault {
                // It will be executed.
                Fault::Refused(Refusal::Unreachable) => Fault::InDoubt(Doubt::ConnectionLost),
                Fault::Conflict(_) | Fault::Refused(_) => Fault::InDoubt(Doubt::ServerError),
                fault => fault,
            }),
            executed => {
                self.entry = None;
                executed
            }
        }
    }
}

impl<C: SqlConn> Session<Transfers> for LogFirstSession<C> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        self.leave();
        let Some(transfer) = self.router.crossing(call) else { return self.session.run(call, work).await };
        if self.log.left().len() >= LEFT_MAX {
            return Err(Fault::Refused(Refusal::Shedding));
        }
        self.session.check_alive(call).await?;
        let outcome = self.log_and_execute(call, transfer, work).await;
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
    stores: Arc<Stores<O>>,
    log: Arc<Log>,
    _executor: Background,
}

impl<O: SqlOpener> Target<Transfers> for LogFirst<O> {
    type Session = LogFirstSession<O::Conn>;

    fn home(&self) -> Home {
        O::HOME
    }

    async fn open(&self, _worker: u32) -> Result<Self::Session, OpenError> {
        let stores: Vec<Single<O>> = self.stores.sessions().await?;
        let (router, log) = (self.stores.router.clone(), Arc::clone(&self.log));
        let session = SagaSession::new(stores, router.clone());
        let stream = log.new_stream();
        Ok(LogFirstSession { session, router, log, stream, number: 0, entry: None })
    }

    fn stack(&self) -> Stack {
        self.stores.stack(Crossing::LogFirst)
    }

    fn unfinished(&self) -> u64 {
        self.log.left().len() as u64
    }
}
