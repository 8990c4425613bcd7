//! What a client remembers of its calls, however many they become.

use model::random::Random;

/// Calls that are remembered as the latest, and as many of all that were made before them.
const LATEST: usize = 64;
/// One in so many that are drawn is of an earlier call, once there are earlier ones.
const EARLIER_ONE_IN: u64 = 4;

/// Calls of a client, each under a number of its own: the latest, and a sample of all earlier ones, each of which is as likely to be in it as
/// any other (Vitter's algorithm R).
#[derive(Debug, Clone)]
pub struct Remembered<T> {
    /// A ring.
    latest: Vec<(u64, T)>,
    /// The place in it of the next one.
    next: usize,
    earlier: Vec<(u64, T)>,
    /// Calls that are no longer among the latest.
    passed: u64,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Remembered {
            latest: Vec::with_capacity(LATEST),
            next: 0,
            earlier: Vec::with_capacity(LATEST),
            passed: 0,
        }
    }
}

impl<T> Remembered<T> {
    /// Remembers a call as the latest.
    pub fn push(&mut self, number: u64, call: T, random: &mut Random) {
        let Some(place) = self.latest.get_mut(self.next) else {
            self.latest.push((number, call));
            self.next = (self.next + 1) % LATEST;
            return;
        };
        let earlier = std::mem::replace(place, (number, call));
        self.next = (self.next + 1) % LATEST;
        self.passed += 1;
        if self.earlier.len() < LATEST {
            self.earlier.push(earlier);
        } else if let Some(place) = self.earlier.get_mut(random.below(self.passed) as usize) {
            *place = earlier;
        }
    }

    /// One of the calls, most often of the latest; nothing before the first.
    pub fn draw(&self, random: &mut Random) -> Option<&T> {
        match !self.earlier.is_empty() && random.chance(1, EARLIER_ONE_IN) {
            true => one_of(&self.earlier, random),
            false => self.draw_latest(random),
        }
    }

    /// One of the latest calls; nothing before the first.
    pub fn draw_latest(&self, random: &mut Random) -> Option<&T> {
        one_of(&self.latest, random)
    }

    /// The call of this number, if it is remembered.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let of_number = |(its, _): &&mut (u64, T)| *its == number;
        let latest = self.latest.iter_mut().rev().find(of_number);
        latest.or_else(|| self.earlier.iter_mut().find(of_number)).map(|(_, call)| call)
    }
}

fn one_of<'a, T>(calls: &'a [(u64, T)], random: &mut Random) -> Option<&'a T> {
    let count = calls.len() as u64;
    let place = (count > 0).then(|| random.below(count))?;
    calls.get(place as usize).map(|(_, call)| call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_calls_are_there_and_a_sample_of_all_earlier_ones() {
        let mut random = Random::stream(1, &[1]);
        let mut calls = Remembered::default();
        assert_eq!(calls.draw(&mut random), None::<&u64>);
        for number in 0..10_000 {
            calls.push(number, number, &mut random);
        }
        for number in 10_000 - LATEST as u64..10_000 {
            assert_eq!(calls.get_mut(number).copied(), Some(number));
        }
        let earlier: Vec<u64> = (0..9_936).filter(|number| calls.get_mut(*number).is_some()).collect();
        assert_eq!(earlier.len(), LATEST);
        // Evenly of all of them: a quarter each of four quarters, about.
        for quarter in earlier.chunk_by(|one, other| one / 2_484 == other / 2_484) {
            assert!((6..=28).contains(&quarter.len()), "{earlier:?}");
        }
    }

    #[test]
    fn most_that_are_drawn_are_of_the_latest() {
        let mut random = Random::stream(2, &[1]);
        let mut calls = Remembered::default();
        for number in 0..1_000 {
            calls.push(number, number, &mut random);
        }
        let late = (0..10_000).filter(|_| calls.draw(&mut random).is_some_and(|call| *call >= 936)).count();
        assert!((7_300..7_700).contains(&late), "{late}");
        assert!((0..1_000).all(|_| calls.draw_latest(&mut random).is_some_and(|call| *call >= 936)));
    }
}
