//! The initial rows, as `pgbench -i` makes them. Nothing in them is random.

use model::rows::{Dataset, RowSink, Table};
use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cardinality {
    /// Branches: the scale.
    pub branches: u32,
    /// Accounts of a branch.
    pub accounts: u32,
    /// Tellers of a branch.
    pub tellers: u32,
}

impl Cardinality {
    /// pgbench's, for scale `branches`.
    #[must_use]
    pub const fn standard(branches: u32) -> Cardinality {
        Cardinality { branches, accounts: ACCOUNTS_A_BRANCH, tellers: TELLERS_A_BRANCH }
    }

    /// Three branches that load in milliseconds, for conformance and tests: few accounts, so that calls meet.
    #[must_use]
    pub const fn tiny() -> Cardinality {
        Cardinality { branches: 3, accounts: 50, tellers: 10 }
    }

    /// Accounts in all.
    #[must_use]
    pub const fn accounts_all(&self) -> u32 {
        self.branches * self.accounts
    }

    /// Tellers in all.
    #[must_use]
    pub const fn tellers_all(&self) -> u32 {
        self.branches * self.tellers
    }

    /// The branch that an account belongs to. No call cares, but audits do.
    #[must_use]
    pub const fn branch_of_account(&self, aid: u32) -> u32 {
        (aid - 1) / self.accounts + 1
    }

    /// The branch that a teller belongs to.
    #[must_use]
    pub const fn branch_of_teller(&self, tid: u32) -> u32 {
        (tid - 1) / self.tellers + 1
    }
}

/// Rows of the smallest table that every call updates: one a branch. More than half as many clients as this, and what is
/// measured is how they wait for each other (the rule `hot-rows`).
#[must_use]
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
    #[must_use]
    pub fn new(size: Cardinality) -> Data {
        Data { size, tables: tables(size) }
    }

    /// How much there is.
    #[must_use]
    pub const fn size(&self) -> Cardinality {
        self.size
    }
}

fn tables(size: Cardinality) -> Vec<Table> {
    let table = |name, columns, chunks, rows: u32| Table { name, columns, chunks, rows: u64::from(rows) };
    let accounts = size.accounts_all();
    vec![
        table("pgbench_branches", &["bid", "bbalance", "filler"], 1, size.branches),
        table("pgbench_tellers", &["tid", "bid", "tbalance", "filler"], 1, size.tellers_all()),
        table(
            "pgbench_accounts",
            &["aid", "bid", "abalance", "filler"],
            accounts.div_ceil(ACCOUNTS_A_CHUNK),
            accounts,
        ),
        // Empty: it gets a row a call.
        table("pgbench_history", &["tid", "bid", "aid", "delta", "mtime", "filler"], 1, 0),
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
                for bid in 1..=size.branches {
                    give(sink, &[bid, 0], None);
                }
            }
            TELLERS => {
                for tid in 1..=size.tellers_all() {
                    give(sink, &[tid, size.branch_of_teller(tid), 0], None);
                }
            }
            ACCOUNTS => {
                let first = chunk * ACCOUNTS_A_CHUNK + 1;
                let last = size.accounts_all().min(first + ACCOUNTS_A_CHUNK - 1);
                for aid in first..=last {
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
        let data = Data::new(Cardinality { branches: 3, accounts: 7_001, tellers: 1 });
        assert_eq!(rows(&data, ACCOUNTS).len(), 21_003);
    }

    #[test]
    fn the_largest_scale_has_numbers_that_fit_into_32_bits() {
        let size = Cardinality::standard(BRANCHES_MAX);
        assert_eq!(u64::from(size.accounts_all()), u64::from(BRANCHES_MAX) * u64::from(ACCOUNTS_A_BRANCH));
        assert!(i32::try_from(size.accounts_all()).is_ok());
        assert_eq!(hottest_rows(10), 10);
    }
}
