//! A template with all that is in it, in three forms that answer the same: what a service's architecture costs can then be
//! told from what its language does.

use super::{SqlSession, Stmt, read_name, read_number};
use crate::answer::{Item, TemplateAnswer};
use crate::outcome::Decline;
use crate::{Name, Outcome};
use model::{Clock, DefectKind, Fault, Wanted};
use sql::{ColumnError, Columns, SqlConn};

/// How a template is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// One join over all tables.
    #[default]
    Join,
    /// One query for each table: the template, its days, its meals, its items with their foods.
    Levels,
    /// A query for each thing: the meals of each day, the items of each meal, the food of each item ("N+1").
    Nested,
}

impl Form {
    /// Its name in subjects and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Form::Join => "plain",
            Form::Levels => "levels",
            Form::Nested => "nested",
        }
    }
}

/// A template that is made of the rows of the join as they come.
struct Joined {
    id: i64,
    wanted: Wanted,
    /// From the first row on.
    answer: Option<TemplateAnswer>,
}

impl Joined {
    /// Takes a row. What is below a day without meals, or a meal without items, is not there.
    fn take(&mut self, row: &dyn Columns) -> Result<(), ColumnError> {
        let answer = match &mut self.answer {
            Some(answer) => answer,
            none => none.insert(TemplateAnswer::new(self.id, row.text(0)?, self.wanted)),
        };
        if let Some(day) = row.int_or_null(1)? {
            answer.day(day);
        }
        if let Some(meal) = row.int_or_null(2)?
            && answer.is_other(meal)
        {
            answer.meal(meal, row.text(3)?);
        }
        if let Some(food) = row.int_or_null(4)? {
            answer.item(food, row.text(5)?, read_number(row, 6)?, read_number(row, 7)?);
        }
        Ok(())
    }
}

/// An item in four columns from one on.
fn read_item(row: &dyn Columns, from: usize) -> Result<Item, ColumnError> {
    Ok(Item {
        food: row.int(from)?,
        name: read_name(row, from + 1)?,
        kcal: read_number(row, from + 2)?,
        grams: read_number(row, from + 3)?,
    })
}

impl<C: SqlConn, K: Clock> SqlSession<C, K> {
    pub(super) async fn template(&mut self, id: i64, wanted: Wanted) -> Result<Outcome, Fault> {
        match self.form {
            Form::Join => self.template_by_join(id, wanted).await,
            Form::Levels => self.template_by_levels(id, wanted).await,
            Form::Nested => self.template_by_nesting(id, wanted).await,
        }
    }

    async fn template_by_join(&mut self, id: i64, wanted: Wanted) -> Result<Outcome, Fault> {
        let mut joined = Joined { id, wanted, answer: None };
        self.conn.fold(Stmt::TemplateFull.id(), &[id.into()], &mut joined, Joined::take).await?;
        Ok(match joined.answer {
            Some(answer) => answer.finish(),
            None => Outcome::declined(Decline::NoSuchTemplate),
        })
    }

    /// Days, meals and items come in one order, so that each is followed by what belongs to it.
    async fn template_by_levels(&mut self, id: i64, wanted: Wanted) -> Result<Outcome, Fault> {
        let Some(mut answer) = self.template_itself(id, wanted).await? else {
            return Ok(Outcome::declined(Decline::NoSuchTemplate));
        };
        let (days, meals, items) = (&mut self.scratch.days, &mut self.scratch.meals, &mut self.scratch.items);
        days.clear();
        meals.clear();
        items.clear();
        let of = [id.into()];
        self.conn.rows(Stmt::TemplateDays.id(), &of, |row| row.int(0), days).await?;
        let read = |row: &dyn Columns| Ok((row.int(0)?, row.int(1)?, read_name(row, 2)?));
        self.conn.rows(Stmt::TemplateMeals.id(), &of, read, meals).await?;
        let read = |row: &dyn Columns| Ok((row.int(0)?, row.int(1)?, read_item(row, 2)?));
        self.conn.rows(Stmt::TemplateItems.id(), &of, read, items).await?;
        let mut meals = meals.iter().peekable();
        let mut items = items.iter().peekable();
        for &day in &*days {
            answer.day(day);
            while let Some(&(_, meal, name)) = meals.next_if(|(of, ..)| *of == day) {
                answer.meal(meal, name.as_str());
                while let Some((.., item)) = items.next_if(|(of, of_meal, _)| (*of, *of_meal) == (day, meal))
                {
                    answer.entry(item);
                }
            }
        }
        Ok(answer.finish())
    }

    async fn template_by_nesting(&mut self, id: i64, wanted: Wanted) -> Result<Outcome, Fault> {
        let Some(mut answer) = self.template_itself(id, wanted).await? else {
            return Ok(Outcome::declined(Decline::NoSuchTemplate));
        };
        let (days, meals, items) = (&mut self.scratch.days, &mut self.scratch.meals, &mut self.scratch.items);
        days.clear();
        self.conn.rows(Stmt::TemplateDays.id(), &[id.into()], |row| row.int(0), days).await?;
        for &day in &*days {
            answer.day(day);
            meals.clear();
            let read = |row: &dyn Columns| Ok((0, row.int(0)?, read_name(row, 1)?));
            self.conn.rows(Stmt::MealsOfDay.id(), &[id.into(), day.into()], read, meals).await?;
            for &(_, meal, name) in &*meals {
                answer.meal(meal, name.as_str());
                items.clear();
                let read = |row: &dyn Columns| {
                    let (food, grams) = (row.int(0)?, read_number(row, 1)?);
                    Ok((0, 0, Item { food, name: Name::EMPTY, kcal: 0, grams }))
                };
                let of = [id.into(), day.into(), meal.into()];
                self.conn.rows(Stmt::ItemsOfMeal.id(), &of, read, items).await?;
                for (_, _, item) in items.iter_mut() {
                    let read = |row: &dyn Columns| Ok((read_name(row, 0)?, read_number(row, 1)?));
                    let food = self.conn.row(Stmt::FoodOfItem.id(), &[item.food.into()], read).await?;
                    (item.name, item.kcal) = food.ok_or_else(|| without_food(item.food))?;
                    answer.entry(item);
                }
            }
        }
        Ok(answer.finish())
    }

    async fn template_itself(&mut self, id: i64, wanted: Wanted) -> Result<Option<TemplateAnswer>, Fault> {
        let name = self.conn.row(Stmt::Template.id(), &[id.into()], |row| read_name(row, 0)).await?;
        Ok(name.map(|name| TemplateAnswer::new(id, name.as_str(), wanted)))
    }
}

#[cold]
fn without_food(id: i64) -> Fault {
    Fault::defect(DefectKind::BadData, format!("an item names food {id}, which is not there"))
}
