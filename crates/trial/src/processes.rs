//! What the processes of a trial are, and what each may use.

use crate::Job;
use deploy::{Route, Subject};
use result::{Process, Role};
use sql::Dialect;
use targets::Driven;

/// How often each process with limits has met them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Throttling {
    /// In the order in which engines are watched.
    pub(crate) engines: Vec<Option<rig::Throttling>>,
    pub(crate) server: Option<rig::Throttling>,
    pub(crate) relay: Option<rig::Throttling>,
    pub(crate) broker: Option<rig::Throttling>,
}

impl<W: Driven> Job<'_, W> {
    /// Sets roles, limits and CPU time per committed call of observed processes.
    pub(crate) fn describe_processes(
        &self,
        processes: &mut [Process],
        committed: u64,
        throttling: &Throttling,
    ) {
        let mut engines = throttling.engines.iter().copied();
        for process in processes {
            let role = process.roles[0];
            process.cpu_ms_per_1000_committed = result::cpu_ms_a_thousand(process.cpu_s(), committed);
            process.limits = match role {
                Role::Engine => {
                    self.deployment.engine_limits().map(|limits| limits.described(engines.next().flatten()))
                }
                Role::Server => self.server.limits.map(|limits| limits.described(throttling.server)),
                Role::Relay => self.server.relaying.limits.map(|limits| limits.described(throttling.relay)),
                Role::Broker => {
                    self.deployment.broker_limits().0.map(|limits| limits.described(throttling.broker))
                }
                Role::Generator | Role::Consumer => None,
            };
            process.roles = roles(role, self.subject);
        }
    }
}

/// What a process does in trials of a subject: an embedded engine is where its connections are.
pub fn roles(role: Role, subject: &Subject) -> Vec<Role> {
    let embedded = subject.how.dialect == Dialect::Sqlite;
    match (role, subject.route()) {
        (Role::Generator, Route::Direct) | (Role::Server, _) if embedded => vec![role, Role::Engine],
        _ => vec![role],
    }
}
