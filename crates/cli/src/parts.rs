//! Load from several processes: a plan that all of them share, the part of each, and one result of all.

use crate::args::{self, DataArgs, EngineArgs, OutArgs, PartArg, ServerArgs};
use crate::data::Data;
use crate::outcome::{self, CommandOutcome};
use crate::run::server_settings;
use crate::ui::Ui;
use anyhow::{Context, Result, bail};
use deploy::in_use::{self, InUse};
use deploy::{Databases, Deployment, Interrupt, Route, ServerSettings, Subject, subjects};
use result::{Document, Moment, RunKind, State};
use schedule::Gate;
use sql::DbUrl;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use targets::Driven;
use trial::{ClockOffset, Folder, Job, PartOfRun, PartResults, Seat, SharedPlan, reach};
use workload::Of;

/// Fails where the calls of a run cannot be made by several processes.
pub(crate) fn can_be_shared<W: Driven>(
    subject: &Subject,
    data: &Data<W>,
    plan: &drive::Plan,
    url: Option<&str>,
) -> Result<()> {
    let workload = W::NAME;
    if data.named.is_empty() {
        bail!(
            "--write-plan needs --db: all parts make calls on one database that stays\nhint: `stackmark load {workload} --db …` \
             loads it"
        );
    }
    if subject.route() == Route::Http && url.is_none() {
        bail!(
            "--write-plan needs --url: all parts make calls on one server that is running\nhint: `stackmark serve {workload}` \
             starts it"
        );
    }
    if subject.publishes() || subject.has_relay(data.named.len()) {
        bail!(
            "{} needs a relay or publishes messages, which parts of a run do not do\nhint: choose another style",
            subject.path
        );
    }
    plan.part(0, 1)?;
    Ok(())
}

/// The subject of a plan, or of what a part of it has left.
pub(crate) fn subject_of(file: &Path) -> Result<&'static Subject> {
    subjects::find(&trial::head(file)?.subject)
}

/// The file of a part that was given, or of the first that has one.
pub(crate) fn first_of(parts: &[PathBuf]) -> Result<PathBuf> {
    let has_left = parts.iter().map(|place| trial::part_file(place)).find(|file| file.exists());
    has_left.context("none of the parts has left anything: there is nothing to merge")
}

/// The numbers that the user may choose and that the data is loaded with.
fn values_of_data<W: Driven>(size: &W::Extent) -> Vec<u64> {
    let all = W::PARAMETERS.iter().zip(W::values(size));
    all.filter(|(parameter, _)| parameter.of == Of::Data).map(|(_, value)| value).collect()
}

/// What parts of a run stand on: always databases that are there.
struct PartRun<W: Driven> {
    subject: &'static Subject,
    databases: Databases<W>,
    deployment: Deployment,
    server: ServerSettings,
    folder: Folder,
    document: Document,
    _locks: (Vec<InUse>, trial::MachineLock),
}

/// What is to be done there.
struct PartRequest<'a, W: Driven> {
    subject: &'static Subject,
    shared: &'a SharedPlan<W>,
    data: &'a DataArgs,
    lock: fn(&DbUrl) -> Result<Option<InUse>>,
    /// That it opens at the database.
    sessions: u32,
    out: &'a OutArgs,
    /// The name of a part; nothing for the result of all.
    name: Option<String>,
}

impl<W: Driven> PartRun<W> {
    fn of(request: PartRequest<'_, W>, ui: &Ui) -> Result<PartRun<W>> {
        let PartRequest { subject, shared, data, lock, sessions, out, name } = request;
        let Data { stores, named, existing, chosen, asked } = Data::<W>::of(data, &[subject])?;
        let Some(mut databases) = existing else {
            bail!("no database is named\nhint: give --db with the database of the plan");
        };
        // What calls draw from is the plan's to say, and not the load's.
        let is_its = values_of_data::<W>(&databases.size) == values_of_data::<W>(&shared.size)
            && W::scale(&databases.size) == W::scale(&shared.size)
            && databases.checksum() == shared.checksum;
        if !is_its {
            bail!(
                "{} does not hold the data that the plan {} is about\nhint: give --db with the database of the plan, or write \
                 another plan",
                databases.place(),
                shared.id
            );
        }
        databases.size = shared.size.clone();
        let in_use: Vec<InUse> =
            named.iter().filter_map(|url| lock(url).transpose()).collect::<Result<_>>()?;
        let machine = trial::hold(true)?;
        let (folder, started, id) = match name {
            Some(name) => (Folder::named(&out.out, &name)?, Moment::from_unix(measure::unix_seconds()), name),
            None => Folder::create(&out.out, subject.path)?,
        };
        machine.works_in(folder.path());
        in_use.iter().for_each(|in_use| in_use.works_in(folder.path()));
        let engine = EngineArgs::default();
        let spec = Data::<W> { stores, named: named.clone(), existing: None, chosen, asked }
            .spec(subject.how.dialect, &engine);
        let deployment =
            Deployment::create(folder.path(), &spec, &named, &engine.engine_options(), sessions, ui)?;
        let mut document = trial::document(id, started, RunKind::Trial, &[subject.path]);
        document.notes = deployment.notes();
        let server = ServerSettings {
            http: shared.http,
            ..server_settings(&ServerArgs::default(), &engine, shared.plan.workers)
        };
        Ok(PartRun { subject, databases, deployment, server, folder, document, _locks: (in_use, machine) })
    }

