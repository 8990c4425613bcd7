//! A connection and the statements that are prepared on it: binding, running, decoding.

use model::{Cents, DefectKind, Fault};
use rusqlite::types::{Null, ValueRef};
use rusqlite::{Connection, Row, Statement};
use self_cell::self_cell;
use sql::{ColumnError, Columns, Param, Read, StmtId, Take, sqlite_fault};

type Statements<'a> = Vec<Statement<'a>>;

self_cell!(
    struct Cell {
        owner: Connection,
        #[not_covariant]
        dependent: Statements,
    }
);

/// The statements of a connection are used by whoever owns the connection, and go with it.
pub(crate) struct Prepared {
    cell: Cell,
    /// How many of the statements are the workload's; ours stand behind them.
    workload_statements: usize,
}

// SAFETY: `Statement` is not `Send` because it borrows its `Connection`, which is not `Sync`. Both live in one cell that
// is only ever moved and used as a whole, through `&mut`; SQLite is compiled with mutexes for its globals (serialized
// or multi-thread mode), which allows a connection and its statements to move between threads.
#[expect(unsafe_code, reason = "a connection and its statements move together")]
unsafe impl Send for Prepared {}

impl Prepared {
    /// Prepares the workload's statements, whose number is their place, and `control` behind them.
    pub(crate) fn new(
        connection: Connection,
        statements: &[String],
        control: &[&str],
    ) -> rusqlite::Result<Prepared> {
        let cell = Cell::try_new(connection, |connection| {
            let texts = statements.iter().map(String::as_str).chain(control.iter().copied());
            texts.map(|text| connection.prepare(text)).collect()
        })?;
        Ok(Prepared { cell, workload_statements: statements.len() })
    }

    /// How many of the statements are the workload's.
    pub(crate) fn workload_statements(&self) -> usize {
        self.workload_statements
    }

    /// Runs the statement of that place among `control`.
    #[inline]
    pub(crate) fn control(&mut self, place: usize) -> rusqlite::Result<()> {
        let index = self.workload_statements + place;
        self.cell.with_dependent_mut(|_, statements| statements[index].raw_execute()).map(drop)
    }

    #[cfg(test)]
    pub(crate) fn limit_pages(&self, pages: u32) {
        self.cell
            .borrow_owner()
            .pragma_update(None, "max_page_count", pages)
            .expect("a setting of a connection");
    }

    pub(crate) fn in_transaction(&self) -> bool {
        !self.cell.borrow_owner().is_autocommit()
    }

    /// Binds and uses a statement. Faults are made where they happen, and so cost only when they do.
    #[inline]
    fn run<T>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        use_it: impl FnOnce(&mut Statement<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.cell.with_dependent_mut(|_, statements| {
            let statement = &mut statements[usize::from(stmt.0)];
            for (index, param) in (1..).zip(params) {
                match *param {
                    Param::Int(value) | Param::Cents(Cents(value)) => {
                        statement.raw_bind_parameter(index, value)
                    }
                    Param::Text(value) => statement.raw_bind_parameter(index, value),
                    Param::Null => statement.raw_bind_parameter(index, Null),
                }
                .map_err(engine)?;
            }
            use_it(statement)
        })
    }

    #[inline]
    pub(crate) fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        self.run(stmt, params, |statement| Ok(statement.raw_execute().map_err(engine)? as u64))
    }

    #[inline]
    pub(crate) fn row<T>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        self.run(stmt, params, |statement| {
            let mut rows = statement.raw_query();
            match rows.next().map_err(engine)? {
                Some(row) => Ok(Some(read(&Current(row))?)),
                None => Ok(None),
            }
        })
    }

    #[inline]
    pub(crate) fn fold<S>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        state: &mut S,
        take: Take<S>,
    ) -> Result<(), Fault> {
        self.run(stmt, params, |statement| {
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next().map_err(engine)? {
                take(state, &Current(row))?;
            }
            Ok(())
        })
    }
}

/// The fault of a statement.
#[cold]
fn engine(error: rusqlite::Error) -> Fault {
    fault(&error, false)
}

/// What an error of rusqlite's means for a call.
#[cold]
pub(crate) fn fault(error: &rusqlite::Error, at_commit: bool) -> Fault {
    match error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            sqlite_fault(failure.extended_code, at_commit, message.as_deref().unwrap_or("no message"))
        }
        rusqlite::Error::SqlInputError { error, msg, .. } => {
            sqlite_fault(error.extended_code, at_commit, msg)
        }
        other => Fault::defect(DefectKind::Engine, other.to_string()),
    }
}

/// The row that a statement stands on.
struct Current<'a>(&'a Row<'a>);

impl Current<'_> {
    #[inline]
    fn value(&self, index: usize) -> Result<ValueRef<'_>, ColumnError> {
        self.0.get_ref(index).map_err(|_| ColumnError::new(index, "there"))
    }
}

impl Columns for Current<'_> {
    fn int(&self, index: usize) -> Result<i64, ColumnError> {
        match self.value(index)? {
            ValueRef::Integer(value) => Ok(value),
            ValueRef::Null | ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => {
                Err(ColumnError::new(index, "a whole number"))
            }
        }
    }

    fn int_or_null(&self, index: usize) -> Result<Option<i64>, ColumnError> {
        match self.value(index)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(value) => Ok(Some(value)),
            ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => {
                Err(ColumnError::new(index, "a whole number or null"))
            }
        }
    }

    /// Money and rates are stored as whole numbers of their last digit.
    fn scaled(&self, index: usize, _digits: u32) -> Result<i64, ColumnError> {
        self.int(index)
    }

    fn text(&self, index: usize) -> Result<&str, ColumnError> {
        match self.value(index)? {
            ValueRef::Text(bytes) => {
                std::str::from_utf8(bytes).map_err(|_| ColumnError::new(index, "valid UTF-8"))
            }
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
                Err(ColumnError::new(index, "a text"))
            }
        }
    }
}
