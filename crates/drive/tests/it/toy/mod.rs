//! The least workload that shows everything: a kind that may decline, and one that may be deferred.

use model::{Fault, Inputs, Kind, Ledger, Nanos, Pace, Stack, Verdict, Workload};

pub(crate) struct Toy;

/// Position of the kind that makes the headline.
#[allow(dead_code, reason = "not every test file looks at kinds")]
pub(crate) const PLAIN: usize = 0;
/// Position of the kind that may be deferred.
#[allow(dead_code, reason = "not every test file defers calls")]
pub(crate) const LATER: usize = 1;

/// A call: its number in its worker's stream.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Position of its kind.
    pub(crate) kind: usize,
    /// Number in the stream of its worker, from 0.
    pub(crate) number: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// Declined by rule.
    No,
    /// An answer that breaks the contract.
    Wrong,
}

/// Numbers calls; every `later_each`th may be deferred, where that is not 0.
pub(crate) struct Numbers {
    next: u64,
    later_each: u64,
}

/// Counts what was posted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Posted {
    pub(crate) calls: u64,
    pub(crate) committed: u64,
}

impl Workload for Toy {
    const NAME: &'static str = "toy";
    const KINDS: &'static [Kind] = &[
        Kind {
            name: "plain",
            headline: true,
            declined_max: 0.05,
            pace: Some(Pace { keying: Nanos::from_millis(20), think_mean: Nanos::from_millis(60) }),
            p90_max: None,
            deferred_p90_max: None,
            writes: true,
        },
        Kind {
            name: "later",
            headline: false,
            declined_max: 0.0,
            pace: None,
            p90_max: None,
            deferred_p90_max: Some(Nanos::from_secs(80)),
            writes: true,
        },
    ];
    type Call = Call;
    type Outcome = Outcome;
    type Inputs = Numbers;
    type Ledger = Posted;

    fn kind(call: &Call) -> usize {
        call.kind
    }

    fn verdict(outcome: &Outcome) -> Verdict {
        if *outcome == Outcome::No { Verdict::Declined } else { Verdict::Committed }
    }

    fn check(_call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        if *outcome == Outcome::Wrong { Err("the answer is wrong") } else { Ok(()) }
    }
}

impl Numbers {
    /// A stream from 0.
    pub(crate) fn new(later_each: u64) -> Numbers {
        Numbers { next: 0, later_each }
    }
}

impl Inputs<Toy> for Numbers {
    fn draw(&mut self) -> Call {
        let number = self.next;
        self.next += 1;
        let later = self.later_each > 0 && number % self.later_each == self.later_each - 1;
        Call { kind: usize::from(later), number }
    }
}

impl Ledger<Toy> for Posted {
    fn post(&mut self, _call: &Call, result: &Result<Outcome, Fault>) {
        self.calls += 1;
        self.committed += u64::from(matches!(result, Ok(Outcome::Done)));
    }

    fn absorb(&mut self, other: &Posted) {
        self.calls += other.calls;
        self.committed += other.committed;
    }

    fn clear(&mut self) {
        *self = Posted::default();
    }
}

/// A stack for a target that has none.
pub(crate) fn stack() -> Stack {
    Stack { engine: "toy".to_owned(), ..Stack::default() }
}
