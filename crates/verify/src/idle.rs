//! Connections that are idle from the beginning of a verification, watched while everything else is checked.

use crate::Plan;
use crate::background::Background;
use crate::connections::request_of_health;
use crate::finding::{Failure, Rule};
use crate::watch::ANSWER_MAX;
use adapter_http::{HttpTarget, Raw};
use contract::Wire;
use measure::Monotonic;
use model::Clock;
use result::Check;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use targets::Driven;

/// For so long a server keeps an idle connection open: `spec/openapi/common.yaml`.
pub const KEPT_OPEN: Duration = Duration::from_secs(150);
/// Connections that are watched after each request: a server may have several processes.
const EACH: usize = 4;

pub(crate) const NAME: &str = "keep-alive";

/// What has become of the connections.
enum IdleOutcome {
    /// All were open after the time, and answered.
    Open,
    /// One was not: the request that it had been asked, as a line for a shell, and what happened to it.
    Lost(String, String),
}

/// The connections, watched by a thread of their own.
pub(crate) struct Idle {
    seen: Background<IdleOutcome>,
    watched: Duration,
    /// How many there are.
    connections: u64,
}

/// A request after which connections are idle, as bytes and as a line for a shell; before a first one there is none.
pub(crate) struct IdleRequest {
    pub bytes: Vec<u8>,
    pub line: String,
}

impl Idle {
    /// Opens connections, has one of these requests answered on each and none on some, and watches them for so long.
    pub(crate) fn watch<W: Wire>(
        target: &Arc<HttpTarget<W>>,
        asked: Vec<IdleRequest>,
        watched: Duration,
    ) -> anyhow::Result<Idle> {
        let target = Arc::clone(target);
        let connections = (EACH * (asked.len() + 1)) as u64;
        let seen = Background::spawn("idle-connections", move || {
            let found = targets::wait_for(watch(&target, &asked, watched));
            found.unwrap_or_else(|error| IdleOutcome::Lost(String::new(), format!("{error:#}")))
        })?;
        Ok(Idle { seen, watched, connections })
    }

    /// Waits for what is left of the time, and completes the rule that connections are kept open.
    pub(crate) fn complete<W: Driven>(self, rule: &mut Rule, plan: &Plan<'_, W>, doing: &dyn Fn(&str)) {
        let seconds = self.watched.as_secs_f64();
        match self.seen.end(
            plan,
            doing,
            &format!("connections that are idle for {seconds} s (--idle shortens it)"),
        ) {
            Ok(IdleOutcome::Open) if self.watched >= KEPT_OPEN => rule.checked += self.connections,
            Ok(IdleOutcome::Open) => {
                unknown(rule, &format!("idle connections were watched for {seconds} s only (--idle)"));
            }
            Ok(IdleOutcome::Lost(request, found)) => {
                rule.check = Check::Failed;
                rule.note = None;
                rule.checked += self.connections;
                rule.failures.push(Failure {
                    request,
                    expected: format!(
                        "the connection stays open for {} s without a request",
                        KEPT_OPEN.as_secs()
                    ),
                    found,
                });
            }
            Err(why) => unknown(rule, &format!("idle connections were not watched to the end: {why}")),
        }
    }
}

/// What was not checked is not kept; what is broken stays broken.
fn unknown(rule: &mut Rule, why: &str) {
    if rule.check == Check::Passed {
        rule.check = Check::NotRun;
        rule.note = Some(why.to_owned());
    }
}

async fn watch<W: Wire>(target: &HttpTarget<W>, asked: &[IdleRequest], watched: Duration) -> IdleOutcome {
    let clock = Monotonic::start();
    let health = request_of_health(target);
    // Without a request, and after each of them.
    let mut open: Vec<(Raw, &str)> = Vec::new();
    for asked in std::iter::once(None).chain(asked.iter().map(Some)) {
        let line = asked.map_or("", |asked| asked.line.as_str());
        for _ in 0..EACH {
            let mut raw = match target.raw().await {
                Ok(raw) => raw,
                Err(error) => return IdleOutcome::Lost(line.into(), error.to_string()),
            };
            if let Some(asked) = asked {
                match ask(&mut raw, &asked.bytes).await {
                    Ok(true) => return IdleOutcome::Lost(line.into(), "`connection: close`".into()),
                    Ok(false) => {}
                    Err(why) => return IdleOutcome::Lost(line.into(), why),
                }
            }
            open.push((raw, line));
        }
    }
    let idle_from = clock.now();
    let ended = poll_fn(|cx| match open.iter().find(|(raw, _)| raw.poll_ended(cx).is_ready()) {
        Some((_, line)) => Poll::Ready((*line).to_owned()),
        None => Poll::Pending,
    });
    if let Ok(line) = tokio::time::timeout(watched, ended).await {
        let seconds = (clock.now() - idle_from).as_secs_f64();
        let which = if line.is_empty() { " since it was opened" } else { "" };
        return IdleOutcome::Lost(line, format!("closed after {seconds:.1} s without a request{which}"));
    }
    for (raw, line) in &mut open {
        // A firewall in between may have dropped it without closing it.
        if let Err(why) = ask(raw, health.as_bytes()).await {
            let seconds = watched.as_secs_f64();
            return IdleOutcome::Lost(
                (*line).to_owned(),
                format!("after {seconds} s without a request: {why}"),
            );
        }
    }
    IdleOutcome::Open
}

/// Whether the server closes the connection behind its answer to a request.
async fn ask(raw: &mut Raw, request: &[u8]) -> Result<bool, String> {
    match tokio::time::timeout(ANSWER_MAX, raw.ask(request)).await {
        Ok(reply) => Ok(reply?.closes),
        Err(_) => Err(format!("no answer within {} s", ANSWER_MAX.as_secs())),
    }
}
