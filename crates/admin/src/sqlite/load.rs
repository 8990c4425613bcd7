//! Loading: many threads make rows, one stores them, and nothing that is not whole ever stands at the address.
//!
//! Everything happens in `FILE.loading`, without journal and without flushing each step, since a load that is cut short
//! is started anew and never repaired. The file gets its record, is flushed, and takes the address by a rename.

use super::error::{Cause, LoadError};
use super::inspect::inspect;
use super::place::{self, folder, loading, put_in_place, remove_database};
use super::record;
use super::verify;
use super::writer::{self, Work};
use crate::loading::{self as common, Expected, Signals, Watching, expect, schema_print, threads};
use crate::{Contents, Found, LoadPlan, LoadProgress, Loaded, Phase, PhaseTimes, TableContents};
use measure::Monotonic;
use model::{Clock, Nanos};
use rusqlite::{Connection, OpenFlags};
use sql::SqliteUrl;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Loads a database, or finds that it is there already.
///
/// `progress` is called on this thread about ten times a second. `stop` ends the load within moments and leaves
/// `FILE.loading`, which [`inspect`] recognises.
///
/// # Errors
/// See [`LoadError`]; a database of ours that is not to be replaced, and any file that is not ours, stay as they are.
pub fn load(
    url: &SqliteUrl,
    plan: LoadPlan,
    progress: &mut dyn FnMut(LoadProgress),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    let plan = &plan;
    let schema = schema_print(&plan.schema);
    if let Some(contents) = admit(url, plan, schema)? {
        return Ok(Loaded::AlreadyThere(contents));
    }
    if stop.load(Ordering::Relaxed) {
        return Err(stopped(url, plan));
    }
    let claim = Claim::take(&url.path)?;
    let expected = expect(plan.dataset.as_ref());
    let outcome = ensure_room(url, &expected)
        .and_then(|()| supervised(url, plan, &claim, schema, &expected, progress, stop));
    match outcome {
        // The user may look at it; `fresh` or `remove` takes it away.
        Err(LoadError::Stopped { .. }) | Ok(_) => {}
        // Full disks above all: give the room back at once. The first failure is the one to report.
        Err(_) => drop(remove_database(&loading(&url.path))),
    }
    outcome
}

/// Decides from what is there: go on (`None`), done already, or an error.
fn admit(url: &SqliteUrl, plan: &LoadPlan, schema: u64) -> Result<Option<Box<Contents>>, LoadError> {
    let found = inspect(url).map_err(|error| refused_place(&url.path, error.source))?;
    match found {
        Found::Absent => Ok(None),
        Found::Incomplete { running: true, .. } => Err(LoadError::Running(url.path.clone())),
        Found::Incomplete { .. } if plan.fresh => Ok(None),
        Found::Incomplete { .. } => {
            Err(LoadError::Interrupted { file: loading(&url.path), start_anew: plan.start_anew.clone() })
        }
        Found::Foreign { what, .. } => Err(LoadError::Foreign { file: url.path.clone(), what }),
        Found::Complete(_) if plan.fresh => {
            ensure_unused(url)?;
            Ok(None)
        }
        Found::Complete(there) if there.record.same_rows(&plan.record) && there.schema == schema => {
            Ok(Some(there))
        }
        Found::Complete(there) => {
            let note = match there.record.same_rows(&plan.record) {
                true => ", which now has another schema",
                false if there.record.to_string() == plan.record.to_string() => ", of another size",
                false => "",
            };
            Err(LoadError::Other {
                file: url.path.clone(),
                there: Box::new(there.record),
                asked: Box::new(plan.record.clone()),
                note,
                start_anew: plan.start_anew.clone(),
            })
        }
    }
}

