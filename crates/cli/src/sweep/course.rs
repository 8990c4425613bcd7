//! One subject under one load after another: what `sweep` and `find-max` share of a trial.

use super::stored::Stored;
use crate::args::{self, ArrivalsArg, Limited};
use crate::case::Case;
use crate::database::{Database, parse_url, scale_of};
use crate::experiment::bench::{Bench, Prepared, trial_name};
use crate::experiment::plan::{Place, Variant};
use crate::resume::{agrees, partial};
use crate::run::{self, server_settings};
use crate::subjects::{self, Route, Subject};
use crate::trial::{self, EndEarly};
use crate::underway::Site;
use crate::vouch;
use anyhow::{Context, Result, bail};
use drive::{Arrivals, RatePerSecond};
use model::RetryPolicy;
use result::Document;
use serde::{Deserialize, Serialize};

/// One subject, and what is the same under every load: all that can be wrong before a folder is made, with every default
/// filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ground {
    /// The path of a subject that exists.
    pub(crate) subject: String,
    scale: u32,
    place: Place,
    /// Sessions behind a server, where the user has said how many.
    pool: Option<u32>,
    server_threads: usize,
    /// What a server that is started here may use: `cpu=1,mem=1GiB`.
    server_limits: Option<String>,
    /// Clients that share the calls of an open loop.
    pub(crate) in_flight: u32,
    /// Distances of the calls of an open loop.
    arrivals: ArrivalsArg,
    /// A closed loop of the usual number of clients; each load changes what it must.
    pub(crate) plan: drive::Plan,
}

impl Ground {
    pub(crate) fn find<W: Case>(
        subject: &'static Subject,
        data: &args::DataArgs,
        load: &args::LoadArgs,
        server: &args::ServerArgs,
        engine: &args::EngineArgs,
        in_flight: u32,
    ) -> Result<Ground> {
        let dialect = subject.how.dialect;
        let named = data.db.as_deref().map(|url| parse_url(url, Some(dialect))).transpose()?;
        let scale = data.scale.map(scale_of::<W>).transpose()?;
        if engine.limits_of(Limited::Server).is_some() && subject.route() == Route::Direct {
            bail!("--limit server:… is for an HTTP server that is started here; {} has none", subject.path);
        }
        let existing =
            named.clone().map(|url| Database::<W>::existing(url, scale.map(u64::from))).transpose()?;
        if let Some(database) = &existing {
            vouch::reachable(subject, database)?;
        }
        let scale = existing.as_ref().map_or(scale.unwrap_or(1), Database::scale);
        let settings = server_settings(server, engine, 1);
        let mut place = Place::of_wishes(dialect, named.as_ref(), engine);
        if load.through_checkpoints {
            place.go_through_checkpoints(load.duration.into())?;
        }
        Ok(Ground {
            subject: subject.path.into(),
            scale,
            place,
            pool: server.pool,
            server_threads: settings.threads,
            server_limits: settings.limits.map(|limits| limits.to_string()),
            in_flight,
            arrivals: load.arrivals,
            plan: run::plan::<W>(&load.closed(), scale)?,
        })
    }

    /// Calls due at a rate.
    pub(crate) fn open_loop(&self, rate: f64) -> Arrivals {
        match self.arrivals {
            ArrivalsArg::Poisson => Arrivals::Poisson(RatePerSecond(rate)),
            ArrivalsArg::Constant => Arrivals::Constant(RatePerSecond(rate)),
        }
    }

    fn variant(&self, plan: &drive::Plan) -> Variant {
        Variant {
            name: self.subject.clone(),
            subject: self.subject.clone(),
            base: None,
            factors: Vec::new(),
            plan: plan.clone(),
            pool: run::pool(self.pool, plan.workers),
            server_threads: self.server_threads,
            server_limits: self.server_limits.clone(),
            place: self.place.clone(),
            through_checkpoints: false,
            asked: Vec::new(),
        }
    }
}

/// The subject on its bench.
pub(crate) struct Course<'a, W: Case> {
    subject: &'static Subject,
    ground: Ground,
    bench: Bench<'a, W>,
    pub(crate) site: Site<'a>,
    stored: Stored,
    /// How many stored trials were taken.
    taken: usize,
    /// Trials that the run is to have, where that is known.
    all: Option<usize>,
    /// By the number of sessions behind the server; a direct subject has one entry.
    prepared: Vec<(u32, Prepared)>,
}

