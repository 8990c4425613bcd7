//! What to do in a trial, as plain data.

use crate::stages::{self, Stage};
use measure::TimesKept;
use model::{Kind, Mix, Nanos, Skew};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// More workers than any machine of today serves; a typing error rather than a plan.
const WORKERS_MAX: u32 = 100_000;
/// Runtimes, and threads for deferred calls.
const THREADS_MAX: u32 = 1_024;
/// Slices of a trial: a day of seconds, with room for the drain.
const SLICES_MAX: u64 = 200_000;
/// Calls a second in an open loop, far beyond what one generator can send.
pub(crate) const RATE_MAX: f64 = 10_000_000.0;

/// A number of calls per second, over all workers.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RatePerSecond(pub f64);

/// What decides when the next call is due.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "arrivals", content = "rate")]
pub enum Arrivals {
    /// A worker's next call is due as soon as its last one is answered.
    Closed,
    /// The same with the keying and think times of each kind of call in between.
    Paced,
    /// An open loop: calls are due at equal distances, whether or not earlier ones have been answered.
    Constant(RatePerSecond),
    /// An open loop with independent arrivals: exponential distances.
    Poisson(RatePerSecond),
}

/// What terminals of a paced loop do between their calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Think {
    /// They key and think as long as the workload has it for each kind of call.
    #[default]
    Spec,
    /// They think for this long.
    Constant(Nanos),
    /// They think for a random time with this mean: negative exponential, cut at ten times the mean.
    Exponential(Nanos),
}

impl Think {
    /// For plans and results: `spec`, `100ms`, `exp:100ms`.
    #[must_use]
    pub fn words(self) -> String {
        let time = |time: Nanos| format!("{:?}", Duration::from(time));
        match self {
            Think::Spec => "spec".to_owned(),
            Think::Constant(think) => time(think),
            Think::Exponential(mean) => format!("exp:{}", time(mean)),
        }
    }
}

/// How calls of kinds that allow it are queued and executed later (TPC-C 2.7.2: Delivery).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deferred {
    /// Workers, with sessions of their own, that execute queued calls.
    pub workers: u32,
    /// Calls that may wait in the queue; a call that finds it full is refused.
    pub queue_max: u32,
    /// How long after the end of the window queued calls may still begin and end.
    pub limit: Nanos,
}

/// The window of a trial in rounds of the same length, between which other subjects make calls on the same data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// How many there are, an even number: half of them are in the mirrored order of the other half.
    pub number: u32,
    /// At the beginning of each, calls are made and nothing is counted for at least this long.
    pub uncounted: Nanos,
}

impl Rounds {
    /// More than an hour of short ones.
    pub const MAX: u32 = 10_000;
}

/// One of several processes that make the calls of a plan together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Which of them this is, from 0.
    pub index: u32,
    /// How many there are.
    pub of: u32,
    /// The number of its first worker among those of all.
    pub first_worker: u32,
    /// When calls begin, by the clock of the trial; as soon as all sessions are open where it is not given.
    pub starts: Option<Nanos>,
}

/// What to do in a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What decides when a call is due.
    pub arrivals: Arrivals,
    /// Stages of the window, each with a rate of its own; empty where it has one rate. [`Plan::arrivals`] is then an open loop with
    /// their mean rate, and [`Plan::measured`] is as long as they are together.
    pub stages: Vec<Stage>,
    /// What terminals do between their calls where arrivals are paced.
    pub think: Think,
    /// Which kinds of call are made, and how many of each, where that is not left to the workload. Inputs are drawn by it.
    pub mix: Option<Mix>,
    /// How unevenly the rows of calls are drawn, where that is not left to the workload.
    pub skew: Option<Skew>,
    /// Workers, each with one session and one stream of inputs.
    pub workers: u32,
    /// Threads that share the workers of an asynchronous target; a blocking target has one a worker.
    pub runtimes: u32,
    /// How long to run before the window.
    pub warmup: Nanos,
    /// How long the warm-up may get where it goes on until the engine is steady; no longer than [`Plan::warmup`] where
    /// this is shorter.
    pub warmup_max: Nanos,
    /// Length of the window.
    pub measured: Nanos,
    /// Set where the window is in several parts.
    pub rounds: Option<Rounds>,
    /// So many calls are made in the window, over all workers, and then it ends, if it has not ended before. In an open loop it
    /// ends when the last of them is due, otherwise when the last of them has ended.
    pub calls: Option<u64>,
    /// How long after the window calls that were due in it may still begin and end. What has not ended then is in
    /// doubt, what has not begun is dropped.
    pub drain_max: Nanos,
    /// How long what is still on its way after that is waited for before the stored data is audited, in workloads that leave
    /// something on its way. The load has ended then.
    pub settle_max: Nanos,
    /// How long a call may take before it is given up as in doubt. A blocking session cannot be interrupted: its call
    /// keeps whatever result it has when it returns.
    pub deadline: Nanos,
    /// Length of a slice of the time line.
    pub slice: Nanos,
    /// Seed of arrivals and think times; inputs have their own.
    pub seed: u64,
    /// Set where calls of kinds that allow it are to be queued.
    pub deferred: Option<Deferred>,
    /// Set where other processes make the other calls: [`Plan::workers`] are then those of this one, and of the timetable of an
    /// open loop, whose rate is that of all, it takes its share.
    pub part: Option<Part>,
}

