//! What an engine says of the work that a server gives it, without the server's word.

use crate::files;
use admin::store;
use sql::{DbUrl, Dialect};
use std::path::PathBuf;

/// Statements that an engine has executed.
pub struct Counted {
    /// Those of all sessions that the engine counts together.
    pub all: u64,
    /// Those among them that the session has made that asked, where the engine counts for each session.
    pub own: Option<u64>,
}

/// PostgreSQL counts for each database where `pg_stat_statements` is loaded, MariaDB always and for the whole server, SQLite
/// never.
pub(crate) fn statements_of(url: &DbUrl) -> Option<Counted> {
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
    Some(Counted { all: count(0)?, own: count(1) })
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
    /// The engine counts its flushes of the log, those for all databases together: these so far.
    Counted(u64),
    /// Whether the engine flushes its log at every commit: a setting that is for all sessions.
    Always(bool),
    /// Pages of these files that are only in memory are counted by the kernel: these now.
    Unwritten(u64),
}

impl Flushing {
    /// That of two databases together; they are of one engine.
    pub(crate) fn and(self, other: Flushing) -> Flushing {
        match (self, other) {
            (Flushing::Unwritten(these), Flushing::Unwritten(those)) => Flushing::Unwritten(these + those),
            // Each counts for the whole server, or for one of several.
            (Flushing::Counted(these), Flushing::Counted(those)) => Flushing::Counted(these + those),
            (Flushing::Always(these), Flushing::Always(those)) => Flushing::Always(these && those),
            (one, _) => one,
        }
    }
}

/// PostgreSQL counts what its sessions have reported, which they do once a second, and only where it flushes by a call of its own.
/// MariaDB counts no flushes of its log from 10.8 on, and does not let its sessions choose. Of SQLite the kernel knows what has not
/// been written, on most file systems and from Linux 6.5 on.
pub(crate) fn flushing_of(url: &DbUrl) -> Option<Flushing> {
    let count = |query: &str| -> Option<u64> {
        let rows = store(url).rows(query, &[]).ok()?;
        u64::try_from(rows.first()?.first()?.int()?).ok()
    };
    match url {
        DbUrl::Sqlite(url) => {
            let mut files: Vec<PathBuf> = vec![url.path.clone()];
            for end in ["-wal", "-journal"] {
                let mut name = url.path.clone().into_os_string();
                name.push(end);
                files.push(name.into());
            }
            files::unwritten(&files).map(Flushing::Unwritten)
        }
        DbUrl::Server(server) if server.dialect == Dialect::MySql => {
            count("select @@global.innodb_flush_log_at_trx_commit in (1, 3)")
                .map(|is| Flushing::Always(is == 1))
        }
        DbUrl::Server(_) => {
            count("select count(*) from pg_settings where name = 'wal_sync_method' and setting like 'f%'")
                .filter(|flushes| *flushes == 1)?;
            count("select wal_sync from pg_stat_wal")
                // From version 18 on.
                .or_else(|| count("select sum(fsyncs)::bigint from pg_stat_io where object = 'wal'"))
                .map(Flushing::Counted)
        }
    }
}
