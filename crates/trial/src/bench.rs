//! The bench of an experiment: the places its variants run on, none loaded twice, and one trial at a time from a restored
//! state. It does not know which trials belong together; the runner of a schedule does.

use crate::deployed::Deployed;
use crate::job::{Before, EndEarly, Job};
use crate::{Folder, RunReporter, folder, validate};
use anyhow::{Result, bail};
use deploy::subjects::{self, Subject};
use deploy::{Interrupt, Private, ServerSettings, Spec};
use measure::Monotonic;
use model::Clock;
use result::words::seconds;
use result::{Check, Conformance, RunKind, ShortLine, Spent, Trial};
use schedule::plan::Variant;
use std::cell::Cell;
use std::rc::Rc;
use targets::Driven;

/// Places that are loaded, and what runs trials on copies of them.
pub struct TrialRunner<'a, W: Driven> {
    scale: u32,
    /// Where each variant is laid, and the sessions of its calls.
    sessions: Vec<(Spec, u32)>,
    folder: &'a Folder,
    reporter: &'a dyn RunReporter,
    interrupt: &'a Interrupt,
    /// In the order in which they were first asked for.
    deployed: Vec<Deployed<W>>,
    spent: Spent,
    private: Rc<Private>,
}

/// A variant that is ready for trials: its data is loaded, and it answers as the workload asks.
pub struct Prepared {
    pub subject: &'static Subject,
    /// The version of its engine, as that says itself to our sessions; nothing where a server that is not ours tells it in trials:
    /// it may have another SQLite in it.
    pub engine_version: Option<String>,
    /// Of the loaded rows; nothing where another kit has loaded them.
    pub checksum: Option<String>,
    conformance: Conformance,
    server: ServerSettings,
    /// An index into the places.
    deployed: usize,
}

