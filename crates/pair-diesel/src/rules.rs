//! Rules of TPC-C that no query expresses.

use arrayvec::ArrayVec;
use model::Cents;
use workload_tpcc::{LINES_MAX, Line, Payment};

/// Indexes of the lines in the order of their stock rows, which is the same for all: two orders that want the same rows
/// then wait for each other in one direction only. An unused item number is the highest of all, so it comes last.
pub(crate) fn working_order(lines: &[Line]) -> ArrayVec<usize, LINES_MAX> {
    let mut order: ArrayVec<usize, LINES_MAX> = (0..lines.len()).collect();
    order.sort_by_key(|index| (lines[*index].i_id, lines[*index].supply_w_id, *index));
    order
}

/// 2.5.2.2: the fact goes in front of c_data, which is cut at 500 characters.
pub(crate) fn bad_credit_data(call: &Payment, c_id: u32, old: &str) -> String {
    let Payment { w_id, d_id, c_w_id, c_d_id, h_amount: Cents(amount), .. } = *call;
    let (units, cents) = (amount / 100, amount % 100);
    let mut data = format!("{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {units}.{cents:02} {old}");
    data.truncate(data.floor_char_boundary(500));
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload_tpcc::Who;

    #[test]
    fn lines_are_worked_in_the_order_of_their_stock_rows() {
        let line = |i_id, supply_w_id| Line { i_id, supply_w_id, quantity: 1 };
        let lines = [line(7, 2), line(7, 1), line(3, 9), line(7, 2), line(100_001, 1)];
        assert_eq!(working_order(&lines).as_slice(), [2, 1, 0, 3, 4]);
    }

    #[test]
    fn the_fact_of_a_bad_credit_payment_goes_in_front() {
        let (customer, h_amount) = (Who::Id(5), Cents(123_405));
        let call = Payment { w_id: 1, d_id: 2, c_w_id: 3, c_d_id: 4, customer, h_amount };
        let data = bad_credit_data(&call, 5, &"x".repeat(500));
        assert_eq!((&data[..22], data.len()), ("5 4 3 2 1 1234.05 xxxx", 500));
    }
}
