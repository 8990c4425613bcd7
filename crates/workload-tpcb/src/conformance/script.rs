//! The edge cases, in the order in which they are asked.

use crate::{Call, Cardinality, DELTA_MAX};

/// The calls of the script for data of some size.
pub(super) fn calls(size: Cardinality) -> Vec<Call> {
    let (accounts, tellers, branches) = (size.accounts_all(), size.tellers_all(), size.branches);
    let call = |aid, tid, bid, delta| Call { aid, tid, bid, delta };
    let mut calls = Vec::new();

    // The first and the last of everything, which also meet the largest amounts both ways.
    calls.extend([
        call(1, 1, 1, DELTA_MAX),
        call(accounts, tellers, branches, -DELTA_MAX),
        call(1, tellers, branches, -DELTA_MAX),
        call(accounts, 1, 1, DELTA_MAX),
    ]);
    // Nothing is added, twice: an update that changes no value is an update all the same.
    calls.extend([call(1, 1, 1, 0), call(1, 2, branches, 0), call(1, 1, 1, 1), call(1, 1, 1, -1)]);
    // Account, teller and branch may all belong to different branches.
    let middle = accounts / 2 + 1;
    for bid in 1..=branches {
        calls.push(call(middle, (bid * 7) % tellers + 1, bid, 100 + i64::from(bid)));
    }
    // Neighbours do not touch each other.
    calls.extend([call(middle - 1, 1, 1, 7), call(middle, 1, 1, 0), call(middle - 1, 1, 1, 0)]);
    // Sums grow beyond what 16 bits hold, up and down.
    let hot = 2;
    for round in 0..8 {
        calls.push(call(hot, round % tellers + 1, round % branches + 1, DELTA_MAX));
    }
    for round in 0..16 {
        calls.push(call(hot, round % tellers + 1, round % branches + 1, -DELTA_MAX));
    }
    // What does not exist is rejected, and whatever was done before that was seen is undone: the account says so.
    for unknown in [
        call(accounts + 1, 1, 1, 500),
        call(hot, tellers + 1, 1, 500),
        call(hot, 1, branches + 1, 500),
        call(0, 1, 1, 500),
        call(hot, 0, 1, 500),
        call(hot, 1, 0, 500),
    ] {
        calls.extend([unknown, call(hot, 1, 1, 0)]);
    }
    // And nothing stuck: the next ones are taken.
    calls.extend([call(hot, 1, 1, 3), call(1, 1, 1, 0), call(accounts, 1, 1, 0)]);
    calls
}
