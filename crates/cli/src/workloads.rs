//! The workloads: one row each.

use crate::experiment::file;
use crate::run_experiment::run_experiment;
use crate::ui::Ui;
use crate::verify::Verified;
use crate::{args, audit, compare, drill, export, find_max, load, relay, resume, run, serve, sweep, verify};
use anyhow::Result;
use benchmark::Parameter;
use deploy::{Subject, subjects};
use result::RunKind;
use schedule::CommandOutcome;
use schedule::plan::Experiment;
use sql::Dialect;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::OnceLock;
use targets::{Combination, Driven};
use trial::{RunContext, SavedPlan};
use workload_booking::Bookings;
use workload_catalogue::FoodCatalogue;
use workload_tpcb::Tpcb;
use workload_tpcc::Tpcc;
use workload_transfer::Transfers;

/// Those that come with Stackmark; their combinations are in `targets`.
const WORKLOADS: &[Row] = &[
    Row::of::<Tpcc>(&[]),
    Row::of::<Tpcb>(&[]),
    Row::of::<FoodCatalogue>(&[]),
    Row::of::<Transfers>(&[]),
    Row::of::<Bookings>(&[]),
];

/// Those that the program brings along.
static MORE: OnceLock<&'static [Row]> = OnceLock::new();

/// A workload, as the command line runs it.
#[derive(Clone, Copy)]
pub struct Row {
    pub(crate) name: &'static str,
    pub(crate) scale_unit: &'static str,
    pub(crate) scale_default: fn(Dialect, u32) -> u32,
    pub(crate) parameters: &'static [Parameter],
    combinations: &'static [Combination],
    commands: &'static dyn Commands,
}

impl Row {
    /// The row of a workload with combinations besides those that `targets` lists; each of them our server serves too.
    pub const fn of<W: Driven>(combinations: &'static [Combination]) -> Row {
        Row {
            name: W::NAME,
            scale_unit: W::SCALE_UNIT,
            scale_default: W::scale_default,
            parameters: W::PARAMETERS,
            combinations,
            commands: &Of::<W>(PhantomData),
        }
    }
}

/// Adds the rows of the program to those that come with Stackmark.
pub(crate) fn add(more: &'static [Row]) {
    // Both are set once, by the program's own beginning.
    let _ = MORE.set(more);
    subjects::add(more.iter().flat_map(|row| row.combinations).copied().collect());
}

/// All workloads of this program.
pub(crate) fn all() -> impl Iterator<Item = &'static Row> {
    WORKLOADS.iter().chain(MORE.get().copied().unwrap_or_default())
}

/// What the scale of each of them counts.
pub(crate) fn scale_units() -> impl Iterator<Item = &'static str> {
    all().map(|row| row.scale_unit)
}

/// The commands of the workload of that name, which is one of [`subjects::workloads`].
pub(crate) fn of(name: &str) -> Result<&'static dyn Commands> {
    let row = all().find(|row| row.name == name);
    row.map(|row| row.commands).ok_or_else(|| anyhow::anyhow!("no workload `{name}`"))
}

