//! What each statement of a call took: clocked in few calls, in room that is there before the call.

use crate::{CallWork, Clock, Nanos};

/// Statements that a workload can have clocked; more have no room. TPC-C has the most, with 34.
pub const STATEMENTS_MAX: usize = 48;

/// One statement in one call, over all its executions and all attempts of the call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatementTime {
    /// How often it was sent, failures included.
    pub executions: u32,
    /// From asking until the answer was read, summed over them.
    pub spent: Nanos,
}

/// What each statement of one call took, by its place in [`Workload::STATEMENTS`](crate::Workload::STATEMENTS).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementTimes([StatementTime; STATEMENTS_MAX]);

impl Default for StatementTimes {
    fn default() -> StatementTimes {
        StatementTimes([StatementTime::default(); STATEMENTS_MAX])
    }
}

impl StatementTimes {
    /// Adds `executions` of the statement at `index` that took `spent` together. One without a place is left out, and so
    /// shows as time that no statement explains.
    #[inline]
    pub fn add(&mut self, index: usize, executions: u32, spent: Nanos) {
        if let Some(time) = self.0.get_mut(index) {
            time.executions = time.executions.saturating_add(executions);
            time.spent += spent;
        }
    }

    /// Adds what another session took for its part of the same call.
    pub fn absorb(&mut self, other: &StatementTimes) {
        for (index, time) in other.executed() {
            self.add(index, time.executions, time.spent);
        }
    }

    /// The sum over all statements.
    pub fn total(&self) -> Nanos {
        self.executed().fold(Nanos::ZERO, |sum, (_, time)| sum + time.spent)
    }

    /// Forgets the call.
    pub fn clear(&mut self) {
        self.0.fill(StatementTime::default());
    }

    /// The statements that were executed, with their places.
    pub fn executed(&self) -> impl Iterator<Item = (usize, StatementTime)> + '_ {
        self.0.iter().copied().enumerate().filter(|(_, time)| time.executions > 0)
    }
}

/// The clock around each statement of a session: on in calls whose caller asks for it
/// ([`CallWork::clocked`]), and one branch a statement in all others.
///
/// It takes the clock of the session with each reading, which has it for the steps of every call already.
#[derive(Debug, Default)]
pub struct StatementClock {
    is_on: bool,
    times: StatementTimes,
}

impl StatementClock {
    /// Begins an attempt of the call whose account is `work`, as its caller made it or as the attempt before left it.
    #[inline]
    pub fn start(&mut self, work: &CallWork) {
        self.is_on = work.clocked;
        if work.clocked && work.attempts == 0 {
            self.times.clear();
        }
    }

    /// Reads the clock before a statement, where it is on.
    #[inline]
    pub fn asked(&self, clock: &impl Clock) -> Option<Nanos> {
        if self.is_on { Some(clock.now()) } else { None }
    }

    /// Reads the clock after the statement at `index`, where it was on before it.
    #[inline]
    pub fn answered(&mut self, index: usize, asked: Option<Nanos>, clock: &impl Clock) {
        if let Some(asked) = asked {
            self.times.add(index, 1, clock.now() - asked);
        }
    }

    /// What the statements of the last clocked call took.
    pub fn times(&self) -> &StatementTimes {
        &self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Each reading is a nanosecond after the one before.
    #[derive(Clone)]
    struct Ticks(std::sync::Arc<AtomicU64>);

    impl Clock for Ticks {
        fn now(&self) -> Nanos {
            Nanos(self.0.fetch_add(1, Ordering::Relaxed))
        }
    }

    #[test]
    fn a_call_that_is_not_to_be_clocked_reads_no_clock() {
        let (ticks, mut clock) = (Ticks(std::sync::Arc::default()), StatementClock::default());
        clock.start(&CallWork::default());
        let asked = clock.asked(&ticks);
        clock.answered(3, asked, &ticks);
        assert_eq!((asked, clock.times().executed().count()), (None, 0));
        assert_eq!(ticks.now(), Nanos(0));
    }

    #[test]
    fn attempts_of_a_call_add_up_and_the_next_call_begins_again() {
        let (ticks, mut clock) = (Ticks(std::sync::Arc::default()), StatementClock::default());
        let mut work = CallWork { clocked: true, ..CallWork::default() };
        for _ in 0..2 {
            clock.start(&work);
            let asked = clock.asked(&ticks);
            clock.answered(3, asked, &ticks);
            work.attempts += 1;
        }
        let twice = StatementTime { executions: 2, spent: Nanos(2) };
        assert_eq!(clock.times().executed().collect::<Vec<_>>(), [(3, twice)]);
        clock.start(&CallWork { clocked: true, ..CallWork::default() });
        assert_eq!(clock.times().executed().count(), 0);
    }

    #[test]
    fn a_statement_without_a_place_is_left_out() {
        let mut times = StatementTimes::default();
        times.add(STATEMENTS_MAX, 1, Nanos(5));
        assert_eq!(times, StatementTimes::default());
    }
}
