//! The five transactions through the query builder. They are the same for both engines but for three things, which the
//! module that holds this one gives: the connection `Conn`, the engine's clock `now`, and what locks the rows that a query
//! reads to be written, `locked!`. This file is therefore compiled twice, each time to queries of static types, whose SQL
//! Diesel makes once for each connection.

use super::{Backend, Conn, now};
use crate::rows::{
    CustomerRow, ItemRow, LineRow, NewHistoryRow, NewLineRow, NewOrderRow, NewestRow, PaidDistrictRow,
    PaidWarehouseRow, StatusRow, TermsRow, WaitingRow,
};
use crate::rules::{bad_credit_data, working_order};
use crate::schema::{customer, district, history, item, new_order, order_line, orders, stock, warehouse};
use crate::value::{Amount, Seconds, Share};
use crate::work::{BodyEnd, Stop, Work, bad_data, id, text};
use arrayvec::ArrayVec;
use diesel::dsl::{count, sum};
use diesel::prelude::*;
use diesel::sql_types::Text as SqlText;
use diesel::{delete, insert_into, update};
use model::{Cents, Clock, Conflict, DefectKind, Fault};
use workload_tpcc::{
    Call, DISTRICTS, Delivered, Delivery, LINES_MAX, Line, NewOrder, OrderReport, OrderStatus, Outcome, Paid,
    Payment, Placed, PlacedLine, Short, Stmt, StockLevel, Unused, Who, order_total,
};

/// The body of a call's transaction.
pub(super) fn transact(conn: &mut Conn, call: &Call, work: &mut Work<impl Clock>) -> Result<BodyEnd, Stop> {
    match call {
        Call::NewOrder(call) => place(conn, call, work),
        Call::Payment(call) => pay(conn, call, work),
        Call::OrderStatus(call) => report(conn, call, work),
        Call::Delivery(call) => deliver(conn, call, work),
        Call::StockLevel(call) => count_low(conn, call, work),
    }
}

/// 2.4.2.2.
fn place(conn: &mut Conn, call: &NewOrder, work: &mut Work<impl Clock>) -> Result<BodyEnd, Stop> {
    let (w_id, d_id, c_id) = (call.w_id as i32, call.d_id as i16, call.c_id as i32);
    let Share(w_tax) = work.one(Stmt::WarehouseTax, "warehouse", || {
        warehouse::table.find(w_id).select(warehouse::w_tax).get_result(conn)
    })?;
    // The row stays locked until commit: that is what keeps numbers unique.
    let claim = update(district::table.find((w_id, d_id)))
        .set(district::d_next_o_id.eq(district::d_next_o_id + 1))
        .returning((district::d_next_o_id - 1, district::d_tax));
    let (o_id, Share(d_tax)): (i32, _) =
        work.one(Stmt::ClaimOrderId, "district", || claim.get_result(conn))?;
    let terms = customer::table.find((w_id, d_id, c_id)).select(TermsRow::as_select());
    let terms: TermsRow = work.one(Stmt::CustomerTerms, "customer", || terms.get_result(conn))?;
    let (c_last, c_credit) = (text(&terms.c_last)?, text(&terms.c_credit)?);

    let order = NewOrderRow {
        o_w_id: w_id,
        o_d_id: d_id,
        o_id,
        o_c_id: c_id,
        o_ol_cnt: call.lines.len() as i16,
        o_all_local: i16::from(call.all_local()),
    };
    let order =
        insert_into(orders::table).values((order, orders::o_entry_d.eq(now()))).returning(orders::o_entry_d);
    let Seconds(o_entry_d) = work.one(Stmt::InsertOrder, "order", || order.get_result(conn))?;
    let waiting = WaitingRow { no_w_id: w_id, no_d_id: d_id, no_o_id: o_id };
    work.changed(Stmt::InsertNewOrder, || insert_into(new_order::table).values(waiting).execute(conn))?;

    let mut taken = [const { None::<PlacedLine> }; LINES_MAX];
    let mut rows = Vec::with_capacity(call.lines.len());
    let mut amounts = Cents(0);
    for index in working_order(&call.lines) {
        let Some((line, ol_dist_info)) = take(conn, call, &call.lines[index], work)? else {
            // 2.4.2.3: the item number is not valid, and everything so far is undone.
            return Ok(BodyEnd::RollBack(Outcome::Unused(Unused { o_id: id(o_id)?, c_last, c_credit })));
        };
        let Line { i_id, supply_w_id, quantity } = call.lines[index];
        rows.push(NewLineRow {
            ol_w_id: w_id,
            ol_d_id: d_id,
            ol_o_id: o_id,
            ol_number: index as i16 + 1,
            ol_i_id: i_id as i32,
            ol_supply_w_id: supply_w_id as i32,
            ol_quantity: quantity as i16,
            ol_amount: Amount(line.ol_amount),
            ol_dist_info,
        });
        amounts += line.ol_amount;
        taken[index] = Some(line);
    }
    work.changed(Stmt::InsertOrderLine, || insert_into(order_line::table).values(&rows).execute(conn))?;
    let Share(c_discount) = terms.c_discount;
    Ok(BodyEnd::Commit(Outcome::Placed(Placed {
        o_id: id(o_id)?,
        o_entry_d,
        c_last,
        c_credit,
        c_discount,
        w_tax,
        d_tax,
        total_amount: order_total(amounts, c_discount, w_tax, d_tax),
        lines: taken.into_iter().flatten().collect(),
    })))
}

