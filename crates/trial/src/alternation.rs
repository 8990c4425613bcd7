//! Several trials at once: subjects make calls in turn, with the sessions that they opened at the beginning. Those with the same engine are on
//! one copy of the data; engines that differ are all up, each with a copy of its own.
//!
//! The speed of a machine wanders within seconds. What alternates faster than that meets the same machine, so that a ratio of
//! two subjects is known several times as well as from trials that follow one another. Each subject keeps accounts of its own;
//! each copy of the data is audited once, against what all subjects on it were answered.

use crate::headline::fill;
use crate::job::{Before, Job, Measured, UNSTEADY, not_audited};
use crate::last_answer::{AtLast, LastAnswer, hold_to};
use crate::lookups::Lookups;
use crate::processes::Throttling;
use crate::reach::{of_server, reach_started};
use crate::reporter::{SliceView, TrialReporter, rate_shown};
use crate::turn_watch::TurnWatch;
use crate::validate;
use anyhow::{Context, Result};
use deploy::{Interrupt, Route, Server, SinkAddress, announce};
use drive::{LoadGenerator, Round, Rounds, Stop};
use measure::Monotonic;
use model::random::Random;
use model::{Clock, Ledger, Nanos, Stack};
use observe::{Watch, Watched};
use result::{Document, LedgerCheck, Role, State, Trial};
use std::sync::Arc;
use targets::{Driven, Sampled, Style, TrialTarget};

/// The first turn of a party begins with this share of the warm-up where another on its engine had one before: the engine is warm by then,
/// and only sessions and servers are not.
const WARM_SHARE: u64 = 4;
/// Calls a client that are made before a turn counts, at the rate of the first turn: plans and caches of an idle session are cold.
const UNCOUNTED_CALLS: f64 = 20.0;
/// The longest that this may take.
const UNCOUNTED_MAX: Nanos = Nanos::from_secs(5);
/// Calls that take longer than this to end after their round hold up the next side, and the report says so.
const DRAIN_NOTED: Nanos = Nanos::from_secs(1);
/// Partial results are written between two turns, this far apart.
const WRITE_EVERY: Nanos = Nanos::from_secs(10);

/// A subject that makes calls in its turns.
struct Party<'j, 'a, W: Driven> {
    job: &'j Job<'a, W>,
    document: &'j mut Document,
    /// Its group, and its number among those of the group that were begun.
    group: usize,
    number: usize,
    stack: Stack,
    /// The number of its run.
    run: u64,
    /// Where the numbers of its workers begin, whose calls are those of further workers of one run.
    first_worker: u32,
    target: Arc<TrialTarget<W>>,
    generator: Box<dyn LoadGenerator<W>>,
    lookups: Option<Lookups<W>>,
    server: Option<Server>,
    uncounted_each: Nanos,
    /// How long it has made calls that are not counted.
    uncounted: Nanos,
    /// The longest that calls took to end after a round.
    drained: Nanos,
    /// All of its rounds so far.
    whole: Option<drive::Trial<W>>,
    /// When each of its windows opened, since the first turn began, and the rate in it.
    rounds: Vec<result::Round>,
    failure: Option<String>,
    /// Whether calls were made of which nothing is known.
    lost: bool,
}

/// The parties on one copy of the data.
struct DataGroup<'j, 'a, W: Driven> {
    /// Its first job.
    first: &'j Job<'a, W>,
    /// The processes whose cost is that of each party.
    watched: Vec<Watched>,
    audited_before: Vec<result::Audit>,
    /// What was stored before the first call.
    before: W::Evidence,
    knowledge: W::Knowledge,
    /// Parties that were begun, and their workers.
    parties: usize,
    workers: u32,
}

