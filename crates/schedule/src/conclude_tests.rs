use super::*;
use crate::plan::Variant;
use deploy::EngineOptions;
use deploy::Spec;
use model::Workload;
use result::{AllDue, Document, MachineSpeed, SpeedAround};
use sql::Dialect;
use workload_tpcc::Tpcc;

/// What the trials of `direct`, of `direct, again` and of `through HTTP` showed, a block each.
struct Fixture {
    plan: Experiment,
    metrics: Vec<Measured>,
    statuses: Vec<VariantStatus>,
    of_parts: Vec<Vec<Option<usize>>>,
    trials: Vec<Trial>,
}

fn variant(name: &str, subject: &str, base: Option<usize>) -> Variant {
    Variant {
        name: name.into(),
        subject: subject.into(),
        base,
        factors: Vec::new(),
        plan: drive::Plan { workers: 8, ..drive::Plan::default() },
        pool: 8,
        server_threads: 1,
        http: model::HttpOptions::default(),
        server_limits: None,
        relaying: deploy::RelayOptions::default(),
        spec: Spec::of_options(Dialect::Sqlite, 1, &[], &EngineOptions::default()),
        through_checkpoints: false,
        whole: false,
        asked: Vec::new(),
    }
}

fn criterion(metric: &str) -> Criterion {
    Criterion { metric: metric.into(), margin: 0.02, max_loss: Some(0.05) }
}

fn bed(metric: &str, direct: &[f64], again: &[f64], http: &[f64]) -> Fixture {
    let Document { trials: samples, .. } = sample_documents::comparison();
    let of_route = |route: &str| samples.iter().find(|trial| trial.stack.route == route).unwrap();
    let metrics = vec![Measured::named(metric, Tpcc::KINDS).unwrap()];
    let (mut trials, mut of_parts) = (Vec::new(), vec![Vec::new(); 3]);
    for block in 0..direct.len() {
        for (part, route, values) in [(0, "direct", direct), (1, "direct", again), (2, "http", http)] {
            let Some(value) = values.get(block) else { continue };
            let mut trial = of_route(route).clone();
            trial.headline.value.value = *value;
            trial.overall.all_due.as_mut().unwrap().p99_ns = Some((*value * 1e6) as u64);
            of_parts[part].push(Some(trials.len()));
            trials.push(trial);
        }
    }
    let variants = vec![
        variant("direct", "tpcc/sqlite/rusqlite", None),
        variant("through HTTP", "tpcc/sqlite/axum+rusqlite", Some(0)),
    ];
    let plan = Experiment {
        name: "bed".into(),
        question: None,
        workload: "tpcc".into(),
        scale: 1,
        blocks: direct.len() as u32,
        control: true,
        criteria: vec![criterion(metric)],
        accept_inconclusive: false,
        require_audit: false,
        seed: 1,
        variants,
        notes: Vec::new(),
        suspicion: None,
        precision: None,
        time: None,
    };
    let status = VariantStatus { state: VariantState::Measured, reason: None };
    Fixture { plan, metrics, statuses: vec![status; 3], of_parts, trials }
}

impl Fixture {
    fn arms(&self) -> Vec<Arm> {
        self.plan.arms()
    }

    fn all(&self) -> Vec<Comparison> {
        let findings = Findings {
            plan: &self.plan,
            metrics: &self.metrics,
            at: 0,
            arms: &self.arms(),
            statuses: &self.statuses,
            of_parts: &self.of_parts,
            trials: &self.trials,
        };
        findings.comparisons::<Tpcc>()
    }

    /// Compares one more metric.
    fn also(&mut self, metric: &str) {
        self.plan.criteria.push(criterion(metric));
        self.metrics.push(Measured::named(metric, Tpcc::KINDS).unwrap());
    }

    #[track_caller]
    fn only(&self) -> Comparison {
        let [comparison] = <[Comparison; 1]>::try_from(self.all()).unwrap();
        comparison
    }
}

const STEADY: [f64; 5] = [1000.0, 1001.0, 999.0, 1000.5, 999.5];

