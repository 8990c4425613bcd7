//! Random calls: mostly what the inputs of several clients draw, and between them calls that pry where inputs seldom go.

use super::ConformancePlan;
use crate::{Booking, Call, Cardinality, Inputs, QUANTITY_MAX};
use model::random::Random;
use model::{Inputs as _, Key};

/// The path of the random stream, apart from those of runs.
const CONFORMANCE: u64 = 610;
/// Clients whose inputs are interleaved.
const CLIENTS: u32 = 8;
/// The run of keys: those of trials are others.
const RUN: u64 = 610;
/// The worker of keys that no client draws.
const PRYING: u32 = 1_000;

/// An endless stream of calls.
pub(super) struct Probes {
    size: Cardinality,
    clients: Vec<Inputs>,
    random: Random,
    /// The latest booking that was asked for.
    latest: Option<Booking>,
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
        if let Call::Book { booking, .. } = drawn {
            self.latest = Some(booking);
        }
        let Some(latest) = latest else { return drawn };
        let beyond = self.size.events + 1;
        match self.random.below(24) {
            // What did it come to?
            0 => Call::ReadEvent { id: latest.event },
            1 => Call::ReadBooking { key: latest.key },
            // Under the same key something else, and the same again.
            2 => Call::of(Booking { quantity: latest.quantity % QUANTITY_MAX + 1, ..latest }),
            3 => Call::of(Booking { user: latest.user + 1, ..latest }),
            4 => Call::of(Booking { event: latest.event % self.size.events + 1, ..latest }),
            5 => Call::of(latest),
            // The same user again, of the same event and of one that is limited; and many tickets at once.
            6 => Call::of(Booking { key: self.key(), ..latest }),
            7 => {
                let event = self.size.limited.clamp(1, self.size.events);
                let user = 1 + self.random.below(20) as u32;
                Call::of(Booking { key: self.key(), event, user, quantity: 1 })
            }
            8 => Call::of(Booking { key: self.key(), quantity: QUANTITY_MAX, ..latest }),
            // Something that does not exist, and a key that was never used.
            9 => match self.random.below(4) {
                0 => Call::ReadEvent { id: beyond },
                1 => Call::ReadBooking { key: self.key() },
                2 => Call::of(Booking { key: self.key(), event: beyond, ..latest }),
                _ => Call::of(Booking { key: self.key(), event: 0, ..latest }),
            },
            _ => drawn,
        }
    }
}
