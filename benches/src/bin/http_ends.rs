//! What the two ends of an HTTP call cost: New-Orders from our load generator to our server, whose sessions answer at once, compared with a bare
//! exchange of as many bytes between two processes on the same runtime, which neither build, parse nor check anything. Eight connections,
//! 1,000 calls/s: each call wakes both processes, as it does in front of an engine; and then as many calls as two cores give.

use adapter_http::{Expected, HttpTarget};
use drive::{Arrivals, Plan, RatePerSecond, Stop, TrialProgress};
use measure::{Monotonic, thread_cpu};
use model::{
    AnyTarget, CallWork, Clock, Connections, Fault, Home, HttpOptions, Nanos, OpenError, Session, Stack,
    Target, Transport,
};
use server::Settings;
use stackmark_benches::instant_server::outcome;
use stackmark_benches::orders::{Inputs, Orders};
use stackmark_benches::pairs::{Ratio, Side, turns};
use stackmark_benches::server::Server;
use stackmark_benches::{output, process};
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use transport::{Dialer, ExtraEndpoint, ExtraListener, Incoming, Stream};
use workload_tpcc::{Call, Cardinality, Data, Ledger, Outcome};

// The released programs use it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CONNECTIONS: u32 = 8;
const RATE: f64 = 1_000.0;
const PAIRS: usize = 4;
const WARM_UP: Nanos = Nanos::from_millis(500);
const MEASURED: Nanos = Nanos::from_secs(3);
const SIZE: Cardinality = Cardinality::standard(1);
/// CPU time of our ends, of that of a bare exchange.
const RATIO_MAX: f64 = 2.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["ours", transport] => return our_end(transport.parse().expect("we have started it")),
        ["bare", transport, request, answer] => {
            let bytes = [request, answer].map(|bytes| bytes.parse().expect("we have started it"));
            return bare_end(transport.parse().expect("we have started it"), bytes.into());
        }
        _ => process::keep_on_two_cores(),
    }
    let bytes = run(Transport::Tcp, Some(RATE), None).bytes;
    for rate in [Some(RATE), None] {
        let load = rate.map_or("as many calls as there can be".to_owned(), |rate| {
            format!("{} calls/s", output::number(rate, 0))
        });
        output::title(&format!("New-Order over HTTP, {CONNECTIONS} connections on two cores, {load}"));
        for transport in [Transport::Tcp, Transport::Unix, Transport::Tls] {
            let (mut bare, mut ours) = (Vec::new(), Vec::new());
            for side in turns(PAIRS).flatten() {
                match side {
                    Side::A => bare.push(run(transport, rate, Some(bytes))),
                    Side::B => ours.push(run(transport, rate, None)),
                }
            }
            let all =
                |runs: &[Cost]| runs.iter().map(|cost| cost.client_us + cost.server_us).collect::<Vec<_>>();
            print(&format!("{transport}: bare exchange"), &bare);
            print(&format!("{transport}: our ends"), &ours);
            let ratio = Ratio::of(&all(&bare), &all(&ours));
            output::ratio("  CPU, ours of the bare one's", ratio);
            if transport == Transport::Tcp && rate.is_some() {
                output::goal(&format!("at most {RATIO_MAX:.0} times"), ratio.median <= RATIO_MAX);
            }
        }
    }
}

/// CPU time of a call, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Cost {
    client_us: f64,
    server_us: f64,
    bytes: (usize, usize),
}

fn print(name: &str, costs: &[Cost]) {
    let of = |part: fn(&Cost) -> f64| output::spread(&costs.iter().map(part).collect::<Vec<_>>(), 1);
    let bytes = costs.first().map_or((0, 0), |cost| cost.bytes);
    output::figure(
        name,
        &format!(
            "{} µs: client {}, server {}; {} and {} bytes",
            of(|cost| cost.client_us + cost.server_us),
            of(|cost| cost.client_us),
            of(|cost| cost.server_us),
            bytes.0,
            bytes.1
        ),
    );
}

/// The other end, in a process of its own, and calls from this one, on a thread of its own: bare exchanges of so many bytes, or ours.
fn run(transport: Transport, rate: Option<f64>, bare: Option<(usize, usize)>) -> Cost {
    let mut command = Command::new(std::env::current_exe().expect("the system knows what it runs"));
    match bare {
        Some((request, answer)) => {
            command.args(["bare", &transport.to_string(), &request.to_string(), &answer.to_string()])
        }
        None => command.args(["ours", &transport.to_string()]),
    };
    let server = Server::start(&mut command);
    let before = server.cpu();
    let (calls, cpu, bytes) = std::thread::scope(|scope| {
        let calls = || match bare {
            Some(bytes) => bare_calls(&server.url, transport, rate, bytes),
            None => our_calls(&server.url, transport, rate),
        };
        scope.spawn(calls).join().expect("a run that fails has said so")
    });
    let each = |cpu: Nanos| cpu.0 as f64 / 1e3 / calls as f64;
    Cost { client_us: each(cpu), server_us: each(server.cpu() - before), bytes }
}

fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("the system has room for a runtime")
}

/// Calls, the CPU time of the thread that made them, and bytes of a request and of its answer.
type Made = (u64, Nanos, (usize, usize));