fn scaled(by: f64) -> Vec<f64> {
    STEADY.iter().rev().map(|value| value * by).collect()
}

#[test]
fn whole_blocks_of_too_few_calls_are_not_called_partial() {
    let without = |blocks: &[usize]| {
        let mut bed = bed("p99", &STEADY, &scaled(1.0), &scaled(1.2));
        for block in blocks {
            let trial = bed.of_parts[2][*block].unwrap();
            bed.trials[trial].overall.all_due = Some(AllDue::new(900, 0, |_| Some(1)));
        }
        bed
    };
    let none = without(&[0, 1, 2, 3, 4]).only();
    assert_eq!(none.ratio, None);
    assert!(
        none.sentence
            .contains("the p99 of the response time is unknown on one side in all of the 5 complete blocks"),
        "{none:?}"
    );
    assert!(none.sentence.contains("too few calls: measure longer"), "{none:?}");
    let some = without(&[1, 3]).only();
    assert!(some.sentence.contains("2 whole blocks are left out because the p99"), "{}", some.sentence);
    let mut cut = without(&[1]);
    // Of the base and of its control, each of which would do.
    for part in [0, 1] {
        let trial = cut.of_parts[part][0].unwrap();
        cut.trials[trial].state = State::Interrupted;
    }
    let cut = cut.only().sentence;
    assert!(cut.contains(" A block is left out because a trial of it is missing or not whole."), "{cut}");
    assert!(cut.contains(" A whole block is left out because the p99"), "{cut}");
    let mut all = without(&[]);
    all.trials.iter_mut().for_each(|trial| trial.state = State::Interrupted);
    assert!(all.only().sentence.contains("no block has two complete trials"));
}

#[test]
fn a_percentile_of_calls_that_were_never_answered_is_no_block_to_leave_out() {
    let mut bed = bed("p99", &STEADY, &scaled(1.0), &scaled(0.5));
    let trial = bed.of_parts[2][3].unwrap();
    bed.trials[trial].overall.all_due =
        Some(AllDue::new(10_000, 150, |quantile| (quantile < 0.98).then_some(1)));
    let found = bed.only();
    assert_eq!((found.ratio, found.verdict), (None, Verdict::Inconclusive), "{found:?}");
    assert!(found.sentence.contains("150 of 10000 calls due were never answered"), "{found:?}");
}

#[test]
fn each_variant_is_held_against_its_base_and_the_control_against_it_too() {
    let found = bed("throughput", &STEADY, &scaled(1.0), &scaled(0.9)).only();
    assert_eq!((found.factor.as_str(), found.verdict), ("route", Verdict::Worse), "{found:?}");
    assert!((found.ratio.unwrap().value - 0.9).abs() < 1e-3);
    assert!((found.noise.unwrap().ratio.value - 1.0).abs() < 1e-3);
    assert!(
        found.sentence.starts_with("Through HTTP costs 10.0 % of new orders/min vs direct (95 % CI "),
        "{}",
        found.sentence
    );
}

/// The noise of the machine is in the scatter of the blocks already: demanding it once more hid effects of five times the
/// standard error.
#[test]
fn the_scatter_of_the_control_is_not_demanded_once_more() {
    let noisy = [1030.0, 970.0, 1025.0, 975.0, 1010.0];
    let found = bed("throughput", &STEADY, &noisy, &scaled(0.96)).only();
    assert_eq!(found.verdict, Verdict::Worse, "{found:?}");
    let quiet = bed("throughput", &STEADY, &scaled(1.0), &scaled(0.98)).only();
    assert_eq!(quiet.verdict, Verdict::Worse);
    let wild = bed("throughput", &STEADY, &scaled(1.0), &noisy).only();
    assert_eq!(wild.verdict, Verdict::Inconclusive, "{wild:?}");
    assert!(wild.sentence.starts_with("Inconclusive at ±2.0 %: throughput 95 % CI −"), "{}", wild.sentence);
    let near = bed("throughput", &STEADY, &scaled(1.0), &scaled(0.998)).only();
    assert_eq!(near.verdict, Verdict::Worse, "{near:?}");
    let same = bed("throughput", &STEADY, &scaled(1.0), &scaled(1.0)).only();
    assert_eq!(same.verdict, Verdict::NoDifference, "{same:?}");
    assert!(same.sentence.starts_with("No difference beyond ±0."), "{}", same.sentence);
}

