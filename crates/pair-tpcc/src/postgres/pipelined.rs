//! Few round trips: statements over many rows, and several statements in one trip.

use super::decode::{address, brand, cents, defect, get, id, rate, seconds, text, unsigned};
use super::round_trips::RoundTrips;
use super::texts;
use super::wire::{Wire, own_texts, trip};
use arrayvec::{ArrayString, ArrayVec};
use futures_util::future::{try_join, try_join3, try_join4};
use model::{CallWork, Cents, Clock, DefectKind, Fault, OpenError, Session, StatementTimes};
use sql::{CatalogueError, ServerUrl};
use std::fmt::Write;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};
use workload_tpcc::{
    Call, Customer, DISTRICTS, Delivered, Delivery, LINES_MAX, NewOrder, OrderReport, OrderStatus, Outcome,
    Paid, Payment, Placed, PlacedLine, ROUND, ReportLine, Short, StockLevel, Text, Tpcc, Unused, Who,
    order_total,
};

/// Statements by their place in [`NAMES`].
#[derive(Debug, Clone, Copy)]
enum Stmt {
    Begin,
    Commit,
    RollBack,
    PlaceOrder,
    TakeLines,
    KnownItems,
    PayWarehouse,
    PayDistrict,
    PayCustomer,
    PayCustomerByName,
    InsertHistory,
    OrderStatus,
    OrderStatusByName,
    Deliver,
    StockLevel,
}

const NAMES: [&str; 15] = [
    "begin",
    "commit",
    "roll_back",
    "place_order",
    "take_lines",
    "known_items",
    "pay_warehouse",
    "pay_district",
    "pay_customer",
    "pay_customer_by_name",
    "insert_history",
    "order_status",
    "order_status_by_name",
    "deliver",
    "stock_level",
];

fn statements() -> Result<Vec<String>, CatalogueError> {
    texts(include_str!("../../spec/sql/tpcc/pipelined.postgres.sql"), &NAMES)
}

/// Runs transactions in few round trips on one connection.
#[derive(Debug)]
pub struct PipelinedSession<K> {
    wire: Wire<K>,
}

/// Asks for rows. What is asked is put into the queue when this is first polled, so that what is joined shares a trip.
async fn query<const N: usize>(
    (client, statements): (&Client, &[Statement]),
    stmt: Stmt,
    params: [&(dyn ToSql + Sync); N],
) -> Result<Vec<Row>, Error> {
    client.query(&statements[stmt as usize], &params).await
}

impl<K: Clock> PipelinedSession<K> {
    pub(crate) async fn open(url: &ServerUrl, clock: K) -> Result<Self, OpenError> {
        let statements = statements().map_err(|error| own_texts(&error))?;
        let wire = Wire::open(url, &[], &statements, clock).await?;
        Ok(PipelinedSession { wire })
    }

    async fn transact(&mut self, call: &Call, work: &CallWork) -> Result<Outcome, Fault> {
        self.wire.start(work).await?;
        let ended = match call {
            Call::NewOrder(call) => self.new_order(call).await,
            Call::Payment(call) => self.payment(call).await,
            Call::Delivery(call) => self.delivery(call).await,
            // One statement is a transaction: nothing to commit, nothing to roll back.
            Call::OrderStatus(call) => return self.order_status(call).await,
            Call::StockLevel(call) => return self.stock_level(call).await,
        };
        match ended {
            Err(BodyEnd::Open(fault)) => {
                // The fault tells more than one of the roll-back that follows it.
                let _ = self.roll_back().await;
                Err(fault)
            }
            Err(BodyEnd::Over(fault)) => Err(fault),
            Ok(outcome) => Ok(outcome),
        }
    }

