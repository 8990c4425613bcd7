//! Between PostgreSQL's binary forms and ours: parameters into the form of the statement's parameter, columns out of the
//! form in which they came. Decimals are exact, without a crate for them. Nothing is allocated but for an error.

use model::Cents;
use sql::{Param, numeric, rounded};
use sqlx::encode::{Encode, IsNull};
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo};
use sqlx::{Postgres, Type, TypeInfo as _};

/// Seconds from 1970 to 2000, from where PostgreSQL counts.
const EPOCH: i64 = 946_684_800;
const MICROS: i64 = 1_000_000;
const DAY: i64 = 86_400;
/// Decimals are sent in digits of this base.
const BASE: u64 = 10_000;

/// The types that we know, as parameters and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterType {
    Int2,
    Int4,
    Int8,
    Numeric,
    Float4,
    Float8,
    /// With or without a time zone; sessions are in UTC.
    Timestamp,
    Date,
    /// Filled up with blanks.
    Char,
    Text,
    Other,
}

impl ParameterType {
    pub(crate) fn of(found: &PgTypeInfo) -> ParameterType {
        match found.name() {
            "INT2" => ParameterType::Int2,
            "INT4" => ParameterType::Int4,
            "INT8" => ParameterType::Int8,
            "NUMERIC" => ParameterType::Numeric,
            "FLOAT4" => ParameterType::Float4,
            "FLOAT8" => ParameterType::Float8,
            "TIMESTAMP" | "TIMESTAMPTZ" => ParameterType::Timestamp,
            "DATE" => ParameterType::Date,
            "CHAR" => ParameterType::Char,
            "VARCHAR" | "TEXT" | "NAME" | "UNKNOWN" => ParameterType::Text,
            _ => ParameterType::Other,
        }
    }
}

/// A parameter on its way into a statement, in the form that the statement wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound<'a> {
    pub(crate) param: Param<'a>,
    pub(crate) wanted: ParameterType,
}

impl Type<Postgres> for Bound<'_> {
    /// Not asked for where a statement was prepared before it is bound, as all of ours are.
    fn type_info() -> PgTypeInfo {
        <str as Type<Postgres>>::type_info()
    }
}

impl<'q> Encode<'q, Postgres> for Bound<'_> {
    fn encode_by_ref(&self, into: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let fits = match self.param {
            Param::Int(value) => put_int(value, self.wanted, into),
            Param::Cents(Cents(value)) => put_cents(value, self.wanted, into),
            Param::Text(text) => put_text(text, self.wanted, into),
            Param::Null => return Ok(IsNull::Yes),
        };
        fits.map(|()| IsNull::No).ok_or_else(|| format!("{:?} is not a {:?}", self.param, self.wanted).into())
    }
}

fn put_int(value: i64, wanted: ParameterType, into: &mut Vec<u8>) -> Option<()> {
    match wanted {
        ParameterType::Int4 => put(into, i32::try_from(value).ok()?.to_be_bytes()),
        ParameterType::Int8 => put(into, value.to_be_bytes()),
        ParameterType::Int2 => put(into, i16::try_from(value).ok()?.to_be_bytes()),
        ParameterType::Numeric => put_numeric(value < 0, value.unsigned_abs(), 0, 0, into),
        ParameterType::Float8 => put(into, (value as f64).to_be_bytes()),
        ParameterType::Float4 => put(into, (value as f32).to_be_bytes()),
        ParameterType::Timestamp => {
            put(into, value.checked_sub(EPOCH)?.checked_mul(MICROS)?.to_be_bytes());
        }
        ParameterType::Date => {
            let days = value.checked_sub(EPOCH)?.div_euclid(DAY);
            put(into, i32::try_from(days).ok()?.to_be_bytes());
        }
        _ => return None,
    }
    Some(())
}

