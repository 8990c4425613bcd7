//! Transfers: what a call costs in one store, in one of several, and between two of them. Numbers as arguments choose sections;
//! without any all are measured.
//!
//! All is durable, on private engines; generator and engines share the same two cores, and with one client one core. Whatever is
//! compared takes turns.

use adapter_tokio_postgres::{PostgresConn, connect_to_write};
use measure::Monotonic;
use model::{Clock as _, Nanos};
use result::{Role, Settlement, Trial};
use rig::Engine;
use sql::{Dialect, ServerUrl, SqlConn as _, StmtId, TxKind};
use stackmark_benches::bank::{BRANCHES, Bank};
use stackmark_benches::data::Folder;
use stackmark_benches::pairs::{Ratio, Side, Spread, turns};
use stackmark_benches::pgbench::Script;
use stackmark_benches::sections::{self, Section};
use stackmark_benches::trials::{CLIENTS, Figures, reach};
use stackmark_benches::{cli, engine, output, pgbench, process};
use std::path::Path;
use std::process::ExitCode;
use workload_transfer::catalogue;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PAIRS: usize = 5;
const SECONDS: u64 = 4;
const WINDOW: (Nanos, Nanos) = (Nanos::from_secs(1), Nanos::from_secs(SECONDS));
/// The kind whose accounts lie in one store, and the one whose accounts lie in two.
const WITHIN: &str = "transfer";
const ACROSS: &str = "cross-transfer";

const SECTIONS: [Section; 5] = [
    Section { number: "1", about: "one store against pgbench", run: against_pgbench },
    Section { number: "2", about: "one of several stores against one store", run: in_one_of_several },
    Section { number: "3", about: "two-phase commit against its bound", run: against_bound },
    Section { number: "4", about: "a saga for a minute", run: saga },
    Section { number: "5", about: "two engines of 0.25 CPU against one", run: on_two_engines },
];

fn main() -> ExitCode {
    sections::run(&SECTIONS)
}

/// Transfers within one store, through us and through pgbench with a script of the very same statements.
fn against_pgbench() {
    let Some(server) = engine::start(Engine::Postgres) else { return };
    let mut bank = Bank::load(&server, "local", 1, WITHIN);
    let texts = catalogue(Dialect::Postgres).expect("kept valid by a test");
    let (folder, program) = (Folder::create("transfers"), pgbench::program(&server));
    let file = folder.path().join("transfer.sql");
    std::fs::write(&file, pgbench::transfer(&texts, BRANCHES))
        .expect("the folder of the benches can be written");
    let (mut theirs, mut ours) = (Rates::default(), Rates::default());
    for side in turns(PAIRS).flatten() {
        if side == Side::A {
            let defines = [format!("run={}", bank.next_run()), "sequence=0".to_owned()];
            let script = Script { file: &file, defines: &defines };
            let run = pgbench::run(&program, bank.store(), Some(script), CLIENTS, SECONDS);
            theirs.add(run.rate, run.cpu_micros);
        } else {
            ours.add_ours(&bank.trial(CLIENTS, WINDOW));
        }
    }
    titled(&format!("Transfers in one store, {BRANCHES} branches, {CLIENTS} clients"));
    compared(("pgbench -M prepared", &theirs), ("ours, plain", &ours), 0.95);
}

/// Transfers that stay within one of several stores, in the style that could leave it, against those in the only one. A session
/// has a connection to each store, so a client with as many connections to the only one shows what the connections cost.
fn in_one_of_several() {
    let Some(server) = engine::start(Engine::Postgres) else { return };
    for shards in [2, 4] {
        let mut banks = [
            Bank::load(&server, &format!("local_{shards}"), 1, WITHIN),
            Bank::load_connected(&server, &format!("connected_{shards}"), shards, WITHIN),
            Bank::load(&server, &format!("split_{shards}"), shards, WITHIN),
        ];
        let mut sides: [Rates; 3] = Default::default();
        for round in 0..PAIRS {
            for place in 0..sides.len() {
                let at = (place + round) % sides.len();
                sides[at].add_ours(&banks[at].trial(CLIENTS, WINDOW));
            }
        }
        titled(&format!(
            "Transfers within one of {shards} stores of one server, {BRANCHES} branches, {CLIENTS} clients"
        ));
        let [local, connected, split] = &sides;
        let connections = format!("local, {shards} connections per client");
        let stores = format!("2pc, {shards} stores");
        output::figure(&connections, &format!("{}/s", output::spread(&connected.rates, 0)));
        output::ratio("  relative to one connection", Ratio::of(&local.rates, &connected.rates));
        output::ratio(&format!("  {stores}, relative to that"), Ratio::of(&connected.rates, &split.rates));
        compared(("local, one store", local), (&stores, split), 0.98);
    }
}

