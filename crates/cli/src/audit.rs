//! `stackmark audit`: the stored data of an existing database, whoever loaded it.

use crate::database::{load_command, parse_url};
use crate::folder::read_claims;
use crate::interrupt::Interrupt;
use crate::ui::Ui;
use crate::vouch;
use crate::{Answer, args, subjects};
use admin::Found;
use admin::sqlite::{self, Witness};
use anyhow::{Context, Result, bail};
use report::document::{Audit, AuditWhen, Check, LedgerCheck};
use serde::Serialize;
use sql::SqliteUrl;
use std::fmt::Write;
use workload_tpcc::Cardinality;
use workload_tpcc::audit as tpcc;

/// Tables without which nothing can be audited.
const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock"];

#[derive(Serialize)]
struct Audited {
    database: String,
    loaded_by: String,
    warehouses: u32,
    audits: Vec<Audit>,
    ledger: Vec<LedgerCheck>,
}

pub(crate) fn audit(args: &args::Audit, ui: &Ui) -> Result<Answer> {
    subjects::workload(&args.workload)?;
    let url = parse_url(&args.db)?;
    let claims = args.run.as_deref().map(read_claims).transpose()?;
    let (size, loaded_by) = look(&url)?;
    let interrupt = Interrupt::listen()?;
    // Nobody can say how many runs, with which seeds, this database has seen.
    let context = tpcc::Context { size, mixed_seeds: true };
    let audits = vouch::audits(&url, &context, AuditWhen::AfterRun, args.threads, &interrupt)?;
    if interrupt.requested() {
        bail!("interrupted before all audits had run");
    }
    let ledger = match claims {
        Some(run) => {
            let stored = vouch::tallies(&url).context("could not read the districts")?;
            vouch::ledger(&run.before, &stored, &run.claims)
        }
        None => Vec::new(),
    };
    let audited = Audited {
        database: url.path.display().to_string(),
        loaded_by,
        warehouses: size.warehouses,
        audits,
        ledger,
    };
    if ui.json {
        ui.data(&(serde_json::to_string_pretty(&audited)? + "\n"));
    } else {
        ui.data(&text(&audited)?);
    }
    let checks =
        audited.audits.iter().map(|audit| audit.check).chain(audited.ledger.iter().map(|found| found.check));
    let bad = checks.into_iter().any(|check| check == Check::Failed);
    Ok(if bad { Answer::Bad } else { Answer::Good })
}

/// How much the database holds, and who loaded it.
fn look(url: &SqliteUrl) -> Result<(Cardinality, String)> {
    let file = url.path.display();
    match sqlite::inspect(url)? {
        Found::Absent => bail!("there is no database at {file}"),
        Found::Incomplete { running: true, .. } => bail!("{file} is being loaded by another process"),
        Found::Incomplete { what, .. } => bail!(
            "{} holds a load that was interrupted, and is no database\nhint: `{}` starts it anew",
            what,
            load_command(url, 1, true)
        ),
        Found::Complete(contents) => {
            let size = serde_json::from_str(&contents.record.size)
                .with_context(|| format!("{file}: the record of the load is of another version"))?;
            Ok((size, format!("stackmark {}", contents.record.kit_version)))
        }
        Found::Foreign { what, tables } => {
            let missing: Vec<_> =
                TABLES.into_iter().filter(|wanted| tables.iter().all(|table| table != wanted)).collect();
            if tables.is_empty() {
                bail!("{file} is {what}; TPC-C needs the tables {}", TABLES.join(", "));
            }
            if !missing.is_empty() {
                bail!("{file} is {what}; TPC-C needs the tables {} too", missing.join(", "));
            }
            let count = Witness::open(url)?.rows("select count(*) from warehouse", &[])?;
            let warehouses = count.first().and_then(|row| row.first()?.int()).unwrap_or(0);
            let warehouses = u32::try_from(warehouses).unwrap_or(0);
            if warehouses == 0 {
                bail!("{file} has no warehouse, so there is nothing to audit");
            }
            Ok((Cardinality::standard(warehouses), "another kit".into()))
        }
    }
}

fn text(audited: &Audited) -> Result<String> {
    let Audited { database, loaded_by, warehouses, audits, ledger } = audited;
    let mut text = format!("{database}: {warehouses} warehouses, loaded by {loaded_by}\n");
    let width = audits.iter().map(|audit| audit.name.len()).max().unwrap_or(0);
    for audit in audits {
        let clause = audit.clause.as_deref().unwrap_or("");
        writeln!(text, "  {:8} {:width$} {clause:9} {}", mark(audit.check), audit.name, audit.sentence)?;
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
    for (open, what) in [(Check::NotTold, "cannot be told from this data"), (Check::NotRun, "not run")] {
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
        Check::NotTold => "open",
    }
}
