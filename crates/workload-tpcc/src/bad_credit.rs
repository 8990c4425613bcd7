//! What Payment keeps in c_data of customers with bad credit.

use crate::Payment;
use crate::outcome::Text;
use model::Cents;

/// 2.5.2.2: the fact goes in front of c_data, which is cut at 500 characters.
pub(crate) fn bad_credit_data(call: &Payment, c_id: u32, old: &str) -> Text<500> {
    use std::fmt::Write;
    let Payment { w_id, d_id, c_w_id, c_d_id, h_amount: Cents(amount), .. } = *call;
    let mut fact = Text::<500>::new();
    let (units, cents) = (amount / 100, amount % 100);
    write!(fact, "{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {units}.{cents:02} ")
        .expect("six numbers fit into 500 characters");
    let room = 500 - fact.len();
    fact.push_str(&old[..old.floor_char_boundary(room)]);
    fact
}

/// The first 200 characters.
pub(crate) fn cut(data: &str) -> Text<200> {
    Text::from(&data[..data.floor_char_boundary(200)]).expect("no more than 200 by the cut")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Who;

    #[test]
    fn the_fact_of_a_bad_credit_payment_goes_in_front() {
        let call = Payment {
            w_id: 1,
            d_id: 2,
            c_w_id: 3,
            c_d_id: 4,
            customer: Who::Id(5),
            h_amount: Cents(123_405),
        };
        let data = bad_credit_data(&call, 5, &"x".repeat(500));
        assert_eq!((&data[..22], data.len()), ("5 4 3 2 1 1234.05 xxxx", 500));
    }
}
