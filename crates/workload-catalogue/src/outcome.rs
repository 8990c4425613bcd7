//! Outcomes of calls. Replies to reading calls are long: an outcome keeps counts and a digest of them.

use crate::call::{Filter, From, Key, List, Order};
use crate::{BULK_MAX, Call, Digest, Food, Name};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub reply: Reply,
    /// The answer as JSON, of reading calls whose caller asked for the whole of it; empty otherwise.
    pub body: Vec<u8>,
}

/// What the service replied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "an outcome allocates nothing, however much of a list it keeps"
)]
pub enum Reply {
    Categories {
        count: u32,
        digest: Digest,
        /// The first of them with another name than our own calls and loads give it.
        renamed: Option<i64>,
    },
    Category {
        version: i64,
        digest: Digest,
    },
    Foods(Listed),
    Food {
        version: i64,
        digest: Digest,
    },
    Template {
        days: u32,
        /// The meals of all of them.
        meals: u32,
        /// The items of all of these.
        items: u32,
        digest: Digest,
    },
    /// A category or a food was created or changed.
    Stored {
        /// Its version from now on.
        version: i64,
    },
    /// A category or a food was removed.
    Deleted,
    Inserted {
        count: u32,
    },
    /// The service declined it, and changed nothing.
    Declined(Decline),
}

/// Foods of a list, in short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Listed {
    pub count: u32,
    /// How many the filter lets through, on all pages; none where a page was not asked for.
    pub total: Option<u64>,
    pub digest: Digest,
    /// The ends of what they hold, where there is one at least.
    pub ends: Option<Ends>,
}

/// What foods of a list have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    pub first: Spot,
    pub last: Spot,
    /// One of all, whole.
    pub sample: Food,
    /// How many ids are below 2^32, as those of loaded foods are.
    pub low_ids: u32,
    /// The least name and the greatest: whatever both begin with, all names in between do.
    pub names: (Name, Name),
    /// The one category of all of them, if it is one.
    pub category: Option<i64>,
    /// Whether they are in order by name and id.
    pub by_name: bool,
    /// Whether they are in order by kilocalories and id.
    pub by_kcal: bool,
}

/// A food's place in either order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    pub name: Name,
    pub kcal: u32,
    pub id: i64,
}

impl Spot {
    pub(crate) const fn of(food: &Food) -> Spot {
        Spot { name: food.facts.name, kcal: food.facts.kcal, id: food.id }
    }

    /// What an order is by.
    pub const fn key(&self, order: Order) -> Key {
        match order {
            Order::Name => Key::Name(self.name),
            Order::Kcal => Key::Kcal(self.kcal),
        }
    }

    fn is_before(&self, order: Order, other: &Spot) -> bool {
        (self.key(order), self.id) < (other.key(order), other.id)
    }
}

const fn is_low(id: i64) -> bool {
    id <= u32::MAX as i64
}

impl Ends {
    pub(crate) const fn of(food: &Food) -> Ends {
        let spot = Spot::of(food);
        let names = (spot.name, spot.name);
        Ends {
            first: spot,
            last: spot,
            sample: *food,
            low_ids: is_low(food.id) as u32,
            names,
            category: Some(food.category),
            by_name: true,
            by_kcal: true,
        }
    }

    pub(crate) fn push(&mut self, food: &Food, is_sample: bool) {
        let spot = Spot::of(food);
        if is_sample {
            self.sample = *food;
        }
        self.low_ids += u32::from(is_low(food.id));
        self.by_name &= self.last.is_before(Order::Name, &spot);
        self.by_kcal &= self.last.is_before(Order::Kcal, &spot);
        self.category = self.category.filter(|&category| category == food.category);
        if spot.name < self.names.0 {
            self.names.0 = spot.name;
        }
        if spot.name > self.names.1 {
            self.names.1 = spot.name;
        }
        self.last = spot;
    }
}

/// Why a call was declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decline {
    /// There is no such category.
    NoSuchCategory,
    /// There is no such food.
    NoSuchFood,
    /// There is no such template.
    NoSuchTemplate,
    /// A category with that id is there already.
    CategoryExists,
    /// A food with that id is there already.
    FoodExists,
    /// Foods belong to the category.
    CategoryInUse,
    /// Templates use the food.
    FoodInUse,
    /// It has another version by now.
    StaleVersion,
    /// The category that a food is to belong to is not there.
    UnknownCategory,
}

impl Decline {
    pub(crate) const ALL: [Decline; 9] = [
        Decline::NoSuchCategory,
        Decline::NoSuchFood,
        Decline::NoSuchTemplate,
        Decline::CategoryExists,
        Decline::FoodExists,
        Decline::CategoryInUse,
        Decline::FoodInUse,
        Decline::StaleVersion,
        Decline::UnknownCategory,
    ];

