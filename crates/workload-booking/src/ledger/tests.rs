use super::*;
use crate::{Cardinality, Decline, Inputs, Oracle};
use model::{Doubt as Why, Inputs as _, Key, Ledger as _};
use std::collections::BTreeMap;

fn booking(sequence: u32, quantity: u32) -> Booking {
    Booking { key: Key { run: 9, worker: 4, sequence }, event: 1, user: 2, quantity }
}

fn made(booking: Booking) -> Result<Outcome, Fault> {
    Ok(Outcome::Booked(booking))
}

fn lost() -> Result<Outcome, Fault> {
    Err(Fault::InDoubt(Why::Deadline))
}

const SOLD_OUT: Result<Outcome, Fault> = Ok(Outcome::Declined(Decline::SoldOut { available: 0 }));

/// What a store has in which these were made, of one event of 100 tickets.
fn stored(made: &[Booking]) -> Vec<Tally> {
    let mut sums = Sums::default();
    made.iter().for_each(|booking| sums.enter(&effect(booking)));
    let events = Sums { count: 1, amount: 100 - sums.amount, mixed: 0 };
    vec![
        Tally { sort: Sort::Bookings, run: 9, worker: 4, sums },
        Tally { sort: Sort::Events, run: 0, worker: 0, sums: events },
    ]
}

fn violations(ledger: &Ledger, after: &[Tally]) -> Vec<String> {
    let findings = audit(&ledger.claims(true), &stored(&[]), after);
    findings.into_iter().flat_map(|finding| finding.violations).collect()
}

#[test]
fn each_acknowledged_booking_must_be_there_as_it_was_asked_for_and_no_other() {
    let mut ledger = Ledger::new();
    let asked = [booking(0, 1), booking(1, 2)];
    asked.iter().for_each(|booking| ledger.post(&Call::of(*booking), &made(*booking)));
    ledger.post(&Call::of(booking(2, 3)), &SOLD_OUT);
    assert_eq!(violations(&ledger, &stored(&asked)), [""; 0]);
    let lost = violations(&ledger, &stored(&asked[..1]));
    assert!(lost[0].contains("at least 2 bookings were acknowledged, stored 1"), "{lost:?}");
    let declined = violations(&ledger, &stored(&[asked[0], asked[1], booking(2, 3)]));
    assert!(declined[0].contains("at most 2 bookings"), "{declined:?}");
    for other in [
        Booking { event: 3, ..asked[0] },
        Booking { user: 3, ..asked[0] },
        Booking { key: booking(7, 1).key, ..asked[0] },
    ] {
        assert_ne!(violations(&ledger, &stored(&[other, asked[1]])), [""; 0], "{other:?}");
    }
    // The same tickets in all, by other bookings.
    assert_ne!(violations(&ledger, &stored(&[booking(0, 2), booking(1, 1)])), [""; 0]);
}

#[test]
fn events_lose_the_tickets_that_are_booked() {
    let mut ledger = Ledger::new();
    ledger.post(&Call::of(booking(0, 2)), &made(booking(0, 2)));
    let mut after = stored(&[booking(0, 2)]);
    after[1].sums.amount += 1;
    assert_eq!(
        violations(&ledger, &after),
        ["bookings of 2 tickets came, and events have 1 fewer available"]
    );
}

#[test]
fn a_booking_in_doubt_may_be_there_or_not_and_a_declined_retry_does_not_end_the_doubt() {
    let mut ledger = Ledger::new();
    ledger.post(&Call::of(booking(0, 1)), &lost());
    let retry = Call::Book { purpose: Purpose::Retry, booking: booking(0, 1) };
    ledger.post(&retry, &SOLD_OUT);
    for there in [&[][..], &[booking(0, 1)]] {
        assert_eq!(violations(&ledger, &stored(there)), [""; 0]);
    }
    assert_ne!(violations(&ledger, &stored(&[booking(1, 1)])), [""; 0]);
    let mut all = Ledger::new();
    all.absorb(&ledger);
    ledger.clear();
    ledger.post(&retry, &made(booking(0, 1)));
    all.absorb(&ledger);
    assert_eq!(violations(&all, &stored(&[booking(0, 1)])), [""; 0]);
    assert_ne!(violations(&all, &stored(&[])), [""; 0]);
}

#[test]
fn of_several_under_one_key_at_once_one_may_be_there() {
    let mut ledger = Ledger::new();
    let raced = Call::Book { purpose: Purpose::Raced, booking: booking(0, 1) };
    for result in [made(booking(0, 1)), made(booking(0, 1)), SOLD_OUT, lost()] {
        ledger.post(&raced, &result);
    }
    assert_eq!(violations(&ledger, &stored(&[booking(0, 1)])), [""; 0]);
    assert_eq!(violations(&ledger, &stored(&[])), [""; 0]);
    let twice = violations(&ledger, &stored(&[booking(0, 1), booking(0, 1)]));
    assert!(twice[0].contains("at most 1 bookings"), "{twice:?}");
}

