//! What the SQL port promises besides whole workloads, on every engine through every adapter: nulls, transactions of one
//! statement, statements for many rows.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use adapter_mysql_async::MySqlOpener;
use adapter_rusqlite::{GroupedOpener, SqliteOpener};
use adapter_sqlx::{SqlxMySql, SqlxPostgres, SqlxSqlite};
use adapter_tokio_postgres::{PostgresOpener, SimpleOpener};
use measure::Monotonic;
use model::{CallWork, Fault};
use rig::Engine;
use rig::for_tests::shared;
use sql::{Catalogue, Dialect, Param, ServerUrl, SqlConn, SqlOpener, SqliteUrl, Timed, TxKind};
use stackmark_tests::calls::runtime;
use tempfile::TempDir;

sql::statements! {
    Insert = "insert",
    InsertMany = "insert_many",
    InsertAndTell = "insert_and_tell",
    Read = "read",
    All = "all",
}

const TABLE: &str = "create table food (id integer primary key, name varchar(40), kcal integer)";

const STATEMENTS: &str = "
-- name: insert
insert into food (id, name, kcal) values (?1, ?2, ?3)

-- 500 parameters.
-- name: insert_many rows: 250
insert into food (id, kcal)
values (?1, ?2)
on conflict (id) do nothing

-- name: insert_and_tell
insert into food (id, kcal) values (?1, ?2) returning id

-- name: read
select kcal, name from food where id = ?1

-- name: all
select id, kcal from food order by id
";

const ON_MARIADB: &str = "
-- name: insert_many rows: 250
insert ignore into food (id, kcal)
values (?1, ?2)
";

const MANY: i64 = 250;

fn statements(dialect: Dialect) -> Vec<String> {
    let canonical = Catalogue::parse(STATEMENTS).unwrap();
    let own = match dialect {
        Dialect::Sqlite | Dialect::Postgres => canonical,
        Dialect::MySql => canonical.overridden(&Catalogue::parse(ON_MARIADB).unwrap()).unwrap(),
    };
    own.select(Stmt::NAMES).unwrap()
}

/// Runs one statement as a transaction and commits it.
async fn change(conn: &mut impl SqlConn, tx: TxKind, stmt: Stmt, params: &[Param<'_>]) -> Result<u64, Fault> {
    conn.begin(tx).await.unwrap();
    let changed = conn.exec(stmt.id(), params).await;
    match changed {
        Ok(_) => conn.commit().await.unwrap(),
        Err(_) => conn.rollback().await.unwrap(),
    }
    changed
}

async fn all(conn: &mut impl SqlConn) -> Vec<(i64, Option<i64>)> {
    let mut found = Vec::new();
    conn.begin(TxKind::OneRead).await.unwrap();
    let read = conn.rows(Stmt::All.id(), &[], |row| Ok((row.int(0)?, row.int_or_null(1)?)), &mut found);
    read.await.unwrap();
    conn.commit().await.unwrap();
    found
}

async fn ids(conn: &mut impl SqlConn) -> Vec<i64> {
    all(conn).await.into_iter().map(|(id, _)| id).collect()
}

fn params_of(ids: impl Iterator<Item = i64>) -> Vec<Param<'static>> {
    ids.flat_map(|id| [id.into(), if id % 2 == 0 { Some(id) } else { None }.into()]).collect()
}

async fn the_port_holds<O: SqlOpener>(opener: &O) {
    the_port_holds_with(opener, Some("leek")).await;
}

/// Without a `name` no parameter is a text: the rest holds where texts are refused.
async fn the_port_holds_with<O: SqlOpener>(opener: &O, name: Option<&str>) {
    let mut conn = opener.open().await.unwrap();
    let mut witness = opener.open().await.unwrap();
    nulls_come_back(&mut conn, name).await;
    one_statement_is_a_transaction(&mut conn, &mut witness).await;
    one_statement_counts_as_a_commit(opener.open().await.unwrap()).await;
    many_rows_are_counted_as_inserted(&mut conn, &mut witness).await;
}

async fn nulls_come_back(conn: &mut impl SqlConn, name: Option<&str>) {
    for (id, tx) in [(1_i64, TxKind::Write), (2, TxKind::OneWrite)] {
        let nothing = [id.into(), Param::from(None::<&str>), Param::from(None::<u32>)];
        assert_eq!(change(conn, tx, Stmt::Insert, &nothing).await, Ok(1));
    }
    let something = [3_i64.into(), name.into(), Some(61_i64).into()];
    assert_eq!(change(conn, TxKind::OneWrite, Stmt::Insert, &something).await, Ok(1));
    let mut found = Vec::new();
    for id in [1_i64, 2, 3] {
        conn.begin(TxKind::OneRead).await.unwrap();
        let params = [id.into()];
        let row = conn.row(Stmt::Read.id(), &params, |row| {
            assert_eq!(row.int_or_null(0)?, row.int(0).ok(), "null is not a number");
            Ok((row.int_or_null(0)?, row.text(1).ok().map(str::to_owned)))
        });
        found.push(row.await.unwrap().unwrap());
        conn.commit().await.unwrap();
    }
    assert_eq!(found, [(None, None), (None, None), (Some(61), name.map(str::to_owned))]);
}

