//! Galera: private MariaDB servers that have all data each, and acknowledge a commit when its changes are certified in the same order
//! on all of them. Everything listens on 127.0.0.1.

use crate::cluster::{Role, start_server};
use crate::command::{run, signal_family, within};
use crate::home::random_hex;
use crate::settings::Settings;
use crate::{RigError, Running};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Where distributions have the library of Galera.
const PROVIDERS: [&str; 4] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
    "/usr/local/lib/galera/libgalera_smm.so",
];
/// How long a node may take to get all data from another, before it takes connections.
pub(crate) const JOIN_MAX: Duration = Duration::from_secs(600);
/// How long it may take from then on until it takes part in the cluster.
const READY_MAX: Duration = Duration::from_secs(120);
/// The argument of the server that begins the group.
const BEGINS: &str = "--wsrep-new-cluster";
/// Below the ports that Linux and macOS hand out to outgoing connections.
const LASTING: std::ops::Range<u16> = 16_000..32_000;
/// Before the cluster and the number of the newest commit, in the log of a server that is asked to recover only.
const RECOVERED: &str = "WSREP: Recovered position:";
/// What a node says of itself, once it has applied what the others had committed: one that has not noticed yet that it is cut off says
/// that all is well, and one that is, nothing.
const STATUS: &str = "set session wsrep_sync_wait = 15; select 1; show status where variable_name in ('wsrep_ready', 'wsrep_cluster_size')";
/// What a node says of itself when it has all data and takes writes.
const READY: &str = "wsrep_ready\tON";

/// What makes a server a node of a cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Node {
    provider: PathBuf,
    /// Of each node, on 127.0.0.1: of the group, of a transfer of what is missing, and of a transfer of everything.
    ports: Vec<[u16; 3]>,
    /// Which of them this is.
    number: usize,
    /// How many of them get calls.
    writers: usize,
    /// Of the next start.
    #[serde(skip)]
    arguments: Vec<String>,
}

impl Node {
    /// The first node of a new cluster.
    pub(crate) fn first(nodes: usize, writers: usize) -> Result<Node, RigError> {
        let provider = PROVIDERS.into_iter().find(|path| Path::new(path).exists());
        let provider = provider.ok_or_else(|| {
            RigError::Invalid(format!(
                "the library of Galera is not installed; it was looked for at {}\nhint: Debian and Ubuntu: apt-get install \
                 galera-4 rsync; Fedora: dnf install galera rsync",
                PROVIDERS.join(", ")
            ))
        })?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|folder| folder.join("rsync").exists()) {
            return Err(RigError::Invalid(
                "rsync is not installed, by which a node gets all data\nhint: install the package rsync"
                    .into(),
            ));
        }
        let ports = lasting_ports(3 * nodes)?;
        let ports = ports.chunks_exact(3).map(|ports| [ports[0], ports[1], ports[2]]).collect();
        Ok(Node { provider: provider.into(), ports, number: 0, writers, arguments: vec![BEGINS.into()] })
    }

    /// The nodes that join it.
    pub(crate) fn others(&self) -> impl Iterator<Item = Node> {
        (1..self.ports.len()).map(|number| Node { number, arguments: Vec::new(), ..self.clone() })
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// It is started only once as it was to be.
    pub(crate) fn has_started(&mut self) {
        self.arguments.clear();
    }

    /// How many nodes the cluster has.
    pub(crate) fn count(&self) -> usize {
        self.ports.len()
    }

    /// How many of them get calls.
    pub(crate) fn writers(&self) -> usize {
        self.writers
    }

    /// Adds what a node needs to the settings of a single server.
    pub(crate) fn set(&self, settings: &mut Settings) {
        let [group, missing, all] = self.ports[self.number];
        let address = |[group, ..]: &[u16; 3]| format!("127.0.0.1:{group}");
        let addresses: Vec<String> = self.ports.iter().map(address).collect();
        settings.set("binlog_format", "ROW");
        settings.set("innodb_autoinc_lock_mode", 2);
        settings.set("wsrep_on", "ON");
        settings.set("wsrep_provider", self.provider.display());
        settings.set("wsrep_cluster_name", "stackmark");
        settings.set("wsrep_cluster_address", format!("gcomm://{}", addresses.join(",")));
        settings.set("wsrep_node_name", format!("node-{}", self.number + 1));
        settings.set("wsrep_node_address", format!("127.0.0.1:{group}"));
        if self.writers > 1 {
            // A statement first waits until its node has applied what the others had committed when it came; without that, a call may
            // not see what an earlier one has been answered for. 7 is that of reads, `begin`, updates, deletes and inserts.
            settings.set("wsrep_sync_wait", 7);
        }
        settings.set("wsrep_sst_method", "rsync");
        settings.set("wsrep_sst_receive_address", format!("127.0.0.1:{all}"));
        settings.set(
            "wsrep_provider_options",
            format!("gmcast.listen_addr=tcp://127.0.0.1:{group};ist.recv_addr=127.0.0.1:{missing}"),
        );
    }
}

