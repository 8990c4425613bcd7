//! Servers that belong together: the first is the one that was asked for, and the others are its peers. Everything listens on the
//! loopback.

use crate::home::Home;
use crate::settings::Settings;
use crate::{Engine, Installation, RigError, Running, galera, spider};
use serde::{Deserialize, Serialize};
use sql::{Address, GALERA, SPIDER, ServerUrl, WRITERS};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// What the settings ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// So many nodes, of which so many get calls.
    Galera {
        nodes: usize,
        writers: usize,
    },
    Spider {
        data_nodes: usize,
    },
}

/// The shape that settings ask for; nothing of a single server.
///
/// # Errors
/// Two shapes at once, calls for more nodes than there are, or for nodes of no cluster.
pub(crate) fn asked(engine: Engine, settings: &[(String, String)]) -> Result<Option<Shape>, RigError> {
    if engine != Engine::MariaDb {
        return Ok(None);
    }
    let number = |wanted: &str| {
        let (_, value) = settings.iter().rev().find(|(name, _)| name == wanted)?;
        value.parse::<usize>().ok()
    };
    match (number(GALERA), number(SPIDER), number(WRITERS)) {
        (None, None, None) => Ok(None),
        (Some(_), Some(_), _) => Err(RigError::Invalid(format!("{GALERA} and {SPIDER} cannot both be set"))),
        (None, _, Some(_)) => {
            Err(RigError::Invalid(format!("{WRITERS} is for a Galera cluster; set {GALERA} as well")))
        }
        (None, Some(data_nodes), None) => Ok(Some(Shape::Spider { data_nodes })),
        (Some(nodes), None, Some(writers)) if writers > nodes => {
            Err(RigError::Invalid(format!("{WRITERS} is {writers}, and the cluster has {nodes} nodes")))
        }
        (Some(nodes), None, writers) => Ok(Some(Shape::Galera { nodes, writers: writers.unwrap_or(1) })),
    }
}

/// What a server is among those that belong together.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Role {
    Galera(galera::Node),
    /// The first of Spider, which clients reach.
    Head {
        data_nodes: usize,
    },
    /// From 1 on.
    DataNode {
        number: usize,
    },
}

impl Role {
    pub(crate) fn first(shape: Shape, installation: &Installation) -> Result<Role, RigError> {
        match shape {
            Shape::Galera { nodes, writers } => galera::Node::first(nodes, writers).map(Role::Galera),
            Shape::Spider { data_nodes } => {
                spider::ensure_installed(&installation.server).map(|()| Role::Head { data_nodes })
            }
        }
    }

    /// Those of the peers of the first.
    pub(crate) fn others(&self) -> Vec<Role> {
        match self {
            Role::Galera(node) => node.others().map(Role::Galera).collect(),
            Role::Head { data_nodes } => (1..=*data_nodes).map(|number| Role::DataNode { number }).collect(),
            Role::DataNode { .. } => Vec::new(),
        }
    }

    /// From 0, the first, on.
    pub(crate) fn number(&self) -> usize {
        match self {
            Role::Galera(node) => node.number(),
            Role::Head { .. } => 0,
            Role::DataNode { number } => *number,
        }
    }

    /// Where it listens for clients. Each data node of Spider has an address of its own: the head knows them by that, and not by
    /// the port, when it decides what became of a transaction.
    pub(crate) fn host(&self) -> Ipv4Addr {
        match self {
            Role::Galera(_) | Role::Head { .. } => Ipv4Addr::LOCALHOST,
            Role::DataNode { number } => Ipv4Addr::new(127, 0, 0, *number as u8 + 1),
        }
    }

    /// Adds what it needs to the settings of a single server.
    pub(crate) fn set(&self, settings: &mut Settings) {
        match self {
            Role::Galera(node) => node.set(settings),
            Role::Head { .. } => spider::set_head(settings),
            Role::DataNode { .. } => settings.set("bind_address", self.host()),
        }
    }

    /// Arguments of the next start.
    pub(crate) fn arguments(&self) -> &[String] {
        match self {
            Role::Galera(node) => node.arguments(),
            Role::Head { .. } | Role::DataNode { .. } => &[],
        }
    }
}

/// The folder of a further server of what stays; nothing if `first` is that of one that does not.
pub(crate) fn stays_as(first: &Path, number: usize) -> Option<PathBuf> {
    let name = first.file_name()?.to_str().filter(|name| name.ends_with("-up"))?;
    Some(first.with_file_name(format!("{name}-{}", number + 1)))
}

