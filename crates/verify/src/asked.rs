//! Requests that no server may take, sent as they are.

use crate::bad_inputs::{self, Bad};
use crate::finding::{Failure, Rule};
use crate::openapi::Contract;
use crate::request::{Request, one_line};
use crate::statements::drawn;
use crate::watch::{ANSWER_MAX, Noted, SharedNotes, noted};
use adapter_http::{Expected, HttpTarget, Raw, Reply};
use anyhow::{Context, Result, anyhow, bail};
use contract::{Endpoint, Wire};
use serde_json::Value;
use std::collections::BTreeSet;
use targets::Driven;

/// Requests of a kind that others are made from, where its queries differ.
const SAMPLES: usize = 6;
/// What types of problem documents begin with.
const PROBLEM: &str = "urn:stackmark:problem:";

/// A connection for requests of any bytes, opened again where the server has closed it.
struct RawConnection<'a, W: Wire> {
    target: &'a HttpTarget<W>,
    notes: &'a SharedNotes<W>,
    raw: Option<Raw>,
}

impl<'a, W: Wire> RawConnection<'a, W> {
    fn new(target: &'a HttpTarget<W>, notes: &'a SharedNotes<W>) -> RawConnection<'a, W> {
        RawConnection { target, notes, raw: None }
    }

    /// Sends a request; gives what `judge` finds wrong with the answer, which must keep the contract too.
    async fn ask(
        &mut self,
        request: &Request,
        expected: &str,
        judge: impl FnOnce(&Reply<'_>) -> bool,
    ) -> Option<Failure> {
        let line = request.curl(&noted(self.notes, |notes| notes.url.clone()));
        let bytes = request.bytes(&self.target.address().to_string());
        self.send(request, line, &bytes, expected, judge).await
    }

    /// The same with other bytes than the request's own, and the line for a shell that sends these.
    async fn send(
        &mut self,
        request: &Request,
        line: String,
        bytes: &[u8],
        expected: &str,
        judge: impl FnOnce(&Reply<'_>) -> bool,
    ) -> Option<Failure> {
        let failure = |found: String| Some(Failure { request: line, expected: expected.to_owned(), found });
        if self.raw.is_none() {
            self.raw = self.target.raw().await.ok();
        }
        let Some(mut raw) = self.raw.take() else { return failure("no connection".into()) };
        let closes = match tokio::time::timeout(ANSWER_MAX, raw.ask(bytes)).await {
            Err(_) => return failure(format!("no answer within {} s", ANSWER_MAX.as_secs())),
            Ok(Err(why)) => return failure(why),
            Ok(Ok(reply)) => {
                noted(self.notes, |notes| notes.hold(request, &reply));
                if !judge(&reply) {
                    return failure(one_line(&reply));
                }
                reply.closes
            }
        };
        self.raw = (!closes).then_some(raw);
        None
    }
}

/// `/about` and `/health`.
pub(crate) fn about<W: Driven>(target: &HttpTarget<W>, notes: &SharedNotes<W>) -> Result<Rule> {
    let found = targets::wait_for(async {
        let mut line = RawConnection::new(target, notes);
        let mut found = Noted::default();
        for path in ["/about", "/health"] {
            let ok = |reply: &Reply<'_>| reply.status == 200;
            found.enter(line.ask(&Request::new("GET", path), "200", ok).await);
        }
        found
    })?;
    let rule = "/about names the server, and /health reports that it accepts calls";
    Ok(Rule::of(crate::ABOUT, rule, found.checked, found.failures))
}

/// Everything of the table of bad inputs, for each kind of call, and each request once. `maxima` are those of the contract.
fn table<W: Driven>(target: &HttpTarget<W>, size: &W::Extent, seed: u64, maxima: &BTreeSet<i64>) -> Vec<Bad> {
    let mut all = Vec::new();
    let mut sent = BTreeSet::new();
    for kind in 0..W::KINDS.len() {
        for sample in samples::<W>(target, size, seed, kind) {
            let new = |bad: &Bad| sent.insert(bad.request.bytes(""));
            all.extend(bad_inputs::of::<W>(kind, size, &sample, maxima).into_iter().filter(new));
        }
    }
    all
}

/// Whether each request of the table is answered with a problem type that it may have.
pub(crate) fn bad_inputs<W: Driven>(
    target: &HttpTarget<W>,
    notes: &SharedNotes<W>,
    size: &W::Extent,
    seed: u64,
) -> Result<Rule> {
    let found = targets::wait_for(async {
        let mut line = RawConnection::new(target, notes);
        let mut found = Noted::default();
        let maxima = noted(notes, |notes| notes.contract.maxima());
        for Bad { what, request, wanted, .. } in table::<W>(target, size, seed, &maxima) {
            let expected = format!("{what}: {}", shown(&wanted));
            found.enter(line.ask(&request, &expected, |reply| is_problem(reply, &wanted)).await);
        }
        found
    })?;
    let rule =
        "what is malformed, invalid, unknown or too large is rejected with the problem type of the contract";
    Ok(Rule::of("bad-input", rule, found.checked, found.failures))
}

/// What a server answers to each request of the table of bad inputs that it rejects without asking its engine, in the order of
/// the table: what is wrong with the request, and the status. `size` is that of the server's data.
///
/// # Errors
/// The server cannot be reached, is not a server of the workload, or leaves a request without an answer.
pub fn bad_input_statuses<W: Driven>(url: &str, size: &W::Extent, seed: u64) -> Result<Vec<(String, u16)>> {
    let maxima = Contract::read(W::CONTRACT).map_err(anyhow::Error::msg)?.maxima();
    targets::wait_for(async {
        let target = HttpTarget::<W>::reach(url, &Expected { scale: None }).await?;
        let host = target.address().to_string();
        let (mut statuses, mut kept) = (Vec::new(), None);
        let rejected = table::<W>(&target, size, seed, &maxima).into_iter().filter(|bad| !bad.asks_engine);
        for Bad { what, request, .. } in rejected {
            let mut raw = match kept.take() {
                Some(raw) => raw,
                None => target.raw().await.map_err(|error| anyhow!("{what}: no connection: {error}"))?,
            };
            let bytes = request.bytes(&host);
            let answered = tokio::time::timeout(ANSWER_MAX, raw.ask(&bytes)).await;
            let reply = answered.with_context(|| format!("{what}: no answer"))?;
            let (status, closes) = match reply {
                Ok(reply) => (reply.status, reply.closes),
                Err(why) => bail!("{what}: {why}"),
            };
            statuses.push((format!("{} {}: {what}", request.method, request.path()), status));
            kept = (!closes).then_some(raw);
        }
        Ok(statuses)
    })?
}

pub(crate) const HOST: &str = "host";

/// Requests that do not say once, and rightly, which host they are for: one of each kind of call, and `/health`.
pub(crate) fn hosts<W: Driven>(
    target: &HttpTarget<W>,
    notes: &SharedNotes<W>,
    size: &W::Extent,
    seed: u64,
) -> Result<Rule> {
    let found = targets::wait_for(async {
        let mut line = RawConnection::new(target, notes);
        let mut found = Noted::default();
        let of_kinds = (0..W::KINDS.len()).filter_map(|kind| samples::<W>(target, size, seed, kind).pop());
        let host = target.address().to_string();
        for request in std::iter::once(Request::new("GET", "/health")).chain(of_kinds) {
            let right = format!("host: {host}\r\n");
            let others = [
                ("no host", String::new()),
                ("two hosts", format!("{right}host: a\r\n")),
                ("the same host twice", right.repeat(2)),
                ("a host with a space in it", "host: a b\r\n".to_owned()),
            ];
            for (what, header) in others {
                let text = request.bytes(&host);
                let text = String::from_utf8_lossy(&text).replacen(&right, &header, 1);
                let shell = format!("printf %b {:?} | nc {} # {what}", text, host.replace(':', " "));
                let expected = format!("{what}: {}", shown(&["malformed"]));
                let judge = |reply: &Reply<'_>| is_problem(reply, &["malformed"]);
                found.enter(line.send(&request, shell, text.as_bytes(), &expected, judge).await);
                // Whatever it makes of the rest of such a request, the next one is read from its first byte.
                line.raw = None;
            }
        }
        found
    })?;
    let rule = "a request without a host, or with more than one, is rejected with 400 as `malformed`";
    Ok(Rule::of(HOST, rule, found.checked, found.failures))
}

/// Methods that a path has not, and a path that there is not.
pub(crate) fn methods<W: Driven>(
    target: &HttpTarget<W>,
    notes: &SharedNotes<W>,
    size: &W::Extent,
    seed: u64,
) -> Result<Rule> {
    const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    let found = targets::wait_for(async {
        let mut line = RawConnection::new(target, notes);
        let mut found = Noted::default();
        let missing = |reply: &Reply<'_>| is_problem(reply, &["unknown-path"]);
        let nowhere = Request::new("GET", "/no-such-path");
        found.enter(line.ask(&nowhere, &shown(&["unknown-path"]), missing).await);
        let mut seen = BTreeSet::new();
        for (kind, Endpoint { path: template, .. }) in W::ENDPOINTS.iter().enumerate() {
            let Some(sample) = samples::<W>(target, size, seed, kind).pop() else { continue };
            if !seen.insert(*template) {
                continue;
            }
            let path = sample.path().to_owned();
            let has = noted(notes, |notes| notes.contract.methods(&path));
            for method in
                METHODS.iter().filter(|method| !has.is_empty() && !has.iter().any(|has| has == *method))
            {
                let mut request = Request::new(method, &path);
                if *method != "GET" && *method != "DELETE" {
                    request.headers.push(("content-type".into(), "application/json".into()));
                    request.body = Some(b"{}".to_vec());
                }
                let expected =
                    format!("{}, with an `allow` of {}", shown(&["method-not-allowed"]), has.join(", "));
                let allows = |reply: &Reply<'_>| {
                    let allow = reply.header("allow").unwrap_or_default();
                    let allowed: Vec<&str> = allow.split(',').map(str::trim).collect();
                    is_problem(reply, &["method-not-allowed"])
                        && has.iter().all(|has| allowed.contains(&has.as_str()))
                };
                found.enter(line.ask(&request, &expected, allows).await);
            }
        }
        found
    })?;
    let rule = "other methods than a path has are answered with 405 and `allow`, other paths with 404";
    Ok(Rule::of("methods", rule, found.checked, found.failures))
}