/// Runs a trial of each job; those with the same place (0, 1, … in the order of their first) are on the same databases and deployment.
/// The finished trials are the last ones of `documents`. `seed` decides whose turn is when.
///
/// One that cannot be begun, or whose server ends, leaves the others their turns; unless `all` are needed, and one cannot be begun.
///
/// # Errors
/// Of a job, that its trial could not be begun; of all of them, that the data or the processes cannot be looked at.
pub(crate) fn alternate<W: Driven>(
    jobs: &[Job<'_, W>],
    places: &[usize],
    befores: Vec<Before>,
    documents: &mut [Document],
    seed: u64,
    all: bool,
) -> Result<Vec<Result<()>>> {
    let started = measure::unix_nanoseconds();
    let mut errors: Vec<Option<anyhow::Error>> = Vec::with_capacity(jobs.len());
    let mut groups: Vec<DataGroup<'_, '_, W>> = Vec::new();
    let mut parties: Vec<Party<'_, '_, W>> = Vec::with_capacity(jobs.len());
    let jobs_in_places = jobs.iter().zip(places).zip(befores).zip(documents).zip(0..);
    for ((((job, place), given), document), number) in jobs_in_places {
        if *place == groups.len() {
            groups.push(DataGroup::of(job, started, &given)?);
        }
        match Party::open(job, given, document, started + number, *place, &mut groups[*place]) {
            Ok(party) => {
                parties.push(party);
                errors.push(None);
            }
            Err(error) if all => return Err(error),
            Err(error) => errors.push(Some(error)),
        }
    }
    // Sessions of a server that is not ours are told from others' by nothing, whoever's turn it is.
    let ours = jobs.iter().all(|job| job.subject.speaks_through_ours());
    let clock = Monotonic::start();
    let mut watches = Vec::with_capacity(groups.len());
    for (at, group) in groups.iter().enumerate() {
        let own = parties.iter().filter(|party| party.group == at);
        let servers = own.filter_map(|party| party.server.as_ref()).map(Server::pid).map(server);
        watches.push(group.first.watch(group.watched.iter().cloned().chain(servers).collect(), clock)?);
    }
    let first = &jobs[0];
    let rounds = first.plan.rounds.context("its plan has no rounds")?;
    let mut turns = Turns { watches, clock, rounds, written: None, interrupt: first.interrupt };
    let last: Vec<LastAnswer> =
        groups.iter().map(|group| LastAnswer::prepare(&group.first.databases.urls())).collect();
    turns.take(&mut parties, seed)?;
    let at_last = last.into_iter().zip(&groups);
    let at_last = at_last.map(|(last, group)| last.read::<W>(group.first.subject.how.style, true));
    let at_last: Vec<Option<AtLast<W>>> = at_last.collect();

    for (at, ((group, watch), at_last)) in groups.iter().zip(turns.watches).zip(at_last).enumerate() {
        let (own, others) = parties.into_iter().partition(|party| party.group == at);
        parties = others;
        group.finish(own, watch, ours, at_last.as_ref())?;
    }
    Ok(errors.into_iter().map(|error| error.map_or(Ok(()), Err)).collect())
}

impl<'j, 'a, W: Driven> DataGroup<'j, 'a, W> {
    /// That of a job which is the first on its copy of the data, before any call. `run` is the number of the first run.
    fn of(first: &'j Job<'a, W>, run: u64, given: &Before) -> Result<DataGroup<'j, 'a, W>> {
        let before = validate::evidence::<W>(&first.databases.urls())?;
        let knowledge = W::knowledge(&first.databases.size, &first.streams(run), Some(&before));
        let (watched, audited_before) = (first.watched(), given.audits.clone());
        Ok(DataGroup { first, watched, audited_before, before, knowledge, parties: 0, workers: 0 })
    }

    /// Ends its parties, whose processes and engine were watched, and audits its copy of the data. Sessions of a server that is not `ours`
    /// are not told from others'.
    fn finish(
        &self,
        parties: Vec<Party<'j, 'a, W>>,
        watch: Watch<Monotonic>,
        ours: bool,
        at_last: Option<&AtLast<W>>,
    ) -> Result<()> {
        let names: Vec<&str> = parties.iter().map(|party| party.job.what).collect();
        let mut ledger = W::new_ledger(&self.first.databases.size);
        let (mut ended, mut lost) = (Vec::new(), false);
        // Of any of them, since they share the data.
        let in_doubt = |party: &Party<'j, 'a, W>| {
            party.lost || party.whole.as_ref().is_some_and(drive::Trial::is_in_doubt)
        };
        let is_in_doubt = parties.iter().any(in_doubt);
        let shared = self.watched.len();
        let mut servers = shared..;
        for (party, mut observation) in parties.into_iter().zip(watch.stop_each(self.parties)) {
            let own = party.server.as_ref().and_then(|_| servers.next());
            let mut at = 0..;
            if let Some(engine) = observation.engine.as_mut().filter(|_| !ours) {
                engine.other_sessions = None;
            }
            observation.processes.retain(|_| at.next().is_some_and(|at| at < shared || Some(at) == own));
            lost |= party.lost;
            ended.push(party.finish(observation, &mut ledger, is_in_doubt)?);
        }
        // What a round acknowledged that is lost may be stored too.
        let claims = W::claims(&ledger, !lost);
        self.audit(&names, ended, at_last, is_in_doubt, &claims);
        Ok(())
    }

    /// Audits its copy of the data, once for all trials on it, and judges them.
    fn audit(
        &self,
        names: &[&str],
        ended: Vec<EndedTrial<'_, W>>,
        at_last: Option<&AtLast<W>>,
        is_in_doubt: bool,
        claims: &W::Claims,
    ) {
        // The numbers of runs are made of their begins.
        let Some(begin) = ended.iter().map(|ended| ended.run / 1_000_000_000).min() else { return };
        let (first, before) = (self.first, &self.before);
        let clock = Monotonic::start();
        announce(first.reporter, "auditing");
        let mut checked =
            validate::after(first.databases, before, &self.audited_before, begin, claims, first.interrupt);
        if let (Ok(checked), Some(at_last)) = (&mut checked, at_last) {
            hold_to(&mut checked.ledger, W::ledger_checks(before, &at_last.evidence, claims));
            // What is in doubt may be done later.
            if !is_in_doubt {
                checked.audits.extend(at_last.unchanged(&first.databases.urls()));
            }
        }
        let stored = validate::evidence::<W>(&first.databases.urls());
        for EndedTrial { trial, style, run, claims } in ended {
            match checked.as_ref().and_then(|checked| Ok((checked, stored.as_ref()?))) {
                Ok((checked, stored)) => {
                    trial.audits.extend(checked.audits.iter().cloned());
                    trial.ledger = checked.ledger.iter().map(|check| of_all(check, names)).collect();
                    if style.keeps_outbox() {
                        trial.ledger.extend(W::unpublished_checks(style.name(), &[run], &claims, stored));
                    }
                }
                Err(error) => not_audited(trial, error),
            }
            trial.rules = judge::rules::judge(trial);
        }
        first.checked_s.set(clock.now().as_secs_f64());
    }
}

fn server(pid: u32) -> Watched {
    Watched::of(Role::Server, pid)
}

/// A trial whose load has ended.
struct EndedTrial<'j, W: Driven> {
    trial: &'j mut Trial,
    style: Style,
    run: u64,
    /// What its own calls imply about the data.
    claims: W::Claims,
}

