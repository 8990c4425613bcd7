//! Decimals and dates in the forms in which drivers hand them over.

/// A decimal's text as the whole number of its last digit: `-12.3` with two digits is −1230. None for what is not a decimal,
/// has more of a fraction than `digits` hold, or is out of range.
pub fn scaled(text: &[u8], digits: u32) -> Option<i64> {
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

/// A `numeric` of PostgreSQL's binary protocol as the whole number of its last digit; none where it is not a number, too large, or has more digits than asked for.
pub fn numeric(raw: &[u8], digits: u32) -> Option<i64> {
    let (head, body) = raw.split_at_checked(8)?;
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let negative = match word(4) {
        0 => false,
        0x4000 => true,
        _ => return None,
    };
    // The power of ten that the lowest unit of the current digit stands for, as seen from the last digit asked for.
    let mut power = i32::from(word(2).cast_signed()) * 4 + i32::try_from(digits).ok()?;
    let mut sum = 0_i64;
    for digit in body.chunks_exact(2) {
        let digit = i64::from(u16::from_be_bytes([digit[0], digit[1]]));
        let part = if power >= 0 {
            digit.checked_mul(10_i64.checked_pow(power.unsigned_abs())?)?
        } else {
            let unit = 10_i64.checked_pow(power.unsigned_abs()).filter(|unit| digit % unit == 0);
            if digit == 0 { 0 } else { digit / unit? }
        };
        sum = sum.checked_add(part)?;
        power -= 4;
    }
    Some(if negative { -sum } else { sum })
}

/// A float that stands for a whole number, rounded; none where floats do not resolve whole numbers any more.
pub fn rounded(value: f64) -> Option<i64> {
    // Beyond 2^53 a float is not a count of cents any more.
    let value = value.round();
    (value.abs() < 9e15).then_some(value as i64)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar. None for what is no date, such as the zero dates that MySQL may hold in the
/// place of one.
pub fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || day < 1 {
        return None;
    }
    // Years begin in March, so that the leap day is the last of them; 400 of them have 146,097 days.
    let from_march = year - i64::from(month <= 2);
    let (era, in_era) = (from_march.div_euclid(400), from_march.rem_euclid(400));
    let in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719_468;
    (date_of(days) == (year, month, day)).then_some(days)
}

/// The year, month and day of the Gregorian calendar, by days since 1970-01-01.
pub fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + years + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_read_exactly_or_not_at_all() {
        for (text, digits, expected) in [
            ("12.34", 2, Some(1_234)),
            ("-0.05", 2, Some(-5)),
            ("-10.00", 2, Some(-1_000)),
            (".5", 2, Some(50)),
            ("0.1234", 4, Some(1_234)),
            ("7", 2, Some(700)),
            ("7.000", 2, Some(700)),
            ("7.001", 2, None),
            ("7.00", 0, Some(7)),
            ("7.50", 0, None),
            ("9999999999.99", 2, Some(999_999_999_999)),
            ("99999999999999999999", 0, None),
            ("", 2, None),
            ("-", 2, None),
            (".", 2, None),
            ("1e3", 2, None),
            ("1.2.3", 4, None),
            ("nan", 2, None),
        ] {
            assert_eq!(scaled(text.as_bytes(), digits), expected, "{text} with {digits} digits");
        }
    }

    #[test]
    fn days_and_dates_are_each_others_inverse() {
        let mut before = (0, 0, 0);
        for days in -80_000..80_000 {
            let date = date_of(days);
            assert!(date > before);
            before = date;
            assert_eq!(days_since_1970(date.0, date.1, date.2), Some(days));
        }
        assert_eq!(days_since_1970(2000, 2, 29), Some(11_016));
        for (year, month, day) in [(2000, 2, 30), (1900, 2, 29), (2001, 4, 31), (2001, 1, 32)] {
            assert_eq!(days_since_1970(year, month, day), None);
        }
        assert_eq!(date_of(0), (1970, 1, 1));
        for (month, day) in [(0, 0), (13, 1), (1, 0)] {
            assert_eq!(days_since_1970(2000, month, day), None);
        }
    }
}
