//! What a server reports of itself at `/about`, against what can be seen: its pool, and what its acknowledged calls survive.

use crate::Plan;
use crate::concurrent::sessions;
use crate::engine::{FlushReader, Flushing};
use crate::finding::{Failure, Rule};
use crate::races::at_once;
use crate::watch::SharedNotes;
use crate::witness::Witness;
use adapter_http::HttpTarget;
use anyhow::Result;
use measure::Monotonic;
use model::{CallWork, Clock, Durability, Inputs, OpenError, Session, Tier, Verdict};
use std::sync::Arc;
use std::time::Duration;
use targets::Driven;
use workload::Streams;

/// Calls that each connection makes before the server's sessions are counted.
const ROUNDS: u32 = 20;
/// Writing calls that are made one after the other, each of which must be on the disk when it is answered.
const WRITES: u64 = 40;
/// And more, until each kind that is not always declined has as many; a kind with fewer is not judged by itself.
const WRITES_OF_A_KIND: u64 = 6;
/// Calls that are drawn for it at the most.
const DRAWS: u64 = 600;
/// What others write, a relay or a checkpoint, is waited for so often after an answer.
const LOOKS: u32 = 3;
/// Each time so long, or as long as the call took, which a flush is a part of: of files, what is written back anyway; and of a log, what another
/// session is flushing.
const WRITTEN_BACK: Duration = Duration::from_millis(50);
const FLUSHED: Duration = Duration::from_millis(8);
/// PostgreSQL flushes what no session waits for every 200 ms: what is seen later says nothing.
const PAUSE_MAX: Duration = Duration::from_millis(50);
/// What a call writes only after its answer is waited for so long; one that writes nothing, such as a repeated transfer, costs this time.
const WRITTEN_LATER: Duration = Duration::from_millis(200);
const LOOK_MAX: Duration = Duration::from_millis(40);
/// A log that others write to is waited for so long before a call.
const QUIET_WITHIN: Duration = Duration::from_secs(1);

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
    let mut reader = witness.flushes();
    let Some((reader, flushing)) =
        reader.as_mut().and_then(|reader| reader.look().map(|flushing| (reader, flushing)))
    else {
        return unchecked("neither engine nor kernel tells here what has been flushed");
    };
    if let Flushing::Always { asked, flushes } = flushing {
        let failure = (!flushes).then(|| Failure {
            request: asked.into(),
            expected: format!("a log that is flushed at every commit, where a server says: {detail}"),
            found: "the engine does not flush its log at every commit".into(),
        });
        let note = Some("by a setting of the engine that no session changes".to_owned());
        return Ok(Rule::of(DURABILITY, DURABILITY_RULE, 1, failure.into_iter().collect()).noting(note));
    }
    let clock = Monotonic::start();
    if reader.look().is_none() || clock.now() > LOOK_MAX.into() {
        return unchecked("the engine is too far away to see in time what it has flushed");
    }
    let kinds = match flushed(&mut stream(plan, 200), target, notes, reader)? {
        Ok(kinds) => kinds,
        Err(why) => return unchecked(why),
    };
    let all = kinds.iter().fold(Flushed::default(), |all, kind| Flushed {
        made: all.made + kind.made,
        flushed: all.flushed + kind.flushed,
    });
    let failure = |Flushed { made, flushed }: Flushed, of: &str| Failure {
        request: format!("{made} writing calls{of}, one after the other, to a server that says: {detail}"),
        expected: "each on the disk when it is answered, but for a few beside which others wrote".into(),
        found: format!("{flushed} were"),
    };
    let named = W::KINDS.iter().zip(&kinds);
    let mut failures: Vec<Failure> = named
        .filter(|(_, kind)| kind.made >= WRITES_OF_A_KIND && kind.flushed * 2 < kind.made)
        .map(|(kind, found)| failure(*found, &format!(" of {}", kind.name)))
        .collect();
    if failures.is_empty() && all.flushed * 4 < all.made * 3 {
        failures.push(failure(all, ""));
    }
    let note = format!("{} of {} calls were on the disk when they were answered", all.flushed, all.made);
    Ok(Rule::of(DURABILITY, DURABILITY_RULE, all.made, failures).noting(Some(note)))
}

