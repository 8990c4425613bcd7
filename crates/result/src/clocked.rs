//! Calls with a clock around each statement, and parts of kinds that are shown apart.

use super::{Budget, Quantiles};
use serde::{Deserialize, Serialize};

/// Where the service time of the committed calls went that had a clock around each statement: one in 64. The parts are
/// clocked where they happen, in the session, and `service_ns` by the caller: neither is made from the other. All are means
/// of a call in nanoseconds, over all its attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocked {
    pub calls: u64,
    /// From begun to ended, as their caller clocked it.
    pub service_ns: f64,
    /// Waiting in the server for a session, both ways.
    pub server_queue_ns: f64,
    /// Waiting for a connection, or for the write lane of an engine with one writer.
    pub pool_wait_ns: f64,
    /// Begin of the transaction.
    pub begin_ns: f64,
    /// Each statement, in the workload's order. Of a style that sends several in one round trip, `round`; of one that
    /// calls a procedure, `procedure`.
    pub statements: Vec<StatementTime>,
    /// Between begin and commit, and in no statement: the session's own logic. A residual.
    pub logic_ns: f64,
    pub commit_ns: f64,
    /// Decoding the call and encoding the outcome inside a server.
    pub encode_ns: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementTime {
    /// Its name in the workload's files.
    pub name: String,
    /// How often those calls sent it, all together.
    pub executions: u64,
    /// From asking until its answer was read, the mean of one execution in nanoseconds.
    pub mean_ns: f64,
}

/// A part of a kind of call that is also shown apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facet {
    /// What sets its calls apart: `by last name`.
    pub name: String,
    /// Response times of its committed calls. The parts of a kind have as many as the kind.
    pub response: Quantiles,
    /// Where their time went on average; `null` where none was committed.
    pub budget: Option<Budget>,
    /// Those with a clock around each statement; `null` where there was none.
    pub clocked: Option<Clocked>,
}

/// A part of a clocked call.
pub struct ClockedPart<'a> {
    /// The statement, or the step of the transaction.
    pub name: &'a str,
    /// How often a call has it.
    pub times: f64,
    /// What it takes of a call, in nanoseconds.
    pub of_call_ns: f64,
}

impl Clocked {
    /// The parts around which a clock stood, in the order of a call; those that took no time are left out.
    pub fn parts(&self) -> Vec<ClockedPart<'_>> {
        let once = |name, of_call_ns| ClockedPart { name, times: 1.0, of_call_ns };
        let calls = self.calls.max(1) as f64;
        let statement = |statement: &'_ StatementTime| {
            let times = statement.executions as f64 / calls;
            (times, times * statement.mean_ns)
        };
        let before = [
            once("server queue", self.server_queue_ns),
            once("pool wait", self.pool_wait_ns),
            once("begin", self.begin_ns),
        ];
        let statements = self.statements.iter().map(|of| {
            let (times, of_call_ns) = statement(of);
            ClockedPart { name: &of.name, times, of_call_ns }
        });
        let after = [once("commit", self.commit_ns), once("encode", self.encode_ns)];
        before.into_iter().chain(statements).chain(after).filter(|part| part.of_call_ns > 0.0).collect()
    }

    /// The share of the caller's time around which a clock stood. What it leaves is the session's own logic and what lies
    /// between client and server. Above 1 the two clocks contradict each other.
    pub fn measured_share(&self) -> f64 {
        let measured: f64 = self.parts().iter().map(|part| part.of_call_ns).sum();
        measured / self.service_ns.max(f64::MIN_POSITIVE)
    }

    /// What a part takes of the caller's time.
    pub fn share(&self, ns: f64) -> f64 {
        ns / self.service_ns.max(f64::MIN_POSITIVE)
    }
}
