//! The places of an experiment: where the data of a variant lies, loaded and audited once.

use super::plan::Place;
use crate::args::{EngineArgs, Limited};
use crate::case::Case;
use crate::database::{Database, parse_url};
use crate::interrupt::Interrupt;
use crate::private::Private;
use crate::stage::Stage;
use crate::ui::Ui;
use crate::vouch;
use anyhow::{Context, Result, bail};
use measure::Monotonic;
use model::{Clock, Tier};
use report::document::{Audit, Check};
use sql::{DbUrl, Dialect, SqliteUrl};
use std::rc::Rc;

impl Place {
    /// What the command line asks for. `db` is a database that the user named.
    pub(crate) fn of_wishes(dialect: Dialect, db: Option<&DbUrl>, wishes: &EngineArgs) -> Place {
        let private = db.is_none();
        let limits = wishes.limits_of(Limited::Engine).filter(|_| private && dialect != Dialect::Sqlite);
        Place {
            engine: dialect.name().into(),
            db: db.map(ToString::to_string),
            options: String::new(),
            settings: Vec::new(),
            // What somebody's database flushes is its own setting.
            durability: if private { wishes.durability.tier() } else { Tier::Durable }.to_string(),
            limits: limits.map(|limits| limits.to_string()),
            statement_statistics: wishes.statement_statistics && dialect == Dialect::Postgres,
        }
    }

    /// Its engine.
    ///
    /// # Errors
    /// When there is none of that name.
    pub(crate) fn dialect(&self) -> Result<Dialect> {
        [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql]
            .into_iter()
            .find(|dialect| dialect.name() == self.engine)
            .with_context(|| format!("no engine `{}`; there are sqlite, postgres and mysql", self.engine))
    }

    /// What a commit survives.
    ///
    /// # Errors
    /// When it is no tier of a private engine.
    pub(crate) fn tier(&self) -> Result<Tier> {
        [Tier::Durable, Tier::Delayed]
            .into_iter()
            .find(|tier| tier.to_string() == self.durability)
            .with_context(|| format!("durability is durable or delayed, not `{}`", self.durability))
    }

    /// The database that the user named, with its password.
    ///
    /// # Errors
    /// When the address is none, or one of another engine.
    pub(crate) fn named(&self) -> Result<Option<DbUrl>> {
        let dialect = self.dialect()?;
        self.db.as_deref().map(|url| parse_url(url, Some(dialect))).transpose()
    }

    /// The settings of a private SQLite database, on a file that does not matter.
    ///
    /// # Errors
    /// When an option is wrong.
    pub(crate) fn sqlite(&self) -> Result<SqliteUrl> {
        let mut url: SqliteUrl = format!("sqlite:private.db?{}", self.options)
            .parse()
            .with_context(|| format!("`{}` are no options of SQLite", self.options))?;
        if self.tier()? != Tier::Durable && !self.options.contains("synchronous=") {
            url.synchronous = sql::Synchronous::Normal;
        }
        Ok(url)
    }
}

/// A place and what became of it.
pub(crate) struct Ground<W: Case> {
    pub(crate) place: Place,
    /// Or why nothing can run there.
    found: Result<Ready<W>, String>,
}

/// A place with its data.
pub(crate) struct Ready<W: Case> {
    pub(crate) stage: Stage,
    /// What every trial has a copy of. It is never written to.
    pub(crate) template: Database<W>,
    /// Found before the first trial.
    pub(crate) audits: Vec<Audit>,
    /// Seconds that the audits took.
    pub(crate) audited_s: f64,
}

impl<W: Case> Ground<W> {
    /// Starts the engine, loads the data and audits it. What goes wrong is kept for those who ask for it.
    pub(crate) fn lay(
        place: &Place,
        index: usize,
        scale: u32,
        private: &Rc<Private>,
        ui: &Ui,
        interrupt: &Interrupt,
    ) -> Ground<W> {
        let found = Ready::of(place, index, scale, private, ui, interrupt);
        Ground { place: place.clone(), found: found.map_err(|error| format!("{error:#}")) }
    }

    /// # Errors
    /// Why nothing can run there.
    pub(crate) fn ready(&mut self) -> Result<&mut Ready<W>> {
        self.found.as_mut().map_err(|why| anyhow::Error::msg(why.clone()))
    }

    /// What a reader must know of it, a sentence each.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.found.as_ref().map_or(Vec::new(), |ready| ready.stage.notes())
    }

    /// Seconds that its audits took.
    pub(crate) fn audited_s(&self) -> f64 {
        self.found.as_ref().map_or(0.0, |ready| ready.audited_s)
    }

    /// Whether it has an engine of its own, running or not.
    pub(crate) fn has_engine(&self) -> bool {
        self.found.as_ref().is_ok_and(|ready| ready.stage.engine_pid().is_some())
    }

    /// Ends its engine and keeps the data.
    pub(crate) fn rest(&mut self) -> Result<()> {
        match &mut self.found {
            Ok(ready) => ready.stage.rest(),
            Err(_) => Ok(()),
        }
    }
}

impl<W: Case> Ready<W> {
    fn of(
        place: &Place,
        index: usize,
        scale: u32,
        private: &Rc<Private>,
        ui: &Ui,
        interrupt: &Interrupt,
    ) -> Result<Ready<W>> {
        let named = place.named()?;
        // An existing database is never written to: every trial runs on a copy.
        let existing =
            named.clone().map(|url| Database::<W>::existing(url, Some(u64::from(scale)))).transpose()?;
        let stage = Stage::lay(private, index, place, named, ui)?;
        let template = match existing {
            Some(database) => database,
            None => stage.load::<W>(scale, ui, interrupt)?,
        };
        let clock = Monotonic::start();
        let audits = vouch::before(&template, interrupt)?;
        if let Some(audit) = audits.iter().find(|audit| audit.check == Check::Failed) {
            bail!("the data is wrong before the first trial: {}", audit.sentence);
        }
        Ok(Ready { stage, template, audits, audited_s: clock.now().as_secs_f64() })
    }
}
