//! PostgreSQL: a database on a server, used by many at once.
//!
//! In reading order: `session` (a connection that is waited for, encrypted by `tls`), `conn` (what it does for loads and
//! audits, with rows in the form of `binary`), and `sample` (what the server reports).

mod binary;
mod conn;
mod sample;
mod session;
mod writer;

use crate::AuditGroup;
use crate::engine::{Auditors, Conn as _, Engine, Queries};
use crate::error::{Cause, CauseKind, Error};
use crate::hold::{LockAttempt, LockOwner, RunLock};
use crate::record::TABLE;
use crate::server::{Lock, Server, untried};
use model::{Nanos, Product};
use observe::EngineProbe;
use session::{Session, quoted};
use sql::ServerUrl;
use std::time::Duration;
use tokio_postgres::error::SqlState;

/// A database, which may not be there yet.
pub(crate) struct Database(pub(crate) ServerUrl);

/// Bytes of `application_name`.
const NAME_MAX: usize = 63;
/// Where the locks of runs lie, so that all runs look at one place.
const LOCKS_IN: &str = "postgres";
/// The class of advisory locks of runs: `run` in letters.
const RUN_CLASS: i32 = 0x0072_756e;
/// Databases that every server has: one of them is connected to while another is made or removed.
const MAINTENANCE: [&str; 2] = ["postgres", "template1"];
/// The first server that can copy a database page by page through its log as well as file by file.
const WAL_LOG_SINCE: i64 = 150_000;
/// The first server that notices in mid-statement that its client is gone.
const CLIENT_CHECK_SINCE: i64 = 140_000;
/// The advisory lock of whoever loads: "stmk" and a number of its own.
const LOCK: (i32, i32) = (0x7374_6d6b, 1);

/// Settings of each connection of an audit: sums over all rows are hashed in memory, and by several processes. Temporary
/// tables are large and hardly known to the planner, which would sort them to merge them; and a query of one second does
/// not earn back its compilation.
const AUDIT_SETTINGS: [(&str, &str); 5] = [
    ("work_mem", "64MB"),
    ("max_parallel_workers_per_gather", "2"),
    ("min_parallel_table_scan_size", "1MB"),
    ("parallel_setup_cost", "100"),
    ("enable_mergejoin", "off"),
];

/// How tables, their partitions, their indexes and their long values are kept, and where the server has its log and the states of its
/// transactions. What has no tablespace of its own is in that of the database, and that may be the server's folder, which not every
/// user may see.
const KEPT: &str = "
with server as (select setting as folder from pg_settings where name = 'data_directory')
select
  (select relname from pg_class whole where whole.oid = coalesce(pg_partition_root(owner.oid), owner.oid))::text,
  owner.relname::text,
  case part.relpersistence when 'p' then 'logged' else 'unlogged' end,
  coalesce(
    nullif(pg_tablespace_location(case part.reltablespace when 0 then dattablespace else part.reltablespace end), ''),
    (select folder from server)
  )
from pg_class owner
join lateral (
  select owner.oid union all select indexrelid from pg_index where indrelid = owner.oid
  union all select owner.reltoastrelid where owner.reltoastrelid <> 0
) of_owner on true
join pg_class part on part.oid = of_owner.oid
join pg_namespace on pg_namespace.oid = owner.relnamespace
join pg_database on datname = current_database()
where owner.relkind = 'r' and nspname not like 'pg\\_%' and nspname <> 'information_schema'
  and pg_table_is_visible(coalesce(pg_partition_root(owner.oid), owner.oid))
union all select '', '', 'logged', folder || part from server, unnest(array['/pg_wal', '/pg_xact']) part
order by 1, 2";

/// Limits on sessions. Some are kept for superusers, and those have no limit of their own. Of others' sessions a user may not see what
/// they are.
const SESSIONS: &str = "
select 'max_connections', current_setting('max_connections')::int8 - case when rolsuper then 0 else
    current_setting('superuser_reserved_connections')::int8
    + coalesce(current_setting('reserved_connections', true)::int8, 0) end,
  (select count(*) from pg_stat_activity where usesysid is not null and coalesce(backend_type, 'client backend') = 'client backend')
