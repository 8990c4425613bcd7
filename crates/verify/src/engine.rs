//! What an engine says of the work that a server gives it, without the server's word.

use crate::files;
use admin::{SnapshotReader, store};
use sql::{DbUrl, Dialect};
use std::path::PathBuf;

/// Statements that an engine has executed.
pub struct StatementCounts {
    /// Those of all sessions that the engine counts together.
    pub all: u64,
    /// Those among them that the session has made that asked, where the engine counts for each session.
    pub own: Option<u64>,
}

/// PostgreSQL counts for each database where `pg_stat_statements` is loaded, MariaDB always and for the whole server, SQLite
/// never.
pub(crate) fn statements_of(url: &DbUrl) -> Option<StatementCounts> {
    let query = match url.dialect() {
        Dialect::Sqlite => return None,
        Dialect::Postgres => {
            "select coalesce(sum(calls), 0)::bigint, null::bigint from pg_stat_statements where dbid = (select oid from pg_database where \
             datname = current_database())"
        }
        Dialect::MySql => {
            "select cast(server.variable_value as signed), cast(session.variable_value as signed) from \
             information_schema.global_status server, information_schema.session_status session where server.variable_name = \
             'QUESTIONS' and session.variable_name = 'QUESTIONS'"
        }
    };
    let rows = store(url).rows(query, &[]).ok()?;
    let count = |column: usize| u64::try_from(rows.first()?.get(column)?.int()?).ok();
    Some(StatementCounts { all: count(0)?, own: count(1) })
}

/// Sessions that a server process has at a database that no one else uses. Of SQLite, how often it has the file open.
pub(crate) fn sessions_of(url: &DbUrl, process: u32) -> Option<u64> {
    let query = match url {
        DbUrl::Sqlite(url) => return files::times_open(&url.path, process),
        DbUrl::Server(url) if url.dialect == Dialect::MySql => {
            "select count(*) from information_schema.processlist where db = database() and id <> connection_id()"
        }
        DbUrl::Server(_) => {
            "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and \
             coalesce(backend_type, 'client backend') = 'client backend'"
        }
    };
    let rows = store(url).rows(query, &[]).ok()?;
    u64::try_from(rows.first()?.first()?.int()?).ok()
}

/// How it shows that what was written has reached the disk.
pub enum Flushing {
    /// Whether the engine flushes its log at every commit, by a setting that is for all sessions.
    Always {
        /// The statement that asks for the setting.
        asked: &'static str,
        flushes: bool,
    },
    /// How far the log of each engine has been written and flushed.
    Logged(Vec<Log>),
    /// Of files the kernel counts what is only in memory.
    Files(FileState),
}

/// Positions in the log of an engine, in bytes.
pub struct Log {
    written: u64,
    flushed: u64,
}

/// What is known of SQLite's files.
pub struct FileState {
    /// Pages of them that are only in memory, as the kernel counts them.
    unwritten: u64,
    /// For each database a number that changes with each commit of another connection; none where it cannot be read.
    versions: Vec<Option<i64>>,
}

/// Where a page of PostgreSQL's log begins, what is written next lies so many bytes, those of a header, behind what has been flushed.
const LOG_HEADER: u64 = 40;

impl Flushing {
    /// That of two databases together; they are of one engine.
    pub(crate) fn and(self, other: Flushing) -> Flushing {
        match (self, other) {
            (Flushing::Files(mut these), Flushing::Files(those)) => {
                these.unwritten += those.unwritten;
                these.versions.extend(those.versions);
                Flushing::Files(these)
            }
            (Flushing::Logged(mut logs), Flushing::Logged(others)) => {
                logs.extend(others);
                Flushing::Logged(logs)
            }
            (one @ Flushing::Always { flushes: false, .. }, _) => one,
            (_, other) => other,
        }
    }

    /// Whether all that was written at an `earlier` moment, or before, is on the disk now; nothing where that is not seen.
    pub(crate) fn covers(&self, earlier: &Flushing) -> Option<bool> {
        match (self, earlier) {
            (Flushing::Files(files), _) => Some(files.unwritten == 0),
            (Flushing::Logged(logs), Flushing::Logged(earlier)) => {
                let reach = |(now, then): (&Log, &Log)| now.flushed + LOG_HEADER >= then.written;
                Some(logs.iter().zip(earlier).all(reach))
            }
            _ => None,
        }
    }

    /// Whether something was written since an `earlier` moment, as far as that is seen.
    pub(crate) fn has_grown(&self, earlier: &Flushing) -> bool {
        match (self, earlier) {
            (Flushing::Files(files), Flushing::Files(earlier)) => {
                let all_known = files.versions.iter().chain(&earlier.versions).all(Option::is_some);
                !all_known || files.versions != earlier.versions
            }
            (Flushing::Logged(logs), Flushing::Logged(earlier)) => {
                logs.iter().zip(earlier).any(|(now, then)| now.written > then.written)
            }
            _ => true,
        }
    }
}

/// Looks at what has been flushed, over connections that stay open: what an engine flushes by itself is on the disk soon after.
pub struct FlushReader(Vec<StoreReader>);

enum StoreReader {
    Files(Vec<PathBuf>, Option<Box<SnapshotReader>>),
    Engine(Box<SnapshotReader>),
}

