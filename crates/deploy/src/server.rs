//! A server as a process of its own: built, started, found ready, limited, stopped. It ends with us, whatever ends us.

use crate::group::{LOOK, ProcessGroup};
use crate::{DeployError, Manifest, RelayOptions};
use measure::Monotonic;
use model::{Clock, HttpOptions, Transport};
use rustix::process::Signal;
use sql::{Address, DbUrl, ServerUrl};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, TryRecvError};
use std::time::Duration;

/// The variable that hands the password of a database to a process; of the second of several that of [`variable`].
pub const PASSWORD: &str = "STACKMARK_DB_PASSWORD";
/// The variable that hands over the address of a database.
pub const DATABASE: &str = "STACKMARK_DB";
/// The variable that names where a server listens besides TCP.
const TRANSPORT: &str = "STACKMARK_TRANSPORT";
/// Building takes no longer: what does is stuck.
const BUILD_MAX: Duration = Duration::from_secs(1_800);
/// A free port of the loopback.
const LISTEN: &str = "127.0.0.1:0";
/// What the first line on standard output begins with.
const LISTENING: &str = "listening on ";
/// Bytes of that line.
const LINE_MAX: usize = 1_000;
/// Characters of another line that an error shows.
const SHOWN_MAX: usize = 80;
/// How long one `GET /health` may take.
const HEALTH_MAX: Duration = Duration::from_secs(5);
/// How often who waits for its response looks whether that is still wanted.
const HEALTH_LOOK: Duration = Duration::from_millis(50);
/// How long a server that has closed its standard output may take to end: then it was that.
const CLOSING: Duration = Duration::from_millis(500);
/// Bytes of what it reports.
const ABOUT_MAX: usize = 64 << 10;
/// Bytes of another response: a relay has a line for each second.
const RESPONSE_MAX: usize = 64 << 20;
/// Bytes of its log that go into an error.
const LOG_TAIL: usize = 2_000;

/// What a server is started with.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// What it may use, with all that it starts.
    pub limits: Option<rig::Limits>,
    /// The relay next to it, or next to a subject that needs no server.
    pub relaying: RelayOptions,
    /// Connections to the engine, at least 1.
    pub pool: u32,
    /// Threads besides those of its connections, at least 1.
    pub threads: usize,
    /// How calls reach it.
    pub http: HttpOptions,
}

/// What a server is to serve.
#[derive(Debug, Clone, Copy)]
pub struct ServerOrder<'a> {
    /// The workload's name.
    pub workload: &'a str,
    /// Which of several combinations, as its manifest calls it.
    pub how: &'a str,
    /// The loaded databases, in the order of the workload's stores; at least one.
    pub databases: &'a [DbUrl],
    /// More variables of its environment.
    pub more: &'a [(String, String)],
}

impl ServerSettings {
    /// For a process that has one connection.
    pub fn of_one(limits: Option<rig::Limits>) -> ServerSettings {
        let (relaying, http) = (RelayOptions::default(), HttpOptions::default());
        ServerSettings { limits, relaying, pool: 1, threads: 1, http }
    }
}

#[derive(Debug)]
pub struct Server {
    name: &'static str,
    stop_max: Duration,
    group: ProcessGroup,
    /// The server watches the other end: when we are gone, it goes too.
    life: ChildStdin,
    log: PathBuf,
    url: String,
    /// Its limits, if it has any.
    cgroup: Option<rig::Cgroup>,
}

