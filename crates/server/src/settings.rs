//! What a server is started with, and what can stop it from serving.

use model::{Nanos, OpenError, Transport};
use serde::Serialize;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Takes one line for whoever runs the server. Never gets anything that a client must not see by accident: it
/// gets the details that clients do not get.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// Lines to the operator that are passed on one by one.
const LINES_MAX: u64 = 100;

/// Passes lines on until there are many; after that only when their number is a power of two, so that a broken database
/// under full load does not turn into gigabytes of log.
#[derive(Clone)]
pub(crate) struct Operator {
    log: Log,
    lines: Arc<AtomicU64>,
}

impl Operator {
    pub(crate) fn new(log: Log) -> Operator {
        Operator { log, lines: Arc::default() }
    }

    pub(crate) fn remark(&self, line: &str) {
        let number = self.lines.fetch_add(1, Ordering::Relaxed) + 1;
        if number <= LINES_MAX {
            (self.log)(line);
        } else if number.is_power_of_two() {
            (self.log)(&format!("{line} (line {number}; most lines are left out by now)"));
        }
    }
}

/// How a server is started.
#[derive(Clone)]
pub struct Settings {
    /// Where to listen; port 0 picks a free one. Loopback unless told otherwise.
    pub listen: SocketAddr,
    /// What carries HTTP besides TCP, on which it always listens.
    pub transport: Transport,
    /// Threads that speak HTTP, at least 1.
    pub workers: usize,
    /// Sessions to the engine, at least 1: the pool.
    pub sessions: u32,
    /// Scale of the loaded data, in the workload's unit; told at `/about`.
    pub scale: u64,
    pub limits: Limits,
    /// Where lines for the operator go.
    pub log: Log,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            transport: Transport::Tcp,
            workers: 2,
            sessions: 8,
            scale: 1,
            limits: Limits::default(),
            log: Arc::new(|_| {}),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("listen", &self.listen)
            .field("transport", &self.transport)
            .field("workers", &self.workers)
            .field("sessions", &self.sessions)
            .field("scale", &self.scale)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body_bytes_max: usize,
    /// Connections open at a time; one more is answered 503 and closed.
    pub connections_max: usize,
    /// Calls waiting for a session; one more is answered 503.
    pub queued_max: usize,
    /// From the first byte of a request's head to its last.
    #[serde(rename = "head_read_ns_max")]
    pub head_read_max: Nanos,
    /// From the end of a request's head to the end of its body.
    #[serde(rename = "body_read_ns_max")]
    pub body_read_max: Nanos,
    /// Without a request on an open connection. Longer than the longest think time of any workload.
    #[serde(rename = "idle_ns_max")]
    pub idle_max: Nanos,
    /// From the decoded call to its outcome; then the answer is 504 (begun) or 503 (still waiting).
    #[serde(rename = "call_ns_max")]
    pub call_max: Nanos,
    /// For calls in flight when the server is asked to stop.
    #[serde(rename = "drain_ns_max")]
    pub drain_max: Nanos,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes_max: 64 << 10,
            connections_max: 16_384,
            queued_max: 16_384,
            head_read_max: Nanos::from_secs(10),
            body_read_max: Nanos::from_secs(10),
            idle_max: Nanos::from_secs(300),
            call_max: Nanos::from_secs(60),
            drain_max: Nanos::from_secs(10),
        }
    }
}

/// Why a server does not serve, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A setting makes no sense.
    #[error("{0}")]
    Settings(String),
    /// The address cannot be listened on.
    #[error("could not listen on {listen}: {why}")]
    Bind {
        listen: SocketAddr,
        /// The system's message, and what to do about it.
        why: String,
    },
    /// A session could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The system gave no thread or no event queue.
    #[error("could not start the server's threads: {0}")]
    Threads(std::io::Error),
    /// No one waited for an answer any more, and a session was busy all the same: its client had hung up. What it
    /// was doing may have been applied.
    #[error("a session was still busy {} s after the server was asked to stop", drain_max.as_secs_f64())]
    Unclosed { drain_max: Nanos },
    /// Calls were still running when the time to finish them was over. Some may have been applied unanswered.
    #[error("{calls} calls were cut off {} s after the server was asked to stop", drain_max.as_secs_f64())]
    Undrained {
        /// Calls without an answer.
        calls: usize,
        drain_max: Nanos,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    #[test]
    fn an_endless_row_of_defects_does_not_fill_the_log() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = lines.clone();
        let operator = Operator::new(Arc::new(move |line| kept.lock().push(line.to_owned())));
        for _ in 0..1_000_000 {
            operator.remark("x");
        }
        let lines = lines.lock();
        // 128, 256, … 524,288.
        assert_eq!(lines.len(), 100 + 13);
        assert!(lines[99] == "x" && lines[112].contains("line 524288"), "{}", lines[112]);
    }
}
