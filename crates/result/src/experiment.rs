//! What the trials of several variants say about each other.

use super::{Comparison, Setting};
use serde::{Deserialize, Serialize};

/// Variants under one plan, in blocks. Each but the bases is compared with its base in a [`Comparison`] of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its short name: `http-tax`.
    pub name: String,
    /// What it asks; `null` for a comparison given on the command line.
    pub question: Option<String>,
    /// What is compared, and what the headline tells.
    pub metric: Metric,
    /// What is compared besides, in the order in which it was named.
    pub further_metrics: Vec<Metric>,
    /// The variants, in the order in which they were named. Controls come right after what they control.
    pub variants: Vec<Variant>,
    /// For each block, the variants in the order in which they ran: indexes into `variants`.
    pub blocks: Vec<Vec<usize>>,
    /// Blocks that were planned; more than there are in `blocks` while it runs, or when it was interrupted.
    pub blocks_planned: u32,
    /// One for each metric and each variant that has a base and is not a control: those of `metric` in the order of the
    /// variants, then those of each further metric in the same order. Controls are the `noise` of the comparisons with the
    /// same base.
    pub comparisons: Vec<Comparison>,
    /// Where the time of the experiment itself went.
    pub spent: Spent,
}

impl Experiment {
    /// Each metric with its comparisons, the headline first.
    pub fn by_metric(&self) -> impl Iterator<Item = (&Metric, &[Comparison])> {
        let each = self.comparisons.len() / (1 + self.further_metrics.len());
        let metrics = std::iter::once(&self.metric).chain(&self.further_metrics);
        metrics.enumerate().map(move |(at, metric)| (metric, &self.comparisons[at * each..(at + 1) * each]))
    }
}

/// What is compared, and which way is good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// `throughput`, `p99`, `new-order.p99`, `cpu`.
    pub name: String,
    /// Its unit: `new orders/min`, `ms`, `CPU s/1,000 calls`.
    pub unit: String,
    /// Whether more of it is better.
    pub higher_is_better: bool,
}

impl Metric {
    /// As a [`Comparison`] names what it compares: `new orders/min`, `new-order.p99, ms`, `cpu, CPU s/1,000 calls`.
    pub fn column(&self) -> String {
        match self.name.as_str() {
            "throughput" => self.unit.clone(),
            name => format!("{name}, {}", self.unit),
        }
    }

    /// Its name in a heading or a sentence: `throughput`, `new-order.p99`, `CPU time`.
    pub fn words(&self) -> &str {
        match self.name.as_str() {
            "cpu" => "CPU time",
            name => name,
        }
    }
}

/// One subject with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// What it is called: `through HTTP`.
    pub name: String,
    pub subject: String,
    /// What was asked for beyond the defaults: settings, pool, limits.
    pub settings: Vec<Setting>,
    /// The variant that it is compared with; `null` for a base.
    pub base: Option<usize>,
    /// Whether it is its base once more: an A/A control.
    pub control: bool,
    /// Whether another run has measured its trials.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stored: bool,
    /// What became of it.
    pub state: VariantState,
    /// Why it has no result, where it has none.
    pub reason: Option<String>,
    /// Its trial in each block, an index into the document's trials; `null` where there is none.
    pub trials: Vec<Option<usize>>,
}

/// What became of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VariantState {
    /// Its trials count, as far as they have run.
    Measured,
    /// It could not be started or conformed to.
    NotStarted,
    /// An audit of it failed, or a trial of it: no ratio is given for it.
    Invalid,
}

/// Where the time of an experiment went, in seconds. The rest, up to `total_s`, is the harness's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// From its start to its end; of a resumed one, the sum over its parts.
    pub total_s: f64,
    /// Loading, once for each place.
    pub load_s: f64,
    /// Restoring the state before each trial.
    pub restore_s: f64,
    /// Warm-ups, windows, and the beginnings of rounds in which nothing is counted.
    pub measured_s: f64,
    /// Audits and conformance.
    pub check_s: f64,
}