impl Server {
    /// Builds the server where that has not been done, starts it on a free port of the loopback, and waits until it is ready.
    /// `log` takes what it writes to standard error; `interrupt` says when no one wants it any more.
    ///
    /// # Errors
    /// It could not be built, started or limited, ended, said something else than where it listens, was not ready in time, or
    /// was interrupted. It is gone then.
    pub fn start(
        manifest: &'static Manifest,
        order: &ServerOrder<'_>,
        settings: &ServerSettings,
        log: &Path,
        interrupt: &AtomicBool,
    ) -> Result<Server, DeployError> {
        build(manifest, log, interrupt)?;
        let name = manifest.name.as_str();
        let failed = |what: &str| {
            let what = format!("could not {what} the server `{name}`");
            move |error: std::io::Error| DeployError::Server(format!("{what}: {error}"))
        };
        let mut command = manifest.start()?;
        command.envs(environment(order, settings));
        let errors = File::create(log).map_err(failed("write the log of"))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().map_err(failed("start"))?;
        let life = child.stdin.take().expect("asked for above");
        let output = child.stdout.take().expect("asked for above");
        let (log, url, stop_max) = (log.to_owned(), String::new(), manifest.stop_max);
        let mut server =
            Server { name, stop_max, group: ProcessGroup::of(child), life, log, url, cgroup: None };
        if let Some(limits) = &settings.limits {
            let cgroup = rig::Cgroup::new(&format!("server-{}", server.pid()), limits)?;
            cgroup.joins(server.pid())?;
            server.cgroup = Some(cgroup);
        }
        let folders = server.cgroup.as_ref().map(rig::Cgroup::folders).unwrap_or_default();
        server.group.watch(stop_max, folders).map_err(failed("watch over"))?;
        // Nothing of the server has run until now. Where that fails it has ended, which is told below.
        let _ = server.life.write_all(b"\n");
        server.url = server.until_ready(output, manifest.ready_max, interrupt)?;
        Ok(server)
    }

    fn until_ready(
        &mut self,
        output: impl Read + Send + 'static,
        max: Duration,
        interrupt: &AtomicBool,
    ) -> Result<String, DeployError> {
        let (name, clock) = (self.name, Monotonic::start());
        let listed = first_line(output);
        let mut waits_for = "print its listen address".to_owned();
        let mut url = None;
        loop {
            let left = max.saturating_sub(clock.now().into());
            if left.is_zero() {
                break;
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(self.failed(&format!("interrupted before the server `{name}` was ready")));
            }
            // What it said before it ended is read all the same, in the next turn.
            let mut ended = self.group.status();
            let mut is_mute = false;
            if url.is_none() {
                match listed.try_recv() {
                    Ok(line) => {
                        url = Some(address(&line).ok_or_else(|| self.failed(&garbage(name, &line)))?);
                    }
                    Err(TryRecvError::Disconnected) => {
                        ended = self.group.within(CLOSING.min(left), || false);
                        is_mute = true;
                    }
                    Err(TryRecvError::Empty) => {}
                }
            }
            if let Some(status) = ended {
                return Err(self.failed(&format!("the server `{name}` ended before it was ready ({status})")));
            }
            if is_mute {
                let what = "closed its standard output without saying where it listens";
                return Err(self.failed(&format!("the server `{name}` {what}")));
            }
            if let Some(url) = &url {
                match health(url, left.min(HEALTH_MAX), interrupt) {
                    Ok(()) => return Ok(url.clone()),
                    Err(why) => waits_for = format!("answer /health at {url} with 200 ({why})"),
                }
            }
            std::thread::sleep(LOOK);
        }
        Err(self.failed(&format!("the server `{name}` did not {waits_for} within {} s", max.as_secs())))
    }

    fn failed(&self, what: &str) -> DeployError {
        DeployError::Server(format!("{what}{}", self.log_tail()))
    }

    /// Where it listens: `http://127.0.0.1:41234`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The first of its processes.
    pub fn pid(&self) -> u32 {
        self.group.pid()
    }

    /// What it answers to `GET /about`.
    pub fn about(&self) -> std::io::Result<String> {
        self.response("/about", ABOUT_MAX)
    }

    /// What a relay has measured in each second.
    pub fn seconds(&self) -> std::io::Result<String> {
        self.response("/seconds", RESPONSE_MAX)
    }

    /// The body of a response of at most so many bytes.
    fn response(&self, path: &str, most: usize) -> std::io::Result<String> {
        let answer = get(&self.url, path, HEALTH_MAX, most, &AtomicBool::new(false))?;
        if answer.len() >= most {
            return Err(std::io::Error::other(format!("the response to {path} is longer than {most} bytes")));
        }
        let answer = String::from_utf8_lossy(&answer);
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
        body.ok_or_else(|| std::io::Error::other("it was not answered in HTTP"))
    }

    /// How often it has met its limits.
    pub fn throttling(&self) -> Option<rig::Throttling> {
        self.cgroup.as_ref().map(rig::Cgroup::throttling)
    }

    /// The end of its log, for an error message.
    pub fn log_tail(&self) -> String {
        tail(&self.log)
    }

