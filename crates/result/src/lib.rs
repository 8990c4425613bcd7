//! The result document: one run, written down completely enough to be judged by someone who was not there.
//!
//! Numbers carry their unit in the name (`p99_ns`, `measured_s`, `rss_peak_bytes`). `null` means "not known" or "not
//! shown, because too few samples stand behind it", never zero. `spec/result.schema.json` says the same in JSON Schema,
//! and a test holds the two together.

/// An enumeration of which each member stands with its words for reports; in JSON it is its name.
macro_rules! worded {
    ($(#[$about:meta])* $name:ident, $words_of:ident {
        $($(#[$member_about:meta])* $member:ident = $words:literal,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$member_about])* $member,)+
        }

        impl $name {
            /// The words for reports.
            #[must_use]
            pub fn $words_of(self) -> &'static str {
                match self {
                    $($name::$member => $words,)+
                }
            }
        }
    };
}

mod bottleneck;
mod checks;
mod clocked;
mod comparison;
mod cost;
mod curve;
mod decline_rise;
mod demand;
mod drill;
mod engine;
mod experiment;
mod file;
mod gap;
mod line;
mod pair;
mod part;
mod problem;
mod progress;
mod published;
mod search;
mod setting;
mod speed;
mod stage;
mod tally;
pub mod text;
mod trial;

use serde::{Deserialize, Serialize};

pub use bottleneck::{Confirmation, Suspect};
pub use checks::{
    Audit, AuditFamily, AuditWhen, Check, Conformance, InputCheck, LedgerCheck, Rule, Severity, SloCheck,
};
pub use clocked::{Clocked, ClockedPart, Facet, StatementTime};
pub use comparison::{
    Block, BlockTrial, Comparison, FingerprintDifference, KeyDifference, Loss, Noise, Party, Side, Verdict,
};
pub use cost::{
    Disk, Limits, MachineWide, MachineWideSample, Process, ProcessSample, Role, Throttling, Writeback,
    WritebackSample, cpu_ms_a_thousand,
};
pub use curve::{Axis, Curve, Knee, Point, Scalability};
pub use decline_rise::DeclineRise;
pub use demand::{AllDue, Demand, Level};
pub use drill::{
    DoubtFound, Drill, DrillCalls, DrillFault, DrillLine, FaultAction, Shortfall, WithoutAnswer,
};
pub use engine::{
    DEAD_ROWS, Engine, Gauge, GaugeKind, Grouping, LOG_WRITTEN, Missing, Outage, Refused, SESSIONS_OPENED,
    Statement, Wait,
};
pub use experiment::{Experiment, Metric, Spent, Variant, VariantState};
pub use file::{ReadError, SCHEMA, parse, read, to_json};
pub use gap::{Gap, GapKind, Silence};
pub use line::{ShortKind, ShortLine};
pub use part::{LoadPart, PartState};
pub use problem::{Problem, unaudited};
pub use progress::{PROGRESS_FILE, Progress, last_claims};
pub use published::{Consumed, Published, PublishedSecond};
pub use search::{Search, SloLimit, Step};
pub use setting::{
    Arrivals, Data, Durability, Machine, Plan, Rounds, Setting, Share, Stack, StatementPlan, StoreData, Tier,
};
pub use speed::{AdjustedRatio, MachineSpeed, SpeedAround, SpeedProbe};
pub use stage::{Recovery, Stage, StageTally};
pub use tally::{
    BUCKETS_A_DECADE, Bucket, Budget, BudgetPart, CallCounts, CallWork, Class, HttpBytes, Interval,
    KindSlice, Latency, Quantiles, Slice, Tally,
};
pub use trial::{
    Deferred, Efficiency, Headline, KindTally, Limit, Round, Settled, Settlement, Trial, UNVERIFIED,
};

/// One run: a trial, or a comparison with all its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Name and version of this format; always [`SCHEMA`].
    pub schema: String,
    /// Names the run and its folder: `20261120-230812-tpcc-sqlite-rusqlite`.
    pub id: String,
    pub started: Moment,
    /// The version of stackmark that measured.
    pub stackmark: String,
    /// The command line that gives this run again, one argument an element, secrets replaced.
    pub command: Vec<String>,
    pub state: State,
    /// What kind of run it is.
    pub kind: RunKind,
    /// The subjects measured, in the order in which they were named.
    pub subjects: Vec<String>,
    /// Every trial, in the order in which they ran.
    pub trials: Vec<Trial>,
    /// What the trials of an experiment say about each other, or those of a comparison, which is one of two variants; partial
    /// while it runs.
    pub experiment: Option<Experiment>,
    /// What the trials of a sweep say.
    pub curve: Option<Curve>,
    /// What the trials of a search say.
    pub search: Option<Search>,
    /// The faults of a drill.
    pub drill: Option<Drill>,
    /// Whether the likely bottleneck of the base was confirmed; `null` where no one tried.
    pub confirmation: Option<Confirmation>,
    /// Anything a reader of this run must know, one sentence each.
    pub notes: Vec<String>,
}

