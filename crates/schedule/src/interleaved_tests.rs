//! What runs in each block, and what it comes to.

use super::*;
use crate::plan::Criterion;
use deploy::{EngineOptions, Spec};
use model::{Mix, Nanos, Workload};
use sql::Dialect;
use workload_tpcc::Tpcc;

fn three() -> Interleaved {
    let variant = |name: &str, base| Variant {
        name: name.into(),
        subject: "tpcc/sqlite/rusqlite".into(),
        base,
        factors: vec!["pool".into()],
        plan: drive::Plan::default(),
        pool: 8,
        server_threads: 1,
        http: model::HttpOptions::default(),
        server_limits: None,
        relaying: deploy::RelayOptions::default(),
        spec: Spec::of_options(Dialect::Sqlite, 1, &[], &EngineOptions::default()),
        through_checkpoints: false,
        whole: false,
        asked: vec![("pool".into(), "8".into())],
    };
    let experiment = Experiment {
        name: "three".into(),
        question: None,
        workload: "tpcc".into(),
        scale: 1,
        blocks: 3,
        control: true,
        criteria: vec![Criterion { metric: "throughput".into(), margin: 0.02, max_loss: None }],
        accept_inconclusive: false,
        require_audit: false,
        seed: 7,
        variants: vec![variant("base", None), variant("B: 8", Some(0)), variant("alone", None)],
        notes: Vec::new(),
        suspicion: None,
        precision: None,
        time: None,
    };
    Interleaved { kind: RunKind::Experiment, experiment, stored: Vec::new() }
}

#[test]
fn each_base_that_something_is_held_against_runs_once_more() {
    let names = |run: &Interleaved| -> Vec<String> {
        run.experiment.arms().into_iter().map(|part| part.name).collect()
    };
    let mut run = three();
    assert_eq!(names(&run), ["base", "base, again", "B: 8", "alone"]);
    run.experiment.control = false;
    assert_eq!(names(&run), ["base", "B: 8", "alone"]);
}

#[test]
fn a_metric_of_calls_that_a_variant_does_not_make_is_found_before_anything_runs() {
    let mut experiment = three().experiment;
    let of = |experiment: &Experiment| Interleaved::of::<Tpcc>(experiment.clone(), RunKind::Experiment);
    experiment.criteria[0].metric = "new-order.p99".into();
    assert!(of(&experiment).is_ok());
    experiment.variants[1].plan.mix = Mix::of(Tpcc::KINDS, &[("payment".to_owned(), 1.0)]).unwrap();
    let error = of(&experiment).unwrap_err().to_string();
    assert!(error.starts_with("B: 8 makes no calls that the metric `new-order.p99`"), "{error}");
    experiment.criteria[0].metric = "payment.p99".into();
    assert!(of(&experiment).is_ok());
}

/// Blocks of which each has these rates of the base, its control, and the variants.
fn so_far(run: &Interleaved, blocks: &[[f64; 4]]) -> CompletedTrials {
    let (arms, mut so_far) = (run.experiment.arms(), CompletedTrials::default());
    for number in 1..=blocks.len() * arms.len() {
        let (block, part) = run.slot(&arms, number).unwrap();
        let mut trial = sample_documents::trial().trials[0].clone();
        trial.headline.value.value = blocks[block as usize][part];
        so_far.push(number, arms[part].variant, trial);
    }
    so_far
}

#[test]
fn blocks_are_added_until_intervals_are_narrow_enough_and_five_at_least() {
    let mut run = three();
    run.experiment.blocks = 20;
    let narrow = [[1_000.0, 1_001.0, 900.0, 500.0], [1_002.0, 1_000.0, 905.0, 500.0]];
    let blocks = |count: usize| -> Vec<_> { narrow.into_iter().cycle().take(count).collect() };
    let ends = |run: &Interleaved, blocks: &[[f64; 4]]| {
        let next = Schedule::<Tpcc>::next(run, blocks.len() * 4 + 1, &so_far(run, blocks)).unwrap();
        matches!(next, Next::End)
    };
    assert!(!ends(&run, &blocks(6)), "no precision was asked for");
    run.experiment.precision = Some(0.01);
    assert!(!ends(&run, &blocks(4)) && ends(&run, &blocks(5)));
    let mut wild = blocks(5);
    wild[2][2] = 700.0;
    assert!(!ends(&run, &wild));
    // Nothing ends within a block.
    let next = Schedule::<Tpcc>::next(&run, 22, &so_far(&run, &blocks(5))).unwrap();
    assert!(matches!(next, Next::Trial(_)));
    let mut document = sample_documents::comparison();
    Schedule::<Tpcc>::conclude(&run, &so_far(&run, &blocks(5)), &mut document);
    assert_eq!(document.experiment.unwrap().blocks_planned, 5);
    assert!(
        document.notes.iter().any(|note| note.starts_with("It ended after 5 blocks")),
        "{:?}",
        document.notes
    );
}

