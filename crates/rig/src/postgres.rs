//! How PostgreSQL is made, configured, started and asked whether it is ready.

use crate::command::{Account, run};
use crate::home::Home;
use crate::settings::{Settings, cache_mib};
use crate::state::{self, USER};
use crate::{Installation, Options, RigError};
use model::Tier;
use sql::Secret;
use std::path::Path;
use std::process::Command;

/// Everything that is set, in the order of the file; the reasons are in `docs/rig.md`.
pub(crate) fn settings(options: &Options, folder: &Path, port: u16, memory: Option<u64>) -> Settings {
    let mut settings = Settings::default();
    settings.set("listen_addresses", "127.0.0.1");
    settings.set("port", port);
    settings.set("unix_socket_directories", state::run(folder).display());
    settings.set("unix_socket_permissions", "0700");
    settings.set("max_connections", options.connections);
    settings.set("shared_buffers", format!("{}MB", cache_mib(memory)));
    settings.set("max_wal_size", "8GB");
    settings.set("checkpoint_timeout", "15min");
    settings.set("fsync", "on");
    settings.set("full_page_writes", "on");
    settings.set("synchronous_commit", if options.durability == Tier::Delayed { "off" } else { "on" });
    settings.set("password_encryption", "scram-sha-256");
    settings.set("timezone", "UTC");
    settings.set("log_timezone", "UTC");
    settings.set("lc_messages", "C");
    if options.statement_statistics {
        settings.set("shared_preload_libraries", "pg_stat_statements");
    }
    settings
}

/// Makes the data folder. The password is in no argument, and the file with it is gone afterwards.
pub(crate) fn initialise(
    installation: &Installation,
    options: &Options,
    home: &Home,
    account: Account,
    password: &Secret,
    began: impl FnOnce(u32),
) -> Result<(), RigError> {
    let secret = home.write_private("pwfile", password.reveal())?;
    account.own(&secret)?;
    let mut command = account.command(Command::new(&installation.initialiser), &home.path);
    command.arg("--pgdata").arg(state::data(&home.path)).arg("--pwfile").arg(&secret);
    command.args(["--username", USER, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8"]);
    let ended = run(command, "", options.start_max, began);
    let removed = std::fs::remove_file(&secret).map_err(|error| RigError::folder(&secret, error));
    let ended = ended?;
    removed?;
    if ended.is_success() {
        return Ok(());
    }
    Err(RigError::failed("initdb could not make a PostgreSQL cluster", ended.err + &ended.out))
}

/// `server` is the server program, which may stand behind a gate.
pub(crate) fn command(server: Command, home: &Home, account: Account) -> Command {
    let mut command = account.command(server, &home.path);
    command.arg("-D").arg(state::data(&home.path));
    command.arg(format!("--config-file={}", home.path.join("engine.conf").display()));
    command
}

/// Whether the postmaster `pid` takes connections: it says so in the last line of its lock file, as it does to `pg_ctl`.
pub(crate) fn is_ready(folder: &Path, pid: u32) -> bool {
    let Ok(text) = std::fs::read_to_string(state::data(folder).join("postmaster.pid")) else { return false };
    let mut lines = text.lines();
    lines.next() == Some(pid.to_string().as_str())
        && lines.nth(6).is_some_and(|state| state.trim() == "ready")
}

/// Whether a start failed because backends of a killed postmaster have not ended yet.
pub(crate) fn waits_for_old_backends(log: &str) -> bool {
    log.contains("pre-existing shared memory block")
}

/// The command-line client, and the file that gives it the password.
pub(crate) fn client(installation: &Installation, home: &Path, port: u16, database: &str) -> Command {
    let mut command = Command::new(&installation.client);
    command.args(["--no-psqlrc", "--no-password", "--quiet", "--tuples-only", "--no-align"]);
    command.args(["--set", "ON_ERROR_STOP=1", "--username", USER, "--dbname", database]);
    command.arg("--host").arg(state::run(home)).arg("--port").arg(port.to_string());
    command.env("PGPASSFILE", home.join("client.conf"));
    command
}

/// The content of the client's password file.
pub(crate) fn client_file(password: &Secret) -> String {
    format!("*:*:*:{USER}:{}\n", password.reveal())
}
