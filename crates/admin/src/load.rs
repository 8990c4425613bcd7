//! Loading, whatever the engine: tables are filled side by side, indexed, read back, and declared complete last of all, so
//! that nothing that is not whole ever says that it is. A load that is cut short is recognised, whatever cut it, and is
//! started again and never repaired.

use crate::Found;
use crate::checksum::Checksum;
use crate::engine::{Claim, Conn, Engine, Fill, Making};
use crate::error::{Cause, CauseKind, Error};
use crate::loading::{
    Crew, Expected, Watching, expect, largest_first, progress, schema_print, share_out, table_of, threads,
};
use crate::record::{Contents, LoadRecord, TableContents};
use measure::Monotonic;
use model::rows::{Dataset, Table};
use model::{Clock, Nanos};
use sql::Catalogue;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[derive(Clone)]
pub struct LoadPlan {
    pub dataset: Arc<dyn Dataset>,
    /// Statements whose names start with `table_` make tables, before the rows; those with `index_` make indexes and keys,
    /// after them; those with `reference_` make foreign keys, last. All in the order of the file.
    pub schema: Catalogue,
    /// Whether foreign keys are made.
    pub references: bool,
    /// What this load is; stored in the database.
    pub record: LoadRecord,
    /// Threads that make rows and read them back; 0 for one a core.
    pub threads: usize,
    /// Whether what is there already is replaced: an interrupted load, or a complete one of ours. Never anything else.
    pub fresh: bool,
    /// The command that would load with `fresh`, for messages: `stackmark load tpcc --scale 10 --fresh`.
    pub reload: String,
}

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadProgress {
    /// What is being done.
    pub phase: LoadPhase,
    /// Rows done in this phase.
    pub rows_done: u64,
    /// Rows in all, as far as the data set knows beforehand.
    pub rows_all: u64,
    /// The part of the whole load that is done, 0 to 1: never goes back.
    pub share: f64,
    /// An estimate for the whole load; `None` until there is one.
    pub seconds_left: Option<f64>,
}

/// What a load is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadPhase {
    /// Making and storing rows.
    Rows,
    /// Building indexes, and waiting for the disk.
    Indexes,
    /// Reading rows back.
    Verify,
    /// Writing the record, and waiting for the disk.
    Flush,
}

impl LoadPhase {
    pub(crate) const ALL: [LoadPhase; 4] =
        [LoadPhase::Rows, LoadPhase::Indexes, LoadPhase::Verify, LoadPhase::Flush];

    /// The word for a progress line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            LoadPhase::Rows => "rows",
            LoadPhase::Indexes => "indexes",
            LoadPhase::Flush => "flush",
            LoadPhase::Verify => "verify",
        }
    }
}

/// How a load ended well.
#[derive(Debug, Clone, PartialEq)]
pub enum Loaded {
    /// It was there, whole, with the same record; nothing was done.
    AlreadyThere(Box<Contents>),
    Now {
        contents: Box<Contents>,
        /// Bytes of the file, or of tables and indexes; nothing where the engine does not know them.
        bytes: Option<u64>,
        /// How long it took.
        times: PhaseTimes,
        /// What went another way than asked or expected, a clause each: rows inserted because a server forbids more.
        notes: Vec<String>,
    },
}

impl Loaded {
    pub fn contents(&self) -> &Contents {
        match self {
            Loaded::AlreadyThere(contents) | Loaded::Now { contents, .. } => contents,
        }
    }
}

/// How long each phase took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PhaseTimes {
    pub rows: Nanos,
    pub indexes: Nanos,
    /// All flushing that was waited for, record and rename included.
    pub flush: Nanos,
    pub verify: Nanos,
}

impl PhaseTimes {
    /// From the first row to the database in its place, without reading back.
    pub fn storing(&self) -> Nanos {
        self.rows + self.indexes + self.flush
    }
}

