//! The control plane of a database, whatever its engine.

use crate::engine::Engine;
use crate::error::{Cause, CauseKind, Error};
use crate::hold::LockAttempt;
use crate::row_storage::{self, RowStorage};
use crate::server::not_copied;
use crate::{AuditGroup, Audited, Found, LoadPlan, LoadProgress, Loaded, mariadb, postgres, sqlite};
use model::{Nanos, Product};
use observe::EngineProbe;
use sql::{ColumnInfo, DbUrl, Dialect, Value};
use std::sync::atomic::AtomicBool;

/// A database that keeps rows: a file, or a database on a server. Nothing is opened before it is needed.
pub struct Store(pub(crate) Box<dyn Engine>);

/// The store at an address.
pub fn store(url: impl Into<DbUrl>) -> Store {
    Store(match url.into() {
        DbUrl::Sqlite(url) => Box::new(sqlite::File(url)),
        DbUrl::Server(url) => match url.dialect {
            Dialect::MySql => Box::new(mariadb::Database::new(url)),
            Dialect::Postgres | Dialect::Sqlite => Box::new(postgres::Database(url)),
        },
    })
}

impl Store {
    /// How messages say that nothing is stored there.
    pub fn nothing(&self) -> String {
        self.0.nothing()
    }

    /// Says what is there, and changes nothing.
    ///
    /// # Errors
    /// When it cannot be read: no permission, no one answers, we are not let in, locked for longer than the URL says.
    pub fn inspect(&self) -> Result<Found, Error> {
        self.0.look().map_err(|source| self.0.failed("read", source))
    }

    /// Makes the database, empty; a file needs no making.
    ///
    /// # Errors
    /// For whatever the server says: above all that the user may not.
    pub fn create(&self) -> Result<(), Error> {
        self.0.create()
    }

    /// Removes the database with everything in it, ours or not, and whatever lies next to a file. None there is no error.
    ///
    /// # Errors
    /// [`Error::InUse`] when others are connected to it, and for whatever the system or the server says.
    pub fn remove(&self) -> Result<(), Error> {
        self.0.remove()
    }

    /// Removes what a load of ours has made, also an interrupted one; a server's database stays. Nothing there is no error.
    ///
    /// # Errors
    /// When what is there is not ours, when someone loads there or uses it, and for whatever the server says.
    pub fn clear(&self) -> Result<(), Error> {
        self.0.clear()
    }

    /// Copies a database over another, on the same server or in the same file system; what was loaded there before is gone,
    /// and what is not ours is refused. `ours` says that the engine is: then the copy may go through its log, and what that
    /// leaves unflushed is for the caller to flush. This process must have no file of it open.
    ///
    /// # Errors
    /// When there is nothing to copy, either is in use, what is in the way is not ours, or they are not on one server; when
    /// space runs out, and for whatever the system or the server says.
    pub fn copy_to(&self, to: impl Into<DbUrl>, ours: bool) -> Result<(), Error> {
        // A private engine is always one of those that can, and a session in the database would be in the way of its copy.
        if !ours {
            self.ensure_copied()?;
        }
        self.0.copy_to(&to.into(), ours)
    }

    /// Whether a load would be begun, or is there already, by what is there now; changes nothing.
    pub fn admits(&self, plan: &LoadPlan) -> Result<(), Error> {
        crate::load::admits(self.0.as_ref(), plan)
    }

    /// Loads, or finds that it is there already. A server's database must exist, but for MariaDB, where it is made.
    ///
    /// `progress` is called on this thread about ten times a second. `stop` ends the load within moments, on the server too,
    /// and leaves what was written, which [`Store::inspect`] recognises.
    ///
    /// # Errors
    /// See [`Error`]; a database of ours that is not to be replaced, and whatever is not ours, stay as they are.
    pub fn load(
        &self,
        plan: LoadPlan,
        progress: &mut dyn FnMut(LoadProgress),
        stop: &AtomicBool,
    ) -> Result<Loaded, Error> {
        crate::load::load(self.0.as_ref(), &plan, progress, stop)
    }

