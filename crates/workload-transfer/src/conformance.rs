//! Whether a session answers as it should: a script of edge cases with recorded answers, then random calls, each
//! compared with the [`Oracle`].
//!
//! It sees outcomes only, so it works on any session: an adapter, a server behind HTTP, someone's own. What no outcome
//! shows (the ledger) is for the audits of the stored data.

mod probes;
mod script;
mod vectors;

use crate::{Call, Cardinality, Key, Oracle, Outcome, Purpose, State, Transfer, Transfers};
use contract::conformance::{Script, describe};
use model::{CallWork, Fault, Session};
use probes::Probes;
use std::collections::BTreeSet;
use std::time::Duration;

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

type CallResult = contract::conformance::CallResult<Transfers>;

/// Keys that were used, by their account.
#[derive(Default)]
struct Used(BTreeSet<(u32, Key)>);

impl Used {
    /// The call, as a repeated one where its key was used before: it moves nothing, and who counts must know.
    fn marked(&mut self, call: Call, size: &Cardinality) -> Call {
        match call {
            Call::Transfer { transfer, .. } if is_taken(&transfer, size) => {
                match self.0.insert((transfer.source, transfer.key)) {
                    true => call,
                    false => Call::Transfer { purpose: Purpose::Repeat, transfer },
                }
            }
            _ => call,
        }
    }
}

/// Whether a transfer is between accounts that there are: one that is not leaves its key unused.
fn is_taken(transfer: &Transfer, size: &Cardinality) -> bool {
    let ids = size.ids();
    transfer.source != transfer.target && ids.contains(&transfer.source) && ids.contains(&transfer.target)
}

/// Holds a session to the script and to random calls.
///
/// The store behind the session must be freshly loaded with the plan's size, and no one else may write to it meanwhile.
/// It is worn out afterwards. Meant for [`Cardinality::tiny`], where random calls meet each other often.
pub async fn conform<S: Session<Transfers>>(
    session: &mut S,
    plan: &ConformancePlan,
) -> Result<Conformance, Disagreement> {
    let session = &mut Settling(session);
    let over_stores = plan.size.shards > 1;
    let mut oracle = Oracle::new(plan.size);
    let script = match plan.is_golden() {
        true => Script::Recorded(vectors::golden()),
        false => Script::Asked(script::calls(plan.size)),
    };
    let mut probes = Probes::new(plan);
    let mut used = Used::default();
    let random = (0..plan.random_calls).map(|_| used.marked(probes.draw(), &plan.size));
    let agree = |expected: &Outcome, found: &Outcome| agree(expected, found, over_stores);
    contract::conformance::conform(session, script, random, |call| oracle.answer(call), agree).await
}

/// How long a transfer between two stores may be on its way, in looks of [`LOOK_EVERY`].
const LOOKS_MAX: u32 = 5_000;
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A session that does not come back before the money of a call has arrived: what is asked next finds it there.
struct Settling<'a, S>(&'a mut S);

impl<S: Session<Transfers>> Session<Transfers> for Settling<'_, S> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        let answer = self.0.run(call, work).await?;
        if let (Call::Transfer { transfer, .. }, Outcome::Moved { state: State::Pending, .. }) =
            (call, answer)
        {
            let read = Call::ReadTransfer { source: transfer.source, key: transfer.key };
            let pending = |outcome| matches!(outcome, Outcome::Found { state: State::Pending, .. });
            let mut looks = 0;
            while pending(self.0.run(&read, &mut CallWork::default()).await?) && looks < LOOKS_MAX {
                std::thread::sleep(LOOK_EVERY);
                looks += 1;
            }
        }
        Ok(answer)
    }
}

/// Whether `found` means the same as `expected`. Where there are several stores, a transfer may be answered as one whose money
/// is still on its way.
pub fn agree(expected: &Outcome, found: &Outcome, over_stores: bool) -> Result<(), String> {
    let at_once = match *found {
        Outcome::Moved { state: State::Pending, balance } if over_stores => {
            Outcome::Moved { state: State::Completed, balance }
        }
        found => found,
    };
    if *expected == at_once {
        return Ok(());
    }
    let [expected, found] = [expected, found].map(|outcome| describe::<Transfers>(&Ok(*outcome)));
    Err(format!("expected {expected}, found {found}"))
}

#[cfg(test)]
mod tests;
