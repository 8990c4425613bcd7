//! A call whose body stops half-way: it must not be waited for without an end.

use crate::Plan;
use crate::background::Background;
use crate::finding::{Failure, Rule};
use crate::request::{Request, one_line};
use adapter_http::HttpTarget;
use contract::Wire;
use std::sync::Arc;
use std::time::Duration;
use targets::Driven;

/// No call waits for an answer for longer: `spec/openapi/common.yaml`.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);
/// An answer that is sent at the end of that time may come so much later.
const LATE: Duration = Duration::from_secs(5);

pub(crate) const NAME: &str = "slow-body";
const RULE: &str =
    "a call whose body does not arrive is answered with 408 within 60 s, and its connection is closed";

/// A call of which half the body was sent.
pub(crate) struct SlowBody {
    found: Background<Reaction>,
    watched: Duration,
    line: String,
}

enum Reaction {
    /// It is as it should be.
    Right,
    /// What came instead.
    Wrong(String),
    /// Nothing, within the time limit.
    Nothing,
}

impl SlowBody {
    /// Sends the head of a call and half of its body, and waits for an answer for so long.
    pub(crate) fn watch<W: Wire>(
        target: &Arc<HttpTarget<W>>,
        call: &Request,
        url: &str,
        watched: Duration,
    ) -> anyhow::Result<SlowBody> {
        let watched = watched.min(ANSWERED_WITHIN + LATE);
        let mut bytes = call.bytes(&target.address().to_string());
        bytes.truncate(bytes.len() - call.body.as_ref().map_or(0, |body| body.len().div_ceil(2)));
        let line = format!("{} # with half of its body, and no more", call.curl(url));
        let target = Arc::clone(target);
        let found = Background::spawn("slow-body", move || {
            let asked = targets::wait_for(ask(&target, &bytes, watched));
            asked.unwrap_or_else(|error| Reaction::Wrong(format!("{error:#}")))
        })?;
        Ok(SlowBody { found, watched, line })
    }

    /// Waits for what is left of the time.
    pub(crate) fn judged<W: Driven>(self, plan: &Plan<'_, W>, doing: &dyn Fn(&str)) -> Rule {
        let seconds = self.watched.as_secs_f64();
        let what = format!("a call whose body stops half-way, for at most {seconds} s (--idle shortens it)");
        let found = match self.found.end(plan, doing, &what) {
            Ok(Reaction::Right) => return Rule::of(NAME, RULE, 1, Vec::new()),
            Ok(Reaction::Nothing) if self.watched < ANSWERED_WITHIN + LATE => {
                let why = format!("an answer was waited for {seconds} s only (--idle)");
                return Rule::unchecked(NAME, RULE, &why);
            }
            Err(why) => return Rule::unchecked(NAME, RULE, why),
            Ok(Reaction::Nothing) => format!("no answer within {seconds} s"),
            Ok(Reaction::Wrong(found)) => found,
        };
        let expected = "408 urn:stackmark:problem:too-slow, with `connection: close`".into();
        Rule::of(NAME, RULE, 1, vec![Failure { request: self.line, expected, found }])
    }
}

async fn ask<W: Wire>(target: &HttpTarget<W>, bytes: &[u8], watched: Duration) -> Reaction {
    let asked = async {
        let mut raw = target.raw().await.map_err(|error| error.to_string())?;
        let reply = raw.ask(bytes).await?;
        let right = crate::asked::is_problem(&reply, &["too-slow"]) && reply.closes;
        Ok::<_, String>(if right { Reaction::Right } else { Reaction::Wrong(one_line(&reply)) })
    };
    match tokio::time::timeout(watched, asked).await {
        Ok(Ok(found)) => found,
        Ok(Err(why)) => Reaction::Wrong(why),
        Err(_) => Reaction::Nothing,
    }
}