async fn one_statement_is_a_transaction(conn: &mut impl SqlConn, witness: &mut impl SqlConn) {
    // What fails leaves nothing to undo, and the connection goes on.
    let twice = [3_i64.into(), Param::Null, Param::Null];
    let fault = change(conn, TxKind::OneWrite, Stmt::Insert, &twice).await.unwrap_err();
    assert!(matches!(fault, Fault::Defect(_)), "{fault}");
    assert_eq!(ids(conn).await, [1, 2, 3]);

    // One that gives rows is kept too.
    conn.begin(TxKind::OneWrite).await.unwrap();
    let listed = conn.row(Stmt::InsertAndTell.id(), &[4_i64.into(), Param::Null], |row| row.int(0)).await;
    assert_eq!(listed, Ok(Some(4)));
    conn.commit().await.unwrap();
    assert_eq!(ids(witness).await, [1, 2, 3, 4]);

    // It is no part of a transaction that was given up before it, which is undone.
    for (tx, lost, kept) in [(TxKind::Write, 5_i64, 6_i64), (TxKind::Read, 0, 7)] {
        conn.begin(tx).await.unwrap();
        if tx.writes() {
            let params = [lost.into(), Param::Null, Param::Null];
            assert_eq!(conn.exec(Stmt::Insert.id(), &params).await, Ok(1));
        }
        let params = [kept.into(), Param::Null, Param::Null];
        assert_eq!(change(conn, TxKind::OneWrite, Stmt::Insert, &params).await, Ok(1));
    }
    assert_eq!(ids(witness).await, [1, 2, 3, 4, 6, 7]);
}

async fn one_statement_counts_as_a_commit(conn: impl SqlConn) {
    let mut conn = Timed::new(conn, Monotonic::start());
    let params = [8_i64.into(), Param::Null, Param::Null];
    assert_eq!(change(&mut conn, TxKind::OneWrite, Stmt::Insert, &params).await, Ok(1));
    let mut work = CallWork::default();
    conn.move_into(&mut work);
    assert_eq!((work.attempts, work.statements, work.rows, work.commits), (1, 1, 1, 1));
}

async fn many_rows_are_counted_as_inserted(conn: &mut impl SqlConn, witness: &mut impl SqlConn) {
    let there = ids(witness).await.len() as u64;
    let first = params_of(1..=MANY);
    assert_eq!(first.len(), 500);
    // Those that are there already stay as they are, and are not counted.
    assert_eq!(change(conn, TxKind::OneWrite, Stmt::InsertMany, &first).await, Ok(MANY as u64 - there));
    assert_eq!(change(conn, TxKind::Write, Stmt::InsertMany, &first).await, Ok(0));
    conn.begin(TxKind::Write).await.unwrap();
    let next = params_of(101..=100 + MANY);
    assert_eq!(conn.exec(Stmt::InsertMany.id(), &next).await, Ok(100));
    conn.rollback().await.unwrap();
    let found = all(witness).await;
    assert_eq!(
        (found.len() as i64, found[2], found[8], found[9]),
        (MANY, (3, Some(61)), (9, None), (10, Some(10)))
    );
}

fn file(options: &str) -> (TempDir, SqliteUrl) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(TABLE).unwrap();
    let url = format!("sqlite:{}?{options}", path.display()).parse().unwrap();
    (folder, url)
}

/// A database with the table, through the server's port.
fn database(engine: Engine, name: &str) -> ServerUrl {
    let server = shared(engine);
    server.create_database(name).unwrap();
    server.client(name, TABLE).unwrap();
    server.tcp_url(name)
}

#[test]
fn on_sqlite_through_rusqlite() {
    for options in ["journal=wal", "journal=truncate"] {
        let (_folder, url) = file(options);
        let opener = SqliteOpener::new(&url, statements(Dialect::Sqlite), Monotonic::start()).unwrap();
        runtime().block_on(the_port_holds(&opener));
        let (_folder, url) = file(options);
        let grouped = GroupedOpener::new(&url, statements(Dialect::Sqlite), Monotonic::start()).unwrap();
        runtime().block_on(the_port_holds(&grouped));
    }
}

#[test]
fn on_sqlite_through_sqlx() {
    for options in ["journal=wal", "journal=truncate"] {
        let (_folder, url) = file(options);
        runtime().block_on(async {
            the_port_holds(&SqlxSqlite::reach(&url, statements(Dialect::Sqlite)).await.unwrap()).await;
        });
    }
}

#[test]
fn on_postgres() {
    let texts = statements(Dialect::Postgres);
    let [one, two, three] =
        ["port_tokio", "port_sqlx", "port_simple"].map(|name| database(Engine::Postgres, name));
    runtime().block_on(async {
        the_port_holds(&PostgresOpener::reach(&one, texts.clone()).await.unwrap()).await;
        the_port_holds(&SqlxPostgres::reach(&two, texts.clone()).await.unwrap()).await;
        // The simple protocol takes no texts, which a test of the adapter holds.
        the_port_holds_with(&SimpleOpener::reach(&three, texts).await.unwrap(), None).await;
    });
}

#[test]
fn on_mariadb() {
    let (texts, one, two) = (
        statements(Dialect::MySql),
        database(Engine::MariaDb, "port_async"),
        database(Engine::MariaDb, "port_sqlx"),
    );
    runtime().block_on(async {
        the_port_holds(&MySqlOpener::reach(&one, texts.clone()).await.unwrap()).await;
        the_port_holds(&SqlxMySql::reach(&two, texts).await.unwrap()).await;
    });
}
