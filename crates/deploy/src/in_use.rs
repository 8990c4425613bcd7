//! One run at a time on a database: what one run stores would be missing from, or too much in, what the other
//! acknowledged. The server of a run is part of it and asks for nothing; audits and loads have locks of their own.

use anyhow::{Context, Result, bail};
use rustix::fs::{fstat, stat};
use sql::DbUrl;
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The right to run on a database. The kernel, or its server, takes it back when this process ends, in whatever way.
#[derive(Debug)]
pub enum InUse {
    /// A file, by a lock on one next to it.
    File(FileLock),
    /// A database of a server, by a lock of that.
    Server(RefCell<admin::RunLock>),
}

/// A lock on a file next to a database.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
}

/// Takes the right to make calls on a database; nothing where its server has no lock for it.
///
/// # Errors
/// Another run has it, or has copies made of it: says who, and where. Or the file of the lock cannot be used.
pub fn lock_exclusive(url: &DbUrl) -> Result<Option<InUse>> {
    match url {
        DbUrl::Sqlite(url) => hold(&url.path, File::try_lock).map(Some),
        DbUrl::Server(_) => on_server(url, false),
    }
}

/// Takes the right to copy a database, or to make a part of the calls of a run on it, which others may do too; nothing where its server has no lock for it.
///
/// # Errors
/// As [`lock_exclusive`].
pub fn lock_shared(url: &DbUrl) -> Result<Option<InUse>> {
    match url {
        DbUrl::Sqlite(url) => hold(&url.path, File::try_lock_shared).map(Some),
        DbUrl::Server(_) => on_server(url, true),
    }
}

fn on_server(url: &DbUrl, shared: bool) -> Result<Option<InUse>> {
    match admin::store(url.clone()).hold(shared)? {
        admin::LockAttempt::Ours(mut hold) => {
            hold.is_of(&format!("process {}", std::process::id()));
            Ok(Some(InUse::Server(RefCell::new(hold))))
        }
        admin::LockAttempt::Others(who) => Err(in_use(&url.place(), &who)),
        admin::LockAttempt::Unknown => Ok(None),
    }
}

fn hold(database: &Path, lock: fn(&File) -> Result<(), TryLockError>) -> Result<InUse> {
    // One file may have several names.
    let database = database.canonicalize().unwrap_or_else(|_| database.to_owned());
    let path = PathBuf::from({
        let mut name = OsString::from(&database);
        name.push(".lock");
        name
    });
    let cannot = || {
        format!("could not lock {}, which prevents concurrent runs on {}", path.display(), database.display())
    };
    loop {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.with_context(cannot)?;
        match lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(refused(&file, &database)),
            Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
        }
        // Whoever had it may have removed it before we locked it.
        let ours = fstat(&file).with_context(cannot)?;
        if stat(&path).is_ok_and(|there| (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)) {
            let held = FileLock { file, path };
            held.write(&format!("process {}", std::process::id()));
            return Ok(InUse::File(held));
        }
    }
}

fn refused(mut file: &File, database: &Path) -> anyhow::Error {
    let mut holder = String::new();
    // Whoever holds it may be about to write who they are.
    let _ = file.read_to_string(&mut holder);
    in_use(&database.display().to_string(), &holder)
}

fn in_use(database: &str, holder: &str) -> anyhow::Error {
    let holder = match holder.trim() {
        "" => "it has just started",
        holder => holder,
    };
    anyhow::anyhow!(
        "another run uses {database} ({holder}): calls of both would be in its data, and neither could be audited\nhint: \
         wait for its end, or `stackmark load` a database of its own for this run"
    )
}

impl InUse {
    /// Tells those who are refused where we work.
    pub fn works_in(&self, folder: &Path) {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let who = format!("process {}, {}", std::process::id(), folder.display());
        match self {
            InUse::File(lock) => lock.write(&who),
            InUse::Server(hold) => hold.borrow_mut().is_of(&who),
        }
    }
}

impl FileLock {
    fn write(&self, who: &str) {
        let mut file = &self.file;
        // It is for people: what counts is the lock.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(who.as_bytes()));
    }
}

