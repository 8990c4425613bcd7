//! Prints the golden vectors: `cargo run -p stackmark-workload-tpcc --example tpcc_vectors > spec/vectors/tpcc.jsonl`.
//!
//! The committed file is compiled in, so it must exist, if only empty.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

fn main() {
    print!("{}", workload_tpcc::conformance::recorded());
}
