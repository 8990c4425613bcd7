//! Storing rows: threads that make them, a bounded number of batches going round, and one thread that binds and steps.

use super::batch::{Batch, Cell};
use crate::checksum::Checksum;
use crate::engine::Fill;
use crate::error::Cause;
use crossbeam_channel::{Receiver, Sender};
use model::rows::Table;
use rusqlite::{Connection, OpenFlags, Statement};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Batches going round a thread that makes rows: one being filled, one waiting.
const BATCHES_A_THREAD: usize = 2;
/// Bytes of rows after which the disk is asked to begin, so that the last flush is short.
const FLUSH_EVERY: usize = 64 << 20;
/// Sent in the place of a batch's number: that batch will never come.
const LOST: u32 = u32::MAX;

/// Opens the file of a load. Nothing is journalled or flushed: whatever happens before the rename voids the file.
pub(crate) fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.execute_batch(
        "pragma page_size=4096; pragma journal_mode=off; pragma synchronous=off; pragma locking_mode=exclusive; \
         pragma foreign_keys=off; pragma cache_size=-65536; pragma temp_store=memory; pragma threads=2",
    )?;
    Ok(conn)
}

/// Stores all rows of a table in key order.
pub(crate) fn store_rows(conn: &Connection, fill: &Fill<'_>, file: &File) -> Result<Checksum, Cause> {
    let next = AtomicU32::new(0);
    let batches = fill.threads * BATCHES_A_THREAD + 1;
    let (give_back, empty) = crossbeam_channel::bounded(batches);
    let (give, full) = crossbeam_channel::bounded(batches);
    let (begin_flush, flushes) = crossbeam_channel::bounded(1);
    for _ in 0..batches {
        give_back.send(Batch::default()).expect("room for all, and the receiver lives");
    }
    std::thread::scope(|scope| {
        // Owned in here, so that they are gone before the scope waits for its threads: that is what ends them.
        let (full, give_back, begin_flush) = (full, give_back, begin_flush);
        for _ in 0..fill.threads {
            let (empty, give) = (empty.clone(), give.clone());
            let next = &next;
            scope.spawn(move || make_rows(fill, next, &empty, &give));
        }
        scope.spawn(move || flush_along(file, &flushes));
        // Only the threads hold these now, so that each side sees when the other has ended.
        drop((empty, give));
        store_batches(conn, fill, &full, &give_back, &begin_flush)
    })
}

/// Tells the storing thread that a maker has panicked: it would wait for that batch, and the other makers for room.
struct Making<'a>(&'a Sender<(u32, Batch)>);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // There is room for what was lost.
            let _ = self.0.send((LOST, Batch::default()));
        }
    }
}

/// Takes an empty batch *before* a number: so the oldest number always has one, and the others cannot starve it.
fn make_rows(fill: &Fill<'_>, next: &AtomicU32, empty: &Receiver<Batch>, give: &Sender<(u32, Batch)>) {
    let _making = Making(give);
    while let Ok(mut batch) = empty.recv() {
        let chunk = next.fetch_add(1, Ordering::Relaxed);
        if chunk >= fill.table().chunks {
            return;
        }
        batch.clear();
        fill.dataset.fill(fill.number, chunk, &mut batch);
        if give.send((chunk, batch)).is_err() {
            return;
        }
    }
}

/// Lets the disk work while rows are made. What fails here fails again at the last flush, which is checked.
fn flush_along(file: &File, begin: &Receiver<()>) {
    while begin.recv().is_ok() {
        let _ = file.sync_data();
    }
}

fn store_batches(
    conn: &Connection,
    fill: &Fill<'_>,
    full: &Receiver<(u32, Batch)>,
    give_back: &Sender<Batch>,
    begin_flush: &Sender<()>,
) -> Result<Checksum, Cause> {
    let mut sum = Checksum::default();
    let mut early = BTreeMap::new();
    let mut unflushed = 0;
    conn.execute_batch("begin exclusive")?;
    let mut insert = conn.prepare(&insert_text(fill.table()))?;
    for chunk in 0..fill.table().chunks {
        let batch = loop {
            if let Some(batch) = early.remove(&chunk) {
                break batch;
            }
            let made = full.recv().ok().filter(|(made, _)| *made != LOST);
            let (made, batch) = made.ok_or_else(|| Cause::other("a thread that makes rows ended"))?;
            early.insert(made, batch);
        };
        store_batch(&mut insert, &batch)?;
        sum += batch.checksum();
        fill.signals.count(batch.checksum().rows)?;
        unflushed += batch.bytes();
        if unflushed > FLUSH_EVERY && begin_flush.try_send(()).is_ok() {
            unflushed = 0;
        }
        // Where the makers have ended, no one needs the batch.
        let _ = give_back.send(batch);
    }
    drop(insert);
    conn.execute_batch("commit")?;
    Ok(sum)
}

fn insert_text(table: &Table) -> String {
    let places: Vec<String> = (1..=table.columns.len()).map(|place| format!("?{place}")).collect();
    format!("insert into {} ({}) values ({})", table.name, table.columns.join(", "), places.join(", "))
}

fn store_batch(insert: &mut Statement<'_>, batch: &Batch) -> rusqlite::Result<()> {
    for row in batch.rows() {
        for (place, cell) in (1..).zip(row) {
            match cell {
                Cell::Int(value) => insert.raw_bind_parameter(place, value)?,
                Cell::Text(text) => {
                    insert.raw_bind_parameter(
                        place,
                        rusqlite::types::ToSqlOutput::Borrowed(rusqlite::types::ValueRef::Text(text)),
                    )?;
                }
                Cell::Null => insert.raw_bind_parameter(place, rusqlite::types::Null)?,
            }
        }
        insert.raw_execute()?;
    }
    Ok(())
}
