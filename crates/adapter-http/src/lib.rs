//! A service over HTTP/1.1 as a session: what is measured through HTTP goes through here.
//!
//! Knows HTTP and the contract's headers and problem documents; knows no workload (that is [`contract::Wire`]),
//! keeps no time and has no deadline (the driver drops a call that takes too long).
//!
//! A call that goes well on a kept connection over TCP costs one write, one read and no allocation:
//! the request is encoded behind a prepared head, and the answer is parsed where it was received.

mod about;
mod address;
mod chunks;
mod connection;
mod head;
mod problem;
mod raw;
mod request;
mod server_timing;
mod session;

use connection::Connection;
use contract::{Endpoint, Wire};
use model::{Home, HttpOptions, OpenError, Stack, Target};
use request::Prepared;
use std::marker::PhantomData;
use std::net::SocketAddr;
use transport::Dialer;

pub use about::{About, Expected};
pub use address::Address;
pub use raw::{Raw, Reply};
pub use session::HttpSession;

/// A server that has been checked: it answers, speaks the contract of `W` and holds the wanted data.
#[derive(Debug)]
pub struct HttpTarget<W: Wire> {
    address: Address,
    socket: SocketAddr,
    dialer: Dialer,
    options: HttpOptions,
    about: About,
    workload: PhantomData<fn() -> W>,
}

impl<W: Wire> HttpTarget<W> {
    /// Finds the server at `url` (`http://host:port`) and asks it once, at `/about` and `/health`, who it is.
    ///
    /// Runs on a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// [`OpenError::Unreachable`] if nothing answers there or it is not ready yet; [`OpenError::Unusable`] if
    /// the address is wrong, or a server answers that is not ours, serves another workload or holds data of
    /// another scale.
    pub async fn reach(url: &str, expected: &Expected) -> Result<HttpTarget<W>, OpenError> {
        let address = Address::parse(url)
            .map_err(|why| OpenError::Unusable { what: format!("`{}`", without_user(url)), why })?;
        let sockets: Vec<SocketAddr> = tokio::net::lookup_host((address.host(), address.port()))
            .await
            .map_err(|error| unreachable(&address, error.to_string()))?
            .collect();
        let mut last = unreachable(&address, "the name has no address".into());
        for socket in sockets {
            match about::check::<W>(&address, socket, expected).await {
                Ok(about) => {
                    let (dialer, options) = (Dialer::Tcp(socket), HttpOptions::default());
                    return Ok(HttpTarget { address, socket, dialer, options, about, workload: PhantomData });
                }
                // A name may stand for several addresses, of which one has our server (localhost: ::1 and
                // 127.0.0.1).
                Err(error @ OpenError::Unreachable { .. }) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// The same server, whose sessions reach it in another way.
    ///
    /// # Errors
    /// [`OpenError::Unusable`] if it does not listen there.
    pub fn through(mut self, options: HttpOptions) -> Result<HttpTarget<W>, OpenError> {
        self.dialer = Dialer::to(self.socket, self.about.transport.as_ref(), options.transport)
            .map_err(|why| OpenError::Unusable { what: format!("http://{}", self.address), why })?;
        self.options = options;
        Ok(self)
    }

    /// What the server reported.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// A connection of its own on which anything may be asked.
    pub async fn raw(&self) -> Result<Raw, OpenError> {
        Raw::open(self.socket).await
    }

    /// The request of a call, head and body, as sessions send it.
    pub fn request(&self, call: &W::Call) -> Vec<u8> {
        let mut request = Vec::new();
        let endpoint = &W::ENDPOINTS[W::kind(call)];
        Prepared::new(&self.address, endpoint.method, self.options.connections).write::<W>(
            call,
            false,
            &mut request,
        );
        request
    }

    /// Where it was found.
    pub fn socket(&self) -> SocketAddr {
        self.socket
    }

    pub fn address(&self) -> &Address {
        &self.address
    }
}

impl<W: Wire> Target<W> for HttpTarget<W> {
    type Session = HttpSession<W>;

    fn home(&self) -> Home {
        Home::Task
    }

    async fn open(&self, _worker: u32) -> Result<HttpSession<W>, OpenError> {
        let connection =
            Connection::open(&self.dialer).await.map_err(|why| unreachable(&self.address, why))?;
        let connections = self.options.connections;
        let prepared = |endpoint: &Endpoint| Prepared::new(&self.address, endpoint.method, connections);
        let requests = W::ENDPOINTS.iter().map(prepared).collect();
        Ok(HttpSession::new(self.dialer.clone(), connections, connection, requests))
    }

    /// The server's own stack, seen through HTTP.
    fn stack(&self) -> Stack {
        let server = format!("{} {}", self.about.name, self.about.version);
        let mut stack = Stack { route: "http".into(), server: Some(server), ..self.about.stack.clone() };
        stack.settings.extend(self.options.settings());
        stack
    }

    /// Asks the server, if it knows; none where it does not answer, since it completes nothing then. Must not be called on a runtime.
    fn unfinished(&self) -> u64 {
        if self.about.unfinished.is_none() {
            return 0;
        }
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            return 0;
        };
        let about = runtime.block_on(about::ask(&self.address, self.socket));
        about.map_or(0, |about| about.unfinished.unwrap_or(0))
    }
}

fn unreachable(address: &Address, why: String) -> OpenError {
    OpenError::Unreachable { what: format!("http://{address}"), why }
}

/// An address as it may be shown: without the user name and password that someone wrote into it.
fn without_user(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}{}", &url[..scheme + 3], &url[at + 1..]),
        (None, Some(at)) => url[at + 1..].to_owned(),
        _ => url.to_owned(),
    }
}
