//! Servers that send what no good one does: each is a script of what it says, whatever its client answers.

use crate::fake::{message, packet};
use sql::Dialect;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

/// What a server sends: the first part to whoever connects (MariaDB) or has introduced itself (PostgreSQL), each of the others after
/// the client has said something. Then it sends no more.
#[derive(Debug, Clone)]
pub struct Script {
    pub name: String,
    pub parts: Vec<Vec<u8>>,
}

/// For so long a server waits for what its client says next. One that says nothing waits for the server, whose script ends then.
const PATIENCE: Duration = Duration::from_millis(250);

/// Starts a server on a free port, which it gives; it plays the script for each client and lives as long as the process.
pub fn server(dialect: Dialect, script: Script) -> io::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let script = script.clone();
            std::thread::spawn(move || play(client, dialect, &script));
        }
    });
    Ok(port)
}

fn play(mut client: TcpStream, dialect: Dialect, script: &Script) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    let mut text = [0; 1 << 16];
    if dialect == Dialect::Postgres {
        let _ = client.read(&mut text)?;
    }
    for (at, part) in script.parts.iter().enumerate() {
        if at > 0 && client.read(&mut text)? == 0 {
            return Ok(());
        }
        client.write_all(part)?;
    }
    client.shutdown(Shutdown::Write)?;
    while client.read(&mut text)? > 0 {}
    Ok(())
}

/// Everything that a server may get wrong while it lets a client in, and in what it answers first.
pub fn scripts(dialect: Dialect) -> Vec<Script> {
    match dialect {
        Dialect::MySql => mariadb(),
        Dialect::Postgres | Dialect::Sqlite => postgres(),
    }
}

fn script(name: impl Into<String>, parts: impl IntoIterator<Item = Vec<u8>>) -> Script {
    Script { name: name.into(), parts: parts.into_iter().collect() }
}

/// Scripts that stop within the last part, after each of its bytes.
fn truncated<'a>(name: &'a str, parts: &'a [Vec<u8>]) -> impl Iterator<Item = Script> + 'a {
    let (last, before) = parts.split_last().expect("there is something to cut");
    (0..last.len()).map(move |length| {
        let cut = std::iter::once(last[..length].to_vec());
        script(format!("{name}, cut after {length} bytes"), before.iter().cloned().chain(cut))
    })
}

