//! Between PostgreSQL's binary forms and ours: parameters into the form of the statement's parameter, columns out of the
//! form in which they came. Nothing is allocated but for an error.

use bytes::{BufMut as _, BytesMut};
use model::Cents;
use sql::{Param, numeric, rounded};
use tokio_postgres::types::{IsNull, ToSql, Type};

type BoxError = Box<dyn std::error::Error + Sync + Send>;

/// Seconds from 1970 to 2000, from where PostgreSQL counts.
const EPOCH: i64 = 946_684_800;
const MICROS: i64 = 1_000_000;
const DAY: i64 = 86_400;
/// Decimals are sent in digits of this base.
const BASE: u64 = 10_000;

/// A parameter on its way into a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound<'a>(pub(crate) Param<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self, wanted: &Type, into: &mut BytesMut) -> Result<IsNull, BoxError> {
        let fits = match self.0 {
            Param::Int(value) => put_int(value, wanted, into),
            Param::Cents(Cents(value)) => put_cents(value, wanted, into),
            Param::Text(text) => put_text(text, wanted, into),
            Param::Null => return Ok(IsNull::Yes),
        };
        fits.map(|()| IsNull::No).ok_or_else(|| format!("{:?} is not a {wanted}", self.0).into())
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn to_sql_checked(&self, wanted: &Type, into: &mut BytesMut) -> Result<IsNull, BoxError> {
        self.to_sql(wanted, into)
    }
}

fn put_int(value: i64, wanted: &Type, into: &mut BytesMut) -> Option<()> {
    match *wanted {
        Type::INT4 => into.put_i32(value.try_into().ok()?),
        Type::INT8 => into.put_i64(value),
        Type::INT2 => into.put_i16(value.try_into().ok()?),
        Type::NUMERIC => put_numeric(value < 0, value.unsigned_abs(), 0, 0, into),
        Type::FLOAT8 => into.put_f64(value as f64),
        Type::FLOAT4 => into.put_f32(value as f32),
        Type::TIMESTAMP | Type::TIMESTAMPTZ => {
            into.put_i64(value.checked_sub(EPOCH)?.checked_mul(MICROS)?);
        }
        Type::DATE => into.put_i32(value.checked_sub(EPOCH)?.div_euclid(DAY).try_into().ok()?),
        _ => return None,
    }
    Some(())
}

fn put_cents(value: i64, wanted: &Type, into: &mut BytesMut) -> Option<()> {
    match *wanted {
        Type::NUMERIC => {
            let cents = value.unsigned_abs();
            put_numeric(value < 0, cents / 100, (cents % 100 * 100) as u16, 2, into);
            Some(())
        }
        Type::FLOAT8 => {
            into.put_f64(value as f64 / 100.0);
            Some(())
        }
        // Other tools' columns of whole units take whole units.
        _ if value % 100 == 0 => put_int(value / 100, wanted, into),
        _ => None,
    }
}

fn put_text(text: &str, wanted: &Type, into: &mut BytesMut) -> Option<()> {
    match *wanted {
        Type::VARCHAR | Type::BPCHAR | Type::TEXT | Type::NAME | Type::UNKNOWN => {
            into.put_slice(text.as_bytes());
            Some(())
        }
        _ => None,
    }
}

/// A decimal of a whole part and at most one digit of the base behind the point.
fn put_numeric(negative: bool, whole: u64, fraction: u16, shown: u16, into: &mut BytesMut) {
    // The highest of 64 bits needs five digits; the lowest come first here.
    let (mut digits, mut count, mut rest) = ([0_u16; 5], 0, whole);
    while rest > 0 {
        digits[count] = (rest % BASE) as u16;
        rest /= BASE;
        count += 1;
    }
    into.put_u16(count as u16 + u16::from(fraction > 0));
    into.put_i16(count as i16 - 1);
    into.put_u16(if negative { 0x4000 } else { 0 });
    into.put_u16(shown);
    digits[..count].iter().rev().for_each(|digit| into.put_u16(*digit));
    if fraction > 0 {
        into.put_u16(fraction);
    }
}

/// A whole number, a decimal without a fraction, or a date as seconds since 1970, rounded down. None for anything else.
#[inline]
pub(crate) fn int(found: &Type, raw: &[u8]) -> Option<i64> {
    match *found {
        Type::INT4 => Some(i32::from_be_bytes(raw.try_into().ok()?).into()),
        Type::INT8 => Some(i64::from_be_bytes(raw.try_into().ok()?)),
        Type::INT2 => Some(i16::from_be_bytes(raw.try_into().ok()?).into()),
        Type::TIMESTAMP | Type::TIMESTAMPTZ => {
            let micros = i64::from_be_bytes(raw.try_into().ok()?);
            // The two ends stand for infinity.
            (micros != i64::MAX && micros != i64::MIN).then(|| micros.div_euclid(MICROS) + EPOCH)
        }
        Type::DATE => {
            let days = i32::from_be_bytes(raw.try_into().ok()?);
            (days != i32::MAX && days != i32::MIN).then(|| i64::from(days) * DAY + EPOCH)
        }
        Type::NUMERIC => numeric(raw, 0),
        Type::FLOAT8 => float(raw).filter(|value| value.fract() == 0.0).and_then(rounded),
        _ => None,
    }
}