fn put_cents(value: i64, wanted: ParameterType, into: &mut Vec<u8>) -> Option<()> {
    match wanted {
        ParameterType::Numeric => {
            let cents = value.unsigned_abs();
            put_numeric(value < 0, cents / 100, (cents % 100 * 100) as u16, 2, into);
            Some(())
        }
        ParameterType::Float8 => {
            put(into, (value as f64 / 100.0).to_be_bytes());
            Some(())
        }
        // Other tools' columns of whole units take whole units.
        _ if value % 100 == 0 => put_int(value / 100, wanted, into),
        _ => None,
    }
}

fn put_text(text: &str, wanted: ParameterType, into: &mut Vec<u8>) -> Option<()> {
    match wanted {
        ParameterType::Text | ParameterType::Char => {
            into.extend_from_slice(text.as_bytes());
            Some(())
        }
        _ => None,
    }
}

fn put<const N: usize>(into: &mut Vec<u8>, bytes: [u8; N]) {
    into.extend_from_slice(&bytes);
}

/// A decimal of a whole part and at most one digit of the base behind the point.
fn put_numeric(negative: bool, whole: u64, fraction: u16, shown: u16, into: &mut Vec<u8>) {
    // The highest of 64 bits needs five digits; the lowest come first here.
    let (mut digits, mut count, mut rest) = ([0_u16; 5], 0, whole);
    while rest > 0 {
        digits[count] = (rest % BASE) as u16;
        rest /= BASE;
        count += 1;
    }
    put(into, (count as u16 + u16::from(fraction > 0)).to_be_bytes());
    put(into, (count as i16 - 1).to_be_bytes());
    put(into, (if negative { 0x4000_u16 } else { 0 }).to_be_bytes());
    put(into, shown.to_be_bytes());
    digits[..count].iter().rev().for_each(|digit| put(into, digit.to_be_bytes()));
    if fraction > 0 {
        put(into, fraction.to_be_bytes());
    }
}

/// A whole number, a decimal without a fraction, or a date as seconds since 1970, rounded down. None for anything else.
#[inline]
pub(crate) fn int(found: ParameterType, raw: &[u8]) -> Option<i64> {
    match found {
        ParameterType::Int4 => Some(i32::from_be_bytes(raw.try_into().ok()?).into()),
        ParameterType::Int8 => Some(i64::from_be_bytes(raw.try_into().ok()?)),
        ParameterType::Int2 => Some(i16::from_be_bytes(raw.try_into().ok()?).into()),
        ParameterType::Timestamp => {
            let micros = i64::from_be_bytes(raw.try_into().ok()?);
            // The two ends stand for infinity.
            (micros != i64::MAX && micros != i64::MIN).then(|| micros.div_euclid(MICROS) + EPOCH)
        }
        ParameterType::Date => {
            let days = i32::from_be_bytes(raw.try_into().ok()?);
            (days != i32::MAX && days != i32::MIN).then(|| i64::from(days) * DAY + EPOCH)
        }
        ParameterType::Numeric => numeric(raw, 0),
        ParameterType::Float8 => float(raw).filter(|value| value.fract() == 0.0).and_then(rounded),
        _ => None,
    }
}

/// A number as the whole number of its last digit, `digits` behind the point.
#[inline]
pub(crate) fn scaled(found: ParameterType, raw: &[u8], digits: u32) -> Option<i64> {
    match found {
        ParameterType::Numeric => numeric(raw, digits),
        // A float has no exact digits; the nearest are meant.
        ParameterType::Float8 => rounded(float(raw)? * 10_f64.powi(digits as i32)),
        ParameterType::Int2 | ParameterType::Int4 | ParameterType::Int8 => {
            int(found, raw)?.checked_mul(10_i64.checked_pow(digits)?)
        }
        _ => None,
    }
}

/// A text, without the blanks that fill up a `char(n)`.
#[inline]
pub(crate) fn text(found: ParameterType, raw: &[u8]) -> Option<&str> {
    match found {
        ParameterType::Text => std::str::from_utf8(raw).ok(),
        ParameterType::Char => Some(std::str::from_utf8(raw).ok()?.trim_end_matches(' ')),
        _ => None,
    }
}

