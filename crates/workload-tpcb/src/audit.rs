//! What must hold in the stored data: balances and history agree, the bank keeps its shape, and what calls have left behind
//! is what pgbench's script draws. Queries are in `spec/sql/tpcb/audits.sql`; judging them is here.
//!
//! They know no engine and no record of a load: databases of `pgbench -i` are judged alike.

mod inputs;
mod judge;
mod spread;

use crate::Cardinality;
use sql::{Catalogue, CatalogueError, Dialect, Value};

pub use inputs::{InputFinding, input_audit};

/// Audits that share temporary tables, and so a connection.
#[derive(Debug, Clone)]
pub struct AuditGroup {
    /// Statements that make the temporary tables, in order.
    pub prepare: Vec<String>,
    /// The audits.
    pub audits: Vec<Audit>,
}

/// A query and what its rows mean.
#[derive(Debug, Clone)]
pub struct Audit {
    /// Its name in results: `balance-sums`.
    pub name: String,
    /// What it belongs to.
    pub family: Family,
    /// The part of pgbench's transaction, script or initialization that asks for it.
    pub clause: &'static str,
    /// What it checks, for somebody who does not know pgbench.
    pub sentence: &'static str,
    /// The query; parameters are those of [`Context::params`].
    pub query: String,
    /// Rows that are enough for a judgement.
    pub rows_max: usize,
    columns: &'static [&'static str],
    judge: judge::Judge,
}

/// What an audit belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Balances and history agree.
    Consistency,
    /// The shape of the bank, and of what a run left behind.
    Shape,
}

/// What is known about the database beside its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// How much was loaded.
    pub size: Cardinality,
    /// Whether history is known to go back to the load: it was loaded by us, and nobody has emptied it. pgbench empties it
    /// before a run unless told not to (`-n`), and what is then missing cannot be told from what was lost.
    pub history_whole: bool,
}

impl Context {
    /// For data of pgbench's size, of whose past nothing is known.
    #[must_use]
    pub const fn standard(branches: u32) -> Context {
        Context { size: Cardinality::standard(branches), history_whole: false }
    }

    /// Values of the queries' parameters: branches, accounts a branch, tellers a branch.
    #[must_use]
    pub fn params(&self) -> Vec<i64> {
        let Cardinality { branches, accounts, tellers } = self.size;
        [branches, accounts, tellers].map(i64::from).to_vec()
    }
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// How it ended.
    pub verdict: Verdict,
    /// What holds or does not, in one sentence.
    pub sentence: String,
    /// The first violations.
    pub details: Vec<String>,
    /// The figure that was judged, where one was.
    pub figure: Option<Figure>,
}

/// How an audit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Holds.
    Passed,
    /// Does not hold.
    Failed,
    /// Cannot be told from this data: too few samples, one branch only, or a history that was emptied. Not a pass.
    NotTold,
}

/// A share or a ratio, and what it should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// Measured; a share is 0 to 1, a spread that is what chance gives is 1.
    pub measured: f64,
    /// Expected.
    pub expected: f64,
    /// How far it may be off for this many samples.
    pub tolerance: f64,
    /// Samples behind it.
    pub samples: u64,
}

impl Audit {
    /// Judges what the query returned.
    #[must_use]
    pub fn judge(&self, rows: &[Vec<Value>], context: &Context) -> Finding {
        (self.judge)(self, rows, context)
    }
}

/// All audits for an engine, in groups that may run side by side.
///
/// # Errors
/// When file and code disagree; a test keeps that from happening.
pub fn audits(dialect: Dialect) -> Result<Vec<AuditGroup>, CatalogueError> {
    let catalogue = catalogue(dialect)?;
    let text = |name: &str| named(&catalogue, name);
    GROUPS
        .iter()
        .map(|group| {
            Ok(AuditGroup {
                prepare: group.prepare.iter().map(|name| text(name)).collect::<Result<_, _>>()?,
                audits: group
                    .audits
                    .iter()
                    .map(|about| {
                        Ok(Audit {
                            name: about.query.replace('_', "-"),
                            family: about.family,
                            clause: about.clause,
                            sentence: about.sentence,
                            query: text(about.query)?,
                            rows_max: judge::VIOLATIONS_SHOWN + 1,
                            columns: about.columns,
                            judge: about.judge,
                        })
                    })
                    .collect::<Result<_, _>>()?,
            })
        })
        .collect()
}

/// The query whose rows [`crate::StoredTally::from_row`] reads, in the order of a ledger. It reads accounts and history
/// whole.
///
/// # Errors
/// When the file is malformed; a test keeps that from happening.
pub fn tallies(dialect: Dialect) -> Result<String, CatalogueError> {
    named(&catalogue(dialect)?, TALLIES)
}

/// The query whose one number is the scale of a database that somebody else has made.
///
/// # Errors
/// When the file is malformed; a test keeps that from happening.
pub fn scale(dialect: Dialect) -> Result<String, CatalogueError> {
    named(&catalogue(dialect)?, SCALE)
}

const TALLIES: &str = "tallies";
const SCALE: &str = "scale";

