//! What must hold in the stored data: no event is oversold, and what was loaded is available or booked. Queries are in
//! `spec/sql/booking/audits.sql`.

use crate::ledger::KINDS;
use crate::{Bookings, Cardinality, Ledger, QUANTITY_MAX, USER_MAX, input};
use model::{Mix, Workload};
use sql::audit::{About, AuditSet, InputFinding, groups};
use sql::{Catalogue, CatalogueError, Dialect};

pub use sql::audit::{AuditOutcome, Family, Finding};

/// Audits that share a connection.
pub type AuditGroup = sql::audit::AuditGroup<Cardinality>;

/// Values of the queries' parameters: events, tickets of each, every how-manieth is limited, the most tickets of a booking, the
/// largest number of a user.
pub fn params(size: &Cardinality) -> Vec<i64> {
    [size.events, size.stock, size.limited, QUANTITY_MAX, USER_MAX].map(i64::from).to_vec()
}

/// All audits for an engine, in groups that may run side by side.
pub fn audits(dialect: Dialect) -> Result<Vec<AuditGroup>, CatalogueError> {
    groups(GROUPS, &catalogue(dialect)?)
}

/// The query whose rows [`crate::Tally::from_row`] reads.
pub fn tallies(dialect: Dialect) -> Result<String, CatalogueError> {
    catalogue(dialect)?.text(TALLIES)
}

const TALLIES: &str = "tallies";

/// What is stored under one key.
pub fn stored_booking(dialect: Dialect) -> Result<String, CatalogueError> {
    catalogue(dialect)?.text(STORED_BOOKING)
}

const STORED_BOOKING: &str = "stored_booking";

/// What a user has booked of a limited event.
pub fn booking_of_user(dialect: Dialect) -> Result<String, CatalogueError> {
    catalogue(dialect)?.text(BOOKING_OF_USER)
}

const BOOKING_OF_USER: &str = "booking_of_user";

fn catalogue(dialect: Dialect) -> Result<Catalogue, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../spec/sql/booking/audits.sql"))?;
    match dialect {
        Dialect::Sqlite | Dialect::Postgres => Ok(canonical),
        Dialect::MySql => {
            canonical.overridden(&Catalogue::parse(include_str!("../spec/sql/booking/audits.mysql.sql"))?)
        }
    }
}

type Ask = About<Cardinality>;

const GROUPS: &[AuditSet<Cardinality>] = &[
    AuditSet {
        prepare: &[],
        audits: &[
            Ask::condition(
                "event_stock",
                "stock",
                "the tickets of each event are available or booked",
                &["event", "stock", "available", "booked", "bookings"],
            ),
            Ask::condition(
                "oversold_events",
                "stock",
                "no event is oversold",
                &["event", "stock", "available", "booked"],
            ),
        ],
    },
    AuditSet {
        prepare: &[],
        audits: &[
            Ask::condition(
                "limited_users",
                "bookings",
                "each user has one booking of a limited event at most",
                &["event", "user", "bookings"],
            ),
            Ask::shape(
                "row_counts",
                "data",
                "every event is there",
                &["events wanted", "events", "lowest", "highest"],
            ),
            Ask::shape(
                "event_shape",
                "data",
                "events have the tickets and the limit that they were loaded with",
                &["event", "stock", "available", "limited"],
            ),
            Ask::condition(
                "outbox_rows",
                "outbox",
                "what is still to be announced is a booking that is there",
                &["row", "run", "worker", "sequence", "event", "user", "quantity"],
            ),
            Ask::shape(
                "booking_shape",
                "bookings",
                "bookings are what may be asked for, of events that are there",
                &["run", "worker", "sequence", "event", "user", "quantity"],
            ),
        ],
    },
];

/// Whether calls came in the shares of a mix. A worker's first booking may stand where it was to come back to one.
pub fn input_audit(ledger: &Ledger, mix: &Mix) -> Vec<InputFinding> {
    let calls: u64 = ledger.calls().iter().sum();
    let share = |kind: usize| {
        let (name, counted) = (Bookings::KINDS[kind].name, ledger.calls()[kind]);
        InputFinding::of_share(name, counted, calls, mix.share(kind), ledger.workers())
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
            let asked: Vec<&str> = GROUPS
                .iter()
                .flat_map(|group| group.audits.iter().map(About::query))
                .chain([TALLIES, STORED_BOOKING, BOOKING_OF_USER])
                .collect();
            assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len(), "a query is asked twice");
            catalogue(dialect).unwrap().select(&asked).unwrap();
            let found = audits(dialect).unwrap().iter().map(|group| group.audits.len()).sum::<usize>();
            assert_eq!(found, asked.len() - 3);
            assert!(stored_booking(dialect).unwrap().contains("from booking"));
            assert!(booking_of_user(dialect).unwrap().contains("limited_to = ?2"));
            assert!(tallies(dialect).unwrap().contains("from event"));
        }
    }
}
