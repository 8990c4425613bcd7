//! The calls over the narrow SQL port, for every engine that speaks it one statement at a time.
//!
//! A call that is one statement is sent as one, without a transaction around it. Dialects differ in `spec/sql`, not here.

mod list;
mod template;

use crate::answer::{self, Item};
use crate::call::{From, List};
use crate::outcome::{Decline, Reply};
use crate::{BULK_MAX, Bulk, Call, Category, Facts, Food, FoodCatalogue, Name, NewFood, Outcome};
use model::{CallWork, Clock, Fault, Session, StatementTimes, Wanted};
use sql::{Catalogue, CatalogueError, ColumnError, Columns, Dialect, Param, SqlConn, SqlForm, Timed, TxKind};
pub use template::Form;

sql::statements! {
    Categories = "categories",
    Category = "category",
    InsertCategory = "insert_category",
    UpdateCategory = "update_category",
    LockCategory = "lock_category",
    HoldCategory = "hold_category",
    FoodOfCategory = "food_of_category",
    DeleteCategory = "delete_category",
    Food = "food",
    FoodsByNamePage = "foods_by_name_page",
    FoodsByNameAfter = "foods_by_name_after",
    FoodsByKcalPage = "foods_by_kcal_page",
    FoodsByKcalAfter = "foods_by_kcal_after",
    CategoryFoodsByNamePage = "category_foods_by_name_page",
    CategoryFoodsByNameAfter = "category_foods_by_name_after",
    CategoryFoodsByKcalPage = "category_foods_by_kcal_page",
    CategoryFoodsByKcalAfter = "category_foods_by_kcal_after",
    SearchFoodsByNamePage = "search_foods_by_name_page",
    SearchFoodsByNameAfter = "search_foods_by_name_after",
    SearchFoodsByKcalPage = "search_foods_by_kcal_page",
    SearchFoodsByKcalAfter = "search_foods_by_kcal_after",
    CountFoods = "count_foods",
    CountCategoryFoods = "count_category_foods",
    CountSearchFoods = "count_search_foods",
    InsertFood = "insert_food",
    InsertFoods = "insert_foods",
    UpdateFood = "update_food",
    LockFood = "lock_food",
    ItemOfFood = "item_of_food",
    DeleteFood = "delete_food",
    TemplateFull = "template_full",
    Template = "template",
    TemplateDays = "template_days",
    TemplateMeals = "template_meals",
    TemplateItems = "template_items",
    MealsOfDay = "meals_of_day",
    ItemsOfMeal = "items_of_meal",
    FoodOfItem = "food_of_item",
}

/// The statement texts for an engine, in the order of [`Stmt`].
pub fn catalogue(dialect: Dialect) -> Result<Vec<String>, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../spec/sql/catalogue/statements.sql"))?;
    let overrides = match dialect {
        // SQLite takes the canonical form.
        Dialect::Sqlite => return canonical.select(Stmt::NAMES),
        Dialect::Postgres => include_str!("../spec/sql/catalogue/statements.postgres.sql"),
        Dialect::MySql => include_str!("../spec/sql/catalogue/statements.mysql.sql"),
    };
    canonical.overridden(&Catalogue::parse(overrides)?)?.select(Stmt::NAMES)
}

/// Tables, indexes and references for an engine, in the order in which they are made.
pub fn schema(dialect: Dialect) -> Result<Catalogue, CatalogueError> {
    match dialect {
        Dialect::Sqlite => Catalogue::parse(include_str!("../spec/sql/catalogue/schema.sqlite.sql")),
        Dialect::Postgres => Catalogue::parse(include_str!("../spec/sql/catalogue/schema.postgres.sql")),
        Dialect::MySql => Catalogue::parse(include_str!("../spec/sql/catalogue/schema.mysql.sql")),
    }
}

/// Answers calls on one connection.
#[derive(Debug)]
pub struct SqlSession<C, K> {
    conn: Timed<C, K>,
    form: Form,
    scratch: Scratch,
}

/// Room for rows, used again for each call.
#[derive(Debug, Default)]
struct Scratch {
    categories: Vec<Category>,
    foods: Vec<Food>,
    days: Vec<i64>,
    meals: Vec<(i64, i64, Name)>,
    items: Vec<(i64, i64, Item)>,
}

