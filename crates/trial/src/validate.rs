//! Validation of a trial: conformance before the run, audits of the stored data before and after it.

use crate::reach::{of_server, reach, reach_started};
use crate::{Folder, RunReporter, ServerAdmin};
use admin::{AuditGroup, AuditQuery, AuditRows, SnapshotReader, store};
use anyhow::{Context, Result, bail};
use deploy::database::LoadOptions;
use deploy::{
    Databases, Deployment, Interrupt, RelayOptions, Route, ServerSettings, SinkAddress, Subject, at,
};
use measure::Monotonic;
use model::{Clock, Nanos, Product, Target, store_name};
use result::text::capital;
use result::{AuditFamily, AuditWhen, Check, Conformance, LedgerCheck};
use sql::audit::AuditOutcome;
use sql::{DbUrl, SqliteUrl, Storage};
use std::sync::atomic::AtomicBool;
use targets::{Driven, TrialTarget};
use workload::{Past, check_of, family_of, reasons_check};

/// Random calls of the conformance before a run.
const RANDOM_CALLS: u32 = 500;
/// The variable by which tests of other things make fewer, at least one. A result says how many there were.
const RANDOM_CALLS_VARIABLE: &str = "STACKMARK_CONFORMANCE_CALLS";
/// Seed of those calls.
const RANDOM_SEED: u64 = 1;

/// A conformance that did not take place.
pub fn no_conformance(why: &str) -> Conformance {
    Conformance {
        check: Check::NotRun,
        vectors: 0,
        random_calls: 0,
        duration_s: 0.0,
        sentence: format!("{}.", capital(why)),
        mismatches: Vec::new(),
    }
}

/// Holds the subject to the golden vectors and to the oracle, on a tiny database of its own with the same settings; only
/// what is added to the latency of storage is left out.
pub fn conformance<W: Driven>(
    subject: &Subject,
    server: &ServerSettings,
    deployment: &Deployment,
    folder: &Folder,
    reporter: &dyn RunReporter,
    interrupt: &Interrupt,
) -> Result<Conformance> {
    reporter.doing(&format!("checking the answers of {}", subject.path));
    let urls = match deployment.empty("conformance") {
        Ok(urls) => urls,
        // On the user's server we may not be allowed to make a database, and make calls on none but our own.
        Err(error) if deployment.is_on_users_server() => {
            return Ok(no_conformance(&format!("not run: could not create a scratch database ({error:#})")));
        }
        Err(error) => return Err(error),
    };
    let urls: Vec<DbUrl> = urls.into_iter().map(without_delays).collect();
    let quiet = Interrupt::default();
    let options = LoadOptions { seed: W::GOLDEN_LOAD_SEED, threads: 1, fresh: true, references: false };
    let (databases, _) =
        Databases::<W>::load(&urls, &W::tiny_over(urls.len() as u32), options, reporter, &quiet)
            .context("could not load the data for conformance")?;
    let clock = Monotonic::start();
    let size = &databases.size;
    let log = folder.path().join("relay.log");
    let relay =
        subject.relay(&urls, &RelayOptions::default(), &SinkAddress::Null, &[], &log, interrupt.flag())?;
    let found = match subject.route() {
        Route::Direct => hold::<W>(&targets::target_over(subject.how, &urls, size)?, size)?,
        Route::Http => {
            let log = folder.path().join("server.log");
            let options = server.http;
            let server = subject.serve(&urls, server, &SinkAddress::Null, &[], &log, interrupt.flag())?;
            let target = reach_started::<W>(&server, W::scale(size), options)?;
            let found = hold::<W>(&of_server(target), size)?;
            server.stop()?;
            found
        }
    };
    relay.map_or(Ok(()), deploy::Server::stop)?;
    deployment.drop_databases(&urls)?;
    Ok(Conformance { duration_s: clock.now().as_secs_f64(), ..found })
}

/// The same for a server that is running and loads its own data: afterwards that is worn out, and to be loaded again.
///
/// # Errors
/// The server does not load the data, or cannot be reached.
pub fn own_conformance<W: Driven>(
    own: &ServerAdmin,
    url: &str,
    shards: u32,
    reporter: &dyn RunReporter,
) -> Result<Conformance> {
    reporter.doing("checking the answers of the server");
    let clock = Monotonic::start();
    let size = W::tiny_over(shards);
    own.load::<W>(&size, W::GOLDEN_LOAD_SEED)?;
    let found = hold::<W>(&of_server(reach::<W>(url, None)?), &size)?;
    Ok(Conformance { duration_s: clock.now().as_secs_f64(), ..found })
}

