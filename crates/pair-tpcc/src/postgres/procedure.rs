//! One function a transaction, called in one round trip, which commits as well.

use super::decode::{
    Columns, Exact, Record, Seconds, brand, cents, defect, fit, get, id, rate, seconds, text, unsigned,
};
use super::pipelined::{fact, no_such_customer};
use super::round_trips::RoundTrips;
use super::texts;
use super::wire::{Wire, own_texts};
use adapter_tokio_postgres::fault;
use arrayvec::ArrayVec;
use model::{CallWork, Cents, Clock, Fault, OpenError, Session, StatementTimes};
use sql::{CatalogueError, ServerUrl};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};
use workload_tpcc::{
    Address, Call, Customer, DISTRICTS, Delivered, Delivery, LINES_MAX, NewOrder, OrderReport, OrderStatus,
    Outcome, PROCEDURE, Paid, Payment, Placed, PlacedLine, ReportLine, Short, StockLevel, Tpcc, Unused, Who,
    order_total,
};

/// Functions, made in this order.
const FUNCTIONS: [&str; 5] = [
    "function_new_order",
    "function_payment",
    "function_order_status",
    "function_delivery",
    "function_stock_level",
];

/// Calls by their place in [`CALLS`].
#[derive(Debug, Clone, Copy)]
enum Stmt {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

const CALLS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// The functions raise these; see `procedures.postgres.sql`.
const UNUSED_ITEM: &str = "TC001";
const NOBODY: &str = "TC002";
const NOT_FOUND: &str = "TC003";

/// The texts of functions, and of calls.
fn statements() -> Result<(Vec<String>, Vec<String>), CatalogueError> {
    let names = [FUNCTIONS, CALLS].concat();
    let mut functions = texts(include_str!("../../spec/sql/tpcc/procedures.postgres.sql"), &names)?;
    let calls = functions.split_off(FUNCTIONS.len());
    Ok((functions, calls))
}

/// Calls functions on one connection.
#[derive(Debug)]
pub struct ProcedureSession<K> {
    wire: Wire<K>,
}

impl<K: Clock> ProcedureSession<K> {
    pub(crate) async fn open(url: &ServerUrl, clock: K) -> Result<Self, OpenError> {
        let (functions, calls) = statements().map_err(|error| own_texts(&error))?;
        let wire = Wire::open(url, &functions, &calls, clock).await?;
        Ok(ProcedureSession { wire })
    }

    async fn transact(&mut self, call: &Call, work: &CallWork) -> Result<Outcome, Fault> {
        self.wire.start(work).await?;
        match call {
            Call::NewOrder(call) => self.new_order(call).await,
            Call::Payment(call) => self.payment(call).await,
            Call::OrderStatus(call) => self.order_status(call).await,
            Call::Delivery(call) => self.delivery(call).await,
            Call::StockLevel(call) => self.stock_level(call).await,
        }
    }

    /// The row in which a function answers.
    async fn call(&mut self, stmt: Stmt, params: &[&(dyn ToSql + Sync)]) -> Result<Row, Error> {
        let asked = self.wire.asked();
        let Wire { client, statements, link, .. } = &mut self.wire;
        let row = link.until(client.query_one(&statements[stmt as usize], params)).await;
        self.wire.answered(PROCEDURE, asked);
        let row = row?;
        self.wire.count(1, 1);
        self.wire.work.commits = 1;
        Ok(row)
    }

    /// 2.4.2.2.
    async fn new_order(&mut self, call: &NewOrder) -> Result<Outcome, Fault> {
        let (w_id, d_id, c_id) = (call.w_id as i32, call.d_id as i16, call.c_id as i32);
        let all_local = i16::from(call.all_local());
        let rounds = RoundTrips::of(&call.lines);
        let (numbers, items) = (rounds.numbers.as_slice(), rounds.items.as_slice());
        let (suppliers, quantities) = (rounds.suppliers.as_slice(), rounds.quantities.as_slice());
        let until = rounds.until.as_slice();
        let params: [&(dyn ToSql + Sync); 9] =
            [&w_id, &d_id, &c_id, &all_local, &numbers, &items, &suppliers, &quantities, &until];
        match self.call(Stmt::NewOrder, &params).await {
            Ok(row) => record(&row).and_then(|record| placed(call, &record)).map(Outcome::Placed),
            Err(error) => match unused(&error) {
                Some(unused) => {
                    self.wire.count(1, 0);
                    unused.map(Outcome::Unused)
                }
                None => Err(raised(&error, None, true)),
            },
        }
    }

    /// 2.5.2.2.
    async fn payment(&mut self, call: &Payment) -> Result<Outcome, Fault> {
        let (w_id, d_id) = (call.w_id as i32, call.d_id as i16);
        let (c_w_id, c_d_id, Cents(amount)) = (call.c_w_id as i32, call.c_d_id as i16, call.h_amount);
        let (c_id, c_last) = named(&call.customer);
        let fact = fact(call);
        let fact = fact.as_str();
        let params: [&(dyn ToSql + Sync); 8] =
            [&w_id, &d_id, &c_w_id, &c_d_id, &c_id, &c_last, &amount, &fact];
        let row = self.call(Stmt::Payment, &params).await;
        let row = row.map_err(|error| raised(&error, Some(&call.customer), true))?;
        paid(&record(&row)?).map(Outcome::Paid)
    }

