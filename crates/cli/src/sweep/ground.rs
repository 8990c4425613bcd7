//! One subject, and what is the same under every load: what `sweep` and `find-max` share.

use crate::args::{self, ArrivalsArg, Limited};
use crate::case::Case;
use crate::database::{Database, parse_url, scale_of};
use crate::experiment::plan::{Place, Variant};
use crate::run::{self, server_settings};
use crate::subjects::{self, Route, Subject};
use crate::vouch;
use anyhow::{Result, bail};
use drive::{Arrivals, RatePerSecond};
use serde::{Deserialize, Serialize};

/// One subject, and what is the same under every load: all that can be wrong before a folder is made, with every default
/// filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ground {
    /// The path of a subject that exists.
    pub(crate) subject: String,
    pub(crate) scale: u32,
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

    /// The subject under each of these plans, but for those of as many sessions as one before.
    pub(crate) fn variants(&self, plans: impl Iterator<Item = drive::Plan>) -> Vec<Variant> {
        let mut variants: Vec<Variant> = Vec::new();
        for plan in plans {
            if variants
                .iter()
                .all(|variant| self.sessions(variant.plan.workers) != self.sessions(plan.workers))
            {
                variants.push(self.variant(plan));
            }
        }
        variants
    }

    /// Sessions behind a server, that matter to a load: with a direct subject each client has its own.
    pub(crate) fn sessions(&self, clients: u32) -> u32 {
        let is_served = subjects::find(&self.subject).is_ok_and(|subject| subject.route() == Route::Http);
        if is_served { run::pool(self.pool, clients) } else { 0 }
    }

    fn variant(&self, plan: drive::Plan) -> Variant {
        Variant {
            name: self.subject.clone(),
            subject: self.subject.clone(),
            base: None,
            factors: Vec::new(),
            pool: run::pool(self.pool, plan.workers),
            plan,
            server_threads: self.server_threads,
            server_limits: self.server_limits.clone(),
            place: self.place.clone(),
            through_checkpoints: false,
            asked: Vec::new(),
        }
    }
}
