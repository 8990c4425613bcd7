//! wrk, where it is installed.

use crate::process;
use contract::Wire;
use model::Inputs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Calls whose requests are sent over and over.
const REQUESTS: usize = 2_000;

/// What a run of it gave.
#[derive(Debug, Clone, Copy)]
pub struct Wrk {
    /// Requests that were answered.
    pub requests: f64,
    /// Of these, with a status other than 2xx and 3xx.
    pub refused: f64,
    /// How long it ran.
    pub seconds: f64,
    /// Processor time, in seconds.
    pub cpu_seconds: f64,
    /// Median and 99th percentile of its latencies, in milliseconds.
    pub p50_p99_ms: [f64; 2],
}

/// Whether it is installed.
pub fn is_here() -> bool {
    Command::new("wrk").arg("-v").output().is_ok()
}

/// Runs it for so many seconds with one thread, on one core if one is named.
///
/// # Panics
/// When it is not installed, or does not say what it did.
pub fn run(core: Option<usize>, connections: u32, seconds: u64, script: &Path, url: &str) -> Wrk {
    let mut command = match core {
        Some(core) => {
            let mut command = Command::new("taskset");
            command.args(["-c", &core.to_string(), "wrk"]);
            command
        }
        None => Command::new("wrk"),
    };
    let before = process::children_cpu_seconds();
    command.args([
        "-t",
        "1",
        "-c",
        &connections.to_string(),
        "-d",
        &format!("{seconds}s"),
        "--latency",
        "-s",
    ]);
    let output = command.arg(script).arg(url).output().expect("wrk is installed");
    let cpu_seconds = process::children_cpu_seconds() - before;
    let text = String::from_utf8_lossy(&output.stdout);
    // `  148234 requests in 3.00s, 123.45MB read`.
    let done = text.lines().find_map(|line| {
        let (requests, rest) = line.trim().split_once(" requests in ")?;
        let (seconds, _) = rest.split_once(", ")?;
        Some((requests.parse().ok()?, millis(seconds)? / 1e3))
    });
    let (requests, seconds) = done.unwrap_or_else(|| panic!("wrk says how many requests it made: {text}"));
    let refused = text.lines().find_map(|line| line.trim().strip_prefix("Non-2xx or 3xx responses: "));
    let percentile = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
        line.and_then(|rest| millis(rest.trim())).unwrap_or(f64::NAN)
    };
    Wrk {
        requests,
        refused: refused.and_then(|count| count.parse().ok()).unwrap_or(0.0),
        seconds,
        cpu_seconds,
        p50_p99_ms: [percentile("50%"), percentile("99%")],
    }
}

/// A script with which wrk sends the requests of these calls in their order. They are put together beforehand.
///
/// # Panics
/// When it cannot be written.
pub fn script<W: Wire>(folder: &Path, only: &str, inputs: &mut impl Inputs<W>) -> PathBuf {
    let requests = std::iter::repeat_with(|| inputs.draw()).take(REQUESTS).map(|call| {
        let (mut path, mut headers, mut body) = (Vec::new(), String::new(), Vec::new());
        W::encode_path(&call, &mut path);
        W::encode_call_headers(&call, &mut |name, value| {
            headers += &format!("[\"{name}\"]=\"{}\",", value.to_string().escape_default());
        });
        W::encode_call(&call, &mut body);
        let method = W::ENDPOINTS[W::kind(&call)].method;
        if method.has_body() {
            headers += "[\"content-type\"]=\"application/json\"";
        }
        let method = method.name();
        format!("{{\"{method}\",\"{}\",{{{headers}}},\"{}\"}}", path.escape_ascii(), body.escape_ascii())
    });
    let requests: Vec<String> = requests.collect();
    let script = format!(
        "local requests = {{{}}}\nlocal all, at = {{}}, 0\n\
         function init()\n\
         for i, r in ipairs(requests) do all[i] = wrk.format(r[1], r[2], r[3], r[4] ~= \"\" and r[4] or nil) end\n\
         end\n\
         function request() at = at % #all + 1; return all[at] end\n",
        requests.join(",")
    );
    let path = folder.join(format!("{only}.lua"));
    std::fs::write(&path, script).expect("the folder of the benches can be written");
    path
}

/// A time as wrk writes it, in milliseconds: `635.91us`, `12.92ms`, `1.02s`, `1.00m`.
fn millis(text: &str) -> Option<f64> {
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("m", 6e4)];
    units.into_iter().find_map(|(unit, millis)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * millis))
}
