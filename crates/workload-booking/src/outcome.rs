//! What is answered.

use crate::{Booking, Call, QUANTITY_MAX, USER_MAX};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The tickets are booked, now or when the key came first.
    Booked(Booking),
    /// A booking as it is stored.
    Found(Booking),
    /// How many tickets an event has.
    Event {
        stock: u32,
        /// Not booked yet.
        available: u32,
    },
    /// The service declined it.
    Declined(Decline),
}

/// Why a call was declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decline {
    /// The event has fewer tickets left.
    SoldOut { available: u32 },
    /// The user has a booking of this event, which allows each user one.
    AlreadyBooked,
    /// The key was used for another booking.
    KeyReused,
    /// There is no booking under that key.
    NoSuchBooking,
}

impl Decline {
    /// The type of its problem document, without what all types begin with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Decline::SoldOut { .. } => "sold-out",
            Decline::AlreadyBooked => "already-booked",
            Decline::KeyReused => "key-reused",
            Decline::NoSuchBooking => "no-such-booking",
        }
    }

    /// The status of its answer.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Decline::SoldOut { .. } | Decline::AlreadyBooked => 409,
            Decline::KeyReused => 422,
            Decline::NoSuchBooking => 404,
        }
    }

    /// What is said of it.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Decline::SoldOut { .. } => "the event has fewer tickets left",
            Decline::AlreadyBooked => "the user has a booking of this event, which allows each user one",
            Decline::KeyReused => "the key was used for another booking",
            Decline::NoSuchBooking => "there is no such booking",
        }
    }
}

/// What every right answer satisfies whatever the data.
pub(crate) fn check(call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
    match (call, outcome) {
        (Call::Book { booking, .. }, Outcome::Booked(booked)) => match booked == booking {
            true => Ok(()),
            false => Err("another booking is answered than was asked for"),
        },
        (Call::Book { booking, .. }, Outcome::Declined(Decline::SoldOut { available })) => {
            match *available < booking.quantity {
                true => Ok(()),
                false => Err("a booking is declined although the event has enough tickets"),
            }
        }
        (Call::Book { .. }, Outcome::Declined(Decline::AlreadyBooked | Decline::KeyReused)) => Ok(()),
        (Call::ReadBooking { key }, Outcome::Found(found)) => {
            let Booking { event, user, quantity, .. } = *found;
            let allowed = event > 0
                && (1..=USER_MAX).contains(&user)
                && (1..=QUANTITY_MAX).contains(&quantity)
                && found.key == *key;
            if allowed { Ok(()) } else { Err("a booking is stored that no call may ask for") }
        }
        (Call::ReadBooking { .. }, Outcome::Declined(Decline::NoSuchBooking)) => Ok(()),
        (Call::ReadEvent { .. }, Outcome::Event { stock, available }) => match available <= stock {
            true => Ok(()),
            false => Err("an event has more tickets left than it has in all"),
        },
        _ => Err("the answer is that of another kind of call"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Key;

    #[test]
    fn an_answer_is_one_to_its_call() {
        let key = Key { run: 1, worker: 0, sequence: 0 };
        let booking = Booking { key, event: 2, user: 3, quantity: 4 };
        let book = |outcome| check(&Call::of(booking), &outcome);
        assert_eq!(book(Outcome::Booked(booking)), Ok(()));
        assert!(book(Outcome::Booked(Booking { quantity: 3, ..booking })).is_err());
        let sold_out = |available| book(Outcome::Declined(Decline::SoldOut { available }));
        assert_eq!(sold_out(3), Ok(()));
        assert_eq!(sold_out(4), Err("a booking is declined although the event has enough tickets"));
        assert_eq!(book(Outcome::Declined(Decline::KeyReused)), Ok(()));
        assert!(
            book(Outcome::Declined(Decline::NoSuchBooking)).is_err()
                && book(Outcome::Found(booking)).is_err()
        );
        let read = |found| check(&Call::ReadBooking { key }, &Outcome::Found(found));
        assert_eq!(read(booking), Ok(()));
        let other = Key { sequence: 1, ..key };
        for wrong in [
            Booking { key: other, ..booking },
            Booking { quantity: 0, ..booking },
            Booking { quantity: 11, ..booking },
            Booking { user: 0, ..booking },
            Booking { event: 0, ..booking },
        ] {
            assert_eq!(read(wrong), Err("a booking is stored that no call may ask for"));
        }
        let event =
            |stock, available| check(&Call::ReadEvent { id: 2 }, &Outcome::Event { stock, available });
        assert_eq!(event(5, 5), Ok(()));
        assert!(event(5, 6).is_err());
    }
}
