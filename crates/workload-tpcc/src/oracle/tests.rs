use super::*;
use crate::conformance::ConformancePlan;
use crate::conformance::probes::Probes;
use crate::{LINES_MIN, last_name};
use model::{BasisPoints, Workload};

const PLAN: ConformancePlan = ConformancePlan::golden(11, 5_000);

fn data() -> Data {
    Data::new(PLAN.size, PLAN.load_seed)
}

fn calls(plan: &ConformancePlan) -> Vec<Call> {
    let mut probes = Probes::new(&Data::new(plan.size, plan.load_seed), plan);
    (0..plan.random_calls).map(|_| probes.draw()).collect()
}

/// The twelve consistency conditions (3.3.2) and what they miss, over the whole state. One line a violation.
fn violations(oracle: &Oracle) -> Vec<String> {
    let mut found = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            found.push(what);
        }
    };
    let paid = |belongs: &dyn Fn(&HistoryRow) -> bool| {
        oracle.history.iter().filter(|row| belongs(row)).map(|row| row.h_amount).sum::<Cents>()
    };
    for warehouse in &oracle.warehouses {
        let w_id = warehouse.w_id;
        let districts = oracle.districts.iter().filter(|district| district.row.d_w_id == w_id);
        let received = districts.map(|district| district.row.d_ytd).sum::<Cents>();
        must(warehouse.w_ytd == received, format!("1: w_ytd of {w_id}"));
        must(warehouse.w_ytd == paid(&|row| row.h_w_id == w_id), format!("8: w_ytd of {w_id}"));
    }
    for district in &oracle.districts {
        let (w_id, d_id) = (district.row.d_w_id, district.row.d_id);
        let mut must = |holds: bool, what: &str| must(holds, format!("{what} of {w_id}/{d_id}"));
        let newest = district.orders.iter().map(|order| order.row.o_id).max().unwrap();
        let waiting = &district.undelivered;
        must(district.row.d_next_o_id - 1 == newest, "2: d_next_o_id");
        must(waiting.iter().max().is_none_or(|max| *max == newest), "2: no_o_id");
        let span = waiting.iter().max().map_or(0, |max| max - waiting.iter().min().unwrap() + 1);
        must(span as usize == waiting.len(), "3: no_o_id");
        let lines = district.orders.iter().map(|order| order.lines.len()).sum::<usize>();
        let counted = district.orders.iter().map(|order| order.row.o_ol_cnt as usize).sum::<usize>();
        must(lines == counted, "4: o_ol_cnt");
        for order in &district.orders {
            let open = order.row.o_carrier_id.is_none();
            must(open == waiting.contains(&order.row.o_id), "5: o_carrier_id");
            must(order.row.o_ol_cnt as usize == order.lines.len(), "6: o_ol_cnt");
            must(order.lines.iter().all(|line| line.ol_delivery_d.is_none() == open), "7: ol_delivery_d");
        }
        must(district.row.d_ytd == paid(&|row| (row.h_w_id, row.h_d_id) == (w_id, d_id)), "9: d_ytd");
        let delivered = district.orders.len() - waiting.len();
        let credited =
            district.customers.iter().map(|customer| customer.c_delivery_cnt as usize).sum::<usize>();
        let loaded = (oracle.size.orders - oracle.size.undelivered) as usize;
        must(delivered - credited == loaded, "11: orders - new_order");
        for customer in &district.customers {
            let mine = district
                .orders
                .iter()
                .filter(|order| order.row.o_c_id == customer.c_id && order.row.o_carrier_id.is_some());
            let owed = mine.flat_map(|order| &order.lines).map(|line| line.ol_amount).sum::<Cents>();
            let is_payer =
                |row: &HistoryRow| (row.h_c_w_id, row.h_c_d_id, row.h_c_id) == (w_id, d_id, customer.c_id);
            must(customer.c_balance == owed - paid(&is_payer), "10: c_balance");
            must(customer.c_balance + customer.c_ytd_payment == owed, "12: c_balance");
            let payments = oracle.history.iter().filter(|row| is_payer(row)).count();
            must(customer.c_payment_cnt as usize == payments, "shape: c_payment_cnt");
        }
    }
    found.extend(shape_violations(oracle));
    found
}