fn postgres() -> Vec<Script> {
    let auth = |kind: u32, body: &[u8]| message(b'R', &[&kind.to_be_bytes()[..], body].concat());
    let mut scripts = Vec::new();
    let bodies: [&[u8]; 8] = [
        b"",
        b"\0",
        b"abcd",
        b"SCRAM-SHA-256\0\0",
        b"SCRAM-SHA-256-PLUS\0\0",
        b"OTHER\0\0",
        b"SCRAM-SHA-256",
        b"\xff\xfe\0\0",
    ];
    for kind in (0..=14).chain([255, u32::MAX]) {
        for body in bodies {
            scripts.push(script(format!("authentication {kind} {body:?}"), [auth(kind, body)]));
        }
    }
    let sasl = auth(10, b"SCRAM-SHA-256\0\0");
    for first in [
        &b""[..],
        b"r=",
        b"r=x,s=QQ==,i=1",
        b"r=x,s=!!,i=1",
        b"r=x,s=QQ==,i=none",
        b"e=other-error",
        b"\xff\xff",
        b"v=QQ==",
    ] {
        scripts.push(script(format!("SASL continues {first:?}"), [sasl.clone(), auth(11, first)]));
        scripts.push(script(format!("SASL ends {first:?}"), [sasl.clone(), auth(12, first)]));
    }
    let good = [
        auth(0, b""),
        message(b'S', b"server_version\x0015.2\0"),
        message(b'K', &[0; 8]),
        message(b'Z', b"I"),
    ]
    .concat();
    scripts.push(script("a server that goes away", [good.clone()]));
    scripts.extend(truncated("a login", std::slice::from_ref(&good)));
    for body in [
        &b""[..],
        b"\0",
        b"S",
        b"SERROR\0\0",
        b"SERROR\0C28P01\0Mno\0",
        b"C\xff\xff\0M\xff\0\0",
        b"SFATAL\0CXXXXX\0Mx\0\0",
    ] {
        for kind in [b'E', b'N'] {
            scripts.push(script(format!("{} {body:?}", char::from(kind)), [message(kind, body)]));
            scripts.push(script(
                format!("{} {body:?} to a question", char::from(kind)),
                [good.clone(), message(kind, body)],
            ));
        }
    }
    for kind in 0..=255_u8 {
        scripts.push(script(format!("message {kind}"), [message(kind, b"")]));
        scripts.push(script(
            format!("message {kind} to a question"),
            [good.clone(), message(kind, b"\0\x01ab")],
        ));
    }
    for length in [0_u32, 3, 0x7fff_ffff, u32::MAX] {
        for kind in [b'R', b'S', b'Z', b'v'] {
            let bytes = [&[kind][..], &length.to_be_bytes(), b"abcd"].concat();
            scripts.push(script(format!("length {length} of {}", char::from(kind)), [bytes]));
        }
    }
    // Name, no table, number of the column, text, any length, no modifier, as text.
    let column = b"c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
    let described = message(b'T', &[&[0, 1], &column[..]].concat());
    let prepared = [message(b'1', b""), message(b't', b"\0\0")].concat();
    for (name, row) in [
        ("a row", &b"\0\x01\0\0\0\x0215"[..]),
        ("a row of nothing", b""),
        ("a row without columns", b"\0\0"),
        ("a row of too many columns", b"\0\x09\0\0\0\x0215"),
        ("a value beyond its row", b"\0\x01\0\0\xff\xff1"),
        ("a value of no length", b"\0\x01\xff\xff\xff\xfe"),
        ("a null", b"\0\x01\xff\xff\xff\xff"),
        ("text that is none", b"\0\x01\0\0\0\x02\xff\xfe"),
    ] {
        let answer = [message(b'D', row), message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat();
        let plain = [described.clone(), answer.clone()].concat();
        let by_parts = [prepared.clone(), described.clone(), message(b'2', b""), answer].concat();
        for (how, answer) in [("", plain), (", prepared", by_parts)] {
            let parts = [good.clone(), answer.clone(), answer.clone(), answer.clone(), answer];
            scripts.extend(truncated(&format!("{name}{how}"), &parts[..2]).step_by(3));
            scripts.push(script(format!("{name}{how}"), parts));
        }
    }
    scripts
}

/// Plugins of authentication that MariaDB and MySQL have or had, and one that neither has.
const PLUGINS: [&str; 12] = [
    "mysql_native_password",
    "mysql_old_password",
    "mysql_clear_password",
    "caching_sha2_password",
    "sha256_password",
    "client_ed25519",
    "parsec",
    "dialog",
    "auth_gssapi_client",
    "authentication_ldap_sasl_client",
    "no_such_plugin",
    "",
];

fn mariadb() -> Vec<Script> {
    let greeting = |plugin: &str| {
        [
            &b"\x0a5.5.5-10.11.2-MariaDB\0\x01\0\0\0abcdefgh\0\x08\x82\x21\x02\0\x08\0\x15\0\0\0\0\0\0\0\0\0\0abcdefghijkl\0"[..],
            plugin.as_bytes(),
            b"\0",
        ]
        .concat()
    };
    let native = packet(0, &greeting(PLUGINS[0]));
    let ok = packet(2, b"\0\0\0\x02\0\0\0");
    let mut scripts: Vec<Script> = truncated("a greeting", std::slice::from_ref(&native)).collect();
    for length in 0..greeting(PLUGINS[0]).len() {
        scripts.push(script(
            format!("a greeting of {length} bytes"),
            [packet(0, &greeting(PLUGINS[0])[..length])],
        ));
    }
    for first in 0..=255_u8 {
        scripts.push(script(format!("first byte {first}"), [packet(0, &[first])]));
        scripts
            .push(script(format!("first byte {first}, then more"), [packet(0, &[first, 1, 2, 0, 3, 0, 4])]));
        scripts.push(script(format!("login answered with {first}"), [native.clone(), packet(2, &[first])]));
        scripts.push(script(
            format!("login answered with {first} and more"),
            [native.clone(), packet(2, &[first, 1, 2, 0, 3, 0, 4])],
        ));
    }
    for plugin in PLUGINS {
        scripts.push(script(format!("greeting of {plugin:?}"), [packet(0, &greeting(plugin)), ok.clone()]));
        for length in [0, 1, 8, 20, 21, 32, 33, 64] {
            let salt = vec![b'x'; length];
            let switch = packet(2, &[b"\xfe", plugin.as_bytes(), b"\0", &salt].concat());
            scripts.push(script(
                format!("switch to {plugin:?} with {length}"),
                [native.clone(), switch.clone()],
            ));
            for more in [
                &b""[..],
                b"\x01",
                b"\x01\x02",
                b"\x01\x03",
                b"\x01\x04",
                b"\x01P\x00abcdefghijklmnopqr",
                b"\x01P\xffabcdefghijklmnopqr",
                b"\x01-----BEGIN PUBLIC KEY-----\nAA",
                b"\xfe",
                b"\xff\x15\x04#28000no",
            ] {
                scripts.push(script(
                    format!("switch to {plugin:?} with {length}, then {more:?}"),
                    [native.clone(), switch.clone(), packet(4, more), packet(6, more)],
                ));
            }
        }
    }
    for error in [
        &b"\xff"[..],
        b"\xff\x15",
        b"\xff\x15\x04",
        b"\xff\x15\x04#",
        b"\xff\x15\x04#28000",
        b"\xff\x15\x04\xff\xff\xff\xff\xff\xff\xff",
    ] {
        for number in [0, 1, 2, 9] {
            let name = format!("error {error:?} as packet {number}");
            scripts.push(script(name.clone(), [packet(number, error)]));
            scripts.push(script(format!("{name} to a login"), [native.clone(), packet(number, error)]));
            scripts.push(script(
                format!("{name} to a question"),
                [native.clone(), ok.clone(), packet(number, error)],
            ));
        }
    }
    for length in [0_u32, 1, 0x00ff_ffff] {
        let bytes = [&length.to_le_bytes()[..3], b"\x02ab"].concat();
        scripts.push(script(format!("length {length} to a login"), [native.clone(), bytes.clone()]));
        scripts.push(script(format!("length {length} to a question"), [native.clone(), ok.clone(), bytes]));
    }
    // Catalogue `def`, no schema, no table, name `v`; 12 bytes of type, a text.
    let column = b"\x03def\0\0\0\x01v\x01v\x0c\x21\0\xff\0\0\0\xfd\0\0\0\0\0";
    for (name, row) in [
        ("a row", &b"\x0f10.11.2-MariaDB"[..]),
        ("a row of nothing", b""),
        ("a value beyond its row", b"\xfc\xff\xffx"),
        ("a value of a length that is cut", b"\xfe\x01"),
        ("a null", b"\xfb"),
        ("text that is none", b"\x02\xff\xfe"),
    ] {
        let packets: [&[u8]; 5] = [b"\x01", column, b"\xfe\0\0\x02\0", row, b"\xfe\0\0\x02\0"];
        let answer: Vec<u8> =
            (1..).zip(packets).flat_map(|(number, content)| packet(number, content)).collect();
        let parts = [native.clone(), ok.clone(), answer.clone(), answer.clone(), answer];
        scripts.extend(truncated(name, &parts[..3]));
        scripts.push(script(name, parts));
    }
    for count in [0_u8, 2, 0xfb, 0xfc, 0xfd, 0xfe, 0xff] {
        scripts.push(script(
            format!("{count} columns"),
            [native.clone(), ok.clone(), packet(1, &[count, 0xff, 0xff]), packet(2, column)],
        ));
    }
    scripts
}
