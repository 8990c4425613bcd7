//! Transfers between stores of one engine: right answers, many sessions at once, coordinators that die between their phases, and
//! one that does not wait for its decision.

use crate::calls::runtime;
use crate::test_engines::{OnMariaDb, OnPostgres, TestEngine};
use crate::two_stores::{Bank, answer_as_one, many_at_once};
use measure::Monotonic;
use model::{CallWork, Doubt, Fault, Home, Ledger as _, OpenError, Session as _, Stack, Target as _};
use rig::for_tests::{exclusive, together};
use sql::{BranchId, DbUrl, Dialect, Param, Read, SqlConn, SqlOpener, StmtId, Take, TwoPhase, TxKind};
use std::collections::BTreeSet;
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use targets::{Driver, How, Style};
use workload::Benchmark as _;
use workload_transfer::{
    Call, Decline, Key, Ledger, OPENING, Outcome, Purpose, SqlSession, State, Transfer, Transfers,
    TwoPhaseSession, catalogue,
};

/// MariaDB does not say of which database a branch is: while a test leaves some in one database, audits of all others find them.
/// Tests may share this process, or the server with other processes.
static LEFT: RwLock<()> = RwLock::new(());
/// The same among processes.
const LEFT_NAME: &str = "branches-left";

/// Until this value goes, no test leaves a branch.
pub fn none_left() -> (RwLockReadGuard<'static, ()>, Option<File>) {
    (LEFT.read().unwrap_or_else(PoisonError::into_inner), together(LEFT_NAME))
}

/// Until this value goes, no other test looks for branches.
fn some_left() -> (RwLockWriteGuard<'static, ()>, Option<File>) {
    (LEFT.write().unwrap_or_else(PoisonError::into_inner), exclusive(LEFT_NAME))
}

/// An engine that keeps branches.
pub trait Branching: TestEngine<Opener: SqlOpener<Conn: TwoPhase>> {
    /// How it is reached.
    const DRIVER: Driver;
}

impl Branching for OnPostgres {
    const DRIVER: Driver = Driver::TokioPostgres;
}

impl Branching for OnMariaDb {
    const DRIVER: Driver = Driver::MySqlAsync;
}

/// Sessions over several stores answer as the oracle says, and many at once leave sound data in all.
///
/// # Panics
/// When they do not.
pub fn stores_are_as_one<B: Branching>(style: Style, stores: u32) {
    let _together = none_left();
    answer_as_one(&Bank::over::<B>(stores), how::<B>(style));
    let bank = Bank::over::<B>(stores);
    let ledger = many_at_once(&bank, how::<B>(style));
    assert_eq!((bank.failed(&ledger), bank.pending()), (BTreeSet::new(), 0));
}

fn how<B: Branching>(style: Style) -> How {
    How { dialect: B::DIALECT, driver: B::DRIVER, style }
}

/// When a coordinator dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dies {
    /// When one part is prepared: the target's.
    Prepared,
    /// When both are, where both are prepared.
    BothPrepared,
    /// When the decision is committed: the source's part, or the row of the log.
    Decided,
    /// When one part is prepared, which it has committed by then: it does wrong, and no store alone can tell.
    TooSoon,
}

/// What is away from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Away {
    All,
    /// The store of the source, which is that of the decision: the coordinator lives, and cannot reach it.
    Source,
}

/// What connections of one coordinator have come to.
#[derive(Debug, Default)]
struct Life {
    is_over: AtomicBool,
    prepared: AtomicU32,
}

/// Opens connections of a coordinator that dies once: from then on nothing that it asks arrives.
struct Mortal<O> {
    opener: O,
    dies: Dies,
    /// Whether it is one of those that are cut off.
    ends: bool,
    life: Arc<Life>,
}

struct MortalConn<C> {
    conn: C,
    dies: Dies,
    ends: bool,
    life: Arc<Life>,
    /// The branch that was begun last.
    branch: Option<BranchId>,
}

impl<C> MortalConn<C> {
    fn lives(&self) -> Result<(), Fault> {
        match self.ends && self.life.is_over.load(Ordering::Relaxed) {
            true => Err(Fault::InDoubt(Doubt::ConnectionLost)),
            false => Ok(()),
        }
    }

