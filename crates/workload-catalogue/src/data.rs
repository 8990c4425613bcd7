//! The initial rows: a pure function of what they are about. Nothing in them depends on a seed, so that whoever loads a
//! catalogue of some scale has the same rows, and every answer about them is known beforehand.

use crate::answer::{Item, TemplateAnswer};
use crate::{Category, Facts, Food, Name, NewFood, Outcome};
use model::Wanted;
use model::random::mix;
use model::rows::{Dataset, RowSink, Table};
use serde::{Deserialize, Serialize};

/// Categories, at any scale.
pub const CATEGORIES: u32 = 10;
/// Foods at scale 1.
pub const FOODS: u32 = 1_000;
/// Templates at scale 1.
pub const TEMPLATES: u32 = 60;
/// Days of a template.
pub const DAYS: u32 = 30;
/// Meals of a day.
pub const MEALS: u32 = 4;
/// The most items of a meal; there is one at least.
pub const ITEMS_MAX: u32 = 5;
/// The largest scale: 10 million foods.
pub const SCALE_MAX: u32 = 10_000;

/// How much data there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
// How many there are of each: days of a template, meals of a day.
pub struct Cardinality {
    pub scale: u32,
    pub categories: u32,
    pub foods: u32,
    pub templates: u32,
    pub days: u32,
    pub meals: u32,
}

impl Cardinality {
    /// Thousands of foods.
    pub const fn standard(scale: u32) -> Cardinality {
        Cardinality {
            scale,
            categories: CATEGORIES,
            foods: FOODS * scale,
            templates: TEMPLATES * scale,
            days: DAYS,
            meals: MEALS,
        }
    }

    /// Loads in milliseconds, for conformance and tests: few foods, so that calls meet, and more than a page of them.
    pub const fn tiny() -> Cardinality {
        Cardinality { scale: 1, categories: 3, foods: 60, templates: 4, days: 3, meals: 2 }
    }

    /// Several times as much, with ids that [`Cardinality::tiny`] has not.
    pub const fn larger() -> Cardinality {
        Cardinality { scale: 1, categories: 11, foods: 700, templates: 9, days: 4, meals: 3 }
    }

    /// Items of all templates.
    pub fn items(&self) -> u64 {
        (1..=self.templates).map(|template| self.items_of_template(template)).sum()
    }

    fn items_of_template(&self, template: u32) -> u64 {
        self.meals_of(template).map(|place| u64::from(self.items_of(place))).sum()
    }

    /// The meals of a template, in order.
    fn meals_of(&self, template: u32) -> impl Iterator<Item = Place> {
        let Cardinality { days, meals, .. } = *self;
        (1..=days).flat_map(move |day| (1..=meals).map(move |meal| Place { template, day, meal }))
    }

    fn items_of(&self, place: Place) -> u32 {
        1 + (place.bits(0) % u64::from(ITEMS_MAX)) as u32
    }

    /// An item of a meal, by its number from 1.
    pub fn item(&self, place: Place, number: u32) -> Item {
        let bits = place.bits(number);
        let food = 1 + bits % u64::from(self.foods);
        let facts = Facts::drawn(food as i64, 1);
        let grams = 10 + (mix(bits) % 491) as u32;
        Item { food: food as i64, name: facts.name, kcal: facts.kcal, grams }
    }

    /// A food as it was loaded, by its id.
    pub fn food(&self, id: i64, version: i64) -> Food {
        Food {
            id,
            category: (id - 1) % i64::from(self.categories) + 1,
            facts: Facts::drawn(id, version),
            version,
        }
    }

    /// The items of a template, in order.
    pub(crate) fn items_in(&self, template: u32) -> impl Iterator<Item = Item> {
        let size = *self;
        self.meals_of(template)
            .flat_map(move |place| (1..=size.items_of(place)).map(move |number| size.item(place, number)))
    }

    /// The answer to a question for a template, as long as its foods are as they were loaded but for their prices.
    pub fn template(&self, id: u32, wanted: Wanted) -> Outcome {
        self.template_of(id, wanted, |item| item)
    }

    /// The same, of foods as they are now.
    pub(crate) fn template_of(&self, id: u32, wanted: Wanted, now: impl Fn(Item) -> Item) -> Outcome {
        let mut answer = TemplateAnswer::new(id.into(), template_name(id).as_str(), wanted);
        for place in self.meals_of(id) {
            answer.day(place.day.into());
            answer.meal(place.meal.into(), meal_name(place.meal).as_str());
            (1..=self.items_of(place)).for_each(|number| answer.entry(&now(self.item(place, number))));
        }
        answer.finish()
    }
}

/// A meal of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
// Numbers from 1: the template, its day, the day's meal.
pub struct Place {
    pub template: u32,
    pub day: u32,
    pub meal: u32,
}

impl Place {
    fn bits(self, number: u32) -> u64 {
        let Place { template, day, meal } = self;
        mix(u64::from(template) << 32 | u64::from(day) << 16 | u64::from(meal) << 8 | u64::from(number))
    }
}

