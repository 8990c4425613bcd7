//! The initial rows: events with their tickets, and the lease of the outbox. Nothing in them is random.

use crate::{QUANTITY_DRAWN_MAX, USERS};
use model::rows::{Dataset, RowSink, Table};
use serde::{Deserialize, Serialize};

/// Most events that can be asked for.
pub const EVENTS_MAX: u32 = 1_000_000;
/// Events unless told otherwise.
pub const EVENTS: u32 = 100;
/// Tickets of an event unless told otherwise.
pub const STOCK: u32 = 100_000;
/// Most tickets of an event that can be asked for.
pub const STOCK_MAX: u32 = 1_000_000_000;

/// How much data there is, and what calls draw from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cardinality {
    pub events: u32,
    pub stock: u32,
    /// Every how-manieth event allows each user one booking; 0 for none of them, 1 for all.
    pub limited: u32,
    /// Users that calls draw from.
    pub users: u32,
    /// Most tickets that a call asks for: 1 to so many, each as likely.
    pub quantity: u32,
}

impl Cardinality {
    /// That of the workload, for so many events.
    pub const fn standard(events: u32) -> Cardinality {
        Cardinality { events, stock: STOCK, limited: 0, users: USERS, quantity: QUANTITY_DRAWN_MAX }
    }

    /// Few events of few tickets, for conformance and tests: calls meet often, and events are sold out.
    pub const fn tiny() -> Cardinality {
        Cardinality { events: 24, stock: 40, limited: 4, ..Cardinality::standard(24) }
    }

    /// Several times as many events of more tickets.
    pub const fn larger() -> Cardinality {
        Cardinality { events: 170, stock: 90, limited: 7, ..Cardinality::standard(170) }
    }

    /// Whether an event is there.
    pub const fn has(&self, event: u32) -> bool {
        event >= 1 && event <= self.events
    }

    /// Whether an event allows each user one booking only.
    pub const fn is_limited(&self, event: u32) -> bool {
        self.limited > 0 && event.is_multiple_of(self.limited)
    }

    /// Tickets of all events.
    pub const fn tickets(&self) -> i64 {
        self.events as i64 * self.stock as i64
    }
}

/// Events in a chunk.
const EVENTS_A_CHUNK: u32 = 10_000;

const EVENT: usize = 0;
const LEASE: usize = 3;

/// All initial rows at some size.
#[derive(Debug, Clone)]
pub struct Data {
    size: Cardinality,
    tables: Vec<Table>,
}

impl Data {
    /// The data of a size.
    pub fn new(size: Cardinality) -> Data {
        let chunks = size.events.div_ceil(EVENTS_A_CHUNK);
        let tables = vec![
            Table::new("event", &["id", "stock", "available", "limited"], chunks, size.events.into()),
            // Empty: it gets a row a booking.
            Table::new(
                "booking",
                &["run", "worker", "sequence", "event", "user_id", "quantity", "limited_to", "created"],
                1,
                0,
            ),
            // Empty, too: it gets a row a booking that is to be announced.
            Table::new(
                "outbox",
                &["id", "run", "worker", "sequence", "event", "user_id", "quantity", "created"],
                1,
                0,
            ),
            Table::new("outbox_lease", &["id", "holder", "expires"], 1, 1),
        ];
        Data { size, tables }
    }
}

impl Dataset for Data {
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn fill(&self, table: usize, chunk: u32, sink: &mut dyn RowSink) {
        if table == LEASE {
            // No one has it.
            [1, 0, 0].into_iter().for_each(|value| sink.int(value));
            sink.end();
        }
        if table != EVENT {
            return;
        }
        let first = chunk * EVENTS_A_CHUNK + 1;
        for id in first..=self.size.events.min(first + EVENTS_A_CHUNK - 1) {
            let stock = self.size.stock.into();
            [id.into(), stock, stock, self.size.is_limited(id).into()]
                .into_iter()
                .for_each(|value| sink.int(value));
            sink.end();
        }
    }
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

    #[test]
    fn every_event_has_the_same_stock_and_a_last_chunk_may_be_short() {
        let size = Cardinality { stock: 7, limited: 4, ..Cardinality::standard(10_003) };
        let (data, mut sink) = (Data::new(size), Rows::default());
        (0..data.tables()[EVENT].chunks).for_each(|chunk| data.fill(EVENT, chunk, &mut sink));
        assert_eq!(sink.0.len() as u64, data.tables()[EVENT].rows);
        assert_eq!(
            [&sink.0[0], &sink.0[3], &sink.0[10_002]],
            [&[1, 7, 7, 0], &[4, 7, 7, 1], &[10_003, 7, 7, 0]]
        );
        assert_eq!(size.tickets(), 70_021);
    }

    #[test]
    fn no_event_is_limited_unless_that_is_asked_for() {
        let of = |limited| Cardinality { limited, ..Cardinality::standard(8) };
        assert!((1..=8).all(|event| !of(0).is_limited(event) && of(1).is_limited(event)));
        assert!(of(4).has(8) && !of(4).has(9) && !of(4).has(0));
    }
}
