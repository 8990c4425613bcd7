//! Answers in the making: counts always, and a digest or JSON where the caller wants it. Nothing is kept of what has been
//! written but these, so an answer is encoded as its rows come.

use crate::data::category_name;
use crate::digest::{Fields, Fold};
use crate::outcome::{Ends, Listed, Reply};
use crate::{Category, Digest, Food, Name, Outcome};
use model::Wanted;
use serde::Serialize;

/// Bytes that most answers fit in; templates need more.
const BODY_BYTES: usize = 4 << 10;
/// Bytes that a standard template fits in.
const TEMPLATE_BYTES: usize = 48 << 10;

impl Category {
    pub fn digest(&self) -> Digest {
        Fields::new().int(self.id).text(self.name.as_str()).int(self.version).finish()
    }
}

impl Food {
    pub fn digest(&self) -> Digest {
        let facts = &self.facts;
        Fields::new()
            .int(self.id)
            .int(self.category)
            .text(facts.name.as_str())
            .int(facts.kcal.into())
            .int(facts.protein.into())
            .int(facts.fat.into())
            .int(facts.carbs.into())
            .int_or_null(facts.fibre)
            .int(facts.price.into())
            .int(self.version)
            .finish()
    }
}

/// A food in a meal of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Item {
    /// The food's id.
    pub food: i64,
    pub name: Name,
    /// Its kilocalories in 100 g.
    pub kcal: u32,
    pub grams: u32,
}

impl Item {
    pub(crate) fn digest(&self) -> Digest {
        let Item { food, name, kcal, grams } = self;
        Fields::new().int(*food).text(name.as_str()).int((*kcal).into()).int((*grams).into()).finish()
    }
}

/// JSON, where it is wanted.
#[derive(Debug)]
struct Json {
    body: Option<Vec<u8>>,
    /// Whether digests are wanted too.
    digests: bool,
}

impl Json {
    fn new(wanted: Wanted, bytes: usize) -> Json {
        Json { body: wanted.body().then(|| Vec::with_capacity(bytes)), digests: wanted.digest() }
    }

    fn text(&mut self, text: &str) {
        if let Some(into) = &mut self.body {
            into.extend_from_slice(text.as_bytes());
        }
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        if let Some(into) = &mut self.body {
            serde_json::to_writer(into, value)
                .expect("plain structs always become JSON, and a Vec takes every byte");
        }
    }

    /// A digest, where digests are wanted; else that of nothing.
    fn digest(&self, digest: impl FnOnce() -> Digest) -> Digest {
        if self.digests { digest() } else { Digest::default() }
    }

    /// Counts an element, and adds its digest where digests are wanted.
    fn push(&self, fold: &mut Fold, digest: impl FnOnce() -> Digest) {
        if self.digests {
            _ = fold.push(digest());
        } else {
            fold.count += 1;
        }
    }

    fn finish(self, reply: Reply) -> Outcome {
        Outcome { reply, body: self.body.unwrap_or_default() }
    }
}

pub(crate) fn category(category: &Category, wanted: Wanted) -> Outcome {
    let mut json = Json::new(wanted, BODY_BYTES);
    json.value(category);
    let digest = json.digest(|| category.digest());
    json.finish(Reply::Category { version: category.version, digest })
}

pub(crate) fn food(food: &Food, wanted: Wanted) -> Outcome {
    let mut json = Json::new(wanted, BODY_BYTES);
    json.value(food);
    let digest = json.digest(|| food.digest());
    json.finish(Reply::Food { version: food.version, digest })
}

pub(crate) fn categories<'a>(all: impl IntoIterator<Item = &'a Category>, wanted: Wanted) -> Outcome {
    let mut json = Json::new(wanted, BODY_BYTES);
    let mut summary = CategorySummary::default();
    json.text(r#"{"categories":["#);
    for category in all {
        if summary.fold.count > 0 {
            json.text(",");
        }
        json.value(category);
        match wanted.digest() {
            true => summary.push(category),
            false => summary.fold.count += 1,
        }
    }
    json.text("]}");
    let digest = json.digest(|| summary.fold.digest());
    json.finish(Reply::Categories { count: summary.fold.count, digest, renamed: summary.renamed })
}

/// Categories that are summed up as they come.
#[derive(Debug, Default)]
pub(crate) struct CategorySummary {
    fold: Fold,
    renamed: Option<i64>,
}

impl CategorySummary {
    pub(crate) fn push(&mut self, category: &Category) {
        _ = self.fold.push(category.digest());
        if self.renamed.is_none() && category.name != category_name(category.id) {
            self.renamed = Some(category.id);
        }
    }

    pub(crate) fn reply(&self) -> Reply {
        Reply::Categories { count: self.fold.count, digest: self.fold.digest(), renamed: self.renamed }
    }
}

/// Foods that are summed up as they come.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    fold: Fold,
    ends: Option<Ends>,
}

impl Summary {
    pub(crate) fn push(&mut self, food: &Food) {
        let is_sample = self.fold.push(food.digest());
        match &mut self.ends {
            None => self.ends = Some(Ends::of(food)),
            Some(ends) => ends.push(food, is_sample),
        }
    }

    pub(crate) fn finish(&self, total: Option<u64>) -> Listed {
        Listed { count: self.fold.count, total, digest: self.fold.digest(), ends: self.ends }
    }
}