    /// 2.6.2.2.
    async fn order_status(&mut self, call: &OrderStatus) -> Result<Outcome, Fault> {
        let (w_id, d_id) = (call.w_id as i32, call.d_id as i16);
        let (c_id, c_last) = named(&call.customer);
        let row = self.call(Stmt::OrderStatus, &[&w_id, &d_id, &c_id, &c_last]).await;
        let row = row.map_err(|error| raised(&error, Some(&call.customer), false))?;
        report(&record(&row)?).map(Outcome::Status)
    }

    /// 2.7.4.2, all ten districts in one transaction.
    async fn delivery(&mut self, call: &Delivery) -> Result<Outcome, Fault> {
        let (w_id, carrier) = (call.w_id as i32, call.o_carrier_id as i16);
        let row = self.call(Stmt::Delivery, &[&w_id, &carrier]).await;
        let row = row.map_err(|error| raised(&error, None, true))?;
        let record = record(&row)?;
        let mut delivered = Delivered { o_ids: std::iter::repeat_n(None, DISTRICTS as usize).collect() };
        // No array at all where there was nothing to deliver.
        let districts = get::<Option<Vec<i32>>>(&record, 0)?.unwrap_or_default();
        let o_ids = get::<Option<Vec<i32>>>(&record, 1)?.unwrap_or_default();
        for (district, o_id) in districts.into_iter().zip(o_ids) {
            let place = delivered.o_ids.get_mut((district as usize).wrapping_sub(1));
            *place.ok_or_else(|| defect("a district that was not asked for"))? = Some(unsigned(o_id)?);
        }
        Ok(Outcome::Delivered(delivered))
    }

    /// 2.8.2.2.
    async fn stock_level(&mut self, call: &StockLevel) -> Result<Outcome, Fault> {
        let (w_id, d_id, threshold) = (call.w_id as i32, call.d_id as i16, call.threshold as i32);
        let row = self.call(Stmt::StockLevel, &[&w_id, &d_id, &threshold]).await;
        let row = row.map_err(|error| raised(&error, None, false))?;
        Ok(Outcome::Short(Short { low_stock: id(&row, 0)? }))
    }
}

impl<K: Clock> Session<Tpcc> for ProcedureSession<K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        let result = self.transact(call, work).await;
        self.wire.move_into(work);
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        Some(self.wire.statement_times())
    }
}

/// A customer by number or by last name.
fn named(customer: &Who) -> (Option<i32>, Option<&str>) {
    match customer {
        Who::Id(c_id) => (Some(*c_id as i32), None),
        Who::LastName(name) => (None, Some(name.as_str())),
    }
}

/// What an error means that is not an unused item. Where the function writes, its commit was in the same trip.
#[cold]
fn raised(error: &Error, customer: Option<&Who>, committing: bool) -> Fault {
    match (error.as_db_error(), customer) {
        (Some(raised), Some(customer)) if raised.code().code() == NOBODY => no_such_customer(customer),
        (Some(raised), _) if raised.code().code() == NOT_FOUND => defect(raised.message()),
        _ => fault(error, committing),
    }
}

/// 2.4.2.3: what the screen shows of an order that was undone, if that is what the error says.
#[cold]
fn unused(error: &Error) -> Option<Result<Unused, Fault>> {
    let raised = error.as_db_error().filter(|raised| raised.code().code() == UNUSED_ITEM)?;
    let mut parts = raised.detail().unwrap_or_default().split(' ');
    let mut part = || parts.next().unwrap_or_default();
    let o_id = part().parse().map_err(|_| defect("an undone order without a number"));
    Some(o_id.and_then(|o_id| Ok(Unused { o_id, c_last: fit(part())?, c_credit: fit(part())? })))
}

/// The results of a function that has several.
fn record(row: &Row) -> Result<Record<'_>, Fault> {
    get(row, 0)
}

