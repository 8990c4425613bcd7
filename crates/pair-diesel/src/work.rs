//! What the body of a transaction counts, and how it can end.

use diesel::result::Error;
use diesel::{OptionalExtension as _, QueryResult};
use model::{Clock, DefectKind, Fault, StatementClock};
use workload_tpcc::{Outcome, Stmt, Text};

/// Sends the statements of a body: counts those that were answered and the rows that they read or changed, and clocks
/// each where the caller asked for that.
pub(crate) struct Work<'a, K> {
    pub(crate) statements: u32,
    pub(crate) rows: u32,
    times: &'a mut StatementClock,
    clock: &'a K,
}

/// How a body ended that was not stopped.
pub(crate) enum BodyEnd {
    Commit(Outcome),
    RollBack(Outcome),
}

/// Why a body was stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// What Diesel says, which each engine reads in its own way.
    Failed(Error),
    /// What we say.
    Fault(Fault),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

impl<'a, K: Clock> Work<'a, K> {
    /// Nothing done so far; `times` has been started for the call.
    pub(crate) fn new(times: &'a mut StatementClock, clock: &'a K) -> Work<'a, K> {
        Work { statements: 0, rows: 0, times, clock }
    }

    /// The row of a statement that must find one; `what` names it where it does not.
    pub(crate) fn one<T>(
        &mut self,
        stmt: Stmt,
        what: &str,
        send: impl FnOnce() -> QueryResult<T>,
    ) -> Result<T, Stop> {
        self.perhaps(stmt, send)?.ok_or_else(|| bad_data(format!("no {what} where there must be one")))
    }

    /// The row of a statement, if there is one.
    pub(crate) fn perhaps<T>(
        &mut self,
        stmt: Stmt,
        send: impl FnOnce() -> QueryResult<T>,
    ) -> Result<Option<T>, Stop> {
        let row = self.sent(stmt, send).optional()?;
        self.count(usize::from(row.is_some()));
        Ok(row)
    }

    /// Every row of a statement.
    pub(crate) fn all<T>(
        &mut self,
        stmt: Stmt,
        send: impl FnOnce() -> QueryResult<Vec<T>>,
    ) -> Result<Vec<T>, Stop> {
        let rows = self.sent(stmt, send)?;
        self.count(rows.len());
        Ok(rows)
    }

    /// How many rows a statement has changed.
    pub(crate) fn changed(
        &mut self,
        stmt: Stmt,
        send: impl FnOnce() -> QueryResult<usize>,
    ) -> Result<usize, Stop> {
        let rows = self.sent(stmt, send)?;
        self.count(rows);
        Ok(rows)
    }

    /// Sends `stmt`, whose name is that of the statement of the plain style that does the same: from Diesel's making the
    /// query until its rows are read.
    fn sent<T>(&mut self, stmt: Stmt, send: impl FnOnce() -> T) -> T {
        let asked = self.times.asked(self.clock);
        let answer = send();
        self.times.answered(stmt as usize, asked, self.clock);
        answer
    }

    fn count(&mut self, rows: usize) {
        self.statements += 1;
        self.rows += rows as u32;
    }
}

/// The stored data breaks an assumption.
#[cold]
pub(crate) fn bad_data(what: impl Into<String>) -> Stop {
    Stop::Fault(Fault::defect(DefectKind::BadData, what))
}

/// A number that is never negative.
pub(crate) fn id(number: i32) -> Result<u32, Stop> {
    u32::try_from(number).map_err(|_| bad_data(format!("{number} where a number from 0 is stored")))
}

/// A text of the standard's length.
pub(crate) fn text<const N: usize>(value: &str) -> Result<Text<N>, Stop> {
    Text::from(value).map_err(|_| bad_data(format!("a text longer than {N}")))
}
