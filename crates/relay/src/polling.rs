//! Poll intervals of relays.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Time from a partial or empty batch to the next poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polling {
    /// Between two bounds, see [`Polling::step`].
    Adaptive { least: Duration, most: Duration },
    /// Always the same time.
    Fixed(Duration),
}

/// The bounds of [`Polling::Adaptive`] unless others are given.
pub const ADAPTIVE: Polling =
    Polling::Adaptive { least: Duration::from_millis(2), most: Duration::from_millis(500) };

/// From so many rows on a batch is large: what it costs by itself is small compared with what its rows cost.
const LARGE_BATCH: u64 = 32;
/// The step of small batches: 8 ms with [`ADAPTIVE`].
const SMALL_STEP_MAX: u32 = 2;
/// The longest time that can be asked for.
const WAIT_MAX: Duration = Duration::from_secs(60);

impl Polling {
    /// The step of an adaptive wait after the poll that followed `last` has found so many rows: 0 while batches have 32 rows or
    /// more, up to 2 while they have fewer, and more with each poll that finds nothing.
    pub fn step(last: u32, rows: u64) -> u32 {
        match rows {
            0 => last.saturating_add(1),
            1..LARGE_BATCH => (last + 1).min(SMALL_STEP_MAX),
            _ => 0,
        }
    }

    /// How long to wait at a step: twice as long as at the one before.
    #[must_use]
    pub fn wait(self, step: u32) -> Duration {
        match self {
            Polling::Adaptive { least, most } => least.saturating_mul(1 << step.min(16)).min(most),
            Polling::Fixed(wait) => wait,
        }
    }
}

impl fmt::Display for Polling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Polling::Adaptive { .. } => f.write_str("adaptive"),
            Polling::Fixed(rest) => write!(f, "{}ms", rest.as_millis()),
        }
    }
}

impl FromStr for Polling {
    type Err = String;

    fn from_str(text: &str) -> Result<Polling, String> {
        if text == "adaptive" {
            return Ok(ADAPTIVE);
        }
        let millis =
            text.strip_suffix("ms").and_then(|number| number.parse::<u64>().ok()).map(Duration::from_millis);
        let seconds =
            || text.strip_suffix('s').and_then(|number| number.parse::<u64>().ok()).map(Duration::from_secs);
        let wait =
            millis.or_else(seconds).filter(|wait| *wait >= Duration::from_millis(1) && *wait <= WAIT_MAX);
        wait.map(Polling::Fixed).ok_or_else(|| {
            format!("give `adaptive`, or a time of 1ms to {}s such as 500ms", WAIT_MAX.as_secs())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_get_longer_while_batches_are_small_or_empty_and_never_too_long() {
        let mut step = 0;
        let mut waits = |rows: &[u64]| {
            let each = rows.iter().map(|rows| {
                step = Polling::step(step, *rows);
                ADAPTIVE.wait(step).as_millis()
            });
            each.collect::<Vec<_>>()
        };
        assert_eq!(waits(&[500, 32, 31, 1, 1, 200]), [2, 2, 4, 8, 8, 2]);
        assert_eq!(waits(&[0; 10]), [4, 8, 16, 32, 64, 128, 256, 500, 500, 500]);
        assert_eq!(waits(&[1, 0, 60]), [8, 16, 2]);
        assert_eq!(ADAPTIVE.wait(u32::MAX), Duration::from_millis(500));
        let fixed: Polling = "500ms".parse().unwrap();
        assert_eq!([fixed.wait(0), fixed.wait(99)], [Duration::from_millis(500); 2]);
    }

    #[test]
    fn what_is_written_is_read_again_and_what_makes_no_sense_is_refused() {
        for text in ["adaptive", "500ms", "2000ms", "1ms"] {
            assert_eq!(text.parse::<Polling>().unwrap().to_string(), text);
        }
        assert_eq!("2s".parse::<Polling>().unwrap().to_string(), "2000ms");
        for text in ["", "often", "0ms", "-1ms", "61s", "5", "ms"] {
            assert!(text.parse::<Polling>().unwrap_err().contains("adaptive"), "{text}");
        }
    }
}
