//! The parts of a run put together: one result, whose stored data is audited once, over what all of them have acknowledged.

use crate::job::{Before, Ended, Job, Measured};
use crate::parts::{PartFile, SharedPlan};
use crate::processes::Throttling;
use crate::reach::{of_server, reach};
use crate::settle::Interval;
use anyhow::{Context, Result, bail};
use deploy::Route;
use measure::Monotonic;
use model::Nanos;
use observe::Observation;
use result::{
    Audit, Check, Data, Document, LoadPart, Moment, PartState, Process, Role, Rule, Severity, State, Suspect,
    Trial,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use targets::{Driven, TrialTarget};

/// Rules about the machine of a load generator, which a result has of one machine only.
const OF_MACHINE: [&str; 3] = ["gap", "noisy-machine", "co-located"];

/// What was given to be put together, one place each.
pub struct PartResults<W: Driven> {
    /// The plan that it is about.
    pub plan: SharedPlan<W>,
    /// How many parts there are.
    pub of: u32,
    pub parts: Vec<PartResult<W>>,
}

/// What is at a place that was given.
pub enum PartResult<W: Driven> {
    /// What a part of the plan has left.
    Counted(Box<PartFile<W, drive::Trial<W>>>),
    /// A part of it that has left nothing.
    Unfinished { part: u32, folder: PathBuf },
    /// A part of another plan.
    Foreign { part: u32, why: String },
}

impl<W: Driven> PartResults<W> {
    /// Takes what is at the places, each a part's file or the folder that it is in.
    ///
    /// # Errors
    /// A place has no part of a run, a part is given twice, or parts disagree on how many they are; none of them has left anything.
    pub fn of(places: &[PathBuf]) -> Result<PartResults<W>> {
        let mut parts: Vec<PartResult<W>> = Vec::new();
        let mut unfinished = Vec::new();
        let mut plan: Option<(SharedPlan<W>, u32)> = None;
        let mut stands_on: Option<String> = None;
        for place in places {
            let file = crate::part_file(place);
            if !file.exists() {
                unfinished.push(
                    named(place)
                        .with_context(|| format!("there is no part of a run at {}", place.display()))?,
                );
                continue;
            }
            let read = crate::read_part::<W>(&file)?;
            match &plan {
                None => plan = Some((read.plan.clone(), read.of)),
                Some((plan, _)) if !is_same(plan, &read.plan)? => {
                    let why = format!("{} is of the plan {}", place.display(), read.plan.id);
                    parts.push(PartResult::Foreign { part: read.part, why });
                    continue;
                }
                Some((_, of)) if *of != read.of => bail!(
                    "{} is part {} of {}, and others are of {of}\nhint: run all parts with the same number behind the slash",
                    place.display(),
                    read.part,
                    read.of
                ),
                Some(_) => {}
            }
            let stack = stood_on(&read.trial.stack);
            match &stands_on {
                None => stands_on = Some(stack),
                Some(first) if *first != stack => {
                    let why = format!("{} ran on {stack}, and others on {first}", place.display());
                    parts.push(PartResult::Foreign { part: read.part, why });
                    continue;
                }
                Some(_) => {}
            }
            let twice = |given: &PartResult<W>| matches!(given, PartResult::Counted(other) if other.part == read.part);
            if parts.iter().any(twice) {
                bail!("part {} is given twice; {} is the second", read.part, place.display());
            }
            parts.push(PartResult::Counted(Box::new(read)));
        }
        let (plan, of) =
            plan.context("none of the parts has left anything: there is nothing to put together")?;
        for (id, part, folder) in unfinished {
            parts.push(match id == plan.id {
                true => PartResult::Unfinished { part, folder },
                false => {
                    let why = format!("{} is of the plan {id}", folder.display());
                    PartResult::Foreign { part, why }
                }
            });
        }
        Ok(PartResults { plan, of, parts })
    }
}

/// Whether two parts have carried out one plan, and not copies of which one was changed.
fn is_same<W: Driven>(one: &SharedPlan<W>, other: &SharedPlan<W>) -> Result<bool> {
    Ok(one.id == other.id && serde_json::to_value(one)? == serde_json::to_value(other)?)
}

/// What calls went through, in words: the same for all parts of a run.
fn stood_on(stack: &result::Stack) -> String {
    let result::Stack {
        engine, engine_version, adapter, adapter_version, server, isolation, durability, ..
    } = stack;
    let server = server.as_deref().unwrap_or("no server");
    format!(
        "{engine} {engine_version} by {adapter} {adapter_version}, {server}, {isolation}, {}",
        durability.detail
    )
}

/// The plan and the number of a part, by the name of its folder.
fn named(folder: &Path) -> Option<(String, u32, PathBuf)> {
    let name = folder.file_name()?.to_str()?;
    let (id, rest) = name.split_once("-part-")?;
    let (part, _) = rest.split_once("-of-")?;
    Some((id.to_owned(), part.parse().ok()?, folder.to_owned()))
}

/// The parts that were put together.
struct Joined<W: Driven> {
    driven: drive::Trial<W>,
    /// What was observed by the first of them, with the load generators of all on its machine.
    observation: Observation,
    /// When the first of them began, and on which data.
    started: Moment,
    data: Data,
    /// Of calls that were looked up while others were made.
    at_once: Vec<Audit>,
    notes: Vec<String>,
    within: Interval,
}

impl<W: Driven> Job<'_, W> {
    /// Puts parts together as one trial, and audits the stored data.
    ///
    /// # Errors
    /// The data, or the server, cannot be reached.
    pub fn merge(&self, given: PartResults<W>, document: &mut Document) -> Result<usize> {
        let PartResults { plan, of, parts } = given;
        let before = Before { conformance: plan.conformance.clone(), audits: plan.audits.clone() };
        let index = self.begin(before, document)?;
        let listed = listed(&parts, of);
        let complete = (1..=of).all(|part| listed.iter().any(|one| one.part == part && one.is_counted()));
        let Joined { mut driven, observation, started, data, at_once, notes, within } = self.joined(parts)?;

        let (target, sessions) = self.target()?;
        let stack = self.stack(&target, sessions);
        if let Some(trial) = document.trials.last_mut() {
            trial.stack = self.stands_on(stack.clone())?;
            // As they were before the calls, and where they were made.
            (trial.started, trial.data) = (started, data);
            let first = listed.iter().find_map(|part| part.host.clone());
            let beside = listed.iter().filter(|part| part.is_counted() && part.host == first).count();
            // What the load generators that are observed together may use.
            trial.plan.generator_threads *= u32::try_from(beside).unwrap_or(1).max(1);
            trial.parts = listed;
            trial.notes.extend(notes);
        }
        let mut progress = self.folder.progress()?;
        self.keep(&driven, document, Some(&plan.before), complete, &mut progress)?;
        progress.discard()?;
        let ended = Monotonic::start();
        let is_sound = driven.failure.is_none();
        let settled = match is_sound && W::is_awaited(self.subject.how.style.name()) {
            true => self.settle(&plan.before, ended, within),
            false => Ok(None),
        };
        // Who asks to stop does not get all that is checked.
        driven.interrupted |= self.interrupt.requested();
        let mut closing = match is_sound && complete && !self.interrupt.requested() {
            true => {
                self.closing(&target, plan.run, 0, driven.totals.call_counts().started, driven.is_in_doubt())
            }
            false => Vec::new(),
        };
        closing.extend(at_once);
        let measured = Measured {
            trial: driven,
            observation,
            stack,
            server_failure: None,
            throttling: Throttling::default(),
        };
        let ended = Ended {
            measured,
            settled,
            at_last: None,
            run: plan.run,
            closing,
            within,
            opened_us: None,
            relayed: None,
            complete,
        };
        let trial = &mut document.trials[index];
        self.finish(trial, ended, Some(&plan.before))?;
        let hosts: BTreeSet<_> = trial.parts.iter().filter_map(|part| part.host.as_deref()).collect();
        if hosts.len() > 1 {
            // The processes are those of one machine, and the calls those of all.
            for process in
                trial.processes.iter_mut().filter(|process| process.roles.contains(&Role::Generator))
            {
                process.cpu_ms_per_1000_committed = None;
            }
        }
        Ok(index)
    }

    /// What the calls went through, to be asked about what they have left behind.
    fn target(&self) -> Result<(TrialTarget<W>, u32)> {
        match (self.subject.route(), self.url) {
            (Route::Http, Some(url)) => {
                let server =
                    reach::<W>(url, Some(self.databases.scale().into()))?.through(self.server.http)?;
                let pool = server.about().pool;
                Ok((of_server(server), pool))
            }
            (Route::Http, None) => {
                bail!("the server that the parts have called is not known\nhint: give --url")
            }
            (Route::Direct, _) => {
                let urls = self.databases.urls();
                Ok((targets::target_over(self.subject.how, &urls, &self.databases.size)?, self.plan.workers))
            }
        }
    }

    fn joined(&self, parts: Vec<PartResult<W>>) -> Result<Joined<W>> {
        let counted = parts.into_iter().filter_map(|part| match part {
            PartResult::Counted(part) => Some(*part),
            PartResult::Unfinished { .. } | PartResult::Foreign { .. } => None,
        });
        let mut counted: Vec<_> = counted.collect();
        counted.sort_by_key(|part| part.part);
        let (mut trials, mut driven, mut opened) = (Vec::new(), Vec::new(), Vec::new());
        for part in counted {
            let from = part.opened_by_database_us();
            let PartFile { part, host, trial, driven: mut counted, .. } = part;
            counted.failure = counted.failure.map(|why| format!("part {part}: {why}"));
            opened.push((from, counted.span));
            driven.push(counted);
            trials.push((part, host, trial));
        }
        let from = opened.iter().map(|(from, _)| *from).min().unwrap_or_default();
        let to = opened.iter().map(|(from, span)| from + micros(*span)).max().unwrap_or_default();
        let driven = drive::Trial::join(driven).context("no part has counted anything")?;
        let notes = notes(&trials);
        let at_once = at_once(&trials);
        let (_, _, first) = trials.first().context("no part has counted anything")?;
        let (started, data) = (first.started.clone(), first.data.clone());
        let observation = observation(trials, driven.span)?;
        let within = Interval { from, to };
        Ok(Joined { driven, observation, started, data, at_once, notes, within })
    }
}

