//! `stackmark load`.

use crate::database::{self, parse_url};
use crate::interrupt::Interrupt;
use crate::subjects;
use crate::ui::{Ui, seconds};
use crate::{Answer, args};
use admin::Loaded;
use anyhow::Result;
use serde_json::json;
use workload_tpcc::Cardinality;

pub(crate) fn load(args: &args::Load, ui: &Ui) -> Result<Answer> {
    subjects::find(&args.subject)?;
    let size = Cardinality::standard(database::warehouses(args.scale)?);
    let url = parse_url(&args.db)?;
    let interrupt = Interrupt::listen()?;
    let (database, loaded) = database::load(&url, size, args.seed, args.threads, args.fresh, ui, &interrupt)?;
    let file = url.path.display();
    let (rows, checksum) = (database.contents.rows(), database.contents.checksum());
    if ui.json {
        let storing = match &loaded {
            Loaded::AlreadyThere(_) => None,
            Loaded::Now { times, .. } => Some(times.storing().as_secs_f64()),
        };
        let text = json!({
            "database": file.to_string(), "warehouses": args.scale, "seed": args.seed, "rows": rows,
            "checksum": format!("{checksum:016x}"), "loaded": storing.is_some(), "storing_s": storing,
        });
        ui.data(&format!("{text:#}\n"));
        return Ok(Answer::Good);
    }
    let text = match &loaded {
        Loaded::AlreadyThere(_) => {
            format!(
                "{file}: already loaded, {} warehouses, {rows} rows, checksum {checksum:016x}\n",
                args.scale
            )
        }
        Loaded::Now { bytes, times, .. } => {
            let storing = times.storing().as_secs_f64();
            format!(
                "{file}: {} warehouses, {rows} rows, {} MB, checksum {checksum:016x}\nstored in {} ({:.0} rows/s), \
                 read back and compared in {}\n",
                args.scale,
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
