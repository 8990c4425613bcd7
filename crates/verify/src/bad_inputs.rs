//! Requests that no server may take: one table, made from requests of every kind.

use crate::request::Request;
use contract::{BadCallKind, Endpoint, Headers, Wire};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Bytes of a body that are more than a server takes.
const TOO_LARGE: usize = 65_537;
/// Arrays within arrays.
const NESTED: usize = 30_000;
/// Stands in a body for what is not a value of JSON's.
const RAW: &str = "@@raw@@";

/// A text that PostgreSQL cannot hold, as JSON has it.
const NUL: &str = "\"\\u0000\"";

/// A request, and the problem types that may answer it.
#[derive(Debug)]
pub(crate) struct Bad {
    /// What is wrong with it.
    pub what: String,
    pub request: Request,
    /// Names of problem types: `invalid`.
    pub wanted: Vec<&'static str>,
    /// Whether it is what is stored that rejects it, so that the engine is asked.
    pub asks_engine: bool,
}

/// The status of a problem type that requests of this table may be answered with.
pub(crate) fn status(problem: &str) -> u16 {
    match problem {
        "malformed" => 400,
        "unknown-id" | "unknown-path" => 404,
        declined if declined.starts_with("no-such-") => 404,
        "method-not-allowed" => 405,
        "too-slow" => 408,
        "stale-version" => 412,
        "too-large" => 413,
        "unsupported-type" => 415,
        "unconditional" => 428,
        _ => 422,
    }
}

const fn name(kind: BadCallKind) -> &'static str {
    match kind {
        BadCallKind::Malformed => "malformed",
        BadCallKind::Invalid => "invalid",
        BadCallKind::Unknown => "unknown-id",
        BadCallKind::Unconditional => "unconditional",
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// All that can be made of a request of a kind, where the contract has these as the largest numbers. What would be a call after all
/// is left out.
pub(crate) fn of<W: Wire>(
    kind: usize,
    extent: &W::Extent,
    sample: &Request,
    maxima: &BTreeSet<i64>,
) -> Vec<Bad> {
    let endpoint = W::ENDPOINTS[kind];
    let mut all = Vec::new();
    let mut add = |what: String, request: Request, also: &[&'static str]| {
        let what_none_has = request.body.as_ref().is_some_and(|body| contains(body, NUL.as_bytes()));
        let rejected = rejected::<W>(kind, extent, &request);
        let asks_engine = rejected.is_none();
        // Where a text may be anything, one with a zero byte is that of no row.
        if let Some(rejected) = rejected.or(what_none_has.then_some("unknown-id")) {
            let mut wanted = vec![rejected];
            wanted.extend(also.iter().filter(|other| **other != rejected));
            all.push(Bad { what, request, wanted, asks_engine });
        }
    };
    for (what, target) in ids(endpoint, &sample.target, &IDS).into_iter().chain(queries(&sample.target)) {
        add(what, Request { target, ..sample.clone() }, &[]);
    }
    for (what, headers) in headers(sample) {
        add(what, Request { headers, ..sample.clone() }, &[]);
    }
    if let Some(body) = &sample.body {
        for Body { what, bytes, also } in bodies(body, maxima) {
            add(what, Request { body: Some(bytes), ..sample.clone() }, also);
        }
        all.extend(media(sample));
    }
    all.extend(around(sample));
    all.extend(huge::<W>(kind, extent, sample));
    all
}

/// Requests for ids that nothing has, because no column of 32 bits holds them, or none of 64. Where the contract takes such a
/// number the engine is asked, and finds nothing.
fn huge<W: Wire>(kind: usize, extent: &W::Extent, sample: &Request) -> Vec<Bad> {
    let bad = |(what, target)| {
        let request = Request { target, ..sample.clone() };
        let rejected = rejected::<W>(kind, extent, &request);
        let wanted = match rejected {
            Some(rejected) => vec![rejected],
            None => NOTHING_THERE.to_vec(),
        };
        Bad { what, request, wanted, asks_engine: rejected.is_none() }
    };
    ids(W::ENDPOINTS[kind], &sample.target, &HUGE).into_iter().map(bad).collect()
}

/// What our own reading of the contract says of a request; nothing where it takes it.
pub(crate) fn rejected<W: Wire>(kind: usize, extent: &W::Extent, request: &Request) -> Option<&'static str> {
    struct HeaderLines<'a>(&'a [(String, String)]);
    impl Headers for HeaderLines<'_> {
        fn get(&self, name: &str) -> Option<&str> {
            let mut values =
                self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
            values.next().map(|value| if values.next().is_some() { "" } else { value })
        }
    }
    let (path, query) = match request.target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (request.target.as_str(), None),
    };
    let passed = HeaderLines(&request.headers);
    let body = request.body.as_deref().unwrap_or_default();
    let asked = contract::Request { endpoint: W::ENDPOINTS[kind], path, query, headers: &passed, body };
    W::decode_call(kind, extent, &asked).err().map(|bad| name(bad.kind))
}

