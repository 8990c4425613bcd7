//! What is known of a trial while it runs, as lines that are appended to a file next to its document.
//!
//! A document is written and flushed before a trial and after it. In between nothing of ours may disturb the disk that is
//! measured: a line a slice goes to the system's cache, and what a kill of our process leaves can be read all the same.

use super::{DeclineRise, Demand, Efficiency, Grouping, Headline, KindTally, Slice, State, Tally, Trial};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// Name of the file next to `result.json`.
pub const PROGRESS_FILE: &str = "progress.jsonl";

/// A line of that file: all that a trial has come to but for its time line, of which it has what is new.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress<C> {
    measured_s: f64,
    headline: Headline,
    overall: Tally,
    demand: Option<Demand>,
    kinds: Vec<KindTally>,
    grouping: Option<Grouping>,
    decline_rise: Option<DeclineRise>,
    efficiency: Option<Efficiency>,
    notes: Vec<String>,
    /// Position of the first of `slices` in the time line.
    first_slice: usize,
    slices: Vec<Slice>,
    /// What the calls so far imply about the data, if someone audits it.
    pub claims: Option<C>,
}

impl<C> Progress<C> {
    /// Where a trial stands, with its slices from the one at `first_slice` on.
    pub fn of(trial: &Trial, first_slice: usize, claims: Option<C>) -> Progress<C> {
        Progress {
            measured_s: trial.measured_s,
            headline: trial.headline.clone(),
            overall: trial.overall.clone(),
            demand: trial.demand,
            kinds: trial.kinds.clone(),
            grouping: trial.grouping,
            decline_rise: trial.decline_rise.clone(),
            efficiency: trial.efficiency,
            notes: trial.notes.clone(),
            first_slice,
            slices: trial.slices.get(first_slice..).unwrap_or_default().to_vec(),
            claims,
        }
    }

    fn put_into(self, trial: &mut Trial) {
        trial.measured_s = self.measured_s;
        trial.headline = self.headline;
        trial.overall = self.overall;
        trial.demand = self.demand;
        trial.kinds = self.kinds;
        trial.grouping = self.grouping;
        trial.decline_rise = self.decline_rise;
        trial.efficiency = self.efficiency;
        trial.notes = self.notes;
        trial.slices.truncate(self.first_slice);
        trial.slices.extend(self.slices);
    }
}

/// The claims of the last whole line in `folder`; nothing where there is no such file, or no line with claims.
///
/// # Errors
/// The file is there and cannot be read.
pub fn last_claims<C: DeserializeOwned>(folder: &Path) -> io::Result<Option<C>> {
    let text = lines_of(folder)?;
    let read = |line: &str| serde_json::from_str::<Progress<C>>(line).ok()?.claims;
    Ok(text.lines().rev().find_map(read))
}

/// Brings the trial that runs, if one does, to where the lines in `folder` say that it stood. What was being written when
/// its process was killed is left out.
pub(super) fn bring_up_to_date(trials: &mut [Trial], folder: &Path) -> io::Result<()> {
    let Some(trial) = trials.last_mut().filter(|trial| trial.state == State::Running) else {
        return Ok(());
    };
    let text = lines_of(folder)?;
    let whole = text.lines().map_while(|line| serde_json::from_str::<Progress<IgnoredAny>>(line).ok());
    whole.for_each(|line| line.put_into(trial));
    Ok(())
}

fn lines_of(folder: &Path) -> io::Result<String> {
    match std::fs::read(folder.join(PROGRESS_FILE)) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}
