//! The workloads: one row each.

use crate::commands::{Task, execute};
use crate::experiment;
use crate::outcome::CommandOutcome;
use crate::ui::Ui;
use anyhow::Result;
use deploy::subjects;
use result::RunKind;
use schedule::Interleaved;
use schedule::plan::Experiment;
use sql::Dialect;
use std::sync::OnceLock;
use targets::{Combination, Driven};
use workload::Parameter;
use workload_booking::Bookings;
use workload_catalogue::FoodCatalogue;
use workload_tpcb::Tpcb;
use workload_tpcc::Tpcc;
use workload_transfer::Transfers;

/// Those that come with Stackmark; their combinations are in `targets`.
const WORKLOADS: &[WorkloadRow] = &[
    WorkloadRow::of::<Tpcc>(&[]),
    WorkloadRow::of::<Tpcb>(&[]),
    WorkloadRow::of::<FoodCatalogue>(&[]),
    WorkloadRow::of::<Transfers>(&[]),
    WorkloadRow::of::<Bookings>(&[]),
];

/// Those that the program brings along.
static MORE: OnceLock<&'static [WorkloadRow]> = OnceLock::new();

/// A workload, as the command line runs it.
#[derive(Clone, Copy)]
pub struct WorkloadRow {
    pub(crate) name: &'static str,
    pub(crate) scale_unit: &'static str,
    pub(crate) scale_default: fn(Dialect, u32) -> u32,
    pub(crate) parameters: &'static [Parameter],
    combinations: &'static [Combination],
    /// Runs a command about it.
    pub(crate) execute: fn(Task<'_>, &Ui) -> Result<CommandOutcome>,
    /// The experiment that a file asks for.
    pub(crate) read: fn(experiment::ExperimentFile<'_>) -> Result<Experiment>,
    /// Its schedule.
    pub(crate) schedule: fn(Experiment) -> Result<Interleaved>,
}

impl WorkloadRow {
    /// The row of a workload with combinations besides those that `targets` lists; each of them our server serves too.
    pub const fn of<W: Driven>(combinations: &'static [Combination]) -> WorkloadRow {
        WorkloadRow {
            name: W::NAME,
            scale_unit: W::SCALE_UNIT,
            scale_default: W::scale_default,
            parameters: W::PARAMETERS,
            combinations,
            execute: execute::<W>,
            read: experiment::resolve::<W>,
            schedule: |experiment| Interleaved::of::<W>(experiment, RunKind::Experiment),
        }
    }
}

/// Adds the rows of the program to those that come with Stackmark.
pub(crate) fn add(more: &'static [WorkloadRow]) {
    // Both are set once, by the program's own beginning.
    let _ = MORE.set(more);
    subjects::add(more.iter().flat_map(|row| row.combinations).copied().collect());
}

/// All workloads of this program.
pub(crate) fn all() -> impl Iterator<Item = &'static WorkloadRow> {
    WORKLOADS.iter().chain(MORE.get().copied().unwrap_or_default())
}

/// What the scale of each of them counts.
pub(crate) fn scale_units() -> impl Iterator<Item = &'static str> {
    all().map(|row| row.scale_unit)
}

/// The workload of that name.
pub(crate) fn of(name: &str) -> Result<&'static WorkloadRow> {
    all().find(|row| row.name == name).ok_or_else(|| anyhow::anyhow!("no workload `{name}`"))
}
