//! A sample comparison: what HTTP costs.

use super::trial::{direct, document, through_http};
use result::{
    Block, BlockTrial, Comparison, Document, Interval, KeyDifference, Metric, Noise, Party, Round, Rounds,
    RunKind, Side, Verdict,
};

/// How much faster the base was once more.
const CONTROL_PACE: f64 = 1.002;
/// The first of its trials then.
const CONTROLS: usize = 10;

/// Five blocks, direct and through HTTP, and direct once more: before the others by turns, and after them.
pub fn comparison() -> Document {
    let paces = [
        (1.00, 0.985, false),
        (1.02, 0.994, true),
        (0.97, 0.962, true),
        (1.01, 1.001, false),
        (0.99, 0.971, true),
    ];
    let (mut trials, mut blocks) = (Vec::new(), Vec::new());
    for (pace_a, pace_b, b_first) in paces {
        let first = if b_first { Side::B } else { Side::A };
        let second = if b_first { Side::A } else { Side::B };
        let mut rates = [0.0; 2];
        let block = [first, second].map(|side| {
            let trial = match side {
                Side::A => direct(pace_a, 30),
                Side::B => through_http(pace_b, 30),
            };
            let rate = trial.headline.value.value;
            rates[usize::from(side == Side::B)] = rate;
            let entry = BlockTrial {
                order: trials.len() as u32,
                side,
                subject: trial.subject.clone(),
                rate,
                trial: trials.len(),
            };
            trials.push(trial);
            entry
        });
        blocks.push(Block { trials: block.to_vec(), ratio: Some(rates[1] / rates[0]) });
    }
    for (block, (pace_a, _, first)) in blocks.iter_mut().zip(paces) {
        let trial = direct(pace_a * CONTROL_PACE, 30);
        let (subject, rate) = (trial.subject.clone(), trial.headline.value.value);
        let entry =
            BlockTrial { order: trials.len() as u32, side: Side::A, subject, rate, trial: trials.len() };
        block.trials.insert(if first { 0 } else { 2 }, entry);
        trials.push(trial);
    }
    let ratios: Vec<f64> = blocks.iter().filter_map(|block| block.ratio).collect();
    let value = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let ratio = Interval { value, low: Some(value - 0.009), high: Some(value + 0.008) };
    let mut document = document("comparison", RunKind::Comparison, trials);
    document.subjects = vec!["tpcc/sqlite/rusqlite".to_owned(), "tpcc/sqlite/axum+rusqlite".to_owned()];
    document.command = ["stackmark", "quickstart"].map(str::to_owned).to_vec();
    let comparison = Comparison {
        factor: "route".to_owned(),
        factors: vec!["route".to_owned()],
        a: Party { subject: document.subjects[0].clone(), label: "direct".to_owned() },
        b: Party { subject: document.subjects[1].clone(), label: "through HTTP".to_owned() },
        metric: "new orders/min".to_owned(),
        higher_is_better: true,
        key_differences: vec![
            difference("stack.route", "direct", "http"),
            difference("stack.server", "none", "stackmark-server 0.1.0 (axum 0.8.9)"),
        ],
        fingerprint_differences: Vec::new(),
        blocks,
        ratio: Some(ratio),
        rate_given: false,
        round_groups: None,
        adjusted: None,
        minimum_detectable_effect: Some(0.011),
        adjusted_for: None,
        noise: Some(Noise {
            subject: "tpcc/sqlite/rusqlite".to_owned(),
            blocks: 3,
            ratio: Interval { value: 1.002, low: Some(0.993), high: Some(1.011) },
        }),
        loss_max: None,
        verdict: Verdict::Worse,
        sentence: "HTTP costs 3 to 5 % of the new orders per minute at the same durability".to_owned(),
    };
    draw(&mut document, &comparison);
    document
}

/// The same where the sides made calls in turn, in two blocks whose rounds give the interval.
pub fn in_turn() -> Document {
    let mut document = comparison();
    for trial in &mut document.trials {
        trial.plan.rounds = Some(Rounds { number: 20, uncounted_s: 0.5 });
        let rate_per_s = trial.headline.value.value / 60.0;
        let round = |at: u32| Round { t_s: 6.0 * f64::from(at), rate_per_s };
        trial.rounds = (0..20).map(round).collect();
    }
    let comparison = &mut document.experiment.as_mut().expect("it is a comparison").comparisons[0];
    comparison.round_groups = Some(20);
    document
}

/// The same of two metrics: of the second the trials scatter too much to tell.
pub fn two_metrics() -> Document {
    let mut document = comparison();
    let experiment = document.experiment.as_mut().expect("it is a comparison");
    let mut second = experiment.comparisons[0].clone();
    second.metric = "p99, ms".to_owned();
    second.higher_is_better = false;
    second.verdict = Verdict::Inconclusive;
    second.ratio = Some(Interval { value: 1.034, low: Some(0.941), high: Some(1.136) });
    second.noise.as_mut().expect("it has a control").ratio =
        Interval { value: 0.99, low: Some(0.9), high: Some(1.09) };
    second.minimum_detectable_effect = Some(0.12);
    second.loss_max = Some(0.2);
    second.sentence =
        "Inconclusive at ±10.0 %: the p99 of the response time 95 % CI −5.9 % to +13.6 %.".to_owned();
    for (at, block) in second.blocks.iter_mut().enumerate() {
        for entry in &mut block.trials {
            entry.rate = 9.5 + 0.1 * f64::from(entry.order % 7);
        }
        block.ratio = Some(0.95 + 0.04 * at as f64);
    }
    experiment.comparisons.push(second);
    experiment.comparisons.iter_mut().for_each(|comparison| comparison.adjusted_for = Some(2));
    let unit = "ms".to_owned();
    experiment.further_metrics = vec![Metric { name: "p99".to_owned(), unit, higher_is_better: false }];
    document
}

/// The experiment of a comparison whose control is known, as of one that has just been run.
fn draw(document: &mut Document, comparison: &Comparison) {
    let mut experiment = comparison.of_pair(&document.trials);
    let control = |trial: &Option<usize>| trial.is_some_and(|trial| trial >= CONTROLS);
    let (base, others) = experiment.variants.split_first_mut().expect("there are two");
    for (base, again) in base.trials.iter_mut().zip(&mut others[0].trials) {
        if control(base) {
            std::mem::swap(base, again);
        }
    }
    "direct, again".clone_into(&mut others[0].name);
    document.experiment = Some(experiment);
}

/// What a document says of its two variants.
pub fn compared(document: &Document) -> &Comparison {
    &document.experiment.as_ref().expect("it is a comparison").comparisons[0]
}

/// The same, to be changed.
pub fn compared_mut(document: &mut Document) -> &mut Comparison {
    &mut document.experiment.as_mut().expect("it is a comparison").comparisons[0]
}

/// Draws the experiment again from its comparison and its trials, where either was changed.
pub fn redraw(document: &mut Document) {
    let comparison = compared(document).clone();
    draw(document, &comparison);
}

fn difference(field: &str, a: &str, b: &str) -> KeyDifference {
    let [field, a, b] = [field, a, b].map(str::to_owned);
    KeyDifference { library: field == "stack.adapter_version", field, a, b, intended: true }
}
