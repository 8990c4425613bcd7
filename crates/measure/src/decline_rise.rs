//! The moment at which a service began to decline most of what it had accepted, as when everything is sold. Rates before and after
//! it are those of two different things.

use crate::collector::Slice;
use crate::timeline::Phase;
use model::Kind;
use std::ops::Range;

/// Slices below which no moment is looked for.
const SLICES_MIN: usize = 8;
/// Calls on each side of the moment, below which a share of them is chance.
const CALLS_MIN: u64 = 100;
/// How much the declined share of the calls of a kind must have risen.
const RISE_MIN: f64 = 0.5;
/// How near a share must be to that of its side, in parts of the rise: what is between the two belongs to neither.
const NEAR: f64 = 0.1;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rise {
    /// The index of the kind that came to be declined.
    pub kind: usize,
    /// Its share of declined calls on each side; none of a side without slices.
    pub shares: [Option<f64>; 2],
    /// Measured slices, by their place among these, of each side. The first has none where the moment is in the first slice.
    pub sides: [Range<usize>; 2],
}

impl Rise {
    /// The slices that rates are of: those before, or where there are none those after.
    pub(crate) fn rated(&self) -> Range<usize> {
        let [before, after] = self.sides.clone();
        if before.is_empty() { after } else { before }
    }
}

/// Calls of a kind and those of them that were declined.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    calls: u64,
    declined: u64,
}

impl Counted {
    fn share(self) -> f64 {
        self.declined as f64 / self.calls.max(1) as f64
    }
}

/// The measured ones of the slices of a trial.
pub(crate) fn measured(slices: &[Slice]) -> Vec<&Slice> {
    slices.iter().filter(|slice| slice.phase == Phase::Measured).collect()
}

/// The moment in the measured slices, of the first of `kinds` that has one. Only kinds are looked at of which all calls may come to
/// be declined.
pub(crate) fn find(kinds: &[Kind], measured: &[&Slice]) -> Option<Rise> {
    let can = kinds.iter().enumerate().filter(|(_, kind)| kind.may_all_be_declined());
    can.into_iter().find_map(|(kind, _)| {
        let counts = measured.iter().map(|slice| {
            let ended = &slice.kinds[kind];
            Counted { calls: ended.committed + ended.declined, declined: ended.declined }
        });
        let counts: Vec<Counted> = counts.collect();
        find_in(&counts).map(|(shares, sides)| Rise { kind, shares: shares.map(Some), sides }).or_else(|| {
            let share = at_once(&counts)?;
            Some(Rise { kind, shares: [None, Some(share)], sides: [0..0, 1..counts.len()] })
        })
    })
}

fn sum(counts: &[Counted]) -> Counted {
    counts.iter().fold(Counted::default(), |sum, one| Counted {
        calls: sum.calls + one.calls,
        declined: sum.declined + one.declined,
    })
}

fn find_in(counts: &[Counted]) -> Option<([f64; 2], [Range<usize>; 2])> {
    if counts.len() < SLICES_MIN {
        return None;
    }
    // Two parts, each as much alike within as can be: the variance between them is the greatest.
    let all = sum(counts);
    let (mut a, mut best) = (Counted::default(), None);
    for (at, one) in counts.iter().enumerate() {
        a = Counted { calls: a.calls + one.calls, declined: a.declined + one.declined };
        let b = Counted { calls: all.calls - a.calls, declined: all.declined - a.declined };
        let between = a.calls as f64 * b.calls as f64 * (b.share() - a.share()).powi(2);
        let is_enough = a.calls.min(b.calls) >= CALLS_MIN;
        if is_enough && best.is_none_or(|(most, _, _)| between > most) {
            best = Some((between, at + 1, [a.share(), b.share()]));
        }
    }
    let (_, cut, shares) = best?;
    let rise = shares[1] - shares[0];
    if rise < RISE_MIN {
        return None;
    }
    let is_near = |at: &usize, share: f64| (counts[*at].share() - share).abs() <= NEAR * rise;
    let before = (0..cut).rfind(|at| is_near(at, shares[0]))? + 1;
    let after = (cut..counts.len()).find(|at| is_near(at, shares[1]))?;
    Some((shares, [0..before, after..counts.len()]))
}

