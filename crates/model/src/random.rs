//! The only randomness there is: streams that are a pure function of a seed and a path of numbers.
//!
//! The generator is a library's; turning a seed into a state and bits into a range is ours and frozen, because a
//! library may change either between versions, and then the same seed would no longer mean the same data.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream at `path` under `seed`. Paths of different numbers or lengths give independent streams.
    pub fn stream(seed: u64, path: &[u64]) -> Random {
        let mut state = mix(seed ^ 0x5374_6163_6b6d_6172);
        for (depth, step) in path.iter().enumerate() {
            state =
                mix(state ^ mix(step.wrapping_add((depth as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))));
        }
        let mut bytes = [0u8; 32];
        for chunk in bytes.chunks_exact_mut(8) {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            chunk.copy_from_slice(&mix(state).to_le_bytes());
        }
        Random(Xoshiro256PlusPlus::from_seed(bytes))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number from `0` to `bound − 1`; `bound` is at least 1. The bias is below `bound` / 2⁶⁴.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A whole number from `low` to `high`, both included.
    #[inline]
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        assert!(low <= high);
        low + self.below((high - low) as u64 + 1) as i64
    }

    /// True with a chance of `parts` in `whole`.
    #[inline]
    pub fn chance(&mut self, parts: u64, whole: u64) -> bool {
        self.below(whole) < parts
    }

    /// A number from 0 (included) to 1 (excluded) with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A negative exponential variate with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 1 − unit() is in (0, 1], so the logarithm is finite.
        -mean * (1.0 - self.unit()).ln()
    }

    /// Puts `items` into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// The finaliser of SplitMix64: every input bit reaches every output bit.
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_a_function_of_its_seed_and_path() {
        let draw = |seed, path: &[u64]| Random::stream(seed, path).bits();
        assert_eq!(draw(1, &[2, 3]), draw(1, &[2, 3]));
        let others = [draw(2, &[2, 3]), draw(1, &[3, 2]), draw(1, &[2]), draw(1, &[2, 3, 0]), draw(1, &[])];
        for other in others {
            assert_ne!(draw(1, &[2, 3]), other);
        }
    }

    /// Frozen: if this fails, every seed of every stored result means other data.
    #[test]
    fn streams_are_frozen() {
        let mut random = Random::stream(42, &[7]);
        let drawn = [random.range(1, 100_000), random.range(1, 100_000), random.range(-5, 5)];
        assert_eq!(drawn, FROZEN);
    }
    const FROZEN: [i64; 3] = [74_992, 44_764, -3];

    #[test]
    fn ranges_reach_both_ends_evenly() {
        let mut random = Random::stream(1, &[]);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[random.range(0, 5) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_exponential_has_its_mean() {
        let mut random = Random::stream(1, &[]);
        let mean = (0..100_000).map(|_| random.exponential(12.0)).sum::<f64>() / 100_000.0;
        assert!((11.8..12.2).contains(&mean), "{mean}");
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut deck: Vec<u32> = (0..23).collect();
        Random::stream(9, &[]).shuffle(&mut deck);
        assert_ne!(deck, (0..23).collect::<Vec<_>>());
        deck.sort_unstable();
        assert_eq!(deck, (0..23).collect::<Vec<_>>());
    }
}
