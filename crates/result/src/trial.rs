//! One trial: a measured period of one subject.

use super::{
    Audit, Check, Clocked, Conformance, Data, DeclineRise, Demand, Disk, Engine, Facet, Gap, Grouping,
    InputCheck, Interval, LedgerCheck, LoadPart, Machine, MachineWide, Missing, Moment, Outage, Plan,
    Process, Published, Quantiles, Refused, Rule, ShortLine, Silence, Slice, SloCheck, SpeedAround, Stack,
    StageTally, State, Tally, Writeback,
};
use serde::{Deserialize, Serialize};

/// A measured period of one subject.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// The subject: `tpcc/sqlite/rusqlite`.
    pub subject: String,
    pub started: Moment,
    pub state: State,
    /// What ended it, where the state is `failed`.
    pub failure: Option<String>,
    /// Why a search ended it early, where it had seen enough; its state is then `interrupted`.
    pub ended_early: Option<String>,
    pub stack: Stack,
    pub plan: Plan,
    /// The data it worked on.
    pub data: Data,
    /// The machine it ran on.
    pub machine: Machine,
    /// Real length of the warm-up in seconds, where it went on until the engine was steady; where the window is in
    /// rounds, of all times in which nothing was counted. See [`Trial::warmed_s`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_s: Option<f64>,
    /// Real length of the window in seconds.
    pub measured_s: f64,
    /// The parts of the window, where it has several, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// The number to remember.
    pub headline: Headline,
    /// All kinds of call together.
    pub overall: Tally,
    /// What was asked for and what was left waiting; `null` before the first call.
    pub demand: Option<Demand>,
    /// Each stage of the window, where it has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageTally>,
    /// Each kind of call, in the order of reports.
    pub kinds: Vec<KindTally>,
    /// The time line, warm-up included.
    pub slices: Vec<Slice>,
    /// The same in short, where the trial is one of several of a run, whose document has no slices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<ShortLine>,
    /// What each process cost.
    pub processes: Vec<Process>,
    /// What the kernel took to write data back and keep journals; `null` where nothing was observed.
    pub writeback: Option<Writeback>,
    /// What the whole machine did; `null` where nothing was observed.
    pub machine_wide: Option<MachineWide>,
    /// How fast the machine was around it, where it is one of several trials that follow one another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_speed: Option<SpeedAround>,
    /// The device under the database; `null` where there is none (tmpfs) or it was not observed.
    pub disk: Option<Disk>,
    /// What the engine reported; `null` where it was not asked.
    pub engine: Option<Engine>,
    /// The times without the engine or the server, in their order.
    pub outages: Vec<Outage>,
    /// What calls were refused for, the most first.
    pub refusals: Vec<Refused>,
    /// The times in which the load generator or its machine did not run, in their order.
    pub gaps: Vec<Gap>,
    /// The times in which no call completed; `null` where none did at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Silence>,
    /// When the service came to decline most of what it had accepted, if it did: [`DeclineRise`] says which rates are given then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decline_rise: Option<DeclineRise>,
    /// How its calls shared durable commits; `null` where each has one of its own.
    pub grouping: Option<Grouping>,
    /// How what was still under way at the end of the load came to its end; `null` where nothing ever is.
    pub settled: Option<Settled>,
    /// What was published from its outbox; nothing where there is none, or no one publishes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// Checks of the stored data.
    pub audits: Vec<Audit>,
    /// Acknowledged outcomes against the stored data.
    pub ledger: Vec<LedgerCheck>,
    /// Distributions of what was really sent.
    pub inputs: Vec<InputCheck>,
    /// Whether this subject answered rightly on tiny data before it was measured.
    pub conformance: Conformance,
    /// Limits that were set on it with `--slo`; nothing where none was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slos: Vec<SloCheck>,
    /// Findings about this result.
    pub rules: Vec<Rule>,
    /// The processes that made its calls, where they were several, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<LoadPart>,
    /// Queued calls that were done later; `null` where none were.
    pub deferred: Option<Deferred>,
    /// Throughput against the most that the pace allows; `null` without pacing.
    pub efficiency: Option<Efficiency>,
    /// The first messages of defects, ten at most.
    pub defects: Vec<String>,
    /// Anything a reader of this trial must know, one sentence each.
    pub notes: Vec<String>,
}

/// A part of a window, between which other subjects made calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// When it began, in seconds since the subjects began to take turns.
    pub t_s: f64,
    /// Committed calls per second in it, of the kinds that the headline counts.
    pub rate_per_s: f64,
}

impl Trial {
    /// Whether the engine took no writes for a while: the disk was full, or it had been made read-only.
    pub fn lacked_writes(&self) -> bool {
        self.outages.iter().any(|outage| outage.missing == Missing::Writes)
    }

    /// Whether rates are of this slice among others: it was measured, and is not on the other side of a [`DeclineRise`].
    pub fn is_rated(&self, slice: &Slice) -> bool {
        let middle_s = slice.t_s + slice.duration_s / 2.0;
        let is_its = |rise: &DeclineRise| match rise.declined_before {
            Some(_) => middle_s < rise.from_s,
            None => middle_s > rise.to_s,
        };
        !slice.warmup && self.decline_rise.as_ref().is_none_or(is_its)
    }

