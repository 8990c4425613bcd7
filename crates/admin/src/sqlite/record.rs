//! What a loaded file says about itself: the table `stackmark_load`, written last.

use crate::Contents;
use rusqlite::{Connection, OptionalExtension};

/// The name of the table. A database that has it, and says `complete` in it, was loaded whole by this kit.
pub(crate) const TABLE: &str = "stackmark_load";
const STATE: &str = "state";
const COMPLETE: &str = "complete";
const CONTENTS: &str = "contents";

/// Writes the record; the last change to a file that is being loaded.
pub(crate) fn write(conn: &Connection, contents: &Contents) -> rusqlite::Result<()> {
    let text = serde_json::to_string(contents).expect("plain data with string keys");
    conn.execute_batch(&format!(
        "create table {TABLE} (name text primary key, value text not null) strict, without rowid"
    ))?;
    let mut insert = conn.prepare(&format!("insert into {TABLE} (name, value) values (?1, ?2)"))?;
    insert.execute([CONTENTS, text.as_str()])?;
    insert.execute([STATE, COMPLETE])?;
    Ok(())
}

/// Reads the record of a complete load; `None` where there is no such table, or it does not say so.
pub(crate) fn read(conn: &Connection) -> rusqlite::Result<Option<Contents>> {
    let exists = conn
        .query_row("select 1 from sqlite_schema where type = 'table' and name = ?1", [TABLE], |_| Ok(()))
        .optional()?
        .is_some();
    if !exists {
        return Ok(None);
    }
    let value = |name: &str| {
        conn.query_row(&format!("select value from {TABLE} where name = ?1"), [name], |row| {
            row.get::<_, String>(0)
        })
        .optional()
    };
    if value(STATE)?.as_deref() != Some(COMPLETE) {
        return Ok(None);
    }
    Ok(value(CONTENTS)?.and_then(|text| serde_json::from_str(&text).ok()))
}
