//! A proxy between a client and its engine that knows enough of both protocols to cut a connection at the moments that
//! matter: in the middle of a transaction, before a commit has arrived, and after it has, before its answer. And to have the
//! engine pass for another one that speaks the same protocol: what the other says of itself, and what it cannot do, is put into the
//! statements on their way.

use sql::Dialect;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Longest message that is taken apart; what comes from us is far shorter.
const MESSAGE_MAX: usize = 1 << 24;

/// Where a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Before the second statement of a transaction: nothing may ever be seen of it.
    InTransaction,
    /// The commit never arrives: nothing may ever be seen of it, but the client cannot know.
    CommitLost,
    /// The commit is done, and its answer never arrives: all of it must be seen, but the client cannot know.
    AnswerLost,
}

impl Cut {
    /// All of them, in the order in which they take turns.
    pub const ALL: [Cut; 3] = [Cut::InTransaction, Cut::CommitLost, Cut::AnswerLost];
}

/// A proxy in front of an engine. It lives as long as the process; connections through it live as long as their ends.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    dialect: Dialect,
    engine: SocketAddr,
    armed: AtomicBool,
    /// One transaction of so many is cut.
    every: u64,
    started: AtomicU64,
    cuts: [AtomicU64; 3],
    /// What to put into statements, and for what.
    instead: &'static [(&'static str, &'static str)],
}

impl Proxy {
    /// Listens on a free port, and passes on to an engine at `port` of this machine. Nothing is cut before [`Proxy::arm`];
    /// then one transaction in `every` is, in one way after the other.
    pub fn start(dialect: Dialect, port: u16, every: u64) -> io::Result<Proxy> {
        Proxy::between(dialect, port, every, &[])
    }

    /// The same, cuts nothing, and puts the second text of each pair for the first into all statements, in this order.
    pub fn disguised(
        dialect: Dialect,
        port: u16,
        instead: &'static [(&'static str, &'static str)],
    ) -> io::Result<Proxy> {
        Proxy::between(dialect, port, u64::MAX, instead)
    }

    fn between(
        dialect: Dialect,
        port: u16,
        every: u64,
        instead: &'static [(&'static str, &'static str)],
    ) -> io::Result<Proxy> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let state = Arc::new(State {
            dialect,
            engine: SocketAddr::from(([127, 0, 0, 1], port)),
            armed: AtomicBool::new(false),
            every,
            started: AtomicU64::new(0),
            cuts: Default::default(),
            instead,
        });
        let (address, of_all) = (listener.local_addr()?, state.clone());
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let state = of_all.clone();
                // An end that is gone is nothing that anyone would want to know here.
                std::thread::spawn(move || state.serve(near));
            }
        });
        Ok(Proxy { address, state })
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Begins to cut, or ends it.
    pub fn arm(&self, armed: bool) {
        self.state.armed.store(armed, Ordering::SeqCst);
    }

    /// How often it has cut so far, in one way.
    pub fn cuts(&self, cut: Cut) -> u64 {
        self.state.cuts[cut as usize].load(Ordering::SeqCst)
    }
}

impl State {
    fn serve(&self, near: TcpStream) -> io::Result<()> {
        let far = TcpStream::connect(self.engine)?;
        near.set_nodelay(true)?;
        far.set_nodelay(true)?;
        let swallow = Arc::new(AtomicBool::new(false));
        let back = {
            let (from, to, swallow) = (far.try_clone()?, near.try_clone()?, swallow.clone());
            std::thread::spawn(move || carry_back(from, to, &swallow))
        };
        let _ = self.carry_on(&near, &far, &swallow);
        if !swallow.load(Ordering::SeqCst) {
            close(&near, &far);
        }
        let _ = back.join();
        Ok(())
    }

