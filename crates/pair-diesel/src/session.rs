//! One call, one transaction: begin, the body, commit or roll-back, with the times between them.

use crate::work::{BodyEnd, Stop, Work};
use adapter_rusqlite::{Lane, Pass};
use diesel::connection::{
    AnsiTransactionManager, Connection, TransactionManager as _, TransactionManagerStatus,
};
use diesel::result::Error;
use model::{CallWork, Clock, Doubt, Fault, Nanos, Refusal, Session, StatementClock, StatementTimes};
use workload_tpcc::{Call, Outcome, Tpcc};

/// What an engine does in its own way.
pub(crate) trait Engine: Send + 'static {
    /// Diesel's connection.
    type Conn: Connection<TransactionManager = AnsiTransactionManager> + Send;
    /// Begins a transaction that writes, and one that only reads.
    const BEGIN_WRITE: &'static str;
    const BEGIN_READ: &'static str;

    /// The body of a call's transaction.
    fn transact(conn: &mut Self::Conn, call: &Call, work: &mut Work<impl Clock>) -> Result<BodyEnd, Stop>;

    /// What an error means for a call; `at_commit` says whether the commit had been sent.
    fn fault(error: &Error, at_commit: bool) -> Fault;
}

/// Runs the transactions on one connection of Diesel's. Blocking: its futures never wait.
pub(crate) struct Transactions<E: Engine, K> {
    // Before the pass: a session that is dropped in mid-transaction rolls back before it lets the next one in.
    conn: E::Conn,
    pass: Option<Pass>,
    lane: Option<Lane>,
    clock: K,
    clocked: StatementClock,
}

impl<E: Engine, K: Clock> Transactions<E, K> {
    /// `lane` is where transactions pass through that would exclude each other anyway.
    pub(crate) fn new(conn: E::Conn, lane: Option<Lane>, clock: K) -> Transactions<E, K> {
        Transactions { conn, pass: None, lane, clock, clocked: StatementClock::default() }
    }

    fn attempt(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        let started = self.begin(call, work)?;
        let mut body = Work::new(&mut self.clocked, &self.clock);
        let ended = E::transact(&mut self.conn, call, &mut body);
        work.statements += body.statements;
        work.rows += body.rows;

        let asked = self.clock.now();
        work.spent.statements += asked - started;
        let result = match ended {
            Ok(BodyEnd::Commit(outcome)) => self.commit().map(|()| {
                work.commits += 1;
                outcome
            }),
            Ok(BodyEnd::RollBack(outcome)) => self.roll_back().map(|()| outcome),
            Err(stop) => {
                // What stopped the body tells more than the roll-back that follows it.
                let _ = self.roll_back();
                Err(match stop {
                    Stop::Failed(error) => E::fault(&error, false),
                    Stop::Fault(fault) => fault,
                })
            }
        };
        work.spent.commit += self.clock.now() - asked;
        result
    }

    /// Begins, and gives the time when that was done.
    fn begin(&mut self, call: &Call, work: &mut CallWork) -> Result<Nanos, Fault> {
        let asked = self.clock.now();
        let writes = match call {
            Call::NewOrder(_) | Call::Payment(_) | Call::Delivery(_) => true,
            Call::OrderStatus(_) | Call::StockLevel(_) => false,
        };
        let result = self.recover().and_then(|()| {
            work.spent.pool += self.enter(writes);
            let text = if writes { E::BEGIN_WRITE } else { E::BEGIN_READ };
            AnsiTransactionManager::begin_transaction_sql(&mut self.conn, text).map_err(|error| {
                self.leave();
                unreached(said::<E>(&error, false))
            })
        });
        let started = self.clock.now();
        work.attempts += u32::from(result != Err(Fault::Refused(Refusal::Unreachable)));
        work.spent.begin += started - asked - work.spent.pool;
        result.map(|()| started)
    }

    /// Waits for its turn, and gives how long that took.
    fn enter(&mut self, writes: bool) -> Nanos {
        let Some(lane) = self.lane.as_ref().filter(|lane| writes || lane.readers_pass()) else {
            return Nanos::ZERO;
        };
        let mut waited = Nanos::ZERO;
        self.pass = Some(lane.try_enter(writes).unwrap_or_else(|| {
            let came = self.clock.now();
            let pass = lane.enter(writes);
            waited = self.clock.now() - came;
            pass
        }));
        waited
    }

    /// The transaction before may have been given up in its middle, by a caller that panicked and went on: then Diesel
    /// would begin a savepoint inside it, and we would wait for a pass that we hold.
    fn recover(&mut self) -> Result<(), Fault> {
        match AnsiTransactionManager::transaction_manager_status_mut(&mut self.conn) {
            TransactionManagerStatus::Valid(status) if status.transaction_depth().is_none() => {
                self.leave();
                Ok(())
            }
            TransactionManagerStatus::Valid(_) => self.roll_back().map_err(unreached),
            // The connection is gone, or in a state that Diesel does not know.
            TransactionManagerStatus::InError => Err(Fault::Refused(Refusal::Unreachable)),
        }
    }

    fn commit(&mut self) -> Result<(), Fault> {
        let result = AnsiTransactionManager::commit_transaction(&mut self.conn);
        self.leave();
        // Where a commit fails and the transaction stays open, Diesel rolls it back.
        result.map_err(|error| said::<E>(&error, true))
    }

    fn roll_back(&mut self) -> Result<(), Fault> {
        let result = match AnsiTransactionManager::rollback_transaction(&mut self.conn) {
            // The engine has done so by itself.
            Err(Error::NotInTransaction) => Ok(()),
            result => result,
        };
        self.leave();
        result.map_err(|error| said::<E>(&error, false))
    }

    fn leave(&mut self) {
        if let Some(pass) = self.pass.take() {
            pass.leave();
        }
    }
}

/// What an error of the transaction manager means: those of its own first.
#[cold]
fn said<E: Engine>(error: &Error, at_commit: bool) -> Fault {
    match error {
        // The first of two errors is the reason for the second.
        Error::RollbackErrorOnCommit { commit_error, .. } => E::fault(commit_error, at_commit),
        Error::BrokenTransactionManager => {
            Fault::InDoubt(if at_commit { Doubt::CommitUnanswered } else { Doubt::ConnectionLost })
        }
        error => E::fault(error, at_commit),
    }
}

/// A connection that was found gone before anything of the transaction was done: the call was never attempted.
#[cold]
fn unreached(fault: Fault) -> Fault {
    match fault {
        Fault::InDoubt(Doubt::ConnectionLost) => Fault::Refused(Refusal::Unreachable),
        other => other,
    }
}

impl<E: Engine, K: Clock> Session<Tpcc> for Transactions<E, K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        self.clocked.start(work);
        let mut mine = CallWork::default();
        let result = self.attempt(call, &mut mine);
        *work += mine;
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        Some(self.clocked.times())
    }
}
