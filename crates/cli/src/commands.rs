//! From a command to the workload that it is about.

use crate::experiment::file;
use crate::ui::Ui;
use crate::verify::Verified;
use crate::{args, compare, resume, run, workloads};
use anyhow::{Result, bail};
use deploy::{Interrupt, Route, SourceSubjects, Subject, subjects};
use result::RunKind;
use schedule::CommandOutcome;
use std::path::Path;
use trial::{Folder, RunContext, SavedPlan};

pub(crate) fn load(args: &args::Load, ui: &Ui) -> Result<CommandOutcome> {
    let subject = subjects::find(&args.subject)?;
    workloads::of(subject.workload())?.load(args, ui)
}

pub(crate) fn run(args: &args::Run, ui: &Ui) -> Result<CommandOutcome> {
    let subject = run::subject_of(args)?;
    workloads::of(subject.workload())?.run(subject, args, ui)
}

pub(crate) fn compare(args: &args::Compare, ui: &Ui) -> Result<CommandOutcome> {
    if !args.source.is_empty() {
        let (a, b) = sides_of(args)?;
        return compare_subjects(a, b, args, ui);
    }
    let (a, b) = match (args.sides.as_slice(), args.confirm_bottleneck) {
        ([a, b], false) => (a, b),
        ([a], true) => (a, a),
        (_, true) => bail!("--confirm-bottleneck takes one subject"),
        _ => bail!(
            "compare takes 2 subjects, or 2 stored results; got only {}\nhint: `stackmark run` measures one subject by \
             itself, `compare --confirm-bottleneck` one with a factor of it changed",
            args.sides.join(" ")
        ),
    };
    if Path::new(a).exists() || Path::new(b).exists() {
        return compare::stored(Path::new(a), Path::new(b), args, ui);
    }
    compare_subjects(subjects::find_here(a)?, subjects::find_here(b)?, args, ui)
}

/// What is compared where servers are given by their folders.
fn sides_of(args: &args::Compare) -> Result<(&'static Subject, &'static Subject)> {
    let sides: Vec<&str> = args.sides.iter().map(String::as_str).collect();
    match (&args.source[..], &sides[..], args.confirm_bottleneck) {
        ([server], [] | [_], true) => {
            let subject = SourceSubjects::of(server)?.only(sides.first().copied())?;
            Ok((subject, subject))
        }
        ([server], [base], false) => {
            let base = subjects::find_here(base)?;
            Ok((base, SourceSubjects::of(server)?.beside(base)?))
        }
        ([a, b], [] | [_], false) => {
            SourceSubjects::of(a)?.with(&SourceSubjects::of(b)?, sides.first().copied())
        }
        (_, _, true) => bail!("--confirm-bottleneck takes one subject, or one --server"),
        _ => bail!(
            "compare takes 2 sides; got {} by --server and {} by name\nhint: pass one --server and a base subject, or two --server options",
            args.source.len(),
            sides.len()
        ),
    }
}

fn compare_subjects(
    a: &'static Subject,
    b: &'static Subject,
    args: &args::Compare,
    ui: &Ui,
) -> Result<CommandOutcome> {
    if a.workload() != b.workload() {
        bail!("{} and {} are different workloads: their rates cannot be compared", a.path, b.path);
    }
    workloads::of(a.workload())?.compare(a, b, args, ui)
}

pub(crate) fn experiment(args: &args::Experiment, ui: &Ui) -> Result<CommandOutcome> {
    let resolve = |file: file::Read<'_>| workloads::of(file.workload)?.read(file);
    let experiment = compare::adjusted(file::find(&args.file, &resolve)?, args)?;
    let workload = experiment.workload.clone();
    workloads::of(&workload)?.experiment(experiment, RunKind::Experiment, &args.out.out, ui)
}

