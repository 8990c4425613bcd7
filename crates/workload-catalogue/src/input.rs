//! How calls are drawn: a stated mix, and of each worker what it has made itself.
//!
//! A worker changes two sorts of rows. Foods that were loaded are read and changed by all workers, so that a version may be
//! stale by the time it is used; of these it changes the price alone. Foods and categories of its own it creates, reads,
//! changes and removes; no one else touches them, so every answer about them is known beforehand.

mod own_rows;

use crate::call::{From, List};
use crate::counts::{Counted, RowCounts};
use crate::ledger::KINDS;
use crate::outcome::{Decline, Reply};
use crate::{
    BULK_MAX, Bulk, Call, Cardinality, Category, Digest, Facts, Filter, Food, FoodCatalogue, ID_MAX, Loaded,
    Name, NewFood, Order, Outcome, PAGE_SIZE, data,
};
use model::random::Random;
use model::{Mix, Workload};
use own_rows::OwnRows;
use std::sync::Arc;
use workload::{Drawn, Registers, Remembered};

/// The default mix: of a thousand calls, those of each kind, in the order of [`FoodCatalogue::KINDS`]. As many rows are created
/// one by one as are removed.
pub const WEIGHTS: [u32; 12] = [150, 10, 5, 5, 5, 240, 280, 50, 90, 50, 15, 100];

/// Kinds that wait for another, and that: changes and removals of a category for a creation, those of a food for a reading and
/// for a creation. Shares are those of the mix for each such group together.
const STAND_INS: [(usize, usize); 4] = [(3, 2), (4, 2), (8, 6), (9, 7)];

/// Kinds whose calls stand in for each other's, with this one.
pub(crate) fn group(kind: usize) -> impl Iterator<Item = usize> {
    let first = |kind| STAND_INS.into_iter().find(|(late, _)| *late == kind).map_or(kind, |(_, first)| first);
    (0..KINDS).filter(move |other| first(*other) == first(kind))
}

/// The path of the run's random streams, apart from those of other workloads.
const CLIENT: u64 = 400;
/// Pages that are asked for.
const PAGES: u64 = 3;
/// Loaded foods of which a worker remembers the version.
const SEEN: usize = 64;

/// Of so many lists one is compared with the places of loaded foods.
const LISTS_APART: u32 = 4;

/// The calls of one client.
#[derive(Debug, Clone)]
pub struct Inputs {
    size: Cardinality,
    loaded: Arc<Loaded>,
    mix: Mix,
    random: Random,
    foods: OwnRows,
    categories: OwnRows,
    /// Foods that were inserted with others: the first of them and their category.
    inserted: Remembered<(i64, i64)>,
    /// Loaded foods and their versions, the latest that were seen.
    seen: [(i64, i64); SEEN],
    seen_next: usize,
    /// Calls of each kind that others have stood in for.
    owed: [u32; KINDS],
    /// Lists that were answered.
    lists: u32,
    /// The list that was asked for last, where there is more of it.
    onward: Option<(List, u64)>,
    /// Loaded foods that the list that was drawn last must still have, where it begins behind one.
    following: u64,
    /// What the last call must be answered with.
    expected: Expected,
    /// The versions of loaded rows, foods before categories; absent where answers are held to what this worker knows.
    versions: Option<Arc<Registers>>,
    /// What was known of the version of its row when the last call was drawn.
    drawn: Drawn,
    /// How many rows there are; absent where answers are held to what this worker knows.
    counts: Option<Arc<RowCounts>>,
    /// What was known of that when the last call was drawn.
    counted: Counted,
}

/// What a worker knows of the answer to a call that it has drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// It is not declined.
    Done,
    /// The same, and it is this version of a row of its own.
    Version(i64),
    /// The same, and it is a food that was inserted with others into this category.
    Inserted(i64),
    /// It may be declined because of what others do or did.
    Either,
    Declined(Decline),
    /// It is declined, because the row is used, or because others have changed it since.
    InUse,
}

pub(crate) fn standard_mix() -> Mix {
    let weights: Vec<(String, f64)> = FoodCatalogue::KINDS
        .iter()
        .zip(WEIGHTS)
        .map(|(kind, weight)| (kind.name.to_owned(), weight.into()))
        .collect();
    Mix::of(FoodCatalogue::KINDS, &weights).ok().flatten().expect("weights of all kinds are a mix")
}