/// A plan that cannot be carried out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A number outside its range.
    #[error("{what} is {given}; it must be {range}")]
    OutOfRange {
        what: &'static str,
        given: String,
        /// What would be right.
        range: String,
    },
    /// The workload has no pace of its own.
    #[error("no kind of call of this workload has keying or think times; use a closed or an open loop")]
    NoPace,
    /// The workload, or the mix, has no call that may be deferred.
    #[error("no kind of call that is made may be deferred")]
    NothingToDefer,
    /// The mix is one of other kinds.
    #[error("the mix is not one of the kinds of call of this workload")]
    Mix,
    /// Its numbers are out of range.
    #[error("the skew is out of range")]
    Skew,
}

/// A plan that several processes cannot carry out together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// More processes than workers.
    #[error("{workers} clients cannot be shared by {of} processes; each needs one at least")]
    TooMany { workers: u32, of: u32 },
    /// There is no such part.
    #[error("part {part} of {of} does not exist; parts are counted from 1 to their number")]
    NoPart { part: u64, of: u32 },
    /// It has something that they would have to agree upon while they make calls.
    #[error("{what} cannot be shared by several processes{hint}")]
    NotShared { what: &'static str, hint: &'static str },
}

impl Default for Deferred {
    /// One worker, a queue of 10,000 calls, and the 80 s that TPC-C allows.
    fn default() -> Deferred {
        Deferred { workers: 1, queue_max: 10_000, limit: Nanos::from_secs(80) }
    }
}

impl Default for Plan {
    /// One worker in a closed loop: 10 s of warm-up, a window of 60 s.
    fn default() -> Plan {
        Plan {
            arrivals: Arrivals::Closed,
            stages: Vec::new(),
            think: Think::Spec,
            mix: None,
            skew: None,
            workers: 1,
            runtimes: 1,
            warmup: Nanos::from_secs(10),
            warmup_max: Nanos::ZERO,
            measured: Nanos::from_secs(60),
            rounds: None,
            calls: None,
            drain_max: Nanos::from_secs(30),
            settle_max: Nanos::from_secs(60),
            deadline: Nanos::from_secs(30),
            slice: Nanos::from_secs(1),
            seed: 1,
            deferred: None,
            part: None,
        }
    }
}

impl Arrivals {
    /// Whether calls are due by a timetable, however fast they are answered.
    pub fn is_open(&self) -> bool {
        self.rate().is_some()
    }

    /// The rate of an open loop.
    pub fn rate(&self) -> Option<RatePerSecond> {
        match self {
            Arrivals::Closed | Arrivals::Paced => None,
            Arrivals::Constant(rate) | Arrivals::Poisson(rate) => Some(*rate),
        }
    }
}

impl Plan {
    /// How long the warm-up may get. Where the end of the window is a place in the timetable it does not go on.
    pub fn warmup_longest(&self) -> Nanos {
        let is_placed = !self.stages.is_empty() || self.calls.is_some() && self.arrivals.is_open();
        if is_placed { self.warmup } else { self.warmup.max(self.warmup_max) }
    }

    /// The plan of one of `of` processes that carry this one out together, by its index from 0. Each gets about as many workers, and
    /// every `of`-th arrival of an open loop.
    ///
    /// # Errors
    /// There are fewer workers than processes, or no process with that index; or the plan has something that processes would have to
    /// agree upon while they make calls.
    pub fn part(&self, index: u32, of: u32) -> Result<Plan, PartError> {
        if of == 0 || index >= of {
            return Err(PartError::NoPart { part: u64::from(index) + 1, of });
        }
        if of > self.workers {
            return Err(PartError::TooMany { workers: self.workers, of });
        }
        if self.deferred.is_some() {
            return Err(PartError::NotShared { what: "the queue of deferred calls", hint: "" });
        }
        if self.calls.is_some() && !self.arrivals.is_open() {
            let hint = ": none knows how many the others have made; give a duration, or a rate";
            return Err(PartError::NotShared { what: "a number of calls", hint });
        }
        let from = |index: u32| (u64::from(self.workers) * u64::from(index) / u64::from(of)) as u32;
        let first_worker = from(index);
        Ok(Plan {
            workers: from(index + 1) - first_worker,
            // How long one of them goes on with its warm-up the others do not know.
            warmup_max: Nanos::ZERO,
            part: Some(Part { index, of, first_worker, starts: None }),
            ..self.clone()
        })
    }

