//! A server that loads and looks at its own store, where no one else can: `/admin/load` and `/admin/evidence`, behind a token.

use crate::reach::reach;
use adapter_http::Raw;
use anyhow::{Context, Result, bail};
use result::{Audit, AuditFamily, AuditWhen, Check};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use sql::Secret;
use std::time::Duration;
use targets::Driven;

/// The variable that holds the token. It is handed to no process.
const TOKEN: &str = "STACKMARK_ADMIN_TOKEN";
/// A load or an audit takes no longer.
const ANSWER_MAX: Duration = Duration::from_secs(600);
/// Characters of an answer that an error shows.
const SHOWN_MAX: usize = 200;

/// A running server that may be asked for what only it can see.
#[derive(Debug)]
pub struct ServerAdmin {
    url: String,
    token: Secret,
}

#[derive(Deserialize)]
struct OwnEvidence<E> {
    evidence: E,
    audits: Vec<OwnAudit>,
}

#[derive(Deserialize)]
struct OwnAudit {
    name: String,
    passed: bool,
    sentence: String,
}

impl ServerAdmin {
    /// The server at an address, where a token for it is set.
    pub fn of(url: &str) -> Option<ServerAdmin> {
        let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty())?;
        Some(ServerAdmin { url: url.to_owned(), token: Secret::new(token) })
    }

    /// What readers of a number must know.
    pub(crate) const NOTE: &'static str =
        "The server loaded and audited the data itself (/admin): there was no independent audit.";

    /// Has it replace its data with that of a size.
    ///
    /// # Errors
    /// It does not offer that, does not take the token, or cannot.
    pub fn load<W: Driven>(&self, size: &W::Extent, seed: u64) -> Result<()> {
        let body = json!({ "workload": W::NAME, "size": size, "seed": seed }).to_string();
        self.ask::<W>("POST", "/admin/load", Some(&body)).map(drop)
    }

    /// What the store reports, and the server's own audits of it.
    ///
    /// # Errors
    /// As for [`ServerAdmin::load`]; or what it says is not the workload's evidence.
    pub fn evidence<W: Driven>(&self) -> Result<(W::Evidence, Vec<Audit>)> {
        let answer = self.ask::<W>("GET", "/admin/evidence", None)?;
        let OwnEvidence { evidence, audits } = read::<OwnEvidence<W::Evidence>>(answer)?;
        Ok((evidence, audits.into_iter().map(audit).collect()))
    }

    fn ask<W: Driven>(&self, method: &str, path: &str, body: Option<&str>) -> Result<Value> {
        let target = reach::<W>(&self.url, None)?;
        let body = body.map_or_else(String::new, |body| {
            format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        });
        let end = if body.is_empty() { "\r\n" } else { "" };
        let (host, token) = (target.address(), self.token.reveal());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n{body}{end}"
        );
        let asked = async {
            let mut raw: Raw = target.raw().await?;
            let reply = match tokio::time::timeout(ANSWER_MAX, raw.ask(request.as_bytes())).await {
                Ok(reply) => reply.map_err(anyhow::Error::msg)?,
                Err(_) => bail!("no answer within {} s", ANSWER_MAX.as_secs()),
            };
            let body: String = String::from_utf8_lossy(reply.body).chars().take(SHOWN_MAX).collect();
            match reply.status {
                200 => serde_json::from_slice(reply.body)
                    .with_context(|| format!("the answer is not JSON: {body}")),
                401 | 403 => bail!("the server does not take the token of {TOKEN}"),
                404 => {
                    bail!("the server does not offer it\nhint: unset {TOKEN}, or give --db with its database")
                }
                status => bail!("status {status}: {body}"),
            }
        };
        targets::wait_for(asked)?.with_context(|| format!("{method} {path} of {}", self.url))
    }
}

fn read<T: DeserializeOwned>(answer: Value) -> Result<T> {
    serde_json::from_value(answer).context("/admin/evidence is not the evidence of this workload")
}

fn audit(own: OwnAudit) -> Audit {
    Audit {
        name: own.name,
        store: None,
        family: AuditFamily::Consistency,
        when: AuditWhen::AfterRun,
        clause: None,
        check: if own.passed { Check::Passed } else { Check::Failed },
        sentence: format!("the server reports: {}", own.sentence),
        violations: Vec::new(),
        duration_s: 0.0,
    }
}
