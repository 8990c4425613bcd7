//! Whether a session answers as TPC-C asks: a script of edge cases with recorded answers, then random calls, each
//! compared with the [`Oracle`].
//!
//! It sees outcomes only, so it works on any session: an adapter, a server behind HTTP, someone's own. What no outcome
//! shows (w_ytd, the history, counters of the stock) is for the audits of the stored data.

mod agree;
pub(crate) mod probes;
mod script;
mod vectors;

use crate::{Cardinality, Data, Oracle, Tpcc};
use contract::conformance::Script;
use model::Session;
use probes::Probes;

pub use agree::agree;
pub use contract::conformance::{Conformance, Disagreement, Origin};
pub use vectors::recorded;

/// The seed of the data that the golden vectors were recorded on.
pub const GOLDEN_LOAD_SEED: u64 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConformancePlan {
    /// Size of the loaded data.
    pub size: Cardinality,
    /// Seed of the loaded data.
    pub load_seed: u64,
    /// Seed of the random calls.
    pub seed: u64,
    /// Random calls after the script.
    pub random_calls: u32,
}

impl ConformancePlan {
    /// A plan on the data of the golden vectors, which is tiny.
    pub const fn golden(seed: u64, random_calls: u32) -> ConformancePlan {
        ConformancePlan { size: Cardinality::tiny(), load_seed: GOLDEN_LOAD_SEED, seed, random_calls }
    }

    fn is_golden(&self) -> bool {
        self.size == Cardinality::tiny() && self.load_seed == GOLDEN_LOAD_SEED
    }
}

type CallResult = contract::conformance::CallResult<Tpcc>;

/// Holds a session to the script and to random calls.
///
/// The store behind the session must be freshly loaded with the plan's size and seed, and no one else may write to it
/// meanwhile. It is worn out afterwards. Meant for [`Cardinality::tiny`], where random calls meet each other often.
pub async fn conform<S: Session<Tpcc>>(
    session: &mut S,
    plan: &ConformancePlan,
) -> Result<Conformance, Disagreement> {
    let data = Data::new(plan.size, plan.load_seed);
    let mut oracle = Oracle::new(&data);
    let script = match plan.is_golden() {
        true => Script::Recorded(vectors::golden()),
        false => Script::Asked(script::calls(&data)),
    };
    let mut probes = Probes::new(&data, plan);
    let random = (0..plan.random_calls).map(|_| probes.draw());
    contract::conformance::conform(session, script, random, |call| oracle.answer(call), agree).await
}

#[cfg(test)]
mod tests;
