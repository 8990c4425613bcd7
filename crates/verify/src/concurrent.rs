//! Calls over several connections at once: each answer must be that of its own call, and what is stored must be what was
//! acknowledged.

use crate::Plan;
use crate::finding::{Failure, Rule};
use crate::openapi::cut;
use crate::races::{Connection, at_once, connections, line_of};
use crate::statements::drawn;
use crate::watch::{Noted, SharedNotes};
use crate::witness::Witness;
use adapter_http::HttpTarget;
use anyhow::Result;
use contract::conformance::describe;
use model::{CallWork, Fault, Inputs, OpenError, Session, Target};
use std::sync::Arc;
use targets::Driven;
use workload::Streams;

/// Connections with a call each.
const TOGETHER: usize = 8;
/// Calls that each of them makes while all kinds of calls are made.
const ROUNDS: u32 = 60;

pub(crate) const READS: &str = "concurrent-reads";
const READS_RULE: &str = "reading calls over eight connections at once are answered as each of them is alone";
pub(crate) const LOAD: &str = "concurrent-calls";
pub(crate) const LOAD_RULE: &str = "calls of all kinds over eight connections at once are answered as the workload knows, and stored as acknowledged";

/// So many sessions, on a connection each.
pub(crate) async fn sessions<W: Driven>(
    target: &Arc<HttpTarget<W>>,
    notes: &SharedNotes<W>,
    count: u32,
) -> Result<Vec<Connection<W>>, OpenError> {
    let target = connections(target, notes);
    let mut sessions = Vec::new();
    for worker in 0..count {
        sessions.push(target.open(worker).await?);
    }
    Ok(sessions)
}

/// Asks what calls may have left behind, each question by itself and then eight of them together. Nothing else changes the data
/// meanwhile.
pub(crate) fn reads<W: Driven>(
    target: &Arc<HttpTarget<W>>,
    notes: &SharedNotes<W>,
    plan: &Plan<'_, W>,
) -> Result<Rule> {
    let of_kind = |kind| drawn::<W>(&plan.size, plan.seed, kind).iter().filter_map(W::closing).collect();
    let each: Vec<Vec<W::Call>> = (0..W::KINDS.len()).map(of_kind).collect();
    // Those of one kind meet each other, and those of all kinds.
    let longest = each.iter().map(Vec::len).max().unwrap_or(0);
    let mixed = (0..longest).flat_map(|at| each.iter().filter_map(move |calls| calls.get(at)));
    let questions: Vec<W::Call> = each.iter().flatten().chain(mixed).cloned().collect();
    if questions.is_empty() {
        return Ok(Rule::unchecked(READS, READS_RULE, "the workload has no reading call"));
    }
    let mut answered = 0;
    let found = targets::wait_for(async {
        let mut found = Noted::default();
        let mut sessions = sessions(target, notes, TOGETHER as u32).await?;
        for questions in questions.chunks(TOGETHER) {
            let mut alone = Vec::new();
            for question in questions {
                alone.push(sessions[0].run(question, &mut CallWork::default()).await);
            }
            let together = at_once(&mut sessions, questions).await;
            for ((question, alone), answer) in questions.iter().zip(alone).zip(together) {
                let may_differ = match (&alone, &answer) {
                    // A pool may be too small for so many at once, and says so.
                    (_, Err(Fault::Refused(_) | Fault::Conflict(_))) | (Err(_), Err(_)) => true,
                    (alone, answer) if alone == answer => true,
                    // What has come to its end in between is answered otherwise from now on.
                    _ => sessions[0].run(question, &mut CallWork::default()).await == answer,
                };
                answered += u64::from(answer.is_ok());
                let failure = (!may_differ).then(|| Failure {
                    request: format!("{} # beside seven others", line_of(target, notes, question)),
                    expected: cut(&describe::<W>(&alone)),
                    found: other_than(&cut(&describe::<W>(&alone)), cut(&describe::<W>(&answer))),
                });
                found.enter(failure);
            }
        }
        Ok::<_, OpenError>(found)
    })??;
    Ok(answered_rule(READS, READS_RULE, found, answered))
}

/// An answer that is not `expected`, whose words may be the same: of a long body only a digest is kept.
fn other_than(expected: &str, found: String) -> String {
    if expected == found { format!("{found}, with another body") } else { found }
}

/// Makes calls of all kinds at once on data that no one has used, and checks their answers as a run does.
pub(crate) fn calls<W: Driven>(
    target: &Arc<HttpTarget<W>>,
    notes: &SharedNotes<W>,
    plan: &Plan<'_, W>,
    witness: &dyn Witness<W>,
    before: &W::Evidence,
) -> Result<Rule> {
    let streams = Streams {
        seed: plan.seed,
        load: Some(W::GOLDEN_LOAD_SEED),
        run: plan.seed,
        begin: i64::try_from(measure::unix_seconds()).ok(),
        ..Streams::default()
    };
    let knowledge = W::knowledge(&plan.size, &streams, Some(before));
    let inputs = W::inputs(&plan.size, &streams, knowledge);
    let mut inputs: Vec<W::Inputs> = (0..TOGETHER as u32).map(inputs).collect();
    let mut answered = 0;
    let found = targets::wait_for(async {
        let mut found = Noted::default();
        let mut sessions = sessions(target, notes, TOGETHER as u32).await?;
        for _ in 0..ROUNDS {
            let calls: Vec<W::Call> = inputs.iter_mut().map(W::Inputs::draw).collect();
            let answers = at_once(&mut sessions, &calls).await;
            for ((call, answer), inputs) in calls.iter().zip(answers).zip(&mut inputs) {
                answered += u64::from(answer.is_ok());
                let wrong = match &answer {
                    Ok(outcome) => W::check(call, outcome).and_then(|()| inputs.check(call, outcome)).err(),
                    Err(Fault::Refused(_) | Fault::Conflict(_)) => None,
                    Err(_) => Some("it is no answer to this call"),
                };
                found.enter(wrong.map(|why| Failure {
                    request: format!("{} # beside seven others", line_of(target, notes, call)),
                    expected: format!("an answer to this call: {why}"),
                    found: cut(&describe::<W>(&answer)),
                }));
            }
        }
        Ok::<_, OpenError>(found)
    })??;
    let mut rule = answered_rule(LOAD, LOAD_RULE, found, answered);
    for of_data in crate::stored(Some(witness), Some(before), notes)? {
        rule.take(of_data);
    }
    Ok(rule)
}

/// A rule of calls of which so many had an answer. Those that were refused or met a conflict say nothing, and of few answers nothing
/// follows.
fn answered_rule(name: &str, rule: &str, found: Noted, answered: u64) -> Rule {
    if found.failures.is_empty() && answered * 2 < found.checked {
        let why = format!(
            "only {answered} of {} calls were answered; the others were refused, or met a conflict",
            found.checked
        );
        return Rule::unchecked(name, rule, &why);
    }
    Rule::of(name, rule, answered, found.failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_in_its_body_alone_is_not_shown_as_the_same() {
        assert_eq!(other_than("status 200", "status 200".into()), "status 200, with another body");
        assert_eq!(other_than("status 200", "status 404".into()), "status 404");
    }
}
