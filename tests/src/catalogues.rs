//! The catalogue and its fault injectors; each form of it answers alike.

use crate::injected::{Injected, Injector, RANDOM_CALLS, is_right};
use crate::routes::Route;
use crate::tamper::Tampering;
use crate::test_engines::TestEngine;
use contract::conformance::{Conformance, Disagreement};
use model::Session;
use sql::Dialect;
use workload_catalogue::conformance::{ConformancePlan, conform};
use workload_catalogue::{Cardinality, FoodCatalogue, Form, Stmt, catalogue};

/// Every form answers as the vectors and the oracle say; each route once at least.
///
/// # Panics
/// At the first answer that does not.
pub fn every_form_is_right_on_both_routes<B: TestEngine>() {
    for (form, route) in [
        (Form::Join, Route::Direct),
        (Form::Join, Route::Http),
        (Form::Levels, Route::Direct),
        (Form::Nested, Route::Http),
    ] {
        is_right::<B, FoodCatalogue>(form, route);
    }
}

impl Injected for FoodCatalogue {
    const SIZE: Cardinality = Cardinality::tiny();
    const CALLS: u32 = 800;
    const MIX_CALLS: u64 = 1_500;
    const CONFORMED: [u32; 2] = [100, 50];
    const INJECTORS: &'static [Injector<FoodCatalogue>] = &[
        Injector::edits(
            "changes do not reach the price",
            &[(Stmt::UpdateFood.id(), "price = ?9", "price = price + 0 * ?9")],
            &["food-versions"],
        ),
        Injector::edits(
            "changes leave the version as it is",
            &[(Stmt::UpdateFood.id(), "version = version + 1", "version = version + 0")],
            &["food-versions", "ledger"],
        ),
        Injector::tampered(
            "some foods are acknowledged and never committed",
            Tampering::ForgetsCommit(Stmt::InsertFood.id(), 5),
            &["ledger"],
        ),
        Injector::tampered(
            "some bulk inserts are acknowledged and never committed",
            Tampering::ForgetsCommit(Stmt::InsertFoods.id(), 2),
            &["ledger"],
        ),
        Injector::edits(
            "what is removed stays",
            &[(Stmt::DeleteFood.id(), "id = ?1", "id = ?1 and id < 0")],
            &["ledger"],
        ),
        Injector::edits(
            "changes of a category reach another",
            &[(Stmt::UpdateCategory.id(), "version = version + 1", "version = version + 2")],
            &["ledger"],
        ),
        Injector::after(
            "a change of one category is that of another",
            &[
                "update category set version = version - 1 where id = (select one from (select max(id) as one from category where \
                 version > 1) as changed)",
                "update category set version = version + 1 where id = 1",
            ],
            &["ledger"],
        ),
        Injector::after(
            "an item is gone",
            &["delete from template_item where template = 1 and day = 1 and meal = 1 and item = 1"],
            &["row-counts"],
        ),
        Injector::after(
            "a meal is gone, and its items are not",
            &["delete from template_meal where template = 2 and day = 3 and meal = 1"],
            &["row-counts", "template-references"],
        ),
        Injector::after(
            "a food that was loaded is gone",
            &["delete from food where id = (select min(food) from template_item)"],
            &["ledger", "row-counts", "template-references"],
        ),
        Injector::after(
            "a food is in no category",
            &["update food set category = 99 where id = 7"],
            &["food-references", "ledger"],
        ),
        Injector::after(
            "a food is in another category",
            &["update food set category = category % 3 + 1 where id = 7"],
            &["ledger"],
        ),
        Injector::after(
            "a category has the name of another",
            &["update category set name = 'category 2' where id = 1"],
            &["ledger"],
        ),
        Injector::after(
            "the name of a food is in capitals",
            &["update food set name = upper(name) where id = 7"],
            &["ledger"],
        ),
        Injector::after(
            "a food has too much energy",
            &["update food set kcal = 901 where id = 7"],
            &["food-values", "ledger"],
        ),
        Injector::after(
            "a price is a cent higher",
            &["update food set price = price + 1 where id = 7"],
            &["food-versions"],
        ),
        Injector::edits(
            "the name of a new food is cut",
            &[(Stmt::InsertFood.id(), "?3,", "substr(?3, 2),")],
            &["ledger"],
        ),
        Injector::edits(
            "changes add to the fat",
            &[(Stmt::UpdateFood.id(), "fat = ?6", "fat = ?6 + 1")],
            &["ledger"],
        ),
        Injector::after("fat becomes fibre", &["update food set fibre = fat where id = 7"], &["ledger"]),
        Injector::after(
            "a row has no version",
            &["update category set version = 0 where id = 3"],
            &["ledger", "versions"],
        ),
    ];

    fn statements(dialect: Dialect) -> Vec<String> {
        catalogue(dialect).expect("kept by a test of the workload")
    }

    async fn conform<S: Session<FoodCatalogue>>(session: &mut S) -> Result<Conformance, Disagreement> {
        conform(session, &ConformancePlan::golden(5, RANDOM_CALLS)).await
    }
}
