//! Counts and clocks what a transaction does: the work fingerprint of a call comes from here for every adapter.

use crate::{
    Attached, BranchId, Columns, Dialect, Grouping, Param, Read, SqlConn, StmtId, Take, TwoPhase, TxKind,
};
use model::{CallWork, Clock, Fault, Nanos, Refusal, StatementClock, StatementTimes};

/// A connection that has been idle for longer may have been closed by the server, whose limits are seconds as a rule: it is looked at
/// before something is sent that commits by itself. Drivers that cannot see it send a ping, which at this rate costs nothing.
pub const IDLE_MAX: Nanos = Nanos::from_millis(900);

/// Wraps a connection.
///
/// Four clock readings a transaction and not two a statement: 46 statements of a New-Order at 50 ns each would be more
/// than the whole seam may cost. What is between begin and commit is therefore one span, logic included. Only in a call
/// whose caller asks for it, one in many, stands a clock around each statement.
#[derive(Debug)]
pub struct Timed<C, K> {
    conn: C,
    clock: K,
    work: CallWork,
    /// When the transaction began whose time is counted here, until it ends: not that of a branch, which is of the transaction that
    /// decides it.
    open: Option<Nanos>,
    /// When it was used last.
    used: Nanos,
    /// Whether what ends here is within the time of a transaction of another connection.
    is_within: bool,
    statements: StatementClock,
}

impl<C: SqlConn, K: Clock> Timed<C, K> {
    pub fn new(conn: C, clock: K) -> Timed<C, K> {
        Timed {
            conn,
            work: CallWork::default(),
            open: None,
            used: clock.now(),
            is_within: false,
            statements: StatementClock::default(),
            clock,
        }
    }

    /// Begins an attempt of the call whose account is `work`.
    #[inline]
    pub fn start(&mut self, work: &CallWork) {
        self.statements.start(work);
    }

    /// What each statement took in the last call that asked for it.
    pub fn statement_times(&self) -> &StatementTimes {
        self.statements.times()
    }

    /// Adds what was done since the last time to `work`.
    pub fn move_into(&mut self, work: &mut CallWork) {
        *work += std::mem::take(&mut self.work);
    }

