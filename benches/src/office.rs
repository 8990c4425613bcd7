//! Events with tickets on a private PostgreSQL, and the sessions that book them.

use crate::data::LOAD_SEED;
use crate::engine;
use crate::trials::{Figures, trial_of};
use model::random::Random;
use model::{Mix, Nanos, Workload as _};
use rig::Running;
use sql::{DbUrl, Dialect, ServerUrl};
use std::sync::Arc;
use targets::{Driver, How, Style, TrialTarget, target};
use workload_booking::{Bookings, Cardinality, Inputs, Ledger};

/// Tickets of each event: more than any bench books.
const STOCK: u32 = 1_000_000_000;

/// Events that were just loaded, and the sessions that users have on them.
pub struct Office {
    size: Cardinality,
    url: ServerUrl,
    target: Arc<TrialTarget<Bookings>>,
    mix: Mix,
    runs: u64,
}

impl Office {
    /// Loads so many events into a database; calls are bookings of one ticket in a style.
    ///
    /// # Panics
    /// When the engine or the disk refuses.
    pub fn load(engine: &Running, name: &str, events: u32, style: Style) -> Office {
        let size = Cardinality { stock: STOCK, quantity: 1, ..Cardinality::standard(events) };
        let (url, _) = engine::load(engine, name, engine::booking(Dialect::Postgres, size));
        let how = How { dialect: Dialect::Postgres, driver: Driver::TokioPostgres, style };
        let target = target(how, &DbUrl::from(&url)).expect("what the bench has loaded can be reached");
        let mix = Mix::of(Bookings::KINDS, &[("book".to_owned(), 1.0)]).expect("there is that kind");
        let mix = mix.expect("there are several kinds");
        Office { size, url, target: Arc::new(target), mix, runs: 0 }
    }

    /// Where the events are.
    pub fn url(&self) -> &ServerUrl {
        &self.url
    }

    /// The number of a run, as of [`crate::bank::Bank::next_run`].
    pub fn next_run(&mut self) -> u64 {
        self.runs += 1;
        Random::stream(LOAD_SEED, &[self.runs]).bits() >> 2
    }

    /// Makes a trial of so many clients in a closed loop on one thread.
    ///
    /// # Panics
    /// When it fails: then it is not a measurement.
    pub fn trial(&mut self, clients: u32, window: (Nanos, Nanos)) -> Figures {
        let run = self.next_run();
        let (size, seed, mix) = (self.size, self.runs, &self.mix);
        let inputs = |worker| Inputs::new(size, seed, run, worker, Some(mix));
        trial_of::<Bookings, _>(clients, &self.target, window, seed, inputs, Ledger::new)
    }
}
