//! The initial rows, as `pgbench -i` makes them. Nothing in them is random.

use model::rows::{Dataset, RowSink, Table};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use workload::Blocks;

/// Accounts of a branch.
pub const ACCOUNTS_A_BRANCH: u32 = 100_000;
/// Tellers of a branch.
pub const TELLERS_A_BRANCH: u32 = 10;
/// Most branches that can be asked for, about 300 GB of rows: from 20,000 on, pgbench itself makes `aid` a bigint.
pub const BRANCHES_MAX: u32 = 19_999;

/// What pgbench leaves in `filler` of an account: the empty string, which its column of 84 characters pads. Given padded,
/// so that rows are as wide on engines whose columns do not pad.
pub const FILLER: &str = match std::str::from_utf8(&[b' '; 84]) {
    Ok(blanks) => blanks,
    Err(_) => unreachable!(),
};

/// How much data there is. pgbench's numbers except in tests and conformance runs, which use a tiny set.
///
/// It may be split over stores, by branch: each holds a block of them with all that belongs to them, and a call stays within
/// one. Ids are those of the whole in every part, so that everything here works on a part as it does on the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cardinality {
    pub branches: u32,
    /// Accounts of a branch.
    pub accounts: u32,
    /// Tellers of a branch.
    pub tellers: u32,
    /// Branches of the stores before this part, whose ids come before those of this one; 0 for the whole.
    #[serde(default, skip_serializing_if = "is_none")]
    pub first: u32,
    /// Stores that these branches are split over: 1 to as many as there are branches.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub shards: u32,
}

const fn is_none(first: &u32) -> bool {
    *first == 0
}

const fn is_one(shards: &u32) -> bool {
    *shards == 1
}

const fn one() -> u32 {
    1
}

impl Cardinality {
    /// pgbench's, for scale `branches`.
    pub const fn standard(branches: u32) -> Cardinality {
        Cardinality::of(branches, ACCOUNTS_A_BRANCH, TELLERS_A_BRANCH)
    }

    /// Three branches that load in milliseconds, for conformance and tests: few accounts, so that calls meet.
    pub const fn tiny() -> Cardinality {
        Cardinality::of(3, 50, 10)
    }

    /// Several times as many accounts, also of branches that [`Cardinality::tiny`] has not.
    pub const fn larger() -> Cardinality {
        Cardinality::of(7, 1_300, 10)
    }

    /// Branches with so many accounts and tellers each, in one store.
    pub const fn of(branches: u32, accounts: u32, tellers: u32) -> Cardinality {
        Cardinality { branches, accounts, tellers, first: 0, shards: 1 }
    }

    /// What is in each store, in order: blocks of branches next to each other, as even as can be.
    pub fn parts(self) -> impl Iterator<Item = Cardinality> {
        (0..self.shards).map(move |shard| self.part(shard))
    }

    /// What is in one store, by its index.
    #[must_use]
    pub const fn part(self, shard: u32) -> Cardinality {
        if self.shards == 1 {
            return self;
        }
        let (from, until) = (self.blocks().before(shard), self.blocks().before(shard + 1));
        Cardinality { first: self.first + from, branches: until - from, shards: 1, ..self }
    }

    const fn blocks(self) -> Blocks {
        Blocks { items: self.branches, shards: self.shards }
    }

    pub const fn accounts_all(&self) -> u32 {
        self.branches * self.accounts
    }

    pub const fn tellers_all(&self) -> u32 {
        self.branches * self.tellers
    }

    /// Ids of what has `each` a branch: `ids(size.accounts)`, and `ids(1)` of the branches.
    pub const fn ids(&self, each: u32) -> RangeInclusive<u32> {
        self.first * each + 1..=(self.first + self.branches) * each
    }

    /// The branch that an account belongs to. No call of one store cares, but audits do.
    pub const fn branch_of_account(&self, aid: u32) -> u32 {
        (aid - 1) / self.accounts + 1
    }

