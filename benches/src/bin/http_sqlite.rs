//! New orders a minute of the whole mix through HTTP, one warehouse, one client, durable: the real binary, its server a
//! process of its own, every trial on a fresh copy of the same database and audited as a user's would be.
//!
//! The yardstick is a published server in Rust (Diesel on SQLite; rollback journal, FULL) at 9,990 new orders a minute on
//! this class of machine. Judged are the ways to flush every commit before it is acknowledged: with a rollback journal that
//! is kept, and with a write-ahead log. The published server's own setting (delete, FULL), which does not flush the
//! journal's removal, stands next to them, and so do the slower durable ones.

use stackmark_benches::data::{Folder, load_file};
use stackmark_benches::pairs::Spread;
use stackmark_benches::{cli, output};
use std::path::Path;

const PUBLISHED: f64 = 9_990.0;
const TIMES_MIN: f64 = 3.0;
/// Rounds through all settings, there and back again.
const ROUNDS: usize = 3;

struct Setting {
    options: &'static str,
    about: &'static str,
    judged: bool,
    new_orders_a_minute: Vec<f64>,
}

const fn setting(options: &'static str, about: &'static str, judged: bool) -> Setting {
    Setting { options, about, judged, new_orders_a_minute: Vec::new() }
}

fn main() {
    let folder = Folder::create("http-sqlite");
    let (loaded, copy) = (folder.url("loaded.db"), folder.url("trial.db"));
    let _ = load_file(&loaded, 1);
    let mut settings = [
        setting("journal=persist&synchronous=full", "persist, FULL", true),
        setting("journal=wal&synchronous=full", "WAL, FULL", true),
        setting("journal=truncate&synchronous=full", "truncate, FULL", false),
        setting("journal=delete&synchronous=extra", "delete, EXTRA", false),
        setting("journal=delete&synchronous=full", "delete, FULL", false),
    ];
    output::title("TPC-C on SQLite through HTTP, 1 warehouse, 1 client, durable: new orders a minute (NOPM)");
    let mut flushes = Vec::new();
    for round in 0..ROUNDS {
        let there = 0..settings.len();
        let order: Vec<usize> = if round % 2 == 0 { there.collect() } else { there.rev().collect() };
        for at in order {
            folder.copy(&loaded, &copy);
            flushes.extend(folder.flush_micros());
            let db = cli::address(&copy, settings[at].options);
            match trial(&db, &folder.path().join("results")) {
                Ok(rate) => settings[at].new_orders_a_minute.push(rate),
                Err(why) => return output::skipped(&why),
            }
        }
    }
    output::figure("a flush of this disk", &format!("{} µs", output::spread(&flushes, 0)));
    for setting in &settings {
        let median = Spread::of(&setting.new_orders_a_minute).median;
        let times = median / PUBLISHED;
        let rates = output::spread(&setting.new_orders_a_minute, 0);
        output::figure(setting.about, &format!("{rates} NOPM, {times:.1} times the published"));
        if setting.judged {
            let least = output::number(TIMES_MIN * PUBLISHED, 0);
            output::goal(&format!("at least {TIMES_MIN:.0} times, {least} NOPM"), times >= TIMES_MIN);
        }
    }
}

fn trial(db: &str, out: &Path) -> Result<f64, String> {
    let subject = "tpcc/sqlite/axum+rusqlite";
    let args = ["run", subject, "--db", db, "--clients", "1", "--warmup", "1s", "--duration", "4s"];
    let document = cli::stackmark(&args, out)?;
    match (cli::voided(&document), document.trials.first()) {
        (Some(why), _) => Err(format!("a trial is invalid: {why}")),
        (None, Some(trial)) => Ok(trial.headline.value.value),
        (None, None) => Err("the document has no trial".into()),
    }
}
