//! How a private engine is killed, paused, cut off, halted and started again.

use super::{HALT_MAX, Running};
use crate::command::{POLL, ended_within, signal, signal_family, wait_until_stopped};
use crate::disk::Disk;
use crate::{RigError, cluster, galera};
use measure::Monotonic;
use model::{Clock, Nanos};
use rustix::process::Signal;

impl Running {
    /// Whether its first process lives, and that of each other node. An engine that died by itself is seen here.
    pub fn is_alive(&mut self) -> bool {
        self.is_running() && self.peers.iter_mut().all(Running::is_alive)
    }

    /// As [`Running::is_alive`], of this node only.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// One of the nodes of a cluster, from 0 on; of any other engine itself.
    fn node_mut(&mut self, node: usize) -> &mut Running {
        match node.checked_sub(1) {
            Some(peer) => &mut self.peers[peer],
            None => self,
        }
    }

    /// Ends all of its processes by `SIGKILL`, as a crash would, on all nodes, and keeps the data for [`Running::restart`].
    pub fn kill(&mut self) {
        self.kill_this();
        self.peers.iter_mut().for_each(Running::kill);
    }

    /// As [`Running::kill`], on one node; the others go on.
    pub fn kill_node(&mut self, node: usize) {
        self.node_mut(node).kill_this();
    }

    fn kill_this(&mut self) {
        if let Some(mut child) = self.child.take() {
            self.orphaned.note(self.pid);
            signal_family(self.pid, Signal::KILL);
            let _ = child.wait();
        }
    }

    /// Flushes the file system of its data, so that a later power cut loses only what is written after this. Does nothing without
    /// [`crate::Options::own_disk`].
    pub fn flush_disk(&self) -> Result<(), RigError> {
        self.disk.as_ref().map_or(Ok(()), Disk::flush)
    }

    /// Cuts the power of what its data is on: all of its processes are stopped and ended, and what they had not flushed is lost. The data is
    /// there again with [`Running::restart`]; from then on its file system writes its journal every `commit_s` seconds.
    ///
    /// # Errors
    ///
    /// It was not started with [`crate::Options::own_disk`], or the file system could not be shut down or unmounted.
    pub fn cut_power(&mut self, commit_s: u32) -> Result<(), RigError> {
        // A flush that is under way while the file system is shut down may report success. Its process is stopped before it
        // learns of that, so that it acknowledges nothing. And it ends only afterwards: what it still writes gets nowhere.
        self.own_disk()?;
        self.pause(true);
        if self.child.is_some() {
            wait_until_stopped(self.pid);
        }
        if let Err(error) = self.own_disk().and_then(Disk::cut) {
            self.pause(false);
            return Err(error);
        }
        self.kill();
        self.disk.as_mut().map_or(Ok(()), |disk| disk.unmount(commit_s))
    }

    fn own_disk(&self) -> Result<&Disk, RigError> {
        self.disk.as_ref().ok_or_else(|| {
            RigError::Invalid("this engine was not started with a file system of its own".into())
        })
    }

    /// Fills what its data is on, until [`Running::restart`]: writes that need more space fail.
    ///
    /// # Errors
    ///
    /// It was not started with [`crate::Options::own_disk`], or the file system cannot be filled.
    pub fn fill_disk(&self) -> Result<(), RigError> {
        self.own_disk()?.fill()
    }

    /// Stops all of its processes where they stand, on all nodes, or lets them go on.
    pub fn pause(&self, is_paused: bool) {
        self.pause_this(is_paused);
        self.peers.iter().for_each(|peer| peer.pause(is_paused));
    }

    /// As [`Running::pause`], on one node.
    pub fn pause_node(&mut self, node: usize, is_paused: bool) {
        self.node_mut(node).pause_this(is_paused);
    }

    fn pause_this(&self, is_paused: bool) {
        if self.child.is_some() {
            signal_family(self.pid, if is_paused { Signal::STOP } else { Signal::CONT });
        }
    }

    /// Cuts the connections between one node of a Galera cluster and the others, and lets it find them again. Clients still reach it.
    ///
    /// # Errors
    ///
    /// The node refuses, or does not take part in the cluster again in time.
    pub fn isolate_node(&mut self, node: usize, is_isolated: bool) -> Result<(), RigError> {
        galera::isolate(self.node_mut(node), is_isolated)
    }

    /// Whether one node of a Galera cluster has found out that it is cut off: it takes some seconds.
    pub fn is_isolated(&mut self, node: usize) -> bool {
        galera::knows_that_it_is_alone(self.node_mut(node))
    }

    /// Ends it in an orderly way, with all data written out, and keeps the data for [`Running::restart`]. The first node of a cluster
    /// ends last.
    ///
    /// # Errors
    ///
    /// It does not end within two minutes; it is killed then.
    pub fn halt(&mut self) -> Result<(), RigError> {
        let halted = self.peers.iter_mut().map(Running::halt).fold(Ok(()), Result::and);
        let Some(mut child) = self.child.take() else { return halted };
        signal(self.pid, self.engine().about().halt);
        if ended_within(&mut child, HALT_MAX).is_some() {
            return halted;
        }
        self.child = Some(child);
        self.kill_this();
        let what = format!("{} did not end within {HALT_MAX:?} and was killed", self.engine().title());
        Err(RigError::failed(what, self.log_tail()))
    }

    /// Starts it again on the same data, port and settings; it recovers first if it was killed. An engine that runs is
    /// killed before; of a cluster its first node is, and each that does not run is started.
    ///
    /// # Errors
    ///
    /// It does not come up within [`crate::Options::start_max`].
    pub fn restart(&mut self) -> Result<(), RigError> {
        self.restart_node(0)
    }

    /// As [`Running::restart`], of another node than the first.
    pub fn restart_node(&mut self, node: usize) -> Result<(), RigError> {
        self.kill_node(node);
        self.disk.as_ref().map_or(Ok(()), Disk::make_room)?;
        if let Some(disk) = self.disk.as_mut().filter(|disk| !disk.is_mounted()) {
            disk.mount()?;
            let folder = &self.home.path;
            let forgotten = self.installation.engine.technology().forget_process(folder, self.port);
            forgotten.map_err(|error| RigError::folder(folder, error))?;
        }
        self.start_again()
    }

    /// Starts it on its data, once processes of an earlier start that was killed have ended.
    pub(crate) fn launch_again(&mut self) -> Result<(), RigError> {
        let (clock, max) = (Monotonic::start(), Nanos::from(self.options.start_max));
        let waits = self.engine().about().old_processes;
        loop {
            match self.launch(None) {
                Err(RigError::Failed { log, .. })
                    if waits.is_some_and(|words| log.contains(words)) && clock.now() < max =>
                {
                    std::thread::sleep(POLL);
                }
                answer => return answer,
            }
        }
    }

    /// Starts each of its nodes that does not run.
    pub(crate) fn start_again(&mut self) -> Result<(), RigError> {
        let mut peers = std::mem::take(&mut self.peers);
        let nodes = std::iter::once(&mut *self).chain(&mut peers).collect();
        let started = cluster::start_servers(nodes, false);
        self.peers = peers;
        started
    }
}
