//! The edge cases, in the order in which they are asked.

use crate::call::{Filter, From, Key, List, Order};
use crate::{Bulk, Call, Cardinality, Facts, ID_MAX, KCAL_MAX, NAME_MAX, Name, NewFood, PRICE_MAX};

/// The greatest version that a call may name.
const VERSION_MAX: i64 = i64::MAX - 1;

/// The calls of the script for data of some size.
pub(super) fn calls(size: Cardinality) -> Vec<Call> {
    let mut calls = categories(size);
    calls.extend(foods(size));
    calls.extend(bulk(size));
    calls.extend(lists(size));
    calls.extend(templates(size));
    calls
}

fn name(text: &str) -> Name {
    Name::new(text).expect("the script has names")
}

fn categories(size: Cardinality) -> Vec<Call> {
    let (last, new) = (i64::from(size.categories), 1_000_000);
    let food = NewFood::drawn(1_000_001);
    vec![
        Call::Categories,
        Call::Category { id: 1 },
        Call::Category { id: last },
        Call::Category { id: last + 1 },
        Call::Category { id: ID_MAX },
        // Created once, and not a second time under the same id.
        Call::CreateCategory { id: new, name: name("sweets") },
        Call::CreateCategory { id: new, name: name("other") },
        Call::CreateCategory { id: 1, name: name("other") },
        Call::Category { id: new },
        Call::Categories,
        // A version is good for one change.
        Call::UpdateCategory { id: new, version: 1, name: name(&"x".repeat(NAME_MAX)) },
        Call::UpdateCategory { id: new, version: 1, name: name("late") },
        Call::UpdateCategory { id: new, version: 3, name: name("early") },
        // Later than any that a row can have.
        Call::UpdateCategory { id: new, version: VERSION_MAX, name: name("early") },
        Call::UpdateCategory { id: new + 1, version: 1, name: name("nobody") },
        // To the same name is a change as well.
        Call::UpdateCategory { id: new, version: 2, name: name(&"x".repeat(NAME_MAX)) },
        Call::Category { id: new },
        // In use, and no longer.
        Call::CreateFood { category: new, food },
        Call::DeleteCategory { id: new, version: 3 },
        Call::DeleteFood { id: food.id, version: 1 },
        Call::DeleteCategory { id: new, version: 2 },
        Call::DeleteCategory { id: new, version: VERSION_MAX },
        Call::DeleteCategory { id: new, version: 3 },
        Call::DeleteCategory { id: new, version: 3 },
        Call::Category { id: new },
        Call::CreateFood { category: new, food },
        Call::DeleteCategory { id: 1, version: 1 },
        // The same id again begins at the first version.
        Call::CreateCategory { id: new, name: name("sweets") },
        Call::DeleteCategory { id: new, version: 1 },
        Call::Categories,
    ]
}

fn foods(size: Cardinality) -> Vec<Call> {
    let (last, new) = (i64::from(size.foods), 2_000_000);
    let fullest = Facts {
        name: name(&format!("a-0 z{}", "z".repeat(NAME_MAX - 5))),
        kcal: KCAL_MAX,
        protein: 0,
        fat: 1_000,
        carbs: 0,
        fibre: Some(1_000),
        price: PRICE_MAX,
    };
    let emptiest = Facts { name: name("0"), kcal: 0, fat: 0, fibre: None, price: 0, ..fullest };
    let food = |id| NewFood { id, facts: fullest };
    vec![
        Call::Food { id: 1 },
        // Its fibre is not known.
        Call::Food { id: 5 },
        Call::Food { id: last },
        Call::Food { id: last + 1 },
        Call::Food { id: ID_MAX },
        Call::CreateFood { category: 1, food: food(new) },
        Call::CreateFood { category: 2, food: food(new) },
        Call::CreateFood { category: 2, food: food(1) },
        Call::CreateFood { category: ID_MAX, food: food(new + 1) },
        Call::CreateFood { category: 1, food: food(ID_MAX) },
        Call::Food { id: ID_MAX },
        Call::Food { id: new },
        // Something becomes nothing, and something again.
        Call::UpdateFood { id: new, version: 1, facts: emptiest },
        Call::Food { id: new },
        Call::UpdateFood { id: new, version: 1, facts: fullest },
        Call::Food { id: new },
        Call::UpdateFood { id: new, version: 2, facts: fullest },
        Call::UpdateFood { id: new, version: 4, facts: emptiest },
        Call::Food { id: new },
        Call::UpdateFood { id: new, version: VERSION_MAX, facts: emptiest },
        Call::UpdateFood { id: new + 1, version: 1, facts: emptiest },
        // To the same values is a change as well.
        Call::UpdateFood { id: new, version: 3, facts: fullest },
        // A whole name, of which none is longer, is found by itself.
        Call::Foods(List {
            filter: Filter::Search(fullest.name),
            order: Order::Name,
            from: From::Page(1),
            size: 2,
        }),
        Call::DeleteFood { id: new, version: 3 },
        Call::DeleteFood { id: new, version: 4 },
        Call::DeleteFood { id: new, version: 4 },
        Call::Food { id: new },
        Call::UpdateFood { id: new, version: 4, facts: fullest },
        Call::DeleteFood { id: ID_MAX, version: 1 },
    ]
}

