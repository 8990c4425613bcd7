//! A connection, and what it does for loads and audits.

use super::batch::push_stored;
use super::writer;
use crate::audit::Asking;
use crate::checksum::Checksum;
use crate::engine::{Canceller, Conn, Fill, Rows, parts_of_key};
use crate::error::Cause;
use crate::loading::Signals;
use crate::record::TABLE;
use crate::{AuditGroup, AuditRows};
use model::rows::Table;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sql::{Journal, Value};
use std::fs::File;
use std::sync::Arc;

/// Rows after which progress and the wish to stop are looked at.
const LOOK_EVERY: u64 = 4_096;

pub(crate) struct Session {
    pub(crate) conn: Connection,
    /// The file of a load. It must not be closed before the connection is.
    pub(crate) file: Option<Arc<File>>,
}

impl Session {
    pub(crate) fn new(conn: Connection) -> Session {
        Session { conn, file: None }
    }

    /// Stores the journal mode in the file, where it is one that a file stores.
    pub(crate) fn keep_journal(&mut self, journal: Journal) -> Result<(), Cause> {
        self.rows(&format!("pragma journal_mode={}", journal.name()), &[], 1).map(drop)
    }

    pub(crate) fn close(self) -> Result<(), Cause> {
        Ok(self.conn.close().map_err(|(_, error)| error)?)
    }
}

impl Conn for Session {
    fn batch(&mut self, statements: &str) -> Result<(), Cause> {
        Ok(self.conn.execute_batch(statements)?)
    }

    fn rows(&mut self, sql: &str, params: &[i64], rows_max: usize) -> Result<Rows, Cause> {
        Ok(rows(&self.conn, sql, params, rows_max)?)
    }

    fn hold(&mut self) -> Result<bool, Cause> {
        self.conn.execute_batch("begin; select 1 from sqlite_schema limit 1")?;
        Ok(true)
    }

    fn note(&mut self, pairs: &[(&str, &str)]) -> Result<(), Cause> {
        let text = format!("insert or replace into {TABLE} (name, value) values (?1, ?2)");
        let mut insert = self.conn.prepare(&text)?;
        for (name, value) in pairs {
            insert.execute([name, value])?;
        }
        Ok(())
    }

    fn canceller(&self) -> Canceller {
        let interrupt = self.conn.get_interrupt_handle();
        Box::new(move || interrupt.interrupt())
    }

    fn audit(&mut self, group: &AuditGroup, asking: &Asking<'_>) -> Vec<AuditRows> {
        let prepare = || {
            group
                .prepare
                .iter()
                .try_for_each(|statement| self.rows(statement, &group.params, 0).map(drop))?;
            Ok(self)
        };
        asking.group(group, prepare, |session, query| session.rows(&query.sql, &group.params, query.rows_max))
    }

    fn fill(&mut self, fill: &Fill<'_>) -> Result<Checksum, Cause> {
        let file = self.file.as_ref().expect("connections of a load have its file");
        writer::store_rows(&self.conn, fill, file)
    }

    fn analyze(&mut self, _: &str) -> Result<(), Cause> {
        Ok(())
    }

    fn parts(&mut self, table: &Table) -> Result<Vec<String>, Cause> {
        let name = table.name;
        parts_of_key(&key_columns(&self.conn, name)?, |key, fixed| {
            let edge = |function: &str| -> rusqlite::Result<Option<i64>> {
                let text = format!(
                    "select {function}({key}) from {name} where {fixed} and typeof({key}) = 'integer'"
                );
                self.conn.query_row(&text, [], |row| row.get(0))
            };
            Ok(edge("min")?.zip(edge("max")?))
        })
    }

    fn read_back(&mut self, table: &Table, part: &str, signals: &Signals) -> Result<Checksum, Cause> {
        let text = format!("select {} from {} where {part}", table.columns.join(", "), table.name);
        let mut select = self.conn.prepare(&text)?;
        let mut rows = select.raw_query();
        let (mut sum, mut canonical) = (Checksum::default(), Vec::new());
        while let Some(row) = rows.next()? {
            canonical.clear();
            for column in 0..table.columns.len() {
                push_stored(&mut canonical, row.get_ref(column)?);
            }
            sum.add_row(&canonical);
            if sum.rows % LOOK_EVERY == 0 {
                signals.count(LOOK_EVERY)?;
            }
        }
        Ok(sum)
    }
}

/// The columns that a table is clustered by.
fn key_columns(conn: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let without_rowid: bool =
        conn.query_row("select wr from pragma_table_list(?1) where schema = 'main'", [table], |row| {
            row.get(0)
        })?;
    if !without_rowid {
        return Ok(vec!["rowid".into()]);
    }
    let mut keys = conn.prepare("select name from pragma_table_info(?1) where pk > 0 order by pk")?;
    keys.query_map([table], |row| row.get(0))?.collect()
}

/// The first `rows_max` rows of a statement.
fn rows(conn: &Connection, sql: &str, params: &[i64], rows_max: usize) -> rusqlite::Result<Rows> {
    let mut statement = conn.prepare(sql)?;
    for (place, value) in (1..=statement.parameter_count()).zip(params) {
        statement.raw_bind_parameter(place, value)?;
    }
    let columns = statement.column_count();
    let mut found = Vec::new();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if found.len() == rows_max {
            break;
        }
        found.push(
            (0..columns).map(|column| row.get_ref(column).map(owned)).collect::<rusqlite::Result<_>>()?,
        );
    }
    Ok(found)
}

fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Text(format!("{} bytes", bytes.len())),
    }
}
