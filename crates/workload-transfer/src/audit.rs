//! What must hold in the stored data of each store: balances and ledger agree, each transfer has its entries, and no account is
//! in debt. Queries are in `spec/sql/transfer/audits.sql`; what must hold over all stores together is in [`crate::Claims`].

use crate::ledger::KINDS;
use crate::{AMOUNT_MAX, Cardinality, Ledger, OPENING, Transfers, input};
use model::{Mix, Workload};
use sql::audit::{About, AuditSet, InputFinding, groups};
use sql::{Catalogue, CatalogueError, Dialect};

pub use sql::audit::{AuditOutcome, Family, Finding};

/// Audits that share a connection.
pub type AuditGroup = sql::audit::AuditGroup<Cardinality>;

/// Values of the queries' parameters: the first account of a store, its last, the first balance of each, and the largest amount.
pub fn params(size: &Cardinality) -> Vec<i64> {
    let (first, last) = size.ids().into_inner();
    vec![first.into(), last.into(), OPENING, AMOUNT_MAX]
}

/// All audits for an engine, in groups that may run side by side.
pub fn audits(dialect: Dialect) -> Result<Vec<AuditGroup>, CatalogueError> {
    let catalogue = catalogue(dialect)?;
    let mut audits = groups(GROUPS, &catalogue)?;
    audits.extend(groups(of_branches(dialect), &catalogue)?);
    Ok(audits)
}

/// The query whose rows [`crate::Tally::from_row`] reads.
pub fn tallies(dialect: Dialect) -> Result<String, CatalogueError> {
    catalogue(dialect)?.text(TALLIES)
}

/// See [`workload::Benchmark::totals`].
pub fn totals(dialect: Dialect) -> Result<String, CatalogueError> {
    catalogue(dialect)?.text(TOTALS)
}

const TALLIES: &str = "tallies";
const TOTALS: &str = "totals";

/// What became of transfers that were pending at first, as [`workload::Settling`] describes.
pub fn settlement(dialect: Dialect) -> Result<String, CatalogueError> {
    catalogue(dialect)?.text(SETTLEMENT)
}

const SETTLEMENT: &str = "settlement";

/// What has become of one transfer, by its key.
pub fn stored_transfer(dialect: Dialect) -> Result<String, CatalogueError> {
    catalogue(dialect)?.text(STORED_TRANSFER)
}

const STORED_TRANSFER: &str = "stored_transfer";

fn catalogue(dialect: Dialect) -> Result<Catalogue, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../spec/sql/transfer/audits.sql"))?;
    let own = match dialect {
        // SQLite takes the canonical form.
        Dialect::Sqlite => return Ok(canonical),
        Dialect::Postgres => include_str!("../spec/sql/transfer/audits.postgres.sql"),
        Dialect::MySql => include_str!("../spec/sql/transfer/audits.mysql.sql"),
    };
    let of_set = |set: &AuditSet<Cardinality>| {
        let audits = set.audits.iter().map(About::query);
        set.prepare.iter().copied().chain(audits).collect::<Vec<_>>()
    };
    let names: Vec<&str> = of_branches(dialect).iter().flat_map(of_set).collect();
    canonical.extended(&Catalogue::parse(own)?, &names)
}

type Ask = About<Cardinality>;

/// What names an entry in violations.
const ENTRY: &[&str] = &["run", "worker", "sequence", "source", "account", "amount"];

