//! Whether a server keeps a workload's contract and answers rightly: a verdict for each rule, with the request that broke it.
//!
//! Everything goes over HTTP, as a client's calls do; who looks at the stored data next to it is a [`Witness`], where there is
//! one. What was not checked is listed as such.
//!
//! In reading order: `finding` (what comes of it), `watch` (sessions that note what answers are worth), `openapi` (an answer
//! against its document), `difference`, `asked` (requests that no server may take, of which `bad_inputs` is the table), `concurrent`, `races`,
//! `connections`, `statements` and `reported` (what the server reports of itself, against `engine` and `files`); `idle` and `slow_body`
//! take their time while all of them run.

mod asked;
mod background;
mod bad_inputs;
mod concurrent;
mod connections;
mod difference;
mod engine;
mod files;
mod finding;
mod idle;
mod openapi;
mod races;
mod reported;
mod request;
mod slow_body;
mod statements;
mod watch;
mod witness;

use adapter_http::{Expected, HttpTarget};
use anyhow::{Context, Result, bail};
use contract::Method;
use contract::conformance::{Conformance, Disagreement, Origin};
use deploy::Interrupt;
use idle::Idle;
use measure::Monotonic;
use model::{AnyTarget, Clock, RetryPolicy, RetryingTarget};
use openapi::Contract;
use request::Request;
use result::Check;
use slow_body::SlowBody;
use sql::Dialect;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use targets::Driven;
use watch::{Noted, Notes, SharedNotes, Watched, noted};

pub use asked::bad_input_statuses;
pub use engine::{Flushing, StatementCounts};
pub use finding::{Failure, ReportedWork, Rule, Verification};
pub use idle::KEPT_OPEN;
pub use witness::{Databases, TheServer, Witness, is_golden};

/// Random calls that are compared with the oracle.
const RANDOM_CALLS: u32 = 1_000;
/// Those on more data, where they meet less often.
const RANDOM_CALLS_ON_MORE: u32 = 400;

/// What is to be verified, and how.
pub struct Plan<'a, W: Driven> {
    /// Where the server is.
    pub url: &'a str,
    /// The subject, where we have started it.
    pub subject: Option<&'a str>,
    /// How much data it holds.
    pub size: W::Extent,
    /// Why it is not known what the data is: nothing where it is that of the golden vectors, and no one has used it.
    pub unknown: Option<&'a str>,
    /// Seed of random calls.
    pub seed: u64,
    /// Another number in each verification of the same data.
    pub salt: u32,
    /// Ends it before its time, with what has been found by then.
    pub interrupt: &'a Interrupt,
    /// How long connections are watched that are idle from the beginning; shorter than [`KEPT_OPEN`] that is not checked.
    pub idle: Duration,
    /// The rules to look at, which [`check_names`] knows: all where it is empty.
    pub only: &'a [String],
    /// The pool that the server was started with; or why sessions at the engine say nothing about it.
    pub pool: Result<u32, &'a str>,
}

/// What is checked on data that no one has used, and not on that of the golden vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fresh {
    /// The workload's own model, on more data with other ids.
    MoreData,
    /// Calls of all kinds over several connections at once.
    ConcurrentCalls,
}

impl Fresh {
    pub const ALL: [Fresh; 2] = [Fresh::MoreData, Fresh::ConcurrentCalls];

    const fn rule(self) -> (&'static str, &'static str) {
        match self {
            Fresh::MoreData => {
                ("more-data", "calls on more data, with other ids, are answered and stored as on little")
            }
            Fresh::ConcurrentCalls => (concurrent::LOAD, concurrent::LOAD_RULE),
        }
    }

    /// The name of the rule.
    pub const fn name(self) -> &'static str {
        self.rule().0
    }

    /// Whether it is one of the rules that are asked for.
    pub fn is_wanted(self, only: &[String]) -> bool {
        is_wanted(only, self.name())
    }

    /// The rule where there is no such data, and why.
    pub fn unchecked(self, why: &str) -> Rule {
        let (name, rule) = self.rule();
        Rule::unchecked(name, rule, why)
    }
}

