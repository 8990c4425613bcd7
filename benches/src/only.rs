//! TPC-C with calls of one kind only, run by the sessions of the whole mix.

use model::{CallWork, Fault, Home, Kind, OpenError, Session, Stack, Target, Verdict, Workload};
use workload_tpcc::{Call, Ledger, Outcome, Tpcc};

/// The workload; the kind is that of its inputs.
#[derive(Debug, Clone, Copy)]
pub struct Only;

/// Draws what TPC-C draws, and leaves out what is of another kind.
#[derive(Debug, Clone)]
pub struct Inputs {
    all: workload_tpcc::Inputs,
    kind: usize,
}

impl Inputs {
    /// Over a stream of the whole mix.
    pub fn new(all: workload_tpcc::Inputs, kind: usize) -> Inputs {
        Inputs { all, kind }
    }
}

impl model::Inputs<Only> for Inputs {
    fn draw(&mut self) -> Call {
        loop {
            let call = self.all.draw();
            if Tpcc::kind(&call) == self.kind {
                return call;
            }
        }
    }
}

impl model::Ledger<Only> for Ledger {
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

impl Workload for Only {
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

/// A target or a session of TPC-C.
#[derive(Debug)]
pub struct Of<T>(pub T);

impl<S: Session<Tpcc>> Session<Only> for Of<S> {
    fn run(
        &mut self,
        call: &Call,
        work: &mut CallWork,
    ) -> impl Future<Output = Result<Outcome, Fault>> + Send {
        self.0.run(call, work)
    }
}

impl<T: Target<Tpcc>> Target<Only> for Of<T> {
    type Session = Of<T::Session>;

    fn home(&self) -> Home {
        self.0.home()
    }

    async fn open(&self, worker: u32) -> Result<Of<T::Session>, OpenError> {
        self.0.open(worker).await.map(Of)
    }

    fn stack(&self) -> Stack {
        self.0.stack()
    }
}