impl<C: SqlConn, K: Clock> SqlSession<C, K> {
    /// A session on a connection whose statements are those of [`catalogue`], that reads templates in one form.
    pub fn new(conn: C, clock: K, form: Form) -> SqlSession<C, K> {
        SqlSession { conn: Timed::new(conn, clock), form, scratch: Scratch::default() }
    }

    async fn transact(&mut self, call: &Call, wanted: Wanted) -> Result<Outcome, Fault> {
        self.conn.begin(self.kind(call)).await?;
        let answered = self.answer(call, wanted).await;
        match &answered {
            Ok(Outcome { reply: Reply::Declined(_), .. }) => self.conn.rollback().await?,
            Ok(_) => self.conn.commit().await?,
            Err(_) => {
                // The fault of the body tells more than one of the roll-back that follows it.
                let _ = self.conn.rollback().await;
            }
        }
        answered
    }

    /// What a call does decides how it begins. A page and its total are of one moment, and so are the parts of a template.
    fn kind(&self, call: &Call) -> TxKind {
        match call {
            Call::Categories
            | Call::Category { .. }
            | Call::Food { .. }
            | Call::Foods(List { from: From::After(..), .. }) => TxKind::OneRead,
            Call::Template { .. } if self.form == Form::Join => TxKind::OneRead,
            Call::Foods(List { from: From::Page(_), .. }) | Call::Template { .. } => TxKind::Read,
            // Only when nothing was changed is asked why.
            Call::CreateCategory { .. } | Call::UpdateCategory { .. } | Call::UpdateFood { .. } => {
                TxKind::OneWrite
            }
            Call::DeleteCategory { .. }
            | Call::CreateFood { .. }
            | Call::DeleteFood { .. }
            | Call::InsertFoods { .. } => TxKind::Write,
        }
    }

    async fn answer(&mut self, call: &Call, wanted: Wanted) -> Result<Outcome, Fault> {
        match call {
            Call::Categories => self.categories(wanted).await,
            Call::Category { id } => self.category(*id, wanted).await,
            Call::CreateCategory { id, name } => self.create_category(*id, name).await,
            Call::UpdateCategory { id, version, name } => self.update_category(*id, *version, name).await,
            Call::DeleteCategory { id, version } => self.delete_category(*id, *version).await,
            Call::Foods(list) => self.foods(list, wanted).await,
            Call::Food { id } => self.food(*id, wanted).await,
            Call::CreateFood { category, food } => self.create_food(*category, food).await,
            Call::UpdateFood { id, version, facts } => self.update_food(*id, *version, facts).await,
            Call::DeleteFood { id, version } => self.delete_food(*id, *version).await,
            Call::InsertFoods { category, foods } => self.insert_foods(*category, foods).await,
            Call::Template { id } => self.template(*id, wanted).await,
        }
    }

    async fn categories(&mut self, wanted: Wanted) -> Result<Outcome, Fault> {
        let into = &mut self.scratch.categories;
        into.clear();
        self.conn.rows(Stmt::Categories.id(), &[], read_category, into).await?;
        Ok(answer::categories(into.iter(), wanted))
    }

    async fn category(&mut self, id: i64, wanted: Wanted) -> Result<Outcome, Fault> {
        let found = self.conn.row(Stmt::Category.id(), &[id.into()], read_category).await?;
        Ok(match found {
            Some(category) => answer::category(&category, wanted),
            None => Outcome::declined(Decline::NoSuchCategory),
        })
    }

    async fn create_category(&mut self, id: i64, name: &Name) -> Result<Outcome, Fault> {
        let inserted = self.conn.exec(Stmt::InsertCategory.id(), &[id.into(), name.as_str().into()]).await?;
        Ok(match inserted {
            0 => Outcome::declined(Decline::CategoryExists),
            _ => Outcome::of(Reply::Stored { version: 1 }),
        })
    }

    /// What has the version is changed and gets the next; asked only when nothing was, why.
    async fn update_category(&mut self, id: i64, version: i64, name: &Name) -> Result<Outcome, Fault> {
        let update = [id.into(), version.into(), name.as_str().into()];
        self.change(Stmt::UpdateCategory, &update, Stmt::Category, Decline::NoSuchCategory).await
    }

