//! What one engine has or does otherwise than another: each has a module, and nothing outside it knows which one it is.

use crate::command::Account;
use crate::home::Home;
use crate::settings::Settings;
use crate::{Engine, Installation, Options, RigError, mariadb, postgres};
use rustix::process::Signal;
use sql::Secret;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names and numbers of an engine.
pub(crate) struct About {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What else users type for it.
    pub(crate) alias: &'static str,
    pub(crate) dialect: sql::Dialect,
    /// The database that is there from the start.
    pub(crate) system_database: &'static str,
    /// The statement that names all databases.
    pub(crate) databases: &'static str,
    /// What names stand between in statements.
    pub(crate) quote: char,
    /// The account that a distribution's package makes for it: root does not run an engine as root.
    pub(crate) account: &'static str,
    /// How the name of an owned engine's folder begins; short, because a socket's path may not be long.
    pub(crate) prefix: &'static str,
    /// Settings for an engine that holds little.
    pub(crate) small: &'static [(&'static str, &'static str)],
    /// Whether dashes and underscores are alike in the names of settings.
    pub(crate) dashes: bool,
    /// Ends it in an orderly way that does not wait for clients to leave.
    pub(crate) halt: Signal,
    /// Ends it without care for its data, and the word that a shell has for that.
    pub(crate) end: (Signal, &'static str),
    /// What a start says that fails because processes of a killed engine have not ended yet.
    pub(crate) old_processes: Option<&'static str>,
    pub(crate) programs: Programs,
}

/// Where its programs are.
pub(crate) struct Programs {
    pub(crate) server: &'static [&'static str],
    pub(crate) initialiser: &'static [&'static str],
    pub(crate) client: &'static [&'static str],
    /// Folder patterns; one `*` matches the version, newest first.
    pub(crate) folders: &'static [&'static str],
    pub(crate) variable: &'static str,
    pub(crate) packages: &'static str,
}

/// An engine that is made.
pub(crate) struct Making<'a> {
    pub(crate) installation: &'a Installation,
    pub(crate) options: &'a Options,
    pub(crate) home: &'a Home,
    pub(crate) account: Account,
    pub(crate) password: &'a Secret,
}

pub(crate) trait Technology: Sync {
    fn about(&self) -> &'static About;
    /// Everything that is set, in the order of the file; the reasons are in `docs/rig.md`.
    fn settings(&self, options: &Options, folder: &Path, port: u16, memory: Option<u64>) -> Settings;
    /// The settings as the engine reads them.
    fn file(&self, settings: &Settings) -> String;
    /// Makes the data folder; gives the file of first statements, where the engine takes one. `began` gets the number of a
    /// process that has to end with us.
    fn make(&self, making: &Making<'_>, began: &mut dyn FnMut(u32)) -> Result<Option<PathBuf>, RigError>;
    /// The arguments of the server program.
    fn arguments(&self, command: &mut Command, home: &Path, init_file: Option<&Path>);
    /// Whether process `pid` takes connections.
    fn is_ready(&self, folder: &Path, pid: u32, port: u16) -> bool;
    /// Removes what keeps a start from being tried: files that a process lays out for as long as it lives, and that may be torn
    /// after a power cut.
    fn forget_process(&self, _folder: &Path, _port: u16) -> std::io::Result<()> {
        Ok(())
    }
    /// What clients name to get in without the network.
    fn socket(&self, folder: &Path, port: u16) -> PathBuf;
    /// The socket itself, whose path may not be long.
    fn socket_file(&self, folder: &Path, port: u16) -> PathBuf {
        self.socket(folder, port)
    }
    /// The command-line client.
    fn client(&self, installation: &Installation, home: &Path, port: u16, database: &str) -> Command;
    /// The content of the file that gives the client the password.
    fn client_file(&self, password: &Secret) -> String;
}

impl Engine {
    pub(crate) fn technology(self) -> &'static dyn Technology {
        match self {
            Engine::Postgres => &postgres::Postgres,
            Engine::MariaDb => &mariadb::MariaDb,
        }
    }

    pub(crate) fn about(self) -> &'static About {
        self.technology().about()
    }
}
