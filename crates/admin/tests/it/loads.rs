//! A load is whole or it is not there; what is not ours stays as it is.

use crate::support::{self, SEED, load_quietly, plan, run_calls, tiny};
use admin::{Error, Found, LoadPhase, LoadPlan, Loaded, store};
use model::rows::{Dataset, RowSink, Table};
use model::{Clock as _, Nanos};
use rusqlite::Connection;
use sql::{Catalogue, SqliteUrl};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use workload_tpcc::{Cardinality, Data};

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The error with its sources, as the edge prints it.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}

fn tiny_plan() -> LoadPlan {
    plan(Cardinality::tiny(), SEED)
}

#[test]
fn any_number_of_threads_loads_the_same_database() {
    let folder = tempfile::tempdir().unwrap();
    let load_with = |threads: usize, seed: u64| {
        let url = SqliteUrl::file(folder.path().join(format!("{threads}-{seed}.db")));
        let loaded = load_quietly(&url, LoadPlan { threads, ..plan(Cardinality::tiny(), seed) }).unwrap();
        let read = Connection::open(&url.path)
            .unwrap()
            .query_row("select sum(c_discount * c_id) || max(c_data) from customer", [], |row| {
                row.get::<_, String>(0)
            })
            .unwrap();
        (loaded.contents().tables.clone(), loaded.contents().checksum(), read)
    };
    let one = load_with(1, SEED);
    assert_eq!(one, load_with(2, SEED));
    assert_eq!(one, load_with(4, SEED));
    assert_ne!(one.1, load_with(2, SEED + 1).1);
    let rows = |name: &str| one.0.iter().find(|table| table.name == name).unwrap().rows;
    assert_eq!((rows("item"), rows("stock"), rows("customer"), rows("new_order")), (100, 200, 600, 180));
}

#[test]
fn a_load_leaves_one_private_file_with_the_settings_of_its_url() {
    let folder = tempfile::tempdir().unwrap();
    for (journal, expected) in [("wal", "wal"), ("truncate", "delete")] {
        let file = folder.path().join(format!("{journal}.db"));
        let url: SqliteUrl = format!("sqlite:{}?journal={journal}", file.display()).parse().unwrap();
        load_quietly(&url, tiny_plan()).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let journal_mode: String = rusqlite::Connection::open(&file)
            .unwrap()
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .unwrap();
        assert_eq!(journal_mode, expected);
    }
    assert_eq!(names(folder.path()), BTreeSet::from(["truncate.db".to_owned(), "wal.db".to_owned()]));
}

#[test]
fn a_second_load_finds_the_first_also_after_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let url = tiny(folder.path());
    let before = fs::metadata(&url.path).unwrap().ino();
    run_calls(&url, Cardinality::tiny(), 50);
    let Loaded::AlreadyThere(contents) = load_quietly(&url, tiny_plan()).unwrap() else {
        panic!("loaded again")
    };
    assert_eq!(contents.record, tiny_plan().record);
    assert_eq!(store(&url).inspect().unwrap(), Found::Complete(contents));
    assert_eq!(fs::metadata(&url.path).unwrap().ino(), before);
}

#[test]
fn another_seed_size_or_schema_is_named_and_replaced_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let url = tiny(folder.path());
    let other = plan(Cardinality::tiny(), SEED + 1);
    let error = load_quietly(&url, other.clone()).unwrap_err();
    let text = error.to_string();
    for part in
        ["tpcc at scale 2, seed 11", "requested tpcc at scale 2, seed 12", "stackmark load tpcc --fresh"]
    {
        assert!(text.contains(part), "{text}");
    }
    let larger = plan(Cardinality { items: 200, ..Cardinality::tiny() }, SEED);
    assert!(load_quietly(&url, larger).unwrap_err().to_string().contains("of another size"));
    let mut changed = tiny_plan();
    changed.schema = with_statement("-- name: index_more\ncreate index more on item (i_price)");
    assert!(load_quietly(&url, changed).unwrap_err().to_string().contains("another schema"));

    let loaded = load_quietly(&url, LoadPlan { fresh: true, ..other.clone() }).unwrap();
    assert!(matches!(loaded, Loaded::Now { .. }));
    assert_eq!(loaded.contents().record, other.record);
}

/// The schema with one more statement.
fn with_statement(more: &str) -> Catalogue {
    let schema = tiny_plan().schema;
    let text: String = schema.iter().map(|(name, text)| format!("-- name: {name}\n{text}\n")).collect();
    Catalogue::parse(&format!("{text}{more}\n")).unwrap()
}

