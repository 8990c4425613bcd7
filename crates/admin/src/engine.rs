//! What the control plane needs of a technology: each has one module, and nothing outside it knows which one it is.

use crate::audit::Asking;
use crate::checksum::Checksum;
use crate::error::{Cause, CauseKind, Error};
use crate::hold::LockAttempt;
use crate::loading::Signals;
use crate::{AuditGroup, AuditRows, Contents, Found, LoadPlan};
use model::rows::{Dataset, Table};
use model::{Nanos, Product};
use observe::EngineProbe;
use sql::{DbUrl, Value};
use std::sync::Arc;

/// What a query gives.
pub(crate) type Rows = Vec<Vec<Value>>;
/// Ends whatever a connection is doing, from another thread. What it misses is met when it is called again.
pub(crate) type Canceller = Box<dyn Fn() + Send + Sync>;

/// Ends what several connections are doing. Side by side, so that a server that does not answer is waited for only once.
pub(crate) fn cancel(cancellers: &[Canceller]) {
    std::thread::scope(|scope| cancellers.iter().for_each(|cancel| drop(scope.spawn(cancel))));
}

/// Questions that each engine takes in its own words; one row or many, as said.
pub(crate) struct Queries {
    /// Names of all tables and views but for the engine's own, as unqualified names find them.
    pub(crate) tables: &'static str,
    /// Table, column, type, and whether a row must give it: a row a column, by table and place.
    pub(crate) columns: &'static str,
    /// How many foreign keys are declared.
    pub(crate) references: &'static str,
    /// Bytes on disk, the log aside.
    pub(crate) bytes: &'static str,
    /// Limits on sessions: a name, the most, and how many are open. One row per limit.
    pub(crate) sessions: &'static str,
    /// Settings that are the same for all sessions, as adapters list them: a name and a value.
    pub(crate) settings: &'static str,
    /// How tables keep their rows: see `kept`.
    pub(crate) kept: &'static str,
    /// The most bytes of a statement with its values; no row where there is no such limit.
    pub(crate) statement_max: &'static str,
}

