//! What was sent and what was acknowledged: how many calls of each kind, and bounds for what must be stored.

use crate::data::category_name;
use crate::outcome::Reply;
use crate::{Bulk, Call, Cardinality, Facts, Food, FoodCatalogue, Name, NewFood, Outcome};
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
    /// The checksum ([`workload::mixed`]) of rows as they are created or become: id with version and name, of a food also with its
    /// nutrients and its category. Of a name it is the length and three characters. An audit knows the price of a food.
    pub rows_made: i64,
    /// The checksum of rows that are removed, or as they were before a change.
    pub rows_removed: i64,
}

/// A name in a checksum: its length and three of its characters, below 2^29 for the names that our own calls draw.
fn of_name(name: &Name) -> i64 {
    let bytes = name.as_str().as_bytes();
    let at = |at: usize| bytes.get(at).map_or(0, |byte| i64::from(*byte));
    bytes.len() as i64 + (at(1) << 8) + (at(bytes.len() / 2) << 15) + (at(bytes.len().wrapping_sub(1)) << 22)
}

/// What a category adds to the checksum of its table.
fn category(id: i64, version: i64) -> i64 {
    mixed(id, [version, of_name(&category_name(id))])
}

/// What a food adds to the checksum of its table. Each nutrient is below 1,024.
fn food(id: i64, category: i64, version: i64, facts: &Facts) -> i64 {
    let Facts { name, kcal, protein, fat, carbs, fibre, price: _ } = facts;
    let nutrients = protein + (fat << 10) + (carbs << 20);
    let others = i64::from(kcal + (fibre.map_or(0, |fibre| fibre + 1) << 10)) + (of_name(name) << 21);
    mixed(id, [version, nutrients.into(), others, category])
}

/// The same of a food as loads and single creations of ours have left it.
fn drawn(size: &Cardinality, id: i64, version: i64) -> i64 {
    let Food { category, facts, .. } = size.food(id, version);
    food(id, category, version, &facts)
}

/// Whether a call is as our own draw it, so that it is known what a later call replaces.
fn is_drawn(size: &Cardinality, call: &Call) -> bool {
    match call {
        Call::CreateCategory { id, name } | Call::UpdateCategory { id, name, .. } => {
            *name == category_name(*id)
        }
        Call::CreateFood { category, food } => {
            *food == NewFood::drawn(food.id) && *category == size.food(food.id, 1).category
        }
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
    fn of(size: &Cardinality, call: &Call) -> Option<(usize, Tally)> {
        match call {
            Call::CreateCategory { id, .. } => Some((0, Tally::created(std::iter::once(category(*id, 1))))),
            Call::UpdateCategory { id, version, .. } => {
                let next = category(*id, version.saturating_add(1));
                Some((0, Tally::changed(category(*id, *version), next)))
            }
            Call::DeleteCategory { id, version } => {
                Some((0, Tally::removed(*version, category(*id, *version))))
            }
            Call::CreateFood { category, food: NewFood { id, facts } } => {
                Some((1, Tally::created(std::iter::once(food(*id, *category, 1, facts)))))
            }
            Call::InsertFoods { category, foods } => {
                Some((1, Tally::created(foods.iter().map(|new| food(new.id, *category, 1, &new.facts)))))
            }
            Call::UpdateFood { id, version, facts } => {
                let next = food(*id, size.food(*id, 1).category, version.saturating_add(1), facts);
                Some((1, Tally::changed(drawn(size, *id, *version), next)))
            }
            Call::DeleteFood { id, version } => {
                Some((1, Tally::removed(*version, drawn(size, *id, *version))))
            }
            Call::Categories
            | Call::Category { .. }
            | Call::Foods(_)
            | Call::Food { .. }
            | Call::Template { .. } => None,
        }
    }
}

/// The account of a worker, and after absorbing all workers that of the trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    size: Cardinality,
    sure: [Tally; PLACES.len()],
    doubtful: [Tally; PLACES.len()],
    calls: [u64; KINDS],
    /// Of each table whether a row was asked for that is not as our own calls draw it: then it is not known what a later call
    /// replaces.
    custom: [bool; PLACES.len()],
}

impl Ledger {
    /// An empty account of calls on data of this size.
    pub fn new(size: Cardinality) -> Ledger {
        let none = [Tally::default(); PLACES.len()];
        Ledger { size, sure: none, doubtful: none, calls: [0; KINDS], custom: [false; PLACES.len()] }
    }

    /// Calls of each kind that were sent.
    pub const fn calls(&self) -> &[u64; KINDS] {
        &self.calls
    }
}

