//! Delays are felt, shared memory is forbidden, and nothing else is other than without us.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use measure::Monotonic;
use model::{Clock, Nanos};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use slow_storage::{cut_power, register, storage_of};
use sql::Storage;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

const ROLLBACK: &str = "pragma journal_mode=truncate; pragma synchronous=full";

fn open(file: &Path, storage: Storage) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let vfs = register(storage).unwrap();
    let connection = Connection::open_with_flags_and_vfs(file, flags, vfs).unwrap();
    assert_eq!(storage_of(&connection), storage);
    connection
}

fn empty() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    (folder, file)
}

/// `doing` takes at least `times` the delay; how much more is the machine's affair.
#[track_caller]
fn assert_felt(times: u32, delay: Duration, doing: impl FnOnce()) {
    let clock = Monotonic::start();
    doing();
    let (took, least) = (clock.now(), Nanos::from(delay * times));
    assert!(took >= least, "{took:?} is less than {times} times {delay:?}");
}

#[test]
fn each_flush_takes_its_delay() {
    let (_folder, file) = empty();
    let sync = Duration::from_millis(4);
    let connection = open(&file, Storage { sync, ..Storage::AS_IT_IS });
    connection.execute_batch(ROLLBACK).unwrap();
    connection.execute_batch("create table t (x)").unwrap();
    // The journal, the database, and the journal's end.
    assert_felt(10 * 3, sync, || {
        (0..10).for_each(|x| assert_eq!(connection.execute("insert into t values (?1)", [x]), Ok(1)));
    });
    let mode: String = connection.query_row("pragma journal_mode=wal", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    assert_felt(10, sync, || {
        (0..10).for_each(|x| assert_eq!(connection.execute("insert into t values (?1)", [x]), Ok(1)));
    });
}

#[test]
fn the_flush_of_a_folder_takes_its_delay() {
    let (_folder, file) = empty();
    let sync = Duration::from_millis(4);
    let connection = open(&file, Storage { sync, ..Storage::AS_IT_IS });
    connection
        .execute_batch("pragma journal_mode=delete; pragma synchronous=extra; create table t (x)")
        .unwrap();
    assert_felt(10 * 3, sync, || {
        (0..10).for_each(|x| assert_eq!(connection.execute("insert into t values (?1)", [x]), Ok(1)));
    });
}

#[test]
fn each_lock_takes_its_delay() {
    let (_folder, file) = empty();
    let lock = Duration::from_millis(3);
    let connection = open(&file, Storage { lock, ..Storage::AS_IT_IS });
    connection.execute_batch(&format!("{ROLLBACK}; create table t (x)")).unwrap();
    let count = || connection.query_row("select count(*) from t", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_felt(20, lock, || (0..20).for_each(|_| assert_eq!(count(), 0)));
    // Shared, reserved, exclusive.
    assert_felt(5 * 3, lock, || {
        (0..5).for_each(|x| assert_eq!(connection.execute("insert into t values (?1)", [x]), Ok(1)));
    });
    let _: String = connection.query_row("pragma journal_mode=wal", [], |row| row.get(0)).unwrap();
    assert_felt(20, lock, || (0..20).for_each(|_| assert_eq!(count(), 5)));
}

#[test]
fn each_read_takes_its_delay_and_memory_maps_are_no_way_round_it() {
    let (_folder, file) = empty();
    let plain = Connection::open(&file).unwrap();
    plain.execute_batch("create table t (x); begin").unwrap();
    (0..200).for_each(|_| assert_eq!(plain.execute("insert into t values (zeroblob(4000))", []), Ok(1)));
    plain.execute_batch("commit").unwrap();
    let read = Duration::from_micros(300);
    let connection = open(&file, Storage { read, ..Storage::AS_IT_IS });
    connection.execute_batch("pragma mmap_size=1000000000; pragma cache_size=10").unwrap();
    assert_felt(200, read, || {
        let last = "select count(*) from t where substr(x, 4000) = x'00'";
        assert_eq!(connection.query_row(last, [], |row| row.get::<_, i64>(0)).unwrap(), 200);
    });
}

#[test]
fn without_shared_memory_sqlite_refuses_a_log_by_itself() {
    let (_folder, file) = empty();
    let far = Storage { shared_memory: false, ..Storage::AS_IT_IS };
    let connection = open(&file, far);
    connection.execute_batch(&format!("{ROLLBACK}; create table t (x)")).unwrap();
    let mode: String = connection.query_row("pragma journal_mode=wal", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "truncate");
    connection.execute_batch("insert into t values (1)").unwrap();
    drop(connection);
    // What is in that mode already cannot be read there.
    Connection::open(&file).unwrap().execute_batch("pragma journal_mode=wal").unwrap();
    let error = open(&file, far).query_row("select * from t", [], |row| row.get::<_, i64>(0)).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen), "{error}");
}