from pg_roles where rolname = current_user
union all
select 'connection limit of role ' || rolname, rolconnlimit::int8,
  (select count(*) from pg_stat_activity where usename = rolname)
from pg_roles where rolname = current_user and rolconnlimit >= 0 and not rolsuper
union all
select 'connection limit of database ' || datname, datconnlimit::int8,
  (select numbackends::int8 from pg_stat_database where pg_stat_database.datname = pg_database.datname)
from pg_database
where datname = current_database() and datconnlimit >= 0
  and not (select rolsuper from pg_roles where rolname = current_user)";

/// Tables of anyone's, but for those of the server and of extensions.
const TABLES: &str = "
select case when nspname = current_schema() then relname::text else nspname || '.' || relname end
from pg_class
join pg_namespace on pg_namespace.oid = relnamespace
where relkind in ('r', 'p', 'f', 'm', 'v') and relpersistence <> 't'
  and nspname not like 'pg\\_%' and nspname <> 'information_schema'
  and not exists (
    select from pg_depend
    where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
  )
order by 1";

const COLUMNS: &str = "
select relname::text, attname::text, format_type(atttypid, atttypmod), attnotnull
  and not atthasdef and attidentity = ''
from pg_class
join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
where relkind in ('r', 'p', 'f', 'v') and pg_table_is_visible(pg_class.oid)
  and relnamespace not in (select oid from pg_namespace
    where nspname like 'pg\\_%' or nspname = 'information_schema')
order by relname, attnum";

/// Of those in `sql::postgres::SETTINGS`; and where the server asks for a `sql::postgres::FILLFACTOR`, the one that its tables have.
const FIXED_SETTINGS: &str = "\
select name, current_setting(name)
from pg_settings
where context in ('internal', 'postmaster', 'sighup')
  and name in ('shared_buffers', 'max_connections', 'max_prepared_transactions', 'wal_level', 'wal_sync_method',
    'max_wal_size', 'checkpoint_timeout', 'autovacuum', 'huge_pages', 'fsync', 'full_page_writes',
    'synchronous_standby_names')
union all
select 'stackmark.fillfactor', coalesce(string_agg(distinct option_value, ', '), 'default')
from pg_class
join pg_namespace on pg_namespace.oid = relnamespace
left join lateral pg_options_to_table(reloptions) on option_name = 'fillfactor'
where relkind = 'r' and pg_table_is_visible(pg_class.oid) and relname <> 'stackmark_load'
  and nspname not like 'pg\\_%' and nspname <> 'information_schema'
having current_setting('stackmark.fillfactor', true) <> ''";

