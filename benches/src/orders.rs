//! TPC-C as the instant server can answer it: New-Orders only, of a fixed number of pieces a line. All else, the codec and
//! the checks among it, is the workload's own.

use crate::instant_server::QUANTITY;
use contract::{Answer, BadCall, Endpoint, Request, Wire};
use model::{Fault, Kind, Verdict, Workload};
use workload_tpcc::{Call, Cardinality, Ledger, Outcome, Tpcc};

#[derive(Debug, Clone, Copy)]
pub struct Orders;

/// Draws what TPC-C draws, and leaves out what is not a New-Order.
#[derive(Debug, Clone)]
pub struct Inputs(workload_tpcc::Inputs);

impl Inputs {
    /// Over a stream of the whole mix.
    pub fn new(inputs: workload_tpcc::Inputs) -> Inputs {
        Inputs(inputs)
    }
}

impl model::Inputs<Orders> for Inputs {
    fn draw(&mut self) -> Call {
        loop {
            let mut call = self.0.draw();
            if let Call::NewOrder(order) = &mut call {
                order.lines.iter_mut().for_each(|line| line.quantity = QUANTITY);
                return call;
            }
        }
    }
}

impl model::Ledger<Orders> for Ledger {
    fn post(&mut self, call: &Call, result: &Result<Outcome, Fault>) {
        model::Ledger::<Tpcc>::post(self, call, result);
    }
    fn absorb(&mut self, other: &Ledger) {
        model::Ledger::<Tpcc>::absorb(self, other);
    }
    fn clear(&mut self) {
        model::Ledger::<Tpcc>::clear(self);
    }
}

impl Workload for Orders {
    const NAME: &'static str = Tpcc::NAME;
    const KINDS: &'static [Kind] = Tpcc::KINDS;
    type Call = Call;
    type Outcome = Outcome;
    type Inputs = Inputs;
    type Ledger = Ledger;

    fn kind(call: &Call) -> usize {
        Tpcc::kind(call)
    }
    fn verdict(outcome: &Outcome) -> Verdict {
        Tpcc::verdict(outcome)
    }
    fn check(call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        Tpcc::check(call, outcome)
    }
}

impl Wire for Orders {
    const ENDPOINTS: &'static [Endpoint] = Tpcc::ENDPOINTS;
    type Extent = Cardinality;

    fn encode_call(call: &Call, into: &mut Vec<u8>) {
        Tpcc::encode_call(call, into);
    }
    fn decode_call(kind: usize, extent: &Cardinality, request: &Request<'_>) -> Result<Call, BadCall> {
        Tpcc::decode_call(kind, extent, request)
    }
    fn encode_outcome(outcome: &Outcome, into: &mut Vec<u8>) {
        Tpcc::encode_outcome(outcome, into);
    }
    fn decode_outcome(call: &Call, answer: &Answer<'_>) -> Result<Outcome, String> {
        Tpcc::decode_outcome(call, answer)
    }
}
