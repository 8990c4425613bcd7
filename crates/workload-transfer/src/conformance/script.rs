//! The edge cases, in the order in which they are asked.

use super::Used;
use crate::{AMOUNT_MAX, Call, Cardinality, Key, OPENING, Transfer};

/// The calls of the script for data of some size.
pub(super) fn calls(size: Cardinality) -> Vec<Call> {
    let (first, last) = size.ids().into_inner();
    let (neighbour, abroad) = (first + 1, last);
    let key = |sequence: u32| Key { run: 0x0123_4567_89ab_cdef, worker: 0xffff_ffff, sequence };
    let ask = |sequence: u32, source: u32, target: u32, amount: i64| {
        Call::of(Transfer { key: key(sequence), source, target, amount }, &size)
    };
    let locked = |id: u32| Call::ReadAccount { id };
    let found = |source: u32, sequence: u32| Call::ReadTransfer { source, key: key(sequence) };
    let mut calls = vec![locked(first), locked(last), found(first, 0)];

    // Within a branch and across, there and back.
    calls.extend([ask(0, first, neighbour, 1), found(first, 0), locked(first), locked(neighbour)]);
    calls.extend([ask(1, first, abroad, 999), found(first, 1), ask(2, abroad, first, 1_500), locked(abroad)]);
    // Asked for again: the same answer, though the account holds another sum by now; and nothing is moved.
    calls.extend([ask(0, first, neighbour, 1), ask(1, first, abroad, 999), locked(first), locked(neighbour)]);
    // Another transfer under the same key: another amount, another target. That of another source is one of its own.
    calls.extend([ask(0, first, neighbour, 2), ask(0, first, abroad, 1), found(first, 0)]);
    calls.extend([ask(0, neighbour, first, 1), found(neighbour, 0), locked(neighbour)]);
    // All there is, to the last unit; then nothing is left, and what is declined stays declined when there is money again.
    calls.extend([ask(3, neighbour, abroad, OPENING), locked(neighbour)]);
    calls.extend([ask(4, neighbour, abroad, 1), found(neighbour, 4), ask(5, first, neighbour, 10)]);
    calls.extend([ask(4, neighbour, abroad, 1), locked(neighbour), locked(abroad)]);
    // One more than there is, and the most that may be asked for.
    calls.extend([
        ask(6, neighbour, first, 11),
        ask(7, neighbour, first, AMOUNT_MAX),
        ask(8, neighbour, first, 10),
    ]);
    // Keys at their ends.
    for run in [0, u64::MAX] {
        let key = Key { run, worker: 0, sequence: u32::MAX };
        let transfer = Transfer { key, source: first, target: abroad, amount: 5 };
        calls.extend([
            Call::of(transfer, &size),
            Call::of(transfer, &size),
            Call::ReadTransfer { source: first, key },
        ]);
    }
    // What does not exist is rejected, and leaves nothing behind.
    let beyond = last + 1;
    calls.extend([ask(20, first, beyond, 1), ask(20, beyond, first, 1), ask(20, 0, first, 1)]);
    calls.extend([locked(0), locked(beyond), found(beyond, 0), found(first, 20), found(first, 21)]);
    // And nothing stuck: the next ones are taken.
    calls.extend([ask(20, first, neighbour, 7), locked(first), locked(neighbour), locked(abroad)]);
    let mut used = Used::default();
    calls.into_iter().map(|call| used.marked(call, &size)).collect()
}
