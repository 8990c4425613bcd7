//! How fast TPC-C is loaded: ten warehouses into SQLite on disk, as `stackmark load` does it, rows generated, stored,
//! indexed, flushed, read back and compared.

use admin::{Loaded, store};
use stackmark_benches::data::{Folder, load_file};
use stackmark_benches::pairs::Spread;
use stackmark_benches::{output, process};

const WAREHOUSES: u32 = 10;
const LOADS: usize = 2;
const ROWS_A_SECOND_MIN: f64 = 400_000.0;
const ROWS_A_SECOND_AIM: f64 = 700_000.0;
const MEMORY_BYTES_MAX: u64 = 300 << 20;

fn main() {
    let folder = Folder::create("load");
    let url = folder.url("tpcc.db");
    let (mut storing, mut verified, mut size) = (Vec::new(), Vec::new(), (0, 0));
    for _ in 0..LOADS {
        let Loaded::Now { contents, bytes, times, .. } = load_file(&url, WAREHOUSES) else {
            unreachable!("the file of the load before has been removed");
        };
        let rows = contents.rows();
        let rate = |seconds: f64| rows as f64 / seconds;
        storing.push(rate(times.storing().as_secs_f64()));
        verified.push(rate(times.storing().as_secs_f64() + times.verify.as_secs_f64()));
        size = (rows, bytes.unwrap_or_default());
        store(&url).remove().expect("a file of our own can be removed");
    }
    let (rows, bytes) = size;
    let rows = output::number(rows as f64, 0);
    output::title(&format!("load of {WAREHOUSES} warehouses into SQLite, {rows} rows, {} MiB", bytes >> 20));
    output::figure("generate, store, index, flush", &format!("{} rows/s", output::spread(&storing, 0)));
    output::figure("  and read back and compare", &format!("{} rows/s", output::spread(&verified, 0)));
    let (least, aim) = (output::number(ROWS_A_SECOND_MIN, 0), output::number(ROWS_A_SECOND_AIM, 0));
    let median = Spread::of(&storing).median;
    output::goal(&format!("at least {least} rows/s"), median >= ROWS_A_SECOND_MIN);
    output::goal(&format!("aim at {aim} rows/s"), median >= ROWS_A_SECOND_AIM);
    let peak = process::resident_bytes_peak();
    output::figure("memory, peak", &format!("{} MiB", peak >> 20));
    output::goal(&format!("below {} MiB", MEMORY_BYTES_MAX >> 20), peak < MEMORY_BYTES_MAX);
}