/// Takes a line's items from stock, and gives the line and its ol_dist_info. None where the item is unused.
fn take(
    conn: &mut Conn,
    call: &NewOrder,
    line: &Line,
    work: &mut Work<impl Clock>,
) -> Result<Option<(PlacedLine, String)>, Stop> {
    let (i_id, supply_w_id, ordered) = (line.i_id as i32, line.supply_w_id as i32, line.quantity as i16);
    let item = item::table.find(i_id).select(ItemRow::as_select());
    let item: Option<ItemRow> = work.perhaps(Stmt::ReadItem, || item.get_result(conn))?;
    let Some(ItemRow { i_price: Amount(i_price), i_name, i_data }) = item else { return Ok(None) };

    let row = stock::table.find((supply_w_id, i_id));
    let in_stock = locked!(row.select((stock::s_quantity, stock::s_data, dist_info(call.d_id))));
    let (in_stock, s_data, ol_dist_info): (i16, String, String) =
        work.one(Stmt::ReadStock, "stock", || in_stock.get_result(conn))?;
    // 2.4.2.2: refill by 91 when less than 10 would be left.
    let s_quantity = if in_stock - ordered >= 10 { in_stock - ordered } else { in_stock - ordered + 91 };
    let remote = i32::from(line.supply_w_id != call.w_id);
    let left = update(row).set((
        stock::s_quantity.eq(s_quantity),
        stock::s_ytd.eq(stock::s_ytd + i32::from(ordered)),
        stock::s_order_cnt.eq(stock::s_order_cnt + 1),
        stock::s_remote_cnt.eq(stock::s_remote_cnt + remote),
    ));
    work.changed(Stmt::UpdateStock, || left.execute(conn))?;

    let brand_generic = if i_data.contains("ORIGINAL") && s_data.contains("ORIGINAL") { "B" } else { "G" };
    let line = PlacedLine {
        i_name: text(&i_name)?,
        i_price,
        s_quantity: i64::from(s_quantity),
        brand_generic: text(brand_generic)?,
        ol_amount: i_price.times(i64::from(ordered)),
    };
    Ok(Some((line, ol_dist_info)))
}

/// The column of stock for a district: chosen at run time, so that the query is one of ten texts.
fn dist_info(d_id: u32) -> Box<dyn BoxableExpression<stock::table, Backend, SqlType = SqlText>> {
    match d_id {
        1 => Box::new(stock::s_dist_01),
        2 => Box::new(stock::s_dist_02),
        3 => Box::new(stock::s_dist_03),
        4 => Box::new(stock::s_dist_04),
        5 => Box::new(stock::s_dist_05),
        6 => Box::new(stock::s_dist_06),
        7 => Box::new(stock::s_dist_07),
        8 => Box::new(stock::s_dist_08),
        9 => Box::new(stock::s_dist_09),
        _ => Box::new(stock::s_dist_10),
    }
}