    /// 2.4.2.2.
    async fn new_order(&mut self, call: &NewOrder) -> Result<Outcome, BodyEnd> {
        let (w_id, d_id, c_id) = (call.w_id as i32, call.d_id as i16, call.c_id as i32);
        let (count, all_local) = (call.lines.len() as i16, i16::from(call.all_local()));
        let rounds = RoundTrips::of(&call.lines);
        let Wire { client, statements, link, clock, rounds: clocked, .. } = &mut self.wire;
        let on = (&*client, statements.as_slice());
        let take = async |first: usize, last: usize| {
            let (numbers, items) = (&rounds.numbers[first..last], &rounds.items[first..last]);
            let (suppliers, quantities) = (&rounds.suppliers[first..last], &rounds.quantities[first..last]);
            query(on, Stmt::TakeLines, [&w_id, &d_id, &numbers, &items, &suppliers, &quantities]).await
        };
        let mut last = rounds.until[0] as usize;
        let joined = try_join3(
            query(on, Stmt::Begin, []),
            query(on, Stmt::PlaceOrder, [&w_id, &d_id, &c_id, &count, &all_local]),
            take(0, last),
        );
        let asked = clocked.asked(clock);
        let answer = trip(link, joined, false).await;
        clocked.answered(ROUND, asked, clock);
        let (_, placed, mut taken) = answer?;
        // What is left after one line of an item must be stored before the next one takes from it.
        for &until in &rounds.until[1..] {
            let asked = clocked.asked(clock);
            let answer = trip(link, take(last, until as usize), false).await;
            clocked.answered(ROUND, asked, clock);
            taken.extend(answer?);
            last = until as usize;
        }
        self.wire.count(1 + rounds.until.len() as u32, placed.len() + taken.len());

        let head = placed.first().ok_or_else(|| defect("warehouse, district or customer not found"))?;
        if taken.len() < call.lines.len() {
            return self.unused(head, &rounds).await;
        }
        let (lines, amounts) = placed_lines(call, &taken)?;
        let (c_discount, w_tax, d_tax) = (rate(head, 4)?, rate(head, 5)?, rate(head, 6)?);
        let outcome = Outcome::Placed(Placed {
            o_id: id(head, 0)?,
            o_entry_d: seconds(head, 1)?,
            c_last: text(head, 2)?,
            c_credit: text(head, 3)?,
            c_discount,
            w_tax,
            d_tax,
            total_amount: order_total(amounts, c_discount, w_tax, d_tax),
            lines,
        });
        self.commit().await?;
        Ok(outcome)
    }

    /// 2.4.2.3: an item is unused, and everything is undone.
    async fn unused(&mut self, head: &Row, rounds: &RoundTrips) -> Result<Outcome, BodyEnd> {
        let asked = self.wire.clock.now();
        let Wire { client, statements, link, .. } = &mut self.wire;
        let on = (&*client, statements.as_slice());
        let items = rounds.items.as_slice();
        let known = try_join(query(on, Stmt::KnownItems, [&items]), query(on, Stmt::RollBack, []));
        let (known, _) = trip(link, known, false).await?;
        self.wire.work.spent.commit += self.wire.clock.now() - asked;
        self.wire.count(1, known.len());
        let mut different = rounds.items.clone();
        different.sort_unstable();
        let different = different.chunk_by(|one, other| one == other).count();
        let known = known.first().ok_or_else(|| defect("a count gave no row"))?;
        if get::<i32>(known, 0).map_err(BodyEnd::Over)? as usize == different {
            return Err(BodyEnd::Over(defect("an item has no stock where it is asked for")));
        }
        let unused = Unused { o_id: id(head, 0)?, c_last: text(head, 2)?, c_credit: text(head, 3)? };
        Ok(Outcome::Unused(unused))
    }

    /// 2.5.2.2. The history is written in the trip that commits.
    async fn payment(&mut self, call: &Payment) -> Result<Outcome, BodyEnd> {
        let (w_id, d_id) = (call.w_id as i32, call.d_id as i16);
        let (c_w_id, c_d_id, Cents(amount)) = (call.c_w_id as i32, call.c_d_id as i16, call.h_amount);
        let fact = fact(call);
        let fact = fact.as_str();
        let sent = self.wire.asked();
        let Wire { client, statements, link, .. } = &mut self.wire;
        let on = (&*client, statements.as_slice());
        let customer = async {
            match &call.customer {
                Who::Id(c_id) => {
                    let c_id = *c_id as i32;
                    query(on, Stmt::PayCustomer, [&c_w_id, &c_d_id, &c_id, &amount, &fact]).await
                }
                Who::LastName(name) => {
                    let name = name.as_str();
                    query(on, Stmt::PayCustomerByName, [&c_w_id, &c_d_id, &name, &amount, &fact]).await
                }
            }
        };
        let asked = try_join4(
            query(on, Stmt::Begin, []),
            query(on, Stmt::PayWarehouse, [&w_id, &amount]),
            query(on, Stmt::PayDistrict, [&w_id, &d_id, &amount]),
            customer,
        );
        let answer = trip(link, asked, false).await;
        self.wire.answered(ROUND, sent);
        let (_, warehouse, district, customer) = answer?;
        self.wire.count(3, warehouse.len() + district.len() + customer.len());
        let warehouse = warehouse.first().ok_or_else(|| defect("no such warehouse"))?;
        let district = district.first().ok_or_else(|| defect("no such district"))?;
        let paid = customer.first().ok_or_else(|| no_such_customer(&call.customer))?;

        let (w_name, d_name): (Text<10>, Text<10>) = (text(warehouse, 0)?, text(district, 0)?);
        // 2.5.3.3: both names with four spaces between them.
        let mut h_data = w_name.as_str().to_owned();
        h_data.push_str("    ");
        h_data.push_str(&d_name);
        let customer = paid_customer(paid)?;
        let (c_data, c_id) = (get::<Option<&str>>(paid, 15)?, customer.c_id as i32);
        let (warehouse, district) = (address(warehouse, 1)?, address(district, 1)?);
        let c_data = c_data.map(super::decode::fit).transpose()?;

        let asked = self.wire.clock.now();
        let Wire { client, statements, link, .. } = &mut self.wire;
        let on = (&*client, statements.as_slice());
        let history: [&(dyn ToSql + Sync); 7] = [&c_w_id, &c_d_id, &c_id, &w_id, &d_id, &amount, &h_data];
        let asking = try_join(query(on, Stmt::InsertHistory, history), query(on, Stmt::Commit, []));
        let (history, _) = trip(link, asking, true).await.map_err(BodyEnd::Over)?;
        self.committed(asked);
        self.wire.count(1, history.len());
        let h_date = history.first().ok_or_else(|| BodyEnd::Over(defect("an insert gave no row")))?;
        let h_date = seconds(h_date, 0).map_err(BodyEnd::Over)?;
        Ok(Outcome::Paid(Paid { h_date, warehouse, district, customer, c_data }))
    }

