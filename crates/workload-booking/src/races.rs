//! Calls that meet: one key from several connections, the last tickets of an event, and one user who may have one booking.

use crate::{Booking, Bookings, Call, Cardinality, Decline, Outcome, Purpose, QUANTITY_MAX, USER_MAX};
use contract::{Race, Raced};
use model::Key;

/// Calls that meet.
const MEET: u32 = 8;
/// Events of a round: one a race.
const STEP: u32 = 4;

pub(crate) fn races(size: &Cardinality, salt: u32, round: u32) -> Vec<Race<Bookings>> {
    // Their runs are others than those of trials.
    let key =
        |worker: u32, sequence: u32| Key { run: u64::from(salt) << 32 | u64::from(round), worker, sequence };
    // Others in each verification and round.
    let user = |offset: u32| {
        1 + salt.wrapping_mul(2_654_435_761).wrapping_add(round * 2 * MEET).wrapping_add(offset) % USER_MAX
    };
    let event = |offset: u32| 1 + (round * STEP + offset) % size.events;
    let look = |event: u32| vec![Call::ReadEvent { id: event }];
    let raced = |booking| Call::Book { purpose: Purpose::Raced, booking };
    let (same, reused, last) = (event(0), event(1), event(2));
    let mut races = vec![
        Race {
            name: "repeated-key",
            rule: "concurrent bookings with one key from several connections book once, with the same answer to all",
            before: look(same),
            together: vec![
                raced(Booking { key: key(1, 0), event: same, user: user(0), quantity: 1 });
                MEET as usize
            ],
            after: look(same),
            judge: Box::new(repeated),
        },
        Race {
            name: "reused-key",
            rule: "of two bookings under one key one is made, and the other is rejected",
            before: look(reused),
            together: [1, 2]
                .map(|quantity| raced(Booking { key: key(2, 0), event: reused, user: user(1), quantity }))
                .into(),
            after: look(reused),
            judge: Box::new(of_one_key),
        },
        Race {
            name: "last-tickets",
            rule: "several who want the last tickets at once get no more than there are",
            before: look(last),
            together: (0..MEET)
                .map(|at| {
                    Call::of(Booking {
                        key: key(3, at),
                        event: last,
                        user: user(MEET + at),
                        quantity: QUANTITY_MAX,
                    })
                })
                .collect(),
            after: look(last),
            judge: Box::new(taken),
        },
    ];
    // The limited event of the round, if there is one.
    if let Some(limited) = (0..size.events).map(event).find(|event| size.is_limited(*event)) {
        races.push(Race {
            name: "limited-user",
            rule: "several bookings of one user for an event that allows each user one make one",
            before: look(limited),
            together: (0..MEET)
                .map(|at| Call::of(Booking { key: key(4, at), event: limited, user: user(2), quantity: 1 }))
                .collect(),
            after: look(limited),
            judge: Box::new(of_one_user),
        });
    }
    races
}

/// Tickets that were available before, and are after.
fn available(raced: &Raced<Bookings>) -> Result<[i64; 2], String> {
    let of = |outcome: &Outcome| match outcome {
        Outcome::Event { available, .. } => Ok(i64::from(*available)),
        other => Err(format!("the event was answered with {other:?}")),
    };
    Ok([of(&raced.before[0])?, of(&raced.after[0])?])
}

fn booked(raced: &Raced<Bookings>) -> Vec<Booking> {
    let booked = raced.met().filter_map(|outcome| match outcome {
        Outcome::Booked(booking) => Some(*booking),
        _ => None,
    });
    booked.collect()
}

fn declined(raced: &Raced<Bookings>, why: Decline) -> usize {
    raced.met().filter(|outcome| **outcome == Outcome::Declined(why)).count()
}

/// So many tickets were taken from the event.
fn held(raced: &Raced<Bookings>, tickets: i64) -> Result<(), String> {
    let [before, after] = available(raced)?;
    match before - after {
        _ if tickets > before => Err(format!("{tickets} tickets were booked, and {before} were there")),
        found if found == tickets => Ok(()),
        found => Err(format!("{tickets} tickets were booked, and the event has {found} fewer")),
    }
}

fn repeated(raced: &Raced<Bookings>) -> Result<(), String> {
    let met: Vec<&Outcome> = raced.met().collect();
    if met.iter().any(|outcome| *outcome != met[0]) {
        return Err(format!("one key was answered in several ways: {met:?}"));
    }
    held(raced, booked(raced).first().map_or(0, |booking| booking.quantity.into()))
}

fn of_one_key(raced: &Raced<Bookings>) -> Result<(), String> {
    let [before, _] = available(raced)?;
    let made = booked(raced);
    let rejected = declined(raced, Decline::KeyReused);
    // Where tickets are left for both, each is made or rejected.
    if made.len() > 1 || (raced.met().count() == 2 && before >= 3 && (made.len(), rejected) != (1, 1)) {
        return Err(format!(
            "one of them was to be made and one to be rejected; {} were made, {rejected} rejected",
            made.len()
        ));
    }
    held(raced, made.iter().map(|booking| i64::from(booking.quantity)).sum())
}

