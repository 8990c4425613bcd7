//! Requests: what is the same in all of a kind is written once, and each call puts its path, headers and body around it.

use crate::Address;
use contract::{Method, Wire};
use model::Connections;
use std::io::Write;

/// Places for the digits of `content-length`.
const LENGTH_PLACES: usize = 7;
/// The length goes last of all headers. It is padded with spaces on the left, which any header may have (RFC 9110, 5.6.3); zeros
/// would be octal to a careless server.
const LENGTH: &[u8] = b"content-length:        \r\n\r\n";

/// What the requests of one kind of call have in common.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// `POST `: what stands before the path.
    before: Vec<u8>,
    /// What stands behind it, up to the headers of a call's own.
    behind: Vec<u8>,
    /// The same of a request that asks the server for what each statement took.
    behind_clocked: Vec<u8>,
    has_body: bool,
}

impl Prepared {
    /// Requests by a method, on a connection that is kept or not.
    pub(crate) fn new(address: &Address, method: Method, connections: Connections) -> Prepared {
        let kind = if method.has_body() { "content-type: application/json\r\n" } else { "" };
        let close = if connections == Connections::PerCall { "connection: close\r\n" } else { "" };
        let behind = format!(" HTTP/1.1\r\nhost: {address}\r\n{close}{kind}").into_bytes();
        let behind_clocked = [&behind[..], b"stackmark-clock: statements\r\n"].concat();
        let before = format!("{} ", method.name()).into_bytes();
        Prepared { before, behind, behind_clocked, has_body: method.has_body() }
    }

    /// Writes the whole request of a call in place of what is in `into`. Allocates only while the largest so far grows.
    pub(crate) fn write<W: Wire>(&self, call: &W::Call, clocked: bool, into: &mut Vec<u8>) {
        into.clear();
        into.extend_from_slice(&self.before);
        W::encode_path(call, into);
        into.extend_from_slice(if clocked { &self.behind_clocked } else { &self.behind });
        W::encode_call_headers(call, &mut |name, value| {
            write!(into, "{name}: {value}\r\n").expect("a Vec takes every byte");
        });
        if !self.has_body {
            into.extend_from_slice(b"\r\n");
            return;
        }
        into.extend_from_slice(LENGTH);
        let head = into.len();
        W::encode_call(call, into);
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(into.len() - head).as_bytes();
        let end = head - b"\r\n\r\n".len();
        debug_assert!(digits.len() <= LENGTH_PLACES, "no call has {} digits of bytes", digits.len());
        into[end - digits.len()..end].copy_from_slice(digits);
    }
}

/// A GET of `path`, of what is not a call.
pub(crate) fn get(address: &Address, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: {address}\r\naccept: application/json\r\n\r\n").into_bytes()
}
