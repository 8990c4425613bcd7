//! Transfers between two stores of one engine: right answers, many sessions at once, and coordinators that die between their
//! phases.

use crate::beds::{Bed, OnMariaDb, OnPostgres};
use crate::calls::runtime;
use crate::two_stores::{Bank, answer_as_one, many_at_once};
use benchmark::Benchmark as _;
use measure::Monotonic;
use model::{Doubt, Effort, Fault, Home, Ledger as _, OpenError, Session as _, Stack, Target as _};
use sql::{BranchId, DbUrl, Dialect, Param, Read, SqlConn, SqlOpener, StmtId, Take, TwoPhase, TxKind};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use targets::{Driver, How, Style};
use workload_transfer::{
    Call, Decline, Key, Ledger, OPENING, Outcome, Purpose, SqlSession, State, Transfer, Transfers,
    TwoPhaseSession, catalogue,
};

/// MariaDB does not say of which database a branch is: while some are left in one, audits of all others find them.
static LEFT: RwLock<()> = RwLock::new(());

/// Until this value goes, no test leaves a branch.
pub(crate) fn none_left() -> RwLockReadGuard<'static, ()> {
    LEFT.read().unwrap_or_else(PoisonError::into_inner)
}

/// An engine that keeps branches.
pub trait Branching: Bed<Opener: SqlOpener<Conn: TwoPhase>> {
    /// How it is reached.
    const DRIVER: Driver;
}

impl Branching for OnPostgres {
    const DRIVER: Driver = Driver::TokioPostgres;
}

impl Branching for OnMariaDb {
    const DRIVER: Driver = Driver::MySqlAsync;
}

/// Sessions over two stores answer as the oracle says, and many at once leave sound data in both.
///
/// # Panics
/// When they do not.
pub fn two_stores_are_as_one<B: Branching>() {
    let _together = none_left();
    answer_as_one(&Bank::on::<B>(), how::<B>());
    let bank = Bank::on::<B>();
    let ledger = many_at_once(&bank, how::<B>());
    assert_eq!((bank.failed(&ledger), bank.pending()), (BTreeSet::new(), 0));
}

fn how<B: Branching>() -> How {
    How { dialect: B::DIALECT, driver: B::DRIVER, style: Style::TwoPhase }
}

/// When a coordinator dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dies {
    /// When the target's part is prepared.
    Prepared,
    /// When the source's part, and with it the decision, is committed.
    Decided,
}

/// Opens connections of a coordinator that dies once: from then on nothing that it asks arrives.
struct Mortal<O> {
    opener: O,
    dies: Dies,
    dead: Arc<AtomicBool>,
}

struct MortalConn<C> {
    conn: C,
    dies: Dies,
    dead: Arc<AtomicBool>,
}

impl<C> MortalConn<C> {
    fn lives(&self) -> Result<(), Fault> {
        match self.dead.load(Ordering::Relaxed) {
            true => Err(Fault::InDoubt(Doubt::ConnectionLost)),
            false => Ok(()),
        }
    }

    fn reached(&self, when: Dies) {
        if self.dies == when {
            self.dead.store(true, Ordering::Relaxed);
        }
    }
}

impl<C: SqlConn> SqlConn for MortalConn<C> {
    const DIALECT: Dialect = C::DIALECT;

    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        self.lives()?;
        self.conn.begin(tx).await
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        self.lives()?;
        self.conn.commit().await?;
        self.reached(Dies::Decided);
        Ok(())
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        self.lives()?;
        self.conn.rollback().await
    }

    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        self.lives()?;
        self.conn.exec(stmt, params).await
    }

    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        self.lives()?;
        self.conn.row(stmt, params, read).await
    }

    async fn fold<S: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        state: &mut S,
        take: Take<S>,
    ) -> Result<(), Fault> {
        self.lives()?;
        self.conn.fold(stmt, params, state, take).await
    }
}

impl<C: TwoPhase> TwoPhase for MortalConn<C> {
    async fn enlist(&mut self) -> Result<String, Fault> {
        self.conn.enlist().await
    }

    async fn begin_branch(&mut self, id: BranchId) -> Result<(), Fault> {
        self.lives()?;
        self.conn.begin_branch(id).await
    }

    async fn prepare(&mut self) -> Result<(), Fault> {
        self.lives()?;
        self.conn.prepare().await?;
        self.reached(Dies::Prepared);
        Ok(())
    }

    async fn commit_prepared(&mut self, id: BranchId) -> Result<bool, Fault> {
        self.lives()?;
        self.conn.commit_prepared(id).await
    }

