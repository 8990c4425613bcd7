//! The end of a server.

use crate::client::NAME;
use crate::endpoint::ExtraEndpoint;
use crate::stream::Stream;
use model::Transport;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::{TlsAcceptor, TlsStream};

/// Connections that may wait to be taken, as many as of TCP.
const BACKLOG: u32 = 1_024;

/// Where a server listens besides TCP.
pub enum ExtraListener {
    None,
    Unix(UnixListener, String),
    Tls(TcpListener, TlsAcceptor, ExtraEndpoint),
}

/// A connection that has come, over TLS without the handshake.
pub enum Incoming {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(TcpStream, TlsAcceptor),
}

impl ExtraListener {
    /// Listens; over TLS on a free port of the address where the server listens, with a certificate of its own making.
    ///
    /// Runs on a tokio runtime with I/O.
    ///
    /// # Errors
    /// What the system says, or that no certificate could be made.
    pub fn on(transport: Transport, listen: SocketAddr) -> io::Result<ExtraListener> {
        match transport {
            Transport::Tcp => Ok(ExtraListener::None),
            Transport::Unix => {
                // The port is this server's alone.
                let name = format!("stackmark-{}-{}", std::process::id(), listen.port());
                Ok(ExtraListener::Unix(UnixListener::bind(format!("\0{name}"))?, name))
            }
            Transport::Tls => {
                let (acceptor, certificate) =
                    acceptor().map_err(|error| io::Error::other(error.to_string()))?;
                let socket = if listen.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
                socket.bind(SocketAddr::new(listen.ip(), 0))?;
                let listener = socket.listen(BACKLOG)?;
                let endpoint = ExtraEndpoint::Tls { port: listener.local_addr()?.port(), certificate };
                Ok(ExtraListener::Tls(listener, acceptor, endpoint))
            }
        }
    }

    /// For `/about`.
    pub fn described(&self) -> Option<ExtraEndpoint> {
        match self {
            ExtraListener::None => None,
            ExtraListener::Unix(_, name) => Some(ExtraEndpoint::Unix { name: name.clone() }),
            ExtraListener::Tls(_, _, extra) => Some(extra.clone()),
        }
    }

    /// The next connection; never ready where it listens nowhere.
    ///
    /// # Errors
    /// What the system says.
    pub async fn accept(&self) -> io::Result<Incoming> {
        match self {
            ExtraListener::None => pending().await,
            ExtraListener::Unix(listener, _) => {
                listener.accept().await.map(|(stream, _)| Incoming::Unix(stream))
            }
            ExtraListener::Tls(listener, acceptor, _) => {
                listener.accept().await.map(|(stream, _)| Incoming::Tls(stream, acceptor.clone()))
            }
        }
    }
}

impl Incoming {
    /// The connection, over TLS after the handshake.
    ///
    /// # Errors
    /// The client has broken off, or speaks another protocol.
    pub async fn ready(self) -> io::Result<Stream> {
        // An answer is one write: waiting for more would only delay it. A client that is gone already is noticed later.
        match self {
            Incoming::Tcp(stream) => {
                let _ = stream.set_nodelay(true);
                Ok(Stream::Tcp(stream))
            }
            Incoming::Unix(stream) => Ok(Stream::Unix(stream)),
            Incoming::Tls(stream, acceptor) => {
                let _ = stream.set_nodelay(true);
                Ok(Stream::Tls(Box::new(TlsStream::Server(acceptor.accept(stream).await?))))
            }
        }
    }
}

/// With a key and a certificate that live as long as the server.
fn acceptor() -> Result<(TlsAcceptor, String), Box<dyn std::error::Error>> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    Ok((TlsAcceptor::from(Arc::new(config)), made.cert.pem()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Dialer;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Echoes what comes, and ends with the client.
    async fn echo(listening: ExtraListener) {
        let mut stream = listening.accept().await.unwrap().ready().await.unwrap();
        let mut bytes = [0; 64];
        while let Ok(read @ 1..) = stream.read(&mut bytes).await {
            stream.write_all(&bytes[..read]).await.unwrap();
            stream.flush().await.unwrap();
        }
    }

    #[tokio::test]
    async fn bytes_go_there_and_back() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let listen = listener.local_addr().unwrap();
        for transport in [Transport::Unix, Transport::Tls] {
            let listening = ExtraListener::on(transport, listen).unwrap();
            let extra = listening.described();
            let talk = async {
                let dialer = Dialer::to(listen, extra.as_ref(), transport).unwrap();
                assert!(format!("{dialer:?}").starts_with(&transport.to_string()));
                let mut stream = dialer.open().await.unwrap();
                stream.write_all(b"hello").await.unwrap();
                stream.flush().await.unwrap();
                let mut bytes = [0; 5];
                stream.read_exact(&mut bytes).await.unwrap();
                assert_eq!(&bytes, b"hello");
            };
            tokio::join!(echo(listening), talk);
        }
    }

    #[tokio::test]
    async fn a_server_with_another_certificate_is_not_trusted() {
        let listen = "127.0.0.1:1".parse().unwrap();
        let (mine, other) = (
            ExtraListener::on(Transport::Tls, listen).unwrap(),
            ExtraListener::on(Transport::Tls, listen).unwrap(),
        );
        let (Some(ExtraEndpoint::Tls { port, .. }), Some(ExtraEndpoint::Tls { certificate, .. })) =
            (mine.described(), other.described())
        else {
            panic!("both have a certificate");
        };
        let swapped = ExtraEndpoint::Tls { port, certificate };
        let dialer = Dialer::to(listen, Some(&swapped), Transport::Tls).unwrap();
        let serve = async { assert!(mine.accept().await.unwrap().ready().await.is_err()) };
        let ((), opened) = tokio::join!(serve, dialer.open());
        assert!(opened.unwrap_err().to_string().contains("certificate"), "it is another server's");
    }

    #[tokio::test]
    async fn what_a_server_does_not_offer_cannot_be_reached() {
        let listen = "127.0.0.1:1".parse().unwrap();
        assert!(ExtraListener::on(Transport::Tcp, listen).unwrap().described().is_none());
        let refused = Dialer::to(listen, None, Transport::Unix).unwrap_err();
        assert_eq!(refused, "its /about has no endpoint for the transport unix");
    }
}
