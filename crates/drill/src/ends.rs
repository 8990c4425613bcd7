//! The calls of a load by the time at which they ended: how many in each step, and for how long none of a kind was committed.

use model::{Nanos, Verdict};
use result::{DrillLine, WithoutAnswer};

/// A step of the time line.
const STEP: Nanos = Nanos::from_millis(100);

/// A call that ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub(crate) at: Nanos,
    /// Its answer; nothing where it failed.
    pub(crate) answer: Option<Verdict>,
    /// Its place among the workload's kinds.
    pub(crate) kind: usize,
    pub(crate) store: usize,
}

/// The calls that ended from a moment on, but for those that were declined.
pub(crate) fn line(started: Nanos, ends: &[End]) -> DrillLine {
    let mut line = DrillLine { step_s: STEP.as_secs_f64(), ..DrillLine::default() };
    let is_counted = |end: &&End| end.at >= started && end.answer != Some(Verdict::Declined);
    for end in ends.iter().filter(is_counted) {
        let step = ((end.at - started).0 / STEP.0) as usize;
        let steps = line.committed.len().max(step + 1);
        line.committed.resize(steps, 0);
        line.failed.resize(steps, 0);
        let count = if end.answer.is_some() { &mut line.committed[step] } else { &mut line.failed[step] };
        *count += 1;
    }
    line
}

/// The longest time without an answer from a fault to the end of the load, for each of these kinds in each of so many stores of which
/// a call has ended.
pub(crate) fn without_answer(
    struck: Nanos,
    until: Nanos,
    ends: &[End],
    kinds: &[&str],
    stores: usize,
) -> Vec<WithoutAnswer> {
    let mut without_answer = Vec::new();
    for (kind, name) in kinds.iter().enumerate() {
        for store in 0..stores {
            let of = || ends.iter().filter(|end| end.kind == kind && end.store == store);
            if of().next().is_none() {
                continue;
            }
            let is_within = |end: &&End| end.answer.is_some() && (struck..until).contains(&end.at);
            let mut moments: Vec<Nanos> = of().filter(is_within).map(|end| end.at).collect();
            moments.sort_unstable();
            let (mut before, mut longest) = (struck, Nanos::ZERO);
            for moment in moments.into_iter().chain([until.max(struck)]) {
                longest = longest.max(moment - before);
                before = moment;
            }
            without_answer.push(WithoutAnswer {
                kind: (*name).to_owned(),
                store: u32::try_from(store).ok().filter(|_| stores > 1),
                longest_s: longest.as_secs_f64(),
            });
        }
    }
    without_answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Nanos {
        Nanos(1_000_000_000 + ms * 1_000_000)
    }

    const COMMITTED: Option<Verdict> = Some(Verdict::Committed);
    const DECLINED: Option<Verdict> = Some(Verdict::Declined);

    const fn end(at: Nanos, answer: Option<Verdict>, kind: usize, store: usize) -> End {
        End { at, answer, kind, store }
    }

    #[test]
    fn calls_are_counted_in_the_step_in_which_they_ended() {
        let before = Nanos(999_999_999);
        let ends = [
            (before, COMMITTED),
            (at(0), COMMITTED),
            (at(99), COMMITTED),
            (at(350), None),
            (at(100), COMMITTED),
            (at(500), DECLINED),
        ];
        let found = line(at(0), &ends.map(|(at, answer)| end(at, answer, 0, 0)));
        assert_eq!((found.committed, found.failed), (vec![2, 1, 0, 0], vec![0, 0, 0, 1]));
        assert!(line(at(0), &[]).committed.is_empty());
    }

    #[test]
    fn a_kind_has_no_answer_from_the_fault_or_an_answer_to_the_next_or_the_end() {
        let ends = [
            // Of the first kind one store answers, though it declines, and the other does not for 700 ms.
            end(at(50), COMMITTED, 0, 0),
            end(at(600), DECLINED, 0, 0),
            end(at(150), COMMITTED, 0, 0),
            end(at(120), COMMITTED, 0, 1),
            end(at(500), None, 0, 1),
            end(at(820), COMMITTED, 0, 1),
            // Of the second there is no answer after the fault.
            end(at(90), COMMITTED, 1, 0),
            end(at(900), None, 1, 0),
        ];
        let found = without_answer(at(100), at(1_000), &ends, &["transfer", "cross-transfer", "balance"], 2);
        let found: Vec<_> = found.iter().map(|of| (of.kind.as_str(), of.store, of.longest_s)).collect();
        assert_eq!(
            found,
            [("transfer", Some(0), 0.45), ("transfer", Some(1), 0.7), ("cross-transfer", Some(0), 0.9)]
        );
        // Where nothing ends any more, it is the time until the load ended; what ends after that is not in it.
        let hung = [end(at(50), COMMITTED, 0, 0), end(at(3_000), COMMITTED, 0, 0)];
        let found = without_answer(at(100), at(2_100), &hung, &["transfer"], 1);
        assert_eq!((found[0].store, found[0].longest_s), (None, 2.0));
    }
}