fn float(raw: &[u8]) -> Option<f64> {
    Some(f64::from_be_bytes(raw.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(param: Param<'_>, wanted: ParameterType) -> Option<Vec<u8>> {
        let mut into = PgArgumentBuffer::default();
        Bound { param, wanted }.encode_by_ref(&mut into).ok().map(|_| into.to_vec())
    }

    #[test]
    fn amounts_of_money_survive_the_way_there_and_back() {
        for cents in [0, 1, 99, 100, 12_345, -1, -100, -99_999_999, 1_000_000, 999_999_999_999, i64::MAX] {
            let raw = sent(Param::Cents(Cents(cents)), ParameterType::Numeric).unwrap();
            assert_eq!(scaled(ParameterType::Numeric, &raw, 2), Some(cents), "{cents}");
        }
        for value in [0, 7, -7, 10_000, 123_456_789, i64::MAX, i64::MIN + 1] {
            let raw = sent(Param::Int(value), ParameterType::Numeric).unwrap();
            assert_eq!(int(ParameterType::Numeric, &raw), Some(value));
        }
    }

    #[test]
    fn whole_numbers_take_the_width_of_the_parameter_or_are_refused() {
        for wanted in [ParameterType::Int2, ParameterType::Int4, ParameterType::Int8, ParameterType::Float8] {
            let raw = sent(Param::Int(-321), wanted).unwrap();
            assert_eq!(int(wanted, &raw), Some(-321), "{wanted:?}");
        }
        assert_eq!(sent(Param::Int(40_000), ParameterType::Int2), None);
        assert_eq!(sent(Param::Int(1 << 40), ParameterType::Int4), None);
        assert_eq!(sent(Param::Int(1), ParameterType::Text), None);
        assert_eq!(sent(Param::Text("1"), ParameterType::Int4), None);
        assert_eq!(sent(Param::Cents(Cents(150)), ParameterType::Int4), None);
        assert_eq!(sent(Param::Cents(Cents(200)), ParameterType::Int4), Some(vec![0, 0, 0, 2]));
    }

    #[test]
    fn dates_are_seconds_rounded_down() {
        for seconds in [0, 946_684_800, 1_700_000_000, -1] {
            let raw = sent(Param::Int(seconds), ParameterType::Timestamp).unwrap();
            assert_eq!(int(ParameterType::Timestamp, &raw), Some(seconds));
        }
        let half_before_2000 = (-500_000_i64).to_be_bytes();
        assert_eq!(int(ParameterType::Timestamp, &half_before_2000), Some(EPOCH - 1));
        assert_eq!(int(ParameterType::Timestamp, &i64::MAX.to_be_bytes()), None);
        assert_eq!(int(ParameterType::Date, &(-1_i32).to_be_bytes()), Some(EPOCH - DAY));
    }

    #[test]
    fn a_float_gives_the_nearest_cent_and_a_fraction_is_no_whole_number() {
        let raw = 12.29_f64.to_be_bytes();
        assert_eq!(scaled(ParameterType::Float8, &raw, 2), Some(1_229));
        assert_eq!(int(ParameterType::Float8, &raw), None);
        assert_eq!(scaled(ParameterType::Float8, &f64::NAN.to_be_bytes(), 2), None);
        assert_eq!(scaled(ParameterType::Int4, &7_i32.to_be_bytes(), 2), Some(700));
    }

    #[test]
    fn a_text_loses_only_what_fills_it_up() {
        assert_eq!(text(ParameterType::Char, b"ab  "), Some("ab"));
        assert_eq!(text(ParameterType::Text, b"ab  "), Some("ab  "));
        assert_eq!(text(ParameterType::Text, &[0xff]), None);
        assert_eq!(text(ParameterType::Int4, b"ab"), None);
    }
}
