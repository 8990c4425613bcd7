//! What was sent and what was acknowledged: counts for the input audit, and bounds for what must be stored.

use crate::call::NUMBER_MAX;
use crate::{Call, Cardinality, Outcome, Toy};
use model::{Fault, LedgerFinding};
use serde::{Deserialize, Serialize};

/// What calls imply about one box.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tally {
    notes: i64,
    /// The sum of their numbers, none of which is below zero.
    total: i64,
}

impl Tally {
    fn absorb(&mut self, other: &Tally) {
        self.notes += other.notes;
        self.total += other.total;
    }
}

/// The account of a worker, and after absorbing all workers that of the trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ledger {
    /// By box, from acknowledged calls.
    sure: Vec<Tally>,
    /// By box, from calls that may have been applied.
    doubtful: Vec<Tally>,
    /// Calls that were made, however they ended.
    pub(crate) sent: u64,
    /// Those of them whose number is in the lower half.
    pub(crate) low: u64,
}

impl Ledger {
    /// An empty account for data of that size.
    pub(crate) fn new(size: Cardinality) -> Ledger {
        let none = vec![Tally::default(); size.boxes as usize];
        Ledger { sure: none.clone(), doubtful: none, sent: 0, low: 0 }
    }
}

impl model::Ledger<Toy> for Ledger {
    fn post(&mut self, call: &Call, result: &Result<Outcome, Fault>) {
        self.sent += 1;
        self.low += u64::from(call.number <= NUMBER_MAX / 2);
        let tallies = match result {
            Ok(_) => &mut self.sure,
            // A defect says nothing about the store either: a wrong answer may have been applied.
            Err(Fault::InDoubt(_) | Fault::Defect(_)) => &mut self.doubtful,
            Err(Fault::Conflict(_) | Fault::Refused(_)) => return,
        };
        tallies[call.id as usize - 1].absorb(&Tally { notes: 1, total: i64::from(call.number) });
    }

    fn absorb(&mut self, other: &Ledger) {
        self.sure.iter_mut().zip(&other.sure).for_each(|(mine, theirs)| mine.absorb(theirs));
        self.doubtful.iter_mut().zip(&other.doubtful).for_each(|(mine, theirs)| mine.absorb(theirs));
        self.sent += other.sent;
        self.low += other.low;
    }

    fn clear(&mut self) {
        self.sure.fill(Tally::default());
        self.doubtful.fill(Tally::default());
        (self.sent, self.low) = (0, 0);
    }
}

/// What the store says about a box, by the query `stored`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredBox {
    id: u32,
    pub(crate) notes: i64,
    total: i64,
    /// Notes that have not arrived yet.
    pub(crate) pending: u64,
}

impl StoredBox {
    /// From a row of `stored`.
    pub(crate) fn from_row(row: &[i64]) -> Option<StoredBox> {
        let &[id, notes, total, pending] = row else { return None };
        Some(StoredBox { id: u32::try_from(id).ok()?, notes, total, pending: u64::try_from(pending).ok()? })
    }
}

/// What acknowledged and doubtful calls imply, in a form that can be written to a partial result and read back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims {
    sure: Vec<Tally>,
    doubtful: Vec<Tally>,
    /// False where calls may have been acknowledged after these claims were written: then there is no upper bound.
    pub(crate) complete: bool,
}

impl Claims {
    /// The claims of a ledger.
    pub(crate) fn of(ledger: &Ledger, complete: bool) -> Claims {
        Claims { sure: ledger.sure.clone(), doubtful: ledger.doubtful.clone(), complete }
    }

    /// The ledger audit: each box must have grown by what was acknowledged, and by no more than that and what is in doubt.
    /// `None` where the three do not speak of the same boxes.
    pub(crate) fn audit(&self, before: &[StoredBox], after: &[StoredBox]) -> Option<Vec<LedgerFinding>> {
        let same = [before.len(), after.len(), self.doubtful.len()] == [self.sure.len(); 3]
            && before.iter().zip(after).all(|(old, new)| old.id == new.id);
        same.then(|| {
            vec![
                self.hold("notes by box", "notes", before, after, |tally| tally.notes, |stored| stored.notes),
                self.hold(
                    "totals by box",
                    "units",
                    before,
                    after,
                    |tally| tally.total,
                    |stored| stored.total,
                ),
            ]
        })
    }

    fn hold(
        &self,
        name: &'static str,
        unit: &'static str,
        before: &[StoredBox],
        after: &[StoredBox],
        claimed: fn(&Tally) -> i64,
        stored: fn(&StoredBox) -> i64,
    ) -> LedgerFinding {
        let mut finding = LedgerFinding { name, unit, low: 0, high: 0, stored: 0, violations: Vec::new() };
        for (index, (old, new)) in before.iter().zip(after).enumerate() {
            let low = claimed(&self.sure[index]);
            let high = low + claimed(&self.doubtful[index]);
            let grown = stored(new) - stored(old);
            finding.low += low;
            finding.high += high;
            finding.stored += grown;
            if grown < low || (self.complete && grown > high) {
                let bounds = format!("calls imply {low} to {high} {unit}");
                finding.violations.push(format!("box {}: {bounds}, stored {grown}", new.id));
            }
        }
        finding
    }
}
