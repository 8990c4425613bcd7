//! Why a comparison cannot tell, in words that help: what was seen, how much of it the machine does by itself, and what
//! would tell.

use measure::{BLOCKS_MIN, blocks_to_tell};

/// More blocks than this no plan may have.
const BLOCKS_MAX: u32 = 1_000;
/// The least difference that a hint is given for; a margin of nothing is never told.
const SHARE_MIN: f64 = 0.001;

/// What there is to say about a comparison without an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Doubt<'a> {
    pub(super) found: &'a measure::Comparison,
    /// Ratios of the control; none without one.
    pub(super) control: &'a [f64],
    /// The share below which an effect is noise; nothing where too few blocks had a control.
    pub(super) noise_floor: Option<f64>,
    /// The largest difference that does not matter, as a share.
    pub(super) margin: f64,
}

impl Doubt<'_> {
    /// All of it; `metric` is what a sentence calls what is compared.
    pub(super) fn sentence(&self, metric: &str) -> String {
        let Some((low, high)) = self.found.interval else {
            return format!("Too few blocks for an interval: it takes {BLOCKS_MIN} or more.");
        };
        let help = self.help();
        // Below it, an interval beside 1 is a verdict.
        let floor = self.noise_floor.unwrap_or(0.0);
        if low > 1.0 || high < 1.0 {
            let way = if high < 1.0 { "lower" } else { "higher" };
            let [near, far] = if high < 1.0 { [1.0 - high, 1.0 - low] } else { [low - 1.0, high - 1.0] };
            return format!(
                "Within the noise of this machine: {metric} is {} to {} {way}, where the same subject against itself may \
                 differ by {}. {help}",
                number(near),
                percent(far),
                percent(floor)
            );
        }
        let noise = match self.noise_floor {
            Some(floor) => {
                format!("; on this machine the same subject against itself may differ by {}", percent(floor))
            }
            None => String::new(),
        };
        format!(
            "Too noisy to tell ±{}: {metric} may be {} lower or {} higher{noise}. {help}",
            percent(self.margin),
            percent(1.0 - low),
            percent(high - 1.0)
        )
    }

    /// What would tell a difference of the margin.
    fn help(&self) -> String {
        let share = self.margin.max(SHARE_MIN);
        let had = self.found.ratios.len() as u32;
        // A control that scatters more than what is compared is as much in the way.
        let needed = [&self.found.ratios, self.control].map(|ratios| blocks_to_tell(ratios, share));
        match needed.into_iter().flatten().max() {
            Some(blocks) if blocks > BLOCKS_MAX => {
                format!(
                    "No number of blocks up to {BLOCKS_MAX} would tell {}; a quieter machine may.",
                    percent(share)
                )
            }
            Some(blocks) if blocks > had => format!(
                "About {} blocks instead of {had} would tell {}, or trials {} times as long if what disturbs them averages \
                 out; fewer on a quieter machine.",
                rounded(blocks),
                percent(share),
                rounded(blocks.div_ceil(had))
            ),
            _ => "A few more blocks, longer trials or a quieter machine may tell.".into(),
        }
    }
}

/// Two digits, upwards: a scatter that a handful of blocks shows is not known better.
fn rounded(number: u32) -> u32 {
    let unit = 10_u32.pow(number.max(1).ilog10().saturating_sub(1));
    number.div_ceil(unit) * unit
}

/// In per cent; beyond a hundred a decimal says nothing.
fn number(share: f64) -> String {
    let decimals = usize::from(share < 1.0);
    format!("{:.decimals$}", share * 100.0)
}

/// `2.0 %`.
fn percent(share: f64) -> String {
    format!("{} %", number(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Better, Terms, Verdict, compare, noise_floor};

    /// What is said of ratios that cannot tell, with a control and a margin of 2 %.
    #[track_caller]
    fn said(ratios: &[f64], control: &[f64]) -> String {
        let floor = noise_floor(control, 1);
        let terms =
            Terms { better: Better::Higher, margin: 0.02, noise_floor: floor.unwrap_or(0.0), seed: 1 };
        let found = compare(ratios, &terms);
        assert_eq!(found.verdict, Verdict::CannotTell);
        Doubt { found: &found, control, noise_floor: floor, margin: 0.02 }.sentence("throughput")
    }

    const WILD: [f64; 5] = [0.9, 1.1, 0.95, 1.08, 1.0];
    const LOWER: [f64; 5] = [0.952, 0.95, 0.949, 0.951, 0.953];

    #[test]
    fn a_doubt_says_what_was_seen_what_the_machine_does_and_what_would_help() {
        let both = said(&WILD, &WILD);
        assert!(both.starts_with("Too noisy to tell ±2.0 %: throughput may be 9."), "{both}");
        assert!(
            both.contains(" % higher; on this machine the same subject against itself may differ by 1"),
            "{both}"
        );
        assert!(both.contains("blocks instead of 5 would tell 2.0 %, or trials "), "{both}");
        let within = said(&LOWER, &WILD);
        assert!(within.starts_with("Within the noise of this machine: throughput is 4."), "{within}");
        assert!(
            within.contains(" % lower, where the same subject against itself may differ by 1"),
            "{within}"
        );
        // What is in the way is the control's scatter, not the comparison's own.
        assert_eq!(within.split_once(". About").unwrap().1, both.split_once(". About").unwrap().1);
    }

    #[test]
    fn without_a_control_nothing_is_said_of_the_machine() {
        let alone = said(&WILD, &[]);
        assert!(alone.contains(" % higher. About"), "{alone}");
        assert_eq!(said(&WILD[..2], &[]), "Too few blocks for an interval: it takes 3 or more.");
    }

    #[test]
    fn a_hint_asks_for_no_more_than_can_be_run_and_for_no_precision_that_nobody_has() {
        let hopeless = said(&[0.4, 2.5, 1.0], &[]);
        assert!(
            hopeless.ends_with("No number of blocks up to 1000 would tell 2.0 %; a quieter machine may."),
            "{hopeless}"
        );
        let nearly = said(&[0.99, 1.0, 1.01, 1.03, 1.011], &[]);
        assert!(nearly.contains(" blocks instead of 5 would tell 2.0 %"), "{nearly}");
        assert_eq!([7, 42, 431, 999].map(rounded), [7, 42, 440, 1_000]);
    }
}