    /// [`SqlConn::begin_with`], whose time is that of a statement with the number `round`. The begin is part of it.
    pub async fn begin_with(
        &mut self,
        round: usize,
        statements: &[(StmtId, &[Param<'_>])],
    ) -> Result<Vec<u64>, Fault> {
        let asked = self.statements.asked(&self.clock);
        let started = self.clock.now();
        self.check_alive_at(started).await?;
        self.open = Some(started);
        self.work.attempts = 1;
        let result = self.conn.begin_with(statements).await;
        self.statements.answered(round, asked, &self.clock);
        let changed = result?;
        for rows in &changed {
            self.count(*rows as u32);
        }
        Ok(changed)
    }

    /// Until it is told otherwise, what ends here is not counted: a transaction of another connection counts the time that it takes.
    pub fn counted_elsewhere(&mut self, is_within: bool) {
        self.is_within = is_within;
    }

    /// Counts the time of a transaction, or of a branch, whose end was asked for then.
    #[inline]
    fn ended(&mut self, asked: Nanos) {
        self.used = self.clock.now();
        let started = self.open.take();
        if !self.is_within {
            self.work.spent.statements += started.map_or(Nanos::ZERO, |started| asked - started);
            self.work.spent.commit += self.used - asked;
        }
    }

    #[inline]
    fn count(&mut self, rows: u32) {
        self.work.statements += 1;
        self.work.rows += rows;
    }

    /// Looks at the connection before a call does something elsewhere that cannot be undone: commits in another store, publishes.
    ///
    /// # Errors
    /// [`Refusal::Unreachable`]: it was closed between calls.
    pub async fn check_alive(&mut self) -> Result<(), Fault> {
        self.check_alive_at(self.clock.now()).await
    }

    #[inline]
    async fn check_alive_at(&mut self, now: Nanos) -> Result<(), Fault> {
        if now - self.used <= C::IDLE_MAX || self.conn.is_alive().await {
            return Ok(());
        }
        Err(Fault::Refused(Refusal::Unreachable))
    }
}

impl<C: SqlConn, K: Clock> SqlConn for Timed<C, K> {
    const DIALECT: Dialect = C::DIALECT;

    #[inline]
    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        let asked = self.clock.now();
        if tx.is_one_statement() {
            self.check_alive_at(asked).await?;
        }
        let result = self.conn.begin(tx).await;
        let started = self.clock.now();
        self.open = result.is_ok().then_some(started);
        let waited = self.conn.waited();
        // One, of however many transactions; none where nothing could be sent.
        self.work.attempts = u32::from(result != Err(Fault::Refused(Refusal::Unreachable)));
        self.work.spent.pool += waited;
        self.work.spent.begin += started - asked - waited;
        result
    }

    #[inline]
    async fn commit(&mut self) -> Result<(), Fault> {
        let asked = self.clock.now();
        let result = self.conn.commit().await;
        self.ended(asked);
        if result.is_ok() {
            self.work.commits += 1;
            if let Some(grouping) = self.conn.grouping() {
                self.work.grouped += 1;
                self.work.groups += u32::from(grouping == Grouping::First);
            }
        }
        result
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        let asked = self.clock.now();
        let result = self.conn.rollback().await;
        self.ended(asked);
        result
    }

    #[inline]
    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        let asked = self.statements.asked(&self.clock);
        let result = self.conn.exec(stmt, params).await;
        self.statements.answered(stmt.0.into(), asked, &self.clock);
        if let Ok(changed) = &result {
            self.count(*changed as u32);
        }
        result
    }

    #[inline]
    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        // Looked at where it lies: taken apart and put together again, each row would be copied once more.
        let asked = self.statements.asked(&self.clock);
        let result = self.conn.row(stmt, params, read).await;
        self.statements.answered(stmt.0.into(), asked, &self.clock);
        if let Ok(row) = &result {
            self.count(u32::from(row.is_some()));
        }
        result
    }

    #[inline]
    async fn fold<S: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        state: &mut S,
        take: Take<S>,
    ) -> Result<(), Fault> {
        let counted = |(rows, take, state): &mut (u32, Take<S>, &mut S), row: &dyn Columns| {
            *rows += 1;
            take(state, row)
        };
        let mut all = (0, take, state);
        let asked = self.statements.asked(&self.clock);
        let result = self.conn.fold(stmt, params, &mut all, counted).await;
        self.statements.answered(stmt.0.into(), asked, &self.clock);
        result?;
        self.count(all.0);
        Ok(())
    }
}

/// A branch is not an attempt of its own, and counts as a commit when it is committed. It is begun after the transaction that decides
/// it and prepared before that commits, so that its time is within that transaction's statements.
impl<C: Attached, K: Clock> Attached for Timed<C, K> {
    fn within(&mut self, stores: [usize; 2]) {
        self.conn.within(stores);
    }

    fn at(&mut self, store: usize) {
        self.conn.at(store);
    }
}

impl<C: TwoPhase, K: Clock> TwoPhase for Timed<C, K> {
    async fn enlist(&mut self) -> Result<String, Fault> {
        self.conn.enlist().await
    }

    async fn begin_branch(&mut self, id: BranchId) -> Result<(), Fault> {
        self.check_alive().await?;
        self.open = None;
        self.conn.begin_branch(id).await
    }

    async fn prepare(&mut self) -> Result<(), Fault> {
        let result = self.conn.prepare().await;
        self.used = self.clock.now();
        result
    }

    async fn commit_prepared(&mut self, id: BranchId) -> Result<bool, Fault> {
        let asked = self.clock.now();
        let result = self.conn.commit_prepared(id).await;
        self.ended(asked);
        self.work.commits += u32::from(result == Ok(true));
        result
    }

    async fn rollback_prepared(&mut self, id: BranchId) -> Result<bool, Fault> {
        let asked = self.clock.now();
        let result = self.conn.rollback_prepared(id).await;
        self.ended(asked);
        result
    }

