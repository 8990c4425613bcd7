//! One trial, from a loaded database to a document: connect, look, drive, look again, audit.

use crate::announced;
use crate::closing::Closing;
use crate::folder::{ClaimsFile, Folder, ProgressFile};
use crate::follow::Follow;
use crate::headline::{described, fill, nothing_completed};
use crate::last_answer::{AtLast, LastAnswer, hold_to};
use crate::lookups::Lookups;
use crate::processes::Throttling;
use crate::reach::{gone, of_server, reach, reach_started};
use crate::relaying::{RelayProcess, Relayed};
use crate::reporter::RunReporter;
use crate::server_admin::ServerAdmin;
use crate::settle;
use crate::validate;
use admin::store;
use anyhow::{Context, Result};
use deploy::{Databases, Deployment, Interrupt, Route, Server, ServerSettings, SinkAddress, Subject};
use drive::Stop;
use measure::{Monotonic, Totals};
use model::{Clock, Nanos, Stack, Target};
use observe::{Observation, Options, Probing, Watch, Watched};
use result::{Conformance, Document, MachineSpeed, Role, Settled, SpeedAround, State, Trial};
use std::cell::Cell;
use std::sync::Arc;
use targets::{Driven, TrialTarget};
use workload::{KEYS_KEPT, Streams};

/// The note of a trial whose window opened although the log of a commit still changed.
pub(crate) const UNSTEADY: &str =
    "WAL per commit was still changing when the warm-up ended; raise --warmup-max.";

/// What to measure, on what, and where to write.
pub struct Job<'a, W: Driven> {
    /// What calls go through.
    pub subject: &'static Subject,
    /// What they work on.
    pub databases: &'a Databases<W>,
    /// What that stands on.
    pub deployment: &'a Deployment,
    /// What the load generator does.
    pub plan: drive::Plan,
    /// How a server that is started here is set up.
    pub server: ServerSettings,
    /// A server that is already running.
    pub url: Option<&'a str>,
    /// Whether the data can be looked at: not if only a URL is known.
    pub audited: bool,
    /// A server at `url` that looks at its own data where we cannot.
    pub own: Option<&'a ServerAdmin>,
    /// Written as it goes.
    pub folder: &'a Folder,
    /// Seconds that the audits after the trial have taken.
    pub checked_s: Cell<f64>,
    /// What those who watch are told that runs.
    pub what: &'a str,
    pub reporter: &'a dyn RunReporter,
    /// Who may end it.
    pub interrupt: &'a Interrupt,
    /// Whether the machine's speed is probed before and after the load.
    pub probes_speed: bool,
    /// Asked after each slice of the window.
    pub end_early: Option<EndEarly<'a>>,
    /// Set where other processes make calls of the same run.
    pub part: Option<PartOfRun>,
}

/// What the processes of one run have in common.
#[derive(Debug, Clone, Copy)]
pub struct PartOfRun {
    /// The number of the run, which keys are made of.
    pub run: u64,
    /// When calls begin, in nanoseconds of Unix time by the clock of this machine; as soon as possible where it is not given.
    pub starts: Option<u64>,
}

/// Why a trial is to end now, if so: given are how much of its window has passed and what its calls have come to.
pub type EndEarly<'a> = &'a dyn Fn(Nanos, &Totals) -> Option<String>;

/// What has been found before the trial.
pub struct Before {
    pub conformance: Conformance,
    pub audits: Vec<result::Audit>,
}

/// What came out of the load generator and the observer.
pub(crate) struct Measured<W: Driven> {
    pub(crate) trial: drive::Trial<W>,
    pub(crate) observation: Observation,
    pub(crate) stack: Stack,
    pub(crate) server_failure: Option<String>,
    /// What each limited process has met of its limits since it was started.
    pub(crate) throttling: Throttling,
}