fn micros(span: Nanos) -> i64 {
    (span.0 / 1_000).cast_signed()
}

/// What has become of each part, those included that were not given.
fn listed<W: Driven>(given: &[PartResult<W>], of: u32) -> Vec<LoadPart> {
    let counted = given.iter().filter_map(|part| match part {
        PartResult::Counted(part) => Some(part),
        PartResult::Unfinished { .. } | PartResult::Foreign { .. } => None,
    });
    let first = counted.map(|part| part.opened_by_database_us()).min().unwrap_or_default();
    let millis = |micros: i64| micros as f64 / 1e3;
    let mut listed: Vec<LoadPart> = given
        .iter()
        .map(|part| match part {
            PartResult::Counted(part) => {
                let (state, why) = match &part.trial.failure {
                    Some(why) => (PartState::Failed, Some(why.clone())),
                    None if part.trial.state == State::Interrupted => (PartState::Interrupted, None),
                    None => (PartState::Complete, None),
                };
                let generator =
                    part.trial.processes.iter().find(|process| process.roles.contains(&Role::Generator));
                LoadPart {
                    part: part.part,
                    state,
                    why,
                    host: Some(part.host.clone()),
                    clients: part.trial.plan.clients,
                    due: part.trial.overall.call_counts.due,
                    rate_per_s: part.trial.overall.rate_per_s.value,
                    saturated: is_saturated(&part.trial),
                    generator_cpu_s: generator.map(|process| process.cpu_s()),
                    clock_offset_ms: part.clock.map(|clock| millis(clock.offset_us)),
                    clock_error_ms: part.clock.map(|clock| millis(clock.error_us)),
                    opened_s: Some((part.opened_by_database_us() - first) as f64 / 1e6),
                }
            }
            PartResult::Unfinished { part, folder } => LoadPart {
                part: *part,
                state: PartState::Unfinished,
                why: Some(format!(
                    "{} has no {}: the part was killed or is still running",
                    folder.display(),
                    crate::PART_FILE
                )),
                ..LoadPart::default()
            },
            PartResult::Foreign { part, why } => LoadPart {
                part: *part,
                state: PartState::Foreign,
                why: Some(why.clone()),
                ..LoadPart::default()
            },
        })
        .collect();
    for part in 1..=of {
        if !listed.iter().any(|one| one.part == part && one.state != PartState::Foreign) {
            listed.push(LoadPart { part, state: PartState::Missing, ..LoadPart::default() });
        }
    }
    listed.sort_by_key(|one| (one.part, one.state == PartState::Foreign));
    listed
}