/// Ports that are free now and that no outgoing connection takes while a node is down: the other nodes try to reach it all the time,
/// and would get one of those that the system hands out.
fn lasting_ports(count: usize) -> Result<Vec<u16>, RigError> {
    let random = u64::from_str_radix(&random_hex()?[..15], 16).unwrap_or_default();
    let span = u64::from(LASTING.end - LASTING.start);
    let mut held = Vec::new();
    for step in 0..span {
        let port = LASTING.start + ((random + step) % span) as u16;
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            held.push((port, listener));
        }
        if held.len() == count {
            return Ok(held.into_iter().map(|(port, _)| port).collect());
        }
    }
    Err(RigError::NotPermitted(format!("there are not {count} free ports on 127.0.0.1 in {LASTING:?}")))
}

/// The newest commit that a node has: of which history of the cluster, and its number there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Position {
    history: String,
    number: i64,
}

impl Position {
    /// From the log of a server that was asked to recover only; nothing of one that has not been in a cluster yet.
    fn read(log: &str) -> Option<Position> {
        let said = log.lines().rev().find_map(|line| line.split_once(RECOVERED))?.1.trim();
        let (history, number) = said.split(',').next()?.rsplit_once(':')?;
        let number = number.parse().ok().filter(|number| *number >= 0)?;
        Some(Position { history: history.to_owned(), number })
    }
}

/// Prepares the start of nodes that have ended: each says what it has, and gets what it lacks. If none of the cluster runs, the one that
/// has the newest commit is started, and begins the group again, as it is the only one that may; it is taken from the list.
///
/// # Errors
/// No node has any data, or they are of different histories.
pub(crate) fn begin_again(ended: &mut Vec<&mut Running>, alone: bool) -> Result<(), RigError> {
    let mut newest: Option<(usize, Position)> = None;
    for (at, node) in ended.iter_mut().enumerate() {
        // One whose data cannot be read gets everything.
        let found = position(node)?;
        if let (Some(Role::Galera(node)), Some(found)) = (&mut node.role, &found) {
            node.arguments = vec![format!("--wsrep-start-position={}:{}", found.history, found.number)];
        }
        match (&newest, found) {
            (Some((_, best)), Some(found)) if best.history != found.history => {
                let what = format!("the nodes of the cluster have different histories: {best:?}, {found:?}");
                return Err(RigError::failed(what, ""));
            }
            (Some((_, best)), Some(found)) if best.number >= found.number => {}
            (_, Some(found)) => newest = Some((at, found)),
            (_, None) => {}
        }
    }
    if !alone {
        return Ok(());
    }
    let Some((first, _)) = newest else {
        let folders: Vec<String> = ended.iter().map(|node| node.folder().display().to_string()).collect();
        let what = format!("no node of the cluster says what its newest commit is: {}", folders.join(", "));
        return Err(RigError::failed(what, ""));
    };
    let first = ended.remove(first);
    may_begin(first)?;
    first.role.iter_mut().for_each(|role| {
        if let Role::Galera(node) = role {
            node.arguments.push(BEGINS.into());
        }
    });
    start_server(first)
}

