//! The golden vectors: the script as requests with their answers, recorded in `spec/vectors/catalogue.jsonl` for every
//! language.

use super::{CallResult, script};
use crate::{Call, Cardinality, FoodCatalogue, Oracle};

/// The calls and their answers, in order: those of the oracle, which a test holds to the recorded ones.
pub(super) fn golden() -> Vec<(Call, CallResult)> {
    let mut oracle = Oracle::new(Cardinality::tiny());
    let answered = |call: Call| {
        let answer = oracle.answer(&call);
        (call, Ok(answer))
    };
    script::calls(Cardinality::tiny()).into_iter().map(answered).collect()
}

/// What `spec/vectors/catalogue.jsonl` must hold.
pub fn recorded() -> String {
    contract::vectors::recorded::<FoodCatalogue>(&Cardinality::tiny(), &golden())
}
