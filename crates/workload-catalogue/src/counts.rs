//! How many rows there are: the totals of lists are what creations and removals of all clients have made of them.

use crate::data::{FIRST_WORDS, first_word_at};
use crate::outcome::Reply;
use crate::{BULK_MAX, Bulk, Call, Cardinality, Filter, Loaded};
use model::random::mix;
use workload::{Drawn, Registers};

/// The place of the number of categories, and of that of all foods; behind them are those of the foods of each category, and of those whose
/// name begins with each of the first words.
const CATEGORIES: u64 = 0;
const FOODS: u64 = 1;
const OF_CATEGORIES: u64 = 2;

/// Rows beyond those that were loaded, shared by all workers.
#[derive(Debug)]
pub struct RowCounts {
    size: Cardinality,
    registers: Registers,
}

/// What was known of the numbers that a call changes or shows, when it was drawn: of a bulk insert, at most that of all foods, of their
/// category and of each first word.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted {
    drawn: [Drawn; 2 + FIRST_WORDS.len()],
    count: usize,
}

impl RowCounts {
    /// Of data of that size; `fresh` if it is as it was loaded, and `lossy` where something else changes it too.
    pub fn new(size: Cardinality, fresh: bool, lossy: bool) -> RowCounts {
        let rows = OF_CATEGORIES + u64::from(size.categories) + FIRST_WORDS.len() as u64;
        let registers = if lossy { Registers::none() } else { Registers::new(rows, fresh.then_some(0)) };
        RowCounts { size, registers }
    }

    fn of_category(&self, id: i64) -> Option<u64> {
        (1..=i64::from(self.size.categories)).contains(&id).then(|| OF_CATEGORIES + id as u64 - 1)
    }

    fn of_word(&self, at: usize) -> u64 {
        OF_CATEGORIES + u64::from(self.size.categories) + at as u64
    }

    fn of_filter(&self, filter: &Filter) -> Option<u64> {
        match filter {
            Filter::All => Some(FOODS),
            Filter::Category(id) => self.of_category(*id),
            Filter::Search(text) => {
                let at = FIRST_WORDS.iter().position(|word| *word == text.as_str())?;
                Some(self.of_word(at))
            }
        }
    }

    /// A call was drawn.
    pub(crate) fn draw(&self, call: &Call) -> Counted {
        let mut counted = Counted::default();
        let mut draw = |row: Option<u64>, delta: i64| {
            if let Some(row) = row {
                counted.drawn[counted.count] = self.registers.draw(row, delta);
                counted.count += 1;
            }
        };
        let word = |id: i64| first_word_at(mix(id as u64));
        match call {
            Call::Categories => draw(Some(CATEGORIES), 0),
            Call::CreateCategory { .. } => draw(Some(CATEGORIES), 1),
            Call::DeleteCategory { .. } => draw(Some(CATEGORIES), -1),
            Call::Foods(list) => draw(self.of_filter(&list.filter), 0),
            Call::CreateFood { category, food } => {
                draw(Some(FOODS), 1);
                draw(self.of_category(*category), 1);
                draw(Some(self.of_word(word(food.id))), 1);
            }
            Call::DeleteFood { id, .. } => {
                draw(Some(FOODS), -1);
                draw(self.of_category(self.size.food(*id, 1).category), -1);
                draw(Some(self.of_word(word(*id))), -1);
            }
            Call::InsertFoods { category, foods } => {
                let mut words = [0; FIRST_WORDS.len()];
                match foods {
                    Bulk::Drawn { first } => (0..BULK_MAX as i64).for_each(|at| words[word(first + at)] += 1),
                    Bulk::Given(foods) => foods.iter().for_each(|food| words[word(food.id)] += 1),
                }
                draw(Some(FOODS), foods.len() as i64);
                draw(self.of_category(*category), foods.len() as i64);
                for (at, count) in words.into_iter().enumerate().filter(|(_, count)| *count > 0) {
                    draw(Some(self.of_word(at)), count);
                }
            }
            Call::Category { .. }
            | Call::UpdateCategory { .. }
            | Call::Food { .. }
            | Call::UpdateFood { .. }
            | Call::Template { .. } => {}
        }
        counted
    }

    /// A call was answered: what it shows, against what calls of all workers can have made of it.
    pub(crate) fn check(
        &self,
        counted: &Counted,
        loaded: &Loaded,
        call: &Call,
        reply: &Reply,
    ) -> Result<(), &'static str> {
        let drawn = &counted.drawn[..counted.count];
        let shown = match (call, reply) {
            (_, Reply::Declined(_)) => {
                drawn.iter().for_each(|drawn| {
                    self.registers.declined(*drawn, None);
                });
                return Ok(());
            }
            (Call::Categories, Reply::Categories { count, .. }) => {
                Some(i64::from(*count) - i64::from(self.size.categories))
            }
            (Call::Foods(list), Reply::Foods(listed)) => {
                let total = listed.total.and_then(|total| i64::try_from(total).ok());
                total.map(|total| total - loaded.foods(&list.filter) as i64)
            }
            _ => None,
        };
        let wrong = drawn.iter().filter(|drawn| !self.registers.done(**drawn, shown)).count();
        if wrong == 0 { Ok(()) } else { Err("there are other rows than calls have created and removed") }
    }
}
