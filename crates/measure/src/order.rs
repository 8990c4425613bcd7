//! In which order the trials of a block run.
//!
//! A machine drifts: over seconds, when a neighbour comes and goes, and over an hour, when it grows warm. What the order must
//! give is that neither makes a difference where there is none, nor makes blocks resemble each other, which would make an
//! interval from their scatter too narrow.
//!
//! - A base that runs twice in a block is around the middle of it: base, variant, base with two variants in all. A drift
//!   that goes on evenly through the block then does the same to the mean of both as to what is between them.
//! - Whatever is left is balanced between blocks: half of them run in the mirrored order of the other half. Which of them do
//!   is drawn over the whole experiment. Mirroring each block in the very next one would put the same variant at the end of
//!   one and the beginning of the other, and the two blocks would err together.
//! - Of an odd number of blocks one has no mirror image; which one, and its order, are drawn as well.

use model::random::Random;

/// Path of the random streams that order trials.
const ORDER: u64 = 200;

/// What runs in every block of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Design<'a> {
    /// Trials of a block, one a part.
    pub parts: usize,
    /// Parts that are the same subject twice: a base and its A/A control. No part is in two of them.
    pub twins: &'a [(usize, usize)],
    /// Blocks of the whole experiment.
    pub blocks: u32,
    /// The same seed gives the same order.
    pub seed: u64,
}

impl Design<'_> {
    /// The parts in the order in which they run in `block`, counted from 0.
    ///
    /// # Panics
    /// When the design has no such block, or twins that are not parts.
    pub fn order(&self, block: u32) -> Vec<usize> {
        let mut places: Vec<u32> = (0..self.blocks).collect();
        Random::stream(self.seed, &[ORDER]).shuffle(&mut places);
        let place = places[block as usize];
        let mut order = self.drawn(u64::from(place / 2));
        if !place.is_multiple_of(2) {
            order.reverse();
        }
        order
    }

    /// One order for two blocks, of which the second runs it backwards.
    fn drawn(&self, pair: u64) -> Vec<usize> {
        let mut random = Random::stream(self.seed, &[ORDER, pair]);
        let mut order = vec![None; self.parts];
        let mut mirrored: Vec<usize> = (0..self.parts / 2).collect();
        random.shuffle(&mut mirrored);
        for (&(base, again), &place) in self.twins.iter().zip(&mirrored) {
            let (first, last) = if random.chance(1, 2) { (base, again) } else { (again, base) };
            (order[place], order[self.parts - 1 - place]) = (Some(first), Some(last));
        }
        let is_twin = |part: &usize| self.twins.iter().any(|(base, again)| base == part || again == part);
        let mut others: Vec<usize> = (0..self.parts).filter(|part| !is_twin(part)).collect();
        random.shuffle(&mut others);
        let mut others = others.into_iter();
        let next = |taken: Option<usize>| {
            taken.unwrap_or_else(|| others.next().expect("every part has a place, and twins have two"))
        };
        order.into_iter().map(next).collect()
    }
}

/// Path of the random streams that order rounds.
const TURNS: u64 = 201;

