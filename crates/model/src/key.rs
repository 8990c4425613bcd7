//! Idempotency keys: a call that comes again under its key is done once.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An idempotency key: 32 hexadecimal digits. Keys of runs are made of three numbers, so that what was acknowledged is known by
/// ranges of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The run: another for each trial on the same data.
    pub run: u64,
    pub worker: u32,
    /// How many calls with a key of its own that worker had made before.
    pub sequence: u32,
}

impl Key {
    /// From 32 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Key> {
        let plain = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let bits = u128::from_str_radix(text, 16).ok().filter(|_| plain)?;
        Some(Key { run: (bits >> 64) as u64, worker: (bits >> 32) as u32, sequence: bits as u32 })
    }

    /// As it is stored: run, worker and sequence, the run as the signed number of the same 64 bits.
    #[must_use]
    pub const fn columns(self) -> [i64; 3] {
        [self.run.cast_signed(), self.worker as i64, self.sequence as i64]
    }

    /// From what is stored.
    pub fn from_columns([run, worker, sequence]: [i64; 3]) -> Option<Key> {
        let (worker, sequence) = (u32::try_from(worker).ok()?, u32::try_from(sequence).ok()?);
        Some(Key { run: run.cast_unsigned(), worker, sequence })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:08x}{:08x}", self.run, self.worker, self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_their_digits_and_their_columns() {
        for key in [
            Key { run: 0, worker: 0, sequence: 0 },
            Key { run: 0x8123_4567_89ab_cdef, worker: 7, sequence: 19 },
            Key { run: u64::MAX, worker: u32::MAX, sequence: u32::MAX },
        ] {
            assert_eq!(Key::parse(&key.to_string()), Some(key));
            assert_eq!(Key::from_columns(key.columns()), Some(key));
        }
        assert_eq!(
            Key { run: 0x8123_4567_89ab_cdef, worker: 7, sequence: 19 }.to_string(),
            "8123456789abcdef0000000700000013"
        );
    }

    #[test]
    fn what_is_not_32_lower_case_digits_is_no_key() {
        for text in
            ["", "1", &"0".repeat(31), &"0".repeat(33), &"A".repeat(32), &"g".repeat(32), &"+1".repeat(16)]
        {
            assert_eq!(Key::parse(text), None, "{text}");
        }
        assert_eq!(Key::from_columns([1, -1, 0]), None);
    }
}
