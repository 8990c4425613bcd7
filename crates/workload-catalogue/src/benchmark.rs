//! The catalogue around its calls.

use crate::call::From;
use crate::{
    Call, Cardinality, Claims, Data, Decline, Facts, Filter, FoodCatalogue, Inputs, Key, Ledger, List,
    Loaded, Oracle, Order, Outcome, PAGE_SIZE, Reply, RowCounts, SCALE_MAX, Stored, audit, input,
};
use anyhow::{Context, Result, bail};
use model::Mix;
use model::rows::Dataset;
use result::{Deferred, Efficiency, Headline, InputCheck, Interval, LedgerCheck};
use sql::{Catalogue, Dialect, Value};
use std::sync::Arc;
use workload::{
    Benchmark, ForeignDatabase, Look, Past, Registers, Rehearsal, Streams, input_checks, ledger_checks,
};

/// The foods that follow one in the list of all, by name or by kilocalories.
fn following(id: i64) -> Call {
    let Facts { name, kcal, .. } = Facts::drawn(id, 1);
    let (order, key) = match id % 4 {
        0 => (Order::Name, Key::Name(name)),
        _ => (Order::Kcal, Key::Kcal(kcal)),
    };
    Call::Foods(List { filter: Filter::All, order, from: From::After(key, id), size: PAGE_SIZE })
}