    async fn prepared(&mut self) -> Result<Vec<BranchId>, Fault> {
        self.conn.prepared().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnError, Columns};
    use model::{Conflict, StatementTime};
    use std::future::{Future, ready};
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::{Context, Poll, Waker};

    /// Stands still but while the connection works.
    #[derive(Clone, Default)]
    struct Stopped {
        now: Arc<AtomicU64>,
        readings: Arc<AtomicU64>,
    }

    impl Clock for Stopped {
        fn now(&self) -> Nanos {
            self.readings.fetch_add(1, Ordering::Relaxed);
            Nanos(self.now.load(Ordering::Relaxed))
        }
    }

    /// Begin takes 1 ns, commit 2, and statement `n` takes 10 × n; statement 9 meets a conflict.
    struct Scripted(Stopped);

    impl Scripted {
        fn take<T>(&self, ns: u64, answer: T) -> impl Future<Output = T> + use<T> {
            self.0.now.fetch_add(ns, Ordering::Relaxed);
            ready(answer)
        }
    }

    impl SqlConn for Scripted {
        const DIALECT: Dialect = Dialect::Sqlite;

        async fn begin(&mut self, _: TxKind) -> Result<(), Fault> {
            self.take(1, Ok(())).await
        }

        async fn commit(&mut self) -> Result<(), Fault> {
            self.take(2, Ok(())).await
        }

        async fn rollback(&mut self) -> Result<(), Fault> {
            self.take(2, Ok(())).await
        }

        /// It was closed; whoever looks finds that out.
        async fn is_alive(&mut self) -> bool {
            false
        }

        async fn exec(&mut self, stmt: StmtId, _: &[Param<'_>]) -> Result<u64, Fault> {
            let answer = if stmt.0 == 9 { Err(Fault::Conflict(Conflict::Busy)) } else { Ok(1) };
            self.take(u64::from(stmt.0) * 10, answer).await
        }

        async fn row<T: Send>(
            &mut self,
            stmt: StmtId,
            _: &[Param<'_>],
            _: Read<T>,
        ) -> Result<Option<T>, Fault> {
            self.take(u64::from(stmt.0) * 10, Ok(None)).await
        }

        async fn fold<S: Send>(
            &mut self,
            stmt: StmtId,
            _: &[Param<'_>],
            _: &mut S,
            _: Take<S>,
        ) -> Result<(), Fault> {
            self.take(u64::from(stmt.0) * 10, Ok(())).await
        }
    }

    fn now<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("nothing here waits"),
        }
    }

    /// Statements 3, 4, 4 and 5 between begin and commit, with 100 ns of logic after each.
    fn call(timed: &mut Timed<Scripted, Stopped>, clock: &Stopped, work: &mut CallWork) {
        let read: Read<()> = |_: &dyn Columns| -> Result<(), ColumnError> { Ok(()) };
        let logic = || clock.now.fetch_add(100, Ordering::Relaxed);
        timed.start(work);
        now(timed.begin(TxKind::Write)).unwrap();
        now(timed.exec(StmtId(3), &[])).unwrap();
        logic();
        for _ in 0..2 {
            now(timed.row(StmtId(4), &[], read)).unwrap();
            logic();
        }
        now(timed.rows(StmtId(5), &[], read, &mut Vec::new())).unwrap();
        logic();
        now(timed.commit()).unwrap();
        timed.move_into(work);
    }

    #[test]
    fn each_statement_gets_its_own_time_and_the_logic_none() {
        let clock = Stopped::default();
        let mut timed = Timed::new(Scripted(clock.clone()), clock.clone());
        let mut work = CallWork { clocked: true, ..CallWork::default() };
        call(&mut timed, &clock, &mut work);
        let time = |executions, ns| StatementTime { executions, spent: Nanos(ns) };
        let found: Vec<_> = timed.statement_times().executed().collect();
        assert_eq!(found, [(3, time(1, 30)), (4, time(2, 80)), (5, time(1, 50))]);
        let spent = work.spent;
        assert_eq!((spent.begin, spent.statements, spent.commit), (Nanos(1), Nanos(560), Nanos(2)));
    }

