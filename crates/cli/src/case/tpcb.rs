//! pgbench's transaction.

use super::{Case, Found, Kit, Past, Visitor, ledger_check, places_differ, retrying, wait_for};
use crate::engine::{self, server_only, sqlite_only};
use crate::subjects::{Driver, How, Style};
use adapter_mysql_async::MySqlOpener;
use adapter_rusqlite::{GroupedOpener, SqliteOpener};
use adapter_sqlx::{SqlxMySql, SqlxPostgres, SqlxSqlite};
use adapter_tokio_postgres::PostgresOpener;
use admin::{AuditGroup, AuditQuery, AuditRows};
use anyhow::{Context, Result, bail};
use measure::Monotonic;
use model::Session;
use model::rows::Dataset;
use report::document::{
    Audit, AuditFamily, AuditWhen, Check, Deferred, Efficiency, Headline, InputCheck, Interval, LedgerCheck,
};
use sql::{Catalogue, DbUrl, Dialect, Value};
use std::sync::Arc;
use workload_tpcb::audit::{self, Context as AuditContext};
use workload_tpcb::conformance::{ConformancePlan, conform};
use workload_tpcb::{
    BRANCHES_MAX, Cardinality, Claims, Data, Inputs, Ledger, SqlTarget, StoredTally, Tpcb, catalogue,
    hottest_rows,
};

/// Tables without which nothing can be audited.
const TABLES: [&str; 4] = ["pgbench_accounts", "pgbench_tellers", "pgbench_branches", "pgbench_history"];

impl Case for Tpcb {
    const SCALE_UNIT: &'static str = "branches";
    const SCALE_MAX: u64 = BRANCHES_MAX as u64;
    const RATE_UNIT: &'static str = "transactions/s";
    const RATE_SECONDS: f64 = 1.0;
    /// Its rows do not depend on a seed.
    const GOLDEN_LOAD_SEED: u64 = 1;
    type Stored = Vec<StoredTally>;
    type Claims = Claims;

    fn standard(scale: u32) -> Cardinality {
        Cardinality::standard(scale)
    }

