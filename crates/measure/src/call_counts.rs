//! The call accounting of a trial: what became of every call that was due.

use model::{CallWork, Fault, Verdict, Workload};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// How a call that began has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The business outcome happened.
    Committed,
    /// A business rule rejected it.
    Declined,
    /// The engine refused it until the retries were spent.
    Conflict,
    /// Never attempted.
    Refused,
    /// No one knows whether it was applied.
    InDoubt,
    /// A bug or a broken contract.
    Defect,
}

impl Class {
    /// The class of a call's end.
    pub fn of<W: Workload>(result: &Result<W::Outcome, Fault>) -> Class {
        match result {
            Ok(outcome) => match W::verdict(outcome) {
                Verdict::Committed => Class::Committed,
                Verdict::Declined => Class::Declined,
            },
            Err(Fault::Conflict(_)) => Class::Conflict,
            Err(Fault::Refused(_)) => Class::Refused,
            Err(Fault::InDoubt(_)) => Class::InDoubt,
            Err(Fault::Defect(_)) => Class::Defect,
        }
    }
}

/// Counts of calls. `due = started + dropped`, and `started` is the sum of the six classes: [`CallCounts::balance`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCounts {
    /// Calls that were due.
    pub due: u64,
    /// Due and dropped, because the drain ended first.
    pub dropped: u64,
    pub started: u64,
    pub committed: u64,
    pub declined: u64,
    /// Given up after conflicts, retries spent.
    pub conflict: u64,
    /// Refused before any attempt.
    pub refused: u64,
    /// In doubt: applied or not.
    pub in_doubt: u64,
    pub defect: u64,
    /// Attempts of all calls begun, the first ones included.
    pub attempts: u64,
    /// Attempts after the first.
    pub retries: u64,
    /// Calls that took more than one attempt.
    pub calls_retried: u64,
    /// Connections opened again because they were closed between calls.
    pub reconnects: u64,
    /// Committed after the window had closed; contained in `committed`. A backlog that the drain works off.
    pub late: u64,
}

/// An identity of the call counts that does not hold: calls got lost or were counted twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{left} calls {name}, but {right} accounted for as {parts}")]
pub struct Imbalance {
    /// What the left side counts.
    pub name: &'static str,
    pub left: u64,
    pub right: u64,
    /// What the right side adds up.
    pub parts: &'static str,
}

impl CallCounts {
    /// Enters a call that was begun and has ended.
    #[inline]
    pub fn enter(&mut self, class: Class, work: &CallWork, late: bool) {
        let attempts = work.attempts;
        self.due += 1;
        self.started += 1;
        match class {
            Class::Committed => {
                self.committed += 1;
                self.late += u64::from(late);
            }
            Class::Declined => self.declined += 1,
            Class::Conflict => self.conflict += 1,
            Class::Refused => self.refused += 1,
            Class::InDoubt => self.in_doubt += 1,
            Class::Defect => self.defect += 1,
        }
        self.attempts += u64::from(attempts);
        self.retries += u64::from(attempts.saturating_sub(1));
        self.calls_retried += u64::from(attempts > 1);
        self.reconnects += u64::from(work.reconnects);
    }

    /// Enters `calls` that were due and dropped.
    pub fn enter_dropped(&mut self, calls: u64) {
        self.due += calls;
        self.dropped += calls;
    }

    /// Calls that began and did not complete.
    pub fn faults(&self) -> u64 {
        self.conflict + self.refused + self.in_doubt + self.defect
    }

    /// Checks the accounting identities.
    ///
    /// # Errors
    /// The first identity that does not hold, with both sides.
    pub fn balance(&self) -> Result<(), Imbalance> {
        let identities = [
            ("due", self.due, self.started + self.dropped, "started or dropped"),
            (
                "started",
                self.started,
                self.committed + self.declined + self.faults(),
                "committed, declined, conflict, refused, in doubt or defect",
            ),
        ];
        for (name, left, right, parts) in identities {
            if left != right {
                return Err(Imbalance { name, left, right, parts });
            }
        }
        Ok(())
    }
}

impl AddAssign for CallCounts {
    fn add_assign(&mut self, other: CallCounts) {
        self.due += other.due;
        self.dropped += other.dropped;
        self.started += other.started;
        self.committed += other.committed;
        self.declined += other.declined;
        self.conflict += other.conflict;
        self.refused += other.refused;
        self.in_doubt += other.in_doubt;
        self.defect += other.defect;
        self.attempts += other.attempts;
        self.retries += other.retries;
        self.calls_retried += other.calls_retried;
        self.reconnects += other.reconnects;
        self.late += other.late;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Entry {
        Ended(Class, u32, bool),
        Unstarted(u64),
    }

    fn entry() -> impl Strategy<Value = Entry> {
        use Class::{Committed, Conflict, Declined, Defect, InDoubt, Refused};
        let class = prop::sample::select(vec![Committed, Declined, Conflict, Refused, InDoubt, Defect]);
        prop_oneof![
            6 => (class, 0u32..5, any::<bool>()).prop_map(|(class, tries, late)| Entry::Ended(class, tries, late)),
            1 => (0u64..100).prop_map(Entry::Unstarted),
        ]
    }

    fn booked<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> CallCounts {
        let mut call_counts = CallCounts::default();
        for entry in entries {
            match *entry {
                Entry::Ended(class, tries, late) => {
                    let work = CallWork { attempts: tries, reconnects: tries % 2, ..CallWork::default() };
                    call_counts.enter(class, &work, late);
                }
                Entry::Unstarted(calls) => call_counts.enter_dropped(calls),
            }
        }
        call_counts
    }

    proptest! {
        #[test]
        fn counts_balance_after_any_entries_however_they_are_merged(
            entries in prop::collection::vec(entry(), 0..200),
            cuts in prop::collection::vec(0usize..200, 0..6),
        ) {
            let whole = booked(&entries);
            prop_assert_eq!(whole.balance(), Ok(()));
            prop_assert!(whole.late <= whole.committed && whole.calls_retried <= whole.retries);

            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(entries.len())).collect();
            cuts.extend([0, entries.len()]);
            cuts.sort_unstable();
            let mut merged = CallCounts::default();
            for part in cuts.windows(2).rev() {
                merged += booked(&entries[part[0]..part[1]]);
            }
            prop_assert_eq!(merged, whole);
        }

        #[test]
        fn a_lost_or_doubled_count_is_an_imbalance(
            entries in prop::collection::vec(entry(), 1..50),
            spoiled in 0usize..9,
        ) {
            let mut call_counts = booked(&entries);
            let fields = [
                &mut call_counts.due, &mut call_counts.dropped, &mut call_counts.started, &mut call_counts.committed, &mut call_counts.declined,
                &mut call_counts.conflict, &mut call_counts.refused, &mut call_counts.in_doubt, &mut call_counts.defect,
            ];
            *fields.into_iter().nth(spoiled).unwrap() += 1;
            prop_assert!(call_counts.balance().is_err());
        }
    }

    #[test]
    fn an_imbalance_says_what_is_missing() {
        let call_counts =
            CallCounts { due: 7, started: 5, dropped: 1, committed: 5, ..CallCounts::default() };
        assert_eq!(
            call_counts.balance().unwrap_err().to_string(),
            "7 calls due, but 6 accounted for as started or dropped"
        );
    }
}
