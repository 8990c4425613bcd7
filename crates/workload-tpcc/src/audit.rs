//! What must hold in the stored data: the twelve consistency conditions (3.3.2), and the shape that a right run leaves
//! behind, which the conditions do not catch. Queries are in `spec/sql/tpcc/audits.sql` and, of texts, `loaded_texts.sql`; judging them is
//! here.
//!
//! They know no engine and no record of a load: databases of other tools with the standard's tables are judged alike.

mod inputs;
mod judge;
mod skew;

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
    /// Whether we have loaded it: others write c_data in ways of their own.
    pub ours: bool,
    /// Whether other runs may have used the data before. With the same seed they made the same draws, so that a share of all
    /// of them is not a nearer to its expectation than that of one run.
    pub used_before: bool,
    /// The first order number that is one run's in each district, where that is known; all of later numbers are that run's.
    /// Skew is judged by these alone: with another seed the constants of NURand differ, and the same draws made again are as
    /// uneven as few are. Where it is not known, orders of several runs may be judged together.
    pub run_from: Option<u32>,
    /// The first and the last date that rows of that run may have, in seconds since 1970.
    pub dates: (i64, i64),
}

impl Context {
    /// For data of the standard's size.
    pub const fn standard(warehouses: u32) -> Context {
        Context::fresh(Cardinality::standard(warehouses))
    }

    /// For data that we have loaded, and one run at most has used.
    pub const fn fresh(size: Cardinality) -> Context {
        Context { size, ours: true, used_before: false, run_from: None, dates: ANY_DATE }
    }

    /// Values of the queries' parameters: initial orders of a district, the first of them that was not delivered,
    /// customers of a district, the first order by which skew is judged, last names that calls draw; the first and the last
    /// date of the run, the first order that no one but the run can have delivered, and the first date of payments that were not
    /// loaded.
    pub fn params(&self) -> Vec<i64> {
        let Cardinality { orders, customers, names, .. } = self.size;
        let run_from = self.run_from.unwrap_or(orders + 1);
        let undelivered_from = self.size.undelivered_from();
        let ((first, last), (delivered_from, paid_from)) = (
            self.dates,
            if self.used_before { (run_from, ANY_DATE.0) } else { (undelivered_from, self.dates.0) },
        );
        let numbers = [orders, undelivered_from, customers, run_from, names].map(i64::from);
        numbers.into_iter().chain([first, last, delivered_from.into(), paid_from]).collect()
    }
}

/// All audits for an engine, in groups that may run side by side.
pub fn audits(dialect: Dialect) -> Result<Vec<AuditGroup>, CatalogueError> {
    groups(GROUPS, &catalogue(dialect)?)
}

/// The query whose rows [`crate::StoredTally::from_row`] reads, in the order of (warehouse, district).
pub fn district_tallies(dialect: Dialect) -> Result<String, CatalogueError> {
    catalogue(dialect)?.text(TALLIES)
}

/// See [`workload::Benchmark::totals`].
pub fn totals(dialect: Dialect) -> Result<String, CatalogueError> {
    catalogue(dialect)?.text(TOTALS)
}

const TALLIES: &str = "district_tallies";
const TOTALS: &str = "totals";
const ORDER_CUSTOMERS: &str = "order_customers";
const LAST_NAMES: &str = "last_names";

/// The audits, by name, of rules of the load without which calls cannot be answered, whoever loaded the data: Order-Status
/// needs an order of each customer, and calls by last name a customer of each name that they draw.
pub const OF_LOAD: &[&str] = &["order-customers", "last-names", "cardinality"];

fn catalogue(dialect: Dialect) -> Result<Catalogue, CatalogueError> {
    let canonical = Catalogue::parse(concat!(
        include_str!("../spec/sql/tpcc/audits.sql"),
        include_str!("../spec/sql/tpcc/loaded_texts.sql")
    ))?;
    match dialect {
        // SQLite takes the canonical form.
        Dialect::Sqlite => Ok(canonical),
        Dialect::Postgres => {
            canonical.overridden(&Catalogue::parse(include_str!("../spec/sql/tpcc/audits.postgres.sql"))?)
        }
        Dialect::MySql => {
            canonical.overridden(&Catalogue::parse(include_str!("../spec/sql/tpcc/audits.mysql.sql"))?)
        }
    }
}

type Ask = About<Context>;

