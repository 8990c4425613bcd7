//! The data of a subject: a database in each of its stores.

use crate::database::{self, Database, LoadOptions, load_command};
use crate::deployment::at;
use crate::interrupt::Interrupt;
use crate::reporter::Reporter;
use admin::{Loaded, RowSafety, RowStorage, store};
use anyhow::{Result, bail};
use model::store_name;
use observe::FileSystem;
use sql::DbUrl;
use std::collections::BTreeSet;
use std::path::PathBuf;
use targets::Driven;
use workload::{Chosen, LOAD_SEED, Of, amount, split, whole};

/// Databases that hold the data together, each a part of it.
#[derive(Debug, Clone)]
pub struct Databases<W: Driven> {
    /// In the order of the stores; there is one at least.
    pub each: Vec<Database<W>>,
    /// How much they hold together.
    pub size: W::Extent,
}

impl<W: Driven> Databases<W> {
    /// Existing databases, which must be whole loads of the parts of one size: of `scale` if that is asked for, and with the data
    /// that was `chosen`. Calls on them are as chosen.
    ///
    /// # Errors
    /// One is not there, not whole, of another workload or tool, not as asked for, or not the part that belongs in its place.
    pub fn existing(urls: Vec<DbUrl>, scale: Option<u64>, chosen: &Chosen) -> Result<Databases<W>> {
        let found = Databases::found(urls, scale)?;
        let stored = workload::values::<W>(&found.size);
        for (name, value) in chosen {
            match stored.get(name) {
                Some(has) if has != value && workload::parameter::<W>(name)?.of == Of::Data => bail!(
                    "{} was loaded with --{name} {has}, requested {value}\nhint: leave --{name} out, or `stackmark load` with \
                     --fresh replaces it",
                    found.place()
                ),
                _ => {}
            }
        }
        found.ensure_transactions()?;
        found.ensure_statements_fit()?;
        let size = workload::resized::<W>(found.size, chosen)?;
        Ok(Databases { size, ..found })
    }

    /// Refuses a pooler, or a proxy, in place of a server.
    ///
    /// # Errors
    /// What answers at the address, and what would be right.
    pub fn ensure_direct(&self) -> Result<()> {
        Ok(self.each.iter().try_for_each(|database| store(&database.url).ensure_direct())?)
    }

    /// Refuses tables of the workload that a transaction cannot undo.
    fn ensure_transactions(&self) -> Result<()> {
        for (url, kept) in self.kept()? {
            if let RowSafety::WithoutTransactions(engine) = kept.keeping {
                bail!(
                    "the table `{0}` at {1} has the storage engine {engine}, which has no transactions\nhint: `alter table {0} engine = \
                     InnoDB` gives it another",
                    kept.table,
                    url.place()
                );
            }
        }
        Ok(())
    }

    /// Refuses a server that would end the connection at the largest statement of the workload.
    fn ensure_statements_fit(&self) -> Result<()> {
        for url in self.each.iter().map(|database| &database.url) {
            if let Some(most) = store(url).statement_max()?.filter(|most| *most < W::STATEMENT_BYTES) {
                bail!(
                    "max_allowed_packet at {} is {most} bytes, and a statement of {} has up to {}\nhint: `set global max_allowed_packet \
                     = 16777216`",
                    url.place(),
                    W::NAME,
                    W::STATEMENT_BYTES
                );
            }
        }
        Ok(())
    }

    /// How each table of the workload keeps its rows, where a server has it.
    fn kept(&self) -> Result<Vec<(&DbUrl, RowStorage)>> {
        let dataset = W::dataset(&self.size, LOAD_SEED);
        let is_ours = |kept: &RowStorage| {
            kept.table.is_empty() || dataset.tables().iter().any(|table| table.name == kept.table)
        };
        let mut all = Vec::new();
        for url in
            self.each.iter().map(|database| &database.url).filter(|url| matches!(url, DbUrl::Server(_)))
        {
            all.extend(store(url).kept()?.into_iter().filter(is_ours).map(|kept| (url, kept)));
        }
        Ok(all)
    }

    fn found(urls: Vec<DbUrl>, scale: Option<u64>) -> Result<Databases<W>> {
        let named = urls.clone();
        let load = move |scale: u64, fresh: bool| load_command::<W>(&named, scale, fresh);
        if let [url] = &urls[..] {
            let database = Database::<W>::existing(url.clone(), scale, &load)?;
            return Ok(Databases { size: database.size.clone(), each: vec![database] });
        }
        let all = urls.len();
        let load = |found: u64, fresh: bool| load(scale.unwrap_or(found), fresh);
        let found = urls.into_iter().enumerate();
        let each: Vec<Database<W>> = found
            .map(|(store, url)| {
                let database =
                    Database::<W>::existing(url, None, &load).map_err(|error| at(error, store, all))?;
                if database.is_foreign() {
                    bail!(
                        "shard-{store}: {} was loaded by another tool, which does not split data",
                        database.url.place()
                    );
                }
                Ok(database)
            })
            .collect::<Result<_>>()?;
        let sizes: Vec<W::Extent> = each.iter().map(|database| database.size.clone()).collect();
        let size = whole::<W>(&sizes)?;
        let has = u64::from(W::scale(&size));
        if let Some(scale) = scale.filter(|scale| *scale != has) {
            bail!(
                "the databases have {} together, requested {scale}\nhint: leave --scale out",
                amount::<W>(has)
            );
        }
        if let Some(other) = each.iter().find(|other| other.seed != each[0].seed) {
            bail!(
                "{} was loaded with the seed {}, and {} with {}: they are not parts of one load",
                each[0].url.place(),
                each[0].seed,
                other.url.place(),
                other.seed
            );
        }
        Ok(Databases { each, size })
    }

