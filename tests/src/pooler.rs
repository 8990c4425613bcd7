//! pgbouncer in front of a PostgreSQL, as people have it.

use rig::Running;
use sql::ServerUrl;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const STARTED_MAX: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(50);

/// Connections of each pool to the server.
pub const POOL: usize = 8;

/// A pgbouncer that ends with this value.
#[derive(Debug)]
pub struct Pooler {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Pooler {
    /// Starts one with a pool mode, `session` or `transaction`; `settings` are more lines of its file. Nothing where it is not
    /// installed, which the last line of the tests names.
    ///
    /// # Panics
    /// It is installed and does not start.
    pub fn start(server: &Running, mode: &str, settings: &str) -> Option<Pooler> {
        let is_here =
            |path: &&str| Command::new(path).arg("--version").output().is_ok_and(|ran| ran.status.success());
        let Some(program) = ["pgbouncer", "/usr/sbin/pgbouncer"].into_iter().find(is_here) else {
            rig::for_tests::not_run("there is no pgbouncer to be tested against");
            return None;
        };
        let url = server.tcp_url("postgres");
        let folder = TempDir::new().expect("a temporary folder can be made");
        let port = free_port();
        let password = url.password.as_ref().map(|password| password.reveal().to_owned()).unwrap_or_default();
        let users = format!("\"{}\" \"{password}\"\n", url.user);
        let file = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             auth_type = plain\nauth_file = {}\nunix_socket_dir =\npool_mode = {mode}\ndefault_pool_size = {POOL}\n{settings}\n",
            url.port,
            folder.path().join("users.txt").display(),
        );
        for (name, text) in [("users.txt", users), ("pgbouncer.ini", file)] {
            std::fs::write(folder.path().join(name), text).expect("it is our folder");
        }
        let mut command = Command::new(program);
        command
            .arg("-q")
            .arg(folder.path().join("pgbouncer.ini"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if rustix::process::geteuid().is_root() {
            // It refuses to run as root; its files are read before it changes the user.
            command.args(["-u", "nobody"]);
        }
        let child = command.spawn().expect("it was there a moment ago");
        let pooler = Pooler { child, port, _folder: folder };
        assert!(is_listening(port, STARTED_MAX), "pgbouncer does not listen on port {port}");
        Some(pooler)
    }

    /// The address of a database of the server through it.
    pub fn url(&self, server: &Running, database: &str) -> ServerUrl {
        ServerUrl { port: self.port, ..server.tcp_url(database) }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The port of a proxy in front of a MariaDB that tells each client a connection number of its own, as proxies do whose connections are
/// not those of the server.
pub fn renumbered(port: u16) -> io::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let at = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { return };
            // A connection that breaks ends; the next one is none the worse.
            std::thread::spawn(move || pass_on(client, server));
        }
    });
    Ok(at)
}

/// The first packet: three bytes of length, one of sequence, the version of the protocol, the version of the server with a zero byte
/// behind it, and the number.
fn pass_on(mut client: TcpStream, mut server: TcpStream) -> io::Result<()> {
    let mut header = [0; 4];
    server.read_exact(&mut header)?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
    let mut greeting = vec![0; length];
    server.read_exact(&mut greeting)?;
    let version = greeting.iter().position(|byte| *byte == 0).ok_or(io::ErrorKind::InvalidData)?;
    greeting[version + 1] ^= 1;
    client.write_all(&header)?;
    client.write_all(&greeting)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        let copied = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(std::net::Shutdown::Both);
        copied
    });
    io::copy(&mut server, &mut client)?;
    client.shutdown(std::net::Shutdown::Both)
}

/// Whether a program listens on a port of loopback before so much time has passed.
pub(crate) fn is_listening(port: u16, within: Duration) -> bool {
    let looks = within.as_millis() / LOOK.as_millis();
    (0..looks).any(|_| {
        let connected = TcpStream::connect(("127.0.0.1", port)).is_ok();
        if !connected {
            std::thread::sleep(LOOK);
        }
        connected
    })
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    listener.expect("there is a free port").port()
}
