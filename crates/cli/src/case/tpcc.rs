//! TPC-C.

use super::{Case, Kit, Visitor, retrying};
use crate::convert;
use crate::engine::{self, sqlite_only};
use crate::subjects::{Driver, How, Style};
use admin::{AuditGroup, AuditQuery, AuditRows};
use anyhow::{Context, Result, bail};
use measure::Monotonic;
use model::rows::Dataset;
use model::Session;
use report::document::{
    Audit, AuditFamily, AuditWhen, Check, Deferred, Efficiency, Headline, InputCheck, Interval, LedgerCheck,
};
use sql::{Catalogue, DbUrl, Dialect, Value};
use std::sync::Arc;
use workload_tpcc::audit::{self, Context as AuditContext};
use workload_tpcc::conformance::{ConformancePlan, GOLDEN_LOAD_SEED, conform};
use workload_tpcc::{
    Cardinality, Claims, DISTRICTS, Data, Inputs, Ledger, SqlTarget, StoredTally, Tpcc, WAREHOUSES_MAX,
    catalogue, kind,
};

/// Tables without which nothing can be audited.
const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock"];

impl Case for Tpcc {
    const SCALE_UNIT: &'static str = "warehouses";
    const SCALE_MAX: u64 = WAREHOUSES_MAX as u64;
    const RATE_UNIT: &'static str = "new orders/min";
    const RATE_SECONDS: f64 = 60.0;
    const GOLDEN_LOAD_SEED: u64 = GOLDEN_LOAD_SEED;
    type Stored = Vec<StoredTally>;
    type Claims = Claims;

    fn standard(scale: u32) -> Cardinality {
        Cardinality::standard(scale)
    }

