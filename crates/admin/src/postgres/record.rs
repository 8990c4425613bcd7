//! What a loaded database says about itself: the table `stackmark_load`, made first and completed last.
//!
//! Tables are in the database while they are being loaded, so the record comes before them and says `loading`; an
//! advisory lock, which ends with its session, tells whether somebody is loading now.

use super::error::Cause;
use super::session::{Session, quoted};
use crate::Contents;
use std::time::Duration;
use tokio_postgres::types::ToSql;

/// The name of the table. A database that has it, and says `complete` in it, was loaded whole by this kit.
pub(crate) const TABLE: &str = "stackmark_load";
const STATE: &str = "state";
const LOADING: &str = "loading";
const COMPLETE: &str = "complete";
const CONTENTS: &str = "contents";
/// Names of the tables of a load, as JSON: what may be dropped.
const TABLES: &str = "tables";
const SINCE: &str = "since";
/// The advisory lock of whoever loads: "stmk" and a number of its own.
const LOCK: (i32, i32) = (0x7374_6d6b, 1);
/// How long the server may take to hear that the lock is given back.
const RELEASE_MAX: Duration = Duration::from_secs(1);

/// What the record says.
pub(crate) enum Recorded {
    Loading { since: u64, tables: Vec<String> },
    Complete(Box<Contents>),
}

impl Recorded {
    /// The tables that are ours.
    pub(crate) fn tables(&self) -> Vec<String> {
        match self {
            Recorded::Loading { tables, .. } => tables.clone(),
            Recorded::Complete(contents) => contents.tables.iter().map(|table| table.name.clone()).collect(),
        }
    }
}

/// Says that a load begins, and which tables it will make.
pub(crate) fn begin(session: &Session, tables: &[&str]) -> Result<(), Cause> {
    let names = serde_json::to_string(tables).expect("plain data");
    let since = measure::unix_seconds().to_string();
    session.batch(&format!("create table {TABLE} (name text primary key, value text not null)"))?;
    let insert = format!("insert into {TABLE} (name, value) values ($1, $2), ($3, $4), ($5, $6)");
    session
        .wait(session.client().execute(&insert, &[&TABLES, &names, &SINCE, &since, &STATE, &LOADING]))
        .map(drop)
}

/// Says that all is there; the last change that a load makes.
pub(crate) fn complete(session: &Session, contents: &Contents) -> Result<(), Cause> {
    let text = serde_json::to_string(contents).expect("plain data with string keys");
    let statement = format!(
        "insert into {TABLE} (name, value) values ($1, $2), ($3, $4) on conflict (name) do update set value = \
         excluded.value"
    );
    // A load is not done before it would survive a crash of the server, whatever the session's default is.
    session.batch("set synchronous_commit = on")?;
    session.wait(session.client().execute(&statement, &[&CONTENTS, &text, &STATE, &COMPLETE])).map(drop)
}

/// Reads the record; `None` where there is none, or it makes no sense.
pub(crate) fn read(session: &Session) -> Result<Option<Recorded>, Cause> {
    let exists = "select to_regclass(quote_ident(current_schema()) || '.' || $1::text) is not null";
    let there: bool = session.wait(session.client().query_one(exists, &[&TABLE]))?.get(0);
    if !there {
        return Ok(None);
    }
    let rows = session.wait(session.client().query(&format!("select name, value from {TABLE}"), &[]))?;
    let value =
        |name: &str| rows.iter().find(|row| row.get::<_, &str>(0) == name).map(|row| row.get::<_, &str>(1));
    let recorded = match value(STATE) {
        Some(COMPLETE) => value(CONTENTS)
            .and_then(|text| serde_json::from_str(text).ok())
            .map(|contents| Recorded::Complete(Box::new(contents))),
        Some(LOADING) => {
            let tables = value(TABLES).and_then(|text| serde_json::from_str(text).ok());
            let since = value(SINCE).and_then(|text| text.parse().ok());
            tables.map(|tables| Recorded::Loading { since: since.unwrap_or(0), tables })
        }
        _ => None,
    };
    Ok(recorded)
}

/// Takes the right to load, for as long as the session lives. False where somebody else has it.
pub(crate) fn claim(session: &Session) -> Result<bool, Cause> {
    let row = session
        .wait(session.client().query_one("select pg_try_advisory_lock($1, $2)", &[&LOCK.0, &LOCK.1]))?;
    Ok(row.get(0))
}

/// Gives that right back before the session ends: a server takes its time to see that one has.
pub(crate) fn release(session: &Session) {
    let text = "select pg_advisory_unlock($1, $2)";
    let key: [&(dyn ToSql + Sync); 2] = [&LOCK.0, &LOCK.1];
    // Where nobody answers, the lock ends with the session.
    let _ = session.wait(async {
        // Again, because what was to cancel an earlier statement may have hit this one.
        for _ in 0..2 {
            let asked = session.client().query_one(text, &key);
            if let Ok(Ok(_)) = tokio::time::timeout(RELEASE_MAX, asked).await {
                break;
            }
        }
        Ok::<(), Cause>(())
    });
}

/// Whether somebody is loading now.
pub(crate) fn is_claimed(session: &Session) -> Result<bool, Cause> {
    let text = "select exists (
        select from pg_locks
        where locktype = 'advisory' and granted and classid::int8 = $1::int8 and objid::int8 = $2::int8
          and database = (select oid from pg_database where datname = current_database())
      )";
    let key: [i64; 2] = [LOCK.0.into(), LOCK.1.into()];
    Ok(session.wait(session.client().query_one(text, &[&key[0], &key[1]]))?.get(0))
}

/// Removes the tables of a load and, last, its record: all or nothing.
pub(crate) fn remove(session: &Session, recorded: &Recorded) -> Result<(), Cause> {
    let mut names: Vec<String> = recorded.tables().iter().map(|name| quoted(name)).collect();
    names.push(TABLE.to_owned());
    // Whoever uses them is not waited for for long, and not made to wait.
    session.batch(&format!("set lock_timeout = '3s'; drop table if exists {}", names.join(", ")))?;
    session.batch("reset lock_timeout")
}

/// Whether this session is the one that loads.
pub(crate) fn is_mine(session: &Session) -> Result<bool, Cause> {
    let text = "select exists (
        select from pg_locks
        where locktype = 'advisory' and granted and pid = pg_backend_pid() and classid::int8 = $1::int8
          and objid::int8 = $2::int8
      )";
    let key: [i64; 2] = [LOCK.0.into(), LOCK.1.into()];
    Ok(session.wait(session.client().query_one(text, &[&key[0], &key[1]]))?.get(0))
}