impl Inputs {
    /// The stream of a worker in the run of this number. `mix` is [`standard_mix`], or another.
    pub(crate) fn new(
        size: Cardinality,
        loaded: Arc<Loaded>,
        mix: Mix,
        seed: u64,
        run: u64,
        worker: u32,
    ) -> Inputs {
        Inputs {
            size,
            loaded,
            mix,
            random: Random::stream(seed, &[CLIENT, u64::from(worker)]),
            foods: OwnRows::new(run, worker),
            categories: OwnRows::new(run, worker),
            inserted: Remembered::default(),
            seen: [(0, 0); SEEN],
            seen_next: 0,
            owed: [0; KINDS],
            lists: 0,
            onward: None,
            following: 0,
            expected: Expected::Done,
            versions: None,
            drawn: Drawn::default(),
            counts: None,
            counted: Counted::default(),
        }
    }

    /// The same, whose answers are held to what calls of all workers have made of the versions of loaded rows.
    #[must_use]
    pub(crate) fn remembering(self, versions: &Arc<Registers>) -> Inputs {
        Inputs { versions: Some(Arc::clone(versions)), ..self }
    }

    /// The same, whose answers are held to how many rows calls of all workers have created and removed.
    #[must_use]
    pub(crate) fn counting(self, counts: &Arc<RowCounts>) -> Inputs {
        Inputs { counts: Some(Arc::clone(counts)), ..self }
    }

    /// What a call is about to change of the version of a loaded row, or to read where that is 0.
    fn drawn(&self, call: &Call) -> Drawn {
        let Some(versions) = &self.versions else { return Drawn::default() };
        let (foods, categories) = (i64::from(self.size.foods), i64::from(self.size.categories));
        let (id, of, before, delta) = match call {
            Call::Food { id } | Call::DeleteFood { id, .. } => (*id, foods, 0, 0),
            Call::UpdateFood { id, .. } => (*id, foods, 0, 1),
            Call::Category { id } | Call::DeleteCategory { id, .. } => (*id, categories, foods, 0),
            Call::UpdateCategory { id, .. } => (*id, categories, foods, 1),
            _ => return Drawn::default(),
        };
        if (1..=of).contains(&id) { versions.draw((before + id - 1) as u64, delta) } else { Drawn::default() }
    }

