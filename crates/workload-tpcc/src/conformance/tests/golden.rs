//! The recorded answers, held to the clauses by hand: numbers here were worked out from the loaded rows, not by code.

use crate::conformance::vectors::golden;
use crate::conformance::{GOLDEN_LOAD_SEED, recorded};
use crate::{Call, Cardinality, Data, Outcome, Paid, Placed, Short};
use std::fmt::Write;
use std::ops::RangeInclusive;

#[test]
fn the_committed_vectors_are_what_the_oracle_says() {
    let committed = include_str!("../../../spec/vectors/tpcc.jsonl");
    let mut differing = String::new();
    for (number, (committed, recorded)) in (0..).zip(committed.lines().zip(recorded().lines())) {
        if committed != recorded {
            writeln!(differing, "line {number}:\n- {committed}\n+ {recorded}").unwrap();
        }
    }
    assert!(differing.is_empty() && committed == recorded(), "run the example `vectors`\n{differing}");
}

/// The answer to a golden call, by its number from 1.
fn outcome(number: usize) -> Outcome {
    golden().swap_remove(number - 1).1.unwrap()
}

fn placed(number: usize) -> Placed {
    let Outcome::Placed(placed) = outcome(number) else { panic!("call {number} places no order") };
    placed
}

fn paid(number: usize) -> Paid {
    let Outcome::Paid(paid) = outcome(number) else { panic!("call {number} is not a payment") };
    paid
}

fn left(placed: &Placed) -> Vec<i64> {
    placed.lines.iter().map(|line| line.s_quantity).collect()
}

/// Six lines at 45.88, 35.10, 70.22, 62.57, 76.95 and 95.67; 1, 2, 8, 3, 4 and 5 pieces. Discount 30.62 %, taxes 8.42 %
/// and 9.11 %.
#[test]
fn a_total_is_worked_out_by_hand() {
    let order = placed(10);
    let amounts: Vec<i64> = order.lines.iter().map(|line| line.ol_amount.0).collect();
    assert_eq!(amounts, [4_588, 7_020, 56_176, 18_771, 30_780, 47_835]);
    // 1,651.70 × 0.6938 × 1.1753 = 1,346.834400…
    assert_eq!(165_170_i64 * 6_938 * 11_753, 13_468_344_003_380);
    assert_eq!((order.c_discount.0, order.w_tax.0, order.d_tax.0), (3_062, 842, 911));
    assert_eq!(order.total_amount.0, 134_683);
    // 824.95 would be 824.949079 cut; it is rounded.
    assert_eq!(placed(83).total_amount.0, 82_495);
}

#[test]
fn stock_may_fall_to_ten_and_not_to_nine() {
    // 18 pieces each: eight taken leave ten; nine taken leave nine, and 91 come.
    assert_eq!(left(&placed(10))[2], 10);
    assert_eq!(left(&placed(11))[2], 100);
    // 13 pieces, ten taken fifteen times: 3 + 91, down to 14, 4 + 91, down again.
    let drained = [94, 84, 74, 64, 54, 44, 34, 24, 14, 95, 85, 75, 65, 55, 45];
    assert_eq!(left(&placed(13)), drained);
    // 97 pieces of item 90: one taken first, ten by the last line.
    let order = placed(12);
    assert_eq!((left(&order)[0], left(&order)[5]), (96, 86));
    // One more of those with ten and with a hundred left.
    assert_eq!(left(&order)[6..], [100, 99]);
}

#[test]
fn each_warehouse_has_its_own_stock() {
    let order = placed(20);
    // Item 82 from both: 51 after call 15 at home, 14 away.
    assert_eq!((left(&order)[0], left(&order)[5]), (50, 13));
}

#[test]
fn only_both_marks_make_a_brand() {
    let brands: String = placed(17).lines.iter().map(|line| line.brand_generic.as_str()).collect();
    assert_eq!(brands, "GGGGGBGG");
}

#[test]
fn an_order_number_that_was_rolled_back_is_given_again() {
    for number in 21..=24 {
        let Outcome::Unused(unused) = outcome(number) else { panic!("call {number} is placed") };
        assert_eq!((unused.o_id, unused.c_last.as_str()), (31, "BARBARATION"));
    }
    assert_eq!(placed(26).o_id, 31);
    // Item 77: 49 after call 16. The four orders took none.
    assert_eq!(left(&placed(26))[0], 48);
}

#[test]
fn of_several_namesakes_the_middle_one_by_bytes_pays() {
    // One: itself. lkTx… and X0jv…: capitals come first, so X0jv… is first of two.
    assert_eq!(paid(37).customer.c_id, 9);
    assert_eq!(paid(39).customer.c_first.as_str(), "X0jvbVJh7X6f1tmg");
    // CUyd…, VOeb…, XjHG…: second of three.
    assert_eq!(paid(41).customer.c_first.as_str(), "VOebGXuZdsYLuHf");
    // Q4jF…, WP54…, XJt5…, e44Z…: second of four.
    assert_eq!(paid(43).customer.c_first.as_str(), "WP54uHr0");
    // 6Whq…, 8hYb…, DNnC…, avSX…, qrvu…: third of five.
    assert_eq!(paid(45).customer.c_first.as_str(), "DNnC2zxqPV");
    // 3k6e, 9p9U, A83j, G9BF, Lbe9, Sj7M, VAzg, bCaH, l5tp: fifth of nine.
    assert_eq!(paid(47).customer.c_first.as_str(), "Lbe9TCbG3");
}

