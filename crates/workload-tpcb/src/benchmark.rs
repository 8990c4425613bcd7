//! pgbench's transaction.

use crate::audit::{self, Context as AuditContext};
use crate::{BRANCHES_MAX, Call, Cardinality, Claims, Data, Inputs, Ledger, StoredTally, Tpcb, hottest_rows};
use anyhow::{Context, Result, bail};
use model::Mix;
use model::rows::Dataset;
use result::{Deferred, Efficiency, Headline, InputCheck, Interval, LedgerCheck};
use sql::{Catalogue, Dialect, Value};
use std::sync::Arc;
use workload::{
    ANY_DATE, Benchmark, ForeignDatabase, Look, Past, Registers, Streams, input_checks, ledger_checks,
};

/// Tables without which nothing can be audited.
const TABLES: [&str; 4] = ["pgbench_accounts", "pgbench_tellers", "pgbench_branches", "pgbench_history"];

/// Branches for each client where none are asked for, on an engine with many writers: each call updates the row of one.
const BRANCHES_PER_CLIENT: u32 = 2;
/// The most that are loaded without being asked for: 5 million accounts.
const BRANCHES_UNASKED_MAX: u32 = 50;

impl Benchmark for Tpcb {
    const SCALE_UNIT: &'static str = "branches";
    const SCALE_MAX: u64 = BRANCHES_MAX as u64;
    const RATE_UNIT: &'static str = "transactions/s";
    const RATE_SECONDS: f64 = 1.0;
    /// Its rows do not depend on a seed.
    const GOLDEN_LOAD_SEED: u64 = 1;
    const CHANCE_NEEDS_FRESH: bool = true;
    const OF_LOAD: &'static [&'static str] = &[];
    type Context = AuditContext;
    type Evidence = Vec<StoredTally>;
    type Knowledge = Arc<Registers>;
    type Claims = Claims;

    fn scale_default(engine: Dialect, clients: u32) -> u32 {
        match engine {
            Dialect::Sqlite => Self::SCALE_DEFAULT,
            Dialect::Postgres | Dialect::MySql => {
                clients.saturating_mul(BRANCHES_PER_CLIENT).clamp(1, BRANCHES_UNASKED_MAX)
            }
        }
    }

    fn standard(scale: u32) -> Cardinality {
        Cardinality::standard(scale)
    }

    fn tiny() -> Cardinality {
        Cardinality::tiny()
    }

    fn larger() -> Cardinality {
        Cardinality::larger()
    }

    fn scale(size: &Cardinality) -> u32 {
        size.branches
    }

    fn terminals(_: u32) -> Option<u32> {
        None
    }

    fn hottest_rows(size: &Cardinality) -> u64 {
        hottest_rows(size.branches)
    }

    /// A branch is never split.
    fn shards_max(scale: u32) -> u32 {
        scale
    }

    fn over(size: Cardinality, shards: u32) -> Cardinality {
        Cardinality { shards, ..size }
    }

    fn tiny_over(shards: u32) -> Cardinality {
        let tiny = Cardinality::tiny();
        Cardinality { branches: tiny.branches.max(shards), shards, ..tiny }
    }

    fn larger_over(shards: u32) -> Cardinality {
        let larger = Cardinality::larger();
        Cardinality { branches: larger.branches.max(shards), shards, ..larger }
    }

    fn parts(size: &Cardinality) -> Vec<Cardinality> {
        size.parts().collect()
    }

    fn shard(size: &Cardinality, call: &Call) -> usize {
        size.shard(call.bid) as usize
    }

    fn auditable(store: &dyn Look, tables: &[String]) -> Result<ForeignDatabase<Cardinality>> {
        let missing: Vec<_> =
            TABLES.into_iter().filter(|wanted| tables.iter().all(|table| table != wanted)).collect();
        if !missing.is_empty() {
            bail!("tpcb needs pgbench's tables; {} missing", missing.join(", "));
        }
        let found = store.rows(&audit::scale(store.dialect())?)?;
        let branches = found.first().and_then(|row| row.first()?.int()).unwrap_or(0);
        match u32::try_from(branches) {
            Ok(branches) if branches > 0 => Ok(ForeignDatabase {
                name: "pgbench".into(),
                ours: false,
                size: Cardinality::standard(branches),
                notes: vec![
                    "pgbench empties its history before a run by default: earlier rows are not audited."
                        .into(),
                ],
            }),
            _ => bail!("it has no branch, so there is nothing to run on\nhint: `pgbench -i -s 10` makes ten"),
        }
    }

    /// A database of `pgbench -i` is what this workload runs on.
    fn recognise(store: &dyn Look, tables: &[String], _load: &str) -> Result<ForeignDatabase<Cardinality>> {
        Tpcb::auditable(store, tables)
    }

    fn dataset(size: &Cardinality, _seed: u64) -> Arc<dyn Dataset> {
        Arc::new(Data::new(*size))
    }

    fn schema(dialect: Dialect) -> Result<Catalogue> {
        Ok(crate::schema(dialect)?)
    }

    fn statements(dialect: Dialect) -> Result<Vec<(&'static str, String)>> {
        Ok(crate::sql::Stmt::names(dialect).iter().copied().zip(crate::sql::catalogue(dialect)?).collect())
    }

    fn knowledge(
        size: &Cardinality,
        streams: &Streams<'_>,
        before: Option<&Vec<StoredTally>>,
    ) -> Arc<Registers> {
        if streams.lossy {
            return Arc::new(Registers::none());
        }
        let fresh = before.is_some_and(|before| Self::is_fresh(before, size));
        Arc::new(Registers::new(size.accounts_all().into(), fresh.then_some(0)))
    }

    fn inputs(size: &Cardinality, streams: &Streams<'_>, balances: Arc<Registers>) -> impl Fn(u32) -> Inputs {
        let (size, seed) = (*size, streams.seed);
        move |worker| Inputs::new(size, seed, worker).remembering(&balances)
    }

    fn new_ledger(size: &Cardinality) -> Ledger {
        Ledger::new(*size)
    }

    fn context(size: &Cardinality, past: Past, _before: Option<&Vec<StoredTally>>) -> AuditContext {
        let (first, last) = past.dates();
        // Of an earlier run no one knows when it was.
        let first = if past.ours && past.fresh { first } else { ANY_DATE.0 };
        AuditContext { size: *size, history_whole: past.ours, dates: (first, last) }
    }

    fn params(context: &AuditContext) -> Vec<i64> {
        context.params()
    }

    fn audits(dialect: Dialect) -> Result<Vec<audit::AuditGroup>> {
        Ok(audit::audits(dialect)?)
    }

    fn evidence_query(dialect: Dialect) -> Result<String> {
        Ok(audit::tallies(dialect)?)
    }

    fn at_any_moment() -> &'static str {
        include_str!("../spec/sql/tpcb/moments.sql")
    }

    fn evidence(rows: &[Vec<Value>]) -> Result<Vec<StoredTally>> {
        rows.iter()
            .map(|row| {
                let row: Option<Vec<i64>> = row.iter().map(Value::int).collect();
                row.and_then(|row| StoredTally::from_row(&row)).context("a balance is not a whole number")
            })
            .collect()
    }

    fn join(parts: Vec<Vec<StoredTally>>) -> Vec<StoredTally> {
        StoredTally::join(parts)
    }

    fn is_fresh(stored: &Vec<StoredTally>, _size: &Cardinality) -> bool {
        stored.iter().all(|place| place.entries == 0 && place.balance == 0)
    }

    fn claims(ledger: &Ledger, complete: bool) -> Claims {
        Claims::of(ledger, complete)
    }

    fn ledger_checks(
        before: &Vec<StoredTally>,
        after: &Vec<StoredTally>,
        claims: &Claims,
    ) -> Vec<LedgerCheck> {
        let places = (before.len(), after.len());
        ledger_checks("place", places, claims.audit(before, after), claims.complete)
    }

    fn input_checks(ledger: &Ledger, _size: &Cardinality, _mix: Option<&Mix>) -> Vec<InputCheck> {
        input_checks(audit::input_audit(ledger))
    }

    fn headline(rate: Interval, _paced: bool) -> Headline {
        Headline::transactions_per_s(rate)
    }

    fn efficiency(_rate: f64, _scale: u64) -> Option<Efficiency> {
        None
    }

    fn deferred(_ledger: &Ledger, _totals: &measure::Totals) -> Option<Deferred> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{split, whole};

    #[test]
    fn data_is_split_over_as_many_stores_as_there_are_branches_and_no_more() {
        let size = Cardinality::tiny();
        assert_eq!(split::<Tpcb>(size, 1).unwrap(), size);
        let over_three = split::<Tpcb>(size, 3).unwrap();
        assert_eq!(Tpcb::parts(&over_three).len(), 3);
        assert_eq!(Tpcb::shard(&over_three, &Call { aid: 51, tid: 11, bid: 2, delta: 0 }), 1);
        let refused = |shards| split::<Tpcb>(size, shards).unwrap_err().to_string();
        assert_eq!(
            refused(4),
            "tpcb with 3 branches can be split over 3 stores at most, and not over 4\nhint: it takes a scale of 4 or more"
        );
        assert_eq!(refused(0), "data is in one store at least");
        assert_eq!(Tpcb::tiny_over(1), size);
        assert_eq!(Tpcb::parts(&Tpcb::tiny_over(5)).len(), 5);
    }

    #[test]
    fn parts_are_known_as_those_of_a_whole_of_either_size() {
        for size in [Cardinality { shards: 2, ..Cardinality::standard(5) }, Tpcb::tiny_over(2)] {
            let parts = Tpcb::parts(&size);
            assert_eq!(whole::<Tpcb>(&parts).unwrap(), size);
            let swapped = [parts[1], parts[0]];
            let error = whole::<Tpcb>(&swapped).unwrap_err().to_string();
            assert!(error.starts_with("shard-0 does not hold its part of "), "{error}");
        }
    }
}