/// Whether the load generator of a part is what limited it.
fn is_saturated(trial: &Trial) -> bool {
    let is_full =
        |rule: &Rule| rule.severity == Severity::Bad && rule.saturated == Some(Suspect::GeneratorCpu);
    trial.rules.iter().any(is_full)
}

/// What parts on other machines than the first one's say of their machines, and what they could not observe.
fn notes(trials: &[(u32, String, Trial)]) -> Vec<String> {
    let Some((_, first, _)) = trials.first() else { return Vec::new() };
    let of = |(part, host, trial): &(u32, String, Trial)| {
        let rules = trial.rules.iter().filter(|rule| {
            host != first
                && OF_MACHINE.contains(&rule.name.as_str())
                && matches!(rule.severity, Severity::Warning | Severity::Bad)
        });
        let unseen = trial.notes.iter().filter(|note| note.starts_with("not observed"));
        let all = rules.map(|rule| &rule.sentence).chain(unseen);
        all.map(|sentence| format!("Part {part} on {host}: {sentence}")).collect::<Vec<_>>()
    };
    trials.iter().flat_map(of).collect()
}

/// The checks of the same name that parts have made, each with the verdict of the worst.
fn at_once(trials: &[(u32, String, Trial)]) -> Vec<Audit> {
    let badness = |check: Check| match check {
        Check::Failed => 3,
        Check::Inconclusive => 2,
        Check::NotRun => 1,
        Check::Passed => 0,
    };
    let mut all: Vec<Audit> = Vec::new();
    for (part, _, trial) in trials {
        for audit in &trial.audits {
            let theirs = Audit { sentence: format!("Part {part}: {}", audit.sentence), ..audit.clone() };
            match all.iter_mut().find(|mine| mine.name == audit.name && mine.family == audit.family) {
                Some(mine) => {
                    mine.sentence = format!("{} {}", mine.sentence, theirs.sentence);
                    mine.violations.extend(theirs.violations);
                    if badness(mine.check) < badness(theirs.check) {
                        mine.check = theirs.check;
                    }
                }
                None => all.push(theirs),
            }
        }
    }
    all
}

