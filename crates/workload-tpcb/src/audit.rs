//! What must hold in the stored data: balances and history agree, the bank keeps its shape, and what calls have left behind
//! is what pgbench's script draws. Queries are in `spec/sql/tpcb/audits.sql`; judging them is here.
//!
//! They know no engine and no record of a load: databases of `pgbench -i` are judged alike.

mod inputs;
mod judge;
mod spread;

use crate::Cardinality;
use sql::audit::{About, AuditSet, groups};
use sql::{Catalogue, CatalogueError, Dialect};
use workload::ANY_DATE;

pub use inputs::input_audit;
pub use sql::audit::{AuditOutcome, Family, Figure, Finding, InputFinding};

/// Audits that share temporary tables, and so a connection.
pub type AuditGroup = sql::audit::AuditGroup<Context>;
/// A query and what its rows mean.
pub type Audit = sql::audit::Audit<Context>;

/// What is known about the database besides its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// How much was loaded.
    pub size: Cardinality,
    /// Whether history is known to go back to the load: it was loaded by us, and no one has emptied it. pgbench empties it
    /// before a run unless told not to (`-n`), and what is then missing cannot be told from what was lost.
    pub history_whole: bool,
    /// The first and the last date that rows of history may have, in seconds since 1970.
    pub dates: (i64, i64),
}

impl Context {
    /// For data of pgbench's size, of whose past nothing is known.
    pub const fn standard(branches: u32) -> Context {
        Context { size: Cardinality::standard(branches), history_whole: false, dates: ANY_DATE }
    }

    /// Values of the queries' parameters: branches, accounts a branch, tellers a branch, branches of the stores before, the first
    /// and the last date of history.
    pub fn params(&self) -> Vec<i64> {
        let Cardinality { branches, accounts, tellers, first, shards: _ } = self.size;
        let numbers = [branches, accounts, tellers, first].map(i64::from);
        numbers.into_iter().chain([self.dates.0, self.dates.1]).collect()
    }
}

/// All audits for an engine, in groups that may run side by side.
pub fn audits(dialect: Dialect) -> Result<Vec<AuditGroup>, CatalogueError> {
    groups(GROUPS, &catalogue(dialect)?)
}

/// The query whose rows [`crate::StoredTally::from_row`] reads, in the order of a ledger. It reads accounts and history
/// whole.
pub fn tallies(dialect: Dialect) -> Result<String, CatalogueError> {
    catalogue(dialect)?.text(TALLIES)
}

/// The query whose one number is the scale of a database that someone else has made.
pub fn scale(dialect: Dialect) -> Result<String, CatalogueError> {
    catalogue(dialect)?.text(SCALE)
}

const TALLIES: &str = "tallies";
const SCALE: &str = "scale";

fn catalogue(dialect: Dialect) -> Result<Catalogue, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../spec/sql/tpcb/audits.sql"))?;
    match dialect {
        // SQLite takes the canonical form.
        Dialect::Sqlite => Ok(canonical),
        Dialect::Postgres => {
            canonical.overridden(&Catalogue::parse(include_str!("../spec/sql/tpcb/audits.postgres.sql"))?)
        }
        Dialect::MySql => {
            canonical.overridden(&Catalogue::parse(include_str!("../spec/sql/tpcb/audits.mysql.sql"))?)
        }
    }
}

type Ask = About<Context>;

/// The heaviest group first, so that threads end at about the same time.
const GROUPS: &[AuditSet<Context>] = &[
    AuditSet {
        prepare: &["prepare_account_moves", "prepare_account_moves_rows"],
        audits: &[
            Ask::condition(
                "account_history",
                "transaction",
                "each account's balance is what history has moved there",
                &["account", "balance", "in history", "rows of history"],
            )
            .judged(judge::since_the_load),
            Ask::figure("account_spread", "set aid", "calls are spread evenly over accounts", judge::spread),
        ],
    },
    AuditSet {
        prepare: &[],
        audits: &[
            Ask::condition(
                "balance_sums",
                "transaction",
                "accounts, tellers and branches hold the same in all",
                &["accounts hold", "tellers hold", "branches hold"],
            ),
            Ask::condition(
                "history_sum",
                "transaction",
                "branches hold in all what history has moved",
                &["branches hold", "in history", "rows of history"],
            )
            .judged(judge::since_the_load),
            Ask::condition(
                "branch_history",
                "transaction",
                "each branch's balance is what history has moved there",
                &["branch", "balance", "in history", "rows of history"],
            )
            .judged(judge::since_the_load),
            Ask::condition(
                "teller_history",
                "transaction",
                "each teller's balance is what history has moved there",
                &["teller", "balance", "in history", "rows of history"],
            )
            .judged(judge::since_the_load),
            Ask::shape(
                "row_counts",
                "initialization",
                "branches, tellers and accounts are all there, numbered without a gap",
                &["table", "rows wanted", "rows", "different ids", "lowest", "highest"],
            ),
            Ask::shape(
                "missing_balances",
                "initialization",
                "everybody has a balance",
                &["table", "without one"],
            ),
            Ask::shape(
                "account_branches",
                "initialization",
                "each account belongs to its branch and has its filler",
                &["account", "branch"],
            ),
            Ask::shape(
                "teller_branches",
                "initialization",
                "each teller belongs to its branch",
                &["teller", "branch"],
            ),
        ],
    },
    AuditSet {
        prepare: &[],
        audits: &[
            Ask::shape(
                "history_references",
                "transaction",
                "history names a teller, a branch and an account that exist",
                &["teller", "branch", "account", "amount"],
            ),
            Ask::shape(
                "history_amounts",
                "set delta",
                "each row of history has a time, and an amount of -5000 to 5000",
                &["teller", "branch", "account", "amount", "without a time"],
            ),
            Ask::shape(
                "history_dates",
                "history.mtime",
                "rows of history have the dates of the run, where no other run has used the data",
                &["branch", "rows", "earliest, in seconds since 1970", "latest"],
            ),
            Ask::figure("teller_spread", "set tid", "calls are spread evenly over tellers", judge::spread),
            Ask::figure("branch_spread", "set bid", "calls are spread evenly over branches", judge::spread),
            Ask::figure("amount_mean", "set delta", "amounts up and down cancel out", judge::amount_mean),
            Ask::figure(
                "amount_spread",
                "set delta",
                "amounts are as large as even chance makes them",
                judge::amount_spread,
            ),
            Ask::figure(
                "accounts_at_home",
                "set bid",
                "an account's branch has nothing to do with the call's",
                judge::at_home,
            ),
            Ask::figure(
                "tellers_at_home",
                "set bid",
                "a teller's branch has nothing to do with the call's",
                judge::at_home,
            ),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn file_and_code_name_the_same_queries_on_every_engine() {
        let asked: Vec<&str> = GROUPS
            .iter()
            .flat_map(|group| group.prepare.iter().copied().chain(group.audits.iter().map(About::query)))
            .chain([TALLIES, SCALE])
            .collect();
        assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len(), "a query is asked twice");
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
            catalogue(dialect).unwrap().select(&asked).unwrap();
            assert_eq!(audits(dialect).unwrap().iter().map(|group| group.audits.len()).sum::<usize>(), 19);
            assert!(tallies(dialect).unwrap().contains("bbalance"));
            assert!(scale(dialect).unwrap().contains("pgbench_branches"));
        }
    }
}
