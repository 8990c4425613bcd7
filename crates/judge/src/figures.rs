//! Numbers as people read them: with a unit, an uncertainty, and no more digits than they deserve.
//!
//! Thousands have commas, and units are joined by no-break spaces; formats that want plain ones replace them.

pub use result::text::capital;
use result::{FingerprintDifference, Interval, Step};

/// Between a number and its unit.
const GAP: char = '\u{a0}';

/// What stands where there is no number.
pub const NONE: &str = "–";

/// A whole number: `1,204`.
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A number of things that an `s` makes more of: `1 client`, `1,204 clients`.
pub fn counted(value: u64, one: &str) -> String {
    format!("{} {one}{}", count(value), if value == 1 { "" } else { "s" })
}

/// How its makers write the name of an engine.
pub fn engine_title(name: &str) -> &str {
    match name {
        "sqlite" => "SQLite",
        "postgres" => "PostgreSQL",
        "mariadb" => "MariaDB",
        "mysql" => "MySQL",
        other => other,
    }
}

/// CPU cores: `1 core`, `0.5 cores`.
pub fn cores(cpu: f64) -> String {
    let number = short(cpu);
    let s = if number == "1" { "" } else { "s" };
    format!("{number} core{s}")
}

/// What there is to say of a value, or the sign for none.
pub fn or_none<T>(value: Option<T>, words: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), words)
}

/// A time in the unit that suits it, two digits or, after a leading 1, three: `9.8 ms`, `142 µs`, `31 s`.
pub fn duration(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        ns_abs if ns_abs < 999.5 => (ns, "ns"),
        ns_abs if ns_abs < 999_500.0 => (ns / 1e3, "µs"),
        ns_abs if ns_abs < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{}{GAP}{unit}", short(value))
}

/// A time, or the sign for none.
pub fn maybe_duration(ns: Option<u64>) -> String {
    or_none(ns, |ns| duration(ns as f64))
}

/// Seconds as they were planned: `60 s`, `0.5 s`.
pub fn seconds(s: f64) -> String {
    format!("{}{GAP}s", trimmed(s, 1))
}

/// Largest half of an interval, as a share of the value, that is shown.
const MARGIN_MAX: f64 = 0.5;
/// From this ratio of the distances of its ends from the value on, an interval is shown by its ends.
const LOPSIDED_MIN: f64 = 1.5;

/// Label of a value whose interval is as wide as the value.
pub const TOO_SHORT: &str = "too short for an interval";

/// A value as precisely as it is known, with its uncertainty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    pub value: String,
    pub uncertainty: Uncertainty,
}

/// The uncertainty of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uncertainty {
    /// None is given: it is of one run, or has no spread.
    Alone,
    /// Half the width of its interval.
    Margin(String),
    /// The ends of its interval, of which one is much further from it.
    Range(String, String),
    /// Its interval is as wide as the value.
    TooShort,
}

impl Uncertainty {
    /// What stands behind the value: `± 18`, `(31–52)`, or nothing.
    pub fn margin(&self) -> String {
        match self {
            Uncertainty::Margin(half) => format!("±{GAP}{half}"),
            Uncertainty::Range(low, high) => format!("({low}–{high})"),
            Uncertainty::Alone | Uncertainty::TooShort => String::new(),
        }
    }
}

/// A value and half the width of its interval, both cut at the interval's first digit, or its second after a leading 1 or 2. Three digits
/// are as many as a single run deserves, or one that was too short for an interval.
pub fn estimate(interval: Interval) -> Estimate {
    let Interval { value, low, high } = interval;
    let single = |uncertainty| {
        let place = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 - 2 };
        Estimate { value: cut(value, place), uncertainty }
    };
    let (Some(low), Some(high), Some(half)) = (low, high, margin(interval)) else {
        return single(Uncertainty::Alone);
    };
    if half <= 0.0 {
        return single(Uncertainty::Alone);
    }
    if half > MARGIN_MAX * value.abs() {
        return single(Uncertainty::TooShort);
    }
    let magnitude = half.log10().floor() as i32;
    let place = if half / 10_f64.powi(magnitude) < 3.0 { magnitude - 1 } else { magnitude };
    let (below, above) = (value - low, high - value);
    let lopsided = below.max(above) > LOPSIDED_MIN * below.min(above);
    let uncertainty = match lopsided {
        true => Uncertainty::Range(cut(low, place), cut(high, place)),
        false => Uncertainty::Margin(cut(half, place)),
    };
    Estimate { value: cut(value, place), uncertainty }
}

/// A value with its uncertainty: `1,204 ± 18`, `748 (690–1,010)`, `12 (too short for an interval)`.
pub fn with_margin(interval: Interval) -> String {
    let Estimate { value, uncertainty } = estimate(interval);
    match uncertainty {
        Uncertainty::Alone => value,
        Uncertainty::TooShort => format!("{value} ({TOO_SHORT})"),
        uncertainty => format!("{value}{GAP}{}", uncertainty.margin()),
    }
}

