//! New-Order as a careful engineer would write it straight against rusqlite: the same statements, prepared once, and the
//! same answer. It is what our seam is measured against.

use arrayvec::ArrayVec;
use model::{BasisPoints, Cents};
use rusqlite::{Connection, OptionalExtension, Result, Row, Statement, params};
use workload_tpcc::{NewOrder, Outcome, Placed, PlacedLine, Stmt, Text, Unused, order_total};

/// The prepared statements of New-Order.
#[derive(Debug)]
pub struct ByHand<'a> {
    begin: Statement<'a>,
    commit: Statement<'a>,
    rollback: Statement<'a>,
    warehouse_tax: Statement<'a>,
    claim_order_id: Statement<'a>,
    customer_terms: Statement<'a>,
    insert_order: Statement<'a>,
    insert_new_order: Statement<'a>,
    read_item: Statement<'a>,
    read_stock: Statement<'a>,
    update_stock: Statement<'a>,
    insert_order_line: Statement<'a>,
    /// A service holds the statements of its other transactions too, and they take SQLite's lookaside memory.
    _others: Vec<Statement<'a>>,
}

fn text<const N: usize>(row: &Row<'_>, index: usize) -> Result<Text<N>> {
    Ok(Text::from(row.get_ref(index)?.as_str()?).expect("the schema's lengths"))
}

fn original(row: &Row<'_>, index: usize) -> Result<bool> {
    Ok(row.get_ref(index)?.as_str()?.contains("ORIGINAL"))
}

impl<'a> ByHand<'a> {
    /// Prepares on a loaded database. `texts` are the statements in the order of [`Stmt`].
    ///
    /// # Errors
    /// Whatever SQLite says.
    pub fn prepare(connection: &'a Connection, texts: &[String]) -> Result<ByHand<'a>> {
        let prepare = |stmt: Stmt| connection.prepare(&texts[usize::from(stmt.id().0)]);
        Ok(ByHand {
            begin: connection.prepare("begin immediate")?,
            commit: connection.prepare("commit")?,
            rollback: connection.prepare("rollback")?,
            warehouse_tax: prepare(Stmt::WarehouseTax)?,
            claim_order_id: prepare(Stmt::ClaimOrderId)?,
            customer_terms: prepare(Stmt::CustomerTerms)?,
            insert_order: prepare(Stmt::InsertOrder)?,
            insert_new_order: prepare(Stmt::InsertNewOrder)?,
            read_item: prepare(Stmt::ReadItem)?,
            read_stock: prepare(Stmt::ReadStock)?,
            update_stock: prepare(Stmt::UpdateStock)?,
            insert_order_line: prepare(Stmt::InsertOrderLine)?,
            _others: texts[usize::from(Stmt::InsertOrderLine.id().0) + 1..]
                .iter()
                .map(|text| connection.prepare(text))
                .collect::<Result<_>>()?,
        })
    }

    /// The transaction.
    ///
    /// # Errors
    /// Whatever SQLite says.
    pub fn new_order(&mut self, call: &NewOrder) -> Result<Outcome> {
        let &NewOrder { w_id, d_id, c_id, ref lines } = call;
        self.begin.execute([])?;
        let w_tax = BasisPoints(self.warehouse_tax.query_row([w_id], |row| row.get(0))?);
        let (o_id, d_tax): (u32, _) =
            self.claim_order_id.query_row([w_id, d_id], |row| Ok((row.get(0)?, BasisPoints(row.get(1)?))))?;
        let (c_discount, c_last, c_credit) = self.customer_terms.query_row([w_id, d_id, c_id], |row| {
            Ok((BasisPoints(row.get(0)?), text(row, 1)?, text(row, 2)?))
        })?;
        let o_entry_d = self
            .insert_order
            .query_row(params![w_id, d_id, o_id, c_id, lines.len() as i64, call.all_local()], |row| {
                row.get(0)
            })?;
        self.insert_new_order.execute([w_id, d_id, o_id])?;
        let mut placed = ArrayVec::new();
        let mut amounts = Cents(0);
        for (number, line) in (1_i64..).zip(lines) {
            let item = self
                .read_item
                .query_row([line.i_id], |row| Ok((Cents(row.get(0)?), text(row, 1)?, original(row, 2)?)))
                .optional()?;
            let Some((i_price, i_name, i_original)) = item else {
                self.rollback.execute([])?;
                return Ok(Outcome::Unused(Unused { o_id, c_last, c_credit }));
            };
            let (in_stock, s_original, dist_info): (i64, bool, Text<24>) =
                self.read_stock.query_row([line.supply_w_id, line.i_id, d_id], |row| {
                    Ok((row.get(0)?, original(row, 1)?, text(row, 2)?))
                })?;
            let ordered = i64::from(line.quantity);
            let left = in_stock - ordered;
            let s_quantity = if left >= 10 { left } else { left + 91 };
            let remote = line.supply_w_id != w_id;
            self.update_stock.execute(params![line.supply_w_id, line.i_id, s_quantity, ordered, remote])?;
            let ol_amount = i_price.times(ordered);
            amounts += ol_amount;
            self.insert_order_line.execute(params![
                w_id,
                d_id,
                o_id,
                number,
                line.i_id,
                line.supply_w_id,
                ordered,
                ol_amount.0,
                dist_info.as_str()
            ])?;
            let brand_generic =
                Text::from(if i_original && s_original { "B" } else { "G" }).expect("one letter");
            placed.push(PlacedLine { i_name, i_price, s_quantity, brand_generic, ol_amount });
        }
        self.commit.execute([])?;
        let total_amount = order_total(amounts, c_discount, w_tax, d_tax);
        let lines = placed;
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