    fn tiny() -> Cardinality {
        Cardinality::tiny()
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

    fn auditable(url: &DbUrl, tables: &[String]) -> Result<Kit<Cardinality>> {
        let missing: Vec<_> =
            TABLES.into_iter().filter(|wanted| tables.iter().all(|table| table != wanted)).collect();
        if !missing.is_empty() {
            bail!("tpcb needs pgbench's tables; {} missing", missing.join(", "));
        }
        let found = engine::rows(url, &audit::scale(url.dialect())?)?;
        let branches = found.first().and_then(|row| row.first()?.int()).unwrap_or(0);
        match u32::try_from(branches) {
            Ok(branches) if branches > 0 => Ok(Kit {
                name: "pgbench".into(),
                ours: false,
                size: Cardinality::standard(branches),
                notes: vec![
                    "pgbench empties its history before a run unless it is told not to: what it held then is not audited."
                        .into(),
                ],
            }),
            _ => bail!("it has no branch, so there is nothing to run on\nhint: `pgbench -i -s 10` makes ten"),
        }
    }

    /// A database of `pgbench -i` is what this workload runs on.
    fn recognise(url: &DbUrl) -> Result<Kit<Cardinality>> {
        match engine::inspect(url)? {
            admin::Found::Foreign { tables, .. } => Tpcb::auditable(url, &tables),
            _ => bail!("it changed while we looked at it"),
        }
    }

    fn dataset(size: &Cardinality, _seed: u64) -> Arc<dyn Dataset> {
        Arc::new(Data::new(*size))
    }

    fn schema(dialect: Dialect) -> Result<Catalogue> {
        Ok(workload_tpcb::schema(dialect)?)
    }

    fn inputs(size: &Cardinality, _load_seed: u64, seed: u64, worker: u32) -> Inputs {
        Inputs::new(*size, seed, worker)
    }

    fn new_ledger(size: &Cardinality) -> Ledger {
        Ledger::new(*size)
    }

    fn with_target<V: Visitor<Tpcb>>(how: How, url: &DbUrl, clock: Monotonic, visitor: V) -> Result<V::Out> {
        let statements = catalogue(how.dialect)?;
        match (how.driver, how.style) {
            (Driver::Rusqlite, Style::Plain) => {
                let opener = SqliteOpener::new(sqlite_only(url)?, statements, clock)?;
                visitor.visit(retrying(SqlTarget::new(opener, clock)))
            }
            (Driver::Rusqlite, Style::Grouped) => {
                let opener = GroupedOpener::new(sqlite_only(url)?, statements, clock)?;
                visitor.visit(retrying(SqlTarget::new(opener, clock)))
            }
            (Driver::TokioPostgres, Style::Plain) => {
                let reaching = PostgresOpener::reach(server_only(url)?, statements);
                visitor.visit(retrying(SqlTarget::new(wait_for(reaching)??, clock)))
            }
            (Driver::MySqlAsync, Style::Plain) => {
                let reaching = MySqlOpener::reach(server_only(url)?, statements);
                visitor.visit(retrying(SqlTarget::new(wait_for(reaching)??, clock)))
            }
            (Driver::Sqlx, Style::Plain) => match url {
                DbUrl::Sqlite(url) => {
                    let reaching = SqlxSqlite::reach(url, statements);
                    visitor.visit(retrying(SqlTarget::new(wait_for(reaching)??, clock)))
                }
                DbUrl::Server(url) if url.dialect == Dialect::MySql => {
                    let reaching = SqlxMySql::reach(url, statements);
                    visitor.visit(retrying(SqlTarget::new(wait_for(reaching)??, clock)))
                }
                DbUrl::Server(url) => {
                    let reaching = SqlxPostgres::reach(url, statements);
                    visitor.visit(retrying(SqlTarget::new(wait_for(reaching)??, clock)))
                }
            },
            (driver, style) => bail!("no {} through {}", style.name(), driver.name()),
        }
    }

    async fn conform<S: Session<Tpcb>>(
        session: &mut S,
        seed: u64,
        random_calls: u32,
    ) -> Result<(u32, u32), String> {
        match conform(session, &ConformancePlan::golden(seed, random_calls)).await {
            Ok(done) => Ok((done.golden, done.random)),
            Err(disagreement) => Err(disagreement.to_string()),
        }
    }

    fn audit_groups(dialect: Dialect, size: &Cardinality, past: Past) -> Result<Vec<AuditGroup>> {
        let context = AuditContext { size: *size, history_whole: past.ours };
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
        past: Past,
        when: AuditWhen,
        rows: Vec<AuditRows>,
    ) -> Result<Vec<Audit>> {
        let context = AuditContext { size: *size, history_whole: past.ours };
        let groups = audit::audits(dialect)?;
        let all = groups.iter().flat_map(|group| &group.audits);
        Ok(all.zip(rows).map(|(audit, rows)| judged(audit, rows, &context, when, past.fresh)).collect())
    }

    fn stored_query(dialect: Dialect) -> Result<String> {
        Ok(audit::tallies(dialect)?)
    }

    fn stored(rows: &[Vec<Value>]) -> Result<Vec<StoredTally>> {
        rows.iter()
            .map(|row| {
                let row: Option<Vec<i64>> = row.iter().map(Value::int).collect();
                row.and_then(|row| StoredTally::from_row(&row)).context("a balance is not a whole number")
            })
            .collect()
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
        let Some(findings) = claims.audit(before, after) else {
            return vec![places_differ("account", before.len(), after.len())];
        };
        findings
            .into_iter()
            .map(|found| {
                let workload_tpcb::LedgerFinding { name, unit, low, high, stored, violations } = found;
                let found = Found { name, unit, low, high, stored, violations };
                ledger_check(found, "place", claims.complete)
            })
            .collect()
    }

    fn input_checks(ledger: &Ledger, _size: &Cardinality) -> Vec<InputCheck> {
        audit::input_audit(ledger)
            .into_iter()
            .filter_map(|input| {
                let figure = input.finding.figure?;
                Some(InputCheck {
                    name: input.name.into(),
                    clause: Some(input.clause.into()),
                    expected: figure.expected,
                    tolerance: figure.tolerance,
                    measured: figure.measured,
                    samples: figure.samples,
                    check: passed(input.finding.verdict),
                })
            })
            .collect()
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

const fn passed(verdict: audit::Verdict) -> Check {
    match verdict {
        audit::Verdict::Passed => Check::Passed,
        audit::Verdict::Failed => Check::Failed,
        audit::Verdict::NotTold => Check::NotTold,
    }
}

fn judged(
    audit: &audit::Audit,
    rows: AuditRows,
    context: &AuditContext,
    when: AuditWhen,
    fresh: bool,
) -> Audit {
    let (check, sentence, violations) = match rows.rows {
        Ok(found) => {
            let finding = audit.judge(&found, context);
            match passed(finding.verdict) {
                // Runs with the same seed make the same calls, and then chance is not what spreads them.
                Check::Failed if finding.figure.is_some() && !fresh => {
                    let sentence = format!("earlier runs have used this data too; {}", finding.sentence);
                    (Check::NotTold, sentence, finding.details)
                }
                check => (check, finding.sentence, finding.details),
            }
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