/// A database that is to be replaced must not be open elsewhere: its users would go on with a file that is gone.
fn ensure_unused(url: &SqliteUrl) -> Result<(), LoadError> {
    let try_alone = || {
        let conn = Connection::open_with_flags(&url.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        conn.busy_timeout(Duration::from_millis(u64::from(url.busy_ms)))?;
        conn.execute_batch("pragma locking_mode=exclusive; begin exclusive; rollback")
    };
    try_alone().map_err(|error| {
        let source = Cause::from(error);
        if source.is_busy() {
            LoadError::InUse(url.path.clone())
        } else {
            LoadError::Failed { doing: "open", file: url.path.clone(), source }
        }
    })
}

fn refused_place(file: &Path, source: Cause) -> LoadError {
    let place = folder(file).display();
    let kind = match &source {
        Cause::System(error) => error.kind(),
        Cause::Engine(_) => io::ErrorKind::Other,
    };
    let hint = match kind {
        io::ErrorKind::NotFound if folder(file).is_dir() => {
            format!("the folder {place} takes no new files; name another one")
        }
        io::ErrorKind::NotFound => format!("the folder {place} does not exist; create it first"),
        io::ErrorKind::NotADirectory => format!("{place} is not a folder"),
        io::ErrorKind::PermissionDenied => {
            format!("no permission for {place}; name a file in a folder of yours")
        }
        io::ErrorKind::ReadOnlyFilesystem => format!("{place} is on a read-only file system"),
        io::ErrorKind::IsADirectory => "it is a folder; name a file".to_owned(),
        _ => return LoadError::Failed { doing: "open", file: file.to_owned(), source },
    };
    LoadError::Place { file: file.to_owned(), hint, source }
}

/// The right to write `FILE.loading`, held by an advisory lock that ends with the process.
struct Claim(File);

impl Claim {
    fn take(file: &Path) -> Result<Claim, LoadError> {
        use rustix::fs::{FlockOperation, flock, fstat, stat};
        use std::os::unix::fs::OpenOptionsExt;
        let path = loading(file);
        let opened =
            File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let claimed = opened.map_err(|error| refused_place(&path, error.into()))?;
        let running = || LoadError::Running(file.to_owned());
        flock(&claimed, FlockOperation::NonBlockingLockExclusive).map_err(|_| running())?;
        let failed = |source: io::Error| LoadError::Failed {
            doing: "open",
            file: path.clone(),
            source: source.into(),
        };
        // Between opening and locking, another loader may have finished: then the lock is on what is now FILE.
        let ours = fstat(&claimed).map_err(|error| failed(error.into()))?;
        match stat(&path) {
            Ok(there) if there.st_ino == ours.st_ino && there.st_dev == ours.st_dev => {}
            _ => return Err(running()),
        }
        claimed.set_len(0).map_err(failed)?;
        for suffix in ["-wal", "-shm", "-journal"] {
            let _ = fs::remove_file(place::beside(&path, suffix));
        }
        Ok(Claim(claimed))
    }
}

/// Refuses what cannot fit. Indexes, and what stays free in pages, are taken for a fifth of the rows.
fn ensure_room(url: &SqliteUrl, expected: &[Expected]) -> Result<(), LoadError> {
    let bytes: f64 = expected.iter().map(|table| table.rows * table.bytes_a_row).sum();
    let needed = (bytes * 1.2) as u64 + (1 << 20);
    // A file system that does not say is found out by writing.
    let Ok(about) = rustix::fs::statvfs(folder(&url.path)) else { return Ok(()) };
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    if free < needed {
        return Err(LoadError::NoRoom { file: url.path.clone(), needed, free });
    }
    Ok(())
}

/// Runs the load on threads of its own, and tells progress and watches `stop` on this one.
fn supervised(
    url: &SqliteUrl,
    plan: &LoadPlan,
    claim: &Claim,
    schema: u64,
    expected: &[Expected],
    progress: &mut dyn FnMut(LoadProgress),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    let path = loading(&url.path);
    let signals = Signals::default();
    let clock = Monotonic::start();
    let conn = writer::open(&path).map_err(|error| failure("open", &path, error.into(), &signals))?;
    let interrupt = conn.get_interrupt_handle();
    std::thread::scope(|scope| {
        let (done, ended) = crossbeam_channel::bounded(1);
        let (signals, clock) = (&signals, &clock);
        let _watching = Watching(signals);
        scope.spawn(move || {
            let result = whole(url, plan, claim, schema, conn, signals, clock);
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
                interrupt.interrupt();
            }
            progress(common::progress(signals, expected, &Phase::SHARES, clock.now()));
        }
    })
}

/// From an empty file to a database in its place.
fn whole(
    url: &SqliteUrl,
    plan: &LoadPlan,
    claim: &Claim,
    schema: u64,
    conn: Connection,
    signals: &Signals,
    clock: &Monotonic,
) -> Result<Loaded, LoadError> {
    let path = loading(&url.path);
    let fail = |doing, source| {
        let error = failure(doing, &path, source, signals);
        if let LoadError::Failed { .. } = &error
            && signals.stopped()
        {
            return stopped(url, plan);
        }
        error
    };
    let threads = threads(plan.threads);
    let mut times = PhaseTimes::default();
    let mut since = clock.now();
    let mut lap = |into: &mut Nanos| {
        let now = clock.now();
        *into += now - since;
        since = now;
    };

    let work = Work { dataset: plan.dataset.as_ref(), schema: &plan.schema, threads, signals };
    let sums = writer::store_rows(&conn, &work, &claim.0).map_err(|cause| fail("write", cause))?;
    lap(&mut times.rows);
    signals.enter(Phase::Indexes);
    writer::build_indexes(&conn, &plan.schema).map_err(|error| fail("index", error.into()))?;
    conn.close().map_err(|(_, error)| fail("close", error.into()))?;
    lap(&mut times.indexes);
    // Waited for here, and not while rows are read back, so that the time of storing is whole.
    claim.0.sync_data().map_err(|error| fail("flush", error.into()))?;
    lap(&mut times.flush);

    signals.enter(Phase::Verify);
    let tables = plan.dataset.tables();
    let read = verify::read_back(&path, tables, threads, signals)
        .map_err(|error| fail("read back", error.into()))?;
    if signals.stopped() {
        return Err(stopped(url, plan));
    }
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

    signals.enter(Phase::Flush);
    let contents = Contents {
        record: plan.record.clone(),
        schema,
        tables: tables
            .iter()
            .zip(&sums)
            .map(|(table, sum)| TableContents { name: table.name.into(), rows: sum.rows, checksum: sum.sum })
            .collect(),
        loaded_at: measure::unix_seconds(),
    };
    seal(&path, url, &contents).map_err(|error| fail("write the record of", error.into()))?;
    claim.0.sync_all().map_err(|error| fail("flush", error.into()))?;
    if url.path.exists() {
        ensure_unused(url)?;
    }
    put_in_place(&path, &url.path).map_err(|error| fail("put in place", error.into()))?;
    let bytes = claim.0.metadata().map_or(0, |about| about.len());
    lap(&mut times.flush);
    Ok(Loaded::Now { contents: Box::new(contents), bytes, times, notes: Vec::new() })
}

/// Writes the record and stores the journal mode in the file, where it is one that a file stores.
fn seal(path: &Path, url: &SqliteUrl, contents: &Contents) -> rusqlite::Result<()> {
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.execute_batch("pragma synchronous=full; begin immediate")?;
    record::write(&conn, contents)?;
    conn.execute_batch("commit")?;
    let mode = url.journal.name();
    let _: String = conn.query_row(&format!("pragma journal_mode={mode}"), [], |row| row.get(0))?;
    conn.close().map_err(|(_, error)| error)
}

fn failure(doing: &'static str, path: &Path, source: Cause, signals: &Signals) -> LoadError {
    if source.is_full() {
        LoadError::Full { file: path.to_owned(), written: signals.rows.load(Ordering::Relaxed) }
    } else {
        LoadError::Failed { doing, file: path.to_owned(), source }
    }
}

fn stopped(url: &SqliteUrl, plan: &LoadPlan) -> LoadError {
    LoadError::Stopped { file: loading(&url.path), start_anew: plan.start_anew.clone() }
}
