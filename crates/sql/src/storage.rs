//! Storage that is slower than what the machine has: a network file system, or a disk with a longer way to it.

use std::fmt;
use std::time::Duration;

/// What storage adds to that of the machine. Nothing by default.
///
/// Latency only: what is written is as large, and as safe, as without. A write waits for nothing by itself, as on a
/// network file system whose client keeps writes until they are flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Storage {
    /// Added to each flush of a file or a folder.
    pub sync: Duration,
    /// Added to each request for a lock that asks the system for more than is held, granted or not.
    pub lock: Duration,
    /// Added to each read of a file; what is in a cache of the engine is not read.
    pub read: Duration,
    /// Whether processes can share memory through a file, as a write-ahead log needs it. Network file systems cannot.
    pub shared_memory: bool,
    /// Whether it is recorded what a power cut would lose, for drills: each write is then read, noted and made under a lock.
    pub power_cut: bool,
}

/// The longest latency that can be added.
const DELAY_MAX: Duration = Duration::from_secs(10);

impl Storage {
    /// The machine's own, to which nothing is added.
    pub const AS_IT_IS: Storage = Storage {
        sync: Duration::ZERO,
        lock: Duration::ZERO,
        read: Duration::ZERO,
        shared_memory: true,
        power_cut: false,
    };

    /// Whether anything is added or forbidden.
    pub fn is_slow(&self) -> bool {
        *self != Storage::AS_IT_IS
    }

    fn delays(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        let all = [("sync", self.sync), ("lock", self.lock), ("read", self.read)];
        all.into_iter().filter(|(_, delay)| !delay.is_zero())
    }

    /// As options of a URL, each with a `&` before it; empty where nothing is added.
    pub(crate) fn options(&self) -> String {
        let delays = self.delays().map(|(name, delay)| format!("&{name}_delay={}", Delay(delay, "")));
        let single = (!self.shared_memory).then(|| "&shared_memory=off".to_owned());
        let recorded = self.power_cut.then(|| "&power_cut=on".to_owned());
        delays.chain(single).chain(recorded).collect()
    }
}

impl Default for Storage {
    fn default() -> Storage {
        Storage::AS_IT_IS
    }
}

/// `sync +5 ms, lock +2 ms, no shared memory`; `as it is`.
impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let delays = self.delays().map(|(name, delay)| format!("{name} +{}", Delay(delay, " ")));
        let single = (!self.shared_memory).then(|| "no shared memory".to_owned());
        let recorded = self.power_cut.then(|| "what is not flushed is recorded".to_owned());
        let parts: Vec<String> = delays.chain(single).chain(recorded).collect();
        if parts.is_empty() { f.write_str("as it is") } else { f.write_str(&parts.join(", ")) }
    }
}

/// A delay in the largest unit in which it is whole, and what stands before the unit.
struct Delay(Duration, &'static str);

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        let (count, unit) = match micros {
            _ if micros.is_multiple_of(1_000_000) => (micros / 1_000_000, "s"),
            _ if micros.is_multiple_of(1_000) => (micros / 1_000, "ms"),
            _ => (micros, "us"),
        };
        write!(f, "{count}{}{unit}", self.1)
    }
}

/// A delay such as `5ms`, `500us` or `0`, in whole microseconds.
pub(crate) fn delay(key: &str, value: &str) -> Result<Duration, String> {
    let digits = value.trim_end_matches(|c: char| !c.is_ascii_digit());
    let micros = match &value[digits.len()..] {
        "us" | "µs" => Some(1),
        "ms" => Some(1_000),
        "s" => Some(1_000_000),
        "" if value == "0" => Some(0),
        _ => None,
    };
    micros
        .and_then(|micros| digits.parse::<u64>().ok()?.checked_mul(micros))
        .map(Duration::from_micros)
        .filter(|delay| *delay <= DELAY_MAX)
        .ok_or_else(|| format!("{key} is a time from 0 to 10s such as 5ms or 500us, not `{value}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_has_a_unit_and_a_limit() {
        let check = |value: &str, micros: Option<u64>| {
            assert_eq!(delay("sync_delay", value).ok(), micros.map(Duration::from_micros), "{value}");
        };
        check("5ms", Some(5_000));
        check("500us", Some(500));
        check("500µs", Some(500));
        check("10s", Some(10_000_000));
        check("0", Some(0));
        for wrong in ["5", "11s", "-1ms", "1.5ms", "ms", "", "5min", "99999999999999999999s"] {
            check(wrong, None);
        }
    }

    #[test]
    fn what_is_added_is_said() {
        let storage = Storage {
            sync: Duration::from_millis(5),
            read: Duration::from_micros(1_500),
            shared_memory: false,
            ..Storage::AS_IT_IS
        };
        assert_eq!(storage.to_string(), "sync +5 ms, read +1500 us, no shared memory");
        assert_eq!(Storage::AS_IT_IS.to_string(), "as it is");
        let recorded = Storage { power_cut: true, ..Storage::AS_IT_IS };
        assert_eq!(recorded.to_string(), "what is not flushed is recorded");
        assert_eq!(recorded.options(), "&power_cut=on");
    }
}