    #[test]
    fn what_commits_by_itself_is_not_sent_over_a_connection_that_was_closed_while_it_was_idle() {
        let closed = Err(Fault::Refused(Refusal::Unreachable));
        let check = |idle, kind, expected: Result<(), Fault>| {
            let clock = Stopped::default();
            let mut timed = Timed::new(Scripted(clock.clone()), clock.clone());
            clock.now.fetch_add(Nanos::from_millis(idle).0, Ordering::Relaxed);
            let mut work = CallWork::default();
            timed.start(&work);
            assert_eq!(now(timed.begin(kind)), expected, "{kind:?} after {idle} ms");
            timed.move_into(&mut work);
            assert_eq!(work.attempts, u32::from(expected.is_ok()));
        };
        for kind in [TxKind::OneRead, TxKind::OneWrite] {
            check(900, kind, Ok(()));
            check(901, kind, closed.clone());
        }
        // The driver finds that out when it begins, before anything is executed.
        check(10_000, TxKind::Write, Ok(()));
    }

    #[test]
    fn a_statement_that_fails_has_taken_its_time_too() {
        let clock = Stopped::default();
        let mut timed = Timed::new(Scripted(clock.clone()), clock.clone());
        timed.start(&CallWork { clocked: true, ..CallWork::default() });
        now(timed.exec(StmtId(9), &[])).unwrap_err();
        let found: Vec<_> = timed.statement_times().executed().collect();
        assert_eq!(found, [(9, StatementTime { executions: 1, spent: Nanos(90) })]);
    }

    /// A server says that its parts add up to no more than its total.
    #[test]
    fn no_time_is_counted_twice_however_a_transaction_ends() {
        let clock = Stopped::default();
        let mut timed = Timed::new(Scripted(clock.clone()), clock.clone());
        let took = |timed: &mut Timed<Scripted, Stopped>, ends: &dyn Fn(&mut Timed<Scripted, Stopped>)| {
            let (from, mut work) = (clock.now.load(Ordering::Relaxed), CallWork::default());
            now(timed.begin(TxKind::Write)).unwrap();
            now(timed.exec(StmtId(3), &[])).unwrap();
            ends(timed);
            timed.move_into(&mut work);
            (work.spent.parts(), Nanos(clock.now.load(Ordering::Relaxed) - from))
        };
        // A commit that fails is followed by a roll-back, which finds nothing open.
        let (parts, all) = took(&mut timed, &|timed| {
            now(timed.commit()).unwrap();
            now(timed.rollback()).unwrap();
        });
        assert_eq!(parts, all);
        // What another connection's transaction waits for is in its time.
        let (parts, all) = took(&mut timed, &|timed| {
            timed.counted_elsewhere(true);
            now(timed.rollback()).unwrap();
            timed.counted_elsewhere(false);
        });
        assert_eq!((parts, all), (Nanos(1), Nanos(1 + 30 + 2)), "the begin alone is counted here");
    }

    #[test]
    fn several_transactions_of_one_attempt_are_one_attempt() {
        let clock = Stopped::default();
        let mut timed = Timed::new(Scripted(clock.clone()), clock);
        let mut work = CallWork::default();
        for attempt in 1..=2 {
            for kind in [TxKind::OneRead, TxKind::Write] {
                now(timed.begin(kind)).unwrap();
                now(timed.commit()).unwrap();
            }
            timed.move_into(&mut work);
            assert_eq!((work.attempts, work.commits), (attempt, attempt * 2));
        }
    }

    #[test]
    fn a_call_without_clocks_around_its_statements_reads_four_times() {
        let clock = Stopped::default();
        let mut timed = Timed::new(Scripted(clock.clone()), clock.clone());
        clock.readings.store(0, Ordering::Relaxed);
        call(&mut timed, &clock, &mut CallWork::default());
        assert_eq!(clock.readings.load(Ordering::Relaxed), 4);
        assert_eq!(timed.statement_times().executed().count(), 0);
        call(&mut timed, &clock, &mut CallWork { clocked: true, ..CallWork::default() });
        assert_eq!(clock.readings.load(Ordering::Relaxed), 4 + 4 + 8);
    }
}
