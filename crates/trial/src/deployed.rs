//! The places of an experiment: where the data of a variant lies, loaded and audited once.

use crate::{RunReporter, validate};
use anyhow::{Result, bail};
use deploy::in_use::{self, InUse};
use deploy::{Databases, Deployment, Interrupt, Private, Spec};
use measure::Monotonic;
use model::Clock;
use result::Audit;
use sql::DbUrl;
use std::rc::Rc;
use targets::Driven;
use workload::Chosen;

/// A deployment and what became of it.
pub(crate) struct Deployed<W: Driven> {
    pub spec: Spec,
    /// Or why nothing can run there.
    found: Result<Ready<W>, String>,
}

/// A deployment with its data.
pub(crate) struct Ready<W: Driven> {
    pub deployment: Deployment,
    pub template: Rc<Template<W>>,
    /// Seconds that audits took here; none where the template is that of an earlier one.
    audited_s: f64,
    /// Of files that the user named: no run may change them meanwhile.
    _in_use: Vec<InUse>,
}

/// Data that is right.
pub(crate) struct Template<W: Driven> {
    /// What every trial has a copy of. It is never written to.
    pub databases: Databases<W>,
    /// Found before the first trial.
    pub audits: Vec<Audit>,
}

impl<W: Driven> Deployed<W> {
    /// Starts the engine, loads the data and audits it, unless one of the `earlier` places has a template for it. What
    /// goes wrong is kept for those who ask for it.
    pub(crate) fn create(
        spec: &Spec,
        earlier: &[Deployed<W>],
        scale: u32,
        sessions: u32,
        private: &Rc<Private>,
        reporter: &dyn RunReporter,
        interrupt: &Interrupt,
    ) -> Deployed<W> {
        let laid = || {
            let named = spec.urls()?;
            named.iter().try_for_each(|url| admin::store(url.clone()).ensure_copied())?;
            // As long as trials have copies made of it.
            let in_use = named.iter().filter_map(|url| in_use::lock_shared(url).transpose());
            let in_use: Vec<InUse> = in_use.collect::<Result<_>>()?;
            let deployment = Deployment::create_in(private, earlier.len(), spec, &named, sessions, reporter)?;
            match earlier.iter().find_map(|deployed| deployed.template_for(spec)) {
                Some(template) => {
                    Ok(Ready { deployment, template: Rc::clone(template), audited_s: 0.0, _in_use: in_use })
                }
                None => Ok(Ready {
                    _in_use: in_use,
                    ..Ready::of(deployment, named, scale, &spec.chosen, reporter, interrupt)?
                }),
            }
        };
        Deployed { spec: spec.clone(), found: laid().map_err(|error: anyhow::Error| format!("{error:#}")) }
    }

    /// Its template, if trials on another deployment can have copies of that.
    fn template_for(&self, other: &Spec) -> Option<&Rc<Template<W>>> {
        let shared = self.spec.is_private_file()
            && other.is_private_file()
            && (self.spec.shards, &self.spec.chosen) == (other.shards, &other.chosen);
        self.found.as_ref().ok().filter(|_| shared).map(|ready| &ready.template)
    }

    pub(crate) fn ready(&self) -> Result<&Ready<W>> {
        self.found.as_ref().map_err(|why| anyhow::Error::msg(why.clone()))
    }

    /// Starts its engine after a rest, or again.
    pub(crate) fn start(&mut self, restart: bool) -> Result<()> {
        match &mut self.found {
            Ok(ready) => ready.deployment.start(restart),
            Err(why) => Err(anyhow::Error::msg(why.clone())),
        }
    }

    /// What a reader must know of it, a sentence each.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.found.as_ref().map_or(Vec::new(), |ready| ready.deployment.notes())
    }

    /// Seconds that its audits took.
    pub(crate) fn audited_s(&self) -> f64 {
        self.found.as_ref().map_or(0.0, |ready| ready.audited_s)
    }

    /// Ends its engine and keeps the data.
    pub(crate) fn stop(&mut self) -> Result<()> {
        match &mut self.found {
            Ok(ready) => ready.deployment.stop(),
            Err(_) => Ok(()),
        }
    }
}

impl<W: Driven> Ready<W> {
    fn of(
        deployment: Deployment,
        named: Vec<DbUrl>,
        scale: u32,
        chosen: &Chosen,
        reporter: &dyn RunReporter,
        interrupt: &Interrupt,
    ) -> Result<Ready<W>> {
        let databases = if named.is_empty() {
            deployment.load_template::<W>(scale, reporter, interrupt)?
        } else {
            // Existing databases are never written to: every trial runs on copies.
            Databases::<W>::existing(named, Some(u64::from(scale)), chosen)?
        };
        let clock = Monotonic::start();
        let audits = validate::before(&databases, reporter, interrupt)?;
        // A database of another tool is held to all of it too: its copies are measured against each other.
        if let Some(audit) = validate::forbids::<W>(&audits, false) {
            bail!("data audit failed before the first trial ({}): {}", audit.full_name(), audit.sentence);
        }
        let template = Rc::new(Template { databases, audits });
        Ok(Ready { deployment, template, audited_s: clock.now().as_secs_f64(), _in_use: Vec::new() })
    }
}
