//! The workload over HTTP. The contract is `spec/openapi/booking.yaml`.

use crate::{Booking, Bookings, Call, Cardinality, Decline, Outcome, QUANTITY_MAX, USER_MAX};
use contract::json::{self, KEY, PROBLEM, Problem, append, number, read, write};
use contract::{Answer, BadCall, Endpoint, Race, Request, Wire, strict};
use model::Key;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt::Display;

impl Wire for Bookings {
    /// What a booking was drawn for is not sent: all of them go to one place.
    const ENDPOINTS: &'static [Endpoint] = &[
        Endpoint::post("/bookings"),
        Endpoint::post("/bookings"),
        Endpoint::get("/bookings/{id}"),
        Endpoint::get("/events/{id}"),
    ];
    const CONTRACT: &'static [(&'static str, &'static str)] = &[
        ("booking.yaml", include_str!("../spec/openapi/booking.yaml")),
        ("common.yaml", include_str!("../spec/openapi/common.yaml")),
    ];
    type Extent = Cardinality;

    fn encode_path(call: &Call, into: &mut Vec<u8>) {
        match call {
            Call::Book { .. } => into.extend_from_slice(b"/bookings"),
            Call::ReadBooking { key } => append(into, format_args!("/bookings/{key}")),
            Call::ReadEvent { id } => append(into, format_args!("/events/{id}")),
        }
    }

    fn encode_call_headers(call: &Call, each: &mut dyn FnMut(&'static str, &dyn Display)) {
        if let Call::Book { booking, .. } = call {
            each(KEY, &booking.key);
        }
    }

    fn races(extent: &Cardinality, salt: u32, round: u32) -> Vec<Race<Bookings>> {
        crate::races::races(extent, salt, round)
    }

    fn encode_call(call: &Call, into: &mut Vec<u8>) {
        if let Call::Book { booking: Booking { event, user, quantity, .. }, .. } = *call {
            write(&CreateBody { event, user, quantity }, into);
        }
    }

    fn decode_call(kind: usize, size: &Cardinality, request: &Request<'_>) -> Result<Call, BadCall> {
        match kind {
            0 | 1 => {
                let key = json::key(request, "booking")?;
                let CreateBody { event, user, quantity } = strict::body(request.body)?;
                existing("event", event, size)?;
                if !(1..=USER_MAX).contains(&user) {
                    return Err(BadCall::invalid(format!("user is {user}; it runs from 1 to {USER_MAX}")));
                }
                if !(1..=QUANTITY_MAX).contains(&quantity) {
                    return Err(BadCall::invalid(format!(
                        "quantity is {quantity}; it runs from 1 to {QUANTITY_MAX}"
                    )));
                }
                Ok(Call::of(Booking { key, event, user, quantity }))
            }
            2 => {
                let key = request.id("id").and_then(Key::parse).ok_or_else(|| {
                    BadCall::unknown("the id in the path is not a key: 32 digits of 0-9 and a-f".into())
                })?;
                Ok(Call::ReadBooking { key })
            }
            3 => {
                let id = request.id("id").and_then(number).ok_or_else(|| {
                    BadCall::unknown("the id in the path is not the number of an event".into())
                })?;
                existing("the id in the path", id, size)?;
                Ok(Call::ReadEvent { id })
            }
            _ => Err(BadCall::unknown(format!("there is no kind {kind}"))),
        }
    }

    fn status(outcome: &Outcome) -> u16 {
        match outcome {
            Outcome::Booked(_) => 201,
            Outcome::Declined(why) => why.status(),
            Outcome::Found(_) | Outcome::Event { .. } => 200,
        }
    }

    fn is_problem(outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Declined(_))
    }

    fn encode_outcome(outcome: &Outcome, into: &mut Vec<u8>) {
        match *outcome {
            Outcome::Booked(booking) | Outcome::Found(booking) => {
                let Booking { key, event, user, quantity } = booking;
                write(&Written { id: Digits(key), event, user, quantity }, into);
            }
            Outcome::Event { stock, available } => write(&Event { stock, available }, into),
            Outcome::Declined(why) => write(&problem(why), into),
        }
    }

    fn is_outcome(_: &Call, answer: &Answer<'_>) -> bool {
        matches!(answer.status, 200 | 201) || declined(answer).is_some()
    }

    fn decode_outcome(call: &Call, answer: &Answer<'_>) -> Result<Outcome, String> {
        let wanted = match call {
            Call::Book { .. } => 201,
            Call::ReadBooking { .. } | Call::ReadEvent { .. } => 200,
        };
        if answer.status != wanted {
            let why = declined(answer)
                .ok_or_else(|| format!("the status is {}, where the contract has {wanted}", answer.status))?;
            return Ok(Outcome::Declined(why));
        }
        Ok(match call {
            Call::Book { .. } => Outcome::Booked(booking(answer)?),
            Call::ReadBooking { .. } => Outcome::Found(booking(answer)?),
            Call::ReadEvent { .. } => {
                let Event { stock, available } = read(answer)?;
                Outcome::Event { stock, available }
            }
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateBody {
    event: u32,
    user: u32,
    quantity: u32,
}

/// A key as its digits, written without a text of their own.
struct Digits(Key);

impl Serialize for Digits {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

#[derive(Serialize)]
struct Written {
    id: Digits,
    event: u32,
    user: u32,
    quantity: u32,
}

#[derive(Deserialize)]
struct BookingBody<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    event: u32,
    user: u32,
    quantity: u32,
}

fn booking(answer: &Answer<'_>) -> Result<Booking, String> {
    let BookingBody { id, event, user, quantity } = read(answer)?;
    let key = Key::parse(&id).ok_or_else(|| format!("the id `{id}` is not a key"))?;
    Ok(Booking { key, event, user, quantity })
}

#[derive(Serialize, Deserialize)]
struct Event {
    stock: u32,
    available: u32,
}

#[derive(Serialize)]
struct Left {
    available: u32,
}

fn problem(why: Decline) -> Problem<Left> {
    let left = match why {
        Decline::SoldOut { available } => Some(Left { available }),
        Decline::AlreadyBooked | Decline::KeyReused | Decline::NoSuchBooking => None,
    };
    let detail = "the call was declined, and booked nothing";
    Problem::declined(why.name(), why.title(), why.status(), detail, left)
}

/// Why a call was declined, if the answer says so by a problem document of the workload's, with the status of its type.
fn declined(answer: &Answer<'_>) -> Option<Decline> {
    #[derive(Deserialize)]
    struct Read<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
        #[serde(default)]
        available: Option<u32>,
    }
    if !answer.is_problem || !matches!(answer.status, 404 | 409 | 422) {
        return None;
    }
    let Read { kind, available } = serde_json::from_slice(answer.body).ok()?;
    let name = kind.strip_prefix(PROBLEM)?;
    let sold_out = available.map(|available| Decline::SoldOut { available });
    let others = [Decline::AlreadyBooked, Decline::KeyReused, Decline::NoSuchBooking];
    let mut all = others.into_iter().chain(sold_out);
    all.find(|why| why.name() == name && why.status() == answer.status)
}

/// An event that is there.
fn existing(name: &str, id: u32, size: &Cardinality) -> Result<(), BadCall> {
    match size.has(id) {
        true => Ok(()),
        false => {
            Err(BadCall::unknown(format!("{name} {id} does not exist; events run from 1 to {}", size.events)))
        }
    }
}

#[cfg(test)]
mod tests;