/// Verifies a server on data of [`Benchmark::larger_over`](workload::Benchmark::larger_over) that no one has used.
///
/// # Errors
/// As for [`verify`].
pub fn verify_fresh<W: Driven>(plan: &Plan<'_, W>, witness: &dyn Witness<W>, what: Fresh) -> Result<Rule> {
    let target = Arc::new(targets::wait_for(HttpTarget::<W>::reach(plan.url, &Expected { scale: None }))??);
    let notes = notes::<W>(plan)?;
    let before = witness.evidence().context("could not read what is stored")?;
    match what {
        Fresh::ConcurrentCalls => concurrent::calls(&target, &notes, plan, witness, &before),
        Fresh::MoreData => {
            let (name, rule) = what.rule();
            let mut whole = Rule::of(name, rule, 0, Vec::new());
            for part in conformance(plan, &target, &notes, RANDOM_CALLS_ON_MORE)? {
                whole.take(part);
            }
            for part in stored(Some(witness), Some(&before), &notes)? {
                whole.take(part);
            }
            Ok(whole)
        }
    }
}

/// Whether a server ends when it is asked to.
const STOP: (&str, &str) =
    ("stop", "SIGTERM ends the server with exit status 0, in the time that its manifest gives it");

/// The rule on how a server ended that was asked to, or why it was not asked; nothing where another rule was asked for.
pub fn stopped(only: &[String], ended: Result<Result<(), String>, &str>) -> Option<Rule> {
    let (name, rule) = STOP;
    is_wanted(only, name).then(|| match ended {
        Ok(ended) => {
            let failure = |found| Failure { request: String::new(), expected: "exit status 0".into(), found };
            Rule::of(name, rule, 1, ended.err().map(failure).into_iter().collect())
        }
        Err(why) => Rule::unchecked(name, rule, why),
    })
}

/// Checks names of rules, where `race` is all races of a workload.
pub fn check_names<W: Driven>(names: &[String]) -> Result<()> {
    let races = W::races(&W::tiny_over(1), 0, 0);
    let races = races.iter().map(|race| format!("{RACE}/{}", race.name));
    let named = PHASES.iter().flat_map(|(_, phase)| phase.rules()).copied();
    let others = [ABOUT, slow_body::NAME, STOP.0].into_iter().chain(Fresh::ALL.map(Fresh::name));
    let known: Vec<String> = others.chain(named).map(str::to_owned).chain(races).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        bail!("{} has no rule `{unknown}`; it has {}", W::NAME, known.join(", "));
    }
    Ok(())
}