    fn tiny() -> Cardinality {
        Cardinality::tiny()
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

    fn auditable(url: &DbUrl, tables: &[String]) -> Result<Kit<Cardinality>> {
        if tables.is_empty() {
            bail!("TPC-C needs the tables {}", TABLES.join(", "));
        }
        let missing: Vec<_> =
            TABLES.into_iter().filter(|wanted| tables.iter().all(|table| table != wanted)).collect();
        if !missing.is_empty() {
            bail!("TPC-C needs the tables {} too", missing.join(", "));
        }
        let count = engine::rows(url, "select count(*) from warehouse")?;
        let warehouses = count.first().and_then(|row| row.first()?.int()).unwrap_or(0);
        match u32::try_from(warehouses) {
            Ok(warehouses) if warehouses > 0 => Ok(Kit {
                name: "another kit".into(),
                size: Cardinality::standard(warehouses),
                notes: Vec::new(),
            }),
            _ => bail!("it has no warehouse, so there is nothing to audit"),
        }
    }

    fn recognise(url: &DbUrl) -> Result<Kit<Cardinality>> {
        match url {
            DbUrl::Sqlite(_) => bail!(
                "a run cannot know what it started from\nhint: `stackmark audit tpcc --db …` checks databases of other \
                 kits; `{}` with another file makes one to run on",
                crate::database::load_command::<Tpcc>(url, 1, false)
            ),
            DbUrl::Server(_) => bail!("not yet"),
        }
    }

    fn dataset(size: &Cardinality, seed: u64) -> Arc<dyn Dataset> {
        Arc::new(Data::new(*size, seed))
    }

    fn schema(dialect: Dialect) -> Result<Catalogue> {
        Ok(workload_tpcc::schema(dialect)?)
    }

    fn inputs(size: &Cardinality, load_seed: u64, seed: u64, worker: u32) -> Inputs {
        Inputs::new(*size, Data::c_load_of(load_seed), seed, worker)
    }

    fn new_ledger(size: &Cardinality) -> Ledger {
        Ledger::new(*size)
    }

    fn with_target<V: Visitor<Tpcc>>(
        how: How,
        url: &DbUrl,
        clock: Monotonic,
        visitor: V,
    ) -> Result<V::Out> {
        let statements = catalogue(how.dialect)?;
        match (how.driver, how.style) {
            (Driver::Rusqlite, Style::Plain) => {
                let opener =
                    adapter_rusqlite::SqliteOpener::new(sqlite_only(url)?, statements, clock)?;
                visitor.visit(retrying(SqlTarget::new(opener, clock)))
            }
            (driver, style) => bail!("no {} through {}", style.name(), driver.name()),
        }
    }

    async fn conform<S: Session<Tpcc>>(
        session: &mut S,
        seed: u64,
        random_calls: u32,
    ) -> Result<(u32, u32), String> {
        match conform(session, &ConformancePlan::golden(seed, random_calls)).await {
            Ok(done) => Ok((done.golden, done.random)),
            Err(disagreement) => Err(disagreement.to_string()),
        }
    }

    fn audit_groups(dialect: Dialect, size: &Cardinality, mixed: bool) -> Result<Vec<AuditGroup>> {
        let context = AuditContext { size: *size, mixed_seeds: mixed };
        let group = |group: &audit::AuditGroup| AuditGroup {
            prepare: group.prepare.clone(),
            queries: group
                .audits
                .iter()
                .map(|audit| AuditQuery {
                    name: audit.name.clone(),
                    sql: audit.query.clone(),
                    rows_max: audit.rows_max,
                })
                .collect(),
            params: context.params(),
        };
        Ok(audit::audits(dialect)?.iter().map(group).collect())
    }

    fn judge(
        dialect: Dialect,
        size: &Cardinality,
        mixed: bool,
        when: AuditWhen,
        rows: Vec<AuditRows>,
    ) -> Result<Vec<Audit>> {
        let context = AuditContext { size: *size, mixed_seeds: mixed };
        let groups = audit::audits(dialect)?;
        let all = groups.iter().flat_map(|group| &group.audits);
        Ok(all.zip(rows).map(|(audit, rows)| judged(audit, rows, &context, when)).collect())
    }

    fn stored_query(dialect: Dialect) -> Result<String> {
        Ok(audit::district_tallies(dialect)?)
    }

    fn stored(rows: &[Vec<Value>]) -> Result<Vec<StoredTally>> {
        rows.iter()
            .map(|row| {
                let row: Option<Vec<i64>> = row.iter().map(Value::int).collect();
                row.and_then(|row| StoredTally::from_row(&row))
                    .context("a district's figures are not whole numbers")
            })
            .collect()
    }

    /// The constants of NURand of earlier runs may have been others.
    fn is_mixed(stored: &Vec<StoredTally>, size: &Cardinality) -> bool {
        stored.iter().any(|district| district.next_o_id != i64::from(size.orders) + 1)
    }

    fn claims(ledger: &Ledger, complete: bool) -> Claims {
        Claims::of(ledger, complete)
    }

    fn ledger_checks(
        before: &Vec<StoredTally>,
        after: &Vec<StoredTally>,
        claims: &Claims,
    ) -> Vec<LedgerCheck> {
        ledger_checks(before, after, claims)
    }

    fn input_checks(ledger: &Ledger, size: &Cardinality) -> Vec<InputCheck> {
        let findings =
            audit::input_audit(ledger.counts(), ledger.item_counts(), ledger.customer_counts(), *size);
        findings
            .into_iter()
            .filter_map(|input| {
                let figure = input.finding.figure?;
                Some(InputCheck {
                    name: input.name.into(),
                    clause: Some(input.clause.into()),
                    expected: figure.expected,
                    // Of few samples any share may come: no more than the whole.
                    tolerance: figure.tolerance.min(1.0),
                    measured: figure.measured,
                    samples: figure.samples,
                    check: passed(input.finding.verdict),
                })
            })
            .collect()
    }

    fn headline(rate: Interval, paced: bool) -> Headline {
        Headline::new_orders_per_min(rate, paced)
    }

    fn efficiency(rate: f64, scale: u64) -> Option<Efficiency> {
        Some(Efficiency::tpcc(rate, scale))
    }

    fn deferred(ledger: &Ledger, totals: &measure::Totals) -> Option<Deferred> {
        convert::deferred::<Tpcc>(kind::DELIVERY, totals, ledger.counts().deliveries_skipped)
    }
}

const fn passed(verdict: audit::Verdict) -> Check {
    match verdict {
        audit::Verdict::Passed => Check::Passed,
        audit::Verdict::Failed => Check::Failed,
        audit::Verdict::NotTold => Check::NotTold,
    }
}

fn judged(audit: &audit::Audit, rows: AuditRows, context: &AuditContext, when: AuditWhen) -> Audit {
    let (check, sentence, violations) = match rows.rows {
        Ok(found) => {
            let finding = audit.judge(&found, context);
            (passed(finding.verdict), finding.sentence, finding.details)
        }
        Err(why) => (Check::NotRun, format!("{}: {why}", audit.sentence), Vec::new()),
    };
    Audit {
        name: audit.name.clone(),
        family: match audit.family {
            audit::Family::Consistency => AuditFamily::Consistency,
            audit::Family::Shape => AuditFamily::Shape,
        },
        when,
        clause: Some(audit.clause.into()),
        check,
        sentence,
        violations,
        took_s: rows.took.as_secs_f64(),
    }
}

fn ledger_checks(before: &[StoredTally], after: &[StoredTally], claims: &Claims) -> Vec<LedgerCheck> {
    let Some(findings) = claims.audit(before, after) else {
        return vec![LedgerCheck {
            name: "districts".into(),
            unit: "districts".into(),
            low: before.len() as i64,
            high: before.len() as i64,
            stored: after.len() as i64,
            check: Check::Failed,
            sentence: "The store does not have the districts that it had before.".into(),
        }];
    };
    findings
        .into_iter()
        .map(|finding| {
            let check = Check::from_passed(finding.violations.is_empty());
            let sentence = match finding.violations.first() {
                Some(first) => {
                    let more = finding.violations.len() - 1;
                    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
                    format!("{first}{more}.")
                }
                None if claims.complete => {
                    "In each district the store grew by what was acknowledged, and by no more than that and what is in \
                     doubt."
                        .into()
                }
                None => "In each district the store grew by at least what was acknowledged.".into(),
            };
            LedgerCheck {
                name: finding.name.into(),
                unit: finding.unit.into(),
                low: finding.low,
                // Without the last claims there is no upper bound; what is stored is then its own.
                high: if claims.complete { finding.high } else { finding.stored.max(finding.high) },
                stored: finding.stored,
                check,
                sentence,
            }
        })
        .collect()
}
