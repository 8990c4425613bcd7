//! Loading: tables, rows, indexes, reading back, record. The record is begun first and completed last, so that nothing
//! that is not whole ever says that it is.

use super::connect::{block_on, code, code_of, connect, connect_to_server, ident, kill_queries, text};
use super::error::{Cause, LoadError, named};
use super::inspect::{drop_tables, lock_name, look, release};
use super::layout::{self, Kind};
use super::record::{self, Record};
use super::verify;
use super::writer::{self, Way};
use crate::checksum::Checksum;
use crate::loading::{self, Expected, Signals, Watching, expect, schema_print};
use crate::{Contents, Found, LoadPlan, LoadProgress, Loaded, Phase, PhaseTimes, TableContents};
use measure::Monotonic;
use model::{Clock, Nanos};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error};
use sql::ServerUrl;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Share of a load's time each phase takes, in the order of [`Phase::ALL`]; measured at 10 warehouses of TPC-C.
const SHARES: [f64; 4] = [0.70, 0.10, 0.19, 0.01];
/// How long a query that was killed is waited for before its connection is given up.
const PATIENCE: Duration = Duration::from_millis(500);

/// What the threads of a load share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) signals: Signals,
    /// Set when one of several connections has failed: the others need not go on.
    failed: AtomicBool,
    /// Connections whose queries are killed when the user gives up.
    ids: Mutex<Vec<u32>>,
}

impl Shared {
    /// Whether it is no use to go on.
    pub(crate) fn is_over(&self) -> bool {
        self.signals.stopped() || self.failed.load(Ordering::Relaxed)
    }

    /// A connection that can be stopped.
    pub(crate) async fn connect(&self, url: &ServerUrl) -> Result<Conn, Error> {
        let conn = connect(url).await?;
        self.ids.lock().expect("no holder panics").push(conn.id());
        Ok(conn)
    }
}

/// Loads a database, or finds that it is there already. A database that does not exist is made.
///
/// `progress` is called on this thread about ten times a second. `stop` ends the load within moments and leaves what
/// was written, which [`super::inspect`] recognises.
///
/// # Errors
/// See [`LoadError`]; a database of ours that is not to be replaced, and any table that is not ours, stay as they are.
pub fn load(
    url: &ServerUrl,
    plan: LoadPlan,
    progress: &mut dyn FnMut(LoadProgress),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    load_by(url, plan, None, progress, stop)
}

/// The same, by a given way: to compare the two. `None` takes `LOAD DATA` where the server lets us.
///
/// # Errors
/// As for [`load`].
pub fn load_by(
    url: &ServerUrl,
    plan: LoadPlan,
    way: Option<Way>,
    progress: &mut dyn FnMut(LoadProgress),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    let shared = Arc::new(Shared::default());
    let clock = Monotonic::start();
    let expected = expect(plan.dataset.as_ref());
    let load = Load { url, plan: &plan, way, shared: &shared, clock: &clock };
    std::thread::scope(|scope| {
        let (done, ended) = crossbeam_channel::bounded(1);
        let load = &load;
        scope.spawn(move || {
            // The receiver lives until the scope ends.
            let _ = done.send(load.run());
        });
        watch(load, &expected, &ended, progress, stop)
    })
}

/// Tells progress and watches `stop` until the load has ended.
fn watch(
    load: &Load<'_>,
    expected: &[Expected],
    ended: &crossbeam_channel::Receiver<Result<Loaded, LoadError>>,
    progress: &mut dyn FnMut(LoadProgress),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    let _watching = Watching(&load.shared.signals);
    let (mut share, mut told) = (0.0f64, false);
    loop {
        match ended.recv_timeout(Duration::from_millis(100)) {
            Ok(result) => return result,
            Err(crossbeam_channel::RecvTimeoutError::Timeout) => {}
            Err(crossbeam_channel::RecvTimeoutError::Disconnected) => {
                panic!("a thread of the load panicked")
            }
        }
        if stop.load(Ordering::Relaxed) {
            load.shared.signals.stop.store(true, Ordering::Relaxed);
            let ids = load.shared.ids.lock().expect("no holder panics").clone();
            // Again and again, because a thread may have begun its next statement meanwhile.
            let kill = tokio_timeout(kill_queries(load.url, &ids));
            let _ = block_on(kill);
            told = true;
        }
        let now = loading::progress(&load.shared.signals, expected, &SHARES, load.clock.now());
        share = share.max(now.share);
        if !told {
            progress(LoadProgress { share, ..now });
        }
    }
}

