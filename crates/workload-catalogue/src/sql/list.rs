//! The list of foods: a closed set of statements, one for each filter, order and way to go on.

use super::{SqlSession, Stmt, read_food};
use crate::call::{Filter, From, Key, List, Order};
use crate::{NAME_MAX, Outcome, answer};
use arrayvec::ArrayString;
use model::{Clock, Fault, Wanted};
use sql::{Param, SqlConn};

impl List {
    /// The statement, and the one that counts what the filter lets through.
    fn statements(&self) -> (Stmt, Stmt) {
        use Stmt as S;
        let (by_name, by_kcal, count) = match self.filter {
            Filter::All => (
                [S::FoodsByNamePage, S::FoodsByNameAfter],
                [S::FoodsByKcalPage, S::FoodsByKcalAfter],
                S::CountFoods,
            ),
            Filter::Category(_) => (
                [S::CategoryFoodsByNamePage, S::CategoryFoodsByNameAfter],
                [S::CategoryFoodsByKcalPage, S::CategoryFoodsByKcalAfter],
                S::CountCategoryFoods,
            ),
            Filter::Search(_) => (
                [S::SearchFoodsByNamePage, S::SearchFoodsByNameAfter],
                [S::SearchFoodsByKcalPage, S::SearchFoodsByKcalAfter],
                S::CountSearchFoods,
            ),
        };
        let [page, after] = match self.order {
            Order::Name => by_name,
            Order::Kcal => by_kcal,
        };
        (if matches!(self.from, From::Page(_)) { page } else { after }, count)
    }
}

/// What is above every name that begins with this one, and below all others that are above it: `{` follows `z`, the last of
/// the characters that names are made of. One longer than a name may be.
fn above(begin: &str) -> ArrayString<{ NAME_MAX + 1 }> {
    let mut above = ArrayString::new();
    above.push_str(begin);
    above.push('{');
    above
}

impl<C: SqlConn, K: Clock> SqlSession<C, K> {
    pub(super) async fn foods(&mut self, list: &List, wanted: Wanted) -> Result<Outcome, Fault> {
        let (statement, count) = list.statements();
        // First what the filter asks for, which is all that counting needs.
        let mut params = [Param::Null; 5];
        let above = match &list.filter {
            Filter::Search(begin) => above(begin.as_str()),
            Filter::All | Filter::Category(_) => ArrayString::new(),
        };
        let filtered = match &list.filter {
            Filter::All => 0,
            Filter::Category(category) => {
                params[0] = (*category).into();
                1
            }
            Filter::Search(begin) => {
                (params[0], params[1]) = (begin.as_str().into(), above.as_str().into());
                2
            }
        };
        let total = match list.from {
            From::Page(_) => {
                let count = self.conn.row(count.id(), &params[..filtered], |row| row.int(0)).await?;
                Some(count.unwrap_or(0) as u64)
            }
            From::After(..) => None,
        };
        params[filtered] = list.size.into();
        let rest = match &list.from {
            From::Page(page) => {
                params[filtered + 1] = (i64::from(page - 1) * i64::from(list.size)).into();
                2
            }
            From::After(key, id) => {
                params[filtered + 1] = match key {
                    Key::Name(name) => name.as_str().into(),
                    Key::Kcal(kcal) => (*kcal).into(),
                };
                params[filtered + 2] = (*id).into();
                3
            }
        };
        let into = &mut self.scratch.foods;
        into.clear();
        self.conn.rows(statement.id(), &params[..filtered + rest], read_food, into).await?;
        Ok(answer::foods(into.iter(), total, wanted))
    }
}
