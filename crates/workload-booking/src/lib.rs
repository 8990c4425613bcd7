//! Tickets of events, each booking asked for under a key of its own so that it may be asked for again. No event is ever oversold.
//!
//! In reading order: `call` (what is asked), `outcome` (what is answered), `input` (how calls are drawn), `data` (the initial
//! rows), `sql` (the transactions), `oracle` (the truth in memory), `ledger` (what answers imply). It knows no driver and no
//! protocol; `wire` turns calls and outcomes into the parts of HTTP and back.

mod announcement;
pub mod audit;
mod benchmark;
mod call;
pub mod conformance;
mod data;
mod input;
mod ledger;
mod oracle;
mod outcome;
mod races;
mod sql;
mod wire;

use model::{Kind, Verdict, Workload};

pub use announcement::{Announced, message, outbox_findings, outbox_row};
pub use call::{Booking, Call, Purpose, QUANTITY_DRAWN_MAX, QUANTITY_MAX, USER_MAX, USERS};
pub use data::{Cardinality, Data, EVENTS, EVENTS_MAX, STOCK, STOCK_MAX};
pub use input::Inputs;
pub use ledger::{Claims, Ledger, Sort, Tally, audit as audit_ledger};
pub use oracle::Oracle;
pub use outcome::{Decline, Outcome};
pub use sql::{
    Announcing, CHANNEL, Form, Publish, Publishing, RELAY_STATEMENTS, SqlSession, SqlTarget, Stmt, catalogue,
    notifying_catalogue, relay_catalogue, schema,
};

#[derive(Debug, Clone, Copy)]
pub struct Bookings;

const fn kind(name: &'static str, declined_max: f64) -> Kind {
    Kind {
        name,
        headline: true,
        declined_max,
        pace: None,
        p90_max: None,
        deferred_p90_max: None,
        writes: true,
    }
}

impl Workload for Bookings {
    const NAME: &'static str = "booking";
    /// All count for the headline. Once its event is sold out every booking is declined, and a client that has none has none to read.
    const KINDS: &'static [Kind] = &[
        kind("book", 1.0),
        kind("repeat", 1.0).reading(),
        kind("booking-read", 1.0).reading(),
        kind("event-read", 0.0).reading(),
    ];
    const STATEMENTS: &'static [&'static str] = &sql::CLOCKED;
    type Call = Call;
    type Outcome = Outcome;
    type Inputs = Inputs;
    type Ledger = Ledger;

    fn kind(call: &Call) -> usize {
        match call {
            Call::Book { purpose: Purpose::New, .. } => 0,
            Call::Book { .. } => 1,
            Call::ReadBooking { .. } => 2,
            Call::ReadEvent { .. } => 3,
        }
    }

    fn verdict(outcome: &Outcome) -> Verdict {
        match outcome {
            Outcome::Declined(_) => Verdict::Declined,
            Outcome::Booked(_) | Outcome::Found(_) | Outcome::Event { .. } => Verdict::Committed,
        }
    }

    fn check(call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        outcome::check(call, outcome)
    }
}