    /// The version that an answer shows, and a version that is called stale, against what all workers' calls have made of it.
    fn check_version(&self, call: &Call, reply: &Reply) -> Result<(), &'static str> {
        let Some(versions) = &self.versions else { return Ok(()) };
        let before = match (call, reply) {
            (Call::Food { .. }, Reply::Food { version, .. })
            | (Call::Category { .. }, Reply::Category { version, .. }) => *version,
            // What was changed had the version that was asked for.
            (
                Call::UpdateFood { version, .. } | Call::UpdateCategory { version, .. },
                Reply::Stored { .. },
            ) => *version,
            (
                Call::UpdateFood { version, .. }
                | Call::UpdateCategory { version, .. }
                | Call::DeleteFood { version, .. }
                | Call::DeleteCategory { version, .. },
                Reply::Declined(why),
            ) => {
                let has_it = *why == Decline::StaleVersion && versions.must_hold(&self.drawn, *version);
                versions.declined(self.drawn, None);
                return if has_it {
                    Err("a call was declined as stale, and the row has its version")
                } else {
                    Ok(())
                };
            }
            _ => return Ok(()),
        };
        if versions.done(self.drawn, Some(before)) {
            Ok(())
        } else {
            Err("a version is not what changes have made of it")
        }
    }

    fn one_of(&mut self, count: u32) -> i64 {
        self.random.below(count.into()) as i64 + 1
    }

    /// The kind that is called where one was drawn. What a worker has nothing for yet waits: a creation stands in for a change
    /// or a removal, and a reading for a change of a loaded food, whose turn it takes later. Where the mix has no such calls,
    /// it is made all the same, and declined.
    fn due(&mut self, kind: usize) -> usize {
        if let Some((_, first)) = STAND_INS.into_iter().find(|(late, _)| *late == kind)
            && !self.is_possible(kind)
            && self.mix.share(first) > 0.0
        {
            self.owed[kind] += 1;
            return first;
        }
        for (late, first) in STAND_INS {
            if first == kind && self.owed[late] > 0 && self.is_possible(late) {
                self.owed[late] -= 1;
                return late;
            }
        }
        kind
    }

    fn is_possible(&self, kind: usize) -> bool {
        match kind {
            3 | 4 => self.categories.count > 0,
            8 => self.seen.iter().any(|(id, _)| *id > 0),
            9 => self.foods.count > 0,
            _ => true,
        }
    }

    fn call(&mut self, kind: usize) -> (Call, Expected) {
        match kind {
            0 => (Call::Categories, Expected::Done),
            1 => self.category(),
            2 => {
                let (id, begins) = self.categories.take(1);
                (Call::CreateCategory { id, name: data::category_name(id) }, created(begins))
            }
            3 => self.update_category(),
            4 => match self.categories.oldest() {
                Some((id, version)) => (Call::DeleteCategory { id, version }, Expected::Done),
                None => (
                    Call::DeleteCategory { id: self.one_of(self.size.categories), version: 1 },
                    Expected::InUse,
                ),
            },
            5 => (Call::Foods(self.list()), Expected::Done),
            6 => self.food(),
            7 => {
                let (id, begins) = self.foods.take(1);
                let category = self.size.food(id, 1).category;
                (Call::CreateFood { category, food: NewFood::drawn(id) }, created(begins))
            }
            8 => self.update_food(),
            9 => self.delete_food(),
            10 => {
                let (first, begins) = self.foods.take(BULK_MAX as i64);
                let category = self.one_of(self.size.categories);
                (Call::InsertFoods { category, foods: Bulk::Drawn { first } }, created(begins))
            }
            _ => (Call::Template { id: self.one_of(self.size.templates) }, Expected::Done),
        }
    }

    fn update_category(&mut self) -> (Call, Expected) {
        let (id, version, expected) = match self.categories.newest() {
            Some((id, version)) => (id, version, Expected::Done),
            None => (self.one_of(self.size.categories), 1, Expected::Either),
        };
        (Call::UpdateCategory { id, version, name: data::category_name(id) }, expected)
    }

    /// A list of one filter and order, mostly one of the first pages; or what follows the last one.
    fn list(&mut self) -> List {
        let goes_on = self.random.chance(3, 10);
        self.following = 0;
        if let Some((list, following)) = self.onward.take().filter(|_| goes_on) {
            self.following = following;
            return list;
        }
        let filter = match self.random.below(4) {
            0 => Filter::All,
            1 => Filter::Search(Name::of(data::first_word(self.random.bits()))),
            _ => Filter::Category(self.one_of(self.size.categories)),
        };
        let order = if self.random.chance(1, 2) { Order::Name } else { Order::Kcal };
        let page = 1 + self.random.below(PAGES) as u32;
        List { filter, order, from: From::Page(page), size: PAGE_SIZE }
    }

    /// One in fifty was removed, one in five is of the worker's own.
    fn category(&mut self) -> (Call, Expected) {
        let draw = self.random.below(50);
        if draw == 0
            && let Some(&id) = self.categories.removed.draw(&mut self.random)
        {
            return (Call::Category { id }, Expected::Declined(Decline::NoSuchCategory));
        }
        if draw <= 10
            && let Some((id, version)) = self.categories.any(&mut self.random)
        {
            return (Call::Category { id }, Expected::Version(version));
        }
        (Call::Category { id: self.one_of(self.size.categories) }, Expected::Done)
    }

    /// One in a hundred is not there, of which half were removed; one in ten is of the worker's own, and one in a hundred of those that it has
    /// inserted with others.
    fn food(&mut self) -> (Call, Expected) {
        let draw = self.random.below(200);
        if draw == 0
            && let Some(&id) = self.foods.removed.draw(&mut self.random)
        {
            return (Call::Food { id }, Expected::Declined(Decline::NoSuchFood));
        }
        if draw <= 1 {
            let id = ID_MAX - self.random.below(1_000) as i64;
            return (Call::Food { id }, Expected::Declined(Decline::NoSuchFood));
        }
        if draw <= 21
            && let Some((id, version)) = self.foods.any(&mut self.random)
        {
            return (Call::Food { id }, Expected::Version(version));
        }
        if draw >= 198
            && let Some(&(first, category)) = self.inserted.draw(&mut self.random)
        {
            let id = first + self.random.below(BULK_MAX as u64) as i64;
            return (Call::Food { id }, Expected::Inserted(category));
        }
        (Call::Food { id: self.one_of(self.size.foods) }, Expected::Done)
    }

    /// A loaded food with the version that was seen last, or one of the worker's own; one in fifty with a version that it had
    /// before.
    fn update_food(&mut self) -> (Call, Expected) {
        let (stale, own) = (self.random.chance(1, 50), self.random.chance(1, 5));
        let (id, version, expected) = match own.then(|| self.foods.newest()).flatten() {
            Some((id, version)) => (id, version, Expected::Done),
            None => {
                let (id, version) = self.remembered();
                (id, version, Expected::Either)
            }
        };
        if stale && version > 1 && !OwnRows::is(id) {
            let call = Call::UpdateFood { id, version: version - 1, facts: Facts::drawn(id, version) };
            return (call, Expected::Declined(Decline::StaleVersion));
        }
        (Call::UpdateFood { id, version, facts: Facts::drawn(id, version.saturating_add(1)) }, expected)
    }

    fn delete_food(&mut self) -> (Call, Expected) {
        if let Some((id, version)) = self.foods.oldest() {
            return (Call::DeleteFood { id, version }, Expected::Done);
        }
        // What a template uses is there for good.
        let template = self.one_of(self.size.templates) as u32;
        let id = self.size.items_in(template).next().map_or(1, |item| item.food);
        let version = self.version_of(id);
        (Call::DeleteFood { id, version }, Expected::InUse)
    }

    /// The loaded food that was seen last, whose version is least likely to be stale; or any in its first version.
    fn remembered(&mut self) -> (i64, i64) {
        let other = self.one_of(self.size.foods);
        let (newer, older) = self.seen.split_at(self.seen_next + 1);
        let mut seen = newer.iter().rev().chain(older.iter().rev());
        seen.find(|(id, _)| *id > 0).copied().unwrap_or((other, 1))
    }

    fn version_of(&self, id: i64) -> i64 {
        self.seen.iter().find(|(seen, _)| *seen == id).map_or(1, |(_, version)| *version)
    }

    /// Remembers the version of a loaded food, in one place only and as the latest.
    fn see(&mut self, id: i64, version: i64) {
        self.forget(id);
        self.seen_next = (self.seen_next + 1) % SEEN;
        self.seen[self.seen_next] = (id, version);
    }

    /// Forgets a version that is, or has turned out to be, old.
    fn forget(&mut self, id: i64) {
        if let Some(seen) = self.seen.iter_mut().find(|(seen, _)| *seen == id) {
            *seen = (0, 0);
        }
    }

    /// What was declined, against what is known of the call.
    fn check_declined(&mut self, call: &Call, why: Decline) -> Result<(), &'static str> {
        let planned = match self.expected {
            Expected::Declined(planned) => why == planned,
            Expected::InUse => {
                matches!(why, Decline::StaleVersion | Decline::CategoryInUse | Decline::FoodInUse)
            }
            Expected::Either => {
                matches!(why, Decline::StaleVersion | Decline::CategoryExists | Decline::FoodExists)
            }
            Expected::Done | Expected::Version(_) | Expected::Inserted(_) => false,
        };
        if !planned {
            return Err("the call was declined, and nothing in the data can be the reason");
        }
        match call {
            Call::CreateCategory { .. } => self.categories.skip(),
            Call::CreateFood { .. } | Call::InsertFoods { .. } => self.foods.skip(),
            Call::UpdateFood { id, .. } | Call::DeleteFood { id, .. } => self.forget(*id),
            _ => {}
        }
        Ok(())
    }

    /// What was done, against the same; and it is remembered.
    fn check_done(&mut self, call: &Call, reply: &Reply) -> Result<(), &'static str> {
        match (call, reply) {
            (Call::Categories, Reply::Categories { count, renamed, .. }) => {
                if *count < self.size.categories {
                    return Err("a category that was loaded is missing");
                }
                if renamed.is_some_and(|id| id <= self.size.categories.into()) {
                    return Err("a category of the list has another name than was stored");
                }
            }
            (Call::Category { id }, Reply::Category { version, digest }) => {
                if *digest != Category::drawn(*id, *version).digest() {
                    return Err("the category is not the one that was stored");
                }
                if let Expected::Version(held) = self.expected
                    && *version != held
                {
                    return Err("the category is not as its last change left it");
                }
            }
            (Call::Food { id }, Reply::Food { version, digest }) => {
                return self.check_food(*id, *version, *digest);
            }
            (Call::Template { id }, Reply::Template { digest, .. })
                if self.loaded.template(*id) != Some(digest) =>
            {
                return Err("the template is not the one that was loaded");
            }
            (Call::Foods(list), Reply::Foods(listed)) => {
                let behind = self.loaded.check(list, listed, self.following)?;
                listed.ends.map_or(Ok(()), |ends| self.check_sample(&ends.sample))?;
                self.lists = self.lists.wrapping_add(1);
                if self.lists.is_multiple_of(LISTS_APART) {
                    self.loaded.check_places(list, listed)?;
                }
                let full = listed.ends.as_ref().filter(|_| listed.count == list.size);
                self.onward = full.map(|ends| {
                    let from = From::After(ends.last.key(list.order), ends.last.id);
                    (List { from, ..*list }, behind)
                });
            }
            (Call::CreateCategory { id, .. }, _) => self.categories.created(*id, 1),
            (Call::UpdateCategory { id, .. }, Reply::Stored { version }) if OwnRows::is(*id) => {
                self.categories.hold(*id, *version);
            }
            (Call::CreateFood { food, .. }, _) => self.foods.created(food.id, 1),
            (Call::InsertFoods { category, foods }, _) => {
                let first = foods.iter().next().map_or(0, |food| food.id);
                self.foods.created(first, foods.len() as i64);
                self.inserted.push(first.cast_unsigned(), (first, *category), &mut self.random);
            }
            (Call::DeleteFood { id, .. }, Reply::Deleted) => {
                self.foods.removed.push(id.cast_unsigned(), *id, &mut self.random);
            }
            (Call::DeleteCategory { id, .. }, Reply::Deleted) => {
                self.categories.removed.push(id.cast_unsigned(), *id, &mut self.random);
            }
            (Call::UpdateFood { id, .. }, Reply::Stored { version }) => {
                if OwnRows::is(*id) {
                    self.foods.hold(*id, *version)
                } else {
                    self.see(*id, *version)
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// One food of a list, whole: all but the category of what clients have created follows from its id and version.
    fn check_sample(&self, food: &Food) -> Result<(), &'static str> {
        let is_loaded = (1..=i64::from(self.size.foods)).contains(&food.id);
        // What others than runs have stored, such as races of a verification, is left out.
        if !is_loaded && !OwnRows::is(food.id) {
            return Ok(());
        }
        if food.version < 1 {
            return Err("a food of a list has no version");
        }
        let drawn = self.size.food(food.id, food.version);
        let category = if is_loaded { drawn.category } else { food.category };
        if *food != (Food { category, ..drawn }) {
            return Err("a food of a list is not what its version makes it");
        }
        if food.version < self.version_of(food.id) {
            return Err("a food of a list is older than it was seen before");
        }
        Ok(())
    }

    fn check_food(&mut self, id: i64, version: i64, digest: Digest) -> Result<(), &'static str> {
        let mut food = self.size.food(id, version);
        if let Expected::Inserted(category) = self.expected {
            food.category = category;
        }
        if digest != food.digest() {
            return Err("the food is not what its version makes it");
        }
        if matches!(self.expected, Expected::Inserted(_)) {
            return if version == 1 { Ok(()) } else { Err("the food is not as it was inserted") };
        }
        if let Expected::Version(held) = self.expected {
            return if version == held { Ok(()) } else { Err("the food is not as its last change left it") };
        }
        if version < self.version_of(id) {
            return Err("the food is older than it was seen before");
        }
        self.see(id, version);
        Ok(())
    }
}

