//! The right to load: an advisory lock on `FILE.loading` that ends with the process, and what is done with it.

use super::conn::Session;
use super::place::{beside, folder, loading, put_in_place, refused, remove_database};
use super::{File as Database, RECORD, look, writer};
use crate::engine::{Canceller, Claim, Conn, Engine as _};
use crate::error::{Cause, Error};
use crate::loading::ensure_room;
use crate::{Contents, Found, LoadPlan, record};
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;

/// `FILE.loading`, locked.
struct Loading<'a> {
    database: &'a Database,
    path: PathBuf,
    file: Arc<File>,
    /// Whether the load has begun: before that, nothing of it is left.
    started: bool,
}

/// Takes it, unless another process has it.
pub(crate) fn take<'a>(
    database: &'a Database,
    load: &LoadPlan,
) -> Result<(Box<dyn Claim + 'a>, Found), Error> {
    use rustix::fs::{fstat, stat};
    use std::os::unix::fs::OpenOptionsExt;
    ensure_unused(database).map_err(|cause| database.failed("replace", cause))?;
    let path = loading(&database.0.path);
    let opened = File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = opened.map_err(|error| refused(&path, error.into()))?;
    let running = || Error::Running(database.place());
    if file.try_lock().is_err() {
        return Err(running());
    }
    let failed = |source| Error::Failed { doing: "open", place: path.display().to_string(), source };
    // Between opening and locking, another loader may have finished: then the lock is on what is now FILE.
    let ours = fstat(&file).map_err(|error| failed(std::io::Error::from(error).into()))?;
    match stat(&path) {
        Ok(there) if there.st_ino == ours.st_ino && there.st_dev == ours.st_dev => {}
        _ => return Err(running()),
    }
    let claim = Loading { database, path: path.clone(), file: Arc::new(file), started: false };
    ensure_room(load.dataset.as_ref(), &database.place(), folder(&database.0.path), OVERHEAD)?;
    let found = look(&database.0).map_err(|source| database.unusable(source))?;
    Ok((Box::new(claim), found))
}

/// Bytes on disk for those of the rows: indexes, and what stays free in pages.
const OVERHEAD: f64 = 1.2;

/// A database that is to be replaced must not be open elsewhere: its users would go on with a file that is gone.
pub(crate) fn ensure_unused(database: &Database) -> Result<(), Cause> {
    if fs::metadata(&database.0.path).is_ok_and(|about| about.len() > 0) {
        let conn = database.open(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        conn.execute_batch("pragma locking_mode=exclusive; begin exclusive; rollback")?;
    }
    Ok(())
}

impl Loading<'_> {
    /// Writes the record and stores the journal mode in the file, where it is one that a file stores.
    fn seal(&self, contents: &Contents) -> Result<(), Cause> {
        let conn = Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let mut session = Session::new(conn);
        session.batch("pragma synchronous=full; begin immediate")?;
        session.batch(RECORD)?;
        record::complete(&mut session, contents)?;
        session.batch("commit")?;
        session.keep_journal(self.database.0.journal)?;
        session.close()
    }
}

impl Claim for Loading<'_> {
    fn canceller(&self) -> Option<Canceller> {
        None
    }

    fn begin(&mut self, _: &[&str]) -> Result<Vec<String>, Cause> {
        self.started = true;
        self.file.set_len(0)?;
        for suffix in ["-wal", "-shm", "-journal"] {
            let _ = fs::remove_file(beside(&self.path, suffix));
        }
        Ok(Vec::new())
    }

    fn connect(&self, reads: bool) -> Result<Box<dyn Conn>, Cause> {
        let conn = match reads {
            true => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                Connection::open_with_flags(&self.path, flags)?
            }
            false => writer::open(&self.path)?,
        };
        Ok(Box::new(Session { conn, file: Some(Arc::clone(&self.file)) }))
    }

    fn flush(&mut self) -> Result<(), Cause> {
        Ok(self.file.sync_data()?)
    }

    fn complete(&mut self, contents: &Contents) -> Result<Option<u64>, Cause> {
        self.seal(contents)?;
        self.file.sync_all()?;
        ensure_unused(self.database)?;
        put_in_place(&self.path, &self.database.0.path)?;
        Ok(self.file.metadata().ok().map(|about| about.len()))
    }

    fn abandon(&mut self, _: &[&str]) {
        // What cannot be removed is recognised.
        let _ = remove_database(&self.path);
    }
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        if !self.started {
            self.abandon(&[]);
        }
    }
}
