//! MariaDB and MySQL: a database on a server. Where the two differ, a statement has both forms in comments: MySQL skips `/*M! … */`,
//! and MariaDB skips those for MySQL from 5.7 on, `/*!50708 … */`.
//!
//! In reading order: `session` (a connection that is waited for), `conn` (what it does for loads and audits, with values in
//! the form of `layout`; `writer` stores rows), `copy` (databases copied; `files` where their files are ours), `cluster` (several
//! nodes), `spider` (rows on other servers), and `sample` (what the server reports).

mod cluster;
mod conn;
mod copy;
mod files;
mod layout;
mod run_lock;
mod sample;
mod session;
mod spider;
mod writer;

use crate::engine::{Auditors, Conn, Engine, Queries};
use crate::error::{Cause, CauseKind, Error};
use crate::hold::{LockAttempt, LockOwner};
use crate::record::TABLE;
use crate::server::{Lock, Server, claimed, untried};
use crate::{AuditGroup, Store};
use model::{Nanos, Product};
use mysql_async::prelude::Queryable;
use observe::EngineProbe;
use session::{Session, ident, text};
use sql::ServerUrl;
use std::sync::OnceLock;
use std::time::Duration;

pub use writer::Way;

/// A database, which may not be there yet.
pub(crate) struct Database {
    url: ServerUrl,
    /// How rows are stored, once that is known or decided.
    way: OnceLock<Way>,
}

impl Database {
    pub(crate) fn new(url: ServerUrl) -> Database {
        Database { url, way: OnceLock::new() }
    }
}

/// The store at an address, loaded by a given way: to compare the two. Others take `LOAD DATA` where the server lets us.
pub fn store_by(url: ServerUrl, way: Way) -> Store {
    Store(Box::new(Database { url, way: OnceLock::from(way) }))
}