/// Latency decides when an answer comes, never what it is, and hundreds of calls wait for it one after another: on a disk
/// that flushes in 50 ms, for most of a minute.
fn without_delays(url: DbUrl) -> DbUrl {
    match url {
        DbUrl::Sqlite(url) => {
            let storage = Storage { shared_memory: url.storage.shared_memory, ..Storage::AS_IT_IS };
            DbUrl::Sqlite(SqliteUrl { storage, ..url })
        }
        server @ DbUrl::Server(_) => server,
    }
}

/// Fails where a subject's sessions could not be opened on a database: a server that takes no writes, a schema that its
/// statements do not fit, an engine that lacks what its style needs.
pub fn reachable<W: Driven>(subject: &Subject, databases: &Databases<W>) -> Result<()> {
    let lacks = |product: Option<Product>| {
        product.and_then(|product| Some((product, sql::product::lacks(product, subject.how.style.name())?)))
    };
    let target = targets::target_over::<W>(subject.how, &databases.urls(), &databases.size);
    let lacking = match &target {
        Ok(target) => lacks(Product::of(&target.stack().engine_version)),
        // Then what it says of itself explains more than what it refuses.
        Err(_) => databases.urls().into_iter().find_map(|url| lacks(store(url).product().ok()?)),
    };
    match lacking {
        Some((product, why)) => bail!(
            "{} cannot run on {}: {why}\nhint: `stackmark list` names other subjects",
            subject.path,
            product.name()
        ),
        None => Ok(target.map(drop)?),
    }
}

/// The version of the engine behind a database, as a subject's sessions would read it.
pub(crate) fn engine_version<W: Driven>(subject: &Subject, databases: &Databases<W>) -> Result<String> {
    let target = targets::target_over::<W>(subject.how, &databases.urls(), &databases.size)?;
    Ok(target.stack().engine_version)
}

/// Holds a target to the oracle.
fn hold<W: Driven>(target: &TrialTarget<W>, size: &W::Extent) -> Result<Conformance> {
    let fewer = std::env::var(RANDOM_CALLS_VARIABLE).ok().and_then(|calls| calls.parse().ok());
    let result = W::conform(target, size, RANDOM_SEED, fewer.unwrap_or(RANDOM_CALLS).clamp(1, RANDOM_CALLS))?;
    Ok(match result {
        Ok(contract::conformance::Conformance { golden, random, .. }) => Conformance {
            check: Check::Passed,
            vectors: u64::from(golden),
            random_calls: u64::from(random),
            duration_s: 0.0,
            sentence: format!("{golden} recorded and {random} random calls: all answered correctly."),
            mismatches: Vec::new(),
        },
        Err(disagreement) => Conformance {
            check: Check::Failed,
            vectors: 0,
            random_calls: 0,
            duration_s: 0.0,
            sentence: "A call had a wrong answer.".into(),
            mismatches: vec![disagreement.to_string()],
        },
    })
}

/// The audit of what the nodes of a cluster keep.
const NODES_AGREE: &str = "nodes-agree";
/// How long all audits together may take before they are given up.
const AUDITS_MAX: Nanos = Nanos::from_secs(600);

/// What stores report, together.
pub fn evidence<W: Driven>(urls: &[DbUrl]) -> Result<W::Evidence> {
    let of_one = |url: &DbUrl| {
        let rows = store(url).rows(&W::evidence_query(url.dialect())?, &[])?;
        W::evidence(&rows)
    };
    let each = urls.iter().enumerate();
    let each = each.map(|(shard, url)| of_one(url).map_err(|error| at(error, shard, urls.len())));
    Ok(W::join(each.collect::<Result<_>>()?))
}

/// What one store reports at the moment that is held.
pub(crate) fn evidence_of<W: Driven>(reading: &mut SnapshotReader) -> Result<W::Evidence> {
    let rows = reading.rows(&W::evidence_query(reading.url().dialect())?)?;
    W::evidence(&rows)
}

