//! Options of private engines.

use super::values::{limit, programs, setting};
use super::{Limit, Limited, Setting};
use clap::{Args, ValueEnum};

#[derive(Debug, Args, Clone, Default, PartialEq)]
#[command(next_help_heading = "Engine")]
pub(crate) struct EngineArgs {
    /// Durability of commits on a private engine: `delayed` may lose the last moments when the machine
    /// crashes, and is printed in every headline.
    #[arg(long, value_enum, default_value_t = DurabilityArg::Durable)]
    pub(crate) durability: DurabilityArg,
    /// Resource limit of a process that Stackmark starts, for example `engine:cpu=0.5,mem=1GiB`,
    /// `server:cpu=1`, `relay:cpu=0.5` or `broker:mem=2GiB`.
    #[arg(long, value_parser = limit)]
    pub(crate) limit: Vec<Limit>,
    /// Statement statistics of a private PostgreSQL (pg_stat_statements), which slow it down by a few
    /// percent.
    #[arg(long)]
    pub(crate) statement_statistics: bool,
    /// Folder of the programs of a private PostgreSQL or MariaDB, or a version that is installed in the usual place, such as `18`
    /// [default: the newest]. In `compare`, two of them are compared with each other, and one subject with one is compared with
    /// itself on the default.
    #[arg(long, value_name = "PATH|VERSION", value_parser = programs)]
    pub(crate) engine_bin: Vec<String>,
    /// Setting of a private PostgreSQL or MariaDB, instead of the one in docs/rig.md: `shared_buffers=2GB`. The server of --db is
    /// not changed: it must have the value. In `compare`, two values of one setting are compared with each other, and one
    /// subject with a setting is compared with itself without it.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) setting: Vec<Setting>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum DurabilityArg {
    #[default]
    Durable,
    Delayed,
}

impl DurabilityArg {
    pub(crate) const fn tier(self) -> model::Tier {
        match self {
            DurabilityArg::Durable => model::Tier::Durable,
            DurabilityArg::Delayed => model::Tier::Delayed,
        }
    }
}

impl EngineArgs {
    /// What is asked of a private engine.
    pub(crate) fn engine_options(&self) -> deploy::EngineOptions {
        deploy::EngineOptions {
            durability: self.durability.tier(),
            limits: self.limits_of(Limited::Engine),
            statement_statistics: self.statement_statistics,
        }
    }

    /// The limits of one of them, if any were given.
    pub(crate) fn limits_of(&self, who: Limited) -> Option<rig::Limits> {
        self.limit.iter().rev().find(|limit| limit.who == who).map(|limit| limit.limits)
    }
}
