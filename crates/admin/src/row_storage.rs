//! How tables keep their rows, as they say themselves: whatever a server flushes, a table that is not logged is empty after a crash.

use crate::engine::Rows;
use sql::Value;
use std::path::PathBuf;

/// How a table, or a partition of one, keeps its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowStorage {
    /// The table; empty for what all tables of the server share, such as its log.
    pub table: String,
    /// The partition, or the table itself.
    pub part: String,
    /// What becomes of its rows.
    pub keeping: RowSafety,
    /// Where the server has them, by its own word and on its own machine; nothing where it does not tell us.
    pub folder: Option<PathBuf>,
}

/// What becomes of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowSafety {
    /// As the server flushes its log.
    Logged,
    /// A crash empties the table.
    Unlogged,
    /// There are no transactions: the storage engine, by its name.
    WithoutTransactions(String),
}

/// The word of a query for what is logged, and for what is not; any other is a storage engine without transactions.
const LOGGED: &str = "logged";
const UNLOGGED: &str = "unlogged";

/// Reads the rows of a query: table, part, one of the words above, folder or null.
pub(crate) fn read(rows: &Rows) -> Vec<RowStorage> {
    let text = |value: &Value| match value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    let one = |row: &Vec<Value>| match &row[..] {
        [table, part, word, folder] => Some(RowStorage {
            table: text(table)?,
            part: text(part)?,
            keeping: match text(word)? {
                word if word == LOGGED => RowSafety::Logged,
                word if word == UNLOGGED => RowSafety::Unlogged,
                engine => RowSafety::WithoutTransactions(engine),
            },
            folder: text(folder).map(PathBuf::from).filter(|folder| folder.is_absolute()),
        }),
        _ => None,
    };
    rows.iter().filter_map(one).collect()
}
