//! How a bench prints: what, figures, ratio, goal, one line each, aligned.

use crate::pairs::{Ratio, Spread};

/// What is measured, and how.
pub fn title(text: &str) {
    line("", text);
}

/// A figure with its name.
pub fn figure(name: &str, text: &str) {
    line(name, text);
}

/// A ratio in per cent, with its interval.
pub fn ratio(name: &str, ratio: Ratio) {
    let percent = |share: f64| format!("{:.2}", share * 100.0);
    let (low, high) = ratio.interval;
    let (median, low, high, pairs) = (percent(ratio.median), percent(low), percent(high), ratio.pairs);
    line(name, &format!("{median} %  (95 % interval {low} to {high}, {pairs} pairs)"));
}

/// A goal, and whether it is met.
pub fn goal(text: &str, met: bool) {
    line("goal", &format!("{text}: {}", if met { "met" } else { "MISSED" }));
}

/// Why there are no figures.
pub fn skipped(why: &str) {
    line("skipped", why);
}

/// A median with the lowest and the highest, `digits` after the point.
pub fn spread(figures: &[f64], digits: usize) -> String {
    let Spread { median, low, high } = Spread::of(figures);
    format!("{} ({} to {})", number(median, digits), number(low, digits), number(high, digits))
}

/// A number with its thousands apart.
pub fn number(value: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", value.abs());
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(w, f)| (w, Some(f)));
    let mut apart = String::new();
    for (at, digit) in whole.char_indices() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    fraction.map_or(format!("{sign}{apart}"), |fraction| format!("{sign}{apart}.{fraction}"))
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn line(name: &str, text: &str) {
    if name.is_empty() {
        println!("{text}");
    } else {
        println!("  {name:<34} {text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(number(1_234_567.891, 2), "1,234,567.89");
        assert_eq!(number(-999.6, 0), "-1,000");
        assert_eq!(number(0.5, 1), "0.5");
        assert_eq!(spread(&[1.0, 3.0, 2.0], 0), "2 (1 to 3)");
    }
}
