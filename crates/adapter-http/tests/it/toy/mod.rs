//! A workload as small as possible, for what is generic: it adds two numbers. Another says more of HTTP.

pub(crate) mod foods;

use contract::{Answer, BadCall, BadCallKind, Endpoint, Request, Wire};
use model::{Fault, Inputs, Kind, Ledger, Verdict, Workload};
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub(crate) struct Toy;

/// What is a + b?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Add {
    pub(crate) a: u32,
    pub(crate) b: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) sum: u64,
}

impl Workload for Toy {
    const NAME: &'static str = "toy";
    const KINDS: &'static [Kind] = &[Kind {
        name: "add",
        headline: true,
        declined_max: 0.0,
        pace: None,
        p90_max: None,
        deferred_p90_max: None,
        writes: true,
    }];
    const STATEMENTS: &'static [&'static str] = &["look", "add"];
    type Call = Add;
    type Outcome = Sum;
    type Inputs = Ones;
    type Ledger = Nothing;

    fn kind(_: &Add) -> usize {
        0
    }

    fn verdict(_: &Sum) -> Verdict {
        Verdict::Committed
    }

    fn check(call: &Add, outcome: &Sum) -> Result<(), &'static str> {
        let right = u64::from(call.a) + u64::from(call.b);
        if outcome.sum == right { Ok(()) } else { Err("the sum is wrong") }
    }
}

impl Wire for Toy {
    const ENDPOINTS: &'static [Endpoint] = &[Endpoint::post("/toy/add")];
    /// The largest number that exists.
    type Extent = u32;

    fn encode_call(call: &Add, into: &mut Vec<u8>) {
        serde_json::to_writer(into, call).unwrap();
    }

    fn decode_call(_: usize, extent: &u32, request: &Request<'_>) -> Result<Add, BadCall> {
        let call: Add = contract::strict::body(request.body)?;
        if call.a > *extent {
            return Err(BadCall {
                kind: BadCallKind::Unknown,
                detail: format!("a {} does not exist", call.a),
            });
        }
        Ok(call)
    }

    fn encode_outcome(outcome: &Sum, into: &mut Vec<u8>) {
        serde_json::to_writer(into, outcome).unwrap();
    }

    fn decode_outcome(_: &Add, answer: &Answer<'_>) -> Result<Sum, String> {
        serde_json::from_slice(answer.body).map_err(|error| error.to_string())
    }
}

/// Draws 1 + 1 for ever.
pub(crate) struct Ones;

impl Inputs<Toy> for Ones {
    fn draw(&mut self) -> Add {
        Add { a: 1, b: 1 }
    }
}

/// A ledger of nothing.
pub(crate) struct Nothing;

impl Ledger<Toy> for Nothing {
    fn post(&mut self, _: &Add, _: &Result<Sum, Fault>) {}
    fn absorb(&mut self, _: &Nothing) {}
    fn clear(&mut self) {}
}
