//! Parts of a plan, put together, are the whole: in virtual time, to the last call.

use crate::plan::{Arrivals, Deferred, PartError, Plan, RatePerSecond, Think};
use crate::simulation::{START, Simulated, Simulation, Step};
use crate::toy::{Call, Toy};
use crate::trial::Trial;
use crate::worker_tests::{constant, ms, plan};
use measure::Spectrum;
use model::Nanos;

type Script = fn(&Call, Nanos) -> Step;

/// What a process would have returned.
fn trial(simulated: Simulated) -> Trial<Toy> {
    let Simulated { collected, control, warmed, .. } = simulated;
    let opened = START + warmed;
    Trial {
        totals: collected.totals,
        uncounted: collected.warmup,
        slices: collected.slices,
        ledger: collected.ledger,
        warmed,
        opened,
        span: control.closes() - opened,
        interrupted: control.is_cut_short(),
        failure: control.failure(),
        defects: control.defects(),
        outages: Vec::new(),
        refusals: Vec::new(),
        gaps: Vec::new(),
        cpu: Nanos::ZERO,
        spectra: collected.spectra,
    }
}

#[test]
fn parts_of_any_number_are_together_what_one_process_measures() {
    let by_worker = |call: &Call, _: Nanos| Step::done(ms(call.number % 7 + 1));
    let alike = |_: &Call, _: Nanos| Step::done(ms(3));
    let paced = |plan: Plan| Plan { think: Think::Exponential(ms(20)), ..plan };
    let stage = |seconds, rate| {
        let rate = RatePerSecond(rate);
        crate::Stage { length: Nanos::from_secs(seconds), from: rate, to: rate }
    };
    let stages = vec![stage(2, 40.0), stage(2, 90.0)];
    let staged = Plan { stages: stages.clone(), ..plan(Arrivals::Poisson(crate::Stage::mean_rate(&stages))) };
    // Of an open loop any free worker takes the next call: how long that takes must not depend on who it is.
    let loads: [(&str, Plan, Script); 6] = [
        ("closed", plan(Arrivals::Closed), by_worker),
        ("paced", paced(plan(Arrivals::Paced)), by_worker),
        ("constant", plan(constant(200.0)), alike),
        ("poisson", plan(Arrivals::Poisson(RatePerSecond(200.0))), alike),
        ("counted", Plan { calls: Some(333), ..plan(constant(200.0)) }, alike),
        ("staged", staged, alike),
    ];
    for (name, load, script) in loads {
        let load = Plan { workers: 60, warmup: Nanos::from_secs(1), measured: Nanos::from_secs(4), ..load };
        let whole = trial(Simulation::new(load.clone(), script).run());
        for of in [1, 2, 7] {
            let parts =
                (0..of).map(|index| trial(Simulation::new(load.part(index, of).unwrap(), script).run()));
            let joined = Trial::join(parts.collect()).unwrap();
            let what = format!("{name} in {of}");
            assert_eq!(joined.totals.call_counts(), whole.totals.call_counts(), "{what}");
            assert!(joined.totals.call_counts().committed > 100, "{what}");
            assert_eq!(joined.uncounted, whole.uncounted, "{what}");
            assert_eq!(joined.totals.backlog, whole.totals.backlog, "{what}");
            for (mine, theirs) in joined.totals.kinds.iter().zip(&whole.totals.kinds) {
                assert_eq!(mine.work, theirs.work, "{what}");
                assert_eq!(mine.ended, theirs.ended, "{what}");
                assert_eq!(
                    Spectrum::from(&mine.committed.response),
                    Spectrum::from(&theirs.committed.response),
                    "{what}"
                );
            }
            for (mine, theirs) in joined.totals.stages.iter().zip(&whole.totals.stages) {
                assert_eq!(mine.call_counts, theirs.call_counts, "{what}");
            }
            assert_eq!(joined.slices, whole.slices, "{what}");
            assert_eq!((joined.span, joined.interrupted), (whole.span, false), "{what}");
        }
    }
}

#[test]
fn workers_are_shared_out_and_each_is_in_one_part() {
    for (workers, of) in [(7, 3), (100_000, 999), (5, 5), (1, 1)] {
        let plan = Plan { workers, ..plan(Arrivals::Closed) };
        let parts: Vec<Plan> = (0..of).map(|index| plan.part(index, of).unwrap()).collect();
        let ranges = parts.iter().map(|part| part.first_worker()..part.first_worker() + part.workers);
        let all: Vec<u32> = ranges.flatten().collect();
        assert_eq!(all, (0..workers).collect::<Vec<u32>>());
        let most = parts.iter().map(|part| part.workers).max().unwrap();
        assert!(parts.iter().all(|part| part.workers + 1 >= most && part.workers > 0));
    }
}

#[test]
fn what_processes_cannot_do_together_is_refused() {
    let two = Plan { workers: 2, ..plan(Arrivals::Closed) };
    assert_eq!(two.part(0, 3), Err(PartError::TooMany { workers: 2, of: 3 }));
    for (index, of) in [(2, 2), (0, 0)] {
        assert!(matches!(two.part(index, of), Err(PartError::NoPart { .. })));
    }
    let counted = Plan { calls: Some(10), ..two.clone() };
    assert!(counted.part(0, 2).unwrap_err().to_string().contains("a number of calls"));
    let queued = Plan { deferred: Some(Deferred::default()), ..two };
    assert!(queued.part(0, 2).unwrap_err().to_string().contains("queue of deferred calls"));
}