/// Whether a rule is one of `only`, or all are wanted.
fn is_wanted(only: &[String], rule: &str) -> bool {
    let is_in = |name: &String| {
        rule.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    only.is_empty() || only.iter().any(is_in)
}

/// Verifies a server.
///
/// # Errors
/// It cannot be reached, is not a server of the workload, or the witness cannot say anything.
pub fn verify<W: Driven>(
    plan: &Plan<'_, W>,
    witness: Option<&dyn Witness<W>>,
    doing: &dyn Fn(&str),
) -> Result<Verification> {
    let clock = Monotonic::start();
    let target = Arc::new(targets::wait_for(HttpTarget::<W>::reach(plan.url, &Expected { scale: None }))??);
    let notes = notes::<W>(plan)?;
    let before = witness.map(Witness::evidence).transpose().context("could not read what is stored")?;
    let mut rules = vec![asked::about(&target, &notes)?];
    let (size, seed) = (&plan.size, plan.seed);
    let mut work = Vec::new();
    let idle = is_wanted(plan.only, idle::NAME).then(|| watch_idle(&target, plan)).transpose()?;
    let slow = is_wanted(plan.only, slow_body::NAME).then(|| watch_slow_body(&target, plan)).transpose()?;
    for (what, phase) in PHASES {
        if plan.interrupt.requested() {
            break;
        }
        if !phase.is_wanted(plan.only) {
            continue;
        }
        doing(what);
        match phase {
            Phase::Conformance => {
                rules.extend(conformance(plan, &target, &notes, RANDOM_CALLS)?);
                work = noted(&notes, |notes| notes.work.clone());
                work.retain(|work| work.attempts > 0);
            }
            Phase::BadInputs => {
                let quiet = witness.map(witness::settled).transpose()?;
                rules.push(asked::bad_inputs(&target, &notes, size, seed)?);
                rules.push(asked::hosts(&target, &notes, size, seed)?);
                rules.push(asked::methods(&target, &notes, size, seed)?);
                rules.push(unchanged::<W>(quiet.as_ref(), witness)?);
            }
            Phase::ConcurrentReads => rules.push(concurrent::reads(&target, &notes, plan)?),
            Phase::Reported => {
                rules.push(reported::pool(&target, &notes, plan, witness)?);
                rules.push(reported::durability(&target, &notes, plan, witness)?);
            }
            Phase::Races => rules.extend(races::races(&target, &notes, plan, witness)?),
            Phase::Connections => rules.push(connections::connections(&target, plan.url)?),
            Phase::Statements => rules.push(match witness {
                Some(witness) => statements::statements(&target, &notes, size, seed, witness)?,
                None => Rule::unchecked(statements::NAME, statements::RULE, "no --db"),
            }),
            Phase::Answers => rules.extend(noted(&notes, of_answers)),
            Phase::Stored => rules.extend(stored(witness, before.as_ref(), &notes)?),
        }
    }
    if let (Some(idle), Some(rule)) = (idle, rules.iter_mut().find(|rule| rule.name == idle::NAME)) {
        idle.complete(rule, plan, doing);
    }
    rules.extend(slow.flatten().map(|slow| slow.judged(plan, doing)));
    rules.retain(|rule| is_wanted(plan.only, &rule.name));
    let about = target.about();
    Ok(Verification {
        workload: W::NAME.into(),
        server: format!("{} {}", about.name, about.version),
        subject: plan.subject.map(str::to_owned),
        url: plan.url.into(),
        witness: witness.map_or_else(|| "none: no --db".into(), Witness::name),
        complete: !plan.interrupt.requested(),
        only: plan.only.to_vec(),
        duration_s: clock.now().as_secs_f64(),
        rules,
        work,
    })
}

/// Checks that run together, and the message meanwhile.
const PHASES: [(&str, Phase); 9] = [
    ("golden vectors and random calls", Phase::Conformance),
    ("reading calls over several connections", Phase::ConcurrentReads),
    ("requests that no server may take", Phase::BadInputs),
    ("races", Phase::Races),
    ("connections", Phase::Connections),
    ("statements at the engine", Phase::Statements),
    ("pool and durability", Phase::Reported),
    ("all answers so far", Phase::Answers),
    ("the stored data", Phase::Stored),
];

#[derive(Debug, Clone, Copy)]
enum Phase {
    Conformance,
    ConcurrentReads,
    BadInputs,
    Races,
    Connections,
    Statements,
    Reported,
    Answers,
    Stored,
}

impl Phase {
    fn rules(self) -> &'static [&'static str] {
        match self {
            Phase::Conformance => &[GOLDEN.0, RANDOM.0],
            Phase::ConcurrentReads => &[concurrent::READS],
            Phase::Reported => &[reported::POOL, reported::DURABILITY],
            Phase::BadInputs => &["bad-input", asked::HOST, "methods", UNCHANGED],
            Phase::Races => &[RACE],
            Phase::Connections => &["connections"],
            Phase::Statements => &[statements::NAME],
            Phase::Answers => &["schema", "headers", "server-timing", idle::NAME],
            Phase::Stored => &["stored", "audits"],
        }
    }

    /// What answers and stored data are judged by are the calls of the golden vectors, and of whatever else is asked for.
    fn is_wanted(self, only: &[String]) -> bool {
        let any = |phase: Phase| only.is_empty() || phase.rules().iter().any(|rule| is_wanted(only, rule));
        match self {
            Phase::Conformance => [self, Phase::Answers, Phase::Stored].into_iter().any(any),
            Phase::Races => any(self) || only.iter().any(|name| is_wanted(&[RACE.to_owned()], name)),
            _ => any(self),
        }
    }
}

fn notes<W: Driven>(plan: &Plan<'_, W>) -> Result<SharedNotes<W>> {
    let contract = match W::CONTRACT {
        [] => Contract::none(),
        documents => Contract::read(documents).map_err(anyhow::Error::msg)?,
    };
    Ok(Arc::new(Mutex::new(Notes {
        url: plan.url.trim_end_matches('/').to_owned(),
        contract,
        ledger: W::new_ledger(&plan.size),
        size: plan.size.clone(),
        answers: Noted::default(),
        headers: Noted::default(),
        timing: Noted::default(),
        kept_open: Noted::default(),
        last: None,
        statements: 0,
        work: W::KINDS.iter().map(|kind| ReportedWork::of(kind.name)).collect(),
    })))
}

