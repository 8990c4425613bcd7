//! `stackmark load`.

use crate::args;
use crate::args::Stores;
use crate::outcome::CommandOutcome;
use crate::ui::Ui;
use admin::Loaded;
use anyhow::{Result, bail};
use deploy::Interrupt;
use deploy::database::LoadOptions;
use deploy::subjects;
use deploy::{Database, Databases};
use result::text::seconds;
use serde_json::json;
use sql::Dialect;
use targets::Driven;
use workload::{CLIENTS, amount};

pub(crate) fn load<W: Driven>(args: &args::Load, ui: &Ui) -> Result<CommandOutcome> {
    // A subject that names an engine is held to it; a workload alone loads into whatever --db names.
    let engine =
        if args.subject.contains('/') { Some(subjects::find(&args.subject)?.how.dialect) } else { None };
    let stores = Stores::of(&args.db, args.shards.shards)?;
    let urls = stores.urls(engine)?;
    let (size, seed) = match args.golden {
        true => (W::tiny_over(stores.shards), W::GOLDEN_LOAD_SEED),
        false => {
            let engines: Vec<Dialect> = urls.iter().map(|url| url.dialect()).collect();
            let scale = args.amounts.scale_for::<W>(&engines, stores.shards, CLIENTS, ui)?;
            (workload::sized::<W>(scale, &args.amounts.chosen_for_data::<W>()?)?, args.seed)
        }
    };
    if args.foreign_keys && urls.iter().any(|url| url.dialect() == Dialect::Sqlite) {
        bail!("--foreign-keys is for PostgreSQL and MariaDB; the SQLite schema has none");
    }
    let interrupt = Interrupt::listen()?;
    let options =
        LoadOptions { seed, threads: args.threads, fresh: args.fresh, references: args.foreign_keys };
    let (databases, loaded) = Databases::<W>::load(&urls, &size, options, ui, &interrupt)?;
    let checksum = databases.checksum().unwrap_or_default();
    for (loaded, database) in loaded.iter().zip(&databases.each) {
        if let Loaded::Now { notes, .. } = loaded {
            notes.iter().for_each(|note| ui.remark(&format!("note: {note}")));
        }
        if !ui.json {
            ui.data(&said(database, loaded));
        }
    }
    if ui.json {
        let storing = |loaded: &Loaded| match loaded {
            Loaded::AlreadyThere(_) => None,
            Loaded::Now { times, .. } => Some(times.storing().as_secs_f64()),
        };
        let times: Vec<f64> = loaded.iter().filter_map(storing).collect();
        let storing_s = (!times.is_empty()).then(|| times.iter().sum::<f64>());
        let text = json!({
            "database": databases.place(), W::SCALE_UNIT: W::scale(&size), "seed": seed, "rows": databases.rows(),
            "checksum": checksum, "loaded": storing_s.is_some(), "storing_s": storing_s,
        });
        ui.data(&format!("{text:#}\n"));
    }
    Ok(CommandOutcome::Good)
}

/// How a database came about.
fn said<W: Driven>(database: &Database<W>, loaded: &Loaded) -> String {
    let (file, amount) = (database.url.place(), amount::<W>(database.scale().into()));
    let (rows, checksum) = (database.contents.rows(), database.contents.checksum());
    match loaded {
        Loaded::AlreadyThere(_) => {
            format!("{file}: already loaded, {amount}, {rows} rows, checksum {checksum:016x}\n")
        }
        Loaded::Now { bytes, times, .. } => {
            let storing = times.storing().as_secs_f64();
            let size = bytes.map(|bytes| format!(", {} MB", bytes / 1_000_000)).unwrap_or_default();
            format!(
                "{file}: {amount}, {rows} rows{size}, checksum {checksum:016x}\nstored in {} ({:.0} rows/s), \
                 read back and compared in {}\n",
                seconds(storing),
                rows as f64 / storing,
                seconds(times.verify.as_secs_f64()),
            )
        }
    }
}
