//! The calls of a load by the time at which they ended: how many in each step, and for how long none of a kind was committed.

use model::Nanos;
use result::{DrillLine, WithoutCommit};

/// A step of the time line.
const STEP: Nanos = Nanos::from_millis(100);

/// A call that ended otherwise than declined.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub(crate) at: Nanos,
    pub(crate) is_committed: bool,
    /// Its place among the workload's kinds.
    pub(crate) kind: usize,
    pub(crate) store: usize,
}

/// The calls that ended from a moment on.
pub(crate) fn line(started: Nanos, ends: &[End]) -> DrillLine {
    let mut line = DrillLine { step_s: STEP.as_secs_f64(), ..DrillLine::default() };
    for end in ends.iter().filter(|end| end.at >= started) {
        let step = ((end.at - started).0 / STEP.0) as usize;
        let steps = line.committed.len().max(step + 1);
        line.committed.resize(steps, 0);
        line.failed.resize(steps, 0);
        let count = if end.is_committed { &mut line.committed[step] } else { &mut line.failed[step] };
        *count += 1;
    }
    line
}

/// The longest time without a commit from a fault to the end of the load, for each of these kinds in each of so many stores of which
/// there was a call.
pub(crate) fn without_commit(
    struck: Nanos,
    ends: &[End],
    kinds: &[&str],
    stores: usize,
) -> Vec<WithoutCommit> {
    let last = ends.iter().map(|end| end.at).max().unwrap_or(struck).max(struck);
    let mut without_commit = Vec::new();
    for (kind, name) in kinds.iter().enumerate() {
        for store in 0..stores {
            let of = || ends.iter().filter(|end| end.kind == kind && end.store == store);
            if of().next().is_none() {
                continue;
            }
            let mut moments: Vec<Nanos> =
                of().filter(|end| end.is_committed && end.at >= struck).map(|end| end.at).collect();
            moments.sort_unstable();
            let (mut before, mut longest) = (struck, Nanos::ZERO);
            for moment in moments.into_iter().chain([last]) {
                longest = longest.max(moment - before);
                before = moment;
            }
            without_commit.push(WithoutCommit {
                kind: (*name).to_owned(),
                store: u32::try_from(store).ok().filter(|_| stores > 1),
                longest_s: longest.as_secs_f64(),
            });
        }
    }
    without_commit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Nanos {
        Nanos(1_000_000_000 + ms * 1_000_000)
    }

    fn end(at: Nanos, is_committed: bool, kind: usize, store: usize) -> End {
        End { at, is_committed, kind, store }
    }

    #[test]
    fn calls_are_counted_in_the_step_in_which_they_ended() {
        let before = Nanos(999_999_999);
        let ends = [(before, true), (at(0), true), (at(99), true), (at(350), false), (at(100), true)];
        let found = line(at(0), &ends.map(|(at, is_committed)| end(at, is_committed, 0, 0)));
        assert_eq!((found.committed, found.failed), (vec![2, 1, 0, 0], vec![0, 0, 0, 1]));
        assert!(line(at(0), &[]).committed.is_empty());
    }

    #[test]
    fn a_kind_pauses_from_the_fault_or_a_commit_to_the_next_or_the_end() {
        let ends = [
            // Of the first kind one store goes on, and the other has no commit for 700 ms.
            end(at(50), true, 0, 0),
            end(at(200), true, 0, 0),
            end(at(150), true, 0, 0),
            end(at(120), true, 0, 1),
            end(at(500), false, 0, 1),
            end(at(820), true, 0, 1),
            // Of the second there is no commit after the fault.
            end(at(90), true, 1, 0),
            end(at(900), false, 1, 0),
        ];
        let found = without_commit(at(100), &ends, &["transfer", "cross-transfer", "balance"], 2);
        let found: Vec<_> = found.iter().map(|of| (of.kind.as_str(), of.store, of.longest_s)).collect();
        assert_eq!(
            found,
            [("transfer", Some(0), 0.7), ("transfer", Some(1), 0.7), ("cross-transfer", Some(0), 0.8)]
        );
        let alone = without_commit(at(100), &ends[..3], &["transfer"], 1);
        assert_eq!((alone[0].store, alone[0].longest_s), (None, 0.05));
    }
}