    /// How it ended, if it did by itself.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.group.status()?;
        Some(format!("the server ended by itself ({status}){}", self.log_tail()))
    }

    /// Kills it with all that it has started, as a crash would.
    pub fn kill(&mut self) {
        self.group.kill();
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        self.group.signal(signal);
    }

    /// Whether SIGKILL has ended it.
    pub fn was_killed(&mut self) -> bool {
        self.group.was_killed()
    }

    /// Stops all of it where it stands, or lets it go on.
    pub fn pause(&self, is_paused: bool) {
        self.group.pause(is_paused);
    }

    /// Asks it to end, and makes it if it does not.
    ///
    /// # Errors
    /// When it ended in another way than asked; it has ended in any case.
    pub fn stop(mut self) -> Result<(), DeployError> {
        if let Some(how) = self.ended() {
            return Err(DeployError::Server(how));
        }
        self.group.terminate();
        match self.group.within(self.stop_max, || false) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(self.failed(&format!("the server ended with {status}"))),
            None => Err(DeployError::Server(format!(
                "the server did not end within {} s and was killed",
                self.stop_max.as_secs()
            ))),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.group.kill();
        remove_empty(&self.log);
    }
}

/// A process that had nothing to say leaves no log.
pub(crate) fn remove_empty(log: &Path) {
    if std::fs::metadata(log).is_ok_and(|about| about.len() == 0) {
        let _ = std::fs::remove_file(log);
    }
}

/// Becomes `program`, in a session of its own and once a line has come on standard input: from then on it is under its limits.
/// Ctrl-C is for who started it, who stops it when calls have ended; and Linux shares processors out among sessions, where a
/// server would otherwise compete with its load generator (docs/decisions/0009). Comes back only where that fails.
pub fn launch(program: &OsStr, arguments: &[impl AsRef<OsStr>]) -> std::io::Error {
    // Refused only to who leads a group already, which is as good.
    let _ = rustix::process::setsid();
    match std::io::stdin().read(&mut [0]) {
        Ok(1) => Command::new(program).args(arguments).exec(),
        Ok(_) => std::io::Error::other("whoever wanted it has gone"),
        Err(error) => error,
    }
}

/// Variables for [`ServerOrder::more`].
pub fn owned_variables(variables: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
}

/// What the contract hands over in the environment. A password is nowhere else.
pub(crate) fn environment(order: &ServerOrder<'_>, settings: &ServerSettings) -> Vec<(String, String)> {
    // It runs in another folder than we do.
    let absolute = |path: &mut PathBuf| *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
    let mut variables = vec![
        ("STACKMARK_WORKLOAD".to_owned(), order.workload.to_owned()),
        ("STACKMARK_POOL".to_owned(), settings.pool.to_string()),
        ("STACKMARK_THREADS".to_owned(), settings.threads.to_string()),
        ("STACKMARK_LISTEN".to_owned(), LISTEN.to_owned()),
    ];
    if settings.http.transport != Transport::Tcp {
        variables.push((TRANSPORT.to_owned(), settings.http.transport.to_string()));
    }
    if !order.how.is_empty() {
        variables.push(("STACKMARK_ADAPTER".to_owned(), order.how.to_owned()));
    }
    for (store, url) in order.databases.iter().enumerate() {
        let mut url = url.clone();
        match &mut url {
            DbUrl::Sqlite(url) => absolute(&mut url.path),
            DbUrl::Server(url) => {
                // A server that knows no clusters is told of the one node that gets calls.
                if let [one] = &url.writers()[..] {
                    *url = one.clone();
                }
                let sockets = url.others.iter_mut().filter_map(|other| match other {
                    Address::Socket(socket) => Some(socket),
                    Address::Host(..) => None,
                });
                url.socket.iter_mut().chain(&mut url.authority).chain(sockets).for_each(absolute);
            }
        }
        variables.push((variable(DATABASE, store), url.to_string()));
        if let DbUrl::Server(ServerUrl { password: Some(password), .. }) = &url {
            variables.push((variable(PASSWORD, store), password.reveal().to_owned()));
        }
    }
    variables.extend(order.more.iter().cloned());
    variables
}

/// The name of a variable for one of several stores: `STACKMARK_DB` for the first, then `STACKMARK_DB_1`; and
/// `STACKMARK_DB_PASSWORD`, then `STACKMARK_DB_1_PASSWORD`.
pub fn variable(of_first: &str, store: usize) -> String {
    match of_first.strip_prefix(DATABASE) {
        Some(rest) if store > 0 => format!("{DATABASE}_{store}{rest}"),
        _ => of_first.to_owned(),
    }
}

