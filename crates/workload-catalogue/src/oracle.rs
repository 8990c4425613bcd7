//! The truth in memory: one client at a time, no storage, no concurrency. What any session must answer, body and all.

use crate::call::{Filter, From, Key, List, Order};
use crate::outcome::{Decline, Reply};
use crate::{Bulk, Call, Cardinality, Category, Facts, Food, NewFood, Outcome, answer};
use model::Wanted;
use std::collections::BTreeMap;

/// A catalogue in memory.
#[derive(Debug, Clone)]
pub struct Oracle {
    size: Cardinality,
    pub(crate) categories: BTreeMap<i64, Category>,
    pub(crate) foods: BTreeMap<i64, Food>,
}

impl Oracle {
    /// Freshly loaded.
    pub fn new(size: Cardinality) -> Oracle {
        let categories = (1..=i64::from(size.categories)).map(|id| (id, Category::drawn(id, 1))).collect();
        let foods = (1..=i64::from(size.foods)).map(|id| (id, size.food(id, 1))).collect();
        Oracle { size, categories, foods }
    }

    /// Answers a call, and keeps what it changes.
    pub fn answer(&mut self, call: &Call) -> Outcome {
        self.outcome(call).unwrap_or_else(Outcome::declined)
    }

    fn outcome(&mut self, call: &Call) -> Result<Outcome, Decline> {
        Ok(match call {
            Call::Categories => answer::categories(self.categories.values(), Wanted::Both),
            Call::Category { id } => answer::category(self.category(*id)?, Wanted::Both),
            Call::CreateCategory { id, name } => {
                if self.categories.contains_key(id) {
                    return Err(Decline::CategoryExists);
                }
                self.categories.insert(*id, Category { id: *id, name: *name, version: 1 });
                Outcome::of(Reply::Stored { version: 1 })
            }
            Call::UpdateCategory { id, version, name } => {
                let version = is(self.category(*id)?.version, *version)? + 1;
                self.categories.insert(*id, Category { id: *id, name: *name, version });
                Outcome::of(Reply::Stored { version })
            }
            Call::DeleteCategory { id, version } => {
                is(self.category(*id)?.version, *version)?;
                if self.foods.values().any(|food| food.category == *id) {
                    return Err(Decline::CategoryInUse);
                }
                self.categories.remove(id);
                Outcome::of(Reply::Deleted)
            }
            Call::Foods(list) => self.list(list),
            Call::Food { id } => answer::food(self.food(*id)?, Wanted::Both),
            Call::CreateFood { category, food } => {
                self.insert(*category, std::iter::once(*food))?;
                Outcome::of(Reply::Stored { version: 1 })
            }
            Call::UpdateFood { id, version, facts } => self.update_food(*id, *version, facts)?,
            Call::DeleteFood { id, version } => {
                is(self.food(*id)?.version, *version)?;
                if self.uses(*id) {
                    return Err(Decline::FoodInUse);
                }
                self.foods.remove(id);
                Outcome::of(Reply::Deleted)
            }
            Call::InsertFoods { category, foods } => self.insert_foods(*category, foods)?,
            Call::Template { id } => {
                let known = u32::try_from(*id).ok().filter(|id| (1..=self.size.templates).contains(id));
                self.template(known.ok_or(Decline::NoSuchTemplate)?)
            }
        })
    }

    fn category(&self, id: i64) -> Result<&Category, Decline> {
        self.categories.get(&id).ok_or(Decline::NoSuchCategory)
    }

    fn food(&self, id: i64) -> Result<&Food, Decline> {
        self.foods.get(&id).ok_or(Decline::NoSuchFood)
    }

    fn update_food(&mut self, id: i64, version: i64, facts: &Facts) -> Result<Outcome, Decline> {
        let food = self.food(id)?;
        let version = is(food.version, version)? + 1;
        self.foods.insert(id, Food { facts: *facts, version, ..*food });
        Ok(Outcome::of(Reply::Stored { version }))
    }

    fn insert_foods(&mut self, category: i64, foods: &Bulk) -> Result<Outcome, Decline> {
        self.insert(category, foods.iter())?;
        Ok(Outcome::of(Reply::Inserted { count: foods.len() as u32 }))
    }

    /// All of them or none.
    fn insert(&mut self, category: i64, new: impl Iterator<Item = NewFood>) -> Result<(), Decline> {
        if !self.categories.contains_key(&category) {
            return Err(Decline::UnknownCategory);
        }
        let new: Vec<NewFood> = new.collect();
        if new.iter().any(|food| self.foods.contains_key(&food.id)) {
            return Err(Decline::FoodExists);
        }
        let stored = |NewFood { id, facts }| (id, Food { id, category, facts, version: 1 });
        self.foods.extend(new.into_iter().map(stored));
        Ok(())
    }

    fn list(&self, list: &List) -> Outcome {
        let lets_through = |food: &&Food| match &list.filter {
            Filter::All => true,
            Filter::Category(category) => food.category == *category,
            Filter::Search(begin) => food.facts.name.as_str().starts_with(begin.as_str()),
        };
        let key = |food: &Food| match list.order {
            Order::Name => Key::Name(food.facts.name),
            Order::Kcal => Key::Kcal(food.facts.kcal),
        };
        let mut foods: Vec<&Food> = self.foods.values().filter(lets_through).collect();
        foods.sort_unstable_by_key(|food| (key(food), food.id));
        let size = list.size as usize;
        match list.from {
            From::Page(page) => {
                let total = foods.len() as u64;
                answer::foods(
                    foods.into_iter().skip((page as usize - 1) * size).take(size),
                    Some(total),
                    Wanted::Both,
                )
            }
            From::After(after, id) => {
                let behind = foods.into_iter().filter(|food| (key(food), food.id) > (after, id));
                answer::foods(behind.take(size), None, Wanted::Both)
            }
        }
    }