worded! {
    /// What kind of run it is.
    RunKind, word {
        /// One measured period of one subject.
        Trial = "trial",
        /// Interleaved trials of two subjects and a verdict.
        Comparison = "comparison",
        /// Interleaved trials of several variants, and a verdict for each against its base.
        Experiment = "experiment",
        /// One subject at increasing load.
        Sweep = "sweep",
        /// The highest rate that keeps a service level.
        Search = "search",
        /// Faults under load, and what was stored in the end.
        Drill = "drill",
    }
}

worded! {
    /// How far a run or a trial came.
    #[derive(Default)]
    State, word {
        /// Not finished when this document was written.
        #[default]
        Running = "running",
        /// Ran to its planned end.
        Complete = "complete",
        /// Stopped by the user; what was measured until then is valid.
        Interrupted = "interrupted",
        /// Ended by a defect or by a failure of a process; the rate is not a result.
        Failed = "failed",
    }
}

/// A moment of the calendar.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// Seconds since 1970-01-01 00:00:00 UTC.
    pub unix_s: u64,
    /// The same in RFC 3339: `2026-11-20T23:08:12Z`.
    pub utc: String,
}

impl Moment {
    /// The moment `unix_s` seconds after the start of 1970 (UTC, leap seconds not counted).
    pub fn from_unix(unix_s: u64) -> Moment {
        let (days, second) = (unix_s / 86_400, unix_s % 86_400);
        // Years counted from 1 March 0000 put the leap day last, so months follow from one linear rule. An era is the
        // 400 years (146 097 days) after which the Gregorian calendar repeats; 1970-01-01 is day 719 468 of it.
        let day = days + 719_468;
        let (era, of_era) = (day / 146_097, day % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * of_year + 2) / 153;
        let day_of_month = of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        let utc = format!(
            "{year:04}-{month:02}-{day_of_month:02}T{:02}:{:02}:{:02}Z",
            second / 3_600,
            second / 60 % 60,
            second % 60
        );
        Moment { unix_s, utc }
    }

    /// `2026-11-20 23:08 UTC`, for people.
    pub fn readable(&self) -> String {
        match (self.utc.get(..10), self.utc.get(11..16)) {
            (Some(date), Some(time)) => format!("{date} {time} UTC"),
            _ => self.utc.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Moment;

    #[test]
    fn calendar_dates_follow_from_seconds_alone() {
        let check = |unix_s, utc: &str| assert_eq!(Moment::from_unix(unix_s).utc, utc);
        check(0, "1970-01-01T00:00:00Z");
        check(951_782_399, "2000-02-28T23:59:59Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(951_868_800, "2000-03-01T00:00:00Z");
        check(1_795_216_123, "2026-11-20T23:08:43Z");
        check(4_107_542_399, "2100-02-28T23:59:59Z");
        check(4_107_542_400, "2100-03-01T00:00:00Z");
    }

    #[test]
    fn a_moment_reads_well() {
        assert_eq!(Moment::from_unix(1_795_216_123).readable(), "2026-11-20 23:08 UTC");
    }
}