#[test]
fn a_database_in_use_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let url = SqliteUrl { busy_ms: 0, ..tiny(folder.path()) };
    let user = Connection::open(&url.path).unwrap();
    user.query_row("select count(*) from item", [], |_| Ok(())).unwrap();
    let fresh = || LoadPlan { fresh: true, ..tiny_plan() };
    assert!(matches!(load_quietly(&url, fresh()), Err(Error::InUse { .. })));
    let from = SqliteUrl::file(folder.path().join("from.db"));
    load_quietly(&from, tiny_plan()).unwrap();
    assert!(matches!(store(&from).copy_to(&url, false), Err(Error::InUse { .. })));
    assert!(matches!(store(&url).clear(), Err(Error::InUse { .. })));
    drop(user);
    load_quietly(&url, fresh()).unwrap();
    store(&url).clear().unwrap();
    store(&url).clear().unwrap();
    assert_eq!(store(&url).inspect().unwrap(), Found::Absent);
}

#[test]
fn what_is_not_ours_is_named_and_never_touched() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, statements: &str| {
        let file = folder.path().join(name);
        Connection::open(&file).unwrap().execute_batch(statements).unwrap();
        file
    };
    let text = folder.path().join("notes.txt");
    fs::write(&text, "a text that is much longer than a page of a database".repeat(100)).unwrap();
    let short = folder.path().join("short");
    fs::write(&short, "x").unwrap();
    let cases = [
        (
            make("other.db", "create table warehouse (w_id int); create table item (i_id int)"),
            "the tables item, warehouse and no record",
        ),
        (
            make(
                "half.db",
                "create table stackmark_load (name text, value text); insert into stackmark_load values ('state', 'loading')",
            ),
            "no record of a Stackmark load",
        ),
        (text, "not a SQLite database"),
        (short, "not a SQLite database"),
    ];
    let template = tiny(folder.path());
    for (file, expected) in cases {
        let before = fs::read(&file).unwrap();
        let url = SqliteUrl::file(&file);
        let Found::Foreign { what, .. } = store(&url).inspect().unwrap() else {
            panic!("{}", file.display())
        };
        assert!(what.contains(expected), "{what}");
        for fresh in [false, true] {
            let error = load_quietly(&url, LoadPlan { fresh, ..tiny_plan() }).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
        let (copied, cleared) = (store(&template).copy_to(&url, false), store(&url).clear());
        for refused in [copied, cleared] {
            assert!(matches!(&refused, Err(Error::Foreign { .. })), "{refused:?}");
        }
        assert_eq!(fs::read(&file).unwrap(), before);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_said_with_what_would_be_right() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let check = |path: &Path, expected: &str| {
        let error = load_quietly(&SqliteUrl::file(path), tiny_plan()).unwrap_err();
        assert!(matches!(error, Error::Place { .. }), "{error:?}");
        assert!(chain(&error).contains(expected), "{}", chain(&error));
    };
    check(&folder.path().join("missing/b.db"), "does not exist; create it first");
    check(&file.join("b.db"), "is not a folder");
    check(folder.path(), "it is a folder; name a file");
    // Root may write anywhere but here.
    if Path::new("/sys/kernel").is_dir() {
        check(Path::new("/sys/kernel/b.db"), "/sys/kernel");
    }
    let locked = folder.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(locked.join("probe"), "").is_ok() {
        rig::for_tests::not_run("this user may write to read-only folders");
    } else {
        check(&locked.join("b.db"), "no permission");
    }
}

#[test]
fn a_load_that_cannot_fit_is_refused_before_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    let url = SqliteUrl::file(folder.path().join("b.db"));
    let huge = Cardinality { warehouses: 1, customers: 3_000, ..Cardinality::standard(1) };
    let mut wanted = plan(huge, SEED);
    wanted.dataset = Arc::new(Endless(Data::new(huge, SEED), Vec::new()).with_rows(1 << 50));
    let error = load_quietly(&url, wanted).unwrap_err();
    let Error::NoRoom { needed, free, .. } = error else { panic!("{error:?}") };
    assert!(needed > free && free > 0);
    assert_eq!(names(folder.path()), BTreeSet::new());
}

/// Data that says it has more rows than it gives.
struct Endless(Data, Vec<Table>);

impl Endless {
    fn with_rows(self, rows: u64) -> Endless {
        let tables = self.0.tables().iter().map(|table| Table { rows, ..table.clone() }).collect();
        Endless(self.0, tables)
    }
}

impl Dataset for Endless {
    fn tables(&self) -> &[Table] {
        &self.1
    }
    fn fill(&self, table: usize, chunk: u32, sink: &mut dyn RowSink) {
        self.0.fill(table, chunk, sink);
    }
}

/// SQLite says the same where its limit of pages is reached and where the disk is full.
#[test]
fn a_full_disk_ends_the_load_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let url = SqliteUrl::file(folder.path().join("b.db"));
    let mut limited = tiny_plan();
    limited.schema = with_statement("-- name: table_limit\npragma max_page_count=150");
    let error = load_quietly(&url, limited).unwrap_err();
    assert!(matches!(error, Error::Full { written: 1.., .. }), "{error:?}");
    assert!(error.to_string().contains("no space was left"), "{error}");
    assert_eq!(names(folder.path()), BTreeSet::new());
}

