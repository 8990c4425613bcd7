//! What watching a trial costs: processor time of the thread that takes the samples, next to the second that is between two.

use measure::Monotonic;
use observe::{Options, Watch, Watched};
use result::Role;
use stackmark_benches::output;

const SAMPLES: usize = 200;

fn main() {
    let watched = vec![Watched::myself(Role::Generator)];
    let mut watch =
        Watch::start(watched, &Options::default(), Monotonic::start()).expect("this process runs");
    let micros: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let before = measure::thread_cpu();
            // Takes a sample, and on this thread.
            watch.close_window();
            (measure::thread_cpu() - before).as_millis_f64() * 1_000.0
        })
        .collect();
    output::title("watching a process and the machine");
    output::figure("a sample", &format!("{} µs", output::spread(&micros, 0)));
}
