//! Who looks on while trials run, and what there is to see.

use deploy::{Reporter, Subject};
use measure::{CallCounts, Phase, Slice, Totals};
use model::{Kind, Nanos};
use result::{Document, Experiment, Headline};
use workload::Benchmark;

/// Someone who follows runs.
pub trait RunReporter: Reporter {
    /// Follows one trial, which ends with what is returned.
    fn follow(&self, what: &str) -> Box<dyn TrialReporter>;

    /// Which variant the next trial is of, and in which block, counted from 1.
    fn place(&self, variant: &str, block: u32);

    /// How far a run of several trials has come: its document as it is now, and the experiment where that does not say it
    /// yet, which is asked for only if someone looks.
    fn board(&self, document: &Document, shown: &dyn Fn() -> Option<Experiment>);
}

pub trait TrialReporter {
    fn slice(&mut self, view: &SliceView<'_>);
}

/// What there is to see of a trial when a slice has ended.
#[derive(Debug)]
pub struct SliceView<'a> {
    /// What is measured now: a subject, a variant.
    pub what: &'a str,
    pub subject: &'static Subject,
    /// What the load generator does.
    pub plan: &'a drive::Plan,
    /// Kinds of calls of the workload, in the order of those of `totals`.
    pub kinds: &'static [Kind],
    /// What its rate counts: `new orders/min`; `calls/s` where that is how its rate was given.
    pub rate_unit: &'static str,
    /// Seconds in the unit of its rate.
    pub rate_seconds: f64,
    /// The slices so far, never none.
    pub slices: &'a [Slice],
    /// Everything so far: at least what the slices count.
    pub totals: &'a Totals,
    /// Counts of the calls that ended before the window.
    pub warmup: CallCounts,
    /// Counts of the calls that were due in the window.
    pub call_counts: &'a CallCounts,
    /// Whether the engine or the server is away now.
    pub away: bool,
    /// Length of those of the slices that are of the window.
    pub window: Nanos,
    /// Time until the window closes: where it ends with a number of calls, at their rate so far.
    pub left: Nanos,
    /// What the watched processes use.
    pub usage: Vec<observe::Usage>,
}

/// What the rate of a plan counts while its calls are made, and the seconds in its unit.
pub(crate) fn rate_shown<W: Benchmark>(plan: &drive::Plan) -> (&'static str, f64) {
    match schedule::rate_unit::<W>(plan) {
        unit if unit == W::RATE_UNIT && !plan.arrivals.is_open() => (unit, W::RATE_SECONDS),
        _ => (Headline::CALLS_PER_S, 1.0),
    }
}

impl SliceView<'_> {
    /// The slice that has just ended.
    pub fn slice(&self) -> &Slice {
        self.slices.last().expect("a view is of a slice")
    }

    /// The kinds of call that its rate counts, by their place: all that are made where none of the headline's is, or where the rate of
    /// all was given.
    pub fn kinds_counted(&self) -> Vec<usize> {
        let made = || (0..self.kinds.len()).filter(|at| self.plan.makes(*at));
        let headline: Vec<usize> = made().filter(|at| self.kinds[*at].headline).collect();
        if headline.is_empty() || self.plan.arrivals.is_open() { made().collect() } else { headline }
    }

    /// `warm-up`, `measured` or `drain`.
    pub fn phase(&self) -> &'static str {
        match self.slice().phase {
            Phase::WarmUp => "warm-up",
            Phase::Measured => "measured",
            Phase::Drain => "drain",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rate_shown;
    use drive::{Arrivals, Plan, RatePerSecond};
    use workload_tpcc::Tpcc;

    #[test]
    fn a_rate_that_was_given_is_shown_in_its_own_unit() {
        assert_eq!(rate_shown::<Tpcc>(&Plan::default()), ("new orders/min", 60.0));
        let given = Plan { arrivals: Arrivals::Poisson(RatePerSecond(100.0)), ..Plan::default() };
        assert_eq!(rate_shown::<Tpcc>(&given), ("calls/s", 1.0));
    }
}
