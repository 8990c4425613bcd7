//! Poll intervals of relays.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Time from a partial or empty batch to the next poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polling {
    /// The least after a partial batch, and twice as long after each further poll that found nothing, up to the most.
    Adaptive {
        /// The least.
        least: Duration,
        /// The most.
        most: Duration,
    },
    /// Always the same time.
    Fixed(Duration),
}

/// The bounds of [`Polling::Adaptive`] unless others are given.
pub const ADAPTIVE: Polling =
    Polling::Adaptive { least: Duration::from_millis(2), most: Duration::from_millis(500) };

/// The longest time that can be asked for.
const REST_MAX: Duration = Duration::from_secs(60);

impl Polling {
    /// How long to wait after so many consecutive polls that found nothing.
    #[must_use]
    pub fn rest(self, empty_polls: u32) -> Duration {
        match self {
            Polling::Adaptive { least, most } => {
                let doublings = empty_polls.saturating_sub(1).min(16);
                least.saturating_mul(1 << doublings).min(most)
            }
            Polling::Fixed(rest) => rest,
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
        let rest =
            millis.or_else(seconds).filter(|rest| *rest >= Duration::from_millis(1) && *rest <= REST_MAX);
        rest.map(Polling::Fixed).ok_or_else(|| {
            format!("give `adaptive`, or a time of 1ms to {}s such as 500ms", REST_MAX.as_secs())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_get_longer_while_nothing_is_found_and_never_too_long() {
        let millis = |empty_polls| ADAPTIVE.rest(empty_polls).as_millis();
        assert_eq!([0, 1, 2, 3, 8, 9, 10, 99, u32::MAX].map(millis), [2, 2, 4, 8, 256, 500, 500, 500, 500]);
        let fixed: Polling = "500ms".parse().unwrap();
        assert_eq!([fixed.rest(0), fixed.rest(99)], [Duration::from_millis(500); 2]);
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