const ABOUT: &str = "about";
const RACE: &str = "race";
const UNCHANGED: &str = "rejected-changes-nothing";
const GOLDEN: (&str, &str) = ("golden", "the calls of the golden vectors are answered as recorded");
const RANDOM: (&str, &str) = ("random", "random calls are answered as the workload's own model answers them");

/// Connections that are idle after `/health`, `/about` and reading calls.
fn watch_idle<W: Driven>(target: &Arc<HttpTarget<W>>, plan: &Plan<'_, W>) -> Result<Idle> {
    let reading = (0..W::KINDS.len()).filter(|kind| W::ENDPOINTS[*kind].method == Method::Get);
    let calls = reading.filter_map(|kind| asked::samples::<W>(target, &plan.size, plan.seed, kind).pop());
    let requests =
        ["/health", "/about"].map(|path| Request::new("GET", path)).into_iter().chain(calls.take(1));
    let host = target.address().to_string();
    let asked = requests.map(|request| idle::IdleRequest {
        bytes: request.bytes(&host),
        line: request.curl(plan.url.trim_end_matches('/')),
    });
    Idle::watch(target, asked.collect(), plan.idle)
}

/// A call whose body stops half-way: the first one that has a body.
fn watch_slow_body<W: Driven>(target: &Arc<HttpTarget<W>>, plan: &Plan<'_, W>) -> Result<Option<SlowBody>> {
    let kind = (0..W::KINDS.len()).find(|kind| W::ENDPOINTS[*kind].method.has_body());
    let call = kind.and_then(|kind| asked::samples::<W>(target, &plan.size, plan.seed, kind).pop());
    let url = plan.url.trim_end_matches('/');
    call.map(|call| SlowBody::watch(target, &call, url, plan.idle)).transpose()
}

/// Golden vectors, and random calls on what they leave behind.
fn conformance<W: Driven>(
    plan: &Plan<'_, W>,
    target: &Arc<HttpTarget<W>>,
    notes: &SharedNotes<W>,
    random_calls: u32,
) -> Result<Vec<Rule>> {
    if let Some(why) = plan.unknown {
        return Ok([GOLDEN, RANDOM].map(|(name, rule)| Rule::unchecked(name, rule, why)).into());
    }
    let watched = AnyTarget::new(Watched::new(target, notes));
    let retrying = RetryingTarget::new(watched, RetryPolicy::ONCE);
    let found = W::conform(&retrying, &plan.size, plan.seed, random_calls)?;
    let last = noted(notes, |notes| notes.last.clone());
    Ok(judged(found, last))
}

fn judged(found: Result<Conformance, Disagreement>, last: Option<(String, String)>) -> Vec<Rule> {
    let rule = |(name, rule): (&str, &str), checked, failures| Rule::of(name, rule, checked, failures);
    match found {
        Ok(done) => vec![
            rule(GOLDEN, u64::from(done.golden + done.scripted), vec![]),
            rule(RANDOM, done.random.into(), vec![]),
        ],
        Err(wrong) => {
            let (request, reply) = last.unwrap_or_default();
            let (expected, found) = match difference::entries(&wrong.expected, &wrong.found) {
                Some([expected, found]) => (expected, found),
                None if reply.is_empty() => (openapi::cut(&wrong.expected), wrong.found),
                None => (openapi::cut(&wrong.expected), reply),
            };
            let expected = format!("{expected} ({}: {})", wrong.kind, wrong.what);
            let failure = Failure { request, expected, found };
            match wrong.origin {
                Origin::Random => {
                    vec![rule(GOLDEN, 1, vec![]), rule(RANDOM, wrong.number.into(), vec![failure])]
                }
                Origin::Golden | Origin::Script => vec![
                    rule(GOLDEN, wrong.number.into(), vec![failure]),
                    Rule::unchecked(RANDOM.0, RANDOM.1, "a golden vector has a wrong response"),
                ],
            }
        }
    }
}

