//! Stored runs of a subject over time: what was measured when, with which version, and what changed in between.
//!
//! Runs stand in one series if they are of one subject under one load, on machines with the same processors. Whatever else changes,
//! settings and versions among it, is told at the run where it shows. A search or a sweep is one run, and its value is its answer.

use crate::content;
use crate::csv::Table;
use crate::text::{self, Style};
use judge::{figures, findings};
use measure::rate_interval;
use result::{Axis, Class, Curve, Document, Interval, Moment, ReadError, RunKind, Setting, State, Trial};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Runs over time, and what could not be read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct History {
    /// By subject, then by key.
    pub series: Vec<Series>,
    /// Files that this version cannot read, and searches and sweeps without an answer.
    pub skipped: Vec<Skipped>,
}

/// Runs of one subject under one load, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    pub subject: String,
    /// What sets it apart from the other series of the subject: the fields in which they differ, or all that matter.
    pub key: Vec<(String, String)>,
    /// Of the values: `new orders/min`.
    pub unit: String,
    pub points: Vec<Point>,
}

/// One run, or the trials of one load inside a run of several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// When its first trial was started.
    pub started: Moment,
    pub run: String,
    /// What kind of run it is.
    pub kind: RunKind,
    /// Where it was read.
    #[serde(serialize_with = "displayed")]
    pub path: PathBuf,
    /// The version that measured.
    pub stackmark: String,
    /// What a commit survives, by name.
    pub tier: String,
    /// Trials that the value is the mean of.
    pub trials: usize,
    /// The headline; of several trials their mean, with the interval of the mean.
    pub value: Interval,
    /// 99th percentile of the headline's kind of call in nanoseconds; of several trials the mean of theirs.
    pub p99_ns: Option<f64>,
    /// Whether something makes the result invalid.
    pub invalid: bool,
    /// Whether validation of all that is counted is complete, and nothing speaks against it.
    pub validated: bool,
    /// What became of the audits: `14 of 14 passed`.
    pub audits: String,
    /// What is different from the run before in the series, one sentence each.
    pub changes: Vec<String>,
}

/// A file that was passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    #[serde(serialize_with = "displayed")]
    pub path: PathBuf,
    pub why: String,
}

type Fields = Vec<(String, String)>;

/// One group of trials on its way into a series.
struct SeriesGroup<'a> {
    key: Fields,
    unit: String,
    subject: String,
    point: Point,
    trial: &'a Trial,
}

