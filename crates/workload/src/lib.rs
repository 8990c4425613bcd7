//! What a workload needs around its calls to be loaded, run, audited and reported.

mod blocks;
mod checks;
pub mod keyed;
pub mod messages;
mod mixed;
mod parameters;
mod registers;
mod remembered;

use anyhow::{Result, bail};
use contract::Wire;
use model::rows::Dataset;
use model::{Mix, Nanos, Skew, Workload};
use result::{Deferred, Efficiency, Headline, InputCheck, Interval, LedgerCheck};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sql::{Catalogue, ColumnInfo, Dialect, Journal, Value};
use std::fmt::Debug;
use std::sync::Arc;

pub use blocks::Blocks;
pub use checks::{
    check_of, family_of, input_checks, ledger_checks, message_checks, reasons_check, unchecked_reasons,
    whole_checks,
};
pub use mixed::{PRIME, mixed};
pub use parameters::{Chosen, Of, Parameter, parameter, resized, sized, values};
pub use registers::{Drawn, Registers};
pub use remembered::Remembered;

/// Seed of loads of which nothing else is said; that of runs is another.
pub const LOAD_SEED: u64 = 1;

/// Clients of a run of which nothing else is said.
pub const CLIENTS: u32 = 8;

/// Keys are kept for so long at least, by the contracts.
pub const KEYS_KEPT: Nanos = Nanos::from_secs(24 * 3_600);

/// Answers calls, one after the other.
pub type Rehearsal<W> = Box<dyn FnMut(&<W as Workload>::Call) -> <W as Workload>::Outcome>;

/// What the calls of a trial are drawn from, next to the size of its data.
#[derive(Debug, Clone, Copy, Default)]
pub struct Streams<'a> {
    /// The seed of the calls.
    pub seed: u64,
    /// The seed that the data was loaded with, where it is known: answers are held to it.
    pub load: Option<u64>,
    /// The number of the run, which no other on the same data has: keys of what is done once only are made of it.
    pub run: u64,
    /// Which kinds of call are made, where that is not left to the workload.
    pub mix: Option<&'a Mix>,
    /// How unevenly rows are drawn, where that is not left to the workload.
    pub skew: Option<Skew>,
    /// When the run began, in seconds since 1970, where its dates are to be compared with that.
    pub begin: Option<i64>,
    /// Whether what was acknowledged may be lost or come late and calls are made all the same: then no answer is compared with those to
    /// other clients.
    pub lossy: bool,
    /// Whether the run may last longer than [`KEYS_KEPT`]: then only the latest calls are made again under their keys.
    pub outlasts_keys: bool,
}

