//! What MariaDB reports while it is measured, through a connection of its own.
//!
//! It costs the server a connection and a dozen short queries a second, which are part of the engine's CPU time. Nothing is
//! switched on for it: what is not counted is not told.

use super::session::reach;
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use observe::{EngineProbe, Gauge, SessionState, StatementCount};
use result::GaugeKind;
use sql::{MySqlSettings, ServerUrl};
use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// A session takes its lock within this time.
const OPENING_MAX: Duration = Duration::from_millis(50);
/// An answer that takes longer is none.
const ANSWER_MAX: Duration = Duration::from_secs(1);

/// What connections to this database do; one that sleeps waits for its client.
const STATES: &str = "select if(coalesce(state, '') = '', 'running', state), cast(count(*) as unsigned) \
                      from information_schema.processlist \
                      where db = database() \
                      and id <> connection_id() \
                      and command <> 'Sleep' \
                      group by 1";

/// Who else has run statements in this database within the last second: a measured session of ours holds a lock that is named after it.
/// Of other users' sessions those with the privilege `PROCESS` alone are told. `system user` is the server itself, which applies what other
/// nodes have committed.
const OTHERS: &str = "select id, concat('user ', user, ' from ', substring_index(host, ':', 1)) \
                      from information_schema.processlist \
                      where db = database() \
                      and id <> connection_id() \
                      and user <> 'system user' \
                      and (command <> 'Sleep' or /*M! time_ms < 1100 *//*!50708 time < 2 */) \
                      and coalesce(is_used_lock(concat('stackmark session ', id)), 0) <> id \
                      limit 20";

use GaugeKind::{Counter, Level};

/// The status variable or the sum of several, and what it is called, belongs to and counts.
const GAUGES: [(&str, &str, &str, &str, GaugeKind); 21] = [
    ("Com_commit", "commits", "database", "transactions", Counter),
    ("Com_rollback", "rollbacks", "database", "transactions", Counter),
    ("Questions", "statements", "database", "statements", Counter),
    ("Innodb_row_lock_waits", "row lock waits", "locks", "waits", Counter),
    ("Innodb_row_lock_time", "row lock time", "locks", "ms", Counter),
    ("Innodb_row_lock_current_waits", "row locks waited for", "locks", "locks", Level),
    ("Innodb_deadlocks", "deadlocks", "locks", "deadlocks", Counter),
    ("Innodb_log_waits", "log waits", "log", "waits", Counter),
    ("Innodb_log_writes", "log writes", "log", "writes", Counter),
    ("Innodb_os_log_written", "log written", "log", "bytes", Counter),
    ("Innodb_os_log_fsyncs", "log syncs", "log", "syncs", Counter),
    ("Innodb_data_fsyncs", "data syncs", "log", "syncs", Counter),
    ("Innodb_checkpoint_age", "checkpoint age", "log", "bytes", Level),
    ("Innodb_checkpoint_max_age", "checkpoint age, at most", "log", "bytes", Level),
    ("Innodb_buffer_pool_read_requests", "buffer requests", "buffers", "pages", Counter),
    ("Innodb_buffer_pool_reads", "buffer reads", "buffers", "pages", Counter),
    ("Innodb_buffer_pool_pages_dirty", "dirty pages", "buffers", "pages", Level),
    ("Innodb_buffer_pool_pages_flushed", "pages flushed", "buffers", "pages", Counter),
    ("Innodb_buffer_pool_wait_free", "waits for a free page", "buffers", "waits", Counter),
    ("Innodb_rows_updated+Innodb_rows_deleted", result::DEAD_ROWS, "database", "rows", Counter),
    ("Threads_running", "threads running", "database", "threads", Level),
];

/// Asks one server about itself; connects when first asked, and again after the server was away.
pub(crate) struct Probe {
    url: ServerUrl,
    /// Whether rows of the database are on other servers: what InnoDB counts here says nothing of them.
    is_spread: bool,
    // In this order: the connection goes before the executor that it speaks through.
    conn: Option<Conn>,
    runtime: Option<Runtime>,
}

impl Probe {
    /// A probe of the database at `url`. Nothing is opened yet.
    pub(crate) fn new(url: ServerUrl) -> Probe {
        Probe { url, is_spread: false, conn: None, runtime: None }
    }

    fn open(&mut self) {
        if self.runtime.is_none() {
            self.runtime = Builder::new_current_thread().enable_all().build().ok();
        }
        let Some(runtime) = &self.runtime else { return };
        self.conn = runtime.block_on(in_time(reach(&self.url, true))).map(|(conn, _)| conn);
        let spread: Option<Vec<(String, String)>> = self.query(MySqlSettings::SPREAD);
        self.is_spread = spread.is_some_and(|rows| rows.iter().any(|(_, data_nodes)| data_nodes != "0"));
    }

    /// The rows of a query; without an answer the connection is given up.
    fn query<T: mysql_async::prelude::FromRow + Send + 'static>(&mut self, sql: &str) -> Option<Vec<T>> {
        let (runtime, conn) = (self.runtime.as_ref()?, self.conn.as_mut()?);
        let rows = runtime.block_on(in_time(conn.query::<T, _>(sql)));
        if rows.is_none() {
            self.conn = None;
        }
        rows
    }
}

async fn in_time<T, E>(answer: impl Future<Output = Result<T, E>>) -> Option<T> {
    tokio::time::timeout(ANSWER_MAX, answer).await.ok()?.ok()
}

impl EngineProbe for Probe {
    fn gauges(&mut self) -> Option<Vec<Gauge>> {
        if self.conn.is_none() {
            self.open();
        }
        let status: Vec<(String, String)> = self.query("show global status")?;
        let gauge =
            |(variable, name, group, unit, kind): &(&str, &'static str, &'static str, &'static str, _)| {
                let value = variable.split('+').map(|variable| {
                    let (_, value) = status.iter().find(|(known, _)| known == variable)?;
                    value.parse::<f64>().ok()
                });
                let value = value.sum::<Option<f64>>()?;
                Some(Gauge {
                    name: (*name).into(),
                    group: (*group).into(),
                    unit: (*unit).into(),
                    kind: *kind,
                    // MariaDB counts for its server whatever the database.
                    of_server: true,
                    late: false,
                    value,
                })
            };
        let is_told =
            |(variable, ..): &&(&str, _, _, _, _)| !(self.is_spread && variable.starts_with("Innodb_"));
        Some(GAUGES.iter().filter(is_told).filter_map(gauge).collect())
    }

    fn states(&mut self) -> Option<Vec<SessionState>> {
        let rows: Vec<(String, u32)> = self.query(STATES)?;
        Some(rows.into_iter().map(|(name, sessions)| SessionState { name: name.into(), sessions }).collect())
    }

    fn others(&mut self) -> Option<Vec<String>> {
        let first: Vec<(u64, String)> = self.query(OTHERS)?;
        if first.is_empty() {
            return Some(Vec::new());
        }
        // A session of ours has no lock while it opens, and none if it ended while the query ran.
        std::thread::sleep(OPENING_MAX);
        let again: Vec<(u64, String)> = self.query(OTHERS)?;
        let stays = |(id, _): &(u64, String)| first.iter().any(|(before, _)| before == id);
        let names: BTreeSet<String> = again.into_iter().filter(stays).map(|(_, name)| name).collect();
        Some(names.into_iter().collect())
    }

    /// MariaDB counts statements in a schema that is off unless someone has switched it on.
    fn statements(&mut self) -> Vec<StatementCount> {
        Vec::new()
    }

    fn server(&self) -> Option<String> {
        Some(self.url.place())
    }
}
