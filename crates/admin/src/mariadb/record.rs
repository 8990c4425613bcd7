//! What a loaded database says about itself: the table `stackmark_load`, made first and completed last.

use super::connect::{code, code_of, text};
use crate::Contents;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error};

/// The name of the table. A database that has it, and says `complete` in it, was loaded whole by this kit.
pub(crate) const TABLE: &str = "stackmark_load";
const STATE: &str = "state";
const COMPLETE: &str = "complete";
const LOADING: &str = "loading";
const CONTENTS: &str = "contents";
/// Names of the tables that a load makes, as a JSON array: these may be dropped, and no others.
const TABLES: &str = "tables";
const SINCE: &str = "since";

/// What the record says.
#[derive(Debug)]
pub(crate) enum Record {
    /// There is none.
    None,
    /// A load has begun.
    Loading { tables: Vec<String>, since: u64 },
    /// A load is complete.
    Complete(Box<Contents>),
    /// A table of that name that we have not made.
    Strange,
}

/// Makes the table, before any other: what follows it is ours.
pub(crate) async fn begin(conn: &mut Conn, tables: &[&str], since: u64) -> Result<(), Error> {
    conn.query_drop(format!(
        "create table {TABLE} (name varchar(64) not null primary key, value longtext not null) \
         engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin"
    ))
    .await?;
    let tables = serde_json::to_string(tables).expect("a list of texts");
    put(conn, &[(STATE, LOADING), (TABLES, &tables), (SINCE, &since.to_string())]).await
}

/// Completes the record; the last change of a load.
pub(crate) async fn complete(conn: &mut Conn, contents: &Contents) -> Result<(), Error> {
    let contents = serde_json::to_string(contents).expect("plain data with string keys");
    put(conn, &[(CONTENTS, &contents), (STATE, COMPLETE)]).await
}

async fn put(conn: &mut Conn, pairs: &[(&str, &str)]) -> Result<(), Error> {
    let rows: Vec<String> =
        pairs.iter().map(|(name, value)| format!("({}, {})", text(name), text(value))).collect();
    conn.query_drop(format!("replace into {TABLE} (name, value) values {}", rows.join(", "))).await
}

/// Reads the record.
pub(crate) async fn read(conn: &mut Conn) -> Result<Record, Error> {
    let pairs: Vec<(String, String)> = match conn.query(format!("select name, value from {TABLE}")).await {
        Ok(pairs) => pairs,
        Err(error) => {
            return match code_of(&error) {
                Some(code::NO_SUCH_TABLE) => Ok(Record::None),
                // 1054: its columns have other names.
                Some(1054) => Ok(Record::Strange),
                _ => Err(error),
            };
        }
    };
    let value = |name: &str| pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
    let record = match value(STATE) {
        Some(COMPLETE) => value(CONTENTS)
            .and_then(|text| serde_json::from_str(text).ok())
            .map(|contents| Record::Complete(Box::new(contents))),
        Some(LOADING) => value(TABLES).and_then(|text| serde_json::from_str(text).ok()).map(|tables| {
            Record::Loading { tables, since: value(SINCE).and_then(|text| text.parse().ok()).unwrap_or(0) }
        }),
        // Made, and nothing said yet: cut off between the two.
        None if pairs.is_empty() => Some(Record::Loading { tables: Vec::new(), since: 0 }),
        _ => None,
    };
    Ok(record.unwrap_or(Record::Strange))
}
