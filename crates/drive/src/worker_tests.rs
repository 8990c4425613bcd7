//! The promises of the loop, in virtual time.

use crate::CLOCKED_EVERY;
use crate::plan::{Arrivals, Deferred, Plan, RatePerSecond, Think};
use crate::simulation::{START, Simulated, Simulation, Step};
use crate::toy::{Call, LATER, Outcome, PLAIN};
use measure::{Backlog, Phase, Times};
use model::{Conflict, DefectKind, Doubt, Fault, Nanos, OpenError, Refusal};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) const fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// One worker, no warm-up, a window of 10 s, a drain of 5 s, deadline 2 s.
pub(crate) fn plan(arrivals: Arrivals) -> Plan {
    Plan {
        arrivals,
        warmup: Nanos::ZERO,
        measured: Nanos::from_secs(10),
        drain_max: Nanos::from_secs(5),
        deadline: Nanos::from_secs(2),
        ..Plan::default()
    }
}

pub(crate) fn constant(rate: f64) -> Arrivals {
    Arrivals::Constant(RatePerSecond(rate))
}

fn plain(simulated: &Simulated) -> &Times {
    &simulated.collected.totals.kinds[PLAIN].committed
}

/// How many of these latencies are longer than a bound, to the histogram's 1 %.
fn longer_than(latencies: &measure::Latencies, bound: Nanos) -> u64 {
    latencies.spectrum().iter().filter(|(upper, _)| *upper > bound).map(|(_, count)| count).sum()
}

/// The call that begins 5 s after the start takes 100 ms, every other one 200 µs.
fn stalled_once(_call: &Call, now: Nanos) -> Step {
    let usual = Nanos(200_000);
    let stall = START + Nanos::from_secs(5);
    Step::done(if (stall..stall + usual).contains(&now) { ms(100) } else { usual })
}

#[test]
fn a_stall_shows_up_as_late_responses() {
    let simulated = Simulation::new(plan(constant(1_000.0)), stalled_once).run();
    let times = plain(&simulated);
    let late = longer_than(&times.response, ms(5));
    assert!((95..=130).contains(&late), "{late} late responses");
    assert_eq!(longer_than(times.service(), ms(5)), 1);
    let call_counts = simulated.call_counts();
    assert_eq!((call_counts.due, call_counts.committed, call_counts.dropped), (10_000, 10_000, 0));
    assert_eq!(call_counts.balance(), Ok(()));
}

#[test]
fn one_call_in_64_of_each_worker_has_its_statements_clocked() {
    for workers in [1, 4] {
        let plan = Plan { workers, ..plan(Arrivals::Closed) };
        let simulated = Simulation::new(plan, |_, _| Step::done(ms(1))).run();
        let totals = &simulated.collected.totals.kinds[PLAIN];
        // 10 s of calls of 1 ms a worker.
        let (all, clocked) = (totals.work.calls, totals.clocked.work.calls);
        assert_eq!(all, 10_000 * u64::from(workers));
        let wanted = all / u64::from(CLOCKED_EVERY);
        assert!(clocked.abs_diff(wanted) <= u64::from(workers), "{clocked} of {all}");
        // What statements took, compared with what the caller of the same calls clocked.
        assert_eq!(totals.clocked.covered(), totals.clocked.work.service);
        assert_eq!(totals.clocked.executed().count(), 1);
    }
}

#[test]
fn a_closed_loop_sees_a_stall_as_one_slow_call() {
    let simulated = Simulation::new(plan(Arrivals::Closed), stalled_once).run();
    let times = plain(&simulated);
    assert_eq!(longer_than(&times.response, ms(5)), 1);
    assert!(times.service.is_none(), "response and service are one time in a closed loop");
    // 10 s less the stall, 200 µs each, and the stalled call itself.
    assert_eq!(simulated.call_counts().committed, 9_900 * 5 + 1);
}

#[test]
fn poisson_arrivals_keep_their_rate_and_wait_for_no_answer() {
    let arrivals = Arrivals::Poisson(RatePerSecond(2_000.0));
    let simulated = Simulation::new(plan(arrivals), |_, _| Step::done(Nanos(100_000))).run();
    let call_counts = simulated.call_counts();
    // Mean 20,000, standard deviation 141.
    assert!((19_500..=20_500).contains(&call_counts.due), "{}", call_counts.due);
    let work = simulated.collected.totals.kinds[PLAIN].work;
    assert!(work.client_wait > Nanos::ZERO && work.wake_up == Nanos::ZERO);
}

