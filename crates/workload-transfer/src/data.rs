//! The initial rows: accounts that all hold the same, and what range of them each store has. Nothing in them is random.

use model::rows::{Dataset, RowSink, Table};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use workload::Blocks;

/// Accounts of a branch.
pub const ACCOUNTS_A_BRANCH: u32 = 10_000;
/// Most branches that can be asked for: a thousand million accounts.
pub const BRANCHES_MAX: u32 = 100_000;
/// What every account holds at first, in the least unit of the currency.
pub const OPENING: i64 = 100_000;

/// How much data there is.
///
/// It may be split over stores, by branch: each holds a block of them with their accounts. Numbers of accounts are those of the
/// whole in every part, so that everything here works on a part as it does on the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cardinality {
    pub branches: u32,
    /// Accounts of a branch.
    pub accounts: u32,
    /// Branches of the stores before this part; 0 for the whole.
    #[serde(default)]
    pub first: u32,
    /// Stores that these branches are split over: 1 to as many as there are branches.
    pub shards: u32,
}

impl Cardinality {
    /// That of the workload, for scale `branches`.
    pub const fn standard(branches: u32) -> Cardinality {
        Cardinality::of(branches, ACCOUNTS_A_BRANCH)
    }

    /// Three branches of few accounts, for conformance and tests: calls meet often.
    pub const fn tiny() -> Cardinality {
        Cardinality::of(3, 8)
    }

    /// Several times as many accounts, also of branches that [`Cardinality::tiny`] has not.
    pub const fn larger() -> Cardinality {
        Cardinality::of(7, 300)
    }

    /// Branches with so many accounts each, in one store.
    pub const fn of(branches: u32, accounts: u32) -> Cardinality {
        Cardinality { branches, accounts, first: 0, shards: 1 }
    }

    /// What is in each store, in order: blocks of branches next to each other, as even as can be.
    pub fn parts(self) -> impl Iterator<Item = Cardinality> {
        (0..self.shards).map(move |shard| self.part(shard))
    }

    /// What is in one store, by its index.
    #[must_use]
    pub const fn part(self, shard: u32) -> Cardinality {
        let (from, until) = (self.blocks().before(shard), self.blocks().before(shard + 1));
        Cardinality { first: self.first + from, branches: until - from, shards: 1, ..self }
    }

    const fn blocks(self) -> Blocks {
        Blocks { items: self.branches, shards: self.shards }
    }

    pub const fn accounts_all(&self) -> u32 {
        self.branches * self.accounts
    }

    /// The numbers of the accounts.
    pub const fn ids(&self) -> RangeInclusive<u32> {
        self.first * self.accounts + 1..=(self.first + self.branches) * self.accounts
    }

    /// The branch that an account belongs to, from 0, counted in the whole.
    pub const fn branch_of(&self, account: u32) -> u32 {
        account.saturating_sub(1) / self.accounts
    }

    /// The store that an account is in, by its index; for an account that does not exist one of those that do.
    pub const fn shard_of(&self, account: u32) -> u32 {
        self.blocks().shard_of(self.branch_of(account).saturating_sub(self.first))
    }

    /// Whether a transfer between two accounts counts as one that crosses: between two stores where there are several, and
    /// between two branches where there is one.
    pub const fn is_across(&self, source: u32, target: u32) -> bool {
        match self.shards {
            1 => self.branch_of(source) != self.branch_of(target),
            _ => self.shard_of(source) != self.shard_of(target),
        }
    }
}

/// Accounts in a chunk.
const ACCOUNTS_A_CHUNK: u32 = 10_000;

const RANGE: usize = 0;
const ACCOUNT: usize = 1;

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
}

