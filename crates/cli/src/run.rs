//! `stackmark run`: one audited trial.

use crate::args::{self, ArrivalsArg, DeliveryArg, PlanArgs, ServerArgs, Think};
use crate::database::{self, Database, LOAD_SEED, Private, parse_url};
use crate::folder::{self, Folder};
use crate::interrupt::Interrupt;
use crate::process::ServerSettings;
use crate::subjects::{self, Route, Subject};
use crate::trial::{Before, Job, is_bad, reach};
use crate::ui::Ui;
use crate::{Answer, serve, vouch};
use anyhow::{Result, bail};
use drive::{Arrivals, RatePerSecond};
use model::Nanos;
use report::document::{Document, RunKind, State};
use sql::SqliteUrl;
use std::path::Path;
use workload_tpcc::{Cardinality, DISTRICTS};

/// Sessions behind a server unless told otherwise: one a client, up to this many.
const POOL_MAX: u32 = 64;

pub(crate) fn run(args: &args::Run, ui: &Ui) -> Result<Answer> {
    let subject = subject_of(args)?;
    let interrupt = Interrupt::listen()?;
    let asked = args.data.db.as_deref().map(parse_url).transpose()?;
    let scale = args.data.scale.map(|scale| database::warehouses(scale).map(u64::from)).transpose()?;
    // Everything that can be wrong is found before the folder is made and anything is loaded.
    let existing = asked.map(|url| Database::existing(url, scale)).transpose()?;
    let remote = args.url.as_deref().map(|url| reach(url, scale)).transpose()?;
    let warehouses = match (&existing, &remote) {
        (Some(database), Some(server)) if server.about().scale != u64::from(database.size.warehouses) => {
            bail!(
                "the server has {} warehouses and --db has {}: they are not the same database",
                server.about().scale,
                database.size.warehouses
            )
        }
        (Some(database), _) => database.size.warehouses,
        (None, Some(server)) => database::warehouses(server.about().scale)?,
        (None, None) => scale.map_or(1, |scale| scale as u32),
    };
    drop(remote);
    let plan = plan(&args.plan, warehouses)?;

    let (folder, started, id) = Folder::create(&args.out.out, subject.path)?;
    let private = Private::create(folder.path())?;
    let audited = existing.is_some() || args.url.is_none();
    let database = match existing {
        Some(database) => database,
        None if audited => private_database(private.path(), warehouses, ui, &interrupt)?,
        None => unseen(warehouses),
    };
    let mut document = folder::document(id, started, RunKind::Trial, &[subject.path]);
    let server = server_settings(&args.server, plan.workers);
    let before = Before {
        conformance: match &args.url {
            None => vouch::conformance(subject, &database.url, &server, private.path(), &folder, ui)?,
            // The server is somebody's and holds data that conformance would wear out.
            Some(_) => vouch::no_conformance("not run: the server was already running"),
        },
        audits: if audited { vouch::before(&database, &interrupt)? } else { Vec::new() },
    };
    let refused = before.conformance.check == report::document::Check::Failed
        || before.audits.iter().any(|audit| audit.check == report::document::Check::Failed);
    if refused {
        return refuse(&before, subject);
    }
    let job = Job {
        subject,
        database: &database,
        plan,
        server,
        url: args.url.as_deref(),
        audited,
        folder: &folder,
        what: subject.path,
        ui,
        interrupt: &interrupt,
    };
    let index = job.run(before, &mut document)?;
    let trial = &document.trials[index];
    let answer = if is_bad(trial) { Answer::Bad } else { Answer::Good };
    let nothing = trial.state == State::Interrupted && trial.measured_s == 0.0;
    document.state = trial.state;
    if nothing {
        // Calls were made, and their audits are worth keeping; a rate of zero would not be one.
        let json = folder.put_document(&document)?;
        bail!("interrupted before anything was measured; what was done until then: {}", json.display());
    }
    publish(&folder, &document, ui)?;
    Ok(answer)
}