/// Whose turn each round is, where so many parts have `rounds` turns each: every one once in an order that is drawn, then in the
/// mirrored order (A B B A), and so on. A drift that goes on evenly through both does the same to all of them.
pub fn turns(parts: usize, rounds: u32, seed: u64) -> Vec<usize> {
    let mut random = Random::stream(seed, &[TURNS]);
    let mut turns = Vec::with_capacity(parts * rounds as usize);
    for _ in 0..rounds.div_ceil(2) {
        let mut order: Vec<usize> = (0..parts).collect();
        random.shuffle(&mut order);
        let mirrored: Vec<usize> = order.iter().rev().copied().collect();
        turns.extend(order.into_iter().chain(mirrored));
    }
    turns.truncate(parts * rounds as usize);
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(parts: usize, twins: &[(usize, usize)], blocks: u32, seed: u64) -> Design<'_> {
        Design { parts, twins, blocks, seed }
    }

    #[test]
    fn every_block_has_every_part_once() {
        for (parts, twins) in [(1, &[][..]), (2, &[]), (3, &[(0, 1)]), (6, &[(0, 1), (3, 4)]), (5, &[(0, 1)])]
        {
            for block in 0..7 {
                let mut found = design(parts, twins, 7, 1).order(block);
                found.sort_unstable();
                assert_eq!(found, (0..parts).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn turns_are_mirrored_pairs_in_orders_of_their_own() {
        let found = turns(2, 40, 3);
        assert_eq!((found.len(), found.iter().filter(|part| **part == 0).count()), (80, 40));
        let quadruples: Vec<&[usize]> = found.chunks(4).collect();
        assert!(quadruples.iter().all(|four| four[0] == four[3] && four[1] == four[2] && four[0] != four[1]));
        let first = quadruples.iter().filter(|four| four[0] == 0).count();
        assert!((5..=15).contains(&first), "{first}");
        assert_eq!(turns(3, 4, 9), turns(3, 4, 9));
        assert_ne!(turns(3, 8, 9), turns(3, 8, 10));
        let of_three = turns(3, 3, 1);
        assert_eq!(of_three.len(), 9);
        assert!((0..3).all(|part| of_three.iter().filter(|of| **of == part).count() == 3));
    }

    /// A drift that goes on evenly over all trials takes nothing from an even number of blocks, and of an odd one what one
    /// block has too many.
    #[test]
    fn no_part_comes_earlier_than_another_over_all_blocks() {
        for (parts, twins) in [(2, &[][..]), (3, &[]), (4, &[(0, 1)]), (7, &[(0, 1), (4, 5)])] {
            for (seed, blocks) in (0..40).flat_map(|seed| [(seed, 6), (seed, 5), (seed, 3)]) {
                let design = design(parts, twins, blocks, seed);
                let places = |part: usize| -> usize {
                    let place = |block| design.order(block).iter().position(|at| *at == part).unwrap();
                    (0..blocks).map(place).sum()
                };
                for part in 0..parts {
                    let (twice, fair) = (2 * places(part), blocks as usize * (parts - 1));
                    let one_too_many = if blocks.is_multiple_of(2) { 0 } else { parts - 1 };
                    assert!(twice.abs_diff(fair) <= one_too_many, "{part} of {parts}, seed {seed}: {twice}");
                }
            }
        }
    }

    /// The single block of an odd number that has no mirror image favours no one over many experiments.
    #[test]
    fn an_odd_number_of_blocks_favours_no_order() {
        let opens = |seed: u64, block: u32| design(2, &[], 3, seed).order(block)[0] == 0;
        for block in 0..3 {
            let opened = (0..2_000).filter(|seed| opens(*seed, block)).count();
            assert!(opened.abs_diff(1_000) < 100, "block {block}: {opened}");
        }
        let most = |seed: u64| (0..3).filter(|block| opens(seed, *block)).count() >= 2;
        let most = (0..2_000).filter(|seed| most(*seed)).count();
        assert!(most.abs_diff(1_000) < 100, "{most}");
    }

    #[test]
    fn a_base_that_runs_twice_lies_around_what_is_held_against_it() {
        for (seed, block) in (0..20).flat_map(|seed| (0..5).map(move |block| (seed, block))) {
            let three = design(3, &[(0, 1)], 5, seed).order(block);
            assert_eq!(three[1], 2, "{three:?}");
            let five = design(5, &[(1, 2)], 5, seed).order(block);
            let of = |part: usize| five.iter().position(|at| *at == part).unwrap();
            assert_eq!(of(1) + of(2), 4, "{five:?}");
        }
        let base_first = |seed| design(3, &[(0, 1)], 1, seed).order(0)[0] == 0;
        let first = (0..1_000).filter(|seed| base_first(*seed)).count();
        assert!(first.abs_diff(500) < 80, "{first}");
    }

    #[test]
    fn neighbours_are_not_always_each_others_mirror_image() {
        let mirrored = |seed| {
            let design = design(2, &[], 8, seed);
            design.order(0) != design.order(1)
        };
        let mirrored = (0..1_000).filter(|seed| mirrored(*seed)).count();
        // Of eight blocks half go either way: four of the other seven differ.
        assert!(mirrored.abs_diff(571) < 80, "{mirrored}");
    }
}
