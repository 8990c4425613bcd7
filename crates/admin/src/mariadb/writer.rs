//! Storing rows: each table through one connection and in one transaction, several tables side by side.
//!
//! A table that is empty, filled by one transaction with `unique_checks` and `foreign_key_checks` off, is built by InnoDB
//! from sorted pages, without a trace of every row in the undo log. Only one connection can do that to a table.

use super::connect::{code, code_of, connect, ident, text};
use super::error::Cause;
use super::layout::{Kind, write_number};
use super::load::Shared;
use crate::checksum::{Checksum, push_int, push_null, push_text};
use bytes::Bytes;
use futures_core::Stream;
use model::rows::{Dataset, RowSink, Table};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, InfileData};
use sql::ServerUrl;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// Bytes of a packet of LOAD DATA: the server begins while we go on.
const PACKET: usize = 256 << 10;
/// Bytes of a statement with many rows; below `max_allowed_packet` of every server that was not told otherwise.
const STATEMENT: usize = 1 << 20;

/// How rows reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `LOAD DATA LOCAL INFILE`, from memory.
    LoadData,
    /// `INSERT` with many rows each: for servers that forbid the former.
    Inserts,
}

/// The rows of a chunk as a server takes them, and their checksum.
struct Lines<'a> {
    way: Way,
    kinds: &'a [Kind],
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
    column: usize,
    canonical: Vec<u8>,
    sum: Checksum,
}

impl<'a> Lines<'a> {
    fn new(way: Way, kinds: &'a [Kind]) -> Lines<'a> {
        Lines {
            way,
            kinds,
            bytes: Vec::with_capacity(1 << 20),
            ends: Vec::new(),
            column: 0,
            canonical: Vec::new(),
            sum: Checksum::default(),
        }
    }

    /// What stands before a value; gives what kind of column it goes to.
    fn next_column(&mut self) -> Kind {
        let first = self.column == 0;
        match (self.way, first) {
            (Way::LoadData, true) => {}
            (Way::LoadData, false) => self.bytes.push(b'\t'),
            (Way::Inserts, true) => self.bytes.push(b'('),
            (Way::Inserts, false) => self.bytes.push(b','),
        }
        let kind = self.kinds.get(self.column).copied().unwrap_or(Kind::Text);
        self.column += 1;
        kind
    }
}

impl RowSink for Lines<'_> {
    fn int(&mut self, value: i64) {
        let kind = self.next_column();
        let quoted = self.way == Way::Inserts && kind == Kind::DateTime;
        if quoted {
            self.bytes.push(b'\'');
        }
        write_number(&mut self.bytes, kind, value);
        if quoted {
            self.bytes.push(b'\'');
        }
        push_int(&mut self.canonical, value);
    }

    fn text(&mut self, value: &str) {
        self.next_column();
        if self.way == Way::Inserts {
            self.bytes.push(b'\'');
        }
        for byte in value.bytes() {
            match byte {
                b'\\' | b'\'' => self.bytes.extend([b'\\', byte]),
                b'\t' => self.bytes.extend(b"\\t"),
                b'\n' => self.bytes.extend(b"\\n"),
                0 => self.bytes.extend(b"\\0"),
                byte => self.bytes.push(byte),
            }
        }
        if self.way == Way::Inserts {
            self.bytes.push(b'\'');
        }
        push_text(&mut self.canonical, value.as_bytes());
    }

    fn null(&mut self) {
        self.next_column();
        self.bytes.extend(if self.way == Way::Inserts { &b"null"[..] } else { b"\\N" });
        push_null(&mut self.canonical);
    }

    fn end(&mut self) {
        self.bytes.push(if self.way == Way::Inserts { b')' } else { b'\n' });
        self.ends.push(self.bytes.len());
        self.column = 0;
        self.sum.add_row(&self.canonical);
        self.canonical.clear();
    }
}

/// A table on its way to the server, chunk by chunk. Rows are made when the server wants them.
struct Outgoing {
    dataset: Arc<dyn Dataset>,
    table: usize,
    chunks: u32,
    next: u32,
    kinds: Vec<Kind>,
    /// What has been made and not been sent.
    left: Bytes,
    sum: Arc<Mutex<Checksum>>,
    shared: Arc<Shared>,
}

impl Stream for Outgoing {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.shared.is_over() {
            return Poll::Ready(Some(Err(io::ErrorKind::Interrupted.into())));
        }
        while self.left.is_empty() {
            if self.next == self.chunks {
                return Poll::Ready(None);
            }
            let mut lines = Lines::new(Way::LoadData, &self.kinds);
            self.dataset.fill(self.table, self.next, &mut lines);
            let Lines { bytes, sum, .. } = lines;
            *self.sum.lock().expect("no holder panics") += sum;
            self.shared.signals.rows.fetch_add(sum.rows, Ordering::Relaxed);
            self.next += 1;
            self.left = bytes.into();
        }
        let packet = self.left.len().min(PACKET);
        Poll::Ready(Some(Ok(self.left.split_to(packet))))
    }
}

