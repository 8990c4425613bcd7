//! What is recorded arrives, whoever is late.

use super::*;
use crate::{Moments, StatementSum, Summary};
use model::random::Random;
use model::{CallWork, Doubt, Facet, Fault, Inputs, Kind, Refusal, Spent, StatementTimes, Verdict, Workload};
use proptest::prelude::*;

/// A call is its kind, or 2 for another part of the second; an outcome whether it committed.
struct Plain;

const fn kind(name: &'static str, headline: bool) -> Kind {
    Kind {
        name,
        headline,
        declined_max: if headline { 0.05 } else { 0.0 },
        pace: None,
        p90_max: None,
        deferred_p90_max: None,
        writes: true,
    }
}

impl Workload for Plain {
    const NAME: &'static str = "plain";
    const KINDS: &'static [Kind] = &[kind("first", true), kind("second", false)];
    const FACETS: &'static [Facet] =
        &[Facet { kind: 1, name: "one part" }, Facet { kind: 1, name: "the other" }];
    type Call = usize;
    type Outcome = bool;
    type Inputs = Firsts;
    type Ledger = Count;

    fn kind(call: &usize) -> usize {
        (*call).min(1)
    }

    fn facet(call: &usize) -> Option<usize> {
        call.checked_sub(1)
    }

    fn verdict(outcome: &bool) -> Verdict {
        if *outcome { Verdict::Committed } else { Verdict::Declined }
    }

    fn check(_call: &usize, _outcome: &bool) -> Result<(), &'static str> {
        Ok(())
    }
}

struct Firsts;

impl Inputs<Plain> for Firsts {
    fn draw(&mut self) -> usize {
        0
    }
}

struct Count(u64);

impl Ledger<Plain> for Count {
    fn post(&mut self, _call: &usize, _result: &Result<bool, Fault>) {
        self.0 += 1;
    }

    fn absorb(&mut self, other: &Count) {
        self.0 += other.0;
    }

    fn clear(&mut self) {
        self.0 = 0;
    }
}

/// A warm-up of 2 s and a window of 10 s, from 100 s on, in slices of 1 s.
const TIMELINE: Timeline = Timeline {
    start: Nanos::from_secs(100),
    warmup: Nanos::from_secs(2),
    measured: Nanos::from_secs(10),
    slice: Nanos::from_secs(1),
};

fn at(millis: u64) -> Nanos {
    TIMELINE.start + Nanos::from_millis(millis)
}

fn set_out() -> (Tape<Plain>, Collector<Plain>) {
    let (mut tapes, collector) = circulation(1, TIMELINE, TimesKept::ResponseAndService, &[], || Count(0));
    (tapes.remove(0), collector)
}

/// Records a call of 10 ms that ends at a moment.
fn record(tape: &mut Tape<Plain>, kind: usize, ended: Nanos, result: &Result<bool, Fault>) {
    let due = ended - Nanos::from_millis(10);
    let moments = Moments { due, free: due, started: due + Nanos::from_millis(4), ended };
    let work = CallWork { attempts: 2, statements: 3, ..CallWork::default() };
    tape.record(&kind, result, moments, &work, None, TIMELINE.window());
}

fn committed_by_slice(collected: &Collected<Plain>) -> Vec<u64> {
    collected.slices.iter().map(|slice| slice.kinds.iter().map(|ended| ended.committed).sum()).collect()
}

#[test]
fn slices_are_by_end_and_totals_by_due() {
    let (mut tape, mut collector) = set_out();
    // Ends of calls, every 10 ms: the call that ends at 2 s was due in the warm-up.
    for step in 1..=1_201 {
        record(&mut tape, 0, at(step * 10), &Ok(true));
        collector.collect();
    }
    tape.finish();
    let collected = collector.finish(TIMELINE.closes());
    let slices = committed_by_slice(&collected);
    assert_eq!(slices, [&[99][..], &[100; 11], &[2]].concat());
    assert_eq!(collected.warmup.committed, 200);
    let call_counts = collected.totals.call_counts();
    // The last two end in the drain: one at its first moment, one after it.
    assert_eq!((call_counts.committed, call_counts.late), (1_001, 2));
    let totals = &collected.totals;
    assert_eq!(totals.kinds[0].ended.committed, 1_000);
    assert_eq!(totals.backlog, crate::Backlog { backlog_before: 0, started: 1_000, backlog_after: 0 });
    let phases = [0, 1, 2, 11, 12].map(|index: usize| collected.slices[index].phase);
    use Phase::{Drain, Measured, WarmUp};
    assert_eq!(phases, [WarmUp, WarmUp, Measured, Measured, Drain]);
}