impl Benchmark for FoodCatalogue {
    const SCALE_UNIT: &'static str = "thousand foods";
    const SCALE_MAX: u64 = SCALE_MAX as u64;
    const RATE_UNIT: &'static str = "calls/s";
    const RATE_SECONDS: f64 = 1.0;
    /// Its rows do not depend on a seed.
    const GOLDEN_LOAD_SEED: u64 = 1;
    const CHANCE_NEEDS_FRESH: bool = false;
    const OF_LOAD: &'static [&'static str] = &["row-counts", "template-references"];
    // Random calls of `verify` also remove what was loaded.
    const OF_INPUTS: &'static [&'static str] = &["food-versions", "row-counts"];
    type Context = Cardinality;
    type Evidence = Vec<Stored>;
    type Knowledge = (Arc<Loaded>, Arc<Registers>, Arc<RowCounts>);
    type Claims = Claims;

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
        size.scale
    }

    fn terminals(_: u32) -> Option<u32> {
        None
    }

    /// A bulk insert of 50 foods.
    const STATEMENT_BYTES: u64 = 16_384;

    /// Foods that were loaded; those of a client's own are touched by no one else.
    fn hottest_rows(size: &Cardinality) -> u64 {
        size.foods.into()
    }

    fn auditable(_: &dyn Look, _: &[String]) -> Result<ForeignDatabase<Cardinality>> {
        bail!("no other tool has data of this workload\nhint: `stackmark load catalogue` makes it")
    }

    fn recognise(_: &dyn Look, _: &[String], load: &str) -> Result<ForeignDatabase<Cardinality>> {
        bail!("it does not hold the catalogue's data\nhint: `{load}` makes it")
    }

    fn dataset(size: &Cardinality, _seed: u64) -> Arc<dyn Dataset> {
        Arc::new(Data::new(*size))
    }

    fn schema(dialect: Dialect) -> Result<Catalogue> {
        Ok(crate::schema(dialect)?)
    }

    fn statements(dialect: Dialect) -> Result<Vec<(&'static str, String)>> {
        Ok(crate::sql::Stmt::NAMES.iter().copied().zip(crate::sql::catalogue(dialect)?).collect())
    }

    fn knowledge(
        size: &Cardinality,
        streams: &Streams<'_>,
        before: Option<&Vec<Stored>>,
    ) -> (Arc<Loaded>, Arc<Registers>, Arc<RowCounts>) {
        let rows = u64::from(size.foods) + u64::from(size.categories);
        let fresh = before.is_some_and(|before| Self::is_fresh(before, size));
        let versions =
            if streams.lossy { Registers::none() } else { Registers::new(rows, fresh.then_some(1)) };
        let counts = RowCounts::new(*size, fresh, streams.lossy);
        (Loaded::of(size), Arc::new(versions), Arc::new(counts))
    }

    fn inputs(
        size: &Cardinality,
        streams: &Streams<'_>,
        (loaded, versions, counts): (Arc<Loaded>, Arc<Registers>, Arc<RowCounts>),
    ) -> impl Fn(u32) -> Inputs {
        let (size, Streams { seed, run, .. }) = (*size, *streams);
        let mix = streams.mix.cloned().unwrap_or_else(input::standard_mix);
        move |worker| {
            let inputs = Inputs::new(size, Arc::clone(&loaded), mix.clone(), seed, run, worker);
            inputs.remembering(&versions).counting(&counts)
        }
    }

    fn rehearsal(size: &Cardinality) -> Option<Rehearsal<FoodCatalogue>> {
        let mut oracle = Oracle::new(*size);
        Some(Box::new(move |call| oracle.answer(call)))
    }

    fn new_ledger(size: &Cardinality) -> Ledger {
        Ledger::new(*size)
    }

    fn context(size: &Cardinality, _past: Past, _before: Option<&Vec<Stored>>) -> Cardinality {
        *size
    }

    fn params(context: &Cardinality) -> Vec<i64> {
        audit::params(context)
    }

    fn audits(dialect: Dialect) -> Result<Vec<audit::AuditGroup>> {
        Ok(audit::audits(dialect)?)
    }

    fn evidence_query(dialect: Dialect) -> Result<String> {
        Ok(audit::stored(dialect)?)
    }

    fn evidence(rows: &[Vec<Value>]) -> Result<Vec<Stored>> {
        let read = |row: &Vec<Value>| {
            let row: Option<Vec<i64>> = row.iter().map(Value::int).collect();
            let [_, rows, versions, mixed] = row?[..] else { return None };
            Some(Stored { rows, versions, mixed: Some(mixed) })
        };
        rows.iter().map(|row| read(row).context("a count is not a whole number")).collect()
    }

    fn is_fresh(stored: &Vec<Stored>, size: &Cardinality) -> bool {
        let loaded = [size.categories, size.foods];
        stored.len() == loaded.len()
            && stored.iter().zip(loaded).all(|(stored, loaded)| {
                stored.rows == i64::from(loaded) && stored.versions == i64::from(loaded)
            })
    }

    fn claims(ledger: &Ledger, complete: bool) -> Claims {
        Claims::of(ledger, complete)
    }

    fn ledger_checks(before: &Vec<Stored>, after: &Vec<Stored>, claims: &Claims) -> Vec<LedgerCheck> {
        ledger_checks("table", (before.len(), after.len()), claims.audit(before, after), claims.complete)
    }

    fn input_checks(ledger: &Ledger, _size: &Cardinality, mix: Option<&Mix>) -> Vec<InputCheck> {
        let mix = mix.cloned().unwrap_or_else(input::standard_mix);
        input_checks(audit::input_audit(ledger, &mix))
    }

    fn headline(rate: Interval, _paced: bool) -> Headline {
        Headline::calls_per_s(rate)
    }

    fn efficiency(_rate: f64, _scale: u64) -> Option<Efficiency> {
        None
    }

    fn deferred(_ledger: &Ledger, _totals: &measure::Totals) -> Option<Deferred> {
        None
    }

    fn closing(call: &Call) -> Option<Call> {
        Some(match call {
            Call::CreateCategory { id, .. }
            | Call::UpdateCategory { id, .. }
            | Call::DeleteCategory { id, .. } => Call::Category { id: *id },
            Call::CreateFood { food, .. } => Call::Food { id: food.id },
            Call::UpdateFood { id, .. } | Call::DeleteFood { id, .. } => Call::Food { id: *id },
            Call::InsertFoods { foods, .. } => Call::Food { id: foods.iter().next()?.id },
            // No call of the run asks for the foods that follow one unless it has seen that one at the end of a page.
            Call::Food { id } if id % 2 == 0 => following(*id),
            Call::Categories
            | Call::Category { .. }
            | Call::Foods(_)
            | Call::Food { .. }
            | Call::Template { .. } => call.clone(),
        })
    }

    /// What was loaded stays, and versions only become higher. Bulk inserts stay, too, and no id comes back. What a single call has
    /// created may be removed by the next.
    fn lookup(call: &Call, outcome: &Outcome) -> Option<Call> {
        match (call, outcome.reply) {
            (Call::InsertFoods { foods, .. }, Reply::Inserted { .. }) => {
                Some(Call::Food { id: foods.iter().last()?.id })
            }
            (Call::UpdateFood { .. } | Call::UpdateCategory { .. }, Reply::Stored { .. })
            | (Call::DeleteFood { .. } | Call::DeleteCategory { .. }, Reply::Deleted) => Self::closing(call),
            _ => None,
        }
    }

    fn shows(call: &Call, outcome: &Outcome, later: &Outcome) -> Option<bool> {
        match (call, outcome.reply, later.reply) {
            (Call::UpdateFood { .. }, Reply::Stored { version }, Reply::Food { version: later, .. })
            | (
                Call::UpdateCategory { .. },
                Reply::Stored { version },
                Reply::Category { version: later, .. },
            ) => Some(later >= version),
            (Call::InsertFoods { .. }, Reply::Inserted { .. }, later) => {
                Some(matches!(later, Reply::Food { .. }))
            }
            (Call::DeleteFood { .. }, Reply::Deleted, later) => {
                Some(later == Reply::Declined(Decline::NoSuchFood))
            }
            (Call::DeleteCategory { .. }, Reply::Deleted, later) => {
                Some(later == Reply::Declined(Decline::NoSuchCategory))
            }
            _ => None,
        }
    }
}
