//! Bookings: what a call costs compared with pgbench, what the row of an outbox adds to it, and whether a relay keeps up with a real Kafka,
//! also while that is unavailable. Numbers as arguments choose sections; without any all are measured.
//!
//! All is durable, on private engines; load generator, engines, relay and broker share the same two cores.

use model::Nanos;
use result::{Class, Process, Published, Role, Trial};
use rig::Engine;
use sql::Dialect;
use stackmark_benches::data::Folder;
use stackmark_benches::office::Office;
use stackmark_benches::pairs::{Ratio, Side, turns};
use stackmark_benches::pgbench::Script;
use stackmark_benches::sections::{self, Section};
use stackmark_benches::trials::CLIENTS;
use stackmark_benches::{cli, engine, output, pgbench, process};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use targets::Style;
use workload_booking::catalogue;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PAIRS: usize = 5;
/// Pairs for the row of an outbox, whose cost is small.
const ROW_PAIRS: usize = 10;
/// Least share of its rate that a pipelined booking keeps with the row.
const PIPELINED_MIN: f64 = 0.9;
const SECONDS: u64 = 4;
const WINDOW: (Nanos, Nanos) = (Nanos::from_secs(1), Nanos::from_secs(SECONDS));
/// Events where many are booked.
const EVENTS: u32 = 1_000;
/// Clients on one event.
const HOT_CLIENTS: u32 = 32;
/// Share of its capacity that is offered to a relay.
const OFFERED: f64 = 0.4;
/// Clients of the trials with a relay.
const OFFERED_CLIENTS: &str = "32";
/// A trial whose p99 is longer is saturated, and compares nothing.
const P99_MAX_MS: f64 = 1_000.0;
/// How long the broker is unavailable, from when on, and how long the trial is then.
const AWAY_S: u64 = 30;
const AWAY_FROM_S: u64 = 15;
const AWAY_TRIAL: &str = "90s";

const OUTBOX: &str = "booking/postgres/tokio-postgres/outbox";

const SECTIONS: [Section; 4] = [
    Section { number: "1", about: "a booking against pgbench", run: against_pgbench },
    Section { number: "2", about: "the row of an outbox", run: outbox_row },
    Section { number: "3", about: "the relay on Kafka", run: relay },
    Section { number: "4", about: "30 s without the broker", run: without_broker },
];

fn main() -> ExitCode {
    sections::run(&SECTIONS)
}

fn titled(text: &str) {
    output::title(&format!("{text}; load average {}", process::load_average()));
}

/// Bookings through us and through pgbench with a script of the very same statements, of many events and of one.
fn against_pgbench() {
    let Some(server) = engine::start(Engine::Postgres) else { return };
    let texts = catalogue(Dialect::Postgres).expect("kept valid by a test");
    let (folder, program) = (Folder::create("bookings"), pgbench::program(&server));
    for (events, clients, share_min) in [(EVENTS, CLIENTS, 0.95), (1, HOT_CLIENTS, 0.9)] {
        let mut office = Office::load(&server, &format!("events_{events}"), events, Style::Plain);
        let file = folder.path().join(format!("booking-{events}.sql"));
        std::fs::write(&file, pgbench::booking(&texts, events))
            .expect("the folder of the benches can be written");
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for side in turns(PAIRS).flatten() {
            if side == Side::A {
                let defines = [format!("run={}", office.next_run()), "sequence=0".to_owned()];
                let script = Script { file: &file, defines: &defines };
                theirs.push(pgbench::run(&program, office.url(), Some(script), clients, SECONDS).rate);
            } else {
                ours.push(office.trial(clients, WINDOW).all());
            }
        }
        titled(&format!("Bookings of {events} events, {clients} clients"));
        output::figure("pgbench -M prepared", &format!("{}/s", output::spread(&theirs, 0)));
        output::figure("ours, plain", &format!("{}/s", output::spread(&ours, 0)));
        let ratio = Ratio::of(&theirs, &ours);
        output::ratio("  of the first", ratio);
        output::goal(&format!("at least {:.0} %", share_min * 100.0), ratio.median >= share_min);
    }
}