/// Transfers between two stores by two-phase commit, one client, against what their flushes and round trips take alone.
fn against_bound() {
    // One client waits for one backend at a time. On two cores the scheduler would choose again which of them share one.
    process::keep_on_one_core();
    let Some(server) = engine::start(Engine::Postgres) else { return };
    let Some(unflushed) = engine::start_with(Engine::Postgres, &[("fsync", "off")]) else { return };
    let plain = plain(&server);
    let mut bank = Bank::load(&server, "split", 2, ACROSS);
    let mut without = Bank::load(&unflushed, "split", 2, ACROSS);
    let (mut costs, mut calls, mut works) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..PAIRS {
        for step in (0..3).map(|step| (step + round) % 3) {
            match step {
                0 => costs.push(reach(Costs::of(&plain))),
                1 => calls.push(Crossing::of(&bank.trial(1, WINDOW))),
                _ => works.push(Crossing::of(&without.trial(1, WINDOW)).micros),
            }
        }
    }
    let spread = |digits, figures: Vec<f64>| output::spread(&figures, digits);
    titled(&format!(
        "Transfers between two stores of one server by two-phase commit, {BRANCHES} branches, 1 client"
    ));
    let trips = spread(1, costs.iter().map(|costs| costs.trip).collect());
    output::figure("a round trip", &format!("{trips} µs"));
    output::figure("a flush", &format!("{} µs", spread(0, costs.iter().map(|costs| costs.flush).collect())));
    output::figure("round trips a call", &spread(2, calls.iter().map(Crossing::trips).collect()));
    output::figure("  statements of them", &spread(2, calls.iter().map(|call| call.statements).collect()));
    output::figure("flushes a call", &spread(2, calls.iter().map(Crossing::flushes).collect()));
    let bounds: Vec<f64> = costs.iter().zip(&calls).map(|(costs, call)| costs.bound(call)).collect();
    let taken: Vec<f64> = calls.iter().map(|call| call.micros).collect();
    output::figure("bound of a call", &format!("{} µs", output::spread(&bounds, 0)));
    output::figure("a call", &format!("{} µs", output::spread(&taken, 0)));
    // A rate is to the rate of the bound as the bound is to the time of a call.
    let ratio = Ratio::of(&taken, &bounds);
    output::ratio("  rate, of that of the bound", ratio);
    output::goal("at least 80 %", ratio.median >= 0.8);
    // The bound counts no work of the engine, which a call without flushes shows, round trips included.
    output::figure("a call without flushes (fsync=off)", &format!("{} µs", output::spread(&works, 0)));
    let bounds: Vec<f64> = (works.iter().zip(&costs).zip(&calls))
        .map(|((work, costs), call)| work + call.flushes() * costs.flush)
        .collect();
    output::figure("  with its flushes", &format!("{} µs", output::spread(&bounds, 0)));
    output::ratio("  rate, relative to both", Ratio::of(&taken, &bounds));
}

/// A saga at two fifths of what calls in one store reach, for a minute: does the relay keep up, and what does it cost?
fn saga() {
    titled(&format!("Transfers by a saga over two stores, an engine each, {BRANCHES} branches, open loop"));
    let folder = Folder::create("transfers");
    if let Err(why) = settled(&folder.path().join("results")) {
        output::skipped(&why);
    }
}

fn settled(out: &Path) -> Result<(), String> {
    let (scale, clients) = (BRANCHES.to_string(), CLIENTS.to_string());
    let local = ["--scale", &scale, "--clients", &clients, "--warmup", "2s", "--duration", "8s"];
    let capacity = run("transfer/postgres/tokio-postgres", &local, out)?.headline.value.value;
    output::figure("local, closed loop", &format!("{} calls/s", output::number(capacity, 0)));
    let rate = format!("{:.0}", capacity * 0.4);
    let open = ["--shards", "2", "--scale", &scale, "--rate", &rate, "--clients", "32"];
    let minute = ["--warmup", "3s", "--duration", "60s"];
    let trial = run("transfer/postgres/tokio-postgres/saga", &[&open[..], &minute].concat(), out)?;
    let answered = output::number(trial.overall.rate_per_s.value, 0);
    output::figure("saga", &format!("{rate} calls/s asked for, {answered} answered"));
    let settlement = trial.settled.as_ref().and_then(|settled| settled.settlement.as_ref());
    let settlement = settlement.ok_or("the document does not say how transfers were settled")?;
    kept_up(settlement)?;
    let micros = |role, count: f64| format!("{} µs", output::number(cpu_s(&trial, role) * 1e6 / count, 0));
    output::figure("CPU a call, generator", &micros(Role::Generator, trial.committed()));
    output::figure("CPU a call, both engines", &micros(Role::Engine, trial.committed()));
    output::figure("CPU a settled transfer, relay", &micros(Role::Relay, settlement.times.count as f64));
    Ok(())
}

