//! The toy, as trials load, run, audit and report it.

use crate::conformance::TINY;
use crate::data::Data;
use crate::{Cardinality, Claims, Inputs, Ledger, StoredBox, Toy, audit, sql};
use ::sql::audit::AuditGroup;
use ::sql::{Catalogue, Dialect, Value};
use anyhow::{Context, Result, bail};
use model::Mix;
use model::rows::Dataset;
use result::{Deferred, Efficiency, Headline, InputCheck, Interval, LedgerCheck};
use std::sync::Arc;
use workload::{Benchmark, ForeignDatabase, Look, Past, Streams, ledger_checks};

impl Benchmark for Toy {
    const SCALE_UNIT: &'static str = "boxes";
    const SCALE_MAX: u64 = 10_000;
    const RATE_UNIT: &'static str = "calls/s";
    const RATE_SECONDS: f64 = 1.0;
    /// Its rows do not depend on a seed.
    const GOLDEN_LOAD_SEED: u64 = 1;
    /// No audit judges chance.
    const CHANCE_NEEDS_FRESH: bool = false;
    const OF_LOAD: &'static [&'static str] = &["box-ids"];
    type Context = Cardinality;
    type Evidence = Vec<StoredBox>;
    type Knowledge = ();
    type Claims = Claims;

    fn standard(scale: u32) -> Cardinality {
        Cardinality { boxes: scale }
    }

    fn tiny() -> Cardinality {
        TINY
    }

    fn larger() -> Cardinality {
        Cardinality { boxes: 20 * TINY.boxes }
    }

    fn scale(size: &Cardinality) -> u32 {
        size.boxes
    }

    fn terminals(_: u32) -> Option<u32> {
        None
    }

    fn hottest_rows(size: &Cardinality) -> u64 {
        u64::from(size.boxes)
    }

    fn auditable(_: &dyn Look, _: &[String]) -> Result<ForeignDatabase<Cardinality>> {
        bail!("no other tool loads the toy's data")
    }

    fn recognise(_: &dyn Look, _: &[String], load: &str) -> Result<ForeignDatabase<Cardinality>> {
        bail!("no other tool loads the toy's data\nhint: `{load}`")
    }

    fn dataset(size: &Cardinality, _seed: u64) -> Arc<dyn Dataset> {
        Arc::new(Data::new(*size))
    }

    fn schema(_: Dialect) -> Result<Catalogue> {
        Ok(sql::schema()?)
    }

    fn knowledge(_: &Cardinality, _: &Streams<'_>, _: Option<&Vec<StoredBox>>) {}

    fn inputs(size: &Cardinality, streams: &Streams<'_>, (): ()) -> impl Fn(u32) -> Inputs {
        let (size, seed) = (*size, streams.seed);
        move |worker| Inputs::new(size, seed, worker)
    }

    fn new_ledger(size: &Cardinality) -> Ledger {
        Ledger::new(*size)
    }

    fn context(size: &Cardinality, _: Past, _: Option<&Vec<StoredBox>>) -> Cardinality {
        *size
    }

    fn params(size: &Cardinality) -> Vec<i64> {
        vec![i64::from(size.boxes)]
    }

    fn audits(_: Dialect) -> Result<Vec<AuditGroup<Cardinality>>> {
        Ok(audit::audits()?)
    }

    fn evidence_query(_: Dialect) -> Result<String> {
        Ok(audit::stored()?)
    }

    fn evidence(rows: &[Vec<Value>]) -> Result<Vec<StoredBox>> {
        let read =
            |row: &Vec<Value>| StoredBox::from_row(&row.iter().map(Value::int).collect::<Option<Vec<_>>>()?);
        rows.iter().map(|row| read(row).context("a box holds what is not a whole number")).collect()
    }

    /// Notes that have been acknowledged and have not arrived: time is all that they take.
    fn pending(stored: &Vec<StoredBox>) -> Option<u64> {
        Some(stored.iter().map(|place| place.pending).sum())
    }

    fn is_fresh(stored: &Vec<StoredBox>, _: &Cardinality) -> bool {
        stored.iter().all(|place| place.notes == 0)
    }

    fn claims(ledger: &Ledger, complete: bool) -> Claims {
        Claims::of(ledger, complete)
    }

    fn ledger_checks(before: &Vec<StoredBox>, after: &Vec<StoredBox>, claims: &Claims) -> Vec<LedgerCheck> {
        ledger_checks("box", (before.len(), after.len()), claims.audit(before, after), claims.complete)
    }

    fn input_checks(ledger: &Ledger, _: &Cardinality, _: Option<&Mix>) -> Vec<InputCheck> {
        vec![audit::input_check(ledger)]
    }

    fn headline(rate: Interval, _paced: bool) -> Headline {
        Headline::calls_per_s(rate)
    }

    fn efficiency(_rate: f64, _scale: u64) -> Option<Efficiency> {
        None
    }

    fn deferred(_: &Ledger, _: &measure::Totals) -> Option<Deferred> {
        None
    }
}
