//! Exact money and exact rates.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// A sum of numbers that servers send. It saturates: one that does not fit differs from every sum that is right, and ends no process.
pub fn total(numbers: impl IntoIterator<Item = i64>) -> i64 {
    numbers.into_iter().fold(0, i64::saturating_add)
}

/// Money in minor units. Never a float (TPC-C 1.3 asks for exact amounts). Amounts come from servers, so arithmetic saturates: a sum
/// that does not fit differs from every sum that is right, and ends no process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cents(pub i64);

/// A rate in ten-thousandths: 0.0000 to 1.0000 as 0 to 10 000. Taxes and discounts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BasisPoints(pub i64);

impl Cents {
    #[must_use]
    pub const fn times(self, quantity: i64) -> Cents {
        Cents(self.0.saturating_mul(quantity))
    }
}

impl Add for Cents {
    type Output = Cents;
    fn add(self, other: Cents) -> Cents {
        Cents(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Cents {
    fn add_assign(&mut self, other: Cents) {
        *self = *self + other;
    }
}

impl Sub for Cents {
    type Output = Cents;
    fn sub(self, other: Cents) -> Cents {
        Cents(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Cents {
    fn sub_assign(&mut self, other: Cents) {
        *self = *self - other;
    }
}

impl Neg for Cents {
    type Output = Cents;
    fn neg(self) -> Cents {
        Cents(self.0.saturating_neg())
    }
}

impl Sum for Cents {
    fn sum<I: Iterator<Item = Cents>>(iter: I) -> Cents {
        iter.fold(Cents(0), Add::add)
    }
}