#[test]
fn the_base_of_a_block_is_the_mean_of_both_its_trials() {
    let found = bed("throughput", &[1000.0; 3], &[1210.0; 3], &[990.0; 3]).only();
    for block in &found.blocks {
        let of_base = block.trials.iter().filter(|entry| entry.side == Side::A).count();
        assert_eq!((block.trials.len(), of_base), (3, 2), "{block:?}");
        assert!((block.ratio.unwrap() - 990.0 / 1100.0).abs() < 1e-9, "{block:?}");
    }
    assert!((found.noise.unwrap().ratio.value - 1.21).abs() < 1e-9);
    // Where one of them is missing the other is the base.
    let mut bed = bed("throughput", &[1000.0; 4], &[1210.0; 4], &[990.0; 4]);
    bed.of_parts[1][3] = None;
    let ratios: Vec<f64> = bed.only().blocks.iter().filter_map(|block| block.ratio).collect();
    assert!(ratios.len() == 4 && (ratios[3] - 0.99).abs() < 1e-9, "{ratios:?}");
}

#[test]
fn several_variants_on_one_base_have_wider_intervals_and_say_so() {
    let single = bed("throughput", &STEADY, &scaled(1.0), &scaled(0.9));
    let mut two = bed("throughput", &STEADY, &scaled(1.0), &scaled(0.9));
    two.plan.variants.push(variant("through HTTP, too", "tpcc/sqlite/axum+rusqlite", Some(0)));
    two.of_parts.push(two.of_parts[2].clone());
    two.statuses.push(two.statuses[2].clone());
    let width = |comparison: &Comparison| {
        let ratio = comparison.ratio.unwrap();
        ratio.high.unwrap() - ratio.low.unwrap()
    };
    let (one, both) = (single.only(), two.all());
    assert_eq!((one.adjusted_for, both[0].adjusted_for, both[1].adjusted_for), (None, Some(2), Some(2)));
    // Student's t with four degrees of freedom: 3.495 in place of 2.776.
    assert!((width(&both[0]) / width(&one) - 3.495 / 2.776).abs() < 1e-3);
    assert!(both[0].minimum_detectable_effect > one.minimum_detectable_effect);
    // The control stands by itself.
    assert_eq!(both[0].noise, one.noise);
    // A variant without a figure is not a comparison.
    two.statuses[3] = VariantStatus { state: VariantState::Invalid, reason: None };
    assert_eq!(two.all()[0].adjusted_for, None);
}

/// Five blocks that scatter by 3 % around a loss of 4 %: beyond 2.78 standard errors, and within 3.50 of them.
#[test]
fn what_one_metric_alone_would_tell_two_together_may_not() {
    let noisy = [930.0, 990.0, 945.0, 985.0, 950.0];
    let single = bed("throughput", &[1000.0; 5], &[1000.0; 5], &noisy);
    assert_eq!(single.only().verdict, Verdict::Worse);
    let mut both = bed("throughput", &[1000.0; 5], &[1000.0; 5], &noisy);
    both.also("p99");
    let [throughput, p99] = <[Comparison; 2]>::try_from(both.all()).unwrap();
    assert_eq!((throughput.metric.as_str(), p99.metric.as_str()), ("new orders/min", "p99, ms"));
    assert_eq!((throughput.verdict, p99.verdict), (Verdict::Inconclusive, Verdict::Inconclusive));
    assert_eq!((throughput.adjusted_for, p99.adjusted_for), (Some(2), Some(2)));
    assert_eq!(throughput.ratio.unwrap().value, single.only().ratio.unwrap().value);
    assert_eq!(throughput.noise, single.only().noise);
    // Each metric is judged by its own margin and limit.
    both.plan.criteria[1] = Criterion { margin: 0.2, max_loss: None, ..criterion("p99") };
    let [throughput, p99] = <[Comparison; 2]>::try_from(both.all()).unwrap();
    assert_eq!((throughput.verdict, p99.verdict), (Verdict::Inconclusive, Verdict::NoDifference));
    assert_eq!((throughput.loss_max, p99.loss_max), (Some(0.05), None));
}