/// The share that was declined from the second slice on, if something was accepted in the first one and nothing afterwards. Calls that
/// are declined are many, so that by their share alone the first slice would look like the others.
fn at_once(counts: &[Counted]) -> Option<f64> {
    let [first, later @ ..] = counts else { return None };
    let is_over = first.declined < first.calls && later.iter().all(|slice| slice.declined == slice.calls);
    let rest = sum(later);
    (is_over && counts.len() >= SLICES_MIN && rest.calls >= CALLS_MIN).then(|| rest.share())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(each: impl IntoIterator<Item = f64>) -> Vec<Counted> {
        each.into_iter().map(|share| Counted { calls: 1_000, declined: (share * 1_000.0) as u64 }).collect()
    }

    #[test]
    fn the_moment_is_found_and_the_slice_that_straddles_it_belongs_to_neither_side() {
        let counts = shares([vec![0.0; 12], vec![0.4], vec![1.0; 7]].concat());
        let (shares, sides) = find_in(&counts).unwrap();
        assert_eq!(sides, [0..12, 13..20]);
        assert!(shares[0] < 0.05 && shares[1] > 0.9, "{shares:?}");
    }

    #[test]
    fn what_rises_little_or_slowly_falls_or_is_the_same_throughout_has_no_moment() {
        for same in [0.0, 0.3, 1.0] {
            assert_eq!(find_in(&shares(vec![same; 30])), None, "{same}");
        }
        assert_eq!(find_in(&shares([vec![0.0; 15], vec![0.3; 15]].concat())), None);
        assert_eq!(find_in(&shares([vec![1.0; 15], vec![0.0; 15]].concat())), None);
        assert_eq!(find_in(&shares([vec![0.0; 4], vec![1.0; 3]].concat())), None, "too few slices");
        let few = [vec![Counted { calls: 2, declined: 0 }; 10], vec![Counted { calls: 2, declined: 2 }; 10]];
        assert_eq!(find_in(&few.concat()), None, "too few calls");
    }

    #[test]
    fn events_that_are_sold_out_one_after_the_other_leave_a_part_before_the_first_and_one_after_the_last() {
        let slowly = (0..10).map(|at| f64::from(at) / 10.0);
        let counts = shares(vec![0.0; 10].into_iter().chain(slowly).chain(vec![1.0; 10]));
        let (_, [before, after]) = find_in(&counts).unwrap();
        assert!(before.start == 0 && (10..=14).contains(&before.end), "{before:?}");
        assert!((16..=20).contains(&after.start) && after.end == 30, "{after:?}");
    }

    #[test]
    fn what_is_sold_out_within_the_first_slice_has_no_part_before() {
        let first = Counted { calls: 1_000, declined: 950 };
        let sold_out = shares(vec![1.0; 9]);
        assert_eq!(find_in(&[vec![first], sold_out.clone()].concat()), None);
        assert_eq!(at_once(&[vec![first], sold_out.clone()].concat()), Some(1.0));
        assert_eq!(at_once(&sold_out), None, "it was before");
        assert_eq!(at_once(&[vec![first; 2], sold_out].concat()), None);
    }

    #[test]
    fn only_a_kind_that_may_be_declined_throughout_is_looked_at() {
        use crate::totals::EndedCalls;
        let kind = |name, declined_max| Kind {
            name,
            headline: true,
            declined_max,
            pace: None,
            p90_max: None,
            deferred_p90_max: None,
            writes: true,
        };
        let ended = |declined| {
            let committed = 500 - declined;
            EndedCalls { committed, declined, ..EndedCalls::default() }
        };
        let slice = |at: u32| Slice {
            phase: Phase::Measured,
            from: model::Nanos::from_secs(at.into()),
            to: model::Nanos::from_secs(u64::from(at) + 1),
            kinds: vec![ended(if at < 6 { 0 } else { 500 }); 2],
            ..Slice::empty(at, 2)
        };
        let slices: Vec<Slice> = (0..12).map(slice).collect();
        let found = find(&[kind("read", 0.5), kind("book", 1.0)], &measured(&slices)).unwrap();
        assert_eq!((found.kind, found.sides), (1, [0..6, 6..12]));
        assert_eq!(find(&[kind("read", 0.5), kind("list", 0.0)], &measured(&slices)), None);
    }
}