    /// Loads the parts of a size, one after the other, with progress. Gives the databases and how each came about. All stores
    /// are looked at before the first is loaded.
    ///
    /// # Errors
    /// The size cannot be split so, or a part cannot be loaded: which, where there are several.
    pub fn load(
        urls: &[DbUrl],
        size: &W::Extent,
        options: LoadOptions,
        reporter: &dyn Reporter,
        interrupt: &Interrupt,
    ) -> Result<(Databases<W>, Vec<Loaded>)> {
        let (all, reload) = (urls.len(), load_command::<W>(urls, W::scale(size).into(), true));
        let size = split::<W>(size.clone(), all as u32)?;
        let mut plans = Vec::new();
        for (store, (url, part)) in urls.iter().zip(W::parts(&size)).enumerate() {
            let plan = database::plan::<W>(url, &part, options, reload.clone());
            plans.push(plan.map_err(|error| at(error, store, all))?);
        }
        // Little data is there before anyone could read about it.
        let announce = ![W::tiny_over(all as u32), W::larger_over(all as u32)].contains(&size);
        let (mut each, mut how) = (Vec::new(), Vec::new());
        for (store, (url, plan)) in urls.iter().zip(plans).enumerate() {
            let into = if all == 1 { String::new() } else { format!(" into {}", store_name(store)) };
            let words = announce.then(|| format!("loading {}{into}", amount::<W>(plan.record.scale)));
            let loaded = database::load::<W>(url, plan, words.as_deref(), reporter, interrupt);
            let (database, loaded) = loaded.map_err(|error| at(error, store, all))?;
            each.push(database);
            how.push(loaded);
        }
        Ok((Databases { each, size }, how))
    }

    /// Databases of which only the size is known, and that it is split over so many stores.
    ///
    /// # Errors
    /// It cannot be, or what was chosen cannot.
    pub fn unseen(scale: u32, chosen: &Chosen, shards: u32) -> Result<Databases<W>> {
        let size = split::<W>(workload::sized::<W>(scale, chosen)?, shards)?;
        Ok(Databases { each: vec![Database::<W>::unseen(scale)], size })
    }

    /// Tables of the workload that a crash of their server empties, whatever it flushes; nothing where there are none.
    pub fn unlogged(&self) -> Result<Option<String>> {
        let unlogged = self.kept()?.into_iter().filter(|(_, kept)| kept.keeping == RowSafety::Unlogged);
        let names: BTreeSet<String> = unlogged.map(|(_, kept)| kept.part).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        Ok((!names.is_empty())
            .then(|| format!("these tables are not logged, so that a crash empties them: {names}")))
    }

    /// What the tables of the workload are on, on a server of this machine: a file system in memory where one of them, or their log, is on
    /// such a one. Nothing where the server does not tell its folders.
    pub fn file_system(&self) -> Result<Option<FileSystem>> {
        let mut folders: Vec<PathBuf> =
            self.kept()?.into_iter().filter_map(|(_, kept)| kept.folder).collect();
        folders.sort_unstable();
        folders.dedup();
        let mut found: Vec<FileSystem> = folders
            .iter()
            .filter(|folder| folder.exists())
            .filter_map(|folder| FileSystem::of(folder).ok())
            .collect();
        found.sort_by_key(|on| !on.in_memory);
        Ok(found.into_iter().next())
    }

    pub fn urls(&self) -> Vec<DbUrl> {
        self.each.iter().map(|database| database.url.clone()).collect()
    }

    /// Where each is, and what it holds of the whole.
    pub fn parts(&self) -> Vec<(&DbUrl, &W::Extent)> {
        self.each.iter().map(|database| (&database.url, &database.size)).collect()
    }

    /// How messages call them.
    pub fn place(&self) -> String {
        let places: Vec<String> = self.each.iter().map(|database| database.url.place()).collect();
        places.join(" and ")
    }

    /// Their scale, in units of the workload.
    pub fn scale(&self) -> u32 {
        W::scale(&self.size)
    }

    /// Seed of the load.
    pub fn seed(&self) -> u64 {
        self.each[0].seed
    }

    /// Whether another tool has loaded them.
    pub fn is_foreign(&self) -> bool {
        self.each[0].is_foreign()
    }

    pub fn rows(&self) -> u64 {
        self.each.iter().map(|database| database.contents.rows()).sum()
    }

    /// Bytes now, if that can be asked.
    pub fn bytes(&self) -> Option<u64> {
        self.each.iter().map(|database| store(&database.url).bytes()).sum()
    }

    /// Checksum of the loaded rows; of several the checksums of each in their order. Nothing where another tool has loaded
    /// them.
    pub fn checksum(&self) -> Option<String> {
        let each: Option<Vec<String>> = self.each.iter().map(Database::checksum).collect();
        each.map(|each| each.join(" "))
    }
}
