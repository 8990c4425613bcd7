//! In which order the trials of a block run.

use model::random::Random;

/// Path of the random stream that orders the trials of a block.
const ORDER: u64 = 200;

/// The order of `count` variants in a block: a random one in the first of two blocks, and its mirror image in the second.
/// Nobody is always the first, and over two blocks everybody has run at the same time on average, so that a machine that
/// grows slower or faster all the while is fair to all.
pub(crate) fn order(block: u32, count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    Random::stream(seed, &[ORDER, u64::from(block / 2)]).shuffle(&mut order);
    if !block.is_multiple_of(2) {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn no_variant_always_comes_first_and_nobody_knows_which_does() {
        for count in [2, 3, 7] {
            for seed in 0..50 {
                let places = |variant| -> usize {
                    let place = |block| order(block, count, seed).iter().position(|at| *at == variant);
                    (0..10).map(|block| place(block).unwrap()).sum()
                };
                // Over pairs of blocks all have the same place on average.
                for variant in 0..count {
                    assert_eq!(places(variant) * 2, 10 * (count - 1), "{variant} of {count}, seed {seed}");
                }
            }
            let opened = |variant| (0..700).filter(|seed| order(0, count, *seed)[0] == variant).count();
            for variant in 0..count {
                let expected = 700 / count;
                assert!(opened(variant).abs_diff(expected) < expected / 3, "{variant} of {count}");
            }
        }
    }

    #[test]
    fn every_block_has_every_variant_once() {
        for block in 0..6 {
            let mut found = order(block, 5, 1);
            found.sort_unstable();
            assert_eq!(found, [0, 1, 2, 3, 4]);
        }
        assert_eq!(order(0, 1, 1), [0]);
    }
}
