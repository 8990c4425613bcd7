//! Whether a session answers as it should: a script of edge cases with recorded answers, then random calls, each
//! compared with the [`Oracle`].
//!
//! It sees outcomes only, so it works on any session: an adapter, a server behind HTTP, a user's own. What no outcome
//! shows is for the audits of the stored data.

mod probes;
mod script;
mod vectors;

use crate::{Bookings, Call, Cardinality, Oracle, Outcome, Purpose};
use contract::conformance::{Script, describe};
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

type CallResult = contract::conformance::CallResult<Bookings>;

/// Answers as a right store does, to know which keys have been used.
struct Used(Oracle);

impl Used {
    /// The call, as a repeated one where its key was used before: it books nothing, and a ledger must know.
    fn marked(&mut self, call: Call) -> Call {
        let Call::Book { booking, .. } = call else { return call };
        let is_used = self.0.bookings.contains_key(&booking.key);
        // A call that is rejected uses no key.
        let _ = self.0.answer(&call);
        if is_used { Call::Book { purpose: Purpose::Repeat, booking } } else { Call::of(booking) }
    }
}

/// Holds a session to the script and to random calls.
///
/// The store behind the session must be freshly loaded with the plan's size, and no other client may write to it meanwhile.
/// It is worn out afterwards. Meant for [`Cardinality::tiny`], where random calls meet each other often.
pub async fn conform<S: Session<Bookings>>(
    session: &mut S,
    plan: &ConformancePlan,
) -> Result<Conformance, Disagreement> {
    let mut oracle = Oracle::new(plan.size);
    let asked = script::calls(plan.size);
    let mut used = Used(Oracle::new(plan.size));
    asked.iter().for_each(|call| {
        used.marked(*call);
    });
    let script = match plan.is_golden() {
        true => Script::Recorded(vectors::golden()),
        false => Script::Asked(asked),
    };
    let mut probes = Probes::new(plan);
    let random = (0..plan.random_calls).map(|_| used.marked(probes.draw()));
    contract::conformance::conform(session, script, random, |call| oracle.answer(call), agree).await
}

/// Whether `found` says the same as `expected`.
fn agree(expected: &Outcome, found: &Outcome) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let [expected, found] = [expected, found].map(|outcome| describe::<Bookings>(&Ok(*outcome)));
    Err(format!("expected {expected}, found {found}"))
}

#[cfg(test)]
mod tests;
