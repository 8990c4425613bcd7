//! The four transactions next to New-Order, by hand.

use super::{ByHand, text};
use arrayvec::ArrayVec;
use model::{BasisPoints, Cents};
use rusqlite::{OptionalExtension, Result, Row, params};
use std::fmt::Write as _;
use workload_tpcc::{
    Address, Customer, DISTRICTS, Delivered, Delivery, OrderReport, OrderStatus, Outcome, Paid, Payment,
    ReportLine, Short, StockLevel, Text, Who,
};

fn address(row: &Row<'_>, first: usize) -> Result<Address> {
    Ok(Address {
        street_1: text(row, first)?,
        street_2: text(row, first + 1)?,
        city: text(row, first + 2)?,
        state: text(row, first + 3)?,
        zip: text(row, first + 4)?,
    })
}

impl ByHand<'_> {
    pub(super) fn payment(&mut self, call: &Payment) -> Result<Outcome> {
        let &Payment { w_id, d_id, c_w_id, c_d_id, customer, h_amount: Cents(amount) } = call;
        self.begin_write.execute([])?;
        let (w_name, warehouse): (Text<10>, _) = self
            .pay_warehouse
            .query_row(params![w_id, amount], |row| Ok((text(row, 0)?, address(row, 1)?)))?;
        let (d_name, district): (Text<10>, _) = self
            .pay_district
            .query_row(params![w_id, d_id, amount], |row| Ok((text(row, 0)?, address(row, 1)?)))?;
        let c_id = self.identify(c_w_id, c_d_id, customer)?;
        let mut customer = self.read_customer.query_row([c_w_id, c_d_id, c_id], |row| {
            Ok(Customer {
                c_id,
                c_first: text(row, 0)?,
                c_middle: text(row, 1)?,
                c_last: text(row, 2)?,
                address: address(row, 3)?,
                c_phone: text(row, 8)?,
                c_since: row.get(9)?,
                c_credit: text(row, 10)?,
                c_credit_lim: Cents(row.get(11)?),
                c_discount: BasisPoints(row.get(12)?),
                c_balance: Cents(row.get(13)?),
            })
        })?;
        customer.c_balance -= call.h_amount;
        let mut c_data = None;
        if &customer.c_credit == "BC" {
            let old: Text<500> =
                self.read_customer_data.query_row([c_w_id, c_d_id, c_id], |row| text(row, 0))?;
            let mut data = Text::<500>::new();
            let (units, cents) = (amount / 100, amount % 100);
            write!(data, "{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {units}.{cents:02} ").expect("it fits");
            data.push_str(&old[..old.len().min(500 - data.len())]);
            self.pay_customer_with_data.execute(params![c_w_id, c_d_id, c_id, amount, data.as_str()])?;
            c_data = Some(Text::from(&data[..data.len().min(200)]).expect("cut to fit"));
        } else {
            self.pay_customer.execute(params![c_w_id, c_d_id, c_id, amount])?;
        }
        let mut h_data = Text::<24>::new();
        write!(h_data, "{w_name}    {d_name}").expect("two names of ten and four spaces");
        let h_date = self
            .insert_history
            .query_row(params![c_w_id, c_d_id, c_id, w_id, d_id, amount, h_data.as_str()], |row| {
                row.get(0)
            })?;
        self.commit.execute([])?;
        Ok(Outcome::Paid(Paid { h_date, warehouse, district, customer, c_data }))
    }

    pub(super) fn order_status(&mut self, call: &OrderStatus) -> Result<Outcome> {
        let &OrderStatus { w_id, d_id, customer } = call;
        self.begin_read.execute([])?;
        let c_id = self.identify(w_id, d_id, customer)?;
        let (c_first, c_middle, c_last, c_balance) =
            self.customer_status.query_row([w_id, d_id, c_id], |row| {
                Ok((text(row, 0)?, text(row, 1)?, text(row, 2)?, Cents(row.get(3)?)))
            })?;
        let (o_id, o_entry_d, o_carrier_id) = self
            .newest_order
            .query_row([w_id, d_id, c_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut lines = ArrayVec::new();
        let mut rows = self.order_lines.query([w_id, d_id, o_id])?;
        while let Some(row) = rows.next()? {
            lines.push(ReportLine {
                ol_i_id: row.get(0)?,
                ol_supply_w_id: row.get(1)?,
                ol_quantity: row.get(2)?,
                ol_amount: Cents(row.get(3)?),
                ol_delivery_d: row.get(4)?,
            });
        }
        drop(rows);
        self.commit.execute([])?;
        Ok(Outcome::Status(OrderReport {
            c_id,
            c_first,
            c_middle,
            c_last,
            c_balance,
            o_id,
            o_entry_d,
            o_carrier_id,
            lines,
        }))
    }

    pub(super) fn delivery(&mut self, call: &Delivery) -> Result<Outcome> {
        let &Delivery { w_id, o_carrier_id } = call;
        self.begin_write.execute([])?;
        let mut o_ids = ArrayVec::new();
        for d_id in 1..=DISTRICTS {
            let oldest: Option<u32> =
                self.oldest_new_order.query_row([w_id, d_id], |row| row.get(0)).optional()?;
            o_ids.push(oldest);
            let Some(o_id) = oldest else { continue };
            self.delete_new_order.execute([w_id, d_id, o_id])?;
            let c_id: u32 = self.carry_order.query_row([w_id, d_id, o_id, o_carrier_id], |row| row.get(0))?;
            self.deliver_lines.execute([w_id, d_id, o_id])?;
            let amount: i64 = self.sum_lines.query_row([w_id, d_id, o_id], |row| row.get(0))?;
            self.credit_customer.execute(params![w_id, d_id, c_id, amount])?;
        }
        self.commit.execute([])?;
        Ok(Outcome::Delivered(Delivered { o_ids }))
    }

    pub(super) fn stock_level(&mut self, call: &StockLevel) -> Result<Outcome> {
        let &StockLevel { w_id, d_id, threshold } = call;
        self.begin_read.execute([])?;
        let next: u32 = self.next_order_id.query_row([w_id, d_id], |row| row.get(0))?;
        let low_stock = self.low_stock.query_row([w_id, d_id, next, threshold], |row| row.get(0))?;
        self.commit.execute([])?;
        Ok(Outcome::Short(Short { low_stock }))
    }

    /// The customer in the middle of all who have the name.
    fn identify(&mut self, w_id: u32, d_id: u32, customer: Who) -> Result<u32> {
        let name = match customer {
            Who::Id(c_id) => return Ok(c_id),
            Who::LastName(name) => name,
        };
        self.namesakes.clear();
        let mut rows = self.customers_by_name.query(params![w_id, d_id, name.as_str()])?;
        while let Some(row) = rows.next()? {
            self.namesakes.push(row.get(0)?);
        }
        Ok(self.namesakes[self.namesakes.len().div_ceil(2) - 1])
    }
}