/// A trial that is wanted.
pub(crate) struct Wanted<'a> {
    pub(crate) plan: drive::Plan,
    /// What its folder is called, after its number.
    pub(crate) label: String,
    /// What the user is told when it has to be measured.
    pub(crate) announcement: String,
    pub(crate) end_early: Option<EndEarly<'a>>,
}

impl<'a, W: Case> Course<'a, W> {
    /// `stored` are the trials that a run that goes on has, and `all` how many it is to have, where that is known.
    pub(crate) fn open(
        ground: Ground,
        stored: Stored,
        all: Option<usize>,
        site: &Site<'a>,
    ) -> Result<Course<'a, W>> {
        let subject = subjects::find(&ground.subject)?;
        let bench = Bench::open(ground.scale, site.folder, site.ui, site.interrupt)?;
        Ok(Course { subject, ground, bench, site: *site, stored, taken: 0, all, prepared: Vec::new() })
    }

    /// Sessions that matter to this load: with a direct subject each client has its own.
    fn sessions(&self, variant: &Variant) -> u32 {
        if self.subject.route() == Route::Http { variant.pool } else { 0 }
    }

    /// Loads the data where that is not done, and holds the subject to the workload.
    ///
    /// # Errors
    /// The subject cannot be measured, or not as the stored trials were.
    pub(crate) fn prepare(&mut self, plan: &drive::Plan) -> Result<()> {
        let variant = self.ground.variant(plan);
        let sessions = self.sessions(&variant);
        if !self.prepared.iter().any(|(of, _)| *of == sessions) {
            let prepared = self
                .bench
                .prepare(&variant)
                .with_context(|| format!("{} cannot be measured", self.subject.path))?;
            agrees(self.subject.path, self.stored.trials(), &prepared)?;
            self.prepared.push((sessions, prepared));
        }
        Ok(())
    }

    /// The trial that is wanted next, by its place in the document: the stored one, or one that is measured from a restored
    /// state; see [`Bench::trial`]. Nothing where the user has interrupted before anything of it was measured.
    pub(crate) fn trial(&mut self, wanted: &Wanted<'_>, document: &mut Document) -> Result<Option<usize>> {
        let name = trial_name(document.trials.len() + 1, &wanted.label);
        let plan = wanted.plan.described(RetryPolicy::default().attempts_max);
        match self.stored.take(&name, &plan) {
            Ok(Some(trial)) => {
                self.taken += 1;
                document.trials.push(trial);
                return Ok(Some(document.trials.len() - 1));
            }
            Ok(None) => {}
            Err(why) => {
                self.site.ui.say(&why);
                document.notes.push(why);
            }
        }
        self.site.ui.say(&wanted.announcement);
        let index = match self.measure(&name, wanted, document) {
            Ok(index) => index,
            Err(_) if self.site.interrupt.requested() => return Ok(None),
            Err(error) => return Err(error),
        };
        let trial = &document.trials[index];
        if trial::is_empty(trial) {
            document.trials.pop();
            return Ok(None);
        }
        Ok(Some(index))
    }

    fn measure(&mut self, name: &str, wanted: &Wanted<'_>, document: &mut Document) -> Result<usize> {
        self.prepare(&wanted.plan)?;
        let number = document.trials.len() + 1;
        // Those that a run of before has measured after it: what goes on once more must not take them for ours.
        self.site.folder.discard_trials(|other| other > number)?;
        let sessions = self.sessions(&self.ground.variant(&wanted.plan));
        let (_, prepared) =
            self.prepared.iter().find(|(of, _)| *of == sessions).expect("prepared just above");
        self.bench.trial(prepared, &wanted.plan, name, wanted.end_early, document)
    }

    /// Trials of `document` that were measured here, by this process.
    pub(crate) fn measured_here(&self, document: &Document) -> usize {
        document.trials.len() - self.taken
    }

    /// Whether the next trial may be a stored one: then the document tells less than the one in the folder.
    pub(crate) fn has_stored(&self) -> bool {
        !self.stored.is_empty()
    }

    /// Writes down what there is, between two trials.
    pub(crate) fn write(&self, document: &mut Document) -> Result<()> {
        if self.has_stored() {
            return Ok(());
        }
        document.notes.push(partial(document, self.all, self.site.folder));
        let put = self.site.folder.put_document(document);
        document.notes.pop();
        put?;
        self.site.ui.live().board(document);
        Ok(())
    }

    /// What a reader must know of the place.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.bench.notes()
    }
}
