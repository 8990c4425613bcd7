//! TPC-C.

use crate::audit::{self, Context as AuditContext};
use crate::conformance::GOLDEN_LOAD_SEED;
use crate::{
    Call, Cardinality, Claims, DISTRICTS, Data, Inputs, Knowledge, Ledger, OrderStatus, Outcome, Run,
    StoredTally, Tpcc, WAREHOUSES_MAX, Who, foreign_schema, kind,
};
use anyhow::{Context, Result, bail};
use model::Mix;
use model::rows::Dataset;
use result::{Deferred, Efficiency, Headline, InputCheck, Interval, LedgerCheck};
use sql::{Catalogue, Dialect, Value};
use std::sync::Arc;
use workload::{Benchmark, ForeignDatabase, LOAD_SEED, Look, Past, Streams, input_checks, ledger_checks};

/// Tables without which nothing can be audited.
const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock"];

/// Warehouses where none are asked for, on an engine with many writers: enough that eight clients seldom meet.
const WAREHOUSES_ON_SERVERS: u32 = 10;

impl Benchmark for Tpcc {
    const SCALE_UNIT: &'static str = "warehouses";
    const SCALE_MAX: u64 = WAREHOUSES_MAX as u64;
    const RATE_UNIT: &'static str = "new orders/min";
    const RATE_SECONDS: f64 = 60.0;
    const GOLDEN_LOAD_SEED: u64 = GOLDEN_LOAD_SEED;
    const CHANCE_NEEDS_FRESH: bool = false;
    const OF_LOAD: &'static [&'static str] = audit::OF_LOAD;
    type Context = AuditContext;
    type Evidence = Vec<StoredTally>;
    type Knowledge = Arc<Knowledge>;
    type Claims = Claims;

    fn scale_default(engine: Dialect, _: u32) -> u32 {
        match engine {
            Dialect::Sqlite => Self::SCALE_DEFAULT,
            Dialect::Postgres | Dialect::MySql => WAREHOUSES_ON_SERVERS,
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
        size.warehouses
    }

    /// 4.2.2: ten terminals a warehouse.
    fn terminals(scale: u32) -> Option<u32> {
        Some(DISTRICTS * scale)
    }

    /// Every Payment updates a warehouse.
    fn hottest_rows(size: &Cardinality) -> u64 {
        u64::from(size.warehouses)
    }

    fn auditable(store: &dyn Look, tables: &[String]) -> Result<ForeignDatabase<Cardinality>> {
        if tables.is_empty() {
            bail!("TPC-C needs the tables {}", TABLES.join(", "));
        }
        if store.dialect() != Dialect::Sqlite {
            // Differences that would only be in the way of a run are told and do not keep anyone from auditing.
            if let Ok(tool) = foreign_schema::ForeignSchema::recognise(store.dialect(), &store.columns()?) {
                return known(store, tool);
            }
        }
        let missing: Vec<_> =
            TABLES.into_iter().filter(|wanted| tables.iter().all(|table| table != wanted)).collect();
        if !missing.is_empty() {
            bail!("TPC-C needs the tables {} too", missing.join(", "));
        }
        let count = store.rows("select count(*) from warehouse")?;
        let warehouses = count.first().and_then(|row| row.first()?.int()).unwrap_or(0);
        match u32::try_from(warehouses) {
            Ok(warehouses) if warehouses > 0 => Ok(ForeignDatabase {
                name: "another tool".into(),
                ours: false,
                size: Cardinality::standard(warehouses),
                notes: Vec::new(),
            }),
            _ => bail!("it has no warehouse, so there is nothing to audit"),
        }
    }

    fn recognise(store: &dyn Look, _tables: &[String], load: &str) -> Result<ForeignDatabase<Cardinality>> {
        if store.dialect() == Dialect::Sqlite {
            bail!(
                "a run cannot know what it started from\nhint: `stackmark audit tpcc --db …` checks databases of other tools; `{load}` with another file makes one to run on"
            );
        }
        let tool = foreign_schema::ForeignSchema::recognise(store.dialect(), &store.columns()?)
            .context("TPC-C cannot run on these tables")?;
        known(store, tool)
    }

    fn dataset(size: &Cardinality, seed: u64) -> Arc<dyn Dataset> {
        Arc::new(Data::new(*size, seed))
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
    ) -> Arc<Knowledge> {
        let run = Run { lossy: streams.lossy, begin: streams.begin };
        match streams.load {
            Some(load) => Knowledge::of(Data::new(*size, load), before, run),
            None => Knowledge::of_others(*size, before, run),
        }
    }

    fn inputs(size: &Cardinality, streams: &Streams<'_>, known: Arc<Knowledge>) -> impl Fn(u32) -> Inputs {
        let Streams { seed, load, mix, .. } = *streams;
        let (size, mix) = (*size, mix.cloned());
        // Of what someone else has loaded any constant will do: theirs is not known.
        let c_load = Data::c_load_of(load.unwrap_or(LOAD_SEED));
        move |worker| Inputs::new(size, c_load, seed, worker).mixed(mix.clone()).remembering(&known)
    }

    fn new_ledger(size: &Cardinality) -> Ledger {
        Ledger::new(*size)
    }

    fn context(size: &Cardinality, past: Past, before: Option<&Vec<StoredTally>>) -> AuditContext {
        // Where the district ended that was the furthest, orders of all districts are the run's.
        let furthest = before.and_then(|before| before.iter().map(|district| district.next_o_id).max());
        AuditContext {
            size: *size,
            ours: past.ours,
            used_before: !(past.ours && past.fresh),
            dates: past.dates(),
            run_from: furthest.and_then(|next_o_id| u32::try_from(next_o_id).ok()),
        }
    }

    fn params(context: &AuditContext) -> Vec<i64> {
        context.params()
    }

    fn audits(dialect: Dialect) -> Result<Vec<audit::AuditGroup>> {
        Ok(audit::audits(dialect)?)
    }

    fn evidence_query(dialect: Dialect) -> Result<String> {
        Ok(audit::district_tallies(dialect)?)
    }

    fn totals(dialect: Dialect) -> Result<Option<String>> {
        Ok(Some(audit::totals(dialect)?))
    }

    fn at_any_moment() -> &'static str {
        include_str!("../spec/sql/tpcc/moments.sql")
    }

    fn evidence(rows: &[Vec<Value>]) -> Result<Vec<StoredTally>> {
        rows.iter()
            .map(|row| {
                let row: Option<Vec<i64>> = row.iter().map(Value::int).collect();
                row.and_then(|row| StoredTally::from_row(&row))
                    .context("a district's figures are not whole numbers")
            })
            .collect()
    }

    /// The constants of NURand of an earlier run may have been others.
    fn is_fresh(stored: &Vec<StoredTally>, size: &Cardinality) -> bool {
        let Cardinality { orders, customers, undelivered, .. } = *size;
        let loaded = (i64::from(orders) + 1, i64::from(customers), i64::from(undelivered));
        stored.iter().all(|district| (district.next_o_id, district.payments, district.undelivered) == loaded)
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
        ledger_checks("district", places, claims.audit(before, after), claims.complete)
    }

    fn input_checks(ledger: &Ledger, size: &Cardinality, mix: Option<&Mix>) -> Vec<InputCheck> {
        input_checks(audit::input_audit(
            ledger.counts(),
            ledger.item_counts(),
            ledger.customer_counts(),
            *size,
            mix,
        ))
    }

    fn headline(rate: Interval, paced: bool) -> Headline {
        Headline::new_orders_per_min(rate, paced)
    }

    fn efficiency(rate: f64, scale: u64) -> Option<Efficiency> {
        Some(Efficiency::tpcc(rate, scale))
    }

    fn deferred(ledger: &Ledger, totals: &measure::Totals) -> Option<Deferred> {
        measure::deferred::<Tpcc>(kind::DELIVERY, totals, ledger.counts().deliveries_skipped)
    }

    fn closing(call: &Call) -> Option<Call> {
        let status = |w_id, d_id, customer| Call::OrderStatus(OrderStatus { w_id, d_id, customer });
        match call {
            Call::NewOrder(order) => Some(status(order.w_id, order.d_id, Who::Id(order.c_id))),
            Call::Payment(payment) => Some(status(payment.c_w_id, payment.c_d_id, payment.customer)),
            Call::OrderStatus(_) | Call::StockLevel(_) => Some(call.clone()),
            Call::Delivery(_) => None,
        }
    }

    fn lookup(call: &Call, outcome: &Outcome) -> Option<Call> {
        match (call, outcome) {
            (Call::NewOrder(_), Outcome::Placed(_)) => Self::closing(call),
            (Call::Payment(payment), Outcome::Paid(paid)) => Some(Call::OrderStatus(OrderStatus {
                w_id: payment.c_w_id,
                d_id: payment.c_d_id,
                customer: Who::Id(paid.customer.c_id),
            })),
            _ => None,
        }
    }

    fn shows(call: &Call, outcome: &Outcome, later: &Outcome) -> Option<bool> {
        match (call, outcome, later) {
            (_, Outcome::Placed(placed), Outcome::Status(report)) if report.o_id == placed.o_id => {
                Some(report.o_entry_d == placed.o_entry_d)
            }
            (_, Outcome::Placed(placed), Outcome::Status(report)) => Some(report.o_id > placed.o_id),
            (Call::Payment(payment), Outcome::Paid(paid), Outcome::Status(report)) => {
                let (now, paid) = (report.c_balance.0, paid.customer.c_balance.0);
                // Of another balance it is not known which calls have been made meanwhile.
                let unpaid = now == paid.saturating_add(payment.h_amount.0);
                (now == paid || unpaid).then_some(!unpaid)
            }
            _ => None,
        }
    }

    /// 2.7.4.2: districts without an order to deliver are reported.
    fn skipped(ledger: &Ledger) -> Option<String> {
        let counts = ledger.counts();
        let skipped = counts.deliveries_skipped;
        let districts = counts.deliveries_answered * u64::from(DISTRICTS);
        (skipped > 0).then(|| {
            format!("Deliveries skipped {skipped} of {districts} districts, reported as having no order that waits (TPC-C 2.7.4.2).")
        })
    }
}

/// A database of another tool with the standard's tables, and how much it holds.
fn known(store: &dyn Look, tool: foreign_schema::ForeignSchema) -> Result<ForeignDatabase<Cardinality>> {
    let rows = store.rows(&foreign_schema::discover_query()?)?;
    let figures: Option<Vec<i64>> =
        rows.first().and_then(|row| row.iter().map(Value::int).collect::<Option<Vec<i64>>>());
    let size = figures.and_then(|figures| Cardinality::discovered(&figures));
    let name = match tool.name {
        Some(name) => format!("another tool, by its tables {name}"),
        None => "another tool".into(),
    };
    Ok(ForeignDatabase {
        name,
        ours: false,
        size: size.context("it has no warehouse, or not the same number of rows in each")?,
        notes: tool.notes,
    })
}
