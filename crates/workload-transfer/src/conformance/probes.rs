//! Random calls: mostly what the inputs of several clients draw, and between them calls that pry where inputs seldom go.

use super::ConformancePlan;
use crate::{AMOUNT_MAX, Call, Cardinality, Inputs, Key, Transfer};
use model::Inputs as _;
use model::random::Random;

/// The path of the random stream, apart from those of runs.
const CONFORMANCE: u64 = 510;
/// Clients whose inputs are interleaved.
const CLIENTS: u32 = 8;
/// The run of keys: those of trials are others.
const RUN: u64 = 510;
/// The worker of keys that no client draws.
const PRYING: u32 = 1_000;

/// An endless stream of calls.
pub(super) struct Probes {
    size: Cardinality,
    clients: Vec<Inputs>,
    random: Random,
    /// The latest transfer that was asked for.
    latest: Option<Transfer>,
    next: u32,
}

impl Probes {
    pub(super) fn new(plan: &ConformancePlan) -> Probes {
        let &ConformancePlan { size, seed, .. } = plan;
        Probes {
            size,
            clients: (0..CLIENTS).map(|worker| Inputs::new(size, seed, RUN, worker, None)).collect(),
            random: Random::stream(seed, &[CONFORMANCE]),
            latest: None,
            next: 0,
        }
    }

    fn key(&mut self) -> Key {
        self.next += 1;
        Key { run: RUN, worker: PRYING, sequence: self.next }
    }

    pub(super) fn draw(&mut self) -> Call {
        let client = self.random.below(u64::from(CLIENTS)) as usize;
        let drawn = self.clients[client].draw();
        let latest = self.latest;
        if let Call::Transfer { transfer, .. } = drawn {
            self.latest = Some(transfer);
        }
        let Some(latest) = latest else { return drawn };
        let beyond = *self.size.ids().end() + 1;
        match self.random.below(24) {
            // What did it come to, at either end?
            0 => Call::ReadAccount { id: latest.source },
            1 => Call::ReadAccount { id: latest.target },
            2 => Call::ReadTransfer { source: latest.source, key: latest.key },
            // Under the same key something else, and the same again.
            3 => Call::of(Transfer { amount: latest.amount % AMOUNT_MAX + 1, ..latest }, &self.size),
            4 => Call::of(latest, &self.size),
            // The same key of another account, which is another transfer.
            5 => Call::of(Transfer { source: latest.target, target: latest.source, ..latest }, &self.size),
            // The money goes back, or much of it elsewhere.
            6 => {
                let (key, amount) = (self.key(), self.random.range(1, 60_000));
                Call::of(Transfer { key, source: latest.target, target: latest.source, amount }, &self.size)
            }
            // Something that does not exist, and a key that was never used.
            7 => match self.random.below(4) {
                0 => Call::ReadAccount { id: beyond },
                1 => Call::ReadTransfer { source: latest.source, key: self.key() },
                2 => Call::of(Transfer { key: self.key(), target: beyond, ..latest }, &self.size),
                _ => Call::of(Transfer { key: self.key(), source: 0, ..latest }, &self.size),
            },
            _ => drawn,
        }
    }
}