/// What the first part observed, with the processes that others on its machine observed besides.
fn observation(trials: Vec<(u32, String, Trial)>, span: Nanos) -> Result<Observation> {
    let mut trials = trials.into_iter();
    let (_, host, mut first) = trials.next().context("no part has observed anything")?;
    let mut processes = first.processes;
    for (_, _, other) in trials.filter(|(_, theirs, _)| *theirs == host) {
        // Pods may have the same numbers; a load generator is its own in any case.
        let is_new = |process: &Process| {
            process.roles.contains(&Role::Generator) || processes.iter().all(|mine| mine.pid != process.pid)
        };
        let more: Vec<_> = other.processes.into_iter().filter(is_new).collect();
        // The first part took these for programs of others.
        let capacity_s = f64::from(first.machine.cores) * span.as_secs_f64();
        if let Some(others) = first.machine.other_load_share.as_mut().filter(|_| capacity_s > 0.0) {
            *others = (*others - more.iter().map(Process::cpu_s).sum::<f64>() / capacity_s).max(0.0);
        }
        processes.extend(more);
    }
    for process in &mut processes {
        process.roles.truncate(1);
    }
    Ok(Observation {
        window_s: span.as_secs_f64(),
        machine: first.machine,
        processes,
        writeback: first.writeback,
        machine_wide: first.machine_wide,
        engine: first.engine,
        disk: first.disk,
        not_observed: Vec::new(),
    })
}