    /// 2.6.2.2.
    async fn order_status(&mut self, call: &OrderStatus) -> Result<Outcome, Fault> {
        let (w_id, d_id) = (call.w_id as i32, call.d_id as i16);
        let asked = self.wire.asked();
        let Wire { client, statements, link, .. } = &mut self.wire;
        let on = (&*client, statements.as_slice());
        let rows = match &call.customer {
            Who::Id(c_id) => {
                let c_id = *c_id as i32;
                trip(link, query(on, Stmt::OrderStatus, [&w_id, &d_id, &c_id]), false).await
            }
            Who::LastName(name) => {
                let name = name.as_str();
                trip(link, query(on, Stmt::OrderStatusByName, [&w_id, &d_id, &name]), false).await
            }
        };
        self.wire.answered(ROUND, asked);
        let rows = rows?;
        self.wire.count(1, rows.len());
        self.wire.work.commits = 1;
        let head = rows.first().ok_or_else(|| no_such_customer(&call.customer))?;
        let line = |row| -> Result<ReportLine, Fault> {
            Ok(ReportLine {
                ol_i_id: id(row, 8)?,
                ol_supply_w_id: id(row, 9)?,
                ol_quantity: id(row, 10)?,
                ol_amount: cents(row, 11)?,
                ol_delivery_d: get::<Option<super::decode::Seconds>>(row, 12)?.map(|seconds| seconds.0),
            })
        };
        Ok(Outcome::Status(OrderReport {
            c_id: id(head, 0)?,
            c_first: text(head, 1)?,
            c_middle: text(head, 2)?,
            c_last: text(head, 3)?,
            c_balance: cents(head, 4)?,
            o_id: id(head, 5)?,
            o_entry_d: seconds(head, 6)?,
            o_carrier_id: get::<Option<i32>>(head, 7)?.map(unsigned).transpose()?,
            lines: rows.iter().take(LINES_MAX).map(line).collect::<Result<_, _>>()?,
        }))
    }

    /// 2.7.4.2, all ten districts in one transaction.
    async fn delivery(&mut self, call: &Delivery) -> Result<Outcome, BodyEnd> {
        let (w_id, carrier) = (call.w_id as i32, call.o_carrier_id as i16);
        let sent = self.wire.asked();
        let Wire { client, statements, link, .. } = &mut self.wire;
        let on = (&*client, statements.as_slice());
        let asked = try_join(query(on, Stmt::Begin, []), query(on, Stmt::Deliver, [&w_id, &carrier]));
        let answer = trip(link, asked, false).await;
        self.wire.answered(ROUND, sent);
        let (_, rows) = answer?;
        self.wire.count(1, rows.len());
        let mut delivered = Delivered { o_ids: std::iter::repeat_n(None, DISTRICTS as usize).collect() };
        for row in &rows {
            if !get::<bool>(row, 2)? {
                return Err(defect("order, lines or customer of a new_order not found").into());
            }
            let district = id(row, 0)? as usize;
            let place = delivered.o_ids.get_mut(district.wrapping_sub(1));
            *place.ok_or_else(|| defect("a district that was not asked for"))? = Some(id(row, 1)?);
        }
        self.commit().await?;
        Ok(Outcome::Delivered(delivered))
    }