/// What can be done with a workload, whatever its types are.
pub(crate) trait Commands: Sync {
    fn load(&self, args: &args::Load, ui: &Ui) -> Result<CommandOutcome>;
    fn run(&self, subject: &'static Subject, args: &args::Run, ui: &Ui) -> Result<CommandOutcome>;
    fn serve(&self, args: &args::Serve, ui: &Ui) -> Result<CommandOutcome>;
    fn relay(&self, args: &args::Relay, ui: &Ui) -> Result<CommandOutcome>;
    fn audit(&self, args: &args::Audit, ui: &Ui) -> Result<CommandOutcome>;
    fn verify(&self, what: Verified<'_>, args: &args::Verify, ui: &Ui) -> Result<CommandOutcome>;
    fn export_k6(&self, args: &args::ExportK6, ui: &Ui) -> Result<CommandOutcome>;
    fn compare(
        &self,
        a: &'static Subject,
        b: &'static Subject,
        args: &args::Compare,
        ui: &Ui,
    ) -> Result<CommandOutcome>;
    fn experiment(
        &self,
        experiment: Experiment,
        kind: RunKind,
        out: &Path,
        ui: &Ui,
    ) -> Result<CommandOutcome>;
    fn sweep(&self, subject: &'static Subject, args: &args::Sweep, ui: &Ui) -> Result<CommandOutcome>;
    fn find_max(&self, subject: &'static Subject, args: &args::FindMax, ui: &Ui) -> Result<CommandOutcome>;
    fn drill(&self, subject: &'static Subject, args: &args::Drill, ui: &Ui) -> Result<CommandOutcome>;
    fn generate(&self, args: &args::Generate) -> Result<CommandOutcome>;
    /// Goes on with a run that was cut off.
    fn resume(&self, sealed: SavedPlan, site: &RunContext<'_>) -> Result<CommandOutcome>;
    /// The experiment that a file asks for.
    fn read(&self, file: file::Read<'_>) -> Result<Experiment>;
}

struct Of<W>(PhantomData<fn() -> W>);

impl<W: Driven> Commands for Of<W> {
    fn load(&self, args: &args::Load, ui: &Ui) -> Result<CommandOutcome> {
        load::load_workload::<W>(args, ui)
    }

    fn run(&self, subject: &'static Subject, args: &args::Run, ui: &Ui) -> Result<CommandOutcome> {
        run::run_workload::<W>(subject, args, ui)
    }

    fn serve(&self, args: &args::Serve, ui: &Ui) -> Result<CommandOutcome> {
        serve::serve_workload::<W>(args, ui)
    }

    fn relay(&self, args: &args::Relay, ui: &Ui) -> Result<CommandOutcome> {
        relay::relay_workload::<W>(args, ui)
    }

    fn audit(&self, args: &args::Audit, ui: &Ui) -> Result<CommandOutcome> {
        audit::audit_workload::<W>(args, ui)
    }

    fn verify(&self, what: Verified<'_>, args: &args::Verify, ui: &Ui) -> Result<CommandOutcome> {
        verify::verify_workload::<W>(what, args, ui)
    }

    fn export_k6(&self, args: &args::ExportK6, ui: &Ui) -> Result<CommandOutcome> {
        export::k6::<W>(args, ui)
    }

    fn compare(
        &self,
        a: &'static Subject,
        b: &'static Subject,
        args: &args::Compare,
        ui: &Ui,
    ) -> Result<CommandOutcome> {
        compare::compare_subjects::<W>(a, b, args, ui)
    }

    fn experiment(
        &self,
        experiment: Experiment,
        kind: RunKind,
        out: &Path,
        ui: &Ui,
    ) -> Result<CommandOutcome> {
        run_experiment::<W>(experiment, kind, out, ui)
    }

    fn sweep(&self, subject: &'static Subject, args: &args::Sweep, ui: &Ui) -> Result<CommandOutcome> {
        sweep::sweep_workload::<W>(subject, args, ui)
    }

    fn find_max(&self, subject: &'static Subject, args: &args::FindMax, ui: &Ui) -> Result<CommandOutcome> {
        find_max::search::<W>(subject, args, ui)
    }

    fn drill(&self, subject: &'static Subject, args: &args::Drill, ui: &Ui) -> Result<CommandOutcome> {
        drill::drill_workload::<W>(subject, args, ui)
    }

    fn generate(&self, args: &args::Generate) -> Result<CommandOutcome> {
        drill::generate_workload::<W>(args)
    }

    fn resume(&self, sealed: SavedPlan, site: &RunContext<'_>) -> Result<CommandOutcome> {
        resume::resume_workload::<W>(sealed, site)
    }

    fn read(&self, file: file::Read<'_>) -> Result<Experiment> {
        file::resolve::<W>(file)
    }
}