/// A check against the answers of all of them, which says so.
fn of_all(check: &LedgerCheck, subjects: &[&str]) -> LedgerCheck {
    let sentence = format!("{} It covers all calls of {}.", check.sentence, subjects.join(", "));
    LedgerCheck { sentence, ..check.clone() }
}

impl<'j, 'a, W: Driven> Party<'j, 'a, W> {
    /// Starts its server, if it has one, and opens its sessions. No call is made. The keys of what is done once are made of the number
    /// of the `run`. Its workers draw their calls as further ones of the same run would, of which those of earlier parties of its `group` are
    /// the first: with the same calls as theirs, what is stored would be as if each had been drawn several times.
    fn open(
        job: &'j Job<'a, W>,
        before: Before,
        document: &'j mut Document,
        run: u64,
        at: usize,
        group: &mut DataGroup<'j, 'a, W>,
    ) -> Result<Party<'j, 'a, W>> {
        job.begin(before, document)?;
        let (urls, size) = (job.databases.urls(), &job.databases.size);
        let (server, target, sessions, spare) = match job.subject.route() {
            Route::Direct => {
                (None, targets::target_over(job.subject.how, &urls, size)?, job.plan.workers, false)
            }
            Route::Http => {
                let server = job.serve(&SinkAddress::Null)?.context("it has no server")?;
                let target = reach_started::<W>(&server, job.databases.scale(), job.server.http)?;
                target.about().admits(job.plan.workers).map_err(anyhow::Error::msg)?;
                let (pool, spare) =
                    (target.about().pool, target.about().admits(job.plan.workers + 1).is_ok());
                (Some(server), of_server(target), pool, spare)
            }
        };
        let stack = job.stack(&target, sessions);
        if let Some(trial) = document.trials.last_mut() {
            trial.stack = job.stands_on(stack.clone())?;
        }
        job.folder.put_document(document)?;
        let (streams, target) = (job.streams(run), Arc::new(target));
        let (inputs, first) = (W::inputs(size, &streams, group.knowledge.clone()), group.workers);
        let inputs = |worker| inputs(first + worker);
        // A slice is a round, so that a rate is of one window.
        let plan = drive::Plan { slice: job.plan.round_measured(), ..job.plan.clone() };
        let lookups = job.lookups(&target, spare);
        let sampled = Sampled::new(&target, lookups.as_ref().map(|lookups| Arc::clone(&lookups.sampler)));
        let generator = W::generator(&plan, sampled, &inputs, Monotonic::start())?;
        let uncounted_each = job.plan.rounds.map_or(Nanos::ZERO, |rounds| rounds.uncounted);
        let number = group.parties;
        group.parties += 1;
        group.workers += job.plan.workers;
        Ok(Party {
            job,
            document,
            group: at,
            number,
            stack,
            run,
            first_worker: first,
            target,
            generator,
            lookups,
            server,
            uncounted_each,
            uncounted: Nanos::ZERO,
            drained: Nanos::ZERO,
            whole: None,
            rounds: Vec::new(),
            failure: None,
            lost: false,
        })
    }

