//! How MariaDB is made, configured, started and asked whether it is ready.

use crate::command::{Account, run};
use crate::home::Home;
use crate::settings::{Settings, cache_mib};
use crate::state::{self, USER};
use crate::{Engine, Installation, Options, RigError};
use model::Tier;
use sql::Secret;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Everything that is set, in the order of the file; the reasons are in `docs/rig.md`.
pub(crate) fn settings(options: &Options, folder: &Path, port: u16, memory: Option<u64>) -> Settings {
    let mut settings = Settings::default();
    settings.set("datadir", state::data(folder).display());
    settings.set("tmpdir", folder.join("tmp").display());
    settings.set("socket", state::socket(Engine::MariaDb, folder, port).display());
    settings.set("pid_file", state::run(folder).join("pid").display());
    settings.set("bind_address", "127.0.0.1");
    settings.set("port", port);
    settings.set("skip_name_resolve", "ON");
    settings.set("max_connections", options.connections);
    settings.set("character_set_server", "utf8mb4");
    settings.set("collation_server", "utf8mb4_general_ci");
    settings.set("default_time_zone", "+00:00");
    settings.set("local_infile", "ON");
    settings.set("skip_log_bin", "ON");
    let cache = cache_mib(memory) << 20;
    settings.set("innodb_buffer_pool_size", cache);
    settings.set("innodb_log_file_size", 1 << 30);
    let flush = if options.durability == Tier::Delayed { 2 } else { 1 };
    settings.set("innodb_flush_log_at_trx_commit", flush);
    settings.set("innodb_doublewrite", "ON");
    settings
}

/// Makes the data folder, with nobody but root in it, whom the first start replaces before it listens.
pub(crate) fn initialise(
    installation: &Installation,
    options: &Options,
    home: &Home,
    account: Account,
    began: impl FnOnce(u32),
) -> Result<(), RigError> {
    let mut command = account.command(Command::new(&installation.initialiser), &home.path);
    // The files under /etc/mysql are for the system's own server.
    command.arg("--no-defaults").arg(format!("--datadir={}", state::data(&home.path).display()));
    command.arg(format!("--tmpdir={}", home.path.join("tmp").display()));
    command.args(["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]);
    let ended = run(command, "", options.start_max, began)?;
    if ended.is_success() {
        return Ok(());
    }
    Err(RigError::failed("mariadb-install-db could not make a data folder", ended.err + &ended.out))
}

/// The statements of the first start: they make the one user, who may enter from this machine with a password, and remove
/// all others. MariaDB reads them before it takes connections.
pub(crate) fn write_init_file(home: &Home, account: Account, password: &Secret) -> Result<PathBuf, RigError> {
    let mut text =
        String::from("delete from mysql.global_priv where user <> 'mariadb.sys';\nflush privileges;\n");
    for host in ["localhost", "127.0.0.1"] {
        text.push_str(&format!(
            "create user '{USER}'@'{host}' identified by '{}';\n\
             grant all privileges on *.* to '{USER}'@'{host}' with grant option;\n",
            password.reveal()
        ));
    }
    let path = home.write_private("init.sql", &text)?;
    account.own(&path)?;
    Ok(path)
}

/// `server` is the server program, which may stand behind a gate.
pub(crate) fn command(server: Command, home: &Home, account: Account, init_file: Option<&Path>) -> Command {
    let mut command = account.command(server, &home.path);
    command.arg(format!("--defaults-file={}", home.path.join("engine.conf").display()));
    command.args(init_file.map(|path| format!("--init-file={}", path.display())));
    command
}

/// Whether MariaDB takes connections: it then greets whoever comes. It listens earlier, but does not answer.
pub(crate) fn is_ready(folder: &Path, port: u16) -> bool {
    let Ok(mut stream) = UnixStream::connect(state::socket(Engine::MariaDb, folder, port)) else {
        return false;
    };
    let mut greeting = [0u8; 5];
    // Bytes 0 to 3 are the packet's length and number; 10 is the version of the protocol, where a refusal has 255.
    stream.set_read_timeout(Some(Duration::from_millis(100))).is_ok()
        && stream.read_exact(&mut greeting).is_ok()
        && greeting[4] == 10
}

/// The command-line client, and the file that gives it the password.
pub(crate) fn client(installation: &Installation, home: &Path, port: u16, database: &str) -> Command {
    let mut command = Command::new(&installation.client);
    command.arg(format!("--defaults-file={}", home.join("client.conf").display()));
    command.args(["--batch", "--skip-column-names", "--user", USER, "--database", database]);
    command.arg("--socket").arg(state::socket(Engine::MariaDb, home, port));
    command
}

/// The content of the client's option file.
pub(crate) fn client_file(password: &Secret) -> String {
    format!("[client]\npassword=\"{}\"\n", password.reveal())
}
