//! Requests, written once: the head is built when the session opens, a call only appends its body.

use crate::Address;

/// Places for the digits of `content-length`.
const LENGTH_PLACES: usize = 7;

/// The request of one kind of call.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    bytes: Vec<u8>,
    head: usize,
    length_end: usize,
}

impl Request {
    /// A POST of JSON to `path`, of a call that is like all others.
    pub(crate) fn post(address: &Address, path: &str) -> Request {
        Request::with(address, path, "")
    }

    /// The same, which asks the server for what each statement took.
    pub(crate) fn post_clocked(address: &Address, path: &str) -> Request {
        Request::with(address, path, "stackmark-clock: statements\r\n")
    }

    fn with(address: &Address, path: &str, more: &str) -> Request {
        // The length goes last of all so that its place is known. It is padded with spaces on the left, which
        // any header may have (RFC 9110, 5.6.3); zeros would be octal to a careless server.
        let before = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n{more}content-length: "
        );
        let length_end = before.len() + LENGTH_PLACES;
        let bytes = format!("{before}{:>LENGTH_PLACES$}\r\n\r\n", 0).into_bytes();
        Request { head: bytes.len(), bytes, length_end }
    }

    /// A GET of `path`.
    pub(crate) fn get(address: &Address, path: &str) -> Vec<u8> {
        format!("GET {path} HTTP/1.1\r\nhost: {address}\r\naccept: application/json\r\n\r\n").into_bytes()
    }

    /// The whole request with the body that `encode` appends. Allocates only while the largest body so far
    /// grows.
    pub(crate) fn fill(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> &[u8] {
        self.bytes.truncate(self.head);
        encode(&mut self.bytes);
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(self.bytes.len() - self.head).as_bytes();
        let places = &mut self.bytes[self.length_end - LENGTH_PLACES..self.length_end];
        let (padding, number) = places.split_at_mut(LENGTH_PLACES - digits.len());
        padding.fill(b' ');
        number.copy_from_slice(digits);
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_follows_the_body() {
        let address = Address::parse("http://127.0.0.1:80").unwrap();
        let mut ways = [Request::post(&address, "/x"), Request::post_clocked(&address, "/x")];
        for (way, body) in [(0, "{}"), (1, "{\"a\":\"0123456789\"}"), (0, ""), (1, "{}")] {
            let bytes = ways[way].fill(|into| into.extend_from_slice(body.as_bytes())).to_vec();
            let mut headers = [httparse::EMPTY_HEADER; 8];
            let mut parsed = httparse::Request::new(&mut headers);
            let head = parsed.parse(&bytes).unwrap().unwrap();
            assert_eq!(&bytes[head..], body.as_bytes());
            let length = parsed.headers.iter().find(|header| header.name == "content-length").unwrap();
            assert_eq!(std::str::from_utf8(length.value).unwrap().trim(), body.len().to_string());
            let asks = headers.iter().any(|header| header.name == "stackmark-clock");
            assert_eq!(asks, way == 1);
        }
    }
}