/// What a node has that does not run, as the server says when it is asked to recover only.
fn position(node: &mut Running) -> Result<Option<Position>, RigError> {
    let mut command = node.account.command(Command::new(&node.installation().server), node.folder());
    command
        .arg(format!("--defaults-file={}", node.folder().join("engine.conf").display()))
        .arg("--wsrep-recover");
    let max = node.options.start_max;
    let ended = run(command, "", max, |pid| node.watch(pid))?;
    Ok(Position::read(&(ended.out + &ended.err)))
}

/// Lets a node begin a group: it may have ended without knowing that no other one has more.
fn may_begin(node: &Running) -> Result<(), RigError> {
    let path = node.data().join("grastate.dat");
    let wrong = |error| RigError::folder(&path, error);
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        text => text.map_err(wrong)?,
    };
    // Renamed into place: what a node is of is in it.
    let next = node.data().join("grastate.next");
    std::fs::write(&next, text.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1")).map_err(wrong)?;
    node.account.own(&next)?;
    std::fs::rename(&next, &path).map_err(wrong)
}

/// Cuts the connections between a node and the others, or lets it find them again and waits until it has all data.
pub(crate) fn isolate(node: &Running, is_isolated: bool) -> Result<(), RigError> {
    if !matches!(node.role, Some(Role::Galera(_))) {
        return Err(RigError::Invalid(
            "only a node of a Galera cluster has others to be cut off from".into(),
        ));
    }
    node.client(
        "mysql",
        &format!("set global wsrep_provider_options = 'gmcast.isolate={}'", u8::from(is_isolated)),
    )?;
    if is_isolated { Ok(()) } else { wait(node) }
}

/// Waits until a server is a node that has all data and takes writes.
///
/// # Errors
/// It does not become one.
pub(crate) fn wait(node: &Running) -> Result<(), RigError> {
    wait_for(node, &[READY])
}

/// Waits until a node says all of this of itself.
fn wait_for(node: &Running, wanted: &[&str]) -> Result<(), RigError> {
    let mut last = Ok(String::new());
    let ready = within(READY_MAX, || {
        last = node.client("mysql", STATUS);
        let says = |rows: &str| wanted.iter().all(|wanted| rows.lines().any(|row| row == *wanted));
        matches!(&last, Ok(rows) if says(rows)).then_some(())
    });
    if ready.is_some() {
        return Ok(());
    }
    let status = last?.replace('\t', " ").replace('\n', ", ");
    Err(RigError::failed(
        format!("a node of the cluster did not take part in it within {READY_MAX:?}: {status}"),
        node.log_tail(),
    ))
}

/// Waits until all nodes of a cluster take part in it.
pub(crate) fn wait_for_all(first: &Running, count: usize) -> Result<(), RigError> {
    let size = format!("wsrep_cluster_size\t{count}");
    std::iter::once(first).chain(first.peers()).try_for_each(|node| wait_for(node, &[READY, &size]))
}

/// Whether a node has found out that it is cut off from the others.
pub(crate) fn knows_that_it_is_alone(node: &Running) -> bool {
    node.client("mysql", "show status like 'wsrep_cluster_status'")
        .is_ok_and(|status| !status.contains("\tPrimary"))
}

impl Running {
    /// Kills a node with the programs by which it may be sending or getting all data.
    pub(crate) fn end_transfers(&self) {
        if let Some(Role::Galera(_)) = self.role {
            signal_family(self.pid(), Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_a_history_and_a_number_in_it() {
        let log = |position: &str| {
            format!("2026 0 [Note] WSREP: Recovered position: {position}\n2026 0 [Note] End\n")
        };
        let read = |position: &str| Position::read(&log(position));
        let found = Position { history: "3c5a-1".into(), number: 12 };
        assert_eq!([read("3c5a-1:12"), read("3c5a-1:12,0-1-7")], [Some(found.clone()), Some(found)]);
        assert_eq!(read("00000000-0000-0000-0000-000000000000:-1"), None);
        assert_eq!(Position::read("[ERROR] InnoDB: Corrupted page"), None);
    }
}