    /// All rows of one query, whose parameters are written `?1`, `?2`, … It cannot write.
    pub fn rows(&self, sql: &str, params: &[i64]) -> Result<Vec<Vec<Value>>, Error> {
        let rows = || self.0.reader()?.rows(sql, params, usize::MAX);
        rows().map_err(|source| self.0.unread(source))
    }

    /// The rows of one query for each of several sets of parameters, over one connection.
    pub fn rows_each(&self, sql: &str, params: &[Vec<i64>]) -> Result<Vec<Vec<Vec<Value>>>, Error> {
        let rows = || {
            let mut reader = self.0.reader()?;
            let rows = params.iter().map(|params| reader.rows(sql, params, usize::MAX));
            rows.collect::<Result<Vec<_>, _>>()
        };
        rows().map_err(|source| self.0.unread(source))
    }

    /// All rows of a query about the engine itself; none of one that answers it for the sake of clients, if at all.
    fn of_engine(&self, sql: &str) -> Result<Vec<Vec<Value>>, Error> {
        let rows = || {
            let mut reader = self.0.reader()?;
            match reader.product().is_some_and(|product| !product.is_extension()) {
                true => Ok(Vec::new()),
                false => reader.rows(sql, &[], usize::MAX),
            }
        };
        rows().map_err(|source| self.0.unread(source))
    }

