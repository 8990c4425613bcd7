//! Random calls: mostly what the inputs of several clients draw, and between them calls that pry where inputs seldom go.

use super::ConformancePlan;
use crate::{Call, Cardinality, Inputs};
use model::Inputs as _;
use model::random::Random;

/// The path of the random stream, apart from those of runs.
const CONFORMANCE: u64 = 310;

/// Clients whose inputs are interleaved.
const CLIENTS: u32 = 8;

/// An endless stream of calls.
pub(super) struct Probes {
    size: Cardinality,
    clients: Vec<Inputs>,
    random: Random,
    /// The account of the latest call that was drawn, to be asked about.
    latest: u32,
}

impl Probes {
    pub(super) fn new(plan: &ConformancePlan) -> Probes {
        let &ConformancePlan { size, seed, .. } = plan;
        Probes {
            size,
            clients: (0..CLIENTS).map(|worker| Inputs::new(size, seed, worker)).collect(),
            random: Random::stream(seed, &[CONFORMANCE]),
            latest: 1,
        }
    }

    pub(super) fn draw(&mut self) -> Call {
        let client = self.random.below(u64::from(CLIENTS)) as usize;
        let mut call = self.clients[client].draw();
        match self.random.below(20) {
            // The same account again, at once.
            0..=3 => call.aid = self.latest,
            // What did it come to?
            4 => call = Call { aid: self.latest, delta: 0, ..call },
            // Something that does not exist; an account that was seen shows whether anything was left.
            5 => {
                call.aid = self.latest;
                let beyond = self.random.below(2) as u32;
                match self.random.below(3) {
                    0 => call.aid = (self.size.accounts_all() + 1) * beyond,
                    1 => call.tid = (self.size.tellers_all() + 1) * beyond,
                    _ => call.bid = (self.size.branches + 1) * beyond,
                }
                return call;
            }
            _ => {}
        }
        self.latest = call.aid;
        call
    }
}
