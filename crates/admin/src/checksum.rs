//! Rows in a form that is the same on every engine, and the order-independent checksum that is taken of it.
//!
//! A value's canonical form is a tag and its bytes: numbers as the whole number of their least unit, dates as seconds
//! since 1970, texts without the blanks at their end. A column of fixed width adds those on one engine and takes them away
//! on another, so they cannot be told from a text's own. The same rows have the same checksum wherever they are stored.

use xxhash_rust::xxh3::xxh3_64;

pub(crate) const NULL: u8 = 0;
pub(crate) const INT: u8 = 1;
pub(crate) const TEXT: u8 = 2;
const REAL: u8 = 3;
const BLOB: u8 = 4;

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

impl std::fmt::Display for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rows, checksum {:016x}", self.rows, self.sum)
    }
}

pub(crate) fn push_null(into: &mut Vec<u8>) {
    into.push(NULL);
}

pub(crate) fn push_int(into: &mut Vec<u8>, value: i64) {
    into.push(INT);
    into.extend_from_slice(&value.to_le_bytes());
}

/// The canonical form of a text.
pub(crate) fn push_text(into: &mut Vec<u8>, text: &[u8]) {
    let kept = text.iter().rposition(|byte| *byte != b' ').map_or(0, |at| at + 1);
    push_bytes(into, TEXT, &text[..kept]);
}

/// A text as it is, with the blanks at its end.
pub(crate) fn push_whole_text(into: &mut Vec<u8>, text: &[u8]) {
    push_bytes(into, TEXT, text);
}

pub(crate) fn push_real(into: &mut Vec<u8>, value: f64) {
    push_bytes(into, REAL, &value.to_bits().to_le_bytes());
}

pub(crate) fn push_blob(into: &mut Vec<u8>, bytes: &[u8]) {
    push_bytes(into, BLOB, bytes);
}

fn push_bytes(into: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    into.push(tag);
    into.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    into.extend_from_slice(bytes);
}