/// A path that is not quite one, and a version that is one with blanks behind it (RFC 9110 5.5), which nothing has.
fn around(sample: &Request) -> Vec<Bad> {
    let (path, query) = sample.target.split_at(sample.path().len());
    let request = Request { target: format!("{path}/{query}"), ..sample.clone() };
    let what = "a slash behind the path".into();
    let mut all = vec![Bad { what, request, wanted: vec!["unknown-path"], asks_engine: false }];
    let mut request = sample.clone();
    if let Some((name, value)) = request.headers.iter_mut().find(|(name, _)| name == "if-match") {
        *value = format!("\"{}\" \t", i64::MAX - 1);
        let what = format!("{name} is the largest version, with blanks behind it");
        all.push(Bad { what, request, wanted: vec!["stale-version", "unknown-id"], asks_engine: true });
    }
    all
}

/// What is no id.
const IDS: [&str; 9] =
    ["abc", "0", "-1", "1.5", "1.0", "01", "9223372036854775808", "1%00", "1%27%20or%20%271%27=%271"];
/// Ids that are too large for a column of 32 bits, for a number of a browser, and for one of 64 bits, and the largest of each.
const HUGE: [&str; 7] = [
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740991",
    "9007199254740992",
    "18446744073709551616",
];
/// What answers a request for what is not there.
const NOTHING_THERE: [&str; 4] = ["unknown-id", "no-such-category", "no-such-food", "no-such-template"];

/// Targets with something else in the place of each id.
fn ids(endpoint: Endpoint, target: &str, ids: &[&str]) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (at, segment) in endpoint.path.split('/').enumerate().filter(|(_, segment)| segment.starts_with('{'))
    {
        for id in ids {
            let mut path: Vec<&str> = target.split('?').next().unwrap_or_default().split('/').collect();
            if let Some(place) = path.get_mut(at) {
                *place = id;
                all.push((format!("{segment} in the path is {id}"), path.join("/")));
            }
        }
    }
    all
}

/// Targets whose query has something else in the place of each of its values, one value twice, and one that is not known.
fn queries(target: &str) -> Vec<(String, String)> {
    const VALUES: [&str; 12] = [
        "",
        "-1",
        "0",
        "abc",
        "1.5",
        "1.0",
        "9007199254740992",
        "18446744073709551616",
        "99999999999999999999",
        "%27%20or%20%271%27=%271",
        "%27%3b%20drop%20table%20food%3b%20--",
        "%ff",
    ];
    let Some((path, query)) = target.split_once('?') else { return Vec::new() };
    let pairs: Vec<(&str, &str)> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
    let with = |at: usize, value: &str| {
        let pairs = pairs.iter().enumerate();
        let pairs =
            pairs.map(|(other, (name, old))| format!("{name}={}", if other == at { value } else { old }));
        format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
    };
    let mut all = vec![("a parameter that is not known".to_owned(), format!("{target}&nonsense=1"))];
    for (at, (name, value)) in pairs.iter().enumerate() {
        all.extend(VALUES.iter().map(|value| (format!("{name} is `{value}`"), with(at, value))));
        all.push((format!("{name} is given twice"), format!("{target}&{name}={value}")));
        if *name == "order" {
            // A cursor says where another order goes on.
            let other = if *value == "name" { "kcal" } else { "name" };
            all.push(("the cursor is that of another query".to_owned(), with(at, other)));
        }
    }
    all
}

