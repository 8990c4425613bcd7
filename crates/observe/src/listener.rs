//! Who listens at an address of this machine: an engine that we did not start is found by the socket that it waits at.

use std::net::{ToSocketAddrs, UdpSocket};
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listening<'a> {
    /// At a port of TCP, on whichever address of this machine.
    Port(u16),
    /// At a Unix socket.
    Socket(&'a Path),
}

/// Whether a host is this machine: one of its addresses is ours to listen at.
pub fn is_here(host: &str) -> bool {
    let Ok(addresses) = (host, 0).to_socket_addrs() else { return false };
    addresses.into_iter().any(|address| UdpSocket::bind(address).is_ok())
}

/// The first process that listens at `at` and bears one of `names`: not a proxy in front of it, and not one of its
/// children that have the socket too. Nothing where we may not look, and on systems other than Linux.
pub fn listener(at: Listening<'_>, names: &[&str]) -> Option<u32> {
    imp::listener(at, names)
}

#[cfg(target_os = "linux")]
mod imp {
    use super::Listening;
    use procfs::net::TcpState;
    use procfs::process::{FDTarget, Process, Stat, all_processes};

    pub(super) fn listener(at: Listening<'_>, names: &[&str]) -> Option<u32> {
        let sockets = sockets(at);
        let stats: Vec<Stat> = all_processes()
            .ok()?
            .flatten()
            .filter_map(|process| Some((process.stat().ok()?, process)))
            .filter(|(stat, process)| names.contains(&stat.comm.as_str()) && has(process, &sockets))
            .map(|(stat, _)| stat)
            .collect();
        let is_child = |stat: &&Stat| stats.iter().any(|other| other.pid == stat.ppid);
        let root = stats.iter().find(|stat| !is_child(stat))?;
        u32::try_from(root.pid).ok()
    }

    fn sockets(at: Listening<'_>) -> Vec<u64> {
        match at {
            Listening::Port(port) => {
                let all = procfs::net::tcp().into_iter().chain(procfs::net::tcp6()).flatten();
                let listens =
                    all.filter(|one| one.state == TcpState::Listen && one.local_address.port() == port);
                listens.map(|one| one.inode).collect()
            }
            Listening::Socket(path) => {
                let all = procfs::net::unix().into_iter().flatten();
                all.filter(|one| one.path.as_deref() == Some(path)).map(|one| one.inode).collect()
            }
        }
    }

    fn has(process: &Process, sockets: &[u64]) -> bool {
        let Ok(open) = process.fd() else { return false };
        open.flatten().any(|fd| matches!(fd.target, FDTarget::Socket(inode) if sockets.contains(&inode)))
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    pub(super) fn listener(_: super::Listening<'_>, _: &[&str]) -> Option<u32> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    #[test]
    fn who_listens_is_found_by_its_socket_and_its_name() {
        let me = std::fs::read_to_string("/proc/self/comm").unwrap();
        let (me, pid) = (me.trim(), Some(std::process::id()));
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        assert_eq!(listener(Listening::Port(port), &["nobody", me]), pid);
        assert_eq!(listener(Listening::Port(port), &["nobody"]), None, "a proxy is not the engine");
        drop(tcp);
        assert_eq!(listener(Listening::Port(port), &[me]), None);
        let path = std::env::temp_dir().join(format!("stackmark-listener-{}", std::process::id()));
        let unix = UnixListener::bind(&path).unwrap();
        assert_eq!(listener(Listening::Socket(&path), &[me]), pid);
        drop(unix);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn this_machine_is_known_by_its_addresses() {
        assert!(is_here("127.0.0.1") && is_here("localhost"));
        // Of the block for documentation (RFC 5737), which no machine has.
        assert!(!is_here("192.0.2.1"));
    }
}
