//! Loading: tables are filled side by side, read back, and declared complete last of all.
//!
//! The record says `loading` from before the first table is made until all has been read back, so a load that is cut short
//! is recognised, whatever cut it, and is started anew and never repaired.

use super::binary::{self, Form};
use super::error::{Cause, LoadError};
use super::inspect::look;
use super::record::{self, Recorded};
use super::session::{Canceller, Session, quoted};
use super::verify;
use super::writer::{self, Work, share_out};
use crate::checksum::Checksum;
use crate::loading::{self, Expected, Signals, Watching, expect, schema_print, threads};
use crate::{Contents, Found, LoadPlan, LoadProgress, Loaded, Phase, PhaseTimes, TableContents};
use measure::Monotonic;
use model::{Clock, Nanos};
use sql::ServerUrl;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_postgres::error::SqlState;

/// Share of a load's time each phase takes, in the order of [`Phase::ALL`]; measured at 10 warehouses of TPC-C.
const SHARES: [f64; 4] = [0.50, 0.22, 0.23, 0.05];
/// Sessions of a load: two even on one core, since server and client take turns; no more than a server has to spare.
const SESSIONS: (usize, usize) = (2, 16);
/// Settings of the sessions that build indexes. Memory is taken once for each.
const INDEX_SETTINGS: &str = "set maintenance_work_mem = '128MB'; set synchronous_commit = on";

/// What the threads of a load share.
pub(crate) struct Crew<'a> {
    pub(crate) signals: &'a Signals,
    cancellers: Mutex<Vec<Canceller>>,
}

impl Crew<'_> {
    fn join(&self, session: &Session) {
        self.cancellers.lock().expect("no holder panics").push(session.canceller());
    }

    /// Ends whatever the server does for us.
    fn cancel(&self) {
        let cancellers = self.cancellers.lock().expect("no holder panics").clone();
        cancellers.iter().for_each(Canceller::cancel);
    }
}

/// Loads a database, or finds that it is there already. The database itself must exist: see
/// [`create_database`](super::create_database).
///
/// `progress` is called on this thread about ten times a second. `stop` ends the load within moments, on the server too, and
/// leaves the tables with a record that says `loading`, which [`inspect`](super::inspect) recognises.
///
/// # Errors
/// See [`LoadError`]; a database of ours that is not to be replaced, and any that is not ours, stay as they are.
pub fn load(
    url: &ServerUrl,
    plan: LoadPlan,
    progress: &mut dyn FnMut(LoadProgress),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    let (plan, schema) = (&plan, schema_print(&plan.schema));
    let place = |source| LoadError::Place { database: url.to_string(), source };
    let session = Session::open(url).map_err(place)?;
    if let Admitted::There(contents) = admit(url, plan, schema, &session)? {
        return Ok(Loaded::AlreadyThere(contents));
    }
    if stop.load(Ordering::Relaxed) {
        return Err(stopped(url, plan));
    }
    let signals = Signals::default();
    let fail = |doing| move |source| failure(doing, url, source, 0);
    if !record::claim(&session).map_err(fail("lock"))? {
        return Err(LoadError::Running(url.to_string()));
    }
    let begin = || {
        // Again, since somebody may have loaded between looking and locking.
        match admit(url, plan, schema, &session)? {
            Admitted::There(contents) => return Ok(Some(Loaded::AlreadyThere(contents))),
            Admitted::ToReplace(recorded) => record::remove(&session, &recorded).map_err(fail("empty"))?,
            Admitted::Empty => {}
        }
        let names: Vec<&str> = plan.dataset.tables().iter().map(|table| table.name).collect();
        record::begin(&session, &names).map_err(fail("write to"))?;
        Ok(None)
    };
    let begun = begin();
    if !matches!(begun, Ok(None)) {
        record::release(&session);
    }
    if let Some(there) = begun? {
        return Ok(there);
    }
    let outcome = supervised(url, plan, session, schema, &signals, progress, stop);
    match outcome {
        // The user may look at it; `fresh` or `remove` takes it away.
        Err(LoadError::Stopped { .. }) | Ok(_) => {}
        // Full disks above all: give the room back at once. The first failure is the one to report.
        Err(_) => drop(super::place::remove(url)),
    }
    outcome
}