/// Headers without one that calls need, or with another value in it.
fn headers(sample: &Request) -> Vec<(String, Vec<(String, String)>)> {
    const TAGS: [&str; 7] = ["1", "*", "\"x\"", "W/\"1\"", "\"-1\"", "\"1\", \"2\"", "\"1' or '1'='1\""];
    // A digit too few and one too many, in upper case, as UUIDs are written, and with what is not a digit.
    const KEYS: [&str; 6] = [
        "",
        "0123456789abcdef0123456789abcde",
        "0123456789abcdef0123456789abcdef0",
        "0123456789ABCDEF0123456789ABCDEF",
        "01234567-89ab-4def-8123-456789abcdef",
        "0123456789abcdef0123456789abcdeg",
    ];
    let mut all = Vec::new();
    for (at, (name, _)) in sample.headers.iter().enumerate() {
        let values = match name.as_str() {
            "if-match" => &TAGS[..],
            "idempotency-key" => &KEYS[..],
            _ => continue,
        };
        let mut left = sample.headers.clone();
        left.remove(at);
        all.push((format!("{name} is missing"), left));
        let mut twice = sample.headers.clone();
        twice.push(sample.headers[at].clone());
        all.push((format!("{name} is given twice"), twice));
        for value in values {
            let mut other = sample.headers.clone();
            (*value).clone_into(&mut other[at].1);
            let shown = if value.is_empty() { "empty" } else { value };
            all.push((format!("{name} is {shown}"), other));
        }
    }
    all
}

struct Body {
    what: String,
    bytes: Vec<u8>,
    /// What else may answer it, where parsers differ.
    also: &'static [&'static str],
}

/// What may answer a number of no range or of no thing that exists: which of both it is, contracts leave open.
const NUMBERS: &[&str] = &["invalid", "unknown-id"];

/// Bodies that are not JSON, or JSON of another shape, or out of every range.
fn bodies(sample: &[u8], maxima: &BTreeSet<i64>) -> Vec<Body> {
    /// In the place of each value: JSON, and which problem types may answer it too.
    const VALUES: [(&str, &[&str]); 16] = [
        ("null", &[]),
        ("true", &[]),
        ("\"7\"", &[]),
        ("7", &[]),
        ("{}", &[]),
        ("[]", &[]),
        ("\"\"", &[]),
        ("\"x' or '1'='1\"", &[]),
        ("\"'; drop table food; --\"", &[]),
        (NUL, &[]),
        ("0", NUMBERS),
        ("-1", NUMBERS),
        ("1.5", &["invalid", "malformed"]),
        ("1e400", &["invalid", "malformed"]),
        ("9223372036854775808", &["invalid", "malformed", "unknown-id"]),
        ("-9223372036854775809", &["invalid", "malformed", "unknown-id"]),
    ];
    let either: &[&str] = &["malformed", "invalid"];
    let body = |what: &str, bytes: &[u8], also| Body { what: what.to_owned(), bytes: bytes.to_vec(), also };
    let nested = [b"[".repeat(NESTED), b"]".repeat(NESTED)].concat();
    let mut all = vec![
        body("no body", b"", &[]),
        body("a body that is cut off", &sample[..sample.len() / 2], &[]),
        body("a body with more behind it", &[sample, b"}"].concat(), &[]),
        body("an array", b"[]", &[]),
        body("null", b"null", &[]),
        body("a text", b"\"text\"", &[]),
        body("30,000 arrays within each other", &nested, either),
        body("a body that is not UTF-8", b"{\"name\":\"\xff\xfe\"}", either),
    ];
    let Ok(value) = serde_json::from_slice::<Value>(sample) else { return all };
    for place in places(&value) {
        let shown = place.trim_start_matches('/').replace('/', ".");
        for (token, also) in VALUES {
            if let Some(text) = with_token(&value, &place, token) {
                all.push(body(&format!("{shown} is {token}"), &text, also));
            }
        }
        all.extend(numbers(&value, &place, maxima));
        all.extend(twice(&value, &place));
        let long = "x".repeat(5_000);
        let mut other = value.clone();
        if let Some(found) = other.pointer_mut(&place) {
            *found = Value::from(long);
            all.push(body(&format!("{shown} has 5,000 characters"), other.to_string().as_bytes(), &[]));
        }
        let mut other = value.clone();
        let (above, member) = place.rsplit_once('/').unwrap_or_default();
        if let Some(Value::Object(members)) = other.pointer_mut(above) {
            members.remove(member);
            all.push(body(&format!("{shown} is missing"), other.to_string().as_bytes(), &[]));
        }
    }
    if let Value::Object(mut members) = value {
        members.insert("nonsense".into(), Value::from(1));
        let text = Value::Object(members).to_string();
        all.push(body("a field that is not known", text.as_bytes(), &[]));
    }
    all
}

