//! Columns as this workload's values: exact amounts, dates, and texts of fixed capacity.

use arrayvec::ArrayVec;
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

/// Columns of a record at most: those of New-Order.
const RECORD_MAX: usize = 12;

/// What a function with several results answers, as one value: the server does not have to unpack it into columns, which
/// would take a scan of the function and a store for its only row.
#[derive(Debug)]
pub(crate) struct Record<'a>(ArrayVec<(Type, Option<&'a [u8]>), RECORD_MAX>);

impl<'a> FromSql<'a> for Record<'a> {
    /// The binary form: the number of columns, then type, length and bytes of each; the length of null is -1.
    fn from_sql(_: &Type, mut raw: &'a [u8]) -> Result<Record<'a>, Failure> {
        const CUT_OFF: &str = "a record is cut off";
        let word = |raw: &mut &'a [u8]| -> Result<i32, Failure> {
            let (word, rest) = raw.split_first_chunk().ok_or(CUT_OFF)?;
            *raw = rest;
            Ok(i32::from_be_bytes(*word))
        };
        let mut columns = ArrayVec::new();
        for _ in 0..word(&mut raw)? {
            let ty = Type::from_oid(word(&mut raw)?.cast_unsigned())
                .ok_or("a column of a record has a type of its own")?;
            let value = match usize::try_from(word(&mut raw)?) {
                Ok(length) => {
                    let (value, rest) = raw.split_at_checked(length).ok_or(CUT_OFF)?;
                    raw = rest;
                    Some(value)
                }
                Err(_) => None,
            };
            columns.try_push((ty, value)).map_err(|_| "a record has more columns than it should")?;
        }
        Ok(Record(columns))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::RECORD
    }
}

/// Values by their place: of a row, or of a record.
pub(crate) trait Columns {
    fn column<'a, T: FromSql<'a>>(&'a self, index: usize) -> Result<T, Failure>;
}

impl Columns for Row {
    fn column<'a, T: FromSql<'a>>(&'a self, index: usize) -> Result<T, Failure> {
        self.try_get(index).map_err(|error| error.into_source().unwrap_or_else(|| "there is none".into()))
    }
}

impl Columns for Record<'_> {
    fn column<'a, T: FromSql<'a>>(&'a self, index: usize) -> Result<T, Failure> {
        let (ty, value) = self.0.get(index).ok_or("there is none")?;
        if !T::accepts(ty) {
            return Err(format!("its type is {ty}").into());
        }
        T::from_sql_nullable(ty, *value)
    }
}

/// A value of a row or a record.
pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a impl Columns, index: usize) -> Result<T, Fault> {
    row.column(index).map_err(|error| bad_data(index, &error))
}

/// A number that is not negative.
pub(crate) fn id(row: &impl Columns, index: usize) -> Result<u32, Fault> {
    unsigned(get(row, index)?)
}

/// The same, of a value.
pub(crate) fn unsigned(value: i32) -> Result<u32, Fault> {
    u32::try_from(value).map_err(|_| defect(&format!("a number is {value} and should not be negative")))
}

pub(crate) fn cents(row: &impl Columns, index: usize) -> Result<Cents, Fault> {
    get::<Exact<2>>(row, index).map(|exact| Cents(exact.0))
}

pub(crate) fn rate(row: &impl Columns, index: usize) -> Result<BasisPoints, Fault> {
    get::<Exact<4>>(row, index).map(|exact| BasisPoints(exact.0))
}

pub(crate) fn seconds(row: &impl Columns, index: usize) -> Result<i64, Fault> {
    get::<Seconds>(row, index).map(|seconds| seconds.0)
}

pub(crate) fn text<const N: usize>(row: &impl Columns, index: usize) -> Result<Text<N>, Fault> {
    fit(get(row, index)?)
}

/// A text into the capacity that the standard gives it.
pub(crate) fn fit<const N: usize>(text: &str) -> Result<Text<N>, Fault> {
    Text::from(text).map_err(|_| defect(&format!("`{text}` is longer than {N} bytes")))
}

/// Five columns, or elements, of an address.
pub(crate) fn address(row: &impl Columns, first: usize) -> Result<Address, Fault> {
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
fn bad_data(index: usize, error: &Failure) -> Fault {
    defect(&format!("column {index} is not what it should be: {error}"))
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

    /// Type, and bytes unless null, of each column.
    fn record(columns: &[(Type, Option<&[u8]>)]) -> Vec<u8> {
        let mut raw = (columns.len() as i32).to_be_bytes().to_vec();
        for (ty, value) in columns {
            raw.extend(ty.oid().to_be_bytes());
            raw.extend(value.map_or(-1, |value| value.len() as i32).to_be_bytes());
            raw.extend(value.unwrap_or_default());
        }
        raw
    }

    #[test]
    fn a_record_is_read_column_by_column() {
        let raw = record(&[(Type::INT4, Some(&[0, 0, 1, 2])), (Type::TEXT, None), (Type::TEXT, Some(b"BC"))]);
        let found = Record::from_sql(&Type::RECORD, &raw).unwrap();
        assert_eq!(id(&found, 0), Ok(258));
        assert_eq!(get::<Option<&str>>(&found, 1), Ok(None));
        assert_eq!(get::<&str>(&found, 2), Ok("BC"));
        // Null where there must be a value, another type, and a column too many.
        assert!(get::<&str>(&found, 1).is_err());
        assert!(get::<&str>(&found, 0).is_err());
        assert!(get::<&str>(&found, 3).is_err());
        for end in 0..raw.len() {
            assert!(Record::from_sql(&Type::RECORD, &raw[..end]).is_err(), "{end}");
        }
        assert!(Record::from_sql(&Type::RECORD, &record(&vec![(Type::INT4, None); RECORD_MAX + 1])).is_err());
    }
}
