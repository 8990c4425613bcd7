//! The vocabulary that everything else speaks: what a workload is, what a session answers, and how a call can end.
//!
//! Data flows one way: `Inputs::draw -> Call -> Session::run -> Outcome | Fault -> tape`. This crate knows no
//! engine, no protocol, no runtime and no clock; it is pure, and the only place where randomness is made.

mod caught;
mod erased;
mod fault;
mod http_options;
mod key;
mod ledger;
mod mix;
mod product;
pub mod random;
mod retry;
pub mod rows;
mod skew;
mod stack;
mod statements;
mod time;
mod units;
mod work;

use std::future::Future;

pub use caught::{DRIVER_PANICKED, caught, panic_message};
pub use erased::{AnySession, AnyTarget};
pub use fault::{Conflict, Defect, DefectKind, Doubt, ENGINE_MESSAGE_MAX, EngineMessage, Fault, Refusal};
pub use http_options::{Connections, HttpOptions, Transport};
pub use key::Key;
pub use ledger::LedgerFinding;
pub use mix::{Mix, MixError};
pub use product::Product;
pub use retry::{RetryPolicy, Retrying, RetryingTarget};
pub use skew::{NoSkew, Skew, Skewed};
pub use stack::{Durability, Stack, Tier, store_name};
pub use statements::{STATEMENTS_MAX, StatementClock, StatementTime, StatementTimes};
pub use time::{Clock, Nanos};
pub use units::{BasisPoints, Cents, total};
pub use work::{CallWork, Spent, Wanted};

/// A business problem: its calls, what they answer, how inputs are drawn, and what they imply about the data.
pub trait Workload: Sized + Send + Sync + 'static {
    /// The name in subjects, files and URLs.
    const NAME: &'static str;
    /// The kinds of call, in the order of reports.
    const KINDS: &'static [Kind];
    /// The names of what can have a clock around it in a call: the statements in the order of their numbers, and behind
    /// them what other styles send in their place. At most [`STATEMENTS_MAX`].
    const STATEMENTS: &'static [&'static str] = &[];
    /// Parts of kinds that are also shown apart, because their calls do different work. They change nothing else.
    const FACETS: &'static [Facet] = &[];
    /// One input: plain data of fixed size, cheap to clone.
    type Call: Clone + Send + Sync + 'static;
    /// The answer of a completed call. Fixed size: producing one allocates nothing, unless its caller asks for the whole of an
    /// answer ([`CallWork::wanted`]).
    type Outcome: Send + 'static;
    /// A deterministic stream of calls, one a worker.
    type Inputs: Inputs<Self>;
    /// What acknowledged outcomes imply about the stored data, and the distribution of what was sent.
    type Ledger: Ledger<Self>;

    /// Index of the call's kind in [`Workload::KINDS`].
    fn kind(call: &Self::Call) -> usize;

    /// Index in [`Workload::FACETS`] of the part of its kind that a call belongs to.
    fn facet(_call: &Self::Call) -> Option<usize> {
        None
    }

    /// Whether the business outcome happened.
    fn verdict(outcome: &Self::Outcome) -> Verdict;

    /// Checks what every right answer to `call` satisfies whatever the data: totals add up, line counts agree, ids lie
    /// in their ranges. Run by the load generator on every answer of every route, so that a server that answers
    /// wrongly gets defects and not throughput.
    ///
    /// # Errors
    /// One lower-case clause: what is wrong.
    fn check(call: &Self::Call, outcome: &Self::Outcome) -> Result<(), &'static str>;
}

/// A kind of call, as reports and pacing see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kind {
    /// Name in reports and URLs, in the field's terms: `new-order`.
    pub name: &'static str,
    /// Whether the headline rate counts this kind only (TPC-C: New-Order).
    pub headline: bool,
    /// Largest share of its calls that the workload plans to be declined, 0 to 1: 0 where none may be, 1 where all may be, since they
    /// are made to be declined or repeat an earlier answer.
    pub declined_max: f64,
    /// Whether a committed call of this kind has changed what is stored.
    pub writes: bool,
    /// Keying and think time when the workload's own pace is asked for.
    pub pace: Option<Pace>,
    /// The limit the workload sets on the 90th percentile of response time.
    pub p90_max: Option<Nanos>,
    /// Set where a call of this kind may be queued and executed later: the limit on the 90th percentile from being
    /// queued to being done.
    pub deferred_p90_max: Option<Nanos>,
}

impl Kind {
    /// Whether a call of this kind may be declined.
    pub const fn may_be_declined(&self) -> bool {
        self.declined_max > 0.0
    }

