//! What a statement costs through sqlx and through tokio-postgres, side by side on one private PostgreSQL, and a
//! transaction of three. Turn about, so that whatever else the machine does meets both.
//!
//! `cargo run --release -p stackmark-adapter-sqlx --example statement_cost`
#![allow(clippy::unwrap_used, reason = "a measurement that fails has nothing to say")]

use adapter_sqlx::SqlxPostgres;
use adapter_tokio_postgres::PostgresOpener;
use measure::Monotonic;
use model::{Clock as _, Fault};
use sql::{Param, ServerUrl, SqlConn, SqlOpener as _, StmtId, TxKind};

const READ: StmtId = StmtId(0);
const ADD: StmtId = StmtId(1);
const STATEMENTS: [&str; 2] = [
    "select id, abalance, filler from t where id = ?1",
    "update t set abalance = abalance + ?2 where id = ?1",
];
/// Many short turns: the median then lies in a moment when nobody else had the core.
const TURNS: usize = 401;
const STATEMENTS_A_TURN: i64 = 150;
const ROWS: i64 = 1_000;

async fn reads(conn: &mut impl SqlConn) -> Result<(), Fault> {
    conn.begin(TxKind::Read).await?;
    for number in 0..STATEMENTS_A_TURN {
        let id = Param::Int(1 + number % ROWS);
        conn.row(READ, &[id], |row| Ok(row.int(0)? + row.int(1)? + row.text(2)?.len() as i64)).await?;
    }
    conn.commit().await
}

/// Three statements and a commit that waits for no disk.
async fn transactions(conn: &mut impl SqlConn) -> Result<(), Fault> {
    for number in 0..STATEMENTS_A_TURN / 3 {
        let id = Param::Int(1 + number % ROWS);
        conn.begin(TxKind::Write).await?;
        conn.exec(ADD, &[id, Param::Int(1)]).await?;
        conn.row(READ, &[id], |row| row.int(1)).await?;
        conn.exec(ADD, &[id, Param::Int(-1)]).await?;
        conn.commit().await?;
    }
    Ok(())
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

async fn compare(url: &ServerUrl, clock: Monotonic) {
    let statements = STATEMENTS.map(String::from).to_vec();
    let mut tokio = PostgresOpener::reach(url, statements.clone()).await.unwrap().open().await.unwrap();
    let mut sqlx = SqlxPostgres::reach(url, statements).await.unwrap().open().await.unwrap();
    let micros = |started| (clock.now() - started).0 as f64 / 1e3;
    let (mut by, mut ratios) = ([const { Vec::new() }; 4], [const { Vec::new() }; 2]);
    for turn in 0..TURNS {
        let mut cost = [0.0; 4];
        // Each goes first as often as the other.
        for second in [turn % 2 == 1, turn % 2 == 0] {
            let started = clock.now();
            if second {
                reads(&mut sqlx).await.unwrap()
            } else {
                reads(&mut tokio).await.unwrap()
            }
            cost[usize::from(second)] = micros(started) / STATEMENTS_A_TURN as f64;
            let started = clock.now();
            if second {
                transactions(&mut sqlx).await.unwrap()
            } else {
                transactions(&mut tokio).await.unwrap()
            }
            cost[2 + usize::from(second)] = micros(started) / (STATEMENTS_A_TURN / 3) as f64;
        }
        by.iter_mut().zip(cost).for_each(|(all, figure)| all.push(figure));
        ratios[0].push(cost[1] / cost[0]);
        ratios[1].push(cost[3] / cost[2]);
    }
    let [tokio_read, sqlx_read, tokio_tx, sqlx_tx] = by.map(median);
    let [read, tx] = ratios.map(median);
    eprintln!("point read   tokio-postgres {tokio_read:6.1} µs   sqlx {sqlx_read:6.1} µs   ratio {read:.3}");
    eprintln!("transaction  tokio-postgres {tokio_tx:6.1} µs   sqlx {sqlx_tx:6.1} µs   ratio {tx:.3}");
}

fn main() {
    let settings = vec![("synchronous_commit".to_owned(), "off".to_owned())];
    let options = rig::Options { settings, ..rig::Options::default() };
    let server = rig::start(rig::Engine::Postgres, &options).unwrap();
    server.create_database("cost").unwrap();
    let table = format!(
        "create table t (id integer primary key, abalance integer not null, filler char(84)); \
         insert into t select id, 0, 'x' from generate_series(1, {ROWS}) as id"
    );
    server.client("cost", &table).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(compare(&server.url("cost"), Monotonic::start()));
}