#[test]
fn rows_that_read_back_otherwise_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let url = SqliteUrl::file(folder.path().join("b.db"));
    let mut altered = tiny_plan();
    altered.schema = with_statement(
        "-- name: table_trigger\ncreate trigger alter_one after insert on item when new.i_id = 5 begin update item set \
         i_price = i_price + 1 where i_id = 5; end",
    );
    let error = load_quietly(&url, altered).unwrap_err();
    assert!(matches!(&error, Error::Mismatch { table, .. } if table == "item"), "{error:?}");
    assert_eq!(names(folder.path()), BTreeSet::new());
}

/// What `look` gives once no load is under way. A process that another test starts has all our open files for a moment, and
/// so the locks on them.
fn at_rest<T>(mut look: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let clock = measure::Monotonic::start();
    loop {
        match look() {
            Err(Error::Running(_)) if clock.now() < Nanos::from_secs(60) => std::thread::yield_now(),
            found => return found,
        }
    }
}

/// When a load that is there in part, and no longer under way, was last written to.
fn interrupted_since(url: &SqliteUrl) -> u64 {
    let clock = measure::Monotonic::start();
    loop {
        match store(url).inspect().unwrap() {
            Found::Incomplete { running: false, since, .. } => return since,
            found => {
                let busy = matches!(found, Found::Incomplete { .. }) && clock.now() < Nanos::from_secs(60);
                assert!(busy, "{found:?}");
            }
        }
    }
}

#[test]
fn a_stopped_load_is_recognised_and_refused_until_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let url = SqliteUrl::file(folder.path().join("b.db"));
    let stop = AtomicBool::new(false);
    let mut phases = Vec::new();
    let mut on_progress = |at: admin::LoadProgress| {
        phases.push(at.phase);
        stop.store(true, Ordering::Relaxed);
    };
    // One warehouse takes far longer than the tenth of a second to the first progress.
    let error = store(&url).load(plan(Cardinality::standard(1), SEED), &mut on_progress, &stop).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }), "{error:?}");
    assert_eq!(phases[0], LoadPhase::Rows);
    assert!(interrupted_since(&url) > 1_700_000_000);
    assert!(!url.path.exists());
    let refused = at_rest(|| load_quietly(&url, tiny_plan())).unwrap_err();
    assert!(matches!(refused, Error::Interrupted { .. }), "{refused:?}");
    assert!(refused.to_string().contains("`stackmark load tpcc --fresh`"), "{refused}");
    at_rest(|| load_quietly(&url, LoadPlan { fresh: true, ..tiny_plan() })).unwrap();
    assert_eq!(names(folder.path()), BTreeSet::from(["b.db".to_owned()]));
}

const INTO: &str = "ADMIN_TEST_LOAD_INTO";

#[test]
fn progress_goes_forward_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let url = SqliteUrl::file(folder.path().join("b.db"));
    let mut seen = Vec::new();
    store(&url)
        .load(plan(Cardinality::standard(1), SEED), &mut |at| seen.push(at), &AtomicBool::new(false))
        .unwrap();
    assert!(seen.is_sorted_by(|a, b| a.share <= b.share && a.phase as u8 <= b.phase as u8), "{seen:?}");
    assert!(seen.iter().all(|at| at.rows_done <= at.rows_all && (0.0..=1.0).contains(&at.share)), "{seen:?}");
    assert!(seen.iter().any(|at| at.seconds_left.is_some_and(|left| left > 0.0)), "{seen:?}");
}

/// Not a test: the process that the next one kills.
#[test]
fn child_that_loads_and_never_ends() {
    let Some(file) = std::env::var_os(INTO) else { return };
    let mut stalled = tiny_plan();
    stalled.dataset = Arc::new(Stalling(Data::new(Cardinality::tiny(), SEED)));
    let mut tell = |_| {
        let mut out = std::io::stdout();
        writeln!(out, "loading").and_then(|()| out.flush()).unwrap();
    };
    let _ = store(SqliteUrl::file(file)).load(stalled, &mut tell, &AtomicBool::new(false));
}

/// Stops giving rows in the midst of the last table.
struct Stalling(Data);

impl Dataset for Stalling {
    fn tables(&self) -> &[Table] {
        self.0.tables()
    }
    fn fill(&self, table: usize, chunk: u32, sink: &mut dyn RowSink) {
        while table + 1 == self.0.tables().len() && chunk == 10 {
            std::thread::park();
        }
        self.0.fill(table, chunk, sink);
    }
}

/// Rows of which one chunk in the midst of the last table cannot be made.
struct Broken(Data);

