//! What keeping the state of a running trial costs where it is on the disk that is measured: eight clients on a SQLite
//! file, each commit flushed (WAL, synchronous=FULL), compared with nothing, with lines that are appended once per second, and
//! with a document that is rewritten and flushed once per second, as it was before.

use adapter_rusqlite::SqliteOpener;
use measure::Monotonic;
use model::Nanos;
use result::{Document, Progress, to_json};
use sql::Dialect;
use stackmark_benches::data::{Folder, LOAD_SEED, load_file};
use stackmark_benches::pairs::Ratio;
use stackmark_benches::trials::{CLIENTS, retrying, trial};
use stackmark_benches::{output, process};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use workload_tpcc::{Cardinality, Data, Inputs, Ledger, SqlTarget, Tpcc};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: u64 = 6;
const WINDOW: (Nanos, Nanos) = (Nanos::from_millis(500), Nanos::from_secs(6));
const EVERY: Duration = Duration::from_secs(1);

#[derive(Clone, Copy)]
enum Way {
    Nothing,
    Appended,
    Rewritten,
}

const WAYS: [Way; 3] = [Way::Nothing, Way::Appended, Way::Rewritten];

fn main() {
    let folder = Folder::create("state-log");
    output::title(&format!(
        "SQLite, TPC-C, {CLIENTS} clients, WAL and synchronous=FULL; load average {}",
        process::load_average()
    ));
    output::figure("a flush of this disk", &format!("{} µs", output::spread(&folder.flush_micros(), 0)));
    let size = Cardinality::standard(1);
    let template = folder.url("tpcc.db");
    let _ = load_file(&template, 1);
    let texts = workload_tpcc::catalogue(Dialect::Sqlite).expect("kept valid by a test");
    let c_load = Data::c_load_of(LOAD_SEED);
    let state = sample_documents::trial();
    let mut rates: [Vec<f64>; 3] = Default::default();
    for seed in 1..=ROUNDS {
        // Each way is first, second and third equally often.
        for turn in 0..WAYS.len() {
            let at = (turn + seed as usize) % WAYS.len();
            let url = folder.url("used.db");
            folder.copy(&template, &url);
            let clock = Monotonic::start();
            let opener = SqliteOpener::new(&url, texts.clone(), clock).expect("the copy can be opened");
            let target = retrying(SqlTarget::new(opener, clock));
            let measure = || {
                trial::<Tpcc, _>(
                    &target,
                    WINDOW,
                    seed,
                    |worker| Inputs::new(size, c_load, seed, worker),
                    || Ledger::new(size),
                )
                .all()
            };
            rates[at].push(beside(WAYS[at], &state, folder.path(), measure));
        }
    }
    let [nothing, appended, rewritten] = &rates;
    output::figure("nothing written", &format!("{} calls/s", output::spread(nothing, 0)));
    output::figure("lines appended", &format!("{} calls/s", output::spread(appended, 0)));
    output::ratio("  of nothing", Ratio::of(nothing, appended));
    output::figure("rewritten and flushed", &format!("{} calls/s", output::spread(rewritten, 0)));
    output::ratio("  of nothing", Ratio::of(nothing, rewritten));
}

/// Measures while another thread keeps the state.
fn beside(way: Way, state: &Document, folder: &Path, measure: impl FnOnce() -> f64) -> f64 {
    let (ended, wait) = channel::<()>();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || -> io::Result<()> {
            let mut lines = File::create(folder.join("progress.jsonl"))?;
            while wait.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                match way {
                    Way::Nothing => {}
                    Way::Appended => append(&mut lines, state)?,
                    Way::Rewritten => rewrite(folder, state)?,
                }
            }
            Ok(())
        });
        let rate = measure();
        drop(ended);
        writer.join().expect("it does not panic").expect("the disk of the benches takes it");
        rate
    })
}

fn append(lines: &mut File, state: &Document) -> io::Result<()> {
    let trial = &state.trials[0];
    let line = Progress::<()>::of(trial, trial.slices.len().saturating_sub(9), None);
    let mut bytes = serde_json::to_vec(&line)?;
    bytes.push(b'\n');
    lines.write_all(&bytes)
}

fn rewrite(folder: &Path, state: &Document) -> io::Result<()> {
    let (path, new) = (folder.join("result.json"), folder.join("result.json.new"));
    let mut file = File::create(&new)?;
    file.write_all(to_json(state).as_bytes())?;
    file.sync_data()?;
    std::fs::rename(new, path)
}
