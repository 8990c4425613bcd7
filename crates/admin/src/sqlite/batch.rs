//! Rows on their way from the threads that make them to the one that stores them.
//!
//! A value's canonical form is a tag and its bytes. The same form is hashed when a row is made and when it is read
//! back, so a batch is both the parcel and what the checksum is taken of.

use model::rows::RowSink;
use rusqlite::types::ValueRef;
use xxhash_rust::xxh3::xxh3_64;

const NULL: u8 = 0;
const INT: u8 = 1;
const TEXT: u8 = 2;
const REAL: u8 = 3;
const BLOB: u8 = 4;

/// The rows of one chunk, in order.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<u32>,
    sum: Checksum,
}

/// Rows counted and added up, in any order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checksum {
    pub(crate) rows: u64,
    pub(crate) sum: u64,
}

impl Checksum {
    pub(crate) fn add_row(&mut self, canonical: &[u8]) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(xxh3_64(canonical));
    }
}

impl std::ops::AddAssign for Checksum {
    fn add_assign(&mut self, other: Checksum) {
        self.rows += other.rows;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// A value of a row in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    Null,
    Int(i64),
    Text(&'a [u8]),
}

impl Batch {
    /// Empties the batch and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.sum = Checksum::default();
    }

    pub(crate) fn checksum(&self) -> Checksum {
        self.sum
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = Cells<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let row = &self.bytes[start..*end as usize];
            start = *end as usize;
            Cells(row)
        })
    }
}

impl RowSink for Batch {
    fn int(&mut self, value: i64) {
        push_int(&mut self.bytes, value);
    }

    fn text(&mut self, value: &str) {
        push_bytes(&mut self.bytes, TEXT, value.as_bytes());
    }

    fn null(&mut self) {
        self.bytes.push(NULL);
    }

    fn end(&mut self) {
        let start = self.ends.last().map_or(0, |end| *end as usize);
        self.sum.add_row(&self.bytes[start..]);
        self.ends.push(u32::try_from(self.bytes.len()).expect("a chunk stays below 4 GiB"));
    }
}

/// The values of one row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cells<'a>(&'a [u8]);

impl<'a> Iterator for Cells<'a> {
    type Item = Cell<'a>;

    #[inline]
    fn next(&mut self) -> Option<Cell<'a>> {
        let (tag, rest) = self.0.split_first()?;
        let (cell, rest) = match *tag {
            NULL => (Cell::Null, rest),
            INT => {
                let (bytes, rest) = rest.split_first_chunk::<8>()?;
                (Cell::Int(i64::from_le_bytes(*bytes)), rest)
            }
            _ => {
                let (length, rest) = rest.split_first_chunk::<4>()?;
                let (text, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
                (Cell::Text(text), rest)
            }
        };
        self.0 = rest;
        Some(cell)
    }
}

fn push_int(into: &mut Vec<u8>, value: i64) {
    into.push(INT);
    into.extend_from_slice(&value.to_le_bytes());
}

fn push_bytes(into: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    into.push(tag);
    into.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    into.extend_from_slice(bytes);
}

/// Appends the canonical form of a stored value.
pub(crate) fn push_stored(into: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => into.push(NULL),
        ValueRef::Integer(value) => push_int(into, value),
        ValueRef::Text(text) => push_bytes(into, TEXT, text),
        ValueRef::Real(value) => push_bytes(into, REAL, &value.to_bits().to_le_bytes()),
        ValueRef::Blob(bytes) => push_bytes(into, BLOB, bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_out_as_it_went_in() {
        let mut batch = Batch::default();
        batch.int(-7);
        batch.text("née");
        batch.null();
        batch.end();
        batch.text("");
        batch.end();
        let rows: Vec<Vec<Cell<'_>>> = batch.rows().map(Iterator::collect).collect();
        assert_eq!(
            rows,
            [vec![Cell::Int(-7), Cell::Text("née".as_bytes()), Cell::Null], vec![Cell::Text(b"")]]
        );
        let mut stored = Vec::new();
        for value in [ValueRef::Integer(-7), ValueRef::Text("née".as_bytes()), ValueRef::Null] {
            push_stored(&mut stored, value);
        }
        let mut sum = Checksum::default();
        sum.add_row(&stored);
        stored.clear();
        push_stored(&mut stored, ValueRef::Text(b""));
        sum.add_row(&stored);
        assert_eq!(sum, batch.checksum());
    }
}
