//! `[verdict]`: what is compared, and what counts as a difference.

use super::shared_keys::{Word, Words};
use super::source::{KeyValue, Source, Span, ValueKind, get};
use crate::compare::MARGIN;
use anyhow::Result;
use schedule::metric::Measured;
use schedule::plan::Criterion;
use targets::Driven;

/// What decides, the headline first.
pub(super) fn read<W: Driven>(source: &Source<'_>, top: &[KeyValue]) -> Result<Vec<Criterion>> {
    let entries = match get(top, "verdict") {
        Some(table) => source.table(table, "[verdict]")?,
        None => &[],
    };
    source.known(entries, "the verdict", &["metric", "metrics", "margin", "max-loss"])?;
    let metrics = metrics::<W>(source, entries)?;
    let max_losses = shares(source, entries, "max-loss", &metrics)?;
    let margins = shares(source, entries, "margin", &metrics)?;
    let of_each = metrics.into_iter().zip(max_losses).zip(margins);
    // As on the command line: a loss that is allowed does not matter.
    let criterion = |((metric, max_loss), margin): ((String, Option<f64>), Option<f64>)| Criterion {
        metric,
        margin: margin.or(max_loss).unwrap_or(MARGIN),
        max_loss,
    };
    Ok(of_each.map(criterion).collect())
}

/// What is compared, each by the name that the runner knows it by.
fn metrics<W: Driven>(source: &Source<'_>, entries: &[KeyValue]) -> Result<Vec<String>> {
    let named = |name: &str, span: &Span| match Measured::named(name, W::KINDS) {
        Ok(measured) => Ok(measured.name()),
        Err(error) => Err(source.wrong(span, error)),
    };
    let several = match (get(entries, "metric"), get(entries, "metrics")) {
        (Some(_), Some(metrics)) => {
            return Err(
                source.wrong(&metrics.key_span, "`metric` and `metrics` exclude each other: leave one out")
            );
        }
        (Some(one), None) => return Ok(vec![named(source.text(one, "\"throughput\"")?, &one.value.span)?]),
        (None, Some(several)) => several,
        (None, None) => return Ok(vec![Measured::Throughput.name()]),
    };
    let wrong = || source.mistyped(several, "a list of texts", "[\"throughput\", \"p99\"]");
    let ValueKind::List(values) = &several.value.kind else { return Err(wrong()) };
    if values.is_empty() {
        return Err(source.wrong(&several.value.span, "an empty list compares nothing: name a metric"));
    }
    let mut metrics = Vec::new();
    for value in values {
        let ValueKind::Text(name) = &value.kind else { return Err(wrong()) };
        let metric = named(name, &value.span)?;
        if metrics.contains(&metric) {
            return Err(source.wrong(&value.span, format!("the metric `{metric}` is named twice")));
        }
        metrics.push(metric);
    }
    Ok(metrics)
}

/// The share under `key` for each metric: one for all, or a table of one for each that it names.
fn shares(
    source: &Source<'_>,
    entries: &[KeyValue],
    key: &str,
    metrics: &[String],
) -> Result<Vec<Option<f64>>> {
    let Some(entry) = get(entries, key) else { return Ok(vec![None; metrics.len()]) };
    let ValueKind::Table(of_each) = &entry.value.kind else {
        return Ok(vec![Some(share(source, entry)?); metrics.len()]);
    };
    let names: Vec<&str> = metrics.iter().map(String::as_str).collect();
    source.known(of_each, &format!("`{key}`"), &names)?;
    let of_metric = |metric: &&str| {
        let found = get(of_each, metric).map(|found| KeyValue { key: key.to_owned(), ..found.clone() });
        found.map(|found| share(source, &found)).transpose()
    };
    names.iter().map(of_metric).collect()
}

/// A share, as `--max-loss` takes it.
fn share(source: &Source<'_>, entry: &KeyValue) -> Result<f64> {
    let word = Word::read(source, entry)?;
    let span = word.span.clone();
    let share = Words(vec![word]).line(source, &span)?.max_loss;
    share.ok_or_else(|| source.mistyped(entry, "a share", "\"5%\" or 0.05"))
}
