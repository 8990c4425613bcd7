//! Calls that meet: each round of a race, on connections of its own.

use crate::finding::{Failure, Rule};
use crate::openapi::cut;
use crate::request::Request;
use crate::watch::{SharedNotes, Watched, noted};
use crate::witness::{Witness, settled};
use crate::{Plan, RACE, is_wanted};
use adapter_http::HttpTarget;
use anyhow::Result;
use contract::conformance::describe;
use contract::{Race, Raced};
use model::{CallWork, DefectKind, Fault, OpenError, RetryPolicy, RetryingTarget, Session, Target};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use targets::Driven;

/// Rounds of each race.
const ROUNDS: u32 = 15;
/// Failures that are kept of one race.
const KEPT: usize = 1;

/// Runs the races of a workload, or those that are asked for.
pub(crate) fn races<W: Driven>(
    target: &Arc<HttpTarget<W>>,
    notes: &SharedNotes<W>,
    plan: &Plan<'_, W>,
    witness: Option<&dyn Witness<W>>,
) -> Result<Vec<Rule>> {
    let mut found: BTreeMap<usize, (Rule, u64)> = BTreeMap::new();
    let mut waits = witness;
    for round in 0..ROUNDS {
        // What is on its way from the round before would arrive in the middle of this one. Where there is no such thing, or no one
        // who brings it, that is known after the first time.
        waits = match waits {
            Some(witness) if W::pending(&settled(witness)?) == Some(0) => Some(witness),
            _ => None,
        };
        let mut races = W::races(&plan.size, plan.salt, round);
        races.retain(|race| is_wanted(plan.only, &name_of(race)));
        targets::wait_for(of_round(&mut found, round, target, notes, races))??;
    }
    let each = found.into_values();
    Ok(each.map(|(rule, rounds)| Rule::of(&rule.name, &rule.rule, rounds, rule.failures)).collect())
}

fn name_of<W: Driven>(race: &Race<W>) -> String {
    format!("{RACE}/{}", race.name)
}

/// One round of each race, entered behind those before.
async fn of_round<W: Driven>(
    found: &mut BTreeMap<usize, (Rule, u64)>,
    round: u32,
    target: &Arc<HttpTarget<W>>,
    notes: &SharedNotes<W>,
    races: Vec<Race<W>>,
) -> Result<(), OpenError> {
    let retrying = connections(target, notes);
    let mut sessions = Vec::new();
    for (at, race) in races.into_iter().enumerate() {
        while sessions.len() < race.together.len().max(1) {
            sessions.push(retrying.open(sessions.len() as u32).await?);
        }
        let (name, rule) = (name_of(&race), race.rule);
        let failure = one(&mut sessions, race, target, notes).await;
        let (rule, rounds) = found.entry(at).or_insert_with(|| (Rule::of(&name, rule, 0, Vec::new()), 0));
        *rounds += 1;
        if rule.failures.len() < KEPT {
            rule.failures.extend(failure.map(|failure| Failure {
                found: failure.found.replacen('\n', &format!(" (round {} of {ROUNDS})\n", round + 1), 1),
                ..failure
            }));
        }
    }
    Ok(())
}

/// Opens sessions of one connection each.
pub(crate) fn connections<W: Driven>(
    target: &Arc<HttpTarget<W>>,
    notes: &SharedNotes<W>,
) -> RetryingTarget<Watched<W>> {
    let watched = Watched { in_turn: 1, ..Watched::new(target, notes) };
    RetryingTarget::new(watched, RetryPolicy { reopens: false, ..RetryPolicy::default() })
}

/// A session that repeats what met a conflict.
pub(crate) type Connection<W> = model::Retrying<W, Watched<W>>;

/// One round; what is wrong with it.
async fn one<W: Driven>(
    sessions: &mut [Connection<W>],
    race: Race<W>,
    target: &HttpTarget<W>,
    notes: &SharedNotes<W>,
) -> Option<Failure> {
    let mut before = Vec::new();
    for call in &race.before {
        match single_call(&mut sessions[0], call).await {
            Ok(outcome) => before.push(outcome),
            Err(fault) => return Some(unanswered(target, call, &fault, notes)),
        }
    }
    let together = at_once(sessions, &race.together).await;
    if let Some((call, fault)) = race.together.iter().zip(&together).find_map(|(call, answer)| match answer {
        // A conflict, a refusal: a right answer to calls that meet.
        Err(fault @ Fault::Defect(defect)) if defect.kind != DefectKind::BadCall => Some((call, fault)),
        Err(fault @ (Fault::InDoubt(_) | Fault::Defect(_))) => Some((call, fault)),
        _ => None,
    }) {
        return Some(unanswered(target, call, fault, notes));
    }
    let mut after = Vec::new();
    for call in &race.after {
        match single_call(&mut sessions[0], call).await {
            Ok(outcome) => after.push(outcome),
            Err(fault) => return Some(unanswered(target, call, &fault, notes)),
        }
    }
    let raced = Raced { before, together, after };
    let why = (race.judge)(&raced).err()?;
    let sent: Vec<String> =
        race.together.iter().map(|call| format!("{} &", line_of(target, notes, call))).collect();
    let answers: Vec<String> = raced.together.iter().map(shown::<W>).collect();
    Some(Failure {
        request: format!("{}\nwait", sent.join("\n")),
        expected: race.rule.into(),
        found: format!("{why}\n{}", answers.join("\n")),
    })
}

fn shown<W: Driven>(answer: &Result<W::Outcome, Fault>) -> String {
    cut(&describe::<W>(answer))
}

fn unanswered<W: Driven>(
    target: &HttpTarget<W>,
    call: &W::Call,
    fault: &Fault,
    notes: &SharedNotes<W>,
) -> Failure {
    Failure { request: line_of(target, notes, call), expected: "an outcome".into(), found: fault.to_string() }
}

/// A call as a line for a shell.
pub(crate) fn line_of<W: Driven>(target: &HttpTarget<W>, notes: &SharedNotes<W>, call: &W::Call) -> String {
    let url = noted(notes, |notes| notes.url.clone());
    Request::parsed(&target.request(call)).curl(&url)
}

async fn single_call<W: Driven>(session: &mut Connection<W>, call: &W::Call) -> Result<W::Outcome, Fault> {
    session.run(call, &mut CallWork::default()).await
}

/// Makes each call on a session of its own, all of them before the first answer is waited for.
pub(crate) async fn at_once<W: Driven>(
    sessions: &mut [Connection<W>],
    calls: &[W::Call],
) -> Vec<Result<W::Outcome, Fault>> {
    let mut works: Vec<CallWork> = calls.iter().map(|_| CallWork::default()).collect();
    let runs = sessions.iter_mut().zip(calls).zip(&mut works);
    type Run<'a, W> =
        Pin<Box<dyn Future<Output = Result<<W as model::Workload>::Outcome, Fault>> + Send + 'a>>;
    let mut runs: Vec<Run<'_, W>> =
        runs.map(|((session, call), work)| Box::pin(session.run(call, work)) as Run<'_, W>).collect();
    let mut answers: Vec<Option<Result<W::Outcome, Fault>>> = runs.iter().map(|_| None).collect();
    poll_fn(|cx| {
        let mut is_waiting = false;
        for (run, answer) in runs.iter_mut().zip(&mut answers).filter(|(_, answer)| answer.is_none()) {
            match run.as_mut().poll(cx) {
                Poll::Ready(found) => *answer = Some(found),
                Poll::Pending => is_waiting = true,
            }
        }
        if is_waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    answers.into_iter().flatten().collect()
}