/// All or none: where one of them is there, the others are not inserted.
fn bulk(size: Cardinality) -> Vec<Call> {
    let (last, new) = (i64::from(size.foods), 3_000_000);
    let wanted = |ids: &[i64]| Bulk::Given(ids.iter().map(|&id| NewFood::drawn(id)).collect());
    let insert = |category, foods| Call::InsertFoods { category, foods };
    vec![
        insert(1, Bulk::Drawn { first: new }),
        Call::Food { id: new + 49 },
        Call::Food { id: new + 50 },
        insert(2, Bulk::Drawn { first: new + 49 }),
        Call::Food { id: new + 50 },
        Call::Food { id: new + 98 },
        insert(2, wanted(&[new + 50])),
        insert(2, wanted(&[new + 53, new + 52, new + 51])),
        Call::Food { id: new + 52 },
        insert(1, wanted(&[new + 60, new + 61, last])),
        Call::Food { id: new + 60 },
        insert(ID_MAX, wanted(&[new + 60])),
        insert(ID_MAX, Bulk::Drawn { first: new + 100 }),
        Call::Food { id: new + 100 },
        insert(1, wanted(&[new + 60])),
    ]
}

fn lists(size: Cardinality) -> Vec<Call> {
    let list = |filter, order, from, size| Call::Foods(List { filter, order, from, size });
    let mut calls = Vec::new();
    for order in [Order::Name, Order::Kcal] {
        for filter in [
            Filter::All,
            Filter::Category(1),
            Filter::Category(size.categories.into()),
            Filter::Category(ID_MAX),
            Filter::Search(name("b")),
            Filter::Search(name("red")),
            Filter::Search(name("z-nothing")),
        ] {
            calls.push(list(filter, order, From::Page(1), 20));
            calls.push(list(filter, order, From::Page(2), 3));
        }
        // The whole of it, nothing of it, and just what is behind its end.
        calls.push(list(Filter::All, order, From::Page(1), 100));
        calls.push(list(Filter::All, order, From::Page(1_000_000), 100));
    }
    for (order, key) in [
        (Order::Name, Key::Name(name("fresh"))),
        (Order::Name, Key::Name(name("0"))),
        (Order::Name, Key::Name(name("zz"))),
        (Order::Kcal, Key::Kcal(0)),
        (Order::Kcal, Key::Kcal(250)),
        (Order::Kcal, Key::Kcal(KCAL_MAX)),
    ] {
        for filter in [Filter::All, Filter::Category(2), Filter::Search(name("f"))] {
            calls.push(list(filter, order, From::After(key, 1), 10));
            calls.push(list(filter, order, From::After(key, ID_MAX), 10));
        }
    }
    // Behind a food that is there: those of equal keys are distinguished by their ids.
    for id in 3_000_000..3_000_004 {
        let Facts { name, kcal, .. } = Facts::drawn(id, 1);
        calls.push(list(Filter::All, Order::Name, From::After(Key::Name(name), id), 5));
        calls.push(list(Filter::Category(1), Order::Kcal, From::After(Key::Kcal(kcal), id), 5));
    }
    calls
}

/// What is in use stays, and a template shows its foods as they are.
fn templates(size: Cardinality) -> Vec<Call> {
    let last = i64::from(size.templates);
    let used = size.items_in(1).next().map_or(1, |item| item.food);
    let renamed = Facts { name: name("renamed"), kcal: 1, ..Facts::drawn(used, 2) };
    vec![
        Call::Template { id: 1 },
        Call::Template { id: last },
        Call::Template { id: last + 1 },
        Call::Template { id: ID_MAX },
        Call::DeleteFood { id: used, version: 1 },
        Call::DeleteFood { id: used, version: 2 },
        Call::UpdateFood { id: used, version: 1, facts: renamed },
        Call::Template { id: 1 },
        Call::Food { id: used },
        Call::UpdateFood { id: used, version: 2, facts: Facts::drawn(used, 3) },
        Call::Template { id: 1 },
    ]
}
