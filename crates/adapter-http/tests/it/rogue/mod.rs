//! Servers that do exactly what a test says, byte by byte, and seldom what HTTP says.

#![allow(dead_code, reason = "each test program uses its own part")]

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// An answer that every client accepts: `/about` of a toy server at scale 1.
pub(crate) fn about(contract: &str, workload: &str, scale: u64) -> String {
    let stack = r#"{"engine":"none","engine_version":"1","adapter":"none","adapter_version":"1","style":"plain",
        "route":"direct","server":null,"isolation":"serializable","durability":{"tier":"volatile","detail":""},
        "settings":[["cache","1"]]}"#;
    let body = format!(
        r#"{{"name":"rogue","version":"9","contract":"{contract}","workload":"{workload}","scale":{scale},"pool":1,
        "later":"ignored","stack":{stack}}}"#
    );
    ok(&body)
}

/// A 200 with this body.
pub(crate) fn ok(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// An answer with this status line, media type and body.
pub(crate) fn answer(status: &str, media: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: {media}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// One connection on the rogue's side.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    /// The head of the latest request.
    pub(crate) head: String,
}

impl Peer {
    /// Waits for one whole request, and gives its path and body.
    pub(crate) async fn request(&mut self) -> Option<(String, String)> {
        let mut bytes = Vec::new();
        loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
                let path = head.split(' ').nth(1).unwrap().to_owned();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
                let length: usize = length.map_or(0, |text| text.trim().parse().unwrap());
                while bytes.len() < end + 4 + length {
                    if self.stream.read_buf(&mut bytes).await.ok()? == 0 {
                        return None;
                    }
                }
                self.head = head;
                return Some((path, String::from_utf8(bytes[end + 4..].to_vec()).unwrap()));
            }
            if self.stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        }
    }

    /// Sends bytes as they are. A client that has gone is none of the rogue's business.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    /// Waits until the client closes.
    pub(crate) async fn until_closed(&mut self) {
        let mut rest = [0; 1024];
        while matches!(self.stream.read(&mut rest).await, Ok(bytes) if bytes > 0) {}
    }
}

/// Listens on a free port, and hands each connection to `behave`.
pub(crate) async fn start<F: Future<Output = ()> + 'static>(behave: impl Fn(Peer) -> F + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::task::spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            tokio::task::spawn_local(behave(Peer { stream, head: String::new() }));
        }
    });
    url
}

/// A server that introduces itself well, and hands what comes after the first call's request to `then`.
pub(crate) async fn posing<F: Future<Output = ()> + 'static>(
    then: impl Fn(Peer, String) -> F + Clone + 'static,
) -> String {
    start(move |mut peer| {
        let then = then.clone();
        async move {
            while let Some((path, body)) = peer.request().await {
                match path.as_str() {
                    "/about" => peer.send(about("toy/1", "toy", 1)).await,
                    "/health" => peer.send(ok(r#"{"status":"ok"}"#)).await,
                    _ => return then(peer, body).await,
                }
            }
        }
    })
    .await
}
