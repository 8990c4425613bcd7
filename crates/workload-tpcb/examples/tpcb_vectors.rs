//! Prints the golden vectors: `cargo run -p stackmark-workload-tpcb --example tpcb_vectors > spec/vectors/tpcb.jsonl`.
//!
//! The committed file is compiled in, so it must exist, if only empty.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

fn main() {
    print!("{}", workload_tpcb::conformance::recorded());
}
