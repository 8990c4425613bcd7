//! What connections cost: one load generator with 100, 1,000 and 10,000 of them against our server on the catalogue, at the same rate of
//! reads. Memory of both per connection, CPU time per call, and how late calls are.

use result::{Class, Role, Trial};
use stackmark_benches::cli::{self, stackmark, voided};
use stackmark_benches::data::Folder;
use stackmark_benches::output;
use stackmark_benches::server::Server;

/// Clients, each with a connection.
const CLIENTS: [u32; 3] = [100, 1_000, 10_000];
/// Calls a second over all of them, far below what either process can do, and their duration.
const RATE: &str = "2000";
const SECONDS: &str = "20s";
/// Seconds of calls at the same rate before those.
const WARMUP_S: u32 = 5;
/// A limit of the memory that a connection may take in the load generator, in KiB.
const GENERATOR_KIB_MAX: f64 = 64.0;

/// What was measured with so many connections.
struct Measured {
    clients: u32,
    /// Bytes, at their peak.
    generator: u64,
    server: u64,
    generator_us: f64,
    server_us: f64,
    calls: u64,
    p50_p99_ms: [f64; 2],
}

fn main() {
    output::title(&format!("connections: {RATE} reads a second of the catalogue for {SECONDS}"));
    let folder = Folder::create("connections");
    let measured: Result<Vec<Measured>, String> =
        CLIENTS.iter().map(|clients| measure(*clients, &folder)).collect();
    let measured = match measured {
        Ok(measured) => measured,
        Err(why) => return output::skipped(&why),
    };
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    for Measured { clients, generator, server, generator_us, server_us, calls, p50_p99_ms: [p50, p99] } in
        &measured
    {
        output::figure(
            &format!("{} connections", output::number(f64::from(*clients), 0)),
            &format!(
                "{calls} calls; generator {:.0} MiB, {generator_us:.0} µs of CPU a call; server {:.0} MiB, {server_us:.0} µs; p50 {p50:.2} \
                 ms, p99 {p99:.1} ms",
                mib(*generator),
                mib(*server)
            ),
        );
    }
    let (few, many) = (&measured[0], &measured[measured.len() - 1]);
    let each = |few_bytes: u64, many_bytes: u64| {
        many_bytes.saturating_sub(few_bytes) as f64 / f64::from(many.clients - few.clients) / 1_024.0
    };
    let generator = each(few.generator, many.generator);
    output::figure("memory a connection, load generator", &format!("{generator:.1} KiB"));
    output::goal(&format!("below {GENERATOR_KIB_MAX:.0} KiB"), generator < GENERATOR_KIB_MAX);
    output::figure("memory a connection, server", &format!("{:.1} KiB", each(few.server, many.server)));
}

/// A server of its own for each: what many connections took it does not give back.
fn measure(clients: u32, folder: &Folder) -> Result<Measured, String> {
    let server = Server::of_catalogue(&cli::address(&folder.url("foods.db"), "synchronous=normal"), None)?;
    let (count, warmup) = (clients.to_string(), format!("{WARMUP_S}s"));
    let args = [
        "run",
        "catalogue",
        "--url",
        &server.url,
        "--only",
        "food-read",
        "--clients",
        &count,
        "--rate",
        RATE,
        "--duration",
        SECONDS,
        "--warmup",
        &warmup,
    ];
    let before = server.cpu();
    let document = stackmark(&args, &folder.path().join("results"))?;
    let cpu = server.cpu() - before;
    if let Some(why) = voided(&document) {
        return Err(format!("{clients} connections: {why}"));
    }
    let trial = document.trials.first().ok_or("the document has no trial")?;
    let generator = trial.processes.iter().find(|process| process.roles.contains(&Role::Generator));
    let generator = generator.ok_or("the load generator was not observed")?;
    let calls = trial.overall.call_counts.committed;
    let response =
        trial.overall.latency(Class::Committed).map(|times| &times.response).ok_or("no call committed")?;
    let millis = |nanos: Option<u64>| nanos.map_or(f64::NAN, |nanos| nanos as f64 / 1e6);
    Ok(Measured {
        clients,
        generator: generator.rss_peak_bytes,
        server: server.resident_bytes_peak(),
        generator_us: generator.cpu_ms_per_1000_committed.unwrap_or(f64::NAN),
        // The calls that check the server before the warm-up are in it: they are few.
        server_us: cpu.as_secs_f64() * 1e6 / all_calls(trial) as f64,
        calls,
        p50_p99_ms: [millis(response.p50_ns), millis(response.p99_ns)],
    })
}

/// Calls of the warm-up at the same rate, too.
fn all_calls(trial: &Trial) -> u64 {
    let counted = trial.overall.call_counts.started as f64;
    (counted * (trial.measured_s + f64::from(WARMUP_S)) / trial.measured_s) as u64
}
