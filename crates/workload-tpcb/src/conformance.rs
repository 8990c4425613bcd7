//! Whether a session answers as it should: a script of edge cases with recorded answers, then random calls, each
//! compared with the [`Oracle`].
//!
//! It sees outcomes only, so it works on any session: an adapter, a server behind HTTP, somebody's own. What no outcome
//! shows (tellers, branches, the history) is for the audits of the stored data.

mod probes;
mod script;
mod vectors;

use crate::{Call, Cardinality, Data, Oracle, Outcome, Tpcb};
use model::{DefectKind, Effort, Fault, Session, Verdict, Wire, Workload};
use probes::Probes;
use serde::Serialize;

pub use vectors::recorded;

/// What to compare.
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
    #[must_use]
    pub const fn golden(seed: u64, random_calls: u32) -> ConformancePlan {
        ConformancePlan { size: Cardinality::tiny(), seed, random_calls }
    }

    fn is_golden(&self) -> bool {
        self.size == Cardinality::tiny()
    }
}

/// What was compared, all of it in agreement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Conformance {
    /// Calls of the script compared with recorded answers (`spec/vectors/tpcb.jsonl`). Zero on data of another size.
    pub golden: u32,
    /// Calls of the script compared with the oracle alone, on data of another size than that of the golden vectors.
    pub scripted: u32,
    /// Random calls.
    pub random: u32,
    /// All of them by kind, in the order of [`Workload::KINDS`].
    pub kinds: [u32; 1],
    /// Calls that were rightly declined: none, ever.
    pub declined: u32,
    /// Calls that were rightly rejected.
    pub rejected: u32,
}

/// Where a call comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A golden vector.
    Golden,
    /// The script of edge cases, on data of another size than that of the golden vectors.
    Script,
    /// Drawn.
    Random,
}

impl Origin {
    const fn name(self) -> &'static str {
        match self {
            Origin::Golden => "golden",
            Origin::Script => "script",
            Origin::Random => "random",
        }
    }
}

/// The first call that was answered wrongly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{} call {number}, {kind} {call}: {what}", .origin.name())]
pub struct Disagreement {
    /// The call's number in the whole run, from 1.
    pub number: u32,
    /// Where it comes from.
    pub origin: Origin,
    /// Its kind, by name.
    pub kind: &'static str,
    /// The call as JSON.
    pub call: String,
    /// The right answer: an outcome as JSON, or the reason to reject the call.
    pub expected: String,
    /// The answer given: an outcome as JSON, or a fault.
    pub found: String,
    /// The first difference, with both values.
    pub what: String,
}

type Answer = Result<Outcome, Fault>;

/// Holds a session to the script and to random calls.
///
/// The store behind the session must be freshly loaded with the plan's size, and nobody else may write to it meanwhile.
/// It is worn out afterwards. Meant for [`Cardinality::tiny`], where random calls meet each other often.
///
/// # Errors
/// The first disagreement; the rest of the calls is not made.
pub async fn conform<S: Session<Tpcb>>(
    session: &mut S,
    plan: &ConformancePlan,
) -> Result<Conformance, Disagreement> {
    let mut oracle = Oracle::new(&Data::new(plan.size));
    let mut run = Run::default();

    if plan.is_golden() {
        for (call, expected) in vectors::golden() {
            // The oracle keeps up, because the random calls start from what the script leaves behind.
            let _ = oracle.answer(&call);
            run.hold(session, Origin::Golden, &call, &expected).await?;
        }
    } else {
        for call in script::calls(plan.size) {
            let expected = oracle.answer(&call);
            run.hold(session, Origin::Script, &call, &expected).await?;
        }
    }

    let mut probes = Probes::new(plan);
    for _ in 0..plan.random_calls {
        let call = probes.draw();
        let expected = oracle.answer(&call);
        run.hold(session, Origin::Random, &call, &expected).await?;
    }
    Ok(run.done)
}

#[derive(Default)]
struct Run {
    number: u32,
    done: Conformance,
}

impl Run {
    async fn hold<S: Session<Tpcb>>(
        &mut self,
        session: &mut S,
        origin: Origin,
        call: &Call,
        expected: &Answer,
    ) -> Result<(), Disagreement> {
        self.number += 1;
        let found = session.run(call, &mut Effort::default()).await;
        let kind = Tpcb::kind(call);
        compare(expected, &found).map_err(|what| Disagreement {
            number: self.number,
            origin,
            kind: Tpcb::KINDS[kind].name,
            call: json(|into| Tpcb::encode_call(call, into)),
            expected: describe(expected),
            found: describe(&found),
            what,
        })?;
        match origin {
            Origin::Golden => self.done.golden += 1,
            Origin::Script => self.done.scripted += 1,
            Origin::Random => self.done.random += 1,
        }
        self.done.kinds[kind] += 1;
        match expected {
            Ok(outcome) => self.done.declined += u32::from(Tpcb::verdict(outcome) == Verdict::Declined),
            Err(_) => self.done.rejected += 1,
        }
        Ok(())
    }
}

/// Whether `found` says the same as `expected`.
///
/// # Errors
/// What differs, with both values.
pub fn agree(expected: &Outcome, found: &Outcome) -> Result<(), String> {
    let (wanted, had) = (expected.abalance, found.abalance);
    if wanted == had { Ok(()) } else { Err(format!("abalance: expected {wanted}, found {had}")) }
}

fn compare(expected: &Answer, found: &Answer) -> Result<(), String> {
    match (expected, found) {
        (Ok(expected), Ok(found)) => agree(expected, found),
        (Err(_), Err(Fault::Defect(defect))) if defect.kind == DefectKind::BadCall => Ok(()),
        (Ok(_), Err(fault)) => Err(format!("expected an outcome, found a fault: {fault}")),
        (Err(reason), Ok(_)) => Err(format!("expected the call to be rejected ({reason}), found an outcome")),
        (Err(reason), Err(fault)) => {
            Err(format!("expected the call to be rejected ({reason}), found another fault: {fault}"))
        }
    }
}

fn describe(answer: &Answer) -> String {
    match answer {
        Ok(outcome) => json(|into| Tpcb::encode_outcome(outcome, into)),
        Err(fault) => fault.to_string(),
    }
}

fn json(encode: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = Vec::new();
    encode(&mut bytes);
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

#[cfg(test)]
mod tests;