#[test]
fn the_file_is_the_same_to_the_byte() {
    let make = |storage: Storage| {
        let (_folder, file) = empty();
        let connection = open(&file, storage);
        connection.execute_batch(&format!("{ROLLBACK}; create table t (x unique, y)")).unwrap();
        for x in 0..50 {
            connection.execute("insert into t values (?1, zeroblob(?1 * 100))", [x]).unwrap();
        }
        connection.execute_batch("delete from t where x % 3 = 0; vacuum").unwrap();
        drop(connection);
        std::fs::read(&file).unwrap()
    };
    let short = Duration::from_micros(50);
    let slow = Storage { sync: short, lock: short, read: short, shared_memory: false, power_cut: false };
    assert!(make(slow) == make(Storage::AS_IT_IS));
}

/// Rows that are there after a power cut, of `committed` ones and one that was under way. `lost` says which writes that were not
/// flushed are.
fn after_a_power_cut(settings: &str, committed: i64, mut lost: impl FnMut() -> bool) -> Vec<i64> {
    let (folder, file) = empty();
    let storage = Storage { power_cut: true, ..Storage::AS_IT_IS };
    let connection = open(&file, storage);
    connection.execute_batch("create table t (x, y)").unwrap();
    connection.execute_batch(&format!("{settings}; pragma cache_size=2")).unwrap();
    let insert = |x: i64| connection.execute("insert into t values (?1, zeroblob(9000))", [x]).unwrap();
    (0..committed).for_each(|x| assert_eq!(insert(x), 1));
    connection.execute_batch("begin").unwrap();
    insert(committed);
    // As of a process that is killed: nothing of it is tidied up.
    std::mem::forget(connection);
    cut_power(&file, || !lost()).unwrap();
    // ExtraEndpoint: SQLite keeps in a process what it knows of a file by its inode, and the connection is in this one.
    let (elsewhere, copy) = empty();
    for ending in ["", "-wal", "-journal"] {
        let from = folder.path().join(format!("a.db{ending}"));
        if from.exists() {
            std::fs::copy(from, elsewhere.path().join(format!("a.db{ending}"))).unwrap();
        }
    }
    let found = Connection::open(&copy).unwrap();
    let sound: String = found.query_row("pragma integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    let mut rows = found.prepare("select x from t order by x").unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_power_cut_loses_nothing_that_was_flushed_and_what_was_not_is_lost() {
    let all: Vec<i64> = (0..30).collect();
    for journal in ["wal", "truncate"] {
        let full = format!("pragma journal_mode={journal}; pragma synchronous=full");
        assert_eq!(after_a_power_cut(&full, 30, || true), all, "{journal}");
        let mut turn = 0;
        let every_third = || {
            turn += 1;
            turn % 3 == 0
        };
        assert_eq!(after_a_power_cut(&full, 30, every_third), all, "{journal}");
    }
    let lazy = "pragma journal_mode=wal; pragma synchronous=normal";
    assert!(after_a_power_cut(lazy, 30, || true).len() < 30);
    assert_eq!(after_a_power_cut(lazy, 30, || false), all);
}

#[test]
fn a_journal_that_a_crash_left_is_played_back() {
    let (folder, file) = empty();
    let slow = Storage { sync: Duration::from_micros(50), shared_memory: false, ..Storage::AS_IT_IS };
    let connection = open(&file, slow);
    connection.execute_batch(&format!("{ROLLBACK}; create table t (x); insert into t values (1)")).unwrap();
    // So few pages of cache that the transaction writes to the file before it ends.
    connection.execute_batch("pragma cache_size=2; begin; update t set x = 2").unwrap();
    (0..100).for_each(|_| assert_eq!(connection.execute("insert into t values (zeroblob(4000))", []), Ok(1)));
    let crashed = folder.path().join("crashed.db");
    std::fs::copy(&file, &crashed).unwrap();
    std::fs::copy(folder.path().join("a.db-journal"), folder.path().join("crashed.db-journal")).unwrap();
    assert!(std::fs::metadata(&crashed).unwrap().len() > 100_000, "nothing was written before the crash");
    let rows = "select group_concat(x) from t";
    let found: String = open(&crashed, slow).query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(found, "1");
}

#[test]
fn two_storages_at_once_keep_apart() {
    let (_folder, file) = empty();
    let (fast, slow) = (Storage::AS_IT_IS, Storage { sync: Duration::from_millis(20), ..Storage::AS_IT_IS });
    let (one, other) = (open(&file, fast), open(&file, slow));
    assert_ne!(register(fast).unwrap(), register(slow).unwrap());
    assert_eq!(register(slow).unwrap(), register(slow).unwrap());
    one.execute_batch(&format!("{ROLLBACK}; create table t (x)")).unwrap();
    other.execute_batch(ROLLBACK).unwrap();
    assert_felt(3, slow.sync, || other.execute_batch("insert into t values (1)").unwrap());
    let found: i64 = one.query_row("select x from t", [], |row| row.get(0)).unwrap();
    assert_eq!(found, 1);
    assert_eq!((storage_of(&one), storage_of(&other)), (fast, slow));
    assert_eq!(storage_of(&Connection::open(&file).unwrap()), Storage::AS_IT_IS);
}

#[test]
fn a_lock_of_others_is_seen() {
    let (_folder, file) = empty();
    let lock = Storage { lock: Duration::from_micros(50), ..Storage::AS_IT_IS };
    let (one, other) = (open(&file, lock), Connection::open(&file).unwrap());
    one.execute_batch(&format!("{ROLLBACK}; create table t (x)")).unwrap();
    other.execute_batch("begin exclusive").unwrap();
    one.busy_timeout(Duration::ZERO).unwrap();
    let error = one.execute_batch("insert into t values (1)").unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy), "{error}");
    other.execute_batch("rollback").unwrap();
    one.execute_batch("insert into t values (1)").unwrap();
}

/// A process may not write files beyond a size: what the system says then comes through us.
#[test]
fn an_error_of_the_file_system_comes_through() {
    let program = std::env::current_exe().unwrap();
    // Blocks of 512 or 1024 bytes, as the shell likes; the signal that comes with the error is ignored.
    let line = format!(
        "trap '' XFSZ; ulimit -f 200; exec '{}' --exact --ignored --nocapture behind_a_limit",
        program.display()
    );
    let ran = Command::new("sh").args(["-c", &line]).output().unwrap();
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
#[ignore = "run by the test above, in a process of its own with a limit"]
fn behind_a_limit() {
    let (_folder, file) = empty();
    let slow = Storage { sync: Duration::from_micros(50), ..Storage::AS_IT_IS };
    let connection = open(&file, slow);
    connection.execute_batch(&format!("{ROLLBACK}; create table t (x)")).unwrap();
    let insert = || connection.execute("insert into t values (zeroblob(50000))", []);
    let error = (0..20).find_map(|_| insert().err()).expect("a limit of 200 KiB at most");
    let rusqlite::Error::SqliteFailure(code, _) = error else { panic!("{error}") };
    assert_eq!(code.extended_code, rusqlite::ffi::SQLITE_IOERR_WRITE);
}
