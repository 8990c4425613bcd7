//! New-Order on MariaDB, straight through mysql_async.

use super::ByHand;
use arrayvec::ArrayVec;
use model::{BasisPoints, Cents};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Result, Row, Statement, Value};
use sql::positional;
use workload_tpcc::{LINES_MAX, NewOrder, Outcome, Placed, PlacedLine, Stmt, Text, Unused, order_total};

/// New-Order as a careful engineer would write it straight against mysql_async.
pub(super) struct MariaDb {
    conn: Conn,
    statements: Vec<Statement>,
    /// Which parameter belongs to each question mark of `read_stock`, where they are not in order.
    stock_district_first: bool,
}

impl MariaDb {
    pub(super) async fn prepare(mut conn: Conn, texts: &[String]) -> Result<MariaDb> {
        let mut statements = Vec::new();
        for text in texts {
            statements.push(conn.prep(positional(text).text).await?);
        }
        let order = positional(&texts[Stmt::ReadStock as usize]).order;
        Ok(MariaDb { conn, statements, stock_district_first: order == [2, 0, 1] })
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
}

impl ByHand for MariaDb {
    async fn new_order(&mut self, call: &NewOrder) -> super::Result<Outcome> {
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
