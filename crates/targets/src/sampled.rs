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
pub struct Sampler<W: Benchmark> {
    ready: AtomicBool,
    calls: Sender<Answered<W>>,
}

impl<W: Benchmark> std::fmt::Debug for Sampler<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sampler<{}>", W::NAME)
    }
}

impl<W: Benchmark> Sampler<W> {
    /// One that is not ready, and the end where calls arrive with their answers.
    pub fn new() -> (Arc<Sampler<W>>, Arriving<W>) {
        let (calls, arriving) = channel(1);
        (Arc::new(Sampler { ready: AtomicBool::new(false), calls }), arriving)
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

/// A target whose sessions hand calls to a sampler, if there is one.
#[derive(Debug)]
pub struct Sampled<W: Benchmark> {
    target: Arc<TrialTarget<W>>,
    sampler: Option<Arc<Sampler<W>>>,
}

impl<W: Benchmark> Sampled<W> {
    pub fn new(target: &Arc<TrialTarget<W>>, sampler: Option<Arc<Sampler<W>>>) -> Sampled<W> {
        Sampled { target: Arc::clone(target), sampler }
    }
}

impl<W: Benchmark> Target<W> for Sampled<W> {
    type Session = SampledSession<W>;

    fn home(&self) -> Home {
        self.target.home()
    }

    async fn open(&self, worker: u32) -> Result<Self::Session, OpenError> {
        Ok(SampledSession { session: self.target.open(worker).await?, sampler: self.sampler.clone() })
    }

    fn stack(&self) -> Stack {
        self.target.stack()
    }

    fn unfinished(&self) -> u64 {
        self.target.unfinished()
    }
}

/// A session that hands calls to a sampler, if there is one.
#[derive(Debug)]
pub struct SampledSession<W: Benchmark> {
    session: TrialSession<W>,
    sampler: Option<Arc<Sampler<W>>>,
}

impl<W: Benchmark> Session<W> for SampledSession<W> {
    async fn run(&mut self, call: &W::Call, work: &mut CallWork) -> Result<W::Outcome, Fault> {
        let result = self.session.run(call, work).await;
        if let (Some(sampler), Ok(outcome)) = (&self.sampler, &result) {
            sampler.offer(call, outcome);
        }
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.session.statement_times()
    }
}
