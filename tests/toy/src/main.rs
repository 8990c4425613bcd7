//! A workload of one's own, as small as one can be, in Stackmark's command line: notes are posted into boxes, and arrive a
//! while later. It is there to be read by whoever writes a workload, and is the tests' third.
//!
//! In reading order: `call` (what is asked), `outcome` (what is answered), `input` (how calls are drawn), `data` (the
//! initial rows), `sql` (the transaction), `oracle` (the truth in memory), `ledger` (what answers imply), `wire` (JSON),
//! `audit` (what must hold in the stored data), `conformance`, and `benchmark`, which gives all of it to a trial.

mod audit;
mod benchmark;
mod call;
mod conformance;
mod data;
mod input;
mod ledger;
mod oracle;
mod outcome;
mod sql;
mod wire;

use ::sql::Dialect;
use cli::WorkloadRow;
use model::{Kind, Verdict, Workload};
use std::process::ExitCode;
use targets::{Combination, Driver, How, Style};

pub(crate) use call::Call;
pub(crate) use data::Cardinality;
pub(crate) use input::Inputs;
pub(crate) use ledger::{Claims, Ledger, StoredBox};
pub(crate) use outcome::Outcome;
pub(crate) use sql::catalogue;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Toy;

impl Workload for Toy {
    const NAME: &'static str = "toy";
    /// One kind, with no pace and no limit.
    const KINDS: &'static [Kind] = &[Kind {
        name: "post",
        headline: true,
        declined_max: 0.0,
        pace: None,
        p90_max: None,
        deferred_p90_max: None,
        writes: true,
    }];
    const STATEMENTS: &'static [&'static str] = sql::Stmt::NAMES;
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

targets::driven!(crate::Toy);

/// On other engines the statements and the schema would have other texts, and each driver a line here.
const COMBINATIONS: &[Combination] = &[Combination {
    path: "toy/sqlite/rusqlite",
    how: How { dialect: Dialect::Sqlite, driver: Driver::Rusqlite, style: Style::Plain },
    about: "notes into boxes on SQLite, which arrive a while later",
}];

fn main() -> ExitCode {
    cli::main(const { &[WorkloadRow::of::<Toy>(COMBINATIONS)] })
}