impl FlushReader {
    /// Of these databases; nothing where one cannot be reached.
    pub(crate) fn open<'a>(urls: impl Iterator<Item = &'a DbUrl>) -> Option<FlushReader> {
        let reader = |url: &DbUrl| match url {
            DbUrl::Sqlite(url) => {
                let mut files: Vec<PathBuf> = vec![url.path.clone()];
                for end in ["-wal", "-journal"] {
                    let mut name = url.path.clone().into_os_string();
                    name.push(end);
                    files.push(name.into());
                }
                let reader = SnapshotReader::open(&DbUrl::Sqlite(url.clone())).ok();
                Some(StoreReader::Files(files, reader.map(Box::new)))
            }
            DbUrl::Server(_) => SnapshotReader::open(url).ok().map(Box::new).map(StoreReader::Engine),
        };
        urls.map(reader).collect::<Option<Vec<_>>>().map(FlushReader)
    }

    /// What is flushed now; nothing where neither engine nor kernel tells.
    pub(crate) fn look(&mut self) -> Option<Flushing> {
        let each: Option<Vec<Flushing>> = self.0.iter_mut().map(StoreReader::look).collect();
        each?.into_iter().reduce(Flushing::and)
    }
}

impl StoreReader {
    /// PostgreSQL says how far its log is written and how far it is flushed; one that flushes nothing may have standbys that do, and then
    /// nothing is known. MariaDB does not let its sessions choose. Of SQLite the kernel knows what has not been written, on most file
    /// systems and from Linux 6.5 on.
    fn look(&mut self) -> Option<Flushing> {
        let reading = match self {
            StoreReader::Files(files, reader) => {
                let rows = reader.as_mut().and_then(|reader| reader.rows("pragma data_version").ok());
                let version = rows.and_then(|rows| rows.first()?.first()?.int());
                let unwritten = files::unwritten(files)?;
                return Some(Flushing::Files(FileState { unwritten, versions: vec![version] }));
            }
            StoreReader::Engine(reading) => reading,
        };
        let is_mysql = reading.url().dialect() == Dialect::MySql;
        let mut asked = |query: &str| -> Option<Vec<u64>> {
            let rows = reading.rows(query).ok()?;
            rows.first()?.iter().map(|value| u64::try_from(value.int()?).ok()).collect()
        };
        if is_mysql {
            let setting = "select @@global.innodb_flush_log_at_trx_commit";
            let flushes = matches!(asked(setting)?.first()?, 1 | 3);
            return Some(Flushing::Always { asked: setting, flushes });
        }
        let figures = asked(
            "select case when current_setting('fsync') = 'on' then 1 when current_setting('synchronous_standby_names') = '' then 0 end, \
             (pg_current_wal_insert_lsn() - '0/0')::bigint, (pg_current_wal_flush_lsn() - '0/0')::bigint",
        )?;
        match *figures.as_slice() {
            [1, written, flushed] => Some(Flushing::Logged(vec![Log { written, flushed }])),
            [_, ..] => Some(Flushing::Always { asked: "show fsync", flushes: false }),
            [] => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(positions: &[(u64, u64)]) -> Flushing {
        let log = |&(written, flushed): &(u64, u64)| Log { written, flushed };
        Flushing::Logged(positions.iter().map(log).collect())
    }

    #[test]
    fn what_was_written_before_is_flushed_in_each_log() {
        let at_once = logged(&[(1_000, 1_000), (2_000, 1_500)]);
        assert_eq!(at_once.covers(&at_once), Some(false));
        // What has been written since does not matter, nor how far another log is.
        assert_eq!(logged(&[(9_000, 1_000), (9_000, 2_000)]).covers(&at_once), Some(true));
        assert_eq!(logged(&[(9_000, 9_000), (9_000, 1_900)]).covers(&at_once), Some(false));
        // The header of the page that begins there.
        assert_eq!(logged(&[(1_040, 1_000)]).covers(&logged(&[(1_040, 1_000)])), Some(true));
        assert_eq!(files(0, &[]).covers(&files(7, &[])), Some(true));
        assert_eq!(files(1, &[]).covers(&files(7, &[])), Some(false));
    }

    #[test]
    fn what_was_written_since_is_seen() {
        let both = || files(0, &[Some(1)]).and(files(0, &[Some(5)]));
        assert!(!both().has_grown(&both()));
        assert!(files(0, &[Some(1)]).and(files(0, &[Some(6)])).has_grown(&both()));
        // Where it cannot be read it may be so.
        assert!(files(0, &[None]).has_grown(&files(0, &[None])));
        assert!(!logged(&[(5, 5), (7, 7)]).has_grown(&logged(&[(5, 4), (7, 7)])));
        assert!(logged(&[(5, 5), (8, 7)]).has_grown(&logged(&[(5, 5), (7, 7)])));
    }

    fn files(unwritten: u64, versions: &[Option<i64>]) -> Flushing {
        Flushing::Files(FileState { unwritten, versions: versions.to_vec() })
    }

    #[test]
    fn of_two_engines_the_one_that_does_not_flush_is_told() {
        let always = |flushes| Flushing::Always { asked: "", flushes };
        for both in [
            always(true).and(always(false)),
            always(false).and(logged(&[(1, 1)])),
            logged(&[(1, 1)]).and(always(false)),
        ] {
            assert!(matches!(both, Flushing::Always { flushes: false, .. }));
        }
        assert!(
            matches!(logged(&[(1, 1)]).and(logged(&[(2, 2)])), Flushing::Logged(logs) if logs.len() == 2)
        );
    }
}