pub(crate) const FIRST_WORDS: [&str; 16] = [
    "baked", "boiled", "brown", "creamy", "dried", "fresh", "fried", "green", "grilled", "light", "organic",
    "red", "roasted", "smoked", "white", "whole",
];
const SECOND_WORDS: [&str; 24] = [
    "apple", "barley", "bean", "beef", "bread", "carrot", "cheese", "chicken", "cod", "egg", "lentil",
    "milk", "mushroom", "oat", "onion", "pea", "pepper", "potato", "rice", "salmon", "spinach", "tofu",
    "tomato", "yoghurt",
];

/// The word that the names of some foods begin with: a search for it finds one in sixteen.
pub(crate) fn first_word(bits: u64) -> &'static str {
    FIRST_WORDS[(bits % FIRST_WORDS.len() as u64) as usize]
}

/// Which of the words the name of a food begins with, by the bits that all of it is drawn from.
pub(crate) const fn first_word_at(bits: u64) -> usize {
    ((bits >> 36) % FIRST_WORDS.len() as u64) as usize
}

impl Facts {
    /// What our own calls and loads make of a food: of its price a function of its version as well, so that the stored data
    /// tells whether a write was lost. An audit knows the same function: `100 + (7 id + 13 version) mod 900`.
    pub fn drawn(id: i64, version: i64) -> Facts {
        let bits = mix(id as u64);
        let part = |shift: u32, bound: u64| ((bits >> shift) % bound) as u32;
        let (protein, fat, carbs) = (part(0, 400), part(12, 300), part(24, 300));
        let mut name = Name::EMPTY;
        name.push(FIRST_WORDS[first_word_at(bits)]);
        name.push(" ");
        name.push(SECOND_WORDS[part(40, SECOND_WORDS.len() as u64) as usize]);
        name.push(" ");
        name.push(itoa::Buffer::new().format(id % 1_000));
        Facts {
            name,
            kcal: (protein * 4 + fat * 9 + carbs * 4) / 10,
            protein,
            fat,
            carbs,
            fibre: (id % 5 != 0).then_some(part(52, 100)),
            price: 100 + ((id % 900 * 7 + version % 900 * 13) % 900) as u32,
        }
    }
}

impl NewFood {
    /// A food of our own making.
    pub fn drawn(id: i64) -> NewFood {
        NewFood { id, facts: Facts::drawn(id, 1) }
    }
}

impl Category {
    /// A category of our own making.
    pub fn drawn(id: i64, version: i64) -> Category {
        Category { id, name: category_name(id), version }
    }
}

/// What our own calls and loads call a category.
pub(crate) fn category_name(id: i64) -> Name {
    numbered("category ", id)
}

fn template_name(id: u32) -> Name {
    numbered("template ", id.into())
}

fn meal_name(meal: u32) -> Name {
    match meal {
        1 => Name::of("breakfast"),
        2 => Name::of("lunch"),
        3 => Name::of("dinner"),
        _ => Name::of("snack"),
    }
}

fn numbered(what: &str, id: i64) -> Name {
    let mut name = Name::of(what);
    name.push(itoa::Buffer::new().format(id));
    name
}

const FOODS_A_CHUNK: u32 = 10_000;
const TEMPLATES_A_CHUNK: u32 = 20;

/// All initial rows at some size.
#[derive(Debug, Clone)]
pub struct Data {
    size: Cardinality,
    tables: Vec<Table>,
}

impl Data {
    /// The data of a size.
    pub fn new(size: Cardinality) -> Data {
        let templates = u64::from(size.templates);
        let (days, meals) = (u64::from(size.days), u64::from(size.meals));
        let of_templates = size.templates.div_ceil(TEMPLATES_A_CHUNK);
        let tables = vec![
            Table::new("category", &["id", "name", "version"] as &[_], 1, size.categories.into()),
            Table::new(
                "food",
                &["id", "category", "name", "kcal", "protein", "fat", "carbs", "fibre", "price", "version"],
                size.foods.div_ceil(FOODS_A_CHUNK),
                size.foods.into(),
            ),
            Table::new("template", &["id", "name"], of_templates, templates),
            Table::new("template_day", &["template", "day"], of_templates, templates * days),
            Table::new(
                "template_meal",
                &["template", "day", "meal", "name"],
                of_templates,
                templates * days * meals,
            ),
            Table::new(
                "template_item",
                &["template", "day", "meal", "item", "food", "grams"],
                of_templates,
                size.items(),
            ),
        ];
        Data { size, tables }
    }

    pub const fn size(&self) -> Cardinality {
        self.size
    }
}