/// Builds a server once in the life of this process, whatever it is started for.
fn build(manifest: &Manifest, log: &Path, interrupt: &AtomicBool) -> Result<(), DeployError> {
    let mut is_built = manifest.is_built.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if *is_built {
        return Ok(());
    }
    if let Some(mut command) = manifest.build()? {
        let (name, log) = (&manifest.name, log.with_file_name("server-build.log"));
        let failed = |why: &dyn std::fmt::Display| {
            DeployError::Server(format!("could not build the server `{name}`: {why}{}", tail(&log)))
        };
        let written = File::create(&log).and_then(|file| Ok((file.try_clone()?, file)));
        let (out, errors) = written.map_err(|error| failed(&error))?;
        // All that it starts can be killed with it.
        command.stdin(Stdio::piped()).stdout(out).stderr(errors).process_group(0);
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let begin = child.stdin.take();
        let mut group = ProcessGroup::of(child);
        group.watch(Duration::ZERO, Vec::new()).map_err(|error| failed(&error))?;
        // Nothing of it has run until now, and its input has ended then.
        let _ = begin.map(|mut begin| begin.write_all(b"\n"));
        let interrupted = || interrupt.load(Ordering::Relaxed);
        let ended = group.within(BUILD_MAX, interrupted);
        drop(group);
        let result = match ended {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(failed(&status)),
            None if interrupted() => Err(failed(&"interrupted")),
            None => Err(failed(&format!("it did not end within {} s", BUILD_MAX.as_secs()))),
        };
        // What is worth keeping of it is in the error.
        let _ = std::fs::remove_file(&log);
        result?;
    }
    *is_built = true;
    Ok(())
}

/// The first line that a server says, once it comes; nothing more where it says none.
fn first_line(output: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (announce, listed) = mpsc::channel();
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        if matches!((&mut output).take(LINE_MAX as u64).read_until(b'\n', &mut line), Ok(1..)) {
            // No one waits any more where the server has failed.
            let _ = announce.send(String::from_utf8_lossy(&line).into_owned());
        }
        // Goes on reading, so that the server never waits for a full pipe.
        let _ = std::io::copy(&mut output, &mut std::io::sink());
    });
    listed
}

/// The address in a line that a ready server says.
fn address(line: &str) -> Option<String> {
    let url = line.strip_prefix(LISTENING)?.trim_end();
    let authority = url.strip_prefix("http://")?.trim_end_matches('/');
    let (host, port) = authority.rsplit_once(':')?;
    (!host.is_empty() && port.parse::<u16>().is_ok()).then(|| format!("http://{authority}"))
}

fn garbage(name: &str, line: &str) -> String {
    let shown: String =
        line.trim_end().chars().filter(|letter| !letter.is_control()).take(SHOWN_MAX).collect();
    format!("the first line of the server `{name}` is `{shown}`, and not `{LISTENING}http://ADDRESS:PORT`")
}

/// Asks a server whether it takes calls, for `max` at most; says why not.
fn health(url: &str, max: Duration, interrupt: &AtomicBool) -> Result<(), String> {
    let head = get(url, "/health", max, LINE_MAX, interrupt).map_err(|error| error.to_string())?;
    let head = String::from_utf8_lossy(&head);
    match head.lines().next().unwrap_or_default().split_whitespace().nth(1) {
        Some("200") => Ok(()),
        Some(status) => Err(format!("status {status}")),
        None => Err("it was not answered in HTTP".into()),
    }
}