#[test]
fn a_slice_has_percentiles_of_what_ended_in_it() {
    let (mut tape, mut collector) = set_out();
    for step in 0..2_000u64 {
        let ended = at(4_000) + Nanos(step * 400_000);
        let response = if step % 20 == 0 { Nanos::from_millis(50) } else { Nanos::from_millis(2) };
        let moments =
            Moments { due: ended - response, free: ended - response, started: ended - response, ended };
        tape.record(&0, &Ok(true), moments, &CallWork::default(), None, TIMELINE.window());
    }
    tape.finish();
    collector.collect();
    let slice = &collector.collected().slices[4];
    let ms = |nanos: Option<Nanos>| nanos.unwrap().as_millis_f64().round();
    assert_eq!((ms(slice.p50), ms(slice.p99), ms(slice.max)), (2.0, 50.0, 50.0));
    assert_eq!(ms(slice.headline_p99), 50.0);
    assert_eq!(collector.collected().slices[3].max, None);
    assert_eq!(slice.rate(&[0]), 2_000.0);
}

#[test]
fn a_slice_shows_times_by_kind_however_few_calls_there_are() {
    let (mut tape, mut collector) = set_out();
    record(&mut tape, 1, at(4_500), &Ok(true));
    tape.finish();
    collector.collect();
    let slice = &collector.collected().slices[4];
    let ten = Some(Nanos::from_millis(10));
    assert_eq!(slice.times[1], SliceTimes { p50: ten, p99: ten, max: ten });
    assert_eq!((slice.times[0], slice.p99, slice.max), (SliceTimes::default(), None, ten));
}

#[test]
fn a_collector_that_is_late_loses_nothing() {
    let (mut tape, mut collector) = set_out();
    for step in 1..=1_000 {
        record(&mut tape, 1, at(step * 10), &Ok(true));
    }
    // No one has collected for ten slices: the first page has its own slice, and all the rest is on the second page.
    collector.collect();
    assert_eq!(collector.collected().ledger.0, 99);
    tape.finish();
    let collected = collector.finish(TIMELINE.closes());
    assert_eq!(committed_by_slice(&collected).iter().sum::<u64>(), 1_000);
    assert_eq!((collected.ledger.0, collected.warmup.committed), (1_000, 200));
}

#[test]
fn a_page_that_comes_after_its_slice_was_closed_still_counts() {
    let (mut tapes, mut collector) = circulation::<Plain>(2, TIMELINE, TimesKept::Response, &[], || Count(0));
    let (mut slow, mut quick) = (tapes.remove(0), tapes.remove(0));
    record(&mut slow, 0, at(500), &Ok(true));
    for step in 1..=1_200 {
        record(&mut quick, 0, at(step * 10), &Ok(true));
        collector.collect();
    }
    slow.finish();
    quick.finish();
    let collected = collector.finish(TIMELINE.closes());
    assert_eq!(committed_by_slice(&collected)[0], 100);
    assert!(collected.slices[0].max.is_some());
}

#[test]
fn of_a_window_that_closed_early_only_whole_slices_are_measured() {
    let (mut tape, mut collector) = set_out();
    for step in 1..=900 {
        record(&mut tape, 0, at(step * 10), &Ok(true));
        collector.collect();
    }
    tape.finish();
    let collected = collector.finish(at(6_500));
    let measured = collected.slices.iter().filter(|slice| slice.phase == Phase::Measured);
    assert_eq!(measured.map(|slice| slice.index).collect::<Vec<_>>(), [2, 3, 4, 5]);
}

