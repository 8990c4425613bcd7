//! What the command line needs of a workload beyond its calls: its sizes, its data, its targets, and what vouches for it.
//! One file a workload.

mod tpcb;
mod tpcc;

use anyhow::Result;
use model::LedgerFinding;
use model::rows::Dataset;
use result::{Check, Deferred, Efficiency, Headline, InputCheck, Interval, LedgerCheck};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sql::audit::InputFinding;
use sql::{Catalogue, DbUrl, Dialect, Value};
use std::fmt::Debug;
use std::sync::Arc;
use targets::Driven;

/// A workload that can be loaded, run, audited and reported.
pub(crate) trait Case: Driven<Extent: Size> {
    /// What the scale counts: `warehouses`.
    const SCALE_UNIT: &'static str;
    /// The most that may be asked for.
    const SCALE_MAX: u64;
    /// What its throughput counts, a minute or a second: `new orders/min`.
    const RATE_UNIT: &'static str;
    /// Seconds in the unit of its throughput.
    const RATE_SECONDS: f64;
    /// Seed of the data that the golden vectors were recorded on.
    const GOLDEN_LOAD_SEED: u64;
    /// Whether even chance can be judged only while no earlier run has used the data: runs with the same seed make the same
    /// calls, and then chance is not what spreads them.
    const CHANCE_NEEDS_FRESH: bool;
    /// What is known about a database beside its rows, for its audits.
    type Context;
    /// What the store says of itself before and after a run.
    type Stored: Clone + Debug + Serialize + DeserializeOwned;
    /// What acknowledged calls imply about the difference.
    type Claims: Clone + Debug + Serialize + DeserializeOwned;

    /// The standard's size at a scale.
    fn standard(scale: u32) -> Self::Extent;
    /// The size that conformance works on.
    fn tiny() -> Self::Extent;
    /// The scale of a size.
    fn scale(size: &Self::Extent) -> u32;
    /// Clients of a paced run: as many terminals as the standard has at a scale.
    fn terminals(scale: u32) -> Option<u32>;
    /// Rows of the smallest table that most calls update.
    fn hottest_rows(size: &Self::Extent) -> u64;

    /// What another kit has loaded, if it can be audited.
    fn auditable(url: &DbUrl, tables: &[String]) -> Result<Kit<Self::Extent>>;
    /// What another kit has loaded, if calls can be made on it.
    fn recognise(url: &DbUrl) -> Result<Kit<Self::Extent>>;

    /// The initial rows.
    fn dataset(size: &Self::Extent, seed: u64) -> Arc<dyn Dataset>;
    /// Tables and indexes.
    fn schema(dialect: Dialect) -> Result<Catalogue>;
    /// The streams of the workers of one trial, by worker. `load` is the seed that the data was loaded with, where it is
    /// known: answers are held to it.
    fn inputs(size: &Self::Extent, load: Option<u64>, seed: u64) -> impl Fn(u32) -> Self::Inputs;
    /// A fresh ledger.
    fn new_ledger(size: &Self::Extent) -> Self::Ledger;

    /// Names of the audits that speak of the load itself: where one fails, calls cannot be answered, whoever loaded the data.
    const OF_LOAD: &'static [&'static str];
    /// What is known about a database beside its rows: of its past, and of what it held before the run that is judged.
    fn context(size: &Self::Extent, past: Past, before: Option<&Self::Stored>) -> Self::Context;
    /// Values of the parameters of all audits' queries.
    fn params(context: &Self::Context) -> Vec<i64>;
    /// The audits of the stored data.
    fn audits(dialect: Dialect) -> Result<Vec<sql::audit::Group<Self::Context>>>;
    /// The query whose rows [`Case::stored`] reads.
    fn stored_query(dialect: Dialect) -> Result<String>;
    /// What the store says of itself.
    fn stored(rows: &[Vec<Value>]) -> Result<Self::Stored>;
    /// Whether the data is as it was loaded: no run has used it.
    fn is_fresh(stored: &Self::Stored, size: &Self::Extent) -> bool;
    /// What has been acknowledged, and what is in doubt; not `complete` while calls are under way.
    fn claims(ledger: &Self::Ledger, complete: bool) -> Self::Claims;
    /// The store against the claims.
    fn ledger_checks(before: &Self::Stored, after: &Self::Stored, claims: &Self::Claims) -> Vec<LedgerCheck>;
    /// What was sent, against the standard's shares.
    fn input_checks(ledger: &Self::Ledger, size: &Self::Extent) -> Vec<InputCheck>;

    /// The headline of a result.
    fn headline(rate: Interval, paced: bool) -> Headline;
    /// How near a paced run came to what its pace allows.
    fn efficiency(rate: f64, scale: u64) -> Option<Efficiency>;
    /// What became of calls that were queued.
    fn deferred(ledger: &Self::Ledger, totals: &measure::Totals) -> Option<Deferred>;
}

