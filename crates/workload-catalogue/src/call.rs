//! What is asked.

use crate::{Facts, Name, NewFood};
use std::sync::Arc;

/// Foods on a page, unless asked otherwise.
pub const PAGE_SIZE: u32 = 20;
/// The most foods on a page.
pub const PAGE_SIZE_MAX: u32 = 100;
/// The last page that can be asked for, whatever there is on it.
pub const PAGE_MAX: u32 = 1_000_000;
/// Foods that inputs insert at once, and the most that can be.
pub const BULK_MAX: usize = 50;

/// A call. Inputs draw one without an allocation; a server allocates for the foods of a bulk insert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// All categories, by id.
    Categories,
    Category {
        id: i64,
    },
    CreateCategory {
        id: i64,
        name: Name,
    },
    /// A new name for a category.
    UpdateCategory {
        id: i64,
        /// The version that it must have.
        version: i64,
        /// Its name from now on.
        name: Name,
    },
    /// A category that no food belongs to is removed.
    DeleteCategory {
        id: i64,
        /// The version that it must have.
        version: i64,
    },
    /// Foods, filtered and in order, some at a time.
    Foods(List),
    Food {
        id: i64,
    },
    CreateFood {
        /// The category that it is to belong to.
        category: i64,
        food: NewFood,
    },
    /// Everything of a food is replaced but its id and its category.
    UpdateFood {
        id: i64,
        /// The version that it must have.
        version: i64,
        /// What it is from now on.
        facts: Facts,
    },
    /// A food that no template uses is removed.
    DeleteFood {
        id: i64,
        /// The version that it must have.
        version: i64,
    },
    /// Foods of one category, all of them or none.
    InsertFoods {
        /// The category that they are to belong to.
        category: i64,
        foods: Bulk,
    },
    /// A diet template with all that is in it.
    Template {
        id: i64,
    },
}

/// The foods of a bulk insert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bulk {
    /// [`BULK_MAX`] foods of our own making, whose ids follow each other.
    Drawn {
        /// The id of the first.
        first: i64,
    },
    /// As they came: 1 to [`BULK_MAX`], of different ids.
    Given(Arc<[NewFood]>),
}

impl Bulk {
    pub fn len(&self) -> usize {
        match self {
            Bulk::Drawn { .. } => BULK_MAX,
            Bulk::Given(foods) => foods.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The foods, in order.
    pub fn iter(&self) -> impl Iterator<Item = NewFood> {
        (0..self.len()).map(move |at| match self {
            Bulk::Drawn { first } => NewFood::drawn(first + at as i64),
            Bulk::Given(foods) => foods[at],
        })
    }
}

/// A part of the list of foods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    pub filter: Filter,
    pub order: Order,
    pub from: From,
    /// How many at most: 1 to [`PAGE_SIZE_MAX`].
    pub size: u32,
}

/// Which foods are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    All,
    /// Those of a category; none of one that does not exist.
    Category(i64),
    /// Those whose name begins with this text.
    Search(Name),
}

/// In what order foods are listed. The id decides between equals, so that no food is listed twice or left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By name, byte by byte.
    Name,
    /// By kilocalories, the least first.
    Kcal,
}

/// Where a part of the list begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// At a page, counted from 1. Foods that come and go move what follows.
    Page(u32),
    /// Behind a food: its name or kilocalories, whichever the order is by, and its id. It need not be there any more.
    After(Key, i64),
}

/// What a list is ordered by, of one food.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Name(Name),
    Kcal(u32),
}
