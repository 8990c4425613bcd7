//! A run whose calls several processes make: what they agree upon before, and what each of them leaves for the others.

use crate::job::{Before, Job};
use admin::SnapshotReader;
use anyhow::{Context, Result, bail};
use deploy::SinkAddress;
use result::{Audit, Check, Conformance, Document};
use serde::{Deserialize, Serialize};
use sql::DbUrl;
use std::fs;
use std::path::{Path, PathBuf};
use targets::Driven;

/// Format of a plan that processes share.
const PLAN_SCHEMA: &str = "stackmark-plan/1";
/// Format of what one of them leaves.
const PART_SCHEMA: &str = "stackmark-part/1";
/// What it is called in the folder of the process.
pub const PART_FILE: &str = "part.json";
/// How often a database is asked for its time.
const ASKED: usize = 15;

/// What the processes of one run agree upon before any of them makes a call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "", deserialize = ""), deny_unknown_fields)]
pub struct SharedPlan<W: Driven> {
    pub schema: String,
    /// Tells it from every other one.
    pub id: String,
    /// Version of the program that wrote it, which all parts must have.
    pub stackmark: String,
    pub subject: String,
    /// The size of the data.
    pub size: W::Extent,
    /// Checksum of the loaded rows; nothing where another tool has loaded them.
    pub checksum: Option<String>,
    /// What the load generators do, all together.
    pub plan: drive::Plan,
    /// How calls reach a server.
    pub http: model::HttpOptions,
    /// The number of the run, which keys are made of.
    pub run: u64,
    /// What was stored before the first call.
    pub before: W::Evidence,
    /// What was found in the data then.
    pub audits: Vec<Audit>,
    pub conformance: Conformance,
}

/// What can be read of a file of either kind whose workload is not known yet.
#[derive(Debug, Clone, Deserialize)]
pub struct SharedHead {
    /// Of the plan.
    pub id: String,
    pub subject: String,
    stackmark: String,
}

/// What one process has counted: `driven` is a [`drive::Trial`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "D: Serialize", deserialize = "D: Deserialize<'de>"), deny_unknown_fields)]
pub struct PartFile<W: Driven, D> {
    pub schema: String,
    pub plan: SharedPlan<W>,
    /// Which part this is, from 1.
    pub part: u32,
    /// How many there are.
    pub of: u32,
    /// Name of the machine.
    pub host: String,
    pub clock: Option<ClockOffset>,
    /// When its window opened, in microseconds of Unix time by its own clock.
    pub opened_us: i64,
    /// What was observed.
    pub trial: result::Trial,
    pub driven: D,
}

/// How a database's clock differs from that of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockOffset {
    /// The database's minus ours, in microseconds.
    pub offset_us: i64,
    /// Half of the shortest round trip: how far off that may be.
    pub error_us: i64,
}

/// Which part of a run a process makes, and when.
#[derive(Debug, Clone, Copy)]
pub struct Seat {
    /// From 1.
    pub part: u32,
    pub of: u32,
    pub clock: Option<ClockOffset>,
}

// Derived, it would ask for workloads that can be cloned.
impl<W: Driven> Clone for SharedPlan<W> {
    fn clone(&self) -> SharedPlan<W> {
        SharedPlan {
            schema: self.schema.clone(),
            id: self.id.clone(),
            stackmark: self.stackmark.clone(),
            subject: self.subject.clone(),
            size: self.size.clone(),
            checksum: self.checksum.clone(),
            plan: self.plan.clone(),
            http: self.http,
            run: self.run,
            before: self.before.clone(),
            audits: self.audits.clone(),
            conformance: self.conformance.clone(),
        }
    }
}

impl<W: Driven> SharedPlan<W> {
    /// Reads one.
    ///
    /// # Errors
    /// The file cannot be read, or another version has written it, or it is of another workload.
    pub fn read(path: &Path) -> Result<SharedPlan<W>> {
        head(path)?;
        let text = text_of(path)?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is not a plan for parts of a run", path.display()))
    }
}

