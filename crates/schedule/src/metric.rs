//! What is compared: throughput, a percentile of the response time, or what a call costs in CPU time.

use anyhow::{Result, bail};
use measure::Better;
use model::Kind;
use result::{Headline, Level, Metric, State, Tally, Trial};
use workload::Benchmark;

/// Percentiles by name, with their places in thousandths.
pub const QUANTILES: [(&str, u64); 5] =
    [("p50", 500), ("p90", 900), ("p95", 950), ("p99", 990), ("p99.9", 999)];

/// A figure of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Measured {
    /// The headline of the workload.
    Throughput,
    /// Response time of the calls that were due, of one kind or of all.
    Response {
        /// All kinds, where there is none.
        kind: Option<&'static str>,
        /// One of [`QUANTILES`].
        quantile: &'static str,
    },
    /// Processor time of all processes.
    Cpu,
}

impl Measured {
    /// The metric of that name: `throughput`, `p99`, `new-order.p99`, `cpu`.
    ///
    /// # Errors
    /// When there is none: says what there is.
    pub fn named(name: &str, kinds: &[Kind]) -> Result<Measured> {
        let mut quantiles = QUANTILES.iter().map(|(quantile, _)| *quantile);
        let (kind, quantile) = match name.split_once('.').filter(|_| quantiles.clone().all(|one| one != name))
        {
            Some((kind, quantile)) => (Some(kind), quantile),
            None => (None, name),
        };
        let known = |kind: &str| kinds.iter().map(|known| known.name).find(|known| *known == kind);
        match (name, kind.map(known), quantiles.clone().find(|known| *known == quantile)) {
            ("throughput", ..) => Ok(Measured::Throughput),
            ("cpu", ..) => Ok(Measured::Cpu),
            (_, None, Some(quantile)) => Ok(Measured::Response { kind: None, quantile }),
            (_, Some(Some(kind)), Some(quantile)) => Ok(Measured::Response { kind: Some(kind), quantile }),
            _ => {
                let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
                bail!(
                    "no metric `{name}`; there are throughput, cpu, {} of all calls, and of one kind such as {}.p99 \
                     (kinds: {})",
                    quantiles.by_ref().collect::<Vec<_>>().join(", "),
                    kinds.first().unwrap_or(&"KIND"),
                    kinds.join(", ")
                )
            }
        }
    }

    /// Its name, which [`Measured::named`] reads.
    pub fn name(&self) -> String {
        match self {
            Measured::Throughput => "throughput".into(),
            Measured::Response { kind: None, quantile } => (*quantile).into(),
            Measured::Response { kind: Some(kind), quantile } => format!("{kind}.{quantile}"),
            Measured::Cpu => "cpu".into(),
        }
    }

    /// Whether a plan makes calls that it could be of.
    pub(crate) fn is_known_of(&self, kinds: &[Kind], plan: &drive::Plan) -> bool {
        let Measured::Response { kind: Some(kind), .. } = self else { return true };
        kinds.iter().position(|known| known.name == *kind).is_some_and(|at| plan.makes(at))
    }

    /// Which way is good.
    pub fn better(&self) -> Better {
        match self {
            Measured::Throughput => Better::Higher,
            Measured::Response { .. } | Measured::Cpu => Better::Lower,
        }
    }

    /// As the document has it. `plan` is that of any variant.
    pub fn described<W: Benchmark>(&self, plan: &drive::Plan) -> Metric {
        let unit = match self {
            Measured::Throughput => rate_unit::<W>(plan),
            Measured::Response { .. } => "ms",
            Measured::Cpu => "CPU s/1,000 calls",
        };
        let higher_is_better = self.better() == Better::Higher;
        Metric { name: self.name(), unit: unit.into(), higher_is_better }
    }

    /// What a sentence calls it.
    pub fn words(&self) -> String {
        match self {
            Measured::Throughput => "throughput".into(),
            Measured::Response { kind: None, quantile } => format!("the {quantile} of the response time"),
            Measured::Response { kind: Some(kind), quantile } => format!("the {quantile} of {kind}"),
            Measured::Cpu => "CPU time per call".into(),
        }
    }

