//! New-Order on PostgreSQL, straight through tokio-postgres.

use super::{ByHand, Result};
use adapter_tokio_postgres::{Connected, Link, connect_to_write};
use arrayvec::ArrayVec;
use model::{BasisPoints, Cents};
use sql::{Dialect, ServerUrl, dollars};
use std::error::Error as StdError;
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};
use workload_tpcc::{
    LINES_MAX, Line, NewOrder, Outcome, Placed, PlacedLine, Stmt, Text, Unused, catalogue, order_total,
};

/// New-Order as one would write it straight against tokio-postgres, with its connection polled in place, as ours is: a task
/// of its own for the connection would only make it slower.
pub(super) struct Postgres {
    client: Client,
    link: Link,
    statements: Vec<Statement>,
    begin: Statement,
    commit: Statement,
    rollback: Statement,
}

/// A decimal of at most four digits behind its point, in ten-thousandths.
struct Decimal(i64);

impl<'a> FromSql<'a> for Decimal {
    fn from_sql(_: &Type, raw: &'a [u8]) -> std::result::Result<Decimal, Box<dyn StdError + Sync + Send>> {
        let word = |at: usize| i64::from(i16::from_be_bytes([raw[at], raw[at + 1]]));
        let mut value = (0..word(0) as usize).fold(0, |sum, at| sum * 10_000 + word(8 + 2 * at));
        (word(0)..word(2) + 2).for_each(|_| value *= 10_000);
        Ok(Decimal(value))
    }
    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A timestamp, as seconds since 1970.
struct Seconds(i64);

impl<'a> FromSql<'a> for Seconds {
    fn from_sql(_: &Type, raw: &'a [u8]) -> std::result::Result<Seconds, Box<dyn StdError + Sync + Send>> {
        Ok(Seconds(i64::from_be_bytes(raw.try_into()?).div_euclid(1_000_000) + 946_684_800))
    }
    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A decimal on its way in.
#[derive(Debug)]
struct Money(i64);

impl tokio_postgres::types::ToSql for Money {
    fn to_sql(
        &self,
        _: &Type,
        into: &mut bytes::BytesMut,
    ) -> std::result::Result<tokio_postgres::types::IsNull, Box<dyn StdError + Sync + Send>> {
        use bytes::BufMut as _;
        // At most 9,999.99, as amounts of lines are.
        into.put_slice(&[0, 2, 0, 0, 0, 0, 0, 2]);
        into.put_i16((self.0 / 100) as i16);
        into.put_i16((self.0 % 100 * 100) as i16);
        Ok(tokio_postgres::types::IsNull::No)
    }
    fn accepts(_: &Type) -> bool {
        true
    }
    tokio_postgres::types::to_sql_checked!();
}

type Params<'a> = &'a [&'a (dyn tokio_postgres::types::ToSql + Sync)];

impl Postgres {
    pub(super) async fn open(url: &ServerUrl) -> Result<Postgres> {
        let Connected { client, mut link, .. } = connect_to_write(url).await?;
        let mut statements = Vec::new();
        for text in catalogue(Dialect::Postgres)? {
            statements.push(link.until(client.prepare(&dollars(&text))).await?);
        }
        let begin = link.until(client.prepare("begin")).await?;
        let commit = link.until(client.prepare("commit")).await?;
        let rollback = link.until(client.prepare("rollback")).await?;
        Ok(Postgres { client, link, statements, begin, commit, rollback })
    }

    async fn one(&mut self, stmt: Stmt, params: Params<'_>) -> std::result::Result<Option<Row>, Error> {
        self.link.until(self.client.query_opt(&self.statements[stmt as usize], params)).await
    }

    async fn exec(&mut self, stmt: Stmt, params: Params<'_>) -> std::result::Result<u64, Error> {
        self.link.until(self.client.execute(&self.statements[stmt as usize], params)).await
    }
}

impl ByHand for Postgres {
    async fn new_order(&mut self, call: &NewOrder) -> Result<Outcome> {
        let (w_id, d_id, c_id) = (call.w_id as i32, call.d_id as i16, call.c_id as i32);
        self.link.until(self.client.execute(&self.begin, &[])).await?;
        let missing = "a row must be there";
        let row = self.one(Stmt::WarehouseTax, &[&w_id]).await?.ok_or(missing)?;
        let w_tax = rate(&row, 0)?;
        let row = self.one(Stmt::ClaimOrderId, &[&w_id, &d_id]).await?.ok_or(missing)?;
        let (o_id, d_tax) = (row.try_get::<_, i32>(0)?, rate(&row, 1)?);
        let row = self.one(Stmt::CustomerTerms, &[&w_id, &d_id, &c_id]).await?.ok_or(missing)?;
        let (c_discount, c_last, c_credit) = (rate(&row, 0)?, text(&row, 1)?, text(&row, 2)?);
        let (count, all_local) = (call.lines.len() as i16, i16::from(call.all_local()));
        let order: Params<'_> = &[&w_id, &d_id, &o_id, &c_id, &count, &all_local];
        let row = self.one(Stmt::InsertOrder, order).await?.ok_or(missing)?;
        let Seconds(o_entry_d) = row.try_get(0)?;
        self.exec(Stmt::InsertNewOrder, &[&w_id, &d_id, &o_id]).await?;
        let mut order: ArrayVec<usize, LINES_MAX> = (0..call.lines.len()).collect();
        order.sort_unstable_by_key(|index| (call.lines[*index].i_id, call.lines[*index].supply_w_id, *index));
        let mut lines = [const { None::<PlacedLine> }; LINES_MAX];
        let mut amounts = Cents(0);
        for index in order {
            let Line { i_id, supply_w_id, quantity } = call.lines[index];
            let (i_id, supply, quantity) = (i_id as i32, supply_w_id as i32, quantity as i16);
            let Some(item) = self.one(Stmt::ReadItem, &[&i_id]).await? else {
                self.link.until(self.client.execute(&self.rollback, &[])).await?;
                return Ok(Outcome::Unused(Unused { o_id: o_id as u32, c_last, c_credit }));
            };
            let (i_price, i_name) = (Cents(item.try_get::<_, Decimal>(0)?.0 / 100), text(&item, 1)?);
            let i_original = item.try_get::<_, &str>(2)?.contains("ORIGINAL");
            let district = i32::from(d_id);
            let stock = self.one(Stmt::ReadStock, &[&supply, &i_id, &district]).await?.ok_or(missing)?;
            let s_original = stock.try_get::<_, &str>(1)?.contains("ORIGINAL");
            let ol_dist_info: &str = stock.try_get(2)?;
            let mut left = stock.try_get::<_, i16>(0)? - quantity;
            left += if left >= 10 { 0 } else { 91 };
            let (ytd, remote) = (i32::from(quantity), i32::from(supply != w_id));
            self.exec(Stmt::UpdateStock, &[&supply, &i_id, &left, &ytd, &remote]).await?;
            let ol_amount = i_price.times(i64::from(quantity));
            amounts += ol_amount;
            let (number, amount) = (index as i16 + 1, Money(ol_amount.0));
            let line: Params<'_> =
                &[&w_id, &d_id, &o_id, &number, &i_id, &supply, &quantity, &amount, &ol_dist_info];
            self.exec(Stmt::InsertOrderLine, line).await?;
            let brand_generic =
                Text::from(if i_original && s_original { "B" } else { "G" }).expect("one letter");
            let s_quantity = i64::from(left);
            lines[index] = Some(PlacedLine { i_name, i_price, s_quantity, brand_generic, ol_amount });
        }
        self.link.until(self.client.execute(&self.commit, &[])).await?;
        let total_amount = order_total(amounts, c_discount, w_tax, d_tax);
        let lines = lines.into_iter().flatten().collect();
        Ok(Outcome::Placed(Placed {
            o_id: o_id as u32,
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

fn rate(row: &Row, index: usize) -> Result<BasisPoints> {
    Ok(BasisPoints(row.try_get::<_, Decimal>(index)?.0))
}

fn text<const N: usize>(row: &Row, index: usize) -> Result<Text<N>> {
    Text::from(row.try_get::<_, &str>(index)?).map_err(|_| "a text is longer than its column".into())
}