impl History {
    /// Sorts what was found into series; `subject` keeps those whose subject is it or begins with it and a slash.
    pub fn of(found: Vec<(PathBuf, Result<Document, ReadError>)>, subject: Option<&str>) -> History {
        let (mut skipped, mut read) = (Vec::new(), Vec::new());
        for (path, document) in found {
            match document {
                Ok(document) if document.trials.is_empty() => {
                    skipped.push(Skipped { path, why: findings::empty_sentence(&document) });
                }
                Ok(document) => match without_value(&document) {
                    Some(why) => skipped.push(Skipped { path, why: why.to_owned() }),
                    None => read.push((path, document)),
                },
                Err(error) => skipped.push(Skipped { path, why: chain(&error) }),
            }
        }
        let wanted = |trial: &Trial| {
            subject.is_none_or(|subject| {
                trial
                    .subject
                    .strip_prefix(subject)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let mut groups: Vec<SeriesGroup<'_>> =
            read.iter().flat_map(|(path, document)| groups(path, document, &wanted)).collect();
        groups.sort_by(|a, b| {
            (&a.subject, a.point.started.unix_s, &a.point.run).cmp(&(
                &b.subject,
                b.point.started.unix_s,
                &b.point.run,
            ))
        });
        History { series: series(groups), skipped }
    }

    pub fn text(&self, style: Style) -> String {
        text::print(&content::history::blocks(self), Style { in_full: true, ..style })
    }

    /// One row per run and series. What was skipped is not in it; the caller tells it elsewhere.
    pub fn csv(&self) -> String {
        let mut table = Table::new(
            "subject,series,key,run,run_kind,path,started,unix_s,stackmark,tier,trials,\
             unit,value,low,high,p99_ns,validated,audits,changes",
        );
        for (index, series) in self.series.iter().enumerate() {
            let key: Vec<String> = series.key.iter().map(|(name, value)| format!("{name}={value}")).collect();
            for point in &series.points {
                table.text(&series.subject).number(index + 1).text(&key.join("; ")).text(&point.run);
                table.text(point.kind.word()).text(&point.path.display().to_string());
                table.text(&point.started.utc).number(point.started.unix_s).text(&point.stackmark);
                table.text(&point.tier).number(point.trials).text(&series.unit).number(point.value.value);
                table.maybe(point.value.low).maybe(point.value.high).maybe(point.p99_ns);
                table.text(if point.validated { "yes" } else { "no" }).text(&point.audits);
                table.text(&point.changes.join("; "));
                table.end();
            }
        }
        table.into_text()
    }

    /// As JSON, ending with a newline.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain structs in memory") + "\n"
    }
}

/// A path need not be UTF-8, and a text in JSON is.
fn displayed<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Why a search or a sweep has no value.
fn without_value(document: &Document) -> Option<&str> {
    let answers = document.search.is_some() || document.curve.is_some();
    if answers && document.state != State::Complete {
        return Some("it did not come to its end, so that its answer is not known");
    }
    let search = document.search.as_ref().filter(|search| search.highest_per_s.is_none());
    let curve = document.curve.as_ref().filter(|curve| best(curve).is_none());
    search.map(|search| search.sentence.as_str()).or(curve.map(|curve| curve.sentence.as_str()))
}

/// The highest rate of a curve.
fn best(curve: &Curve) -> Option<Interval> {
    let rates = curve.points.iter().filter_map(|point| point.rate);
    rates.max_by(|a, b| a.value.total_cmp(&b.value))
}

/// What a search or a sweep has found, as one run.
fn answered<'a>(path: &Path, document: &'a Document, trials: &[&'a Trial]) -> Option<SeriesGroup<'a>> {
    let trial = *trials.first()?;
    let (varied, asked, value, unit) = if let Some(search) = &document.search {
        let value = Interval { value: search.highest_per_s?, ..Interval::default() };
        (&["arrivals"][..], ("SLO", search.slo.clone()), value, "calls/s within the SLO".to_owned())
    } else {
        let curve = document.curve.as_ref()?;
        let (varied, axis) = match curve.axis {
            Axis::Clients => (&["clients"][..], "clients"),
            Axis::Rate => (&["arrivals"][..], "rate"),
        };
        let loads: Vec<String> = curve.points.iter().map(|point| figures::trimmed(point.load, 1)).collect();
        (
            varied,
            ("sweep", format!("{axis} {}", loads.join(", "))),
            best(curve)?,
            format!("{} at most", trial.headline.unit),
        )
    };
    let mut key = load(trial);
    key.retain(|(name, _)| !varied.contains(&name.as_str()));
    key.push((asked.0.to_owned(), asked.1));
    let point = Point { value, p99_ns: None, trials: trials.len(), ..point(path, document, trials) };
    Some(SeriesGroup { key, unit, subject: trial.subject.clone(), point, trial })
}

/// The trials of a run by their load: those that agree are repetitions of each other.
fn groups<'a>(path: &Path, document: &'a Document, wanted: &impl Fn(&Trial) -> bool) -> Vec<SeriesGroup<'a>> {
    // What another run has measured is a point of that run.
    let is_stored = |at: usize| {
        let variants = document.experiment.iter().flat_map(|experiment| &experiment.variants);
        variants.filter(|variant| variant.stored).any(|variant| variant.trials.contains(&Some(at)))
    };
    let own = document.trials.iter().enumerate().filter(|(at, _)| !is_stored(*at)).map(|(_, trial)| trial);
    let trials: Vec<&Trial> = own.filter(|trial| wanted(trial)).collect();
    if document.search.is_some() || document.curve.is_some() {
        return answered(path, document, &trials).into_iter().collect();
    }
    // What is compared within one run is no repetition, whatever it differs in.
    let same =
        |a: &Trial, b: &Trial| a.subject == b.subject && load(a) == load(b) && settings(a) == settings(b);
    let mut alike: Vec<Vec<&Trial>> = Vec::new();
    for trial in trials {
        match alike.iter_mut().find(|trials| same(trials[0], trial)) {
            Some(trials) => trials.push(trial),
            None => alike.push(vec![trial]),
        }
    }
    let keyed = |trials: &[&Trial]| {
        let mut key = load(trials[0]);
        let is_other = |other: &Vec<&Trial>| other[0].subject == trials[0].subject && load(other[0]) == key;
        if alike.iter().filter(|other| is_other(other)).count() > 1 {
            key.extend(variant(document, trials[0]).map(|name| ("variant".to_owned(), name.to_owned())));
        }
        key
    };
    let keys: Vec<Fields> = alike.iter().map(|trials| keyed(trials)).collect();
    keys.into_iter()
        .zip(alike)
        .map(|(key, trials)| SeriesGroup {
            key,
            unit: trials[0].headline.unit.clone(),
            subject: trials[0].subject.clone(),
            point: point(path, document, &trials),
            trial: trials[0],
        })
        .collect()
}

/// What the variant of a trial is called.
fn variant<'d>(document: &'d Document, trial: &Trial) -> Option<&'d str> {
    let at = document.trials.iter().position(|other| std::ptr::eq(other, trial))?;
    let variants = document.experiment.iter().flat_map(|experiment| &experiment.variants);
    let of = |variant: &&result::Variant| variant.trials.contains(&Some(at));
    variants.into_iter().find(of).map(|variant| variant.name.as_str())
}

