//! Reading every stored row back, over several connections, and adding up what is there.

use super::binary::{Form, HEADER, push_row};
use super::error::Cause;
use super::load::Crew;
use super::session::{Session, quoted};
use super::writer::share_out;
use crate::checksum::Checksum;
use futures_util::StreamExt as _;
use model::rows::Table;
use std::pin::pin;
use std::sync::atomic::Ordering;

/// Pages of a part of a table: 32 MiB, so that threads end at about the same time.
const PAGES_A_PART: i64 = 4_096;
/// The first server that finds rows by their place without reading the whole table.
const PLACES_SINCE: i64 = 140_000;
/// Rows after which progress and the wish to stop are looked at.
const LOOK_EVERY: u64 = 4_096;

/// A part of a table.
struct Part {
    table: usize,
    condition: String,
}

/// Counts and checksums of the stored tables.
pub(crate) fn read_back(
    sessions: &mut [Session],
    tables: &[Table],
    forms: &[Vec<Form>],
    crew: &Crew<'_>,
) -> Result<Vec<Checksum>, Cause> {
    let first = sessions.first().expect("a load has sessions");
    let mut parts = Vec::new();
    for (table, about) in tables.iter().enumerate() {
        parts.extend(conditions(first, about)?.into_iter().map(|condition| Part { table, condition }));
    }
    let read = share_out(sessions, &parts, |session, part| {
        let sum = session.with(async |client| {
            read_part(client, &tables[part.table], &forms[part.table], &part.condition, crew).await
        })?;
        Ok((part.table, sum))
    })?;
    let mut sums = vec![Checksum::default(); tables.len()];
    read.into_iter().for_each(|(table, part)| sums[table] += part);
    Ok(sums)
}

async fn read_part(
    client: &tokio_postgres::Client,
    table: &Table,
    forms: &[Form],
    condition: &str,
    crew: &Crew<'_>,
) -> Result<Checksum, Cause> {
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(column)).collect();
    let text = format!(
        "copy (select {} from {} where {condition}) to stdout (format binary)",
        columns.join(", "),
        quoted(table.name)
    );
    let mut stream = pin!(client.copy_out(&text).await?);
    let (mut sum, mut canonical) = (Checksum::default(), Vec::new());
    let mut unreported = 0;
    while let Some(message) = stream.next().await {
        let message = message?;
        // The server sends a row a message; the header comes with the first.
        let row = message.strip_prefix(HEADER).unwrap_or(&message);
        if row.is_empty() {
            continue;
        }
        canonical.clear();
        if !push_row(&mut canonical, forms, row)? {
            continue;
        }
        sum.add_row(&canonical);
        unreported += 1;
        if unreported == LOOK_EVERY {
            crew.signals.rows.fetch_add(unreported, Ordering::Relaxed);
            unreported = 0;
            if crew.signals.stopped() {
                return Err(Cause::Form("stopped".into()));
            }
        }
    }
    crew.signals.rows.fetch_add(unreported, Ordering::Relaxed);
    Ok(sum)
}

/// Conditions that cut a table into parts by where its rows lie.
fn conditions(session: &Session, table: &Table) -> Result<Vec<String>, Cause> {
    if session.version_num() < PLACES_SINCE {
        return Ok(vec!["true".into()]);
    }
    let text = "select pg_relation_size($1::text::regclass) / current_setting('block_size')::int8";
    let pages: i64 = session.wait(session.client().query_one(text, &[&quoted(table.name)]))?.get(0);
    let parts = (pages / PAGES_A_PART + i64::from(pages % PAGES_A_PART > 0)).max(1);
    Ok((0..parts)
        .map(|part| {
            let low = format!("ctid >= '({},0)'", part * PAGES_A_PART);
            match part + 1 == parts {
                // The last part is open, so that no row can lie outside of all.
                true => low,
                false => format!("{low} and ctid < '({},0)'", (part + 1) * PAGES_A_PART),
            }
        })
        .collect())
}