/// What a load finds where it may go on.
enum Admitted {
    Empty,
    ToReplace(Recorded),
    There(Box<Contents>),
}

/// Decides from what is there: go on, done already, or an error.
fn admit(url: &ServerUrl, plan: &LoadPlan, schema: u64, session: &Session) -> Result<Admitted, LoadError> {
    let database = url.to_string();
    let start_anew = plan.start_anew.clone();
    let (found, recorded) =
        look(session, url).map_err(|source| LoadError::Place { database: database.clone(), source })?;
    match found {
        Found::Absent => Ok(Admitted::Empty),
        // Once the lock is ours, nobody else runs: then `running` is ourselves.
        Found::Incomplete { running: true, .. } if !is_ours(session) => Err(LoadError::Running(database)),
        Found::Incomplete { .. } | Found::Complete(_) if plan.fresh => {
            Ok(recorded.map_or(Admitted::Empty, Admitted::ToReplace))
        }
        Found::Incomplete { .. } => Err(LoadError::Interrupted { database, start_anew }),
        Found::Foreign { what, .. } => Err(LoadError::Foreign { database, what }),
        Found::Complete(there) if there.record.same_rows(&plan.record) && there.schema == schema => {
            Ok(Admitted::There(there))
        }
        Found::Complete(there) => {
            let note = match there.record.same_rows(&plan.record) {
                true => ", which now has another schema",
                false if there.record.to_string() == plan.record.to_string() => ", of another size",
                false => "",
            };
            let (there, asked) = (Box::new(there.record), Box::new(plan.record.clone()));
            Err(LoadError::Other { database, there, asked, note, start_anew })
        }
    }
}

/// Whether this session holds the lock of loaders.
fn is_ours(session: &Session) -> bool {
    record::is_mine(session).unwrap_or(false)
}

/// Runs the load on threads of its own, and tells progress and watches `stop` on this one.
fn supervised(
    url: &ServerUrl,
    plan: &LoadPlan,
    session: Session,
    schema: u64,
    signals: &Signals,
    progress: &mut dyn FnMut(LoadProgress),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    let expected = expect(plan.dataset.as_ref());
    let clock = Monotonic::start();
    let crew = Crew { signals, cancellers: Mutex::default() };
    crew.join(&session);
    let mut shown = 0.0_f64;
    std::thread::scope(|scope| {
        let (done, ended) = crossbeam_channel::bounded(1);
        let (crew, clock, expected) = (&crew, &clock, &expected);
        let _watching = Watching(signals);
        scope.spawn(move || {
            let load = Load { url, plan, schema, expected, crew, clock };
            let result = load.whole(&session);
            record::release(&session);
            drop(session);
            // The receiver lives until the scope ends.
            let _ = done.send(result);
        });
        loop {
            match ended.recv_timeout(Duration::from_millis(100)) {
                Ok(result) => return result,
                Err(crossbeam_channel::RecvTimeoutError::Timeout) => {}
                Err(crossbeam_channel::RecvTimeoutError::Disconnected) => {
                    panic!("a thread of the load panicked")
                }
            }
            if stop.load(Ordering::Relaxed) {
                signals.stop.store(true, Ordering::Relaxed);
                crew.cancel();
            }
            let now = loading::progress(signals, expected, &SHARES, clock.now());
            shown = shown.max(now.share);
            progress(LoadProgress { share: shown, ..now });
        }
    })
}

/// A load on its way.
struct Load<'a> {
    url: &'a ServerUrl,
    plan: &'a LoadPlan,
    schema: u64,
    expected: &'a [Expected],
    crew: &'a Crew<'a>,
    clock: &'a Monotonic,
}

