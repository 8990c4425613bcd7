use super::*;
use crate::{Claims, Delivered, Delivery, Payment, Placed, StoredSums, StoredTally};
use model::{BasisPoints, Doubt, Ledger as _};

fn district(w_id: u32, d_id: u32) -> StoredTally {
    StoredTally {
        w_id,
        d_id,
        next_o_id: 31,
        ytd: 30_000,
        lines: 300,
        undelivered: 9,
        payments: 30,
        amount: 5_000,
        sums: Some(StoredSums::default()),
    }
}

/// Its checksums.
fn rows(stored: &mut StoredTally) -> &mut RowSums {
    &mut stored.sums.as_mut().unwrap().rows
}

fn before() -> Vec<StoredTally> {
    (1..=2).flat_map(|w_id| (1..=10).map(move |d_id| district(w_id, d_id))).collect()
}

fn order() -> Call {
    let line = crate::Line { i_id: 1, supply_w_id: 1, quantity: 1 };
    Call::NewOrder(NewOrder { w_id: 1, d_id: 2, c_id: 3, lines: [line; 15].into() })
}

fn placed(o_id: u32) -> Result<Outcome, Fault> {
    Ok(Outcome::Placed(Placed {
        o_id,
        o_entry_d: 0,
        c_last: crate::last_name(0),
        c_credit: crate::Text::from("GC").unwrap(),
        c_discount: BasisPoints(0),
        w_tax: BasisPoints(0),
        d_tax: BasisPoints(0),
        total_amount: Cents(0),
        lines: arrayvec::ArrayVec::new(),
    }))
}

fn payment() -> Call {
    Call::Payment(Payment {
        w_id: 2,
        d_id: 1,
        c_w_id: 1,
        c_d_id: 1,
        customer: Who::Id(1),
        h_amount: Cents(500),
    })
}

/// Sentences of all violations after `change` was made to the store.
fn check(ledger: &Ledger, complete: bool, change: impl Fn(&mut Vec<StoredTally>)) -> Vec<String> {
    let mut after = before();
    change(&mut after);
    let findings = Claims::of(ledger, complete).audit(&before(), &after).unwrap();
    findings.into_iter().flat_map(|finding| finding.violations).collect()
}

/// Stores [`order`] as order 31.
fn stored(after: &mut [StoredTally]) {
    after[1].next_o_id += 1;
    after[1].lines += 15;
    after[1].undelivered += 1;
    rows(&mut after[1]).orders += mixed(31, [3, 15, 1]);
    rows(&mut after[1]).lines += (1..=15).map(|number| mixed(31 * 16 + number, [1, 1, 1])).sum::<i64>();
}

#[test]
fn an_acknowledged_call_that_never_committed_is_found() {
    let mut ledger = Ledger::new(Cardinality::tiny());
    ledger.post(&order(), &placed(31));
    assert_eq!(check(&ledger, true, |after| stored(after)), [""; 0]);
    // The same order under the number of another one.
    let other = |after: &mut Vec<StoredTally>| {
        stored(after);
        rows(&mut after[1]).orders += mixed(32, [3, 15, 1]) - mixed(31, [3, 15, 1]);
    };
    assert!(check(&ledger, true, other)[0].contains("in the checksum"));
    let lost = check(&ledger, true, |_| {});
    assert!(lost[0].contains("district 1/2: acknowledged 1 orders, stored 0"), "{lost:?}");
    assert!(lost[1].contains("order 31 was acknowledged, the next is 31"), "{lost:?}");
}

#[test]
fn money_from_nowhere_is_found() {
    let mut ledger = Ledger::new(Cardinality::tiny());
    ledger.post(&payment(), &Err(Fault::InDoubt(Doubt::Deadline)));
    let paid = |cents: i64, rows: i64| {
        move |after: &mut Vec<StoredTally>| {
            after[10].ytd += cents;
            after[10].payments += rows;
        }
    };
    assert_eq!(check(&ledger, true, paid(0, 0)), [""; 0]);
    assert_eq!(check(&ledger, true, paid(500, 1)), [""; 0]);
    assert!(check(&ledger, true, paid(501, 1))[0].contains("at most 500 cents were asked for, stored 501"));
    // What came after the last claims is unknown, so only losses can be told.
    assert_eq!(check(&ledger, false, paid(99_999, 7)), [""; 0]);
}

