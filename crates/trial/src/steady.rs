//! Whether an engine is steady: the log that it writes for a commit has stayed the same for a while.
//!
//! PostgreSQL logs a page whole when it is changed for the first time after a checkpoint, and a trial begins right after one.
//! So the log of a commit is twice as long at first as it is half a minute later, for longer on the slower side of a comparison.

use measure::Monotonic;
use observe::Watch;

/// Readings from which anything can be told: one a second.
const READINGS_MIN: usize = 5;
/// What the log of a commit may differ by between the last two quarters of the work, as a share.
const DIFFERENCE_MAX: f64 = 0.05;
/// How much the log of single commits scatters around its mean, as a share of it: a New-Order writes ten times as much as a
/// Payment.
const SCATTER: f64 = 0.8;
/// Differences below so many standard errors are chance.
const ERRORS: f64 = 2.0;
/// Chance that is more than this excuses nothing: where commits are so few, it takes longer until something can be told.
const CHANCE_MAX: f64 = 0.15;

/// Whether the engine that is watched is steady.
pub(crate) fn is_engine_steady(watch: &Watch<Monotonic>) -> bool {
    is_steady(&watch.engine_counts([&result::LOG_WRITTEN, &["commits"]]))
}

/// Whether the log of a commit was the same in the last two quarters of the work so far. `readings` are running totals, oldest
/// first: bytes of log and commits. None at all are those of an engine that counts neither, and then there is nothing to wait for.
fn is_steady(readings: &[[f64; 2]]) -> bool {
    let (Some([_, first]), Some([_, last])) = (readings.first(), readings.last()) else { return true };
    let quarter = (last - first) / 4.0;
    if readings.len() < READINGS_MIN || quarter < 1.0 {
        return false;
    }
    let [half, three, all] = [2.0, 3.0, 4.0].map(|quarters| log_at(readings, first + quarters * quarter));
    let (before, now) = (three - half, all - three);
    let chance = (ERRORS * SCATTER * (2.0 / quarter).sqrt()).min(CHANCE_MAX);
    (before - now).abs() <= DIFFERENCE_MAX.max(chance) * now
}

/// The bytes of log after so many commits, between two readings on the line from one to the other.
fn log_at(readings: &[[f64; 2]], commits: f64) -> f64 {
    let after = readings.iter().position(|[_, count]| *count >= commits).unwrap_or(readings.len() - 1).max(1);
    let ([log_a, a], [log_b, b]) = (readings[after - 1], readings[after]);
    let share = if b > a { ((commits - a) / (b - a)).clamp(0.0, 1.0) } else { 1.0 };
    log_a + share * (log_b - log_a)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readings of `seconds` seconds with 1,000 commits each, of which one writes `log` bytes at a second.
    fn readings(seconds: u32, log: impl Fn(f64) -> f64) -> Vec<[f64; 2]> {
        let mut sum = 0.0;
        let step = |second: u32| {
            sum += 1_000.0 * log(f64::from(second));
            [sum, 1_000.0 * f64::from(second)]
        };
        // Counters go on from what the load has left.
        (0..=seconds).map(step).map(|[log, commits]| [log + 5e9, commits + 1e6]).collect()
    }

    #[test]
    fn an_engine_is_steady_when_the_log_of_a_commit_stays_the_same() {
        // As measured: 15 kB at first, 7 kB in the end, less by the half in 6 s.
        let decays = |second: f64| 7e3 + 8e3 * (-second / 9.0).exp();
        assert!(!is_steady(&readings(10, decays)) && !is_steady(&readings(20, decays)));
        assert!(is_steady(&readings(60, decays)) && is_steady(&readings(10, |_| 7e3)));
        // A checkpoint has just begun.
        assert!(!is_steady(&readings(20, |second| if second < 16.0 { 7e3 } else { 15e3 })));
    }

    #[test]
    fn an_engine_that_counts_no_log_is_not_waited_for_and_one_of_which_little_is_known_is() {
        assert!(is_steady(&[]));
        assert!(!is_steady(&readings(2, |_| 7e3)) && !is_steady(&[[5e9, 1e6]; 9]));
    }

    #[test]
    fn what_chance_gives_to_few_commits_is_no_difference() {
        // The last quarter writes less by a tenth.
        let less = |a_second: f64| {
            let log = |second: f64| if second <= 9.0 { 7.7e3 } else { 7e3 };
            let readings = readings(12, log).into_iter();
            readings
                .map(|[log, commits]| [log * a_second / 1e3, commits * a_second / 1e3])
                .collect::<Vec<_>>()
        };
        assert!(is_steady(&less(100.0)) && !is_steady(&less(2_000.0)));
        // Chance excuses no half.
        let halved = readings(12, |second| if second <= 9.0 { 14e3 } else { 7e3 }).into_iter();
        assert!(!is_steady(&halved.map(|[log, commits]| [log / 1e3, commits / 1e3]).collect::<Vec<_>>()));
    }
}
