//! What vouches for a number: conformance before the run, audits of the stored data before and after it.

use crate::database::{self, Database};
use crate::folder::Folder;
use crate::interrupt::Interrupt;
use crate::process::{ServerProcess, ServerSettings};
use crate::serve;
use crate::subjects::{Route, Subject};
use crate::trial::reach;
use crate::ui::{Ui, capital};
use admin::sqlite::{self, Witness};
use admin::{AuditGroup, AuditQuery, AuditRows};
use anyhow::{Context, Result};
use measure::Monotonic;
use model::{Clock, Nanos, Target};
use report::document::{self, AuditFamily, AuditWhen, Check, Conformance, InputCheck, LedgerCheck};
use sql::{Dialect, SqliteUrl};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use workload_tpcc::audit;
use workload_tpcc::conformance::{ConformancePlan, GOLDEN_LOAD_SEED, conform};
use workload_tpcc::{Cardinality, Claims, Ledger, StoredTally};

/// Random calls of the conformance before a run; the tests make many more.
const RANDOM_CALLS: u32 = 500;
/// Seed of those calls.
const RANDOM_SEED: u64 = 1;

/// A conformance that did not take place.
pub(crate) fn no_conformance(why: &str) -> Conformance {
    Conformance {
        check: Check::NotRun,
        vectors: 0,
        random_calls: 0,
        took_s: 0.0,
        sentence: format!("{}.", capital(why)),
        mismatches: Vec::new(),
    }
}

/// Holds the subject to the golden vectors and to the oracle, on a tiny database of its own with the same settings.
pub(crate) fn conformance(
    subject: &Subject,
    like: &SqliteUrl,
    server: &ServerSettings,
    scratch: &Path,
    folder: &Folder,
    ui: &Ui,
) -> Result<Conformance> {
    let url = SqliteUrl { path: scratch.join("conformance.db"), ..like.clone() };
    let quiet = Interrupt::default();
    database::load(&url, Cardinality::tiny(), GOLDEN_LOAD_SEED, 1, true, ui, &quiet)
        .context("could not load the data for conformance")?;
    let clock = Monotonic::start();
    let found = match subject.route {
        Route::Direct => hold(&serve::target(&url, clock)?)?,
        Route::Http => {
            let server = ServerProcess::start(&url, server, &folder.path().join("server.log"))?;
            let target = reach(server.url(), Some(u64::from(Cardinality::tiny().warehouses)))?;
            let found = hold(&target)?;
            server.stop()?;
            found
        }
    };
    sqlite::remove(&url).context("could not remove the data for conformance")?;
    Ok(Conformance { took_s: clock.now().as_secs_f64(), ..found })
}

fn hold<T: Target<workload_tpcc::Tpcc>>(target: &T) -> Result<Conformance> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let plan = ConformancePlan::golden(RANDOM_SEED, RANDOM_CALLS);
    let result = runtime.block_on(async {
        let mut session = target.open(0).await?;
        anyhow::Ok(conform(&mut session, &plan).await)
    })?;
    Ok(match result {
        Ok(done) => Conformance {
            check: Check::Passed,
            vectors: u64::from(done.golden),
            random_calls: u64::from(done.random),
            took_s: 0.0,
            sentence: format!(
                "{} recorded and {} random calls were answered as the standard asks.",
                done.golden, done.random
            ),
            mismatches: Vec::new(),
        },
        Err(disagreement) => Conformance {
            check: Check::Failed,
            vectors: 0,
            random_calls: 0,
            took_s: 0.0,
            sentence: "A call was answered wrongly.".into(),
            mismatches: vec![disagreement.to_string()],
        },
    })
}

/// How long all audits together may take before they are given up.
const AUDITS_MAX: Nanos = Nanos::from_secs(600);

/// What each district says of itself.
pub(crate) fn tallies(url: &SqliteUrl) -> Result<Vec<StoredTally>> {
    let query = audit::district_tallies(Dialect::Sqlite)?;
    let rows = Witness::open(url)?.rows(&query, &[])?;
    rows.iter()
        .map(|row| {
            let row: Option<Vec<i64>> = row.iter().map(sql::Value::int).collect();
            row.and_then(|row| StoredTally::from_row(&row))
                .context("a district's figures are not whole numbers")
        })
        .collect()
}