/// One database of some technology.
pub(crate) trait Engine: Send + Sync {
    /// How messages name it.
    fn place(&self) -> String;
    /// How messages name what an unfinished load leaves.
    fn unfinished(&self) -> String {
        self.place()
    }
    /// How messages say that nothing is there.
    fn nothing(&self) -> String;
    /// What to do about something in the way that is not ours.
    fn advice(&self) -> &'static str {
        "name another database, or empty it yourself"
    }
    /// How messages say that someone has it open.
    fn used(&self) -> &'static str {
        "in use by others"
    }
    fn queries(&self) -> &'static Queries;

    /// What is there, without changing it.
    fn look(&self) -> Result<Found, Cause>;
    /// Takes the lock of a run, which others may share if `shared`.
    fn hold(&self, _shared: bool) -> Result<LockAttempt, Cause> {
        Ok(LockAttempt::Unknown)
    }
    /// See [`Conn::product`].
    fn product(&self) -> Result<Option<Product>, Cause> {
        Ok(None)
    }
    /// Finds out that one connection is one session of the engine.
    fn ensure_direct(&self) -> Result<(), Cause> {
        Ok(())
    }
    /// Names each table whose rows differ between nodes, and the node; nothing where there are not several nodes that keep all rows.
    fn differing(&self) -> Result<Option<Vec<String>>, Cause> {
        Ok(None)
    }
    /// Makes an empty database.
    fn create(&self) -> Result<(), Error>;
    /// Removes the database with everything in it.
    fn remove(&self) -> Result<(), Error>;
    /// Removes what a load of ours has made.
    fn clear(&self) -> Result<(), Error>;
    /// Copies a database over another. `ours` where the engine is.
    fn copy_to(&self, to: &DbUrl, ours: bool) -> Result<(), Error>;

    /// A connection that cannot write.
    fn reader(&self) -> Result<Box<dyn Conn>, Cause>;
    /// Connections that all see one state, for as long as the guard lives.
    fn auditors(&self, groups: &[AuditGroup], threads: usize, deadline: Nanos) -> Result<Auditors, Cause>;
    /// Why nothing could be read.
    fn unread(&self, source: Cause) -> Error {
        self.failed("read", source)
    }
    /// Bytes on disk, the log and its neighbours aside.
    fn bytes(&self) -> Option<u64> {
        let rows = self.reader().ok()?.rows(self.queries().bytes, &[], 1).ok()?;
        u64::try_from(rows.first()?.first()?.int()?).ok()
    }
    /// Asks about the engine while a trial runs; `None` where no one is to be asked.
    fn probe(&self) -> Option<Box<dyn EngineProbe>>;

    /// Takes the right to load, and says what is there now that no one else loads; [`Error::Running`] where someone does.
    fn claim<'a>(&'a self, load: &LoadPlan) -> Result<(Box<dyn Claim + 'a>, Found), Error>;
    /// Connections for a load that should use `threads`: to store rows, and to read them back.
    fn connections(&self, threads: usize) -> (usize, usize);
    /// Share of a load's time each phase takes, in the order of [`Phase::ALL`](crate::Phase::ALL); measured at 10 warehouses
    /// of TPC-C.
    fn shares(&self) -> [f64; 4];
    /// Why the place cannot be used for a load.
    fn unusable(&self, source: Cause) -> Error {
        self.failed("open", source)
    }

    /// Fails where what would be replaced is not ours, or is being loaded.
    fn ensure_ours(&self) -> Result<(), Error> {
        match self.look() {
            Err(cause) if cause.kind == CauseKind::Missing => Ok(()),
            Err(source) => Err(self.failed("read", source)),
            Ok(Found::Foreign { what, .. }) => {
                Err(Error::Foreign { place: self.place(), what, advice: self.advice() })
            }
            Ok(Found::Incomplete { running: true, .. }) => {
                Err(Error::InUse { place: self.unfinished(), how: self.used() })
            }
            Ok(Found::Absent | Found::Incomplete { .. } | Found::Complete(_)) => Ok(()),
        }
    }

    /// The error for what was said while `doing`.
    fn failed(&self, doing: &'static str, source: Cause) -> Error {
        let place = self.place();
        match source.kind {
            CauseKind::Full => Error::Full { place, written: 0 },
            // Why something cannot even be looked at is told in the engine's own words.
            _ if matches!(doing, "open" | "read") => Error::Failed { doing, place, source },
            CauseKind::InUse => Error::InUse { place, how: self.used() },
            CauseKind::Missing => Error::Missing(format!("database {place}")),
            CauseKind::Exists => Error::Exists(place),
            _ => Error::Failed { doing, place, source },
        }
    }
}

/// What audits are asked through.
pub(crate) struct Auditors {
    /// One for each group, or one for each thread.
    pub(crate) conns: Vec<Box<dyn Conn>>,
    /// What holds the state still.
    pub(crate) guard: Option<Box<dyn Conn>>,
}

/// The right to load, and what is done with it. It ends when this is dropped.
pub(crate) trait Claim: Send {
    /// Ends what the claim itself asks of an engine.
    fn canceller(&self) -> Option<Canceller>;
    /// Says that a load begins, takes away what an earlier one left, and gives notes for the user.
    fn begin(&mut self, tables: &[&str]) -> Result<Vec<String>, Cause>;
    /// A connection that stores rows, or one that reads them back.
    fn connect(&self, reads: bool) -> Result<Box<dyn Conn>, Cause>;
    /// Waits until what was stored is on disk, as far as that is for us to ask.
    fn flush(&mut self) -> Result<(), Cause>;
    /// Says that all is there; the last change that a load makes. Gives its bytes, where they are known.
    fn complete(&mut self, contents: &Contents) -> Result<Option<u64>, Cause>;
    /// Removes what was written: of a load that failed and was not given up.
    fn abandon(&mut self, tables: &[&str]);
}

/// A table to be stored.
pub(crate) struct Fill<'a> {
    pub(crate) dataset: &'a Arc<dyn Dataset>,
    /// Its number in the data set.
    pub(crate) number: usize,
    /// Threads that may make rows, where one connection stores all tables.
    pub(crate) threads: usize,
    pub(crate) signals: &'a Arc<Signals>,
}

impl Fill<'_> {
    pub(crate) fn table(&self) -> &Table {
        &self.dataset.tables()[self.number]
    }
}