/// Requests of a kind, as inputs draw them: several where their queries differ.
pub(crate) fn samples<W: Driven>(
    target: &HttpTarget<W>,
    size: &W::Extent,
    seed: u64,
    kind: usize,
) -> Vec<Request> {
    let mut found: Vec<Request> = Vec::new();
    for call in drawn::<W>(size, seed, kind) {
        let request = Request::parsed(&target.request(&call));
        let shape = |request: &Request| -> Vec<String> {
            let query = request.target.split_once('?').map_or("", |(_, query)| query);
            query.split('&').map(|pair| pair.split('=').next().unwrap_or_default().to_owned()).collect()
        };
        if found.len() < SAMPLES && !found.iter().any(|other| shape(other) == shape(&request)) {
            found.push(request);
        }
    }
    found
}

fn shown(wanted: &[&str]) -> String {
    let each = wanted.iter().map(|name| format!("{} {PROBLEM}{name}", bad_inputs::status(name)));
    each.collect::<Vec<_>>().join(" or ")
}

/// Whether an answer is a problem document of one of these types.
pub(crate) fn is_problem(reply: &Reply<'_>, wanted: &[&str]) -> bool {
    let body: Value = serde_json::from_slice(reply.body).unwrap_or_default();
    let kind = body["type"].as_str().and_then(|kind| kind.strip_prefix(PROBLEM));
    wanted.iter().any(|name| Some(*name) == kind && reply.status == bad_inputs::status(name))
}
