//! The five transactions over the narrow SQL port, for every engine that speaks it one statement at a time.
//!
//! Each body reads like its clause. Dialects differ in `spec/sql`, not here.

use crate::bad_credit::{bad_credit_data, cut};
use crate::columns::{self, address, cents, id, rate, text};
use crate::outcome::{
    Address, Delivered, OrderReport, Paid, Placed, PlacedLine, ReportLine, Short, Text, Unused,
};
use crate::{
    Call, DISTRICTS, Delivery, LINES_MAX, Line, NewOrder, OrderStatus, Outcome, Payment, StockLevel, Tpcc,
    Who, order_total,
};
use arrayvec::ArrayVec;
use model::{CallWork, Cents, Clock, Conflict, DefectKind, Fault, Session, StatementTimes};
use sql::{Catalogue, CatalogueError, ColumnError, Columns, Dialect, Param, SqlConn, SqlForm, Timed, TxKind};

sql::statements! {
    WarehouseTax = "warehouse_tax",
    ClaimOrderId = "claim_order_id",
    CustomerTerms = "customer_terms",
    InsertOrder = "insert_order",
    InsertNewOrder = "insert_new_order",
    ReadItem = "read_item",
    ReadStock = "read_stock",
    UpdateStock = "update_stock",
    InsertOrderLine = "insert_order_line",
    PayWarehouse = "pay_warehouse",
    PayDistrict = "pay_district",
    CustomersByName = "customers_by_name",
    ReadCustomer = "read_customer",
    ReadCustomerData = "read_customer_data",
    PayCustomer = "pay_customer",
    PayCustomerWithData = "pay_customer_with_data",
    InsertHistory = "insert_history",
    CustomerStatus = "customer_status",
    NewestOrder = "newest_order",
    OrderLines = "order_lines",
    OldestNewOrder = "oldest_new_order",
    DeleteNewOrder = "delete_new_order",
    CarryOrder = "carry_order",
    DeliverLines = "deliver_lines",
    SumLines = "sum_lines",
    CreditCustomer = "credit_customer",
    NextOrderId = "next_order_id",
    LowStock = "low_stock",
    // Only where an update gives no rows back; see `returning`.
    ReadClaim = "read_claim",
    ReadPaidWarehouse = "read_paid_warehouse",
    ReadPaidDistrict = "read_paid_district",
    ReadCarried = "read_carried",
    ReadDate = "read_date",
}

impl Stmt {
    /// The first of those that only engines without `returning` have.
    const READ_BACKS: usize = Stmt::ReadClaim as usize;

    /// Names in the order of [`sql::StmtId`]s, as far as an engine has them.
    pub fn names(dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::Sqlite | Dialect::Postgres => &Stmt::NAMES[..Stmt::READ_BACKS],
            Dialect::MySql => Stmt::NAMES,
        }
    }
}

/// Names of what can have a clock around it: the statements, and what other styles send in their place.
pub(crate) const CLOCKED: [&str; PROCEDURE + 1] = sql::clocked(Stmt::NAMES, &["round", "procedure"]);

/// Place in [`Workload::STATEMENTS`](model::Workload::STATEMENTS) of a round trip that carries several statements.
pub const ROUND: usize = Stmt::NAMES.len();
/// Place of a call of a stored procedure or function, which holds the whole transaction.
pub const PROCEDURE: usize = ROUND + 1;

/// The statement texts for an engine, in the order of [`Stmt`].
pub fn catalogue(dialect: Dialect) -> Result<Vec<String>, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../spec/sql/tpcc/statements.sql"))?;
    let engine = match dialect {
        // SQLite takes the canonical form.
        Dialect::Sqlite => canonical,
        Dialect::Postgres => canonical
            .overridden(&Catalogue::parse(include_str!("../spec/sql/tpcc/statements.postgres.sql"))?)?,
        Dialect::MySql => canonical.extended(
            &Catalogue::parse(include_str!("../spec/sql/tpcc/statements.mysql.sql"))?,
            &Stmt::NAMES[Stmt::READ_BACKS..],
        )?,
    };
    engine.select(Stmt::names(dialect))
}

/// Tables and indexes for an engine, in the order in which they are made.
pub fn schema(dialect: Dialect) -> Result<Catalogue, CatalogueError> {
    match dialect {
        Dialect::Sqlite => Catalogue::parse(include_str!("../spec/sql/tpcc/schema.sqlite.sql")),
        Dialect::Postgres => Catalogue::parse(include_str!("../spec/sql/tpcc/schema.postgres.sql")),
        Dialect::MySql => Catalogue::parse(include_str!("../spec/sql/tpcc/schema.mysql.sql")),
    }
}

