//! The transaction that pgbench runs by default, "TPC-B (sort of)", on pgbench's own tables: a database made by
//! `pgbench -i` runs unchanged.
//!
//! In reading order: `call` (what is asked), `outcome` (what is answered), `input` (how calls are drawn), `data` (the
//! initial rows), `sql` (the transaction), `oracle` (the truth in memory), `ledger` (what answers imply). It knows no
//! driver and no protocol; `wire` turns calls and outcomes into JSON and back.

pub mod audit;
mod benchmark;
mod call;
pub mod conformance;
mod data;
mod input;
mod ledger;
mod oracle;
mod outcome;
mod races;
mod sql;
mod wire;

use model::{Kind, Verdict, Workload};

pub use call::{Call, DELTA_MAX};
pub use data::{ACCOUNTS_A_BRANCH, BRANCHES_MAX, Cardinality, Data, FILLER, TELLERS_A_BRANCH, hottest_rows};
pub use input::Inputs;
pub use ledger::{Claims, InputCounts, Ledger, Place, StoredTally, Tally};
pub use oracle::{HistoryRow, Oracle};
pub use outcome::Outcome;
pub use sql::{SqlSession, SqlTarget, Stmt, catalogue, schema};

#[derive(Debug, Clone, Copy)]
pub struct Tpcb;

impl Workload for Tpcb {
    const NAME: &'static str = "tpcb";
    /// One kind, with no pace and no limit: pgbench has none.
    const KINDS: &'static [Kind] = &[Kind {
        name: "tpcb",
        headline: true,
        declined_max: 0.0,
        pace: None,
        p90_max: None,
        deferred_p90_max: None,
        writes: true,
    }];
    const STATEMENTS: &'static [&'static str] = Stmt::NAMES;
    type Call = Call;
    type Outcome = Outcome;
    type Inputs = Inputs;
    type Ledger = Ledger;

    fn kind(_: &Call) -> usize {
        0
    }

    fn verdict(_: &Outcome) -> Verdict {
        Verdict::Committed
    }

    fn check(call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        outcome::check(call, outcome)
    }
}