    /// One turn. What keeps it from being a whole one is this party's failure.
    fn turn(&mut self, round: Round, observer: &mut TurnWatch<'_>) {
        let size = &self.job.databases.size;
        observer.server = self.server.take();
        self.lookups.iter_mut().for_each(Lookups::resume);
        observer.lookups = self.lookups.as_ref().map(|lookups| Arc::clone(&lookups.switch));
        let stop = observer.stop.clone();
        let ran = self.generator.round(round, &|| W::new_ledger(size), &stop, observer);
        (self.server, self.failure) = (observer.server.take(), observer.failure.take());
        let drained = observer.closed.map_or(Nanos::ZERO, |closed| observer.clock.now() - closed);
        self.drained = self.drained.max(drained);
        let trial = match ran {
            Ok(trial) => trial,
            Err(error) => {
                self.failure.get_or_insert_with(|| format!("{:#}", anyhow::Error::new(error)));
                self.lost = true;
                return;
            }
        };
        if self.failure.is_none() {
            self.failure = trial.failure.clone().or_else(|| self.backlog(&trial));
        }
        self.uncounted += trial.warmed;
        // Of one that was cut short, what it counted is kept, and its rate is none of a round.
        if trial.span == round.measured {
            let (t_s, rate_per_s) = (observer.opened.as_secs_f64(), trial.headline_rate());
            self.rounds.push(result::Round { t_s, rate_per_s });
        }
        match &mut self.whole {
            Some(whole) => whole.absorb(trial),
            // At a given rate a client makes few calls, and how many it has made is no measure of how warm its session is.
            None if self.job.plan.arrivals.is_open() => self.whole = Some(trial),
            None => {
                let call_counts = trial.totals.call_counts();
                let calls = (call_counts.committed + call_counts.declined).max(1) as f64;
                let each =
                    UNCOUNTED_CALLS * f64::from(self.job.plan.workers) / calls * trial.span.as_secs_f64();
                let longest = UNCOUNTED_MAX.max(self.uncounted_each);
                self.uncounted_each = Nanos((each * 1e9) as u64).clamp(self.uncounted_each, longest);
                self.whole = Some(trial);
            }
        }
    }

