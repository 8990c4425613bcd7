//! The promises of windows that end with a number of calls, or have stages, in virtual time.

use crate::plan::{Arrivals, Plan, RatePerSecond};
use crate::simulation::{START, Simulation, Step};
use crate::toy::Call;
use crate::worker_tests::{constant, ms, plan};
use model::Nanos;

#[test]
fn a_burst_leaves_a_backlog_in_its_stage_and_counts_that_add_up() {
    // One client of 100 calls per second: 50 a second for 4 s, 300 for 2 s, which leaves 400 waiting, and 20 for the 6 s that
    // serve 80 each.
    let stage = |seconds, rate| {
        let rate = RatePerSecond(rate);
        crate::Stage { length: Nanos::from_secs(seconds), from: rate, to: rate }
    };
    let stages = vec![stage(4, 50.0), stage(2, 300.0), stage(6, 20.0)];
    let mean = crate::Stage::mean_rate(&stages);
    let (warmup, measured) = (Nanos::from_secs(1), Nanos::from_secs(12));
    for arrivals in [Arrivals::Constant(mean), Arrivals::Poisson(mean)] {
        let plan = Plan { stages: stages.clone(), warmup, warmup_max: measured, measured, ..plan(arrivals) };
        let simulated = Simulation::new(plan, |_, _| Step::done(ms(10))).steady_from(measured).run();
        assert_eq!(simulated.warmed, warmup, "the timetable says when the stages begin");
        let totals = &simulated.collected.totals;
        let due: Vec<u64> = totals.stages.iter().map(|stage| stage.call_counts.due).collect();
        if arrivals == Arrivals::Constant(mean) {
            assert_eq!(due, [200, 600, 120]);
            let waiting: Vec<u64> = totals.stages.iter().map(|stage| stage.backlog_after).collect();
            assert!(waiting[0] <= 1 && waiting[1].abs_diff(400) <= 2 && waiting[2] <= 1, "{waiting:?}");
            assert!(totals.stages[1].response.quantile(0.5).unwrap() > Nanos::from_secs(1));
            assert!(totals.stages[0].response.max().unwrap() == ms(10));
        }
        assert_eq!(due.iter().sum::<u64>(), simulated.call_counts().due);
        assert!(totals.stages.iter().all(|stage| stage.call_counts.balance().is_ok()));
    }
}

#[test]
fn a_number_of_calls_is_made_exactly_and_ends_the_window() {
    for arrivals in
        [Arrivals::Closed, Arrivals::Paced, constant(500.0), Arrivals::Poisson(RatePerSecond(500.0))]
    {
        for (calls, workers) in [(1, 1), (1, 5), (7, 5), (1_000, 3), (1_001, 64)] {
            let plan =
                Plan { workers, calls: Some(calls), measured: Nanos::from_secs(600), ..plan(arrivals) };
            let takes = |call: &Call, _: Nanos| Step::done(ms(call.number % 7 + 1));
            let simulated = Simulation::new(plan, takes).run();
            let call_counts = simulated.call_counts();
            let what = format!("{calls} calls of {workers} workers, {arrivals:?}");
            assert_eq!(
                (call_counts.due, call_counts.committed, call_counts.dropped),
                (calls, calls, 0),
                "{what}"
            );
            assert!(!simulated.control.is_cut_short() && simulated.control.failure().is_none(), "{what}");
            assert!(simulated.lasted < Nanos::from_secs(500), "{what} went on for {:?}", simulated.lasted);
            if !arrivals.is_open() {
                assert_eq!(call_counts.late, 0, "{what}: the window ends when the last of them has");
                let last = simulated.control.closes() - START - Nanos(1);
                assert!(last <= simulated.lasted, "{what}");
            }
        }
    }
}

#[test]
fn a_window_that_is_over_before_its_calls_ends_as_planned() {
    for arrivals in [Arrivals::Closed, Arrivals::Paced, constant(50.0)] {
        let plan =
            Plan { workers: 2, calls: Some(1_000_000), measured: Nanos::from_secs(2), ..plan(arrivals) };
        let warmup = plan.warmup;
        let simulated = Simulation::new(plan, |_, _| Step::done(ms(10))).run();
        assert_eq!(simulated.control.closes(), START + warmup + Nanos::from_secs(2), "{arrivals:?}");
        assert_eq!(simulated.call_counts().balance(), Ok(()));
    }
}