/// What requests that were rejected have left behind: nothing.
fn unchanged<W: Driven>(before: Option<&W::Evidence>, witness: Option<&dyn Witness<W>>) -> Result<Rule> {
    let (name, rule) = (UNCHANGED, "requests that are rejected change nothing that is stored");
    let (Some(before), Some(witness)) = (before, witness) else {
        return Ok(Rule::unchecked(name, rule, "no --db"));
    };
    let one_line = |evidence: &W::Evidence| serde_json::to_string(evidence).unwrap_or_default();
    let (before, after) = (one_line(before), one_line(&witness.evidence()?));
    let failure = difference::entries(&before, &after).map(|[expected, found]| Failure {
        request: "the requests of `bad-input`, `host` and `methods`".into(),
        expected,
        found,
    });
    Ok(Rule::of(name, rule, 1, failure.into_iter().collect()))
}

/// What was noted of all answers on the way.
fn of_answers<W: Driven>(notes: &mut Notes<W>) -> Vec<Rule> {
    let one = |name, rule, noted: &mut Noted, why| match noted.checked {
        0 => Rule::unchecked(name, rule, why),
        checked => Rule::of(name, rule, checked, std::mem::take(&mut noted.failures)),
    };
    vec![
        one(
            "schema",
            "every answer has a status, headers and a body of the contract",
            &mut notes.answers,
            "the workload has no OpenAPI document",
        ),
        one(
            "headers",
            "responses have the headers that match their body, such as the etag of a version",
            &mut notes.headers,
            "the workload has no such headers",
        ),
        one(
            "server-timing",
            "the parts of server-timing are no more than its total, and that no more than the response time",
            &mut notes.timing,
            "the server sends no server-timing with a total; it need not",
        ),
        one(
            idle::NAME,
            "connections stay open between calls, for at least 150 s",
            &mut notes.kept_open,
            "no call was answered",
        ),
    ]
}

/// What is stored at the end, against what was acknowledged, and the workload's audits.
fn stored<W: Driven>(
    witness: Option<&dyn Witness<W>>,
    before: Option<&W::Evidence>,
    notes: &SharedNotes<W>,
) -> Result<Vec<Rule>> {
    let (stored, stored_rule) = ("stored", "what was acknowledged is stored, and nothing else");
    let (audits, audits_rule) = ("audits", "the stored data meets the conditions of the workload");
    let (Some(witness), Some(before)) = (witness, before) else {
        return Ok(vec![
            Rule::unchecked(stored, stored_rule, "no --db"),
            Rule::unchecked(audits, audits_rule, "no --db"),
        ]);
    };
    let after = witness::settled(witness)?;
    let checks = noted(notes, |notes| witness::ledger::<W>(before, &after, &notes.ledger));
    let wrong = checks.iter().filter(|check| check.check == Check::Failed).map(|check| Failure {
        request: String::new(),
        expected: format!("{} from {} to {} {}", check.name, check.low, check.high, check.unit),
        found: format!("{} {}", check.stored, check.unit),
    });
    let stored = Rule::of(stored, stored_rule, checks.len() as u64, wrong.collect());
    let mut all = witness.audits(before)?;
    // What chance makes of a run's inputs says nothing of a server.
    let by_chance: Vec<String> = W::audits(Dialect::Sqlite)?
        .into_iter()
        .flat_map(|group| group.audits)
        .filter(sql::audit::Audit::is_of_chance)
        .map(|audit| audit.name)
        .collect();
    all.retain(|audit| !by_chance.contains(&audit.name) && !W::OF_INPUTS.contains(&audit.name.as_str()));
    let failed = all.iter().filter(|audit| audit.check == Check::Failed).map(|audit| Failure {
        request: String::new(),
        expected: audit.full_name(),
        found: format!("{}; {}", audit.sentence, audit.violations.first().map_or("", String::as_str)),
    });
    let one_line = all.iter().filter(|audit| matches!(audit.check, Check::Passed | Check::Failed)).count();
    let rule = Rule::of(audits, audits_rule, one_line as u64, failed.collect());
    let open = all.iter().find(|audit| audit.check == Check::NotRun);
    Ok(vec![
        stored,
        rule.noting(open.map(|audit| format!("not run: {}: {}", audit.full_name(), audit.sentence))),
    ])
}