#[test]
fn how_late_an_idle_worker_wakes_is_no_backlog() {
    // Each call is due long after the one before has ended, and its worker wakes 1 ms late.
    let simulation = Simulation::new(plan(constant(10.0)), |_, _| Step::done(Nanos(100_000)));
    let simulated = simulation.oversleeping(ms(1)).run();
    let work = simulated.collected.totals.kinds[PLAIN].work;
    assert_eq!((work.calls, work.client_wait, work.wake_up), (100, Nanos::ZERO, ms(100)));
    // A worker that is never free before a call is due wakes for none of them but the first.
    let simulated = Simulation::new(plan(constant(1_000.0)), |_, _| Step::done(ms(10))).run();
    let work = simulated.collected.totals.kinds[PLAIN].work;
    assert!(work.client_wait > Nanos::from_secs(1) && work.wake_up == Nanos::ZERO);
}

#[test]
fn calls_that_were_due_but_dropped_are_counted() {
    // 1,000 calls per second are due, 100 can be served, for 10 s and a drain of 5 s.
    let simulated = Simulation::new(plan(constant(1_000.0)), |_, _| Step::done(ms(10))).run();
    let call_counts = simulated.call_counts();
    assert_eq!((call_counts.due, call_counts.started, call_counts.dropped), (10_000, 1_500, 8_500));
    let totals = &simulated.collected.totals;
    // One call is answered at the very moment in which the window closes: that is after it.
    assert_eq!((totals.kinds[PLAIN].ended.committed, call_counts.late), (999, 501));
    assert_eq!(totals.backlog, Backlog { backlog_before: 0, started: 1_000, backlog_after: 9_000 });
    assert_eq!(call_counts.balance(), Ok(()));
}

#[test]
fn a_call_belongs_to_the_phase_in_which_it_was_due() {
    let plan = Plan { warmup: Nanos(2_505_000_000), ..plan(Arrivals::Closed) };
    let simulated = Simulation::new(plan, |_, _| Step::done(ms(10))).run();
    let (warmup, call_counts) = (simulated.collected.warmup, simulated.call_counts());
    // The call that begins 2.5 s after the start is the last of the warm-up, and ends in the window; the one that
    // begins at 12.5 s is the last of the window, and ends after it.
    assert_eq!((warmup.committed, call_counts.committed, call_counts.late), (251, 1_000, 1));
    assert_eq!(simulated.collected.totals.kinds[PLAIN].ended.committed, 1_000, "one comes in, one goes out");
    assert_eq!(simulated.collected.ledger.calls, 1_251);
    let slices = &simulated.collected.slices;
    let phases = [Phase::WarmUp, Phase::Measured, Phase::Drain].map(|phase| {
        let of_phase = slices.iter().filter(|slice| slice.phase == phase);
        of_phase.map(|slice| slice.kinds[PLAIN].committed).sum::<u64>()
    });
    assert_eq!(phases, [250, 1_000, 1]);
    assert_eq!(slices[0].length(), Nanos(505_000_000), "the odd part of the warm-up comes first");
}

#[test]
fn paced_terminals_make_a_call_a_cycle() {
    // Keying 20 ms, answer 20 ms, think time 60 ms on average: ten calls per second and client.
    let plan = Plan { workers: 50, measured: Nanos::from_secs(60), ..plan(Arrivals::Paced) };
    let simulated = Simulation::new(plan, |_, _| Step::done(ms(20))).run();
    let rate = simulated.call_counts().committed as f64 / 60.0;
    assert!((490.0..=510.0).contains(&rate), "{rate}");
    let times = plain(&simulated).response.max().unwrap();
    assert_eq!(times, ms(20), "the pace is no part of the response");
}