impl<'a, W: Driven> TrialRunner<'a, W> {
    /// A bench without places, which are loaded when the first variant on them is prepared. Each takes the sessions of any of the
    /// `variants`.
    ///
    /// # Errors
    /// A variant has more clients than this machine can connect; the folder cannot be made.
    pub fn open(
        scale: u32,
        variants: &[Variant],
        folder: &'a Folder,
        reporter: &'a dyn RunReporter,
        interrupt: &'a Interrupt,
    ) -> Result<TrialRunner<'a, W>> {
        let mut sessions = Vec::with_capacity(variants.len());
        for variant in variants {
            let subject = subjects::find(&variant.subject)?;
            subject.check_clients(variant.plan.workers)?;
            sessions.push((variant.spec.clone(), subject.sessions(variant.plan.workers, variant.pool)));
        }
        let private = Rc::new(Private::create(folder.path())?);
        Ok(TrialRunner {
            scale,
            sessions,
            folder,
            reporter,
            interrupt,
            deployed: Vec::new(),
            spent: Spent::default(),
            private,
        })
    }

    /// Loads the data of the variant unless that is done, and holds the variant to the workload.
    ///
    /// # Errors
    /// The variant cannot be measured: its engine is not there or does not start, a setting is wrong, it answers wrongly.
    /// Other variants may well be; unless the user has interrupted.
    pub fn prepare(&mut self, variant: &Variant) -> Result<Prepared> {
        let subject = subjects::find(&variant.subject)?;
        let server = ServerSettings {
            limits: variant.server_limits.as_deref().map(str::parse).transpose()?,
            relaying: variant.relaying.clone(),
            pool: variant.pool,
            threads: variant.server_threads,
        };
        variant.plan.validate(W::KINDS)?;
        let index = self.deployed_at(&variant.spec)?;
        let clock = Monotonic::start();
        let ready = self.deployed[index].ready()?;
        let conformance = validate::conformance::<W>(
            subject,
            &server,
            &ready.deployment,
            self.folder,
            self.reporter,
            self.interrupt,
        )?;
        let engine_version = subject
            .speaks_through_ours()
            .then(|| validate::engine_version::<W>(subject, &ready.template.databases))
            .transpose()?;
        self.spent.check_s += clock.now().as_secs_f64();
        if conformance.check == Check::Failed {
            let mismatch = conformance.mismatches.first().map_or("", String::as_str);
            bail!("it answers wrongly: {mismatch}");
        }
        let checksum = ready.template.databases.checksum();
        Ok(Prepared { subject, engine_version, checksum, conformance, server, deployed: index })
    }

    /// Runs one trial in `trials/NAME` of the run's folder ([`schedule::trial_name`]; the number is what tells trials apart): from a
    /// restored state, with a fresh server process. The whole trial is written there as it runs, as
    /// one of `run`; without its time lines it is returned when it has ended. A trial that was interrupted, by the user or by
    /// `end_early`, or has failed says so in its state.
    ///
    /// # Errors
    /// It could not be begun, or its result could not be written.
    pub fn trial(
        &mut self,
        prepared: &Prepared,
        plan: &drive::Plan,
        name: &str,
        end_early: Option<EndEarly<'_>>,
        run: &str,
    ) -> Result<Trial> {
        self.reporter.doing("restoring the data");
        let clock = Monotonic::start();
        self.stop_other_engines(prepared.deployed, true)?;
        let ready = self.deployed[prepared.deployed].ready()?;
        let databases = ready.deployment.copy(&ready.template.databases, "trial")?;
        let restored = clock.now().as_secs_f64();
        self.spent.restore_s += restored;
        let folder = self.folder.trial(name)?;
        let path = prepared.subject.path;
        let (started, id) = (folder::now(), format!("{run}/{name}"));
        let mut own = folder::document(id, started, RunKind::Trial, &[path]);
        own.notes = ready.deployment.notes();
        own.notes.push(format!("Its state was restored in {}.", seconds(restored)));
        let job = Job {
            subject: prepared.subject,
            databases: &databases,
            deployment: &ready.deployment,
            plan: plan.clone(),
            server: prepared.server.clone(),
            url: None,
            audited: true,
            own: None,
            folder: &folder,
            checked_s: Cell::new(0.0),
            what: name.split_once('-').map_or(name, |(_, label)| label),
            reporter: self.reporter,
            interrupt: self.interrupt,
            end_early,
        };
        let before =
            Before { conformance: prepared.conformance.clone(), audits: ready.template.audits.clone() };
        let ran = job.run(before, &mut own);
        self.spent.check_s += job.checked_s.get();
        let forgotten = ready.deployment.drop_databases(&databases.urls());
        let trial = &own.trials[ran?];
        forgotten?;
        own.state = trial.state;
        let slim = without_lines(trial);
        folder.put_document(&own)?;
        Ok(slim)
    }

    /// What the bench has spent so far; all but the total.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// What a reader must know of the places, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for note in self.deployed.iter().flat_map(Deployed::notes) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }

    fn deployed_at(&mut self, spec: &Spec) -> Result<usize> {
        if let Some(known) = self.deployed.iter().position(|deployed| deployed.spec == *spec) {
            self.stop_other_engines(known, false)?;
            return Ok(known);
        }
        let index = self.deployed.len();
        for other in &mut self.deployed {
            other.stop()?;
        }
        let clock = Monotonic::start();
        // Private engines are alike, whichever variant is laid there; what others are asked for is what they need to have.
        let counts = self.sessions.iter().filter(|(other, _)| spec.named.is_empty() || other == spec);
        let sessions = counts.map(|(_, sessions)| *sessions).max().unwrap_or(0);
        let deployed = Deployed::create(
            spec,
            &self.deployed,
            (self.scale, sessions),
            &self.private,
            self.reporter,
            self.interrupt,
        );
        let audited_s = deployed.audited_s();
        self.spent.check_s += audited_s;
        self.spent.load_s += clock.now().as_secs_f64() - audited_s;
        self.deployed.push(deployed);
        if self.interrupt.requested() {
            bail!("interrupted while loading");
        }
        Ok(index)
    }

    /// Lets no private engine run but that of one deployment. An idle engine would still write out what the last trial has left
    /// behind, clean up, and hold its memory: all of it would be a cost of whoever is measured next. Every trial begins on an
    /// engine that was just started (`restart`), whatever ran before: one that stayed up would have the last trial's pages in
    /// its memory where another had none.
    fn stop_other_engines(&mut self, index: usize, restart: bool) -> Result<()> {
        for (at, other) in self.deployed.iter_mut().enumerate() {
            if at != index {
                other.stop()?;
            }
        }
        self.deployed[index].ready()?.deployment.start(restart)
    }
}

/// A trial as the document of its run has it: what it came to, and of the lines over time, which are in its own folder, what ended
/// in each slice.
pub(crate) fn without_lines(trial: &Trial) -> Trial {
    let mut slim = trial.clone();
    slim.line = ShortLine::of(&slim.slices).or(slim.line);
    slim.slices.clear();
    for process in &mut slim.processes {
        process.samples.clear();
    }
    if let Some(writeback) = &mut slim.writeback {
        writeback.samples.clear();
    }
    if let Some(machine) = &mut slim.machine_wide {
        machine.samples.clear();
    }
    if let Some(published) = &mut slim.published {
        published.line.clear();
    }
    if let Some(engine) = &mut slim.engine {
        engine.t_s.clear();
        for gauge in &mut engine.gauges {
            gauge.values.clear();
        }
        for wait in &mut engine.waits {
            wait.sessions.clear();
        }
    }
    slim
}