fn taken(raced: &Raced<Bookings>) -> Result<(), String> {
    let [before, _] = available(raced)?;
    let made = booked(raced);
    let fitting = before / i64::from(QUANTITY_MAX);
    held(raced, made.iter().map(|booking| i64::from(booking.quantity)).sum())?;
    // Whoever is declined has seen that too few were left.
    match raced.met().count() == raced.together.len() && (made.len() as i64) < fitting.min(MEET.into()) {
        true => {
            Err(format!("{before} tickets were there for {fitting} bookings, and {} were made", made.len()))
        }
        false => Ok(()),
    }
}

fn of_one_user(raced: &Raced<Bookings>) -> Result<(), String> {
    let made = booked(raced);
    if made.len() > 1 {
        return Err(format!("{} bookings were made for one user, and the event allows one", made.len()));
    }
    held(raced, made.len() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Oracle;
    use model::{Conflict, Fault};
    use std::collections::BTreeMap;

    const SIZE: Cardinality = Cardinality::tiny();

    fn race(name: &str) -> Race<Bookings> {
        races(&SIZE, 1, 0).into_iter().find(|race| race.name == name).unwrap()
    }

    fn judged(
        name: &str,
        before: u32,
        after: u32,
        together: Vec<Result<Outcome, Fault>>,
    ) -> Result<(), String> {
        let event = |available| vec![Outcome::Event { stock: 40, available }];
        (race(name).judge)(&Raced { before: event(before), together, after: event(after) })
    }

    fn of(quantity: u32) -> Result<Outcome, Fault> {
        let key = Key { run: 1, worker: 1, sequence: 0 };
        Ok(Outcome::Booked(Booking { key, event: 1, user: 1, quantity }))
    }

    const REUSED: Result<Outcome, Fault> = Ok(Outcome::Declined(Decline::KeyReused));

    fn sold_out(available: u32) -> Result<Outcome, Fault> {
        Ok(Outcome::Declined(Decline::SoldOut { available }))
    }

    #[test]
    fn one_key_books_once_and_is_answered_alike() {
        assert_eq!(
            judged("repeated-key", 9, 8, vec![of(1), of(1), Err(Fault::Conflict(Conflict::Busy))]),
            Ok(())
        );
        assert_eq!(judged("repeated-key", 0, 0, vec![sold_out(0), sold_out(0)]), Ok(()));
        assert!(judged("repeated-key", 9, 7, vec![of(1), of(1)]).unwrap_err().contains("2 fewer"));
        assert!(judged("repeated-key", 9, 8, vec![of(1), REUSED]).unwrap_err().contains("several ways"));
    }

    #[test]
    fn of_two_under_one_key_one_is_made() {
        assert_eq!(judged("reused-key", 9, 7, vec![REUSED, of(2)]), Ok(()));
        assert_eq!(judged("reused-key", 1, 0, vec![of(1), sold_out(1)]), Ok(()));
        assert!(judged("reused-key", 9, 6, vec![of(1), of(2)]).unwrap_err().contains("2 were made"));
        assert!(judged("reused-key", 9, 9, vec![REUSED, REUSED]).unwrap_err().contains("0 were made"));
        assert!(judged("reused-key", 9, 8, vec![REUSED, of(2)]).unwrap_err().contains("1 fewer"));
    }

    #[test]
    fn the_last_tickets_are_not_booked_twice_and_not_withheld() {
        let with = |made: usize, before: u32, after: u32| {
            let declined = std::iter::repeat_n(sold_out(after), 8 - made);
            judged("last-tickets", before, after, std::iter::repeat_n(of(10), made).chain(declined).collect())
        };
        assert_eq!(with(4, 40, 0), Ok(()));
        assert_eq!(with(1, 19, 9), Ok(()));
        assert!(with(5, 40, 0).unwrap_err().contains("50 tickets were booked, and 40 were there"));
        assert!(with(4, 40, 10).unwrap_err().contains("30 fewer"));
        assert!(with(3, 40, 10).unwrap_err().contains("for 4 bookings, and 3 were made"));
    }

    #[test]
    fn one_user_has_one_booking_of_a_limited_event() {
        let already = || Ok(Outcome::Declined(Decline::AlreadyBooked));
        assert_eq!(judged("limited-user", 9, 8, vec![of(1), already()]), Ok(()));
        assert!(judged("limited-user", 9, 7, vec![of(1), of(1)]).unwrap_err().contains("allows one"));
    }

    /// Rounds go from event to event, whatever the size, and a right store keeps every rule in each of them.
    #[test]
    fn a_right_store_keeps_the_rules_in_every_round() {
        for size in [SIZE, Cardinality::standard(1), Cardinality { limited: 1, ..Cardinality::standard(3) }] {
            let (mut oracle, mut names) = (Oracle::new(size), BTreeMap::new());
            for round in 0..20 {
                for race in races(&size, 7, round) {
                    let mut all = |calls: &[Call]| -> Vec<Outcome> {
                        calls.iter().map(|call| oracle.answer(call).unwrap()).collect()
                    };
                    let (before, together) = (all(&race.before), all(&race.together));
                    let together = together.into_iter().map(Ok).collect();
                    let raced = Raced { before, together, after: all(&race.after) };
                    assert_eq!((race.judge)(&raced), Ok(()), "{} of round {round}", race.name);
                    *names.entry(race.name).or_insert(0) += 1;
                }
            }
            assert_eq!(names.len(), if size.limited > 0 { 4 } else { 3 });
        }
    }
}
