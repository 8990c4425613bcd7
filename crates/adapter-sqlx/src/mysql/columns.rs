//! The columns of a row, decoded where they are.

use sql::{ColumnError, Columns};
use sqlx::mysql::{MySqlRow, MySqlValueRef};
use sqlx::{Decode, MySql, Row as _, Type, TypeInfo as _, ValueRef as _};

/// A row of the driver.
pub(super) struct Current<'a>(pub(super) &'a MySqlRow);

impl Current<'_> {
    /// None for null.
    #[inline]
    fn value(&self, index: usize) -> Result<Option<MySqlValueRef<'_>>, ColumnError> {
        let value = self.0.try_get_raw(index).map_err(|_| ColumnError::new(index, "there"))?;
        Ok((!value.is_null()).then_some(value))
    }
}

impl Columns for Current<'_> {
    fn int(&self, index: usize) -> Result<i64, ColumnError> {
        self.value(index)?.and_then(whole).ok_or_else(|| ColumnError::new(index, "a whole number"))
    }

    fn int_or_null(&self, index: usize) -> Result<Option<i64>, ColumnError> {
        match self.value(index)? {
            None => Ok(None),
            Some(value) => {
                whole(value).map(Some).ok_or_else(|| ColumnError::new(index, "a whole number or null"))
            }
        }
    }

    fn scaled(&self, index: usize, digits: u32) -> Result<i64, ColumnError> {
        let found = self.value(index)?.and_then(|value| match value.type_info().name() {
            "DECIMAL" => scaled(bytes(value)?, digits),
            // Another kit may keep whole units of money in a whole number, which is what the statements add decimals to.
            _ => integer(value)?.checked_mul(10_i64.checked_pow(digits)?),
        });
        found.ok_or_else(|| ColumnError::new(index, "a decimal of that many digits"))
    }

    fn text(&self, index: usize) -> Result<&str, ColumnError> {
        let found = self.value(index)?.filter(|value| <str as Type<MySql>>::compatible(&value.type_info()));
        found
            .and_then(|value| <&str as Decode<MySql>>::decode(value).ok())
            .ok_or_else(|| ColumnError::new(index, "a text"))
    }
}

/// The bytes of a value, whatever its type.
#[inline]
fn bytes(value: MySqlValueRef<'_>) -> Option<&[u8]> {
    <&[u8] as Decode<MySql>>::decode(value).ok()
}

#[inline]
fn integer(value: MySqlValueRef<'_>) -> Option<i64> {
    let found = value.type_info().into_owned();
    if <i64 as Type<MySql>>::compatible(&found) {
        <i64 as Decode<MySql>>::decode(value).ok()
    } else if <u64 as Type<MySql>>::compatible(&found) {
        <u64 as Decode<MySql>>::decode(value).ok()?.try_into().ok()
    } else {
        None
    }
}

#[inline]
fn whole(value: MySqlValueRef<'_>) -> Option<i64> {
    match value.type_info().name() {
        "DECIMAL" => scaled(bytes(value)?, 0),
        "DATE" | "DATETIME" | "TIMESTAMP" => seconds(bytes(value)?),
        _ => integer(value),
    }
}

/// A decimal's text as the whole number of its last digit: `-12.3` with two digits is −1230. None for what is not a decimal,
/// has more of a fraction than `digits` hold, or is out of range.
fn scaled(text: &[u8], digits: u32) -> Option<i64> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let point = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
    let (units, fraction) = (&text[..point], text.get(point + 1..).unwrap_or_default());
    let digits = digits as usize;
    let (kept, beyond) = fraction.split_at(fraction.len().min(digits));
    if (units.is_empty() && fraction.is_empty()) || beyond.iter().any(|byte| *byte != b'0') {
        return None;
    }
    let mut value = 0_i64;
    for byte in units.iter().chain(kept) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(i64::from(digit))?;
    }
    for _ in kept.len()..digits {
        value = value.checked_mul(10)?;
    }
    Some(if negative { -value } else { value })
}

/// A date of the binary protocol as seconds since 1970: its length, the date, and the time of day unless it is midnight.
/// None for the zero dates that MySQL may hold in the place of one.
fn seconds(raw: &[u8]) -> Option<i64> {
    let (date, time) = match *raw {
        [4, low, high, month, day] => ([low, high, month, day], [0; 3]),
        [7 | 11, low, high, month, day, hour, minute, second, ..] => {
            ([low, high, month, day], [hour, minute, second])
        }
        _ => return None,
    };
    let [low, high, month, day] = date;
    let [hour, minute, second] = time.map(i64::from);
    let midnight = midnight(u16::from_le_bytes([low, high]), month, day)?;
    Some(midnight + hour * 3_600 + minute * 60 + second)
}

/// Seconds from 1970 to the midnight that begins a day of the Gregorian calendar.
fn midnight(year: u16, month: u8, day: u8) -> Option<i64> {
    if month == 0 || month > 12 || day == 0 {
        return None;
    }
    // Years begin in March, so that the leap day is the last of them; 400 of them have 146,097 days.
    let year = i64::from(year) - i64::from(month <= 2);
    let month = (i64::from(month) + 9) % 12;
    let (era, in_era) = (year.div_euclid(400), year.rem_euclid(400));
    let in_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    let days = era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year;
    Some((days - 719_468) * 86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_read_exactly_or_not_at_all() {
        for (text, digits, expected) in [
            ("12.34", 2, Some(1_234)),
            ("-0.05", 2, Some(-5)),
            (".5", 2, Some(50)),
            ("0.1234", 4, Some(1_234)),
            ("7", 2, Some(700)),
            ("7.000", 2, Some(700)),
            ("7.001", 2, None),
            ("7.50", 0, None),
            ("9999999999.99", 2, Some(999_999_999_999)),
            ("99999999999999999999", 0, None),
            ("", 2, None),
            ("-", 2, None),
            ("1e3", 2, None),
            ("1.2.3", 4, None),
        ] {
            assert_eq!(scaled(text.as_bytes(), digits), expected, "{text} with {digits} digits");
        }
    }

    #[test]
    fn a_date_is_seconds_since_1970() {
        assert_eq!(seconds(&[4, 0xb2, 7, 1, 1]), Some(0));
        assert_eq!(seconds(&[7, 0xd0, 7, 2, 29, 12, 0, 1]), Some(951_825_601));
        assert_eq!(seconds(&[11, 0xb1, 7, 12, 31, 23, 59, 59, 1, 0, 0, 0]), Some(-1));
        for not_a_date in [&[0][..], &[4, 0, 0, 0, 0], &[4, 0xb2, 7], &[7, 0xd0, 7, 2, 29], &[]] {
            assert_eq!(seconds(not_a_date), None, "{not_a_date:?}");
        }
    }
}
