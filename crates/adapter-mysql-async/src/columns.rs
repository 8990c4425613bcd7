//! The columns of a row as the driver gives them.

use mysql_async::{Row, Value};
use sql::{ColumnError, Columns, days_since_1970, scaled};

/// A row of the driver, read where it lies.
#[derive(Debug)]
pub struct Current<'a>(pub &'a Row);

impl Current<'_> {
    #[inline]
    fn value(&self, index: usize) -> Result<&Value, ColumnError> {
        self.0.as_ref(index).ok_or_else(|| ColumnError::new(index, "there"))
    }
}

impl Columns for Current<'_> {
    fn int(&self, index: usize) -> Result<i64, ColumnError> {
        whole(self.value(index)?).ok_or_else(|| ColumnError::new(index, "a whole number"))
    }

    fn int_or_null(&self, index: usize) -> Result<Option<i64>, ColumnError> {
        match self.value(index)? {
            Value::NULL => Ok(None),
            value => whole(value).map(Some).ok_or_else(|| ColumnError::new(index, "a whole number or null")),
        }
    }

    fn scaled(&self, index: usize, digits: u32) -> Result<i64, ColumnError> {
        decimal(self.value(index)?, digits)
            .ok_or_else(|| ColumnError::new(index, "a decimal of that many digits"))
    }

    fn text(&self, index: usize) -> Result<&str, ColumnError> {
        match self.value(index)? {
            Value::Bytes(bytes) => {
                std::str::from_utf8(bytes).map_err(|_| ColumnError::new(index, "valid UTF-8"))
            }
            Value::NULL
            | Value::Int(_)
            | Value::UInt(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::Date(..)
            | Value::Time(..) => Err(ColumnError::new(index, "a text")),
        }
    }
}

#[inline]
fn whole(value: &Value) -> Option<i64> {
    match *value {
        Value::Int(value) => Some(value),
        Value::UInt(value) => i64::try_from(value).ok(),
        // A decimal comes as text.
        Value::Bytes(ref text) => scaled(text, 0),
        Value::Date(year, month, day, hour, minute, second, _) => {
            let days = days_since_1970(year.into(), month.into(), day.into())?;
            Some(days * 86_400 + i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second))
        }
        Value::NULL | Value::Float(_) | Value::Double(_) | Value::Time(..) => None,
    }
}

/// A decimal as the whole number of its last digit. A whole number has none behind the point: another tool may keep whole
/// units of money in such a column, which is what the statements add decimals to.
#[inline]
fn decimal(value: &Value, digits: u32) -> Option<i64> {
    let units = match *value {
        Value::Bytes(ref text) => return scaled(text, digits),
        Value::Int(value) => value,
        Value::UInt(value) => i64::try_from(value).ok()?,
        Value::NULL | Value::Float(_) | Value::Double(_) | Value::Date(..) | Value::Time(..) => return None,
    };
    units.checked_mul(10_i64.checked_pow(digits)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_holds_whole_units() {
        assert_eq!(decimal(&Value::Int(-7), 2), Some(-700));
        assert_eq!(decimal(&Value::UInt(50_000), 2), Some(5_000_000));
        assert_eq!(decimal(&Value::Bytes(b"7.25".to_vec()), 2), Some(725));
        assert_eq!(decimal(&Value::Int(i64::MAX), 2), None);
        assert_eq!(decimal(&Value::UInt(u64::MAX), 0), None);
        assert_eq!(decimal(&Value::Double(7.0), 2), None);
        assert_eq!(decimal(&Value::NULL, 2), None);
    }

    #[test]
    fn a_date_is_seconds_since_1970() {
        assert_eq!(whole(&Value::Date(1970, 1, 1, 0, 0, 0, 0)), Some(0));
        assert_eq!(whole(&Value::Date(2000, 2, 29, 12, 0, 1, 0)), Some(951_825_601));
        assert_eq!(whole(&Value::Date(2100, 3, 1, 0, 0, 0, 0)), Some(4_107_542_400));
        assert_eq!(whole(&Value::Date(1969, 12, 31, 23, 59, 59, 0)), Some(-1));
        assert_eq!(whole(&Value::Date(2026, 11, 21, 2, 30, 0, 0)), Some(1_795_228_200));
        assert_eq!(whole(&Value::Date(0, 0, 0, 0, 0, 0, 0)), None);
        assert_eq!(whole(&Value::UInt(u64::MAX)), None);
        assert_eq!(whole(&Value::Int(-7)), Some(-7));
        assert_eq!(whole(&Value::Double(1.0)), None);
    }
}
