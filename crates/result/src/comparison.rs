//! What trials of two subjects say about each other.

use super::text::capital;
use super::{AdjustedRatio, Interval};
use serde::{Deserialize, Serialize};

/// Two subjects under one plan, and a verdict. All effects are those of B against A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The factor under study: `route`, `adapter`, `durability`.
    pub factor: String,
    /// The same one by one: `engine`, `pool`, `stack.settings.work_mem`; empty where it is none that is known by name.
    pub factors: Vec<String>,
    pub a: Party,
    /// What is compared with it.
    pub b: Party,
    /// What is compared: `new orders/min`, `new-order.p99, ms`, `cpu, CPU s/1,000 calls`.
    pub metric: String,
    /// Whether more of it is better: of everything but times and costs.
    pub higher_is_better: bool,
    /// Whether it is a throughput at a rate that was given and that both sides kept, next to other metrics: it says nothing then, and no
    /// interval is widened for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rate_given: bool,
    /// Where the comparison keys differ.
    pub key_differences: Vec<KeyDifference>,
    /// Where the work a call takes differs.
    pub fingerprint_differences: Vec<FingerprintDifference>,
    /// The blocks, in the order in which they ran.
    pub blocks: Vec<Block>,
    /// Set where the blocks are too few to tell how much they differ: the ratio and its interval are then from so many groups of
    /// rounds within them, and how much starts differ was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_groups: Option<u32>,
    /// B through A, from the ratios of the blocks or of groups of rounds, with a 95 % interval (Student's t of their logarithms);
    /// `null` when no block is complete.
    pub ratio: Option<Interval>,
    /// The ratio adjusted for the machine's speed; absent where probes do not explain how much trials differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjusted: Option<AdjustedRatio>,
    /// The smallest effect that a repetition of these blocks would show as better or worse four times in five: 0.02 is 2 %.
    pub minimum_detectable_effect: Option<f64>,
    /// For how many comparisons with the same base, those in other metrics included, the interval is widened, so that all of
    /// them hold at once (Bonferroni); `null` where there is but this one.
    pub adjusted_for: Option<u32>,
    /// What the base measured against itself gives, which is a check of bias; `null` when no A/A control was run.
    pub noise: Option<Noise>,
    /// The loss that the user allows, 0 to 1; `null` when no limit was set.
    pub loss_max: Option<f64>,
    pub verdict: Verdict,
    /// The verdict in one sentence.
    pub sentence: String,
}

impl Comparison {
    /// The effect in words: `through HTTP costs 9.2 % of new orders/min vs direct (95 % CI 2.6–15.3 %)`; nothing without a ratio.
    pub fn effect(&self) -> Option<String> {
        let ratio = self.ratio?;
        let (a, b, what) = (&self.a.label, &self.b.label, self.what());
        let decided = matches!(self.verdict, Verdict::Better | Verdict::Worse);
        let within = |of: &dyn Fn(f64, f64) -> String| {
            let ends = ratio.low.zip(ratio.high);
            ends.map_or_else(String::new, |(low, high)| format!(" (95 % CI {})", of(low, high)))
        };
        let percent = |share: f64| format!("{:.1}", share * 100.0);
        Some(match ratio.value {
            value if decided && (!self.higher_is_better || value >= 2.0) => {
                let within = within(&|low, high| format!("{low:.2}–{high:.2}"));
                format!("{b} has {value:.2} times the {what} of {a}{within}")
            }
            value if decided && value < 1.0 => {
                let within = within(&|low, high| format!("{}–{} %", percent(1.0 - high), percent(1.0 - low)));
                format!("{b} costs {} % of {what} vs {a}{within}", percent(1.0 - value))
            }
            value if decided => {
                let within = within(&|low, high| format!("{}–{} %", percent(low - 1.0), percent(high - 1.0)));
                format!("{b} has {} % more {what} than {a}{within}", percent(value - 1.0))
            }
            value => {
                // The sentence of what is inconclusive has the interval.
                let within = match self.verdict {
                    Verdict::Inconclusive => String::new(),
                    _ => within(&|low, high| format!("{} to {}", signed(low - 1.0), signed(high - 1.0))),
                };
                format!("{b} vs {a}: {} {what}{within}", signed(value - 1.0))
            }
        })
    }

    /// The effect and the verdict in words.
    pub fn answer(&self) -> String {
        match (self.effect(), self.verdict) {
            (_, Verdict::Better | Verdict::Worse) => self.sentence.clone(),
            (Some(effect), _) => format!("{}. {}", capital(&effect), self.sentence),
            (None, _) => format!("{} vs {}: {}", capital(&self.b.label), self.a.label, self.sentence),
        }
    }

    /// What is compared, as a sentence calls it: `new orders/min`, `p99`, `CPU time per call`.
    fn what(&self) -> &str {
        match self.metric.split_once(", ") {
            None => &self.metric,
            Some(("cpu", _)) => "CPU time per call",
            Some((name, _)) => name,
        }
    }

