//! Calls that meet: changes of one row, rows of one id, foods that come while their category goes.

use crate::{
    BULK_MAX, Bulk, Call, Cardinality, Decline, Facts, Filter, FoodCatalogue, List, Name, NewFood, Order,
    Outcome, PAGE_SIZE_MAX, Reply,
};
use contract::{Race, Raced};

/// Calls that meet.
const MEET: i64 = 8;
/// Behind all ids of inputs, of scripts and of random calls.
const FIRST_ID: i64 = 6_000_000_000_000;
/// Ids of one round.
const IDS_OF_ROUND: i64 = 1_000;
/// Ids of one verification.
const IDS_OF_SALT: i64 = 1_000_000;

pub(crate) fn races(_size: &Cardinality, salt: u32, round: u32) -> Vec<Race<FoodCatalogue>> {
    let first = FIRST_ID + i64::from(salt) * IDS_OF_SALT + i64::from(round) * IDS_OF_ROUND;
    vec![
        lost_update(first),
        stale_version(first + 1),
        double_insert(first + 2),
        half_a_bulk_insert(first + 3),
        category_in_use(first + 4),
    ]
}

fn lost_update(id: i64) -> Race<FoodCatalogue> {
    Race {
        name: "lost-update",
        rule: "of changes to one version of a category at the same moment one is made, and the others are declined with 412",
        before: vec![create(id)],
        together: (0..MEET).map(|at| update(id, at)).collect(),
        after: vec![Call::Category { id }],
        judge: Box::new(one_change),
    }
}

fn stale_version(id: i64) -> Race<FoodCatalogue> {
    let change = |at| if at % 2 == 0 { update(id, at) } else { Call::DeleteCategory { id, version: 1 } };
    Race {
        name: "stale-version",
        rule: "of changes and removals of one version of a category at the same moment one is made",
        before: vec![create(id)],
        together: (0..MEET).map(change).collect(),
        after: vec![Call::Category { id }],
        judge: Box::new(one_change),
    }
}

fn double_insert(id: i64) -> Race<FoodCatalogue> {
    let food = move |at: i64| Call::CreateFood { category: 1, food: food(id, at) };
    Race {
        name: "double-insert",
        rule: "of foods with one id that are created at the same moment one is, and the others are declined with 409",
        before: vec![],
        together: (0..MEET).map(food).collect(),
        after: vec![Call::Food { id }],
        judge: Box::new(|raced| {
            exactly_one(raced)?;
            match raced.after[0].reply {
                Reply::Food { version: 1, .. } => Ok(()),
                Reply::Declined(Decline::NoSuchFood) if stored(raced) == 0 => Ok(()),
                other => Err(format!("the food is then answered as {other:?}")),
            }
        }),
    }
}

fn half_a_bulk_insert(id: i64) -> Race<FoodCatalogue> {
    // All of them end with the same food, so that all but one meet it when the rest of theirs is there.
    let foods = move |at: i64| -> Vec<NewFood> {
        let last = id + 900;
        let own = (0..BULK_MAX as i64 - 1).map(|number| food(id + 100 * (at + 1) + number, number));
        own.chain([food(last, at)]).collect()
    };
    let meet = |at: i64| match at % 2 {
        0 => Call::InsertFoods { category: id, foods: Bulk::Given(foods(at / 2).into()) },
        _ => list(id),
    };
    Race {
        name: "half-a-bulk-insert",
        rule: "of bulk inserts that share a food one is made, and no list ever shows a part of one",
        before: vec![create(id)],
        together: (0..MEET).map(meet).collect(),
        after: vec![list(id)],
        judge: Box::new(|raced| {
            let inserts =
                raced.met().filter(|outcome| matches!(outcome.reply, Reply::Inserted { .. })).count();
            if inserts > 1 {
                return Err(format!("{inserts} of them were acknowledged"));
            }
            let whole = BULK_MAX as u64;
            match raced.met().filter_map(total).find(|total| ![0, whole].contains(total)) {
                Some(part) => {
                    Err(format!("a list that was asked for meanwhile has {part} of its {whole} foods"))
                }
                None if total(&raced.after[0]) != Some(inserts as u64 * whole) => Err(format!(
                    "{inserts} was acknowledged, and then there are {:?} foods",
                    total(&raced.after[0])
                )),
                None => Ok(()),
            }
        }),
    }
}