/// Prints how long settling took, and whether what was on its way became more and more.
fn kept_up(settlement: &Settlement) -> Result<(), String> {
    let Settlement { times, backlog, .. } = settlement;
    let percentiles = times.p50_ns.zip(times.p99_ns).ok_or("too few transfers were settled for a p99")?;
    let [median, p99] = [percentiles.0, percentiles.1].map(|ns| ns as f64 / 1e6);
    let both = format!("{} and {} ms", output::number(median, 1), output::number(p99, 1));
    output::figure("settling, median and p99", &both);
    output::goal("p99 under 500 ms", p99 < 500.0);
    let third = backlog.len().div_ceil(3);
    let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len().max(1) as f64;
    let (first, last) = (mean(&backlog[..third]), mean(&backlog[backlog.len() - third..]));
    let means = format!("{} and {} on average", output::number(first, 1), output::number(last, 1));
    output::figure(
        "backlog, first and last third",
        &format!("{means}, {} at most", settlement.backlog_max()),
    );
    output::goal("the last at most twice the first and a hundred", last <= 2.0 * first + 100.0);
    Ok(())
}

/// Transfers within one store where each store has an engine of a quarter of a core: a second engine should nearly double
/// what is done.
fn on_two_engines() {
    titled(&format!(
        "Transfers within one store, an engine of 0.25 CPU each, {BRANCHES} branches, 16 clients"
    ));
    let folder = Folder::create("transfers");
    let out = folder.path().join("results");
    let scale = BRANCHES.to_string();
    let (mut one, mut two) = (LimitedRates::default(), LimitedRates::default());
    for side in turns(PAIRS).flatten() {
        let (locked, shards) = if side == Side::A { (&mut one, "1") } else { (&mut two, "2") };
        let what = ["--shards", shards, "--only", WITHIN, "--scale", &scale, "--clients", "16"];
        let how = ["--warmup", "2s", "--duration", "8s", "--limit", "engine:cpu=0.25,mem=1GiB"];
        match run("transfer/postgres/tokio-postgres/2pc", &[&what[..], &how].concat(), &out) {
            Ok(trial) => locked.add(&trial),
            Err(why) => return output::skipped(&why),
        }
    }
    one.say("one engine");
    two.say("two engines");
    let ratio = Ratio::of(&one.rates, &two.rates);
    output::ratio("two of one", ratio);
    output::goal("at least 1.85 times", ratio.median >= 1.85);
}

fn titled(text: &str) {
    output::title(&format!("{text}; load average {}", process::load_average()));
}

/// What trials of one side gave.
#[derive(Default)]
struct Rates {
    rates: Vec<f64>,
    cpu_micros: Vec<f64>,
}

impl Rates {
    fn add(&mut self, rate: f64, cpu_micros: f64) {
        self.rates.push(rate);
        self.cpu_micros.push(cpu_micros);
    }

    fn add_ours(&mut self, figures: &Figures) {
        self.add(figures.all(), figures.cpu_micros);
    }
}

/// Prints two sides, and whether the second reaches a share of the first.
fn compared(a: (&str, &Rates), b: (&str, &Rates), share_min: f64) {
    for (name, Rates { rates, .. }) in [a, b] {
        output::figure(name, &format!("{}/s", output::spread(rates, 0)));
    }
    let ratio = Ratio::of(&a.1.rates, &b.1.rates);
    output::ratio("  of the first", ratio);
    output::goal(&format!("at least {:.0} %", share_min * 100.0), ratio.median >= share_min);
    for (name, Rates { cpu_micros, .. }) in [a, b] {
        output::figure(&format!("CPU a call, {name}"), &format!("{} µs", output::spread(cpu_micros, 1)));
    }
}

/// A database with one row that is there to be changed.
fn plain(server: &rig::Running) -> ServerUrl {
    server.create_database("plain").expect("a private engine takes a database");
    let row = "create table counter (n bigint not null); insert into counter values (0)";
    server.client("plain", row).expect("a private engine takes a table");
    server.url("plain")
}