/// A number as the whole number of its last digit, `digits` behind the point.
#[inline]
pub(crate) fn scaled(found: &Type, raw: &[u8], digits: u32) -> Option<i64> {
    match *found {
        Type::NUMERIC => numeric(raw, digits),
        // A float has no exact digits; the nearest are meant.
        Type::FLOAT8 => rounded(float(raw)? * 10_f64.powi(digits as i32)),
        Type::INT2 | Type::INT4 | Type::INT8 => int(found, raw)?.checked_mul(10_i64.checked_pow(digits)?),
        _ => None,
    }
}

/// A text, without the blanks that fill up a `char(n)`.
#[inline]
pub(crate) fn text<'a>(found: &Type, raw: &'a [u8]) -> Option<&'a str> {
    match *found {
        Type::VARCHAR | Type::TEXT | Type::NAME => std::str::from_utf8(raw).ok(),
        Type::BPCHAR => Some(std::str::from_utf8(raw).ok()?.trim_end_matches(' ')),
        _ => None,
    }
}

fn float(raw: &[u8]) -> Option<f64> {
    Some(f64::from_be_bytes(raw.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(param: Param<'_>, wanted: &Type) -> Option<Vec<u8>> {
        let mut into = BytesMut::new();
        Bound(param).to_sql(wanted, &mut into).ok().map(|_| into.to_vec())
    }

    #[test]
    fn amounts_of_money_survive_the_way_there_and_back() {
        for cents in [0, 1, 99, 100, 12_345, -1, -100, -99_999_999, 1_000_000, 999_999_999_999, i64::MAX] {
            let raw = sent(Param::Cents(Cents(cents)), &Type::NUMERIC).unwrap();
            assert_eq!(scaled(&Type::NUMERIC, &raw, 2), Some(cents), "{cents}");
        }
        for value in [0, 7, -7, 10_000, 123_456_789, i64::MAX, i64::MIN + 1] {
            let raw = sent(Param::Int(value), &Type::NUMERIC).unwrap();
            assert_eq!(int(&Type::NUMERIC, &raw), Some(value));
        }
    }

    #[test]
    fn whole_numbers_take_the_width_of_the_parameter_or_are_refused() {
        for wanted in [Type::INT2, Type::INT4, Type::INT8, Type::FLOAT8] {
            let raw = sent(Param::Int(-321), &wanted).unwrap();
            assert_eq!(int(&wanted, &raw), Some(-321), "{wanted}");
        }
        assert_eq!(sent(Param::Int(40_000), &Type::INT2), None);
        assert_eq!(sent(Param::Int(1 << 40), &Type::INT4), None);
        assert_eq!(sent(Param::Int(1), &Type::VARCHAR), None);
        assert_eq!(sent(Param::Text("1"), &Type::INT4), None);
        assert_eq!(sent(Param::Cents(Cents(150)), &Type::INT4), None);
        assert_eq!(sent(Param::Cents(Cents(200)), &Type::INT4), Some(vec![0, 0, 0, 2]));
    }

    #[test]
    fn dates_are_seconds_rounded_down() {
        for seconds in [0, 946_684_800, 1_700_000_000, -1] {
            let raw = sent(Param::Int(seconds), &Type::TIMESTAMP).unwrap();
            assert_eq!(int(&Type::TIMESTAMPTZ, &raw), Some(seconds));
        }
        let half_before_2000 = (-500_000_i64).to_be_bytes();
        assert_eq!(int(&Type::TIMESTAMP, &half_before_2000), Some(EPOCH - 1));
        assert_eq!(int(&Type::TIMESTAMP, &i64::MAX.to_be_bytes()), None);
        assert_eq!(int(&Type::DATE, &(-1_i32).to_be_bytes()), Some(EPOCH - DAY));
    }

    #[test]
    fn a_float_gives_the_nearest_cent_and_a_fraction_is_no_whole_number() {
        let raw = 12.29_f64.to_be_bytes();
        assert_eq!(scaled(&Type::FLOAT8, &raw, 2), Some(1_229));
        assert_eq!(int(&Type::FLOAT8, &raw), None);
        assert_eq!(scaled(&Type::FLOAT8, &f64::NAN.to_be_bytes(), 2), None);
        assert_eq!(scaled(&Type::INT4, &7_i32.to_be_bytes(), 2), Some(700));
    }

    #[test]
    fn a_text_loses_only_what_fills_it_up() {
        assert_eq!(text(&Type::BPCHAR, b"ab  "), Some("ab"));
        assert_eq!(text(&Type::VARCHAR, b"ab  "), Some("ab  "));
        assert_eq!(text(&Type::TEXT, &[0xff]), None);
        assert_eq!(text(&Type::INT4, b"ab"), None);
    }
}
