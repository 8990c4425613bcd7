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
use crate::ui::Ui;
use crate::vouch;
use anyhow::{Context, Result, bail};
use report::document::Document;
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
        Ok(Course { ground, bench, prepared: Vec::new() })
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

    /// Runs one trial from a restored state; see [`Bench::trial`].
    pub(crate) fn trial(
        &mut self,
        plan: &drive::Plan,
        label: &str,
        document: &mut Document,
    ) -> Result<usize> {
        self.prepare(plan)?;
        let sessions = self.sessions(&self.ground.variant(plan));
        let (_, prepared) =
            self.prepared.iter().find(|(of, _)| *of == sessions).expect("prepared just above");
        let name = trial_name(document.trials.len() + 1, label);
        self.bench.trial(prepared, plan, &name, document)
    }

    /// What a reader must know of the place.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.bench.notes()
    }
}
