//! What a server reports of itself at `/about`, against what can be seen: its pool, and what its acknowledged calls survive.

use crate::Plan;
use crate::concurrent::sessions;
use crate::engine::Flushing;
use crate::finding::{Failure, Rule};
use crate::races::{Connection, at_once};
use crate::watch::SharedNotes;
use crate::witness::Witness;
use adapter_http::HttpTarget;
use anyhow::Result;
use model::{CallWork, Durability, Inputs, OpenError, Session, Tier, Verdict};
use std::sync::Arc;
use std::time::Duration;
use targets::Driven;
use workload::Streams;

/// Calls that each connection makes before the server's sessions are counted.
const ROUNDS: u32 = 20;
/// Writing calls that are made one after the other, each of which must be on the disk when it is answered.
const WRITES: u64 = 40;
/// PostgreSQL's sessions report what they have done once a second, at the end of a transaction.
const REPORTED_AFTER: Duration = Duration::from_millis(1_200);
/// Calls after that time, so that each session of a small pool has had one.
const REPORTS: u64 = 16;
/// What is being written back anyway is waited for so often, and so long each time.
const LOOKS: u32 = 3;
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(crate) const POOL: &str = "pool";
const POOL_RULE: &str = "/about says how many sessions the server has at the engine, and it has no more; calls do not all share one";
pub(crate) const DURABILITY: &str = "durability";
const DURABILITY_RULE: &str = "calls that /about calls durable are on the disk when they are answered";

/// Calls of all kinds, whose answers are judged elsewhere: a stream of its own for each `number`.
fn stream<W: Driven>(plan: &Plan<'_, W>, number: u32) -> W::Inputs {
    let run = plan.seed + 1_000 + u64::from(plan.salt);
    let streams = Streams { seed: run, run, lossy: true, ..Streams::default() };
    workload::inputs::<W>(&plan.size, &streams)(number)
}

/// The pool that `/about` names, against what the server was started with and what the engine sees of it.
pub(crate) fn pool<W: Driven>(
    target: &Arc<HttpTarget<W>>,
    notes: &SharedNotes<W>,
    plan: &Plan<'_, W>,
    witness: Option<&dyn Witness<W>>,
) -> Result<Rule> {
    let asked = match plan.pool {
        Ok(asked) => asked,
        Err(why) => return Ok(Rule::unchecked(POOL, POOL_RULE, why)),
    };
    let said = u64::from(target.about().pool);
    let mut failures = Vec::new();
    let mut wrong = |expected: String, found: String| {
        let request = format!("curl -i '{}/about'", plan.url.trim_end_matches('/'));
        failures.push(Failure { request, expected, found });
    };
    if said != u64::from(asked) {
        wrong(format!("a pool of {asked}, which STACKMARK_POOL asks for"), format!("a pool of {said}"));
    }
    let mut inputs: Vec<W::Inputs> = (100..108).map(|number| stream(plan, number)).collect();
    let seen = targets::wait_for(async {
        let mut sessions = sessions(target, notes, inputs.len() as u32).await?;
        for _ in 0..ROUNDS {
            let calls: Vec<W::Call> = inputs.iter_mut().map(W::Inputs::draw).collect();
            let answers = at_once(&mut sessions, &calls).await;
            for ((call, answer), inputs) in calls.iter().zip(answers).zip(&mut inputs) {
                follow::<W>(inputs, call, answer.ok().as_ref());
            }
        }
        Ok::<_, OpenError>(())
    })?
    .map(|()| witness.and_then(Witness::sessions))?;
    match seen {
        Some(seen) if seen > said => {
            wrong(format!("{said} sessions at the engine at most"), format!("{seen}"));
        }
        // Eight calls at a time do not share one session where there are eight.
        Some(1) if said >= inputs.len() as u64 => {
            wrong(format!("some of {said} sessions at the engine, for eight calls at once"), "1".into());
        }
        _ => {}
    }
    let note = match seen {
        Some(seen) => format!("{seen} of {said} sessions were open"),
        None => "the sessions at the engine cannot be seen here".into(),
    };
    Ok(Rule::of(POOL, POOL_RULE, 1 + u64::from(seen.is_some()), failures).noting(Some(note)))
}

/// Tells a stream what came of its call; whether that is right is judged elsewhere.
fn follow<W: Driven>(inputs: &mut W::Inputs, call: &W::Call, outcome: Option<&W::Outcome>) {
    if let Some(outcome) = outcome {
        let _ = inputs.check(call, outcome);
    }
}

