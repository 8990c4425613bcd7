//! What the processes of a trial, and others, took of the machine.

use super::{fine, listed, note, warning, whole_percent};
use crate::figures;
use result::{Process, Role, Rule, Trial};

/// Share of the machine's processors busy from which they are full.
pub(super) const FULL: f64 = 0.9;
/// Share of what was used from which the generator took something from the system it measures.
pub(super) const GENERATOR_HEAVY: f64 = 0.2;
/// Share of the machine's time given to others by the hypervisor that shows in a number.
const STEAL_MAX: f64 = 0.01;
/// Share of the machine's time taken by strangers that shows in a number.
const OTHERS_MAX: f64 = 0.05;

/// Seconds of measuring below which nothing is known of the use of processors: the system counts their time in hundredths
/// of a second, and what is cut off at once is read later than it ends.
pub const SHORTEST_S: f64 = 0.1;

/// CPU cores used on average over the window.
pub(super) struct Load {
    /// Processors that there are.
    pub(super) cores: f64,
    /// By processes that only make load.
    pub(super) generator: f64,
    /// By processes that make load and are the system as well, because the engine is embedded.
    pub(super) shared: f64,
    /// By servers and engines with processes of their own.
    pub(super) system: f64,
    /// By the kernel's threads that write data back and keep journals, as far as they were observed.
    pub(super) writeback: f64,
    /// By strangers and the hypervisor, as far as they were observed.
    pub(super) others: f64,
}

impl Load {
    /// Nothing where no process was observed, or none for long enough.
    pub(super) fn of(trial: &Trial) -> Option<Load> {
        if trial.processes.is_empty() || trial.measured_s < SHORTEST_S || trial.machine.cores == 0 {
            return None;
        }
        let cores = f64::from(trial.machine.cores);
        let busy = |wanted: fn(&Process) -> bool| -> f64 {
            let processes = trial.processes.iter().filter(|process| wanted(process));
            processes.map(Process::cpu_s).sum::<f64>() / trial.measured_s
        };
        let machine = &trial.machine;
        let writeback_s = trial.writeback.as_ref().and_then(|writeback| writeback.cpu_s).unwrap_or(0.0);
        Some(Load {
            cores,
            generator: busy(|process| generates(process) && process.roles.len() == 1),
            shared: busy(|process| generates(process) && process.roles.len() > 1),
            system: busy(|process| !generates(process)),
            writeback: writeback_s / trial.measured_s,
            others: (machine.steal_share.unwrap_or(0.0) + machine.other_load_share.unwrap_or(0.0)) * cores,
        })
    }

    /// Whether any process but the generator was observed.
    pub(super) fn is_system_observed(&self) -> bool {
        self.shared > 0.0 || self.system > 0.0
    }

    pub(super) fn busy(&self) -> f64 {
        self.generator + self.shared + self.system + self.writeback + self.others
    }

    /// What the processors did, and how many there are: `1.4 of 4 processors busy`.
    pub(super) fn words(&self) -> String {
        format!("{} of {} cores busy", figures::trimmed(self.busy(), 1), self.cores)
    }
}

fn generates(process: &Process) -> bool {
    process.roles.contains(&Role::Generator)
}

/// Whether the generator and what it measures share processors.
pub(super) fn co_located(trial: &Trial) -> Option<Rule> {
    let load = Load::of(trial)?;
    if load.shared > 0.0 {
        return note(format!(
            "generator and engine are one process, which used {} of {} cores: its cost covers both",
            figures::trimmed(load.shared, 1),
            load.cores
        ));
    }
    if trial.data.remote {
        let server = if load.is_system_observed() { "; generator and server share this one" } else { "" };
        return note(format!("the engine is on another machine, where nothing was observed{server}"));
    }
    if !load.is_system_observed() {
        return note(
            "no process of the system under test was observed; if it runs on this machine, the generator takes CPU time from it",
        );
    }
    let part = load.generator / (load.generator + load.system);
    let sentence = format!(
        "generator and system share this machine: the generator took {} of the CPU time of both ({})",
        whole_percent(part),
        load.words()
    );
    if part >= GENERATOR_HEAVY && load.busy() >= FULL * load.cores {
        return warning(
            format!(
                "{sentence}, so the system did not have the whole machine and would be faster on an idle machine"
            ),
            "run the server on another machine and name it with --url",
        );
    }
    note(sentence)
}

/// Whether someone else used the machine.
pub(super) fn noisy_machine(trial: &Trial) -> Option<Rule> {
    let (steal, others) = (trial.machine.steal_share, trial.machine.other_load_share);
    let mut noise = Vec::new();
    if let Some(steal) = steal.filter(|steal| *steal > STEAL_MAX) {
        noise.push(format!("the hypervisor gave {} of the CPU time to others", figures::percent(steal)));
    }
    if let Some(others) = others.filter(|others| *others > OTHERS_MAX) {
        noise.push(format!("processes outside the trial used {} of it", figures::percent(others)));
    }
    if !noise.is_empty() {
        return warning(
            format!("{}: throughput may be too low, and other runs may differ", listed(&noise)),
            "run again on a quiet machine",
        );
    }
    match (steal, others) {
        (None, None) => note("whether others used the machine was not observed here"),
        _ => {
            let used = steal.unwrap_or(0.0) + others.unwrap_or(0.0);
            fine(format!("others used {} of the machine", figures::percent(used)))
        }
    }
}
