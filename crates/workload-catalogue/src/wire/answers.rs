//! Answers, read as a stream: of a list or a template nothing is kept but counts and a digest.

use crate::answer::{CategorySummary, Item, Summary, day_digest, meal_digest, template_digest};
use crate::digest::Fold;
use crate::outcome::{Decline, Listed, Reply};
use crate::{Call, Category, Facts, Food, Name, Outcome};
use contract::Answer;
use contract::json::PROBLEM;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Reads the outcome in the answer to a call.
pub(super) fn decode(call: &Call, answer: &Answer<'_>) -> Result<Outcome, String> {
    let wanted = match call {
        Call::CreateCategory { .. } | Call::CreateFood { .. } | Call::InsertFoods { .. } => 201,
        Call::DeleteCategory { .. } | Call::DeleteFood { .. } => 204,
        _ => 200,
    };
    if answer.status != wanted {
        let why = declined(answer)
            .ok_or_else(|| format!("the status is {}, where the contract has {wanted}", answer.status))?;
        return Ok(Outcome::declined(why));
    }
    Ok(Outcome::of(match call {
        Call::Categories => {
            let Categories { categories } = read(answer)?;
            categories.0.reply()
        }
        Call::Category { .. } => {
            let category: Category = read(answer)?;
            Reply::Category { version: category.version, digest: category.digest() }
        }
        Call::Foods(_) => {
            let Foods { total, foods } = read(answer)?;
            Reply::Foods(Listed { total, ..foods.0 })
        }
        Call::Food { .. } => {
            let food = Food::from(read::<FoodFields>(answer)?);
            Reply::Food { version: food.version, digest: food.digest() }
        }
        Call::Template { .. } => read::<Template>(answer)?.reply(),
        Call::CreateCategory { .. }
        | Call::UpdateCategory { .. }
        | Call::CreateFood { .. }
        | Call::UpdateFood { .. } => Reply::Stored { version: read::<VersionBody>(answer)?.version },
        Call::InsertFoods { .. } => Reply::Inserted { count: read::<Inserted>(answer)?.inserted },
        Call::DeleteCategory { .. } | Call::DeleteFood { .. } if answer.body.is_empty() => Reply::Deleted,
        Call::DeleteCategory { .. } | Call::DeleteFood { .. } => {
            return Err("an answer of 204 has a body".into());
        }
    }))
}

/// Why a call was declined, if the answer says so by a problem document of the workload's, with the status of its type.
pub(super) fn declined(answer: &Answer<'_>) -> Option<Decline> {
    if !answer.is_problem || !matches!(answer.status, 404 | 409 | 412 | 422) {
        return None;
    }
    #[derive(Deserialize)]
    struct Problem<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    let problem: Problem<'_> = serde_json::from_slice(answer.body).ok()?;
    let name = problem.kind.strip_prefix(PROBLEM)?;
    Decline::ALL.into_iter().find(|why| why.name() == name && why.status() == answer.status)
}

fn read<'a, T: Deserialize<'a>>(answer: &Answer<'a>) -> Result<T, String> {
    serde_json::from_slice(answer.body).map_err(|error| error.to_string())
}

#[derive(Deserialize)]
struct VersionBody {
    version: i64,
}

#[derive(Deserialize)]
struct Inserted {
    inserted: u32,
}

#[derive(Deserialize)]
struct Categories {
    categories: CategoryList,
}

#[derive(Deserialize)]
struct Foods {
    #[serde(default)]
    total: Option<u64>,
    foods: FoodList,
}

/// A food, whose fields must all be there: the fibre as null where it is not known.
#[derive(Deserialize)]
struct FoodFields {
    id: i64,
    category: i64,
    name: Name,
    kcal: u32,
    protein: u32,
    fat: u32,
    carbs: u32,
    #[serde(deserialize_with = "Option::deserialize")]
    fibre: Option<u32>,
    price: u32,
    version: i64,
}

