//! Data over several stores, in blocks.

/// Items over stores: each holds a block of them that are next to each other, and blocks are as even as can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Items; at least one a store.
    pub items: u32,
    /// Stores, from 1.
    pub shards: u32,
}

impl Blocks {
    /// Items in the stores before one; for the number of stores, all.
    #[must_use]
    pub const fn before(self, shard: u32) -> u32 {
        (self.items as u64 * shard as u64 / self.shards as u64) as u32
    }

    /// The store that an item is in, by their indexes; for an item that does not exist one of those that do.
    #[must_use]
    pub const fn shard_of(self, item: u32) -> u32 {
        let item = if item < self.items { item } else { self.items - 1 };
        // The last whose block begins no later.
        (((item as u64 + 1) * self.shards as u64 - 1) / self.items as u64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_even_and_make_the_whole() {
        for (items, shards) in [(1, 1), (7, 1), (7, 2), (7, 7), (10, 3), (19_999, 64)] {
            let blocks = Blocks { items, shards };
            assert_eq!((blocks.before(0), blocks.before(shards)), (0, items));
            let sizes = (0..shards).map(|shard| blocks.before(shard + 1) - blocks.before(shard));
            assert!(sizes.clone().max() <= sizes.min().map(|least| least + 1), "{blocks:?}");
            for shard in 0..shards {
                let block = blocks.before(shard)..blocks.before(shard + 1);
                assert!(block.clone().all(|item| blocks.shard_of(item) == shard), "{blocks:?}");
            }
            assert_eq!(blocks.shard_of(u32::MAX), shards - 1);
        }
    }
}