/// How a subject was set up, and on which version of its engine.
fn settings(trial: &Trial) -> (&Vec<Setting>, &str, &str, &str) {
    let stack = &trial.stack;
    (&stack.settings, &stack.style, &stack.route, &stack.engine_version)
}

fn point(path: &Path, document: &Document, trials: &[&Trial]) -> Point {
    let counts = |trial: &&&Trial| !trial.is_invalid() && trial.state != State::Running;
    let sound: Vec<&Trial> = trials.iter().filter(counts).copied().collect();
    // What is invalid is shown as such, not left out.
    let shown = if sound.is_empty() { trials } else { sound.as_slice() };
    let values: Vec<f64> = shown.iter().map(|trial| trial.headline.value.value).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let value = match (shown, rate_interval(&values)) {
        ([only], _) => only.headline.value,
        (_, Some(interval)) => {
            let value = mean(&values);
            Interval {
                value,
                low: Some(value - interval.half_width),
                high: Some(value + interval.half_width),
            }
        }
        _ => Interval { value: mean(&values), low: None, high: None },
    };
    let p99s: Vec<f64> = shown.iter().filter_map(|trial| p99_ns(trial)).map(|p99| p99 as f64).collect();
    Point {
        started: trials[0].started.clone(),
        run: document.id.clone(),
        kind: document.kind,
        path: path.to_owned(),
        stackmark: document.stackmark.clone(),
        tier: trials[0].stack.durability.word().to_owned(),
        trials: shown.len(),
        value,
        p99_ns: (p99s.len() == shown.len()).then(|| mean(&p99s)),
        invalid: sound.is_empty(),
        validated: shown.iter().all(|trial| trial.is_validated()),
        audits: findings::passed_of(trials.iter().flat_map(|trial| &trial.audits).map(|audit| audit.check)),
        changes: Vec::new(),
    }
}

fn p99_ns(trial: &Trial) -> Option<u64> {
    trial.kinds.get(trial.headline_kind())?.tally.latency(Class::Committed)?.response.p99_ns
}

/// What was asked of what. What everybody asks first comes first.
fn load(trial: &Trial) -> Fields {
    let (plan, data, machine) = (&trial.plan, &trial.data, &trial.machine);
    let pair = |name: &str, value: String| (name.to_owned(), value);
    let mut key = vec![
        pair("scale", findings::scale_words(data)),
        pair("clients", plan.clients.to_string()),
        pair("arrivals", plan.arrivals_words()),
        // Numbers of two machines are two courses, however their runs alternate.
        pair("machine", format!("{}, {} cores", machine.cpu, machine.cores)),
        pair("durability", trial.stack.durability.word().to_owned()),
        pair("deferred", if plan.deferred { "yes" } else { "no" }.to_owned()),
    ];
    key.extend(plan.mix_words().map(|mix| pair("mix", mix)));
    key.extend(plan.skew.clone().map(|skew| pair("skew", skew)));
    key.extend(data.parameters.iter().map(|(name, value)| (name.clone(), value.to_string())));
    key.extend(trial.processes.iter().filter_map(|process| {
        let limits = process.limits?;
        let words = format!("cpu {:?}, memory {:?}", limits.cpu, limits.memory_bytes);
        Some((format!("limit of {}", process.roles_words()), words))
    }));
    key
}

