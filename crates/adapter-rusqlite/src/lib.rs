//! SQLite through rusqlite, behind the narrow SQL port. It knows no workload.
//!
//! Statements are prepared once, when a connection opens. Writers pass through one lane a database, in the order in
//! which they came: SQLite has one writer, and its own way to wait for it (sleep and try again) starves some and lets
//! throughput collapse as clients grow.
//!
//! [`GroupedOpener`] has them write through one connection instead, where calls that wait for each other share a commit.

mod attached;
mod conn;
mod group;
mod grouped;
#[cfg(test)]
mod grouped_tests;
mod lane;
mod open;
mod prepared;
#[cfg(test)]
mod test_disk;

pub use attached::AttachedOpener;
pub use conn::SqliteConn;
pub use group::GroupCommits;
pub use grouped::{GroupedConn, GroupedOpener, Sharing};
pub use lane::{Lane, Pass};
pub use open::{SqliteOpener, connect, read_back};

#[cfg(test)]
fn at_once<T>(future: impl Future<Output = T>) -> T {
    use std::task::{Context, Poll, Waker};
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a blocking connection never waits"),
    }
}
