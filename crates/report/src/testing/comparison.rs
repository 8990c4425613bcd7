//! A sample comparison: what HTTP costs.

use super::trial::{direct, document, through_http};
use result::{
    Block, BlockTrial, Comparison, Document, Interval, KeyDifference, Noise, Party, RunKind, Side, Verdict,
};

/// Five blocks, direct and through HTTP.
#[must_use]
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
        key_differences: vec![
            difference("stack.route", "direct", "http"),
            difference("stack.server", "none", "stackmark-server 0.1.0 (axum 0.8.9)"),
        ],
        fingerprint_differences: Vec::new(),
        blocks,
        ratio: Some(ratio),
        detectable: Some(0.011),
        adjusted_for: None,
        noise: Some(Noise {
            subject: "tpcc/sqlite/rusqlite".to_owned(),
            blocks: 3,
            ratio: Interval { value: 1.002, low: Some(0.993), high: Some(1.011) },
        }),
        loss_max: None,
        verdict: Verdict::Worse,
        sentence: "HTTP costs 3 to 5 % of the new orders a minute at the same durability".to_owned(),
    };
    document.experiment = Some(comparison.of_pair(&document.trials));
    document
}

/// What a document says of its two variants.
#[must_use]
pub fn compared(document: &Document) -> &Comparison {
    &document.experiment.as_ref().expect("it is a comparison").comparisons[0]
}

/// The same, to be changed.
pub fn compared_mut(document: &mut Document) -> &mut Comparison {
    &mut document.experiment.as_mut().expect("it is a comparison").comparisons[0]
}

/// Draws the experiment anew from its comparison and its trials, where either was changed.
pub fn redraw(document: &mut Document) {
    let comparison = compared(document).clone();
    document.experiment = Some(comparison.of_pair(&document.trials));
}

fn difference(field: &str, a: &str, b: &str) -> KeyDifference {
    KeyDifference { field: field.to_owned(), a: a.to_owned(), b: b.to_owned(), intended: true }
}