/// The value of an interval as precisely as its margin permits, without the margin.
pub fn value_alone(interval: Interval) -> String {
    estimate(interval).value
}

/// Half the width of an interval.
pub fn margin(interval: Interval) -> Option<f64> {
    Some((interval.high? - interval.low?) / 2.0)
}

/// A share of 1 as a percentage with one decimal, or two where it is small: `1.0 %`, `0.03 %`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    let decimals = if value != 0.0 && value.abs() < 0.1 { 2 } else { 1 };
    format!("{}{GAP}%", grouped(&format!("{value:.decimals$}")))
}

/// A ratio as a percentage with its interval: `93.1 % (91.0–95.0)`, or `93.1 % (no interval)`.
pub fn ratio(ratio: Interval) -> String {
    let number = |value: f64| format!("{:.1}", value * 100.0);
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => {
            format!("{}{GAP}% ({}–{})", number(ratio.value), number(low), number(high))
        }
        _ => format!("{}{GAP}% (no interval)", number(ratio.value)),
    }
}

/// Two times and how much the second is above the first, all in the unit and to the digit of the larger one: `3.10 ms`, `3.52 ms`,
/// `+0.42 ms`. A time of zero is the sign for none; a difference that rounds to nothing, or is less than a twentieth of a percent
/// of a whole, is `0`.
pub fn difference(ns_a: f64, ns_b: f64, whole_ns: f64) -> [String; 3] {
    let most = ns_a.abs().max(ns_b.abs());
    let (scale, unit) = match most {
        most if most < 999.5 => (1.0, "ns"),
        most if most < 999_500.0 => (1e3, "µs"),
        most if most < 999.5e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let digits = (most / scale).max(1.0).log10().floor() as usize;
    let decimals = 2_usize.saturating_sub(digits);
    let shown = |ns: f64| format!("{}{GAP}{unit}", grouped(&format!("{:.decimals$}", ns / scale)));
    let time = |ns: f64| if ns == 0.0 { NONE.to_owned() } else { shown(ns) };
    let change = ns_b - ns_a;
    let is_nothing =
        change.abs() < whole_ns.abs() * 0.0005 || change.abs() / scale < 0.5 * 0.1_f64.powi(decimals as i32);
    let change = match (is_nothing, change > 0.0) {
        (true, _) => "0".to_owned(),
        (false, true) => format!("+{}", shown(change)),
        (false, false) => shown(change),
    };
    [time(ns_a), time(ns_b), change]
}

/// A size: `64 MiB`.
pub fn bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1_000.0 && unit + 1 < units.len() {
        value /= 1_024.0;
        unit += 1;
    }
    format!("{}{GAP}{}", short(value), units[unit])
}

/// Two digits, three after a leading 1; whole numbers stay whole.
pub fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // A whole number needs no decimals to say so.
    if (value - value.round()).abs() < 1e-9 {
        return grouped(&format!("{value:.0}"));
    }
    let place = |value: f64| {
        let magnitude = value.abs().log10().floor() as i32;
        let leading_one = value.abs() / 10_f64.powi(magnitude) < 2.0;
        (magnitude - if leading_one { 2 } else { 1 }).min(0)
    };
    // Rounding may change the leading digit, as from 1.996 to 2.0.
    let unit = 10_f64.powi(place(value));
    cut(value, place((value / unit).round() * unit))
}

/// At most `decimals` decimals, none that are zero.
pub fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    grouped(text)
}

/// Rounded to a power of ten.
fn cut(value: f64, place: i32) -> String {
    if place >= 0 {
        let unit = 10_f64.powi(place);
        grouped(&format!("{:.0}", (value / unit).round() * unit))
    } else {
        grouped(&format!("{value:.0$}", place.unsigned_abs().min(6) as usize))
    }
}

/// Sets thousands apart in the whole part of a decimal number, from four digits on.
fn grouped(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("−", digits));
    let mut out = sign.to_owned();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// With plain spaces, for terminals and Markdown.
pub fn plain(text: &str) -> String {
    text.replace(GAP, " ")
}