impl model::Ledger<FoodCatalogue> for Ledger {
    fn post(&mut self, call: &Call, result: &Result<Outcome, Fault>) {
        self.calls[FoodCatalogue::kind(call)] += 1;
        let Some((place, tally)) = Tally::of(&self.size, call) else { return };
        self.custom[place] |= !is_drawn(&self.size, call);
        match result {
            Ok(Outcome { reply: Reply::Declined(_), .. }) => {}
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
        self.custom.iter_mut().zip(other.custom).for_each(|(mine, theirs)| *mine |= theirs);
    }

    fn clear(&mut self) {
        *self = Ledger::new(self.size);
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
    /// Of each table whether rows were asked for that are not as our own calls draw them: then their contents are not checked.
    pub custom: [bool; PLACES.len()],
    /// False where calls may have been acknowledged after these claims were written: rows come and go, so nothing has bounds
    /// then.
    pub complete: bool,
}

impl Claims {
    /// The claims of a ledger.
    pub const fn of(ledger: &Ledger, complete: bool) -> Claims {
        Claims { sure: ledger.sure, doubtful: ledger.doubtful, custom: ledger.custom, complete }
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
            let grown = old.mixed.zip(new.mixed).filter(|_| !self.custom[place]).map(|(old, new)| new - old);
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
    ["categories", "versions of categories", "contents of categories"],
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

    const SIZE: Cardinality = Cardinality::standard(1);

    fn drawn(id: i64, version: i64) -> i64 {
        super::drawn(&SIZE, id, version)
    }

    fn claims(calls: &[(Call, Result<Outcome, Fault>)]) -> Claims {
        let mut ledger = Ledger::new(SIZE);
        calls.iter().for_each(|(call, result)| ledger.post(call, result));
        Claims::of(&ledger, true)
    }

    fn update(version: i64) -> Call {
        Call::UpdateFood { id: 1, version, facts: Facts::drawn(1, version + 1) }
    }

    #[test]
    fn rows_and_versions_are_held_to_what_was_acknowledged_and_what_is_in_doubt() {
        let stored = |version| Ok(Outcome::of(Reply::Stored { version }));
        let doubt = || Err(Fault::InDoubt(Doubt::Deadline));
        let bulk = Call::InsertFoods { category: 1, foods: Bulk::Drawn { first: 100 } };
        let claims = claims(&[
            (Call::CreateFood { category: SIZE.food(99, 1).category, food: NewFood::drawn(99) }, stored(1)),
            (update(1), stored(2)),
            (update(1), Ok(Outcome::declined(Decline::StaleVersion))),
            (update(2), Err(Fault::Conflict(Conflict::Busy))),
            (Call::DeleteFood { id: 99, version: 3 }, Ok(Outcome::of(Reply::Deleted))),
            (bulk, doubt()),
            (Call::DeleteFood { id: 98, version: 7 }, doubt()),
        ]);
        let before = [
            Stored { rows: 10, versions: 10, mixed: Some(10) },
            Stored { rows: 1_000, versions: 2_000, mixed: Some(1 << 40) },
        ];
        // One was created, changed and removed; the bulk and the last removal may have been done.
        let sure = drawn(99, 1) + drawn(1, 2) - drawn(1, 1) - drawn(99, 3);
        let of_bulk: i64 = (100..150).map(|id| food(id, 1, 1, &Facts::drawn(id, 1))).sum();
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
        let claims = claims(&[(update(1), Ok(Outcome::of(Reply::Stored { version: 2 })))]);
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
    #[test]
    fn a_row_with_another_category_or_name_is_found() {
        let ok = || Ok(Outcome::of(Reply::Stored { version: 1 }));
        let new = Call::CreateFood { category: SIZE.food(7_000, 1).category, food: NewFood::drawn(7_000) };
        let bulk = Call::InsertFoods { category: 3, foods: Bulk::Drawn { first: 8_000 } };
        let named = Call::CreateCategory { id: 99, name: category_name(99) };
        let claims =
            claims(&[(new, ok()), (bulk, Ok(Outcome::of(Reply::Inserted { count: 50 }))), (named, ok())]);
        let before = [Stored { rows: 10, versions: 10, mixed: Some(10) }; 2];
        let stored = |category: i64, bulk: i64, wrong: &dyn Fn(i64) -> Option<Name>| {
            let facts = |id: i64| {
                let facts = Facts::drawn(id, 1);
                Facts { name: wrong(id).unwrap_or(facts.name), ..facts }
            };
            let of_bulk = (8_000..8_050).map(|id| food(id, bulk, 1, &facts(id)));
            let foods: i64 = of_bulk.chain([food(7_000, category, 1, &facts(7_000))]).sum();
            let of_category = mixed(99, [1, of_name(&wrong(99).unwrap_or(category_name(99)))]);
            let after = [(1, of_category), (51, foods)];
            let after = after.map(|(rows, mixed)| Stored {
                rows: 10 + rows,
                versions: 10 + rows,
                mixed: Some(10 + mixed),
            });
            let findings = claims.audit(&before, &after).unwrap().into_iter();
            findings.filter(|found| !found.violations.is_empty()).map(|found| found.name).collect::<Vec<_>>()
        };
        let own = SIZE.food(7_000, 1).category;
        assert_eq!(stored(own, 3, &|_| None), [""; 0]);
        assert_eq!(stored(own % 10 + 1, 3, &|_| None), ["contents of foods"]);
        assert_eq!(stored(own, 4, &|_| None), ["contents of foods"]);
        // As long as the right ones.
        let other = |id: i64| Some(Name::of(&Facts::drawn(id, 1).name.as_str().to_uppercase()));
        assert_eq!(stored(own, 3, &|id| (id == 8_031).then(|| other(id))?), ["contents of foods"]);
        assert_eq!(
            stored(own, 3, &|id| (id == 99).then(|| Name::of("category 98"))),
            ["contents of categories"]
        );
    }
}