    /// From the client to the engine, message by message, until one end closes or the connection is cut.
    fn carry_on(&self, mut near: &TcpStream, mut far: &TcpStream, swallow: &AtomicBool) -> io::Result<()> {
        let mut reader = Reader::new(self.dialect);
        let (mut fate, mut statements) = (None, 0);
        loop {
            let message = reader.next(&mut near)?;
            match reader.meaning(&message) {
                Meaning::Begin => {
                    statements = 0;
                    fate = fate.or_else(|| self.fate());
                }
                Meaning::Statement => {
                    statements += 1;
                    if fate == Some(Cut::InTransaction) && statements == 2 {
                        self.count(Cut::InTransaction);
                        return Ok(());
                    }
                }
                Meaning::Commit if fate == Some(Cut::CommitLost) => {
                    self.count(Cut::CommitLost);
                    return Ok(());
                }
                Meaning::Commit if fate == Some(Cut::AnswerLost) => {
                    // What comes back from now on is the answer to this: one request is under way at a time.
                    swallow.store(true, Ordering::SeqCst);
                    self.count(Cut::AnswerLost);
                }
                Meaning::Commit | Meaning::Other => {}
            }
            far.write_all(&reworded(self.dialect, message, self.instead))?;
        }
    }

    /// What becomes of a transaction that begins.
    fn fate(&self) -> Option<Cut> {
        if !self.armed.load(Ordering::SeqCst) {
            return None;
        }
        let number = self.started.fetch_add(1, Ordering::SeqCst) + 1;
        number.is_multiple_of(self.every).then(|| Cut::ALL[(number / self.every) as usize % Cut::ALL.len()])
    }

    fn count(&self, cut: Cut) {
        self.cuts[cut as usize].fetch_add(1, Ordering::SeqCst);
    }
}

/// A message of a client with other texts in its statement, where it has one.
fn reworded(dialect: Dialect, message: Vec<u8>, instead: &[(&str, &str)]) -> Vec<u8> {
    let head = match (dialect, &message[..]) {
        // A text, or one that is to be prepared. PostgreSQL has the name of a prepared statement before it, and its types after it.
        (Dialect::MySql, [_, _, _, 0, 0x03 | 0x16, ..]) => 4,
        (Dialect::Postgres | Dialect::Sqlite, [b'Q' | b'P', ..]) => 5,
        _ => return message,
    };
    let body = instead
        .iter()
        .fold(message[head..].to_vec(), |body, (from, to)| replaced(&body, from.as_bytes(), to.as_bytes()));
    match dialect {
        Dialect::MySql => {
            let length = u32::try_from(body.len()).expect("short").to_le_bytes();
            [&length[..3], &message[3..4], &body].concat()
        }
        Dialect::Postgres | Dialect::Sqlite => {
            let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
            [&message[..1], &length, &body].concat()
        }
    }
}

fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut made, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(at) = rest.windows(from.len()).position(|part| part == from) {
        made.extend(&rest[..at]);
        made.extend(to);
        rest = &rest[at + from.len()..];
    }
    made.extend(rest);
    made
}

/// From the engine to the client, until one end closes or an answer is to be lost.
fn carry_back(mut from: TcpStream, mut to: TcpStream, swallow: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if swallow.load(Ordering::SeqCst) || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    close(&from, &to);
}

fn close(one: &TcpStream, other: &TcpStream) {
    for end in [one, other] {
        // Most often the other thread was faster.
        let _ = end.shutdown(Shutdown::Both);
    }
}

/// What a message of a client is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Begin,
    Statement,
    Commit,
    Other,
}

impl Meaning {
    fn of(text: &str) -> Meaning {
        let text = text.trim_start().to_ascii_lowercase();
        match text.split([' ', ';', '\0']).next().unwrap_or_default() {
            "begin" | "start" => Meaning::Begin,
            "commit" => Meaning::Commit,
            "select" | "insert" | "update" | "delete" => Meaning::Statement,
            _ => Meaning::Other,
        }
    }
}

/// Takes a client's side of a connection apart. It must not be encrypted.
struct Reader {
    dialect: Dialect,
    /// PostgreSQL: whether the first message, which has no kind, is over.
    is_started: bool,
    /// PostgreSQL: what prepared statements are about, by name.
    prepared: HashMap<String, Meaning>,
}

