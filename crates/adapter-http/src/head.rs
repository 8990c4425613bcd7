//! The head of an answer, parsed in place.

use crate::server_timing::{read_server_timing, read_work};
use contract::Headers;
use model::CallWork;
use std::mem::MaybeUninit;

/// Header lines of an answer.
const HEADERS_MAX: usize = 48;

/// What the head of an answer says, as far as a session cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// Bytes up to and including the empty line.
    pub bytes: usize,
    pub status: u16,
    /// How the end of the body is found.
    pub framing: Framing,
    /// Whether the server closes the connection after this answer.
    pub close: bool,
    /// Whether the body calls itself a problem document.
    pub problem: bool,
    /// Whether it calls itself JSON, and nothing more special.
    pub json: bool,
    /// The server's own account of its work.
    pub work: CallWork,
    /// First byte and end of its account of each statement; the same where there is none.
    pub statements: (usize, usize),
}

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// By its length in bytes.
    Length(usize),
    /// By its last chunk.
    Chunked,
}

/// Parses the head at the start of `bytes`; `None` if it is not all there yet.
///
/// # Errors
/// One clause: what of HTTP/1.1 or of our contract is broken.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Head>, String> {
    let mut headers = [const { MaybeUninit::<httparse::Header<'_>>::uninit() }; HEADERS_MAX];
    let mut answer = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default()
        .parse_response_with_uninit_headers(&mut answer, bytes, &mut headers)
        .map_err(|error| format!("the answer is not HTTP/1.1: {error}"))?;
    let httparse::Status::Complete(length) = parsed else { return Ok(None) };
    let status = answer.code.unwrap_or_default();
    let http_1_0 = answer.version == Some(0);
    let mut head = Head {
        bytes: length,
        status,
        framing: Framing::Length(0),
        close: http_1_0,
        problem: false,
        json: false,
        work: CallWork::default(),
        statements: (0, 0),
    };
    let mut content_length = None;
    let mut chunked = false;
    for header in answer.headers.iter() {
        read_header(header, &mut head, &mut content_length, &mut chunked)?;
        if header.name.len() == 20 && header.name.eq_ignore_ascii_case("stackmark-statements") {
            let from = header.value.as_ptr().addr() - bytes.as_ptr().addr();
            head.statements = (from, from + header.value.len());
        }
    }
    head.framing = match (content_length, chunked) {
        (Some(_), true) => return Err("the answer has both content-length and transfer-encoding".into()),
        (Some(length), false) => Framing::Length(length),
        (None, true) => Framing::Chunked,
        (None, false) if has_no_body(status) => Framing::Length(0),
        (None, false) => return Err("the answer has neither content-length nor transfer-encoding".into()),
    };
    Ok(Some(head))
}

fn read_header(
    header: &httparse::Header<'_>,
    head: &mut Head,
    content_length: &mut Option<usize>,
    chunked: &mut bool,
) -> Result<(), String> {
    let (name, value) = (header.name, header.value);
    // By length first: most headers are decided by one comparison of two numbers.
    match name.len() {
        10 if name.eq_ignore_ascii_case("connection") => {
            for token in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                head.close |= token.eq_ignore_ascii_case(b"close");
                // HTTP/1.0 servers keep a connection only if they say so.
                head.close &= !token.eq_ignore_ascii_case(b"keep-alive");
            }
        }
        12 if name.eq_ignore_ascii_case("content-type") => {
            let media = value.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
            head.problem = media.eq_ignore_ascii_case(b"application/problem+json");
            head.json = media.eq_ignore_ascii_case(b"application/json");
        }
        13 if name.eq_ignore_ascii_case("server-timing") => read_server_timing(value, &mut head.work),
        14 if name.eq_ignore_ascii_case("content-length") => {
            let length = std::str::from_utf8(value).ok().and_then(|text| text.trim().parse::<u32>().ok());
            let length = length.ok_or("the answer has a bad content-length")? as usize;
            if content_length.is_some_and(|other| other != length) {
                return Err("the answer has two different content-lengths".into());
            }
            *content_length = Some(length);
        }
        14 if name.eq_ignore_ascii_case("stackmark-work") => read_work(value, &mut head.work),
        17 if name.eq_ignore_ascii_case("transfer-encoding") => {
            if !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                return Err("the answer has a transfer-encoding other than chunked".into());
            }
            *chunked = true;
        }
        16 if name.eq_ignore_ascii_case("content-encoding")
            && !value.trim_ascii().eq_ignore_ascii_case(b"identity") =>
        {
            return Err("the response is compressed without a request for it".into());
        }
        _ => {}
    }
    Ok(())
}

