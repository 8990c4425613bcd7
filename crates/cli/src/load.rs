//! `stackmark load`.

use crate::args;
use crate::case::of_workload;
use crate::ui::Ui;
use admin::Loaded;
use anyhow::{Result, bail};
use deploy::Interrupt;
use deploy::database::{self, LoadOptions, amount, parse_url, scale_of};
use deploy::subjects;
use result::words::seconds;
use schedule::Answer;
use serde_json::json;
use sql::Dialect;
use targets::Driven;
use targets::place;

pub(crate) fn load(args: &args::Load, ui: &Ui) -> Result<Answer> {
    let subject = subjects::find(&args.subject)?;
    of_workload!(subject.workload(), W => load_workload::<W>(args, ui))
}

fn load_workload<W: Driven>(args: &args::Load, ui: &Ui) -> Result<Answer> {
    // A subject that names an engine is held to it; a workload alone loads into whatever --db names.
    let engine =
        if args.subject.contains('/') { Some(subjects::find(&args.subject)?.how.dialect) } else { None };
    let size = W::standard(scale_of::<W>(args.scale)?);
    let url = parse_url(&args.db, engine)?;
    if args.foreign_keys && url.dialect() == Dialect::Sqlite {
        bail!("--foreign-keys is for PostgreSQL and MariaDB; our schema of SQLite has none");
    }
    let interrupt = Interrupt::listen()?;
    let options = LoadOptions {
        seed: args.seed,
        threads: args.threads,
        fresh: args.fresh,
        references: args.foreign_keys,
    };
    let (database, loaded) = database::load::<W>(&url, &size, options, ui, &interrupt)?;
    let file = place(&url);
    let amount = amount::<W>(args.scale);
    let (rows, checksum) = (database.contents.rows(), database.contents.checksum());
    if let Loaded::Now { notes, .. } = &loaded {
        notes.iter().for_each(|note| ui.say(&format!("note: {note}")));
    }
    if ui.json {
        let storing = match &loaded {
            Loaded::AlreadyThere(_) => None,
            Loaded::Now { times, .. } => Some(times.storing().as_secs_f64()),
        };
        let text = json!({
            "database": file, W::SCALE_UNIT: args.scale, "seed": args.seed, "rows": rows,
            "checksum": format!("{checksum:016x}"), "loaded": storing.is_some(), "storing_s": storing,
        });
        ui.data(&format!("{text:#}\n"));
        return Ok(Answer::Good);
    }
    let text = match &loaded {
        Loaded::AlreadyThere(_) => {
            format!("{file}: already loaded, {amount}, {rows} rows, checksum {checksum:016x}\n")
        }
        Loaded::Now { bytes, times, .. } => {
            let storing = times.storing().as_secs_f64();
            format!(
                "{file}: {amount}, {rows} rows, {} MB, checksum {checksum:016x}\nstored in {} ({:.0} rows/s), \
                 read back and compared in {}\n",
                bytes / 1_000_000,
                seconds(storing),
                rows as f64 / storing,
                seconds(times.verify.as_secs_f64()),
            )
        }
    };
    ui.data(&text);
    Ok(Answer::Good)
}