/// 2.5.2.2.
fn pay(conn: &mut Conn, call: &Payment, work: &mut Work<impl Clock>) -> Result<BodyEnd, Stop> {
    let (w_id, d_id) = (call.w_id as i32, call.d_id as i16);
    let (c_w_id, c_d_id, amount) = (call.c_w_id as i32, call.c_d_id as i16, Amount(call.h_amount));
    // Relative, so that no update is lost whatever the isolation.
    let warehouse = update(warehouse::table.find(w_id))
        .set(warehouse::w_ytd.eq(warehouse::w_ytd + amount))
        .returning(PaidWarehouseRow::as_returning());
    let warehouse: PaidWarehouseRow =
        work.one(Stmt::PayWarehouse, "warehouse", || warehouse.get_result(conn))?;
    let district = update(district::table.find((w_id, d_id)))
        .set(district::d_ytd.eq(district::d_ytd + amount))
        .returning(PaidDistrictRow::as_returning());
    let district: PaidDistrictRow = work.one(Stmt::PayDistrict, "district", || district.get_result(conn))?;

    let c_id = identify(conn, c_w_id, c_d_id, call.customer, work)?;
    let row = customer::table.find((c_w_id, c_d_id, c_id));
    let read = locked!(row.select(CustomerRow::as_select()));
    let read: CustomerRow = work.one(Stmt::ReadCustomer, "customer", || read.get_result(conn))?;
    let mut customer = read.customer(id(c_id)?)?;
    customer.c_balance -= call.h_amount;

    let paid = (
        customer::c_balance.eq(customer::c_balance - amount),
        customer::c_ytd_payment.eq(customer::c_ytd_payment + amount),
        customer::c_payment_cnt.eq(customer::c_payment_cnt + 1),
    );
    let mut c_data = None;
    if customer.c_credit.as_str() == "BC" {
        let old: String =
            work.one(Stmt::ReadCustomerData, "customer", || row.select(customer::c_data).get_result(conn))?;
        let data = bad_credit_data(call, customer.c_id, &old);
        let with_data = (paid, customer::c_data.eq(data.as_str()));
        work.changed(Stmt::PayCustomerWithData, || update(row).set(with_data).execute(conn))?;
        c_data = Some(text(&data[..data.floor_char_boundary(200)])?);
    } else {
        work.changed(Stmt::PayCustomer, || update(row).set(paid).execute(conn))?;
    }

    let history = NewHistoryRow {
        h_c_w_id: c_w_id,
        h_c_d_id: c_d_id,
        h_c_id: c_id,
        h_w_id: w_id,
        h_d_id: d_id,
        h_amount: amount,
        // 2.5.3.3: both names with four spaces between them.
        h_data: format!("{}    {}", warehouse.w_name, district.d_name),
    };
    let history =
        insert_into(history::table).values((history, history::h_date.eq(now()))).returning(history::h_date);
    let Seconds(h_date) = work.one(Stmt::InsertHistory, "history", || history.get_result(conn))?;
    let (warehouse, district) = (warehouse.address()?, district.address()?);
    Ok(BodyEnd::Commit(Outcome::Paid(Paid { h_date, warehouse, district, customer, c_data })))
}

/// 2.6.2.2.
fn report(conn: &mut Conn, call: &OrderStatus, work: &mut Work<impl Clock>) -> Result<BodyEnd, Stop> {
    let (w_id, d_id) = (call.w_id as i32, call.d_id as i16);
    let c_id = identify(conn, w_id, d_id, call.customer, work)?;
    let status = customer::table.find((w_id, d_id, c_id)).select(StatusRow::as_select());
    let status: StatusRow = work.one(Stmt::CustomerStatus, "customer", || status.get_result(conn))?;
    let newest = orders::table
        .filter(orders::o_w_id.eq(w_id))
        .filter(orders::o_d_id.eq(d_id))
        .filter(orders::o_c_id.eq(c_id))
        .order(orders::o_id.desc())
        .select(NewestRow::as_select());
    let newest: NewestRow = work.one(Stmt::NewestOrder, "order", || newest.first(conn))?;
    let lines = order_line::table
        .filter(order_line::ol_w_id.eq(w_id))
        .filter(order_line::ol_d_id.eq(d_id))
        .filter(order_line::ol_o_id.eq(newest.o_id))
        .order(order_line::ol_number)
        .select(LineRow::as_select());
    let lines: Vec<LineRow> = work.all(Stmt::OrderLines, || lines.load(conn))?;
    Ok(BodyEnd::Commit(Outcome::Status(OrderReport {
        c_id: id(c_id)?,
        c_first: text(&status.c_first)?,
        c_middle: text(&status.c_middle)?,
        c_last: text(&status.c_last)?,
        c_balance: status.c_balance.0,
        o_id: id(newest.o_id)?,
        o_entry_d: newest.o_entry_d.0,
        o_carrier_id: newest.o_carrier_id.map(|carrier| id(i32::from(carrier))).transpose()?,
        lines: lines.iter().take(LINES_MAX).map(LineRow::line).collect::<Result<_, Stop>>()?,
    })))
}

/// 2.7.4.2, all ten districts in one transaction.
fn deliver(conn: &mut Conn, call: &Delivery, work: &mut Work<impl Clock>) -> Result<BodyEnd, Stop> {
    let mut o_ids = ArrayVec::new();
    for d_id in 1..=DISTRICTS {
        o_ids.push(deliver_district(conn, call, d_id as i16, work)?);
    }
    Ok(BodyEnd::Commit(Outcome::Delivered(Delivered { o_ids })))
}

