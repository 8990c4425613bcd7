//! What HTTP leaves of the direct rate, and where the rest goes: TPC-C on SQLite and on PostgreSQL, 8 clients, the same
//! settings on both routes, by `stackmark compare` in interleaved, audited trials.

use result::{BudgetPart, Document, Trial};
use stackmark_benches::data::Folder;
use stackmark_benches::{cli, output, process};

const CLIENTS: &str = "8";
const BLOCKS: &str = "5";
/// What of a call's time may be left unexplained.
const REMAINDER_MAX: f64 = 0.02;

/// An engine by both routes.
struct Pair {
    title: &'static str,
    direct: &'static str,
    http: &'static str,
    plan: [&'static str; 6],
    /// What HTTP has to leave of the direct rate.
    kept_min: Option<f64>,
}

const PAIRS: [Pair; 2] = [
    Pair {
        title: "SQLite, WAL and synchronous=FULL, 1 warehouse",
        direct: "tpcc/sqlite/rusqlite",
        http: "tpcc/sqlite/axum+rusqlite",
        plan: ["--scale", "1", "--warmup", "1s", "--duration", "3s"],
        kept_min: None,
    },
    Pair {
        title: "PostgreSQL, one statement per round trip, 10 warehouses",
        direct: "tpcc/postgres/tokio-postgres",
        http: "tpcc/postgres/axum+tokio-postgres",
        plan: ["--scale", "10", "--warmup", "5s", "--duration", "10s"],
        kept_min: Some(0.95),
    },
];

fn main() {
    process::keep_on_two_cores();
    let folder = Folder::create("retention");
    for pair in &PAIRS {
        output::title(&format!("TPC-C on {}, {CLIENTS} clients, two cores: HTTP against direct", pair.title));
        if let Err(why) = compare(pair, &folder) {
            output::skipped(&why);
        }
    }
}

fn compare(pair: &Pair, folder: &Folder) -> Result<(), String> {
    let what = ["compare", pair.direct, pair.http, "--clients", CLIENTS, "--blocks", BLOCKS];
    let document = cli::stackmark(&[&what[..], &pair.plan].concat(), &folder.path().join("results"))?;
    if let Some(why) = cli::voided(&document) {
        return Err(format!("a trial is invalid: {why}"));
    }
    let sides = [("direct", pair.direct), ("through HTTP", pair.http)];
    for (name, subject) in sides {
        let rates: Vec<f64> = trials(&document, subject).map(|trial| trial.headline.value.value).collect();
        output::figure(name, &format!("{} NOPM", output::spread(&rates, 0)));
    }
    let experiment = document.experiment.as_ref();
    let comparison =
        experiment.and_then(|found| found.comparisons.first()).ok_or("the document has no comparison")?;
    output::figure("effect", comparison.effect().as_deref().unwrap_or("no block is complete"));
    output::figure("verdict", &comparison.sentence);
    if let (Some(least), Some(ratio)) = (pair.kept_min, comparison.ratio) {
        output::goal(&format!("at least {:.0} % kept", least * 100.0), ratio.value >= least);
    }
    for (name, subject) in sides {
        budget(name, trials(&document, subject));
    }
    Ok(())
}

fn trials<'a>(document: &'a Document, subject: &'a str) -> impl Iterator<Item = &'a Trial> {
    document.trials.iter().filter(move |trial| trial.subject == subject)
}

/// Prints the mean shares of a call's time, and the largest remainder of all trials.
fn budget<'a>(name: &str, trials: impl Iterator<Item = &'a Trial>) {
    let budgets: Vec<_> = trials.filter_map(|trial| trial.overall.budget).collect();
    if budgets.is_empty() {
        return output::skipped(&format!("{name}: no budget"));
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
    output::figure(&format!("{name}: a call of {micros:.0} µs, %"), &shares.join(", "));
    output::goal(
        &format!("remainder at most {:.0} %, largest {remainder:.2} %", REMAINDER_MAX * 100.0),
        remainder <= REMAINDER_MAX * 100.0,
    );
}
