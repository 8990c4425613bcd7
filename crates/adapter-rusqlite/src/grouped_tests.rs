//! Groups, step by step: who waits for whom is arranged, and not left to chance.

use crate::at_once;
use crate::grouped::{GroupedConn, GroupedOpener};
use crate::test_disk;
use measure::Monotonic;
use model::{Conflict, Doubt, Fault, Refusal};
use rusqlite::Connection;
use sql::{Grouping, Param, SqlConn, SqlOpener, SqliteUrl, StmtId, TxKind};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

const INSERT: StmtId = StmtId(0);
const COUNT: StmtId = StmtId(1);
const GROW: StmtId = StmtId(2);

type Opener = GroupedOpener<Monotonic>;
type Conn = GroupedConn<Monotonic>;

struct Fixture {
    _folder: TempDir,
    url: SqliteUrl,
    opener: Opener,
}

impl Fixture {
    fn new(options: &str) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        Connection::open(&path).unwrap().execute_batch("create table t (x integer)").unwrap();
        let url: SqliteUrl = format!("sqlite:{}?{options}", path.display()).parse().unwrap();
        let statements =
            ["insert into t values (?1)", "select count(*) from t", "insert into t values (zeroblob(?1))"];
        let statements = statements.map(str::to_owned).to_vec();
        let opener = GroupedOpener::new(&url, statements, Monotonic::start()).unwrap();
        Fixture { _folder: folder, url, opener }
    }

    fn conn(&self) -> Conn {
        at_once(self.opener.open()).unwrap()
    }

    /// The rows that someone else sees.
    fn rows(&self) -> i64 {
        let other = Connection::open(&self.url.path).unwrap();
        other.query_row("select count(*) from t", [], |row| row.get(0)).unwrap()
    }

    /// One session has written a row and waits for its commit, another has the turn and does `then`. Gives what the first
    /// was told, and what `then` gave.
    fn joined<T: Send>(&self, then: impl FnOnce(Conn, &AtomicBool) -> T + Send) -> (Result<(), Fault>, T) {
        let (mut one, mut other) = (self.conn(), self.conn());
        let listed = AtomicBool::new(false);
        at_once(one.begin(TxKind::Write)).unwrap();
        at_once(one.exec(INSERT, &[Param::Int(1)])).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                at_once(other.begin(TxKind::Write)).unwrap();
                then(other, &listed)
            });
            while self.opener.sharing().waiting() == 0 {
                std::thread::yield_now();
            }
            let first = at_once(one.commit());
            listed.store(true, Ordering::SeqCst);
            (first, second.join().unwrap())
        })
    }

    fn shared(&self) -> (u64, u64) {
        let shared = self.opener.sharing().so_far();
        (shared.commits, shared.calls)
    }
}

#[test]
fn no_one_is_told_before_the_commit_that_all_share() {
    for journal in ["wal", "truncate"] {
        let bed = Fixture::new(&format!("journal={journal}"));
        let (first, second) = bed.joined(|mut other, listed| {
            // It reads what the other wrote, which no one else does, and which no one was told of.
            assert_eq!(at_once(other.row(COUNT, &[], |row| row.int(0))), Ok(Some(1)));
            assert_eq!(bed.rows(), 0);
            at_once(other.exec(INSERT, &[Param::Int(2)])).unwrap();
            assert!(!listed.load(Ordering::SeqCst));
            at_once(other.commit())
        });
        assert_eq!((first, second), (Ok(()), Ok(())));
        assert_eq!((bed.shared(), bed.rows()), ((1, 2), 2), "{journal}");
    }
}

#[test]
fn of_calls_that_share_a_commit_the_first_stands_for_it() {
    // Whoever commits in the end: another call, or one that has done nothing.
    for does in [true, false] {
        let bed = Fixture::new("");
        let (mut one, mut other) = (bed.conn(), bed.conn());
        at_once(one.begin(TxKind::Write)).unwrap();
        at_once(one.exec(INSERT, &[Param::Int(1)])).unwrap();
        let second = std::thread::scope(|scope| {
            let second = scope.spawn(move || {
                at_once(other.begin(TxKind::Write)).unwrap();
                if does {
                    at_once(other.commit()).unwrap()
                } else {
                    at_once(other.rollback()).unwrap()
                }
                other.grouping()
            });
            while bed.opener.sharing().waiting() == 0 {
                std::thread::yield_now();
            }
            at_once(one.commit()).unwrap();
            second.join().unwrap()
        });
        assert_eq!(one.grouping(), Some(Grouping::First));
        assert_eq!(one.grouping(), None, "it is told once");
        assert_eq!(second, does.then_some(Grouping::Joined));
        assert_eq!(bed.shared(), (1, 1 + u64::from(does)));
    }
}

#[test]
fn a_single_session_commits_by_itself() {
    let bed = Fixture::new("");
    let mut conn = bed.conn();
    for x in 1..=3 {
        at_once(conn.begin(TxKind::Write)).unwrap();
        at_once(conn.exec(INSERT, &[Param::Int(x)])).unwrap();
        at_once(conn.commit()).unwrap();
        assert_eq!(conn.grouping(), Some(Grouping::First));
        at_once(conn.begin(TxKind::Read)).unwrap();
        assert_eq!(at_once(conn.row(COUNT, &[], |row| row.int(0))), Ok(Some(x)));
        at_once(conn.commit()).unwrap();
        assert_eq!(conn.grouping(), None, "a snapshot is no one's commit");
    }
    assert_eq!(bed.shared(), (3, 3));
}

