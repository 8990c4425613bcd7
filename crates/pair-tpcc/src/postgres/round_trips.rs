//! The lines of an order in the order in which their stock is taken.

use arrayvec::ArrayVec;
use workload_tpcc::{LINES_MAX, Line};

/// Lines as columns, in rounds. Within a round no stock row comes twice, so that one statement can take it whole; and stock
/// rows are in the order in which every style locks them. There is one round, unless an item is ordered twice from one
/// warehouse: what is left after each of its lines is a part of the answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundTrips {
    /// ol_number, from 1.
    pub(crate) numbers: ArrayVec<i16, LINES_MAX>,
    pub(crate) items: ArrayVec<i32, LINES_MAX>,
    pub(crate) suppliers: ArrayVec<i32, LINES_MAX>,
    pub(crate) quantities: ArrayVec<i16, LINES_MAX>,
    /// The number of lines up to the end of each round.
    pub(crate) until: ArrayVec<i32, LINES_MAX>,
}

impl RoundTrips {
    pub(crate) fn of(lines: &[Line]) -> RoundTrips {
        let mut keys: ArrayVec<(u32, u32, u32, usize), LINES_MAX> = ArrayVec::new();
        for (index, line) in lines.iter().enumerate() {
            let again = lines[..index].iter().filter(|other| same_stock(other, line)).count() as u32;
            keys.push((again, line.i_id, line.supply_w_id, index));
        }
        keys.sort_unstable();
        let mut rounds = RoundTrips::default();
        for (position, &(round, i_id, supply_w_id, index)) in keys.iter().enumerate() {
            if position > 0 && keys[position - 1].0 != round {
                rounds.until.push(position as i32);
            }
            rounds.numbers.push(index as i16 + 1);
            rounds.items.push(i_id as i32);
            rounds.suppliers.push(supply_w_id as i32);
            rounds.quantities.push(lines[index].quantity as i16);
        }
        rounds.until.push(keys.len() as i32);
        rounds
    }
}

fn same_stock(one: &Line, other: &Line) -> bool {
    (one.i_id, one.supply_w_id) == (other.i_id, other.supply_w_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[(u32, u32)], numbers: &[i16], until: &[i32]) {
        let lines: Vec<Line> =
            lines.iter().map(|&(i_id, supply_w_id)| Line { i_id, supply_w_id, quantity: 1 }).collect();
        let rounds = RoundTrips::of(&lines);
        assert_eq!((rounds.numbers.as_slice(), rounds.until.as_slice()), (numbers, until), "{lines:?}");
    }

    #[test]
    fn stock_rows_are_taken_in_one_order_and_once_a_round() {
        check(&[(7, 2), (7, 1), (3, 9)], &[3, 2, 1], &[3]);
        check(&[(7, 2), (5, 1), (7, 2), (3, 9), (7, 2), (5, 1)], &[4, 2, 1, 6, 3, 5], &[3, 5, 6]);
        check(&[(7, 2); 4], &[1, 2, 3, 4], &[1, 2, 3, 4]);
    }
}