    /// Changes what has the version in an update's second parameter; where nothing has, it is looked whether the row is there.
    async fn change(
        &mut self,
        update: Stmt,
        params: &[Param<'_>],
        look: Stmt,
        absent: Decline,
    ) -> Result<Outcome, Fault> {
        if self.conn.exec(update.id(), params).await? > 0 {
            let Param::Int(version) = params[1] else { unreachable!("a version is a number") };
            return Ok(Outcome::of(Reply::Stored { version: version + 1 }));
        }
        let there = self.conn.row(look.id(), &params[..1], |_| Ok(())).await?;
        Ok(Outcome::declined(if there.is_some() { Decline::StaleVersion } else { absent }))
    }

    async fn delete_category(&mut self, id: i64, version: i64) -> Result<Outcome, Fault> {
        let statements = [Stmt::LockCategory, Stmt::FoodOfCategory, Stmt::DeleteCategory];
        self.remove(id, version, statements, Decline::NoSuchCategory, Decline::CategoryInUse).await
    }

    async fn delete_food(&mut self, id: i64, version: i64) -> Result<Outcome, Fault> {
        let statements = [Stmt::LockFood, Stmt::ItemOfFood, Stmt::DeleteFood];
        self.remove(id, version, statements, Decline::NoSuchFood, Decline::FoodInUse).await
    }

    /// Removes a row that nothing uses. It is locked first, so that nothing comes to use it between the look and the removal.
    async fn remove(
        &mut self,
        id: i64,
        version: i64,
        [lock, used, delete]: [Stmt; 3],
        absent: Decline,
        in_use: Decline,
    ) -> Result<Outcome, Fault> {
        match self.conn.row(lock.id(), &[id.into()], |row| row.int(0)).await? {
            None => return Ok(Outcome::declined(absent)),
            Some(found) if found != version => return Ok(Outcome::declined(Decline::StaleVersion)),
            Some(_) => {}
        }
        if self.conn.row(used.id(), &[id.into()], |_| Ok(())).await?.is_some() {
            return Ok(Outcome::declined(in_use));
        }
        self.conn.exec(delete.id(), &[id.into()]).await?;
        Ok(Outcome::of(Reply::Deleted))
    }

    async fn food(&mut self, id: i64, wanted: Wanted) -> Result<Outcome, Fault> {
        let found = self.conn.row(Stmt::Food.id(), &[id.into()], read_food).await?;
        Ok(match found {
            Some(food) => answer::food(&food, wanted),
            None => Outcome::declined(Decline::NoSuchFood),
        })
    }

    async fn create_food(&mut self, category: i64, food: &NewFood) -> Result<Outcome, Fault> {
        if !self.hold_category(category).await? {
            return Ok(Outcome::declined(Decline::UnknownCategory));
        }
        let inserted = self.conn.exec(Stmt::InsertFood.id(), &row_of(category, food)).await?;
        Ok(match inserted {
            0 => Outcome::declined(Decline::FoodExists),
            _ => Outcome::of(Reply::Stored { version: 1 }),
        })
    }

    /// Whether a category is there, and stays until the transaction has ended.
    async fn hold_category(&mut self, id: i64) -> Result<bool, Fault> {
        Ok(self.conn.row(Stmt::HoldCategory.id(), &[id.into()], |_| Ok(())).await?.is_some())
    }

    async fn update_food(&mut self, id: i64, version: i64, facts: &Facts) -> Result<Outcome, Fault> {
        let update = [
            id.into(),
            version.into(),
            facts.name.as_str().into(),
            facts.kcal.into(),
            facts.protein.into(),
            facts.fat.into(),
            facts.carbs.into(),
            facts.fibre.into(),
            facts.price.into(),
        ];
        self.change(Stmt::UpdateFood, &update, Stmt::Food, Decline::NoSuchFood).await
    }

    /// As many as inputs insert go in one statement, and any other number one by one. Where one of them is there already, none
    /// is inserted.
    async fn insert_foods(&mut self, category: i64, foods: &Bulk) -> Result<Outcome, Fault> {
        if !self.hold_category(category).await? {
            return Ok(Outcome::declined(Decline::UnknownCategory));
        }
        let inserted = if foods.len() == BULK_MAX {
            self.insert_at_once(category, foods).await?
        } else {
            let mut inserted = 0;
            for food in foods.iter() {
                inserted += self.conn.exec(Stmt::InsertFood.id(), &row_of(category, &food)).await?;
            }
            inserted
        };
        Ok(match inserted as usize == foods.len() {
            true => Outcome::of(Reply::Inserted { count: inserted as u32 }),
            false => Outcome::declined(Decline::FoodExists),
        })
    }

    async fn insert_at_once(&mut self, category: i64, foods: &Bulk) -> Result<u64, Fault> {
        // The parameters point at the names, so the foods must be somewhere.
        let mut rows = [NewFood { id: 0, facts: Facts::NONE }; BULK_MAX];
        rows.iter_mut().zip(foods.iter()).for_each(|(place, food)| *place = food);
        let mut params = [Param::Null; BULK_MAX * COLUMNS];
        for (params, food) in params.chunks_exact_mut(COLUMNS).zip(&rows) {
            params.copy_from_slice(&row_of(category, food));
        }
        self.conn.exec(Stmt::InsertFoods.id(), &params).await
    }
}

/// Columns of a food that is inserted.
const COLUMNS: usize = 9;

fn row_of(category: i64, food: &NewFood) -> [Param<'_>; COLUMNS] {
    let NewFood { id, facts } = food;
    [
        (*id).into(),
        category.into(),
        facts.name.as_str().into(),
        facts.kcal.into(),
        facts.protein.into(),
        facts.fat.into(),
        facts.carbs.into(),
        facts.fibre.into(),
        facts.price.into(),
    ]
}

fn read_name(row: &dyn Columns, index: usize) -> Result<Name, ColumnError> {
    Ok(Name::of(row.text(index)?))
}

fn read_number(row: &dyn Columns, index: usize) -> Result<u32, ColumnError> {
    u32::try_from(row.int(index)?).map_err(|_| ColumnError::new(index, "a number of 0 to 4294967295"))
}

fn read_category(row: &dyn Columns) -> Result<Category, ColumnError> {
    Ok(Category { id: row.int(0)?, name: read_name(row, 1)?, version: row.int(2)? })
}

fn read_food(row: &dyn Columns) -> Result<Food, ColumnError> {
    let facts = Facts {
        name: read_name(row, 2)?,
        kcal: read_number(row, 3)?,
        protein: read_number(row, 4)?,
        fat: read_number(row, 5)?,
        carbs: read_number(row, 6)?,
        fibre: match row.int_or_null(7)? {
            Some(_) => Some(read_number(row, 7)?),
            None => None,
        },
        price: read_number(row, 8)?,
    };
    Ok(Food { id: row.int(0)?, category: row.int(1)?, facts, version: row.int(9)? })
}

impl<C: SqlConn, K: Clock> Session<FoodCatalogue> for SqlSession<C, K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        self.conn.start(work);
        let result = self.transact(call, work.wanted).await;
        self.conn.move_into(work);
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        Some(self.conn.statement_times())
    }
}

/// Opens sessions that answer calls one statement at a time, over an opener that prepares the statements of [`catalogue`].
pub type SqlTarget<O, K> = sql::SqlTarget<FoodCatalogue, O, K>;

impl SqlForm for FoodCatalogue {
    type Session<C: SqlConn, K: Clock> = SqlSession<C, K>;
    type Form = Form;

    fn session<C: SqlConn, K: Clock>(conn: C, clock: K, form: Form) -> SqlSession<C, K> {
        SqlSession::new(conn, clock, form)
    }

    fn style(form: Form) -> &'static str {
        form.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_files_hold_what_the_code_asks_for() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
            assert_eq!(catalogue(dialect).unwrap().len(), Stmt::NAMES.len());
            let tables = schema(dialect).unwrap();
            let count = |prefix: &str| tables.iter().filter(|(name, _)| name.starts_with(prefix)).count();
            assert_eq!((count("table_"), count("index_")), (6, 5));
        }
    }
}