#[test]
fn work_is_added_up_over_committed_calls_only() {
    let (mut tape, collector) = set_out();
    let moments = Moments { due: at(3_000), free: at(3_003), started: at(3_004), ended: at(3_010) };
    let spent = Spent { commit: Nanos(700), pool: Nanos(50), ..Spent::default() };
    let counts = CallWork { attempts: 2, statements: 30, rows: 40, commits: 1, ..CallWork::default() };
    let work = CallWork { grouped: 1, sent_bytes: 412, received_bytes: 689, spent, ..counts };
    for result in [Ok(true), Ok(true), Ok(false), Err(Fault::InDoubt(Doubt::Deadline))] {
        tape.record(&0, &result, moments, &work, None, TIMELINE.window());
    }
    tape.finish();
    let collected = collector.finish(TIMELINE.closes());
    let kind = &collected.totals.kinds[0];
    let sums = kind.work;
    assert_eq!((sums.calls, sums.attempts, sums.statements, sums.rows, sums.commits), (2, 4, 60, 80, 2));
    assert_eq!((sums.sent_bytes, sums.received_bytes), (824, 1_378));
    assert_eq!(sums.response, sums.client_wait + sums.wake_up + sums.service);
    let ms = Nanos::from_millis;
    assert_eq!((sums.client_wait, sums.wake_up, sums.parts()), (ms(6), ms(2), Nanos(1_500)));
    assert_eq!(
        (kind.call_counts.attempts, kind.call_counts.retries, kind.call_counts.calls_retried),
        (8, 4, 4)
    );
    assert_eq!(kind.committed.service().mean(), Some(Nanos::from_millis(6)));
    assert_eq!(kind.declined.as_ref().unwrap().response.count(), 1);
    assert_eq!(collected.totals.faults.count(), 1);
}

#[test]
fn committed_calls_count_for_their_part_and_statements_for_clocked_ones() {
    let (mut tape, mut collector) = set_out();
    let mut times = StatementTimes::default();
    times.add(7, 3, Nanos(3_000_000));
    let spent = Spent { begin: Nanos(500_000), commit: Nanos(1_000_000), ..Spent::default() };
    let work = CallWork { spent, ..CallWork::default() };
    // From 1 s on, so that one in ten is of the warm-up: 270 in the window, a third of each call.
    for step in 0..300 {
        let due = at(1_000 + step * 33);
        let moments = Moments { due, free: due, started: due, ended: due + Nanos::from_millis(6) };
        let statements = (step % 2 == 0).then_some(&times);
        let result = if step % 30 == 29 { Ok(false) } else { Ok(true) };
        tape.record(&(step as usize % 3), &result, moments, &work, statements, TIMELINE.window());
        collector.collect();
    }
    tape.finish();
    let collected = collector.finish(TIMELINE.closes());
    let totals = collected.totals;
    let [first, second] = &totals.kinds[..] else { panic!("there are two kinds") };
    let parts: u64 = totals.facets.iter().map(|facet| facet.committed.count()).sum();
    assert_eq!((parts, totals.facets[0].committed.count()), (second.work.calls, 90));
    let took: u64 = totals.facets.iter().map(|facet| facet.work.begin.0).sum();
    assert_eq!(took, second.work.begin.0);
    let clocked: u64 = totals.facets.iter().map(|facet| facet.clocked.work.calls).sum();
    assert_eq!(clocked, second.clocked.work.calls);
    for sums in [&first.clocked, &second.clocked, &totals.facets[1].clocked] {
        let calls = sums.work.calls;
        assert!(calls > 0, "every second call was clocked");
        let found: Vec<_> = sums.executed().collect();
        let sum = StatementSum { executions: 3 * calls, spent: Nanos(3_000_000 * calls) };
        assert_eq!(found, [(7, sum)]);
        // Held against what the caller clocked, and not against itself: 4.5 of 6 ms.
        assert_eq!(sums.covered().0 * 4, sums.work.service.0 * 3);
    }
}

#[test]
fn a_page_of_five_kinds_takes_about_a_hundred_kibibytes() {
    let histogram = Latencies::new();
    let bytes = histogram.footprint();
    assert!(bytes <= 14 * 1024, "{bytes}");
    // Five kinds, one of which declines, faults, and the committed calls of the warm-up.
    assert!(8 * bytes < 112 * 1024);
    assert_eq!(histogram.summary(), Summary::default());
}

fn result() -> impl Strategy<Value = Result<bool, Fault>> {
    prop_oneof![
        4 => Just(Ok(true)),
        1 => Just(Ok(false)),
        1 => Just(Err(Fault::Refused(Refusal::Shedding))),
    ]
}

