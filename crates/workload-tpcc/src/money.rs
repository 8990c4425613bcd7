//! The total of an order, exactly.

use model::{BasisPoints, Cents};

/// Σ ol_amount × (1 − c_discount) × (1 + w_tax + d_tax) (2.4.2.2), rounded half up to a cent.
///
/// Whole-number arithmetic: the largest order (15 lines of 10 pieces at 100.00) times both factors stays below 2⁵⁰.
pub fn order_total(amounts: Cents, discount: BasisPoints, w_tax: BasisPoints, d_tax: BasisPoints) -> Cents {
    const ONE: i64 = 10_000;
    let scaled = amounts.0 * (ONE - discount.0) * (ONE + w_tax.0 + d_tax.0);
    Cents((scaled + ONE * ONE / 2).div_euclid(ONE * ONE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(amounts: i64, discount: i64, w_tax: i64, d_tax: i64) -> i64 {
        order_total(Cents(amounts), BasisPoints(discount), BasisPoints(w_tax), BasisPoints(d_tax)).0
    }

    #[test]
    fn a_total_is_exact_and_rounds_half_up() {
        assert_eq!(total(10_000, 0, 0, 0), 10_000);
        assert_eq!(total(10_000, 5_000, 2_000, 2_000), 7_000);
        assert_eq!(total(1, 5_000, 0, 0), 1); // half a cent
        assert_eq!(total(1, 5_001, 0, 0), 0);
        assert_eq!(total(1_500_000, 0, 2_000, 2_000), 2_100_000);
    }
}
