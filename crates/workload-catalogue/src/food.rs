//! What the catalogue holds: categories and foods.

use crate::Name;
use serde::{Deserialize, Serialize};

/// The largest id: whole numbers up to here survive every JSON reader (RFC 8259 6).
pub const ID_MAX: i64 = (1 << 53) - 1;
/// Most kilocalories in 100 g; pure fat has 900.
pub const KCAL_MAX: u32 = 900;
/// Tenths of a gram in 100 g: the most of each nutrient, and of protein, fat and carbohydrates together.
pub const NUTRIENT_MAX: u32 = 1_000;
/// The highest price, in cents.
pub const PRICE_MAX: u32 = 1_000_000;

/// A category. Its id was chosen by who created it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    pub id: i64,
    pub name: Name,
    pub version: i64,
}

/// A food without its id, its category and its version: what can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    pub name: Name,
    /// Kilocalories in 100 g: 0 to [`KCAL_MAX`].
    pub kcal: u32,
    /// Tenths of a gram of protein in 100 g.
    pub protein: u32,
    /// Tenths of a gram of fat in 100 g.
    pub fat: u32,
    /// Tenths of a gram of carbohydrates in 100 g.
    pub carbs: u32,
    /// Tenths of a gram of fibre in 100 g, where it is known. May be left out.
    #[serde(default)]
    pub fibre: Option<u32>,
    /// Price of 100 g in cents: 0 to [`PRICE_MAX`].
    pub price: u32,
}

impl Facts {
    /// Of no food: where there is none yet.
    pub(crate) const NONE: Facts =
        Facts { name: Name::EMPTY, kcal: 0, protein: 0, fat: 0, carbs: 0, fibre: None, price: 0 };

    /// Checks what the fields must be, each and together.
    ///
    /// # Errors
    /// The first field that is wrong, and what would be right.
    pub fn validate(&self) -> Result<(), String> {
        let within = |field: &str, value: u32, most: u32| match value <= most {
            true => Ok(()),
            false => Err(format!("{field} is {value}; it runs from 0 to {most}")),
        };
        within("kcal", self.kcal, KCAL_MAX)?;
        within("protein", self.protein, NUTRIENT_MAX)?;
        within("fat", self.fat, NUTRIENT_MAX)?;
        within("carbs", self.carbs, NUTRIENT_MAX)?;
        within("fibre", self.fibre.unwrap_or(0), NUTRIENT_MAX)?;
        within("price", self.price, PRICE_MAX)?;
        within("the sum of protein, fat and carbs", self.protein + self.fat + self.carbs, NUTRIENT_MAX)
    }
}

/// A food. Its id is its barcode, known to who creates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Food {
    /// Its id: 1 to [`ID_MAX`].
    pub id: i64,
    /// The category that it belongs to.
    pub category: i64,
    /// What can be changed.
    #[serde(flatten)]
    pub facts: Facts,
    /// 1 when it is created, and one more with each change.
    pub version: i64,
}

/// A food to be created in a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewFood {
    pub id: i64,
    pub facts: Facts,
}