/// Numbers that columns of 16, 32 and 64 bits do not hold, and the largest of each.
const LIMITS: [i64; 7] = [
    i16::MAX as i64 + 1,
    i32::MAX as i64,
    i32::MAX as i64 + 1,
    u32::MAX as i64,
    u32::MAX as i64 + 1,
    1 << 53,
    i64::MAX,
];

/// The body with what is in one place replaced by tokens of JSON.
fn with_token(value: &Value, place: &str, token: &str) -> Option<Vec<u8>> {
    let mut other = value.clone();
    *other.pointer_mut(place)? = Value::from(RAW);
    Some(other.to_string().replace(&format!("\"{RAW}\""), token).into_bytes())
}

/// A body in which a member is there twice, with the same value, and with another one before it or behind it: parsers that take it
/// disagree about which of them counts.
fn twice(value: &Value, place: &str) -> Vec<Body> {
    let shown = place.trim_start_matches('/').replace('/', ".");
    let (above, name) = place.rsplit_once('/').unwrap_or_default();
    let (Some(Value::Object(_)), Some(own)) = (value.pointer(above), value.pointer(place)) else {
        return Vec::new();
    };
    let of = |what: &str, first: &str, second: &str| {
        let bytes = with_token(value, place, &format!("{first},\"{name}\":{second}"))?;
        Some(Body { what: format!("{shown} is there {what}"), bytes, also: &["invalid", "malformed"] })
    };
    let own = own.to_string();
    let each = [
        of("twice", &own, &own),
        of("twice, first as null", "null", &own),
        of("twice, then as null", &own, "null"),
    ];
    each.into_iter().flatten().collect()
}

/// Bodies with another whole number where there is one: one more than the most of the contract, what columns do not hold, that of
/// another member of the same object, and its own with a fraction or an exponent.
fn numbers(value: &Value, place: &str, maxima: &BTreeSet<i64>) -> Vec<Body> {
    let Some(own) = value.pointer(place).and_then(Value::as_i64) else { return Vec::new() };
    let shown = place.trim_start_matches('/').replace('/', ".");
    let with = |number: i64, what: String| {
        let mut other = value.clone();
        if let Some(found) = other.pointer_mut(place) {
            *found = Value::from(number);
        }
        Body { what, bytes: other.to_string().into_bytes(), also: NUMBERS }
    };
    let beyond: BTreeSet<i64> = maxima.iter().filter_map(|most| most.checked_add(1)).chain(LIMITS).collect();
    let beyond = beyond.into_iter().map(|number| with(number, format!("{shown} is {number}")));
    let written = [format!("{own}.0"), format!("{own}e0")].into_iter().filter_map(|token| {
        let bytes = with_token(value, place, &token)?;
        Some(Body { what: format!("{shown} is {token}"), bytes, also: &["invalid", "malformed"] })
    });
    let (above, _) = place.rsplit_once('/').unwrap_or_default();
    let members = value.pointer(above).and_then(Value::as_object).into_iter().flat_map(Map::iter);
    let others = members.filter_map(|(name, other)| Some((name, other.as_i64()?)));
    let others = others.filter(|(_, other)| *other != own);
    beyond
        .chain(written)
        .chain(others.map(|(name, other)| with(other, format!("{shown} is {other}, as {name} is"))))
        .collect()
}