/// How a transaction's body ended.
enum BodyEnd {
    Commit(Outcome),
    RollBack(Outcome),
}

/// Runs the transactions on one connection.
#[derive(Debug)]
pub struct SqlSession<C, K> {
    conn: Timed<C, K>,
    /// Customers that share a last name.
    namesakes: Vec<u32>,
    /// Lines of a reported order.
    lines: Vec<ReportLine>,
}

impl<C: SqlConn, K: Clock> SqlSession<C, K> {
    /// A session on a connection whose statements are those of [`catalogue`].
    pub fn new(conn: C, clock: K) -> SqlSession<C, K> {
        // The most frequent name of 3,000 customers has well below a hundred bearers.
        SqlSession {
            conn: Timed::new(conn, clock),
            namesakes: Vec::with_capacity(256),
            lines: Vec::with_capacity(LINES_MAX),
        }
    }

    async fn transact(&mut self, call: &Call) -> Result<Outcome, Fault> {
        let kind = match call {
            Call::NewOrder(_) | Call::Payment(_) | Call::Delivery(_) => TxKind::Write,
            Call::OrderStatus(_) | Call::StockLevel(_) => TxKind::Read,
        };
        self.conn.begin(kind).await?;
        let ended = match call {
            Call::NewOrder(call) => self.new_order(call).await,
            Call::Payment(call) => self.payment(call).await,
            Call::OrderStatus(call) => self.order_status(call).await,
            Call::Delivery(call) => self.delivery(call).await,
            Call::StockLevel(call) => self.stock_level(call).await,
        };
        match ended {
            Ok(BodyEnd::Commit(outcome)) => {
                self.conn.commit().await?;
                Ok(outcome)
            }
            Ok(BodyEnd::RollBack(outcome)) => {
                self.conn.rollback().await?;
                Ok(outcome)
            }
            Err(fault) => {
                // The fault of the body tells more than one of the roll-back that follows it.
                let _ = self.conn.rollback().await;
                Err(fault)
            }
        }
    }

    /// 2.4.2.2.
    async fn new_order(&mut self, call: &NewOrder) -> Result<BodyEnd, Fault> {
        let &NewOrder { w_id, d_id, c_id, ref lines } = call;
        let w_tax = self.one(Stmt::WarehouseTax, &[w_id.into()], |row| rate(row, 0)).await?;
        let (o_id, d_tax) = self
            .returning(Stmt::ClaimOrderId, Stmt::ReadClaim, &[w_id.into(), d_id.into()], |row| {
                Ok((id(row, 0)?, rate(row, 1)?))
            })
            .await?;
        let (c_discount, c_last, c_credit) = self
            .one(Stmt::CustomerTerms, &[w_id.into(), d_id.into(), c_id.into()], |row| {
                Ok((rate(row, 0)?, text(row, 1)?, text(row, 2)?))
            })
            .await?;

        let (ol_cnt, all_local) = (lines.len() as i64, i64::from(call.all_local()));
        let order = [w_id.into(), d_id.into(), o_id.into(), c_id.into(), ol_cnt.into(), all_local.into()];
        let o_entry_d = self.dated(Stmt::InsertOrder, &order).await?;
        self.conn.exec(Stmt::InsertNewOrder.id(), &[w_id.into(), d_id.into(), o_id.into()]).await?;

        let mut taken = [const { None::<PlacedLine> }; LINES_MAX];
        let mut amounts = Cents(0);
        for index in working_order(lines) {
            let number = index as i64 + 1;
            let Some(line) = self.order_line(call, o_id, number, &lines[index]).await? else {
                // 2.4.2.3: the item number is not valid, and everything so far is undone.
                return Ok(BodyEnd::RollBack(Outcome::Unused(Unused { o_id, c_last, c_credit })));
            };
            amounts += line.ol_amount;
            taken[index] = Some(line);
        }
        let placed: ArrayVec<PlacedLine, LINES_MAX> = taken.into_iter().flatten().collect();
        let total_amount = order_total(amounts, c_discount, w_tax, d_tax);
        Ok(BodyEnd::Commit(Outcome::Placed(Placed {
            o_id,
            o_entry_d,
            c_last,
            c_credit,
            c_discount,
            w_tax,
            d_tax,
            total_amount,
            lines: placed,
        })))
    }

