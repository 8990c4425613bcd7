//! What the stores contained when the last call had been answered: what was acknowledged is in it, and does not come later.

use crate::closing::of_answers;
use crate::validate;
use admin::SnapshotReader;
use measure::Monotonic;
use model::{Clock, store_name};
use result::{Audit, Check, LedgerCheck};
use sql::{DbUrl, Value};
use targets::{Driven, Style};

/// Connections that were opened before the load, so that the moment of its end can be held at once. None where a store could not
/// be reached, or not by a connection of our own: then only what is stored in the end is known.
pub(crate) struct LastAnswer(Vec<SnapshotReader>);

impl LastAnswer {
    pub(crate) fn prepare(urls: &[DbUrl]) -> LastAnswer {
        let readings: Result<Vec<SnapshotReader>, admin::Error> =
            urls.iter().map(SnapshotReader::open).collect();
        LastAnswer(readings.unwrap_or_default())
    }

    /// What the stores report as of now, and `with_totals` their totals; nothing where that cannot be held, or where something is still on
    /// its way that calls in this style wait for.
    pub(crate) fn read<W: Driven>(mut self, style: Style, with_totals: bool) -> Option<AtLast<W>> {
        for reading in &mut self.0 {
            if !reading.hold().ok()? {
                return None;
            }
        }
        let each = self.0.iter_mut().map(validate::evidence_of::<W>).collect::<anyhow::Result<Vec<_>>>();
        let evidence = each.ok().filter(|each| !each.is_empty()).map(W::join)?;
        let readings = self.0.iter_mut().filter(|_| with_totals);
        let totals = readings.map(totals::<W>).collect::<anyhow::Result<Vec<_>>>();
        let totals = totals.map_err(|error| format!("{error:#}"));
        let waits = W::is_awaited(style.name()) && W::pending(&evidence).unwrap_or(0) > 0;
        (!waits).then_some(AtLast { evidence, totals })
    }
}

/// What the stores contained at that moment.
pub(crate) struct AtLast<W: Driven> {
    pub(crate) evidence: W::Evidence,
    /// Of each store the values of [`workload::Benchmark::totals`], none where the workload has no such query; or why they are not known.
    totals: Result<Vec<Vec<Value>>, String>,
}

/// The values of [`workload::Benchmark::totals`] in one store.
fn totals<W: Driven>(reading: &mut SnapshotReader) -> anyhow::Result<Vec<Value>> {
    let query = W::totals(reading.url().dialect())?;
    let rows = query.map(|query| reading.rows(&query)).transpose()?;
    Ok(rows.and_then(|mut rows| rows.pop()).unwrap_or_default())
}

impl<W: Driven> AtLast<W> {
    /// Whether the stores still contain that, once the server has ended: nothing may be written after the last answer. `None` for a workload
    /// without totals.
    pub(crate) fn unchanged(&self, urls: &[DbUrl]) -> Option<Audit> {
        if self.totals.as_ref().is_ok_and(|totals| totals.iter().all(Vec::is_empty)) {
            return None;
        }
        let clock = Monotonic::start();
        let now = |url| -> anyhow::Result<Vec<Value>> { totals::<W>(&mut SnapshotReader::open(url)?) };
        let now =
            urls.iter().map(now).collect::<anyhow::Result<Vec<_>>>().map_err(|error| format!("{error:#}"));
        let judged = match (&self.totals, &now) {
            (Err(why), _) | (_, Err(why)) => {
                (Check::Inconclusive, format!("not compared with the last answer: {why}"), Vec::new())
            }
            (Ok(then), Ok(now)) => {
                let both = then.iter().zip(now).enumerate();
                let changed = both.filter(|(_, (then, now))| then != now).map(|(store, (then, now))| {
                    let place =
                        if urls.len() > 1 { format!("{}: ", store_name(store)) } else { String::new() };
                    format!("{place}{} at the last answer, {} later", listed(then), listed(now))
                });
                let changed: Vec<String> = changed.collect();
                match changed.is_empty() {
                    true => (Check::Passed, "nothing was written after the last answer".to_owned(), changed),
                    false => (Check::Failed, "rows were written after the last answer".to_owned(), changed),
                }
            }
        };
        Some(of_answers("last-answer", judged, clock.now().as_secs_f64()))
    }
}

fn listed(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

/// Turns checks that have passed into failed ones where the same did not hold at the last answer.
pub(crate) fn hold_to(checks: &mut [LedgerCheck], at_last: Vec<LedgerCheck>) {
    for early in at_last.into_iter().filter(|early| early.check == Check::Failed) {
        let passed = |check: &&mut LedgerCheck| check.name == early.name && check.check == Check::Passed;
        if let Some(check) = checks.iter_mut().find(passed) {
            let sentence = format!(
                "Calls were acknowledged before they were stored. When the last one had been answered: {}",
                early.sentence
            );
            *check = LedgerCheck { sentence, ..early };
        }
    }
}
