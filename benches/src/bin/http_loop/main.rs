//! What a call through HTTP costs the load generator: New-Orders drawn, encoded, sent, their answers parsed, checked and
//! recorded, 50 connections on one core, against a server on another core that answers at once. Next to it, if it is
//! installed, wrk with one fixed body: it builds nothing, parses a status and a length, and checks neither. Then the same of
//! reads of the catalogue, whose answers are digested, compared with wrk with the same requests.

mod allocations;
mod gets;

use adapter_http::{Expected, HttpSession, HttpTarget};
use contract::Wire;
use drive::{Plan, Stop, TrialProgress};
use measure::Monotonic;
use model::{CallWork, Fault, Home, Inputs as _, Nanos, OpenError, Session, Stack, Target};
use stackmark_benches::data::Folder;
use stackmark_benches::orders::{Inputs, Orders};
use stackmark_benches::pairs::{Ratio, Side, Spread, turns};
use stackmark_benches::server::Server;
use stackmark_benches::{instant_server, output, process, wrk};
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use workload_tpcc::{Call, Cardinality, Data, Ledger, kind};

const CONNECTIONS: u32 = 50;
/// Of one more run, for its memory alone.
const CONNECTIONS_MANY: u32 = 500;
const SIZE: Cardinality = Cardinality::standard(1);
const PAIRS: usize = 4;
const WARM_UP: Nanos = Nanos::from_millis(500);
const MEASURED: Nanos = Nanos::from_millis(2_500);
/// Seconds of wrk's runs: as long as ours with their warm-up.
const WRK_SECONDS: u64 = 3;
/// Cores of the generator and of the server; the first ones are left to the system and to those who pipe our output.
const GENERATOR_CORE: usize = 0;
const SERVER_CORE: usize = 1;
/// Most of wrk's requests that may be answered with a problem, as those of the catalogue for what is not there.
const DECLINED_MAX: f64 = 0.03;
/// Calls of a thread after which everything that is made once has been made.
const SETTLED: u64 = 5_000;

const CALLS_A_SECOND_MIN: f64 = 70_000.0;
const CPU_SECONDS_A_MILLION_MAX: f64 = 12.0;
const MEMORY_BYTES_MAX: u64 = 50 << 20;
const MEMORY_BYTES_MANY_MAX: u64 = 200 << 20;
/// What the allocator and the system may round.
const RESIDENT_BYTES_SLACK: u64 = 512 << 10;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("server") {
        return serve();
    }
    let executable = std::env::current_exe().expect("the system knows what it runs");
    let server = Server::start(Command::new(executable).arg("server"));
    let folder = Folder::create("http-loop");
    let script = wrk_script(folder.path());
    let orders = Load::<Orders> {
        kind: kind::NEW_ORDER,
        inputs: &|worker| Inputs::new(workload_tpcc::Inputs::new(SIZE, Data::c_load_of(1), 1, worker)),
        ledger: &|| Ledger::new(SIZE),
    };
    let (ours, wrk) = take_turns(&server.url, &orders, &script);
    print(&ours, &wrk);
    run_apart(&server.url, CONNECTIONS_MANY, &orders);
    // Of the whole process, and so no less than what the run with many connections took.
    let peak = process::resident_bytes_peak();
    output::figure(
        &format!("memory with {CONNECTIONS_MANY} connections"),
        &format!("{:.1} MiB, peak", mib(peak)),
    );
    output::goal(&format!("below {:.0} MiB", mib(MEMORY_BYTES_MANY_MAX)), peak < MEMORY_BYTES_MANY_MAX);
    drop(server);
    gets::compare(&folder);
}

/// Our runs and, if it is installed, wrk's.
fn take_turns<W: Wire>(url: &str, load: &Load<'_, W>, script: &Path) -> (Vec<Run>, Vec<Run>) {
    let wrk_is_here = wrk::is_here();
    let (mut ours, mut wrk) = (Vec::new(), Vec::new());
    for side in turns(PAIRS).flatten() {
        match side {
            Side::A if wrk_is_here => wrk.push(run_wrk(url, script)),
            Side::A => {}
            Side::B => ours.push(run_apart(url, CONNECTIONS, load)),
        }
    }
    (ours, wrk)
}