/// What a plan, or what a part has left, is about.
///
/// # Errors
/// The file cannot be read, is neither of the two, or another version has written it.
pub fn head(path: &Path) -> Result<SharedHead> {
    #[derive(Deserialize)]
    struct Part {
        plan: SharedHead,
    }
    #[derive(Deserialize)]
    struct Schema {
        schema: String,
    }
    let text = text_of(path)?;
    let what = || format!("{} is neither a plan for parts of a run nor what a part has left", path.display());
    let Schema { schema } = serde_json::from_str(&text).with_context(what)?;
    let head: SharedHead = match schema.as_str() {
        PLAN_SCHEMA => serde_json::from_str(&text).with_context(what)?,
        PART_SCHEMA => serde_json::from_str::<Part>(&text).with_context(what)?.plan,
        _ => bail!(
            "{} is in the format `{schema}`; expected `{PLAN_SCHEMA}` or `{PART_SCHEMA}`",
            path.display()
        ),
    };
    if head.stackmark != env!("CARGO_PKG_VERSION") {
        bail!(
            "{} is of Stackmark {}, and this is {}\nhint: all parts of a run need the same version",
            path.display(),
            head.stackmark,
            env!("CARGO_PKG_VERSION")
        );
    }
    Ok(head)
}

fn text_of(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))
}

/// The file of a part at a place that a user names: the folder of the part, or the file itself.
pub fn part_file(place: &Path) -> PathBuf {
    if place.is_dir() { place.join(PART_FILE) } else { place.to_owned() }
}

/// What a part has left.
///
/// # Errors
/// As [`SharedPlan::read`].
pub fn read_part<W: Driven>(path: &Path) -> Result<PartFile<W, drive::Trial<W>>> {
    head(path)?;
    let text = text_of(path)?;
    let what = || format!("{} is not what a part of a run has left", path.display());
    let read: PartFile<W, drive::Trial<W>> = serde_json::from_str(&text).with_context(what)?;
    read.validate().with_context(what)?;
    Ok(read)
}

/// Microseconds: a century.
const CENTURY_US: i64 = 100 * 365 * 86_400 * 1_000_000;

impl<W: Driven> PartFile<W, drive::Trial<W>> {
    /// When its window opened, in microseconds of Unix time by the clock of the database, or by its own where that has none.
    pub(crate) fn opened_by_database_us(&self) -> i64 {
        self.opened_us + self.clock.map_or(0, |clock| clock.offset_us)
    }

    /// Finds what no part writes: files are handed from machine to machine.
    fn validate(&self) -> Result<()> {
        let PartFile { plan, part, of, clock, opened_us, trial, driven, .. } = self;
        plan.plan.validate(W::KINDS)?;
        plan.plan.part(part.wrapping_sub(1), *of)?;
        let longest = plan.plan.warmup + plan.plan.measured;
        let clock_is_sane = clock.is_none_or(|clock| {
            clock.offset_us.abs() < CENTURY_US && (0..CENTURY_US).contains(&clock.error_us)
        });
        let is_sane = clock_is_sane
            && (0..2 * CENTURY_US).contains(opened_us)
            && driven.span <= longest
            && driven.warmed <= longest
            && driven.totals.kinds.len() == W::KINDS.len()
            && driven.totals.facets.len() == W::FACETS.len()
            && driven.slices.iter().all(|slice| slice.kinds.len() == W::KINDS.len())
            && driven.slices.iter().zip(0..).all(|(slice, index)| slice.index == index)
            && trial.processes.iter().all(|process| !process.roles.is_empty());
        if !is_sane {
            bail!("its counts are not those of {}", W::NAME);
        }
        Ok(())
    }
}

impl ClockOffset {
    /// Asks a database for its time; nothing where it is a file, which has none.
    ///
    /// # Errors
    /// The database does not answer.
    pub fn of(url: &DbUrl) -> Result<Option<ClockOffset>> {
        let Some(query) = url.dialect().now_us() else { return Ok(None) };
        let now = || i64::try_from(measure::unix_nanoseconds() / 1_000).unwrap_or(i64::MAX);
        let mut conn = SnapshotReader::open(url)?;
        let mut best: Option<ClockOffset> = None;
        for _ in 0..ASKED {
            let asked = now();
            let rows = conn.rows(query)?;
            let answered = now();
            let theirs = rows.first().and_then(|row| row.first()).and_then(sql::Value::int);
            let theirs = theirs.context("the database did not say its time")?;
            let error_us = ((answered - asked) / 2).max(0);
            if best.is_none_or(|best| error_us < best.error_us) {
                best = Some(ClockOffset { offset_us: theirs - (asked + error_us), error_us });
            }
        }
        Ok(best)
    }
}