impl Load<'_> {
    /// From an empty database to one that says it is complete.
    fn whole(&self, main: &Session) -> Result<Loaded, LoadError> {
        let tables = self.plan.dataset.tables();
        let mut times = PhaseTimes::default();
        let mut since = self.clock.now();
        let mut lap = |into: &mut Nanos| {
            let now = self.clock.now();
            *into += now - since;
            since = now;
        };

        let forms = self.make_tables(main).map_err(|cause| self.fail("write to", cause))?;
        let mut sessions = self.sessions().map_err(|cause| self.fail("open", cause))?;
        let sums = self.store_rows(&mut sessions, &forms).map_err(|cause| self.fail("write", cause))?;
        lap(&mut times.rows);
        self.crew.signals.enter(Phase::Indexes);
        self.build_indexes(main, &mut sessions).map_err(|cause| self.fail("index", cause))?;
        lap(&mut times.indexes);

        self.crew.signals.enter(Phase::Verify);
        let read = verify::read_back(&mut sessions, tables, &forms, self.crew)
            .map_err(|cause| self.fail("read back", cause))?;
        for ((table, written), read) in tables.iter().zip(&sums).zip(&read) {
            if written != read {
                return Err(LoadError::Mismatch {
                    table: table.name.into(),
                    written: written.to_string(),
                    read: read.to_string(),
                });
            }
        }
        lap(&mut times.verify);

        self.crew.signals.enter(Phase::Flush);
        drop(sessions);
        checkpoint(main).map_err(|cause| self.fail("flush", cause))?;
        let bytes = self.bytes(main).map_err(|cause| self.fail("measure", cause))?;
        if self.crew.signals.stopped() {
            return Err(stopped(self.url, self.plan));
        }
        let contents = self.contents(&sums);
        record::complete(main, &contents).map_err(|cause| self.fail("write the record of", cause))?;
        lap(&mut times.flush);
        Ok(Loaded::Now { contents: Box::new(contents), bytes, times, notes: Vec::new() })
    }

    fn make_tables(&self, main: &Session) -> Result<Vec<Vec<Form>>, Cause> {
        for (_, statement) in self.statements("table_") {
            main.batch(statement)?;
        }
        self.plan.dataset.tables().iter().map(|table| binary::forms(main, table)).collect()
    }

    fn sessions(&self) -> Result<Vec<Session>, Cause> {
        let count = threads(self.plan.threads).clamp(SESSIONS.0, SESSIONS.1);
        (0..count)
            .map(|_| {
                let session = Session::open(self.url)?;
                session.batch(INDEX_SETTINGS)?;
                self.crew.join(&session);
                Ok(session)
            })
            .collect()
    }

    fn statements(&self, kind: &str) -> impl Iterator<Item = (&str, &str)> {
        self.plan.schema.iter().filter(move |(name, _)| name.starts_with(kind))
    }

    /// Stores all rows; gives what was stored, by table.
    fn store_rows(&self, sessions: &mut [Session], forms: &[Vec<Form>]) -> Result<Vec<Checksum>, Cause> {
        let dataset = self.plan.dataset.as_ref();
        let mut work: Vec<Work<'_>> = dataset
            .tables()
            .iter()
            .enumerate()
            .map(|(number, table)| Work { dataset, number, table, forms: &forms[number] })
            .collect();
        work.sort_by(|a, b| self.weight(b.number).total_cmp(&self.weight(a.number)));
        let stored = share_out(sessions, &work, |session, work| {
            Ok((work.number, writer::store(session, work, self.crew)?))
        })?;
        let mut sums = vec![Checksum::default(); work.len()];
        stored.into_iter().for_each(|(number, sum)| sums[number] = sum);
        Ok(sums)
    }

    /// The bytes that a table is expected to have.
    fn weight(&self, table: usize) -> f64 {
        let Expected { rows, bytes_a_row } = &self.expected[table];
        // What each row costs beside its values.
        rows * (bytes_a_row + 40.0)
    }

    /// Builds indexes side by side, those over most rows first; then references one by one, since two may want the same
    /// tables in different orders; then makes the statistics, which also tells the server that nothing needs cleaning.
    fn build_indexes(&self, main: &Session, sessions: &mut [Session]) -> Result<(), Cause> {
        let tables = self.plan.dataset.tables();
        let weight = |statement: &str| {
            let over = table_of(statement);
            tables.iter().position(|table| Some(table.name) == over).map_or(0.0, |table| self.weight(table))
        };
        let mut indexes: Vec<&str> = self.statements("index_").map(|(_, statement)| statement).collect();
        indexes.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        share_out(sessions, &indexes, |session, statement| session.batch(statement))?;
        if self.plan.references {
            for (_, statement) in self.statements("reference_") {
                main.batch(statement)?;
            }
        }
        let mut order: Vec<usize> = (0..tables.len()).collect();
        order.sort_by(|a, b| self.weight(*b).total_cmp(&self.weight(*a)));
        share_out(sessions, &order, |session, table| {
            session.batch(&format!("vacuum (analyze) {}", quoted(tables[*table].name)))
        })?;
        Ok(())
    }

    fn bytes(&self, main: &Session) -> Result<u64, Cause> {
        let mut bytes = 0;
        for table in self.plan.dataset.tables() {
            let text = "select pg_total_relation_size($1::text::regclass)";
            let size: i64 = main.wait(main.client().query_one(text, &[&quoted(table.name)]))?.get(0);
            bytes += size.unsigned_abs();
        }
        Ok(bytes)
    }

    fn contents(&self, sums: &[Checksum]) -> Contents {
        let tables = self.plan.dataset.tables().iter().zip(sums);
        Contents {
            record: self.plan.record.clone(),
            schema: self.schema,
            tables: tables
                .map(|(table, sum)| TableContents {
                    name: table.name.into(),
                    rows: sum.rows,
                    checksum: sum.sum,
                })
                .collect(),
            loaded_at: measure::unix_seconds(),
        }
    }

    fn fail(&self, doing: &'static str, source: Cause) -> LoadError {
        if self.crew.signals.stopped() {
            return stopped(self.url, self.plan);
        }
        failure(doing, self.url, source, self.crew.signals.rows.load(Ordering::Relaxed))
    }
}

