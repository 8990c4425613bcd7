//! A food catalogue behind a REST interface: categories, foods (filtered, searched, in pages), and diet templates of days,
//! meals and items that are read as a whole.
//!
//! In reading order: `call` (what is asked), `outcome` (what is answered), `input` (how calls are drawn), `data` (the initial
//! rows), `sql` (the statements), `oracle` (the truth in memory), `ledger` (what answers imply). Answers are large and vary:
//! `answer` makes them, as counts always, and as JSON or as a `digest` where a caller wants that. It knows no
//! driver; `wire` turns calls and outcomes into HTTP and back.

mod answer;
pub mod audit;
mod benchmark;
mod call;
pub mod conformance;
mod counts;
mod data;
mod digest;
mod food;
mod input;
mod ledger;
mod loaded;
mod oracle;
mod outcome;
mod races;
mod ranks;
mod sql;
mod text;
mod wire;

use model::{Kind, Verdict, Workload};

pub use answer::Item;
pub use call::{BULK_MAX, Bulk, Call, Filter, From, Key, List, Order, PAGE_MAX, PAGE_SIZE, PAGE_SIZE_MAX};
pub use counts::RowCounts;
pub use data::{CATEGORIES, Cardinality, DAYS, Data, FOODS, ITEMS_MAX, MEALS, Place, SCALE_MAX, TEMPLATES};
pub use digest::Digest;
pub use food::{Category, Facts, Food, ID_MAX, KCAL_MAX, NUTRIENT_MAX, NewFood, PRICE_MAX};
pub use input::{Inputs, WEIGHTS};
pub use ledger::{Claims, Ledger, Stored, Tally};
pub use loaded::Loaded;
pub use oracle::Oracle;
pub use outcome::{Decline, Ends, Listed, Outcome, Reply, Spot};
pub use sql::{Form, SqlSession, SqlTarget, Stmt, catalogue, schema};
pub use text::{NAME_MAX, Name, NotAName};

#[derive(Debug, Clone, Copy)]
pub struct FoodCatalogue;

/// Few calls name a row that is not there, or is there already.
const NOT_THERE_MAX: f64 = 0.05;
/// Where many clients change few rows, a good part of the changes are of a row that another has changed since.
const TOO_LATE_MAX: f64 = 0.5;
/// Without calls that create rows, a client has none of its own to change or to remove.
const NONE_OF_ITS_OWN_MAX: f64 = 1.0;

const fn kind(name: &'static str, declined_max: f64) -> Kind {
    Kind {
        name,
        headline: true,
        declined_max,
        pace: None,
        p90_max: None,
        deferred_p90_max: None,
        writes: true,
    }
}

impl Workload for FoodCatalogue {
    const NAME: &'static str = "catalogue";
    /// All count for the headline. None has a pace or a limit.
    const KINDS: &'static [Kind] = &[
        kind("categories", 0.0).reading(),
        kind("category-read", NOT_THERE_MAX).reading(),
        kind("category-create", NOT_THERE_MAX),
        kind("category-update", NONE_OF_ITS_OWN_MAX),
        kind("category-delete", NONE_OF_ITS_OWN_MAX),
        kind("foods-list", 0.0).reading(),
        kind("food-read", NOT_THERE_MAX).reading(),
        kind("food-create", NOT_THERE_MAX),
        kind("food-update", TOO_LATE_MAX),
        kind("food-delete", NONE_OF_ITS_OWN_MAX),
        kind("bulk-insert", NOT_THERE_MAX),
        kind("template-full", NOT_THERE_MAX).reading(),
    ];
    const STATEMENTS: &'static [&'static str] = Stmt::NAMES;
    type Call = Call;
    type Outcome = Outcome;
    type Inputs = Inputs;
    type Ledger = Ledger;

    fn kind(call: &Call) -> usize {
        match call {
            Call::Categories => 0,
            Call::Category { .. } => 1,
            Call::CreateCategory { .. } => 2,
            Call::UpdateCategory { .. } => 3,
            Call::DeleteCategory { .. } => 4,
            Call::Foods(_) => 5,
            Call::Food { .. } => 6,
            Call::CreateFood { .. } => 7,
            Call::UpdateFood { .. } => 8,
            Call::DeleteFood { .. } => 9,
            Call::InsertFoods { .. } => 10,
            Call::Template { .. } => 11,
        }
    }

    fn verdict(outcome: &Outcome) -> Verdict {
        match outcome.reply {
            Reply::Declined(_) => Verdict::Declined,
            _ => Verdict::Committed,
        }
    }

    fn check(call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        outcome::check(call, outcome)
    }
}
