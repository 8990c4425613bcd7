//! What the inner seam costs on MariaDB: whole New-Orders through `SqlSession` and our adapter against the same statements
//! with the same answers straight through mysql_async, in turn, on one connection each.
//!
//! On a private MariaDB, generator and server on the same core. The wall's time says what a call costs; CPU time of
//! this thread, which does nothing else, says what the client's side of it costs, and there the server's share does not
//! hide ours. The goal is set on both. Styles and clients side by side are in `styles_mysql`.

use adapter_mysql_async::{MySqlConn, connect};
use arrayvec::ArrayVec;
use measure::{Monotonic, thread_cpu};
use model::{BasisPoints, CallWork, Cents, Clock, Inputs as _, Session};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Result, Row, Statement, Value};
use rig::Engine;
use sql::{Dialect, ServerUrl, positional};
use stackmark_benches::data::LOAD_SEED;
use stackmark_benches::pairs::{Ratio, Side, turns};
use stackmark_benches::{engine, output, process};
use std::hint::black_box;
use tokio::runtime::{Builder, LocalOptions};
use workload_tpcc::{
    Call, Cardinality, Data, Inputs, LINES_MAX, NewOrder, Outcome, Placed, PlacedLine, SqlSession, Stmt,
    Text, Unused, catalogue, order_total,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WAREHOUSES: u32 = 2;
/// Pairs of batches, and those at the beginning that are not counted.
const PAIRS: usize = 300;
const WARM_UP: usize = 20;
const ORDERS_A_BATCH: usize = 10;
/// What our seam may cost (architecture, section 6).
const RATIO_MAX: f64 = 1.01;

fn main() {
    process::keep_on_one_core();
    let Some(server) = engine::start(Engine::MariaDb) else { return };
    let (url, _) = engine::load(&server, "tpcc", engine::tpcc(Dialect::MySql, WAREHOUSES));
    // As the load generator runs its sessions: all on one thread.
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
    runtime.expect("the system gives a runtime").block_on(tax(&url));
}

fn texts() -> Vec<String> {
    catalogue(Dialect::MySql).expect("kept valid by a test")
}

/// Both sides take the same calls one after the other, so that neither finds other rows than the other did.
async fn tax(url: &ServerUrl) {
    let clock = Monotonic::start();
    let conn = || async { connect(url).await.expect("the server was started for us") };
    let mut by_hand = ByHand::prepare(conn().await, &texts()).await.expect("kept valid by a test");
    let prepared = MySqlConn::prepare(conn().await, &texts(), "here").await.expect("kept valid by a test");
    let mut seam = SqlSession::new(prepared, clock);
    let calls: Vec<Call> = {
        let mut inputs = Inputs::new(Cardinality::standard(WAREHOUSES), Data::c_load_of(LOAD_SEED), 1, 0);
        std::iter::from_fn(|| Some(inputs.draw()))
            .filter(|call| matches!(call, Call::NewOrder(_)))
            .take((WARM_UP + PAIRS) * ORDERS_A_BATCH)
            .collect()
    };
    // Wall and CPU seconds of the batches, by hand and through the seam.
    let mut spent: [[Vec<f64>; 2]; 2] = Default::default();
    for (pair, sides) in turns(WARM_UP + PAIRS).enumerate() {
        let batch = &calls[pair * ORDERS_A_BATCH..][..ORDERS_A_BATCH];
        for side in sides {
            let (wall, cpu) = (clock.now(), thread_cpu());
            for call in batch {
                match (side, call) {
                    (Side::A, Call::NewOrder(order)) => {
                        drop(black_box(by_hand.new_order(order).await.expect("no one else is there")));
                    }
                    _ => {
                        let outcome = seam.run(call, &mut CallWork::default()).await;
                        drop(black_box(outcome.expect("no one else is there")));
                    }
                }
            }
            let (wall, cpu) = (clock.now() - wall, thread_cpu() - cpu);
            if pair >= WARM_UP {
                spent[0][side as usize].push(wall.as_secs_f64());
                spent[1][side as usize].push(cpu.as_secs_f64());
            }
        }
    }
    output::title(
        "New-Order through our SQL seam against mysql_async by hand, private MariaDB, one client, unix socket",
    );
    for (what, [a, b]) in ["time", "CPU time of the client"].into_iter().zip(&spent) {
        let micros = |figures: &[f64]| {
            let each: Vec<f64> =
                figures.iter().map(|seconds| seconds / ORDERS_A_BATCH as f64 * 1e6).collect();
            format!("{} µs", output::spread(&each, 0))
        };
        output::figure(&format!("{what}, by hand"), &micros(a));
        output::figure(&format!("{what}, our seam"), &micros(b));
        let ratio = Ratio::of(a, b);
        output::ratio("  ratio", ratio);
        output::goal(&format!("at most {:.0} %", RATIO_MAX * 100.0), ratio.median <= RATIO_MAX);
    }
}

/// New-Order as a careful engineer would write it straight against mysql_async.
struct ByHand {
    conn: Conn,
    statements: Vec<Statement>,
    /// Which parameter belongs to each question mark of `read_stock`, where they are not in order.
    stock_district_first: bool,
}

impl ByHand {
    async fn prepare(mut conn: Conn, texts: &[String]) -> Result<ByHand> {
        let mut statements = Vec::new();
        for text in texts {
            statements.push(conn.prep(positional(text).text).await?);
        }
        let order = positional(&texts[Stmt::ReadStock as usize]).order;
        Ok(ByHand { conn, statements, stock_district_first: order == [2, 0, 1] })
    }

    async fn row(&mut self, stmt: Stmt, params: Vec<Value>) -> Result<Row> {
        Ok(self.maybe(stmt, params).await?.expect("the row is there"))
    }

    async fn maybe(&mut self, stmt: Stmt, params: Vec<Value>) -> Result<Option<Row>> {
        self.conn.exec_first(&self.statements[stmt as usize], params).await
    }

    async fn change(&mut self, stmt: Stmt, params: Vec<Value>) -> Result<()> {
        self.conn.exec_drop(&self.statements[stmt as usize], params).await
    }

    async fn new_order(&mut self, call: &NewOrder) -> Result<Outcome> {
        let &NewOrder { w_id, d_id, c_id, ref lines } = call;
        let district = || vec![w_id.into(), d_id.into()];
        self.conn.query_drop("start transaction").await?;
        let w_tax = rate_of(&self.row(Stmt::WarehouseTax, vec![w_id.into()]).await?, 0);
        self.change(Stmt::ClaimOrderId, district()).await?;
        let row = self.row(Stmt::ReadClaim, district()).await?;
        let (o_id, d_tax) = (row.get::<u32, _>(0).expect("a number"), rate_of(&row, 1));
        let row = self.row(Stmt::CustomerTerms, vec![w_id.into(), d_id.into(), c_id.into()]).await?;
        let (c_discount, c_last, c_credit) = (rate_of(&row, 0), text(&row, 1), text(&row, 2));
        let order = vec![
            w_id.into(),
            d_id.into(),
            o_id.into(),
            c_id.into(),
            (lines.len() as i64).into(),
            i64::from(call.all_local()).into(),
        ];
        let row = self.row(Stmt::InsertOrder, order).await?;
        let Some(Value::Date(_, _, _, hour, minute, second, _)) = row.as_ref(0) else {
            unreachable!("a date")
        };
        let o_entry_d = i64::from(*hour) * 3_600 + i64::from(*minute) * 60 + i64::from(*second);
        self.change(Stmt::InsertNewOrder, vec![w_id.into(), d_id.into(), o_id.into()]).await?;

        let mut order: ArrayVec<usize, LINES_MAX> = (0..lines.len()).collect();
        order.sort_by_key(|index| (lines[*index].i_id, lines[*index].supply_w_id, *index));
        let mut taken = [const { None::<PlacedLine> }; LINES_MAX];
        let mut amounts = Cents(0);
        for index in order {
            let line = &lines[index];
            let Some(item) = self.maybe(Stmt::ReadItem, vec![line.i_id.into()]).await? else {
                self.conn.query_drop("rollback").await?;
                return Ok(Outcome::Unused(Unused { o_id, c_last, c_credit }));
            };
            let i_price = Cents(decimal(&item, 0, 2));
            let supply = line.supply_w_id;
            let stock = if self.stock_district_first {
                vec![d_id.into(), supply.into(), line.i_id.into()]
            } else {
                vec![supply.into(), line.i_id.into(), d_id.into()]
            };
            let stock = self.row(Stmt::ReadStock, stock).await?;
            let (in_stock, ordered) = (stock.get::<i64, _>(0).expect("a number"), i64::from(line.quantity));
            let s_quantity =
                if in_stock - ordered >= 10 { in_stock - ordered } else { in_stock - ordered + 91 };
            let remote = i64::from(supply != w_id);
            // In the order of the question marks of `update_stock`.
            let update =
                vec![s_quantity.into(), ordered.into(), remote.into(), supply.into(), line.i_id.into()];
            self.change(Stmt::UpdateStock, update).await?;
            let ol_amount = i_price.times(ordered);
            let insert = vec![
                w_id.into(),
                d_id.into(),
                o_id.into(),
                (index as i64 + 1).into(),
                line.i_id.into(),
                supply.into(),
                ordered.into(),
                format!("{}.{:02}", ol_amount.0 / 100, ol_amount.0 % 100).into(),
                Value::Bytes(bytes(&stock, 2).to_vec()),
            ];
            self.change(Stmt::InsertOrderLine, insert).await?;
            amounts += ol_amount;
            let original = |row: &Row, index| bytes(row, index).windows(8).any(|part| part == b"ORIGINAL");
            let brand = if original(&item, 2) && original(&stock, 1) { "B" } else { "G" };
            let brand_generic = Text::from(brand).expect("one letter");
            taken[index] =
                Some(PlacedLine { i_name: text(&item, 1), i_price, s_quantity, brand_generic, ol_amount });
        }
        self.conn.query_drop("commit").await?;
        let total_amount = order_total(amounts, c_discount, w_tax, d_tax);
        let lines = taken.into_iter().flatten().collect();
        Ok(Outcome::Placed(Placed {
            o_id,
            o_entry_d,
            c_last,
            c_credit,
            c_discount,
            w_tax,
            d_tax,
            total_amount,
            lines,
        }))
    }
}

fn bytes(row: &Row, index: usize) -> &[u8] {
    match row.as_ref(index) {
        Some(Value::Bytes(bytes)) => bytes,
        other => unreachable!("a text, not {other:?}"),
    }
}

fn text<const N: usize>(row: &Row, index: usize) -> Text<N> {
    Text::from(std::str::from_utf8(bytes(row, index)).expect("UTF-8")).expect("the schema's lengths")
}

/// A decimal that has exactly `digits` digits after its point.
fn decimal(row: &Row, index: usize, digits: usize) -> i64 {
    let bytes = bytes(row, index);
    debug_assert_eq!(bytes[bytes.len() - digits - 1], b'.');
    bytes
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .fold(0, |value, byte| value * 10 + i64::from(byte - b'0'))
}

fn rate_of(row: &Row, index: usize) -> BasisPoints {
    BasisPoints(decimal(row, index, 4))
}
