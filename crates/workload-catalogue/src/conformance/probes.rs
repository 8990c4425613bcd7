//! Random calls: what the inputs of several clients draw, and between them calls that pry where inputs seldom go.

use super::ConformancePlan;
use crate::call::{Filter, From, Key, List, Order};
use crate::{Bulk, Call, Cardinality, Facts, Inputs, Name, NewFood, data, input};
use model::Inputs as _;
use model::random::Random;
use std::sync::Arc;

/// The path of the random stream, apart from those of runs.
const CONFORMANCE: u64 = 410;
/// Clients whose inputs are interleaved.
const CLIENTS: u32 = 8;
/// Ids that pry: few, so that calls meet.
const PRIED: u64 = 12;

/// An endless stream of calls.
pub(super) struct Probes {
    size: Cardinality,
    clients: Vec<Inputs>,
    random: Random,
}

impl Probes {
    pub(super) fn new(plan: &ConformancePlan) -> Probes {
        let &ConformancePlan { size, seed, .. } = plan;
        let loaded = crate::Loaded::of(&size);
        let client = |worker| Inputs::new(size, Arc::clone(&loaded), input::standard_mix(), seed, 0, worker);
        Probes {
            size,
            clients: (0..CLIENTS).map(client).collect(),
            random: Random::stream(seed, &[CONFORMANCE]),
        }
    }

    pub(super) fn draw(&mut self) -> Call {
        let client = self.random.below(u64::from(CLIENTS)) as usize;
        let drawn = self.clients[client].draw();
        if self.random.chance(1, 2) { drawn } else { self.pry() }
    }

    /// A row that may be there or not, in a version that it may have or not.
    fn pry(&mut self) -> Call {
        let (id, version) = (self.id(), self.random.range(1, 4));
        let category = self.category();
        let facts = Facts::drawn(self.id(), self.random.range(1, 9));
        match self.random.below(12) {
            0 => Call::Category { id: category },
            1 => Call::CreateCategory { id: category, name: data::category_name(id) },
            2 => Call::UpdateCategory { id: category, version, name: data::category_name(id) },
            3 => Call::DeleteCategory { id: category, version },
            4 => Call::CreateFood { category, food: NewFood { id, facts } },
            5 | 6 => Call::UpdateFood { id, version, facts },
            7 => Call::DeleteFood { id, version },
            8 => {
                let ids = [id, id + 1, id + 2];
                let foods = ids.map(|id| NewFood { id, facts });
                Call::InsertFoods { category, foods: Bulk::Given(foods.into()) }
            }
            9 => Call::Template { id: self.random.range(1, i64::from(self.size.templates) + 2) },
            10 => Call::Foods(self.list(&facts)),
            _ => Call::Food { id },
        }
    }

    fn id(&mut self) -> i64 {
        let last = i64::from(self.size.foods);
        last - PRIED as i64 / 2 + self.random.below(PRIED) as i64
    }

    fn category(&mut self) -> i64 {
        self.random.range(1, i64::from(self.size.categories) + 3)
    }

    fn list(&mut self, facts: &Facts) -> List {
        let filter = match self.random.below(3) {
            0 => Filter::All,
            1 => Filter::Category(self.category()),
            _ => Filter::Search(Name::of(data::first_word(self.random.bits()))),
        };
        let order = if self.random.chance(1, 2) { Order::Name } else { Order::Kcal };
        let from = match (self.random.chance(1, 2), order) {
            (true, _) => From::Page(self.random.range(1, 4) as u32),
            (false, Order::Name) => From::After(Key::Name(facts.name), self.id()),
            (false, Order::Kcal) => From::After(Key::Kcal(facts.kcal), self.id()),
        };
        List { filter, order, from, size: self.random.range(1, 30) as u32 }
    }
}