/// Starts those of the servers that do not run; `others_run` says whether some do that are not among these. All are tried, also when
/// one fails.
///
/// # Errors
/// Why the first of those that have failed did not come up, or does not take part.
pub(crate) fn start_servers(servers: Vec<&mut Running>, others_run: bool) -> Result<(), RigError> {
    let (running, mut ended): (Vec<_>, Vec<_>) =
        servers.into_iter().map(|server| (server.is_running(), server)).partition(|(runs, _)| *runs);
    let mut ended: Vec<&mut Running> = ended.drain(..).map(|(_, server)| server).collect();
    if ended.iter().any(|server| matches!(server.role, Some(Role::Galera(_)))) {
        galera::begin_again(&mut ended, running.is_empty() && !others_run)?;
    }
    // At once: of a group without a majority none goes on until enough of the others are back.
    std::thread::scope(|scope| {
        let starting: Vec<_> = ended.into_iter().map(|server| scope.spawn(|| start_server(server))).collect();
        let started = starting.into_iter().map(|starting| starting.join().expect("it does not panic"));
        started.fold(Ok(()), Result::and)
    })
}

/// Starts a server on its data, and waits until it takes part. It does not run on if it does not.
pub(crate) fn start_server(server: &mut Running) -> Result<(), RigError> {
    server.launch_again()?;
    match &server.role {
        Some(Role::Galera(_)) => galera::wait(server).inspect_err(|_| server.end()),
        Some(Role::Head { .. } | Role::DataNode { .. }) | None => Ok(()),
    }
}

impl Running {
    /// Makes and starts the peers, if it is to have any, one after the other.
    pub(crate) fn join_others(&mut self) -> Result<(), RigError> {
        let Some(role) = self.role.clone() else { return Ok(()) };
        if let Role::Galera(_) = &role {
            galera::wait(self)?;
        }
        for role in role.others() {
            let base = self.folder().parent().unwrap_or(Path::new("/")).to_owned();
            let home = match stays_as(self.folder(), role.number()) {
                Some(folder) => Home::lay_out(folder, Engine::MariaDb, self.account)?,
                None => Home::make(&base, Engine::MariaDb, self.account)?,
            };
            let mut peer = Running::laid_out(self.installation().clone(), &self.options, self.account, home)?;
            peer.password = self.password.clone();
            peer.role = Some(role);
            peer.join()?;
            self.peers.push(peer);
        }
        match role {
            Role::Head { .. } => spider::name_data_nodes(self),
            Role::Galera(_) | Role::DataNode { .. } => Ok(()),
        }
    }

    fn join(&mut self) -> Result<(), RigError> {
        match &self.role {
            Some(Role::Galera(_)) => {
                let text = Engine::MariaDb.technology().client_file(&self.password);
                self.home.write_private("client.conf", &text)?;
                self.start_on_a_free_port(None)?;
                galera::wait(self)
            }
            Some(Role::Head { .. } | Role::DataNode { .. }) | None => {
                let init_file = self.make()?;
                self.start_on_a_free_port(init_file.as_deref())
            }
        }
    }

    /// The other servers that belong to it.
    pub fn peers(&self) -> &[Running] {
        &self.peers
    }

    /// A database of it as clients reach it: of Galera on all nodes, with those that get calls.
    pub(crate) fn of_cluster(&self, url: ServerUrl) -> ServerUrl {
        let Some(Role::Galera(node)) = &self.role else { return url };
        let socket = |peer: &Running| peer.place().url(&url.database).socket.map(Address::Socket);
        let others = self.peers.iter().filter_map(socket).collect();
        ServerUrl { others, writers: Some(node.writers()), ..url }
    }

    /// Waits until all nodes of a Galera cluster take part in it, and decides what transactions are left prepared on data nodes of Spider;
    /// gives how many those were. What is a single server is not waited for.
    ///
    /// # Errors
    /// One does not in time.
    pub fn wait_for_nodes(&self) -> Result<Option<u64>, RigError> {
        match &self.role {
            Some(Role::Galera(node)) => galera::wait_for_all(self, node.count()).map(|()| None),
            Some(Role::Head { .. }) => spider::resolve_all_prepared(self).map(Some),
            Some(Role::DataNode { .. }) | None => Ok(None),
        }
    }

    /// Whether its peers are the data nodes of Spider.
    pub fn has_data_nodes(&self) -> bool {
        matches!(self.role, Some(Role::Head { .. }))
    }

    /// The address of the loopback that it listens on for clients.
    pub fn ip(&self) -> IpAddr {
        IpAddr::V4(self.role.as_ref().map_or(Ipv4Addr::LOCALHOST, Role::host))
    }

    /// The address and the port that it listens on for clients.
    pub fn tcp(&self) -> SocketAddr {
        SocketAddr::new(self.ip(), self.place().port)
    }

    /// Has the head of Spider reach a data node, from 1 on, by another port of its address.
    ///
    /// # Errors
    /// The head refuses.
    pub fn lead_to_data_node(&self, number: usize, port: u16) -> Result<(), RigError> {
        spider::lead_to(self, number, port)
    }
}
