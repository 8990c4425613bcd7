//! Storing rows: a stream a table, several tables at a time.
//!
//! One stream a table, and not several: so each table lies in the order of its key, whoever loads it, and its rows can be
//! stored frozen, which spares the first run the rewriting of every page that it reads.

use super::binary::{Encoder, Form, HEADER, TRAILER};
use super::error::Cause;
use super::load::Crew;
use super::session::{Session, quoted};
use crate::checksum::Checksum;
use bytes::Bytes;
use futures_util::SinkExt as _;
use model::rows::{Dataset, Table};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};

/// Chunks that wait to be sent, a table.
const CHUNKS_WAITING: usize = 2;
/// Bytes of a chunk's buffer to begin with; it grows as it must.
const CHUNK_BYTES: usize = 1 << 20;

/// A table to be stored.
pub(crate) struct Work<'a> {
    pub(crate) dataset: &'a dyn Dataset,
    pub(crate) number: usize,
    pub(crate) table: &'a Table,
    pub(crate) forms: &'a [Form],
}

/// Stores all rows of an empty table.
pub(crate) fn store(session: &mut Session, work: &Work<'_>, crew: &Crew<'_>) -> Result<Checksum, Cause> {
    let (give, take) = tokio::sync::mpsc::channel(CHUNKS_WAITING);
    std::thread::scope(|scope| {
        let maker = scope.spawn(move || make(work, crew, &give));
        let stored = session.with(async |client| {
            let stored = copy(client, work, take, crew).await;
            if stored.is_err() {
                // What failed is reported; the server forgets the transaction either way.
                let _ = client.batch_execute("rollback").await;
            }
            stored
        });
        let made = maker.join().expect("a panic is passed on");
        // A maker that could make no row is why nothing more could be stored.
        let sum = made?;
        let rows = stored?;
        if rows == sum.rows {
            Ok(sum)
        } else {
            Err(Cause::Form(format!("{} rows were sent, and the server took {rows}", sum.rows)))
        }
    })
}

/// Makes chunks in order, until all are made or nobody takes them any more.
fn make(
    work: &Work<'_>,
    crew: &Crew<'_>,
    give: &tokio::sync::mpsc::Sender<Option<(Bytes, u64)>>,
) -> Result<Checksum, Cause> {
    let mut sum = Checksum::default();
    let mut capacity = CHUNK_BYTES;
    for chunk in 0..work.table.chunks {
        let mut encoder = Encoder::new(work.forms, capacity);
        work.dataset.fill(work.number, chunk, &mut encoder);
        let (bytes, part) = encoder.finish()?;
        capacity = capacity.max(bytes.len());
        sum += part;
        if crew.signals.stopped() || give.blocking_send(Some((bytes, part.rows))).is_err() {
            return Ok(sum);
        }
    }
    // Where this is missing, the rows are not all there.
    let _ = give.blocking_send(None);
    Ok(sum)
}

async fn copy(
    client: &tokio_postgres::Client,
    work: &Work<'_>,
    mut chunks: tokio::sync::mpsc::Receiver<Option<(Bytes, u64)>>,
    crew: &Crew<'_>,
) -> Result<u64, Cause> {
    let name = quoted(work.table.name);
    let columns: Vec<String> = work.table.columns.iter().map(|column| quoted(column)).collect();
    // Rows can be stored frozen where the same transaction has emptied the table.
    client.batch_execute(&format!("begin; truncate {name}")).await?;
    let text = format!("copy {name} ({}) from stdin (format binary, freeze)", columns.join(", "));
    let mut sink = pin!(client.copy_in::<_, Bytes>(&text).await?);
    sink.send(Bytes::from_static(HEADER)).await?;
    loop {
        match chunks.recv().await {
            Some(Some((bytes, rows))) => {
                sink.send(bytes).await?;
                crew.signals.rows.fetch_add(rows, Ordering::Relaxed);
            }
            Some(None) => break,
            // A sink that is dropped ends the COPY as failed.
            None => return Err(Cause::Form("not all rows were made".into())),
        }
    }
    sink.send(Bytes::from_static(TRAILER)).await?;
    let rows = sink.finish().await?;
    client.batch_execute("commit").await?;
    Ok(rows)
}

/// Runs each of `jobs` on one of several sessions, the largest first.
pub(crate) fn share_out<J: Sync, T: Send>(
    sessions: &mut [Session],
    jobs: &[J],
    work: impl Fn(&mut Session, &J) -> Result<T, Cause> + Sync,
) -> Result<Vec<T>, Cause> {
    let next = AtomicU32::new(0);
    let failed = std::sync::atomic::AtomicBool::new(false);
    let mut done: Vec<(usize, T)> = Vec::with_capacity(jobs.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = sessions
            .iter_mut()
            .map(|session| {
                scope.spawn(|| {
                    let mut mine = Vec::new();
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed) as usize;
                        let Some(job) = jobs.get(number) else { return Ok(mine) };
                        if failed.load(Ordering::Relaxed) {
                            return Ok(mine);
                        }
                        match work(session, job) {
                            Ok(found) => mine.push((number, found)),
                            Err(cause) => {
                                failed.store(true, Ordering::Relaxed);
                                return Err(cause);
                            }
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            done.extend(thread.join().expect("a panic is passed on")?);
        }
        Ok(())
    })
    .map_err(|cause: Cause| cause)?;
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, found)| found).collect())
}
