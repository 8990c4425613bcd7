//! A workload whose calls are HTTP's own: an id in the path, conditions in headers, and a rule that says no by 409 or 422.

use super::Nothing;
use contract::{Answer, BadCall, BadCallKind, Endpoint, Method, Request, Wire};
use model::{Fault, Inputs, Kind, Ledger, Verdict, Workload};
use std::fmt::Display;

#[derive(Debug)]
pub(crate) struct Foods;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// GET: how much is left of a food?
    Look { food: u32 },
    /// PATCH: take one, unless it has changed since it was seen; once for each key.
    Take { food: u32, seen: u32, key: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Seen {
        version: u32,
        left: u32,
    },
    /// 409: it has changed.
    Stale {
        version: u32,
        left: u32,
    },
    /// 422: nothing is left.
    SoldOut {
        version: u32,
    },
}

pub(crate) const LOOK: usize = 0;
pub(crate) const TAKE: usize = 1;
const BODY: &[u8] = br#"{"take":1}"#;

const fn kind(name: &'static str, declined_max: f64) -> Kind {
    Kind {
        name,
        headline: true,
        declined_max,
        pace: None,
        p90_max: None,
        deferred_p90_max: None,
        writes: true,
    }
}

impl Workload for Foods {
    const NAME: &'static str = "foods";
    const KINDS: &'static [Kind] = &[kind("look", 0.0), kind("take", 1.0)];
    type Call = Call;
    type Outcome = Outcome;
    type Inputs = Looks;
    type Ledger = Nothing;

    fn kind(call: &Call) -> usize {
        match call {
            Call::Look { .. } => LOOK,
            Call::Take { .. } => TAKE,
        }
    }

    fn verdict(outcome: &Outcome) -> Verdict {
        match outcome {
            Outcome::Seen { .. } => Verdict::Committed,
            Outcome::Stale { .. } | Outcome::SoldOut { .. } => Verdict::Declined,
        }
    }

    fn check(_: &Call, _: &Outcome) -> Result<(), &'static str> {
        Ok(())
    }
}

impl Wire for Foods {
    const ENDPOINTS: &'static [Endpoint] =
        &[Endpoint::get("/foods/{food}"), Endpoint { method: Method::Patch, path: "/foods/{food}" }];
    /// The last food that exists.
    type Extent = u32;

    fn encode_path(call: &Call, into: &mut Vec<u8>) {
        use std::io::Write;
        let (Call::Look { food } | Call::Take { food, .. }) = call;
        write!(into, "/foods/{food}").unwrap();
    }

    fn encode_call_headers(call: &Call, each: &mut dyn FnMut(&'static str, &dyn Display)) {
        if let Call::Take { seen, key, .. } = call {
            each("if-match", &format_args!("\"{seen}\""));
            each("idempotency-key", key);
        }
    }

    fn encode_call(call: &Call, into: &mut Vec<u8>) {
        assert!(matches!(call, Call::Take { .. }), "a GET has no body");
        into.extend_from_slice(BODY);
    }

    fn decode_call(kind: usize, last: &u32, request: &Request<'_>) -> Result<Call, BadCall> {
        let bad = |kind, detail: &str| BadCall { kind, detail: detail.to_owned() };
        let number = |text: Option<&str>| text.and_then(|text| text.trim_matches('"').parse::<u32>().ok());
        let food = number(request.id("food")).filter(|food| food <= last);
        let food = food.ok_or_else(|| bad(BadCallKind::Unknown, "there is no such food"))?;
        if kind == LOOK {
            return Ok(Call::Look { food });
        }
        let header = |name| {
            number(request.headers.get(name))
                .ok_or_else(|| bad(BadCallKind::Invalid, &format!("{name} is missing")))
        };
        if request.body != BODY {
            return Err(bad(BadCallKind::Malformed, "the body is wrong"));
        }
        Ok(Call::Take { food, seen: header("if-match")?, key: header("idempotency-key")? })
    }

    fn status(outcome: &Outcome) -> u16 {
        match outcome {
            Outcome::Seen { .. } => 200,
            Outcome::Stale { .. } => 409,
            Outcome::SoldOut { .. } => 422,
        }
    }

    fn encode_outcome_headers(outcome: &Outcome, each: &mut dyn FnMut(&'static str, &dyn Display)) {
        let (Outcome::Seen { version, .. } | Outcome::Stale { version, .. } | Outcome::SoldOut { version }) =
            outcome;
        each("etag", &format_args!("\"{version}\""));
    }

    fn encode_outcome(outcome: &Outcome, into: &mut Vec<u8>) {
        let left = match outcome {
            Outcome::Seen { left, .. } | Outcome::Stale { left, .. } => *left,
            Outcome::SoldOut { .. } => 0,
        };
        serde_json::to_writer(into, &left).unwrap();
    }

    fn is_outcome(_: &Call, answer: &Answer<'_>) -> bool {
        // A conflict of the engine's is a 409 too, and a problem.
        answer.status == 200 || matches!(answer.status, 409 | 422) && !answer.is_problem
    }

    fn decode_outcome(_: &Call, answer: &Answer<'_>) -> Result<Outcome, String> {
        let version = answer.headers.get("etag").and_then(|tag| tag.trim_matches('"').parse().ok());
        let version = version.ok_or("there is no etag")?;
        let left = serde_json::from_slice(answer.body).map_err(|error| error.to_string())?;
        Ok(match answer.status {
            409 => Outcome::Stale { version, left },
            422 => Outcome::SoldOut { version },
            _ => Outcome::Seen { version, left },
        })
    }
}

/// Looks at the first food for ever.
pub(crate) struct Looks;

impl Inputs<Foods> for Looks {
    fn draw(&mut self) -> Call {
        Call::Look { food: 0 }
    }
}

impl Ledger<Foods> for Nothing {
    fn post(&mut self, _: &Call, _: &Result<Outcome, Fault>) {}
    fn absorb(&mut self, _: &Nothing) {}
    fn clear(&mut self) {}
}
