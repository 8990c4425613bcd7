//! What is asked: tickets of an event for a user, what became of a booking, how many tickets are left.

use model::Key;

/// The most tickets that one booking may ask for.
pub const QUANTITY_MAX: u32 = 10;
/// The most tickets that a drawn booking asks for.
pub const QUANTITY_DRAWN_MAX: u32 = 4;
/// The largest number of a user that may be asked for.
pub const USER_MAX: u32 = 999_999_999;
/// Users that bookings are drawn for, unless other numbers are given.
pub const USERS: u32 = 9_999_999;

/// A booking as it is asked for, and as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booking {
    pub key: Key,
    /// Of which event, from 1.
    pub event: u32,
    /// For which user: 1 to [`USER_MAX`].
    pub user: u32,
    /// How many tickets: 1 to [`QUANTITY_MAX`].
    pub quantity: u32,
}

/// What a booking was drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    New,
    /// The same key and the same booking as one that was acknowledged.
    Repeat,
    /// The same again of one that was declined, failed, or is in doubt.
    Retry,
    /// One of several under one key at the same moment.
    Raced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Book tickets, or say again that they are booked.
    Book {
        /// What it was drawn for. The service does not see it.
        purpose: Purpose,
        booking: Booking,
    },
    /// What is stored under a key.
    ReadBooking { key: Key },
    /// How many tickets an event has.
    ReadEvent { id: u32 },
}

impl Call {
    /// A booking as a service sees it.
    pub const fn of(booking: Booking) -> Call {
        Call::Book { purpose: Purpose::New, booking }
    }
}