/// The lines of a head that has been parsed, for a workload that wants one of them: looked through only when it asks.
pub(crate) struct Lines<'a>(pub(crate) &'a [u8]);

impl<'a> Lines<'a> {
    pub(crate) fn find(&self, name: &str) -> Option<&'a str> {
        // The first is that of the status.
        self.0.split(|&byte| byte == b'\n').skip(1).find_map(|line| {
            let colon = line.iter().position(|&byte| byte == b':')?;
            let (found, value) = (&line[..colon], &line[colon + 1..]);
            let is_it = found.eq_ignore_ascii_case(name.as_bytes());
            is_it.then(|| std::str::from_utf8(value.trim_ascii()).ok()).flatten()
        })
    }
}

impl Headers for Lines<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.find(name)
    }
}

fn has_no_body(status: u16) -> bool {
    matches!(status, 100..=199 | 204 | 304)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_head_is_understood() {
        let bytes = b"HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json; charset=utf-8\r\n\
            Content-Length:  12 \r\nserver-timing: query;dur=1\r\nServer-Timing: total;dur=2\r\n\
            Stackmark-Work: attempts=3\r\nConnection: Upgrade, Close\r\nStackmark-Statements: a;n=1;dur=2\r\n\r\nrest";
        let head = parse(bytes).unwrap().unwrap();
        assert_eq!((head.bytes, head.status, head.framing), (bytes.len() - 4, 409, Framing::Length(12)));
        assert!(head.close && head.problem);
        assert_eq!(head.work.attempts, 3);
        assert_eq!(&bytes[head.statements.0..head.statements.1], b"a;n=1;dur=2");
        assert_eq!((head.work.spent.statements.0, head.work.spent.server.0), (1_000_000, 2_000_000));
    }

    #[test]
    fn a_line_of_a_head_is_found_by_its_name_alone() {
        let lines = Lines(b"HTTP/1.1 200 etag: no\r\nETag: \t\"3\" \r\nx: etag: 4\r\nbad: \xff\r\n\r\n");
        assert_eq!((lines.get("etag"), lines.get("x")), (Some("\"3\""), Some("etag: 4")));
        assert_eq!((lines.get("bad"), lines.get("http/1.1 200 etag"), lines.get("")), (None, None, None));
    }

    #[test]
    fn every_prefix_of_a_head_waits_for_more() {
        let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        for end in 0..bytes.len() {
            assert_eq!(parse(&bytes[..end]), Ok(None), "{end}");
        }
        assert_eq!(parse(bytes).unwrap().unwrap().framing, Framing::Chunked);
    }

    #[test]
    fn http_1_0_closes_unless_it_says_otherwise() {
        let close = |bytes: &[u8]| parse(bytes).unwrap().unwrap().close;
        assert!(close(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
        assert!(!close(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"));
        assert!(!close(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    }

    #[test]
    fn a_head_that_could_be_misread_is_an_error() {
        for (head, why) in [
            ("content-length: 1\r\ntransfer-encoding: chunked\r\n", "both"),
            ("content-length: 1\r\ncontent-length: 2\r\n", "two different"),
            ("content-length: -1\r\n", "bad content-length"),
            ("content-length: 99999999999\r\n", "bad content-length"),
            ("transfer-encoding: gzip, chunked\r\n", "other than chunked"),
            ("content-length: 1\r\ncontent-encoding: gzip\r\n", "compressed"),
            ("", "neither"),
            ("no colon\r\n", "not HTTP/1.1"),
        ] {
            let listed = parse(format!("HTTP/1.1 200 OK\r\n{head}\r\n").as_bytes()).unwrap_err();
            assert!(listed.contains(why), "{head:?}: {listed}");
        }
        assert!(parse(b"SSH-2.0-OpenSSH_9.6\r\n").is_err());
    }
}