/// Bookings with the row of an outbox against those without, plain and pipelined.
fn outbox_row() {
    let Some(server) = engine::start(Engine::Postgres) else { return };
    let styles = [
        (Style::Plain, Style::OutboxRow, None),
        (Style::Pipelined, Style::PipelinedOutboxRow, Some(PIPELINED_MIN)),
    ];
    for (without, with, share_min) in styles {
        let load = |style: Style| {
            let database = style.name().replace('-', "_");
            Office::load(&server, &database, EVENTS, style)
        };
        let (mut office, mut row) = (load(without), load(with));
        let (mut single, mut beside) = (Vec::new(), Vec::new());
        for side in turns(ROW_PAIRS).flatten() {
            match side {
                Side::A => single.push(office.trial(CLIENTS, WINDOW).all()),
                Side::B => beside.push(row.trial(CLIENTS, WINDOW).all()),
            }
        }
        titled(&format!("The row of an outbox, {}, {EVENTS} events, {CLIENTS} clients", without.name()));
        output::figure("no row", &format!("{}/s", output::spread(&single, 0)));
        output::figure("outbox row", &format!("{}/s", output::spread(&beside, 0)));
        let ratio = Ratio::of(&single, &beside);
        output::ratio("  of the first", ratio);
        if let Some(share_min) = share_min {
            output::goal(&format!("more than {:.0} %", share_min * 100.0), ratio.median > share_min);
        }
    }
}

/// An open loop at two fifths of what calls reach in a closed one, with a relay to a private Kafka.
fn relay() {
    titled(&format!("Bookings from an outbox to Kafka, {:.0} % of capacity offered", OFFERED * 100.0));
    let folder = Folder::create("bookings");
    if let Err(why) = relayed(&folder.path().join("results")) {
        output::skipped(&why);
    }
}

fn relayed(out: &Path) -> Result<(), String> {
    let rate = offered(out)?;
    let open = ["--clients", OFFERED_CLIENTS, "--rate", &rate, "--warmup", "3s", "--duration", "30s"];
    let trial = run(&[&["--sink", "kafka"], &open[..]].concat(), &[], out)?;
    let published = published(&trial)?;
    let p99_ms = p99_ms(published)?;
    output::figure("lag, p99", &format!("{} ms", output::number(p99_ms, 1)));
    output::goal("p99 under 250 ms", p99_ms < 250.0);
    let messages = published.messages.ok_or("the relay has counted nothing")? as f64;
    let relay_us = cpu_s(&trial, Role::Relay) * 1e6 / messages;
    output::figure("CPU of the relay, an event", &format!("{} µs", output::number(relay_us, 1)));
    output::goal("at most 25 µs", relay_us <= 25.0);
    output::figure(
        "CPU of the broker, an event",
        &format!("{} µs", output::number(cpu_s(&trial, Role::Broker) * 1e6 / messages, 1)),
    );
    Ok(())
}

/// The same while the broker stands still for half a minute.
fn without_broker() {
    titled(&format!(
        "Bookings from an outbox, {AWAY_S} s without the broker, {:.0} % of capacity offered",
        OFFERED * 100.0
    ));
    let folder = Folder::create("bookings");
    if let Err(why) = unharmed(&folder.path().join("results")) {
        output::skipped(&why);
    }
}

