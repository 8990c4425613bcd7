//! Rows in PostgreSQL's binary COPY format, both ways: written from what a workload gives, read back into the canonical
//! form that checksums are taken of.
//!
//! A row is the number of its fields (int16), and for each its length (int32, −1 for null) and its bytes.

use super::session::{Session, quoted};
use crate::checksum::{Checksum, push_int, push_null, push_real, push_text};
use crate::error::Cause;
use bytes::Bytes;
use model::rows::{RowSink, Table};

/// What every stream begins with: signature, flags, no extension.
pub(crate) const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What every stream ends with.
pub(crate) const TRAILER: &[u8] = &(-1_i16).to_be_bytes();
/// Seconds from 1970 to 2000, where PostgreSQL's timestamps begin.
const EPOCH: i64 = 946_684_800;

/// A column's type, as far as it decides the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Int2,
    Int4,
    Int8,
    /// Digits after the point: values are given as whole numbers of the last one.
    Numeric(u32),
    /// With or without time zone: microseconds.
    Timestamp,
    Text,
    /// Of fixed width: what pads it is not a part of the value.
    Char,
}

/// The forms of a table's columns, in the order in which its rows are given, read from the catalogue.
pub(crate) fn forms(session: &Session, table: &Table) -> Result<Vec<Form>, Cause> {
    let text = "select attname::text, typname::text, atttypmod
        from pg_attribute
        join pg_type on pg_type.oid = atttypid
        where attrelid = $1::text::regclass and attnum > 0 and not attisdropped";
    let rows = session.wait(session.client().query(text, &[&quoted(table.name)]))?;
    let form_of = |name: &&str| {
        let row = rows.iter().find(|row| row.try_get::<_, &str>(0).is_ok_and(|found| found == *name));
        let row = row.ok_or_else(|| Cause::other(format!("table {} has no column {name}", table.name)))?;
        let (kind, modifier) = (row.try_get::<_, &str>(1)?, row.try_get::<_, i32>(2)?);
        form(kind, modifier)
            .ok_or_else(|| Cause::other(format!("no rows are made for {}.{name} of type {kind}", table.name)))
    };
    table.columns.iter().map(form_of).collect()
}

fn form(kind: &str, modifier: i32) -> Option<Form> {
    Some(match kind {
        "int2" => Form::Int2,
        "int4" => Form::Int4,
        "int8" => Form::Int8,
        // Four more than precision and scale, side by side; −1 where neither is declared.
        "numeric" if modifier >= 4 => Form::Numeric(((modifier - 4) & 0x7ff) as u32),
        "numeric" => Form::Numeric(0),
        "timestamp" | "timestamptz" => Form::Timestamp,
        "text" | "varchar" => Form::Text,
        "bpchar" => Form::Char,
        _ => return None,
    })
}

/// Takes rows and keeps them as bytes to be sent.
pub(crate) struct Encoder<'a> {
    forms: &'a [Form],
    bytes: Vec<u8>,
    canonical: Vec<u8>,
    at: usize,
    sum: Checksum,
    /// The first value that its column cannot hold.
    misfit: Option<String>,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(forms: &'a [Form], capacity: usize) -> Encoder<'a> {
        let bytes = Vec::with_capacity(capacity);
        Encoder { forms, bytes, canonical: Vec::new(), at: 0, sum: Checksum::default(), misfit: None }
    }

    /// The bytes and their checksum.
    pub(crate) fn finish(self) -> Result<(Bytes, Checksum), Cause> {
        match self.misfit {
            Some(misfit) => Err(Cause::other(misfit)),
            None => Ok((self.bytes.into(), self.sum)),
        }
    }

    /// The form of the next field; begins the row with the first.
    fn form(&mut self) -> Option<Form> {
        if self.at == 0 {
            self.bytes.extend_from_slice(&(self.forms.len() as i16).to_be_bytes());
        }
        self.at += 1;
        self.forms.get(self.at - 1).copied()
    }

    fn field(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
        self.bytes.extend_from_slice(bytes);
    }

    #[cold]
    fn misfit(&mut self, value: &str) {
        let (at, form) = (self.at, self.forms.get(self.at - 1));
        self.misfit.get_or_insert_with(|| format!("value {value} does not fit column {at}, {form:?}"));
    }
}