const GROUPS: &[AuditSet<Cardinality>] = &[
    AuditSet {
        prepare: &[],
        audits: &[
            Ask::condition(
                "account_entries",
                "ledger",
                "the balance of each account is its opening balance plus its entries",
                &["account", "balance", "in entries", "entries"],
            ),
            Ask::condition("negative_balances", "accounts", "no account is in debt", &["account", "balance"]),
            Ask::shape(
                "row_counts",
                "data",
                "every account is there",
                &["accounts wanted", "accounts", "lowest", "highest"],
            ),
            Ask::shape(
                "shard_range",
                "data",
                "the store records which accounts it has",
                &["ranges", "first account", "last account"],
            ),
        ],
    },
    AuditSet {
        prepare: &[],
        audits: &[
            Ask::condition(
                "transfer_debits",
                "ledger",
                "each transfer took its amount from its source once, or nothing where it was declined",
                &["run", "worker", "sequence", "source", "amount", "state", "debited"],
            ),
            Ask::condition(
                "transfer_refunds",
                "ledger",
                "a transfer was returned once where it was refused, and nowhere else",
                &["run", "worker", "sequence", "source", "amount", "state", "refunded"],
            ),
            Ask::condition(
                "outbox_transfers",
                "transfers",
                "what is pending is in the outbox, and nothing else",
                &["run", "worker", "sequence", "source", "amount", "state", "in outbox"],
            ),
            Ask::condition(
                "inbox_entries",
                "ledger",
                "a credit from another store was applied to its account once, or not at all if it was refused",
                &["run", "worker", "sequence", "source", "target", "amount", "state", "credited"],
            ),
            Ask::condition(
                "decision_transfers",
                "transfers",
                "what the log of a coordinator has decided was done",
                &["run", "worker", "sequence", "source", "target", "made to", "state"],
            ),
            Ask::condition(
                "transfer_credits",
                "ledger",
                "each transfer gave its amount to its target once, or nothing where it was declined",
                &["run", "worker", "sequence", "source", "target", "amount", "state", "credited"],
            ),
            Ask::condition(
                "entry_transfers",
                "ledger",
                "each entry belongs to a transfer between its accounts",
                ENTRY,
            ),
            Ask::condition(
                "forgotten_entries",
                "ledger",
                "what was forgotten is what the ledger has of transfers that are gone",
                &["run", "worker", "transfers", "units", "entries", "taken"],
            ),
            Ask::shape(
                "entry_shape",
                "ledger",
                "entries are in the store of their account, and of the right sign",
                ENTRY,
            ),
            Ask::shape(
                "transfer_shape",
                "transfers",
                "transfers are valid, and declined only if the balance of the source was too low",
                &["run", "worker", "sequence", "source", "target", "amount", "state", "balance"],
            ),
        ],
    },
];

/// Of engines that keep a transaction which was prepared until it is decided.
const fn of_branches(dialect: Dialect) -> &'static [AuditSet<Cardinality>] {
    const UNDECIDED: &[Ask] = &[Ask::condition(
        "prepared_branches",
        "transfers",
        "no branch of a transfer is prepared and not decided",
        &["branch"],
    )];
    match dialect {
        Dialect::Sqlite => &[],
        Dialect::Postgres => &[AuditSet { prepare: &[], audits: UNDECIDED }],
        Dialect::MySql => &[AuditSet {
            prepare: &["prepare_branches", "prepare_branches_rows", "prepare_branches_wait"],
            audits: UNDECIDED,
        }],
    }
}

/// Whether calls came in the shares of a mix. With one branch there is nothing to cross; and a worker's first transfer may
/// stand where it was to come back to one.
pub fn input_audit(ledger: &Ledger, size: &Cardinality, mix: &Mix) -> Vec<InputFinding> {
    let calls: u64 = ledger.calls().iter().sum();
    let drawn = |kind: usize| match (kind, size.branches) {
        (0, 1) => (mix.share(0) + mix.share(1)).min(1.0),
        (1, 1) => 0.0,
        _ => mix.share(kind),
    };
    let share = |kind: usize| {
        let (name, counted) = (Transfers::KINDS[kind].name, ledger.calls()[kind]);
        InputFinding::of_share(name, counted, calls, drawn(kind), ledger.workers())
    };
    (0..KINDS).map(share).collect()
}

/// The mix where no other is asked for.
pub fn standard_mix() -> Mix {
    input::standard_mix()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn file_and_code_name_the_same_queries_on_every_engine() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
            let sets = || GROUPS.iter().chain(of_branches(dialect));
            let prepared = sets().flat_map(|set| set.prepare.iter().copied());
            let asked = sets().flat_map(|set| set.audits.iter().map(About::query));
            let asked: Vec<&str> =
                asked.chain(prepared).chain([TALLIES, TOTALS, SETTLEMENT, STORED_TRANSFER]).collect();
            let others = 4 + sets().map(|set| set.prepare.len()).sum::<usize>();
            assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len(), "a query is asked twice");
            catalogue(dialect).unwrap().select(&asked).unwrap();
            let found = audits(dialect).unwrap().iter().map(|group| group.audits.len()).sum::<usize>();
            assert_eq!(found, asked.len() - others);
            assert!(stored_transfer(dialect).unwrap().contains("select state"));
            assert!(settlement(dialect).unwrap().contains("from transfer"));
            assert!(tallies(dialect).unwrap().contains("from entry"));
        }
    }
}