impl ClockOffset {
    /// The same after the load, by both measurements: what they differ by is not known of the time between them.
    fn again(self, url: Option<&DbUrl>) -> ClockOffset {
        let Some(Ok(Some(later))) = url.map(ClockOffset::of) else { return self };
        let drift = later.offset_us.abs_diff(self.offset_us).try_into().unwrap_or(i64::MAX);
        ClockOffset {
            offset_us: later.offset_us,
            error_us: self.error_us.max(later.error_us).saturating_add(drift),
        }
    }
}

impl<W: Driven> Job<'_, W> {
    /// What the processes of this run are to agree upon.
    ///
    /// # Errors
    /// The data cannot be read.
    pub fn shared_plan(&self, before: Before) -> Result<SharedPlan<W>> {
        let run = measure::unix_nanoseconds();
        Ok(SharedPlan {
            schema: PLAN_SCHEMA.into(),
            id: format!("{run:016x}"),
            stackmark: env!("CARGO_PKG_VERSION").into(),
            subject: self.subject.path.into(),
            size: self.databases.size.clone(),
            checksum: self.databases.checksum(),
            // Parts do not know how long the others warm up.
            plan: drive::Plan { warmup_max: model::Nanos::ZERO, ..self.plan.clone() },
            http: self.server.http,
            run,
            before: crate::validate::evidence::<W>(&self.databases.urls())?,
            audits: before.audits,
            conformance: before.conformance,
        })
    }

    /// Makes the calls of one part of a run, and leaves what they came to in the folder. The stored data is audited by whoever puts the
    /// parts together.
    ///
    /// # Errors
    /// No call was made, or what they came to cannot be written.
    pub fn part(&self, plan: SharedPlan<W>, seat: Seat, document: &mut Document) -> Result<usize> {
        let Seat { part, of, clock } = seat;
        let before = Before { conformance: plan.conformance.clone(), audits: Vec::new() };
        let index = self.begin(before, document)?;
        let mut ended = self.load(self.watched(), &SinkAddress::Null, document, Some(&plan.before))?;
        let counted = &mut ended.measured.trial;
        if counted.interrupted && counted.uncounted.started + counted.totals.call_counts().started == 0 {
            bail!("interrupted before a call was made");
        }
        if let Some(at_last) = &ended.at_last {
            let early = W::ledger_checks(&plan.before, &at_last.evidence, &W::claims(&counted.ledger, false));
            let early = early.into_iter().find(|check| check.check == Check::Failed);
            let why = early.map(|check| {
                format!(
                    "calls were acknowledged before they were stored; when the last one had been answered: {}",
                    check.sentence
                )
            });
            counted.failure = counted.failure.take().or(why);
        }
        let clock = clock.map(|clock| clock.again(self.databases.urls().first()));
        let driven =
            serde_json::to_value(&ended.measured.trial).context("could not write down what was counted")?;
        let trial = &mut document.trials[index];
        let opened_us = ended.opened_us.unwrap_or(ended.within.from);
        self.put_measured(trial, ended.measured);
        trial.audits.extend(ended.closing);
        trial.notes.push(format!(
            "This is part {part} of {of} of a run; `stackmark merge` puts the parts together and audits the stored data."
        ));
        trial.rules = judge::rules::judge(trial);
        let file = PartFile {
            schema: PART_SCHEMA.into(),
            plan,
            part,
            of,
            host: host(),
            clock,
            opened_us,
            trial: trial.clone(),
            driven,
        };
        self.folder.put(PART_FILE, &serde_json::to_vec(&file)?)?;
        Ok(index)
    }
}

/// The name of this machine.
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