/// All audits of the stored data. Interrupting them leaves those that had not ended as not run.
pub(crate) fn audits(
    url: &SqliteUrl,
    context: &audit::Context,
    when: AuditWhen,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Vec<document::Audit>> {
    let groups = audit::audits(Dialect::Sqlite)?;
    let queries: Vec<AuditGroup> = groups.iter().map(|group| queries_of(group, context)).collect();
    // An interrupted run is audited all the same; only a second Ctrl-C ends it.
    let never = AtomicBool::new(false);
    let stop = if interrupt.requested() { &never } else { interrupt.flag() };
    let threads = if threads == 0 { cores() } else { threads };
    let audited = Witness::open(url)?.audit_all(&queries, threads, AUDITS_MAX, stop)?;
    let all = groups.iter().flat_map(|group| &group.audits);
    Ok(all.zip(audited.rows).map(|(audit, rows)| judged(audit, rows, context, when)).collect())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn queries_of(group: &audit::AuditGroup, context: &audit::Context) -> AuditGroup {
    AuditGroup {
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
    }
}

fn judged(
    audit: &audit::Audit,
    rows: AuditRows,
    context: &audit::Context,
    when: AuditWhen,
) -> document::Audit {
    let (check, sentence, violations) = match rows.rows {
        Ok(found) => {
            let finding = audit.judge(&found, context);
            (check_of(finding.verdict), finding.sentence, finding.details)
        }
        Err(why) => (Check::NotRun, format!("{}: {why}", audit.sentence), Vec::new()),
    };
    document::Audit {
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

const fn check_of(verdict: audit::Verdict) -> Check {
    match verdict {
        audit::Verdict::Passed => Check::Passed,
        audit::Verdict::Failed => Check::Failed,
        audit::Verdict::NotTold => Check::NotTold,
    }
}

/// Whether orders of earlier runs, whose constants of NURand may have been others, are among the data.
fn mixed(tallies: &[StoredTally], size: Cardinality) -> bool {
    tallies.iter().any(|district| district.next_o_id != i64::from(size.orders) + 1)
}

/// Audits before anything ran.
pub(crate) fn before(database: &Database, interrupt: &Interrupt) -> Result<Vec<document::Audit>> {
    let mixed_seeds = mixed(&tallies(&database.url)?, database.size);
    let context = audit::Context { size: database.size, mixed_seeds };
    let audits = audits(&database.url, &context, AuditWhen::BeforeRun, 0, interrupt)?;
    // The shape is that of a run's work, of which there is none yet.
    Ok(audits.into_iter().filter(|audit| audit.family == AuditFamily::Consistency).collect())
}

/// What was sent, against the standard's shares.
pub(crate) fn inputs(ledger: &Ledger, size: Cardinality) -> Vec<InputCheck> {
    let findings = audit::input_audit(ledger.counts(), ledger.item_counts(), ledger.customer_counts(), size);
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
                check: check_of(input.finding.verdict),
            })
        })
        .collect()
}

/// What is found after a trial.
pub(crate) struct After {
    pub(crate) audits: Vec<document::Audit>,
    pub(crate) ledger: Vec<LedgerCheck>,
}

/// Audits after a trial.
pub(crate) fn after(
    database: &Database,
    before: &[StoredTally],
    claims: &Claims,
    interrupt: &Interrupt,
) -> Result<After> {
    let context = audit::Context { size: database.size, mixed_seeds: mixed(before, database.size) };
    let audits = audits(&database.url, &context, AuditWhen::AfterRun, 0, interrupt)?;
    let stored = tallies(&database.url)?;
    Ok(After { audits, ledger: ledger(before, &stored, claims) })
}

/// The store against what was acknowledged.
pub(crate) fn ledger(before: &[StoredTally], after: &[StoredTally], claims: &Claims) -> Vec<LedgerCheck> {
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
