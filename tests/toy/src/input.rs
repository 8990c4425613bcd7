//! How calls are drawn: box and number evenly, each on its own.

use crate::call::{DELAY_MS_MAX, NUMBER_MAX};
use crate::{Call, Cardinality, Toy};
use model::random::Random;
use std::sync::LazyLock;

/// Milliseconds until a note arrives, for all calls of the program: from `TOY_DELAY_MS`, 200 where that is not set.
static DELAY_MS: LazyLock<u32> = LazyLock::new(|| {
    let given = std::env::var("TOY_DELAY_MS").ok();
    let delay_ms = given.map_or(200, |given| given.parse().expect("TOY_DELAY_MS is a whole number"));
    delay_ms.min(DELAY_MS_MAX)
});

/// The path of the run's random streams, apart from those of other workloads.
const CLIENT: u64 = 900;

/// The calls of one client.
#[derive(Debug, Clone)]
pub(crate) struct Inputs {
    size: Cardinality,
    delay_ms: u32,
    random: Random,
}

impl Inputs {
    /// The stream of a worker.
    pub(crate) fn new(size: Cardinality, seed: u64, worker: u32) -> Inputs {
        let random = Random::stream(seed, &[CLIENT, u64::from(worker)]);
        Inputs { size, delay_ms: *DELAY_MS, random }
    }
}

impl model::Inputs<Toy> for Inputs {
    fn draw(&mut self) -> Call {
        let id = 1 + self.random.below(u64::from(self.size.boxes)) as u32;
        let number = self.random.below(u64::from(NUMBER_MAX) + 1) as u32;
        Call { id, number, delay_ms: self.delay_ms }
    }
}
