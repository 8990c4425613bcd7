//! Reading every stored row back, over several connections, and adding up what is there.

use super::connect::ident;
use super::error::Cause;
use super::layout::{Kind, push_stored};
use super::load::Shared;
use crate::checksum::Checksum;
use model::rows::Table;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error};
use sql::ServerUrl;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Parts that a table is read in, so that connections end at about the same time.
const PARTS: i64 = 16;
/// Rows after which progress and the wish to stop are looked at.
const LOOK_EVERY: u64 = 4_096;

/// A part of a table.
#[derive(Debug)]
pub(crate) struct Part {
    table: usize,
    /// A condition on its key, with the whole numbers in place.
    condition: String,
}

/// The parts of all tables.
pub(crate) async fn parts(conn: &mut Conn, tables: &[Table]) -> Result<Vec<Part>, Error> {
    let mut parts = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        let conditions = conditions(conn, table.name).await?;
        parts.extend(conditions.into_iter().map(|condition| Part { table: number, condition }));
    }
    Ok(parts)
}

/// Reads parts in turn until none is left, through one connection.
pub(crate) async fn read_parts(
    url: &ServerUrl,
    tables: &[Table],
    layouts: &[Vec<Kind>],
    parts: &[Part],
    next: &AtomicUsize,
    shared: &Arc<Shared>,
) -> Result<Vec<Checksum>, Cause> {
    let mut conn = shared.connect(url).await?;
    let mut sums = vec![Checksum::default(); tables.len()];
    let mut canonical = Vec::new();
    while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
        let (table, kinds) = (&tables[part.table], &layouts[part.table]);
        let columns: Vec<String> = table.columns.iter().map(|column| ident(column)).collect();
        let asked =
            format!("select {} from {} where {}", columns.join(", "), ident(table.name), part.condition);
        let sum = &mut sums[part.table];
        let mut rows = conn.exec_iter(asked, ()).await?;
        while let Some(row) = rows.next().await? {
            canonical.clear();
            for (column, kind) in kinds.iter().enumerate() {
                push_stored(&mut canonical, *kind, row.as_ref(column));
            }
            sum.add_row(&canonical);
            if sum.rows % LOOK_EVERY == 0 {
                shared.signals.rows.fetch_add(LOOK_EVERY, Ordering::Relaxed);
                if shared.is_over() {
                    return Err(std::io::Error::from(std::io::ErrorKind::Interrupted).into());
                }
            }
        }
    }
    conn.disconnect().await?;
    Ok(sums)
}

/// Conditions that cut a table into parts along its key; a single one that holds everywhere where the key is not made
/// of whole numbers.
async fn conditions(conn: &mut Conn, table: &str) -> Result<Vec<String>, Error> {
    let asked = "select s.column_name, c.data_type from information_schema.statistics s \
                 join information_schema.columns c using (table_schema, table_name, column_name) \
                 where s.table_schema = database() and s.table_name = ? and s.index_name = 'PRIMARY' \
                 order by s.seq_in_index";
    let keys: Vec<(String, String)> = conn.exec(asked, (table,)).await?;
    let mut keys = keys.into_iter();
    let mut fixed = String::from("true");
    while let Some((key, kind)) = keys.next() {
        if !kind.ends_with("int") {
            break;
        }
        let (table, key) = (ident(table), ident(&key));
        let asked = format!("select min({key}), max({key}) from {table} where {fixed}");
        let edges: Option<(Option<i64>, Option<i64>)> = conn.query_first(asked).await?;
        let Some((Some(low), Some(high))) = edges else { break };
        if low == high && keys.len() > 0 {
            fixed = format!("{fixed} and {key} = {low}");
            continue;
        }
        let parts = PARTS.min(high - low + 1).max(1);
        let start =
            |part: i64| low + (i128::from(high - low + 1) * i128::from(part) / i128::from(parts)) as i64;
        return Ok((0..parts)
            .map(|part| match part {
                0 if parts == 1 => fixed.clone(),
                // The outer parts are open, so that no row can lie outside of all.
                0 => format!("{fixed} and {key} < {}", start(1)),
                _ if part == parts - 1 => format!("{fixed} and {key} >= {}", start(part)),
                _ => format!("{fixed} and {key} >= {} and {key} < {}", start(part), start(part + 1)),
            })
            .collect());
    }
    Ok(vec!["true".into()])
}
