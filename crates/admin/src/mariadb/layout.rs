//! How the values of a column are written and read: least units to decimals, seconds to datetimes, and back.

use crate::checksum::{push_blob, push_int, push_null, push_real, push_text};
use crate::error::Cause;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Value};
use sql::{date_of, days_since_1970};
use std::io::Write as _;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// Whole numbers, and everything that is written as one.
    Int,
    Text,
    /// Decimals with so many digits after the point; rows give the whole number of the last digit.
    Decimal(u32),
    /// Dates with times; rows give seconds since 1970 in UTC.
    DateTime,
}

/// The kinds of the named columns of a table that was just made.
pub(crate) async fn kinds(conn: &mut Conn, table: &str, columns: &[&str]) -> Result<Vec<ColumnType>, Cause> {
    let asked = "select column_name, data_type, numeric_scale from information_schema.columns \
                 where table_schema = database() and table_name = ?";
    let found: Vec<(String, String, Option<u32>)> = conn.exec(asked, (table,)).await?;
    columns
        .iter()
        .map(|column| {
            let (_, kind, scale) = found
                .iter()
                .find(|(name, ..)| name.eq_ignore_ascii_case(column))
                .ok_or_else(|| Cause::other(format!("the schema makes no column {table}.{column}")))?;
            Ok(match kind.as_str() {
                "decimal" => ColumnType::Decimal(scale.unwrap_or(0)),
                "datetime" | "timestamp" => ColumnType::DateTime,
                "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => ColumnType::Text,
                _ => ColumnType::Int,
            })
        })
        .collect()
}

/// Writes a number as its column takes it, without quotes.
pub(crate) fn write_number(into: &mut Vec<u8>, kind: ColumnType, value: i64) {
    let written = match kind {
        ColumnType::Int | ColumnType::Text | ColumnType::Decimal(0) => write!(into, "{value}"),
        ColumnType::Decimal(scale) => {
            let (sign, units) = (if value < 0 { "-" } else { "" }, value.unsigned_abs());
            let one = 10u64.pow(scale);
            write!(into, "{sign}{}.{:0width$}", units / one, units % one, width = scale as usize)
        }
        ColumnType::DateTime => {
            let (days, seconds) = (value.div_euclid(86_400), value.rem_euclid(86_400));
            let (year, month, day) = date_of(days);
            let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
            write!(into, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
        }
    };
    written.expect("memory takes everything");
}

/// Appends the canonical form of a stored value. What the column's kind does not explain stays as it is, and makes the
/// checksum differ.
pub(crate) fn push_stored(into: &mut Vec<u8>, kind: ColumnType, value: Option<&Value>) {
    match (kind, value) {
        (_, None | Some(Value::NULL)) => push_null(into),
        (_, Some(Value::Int(value))) => push_int(into, *value),
        (ColumnType::Decimal(_), Some(Value::Bytes(text))) => match units(text) {
            Some(units) => push_int(into, units),
            None => push_text(into, text),
        },
        (_, Some(Value::Bytes(text))) => push_text(into, text),
        (_, Some(date @ Value::Date(..))) => match seconds(date) {
            Some(seconds) => push_int(into, seconds),
            None => push_blob(into, format!("{date:?}").as_bytes()),
        },
        (_, Some(Value::Double(value))) => push_real(into, *value),
        (_, Some(other)) => push_blob(into, format!("{other:?}").as_bytes()),
    }
}

/// `-12.30` as -1230.
pub(crate) fn units(decimal: &[u8]) -> Option<i64> {
    let (negative, digits) = match decimal.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, decimal),
    };
    let mut units = 0i64;
    for byte in digits.iter().filter(|byte| **byte != b'.') {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        units = units.checked_mul(10)?.checked_add(digit)?;
    }
    Some(if negative { -units } else { units })
}

/// A datetime as seconds since 1970 in UTC; `None` for what is none or has fractions.
pub(crate) fn seconds(value: &Value) -> Option<i64> {
    let &Value::Date(year, month, day, hour, minute, second, 0) = value else { return None };
    let of_day = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
    Some(days_since_1970(year.into(), month.into(), day.into())? * 86_400 + of_day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: ColumnType, value: i64, text: &str) {
        let mut written = Vec::new();
        write_number(&mut written, kind, value);
        assert_eq!(String::from_utf8(written).unwrap(), text);
        if let ColumnType::Decimal(_) = kind {
            assert_eq!(units(text.as_bytes()), Some(value));
        }
    }

    #[test]
    fn least_units_and_seconds_are_written_exactly() {
        check(ColumnType::Int, -7, "-7");
        check(ColumnType::Decimal(2), -1_000, "-10.00");
        check(ColumnType::Decimal(2), -5, "-0.05");
        check(ColumnType::Decimal(4), 1_234, "0.1234");
        check(ColumnType::Decimal(0), 12, "12");
        check(ColumnType::DateTime, 1_704_067_200, "2024-01-01 00:00:00");
        check(ColumnType::DateTime, 951_827_696, "2000-02-29 12:34:56");
        check(ColumnType::DateTime, -1, "1969-12-31 23:59:59");
        check(ColumnType::DateTime, 4_107_542_399, "2100-02-28 23:59:59");
    }

    #[test]
    fn a_date_with_a_time_is_seconds_since_1970() {
        assert_eq!(seconds(&Value::Date(2024, 1, 1, 0, 0, 1, 0)), Some(1_704_067_201));
        assert_eq!(seconds(&Value::Date(2024, 1, 1, 0, 0, 1, 5)), None);
    }
}