/// Stores tables in turn until none is left, through one connection.
pub(crate) async fn store_tables(
    url: &ServerUrl,
    dataset: &Arc<dyn Dataset>,
    layouts: &[Vec<Kind>],
    turns: &[usize],
    next: &AtomicUsize,
    way: Way,
    shared: &Arc<Shared>,
) -> Result<Vec<(usize, Checksum)>, Cause> {
    let mut conn = shared.connect(url).await?;
    conn.query_drop("set session unique_checks = 0, foreign_key_checks = 0").await?;
    let mut sums = Vec::new();
    while let Some(&number) = turns.get(next.fetch_add(1, Ordering::Relaxed)) {
        let table = &dataset.tables()[number];
        let sum = match way {
            Way::LoadData => load_data(&mut conn, dataset, number, &layouts[number], shared).await?,
            Way::Inserts => insert(&mut conn, dataset, number, table, &layouts[number], shared).await?,
        };
        sums.push((number, sum));
    }
    conn.disconnect().await?;
    Ok(sums)
}

/// Whether the server and our rights on it allow `LOAD DATA LOCAL`: an empty file is offered to the record.
/// Where not, a note says so.
pub(crate) async fn way(url: &ServerUrl, notes: &mut Vec<String>) -> Result<Way, Error> {
    let mut conn = connect(url).await?;
    conn.set_infile_handler(async { Ok(Box::pin(Nothing) as InfileData) });
    let asked = format!("load data local infile 'nothing' into table {}", super::record::TABLE);
    let way = match conn.query_drop(asked).await {
        Ok(()) => Way::LoadData,
        Err(error) => match code_of(&error) {
            Some(code::NOT_ALLOWED | code::LOCAL_INFILE_DISABLED | code::LOCAL_INFILE_CLIENT_ONLY) => {
                notes.push(
                    "the server forbids LOAD DATA LOCAL (`local_infile`), so rows were inserted, which is slower"
                        .to_owned(),
                );
                Way::Inserts
            }
            _ => return Err(error),
        },
    };
    conn.disconnect().await?;
    Ok(way)
}

struct Nothing;

impl Stream for Nothing {
    type Item = io::Result<Bytes>;
    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        Poll::Ready(None)
    }
}

fn columns(table: &Table) -> String {
    table.columns.iter().map(|column| ident(column)).collect::<Vec<_>>().join(", ")
}

async fn load_data(
    conn: &mut Conn,
    dataset: &Arc<dyn Dataset>,
    number: usize,
    kinds: &[Kind],
    shared: &Arc<Shared>,
) -> Result<Checksum, Cause> {
    let table = &dataset.tables()[number];
    let sum = Arc::new(Mutex::new(Checksum::default()));
    let outgoing = Outgoing {
        dataset: Arc::clone(dataset),
        table: number,
        chunks: table.chunks,
        next: 0,
        kinds: kinds.to_vec(),
        left: Bytes::new(),
        sum: Arc::clone(&sum),
        shared: Arc::clone(shared),
    };
    conn.set_infile_handler(async move { Ok(Box::pin(outgoing) as InfileData) });
    conn.query_drop(format!(
        "load data local infile {} into table {} character set utf8mb4 \
         fields terminated by '\\t' escaped by '\\\\' lines terminated by '\\n' ({})",
        text(table.name),
        ident(table.name),
        columns(table)
    ))
    .await?;
    let sum = *sum.lock().expect("no holder panics");
    Ok(sum)
}

async fn insert(
    conn: &mut Conn,
    dataset: &Arc<dyn Dataset>,
    number: usize,
    table: &Table,
    kinds: &[Kind],
    shared: &Shared,
) -> Result<Checksum, Cause> {
    let head = format!("insert into {} ({}) values ", ident(table.name), columns(table));
    let mut sum = Checksum::default();
    conn.query_drop("start transaction").await?;
    for chunk in 0..table.chunks {
        let mut lines = Lines::new(Way::Inserts, kinds);
        dataset.fill(number, chunk, &mut lines);
        let (mut start, mut statement) = (0, head.clone().into_bytes());
        for (row, end) in (1..).zip(&lines.ends) {
            statement.extend(&lines.bytes[start..*end]);
            start = *end;
            if statement.len() < STATEMENT && row < lines.ends.len() {
                statement.push(b',');
                continue;
            }
            if shared.is_over() {
                return Err(io::Error::from(io::ErrorKind::Interrupted).into());
            }
            conn.query_drop(&statement[..]).await?;
            statement.truncate(head.len());
        }
        sum += lines.sum;
        shared.signals.rows.fetch_add(lines.sum.rows, Ordering::Relaxed);
    }
    conn.query_drop("commit").await?;
    Ok(sum)
}