/// The oldest order of a district, or none where there is nothing to deliver.
fn deliver_district(
    conn: &mut Conn,
    call: &Delivery,
    d_id: i16,
    work: &mut Work<impl Clock>,
) -> Result<Option<u32>, Stop> {
    let w_id = call.w_id as i32;
    let oldest = new_order::table
        .filter(new_order::no_w_id.eq(w_id))
        .filter(new_order::no_d_id.eq(d_id))
        .order(new_order::no_o_id)
        .select(new_order::no_o_id);
    let Some(o_id) = work.perhaps(Stmt::OldestNewOrder, || oldest.first::<i32>(conn))? else {
        return Ok(None);
    };
    if work
        .changed(Stmt::DeleteNewOrder, || delete(new_order::table.find((w_id, d_id, o_id))).execute(conn))?
        == 0
    {
        // Another Delivery has taken it since we looked. All of this one is done again, on what is there now.
        return Err(Stop::Fault(Fault::Conflict(Conflict::Serialization)));
    }
    let carried = update(orders::table.find((w_id, d_id, o_id)))
        .set(orders::o_carrier_id.eq(call.o_carrier_id as i16))
        .returning(orders::o_c_id);
    let c_id: i32 = work.one(Stmt::CarryOrder, "order", || carried.get_result(conn))?;
    let lines = order_line::table
        .filter(order_line::ol_w_id.eq(w_id))
        .filter(order_line::ol_d_id.eq(d_id))
        .filter(order_line::ol_o_id.eq(o_id));
    let delivered = update(lines).set(order_line::ol_delivery_d.eq(now().nullable()));
    work.changed(Stmt::DeliverLines, || delivered.execute(conn))?;
    let amount: Option<Amount> =
        work.one(Stmt::SumLines, "sum", || lines.select(sum(order_line::ol_amount)).get_result(conn))?;
    let amount = amount.ok_or_else(|| bad_data("an order without lines"))?;
    let credit = update(customer::table.find((w_id, d_id, c_id))).set((
        customer::c_balance.eq(customer::c_balance + amount),
        customer::c_delivery_cnt.eq(customer::c_delivery_cnt + 1),
    ));
    if work.changed(Stmt::CreditCustomer, || credit.execute(conn))? != 1 {
        return Err(bad_data("no customer where there must be one"));
    }
    id(o_id).map(Some)
}

/// 2.8.2.2.
fn count_low(conn: &mut Conn, call: &StockLevel, work: &mut Work<impl Clock>) -> Result<BodyEnd, Stop> {
    let (w_id, d_id, threshold) = (call.w_id as i32, call.d_id as i16, call.threshold as i16);
    let next = district::table.find((w_id, d_id)).select(district::d_next_o_id);
    let next: i32 = work.one(Stmt::NextOrderId, "district", || next.get_result(conn))?;
    let in_stock = stock::s_w_id.eq(w_id).and(stock::s_i_id.eq(order_line::ol_i_id));
    let low = order_line::table
        .inner_join(stock::table.on(in_stock))
        .filter(order_line::ol_w_id.eq(w_id))
        .filter(order_line::ol_d_id.eq(d_id))
        .filter(order_line::ol_o_id.ge(next - 20))
        .filter(order_line::ol_o_id.lt(next))
        .filter(stock::s_quantity.lt(threshold))
        .select(count(stock::s_i_id).aggregate_distinct());
    let low: i64 = work.one(Stmt::LowStock, "count", || low.get_result(conn))?;
    let low_stock = u32::try_from(low).map_err(|_| bad_data("a count below zero"))?;
    Ok(BodyEnd::Commit(Outcome::Short(Short { low_stock })))
}

/// 2.5.2.2: by last name, the customer at position ⌈n/2⌉ of all who have it, sorted by first name.
fn identify(
    conn: &mut Conn,
    w_id: i32,
    d_id: i16,
    customer: Who,
    work: &mut Work<impl Clock>,
) -> Result<i32, Stop> {
    let name = match customer {
        Who::Id(c_id) => return Ok(c_id as i32),
        Who::LastName(name) => name,
    };
    let namesakes = customer::table
        .filter(customer::c_w_id.eq(w_id))
        .filter(customer::c_d_id.eq(d_id))
        .filter(customer::c_last.eq(name.as_str()))
        .order((customer::c_first, customer::c_id))
        .select(customer::c_id);
    let namesakes: Vec<i32> = work.all(Stmt::CustomersByName, || namesakes.load(conn))?;
    match namesakes.len().div_ceil(2).checked_sub(1) {
        Some(middle) => Ok(namesakes[middle]),
        None => Err(Stop::Fault(Fault::defect(DefectKind::BadCall, format!("no customer is called {name}")))),
    }
}
