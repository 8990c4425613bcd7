//! A proxy in front of a server that answers with numbers at the ends of their range.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What it does to answers.
#[derive(Debug, Clone, Copy)]
pub struct Extreme {
    /// What stands in place of each whole number in a body, and of a version in an `ETag`.
    pub number: i64,
    /// The status in place of the right one, if any: then answers without a number are spoiled too.
    pub status: Option<u16>,
    /// What the heads of the requests contain whose answers it spoils; empty for all.
    pub to: &'static [&'static str],
    /// It spoils every so many of them.
    pub every: u64,
    /// The field whose numbers it replaces; all where there is none.
    pub field: Option<&'static str>,
}

/// Starts a proxy in front of the server at a port of this machine, and gives its own; it lives as long as the process.
pub fn proxy(server: u16, extreme: Extreme) -> io::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    let seen = Arc::new(AtomicU64::new(0));
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                let server = TcpStream::connect(("127.0.0.1", server))?;
                pass(client, server, extreme, &seen)
            });
        }
    });
    Ok(port)
}

fn pass(client: TcpStream, server: TcpStream, extreme: Extreme, seen: &AtomicU64) -> io::Result<()> {
    let (mut client, mut server) = (BufReader::new(client), BufReader::new(server));
    loop {
        let Some((head, body)) = message(&mut client)? else { return Ok(()) };
        // What a server reports is not an answer to a call.
        let first = head.lines().next().unwrap_or_default();
        let is_own = first.contains("/about") || first.contains("/health");
        let is_call = !is_own && extreme.to.iter().all(|part| head.contains(part));
        server.get_mut().write_all(&[head.as_bytes(), &body].concat())?;
        let Some((head, body)) = message(&mut server)? else { return Ok(()) };
        let spoiled = if extreme.status == Some(204) { Vec::new() } else { spoiled(&body, extreme) };
        let can_spoil = is_call && (extreme.status.is_some() || spoiled != body);
        let spoils = can_spoil && seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(extreme.every);
        let (head, body) = if spoils { (with(&head, spoiled.len(), extreme), spoiled) } else { (head, body) };
        client.get_mut().write_all(&[head.as_bytes(), &body].concat())?;
    }
}

/// A message whose length stands in its head; nothing at the end of the connection.
fn message(from: &mut BufReader<TcpStream>) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if from.read_line(&mut head)? == 0 {
            return Ok(None);
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    from.read_exact(&mut body)?;
    Ok(Some((head, body)))
}

/// The body with another number in place of each that is not part of a text, and is of the field if one was named.
fn spoiled(body: &[u8], Extreme { number, field, .. }: Extreme) -> Vec<u8> {
    let (mut to, mut within_text, mut escaped, mut within_number) = (Vec::new(), false, false, false);
    let mut last_text = Vec::new();
    for byte in body {
        match (within_text, byte) {
            (false, b'"') => last_text.clear(),
            (true, byte) if *byte != b'"' => last_text.push(*byte),
            _ => {}
        }
        let is_number = !within_text
            && matches!(byte, b'0'..=b'9' | b'-' | b'.')
            && field.is_none_or(|field| field.as_bytes() == last_text);
        if is_number && !within_number {
            to.extend(number.to_string().bytes());
        }
        within_number = is_number;
        if !is_number {
            to.push(*byte);
        }
        within_text ^= *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
    }
    to
}

/// The head of a message of another length, with another version and status.
fn with(head: &str, length: usize, Extreme { number, status, .. }: Extreme) -> String {
    let line = |line: &str| match line.split_once(':') {
        None if line.starts_with("HTTP/") && status.is_some() => {
            format!("HTTP/1.1 {} Spoiled\r\n", status.unwrap_or_default())
        }
        Some((name, _)) if name.eq_ignore_ascii_case("content-length") => format!("{name}: {length}\r\n"),
        Some((name, _)) if name.eq_ignore_ascii_case("etag") => format!("{name}: \"{number}\"\r\n"),
        _ => format!("{line}\r\n"),
    };
    head.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spoiled_and_texts_are_not() {
        let body = br#"{"id": 12, "name": "a \"7\" 8", "list": [-1, 2.50], "none": null}"#;
        let found = String::from_utf8(spoiled(
            body,
            Extreme { number: i64::MIN, status: None, to: &[], every: 1, field: None },
        ))
        .unwrap_or_default();
        let least = i64::MIN;
        let wanted =
            format!(r#"{{"id": {least}, "name": "a \"7\" 8", "list": [{least}, {least}], "none": null}}"#);
        assert_eq!(found, wanted);
        let of_field = Extreme { number: 7, status: None, to: &[], every: 1, field: Some("list") };
        let found = String::from_utf8(spoiled(body, of_field)).unwrap_or_default();
        assert_eq!(found, r#"{"id": 12, "name": "a \"7\" 8", "list": [7, 7], "none": null}"#);
        let extreme = Extreme { number: 5, status: Some(418), to: &[], every: 1, field: None };
        assert_eq!(
            with("HTTP/1.1 200 OK\r\nContent-Length: 3\r\netag: \"1\"\r\n\r\n", 9, extreme),
            "HTTP/1.1 418 Spoiled\r\nContent-Length: 9\r\netag: \"5\"\r\n\r\n"
        );
    }
}
