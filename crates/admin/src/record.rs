//! What a loaded database says about itself: the table `stackmark_load`, completed last of all. Where others could see a
//! load under way it is made first, and says `loading` until then.

use crate::engine::Conn;
use crate::error::{Cause, CauseKind};
use serde::{Deserialize, Serialize};
use sql::Value;

/// What was asked for: two loads of the same record give the same rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// The tool that loads: `stackmark`.
    pub tool: String,
    /// Its version; not part of what makes two loads the same.
    pub tool_version: String,
    pub workload: String,
    /// The scale as the user gives it: warehouses.
    pub scale: u64,
    /// The workload's own account of its size, as JSON text.
    pub size: String,
    /// The seed of all rows.
    pub seed: u64,
}

/// A table after a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableContents {
    pub name: String,
    pub rows: u64,
    /// Order-independent checksum of all values of all rows: the wrapping sum of XXH3 over each row's canonical form.
    pub checksum: u64,
}

/// What a complete load left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// What was asked for.
    pub record: LoadRecord,
    /// XXH3 of the schema's text: another schema is another database.
    pub schema: u64,
    /// The tables in the order in which they were loaded.
    pub tables: Vec<TableContents>,
    /// When the load was completed, in seconds since 1970.
    pub loaded_at: u64,
}

impl Contents {
    /// Rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }

    /// One number for everything loaded: equal for equal rows, however many threads made them.
    pub fn checksum(&self) -> u64 {
        let mut text = String::new();
        for table in &self.tables {
            text.push_str(&format!("{}:{}:{:016x};", table.name, table.rows, table.checksum));
        }
        xxhash_rust::xxh3::xxh3_64(text.as_bytes())
    }
}

impl LoadRecord {
    /// Whether both stand for the same rows. Versions of the tool may differ.
    pub fn same_rows(&self, other: &LoadRecord) -> bool {
        let key = |record: &LoadRecord| {
            (record.tool.clone(), record.workload.clone(), record.scale, record.size.clone(), record.seed)
        };
        key(self) == key(other)
    }
}

impl std::fmt::Display for LoadRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let LoadRecord { workload, scale, seed, .. } = self;
        write!(f, "{workload} at scale {scale}, seed {seed}")
    }
}

/// The name of the table. A database that has it, and says `complete` in it, was loaded whole by Stackmark.
pub(crate) const TABLE: &str = "stackmark_load";
const STATE: &str = "state";
const LOADING: &str = "loading";
const COMPLETE: &str = "complete";
const CONTENTS: &str = "contents";
/// Names of the tables that a load makes, as a JSON array: these may be dropped, and no others.
const TABLES: &str = "tables";
const SINCE: &str = "since";

/// What the record says.
pub(crate) enum Recorded {
    Loading { since: u64, tables: Vec<String> },
    Complete(Box<Contents>),
}

impl Recorded {
    /// The tables that are ours.
    pub(crate) fn tables(self) -> Vec<String> {
        match self {
            Recorded::Loading { tables, .. } => tables,
            Recorded::Complete(contents) => contents.tables.into_iter().map(|table| table.name).collect(),
        }
    }
}

/// Says that a load begins, and which tables it will make. The empty table is there already: what follows it is ours.
pub(crate) fn begin(conn: &mut dyn Conn, tables: &[&str]) -> Result<(), Cause> {
    let names = serde_json::to_string(tables).expect("a list of texts");
    let since = measure::unix_seconds().to_string();
    conn.note(&[(STATE, LOADING), (TABLES, &names), (SINCE, &since)])
}

/// Says that all is there; the last change that a load makes.
pub(crate) fn complete(conn: &mut dyn Conn, contents: &Contents) -> Result<(), Cause> {
    let text = serde_json::to_string(contents).expect("plain data with string keys");
    conn.note(&[(CONTENTS, &text), (STATE, COMPLETE)])
}

/// Reads the record among the `tables` of a database; `None` where there is none, or it makes no sense.
pub(crate) fn read(conn: &mut dyn Conn, tables: &[String]) -> Result<Option<Recorded>, Cause> {
    if !tables.iter().any(|table| table == TABLE) {
        return Ok(None);
    }
    let rows = match conn.rows(&format!("select name, value from {TABLE}"), &[], usize::MAX) {
        // Someone else's table of that name.
        Err(cause) if cause.kind == CauseKind::NoColumn => return Ok(None),
        rows => rows?,
    };
    let value = |name: &str| {
        rows.iter().find_map(|row| match row.as_slice() {
            [Value::Text(key), Value::Text(value)] if key == name => Some(value.as_str()),
            _ => None,
        })
    };
    Ok(match value(STATE) {
        Some(COMPLETE) => value(CONTENTS)
            .and_then(|text| serde_json::from_str(text).ok())
            .map(|contents| Recorded::Complete(Box::new(contents))),
        Some(LOADING) => {
            let tables = value(TABLES).and_then(|text| serde_json::from_str(text).ok());
            let since = value(SINCE).and_then(|text| text.parse().ok()).unwrap_or(0);
            tables.map(|tables| Recorded::Loading { since, tables })
        }
        // Made, and nothing said yet: cut off between the two, before any other table was made.
        None if rows.is_empty() && tables.len() == 1 => {
            Some(Recorded::Loading { since: 0, tables: Vec::new() })
        }
        _ => None,
    })
}
