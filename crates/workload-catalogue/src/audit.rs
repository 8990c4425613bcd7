//! What must hold in the stored data: everything that was loaded is there, references lead somewhere, values are within
//! their bounds, and each food is what its version makes it. Queries are in `spec/sql/catalogue/audits.sql`.

use crate::ledger::KINDS;
use crate::{Cardinality, FoodCatalogue, Ledger, input};
use model::{Mix, Workload};
use sql::audit::{About, AuditSet, InputFinding, groups};
use sql::{Catalogue, CatalogueError, Dialect};

pub use sql::audit::{AuditOutcome, Family};

/// Audits that share temporary tables, and so a connection.
pub type AuditGroup = sql::audit::AuditGroup<Cardinality>;

/// Values of the queries' parameters: categories, foods, templates, days of a template, meals of a day, items of all
/// templates.
pub fn params(size: &Cardinality) -> Vec<i64> {
    let Cardinality { categories, foods, templates, days, meals, .. } = *size;
    let mut params: Vec<i64> = [categories, foods, templates, days, meals].map(i64::from).to_vec();
    params.push(size.items() as i64);
    params
}

/// All audits for an engine, in groups that may run side by side.
pub fn audits(dialect: Dialect) -> Result<Vec<AuditGroup>, CatalogueError> {
    groups(GROUPS, &catalogue(dialect)?)
}

/// The query whose rows are those of [`crate::Stored`]: of categories, then of foods.
pub fn stored(dialect: Dialect) -> Result<String, CatalogueError> {
    catalogue(dialect)?.text(STORED)
}

const STORED: &str = "stored";

fn catalogue(dialect: Dialect) -> Result<Catalogue, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../spec/sql/catalogue/audits.sql"))?;
    let own = match dialect {
        // SQLite takes the canonical form.
        Dialect::Sqlite => return Ok(canonical),
        Dialect::Postgres => include_str!("../spec/sql/catalogue/audits.postgres.sql"),
        Dialect::MySql => include_str!("../spec/sql/catalogue/audits.mysql.sql"),
    };
    canonical.overridden(&Catalogue::parse(own)?)
}

type Ask = About<Cardinality>;

const GROUPS: &[AuditSet<Cardinality>] = &[
    AuditSet {
        prepare: &[],
        audits: &[
            Ask::shape(
                "row_counts",
                "data",
                "everything that was loaded is there",
                &["table", "rows wanted", "rows"],
            ),
            Ask::condition(
                "food_references",
                "foods",
                "each food belongs to a category that is there",
                &["food", "category"],
            ),
            Ask::shape(
                "food_values",
                "foods",
                "the values of each food are within their bounds",
                &["food", "kcal", "protein", "fat", "carbs", "fibre", "price"],
            ),
            Ask::condition(
                "food_versions",
                "foods",
                "each food has the price that its version makes it have",
                &["food", "version", "price"],
            ),
            Ask::shape(
                "versions",
                "versions",
                "each row has a version of 1 or more",
                &["table", "id", "version"],
            ),
        ],
    },
    AuditSet {
        prepare: &[],
        audits: &[Ask::condition(
            "template_references",
            "templates",
            "days belong to templates, meals to days, and items to meals and foods",
            &["table", "template", "day", "meal", "food"],
        )],
    },
];

/// Judges what a ledger has counted: the share of each kind of call, against that of the mix.
pub fn input_audit(ledger: &Ledger, mix: &Mix) -> Vec<InputFinding> {
    let calls: u64 = ledger.calls().iter().sum();
    let share = |kind: usize| {
        // Those that stand in for each other are told together.
        let expected: f64 = input::group(kind).map(|kind| mix.share(kind)).sum::<f64>().min(1.0);
        let counted: u64 = input::group(kind).map(|kind| ledger.calls()[kind]).sum();
        InputFinding::of_share(FoodCatalogue::KINDS[kind].name, counted, calls, expected, 0)
    };
    (0..KINDS).map(share).collect()
}

#[cfg(test)]
mod tests;