/// What a run of ours is made of: its calls, and the kind whose times are shown.
struct Load<'a, W: Wire> {
    kind: usize,
    inputs: &'a (dyn Fn(u32) -> W::Inputs + Sync),
    ledger: &'a (dyn Fn() -> W::Ledger + Sync),
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// What a run of either gave.
struct Run {
    calls_a_second: f64,
    cpu_seconds_a_million: f64,
    p50_ms: f64,
    ours: Option<Ours>,
}

/// What we know of our own runs alone.
struct Ours {
    calls_watched: u64,
    allocations: u64,
    /// At the ends of the first and the last slice of a second.
    resident_bytes: (u64, u64),
}

/// On a thread of its own, so that it and the threads it starts are kept on one core and nothing else is.
fn run_apart<W: Wire>(url: &str, connections: u32, load: &Load<'_, W>) -> Run {
    std::thread::scope(|scope| {
        scope.spawn(|| run_ours(url, connections, load)).join().expect("a run that fails has said so")
    })
}

fn run_ours<W: Wire>(url: &str, connections: u32, load: &Load<'_, W>) -> Run {
    process::pin(GENERATOR_CORE);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let target = runtime
        .expect("the system has room for a runtime")
        .block_on(HttpTarget::<W>::reach(url, &Expected { scale: None }))
        .expect("our server answers");
    let seen = Arc::new(Seen::default());
    let target = Arc::new(Watched { target, seen: Arc::clone(&seen) });
    let plan = Plan { workers: connections, warmup: WARM_UP, measured: MEASURED, ..Plan::default() };
    let mut resident = Vec::with_capacity(16);
    let trial = drive::run::<W, _, _>(
        &plan,
        &target,
        load.inputs,
        load.ledger,
        Monotonic::start(),
        &Stop::new(),
        &mut |_: &TrialProgress<'_, W>| resident.push(process::resident_bytes()),
    );
    let trial = trial.expect("the plan is valid and the server answers");
    assert_eq!(trial.failure, None, "a trial that fails is not a measurement");
    let call_counts = trial.totals.call_counts();
    let p50 = trial.totals.kinds[load.kind].committed.response.quantile(0.5).unwrap_or_default();
    Run {
        calls_a_second: trial.totals.committed() as f64 / trial.span.as_secs_f64(),
        cpu_seconds_a_million: trial.cpu.as_secs_f64() * 1e6
            / (call_counts.started + trial.uncounted.started) as f64,
        p50_ms: p50.as_millis_f64(),
        ours: Some(Ours {
            calls_watched: seen.calls.load(Ordering::Relaxed),
            allocations: seen.allocations.load(Ordering::Relaxed),
            resident_bytes: (resident[0], resident[resident.len() - 1]),
        }),
    }
}

fn print(ours: &[Run], wrk: &[Run]) {
    let rates = |runs: &[Run]| runs.iter().map(|run| run.calls_a_second).collect::<Vec<_>>();
    let cpus = |runs: &[Run]| runs.iter().map(|run| run.cpu_seconds_a_million).collect::<Vec<_>>();
    let p50s = |runs: &[Run]| runs.iter().map(|run| run.p50_ms).collect::<Vec<_>>();
    output::title(&format!(
        "New-Order over HTTP, {CONNECTIONS} connections on one core, against a server on another that answers at once"
    ));
    output::figure(
        "calls",
        &format!("{}/s, p50 {} ms", output::spread(&rates(ours), 0), output::spread(&p50s(ours), 2)),
    );
    let least = output::number(CALLS_A_SECOND_MIN, 0);
    output::goal(&format!("at least {least}/s"), Spread::of(&rates(ours)).median >= CALLS_A_SECOND_MIN);
    output::figure(
        "CPU of the generator's thread",
        &format!("{} s a million calls", output::spread(&cpus(ours), 2)),
    );
    let busy: Vec<f64> =
        ours.iter().map(|run| run.calls_a_second * run.cpu_seconds_a_million / 1e4).collect();
    output::figure(
        "  of its core",
        &format!("{} % (if far below 100, others held the cores)", output::spread(&busy, 0)),
    );
    let met = Spread::of(&cpus(ours)).median <= CPU_SECONDS_A_MILLION_MAX;
    output::goal(&format!("at most {CPU_SECONDS_A_MILLION_MAX:.0} s"), met);

    print_allocations(ours);
    // Of the first run: later ones find memory that is there already.
    let first = ours.iter().find_map(|run| run.ours.as_ref());
    let (first, last) = first.map_or((0, 0), |run| run.resident_bytes);
    let peak = process::resident_bytes_peak();
    let text = format!(
        "{:.1} MiB after a second, {:.1} at the end, peak of all {:.1}",
        mib(first),
        mib(last),
        mib(peak)
    );
    output::figure("memory, our HTTP client and all", &text);
    output::goal(&format!("constant, below {:.0} MiB", mib(MEMORY_BYTES_MAX)), {
        last.abs_diff(first) < RESIDENT_BYTES_SLACK && peak < MEMORY_BYTES_MAX
    });

    if wrk.is_empty() {
        return output::skipped("wrk, for scale: it is not installed");
    }
    output::figure("wrk, one fixed body: calls", &format!("{}/s", output::spread(&rates(wrk), 0)));
    output::figure("wrk: CPU", &format!("{} s a million calls", output::spread(&cpus(wrk), 2)));
    output::ratio("  CPU, ours of wrk's", Ratio::of(&cpus(wrk), &cpus(ours)));
}

