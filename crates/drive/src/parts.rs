//! Trials of several processes as one: each has made the calls of its part of a plan, at the same time as the others.

use crate::outage::Outage;
use crate::trial::Trial;
use measure::{Gap, Slice, SliceSpectra, join_slices};
use model::{Ledger, Workload};

/// Messages of defects that are kept of all processes.
const DEFECTS_MAX: usize = 10;

impl<W: Workload> Trial<W> {
    /// What processes have counted together, as one that made the calls of all of them would have. Moments are those of each
    /// process, counted from the same moment. Nothing where there is no process.
    pub fn join(parts: Vec<Trial<W>>) -> Option<Trial<W>> {
        let lines: Vec<(&[Slice], &[SliceSpectra])> =
            parts.iter().map(|part| (&part.slices[..], &part.spectra[..])).collect();
        let slices = join_slices(&lines);
        let mut parts = parts.into_iter();
        let mut all = parts.next()?;
        for part in parts {
            all.totals.absorb(&part.totals);
            all.uncounted += part.uncounted;
            all.ledger.absorb(&part.ledger);
            all.span = all.span.max(part.span);
            all.interrupted |= part.interrupted;
            all.failure = all.failure.take().or(part.failure);
            all.defects.extend(part.defects);
            all.outages = in_common(&all.outages, &part.outages);
            all.gaps.extend(part.gaps);
            all.cpu += part.cpu;
            add_refusals(&mut all.refusals, part.refusals);
        }
        all.defects.truncate(DEFECTS_MAX);
        all.gaps = united(all.gaps);
        Some(Trial { slices, spectra: Vec::new(), ..all })
    }
}

/// The times that are in outages of both: what one process has lost alone is not away.
fn in_common(some: &[Outage], others: &[Outage]) -> Vec<Outage> {
    let both = |one: &Outage, other: &Outage| {
        let to = match (one.to, other.to) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let from = one.from.max(other.from);
        (one.missing == other.missing && to.is_none_or(|to| from < to)).then(|| Outage {
            from,
            to,
            in_doubt: one.in_doubt + other.in_doubt,
            refused: one.refused + other.refused,
            ..*one
        })
    };
    let mut all: Vec<Outage> =
        some.iter().flat_map(|one| others.iter().filter_map(move |other| both(one, other))).collect();
    all.sort_by_key(|outage| outage.from);
    all
}

/// Gaps without those parts of them that lie in others of the same kind: processes on one machine lose the same time.
fn united(mut gaps: Vec<Gap>) -> Vec<Gap> {
    gaps.sort_by_key(|gap| gap.from);
    let mut all: Vec<Gap> = Vec::new();
    for gap in gaps {
        let ends = gap.from + gap.length;
        let within = all.iter_mut().rfind(|last| {
            (last.kind, last.backwards) == (gap.kind, gap.backwards) && gap.from <= last.from + last.length
        });
        match within {
            Some(last) => last.length = ends.max(last.from + last.length) - last.from,
            None => all.push(gap),
        }
    }
    all
}

/// Adds calls that were refused, by what for: the most first.
pub(crate) fn add_refusals(all: &mut Vec<(String, u64)>, more: Vec<(String, u64)>) {
    for (reason, calls) in more {
        match all.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, sum)) => *sum += calls,
            None => all.push((reason, calls)),
        }
    }
    all.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Nanos;
    use result::{GapKind, Missing};

    #[test]
    fn a_time_is_lost_once_however_many_lose_it() {
        let gap = |from, length| Gap {
            kind: GapKind::Stalled,
            from: Nanos(from),
            length: Nanos(length),
            backwards: false,
        };
        let united = united(vec![gap(50, 10), gap(10, 20), gap(15, 30), gap(12, 3)]);
        assert_eq!(united, [gap(10, 35), gap(50, 10)]);
    }

    #[test]
    fn an_engine_is_away_while_it_is_for_all() {
        let outage = |from, to: Option<u64>| Outage {
            missing: Missing::Everything,
            from: Nanos(from),
            to: to.map(Nanos),
            in_doubt: 1,
            refused: 2,
        };
        let common = in_common(
            &[outage(10, Some(20)), outage(30, Some(60)), outage(90, None)],
            &[outage(5, Some(15)), outage(20, Some(30)), outage(40, Some(50)), outage(95, None)],
        );
        let spans: Vec<_> = common.iter().map(|one| (one.from.0, one.to.map(|to| to.0))).collect();
        assert_eq!(spans, [(10, Some(15)), (40, Some(50)), (95, None)]);
        assert_eq!((common[0].in_doubt, common[0].refused), (2, 4));
        assert!(in_common(&common, &[]).is_empty());
    }
}
