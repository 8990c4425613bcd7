//! One subject, and what is the same under every load: what `sweep` and `find-max` share.

use crate::plan::Variant;
use deploy::{RelayOptions, Spec};
use drive::{Arrivals, RatePerSecond};
use model::HttpOptions;
use serde::{Deserialize, Serialize};

/// One subject, and what is the same under every load: all that can be wrong before a folder is made, with every default
/// filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnderLoad {
    /// The path of a subject that exists.
    pub subject: String,
    /// Size of the data.
    pub scale: u32,
    /// The data and the engine under it.
    pub spec: Spec,
    /// Whether it is reached through a server.
    pub served: bool,
    /// Sessions behind a server, where the user has said how many.
    pub pool: Option<u32>,
    /// Threads of a server besides its sessions.
    pub server_threads: usize,
    /// How calls reach a server.
    pub http: HttpOptions,
    /// What a server that is started here may use: `cpu=1,mem=1GiB`.
    pub server_limits: Option<String>,
    /// A relay that is started here.
    pub relaying: RelayOptions,
    /// Clients that share the calls of an open loop.
    pub in_flight: u32,
    /// Arrival process of an open loop.
    pub arrivals: Spacing,
    /// A closed loop of the usual number of clients; each load changes what it must.
    pub plan: drive::Plan,
}

/// Arrival process of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spacing {
    /// As of many who do not know of each other.
    Poisson,
    Constant,
}

/// Sessions behind a server unless told otherwise: one a client, up to this many.
const POOL_MAX: u32 = 64;

/// Sessions behind a server for so many clients.
pub fn pool(asked: Option<u32>, clients: u32) -> u32 {
    asked.unwrap_or(clients.min(POOL_MAX))
}

impl UnderLoad {
    fn pool_of(&self, clients: u32) -> u32 {
        pool(self.pool, clients)
    }

    /// Calls due at a rate.
    pub fn open_loop(&self, rate: f64) -> Arrivals {
        match self.arrivals {
            Spacing::Poisson => Arrivals::Poisson(RatePerSecond(rate)),
            Spacing::Constant => Arrivals::Constant(RatePerSecond(rate)),
        }
    }

    /// The subject under each of these plans; of those with as many sessions behind a server, the one with the most clients.
    pub fn variants(&self, plans: impl Iterator<Item = drive::Plan>) -> Vec<Variant> {
        let mut variants: Vec<Variant> = Vec::new();
        for plan in plans {
            let sessions = self.sessions(plan.workers);
            match variants.iter_mut().find(|variant| self.sessions(variant.plan.workers) == sessions) {
                Some(variant) if variant.plan.workers < plan.workers => *variant = self.variant(plan),
                Some(_) => {}
                None => variants.push(self.variant(plan)),
            }
        }
        variants
    }

    /// Sessions behind a server, that matter to a load: with a direct subject each client has its own.
    pub fn sessions(&self, clients: u32) -> u32 {
        if self.served { self.pool_of(clients) } else { 0 }
    }

    fn variant(&self, plan: drive::Plan) -> Variant {
        Variant {
            name: self.subject.clone(),
            subject: self.subject.clone(),
            base: None,
            factors: Vec::new(),
            pool: self.pool_of(plan.workers),
            plan,
            server_threads: self.server_threads,
            http: self.http,
            server_limits: self.server_limits.clone(),
            relaying: self.relaying.clone(),
            spec: self.spec.clone(),
            through_checkpoints: false,
            whole: false,
            asked: Vec::new(),
        }
    }
}