impl Server for Database {
    type Session = Session;
    const KIND: &'static str = "a PostgreSQL database";
    const MADE_BY_LOADS: bool = false;
    const SHARES: [f64; 4] = [0.50, 0.22, 0.23, 0.05];
    const QUERIES: Queries = Queries {
        tables: TABLES,
        columns: COLUMNS,
        references: "select count(*) from information_schema.table_constraints \
                     where constraint_type = 'FOREIGN KEY' and table_schema = current_schema()",
        bytes: "select pg_database_size(current_database())",
        sessions: SESSIONS,
        settings: FIXED_SETTINGS,
        kept: KEPT,
        statement_max: "select 0 where false",
    };
    const RECORD: &'static str = "create table stackmark_load (name text primary key, value text not null)";
    const STORED: &'static str = "select coalesce(sum(pg_total_relation_size(oid)), 0)::int8 from pg_class \
                                  where relkind = 'r' and relnamespace = quote_ident(current_schema())::regnamespace";
    fn storing(session: &Session) -> &'static str {
        match session.product {
            // Rows in transactions of a bounded size, and columns as wide as those of PostgreSQL.
            Some(Product::CockroachDb) => "set copy_from_atomic_enabled = off; set default_int_size = 4",
            // Memory is taken once for each connection that builds an index.
            _ => "set maintenance_work_mem = '128MB'; set synchronous_commit = on",
        }
    }

    /// Others have the rows on other servers or in files of their own, of which PostgreSQL's functions know nothing.
    fn knows_sizes(session: &Session) -> bool {
        session.product.is_none()
    }

    fn at(url: ServerUrl) -> Database {
        Database(url)
    }

    fn url(&self) -> &ServerUrl {
        &self.0
    }

    fn name(&self) -> String {
        self.0.to_string()
    }

    fn open(&self) -> Result<Session, Cause> {
        Session::open(&self.0)
    }

    fn opened_to_read(&self) -> Result<Session, Cause> {
        Session::open_to_read(&self.0)
    }

    /// An advisory lock that is named after the database and is in another one: a session in the database itself would be in the way of
    /// its copies.
    fn hold(&self, shared: bool) -> Result<LockAttempt, Cause> {
        if self.0.database == LOCKS_IN {
            return Ok(LockAttempt::Unknown);
        }
        let Ok(session) = Session::open(&self.0.with_database(LOCKS_IN)) else {
            return Ok(LockAttempt::Unknown);
        };
        let database = literal(&self.0.database);
        let oid = session.ask(&format!("select oid from pg_database where datname = {database}"))?;
        let Ok(oid) = oid.parse::<u32>() else { return Ok(LockAttempt::Unknown) };
        let (class, object) = (RUN_CLASS, oid.cast_signed());
        let lock = if shared { "pg_try_advisory_lock_shared" } else { "pg_try_advisory_lock" };
        match session.ask(&format!("select {lock}({class}, {object})")) {
            Err(cause) if cause.kind == CauseKind::Unsupported && session.product.is_some() => {
                return Ok(LockAttempt::Unknown);
            }
            taken => {
                if taken? == "t" {
                    return Ok(LockAttempt::Ours(RunLock(Box::new(session))));
                }
            }
        }
        let who = format!(
            "select string_agg(distinct format('%s, user %s', application_name, usename), '; ') from pg_locks
             join pg_stat_activity using (pid)
             where locktype = 'advisory' and granted and classid::int8 = {class} and objid::int8 = {oid}"
        );
        Ok(LockAttempt::Others(session.ask(&who)?))
    }

    /// Two transactions of one connection are on two backends of a pooler if someone else has taken the first meanwhile; where it
    /// passes on what sessions ask for, this is what tells it.
    fn ensure_direct(&self) -> Result<(), Cause> {
        if !self.0.others.is_empty() {
            let why = format!(
                "{}: an address of several hosts is of a cluster whose nodes all take calls, and PostgreSQL has none\nhint: give one host",
                self.0.place()
            );
            return Err(Cause::other(why));
        }
        let pid = "select pg_backend_pid()";
        let (first, second) = (self.open()?, self.open()?);
        let before = first.ask(pid)?;
        second.begin("read only")?;
        second.ask(pid)?;
        let after = first.ask(pid)?;
        // Nothing was changed; it ends with the connection.
        if before == after {
            Ok(())
        } else {
            Err(Cause::new(CauseKind::Pooled, Cause::from(self.0.pooled()).text))
        }
    }

    fn beside(&self) -> Result<Session, Cause> {
        let mut last = Cause::other("there is no other database to connect to");
        for database in MAINTENANCE.into_iter().filter(|name| *name != self.0.database) {
            match Session::open(&self.0.with_database(database)) {
                Err(cause) if cause.kind == CauseKind::Missing => last = cause,
                result => return result,
            }
        }
        // It is not the database that was asked for which is missing.
        Err(Cause::other(last.text))
    }

    fn read_only(&self) -> Result<Session, Cause> {
        let session = self.auditor()?;
        if !session.is_pooled() {
            session.begin("read only")?;
        }
        Ok(session)
    }

    fn auditing(&self, _: &[AuditGroup], threads: usize, deadline: Nanos) -> Result<Auditors, Cause> {
        // Lives until all have ended: what is exported is valid as long as this transaction.
        let holder = self.auditor()?;
        let is_pooled = holder.is_pooled();
        holder.begin("isolation level repeatable read, read only")?;
        let exported = holder.ask("select pg_export_snapshot()");
        // Where none can be exported, or one does not hold for all servers that have rows, one session asks everything.
        let is_alone = holder.product.is_some();
        let snapshot = match exported {
            Err(cause) if cause.kind == CauseKind::Unsupported && is_alone => String::new(),
            exported => exported?,
        };
        // Should we be gone by then, the server ends the statement by itself.
        let limit = deadline.as_millis_f64().clamp(1_000.0, 86_400_000.0) as u64;
        let mut auditors = Auditors { conns: Vec::new(), guard: Some(Box::new(holder)) };
        // Each takes a connection of a pool away from its other clients.
        let threads = if is_pooled || is_alone { 1 } else { threads };
        for _ in 0..threads {
            let mut session = match self.auditor() {
                Err(_) if is_pooled => {
                    let why = "the pooler has no second connection to PostgreSQL, and an audit needs two (one exports the snapshot that the other reads)";
                    return Err(Cause::new(CauseKind::Pooled, why));
                }
                opened => opened?,
            };
            session.set(&[("statement_timeout", &limit.to_string())])?;
            session.snapshot = snapshot.clone();
            auditors.conns.push(Box::new(session));
        }
        Ok(auditors)
    }

    fn creation(&self) -> String {
        format!("create database {}", quoted(&self.0.database))
    }

    /// Its sessions are ours, and may still be ending.
    fn removal(&self) -> String {
        format!("drop database if exists {} with (force)", quoted(&self.0.database))
    }

    fn answers(session: &mut Session, statement: &str, max: Duration) -> bool {
        let asked = async {
            let answer = tokio::time::timeout(max, session.client().batch_execute(statement)).await;
            Ok::<_, Cause>(matches!(answer, Ok(Ok(()))))
        };
        session.wait(asked).unwrap_or(false)
    }

    fn drop_tables(&self, session: &mut Session, tables: &[String]) -> Result<(), Cause> {
        let names: Vec<String> = tables.iter().map(String::as_str).chain([TABLE]).map(quoted).collect();
        // Whoever uses them is not waited for for long, and not made to wait.
        session.batch(&format!("set lock_timeout = '3s'; drop table if exists {}", names.join(", ")))?;
        session.batch("reset lock_timeout")
    }

    fn lock(&self) -> Lock {
        let (class, object) = LOCK;
        Lock {
            take: format!("select pg_try_advisory_lock({class}, {object})"),
            give: format!("select pg_advisory_unlock({class}, {object})"),
            held: format!(
                "select exists (
                  select from pg_locks
                  where locktype = 'advisory' and granted and classid::int8 = {class} and objid::int8 = {object}
                    and database = (select oid from pg_database where datname = current_database())
                )"
            ),
        }
    }

    fn started(&self, session: &mut Session) -> Result<Vec<String>, Cause> {
        let product = session.product;
        if product.is_none_or(Product::is_extension) {
            // A load is not done before it would survive a crash of the server, whatever the session's default is.
            session.batch("set synchronous_commit = on")?;
        }
        Ok(product.map(untried).into_iter().collect())
    }

    /// So that a run does not begin with it.
    fn flush(&self, session: &mut Session) -> Result<(), Cause> {
        match session.batch("checkpoint") {
            // An engine with a log of its own has no checkpoint to ask for.
            Err(_) if session.product.is_some() => Ok(()),
            // Not everybody may ask for that.
            Err(cause) if cause.kind == CauseKind::Denied => Ok(()),
            result => result,
        }
    }

    /// File by file takes a checkpoint, and after that the log of each page's first change holds the whole page: whoever works
    /// on such a copy works in the state right after a checkpoint for half a minute and more. An engine of ours copies through
    /// its log, where it can and that leaves the log room; what went through the log is on disk, but the files are not flushed.
    fn copy(&self, to: &Database, ours: bool) -> Result<(), Error> {
        to.ensure_ours()?;
        to.remove()?;
        let copy = || {
            let mut session = self.beside()?;
            let how = match session.version_num() {
                ..WAL_LOG_SINCE => "",
                _ if ours && session.log_has_room(&self.0.database)? => " strategy wal_log",
                _ => " strategy file_copy",
            };
            let (name, from) = (quoted(&to.0.database), quoted(&self.0.database));
            session.batch(&format!("create database {name} template {from}{how}"))
        };
        copy().map_err(|source| self.failed("copy", source))
    }

    fn sampler(&self) -> Box<dyn EngineProbe> {
        Box::new(sample::Probe::new(self.0.clone()))
    }
}

