//! Servers that only claim to be there: they speak as much of a protocol as someone needs who asks for their version.

use sql::Dialect;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Longest message that is read.
const MESSAGE_MAX: usize = 1 << 20;

/// Starts a server of an old version on a free port, which it gives; it lives as long as the process. Everybody is let in.
/// PostgreSQL: `version` is that of `server_version`. MariaDB: it is followed by `-MariaDB`.
pub fn server(dialect: Dialect, version: &str) -> io::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    let version = version.to_owned();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let version = version.clone();
            std::thread::spawn(move || match dialect {
                Dialect::MySql => mariadb(&mut client, &version),
                Dialect::Postgres | Dialect::Sqlite => postgres(&mut client, &version),
            });
        }
    });
    Ok(port)
}

/// A message of PostgreSQL: kind, length, content.
pub(crate) fn message(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len() + 4).expect("short");
    [&[kind][..], &length.to_be_bytes(), content].concat()
}

fn postgres(client: &mut TcpStream, version: &str) -> io::Result<()> {
    let mut start = vec![0; 4];
    client.read_exact(&mut start)?;
    let mut rest = vec![0; length(&start)?];
    client.read_exact(&mut rest)?;
    let ready = message(b'Z', b"I");
    let named = message(b'S', format!("server_version\0{version}\0").as_bytes());
    client.write_all(&[message(b'R', &[0; 4]), named, ready.clone()].concat())?;
    loop {
        let mut head = [0; 5];
        client.read_exact(&mut head)?;
        let mut content = vec![0; length(&head[1..])?];
        client.read_exact(&mut content)?;
        let text = String::from_utf8_lossy(&content);
        let answer = match head[0] {
            // A setting that came with version 11.
            b'Q' if text.contains("jit") => {
                let why = "SERROR\0C42704\0Munrecognized configuration parameter \"jit\"\0\0";
                [message(b'E', why.as_bytes()), ready.clone()].concat()
            }
            b'Q' if text.contains("server_version") => [self::row(version), ready.clone()].concat(),
            b'Q' => [message(b'C', b"SET\0"), ready.clone()].concat(),
            b'X' => return Ok(()),
            _ => Vec::new(),
        };
        client.write_all(&answer)?;
    }
}

/// One row with the version, in text, as number and as name.
fn row(version: &str) -> Vec<u8> {
    let number = version.split('.').next().and_then(|major| major.parse::<u32>().ok()).unwrap_or(0) * 10_000;
    let columns = [version.to_owned(), number.to_string()];
    let mut about = vec![0, 2];
    let mut values = vec![0, 2];
    for column in &columns {
        // Name, no table, text of any length, no modifier, as text.
        about.extend(b"c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0");
        values.extend(u32::try_from(column.len()).expect("short").to_be_bytes());
        values.extend(column.as_bytes());
    }
    [message(b'T', &about), message(b'D', &values), message(b'C', b"SELECT 1\0")].concat()
}

/// What follows a length that counts itself.
fn length(bytes: &[u8]) -> io::Result<usize> {
    let length: [u8; 4] = bytes.try_into().map_err(io::Error::other)?;
    let rest = (u32::from_be_bytes(length) as usize).saturating_sub(4);
    if rest > MESSAGE_MAX { Err(io::Error::other("not a message")) } else { Ok(rest) }
}

/// A packet of MySQL: length, number, content.
pub(crate) fn packet(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("short").to_le_bytes();
    [&length[..3], &[number], content].concat()
}

fn mariadb(client: &mut TcpStream, version: &str) -> io::Result<()> {
    // Protocol 10, the version, connection 1, eight bytes of salt; what it can, a character set, its state; the rest of
    // the salt and how passwords are told. The prefix is MariaDB's own, for clients that stop at a version of MySQL.
    let greeting = [
        &b"\x0a5.5.5-"[..],
        version.as_bytes(),
        b"\0\x01\0\0\0abcdefgh\0\x08\x82\x21\x02\0\x08\0\x15\0\0\0\0\0\0\0\0\0\0abcdefghijkl\0mysql_native_password\0",
    ]
    .concat();
    client.write_all(&packet(0, &greeting))?;
    let ok = b"\0\0\0\x02\0\0\0";
    let mut number = 2;
    loop {
        let mut head = [0; 4];
        client.read_exact(&mut head)?;
        let mut content = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
        client.read_exact(&mut content)?;
        match content.first() {
            _ if number == 2 => client.write_all(&packet(2, ok))?,
            Some(3) => client.write_all(&answer(&String::from_utf8_lossy(&content[1..]), version))?,
            Some(1) | None => return Ok(()),
            Some(_) => client.write_all(&packet(1, ok))?,
        }
        number = 1;
    }
}

/// To a question the version; to settings, that all is well.
fn answer(query: &str, version: &str) -> Vec<u8> {
    if !query.trim_start().to_ascii_lowercase().starts_with("select") {
        return packet(1, b"\0\0\0\x02\0\0\0");
    }
    let count = u8::try_from(query.matches(',').count() + 1).expect("few");
    let is_version = query.contains("version()");
    let value = if is_version { version } else { "16777216" };
    let mut packets = packet(1, &[count]);
    let mut number = 2;
    let mut push = |content: &[u8]| {
        packets.extend(packet(number, content));
        number += 1;
    };
    for _ in 0..count {
        // Catalogue `def`, no schema, no table, name `v`; 12 bytes of type: a text, or a whole number.
        let kind = if is_version { b"\xfd" } else { b"\x08" };
        push(&[&b"\x03def\0\0\0\x01v\x01v\x0c\x21\0\xff\0\0\0"[..], kind, b"\0\0\0\0\0"].concat());
    }
    push(b"\xfe\0\0\x02\0");
    let mut row = Vec::new();
    for _ in 0..count {
        row.push(u8::try_from(value.len()).expect("short"));
        row.extend(value.as_bytes());
    }
    push(&row);
    push(b"\xfe\0\0\x02\0");
    packets
}
