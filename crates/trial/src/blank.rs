//! What is known of a trial before its first call: what was asked, and what the data and the session say.

use crate::headline::described;
use crate::job::Job;
use crate::validate;
use admin::store;
use anyhow::Result;
use model::RetryPolicy;
use observe::FileSystem;
use result::{Data, Interval, Moment, Setting, StatementPlan, StoreData, Tier, Trial};
use sql::Dialect;
use targets::Driven;

/// Puts settings that were read into the place of what a server reports.
fn put(settings: &mut Vec<Setting>, read: Vec<(String, String)>) {
    for (name, value) in read {
        match settings.iter_mut().find(|setting| setting.name == name) {
            Some(setting) => setting.value = value,
            None => settings.push(Setting { name, value }),
        }
    }
}

impl<W: Driven> Job<'_, W> {
    /// A trial of which nothing is known yet but what was asked.
    pub(crate) fn blank(&self) -> Result<Trial> {
        let first = &self.databases.each[0];
        let record = &first.contents.record;
        let on = self.file_system()?;
        Ok(Trial {
            subject: self.subject.path.into(),
            started: Moment::from_unix(measure::unix_seconds()),
            plan: self.plan.described(W::KINDS, RetryPolicy::default().attempts_max),
            data: Data {
                remote: self.audited && self.deployment.is_elsewhere(),
                workload: W::NAME.into(),
                scale: u64::from(self.databases.scale()),
                scale_unit: W::SCALE_UNIT.into(),
                parameters: workload::values::<W>(&self.databases.size),
                rows: self.databases.rows(),
                bytes: self.bytes(),
                bytes_end: None,
                file_system: on.as_ref().map(FileSystem::describe),
                mount_options: on.map(|on| on.options).filter(|options| !options.is_empty()),
                checksum: self.databases.checksum().filter(|_| self.audited),
                hottest_rows: Some(W::hottest_rows(&self.databases.size)),
                references: if self.audited { Some(self.has_references()?) } else { None },
                tool_notes: first.tool_notes.clone(),
                stores: self.stores(),
                loaded_by: format!("{} {}", record.tool, record.tool_version).trim_end().to_owned(),
            },
            machine: observe::machine(),
            headline: W::headline(Interval::default(), false),
            conformance: validate::no_conformance("not run"),
            ..Trial::default()
        })
    }

    /// What a session says of what it stands on, and what the tables say that makes less of it.
    pub(crate) fn stands_on(&self, stack: model::Stack) -> Result<result::Stack> {
        let mut stack = described(stack);
        // What a server that is not ours reports is all that is known.
        stack.durability.claimed |= self.url.is_some();
        if self.audited {
            // A session on SQLite says itself how it has opened its file, which others could not while it holds a lock.
            if let [database] = &self.databases.each[..]
                && (stack.server.is_some() || database.url.dialect() != Dialect::Sqlite)
            {
                put(&mut stack.settings, store(&database.url).settings()?);
            }
            let in_memory = self.file_system()?.filter(|on| on.in_memory);
            let in_memory =
                in_memory.map(|on| format!("{} is in memory, so that a power cut empties it", on.kind));
            if let Some(why) = self.databases.unlogged()?.or(in_memory) {
                stack.durability.tier = Tier::Volatile;
                stack.durability.detail = format!("{why}; of the server: {}", stack.durability.detail);
            }
            let plan = |(statement, plan): (&str, String)| StatementPlan {
                statement: statement.to_owned(),
                plan,
                later: None,
            };
            // An engine that does not say is measured all the same.
            stack.plans = self.plans().unwrap_or_default().into_iter().map(plan).collect();
        }
        Ok(stack)
    }

    /// How the engine of the first store executes the workload's statements now, as far as it says.
    fn plans(&self) -> Result<Vec<(&'static str, String)>> {
        let Some(database) = self.databases.each.first() else { return Ok(Vec::new()) };
        let statements = W::statements(database.url.dialect())?;
        let texts: Vec<&str> = statements.iter().map(|(_, text)| text.as_str()).collect();
        let plans = store(&database.url).plans(&texts)?;
        let named = statements.iter().zip(plans).filter_map(|((name, _), plan)| Some((*name, plan?)));
        Ok(named.collect())
    }

    /// Adds to what was known before the first call what has become of it by now: tables that are no longer logged, and plans.
    pub(crate) fn note_later(&self, durability: &mut result::Durability, plans: &mut [StatementPlan]) {
        if self.audited
            && durability.tier != Tier::Volatile
            && let Ok(Some(why)) = self.databases.unlogged()
        {
            durability.tier = Tier::Volatile;
            durability.detail = format!("after the last call {why}; before: {}", durability.detail);
        }
        // An engine that is gone by now says nothing, and then no plan is known to have changed.
        let now = if plans.is_empty() { Vec::new() } else { self.plans().unwrap_or_default() };
        for plan in plans {
            let later = now.iter().find(|(name, later)| *name == plan.statement && *later != plan.plan);
            plan.later = later.map(|(_, later)| later.clone());
        }
    }

    /// What the data and the engine's log are on, as far as this machine can tell.
    fn file_system(&self) -> Result<Option<FileSystem>> {
        if !self.audited {
            return Ok(None);
        }
        match self.deployment.places(&self.databases.urls()).into_iter().next() {
            Some(file) => Ok(FileSystem::of(&file).ok()),
            None if self.deployment.is_elsewhere() => Ok(None),
            None => self.databases.file_system(),
        }
    }

    /// Whether every store has the foreign keys of the schema.
    fn has_references(&self) -> Result<bool> {
        let mut each = self.databases.each.iter();
        each.try_fold(true, |all, database| Ok(store(&database.url).has_references()? && all))
    }

    /// What each of several stores holds.
    fn stores(&self) -> Vec<StoreData> {
        let each = self.databases.each.iter().enumerate();
        let all = each.map(|(shard, database)| StoreData {
            name: model::store_name(shard),
            rows: database.contents.rows(),
            bytes: store(&database.url).bytes(),
            checksum: database.checksum(),
        });
        if self.databases.each.len() > 1 { all.collect() } else { Vec::new() }
    }
}