/// Whether all that was written to the log is flushed soon. Files are the server's alone, and what it leaves in memory there stays for long.
fn is_quiet(reader: &mut FlushReader) -> bool {
    let clock = Monotonic::start();
    loop {
        match reader.look() {
            Some(found @ Flushing::Logged(_)) if found.covers(&found) == Some(false) => {}
            _ => return true,
        }
        if clock.now() > QUIET_WITHIN.into() {
            return false;
        }
        std::thread::sleep(FLUSHED);
    }
}

/// Writing calls of a kind that were done.
#[derive(Debug, Clone, Copy, Default)]
struct Flushed {
    made: u64,
    /// Those of them that had left nothing in memory alone when they were answered, or a moment later.
    flushed: u64,
}

/// Makes calls, one after the other, and looks at each of them when it is answered. By kind, or why that says nothing.
fn flushed<W: Driven>(
    inputs: &mut W::Inputs,
    target: &Arc<HttpTarget<W>>,
    notes: &SharedNotes<W>,
    reader: &mut FlushReader,
) -> Result<Result<Vec<Flushed>, &'static str>> {
    // The witness waits on a runtime of its own, which cannot be within another.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut session = runtime.block_on(sessions(target, notes, 1))?.swap_remove(0);
    let clock = Monotonic::start();
    let mut kinds = vec![Flushed::default(); W::KINDS.len()];
    for _ in 0..DRAWS {
        let (all, flushed) =
            kinds.iter().fold((0, 0), |(all, flushed), kind| (all + kind.made, flushed + kind.flushed));
        let mut awaited =
            W::KINDS.iter().zip(&kinds).filter(|(kind, _)| kind.writes && kind.declined_max < 1.0);
        // More calls would not change a verdict of half of them.
        let is_enough = awaited.all(|(_, kind)| kind.made >= WRITES_OF_A_KIND) || flushed * 2 < all;
        if all >= WRITES && is_enough {
            break;
        }
        let call = inputs.draw();
        let kind = W::kind(&call);
        // Readings come first, since some changes are of what was read.
        if !W::KINDS[kind].writes && all >= WRITES {
            continue;
        }
        if W::KINDS[kind].writes && !is_quiet(reader) {
            return Ok(Err("others write to the engine's log all the time"));
        }
        let before = W::KINDS[kind].writes.then(|| reader.look()).flatten();
        let asked = clock.now();
        let outcome = runtime.block_on(session.run(&call, &mut CallWork::default())).ok();
        let took = Duration::from(clock.now() - asked);
        follow::<W>(inputs, &call, outcome.as_ref());
        let is_done = outcome.is_some_and(|outcome| W::verdict(&outcome) == Verdict::Committed);
        if !W::KINDS[kind].writes || !is_done {
            continue;
        }
        let Some(is_flushed) = before.and_then(|before| is_flushed(reader, took, &before)) else {
            return Ok(Err("what is flushed was no longer told"));
        };
        kinds[kind].made += 1;
        kinds[kind].flushed += u64::from(is_flushed);
    }
    let any = kinds.iter().any(|kind| kind.made > 0);
    Ok(if any { Ok(kinds) } else { Err("no writing call was done") })
}

/// Whether all that has been written by now is on the disk, or is a moment later, as a call `took`. Not where something is written only
/// later that was not `before` the call.
fn is_flushed(reader: &mut FlushReader, took: Duration, before: &Flushing) -> Option<bool> {
    let first = reader.look()?;
    if !first.has_grown(before) {
        let clock = Monotonic::start();
        while clock.now() < WRITTEN_LATER.into() {
            std::thread::sleep(FLUSHED);
            if reader.look()?.has_grown(before) {
                return Some(false);
            }
        }
        return reader.look()?.covers(&first);
    }
    let pause = if matches!(first, Flushing::Logged(_)) { FLUSHED } else { WRITTEN_BACK };
    let mut flushed = first.covers(&first)?;
    for _ in 1..LOOKS {
        if flushed {
            break;
        }
        std::thread::sleep(pause.max(took).min(PAUSE_MAX));
        flushed = reader.look()?.covers(&first)?;
    }
    Some(flushed)
}