/// What else may change from run to run, as name and value.
fn circumstances(group: &SeriesGroup<'_>) -> Fields {
    let (stack, plan, data, machine) =
        (&group.trial.stack, &group.trial.plan, &group.trial.data, &group.trial.machine);
    let none = || NONE.to_owned();
    let fixed = [
        ("stackmark", group.point.stackmark.clone()),
        ("engine", format!("{} {}", stack.engine, stack.engine_version)),
        ("adapter", format!("{} {}", stack.adapter, stack.adapter_version)),
        ("server", stack.server.clone().unwrap_or_else(none)),
        ("memory", figures::plain(&figures::bytes(machine.memory_bytes))),
        ("system", format!("{}, {}", machine.os, machine.kernel)),
        ("isolation", stack.isolation.clone()),
        ("style", stack.style.clone()),
        ("route", stack.route.clone()),
        ("measured", figures::plain(&findings::measured_words(plan))),
        ("warm-up", figures::plain(&figures::seconds(plan.warmup_s))),
        ("generator threads", plan.generator_threads.to_string()),
        ("file system", data.file_system.clone().unwrap_or_else(|| "not known".to_owned())),
        (
            "foreign keys",
            data.references.map_or("not known", |has| if has { "yes" } else { "no" }).to_owned(),
        ),
    ];
    let settings = stack.settings.iter().map(|setting| (setting.name.clone(), setting.value.clone()));
    fixed.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(settings).collect()
}

/// What is said of something that one of two runs does not have.
const NONE: &str = "none";

/// Groups, sorted by subject and time, into series.
fn series(groups: Vec<SeriesGroup<'_>>) -> Vec<Series> {
    let mut sorted: Vec<Vec<SeriesGroup<'_>>> = Vec::new();
    for group in groups {
        let same = |others: &&mut Vec<SeriesGroup<'_>>| {
            let first = &others[0];
            first.subject == group.subject && first.key == group.key && first.unit == group.unit
        };
        match sorted.iter_mut().find(same) {
            Some(others) => others.push(group),
            None => sorted.push(vec![group]),
        }
    }
    sorted.sort_by(|a, b| a[0].subject.cmp(&b[0].subject));
    let shown: Vec<Fields> = sorted.iter().map(|groups| distinctions(groups, &sorted)).collect();
    sorted
        .into_iter()
        .zip(shown)
        .map(|(groups, key)| {
            let changes: Vec<Vec<String>> = std::iter::once(Vec::new())
                .chain(groups.windows(2).map(|pair| changes(&pair[0], &pair[1])))
                .collect();
            Series {
                subject: groups[0].subject.clone(),
                key,
                unit: groups[0].unit.clone(),
                points: groups
                    .into_iter()
                    .zip(changes)
                    .map(|(group, changes)| Point { changes, ..group.point })
                    .collect(),
            }
        })
        .collect()
}

/// What everybody asks first, and the fields in which the series of a subject differ.
fn distinctions(groups: &[SeriesGroup<'_>], all: &[Vec<SeriesGroup<'_>>]) -> Fields {
    const ALWAYS: [&str; 6] = ["scale", "clients", "arrivals", "SLO", "sweep", "variant"];
    let own = &groups[0];
    let others: Vec<&SeriesGroup<'_>> =
        all.iter().map(|groups| &groups[0]).filter(|other| other.subject == own.subject).collect();
    let differs = |field: &(String, String)| others.iter().any(|other| !other.key.contains(field));
    own.key.iter().filter(|field| ALWAYS.contains(&field.0.as_str()) || differs(field)).cloned().collect()
}

fn changes(before: &SeriesGroup<'_>, now: &SeriesGroup<'_>) -> Vec<String> {
    let (before, now) = (circumstances(before), circumstances(now));
    let value = |of: &Fields, name: &str| {
        of.iter().find(|(known, _)| known == name).map_or_else(|| NONE.to_owned(), |(_, value)| value.clone())
    };
    let new = now.iter().filter(|(name, _)| before.iter().all(|(known, _)| known != name));
    let names = before.iter().chain(new).map(|(name, _)| name);
    let differing = names.map(|name| (name, value(&before, name), value(&now, name)));
    differing
        .filter(|(_, before, now)| before != now)
        .map(|(name, before, now)| format!("{name}: {before} → {now}"))
        .collect()
}

/// An error with its sources, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut sentence = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        sentence.push_str(&format!(": {error}"));
        source = error.source();
    }
    sentence
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
