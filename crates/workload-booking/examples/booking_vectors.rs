//! Prints the golden vectors: `cargo run -p stackmark-workload-booking --example booking_vectors > spec/vectors/booking.jsonl`.
//!
//! The committed file is compiled in, so it must exist, if only empty.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

fn main() {
    print!("{}", workload_booking::conformance::recorded());
}