/// What a call between two stores takes.
struct Crossing {
    micros: f64,
    statements: f64,
    /// That of the source, and of the target's prepared part.
    commits: f64,
}

impl Crossing {
    fn of(figures: &Figures) -> Crossing {
        let Figures { statements, commits, .. } = *figures;
        Crossing { micros: 1e6 / figures.all(), statements, commits }
    }

    /// Next to statements and commits a begin in each store and the prepare of the target's part, which no session counts.
    fn trips(&self) -> f64 {
        self.statements + self.commits + 3.0
    }

    /// Each commit, and the prepare.
    fn flushes(&self) -> f64 {
        self.commits + 1.0
    }
}

const ROUND_TRIPS: usize = 2_000;
const FLUSHES: usize = 300;

/// Medians on a plain connection, in microseconds.
struct Costs {
    trip: f64,
    flush: f64,
}

impl Costs {
    async fn of(url: &ServerUrl) -> Result<Costs, Box<dyn std::error::Error>> {
        let texts = ["select 1", "update counter set n = n + 1"].map(String::from);
        let mut conn = PostgresConn::prepare(connect_to_write(url).await?, &texts).await?;
        let clock = Monotonic::start();
        let micros_since = |before| (clock.now() - before).as_secs_f64() * 1e6;
        let (mut trips, mut commits) = (Vec::new(), Vec::new());
        for _ in 0..ROUND_TRIPS {
            conn.begin(TxKind::OneRead).await?;
            let before = clock.now();
            conn.row(StmtId(0), &[], |row| row.int(0)).await?;
            trips.push(micros_since(before));
        }
        for _ in 0..FLUSHES {
            conn.begin(TxKind::Write).await?;
            conn.exec(StmtId(1), &[]).await?;
            let before = clock.now();
            conn.commit().await?;
            commits.push(micros_since(before));
        }
        let trip = Spread::of(&trips).median;
        Ok(Costs { trip, flush: Spread::of(&commits).median - trip })
    }

    /// What a call takes at the least, as none of its round trips and flushes can be made next to another.
    fn bound(&self, call: &Crossing) -> f64 {
        call.trips() * self.trip + call.flushes() * self.flush
    }
}

/// One trial by `stackmark run`.
fn run(subject: &str, options: &[&str], out: &Path) -> Result<Trial, String> {
    let document = cli::stackmark(&[&["run", subject][..], options].concat(), out)?;
    if let Some(why) = cli::voided(&document) {
        return Err(format!("a trial is invalid: {why}"));
    }
    document.trials.into_iter().next().ok_or_else(|| "the document has no trial".to_owned())
}

/// Processor time of all processes of a role, in seconds.
fn cpu_s(trial: &Trial, role: Role) -> f64 {
    let of_role = trial.processes.iter().filter(|process| process.roles.contains(&role));
    of_role.map(result::Process::cpu_s).sum()
}

/// What trials with limited engines gave.
#[derive(Default)]
struct LimitedRates {
    rates: Vec<f64>,
    /// Processors that all processes of a trial kept busy.
    cores: Vec<f64>,
    /// Of each engine the periods in which it had to wait, in per cent of those in which it wanted to run.
    throttled: Vec<Vec<f64>>,
}

impl LimitedRates {
    fn add(&mut self, trial: &Trial) {
        self.rates.push(trial.headline.value.value);
        let all_s: f64 = trial.processes.iter().map(result::Process::cpu_s).sum();
        self.cores.push(all_s / trial.measured_s);
        let engines = trial.processes.iter().filter(|process| process.roles.contains(&Role::Engine));
        let throttlings = engines.map(|engine| engine.limits.and_then(|limits| limits.throttling));
        for (at, throttling) in throttlings.enumerate() {
            if self.throttled.len() <= at {
                self.throttled.push(Vec::new());
            }
            // Where the system does not count it, nothing is said.
            if let Some(counted) = throttling.filter(|counted| counted.periods > 0) {
                let share = counted.throttled_periods as f64 / counted.periods as f64;
                self.throttled[at].push(share * 100.0);
            }
        }
    }

    fn say(&self, name: &str) {
        output::figure(name, &format!("{} calls/s", output::spread(&self.rates, 0)));
        output::figure("  cores busy in all", &output::spread(&self.cores, 2));
        for (engine, periods) in (1..).zip(&self.throttled).filter(|(_, periods)| !periods.is_empty()) {
            let share = output::spread(periods, 0);
            output::figure(&format!("  engine {engine}, throttled"), &format!("{share} % of its periods"));
        }
    }
}
