//! Banks of transfers on a private PostgreSQL: in one store, or over several by two-phase commit. The stores are databases of
//! the same server, so that more of them are no more machines, memory or logs.

use crate::data::LOAD_SEED;
use crate::engine;
use crate::trials::{Figures, retrying, trial_of};
use measure::Monotonic;
use model::random::Random;
use model::{AnyTarget, CallWork, Fault, Home, Mix, Nanos, OpenError, Session, Stack, Target, Workload as _};
use rig::Running;
use sql::{DbUrl, Dialect, ServerUrl};
use std::sync::Arc;
use targets::{Driven as _, Driver, How, Style, TrialTarget, target_over};
use workload_transfer::{Call, Cardinality, Inputs, Ledger, Outcome, Transfers};

/// The scale of all banks.
pub const BRANCHES: u32 = 8;

fn how(style: Style) -> How {
    How { dialect: Dialect::Postgres, driver: Driver::TokioPostgres, style }
}

/// A bank that was just loaded, and the sessions that users have on it.
pub struct Bank {
    size: Cardinality,
    stores: Vec<ServerUrl>,
    target: Arc<TrialTarget<Transfers>>,
    mix: Mix,
    runs: u64,
}

impl Bank {
    /// Loads one over so many stores, whose databases are called by `name`; calls are of one kind.
    ///
    /// # Panics
    /// When the engine or the disk refuses, or there is no such kind.
    pub fn load(engine: &Running, name: &str, shards: u32, kind: &str) -> Bank {
        let size = Cardinality { shards, ..Cardinality::standard(BRANCHES) };
        let load = |(shard, part): (u32, Cardinality)| {
            let plan = engine::transfer(Dialect::Postgres, part);
            engine::load(engine, &format!("{name}_{shard}"), plan).0
        };
        let stores: Vec<ServerUrl> = (0..).zip(size.parts()).map(load).collect();
        let urls: Vec<DbUrl> = stores.iter().map(DbUrl::from).collect();
        let how = how(if shards == 1 { Style::Plain } else { Style::TwoPhase });
        let target = target_over(how, &urls, &size).expect("what the bench has loaded can be reached");
        let mix = Mix::of(Transfers::KINDS, &[(kind.to_owned(), 1.0)]).expect("there is that kind");
        let mix = mix.expect("there are several kinds");
        Bank { size, stores, target: Arc::new(target), mix, runs: 0 }
    }

    /// Like [`Bank::load`] with one store, but each client opens `connections` connections to it and uses them in turn. Separates the
    /// cost of connections from that of stores.
    ///
    /// # Panics
    /// Those of [`Bank::load`].
    pub fn load_connected(engine: &Running, name: &str, connections: u32, kind: &str) -> Bank {
        let bank = Bank::load(engine, name, 1, kind);
        let url = DbUrl::from(bank.store());
        let one = Transfers::open(how(Style::Plain), &url, Monotonic::start());
        let one = one.expect("what the bench has loaded can be reached");
        Bank { target: retrying(AnyTarget::new(Connected { one, connections })), ..bank }
    }

    /// The first store, or the only one.
    pub fn store(&self) -> &ServerUrl {
        &self.stores[0]
    }

    /// The number of a run, which no other on this data has: keys are made of it. 62 bits, so that it is a number of pgbench's
    /// too.
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
        trial_of::<Transfers, _>(clients, &self.target, window, seed, inputs, Ledger::new)
    }
}

/// A target whose clients have several sessions each.
struct Connected {
    one: AnyTarget<Transfers>,
    connections: u32,
}

/// A client's sessions, and the index of the one for the next call.
struct InTurn<S> {
    sessions: Vec<S>,
    next: usize,
}

impl Target<Transfers> for Connected {
    type Session = InTurn<<AnyTarget<Transfers> as Target<Transfers>>::Session>;

    fn home(&self) -> Home {
        self.one.home()
    }

    async fn open(&self, worker: u32) -> Result<Self::Session, OpenError> {
        let mut sessions = Vec::new();
        for _ in 0..self.connections {
            sessions.push(self.one.open(worker).await?);
        }
        Ok(InTurn { sessions, next: 0 })
    }

    fn stack(&self) -> Stack {
        self.one.stack()
    }
}

impl<S: Session<Transfers>> Session<Transfers> for InTurn<S> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        let at = self.next;
        self.next = (at + 1) % self.sessions.len();
        self.sessions[at].run(call, work).await
    }
}