    /// 2.8.2.2.
    async fn stock_level(&mut self, call: &StockLevel) -> Result<Outcome, Fault> {
        let (w_id, d_id, threshold) = (call.w_id as i32, call.d_id as i16, call.threshold as i32);
        let asked = self.wire.asked();
        let Wire { client, statements, link, .. } = &mut self.wire;
        let on = (&*client, statements.as_slice());
        let rows = trip(link, query(on, Stmt::StockLevel, [&w_id, &d_id, &threshold]), false).await;
        self.wire.answered(ROUND, asked);
        let rows = rows?;
        self.wire.count(1, rows.len());
        self.wire.work.commits = 1;
        let low_stock = rows.first().ok_or_else(|| defect("a count gave no row"))?;
        Ok(Outcome::Short(Short { low_stock: id(low_stock, 0)? }))
    }

    async fn commit(&mut self) -> Result<(), BodyEnd> {
        let asked = self.wire.clock.now();
        let Wire { client, statements, link, .. } = &mut self.wire;
        let on = (&*client, statements.as_slice());
        let done = trip(link, query(on, Stmt::Commit, []), true).await;
        self.committed(asked);
        done.map(|_| ()).map_err(BodyEnd::Over)
    }

    /// Accounts for a trip that committed.
    fn committed(&mut self, asked: model::Nanos) {
        self.wire.work.spent.commit += self.wire.clock.now() - asked;
        self.wire.work.commits = 1;
    }

    async fn roll_back(&mut self) -> Result<(), Fault> {
        let asked = self.wire.clock.now();
        let Wire { client, statements, link, .. } = &mut self.wire;
        let on = (&*client, statements.as_slice());
        let done = trip(link, query(on, Stmt::RollBack, []), false).await;
        self.wire.work.spent.commit += self.wire.clock.now() - asked;
        done.map(|_| ())
    }
}

impl<K: Clock> Session<Tpcc> for PipelinedSession<K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        let result = self.transact(call, work).await;
        self.wire.move_into(work);
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        Some(self.wire.statement_times())
    }
}

/// Why a transaction ended early, and whether it must still be rolled back.
enum BodyEnd {
    Open(Fault),
    Over(Fault),
}

/// Until the commit is sent the transaction is open.
impl From<Fault> for BodyEnd {
    fn from(fault: Fault) -> BodyEnd {
        BodyEnd::Open(fault)
    }
}

/// Lines in the order of the call, from rows in any order; and the sum of their amounts.
fn placed_lines(call: &NewOrder, taken: &[Row]) -> Result<(ArrayVec<PlacedLine, LINES_MAX>, Cents), Fault> {
    let mut lines = [const { None::<PlacedLine> }; LINES_MAX];
    let mut amounts = Cents(0);
    for row in taken {
        let index = (get::<i16>(row, 0)? as usize).wrapping_sub(1);
        let asked = call.lines.get(index).ok_or_else(|| defect("a line that was not asked for"))?;
        let i_price = cents(row, 2)?;
        let ol_amount = i_price.times(i64::from(asked.quantity));
        amounts += ol_amount;
        let s_quantity = i64::from(get::<i32>(row, 3)?);
        let brand_generic = brand(get(row, 4)?);
        lines[index] =
            Some(PlacedLine { i_name: text(row, 1)?, i_price, s_quantity, brand_generic, ol_amount });
    }
    Ok((lines.into_iter().flatten().collect(), amounts))
}

/// The row of `pay_customer`.
fn paid_customer(row: &Row) -> Result<Customer, Fault> {
    Ok(Customer {
        c_id: id(row, 0)?,
        c_first: text(row, 1)?,
        c_middle: text(row, 2)?,
        c_last: text(row, 3)?,
        address: address(row, 4)?,
        c_phone: text(row, 9)?,
        c_since: seconds(row, 10)?,
        c_credit: text(row, 11)?,
        c_credit_lim: cents(row, 12)?,
        c_discount: rate(row, 13)?,
        c_balance: cents(row, 14)?,
    })
}

/// 2.5.2.2: what goes into c_data behind the number of the customer.
pub(crate) fn fact(call: &Payment) -> ArrayString<96> {
    let Payment { w_id, d_id, c_w_id, c_d_id, h_amount: Cents(amount), .. } = *call;
    let mut fact = ArrayString::new();
    let (units, cents) = (amount / 100, amount % 100);
    write!(fact, " {c_d_id} {c_w_id} {d_id} {w_id} {units}.{cents:02} ").expect("five numbers fit");
    fact
}

/// Why there is no customer.
#[cold]
pub(crate) fn no_such_customer(customer: &Who) -> Fault {
    match customer {
        Who::Id(c_id) => defect(&format!("customer {c_id} or the newest order of it not found")),
        Who::LastName(name) => Fault::defect(DefectKind::BadCall, format!("no customer is called {name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_and_their_file_agree() {
        let texts = statements().unwrap();
        assert_eq!(texts.len(), NAMES.len());
        assert_eq!(texts[Stmt::RollBack as usize], "rollback");
        assert!(texts[Stmt::StockLevel as usize].contains("s_quantity < $3"));
    }
}