#[test]
fn a_commit_that_fails_is_acknowledged_to_no_one() {
    let bed = Fixture::new("journal=truncate&busy_ms=0");
    let reader = Connection::open(&bed.url.path).unwrap();
    let (first, (second, reader)) = bed.joined(move |mut other, _| {
        at_once(other.exec(INSERT, &[Param::Int(2)])).unwrap();
        // Under a rollback journal no one can commit while someone reads.
        reader.execute_batch("begin; select * from t").unwrap();
        reader.query_row("select count(*) from t", [], |row| row.get::<_, i64>(0)).unwrap();
        (at_once(other.commit()), reader)
    });
    let busy = Err(Fault::Conflict(Conflict::Busy));
    assert_eq!((first, second), (busy.clone(), busy));
    reader.execute_batch("rollback").unwrap();
    assert_eq!((bed.shared(), bed.rows()), ((0, 0), 0));
    // And the group goes on.
    let (first, second) = bed.joined(|mut other, _| at_once(other.commit()));
    assert_eq!((first, second, bed.rows()), (Ok(()), Ok(()), 1));
}

#[test]
fn a_session_that_fails_or_goes_undoes_nothing_of_others() {
    type Ending = fn(Conn);
    let endings: [(&str, Ending); 3] = [
        ("rolls back", |mut other| at_once(other.rollback()).unwrap()),
        ("is dropped", drop),
        ("stops and reads", |mut other| {
            at_once(other.begin(TxKind::Read)).unwrap();
            assert_eq!(at_once(other.row(COUNT, &[], |row| row.int(0))), Ok(Some(1)));
            at_once(other.commit()).unwrap();
        }),
    ];
    for (what, ending) in endings {
        let bed = Fixture::new("");
        let (first, ()) = bed.joined(|mut other, _| {
            at_once(other.exec(INSERT, &[Param::Int(2)])).unwrap();
            ending(other);
        });
        assert_eq!((first, bed.shared(), bed.rows()), (Ok(()), (1, 1), 1), "{what}");
    }
}

#[test]
fn a_full_disk_refuses_whom_it_does_not_take_and_keeps_the_others() {
    let bed = Fixture::new("");
    bed.opener.limit_pages(20);
    let (first, second) = bed.joined(|mut other, _| {
        let refused = at_once(other.exec(GROW, &[Param::Int(1_000_000)]));
        let _ = at_once(other.rollback());
        refused
    });
    assert_eq!(second, Err(Fault::Refused(Refusal::UNWRITABLE)));
    // Whether the engine stopped the whole transaction or the statement alone, what was acknowledged is there.
    assert_eq!(bed.rows(), i64::from(first.is_ok()), "{first:?}");
}

/// As on the machine's own storage, so on the simulated one.
const DISKS: [&str; 2] = ["", "&sync_delay=7us"];

#[test]
fn a_shared_commit_is_flushed_once_and_really() {
    test_disk::install();
    for disk in DISKS {
        // Next to a log: the log. With a rollback journal: the journal and the file at least.
        for (options, flushes) in
            [("synchronous=full", 1..=1), ("synchronous=normal", 0..=0), ("journal=truncate", 2..=4)]
        {
            let bed = Fixture::new(&format!("{options}{disk}"));
            // The first commit begins the log.
            assert_eq!(bed.joined(|mut other, _| at_once(other.commit())), (Ok(()), Ok(())));
            let before = test_disk::flushes();
            let (first, (second, flushed)) = bed.joined(|mut other, _| {
                at_once(other.exec(INSERT, &[Param::Int(2)])).unwrap();
                let before = test_disk::flushes();
                let committed = at_once(other.commit());
                (committed, test_disk::flushes() - before)
            });
            assert_eq!((first, second), (Ok(()), Ok(())));
            assert_eq!(bed.shared(), (2, 4), "{options}{disk}");
            assert!(flushes.contains(&flushed), "{options}{disk}: {flushed} flushes");
            // Nothing by the one that waited, before or after.
            assert!(options.starts_with("journal") || test_disk::flushes() == before, "{options}{disk}");
        }
    }
}

#[test]
fn a_commit_that_storage_fails_is_in_doubt_for_all_who_share_it() {
    test_disk::install();
    for disk in DISKS {
        for journal in ["wal", "truncate"] {
            let bed = Fixture::new(&format!("journal={journal}{disk}"));
            let (first, second) = bed.joined(|mut other, _| {
                at_once(other.exec(INSERT, &[Param::Int(2)])).unwrap();
                test_disk::fail(true);
                let committed = at_once(other.commit());
                test_disk::fail(false);
                committed
            });
            let doubt = Err(Fault::InDoubt(Doubt::CommitUnanswered));
            assert_eq!((first, second), (doubt.clone(), doubt), "{journal}{disk}");
            assert_eq!(bed.shared(), (0, 0), "{journal}{disk}");
            // And the group goes on.
            let (first, second) = bed.joined(|mut other, _| at_once(other.commit()));
            assert_eq!((first, second), (Ok(()), Ok(())), "{journal}{disk}");
        }
    }
}
