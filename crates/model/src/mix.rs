//! How many of the calls are of each kind, where that is not left to the workload.

use crate::Kind;
use crate::random::Random;
use serde::{Deserialize, Serialize};

/// A mix that someone asked for: the share of each kind, in the order of the workload's kinds. Shares sum to 1, so that
/// mixes of the same proportions are equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mix {
    shares: Vec<f64>,
}

/// A mix that cannot be drawn; each of them lists what there is.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MixError {
    /// A kind that the workload does not have.
    #[error("no kind of call `{name}`; there are {kinds}")]
    Unknown {
        /// What was asked for.
        name: String,
        kinds: String,
    },
    /// Two weights for one kind.
    #[error("`{name}` has two weights; there are {kinds}")]
    Twice { name: String, kinds: String },
    /// A weight that is none.
    #[error("the weight of `{name}` is {weight}; it must be a finite number, 0 or more")]
    Weight { name: String, weight: f64 },
    /// Nothing would be called.
    #[error("no kind of call has a weight above 0; there are {kinds}")]
    Empty { kinds: String },
}

impl Mix {
    /// The mix of these weights, which count in relation to each other; kinds that are left out are not called. Nothing for a
    /// workload of one kind, which has but one mix.
    ///
    /// # Errors
    /// What is wrong with them, and which kinds there are.
    pub fn of(kinds: &[Kind], weights: &[(String, f64)]) -> Result<Option<Mix>, MixError> {
        let all = || kinds.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
        let mut weights_set: Vec<Option<f64>> = vec![None; kinds.len()];
        for (name, weight) in weights {
            let (name, weight) = (name.clone(), *weight);
            let Some(at) = kinds.iter().position(|kind| kind.name == name) else {
                return Err(MixError::Unknown { name, kinds: all() });
            };
            if !(weight >= 0.0 && weight.is_finite()) {
                return Err(MixError::Weight { name, weight });
            }
            if weights_set[at].replace(weight).is_some() {
                return Err(MixError::Twice { name, kinds: all() });
            }
        }
        let weights_set: Vec<f64> = weights_set.into_iter().map(Option::unwrap_or_default).collect();
        // Of weights near the largest number the sum would be none.
        let largest = weights_set.iter().copied().fold(0.0, f64::max);
        if largest <= 0.0 {
            return Err(MixError::Empty { kinds: all() });
        }
        let scaled: Vec<f64> = weights_set.iter().map(|weight| weight / largest).collect();
        let sum: f64 = scaled.iter().sum();
        let shares = scaled.iter().map(|weight| weight / sum).collect();
        Ok((kinds.len() > 1).then_some(Mix { shares }))
    }

    /// Whether it is a mix of so many kinds, for one that was read.
    pub fn is_of(&self, kinds: usize) -> bool {
        let sum: f64 = self.shares.iter().sum();
        self.shares.len() == kinds
            && self.shares.iter().all(|share| *share >= 0.0)
            && (sum - 1.0).abs() < 1e-6
    }

    /// The share of a kind, 0 to 1.
    pub fn share(&self, kind: usize) -> f64 {
        self.shares.get(kind).copied().unwrap_or(0.0)
    }

    /// Draws the kind of the next call, each on its own. One random number; it allocates nothing.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> usize {
        let mut left = random.unit();
        let mut last = 0;
        for (kind, share) in self.shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            if left < *share {
                return kind;
            }
            left -= share;
            last = kind;
        }
        // What rounding leaves over is the last kind's.
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn kind(name: &'static str) -> Kind {
        Kind {
            name,
            headline: false,
            declined_max: 0.0,
            pace: None,
            p90_max: None,
            deferred_p90_max: None,
            writes: true,
        }
    }

    const KINDS: [Kind; 3] = [kind("order"), kind("pay"), kind("look")];

    fn mix(weights: &[(&str, f64)]) -> Result<Option<Mix>, MixError> {
        let weights: Vec<_> = weights.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect();
        Mix::of(&KINDS, &weights)
    }

    #[test]
    fn kinds_come_in_their_proportions_and_those_left_out_never() {
        let mix = mix(&[("pay", 30.0), ("look", 10.0)]).unwrap().unwrap();
        let (random, mut counts) = (&mut Random::stream(7, &[]), [0; 3]);
        (0..100_000).for_each(|_| counts[mix.draw(random)] += 1);
        assert_eq!(counts[0], 0);
        assert!((74_000..76_000).contains(&counts[1]), "{counts:?}");
        assert!(mix.is_of(3) && !mix.is_of(2));
    }

    #[test]
    fn weights_count_in_relation_to_each_other() {
        assert_eq!(mix(&[("pay", 45.0), ("order", 43.0)]), mix(&[("order", 86.0), ("pay", 90.0)]));
        assert_eq!(mix(&[("pay", 0.1)]), mix(&[("pay", 1e308), ("look", 0.0)]));
        let even = mix(&[("pay", f64::MAX), ("look", f64::MAX)]).unwrap().unwrap();
        assert_eq!([even.share(0), even.share(1), even.share(2)], [0.0, 0.5, 0.5]);
    }

    #[test]
    fn one_kind_has_but_one_mix() {
        assert_eq!(Mix::of(&KINDS[..1], &[("order".to_owned(), 3.0)]), Ok(None));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_with_the_kinds_there_are() {
        let check = |weights: &[(&str, f64)], message: &str| {
            assert_eq!(mix(weights).unwrap_err().to_string(), message);
        };
        check(&[("pya", 1.0)], "no kind of call `pya`; there are order, pay, look");
        check(&[("pay", 0.0)], "no kind of call has a weight above 0; there are order, pay, look");
        check(&[], "no kind of call has a weight above 0; there are order, pay, look");
        check(&[("pay", 1.0), ("pay", 2.0)], "`pay` has two weights; there are order, pay, look");
        check(&[("pay", -1.0)], "the weight of `pay` is -1; it must be a finite number, 0 or more");
        check(&[("pay", f64::NAN)], "the weight of `pay` is NaN; it must be a finite number, 0 or more");
    }
}