/// A workload that can be loaded, run, audited and reported.
pub trait Benchmark:
    Wire<Extent: Size, Outcome: PartialEq + Clone, Ledger: Serialize + DeserializeOwned>
{
    /// What the scale counts: `warehouses`.
    const SCALE_UNIT: &'static str;
    /// The most that may be asked for.
    const SCALE_MAX: u64;
    /// The scale where none is asked for, of SQLite and of drills.
    const SCALE_DEFAULT: u32 = 1;
    /// What users can choose besides the scale.
    const PARAMETERS: &'static [Parameter] = &[];
    /// What its throughput counts, a minute or a second: `new orders/min`.
    const RATE_UNIT: &'static str;
    /// Seconds in the unit of its throughput.
    const RATE_SECONDS: f64;
    /// Seed of the data that the golden vectors were recorded on.
    const GOLDEN_LOAD_SEED: u64;
    /// Whether even chance can be judged only while no earlier run has used the data: runs with the same seed make the same
    /// calls, and then chance is not what spreads them.
    const CHANCE_NEEDS_FRESH: bool;
    /// What is known about a database besides its rows, for its audits.
    type Context;
    /// What the store reports before and after a run.
    type Evidence: Clone + Debug + Serialize + DeserializeOwned;
    /// What answers are compared with beyond their calls, by all workers together; shared by its clones.
    type Knowledge: Clone;
    /// What acknowledged calls imply about the difference.
    type Claims: Clone + Debug + Serialize + DeserializeOwned;

    /// The scale where none is asked for. On an engine with many writers it is one at which so many clients do not queue for a few
    /// rows: the cost of a stack does not show while calls wait for each other.
    fn scale_default(_engine: Dialect, _clients: u32) -> u32 {
        Self::SCALE_DEFAULT
    }
    /// The standard's size at a scale.
    fn standard(scale: u32) -> Self::Extent;
    /// A size's values of [`Benchmark::PARAMETERS`], in their order.
    fn values(_size: &Self::Extent) -> Vec<u64> {
        Vec::new()
    }
    /// The same size with these values of [`Benchmark::PARAMETERS`], each within its range.
    fn with(size: Self::Extent, _values: &[u64]) -> Result<Self::Extent> {
        Ok(size)
    }
    /// The size that conformance works on.
    fn tiny() -> Self::Extent;
    /// The scale of a size.
    fn scale(size: &Self::Extent) -> u32;
    /// Clients of a paced run: as many terminals as the standard has at a scale.
    fn terminals(scale: u32) -> Option<u32>;
    /// Rows of the smallest table that most calls update.
    fn hottest_rows(size: &Self::Extent) -> u64;

    /// Upper bound of its largest statement with all values, in bytes. The default is the smallest limit that MariaDB accepts, so it
    /// refuses no server.
    const STATEMENT_BYTES: u64 = 1_024;

    /// The most stores that data of a scale can be split over: one, unless the workload says how.
    fn shards_max(_scale: u32) -> u32 {
        1
    }
    /// The same data over so many stores, which [`split`] has found to be possible.
    fn over(size: Self::Extent, _shards: u32) -> Self::Extent {
        size
    }
    /// The size that conformance works on where there are so many stores.
    fn tiny_over(_shards: u32) -> Self::Extent {
        Self::tiny()
    }
    /// Several times as much, with ids that are not there in [`Benchmark::tiny`]. It loads in a second.
    fn larger() -> Self::Extent;
    /// The same where there are so many stores.
    fn larger_over(_shards: u32) -> Self::Extent {
        Self::larger()
    }
    /// Whether calls that are made in a style can be made on data over several stores.
    fn spans(_style: &str) -> Result<()> {
        Ok(())
    }
    /// Whether calls that are made in a style can be made on data over several private SQLite files with such a journal.
    fn spans_private_files(_style: &str, _journal: Journal) -> Result<()> {
        Ok(())
    }
    /// What is in each store of a size, in order; loaded and audited by itself, with the ids of the whole.
    fn parts(size: &Self::Extent) -> Vec<Self::Extent> {
        vec![size.clone()]
    }
    /// The store that a call is for, by its place in [`Benchmark::parts`]; any of them for a call that names nothing stored.
    fn shard(_size: &Self::Extent, _call: &Self::Call) -> usize {
        0
    }

    /// What another tool has loaded, if it can be audited. `tables` are what it has made.
    ///
    /// # Errors
    /// Why not, and what the workload would need; or the store cannot be asked.
    fn auditable(store: &dyn Look, tables: &[String]) -> Result<ForeignDatabase<Self::Extent>>;
    /// What another tool has loaded, if calls can be made on it. `load` is the command that would load one of ours, for
    /// messages.
    ///
    /// # Errors
    /// Why not; or the store cannot be asked.
    fn recognise(store: &dyn Look, tables: &[String], load: &str) -> Result<ForeignDatabase<Self::Extent>>;

    /// The initial rows.
    fn dataset(size: &Self::Extent, seed: u64) -> Arc<dyn Dataset>;

    /// Tables and indexes.
    fn schema(dialect: Dialect) -> Result<Catalogue>;
    /// The statements of its calls in the plain style, each with its name: what a server makes plans for. None where there are no
    /// such.
    fn statements(_dialect: Dialect) -> Result<Vec<(&'static str, String)>> {
        Ok(Vec::new())
    }
    /// What is known of the stored data, and what all workers of all subjects that make calls on it have been answered. `before` is
    /// what the store reported before the first call, where it could be read.
    fn knowledge(
        size: &Self::Extent,
        streams: &Streams<'_>,
        before: Option<&Self::Evidence>,
    ) -> Self::Knowledge;
    /// The streams of the workers of one trial, by worker.
    fn inputs(
        size: &Self::Extent,
        streams: &Streams<'_>,
        knowledge: Self::Knowledge,
    ) -> impl Fn(u32) -> Self::Inputs;
    /// Answers calls as a right service would whose data has just been loaded, for whoever writes calls down before they are
    /// made. Nothing where no call follows from an earlier answer and what is done is answered with 200.
    fn rehearsal(_size: &Self::Extent) -> Option<Rehearsal<Self>> {
        None
    }
    fn new_ledger(size: &Self::Extent) -> Self::Ledger;

    /// Whether its rows can be drawn by a skew that someone asks for.
    const SKEWS: bool = false;
    /// Names of the audits that speak of the load itself: where one fails, calls cannot be answered, whoever loaded the data.
    const OF_LOAD: &'static [&'static str];
    /// Names of the audits that only what inputs draw keeps to, and not every right call.
    const OF_INPUTS: &'static [&'static str] = &[];
    /// What is known about a database besides its rows: of its past, and of what it held before the run that is judged.
    fn context(size: &Self::Extent, past: Past, before: Option<&Self::Evidence>) -> Self::Context;
    /// Values of the parameters of all audits' queries.
    fn params(context: &Self::Context) -> Vec<i64>;
    /// The audits of the stored data.
    fn audits(dialect: Dialect) -> Result<Vec<sql::audit::AuditGroup<Self::Context>>>;
    /// The query whose rows [`Benchmark::evidence`] reads.
    fn evidence_query(dialect: Dialect) -> Result<String>;
    /// A query for one row of totals that nothing but calls changes, besides the rows of [`Benchmark::evidence_query`]: they are the same at
    /// the last answer and when the server has ended. Nothing where those rows have all of it.
    fn totals(_dialect: Dialect) -> Result<Option<String>> {
        Ok(None)
    }
    /// A file of queries of what breaks a condition that holds at any moment, also while calls are made, since each of them is done whole or
    /// not at all. One is asked about ten times a second.
    fn at_any_moment() -> &'static str {
        ""
    }
    /// What the store reports.
    ///
    /// # Errors
    /// The rows are not what the query asks for.
    fn evidence(rows: &[Vec<Value>]) -> Result<Self::Evidence>;
    /// What all stores say, from what each says of its part, in order; there is at least one.
    fn join(mut parts: Vec<Self::Evidence>) -> Self::Evidence {
        parts.swap_remove(0)
    }
    /// What has been asked for and is still to be done, such as unpublished events: it must come to zero after a trial before
    /// its data is audited. `None` where calls leave nothing behind to wait for.
    fn pending(_stored: &Self::Evidence) -> Option<u64> {
        None
    }
    /// Whether what calls in a style leave pending is waited for: someone works on it.
    fn is_awaited(_style: &str) -> bool {
        true
    }
    /// What holds the messages that were published of some runs in a style to what was acknowledged and stored; nothing where calls leave no
    /// messages. Those of earlier runs that were pending `before` are published too, and left out.
    fn announced(
        _style: &str,
        _size: &Self::Extent,
        _runs: &[u64],
        _before: &Self::Evidence,
    ) -> Option<Box<dyn MessageCheck<Self>>> {
        None
    }
    /// Of messages that calls in a style leave, and that no one publishes: what of some runs must be stored besides the calls.
    fn unpublished_checks(
        _style: &str,
        _runs: &[u64],
        _claims: &Self::Claims,
        _stored: &Self::Evidence,
    ) -> Vec<LedgerCheck> {
        Vec::new()
    }
    /// Of calls that are acknowledged before they have come to their end: what a store is asked for how long that took.
    fn settling(_dialect: Dialect) -> Result<Option<Settling>> {
        Ok(None)
    }
    /// Of what is claimed to be in doubt: how a store is asked, call by call, what became of it. Nothing where stores do not keep
    /// apart what single calls have done; bounds hold all doubts together in any case.
    fn inquiries(_size: &Self::Extent, _claims: &Self::Claims, _dialect: Dialect) -> Result<Vec<Inquiry>> {
        Ok(Vec::new())
    }
    /// Of calls that were declined for something that is stored: how a store is asked for it. Nothing where no call was.
    fn reasons(_claims: &Self::Claims, _dialect: Dialect) -> Result<Option<Reasons>> {
        Ok(None)
    }
    /// What must hold over all stores together, whatever has run on them, where no single store can tell.
    fn whole_checks(_size: &Self::Extent, _stored: &Self::Evidence) -> Vec<LedgerCheck> {
        Vec::new()
    }
    /// Whether the data is as it was loaded: no run has used it.
    fn is_fresh(stored: &Self::Evidence, size: &Self::Extent) -> bool;
    /// What has been acknowledged, and what is in doubt; not `complete` while calls are under way.
    fn claims(ledger: &Self::Ledger, complete: bool) -> Self::Claims;
    /// The store against the claims.
    fn ledger_checks(
        before: &Self::Evidence,
        after: &Self::Evidence,
        claims: &Self::Claims,
    ) -> Vec<LedgerCheck>;
    /// What was sent, against the standard's shares, and where a mix was asked for against that.
    fn input_checks(ledger: &Self::Ledger, size: &Self::Extent, mix: Option<&Mix>) -> Vec<InputCheck>;

    /// The headline of a result.
    fn headline(rate: Interval, paced: bool) -> Headline;
    /// How near a paced run came to what its pace allows.
    fn efficiency(rate: f64, scale: u64) -> Option<Efficiency>;
    /// What became of calls that were queued.
    fn deferred(ledger: &Self::Ledger, totals: &measure::Totals) -> Option<Deferred>;
    /// The reading call that shows what a call has left behind, or that it is itself; nothing where there is none.
    fn closing(_call: &Self::Call) -> Option<Self::Call> {
        None
    }
    /// The reading call whose answer shows at any later time that a call was done as it was answered, because no other call can have
    /// undone that; nothing where there is none.
    fn lookup(_call: &Self::Call, _outcome: &Self::Outcome) -> Option<Self::Call> {
        None
    }
    /// Whether the later answer to [`Benchmark::lookup`] shows it. Nothing where it cannot tell.
    fn shows(_call: &Self::Call, _outcome: &Self::Outcome, _later: &Self::Outcome) -> Option<bool> {
        None
    }
    /// Of calls that were made when they were drawn: the parts for which there was nothing to do, in a sentence, if there were any.
    fn skipped(_ledger: &Self::Ledger) -> Option<String> {
        None
    }
}

