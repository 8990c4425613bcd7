//! `[verdict]`: what is compared, and what counts as a difference.

use super::source::{Entry, Source, get};
use super::words::{Word, Words};
use crate::compare::MARGIN;
use anyhow::Result;
use schedule::metric::Measured;
use targets::Driven;

/// What decides.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) metric: String,
    pub(super) margin: f64,
    pub(super) max_loss: Option<f64>,
}

pub(super) fn read<W: Driven>(source: &Source<'_>, top: &[Entry]) -> Result<Rule> {
    let mut rule = Rule { metric: "throughput".to_owned(), margin: MARGIN, max_loss: None };
    let Some(table) = get(top, "verdict") else { return Ok(rule) };
    let entries = source.table(table, "[verdict]")?;
    source.known(entries, "the verdict", &["metric", "margin", "max-loss"])?;
    if let Some(entry) = get(entries, "metric") {
        rule.metric = metric::<W>(source, entry)?;
    }
    rule.max_loss = get(entries, "max-loss").map(|entry| share_of(source, entry)).transpose()?;
    // As on the command line: a loss that is allowed does not matter.
    rule.margin = rule.max_loss.unwrap_or(MARGIN);
    if let Some(entry) = get(entries, "margin") {
        rule.margin = share_of(source, entry)?;
    }
    Ok(rule)
}

/// A share, as `--max-loss` takes it.
fn share_of(source: &Source<'_>, entry: &Entry) -> Result<f64> {
    let word = Word::read(source, entry)?;
    let span = word.span.clone();
    let share = Words(vec![word]).line(source, &span)?.max_loss;
    share.ok_or_else(|| source.mistyped(entry, "a share", "\"5%\" or 0.05"))
}

/// A metric, by the name that the runner knows it by.
fn metric<W: Driven>(source: &Source<'_>, entry: &Entry) -> Result<String> {
    let text = source.text(entry, "\"throughput\"")?;
    match Measured::named(text, W::KINDS) {
        Ok(measured) => Ok(measured.name()),
        Err(error) => Err(source.wrong(&entry.value.span, error)),
    }
}
