//! The bench of an experiment: the places its variants run on, none loaded twice, and one trial at a time from a restored
//! state. It does not know which trials belong together; the runner of a schedule does.

use crate::alternation::alternate;
use crate::deployed::{Deployed, Ready};
use crate::job::{Before, EndEarly, Job};
use crate::{Folder, RunReporter, folder, validate};
use anyhow::{Result, bail};
use deploy::subjects::{self, Subject};
use deploy::{Databases, Deployment, Interrupt, Private, ServerSettings, Spec};
use measure::Monotonic;
use model::Clock;
use result::text::seconds;
use result::{Check, Conformance, Document, RunKind, ShortLine, Spent, Trial};
use schedule::PlannedTrial;
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
    /// Of the loaded rows; nothing where another tool has loaded them.
    pub checksum: Option<String>,
    conformance: Conformance,
    server: ServerSettings,
    /// An index into the places.
    deployed: usize,
}

impl<'a, W: Driven> TrialRunner<'a, W> {
    /// A bench without places, which are loaded when the first variant on them is prepared. Each takes the sessions of any of the
    /// `variants`, and of all that take turns: `together` has them by their places, those with the same data in one list.
    ///
    /// # Errors
    /// A variant has more clients than this machine can connect; the folder cannot be made.
    pub fn open(
        scale: u32,
        variants: &[Variant],
        together: &[Vec<usize>],
        folder: &'a Folder,
        reporter: &'a dyn RunReporter,
        interrupt: &'a Interrupt,
    ) -> Result<TrialRunner<'a, W>> {
        let mut sessions: Vec<(Spec, u32)> = Vec::with_capacity(variants.len());
        for variant in variants {
            let subject = subjects::find(&variant.subject)?;
            subject.check_clients(variant.plan.workers)?;
            // Room for one connection of a relay there is anyway.
            let relay = variant.relaying.connections.saturating_sub(1);
            sessions
                .push((variant.spec.clone(), subject.sessions(variant.plan.workers, variant.pool) + relay));
        }
        for places in together {
            let all = places.iter().map(|place| sessions[*place].1).sum();
            let Some(first) = places.first() else { continue };
            let clients = places.iter().map(|place| variants[*place].plan.workers).sum();
            for place in places {
                subjects::find(&variants[*place].subject)?.check_clients(clients)?;
            }
            sessions.push((sessions[*first].0.clone(), all));
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
    /// The variant cannot be measured: its engine is not there or does not start, a setting is wrong, it fails conformance.
    /// Other variants may well be; unless the user has interrupted.
    pub fn prepare(&mut self, variant: &Variant) -> Result<Prepared> {
        let subject = subjects::find(&variant.subject)?;
        let server = ServerSettings {
            limits: variant.server_limits.as_deref().map(str::parse).transpose()?,
            relaying: variant.relaying.clone(),
            pool: variant.pool,
            threads: variant.server_threads,
            http: variant.http,
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
            bail!("it failed conformance: {mismatch}");
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
        let (mut copies, restored) = self.restore(&[prepared.deployed])?;
        let databases = copies.remove(0);
        let ready = self.deployed[prepared.deployed].ready()?;
        let folder = self.folder.trial(name)?;
        let mut own = document(prepared, ready, name, restored, run);
        let place = TrialPlace { databases: &databases, deployment: &ready.deployment, folder: &folder };
        let what = name.split_once('-').map_or(name, |(_, label)| label);
        let job = Job {
            end_early,
            part: None,
            probes_speed: true,
            ..prepared.job(&place, plan, what, self.reporter, self.interrupt)
        };
        let ran = job.run(prepared.before(ready), &mut own);
        self.spent.check_s += job.checked_s.get();
        let forgotten = ready.deployment.drop_databases(&databases.urls());
        let index = ran?;
        forgotten?;
        ended(&folder, &mut own, index)
    }

    /// Runs trials of variants on the same data at once: they make calls in turn, those on one place on one copy of it. Each is written in
    /// a folder of its own, as by [`TrialRunner::trial`]. `seed` decides whose turn is when; where `all` are needed none is run without another.
    ///
    /// # Errors
    /// Of a trial, that it could not be begun or written; of all of them, that there was no copy, or nothing to observe.
    pub fn alternate(
        &mut self,
        wanted: &[(&Prepared, &PlannedTrial)],
        seed: u64,
        all: bool,
        run: &str,
    ) -> Result<Vec<Result<Trial>>> {
        let mut places: Vec<usize> = Vec::new();
        let mut at = Vec::with_capacity(wanted.len());
        for (prepared, _) in wanted {
            let known = places.iter().position(|place| *place == prepared.deployed);
            at.push(known.unwrap_or(places.len()));
            if known.is_none() {
                places.push(prepared.deployed);
            }
        }
        let (copies, restored) = self.restore(&places)?;
        let on: Vec<&Ready<W>> =
            places.iter().map(|place| self.deployed[*place].ready()).collect::<Result<_>>()?;
        let folders: Vec<Folder> =
            wanted.iter().map(|(_, planned)| self.folder.trial(&planned.folder)).collect::<Result<_>>()?;
        let mut documents: Vec<Document> = Vec::with_capacity(wanted.len());
        let mut jobs = Vec::with_capacity(wanted.len());
        for (((prepared, planned), folder), at) in wanted.iter().zip(&folders).zip(&at) {
            let place = TrialPlace { databases: &copies[*at], deployment: &on[*at].deployment, folder };
            documents.push(document(prepared, on[*at], &planned.folder, restored, run));
            jobs.push(prepared.job(&place, &planned.plan, &planned.what, self.reporter, self.interrupt));
        }
        let befores = wanted.iter().zip(&at).map(|((prepared, _), at)| prepared.before(on[*at])).collect();
        let ran = alternate(&jobs, &at, befores, &mut documents, seed, all);
        self.spent.check_s += jobs.iter().map(|job| job.checked_s.get()).sum::<f64>();
        let dropped: Vec<Result<()>> = on
            .iter()
            .zip(&copies)
            .map(|(ready, copy)| ready.deployment.drop_databases(&copy.urls()))
            .collect();
        let ran = ran?;
        dropped.into_iter().collect::<Result<()>>()?;
        let each = ran.into_iter().zip(&mut documents).zip(&folders);
        Ok(each.map(|((ran, own), folder)| ran.and_then(|()| ended(folder, own, 0))).collect())
    }

    /// A fresh copy of the data in each of these places, on engines that were just started, and the seconds that this took.
    fn restore(&mut self, places: &[usize]) -> Result<(Vec<Databases<W>>, f64)> {
        self.reporter.doing("restoring the data");
        let clock = Monotonic::start();
        self.stop_other_engines(places, true)?;
        let copy = |place: &usize| {
            let ready = self.deployed[*place].ready()?;
            ready.deployment.copy(&ready.template.databases, "trial")
        };
        let copies = places.iter().map(copy).collect::<Result<_>>()?;
        let restored = clock.now().as_secs_f64();
        self.spent.restore_s += restored;
        Ok((copies, restored))
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
            self.stop_other_engines(&[known], false)?;
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
            self.scale,
            sessions,
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

    /// Lets no private engine run but those of these places. An idle engine would still write out what the last trial has left
    /// behind, clean up, and hold its memory: all of it would be a cost of whoever is measured next. Every trial begins on an
    /// engine that was just started (`restart`), whatever ran before: one that stayed up would have the last trial's pages in
    /// its memory where another had none.
    fn stop_other_engines(&mut self, places: &[usize], restart: bool) -> Result<()> {
        for (at, other) in self.deployed.iter_mut().enumerate() {
            if !places.contains(&at) {
                other.stop()?;
            }
        }
        places.iter().try_for_each(|place| self.deployed[*place].start(restart))
    }
}

/// Where a trial runs and is written.
struct TrialPlace<'a, W: Driven> {
    databases: &'a Databases<W>,
    deployment: &'a Deployment,
    folder: &'a Folder,
}

impl Prepared {
    fn job<'a, W: Driven>(
        &self,
        place: &TrialPlace<'a, W>,
        plan: &drive::Plan,
        what: &'a str,
        reporter: &'a dyn RunReporter,
        interrupt: &'a Interrupt,
    ) -> Job<'a, W> {
        Job {
            subject: self.subject,
            databases: place.databases,
            deployment: place.deployment,
            plan: plan.clone(),
            server: self.server.clone(),
            url: None,
            audited: true,
            own: None,
            folder: place.folder,
            checked_s: Cell::new(0.0),
            what,
            reporter,
            interrupt,
            probes_speed: false,
            end_early: None,
            part: None,
        }
    }

    fn before<W: Driven>(&self, ready: &Ready<W>) -> Before {
        Before { conformance: self.conformance.clone(), audits: ready.template.audits.clone() }
    }
}

/// The document of a trial that begins.
fn document<W: Driven>(
    prepared: &Prepared,
    ready: &Ready<W>,
    name: &str,
    restored_s: f64,
    run: &str,
) -> Document {
    let id = format!("{run}/{name}");
    let mut own = folder::document(id, folder::now(), RunKind::Trial, &[prepared.subject.path]);
    own.notes = ready.deployment.notes();
    own.notes.push(format!("Its state was restored in {}.", seconds(restored_s)));
    own
}

/// Writes the document of a trial that has ended, and gives the trial without its time lines.
fn ended(folder: &Folder, own: &mut Document, index: usize) -> Result<Trial> {
    let trial = &own.trials[index];
    own.state = trial.state;
    let slim = without_lines(trial);
    folder.put_document(own)?;
    Ok(slim)
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
