//! What is written next to an engine so that another process of ours can find, show and end it.

use crate::cluster::Role;
use crate::{Engine, RigError};
use serde::{Deserialize, Serialize};
use sql::Tls;
use sql::{Isolation, Secret, ServerUrl};
use std::path::{Path, PathBuf};

/// The one user of a private engine.
pub const USER: &str = "stackmark";

/// A started engine. The password is not in it, but in a file of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EngineState {
    pub(crate) engine: Engine,
    pub(crate) version: String,
    /// What its programs were looked for by, as [`crate::Options::programs`].
    pub(crate) programs: Option<PathBuf>,
    pub(crate) pid: u32,
    pub(crate) port: u16,
    /// Everything that was written into its configuration.
    pub(crate) settings: Vec<(String, String)>,
    /// Control groups to remove with it.
    pub(crate) groups: Vec<PathBuf>,
    /// Of a server that belongs together with others.
    pub(crate) role: Option<Role>,
    /// Whether it stays when the process that started it ends.
    pub(crate) stays: bool,
}

impl EngineState {
    const FILE: &'static str = "state.json";

    pub(crate) fn write(&self, folder: &Path) -> Result<(), RigError> {
        let (path, next) = (folder.join(EngineState::FILE), folder.join("state.next"));
        let text = serde_json::to_string_pretty(self).expect("plain data has no key but text");
        // Renamed into place: a reader sees the old state or the new one.
        let written = std::fs::write(&next, text).and_then(|()| std::fs::rename(&next, &path));
        written.map_err(|error| RigError::folder(&path, error))
    }

    /// The state in `folder`; `None` when none was written, or half of one.
    pub(crate) fn read(folder: &Path) -> Option<EngineState> {
        serde_json::from_str(&std::fs::read_to_string(folder.join(EngineState::FILE)).ok()?).ok()
    }
}

/// Folder of the data, owned by the engine's account.
pub(crate) fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

/// Folder of the socket, owned by the engine's account.
pub(crate) fn run(folder: &Path) -> PathBuf {
    folder.join("run")
}

/// How a client gets in through the unix socket.
pub(crate) fn url(engine: Engine, folder: &Path, port: u16, password: Secret, database: &str) -> ServerUrl {
    let dialect = engine.sql().dialect;
    ServerUrl {
        dialect,
        host: "127.0.0.1".into(),
        port,
        others: Vec::new(),
        writers: None,
        socket: engine.technology().socket(folder, port),
        user: USER.into(),
        password: Some(password),
        database: database.into(),
        tls: Tls::Off,
        authority: None,
        channel_binding: false,
        options: None,
        isolation: Isolation::default_of(dialect),
        statement_timeout_ms: 0,
    }
}