/// What is known of what happened to a database before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Past {
    /// We have loaded it.
    pub(crate) ours: bool,
    /// No run had used it before the one that is judged.
    pub(crate) fresh: bool,
}

/// A database that another kit has loaded.
pub(crate) struct Kit<S> {
    /// What it looks like: `another kit, perhaps HammerDB`.
    pub(crate) name: String,
    /// It is not another kit after all.
    pub(crate) ours: bool,
    pub(crate) size: S,
    /// What is different, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// The size of a workload's data.
pub(crate) trait Size: Serialize + DeserializeOwned + Debug + PartialEq {}

impl<T: Serialize + DeserializeOwned + Debug + PartialEq> Size for T {}

/// What a ledger found, for the document. `place` is where the store is held to the claims: `district`; `places` are how many
/// there were before and are now, without findings where these are not the same.
fn ledger_checks(
    place: &str,
    places: (usize, usize),
    findings: Option<Vec<LedgerFinding>>,
    complete: bool,
) -> Vec<LedgerCheck> {
    match findings {
        Some(findings) => {
            findings.into_iter().map(|finding| ledger_check(finding, place, complete)).collect()
        }
        None => vec![places_differ(place, places)],
    }
}

fn ledger_check(finding: LedgerFinding, place: &str, complete: bool) -> LedgerCheck {
    let LedgerFinding { name, unit, low, high, stored, violations } = finding;
    let sentence = match violations.first() {
        Some(first) => {
            let more = violations.len() - 1;
            let more = if more == 0 { String::new() } else { format!(", and {more} more") };
            format!("{first}{more}.")
        }
        None if complete => format!(
            "In each {place} the store changed by what was acknowledged, and by no more than that and what is in doubt."
        ),
        None => format!("In each {place} the store changed by at least what was acknowledged."),
    };
    LedgerCheck {
        name: name.into(),
        unit: unit.into(),
        low,
        // Without the last claims there is no upper bound; what is stored is then its own.
        high: if complete { high } else { stored.max(high) },
        stored,
        check: Check::from_passed(violations.is_empty()),
        sentence,
    }
}

/// The finding where not even the places are those of before.
fn places_differ(place: &str, (before, after): (usize, usize)) -> LedgerCheck {
    LedgerCheck {
        name: format!("{place}s"),
        unit: format!("{place}s"),
        low: before as i64,
        high: before as i64,
        stored: after as i64,
        check: Check::Failed,
        sentence: format!("The store does not have the {place}s that it had before."),
    }
}

/// What was found of what was sent, for the document.
fn input_checks(findings: Vec<InputFinding>) -> Vec<InputCheck> {
    let check = |input: InputFinding| {
        let figure = input.finding.figure?;
        Some(InputCheck {
            name: input.name.into(),
            clause: Some(input.clause.into()),
            expected: figure.expected,
            tolerance: figure.tolerance,
            measured: figure.measured,
            samples: figure.samples,
            check: input.finding.verdict,
        })
    };
    findings.into_iter().filter_map(check).collect()
}

/// Runs `$body` with `$W` standing for the type of the workload called `$name`, which is one of `subjects::workloads`.
macro_rules! of_workload {
    ($name:expr, $W:ident => $body:expr) => {
        match $name {
            "tpcc" => {
                type $W = workload_tpcc::Tpcc;
                $body
            }
            "tpcb" => {
                type $W = workload_tpcb::Tpcb;
                $body
            }
            other => anyhow::bail!("no workload `{other}`"),
        }
    };
}
pub(crate) use of_workload;