/// A subject that answers wrongly, or data that is wrong from the start, is not measured.
fn refuse(before: &Before, subject: &Subject) -> Result<Answer> {
    if let Some(mismatch) = before.conformance.mismatches.first() {
        bail!("{} answers wrongly, so it is not measured: {mismatch}", subject.path);
    }
    let failed = before.audits.iter().find(|audit| audit.check == report::document::Check::Failed);
    match failed {
        Some(audit) => bail!(
            "the data is wrong before the run ({}: {}), so nothing is measured on it\nhint: load it anew with --fresh",
            audit.name,
            audit.violations.first().unwrap_or(&audit.sentence)
        ),
        None => bail!("nothing to measure"),
    }
}

fn subject_of(args: &args::Run) -> Result<&'static Subject> {
    let subject = subjects::find(&args.subject)?;
    match (&args.url, subject.route) {
        // An address without more is a wish to go there.
        (Some(_), Route::Direct) if !args.subject.contains("rusqlite") => {
            subjects::find("tpcc/sqlite/axum+rusqlite")
        }
        (Some(_), Route::Direct) => bail!("--url is for subjects through HTTP; {} is direct", subject.path),
        _ => Ok(subject),
    }
}

/// A database of which only the size is known.
fn unseen(warehouses: u32) -> Database {
    let size = Cardinality::standard(warehouses);
    let record = admin::LoadRecord {
        kit: "unknown".into(),
        kit_version: String::new(),
        workload: "tpcc".into(),
        scale: u64::from(warehouses),
        size: String::new(),
        seed: LOAD_SEED,
    };
    let contents = admin::Contents { record, schema: 0, tables: Vec::new(), loaded_at: 0 };
    Database { url: SqliteUrl::file("unknown"), size, seed: LOAD_SEED, contents }
}

/// Loads a database that is ours alone into `folder`.
pub(crate) fn private_database(
    folder: &Path,
    warehouses: u32,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<Database> {
    let url = SqliteUrl::file(folder.join("tpcc.db"));
    let size = Cardinality::standard(warehouses);
    match database::load(&url, size, LOAD_SEED, 0, false, ui, interrupt) {
        Ok((database, _)) => Ok(database),
        // It goes with the run, so there is nothing to start anew.
        Err(_) if interrupt.requested() => {
            bail!("interrupted while loading; nothing was measured, and nothing is kept")
        }
        Err(error) => Err(error),
    }
}

pub(crate) fn server_settings(args: &ServerArgs, clients: u32) -> ServerSettings {
    ServerSettings {
        pool: args.pool.unwrap_or(clients.min(POOL_MAX)),
        threads: args.server_threads.unwrap_or_else(serve::threads_default),
    }
}

/// The load generator's plan.
pub(crate) fn plan(args: &PlanArgs, warehouses: u32) -> Result<drive::Plan> {
    let arrivals = match (args.rate, args.think, args.arrivals) {
        (Some(rate), _, ArrivalsArg::Poisson) => Arrivals::Poisson(RatePerSecond(rate)),
        (Some(rate), _, ArrivalsArg::Constant) => Arrivals::Constant(RatePerSecond(rate)),
        (None, Think::Spec, _) => Arrivals::Paced,
        (None, Think::None, _) => Arrivals::Closed,
    };
    // 4.2.2: ten terminals a warehouse.
    let terminals = if args.think == Think::Spec { DISTRICTS * warehouses } else { 8 };
    let plan = drive::Plan {
        arrivals,
        workers: args.clients.unwrap_or(terminals),
        runtimes: args.generator_threads,
        warmup: Nanos::from(args.warmup),
        measured: Nanos::from(args.duration),
        drain_max: Nanos::from(args.drain),
        deadline: Nanos::from(args.deadline),
        seed: args.seed,
        deferred: (args.delivery == DeliveryArg::Deferred).then(drive::Deferred::default),
        ..drive::Plan::default()
    };
    plan.validate(<workload_tpcc::Tpcc as model::Workload>::KINDS)?;
    Ok(plan)
}

/// Writes the finished document and its page, prints the report, and says where they are.
pub(crate) fn publish(folder: &Folder, document: &Document, ui: &Ui) -> Result<()> {
    let json = folder.put_document(document)?;
    let page = folder.put_page(document)?;
    if ui.json {
        ui.data(&report::document::to_json(document));
    } else {
        ui.data(&report::text::render(document, ui.colour()));
    }
    if document.state == State::Interrupted {
        ui.say("interrupted: the result covers what was measured until then");
    }
    ui.say(&format!("result: {}\nreport: {}", json.display(), page.display()));
    Ok(())
}
