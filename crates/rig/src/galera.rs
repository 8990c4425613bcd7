//! Galera: private MariaDB servers that have all data each, and acknowledge a commit when its changes are certified in the same order
//! on all of them. Everything listens on 127.0.0.1.

use crate::command::{signal_family, within};
use crate::home::{Home, random_hex};
use crate::settings::Settings;
use crate::{Engine, RigError, Running};
use rustix::process::Signal;
use sql::{Address, GALERA, ServerUrl, WRITERS};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

/// Where distributions have the library of Galera.
const PROVIDERS: [&str; 4] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
    "/usr/local/lib/galera/libgalera_smm.so",
];
/// How long a node may take from its first connection until it takes part in the cluster.
const JOIN_MAX: Duration = Duration::from_secs(60);
/// Below the ports that Linux and macOS hand out to outgoing connections.
const LASTING: std::ops::Range<u16> = 16_000..32_000;
/// What a node says of itself when it has all data and takes writes.
const READY: &str = "wsrep_ready\tON";

/// How many nodes the settings ask for, and how many of them get calls; nothing of a server that is in no cluster.
///
/// # Errors
/// Calls for more nodes than there are, or for nodes of no cluster.
pub(crate) fn asked(
    engine: Engine,
    settings: &[(String, String)],
) -> Result<Option<(usize, usize)>, RigError> {
    if engine != Engine::MariaDb {
        return Ok(None);
    }
    let number = |wanted: &str| {
        let (_, value) = settings.iter().rev().find(|(name, _)| name == wanted)?;
        value.parse::<usize>().ok()
    };
    match (number(GALERA), number(WRITERS)) {
        (None, None) => Ok(None),
        (None, Some(_)) => {
            Err(RigError::Invalid(format!("{WRITERS} is for a cluster; set {GALERA} as well")))
        }
        (Some(nodes), Some(writers)) if writers > nodes => {
            Err(RigError::Invalid(format!("{WRITERS} is {writers}, and the cluster has {nodes} nodes")))
        }
        (Some(nodes), writers) => Ok(Some((nodes, writers.unwrap_or(1)))),
    }
}

/// What makes a server a node of a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    provider: &'static str,
    /// Of each node, on 127.0.0.1: of the group, of a transfer of what is missing, and of a transfer of everything.
    ports: Vec<[u16; 3]>,
    /// Which of them this is.
    number: usize,
    /// How many of them get calls.
    writers: usize,
    /// Whether it is the first to run, and begins the group.
    pub(crate) begins: bool,
    /// Whether it ended after all others, in an orderly way, so that it has all that they had.
    pub(crate) has_all: bool,
}

impl Node {
    /// The first node of a new cluster.
    pub(crate) fn first((nodes, writers): (usize, usize)) -> Result<Node, RigError> {
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
        Ok(Node { provider, ports, number: 0, writers, begins: true, has_all: false })
    }

    /// The nodes that join it.
    pub(crate) fn others(&self) -> impl Iterator<Item = Node> {
        (1..self.ports.len()).map(|number| Node { number, begins: false, ..self.clone() })
    }

    /// Adds what a node needs to the settings of a single server.
    pub(crate) fn set(&self, settings: &mut Settings) {
        let [group, missing, all] = self.ports[self.number];
        let address = |[group, ..]: &[u16; 3]| format!("127.0.0.1:{group}");
        let addresses: Vec<String> = self.ports.iter().map(address).collect();
        settings.set("binlog_format", "ROW");
        settings.set("innodb_autoinc_lock_mode", 2);
        settings.set("wsrep_on", "ON");
        settings.set("wsrep_provider", self.provider);
        settings.set("wsrep_cluster_name", "stackmark");
        settings.set("wsrep_cluster_address", format!("gcomm://{}", addresses.join(",")));
        settings.set("wsrep_node_name", format!("node-{}", self.number));
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

/// Lets a node begin a group with what it has: it may not have seen yet that it was the last one when it ended.
fn may_begin(data: &Path) -> Result<(), RigError> {
    let path = data.join("grastate.dat");
    let wrong = |error| RigError::folder(&path, error);
    let text = std::fs::read_to_string(&path).map_err(wrong)?;
    std::fs::write(&path, text.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1")).map_err(wrong)
}

/// Waits until a server is a node that has all data and takes writes.
///
/// # Errors
/// It does not become one.
pub(crate) fn wait(node: &Running) -> Result<(), RigError> {
    let mut last = Ok(String::new());
    let ready = within(JOIN_MAX, || {
        last = node.client("mysql", "show status like 'wsrep_ready'");
        matches!(&last, Ok(rows) if rows.contains(READY)).then_some(())
    });
    if ready.is_some() {
        return Ok(());
    }
    last?;
    Err(RigError::failed(
        format!("a node of the cluster took no writes within {JOIN_MAX:?}"),
        node.log_tail(),
    ))
}

impl Running {
    /// Starts the other nodes of its cluster, if it is to have any, one after the other: each gets all data from one that runs.
    pub(crate) fn join_others(&mut self) -> Result<(), RigError> {
        let Some(node) = &mut self.node else { return Ok(()) };
        node.begins = false;
        let others: Vec<Node> = node.others().collect();
        wait(self)?;
        for node in others {
            let base = self.folder().parent().unwrap_or(Path::new("/")).to_owned();
            let home = Home::make(&base, Engine::MariaDb, self.account)?;
            let mut peer = Running::laid_out(self.installation().clone(), &self.options, self.account, home)?;
            peer.password = self.password.clone();
            peer.node = Some(node);
            let text = Engine::MariaDb.technology().client_file(&peer.password);
            peer.home.write_private("client.conf", &text)?;
            peer.start_on_a_free_port(None)?;
            wait(&peer)?;
            self.peers.push(peer);
        }
        Ok(())
    }

    /// Starts those of its nodes again that do not run; where none does, the first begins the group again, with what it has.
    pub(crate) fn rejoin(&mut self) -> Result<(), RigError> {
        let alone = !self.peers.iter_mut().any(|peer| peer.is_alive());
        if let Some(node) = &mut self.node {
            // No other node than the first: there would be two clusters.
            node.begins = alone && node.number == 0;
            if node.begins && node.has_all {
                may_begin(&self.data())?;
            }
        }
        self.launch(None)?;
        if let Some(node) = &mut self.node {
            (node.begins, node.has_all) = (false, false);
            wait(self)?;
        }
        for peer in &mut self.peers {
            if !peer.is_alive() {
                peer.restart()?;
                wait(peer)?;
            }
        }
        Ok(())
    }

    /// Kills a node with the programs by which it may be sending or getting all data.
    pub(crate) fn end_transfers(&self) {
        if self.node.is_some() {
            signal_family(self.pid(), Signal::KILL);
        }
    }

    /// The other nodes of its cluster.
    pub fn peers(&self) -> &[Running] {
        &self.peers
    }

    /// A database of it as clients reach it: of a cluster on all nodes, with those that get calls.
    pub(crate) fn of_cluster(&self, url: ServerUrl) -> ServerUrl {
        let Some(node) = &self.node else { return url };
        let socket = |peer: &Running| peer.place().url(&url.database).socket.map(Address::Socket);
        let others = self.peers.iter().filter_map(socket).collect();
        ServerUrl { others, writers: Some(node.writers), ..url }
    }
}