    /// The branch that a teller belongs to.
    pub const fn branch_of_teller(&self, tid: u32) -> u32 {
        (tid - 1) / self.tellers + 1
    }

    /// The store that a branch is in, by its index; for a branch that does not exist one of those that do.
    pub fn shard(&self, bid: u32) -> u32 {
        self.blocks().shard_of(bid.saturating_sub(self.first + 1))
    }
}

/// Rows of the smallest table that every call updates: one a branch. More than half as many clients as this, and what is
/// measured is how they wait for each other (the rule `hot-rows`).
pub const fn hottest_rows(branches: u32) -> u64 {
    branches as u64
}

/// Rows of accounts in a chunk.
const ACCOUNTS_A_CHUNK: u32 = 10_000;

const BRANCHES: usize = 0;
const TELLERS: usize = 1;
const ACCOUNTS: usize = 2;

/// All initial rows at some size.
#[derive(Debug, Clone)]
pub struct Data {
    size: Cardinality,
    tables: Vec<Table>,
}

impl Data {
    /// The data of a size.
    pub fn new(size: Cardinality) -> Data {
        Data { size, tables: tables(size) }
    }

    pub const fn size(&self) -> Cardinality {
        self.size
    }
}

fn tables(size: Cardinality) -> Vec<Table> {
    let table = |name, spread_by, columns, chunks, rows: u32| Table {
        spread_by: Some(spread_by),
        ..Table::new(name, columns, chunks, rows.into())
    };
    let accounts = size.accounts_all();
    vec![
        table("pgbench_branches", "bid", &["bid", "bbalance", "filler"], 1, size.branches),
        table("pgbench_tellers", "tid", &["tid", "bid", "tbalance", "filler"], 1, size.tellers_all()),
        table(
            "pgbench_accounts",
            "aid",
            &["aid", "bid", "abalance", "filler"],
            accounts.div_ceil(ACCOUNTS_A_CHUNK),
            accounts,
        ),
        // Empty: it gets a row a call.
        table("pgbench_history", "aid", &["tid", "bid", "aid", "delta", "mtime", "filler"], 1, 0),
    ]
}

impl Dataset for Data {
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn fill(&self, table: usize, chunk: u32, sink: &mut dyn RowSink) {
        let size = self.size;
        match table {
            BRANCHES => {
                for bid in size.ids(1) {
                    give(sink, &[bid, 0], None);
                }
            }
            TELLERS => {
                for tid in size.ids(size.tellers) {
                    give(sink, &[tid, size.branch_of_teller(tid), 0], None);
                }
            }
            ACCOUNTS => {
                let ids = size.ids(size.accounts);
                let first = ids.start() + chunk * ACCOUNTS_A_CHUNK;
                for aid in first..=*ids.end().min(&(first + ACCOUNTS_A_CHUNK - 1)) {
                    give(sink, &[aid, size.branch_of_account(aid), 0], Some(FILLER));
                }
            }
            _ => {}
        }
    }
}

