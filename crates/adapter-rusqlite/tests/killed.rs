//! Sessions that share commits, killed in mid-run: whatever was acknowledged is there. And the fault injector that this must
//! catch: it acknowledges a call before the commit that the call shares, and is killed between the two.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use adapter_rusqlite::GroupedOpener;
use measure::Monotonic;
use rusqlite::Connection;
use sql::{Param, SqlConn, SqlOpener, SqliteUrl, StmtId, TxKind};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const SESSIONS: i64 = 8;
const ACKNOWLEDGED_MIN: usize = 300;
const FILE: &str = "STACKMARK_TEST_FILE";
const EARLY: &str = "STACKMARK_TEST_EARLY";

fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a blocking connection never waits"),
    }
}

/// Kills sessions after some hundred acknowledged calls; gives how many of those are not there.
fn lost(early: bool) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    Connection::open(&file).unwrap().execute_batch("create table t (session, number)").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "sessions_until_killed"])
        .env(FILE, &file)
        .env(EARLY, if early { "1" } else { "" })
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = Vec::new();
    let call = |line: &str| {
        let (session, number) = line.strip_prefix("acknowledged ")?.split_once(' ')?;
        Some((session.parse::<i64>().ok()?, number.parse::<i64>().ok()?))
    };
    while acknowledged.len() < ACKNOWLEDGED_MIN {
        acknowledged.extend(call(&lines.next().expect("it runs until it is killed").unwrap()));
    }
    child.kill().unwrap();
    // What it said before it ended was said in time.
    acknowledged.extend(lines.map_while(Result::ok).filter_map(|line| call(&line)));
    child.wait().unwrap();
    let connection = Connection::open(&file).unwrap();
    let mut there = connection.prepare("select 1 from t where session = ?1 and number = ?2").unwrap();
    acknowledged.iter().filter(|call| !there.exists([call.0, call.1]).unwrap()).count()
}

#[test]
fn whatever_was_acknowledged_outlives_a_kill() {
    assert_eq!(lost(false), 0);
}

#[test]
fn a_call_acknowledged_before_the_commit_it_shares_is_caught() {
    assert!(lost(true) > 0);
}

#[test]
#[ignore = "run by the tests above, in a process of its own that they kill"]
fn sessions_until_killed() {
    let file = std::env::var(FILE).unwrap();
    let early = std::env::var(EARLY).is_ok_and(|early| !early.is_empty());
    let statements = vec!["insert into t values (?1, ?2)".to_owned()];
    let url = SqliteUrl::file(Path::new(&file));
    let opener = GroupedOpener::new(&url, statements, Monotonic::start()).unwrap();
    let acknowledged = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for session in 0..SESSIONS {
            let acknowledged = &acknowledged;
            let mut conn = at_once(opener.open()).unwrap();
            let say = move |number: i64| {
                let line = format!("acknowledged {session} {number}\n");
                std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
            };
            scope.spawn(move || {
                for number in 0.. {
                    at_once(conn.begin(TxKind::Write)).unwrap();
                    at_once(conn.exec(StmtId(0), &[Param::Int(session), Param::Int(number)])).unwrap();
                    // Long enough that others wait, and that a group is open whenever the kill comes.
                    std::thread::sleep(Duration::from_millis(1));
                    if early {
                        say(number);
                        // The last that the parent waits for before it kills: this commit never comes.
                        while acknowledged.fetch_add(1, Ordering::Relaxed) + 1 >= ACKNOWLEDGED_MIN {
                            std::thread::park();
                        }
                    }
                    at_once(conn.commit()).unwrap();
                    if !early {
                        say(number);
                    }
                }
            });
        }
    });
}
