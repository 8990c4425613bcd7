//! Requests of any bytes, for who looks at what a server does with them.

use crate::connection::{Broken, Connection};
use crate::head::Lines;
use contract::{Answer, Headers};
use model::OpenError;
use std::net::SocketAddr;
use std::ops::Range;
use std::task::{Context, Poll};
use transport::Dialer;

/// A connection on which anything may be asked.
#[derive(Debug)]
pub struct Raw {
    connection: Connection,
}

/// An answer as it came.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    pub status: u16,
    /// Its body, without the framing of chunks.
    pub body: &'a [u8],
    /// Whether the server closes the connection behind it.
    pub closes: bool,
    pub(crate) head: &'a [u8],
}

impl<'a> Reply<'a> {
    pub(crate) fn of(connection: &'a Connection, status: u16, body: Range<usize>) -> Reply<'a> {
        let head = connection.bytes(0..body.start);
        Reply { status, body: connection.bytes(body), closes: false, head }
    }

    /// The same as a workload reads it.
    pub fn as_answer(&self) -> Answer<'_> {
        let media = self.header("content-type").and_then(|media| media.split(';').next()).unwrap_or_default();
        let is_problem = media.trim().eq_ignore_ascii_case("application/problem+json");
        Answer { status: self.status, is_problem, headers: self, body: self.body }
    }

    /// The value of the first header of that name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        Lines(self.head).find(name)
    }
}

impl Headers for Reply<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.header(name)
    }
}

impl Raw {
    pub(crate) async fn open(socket: SocketAddr) -> Result<Raw, OpenError> {
        let unreachable = |why| OpenError::Unreachable { what: format!("http://{socket}"), why };
        Ok(Raw { connection: Connection::open(&Dialer::Tcp(socket)).await.map_err(unreachable)? })
    }

    /// Ready when the server has closed the connection, or sent what nothing had asked for.
    pub fn poll_ended(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.connection.poll_ended(cx)
    }

    /// Sends these bytes and waits for an answer. After an error, and after an answer behind which the server closes, the
    /// connection is of no more use.
    pub async fn ask(&mut self, request: &[u8]) -> Result<Reply<'_>, String> {
        match self.connection.exchange(request).await {
            Ok(answer) => {
                let reply = Reply::of(&self.connection, answer.status, answer.body);
                Ok(Reply { closes: answer.close, ..reply })
            }
            Err(Broken::Unsent | Broken::Lost) => Err("the connection was closed without an answer".into()),
            Err(Broken::TurnedAway) => Err("the server refused the connection: it is at its limit".into()),
            Err(Broken::Contract(why)) => Err(why),
        }
    }
}
