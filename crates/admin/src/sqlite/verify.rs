//! Reading every stored row back, over several connections, and adding up what is there.

use super::batch::push_stored;
use crate::checksum::Checksum;
use crate::loading::Signals;
use model::rows::Table;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Parts that a table is read in, so that threads end at about the same time.
const PARTS: i64 = 16;
/// Rows after which progress and the wish to stop are looked at.
const LOOK_EVERY: u64 = 4_096;

/// A part of a table.
struct Part {
    table: usize,
    /// A condition on its key, with the whole numbers in place.
    condition: String,
}

/// Counts and checksums of the stored tables.
pub(crate) fn read_back(
    path: &Path,
    tables: &[Table],
    threads: usize,
    signals: &Signals,
) -> rusqlite::Result<Vec<Checksum>> {
    let conn = open(path)?;
    let mut parts = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        let conditions = conditions(&conn, table.name)?;
        parts.extend(conditions.into_iter().map(|condition| Part { table: number, condition }));
    }
    let next = AtomicUsize::new(0);
    let mut sums = vec![Checksum::default(); tables.len()];
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| read_parts(path, tables, &parts, &next, signals))).collect();
        for worker in workers {
            let found = worker.join().expect("a panic is passed on")?;
            sums.iter_mut().zip(found).for_each(|(sum, part)| *sum += part);
        }
        Ok(sums)
    })
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

fn read_parts(
    path: &Path,
    tables: &[Table],
    parts: &[Part],
    next: &AtomicUsize,
    signals: &Signals,
) -> rusqlite::Result<Vec<Checksum>> {
    let conn = open(path)?;
    let mut sums = vec![Checksum::default(); tables.len()];
    let mut canonical = Vec::new();
    while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
        let table = &tables[part.table];
        let text =
            format!("select {} from {} where {}", table.columns.join(", "), table.name, part.condition);
        let mut select = conn.prepare(&text)?;
        let mut rows = select.raw_query();
        let sum = &mut sums[part.table];
        while let Some(row) = rows.next()? {
            canonical.clear();
            for column in 0..table.columns.len() {
                push_stored(&mut canonical, row.get_ref(column)?);
            }
            sum.add_row(&canonical);
            if sum.rows % LOOK_EVERY == 0 {
                signals.rows.fetch_add(LOOK_EVERY, Ordering::Relaxed);
                if signals.stopped() {
                    return Ok(sums);
                }
            }
        }
    }
    Ok(sums)
}

/// Conditions that cut a table into parts along its key; a single one that holds everywhere where the key is not made
/// of whole numbers.
fn conditions(conn: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut keys = key_columns(conn, table)?.into_iter();
    let mut fixed = String::from("true");
    while let Some(key) = keys.next() {
        let edge = |function: &str| -> rusqlite::Result<Option<i64>> {
            let text =
                format!("select {function}({key}) from {table} where {fixed} and typeof({key}) = 'integer'");
            conn.query_row(&text, [], |row| row.get(0))
        };
        let (Some(low), Some(high)) = (edge("min")?, edge("max")?) else { break };
        if low == high && keys.len() > 0 {
            fixed = format!("{fixed} and {key} = {low}");
            continue;
        }
        let parts = PARTS.min(high - low + 1).max(1);
        let start =
            |part: i64| low + (i128::from(high - low + 1) * i128::from(part) / i128::from(parts)) as i64;
        return Ok((0..parts)
            .map(|part| match part {
                // The outer parts are open, so that no row can lie outside of all.
                0 if parts == 1 => fixed.clone(),
                0 => format!("{fixed} and {key} < {}", start(1)),
                _ if part == parts - 1 => format!("{fixed} and {key} >= {}", start(part)),
                _ => format!("{fixed} and {key} >= {} and {key} < {}", start(part), start(part + 1)),
            })
            .collect());
    }
    Ok(vec!["true".into()])
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