    /// Why the figure of a whole trial may not be known, and what to do.
    pub fn why_unknown(&self) -> &'static str {
        match self {
            Measured::Throughput => "nothing that it counts was committed",
            Measured::Response { .. } => "too few calls: measure longer, or use a lower percentile",
            Measured::Cpu => "the processes were not observed, or committed nothing",
        }
    }

    /// Why the figure of a whole trial is slower than any other, if so: the percentile is a call that was never answered.
    pub fn unbounded(&self, trial: &Trial) -> Option<String> {
        let Measured::Response { kind, quantile } = self else { return None };
        let tally = tally(trial, *kind).filter(|_| trial.state == State::Complete)?;
        let all = tally.all_due.filter(|_| tally.level(place(quantile)) == Level::Unbounded)?;
        Some(format!("in a trial {} of {} calls due were never answered", all.unanswered, all.calls))
    }

    /// The figure of a trial, more than zero; nothing where it is not known, or too few calls stand behind it.
    pub fn of(&self, trial: &Trial) -> Option<f64> {
        let value = match self {
            Measured::Throughput => Some(trial.headline.value.value),
            Measured::Response { kind, quantile } => response(tally(trial, *kind)?, quantile),
            Measured::Cpu => {
                let of_each = trial.processes.iter().map(|process| process.cpu_ms_per_1000_committed);
                of_each.sum::<Option<f64>>().map(|ms| ms / 1e3)
            }
        };
        value.filter(|value| *value > 0.0)
    }
}

/// What the throughput of a plan counts: all calls where its mix has none of those that the headline counts.
pub fn rate_unit<W: Benchmark>(plan: &drive::Plan) -> &'static str {
    let own = W::KINDS.iter().enumerate().any(|(at, kind)| kind.headline && plan.makes(at));
    if own { W::RATE_UNIT } else { Headline::CALLS_PER_S }
}

fn tally<'a>(trial: &'a Trial, kind: Option<&str>) -> Option<&'a Tally> {
    match kind {
        None => Some(&trial.overall),
        Some(kind) => trial.kinds.iter().find(|of| of.name == kind).map(|of| &of.tally),
    }
}

/// The place of a percentile in thousandths.
pub fn place(quantile: &str) -> u64 {
    QUANTILES.iter().find(|(known, _)| *known == quantile).map_or(999, |(_, place)| *place)
}

/// Over all calls that were due.
fn response(tally: &Tally, quantile: &str) -> Option<f64> {
    match tally.level(place(quantile)) {
        Level::Known(ns) => Some(ns as f64 / 1e6),
        Level::Unbounded | Level::TooFew => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Workload;
    use workload_tpcc::Tpcc;

    #[test]
    fn metrics_are_read_by_the_names_that_they_are_written_by() {
        for name in ["throughput", "cpu", "p50", "p99.9", "new-order.p99", "payment.p99.9"] {
            assert_eq!(Measured::named(name, Tpcc::KINDS).unwrap().name(), name);
        }
        for name in
            ["", "speed", "p98", "new-order", "new-order.p98", "booking.p99", "cpu.p99", "new-order.cpu"]
        {
            let error = Measured::named(name, Tpcc::KINDS).unwrap_err().to_string();
            assert!(error.contains("new-order.p99"), "{name}: {error}");
        }
    }

    #[test]
    fn a_figure_comes_from_where_its_name_says() {
        let trial = sample_documents::trial().trials.swap_remove(0);
        let of = |name: &str| Measured::named(name, Tpcc::KINDS).unwrap().of(&trial);
        assert_eq!(of("throughput"), Some(trial.headline.value.value));
        let new_order = &trial.kinds.iter().find(|kind| kind.name == "new-order").unwrap().tally;
        let Level::Known(p99) = new_order.level(990) else { panic!("the sample has a p99") };
        assert_eq!(of("new-order.p99"), Some(p99 as f64 / 1e6));
        assert!(of("cpu").is_some_and(|seconds| seconds > 0.0));
    }
}
