//! A sample experiment of several bases, whose names form a matrix: two variants on each of three bases, in two metrics. On the last
//! base the rate is given, so that its throughput says nothing.

use super::experiment::without_time_lines;
use super::trial::{direct, document, through_http};
use measure::{Better, Terms};
use result::{
    AdjustedRatio, Arrivals, Block, BlockTrial, Comparison, Document, Experiment, Interval, MachineSpeed,
    Metric, Noise, Party, RunKind, Side, SpeedAround, SpeedProbe, Spent, Trial, Variant, VariantState,
    Verdict,
};

const BLOCKS: usize = 5;
/// Variants of a group: base, control, and two that are compared.
const OF_GROUP: usize = 4;
const GROUPS: [&str; 3] = ["PostgreSQL", "SQLite", "SQLite, open loop"];
/// What is compared, with its pace next to the base and its scatter.
const COMPARED: [(&str, &str, f64, f64); 2] = [
    ("through HTTP", "tpcc/sqlite/axum+rusqlite", 0.91, 0.004),
    ("through HTTP, 1 connection", "tpcc/sqlite/axum+rusqlite", 0.97, 0.06),
];

/// The sample; 60 trials.
pub fn groups() -> Document {
    let (mut variants, mut trials, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
    for (group, name) in GROUPS.iter().enumerate() {
        let base = group * OF_GROUP;
        let variant = |name: String, subject: &str, base, control| Variant {
            name,
            subject: subject.to_owned(),
            settings: Vec::new(),
            base,
            control,
            stored: false,
            state: VariantState::Measured,
            reason: None,
            trials: Vec::new(),
        };
        variants.push(variant(format!("{name}, direct"), "tpcc/sqlite/rusqlite", None, false));
        variants.push(variant(format!("{name}, direct, again"), "tpcc/sqlite/rusqlite", Some(base), true));
        let compared = COMPARED
            .map(|(label, subject, ..)| variant(format!("{name}, {label}"), subject, Some(base), false));
        variants.extend(compared);
    }
    for block in 0..BLOCKS {
        for (index, variant) in variants.iter_mut().enumerate() {
            variant.trials.push(Some(trials.len()));
            trials.push(trial_of(index, block));
        }
        blocks.push((0..variants.len()).collect());
    }
    let throughput =
        Metric { name: "throughput".to_owned(), unit: "new orders/min".to_owned(), higher_is_better: true };
    let p99 = Metric { name: "p99".to_owned(), unit: "ms".to_owned(), higher_is_better: false };
    let compared = || (0..variants.len()).filter(|index| index % OF_GROUP >= 2);
    let comparisons = [&throughput, &p99].into_iter().flat_map(|metric| {
        compared().map(|index| comparison(metric, &variants, &trials, index)).collect::<Vec<_>>()
    });
    let comparisons = comparisons.collect();
    let mut document = document("groups", RunKind::Experiment, trials);
    document.command = ["stackmark", "experiment", "http-tax"].map(str::to_owned).to_vec();
    document.subjects = vec!["tpcc/sqlite/rusqlite".to_owned(), "tpcc/sqlite/axum+rusqlite".to_owned()];
    document.experiment = Some(Experiment {
        name: "http-tax".to_owned(),
        question: Some("What does an HTTP API cost on top of the database?".to_owned()),
        metric: throughput,
        further_metrics: vec![p99],
        variants,
        blocks,
        blocks_planned: BLOCKS as u32,
        comparisons,
        spent: Spent { total_s: 2_000.0, load_s: 20.0, restore_s: 80.0, measured_s: 1_700.0, check_s: 110.0 },
    });
    document
}

fn trial_of(index: usize, block: usize) -> Trial {
    let (group, place) = (index / OF_GROUP, index % OF_GROUP);
    let wobble = [0.9, -0.6, 0.3, -1.0, 0.4][(block + index * 2) % BLOCKS];
    let (subject, pace, scatter) = match place {
        0 | 1 => ("tpcc/sqlite/rusqlite", 1.0, 0.004),
        _ => (COMPARED[place - 2].1, COMPARED[place - 2].2, COMPARED[place - 2].3),
    };
    let pace = pace * (1.0 + scatter * wobble) * [1.0, 0.8, 0.3][group];
    let mut trial = if place < 2 { direct(pace, 30) } else { through_http(pace, 30) };
    subject.clone_into(&mut trial.subject);
    trial.plan.seed += block as u64;
    if group == 2 {
        trial.plan.arrivals = Arrivals::Constant { rate_per_s: 300.0 };
        trial.overall.call_counts.due = trial.overall.call_counts.committed;
    }
    let speed =
        |share: f64| MachineSpeed { spin_ns: (6e6 / share) as u64, flush_ns: Some((4e5 / share) as u64) };
    trial.machine_speed = Some(SpeedAround { before: speed(pace), after: speed(pace * 1.01) });
    without_time_lines(trial)
}

/// Of a trial; a given rate is kept, whatever the variant.
fn value(metric: &Metric, trial: &Trial) -> f64 {
    match (metric.name.as_str(), trial.plan.arrivals.is_open()) {
        ("throughput", true) => 13_400.0,
        ("throughput", false) => trial.headline.value.value,
        _ => 400_000.0 / trial.headline.value.value,
    }
}

fn comparison(metric: &Metric, variants: &[Variant], trials: &[Trial], index: usize) -> Comparison {
    let base = index / OF_GROUP * OF_GROUP;
    let values = |index: usize| -> Vec<(usize, f64)> {
        let of_it = variants[index].trials.iter().flatten();
        of_it.map(|trial| (*trial, value(metric, &trials[*trial]))).collect()
    };
    let blocks = values(base).into_iter().zip(values(index)).map(|(a, b)| {
        let entry = |(trial, rate): (usize, f64), side| BlockTrial {
            order: trial as u32,
            side,
            subject: trials[trial].subject.clone(),
            rate,
            trial,
        };
        Block { trials: vec![entry(a, Side::A), entry(b, Side::B)], ratio: Some(b.1 / a.1) }
    });
    let blocks: Vec<Block> = blocks.collect();
    let ratios: Vec<f64> = blocks.iter().filter_map(|block| block.ratio).collect();
    let better = if metric.higher_is_better { Better::Higher } else { Better::Lower };
    let found = measure::compare(&ratios, &Terms { better, margin: 0.02, comparisons: 4 });
    let (low, high) = found.interval.map_or((None, None), |(low, high)| (Some(low), Some(high)));
    let party = |variant: &Variant| Party { subject: variant.subject.clone(), label: variant.name.clone() };
    let mut comparison = Comparison {
        factor: "route".to_owned(),
        factors: vec!["route".to_owned()],
        a: party(&variants[base]),
        b: party(&variants[index]),
        metric: metric.column(),
        higher_is_better: metric.higher_is_better,
        key_differences: Vec::new(),
        fingerprint_differences: Vec::new(),
        blocks,
        rate_given: metric.name == "throughput" && index / OF_GROUP == 2,
        round_groups: None,
        adjusted: (index % OF_GROUP == 3).then_some(AdjustedRatio {
            by: SpeedProbe::Spin,
            ratio: Interval { value: 0.972, low: Some(0.961), high: Some(0.983) },
            slope: -0.98,
        }),
        ratio: Some(Interval { value: found.effect, low, high }),
        minimum_detectable_effect: measure::minimum_detectable_effect(&ratios, 4),
        adjusted_for: Some(4),
        noise: Some(Noise {
            subject: variants[base].subject.clone(),
            blocks: BLOCKS as u32,
            ratio: Interval { value: 1.004, low: Some(0.991), high: Some(1.017) },
        }),
        loss_max: None,
        verdict: match found.verdict {
            measure::Verdict::Better => Verdict::Better,
            measure::Verdict::Worse => Verdict::Worse,
            measure::Verdict::NoDifference { .. } => Verdict::NoDifference,
            measure::Verdict::Inconclusive => Verdict::Inconclusive,
        },
        sentence: "Inconclusive at ±2.0 %.".to_owned(),
    };
    if let (Verdict::Better | Verdict::Worse, Some(effect)) = (comparison.verdict, comparison.effect()) {
        comparison.sentence = format!("{}.", result::text::capital(&effect));
    }
    comparison
}
