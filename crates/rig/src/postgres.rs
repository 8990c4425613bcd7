//! How PostgreSQL is made, configured, started and asked whether it is ready.

use crate::command::{run, without_settings_of_others};
use crate::settings::{Settings, cache_mib};
use crate::state::{self, USER};
use crate::technology::{About, Making, Programs, Sql, Starting, Technology};
use crate::{Engine, Installation, Options, RigError, find};
use model::Tier;
use rustix::process::Signal;
use sql::Secret;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct Postgres;

static ABOUT: About = About {
    name: "postgres",
    title: "PostgreSQL",
    alias: "postgresql",
    account: Some("postgres"),
    prefix: "pg-",
    small: &[],
    dashes: false,
    halt: Signal::INT,
    // Also returns its shared memory, which a kill would leave behind.
    end: (Signal::QUIT, "QUIT"),
    // Backends notice the end of their postmaster by themselves, at the end of their statement.
    old_processes: Some("pre-existing shared memory block"),
    programs: Programs {
        server: &["postgres"],
        initialiser: &["initdb"],
        client: &["psql"],
        folders: &[
            "/usr/lib/postgresql/*/bin",
            "/usr/pgsql-*/bin",
            "/usr/bin",
            "/opt/homebrew/opt/postgresql@*/bin",
            "/usr/local/opt/postgresql@*/bin",
            "/opt/homebrew/bin",
            "/usr/local/pgsql/bin",
            "/usr/local/bin",
        ],
        variable: "STACKMARK_POSTGRES_BIN",
        packages: "Debian and Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; \
                       macOS: brew install postgresql@17",
    },
    sql: Some(Sql {
        dialect: sql::Dialect::Postgres,
        system_database: "postgres",
        databases: "select datname from pg_database",
        quote: '"',
    }),
};

impl Technology for Postgres {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn find(&self) -> Result<Installation, RigError> {
        find::of_programs(Engine::Postgres)
    }

    fn settings(&self, options: &Options, folder: &Path, port: u16, memory: Option<u64>) -> Settings {
        let mut settings = Settings::default();
        settings.set("listen_addresses", "127.0.0.1");
        settings.set("port", port);
        settings.set("unix_socket_directories", state::run(folder).display());
        settings.set("unix_socket_permissions", "0700");
        settings.set("max_connections", options.connections);
        // As many as there can be sessions, whoever prepares one: alike for all that are compared.
        settings.set("max_prepared_transactions", options.connections);
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

    /// The password is in no argument, and the file with it is gone afterwards.
    fn make(&self, making: &Making<'_>, began: &mut dyn FnMut(u32)) -> Result<Option<PathBuf>, RigError> {
        let Making { installation, options, home, account, password } = making;
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
            return Ok(None);
        }
        Err(RigError::failed("initdb could not make a PostgreSQL cluster", ended.err + &ended.out))
    }

    fn arguments(&self, command: &mut Command, starting: &Starting<'_>) {
        let home = starting.home;
        command.arg("-D").arg(state::data(home));
        command.arg(format!("--config-file={}", home.join("engine.conf").display()));
    }

    fn socket(&self, folder: &Path, _: u16) -> Option<PathBuf> {
        Some(state::run(folder))
    }

    fn socket_file(&self, folder: &Path, port: u16) -> Option<PathBuf> {
        Some(socket_file(folder, port))
    }

    /// The postmaster says so in the last line of its lock file, as it does to `pg_ctl`.
    fn is_ready(&self, folder: &Path, pid: u32, _: u16) -> bool {
        let Ok(text) = std::fs::read_to_string(state::data(folder).join("postmaster.pid")) else {
            return false;
        };
        let mut lines = text.lines();
        lines.next() == Some(pid.to_string().as_str())
            && lines.nth(6).is_some_and(|state| state.trim() == "ready")
    }

    fn forget_process(&self, folder: &Path, port: u16) -> std::io::Result<()> {
        let mut lock = socket_file(folder, port).into_os_string();
        lock.push(".lock");
        for path in [state::data(folder).join("postmaster.pid"), lock.into()] {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn file(&self, settings: &Settings) -> String {
        let quoted = |value: &str| value.replace('\\', "\\\\").replace('\'', "''");
        settings.0.iter().map(|(key, value)| format!("{key} = '{}'\n", quoted(value))).collect()
    }

    fn client(&self, installation: &Installation, home: &Path, port: u16, database: &str) -> Option<Command> {
        let mut command = Command::new(&installation.client);
        command.args(["--no-psqlrc", "--no-password", "--quiet", "--tuples-only", "--no-align"]);
        command.args(["--set", "ON_ERROR_STOP=1", "--username", USER, "--dbname", database]);
        command.arg("--host").arg(state::run(home)).arg("--port").arg(port.to_string());
        command.env("PGPASSFILE", home.join("client.conf"));
        without_settings_of_others(&mut command);
        Some(command)
    }

    fn client_file(&self, password: &Secret) -> String {
        format!("*:*:*:{USER}:{}\n", password.reveal())
    }

    fn places(&self) -> &'static [&'static str] {
        &[
            "config_file",
            "data_directory",
            "external_pid_file",
            "hba_file",
            "ident_file",
            "include",
            "include_dir",
            "include_if_exists",
            "listen_addresses",
            "logging_collector",
            "port",
            "unix_socket_directories",
            "unix_socket_group",
            "unix_socket_permissions",
        ]
    }
}

fn socket_file(folder: &Path, port: u16) -> PathBuf {
    state::run(folder).join(format!(".s.PGSQL.{port}"))
}
