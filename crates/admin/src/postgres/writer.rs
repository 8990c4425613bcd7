//! Storing rows: a stream a table, several tables at a time.
//!
//! One stream a table, and not several: so each table is in the order of its key, whoever loads it, and its rows can be
//! stored frozen, which spares the first run the rewriting of every page that it reads.

use super::binary::{Encoder, Form, HEADER, TRAILER};
use super::session::{Session, quoted};
use crate::checksum::Checksum;
use crate::engine::Fill;
use crate::error::Cause;
use bytes::Bytes;
use futures_util::SinkExt as _;
use std::pin::pin;

/// Chunks that wait to be sent, a table.
const CHUNKS_WAITING: usize = 2;
/// Bytes of a chunk's buffer to begin with; it grows as it must.
const CHUNK_BYTES: usize = 1 << 20;

/// Stores all rows of an empty table.
pub(crate) fn store(session: &mut Session, fill: &Fill<'_>, forms: &[Form]) -> Result<Checksum, Cause> {
    let (give, take) = tokio::sync::mpsc::channel(CHUNKS_WAITING);
    std::thread::scope(|scope| {
        let maker = scope.spawn(move || make(fill, forms, &give));
        let frozen = session.product.is_none();
        let stored = session.with(async |client| {
            let stored = copy(client, fill, frozen, take).await;
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
            Err(Cause::other(format!("{} rows were sent, and the server took {rows}", sum.rows)))
        }
    })
}

/// Makes chunks in order, until all are made or no one takes them any more.
fn make(
    fill: &Fill<'_>,
    forms: &[Form],
    give: &tokio::sync::mpsc::Sender<Option<(Bytes, u64)>>,
) -> Result<Checksum, Cause> {
    let mut sum = Checksum::default();
    let mut capacity = CHUNK_BYTES;
    for chunk in 0..fill.table().chunks {
        let mut encoder = Encoder::new(forms, capacity);
        fill.dataset.fill(fill.number, chunk, &mut encoder);
        let (bytes, part) = encoder.finish()?;
        capacity = capacity.max(bytes.len());
        sum += part;
        if fill.signals.count(0).is_err() || give.blocking_send(Some((bytes, part.rows))).is_err() {
            return Ok(sum);
        }
    }
    // Where this is missing, the rows are not all there.
    let _ = give.blocking_send(None);
    Ok(sum)
}

async fn copy(
    client: &tokio_postgres::Client,
    fill: &Fill<'_>,
    frozen: bool,
    mut chunks: tokio::sync::mpsc::Receiver<Option<(Bytes, u64)>>,
) -> Result<u64, Cause> {
    let name = quoted(fill.table().name);
    let columns: Vec<String> = fill.table().columns.iter().map(|column| quoted(column)).collect();
    // Rows can be stored frozen where the same transaction has emptied the table. Not every engine can do either.
    if frozen {
        client.batch_execute(&format!("begin; truncate {name}")).await?;
    }
    let form = if frozen { "format binary, freeze" } else { "format binary" };
    let text = format!("copy {name} ({}) from stdin ({form})", columns.join(", "));
    let mut sink = pin!(client.copy_in::<_, Bytes>(&text).await?);
    sink.send(Bytes::from_static(HEADER)).await?;
    loop {
        match chunks.recv().await {
            Some(Some((bytes, rows))) => {
                sink.send(bytes).await?;
                // Whoever makes the chunks ends the load.
                let _ = fill.signals.count(rows);
            }
            Some(None) => break,
            // A sink that is dropped ends the COPY as failed.
            None => return Err(Cause::cut_short()),
        }
    }
    sink.send(Bytes::from_static(TRAILER)).await?;
    let rows = sink.finish().await?;
    if frozen {
        client.batch_execute("commit").await?;
    }
    Ok(rows)
}