/// Checks the messages that were published of some runs, one after the other.
pub trait MessageCheck<W: Benchmark> {
    /// Takes a message; those of one key come in the order in which they were published. `place` says where it is.
    fn take(&mut self, place: &dyn Fn() -> String, payload: &[u8]);
    /// The key that the record of a message must have on a broker; nothing where the message cannot be read.
    fn record_key(&self, payload: &[u8]) -> Option<u64>;
    /// Messages that came again.
    fn duplicates(&self) -> u64;
    /// Everything taken, against what was acknowledged and what is stored.
    fn checks(&self, claims: &W::Claims, stored: &W::Evidence) -> Vec<LedgerCheck>;
}

/// [`Benchmark::inputs`] where the store was not looked at before the first call.
pub fn inputs<W: Benchmark>(size: &W::Extent, streams: &Streams<'_>) -> impl Fn(u32) -> W::Inputs {
    W::inputs(size, streams, W::knowledge(size, streams, None))
}

/// A scale in words: `1 warehouse`, `2 branches`, `1 thousand foods`.
pub fn amount<W: Benchmark>(scale: u64) -> String {
    let unit = W::SCALE_UNIT;
    if unit.contains(' ') {
        return format!("{scale} {unit}");
    }
    let one = unit.strip_suffix("es").filter(|_| unit.ends_with("ches")).or(unit.strip_suffix('s'));
    format!("{scale} {}", one.filter(|_| scale == 1).unwrap_or(unit))
}