async fn tokio_timeout(future: impl Future<Output = ()>) {
    // A server that does not answer is no reason to wait with it.
    let _ = tokio::time::timeout(PATIENCE, future).await;
}

struct Load<'a> {
    url: &'a ServerUrl,
    plan: &'a LoadPlan,
    way: Option<Way>,
    shared: &'a Arc<Shared>,
    clock: &'a Monotonic,
}

/// What was said, and while doing what.
type Step<T> = Result<T, (&'static str, Cause)>;

trait While<T> {
    fn while_doing(self, doing: &'static str) -> Step<T>;
}

impl<T, E: Into<Cause>> While<T> for Result<T, E> {
    fn while_doing(self, doing: &'static str) -> Step<T> {
        self.map_err(|error| (doing, error.into()))
    }
}

impl Load<'_> {
    fn run(&self) -> Result<Loaded, LoadError> {
        let database = named(self.url);
        let unreachable = |source: Cause| LoadError::Unreachable { database: database.clone(), source };
        block_on(self.guarded()).map_err(|error| unreachable(error.into()))?
    }

    /// Takes the lock, decides from what is there, loads, and tidies up after what failed.
    async fn guarded(&self) -> Result<Loaded, LoadError> {
        let database = || named(self.url);
        let unreachable =
            |source: Error| LoadError::Unreachable { database: database(), source: source.into() };
        let mut conn =
            self.claim().await.map_err(unreachable)?.ok_or_else(|| LoadError::Running(database()))?;
        let result = self.decided(&mut conn).await;
        // A server that is gone has let go of its locks.
        let _ = release(conn, self.url).await;
        result
    }

    async fn decided(&self, conn: &mut Conn) -> Result<Loaded, LoadError> {
        let database = || named(self.url);
        let schema = schema_print(&self.plan.schema);
        let found = look(conn, self.url)
            .await
            .map_err(|source| LoadError::Unreachable { database: database(), source: source.into() })?;
        if let Some(contents) = self.admit(found, schema)? {
            return Ok(Loaded::AlreadyThere(contents));
        }
        let error = match self.whole(conn, schema).await {
            Ok(Ok(loaded)) => return Ok(loaded),
            Err(_) if self.shared.signals.stopped() => {
                let start_anew = self.plan.start_anew.clone();
                return Err(LoadError::Stopped { database: database(), start_anew });
            }
            Ok(Err(mismatch)) => mismatch,
            Err((_, source)) if source.is_full() => {
                let written = self.shared.signals.rows.load(Ordering::Relaxed);
                LoadError::Full { database: database(), written }
            }
            Err((doing, source)) => LoadError::Failed { doing, database: database(), source },
        };
        // The first failure is the one to report; a server that is gone keeps what is there, and it is recognised.
        let _ = drop_tables(conn, &self.tables()).await;
        Err(error)
    }

    fn tables(&self) -> Vec<String> {
        self.plan.dataset.tables().iter().map(|table| table.name.to_owned()).collect()
    }

    /// Connects, makes the database if there is none, and takes the loader's lock, which ends with the connection.
    /// `None` where somebody else holds it.
    async fn claim(&self) -> Result<Option<Conn>, Error> {
        let mut conn = match connect(self.url).await {
            Err(error) if code_of(&error) == Some(code::UNKNOWN_DATABASE) => {
                let mut server = connect_to_server(self.url).await?;
                server.query_drop(super::place::creation(self.url)).await?;
                server.disconnect().await?;
                connect(self.url).await?
            }
            result => result?,
        };
        self.shared.ids.lock().expect("no holder panics").push(conn.id());
        let asked = format!("select get_lock({}, 0)", text(&lock_name(self.url)));
        let taken: Option<Option<i64>> = conn.query_first(asked).await?;
        Ok((taken.flatten() == Some(1)).then_some(conn))
    }

    /// Decides from what is there: go on (`None`), done already, or an error.
    fn admit(&self, found: Found, schema: u64) -> Result<Option<Box<Contents>>, LoadError> {
        let (database, plan) = (named(self.url), self.plan);
        let start_anew = plan.start_anew.clone();
        match found {
            Found::Absent => Ok(None),
            Found::Incomplete { .. } | Found::Complete(_) if plan.fresh => Ok(None),
            Found::Incomplete { .. } => Err(LoadError::Interrupted { database, start_anew }),
            Found::Foreign { what, .. } => Err(LoadError::Foreign { database, what }),
            Found::Complete(there) if there.record.same_rows(&plan.record) && there.schema == schema => {
                Ok(Some(there))
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

    /// From an empty database to a complete one. The inner error is a mismatch.
    async fn whole(&self, conn: &mut Conn, schema: u64) -> Step<Result<Loaded, LoadError>> {
        let (plan, signals) = (self.plan, &self.shared.signals);
        let mut times = PhaseTimes::default();
        let mut since = self.clock.now();
        let mut lap = |into: &mut Nanos| {
            let now = self.clock.now();
            *into += now - since;
            since = now;
        };
        let layouts = self.make_tables(conn).await?;
        let mut notes = Vec::new();
        let way = match self.way {
            Some(way) => way,
            None => writer::way(self.url, &mut notes).await.while_doing("ask for LOAD DATA in")?,
        };
        let sums = self.store(&layouts, way)?;
        lap(&mut times.rows);
        signals.enter(Phase::Indexes);
        self.finish(conn).await?;
        lap(&mut times.indexes);
        signals.enter(Phase::Verify);
        let tables = plan.dataset.tables();
        let read = self.read_back(conn, &layouts).await?;
        for ((table, written), read) in tables.iter().zip(&sums).zip(&read) {
            if written != read {
                let (table, written, read) = (table.name.into(), written.to_string(), read.to_string());
                return Ok(Err(LoadError::Mismatch { table, written, read }));
            }
        }
        lap(&mut times.verify);
        signals.enter(Phase::Flush);
        let tables = tables.iter().zip(&sums);
        let contents = Box::new(Contents {
            record: plan.record.clone(),
            schema,
            tables: tables
                .map(|(table, sum)| TableContents {
                    name: table.name.into(),
                    rows: sum.rows,
                    checksum: sum.sum,
                })
                .collect(),
            loaded_at: measure::unix_seconds(),
        });
        record::complete(conn, &contents).await.while_doing("write the record of")?;
        let asked = "select cast(coalesce(sum(data_length + index_length), 0) as unsigned) \
                     from information_schema.tables where table_schema = database()";
        let bytes = conn.query_first(asked).await.while_doing("measure")?.unwrap_or(0);
        lap(&mut times.flush);
        Ok(Ok(Loaded::Now { contents, bytes, times, notes }))
    }

    /// Begins the record and makes the tables. Gives what their columns hold.
    async fn make_tables(&self, conn: &mut Conn) -> Step<Vec<Vec<Kind>>> {
        let doing = "make tables in";
        let tables = self.plan.dataset.tables();
        let before = match record::read(conn).await.while_doing(doing)? {
            Record::Loading { tables, .. } => tables,
            Record::Complete(contents) => contents.tables.into_iter().map(|table| table.name).collect(),
            Record::None | Record::Strange => Vec::new(),
        };
        drop_tables(conn, &before).await.while_doing(doing)?;
        let names: Vec<&str> = tables.iter().map(|table| table.name).collect();
        record::begin(conn, &names, measure::unix_seconds()).await.while_doing(doing)?;
        for statement in self.statements("table_") {
            conn.query_drop(statement).await.while_doing(doing)?;
        }
        let mut layouts = Vec::with_capacity(tables.len());
        for table in tables {
            layouts.push(layout::kinds(conn, table.name, table.columns).await.while_doing(doing)?);
        }
        Ok(layouts)
    }

    fn statements(&self, prefix: &str) -> Vec<&str> {
        self.plan.schema.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, text)| text).collect()
    }

    /// Stores all rows, the largest tables first. Gives what was stored, by table.
    fn store(&self, layouts: &[Vec<Kind>], way: Way) -> Step<Vec<Checksum>> {
        let tables = self.plan.dataset.tables();
        let cost = |number: &usize| tables[*number].rows * tables[*number].columns.len() as u64;
        let mut turns: Vec<usize> = (0..tables.len()).collect();
        turns.sort_by_key(|number| std::cmp::Reverse(cost(number)));
        let next = AtomicUsize::new(0);
        let stored = self.side_by_side(|| {
            writer::store_tables(self.url, &self.plan.dataset, layouts, &turns, &next, way, self.shared)
        });
        let mut sums = vec![Checksum::default(); tables.len()];
        for (number, sum) in stored.while_doing("write")?.into_iter().flatten() {
            sums[number] += sum;
        }
        Ok(sums)
    }

    /// Builds indexes side by side, then references, and lets the server count.
    async fn finish(&self, conn: &mut Conn) -> Step<()> {
        let (indexes, next) = (self.statements("index_"), AtomicUsize::new(0));
        self.side_by_side(async || {
            let mut conn = self.shared.connect(self.url).await?;
            while let Some(statement) = indexes.get(next.fetch_add(1, Ordering::Relaxed)) {
                conn.query_drop(*statement).await?;
            }
            Ok(conn.disconnect().await?)
        })
        .while_doing("index")?;
        if self.plan.references {
            // Checks would copy each table; that all references lead somewhere follows from the rows, which are read back.
            conn.query_drop("set session foreign_key_checks = 0").await.while_doing("index")?;
            for statement in self.statements("reference_") {
                conn.query_drop(statement).await.while_doing("index")?;
            }
            conn.query_drop("set session foreign_key_checks = 1").await.while_doing("index")?;
        }
        let names: Vec<String> = self.tables().iter().map(|table| ident(table)).collect();
        conn.query_drop(format!("analyze table {}", names.join(", "))).await.while_doing("analyze")
    }

    async fn read_back(&self, conn: &mut Conn, layouts: &[Vec<Kind>]) -> Step<Vec<Checksum>> {
        let (tables, doing) = (self.plan.dataset.tables(), "read back");
        let parts = verify::parts(conn, tables).await.while_doing(doing)?;
        let next = AtomicUsize::new(0);
        let read =
            self.side_by_side(|| verify::read_parts(self.url, tables, layouts, &parts, &next, self.shared));
        let mut sums = vec![Checksum::default(); tables.len()];
        for found in read.while_doing(doing)? {
            sums.iter_mut().zip(found).for_each(|(sum, part)| *sum += part);
        }
        Ok(sums)
    }

    /// Runs the same on several threads, each with a runtime of its own. The first failure stops the others.
    fn side_by_side<T: Send, F: Future<Output = Result<T, Cause>>>(
        &self,
        work: impl Fn() -> F + Sync,
    ) -> Result<Vec<T>, Cause> {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..loading::threads(self.plan.threads).max(2))
                .map(|_| {
                    scope.spawn(|| {
                        let result = block_on(work()).map_err(Cause::from).and_then(|result| result);
                        self.shared.failed.fetch_or(result.is_err(), Ordering::Relaxed);
                        result
                    })
                })
                .collect();
            let results: Vec<_> =
                workers.into_iter().map(|worker| worker.join().expect("a panic is passed on")).collect();
            // What was merely cut short says less than what cut it short.
            let cut = |result: &Result<T, Cause>| matches!(result, Err(cause) if cause.is_cut_short());
            let (cut, told): (Vec<_>, Vec<_>) = results.into_iter().partition(cut);
            told.into_iter().chain(cut).collect()
        })
    }
}
