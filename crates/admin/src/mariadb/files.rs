//! Tables copied as files: where the data folder of the server is ours to read and to write, as that of a private one is.
//!
//! A table without checks is still built row by row. Its file, flushed and locked by `flush tables … for export`, is
//! copied as the disk can, and the server then only writes the new table's number into each page.

use super::session::{Session, ident};
use crate::engine::Conn as _;
use crate::error::Cause;
use mysql_async::prelude::Queryable;
use sql::ServerUrl;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where the files of two databases of one server lie.
pub(crate) struct Folders {
    from: PathBuf,
    to: PathBuf,
}

impl Folders {
    /// The folders, if tables can be copied as files: the server is on this machine, says where its data are, both
    /// databases' files are there for us to read and to make, and all `tables` are InnoDB's in files of their own.
    pub(crate) fn open(
        session: &mut Session,
        from: &ServerUrl,
        to: &ServerUrl,
        tables: &[&str],
    ) -> Result<Option<Folders>, Cause> {
        // Other names are written differently in the file system.
        let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if ![from.database.as_str(), &to.database].into_iter().chain(tables.iter().copied()).all(plain) {
            return Ok(None);
        }
        let asked = "select cast(@@datadir as char), cast(@@innodb_file_per_table as signed), \
                     cast(@@lower_case_table_names as signed)";
        let said: Option<(String, i64, i64)> = session.wait(async |conn| conn.query_first(asked).await)?;
        let Some((data, apart, lower)) = said else { return Ok(None) };
        let data = Path::new(&data);
        let folders = Folders { from: data.join(&from.database), to: data.join(&to.database) };
        Ok((apart == 1 && lower == 0 && folders.are_ours(tables)).then_some(folders))
    }

    fn are_ours(&self, tables: &[&str]) -> bool {
        // Also tells another machine's server from ours: these files are not here.
        let readable = |table: &&str| fs::File::open(self.from.join(format!("{table}.ibd"))).is_ok();
        let probe = self.to.join("stackmark.probe");
        let writable = fs::write(&probe, []).and_then(|()| fs::remove_file(&probe)).is_ok();
        writable && tables.iter().all(readable)
    }

    /// Copies tables into empty ones of the same make, several at a time. No one can write to the template meanwhile.
    ///
    /// # Errors
    /// For whatever the system or the server says.
    pub(crate) fn copy(
        &self,
        session: &mut Session,
        template: &ServerUrl,
        to: &ServerUrl,
        tables: &[&str],
    ) -> Result<(), Cause> {
        for table in tables {
            session.batch(&format!("alter table {} discard tablespace", ident(table)))?;
        }
        let mut holder = Session::open(template, true)?;
        let names: Vec<String> = tables.iter().map(|table| ident(table)).collect();
        holder.batch(&format!("flush tables {} for export", names.join(", ")))?;
        let next = AtomicUsize::new(0);
        let copied = side_by_side(|| self.copy_files(tables, &next));
        // The server takes its own export files away.
        holder.batch("unlock tables")?;
        copied?;
        let next = AtomicUsize::new(0);
        side_by_side(|| import(to, tables, &next))
    }

    fn copy_files(&self, tables: &[&str], next: &AtomicUsize) -> Result<(), Cause> {
        while let Some(table) = tables.get(next.fetch_add(1, Ordering::Relaxed)) {
            for ending in ["cfg", "ibd"] {
                let name = format!("{table}.{ending}");
                copy_file(&self.from.join(&name), &self.to.join(&name))?;
            }
        }
        Ok(())
    }
}

/// A copy that belongs to whom the original belongs to, since the server must write to it.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let about = fs::metadata(from)?;
    fs::copy(from, to)?;
    let made = fs::metadata(to)?;
    if (made.uid(), made.gid()) != (about.uid(), about.gid()) {
        chown(to, Some(about.uid()), Some(about.gid()))?;
    }
    Ok(())
}

fn import(to: &ServerUrl, tables: &[&str], next: &AtomicUsize) -> Result<(), Cause> {
    let mut session = Session::open(to, true)?;
    session.batch("set session foreign_key_checks = 0")?;
    while let Some(table) = tables.get(next.fetch_add(1, Ordering::Relaxed)) {
        session.batch(&format!("alter table {} import tablespace", ident(table)))?;
    }
    Ok(())
}

/// Runs the same on a few threads. All end before this does.
pub(crate) fn side_by_side(work: impl Fn() -> Result<(), Cause> + Sync) -> Result<(), Cause> {
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..crate::loading::threads(0).clamp(2, 4)).map(|_| scope.spawn(&work)).collect();
        let ended: Vec<_> =
            workers.into_iter().map(|worker| worker.join().expect("a panic is passed on")).collect();
        ended.into_iter().collect()
    })
}