impl Dataset for Data {
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn fill(&self, table: usize, chunk: u32, sink: &mut dyn RowSink) {
        let size = self.size;
        let templates = || chunk_of(chunk, TEMPLATES_A_CHUNK, size.templates);
        match table {
            0 => (1..=size.categories).for_each(|id| give_category(sink, &Category::drawn(id.into(), 1))),
            1 => chunk_of(chunk, FOODS_A_CHUNK, size.foods)
                .for_each(|id| give_food(sink, &size.food(id.into(), 1))),
            2 => templates().for_each(|id| {
                sink.int(id.into());
                sink.text(template_name(id).as_str());
                sink.end();
            }),
            3 => templates()
                .flat_map(|id| (1..=size.days).map(move |day| [id, day]))
                .for_each(|row| give(sink, &row)),
            4 => templates().flat_map(|id| size.meals_of(id)).for_each(|Place { template, day, meal }| {
                [template, day, meal].iter().for_each(|&number| sink.int(number.into()));
                sink.text(meal_name(meal).as_str());
                sink.end();
            }),
            5 => templates().flat_map(|id| size.meals_of(id)).for_each(|place| {
                for number in 1..=size.items_of(place) {
                    let Item { food, grams, .. } = size.item(place, number);
                    let Place { template, day, meal } = place;
                    [template, day, meal, number].iter().for_each(|&number| sink.int(number.into()));
                    sink.int(food);
                    sink.int(grams.into());
                    sink.end();
                }
            }),
            _ => {}
        }
    }
}

fn chunk_of(chunk: u32, each: u32, all: u32) -> std::ops::RangeInclusive<u32> {
    chunk * each + 1..=((chunk + 1) * each).min(all)
}

fn give(sink: &mut dyn RowSink, numbers: &[u32]) {
    numbers.iter().for_each(|&number| sink.int(number.into()));
    sink.end();
}

fn give_category(sink: &mut dyn RowSink, category: &Category) {
    sink.int(category.id);
    sink.text(category.name.as_str());
    sink.int(category.version);
    sink.end();
}

fn give_food(sink: &mut dyn RowSink, food: &Food) {
    let Food { id, category, facts, version } = food;
    sink.int(*id);
    sink.int(*category);
    sink.text(facts.name.as_str());
    [facts.kcal, facts.protein, facts.fat, facts.carbs].iter().for_each(|&number| sink.int(number.into()));
    match facts.fibre {
        Some(fibre) => sink.int(fibre.into()),
        None => sink.null(),
    }
    sink.int(facts.price.into());
    sink.int(*version);
    sink.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows as text, null as a dash.
    #[derive(Default)]
    struct Rows {
        rows: Vec<String>,
        row: Vec<String>,
    }

    impl RowSink for Rows {
        fn int(&mut self, value: i64) {
            self.row.push(value.to_string());
        }
        fn text(&mut self, value: &str) {
            self.row.push(value.to_owned());
        }
        fn null(&mut self) {
            self.row.push("-".into());
        }
        fn end(&mut self) {
            self.rows.push(self.row.join(" "));
            self.row.clear();
        }
    }

    fn rows(data: &Data, table: usize) -> Vec<String> {
        let mut sink = Rows::default();
        (0..data.tables()[table].chunks).for_each(|chunk| data.fill(table, chunk, &mut sink));
        assert_eq!(sink.rows.len() as u64, data.tables()[table].rows, "{}", data.tables()[table].name);
        sink.rows
    }

    /// Whoever loads a catalogue has these rows, in any version of ours.
    #[test]
    fn rows_are_frozen() {
        let data = Data::new(Cardinality::standard(2));
        assert_eq!(rows(&data, 0)[9], "10 category 10 1");
        let foods = rows(&data, 1);
        assert_eq!([&*foods[0], &foods[4], &foods[1_999]], FOODS);
        assert_eq!(rows(&data, 2)[119], "120 template 120");
        assert_eq!((rows(&data, 3).len(), rows(&data, 4).len()), (3_600, 14_400));
        assert_eq!(rows(&data, 4)[3], "1 1 4 snack");
        let items = rows(&data, 5);
        assert_eq!((items.len(), &*items[0]), ITEMS);
    }
    const FOODS: [&str; 3] = [
        "1 1 boiled onion 1 497 389 280 224 85 120 1",
        "5 5 creamy potato 5 396 332 192 226 - 148 1",
        "2000 10 dried tomato 0 366 302 231 95 - 613 1",
    ];
    const ITEMS: (usize, &str) = (43_266, "1 1 1 1 1221 257");

    #[test]
    fn every_food_that_is_made_is_valid() {
        for id in (1..20_000).chain(crate::ID_MAX - 1_000..=crate::ID_MAX) {
            let facts = Facts::drawn(id, id % 7 + 1);
            assert_eq!(facts.validate(), Ok(()), "{facts:?}");
            assert!(Name::new(facts.name.as_str()).is_ok(), "{facts:?}");
        }
        assert_eq!(Category::drawn(crate::ID_MAX, 1).name.to_string(), "category 9007199254740991");
    }

    #[test]
    fn the_price_is_the_one_that_the_audit_knows() {
        for (id, version) in [(1, 1), (899, 900), (900, 901), (1 << 52, 1_000_000)] {
            let price = 100 + ((id % 900) * 7 + (version % 900) * 13) % 900;
            assert_eq!(i64::from(Facts::drawn(id, version).price), price);
        }
    }
}
