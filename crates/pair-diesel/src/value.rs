//! Money, rates and dates as both engines store them: exact, and without a library of big numbers.

use crate::schema::{Decimal, Moment, Rate};
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::data_types::{PgNumeric, PgTimestamp};
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{BigInt, Numeric, Timestamp};
use diesel::sqlite::{Sqlite, SqliteValue};
use model::{BasisPoints, Cents};

/// An amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, AsExpression, FromSqlRow)]
#[diesel(sql_type = Decimal)]
pub(crate) struct Amount(pub(crate) Cents);

/// A tax or a discount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromSqlRow)]
pub(crate) struct Share(pub(crate) BasisPoints);

/// A date, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromSqlRow)]
pub(crate) struct Seconds(pub(crate) i64);

impl FromSql<Decimal, Sqlite> for Amount {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Amount> {
        <i64 as FromSql<BigInt, Sqlite>>::from_sql(value).map(|cents| Amount(Cents(cents)))
    }
}

impl ToSql<Decimal, Sqlite> for Amount {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.0);
        Ok(IsNull::No)
    }
}

impl FromSql<Rate, Sqlite> for Share {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Share> {
        <i64 as FromSql<BigInt, Sqlite>>::from_sql(value).map(|rate| Share(BasisPoints(rate)))
    }
}

impl FromSql<Moment, Sqlite> for Seconds {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Seconds> {
        <i64 as FromSql<BigInt, Sqlite>>::from_sql(value).map(Seconds)
    }
}

impl FromSql<Decimal, Pg> for Amount {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Amount> {
        let cents = scaled(&PgNumeric::from_sql(value)?, 2).ok_or("not an amount of whole cents")?;
        Ok(Amount(Cents(cents)))
    }
}

impl ToSql<Decimal, Pg> for Amount {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        ToSql::<Numeric, Pg>::to_sql(&numeric(self.0), &mut out.reborrow())
    }
}

impl FromSql<Rate, Pg> for Share {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Share> {
        let rate = scaled(&PgNumeric::from_sql(value)?, 4).ok_or("not a rate of whole ten-thousandths")?;
        Ok(Share(BasisPoints(rate)))
    }
}

impl FromSql<Moment, Pg> for Seconds {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Seconds> {
        let PgTimestamp(micros) = FromSql::<Timestamp, Pg>::from_sql(value)?;
        Ok(Seconds(EPOCH + micros.div_euclid(1_000_000)))
    }
}

/// PostgreSQL counts from 2000-01-01.
const EPOCH: i64 = 946_684_800;
/// A digit of PostgreSQL's `numeric` stands for four decimal ones.
const BASE: i64 = 10_000;

/// A numeric as the whole number of its `digits`-th decimal; none where that would not be exact. `digits` is at most 4.
fn scaled(numeric: &PgNumeric, digits: u32) -> Option<i64> {
    let (weight, base_digits, sign) = match numeric {
        PgNumeric::Positive { weight, digits, .. } => (*weight, digits, 1),
        PgNumeric::Negative { weight, digits, .. } => (*weight, digits, -1),
        PgNumeric::NaN => return None,
    };
    // In ten-thousandths: one base digit after the point.
    let mut value: i64 = 0;
    for (place, digit) in (0..).zip(base_digits) {
        let exponent = i32::from(weight) + 1 - place;
        match u32::try_from(exponent) {
            Ok(exponent) => {
                let part = i64::from(*digit).checked_mul(BASE.checked_pow(exponent)?)?;
                value = value.checked_add(part)?;
            }
            Err(_) if *digit == 0 => {}
            Err(_) => return None,
        }
    }
    let unit = 10_i64.pow(4 - digits);
    (value % unit == 0).then_some(sign * (value / unit))
}

/// An amount as a numeric of two decimals.
fn numeric(Cents(amount): Cents) -> PgNumeric {
    let magnitude = amount.unsigned_abs();
    let base = BASE.unsigned_abs();
    // From the last base digit to the first: the cents, then the units.
    let mut digits = vec![(magnitude % 100 * 100) as i16];
    let mut units = magnitude / 100;
    while units > 0 {
        digits.push((units % base) as i16);
        units /= base;
    }
    digits.reverse();
    let (weight, scale) = (digits.len() as i16 - 2, 2);
    if amount < 0 {
        PgNumeric::Negative { weight, scale, digits }
    } else {
        PgNumeric::Positive { weight, scale, digits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_exact_both_ways() {
        for cents in [0, 1, -1, 99, 100, -1_000, 123_456, 999_999, 1_000_000, 30_000_000, -987_654_321_012] {
            assert_eq!(scaled(&numeric(Cents(cents)), 2), Some(cents), "{cents}");
        }
    }

    #[test]
    fn what_would_be_rounded_is_refused() {
        let positive =
            |weight, digits: &[i16]| PgNumeric::Positive { weight, scale: 4, digits: digits.into() };
        // 1.2345 is a rate, and no amount.
        assert_eq!(scaled(&positive(0, &[1, 2345]), 4), Some(12_345));
        assert_eq!(scaled(&positive(0, &[1, 2345]), 2), None);
        // 0.00001 is neither; 10000.00, whose zeros are left out, is an amount.
        assert_eq!(scaled(&positive(-2, &[1000]), 4), None);
        assert_eq!(scaled(&positive(1, &[1]), 2), Some(1_000_000));
        assert_eq!(scaled(&positive(300, &[1]), 2), None);
        assert_eq!(scaled(&PgNumeric::NaN, 2), None);
    }
}