#[test]
fn clients_that_think_keep_the_rate_of_clients_through_think_and_response() {
    for think in [Think::Constant(ms(80)), Think::Exponential(ms(80))] {
        let plan = Plan { workers: 50, measured: Nanos::from_secs(60), think, ..plan(Arrivals::Paced) };
        let simulated = Simulation::new(plan, |_, _| Step::done(ms(20))).run();
        let rate = simulated.call_counts().committed as f64 / 60.0;
        assert!((490.0..=510.0).contains(&rate), "{think:?}: {rate}");
        assert_eq!(plain(&simulated).response.max().unwrap(), ms(20), "thinking is no part of the response");
    }
}

#[test]
fn a_stopped_trial_drains_and_balances() {
    for arrivals in [Arrivals::Closed, Arrivals::Paced, constant(500.0)] {
        let plan = Plan { workers: 4, ..plan(arrivals) };
        let simulated =
            Simulation::new(plan, |_, _| Step::done(ms(10))).stop_after(Nanos(3_333_333_333)).run();
        let call_counts = simulated.call_counts();
        assert_eq!(call_counts.balance(), Ok(()));
        assert!(simulated.control.is_cut_short() && simulated.control.failure().is_none());
        assert!(simulated.lasted < ms(3_500), "{arrivals:?} went on for {:?}", simulated.lasted);
        let due = if arrivals.is_open() { 1_660..=1_667 } else { 50..=1_340 };
        assert!(due.contains(&call_counts.due), "{arrivals:?}: {call_counts:?}");
        let full = |slice: &&measure::Slice| slice.phase == Phase::Measured;
        assert!(simulated.collected.slices.iter().filter(full).all(|slice| slice.to <= ms(3_334)));
    }
}

#[test]
fn a_stop_that_meets_an_overslept_call_ends_the_trial() {
    for arrivals in [Arrivals::Closed, Arrivals::Paced, constant(500.0)] {
        let plan = Plan { workers: 50, ..plan(arrivals) };
        let simulation = Simulation::new(plan, |_, _| Step::done(ms(10)));
        let simulated = simulation.oversleeping(ms(20)).stop_after(Nanos(3_333_333_333)).run();
        let call_counts = simulated.call_counts();
        assert_eq!(call_counts.balance(), Ok(()));
        // What was due and had not begun when the stop came; in a closed loop nothing waits.
        let expected = if arrivals == Arrivals::Closed { 0..=0 } else { 1..=50 };
        assert!(expected.contains(&call_counts.dropped), "{arrivals:?}: {call_counts:?}");
    }
}

#[test]
fn a_pause_after_a_refused_call_does_not_make_the_next_one_late() {
    let refuses = |call: &Call, _| match call.number {
        0..5 => Step::fault(ms(1), Fault::Refused(Refusal::Shedding)),
        _ => Step::done(ms(1)),
    };
    // Calls of a kind without a pace of its own, each due when the last one is answered.
    let simulated = Simulation::new(plan(Arrivals::Paced), refuses).later_each(1).run();
    let later = &simulated.collected.totals.kinds[LATER];
    assert_eq!((simulated.call_counts().refused, later.committed.response.max()), (5, Some(ms(1))));
}

#[test]
fn a_call_in_doubt_costs_its_session_and_the_next_call_opens_another() {
    for doubt in [Doubt::ConnectionLost, Doubt::CommitUnanswered] {
        let script = move |call: &Call, _| match call.number {
            10 | 500 => Step::fault(ms(1), Fault::InDoubt(doubt)),
            _ => Step::done(ms(1)),
        };
        let simulated = Simulation::new(plan(Arrivals::Closed), script).run();
        let call_counts = simulated.call_counts();
        assert_eq!((call_counts.in_doubt, call_counts.committed, simulated.opened), (2, 9_998, 3));
        assert_eq!(call_counts.balance(), Ok(()));
    }
}

#[test]
fn a_missed_deadline_is_a_call_in_doubt() {
    let hangs_once =
        |call: &Call, _| Step::done(if call.number == 3 { Nanos::from_secs(999) } else { ms(1) });
    let simulated = Simulation::new(plan(Arrivals::Closed), hangs_once).run();
    let call_counts = simulated.call_counts();
    assert_eq!((call_counts.in_doubt, call_counts.committed, simulated.opened), (1, 8_000, 2));
    assert_eq!(simulated.collected.totals.faults.max(), Some(Nanos::from_secs(2)));
}

