//! The reference server in this process, composed as `stackmark serve` composes it.

use crate::calls::runtime;
use adapter_http::{Expected, HttpTarget};
use contract::Wire;
use measure::Monotonic;
use model::{AnyTarget, Clock, Nanos, Target};
use server::{Limits, Server, Settings};
use std::marker::PhantomData;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;
use workload_tpcc::{Cardinality, Tpcc};

/// For a server to open its sessions, and to finish its calls in the end. A disk that stalls holds up both.
const PATIENCE: Nanos = Nanos::from_secs(60);
/// Between two attempts to reach it.
const PAUSE: Duration = Duration::from_millis(5);

/// A running server; it stops when this value goes.
#[derive(Debug)]
pub struct Served<W> {
    addr: SocketAddr,
    scale: u64,
    workload: PhantomData<fn() -> W>,
    log: Arc<Mutex<Vec<String>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served<Tpcc> {
    /// Puts a target of TPC-C behind HTTP, on a free port, with so many sessions.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn start<T: Target<Tpcc>>(target: T, size: Cardinality, sessions: u32) -> Served<Tpcc> {
        Served::with(target, size, u64::from(size.warehouses), sessions)
    }
}

impl<W: Wire> Served<W> {
    /// Puts a target behind HTTP, on a free port, with so many sessions.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn with<T: Target<W>>(target: T, extent: W::Extent, scale: u64, sessions: u32) -> Served<W> {
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let lines = log.clone();
        let settings = Settings {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            sessions,
            scale,
            limits: Limits { drain_max: PATIENCE, ..Limits::default() },
            log: Arc::new(move |line| lines.lock().expect("no one panics here").push(line.to_owned())),
            ..Settings::default()
        };
        let bound = Server::bind(settings).expect("a free port of this machine");
        let (addr, (stop, stopped)) = (bound.addr(), oneshot::channel());
        let thread = std::thread::spawn(move || {
            let until = async {
                // A sender that is gone stops it as well.
                let _ = stopped.await;
            };
            bound.serve::<W>(AnyTarget::new(target), extent, until).expect("a server that ends well");
        });
        Served { addr, scale, workload: PhantomData, log, stop: Some(stop), thread: Some(thread) }
    }

    /// The way to it, through the real client.
    ///
    /// # Panics
    /// When it cannot be reached.
    pub fn target(&self) -> HttpTarget<W> {
        let (url, expected) = (format!("http://{}", self.addr), Expected { scale: Some(self.scale) });
        let clock = Monotonic::start();
        loop {
            match runtime().block_on(HttpTarget::reach(&url, &expected)) {
                Ok(target) => return target,
                // No one is answered before all sessions are open.
                Err(_) if clock.now() < PATIENCE && !self.has_ended() => std::thread::sleep(PAUSE),
                Err(error) => panic!("a server that was just started: {error}"),
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// What it told its operator.
    ///
    /// # Panics
    /// Never.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().expect("no one panics here").clone()
    }
}

impl<W> Drop for Served<W> {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        if let Some(Err(panic)) = ended
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}