    /// One line: item, stock, order_line. None where the item is unused.
    async fn order_line(
        &mut self,
        call: &NewOrder,
        o_id: u32,
        number: i64,
        line: &Line,
    ) -> Result<Option<PlacedLine>, Fault> {
        let &Line { i_id, supply_w_id, quantity } = line;
        // No column holds a greater number, so none is that of an item.
        let asked = i64::from(i_id).min(i32::MAX.into());
        let item = self
            .conn
            .row(Stmt::ReadItem.id(), &[asked.into()], |row| {
                Ok((cents(row, 0)?, text(row, 1)?, original(row, 2)?))
            })
            .await?;
        let Some((i_price, i_name, i_original)) = item else { return Ok(None) };

        let stock: [Param<'_>; 3] = [supply_w_id.into(), i_id.into(), call.d_id.into()];
        let (in_stock, s_original, ol_dist_info): (i64, bool, Text<24>) = self
            .one(Stmt::ReadStock, &stock, |row| Ok((row.int(0)?, original(row, 1)?, text(row, 2)?)))
            .await?;
        let ordered = i64::from(quantity);
        // 2.4.2.2: refill by 91 when less than 10 would be left.
        let s_quantity = if in_stock - ordered >= 10 { in_stock - ordered } else { in_stock - ordered + 91 };
        let remote = i64::from(supply_w_id != call.w_id);
        let update = [supply_w_id.into(), i_id.into(), s_quantity.into(), ordered.into(), remote.into()];
        self.conn.exec(Stmt::UpdateStock.id(), &update).await?;

        let ol_amount = i_price.times(ordered);
        let insert = [
            call.w_id.into(),
            call.d_id.into(),
            o_id.into(),
            number.into(),
            i_id.into(),
            supply_w_id.into(),
            ordered.into(),
            ol_amount.into(),
            Param::Text(&ol_dist_info),
        ];
        self.conn.exec(Stmt::InsertOrderLine.id(), &insert).await?;
        let brand_generic = letter(if i_original && s_original { "B" } else { "G" });
        Ok(Some(PlacedLine { i_name, i_price, s_quantity, brand_generic, ol_amount }))
    }

    /// 2.5.2.2.
    async fn payment(&mut self, call: &Payment) -> Result<BodyEnd, Fault> {
        let &Payment { w_id, d_id, c_w_id, c_d_id, customer, h_amount: amount } = call;
        let (w_name, warehouse) = self
            .returning(Stmt::PayWarehouse, Stmt::ReadPaidWarehouse, &[w_id.into(), amount.into()], |row| {
                Ok((text(row, 0)?, address(row, 1)?))
            })
            .await?;
        let (d_name, district): (Text<10>, Address) = self
            .returning(
                Stmt::PayDistrict,
                Stmt::ReadPaidDistrict,
                &[w_id.into(), d_id.into(), amount.into()],
                |row| Ok((text(row, 0)?, address(row, 1)?)),
            )
            .await?;
        let c_id = self.identify(c_w_id, c_d_id, customer).await?;
        let key: [Param<'_>; 3] = [c_w_id.into(), c_d_id.into(), c_id.into()];
        let mut customer = self.one(Stmt::ReadCustomer, &key, |row| columns::customer(row, 0)).await?;
        customer.c_id = c_id;
        customer.c_balance -= call.h_amount;

        let mut c_data = None;
        if customer.c_credit.as_str() == "BC" {
            let old: Text<500> = self.one(Stmt::ReadCustomerData, &key, |row| text(row, 0)).await?;
            let data = bad_credit_data(call, c_id, &old);
            let pay = [c_w_id.into(), c_d_id.into(), c_id.into(), amount.into(), Param::Text(&data)];
            self.conn.exec(Stmt::PayCustomerWithData.id(), &pay).await?;
            c_data = Some(cut(&data));
        } else {
            let pay = [c_w_id.into(), c_d_id.into(), c_id.into(), amount.into()];
            self.conn.exec(Stmt::PayCustomer.id(), &pay).await?;
        }

        // h_data is both names with four spaces between them.
        let mut h_data: Text<24> = w_name;
        h_data.push_str("    ");
        h_data.push_str(&d_name);
        let history = [
            c_w_id.into(),
            c_d_id.into(),
            c_id.into(),
            w_id.into(),
            d_id.into(),
            amount.into(),
            Param::Text(&h_data),
        ];
        let h_date = self.dated(Stmt::InsertHistory, &history).await?;
        Ok(BodyEnd::Commit(Outcome::Paid(Paid { h_date, warehouse, district, customer, c_data })))
    }

    /// 2.6.2.2.
    async fn order_status(&mut self, call: &OrderStatus) -> Result<BodyEnd, Fault> {
        let &OrderStatus { w_id, d_id, customer } = call;
        let c_id = self.identify(w_id, d_id, customer).await?;
        let key: [Param<'_>; 3] = [w_id.into(), d_id.into(), c_id.into()];
        let (c_first, c_middle, c_last, c_balance) = self
            .one(Stmt::CustomerStatus, &key, |row| {
                Ok((text(row, 0)?, text(row, 1)?, text(row, 2)?, cents(row, 3)?))
            })
            .await?;
        let (o_id, o_entry_d, o_carrier_id) = self
            .one(Stmt::NewestOrder, &key, |row| {
                Ok((id(row, 0)?, row.int(1)?, row.int_or_null(2)?.map(|carrier| carrier as u32)))
            })
            .await?;
        self.lines.clear();
        let order: [Param<'_>; 3] = [w_id.into(), d_id.into(), o_id.into()];
        self.conn
            .rows(Stmt::OrderLines.id(), &order, |row| columns::report_line(row, 0), &mut self.lines)
            .await?;
        let lines = self.lines.iter().copied().take(LINES_MAX).collect();
        let report =
            OrderReport { c_id, c_first, c_middle, c_last, c_balance, o_id, o_entry_d, o_carrier_id, lines };
        Ok(BodyEnd::Commit(Outcome::Status(report)))
    }

    /// 2.7.4.2, all ten districts in one transaction.
    async fn delivery(&mut self, call: &Delivery) -> Result<BodyEnd, Fault> {
        let mut o_ids = ArrayVec::new();
        for d_id in 1..=DISTRICTS {
            o_ids.push(self.deliver_district(call, d_id).await?);
        }
        Ok(BodyEnd::Commit(Outcome::Delivered(Delivered { o_ids })))
    }

    /// The oldest order of a district, or none where there is nothing to deliver.
    async fn deliver_district(&mut self, call: &Delivery, d_id: u32) -> Result<Option<u32>, Fault> {
        let w_id = call.w_id;
        let district: [Param<'_>; 2] = [w_id.into(), d_id.into()];
        let Some(o_id) = self.conn.row(Stmt::OldestNewOrder.id(), &district, |row| id(row, 0)).await? else {
            return Ok(None);
        };
        let order: [Param<'_>; 3] = [w_id.into(), d_id.into(), o_id.into()];
        if self.conn.exec(Stmt::DeleteNewOrder.id(), &order).await? == 0 {
            // Another Delivery has taken it since we looked. All of this one is done again, on what is there now.
            return Err(Fault::Conflict(Conflict::Serialization));
        }
        let carry = [w_id.into(), d_id.into(), o_id.into(), call.o_carrier_id.into()];
        let c_id = self.returning(Stmt::CarryOrder, Stmt::ReadCarried, &carry, |row| id(row, 0)).await?;
        self.conn.exec(Stmt::DeliverLines.id(), &order).await?;
        let amount = self.one(Stmt::SumLines, &order, |row| cents(row, 0)).await?;
        let credit = [w_id.into(), d_id.into(), c_id.into(), amount.into()];
        self.changed_one(Stmt::CreditCustomer, &credit).await?;
        Ok(Some(o_id))
    }

    /// 2.8.2.2.
    async fn stock_level(&mut self, call: &StockLevel) -> Result<BodyEnd, Fault> {
        let &StockLevel { w_id, d_id, threshold } = call;
        let next = self.one(Stmt::NextOrderId, &[w_id.into(), d_id.into()], |row| row.int(0)).await?;
        let recent = [w_id.into(), d_id.into(), next.into(), threshold.into()];
        let low_stock = self.one(Stmt::LowStock, &recent, |row| id(row, 0)).await?;
        Ok(BodyEnd::Commit(Outcome::Short(Short { low_stock })))
    }

    /// 2.5.2.2: by last name, the customer at position ⌈n/2⌉ of all who have it, sorted by first name.
    async fn identify(&mut self, w_id: u32, d_id: u32, customer: Who) -> Result<u32, Fault> {
        let name = match customer {
            Who::Id(c_id) => return Ok(c_id),
            Who::LastName(name) => name,
        };
        self.namesakes.clear();
        let key = [w_id.into(), d_id.into(), Param::Text(&name)];
        self.conn.rows(Stmt::CustomersByName.id(), &key, |row| id(row, 0), &mut self.namesakes).await?;
        let middle = self.namesakes.len().div_ceil(2).checked_sub(1);
        middle
            .map(|middle| self.namesakes[middle])
            .ok_or_else(|| Fault::defect(DefectKind::BadCall, format!("no customer is called {name}")))
    }

    /// The row of a statement that must find one.
    async fn one<T: Send>(
        &mut self,
        stmt: Stmt,
        params: &[Param<'_>],
        read: sql::Read<T>,
    ) -> Result<T, Fault> {
        match self.conn.row(stmt.id(), params, read).await? {
            Some(row) => Ok(row),
            None => Err(absent(stmt)),
        }
    }

    /// The row that an update changed: in one statement where there is `returning`, in two where there is not. The
    /// second reads what the first has locked, by the same parameters.
    async fn returning<T: Send>(
        &mut self,
        update: Stmt,
        read_back: Stmt,
        params: &[Param<'_>],
        read: sql::Read<T>,
    ) -> Result<T, Fault> {
        match C::DIALECT {
            Dialect::Sqlite | Dialect::Postgres => self.one(update, params, read).await,
            Dialect::MySql => {
                self.changed_one(update, params).await?;
                self.one(read_back, params, read).await
            }
        }
    }

    /// The date that an insert has stored: its row, or on MySQL, whose inserts give none, what the session keeps of it.
    async fn dated(&mut self, insert: Stmt, params: &[Param<'_>]) -> Result<i64, Fault> {
        match (C::DIALECT, self.conn.row(insert.id(), params, |row| row.int(0)).await?) {
            (_, Some(date)) => Ok(date),
            (Dialect::MySql, None) => self.one(Stmt::ReadDate, &[], |row| row.int(0)).await,
            (Dialect::Sqlite | Dialect::Postgres, None) => Err(absent(insert)),
        }
    }

    /// A change of exactly one row.
    async fn changed_one(&mut self, stmt: Stmt, params: &[Param<'_>]) -> Result<(), Fault> {
        match self.conn.exec(stmt.id(), params).await? {
            1 => Ok(()),
            _ => Err(absent(stmt)),
        }
    }
}

impl<C: SqlConn, K: Clock> Session<Tpcc> for SqlSession<C, K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        self.conn.start(work);
        let result = self.transact(call).await;
        self.conn.move_into(work);
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        Some(self.conn.statement_times())
    }
}

/// Opens sessions that run the transactions one statement at a time, over an opener that prepares the statements of
/// [`catalogue`].
pub type SqlTarget<O, K> = sql::SqlTarget<Tpcc, O, K>;

impl SqlForm for Tpcc {
    type Session<C: SqlConn, K: Clock> = SqlSession<C, K>;
    type Form = ();

    fn session<C: SqlConn, K: Clock>(conn: C, clock: K, (): ()) -> SqlSession<C, K> {
        SqlSession::new(conn, clock)
    }
}

/// Indexes of the lines in the order of their stock rows, which is the same for all: two orders that want the same
/// rows then wait for each other in one direction only, and no deadlock can come of it. An unused item number is the
/// highest of all, so it still comes last.
fn working_order(lines: &[Line]) -> ArrayVec<usize, LINES_MAX> {
    let mut order: ArrayVec<usize, LINES_MAX> = (0..lines.len()).collect();
    order.sort_by_key(|index| (lines[*index].i_id, lines[*index].supply_w_id, *index));
    order
}

#[cold]
fn absent(stmt: Stmt) -> Fault {
    let name = Stmt::NAMES[stmt as usize];
    Fault::defect(DefectKind::BadData, format!("statement `{name}` found no row where there must be one"))
}

fn original(row: &dyn Columns, index: usize) -> Result<bool, ColumnError> {
    Ok(row.text(index)?.contains("ORIGINAL"))
}

fn letter(value: &str) -> Text<1> {
    Text::from(value).expect("one letter, by the caller")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_files_hold_what_the_code_asks_for() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
            assert_eq!(catalogue(dialect).unwrap().len(), Stmt::names(dialect).len());
            let tables = schema(dialect).unwrap();
            assert_eq!(
                tables.iter().filter(|(name, _)| name.starts_with("table_")).count(),
                9,
                "{dialect:?}"
            );
        }
    }

    #[test]
    fn lines_are_worked_in_the_order_of_their_stock_rows() {
        let line = |i_id, supply_w_id| Line { i_id, supply_w_id, quantity: 1 };
        let lines = [line(7, 2), line(7, 1), line(3, 9), line(7, 2), line(100_001, 1)];
        assert_eq!(working_order(&lines).as_slice(), [2, 1, 0, 3, 4]);
    }
}