fn tables(size: Cardinality) -> Vec<Table> {
    let accounts = size.accounts_all();
    vec![
        Table::new("shard_range", &["first_account", "last_account"], 1, 1),
        Table::new("account", &["id", "balance"], accounts.div_ceil(ACCOUNTS_A_CHUNK), accounts.into()),
        // Empty: they get a row, and two, a transfer.
        Table::new(
            "transfer",
            &["run", "worker", "sequence", "source", "target", "amount", "state", "balance", "created"],
            1,
            0,
        ),
        Table::new("entry", &["run", "worker", "sequence", "source", "account", "amount"], 1, 0),
        Table::new("outbox", &["created", "run", "worker", "sequence", "source", "target", "amount"], 1, 0),
        Table::new(
            "inbox",
            &["run", "worker", "sequence", "source", "target", "amount", "state", "batch"],
            1,
            0,
        ),
        Table::new("settlement", &["batch", "created", "run", "worker", "sequence", "source", "state"], 1, 0),
        Table::new("forgotten", &["sort", "run", "worker", "transfers", "units", "mixed"], 1, 0),
        Table::new("decision", &["run", "worker", "sequence", "source", "target"], 1, 0),
    ]
}

impl Dataset for Data {
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn fill(&self, table: usize, chunk: u32, sink: &mut dyn RowSink) {
        let (first, last) = self.size.ids().into_inner();
        match table {
            RANGE => give(sink, first.into(), last.into()),
            ACCOUNT => {
                let from = first + chunk * ACCOUNTS_A_CHUNK;
                for id in from..=last.min(from + ACCOUNTS_A_CHUNK - 1) {
                    give(sink, id.into(), OPENING);
                }
            }
            _ => {}
        }
    }
}

fn give(sink: &mut dyn RowSink, one: i64, other: i64) {
    sink.int(one);
    sink.int(other);
    sink.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Rows(Vec<Vec<i64>>, Vec<i64>);

    impl RowSink for Rows {
        fn int(&mut self, value: i64) {
            self.1.push(value);
        }
        fn text(&mut self, _: &str) {
            panic!("there is no text");
        }
        fn null(&mut self) {
            panic!("nothing is unknown");
        }
        fn end(&mut self) {
            self.0.push(std::mem::take(&mut self.1));
        }
    }

    fn rows(size: Cardinality, table: usize) -> Vec<Vec<i64>> {
        let (data, mut sink) = (Data::new(size), Rows::default());
        (0..data.tables()[table].chunks).for_each(|chunk| data.fill(table, chunk, &mut sink));
        assert_eq!(sink.0.len() as u64, data.tables()[table].rows);
        sink.0
    }

    #[test]
    fn every_account_holds_the_same_and_a_last_chunk_may_be_short() {
        let found = rows(Cardinality::of(3, 7_001), ACCOUNT);
        assert_eq!(
            (found.len(), &*found[0], &*found[21_002]),
            (21_003, &[1, OPENING][..], &[21_003, OPENING][..])
        );
        assert_eq!(rows(Cardinality::standard(2), RANGE), [[1, 20_000]]);
    }

    #[test]
    fn the_rows_of_the_parts_are_those_of_the_whole() {
        let whole = Cardinality { shards: 2, ..Cardinality::of(5, 3) };
        let parts: Vec<_> = whole.parts().collect();
        assert_eq!(parts.iter().map(|part| part.branches).collect::<Vec<_>>(), [2, 3]);
        let of_parts = |table| parts.iter().flat_map(|part| rows(*part, table)).collect::<Vec<_>>();
        assert_eq!(of_parts(ACCOUNT), rows(whole, ACCOUNT));
        assert_eq!(of_parts(RANGE), [[1, 6], [7, 15]]);
        for (shard, part) in (0..).zip(&parts) {
            assert!(part.ids().all(|id| whole.shard_of(id) == shard && part.shard_of(id) == 0));
            assert!(part.parts().eq([*part]));
        }
        assert_eq!([whole.shard_of(0), whole.shard_of(u32::MAX)], [0, 1]);
    }

    #[test]
    fn what_crosses_is_a_store_where_there_are_several_and_else_a_branch() {
        let one = Cardinality::of(4, 10);
        assert!(!one.is_across(1, 10) && one.is_across(10, 11));
        let two = Cardinality { shards: 2, ..one };
        assert!(!two.is_across(10, 11) && two.is_across(20, 21));
    }

    #[test]
    fn the_largest_scale_has_numbers_and_money_that_fit() {
        let size = Cardinality::standard(BRANCHES_MAX);
        assert!(i32::try_from(u64::from(BRANCHES_MAX) * u64::from(ACCOUNTS_A_BRANCH)).is_ok());
        assert!(i64::from(size.accounts_all()).checked_mul(OPENING).is_some());
    }
}
