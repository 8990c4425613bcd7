//! What PostgreSQL reports while it is measured, through a connection of its own.
//!
//! It costs the server a backend and about a dozen short queries a second, which are part of the engine's CPU time. Nothing
//! is switched on for it: what is not counted is not told.

use super::session::Session;
use observe::{EngineProbe, Gauge, SessionState, StatementCount};
use result::GaugeKind;
use sql::ServerUrl;
use std::time::Duration;
use tokio_postgres::Row;

/// An answer that takes longer is none.
const ANSWER_MAX: Duration = Duration::from_secs(1);

/// What sessions of this database do. One that waits for its client does nothing.
const STATES: &str = "select coalesce(wait_event_type || ':' || wait_event, 'running'), count(*)::int8 \
                      from pg_stat_activity \
                      where datname = current_database() \
                      and backend_type = 'client backend' \
                      and pid <> pg_backend_pid() \
                      and state <> 'idle' \
                      and wait_event_type is distinct from 'Client' \
                      group by 1";

/// The statements that took the most time, where the extension is there; one that is not gives an error, and no rows.
const STATEMENTS: &str = "select query, calls::int8, total_exec_time::float8, rows::int8 \
                          from pg_stat_statements \
                          where dbid = (select oid from pg_database where datname = current_database()) \
                          order by total_exec_time desc \
                          limit 40";

/// Who else has run statements in this database within the last second. What sessions of other users did is told to
/// members of `pg_read_all_stats` alone.
const OTHERS: &str = "select distinct coalesce(nullif(application_name, ''), 'a program without a name') || ' of user ' || usename \
                      from pg_stat_activity \
                      where datname = current_database() \
                      and backend_type = 'client backend' \
                      and application_name <> 'stackmark' \
                      and (state = 'active' or state_change > clock_timestamp() - interval '1100 ms') \
                      limit 20";

/// A query that gives one row of `float8`, and what its columns are: name, unit and whether it counts.
struct Source {
    group: &'static str,
    /// Whether it is of all databases together.
    of_server: bool,
    /// Whether sessions report it up to a second late: while they are busy once a second, and idle only with their next transaction.
    late: bool,
    sql: &'static str,
    columns: &'static [(&'static str, &'static str, GaugeKind)],
}

use GaugeKind::{Counter, Level};

const DATABASE: Source = Source {
    group: "database",
    of_server: false,
    late: true,
    sql: "select xact_commit::float8, xact_rollback::float8, blks_hit::float8, blks_read::float8, deadlocks::float8, \
          temp_bytes::float8, (tup_updated + tup_deleted)::float8 \
          from pg_stat_database \
          where datname = current_database()",
    columns: &[
        ("commits", "transactions", Counter),
        ("rollbacks", "transactions", Counter),
        ("buffer hits", "blocks", Counter),
        ("buffer reads", "blocks", Counter),
        ("deadlocks", "deadlocks", Counter),
        ("temporary files", "bytes", Counter),
        (result::DEAD_ROWS, "rows", Counter),
    ],
};

const SESSIONS_FROM_14: Source = Source {
    group: "database",
    of_server: false,
    late: false,
    sql: "select sessions::float8 from pg_stat_database where datname = current_database()",
    columns: &[(result::SESSIONS_OPENED, "sessions", Counter)],
};

/// What the server does of itself, and takes from whoever is measured.
const UPKEEP: Source = Source {
    group: "autovacuum",
    of_server: false,
    late: false,
    sql: "select coalesce(sum(autovacuum_count), 0)::float8, coalesce(sum(autoanalyze_count), 0)::float8 \
          from pg_stat_user_tables",
    columns: &[("tables vacuumed", "runs", Counter), ("tables analysed", "runs", Counter)],
};

const LOCKS: Source = Source {
    group: "locks",
    of_server: true,
    late: false,
    sql: "select count(*)::float8 from pg_locks where not granted",
    columns: &[("locks waited for", "locks", Level)],
};

/// From the position of the log, which is exact at any time.
const LOG: Source = Source {
    group: "wal",
    of_server: true,
    late: false,
    sql: "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8",
    columns: &[("wal written", "bytes", Counter)],
};

/// Up to 17; from 18 on writes and syncs are counted with all other input and output.
const WAL: Source = Source {
    group: "wal",
    of_server: true,
    late: true,
    sql: "select wal_fpi::float8, wal_buffers_full::float8, wal_write::float8, wal_sync::float8 \
          from pg_stat_wal",
    columns: &[
        ("full page images", "pages", Counter),
        ("wal buffers full", "times", Counter),
        ("wal writes", "writes", Counter),
        ("wal syncs", "syncs", Counter),
    ],
};

