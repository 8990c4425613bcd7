//! The box office.

use crate::{
    Announced, Announcing, Bookings, Call, Cardinality, Claims, Data, Decline, EVENTS, EVENTS_MAX, Form,
    Inputs, Ledger, Oracle, Outcome, QUANTITY_DRAWN_MAX, QUANTITY_MAX, STOCK, STOCK_MAX, Sort, Tally,
    USER_MAX, USERS, audit, audit_ledger, outbox_findings,
};
use anyhow::{Context, Result, bail};
use model::rows::Dataset;
use model::{Mix, Skewed};
use result::{Deferred, Efficiency, Headline, InputCheck, Interval, LedgerCheck};
use sql::{Catalogue, Dialect, SqlForm, Value};
use std::sync::Arc;
use workload::keyed::Effect;
use workload::{
    Benchmark, ForeignDatabase, Inquiry, Look, Of, Parameter, Past, Reasons, Registers, Rehearsal, Streams,
    input_checks, ledger_checks, message_checks,
};

/// Whether a relay publishes what calls in a style leave in the outbox.
fn is_relayed(style: &str) -> bool {
    [Announcing::Relayed, Announcing::Notified]
        .into_iter()
        .any(|relayed| style == Bookings::style(relayed.into()))
}

impl Benchmark for Bookings {
    const SKEWS: bool = true;
    const SCALE_UNIT: &'static str = "events";
    const SCALE_MAX: u64 = EVENTS_MAX as u64;
    const SCALE_DEFAULT: u32 = EVENTS;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "stock",
            help: "tickets of each event",
            min: 1,
            max: STOCK_MAX as u64,
            default: STOCK as u64,
            of: Of::Data,
        },
        Parameter {
            name: "limited",
            help: "which events allow each user one booking: 1 for all of them, 4 for every fourth, 0 for none",
            min: 0,
            max: EVENTS_MAX as u64,
            default: 0,
            of: Of::Data,
        },
        Parameter {
            name: "users",
            help: "users who book, each as likely as any other",
            min: 1,
            max: USER_MAX as u64,
            default: USERS as u64,
            of: Of::Calls,
        },
        Parameter {
            name: "quantity",
            help: "most tickets of a booking; it asks for 1 to so many, each as likely",
            min: 1,
            max: QUANTITY_MAX as u64,
            default: QUANTITY_DRAWN_MAX as u64,
            of: Of::Calls,
        },
    ];
    const RATE_UNIT: &'static str = "calls/s";
    const RATE_SECONDS: f64 = 1.0;
    /// Its rows do not depend on a seed.
    const GOLDEN_LOAD_SEED: u64 = 1;
    const CHANCE_NEEDS_FRESH: bool = false;
    const OF_LOAD: &'static [&'static str] = &["row-counts", "event-shape"];
    type Context = Cardinality;
    type Evidence = Vec<Tally>;
    type Knowledge = Arc<Registers>;
    type Claims = Claims;

    fn standard(scale: u32) -> Cardinality {
        Cardinality::standard(scale)
    }

    fn values(size: &Cardinality) -> Vec<u64> {
        [size.stock, size.limited, size.users, size.quantity].map(u64::from).to_vec()
    }

    fn with(size: Cardinality, values: &[u64]) -> Result<Cardinality> {
        let values: Vec<u32> = values.iter().map(|value| *value as u32).collect();
        let [stock, limited, users, quantity] = values[..] else { return Ok(size) };
        // Four, unless there are fewer.
        let quantity = if quantity == QUANTITY_DRAWN_MAX { quantity.min(stock) } else { quantity };
        if quantity > stock {
            bail!(
                "--quantity is {quantity}, and an event has {stock} tickets; it must be 1 to {stock}\nhint: or a larger --stock"
            );
        }
        Ok(Cardinality { stock, limited, users, quantity, ..size })
    }

    fn tiny() -> Cardinality {
        Cardinality::tiny()
    }

    fn larger() -> Cardinality {
        Cardinality::larger()
    }

    fn scale(size: &Cardinality) -> u32 {
        size.events
    }

    fn terminals(_: u32) -> Option<u32> {
        None
    }

    /// Events, each as likely as any other.
    fn hottest_rows(size: &Cardinality) -> u64 {
        size.events.into()
    }

    fn auditable(_: &dyn Look, _: &[String]) -> Result<ForeignDatabase<Cardinality>> {
        bail!("no other tool has data of this workload\nhint: `stackmark load booking` makes it")
    }

    fn recognise(_: &dyn Look, _: &[String], load: &str) -> Result<ForeignDatabase<Cardinality>> {
        bail!("it does not hold the events of the bookings\nhint: `{load}` makes them")
    }

    fn dataset(size: &Cardinality, _seed: u64) -> Arc<dyn Dataset> {
        Arc::new(Data::new(*size))
    }

    fn schema(dialect: Dialect) -> Result<Catalogue> {
        Ok(crate::schema(dialect)?)
    }

    fn statements(dialect: Dialect) -> Result<Vec<(&'static str, String)>> {
        Ok(crate::sql::Stmt::NAMES.iter().copied().zip(crate::sql::catalogue(dialect)?).collect())
    }

    fn knowledge(size: &Cardinality, streams: &Streams<'_>, before: Option<&Vec<Tally>>) -> Arc<Registers> {
        if streams.lossy {
            return Arc::new(Registers::none());
        }
        let fresh = before.is_some_and(|before| Self::is_fresh(before, size));
        Arc::new(Registers::new(size.events.into(), fresh.then_some(size.stock.into())))
    }

    fn inputs(size: &Cardinality, streams: &Streams<'_>, tickets: Arc<Registers>) -> impl Fn(u32) -> Inputs {
        let (size, seed, run, mix) = (*size, streams.seed, streams.run, streams.mix.cloned());
        let skewed = streams.skew.map(|skew| Arc::new(Skewed::over(size.events, skew)));
        move |worker| {
            let inputs = Inputs::new(size, seed, run, worker, mix.as_ref());
            inputs.skewed(skewed.clone()).remembering(&tickets)
        }
    }

    fn rehearsal(size: &Cardinality) -> Option<Rehearsal<Bookings>> {
        let mut oracle = Oracle::new(*size);
        Some(Box::new(move |call: &Call| oracle.answer(call).expect("inputs draw events that are there")))
    }

    fn new_ledger(_: &Cardinality) -> Ledger {
        Ledger::new()
    }

    fn context(size: &Cardinality, _past: Past, _before: Option<&Vec<Tally>>) -> Cardinality {
        *size
    }

    fn params(context: &Cardinality) -> Vec<i64> {
        audit::params(context)
    }

    fn audits(dialect: Dialect) -> Result<Vec<audit::AuditGroup>> {
        Ok(audit::audits(dialect)?)
    }

    fn evidence_query(dialect: Dialect) -> Result<String> {
        Ok(audit::tallies(dialect)?)
    }

    fn at_any_moment() -> &'static str {
        include_str!("../spec/sql/booking/moments.sql")
    }

    fn evidence(rows: &[Vec<Value>]) -> Result<Vec<Tally>> {
        let tally = |row: &Vec<Value>| {
            let row: Option<Vec<i64>> = row.iter().map(Value::int).collect();
            row.and_then(|row| Tally::from_row(&row)).context("a sum is not a whole number")
        };
        rows.iter().map(tally).collect()
    }

    /// Rows of the outbox.
    fn pending(stored: &Vec<Tally>) -> Option<u64> {
        let rows = stored.iter().filter(|tally| tally.sort == Sort::Outbox);
        Some(rows.map(|tally| tally.sums.count.cast_unsigned()).sum())
    }

    fn is_awaited(style: &str) -> bool {
        is_relayed(style)
    }

    fn announced(
        style: &str,
        size: &Cardinality,
        runs: &[u64],
        before: &Vec<Tally>,
    ) -> Option<Box<dyn workload::MessageCheck<Bookings>>> {
        Some(Box::new(Announced::new(runs, is_relayed(style), *size, before)))
    }

    fn unpublished_checks(
        style: &str,
        runs: &[u64],
        claims: &Claims,
        stored: &Vec<Tally>,
    ) -> Vec<LedgerCheck> {
        let with_row = |is_pipelined| Bookings::style(Form { announcing: Announcing::Row, is_pipelined });
        if ![false, true].map(with_row).contains(&style) {
            return Vec::new();
        }
        message_checks(outbox_findings(claims, runs, stored), ANNOUNCED, claims.keyed.complete)
    }

    fn inquiries(_: &Cardinality, claims: &Claims, dialect: Dialect) -> Result<Vec<Inquiry>> {
        let query = audit::stored_booking(dialect)?;
        let inquiry = |doubt: &Effect| Inquiry {
            call: format!(
                "booking {} of worker {}: {} of event {}",
                doubt.key.sequence, doubt.key.worker, doubt.amount, doubt.place
            ),
            store: 0,
            query: query.clone(),
            params: doubt.key.columns().to_vec(),
            told: |rows| if rows.is_empty() { "not done" } else { "booked" },
        };
        Ok(claims.keyed.doubts.iter().map(inquiry).collect())
    }

    fn reasons(claims: &Claims, dialect: Dialect) -> Result<Option<Reasons>> {
        if claims.already.is_empty() {
            return Ok(None);
        }
        let params = claims.already.iter().map(|&(event, user)| vec![event.into(), user.into()]);
        Ok(Some(Reasons {
            name: Decline::AlreadyBooked.name(),
            query: audit::booking_of_user(dialect)?,
            params: params.collect(),
            missing: |params| match params {
                [event, user] => format!("user {user} has no booking of event {event}"),
                _ => unreachable!("an event and a user"),
            },
            doubts: claims.keyed.doubts.len() + claims.keyed.more_doubts as usize,
        }))
    }

    fn is_fresh(stored: &Vec<Tally>, _size: &Cardinality) -> bool {
        stored.iter().all(|tally| tally.sort == Sort::Events)
    }

    fn claims(ledger: &Ledger, complete: bool) -> Claims {
        ledger.claims(complete)
    }

    fn ledger_checks(before: &Vec<Tally>, after: &Vec<Tally>, claims: &Claims) -> Vec<LedgerCheck> {
        // Workers are not places that must be there before.
        ledger_checks(
            "worker's keys",
            (0, 0),
            Some(audit_ledger(claims, before, after)),
            claims.keyed.complete,
        )
    }

    fn input_checks(ledger: &Ledger, _: &Cardinality, mix: Option<&Mix>) -> Vec<InputCheck> {
        let mix = mix.cloned().unwrap_or_else(audit::standard_mix);
        input_checks(audit::input_audit(ledger, &mix))
    }

    fn headline(rate: Interval, _paced: bool) -> Headline {
        Headline::calls_per_s(rate)
    }

    fn efficiency(_rate: f64, _scale: u64) -> Option<Efficiency> {
        None
    }

    fn deferred(_ledger: &Ledger, _totals: &measure::Totals) -> Option<Deferred> {
        None
    }

    fn closing(call: &Call) -> Option<Call> {
        Some(match call {
            Call::Book { booking, .. } if booking.key.sequence % 2 == 0 => {
                Call::ReadBooking { key: booking.key }
            }
            Call::Book { booking, .. } => Call::ReadEvent { id: booking.event },
            Call::ReadBooking { .. } | Call::ReadEvent { .. } => *call,
        })
    }

    fn lookup(call: &Call, outcome: &Outcome) -> Option<Call> {
        match (call, outcome) {
            (Call::Book { booking, .. }, Outcome::Booked(_)) => Some(Call::ReadBooking { key: booking.key }),
            _ => None,
        }
    }

    fn shows(_: &Call, outcome: &Outcome, later: &Outcome) -> Option<bool> {
        match (outcome, later) {
            (Outcome::Booked(booked), Outcome::Found(found)) => Some(booked == found),
            (Outcome::Booked(_), Outcome::Declined(Decline::NoSuchBooking)) => Some(false),
            _ => None,
        }
    }
}