/// The size of data over so many stores.
///
/// # Errors
/// When the workload cannot be split over as many at that scale, or not at all.
pub fn split<W: Benchmark>(size: W::Extent, shards: u32) -> Result<W::Extent> {
    let (name, scale) = (W::NAME, W::scale(&size));
    match W::shards_max(scale) {
        max if (1..=max).contains(&shards) => Ok(W::over(size, shards)),
        _ if shards == 0 => bail!("data is in one store at least"),
        1 if W::shards_max(u32::MAX) == 1 => bail!("{name} cannot be split over several stores"),
        max => bail!(
            "{name} with {} can be split over {max} {} at most, and not over {shards}\nhint: it takes a scale of {shards} or more",
            amount::<W>(scale.into()),
            if max == 1 { "store" } else { "stores" }
        ),
    }
}

/// [`split`], for calls that are made in a style.
///
/// # Errors
/// Those of [`split`]; and when no call in that style can be made on several stores.
pub fn split_for<W: Benchmark>(size: W::Extent, shards: u32, style: &str) -> Result<W::Extent> {
    let split = split::<W>(size, shards)?;
    if shards > 1 {
        W::spans(style)?;
    }
    Ok(split)
}

/// What these parts are together, in the order of their stores; one part is a whole.
///
/// # Errors
/// They are not the parts of one size: which is the first that is not what belongs in its place.
pub fn whole<W: Benchmark>(parts: &[W::Extent]) -> Result<W::Extent> {
    if let [whole] = parts {
        return Ok(whole.clone());
    }
    let scale: u32 = parts.iter().map(W::scale).sum();
    let shards = parts.len() as u32;
    let whole = split::<W>(W::standard(scale), shards)?;
    let misplaced =
        |whole: &W::Extent| parts.iter().zip(&W::parts(whole)).position(|(found, wanted)| found != wanted);
    // A server is verified over as many stores as it is to serve, on little data.
    let verified = || [W::tiny_over(shards), W::larger_over(shards)].into_iter();
    match (misplaced(&whole), verified().find(|size| misplaced(size).is_none())) {
        (None, _) => Ok(whole),
        (_, Some(size)) => Ok(size),
        (Some(at), None) => bail!(
            "shard-{at} does not hold its part of {} over {shards} stores: it is of another load, of another size, or in \
             the place of another",
            amount::<W>(scale.into())
        ),
    }
}