fn print_allocations(ours: &[Run]) {
    let known = ours.iter().filter_map(|run| run.ours.as_ref());
    let (calls, allocations) =
        known.fold((0, 0), |(calls, all), run| (calls + run.calls_watched, all + run.allocations));
    let calls = output::number(calls as f64, 0);
    output::figure("allocations of the thread", &format!("{allocations} in {calls} calls"));
    output::goal("none", allocations == 0);
}

/// Watches the allocations of the thread on which all sessions live: those of the load generator, of the inputs, of the
/// tape, of the HTTP client and of the runtime.
struct Watched<W: Wire> {
    target: HttpTarget<W>,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    calls: AtomicU64,
    allocations: AtomicU64,
}

struct WatchedSession<W: Wire> {
    session: HttpSession<W>,
    seen: Arc<Seen>,
}

impl<W: Wire> Target<W> for Watched<W> {
    type Session = WatchedSession<W>;

    fn home(&self) -> Home {
        Home::Task
    }

    async fn open(&self, worker: u32) -> Result<WatchedSession<W>, OpenError> {
        Ok(WatchedSession { session: self.target.open(worker).await?, seen: Arc::clone(&self.seen) })
    }

    fn stack(&self) -> Stack {
        self.target.stack()
    }
}

impl<W: Wire> Session<W> for WatchedSession<W> {
    async fn run(&mut self, call: &W::Call, work: &mut CallWork) -> Result<W::Outcome, Fault> {
        if let Some((calls, allocations)) = allocations::so_far(SETTLED) {
            self.seen.calls.store(calls, Ordering::Relaxed);
            self.seen.allocations.store(allocations, Ordering::Relaxed);
        }
        self.session.run(call, work).await
    }
}

/// The server's process: until whoever started it is gone.
fn serve() {
    process::pin(SERVER_CORE);
    let address = instant_server::start().expect("the loopback address has a free port");
    let mut stdout = std::io::stdout();
    writeln!(stdout, "http://{address}").expect("someone waits for this line");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// A script with which wrk sends one New-Order of ten lines again and again.
fn wrk_script(folder: &Path) -> PathBuf {
    let mut inputs = Inputs::new(workload_tpcc::Inputs::new(SIZE, Data::c_load_of(1), 1, 0));
    let of_ten_lines = |call: &Call| matches!(call, Call::NewOrder(order) if order.lines.len() == 10);
    let call = std::iter::repeat_with(|| inputs.draw()).find(of_ten_lines).expect("the stream is endless");
    let mut body = Vec::new();
    Orders::encode_call(&call, &mut body);
    let body = String::from_utf8_lossy(&body);
    let script = format!(
        "wrk.method = \"POST\"\nwrk.body = '{body}'\nwrk.headers[\"content-type\"] = \"application/json\"\n\
         wrk.path = \"{}\"\n",
        Orders::ENDPOINTS[kind::NEW_ORDER].path
    );
    let path = folder.join("new-order.lua");
    std::fs::write(&path, script).expect("the folder of the benches can be written");
    path
}

fn run_wrk(url: &str, script: &Path) -> Run {
    let ran = wrk::run(Some(GENERATOR_CORE), CONNECTIONS, WRK_SECONDS, script, url);
    assert!(ran.refused <= DECLINED_MAX * ran.requests, "the server must understand wrk: {ran:?}");
    Run {
        calls_a_second: ran.requests / ran.seconds,
        cpu_seconds_a_million: ran.cpu_seconds / ran.requests * 1e6,
        p50_ms: ran.p50_p99_ms[0],
        ours: None,
    }
}
