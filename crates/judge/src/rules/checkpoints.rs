//! What of an engine's write-back the interval held: checkpoints, and the pages that are logged whole after one.

use super::{fine, hint, warning};
use crate::figures;
use result::{Engine, Rule, Trial};

/// The first and the last part of the interval that are compared with each other: a quarter each.
const PARTS: usize = 4;
/// Looks of the engine from which there are such parts.
const STEPS_MIN: usize = 8;
const MEASURE_SEVERAL: &str = "to have two or more in it, use --through-checkpoints, or on a server of your own set its checkpoint_timeout to \
                               less than 2/5 of the measured time";
/// How much more log a commit may write in the first part than in the last one, as a share.
const MORE_MAX: f64 = 0.1;

/// Speaks where the engine counts its checkpoints, as PostgreSQL does.
pub(super) fn checkpoints(trial: &Trial) -> Option<Rule> {
    let engine = trial.engine.as_ref()?;
    let total = |name: &str| engine.gauge(name)?.total;
    let (timed, asked) = (total("checkpoints by time")?, total("checkpoints by wal")?);
    // With several of its own the beginnings are in what is measured; others may have asked for theirs for another reason.
    if timed >= 2.0 {
        return fine(format!("{:.0} checkpoints in the window", timed + asked));
    }
    let number = timed + asked;
    let held = format!("{number:.0} {}", if number == 1.0 { "checkpoint" } else { "checkpoints" });
    let settling = log_a_commit(engine, trial.measured_s);
    if let Some((first, last)) = settling.filter(|(first, last)| *first > last * (1.0 + MORE_MAX)) {
        return warning(
            format!(
                "WAL per commit was {} in the first quarter of the window and {} in the last ({held}): after a checkpoint the first change of a page is logged as a full page, which lowers the rate at first",
                figures::bytes(first as u64),
                figures::bytes(last as u64)
            ),
            "warm up for longer (--warmup-max), until the WAL per commit is stable",
        );
    }
    let sentence = match number {
        0.0 => {
            "no checkpoint occurred in the window: throughput excludes writing back changed pages and the \
                full-page images that follow"
                .to_owned()
        }
        _ => format!("{held}: the rate depends on when it happened"),
    };
    hint(sentence, MEASURE_SEVERAL)
}

/// Bytes of log that a commit wrote in the first and in the last quarter of the interval.
fn log_a_commit(engine: &Engine, measured_s: f64) -> Option<(f64, f64)> {
    let (log, commits) = (engine.gauge("wal written")?, engine.gauge("commits")?);
    let within = |(step, t_s): (usize, &f64)| {
        let inside = *t_s > 0.0 && *t_s <= measured_s;
        inside.then_some(())?;
        Some(((*log.values.get(step)?)?, (*commits.values.get(step)?)?))
    };
    let steps: Vec<(f64, f64)> = engine.t_s.iter().enumerate().filter_map(within).collect();
    if steps.len() < STEPS_MIN {
        return None;
    }
    let part = steps.len() / PARTS;
    let mean = |steps: &[(f64, f64)]| {
        let (log, commits) = steps.iter().fold((0.0, 0.0), |sum, step| (sum.0 + step.0, sum.1 + step.1));
        (commits > 0.0).then(|| log / commits)
    };
    Some((mean(&steps[..part])?, mean(&steps[steps.len() - part..])?))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::{check, counter, is_silent};
    use super::*;
    use result::Severity::{Info, Ok as Fine, Warning};

    /// A trial of a minute whose commits write `first` bytes of log at the beginning and `last` in the end.
    pub(in super::super) fn trial(checkpoints: f64, first: f64, last: f64) -> Trial {
        let mut trial = sample_documents::engine_trial().trials.remove(0);
        let engine = trial.engine.as_mut().unwrap();
        let seconds: Vec<f64> = engine.t_s.iter().map(|t| t.clamp(0.0, 60.0) / 60.0).collect();
        let log = seconds.iter().map(|part| Some(1_000.0 * (first + (last - first) * part))).collect();
        engine.gauges = vec![
            counter("wal written", Some(1e9), log),
            counter("commits", Some(6e4), vec![Some(1_000.0); seconds.len()]),
            counter("checkpoints by time", Some(checkpoints), Vec::new()),
            counter("checkpoints by wal", Some(0.0), Vec::new()),
        ];
        trial
    }

    #[test]
    fn what_the_interval_held_of_checkpoints_is_said() {
        check("checkpoints", &trial(0.0, 7e3, 7e3), Info, "no checkpoint occurred in");
        check("checkpoints", &trial(1.0, 7e3, 7e3), Info, "1 checkpoint: the rate");
        check("checkpoints", &trial(3.0, 7e3, 7e3), Fine, "3 checkpoints in the window");
        check("checkpoints", &trial(2.0, 15.4e3, 7.2e3), Fine, "2 checkpoints in the window");
        // Someone else on the server asked for these.
        let mut asked = trial(0.0, 15.4e3, 7.2e3);
        asked.engine.as_mut().unwrap().gauges[3].total = Some(2.0);
        check("checkpoints", &asked, Warning, "(2 checkpoints)");
        is_silent("checkpoints", &sample_documents::engine_trial().trials[0]);
        is_silent("checkpoints", &sample_documents::trial().trials[0]);
    }
}
