//! The golden vectors: the script as requests with their answers, recorded in `spec/vectors/booking.jsonl` for every language.

use super::{CallResult, script};
use crate::{Bookings, Call, Cardinality, Oracle};

/// The calls and their answers, in order: those of the oracle, which a test holds to the recorded ones.
pub(super) fn golden() -> Vec<(Call, CallResult)> {
    let mut oracle = Oracle::new(Cardinality::tiny());
    let calls = script::calls(Cardinality::tiny());
    calls.into_iter().map(|call| (call, oracle.answer(&call))).collect()
}

/// What `spec/vectors/booking.jsonl` must hold.
pub fn recorded() -> String {
    contract::vectors::recorded::<Bookings>(&Cardinality::tiny(), &golden())
}
