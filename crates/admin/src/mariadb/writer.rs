//! Storing rows: each table through one connection and in one transaction, several tables side by side.
//!
//! A table that is empty, filled by one transaction with `unique_checks` and `foreign_key_checks` off, is built by InnoDB
//! from sorted pages, without a trace of every row in the undo log. Only one connection can do that to a table.

use super::layout::{ColumnType, write_number};
use super::session::{ident, text};
use crate::checksum::{Checksum, push_int, push_null, push_text};
use crate::engine::Fill;
use crate::error::Cause;
use crate::loading::Signals;
use crate::record::TABLE;
use bytes::Bytes;
use futures_core::Stream;
use model::rows::{Dataset, RowSink, Table};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, InfileData};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// Bytes of a packet of LOAD DATA at most: the server begins while we go on.
const PACKET: usize = 256 << 10;
/// Bytes of a statement with many rows at most.
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
    kinds: &'a [ColumnType],
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
    column: usize,
    canonical: Vec<u8>,
    sum: Checksum,
}

impl<'a> Lines<'a> {
    fn new(way: Way, kinds: &'a [ColumnType]) -> Lines<'a> {
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
    fn next_column(&mut self) -> ColumnType {
        let first = self.column == 0;
        match (self.way, first) {
            (Way::LoadData, true) => {}
            (Way::LoadData, false) => self.bytes.push(b'\t'),
            (Way::Inserts, true) => self.bytes.push(b'('),
            (Way::Inserts, false) => self.bytes.push(b','),
        }
        let kind = self.kinds.get(self.column).copied().unwrap_or(ColumnType::Text);
        self.column += 1;
        kind
    }
}

impl RowSink for Lines<'_> {
    fn int(&mut self, value: i64) {
        let kind = self.next_column();
        let quoted = self.way == Way::Inserts && kind == ColumnType::DateTime;
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
    kinds: Vec<ColumnType>,
    /// What has been made and not been sent.
    left: Bytes,
    packet: usize,
    sum: Arc<Mutex<Checksum>>,
    signals: Arc<Signals>,
}

impl Stream for Outgoing {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.signals.count(0).is_err() {
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
            // Before the next packet it is looked at again.
            let _ = self.signals.count(sum.rows);
            self.next += 1;
            self.left = bytes.into();
        }
        let packet = self.left.len().min(self.packet);
        Poll::Ready(Some(Ok(self.left.split_to(packet))))
    }
}

/// The server's numbers for who forbids `LOAD DATA LOCAL`.
const FORBIDDEN: [u16; 3] = [1148, 3948, 4166];

/// Whether the server and our rights on it allow `LOAD DATA LOCAL`: an empty file is offered to the record.
pub(crate) async fn way(conn: &mut Conn) -> Result<Way, Error> {
    conn.set_infile_handler(async { Ok(Box::pin(Nothing) as InfileData) });
    match conn.query_drop(format!("load data local infile 'nothing' into table {TABLE}")).await {
        Ok(()) => Ok(Way::LoadData),
        Err(Error::Server(words)) if FORBIDDEN.contains(&words.code) => Ok(Way::Inserts),
        Err(error) => Err(error),
    }
}

struct Nothing;

impl Stream for Nothing {
    type Item = io::Result<Bytes>;
    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        Poll::Ready(None)
    }
}

pub(crate) fn columns(table: &Table) -> String {
    table.columns.iter().map(|column| ident(column)).collect::<Vec<_>>().join(", ")
}

/// Half of `max_allowed_packet`, which leaves room for one row more and what goes with it.
async fn allowed(conn: &mut Conn) -> Result<usize, Error> {
    let bytes: Option<usize> = conn.query_first("select cast(@@max_allowed_packet as signed)").await?;
    Ok(bytes.map_or(STATEMENT, |bytes| bytes / 2).max(1))
}

pub(crate) async fn load_data(
    conn: &mut Conn,
    fill: &Fill<'_>,
    kinds: &[ColumnType],
) -> Result<Checksum, Cause> {
    let table = fill.table();
    let sum = Arc::new(Mutex::new(Checksum::default()));
    let packet = allowed(conn).await?.min(PACKET);
    let outgoing = Outgoing {
        dataset: Arc::clone(fill.dataset),
        table: fill.number,
        chunks: table.chunks,
        next: 0,
        kinds: kinds.to_vec(),
        left: Bytes::new(),
        packet,
        sum: Arc::clone(&sum),
        signals: Arc::clone(fill.signals),
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

/// `whole` in one transaction, or else each statement in its own.
pub(crate) async fn insert(
    conn: &mut Conn,
    fill: &Fill<'_>,
    kinds: &[ColumnType],
    whole: bool,
) -> Result<Checksum, Cause> {
    let table = fill.table();
    let head = format!("insert into {} ({}) values ", ident(table.name), columns(table));
    let mut sum = Checksum::default();
    let most = allowed(conn).await?.min(STATEMENT);
    if whole {
        conn.query_drop("start transaction").await?;
    }
    for chunk in 0..table.chunks {
        let mut lines = Lines::new(Way::Inserts, kinds);
        fill.dataset.fill(fill.number, chunk, &mut lines);
        let (mut start, mut statement) = (0, head.clone().into_bytes());
        for (row, end) in (1..).zip(&lines.ends) {
            statement.extend(&lines.bytes[start..*end]);
            start = *end;
            if statement.len() < most && row < lines.ends.len() {
                statement.push(b',');
                continue;
            }
            fill.signals.count(0)?;
            conn.query_drop(&statement[..]).await?;
            statement.truncate(head.len());
        }
        sum += lines.sum;
        fill.signals.count(lines.sum.rows)?;
    }
    if whole {
        conn.query_drop("commit").await?;
    }
    Ok(sum)
}
