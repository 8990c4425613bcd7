//! Time that is missing from the window.

use super::{bad, fine, note, warning, whole_percent};
use crate::{engine_findings, figures};
use result::{Gap, GapKind, Rule, Trial};

/// Missing time from which the rate is none, where it is a share of the interval worth speaking of as well. Less of it is
/// what a crowded virtual machine does now and then.
const MISSING_MIN_S: f64 = 1.0;
/// That share.
const MISSING_MIN: f64 = 0.05;

/// Share of the interval without a completed call that is worth a warning, and a time that always is.
const SILENT_MIN: f64 = 0.05;
const SILENT_MIN_S: f64 = 1.0;

/// Whether calls completed all the time.
pub(super) fn silence(trial: &Trial) -> Option<Rule> {
    let found = trial.silence?;
    let longest = figures::seconds(found.longest_s);
    let share = found.total_s / trial.measured_s;
    // What an outage or a gap has already told is not told twice; and in stages of different rates calls are further apart in some.
    let is_told = !trial.outages.is_empty() || !trial.gaps.is_empty() || !trial.stages.is_empty();
    let is_long = found.longest_s >= found.long_s;
    if is_told || !is_long || (share < SILENT_MIN && found.longest_s < SILENT_MIN_S) {
        return fine(format!("the longest time without a completed call was {longest}"));
    }
    warning(
        format!(
            "no call completed for {longest}, from {} on, and for {} in all ({} of the window): the mean throughput hides this",
            figures::seconds(found.from_s),
            figures::seconds(found.total_s),
            whole_percent(share.min(1.0)),
        ),
        "check what all calls waited for: garbage collection, a checkpoint, a lock, a stalled disk",
    )
}

/// Whether the load generator and its machine ran all the time.
pub(super) fn gap(trial: &Trial) -> Option<Rule> {
    if trial.gaps.is_empty() {
        return None;
    }
    let found = engine_findings::gaps(trial).join("; ");
    let missing_s: f64 = trial.gaps.iter().map(|gap| gap.missing_s(trial.measured_s)).sum();
    if missing_s <= 0.0 {
        // A time of day that was set, and what was lost in the warm-up: durations are clocked by another clock.
        return note(format!("{found}; the window is not affected"));
    }
    let slept = trial
        .gaps
        .iter()
        .any(|gap: &Gap| gap.kind == GapKind::Suspended && gap.missing_s(trial.measured_s) > 0.0);
    let share = missing_s / trial.measured_s;
    if slept || (missing_s >= MISSING_MIN_S && share >= MISSING_MIN) {
        return bad(
            format!("{found}: nothing ran during part of the window: invalid result"),
            "run again without suspending the machine or the process",
        );
    }
    warning(
        format!(
            "{found}: {} of the measured time is missing ({}), and calls in flight took that much longer",
            whole_percent(share.min(1.0)),
            figures::seconds(missing_s)
        ),
        "run again, and see whether the machine is shared with others",
    )
}