#[test]
fn no_call_outlasts_the_drain() {
    let plan = Plan { deadline: Nanos::from_secs(3_600), ..plan(Arrivals::Closed) };
    let simulated = Simulation::new(plan, |_, _| Step::done(Nanos::from_secs(3_000))).run();
    let call_counts = simulated.call_counts();
    assert_eq!((call_counts.started, call_counts.in_doubt), (1, 1));
    assert_eq!(simulated.lasted, Nanos::from_secs(15));
}

#[test]
fn refused_calls_back_off_so_that_a_dead_server_does_not_make_us_spin() {
    let refuses = |_: &Call, _| Step::fault(Nanos(1_000), Fault::Refused(Refusal::Shedding));
    let simulated = Simulation::new(plan(Arrivals::Closed), refuses).run();
    // Pauses of 10, 20, 40 and 80 ms, then of 100 ms.
    let refused = simulated.call_counts().refused;
    assert!((101..=104).contains(&refused), "{refused}");
    assert_eq!(simulated.opened, 1, "a refused call says nothing against its session");
}

/// A connection that was closed while idle refuses its next call, and would refuse every one after it.
#[test]
fn a_session_that_reaches_no_one_is_opened_again() {
    let closed_once = |call: &Call, _| match call.number {
        10 => Step::fault(Nanos(1_000), Fault::Refused(Refusal::Unreachable)),
        _ => Step::done(ms(1)),
    };
    let simulated = Simulation::new(plan(Arrivals::Closed), closed_once).run();
    assert_eq!((simulated.call_counts().refused, simulated.opened), (1, 2));
}

#[test]
fn a_server_that_went_away_refuses_calls_until_it_is_back() {
    // The call that begins 1 s after the start is in doubt; the server is back after the fifth attempt to open.
    let script = |_: &Call, now| {
        let lost = now == START + Nanos::from_secs(1);
        if lost { Step::fault(ms(1), Fault::InDoubt(Doubt::ConnectionLost)) } else { Step::done(ms(1)) }
    };
    let away = |number| match number {
        1..=4 => Err(OpenError::Unreachable { what: "toy".to_owned(), why: "gone".to_owned() }),
        _ => Ok(()),
    };
    let simulated = Simulation::new(plan(Arrivals::Closed), script).opening(away).run();
    let call_counts = simulated.call_counts();
    assert_eq!((call_counts.in_doubt, call_counts.refused, simulated.opened), (1, 4, 6));
    // 10 s less the lost call and pauses of 10, 20, 40 and 80 ms.
    assert_eq!(call_counts.committed, 10_000 - 1 - 150);
    assert_eq!(simulated.control.failure(), None);
}

/// Four workers; the engine is away from 2 s to 5 s after the start.
#[test]
fn an_outage_is_reported_from_its_first_loss_to_the_next_completed_call() {
    let away = START + Nanos::from_secs(2)..START + Nanos::from_secs(5);
    let script = {
        let away = away.clone();
        move |_: &Call, now: Nanos| {
            let ended = now + ms(1);
            let lost = away.contains(&ended);
            if lost { Step::fault(ms(1), Fault::InDoubt(Doubt::CommitUnanswered)) } else { Step::done(ms(1)) }
        }
    };
    let nobody = move |_, now| match away.contains(&now) {
        true => Err(OpenError::Unreachable { what: "toy".to_owned(), why: "gone".to_owned() }),
        false => Ok(()),
    };
    let plan = Plan { workers: 4, ..plan(Arrivals::Closed) };
    let simulated = Simulation::new(plan, script).opening_at(nobody).run();
    let outages = simulated.control.outages().all(START);
    let [outage] = &outages[..] else { panic!("{outages:?}") };
    assert_eq!((outage.from, outage.in_doubt), (ms(2_000), 4));
    // Whoever is refused pauses for 100 ms at most.
    let to = outage.to.expect("it came back");
    assert!((ms(5_000)..=ms(5_101)).contains(&to), "{to:?}");
    let call_counts = simulated.call_counts();
    assert_eq!((call_counts.in_doubt, call_counts.refused), (outage.in_doubt, outage.refused));
    assert_eq!((call_counts.balance(), simulated.control.failure()), (Ok(()), None));
    assert!(call_counts.committed > 4 * 6_800, "it goes on: {call_counts:?}");
}

