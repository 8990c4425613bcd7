//! The columns of a row, decoded where they are.

use sql::{ColumnError, Columns, days_since_1970, scaled};
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
            // Another tool may keep whole units of money in a whole number, which is what the statements add decimals to.
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
    let days = days_since_1970(u16::from_le_bytes([low, high]).into(), month.into(), day.into())?;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

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
