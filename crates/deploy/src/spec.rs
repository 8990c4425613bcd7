//! What is to be deployed for a subject, as plain data: what a command line or a file asks for, with every default filled in.

use crate::database::parse_url;
use crate::topic::BrokerSpec;
use anyhow::{Context, Result, bail};
use model::{Nanos, Tier};
use serde::{Deserialize, Serialize};
use sql::{DbUrl, Dialect, SqliteUrl};
use targets::{Driven, How, Style};
use workload::Chosen;

/// Where the data of a variant lies. Variants with equal specifications share one load and one private engine;
/// all private SQLite databases share one load, whatever their options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// `sqlite`, `postgres` or `mariadb`.
    pub engine: String,
    /// Stores that the data is split over.
    pub shards: u32,
    /// Databases that the user named, one for each store, as addresses without their passwords; trials run on copies next to
    /// them. None where the stores are private.
    pub named: Vec<String>,
    /// Options of a private SQLite database as its address has them: `journal=delete&cache=32MiB`.
    pub options: String,
    /// Settings of a private engine beyond ours: `("shared_buffers", "1GB")`.
    pub settings: Vec<(String, String)>,
    /// The folder of a private engine's programs, or its version: `18`; none where it does not matter.
    pub programs: Option<String>,
    /// What a commit on a private engine survives: `durable` or `delayed`.
    pub durability: String,
    /// What a private engine may use: `cpu=0.5,mem=1GiB`.
    pub limits: Option<String>,
    /// Whether a private PostgreSQL counts what each statement costs.
    pub statement_statistics: bool,
    /// Whether the power of what a private engine's data is on can be cut.
    pub power_cut: bool,
    /// The broker that a relay publishes to, if one does.
    pub broker: Option<BrokerSpec>,
    /// What was chosen of the workload's parameters. Data that is loaded has it; data that the user named must have it.
    pub chosen: Chosen,
}

const CHECKPOINT_TIMEOUT: &str = "checkpoint_timeout";
/// PostgreSQL's own range of `checkpoint_timeout`.
const CHECKPOINT_MIN_S: u32 = 30;
const CHECKPOINT_MAX_S: f64 = 86_400.0;
/// Times `checkpoint_timeout` that a window lasts, so that two checkpoints begin in it although each begins a
/// little late.
const PERIODS: f64 = 2.5;
const CHECKPOINTS_IN_MIN: Nanos = Nanos::from_secs(75);

/// What is asked of private engines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EngineOptions {
    /// What a commit survives.
    pub durability: Tier,
    /// What the engine may use.
    pub limits: Option<rig::Limits>,
    /// Whether PostgreSQL counts what each statement costs.
    pub statement_statistics: bool,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions { durability: Tier::Durable, limits: None, statement_statistics: false }
    }
}

impl Spec {
    /// What the command line asks for. `named` are databases of the user's: none, or one for each of the stores.
    pub fn of_options(
        dialect: Dialect,
        shards: u32,
        named: &[DbUrl],
        engine_options: &EngineOptions,
    ) -> Spec {
        let private = named.is_empty();
        let limits = engine_options.limits.filter(|_| private && dialect != Dialect::Sqlite);
        Spec {
            engine: dialect.name().into(),
            shards,
            named: named.iter().map(ToString::to_string).collect(),
            options: String::new(),
            settings: Vec::new(),
            programs: None,
            // What someone's database flushes is its own setting.
            durability: if private { engine_options.durability } else { Tier::Durable }.to_string(),
            limits: limits.map(|limits| limits.to_string()),
            statement_statistics: engine_options.statement_statistics && dialect == Dialect::Postgres,
            power_cut: false,
            broker: None,
            chosen: Chosen::new(),
        }
    }

    /// Gives a private engine these settings beyond those of docs/rig.md, and these programs. SQLite has none, and a server of the
    /// user's is not changed.
    pub fn set(&mut self, settings: Vec<(String, String)>, programs: Option<String>) {
        if self.named.is_empty() && self.engine != Dialect::Sqlite.name() {
            self.settings = settings;
            self.programs = programs;
        }
    }