impl RowSink for Encoder<'_> {
    fn int(&mut self, value: i64) {
        push_int(&mut self.canonical, value);
        match self.form() {
            Some(Form::Int2) if i16::try_from(value).is_ok() => self.field(&(value as i16).to_be_bytes()),
            Some(Form::Int4) if i32::try_from(value).is_ok() => self.field(&(value as i32).to_be_bytes()),
            Some(Form::Int8) => self.field(&value.to_be_bytes()),
            Some(Form::Numeric(scale)) => put_numeric(&mut self.bytes, value, scale),
            Some(Form::Timestamp) => self.field(&((value - EPOCH) * 1_000_000).to_be_bytes()),
            Some(Form::Int2 | Form::Int4 | Form::Text | Form::Char) | None => self.misfit(&value.to_string()),
        }
    }

    fn text(&mut self, value: &str) {
        push_text(&mut self.canonical, value.as_bytes());
        match self.form() {
            Some(Form::Text) => self.field(value.as_bytes()),
            // The server pads it again.
            Some(Form::Char) => self.field(value.trim_end_matches(' ').as_bytes()),
            Some(Form::Int2 | Form::Int4 | Form::Int8 | Form::Numeric(_) | Form::Timestamp) | None => {
                self.misfit(value);
            }
        }
    }

    fn null(&mut self) {
        push_null(&mut self.canonical);
        let _ = self.form();
        self.bytes.extend_from_slice(&(-1_i32).to_be_bytes());
    }

    fn end(&mut self) {
        self.sum.add_row(&self.canonical);
        self.canonical.clear();
        self.at = 0;
    }
}

/// Groups of four decimal digits that a 64-bit number in units of 10^-`scale` can have.
const GROUPS_MAX: usize = 8;

/// Appends a numeric with its length: groups, weight of the first, sign, digits after the point, groups.
fn put_numeric(into: &mut Vec<u8>, value: i64, scale: u32) {
    let after = scale.div_ceil(4);
    let mut rest = u128::from(value.unsigned_abs()) * 10_u128.pow(after * 4 - scale);
    let mut groups = [0_i16; GROUPS_MAX];
    let mut first = GROUPS_MAX;
    while rest > 0 && first > 0 {
        first -= 1;
        groups[first] = (rest % 10_000) as i16;
        rest /= 10_000;
    }
    let weight = (GROUPS_MAX - first) as i16 - 1 - after as i16;
    let last = groups.iter().rposition(|group| *group != 0).map_or(first, |at| at + 1);
    let groups = &groups[first..last];
    let (weight, sign) =
        if groups.is_empty() { (0, 0) } else { (weight, if value < 0 { 0x4000 } else { 0 }) };
    into.extend_from_slice(&(8 + 2 * groups.len() as i32).to_be_bytes());
    for part in [groups.len() as i16, weight, sign, scale as i16].iter().chain(groups) {
        into.extend_from_slice(&part.to_be_bytes());
    }
}

/// A numeric: its digits as a whole number, and how many of them stand after the point. `None` for what is not a number or too
/// large.
pub(crate) fn numeric(bytes: &[u8]) -> Option<(i128, u32)> {
    let mut parts = bytes.chunks_exact(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]]));
    let (count, weight, sign, scale) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let scale = u32::try_from(scale).ok()?;
    let mut value: i128 = 0;
    for (at, group) in (0..count).zip(parts) {
        // The power of ten of this group's last digit, in units of the last digit after the point.
        let power = 4 * (i32::from(weight) - i32::from(at)) + scale as i32;
        let group = i128::from(group);
        let part = match u32::try_from(power) {
            Ok(power) => group.checked_mul(10_i128.checked_pow(power)?)?,
            Err(_) => group / 10_i128.checked_pow(power.unsigned_abs())?,
        };
        value = value.checked_add(part)?;
    }
    match sign {
        0 => Some((value, scale)),
        0x4000 => Some((-value, scale)),
        _ => None,
    }
}

