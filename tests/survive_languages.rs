//! Servers in four languages under what does them no good: requests that no server may take, thousands of idle connections,
//! an engine that goes and comes back. None ends, none grows, and that in C says so under the sanitizers.
//!
//! A few seconds of it; `make soak` takes `STACKMARK_SOAK_S` seconds for each server.

use crate::{run_on, workdir::Workdir};
use measure::Monotonic;
use model::Clock;
use rig::Engine;
use rig::for_tests::recovers;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sql::ServerUrl;
use stackmark_tests::engines::LockedServer;
use stackmark_tests::languages::{ByHand, Offer, is_made};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use verify::bad_input_statuses;
use workload::Benchmark;
use workload_catalogue::FoodCatalogue;

/// Connections that say nothing for as long as it takes.
const IDLE: usize = 2_000;
/// Of these, some speak in the end.
const ASKED: usize = 50;
/// Connections to the engine.
const POOL: u32 = 4;
/// What a server may hold more at its end than after its first rounds, next to half as much again: allocators keep some of what
/// they were returned, and collectors wait until there is twice as much as is needed.
const GROWTH: u64 = 48 << 20;
/// For a server to find its engine again. For hangs only.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);

/// How long each server is held to it.
fn soak() -> Duration {
    let seconds = std::env::var("STACKMARK_SOAK_S").ok().map(|text| text.parse().unwrap());
    Duration::from_secs(seconds.unwrap_or(2))
}

/// The golden data of the catalogue, loaded once for all servers.
fn golden(server: &mut LockedServer) -> ServerUrl {
    server.database("golden_catalogue", |url| {
        let ran = run_on(&Workdir::empty(), "load catalogue --golden", url);
        assert_eq!(ran.code(), 0, "{ran:?}");
    })
}

/// The status of a request with nothing in it.
fn status(url: &str, path: &str) -> u16 {
    let address = url.strip_prefix("http://").unwrap();
    let stream = TcpStream::connect(address).unwrap();
    status_on(&stream, path)
}

fn status_on(mut stream: &TcpStream, path: &str) -> u16 {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    // To its end, so that the next answer begins where it ends.
    let (mut answer, mut length, mut line) = (BufReader::new(stream), 0, String::new());
    answer.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap().parse().unwrap();
    while line.trim_end() != "" {
        line.clear();
        answer.read_line(&mut line).unwrap();
        if let Some(("content-length", value)) = line.to_ascii_lowercase().split_once(':') {
            length = value.trim().parse().unwrap();
        }
    }
    answer.read_exact(&mut vec![0; length]).unwrap();
    status
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let clock = Monotonic::start();
    while !done() {
        assert!(Duration::from(clock.now()) < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(LOOK);
    }
}

/// Notes what a server holds, in MiB, ten times in all. Then some of the idle connections speak: servers close those that
/// are silent for five minutes.
fn look(server: &ByHand, passed: Duration, idle: &[TcpStream], seen: &mut Vec<u64>) {
    if passed * 10 >= soak() * seen.len() as u32 {
        seen.push(server.resident() >> 20);
        for stream in &idle[..ASKED] {
            assert_eq!(status_on(stream, "/health"), 200);
        }
    }
}

fn survives(language: &str, engine: Engine, how: &str, target: &str, program: Option<&str>) {
    if !is_made(language, target) {
        return;
    }
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let mut locked = LockedServer::of(engine);
    let offer = Offer { workload: "catalogue".into(), engine: engine.name().into(), how: how.into() };
    let url = golden(&mut locked);
    let mut server = ByHand::start(language, program, &offer, &url, POOL);
    let (address, clock) = (server.url.clone(), Monotonic::start());
    let passed = || Duration::from(clock.now());

    let connect = || TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
    let idle: Vec<TcpStream> = (0..IDLE).map(|_| connect()).collect();
    let size = FoodCatalogue::tiny_over(1);
    let round = || bad_input_statuses::<FoodCatalogue>(&address, &size, 1).unwrap();
    let first = round();
    // Threads and buffers are there after a few rounds.
    for _ in 0..3 {
        assert_eq!(round(), first);
    }
    let before = server.resident();
    let mut seen = vec![before >> 20];
    while passed() < soak() / 2 {
        assert_eq!(round(), first);
        look(&server, passed(), &idle, &mut seen);
    }

    locked.engine.kill();
    // The calls that meet the broken connections may end otherwise.
    until("calls are refused", || status(&address, "/categories") == 503);
    assert_eq!(round(), first, "what is refused needs no engine");
    if !recovers(&mut locked.engine) {
        return;
    }
    until("the engine is found again", || status(&address, "/categories") == 200);
    while passed() < soak() {
        assert_eq!(round(), first);
        look(&server, passed(), &idle, &mut seen);
    }

    let after = server.resident();
    assert!(after < before + before / 2 + GROWTH, "{before} bytes have become {after}: {}", server.log());
    for stream in &idle[..ASKED] {
        assert_eq!(status_on(stream, "/health"), 200);
    }
    drop(idle);
    assert!(server.is_alive(), "{}", server.log());
    let status = server.end();
    assert!(status.success(), "{status}: {}", server.log());
    // Of what is leaked the status tells already, where leaks are looked for.
    assert!(!server.log().contains("Sanitizer"), "{}", server.log());
    if std::env::var_os("STACKMARK_SOAK_S").is_some() {
        eprintln!("{language} {how}: MiB in ten steps {seen:?}, {} at the end", after >> 20);
    }
}

const SANITIZED: Option<&str> = Some("./server-asan");

#[test]
fn the_server_in_c_with_a_thread_for_each_connection() {
    survives("c", Engine::Postgres, "libpq", "sanitized", SANITIZED);
}

#[test]
fn the_server_in_c_with_epoll() {
    survives("c", Engine::MariaDb, "libmariadb/epoll", "sanitized", SANITIZED);
}

#[test]
fn the_server_in_go() {
    survives("go", Engine::Postgres, "pgx", "build", None);
}

#[test]
fn the_server_in_python() {
    survives("python", Engine::MariaDb, "asyncmy", "build", None);
}

#[test]
fn our_own_server() {
    survives("rust", Engine::Postgres, "tokio-postgres", "build", None);
}

/// The other engine of each.
mod extended {
    use super::*;

    #[test]
    fn the_server_in_c_with_a_thread_for_each_connection() {
        survives("c", Engine::MariaDb, "libmariadb", "sanitized", SANITIZED);
    }

    #[test]
    fn the_server_in_c_with_epoll() {
        survives("c", Engine::Postgres, "libpq/epoll", "sanitized", SANITIZED);
    }

    #[test]
    fn the_server_in_go() {
        survives("go", Engine::MariaDb, "go-sql-driver", "build", None);
    }

    #[test]
    fn the_server_in_python() {
        survives("python", Engine::Postgres, "asyncpg", "build", None);
    }

    #[test]
    fn our_own_server() {
        survives("rust", Engine::MariaDb, "mysql-async", "build", None);
    }
}