fn category_in_use(id: i64) -> Race<FoodCatalogue> {
    let meet = |at: i64| match at % 2 {
        0 => Call::CreateFood { category: id, food: food(id + 100 + at, at) },
        _ => Call::DeleteCategory { id, version: 1 },
    };
    Race {
        name: "category-in-use",
        rule: "a category that is removed while foods are created in it is either removed or has foods",
        before: vec![create(id)],
        together: (0..MEET).map(meet).collect(),
        after: vec![Call::Category { id }, list(id)],
        judge: Box::new(|raced| {
            let removed = raced.met().filter(|outcome| outcome.reply == Reply::Deleted).count();
            let created = stored(raced) as u64;
            if removed > 1 || removed == 1 && created > 0 {
                return Err(format!(
                    "it was removed {removed} times, and {created} foods were created in it"
                ));
            }
            let there = matches!(raced.after[0].reply, Reply::Category { .. });
            if there != (removed == 0) {
                return Err(format!("removed {removed} times, the category is then {}", there_or_not(there)));
            }
            match total(&raced.after[1]) {
                Some(total) if total == created => Ok(()),
                found => Err(format!("{created} foods were created in it, and then there are {found:?}")),
            }
        }),
    }
}

fn create(id: i64) -> Call {
    Call::CreateCategory { id, name: name("race") }
}

fn update(id: i64, at: i64) -> Call {
    Call::UpdateCategory { id, version: 1, name: name(&format!("winner {at}")) }
}

fn food(id: i64, at: i64) -> NewFood {
    let drawn = NewFood::drawn(id);
    NewFood { id, facts: Facts { name: name(&format!("race {at}")), ..drawn.facts } }
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

fn list(category: i64) -> Call {
    let (filter, from) = (Filter::Category(category), crate::From::Page(1));
    Call::Foods(List { filter, order: Order::Name, from, size: PAGE_SIZE_MAX })
}

fn total(outcome: &Outcome) -> Option<u64> {
    match outcome.reply {
        Reply::Foods(listed) => listed.total,
        _ => None,
    }
}

fn stored(raced: &Raced<FoodCatalogue>) -> usize {
    raced.met().filter(|outcome| matches!(outcome.reply, Reply::Stored { .. })).count()
}

/// Whether one of the changes that met was made, where all of them completed, and never more.
fn exactly_one(raced: &Raced<FoodCatalogue>) -> Result<usize, String> {
    let is_made = |outcome: &&Outcome| matches!(outcome.reply, Reply::Stored { .. } | Reply::Deleted);
    let (made, met) = (raced.met().filter(is_made).count(), raced.met().count());
    let none_is_right = met < raced.together.len();
    match made {
        1 => Ok(1),
        0 if none_is_right => Ok(0),
        made => Err(format!("of {met} that were answered, {made} were acknowledged as made")),
    }
}

fn one_change(raced: &Raced<FoodCatalogue>) -> Result<(), String> {
    exactly_one(raced)?;
    let removed = raced.met().any(|outcome| outcome.reply == Reply::Deleted);
    let wanted = if stored(raced) == 0 { 1 } else { 2 };
    match raced.after[0].reply {
        Reply::Declined(Decline::NoSuchCategory) if removed => Ok(()),
        Reply::Category { version, .. } if !removed && version == wanted => Ok(()),
        Reply::Category { version, .. } => Err(format!("the category then has version {version}")),
        _ => Err(format!("the category is then {}", there_or_not(false))),
    }
}

const fn there_or_not(there: bool) -> &'static str {
    if there { "there" } else { "not there" }
}
