//! Several files behind one connection, with one commit.
//!
//! SQLite commits in all attached files or in none, but only where each has a rollback journal: with a write-ahead log each
//! file is atomic by itself, and a machine that stops between two of them has committed one. So files with a log are refused.

use crate::conn::Files;
use crate::open::{ADAPTER, connect, has_log, refused};
use crate::{Lane, SqliteConn, SqliteOpener};
use model::{Clock, Home, OpenError, Stack};
use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};
use sql::{SqlOpener, SqliteUrl, of_database};
use std::time::Duration;

/// Opens connections to several files, in the order of their stores.
#[derive(Debug)]
pub struct AttachedOpener<K> {
    urls: Vec<SqliteUrl>,
    /// The workload's, and the same for each file.
    statements: Vec<String>,
    each: usize,
    lanes: Vec<Lane>,
    clock: K,
    stack: Stack,
}

impl<K: Clock> AttachedOpener<K> {
    /// Connections to the files of these openers, which share their lanes: their statements for each of the files.
    ///
    /// # Errors
    /// A file has a write-ahead log, or is on simulated storage, which attached files would not.
    pub fn over(openers: &[SqliteOpener<K>]) -> Result<AttachedOpener<K>, OpenError> {
        for opener in openers {
            allowed(opener)?;
        }
        let [first, ..] = openers else {
            return Err(OpenError::Unusable { what: "attached files".into(), why: "there are none".into() });
        };
        let of_file = |file| first.statements.iter().map(move |text| of_database(text, &name(file)));
        Ok(AttachedOpener {
            urls: openers.iter().map(|opener| opener.url.clone()).collect(),
            statements: (0..openers.len()).flat_map(of_file).collect(),
            each: first.statements.len(),
            lanes: openers.iter().map(|opener| opener.lane.clone()).collect(),
            clock: first.clock.clone(),
            stack: first.settings.stack(ADAPTER),
        })
    }

    fn connect(&self) -> Result<Connection, OpenError> {
        let [first, others @ ..] = &self.urls[..] else {
            return Err(OpenError::Unusable { what: "attached files".into(), why: "there are none".into() });
        };
        let connection = connect(first)?;
        for (file, url) in (1..).zip(others) {
            attach(&connection, &name(file), url).map_err(|error| refused(url, &error))?;
        }
        Ok(connection)
    }
}

/// What a file is called on a connection: the first is the connection's own.
fn name(file: usize) -> String {
    if file == 0 { "main".to_owned() } else { format!("shard_{file}") }
}

fn attach(connection: &Connection, name: &str, url: &SqliteUrl) -> rusqlite::Result<()> {
    let kib = i64::try_from(url.cache / 1024).unwrap_or(i64::MAX);
    // A path need not be UTF-8.
    let path = ToSqlOutput::Borrowed(ValueRef::Text(url.path.as_os_str().as_encoded_bytes()));
    connection.busy_timeout(Duration::from_millis(u64::from(url.busy_ms)))?;
    connection.execute(&format!("attach ?1 as {name}"), [path])?;
    connection.pragma_update(Some(name), "journal_mode", url.journal.name())?;
    connection.pragma_update(Some(name), "synchronous", url.synchronous.name())?;
    connection.pragma_update(Some(name), "cache_size", -kib)
}

/// Whether commits over this and other files are atomic.
fn allowed<K: Clock>(opener: &SqliteOpener<K>) -> Result<(), OpenError> {
    let refused = |why: &str| {
        Err(OpenError::Unusable { what: opener.url.path.display().to_string(), why: why.to_owned() })
    };
    if has_log(&opener.settings) {
        return refused(
            "a commit over attached files is atomic only with a rollback journal, and this one has a write-ahead log\nhint: add \
             journal=truncate to each address, such as --db 'shard-0=sqlite:FILE?journal=truncate'; in an experiment, `journal = \
             \"truncate\"`",
        );
    }
    if ["memory", "off"].contains(&opener.settings.journal.as_str()) {
        return refused(
            "a commit over attached files is atomic only with a journal that is a file, such as journal=truncate",
        );
    }
    if opener.url.storage.is_slow() {
        return refused(
            "files on simulated storage cannot be attached\nhint: leave sync_delay, lock_delay and read_delay out",
        );
    }
    Ok(())
}

impl<K: Clock> SqlOpener for AttachedOpener<K> {
    type Conn = SqliteConn<K>;
    const HOME: Home = Home::Thread;