/// Writing calls one after the other, each of which must have been flushed by the time it is answered.
pub(crate) fn durability<W: Driven>(
    target: &Arc<HttpTarget<W>>,
    notes: &SharedNotes<W>,
    plan: &Plan<'_, W>,
    witness: Option<&dyn Witness<W>>,
) -> Result<Rule> {
    let unchecked = |why| Ok(Rule::unchecked(DURABILITY, DURABILITY_RULE, why));
    let Durability { tier, detail } = &target.about().stack.durability;
    if *tier != Tier::Durable {
        return unchecked("the server does not say that calls are durable");
    }
    let Some(witness) = witness else { return unchecked("no --db") };
    let Some(flushing) = witness.flushing() else {
        return unchecked("neither engine nor kernel tells here what has been flushed");
    };
    let mut inputs = stream(plan, 200);
    let found = match flushing {
        Flushing::Always(is_flushed) => {
            let failure = (!is_flushed).then(|| Failure {
                request: "select @@global.innodb_flush_log_at_trx_commit".into(),
                expected: format!("1, where a server says: {detail}"),
                found: "the engine does not flush its log at every commit".into(),
            });
            let note = Some("by a setting of the engine that no session changes".to_owned());
            return Ok(Rule::of(DURABILITY, DURABILITY_RULE, 1, failure.into_iter().collect()).noting(note));
        }
        Flushing::Counted(_) => counted(&mut inputs, target, notes, witness)?,
        Flushing::Unwritten(_) => unwritten(&mut inputs, target, notes, witness)?,
    };
    let Some((made, flushed)) = found else {
        return unchecked("no writing call was answered, or it was no longer told");
    };
    // Not every call that is done had something to do.
    let failure = (flushed * 2 < made).then(|| Failure {
        request: format!("{made} writing calls, one after the other, to a server that says: {detail}"),
        expected: format!("{made} flushes, or not many fewer"),
        found: format!("{flushed}"),
    });
    let note = format!("{made} calls, {flushed} flushes");
    Ok(Rule::of(DURABILITY, DURABILITY_RULE, made, failure.into_iter().collect()).noting(Some(note)))
}

/// Makes the next writing call of a stream; whether it was done.
async fn write<W: Driven>(inputs: &mut W::Inputs, session: &mut Connection<W>) -> bool {
    let mut call = inputs.draw();
    while !W::KINDS[W::kind(&call)].writes {
        call = inputs.draw();
    }
    let outcome = session.run(&call, &mut CallWork::default()).await.ok();
    follow::<W>(inputs, &call, outcome.as_ref());
    outcome.is_some_and(|outcome| W::verdict(&outcome) == Verdict::Committed)
}

/// Calls, and the flushes that the engine has counted meanwhile.
fn counted<W: Driven>(
    inputs: &mut W::Inputs,
    target: &Arc<HttpTarget<W>>,
    notes: &SharedNotes<W>,
    witness: &dyn Witness<W>,
) -> Result<Option<(u64, u64)>> {
    let mut writes = |count: u64| -> Result<u64> {
        let done = targets::wait_for(async {
            let mut session = sessions(target, notes, 1).await?.swap_remove(0);
            let mut done = 0;
            for _ in 0..count {
                done += u64::from(write(inputs, &mut session).await);
            }
            Ok::<_, OpenError>(done)
        })?;
        Ok(done?)
    };
    let reported = || match witness.flushing() {
        Some(Flushing::Counted(flushes)) => Some(flushes),
        _ => None,
    };
    std::thread::sleep(REPORTED_AFTER);
    writes(REPORTS)?;
    let before = reported();
    let made = writes(WRITES)?;
    std::thread::sleep(REPORTED_AFTER);
    writes(REPORTS)?;
    let flushed = before.zip(reported()).map(|(before, after)| after.saturating_sub(before));
    Ok(flushed.filter(|_| made > 0).map(|flushed| (made, flushed)))
}

/// Calls, and how many of them had left nothing only in memory when they were answered, or a moment later.
fn unwritten<W: Driven>(
    inputs: &mut W::Inputs,
    target: &Arc<HttpTarget<W>>,
    notes: &SharedNotes<W>,
    witness: &dyn Witness<W>,
) -> Result<Option<(u64, u64)>> {
    let asked = targets::wait_for(async {
        let mut session = sessions(target, notes, 1).await?.swap_remove(0);
        let (mut made, mut flushed) = (0, 0);
        for _ in 0..WRITES {
            if !write(inputs, &mut session).await {
                continue;
            }
            let mut left = witness.flushing();
            for _ in 1..LOOKS {
                if !matches!(left, Some(Flushing::Unwritten(1..))) {
                    break;
                }
                // What is checkpointed is written first and flushed then.
                tokio::time::sleep(LOOK_EVERY).await;
                left = witness.flushing();
            }
            let Some(Flushing::Unwritten(pages)) = left else { return Ok(None) };
            made += 1;
            flushed += u64::from(pages == 0);
        }
        Ok::<_, OpenError>((made > 0).then_some((made, flushed)))
    })?;
    Ok(asked?)
}