const WAL_FROM_18: Source = Source {
    group: "wal",
    of_server: true,
    late: true,
    sql: "select w.wal_fpi::float8, w.wal_buffers_full::float8, io.writes, io.fsyncs \
          from pg_stat_wal w, \
          (select sum(writes)::float8 as writes, sum(fsyncs)::float8 as fsyncs from pg_stat_io where object = 'wal') io",
    columns: WAL.columns,
};

const CHECKPOINTS: Source = Source {
    group: "checkpoints",
    of_server: true,
    late: false,
    sql: "select checkpoints_timed::float8, checkpoints_req::float8, buffers_checkpoint::float8 from pg_stat_bgwriter",
    columns: &[
        ("checkpoints by time", "checkpoints", Counter),
        ("checkpoints by wal", "checkpoints", Counter),
        ("buffers written by checkpoints", "blocks", Counter),
    ],
};

const CHECKPOINTS_FROM_17: Source = Source {
    group: "checkpoints",
    of_server: true,
    late: false,
    sql: "select num_timed::float8, num_requested::float8, buffers_written::float8 from pg_stat_checkpointer",
    columns: CHECKPOINTS.columns,
};

/// Asks one server about itself; connects when first asked, and again after the server was away.
pub(crate) struct Probe {
    url: ServerUrl,
    session: Option<Session>,
}

impl Probe {
    /// A probe of the database at `url`. Nothing is opened yet.
    pub(crate) fn new(url: ServerUrl) -> Probe {
        Probe { url, session: None }
    }

    /// The rows of a query; without an answer the connection is given up.
    fn query(&mut self, sql: &str) -> Option<Vec<Row>> {
        let session = self.session.as_ref()?;
        let answer = session.wait(async {
            let rows = tokio::time::timeout(ANSWER_MAX, session.client().query(sql, &[])).await;
            Ok::<_, tokio_postgres::Error>(rows)
        });
        match answer {
            Ok(Ok(Ok(rows))) => Some(rows),
            // What the server refuses it refuses for good reason, and the connection is as good as before.
            Ok(Ok(Err(error))) if error.as_db_error().is_some() && !session.client().is_closed() => None,
            _ => {
                self.session = None;
                None
            }
        }
    }

    fn sources(&self) -> Option<impl Iterator<Item = &'static Source> + use<>> {
        let version = self.session.as_ref()?.version_num();
        let wal = if version >= 180_000 { &WAL_FROM_18 } else { &WAL };
        let checkpoints = if version >= 170_000 { &CHECKPOINTS_FROM_17 } else { &CHECKPOINTS };
        let sessions = (version >= 140_000).then_some(&SESSIONS_FROM_14);
        Some([&DATABASE, &LOG, wal, checkpoints, &UPKEEP, &LOCKS].into_iter().chain(sessions))
    }
}

impl EngineProbe for Probe {
    fn gauges(&mut self) -> Option<Vec<Gauge>> {
        if self.session.is_none() {
            self.session = Session::open(&self.url).ok();
        }
        let mut gauges = Vec::new();
        for source in self.sources()? {
            // A view that we may not see leaves out its gauges and not the others.
            let Some(row) = self.query(source.sql).and_then(|rows| rows.into_iter().next()) else { continue };
            for (at, (name, unit, kind)) in source.columns.iter().enumerate() {
                if let Ok(Some(value)) = row.try_get::<_, Option<f64>>(at) {
                    let (name, group, unit) = ((*name).into(), source.group.into(), (*unit).into());
                    let Source { of_server, late, .. } = *source;
                    gauges.push(Gauge { name, group, unit, kind: *kind, of_server, late, value });
                }
            }
        }
        (!gauges.is_empty()).then_some(gauges)
    }

    fn others(&mut self) -> Option<Vec<String>> {
        self.query(OTHERS)?.iter().map(|row| row.try_get(0).ok()).collect()
    }

    fn states(&mut self) -> Option<Vec<SessionState>> {
        let rows = self.query(STATES)?;
        let state = |row: &Row| {
            let sessions = u32::try_from(row.try_get::<_, i64>(1).ok()?).ok()?;
            Some(SessionState { name: row.try_get::<_, String>(0).ok()?.into(), sessions })
        };
        rows.iter().map(state).collect()
    }

    fn statements(&mut self) -> Vec<StatementCount> {
        let count = |row: &Row| -> Option<StatementCount> {
            let whole = |at: usize| u64::try_from(row.try_get::<_, i64>(at).ok()?).ok();
            Some(StatementCount {
                text: row.try_get(0).ok()?,
                calls: whole(1)?,
                total_ms: row.try_get(2).ok()?,
                rows: whole(3)?,
            })
        };
        self.query(STATEMENTS).unwrap_or_default().iter().filter_map(count).collect()
    }

    /// The port is part of a socket's name.
    fn server(&self) -> Option<String> {
        Some(format!("{} {}", self.url.place(), self.url.port))
    }
}