/// Counters of the stock against the lines that were placed since the load, by supplying warehouse.
fn shape_violations(oracle: &Oracle) -> Vec<String> {
    let placed = |district: &District| {
        district.orders[oracle.size.orders as usize..]
            .iter()
            .flat_map(|order| order.lines.clone())
            .collect::<Vec<_>>()
    };
    let lines: Vec<OrderLineRow> = oracle.districts.iter().flat_map(placed).collect();
    let mut found = Vec::new();
    for stock in &oracle.stock {
        let mine: Vec<&OrderLineRow> = lines
            .iter()
            .filter(|line| (line.ol_supply_w_id, line.ol_i_id) == (stock.s_w_id, stock.s_i_id))
            .collect();
        let pieces = mine.iter().map(|line| i64::from(line.ol_quantity)).sum::<i64>();
        let remote = mine.iter().filter(|line| line.ol_w_id != line.ol_supply_w_id).count();
        let refills = (0..).take(1_000).find(|refills| {
            let loaded = data().stock(stock.s_w_id, stock.s_i_id).s_quantity;
            loaded - pieces + 91 * refills == stock.s_quantity
        });
        let holds = stock.s_ytd == pieces
            && stock.s_order_cnt as usize == mine.len()
            && stock.s_remote_cnt as usize == remote
            && refills.is_some()
            && (10..=100).contains(&stock.s_quantity);
        if !holds {
            found.push(format!("shape: stock {stock:?}"));
        }
    }
    for line in &lines {
        let price = oracle.items[line.ol_i_id as usize - 1].i_price.0;
        if line.ol_amount.0 != price * i64::from(line.ol_quantity) {
            found.push(format!("shape: amount of {line:?}"));
        }
    }
    found
}

#[test]
fn the_consistency_conditions_hold_after_5000_random_calls() {
    let mut oracle = Oracle::new(&data());
    assert_eq!(violations(&oracle), [""; 0]);
    let mut kinds = [0; 5];
    for call in calls(&PLAN) {
        let outcome = oracle.answer(&call).unwrap();
        assert_eq!(Tpcc::check(&call, &outcome), Ok(()), "{call:?}");
        kinds[Tpcc::kind(&call)] += 1;
    }
    assert!(kinds.iter().all(|count| *count > 100), "{kinds:?}");
    assert_eq!(violations(&oracle), [""; 0]);
}

/// The conditions that a harm to the loaded state violates, each once.
fn broken(harm: impl FnOnce(&mut Oracle)) -> String {
    let mut oracle = Oracle::new(&data());
    harm(&mut oracle);
    let mut found: Vec<String> = violations(&oracle)
        .iter()
        .map(|line| line.split(':').next().unwrap_or_default().to_owned())
        .collect();
    found.dedup();
    found.join(" ")
}

#[test]
fn the_checker_of_the_conditions_sees_each_of_them_broken() {
    assert_eq!(broken(|_| {}), "");
    assert_eq!(broken(|oracle| oracle.warehouses[1].w_ytd.0 += 1), "1 8");
    assert_eq!(broken(|oracle| oracle.districts[3].row.d_next_o_id += 1), "2");
    assert_eq!(broken(|oracle| oracle.districts[3].undelivered.retain(|o_id| *o_id != 25)), "3 5 11");
    assert_eq!(broken(|oracle| oracle.districts[3].orders[7].lines.truncate(4)), "4 6");
    assert_eq!(broken(|oracle| oracle.districts[3].orders[25].row.o_carrier_id = Some(1)), "5 7 10 12");
    assert_eq!(broken(|oracle| oracle.districts[3].orders[7].lines[0].ol_delivery_d = None), "7");
    assert_eq!(broken(|oracle| oracle.districts[3].row.d_ytd.0 += 1), "1 9");
    assert_eq!(broken(|oracle| oracle.districts[3].customers[2].c_balance.0 += 1), "10 12");
    assert_eq!(broken(|oracle| oracle.districts[3].customers[2].c_delivery_cnt += 1), "11");
    assert_eq!(broken(|oracle| oracle.districts[3].customers[2].c_ytd_payment.0 += 1), "12");
    assert_eq!(broken(|oracle| oracle.stock[5].s_ytd += 1), "shape");
}

