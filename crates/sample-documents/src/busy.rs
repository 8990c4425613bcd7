//! The largest trial that there is: nothing is left out that a document or a page grows with.

use super::experiment::add_engine_process;
use super::shape::{Hump, quantiles, spectrum};
use super::trial::{document, engine_trial, through_http};
use model::random::Random;
use result::{Arrivals, Class, Document, Gauge, GaugeKind, Latency, RunKind, Statement, Tally, Wait};

/// The most steps, lines, statements and bytes of a statement that an observer keeps of an engine.
const STEPS: u32 = 600;
const WAITS: usize = 13;
const STATEMENTS: u64 = 12;
const TEXT: usize = 240;
/// What PostgreSQL counts of itself, and some more.
const GAUGES: usize = 20;

/// A trial of `seconds` in an open loop on PostgreSQL through HTTP: three processes, calls that ended in every class, and
/// as much of the engine as is ever kept.
pub fn busy_trial(seconds: u32) -> Document {
    let mut trial = through_http(1.0, seconds);
    trial.subject = "tpcc/postgres/axum+tokio-postgres".to_owned();
    trial.plan.arrivals = Arrivals::Poisson { rate_per_s: 1_800.0 };
    let sample = engine_trial().trials.remove(0);
    trial.stack.engine = sample.stack.engine;
    trial.stack.engine_version = sample.stack.engine_version;
    trial.stack.durability = sample.stack.durability;
    let mut random = Random::stream(42, &[8]);
    // A fraction with all the digits that the clock gives.
    let mut fraction = || random.below(1_000_000_000) as f64 / 1e9;
    add_engine_process(&mut trial);
    for sample in trial.processes.iter_mut().flat_map(|process| &mut process.samples) {
        sample.t_s += fraction() / 1e3;
        sample.cores_busy = (sample.cores_busy * 1e4 + fraction()).round() / 1e4;
        sample.rss_bytes += (fraction() * 1e6) as u64;
    }
    let kinds = trial.kinds.iter_mut().map(|kind| &mut kind.tally);
    kinds.chain([&mut trial.overall]).for_each(all_classes);

    let mut line = |most: f64| -> Vec<Option<f64>> {
        (0..STEPS).map(|_| Some((fraction() * most * 1e4).round() / 1e4)).collect()
    };
    let gauge = |at: usize| Gauge {
        name: format!("counter {at}"),
        group: format!("group {}", at % 5),
        unit: "blocks".to_owned(),
        kind: GaugeKind::Counter,
        total: Some(4.2e10),
        values: line(2e7),
    };
    let gauges = (0..GAUGES).map(gauge).collect();
    let wait = |at: usize| Wait {
        name: format!("LWLock:number{at}"),
        share: 1.0 / WAITS as f64,
        sessions: line(8.0),
    };
    let waits = (0..WAITS).map(wait).collect();
    let statement = |at: u64| Statement {
        text: "select s_quantity ".repeat(TEXT)[..TEXT].to_owned(),
        calls: 41_000 - at,
        total_ms: 2_100.0 - at as f64,
        rows: 41_000 - at,
    };
    let step_s = f64::from(seconds) / f64::from(STEPS);
    trial.engine = Some(result::Engine {
        t_s: (1..=STEPS).map(|step| f64::from(step) * step_s + fraction() / 1e3).collect(),
        gauges,
        waits,
        samples: u64::from(seconds) * 10,
        statements: (0..STATEMENTS).map(statement).collect(),
        other_sessions: None,
        missing_s: 0.0,
    });
    document("busy", RunKind::Trial, vec![trial])
}

/// Every class with times of its own over four decades, response and service apart.
fn all_classes(tally: &mut Tally) {
    use Class::{Committed, Conflict, Declined, Defect, InDoubt, Refused};
    let shares = [0.97, 0.01, 0.01, 0.009, 0.0005, 0.0005];
    let call_counts = &mut tally.call_counts;
    let counts = shares.map(|share| (call_counts.started as f64 * share) as u64);
    let [declined, conflict, refused, in_doubt, defect] =
        [counts[1], counts[2], counts[3], counts[4], counts[5]];
    let others = declined + conflict + refused + in_doubt + defect;
    *call_counts = result::CallCounts {
        committed: call_counts.started - others,
        declined,
        conflict,
        refused,
        in_doubt,
        defect,
        ..*call_counts
    };
    let wide = [Hump { share: 1.0, median_ns: 3e6, width: 0.4 }];
    let latency = |(class, count): (Class, u64)| {
        let spectrum = spectrum(&wide, count);
        let response = quantiles(&spectrum);
        Latency { class, response, service: Some(response), spectrum }
    };
    let classes = [Committed, Declined, Conflict, Refused, InDoubt, Defect];
    let counts = [call_counts.committed, declined, conflict, refused, in_doubt, defect];
    tally.latency = classes.into_iter().zip(counts).filter(|(_, count)| *count > 0).map(latency).collect();
}
