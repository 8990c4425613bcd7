//! The data of a command: what it asks for, and what is there already.

use crate::args::{DataArgs, EngineArgs, Stores};
use crate::ui::Ui;
use anyhow::Result;
use deploy::{Databases, Spec, Subject};
use sql::{DbUrl, Dialect};
use targets::Driven;
use workload::Chosen;

pub(crate) struct Data<W: Driven> {
    pub(crate) stores: Stores,
    /// Databases of the user's, in the order of the stores; none for private ones.
    pub(crate) named: Vec<DbUrl>,
    /// What they hold; nothing where none is named.
    pub(crate) existing: Option<Databases<W>>,
    /// The scale that is asked for.
    pub(crate) asked: Option<u32>,
    pub(crate) chosen: Chosen,
}

impl<W: Driven> Data<W> {
    /// Reads what is there. All named databases must be of one engine, that of one of the subjects.
    ///
    /// # Errors
    /// An option is wrong, or a named database does not hold what is asked for.
    pub(crate) fn of(args: &DataArgs, subjects: &[&Subject]) -> Result<Data<W>> {
        let stores = Stores::with_broker(&args.db, args.shards.shards)?;
        let first = stores.urls(None)?.first().map(DbUrl::dialect);
        let engines = || subjects.iter().map(|subject| subject.how.dialect);
        let engine = engines().find(|engine| Some(*engine) == first).or(engines().next());
        let named = stores.urls(engine)?;
        let (asked, chosen) = (args.amounts.scale::<W>()?, args.amounts.chosen::<W>()?);
        let existing = (!named.is_empty())
            .then(|| Databases::<W>::existing(named.clone(), asked.map(u64::from), &chosen))
            .transpose()?;
        Ok(Data { stores, named, existing, asked, chosen })
    }

    /// The scale of the data that is there, or is loaded for these subjects and so many clients. It can be split for each of them.
    pub(crate) fn scale(&self, args: &DataArgs, subjects: &[&Subject], clients: u32, ui: &Ui) -> Result<u32> {
        let engines: Vec<Dialect> = subjects.iter().map(|subject| subject.how.dialect).collect();
        let scale = match &self.existing {
            Some(databases) => databases.scale(),
            None => args.amounts.scale_for::<W>(&engines, self.stores.shards, clients, ui)?,
        };
        subjects.iter().try_fold(scale, |scale, subject| self.splittable(scale, subject))
    }

    /// The scale, if data of it can be split over the stores for this subject.
    pub(crate) fn splittable(&self, scale: u32, subject: &Subject) -> Result<u32> {
        workload::split_for::<W>(W::standard(scale), self.stores.shards, subject.how.style.name())?;
        Ok(scale)
    }

    /// Where data in such an engine is, and the engine under it.
    pub(crate) fn spec(&self, dialect: Dialect, engine: &EngineArgs) -> Spec {
        let is_its = self.named.iter().all(|url| url.dialect() == dialect);
        let named = if is_its { &self.named[..] } else { &[] };
        let spec = Spec::of_options(dialect, self.stores.shards, named, &engine.engine_options());
        Spec { chosen: self.chosen.clone(), ..spec }
    }
}