    /// Has a private PostgreSQL begin a checkpoint so often that two or more begin within `measured`, wherever in it the first
    /// one does.
    ///
    /// # Errors
    /// When that cannot be had: why, and what would be right.
    pub fn go_through_checkpoints(&mut self, measured: Nanos) -> Result<()> {
        let why = match (self.dialect()?, self.named.is_empty()) {
            (Dialect::Sqlite, _) => {
                "SQLite writes its log back every 1,000 pages or so, many times in any trial".to_owned()
            }
            (Dialect::MySql, _) => {
                "InnoDB writes pages back all the time and has no checkpoints that a trial could hold"
                    .to_owned()
            }
            (Dialect::Postgres, false) => {
                "the database of --db has a checkpoint_timeout of its own\nhint: set it there \
                                             to less than 2/5 of the measured time"
                    .to_owned()
            }
            (Dialect::Postgres, true) if measured < CHECKPOINTS_IN_MIN => format!(
                "PostgreSQL begins a checkpoint every {CHECKPOINT_MIN_S} s at most, so two of them need {} s, and the window is {}\nhint: measure for longer, as with --duration 75s",
                CHECKPOINTS_IN_MIN.as_secs_f64(),
                humantime::format_duration(measured.into())
            ),
            (Dialect::Postgres, true) if self.settings.iter().any(|(name, _)| name == CHECKPOINT_TIMEOUT) => {
                format!("{CHECKPOINT_TIMEOUT} is set as well; leave one of the two out")
            }
            (Dialect::Postgres, true) => {
                let every = (measured.as_secs_f64() / PERIODS).min(CHECKPOINT_MAX_S).floor();
                self.settings.push((CHECKPOINT_TIMEOUT.into(), format!("{every}s")));
                self.settings.sort();
                return Ok(());
            }
        };
        bail!("--through-checkpoints cannot be done: {why}")
    }

    /// Its engine.
    pub fn dialect(&self) -> Result<Dialect> {
        Dialect::named(&self.engine)
            .with_context(|| format!("no engine `{}`; there are sqlite, postgres and mariadb", self.engine))
    }

    /// What a commit survives.
    ///
    /// # Errors
    /// When it is not a tier of a private engine.
    pub fn tier(&self) -> Result<Tier> {
        [Tier::Durable, Tier::Delayed]
            .into_iter()
            .find(|tier| tier.to_string() == self.durability)
            .with_context(|| format!("durability is durable or delayed, not `{}`", self.durability))
    }

    /// The databases that the user named, with their passwords.
    ///
    /// # Errors
    /// When an address is none, or one of another engine.
    pub fn urls(&self) -> Result<Vec<DbUrl>> {
        let dialect = self.dialect()?;
        let urls = self.named.iter().enumerate();
        urls.map(|(store, url)| parse_url(url, Some(dialect), store)).collect()
    }

    /// Whether it is a private SQLite database. All of those in an experiment that are split alike have copies of one template:
    /// what their options say belongs to connections, but for the journal, and that is set in each copy.
    pub fn is_private_file(&self) -> bool {
        self.engine == Dialect::Sqlite.name() && self.named.is_empty()
    }

    /// Whether a private engine is started for it.
    pub fn has_private_engine(&self) -> bool {
        self.named.is_empty() && !self.is_private_file()
    }

    fn number(&self, wanted: &str) -> Option<usize> {
        let asked = self.settings.iter().find(|(name, _)| name == wanted);
        asked.and_then(|(_, number)| number.parse().ok())
    }

    /// Nodes of the private Galera cluster that each of its stores is; 1 where that is one engine.
    fn nodes(&self) -> usize {
        self.number(sql::GALERA).unwrap_or(1)
    }

    /// Data nodes that Spider spreads the rows of each of its stores over, if it does.
    fn data_nodes(&self) -> usize {
        self.number(sql::SPIDER).unwrap_or(0)
    }

    /// How many private engines are up for it.
    pub fn private_engines(&self) -> usize {
        if self.has_private_engine() { self.shards as usize * (self.nodes() + self.data_nodes()) } else { 0 }
    }

    /// Whether both can be up at once, each with a copy of the same data, and get the same calls: private engines that differ in
    /// settings, version, durability or limits, if at all.
    pub fn can_take_turns(&self, other: &Spec) -> bool {
        let own = |spec: &Spec| spec.has_private_engine() && !spec.power_cut && spec.broker.is_none();
        let data = |spec: &Spec| (spec.engine.clone(), spec.shards, spec.chosen.clone());
        self == other || own(self) && own(other) && data(self) == data(other)
    }