    fn reached(&self, when: Dies) {
        if self.dies == when {
            self.life.is_over.store(true, Ordering::Relaxed);
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
        self.branch = Some(id);
        self.conn.begin_branch(id).await
    }

    async fn prepare(&mut self) -> Result<(), Fault> {
        self.lives()?;
        self.conn.prepare().await?;
        if let (Dies::TooSoon, Some(id)) = (self.dies, self.branch) {
            assert!(self.conn.commit_prepared(id).await?, "it was just prepared");
            self.reached(Dies::TooSoon);
        }
        let parts = self.life.prepared.fetch_add(1, Ordering::Relaxed) + 1;
        self.reached(if parts == 1 { Dies::Prepared } else { Dies::BothPrepared });
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
        let life = Arc::clone(&self.life);
        Ok(MortalConn { conn, dies: self.dies, ends: self.ends, life, branch: None })
    }

    fn stack(&self) -> Stack {
        self.opener.stack()
    }
}

const AMOUNT: i64 = 700;

/// A coordinator dies between its phases, or cannot reach the store of its decision any more, in either direction; what it leaves is decided by the next one as it had decided, and
/// the key can be used as if nothing had been.
///
/// # Panics
/// When it is not.
pub fn what_a_dead_coordinator_leaves_is_decided<B: Branching>(style: Style) {
    let _alone = some_left();
    let ends = Transfers::tiny_over(2).ids().into_inner();
    let moments = match style {
        Style::TwoPhaseLog => &[
            (Dies::Prepared, Away::All),
            (Dies::BothPrepared, Away::All),
            (Dies::BothPrepared, Away::Source),
            (Dies::Decided, Away::All),
        ][..],
        _ => &[(Dies::Prepared, Away::All), (Dies::Prepared, Away::Source), (Dies::Decided, Away::All)],
    };
    for moment in moments {
        for (source, target) in [ends, (ends.1, ends.0)] {
            is_decided::<B>(style, *moment, source, target);
        }
    }
}

fn is_decided<B: Branching>(style: Style, (dies, away): (Dies, Away), source: u32, target: u32) {
    let bank = Bank::on::<B>();
    let key = Key { run: 7, worker: 0, sequence: 0 };
    let transfer = Transfer { key, source, target, amount: AMOUNT };
    let asked = Call::of(transfer, &bank.size);
    let mut ledger = Ledger::new();
    let moved = Ok(Outcome::Moved { state: State::Completed, balance: OPENING - AMOUNT });
    let lost = runtime().block_on(dying::<B>(&bank, style, (dies, away), &asked));
    match dies {
        Dies::Decided => assert_eq!(lost, moved, "what is decided is acknowledged"),
        _ => assert!(matches!(lost, Err(Fault::InDoubt(_))), "{lost:?}"),
    }
    ledger.post(&asked, &lost);
    bank.until_left(true);
    // Anything that looks now says that it is not over.
    assert!(bank.failed(&ledger).contains("prepared-branches"));

    let next = bank.target(how::<B>(style));
    bank.until_left(false);
    runtime().block_on(async {
        let mut session = next.open(0).await.expect("both stores are there");
        let mut ask = async |call: &Call| session.run(call, &mut CallWork::default()).await;
        let found = ask(&Call::ReadTransfer { source, key }).await;
        let locked = ask(&Call::ReadAccount { id: target }).await;
        let (expected, arrived) = match dies {
            Dies::Decided => (Outcome::Found { target, amount: AMOUNT, state: State::Completed }, AMOUNT),
            _ => (Outcome::Declined(Decline::NoSuchTransfer), 0),
        };
        assert_eq!(
            (found, locked),
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

/// A coordinator commits what it has prepared before there is a decision, and dies: money has arrived that no one has sent, and the
/// audits notice.
///
/// # Panics
/// When they do not.
pub fn who_commits_before_the_decision_is_caught<B: Branching>(style: Style) {
    // For as long as nothing is decided there is a branch.
    let _alone = some_left();
    let ends = Transfers::tiny_over(2).ids().into_inner();
    for (source, target) in [ends, (ends.1, ends.0)] {
        let bank = Bank::on::<B>();
        let key = Key { run: 7, worker: 0, sequence: 0 };
        let asked = Call::of(Transfer { key, source, target, amount: AMOUNT }, &bank.size);
        let mut ledger = Ledger::new();
        let lost = runtime().block_on(dying::<B>(&bank, style, (Dies::TooSoon, Away::All), &asked));
        assert!(matches!(lost, Err(Fault::InDoubt(_))), "{lost:?}");
        ledger.post(&asked, &lost);
        bank.until_left(false);
        let failed = bank.failed(&ledger);
        assert!(failed.contains("ledger"), "{failed:?}");
        assert_eq!(bank.transfers(), 0);
    }
}

/// What a coordinator is told that dies at one call, and then is gone.
async fn dying<B: Branching>(
    bank: &Bank,
    style: Style,
    (dies, away): (Dies, Away),
    call: &Call,
) -> Result<Outcome, Fault> {
    let life = Arc::<Life>::default();
    let source = bank.size.shard_of(call.account());
    let ends = move |store: u32| away == Away::All || store == source;
    let stores = sessions::<B>(bank, dies, &ends, &life).await;
    let log = match style {
        Style::TwoPhaseLog => sessions::<B>(bank, dies, &ends, &life).await,
        _ => Vec::new(),
    };
    let session = TwoPhaseSession::new(stores, log, bank.size.into()).await;
    session.expect("engines that keep branches").run(call, &mut CallWork::default()).await
}

/// Those of a coordinator that dies, one in each store.
async fn sessions<B: Branching>(
    bank: &Bank,
    dies: Dies,
    ends: &dyn Fn(u32) -> bool,
    life: &Arc<Life>,
) -> Vec<SqlSession<MortalConn<<B::Opener as SqlOpener>::Conn>, Monotonic>> {
    let mut stores = Vec::new();
    for (store, place) in (0..).zip(bank.urls()) {
        let DbUrl::Server(_) = &place else { panic!("{place} is not a server's") };
        let statements = catalogue(B::DIALECT).expect("kept by a test of the workload");
        let opener = std::thread::scope(|scope| {
            scope.spawn(|| B::opener(&place, statements)).join().expect("a database that was just made")
        });
        let mortal = Mortal { opener, dies, ends: ends(store), life: Arc::clone(life) };
        stores.push(SqlSession::new(mortal.open().await.expect("it is there"), Monotonic::start()));
    }
    stores
}