/// Of checks of announcements that have passed.
const ANNOUNCED: &str = "Messages match the acknowledged and stored bookings: each once except for repetitions, and in order for each event.";

impl workload::MessageCheck<Bookings> for Announced {
    fn take(&mut self, place: &dyn Fn() -> String, payload: &[u8]) {
        Announced::take(self, place, payload);
    }

    fn record_key(&self, payload: &[u8]) -> Option<u64> {
        Announced::event_of(payload)
    }

    fn duplicates(&self) -> u64 {
        Announced::duplicates(self)
    }

    fn checks(&self, claims: &Claims, stored: &Vec<Tally>) -> Vec<LedgerCheck> {
        message_checks(self.findings(claims, stored), ANNOUNCED, claims.keyed.complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{Chosen, resized, sized, values};

    fn chosen(given: &[(&str, u64)]) -> Chosen {
        given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn what_is_not_chosen_is_as_said_and_what_is_chosen_is_kept() {
        let standard = Cardinality::standard(3);
        let text = Bookings::PARAMETERS.iter().map(|parameter| parameter.default);
        assert_eq!(Bookings::values(&standard), text.collect::<Vec<_>>());
        let all = chosen(&[("stock", 9), ("limited", 1), ("users", 2), ("quantity", 8)]);
        let size = sized::<Bookings>(3, &all).unwrap();
        assert_eq!(size, Cardinality { events: 3, stock: 9, limited: 1, users: 2, quantity: 8 });
        assert_eq!(values::<Bookings>(&size), all);
        let few = sized::<Bookings>(3, &chosen(&[("stock", 2)])).unwrap();
        assert_eq!((few.stock, few.quantity), (2, 2));
        let other = resized::<Bookings>(size, &chosen(&[("users", 5)])).unwrap();
        assert_eq!(other, Cardinality { users: 5, ..size });
        for (given, why) in [
            (chosen(&[("stock", 3), ("quantity", 5)]), "--quantity is 5, and an event has 3 tickets"),
            (chosen(&[("users", 0)]), "--users is 0; it must be 1 to 999999999"),
            (chosen(&[("seats", 1)]), "--seats is not an option of booking; its own are --stock"),
        ] {
            let error = sized::<Bookings>(3, &given).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
