//! Sample results over time.

use model::random::Random;
use result::{Document, Headline, Interval, Moment, ReadError, RunKind};
use std::path::PathBuf;

/// When the first of them ran.
const FIRST_UNIX_S: u64 = 1_790_000_000;
const DAY_S: u64 = 86_400;

/// A file and what is in it.
pub type HistoryFile = (PathBuf, Result<Document, ReadError>);

/// What a folder holds after a month: courses of two subjects with new versions, another machine, an invalid run, a comparison,
/// one that wavers, and files that are not results.
pub fn history() -> Vec<HistoryFile> {
    let mut random = Random::stream(7, &[]);
    let mut found: Vec<HistoryFile> = Vec::new();
    for run in 0..24_u64 {
        let mut document = crate::trial();
        // A slow noon, and a change for the better with the engine's new version.
        let pace = if run < 15 { 1.0 } else { 1.09 };
        headline(&mut document, pace * (0.97 + 0.06 * random.unit()), 0.015);
        if run >= 15 {
            document.trials[0].stack.engine_version = "3.52.0".to_owned();
        }
        if run >= 19 {
            document.stackmark = "0.2.0".to_owned();
        }
        if run == 11 {
            document.trials = crate::failed_trial().trials;
            headline(&mut document, 0.31, 0.1);
        }
        found.push(at(document, "direct", run * DAY_S + 3_600 * (run % 5)));
    }
    for run in 0..5_u64 {
        let mut document = crate::trial();
        headline(&mut document, 3.2 + 0.1 * random.unit(), 0.01);
        (document.trials[0].machine.cpu, document.trials[0].machine.cores) = ("Ampere Altra".to_owned(), 64);
        found.push(at(document, "altra", (2 * run + 3) * DAY_S));
    }
    for run in 0..3_u64 {
        let mut document = crate::engine_trial();
        // Few seconds, of which one says nothing about the other: an interval wider than the picture.
        headline(&mut document, 1.0 + 0.2 * random.unit(), if run == 1 { 6.0 } else { 0.2 });
        found.push(at(document, "engine", run * 1_200));
    }
    found.push(at(crate::comparison(), "comparison", 9 * DAY_S));
    let path = PathBuf::from("results/20250101-000000-old/result.json");
    let other = result::parse(r#"{"schema": "stackmark-result/99"}"#, &path);
    found.push((path, other));
    found.push(at(crate::running(), "running", 30 * DAY_S));
    found
}

/// A run an hour for weeks.
pub fn long_history() -> Vec<HistoryFile> {
    let mut random = Random::stream(11, &[]);
    let found = (0..400_u32).map(|run| {
        let mut document = crate::trial();
        let season = 0.05 * (f64::from(run) / 40.0).sin();
        headline(&mut document, 1.0 + season + 0.03 * random.unit(), 0.02);
        if run % 130 == 129 {
            document.trials[0].rules = crate::failed_trial().trials[0].rules.clone();
            document.trials[0].audits = crate::failed_trial().trials[0].audits.clone();
        }
        at(document, "hourly", u64::from(run) * 3_600)
    });
    found.collect()
}

pub fn short_history() -> Vec<HistoryFile> {
    vec![at(crate::trial(), "only", 0)]
}

fn headline(document: &mut Document, pace: f64, half: f64) {
    let Some(trial) = document.trials.first_mut() else { return };
    let value = trial.headline.value.value * pace;
    let interval =
        Interval { value, low: Some((value * (1.0 - half)).max(0.0)), high: Some(value * (1.0 + half)) };
    trial.headline = Headline { value: interval, ..trial.headline.clone() };
}

fn at(mut document: Document, name: &str, later_s: u64) -> HistoryFile {
    let started = Moment::from_unix(FIRST_UNIX_S + later_s);
    document.id = format!("{name}-{later_s}");
    for trial in &mut document.trials {
        trial.started = started.clone();
    }
    if document.kind == RunKind::Trial {
        document.started = started;
    }
    (PathBuf::from(format!("results/{}/result.json", document.id)), Ok(document))
}