/// The whole of what inputs draw against a right store that is sold out in the end, with calls whose answers are lost.
#[test]
fn what_inputs_draw_is_kept_by_a_right_store() {
    let size = Cardinality { stock: 400, ..Cardinality::tiny() };
    let (mut oracle, mut all, mut declined) = (Oracle::new(size), Ledger::new(), 0);
    for worker in 0..3 {
        let (mut inputs, mut ledger) = (Inputs::new(size, 3, 9, worker, None), Ledger::new());
        for number in 0..3_000 {
            let call = inputs.draw();
            let answer = oracle.answer(&call);
            let result = if number % 97 == 5 { lost() } else { answer };
            if let Ok(outcome) = &result {
                assert_eq!(inputs.check(&call, outcome), Ok(()));
                declined += u32::from(matches!(outcome, Outcome::Declined(Decline::SoldOut { .. })));
            }
            ledger.post(&call, &result);
            if number % 1_000 == 999 {
                all.absorb(&ledger);
                ledger.clear();
            }
        }
    }
    let mut sums: BTreeMap<u32, Sums> = BTreeMap::new();
    oracle.bookings.values().for_each(|kept| sums.entry(kept.key.worker).or_default().enter(&effect(kept)));
    let of_worker = |(worker, sums): (&u32, &Sums)| Tally {
        sort: Sort::Bookings,
        run: 9,
        worker: i64::from(*worker),
        sums: *sums,
    };
    let events = |available: i64| {
        let sums = Sums { count: size.events.into(), amount: available, mixed: 0 };
        Tally { sort: Sort::Events, run: 0, worker: 0, sums }
    };
    let mut after: Vec<Tally> = sums.iter().map(of_worker).collect();
    after.push(events(oracle.available.iter().map(|available| i64::from(*available)).sum()));
    let findings = audit(&all.claims(true), &[events(size.tickets())], &after);
    let violations: Vec<_> = findings.iter().flat_map(|finding| &finding.violations).collect();
    assert!(violations.is_empty(), "{violations:?}");
    assert!(declined > 100 && !all.keyed.doubts().0.is_empty(), "{declined}");
}

#[test]
fn rows_of_other_runs_stay_as_they_are() {
    let mut ledger = Ledger::new();
    ledger.post(&Call::of(booking(0, 1)), &made(booking(0, 1)));
    let of_run = |run: i64, quantity: u32| {
        let mut sums = Sums::default();
        sums.enter(&effect(&booking(5, quantity)));
        Tally { sort: Sort::Bookings, run, worker: 1, sums }
    };
    let found = |complete: bool, before: &[Tally], after: &[Tally]| {
        let with = |made: &[Booking], others: &[Tally]| [&stored(made)[..], others].concat();
        let findings = audit(&ledger.claims(complete), &with(&[], before), &with(&[booking(0, 1)], after));
        let of_others = findings.into_iter().find(|finding| finding.name == "bookings of other runs");
        of_others.map(|finding| finding.violations.len())
    };
    let (earlier, changed, new) = (of_run(7, 2), of_run(7, 3), of_run(12, 2));
    assert_eq!(found(true, &[earlier], &[earlier]), Some(0));
    for (before, after) in
        [(&[earlier][..], &[changed][..]), (&[earlier], &[]), (&[], &[new]), (&[earlier], &[earlier, new])]
    {
        assert_eq!(found(true, before, after), Some(1), "{before:?} {after:?}");
    }
    // Of claims that are not complete a run may be missing.
    assert_eq!(found(false, &[], &[new]), None);
}

#[test]
fn what_was_declined_as_booked_already_is_kept_and_of_many_a_sample() {
    let told = |users: std::ops::Range<u32>| {
        let mut ledger = Ledger::new();
        ledger.post(&Call::of(booking(0, 1)), &SOLD_OUT);
        for user in users {
            let asked = Call::of(Booking { user, ..booking(user, 1) });
            ledger.post(&asked, &Ok(Outcome::Declined(Decline::AlreadyBooked)));
        }
        ledger
    };
    let few = told(5..7);
    let mut users: Vec<(u32, u32)> = few.claims(true).already;
    users.sort_unstable();
    assert_eq!(users, [(1, 5), (1, 6)]);
    assert_eq!(few.claims(false).already, [], "each second of a run");
    // One worker of many calls, and one of few.
    let mut all = Ledger::new();
    all.absorb(&told(0..9_000));
    all.absorb(&told(9_000..10_000));
    let kept = all.claims(true).already;
    let of_few = kept.iter().filter(|(_, user)| *user >= 9_000).count();
    assert!(kept.len() == ALREADY_MAX && (60..150).contains(&of_few), "{of_few}");
    let mut turned = told(9_000..10_000);
    turned.absorb(&told(0..9_000));
    assert_eq!(turned.claims(true).already, kept);
    all.clear();
    assert_eq!(all, Ledger::new());
}