pub(crate) fn foods<'a>(
    foods: impl IntoIterator<Item = &'a Food>,
    total: Option<u64>,
    wanted: Wanted,
) -> Outcome {
    let mut json = Json::new(wanted, BODY_BYTES);
    let (mut count, mut summary) = (0, Summary::default());
    json.text("{");
    if let Some(total) = total {
        json.text(r#""total":"#);
        json.value(&total);
        json.text(",");
    }
    json.text(r#""foods":["#);
    for food in foods {
        if count > 0 {
            json.text(",");
        }
        json.value(food);
        count += 1;
        if wanted.digest() {
            summary.push(food);
        }
    }
    json.text("]}");
    json.finish(Reply::Foods(Listed { count, ..summary.finish(total) }))
}

/// A template in the making: its days, their meals and the items of these, in order.
#[derive(Debug)]
pub(crate) struct TemplateAnswer {
    json: Json,
    sums: TemplateSums,
    id: i64,
    name: Name,
    day: Option<i64>,
    meal: Option<(i64, Name)>,
}

/// The same, as far as an outcome tells.
#[derive(Debug, Default)]
pub(crate) struct TemplateSums {
    pub(crate) days: Fold,
    pub(crate) meals: Fold,
    pub(crate) items: Fold,
    pub(crate) meals_all: u32,
    pub(crate) items_all: u32,
}

/// A meal with its items.
pub(crate) fn meal_digest(meal: i64, name: &Name, items: Digest) -> Digest {
    Fields::new().int(meal).text(name.as_str()).digest(items).finish()
}

/// A day with its meals.
pub(crate) fn day_digest(day: i64, meals: Digest) -> Digest {
    Fields::new().int(day).digest(meals).finish()
}

/// A template with its days.
pub(crate) fn template_digest(id: i64, name: &Name, days: Digest) -> Digest {
    Fields::new().int(id).text(name.as_str()).digest(days).finish()
}

impl TemplateAnswer {
    pub(crate) fn new(id: i64, name: &str, wanted: Wanted) -> TemplateAnswer {
        let mut json = Json::new(wanted, TEMPLATE_BYTES);
        json.text(r#"{"id":"#);
        json.value(&id);
        json.text(r#","name":"#);
        json.value(name);
        json.text(r#","days":["#);
        let name = Name::of(name);
        TemplateAnswer { json, sums: TemplateSums::default(), id, name, day: None, meal: None }
    }

    /// Begins a day, unless it is the one under way.
    pub(crate) fn day(&mut self, day: i64) {
        if self.day == Some(day) {
            return;
        }
        self.end_day();
        self.json.text(if self.sums.days.count > 0 { r#",{"day":"# } else { r#"{"day":"# });
        self.json.value(&day);
        self.json.text(r#","meals":["#);
        self.day = Some(day);
    }

    /// Whether a meal is not the one under way.
    pub(crate) fn is_other(&self, meal: i64) -> bool {
        self.meal.is_none_or(|(under_way, _)| under_way != meal)
    }

    /// Begins a meal, unless it is the one under way.
    pub(crate) fn meal(&mut self, meal: i64, name: &str) {
        if !self.is_other(meal) {
            return;
        }
        self.end_meal();
        self.json.text(if self.sums.meals.count > 0 { r#",{"meal":"# } else { r#"{"meal":"# });
        self.json.value(&meal);
        self.json.text(r#","name":"#);
        self.json.value(name);
        self.json.text(r#","items":["#);
        self.meal = Some((meal, Name::of(name)));
    }

    pub(crate) fn item(&mut self, food: i64, name: &str, kcal: u32, grams: u32) {
        let json = &mut self.json;
        json.text(if self.sums.items.count > 0 { r#",{"food":"# } else { r#"{"food":"# });
        json.value(&food);
        json.text(r#","name":"#);
        json.value(name);
        json.text(r#","kcal":"#);
        json.value(&kcal);
        json.text(r#","grams":"#);
        json.value(&grams);
        json.text("}");
        json.push(&mut self.sums.items, || Item { food, name: Name::of(name), kcal, grams }.digest());
    }

    /// An item that lies somewhere.
    pub(crate) fn entry(&mut self, &Item { food, ref name, kcal, grams }: &Item) {
        self.item(food, name.as_str(), kcal, grams);
    }

    pub(crate) fn finish(mut self) -> Outcome {
        self.end_day();
        self.json.text("]}");
        let TemplateAnswer { json, sums, id, name, .. } = self;
        let digest = json.digest(|| template_digest(id, &name, sums.days.digest()));
        json.finish(Reply::Template {
            days: sums.days.count,
            meals: sums.meals_all,
            items: sums.items_all,
            digest,
        })
    }

    fn end_meal(&mut self) {
        if let Some((meal, name)) = self.meal.take() {
            let items = std::mem::take(&mut self.sums.items);
            self.sums.items_all += items.count;
            self.json.push(&mut self.sums.meals, || meal_digest(meal, &name, items.digest()));
            self.json.text("]}");
        }
    }

    fn end_day(&mut self) {
        self.end_meal();
        if let Some(day) = self.day.take() {
            let meals = std::mem::take(&mut self.sums.meals);
            self.sums.meals_all += meals.count;
            self.json.push(&mut self.sums.days, || day_digest(day, meals.digest()));
            self.json.text("]}");
        }
    }
}