proptest! {
    #[test]
    fn whatever_is_recorded_arrives_whenever_it_is_collected(
        calls in prop::collection::vec((0usize..2, result(), 1u64..400), 0..200),
        collect_each in 1usize..50,
        seed in any::<u64>(),
    ) {
        let (mut tapes, mut collector) = circulation::<Plain>(3, TIMELINE, TimesKept::Response, &[], || Count(0));
        let mut random = Random::stream(seed, &[1]);
        let mut ended = at(10);
        for (index, (kind, result, gap)) in calls.iter().enumerate() {
            ended += Nanos::from_millis(*gap);
            record(&mut tapes[random.below(3) as usize], *kind, ended, result);
            if index % collect_each == 0 {
                collector.collect();
                prop_assert_eq!(collector.collected().totals.call_counts().balance(), Ok(()));
            }
        }
        tapes.into_iter().for_each(Tape::finish);
        let collected = collector.finish(TIMELINE.closes());
        let (call_counts, warmup) = (collected.totals.call_counts(), collected.warmup);
        prop_assert_eq!(call_counts.balance(), Ok(()));
        prop_assert_eq!(call_counts.started + warmup.started, calls.len() as u64);
        prop_assert_eq!(collected.ledger.0, calls.len() as u64);
        let committed = calls.iter().filter(|(_, result, _)| *result == Ok(true)).count() as u64;
        prop_assert_eq!(call_counts.committed + warmup.committed, committed);
        prop_assert_eq!(committed_by_slice(&collected).iter().sum::<u64>(), committed);
    }
}

#[test]
fn calls_belong_to_the_stage_in_which_they_were_due() {
    let stages = [Nanos::from_secs(1), Nanos::from_secs(3)];
    let opens = TIMELINE.opens();
    let (mut tapes, collector) =
        circulation::<Plain>(1, TIMELINE, TimesKept::ResponseAndService, &stages, || Count(0));
    let mut tape = tapes.pop().unwrap();
    let ms = Nanos::from_millis;
    // Due and begun and ended so long after the window opened; the last one is dropped.
    for (due, started, ended) in [(0, 0, 5), (999, 1_000, 1_200), (1_000, 2_000, 2_001)] {
        let [due, started, ended] = [due, started, ended].map(|at| opens + ms(at));
        let moments = Moments { due, free: started, started, ended };
        tape.record(&0, &Ok(true), moments, &CallWork::default(), None, TIMELINE.window());
    }
    tape.record_dropped(opens + ms(500), TIMELINE.window());
    tape.finish();
    let totals = collector.finish(TIMELINE.closes()).totals;
    let [first, second] = &totals.stages[..] else { panic!("two stages") };
    assert_eq!(
        (
            first.call_counts.due,
            first.call_counts.committed,
            first.call_counts.late,
            first.call_counts.dropped
        ),
        (3, 2, 1, 1)
    );
    assert_eq!((second.call_counts.due, second.call_counts.committed, second.call_counts.late), (1, 1, 0));
    assert_eq!((first.backlog_after, second.backlog_after), (2, 1));
    assert_eq!(first.response.max(), Some(ms(201)));
    assert_eq!(first.call_counts.due + second.call_counts.due, totals.call_counts().due);
}

#[test]
fn a_mean_rate_counts_slices_of_the_window_and_their_length() {
    let slice = |index: u32, phase, committed| Slice {
        phase,
        from: Nanos::from_millis(u64::from(index) * 500),
        to: Nanos::from_millis(u64::from(index + 1) * 500),
        kinds: [committed, 1].map(|committed| EndedCalls { committed, ..EndedCalls::default() }).to_vec(),
        ..Slice::empty(index, 2)
    };
    let slices = [
        slice(0, Phase::WarmUp, 900),
        slice(1, Phase::Measured, 100),
        slice(2, Phase::Measured, 300),
        slice(3, Phase::Drain, 700),
    ];
    assert_eq!(mean_rate(&slices[..1], &[0]), None);
    assert_eq!(mean_rate(&slices[..2], &[0]), Some(200.0));
    assert_eq!(mean_rate(&slices[..3], &[0]), Some(400.0));
    assert_eq!(mean_rate(&slices, &[0, 1]), Some(402.0));
    assert_eq!(measured_length(&slices), Nanos::from_secs(1));
}
