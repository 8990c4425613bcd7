//! What HTTP leaves of the direct rate, and where the rest goes: TPC-C on SQLite, 8 clients, the same settings on both
//! routes, by `stackmark compare` in interleaved, audited trials.

use report::document::{BudgetPart, Document, Trial};
use stackmark_benches::data::Folder;
use stackmark_benches::{cli, say};

const DIRECT: &str = "tpcc/sqlite/rusqlite";
const HTTP: &str = "tpcc/sqlite/axum+rusqlite";
const CLIENTS: &str = "8";
const BLOCKS: &str = "5";
/// What of a call's time may be left unexplained.
const REMAINDER_MAX: f64 = 0.02;

fn main() {
    let folder = Folder::create("retention");
    say::title(&format!(
        "TPC-C on SQLite, WAL and synchronous=FULL, 1 warehouse, {CLIENTS} clients: HTTP against direct"
    ));
    let out = folder.path().join("results");
    let span = ["--warmup", "1s", "--duration", "3s"];
    let args = [&["compare", DIRECT, HTTP, "--clients", CLIENTS, "--blocks", BLOCKS][..], &span].concat();
    let document = match cli::stackmark(&args, &out) {
        Ok(document) => document,
        Err(why) => return say::skipped(&why),
    };
    if let Some(why) = cli::voided(&document) {
        return say::skipped(&format!("a trial is void: {why}"));
    }
    for (name, subject) in [("direct", DIRECT), ("through HTTP", HTTP)] {
        let rates: Vec<f64> = trials(&document, subject).map(|trial| trial.headline.value.value).collect();
        say::figure(name, &format!("{} NOPM", say::spread(&rates, 0)));
    }
    match &document.comparison {
        Some(comparison) => {
            let retention = comparison.retention();
            say::figure("retention", retention.as_deref().unwrap_or("no block is complete"));
            say::figure("verdict", &comparison.sentence);
        }
        None => say::skipped("the document has no comparison"),
    }
    for (name, subject) in [("direct", DIRECT), ("through HTTP", HTTP)] {
        budget(name, trials(&document, subject));
    }
}

fn trials<'a>(document: &'a Document, subject: &'a str) -> impl Iterator<Item = &'a Trial> {
    document.trials.iter().filter(move |trial| trial.subject == subject)
}

/// Prints the mean shares of a call's time, and the largest remainder of all trials.
fn budget<'a>(name: &str, trials: impl Iterator<Item = &'a Trial>) {
    let budgets: Vec<_> = trials.filter_map(|trial| trial.overall.budget).collect();
    if budgets.is_empty() {
        return say::skipped(&format!("{name}: no budget"));
    }
    let mut shares = Vec::new();
    let mut remainder: f64 = 0.0;
    for part in BudgetPart::ALL {
        let of_each: Vec<f64> =
            budgets.iter().map(|budget| budget.part_ns(part) / budget.response_ns * 100.0).collect();
        if part == BudgetPart::Remainder {
            remainder = of_each.iter().fold(0.0, |most, share| share.abs().max(most));
        }
        let mean = of_each.iter().sum::<f64>() / of_each.len() as f64;
        if mean.abs() >= 0.005 {
            shares.push(format!("{} {mean:.2}", part.words()));
        }
    }
    let micros = budgets.iter().map(|budget| budget.response_ns).sum::<f64>() / budgets.len() as f64 / 1e3;
    say::figure(&format!("{name}: a call of {micros:.0} µs, %"), &shares.join(", "));
    say::goal(
        &format!("remainder at most {:.0} %, largest {remainder:.2} %", REMAINDER_MAX * 100.0),
        remainder <= REMAINDER_MAX * 100.0,
    );
}