/// How tables keep their rows.
const KEPT: &str = "
select table_name, table_name, case transactions when 'YES' then 'logged' else tables.engine end,
  case when create_options like '%DATA DIRECTORY=%'
    then substring_index(substring_index(create_options, 'DATA DIRECTORY=''', -1), '''', 1) else @@datadir end
from information_schema.tables
join information_schema.engines on engines.engine = tables.engine
where table_schema = database() and table_type in ('BASE TABLE', 'SYSTEM VERSIONED')
union all select '', '', 'logged', case when folder like '/%' then folder else concat(@@datadir, folder) end from (
  select coalesce(@@innodb_log_group_home_dir, '') folder union all select coalesce(@@innodb_data_home_dir, '')
  union all select coalesce(@@innodb_undo_directory, '')
  union all select left(coalesce(@@log_bin_basename, ''), char_length(@@log_bin_basename) - locate('/', reverse(@@log_bin_basename)))
) folders
order by 1";

/// Limits on sessions.
const SESSIONS: &str = "
select 'max_connections', cast(@@global.max_connections as signed),
  (select cast(variable_value as signed) from /*M! information_schema *//*!50708 performance_schema */ .global_status where variable_name = 'THREADS_CONNECTED')
union all
select 'max_user_connections', cast(@@session.max_user_connections as signed),
  (select count(*) from information_schema.processlist where user = substring_index(current_user(), '@', 1))
from dual where @@session.max_user_connections > 0";

/// How many seconds writers have to end their transactions before an audit.
const WRITERS_WAITED_FOR_S: u32 = 30;
/// Set on each connection of an audit: sums of ten warehouses are sorted in memory, and joins look rows up by their keys
/// instead of hashing whole tables for each buffer of rows.
const AUDIT_SETTINGS: &str = "set session max_heap_table_size = 268435456, sort_buffer_size = 67108864, \
                              tmp_table_size = 268435456 /*M! , join_cache_level = 0 */";

/// Of those in `sql::MYSQL_SETTINGS`.
const FIXED_SETTINGS: &str = "\
select lower(variable_name), /*M! global_value *//*!50708 variable_value */
from /*M! information_schema.system_variables *//*!50708 performance_schema.global_variables */
where /*M! variable_scope = 'GLOBAL' and global_value is not null and */
  variable_name in ('innodb_buffer_pool_size', 'innodb_log_file_size', 'innodb_log_buffer_size',
    'innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'innodb_doublewrite', 'innodb_io_capacity',
    'innodb_page_size', 'max_connections', 'thread_handling', 'log_bin', 'sync_binlog', 'performance_schema')";

impl Server for Database {
    type Session = Session;
    const KIND: &'static str = "a database";
    const MADE_BY_LOADS: bool = true;
    const SHARES: [f64; 4] = [0.70, 0.10, 0.19, 0.01];
    const QUERIES: Queries = Queries {
        tables: "select table_name from information_schema.tables \
                 where table_schema = database() order by table_name",
        columns: "select table_name, column_name, column_type, is_nullable = 'NO' and column_default is null \
                    and extra not like '%auto_increment%' and extra not like '%generated%' \
                  from information_schema.columns \
                  where table_schema = database() order by table_name, ordinal_position",
        references: "select count(*) from information_schema.table_constraints \
                     where constraint_type = 'FOREIGN KEY' and table_schema = database()",
        bytes: "select cast(sum(file_size) as signed) from information_schema./*M! innodb_sys_tablespaces *//*!50708 innodb_tablespaces */ \
                where substring_index(name, '/', 1) = database()",
        sessions: SESSIONS,
        settings: FIXED_SETTINGS,
        kept: KEPT,
        // New sessions get this one.
        statement_max: "select cast(@@global.max_allowed_packet as signed)",
    };
    const RECORD: &'static str = "create table stackmark_load (name varchar(64) not null primary key, value longtext not null) \
         engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin";
    const STORED: &'static str = "select cast(coalesce(sum(data_length + index_length), 0) as signed) \
                                  from information_schema.tables \
                                  where table_schema = database() and coalesce(engine, '') <> 'SPIDER'";
    // Without checks InnoDB builds an empty table from sorted pages; and checks of references would copy each table. That all
    // of them lead somewhere follows from the rows, which are read back.
    fn storing(_: &Session) -> &'static str {
        "set session unique_checks = 0, foreign_key_checks = 0"
    }

    /// Others estimate them, or answer for one of several servers.
    fn knows_sizes(session: &Session) -> bool {
        session.product.is_none()
    }

    fn at(url: ServerUrl) -> Database {
        Database::new(url)
    }

    fn url(&self) -> &ServerUrl {
        &self.url
    }

    fn name(&self) -> String {
        format!("{} on {}", self.url.database, self.url.place())
    }

    fn open(&self) -> Result<Session, Cause> {
        let mut session = Session::open(&self.url, true)?;
        session.way = self.way.get().copied();
        Ok(session)
    }

    /// Locks by name: see [`run_lock`].
    fn hold(&self, shared: bool) -> Result<LockAttempt, Cause> {
        run_lock::hold(self.open()?, shared)
    }

    /// Each connection is looked at when it is opened.
    fn ensure_direct(&self) -> Result<(), Cause> {
        cluster::ensure_one(&self.url)
    }

    fn ensure_alike(&self) -> Result<(), Cause> {
        match self.open() {
            Err(cause) if cause.kind == CauseKind::Missing => Ok(()),
            session => spider::ensure_alike(&mut session?, &self.url),
        }
    }

    fn differing(&self) -> Result<Option<Vec<String>>, Cause> {
        cluster::differing(&self.url)
    }

    fn beside(&self) -> Result<Session, Cause> {
        Session::open(&self.url, false)
    }

    fn read_only(&self) -> Result<Session, Cause> {
        let mut session = self.open()?;
        session.batch("start transaction read only")?;
        Ok(session)
    }

    /// A connection a group, all with the same snapshot. Temporary tables are made before it is taken, because a
    /// transaction that cannot write cannot make them either.
    fn auditing(&self, groups: &[AuditGroup], _: usize, deadline: Nanos) -> Result<Auditors, Cause> {
        // Ends what runs on at the server after we are gone, however we went.
        let limit = deadline.as_secs_f64().ceil().clamp(1.0, 1e6) + 5.0;
        let mut conns: Vec<Box<dyn Conn>> = Vec::with_capacity(groups.len());
        for group in groups {
            let mut session = self.open()?;
            let milliseconds = (limit * 1_000.0) as u64;
            let settings = match session.product {
                None => AUDIT_SETTINGS,
                Some(Product::TiDb) => "set session tidb_tmp_table_max_size = 4294967296",
                // As it is: only the limit below is to be set.
                Some(_) => "set session autocommit = 1",
            };
            session.batch(&format!(
                "{settings} /*M! , max_statement_time = {limit} *//*!50708 , max_execution_time = {milliseconds} */"
            ))?;
            session.make_tables(group);
            conns.push(Box::new(session));
        }
        let mut guard = self.open()?;
        // Elsewhere `lock tables` is ignored, or unknown.
        let locked = if guard.product.is_none() { lock_writers_out(&mut guard) } else { Ok(()) };
        match locked {
            Err(cause) if cause.kind == CauseKind::Denied => {}
            result => result?,
        }
        for conn in &mut conns {
            // A snapshot lasts for a transaction at this level and not below.
            conn.batch("set session transaction isolation level repeatable read")?;
            conn.hold()?;
        }
        Ok(Auditors { conns, guard: None })
    }

    fn creation(&self) -> String {
        let name = ident(&self.url.database);
        format!("create database if not exists {name} character set utf8mb4 collate utf8mb4_bin")
    }

    fn bytes_elsewhere(session: &mut Session, query: &str) -> Result<u64, Cause> {
        spider::bytes(session, query)
    }

    fn before_removal(&self, session: &mut Session) -> Result<(), Cause> {
        spider::remove(session, &self.url.database)
    }

    fn removal(&self) -> String {
        format!("drop database if exists {}", ident(&self.url.database))
    }

    fn answers(session: &mut Session, statement: &str, max: Duration) -> bool {
        let asked = session.wait(async |conn| {
            let answer = tokio::time::timeout(max, conn.query_drop(statement)).await;
            Ok::<_, Cause>(matches!(answer, Ok(Ok(()))))
        });
        asked.unwrap_or(false)
    }

    /// The record last: as long as it stands, they can be told from others.
    fn drop_tables(&self, session: &mut Session, tables: &[String]) -> Result<(), Cause> {
        spider::drop_tables(session, &self.url.database, tables)?;
        session.batch("set session foreign_key_checks = 0")?;
        for table in tables.iter().map(String::as_str).chain([TABLE]) {
            session.batch(&format!("drop table if exists {}", ident(table)))?;
        }
        session.batch("set session foreign_key_checks = 1")
    }

    /// At most 64 characters, whatever the database is called. Locks are one name space for the whole server.
    fn lock(&self) -> Lock {
        let database = xxhash_rust::xxh3::xxh3_64(self.url.database.as_bytes());
        let name = text(&format!("stackmark_load_{database:016x}"));
        Lock {
            take: format!("select get_lock({name}, 0)"),
            give: format!("select release_lock({name})"),
            held: format!("select is_used_lock({name})"),
        }
    }

    fn started(&self, session: &mut Session) -> Result<Vec<String>, Cause> {
        if self.way.get().is_some() {
            return Ok(Vec::new());
        }
        if let Some(product) = session.product {
            let _ = self.way.set(Way::Inserts);
            return Ok(vec![untried(product)]);
        }
        let hidden = match spider::head(session)? {
            spider::Head::Of(_) => {
                // To Spider `LOAD DATA LOCAL` is one row after the other: it leaves out what is there already.
                let _ = self.way.set(Way::Inserts);
                return Ok(Vec::new());
            }
            spider::Head::Hidden => Some(
                "the server has Spider and does not show its servers (`select` on mysql.servers), so all rows are on the server itself"
                    .to_owned(),
            ),
            spider::Head::No => None,
        };
        let way = session.wait(async |conn| writer::way(conn).await)?;
        // No one else loads meanwhile.
        let _ = self.way.set(way);
        let slower = (way == Way::Inserts).then(|| {
            "the server forbids LOAD DATA LOCAL (`local_infile`), so rows were inserted, which is slower"
                .to_owned()
        });
        Ok(hidden.into_iter().chain(slower).collect())
    }

    fn flush(&self, _: &mut Session) -> Result<(), Cause> {
        Ok(())
    }

    fn copy(&self, to: &Database, ours: bool) -> Result<(), Error> {
        to.create()?;
        let contents = copy::complete_in(self)?;
        let mut claimed = claimed(to, "copy to")?;
        copy::copy(&mut claimed, &self.url, &to.url, &contents, ours)
            .map_err(|source| to.failed("copy to", source))
    }

    fn sampler(&self) -> Box<dyn EngineProbe> {
        Box::new(sample::Probe::new(self.url.clone()))
    }
}

/// Keeps everybody from writing to the tables of this database, and of no other on the server, until the connection ends: it
/// waits for transactions that have written there, and all snapshots that are taken meanwhile are the same.
fn lock_writers_out(guard: &mut Session) -> Result<(), Cause> {
    let tables = "select table_name from information_schema.tables \
                  where table_schema = database() and table_type = 'BASE TABLE'";
    let tables: Vec<String> = guard.wait(async |conn| conn.query(tables).await)?;
    if tables.is_empty() {
        return Ok(());
    }
    let locks: Vec<String> = tables.iter().map(|table| format!("{} read", ident(table))).collect();
    guard.batch(&format!("set session lock_wait_timeout = {WRITERS_WAITED_FOR_S}"))?;
    guard.batch(&format!("lock tables {}", locks.join(", ")))
}

/// What the server said, without its numbers.
impl From<mysql_async::Error> for Cause {
    fn from(error: mysql_async::Error) -> Cause {
        match error {
            mysql_async::Error::Server(words) => {
                let kind = match words.code {
                    1021 | 1114 => CauseKind::Full,
                    1049 => CauseKind::Missing,
                    1044 | 1142 => CauseKind::Denied,
                    1054 => CauseKind::NoColumn,
                    _ => CauseKind::Other,
                };
                Cause::new(kind, words.message)
            }
            mysql_async::Error::Io(mysql_async::IoError::Io(error)) => error.into(),
            mysql_async::Error::Other(error)
                if error.downcast_ref::<mysql_async::LocalInfileError>().is_some() =>
            {
                Cause::new(CauseKind::CutShort, error.to_string())
            }
            error => Cause::other(error.to_string()),
        }
    }
}

impl LockOwner for Session {
    /// MariaDB has no place for it.
    fn is_of(&mut self, _: &str) {}

    fn release(&mut self) {
        self.try_to("do release_all_locks()");
    }
}