    /// Why there is no use in another round, if most calls that were due in the first one had not ended with it: each would take as
    /// long. In a later one that may be a pause of the engine.
    fn backlog(&self, trial: &drive::Trial<W>) -> Option<String> {
        let call_counts = trial.totals.call_counts();
        let ended: u64 = trial.totals.kinds.iter().map(|kind| kind.ended.all()).sum();
        let left = call_counts.due.saturating_sub(ended);
        let is_first = self.whole.is_none() && !trial.interrupted;
        let is_behind = self.job.plan.arrivals.is_open() && is_first && 2 * left > call_counts.due;
        is_behind.then(|| {
            format!(
                "{left} of the {} calls that were due in a round of {:.1} s had not ended with it: the rate is far beyond its capacity; \
                 lower it, or measure whole trials with `--trials`",
                call_counts.due,
                trial.span.as_secs_f64()
            )
        })
    }

    /// Puts what there is so far into its document.
    fn write(&mut self) -> Result<()> {
        let (Some(whole), Some(trial)) = (&self.whole, self.document.trials.last_mut()) else {
            return Ok(());
        };
        fill::<W>(trial, &whole.totals, &whole.slices, whole.span);
        self.job.folder.put_document(self.document)?;
        Ok(())
    }

    /// Closes its sessions, ends its server, and puts everything into its trial; adds what its calls imply about the data to
    /// `ledger`.
    fn finish(
        mut self,
        observation: observe::Observation,
        ledger: &mut W::Ledger,
        is_in_doubt: bool,
    ) -> Result<EndedTrial<'j, W>> {
        if let Err(error) = self.generator.close() {
            self.failure.get_or_insert_with(|| format!("{:#}", anyhow::Error::new(error)));
        }
        let made = self.whole.as_ref().map_or(0, |whole| whole.totals.call_counts().started);
        let is_sound = made > 0 && self.failure.is_none() && !self.job.interrupt.requested();
        let mut closing = if is_sound {
            self.job.closing(&self.target, self.run, self.first_worker, made, is_in_doubt)
        } else {
            Vec::new()
        };
        closing.extend(self.lookups.into_iter().flat_map(Lookups::end));
        drop(self.target);
        let throttling =
            Throttling { server: self.server.as_ref().and_then(Server::throttling), ..Throttling::default() };
        if let Some(Err(error)) = self.server.map(Server::stop) {
            self.failure.get_or_insert_with(|| format!("{error:#}"));
        }
        let trial = self.document.trials.last_mut().context("the trial is pushed before it runs")?;
        let planned = self.job.plan.rounds.map_or(0, |rounds| rounds.number as usize);
        let is_cut = self.failure.is_none() && self.rounds.len() < planned;
        trial.rounds = self.rounds;
        trial.audits.extend(closing);
        if self.drained > DRAIN_NOTED {
            trial.notes.push(format!(
                "calls of a round took up to {:.1} s to end after it: the next turn began later, and they count for this side",
                self.drained.as_secs_f64()
            ));
        }
        let claims = match self.whole {
            Some(whole) => {
                let whole = drive::Trial { interrupted: whole.interrupted || is_cut, ..whole };
                let measured = Measured {
                    trial: whole,
                    observation,
                    stack: self.stack,
                    server_failure: self.failure,
                    throttling,
                };
                let own = self.job.put_measured(trial, measured);
                trial.warmup_s = Some(self.uncounted.as_secs_f64());
                ledger.absorb(&own);
                W::claims(&own, true)
            }
            // It has made no call.
            None => {
                trial.state = if self.failure.is_some() { State::Failed } else { State::Interrupted };
                trial.failure = self.failure;
                W::claims(&W::new_ledger(&self.job.databases.size), true)
            }
        };
        Ok(EndedTrial { trial, style: self.job.subject.how.style, run: self.run, claims })
    }
}

