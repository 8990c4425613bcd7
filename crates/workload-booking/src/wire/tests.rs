use super::*;
use crate::{Inputs, Oracle};
use contract::conformance::written;
use contract::{BadCallKind, Headers};
use model::{Inputs as _, Workload};

struct Only(&'static str, String);

impl Headers for Only {
    fn get(&self, name: &str) -> Option<&str> {
        (name == self.0).then_some(&self.1)
    }
}

fn sent(call: &Call, size: &Cardinality) -> Result<Call, BadCall> {
    let path = written(|into| Bookings::encode_path(call, into));
    let body = written(|into| Bookings::encode_call(call, into));
    let mut headers = Only("", String::new());
    Bookings::encode_call_headers(call, &mut |name, value| headers = Only(name, value.to_string()));
    let kind = Bookings::kind(call);
    let endpoint = Bookings::ENDPOINTS[kind];
    let request = Request { endpoint, path: &path, query: None, headers: &headers, body: body.as_bytes() };
    Bookings::decode_call(kind, size, &request)
}

#[test]
fn calls_and_outcomes_survive_the_wire() {
    let size = Cardinality::tiny();
    let (mut inputs, mut oracle) = (Inputs::new(size, 1, 7, 3, None), Oracle::new(size));
    let mut declined = 0;
    for _ in 0..3_000 {
        let call = inputs.draw();
        let came = sent(&call, &size).unwrap();
        match call {
            // What it was drawn for is not sent.
            Call::Book { booking, .. } => assert_eq!(came, Call::of(booking)),
            call => assert_eq!(came, call),
        }
        let outcome = oracle.answer(&call).unwrap();
        let body = written(|into| Bookings::encode_outcome(&outcome, into));
        let (status, is_problem) = (Bookings::status(&outcome), Bookings::is_problem(&outcome));
        let answer = Answer { status, is_problem, ..Answer::of(body.as_bytes()) };
        assert!(Bookings::is_outcome(&call, &answer));
        assert_eq!(Bookings::decode_outcome(&call, &answer), Ok(outcome));
        declined += u32::from(is_problem);
    }
    assert!(declined > 100);
    for why in [
        Decline::AlreadyBooked,
        Decline::KeyReused,
        Decline::NoSuchBooking,
        Decline::SoldOut { available: 3 },
    ] {
        let body = written(|into| Bookings::encode_outcome(&Outcome::Declined(why), into));
        let answer = Answer { status: why.status(), is_problem: true, ..Answer::of(body.as_bytes()) };
        assert_eq!(declined_of(&answer), Some(why));
    }
}

fn declined_of(answer: &Answer<'_>) -> Option<Decline> {
    super::declined(answer)
}

#[test]
fn requests_and_answers_are_the_contracts() {
    let key = Key { run: 1, worker: 2, sequence: 3 };
    let booking = Booking { key, event: 4, user: 5, quantity: 6 };
    let call = Call::of(booking);
    assert_eq!(written(|into| Bookings::encode_call(&call, into)), r#"{"event":4,"user":5,"quantity":6}"#);
    let mut headers = Vec::new();
    Bookings::encode_call_headers(&call, &mut |name, value| headers.push(format!("{name}: {value}")));
    assert_eq!(headers, ["idempotency-key: 00000000000000010000000200000003"]);
    let path = |call: &Call| written(|into| Bookings::encode_path(call, into));
    assert_eq!(path(&Call::ReadBooking { key }), "/bookings/00000000000000010000000200000003");
    assert_eq!(path(&Call::ReadEvent { id: 9 }), "/events/9");
    assert_eq!(
        written(|into| Bookings::encode_outcome(&Outcome::Booked(booking), into)),
        r#"{"id":"00000000000000010000000200000003","event":4,"user":5,"quantity":6}"#
    );
}

#[test]
fn what_is_wrong_with_a_booking_is_said() {
    use BadCallKind::{Invalid, Malformed, Unknown};
    let size = Cardinality::tiny();
    let check = |body: &str, key: &str, expected: BadCallKind, words: &str| {
        let headers = Only(KEY, key.to_owned());
        let request = Request { headers: &headers, ..Request::of(body.as_bytes()) };
        let error = Bookings::decode_call(0, &size, &request).unwrap_err();
        assert!(error.kind == expected && error.detail.contains(words), "{body}: {error:?}");
    };
    let (good, key) = (r#"{"event":1,"user":2,"quantity":3}"#, "0123456789abcdef0123456789abcdef");
    check(good, "", Invalid, "is not 32 digits");
    check(good, &key[1..], Invalid, "is not 32 digits");
    let without = Bookings::decode_call(0, &size, &Request::of(good.as_bytes())).unwrap_err();
    assert!(without.kind == Invalid && without.detail.contains("idempotency-key is missing"), "{without:?}");
    check("{", key, Malformed, "EOF");
    check("[]", key, Invalid, "expected an object");
    check(r#"{"event":1,"user":2}"#, key, Invalid, "missing field `quantity`");
    check(r#"{"event":1,"user":2,"quantity":3,"x":1}"#, key, Invalid, "unknown field `x`");
    check(r#"{"event":0,"user":2,"quantity":3}"#, key, Unknown, "event 0 does not exist");
    check(r#"{"event":25,"user":2,"quantity":3}"#, key, Unknown, "events run from 1 to 24");
    for user in ["0", "1000000000"] {
        let body = format!(r#"{{"event":1,"user":{user},"quantity":3}}"#);
        check(&body, key, Invalid, "it runs from 1 to 999999999");
    }
    for quantity in ["0", "11"] {
        let body = format!(r#"{{"event":1,"user":2,"quantity":{quantity}}}"#);
        check(&body, key, Invalid, "it runs from 1 to 10");
    }
    for quantity in ["-1", "1.5", "4294967296", "\"1\"", "null"] {
        let body = format!(r#"{{"event":1,"user":2,"quantity":{quantity}}}"#);
        check(&body, key, Invalid, "quantity: ");
    }
}

#[test]
fn an_id_that_is_none_names_nothing() {
    let size = Cardinality::tiny();
    let check = |kind: usize, path: &str| {
        let request = Request { endpoint: Bookings::ENDPOINTS[kind], path, ..Request::of(b"") };
        Bookings::decode_call(kind, &size, &request).map_err(|error| error.kind)
    };
    let key = "0123456789abcdef0123456789abcdef";
    assert!(check(2, &format!("/bookings/{key}")).is_ok() && check(3, "/events/24").is_ok());
    for id in ["", "1", &key[1..], &key.to_uppercase()] {
        assert_eq!(check(2, &format!("/bookings/{id}")), Err(BadCallKind::Unknown), "{id}");
    }
    for id in ["0", "25", "01", "-1", "x", "", "4294967297"] {
        assert_eq!(check(3, &format!("/events/{id}")), Err(BadCallKind::Unknown), "{id}");
    }
}

#[test]
fn an_answer_that_breaks_the_contract_is_none() {
    let decode = |call: &Call, status: u16, is_problem: bool, body: &str| {
        Bookings::decode_outcome(call, &Answer { status, is_problem, ..Answer::of(body.as_bytes()) })
    };
    let look = Call::ReadEvent { id: 1 };
    assert!(decode(&look, 200, false, "{}").unwrap_err().contains("missing field `stock`"));
    assert!(
        decode(&look, 201, false, r#"{"stock":1,"available":1}"#)
            .unwrap_err()
            .contains("the contract has 200")
    );
    assert!(decode(&look, 200, false, r#"{"stock":1,"available":-1}"#).is_err());
    let key = Key { run: 1, worker: 2, sequence: 3 };
    let call = Call::of(Booking { key, event: 4, user: 5, quantity: 6 });
    let id = r#"{"id":"7","event":4,"user":5,"quantity":6}"#;
    assert!(decode(&call, 201, false, id).unwrap_err().contains("`7` is not a key"));
    // A decline that does not say how many tickets are left is none.
    assert!(decode(&call, 409, true, r#"{"type":"urn:stackmark:problem:sold-out"}"#).is_err());
    let conflict = r#"{"type":"urn:stackmark:problem:conflict"}"#;
    assert!(!Bookings::is_outcome(
        &call,
        &Answer { status: 409, is_problem: true, ..Answer::of(conflict.as_bytes()) }
    ));
}