#[test]
fn a_metric_without_a_figure_is_no_comparison_that_others_are_adjusted_for() {
    let mut bed = bed("throughput", &STEADY, &scaled(1.0), &scaled(0.9));
    bed.also("p99");
    let trial = bed.of_parts[2][3].unwrap();
    bed.trials[trial].overall.all_due =
        Some(AllDue::new(10_000, 150, |quantile| (quantile < 0.98).then_some(1)));
    let [throughput, p99] = <[Comparison; 2]>::try_from(bed.all()).unwrap();
    assert_eq!((throughput.adjusted_for, p99.ratio), (None, None));
    assert_eq!((throughput.verdict, p99.verdict), (Verdict::Worse, Verdict::Inconclusive));
}

#[test]
fn of_a_void_variant_no_ratio_is_given_at_all() {
    for part in [0, 2] {
        let mut bed = bed("throughput", &STEADY, &scaled(1.0), &scaled(0.9));
        let reason = Some("the audit `c1` failed: money is missing.".to_owned());
        bed.statuses[part] = VariantStatus { state: VariantState::Invalid, reason };
        let found = bed.only();
        assert!(found.ratio.is_none() && found.minimum_detectable_effect.is_none(), "{found:?}");
        assert!(found.blocks.iter().all(|block| block.ratio.is_none()));
        assert_eq!(found.verdict, Verdict::Inconclusive);
        let name = if part == 0 { "direct" } else { "through HTTP" };
        let sentence = format!("No ratio: {name} is invalid (the audit `c1` failed: money is missing).");
        assert_eq!(found.sentence, sentence);
    }
}

#[test]
fn a_base_that_could_not_start_leaves_its_variants_without_a_ratio() {
    let mut bed = bed("throughput", &[], &[], &[]);
    bed.plan.blocks = 5;
    bed.of_parts = vec![vec![None; 5]; 3];
    bed.statuses[0] =
        VariantStatus { state: VariantState::NotStarted, reason: Some("no postgres here".into()) };
    let found = bed.only();
    assert_eq!(found.sentence, "No ratio: direct could not be started (no postgres here).");
    assert!(found.answer().starts_with("Through HTTP vs direct: No ratio"));
}

#[test]
fn a_void_control_takes_its_own_trials_and_nothing_else() {
    let mut bed = bed("throughput", &STEADY, &scaled(1.0), &scaled(0.9));
    bed.statuses[1] = VariantStatus { state: VariantState::Invalid, reason: None };
    let found = bed.only();
    assert!(found.noise.is_none() && found.ratio.is_some());
    assert!(found.blocks.iter().all(|block| block.trials.len() == 2));
}

#[test]
fn a_block_is_left_out_where_a_trial_was_interrupted_or_is_missing() {
    let mut bed = bed("throughput", &STEADY, &scaled(1.0), &scaled(0.9));
    let interrupted = bed.of_parts[2][4].unwrap();
    bed.trials[interrupted].state = State::Interrupted;
    bed.of_parts[2][3] = None;
    let found = bed.only();
    assert_eq!(found.blocks.iter().filter(|block| block.ratio.is_some()).count(), 3);
    assert!(found.sentence.contains("2 blocks are left out"), "{}", found.sentence);
}

#[test]
fn more_time_is_worse_and_a_loss_of_it_is_a_loss() {
    let slower = bed("p99", &STEADY, &scaled(1.0), &scaled(1.2)).only();
    assert_eq!((slower.verdict, slower.loses_too_much()), (Verdict::Worse, true), "{slower:?}");
    assert!(
        slower.sentence.starts_with("Through HTTP has 1.20 times the p99 of direct (95 % CI 1."),
        "{}",
        slower.sentence
    );
    let faster = bed("p99", &STEADY, &scaled(1.0), &scaled(0.8)).only();
    assert_eq!((faster.verdict, faster.loses_too_much()), (Verdict::Better, false), "{faster:?}");
    let fewer = bed("throughput", &STEADY, &scaled(1.0), &scaled(0.8)).only();
    assert!(fewer.loses_too_much());
    assert!(
        fewer.sentence.starts_with("Through HTTP costs 20.0 % of new orders/min vs direct (95 % CI "),
        "{}",
        fewer.sentence
    );
    let more = bed("throughput", &STEADY, &scaled(1.0), &scaled(1.2)).only();
    assert!(
        more.sentence.starts_with("Through HTTP has 20.0 % more new orders/min than direct"),
        "{}",
        more.sentence
    );
}