impl Dataset for Broken {
    fn tables(&self) -> &[Table] {
        self.0.tables()
    }
    fn fill(&self, table: usize, chunk: u32, sink: &mut dyn RowSink) {
        assert!(table + 1 < self.0.tables().len() || chunk != 10, "a bug in the data");
        self.0.fill(table, chunk, sink);
    }
}

/// Those that store and those that make other rows wait for what never comes, unless they are told.
#[test]
fn a_panic_ends_a_load_and_leaves_nothing_that_passes_for_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    for threads in [1, 2, 4] {
        let url = SqliteUrl::file(folder.path().join(format!("{threads}.db")));
        let dataset = Arc::new(Broken(Data::new(Cardinality::tiny(), SEED)));
        let broken = LoadPlan { dataset, threads, ..tiny_plan() };
        catch_unwind(AssertUnwindSafe(|| load_quietly(&url, broken))).unwrap_err();
        assert!(!matches!(store(&url).inspect(), Ok(Found::Complete(_))), "{threads} threads");
    }
    let url = SqliteUrl::file(folder.path().join("watched.db"));
    let large = plan(Cardinality::standard(1), SEED);
    let watched =
        || store(&url).load(large, &mut |_| panic!("a bug in the watcher"), &AtomicBool::new(false));
    catch_unwind(AssertUnwindSafe(watched)).unwrap_err();
    assert!(!matches!(store(&url).inspect(), Ok(Found::Complete(_))));
}

/// Ends with the test, however that ends: it never would, and has the tests' standard error, whose reader would wait as
/// long.
struct Loader(Child);

impl Drop for Loader {
    fn drop(&mut self) {
        // Mostly the test has ended it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_killed_load_is_recognised_and_refused_until_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let url = SqliteUrl::file(folder.path().join("b.db"));
    let spawned = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "loads::child_that_loads_and_never_ends", "--nocapture"])
        .env(INTO, &url.path)
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Loader(spawned.unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("loading")), "the child ended early");
    assert!(matches!(store(&url).inspect().unwrap(), Found::Incomplete { running: true, .. }));
    for fresh in [false, true] {
        let error = load_quietly(&url, LoadPlan { fresh, ..tiny_plan() }).unwrap_err();
        assert!(matches!(error, Error::Running(_)), "{error:?}");
    }
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    interrupted_since(&url);
    let refused = at_rest(|| load_quietly(&url, tiny_plan()));
    assert!(matches!(refused, Err(Error::Interrupted { .. })), "{refused:?}");
    at_rest(|| load_quietly(&url, LoadPlan { fresh: true, ..tiny_plan() })).unwrap();
    assert_eq!(names(folder.path()), BTreeSet::from(["b.db".to_owned()]));
}

#[test]
fn a_restored_database_is_the_one_that_was_copied() {
    let folder = tempfile::tempdir().unwrap();
    let from = tiny(folder.path());
    let to = SqliteUrl::file(folder.path().join("copy.db"));
    let orders = |url: &SqliteUrl| {
        let conn = Connection::open(&url.path).unwrap();
        conn.query_row("select count(*) from orders", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let other = SqliteUrl { journal: sql::Journal::Truncate, ..to.clone() };
    for (url, mode) in [(&other, "delete"), (&to, "wal")] {
        store(&from).copy_to(url, false).unwrap();
        let conn = Connection::open(&url.path).unwrap();
        let stored: String = conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(stored, mode);
    }
    run_calls(&to, Cardinality::tiny(), 100);
    assert!(orders(&to) > orders(&from));
    // A log that a killed server left would be read into whatever stands next to it.
    fs::write(folder.path().join("copy.db-wal"), "left").unwrap();
    store(&from).copy_to(&to, false).unwrap();
    assert_eq!(orders(&to), orders(&from));
    assert_eq!(store(&to).inspect().unwrap(), store(&from).inspect().unwrap());
    store(&to).remove().unwrap();
    store(&to).remove().unwrap();
    assert_eq!(store(&to).inspect().unwrap(), Found::Absent);
    assert_eq!(names(folder.path()), BTreeSet::from(["tiny.db".to_owned()]));
}

#[test]
fn a_log_that_a_reader_needs_is_not_left_out_of_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let url = SqliteUrl { busy_ms: 0, ..tiny(folder.path()) };
    let reader = Connection::open(&url.path).unwrap();
    reader.execute_batch("begin; select count(*) from item").unwrap();
    support::execute(&url, "update item set i_price = 1");
    let to = SqliteUrl::file(folder.path().join("copy.db"));
    let error = store(&url).copy_to(&to, false).unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
    drop(reader);
    store(&url).copy_to(&to, false).unwrap();
    let conn = Connection::open(&to.path).unwrap();
    let price: i64 = conn.query_row("select max(i_price) from item", [], |row| row.get(0)).unwrap();
    assert_eq!(price, 1);
}
