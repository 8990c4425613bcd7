//! Rows on their way from the threads that make them to the one that stores them.
//!
//! The canonical form of a row is hashed when it is made and when it is read back. A batch holds rows in that form, but
//! with the blanks at the ends of texts, so it is both the parcel and what the checksum is taken of.

use crate::checksum::{
    Checksum, INT, NULL, push_blob, push_int, push_null, push_real, push_text, push_whole_text,
};
use model::rows::RowSink;
use rusqlite::types::ValueRef;

/// The rows of one chunk, in order.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<u32>,
    /// Whether a text of the row that is being made ends in a blank.
    padded: bool,
    /// Memory for the canonical form of such a row.
    canonical: Vec<u8>,
    sum: Checksum,
}

/// A value of a row in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    Null,
    Int(i64),
    Text(&'a [u8]),
}

impl Cell<'_> {
    fn push(self, into: &mut Vec<u8>) {
        match self {
            Cell::Null => push_null(into),
            Cell::Int(value) => push_int(into, value),
            Cell::Text(text) => push_text(into, text),
        }
    }
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
        push_whole_text(&mut self.bytes, value.as_bytes());
        self.padded |= value.ends_with(' ');
    }

    fn null(&mut self) {
        push_null(&mut self.bytes);
    }

    fn end(&mut self) {
        let start = self.ends.last().map_or(0, |end| *end as usize);
        let row = &self.bytes[start..];
        if std::mem::take(&mut self.padded) {
            self.canonical.clear();
            Cells(row).for_each(|cell| cell.push(&mut self.canonical));
            self.sum.add_row(&self.canonical);
        } else {
            self.sum.add_row(row);
        }
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

/// Appends the canonical form of a stored value.
pub(crate) fn push_stored(into: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => push_null(into),
        ValueRef::Integer(value) => push_int(into, value),
        ValueRef::Text(text) => push_text(into, text),
        ValueRef::Real(value) => push_real(into, value),
        ValueRef::Blob(bytes) => push_blob(into, bytes),
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

    #[test]
    fn blanks_at_the_end_are_stored_and_not_counted() {
        let checksum = |filler: &str| {
            let mut batch = Batch::default();
            batch.int(1);
            batch.text(filler);
            batch.null();
            batch.end();
            let rows: Vec<Vec<Cell<'_>>> = batch.rows().map(Iterator::collect).collect();
            assert_eq!(rows, [vec![Cell::Int(1), Cell::Text(filler.as_bytes()), Cell::Null]]);
            batch.checksum()
        };
        assert_eq!(checksum("a   "), checksum("a"));
        assert_eq!(checksum("    "), checksum(""));
        assert_ne!(checksum("  a"), checksum("a"));
        assert_ne!(checksum("a b"), checksum("a"));
    }
}