#[test]
fn no_block_begins_that_would_end_long_after_the_time_that_was_asked_for() {
    let mut run = three();
    run.experiment.blocks = 10;
    let blocks = |count: usize| vec![[1_000.0, 1_001.0, 900.0, 500.0]; count];
    let ends = |run: &Interleaved, count: usize, measured_s: f64| {
        let mut so_far = so_far(run, &blocks(count));
        so_far.spent.measured_s = measured_s;
        matches!(Schedule::<Tpcc>::next(run, count * 4 + 1, &so_far).unwrap(), Next::End)
    };
    assert!(!ends(&run, 5, 10_000.0), "no time was asked for");
    run.experiment.time = Some(Nanos::from_secs(600));
    // Blocks of 60 s as planned, of 65 s, of 70 s, and of 90 s; and too few for an interval.
    assert!(!ends(&run, 9, 9.0 * 60.0) && !ends(&run, 9, 9.0 * 65.0));
    assert!(ends(&run, 9, 9.0 * 74.0) && ends(&run, 7, 7.0 * 90.0) && !ends(&run, 6, 6.0 * 90.0));
    assert!(!ends(&run, 2, 2.0 * 600.0));
    let (mut document, mut so_far) = (sample_documents::comparison(), so_far(&run, &blocks(7)));
    so_far.spent.measured_s = 630.0;
    Schedule::<Tpcc>::conclude(&run, &so_far, &mut document);
    assert_eq!(document.experiment.unwrap().blocks_planned, 7);
    assert!(
        document.notes.iter().any(|note| note.starts_with("It ended after 7 of 10 blocks")),
        "{:?}",
        document.notes
    );
}

#[test]
fn a_stored_base_is_compared_with_what_runs_and_does_not_run() {
    let mut run = three();
    run.kind = RunKind::Comparison;
    run.experiment.variants.truncate(2);
    let stored = |rate: f64, seed: u64| {
        let mut trial = sample_documents::trial().trials[0].clone();
        trial.headline.value.value = rate;
        trial.plan.seed = seed;
        trial
    };
    let run = run.with_stored_base(vec![
        stored(1_000.0, 1),
        stored(1_010.0, 1),
        stored(990.0, 2),
        stored(1_000.0, 2),
    ]);
    let here = Schedule::<Tpcc>::variants(&run);
    assert_eq!(here.iter().map(|variant| variant.name.as_str()).collect::<Vec<_>>(), ["B: 8"]);
    assert_eq!((Schedule::<Tpcc>::trials(&run), Schedule::<Tpcc>::block(&run)), (Some(4), 1));
    let mut so_far = CompletedTrials::default();
    let mut seeds = Vec::new();
    while let Next::Trial(planned) = Schedule::<Tpcc>::next(&run, so_far.trials.len() + 1, &so_far).unwrap() {
        assert_eq!(planned.variant, 0, "of those that run");
        seeds.push(planned.plan.seed);
        let rate = 900.0 + 10.0 * (seeds.len() % 2) as f64;
        so_far.push(so_far.trials.len() + 1, planned.variant, stored(rate, planned.plan.seed));
    }
    assert_eq!(seeds, [1, 1, 2, 2], "the calls of the stored trials");
    let mut document = sample_documents::comparison();
    Schedule::<Tpcc>::conclude(&run, &so_far, &mut document);
    assert_eq!(document.trials.len(), 8);
    let experiment = document.experiment.unwrap();
    let trials: Vec<_> = experiment.variants.iter().map(|variant| variant.trials.clone()).collect();
    let of = |from: usize| (from..from + 4).map(Some).collect::<Vec<_>>();
    assert_eq!(trials, [of(0), of(4)]);
    let ratio = experiment.comparisons[0].ratio.unwrap();
    assert!((0.89..0.92).contains(&ratio.value) && ratio.high.unwrap() < 0.95, "{ratio:?}");
    assert_eq!(serde_json::from_str::<Interleaved>(&serde_json::to_string(&run).unwrap()).unwrap(), run);
}

#[test]
fn a_plan_is_read_as_it_was_written() {
    let text = serde_json::to_string(&three()).unwrap();
    assert_eq!(serde_json::from_str::<Interleaved>(&text).unwrap(), three());
}

/// A drift that goes on evenly through a block does the same to the mean of both trials of the base as to what lies
/// between them.
#[test]
fn a_base_and_its_control_lie_around_the_middle_of_each_block() {
    let (run, arms) = (three(), three().experiment.arms());
    let parts: Vec<usize> = (1..=12).map(|number| run.slot(&arms, number).unwrap().1).collect();
    for block in parts.chunks(4) {
        let place = |part: usize| block.iter().position(|of| *of == part).unwrap();
        assert_eq!(place(0) + place(1), 3, "{block:?}");
    }
}

#[test]
fn the_same_plan_gives_the_same_trials_so_that_it_can_be_resumed() {
    let folders = || -> Vec<String> {
        let (run, arms) = (three(), three().experiment.arms());
        (1..).map_while(|number| run.wanted(&arms, number)).map(|wanted| wanted.folder).collect()
    };
    assert_eq!(folders().len(), 12);
    assert_eq!(folders(), folders());
    assert!(folders()[11].starts_with("012-"), "{:?}", folders());
    assert!(folders().iter().any(|folder| folder.ends_with("-b-8")), "{:?}", folders());
}