    async fn rollback_prepared(&mut self, id: BranchId) -> Result<bool, Fault> {
        self.lives()?;
        self.conn.rollback_prepared(id).await
    }

    async fn prepared(&mut self) -> Result<Vec<BranchId>, Fault> {
        self.lives()?;
        self.conn.prepared().await
    }
}

impl<O: SqlOpener> SqlOpener for Mortal<O> {
    type Conn = MortalConn<O::Conn>;
    const HOME: Home = O::HOME;

    async fn open(&self) -> Result<Self::Conn, OpenError> {
        let conn = self.opener.open().await?;
        Ok(MortalConn { conn, dies: self.dies, dead: Arc::clone(&self.dead) })
    }

    fn stack(&self) -> Stack {
        self.opener.stack()
    }
}

const AMOUNT: i64 = 700;

/// A coordinator dies between its phases, in either direction; what it leaves is decided by the next one as it had decided, and
/// the key can be used as if nothing had been.
///
/// # Panics
/// When it is not.
pub fn what_a_dead_coordinator_leaves_is_decided<B: Branching>() {
    let _alone = LEFT.write().unwrap_or_else(PoisonError::into_inner);
    let ends = Transfers::tiny_over(2).ids().into_inner();
    for dies in [Dies::Prepared, Dies::Decided] {
        for (source, target) in [ends, (ends.1, ends.0)] {
            is_decided::<B>(dies, source, target);
        }
    }
}

fn is_decided<B: Branching>(dies: Dies, source: u32, target: u32) {
    let bank = Bank::on::<B>();
    let key = Key { run: 7, worker: 0, sequence: 0 };
    let transfer = Transfer { key, source, target, amount: AMOUNT };
    let asked = Call::of(transfer, &bank.size);
    let mut ledger = Ledger::new();
    let moved = Ok(Outcome::Moved { state: State::Completed, balance: OPENING - AMOUNT });
    let lost = runtime().block_on(dying::<B>(&bank, dies, &asked));
    match dies {
        Dies::Prepared => assert!(matches!(lost, Err(Fault::InDoubt(_))), "{lost:?}"),
        Dies::Decided => assert_eq!(lost, moved, "what is decided is acknowledged"),
    }
    ledger.post(&asked, &lost);
    bank.until_left(true);
    // Anything that looks now says that it is not over.
    assert!(bank.failed(&ledger).contains("prepared-branches"));

    let next = bank.target(how::<B>());
    bank.until_left(false);
    runtime().block_on(async {
        let mut session = next.open(0).await.expect("both stores are there");
        let mut ask = async |call: &Call| session.run(call, &mut Effort::default()).await;
        let found = ask(&Call::ReadTransfer { source, key }).await;
        let held = ask(&Call::ReadAccount { id: target }).await;
        let (expected, arrived) = match dies {
            Dies::Prepared => (Outcome::Declined(Decline::NoSuchTransfer), 0),
            Dies::Decided => (Outcome::Found { target, amount: AMOUNT, state: State::Completed }, AMOUNT),
        };
        assert_eq!(
            (found, held),
            (Ok(expected), Ok(Outcome::Balance { balance: OPENING + arrived })),
            "{dies:?}"
        );
        let again = ask(&asked).await;
        assert_eq!(again, moved, "{dies:?}");
        let purpose = if lost.is_ok() { Purpose::Repeat } else { Purpose::Retry };
        ledger.post(&Call::Transfer { purpose, transfer }, &again);
    });
    assert_eq!(bank.failed(&ledger), BTreeSet::new(), "{dies:?}");
}

/// What a coordinator is told that dies at one call, and then is gone.
async fn dying<B: Branching>(bank: &Bank, dies: Dies, call: &Call) -> Result<Outcome, Fault> {
    let dead = Arc::<AtomicBool>::default();
    let mut stores = Vec::new();
    for place in bank.urls() {
        let DbUrl::Server(_) = &place else { panic!("{place} is no server's") };
        let statements = catalogue(B::DIALECT).expect("kept by a test of the workload");
        let opener = std::thread::scope(|scope| {
            scope.spawn(|| B::opener(&place, statements)).join().expect("a database that was just made")
        });
        let mortal = Mortal { opener, dies, dead: Arc::clone(&dead) };
        stores.push(SqlSession::new(mortal.open().await.expect("it is there"), Monotonic::start()));
    }
    let session = TwoPhaseSession::new(stores, bank.size).await;
    session.expect("engines that keep branches").run(call, &mut Effort::default()).await
}
