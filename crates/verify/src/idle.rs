//! Connections that are idle from the beginning of a verification, watched while everything else is checked.

use crate::Plan;
use crate::connections::request_of_health;
use crate::finding::{Failure, Rule};
use adapter_http::{HttpTarget, Raw};
use contract::Wire;
use measure::Monotonic;
use model::Clock;
use result::Check;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::task::Poll;
use std::thread;
use std::time::Duration;
use targets::Driven;

/// For so long a server keeps an idle connection open: `spec/openapi/common.yaml`.
pub const KEPT_OPEN: Duration = Duration::from_secs(150);
/// Connections that are watched: a server may have several processes.
const WATCHED: usize = 4;
/// How often an interrupt is looked for.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) const NAME: &str = "keep-alive";

/// What has become of the connections.
enum Seen {
    /// All were open after the time, and answered.
    Open,
    /// One was not: what happened to it.
    Lost(String),
}

/// The connections, watched by a thread of their own.
pub(crate) struct Idle {
    seen: Receiver<Seen>,
    watched: Duration,
}

impl Idle {
    /// Opens them, has a request answered on each, and watches them for so long.
    pub(crate) fn watch<W: Wire>(target: &Arc<HttpTarget<W>>, watched: Duration) -> anyhow::Result<Idle> {
        let (ended, seen) = channel();
        let target = Arc::clone(target);
        thread::Builder::new().name("idle-connections".into()).spawn(move || {
            let found = targets::wait_for(watch(&target, watched));
            // No one may be waiting any more.
            let _ = ended.send(found.unwrap_or_else(|error| Seen::Lost(format!("{error:#}"))));
        })?;
        Ok(Idle { seen, watched })
    }

    /// Waits for what is left of the time, and completes the rule that connections are kept open.
    pub(crate) fn complete<W: Driven>(self, rule: &mut Rule, plan: &Plan<'_, W>, doing: &dyn Fn(&str)) {
        match self.end(plan, doing) {
            Ok(Seen::Open) if self.watched >= KEPT_OPEN => rule.checked += WATCHED as u64,
            Ok(Seen::Open) => {
                let seconds = self.watched.as_secs_f64();
                unknown(rule, &format!("idle connections were watched for {seconds} s only (--idle)"));
            }
            Ok(Seen::Lost(found)) => {
                rule.check = Check::Failed;
                rule.note = None;
                rule.checked += WATCHED as u64;
                rule.failures.push(Failure {
                    request: format!("curl -i '{}/health'", plan.url.trim_end_matches('/')),
                    expected: format!(
                        "the connection stays open for {} s without a request",
                        KEPT_OPEN.as_secs()
                    ),
                    found,
                });
            }
            Err(why) => unknown(rule, why),
        }
    }

    fn end<W: Driven>(&self, plan: &Plan<'_, W>, doing: &dyn Fn(&str)) -> Result<Seen, &'static str> {
        let mut one_line = false;
        loop {
            match self.seen.recv_timeout(LOOK) {
                Ok(seen) => return Ok(seen),
                Err(RecvTimeoutError::Disconnected) => return Err("the watch of idle connections ended"),
                Err(RecvTimeoutError::Timeout) if plan.interrupt.requested() => {
                    return Err("interrupted while idle connections were watched");
                }
                Err(RecvTimeoutError::Timeout) if !one_line => {
                    let seconds = self.watched.as_secs_f64();
                    doing(&format!("connections that are idle for {seconds} s (--idle shortens it)"));
                    one_line = true;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
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

async fn watch<W: Wire>(target: &HttpTarget<W>, watched: Duration) -> Seen {
    let clock = Monotonic::start();
    let request = request_of_health(target);
    let mut open: Vec<Raw> = Vec::new();
    for _ in 0..WATCHED {
        match target.raw().await {
            Ok(raw) => open.push(raw),
            Err(error) => return Seen::Lost(error.to_string()),
        }
    }
    for raw in &mut open {
        match raw.ask(request.as_bytes()).await {
            Ok(reply) if reply.closes => return Seen::Lost("`connection: close`".into()),
            Ok(_) => {}
            Err(why) => return Seen::Lost(why),
        }
    }
    let idle_from = clock.now();
    let ended = poll_fn(|cx| match open.iter().any(|raw| raw.poll_ended(cx).is_ready()) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    });
    if tokio::time::timeout(watched, ended).await.is_ok() {
        let seconds = (clock.now() - idle_from).as_secs_f64();
        return Seen::Lost(format!("closed after {seconds:.1} s without a request"));
    }
    for raw in &mut open {
        // A firewall in between may have dropped it without closing it.
        if let Err(why) = raw.ask(request.as_bytes()).await {
            let seconds = watched.as_secs_f64();
            return Seen::Lost(format!("after {seconds} s without a request: {why}"));
        }
    }
    Seen::Open
}
