//! What a drill can strike of a subject, and how.

use deploy::{Route, Subject};
use model::store_name;
use result::FaultAction;
use sql::Dialect;
use targets::Style;

/// Something that a subject stands on or runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// Which makes the calls; on the direct route it is the coordinator of their transactions, and an embedded engine is in it.
    Generator,
    /// The HTTP server, which is the coordinator on its route.
    Server,
    /// The engine of a store; of a cluster all of its nodes.
    Engine(usize),
    /// One server of the cluster that has a store, which calls it the node of this number; the head of Spider has none.
    Node { store: usize, server: usize, number: Option<usize> },
    /// What brings to one store what calls have left in another, or to a sink what they have left in an outbox.
    Relay,
    /// The broker that a relay publishes to.
    Broker,
    /// The consumer of what a relay publishes.
    Consumer,
    /// What the files of an embedded engine lie on, with all processes that write there.
    Storage,
}

/// How components are called by whoever chooses among them: `engine` stands for those of all stores, `node` for all nodes.
pub const COMPONENTS: [&str; 9] =
    ["generator", "server", "engine", "node", "head", "relay", "broker", "consumer", "storage"];

/// What there is to strike.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    /// What calls go through.
    pub subject: &'static Subject,
    /// Over so many stores.
    pub shards: usize,
    /// Each on so many nodes of a Galera cluster; 1 where it is on none.
    pub nodes: usize,
    /// Each with its rows on so many data nodes of Spider; 0 where they are with it.
    pub data_nodes: usize,
    /// Whether it publishes to a private broker.
    pub has_broker: bool,
    /// Whether a consumer reads what it publishes.
    pub has_consumer: bool,
}

impl Component {
    /// What it is called among [`COMPONENTS`].
    #[must_use]
    pub fn group(self) -> &'static str {
        match self {
            Component::Generator => "generator",
            Component::Server => "server",
            Component::Engine(_) => "engine",
            Component::Node { number: None, .. } => "head",
            Component::Node { .. } => "node",
            Component::Relay => "relay",
            Component::Broker => "broker",
            Component::Consumer => "consumer",
            Component::Storage => "storage",
        }
    }

    /// Its name where the data is split over so many stores.
    #[must_use]
    pub fn name(self, shards: usize) -> String {
        match self {
            Component::Engine(store) if shards > 1 => store_name(store),
            Component::Node { store, number, .. } => {
                let name = number.map_or_else(|| "head".to_owned(), |number| format!("node-{number}"));
                if shards > 1 { format!("{}-{name}", store_name(store)) } else { name }
            }
            component => component.group().to_owned(),
        }
    }

    /// Everything that can be struck, and how. A power cut of engines and a full disk need [`rig::can_have_own_disk`].
    pub fn faults_of(parts: &Parts) -> Vec<(Component, FaultAction)> {
        use FaultAction::{
            CutOff, DiskFull, Kill, KillAfterDecision, KillAfterPrepare, KillAfterPublishing, Pause, PowerCut,
        };
        let Parts { subject, shards, nodes, data_nodes, has_broker, has_consumer } = *parts;
        let all = |component, actions: &[FaultAction]| {
            actions.iter().map(|action| (component, *action)).collect::<Vec<_>>()
        };
        let mut faults = all(Component::Generator, &[Kill]);
        if subject.route() == Route::Http {
            faults.extend(all(Component::Server, &[Kill, Pause, CutOff]));
        }
        let coordinator = match subject.route() {
            Route::Http => Component::Server,
            Route::Direct => Component::Generator,
        };
        if has_phases(subject) && shards > 1 {
            faults.extend(all(coordinator, &[KillAfterPrepare, KillAfterDecision]));
        }
        if subject.how.dialect != Dialect::Sqlite {
            let servers = servers_of(nodes, data_nodes);
            // A cluster has no file system of its own.
            let actions = &[Kill, Pause, CutOff, PowerCut][..if servers.is_empty() { 4 } else { 3 }];
            faults.extend((0..shards).flat_map(|store| all(Component::Engine(store), actions)));
            for store in 0..shards {
                for (server, number) in &servers {
                    let component = Component::Node { store, server: *server, number: *number };
                    // Who is cut off from the head is cut off from the engine.
                    faults.extend(all(
                        component,
                        &[Kill, Pause, CutOff][..if number.is_some() { 3 } else { 2 }],
                    ));
                }
            }
        }
        if subject.has_relay(shards) {
            faults.extend(all(Component::Relay, &[Kill, Pause]));
            if subject.how.style.has_outbox() {
                faults.push((Component::Relay, KillAfterPublishing));
            }
            // A file is not a way that could be cut.
            if subject.how.dialect != Dialect::Sqlite {
                faults.push((Component::Relay, CutOff));
            }
        }
        if has_broker {
            faults.extend(all(Component::Broker, &[Kill, Pause, DiskFull]));
        }
        if has_consumer {
            faults.extend(all(Component::Consumer, &[Kill, Pause]));
        }
        let is_recorded = subject.how.style != Style::Attached && subject.speaks_through_ours();
        if subject.how.dialect == Dialect::Sqlite && is_recorded {
            faults.extend(all(Component::Storage, &[PowerCut]));
        }
        faults
    }
}

/// Whether calls between stores are committed in two phases, by a process that can be ended between them.
pub(crate) fn has_phases(subject: &Subject) -> bool {
    matches!(subject.how.style, Style::TwoPhase | Style::TwoPhaseLog) && subject.speaks_through_ours()
}

/// The servers of a cluster, each with the number of its node.
fn servers_of(nodes: usize, data_nodes: usize) -> Vec<(usize, Option<usize>)> {
    match (nodes, data_nodes) {
        (0 | 1, 0) => Vec::new(),
        (nodes, 0) => (0..nodes).map(|server| (server, Some(server + 1))).collect(),
        (_, data_nodes) => {
            let each = (1..=data_nodes).map(|number| (number, Some(number)));
            std::iter::once((0, None)).chain(each).collect()
        }
    }
}
