//! A MySQL server for tests. Distributions do not have it, so scripts/setup-tests.sh fetches it with Maven.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Where setup-tests.sh has put it; set by scripts/test.sh.
const HOME: &str = "STACKMARK_MYSQL_HOME";
const STARTED_MAX: Duration = Duration::from_secs(60);

/// A server on loopback whose user `root` has no password; it ends with this value.
#[derive(Debug)]
pub struct MySql {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl MySql {
    /// Makes one and starts it. Nothing where there is none, which the last line of the tests names.
    ///
    /// # Panics
    /// It is there and does not start.
    pub fn start() -> Option<MySql> {
        let Some(program) = std::env::var_os(HOME).map(|home| PathBuf::from(home).join("bin/mysqld")) else {
            rig::for_tests::not_run("there is no MySQL 8 to be tested against");
            return None;
        };
        let folder = TempDir::new().expect("a temporary folder can be made");
        let log = folder.path().join("log");
        let made = mysqld(&program, folder.path(), &log).arg("--initialize-insecure").status();
        assert!(made.is_ok_and(|status| status.success()), "mysqld makes no data: {}", told(&log));
        let port = crate::pooler::free_port();
        let mut command = mysqld(&program, folder.path(), &log);
        command.args(["--bind-address=127.0.0.1", "--mysqlx=OFF", "--local-infile=ON"]);
        command.arg(format!("--port={port}")).arg(format!("--socket={}", folder.path().join("s").display()));
        let child = command.spawn().expect("it was there a moment ago");
        let server = MySql { child, port, _folder: folder };
        let is_up = crate::pooler::is_listening(port, STARTED_MAX);
        assert!(is_up, "mysqld does not listen on port {port}: {}", told(&log));
        Some(server)
    }

    /// The address of a database.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("mysql://root@127.0.0.1:{}/{database}", self.port)
    }
}

impl Drop for MySql {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn mysqld(program: &Path, folder: &Path, log: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("--no-defaults").arg(format!("--datadir={}", folder.join("data").display()));
    // It brings its own libraries next to itself, and refuses to run as root unless told so.
    command.args([
        "--user=root",
        "--innodb-buffer-pool-size=64M",
        "--skip-log-bin",
        "--secure-file-priv=NULL",
    ]);
    let out =
        || File::options().create(true).append(true).open(log).map_or_else(|_| Stdio::null(), Stdio::from);
    command.stdin(Stdio::null()).stdout(out()).stderr(out());
    command
}

fn told(log: &Path) -> String {
    fs::read_to_string(log).unwrap_or_default()
}