pub(crate) fn resume(args: &args::Resume, ui: &Ui) -> Result<CommandOutcome> {
    let sealed = SavedPlan::read(&args.folder)?;
    let locked = trial::hold()?;
    let folder = Folder::reopen(&args.folder)?;
    if result::read(folder.path()).is_ok_and(|document| resume::is_over(&document)) {
        bail!(
            "{} is complete: there is nothing to resume\nhint: `stackmark report {0}` shows it",
            folder.path().display()
        );
    }
    locked.works_in(folder.path());
    let interrupt = Interrupt::listen()?;
    deploy::restore_sources(&sealed.servers)?;
    let site = RunContext { folder: &folder, reporter: ui, interrupt: &interrupt };
    workloads::of(&sealed.workload)?.resume(sealed, &site)
}

pub(crate) fn sweep(args: &args::Sweep, ui: &Ui) -> Result<CommandOutcome> {
    let subject = subjects::find_here(&args.subject)?;
    workloads::of(subject.workload())?.sweep(subject, args, ui)
}

pub(crate) fn find_max(args: &args::FindMax, ui: &Ui) -> Result<CommandOutcome> {
    let subject = subjects::find_here(&args.subject)?;
    workloads::of(subject.workload())?.find_max(subject, args, ui)
}

pub(crate) fn drill(args: &args::Drill, ui: &Ui) -> Result<CommandOutcome> {
    let subject = subjects::find_here(&args.subject)?;
    subject.can_start()?;
    workloads::of(subject.workload())?.drill(subject, args, ui)
}

pub(crate) fn generate(args: &args::Generate) -> Result<CommandOutcome> {
    workloads::of(&args.workload)?.generate(args)
}

pub(crate) fn serve(args: &args::Serve, ui: &Ui) -> Result<CommandOutcome> {
    let workload = subjects::workload(&args.workload)?;
    workloads::of(workload)?.serve(args, ui)
}

pub(crate) fn relay(args: &args::Relay, ui: &Ui) -> Result<CommandOutcome> {
    let workload = subjects::workload(&args.workload)?;
    workloads::of(workload)?.relay(args, ui)
}

pub(crate) fn verify(args: &args::Verify, ui: &Ui) -> Result<CommandOutcome> {
    let target = args.target.as_deref();
    if let Some(url) = target.filter(|target| target.contains("://")) {
        let Some(workload) = &args.workload else {
            bail!("which workload does the server at {url} serve?\nhint: add --workload catalogue")
        };
        if args.source.is_some() {
            bail!("--server is started here, and {url} is running: verify takes one of them");
        }
        let workload = subjects::workload(workload)?;
        return workloads::of(workload)?.verify(Verified::Running(url), args, ui);
    }
    let subject = match &args.source {
        Some(server) => SourceSubjects::of(server)?.only(target)?,
        None => served(target.unwrap_or_default())?,
    };
    if let Some(workload) = args.workload.as_deref().filter(|workload| *workload != subject.workload()) {
        bail!("{} is of the workload {}, and --workload is {workload}", subject.path, subject.workload());
    }
    workloads::of(subject.workload())?.verify(Verified::Started(subject), args, ui)
}

/// The subject through HTTP of a path; where that leaves out how, it is our server.
fn served(path: &str) -> Result<&'static Subject> {
    let subject = subjects::find_here(path)?;
    match subject.route() {
        Route::Http => Ok(subject),
        Route::Direct if path.split('/').count() < 3 => {
            subjects::served(subject.workload(), subject.how.dialect.name(), None)
        }
        Route::Direct => {
            bail!("{} is direct; verify is for servers\nhint: `stackmark list` has them", subject.path)
        }
    }
}

pub(crate) fn audit(args: &args::Audit, ui: &Ui) -> Result<CommandOutcome> {
    let workload = subjects::workload(&args.workload)?;
    workloads::of(workload)?.audit(args, ui)
}

pub(crate) fn export(args: &args::Export, ui: &Ui) -> Result<CommandOutcome> {
    let args::ExportTool::K6(args) = &args.tool;
    let workload = subjects::workload(&args.workload)?;
    workloads::of(workload)?.export_k6(args, ui)
}