    /// The number of its first worker.
    pub fn first_worker(&self) -> u32 {
        self.part.map_or(0, |part| part.first_worker)
    }

    /// Length of the window of each of its rounds.
    pub fn round_measured(&self) -> Nanos {
        Nanos(self.measured.0 / u64::from(self.rounds.map_or(1, |rounds| rounds.number)))
    }

    /// Whether calls of the kind at an index are made.
    pub fn makes(&self, kind: usize) -> bool {
        self.mix.as_ref().is_none_or(|mix| mix.share(kind) > 0.0)
    }

    /// The same for a result. `attempts_max` is how often a call is tried.
    pub fn described(&self, kinds: &[Kind], attempts_max: u32) -> result::Plan {
        let planned = |stage: &Stage| result::Stage {
            duration_s: stage.length.as_secs_f64(),
            from_per_s: stage.from.0,
            to_per_s: stage.to.0,
        };
        result::Plan {
            clients: self.workers,
            generator_threads: self.runtimes,
            arrivals: match self.arrivals {
                Arrivals::Closed => result::Arrivals::Closed {},
                Arrivals::Paced => result::Arrivals::Paced { think: self.think.words() },
                Arrivals::Constant(rate) => result::Arrivals::Constant { rate_per_s: rate.0 },
                Arrivals::Poisson(rate) => result::Arrivals::Poisson { rate_per_s: rate.0 },
            },
            stages: self.stages.iter().map(planned).collect(),
            mix: self.mix.as_ref().map_or_else(Vec::new, |mix| shares(mix, kinds)),
            skew: self.skew.map(|skew| skew.to_string()),
            warmup_s: self.warmup.as_secs_f64(),
            warmup_max_s: Some(self.warmup_longest().as_secs_f64())
                .filter(|_| self.warmup_longest() > self.warmup),
            measured_s: self.measured.as_secs_f64(),
            rounds: self.rounds.map(|rounds| result::Rounds {
                number: rounds.number,
                uncounted_s: rounds.uncounted.as_secs_f64(),
            }),
            calls: self.calls,
            drain_s: self.drain_max.as_secs_f64(),
            deadline_ns: self.deadline.0,
            attempts_max,
            seed: self.seed,
            deferred: self.deferred.is_some(),
        }
    }

    /// Checks the plan against its own limits and against the kinds of call it is for.
    ///
    /// # Errors
    /// The first thing that is wrong, and what would be right.
    pub fn validate(&self, kinds: &[Kind]) -> Result<(), PlanError> {
        within("workers", self.workers, 1, WORKERS_MAX)?;
        within("runtimes", self.runtimes, 1, THREADS_MAX)?;
        positive("the measured window", self.measured)?;
        if self.calls == Some(0) {
            let (given, range) = ("zero".to_owned(), "1 or more".to_owned());
            return Err(PlanError::OutOfRange { what: "the number of calls", given, range });
        }
        if let Some(rounds) = self.rounds {
            within("the number of rounds", rounds.number, 2, Rounds::MAX)?;
        }
        positive("the drain", self.drain_max)?;
        positive("the deadline per call", self.deadline)?;
        positive("the slice", self.slice)?;
        let slices = (self.warmup_longest() + self.measured).0 / self.slice.0;
        if slices > SLICES_MAX {
            return Err(PlanError::OutOfRange {
                what: "the number of slices",
                given: slices.to_string(),
                range: format!("at most {SLICES_MAX}: use longer slices"),
            });
        }
        if let Some(RatePerSecond(rate)) = self.arrivals.rate()
            && !(rate > 0.0 && rate <= RATE_MAX)
        {
            return Err(PlanError::OutOfRange {
                what: "the rate",
                given: format!("{rate} calls per second"),
                range: format!("more than 0 and at most {RATE_MAX}"),
            });
        }
        if !self.stages.is_empty() {
            stages::validate(&self.stages, self.measured, self.slice)?;
        }
        if self.mix.as_ref().is_some_and(|mix| !mix.is_of(kinds.len())) {
            return Err(PlanError::Mix);
        }
        if self.skew.is_some_and(|skew| !skew.is_one()) {
            return Err(PlanError::Skew);
        }
        let by_kind = self.arrivals == Arrivals::Paced && self.think == Think::Spec;
        if by_kind && kinds.iter().all(|kind| kind.pace.is_none()) {
            return Err(PlanError::NoPace);
        }
        if let Some(deferred) = self.deferred {
            within("deferred workers", deferred.workers, 1, THREADS_MAX)?;
            within("the queue of deferred calls", deferred.queue_max, 1, u32::MAX)?;
            positive("the limit for deferred calls", deferred.limit)?;
            let may = |(at, kind): (usize, &Kind)| kind.deferred_p90_max.is_some() && self.makes(at);
            if !kinds.iter().enumerate().any(may) {
                return Err(PlanError::NothingToDefer);
            }
        }
        Ok(())
    }