/// What is created is new, unless an earlier run has left it behind.
fn created(begins: bool) -> Expected {
    if begins { Expected::Either } else { Expected::Done }
}

impl model::Inputs<FoodCatalogue> for Inputs {
    fn draw(&mut self) -> Call {
        let drawn = self.mix.draw(&mut self.random);
        let kind = self.due(drawn);
        let (call, expected) = self.call(kind);
        debug_assert_eq!(FoodCatalogue::kind(&call), kind, "kinds have the numbers of the mix");
        self.expected = expected;
        self.drawn = self.drawn(&call);
        self.counted = self.counts.as_ref().map(|counts| counts.draw(&call)).unwrap_or_default();
        call
    }

    fn check(&mut self, call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        let of_version = self.check_version(call, &outcome.reply);
        let of_counts = self
            .counts
            .as_ref()
            .map_or(Ok(()), |counts| counts.check(&self.counted, &self.loaded, call, &outcome.reply));
        match (&outcome.reply, self.expected) {
            (Reply::Declined(why), _) => self.check_declined(call, *why)?,
            (_, Expected::Declined(_) | Expected::InUse) => {
                return Err("the call was not declined, and the data asks for it");
            }
            (reply, _) => self.check_done(call, reply)?,
        }
        of_version.and(of_counts)
    }
}

#[cfg(test)]
mod tests;