#[test]
fn deliveries_count_by_district() {
    let mut ledger = Ledger::new(Cardinality::tiny());
    let call = Call::Delivery(Delivery { w_id: 1, o_carrier_id: 1 });
    let o_ids = (0..10).map(|district| (district != 4).then_some(22)).collect();
    ledger.post(&call, &Ok(Outcome::Delivered(Delivered { o_ids })));
    let all_but = |skipped: usize| {
        move |after: &mut Vec<StoredTally>| {
            (0..10).filter(|at| *at != skipped).for_each(|at| {
                after[at].undelivered -= 1;
                rows(&mut after[at]).deliveries += mixed(22, [1]);
            });
        }
    };
    let skipped = check(&ledger, true, all_but(4));
    assert!(
        skipped[0].contains("was skipped (1×), although only 0 of the 9 orders that waited"),
        "{skipped:?}"
    );
    assert_eq!(skipped.len(), 1);
    // Of one district too many and of another too few, orders and which they are.
    assert_eq!(check(&ledger, true, all_but(5)).len(), 5);
    assert_eq!(ledger.counts().deliveries_skipped, 1);
    // After the nine have been delivered it may be skipped.
    for number in 22..31 {
        let only_it = (0..10).map(|district| (district == 4).then_some(number)).collect();
        ledger.post(&call, &Ok(Outcome::Delivered(Delivered { o_ids: only_it })));
    }
    let all = |after: &mut Vec<StoredTally>| {
        all_but(4)(after);
        after[4].undelivered -= 9;
        (22..31).for_each(|number| rows(&mut after[4]).deliveries += mixed(number, [1]));
    };
    assert!(check(&ledger, true, all).iter().all(|violation| !violation.contains("district 1/5")));
}

/// A change of a sum, and the unit of its measure.
type Swap = (fn(&mut StoredTally), &'static str);

#[test]
fn other_rows_of_as_many_are_found_by_their_sums() {
    let ledger = Ledger::new(Cardinality::tiny());
    let swaps: [Swap; 5] = [
        (|stored| rows(stored).orders += 1, "checksum"),
        (|stored| rows(stored).lines -= 1, "checksum"),
        (|stored| rows(stored).payments += 1, "checksum"),
        (|stored| rows(stored).deliveries -= 1, "checksum"),
        (|stored| stored.sums.as_mut().unwrap().stock += 1, "weighted sum"),
    ];
    for (swap, words) in swaps {
        let found = check(&ledger, true, |after| swap(&mut after[10]));
        assert!(found.len() == 1 && found[0].starts_with("district 2/1: ") && found[0].contains(words));
    }
    // No call changes it, so no claim need be known.
    assert_eq!(check(&ledger, false, |after| after[0].sums.as_mut().unwrap().stock += 91).len(), 1);
}

#[test]
fn rows_of_a_call_in_doubt_may_be_any() {
    let mut ledger = Ledger::new(Cardinality::tiny());
    ledger.post(&order(), &Err(Fault::InDoubt(Doubt::Deadline)));
    assert_eq!(check(&ledger, true, |after| stored(after)), [""; 0]);
    assert_eq!(check(&ledger, true, |_| {}), [""; 0]);
    // Of another district nothing is in doubt.
    let elsewhere = |after: &mut Vec<StoredTally>| rows(&mut after[2]).orders += 1;
    assert!(check(&ledger, true, elsewhere)[0].starts_with("district 1/3: at most 0 in the checksum"));
}

#[test]
fn a_store_without_checksums_is_held_to_what_it_reports() {
    let mut ledger = Ledger::new(Cardinality::tiny());
    ledger.post(&order(), &placed(31));
    let bare: Vec<_> = before().into_iter().map(|district| StoredTally { sums: None, ..district }).collect();
    let mut after = bare.clone();
    after[1].next_o_id += 1;
    after[1].lines += 15;
    after[1].undelivered += 1;
    let found = Claims::of(&ledger, true).audit(&bare, &after).unwrap();
    assert!(found.len() == 6 && found.iter().all(|found| found.violations.is_empty()), "{found:?}");
}

#[test]
fn absorbing_adds_and_clearing_forgets() {
    let mut one = Ledger::new(Cardinality::tiny());
    one.post(&payment(), &Err(Fault::InDoubt(Doubt::Deadline)));
    one.post(&order(), &placed(40));
    let mut sum = one.clone();
    sum.absorb(&one);
    assert_eq!((sum.sure()[1].orders, sum.sure()[1].o_id_max), (2, 40));
    assert_eq!(sum.doubtful()[10].paid, 1_000);
    assert_eq!(sum.counts().calls, [2, 2, 0, 0, 0]);
    one.clear();
    assert_eq!(one, Ledger::new(Cardinality::tiny()));
}
