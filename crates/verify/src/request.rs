//! A request as bytes, and as a line that a reader can send again.

use adapter_http::Reply;
use std::fmt::Write;

/// Bytes of a body that a line shows.
const BODY_MAX: usize = 2_000;
/// Bytes of an answer that a finding shows.
const REPLY_MAX: usize = 400;

/// A request that may be changed before it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in lower case, with their values; without `host` and `content-length`.
    pub headers: Vec<(String, String)>,
    /// Nothing where there is none, and then no `content-length` either.
    pub body: Option<Vec<u8>>,
}

impl Request {
    pub(crate) fn new(method: &str, target: &str) -> Request {
        Request { method: method.to_owned(), target: target.to_owned(), headers: Vec::new(), body: None }
    }

    /// One of our own, from its bytes.
    pub(crate) fn parsed(bytes: &[u8]) -> Request {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]);
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let mut request = Request::new(words.next().unwrap_or_default(), words.next().unwrap_or_default());
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            match name {
                "host" => {}
                "content-length" => request.body = bytes.get(end + 4..).map(<[u8]>::to_vec),
                name => request.headers.push((name.to_owned(), value.trim().to_owned())),
            }
        }
        request
    }

    /// Its path without its query.
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub(crate) fn bytes(&self, host: &str) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nhost: {host}\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if let Some(body) = &self.body {
            let _ = write!(head, "content-length: {}\r\n", body.len());
        }
        head.push_str("\r\n");
        [head.as_bytes(), self.body.as_deref().unwrap_or_default()].concat()
    }

    /// A line for a shell that sends it again.
    pub(crate) fn curl(&self, url: &str) -> String {
        let mut line = String::from("curl -i");
        if self.method != "GET" || self.body.is_some() {
            let _ = write!(line, " -X {}", self.method);
        }
        for (name, value) in &self.headers {
            let _ = write!(line, " -H {}", quoted(format!("{name}: {value}").as_bytes()));
        }
        match &self.body {
            None => {}
            Some(body) if body.len() <= BODY_MAX => {
                let _ = write!(line, " --data-binary {}", quoted(body));
            }
            Some(body) => {
                let _ = write!(line, " --data-binary {}… # {} bytes", quoted(&body[..60]), body.len());
            }
        }
        let address = quoted(format!("{url}{}", self.target).as_bytes());
        line.replacen("curl -i", &format!("curl -i {address}"), 1)
    }
}

/// For a shell: in single quotes, or with escapes where bytes ask for them.
fn quoted(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(|one: char| one.is_control() || one == '\'') => format!("'{text}'"),
        _ => {
            let mut text = String::from("$'");
            for byte in bytes {
                match byte {
                    b'\'' | b'\\' => text.extend(['\\', char::from(*byte)]),
                    b' '..=b'~' => text.push(char::from(*byte)),
                    byte => {
                        let _ = write!(text, "\\x{byte:02x}");
                    }
                }
            }
            text + "'"
        }
    }
}

/// An answer in one line.
pub(crate) fn one_line(reply: &Reply<'_>) -> String {
    let body = String::from_utf8_lossy(reply.body);
    let shown: String = body.chars().filter(|one| !one.is_control()).take(REPLY_MAX).collect();
    let more = if body.chars().count() > REPLY_MAX { "…" } else { "" };
    format!("{} {shown}{more}", reply.status).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_back_from_its_bytes() {
        let request = Request {
            headers: vec![("if-match".into(), "\"1\"".into())],
            body: Some(b"{}".to_vec()),
            ..Request::new("PUT", "/foods/7?a=b")
        };
        let read = Request::parsed(&request.bytes("x:1"));
        assert_eq!(format!("{read:?}"), format!("{request:?}"));
        assert_eq!(read.path(), "/foods/7");
    }

    #[test]
    fn a_line_for_a_shell_sends_the_same_bytes() {
        let request = Request {
            headers: vec![("if-match".into(), "\"1\"".into())],
            body: Some(b"it's\xff".to_vec()),
            ..Request::new("PUT", "/foods/7")
        };
        assert_eq!(
            request.curl("http://h:1"),
            r#"curl -i 'http://h:1/foods/7' -X PUT -H 'if-match: "1"' --data-binary $'it\'s\xff'"#
        );
        assert_eq!(Request::new("GET", "/x?a=1&b").curl("http://h:1"), "curl -i 'http://h:1/x?a=1&b'");
    }
}