    fn job<'a>(
        &'a self,
        plan: drive::Plan,
        url: Option<&'a str>,
        part: PartOfRun,
        ui: &'a Ui,
        interrupt: &'a Interrupt,
    ) -> Job<'a, W> {
        Job {
            subject: self.subject,
            databases: &self.databases,
            deployment: &self.deployment,
            plan,
            server: self.server.clone(),
            url,
            audited: true,
            own: None,
            folder: &self.folder,
            checked_s: Cell::new(0.0),
            what: self.subject.path,
            reporter: ui,
            interrupt,
            probes_speed: false,
            end_early: None,
            part: Some(part),
        }
    }
}

/// `run --part`: makes the calls of one part of a planned run.
pub(crate) fn part<W: Driven>(
    subject: &'static Subject,
    args: &args::Run,
    file: &Path,
    which: PartArg,
    ui: &Ui,
) -> Result<CommandOutcome> {
    let interrupt = Interrupt::listen()?;
    let shared = SharedPlan::<W>::read(file)?;
    let plan = shared.plan.part(which.part - 1, which.of)?;
    check_url(subject, args.url.as_deref())?;
    if let Some(url) = &args.url {
        let server = reach::<W>(url, Some(W::scale(&shared.size).into()))?;
        server.about().admits(plan.workers).map_err(anyhow::Error::msg)?;
    }
    let place = PartRun::of(
        PartRequest {
            subject,
            shared: &shared,
            data: &args.data,
            lock: in_use::lock_shared,
            sessions: if args.url.is_some() { 0 } else { plan.workers },
            out: &args.out,
            name: Some(format!("{}-part-{}-of-{}", shared.id, which.part, which.of)),
        },
        ui,
    )?;
    let clock = place.databases.urls().first().map(ClockOffset::of).transpose()?.flatten();
    let starts = args.start_at.map(|at| local(at.0, clock));
    let of_run = PartOfRun { run: shared.run, starts };
    let seat = Seat { part: which.part, of: which.of, clock };
    let mut document = place.document.clone();
    let job = place.job(plan, args.url.as_deref(), of_run, ui, &interrupt);
    let made = job.part(shared, seat, &mut document);
    let index = made.inspect_err(|_| {
        // What failed before a call was made has no result, not even a partial one.
        if document.trials.last().is_none_or(|trial| trial.slices.is_empty()) {
            place.folder.empty();
        }
    })?;
    let trial = &document.trials[index];
    let (counts, state) = (trial.overall.call_counts, trial.state);
    let told = format!(
        "part {} of {}: {} calls were due, {} committed; {}{}\n",
        which.part,
        which.of,
        counts.due,
        counts.committed,
        state.word(),
        trial.failure.as_ref().map_or_else(String::new, |why| format!(": {why}"))
    );
    document.state = state;
    place.folder.put_document(&document)?;
    match ui.json {
        true => ui.data(&result::to_json(&document)),
        false => ui.data(&told),
    }
    ui.remark(&format!(
        "`stackmark merge` takes {} together with the other parts",
        place.folder.path().display()
    ));
    Ok(if state == State::Complete { CommandOutcome::Good } else { CommandOutcome::Bad })
}

fn check_url(subject: &Subject, url: Option<&str>) -> Result<()> {
    match (subject.route(), url) {
        (Route::Http, None) => {
            bail!("{} is reached over HTTP\nhint: give --url with the address of its server", subject.path)
        }
        (Route::Direct, Some(_)) => {
            bail!("--url is for subjects through HTTP; {} is direct\nhint: leave --url out", subject.path)
        }
        (Route::Http, Some(_)) | (Route::Direct, None) => Ok(()),
    }
}

/// A moment of the database's clock, in nanoseconds of Unix time, by the clock of this machine.
fn local(at: u64, clock: Option<ClockOffset>) -> u64 {
    let offset_ns = clock.map_or(0, |clock| clock.offset_us.saturating_mul(1_000));
    at.saturating_add_signed(offset_ns.saturating_neg())
}

/// `merge`: puts the parts of a run together, and audits the stored data.
pub(crate) fn merge<W: Driven>(
    subject: &'static Subject,
    args: &args::Merge,
    ui: &Ui,
) -> Result<CommandOutcome> {
    let interrupt = Interrupt::listen()?;
    let kinds: Vec<&str> = W::KINDS.iter().map(|kind| kind.name).collect();
    let gates = Gate::parse_all(&args.slo, &kinds)?;
    let given = PartResults::<W>::of(&args.parts)?;
    check_url(subject, args.url.as_deref())?;
    let plan = given.plan.plan.clone();
    let place = PartRun::of(
        PartRequest {
            subject,
            shared: &given.plan,
            data: &args.data,
            lock: in_use::lock_exclusive,
            sessions: 0,
            out: &args.out,
            name: None,
        },
        ui,
    )?;
    let of_run = PartOfRun { run: given.plan.run, starts: None };
    let mut document = place.document.clone();
    let job = place.job(plan, args.url.as_deref(), of_run, ui, &interrupt);
    let index = job.merge(given, &mut document).inspect_err(|_| place.folder.empty())?;
    let trial = &mut document.trials[index];
    let answer = outcome::of_trial(trial, &gates, &args.checks, ui);
    document.state = trial.state;
    let json = place.folder.put_document(&document)?;
    ui.publish(&place.folder, &document, &json)?;
    Ok(answer)
}