/// A database that can be asked, on an engine of some dialect.
pub trait Look {
    /// Whose SQL it speaks.
    fn dialect(&self) -> Dialect;

    /// All rows of one query.
    fn rows(&self, query: &str) -> Result<Vec<Vec<Value>>>;

    /// All columns of its tables; of SQLite, which keeps types for values and not for columns, none.
    fn columns(&self) -> Result<Vec<ColumnInfo>>;
}

/// How the stores tell what became of calls that are acknowledged first and come to their end later.
#[derive(Debug, Clone)]
pub struct Settling {
    /// The kind of the calls.
    pub kind: &'static str,
    /// Asked with the begin and the end of an interval, in microseconds of Unix time. Its rows are three whole numbers: what is
    /// counted, where, and how many. Of the calls that were acknowledged in the interval: 1, those that came to their end after so
    /// many tenths of a millisecond; 2, those of them that were undone. By second of the interval: 3, calls that were acknowledged;
    /// 4, calls that came to their end. 5, calls that were on their way when it began.
    pub query: String,
}

/// A question about a call of which no one was told what became of it.
#[derive(Debug, Clone)]
pub struct Inquiry {
    /// The call, as reports name it.
    pub call: String,
    /// The store that knows, by its place.
    pub store: usize,
    /// What it is asked.
    pub query: String,
    pub params: Vec<i64>,
    /// What the rows of its answer mean.
    pub told: fn(&[Vec<Value>]) -> &'static str,
}

/// What the first store is asked about calls that were declined, or a sample of them, for something that it must contain.
#[derive(Debug, Clone)]
pub struct Reasons {
    /// The name of the check: that of the reason.
    pub name: &'static str,
    /// Has rows if the reason of a call is there.
    pub query: String,
    /// Its parameters, by call.
    pub params: Vec<Vec<i64>>,
    /// What is not there of a call, by its parameters.
    pub missing: fn(&[i64]) -> String,
    /// Calls in doubt. An engine may show a change before it has flushed it, and lose it when it is killed.
    pub doubts: usize,
}

/// What is known of what happened to a database before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Past {
    /// We have loaded it.
    pub ours: bool,
    /// No run had used it before the one that is judged.
    pub fresh: bool,
    /// When the run that is judged began and ended, in seconds since 1970, where that is known.
    pub run: Option<(i64, i64)>,
}

/// The first and the last date that rows may have of which nothing is known, in seconds since 1970: until the year 5138. A larger
/// number is not in seconds.
pub const ANY_DATE: (i64, i64) = (0, 100_000_000_000);

impl Past {
    /// The first and the last date that rows of the run may have, in the time of whatever zone their engine keeps: a day and two
    /// hours before and after the run.
    pub fn dates(&self) -> (i64, i64) {
        const ZONES: i64 = 26 * 3_600;
        self.run.map_or(ANY_DATE, |(begin, end)| (begin - ZONES, end + ZONES))
    }
}

/// A database that another tool has loaded.
pub struct ForeignDatabase<S> {
    /// What it looks like: `another tool, perhaps HammerDB`.
    pub name: String,
    /// It is not another tool after all.
    pub ours: bool,
    /// How much it holds.
    pub size: S,
    /// What is different, a sentence each.
    pub notes: Vec<String>,
}

/// The size of a workload's data.
pub trait Size: Serialize + DeserializeOwned + Debug + PartialEq {}

impl<T: Serialize + DeserializeOwned + Debug + PartialEq> Size for T {}
