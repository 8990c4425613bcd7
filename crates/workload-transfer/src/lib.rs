//! Money from one account to another, each asked for under a key of its own so that it may be asked for again: a double-entry
//! ledger over accounts that may be in several stores.
//!
//! In reading order: `call` (what is asked), `outcome` (what is answered),
//! `input` (how calls are drawn), `data` (the initial rows), `sql` (the transactions), `crossing`, `two_phase` and `saga` (what is
//! done where its accounts are in two stores), `log` (what style `log-first` publishes first), `expiry` (how keys are forgotten), `router` (which store is whose), `oracle` (the truth in memory), `ledger` (what answers imply). It knows no driver and no protocol; `wire` turns calls and outcomes into HTTP's parts and back.

mod attached;
pub mod audit;
mod benchmark;
mod call;
pub mod conformance;
mod crossing;
mod data;
mod dual_write;
mod expiry;
mod input;
mod last;
mod ledger;
mod log;
mod oracle;
mod outcome;
mod races;
mod router;
mod saga;
mod sql;
mod two_phase;
mod wire;

use model::{Kind, Verdict, Workload};

pub use model::Key;

pub use attached::AttachedSession;
pub use call::{AMOUNT_DRAWN_MAX, AMOUNT_MAX, Call, Purpose, Transfer};
pub use crossing::Crossing;
pub use data::{ACCOUNTS_A_BRANCH, BRANCHES_MAX, Cardinality, Data, OPENING};
pub use dual_write::DualWriteSession;
pub use expiry::{Forgetting, expiry_catalogue};
pub use input::Inputs;
pub use ledger::{Claims, Ledger, Sort, Tally, audit as audit_ledger};
pub use log::LogRecord;
pub use oracle::Oracle;
pub use outcome::{Decline, Outcome, State};
pub use router::{Router, router_catalogue};
pub use saga::{RELAY_BATCH, RELAY_STATEMENTS, Relayed, SagaRelay, SagaSession, directions, relay_catalogue};
pub use sql::{SqlSession, SqlTarget, Stmt, catalogue, schema};
pub use two_phase::{Branches, CommitPhase, TwoPhaseSession, recover};

#[derive(Debug, Clone, Copy)]
pub struct Transfers;

const fn kind(name: &'static str, declined_max: f64) -> Kind {
    Kind {
        name,
        headline: true,
        declined_max,
        pace: None,
        p90_max: None,
        deferred_p90_max: None,
        writes: true,
    }
}

/// Where few accounts have most of the calls, many of them run dry.
const RAN_DRY_MAX: f64 = 0.5;
/// The kind of call that may be in two stores.
const CROSSES: &str = "cross-transfer";

impl Workload for Transfers {
    const NAME: &'static str = "transfer";
    /// All count for the headline. A busy account may run dry, so that any transfer may be declined; an overdraft always is.
    const KINDS: &'static [Kind] = &[
        kind("transfer", RAN_DRY_MAX),
        kind(CROSSES, RAN_DRY_MAX),
        kind("overdraft", 1.0),
        kind("repeat", 1.0).reading(),
        kind("transfer-read", RAN_DRY_MAX).reading(),
        kind("account-read", 0.0).reading(),
    ];
    const STATEMENTS: &'static [&'static str] = Stmt::NAMES;
    type Call = Call;
    type Outcome = Outcome;
    type Inputs = Inputs;
    type Ledger = Ledger;

    fn kind(call: &Call) -> usize {
        match call {
            Call::Transfer { purpose, .. } => match purpose {
                Purpose::Within => 0,
                Purpose::Across => 1,
                Purpose::Overdraft => 2,
                Purpose::Repeat | Purpose::Retry | Purpose::Raced => 3,
            },
            Call::ReadTransfer { .. } => 4,
            Call::ReadAccount { .. } => 5,
        }
    }

    fn verdict(outcome: &Outcome) -> Verdict {
        match outcome {
            Outcome::Declined(_) => Verdict::Declined,
            Outcome::Moved { .. } | Outcome::Found { .. } | Outcome::Balance { .. } => Verdict::Committed,
        }
    }

    fn check(call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        outcome::check(call, outcome)
    }
}
