//! How unevenly rows are drawn, where that is not left to the workload.

use crate::random::Random;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Exponents beyond this make one row of all.
const EXPONENT_MAX: f64 = 10.0;
/// Neighbours in popularity are not next to each other: rows are scattered by a prime that is larger than a page holds rows.
const SCATTER: u64 = 7_919;

/// A skew that someone asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Skew {
    /// The n-th most popular row is drawn with a chance in proportion to 1 / n to the power of this, more than 0 and at most 10.
    Zipf(f64),
    /// So many rows, at least one, get this share of all draws, more than 0 and less than 1, and all others what is left.
    Hot(u32, f64),
}

/// What is not a skew.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a skew is `zipf:EXPONENT`, such as zipf:0.99, or `hot:ROWS:SHARE`, such as hot:10:50%; this is `{0}`"
)]
pub struct NoSkew(String);

impl FromStr for Skew {
    type Err = NoSkew;

    fn from_str(text: &str) -> Result<Skew, NoSkew> {
        let parts: Vec<&str> = text.split(':').collect();
        let skew = match parts[..] {
            ["zipf", exponent] => exponent.parse().ok().map(Skew::Zipf),
            ["hot", rows, share] => {
                let share = share.strip_suffix('%').and_then(|share| share.parse::<f64>().ok());
                rows.parse().ok().zip(share).map(|(rows, share)| Skew::Hot(rows, share / 100.0))
            }
            _ => None,
        };
        skew.filter(Skew::is_one).ok_or_else(|| NoSkew(text.to_owned()))
    }
}

impl Display for Skew {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Skew::Zipf(exponent) => write!(f, "zipf:{exponent}"),
            // The share as entered, without the remainder of the division.
            Skew::Hot(rows, share) => write!(f, "hot:{rows}:{}%", (share * 1e8).round() / 1e6),
        }
    }
}

impl Skew {
    /// Whether it is in range, for one that was read.
    pub fn is_one(&self) -> bool {
        match self {
            Skew::Zipf(exponent) => *exponent > 0.0 && *exponent <= EXPONENT_MAX,
            Skew::Hot(rows, share) => *rows > 0 && *share > 0.0 && *share < 1.0,
        }
    }

    /// Chances of `count` rows, the most popular first.
    fn chances(self, count: u32) -> Vec<f64> {
        match self {
            Skew::Zipf(exponent) => (1..=count).map(|rank| f64::from(rank).powf(-exponent)).collect(),
            // Where there are no others, all are as hot.
            Skew::Hot(rows, _) if rows >= count => vec![1.0; count as usize],
            Skew::Hot(rows, share) => {
                let (hot, cold) = (share / f64::from(rows), (1.0 - share) / f64::from(count - rows));
                (0..count).map(|row| if row < rows { hot } else { cold }).collect()
            }
        }
    }
}

/// Draws rows by a skew. Eight bytes a row.
#[derive(Debug, Clone)]
pub struct Skewed {
    /// Sums of chances up to and with each row, the most popular first.
    upto: Vec<f64>,
}

impl Skewed {
    /// Over so many rows, at least one.
    pub fn over(count: u32, skew: Skew) -> Skewed {
        let mut sum = 0.0;
        let upto = skew.chances(count.max(1)).into_iter().map(|chance| {
            sum += chance;
            sum
        });
        Skewed { upto: upto.collect() }
    }

    /// The place of a row, from 0. One random number; it allocates nothing.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u32 {
        let all = self.upto.last().copied().unwrap_or_default();
        let drawn = random.unit() * all;
        let rank = self.upto.partition_point(|upto| *upto <= drawn).min(self.upto.len() - 1);
        self.place(rank as u64)
    }

    /// Where the row of a rank is: a permutation, unless there are just as many rows as the prime, or a multiple.
    fn place(&self, rank: u64) -> u32 {
        let count = self.upto.len() as u64;
        if count.is_multiple_of(SCATTER) { rank as u32 } else { (rank * SCATTER % count) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_skew_is_read_as_it_is_written() {
        for (text, skew) in [("zipf:0.99", Skew::Zipf(0.99)), ("hot:10:50%", Skew::Hot(10, 0.5))] {
            assert_eq!(text.parse(), Ok(skew));
            assert_eq!(skew.to_string(), text);
        }
        assert_eq!("hot:3:7.7%".parse::<Skew>().unwrap().to_string(), "hot:3:7.7%");
        let none = ["", "uniform", "zipf", "zipf:0", "zipf:-1", "zipf:11", "zipf:x", "zipf:NaN", "hot:0:5%"];
        for text in
            none.into_iter().chain(["hot:1:0%", "hot:1:100%", "hot:1:0.5", "hot:1", "hot:x:5%", "hot:1:5%:2"])
        {
            let refused = text.parse::<Skew>().unwrap_err().to_string();
            assert!(
                refused.contains("`zipf:EXPONENT`") && refused.contains(&format!("`{text}`")),
                "{refused}"
            );
        }
    }

    fn drawn(count: u32, skew: Skew, draws: u32) -> BTreeMap<u32, u32> {
        let (skewed, mut random) = (Skewed::over(count, skew), Random::stream(9, &[]));
        let mut drawn = BTreeMap::new();
        for _ in 0..draws {
            *drawn.entry(skewed.draw(&mut random)).or_default() += 1;
        }
        drawn
    }

    #[test]
    fn shares_are_those_that_were_asked_for() {
        let hot = drawn(1_000, Skew::Hot(10, 0.5), 100_000);
        assert!(hot.keys().all(|row| *row < 1_000));
        let mut counts: Vec<u32> = hot.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let share = f64::from(counts[..10].iter().sum::<u32>()) / 1e5;
        // Five standard deviations of 100,000 draws.
        assert!((share - 0.5).abs() < 0.008, "{share}");
        assert!(counts[10] < counts[9] / 10, "{counts:?}");

        let zipf = drawn(100, Skew::Zipf(1.0), 100_000);
        let harmonic: f64 = (1..=100).map(|rank| 1.0 / f64::from(rank)).sum();
        for rank in [1_u32, 2, 10] {
            let found = f64::from(zipf[&((rank - 1) * 7_919 % 100)]) / 1e5;
            let expected = 1.0 / f64::from(rank) / harmonic;
            assert!((found - expected).abs() < 0.007, "{rank}: {found} {expected}");
        }
    }

    #[test]
    fn each_row_has_a_place_of_its_own() {
        for count in [1, 2, 12, 7_919, 10_000, 15_838] {
            let skewed = Skewed::over(count, Skew::Zipf(1.0));
            let mut places: Vec<u32> = (0..u64::from(count)).map(|rank| skewed.place(rank)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..count), "{count}");
        }
    }

    #[test]
    fn more_hot_rows_than_there_are_is_evenly() {
        let all = drawn(4, Skew::Hot(9, 0.9), 10_000);
        assert!(all.len() == 4 && all.values().all(|count| *count > 2_200), "{all:?}");
    }
}