/// Loads a database, or finds that it is there already. See [`Store::load`](crate::Store::load).
pub(crate) fn load(
    engine: &dyn Engine,
    plan: &LoadPlan,
    progress: &mut dyn FnMut(LoadProgress),
    stop: &AtomicBool,
) -> Result<Loaded, Error> {
    if let Some(contents) = admit(engine, plan, look(engine)?)? {
        return Ok(Loaded::AlreadyThere(contents));
    }
    let (schema, crew) = (schema_print(&plan.schema), Crew::default());
    let load = Load { engine, plan, schema, expected: expect(plan.dataset.as_ref()), crew: &crew };
    if stop.load(Ordering::Relaxed) {
        return Err(load.stopped());
    }
    let (claim, found) = engine.claim(plan)?;
    // Again, since someone may have loaded between looking and claiming.
    if let Some(contents) = admit(engine, plan, found)? {
        return Ok(Loaded::AlreadyThere(contents));
    }
    load.supervised(claim, progress, stop)
}

/// See [`Store::admits`](crate::Store::admits).
pub(crate) fn admits(engine: &dyn Engine, plan: &LoadPlan) -> Result<(), Error> {
    admit(engine, plan, look(engine)?).map(drop)
}

fn look(engine: &dyn Engine) -> Result<Found, Error> {
    engine.look().map_err(|source| engine.unusable(source))
}

/// Decides from what is there: go on (`None`), done already, or an error.
fn admit(engine: &dyn Engine, plan: &LoadPlan, found: Found) -> Result<Option<Box<Contents>>, Error> {
    let place = engine.place();
    let reload = plan.reload.clone();
    match found {
        Found::Absent => Ok(None),
        Found::Incomplete { running: true, .. } => Err(Error::Running(place)),
        Found::Incomplete { .. } | Found::Complete(_) if plan.fresh => Ok(None),
        Found::Incomplete { what, .. } => Err(Error::Interrupted { place: what, reload }),
        Found::Foreign { what, .. } => Err(Error::Foreign { place, what, advice: engine.advice() }),
        Found::Complete(there)
            if there.record.same_rows(&plan.record) && there.schema == schema_print(&plan.schema) =>
        {
            Ok(Some(there))
        }
        Found::Complete(there) => {
            let note = match there.record.same_rows(&plan.record) {
                true => ", which now has another schema",
                false if there.record.to_string() == plan.record.to_string() => ", of another size",
                false => "",
            };
            let (there, asked) = (Box::new(there.record), Box::new(plan.record.clone()));
            Err(Error::Other { place, there, asked, note, reload })
        }
    }
}

/// A load on its way.
struct Load<'a> {
    engine: &'a dyn Engine,
    plan: &'a LoadPlan,
    schema: u64,
    expected: Vec<Expected>,
    crew: &'a Crew,
}

/// Why a load ended early: what was said, and while doing what; or an error that says it itself.
enum LoadFailure {
    While(&'static str, Cause),
    Told(Error),
}

trait While<T> {
    fn when(self, doing: &'static str) -> Result<T, LoadFailure>;
}

impl<T> While<T> for Result<T, Cause> {
    fn when(self, doing: &'static str) -> Result<T, LoadFailure> {
        self.map_err(|cause| LoadFailure::While(doing, cause))
    }
}

impl Load<'_> {
    /// Runs the load on threads of its own, and tells progress and watches `stop` on this one.
    fn supervised(
        &self,
        mut claim: Box<dyn Claim + '_>,
        tell: &mut dyn FnMut(LoadProgress),
        stop: &AtomicBool,
    ) -> Result<Loaded, Error> {
        let clock = Monotonic::start();
        let shares = self.engine.shares();
        claim.canceller().into_iter().for_each(|canceller| self.crew.join(canceller));
        let mut share = 0.0_f64;
        std::thread::scope(|scope| {
            let (done, ended) = crossbeam_channel::bounded(1);
            let _watching = Watching(&self.crew.signals);
            let clock = &clock;
            scope.spawn(move || {
                let result = self.claimed(claim.as_mut(), clock);
                // Whoever hears of the end may claim it next.
                drop(claim);
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
                    // Again and again, because a thread may have begun its next statement meanwhile.
                    self.crew.stop();
                }
                let now = progress(&self.crew.signals, &self.expected, &shares, clock.now());
                share = share.max(now.share);
                tell(LoadProgress { share, ..now });
            }
        })
    }