#[test]
fn the_same_seed_gives_the_same_outcomes() {
    let outcomes = |seed| {
        let plan = ConformancePlan::golden(seed, 1_000);
        let mut oracle = Oracle::new(&data());
        calls(&plan).iter().map(|call| oracle.answer(call).unwrap()).collect::<Vec<_>>()
    };
    let first = outcomes(3);
    assert!(first == outcomes(3));
    assert!(first != outcomes(4));
}

#[test]
fn a_call_that_names_nothing_is_rejected_and_changes_nothing() {
    let mut oracle = Oracle::new(&data());
    let before = format!("{oracle:?}");
    let line = Line { i_id: 1, supply_w_id: 1, quantity: 1 };
    let mut lines: ArrayVec<Line, 15> = [line; LINES_MIN].into_iter().collect();
    let order = |w_id, d_id, c_id, lines: &ArrayVec<Line, 15>| {
        Call::NewOrder(NewOrder { w_id, d_id, c_id, lines: lines.clone() })
    };
    let payment = |w_id, c_w_id, customer| {
        Call::Payment(Payment { w_id, d_id: 1, c_w_id, c_d_id: 1, customer, h_amount: Cents(100) })
    };
    let mut calls = vec![
        order(0, 1, 1, &lines),
        order(3, 1, 1, &lines),
        order(1, 11, 1, &lines),
        order(1, 1, 31, &lines),
        payment(3, 1, Who::Id(1)),
        payment(1, 3, Who::Id(1)),
        payment(1, 1, Who::Id(0)),
        payment(1, 1, Who::LastName(last_name(999))),
        Call::OrderStatus(OrderStatus { w_id: 1, d_id: 1, customer: Who::LastName(last_name(10)) }),
        Call::Delivery(Delivery { w_id: 3, o_carrier_id: 1 }),
        Call::StockLevel(StockLevel { w_id: 1, d_id: 0, threshold: 10 }),
    ];
    lines[4].supply_w_id = 3;
    calls.push(order(1, 1, 1, &lines));
    for call in calls {
        let Err(Fault::Defect(defect)) = oracle.answer(&call) else { panic!("{call:?} was answered") };
        assert_eq!(defect.kind, DefectKind::BadCall, "{call:?}");
    }
    assert!(before == format!("{oracle:?}"));
}

#[test]
fn of_n_namesakes_the_one_at_n_halves_rounded_up_is_meant() {
    let named = |firsts: &[&str]| -> Option<String> {
        let mut district = District::new(&data(), 1, 1);
        district.customers.truncate(firsts.len());
        for (customer, first) in district.customers.iter_mut().zip(firsts) {
            customer.c_first = Text::from(first).unwrap();
            customer.c_last = last_name(371);
        }
        district
            .find(Who::LastName(Text::from("PRICALLYOUGHT").unwrap()))
            .ok()
            .map(|index| firsts[index].to_owned())
    };
    assert_eq!(named(&["x"]).as_deref(), Some("x"));
    assert_eq!(named(&["b", "a"]).as_deref(), Some("a"));
    assert_eq!(named(&["c", "a", "b"]).as_deref(), Some("b"));
    assert_eq!(named(&["d", "a", "c", "b"]).as_deref(), Some("b"));
    assert_eq!(named(&["d", "Z", "c", "b", "a"]).as_deref(), Some("b"));
    assert_eq!(named(&[]), None);
}

/// The shared arithmetic, by hand: 333.33 less 12.34 % is 292.197078; plus 13.57 % tax is 331.848221.
#[test]
fn the_shared_total_and_names_are_right() {
    let total = order_total(Cents(33_333), BasisPoints(1_234), BasisPoints(1_000), BasisPoints(357));
    assert_eq!(total, Cents(33_185));
    // 100.01 less 50 % is 50.005, which rounds up.
    assert_eq!(order_total(Cents(10_001), BasisPoints(5_000), BasisPoints(0), BasisPoints(0)), Cents(5_001));
    assert_eq!(&*last_name(0), "BARBARBAR");
    assert_eq!(&*last_name(123), "OUGHTABLEPRI");
    assert_eq!(&*last_name(456), "PRESESEANTI");
    assert_eq!(&*last_name(789), "CALLYATIONEING");
}