    async fn open(&self) -> Result<SqliteConn<K>, OpenError> {
        let [first, others @ ..] = &self.lanes[..] else {
            return Err(OpenError::Unusable { what: "attached files".into(), why: "there are none".into() });
        };
        first.exclusive(|| {
            let passes: Vec<_> = others.iter().map(|lane| lane.enter(true)).collect();
            let opened = self.connect().and_then(|connection| {
                let conn =
                    SqliteConn::prepare(connection, &self.statements, first.clone(), self.clock.clone());
                let conn = conn.map_err(|error| refused(&self.urls[0], &error))?;
                Ok(conn.over(Files::new(self.lanes.clone(), self.each)))
            });
            passes.into_iter().for_each(crate::Pass::leave);
            opened
        })
    }

    fn stack(&self) -> Stack {
        self.stack.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::at_once;
    use measure::Monotonic;
    use sql::{Attached, Param, SqlConn, StmtId, TxKind};

    fn files(count: usize, options: &str) -> (tempfile::TempDir, Vec<SqliteOpener<Monotonic>>) {
        let folder = tempfile::tempdir().unwrap();
        let clock = Monotonic::start();
        let open = |file: usize| {
            let path = folder.path().join(format!("{file}.db"));
            Connection::open(&path).unwrap().execute_batch("create table t (x integer)").unwrap();
            let url: SqliteUrl = format!("sqlite:{}{options}", path.display()).parse().unwrap();
            let statements =
                vec!["insert into t values (?1)".to_owned(), "select count(*) from t".to_owned()];
            SqliteOpener::new(&url, statements, clock).unwrap()
        };
        let openers = (0..count).map(open).collect();
        (folder, openers)
    }

    const INSERT: StmtId = StmtId(0);
    const COUNT: StmtId = StmtId(1);

    fn counts(openers: &[SqliteOpener<Monotonic>]) -> Vec<i64> {
        let count = |opener: &SqliteOpener<Monotonic>| {
            let mut conn = at_once(opener.open()).unwrap();
            at_once(conn.begin(TxKind::OneRead)).unwrap();
            let found = at_once(conn.row(COUNT, &[], |row| row.int(0))).unwrap().unwrap();
            at_once(conn.commit()).unwrap();
            found
        };
        openers.iter().map(count).collect()
    }

    #[test]
    fn a_transaction_is_in_two_of_the_files_and_ends_in_both() {
        let (_folder, openers) = files(3, "?journal=truncate");
        let mut conn = at_once(AttachedOpener::over(&openers).unwrap().open()).unwrap();
        let mut transact = |stores: [usize; 2], commit: bool| {
            conn.within(stores);
            at_once(conn.begin(TxKind::Write)).unwrap();
            for store in stores {
                conn.at(store);
                assert_eq!(at_once(conn.exec(INSERT, &[Param::Int(7)])), Ok(1));
            }
            at_once(async { if commit { conn.commit().await } else { conn.rollback().await } }).unwrap();
        };
        transact([0, 2], true);
        assert_eq!(counts(&openers), [1, 0, 1]);
        transact([2, 1], true);
        assert_eq!(counts(&openers), [1, 1, 2]);
        transact([1, 0], false);
        assert_eq!(counts(&openers), [1, 1, 2]);
    }

    #[test]
    fn sessions_that_cross_there_and_back_at_once_wait_for_each_other() {
        let (_folder, openers) = files(2, "?journal=truncate&busy_ms=0");
        let opener = AttachedOpener::over(&openers).unwrap();
        std::thread::scope(|scope| {
            for stores in [[0, 1], [1, 0], [0, 1], [1, 0]] {
                let opener = &opener;
                scope.spawn(move || {
                    let mut conn = at_once(opener.open()).unwrap();
                    for _ in 0..25 {
                        conn.within(stores);
                        at_once(conn.begin(TxKind::Write)).unwrap();
                        for store in stores {
                            conn.at(store);
                            assert_eq!(at_once(conn.exec(INSERT, &[Param::Int(7)])), Ok(1));
                        }
                        at_once(conn.commit()).unwrap();
                    }
                });
            }
        });
        assert_eq!(counts(&openers), [100, 100]);
    }

    #[test]
    fn files_whose_commits_are_not_one_are_refused() {
        let refused = |options: &str, what: &str| {
            let (_folder, openers) = files(2, options);
            let error = AttachedOpener::over(&openers).unwrap_err().to_string();
            assert!(error.contains(what), "{options}: {error}");
        };
        refused("", "write-ahead log");
        refused("?journal=memory", "a journal that is a file");
        refused("?journal=off", "a journal that is a file");
        refused("?journal=truncate&sync_delay=1ms", "simulated storage");
    }
}