/// What audits are made of besides the data.
#[derive(Debug, Clone, Copy)]
pub struct Asking {
    /// What is known of what happened to it before.
    pub past: Past,
    /// Before or after a run.
    pub when: AuditWhen,
    /// Connections to each store; 0 for one a core.
    pub threads: usize,
}

/// All audits of the stored data, in each store and of its part. Interrupting them leaves those that had not ended as not
/// run.
///
/// # Errors
/// A store cannot be asked: which, where there are several.
pub fn audits<W: Driven>(
    stores: &[(&DbUrl, &W::Extent)],
    asking: Asking,
    before: Option<&W::Evidence>,
    interrupt: &Interrupt,
) -> Result<Vec<result::Audit>> {
    let mut all = Vec::new();
    for (shard, (url, size)) in stores.iter().enumerate() {
        let audits = audits_of::<W>(url, size, asking, before, interrupt);
        let audits = audits.map_err(|error| at(error, shard, stores.len()))?;
        let store = (stores.len() > 1).then(|| store_name(shard));
        all.extend(audits.into_iter().map(|audit| result::Audit { store: store.clone(), ..audit }));
    }
    Ok(all)
}

fn audits_of<W: Driven>(
    url: &DbUrl,
    size: &W::Extent,
    asking: Asking,
    before: Option<&W::Evidence>,
    interrupt: &Interrupt,
) -> Result<Vec<result::Audit>> {
    let Asking { past, when, threads } = asking;
    let context = W::context(size, past, before);
    let audits = W::audits(url.dialect())?;
    let groups: Vec<AuditGroup> = audits.iter().map(|group| to_ask(group, W::params(&context))).collect();
    // An interrupted run is audited all the same; only a second Ctrl-C ends it.
    let never = AtomicBool::new(false);
    let stop = if interrupt.requested() { &never } else { interrupt.flag() };
    let threads = if threads == 0 { cores() } else { threads };
    let audited = store(url).audit_all(&groups, threads, AUDITS_MAX, stop)?;
    let chance_tells = past.fresh || !W::CHANCE_NEEDS_FRESH;
    let all = audits.iter().flat_map(|group| &group.audits).zip(audited.rows);
    let mut all: Vec<_> =
        all.map(|(audit, rows)| judged(audit, rows, &context, when, chance_tells)).collect();
    all.extend(nodes_agree(url, when));
    Ok(all)
}

/// Whether all nodes of a cluster have the same rows; nothing where there are not several that keep all.
fn nodes_agree(url: &DbUrl, when: AuditWhen) -> Option<result::Audit> {
    let clock = Monotonic::start();
    let (check, sentence, violations) = match store(url).differing() {
        Ok(None) => return None,
        Ok(Some(found)) if found.is_empty() => (Check::Passed, "All nodes have the same rows.".into(), found),
        Ok(Some(found)) => (Check::Failed, "Nodes of the cluster have different rows.".into(), found),
        Err(error) => {
            (Check::NotRun, format!("The rows of the nodes were not compared: {error}."), Vec::new())
        }
    };
    Some(result::Audit {
        name: NODES_AGREE.into(),
        store: None,
        family: AuditFamily::Consistency,
        when,
        clause: None,
        check,
        sentence,
        violations,
        duration_s: clock.now().as_secs_f64(),
    })
}

fn to_ask<C>(group: &sql::audit::AuditGroup<C>, params: Vec<i64>) -> AuditGroup {
    let query = |audit: &sql::audit::Audit<C>| AuditQuery {
        name: audit.name.clone(),
        sql: audit.query.clone(),
        rows_max: audit.rows_max,
    };
    AuditGroup { prepare: group.prepare.clone(), queries: group.audits.iter().map(query).collect(), params }
}