/// Writes everything to the server's disk, so that a run does not begin with it. Not everybody may ask for that.
fn checkpoint(session: &Session) -> Result<(), Cause> {
    match session.batch("checkpoint") {
        Err(Cause::Engine(error)) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => Ok(()),
        result => result,
    }
}

/// The table that a statement of a schema is about: the word behind `table` or `on`.
fn table_of(statement: &str) -> Option<&str> {
    let mut words = statement.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty());
    words.by_ref().find(|word| word.eq_ignore_ascii_case("table") || word.eq_ignore_ascii_case("on"))?;
    words.next()
}

fn failure(doing: &'static str, url: &ServerUrl, source: Cause, written: u64) -> LoadError {
    let database = url.to_string();
    if source.is_full() {
        LoadError::Full { database, written }
    } else if source.is_in_use() {
        LoadError::InUse(database)
    } else {
        LoadError::Failed { doing, database, source }
    }
}

fn stopped(url: &ServerUrl, plan: &LoadPlan) -> LoadError {
    LoadError::Stopped { database: url.to_string(), start_anew: plan.start_anew.clone() }
}

#[cfg(test)]
mod tests {
    use super::table_of;

    #[test]
    fn a_statement_says_which_table_it_is_about() {
        assert_eq!(table_of("alter table stock add constraint x primary key (a)"), Some("stock"));
        assert_eq!(table_of("create index n on customer(c_w_id)"), Some("customer"));
        assert_eq!(table_of("create function f()"), None);
    }
}
