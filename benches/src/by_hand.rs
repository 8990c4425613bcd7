//! TPC-C as a careful engineer would write it straight against rusqlite: the same statements, prepared once, and the same
//! answers. It is what our seam and our load generator are measured against.

mod others;

use arrayvec::ArrayVec;
use model::{BasisPoints, Cents};
use rusqlite::{Connection, OptionalExtension, Result, Row, Statement, params};
use workload_tpcc::{Call, NewOrder, Outcome, Placed, PlacedLine, Stmt, Text, Unused, order_total};

macro_rules! by_hand {
    ($($field:ident = $stmt:ident),+ $(,)?) => {
        /// The prepared statements of the five transactions.
        #[derive(Debug)]
        pub struct ByHand<'a> {
            begin_read: Statement<'a>,
            begin_write: Statement<'a>,
            commit: Statement<'a>,
            rollback: Statement<'a>,
            $($field: Statement<'a>,)+
            /// Customers that share a last name.
            namesakes: Vec<u32>,
        }

        impl<'a> ByHand<'a> {
            /// Prepares on a loaded database. `texts` are the statements in the order of [`Stmt`].
            pub fn prepare(connection: &'a Connection, texts: &[String]) -> Result<ByHand<'a>> {
                let prepare = |stmt: Stmt| connection.prepare(&texts[usize::from(stmt.id().0)]);
                Ok(ByHand {
                    $($field: prepare(Stmt::$stmt)?,)+
                    begin_read: connection.prepare("begin deferred")?,
                    begin_write: connection.prepare("begin immediate")?,
                    commit: connection.prepare("commit")?,
                    rollback: connection.prepare("rollback")?,
                    namesakes: Vec::with_capacity(256),
                })
            }
        }
    };
}

by_hand! {
    warehouse_tax = WarehouseTax,
    claim_order_id = ClaimOrderId,
    customer_terms = CustomerTerms,
    insert_order = InsertOrder,
    insert_new_order = InsertNewOrder,
    read_item = ReadItem,
    read_stock = ReadStock,
    update_stock = UpdateStock,
    insert_order_line = InsertOrderLine,
    pay_warehouse = PayWarehouse,
    pay_district = PayDistrict,
    customers_by_name = CustomersByName,
    read_customer = ReadCustomer,
    read_customer_data = ReadCustomerData,
    pay_customer = PayCustomer,
    pay_customer_with_data = PayCustomerWithData,
    insert_history = InsertHistory,
    customer_status = CustomerStatus,
    newest_order = NewestOrder,
    order_lines = OrderLines,
    oldest_new_order = OldestNewOrder,
    delete_new_order = DeleteNewOrder,
    carry_order = CarryOrder,
    deliver_lines = DeliverLines,
    sum_lines = SumLines,
    credit_customer = CreditCustomer,
    next_order_id = NextOrderId,
    low_stock = LowStock,
}

fn text<const N: usize>(row: &Row<'_>, index: usize) -> Result<Text<N>> {
    Ok(Text::from(row.get_ref(index)?.as_str()?).expect("the schema's lengths"))
}

fn original(row: &Row<'_>, index: usize) -> Result<bool> {
    Ok(row.get_ref(index)?.as_str()?.contains("ORIGINAL"))
}

impl ByHand<'_> {
    /// Any of the five.
    pub fn run(&mut self, call: &Call) -> Result<Outcome> {
        match call {
            Call::NewOrder(call) => self.new_order(call),
            Call::Payment(call) => self.payment(call),
            Call::OrderStatus(call) => self.order_status(call),
            Call::Delivery(call) => self.delivery(call),
            Call::StockLevel(call) => self.stock_level(call),
        }
    }

    /// Begins what [`ByHand::end`] ends: for reads of their own.
    pub fn begin(&mut self) -> Result<()> {
        self.begin_read.execute([]).map(drop)
    }

    /// Ends it.
    pub fn end(&mut self) -> Result<()> {
        self.commit.execute([]).map(drop)
    }

    /// An item by its number: price, name and whether it is an original.
    #[inline]
    pub fn item(&mut self, i_id: u32) -> Result<Option<(Cents, Text<24>, bool)>> {
        self.read_item
            .query_row([i_id], |row| Ok((Cents(row.get(0)?), text(row, 1)?, original(row, 2)?)))
            .optional()
    }

    fn new_order(&mut self, call: &NewOrder) -> Result<Outcome> {
        let &NewOrder { w_id, d_id, c_id, ref lines } = call;
        self.begin_write.execute([])?;
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
            let item = self.item(line.i_id)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use adapter_rusqlite::{Lane, SqliteConn};
    use measure::Monotonic;
    use model::{CallWork, Inputs as _, Session};
    use sql::Dialect;
    use workload_tpcc::{Cardinality, Data, Inputs, SqlSession, catalogue};

    /// What does not depend on the second in which it was answered.
    fn timeless(mut outcome: Outcome) -> Outcome {
        match &mut outcome {
            Outcome::Placed(placed) => placed.o_entry_d = 0,
            Outcome::Paid(paid) => paid.h_date = 0,
            Outcome::Status(report) => {
                report.o_entry_d = 0;
                report.lines.iter_mut().for_each(|line| line.ol_delivery_d = line.ol_delivery_d.map(|_| 0));
            }
            Outcome::Unused(_) | Outcome::Delivered(_) | Outcome::Short(_) => {}
        }
        outcome
    }

    #[test]
    fn by_hand_answers_as_the_seam_does() {
        let (size, texts) = (Cardinality::tiny(), catalogue(Dialect::Sqlite).unwrap());
        let database = || {
            let connection = Connection::open_in_memory().unwrap();
            crate::memory::load(&connection, size, 1);
            connection
        };
        let connection = database();
        let mut by_hand = ByHand::prepare(&connection, &texts).unwrap();
        let conn = SqliteConn::prepare(database(), &texts, Lane::new(false), Monotonic::start()).unwrap();
        let mut session = SqlSession::new(conn, Monotonic::start());
        let mut inputs = Inputs::new(size, Data::c_load_of(1), 1, 0);
        for _ in 0..2_300 {
            let call = inputs.draw();
            let ours = crate::at_once(session.run(&call, &mut CallWork::default())).unwrap();
            assert_eq!(timeless(by_hand.run(&call).unwrap()), timeless(ours), "{call:?}");
        }
    }
}
