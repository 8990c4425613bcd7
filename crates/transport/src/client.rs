//! The end of whoever makes calls.

use crate::endpoint::ExtraEndpoint;
use crate::stream::Stream;
use model::Transport;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_rustls::{TlsConnector, TlsStream};

/// Opens connections to a server.
#[derive(Clone)]
pub enum Dialer {
    Tcp(SocketAddr),
    /// The name of a socket in the abstract namespace.
    Unix(String),
    Tls(SocketAddr, TlsConnector),
}

impl Dialer {
    /// For a server that listens at `socket`, and besides at `extra`.
    ///
    /// # Errors
    /// The server does not offer that transport: one clause.
    pub fn to(
        socket: SocketAddr,
        extra: Option<&ExtraEndpoint>,
        transport: Transport,
    ) -> Result<Dialer, String> {
        match (transport, extra) {
            (Transport::Tcp, _) => Ok(Dialer::Tcp(socket)),
            (Transport::Unix, Some(ExtraEndpoint::Unix { name })) => Ok(Dialer::Unix(name.clone())),
            (Transport::Tls, Some(ExtraEndpoint::Tls { port, certificate })) => {
                let connector = connector(certificate).map_err(|why| format!("its certificate: {why}"))?;
                Ok(Dialer::Tls(SocketAddr::new(socket.ip(), *port), connector))
            }
            (transport, _) => Err(format!("its /about has no endpoint for the transport {transport}")),
        }
    }

    /// Connects; over TLS with the whole handshake.
    ///
    /// # Errors
    /// What the system or the handshake says.
    pub async fn open(&self) -> io::Result<Stream> {
        match self {
            Dialer::Tcp(socket) => connect(*socket).await.map(Stream::Tcp),
            Dialer::Unix(name) => UnixStream::connect(format!("\0{name}")).await.map(Stream::Unix),
            Dialer::Tls(socket, connector) => {
                let stream = connect(*socket).await?;
                let name = ServerName::try_from(NAME).expect("it is a name");
                let stream = connector.connect(name, stream).await?;
                Ok(Stream::Tls(Box::new(TlsStream::Client(stream))))
            }
        }
    }
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dialer::Tcp(socket) => write!(f, "tcp {socket}"),
            Dialer::Unix(name) => write!(f, "unix @{name}"),
            Dialer::Tls(socket, _) => write!(f, "tls {socket}"),
        }
    }
}

/// The name in the certificates that servers make.
pub(crate) const NAME: &str = "localhost";

async fn connect(socket: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(socket).await?;
    // Nagle would hold a request back until the previous answer's acknowledgement has been sent.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Trusts one certificate and no other.
fn connector(certificate: &str) -> Result<TlsConnector, Box<dyn std::error::Error>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes())?)?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