/// Where values are: every member, and of an array what is in its first element.
fn places(value: &Value) -> Vec<String> {
    let within = |key: &str, value: &Value| {
        let below = places(value).into_iter().map(|place| format!("/{key}{place}"));
        std::iter::once(format!("/{key}")).chain(below).collect::<Vec<_>>()
    };
    match value {
        Value::Object(members) => members.iter().flat_map(|(key, value)| within(key, value)).collect(),
        Value::Array(items) => items.first().map(|item| within("0", item)).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Bodies that are too large, or not of the contract's type.
fn media(sample: &Request) -> Vec<Bad> {
    let typed = |value: &str| {
        let mut request = sample.clone();
        for (name, old) in &mut request.headers {
            if name == "content-type" {
                value.clone_into(old);
            }
        }
        request
    };
    let mut large = sample.clone();
    // Spaces behind the value, so that it is JSON all the same.
    large.body.iter_mut().for_each(|body| body.resize(TOO_LARGE, b' '));
    let bad = |what: &str, request, wanted| Bad {
        what: what.to_owned(),
        request,
        wanted: vec![wanted],
        asks_engine: false,
    };
    vec![
        bad(&format!("a body of {TOO_LARGE} bytes"), large, "too-large"),
        bad("the content-type is text/plain", typed("text/plain"), "unsupported-type"),
        bad("the charset is ISO-8859-1", typed("application/json; charset=iso-8859-1"), "unsupported-type"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::Contract;
    use crate::statements::drawn;
    use targets::Driven;
    use workload_catalogue::FoodCatalogue;
    use workload_tpcc::Tpcc;
    use workload_transfer::Transfers;

    #[test]
    fn every_value_of_a_body_is_replaced_and_left_out() {
        let all = bodies(br#"{"a":1,"b":[{"c":"x"},{"c":"y"}]}"#, &BTreeSet::new());
        let has = |what: &str, bytes: &str| {
            assert!(
                all.iter().any(|body| body.what == what && body.bytes == bytes.as_bytes()),
                "{what}: {bytes}"
            );
        };
        has("a is 1e400", r#"{"a":1e400,"b":[{"c":"x"},{"c":"y"}]}"#);
        has("b.0.c is null", r#"{"a":1,"b":[{"c":null},{"c":"y"}]}"#);
        has("b.0.c is missing", r#"{"a":1,"b":[{},{"c":"y"}]}"#);
        has("b is missing", r#"{"a":1}"#);
        has("a field that is not known", r#"{"a":1,"b":[{"c":"x"},{"c":"y"}],"nonsense":1}"#);
        has("a body that is cut off", r#"{"a":1,"b":[{"c""#);
    }

    #[test]
    fn numbers_are_beyond_what_the_contract_has_or_those_of_others() {
        let asked = br#"{"amount":7,"of":{"source":1,"target":2,"note":"x"}}"#;
        let all = bodies(asked, &BTreeSet::from([10, i64::MAX]));
        let is_limit = |body: &Body| LIMITS.iter().any(|limit| body.what.ends_with(&format!(" is {limit}")));
        let of = |start: &str| -> Vec<(&str, &str)> {
            let bodies = all.iter().filter(|body| body.what.starts_with(start) && body.also == NUMBERS);
            let bodies = bodies.filter(|body| !is_limit(body));
            bodies.map(|body| (body.what.as_str(), str::from_utf8(&body.bytes).unwrap())).collect()
        };
        assert_eq!(
            of("of.source is "),
            [
                ("of.source is 0", r#"{"amount":7,"of":{"note":"x","source":0,"target":2}}"#),
                ("of.source is -1", r#"{"amount":7,"of":{"note":"x","source":-1,"target":2}}"#),
                ("of.source is 11", r#"{"amount":7,"of":{"note":"x","source":11,"target":2}}"#),
                ("of.source is 2, as target is", r#"{"amount":7,"of":{"note":"x","source":2,"target":2}}"#),
            ]
        );
        let what = |start: &str| of(start).into_iter().map(|(what, _)| what).collect::<Vec<_>>();
        assert_eq!(what("amount is "), ["amount is 0", "amount is -1", "amount is 11"]);
        assert_eq!(what("of.note is "), ["of.note is 0", "of.note is -1"]);
        assert_eq!(all.iter().filter(|body| is_limit(body)).count(), 3 * LIMITS.len());
        let has = |what: &str, bytes: &str| {
            assert!(
                all.iter().any(|body| body.what == what && body.bytes == bytes.as_bytes()),
                "{what}: {bytes}"
            );
        };
        has("amount is 7.0", r#"{"amount":7.0,"of":{"note":"x","source":1,"target":2}}"#);
        has("of.source is 1e0", r#"{"amount":7,"of":{"note":"x","source":1e0,"target":2}}"#);
        has("amount is there twice", r#"{"amount":7,"amount":7,"of":{"note":"x","source":1,"target":2}}"#);
        has(
            "of.note is there twice, then as null",
            r#"{"amount":7,"of":{"note":"x","note":null,"source":1,"target":2}}"#,
        );
    }

    #[test]
    fn what_surrounds_a_call_is_asked_too() {
        let tag = |value: &str| ("if-match".to_owned(), value.to_owned());
        let sample = Request { headers: vec![tag("\"1\"")], ..Request::new("DELETE", "/foods/7?a=b") };
        let shown = |request: &Request| (request.target.clone(), request.headers.clone());
        let found: Vec<_> = around(&sample).iter().map(|bad| shown(&bad.request)).collect();
        let largest = tag("\"9223372036854775806\" \t");
        assert_eq!(
            found,
            [
                ("/foods/7/?a=b".to_owned(), sample.headers.clone()),
                ("/foods/7?a=b".to_owned(), vec![largest])
            ]
        );
        let twice = ("if-match is given twice".to_owned(), vec![tag("\"1\""), tag("\"1\"")]);
        assert!(headers(&sample).contains(&twice));
    }

    /// What is made of a workload's own calls, and the problem types that are wanted for it.
    fn table<W: Driven>(of: &str) -> Vec<(String, Vec<&'static str>)> {
        let size = W::tiny_over(1);
        let maxima = Contract::read(W::CONTRACT).unwrap().maxima();
        let mut all = Vec::new();
        for kind in (0..W::KINDS.len()).filter(|kind| W::KINDS[*kind].name == of) {
            let calls = drawn::<W>(&size, 1, kind);
            let call = calls.first().unwrap();
            let (mut target, mut body, mut headers) = (Vec::new(), Vec::new(), Vec::new());
            W::encode_path(call, &mut target);
            W::encode_call(call, &mut body);
            W::encode_call_headers(call, &mut |name, value| {
                headers.push((name.to_owned(), value.to_string()))
            });
            let (method, target) = (W::ENDPOINTS[kind].method.name(), String::from_utf8(target).unwrap());
            let body = (!body.is_empty()).then_some(body);
            let sample = Request { headers, body, ..Request::new(method, &target) };
            let bad = super::of::<W>(kind, &size, &sample, &maxima).into_iter();
            all.extend(bad.map(|bad| (bad.what, bad.wanted)));
        }
        all
    }

    #[track_caller]
    fn wants(table: &[(String, Vec<&str>)], what: &str, wanted: &[&str]) {
        let found = table.iter().find(|(found, _)| found.starts_with(what));
        assert_eq!(found.map(|(_, found)| &found[..]), (!wanted.is_empty()).then_some(wanted), "{what}");
    }

    #[test]
    fn of_a_transfer_its_key_its_ends_and_its_amount_are_wrong() {
        let table = table::<Transfers>("transfer");
        let either = ["invalid", "unknown-id"];
        wants(&table, "amount is 0", &either);
        wants(&table, "amount is 10000000001", &either);
        wants(&table, "source is 0", &["unknown-id", "invalid"]);
        wants(&table, "target is 4294967296", &either);
        let ends = |what: &str| table.iter().any(|(found, _)| found.contains(what));
        assert!(ends(", as target is") && ends(", as source is"), "{table:?}");
        for what in ["is missing", "is given twice", "is empty", "is 0123456789ABCDEF", "is 01234567-89ab"] {
            wants(&table, &format!("idempotency-key {what}"), &["invalid"]);
        }
        // What is a call after all.
        wants(&table, "amount is 4294967296", &[]);
    }

    #[test]
    fn what_is_legal_in_a_contract_is_not_to_be_rejected() {
        let food = table::<FoodCatalogue>("food-create");
        wants(&food, "kcal is 0", &[]);
        wants(&food, "kcal is 901", &["invalid", "unknown-id"]);
        wants(&food, "id is 0", &["invalid", "unknown-id"]);
        wants(&food, "id is 9007199254740992", &["invalid", "unknown-id"]);
        let order = table::<Tpcc>("new-order");
        wants(&order, "lines.0.quantity is 11", &["invalid", "unknown-id"]);
        wants(&order, "lines.0.quantity is 0", &["invalid", "unknown-id"]);
        wants(&order, "d_id is 11", &["unknown-id", "invalid"]);
        // An item that there is not is an outcome.
        wants(&order, "lines.0.i_id is 3001", &[]);
    }

    #[test]
    fn ids_and_parameters_are_replaced_one_at_a_time() {
        let found = ids(Endpoint::get("/a/{x}/b"), "/a/7/b?c=d", &IDS);
        assert!(found.contains(&("{x} in the path is -1".into(), "/a/-1/b".into())), "{found:?}");
        let found = queries("/a?order=name&page=1");
        assert!(found.contains(&("page is `-1`".into(), "/a?order=name&page=-1".into())), "{found:?}");
        let other = ("the cursor is that of another query".into(), "/a?order=kcal&page=1".into());
        assert!(found.contains(&other), "{found:?}");
        assert_eq!(queries("/a"), []);
    }
}