impl Reader {
    fn new(dialect: Dialect) -> Reader {
        Reader { dialect, is_started: dialect == Dialect::MySql, prepared: HashMap::new() }
    }

    fn next(&mut self, from: &mut impl Read) -> io::Result<Vec<u8>> {
        // PostgreSQL: a kind, but for the first message, and a length that counts itself. MySQL: a length of three bytes
        // and a number.
        let head = if self.is_started && self.dialect == Dialect::Postgres { 5 } else { 4 };
        let mut message = vec![0; head];
        from.read_exact(&mut message)?;
        let rest = match self.dialect {
            Dialect::MySql => u32::from_le_bytes([message[0], message[1], message[2], 0]) as usize,
            Dialect::Postgres | Dialect::Sqlite => {
                let length: [u8; 4] = message[head - 4..].try_into().expect("four bytes were asked for");
                (u32::from_be_bytes(length) as usize).saturating_sub(4)
            }
        };
        if rest > MESSAGE_MAX {
            return Err(io::Error::other("a message of a protocol that is not spoken here"));
        }
        message.resize(head + rest, 0);
        from.read_exact(&mut message[head..])?;
        self.is_started = true;
        Ok(message)
    }

    fn meaning(&mut self, message: &[u8]) -> Meaning {
        match self.dialect {
            Dialect::MySql => match message.get(3..5) {
                // The first message of a command: a query as text, or a prepared statement that runs.
                Some([0, 0x03]) => Meaning::of(&String::from_utf8_lossy(&message[5..])),
                Some([0, 0x17]) => Meaning::Statement,
                _ => Meaning::Other,
            },
            Dialect::Postgres | Dialect::Sqlite => {
                let mut texts = message.get(5..).unwrap_or_default().split(|byte| *byte == 0);
                let mut text = || String::from_utf8_lossy(texts.next().unwrap_or_default()).into_owned();
                match message.first() {
                    Some(b'Q') => Meaning::of(&text()),
                    Some(b'P') => {
                        let (name, about) = (text(), text());
                        self.prepared.insert(name, Meaning::of(&about));
                        Meaning::Other
                    }
                    Some(b'B') => {
                        let (_portal, name) = (text(), text());
                        self.prepared.get(&name).copied().unwrap_or(Meaning::Statement)
                    }
                    _ => Meaning::Other,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the messages of a client are about, up to a command that shows where they end.
    #[track_caller]
    fn check(dialect: Dialect, messages: &[&[u8]], expected: &[Meaning]) {
        let (mut reader, bytes) = (Reader::new(dialect), messages.concat());
        let mut from = &bytes[..];
        let found: Vec<_> = messages
            .iter()
            .map(|_| reader.next(&mut from).map(|next| reader.meaning(&next)).unwrap())
            .collect();
        assert_eq!(found, expected);
        assert!(from.is_empty());
    }

    #[test]
    fn a_commit_is_seen_in_either_protocol() {
        use Meaning::{Begin, Commit, Other, Statement};
        check(
            Dialect::Postgres,
            &[
                b"\0\0\0\x08\0\x03\0\0",
                b"P\0\0\0\x10s7\0commit\0\0\0",
                b"P\0\0\0\x10s8\0select\0\0\0",
                b"Q\0\0\0\x0abegin\0",
                b"B\0\0\0\x0a\0s8\0\0\0",
                b"B\0\0\0\x0a\0s7\0\0\0",
                b"S\0\0\0\x04",
            ],
            &[Other, Other, Other, Begin, Statement, Commit, Other],
        );
        check(
            Dialect::MySql,
            &[
                b"\x02\0\0\x01ab",
                b"\x12\0\0\0\x03start transaction",
                b"\x02\0\0\0\x17x",
                b"\x07\0\0\0\x03commit",
                b"\x01\0\0\0\x01",
            ],
            &[Other, Begin, Statement, Commit, Other],
        );
    }
}