    /// Whether calls can be made on it as a subject makes them.
    pub fn suits<W: Driven>(&self, how: How) -> Result<()> {
        self.can_be_replicated(how)?;
        if self.data_nodes() > 0 {
            let dataset = W::dataset(&W::standard(W::SCALE_DEFAULT), 0);
            let is_spread = dataset.tables().iter().any(|table| table.spread_by.is_some());
            let why = dataset
                .not_on_spider()
                .or_else(|| (!is_spread).then_some("its tables have no column to spread rows by"));
            if let Some(why) = why {
                bail!("{} cannot run on Spider: {why}\nhint: tpcb can", W::NAME);
            }
        }
        match self.shards > 1 && self.is_private_file() {
            true => W::spans_private_files(how.style.name(), self.sqlite()?.journal),
            false => Ok(()),
        }
    }

    /// Whether a cluster that is asked for can do what a style needs.
    fn can_be_replicated(&self, how: How) -> Result<()> {
        if self.nodes() > 1 && matches!(how.style, Style::TwoPhase | Style::TwoPhaseLog) {
            bail!(
                "Galera replicates no XA transactions, so `{}` cannot run on a cluster of it\nhint: the style `saga` can",
                how.path()
            );
        }
        Ok(())
    }

    /// The settings of a private SQLite database, on a file that does not matter.
    pub fn sqlite(&self) -> Result<SqliteUrl> {
        let mut url: SqliteUrl = format!("sqlite:private.db?{}", self.options)
            .parse()
            .with_context(|| format!("`{}` are not options of SQLite", self.options))?;
        if self.tier()? != Tier::Durable && !self.options.contains("synchronous=") {
            url.synchronous = sql::Synchronous::Normal;
        }
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use targets::Driver;

    fn spec(dialect: Dialect, named: &[&str]) -> Spec {
        let named: Vec<DbUrl> = named.iter().map(|url| url.parse().expect("an address")).collect();
        Spec::of_options(dialect, 1, &named, &EngineOptions::default())
    }

    #[test]
    fn private_engines_of_one_kind_can_take_turns_and_nothing_else_that_differs() {
        let one = spec(Dialect::Postgres, &[]);
        let set = |name: &str| {
            let mut other = one.clone();
            other.set(vec![(name.into(), "1".into())], Some("18".into()));
            other
        };
        assert!(one.can_take_turns(&one) && one.can_take_turns(&set("jit")));
        let url = "postgres://me@127.0.0.1:1/x";
        let named = spec(Dialect::Postgres, &[url]);
        assert!(named.can_take_turns(&named));
        let others = [
            named,
            spec(Dialect::MySql, &[]),
            Spec { shards: 2, ..one.clone() },
            Spec { power_cut: true, ..one.clone() },
            Spec { chosen: [("stock".into(), 5)].into(), ..one.clone() },
        ];
        for other in others {
            assert!(!one.can_take_turns(&other) && !other.can_take_turns(&one), "{other:?}");
        }
    }

    #[test]
    fn a_cluster_has_so_many_engines_and_no_xa() {
        let mut cluster = Spec { shards: 2, ..spec(Dialect::MySql, &[]) };
        assert_eq!((cluster.private_engines(), spec(Dialect::Sqlite, &[]).private_engines()), (2, 0));
        cluster.set(vec![(sql::GALERA.into(), "3".into())], None);
        assert_eq!(cluster.private_engines(), 6);
        let suits = |style| {
            cluster.can_be_replicated(How { dialect: Dialect::MySql, driver: Driver::MySqlAsync, style })
        };
        assert!(suits(Style::Saga).is_ok());
        let refused = suits(Style::TwoPhase).unwrap_err().to_string();
        assert!(refused.contains("no XA transactions"), "{refused}");
    }

    #[test]
    fn two_checkpoints_begin_in_a_trial_wherever_the_first_one_does() {
        let measured = Nanos::from_secs(101);
        let mut private = spec(Dialect::Postgres, &[]);
        private.go_through_checkpoints(measured).unwrap();
        assert_eq!(private.settings, [("checkpoint_timeout".into(), "40s".into())]);
        let error = private.go_through_checkpoints(measured).unwrap_err().to_string();
        assert!(error.contains("is set as well"), "{error}");
        let mut named = spec(Dialect::Postgres, &["postgres://me@127.0.0.1:1/x"]);
        let error = named.go_through_checkpoints(measured).unwrap_err().to_string();
        assert!(error.contains("has a checkpoint_timeout of its own"), "{error}");
    }
}