/// Appends the canonical form of a row as COPY sends it. False for the stream's end.
pub(crate) fn push_row(into: &mut Vec<u8>, forms: &[Form], mut row: &[u8]) -> Result<bool, Cause> {
    let broken = || Cause::other("the server's binary rows do not read as such");
    let fields =
        i16::from_be_bytes(*row.split_off(..2).and_then(|two| two.first_chunk()).ok_or_else(broken)?);
    if fields == -1 {
        return Ok(false);
    }
    if usize::try_from(fields) != Ok(forms.len()) {
        return Err(broken());
    }
    for form in forms {
        let length = row.split_off(..4).and_then(|four| four.first_chunk()).ok_or_else(broken)?;
        let bytes = match usize::try_from(i32::from_be_bytes(*length)) {
            Err(_) => None,
            Ok(length) => Some(row.split_off(..length).ok_or_else(broken)?),
        };
        push_field(into, *form, bytes)?;
    }
    Ok(true)
}

/// Appends the canonical form of one field; without bytes it is null.
pub(crate) fn push_field(into: &mut Vec<u8>, form: Form, bytes: Option<&[u8]>) -> Result<(), Cause> {
    match bytes {
        None => push_null(into),
        Some(bytes) => push_value(into, form, bytes)
            .ok_or_else(|| Cause::other("the server's binary rows do not read as such"))?,
    }
    Ok(())
}

fn push_value(into: &mut Vec<u8>, form: Form, bytes: &[u8]) -> Option<()> {
    match form {
        Form::Int2 => push_int(into, i16::from_be_bytes(bytes.try_into().ok()?).into()),
        Form::Int4 => push_int(into, i32::from_be_bytes(bytes.try_into().ok()?).into()),
        Form::Int8 => push_int(into, i64::from_be_bytes(bytes.try_into().ok()?)),
        Form::Timestamp => {
            let micros = i64::from_be_bytes(bytes.try_into().ok()?);
            match micros % 1_000_000 {
                0 => push_int(into, micros / 1_000_000 + EPOCH),
                // What we write has whole seconds; anything else must not look like it.
                _ => push_real(into, micros as f64),
            }
        }
        Form::Numeric(_) => push_int(into, i64::try_from(numeric(bytes)?.0).ok()?),
        Form::Text | Form::Char => push_text(into, bytes),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_exactly_whatever_their_scale() {
        for scale in 0..=8 {
            for value in
                [0, 1, -1, 5, 99, -100, 10_000, 123_456_789, -30_000_000, 9_999_999_999, i64::MAX, i64::MIN]
            {
                let mut bytes = Vec::new();
                put_numeric(&mut bytes, value, scale);
                assert_eq!(numeric(&bytes[4..]), Some((value.into(), scale)), "{value} at {scale}");
                assert_eq!(bytes.len() - 4, i32::from_be_bytes(bytes[..4].try_into().unwrap()) as usize);
            }
        }
    }

    #[test]
    fn not_a_number_is_none() {
        assert_eq!(numeric(&[0, 0, 0, 0, 0xc0, 0, 0, 0]), None);
        assert_eq!(numeric(&[0]), None);
    }

    #[test]
    fn a_row_reads_back_as_it_was_given() {
        let forms =
            [Form::Int2, Form::Int4, Form::Int8, Form::Numeric(2), Form::Timestamp, Form::Text, Form::Char];
        let mut encoder = Encoder::new(&forms, 0);
        for value in [-7, 70_000, 1 << 40, -12_345, 1_704_067_200] {
            encoder.int(value);
        }
        encoder.text("née");
        encoder.text("GC  ");
        encoder.end();
        (0..7).for_each(|_| encoder.null());
        encoder.end();
        let (bytes, sum) = encoder.finish().unwrap();
        let mut read = Checksum::default();
        let mut canonical = Vec::new();
        let ends = bytes.len() - 2 - 7 * 4;
        for row in [&bytes[..ends], &bytes[ends..]] {
            canonical.clear();
            assert!(push_row(&mut canonical, &forms, row).unwrap());
            read.add_row(&canonical);
        }
        assert_eq!(read, sum);
        assert!(!push_row(&mut canonical, &forms, TRAILER).unwrap());
        assert!(push_row(&mut canonical, &forms, &bytes[..5]).is_err());
    }

    #[test]
    fn what_a_column_cannot_hold_is_no_row() {
        for (form, value) in [(Form::Int2, 40_000), (Form::Int4, 1 << 40), (Form::Text, 1)] {
            let forms = [form];
            let mut encoder = Encoder::new(&forms, 0);
            encoder.int(value);
            encoder.end();
            assert!(encoder.finish().unwrap_err().to_string().contains("does not fit column 1"));
        }
    }
}