    /// What it is that only speaks PostgreSQL's or MySQL's protocol, or is an extension of it.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub fn product(&self) -> Result<Option<Product>, Error> {
        self.0.product().map_err(|source| self.0.unread(source))
    }

    /// The tables of which nodes of a cluster have other rows than the first, each with where: `accounts at 10.0.0.2:3306`. Each node first
    /// applies what has been committed on the others; calls that are made meanwhile may look like a difference. Nothing where the
    /// address is not of several nodes of which each keeps all rows.
    ///
    /// # Errors
    /// A node cannot be reached or asked.
    pub fn differing(&self) -> Result<Option<Vec<String>>, Error> {
        self.0.differing().map_err(|source| self.0.unread(source))
    }

    /// Runs every group through plain connections, up to `threads` at a time, and stops at `deadline` (a span from now) or
    /// when `stop` is set: running statements are ended at the engine too, and what is missing says so in its rows.
    ///
    /// All connections see one state. PostgreSQL's others may go on writing meanwhile; SQLite's write lock is held, and
    /// MariaDB's tables are locked for the moment in which the state is taken. Where we may not lock, the users of the
    /// database are trusted to leave it alone. Nothing can be written but temporary tables.
    ///
    /// # Errors
    /// When a lock cannot be had, or no connection can be opened.
    pub fn audit_all(
        &self,
        groups: &[AuditGroup],
        threads: usize,
        deadline: Nanos,
        stop: &AtomicBool,
    ) -> Result<Audited, Error> {
        let threads = threads.clamp(1, groups.len().max(1));
        let auditors = self.0.auditors(groups, threads, deadline).map_err(|source| self.0.unread(source))?;
        Ok(crate::audit::audit_all(auditors, groups, threads, deadline, stop))
    }

    /// The columns of all tables that unqualified names mean, whoever made them, by table and place.
    pub fn columns(&self) -> Result<Vec<ColumnInfo>, Error> {
        let column = |row: Vec<Value>| match <[Value; 4]>::try_from(row) {
            Ok([Value::Text(table), Value::Text(column), Value::Text(kind), must_be_given]) => {
                Some(ColumnInfo { table, column, kind, must_be_given: must_be_given == Value::Int(1) })
            }
            _ => None,
        };
        Ok(self.rows(self.0.queries().columns, &[])?.into_iter().filter_map(column).collect())
    }

    /// Whether foreign keys are declared among the tables.
    pub fn has_references(&self) -> Result<bool, Error> {
        let found = self.rows(self.0.queries().references, &[])?;
        Ok(found.first().and_then(|row| row.first()?.int()).is_some_and(|count| count > 0))
    }

    /// Settings that are the same for all sessions, by the names that adapters list them under.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn settings(&self) -> Result<Vec<(String, String)>, Error> {
        let setting = |row: Vec<Value>| match <[Value; 2]>::try_from(row) {
            Ok([Value::Text(name), Value::Text(value)]) => Some((name, value)),
            _ => None,
        };
        Ok(self.of_engine(self.0.queries().settings)?.into_iter().filter_map(setting).collect())
    }

    /// How its engine would execute each of these statements, in one line; nothing of one that it does not explain, as of all in a
    /// SQLite file.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn plans(&self, statements: &[&str]) -> Result<Vec<Option<String>>, Error> {
        let mut conn = self.0.reader().map_err(|source| self.0.unread(source))?;
        conn.is_of_run();
        conn.plans(statements).map_err(|source| self.0.unread(source))
    }

    /// How its tables keep their rows; nothing of a file, whose connections decide that.
    pub fn kept(&self) -> Result<Vec<RowStorage>, Error> {
        Ok(row_storage::read(&self.of_engine(self.0.queries().kept)?))
    }

    /// The most bytes that its server takes of a statement with its values; nothing where it has no such limit.
    pub fn statement_max(&self) -> Result<Option<u64>, Error> {
        let rows = self.of_engine(self.0.queries().statement_max)?;
        Ok(rows.first().and_then(|row| row.first()?.int()).and_then(|bytes| bytes.try_into().ok()))
    }

    /// Takes the right to run on the database, which others may have too if `shared`: a lock of its server's. Runs on files have locks of
    /// the system's.
    pub fn hold(&self, shared: bool) -> Result<LockAttempt, Error> {
        self.0.hold(shared).map_err(|source| self.0.unusable(source))
    }

    /// Finds out that copies of it can be made, as [`Store::copy_to`] would.
    ///
    /// # Errors
    /// It is on an engine of whose databases no copies are made.
    pub fn ensure_copied(&self) -> Result<(), Error> {
        // Where the server does not answer, the error of the copy explains why.
        match self.0.product() {
            Ok(Some(product)) => {
                Err(self.0.failed("copy", Cause::new(CauseKind::Unsupported, not_copied(product))))
            }
            _ => Ok(()),
        }
    }

    /// Finds out that one connection is one session of the server: not where a pooler answers, which may give each transaction another
    /// one. Only [`Store::inspect`], [`Store::rows`], [`Store::audit_all`] and what they tell work there.
    pub fn ensure_direct(&self) -> Result<(), Error> {
        self.0.ensure_direct().map_err(|source| self.0.unusable(source))
    }

    /// Limits on sessions of the server: what each is called, the most, and how many are open, this one included. None of a file.
    ///
    /// # Errors
    /// The database cannot be read, or the server does not say.
    pub fn sessions(&self) -> Result<Vec<(String, i64, i64)>, Error> {
        let rows = self.of_engine(self.0.queries().sessions)?;
        let limit = |row: &Vec<Value>| match &row[..] {
            [Value::Text(name), most, open] => Some((name.clone(), most.int()?, open.int()?)),
            _ => None,
        };
        Ok(rows.iter().filter_map(limit).collect())
    }

    /// Bytes on disk, the log and its neighbours aside; nothing where the engine does not tell us.
    pub fn bytes(&self) -> Option<u64> {
        self.0.bytes()
    }

    /// Asks the engine about itself while a trial runs; SQLite has no one to ask. Nothing is opened yet.
    pub fn probe(&self) -> Option<Box<dyn EngineProbe>> {
        self.0.probe()
    }
}