/// The beginning of the answer to a request, up to so many bytes.
fn get(
    url: &str,
    path: &str,
    max: Duration,
    most: usize,
    interrupt: &AtomicBool,
) -> std::io::Result<Vec<u8>> {
    let authority = url.trim_start_matches("http://");
    let clock = Monotonic::start();
    let mut sockets = authority.to_socket_addrs()?;
    let socket = sockets.next().ok_or_else(|| std::io::Error::other("the name has no address"))?;
    let mut stream = TcpStream::connect_timeout(&socket, max)?;
    stream.set_read_timeout(Some(HEALTH_LOOK))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n")?;
    let (mut answer, mut bytes) = (Vec::new(), [0; LINE_MAX]);
    while answer.len() < most && !(path == "/health" && answer.contains(&b'\n')) {
        match stream.read(&mut bytes) {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(&bytes[..read]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        if Duration::from(clock.now()) >= max || interrupt.load(Ordering::Relaxed) {
            return Err(std::io::Error::other("no response in time"));
        }
    }
    Ok(answer)
}

/// The end of a log, for an error message.
pub(crate) fn tail(log: &Path) -> String {
    let text = String::from_utf8_lossy(&std::fs::read(log).unwrap_or_default()).into_owned();
    let text = text.trim();
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(LOG_TAIL))..];
    if tail.is_empty() { String::new() } else { format!(": {tail}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn an_address_is_read_and_nothing_else_is_taken_for_one() {
        assert_eq!(address("listening on http://127.0.0.1:80\n").as_deref(), Some("http://127.0.0.1:80"));
        assert_eq!(address("listening on http://[::1]:8080/\r\n").as_deref(), Some("http://[::1]:8080"));
        for line in
            ["", "listening on", "listening on https://a:1", "listening on http://a", "http://a:1", "x"]
        {
            assert_eq!(address(line), None, "{line}");
        }
    }

    #[test]
    fn the_environment_says_all_and_a_password_stands_for_itself() {
        let settings = ServerSettings { pool: 8, threads: 2, ..ServerSettings::of_one(None) };
        let of = |urls: &[&str], how| -> BTreeMap<String, String> {
            let databases: Vec<DbUrl> = urls.iter().map(|url| url.parse().unwrap()).collect();
            let order = ServerOrder { workload: "tpcb", how, databases: &databases, more: &[] };
            environment(&order, &settings).into_iter().collect()
        };
        let others = |found: &BTreeMap<String, String>, secret: &str| {
            found.iter().filter(|(_, value)| value.contains(secret)).count() - 1
        };
        let found = of(&["postgres://me:secret@db/tpcb"], "pgx/pipelined");
        assert_eq!((found[PASSWORD].as_str(), others(&found, "secret")), ("secret", 0));
        assert_eq!(found["STACKMARK_ADAPTER"], "pgx/pipelined");
        let here = std::env::current_dir().unwrap();
        let found = of(&["postgres://me@db/tpcb?sslmode=verify-full&sslrootcert=ca.pem"], "");
        assert!(found[DATABASE].contains(&format!("sslrootcert={}/ca.pem", here.display())), "{found:?}");
        let found = of(&["sqlite:bank.db"], "");
        assert!(!found.contains_key(PASSWORD) && !found.contains_key("STACKMARK_ADAPTER"));
        assert!(found[DATABASE].starts_with(&format!("sqlite:{}/bank.db", here.display())), "{found:?}");
        // Several, in their order.
        let found = of(&["postgres://me@a/tpcb", "postgres://me:hush@b/tpcb", "sqlite:bank.db"], "");
        assert!(found["STACKMARK_DB"].starts_with("postgres://me@a") && !found.contains_key(PASSWORD));
        assert!(found["STACKMARK_DB_1"].starts_with("postgres://me@b"), "{found:?}");
        assert_eq!((found["STACKMARK_DB_1_PASSWORD"].as_str(), others(&found, "hush")), ("hush", 0));
        assert!(
            found["STACKMARK_DB_2"].starts_with(&format!("sqlite:{}/bank.db", here.display())),
            "{found:?}"
        );
    }

    /// What `/health` is found to be where the one who listens says `output` and no more, with the connection open.
    fn health_of(output: &'static str, interrupted: bool) -> Result<(), String> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (done, over) = mpsc::channel::<()>();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(output.as_bytes()).unwrap();
            let _ = over.recv();
        });
        let max = if interrupted { Duration::from_secs(3_600) } else { Duration::from_millis(200) };
        let found = health(&url, max, &AtomicBool::new(interrupted));
        drop(done);
        server.join().unwrap();
        found
    }

    #[test]
    fn a_response_that_does_not_come_is_waited_for_no_longer_than_wanted() {
        for interrupted in [false, true] {
            assert_eq!(health_of("", interrupted), Err("no response in time".into()));
            assert_eq!(health_of("HTTP/1.1 20", interrupted), Err("no response in time".into()));
        }
        assert_eq!(health_of("HTTP/1.1 503 Busy\r\n", false), Err("status 503".into()));
        assert_eq!(health_of("HTTP/1.1 200 OK\r\n", false), Ok(()));
    }
}