    /// From what is there to a database that says it is complete. Of a load that failed nothing is left, unless the user gave
    /// up.
    fn claimed(&self, claim: &mut dyn Claim, clock: &Monotonic) -> Result<Loaded, Error> {
        let notes = claim.begin(&self.names()).when("write to").map_err(|ended| self.error(ended))?;
        self.whole(claim, notes, clock).map_err(|ended| {
            let error = self.error(ended);
            // The user may look at it; `fresh` or `clear` takes it away.
            if !matches!(error, Error::Stopped { .. }) {
                // Full disks above all: give the room back at once. The first failure is the one to report.
                claim.abandon(&self.names());
            }
            error
        })
    }

    fn whole(
        &self,
        claim: &mut dyn Claim,
        notes: Vec<String>,
        clock: &Monotonic,
    ) -> Result<Loaded, LoadFailure> {
        let signals = &self.crew.signals;
        let mut times = PhaseTimes::default();
        let mut since = clock.now();
        let mut lap = |into: &mut Nanos| {
            let now = clock.now();
            *into += now - since;
            since = now;
        };
        let (writers, readers) = self.engine.connections(threads(self.plan.threads));
        let mut conns = self.connect(claim, writers, false)?;
        for statement in self.statements("table_") {
            let name = table_of(statement);
            let is_it = |table: &Table| Some(table.name) == name && table.spread_by.is_some();
            let spread = self.plan.dataset.tables().iter().any(is_it);
            conns[0].create(statement, spread).when("make tables in")?;
        }
        let making = Making {
            tables: self.plan.dataset.tables(),
            indexes: &self.statements("index_"),
            references: self.plan.references,
            not_on_spider: self.plan.dataset.not_on_spider(),
        };
        let indexed = conns[0].prepare(&making).when("make tables in")?;
        let sums = self.store_rows(&mut conns).when("write")?;
        lap(&mut times.rows);
        signals.enter(LoadPhase::Indexes);
        self.build_indexes(&mut conns, indexed).when("index")?;
        self.crew.leave(conns);
        lap(&mut times.indexes);
        // Waited for here, and not while rows are read back, so that the time of storing is whole.
        claim.flush().when("flush")?;
        lap(&mut times.flush);

        signals.enter(LoadPhase::Verify);
        let mut conns = self.connect(claim, readers, true)?;
        let read = self.read_back(&mut conns).when("read back")?;
        self.crew.leave(conns);
        let tables = self.plan.dataset.tables().iter().zip(&sums);
        for ((table, written), read) in tables.clone().zip(&read) {
            if written != read && !signals.stopped() {
                let (table, written, read) = (table.name.into(), written.to_string(), read.to_string());
                return Err(LoadFailure::Told(Error::Mismatch { table, written, read }));
            }
        }
        lap(&mut times.verify);

        signals.enter(LoadPhase::Flush);
        if signals.stopped() {
            return Err(LoadFailure::Told(self.stopped()));
        }
        let about = |(table, sum): (&Table, &Checksum)| TableContents {
            name: table.name.into(),
            rows: sum.rows,
            checksum: sum.sum,
        };
        let contents = Box::new(Contents {
            record: self.plan.record.clone(),
            schema: self.schema,
            tables: tables.map(about).collect(),
            loaded_at: measure::unix_seconds(),
        });
        let bytes = claim.complete(&contents).when("write the record of")?;
        lap(&mut times.flush);
        Ok(Loaded::Now { contents, bytes, times, notes })
    }

    fn names(&self) -> Vec<&'static str> {
        self.plan.dataset.tables().iter().map(|table| table.name).collect()
    }