    /// The type of its problem document, without what all types begin with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Decline::NoSuchCategory => "no-such-category",
            Decline::NoSuchFood => "no-such-food",
            Decline::NoSuchTemplate => "no-such-template",
            Decline::CategoryExists => "category-exists",
            Decline::FoodExists => "food-exists",
            Decline::CategoryInUse => "category-in-use",
            Decline::FoodInUse => "food-in-use",
            Decline::StaleVersion => "stale-version",
            Decline::UnknownCategory => "unknown-category",
        }
    }

    /// The status of its answer.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Decline::NoSuchCategory | Decline::NoSuchFood | Decline::NoSuchTemplate => 404,
            Decline::CategoryExists | Decline::FoodExists | Decline::CategoryInUse | Decline::FoodInUse => {
                409
            }
            Decline::StaleVersion => 412,
            Decline::UnknownCategory => 422,
        }
    }

    /// What a problem document says of it.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Decline::NoSuchCategory => "there is no such category",
            Decline::NoSuchFood => "there is no such food",
            Decline::NoSuchTemplate => "there is no such template",
            Decline::CategoryExists => "a category with this id is there already",
            Decline::FoodExists => "a food with this id is there already",
            Decline::CategoryInUse => "foods belong to this category",
            Decline::FoodInUse => "templates use this food",
            Decline::StaleVersion => "it has another version by now",
            Decline::UnknownCategory => "the category that the food is to belong to does not exist",
        }
    }

    /// Whether a call may be declined for this.
    const fn fits(self, call: &Call) -> bool {
        matches!(
            (self, call),
            (
                Decline::NoSuchCategory,
                Call::Category { .. } | Call::UpdateCategory { .. } | Call::DeleteCategory { .. },
            ) | (Decline::NoSuchFood, Call::Food { .. } | Call::UpdateFood { .. } | Call::DeleteFood { .. })
                | (Decline::NoSuchTemplate, Call::Template { .. })
                | (Decline::CategoryExists, Call::CreateCategory { .. })
                | (
                    Decline::FoodExists | Decline::UnknownCategory,
                    Call::CreateFood { .. } | Call::InsertFoods { .. },
                )
                | (Decline::CategoryInUse, Call::DeleteCategory { .. })
                | (Decline::FoodInUse, Call::DeleteFood { .. })
                | (
                    Decline::StaleVersion,
                    Call::UpdateCategory { .. }
                        | Call::DeleteCategory { .. }
                        | Call::UpdateFood { .. }
                        | Call::DeleteFood { .. },
                )
        )
    }
}

impl Outcome {
    /// Without a body.
    pub const fn of(reply: Reply) -> Outcome {
        Outcome { reply, body: Vec::new() }
    }

    pub const fn declined(why: Decline) -> Outcome {
        Outcome::of(Reply::Declined(why))
    }
}

/// What every right answer satisfies whatever the data.
pub(crate) fn check(call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
    let right = match (call, &outcome.reply) {
        (_, Reply::Declined(why)) if why.fits(call) => return Ok(()),
        (_, Reply::Declined(_)) => return Err("the call was declined for a reason that it cannot have"),
        (Call::Categories, Reply::Categories { .. }) => true,
        (Call::Category { .. }, Reply::Category { version, .. })
        | (Call::Food { .. }, Reply::Food { version, .. }) => *version >= 1,
        (Call::CreateCategory { .. } | Call::CreateFood { .. }, Reply::Stored { version }) => {
            return if *version == 1 { Ok(()) } else { Err("what was created does not have version 1") };
        }
        (
            Call::UpdateCategory { version: before, .. } | Call::UpdateFood { version: before, .. },
            Reply::Stored { version },
        ) => {
            let next = before.checked_add(1) == Some(*version);
            return if next { Ok(()) } else { Err("the new version is not the next of the old one") };
        }
        (Call::DeleteCategory { .. } | Call::DeleteFood { .. }, Reply::Deleted) => true,
        (Call::InsertFoods { foods, .. }, Reply::Inserted { count }) => {
            debug_assert!(foods.len() <= BULK_MAX, "a bulk insert is checked before it is made");
            let all = *count as usize == foods.len();
            return if all { Ok(()) } else { Err("not as many foods were inserted as were asked for") };
        }
        (Call::Foods(list), Reply::Foods(listed)) => return check_list(list, listed),
        (Call::Template { .. }, Reply::Template { days, meals, items, .. }) => {
            // Nothing is empty: a day has a meal at least, and a meal an item.
            let full = days <= meals && meals <= items;
            return if full { Ok(()) } else { Err("a day without a meal, or a meal without an item") };
        }
        _ => false,
    };
    if right { Ok(()) } else { Err("the answer is that of another kind of call") }
}

fn check_list(list: &List, listed: &Listed) -> Result<(), &'static str> {
    if listed.count > list.size {
        return Err("there are more foods on the page than were asked for");
    }
    match (list.from, listed.total) {
        (From::Page(page), Some(total)) => {
            let before = u64::from(page - 1) * u64::from(list.size);
            let wanted = total.saturating_sub(before).min(list.size.into());
            if u64::from(listed.count) != wanted {
                return Err("the page has another number of foods than its total");
            }
        }
        (From::After(..), None) => {}
        (From::Page(_), None) => return Err("the page has no total"),
        (From::After(..), Some(_)) => return Err("a total was not asked for"),
    }
    let Some(ends) = &listed.ends else { return Ok(()) };
    let sorted = match list.order {
        Order::Name => ends.by_name,
        Order::Kcal => ends.by_kcal,
    };
    if !sorted {
        return Err("the foods are not in the order that was asked for");
    }
    if let From::After(key, id) = list.from
        && (ends.first.key(list.order), ends.first.id) <= (key, id)
    {
        return Err("a food is not behind the one that was asked for what follows it");
    }
    match list.filter {
        Filter::All => Ok(()),
        Filter::Category(category) if ends.category == Some(category) => Ok(()),
        Filter::Category(_) => Err("a food belongs to another category than was asked for"),
        Filter::Search(begin) => {
            let (least, greatest) = &ends.names;
            let all =
                least.as_str().starts_with(begin.as_str()) && greatest.as_str().starts_with(begin.as_str());
            if all { Ok(()) } else { Err("a food's name does not begin with what was searched for") }
        }
    }
}
