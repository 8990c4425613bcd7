//! Whether a session answers as it should: a script of edge cases with recorded answers, then random calls, each
//! compared with the [`Oracle`].
//!
//! It sees outcomes only, so it works on any session: an adapter, a server behind HTTP, someone's own. What no outcome
//! shows (tellers, branches, the history) is for the audits of the stored data.

mod probes;
mod script;
mod vectors;

use crate::{Cardinality, Data, Oracle, Outcome, Tpcb};
use contract::conformance::Script;
use model::Session;
use probes::Probes;

pub use contract::conformance::{Conformance, Disagreement, Origin};
pub use vectors::recorded;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConformancePlan {
    /// Size of the loaded data.
    pub size: Cardinality,
    /// Seed of the random calls.
    pub seed: u64,
    /// Random calls after the script.
    pub random_calls: u32,
}

impl ConformancePlan {
    /// A plan on the data of the golden vectors, which is tiny.
    pub const fn golden(seed: u64, random_calls: u32) -> ConformancePlan {
        ConformancePlan { size: Cardinality::tiny(), seed, random_calls }
    }

    fn is_golden(&self) -> bool {
        self.size == Cardinality::tiny()
    }
}

type CallResult = contract::conformance::CallResult<Tpcb>;

/// Holds a session to the script and to random calls.
///
/// The store behind the session must be freshly loaded with the plan's size, and no one else may write to it meanwhile.
/// It is worn out afterwards. Meant for [`Cardinality::tiny`], where random calls meet each other often.
pub async fn conform<S: Session<Tpcb>>(
    session: &mut S,
    plan: &ConformancePlan,
) -> Result<Conformance, Disagreement> {
    let mut oracle = Oracle::new(&Data::new(plan.size));
    let script = match plan.is_golden() {
        true => Script::Recorded(vectors::golden()),
        false => Script::Asked(script::calls(plan.size)),
    };
    let mut probes = Probes::new(plan);
    let random = (0..plan.random_calls).map(|_| probes.draw());
    contract::conformance::conform(session, script, random, |call| oracle.answer(call), agree).await
}

/// Whether `found` says the same as `expected`.
pub fn agree(expected: &Outcome, found: &Outcome) -> Result<(), String> {
    let (wanted, had) = (expected.abalance, found.abalance);
    if wanted == had { Ok(()) } else { Err(format!("abalance: expected {wanted}, found {had}")) }
}

#[cfg(test)]
mod tests;