fn judged<C>(
    audit: &sql::audit::Audit<C>,
    rows: AuditRows,
    context: &C,
    when: AuditWhen,
    chance_tells: bool,
) -> result::Audit {
    let (check, sentence, violations) = match rows.rows {
        Ok(found) => {
            let finding = audit.judge(&found, context);
            match finding.verdict {
                AuditOutcome::Failed if finding.figure.is_some() && !chance_tells => {
                    let sentence = format!("earlier runs have used this data too; {}", finding.sentence);
                    (Check::Inconclusive, sentence, finding.details)
                }
                verdict => (check_of(verdict), finding.sentence, finding.details),
            }
        }
        Err(why) => (Check::NotRun, format!("{}: {why}", audit.sentence), Vec::new()),
    };
    result::Audit {
        name: audit.name.clone(),
        store: None,
        family: family_of(audit.family),
        when,
        clause: Some(audit.clause.into()),
        check,
        sentence,
        violations,
        duration_s: rows.took.as_secs_f64(),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn past_of<W: Driven>(databases: &Databases<W>, before: &W::Evidence, run: Option<(i64, i64)>) -> Past {
    Past { ours: !databases.is_foreign(), fresh: W::is_fresh(before, &databases.size), run }
}

/// Audits before anything ran.
pub fn before<W: Driven>(
    databases: &Databases<W>,
    reporter: &dyn RunReporter,
    interrupt: &Interrupt,
) -> Result<Vec<result::Audit>> {
    reporter.doing("auditing the data before the first call");
    let past = past_of(databases, &evidence::<W>(&databases.urls())?, None);
    let asking = Asking { past, when: AuditWhen::BeforeRun, threads: 0 };
    let audits = audits::<W>(&databases.parts(), asking, None, interrupt)?;
    // The shape is that of a run's work, of which there is none yet; but what is wrong with it already is kept, so that it is
    // not put down to the run.
    let kept = |audit: &result::Audit| {
        audit.family == AuditFamily::Consistency
            || W::OF_LOAD.contains(&audit.name.as_str())
            || audit.check == Check::Failed && !audit.violations.is_empty()
    };
    Ok(audits.into_iter().filter(kept).collect())
}

/// The audit that keeps a run from taking place, if one does. Of data that another tool has loaded only what calls need.
pub fn forbids<W: Driven>(audits: &[result::Audit], foreign: bool) -> Option<&result::Audit> {
    audits.iter().filter(|audit| audit.check == Check::Failed).find(|audit| {
        W::OF_LOAD.contains(&audit.name.as_str()) || !foreign && audit.family == AuditFamily::Consistency
    })
}

/// Says of what was violated before the run already that it was, and whether there is more of it now.
fn told_apart(audits: &mut [result::Audit], before: &[result::Audit]) {
    for audit in audits.iter_mut().filter(|audit| audit.check == Check::Failed) {
        let was = before
            .iter()
            .find(|was| (&was.name, &was.store) == (&audit.name, &audit.store) && was.check == Check::Failed);
        let Some(was) = was else { continue };
        let now = if was.sentence == audit.sentence && was.violations == audit.violations {
            "and as much"
        } else {
            "and otherwise, perhaps by the run,"
        };
        audit.sentence = format!("violated before the run already, {now} after it: {}", audit.sentence);
    }
}

/// What is found after a trial.
pub struct After {
    /// In each store, of its part.
    pub audits: Vec<result::Audit>,
    /// What was acknowledged against what is stored, over all stores.
    pub ledger: Vec<LedgerCheck>,
}

/// Audits after a trial, or whatever else has made calls: `before` is what was stored then, and `audited_before` what was found.
pub fn after<W: Driven>(
    databases: &Databases<W>,
    before: &W::Evidence,
    audited_before: &[result::Audit],
    begin: u64,
    claims: &W::Claims,
    interrupt: &Interrupt,
) -> Result<After> {
    let run = [begin, measure::unix_seconds()].map(|at| i64::try_from(at).unwrap_or(i64::MAX));
    let past = past_of(databases, before, Some((run[0], run[1])));
    let asking = Asking { past, when: AuditWhen::AfterRun, threads: 0 };
    let mut audits = audits::<W>(&databases.parts(), asking, Some(before), interrupt)?;
    told_apart(&mut audits, audited_before);
    Ok(After { audits, ledger: ledger::<W>(&databases.urls(), before, claims)? })
}

/// What was acknowledged and declined against what is stored.
///
/// # Errors
/// A store cannot be asked.
pub fn ledger<W: Driven>(
    urls: &[DbUrl],
    before: &W::Evidence,
    claims: &W::Claims,
) -> Result<Vec<LedgerCheck>> {
    let mut checks = W::ledger_checks(before, &evidence::<W>(urls)?, claims);
    let Some(first) = urls.first() else { return Ok(checks) };
    if let Some(reasons) = W::reasons(claims, first.dialect())? {
        let rows = store(first).rows_each(&reasons.query, &reasons.params)?;
        checks.push(reasons_check(&reasons, &rows));
    }
    Ok(checks)
}
