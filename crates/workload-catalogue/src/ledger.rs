//! What was sent and what was acknowledged: how many calls of each kind, and bounds for what must be stored.

use crate::outcome::Said;
use crate::{Bulk, Call, Facts, FoodCatalogue, NewFood, Outcome};
use model::{Fault, LedgerFinding, Workload};
use serde::{Deserialize, Serialize};
use workload::mixed;

/// Kinds of call.
pub(crate) const KINDS: usize = 12;
/// What is held to the claims, in the order of the query `stored`.
const PLACES: [&str; 2] = ["categories", "foods"];

/// What calls imply about the rows of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Rows that are created.
    pub created: i64,
    /// Rows that are removed.
    pub removed: i64,
    /// Versions that are made: one by each creation, and one by each change.
    pub versions_made: i64,
    /// Versions of the rows that are removed.
    pub versions_removed: i64,
    /// The checksum ([`workload::mixed`]) of rows as they are created or become: id with version, of a food also with its
    /// nutrients and the length of its name. An audit knows its price.
    pub rows_made: i64,
    /// The checksum of rows that are removed, or as they were before a change.
    pub rows_removed: i64,
}

/// What a category adds to the checksum of its table.
const fn category(id: i64, version: i64) -> i64 {
    mixed(id, [version])
}

/// What a food adds to the checksum of its table. Each nutrient is below 1,024.
fn food(id: i64, version: i64, facts: &Facts) -> i64 {
    let Facts { name, kcal, protein, fat, carbs, fibre, price: _ } = facts;
    let nutrients = protein + (fat << 10) + (carbs << 20);
    let others = kcal + (fibre.map_or(0, |fibre| fibre + 1) << 10) + ((name.as_str().len() as u32) << 21);
    mixed(id, [version, nutrients.into(), others.into()])
}

/// The same of a food as loads and calls of ours have left it.
fn drawn(id: i64, version: i64) -> i64 {
    food(id, version, &Facts::drawn(id, version))
}

/// Whether the foods of a call are as our own calls draw them.
fn is_drawn(call: &Call) -> bool {
    match call {
        Call::CreateFood { food, .. } => *food == NewFood::drawn(food.id),
        Call::InsertFoods { foods: Bulk::Given(foods), .. } => {
            foods.iter().all(|food| *food == NewFood::drawn(food.id))
        }
        Call::UpdateFood { id, version, facts } => *facts == Facts::drawn(*id, version.saturating_add(1)),
        _ => true,
    }
}

impl Tally {
    /// Of what rows add to the checksum.
    fn created(rows: impl Iterator<Item = i64>) -> Tally {
        rows.fold(Tally::default(), |all, row| Tally {
            created: all.created + 1,
            versions_made: all.versions_made + 1,
            rows_made: all.rows_made + row,
            ..all
        })
    }

    fn changed(rows_removed: i64, rows_made: i64) -> Tally {
        Tally { versions_made: 1, rows_made, rows_removed, ..Tally::default() }
    }

    fn removed(version: i64, row: i64) -> Tally {
        Tally { removed: 1, versions_removed: version, rows_removed: row, ..Tally::default() }
    }

    /// Versions are what servers answered: a sum that does not fit saturates, and differs from every sum that is right.
    fn absorb(&mut self, other: &Tally) {
        self.created = self.created.saturating_add(other.created);
        self.removed = self.removed.saturating_add(other.removed);
        self.versions_made = self.versions_made.saturating_add(other.versions_made);
        self.versions_removed = self.versions_removed.saturating_add(other.versions_removed);
        self.rows_made = self.rows_made.saturating_add(other.rows_made);
        self.rows_removed = self.rows_removed.saturating_add(other.rows_removed);
    }

    /// What a call does where it is done: in which table, and what.
    fn of(call: &Call) -> Option<(usize, Tally)> {
        match call {
            Call::CreateCategory { id, .. } => Some((0, Tally::created(std::iter::once(category(*id, 1))))),
            Call::UpdateCategory { id, version, .. } => {
                let next = category(*id, version.saturating_add(1));
                Some((0, Tally::changed(category(*id, *version), next)))
            }
            Call::DeleteCategory { id, version } => {
                Some((0, Tally::removed(*version, category(*id, *version))))
            }
            Call::CreateFood { food: NewFood { id, facts }, .. } => {
                Some((1, Tally::created(std::iter::once(food(*id, 1, facts)))))
            }
            Call::InsertFoods { foods, .. } => {
                Some((1, Tally::created(foods.iter().map(|new| food(new.id, 1, &new.facts)))))
            }
            Call::UpdateFood { id, version, facts } => {
                let next = food(*id, version.saturating_add(1), facts);
                Some((1, Tally::changed(drawn(*id, *version), next)))
            }
            Call::DeleteFood { id, version } => Some((1, Tally::removed(*version, drawn(*id, *version)))),
            Call::Categories
            | Call::Category { .. }
            | Call::Foods(_)
            | Call::Food { .. }
            | Call::Template { .. } => None,
        }
    }
}

