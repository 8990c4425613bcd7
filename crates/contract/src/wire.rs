//! The HTTP contract of a workload as code: requests to calls and outcomes to answers, without any HTTP on the wire.
//!
//! The truth is `spec/openapi`; both ends of our own, client and server, use this one implementation, and servers in
//! other languages are held to the same golden vectors.

use crate::Race;
use model::Workload;
use std::fmt::Display;

/// A workload that can cross a wire: method and path with ids, headers, a body of JSON; status, headers and a body back.
///
/// Most workloads POST every call to a path of its kind and are answered with 200: they give [`Wire::ENDPOINTS`] and bodies,
/// and leave the rest.
pub trait Wire: Workload {
    /// Method and path of each kind, in the order of [`Workload::KINDS`].
    const ENDPOINTS: &'static [Endpoint];
    /// The documents of the contract (OpenAPI 3.1), by the names of their files; the first is the one that has the paths.
    /// Where there is none, answers are held to no schema.
    const CONTRACT: &'static [(&'static str, &'static str)] = &[];
    /// What ids may be used in calls: depends on the size of the loaded data.
    type Extent: Clone + Send + Sync + 'static;

    /// Appends the path of a call's request, with its ids and, behind a `?`, its query. Allocates only while `into` grows.
    fn encode_path(call: &Self::Call, into: &mut Vec<u8>) {
        into.extend_from_slice(Self::ENDPOINTS[Self::kind(call)].path.as_bytes());
    }

