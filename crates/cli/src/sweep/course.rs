//! One subject under one load after another: what `sweep` and `find-max` share.

use crate::args::{self, Limited};
use crate::case::Case;
use crate::database::{Database, parse_url, scale_of};
use crate::experiment::bench::{Bench, Prepared, trial_name};
use crate::experiment::plan::{Place, Variant};
use crate::folder::Folder;
use crate::interrupt::Interrupt;
use crate::run::{self, server_settings};
use crate::subjects::{Route, Subject};
use crate::trial::{self, EndEarly};
use crate::ui::Ui;
use crate::vouch;
use anyhow::{Context, Result, bail};
use report::document::{Document, State};
use std::marker::PhantomData;

/// Everything that can be wrong before a folder is made: subject, data, plan, limits.
pub(crate) struct Ground<W: Case> {
    subject: &'static Subject,
    scale: u32,
    place: Place,
    server: args::ServerArgs,
    engine: args::EngineArgs,
    /// A closed loop of the usual number of clients; each load changes what it must.
    pub(crate) plan: drive::Plan,
    workload: PhantomData<W>,
}

impl<W: Case> Ground<W> {
    pub(crate) fn find(
        subject: &'static Subject,
        data: &args::DataArgs,
        load: &args::LoadArgs,
        server: &args::ServerArgs,
        engine: &args::EngineArgs,
    ) -> Result<Ground<W>> {
        let dialect = subject.how.dialect;
        let named = data.db.as_deref().map(|url| parse_url(url, Some(dialect))).transpose()?;
        let scale = data.scale.map(scale_of::<W>).transpose()?;
        if engine.limits_of(Limited::Server).is_some() && subject.route == Route::Direct {
            bail!("--limit server:… is for an HTTP server that is started here; {} has none", subject.path);
        }
        let existing =
            named.clone().map(|url| Database::<W>::existing(url, scale.map(u64::from))).transpose()?;
        if let Some(database) = &existing {
            vouch::reachable(subject, database)?;
        }
        let scale = existing.as_ref().map_or(scale.unwrap_or(1), Database::scale);
        let plan = run::plan::<W>(&load.closed(), scale)?;
        let place = Place::of_wishes(dialect, named.as_ref(), engine);
        let (server, engine) = (server.clone(), engine.clone());
        Ok(Ground { subject, scale, place, server, engine, plan, workload: PhantomData })
    }

    fn variant(&self, plan: &drive::Plan) -> Variant {
        let server = server_settings(&self.server, &self.engine, plan.workers);
        Variant {
            name: self.subject.path.into(),
            subject: self.subject.path.into(),
            base: None,
            factors: Vec::new(),
            plan: plan.clone(),
            pool: server.pool,
            server_threads: server.threads,
            server_limits: server.limits.map(|limits| limits.to_string()),
            place: self.place.clone(),
            asked: Vec::new(),
        }
    }
}

/// The subject on its bench.
pub(crate) struct Course<'a, W: Case> {
    ground: Ground<W>,
    bench: Bench<'a, W>,
    interrupt: &'a Interrupt,
    /// By the number of sessions behind the server; a direct subject has one entry.
    prepared: Vec<(u32, Prepared)>,
}

impl<'a, W: Case> Course<'a, W> {
    pub(crate) fn open(
        ground: Ground<W>,
        folder: &'a Folder,
        ui: &'a Ui,
        interrupt: &'a Interrupt,
    ) -> Result<Course<'a, W>> {
        let bench = Bench::open(ground.scale, folder, ui, interrupt)?;
        Ok(Course { ground, bench, interrupt, prepared: Vec::new() })
    }

    /// Sessions that matter to this load: with a direct subject each client has its own.
    fn sessions(&self, variant: &Variant) -> u32 {
        if self.ground.subject.route == Route::Http { variant.pool } else { 0 }
    }

    /// Loads the data where that is not done, and holds the subject to the workload.
    pub(crate) fn prepare(&mut self, plan: &drive::Plan) -> Result<()> {
        let variant = self.ground.variant(plan);
        let sessions = self.sessions(&variant);
        if !self.prepared.iter().any(|(of, _)| *of == sessions) {
            let prepared = self
                .bench
                .prepare(&variant)
                .with_context(|| format!("{} cannot be measured", self.ground.subject.path))?;
            self.prepared.push((sessions, prepared));
        }
        Ok(())
    }

    /// Runs one trial from a restored state; see [`Bench::trial`]. Nothing where the user has interrupted before anything of
    /// it was measured.
    pub(crate) fn trial(
        &mut self,
        plan: &drive::Plan,
        label: &str,
        end_early: Option<EndEarly<'_>>,
        document: &mut Document,
    ) -> Result<Option<usize>> {
        let index = match self.run(plan, label, end_early, document) {
            Ok(index) => index,
            Err(_) if self.interrupt.requested() => return Ok(None),
            Err(error) => return Err(error),
        };
        let trial = &document.trials[index];
        if trial::is_empty(trial) {
            document.trials.pop();
            return Ok(None);
        }
        Ok(Some(index))
    }

    fn run(
        &mut self,
        plan: &drive::Plan,
        label: &str,
        end_early: Option<EndEarly<'_>>,
        document: &mut Document,
    ) -> Result<usize> {
        self.prepare(plan)?;
        let sessions = self.sessions(&self.ground.variant(plan));
        let (_, prepared) =
            self.prepared.iter().find(|(of, _)| *of == sessions).expect("prepared just above");
        let name = trial_name(document.trials.len() + 1, label);
        self.bench.trial(prepared, plan, &name, end_early, document)
    }

    /// What a reader must know of the place.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.bench.notes()
    }
}

/// Writes down that a run could not go on, and why. One that has measured nothing leaves no result.
pub(crate) fn give_up(folder: &Folder, document: &mut Document, error: &anyhow::Error) {
    if document.trials.is_empty() {
        folder.empty();
        return;
    }
    document.state = State::Failed;
    document.notes.push(format!("It could not go on: {error:#}"));
    // What cannot be written leaves the last state, which says that it is running.
    let _ = folder.put_document(document);
}

/// An interrupted run that has measured nothing has nothing to show but what its trial's folder holds.
///
/// # Errors
/// Nothing was measured.
pub(crate) fn something_measured(folder: &Folder, document: &Document) -> Result<()> {
    if document.trials.is_empty() {
        let json = folder.put_document(document)?;
        bail!("interrupted before anything was measured; what was done until then: {}", json.display());
    }
    Ok(())
}
