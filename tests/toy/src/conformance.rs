//! Whether a session answers as it should: a few edge cases, then random calls, each compared with the oracle.

use crate::call::{DELAY_MS_MAX, NUMBER_MAX};
use crate::oracle::Oracle;
use crate::{Call, Cardinality, Inputs, Outcome, Toy};
use contract::conformance::{Conformance, Disagreement, Script};
use model::{Inputs as _, Session};

pub(crate) struct ConformancePlan {
    /// Size of the loaded data.
    pub(crate) size: Cardinality,
    pub(crate) seed: u64,
    pub(crate) random_calls: u32,
}

impl ConformancePlan {
    /// A plan on tiny data.
    pub(crate) fn golden(seed: u64, random_calls: u32) -> ConformancePlan {
        ConformancePlan { size: TINY, seed, random_calls }
    }
}

/// Few boxes, so that calls meet.
pub(crate) const TINY: Cardinality = Cardinality { boxes: 3 };

/// Holds a session to the script and to random calls, on a store that is freshly loaded.
pub(crate) async fn conform<S: Session<Toy>>(
    session: &mut S,
    plan: &ConformancePlan,
) -> Result<Conformance, Disagreement> {
    let mut oracle = Oracle::new(plan.size);
    let mut inputs = Inputs::new(plan.size, plan.seed, 0);
    let random = (0..plan.random_calls).map(|_| inputs.draw());
    let script = Script::Asked(script(plan.size));
    contract::conformance::conform(session, script, random, |call| oracle.answer(call), agree).await
}

/// The first and the last box, the least and the largest of everything; boxes that do not exist are rejected, and nothing of
/// what was done before that was seen is left.
fn script(Cardinality { boxes }: Cardinality) -> Vec<Call> {
    let call = |id, number, delay_ms| Call { id, number, delay_ms };
    vec![
        call(1, NUMBER_MAX, 0),
        call(boxes, 0, DELAY_MS_MAX),
        call(boxes, 7, 1),
        call(0, 1, 0),
        call(boxes + 1, 1, 0),
        call(1, 0, 0),
    ]
}

fn agree(expected: &Outcome, found: &Outcome) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("expected {expected:?}, found {found:?}")) }
}