    /// Whether all calls of this kind may be.
    pub const fn may_all_be_declined(&self) -> bool {
        self.declined_max >= 1.0
    }

    /// The same as a kind whose calls change nothing.
    pub const fn reading(self) -> Kind {
        Kind { writes: false, ..self }
    }
}

/// A part of a kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facet {
    /// Index of the kind in [`Workload::KINDS`].
    pub kind: usize,
    /// What sets its calls apart: `by last name`.
    pub name: &'static str,
}

/// The pace a terminal keeps around a call of a kind (TPC-C 5.2.5).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Fixed time before the call is sent.
    pub keying: Nanos,
    /// Mean of the negative exponential think time after the answer, cut at ten times the mean.
    pub think_mean: Nanos,
}

/// Whether a completed call did what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The business outcome happened and is stored to the stated durability.
    Committed,
    /// The service declined by rule (unused item, insufficient funds, sold out). Not throughput.
    Declined,
}

/// A deterministic, endless stream of calls.
pub trait Inputs<W: Workload>: Send {
    /// Draws the next call. Never allocates.
    fn draw(&mut self) -> W::Call;

    /// Checks an answer to a call that this stream has drawn, by what the stream knows beyond the call: why the call was
    /// drawn as it was, what the data was loaded with, earlier answers. Asked once an answer that has passed
    /// [`Workload::check`], in the order of the answers. Never allocates.
    ///
    /// # Errors
    /// One lower-case clause: what is wrong.
    fn check(&mut self, _call: &W::Call, _outcome: &W::Outcome) -> Result<(), &'static str> {
        Ok(())
    }
}

/// A fixed-size account of what was sent and what was acknowledged.
///
/// Each worker posts into one of its own; the collector absorbs them. Posting never allocates.
pub trait Ledger<W: Workload>: Send + 'static {
    /// Enters one call and how it ended.
    fn post(&mut self, call: &W::Call, result: &Result<W::Outcome, Fault>);
    /// Adds everything that `other` holds.
    fn absorb(&mut self, other: &Self);
    /// Returns to the state of a fresh ledger without giving memory back.
    fn clear(&mut self);
}

/// Runs calls one at a time. Owned by one worker; holds a connection and its scratch space.
pub trait Session<W: Workload>: Send {
    /// Answers one call and writes down in `work` what it took.
    fn run(
        &mut self,
        call: &W::Call,
        work: &mut CallWork,
    ) -> impl Future<Output = Result<W::Outcome, Fault>> + Send;

    /// What each statement of the last call took, where that call had [`CallWork::clocked`] set and has completed. Nothing
    /// where a session does not know. Without a meaning after any other call.
    fn statement_times(&self) -> Option<&StatementTimes> {
        None
    }
}

/// Where sessions of a target live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// An asynchronous driver: many workers share a current-thread runtime.
    Task,
    /// A blocking driver: each session has a thread of its own, and its futures never wait.
    Thread,
}

/// Opens sessions. Everything slow or fallible about setting up happens here.
pub trait Target<W: Workload>: Send + Sync + 'static {
    /// The sessions it opens.
    type Session: Session<W> + 'static;

    fn home(&self) -> Home;

    /// Opens the session of one worker.
    fn open(&self, worker: u32) -> impl Future<Output = Result<Self::Session, OpenError>> + Send;

    /// Names, versions, style, isolation and durability, read back from the live system.
    fn stack(&self) -> Stack;

    /// Calls that it still completes although they were answered as in doubt. Data is audited when there are none.
    fn unfinished(&self) -> u64 {
        0
    }
}

/// Why a session could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Nothing answers there now; trying again later may help.
    #[error("could not reach {what}: {why}")]
    Unreachable {
        /// The address or file.
        what: String,
        /// The system's message.
        why: String,
    },
    /// It answers, and cannot be used as it is: wrong schema, wrong tool, wrong settings.
    #[error("could not use {what}: {why}")]
    Unusable {
        /// The address or file.
        what: String,
        /// What is wrong, and what would be right.
        why: String,
    },
}

impl OpenError {
    /// The same, of one of several stores.
    #[must_use]
    pub fn in_store(self, shard: usize) -> OpenError {
        let named = |what: String| format!("{}, {what}", store_name(shard));
        match self {
            OpenError::Unreachable { what, why } => OpenError::Unreachable { what: named(what), why },
            OpenError::Unusable { what, why } => OpenError::Unusable { what: named(what), why },
        }
    }
}
