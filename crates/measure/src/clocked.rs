//! Calls that are looked at more closely: those with a clock around each statement, and parts of kinds shown apart.

use crate::{Latencies, Moments, WorkSums};
use model::{CallWork, Nanos, STATEMENTS_MAX, StatementTimes};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Sums over the committed calls that had a clock around each statement. About 1 KiB, allocated when made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClockedSums {
    /// What these calls took in all. The service time among it was clocked by their caller, and holds all the rest.
    pub work: WorkSums,
    statements: Box<[StatementSum]>,
}

/// Sums of one statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementSum {
    /// How often it was sent.
    pub executions: u64,
    /// From asking until the answer was read.
    pub spent: Nanos,
}

impl AddAssign for StatementSum {
    fn add_assign(&mut self, other: StatementSum) {
        self.executions += other.executions;
        self.spent += other.spent;
    }
}

impl ClockedSums {
    pub(crate) fn new() -> ClockedSums {
        let statements = vec![StatementSum::default(); STATEMENTS_MAX].into_boxed_slice();
        ClockedSums { work: WorkSums::default(), statements }
    }

    pub(crate) fn enter(&mut self, moments: Moments, work: &CallWork, times: &StatementTimes) {
        self.work.enter(moments, work);
        for (index, time) in times.executed() {
            self.statements[index] +=
                StatementSum { executions: u64::from(time.executions), spent: time.spent };
        }
    }

    /// The statements that were executed, with their places in the workload's list.
    pub fn executed(&self) -> impl Iterator<Item = (usize, StatementSum)> + '_ {
        self.statements.iter().copied().enumerate().filter(|(_, sum)| sum.executions > 0)
    }

    pub fn in_statements(&self) -> Nanos {
        self.statements.iter().fold(Nanos::ZERO, |sum, statement| sum + statement.spent)
    }

    /// The part of these calls' service time around which a clock stood: what their caller did not have to infer. The
    /// logic between statements is none of it, nor what is between client and server.
    pub fn covered(&self) -> Nanos {
        let work = &self.work;
        work.queue + work.pool + work.begin + self.in_statements() + work.commit + work.encode
    }

    pub(crate) fn absorb(&mut self, other: &ClockedSums) {
        self.work += other.work;
        for (mine, theirs) in self.statements.iter_mut().zip(&other.statements) {
            *mine += *theirs;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.work = WorkSums::default();
        self.statements.fill(StatementSum::default());
    }
}

/// Everything that is kept of a part of a kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FacetTotals {
    /// Response times of the committed calls.
    pub committed: Latencies,
    pub work: WorkSums,
    /// Those among them with a clock around each statement.
    pub clocked: ClockedSums,
}

impl FacetTotals {
    pub(crate) fn new() -> FacetTotals {
        FacetTotals { committed: Latencies::new(), work: WorkSums::default(), clocked: ClockedSums::new() }
    }

    pub(crate) fn absorb(&mut self, other: &FacetTotals) {
        self.committed.absorb(&other.committed);
        self.work += other.work;
        self.clocked.absorb(&other.clocked);
    }

    pub(crate) fn clear(&mut self) {
        self.committed.clear();
        self.work = WorkSums::default();
        self.clocked.clear();
    }
}