#[test]
fn a_session_that_cannot_be_used_any_more_ends_the_trial() {
    let script = |call: &Call, _| match call.number {
        100 => Step::fault(ms(1), Fault::InDoubt(Doubt::ConnectionLost)),
        _ => Step::done(ms(1)),
    };
    let spoiled = |number| match number {
        0 => Ok(()),
        _ => Err(OpenError::Unusable { what: "toy".to_owned(), why: "another tool".to_owned() }),
    };
    let simulated = Simulation::new(plan(Arrivals::Closed), script).opening(spoiled).run();
    let failure = simulated.control.failure().unwrap();
    assert_eq!(failure, "worker 0 could not reopen its session: could not use toy: another tool");
    assert!(simulated.lasted < ms(200));
    assert_eq!(simulated.call_counts().balance(), Ok(()));
}

#[test]
fn a_defect_ends_the_trial_and_says_what_was_wrong() {
    let wrong = |call: &Call, _| {
        let end = if call.number == 20 { Outcome::Wrong } else { Outcome::Done };
        Step { end: Ok(end), ..Step::done(ms(1)) }
    };
    let broken = |call: &Call, _| match call.number {
        20 => Step::fault(ms(1), Fault::defect(DefectKind::Engine, "no such table")),
        _ => Step::done(ms(1)),
    };
    for (simulation, message) in [
        (Simulation::new(plan(constant(1_000.0)), wrong), "plain: the answer is wrong"),
        (Simulation::new(plan(constant(1_000.0)), broken), "plain: no such table"),
    ] {
        let simulated = simulation.run();
        let call_counts = simulated.call_counts();
        assert_eq!((call_counts.defect, call_counts.committed), (1, 20));
        assert_eq!(simulated.control.failure().as_deref(), Some(message));
        assert_eq!(simulated.control.defects(), [message]);
        assert!(simulated.lasted < ms(100));
    }
}

fn deferred(queue_max: u32) -> Plan {
    let deferred = Deferred { workers: 1, queue_max, limit: Nanos::from_secs(80) };
    Plan { deferred: Some(deferred), ..plan(Arrivals::Closed) }
}

#[test]
fn deferred_calls_are_queued_at_once_and_done_later() {
    // Every tenth call is deferred and takes 15 ms; the other nine take 1 ms each, so the queue grows: 10 s give 1,111
    // deferred calls, of which 667 are done by then, and the drain does the rest.
    let script = |call: &Call, _| Step::done(if call.kind == LATER { ms(15) } else { ms(1) });
    let simulated = Simulation::new(deferred(10_000), script).later_each(10).run();
    let totals = &simulated.collected.totals;
    let (plain, later) = (totals.kinds[PLAIN].call_counts, totals.kinds[LATER].call_counts);
    assert_eq!((plain.committed, later.committed, later.dropped), (10_000, 1_111, 0));
    assert_eq!(simulated.call_counts().balance(), Ok(()));
    assert_eq!(totals.queueing.as_ref().unwrap().count(), 1_111);
    assert_eq!(totals.queueing.as_ref().unwrap().max(), Some(Nanos::ZERO));
    let times = &totals.kinds[LATER].committed;
    assert!(times.response.max().unwrap() > Nanos::from_secs(6), "queueing is part of the response");
    assert_eq!(times.service().max(), Some(ms(15)));
    assert!(later.late > 400, "{later:?}");
}

#[test]
fn a_full_queue_refuses_and_what_the_limit_leaves_is_dropped() {
    let script = |call: &Call, _| Step::done(if call.kind == LATER { Nanos(1_900_000_000) } else { ms(1) });
    let simulated = Simulation::new(deferred(100), script).later_each(10).run();
    let call_counts = simulated.call_counts();
    assert_eq!(call_counts.balance(), Ok(()));
    assert!(call_counts.refused > 0 && call_counts.dropped > 0, "{call_counts:?}");
    // 90 s at 1.9 s each; the call that the limit cuts off is in doubt.
    let later = simulated.collected.totals.kinds[LATER].call_counts;
    assert_eq!((later.committed, later.in_doubt), (47, 1));
    assert_eq!(simulated.lasted, Nanos::from_secs(90));
}

