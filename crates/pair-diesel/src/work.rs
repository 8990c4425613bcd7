//! What the body of a transaction counts, and how it can end.

use diesel::result::Error;
use diesel::{OptionalExtension as _, QueryResult};
use model::{DefectKind, Fault};
use workload_tpcc::{Outcome, Text};

/// Statements that were answered, and the rows that they read or changed.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Work {
    pub(crate) statements: u32,
    pub(crate) rows: u32,
}

/// How a body ended that was not stopped.
pub(crate) enum Ended {
    Commit(Outcome),
    RollBack(Outcome),
}

/// Why a body was stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// What Diesel says, which each engine reads in its own way.
    Said(Error),
    /// What we say.
    Fault(Fault),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Said(error)
    }
}

impl Work {
    /// The row of a statement that must find one; `what` names it where it does not.
    pub(crate) fn one<T>(&mut self, what: &str, answer: QueryResult<T>) -> Result<T, Stop> {
        self.perhaps(answer)?.ok_or_else(|| bad_data(format!("no {what} where there must be one")))
    }

    /// The row of a statement, if there is one.
    pub(crate) fn perhaps<T>(&mut self, answer: QueryResult<T>) -> Result<Option<T>, Stop> {
        let row = answer.optional()?;
        self.count(usize::from(row.is_some()));
        Ok(row)
    }

    /// Every row of a statement.
    pub(crate) fn all<T>(&mut self, answer: QueryResult<Vec<T>>) -> Result<Vec<T>, Stop> {
        let rows = answer?;
        self.count(rows.len());
        Ok(rows)
    }

    /// How many rows a statement has changed.
    pub(crate) fn changed(&mut self, answer: QueryResult<usize>) -> Result<usize, Stop> {
        let rows = answer?;
        self.count(rows);
        Ok(rows)
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