#[test]
fn bad_credit_is_written_in_front() {
    let (first, second) = (paid(50), paid(51));
    // −10.00 − 4,990.01 − 4,889.94.
    assert_eq!((first.customer.c_balance.0, second.customer.c_balance.0), (-500_001, -988_995));
    let (first, second) = (first.c_data.unwrap(), second.c_data.unwrap());
    assert!(first.starts_with("1 1 1 1 1 4990.01 19G6eIk6h8"), "{first}");
    assert!(second.starts_with("1 1 1 1 1 4889.94 1 1 1 1 1 4990.01 19G6eIk6h8"), "{second}");
    assert_eq!((first.len(), &second[18..]), (200, &first[..182]));
    // Customer 18 of district 3 of warehouse 2 pays in district 10 of warehouse 1.
    assert!(paid(61).c_data.unwrap().starts_with("18 3 2 10 1 1000.00 "));
}

#[test]
fn a_delivery_pays_the_sum_of_the_lines() {
    let Outcome::Status(before) = outcome(84) else { panic!() };
    let Outcome::Status(after) = outcome(86) else { panic!() };
    // 45.88 + 70.20 + 187.71 + 307.80 + 478.35 = 1,089.94, onto −10.00.
    assert_eq!((before.c_balance.0, after.c_balance.0), (-1_000, 107_994));
    assert_eq!((before.o_carrier_id, after.o_carrier_id), (None, Some(6)));
    assert!(after.lines.iter().all(|line| line.ol_delivery_d.is_some()));
}

/// District 5 as loaded: orders 11 to 30 are the last twenty.
#[test]
fn twenty_orders_are_looked_through() {
    let data = Data::new(Cardinality::tiny(), GOLDEN_LOAD_SEED);
    let low = |o_ids: RangeInclusive<u32>, threshold| {
        let mut items = Vec::new();
        o_ids.for_each(|o_id| data.order_lines(1, 5, o_id, |line| items.push(line.ol_i_id)));
        items.sort_unstable();
        items.dedup();
        items.retain(|i_id| data.stock(1, *i_id).s_quantity < threshold);
        items.len()
    };
    assert_eq!((low(12..=30, 14), low(11..=30, 14)), (1, 2));
    assert_eq!((low(11..=30, 18), low(10..=30, 18)), (4, 5));
    assert_eq!(outcome(8), Outcome::Short(Short { low_stock: 2 }));
    assert_eq!(outcome(9), Outcome::Short(Short { low_stock: 4 }));
}

#[test]
fn the_script_meets_every_edge() {
    let golden = golden();
    let holds = |what: &str, edge: &dyn Fn(&Call, &Outcome) -> bool| {
        let found =
            golden.iter().any(|(call, answer)| answer.as_ref().is_ok_and(|outcome| edge(call, outcome)));
        assert!(found, "no call: {what}");
    };
    for position in [0, 3, 5] {
        holds("unused item", &|call, outcome| {
            let Call::NewOrder(order) = call else { return false };
            matches!(outcome, Outcome::Unused(_)) && order.lines[position].i_id == 101
        });
    }
    for count in [5, 15] {
        holds(
            "fewest and most lines",
            &|_, outcome| matches!(outcome, Outcome::Placed(placed) if placed.lines.len() == count),
        );
    }
    for remote in [1, 7] {
        holds("remote lines", &|call, _| {
            let Call::NewOrder(order) = call else { return false };
            order.lines.iter().filter(|line| line.supply_w_id != order.w_id).count() == remote
        });
    }
    for bad in [true, false] {
        holds("remote payments", &|call, outcome| {
            let (Call::Payment(call), Outcome::Paid(paid)) = (call, outcome) else { return false };
            call.c_w_id != call.w_id && paid.c_data.is_some() == bad
        });
    }
    for delivered in [0, 1, 10] {
        holds("deliveries", &|_, outcome| {
            let Outcome::Delivered(found) = outcome else { return false };
            found.o_ids.iter().flatten().count() == delivered
        });
    }
    for carried in [true, false] {
        holds("statuses of loaded and placed orders", &|_, outcome| {
            matches!(outcome, Outcome::Status(report) if report.o_carrier_id.is_some() == carried && report.o_id > 30)
                && golden.iter().any(|(_, answer)| {
                    matches!(answer, Ok(Outcome::Status(report)) if report.o_carrier_id.is_some() == carried && report.o_id <= 30)
                })
        });
    }
    assert_eq!(golden.iter().filter(|(_, answer)| answer.is_err()).count(), 2);
}