    /// Real length of the warm-up in seconds.
    pub fn warmed_s(&self) -> f64 {
        self.warmup_s.unwrap_or(self.plan.warmup_s)
    }

    /// Calls of all kinds that committed in the window, whenever they were due: what costs are divided by.
    pub fn committed(&self) -> f64 {
        match &self.decline_rise {
            Some(rise) => rise.committed as f64,
            None => self.overall.rate_per_s.value * self.measured_s,
        }
    }

    /// The position of the kind that the headline counts, or the first one.
    pub fn headline_kind(&self) -> usize {
        self.kinds.iter().position(|kind| kind.headline).unwrap_or(0)
    }
}

/// One kind of call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindTally {
    /// Its name in the field's terms: `new-order`.
    pub name: String,
    /// Whether the headline counts this kind alone.
    pub headline: bool,
    /// Largest share of its calls that the workload plans to be declined, 0 to 1: 0 where none may be, 1 where all may be, since they
    /// are made to be declined or repeat an earlier answer.
    pub declined_max: f64,
    /// Whether its committed calls have changed what is stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writes: bool,
    /// The workload's limit on its 90th percentile; `null` where it sets none.
    pub limit: Option<Limit>,
    /// What was counted and clocked.
    pub tally: Tally,
    /// Its committed calls that had a clock around each statement; `null` where none had, where a session or a server cannot
    /// tell.
    pub clocked: Option<Clocked>,
    /// Its parts that are also shown apart, such as customers by id and by last name.
    pub facets: Vec<Facet>,
}

/// What a number is called whose data no one looked at.
pub const UNVERIFIED: &str = "UNVERIFIED";

impl Trial {
    /// Whether not one audit of the stored data was made after the trial, which may still run: what was acknowledged may or may
    /// not be stored.
    pub fn is_unverified(&self) -> bool {
        let looked = |audit: &Audit| audit.is_of_data_after_run() && audit.check != Check::NotRun;
        !self.audits.iter().any(looked)
    }

    /// Whether validation is complete: audits, ledger, inputs and conformance were checked and nothing speaks against the result.
    /// `false` for what still runs, was killed, or was measured without a database to look at.
    pub fn is_validated(&self) -> bool {
        let checks = self.audits.iter().map(|audit| audit.check);
        let checks = checks.chain(self.ledger.iter().map(|found| found.check));
        let checks = checks.chain(self.inputs.iter().map(|input| input.check));
        let mut checks = checks.chain([self.conformance.check]);
        self.state != State::Running
            && !self.is_unverified()
            && !self.is_invalid()
            && checks.all(|check| check != Check::NotRun)
    }

    /// Whether a limit that the workload sets on a 90th percentile was missed.
    pub fn misses_limit(&self) -> bool {
        let deferred = self.deferred.iter().map(|deferred| deferred.limit);
        self.kinds
            .iter()
            .filter_map(|kind| kind.limit)
            .chain(deferred)
            .any(|limit| limit.passed == Some(false))
    }
}

/// Standard errors beyond that share that are not chance.
const PLANNED_SIGMAS: f64 = 5.0;
/// So few are not a share.
const PLANNED_FEW: f64 = 10.0;

impl KindTally {
    /// Calls that were declined though nothing was wrong with them: all declined calls of a kind that plans for none, and of
    /// one that does where they are more than planned, by more than chance.
    pub fn declined_beyond_plan(&self) -> u64 {
        let call_counts = self.tally.call_counts;
        if self.declined_max <= 0.0 {
            return call_counts.declined;
        }
        let planned = self.declined_max * call_counts.started as f64;
        let chance = PLANNED_SIGMAS * (planned * (1.0 - self.declined_max)).sqrt();
        let is_planned = call_counts.declined as f64 <= (planned + chance).max(PLANNED_FEW);
        if is_planned { 0 } else { call_counts.declined }
    }
}

/// A limit on the 90th percentile of the response time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The most it may be, in nanoseconds.
    pub p90_max_ns: u64,
    /// What it was; `null` with too few samples.
    pub p90_ns: Option<u64>,
    /// Whether it kept the limit; `null` with too few samples.
    pub passed: Option<bool>,
}

impl Limit {
    /// Holds a 90th percentile against its limit.
    pub fn new(p90_max_ns: u64, p90_ns: Option<u64>) -> Limit {
        Limit { p90_max_ns, p90_ns, passed: p90_ns.map(|p90| p90 <= p90_max_ns) }
    }
}

/// The number to remember, under the name it may bear.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Headline {
    /// What it is called: `NOPM`; `tpmC` only where the run was paced.
    pub label: String,
    /// What it counts: `new orders/min`.
    pub unit: String,
    /// The number with its interval.
    pub value: Interval,
    /// One sentence on what it is and what it is not.
    pub sentence: String,
}

