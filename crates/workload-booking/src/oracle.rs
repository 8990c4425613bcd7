//! The truth in memory: one client at a time, no storage, no concurrency. What any session must answer.

use crate::{Booking, Call, Cardinality, Decline, Outcome};
use model::{DefectKind, Fault, Key};
use std::collections::{BTreeMap, BTreeSet};

/// A box office in memory.
#[derive(Debug, Clone)]
pub struct Oracle {
    size: Cardinality,
    pub(crate) available: Vec<u32>,
    pub(crate) bookings: BTreeMap<Key, Booking>,
    /// Users that have a booking, by event.
    pub(crate) booked: BTreeSet<(u32, u32)>,
}

impl Oracle {
    /// Freshly loaded.
    pub fn new(size: Cardinality) -> Oracle {
        let available = vec![size.stock; size.events as usize];
        Oracle { size, available, bookings: BTreeMap::new(), booked: BTreeSet::new() }
    }

    /// Answers a call, and keeps what it changes.
    ///
    /// # Errors
    /// A [`DefectKind::BadCall`] when the call names an event that does not exist; nothing has changed then.
    pub fn answer(&mut self, call: &Call) -> Result<Outcome, Fault> {
        Ok(match call {
            Call::Book { booking, .. } => self.book(booking)?,
            Call::ReadBooking { key } => match self.bookings.get(key) {
                Some(found) => Outcome::Found(*found),
                None => Outcome::Declined(Decline::NoSuchBooking),
            },
            Call::ReadEvent { id } => {
                Outcome::Event { stock: self.size.stock, available: self.available[self.place(*id)?] }
            }
        })
    }

    fn book(&mut self, asked: &Booking) -> Result<Outcome, Fault> {
        let place = self.place(asked.event)?;
        let user = (asked.event, asked.user);
        let available = self.available[place];
        let kept = self.bookings.get(&asked.key);
        let kept = kept.map(|kept| if kept == asked { StoredBooking::Same } else { StoredBooking::Other });
        let is_taken = self.size.is_limited(asked.event) && self.booked.contains(&user);
        let outcome = answer_to(asked, kept, is_taken, available);
        if kept.is_none() && outcome == Outcome::Booked(*asked) {
            self.available[place] -= asked.quantity;
            self.bookings.insert(asked.key, *asked);
            self.booked.insert(user);
        }
        Ok(outcome)
    }

    fn place(&self, event: u32) -> Result<usize, Fault> {
        if !self.size.has(event) {
            return Err(absent(event));
        }
        Ok(event as usize - 1)
    }
}

/// What is stored under the key of a booking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoredBooking {
    Same,
    Other,
}

/// What a booking is answered: `kept` is what is stored under its key, `is_taken` whether its user has one of the event and may
/// have no other.
pub(crate) fn answer_to(
    asked: &Booking,
    kept: Option<StoredBooking>,
    is_taken: bool,
    available: u32,
) -> Outcome {
    match kept {
        Some(StoredBooking::Same) => Outcome::Booked(*asked),
        Some(StoredBooking::Other) => Outcome::Declined(Decline::KeyReused),
        None if is_taken => Outcome::Declined(Decline::AlreadyBooked),
        None if available < asked.quantity => Outcome::Declined(Decline::SoldOut { available }),
        None => Outcome::Booked(*asked),
    }
}

/// Events come straight from the call, so one that is missing was asked for wrongly.
#[cold]
pub(crate) fn absent(event: u32) -> Fault {
    Fault::defect(DefectKind::BadCall, format!("there is no event {event}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(sequence: u32, event: u32, user: u32, quantity: u32) -> Booking {
        Booking { key: Key { run: 9, worker: 0, sequence }, event, user, quantity }
    }

    #[test]
    fn tickets_are_booked_once_a_key_and_never_more_than_there_are() {
        let mut oracle = Oracle::new(Cardinality { stock: 12, limited: 4, ..Cardinality::standard(4) });
        let mut book = |booking: Booking| oracle.answer(&Call::of(booking));
        let booked = |booking| Ok(Outcome::Booked(booking));
        let (first, second) = (asked(0, 1, 7, 10), asked(1, 1, 7, 2));
        assert_eq!(book(first), booked(first));
        assert_eq!(book(first), booked(first));
        assert_eq!(book(asked(1, 1, 7, 3)), Ok(Outcome::Declined(Decline::SoldOut { available: 2 })));
        // What was declined has left its key unused.
        assert_eq!(book(second), booked(second));
        assert_eq!(book(Booking { event: 2, ..second }), Ok(Outcome::Declined(Decline::KeyReused)));
        assert_eq!(book(asked(2, 1, 8, 1)), Ok(Outcome::Declined(Decline::SoldOut { available: 0 })));
        // A key that was used is answered as before though nothing is left.
        assert_eq!(book(first), booked(first));
        let limited = asked(3, 4, 7, 1);
        assert_eq!(book(limited), booked(limited));
        assert_eq!(book(asked(4, 4, 7, 1)), Ok(Outcome::Declined(Decline::AlreadyBooked)));
        assert_eq!(book(limited), booked(limited));
        assert!(book(asked(5, 5, 7, 1)).is_err() && book(asked(5, 0, 7, 1)).is_err());
        let read = oracle.answer(&Call::ReadEvent { id: 1 });
        assert_eq!(read, Ok(Outcome::Event { stock: 12, available: 0 }));
        assert_eq!(oracle.answer(&Call::ReadBooking { key: second.key }), Ok(Outcome::Found(second)));
        let unused = oracle.answer(&Call::ReadBooking { key: asked(4, 1, 1, 1).key });
        assert_eq!(unused, Ok(Outcome::Declined(Decline::NoSuchBooking)));
    }
}