impl Drop for FileLock {
    /// Removes the file, unless others hold it too: the last of them does.
    fn drop(&mut self) {
        if self.file.unlock().is_ok() && self.file.try_lock().is_ok() {
            // One that stays is locked by no one, and is used again.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Refuses a write-ahead log where its index cannot be shared: on a network file system SQLite would lose or tear data
/// (<https://sqlite.org/wal.html>).
///
/// # Errors
/// Says which file system it is, and what would be right.
pub fn allow_journal(url: &DbUrl) -> Result<()> {
    let DbUrl::Sqlite(url) = url else { return Ok(()) };
    // A place that cannot be looked at is met by whoever opens it.
    let Ok(on) = observe::FileSystem::of(&url.path) else { return Ok(()) };
    journal_on(&on, url)
}

fn journal_on(on: &observe::FileSystem, url: &sql::SqliteUrl) -> Result<()> {
    if url.journal == sql::Journal::Wal && on.is_network() {
        bail!(
            "{} is on a network file system ({}), where a write-ahead log loses or tears data: its index is shared memory\n\
             hint: add journal=truncate to the address, such as --db 'sqlite:FILE?journal=truncate', or use a local disk",
            url.path.display(),
            on.kind
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::FileSystem;

    fn database(name: &str) -> (PathBuf, DbUrl) {
        let path = std::env::temp_dir().join(format!("stackmark-in-use-{}-{name}.db", std::process::id()));
        fs::write(&path, b"").unwrap();
        (path.clone(), DbUrl::Sqlite(sql::SqliteUrl::file(path)))
    }

    fn lock_file(held: &InUse) -> PathBuf {
        match held {
            InUse::File(lock) => lock.path.clone(),
            InUse::Server(_) => panic!("a file has a lock of its own"),
        }
    }

    #[test]
    fn the_second_run_is_refused_with_the_name_of_the_first_until_that_has_ended() {
        let (path, url) = database("second");
        let first = lock_exclusive(&url).unwrap().unwrap();
        first.works_in(Path::new("results/somewhere"));
        let link = path.with_extension("link");
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for name in [path.clone(), link.clone()] {
            for taken in [lock_exclusive, lock_shared] {
                let refused =
                    taken(&DbUrl::Sqlite(sql::SqliteUrl::file(name.clone()))).unwrap_err().to_string();
                let us = format!("process {}, results/somewhere", std::process::id());
                assert!(refused.contains(&us) && refused.contains("hint: wait"), "{refused}");
            }
        }
        let lock = lock_file(&first);
        drop(first);
        assert!(!lock.exists());
        drop(lock_exclusive(&url).unwrap());
        // What a killed run leaves behind is locked by no one.
        fs::write(&lock, "process 1").unwrap();
        drop(lock_exclusive(&url).unwrap());
        assert!(!lock.exists());
        fs::remove_file(path).unwrap();
        fs::remove_file(link).unwrap();
    }

    #[test]
    fn many_may_copy_and_none_may_run_meanwhile() {
        let (path, url) = database("copies");
        let (first, second) = (lock_shared(&url).unwrap().unwrap(), lock_shared(&url).unwrap());
        assert!(lock_exclusive(&url).is_err());
        let lock = lock_file(&first);
        drop(first);
        assert!(lock.exists() && lock_exclusive(&url).is_err());
        drop(second);
        assert!(!lock.exists());
        drop(lock_exclusive(&url).unwrap());
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_write_ahead_log_stays_off_network_file_systems() {
        let on = |kind: &str| FileSystem {
            options: String::new(),
            kind: kind.into(),
            in_memory: false,
            device: None,
            rotational: None,
            free_bytes: None,
            total_bytes: None,
        };
        let wal: sql::SqliteUrl = "sqlite:bench.db".parse().unwrap();
        let truncate: sql::SqliteUrl = "sqlite:bench.db?journal=truncate".parse().unwrap();
        let refused = journal_on(&on("nfs4"), &wal).unwrap_err().to_string();
        assert!(refused.contains("bench.db is on a network file system (nfs4)"), "{refused}");
        assert!(refused.contains("journal=truncate"), "{refused}");
        journal_on(&on("nfs4"), &truncate).unwrap();
        for local in ["ext4", "tmpfs", "overlay", "unknown"] {
            journal_on(&on(local), &wal).unwrap();
        }
    }
}