/// A trial whose load has ended.
pub(crate) struct Ended<W: Driven> {
    pub(crate) measured: Measured<W>,
    /// How what was still on its way came to its end, while the server was there to see to it.
    pub(crate) settled: Result<Option<Settled>>,
    /// What was stored when the last call had been answered.
    pub(crate) at_last: Option<AtLast<W>>,
    /// The number of the run, which its keys are made of.
    pub(crate) run: u64,
    /// What the subject answers after the last call, against what is stored.
    pub(crate) closing: Vec<result::Audit>,
    /// When it was measured.
    pub(crate) within: settle::Interval,
    /// When its window really opened, in microseconds of Unix time.
    pub(crate) opened_us: Option<i64>,
    /// What the relay reports in the end.
    pub(crate) relayed: Option<Relayed>,
    /// Whether all acknowledged calls are in the ledger.
    pub(crate) complete: bool,
}

impl<W: Driven> Job<'_, W> {
    /// Runs the trial. `document` is written as it goes; the finished trial is pushed to it and returned by index.
    pub fn run(&self, before: Before, document: &mut Document) -> Result<usize> {
        let stored_before = match self.own {
            Some(own) => Some(own.evidence::<W>()?.0),
            None => self.audited.then(|| validate::evidence::<W>(&self.databases.urls())).transpose()?,
        };
        let index = self.begin(before, document)?;
        if let Some(before) = &stored_before {
            let none = W::claims(&W::new_ledger(&self.databases.size), false);
            self.folder.put_claims(&self.claims_file(before.clone(), none))?;
        }
        let before = stored_before.as_ref();

        let earlier = stored_before.as_ref().and_then(|before| announced::earlier(self, before));
        document.trials[index].notes.extend(earlier);
        // Before the relay starts and after it has ended, or the probe would measure what one subject has running and another not.
        let speed_before = self.speed();
        let relay = RelayProcess::beside(self)?;
        document.trials[index].notes.extend(relay.note());
        let mut watched = self.watched();
        watched.extend(relay.watched());
        let mut driven = self.load(watched, &relay.sink(), document, before)?;
        let throttling = &mut driven.measured.throttling;
        throttling.relay = relay.throttling();
        throttling.broker = self.deployment.broker_limits().1;
        let (relayed, failure) = relay.stop(self.plan.settle_max, self.interrupt);
        let around = |(before, after)| SpeedAround { before, after };
        document.trials[index].machine_speed = speed_before.zip(self.speed()).map(around);
        driven.relayed = relayed;
        if let Some(failure) = failure {
            driven.measured.server_failure.get_or_insert(failure);
        }
        self.finish(&mut document.trials[index], driven, before)?;
        Ok(index)
    }

    /// Makes the calls.
    pub(crate) fn load(
        &self,
        watched: Vec<Watched>,
        sink: &SinkAddress,
        document: &mut Document,
        before: Option<&W::Evidence>,
    ) -> Result<Ended<W>> {
        match self.subject.route() {
            Route::Direct => {
                let _producing = self.subject.publishes_directly().then(|| sink.produce()).transpose()?;
                let target =
                    targets::target_over(self.subject.how, &self.databases.urls(), &self.databases.size)?;
                self.drive(target, (self.plan.workers, false), watched, None, document, before)
            }
            Route::Http => self.through_http(watched, sink, document, before),
        }
    }

    /// Writes a trial of which nothing is known yet but what was asked. Before the first call, so that a run that is killed in its
    /// first second can be told and audited too.
    pub(crate) fn begin(&self, before: Before, document: &mut Document) -> Result<usize> {
        let mut blank = self.blank()?;
        blank.conformance = before.conformance;
        blank.audits = before.audits;
        document.trials.push(blank);
        self.folder.put_document(document)?;
        Ok(document.trials.len() - 1)
    }

    /// A server of its subject, unless one is running already.
    pub(crate) fn serve(&self, sink: &SinkAddress) -> Result<Option<Server>> {
        if self.url.is_some() {
            return Ok(None);
        }
        let (urls, log) = (self.databases.urls(), self.folder.path().join("server.log"));
        self.subject.serve(&urls, &self.server, sink, &[], &log, self.interrupt.flag()).map(Some)
    }

    fn through_http(
        &self,
        mut watched: Vec<Watched>,
        sink: &SinkAddress,
        document: &mut Document,
        before: Option<&W::Evidence>,
    ) -> Result<Ended<W>> {
        let mut started = self.serve(sink)?;
        let scale = self.databases.scale();
        let target = match (&started, self.url) {
            (Some(server), _) => reach_started::<W>(server, scale, self.server.http)?,
            (None, Some(url)) => reach::<W>(url, Some(scale.into()))?.through(self.server.http)?,
            (None, None) => unreachable!("started when no address is given"),
        };
        target.about().admits(self.plan.workers).map_err(anyhow::Error::msg)?;
        // A process id means something only on this machine.
        let local = matches!(target.address().host(), "localhost" | "127.0.0.1" | "::1" | "[::1]");
        let pid = started.as_ref().map(Server::pid).or(target.about().pid.filter(|_| local));
        watched.extend(pid.map(|pid| Watched::of(Role::Server, pid)));
        let about = target.about().clone();
        let spare = about.admits(self.plan.workers + 1).is_ok();
        let mut driven =
            self.drive(of_server(target), (about.pool, spare), watched, started.as_mut(), document, before)?;
        if let Some(url) = self.url {
            // No one tells us how a server ended that is not our child.
            driven.measured.server_failure = gone::<W>(url, &about);
        }
        driven.measured.throttling.server = started.as_ref().and_then(Server::throttling);
        if let Some(server) = started
            && let Err(error) = server.stop()
        {
            driven.measured.server_failure.get_or_insert(format!("{error:#}"));
        }
        Ok(driven)
    }

    fn drive(
        &self,
        target: TrialTarget<W>,
        (sessions, spare): (u32, bool),
        watched: Vec<Watched>,
        server: Option<&mut Server>,
        document: &mut Document,
        before: Option<&W::Evidence>,
    ) -> Result<Ended<W>> {
        let (clock, started) = (Monotonic::start(), measure::unix_nanoseconds());
        let watch = self.watch(watched, clock)?;
        let stack = self.stack(&target, sessions);
        if let Some(trial) = document.trials.last_mut() {
            trial.stack = self.stands_on(stack.clone())?;
        }
        // Before the first call: a run that is killed still says what it ran on.
        self.folder.put_document(document)?;
        let size = &self.databases.size;
        let run = self.part.map_or_else(measure::unix_nanoseconds, |part| part.run);
        let plan = self.plan_from(started)?;
        let streams = self.streams(run);
        let inputs = W::inputs(size, &streams, W::knowledge(size, &streams, before));
        let mut follow = Follow {
            job: self,
            document,
            before,
            watch: Some(watch),
            server,
            server_failure: None,
            stop: Stop::new(),
            following: self.reporter.follow(self.what),
            slices_seen: 0,
            progress: self.folder.progress()?,
            slices_written: 0,
            window_written: false,
            unsteady: false,
            opened_us: None,
            lookups: None,
            write_failure: None,
        };
        // It stays until the data has settled: what it left undecided is decided by it.
        let target = Arc::new(target);
        // Where a relay goes on, what is stored changes rightly.
        let alone = self.part.is_none();
        let holds = self.audited && !self.subject.how.style.is_relayed();
        let last = holds.then(|| LastAnswer::prepare(&self.databases.urls()));
        let (driven, lookups) = self.make_calls(&target, spare, &plan, &inputs, clock, &mut follow);
        let ended = Monotonic::start();
        let at_last = last.and_then(|last| last.read::<W>(self.subject.how.style, alone));
        let at_once: Vec<_> = lookups.into_iter().flat_map(Lookups::end).collect();
        let Follow {
            watch,
            following,
            server_failure,
            write_failure,
            mut progress,
            document,
            unsteady,
            opened_us,
            ..
        } = follow;
        if let Some(trial) =
            document.trials.last_mut().filter(|_| unsteady && self.plan.warmup_max > Nanos::ZERO)
        {
            trial.notes.push(UNSTEADY.into());
        }
        drop(following);
        let observation = watch.expect("returned by no one else").stop();
        if let Some(error) = write_failure {
            return Err(error);
        }
        // Of a trial that could not be ended, what it had come to stays where it is.
        let driven = driven?;
        self.keep(&driven, document, before, alone, &mut progress)?;
        progress.discard()?;
        let within = settle::Interval::of(started, driven.opened, driven.span);
        if self.audited && server_failure.is_none() {
            settle::finish::<W>(&*target, ended, self.plan.settle_max);
        }
        let is_awaited = driven.failure.is_none() && W::is_awaited(self.subject.how.style.name());
        let settled = match before {
            // While others make calls there is no end of it.
            Some(before) if self.audited && alone && server_failure.is_none() && is_awaited => {
                self.settle(before, ended, within)
            }
            _ => Ok(None),
        };
        let is_sound = self.audited
            && alone
            && driven.failure.is_none()
            && server_failure.is_none()
            && !self.interrupt.requested();
        let (made, is_in_doubt) = (driven.totals.call_counts().started, driven.is_in_doubt());
        let mut closing =
            if is_sound { self.closing(&target, run, 0, made, is_in_doubt) } else { Vec::new() };
        closing.extend(at_once);
        // Counted since the engine was started, of which this trial is the greater part; of a fresh engine all of it.
        let throttling = Throttling { engines: self.deployment.engine_throttling(), ..Throttling::default() };
        let measured = Measured { trial: driven, observation, stack, server_failure, throttling };
        Ok(Ended {
            measured,
            settled,
            at_last,
            run,
            closing,
            within,
            opened_us,
            relayed: None,
            complete: alone,
        })
    }

    /// Waits for what is still on its way, by a clock that was started when the load ended.
    pub(crate) fn settle(
        &self,
        before: &W::Evidence,
        ended: Monotonic,
        within: settle::Interval,
    ) -> Result<Option<Settled>> {
        let (max, reporter, interrupt) = (self.plan.settle_max, self.reporter, self.interrupt);
        settle::settle(self.databases, before, ended, max, reporter, interrupt, within)
    }

    /// Asks the subject what its calls have left behind, while it still can be asked. `made` are its calls; its clients have the
    /// numbers from `first` on.
    pub(crate) fn closing(
        &self,
        target: &TrialTarget<W>,
        run: u64,
        first: u32,
        made: u64,
        is_in_doubt: bool,
    ) -> Vec<result::Audit> {
        self.reporter.doing("comparing answers with the data");
        let closing = Closing {
            target,
            is_direct: self.subject.route() == Route::Direct,
            how: self.subject.how,
            urls: &self.databases.urls(),
            size: &self.databases.size,
            streams: &self.streams(run),
            clients: first..first + self.plan.workers,
            made: made / u64::from(self.plan.workers.max(1)),
            is_in_doubt,
            interrupt: self.interrupt,
        };
        closing.audits()
    }

    /// Observes processes, the disks of the stores and the engine.
    pub(crate) fn watch(&self, watched: Vec<Watched>, clock: Monotonic) -> Result<Watch<Monotonic>> {
        // Without sight of the database (a URL alone) there is no disk to watch either.
        let stores = if self.audited { self.deployment.places(&self.databases.urls()) } else { Vec::new() };
        let options = Options { stores, ..Options::default() };
        let mut watch = Watch::start(watched, &options, clock).context("could not observe the processes")?;
        let databases = self.databases.each.iter().filter(|_| self.audited);
        let probes = databases.filter_map(|database| store(&database.url).probe()).collect();
        watch.ask(probes).context("could not ask the engine about itself")?;
        Ok(watch)
    }

    /// What a target with so many sessions stands on, as it says itself, and what it was started with.
    pub(crate) fn stack(&self, target: &TrialTarget<W>, sessions: u32) -> Stack {
        let mut stack = target.stack();
        stack.settings.push(("sessions".into(), sessions.to_string()));
        // How a relay between stores works that is within a server at --url is not known.
        let stores = if self.url.is_none() { self.databases.each.len() } else { 1 };
        stack.settings.extend(self.server.relaying.described_for(self.subject, stores));
        if self.subject.publishes() {
            let broker = self.deployment.broker_version();
            stack.settings.extend(broker.map(|version| ("outbox broker".to_owned(), version)));
        }
        if let Some(commit) = self.subject.commit() {
            stack.server = Some(format!("{} at {commit}", stack.server.as_deref().unwrap_or("unnamed")));
        }
        stack
    }

    /// What the load generator does, where the clock of the trial was started at a moment of Unix time.
    fn plan_from(&self, started: u64) -> Result<drive::Plan> {
        let mut plan = self.plan.clone();
        let starts = self.part.and_then(|part| part.starts);
        if let Some((part, at)) = plan.part.as_mut().zip(starts) {
            let left =
                at.checked_sub(started).context("the moment at which calls were to begin has passed")?;
            part.starts = Some(Nanos(left));
        }
        Ok(plan)
    }

    /// What the calls of a run of this number are drawn from.
    pub(crate) fn streams(&self, run: u64) -> Streams<'_> {
        // A server that loads its own data has loaded that of the seed.
        let ours = self.own.is_some() || self.audited && !self.databases.is_foreign();
        Streams {
            seed: self.plan.seed,
            load: ours.then_some(self.databases.seed()),
            run,
            mix: self.plan.mix.as_ref(),
            skew: self.plan.skew,
            // The number of a run is made of its begin.
            begin: i64::try_from(run / 1_000_000_000).ok(),
            // Answers to other processes are not known here.
            lossy: self.part.is_some(),
            outlasts_keys: self.plan.warmup_longest() + self.plan.measured > KEYS_KEPT,
        }
    }

    /// Writes what was counted and what it implies about the data, now that no calls are made: all that a run that is killed
    /// while it audits leaves.
    pub(crate) fn keep(
        &self,
        driven: &drive::Trial<W>,
        document: &mut Document,
        before: Option<&W::Evidence>,
        complete: bool,
        progress: &mut ProgressFile,
    ) -> Result<()> {
        let claims = before.map(|_| W::claims(&driven.ledger, complete));
        if let Some(trial) = document.trials.last_mut() {
            fill::<W>(trial, &driven.totals, &driven.slices, driven.span);
            // At no moment may the lines say less than the files next to them.
            progress.append(&result::Progress::of(trial, 0, claims.as_ref()))?;
        }
        self.folder.put_document(document)?;
        if let Some((before, claims)) = before.zip(claims) {
            self.folder.put_claims(&self.claims_file(before.clone(), claims))?;
        }
        Ok(())
    }

    pub(crate) fn finish(
        &self,
        trial: &mut Trial,
        ended: Ended<W>,
        before: Option<&W::Evidence>,
    ) -> Result<()> {
        let Ended { measured, settled, at_last, run, closing, within, relayed, complete, .. } = ended;
        let is_in_doubt = measured.trial.is_in_doubt();
        let ledger = self.put_measured(trial, measured);
        trial.audits.extend(closing);
        if let Some(before) = before {
            let clock = Monotonic::start();
            let claims = W::claims(&ledger, complete);
            if let Err(error) = self.audit(trial, before, settled, (run, within, relayed), &claims) {
                not_audited(trial, &error);
            }
            if let Some(at_last) = at_last {
                hold_to(&mut trial.ledger, W::ledger_checks(before, &at_last.evidence, &claims));
                if !is_in_doubt && self.plan.deferred.is_none() {
                    trial.audits.extend(at_last.unchanged(&self.databases.urls()));
                }
            }
            self.checked_s.set(clock.now().as_secs_f64());
        } else {
            trial.notes.push(
                "The stored data was not audited: give --db with the database behind the server.".into(),
            );
        }
        trial.rules = judge::rules::judge(trial);
        Ok(())
    }

    /// Puts what was counted and observed into a trial, and gives what its calls imply about the data.
    pub(crate) fn put_measured(&self, trial: &mut Trial, measured: Measured<W>) -> W::Ledger {
        let Measured { trial: driven, observation, stack, server_failure, throttling } = measured;
        // The store was asked before the first call; the engine may be gone by now.
        let result::Stack { mut durability, settings, mut plans, .. } = std::mem::take(&mut trial.stack);
        self.note_later(&mut durability, &mut plans);
        trial.stack = result::Stack { durability, settings, plans, ..described(stack) };
        fill::<W>(trial, &driven.totals, &driven.slices, driven.span);
        trial.warmup_s = (driven.warmed > self.plan.warmup).then(|| driven.warmed.as_secs_f64());
        trial.machine = observation.machine;
        let committed = trial.committed().round() as u64;
        trial.disk = observation.disk;
        trial.processes = observation.processes;
        self.describe_processes(&mut trial.processes, committed, &throttling);
        trial.writeback = observation.writeback.map(|seen| result::Writeback {
            cpu_ms_per_1000_committed: seen.cpu_s.and_then(|s| result::cpu_ms_a_thousand(s, committed)),
            ..seen
        });
        (trial.engine, trial.machine_wide) = (observation.engine, observation.machine_wide);
        if let Some(engine) = trial.engine.as_mut().filter(|_| !self.knows_its_sessions()) {
            // The sessions of a server that is not ours, or of another process, are told from others' by nothing.
            engine.other_sessions = None;
        }
        trial.outages = driven.outages.iter().map(|outage| outage.within(driven.warmed)).collect();
        trial.refusals = driven
            .refusals
            .iter()
            .map(|(reason, calls)| result::Refused { reason: reason.clone(), calls: *calls })
            .collect();
        trial.gaps = driven.gaps.iter().map(|gap| gap.within(driven.warmed)).collect();
        trial.data.bytes_end = self.bytes();
        trial.deferred = self.plan.deferred.and_then(|_| W::deferred(&driven.ledger, &driven.totals));
        if self.plan.deferred.is_none() {
            trial.notes.extend(W::skipped(&driven.ledger));
        }
        trial.defects = driven.defects;
        trial.notes.extend(observation.not_observed.iter().map(|what| format!("not observed: {what}")));
        trial.failure = driven.failure.or(server_failure);
        if trial.failure.is_none() && !driven.interrupted {
            trial.failure = nothing_completed(&trial.overall.call_counts);
        }
        trial.state = match (&trial.failure, driven.interrupted) {
            (Some(_), _) => State::Failed,
            (None, true) => State::Interrupted,
            (None, false) => State::Complete,
        };
        // Of several processes none makes all of them.
        let (due, counted) =
            (trial.overall.call_counts.due, self.plan.calls.filter(|_| self.plan.part.is_none()));
        if let Some(calls) = counted.filter(|calls| due < *calls && trial.state == State::Complete) {
            trial
                .notes
                .push(format!("The measured time ended before {calls} calls were made: there were {due}."));
        }
        trial.inputs = W::input_checks(&driven.ledger, &self.databases.size, self.plan.mix.as_ref());
        driven.ledger
    }

    /// Whether all sessions at the engine that are ours are known to be.
    fn knows_its_sessions(&self) -> bool {
        self.url.is_none() && self.subject.speaks_through_ours() && self.part.is_none()
    }

    pub(crate) fn claims_file(
        &self,
        before: W::Evidence,
        claims: W::Claims,
    ) -> ClaimsFile<W::Evidence, W::Claims> {
        ClaimsFile { workload: W::NAME.into(), database: self.databases.place(), before, claims }
    }

    /// How fast the machine is now, where that is asked for.
    fn speed(&self) -> Option<MachineSpeed> {
        let data = self.deployment.places(&self.databases.urls());
        let probing = Probing { ours: self.folder.path(), data: &data };
        self.probes_speed.then(|| probing.speed(&Monotonic::start()))
    }

    /// Bytes of the database now, if it can be looked at.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.databases.bytes().filter(|_| self.audited)
    }

    /// The processes whose cost is that of the trial, but for a server.
    pub(crate) fn watched(&self) -> Vec<Watched> {
        let engines = self.deployment.engines().into_iter();
        let engine = engines.map(|(pid, pid_file)| Watched { role: Role::Engine, pid, pid_file });
        let broker = self.deployment.broker_pid().map(|pid| Watched::of(Role::Broker, pid));
        std::iter::once(Watched::myself(Role::Generator)).chain(engine).chain(broker).collect()
    }
}

/// An engine that is gone: what was measured is kept, and no one can say what it is worth.
pub(crate) fn not_audited(trial: &mut Trial, error: &anyhow::Error) {
    let why = format!("the stored data could not be audited after the run: {error:#}");
    trial.failure.get_or_insert(why);
    trial.state = State::Failed;
}

/// Whether a trial was interrupted before anything was measured that tells something.
pub fn is_empty(trial: &Trial) -> bool {
    trial.state == State::Interrupted && trial.measured_s < judge::rules::SHORTEST_S
}