fn give(sink: &mut dyn RowSink, numbers: &[u32], filler: Option<&str>) {
    numbers.iter().for_each(|number| sink.int(i64::from(*number)));
    match filler {
        Some(text) => sink.text(text),
        None => sink.null(),
    }
    sink.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows as text, null as a dash.
    #[derive(Default)]
    struct Rows {
        rows: Vec<String>,
        row: Vec<String>,
    }

    impl RowSink for Rows {
        fn int(&mut self, value: i64) {
            self.row.push(value.to_string());
        }
        fn text(&mut self, value: &str) {
            self.row.push(format!("{} characters", value.len()));
        }
        fn null(&mut self) {
            self.row.push("-".into());
        }
        fn end(&mut self) {
            self.rows.push(self.row.join(" "));
            self.row.clear();
        }
    }

    fn rows(data: &Data, table: usize) -> Vec<String> {
        let mut sink = Rows::default();
        (0..data.tables()[table].chunks).for_each(|chunk| data.fill(table, chunk, &mut sink));
        assert_eq!(sink.rows.len() as u64, data.tables()[table].rows);
        sink.rows
    }

    #[test]
    fn the_rows_are_those_of_pgbench() {
        let data = Data::new(Cardinality::standard(2));
        assert_eq!(rows(&data, BRANCHES), ["1 0 -", "2 0 -"]);
        let tellers = rows(&data, TELLERS);
        assert_eq!((tellers.len(), &*tellers[9], &*tellers[10]), (20, "10 1 0 -", "11 2 0 -"));
        let accounts = rows(&data, ACCOUNTS);
        assert_eq!(accounts.len(), 200_000);
        assert_eq!(accounts[0], "1 1 0 84 characters");
        assert_eq!(accounts[99_999], "100000 1 0 84 characters");
        assert_eq!(accounts[100_000], "100001 2 0 84 characters");
        assert_eq!(rows(&data, 3), [""; 0]);
    }

    #[test]
    fn a_last_chunk_may_be_short() {
        let data = Data::new(Cardinality::of(3, 7_001, 1));
        assert_eq!(rows(&data, ACCOUNTS).len(), 21_003);
    }

    #[test]
    fn parts_are_even_blocks_that_make_the_whole() {
        for (branches, shards) in [(1, 1), (7, 1), (7, 2), (7, 7), (10, 3), (BRANCHES_MAX, 64)] {
            let whole = Cardinality { shards, ..Cardinality::of(branches, 3, 2) };
            let parts: Vec<Cardinality> = whole.parts().collect();
            assert_eq!(parts.len(), shards as usize);
            let blocks: Vec<u32> = parts.iter().flat_map(|part| part.ids(1)).collect();
            assert!(blocks.into_iter().eq(whole.ids(1)), "{branches} over {shards}");
            let sizes = parts.iter().map(|part| part.branches);
            assert!(sizes.clone().max() <= sizes.min().map(|least| least + 1), "{parts:?}");
            for (shard, part) in (0..).zip(&parts) {
                assert!(part.ids(1).all(|bid| whole.shard(bid) == shard), "{part:?}");
                assert!(part.parts().eq([*part]));
            }
            // A call that names no branch goes to some store, which knows no such branch.
            assert!(whole.shard(0) == 0 && whole.shard(u32::MAX) == shards - 1);
        }
    }

    #[test]
    fn the_rows_of_the_parts_are_those_of_the_whole() {
        let whole = Cardinality { shards: 2, ..Cardinality::of(5, 7_001, 3) };
        for table in [BRANCHES, TELLERS, ACCOUNTS] {
            let parts: Vec<String> = whole.parts().flat_map(|part| rows(&Data::new(part), table)).collect();
            assert_eq!(parts, rows(&Data::new(whole), table));
        }
    }

    /// Databases that were loaded before there were parts are read as what they are, and written as they were.
    #[test]
    fn only_parts_and_what_is_split_say_so() {
        let whole = Cardinality { shards: 2, ..Cardinality::tiny() };
        let text = |size: Cardinality| serde_json::to_string(&size).unwrap();
        assert_eq!(text(Cardinality::tiny()), r#"{"branches":3,"accounts":50,"tellers":10}"#);
        assert_eq!(text(whole), r#"{"branches":3,"accounts":50,"tellers":10,"shards":2}"#);
        assert_eq!(text(whole.part(1)), r#"{"branches":2,"accounts":50,"tellers":10,"first":1}"#);
        for size in [Cardinality::tiny(), whole, whole.part(1)] {
            assert_eq!(serde_json::from_str::<Cardinality>(&text(size)).unwrap(), size);
        }
    }

    #[test]
    fn the_largest_scale_has_numbers_that_fit_into_32_bits() {
        let size = Cardinality::standard(BRANCHES_MAX);
        assert_eq!(u64::from(size.accounts_all()), u64::from(BRANCHES_MAX) * u64::from(ACCOUNTS_A_BRANCH));
        assert!(i32::try_from(size.accounts_all()).is_ok());
        assert_eq!(hottest_rows(10), 10);
    }
}