impl std::convert::From<FoodFields> for Food {
    fn from(fields: FoodFields) -> Food {
        let FoodFields { id, category, name, kcal, protein, fat, carbs, fibre, price, version } = fields;
        Food { id, category, facts: Facts { name, kcal, protein, fat, carbs, fibre, price }, version }
    }
}

#[derive(Deserialize)]
struct Template {
    id: i64,
    name: Name,
    days: Days,
}

impl Template {
    fn reply(&self) -> Reply {
        let Days { days, meals, items } = &self.days;
        Reply::Template {
            days: days.count,
            meals: *meals,
            items: *items,
            digest: template_digest(self.id, &self.name, days.digest()),
        }
    }
}

#[derive(Deserialize)]
struct Day {
    day: i64,
    meals: Meals,
}

#[derive(Deserialize)]
struct Meal {
    meal: i64,
    name: Name,
    items: Items,
}

struct CategoryList(CategorySummary);
struct FoodList(Listed);
struct Items(Fold);

struct Meals {
    meals: Fold,
    items: u32,
}

struct Days {
    days: Fold,
    meals: u32,
    items: u32,
}

/// What an array comes to, element by element.
trait Array: Sized {
    type Element: for<'de> Deserialize<'de>;
    /// What is kept of the elements so far.
    type Sum: Default;

    fn add(sum: &mut Self::Sum, element: Self::Element);
    fn of(sum: Self::Sum) -> Self;
}

fn array<'de, A: Array, D: Deserializer<'de>>(deserializer: D) -> Result<A, D::Error> {
    struct Elements<A>(std::marker::PhantomData<A>);
    impl<'de, A: Array> Visitor<'de> for Elements<A> {
        type Value = A;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<S: SeqAccess<'de>>(self, mut array: S) -> Result<A, S::Error> {
            let mut sum = A::Sum::default();
            while let Some(element) = array.next_element()? {
                A::add(&mut sum, element);
            }
            Ok(A::of(sum))
        }
    }
    deserializer.deserialize_seq(Elements(std::marker::PhantomData))
}

macro_rules! arrays {
    ($($name:ident),*) => { $(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                array(deserializer)
            }
        }
    )* };
}

arrays!(CategoryList, FoodList, Items, Meals, Days);

impl Array for CategoryList {
    type Element = Category;
    type Sum = CategorySummary;

    fn add(sum: &mut CategorySummary, category: Category) {
        sum.push(&category);
    }

    fn of(sum: CategorySummary) -> CategoryList {
        CategoryList(sum)
    }
}

impl Array for FoodList {
    type Element = FoodFields;
    type Sum = Summary;

    fn add(sum: &mut Summary, fields: FoodFields) {
        sum.push(&Food::from(fields));
    }

    fn of(sum: Summary) -> FoodList {
        FoodList(sum.finish(None))
    }
}

impl Array for Items {
    type Element = Item;
    type Sum = Fold;

    fn add(sum: &mut Fold, item: Item) {
        sum.push(item.digest());
    }

    fn of(sum: Fold) -> Items {
        Items(sum)
    }
}

impl Array for Meals {
    type Element = Meal;
    type Sum = (Fold, u32);

    fn add((meals, items): &mut (Fold, u32), meal: Meal) {
        meals.push(meal_digest(meal.meal, &meal.name, meal.items.0.digest()));
        *items += meal.items.0.count;
    }

    fn of((meals, items): (Fold, u32)) -> Meals {
        Meals { meals, items }
    }
}

impl Array for Days {
    type Element = Day;
    type Sum = (Fold, u32, u32);

    fn add((days, meals, items): &mut (Fold, u32, u32), day: Day) {
        days.push(day_digest(day.day, day.meals.meals.digest()));
        *meals += day.meals.meals.count;
        *items += day.meals.items;
    }

    fn of((days, meals, items): (Fold, u32, u32)) -> Days {
        Days { days, meals, items }
    }
}
