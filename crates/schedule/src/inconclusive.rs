//! Why a comparison cannot tell, in words that help: what was seen, and what would tell.

use measure::{BLOCKS_MIN, Terms, blocks_to_tell};

/// More blocks than this no plan may have.
const BLOCKS_MAX: u32 = 1_000;
/// The least difference that a hint is given for; a margin of nothing is never told.
const SHARE_MIN: f64 = 0.001;

/// What there is to say about a comparison without an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inconclusive<'a> {
    pub(crate) found: &'a measure::Comparison,
    /// Under which it was judged.
    pub(crate) terms: &'a Terms,
    /// Whether the ratios are of groups of rounds and not of blocks.
    pub(crate) by_rounds: bool,
}

impl Inconclusive<'_> {
    /// All of it; `metric` is what a sentence calls what is compared.
    pub(crate) fn sentence(&self, metric: &str) -> String {
        let Some((low, high)) = self.found.interval else {
            let what = if self.by_rounds { "groups of rounds" } else { "blocks" };
            return format!("Too few {what} for an interval: at least {BLOCKS_MIN} are needed.");
        };
        format!(
            "Inconclusive at ±{}: {metric} 95 % CI {} to {}. {}",
            percent(self.terms.margin),
            signed(low - 1.0),
            signed(high - 1.0),
            self.help()
        )
    }

    /// What would tell a difference of the margin.
    fn help(&self) -> String {
        let share = self.terms.margin.max(SHARE_MIN);
        let had = self.found.ratios.len() as u32;
        match blocks_to_tell(&self.found.ratios, share, self.terms.comparisons) {
            Some(groups) if self.by_rounds => format!(
                "Measure {} times as long to resolve {}, or use a quieter machine.",
                rounded(groups.div_ceil(had).max(2)),
                percent(share)
            ),
            Some(blocks) if blocks > BLOCKS_MAX => {
                format!(
                    "No number of blocks up to {BLOCKS_MAX} resolves {}; use a quieter machine.",
                    percent(share)
                )
            }
            Some(blocks) if blocks > had => format!(
                "Use --blocks {} to resolve {}, or trials {} times as long if the noise averages out; fewer on a quieter machine.",
                rounded(blocks),
                percent(share),
                rounded(blocks.div_ceil(had))
            ),
            _ => "Use a few more blocks, longer trials or a quieter machine.".into(),
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

/// `+2.0 %`.
fn signed(share: f64) -> String {
    let sign = if share < 0.0 { '−' } else { '+' };
    format!("{sign}{}", percent(share.abs()))
}

/// `2.0 %`.
fn percent(share: f64) -> String {
    format!("{} %", number(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Better, Verdict, compare};

    const TERMS: Terms = Terms { better: Better::Higher, margin: 0.02, comparisons: 1 };

    /// What is said of ratios that cannot tell a margin of 2 %.
    #[track_caller]
    fn sentence_of(ratios: &[f64], terms: &Terms) -> String {
        let found = compare(ratios, terms);
        assert_eq!(found.verdict, Verdict::Inconclusive);
        Inconclusive { found: &found, terms, by_rounds: false }.sentence("throughput")
    }

    const WILD: [f64; 5] = [0.9, 1.1, 0.95, 1.08, 1.0];

    #[test]
    fn a_doubt_says_what_was_seen_and_what_would_help() {
        let single = sentence_of(&WILD, &TERMS);
        assert!(single.starts_with("Inconclusive at ±2.0 %: throughput 95 % CI −9."), "{single}");
        assert!(single.contains(" %. Use --blocks"), "{single}");
        assert!(single.contains(" to resolve 2.0 %, or trials "), "{single}");
        assert_eq!(sentence_of(&WILD[..2], &TERMS), "Too few blocks for an interval: at least 3 are needed.");
    }

    #[test]
    fn one_of_many_variants_takes_more_blocks() {
        let blocks = |comparisons: u32| -> u32 {
            let sentence_of = sentence_of(&WILD, &Terms { comparisons, ..TERMS });
            let (_, number) = sentence_of.split_once("Use --blocks ").unwrap();
            number.split_once(' ').unwrap().0.parse().unwrap()
        };
        assert!(blocks(6) > blocks(1));
    }

    #[test]
    fn a_hint_asks_for_no_more_than_can_be_run_and_for_no_precision_that_no_one_has() {
        let stopped = sentence_of(&[0.4, 2.5, 1.0], &TERMS);
        assert!(
            stopped.ends_with("No number of blocks up to 1000 resolves 2.0 %; use a quieter machine."),
            "{stopped}"
        );
        let nearly = sentence_of(&[0.99, 1.0, 1.01, 1.03, 1.011], &TERMS);
        assert!(nearly.contains(" to resolve 2.0 %"), "{nearly}");
        assert_eq!([7, 42, 431, 999].map(rounded), [7, 42, 440, 1_000]);
    }
}
