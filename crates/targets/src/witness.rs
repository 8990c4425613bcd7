//! Sessions that hand over some of the calls that were acknowledged just now, so that they can be looked up at once.

use crate::{TrialSession, TrialTarget};
use model::{CallWork, Fault, Home, OpenError, Session, Stack, StatementTimes, Target, Workload};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use workload::Benchmark;

/// A call with its answer.
type Answered<W> = (<W as Workload>::Call, <W as Workload>::Outcome);
/// Where calls arrive.
pub type Arriving<W> = Receiver<Answered<W>>;

/// Takes one call at a time, whenever it is ready for one. To all others it costs a look at a flag.
pub struct Witness<W: Benchmark> {
    ready: AtomicBool,
    calls: Sender<Answered<W>>,
}

impl<W: Benchmark> std::fmt::Debug for Witness<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Witness<{}>", W::NAME)
    }
}

impl<W: Benchmark> Witness<W> {
    /// One that is not ready, and the end where calls arrive with their answers.
    pub fn new() -> (Arc<Witness<W>>, Arriving<W>) {
        let (calls, arriving) = channel(1);
        (Arc::new(Witness { ready: AtomicBool::new(false), calls }), arriving)
    }

    /// The next call that can be looked up is to be handed over.
    pub fn get_ready(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    /// No other call is wanted.
    pub fn dismiss(&self) {
        self.ready.store(false, Ordering::Relaxed);
    }

    #[inline]
    fn offer(&self, call: &W::Call, outcome: &W::Outcome) {
        if self.ready.load(Ordering::Relaxed) {
            self.take(call, outcome);
        }
    }

    #[cold]
    fn take(&self, call: &W::Call, outcome: &W::Outcome) {
        if W::lookup(call, outcome).is_some() && self.ready.swap(false, Ordering::Relaxed) {
            // Whoever asked for it may be gone.
            let _ = self.calls.try_send((call.clone(), outcome.clone()));
        }
    }
}

/// A target whose sessions a witness follows, if there is one.
#[derive(Debug)]
pub struct Witnessed<W: Benchmark> {
    target: Arc<TrialTarget<W>>,
    witness: Option<Arc<Witness<W>>>,
}

impl<W: Benchmark> Witnessed<W> {
    pub fn new(target: &Arc<TrialTarget<W>>, witness: Option<Arc<Witness<W>>>) -> Witnessed<W> {
        Witnessed { target: Arc::clone(target), witness }
    }
}

impl<W: Benchmark> Target<W> for Witnessed<W> {
    type Session = WitnessedSession<W>;

    fn home(&self) -> Home {
        self.target.home()
    }

    async fn open(&self, worker: u32) -> Result<Self::Session, OpenError> {
        Ok(WitnessedSession { session: self.target.open(worker).await?, witness: self.witness.clone() })
    }

    fn stack(&self) -> Stack {
        self.target.stack()
    }

    fn unfinished(&self) -> u64 {
        self.target.unfinished()
    }
}

/// A session that a witness follows, if there is one.
#[derive(Debug)]
pub struct WitnessedSession<W: Benchmark> {
    session: TrialSession<W>,
    witness: Option<Arc<Witness<W>>>,
}

impl<W: Benchmark> Session<W> for WitnessedSession<W> {
    async fn run(&mut self, call: &W::Call, work: &mut CallWork) -> Result<W::Outcome, Fault> {
        let result = self.session.run(call, work).await;
        if let (Some(witness), Ok(outcome)) = (&self.witness, &result) {
            witness.offer(call, outcome);
        }
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.session.statement_times()
    }
}
