//! Bookings and their fault injectors.

use crate::injected::{Injected, Injector, RANDOM_CALLS};
use crate::tamper::Tampering;
use contract::conformance::{Conformance, Disagreement};
use model::Session;
use sql::Dialect;
use workload_booking::conformance::{ConformancePlan, conform};
use workload_booking::{Bookings, Call, Cardinality, Stmt, catalogue};

/// The first booking that is stored, in a query that may change bookings (MariaDB reads no table that it changes, unless from a
/// copy).
macro_rules! of_first {
    ($change:literal) => {
        concat!(
            $change,
            " where sequence = (select one from (select min(sequence) as one from booking) as first_one)"
        )
    };
}

impl Injected for Bookings {
    const SIZE: Cardinality = Cardinality::tiny();
    const CALLS: u32 = 850;
    const MIX_CALLS: u64 = 1_500;
    const CONFORMED: [u32; 2] = [40, 30];
    const CONSTRAINT: [&'static str; 2] = ["event", "event_available_check"];
    const INJECTORS: &'static [Injector<Bookings>] = &[
        Injector::edits(
            "tickets are booked and stay available",
            &[(Stmt::TakeTickets.id(), "available - ?2", "available - 0 * ?2")],
            &["event-stock", "ledger", "oversold-events"],
        ),
        Injector::edits(
            "the first read is stale, and tickets are taken without a condition",
            &[
                (Stmt::Look.id(), "select available", "select stock"),
                (Stmt::TakeTickets.id(), "available >= ?2", "available >= available - ?2"),
                (
                    Stmt::TakeTickets.id(),
                    "set available = available - ?2",
                    "set available = case when available >= ?2 then available - ?2 else 0 end",
                ),
            ],
            &["event-stock", "ledger", "oversold-events"],
        ),
        Injector::edits(
            "a booking is of one ticket, whatever was asked for",
            &[(Stmt::InsertBooking.id(), "?6, ?7", "coalesce(1, ?6), ?7")],
            &["event-stock", "ledger"],
        ),
        Injector::edits(
            "bookings are stored for another user",
            &[(Stmt::InsertBooking.id(), "?5, ?6", "?5 + 1, ?6")],
            &["booking-shape", "ledger"],
        ),
        Injector::tampered(
            "some bookings are acknowledged and never committed",
            Tampering::ForgetsCommit(Stmt::TakeTickets.id(), 20),
            &["ledger"],
        ),
        Injector::after(
            "tickets are returned without a booking",
            &["update event set available = available + 1 where id = 3 and available < 40"],
            &["event-stock", "ledger"],
        ),
        Injector::after(
            "an event is oversold",
            &[
                "insert into booking (run, worker, sequence, event, user_id, quantity, created) values (8, 1, 1, 3, 1, 10, 1)",
                "insert into booking (run, worker, sequence, event, user_id, quantity, created) values (8, 1, 2, 3, 1, 10, 1)",
                "insert into booking (run, worker, sequence, event, user_id, quantity, created) values (8, 1, 3, 3, 1, 10, 1)",
                "insert into booking (run, worker, sequence, event, user_id, quantity, created) values (8, 1, 4, 3, 1, 10, 1)",
            ],
            &["event-stock", "ledger", "oversold-events"],
        ),
        Injector::after(
            "an event has fewer tickets than none",
            &["update event set available = -1 where id = 3"],
            &["event-stock", "ledger", "oversold-events"],
        )
        .unchecked(),
        Injector::after("a booking is lost", &[of_first!("delete from booking")], &["event-stock", "ledger"]),
        Injector::after(
            "a booking and its tickets are lost",
            &[
                "update event set available = available + (select quantity from booking as b where b.event = event.id order by \
                 sequence limit 1) where id = (select min(event) from booking)",
                "delete from booking where sequence = (select one from (select min(sequence) as one from booking where event = \
                 (select min(event) from booking)) as first_one)",
            ],
            &["ledger"],
        ),
        Injector::after(
            "a booking is of another event",
            &[
                "update booking set event = case when event % 4 = 1 then event + 1 else event - 1 end where sequence = (select one \
                 from (select min(sequence) as one from booking where event % 4 in (1, 2)) as first_one)",
            ],
            &["event-stock", "ledger", "oversold-events"],
        ),
        Injector::after(
            "a booking is of no event",
            &[of_first!("update booking set event = 25")],
            &["booking-shape", "event-stock", "ledger"],
        ),
        Injector::after(
            "a booking has more tickets than may be asked for",
            &[of_first!("update booking set quantity = quantity + 10")],
            &["booking-shape", "event-stock", "ledger", "oversold-events"],
        ),
        Injector::after(
            "an event has the tickets of another",
            &[
                "update event set available = available + 1 where id = (select one from (select min(id) as one from event where \
                 available > 0) as first_one)",
                "update event set available = available - 1 where id = (select one from (select max(id) as one from event where \
                 available > 0) as last_one)",
            ],
            &["event-stock"],
        ),
        Injector::after(
            "two bookings have each other's user",
            &[
                "update booking set user_id = (select both_users from (select sum(user_id) as both_users from (select user_id from \
                 booking where limited_to is null order by sequence limit 2) as two) as users) - user_id where sequence in (select \
                 sequence from (select sequence from booking where limited_to is null order by sequence limit 2) as two)",
            ],
            &["ledger"],
        ),
        Injector::after(
            "a user has two bookings of a limited event",
            &[
                "insert into booking (run, worker, sequence, event, user_id, quantity, limited_to, created) values (8, 1, 1, 4, \
                 7, 1, 7, 1)",
                "insert into booking (run, worker, sequence, event, user_id, quantity, limited_to, created) values (8, 1, 2, 4, \
                 7, 1, null, 1)",
            ],
            &["booking-shape", "event-stock", "ledger", "limited-users"],
        ),
        Injector::after(
            "a row of the outbox is of no booking",
            &[
                "insert into outbox (run, worker, sequence, event, user_id, quantity, created) values (8, 1, 9, 3, 1, 1, 1)",
            ],
            &["outbox-rows"],
        ),
        Injector::after(
            "a booking of another run appears, with its tickets",
            &[
                "insert into booking (run, worker, sequence, event, user_id, quantity, created) select 8, 1, 1, min(id), 7, 1, 1 \
                 from event where available > 0 and limited = 0",
                "update event set available = available - 1 where id = (select event from booking where run = 8)",
            ],
            &["ledger"],
        ),
        Injector::after(
            "a booking is dated years before its run",
            &[
                "insert into booking (run, worker, sequence, event, user_id, quantity, created) select 1785000000000000000, 1, 1,                  min(id), 7, 1, 1 from event where available > 0 and limited = 0",
                "update event set available = available - 1 where id = (select event from booking where created = 1)",
            ],
            &["booking-shape", "ledger"],
        ),
        Injector::after(
            "an event is gone",
            &["delete from event where id = 24"],
            &["booking-shape", "row-counts"],
        ),
        Injector::after(
            "an event was loaded with more",
            &["update event set stock = stock + 1, available = available + 1 where id = 24"],
            &["event-shape", "ledger"],
        ),
    ];

    fn statements(dialect: Dialect) -> Vec<String> {
        catalogue(dialect).expect("kept by a test of the workload")
    }

    async fn conform<S: Session<Bookings>>(session: &mut S) -> Result<Conformance, Disagreement> {
        conform(session, &ConformancePlan::golden(5, RANDOM_CALLS)).await
    }

    /// What a fault injector lost would be asked for again.
    fn is_left_out(call: &Call) -> bool {
        !matches!(call, Call::Book { purpose: workload_booking::Purpose::New, .. } | Call::ReadEvent { .. })
    }
}