    fn statements(&self, kind: &str) -> Vec<&str> {
        self.plan.schema.iter().filter(|(name, _)| name.starts_with(kind)).map(|(_, text)| text).collect()
    }

    fn connect(
        &self,
        claim: &dyn Claim,
        count: usize,
        reads: bool,
    ) -> Result<Vec<Box<dyn Conn>>, LoadFailure> {
        let open = |_| {
            let conn = claim.connect(reads)?;
            self.crew.join(conn.canceller());
            Ok(conn)
        };
        (0..count).map(open).collect::<Result<_, _>>().when("open")
    }

    /// Stores all rows; gives what was stored, by table.
    fn store_rows(&self, conns: &mut [Box<dyn Conn>]) -> Result<Vec<Checksum>, Cause> {
        let stored = share_out(self.crew, conns, &largest_first(&self.expected), |conn, number| {
            let (dataset, signals) = (&self.plan.dataset, &self.crew.signals);
            let fill = Fill { dataset, number: *number, threads: threads(self.plan.threads), signals };
            Ok((*number, conn.fill(&fill)?))
        })?;
        Ok(self.by_table(stored))
    }

    fn by_table(&self, parts: Vec<(usize, Checksum)>) -> Vec<Checksum> {
        let mut sums = vec![Checksum::default(); self.expected.len()];
        parts.into_iter().for_each(|(table, sum)| sums[table] += sum);
        sums
    }

    /// Builds indexes side by side, those over most rows first; then references one by one, since two may want the same
    /// tables in different orders; then makes the statistics. Empty tables get none: PostgreSQL would plan full scans of them, and sessions
    /// would keep these plans while the tables grow, until autovacuum looks at them. Without statistics it assumes ten pages.
    fn build_indexes(&self, conns: &mut [Box<dyn Conn>], indexed: bool) -> Result<(), Cause> {
        let names = self.names();
        let weight = |statement: &str| {
            let over = table_of(statement);
            names
                .iter()
                .position(|name| Some(*name) == over)
                .map_or(0.0, |table| self.expected[table].weight())
        };
        let mut indexes = if indexed { Vec::new() } else { self.statements("index_") };
        indexes.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        share_out(self.crew, conns, &indexes, |conn, statement| conn.batch(statement))?;
        for statement in self.statements("reference_").into_iter().filter(|_| self.plan.references) {
            conns[0].batch(statement)?;
        }
        let order = largest_first(&self.expected).into_iter();
        let filled: Vec<usize> = order.filter(|table| self.expected[*table].rows > 0.0).collect();
        share_out(self.crew, conns, &filled, |conn, table| conn.analyze(names[*table]))?;
        Ok(())
    }

    /// Reads every stored row back, and adds up what is there, by table.
    fn read_back(&self, conns: &mut [Box<dyn Conn>]) -> Result<Vec<Checksum>, Cause> {
        let tables = self.plan.dataset.tables();
        let mut parts = Vec::new();
        for number in largest_first(&self.expected) {
            parts.extend(conns[0].parts(&tables[number])?.into_iter().map(|part| (number, part)));
        }
        let read = share_out(self.crew, conns, &parts, |conn, (number, part)| {
            Ok((*number, conn.read_back(&tables[*number], part, &self.crew.signals)?))
        })?;
        Ok(self.by_table(read))
    }

    fn stopped(&self) -> Error {
        Error::Stopped { place: self.engine.unfinished(), reload: self.plan.reload.clone() }
    }

    fn error(&self, ended: LoadFailure) -> Error {
        let signals = &self.crew.signals;
        let place = self.engine.unfinished();
        match ended {
            _ if signals.stopped() => self.stopped(),
            LoadFailure::Told(error) => error,
            LoadFailure::While(_, cause) if cause.kind == CauseKind::Full => {
                Error::Full { place, written: signals.rows.load(Ordering::Relaxed) }
            }
            LoadFailure::While(doing, cause) => match self.engine.failed(doing, cause) {
                Error::Failed { doing, source, .. } => Error::Failed { doing, place, source },
                error => error,
            },
        }
    }
}
