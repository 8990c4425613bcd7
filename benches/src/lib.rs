//! Shared parts of the benches: TPC-C by hand, a database to run it on, banks of transfers, pairs of measurements and how they
//! are printed.
//!
//! A bench prints and never fails a build: its figures depend on the machine and on who else uses it. Whatever is
//! compared is measured in turn in the same run; a goal is judged by the median, and the spread is printed next to it.

pub mod bank;
pub mod by_hand;
pub mod cli;
pub mod data;
pub mod engine;
pub mod instant_server;
pub mod memory;
pub mod office;
pub mod only;
pub mod orders;
pub mod output;
pub mod pairs;
pub mod pgbench;
pub mod process;
pub mod sections;
pub mod server;
pub mod trials;
pub mod wrk;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs a future that never waits, such as those of blocking sessions.
///
/// # Panics
/// When it waits.
pub fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("blocking sessions never wait"),
    }
}