impl Database {
    fn auditor(&self) -> Result<Session, Cause> {
        let mut session = self.opened_to_read()?;
        if session.product == Some(Product::CockroachDb) {
            // It has none of the others, and temporary tables only for who asks for them.
            session.set(&[("experimental_enable_temp_tables", "on")])?;
            return Ok(session);
        }
        session.set(&AUDIT_SETTINGS)?;
        if !session.is_pooled() {
            // A session keeps it as soon as it has a temporary table.
            session.set(&[("temp_buffers", "64MB")])?;
        }
        if session.version_num() >= CLIENT_CHECK_SINCE && !session.is_pooled() {
            // Not every system can notice it; then the deadline ends the statement. A pooler ends it with its client.
            let _ = session.set(&[("client_connection_check_interval", "1s")]);
        }
        Ok(session)
    }
}

/// What the server said, in its own words, without what our driver puts around it.
impl From<tokio_postgres::Error> for Cause {
    fn from(error: tokio_postgres::Error) -> Cause {
        use std::error::Error as _;
        let kind = match error.code() {
            Some(code) if *code == SqlState::DISK_FULL => CauseKind::Full,
            Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE || *code == SqlState::OBJECT_IN_USE => {
                CauseKind::InUse
            }
            Some(code) if *code == SqlState::INVALID_CATALOG_NAME => CauseKind::Missing,
            Some(code) if *code == SqlState::DUPLICATE_DATABASE => CauseKind::Exists,
            Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => CauseKind::Denied,
            Some(code) if *code == SqlState::UNDEFINED_COLUMN => CauseKind::NoColumn,
            Some(code)
                if *code == SqlState::FEATURE_NOT_SUPPORTED || *code == SqlState::UNDEFINED_FUNCTION =>
            {
                CauseKind::Unsupported
            }
            _ => CauseKind::Other,
        };
        if let Some(error) = error.as_db_error() {
            return match error.detail() {
                Some(detail) => Cause::new(kind, format!("{} ({detail})", error.message())),
                None => Cause::new(kind, error.message()),
            };
        }
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(inner) = source {
            text.push_str(": ");
            text.push_str(&inner.to_string());
            source = inner.source();
        }
        Cause::new(kind, text)
    }
}

