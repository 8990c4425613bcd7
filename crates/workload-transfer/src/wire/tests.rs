use super::*;
use crate::{Inputs, Oracle, Purpose};
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
    let path = written(|into| Transfers::encode_path(call, into));
    let body = written(|into| Transfers::encode_call(call, into));
    let mut headers = Only("", String::new());
    Transfers::encode_call_headers(call, &mut |name, value| headers = Only(name, value.to_string()));
    let kind = Transfers::kind(call);
    let endpoint = Transfers::ENDPOINTS[kind];
    let request = Request { endpoint, path: &path, query: None, headers: &headers, body: body.as_bytes() };
    Transfers::decode_call(kind, size, &request)
}

#[test]
fn calls_and_outcomes_survive_the_wire() {
    let size = Cardinality::tiny();
    let (mut inputs, mut oracle) = (Inputs::new(size, 1, 7, 3, None), Oracle::new(size));
    for _ in 0..2_000 {
        let call = inputs.draw();
        let came = sent(&call, &size).unwrap();
        match (call, came) {
            // What it was drawn for is not sent.
            (Call::Transfer { transfer, .. }, came) => assert_eq!(came, Call::of(transfer, &size)),
            (call, came) => assert_eq!(came, call),
        }
        let outcome = oracle.answer(&call).unwrap();
        let body = written(|into| Transfers::encode_outcome(&outcome, into));
        let (status, is_problem) = (Transfers::status(&outcome), Transfers::is_problem(&outcome));
        let answer = Answer { status, is_problem, ..Answer::of(body.as_bytes()) };
        assert!(Transfers::is_outcome(&call, &answer));
        assert_eq!(Transfers::decode_outcome(&call, &answer), Ok(outcome));
    }
}

#[test]
fn requests_are_the_contracts() {
    let key = Key { run: 1, worker: 2, sequence: 3 };
    let transfer = Transfer { key, source: 4, target: 5, amount: 6 };
    let call = Call::Transfer { purpose: Purpose::Within, transfer };
    assert_eq!(written(|into| Transfers::encode_call(&call, into)), r#"{"source":4,"target":5,"amount":6}"#);
    let mut headers = Vec::new();
    Transfers::encode_call_headers(&call, &mut |name, value| headers.push(format!("{name}: {value}")));
    assert_eq!(headers, ["idempotency-key: 00000000000000010000000200000003"]);
    let read = Call::ReadTransfer { source: 4, key };
    assert_eq!(
        written(|into| Transfers::encode_path(&read, into)),
        "/transfers/4-00000000000000010000000200000003"
    );
    assert_eq!(written(|into| Transfers::encode_path(&Call::ReadAccount { id: 9 }, into)), "/accounts/9");
}

#[test]
fn what_is_wrong_with_a_transfer_is_said() {
    use BadCallKind::{Invalid, Malformed, Unknown};
    let size = Cardinality::tiny();
    let check = |body: &str, key: &str, expected: BadCallKind, words: &str| {
        let headers = Only(KEY, key.to_owned());
        let request = Request { headers: &headers, ..Request::of(body.as_bytes()) };
        let error = Transfers::decode_call(0, &size, &request).unwrap_err();
        assert!(error.kind == expected && error.detail.contains(words), "{body}: {error:?}");
    };
    let (good, key) = (r#"{"source":1,"target":2,"amount":3}"#, "0123456789abcdef0123456789abcdef");
    check(good, "", Invalid, "is not 32 digits");
    check(good, &key[1..], Invalid, "is not 32 digits");
    let without = Transfers::decode_call(0, &size, &Request::of(good.as_bytes())).unwrap_err();
    assert!(without.kind == Invalid && without.detail.contains("idempotency-key is missing"), "{without:?}");
    check("{", key, Malformed, "EOF");
    check("[]", key, Invalid, "expected an object");
    check(r#"{"source":1,"target":2}"#, key, Invalid, "missing field `amount`");
    check(r#"{"source":1,"target":2,"amount":3,"x":1}"#, key, Invalid, "unknown field `x`");
    check(r#"{"source":0,"target":2,"amount":3}"#, key, Unknown, "source 0 does not exist");
    check(r#"{"source":1,"target":25,"amount":3}"#, key, Unknown, "accounts run from 1 to 24");
    check(r#"{"source":2,"target":2,"amount":3}"#, key, Invalid, "both 2");
    for amount in ["0", "-1", "10000000001"] {
        let body = format!(r#"{{"source":1,"target":2,"amount":{amount}}}"#);
        check(&body, key, Invalid, "it runs from 1 to 10000000000");
    }
    check(r#"{"source":1,"target":2,"amount":9223372036854775808}"#, key, Invalid, "amount: ");
    check(r#"{"source":1,"target":2,"amount":1.5}"#, key, Invalid, "amount: ");
}

#[test]
fn an_id_that_is_none_names_nothing() {
    let size = Cardinality::tiny();
    let check = |kind: usize, path: &str| {
        let request = Request { endpoint: Transfers::ENDPOINTS[kind], path, ..Request::of(b"") };
        Transfers::decode_call(kind, &size, &request).map_err(|error| error.kind)
    };
    let key = "0123456789abcdef0123456789abcdef";
    // That there is no account 25, and so no transfer, is found by looking.
    assert!(
        check(4, &format!("/transfers/1-{key}")).is_ok() && check(4, &format!("/transfers/25-{key}")).is_ok()
    );
    for id in [key.to_owned(), format!("01-{key}"), format!("1-{}", &key[1..]), "1".into()] {
        assert_eq!(check(4, &format!("/transfers/{id}")), Err(BadCallKind::Unknown), "{id}");
    }
    for id in ["0", "25", "01", "-1", "x", "", "4294967297"] {
        assert_eq!(check(5, &format!("/accounts/{id}")), Err(BadCallKind::Unknown), "{id}");
    }
}

#[test]
fn an_answer_that_breaks_the_contract_is_none() {
    let call = Call::ReadAccount { id: 1 };
    let decode = |call: &Call, status: u16, is_problem: bool, body: &str| {
        Transfers::decode_outcome(call, &Answer { status, is_problem, ..Answer::of(body.as_bytes()) })
    };
    assert!(decode(&call, 200, false, "{}").unwrap_err().contains("missing field `balance`"));
    assert!(decode(&call, 201, false, r#"{"balance":1}"#).unwrap_err().contains("the contract has 200"));
    let key = Key { run: 1, worker: 2, sequence: 3 };
    let transfer = Transfer { key, source: 4, target: 5, amount: 6 };
    let call = Call::of(transfer, &Cardinality::tiny());
    assert!(decode(&call, 201, false, r#"{"state":"lost","balance":1}"#).unwrap_err().contains("`lost`"));
    // A decline without the account's balance is rejected.
    let funds = r#"{"type":"urn:stackmark:problem:insufficient-funds"}"#;
    assert!(decode(&call, 409, true, funds).is_err());
    let conflict = r#"{"type":"urn:stackmark:problem:conflict"}"#;
    assert!(!Transfers::is_outcome(
        &call,
        &Answer { status: 409, is_problem: true, ..Answer::of(conflict.as_bytes()) }
    ));
}