/// The account of a worker, and after absorbing all workers that of the trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    sure: [Tally; PLACES.len()],
    doubtful: [Tally; PLACES.len()],
    calls: [u64; KINDS],
    /// Whether a food was asked for that is not as our own calls draw it: then it is not known what a later call replaces.
    custom_foods: bool,
}

impl Ledger {
    /// Calls of each kind that were sent.
    pub const fn calls(&self) -> &[u64; KINDS] {
        &self.calls
    }
}

impl model::Ledger<FoodCatalogue> for Ledger {
    fn post(&mut self, call: &Call, result: &Result<Outcome, Fault>) {
        self.calls[FoodCatalogue::kind(call)] += 1;
        let Some((place, tally)) = Tally::of(call) else { return };
        self.custom_foods |= !is_drawn(call);
        match result {
            Ok(Outcome { said: Said::Declined(_), .. }) => {}
            Ok(_) => self.sure[place].absorb(&tally),
            // A defect says nothing about the store either: a wrong answer may have been applied.
            Err(Fault::InDoubt(_) | Fault::Defect(_)) => self.doubtful[place].absorb(&tally),
            Err(Fault::Conflict(_) | Fault::Refused(_)) => {}
        }
    }

    fn absorb(&mut self, other: &Ledger) {
        self.sure.iter_mut().zip(&other.sure).for_each(|(mine, theirs)| mine.absorb(theirs));
        self.doubtful.iter_mut().zip(&other.doubtful).for_each(|(mine, theirs)| mine.absorb(theirs));
        self.calls.iter_mut().zip(&other.calls).for_each(|(mine, theirs)| *mine += theirs);
        self.custom_foods |= other.custom_foods;
    }

    fn clear(&mut self) {
        *self = Ledger::default();
    }
}

/// What the store says of a table, read before and after a trial by the query `stored`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    pub rows: i64,
    /// The sum of their versions.
    pub versions: i64,
    /// Their checksum; absent where a server that looks at its own data leaves it out.
    #[serde(default)]
    pub mixed: Option<i64>,
}

/// What acknowledged and doubtful calls imply, in a form that can be written to a partial result and read back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Of categories and of foods, from acknowledged calls.
    pub sure: [Tally; PLACES.len()],
    /// The same from calls in doubt.
    pub doubtful: [Tally; PLACES.len()],
    /// Whether foods were asked for that are not as our own calls draw them: then their contents are not held to anything.
    pub custom_foods: bool,
    /// False where calls may have been acknowledged after these claims were written: rows come and go, so nothing has bounds
    /// then.
    pub complete: bool,
}

impl Claims {
    /// The claims of a ledger.
    pub const fn of(ledger: &Ledger, complete: bool) -> Claims {
        Claims { sure: ledger.sure, doubtful: ledger.doubtful, custom_foods: ledger.custom_foods, complete }
    }

    /// The ledger audit: rows and versions have grown by what was acknowledged, and by no more or less than what is in doubt
    /// next to that. Nothing where the claims are not complete; `None` where the store does not speak of the same tables.
    pub fn audit(&self, before: &[Stored], after: &[Stored]) -> Option<Vec<LedgerFinding>> {
        if before.len() != PLACES.len() || after.len() != PLACES.len() {
            return None;
        }
        if !self.complete {
            return Some(Vec::new());
        }
        let locked = |place: usize| {
            let (sure, doubtful) = (&self.sure[place], &self.doubtful[place]);
            let (old, new) = (&before[place], &after[place]);
            let bounds = |made: i64, gone: i64, perhaps_made: i64, perhaps_gone: i64| {
                let sure = made.saturating_sub(gone);
                (sure.saturating_sub(perhaps_gone), sure.saturating_add(perhaps_made))
            };
            let rows = bounds(sure.created, sure.removed, doubtful.created, doubtful.removed);
            let versions = bounds(
                sure.versions_made,
                sure.versions_removed,
                doubtful.versions_made,
                doubtful.versions_removed,
            );
            let mixed = bounds(sure.rows_made, sure.rows_removed, doubtful.rows_made, doubtful.rows_removed);
            let is_known = place == 0 || !self.custom_foods;
            let grown = old.mixed.zip(new.mixed).filter(|_| is_known).map(|(old, new)| new - old);
            let mut findings = vec![
                finding(NAMES[place][0], "rows", rows, new.rows - old.rows),
                finding(NAMES[place][1], "versions", versions, new.versions - old.versions),
            ];
            findings.extend(grown.map(|grown| finding(NAMES[place][2], "in the checksum", mixed, grown)));
            findings
        };
        Some((0..PLACES.len()).flat_map(locked).collect())
    }
}