/// Tables that have been made.
pub(crate) struct Making<'a> {
    pub(crate) tables: &'a [Table],
    /// The statements that make their indexes.
    pub(crate) indexes: &'a [&'a str],
    /// Whether foreign keys are to be made.
    pub(crate) references: bool,
    /// See [`Dataset::not_on_spider`].
    pub(crate) not_on_spider: Option<&'a str>,
}

/// A connection of the control plane: used by one thread at a time, and waited for.
pub(crate) trait Conn: Send {
    /// Executes statements whose rows no one wants.
    fn batch(&mut self, statements: &str) -> Result<(), Cause>;
    /// The first `rows_max` rows of a query, whose parameters are written `?1`, `?2`, …
    fn rows(&mut self, sql: &str, params: &[i64], rows_max: usize) -> Result<Rows, Cause>;
    /// How the engine would execute each of these statements, in one line; nothing of one that it does not explain. Their parameters
    /// are written `?1`, `?2`, …
    fn plans(&mut self, statements: &[&str]) -> Result<Vec<Option<String>>, Cause> {
        Ok(vec![None; statements.len()])
    }
    /// What only speaks the protocol of an engine that we know.
    fn product(&self) -> Option<Product> {
        None
    }
    /// Says that this connection is one of a run, where the engine's sessions are listed without their names.
    fn is_of_run(&mut self) {}
    /// Begins a transaction that reads what is committed now, until the connection ends; false where it cannot.
    fn hold(&mut self) -> Result<bool, Cause>;
    /// Writes names and values into the table of the record, over those of the same names.
    fn note(&mut self, pairs: &[(&str, &str)]) -> Result<(), Cause>;
    fn canceller(&self) -> Canceller;
    /// Answers a group of audits.
    fn audit(&mut self, group: &AuditGroup, asking: &Asking<'_>) -> Vec<AuditRows>;

    /// Makes a table, empty and without indexes; `_spread` where a workload names the column that its rows are spread by.
    fn create(&mut self, statement: &str, _spread: bool) -> Result<(), Cause> {
        self.batch(statement)
    }
    /// Changes tables that have been made and are still empty as a setting of the engine asks, or spreads them over its data nodes. Whether
    /// it has made the indexes, too.
    fn prepare(&mut self, _making: &Making<'_>) -> Result<bool, Cause> {
        Ok(false)
    }
    /// Stores all rows of an empty table, in the order of its key.
    fn fill(&mut self, fill: &Fill<'_>) -> Result<Checksum, Cause>;
    /// Gathers statistics of a table, once its indexes are there.
    fn analyze(&mut self, table: &str) -> Result<(), Cause>;
    /// Conditions that cut a table into parts, so that several connections end at about the same time. Each row is in one.
    fn parts(&mut self, table: &Table) -> Result<Vec<String>, Cause>;
    /// Reads the rows of a part back.
    fn read_back(&mut self, table: &Table, part: &str, signals: &Signals) -> Result<Checksum, Cause>;
}

/// Parts that a table is cut into along its key.
const PARTS: i64 = 16;

/// Conditions that cut a table into parts along its key, whose columns are `keys`; a single one that holds everywhere where
/// the key is not made of whole numbers. `edges` gives the lowest and highest value of a column under a condition.
pub(crate) fn parts_of_key(
    keys: &[String],
    mut edges: impl FnMut(&str, &str) -> Result<Option<(i64, i64)>, Cause>,
) -> Result<Vec<String>, Cause> {
    let mut fixed = String::from("true");
    for (at, key) in keys.iter().enumerate() {
        let Some((low, high)) = edges(key, &fixed)? else { break };
        if low == high && at + 1 < keys.len() {
            fixed = format!("{fixed} and {key} = {low}");
            continue;
        }
        let parts = PARTS.min(high - low + 1).max(1);
        let start =
            |part: i64| low + (i128::from(high - low + 1) * i128::from(part) / i128::from(parts)) as i64;
        return Ok((0..parts)
            .map(|part| match part {
                0 if parts == 1 => fixed.clone(),
                // The outer parts are open, so that no row can be outside of all.
                0 => format!("{fixed} and {key} < {}", start(1)),
                _ if part == parts - 1 => format!("{fixed} and {key} >= {}", start(part)),
                _ => format!("{fixed} and {key} >= {} and {key} < {}", start(part), start(part + 1)),
            })
            .collect());
    }
    Ok(vec!["true".into()])
}