    /// Gives the headers of a call's request that not every request has, such as `if-match`: name in lower case, and a value
    /// without control characters.
    fn encode_call_headers(_call: &Self::Call, _each: &mut dyn FnMut(&'static str, &dyn Display)) {}

    /// Appends the call's JSON to `into`, where its method has a body. Allocates only while `into` grows.
    fn encode_call(call: &Self::Call, into: &mut Vec<u8>);

    /// Reads a call of a kind, and checks everything that can be checked without the database. A call is an object, and
    /// so is every part of it that has fields: [`crate::strict::read`] sees to that.
    ///
    /// # Errors
    /// What is wrong and where, in words for whoever sent it.
    fn decode_call(kind: usize, extent: &Self::Extent, request: &Request<'_>) -> Result<Self::Call, BadCall>;

    /// The status of an outcome's answer: 200, or another of the contract, such as 409 where a call was declined.
    fn status(_outcome: &Self::Outcome) -> u16 {
        200
    }

    /// Whether an outcome's answer is a problem document (RFC 9457), as one that was declined may be.
    fn is_problem(_outcome: &Self::Outcome) -> bool {
        false
    }

    /// Gives the headers of an outcome's answer that not every answer has, such as `etag`, as those of a call.
    fn encode_outcome_headers(_outcome: &Self::Outcome, _each: &mut dyn FnMut(&'static str, &dyn Display)) {}

    /// Appends the outcome's JSON to `into`.
    fn encode_outcome(outcome: &Self::Outcome, into: &mut Vec<u8>);

    /// Whether an answer is an outcome of the contract: one of 200, and which others the workload says. What is none is a
    /// problem that kept the call from completing.
    fn is_outcome(_call: &Self::Call, answer: &Answer<'_>) -> bool {
        answer.status == 200
    }

    /// Reads the outcome in the answer to `call`. Allocates nothing when it is well-formed.
    ///
    /// # Errors
    /// One lower-case clause: what of the contract is broken.
    fn decode_outcome(call: &Self::Call, answer: &Answer<'_>) -> Result<Self::Outcome, String>;

    /// The rounds of calls that meet, by which a server shows that it keeps them apart: all of round `round`. `salt` is
    /// another in each verification, for ids that no earlier one has used.
    fn races(_extent: &Self::Extent, _salt: u32, _round: u32) -> Vec<Race<Self>> {
        Vec::new()
    }

    /// Keeps the body of the answer that an outcome was read from, where an outcome is a digest of it and its caller wants the
    /// whole ([`model::CallWork::wanted`]).
    fn keep_body(_outcome: &mut Self::Outcome, _body: &[u8]) {}
}

/// Where calls of a kind go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// Method of the requests.
    pub method: Method,
    /// Their path. A segment in braces is an id: `/foods/{id}`.
    pub path: &'static str,
}

impl Endpoint {
    /// Requests by POST.
    pub const fn post(path: &'static str) -> Endpoint {
        Endpoint { method: Method::Post, path }
    }

    /// Requests by GET.
    pub const fn get(path: &'static str) -> Endpoint {
        Endpoint { method: Method::Get, path }
    }
}

/// Methods of HTTP that calls are made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// As it stands in a request: `POST`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }

    /// Whether its requests have a body.
    #[must_use]
    pub const fn has_body(self) -> bool {
        matches!(self, Method::Post | Method::Put | Method::Patch)
    }
}

pub trait Headers {
    /// The value of the header of that name, which is in lower case; nothing where there is none, or one that is no text. Of a
    /// request that has it several times, an empty one: what calls read may come once, and nothing is guessed.
    fn get(&self, name: &str) -> Option<&str>;
}

impl Headers for () {
    fn get(&self, _name: &str) -> Option<&str> {
        None
    }
}

/// A request as it came to a server.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub endpoint: Endpoint,
    /// Its path without its query.
    pub path: &'a str,
    /// What came behind the `?` of it.
    pub query: Option<&'a str>,
    pub headers: &'a dyn Headers,
    /// Its body; empty where its method has none.
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    /// A request of which nothing matters but its body.
    pub fn of(body: &'a [u8]) -> Request<'a> {
        let endpoint = Endpoint::post("");
        Request { endpoint, path: endpoint.path, query: None, headers: &(), body }
    }

    /// The segment of the path that stands for an id of the endpoint, as it came: `{food}` by the name `food`.
    pub fn id(&self, name: &str) -> Option<&'a str> {
        let is_it =
            |segment: &str| segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) == Some(name);
        let mut both = self.endpoint.path.split('/').zip(self.path.split('/'));
        both.find(|(segment, _)| is_it(segment)).map(|(_, came)| came)
    }
}

/// An answer as it came to a client.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    pub status: u16,
    /// Whether its body calls itself a problem document (RFC 9457).
    pub is_problem: bool,
    pub headers: &'a dyn Headers,
    pub body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// An answer of 200 of which nothing matters but its body.
    pub fn of(body: &'a [u8]) -> Answer<'a> {
        Answer { status: 200, is_problem: false, headers: &(), body }
    }
}

/// A call that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct BadCall {
    /// What sort of wrong.
    pub kind: BadCallKind,
    /// What, where, and what would be right.
    pub detail: String,
}

impl BadCall {
    /// What a parser says of a body, with the field in whose value it was, if in any ([`crate::strict::read`]).
    pub fn unread(kind: BadCallKind, field: Option<&str>, error: &dyn std::fmt::Display) -> BadCall {
        let detail = match field {
            Some(field) => format!("{field}: {error}"),
            None => error.to_string(),
        };
        BadCall { kind, detail }
    }
}

/// Sorts of bad calls; a server answers 400, 422, 404 and 428.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadCallKind {
    /// Not JSON at all.
    Malformed,
    /// JSON of another shape, or a value out of its range.
    Invalid,
    /// Well-formed, and names something that does not exist.
    Unknown,
    /// Does not say which version it is meant for, where it must.
    Unconditional,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_by_their_names() {
        let endpoint = Endpoint::get("/shops/{shop}/foods/{food}");
        let request = Request { endpoint, path: "/shops/7/foods/ab-c", ..Request::of(b"") };
        assert_eq!(
            (request.id("shop"), request.id("food"), request.id("foods")),
            (Some("7"), Some("ab-c"), None)
        );
        assert_eq!(Request { path: "/shops/7", ..request }.id("food"), None);
    }
}
