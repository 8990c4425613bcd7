//! How MariaDB is made, configured, started and asked whether it is ready.

use crate::command::{run, without_settings_of_others};
use crate::settings::{Settings, cache_mib};
use crate::state::{self, USER};
use crate::technology::{About, Making, Programs, Sql, Starting, Technology};
use crate::{Engine, Installation, Options, RigError, find};
use model::Tier;
use rustix::process::Signal;
use sql::Secret;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub(crate) struct MariaDb;

static ABOUT: About = About {
    name: "mariadb",
    title: "MariaDB",
    alias: "mysql",
    account: Some("mysql"),
    prefix: "my-",
    small: &[("innodb_log_file_size", "67108864")],
    dashes: true,
    halt: Signal::TERM,
    end: (Signal::KILL, "KILL"),
    old_processes: None,
    programs: Programs {
        server: &["mariadbd", "mysqld"],
        initialiser: &["mariadb-install-db", "mysql_install_db"],
        client: &["mariadb", "mysql"],
        folders: &[
            "/usr/sbin",
            "/usr/libexec",
            "/usr/bin",
            "/opt/homebrew/opt/mariadb/bin",
            "/usr/local/opt/mariadb/bin",
            "/opt/homebrew/opt/mariadb@*/bin",
            "/opt/homebrew/bin",
            "/usr/local/mysql/bin",
            "/usr/local/bin",
        ],
        variable: "STACKMARK_MARIADB_BIN",
        packages: "Debian and Ubuntu: apt-get install mariadb-server; Fedora: dnf install mariadb-server; \
                       macOS: brew install mariadb",
    },
    sql: Some(Sql {
        dialect: sql::Dialect::MySql,
        system_database: "mysql",
        databases: "show databases",
        quote: '`',
    }),
};

impl Technology for MariaDb {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn find(&self) -> Result<Installation, RigError> {
        find::of_programs(Engine::MariaDb)
    }

    fn settings(&self, options: &Options, folder: &Path, port: u16, memory: Option<u64>) -> Settings {
        let mut settings = Settings::default();
        settings.set("datadir", state::data(folder).display());
        settings.set("tmpdir", folder.join("tmp").display());
        settings.set("socket", socket(folder).display());
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

    /// With no one but root in it, whom the first start replaces before it listens.
    fn make(&self, making: &Making<'_>, began: &mut dyn FnMut(u32)) -> Result<Option<PathBuf>, RigError> {
        let Making { installation, options, home, account, .. } = making;
        let mut command = account.command(Command::new(&installation.initialiser), &home.path);
        // The files under /etc/mysql are for the system's own server.
        command.arg("--no-defaults").arg(format!("--datadir={}", state::data(&home.path).display()));
        command.arg(format!("--tmpdir={}", home.path.join("tmp").display()));
        command.args(["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]);
        let ended = run(command, "", options.start_max, began)?;
        if ended.is_success() {
            return write_init_file(making).map(Some);
        }
        Err(RigError::failed("mariadb-install-db could not make a data folder", ended.err + &ended.out))
    }

    fn arguments(&self, command: &mut Command, starting: &Starting<'_>) {
        let Starting { home, init_file, more, .. } = starting;
        command.arg(format!("--defaults-file={}", home.join("engine.conf").display()));
        command.args(init_file.map(|path| format!("--init-file={}", path.display())));
        command.args(*more);
    }

    fn socket(&self, folder: &Path, _: u16) -> Option<PathBuf> {
        Some(socket(folder))
    }

    /// It then greets whoever comes. It listens earlier, but does not answer.
    fn is_ready(&self, folder: &Path, _: u32, _: u16) -> bool {
        let Ok(mut stream) = UnixStream::connect(socket(folder)) else {
            return false;
        };
        let mut greeting = [0u8; 5];
        // Bytes 0 to 3 are the packet's length and number; 10 is the version of the protocol, where a refusal has 255.
        stream.set_read_timeout(Some(Duration::from_millis(100))).is_ok()
            && stream.read_exact(&mut greeting).is_ok()
            && greeting[4] == 10
    }

    fn file(&self, settings: &Settings) -> String {
        let quoted = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"");
        let line = |(key, value): &(String, String)| format!("{key} = \"{}\"\n", quoted(value));
        // Settings that Stackmark carries out itself are not MariaDB's.
        let of_engine = |(key, _): &&(String, String)| !key.starts_with("stackmark.");
        std::iter::once("[mariadbd]\n".to_owned())
            .chain(settings.0.iter().filter(of_engine).map(line))
            .collect()
    }

    fn client(&self, installation: &Installation, home: &Path, _: u16, database: &str) -> Option<Command> {
        let mut command = Command::new(&installation.client);
        command.arg(format!("--defaults-file={}", home.join("client.conf").display()));
        command.args(["--batch", "--skip-column-names", "--user", USER, "--database", database]);
        command.arg("--socket").arg(socket(home));
        without_settings_of_others(&mut command);
        Some(command)
    }

    fn client_file(&self, password: &Secret) -> String {
        format!("[client]\npassword=\"{}\"\n", password.reveal())
    }

    fn places(&self) -> &'static [&'static str] {
        &[
            "bind_address",
            "datadir",
            "init_file",
            "log_error",
            "pid_file",
            "port",
            "skip_grant_tables",
            "skip_networking",
            "plugin_load_add",
            "socket",
            "user",
            "wsrep_cluster_address",
            "wsrep_node_address",
            "wsrep_provider",
            "wsrep_provider_options",
            "wsrep_sst_receive_address",
        ]
    }
}

fn socket(folder: &Path) -> PathBuf {
    state::run(folder).join("s")
}

/// The statements of the first start: they make the one user, who may enter from this machine with a password, and remove
/// all others. MariaDB reads them before it takes connections.
fn write_init_file(making: &Making<'_>) -> Result<PathBuf, RigError> {
    let Making { home, account, password, .. } = making;
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
