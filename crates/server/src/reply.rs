//! Answers: body, timing headers, nothing else.

use crate::problem::Problem;
use crate::served::Exchange;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use model::{CallWork, Nanos};

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const WORK: HeaderName = HeaderName::from_static("stackmark-work");
/// In a request: its caller wants a clock around each statement.
pub(crate) const CLOCK: HeaderName = HeaderName::from_static("stackmark-clock");
const STATEMENTS: HeaderName = HeaderName::from_static("stackmark-statements");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");
/// Bytes that the outcome of an ordinary call fits in.
const OUTCOME_BYTES: usize = 2 << 10;
/// Seconds after which a refused client may come back.
const RETRY_AFTER_S: HeaderValue = HeaderValue::from_static("1");

/// The outcome of a call, with the status and the headers of its contract.
pub(crate) fn outcome(exchange: &dyn Exchange) -> Response {
    let mut body = Vec::with_capacity(OUTCOME_BYTES);
    exchange.encode(&mut body);
    let mut response = json(body);
    *response.status_mut() =
        StatusCode::from_u16(exchange.status()).expect("outcomes are made with the statuses of the contract");
    if exchange.is_problem() {
        response.headers_mut().insert(CONTENT_TYPE, PROBLEM_JSON);
    } else if response.status() == StatusCode::NO_CONTENT {
        response.headers_mut().remove(CONTENT_TYPE);
    }
    exchange.headers(&mut |name, value| {
        let value = HeaderValue::from_maybe_shared(Bytes::from(value.to_string()))
            .expect("a workload's headers have no control characters");
        response.headers_mut().insert(HeaderName::from_static(name), value);
    });
    response
}

/// A 200 with JSON.
pub(crate) fn json(body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

pub(crate) fn problem(problem: &Problem) -> Response {
    let mut response = Response::new(Body::from(problem.to_json()));
    *response.status_mut() =
        StatusCode::from_u16(problem.status).expect("problems are made with the statuses of the contract");
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, PROBLEM_JSON);
    if problem.status == 503 {
        headers.insert(RETRY_AFTER, RETRY_AFTER_S);
    }
    if problem.close {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Adds what the call took. [`model::Spent::server`] must be set.
pub(crate) fn server_timing(headers: &mut HeaderMap, work: &CallWork) {
    let spent = &work.spent;
    let mut text = Text::default();
    for (name, span) in [
        ("queue;dur=", spent.queue),
        (", pool;dur=", spent.pool),
        (", begin;dur=", spent.begin),
        (", query;dur=", spent.statements),
        (", commit;dur=", spent.commit),
        (", encode;dur=", spent.encode),
        (", total;dur=", spent.server),
    ] {
        text.push(name);
        text.push_millis(span);
    }
    headers.insert(SERVER_TIMING, text.into_value());
    let mut text = Text::default();
    for (name, count) in [
        ("attempts=", work.attempts),
        (", statements=", work.statements),
        (", rows=", work.rows),
        (", commits=", work.commits),
    ] {
        text.push(name);
        text.push_count(count.into());
    }
    if work.reconnects > 0 {
        text.push(", reconnects=");
        text.push_count(work.reconnects.into());
    }
    if work.grouped > 0 {
        for (name, count) in [(", grouped=", work.grouped), (", groups=", work.groups)] {
            text.push(name);
            text.push_count(count.into());
        }
    }
    headers.insert(WORK, text.into_value());
}

/// Adds what each statement took, in calls whose caller asked for it.
pub(crate) fn statements(headers: &mut HeaderMap, exchange: &dyn Exchange) {
    if !exchange.is_clocked() {
        return;
    }
    let mut text = Text::default();
    exchange.statements(&mut |name, time| {
        if !text.0.is_empty() {
            text.push(", ");
        }
        text.push(name);
        text.push(";n=");
        text.push_count(time.executions.into());
        text.push(";dur=");
        text.push_millis(time.spent);
    });
    if !text.0.is_empty() {
        headers.insert(STATEMENTS, text.into_value());
    }
}

/// A header value in the making.
struct Text(Vec<u8>);

impl Default for Text {
    fn default() -> Text {
        Text(Vec::with_capacity(192))
    }
}

impl Text {
    fn push(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn push_count(&mut self, count: u64) {
        self.push(itoa::Buffer::new().format(count));
    }

    /// Milliseconds with the nanosecond as their last place.
    fn push_millis(&mut self, span: Nanos) {
        self.push_count(span.0 / 1_000_000);
        let mut rest = span.0 % 1_000_000;
        let mut places = *b".000000";
        for place in places[1..].iter_mut().rev() {
            *place += (rest % 10) as u8;
            rest /= 10;
        }
        self.0.extend_from_slice(&places);
    }

    fn into_value(self) -> HeaderValue {
        HeaderValue::from_maybe_shared(Bytes::from(self.0))
            .expect("names, digits and punctuation make a header value")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Spent;

    #[test]
    fn server_timing_is_exact_to_the_nanosecond() {
        let spent = Spent {
            queue: Nanos(1),
            pool: Nanos(999_999),
            begin: Nanos(1_000_000),
            statements: Nanos(12_345_678_901),
            commit: Nanos(0),
            encode: Nanos(20_300),
            server: Nanos(70_000_000),
            ..Spent::default()
        };
        let mut work =
            CallWork { attempts: 2, statements: 46, rows: 33, commits: 1, spent, ..CallWork::default() };
        let mut headers = HeaderMap::new();
        server_timing(&mut headers, &work);
        assert_eq!(
            headers["server-timing"],
            "queue;dur=0.000001, pool;dur=0.999999, begin;dur=1.000000, query;dur=12345.678901, \
             commit;dur=0.000000, encode;dur=0.020300, total;dur=70.000000"
        );
        assert_eq!(headers["stackmark-work"], "attempts=2, statements=46, rows=33, commits=1");
        work.reconnects = 1;
        server_timing(&mut headers, &work);
        let reconnected = "attempts=2, statements=46, rows=33, commits=1, reconnects=1";
        assert_eq!(headers["stackmark-work"], reconnected);
        work.reconnects = 0;
        // Only of commits that calls can share.
        work.grouped = 1;
        server_timing(&mut headers, &work);
        let grouped = "attempts=2, statements=46, rows=33, commits=1, grouped=1, groups=0";
        assert_eq!(headers["stackmark-work"], grouped);
    }
}
