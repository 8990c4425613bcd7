//! Connections that no one should suffer from: idle ones, slow ones, ones that go away in the middle of a body.

use crate::finding::{Failure, Rule};
use adapter_http::HttpTarget;
use anyhow::Result;
use contract::Wire;
use model::OpenError;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Connections that say nothing.
const IDLE: usize = 2_000;
/// Connections that send a head byte by byte.
const SLOW: usize = 50;
/// Connections that end in the middle of a body.
const VANISH: usize = 100;
/// `/health` is answered within this time, whatever else is open. A server that is blocked stays so; a busy machine only
/// for a while.
const HEALTH_MAX: Duration = Duration::from_secs(30);
/// Between two bytes of a slow head.
const DRIBBLE: Duration = Duration::from_millis(5);

const NAME: &str = "connections";
const RULE: &str = "calls are answered while other connections are idle or slow, and after some have ended in the middle of a body";

/// Opens all of these, and asks `/health` meanwhile.
pub(crate) fn connections<W: Wire>(target: &HttpTarget<W>, url: &str) -> Result<Rule> {
    targets::wait_for(async {
        let mut checked = 0;
        let mut failures = Vec::new();
        let mut open = Vec::new();
        let mut beside = |what: String, found: Result<(), String>| {
            checked += 1;
            failures.extend(found.err().map(|found| Failure {
                request: format!("curl -i '{url}/health' # {what}"),
                expected: format!("200 within {} s", HEALTH_MAX.as_secs()),
                found,
            }));
        };
        for _ in 0..IDLE {
            match connect(target).await {
                Ok(stream) => open.push(stream),
                // A server may have a limit, as long as it answers those that it lets in.
                Err(_) => break,
            }
        }
        let idle = open.len();
        if idle == IDLE {
            beside(format!("with {idle} idle connections"), health(target).await);
            open.clear();
        } else {
            open.truncate(idle / 2);
            beside(format!("with {} idle connections of {idle} that could be opened", idle / 2), health(target).await);
            open.clear();
        }
        let mut slow = Vec::new();
        for _ in 0..SLOW {
            slow.extend(connect(target).await.ok());
        }
        for byte in b"GET /health HTTP/1.1\r\nhost: a" {
            for stream in &mut slow {
                // One that the server has closed by now is as good.
                let _ = stream.write_all(&[*byte]).await;
            }
            tokio::time::sleep(DRIBBLE).await;
        }
        beside(format!("with {SLOW} connections that send their heads byte by byte"), health(target).await);
        drop(slow);
        let path = W::ENDPOINTS.iter().find(|endpoint| endpoint.method.has_body()).map_or("/", |endpoint| endpoint.path);
        for _ in 0..VANISH {
            if let Ok(mut stream) = connect(target).await {
                let half = format!(
                    "POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{{\"half"
                );
                let _ = stream.write_all(half.as_bytes()).await;
            }
        }
        beside(format!("after {VANISH} connections that ended in the middle of a body"), health(target).await);
        Ok::<_, OpenError>(Rule::of(NAME, RULE, checked, failures))
    })?
    .map_err(Into::into)
}

async fn connect<W: Wire>(target: &HttpTarget<W>) -> Result<TcpStream, String> {
    match tokio::time::timeout(HEALTH_MAX, TcpStream::connect(target.socket())).await {
        Ok(stream) => stream.map_err(|error| error.to_string()),
        Err(_) => Err("no connection".into()),
    }
}

/// A request that each server answers.
pub(crate) fn request_of_health<W: Wire>(target: &HttpTarget<W>) -> String {
    format!("GET /health HTTP/1.1\r\nhost: {}\r\n\r\n", target.address())
}

async fn health<W: Wire>(target: &HttpTarget<W>) -> Result<(), String> {
    let asked = async {
        let mut raw = target.raw().await.map_err(|error| error.to_string())?;
        match raw.ask(request_of_health(target).as_bytes()).await?.status {
            200 => Ok(()),
            status => Err(format!("status {status}")),
        }
    };
    match tokio::time::timeout(HEALTH_MAX, asked).await {
        Ok(answered) => answered,
        Err(_) => Err("no answer".into()),
    }
}