impl LockOwner for Session {
    fn is_of(&mut self, who: &str) {
        let who = shortened(who);
        // It is for people: what counts is the lock.
        let _ = self.ask(&format!("select set_config('application_name', {}, false)", literal(&who)));
    }

    fn release(&mut self) {
        self.try_to("select pg_advisory_unlock_all()");
    }
}

/// `process 17, /folder` in the 63 bytes that the server keeps: of a long folder its end, which says more than its beginning.
fn shortened(who: &str) -> String {
    let (process, folder) = who.split_once(", ").unwrap_or(("", who));
    let begin = if process.is_empty() { String::new() } else { format!("{process}, ") };
    if who.len() <= NAME_MAX {
        return who.to_owned();
    }
    let room = NAME_MAX.saturating_sub(begin.len() + "...".len());
    let from = folder.ceil_char_boundary(folder.len().saturating_sub(room));
    format!("{begin}...{}", &folder[from..])
}

/// A text as SQL takes it, whatever is in it: with an escape string, backslashes mean one thing under every setting.
fn literal(text: &str) -> String {
    format!("e'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::{NAME_MAX, shortened};

    #[test]
    fn a_long_folder_is_shortened_and_its_process_is_not() {
        assert_eq!(shortened("process 17, /work"), "process 17, /work");
        let long = shortened(&format!("process 17, /{}/results/20261127-tpcb", "é".repeat(60)));
        assert!(long.starts_with("process 17, ...") && long.ends_with("/results/20261127-tpcb"), "{long}");
        assert!((NAME_MAX - 1..=NAME_MAX).contains(&long.len()), "{long}");
        assert_eq!(shortened(&"x".repeat(99)).len(), NAME_MAX);
    }
}