fn placed(call: &NewOrder, row: &impl Columns) -> Result<Placed, Fault> {
    let numbers: Vec<i16> = get(row, 7)?;
    let names: Vec<&str> = get(row, 8)?;
    let prices: Vec<Exact<2>> = get(row, 9)?;
    let left_over: Vec<i32> = get(row, 10)?;
    let originals: Vec<bool> = get(row, 11)?;
    let mut lines = [const { None::<PlacedLine> }; LINES_MAX];
    let mut amounts = Cents(0);
    let columns = names.iter().zip(&prices).zip(left_over.iter().zip(&originals));
    for (number, ((name, price), (left_over, original))) in numbers.iter().zip(columns) {
        let index = (*number as usize).wrapping_sub(1);
        let asked = call.lines.get(index).ok_or_else(|| defect("a line that was not asked for"))?;
        let i_price = Cents(price.0);
        let ol_amount = i_price.times(i64::from(asked.quantity));
        amounts += ol_amount;
        let (s_quantity, brand_generic) = (i64::from(*left_over), brand(*original));
        lines[index] = Some(PlacedLine { i_name: fit(name)?, i_price, s_quantity, brand_generic, ol_amount });
    }
    let (c_discount, w_tax, d_tax) = (rate(row, 4)?, rate(row, 5)?, rate(row, 6)?);
    Ok(Placed {
        o_id: id(row, 0)?,
        o_entry_d: seconds(row, 1)?,
        c_last: text(row, 2)?,
        c_credit: text(row, 3)?,
        c_discount,
        w_tax,
        d_tax,
        total_amount: order_total(amounts, c_discount, w_tax, d_tax),
        lines: lines.into_iter().flatten().collect(),
    })
}

fn paid(row: &impl Columns) -> Result<Paid, Fault> {
    let (warehouse, district): (Vec<&str>, Vec<&str>) = (get(row, 1)?, get(row, 2)?);
    let texts: Vec<&str> = get(row, 4)?;
    let &[c_first, c_middle, c_last, _, _, _, _, _, c_phone] = texts.as_slice() else {
        return Err(defect("a customer has nine texts"));
    };
    Ok(Paid {
        h_date: seconds(row, 0)?,
        warehouse: address(&warehouse)?,
        district: address(&district)?,
        customer: Customer {
            c_id: id(row, 3)?,
            c_first: fit(c_first)?,
            c_middle: fit(c_middle)?,
            c_last: fit(c_last)?,
            address: address(&texts[3..8])?,
            c_phone: fit(c_phone)?,
            c_since: seconds(row, 5)?,
            c_credit: text(row, 6)?,
            c_credit_lim: cents(row, 7)?,
            c_discount: rate(row, 8)?,
            c_balance: cents(row, 9)?,
        },
        c_data: get::<Option<&str>>(row, 10)?.map(fit).transpose()?,
    })
}

fn address(texts: &[&str]) -> Result<Address, Fault> {
    let &[street_1, street_2, city, state, zip] = texts else {
        return Err(defect("an address has five texts"));
    };
    Ok(Address {
        street_1: fit(street_1)?,
        street_2: fit(street_2)?,
        city: fit(city)?,
        state: fit(state)?,
        zip: fit(zip)?,
    })
}

fn report(row: &impl Columns) -> Result<OrderReport, Fault> {
    let texts: Vec<&str> = get(row, 1)?;
    let &[c_first, c_middle, c_last] = texts.as_slice() else {
        return Err(defect("a customer has three names"));
    };
    let (items, suppliers, quantities): (Vec<i32>, Vec<i32>, Vec<i32>) =
        (get(row, 6)?, get(row, 7)?, get(row, 8)?);
    let (amounts, delivered): (Vec<Exact<2>>, Vec<Option<Seconds>>) = (get(row, 9)?, get(row, 10)?);
    let mut lines = ArrayVec::new();
    let numbers = items.iter().zip(&suppliers).zip(&quantities);
    for (((item, supplier), quantity), (amount, delivered)) in
        numbers.zip(amounts.iter().zip(&delivered)).take(LINES_MAX)
    {
        lines.push(ReportLine {
            ol_i_id: unsigned(*item)?,
            ol_supply_w_id: unsigned(*supplier)?,
            ol_quantity: unsigned(*quantity)?,
            ol_amount: Cents(amount.0),
            ol_delivery_d: delivered.map(|seconds| seconds.0),
        });
    }
    Ok(OrderReport {
        c_id: id(row, 0)?,
        c_first: fit(c_first)?,
        c_middle: fit(c_middle)?,
        c_last: fit(c_last)?,
        c_balance: cents(row, 2)?,
        o_id: id(row, 3)?,
        o_entry_d: seconds(row, 4)?,
        o_carrier_id: get::<Option<i32>>(row, 5)?.map(unsigned).transpose()?,
        lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_calls_are_those_of_the_file() {
        let (functions, calls) = statements().unwrap();
        assert_eq!((functions.len(), calls.len()), (FUNCTIONS.len(), CALLS.len()));
        assert!(functions.iter().all(|text| text.starts_with("create function pg_temp.")));
        assert!(calls[Stmt::StockLevel as usize].ends_with("pg_temp.stock_level($1, $2, $3)"));
    }

    /// At the default level each statement of a volatile function takes a snapshot of its own.
    #[test]
    fn functions_that_only_read_see_one_snapshot() {
        let (functions, _) = statements().unwrap();
        for (stmt, function) in functions.iter().enumerate() {
            let reads = [Stmt::OrderStatus, Stmt::StockLevel].map(|read| read as usize).contains(&stmt);
            assert_eq!(function.contains("\nstable\n"), reads, "{function}");
        }
    }
}
