//! Rounds as one trial: what they counted added up, on a time line that is made of their windows alone.

use crate::outage::Outage;
use crate::parts::add_refusals;
use crate::trial::Trial;
use measure::{Gap, Phase, Slice};
use model::{Ledger, Nanos, Workload};

impl<W: Workload> Trial<W> {
    /// Adds the next round of the same generator. The time line goes on with its window: its warm-up and what ended after its
    /// window are counted and not shown, like the drain of the last round so far.
    pub fn absorb(&mut self, round: Trial<W>) {
        let ends = self.warmed + self.span;
        self.slices.retain(|slice| slice.phase != Phase::Drain);
        let (first, opens) = (self.slices.len() as u32, round.warmed);
        let closes = opens + round.span;
        let slices = round.slices.into_iter().filter(|slice| slice.phase == Phase::Measured);
        self.slices.extend(slices.zip(first..).map(|(slice, index)| Slice {
            index,
            from: moved(slice.from, opens, ends),
            to: moved(slice.to, opens, ends),
            ..slice
        }));
        let outages =
            round.outages.into_iter().filter_map(|outage| outage_within(outage, (opens, closes), ends));
        self.outages.extend(outages);
        self.gaps.extend(round.gaps.into_iter().filter_map(|gap| gap_within(gap, (opens, closes), ends)));
        self.totals.absorb(&round.totals);
        self.uncounted += round.uncounted;
        self.ledger.absorb(&round.ledger);
        self.span += round.span;
        self.interrupted |= round.interrupted;
        self.failure = self.failure.take().or(round.failure);
        self.defects.extend(round.defects);
        self.cpu += round.cpu;
        add_refusals(&mut self.refusals, round.refusals);
    }

    /// Adds what calls that were made after the window imply about the data, and nothing to what is measured.
    pub fn absorb_uncounted(&mut self, round: Trial<W>) {
        self.ledger.absorb(&round.ledger);
        self.uncounted += round.uncounted;
        self.uncounted += round.totals.call_counts();
        self.failure = self.failure.take().or(round.failure);
        self.defects.extend(round.defects);
        add_refusals(&mut self.refusals, round.refusals);
    }
}

/// A moment of a round whose window opened at `opens`, on a time line on which it opens at `ends`. What came before the window
/// came at its edge.
fn moved(at: Nanos, opens: Nanos, ends: Nanos) -> Nanos {
    ends + (at - opens)
}

/// The part of an outage that lies in the window, if any does. One that lasts is over with the window as far as this goes.
fn outage_within(outage: Outage, (opens, closes): (Nanos, Nanos), ends: Nanos) -> Option<Outage> {
    let (from, to) = (outage.from.max(opens), outage.to.map(|to| to.min(closes)));
    (from < to.unwrap_or(closes)).then(|| Outage {
        from: moved(from, opens, ends),
        to: to.map(|to| moved(to, opens, ends)),
        ..outage
    })
}

/// The part of a gap that lies in the window, if any does.
fn gap_within(gap: Gap, (opens, closes): (Nanos, Nanos), ends: Nanos) -> Option<Gap> {
    let (from, to) = (gap.from.max(opens), (gap.from + gap.length).min(closes));
    (from < to).then(|| Gap { from: moved(from, opens, ends), length: to - from, ..gap })
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::GapKind;

    #[test]
    fn what_came_before_a_window_came_at_its_edge() {
        let (opens, ends) = (Nanos(30), Nanos(1_000));
        assert_eq!(moved(Nanos(20), opens, ends), Nanos(1_000));
        assert_eq!(moved(Nanos(45), opens, ends), Nanos(1_015));
    }

    #[test]
    fn of_a_gap_only_what_lies_in_the_window_is_left() {
        let gap = |from, length| Gap {
            kind: GapKind::Suspended,
            from: Nanos(from),
            length: Nanos(length),
            backwards: false,
        };
        let within = |of| gap_within(of, (Nanos(30), Nanos(70)), Nanos(1_000));
        assert_eq!(within(gap(0, 20)), None);
        assert_eq!(within(gap(10, 25)), Some(gap(1_000, 5)));
        assert_eq!(within(gap(40, 25)), Some(gap(1_010, 25)));
        assert_eq!(within(gap(60, 25)), Some(gap(1_030, 10)));
        assert_eq!(within(gap(70, 25)), None);
    }

    #[test]
    fn of_an_outage_only_what_lies_in_the_window_is_left() {
        let outage = |from, to: Option<u64>| Outage {
            missing: result::Missing::Writes,
            from: Nanos(from),
            to: to.map(Nanos),
            in_doubt: 1,
            refused: 2,
        };
        let within = |of| outage_within(of, (Nanos(30), Nanos(70)), Nanos(1_000));
        assert_eq!(within(outage(10, Some(25))), None);
        assert_eq!(within(outage(10, Some(45))), Some(outage(1_000, Some(1_015))));
        assert_eq!(within(outage(50, None)), Some(outage(1_020, None)));
        assert_eq!(within(outage(75, Some(80))), None);
    }
}