#[test]
fn of_several_factors_none_is_named_as_the_cause() {
    let mut bed = bed("throughput", &STEADY, &scaled(1.0), &scaled(0.9));
    bed.plan.variants[1].factors = vec!["route".into(), "pool".into()];
    let found = bed.only();
    assert_eq!(found.factor, "route and pool");
    assert!(
        found.sentence.contains("route and pool differ together, so the effect has no single cause"),
        "{}",
        found.sentence
    );
}

#[test]
fn an_unintended_difference_is_different_work() {
    let mut bed = bed("throughput", &STEADY, &scaled(1.0), &scaled(0.9));
    bed.plan.variants[1].factors = vec!["style".into()];
    assert_eq!(bed.only().verdict, Verdict::NotComparable);
}

#[test]
fn probes_that_explain_how_trials_differ_adjust_the_ratio_and_not_the_verdict() {
    let speeds = [1.0, 0.9, 1.1, 0.8, 1.05];
    let of = |by: f64, shift: usize| -> Vec<f64> {
        (0..5).map(|block| 1_000.0 * by * speeds[(block + shift) % 5]).collect()
    };
    let mut bed = bed("throughput", &of(1.0, 0), &of(1.0, 2), &of(0.95, 1));
    for trial in &mut bed.trials {
        // A slow machine takes longer to spin, and to flush in no way that has to do with it.
        let pace = trial.headline.value.value / if trial.stack.route == "http" { 0.95 } else { 1.0 };
        let noise = 1.0 + (pace * 7.0) % 3.0 / 100.0;
        let speed = MachineSpeed { spin_ns: (noise * 6e9 / pace) as u64, flush_ns: Some(400_000) };
        trial.machine_speed = Some(SpeedAround { before: speed, after: speed });
    }
    let found = bed.only();
    let (raw, adjusted) = (found.ratio.unwrap(), found.adjusted.expect("the probe explains it"));
    assert_eq!(adjusted.by, SpeedProbe::Spin);
    let width = |interval: Interval| interval.high.unwrap() - interval.low.unwrap();
    assert!(
        (adjusted.ratio.value - 0.95).abs() < 0.02 && width(adjusted.ratio) < width(raw) / 3.0,
        "{found:?}"
    );
    assert_eq!(found.verdict, Verdict::Inconclusive, "the verdict is by the raw ratio");
    assert!(
        found.sentence.contains("Adjusted for the CPU speed that probes found around each trial: 9"),
        "{found:?}"
    );
    for trial in &mut bed.trials {
        trial.machine_speed = None;
    }
    assert_eq!(bed.only().adjusted, None);
}

#[test]
fn a_throughput_that_was_given_widens_no_interval() {
    let mut bed = bed("p99", &STEADY, &scaled(1.0), &scaled(1.1));
    bed.also("throughput");
    let counts = |bed: &Fixture| -> Vec<Option<u32>> {
        bed.all().iter().map(|comparison| comparison.adjusted_for).collect()
    };
    assert_eq!(counts(&bed), [Some(2); 2]);
    for trial in &mut bed.trials {
        trial.plan.arrivals = result::Arrivals::Constant { rate_per_s: 100.0 };
        trial.overall.call_counts.due = trial.overall.call_counts.committed;
    }
    assert_eq!(counts(&bed), [None; 2]);
    bed.trials[0].overall.call_counts.due *= 2;
    assert_eq!(counts(&bed), [Some(2); 2], "a side that falls behind is slower");
}
