//! What an experiment answers, in sentences.

use crate::matrix;
use crate::variants::{ByMetric, RowStatus, VariantRow};
use judge::{figures, findings};
use result::{Comparison, Document, Verdict};

/// The answer: the largest gain and the largest loss in the first metric that has one, and how many comparisons came out how.
pub(super) fn answer(document: &Document, all: &[ByMetric<'_>]) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for by in all {
        let of = |verdict: Verdict| by.shown().filter(move |row| row.status == RowStatus::Compared(verdict));
        let several = [Verdict::Better, Verdict::Worse].into_iter().flat_map(of).count() > 1;
        for (verdict, what) in [(Verdict::Better, "gain"), (Verdict::Worse, "loss")] {
            let size = |row: &&VariantRow<'_>| row.effect.map_or(0.0, |effect| effect.value.ln().abs());
            let largest = of(verdict).max_by(|a, b| size(a).total_cmp(&size(b)));
            sentences.extend(largest.and_then(|row| row.comparison?.effect()).map(|effect| match several {
                true => format!("Largest {what} in {}: {effect}.", by.metric.words()),
                false => format!("{}.", figures::capital(&effect)),
            }));
        }
        if !sentences.is_empty() {
            break;
        }
    }
    let counts: Vec<String> = all.iter().filter_map(verdict_counts).collect();
    if !counts.is_empty() {
        sentences.push(format!("Verdicts {}.", counts.join("; ")));
    } else if document.trials.is_empty() {
        sentences.push("No result yet.".to_owned());
    } else {
        sentences.push("No ratio could be calculated.".to_owned());
    }
    sentences
}

/// How many comparisons came out how: `in throughput: 3 better, 1 worse`; nothing where none has a ratio.
fn verdict_counts(by: &ByMetric<'_>) -> Option<String> {
    let held = |row: &VariantRow<'_>| match row.status {
        RowStatus::Compared(verdict) => Some((verdict, row.effect.is_some())),
        _ => None,
    };
    let held: Vec<(Verdict, bool)> = by.shown().filter_map(held).collect();
    let count = |verdict: Verdict| held.iter().filter(|of| **of == (verdict, true)).count();
    let counts = matrix::VERDICTS.into_iter().filter(|verdict| count(*verdict) > 0);
    let mut counts: Vec<String> =
        counts.map(|verdict| format!("{} {}", count(verdict), verdict.words())).collect();
    let without = held.iter().filter(|(_, has_ratio)| !has_ratio).count();
    if !counts.is_empty() && without > 0 {
        counts.push(format!("{without} without a ratio"));
    }
    (!counts.is_empty()).then(|| format!("in {}: {}", by.metric.words(), counts.join(", ")))
}

/// The comparisons whose sides were measured.
fn compared<'a>(by: &ByMetric<'a>) -> Vec<&'a Comparison> {
    by.shown().filter(|row| row.status.is_measured()).filter_map(|row| row.comparison).collect()
}

/// What is so in several comparisons, said once.
pub(super) fn in_common(all: &[ByMetric<'_>]) -> Vec<String> {
    let mut sentences = Vec::new();
    let of_headline = all.first().map_or_else(Vec::new, compared);
    let several =
        of_headline.iter().map(|comparison| &comparison.factors).filter(|factors| factors.len() > 1);
    for (factors, count) in findings::gathered(several, |a, b| a == b) {
        let (last, first) = factors.split_last().expect("there are several");
        let named = figures::capital(&format!("{} and {last}", first.join(", ")));
        let of_them = of_headline.iter().filter(|comparison| comparison.factors == *factors);
        let names: Vec<&str> = of_them.map(|comparison| comparison.b.label.as_str()).collect();
        let (place, effects) = match (count, &names[..]) {
            (1, [only]) => (format!("the comparison of {only}"), "its effect has"),
            (all, _) if all == of_headline.len() => ("each comparison".to_owned(), "these effects have"),
            (some, _) => (figures::counted(some as u64, "comparison"), "their effects have"),
        };
        sentences.push(format!("{named} differ together in {place}, so {effects} no single cause."));
    }
    for by in all {
        let unknown = compared(by).into_iter().filter(|comparison| comparison.ratio.is_none());
        for (sentence, count) in findings::gathered(unknown.map(|of| &of.sentence), |a, b| a == b) {
            let count = figures::counted(count as u64, "comparison");
            sentences.push(format!("{} in {count}: {sentence}", figures::capital(by.metric.words())));
        }
    }
    if all.iter().flat_map(compared).any(|comparison| comparison.round_groups.is_some()) {
        sentences.push(
            "The intervals are from groups of rounds within blocks; differences between starts were not measured.".to_owned(),
        );
    }
    if all.iter().flat_map(|by| by.rows.iter()).any(|row| row.rate_is_given) {
        sentences.push("Throughput is not compared where the rate was given and kept.".to_owned());
    }
    sentences
}

/// Each comparison in words, the surest and largest effects of a metric first.
pub(super) fn each(all: &[ByMetric<'_>]) -> Vec<String> {
    let weight = |comparison: &Comparison| {
        let effect = comparison.ratio.map_or(0.0, |ratio| ratio.value.ln().abs());
        match comparison.verdict {
            Verdict::Better | Verdict::Worse => 2e3 + effect,
            Verdict::NoDifference => 1e3,
            Verdict::NotComparable | Verdict::Inconclusive => effect,
        }
    };
    let sorted = |by: &ByMetric<'_>| {
        let mut sorted: Vec<_> = by.shown().filter_map(|row| row.comparison).collect();
        sorted.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        sorted.into_iter().map(Comparison::answer).collect::<Vec<_>>()
    };
    // What is invalid is so in every metric.
    let all = findings::gathered(all.iter().flat_map(sorted), |a, b| a == b);
    all.into_iter().map(|(sentence, _)| sentence).collect()
}
