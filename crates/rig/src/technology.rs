//! What one engine has or does otherwise than another: each has a module, and nothing outside it knows which one it is.

use crate::command::Account;
use crate::home::Home;
use crate::settings::Settings;
use crate::{Engine, Installation, Options, RigError, kafka, mariadb, postgres};
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
    /// The account that a distribution's package makes for it: root does not run such an engine as root. None where it runs as
    /// whoever starts it.
    pub(crate) account: Option<&'static str>,
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
    /// Of an engine that has databases.
    pub(crate) sql: Option<Sql>,
}

/// What an engine with databases says of them.
pub(crate) struct Sql {
    pub(crate) dialect: sql::Dialect,
    /// The database that is there from the start.
    pub(crate) system_database: &'static str,
    /// The statement that names all databases.
    pub(crate) databases: &'static str,
    /// What names stand between in statements.
    pub(crate) quote: char,
}

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

/// An engine that is started on its data.
pub(crate) struct Starting<'a> {
    pub(crate) installation: &'a Installation,
    pub(crate) options: &'a Options,
    pub(crate) home: &'a Path,
    pub(crate) settings: &'a Settings,
    /// First statements.
    pub(crate) init_file: Option<&'a Path>,
    /// Further arguments.
    pub(crate) more: &'a [String],
}

pub(crate) trait Technology: Sync {
    fn about(&self) -> &'static About;
    /// Its programs on this machine.
    fn find(&self) -> Result<Installation, RigError>;
    /// Everything that is set, in the order of the file; the reasons are in `docs/rig.md`.
    fn settings(&self, options: &Options, folder: &Path, port: u16, memory: Option<u64>) -> Settings;
    /// The settings as the engine reads them.
    fn file(&self, settings: &Settings) -> String;
    /// Makes the data folder; gives the file of first statements, where the engine takes one. `began` gets the number of a
    /// process that has to end with us.
    fn make(&self, making: &Making<'_>, began: &mut dyn FnMut(u32)) -> Result<Option<PathBuf>, RigError>;
    /// The arguments of the server program.
    fn arguments(&self, command: &mut Command, starting: &Starting<'_>);
    /// Whether process `pid` takes connections.
    fn is_ready(&self, folder: &Path, pid: u32, port: u16) -> bool;
    /// Removes what keeps a start from being tried: files that a process lays out for as long as it lives, and that may be torn
    /// after a power cut.
    fn forget_process(&self, _folder: &Path, _port: u16) -> std::io::Result<()> {
        Ok(())
    }
    /// What clients name to get in without the network, where that is possible.
    fn socket(&self, _folder: &Path, _port: u16) -> Option<PathBuf> {
        None
    }
    /// The socket itself, whose path may not be long.
    fn socket_file(&self, folder: &Path, port: u16) -> Option<PathBuf> {
        self.socket(folder, port)
    }
    /// The command-line client for SQL, of an engine with databases.
    fn client(
        &self,
        _installation: &Installation,
        _home: &Path,
        _port: u16,
        _database: &str,
    ) -> Option<Command> {
        None
    }
    /// The content of the file that gives the password to the client, or to the engine.
    fn client_file(&self, password: &Secret) -> String;
    /// Settings that say where it is or who may enter, which is not for options.
    fn places(&self) -> &'static [&'static str];
}

impl Engine {
    pub(crate) fn technology(self) -> &'static dyn Technology {
        match self {
            Engine::Postgres => &postgres::Postgres,
            Engine::MariaDb => &mariadb::MariaDb,
            Engine::Kafka => &kafka::Kafka,
        }
    }

    pub(crate) fn about(self) -> &'static About {
        self.technology().about()
    }

    /// What it says of its databases.
    ///
    /// # Panics
    /// It has none.
    pub(crate) fn sql(self) -> &'static Sql {
        self.about().sql.as_ref().unwrap_or_else(|| panic!("{} has no databases", self.title()))
    }
}
