//! How far a run of several trials has come: what it found so far, a line a variant, a load or a rate.

use result::{Curve, Document, Experiment, Interval, Search, VariantState};
use serde::Serialize;

/// The state of a run of several trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Board {
    /// The question, or what is done.
    pub(crate) title: String,
    /// Blocks, loads or rates that are done.
    pub(crate) done: usize,
    /// Of so many; nothing where no one knows.
    pub(crate) planned: Option<usize>,
    /// What `done` counts.
    pub(crate) unit: &'static str,
    pub(crate) rows: Vec<BoardRow>,
}

/// What is known of one variant, load or rate.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct BoardRow {
    pub(crate) name: String,
    pub(crate) trials: usize,
    /// Its mean in `unit`.
    pub(crate) value: Option<f64>,
    pub(crate) unit: String,
    /// Against its base, with an interval where there are blocks enough.
    pub(crate) ratio: Option<Ratio>,
    /// What else there is to show: the verdict so far, or why there is none.
    pub(crate) says: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

impl From<Interval> for Ratio {
    fn from(interval: Interval) -> Ratio {
        Ratio { value: interval.value, low: interval.low, high: interval.high }
    }
}

/// The board of a document, if it is of several trials.
pub(crate) fn of(document: &Document) -> Option<Board> {
    if let Some(experiment) = &document.experiment {
        return Some(of_experiment(document, experiment));
    }
    if let Some(curve) = &document.curve {
        return Some(of_curve(document, curve));
    }
    document.search.as_ref().map(|search| of_search(document, search))
}

/// The headline rate of a trial that counts.
fn rate(document: &Document, trial: Option<usize>) -> Option<f64> {
    let trial = document.trials.get(trial?)?;
    let value = trial.headline.value.value;
    (!trial.is_invalid() && value > 0.0).then_some(value)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The board of an experiment as far as it is known.
pub(crate) fn of_experiment(document: &Document, experiment: &Experiment) -> Board {
    let unit = document.trials.first().map_or_else(String::new, |trial| trial.headline.unit.clone());
    let rows = experiment.variants.iter().map(|variant| {
        let rates: Vec<f64> = variant.trials.iter().filter_map(|trial| rate(document, *trial)).collect();
        // An invalid side leaves nothing to compare, whatever its earlier blocks gave.
        let base = variant.base.and_then(|base| experiment.variants.get(base));
        let base = base.filter(|base| base.state == VariantState::Measured);
        let found = experiment.comparisons.iter().find(|comparison| {
            !variant.control && comparison.b.label == variant.name && comparison.b.subject == variant.subject
        });
        // Until there is a verdict: the geometric mean of the blocks' ratios, which is what the verdict will start from.
        let so_far = base.filter(|_| experiment.metric.name == "throughput").and_then(|base| {
            let pairs = variant.trials.iter().zip(&base.trials);
            let logarithms: Vec<f64> =
                pairs.filter_map(|(b, a)| Some((rate(document, *b)? / rate(document, *a)?).ln())).collect();
            mean(&logarithms).map(|log| Ratio { value: log.exp(), low: None, high: None })
        });
        let says = match (variant.state, &variant.reason, found) {
            (VariantState::Measured, _, Some(found)) => found.sentence.clone(),
            (VariantState::Measured, _, None) if variant.control => "control".to_owned(),
            (VariantState::Measured, _, None) => String::new(),
            (_, reason, _) => reason.clone().unwrap_or_else(|| "no result".to_owned()),
        };
        let ratio = found.and_then(|found| found.ratio).map(Ratio::from).or(so_far);
        BoardRow {
            name: variant.name.clone(),
            trials: rates.len(),
            value: mean(&rates),
            unit: unit.clone(),
            ratio: ratio.filter(|_| variant.state == VariantState::Measured),
            says,
        }
    });
    Board {
        title: experiment.question.clone().unwrap_or_else(|| experiment.name.clone()),
        done: experiment.blocks.len(),
        planned: Some(experiment.blocks_planned as usize),
        unit: "blocks",
        rows: rows.collect(),
    }
}

fn of_curve(document: &Document, curve: &Curve) -> Board {
    let unit = document.trials.first().map_or_else(String::new, |trial| trial.headline.unit.clone());
    let axis = match curve.axis {
        result::Axis::Clients => "clients",
        result::Axis::Rate => "calls/s",
    };
    let rows = curve.points.iter().map(|point| BoardRow {
        name: format!("{} {axis}", point.load),
        trials: point.trials.len(),
        value: point.rate.map(|rate| rate.value),
        unit: unit.clone(),
        ratio: None,
        says: point.saturated.clone(),
    });
    Board {
        title: "load curve".into(),
        done: curve.points.len(),
        planned: None,
        unit: "loads",
        rows: rows.collect(),
    }
}

fn of_search(document: &Document, search: &Search) -> Board {
    let rows = search.steps.iter().map(|step| BoardRow {
        name: format!("{:.0} calls/s{}", step.rate_per_s, if step.confirming { ", again" } else { "" }),
        trials: 1,
        value: rate(document, Some(step.trial)),
        unit: document.trials.get(step.trial).map_or_else(String::new, |trial| trial.headline.unit.clone()),
        ratio: None,
        says: format!("{}: {}", if step.met { "met" } else { "missed" }, step.reason),
    });
    Board {
        title: format!("highest rate that meets {}", search.slo),
        done: search.steps.len(),
        planned: None,
        unit: "trials",
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_shows_both_sides_and_the_ratio() {
        let board = of(&sample_documents::comparison()).unwrap();
        let [a, again, b] = &board.rows[..] else { panic!("{board:?}") };
        assert_eq!(again.name, "direct, again");
        let noise = again.ratio.as_ref().unwrap().value;
        assert!((noise - 1.002).abs() < 1e-4 && again.trials == 5, "{board:?}");
        assert!(a.ratio.is_none() && b.ratio.is_some(), "{board:?}");
        assert!(b.value.unwrap() < a.value.unwrap() && !b.says.is_empty(), "{board:?}");
        assert_eq!((a.trials, b.trials, board.done), (5, 5, 5), "{board:?}");
    }

    #[test]
    fn nothing_is_measured_by_a_void_base() {
        let mut document = sample_documents::experiment();
        let mut found = document.experiment.take().unwrap();
        found.comparisons.clear();
        let ratios = |found: &Experiment| {
            of_experiment(&document, found).rows.iter().filter(|row| row.ratio.is_some()).count()
        };
        assert!(ratios(&found) > 5, "ratios so far");
        // Its earlier trials are good, as they are when an audit fails in a late block.
        found.variants[0].state = VariantState::Invalid;
        assert_eq!(ratios(&found), 0);
    }

    #[test]
    fn a_single_trial_has_no_board() {
        assert_eq!(of(&sample_documents::trial()), None);
    }
}