/// The heaviest group first, so that threads end at about the same time.
const GROUPS: &[AuditSet<Context>] = &[
    AuditSet {
        prepare: &[
            "prepare_line_sums",
            "prepare_line_sums_rows",
            "prepare_delivered_sums",
            "prepare_delivered_sums_rows",
            "prepare_paid_sums",
            "prepare_paid_sums_rows",
            "prepare_customer_sums",
            "prepare_customer_sums_rows",
        ],
        audits: &[
            Ask::condition(
                "district_line_counts",
                "3.3.2.4",
                "the orders of a district say how many lines they have, and as many are stored",
                &["warehouse", "district", "lines said", "lines stored"],
            ),
            Ask::condition(
                "order_line_counts",
                "3.3.2.6",
                "each order has as many lines as it says",
                &["warehouse", "district", "order", "lines said", "lines stored"],
            ),
            Ask::condition(
                "delivery_dates",
                "3.3.2.7",
                "the lines of an order have a delivery date exactly where the order has a carrier",
                &["warehouse", "district", "order", "carrier", "lines", "lines without a date"],
            ),
            Ask::condition(
                "customer_balances",
                "3.3.2.10",
                "a customer's balance is what was delivered less what was paid",
                &["warehouse", "district", "customer", "balance", "delivered", "paid"],
            ),
            Ask::condition(
                "delivered_orders",
                "3.3.2.11",
                "the orders of a district that wait no more are those that have been delivered",
                &["warehouse", "district", "orders", "orders waiting", "deliveries counted"],
            ),
            Ask::condition(
                "customer_balances_and_payments",
                "3.3.2.12",
                "a customer's balance and payments together are what was delivered",
                &["warehouse", "district", "customer", "balance", "payments", "delivered"],
            ),
            Ask::shape(
                "payment_counters",
                "2.5.2.2",
                "each customer counts as many payments, of as much, as history holds",
                &[
                    "warehouse",
                    "district",
                    "customer",
                    "payments counted",
                    "in history",
                    "amount counted",
                    "in history",
                ],
            ),
            Ask::shape(
                "delivery_counters",
                "2.7.4.2",
                "each customer counts as many deliveries as its orders show",
                &["warehouse", "district", "customer", "deliveries counted", "orders delivered"],
            ),
            Ask::shape(
                "line_ranges",
                "2.4.1.3",
                "an order has 5 to 15 lines, numbered without a gap, of 1 to 10 pieces each",
                &[
                    "warehouse",
                    "district",
                    "order",
                    "lines",
                    "lowest number",
                    "highest number",
                    "fewest pieces",
                    "most pieces",
                ],
            ),
            Ask::shape(
                "orphaned_lines",
                "2.4.2.3",
                "no line is left of an order that was rolled back or lost",
                &["warehouse", "district", "order", "lines"],
            ),
            Ask::shape(
                "unknown_items",
                "2.4.1.4",
                "an order for an item that is not sold was rolled back whole",
                &["warehouse", "district", "order", "lowest item", "highest item"],
            ),
            Ask::shape(
                "all_local",
                "2.4.2.2",
                "o_all_local of each order is 1 if and only if all its lines come from its own warehouse",
                &["warehouse", "district", "order", "said to be local", "remote lines"],
            ),
            Ask::shape(
                "bad_credit_data",
                "2.5.2.2",
                "what is noted of a customer with bad credit begins with one of its newest payments and keeps those before",
                &[
                    "warehouse",
                    "district",
                    "customer",
                    "payments",
                    "seconds between the newest and what is noted",
                    "characters",
                    "characters of payments and of the least that was loaded",
                    "payments that are not noted",
                ],
            )
            .judged(judge::of_our_load),
            Ask::shape(
                "run_dates",
                "2.4.2.2",
                "orders, deliveries and payments of the run have dates within 26 hours of it",
                &["what", "warehouse", "district", "rows", "earliest, in seconds since 1970", "latest"],
            ),
            Ask::figure("bad_credit", "4.3.3.1", "one customer in ten has bad credit", judge::bad_credit),
        ],
    },
    AuditSet {
        prepare: &["prepare_sold_sums", "prepare_sold_sums_rows"],
        audits: &[
            Ask::shape(
                "stock_counters",
                "2.4.2.2",
                "each stock counts what orders took from it, whichever warehouse they were placed at, and keeps 10 to \
                 100 pieces",
                &[
                    "warehouse",
                    "item",
                    "pieces counted",
                    "in lines",
                    "orders counted",
                    "lines",
                    "remote counted",
                    "remote lines",
                    "pieces left",
                ],
            ),
            Ask::shape(
                "line_amounts",
                "2.4.2.2",
                "the amount of a line is its quantity times the item's price",
                &["supplying warehouse", "item", "lines", "wrong amounts"],
            ),
            Ask::shape(
                "sold_without_stock",
                "2.4.2.2",
                "what was sold exists as an item and as a stock",
                &["supplying warehouse", "item", "lines", "lines without an item"],
            ),
            Ask::shape(
                "line_texts",
                "2.4.2.2",
                "what is noted of a line about its district is what its stock has for that",
                &["warehouse", "district", "lines", "lowest order"],
            )
            .judged(judge::of_our_load),
            Ask::figure(
                "remote_lines",
                "2.4.1.5",
                "one line in a hundred is supplied by another warehouse",
                judge::remote_lines,
            ),
            Ask::figure(
                "item_skew",
                "2.1.6",
                "some items are ordered far more often than others, as the standard asks",
                judge::item_skew,
            ),
        ],
    },
    AuditSet {
        prepare: &["prepare_received_sums", "prepare_received_sums_rows"],
        audits: &[
            Ask::shape(
                "loaded_texts",
                "4.3.3.1",
                "c_data, s_data and i_data are as long as they can be loaded",
                &["text", "warehouse", "rows", "lowest number"],
            )
            .judged(judge::of_our_load),
            Ask::condition(
                "warehouse_ytd",
                "3.3.2.1",
                "a warehouse has received what its districts have",
                &["warehouse", "received", "received by districts"],
            ),
            Ask::condition(
                "next_order_numbers",
                "3.3.2.2",
                "the next order number is one more than the highest in use",
                &["warehouse", "district", "next number", "highest order", "highest new order"],
            ),
            Ask::condition(
                "new_order_gaps",
                "3.3.2.3",
                "the orders that wait follow each other without a gap",
                &["warehouse", "district", "lowest", "highest", "rows"],
            ),
            Ask::condition(
                "carriers",
                "3.3.2.5",
                "an order has no carrier exactly where it waits for delivery",
                &["warehouse", "district", "order", "carrier", "new order"],
            ),
            Ask::condition(
                "warehouse_history",
                "3.3.2.8",
                "a warehouse has received what its payments in history add up to",
                &["warehouse", "received", "in history"],
            ),
            Ask::condition(
                "district_history",
                "3.3.2.9",
                "a district has received what its payments in history add up to",
                &["warehouse", "district", "received", "in history"],
            ),
            Ask::shape(
                "order_numbers",
                "2.4.2.2",
                "order numbers have no gap: no order is lost, and none is left of one that was rolled back",
                &["warehouse", "district", "next number", "lowest", "orders"],
            ),
            Ask::shape(
                "payment_texts",
                "2.5.2.2",
                "history notes of each payment the names of its warehouse and its district",
                &["warehouse", "district", "payments"],
            )
            .judged(judge::of_our_load),
            Ask::shape(
                "payment_amounts",
                "2.5.1.3",
                "a payment is 1.00 to 5,000.00",
                &["warehouse", "district", "least", "most"],
            ),
            Ask::shape(
                "cardinality",
                "1.2.1",
                "every warehouse has ten districts, each with its customers, and a stock of every item",
                &["warehouse", "districts", "customers", "stocks"],
            ),
            Ask::shape(
                ORDER_CUSTOMERS,
                "4.3.3.1",
                "each customer of a district has one of the orders that were loaded",
                &["warehouse", "district", "orders", "customers with one", "lowest customer", "highest customer"],
            ),
            Ask::shape(
                LAST_NAMES,
                "4.3.2.3",
                "each last name that calls draw is that of some customer in each district",
                &["warehouse", "district", "names found", "names drawn"],
            ),
            Ask::figure(
                "remote_payments",
                "2.5.1.2",
                "15 payments in a hundred are for a customer of another warehouse",
                judge::remote_payments,
            ),
            Ask::figure(
                "customer_skew",
                "2.1.6",
                "some customers order far more often than others, as the standard asks",
                judge::customer_skew,
            ),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn file_and_code_name_the_same_queries() {
        let groups = audits(Dialect::Sqlite).unwrap();
        assert_eq!(groups.iter().map(|group| group.audits.len()).sum::<usize>(), 36);
        let asked: Vec<&str> = GROUPS
            .iter()
            .flat_map(|group| group.prepare.iter().copied().chain(group.audits.iter().map(About::query)))
            .chain([TALLIES, TOTALS])
            .collect();
        catalogue(Dialect::Sqlite).unwrap().select(&asked).unwrap();
        assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len(), "a query is asked twice");
        assert!(district_tallies(Dialect::Sqlite).unwrap().contains("d_next_o_id"));
    }

    #[test]
    fn what_a_load_must_keep_is_audited() {
        let groups = audits(Dialect::Sqlite).unwrap();
        let named =
            |name: &&&str| groups.iter().flat_map(|group| &group.audits).any(|audit| audit.name == **name);
        assert_eq!(OF_LOAD.iter().filter(named).count(), OF_LOAD.len());
        assert_eq!(OF_LOAD[..2], [ORDER_CUSTOMERS, LAST_NAMES].map(|query| query.replace('_', "-")));
    }

    #[test]
    fn all_twelve_conditions_are_there() {
        let clauses: BTreeSet<&str> = GROUPS
            .iter()
            .flat_map(|group| group.audits)
            .filter(|about| about.family() == Family::Consistency)
            .map(|about| about.clause())
            .collect();
        let expected: BTreeSet<String> = (1..=12).map(|number| format!("3.3.2.{number}")).collect();
        assert_eq!(clauses, expected.iter().map(String::as_str).collect());
    }
}
