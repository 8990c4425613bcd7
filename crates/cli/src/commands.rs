//! From a command to the workload that it is about.

use crate::against::{self, StoredBase};
use crate::args::{self, Command};
use crate::experiment;
use crate::outcome::{CommandOutcome, RunTerms};
use crate::ui::Ui;
use crate::verify::Verified;
use crate::workloads::{self, WorkloadRow};
use crate::{audit, compare, drill, export, load, parts, relay, resume, run, serve, sweep, verify};
use anyhow::{Result, bail};
use deploy::{Route, SourceSubjects, Subject, subjects};
use schedule::Interleaved;
use std::path::Path;
use targets::Driven;
use trial::SavedPlan;

/// A command about one workload, whose subjects have been found.
pub(crate) enum Task<'a> {
    Load(&'a args::Load),
    Run(&'static Subject, &'a args::Run),
    Merge(&'static Subject, &'a args::Merge),
    Compare(&'static Subject, &'static Subject, &'a args::Compare),
    Against(StoredBase, &'static Subject, Box<args::Compare>),
    /// A schedule, and the file that it is from.
    Experiment(Box<Interleaved>, &'a args::Experiment, &'a str),
    Resume(SavedPlan, &'a args::Resume),
    Sweep(&'static Subject, &'a args::Sweep),
    FindMax(&'static Subject, &'a args::FindMax),
    Drill(&'static Subject, &'a args::Drill),
    Generate(&'a args::Generate),
    Serve(&'a args::Serve),
    Relay(&'a args::Relay),
    Audit(&'a args::Audit),
    Verify(Verified<'a>, &'a args::Verify),
    Export(&'a args::ExportK6),
}

/// Runs a command about workload `W`.
pub(crate) fn execute<W: Driven>(work: Task<'_>, ui: &Ui) -> Result<CommandOutcome> {
    match work {
        Task::Load(args) => load::load::<W>(args, ui),
        Task::Run(subject, args) => run::run::<W>(subject, args, ui),
        Task::Merge(subject, args) => parts::merge::<W>(subject, args, ui),
        Task::Compare(a, b, args) => compare::compare::<W>(a, b, args, None, ui),
        Task::Against(base, subject, args) => compare::compare::<W>(subject, subject, &args, Some(base), ui),
        Task::Experiment(schedule, args, _) => {
            let terms = RunTerms::of(&schedule);
            ui.finish(trial::begin::<W, _>(*schedule, &args.out.out, ui)?, terms)
        }
        Task::Resume(saved, args) => resume::resume::<W>(saved, args, ui),
        Task::Sweep(subject, args) => {
            let schedule = sweep::asked::<W>(subject, args, ui)?;
            ui.finish(trial::begin::<W, _>(schedule, &args.out.out, ui)?, RunTerms::default())
        }
        Task::FindMax(subject, args) => {
            let schedule = sweep::search::<W>(subject, args, ui)?;
            ui.finish(trial::begin::<W, _>(schedule, &args.out.out, ui)?, RunTerms::default())
        }
        Task::Drill(subject, args) => drill::drill::<W>(subject, args, ui),
        Task::Generate(args) => drill::generate::<W>(args),
        Task::Serve(args) => serve::serve::<W>(args, ui),
        Task::Relay(args) => relay::relay::<W>(args, ui),
        Task::Audit(args) => audit::audit::<W>(args, ui),
        Task::Verify(what, args) => verify::verify::<W>(what, args, ui),
        Task::Export(args) => export::k6::<W>(args, ui),
    }
}

/// What a command has to do, in this order, each with its workload: one piece, or one for each experiment. All are checked before
/// the first begins.
///
/// # Errors
/// A subject or a workload does not exist, or subjects cannot be compared. Or the command is about no workload.
pub(crate) fn find(command: &Command) -> Result<Vec<(&'static WorkloadRow, Task<'_>)>> {
    match command {
        Command::Experiment(args) => args.files.iter().map(|file| experiment(file, args)).collect(),
        command => one(command).map(|work| vec![work]),
    }
}

fn experiment<'a>(file: &'a str, args: &'a args::Experiment) -> Result<(&'static WorkloadRow, Task<'a>)> {
    let resolve = |file: experiment::ExperimentFile<'_>| (workloads::of(file.workload)?.read)(file);
    let experiment = compare::adjusted(experiment::find(file, &resolve)?, args)?;
    let workload = workloads::of(&experiment.workload)?;
    let schedule = (workload.schedule)(experiment)?;
    Ok((workload, Task::Experiment(Box::new(schedule), args, file)))
}

impl Task<'_> {
    /// The experiment file that it is from.
    pub(crate) fn file(&self) -> Option<&str> {
        match self {
            Task::Experiment(_, _, file) => Some(file),
            _ => None,
        }
    }
}

fn one(command: &Command) -> Result<(&'static WorkloadRow, Task<'_>)> {
    let named = |workload: &str| workloads::of(subjects::workload(workload)?);
    let of = |subject: &Subject| workloads::of(subject.workload());
    Ok(match command {
        Command::Load(args) => (of(subjects::find(&args.subject)?)?, Task::Load(args)),
        Command::Run(args) => {
            let subject = run::subject_of(args)?;
            (of(subject)?, Task::Run(subject, args))
        }
        Command::Merge(args) => {
            let subject = parts::subject_of(&parts::first_of(&args.parts)?)?;
            (of(subject)?, Task::Merge(subject, args))
        }
        Command::Compare(args) if let Some((base, subject)) = against::base_of(args) => {
            let (base, subject, args) = against::read(base, subject, args)?;
            (of(subject)?, Task::Against(base, subject, Box::new(args)))
        }
        Command::Compare(args) => {
            let (a, b) = sides_of(args)?;
            if a.workload() != b.workload() {
                bail!("{} and {} are different workloads: their rates cannot be compared", a.path, b.path);
            }
            (of(a)?, Task::Compare(a, b, args))
        }
        Command::Resume(args) => {
            let saved = SavedPlan::read(&args.folder)?;
            (workloads::of(&saved.workload)?, Task::Resume(saved, args))
        }
        Command::Sweep(args) => {
            let subject = subjects::find_here(&args.subject)?;
            (of(subject)?, Task::Sweep(subject, args))
        }
        Command::FindMax(args) => {
            let subject = subjects::find_here(&args.subject)?;
            (of(subject)?, Task::FindMax(subject, args))
        }
        Command::Drill(args) => {
            let subject = subjects::find_here(&args.subject)?;
            subject.can_start()?;
            (of(subject)?, Task::Drill(subject, args))
        }
        Command::Generate(args) => (workloads::of(&args.workload)?, Task::Generate(args)),
        Command::Serve(args) => (named(&args.workload)?, Task::Serve(args)),
        Command::Relay(args) => (named(&args.workload)?, Task::Relay(args)),
        Command::Audit(args) => (named(&args.workload)?, Task::Audit(args)),
        Command::Verify(args) => {
            let (workload, what) = verified(args)?;
            (workloads::of(workload)?, Task::Verify(what, args))
        }
        Command::Export(args::Export { tool: args::ExportTool::K6(args) }) => {
            (named(&args.workload)?, Task::Export(args))
        }
        Command::Experiment(_)
        | Command::Quickstart(_)
        | Command::List(_)
        | Command::Doctor
        | Command::Consume(_)
        | Command::Report(_)
        | Command::Rig(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Launch(_) => bail!("this command is about no workload"),
    })
}

/// What is compared: two subjects, or one with itself.
fn sides_of(args: &args::Compare) -> Result<(&'static Subject, &'static Subject)> {
    if !args.source.is_empty() {
        return sides_of_sources(args);
    }
    match (args.sides.as_slice(), args.confirm_bottleneck) {
        ([a, b], false) => Ok((subjects::find_here(a)?, subjects::find_here(b)?)),
        ([a], confirm)
            if confirm || !args.engine.setting.is_empty() || !args.engine.engine_bin.is_empty() =>
        {
            let subject = subjects::find_here(a)?;
            Ok((subject, subject))
        }
        (_, true) => bail!("--confirm-bottleneck takes one subject"),
        _ => bail!(
            "compare requires two subjects, two stored results, or one subject with --setting or --engine-bin (got: {})\nhint: `stackmark run` measures one subject by \
             itself, `compare --confirm-bottleneck` one with a factor of it changed",
            args.sides.join(" ")
        ),
    }
}

/// The stored results that are to be compared, if one of the sides is a file.
pub(crate) fn stored_sides(args: &args::Compare) -> Option<(&Path, &Path)> {
    match args.sides.as_slice() {
        [a, b] if args.source.is_empty() && !args.confirm_bottleneck => {
            let (a, b) = (Path::new(a), Path::new(b));
            let subject_follows = against::base_of(args).is_some();
            (!subject_follows && (a.exists() || b.exists())).then_some((a, b))
        }
        _ => None,
    }
}

/// What is compared where servers are given by their folders.
fn sides_of_sources(args: &args::Compare) -> Result<(&'static Subject, &'static Subject)> {
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

/// What `verify` is to look at, and its workload.
fn verified(args: &args::Verify) -> Result<(&'static str, Verified<'_>)> {
    let target = args.target.as_deref();
    if let Some(url) = target.filter(|target| target.contains("://")) {
        let Some(workload) = &args.workload else {
            bail!("which workload does the server at {url} serve?\nhint: add --workload catalogue")
        };
        if args.source.is_some() {
            bail!("--server is started here, and {url} is running: verify takes one of them");
        }
        return Ok((subjects::workload(workload)?, Verified::Running(url)));
    }
    let subject = match &args.source {
        Some(server) => SourceSubjects::of(server)?.only(target)?,
        None => served(target.unwrap_or_default())?,
    };
    if let Some(workload) = args.workload.as_deref().filter(|workload| *workload != subject.workload()) {
        bail!("{} is of the workload {}, and --workload is {workload}", subject.path, subject.workload());
    }
    Ok((subject.workload(), Verified::Started(subject)))
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
