//! The edge cases, in the order in which they are asked.

use super::Used;
use crate::{Booking, Call, Cardinality, Oracle, QUANTITY_MAX, USER_MAX};
use model::Key;

/// The calls of the script for data of some size.
pub(super) fn calls(size: Cardinality) -> Vec<Call> {
    let (first, last) = (1, size.events);
    let key = |sequence: u32| Key { run: 0x0123_4567_89ab_cdef, worker: 0xffff_ffff, sequence };
    let ask = |sequence: u32, event: u32, user: u32, quantity: u32| {
        Call::of(Booking { key: key(sequence), event, user, quantity })
    };
    let look = |id: u32| Call::ReadEvent { id };
    let found = |sequence: u32| Call::ReadBooking { key: key(sequence) };
    let mut calls = vec![look(first), look(last), found(0)];

    // One ticket and the most, the first user and the last.
    calls.extend([ask(0, first, 1, 1), found(0), look(first)]);
    calls.extend([ask(1, first, USER_MAX, QUANTITY_MAX), found(1), look(first)]);
    // Asked for again: the same answer, and nothing more is booked.
    calls.extend([ask(0, first, 1, 1), ask(1, first, USER_MAX, QUANTITY_MAX), look(first)]);
    // Another booking under the same key: another event, user, quantity.
    calls.extend([
        ask(0, last, 1, 1),
        ask(0, first, 2, 1),
        ask(0, first, 1, 2),
        found(0),
        look(first),
        look(last),
    ]);
    // The same user again, where that is allowed.
    calls.extend([ask(2, first, 1, 1), found(2)]);
    // Where it is not: another booking is declined, also in another quantity, and its key stays unused; another user's is made.
    if let Some(limited) = (first..=last).find(|event| size.is_limited(*event)) {
        calls.extend([ask(10, limited, 7, 2), ask(11, limited, 7, 2), ask(11, limited, 7, 1), found(11)]);
        calls.extend([ask(10, limited, 7, 2), ask(11, limited, 8, 1), found(11), look(limited)]);
        // A key that was used says so, whoever else has a booking.
        calls.extend([ask(11, limited, 7, 1), ask(10, limited, 8, 2)]);
    }
    // All that is left, to the last ticket, where that is within reach.
    let second = 2.min(last);
    for at in 0..size.stock.div_ceil(QUANTITY_MAX).min(8) {
        calls.push(ask(20 + at, second, 100 + at, QUANTITY_MAX));
    }
    calls.extend([
        look(second),
        ask(30, second, 1, QUANTITY_MAX),
        ask(31, second, 1, 1),
        found(30),
        found(31),
    ]);
    // What was booked before is still answered as then, and a key that was declined may be used elsewhere.
    calls.extend([ask(20, second, 100, QUANTITY_MAX), found(20), ask(31, last, 1, 1), found(31)]);
    // Keys at their ends.
    for run in [0, u64::MAX] {
        let key = Key { run, worker: 0, sequence: u32::MAX };
        let booking = Booking { key, event: first, user: 5, quantity: 1 };
        calls.extend([Call::of(booking), Call::of(booking), Call::ReadBooking { key }]);
    }
    // What does not exist is rejected, and leaves nothing behind.
    let beyond = last + 1;
    calls.extend([ask(40, beyond, 1, 1), ask(40, 0, 1, 1), look(0), look(beyond), found(40), found(41)]);
    // And nothing stuck: the next ones are taken.
    calls.extend([ask(40, first, 1, 1), found(40), look(first), look(last)]);
    let mut used = Used(Oracle::new(size));
    calls.into_iter().map(|call| used.marked(call)).collect()
}