    fn uses(&self, food: i64) -> bool {
        food <= i64::from(self.size.foods)
            && (1..=self.size.templates).any(|id| self.size.items_in(id).any(|item| item.food == food))
    }

    /// Foods of templates are never removed, but they change: the answer is made of them as they are.
    fn template(&self, id: u32) -> Outcome {
        self.size.template_of(id, Wanted::Both, |item| {
            let Facts { name, kcal, .. } = self.foods[&item.food].facts;
            answer::Item { name, kcal, ..item }
        })
    }
}

/// The version, if it is the one that is asked for.
fn is(version: i64, asked: i64) -> Result<i64, Decline> {
    if version == asked { Ok(version) } else { Err(Decline::StaleVersion) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;

    fn reply(oracle: &mut Oracle, call: &Call) -> Reply {
        oracle.answer(call).reply
    }

    #[test]
    fn every_call_has_its_answer_and_every_rule_its_own_refusal() {
        let mut oracle = Oracle::new(Cardinality::tiny());
        let declined = |why| Reply::Declined(why);
        let name = Name::new("new").unwrap();
        let food = |id| Call::CreateFood { category: 1, food: NewFood::drawn(id) };
        let mut check = |call: Call, expected| assert_eq!(reply(&mut oracle, &call), expected, "{call:?}");
        check(Call::Category { id: 9 }, declined(Decline::NoSuchCategory));
        check(Call::CreateCategory { id: 3, name }, declined(Decline::CategoryExists));
        check(Call::CreateCategory { id: 9, name }, Reply::Stored { version: 1 });
        check(Call::UpdateCategory { id: 9, version: 2, name }, declined(Decline::StaleVersion));
        check(Call::UpdateCategory { id: 9, version: 1, name }, Reply::Stored { version: 2 });
        check(Call::DeleteCategory { id: 1, version: 1 }, declined(Decline::CategoryInUse));
        check(Call::DeleteCategory { id: 9, version: 1 }, declined(Decline::StaleVersion));
        check(Call::DeleteCategory { id: 9, version: 2 }, Reply::Deleted);
        check(Call::DeleteCategory { id: 9, version: 2 }, declined(Decline::NoSuchCategory));
        check(food(60), declined(Decline::FoodExists));
        check(food(61), Reply::Stored { version: 1 });
        let facts = Facts::drawn(61, 2);
        check(Call::UpdateFood { id: 61, version: 1, facts }, Reply::Stored { version: 2 });
        check(Call::UpdateFood { id: 61, version: 1, facts }, declined(Decline::StaleVersion));
        check(Call::DeleteFood { id: 61, version: 2 }, Reply::Deleted);
        check(Call::Food { id: 61 }, declined(Decline::NoSuchFood));
        let bulk = |category, first| Call::InsertFoods { category, foods: Bulk::Drawn { first } };
        check(bulk(9, 100), declined(Decline::UnknownCategory));
        check(bulk(1, 100), Reply::Inserted { count: 50 });
        check(bulk(1, 51), declined(Decline::FoodExists));
        check(Call::Food { id: 90 }, declined(Decline::NoSuchFood));
        check(Call::Template { id: 5 }, declined(Decline::NoSuchTemplate));
        check(Call::Template { id: 0 }, declined(Decline::NoSuchTemplate));
    }

    #[test]
    fn a_template_shows_foods_as_they_are() {
        let size = Cardinality::tiny();
        let mut oracle = Oracle::new(size);
        let before = oracle.answer(&Call::Template { id: 1 });
        assert_eq!(before, size.template(1, Wanted::Both));
        let id = size.items_in(1).next().unwrap().food;
        assert_eq!(
            reply(&mut oracle, &Call::DeleteFood { id, version: 1 }),
            Reply::Declined(Decline::FoodInUse)
        );
        let facts = Facts { name: Name::new("renamed").unwrap(), ..Facts::drawn(id, 2) };
        oracle.answer(&Call::UpdateFood { id, version: 1, facts });
        let after = oracle.answer(&Call::Template { id: 1 });
        assert!(after != before && String::from_utf8(after.body).unwrap().contains("renamed"));
    }

    #[test]
    fn a_list_goes_on_where_it_ended_and_leaves_nothing_out() {
        let mut oracle = Oracle::new(Cardinality::tiny());
        for order in [Order::Name, Order::Kcal] {
            let mut list = List { filter: Filter::Category(2), order, from: From::Page(1), size: 7 };
            let (mut seen, mut total) = (0, None);
            loop {
                let Reply::Foods(listed) = reply(&mut oracle, &Call::Foods(list)) else { panic!() };
                seen += listed.count;
                total = total.or(listed.total);
                let Some(ends) = listed.ends else { break };
                assert!(ends.category == Some(2) && listed.count <= 7);
                list.from = From::After(ends.last.key(order), ends.last.id);
            }
            assert_eq!((u64::from(seen), total), (20, Some(20)));
        }
    }
}