/// Whose turn it is, and what looks on.
struct Turns<'a> {
    /// One of each group.
    watches: Vec<Watch<Monotonic>>,
    clock: Monotonic,
    rounds: Rounds,
    /// When what there was was last written.
    written: Option<Nanos>,
    interrupt: &'a Interrupt,
}

impl Turns<'_> {
    /// All turns, until they are over, the user has asked to stop, or no party is left.
    fn take<W: Driven>(&mut self, parties: &mut [Party<'_, '_, W>], seed: u64) -> Result<()> {
        let Some(job) = parties.first().map(|party| party.job) else { return Ok(()) };
        let names: Vec<&str> = parties.iter().map(|party| party.job.what).collect();
        let name = if names.len() > 3 { format!("{} variants", names.len()) } else { names.join(", ") };
        let mut following = job.reporter.follow(&name);
        let turns = measure::turns(parties.len(), self.rounds.number, seed);
        let measured = job.plan.round_measured();
        let first_ns = self.clock.now();
        let mut began = vec![false; self.watches.len()];
        for (at, party_at) in turns.iter().copied().enumerate() {
            let party = &mut parties[party_at];
            if party.failure.is_some() {
                continue;
            }
            let plan = &party.job.plan;
            let is_first = !std::mem::replace(&mut began[party.group], true);
            let warmup = match (&party.whole, is_first) {
                (None, true) => plan.warmup,
                (None, false) => Nanos(plan.warmup.0 / WARM_SHARE).max(party.uncounted_each),
                (Some(_), _) => party.uncounted_each,
            };
            let longest = if is_first { plan.warmup_longest() } else { warmup };
            // Blocks have seeds that follow each other, and turns of one must not have the calls of turns of the next.
            let seed = Random::stream(plan.seed, &[at as u64]).bits();
            let round = Round { warmup, warmup_max: longest, measured, seed };
            let mut turn = TurnWatch {
                watch: &mut self.watches[party.group],
                clock: self.clock,
                since: first_ns,
                opened: Nanos::ZERO,
                closed: None,
                party: party.number,
                stop: Stop::new(),
                interrupt: self.interrupt,
                server: None,
                failure: None,
                lookups: None,
                unsteady: false,
                waits: is_first && plan.warmup_max > Nanos::ZERO,
            };
            party.turn(round, &mut turn);
            if turn.unsteady
                && let Some(trial) = party.document.trials.last_mut()
            {
                trial.notes.push(UNSTEADY.into());
            }
            self.show(parties, party_at, turns.len() - at - 1, following.as_mut());
            if self.interrupt.requested() {
                break;
            }
            let (now, all) = (self.clock.now(), parties.iter().all(|party| party.whole.is_some()));
            if all && self.written.is_none_or(|written| now - written >= WRITE_EVERY) {
                // Between two turns, so that it takes nothing from either.
                parties.iter_mut().try_for_each(Party::write)?;
                self.written = Some(self.clock.now());
            }
        }
        Ok(())
    }

    /// Shows how far a party is, and how much is left for all of them.
    fn show<W: Driven>(
        &self,
        parties: &[Party<'_, '_, W>],
        at: usize,
        turns_left: usize,
        following: &mut dyn TrialReporter,
    ) {
        let Party { job, group, whole: Some(whole), uncounted_each, .. } = &parties[at] else { return };
        // Stopped before its first slice ended.
        if whole.slices.is_empty() {
            return;
        }
        let (plan, each) = (&job.plan, *uncounted_each + job.plan.round_measured());
        let (rate_unit, rate_seconds) = rate_shown::<W>(plan);
        following.slice(&SliceView {
            what: job.what,
            subject: job.subject,
            plan,
            kinds: W::KINDS,
            rate_unit,
            rate_seconds,
            slices: &whole.slices,
            totals: &whole.totals,
            warmup: whole.uncounted,
            call_counts: &whole.totals.call_counts(),
            away: false,
            window: whole.span,
            left: Nanos(each.0 * turns_left as u64),
            usage: self.watches[*group].usage(),
        });
    }
}
