//! Limits as a user writes them: `cpu=0.5,mem=1GiB`.

use crate::RigError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The smallest memory that an engine, or a server, can begin to work in.
const MEM_MIN: u64 = 16 << 20;
/// The largest quota that makes sense of `cpu`.
const CPU_MAX: f64 = 1024.0;

/// What a process and its children may use together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Cores, 0.01 to 1024: 0.5 is half the time of one.
    pub cpu: Option<f64>,
    /// Bytes of memory, at least 16 MiB; what does not fit is reclaimed, not swapped, or the process is killed.
    pub mem: Option<u64>,
}

impl Limits {
    /// The same for a result, with how often they were met, where that is known.
    pub fn described(&self, met: Option<crate::Throttling>) -> result::Limits {
        result::Limits {
            cpu: self.cpu,
            memory_bytes: self.mem,
            throttling: met.map(|met| result::Throttling {
                periods: met.periods,
                throttled_periods: met.throttled,
                throttled_s: met.throttled_ns as f64 / 1e9,
            }),
        }
    }
}

impl FromStr for Limits {
    type Err = RigError;

    fn from_str(text: &str) -> Result<Limits, RigError> {
        let wrong =
            |why: String| RigError::Invalid(format!("limits are written like cpu=0.5,mem=1GiB: {why}"));
        let mut limits = Limits::default();
        for part in text.split(',') {
            let (key, value) =
                part.trim().split_once('=').ok_or_else(|| wrong(format!("`{part}` has no `=`")))?;
            match key {
                "cpu" if limits.cpu.is_none() => {
                    let cores: Option<f64> =
                        value.parse().ok().filter(|cores| (0.01..=CPU_MAX).contains(cores));
                    limits.cpu =
                        Some(cores.ok_or_else(|| {
                            wrong(format!("cpu is 0.01 to {CPU_MAX} cores, not `{value}`"))
                        })?);
                }
                "mem" if limits.mem.is_none() => {
                    let bytes = bytes(value).filter(|bytes| *bytes >= MEM_MIN);
                    limits.mem = Some(bytes.ok_or_else(|| {
                        wrong(format!("mem is at least 16MiB, in KiB, MiB, GiB or bytes, not `{value}`"))
                    })?);
                }
                "cpu" | "mem" => return Err(wrong(format!("{key} is there twice"))),
                _ => return Err(wrong(format!("there are cpu and mem, no `{key}`"))),
            }
        }
        Ok(limits)
    }
}

fn bytes(text: &str) -> Option<u64> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("", 0)];
    let (number, shift) =
        units.into_iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)))?;
    let (whole, exact): (f64, Option<u64>) = (number.trim().parse().ok()?, number.trim().parse().ok());
    match exact {
        Some(exact) => exact.checked_mul(1 << shift),
        // 1.5GiB; a part of a byte makes no sense.
        None if shift > 0 && whole > 0.0 && whole < 1e6 => Some((whole * (1u64 << shift) as f64) as u64),
        None => None,
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpu = self.cpu.map(|cores| format!("cpu={cores}"));
        let mem = self.mem.map(|bytes| match bytes {
            bytes if bytes % (1 << 30) == 0 => format!("mem={}GiB", bytes >> 30),
            bytes if bytes % (1 << 20) == 0 => format!("mem={}MiB", bytes >> 20),
            bytes => format!("mem={bytes}"),
        });
        f.write_str(&cpu.into_iter().chain(mem).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_they_are_written() {
        for (text, cpu, mem) in [
            ("cpu=0.5,mem=1GiB", Some(0.5), Some(1 << 30)),
            ("mem=512MiB", None, Some(512 << 20)),
            ("cpu=2", Some(2.0), None),
        ] {
            let limits: Limits = text.parse().unwrap();
            assert_eq!(limits, Limits { cpu, mem });
            assert_eq!(limits.to_string(), text);
        }
        assert_eq!("mem=1.5GiB".parse::<Limits>().unwrap().mem, Some(3 << 29));
        assert_eq!("mem=67108864".parse::<Limits>().unwrap().mem, Some(64 << 20));
    }

    #[test]
    fn a_limit_that_makes_no_sense_is_refused_with_what_would() {
        for (text, says) in [
            ("", "no `=`"),
            ("cpu", "no `=`"),
            ("cpu=0", "0.01 to 1024"),
            ("cpu=half", "0.01 to 1024"),
            ("cpu=NaN", "0.01 to 1024"),
            ("cpu=1,cpu=2", "twice"),
            ("mem=1GB", "KiB, MiB, GiB"),
            ("mem=1", "at least 16MiB"),
            ("mem=-1GiB", "at least 16MiB"),
            ("mem=99999999999999999999GiB", "at least 16MiB"),
            ("disk=1GiB", "no `disk`"),
        ] {
            let error = text.parse::<Limits>().unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("cpu=0.5,mem=1GiB"), "{text}: {error}");
        }
    }
}