fn named(catalogue: &Catalogue, name: &str) -> Result<String, CatalogueError> {
    catalogue.get(name).map(str::to_owned).ok_or_else(|| CatalogueError::Missing(name.to_owned()))
}

fn catalogue(dialect: Dialect) -> Result<Catalogue, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../../../spec/sql/tpcb/audits.sql"))?;
    match dialect {
        // Both take the canonical form.
        Dialect::Sqlite | Dialect::Postgres => Ok(canonical),
        Dialect::MySql => {
            canonical.overridden(&Catalogue::parse(include_str!("../../../spec/sql/tpcb/audits.mysql.sql"))?)
        }
    }
}

struct Group {
    prepare: &'static [&'static str],
    audits: &'static [About],
}

struct About {
    query: &'static str,
    family: Family,
    clause: &'static str,
    sentence: &'static str,
    columns: &'static [&'static str],
    judge: judge::Judge,
}

/// Balances and history: the query returns what violates it.
const fn condition(
    query: &'static str,
    sentence: &'static str,
    columns: &'static [&'static str],
    judge: judge::Judge,
) -> About {
    About { query, family: Family::Consistency, clause: "transaction", sentence, columns, judge }
}

/// A property of shape whose query returns what violates it.
const fn shape(
    query: &'static str,
    clause: &'static str,
    sentence: &'static str,
    columns: &'static [&'static str],
) -> About {
    About { query, family: Family::Shape, clause, sentence, columns, judge: judge::violations }
}

/// A property of shape whose query returns figures.
const fn figure(
    query: &'static str,
    clause: &'static str,
    sentence: &'static str,
    judge: judge::Judge,
) -> About {
    About { query, family: Family::Shape, clause, sentence, columns: &[], judge }
}

/// The heaviest group first, so that threads end at about the same time.
const GROUPS: &[Group] = &[
    Group {
        prepare: &["prepare_account_moves", "prepare_account_moves_rows"],
        audits: &[
            condition(
                "account_history",
                "each account's balance is what history has moved there",
                &["account", "balance", "in history", "rows of history"],
                judge::since_the_load,
            ),
            figure("account_spread", "set aid", "calls are spread evenly over accounts", judge::spread),
        ],
    },
    Group {
        prepare: &[],
        audits: &[
            condition(
                "balance_sums",
                "accounts, tellers and branches hold the same in all",
                &["accounts hold", "tellers hold", "branches hold"],
                judge::violations,
            ),
            condition(
                "history_sum",
                "branches hold in all what history has moved",
                &["branches hold", "in history", "rows of history"],
                judge::since_the_load,
            ),
            condition(
                "branch_history",
                "each branch's balance is what history has moved there",
                &["branch", "balance", "in history", "rows of history"],
                judge::since_the_load,
            ),
            condition(
                "teller_history",
                "each teller's balance is what history has moved there",
                &["teller", "balance", "in history", "rows of history"],
                judge::since_the_load,
            ),
            shape(
                "row_counts",
                "initialization",
                "branches, tellers and accounts are all there, numbered without a gap",
                &["table", "rows wanted", "rows", "different ids", "lowest", "highest"],
            ),
            shape("missing_balances", "initialization", "everybody has a balance", &["table", "without one"]),
            shape(
                "account_branches",
                "initialization",
                "each account belongs to its branch",
                &["account", "branch"],
            ),
            shape(
                "teller_branches",
                "initialization",
                "each teller belongs to its branch",
                &["teller", "branch"],
            ),
        ],
    },
    Group {
        prepare: &[],
        audits: &[
            shape(
                "history_references",
                "transaction",
                "history names a teller, a branch and an account that exist",
                &["teller", "branch", "account", "amount"],
            ),
            shape(
                "history_amounts",
                "set delta",
                "each row of history has a time, and an amount of -5000 to 5000",
                &["teller", "branch", "account", "amount", "without a time"],
            ),
            figure("teller_spread", "set tid", "calls are spread evenly over tellers", judge::spread),
            figure("branch_spread", "set bid", "calls are spread evenly over branches", judge::spread),
            figure("amount_mean", "set delta", "amounts up and down cancel out", judge::amount_mean),
            figure(
                "amount_spread",
                "set delta",
                "amounts are as large as even chance makes them",
                judge::amount_spread,
            ),
            figure(
                "accounts_at_home",
                "set bid",
                "an account's branch has nothing to do with the call's",
                judge::at_home,
            ),
            figure(
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
            .flat_map(|group| {
                group.prepare.iter().copied().chain(group.audits.iter().map(|about| about.query))
            })
            .chain([TALLIES, SCALE])
            .collect();
        assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len(), "a query is asked twice");
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
            catalogue(dialect).unwrap().select(&asked).unwrap();
            assert_eq!(audits(dialect).unwrap().iter().map(|group| group.audits.len()).sum::<usize>(), 18);
            assert!(tallies(dialect).unwrap().contains("bbalance"));
            assert!(scale(dialect).unwrap().contains("pgbench_branches"));
        }
    }
}
