//! A drill: faults under load, and whether what was stored in the end is what was acknowledged.

use crate::Share;
use serde::{Deserialize, Serialize};

/// What a drill found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drill {
    /// Of the faults, their moments and the calls.
    pub seed: u64,
    /// How much data there was.
    pub scale: u64,
    /// What the scale counts.
    pub scale_unit: String,
    /// Stores that the data was split over.
    pub shards: u32,
    pub rate_per_s: f64,
    /// Clients that shared them.
    pub clients: u32,
    /// Which kinds of call were asked for, and their shares; empty where that was left to the workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<Share>,
    /// How many faults were asked for.
    pub planned: u32,
    /// Each fault, in the order in which they came.
    pub faults: Vec<DrillFault>,
}

worded! {
    /// What is done to a component.
    FaultAction, word {
        /// All of its processes are ended at once (SIGKILL), and it is started again.
        Kill = "kill",
        /// All of its processes are stopped where they stand (SIGSTOP), and go on later.
        Pause = "pause",
        /// All connections to it end, and no new ones come about for a while.
        CutOff = "cut off",
        /// It is killed, and what was written to its files and not flushed is lost; of SQLite's files some of it.
        PowerCut = "power cut",
        /// The file system of its data is full. Then it is killed, if it has not ended, and started again with free space.
        DiskFull = "disk full",
        /// A relay ends (SIGKILL) once a batch was acknowledged, before it removes the rows of it.
        KillAfterPublishing = "kill after publishing",
        /// A coordinator of two-phase commits ends (SIGKILL) once all parts of a transfer are prepared, before the decision.
        KillAfterPrepare = "kill after prepare",
        /// A coordinator of two-phase commits ends (SIGKILL) once a transfer is decided, before its prepared parts are committed.
        KillAfterDecision = "kill after decision",
    }
}

/// One fault, from the first call before it to the last audit after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrillFault {
    /// What was struck: `server`, `shard-1`.
    pub component: String,
    pub action: FaultAction,
    /// Seconds under load before it.
    pub after_s: f64,
    /// Seconds until it was mended; what a component takes to come back after that is not in it.
    pub unavailable_s: f64,
    /// Seconds that the component took to come back once it was mended.
    pub recovery_s: f64,
    /// Seconds from the fault to the end of the first call that began after it and was committed, of the store that was struck
    /// where it was one of several; `null` where none was.
    pub first_commit_s: Option<f64>,
    /// The longest time that a call took which ended after it.
    pub longest_s: f64,
    /// What became of the calls.
    pub calls: DrillCalls,
    /// The calls that ended under load, over time.
    #[serde(default, skip_serializing_if = "DrillLine::is_empty")]
    pub line: DrillLine,
    /// For each kind of call of which one has ended, how long none was answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_answer: Vec<WithoutAnswer>,
    /// Calls that were refused after the fault.
    pub refused_after: u64,
    /// What was acknowledged or prepared and had not come to its end when the component had come back, such as branches of
    /// transactions whose coordinator was killed; `null` where a workload leaves nothing.
    pub left: Option<u64>,
    /// Writes to SQLite's files that were not flushed when their power was cut, and that were lost; `null` where it was not. What is
    /// lost of files on a file system of their own, and by other engines, is not counted.
    pub lost_writes: Option<u64>,
    /// Messages that were published again; `null` where none are published.
    pub duplicates: Option<u64>,
    /// What acknowledged calls imply and is not stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Shortfall>,
    /// Each call in doubt of which the stores can tell what became of it; at most a thousand.
    pub in_doubt_calls: Vec<DoubtFound>,
    /// Seconds until nothing was pending any more after the load; `null` where there was nothing to wait for.
    pub settled_s: Option<f64>,
    /// Checks of the stored data and of what was acknowledged against it that passed.
    pub checks_passed: u64,
    /// What is wrong, a sentence each: failed audits first. The fault is passed where there is none.
    pub failures: Vec<String>,
}

/// Calls by the time at which they ended, from the first answer until the load ended. Both lists are equally long.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrillLine {
    /// Seconds of a step, above 0.
    pub step_s: f64,
    /// Calls that were committed, in each step.
    pub committed: Vec<u64>,
    /// Calls that were refused, in doubt or in conflict, in each step; without those that were under way when the load generator
    /// was killed.
    pub failed: Vec<u64>,
}

impl DrillLine {
    fn is_empty(&self) -> bool {
        self.committed.is_empty()
    }

    /// Seconds from its first step to the end of its last.
    pub fn duration_s(&self) -> f64 {
        self.step_s * self.committed.len() as f64
    }
}

/// How long no call of a kind was answered, as committed or as declined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WithoutAnswer {
    pub kind: String,
    /// The store in which its calls begin, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<u32>,
    /// The longest time, in seconds, between two answers, from the fault to the first and from the last to the end of the load.
    pub longest_s: f64,
}

/// By how much the stored data falls short of what acknowledged calls imply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shortfall {
    /// What is added up: `history`.
    pub name: String,
    /// Its unit: `rows of history`, `cents`.
    pub unit: String,
    /// At least so much, 1 or more.
    pub amount: u64,
}

impl DrillFault {
    /// Whether nothing was lost and nothing done twice.
    pub fn is_passed(&self) -> bool {
        self.failures.is_empty()
    }
}

/// What became of the calls of a fault, before and after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrillCalls {
    pub started: u64,
    pub committed: u64,
    /// That were declined by rule.
    pub declined: u64,
    /// That met others too often.
    pub conflicts: u64,
    /// That were not attempted.
    pub refused: u64,
    /// Of which no one was told whether they happened.
    pub in_doubt: u64,
    /// That ended with an error which no fault explains; whether they happened is not known.
    #[serde(default, skip_serializing_if = "is_none")]
    pub defects: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl std::ops::AddAssign for DrillCalls {
    fn add_assign(&mut self, other: DrillCalls) {
        self.started += other.started;
        self.committed += other.committed;
        self.declined += other.declined;
        self.conflicts += other.conflicts;
        self.refused += other.refused;
        self.in_doubt += other.in_doubt;
        self.defects += other.defects;
    }
}

/// A call in doubt, and what the stores say of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoubtFound {
    pub call: String,
    /// What became of it: `completed`, `not done`.
    pub found: String,
}

impl Drill {
    /// Whether every fault that was asked for came, and passed.
    pub fn is_passed(&self) -> bool {
        self.faults.len() == self.planned as usize && self.faults.iter().all(DrillFault::is_passed)
    }

    /// Calls of all faults together.
    pub fn calls(&self) -> DrillCalls {
        let mut all = DrillCalls::default();
        self.faults.iter().for_each(|fault| all += fault.calls);
        all
    }
}