impl Headline {
    /// What the headline counts of workloads without a figure of their own.
    pub const CALLS_PER_S: &'static str = "calls/s";

    /// New-Orders committed a minute, under the name that the TPC's fair-use rule allows.
    pub fn new_orders_per_min(value: Interval, paced: bool) -> Headline {
        let (label, sentence) = if paced {
            (
                "tpmC",
                "New-Orders committed per minute with TPC-C's keying and think times. Not audited by the TPC and not \
                 comparable with published TPC-C results.",
            )
        } else {
            (
                "NOPM",
                "New-Orders committed per minute without keying and think times. Derived from TPC-C; not a TPC result \
                 and not comparable with one.",
            )
        };
        Headline {
            label: label.to_owned(),
            unit: "new orders/min".to_owned(),
            value,
            sentence: sentence.to_owned(),
        }
    }

    /// Transactions of TPC-B's profile committed a second.
    pub fn transactions_per_s(value: Interval) -> Headline {
        Headline {
            label: "TPS".to_owned(),
            unit: "transactions/s".to_owned(),
            value,
            sentence: "Transactions of pgbench's TPC-B-like profile committed per second. Derived from TPC-B; not a TPC \
                       result and not comparable with one."
                .to_owned(),
        }
    }

    /// Calls of all kinds committed a second, for workloads without a figure of their own.
    pub fn calls_per_s(value: Interval) -> Headline {
        Headline {
            label: "throughput".to_owned(),
            unit: Headline::CALLS_PER_S.to_owned(),
            value,
            sentence: "Calls of all kinds committed per second.".to_owned(),
        }
    }

    /// The same where calls were of a mix that was asked for, in words, and not of the workload's: under no name that stands
    /// for the workload's.
    #[must_use]
    pub fn of_mix(self, mix: &str) -> Headline {
        Headline {
            label: format!("own mix: {mix}"),
            sentence: format!(
                "Counts {} in a custom mix ({mix}): comparable only with runs of the same mix.",
                self.unit
            ),
            ..self
        }
    }
}

/// Calls that were queued and done later (TPC-C 2.7.2: Delivery).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deferred {
    pub kind: String,
    /// Calls queued in the window.
    pub queued: u64,
    pub done: u64,
    /// Of these, not done because they failed.
    pub failed: u64,
    /// Of these, still waiting when the drain ended.
    pub waiting: u64,
    /// Parts that found nothing to do (TPC-C: districts without an undelivered order).
    pub skipped: u64,
    /// From queued to done.
    pub completion: Quantiles,
    /// The workload's limit on the 90th percentile of that.
    pub limit: Limit,
}

/// Throughput against the most that keying and think times allow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Efficiency {
    /// New-Orders per minute and warehouse.
    pub per_warehouse: f64,
    /// The most that the pace allows: 12.86.
    pub per_warehouse_max: f64,
    /// The least that a valid run has: 9.
    pub per_warehouse_min: f64,
    /// Measured through possible, 0 to 1.
    pub share: f64,
    /// Whether it is between the two.
    pub passed: bool,
}

impl Efficiency {
    /// Holds New-Orders a minute against TPC-C 4.2 and 5.2.5: between 9 and 12.86 a warehouse.
    pub fn tpcc(new_orders_per_min: f64, warehouses: u64) -> Efficiency {
        let (min, max) = (9.0, 12.86);
        let per_warehouse = new_orders_per_min / warehouses.max(1) as f64;
        Efficiency {
            per_warehouse,
            per_warehouse_max: max,
            per_warehouse_min: min,
            share: per_warehouse / max,
            // Think times are random, so a fault-free run is around the maximum and not strictly below it.
            passed: per_warehouse >= min && per_warehouse <= max * 1.02,
        }
    }
}

/// What had been acknowledged and was still on its way when the load ended, such as events that no one had read, and how it
/// came to its end before the stored data was audited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settled {
    /// How much it was when the load ended.
    pub pending_first: u64,
    /// How much was left when it had settled, which is nothing, or when it was given up.
    pub pending_last: u64,
    /// Seconds from the end of the load until then.
    pub duration_s: f64,
    /// After so many seconds it is given up.
    pub max_s: f64,
    /// How long calls took from when they were acknowledged until they had come to their end; `null` where the stores do not say.
    pub settlement: Option<Settlement>,
}

/// How calls came to their end that had been acknowledged before, by the clocks of the stores that acknowledged them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settlement {
    /// The kind of the calls: `cross-transfer`.
    pub kind: String,
    /// From when they were acknowledged, in the window, until they had come to their end; to 0.1 ms.
    pub times: Quantiles,
    /// Of these, undone in the end.
    pub undone: u64,
    /// What had been acknowledged and had not come to its end, after each second of the window.
    pub backlog: Vec<u64>,
}

impl Settlement {
    /// The most that was still on its way after a second.
    pub fn backlog_max(&self) -> u64 {
        self.backlog.iter().copied().max().unwrap_or(0)
    }
}