    /// Whether the loss that the user allows is surely exceeded: the whole interval is beyond the limit, below it for a
    /// rate and above it for a time or a cost.
    pub fn loses_too_much(&self) -> bool {
        match (self.loss_max, self.ratio) {
            (Some(loss_max), Some(ratio)) if self.higher_is_better => {
                ratio.high.unwrap_or(ratio.value) < 1.0 - loss_max
            }
            (Some(loss_max), Some(ratio)) => ratio.low.unwrap_or(ratio.value) > 1.0 + loss_max,
            _ => false,
        }
    }

    /// How the loss that the user allows was kept; nothing where no limit was set.
    pub fn loss(&self) -> Option<Loss> {
        let loss_max = self.loss_max?;
        let is_met = self.ratio.is_some_and(|ratio| match (ratio.low, ratio.high) {
            (Some(low), Some(_)) if self.higher_is_better => low >= 1.0 - loss_max,
            (Some(_), Some(high)) => high <= 1.0 + loss_max,
            _ => false,
        });
        Some(match (self.loses_too_much(), is_met) {
            (true, _) => Loss::Exceeded,
            (false, true) => Loss::Met,
            (false, false) => Loss::Inconclusive,
        })
    }

    pub fn loss_words(&self) -> Option<&'static str> {
        Some(match self.loss()? {
            Loss::Exceeded => "is exceeded",
            Loss::Met => "is met",
            Loss::Inconclusive => "is inconclusive",
        })
    }
}

/// `−2.3 %`.
fn signed(share: f64) -> String {
    let sign = if share < 0.0 { '−' } else { '+' };
    format!("{sign}{:.1} %", share.abs() * 100.0)
}

/// Whether a loss stays within what the user allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The whole interval is beyond the limit.
    Exceeded,
    /// The whole interval is within it.
    Met,
    /// Neither, or there is no interval.
    Inconclusive,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Party {
    pub subject: String,
    /// What to call it in a sentence: `direct`, `through HTTP`.
    pub label: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    A,
    /// What is compared with it.
    B,
}

/// A field of the comparison key in which the two differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyDifference {
    /// The field: `stack.route`.
    pub field: String,
    pub a: String,
    pub b: String,
    /// Whether this difference is no reason against the comparison: it is what that is about, or a library's version.
    pub intended: bool,
    /// Whether it is another version of a library and nothing that the comparison is about.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub library: bool,
}

/// A measure of work in which a kind of call differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FingerprintDifference {
    /// The kind of call; `all kinds` where the engine counts them together.
    pub kind: String,
    /// `statements`, `rows` or `commits` of a kind; `log bytes` or `pages read` of all kinds; each a committed call.
    pub measure: String,
    pub a: f64,
    pub b: f64,
}

impl FingerprintDifference {
    /// What differs: `statements per call of new-order`.
    pub fn words(&self) -> String {
        format!("{} per call of {}", self.measure, self.kind)
    }
}

/// Trials that ran next to each other, so that a slow change of the machine hits both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// In the order in which they ran.
    pub trials: Vec<BlockTrial>,
    /// B through the geometric mean of the trials of A within this block; `null` if one of them has no rate.
    pub ratio: Option<f64>,
}

impl Block {
    /// What a side did in this block: the geometric mean of its trials, of which a base with an A/A control has two, since
    /// ratios are taken. Nothing without a trial.
    pub fn rate(&self, side: Side) -> Option<f64> {
        let rates: Vec<f64> =
            self.trials.iter().filter(|trial| trial.side == side).map(|trial| trial.rate).collect();
        let logs = rates.iter().map(|rate| rate.ln()).sum::<f64>();
        match rates.as_slice() {
            [] => None,
            // One is shown as it was measured, to the last digit.
            [only] => Some(*only),
            all => Some((logs / all.len() as f64).exp()),
        }
    }

    /// The sides in the order in which they ran: `ABA`.
    pub fn order(&self) -> String {
        self.trials.iter().map(|trial| if trial.side == Side::A { 'A' } else { 'B' }).collect()
    }
}

/// One trial of a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockTrial {
    /// Its place in the order of the whole run, from 0.
    pub order: u32,
    /// Which side it is of.
    pub side: Side,
    pub subject: String,
    /// The rate, in the comparison's metric.
    pub rate: f64,
    /// Its index in [`super::Document::trials`].
    pub trial: usize,
}

/// The A/A control: the base against itself, of which both trials count for the base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    pub subject: String,
    pub blocks: u32,
    /// The ratio of its second trial to its first.
    pub ratio: Interval,
}

impl Noise {
    /// Whether the base measured twice differs from itself by more than its scatter: the interval does not hold 1. Chance
    /// alone does so in one control of 20.
    pub fn is_biased(&self) -> bool {
        self.ratio.low.zip(self.ratio.high).is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }
}

worded! {
    /// What may be said about B against A.
    Verdict, words {
        /// B is faster, surely.
        Better = "better",
        /// B is slower, surely.
        Worse = "worse",
        /// If there is a difference, it is smaller than stated.
        NoDifference = "no difference",
        /// The trials are too few or too noisy.
        Inconclusive = "inconclusive",
        /// They did not do the same work, or more than the factor differs.
        NotComparable = "not comparable",
    }
}
