//! What a read of the catalogue costs the load generator, whose answers it digests and holds to the data, compared with wrk with the same
//! requests. The server is the real one, on SQLite: its answers have the size and the headers of measured ones.

use crate::{CONNECTIONS, Load, Run, SERVER_CORE, print_allocations, take_turns};
use model::{Mix, Workload};
use stackmark_benches::data::Folder;
use stackmark_benches::pairs::{Ratio, Spread};
use stackmark_benches::server::Server;
use stackmark_benches::{cli, output, wrk};
use workload::{Benchmark, Streams};
use workload_catalogue::FoodCatalogue;

const KINDS: [&str; 2] = ["food-read", "categories"];
/// The generator's CPU a call, of wrk's.
const RATIO_MAX: f64 = 1.3;

pub(crate) fn compare(folder: &Folder) {
    let server = match Server::of_catalogue(
        &cli::address(&folder.url("foods.db"), "synchronous=normal"),
        Some(SERVER_CORE),
    ) {
        Ok(server) => server,
        Err(why) => return output::skipped(&format!("reads of the catalogue: {why}")),
    };
    let size = FoodCatalogue::standard(1);
    for only in KINDS {
        let mix =
            Mix::of(FoodCatalogue::KINDS, &[(only.to_owned(), 1.0)]).expect("it is a kind of the catalogue");
        let streams = Streams { seed: 1, mix: mix.as_ref(), ..Streams::default() };
        let inputs = workload::inputs::<FoodCatalogue>(&size, &streams);
        let kind = FoodCatalogue::KINDS.iter().position(|kind| kind.name == only).unwrap_or_default();
        let script = wrk::script(folder.path(), only, &mut inputs(0));
        let load =
            Load::<FoodCatalogue> { kind, inputs: &inputs, ledger: &|| FoodCatalogue::new_ledger(&size) };
        let (ours, wrk) = take_turns(&server.url, &load, &script);
        print(only, &ours, &wrk);
    }
}

fn print(only: &str, ours: &[Run], wrk: &[Run]) {
    let rates = |runs: &[Run]| runs.iter().map(|run| run.calls_a_second).collect::<Vec<_>>();
    let cpus = |runs: &[Run]| runs.iter().map(|run| run.cpu_seconds_a_million).collect::<Vec<_>>();
    output::title(&format!(
        "{only} over HTTP, {CONNECTIONS} connections on one core, against our server on another"
    ));
    output::figure("calls", &format!("{}/s", output::spread(&rates(ours), 0)));
    output::figure(
        "CPU of the generator's thread",
        &format!("{} s a million calls", output::spread(&cpus(ours), 2)),
    );
    print_allocations(ours);
    if wrk.is_empty() {
        return output::skipped("wrk with the same requests: it is not installed");
    }
    output::figure("wrk: calls", &format!("{}/s", output::spread(&rates(wrk), 0)));
    output::figure("wrk: CPU", &format!("{} s a million calls", output::spread(&cpus(wrk), 2)));
    output::ratio("  CPU, ours of wrk's", Ratio::of(&cpus(wrk), &cpus(ours)));
    let ratio = Spread::of(&cpus(ours)).median / Spread::of(&cpus(wrk)).median;
    output::goal(&format!("at most {RATIO_MAX} times wrk's"), ratio <= RATIO_MAX);
}