fn unharmed(out: &Path) -> Result<(), String> {
    let rate = offered(out)?;
    let broker = rig::start(Engine::Kafka, &rig::Options::default()).map_err(|error| error.to_string())?;
    let (place, password) = broker.address();
    let named = format!("broker=kafka://{}@{place}", rig::USER);
    let options = [
        "--sink",
        "kafka",
        "--db",
        &named,
        "--clients",
        OFFERED_CLIENTS,
        "--rate",
        &rate,
        "--warmup",
        "3s",
        "--duration",
        AWAY_TRIAL,
        "--settle",
        "120s",
    ];
    let env = [("STACKMARK_BROKER_PASSWORD", password.reveal())];
    let quiet = [run(&options, &env, out)?, run(&options, &env, out)?];
    let struck = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&options, &env, out));
        // The private PostgreSQL is loaded first, which takes some seconds; where in the window the outage lies does not matter.
        std::thread::sleep(Duration::from_secs(AWAY_FROM_S));
        broker.pause(true);
        std::thread::sleep(Duration::from_secs(AWAY_S));
        broker.pause(false);
        running.join().map_err(|_| "the trial ended in a panic".to_owned())?
    })?;
    let p99 = |trial: &Trial| {
        let committed = trial.overall.latency(Class::Committed).and_then(|times| times.response.p99_ns);
        committed.map_or(0.0, |ns| ns as f64 / 1e6)
    };
    let [first, second] = [&quiet[0], &quiet[1]].map(p99);
    output::figure(
        "p99 of a booking, undisturbed",
        &format!("{} and {} ms", output::number(first, 1), output::number(second, 1)),
    );
    output::figure("p99 of a booking, without broker", &format!("{} ms", output::number(p99(&struck), 1)));
    if first.min(second) > P99_MAX_MS {
        return Err(format!("the undisturbed trials were saturated at {rate} calls/s"));
    }
    let noise = (first - second).abs();
    output::goal("changes by less than two undisturbed trials do", p99(&struck) - first.max(second) <= noise);
    let call_counts = &struck.overall.call_counts;
    let failed = call_counts.refused + call_counts.in_doubt + call_counts.defect + call_counts.dropped;
    output::goal("no booking fails", failed == 0);
    let line = &published(&struck)?.line;
    let most = line.iter().max_by_key(|second| second.backlog).ok_or("the backlog was not measured")?;
    let drained = line.iter().find(|second| second.t_s > most.t_s && second.backlog * 100 < most.backlog);
    let duration_s = drained.map_or(f64::INFINITY, |second| second.t_s - most.t_s);
    output::figure("backlog at most", &output::number(most.backlog as f64, 0));
    output::figure("  drained within", &format!("{} s", output::number(duration_s, 0)));
    output::goal("within 30 s", duration_s <= 30.0);
    Ok(())
}

/// Two fifths of the rate that a closed loop with relay and Kafka reaches.
fn offered(out: &Path) -> Result<String, String> {
    let closed = ["--sink", "kafka", "--clients", OFFERED_CLIENTS, "--warmup", "2s", "--duration", "8s"];
    let capacity = run(&closed, &[], out)?.headline.value.value;
    output::figure("capacity, closed loop", &format!("{} calls/s", output::number(capacity, 0)));
    Ok(format!("{:.0}", capacity * OFFERED))
}

/// One trial of bookings by `stackmark run`.
fn run(options: &[&str], env: &[(&str, &str)], out: &Path) -> Result<Trial, String> {
    let bookings = ["run", OUTBOX, "--only", "book", "--quantity", "1", "--stock", "100000000"];
    let document = cli::stackmark_in(&[&bookings[..], options].concat(), env, out)?;
    if let Some(why) = cli::voided(&document) {
        return Err(format!("a trial is invalid: {why}"));
    }
    document.trials.into_iter().next().ok_or_else(|| "the document has no trial".to_owned())
}

fn published(trial: &Trial) -> Result<&Published, String> {
    trial.published.as_ref().ok_or_else(|| "the document does not say what was published".to_owned())
}

fn p99_ms(published: &Published) -> Result<f64, String> {
    let p99 = published.lag.as_ref().and_then(|lag| lag.p99_ns);
    p99.map(|ns| ns as f64 / 1e6).ok_or_else(|| "too few messages for a p99".to_owned())
}

/// Processor time of all processes of a role, in seconds.
fn cpu_s(trial: &Trial, role: Role) -> f64 {
    let of_role = trial.processes.iter().filter(|process| process.roles.contains(&role));
    of_role.map(Process::cpu_s).sum()
}
