//! Parts of requests and answers that several workloads have: bodies of JSON, problem documents, ids and keys.

use crate::{Answer, BadCall, BadCallKind, Request};
use model::Key;
use serde::{Deserialize, Serialize};
use std::io::Write;

/// What the types of all problem documents begin with.
pub const PROBLEM: &str = "urn:stackmark:problem:";
/// The header that an idempotency key comes in.
pub const KEY: &str = "idempotency-key";

/// Appends a value.
///
/// # Panics
/// When it does not become JSON, which plain structs always do.
pub fn write(value: &(impl Serialize + ?Sized), into: &mut Vec<u8>) {
    serde_json::to_writer(into, value).expect("plain structs always become JSON, and a Vec takes every byte");
}

/// Appends text.
///
/// # Panics
/// Never: a vector takes every byte.
pub fn append(into: &mut Vec<u8>, what: std::fmt::Arguments<'_>) {
    into.write_fmt(what).expect("a Vec takes every byte");
}

/// Reads the body of an answer.
pub fn read<'a, T: Deserialize<'a>>(answer: &Answer<'a>) -> Result<T, String> {
    serde_json::from_slice(answer.body).map_err(|error| error.to_string())
}

/// An id in a path: digits without a sign and without zeros before them.
pub fn number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain)
}

/// The idempotency key of a request for a `call`, such as `transfer`.
///
/// # Errors
/// When there is none, or it is malformed.
pub fn key(request: &Request<'_>, call: &str) -> Result<Key, BadCall> {
    let Some(text) = request.headers.get(KEY) else {
        return Err(BadCall::invalid(format!(
            "{KEY} is missing; it is 32 digits of 0-9 and a-f, another for each {call}"
        )));
    };
    Key::parse(text).ok_or_else(|| BadCall::invalid(format!("{KEY} is not 32 digits of 0-9 and a-f")))
}

impl BadCall {
    /// A call with a part of another shape, or outside its range.
    pub const fn invalid(detail: String) -> BadCall {
        BadCall { kind: BadCallKind::Invalid, detail }
    }

    /// A call that names something that does not exist.
    pub const fn unknown(detail: String) -> BadCall {
        BadCall { kind: BadCallKind::Unknown, detail }
    }
}

/// The answer to a declined call: RFC 9457, with the members that all problems of the contracts have, and those of `E`.
#[derive(Serialize)]
pub struct Problem<E> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: &'static str,
    applied: &'static str,
    #[serde(flatten)]
    more: Option<E>,
}

impl<E> Problem<E> {
    /// The problem of that type, title and status. `detail` says what the call has not done.
    pub fn declined(
        name: &str,
        title: &'static str,
        status: u16,
        detail: &'static str,
        more: Option<E>,
    ) -> Problem<E> {
        Problem { kind: format!("{PROBLEM}{name}"), title, status, detail, applied: "no", more }
    }
}