/// What is counted, of each table.
const NAMES: [[&str; 3]; PLACES.len()] = [
    ["categories", "versions of categories", "which categories have which version"],
    ["foods", "versions of foods", "contents of foods"],
];

fn finding(name: &'static str, unit: &'static str, (low, high): (i64, i64), stored: i64) -> LedgerFinding {
    let violation = (!(low..=high).contains(&stored)).then(|| {
        format!("{name}: acknowledged calls make it grow by {low} to {high} {unit}, stored {stored}")
    });
    LedgerFinding { name, unit, low, high, stored, violations: violation.into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Decline;
    use model::{Conflict, Doubt, Ledger as _};

    fn claims(calls: &[(Call, Result<Outcome, Fault>)]) -> Claims {
        let mut ledger = Ledger::default();
        calls.iter().for_each(|(call, result)| ledger.post(call, result));
        Claims::of(&ledger, true)
    }

    fn update(version: i64) -> Call {
        Call::UpdateFood { id: 1, version, facts: Facts::drawn(1, version + 1) }
    }

    #[test]
    fn rows_and_versions_are_held_to_what_was_acknowledged_and_what_is_in_doubt() {
        let stored = |version| Ok(Outcome::of(Said::Stored { version }));
        let doubt = || Err(Fault::InDoubt(Doubt::Deadline));
        let bulk = Call::InsertFoods { category: 1, foods: Bulk::Drawn { first: 100 } };
        let claims = claims(&[
            (Call::CreateFood { category: 1, food: NewFood::drawn(99) }, stored(1)),
            (update(1), stored(2)),
            (update(1), Ok(Outcome::declined(Decline::StaleVersion))),
            (update(2), Err(Fault::Conflict(Conflict::Busy))),
            (Call::DeleteFood { id: 99, version: 3 }, Ok(Outcome::of(Said::Deleted))),
            (bulk, doubt()),
            (Call::DeleteFood { id: 98, version: 7 }, doubt()),
        ]);
        let before = [
            Stored { rows: 10, versions: 10, mixed: Some(10) },
            Stored { rows: 1_000, versions: 2_000, mixed: Some(1 << 40) },
        ];
        // One was created, changed and removed; the bulk and the last removal may have been done.
        let sure = drawn(99, 1) + drawn(1, 2) - drawn(1, 1) - drawn(99, 3);
        let of_bulk: i64 = (100..150).map(|id| drawn(id, 1)).sum();
        let found = |rows: i64, versions: i64| {
            let doubtful = match rows {
                0 => 0,
                -1 => -drawn(98, 7),
                _ => of_bulk,
            };
            let mixed = before[1].mixed.map(|mixed| mixed + sure + doubtful);
            let after = [before[0], Stored { rows: 1_000 + rows, versions: 2_000 + versions, mixed }];
            let findings = claims.audit(&before, &after).unwrap();
            let bad: Vec<&str> = findings
                .iter()
                .filter(|finding| !finding.violations.is_empty())
                .map(|finding| finding.name)
                .collect();
            bad
        };
        // One created and one removed; one and a change made, three removed; fifty and seven may be.
        for (rows, versions) in [(0, -1), (50, 49), (-1, -8)] {
            assert_eq!(found(rows, versions), [""; 0], "{rows} {versions}");
        }
        assert_eq!(found(51, 50), ["foods", "versions of foods"]);
        assert_eq!(found(-2, -9), ["foods", "versions of foods"]);
        let partial = Claims { complete: false, ..claims.clone() };
        assert_eq!(partial.audit(&before, &before), Some(Vec::new()));
        assert_eq!(claims.audit(&before[..1], &before), None);
    }

    #[test]
    fn a_change_of_a_neighbour_is_found_though_rows_and_versions_add_up() {
        let claims = claims(&[(update(1), Ok(Outcome::of(Said::Stored { version: 2 })))]);
        let before = [Stored { rows: 10, versions: 10, mixed: Some(10) }; 2];
        let changed = |id: i64| {
            let after = Stored { versions: 11, mixed: Some(10 + drawn(id, 2) - drawn(id, 1)), ..before[1] };
            claims.audit(&before, &[before[0], after]).unwrap()
        };
        assert!(changed(1).iter().all(|finding| finding.violations.is_empty()));
        let found = changed(2);
        let bad: Vec<&str> = found
            .iter()
            .filter(|finding| !finding.violations.is_empty())
            .map(|finding| finding.name)
            .collect();
        assert_eq!(bad, ["contents of foods"]);
    }
}