    /// Ends of its stages, counted from the first moment of the window.
    pub(crate) fn stage_ends(&self) -> Vec<Nanos> {
        stages::ends(&self.stages)
    }

    /// Which times of a call differ under this plan: both in an open loop and where calls are deferred.
    pub fn times_kept(&self) -> TimesKept {
        if self.arrivals.is_open() || self.deferred.is_some() {
            TimesKept::ResponseAndService
        } else {
            TimesKept::Response
        }
    }
}

fn within(what: &'static str, given: u32, least: u32, most: u32) -> Result<(), PlanError> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(PlanError::OutOfRange { what, given: given.to_string(), range: format!("{least} to {most}") })
}

fn positive(what: &'static str, given: Nanos) -> Result<(), PlanError> {
    if given > Nanos::ZERO {
        return Ok(());
    }
    Err(PlanError::OutOfRange { what, given: "zero".to_owned(), range: "longer than zero".to_owned() })
}

/// A mix for a result: the kinds that are called, and the share of each.
pub fn shares(mix: &Mix, kinds: &[Kind]) -> Vec<result::Share> {
    let all = kinds.iter().enumerate();
    let all = all.map(|(at, kind)| result::Share { kind: kind.name.into(), share: mix.share(at) });
    all.filter(|share| share.share > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Pace;

    const PLAIN: Kind = Kind {
        name: "a",
        headline: true,
        declined_max: 0.0,
        pace: None,
        p90_max: None,
        deferred_p90_max: None,
        writes: true,
    };

    #[track_caller]
    fn refused(plan: Plan, message: &str) {
        assert_eq!(plan.validate(&[PLAIN]).unwrap_err().to_string(), message);
    }

    #[test]
    fn a_plan_that_cannot_be_carried_out_is_refused_with_what_would_be_right() {
        let plan = Plan::default;
        refused(Plan { workers: 0, ..plan() }, "workers is 0; it must be 1 to 100000");
        refused(
            Plan { measured: Nanos::ZERO, ..plan() },
            "the measured window is zero; it must be longer than zero",
        );
        let stages = |length, rate| {
            let rate = RatePerSecond(rate);
            let stage = Stage { length: Nanos::from_millis(length), from: rate, to: rate };
            Plan { arrivals: Arrivals::Poisson(rate), stages: vec![stage], ..plan() }
        };
        refused(
            stages(1_500, 5.0),
            "the length of a stage is 1.5 s; it must be a multiple of 1 s, and longer than zero",
        );
        refused(
            stages(1_000, 5.0),
            "the measured window is 60 s; it must be as long as its stages together, 1 s",
        );
        refused(
            stages(1_000, -1.0),
            "the rate is -1 calls per second; it must be more than 0 and at most 10000000",
        );
        refused(Plan { calls: Some(0), ..plan() }, "the number of calls is zero; it must be 1 or more");
        let rate = |rate| Plan { arrivals: Arrivals::Poisson(RatePerSecond(rate)), ..plan() };
        refused(rate(0.0), "the rate is 0 calls per second; it must be more than 0 and at most 10000000");
        refused(
            rate(f64::NAN),
            "the rate is NaN calls per second; it must be more than 0 and at most 10000000",
        );
        refused(
            Plan { slice: Nanos(1), ..plan() },
            "the number of slices is 70000000000; it must be at most 200000: use longer slices",
        );
        refused(
            Plan { arrivals: Arrivals::Paced, ..plan() },
            "no kind of call of this workload has keying or think times; use a closed or an open loop",
        );
        refused(
            Plan { deferred: Some(Deferred::default()), ..plan() },
            "no kind of call that is made may be deferred",
        );
    }

    #[test]
    fn a_workload_with_pace_and_deferral_can_use_both() {
        let pace = Some(Pace { keying: Nanos(1), think_mean: Nanos(1) });
        let kind = Kind { pace, deferred_p90_max: Some(Nanos(1)), ..PLAIN };
        let plan = Plan { arrivals: Arrivals::Paced, deferred: Some(Deferred::default()), ..Plan::default() };
        assert_eq!(plan.validate(&[PLAIN, kind]), Ok(()));
    }
}
