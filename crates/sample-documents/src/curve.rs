//! Sample sweeps and a sample search.

use super::trial::{direct, document};
use judge::curve::{self, Loaded, SERVED_SHARE};
use result::{Arrivals, Axis, Document, Interval, RunKind, Search, SloLimit, Step, Suspect, Trial};

/// What the rule `saturation` says when the one writer is full, and when nothing is.
const WRITER: &str = "SQLite's one writer was busy 98 % of the time, 71 % of that in commit: the engine's one writer is saturated and likely limits throughput";
const IDLE: &str = "no observed resource was saturated (generator 0.1 of 8 cores): the rate is the one that was asked \
                    for, not a maximum";

/// How the blocks of a sweep differ.
const PACES: [f64; 3] = [1.0, 1.012, 0.991];

/// One, two, four, … clients on one writer, three blocks.
pub fn sweep() -> Document {
    let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    sampled("sweep", Axis::Clients, &loads, |load, pace| {
        let growth = 1.0 + 0.11 * (load - 1.0) + 0.002_3 * load * (load - 1.0);
        let mut trial = slim(1.0);
        trial.plan.clients = load as u32;
        let idle = format!(
            "no observed resource was saturated (generator 0.1 of 8 cores): throughput is limited by {load} clients \
             and is not a maximum"
        );
        judged(&mut trial, load >= 4.0, &idle);
        // No two trials are alike.
        let luck = 1.0 + 0.012 * ((load * 7.3 + pace * 911.0).sin());
        let value = 13_400.0 * pace * luck * load / growth;
        trial.headline.value = Interval { value, low: None, high: None };
        stretched(&mut trial, growth / 2.0);
        trial
    })
}

/// 100, 200, 400 and 800 calls per second, of which the last are too many.
pub fn rate_sweep() -> Document {
    sampled("rates", Axis::Rate, &[100.0, 200.0, 400.0, 800.0], |load, pace| {
        let served = (600.0 * pace / load).min(1.0);
        let mut trial = slim(1.0);
        trial.plan.arrivals = Arrivals::Poisson { rate_per_s: load };
        let due = (load * trial.measured_s).round();
        let call_counts = &mut trial.overall.call_counts;
        call_counts.due = due as u64;
        call_counts.started = (due * served).round() as u64;
        call_counts.dropped = call_counts.due - call_counts.started;
        call_counts.committed = call_counts.started - call_counts.started / 200;
        call_counts.declined = call_counts.started / 200;
        trial.overall.rate_per_s.value = call_counts.committed as f64 / trial.measured_s;
        trial.headline.value.value = load * served * 60.0 * 10.0 / 23.0;
        judged(&mut trial, load > 300.0, IDLE);
        stretched(&mut trial, if served < SERVED_SHARE { 40.0 } else { 1.0 + load / 1_000.0 });
        trial
    })
}

/// The highest rate within 50 ms.
pub fn search() -> Document {
    let rates = [
        (900.0, false, true, "new-order p99 21 ms of 50 ms"),
        (
            1_350.0,
            false,
            false,
            "412 calls of new-order took longer than 50 ms (p99 212 ms so far), of at most 391 that its p99 allows",
        ),
        (1_102.0, false, true, "new-order p99 34 ms of 50 ms"),
        (1_220.0, false, true, "new-order p99 44 ms of 50 ms"),
        (1_283.0, false, false, "new-order p99 58 ms of 50 ms"),
        (1_220.0, true, true, "new-order p99 45 ms of 50 ms"),
        (1_220.0, true, true, "new-order p99 43 ms of 50 ms"),
        (1_220.0, true, true, "new-order p99 46 ms of 50 ms"),
    ];
    let trials = rates.iter().map(|(rate_per_s, ..)| {
        let mut trial = slim(1.0);
        trial.plan.arrivals = Arrivals::Poisson { rate_per_s: *rate_per_s };
        trial
    });
    let mut document = document("search", RunKind::Search, trials.collect());
    document.command = ["stackmark", "find-max", "tpcc/sqlite/rusqlite", "--slo", "new-order.p99<50ms"]
        .map(str::to_owned)
        .to_vec();
    let step = |(trial, (rate_per_s, confirming, met, reason)): (usize, (f64, bool, bool, &str))| Step {
        rate_per_s,
        trial,
        confirming,
        met,
        reason: reason.to_owned(),
        ended_early_s: None,
    };
    let mut steps: Vec<Step> = rates.into_iter().enumerate().map(step).collect();
    // The way up ends with a rate that is far too high.
    steps[1].ended_early_s = Some(15.0);
    document.search = Some(Search {
        slo: "new-order.p99<50ms".to_owned(),
        limits: vec![SloLimit {
            kind: Some("new-order".to_owned()),
            quantile: "p99".to_owned(),
            max_ns: 50_000_000,
        }],
        steps,
        highest_per_s: Some(1_220.0),
        lowest_missed_per_s: Some(1_283.0),
        next_limit: Some(
            "Likely limit above this rate: SQLite's one writer (of the mean response time, pool wait grew most, from 11 ms to 31 ms).".to_owned(),
        ),
        sentence: "1,220 calls/s met the SLO in 3 of 3 confirmation trials; 1,283 calls/s missed it.".to_owned(),
    });
    document
}

fn sampled(name: &str, axis: Axis, loads: &[f64], make: impl Fn(f64, f64) -> Trial) -> Document {
    let trials = PACES.iter().flat_map(|pace| loads.iter().map(|load| make(*load, *pace))).collect();
    let mut document = document(name, RunKind::Sweep, trials);
    document.command = ["stackmark", "sweep", "tpcc/sqlite/rusqlite"].map(str::to_owned).to_vec();
    let of_load = |(at, load): (usize, &f64)| Loaded {
        load: *load,
        trials: (0..PACES.len()).map(|block| Some(block * loads.len() + at)).collect(),
    };
    let loaded: Vec<Loaded> = loads.iter().enumerate().map(of_load).collect();
    document.curve = Some(curve::draw_up(axis, &loaded, &document.trials, 1));
    document
}

/// Whether the one writer was full, or else what the rule says.
fn judged(trial: &mut Trial, full: bool, idle: &str) {
    for rule in trial.rules.iter_mut().filter(|rule| rule.name == "saturation") {
        rule.sentence = if full { WRITER } else { idle }.to_owned();
        rule.saturated = full.then_some(Suspect::Writer);
    }
}

/// A trial as the document of a run of several has it.
fn slim(pace: f64) -> Trial {
    let mut trial = direct(pace, 30);
    trial.slices.clear();
    for process in &mut trial.processes {
        process.samples.clear();
    }
    trial
}

/// Makes every response time of all calls together longer.
fn stretched(trial: &mut Trial, by: f64) {
    let longer = |ns: Option<u64>| ns.map(|ns| (ns as f64 * by) as u64);
    for latency in &mut trial.overall.latency {
        let times = &mut latency.response;
        times.mean_ns *= by;
        times.max_ns = (times.max_ns as f64 * by) as u64;
        for time in
            [&mut times.p50_ns, &mut times.p90_ns, &mut times.p95_ns, &mut times.p99_ns, &mut times.p999_ns]
        {
            *time = longer(*time);
        }
    }
}
