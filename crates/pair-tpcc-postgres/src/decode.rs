//! Columns as this workload's values: exact amounts, dates, and texts of fixed capacity.

use model::{BasisPoints, Cents, DefectKind, Fault};
use std::error::Error;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};
use workload_tpcc::{Address, Text};

type Failure = Box<dyn Error + Sync + Send>;

/// A numeric as the whole number of its `DIGITS`-th decimal. Never a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exact<const DIGITS: u32>(pub(crate) i64);

impl<const DIGITS: u32> FromSql<'_> for Exact<DIGITS> {
    /// The binary form: digits to the base of 10,000, the first of them with the given weight.
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Exact<DIGITS>, Failure> {
        let word = |at: usize| match raw.get(2 * at..2 * at + 2) {
            Some(&[high, low]) => Ok(i16::from_be_bytes([high, low])),
            _ => Err("a numeric is cut off"),
        };
        let (count, weight, sign) = (word(0)?, word(1)?, word(2)? as u16);
        let mut value = 0_i128;
        for index in 0..count {
            let digit = i128::from(word(4 + index as usize)?);
            // Of this digit's lowest decimal, counted in decimals of the result.
            let power = 4 * (i32::from(weight) - i32::from(index)) + DIGITS as i32;
            let ten =
                10_i128.checked_pow(power.unsigned_abs()).filter(|_| power < 20).ok_or("out of range")?;
            value += match power {
                0.. => digit * ten,
                _ if digit % ten == 0 => digit / ten,
                _ => return Err("a numeric has more decimals than its column should".into()),
            };
        }
        let value = match sign {
            0x0000 => value,
            0x4000 => -value,
            _ => return Err("a numeric is not a number".into()),
        };
        Ok(Exact(i64::try_from(value)?))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::NUMERIC
    }
}

/// A date as seconds since 1970. Sessions run in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seconds(pub(crate) i64);

impl FromSql<'_> for Seconds {
    /// The binary form: microseconds since 2000.
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Seconds, Failure> {
        const FROM_1970_TO_2000: i64 = 946_684_800;
        let micros = i64::from_be_bytes(raw.try_into()?);
        Ok(Seconds(micros.div_euclid(1_000_000) + FROM_1970_TO_2000))
    }

    fn accepts(ty: &Type) -> bool {
        matches!(*ty, Type::TIMESTAMP | Type::TIMESTAMPTZ)
    }
}

/// A column of a row.
pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, Fault> {
    row.try_get(index).map_err(|error| bad_data(index, &error))
}

/// A number that is not negative.
pub(crate) fn id(row: &Row, index: usize) -> Result<u32, Fault> {
    unsigned(get(row, index)?)
}

/// The same, of a value.
pub(crate) fn unsigned(value: i32) -> Result<u32, Fault> {
    u32::try_from(value).map_err(|_| defect(&format!("a number is {value} and should not be negative")))
}

pub(crate) fn cents(row: &Row, index: usize) -> Result<Cents, Fault> {
    get::<Exact<2>>(row, index).map(|exact| Cents(exact.0))
}

pub(crate) fn rate(row: &Row, index: usize) -> Result<BasisPoints, Fault> {
    get::<Exact<4>>(row, index).map(|exact| BasisPoints(exact.0))
}

pub(crate) fn seconds(row: &Row, index: usize) -> Result<i64, Fault> {
    get::<Seconds>(row, index).map(|seconds| seconds.0)
}

pub(crate) fn text<const N: usize>(row: &Row, index: usize) -> Result<Text<N>, Fault> {
    fit(get(row, index)?)
}

/// A text into the capacity that the standard gives it.
pub(crate) fn fit<const N: usize>(text: &str) -> Result<Text<N>, Fault> {
    Text::from(text).map_err(|_| defect(&format!("`{text}` is longer than {N} bytes")))
}

/// Five columns, or elements, of an address.
pub(crate) fn address(row: &Row, first: usize) -> Result<Address, Fault> {
    Ok(Address {
        street_1: text(row, first)?,
        street_2: text(row, first + 1)?,
        city: text(row, first + 2)?,
        state: text(row, first + 3)?,
        zip: text(row, first + 4)?,
    })
}

/// The brand of a line (2.4.3.3).
pub(crate) fn brand(original: bool) -> Text<1> {
    Text::from(if original { "B" } else { "G" }).expect("one letter")
}

/// A defect of what is stored.
#[cold]
pub(crate) fn defect(what: &str) -> Fault {
    Fault::defect(DefectKind::BadData, what)
}

#[cold]
fn bad_data(index: usize, error: &tokio_postgres::Error) -> Fault {
    let source = error.source().map(ToString::to_string).unwrap_or_default();
    defect(&format!("column {index} is not what it should be: {source}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of digits to the base of 10,000.
    fn numeric(weight: i16, sign: u16, digits: &[i16]) -> Vec<u8> {
        let head = [digits.len() as i16, weight, sign as i16, 2];
        head.iter().chain(digits).flat_map(|word| word.to_be_bytes()).collect()
    }

    fn check<const DIGITS: u32>(raw: &[u8], expected: Option<i64>) {
        let found = Exact::<DIGITS>::from_sql(&Type::NUMERIC, raw).ok();
        assert_eq!(found.map(|exact| exact.0), expected, "{raw:?}");
    }

    #[test]
    fn amounts_are_exact() {
        check::<2>(&numeric(0, 0, &[]), Some(0));
        check::<2>(&numeric(0, 0x4000, &[10]), Some(-1_000));
        check::<2>(&numeric(1, 0, &[30, 0, 500]), Some(30_000_005));
        check::<2>(&numeric(1, 0, &[30]), Some(30_000_000));
        check::<4>(&numeric(-1, 0, &[842]), Some(842));
        check::<2>(&numeric(-1, 0, &[4_100]), Some(41));
        // Half a cent, no number, and what is cut off.
        check::<2>(&numeric(-1, 0, &[50]), None);
        check::<2>(&numeric(0, 0xC000, &[]), None);
        check::<2>(&numeric(0, 0, &[1, 2])[..10], None);
        check::<2>(&numeric(9, 0, &[1]), None);
    }

    #[test]
    fn dates_are_seconds_since_1970() {
        let check = |micros: i64, expected| {
            let found = Seconds::from_sql(&Type::TIMESTAMP, &micros.to_be_bytes()).unwrap();
            assert_eq!(found, Seconds(expected));
        };
        check(0, 946_684_800);
        check(1_999_999, 946_684_801);
        check(-1, 946_684_799);
        assert!(Seconds::from_sql(&Type::TIMESTAMP, &[0; 4]).is_err());
    }
}