fn end() -> impl Strategy<Value = (Result<Outcome, Fault>, u32)> {
    let end = prop_oneof![
        12 => Just(Ok(Outcome::Done)),
        3 => Just(Ok(Outcome::No)),
        2 => Just(Err(Fault::Conflict(Conflict::Deadlock))),
        1 => Just(Err(Fault::Refused(Refusal::Shedding))),
        2 => Just(Err(Fault::InDoubt(Doubt::ServerError))),
    ];
    (end, 1u32..4)
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        Just(Arrivals::Closed),
        Just(Arrivals::Paced),
        (50.0..3_000.0f64).prop_map(constant),
        (50.0..3_000.0f64).prop_map(|rate| Arrivals::Poisson(RatePerSecond(rate))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn counts_balance_whatever_happens(
        arrivals in arrivals(),
        workers in 1u32..6,
        steps in prop::collection::vec((end(), 0u64..40), 1..60),
        defect_at in prop::option::weighted(0.2, 0u64..200),
        stop_at in prop::option::weighted(0.3, 0u64..3_000),
        defer in any::<bool>(),
        steady_after in 0u64..2_000,
        oversleeps in 0u64..3_000_000,
        calls in prop::option::of(1u64..400),
        unreachable in prop::collection::vec(any::<bool>(), 20),
    ) {
        let plan = Plan {
            workers,
            warmup: ms(700),
            warmup_max: ms(1_400),
            measured: ms(1_500),
            calls,
            drain_max: ms(300),
            deadline: ms(30),
            slice: ms(100),
            deferred: defer.then_some(Deferred { workers: 2, queue_max: 20, limit: ms(400) }),
            ..plan(arrivals)
        };
        let script = move |call: &Call, _| {
            if defect_at == Some(call.number) {
                return Step::fault(ms(1), Fault::defect(DefectKind::BadData, "a row is missing"));
            }
            let ((end, attempts), millis) = &steps[call.number as usize % steps.len()];
            Step { takes: Nanos(millis * 1_000_000 + 17_000), end: end.clone(), attempts: *attempts }
        };
        let opening = move |number: u32| match unreachable.get(number as usize) {
            Some(true) if number >= 8 => {
                Err(OpenError::Unreachable { what: "toy".to_owned(), why: "gone".to_owned() })
            }
            _ => Ok(()),
        };
        let mut simulation =
            Simulation::new(plan, script).opening(opening).later_each(5).steady_from(ms(steady_after));
        if let Some(millis) = stop_at {
            simulation = simulation.oversleeping(Nanos(oversleeps)).stop_after(ms(millis));
        }
        let simulated = simulation.run();
        let (call_counts, warmup) = (simulated.call_counts(), simulated.collected.warmup);
        prop_assert_eq!(call_counts.balance(), Ok(()));
        prop_assert_eq!(warmup.balance(), Ok(()));
        prop_assert!(calls.is_none_or(|calls| call_counts.due <= calls));
        prop_assert_eq!(simulated.collected.ledger.calls, call_counts.started + warmup.started);
        prop_assert_eq!(simulated.collected.ledger.committed, call_counts.committed + warmup.committed);
        let ended: u64 = simulated.collected.slices.iter().flat_map(|slice| &slice.kinds)
            .map(|ended| ended.committed + ended.declined + ended.faults).sum();
        prop_assert_eq!(ended, call_counts.started + warmup.started);
        let totals = &simulated.collected.totals;
        let timed: u64 = totals.kinds.iter().map(|kind| kind.committed.response.count()).sum();
        prop_assert_eq!(timed, call_counts.committed);
        prop_assert_eq!(totals.faults.count(), call_counts.faults());
    }
}

/// The rate of a simulated trial, and that of the slices of its window.
fn rates(simulated: &Simulated, span: Nanos) -> (f64, f64) {
    let committed = simulated.collected.totals.kinds[PLAIN].ended.committed;
    let measured = simulated.collected.slices.iter().filter(|slice| slice.phase == Phase::Measured);
    let in_slices: u64 = measured.map(|slice| slice.kinds[PLAIN].committed).sum();
    (committed as f64 / span.as_secs_f64(), in_slices as f64 / span.as_secs_f64())
}

#[test]
fn past_capacity_the_rate_is_the_capacity() {
    // Two clients of 400 calls per second each: the warm-up leaves a backlog that takes the whole window, and more, to serve.
    for asked in [400.0, 800.0, 1_200.0, 1_600.0, 2_400.0, 3_200.0] {
        let (warmup, measured) = (Nanos::from_secs(20), Nanos::from_secs(60));
        let arrivals = Arrivals::Poisson(RatePerSecond(asked));
        let plan = Plan { workers: 2, warmup, measured, ..plan(arrivals) };
        let simulated = Simulation::new(plan, |_, _| Step::done(Nanos(2_500_000))).run();
        let (rate, of_slices) = rates(&simulated, measured);
        let offered = simulated.call_counts().due as f64 / measured.as_secs_f64();
        let expected = offered.min(800.0);
        assert!((rate / expected - 1.0).abs() < 0.01, "{asked}: {rate} of {expected}");
        assert!((rate - of_slices).abs() * measured.as_secs_f64() < 0.5, "{asked}: {rate} and {of_slices}");
        let totals = &simulated.collected.totals;
        let backlog = totals.backlog;
        assert_eq!(
            backlog.backlog_before + totals.call_counts().due,
            backlog.started + backlog.backlog_after
        );
        assert_eq!(totals.call_counts().balance(), Ok(()));
    }
}

#[test]
fn a_closed_loop_of_many_slow_clients_loses_no_call_to_the_windows_edges() {
    // 64 clients with calls of 2.132 s on average: 30 calls per second, and 64 of them under way at any moment.
    let (warmup, measured) = (Nanos::from_secs(60), Nanos::from_secs(8));
    let plan =
        Plan { workers: 64, warmup, measured, deadline: Nanos::from_secs(9), ..plan(Arrivals::Closed) };
    let calls = AtomicU64::new(0);
    let takes = move |_: &Call, _: Nanos| {
        let number = calls.fetch_add(1, Ordering::Relaxed);
        Step::done(Nanos(1_000_000_000 + number * 7_919 % 227 * 10_000_000))
    };
    let simulated = Simulation::new(plan, takes).run();
    let (rate, of_slices) = rates(&simulated, measured);
    // Of those that are due and answered within 8 s there would be a quarter fewer.
    assert!((rate / 30.0 - 1.0).abs() < 0.08, "{rate}");
    assert!((rate - of_slices).abs() < 0.01, "{rate} and {of_slices}");
}

#[test]
fn a_warm_up_goes_on_until_the_engine_is_steady() {
    let warming = |steady, most| {
        let (warmup, warmup_max) = (Nanos::from_secs(2), Nanos::from_secs(most));
        let plan = Plan { workers: 2, warmup, warmup_max, ..plan(constant(400.0)) };
        Simulation::new(plan, |_, _| Step::done(ms(1))).steady_from(Nanos::from_secs(steady)).run()
    };
    for (steady, most, warmed) in [(0, 20, 2), (5, 20, 6), (50, 20, 20), (50, 0, 2)] {
        let simulated = warming(steady, most);
        assert_eq!(simulated.warmed, Nanos::from_secs(warmed), "steady after {steady} s, {most} s at most");
        let (call_counts, warmup) = (simulated.call_counts(), simulated.collected.warmup);
        assert_eq!((warmup.due, call_counts.due, call_counts.committed), (400 * warmed, 4_000, 4_000));
        assert_eq!(rates(&simulated, Nanos::from_secs(10)), (400.0, 400.0));
        let slices = &simulated.collected.slices;
        let warm = slices.iter().filter(|slice| slice.phase == Phase::WarmUp);
        assert!(warm.clone().all(|slice| slice.kinds[PLAIN].committed == 400));
        assert_eq!(warm.count() as u64, warmed);
    }
}

#[test]
fn a_call_due_after_the_planned_window_is_made_where_the_warm_up_goes_on() {
    // A call each 8 s: the second would be due after the window of 5 s, which then begins 6 s later.
    let (warmup, warmup_max, measured) = (Nanos::from_secs(2), Nanos::from_secs(8), Nanos::from_secs(5));
    let plan = Plan { warmup, warmup_max, measured, slice: ms(100), ..plan(constant(0.125)) };
    let simulated = Simulation::new(plan, |_, _| Step::done(ms(1))).steady_from(Nanos::from_secs(60)).run();
    assert_eq!((simulated.warmed, simulated.call_counts().committed), (Nanos::from_secs(8), 1));
}
