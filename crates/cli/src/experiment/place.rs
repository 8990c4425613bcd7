//! The places of an experiment: where the data of a variant lies, loaded and audited once.

use super::plan::{Place, Variant};
use crate::args::{EngineArgs, Limited};
use crate::case::Case;
use crate::database::{Database, parse_url};
use crate::in_use::{self, InUse};
use crate::interrupt::Interrupt;
use crate::private::Private;
use crate::stage::Stage;
use crate::ui::Ui;
use crate::vouch;
use anyhow::{Context, Result, bail};
use measure::Monotonic;
use model::{Clock, Nanos, Tier};
use result::Audit;
use sql::{DbUrl, Dialect, SqliteUrl};
use std::rc::Rc;

const CHECKPOINT_TIMEOUT: &str = "checkpoint_timeout";
/// PostgreSQL's own range of `checkpoint_timeout`.
const CHECKPOINT_MIN_S: u32 = 30;
const CHECKPOINT_MAX_S: f64 = 86_400.0;
/// Times `checkpoint_timeout` that a measured interval lasts, so that two checkpoints begin in it although each begins a
/// little late.
const PERIODS: f64 = 2.5;
const CHECKPOINTS_IN_MIN: Nanos = Nanos::from_secs(75);

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

    /// Has a private PostgreSQL begin a checkpoint so often that two or more begin within `measured`, wherever in it the first
    /// one does.
    ///
    /// # Errors
    /// When that cannot be had: why, and what would be right.
    pub(crate) fn go_through_checkpoints(&mut self, measured: Nanos) -> Result<()> {
        let why = match (self.dialect()?, &self.db) {
            (Dialect::Sqlite, _) => {
                "SQLite writes its log back every 1,000 pages or so, many times in any trial".to_owned()
            }
            (Dialect::MySql, _) => {
                "InnoDB writes pages back all the time and has no checkpoints that a trial could hold"
                    .to_owned()
            }
            (Dialect::Postgres, Some(_)) => {
                "the database of --db has a checkpoint_timeout of its own\nhint: set it there \
                                             to less than 2/5 of the measured time"
                    .to_owned()
            }
            (Dialect::Postgres, None) if measured < CHECKPOINTS_IN_MIN => format!(
                "PostgreSQL begins a checkpoint every {CHECKPOINT_MIN_S} s at most, and two of them surely begin within {} \
                 s, not within {}\nhint: measure for longer, as with --duration 75s",
                CHECKPOINTS_IN_MIN.as_secs_f64(),
                humantime::format_duration(measured.into())
            ),
            (Dialect::Postgres, None) if self.settings.iter().any(|(name, _)| name == CHECKPOINT_TIMEOUT) => {
                format!("{CHECKPOINT_TIMEOUT} is set as well; leave one of the two out")
            }
            (Dialect::Postgres, None) => {
                let every = (measured.as_secs_f64() / PERIODS).min(CHECKPOINT_MAX_S).floor();
                self.settings.push((CHECKPOINT_TIMEOUT.into(), format!("{every}s")));
                self.settings.sort();
                return Ok(());
            }
        };
        bail!("--through-checkpoints cannot be done: {why}")
    }

    /// Its engine.
    ///
    /// # Errors
    /// When there is none of that name.
    pub(crate) fn dialect(&self) -> Result<Dialect> {
        Dialect::named(&self.engine)
            .with_context(|| format!("no engine `{}`; there are sqlite, postgres and mariadb", self.engine))
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

    /// Whether it is a private SQLite database. All of those in an experiment have copies of one template: what their
    /// options say belongs to connections, but for the journal, and that is set in each copy.
    pub(crate) fn is_private_file(&self) -> bool {
        self.engine == Dialect::Sqlite.name() && self.db.is_none()
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

/// Does as [`Place::go_through_checkpoints`] for the variants that ask for it. Engines whose every trial holds many of what they
/// have instead of checkpoints stay as they are, unless there is no other.
///
/// # Errors
/// When that cannot be had.
pub(crate) fn go_through_checkpoints(variants: &mut [Variant]) -> Result<()> {
    let asked = |variant: &&mut Variant| variant.through_checkpoints;
    let (mut done, mut first_error) = (false, None);
    for variant in variants.iter_mut().filter(asked) {
        match variant.place.go_through_checkpoints(variant.plan.measured) {
            Ok(()) => done = true,
            Err(error) if variant.place.dialect()? == Dialect::Postgres => return Err(error),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    first_error.filter(|_| !done).map_or(Ok(()), Err)
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
    pub(crate) template: Rc<Template<W>>,
    /// Seconds that audits took here; none where the template is that of an earlier place.
    audited_s: f64,
    /// Of a file that the user named: no run may change it meanwhile.
    _in_use: Option<InUse>,
}

/// Data that is right.
pub(crate) struct Template<W: Case> {
    /// What every trial has a copy of. It is never written to.
    pub(crate) database: Database<W>,
    /// Found before the first trial.
    pub(crate) audits: Vec<Audit>,
}

impl<W: Case> Ground<W> {
    /// Starts the engine, loads the data and audits it, unless one of the `earlier` places has a template for it. What
    /// goes wrong is kept for those who ask for it.
    pub(crate) fn lay(
        place: &Place,
        earlier: &[Ground<W>],
        scale: u32,
        private: &Rc<Private>,
        ui: &Ui,
        interrupt: &Interrupt,
    ) -> Ground<W> {
        let laid = || {
            let named = place.named()?;
            // As long as trials have copies made of it.
            let in_use = named.as_ref().map(in_use::with_other_readers).transpose()?.flatten();
            let stage = Stage::lay(private, earlier.len(), place, named.clone(), ui)?;
            match earlier.iter().find_map(|ground| ground.template_for(place)) {
                Some(template) => {
                    Ok(Ready { stage, template: Rc::clone(template), audited_s: 0.0, _in_use: in_use })
                }
                None => Ok(Ready { _in_use: in_use, ..Ready::of(stage, named, scale, ui, interrupt)? }),
            }
        };
        Ground { place: place.clone(), found: laid().map_err(|error: anyhow::Error| format!("{error:#}")) }
    }

    /// Its template, if trials at another place can have copies of that.
    fn template_for(&self, other: &Place) -> Option<&Rc<Template<W>>> {
        let shared = self.place.is_private_file() && other.is_private_file();
        self.found.as_ref().ok().filter(|_| shared).map(|ready| &ready.template)
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
        stage: Stage,
        named: Option<DbUrl>,
        scale: u32,
        ui: &Ui,
        interrupt: &Interrupt,
    ) -> Result<Ready<W>> {
        let database = match named {
            // An existing database is never written to: every trial runs on a copy.
            Some(url) => Database::<W>::existing(url, Some(u64::from(scale)))?,
            None => stage.load_template::<W>(scale, ui, interrupt)?,
        };
        let clock = Monotonic::start();
        let audits = vouch::before(&database, ui, interrupt)?;
        // A database of another kit is held to all of it too: its copies are measured against each other.
        if let Some(audit) = vouch::forbids::<W>(&audits, false) {
            bail!("the data is wrong before the first trial: {}", audit.sentence);
        }
        let template = Rc::new(Template { database, audits });
        Ok(Ready { stage, template, audited_s: clock.now().as_secs_f64(), _in_use: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(dialect: Dialect, db: Option<&str>) -> Place {
        let db = db.map(|db| db.parse::<DbUrl>().expect("an address"));
        Place::of_wishes(dialect, db.as_ref(), &EngineArgs::default())
    }

    #[test]
    fn two_checkpoints_begin_in_a_trial_wherever_the_first_one_does() {
        let measured = Nanos::from_secs(101);
        let mut private = place(Dialect::Postgres, None);
        private.go_through_checkpoints(measured).unwrap();
        assert_eq!(private.settings, [("checkpoint_timeout".into(), "40s".into())]);
        let error = private.go_through_checkpoints(measured).unwrap_err().to_string();
        assert!(error.contains("is set as well"), "{error}");
        let mut named = place(Dialect::Postgres, Some("postgres://me@127.0.0.1:1/x"));
        let error = named.go_through_checkpoints(measured).unwrap_err().to_string();
        assert!(error.contains("has a checkpoint_timeout of its own"), "{error}");
    }
}
