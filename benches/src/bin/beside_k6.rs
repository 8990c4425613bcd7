//! The same server under Stackmark, k6 and wrk in turn: what each says of rate and times, and the processor time that it takes for a
//! call itself. Loads are reads of one food, where wrk asks for one alone, and the default mix of the catalogue, which wrk cannot
//! send. k6 runs the script that `stackmark export k6` makes. Eight clients in a closed loop; the server has no core of its own.

use stackmark_benches::data::Folder;
use stackmark_benches::server::Server;
use stackmark_benches::{cli, output, process, wrk};
use std::path::Path;
use std::process::Command;

const CLIENTS: u32 = 8;
const SECONDS: u64 = 15;
const ROUNDS: usize = 3;
/// Calls in k6's script. Of reads it makes them over and over; of the mix once through, so that nothing is created twice.
const CALLS: &str = "20000";

/// What one run of a tool gave.
#[derive(Default)]
struct Ran {
    calls_a_second: f64,
    p50_p99_ms: [f64; 2],
    cpu_seconds_a_million: f64,
}

type Tool = fn(&Load, &Folder, &str) -> Result<Ran, String>;

/// A load, by its options.
struct Load {
    title: &'static str,
    options: &'static [&'static str],
    reads: bool,
    tools: &'static [(&'static str, Tool)],
}

const LOADS: [Load; 2] = [
    Load {
        title: "food-read",
        options: &["--only", "food-read"],
        reads: true,
        tools: &[("stackmark run", stackmark), ("k6 run", k6), ("wrk, one food", wrk_one_food)],
    },
    Load {
        title: "the default mix",
        options: &[],
        reads: false,
        tools: &[("stackmark run", stackmark), ("k6 run", k6)],
    },
];

fn main() {
    let missing = [("k6", Command::new("k6").arg("version").output().is_err()), ("wrk", !wrk::is_here())];
    if let Some((tool, _)) = missing.iter().find(|(_, missing)| *missing) {
        return output::skipped(&format!("{tool} is not installed"));
    }
    let folder = Folder::create("beside-k6");
    output::title(&format!(
        "the catalogue on SQLite through our server, {CLIENTS} clients, {ROUNDS} rounds of {SECONDS} s, load average {}",
        process::load_average()
    ));
    for load in &LOADS {
        if let Err(why) = measure(load, &folder) {
            return output::skipped(&why);
        }
    }
    output::figure("load average at the end", &process::load_average());
}

/// Rounds through the tools, there and back again, each on freshly loaded data.
fn measure(load: &Load, folder: &Folder) -> Result<(), String> {
    let mut ran: Vec<Vec<Ran>> = load.tools.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS {
        let there = 0..load.tools.len();
        let order: Vec<usize> = if round % 2 == 0 { there.collect() } else { there.rev().collect() };
        for at in order {
            let db = cli::address(&folder.url("foods.db"), "synchronous=normal");
            let server = Server::of_catalogue(&db, None)?;
            ran[at].push(load.tools[at].1(load, folder, &server.url)?);
        }
    }
    output::title(load.title);
    for ((tool, _), ran) in load.tools.iter().zip(&ran) {
        let figures = |of: &dyn Fn(&Ran) -> f64, digits| {
            output::spread(&ran.iter().map(of).collect::<Vec<f64>>(), digits)
        };
        output::figure(tool, &format!("{}/s", figures(&|ran| ran.calls_a_second, 0)));
        output::figure("  p50", &format!("{} ms", figures(&|ran| ran.p50_p99_ms[0], 2)));
        output::figure("  p99", &format!("{} ms", figures(&|ran| ran.p50_p99_ms[1], 1)));
        let cpu = figures(&|ran| ran.cpu_seconds_a_million, 1);
        output::figure("  CPU of the tool", &format!("{cpu} s a million calls"));
    }
    Ok(())
}

fn stackmark(load: &Load, folder: &Folder, url: &str) -> Result<Ran, String> {
    let (clients, duration) = (CLIENTS.to_string(), format!("{SECONDS}s"));
    let mut args = vec!["run", "catalogue", "--url", url, "--clients", &clients];
    args.extend(["--warmup", "0s", "--duration", &duration]);
    args.extend(load.options);
    let before = process::children_cpu_seconds();
    let document = cli::stackmark(&args, &folder.path().join("results"))?;
    let cpu = process::children_cpu_seconds() - before;
    let tally = document.trials.first().map(|trial| &trial.overall).ok_or("the document has no trial")?;
    let times = tally.all_due.as_ref().ok_or("nothing was due")?;
    let millis = |nanos: Option<u64>| nanos.map_or(f64::NAN, |nanos| nanos as f64 / 1e6);
    Ok(Ran {
        calls_a_second: tally.call_counts.started as f64 / SECONDS as f64,
        p50_p99_ms: [millis(times.p50_ns), millis(times.p99_ns)],
        cpu_seconds_a_million: cpu / tally.call_counts.started as f64 * 1e6,
    })
}

fn k6(load: &Load, folder: &Folder, url: &str) -> Result<Ran, String> {
    let (script, summary) = (folder.path().join("script.js"), folder.path().join("summary.json"));
    let clients = CLIENTS.to_string();
    let mut export = Command::new(cli::binary()?);
    export.args(["export", "k6", "--workload", "catalogue", "--calls", CALLS, "--clients", &clients]);
    ended(export.args(load.options).arg("--output").arg(&script))?;
    let mut run = Command::new("k6");
    run.args(["run", "--quiet", "--no-usage-report", "--summary-export"]).arg(&summary);
    run.args(["-e", &format!("BASE_URL={url}")]);
    if load.reads {
        run.args(["-e", &format!("DURATION={SECONDS}s")]);
    }
    run.arg(&script);
    let before = process::children_cpu_seconds();
    ended(&mut run)?;
    let cpu = process::children_cpu_seconds() - before;
    let metrics = read(&summary)?;
    let number = |metric: &str, name: &str| metrics["metrics"][metric][name].as_f64().unwrap_or(f64::NAN);
    let calls = number("iterations", "count");
    if metrics["metrics"]["stackmark_failed"].is_object() {
        return Err("a call of k6 failed".into());
    }
    Ok(Ran {
        calls_a_second: number("iterations", "rate"),
        p50_p99_ms: [number("http_req_duration", "med"), number("http_req_duration", "p(99)")],
        cpu_seconds_a_million: cpu / calls * 1e6,
    })
}

fn wrk_one_food(_: &Load, folder: &Folder, url: &str) -> Result<Ran, String> {
    let script = folder.path().join("food.lua");
    std::fs::write(&script, "wrk.path = \"/foods/417\"\n").map_err(|error| error.to_string())?;
    let ran = wrk::run(None, CLIENTS, SECONDS, &script, url);
    Ok(Ran {
        calls_a_second: ran.requests / ran.seconds,
        p50_p99_ms: ran.p50_p99_ms,
        cpu_seconds_a_million: ran.cpu_seconds / ran.requests * 1e6,
    })
}

fn ended(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn read(summary: &Path) -> Result<serde_json::Value, String> {
    let text = std::fs::read_to_string(summary).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
