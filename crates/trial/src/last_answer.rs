//! What the stores contained when the last call had been answered: what was acknowledged is in it, and does not come later.

use crate::validate;
use admin::Reading;
use result::{Check, LedgerCheck};
use sql::DbUrl;
use targets::Driven;

/// Connections that were opened before the load, so that the moment of its end can be held at once. None where a store could not
/// be reached, or not by a connection of our own: then only what is stored in the end is known.
pub(crate) struct LastAnswer(Vec<Reading>);

impl LastAnswer {
    pub(crate) fn prepare(urls: &[DbUrl]) -> LastAnswer {
        let readings: Result<Vec<Reading>, admin::Error> = urls.iter().map(Reading::open).collect();
        LastAnswer(readings.unwrap_or_default())
    }

    /// What the stores report as of now; nothing where that cannot be held, or where something is still on its way.
    pub(crate) fn evidence<W: Driven>(mut self) -> Option<W::Evidence> {
        for reading in &mut self.0 {
            if !reading.hold().ok()? {
                return None;
            }
        }
        let each = self.0.iter_mut().map(validate::evidence_of::<W>).collect::<anyhow::Result<Vec<_>>>();
        let stored = each.ok().filter(|each| !each.is_empty()).map(W::join)?;
        (W::pending(&stored).unwrap_or(0) == 0).then_some(stored)
    }
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