/// With no-break spaces around `±`, as in `20,000 ± 90,000`, and before units, `19.6 %`, `2 min`.
pub fn bound(text: &str) -> String {
    const UNITS: [&str; 12] = ["%", "±", "×", "ns", "µs", "ms", "s", "min", "h", "KiB", "MiB", "GiB"];
    let is_number = |word: &str| word.ends_with(|char: char| char.is_ascii_digit()) || word == "±";
    let unpunctuated = |word: &str| word.trim_end_matches(['.', ',', ';', ':', ')']).len();
    let mut out = String::with_capacity(text.len());
    let (mut before, mut is_first) = ("", true);
    for word in text.split(' ') {
        if !is_first {
            let bare = &word[..unpunctuated(word)];
            let joined = is_number(before)
                && (UNITS.contains(&bare)
                    || before == "±" && bare.starts_with(|char: char| char.is_ascii_digit()));
            out.push(if joined { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
        (before, is_first) = (word, false);
    }
    out
}

/// What is to be known of a step besides its outcome: `confirming`, `ended early after 3 s`.
pub fn remarks(step: &Step) -> Vec<String> {
    let early = step.ended_early_s.map(|s| format!("ended early after {}", plain(&seconds(s))));
    step.confirming.then(|| "confirming".to_owned()).into_iter().chain(early).collect()
}

/// Both values of a difference, as reports have them.
pub fn both(difference: &FingerprintDifference) -> [String; 2] {
    [difference.a, difference.b].map(|value| trimmed(value, if value < 1e3 { 2 } else { 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_neither_within_a_number_nor_before_its_unit() {
        let check = |text: &str, expected: &str| assert_eq!(bound(text).replace('\u{a0}', "~"), expected);
        check("highest: 20,000 ± 90,000 new orders/min.", "highest: 20,000~±~90,000 new orders/min.");
        check("lie 19.6 % from it, after 2 min 5 s.", "lie 19.6~% from it, after 2~min 5~s.");
        check("of 8 clients in 2026 1000 calls", "of 8 clients in 2026 1000 calls");
        check(" two  spaces ", " two  spaces ");
        check("", "");
    }

    #[test]
    fn two_times_and_their_difference_have_one_unit_and_as_many_decimals() {
        let check = |(a, b, whole): (f64, f64, f64), expected: [&str; 3]| {
            assert_eq!(difference(a, b, whole).map(|text| plain(&text)), expected);
        };
        check((3.1e6, 3.52e6, 3.1e6), ["3.10 ms", "3.52 ms", "+0.42 ms"]);
        check((31e3, 1.4e6, 3.1e6), ["0.03 ms", "1.40 ms", "+1.37 ms"]);
        check((142_400.0, 90_000.0, 1e6), ["142 µs", "90 µs", "−52 µs"]);
        check((0.0, 12.0, 100.0), [NONE, "12.0 ns", "+12.0 ns"]);
        check((1_204e9, 1_204e9, 1.0), ["1,204 s", "1,204 s", "0"]);
        // A twentieth of a percent of the whole is rounding, and so is what no digit shows.
        check((10_000.0, 10_400.0, 1e6), ["10.0 µs", "10.4 µs", "0"]);
        check((1.001e6, 1.002e6, 0.0), ["1.00 ms", "1.00 ms", "0"]);
    }

    #[test]
    fn times_carry_a_unit_and_two_digits() {
        let check = |ns: f64, text: &str| assert_eq!(plain(&duration(ns)), text);
        check(0.0, "0 ns");
        check(142.4, "142 ns");
        check(9_840.0, "9.8 µs");
        check(10_449.0, "10.4 µs");
        check(312_000.0, "312 µs");
        check(999_600.0, "1.00 ms");
        check(1_420_000.0, "1.42 ms");
        check(31_260_000.0, "31 ms");
        check(1_995_700.0, "2.0 ms");
        check(9_960_000.0, "10.0 ms");
        check(140_400_000.0, "140 ms");
        check(5_000_000_000.0, "5 s");
    }

    #[test]
    fn a_value_has_the_digits_that_its_margin_permits() {
        let check = |value, low, high, text: &str| {
            assert_eq!(plain(&with_margin(Interval { value, low, high })), text);
        };
        check(1_204.3, Some(1_186.3), Some(1_222.3), "1,204 ± 18");
        check(52_143.7, Some(51_733.0), Some(52_553.0), "52,100 ± 400");
        check(12.4, Some(12.02), Some(12.78), "12.4 ± 0.4");
        check(1_817.4, None, None, "1,820");
        check(0.0, Some(0.0), Some(0.0), "0");
        // Neither destroys the value: "40,000 ± 30,000", "20,000 ± 80,000".
        check(43_210.0, Some(12_000.0), Some(74_000.0), "43,200 (too short for an interval)");
        check(20_000.0, Some(-60_000.0), Some(100_000.0), "20,000 (too short for an interval)");
        check(0.0, Some(0.0), Some(4.0), "0 (too short for an interval)");
        check(748.0, Some(690.0), Some(1_010.0), "750 (690–1,010)");
    }

    #[test]
    fn the_value_alone_keeps_its_thousands() {
        let interval = Interval { value: 52_143.7, low: Some(51_733.0), high: Some(52_553.0) };
        assert_eq!(plain(&value_alone(interval)), "52,100");
    }

    #[test]
    fn sizes_and_shares_read_well() {
        assert_eq!(plain(&bytes(64 << 20)), "64 MiB");
        assert_eq!(plain(&bytes(1_500_000_000)), "1.40 GiB");
        assert_eq!(plain(&percent(0.01)), "1.0 %");
        assert_eq!(plain(&percent(0.0003)), "0.03 %");
        assert_eq!(plain(&count(1_234_567)), "1,234,567");
        assert_eq!(plain(&trimmed(60.0, 1)), "60");
    }
}
