//! Prints the golden vectors: `cargo run -p stackmark-workload-transfer --example transfer_vectors > spec/vectors/transfer.jsonl`.
//!
//! The committed file is compiled in, so it must exist, if only empty.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

fn main() {
    print!("{}", workload_transfer::conformance::recorded());
}
