//! `stackmark audit`: the stored data of an existing database, also of another tool's.

use crate::args;
use crate::args::Stores;
use crate::outcome::CommandOutcome;
use crate::ui::Ui;
use admin::{Found, store};
use anyhow::{Context, Result, bail};
use deploy::Interrupt;
use deploy::at;
use deploy::database::{LookAt, inspect, load_command};
use result::{Audit, AuditWhen, Check, LedgerCheck};
use serde::Serialize;
use sql::DbUrl;
use std::fmt::Write;
use targets::Driven;
use trial::{Asking, read_claims};
use workload::{ForeignDatabase, Past, amount};

#[derive(Serialize)]
struct Audited {
    database: String,
    loaded_by: String,
    scale: u32,
    scale_unit: &'static str,
    /// What is different in a database of another tool.
    notes: Vec<String>,
    audits: Vec<Audit>,
    ledger: Vec<LedgerCheck>,
}

/// Of a run that ended long ago no one can say whether others have used the data since.
fn unless_later(check: &mut LedgerCheck) {
    if check.check == Check::Failed && check.name.ends_with("of other runs") {
        check.check = Check::Inconclusive;
        check.sentence = format!("Another run may have used the data since. {}", check.sentence);
    }
}

pub(crate) fn audit<W: Driven>(args: &args::Audit, ui: &Ui) -> Result<CommandOutcome> {
    let urls = Stores::of(&args.db, None)?.urls(None)?;
    let claims = args.run.as_deref().map(read_claims::<W::Evidence, W::Claims>).transpose()?;
    let databases = urls.iter().enumerate();
    let databases =
        databases.map(|(store, url)| look::<W>(url, &urls).map_err(|error| at(error, store, urls.len())));
    let databases: Vec<ForeignDatabase<W::Extent>> = databases.collect::<Result<_>>()?;
    let sizes: Vec<W::Extent> = databases.iter().map(|database| database.size.clone()).collect();
    let size = workload::whole::<W>(&sizes)?;
    let interrupt = Interrupt::listen()?;
    // No one can say how many runs, with which seeds, these databases have seen.
    let past = Past { ours: databases.iter().all(|database| database.ours), fresh: false, run: None };
    let asking = Asking { past, when: AuditWhen::AfterRun, threads: args.threads };
    let before = claims.as_ref().map(|run| &run.before);
    let parts: Vec<_> = urls.iter().zip(&sizes).collect();
    let audits = trial::audits::<W>(&parts, asking, before, &interrupt)?;
    if interrupt.requested() {
        bail!("interrupted before all audits had run");
    }
    let ledger = match claims {
        Some(run) => {
            let checks = trial::ledger::<W>(&urls, &run.before, &run.claims);
            let mut checks = checks.context("could not read what is stored")?;
            checks.iter_mut().for_each(unless_later);
            checks
        }
        None if urls.len() > 1 => {
            let stored = trial::evidence::<W>(&urls).context("could not read what is stored")?;
            W::whole_checks(&size, &stored)
        }
        None => Vec::new(),
    };
    let places: Vec<String> = urls.iter().map(DbUrl::place).collect();
    let Some(first) = databases.into_iter().next() else { bail!("no database is named\nhint: --db URL") };
    let audited = Audited {
        database: places.join(" and "),
        loaded_by: first.name,
        scale: W::scale(&size),
        scale_unit: W::SCALE_UNIT,
        notes: first.notes,
        audits,
        ledger,
    };
    if ui.json {
        ui.data(&(serde_json::to_string_pretty(&audited)? + "\n"));
    } else {
        ui.data(&text(&amount::<W>(audited.scale.into()), &audited)?);
    }
    let checks =
        audited.audits.iter().map(|audit| audit.check).chain(audited.ledger.iter().map(|found| found.check));
    // What was not checked is not passed.
    let bad = checks.into_iter().any(|check| matches!(check, Check::Failed | Check::NotRun));
    Ok(if bad { CommandOutcome::Bad } else { CommandOutcome::Good })
}

/// How much one of the databases holds, and who loaded it.
fn look<W: Driven>(url: &DbUrl, all: &[DbUrl]) -> Result<ForeignDatabase<W::Extent>> {
    let at = url.place();
    match inspect(url)? {
        Found::Absent => bail!(store(url).nothing()),
        Found::Incomplete { running: true, .. } => bail!("{at} is being loaded by another process"),
        Found::Incomplete { what, .. } => {
            bail!("{what}: incomplete load\nhint: reload with `{}`", load_command::<W>(all, 1, true))
        }
        Found::Complete(contents) if contents.record.workload != W::NAME => bail!(
            "{at} was loaded for `{0}`, not for `{1}`\nhint: `stackmark audit {0}` checks it",
            contents.record.workload,
            W::NAME
        ),
        Found::Complete(contents) => {
            let size = serde_json::from_str(&contents.record.size)
                .with_context(|| format!("{at}: the record of the load is of another version"))?;
            let name = format!("stackmark {}", contents.record.tool_version);
            Ok(ForeignDatabase { name, ours: true, size, notes: Vec::new() })
        }
        Found::Foreign { what, tables } => {
            W::auditable(&LookAt(url), &tables).with_context(|| format!("{at} is {what}"))
        }
    }
}

fn text(size: &str, audited: &Audited) -> Result<String> {
    let Audited { database, loaded_by, notes, audits, ledger, .. } = audited;
    let mut text = format!("{database}: {size}, loaded by {loaded_by}\n");
    let unread: Vec<_> = audits.iter().filter(|audit| audit.check == Check::NotRun).collect();
    if let Some(first) = unread.first() {
        // Above everything else: what follows does not say that the data is right.
        writeln!(
            text,
            "  {} of {} audits NOT RUN, the first: {}",
            unread.len(),
            audits.len(),
            first.sentence
        )?;
    }
    for note in notes {
        writeln!(text, "  note     {note}")?;
    }
    let width = audits.iter().map(|audit| audit.full_name().len()).max().unwrap_or(0);
    for audit in audits {
        let (clause, name) = (audit.clause.as_deref().unwrap_or(""), audit.full_name());
        writeln!(text, "  {:8} {name:width$} {clause:9} {}", mark(audit.check), audit.sentence)?;
        for violation in &audit.violations {
            writeln!(text, "           {violation}")?;
        }
    }
    for found in ledger {
        writeln!(text, "  {:8} {:width$} {:9} {}", mark(found.check), found.name, "ledger", found.sentence)?;
    }
    let count = |wanted| {
        let checks = audits.iter().map(|audit| audit.check).chain(ledger.iter().map(|found| found.check));
        checks.filter(|check| *check == wanted).count()
    };
    let (passed, failed) = (count(Check::Passed), count(Check::Failed));
    write!(text, "{passed} passed, {failed} failed")?;
    for (open, what) in [(Check::Inconclusive, "inconclusive with this data"), (Check::NotRun, "not run")] {
        match count(open) {
            0 => {}
            open => write!(text, ", {open} {what}")?,
        }
    }
    text.push('\n');
    Ok(text)
}

fn mark(check: Check) -> &'static str {
    match check {
        Check::Passed => "passed",
        Check::Failed => "FAILED",
        Check::NotRun => "NOT RUN",
        Check::Inconclusive => "open",
    }
}
