//! What stands between a component and those who call it: it passes bytes on, to another address once its component has come
//! back at one, and can be cut.

use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Bytes that are passed on at once.
const BUFFER: usize = 64 * 1024;

/// How often it is looked whether there is a connection to take, or a reason to take none.
const LOOK: Duration = Duration::from_millis(2);

/// A proxy on a port of the loopback.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<Mutex<ProxyState>>,
}

#[derive(Debug)]
struct ProxyState {
    /// Where its component is; nowhere while it is not there.
    behind: Option<SocketAddr>,
    is_cut: bool,
    /// Both ends of the connections that there are.
    connections: Vec<[TcpStream; 2]>,
}

impl ProxyState {
    fn way(&self) -> Option<SocketAddr> {
        self.behind.filter(|_| !self.is_cut)
    }
}

impl Proxy {
    pub(crate) fn start(at: IpAddr, behind: Option<SocketAddr>) -> Result<Proxy> {
        let listener = TcpListener::bind((at, 0)).with_context(|| format!("no port on {at} can be had"))?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(ProxyState { behind, is_cut: false, connections: Vec::new() }));
        let served = Arc::downgrade(&state);
        let serve = move || serve(address, Some(listener), &served);
        std::thread::Builder::new().name("proxy".into()).spawn(serve)?;
        Ok(Proxy { address, state })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its component is from now on; with nothing, connections are refused as by a component that is not there.
    pub(crate) fn leads_to(&self, behind: Option<SocketAddr>) {
        locked(&self.state).behind = behind;
    }

    /// Ends all connections and refuses others, or takes them again. What is as it is to be stays as it is.
    pub(crate) fn cut(&self, is_cut: bool) {
        let mut state = locked(&self.state);
        if state.is_cut == is_cut {
            return;
        }
        state.is_cut = is_cut;
        for end in state.connections.drain(..).flatten() {
            // One that has ended already is as good.
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

fn locked(state: &Mutex<ProxyState>) -> MutexGuard<'_, ProxyState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes connections for as long as the proxy is there. No one listens on its port while there is no way.
fn serve(address: SocketAddr, mut listener: Option<TcpListener>, state: &Weak<Mutex<ProxyState>>) {
    while let Some(state) = state.upgrade() {
        let taken = match (&listener, locked(&state).way()) {
            (_, None) => {
                listener = None;
                None
            }
            (None, Some(_)) => {
                listener = TcpListener::bind(address).ok();
                None
            }
            (Some(listener), Some(_)) => {
                listener.set_nonblocking(true).and_then(|()| listener.accept()).ok().map(|(near, _)| near)
            }
        };
        match taken {
            // Who finds no one behind it is told so by the end of the connection.
            Some(near) => drop(pass(near, &state)),
            None => std::thread::sleep(LOOK),
        }
    }
}

fn pass(near: TcpStream, state: &Mutex<ProxyState>) -> std::io::Result<()> {
    near.set_nonblocking(false)?;
    let mut locked = locked(state);
    let Some(behind) = locked.way() else { return Ok(()) };
    let far = TcpStream::connect(behind)?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    locked.connections.retain(|[near, _]| near.peer_addr().is_ok());
    locked.connections.push([near.try_clone()?, far.try_clone()?]);
    drop(locked);
    let (from, to) = (far.try_clone()?, near.try_clone()?);
    std::thread::spawn(move || carry(from, to));
    std::thread::spawn(move || carry(near, far));
    Ok(())
}

/// Passes on what comes until one side ends.
fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; BUFFER];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service that sends back what it gets.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut end in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut byte = [0];
                    while let Ok(1) = end.read(&mut byte) {
                        let _ = end.write_all(&byte);
                    }
                });
            }
        });
        address
    }

    fn asked(end: &mut TcpStream) -> bool {
        let mut byte = [0];
        end.write_all(b"x").is_ok() && matches!(end.read(&mut byte), Ok(1))
    }

    /// Whether someone answers there, at once or as soon as it is known that they should.
    fn is_there(proxy: &Proxy, wanted: bool) -> bool {
        for _ in 0..10_000 {
            let open = TcpStream::connect(proxy.address());
            if open.is_ok_and(|mut end| asked(&mut end)) == wanted {
                return wanted;
            }
            std::thread::sleep(LOOK);
        }
        !wanted
    }

    #[test]
    fn a_cut_ends_connections_and_lasts_until_it_is_mended() {
        let proxy = Proxy::start(IpAddr::from([127, 0, 0, 1]), None).unwrap();
        assert!(!is_there(&proxy, false), "there is nothing behind it yet");
        proxy.leads_to(Some(echo()));
        assert!(is_there(&proxy, true));
        let mut first = TcpStream::connect(proxy.address()).unwrap();
        assert!(asked(&mut first));
        proxy.cut(false);
        assert!(asked(&mut first), "it was not cut");
        proxy.cut(true);
        assert!(!asked(&mut first) && !is_there(&proxy, false));
        proxy.cut(false);
        assert!(is_there(&proxy, true) && !asked(&mut first));
        proxy.leads_to(None);
        assert!(!is_there(&proxy, false));
    }
}
