//! Bodies in chunks, as servers in other languages like to send them.

/// Where a chunked body ends, and how long it is without its framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunked {
    /// Bytes of the body with its framing.
    pub framed: usize,
    /// Bytes of the body itself.
    pub body: usize,
}

/// Finds the end of the chunked body at the start of `bytes`; `None` if it is not all there yet.
///
/// Starts over on each call: bodies have a small limit, and chunks seldom arrive apart.
///
/// # Errors
/// One clause: what of the framing is broken.
pub(crate) fn measure(bytes: &[u8]) -> Result<Option<Chunked>, String> {
    let mut body = 0;
    let mut at = 0;
    loop {
        let Some((data, size)) = chunk_head(&bytes[at..])? else { return Ok(None) };
        at += data;
        if size == 0 {
            return Ok(trailers_end(&bytes[at..])?.map(|length| Chunked { framed: at + length, body }));
        }
        let Some(ending) = bytes.get(at + size..at + size + 2) else { return Ok(None) };
        if ending != b"\r\n" {
            return Err("a chunk of the response is longer than its stated length".into());
        }
        body += size;
        at += size + 2;
    }
}

/// Moves the data of a body that [`measure`] found whole to the start of `bytes`.
pub(crate) fn compact(bytes: &mut [u8]) {
    let (mut from, mut to) = (0, 0);
    while let Ok(Some((data, size))) = chunk_head(&bytes[from..]) {
        if size == 0 {
            return;
        }
        bytes.copy_within(from + data..from + data + size, to);
        to += size;
        from += data + size + 2;
    }
}

/// Bytes of the size line, and the size.
fn chunk_head(bytes: &[u8]) -> Result<Option<(usize, usize)>, String> {
    match httparse::parse_chunk_size(bytes) {
        // A size beyond any limit must not overflow the sums above.
        Ok(httparse::Status::Complete((data, size))) => match u32::try_from(size) {
            Ok(size) => Ok(Some((data, size as usize))),
            Err(_) => Err("a chunk of the answer is absurdly large".into()),
        },
        Ok(httparse::Status::Partial) => Ok(None),
        Err(_) => Err("the answer has a bad chunk size".into()),
    }
}

/// Length of the trailer section with its empty line. Trailers themselves say nothing that we want.
fn trailers_end(bytes: &[u8]) -> Result<Option<usize>, String> {
    let mut headers = [httparse::EMPTY_HEADER; 16];
    match httparse::parse_headers(bytes, &mut headers) {
        Ok(httparse::Status::Complete((length, _))) => Ok(Some(length)),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(error) => Err(format!("the answer has bad trailers: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_become_one_body_in_place() {
        let framed = b"5\r\nhello\r\n1;ext=1\r\n \r\nA\r\n0123456789\r\n0\r\ntrailer: x\r\n\r\n".to_vec();
        let mut bytes = [&framed[..], b"next"].concat();
        for end in 0..framed.len() {
            assert_eq!(measure(&bytes[..end]), Ok(None), "{end}");
        }
        let found = measure(&bytes).unwrap().unwrap();
        assert_eq!(found, Chunked { framed: framed.len(), body: 16 });
        compact(&mut bytes[..found.framed]);
        assert_eq!(&bytes[..found.body], b"hello 0123456789");
        assert_eq!(&bytes[framed.len()..], b"next");
    }

    #[test]
    fn broken_framing_is_an_error() {
        for bytes in [&b"x\r\n"[..], b"3\r\nabcdef\r\n0\r\n\r\n", b"fffffffff\r\n", b"0\r\nbad\x00\r\n\r\n"] {
            assert!(measure(bytes).is_err(), "{}", bytes.escape_ascii());
        }
    }
}