/// Exchanges of bytes that mean nothing.
fn bare_calls(url: &str, transport: Transport, rate: Option<f64>, bytes: (usize, usize)) -> Made {
    let dialer = dialer(url, transport);
    let clock = Monotonic::start();
    let until = WARM_UP + MEASURED;
    let gap = rate.map(|rate| Duration::from_secs_f64(f64::from(CONNECTIONS) / rate));
    let worker = move |number: u32, mut stream: Stream| async move {
        let (request, mut answer) = (vec![b'x'; bytes.0], vec![0; bytes.1]);
        let mut calls = 0;
        tokio::time::sleep(gap.unwrap_or_default() * number / CONNECTIONS).await;
        let mut ticks = gap.map(tokio::time::interval);
        while clock.now() < until {
            if let Some(ticks) = &mut ticks {
                ticks.tick().await;
            }
            stream.write_all(&request).await.expect("the other end reads");
            stream.flush().await.expect("the other end reads");
            stream.read_exact(&mut answer).await.expect("the other end answers");
            calls += 1;
        }
        calls
    };
    let (calls, opened) = runtime().block_on(async {
        let mut streams = Vec::new();
        for _ in 0..CONNECTIONS {
            streams.push(dialer.open().await.expect("the other end accepts"));
        }
        let opened = thread_cpu();
        let workers: Vec<_> =
            (0..).zip(streams).map(|(number, stream)| tokio::spawn(worker(number, stream))).collect();
        let mut calls = 0;
        for worker in workers {
            calls += worker.await.expect("a worker that fails has said so");
        }
        (calls, opened)
    });
    (calls, thread_cpu() - opened, bytes)
}

/// Where a bare end listens: its address, and what stands behind it.
fn dialer(url: &str, transport: Transport) -> Dialer {
    let (socket, elsewhere) = url.split_once('|').expect("it says where it listens besides");
    let elsewhere: Option<ExtraEndpoint> = serde_json::from_str(elsewhere).expect("it was written as one");
    let socket = socket.parse().expect("it is an address");
    Dialer::to(socket, elsewhere.as_ref(), transport).expect("it listens there")
}

/// New-Orders by our load generator.
fn our_calls(url: &str, transport: Transport, rate: Option<f64>) -> Made {
    let options = HttpOptions { transport, connections: Connections::Keep };
    let target = runtime().block_on(HttpTarget::<Orders>::reach(url, &Expected { scale: None }));
    let target = target.and_then(|target| target.through(options)).expect("our server answers");
    let plan = Plan {
        workers: CONNECTIONS,
        arrivals: rate.map_or(Arrivals::Closed, |rate| Arrivals::Constant(RatePerSecond(rate))),
        warmup: WARM_UP,
        measured: MEASURED,
        ..Plan::default()
    };
    let before = thread_cpu();
    let trial = drive::run::<Orders, _, _>(
        &plan,
        &Arc::new(target),
        |worker| Inputs::new(workload_tpcc::Inputs::new(SIZE, Data::c_load_of(1), 1, worker)),
        || Ledger::new(SIZE),
        Monotonic::start(),
        &Stop::new(),
        &mut |_: &TrialProgress<'_, Orders>| {},
    );
    let trial = trial.expect("the plan is valid and the server answers");
    assert_eq!(trial.failure, None, "a trial that fails is not a measurement");
    let sums = &trial.totals.kinds[workload_tpcc::kind::NEW_ORDER].work;
    let each = |bytes: u64| (bytes / sums.calls.max(1)) as usize;
    let bytes = (each(sums.sent_bytes), each(sums.received_bytes));
    // The thread that collects is a part of it.
    let cpu = trial.cpu + (thread_cpu() - before);
    (trial.totals.call_counts().started + trial.uncounted.started, cpu, bytes)
}

/// The server's process that only returns as many bytes for as many: until whoever started it is gone.
fn bare_end(transport: Transport, bytes: (usize, usize)) {
    runtime().block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let listen = listener.local_addr().expect("it listens");
        let also = ExtraListener::on(transport, listen).expect("it can listen there");
        let elsewhere = serde_json::to_string(&also.described()).expect("it has a JSON form");
        // One word, although a certificate has spaces.
        let elsewhere = elsewhere.replace(' ', "\\u0020");
        writeln!(std::io::stdout(), "{listen}|{elsewhere}").expect("someone waits for this line");
        loop {
            let incoming = tokio::select! {
                incoming = listener.accept() => incoming.map(|(stream, _)| Incoming::Tcp(stream)),
                incoming = also.accept() => incoming,
            };
            let incoming = incoming.expect("the client connects");
            tokio::spawn(async move {
                let mut stream = incoming.ready().await.expect("the client goes on");
                let (mut request, answer) = (vec![0; bytes.0], vec![b'x'; bytes.1]);
                while stream.read_exact(&mut request).await.is_ok() {
                    stream.write_all(&answer).await.expect("the client reads");
                    stream.flush().await.expect("the client reads");
                }
            });
        }
    });
}

/// The server's process with our server, whose sessions answer at once.
fn our_end(transport: Transport) {
    let settings = Settings {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        transport,
        workers: 1,
        sessions: CONNECTIONS,
        ..Settings::default()
    };
    let bound = server::Server::bind(settings).expect("a port is free");
    writeln!(std::io::stdout(), "http://{}", bound.addr()).expect("someone waits for this line");
    let served = bound.serve::<Orders>(AnyTarget::new(AtOnce), SIZE, std::future::pending());
    served.expect("it serves until it is killed");
}

/// Answers each New-Order at once, without an engine.
struct AtOnce;

impl Target<Orders> for AtOnce {
    type Session = AtOnce;

    fn home(&self) -> Home {
        Home::Task
    }

    async fn open(&self, _worker: u32) -> Result<AtOnce, OpenError> {
        Ok(AtOnce)
    }

    fn stack(&self) -> Stack {
        Stack { engine: "none".into(), ..Stack::default() }
    }
}

impl Session<Orders> for AtOnce {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        work.attempts += 1;
        let lines = if let Call::NewOrder(order) = call { order.lines.len() } else { 0 };
        Ok(outcome(lines))
    }
}
