//! A server that says it is ours, and answers as a test wants.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// What is done with a request.
pub(crate) enum Reply {
    /// Answered with these bytes.
    Bytes(Vec<u8>),
    /// The connection stays open, and nothing is ever said.
    Silence,
    /// The connection is closed.
    Close,
}

/// A request as it came.
pub(crate) struct Asked {
    pub(crate) path: String,
    whole: Vec<u8>,
}

impl Asked {
    /// The method of the request.
    pub(crate) fn method(&self) -> &str {
        self.text().split(' ').next().unwrap()
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> &str {
        let (head, _) = self.text().split_once("\r\n\r\n").unwrap();
        let of = |line: &str| line.split_once(':').is_some_and(|(found, _)| found.eq_ignore_ascii_case(name));
        head.lines().find(|line| of(line)).and_then(|line| line.split_once(':')).unwrap().1.trim()
    }

    /// The body of the request.
    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(self.text().split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.whole).unwrap()
    }

    /// The request as it came.
    pub(crate) fn whole(&self) -> Vec<u8> {
        self.whole.clone()
    }
}

/// Listens until the test program ends, and says where.
pub(crate) fn listen(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (answer, stream) = (answer.clone(), stream.unwrap());
            std::thread::spawn(move || converse(stream, &*answer));
        }
    });
    url
}

/// In front of a real server: what it reports is passed on, and calls are answered by `twist`.
pub(crate) fn before(
    server: &str,
    twist: impl Fn(&Asked, &dyn Fn() -> Vec<u8>) -> Reply + Send + Sync + 'static,
) -> String {
    let address = server.strip_prefix("http://").unwrap().to_owned();
    listen(move |asked| {
        let pass_on = || forward(&address, &asked.whole);
        let is_about_it = ["/about", "/health", "/seconds"].iter().any(|path| asked.path.starts_with(path));
        if is_about_it { Reply::Bytes(pass_on()) } else { twist(asked, &pass_on) }
    })
}

/// An answer with a body of JSON.
pub(crate) fn answer(status: &str, kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// A good answer whose JSON is changed.
pub(crate) fn changed(answer_bytes: &[u8], change: impl Fn(&mut Value)) -> Vec<u8> {
    let text = String::from_utf8(answer_bytes.to_vec()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{text}");
    let mut json = serde_json::from_str(body).unwrap();
    change(&mut json);
    answer("200 OK", "application/json", &json.to_string())
}

fn converse(stream: TcpStream, answer: &dyn Fn(&Asked) -> Reply) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some((head, whole)) = receive(&mut reader) {
        let path = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
        match answer(&Asked { path, whole }) {
            Reply::Bytes(bytes) => {
                if writer.write_all(&bytes).is_err() {
                    return;
                }
            }
            Reply::Silence => {}
            Reply::Close => return,
        }
    }
}

/// A request or an answer: its first line, and all of it. Nothing when the other side has gone.
pub(crate) fn receive(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let (mut whole, mut first, mut length) = (Vec::new(), None, 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        whole.extend_from_slice(line.as_bytes());
        first.get_or_insert_with(|| line.trim_end().to_owned());
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let head = whole.len();
    whole.resize(head + length, 0);
    reader.read_exact(&mut whole[head..]).ok()?;
    Some((first?, whole))
}

/// What the server at an address answers to a request, on a connection of its own.
pub(crate) fn forward(address: &str, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    receive(&mut BufReader::new(stream)).expect("the real server answers").1
}

/// In front of another server: its answer at one path is changed.
pub(crate) fn listen_instead(server: &str, path: &'static str, change: fn(&mut Value)) -> String {
    let address = server.strip_prefix("http://").unwrap().to_owned();
    listen(move |asked| {
        let honest = forward(&address, &asked.whole);
        Reply::Bytes(if asked.path == path { changed(&honest, change) } else { honest })
    })
}
