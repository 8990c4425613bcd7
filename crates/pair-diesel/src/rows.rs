//! What is read and written, as structs.

use crate::schema::{customer, district, history, item, new_order, order_line, orders, warehouse};
use crate::value::{Amount, Seconds, Share};
use crate::work::{Stop, id, text};
use diesel::prelude::*;
use workload_tpcc::{Address, Customer, ReportLine};

#[derive(Insertable)]
#[diesel(table_name = orders)]
pub(crate) struct NewOrderRow {
    pub(crate) o_w_id: i32,
    pub(crate) o_d_id: i16,
    pub(crate) o_id: i32,
    pub(crate) o_c_id: i32,
    pub(crate) o_ol_cnt: i16,
    pub(crate) o_all_local: i16,
}

#[derive(Insertable)]
#[diesel(table_name = new_order)]
pub(crate) struct WaitingRow {
    pub(crate) no_w_id: i32,
    pub(crate) no_d_id: i16,
    pub(crate) no_o_id: i32,
}

/// A line that is not delivered yet.
#[derive(Insertable)]
#[diesel(table_name = order_line)]
pub(crate) struct NewLineRow {
    pub(crate) ol_w_id: i32,
    pub(crate) ol_d_id: i16,
    pub(crate) ol_o_id: i32,
    pub(crate) ol_number: i16,
    pub(crate) ol_i_id: i32,
    pub(crate) ol_supply_w_id: i32,
    pub(crate) ol_quantity: i16,
    pub(crate) ol_amount: Amount,
    pub(crate) ol_dist_info: String,
}

#[derive(Insertable)]
#[diesel(table_name = history)]
pub(crate) struct NewHistoryRow {
    pub(crate) h_c_w_id: i32,
    pub(crate) h_c_d_id: i16,
    pub(crate) h_c_id: i32,
    pub(crate) h_w_id: i32,
    pub(crate) h_d_id: i16,
    pub(crate) h_amount: Amount,
    pub(crate) h_data: String,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = item)]
pub(crate) struct ItemRow {
    pub(crate) i_price: Amount,
    pub(crate) i_name: String,
    pub(crate) i_data: String,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = customer)]
pub(crate) struct TermsRow {
    pub(crate) c_discount: Share,
    pub(crate) c_last: String,
    pub(crate) c_credit: String,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = warehouse)]
pub(crate) struct PaidWarehouseRow {
    pub(crate) w_name: String,
    w_street_1: String,
    w_street_2: String,
    w_city: String,
    w_state: String,
    w_zip: String,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = district)]
pub(crate) struct PaidDistrictRow {
    pub(crate) d_name: String,
    d_street_1: String,
    d_street_2: String,
    d_city: String,
    d_state: String,
    d_zip: String,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = customer)]
pub(crate) struct CustomerRow {
    c_first: String,
    c_middle: String,
    c_last: String,
    c_street_1: String,
    c_street_2: String,
    c_city: String,
    c_state: String,
    c_zip: String,
    c_phone: String,
    c_since: Seconds,
    c_credit: String,
    c_credit_lim: Amount,
    c_discount: Share,
    c_balance: Amount,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = customer)]
pub(crate) struct StatusRow {
    pub(crate) c_first: String,
    pub(crate) c_middle: String,
    pub(crate) c_last: String,
    pub(crate) c_balance: Amount,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = orders)]
pub(crate) struct NewestRow {
    pub(crate) o_id: i32,
    pub(crate) o_entry_d: Seconds,
    pub(crate) o_carrier_id: Option<i16>,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = order_line)]
pub(crate) struct LineRow {
    ol_i_id: i32,
    ol_supply_w_id: i32,
    ol_quantity: i16,
    ol_amount: Amount,
    ol_delivery_d: Option<Seconds>,
}

impl PaidWarehouseRow {
    pub(crate) fn address(&self) -> Result<Address, Stop> {
        let PaidWarehouseRow { w_name: _, w_street_1, w_street_2, w_city, w_state, w_zip } = self;
        address([w_street_1, w_street_2, w_city, w_state, w_zip])
    }
}

impl PaidDistrictRow {
    pub(crate) fn address(&self) -> Result<Address, Stop> {
        let PaidDistrictRow { d_name: _, d_street_1, d_street_2, d_city, d_state, d_zip } = self;
        address([d_street_1, d_street_2, d_city, d_state, d_zip])
    }
}

impl CustomerRow {
    /// The customer as it was read, before anything was paid.
    pub(crate) fn customer(&self, c_id: u32) -> Result<Customer, Stop> {
        Ok(Customer {
            c_id,
            c_first: text(&self.c_first)?,
            c_middle: text(&self.c_middle)?,
            c_last: text(&self.c_last)?,
            address: address([&self.c_street_1, &self.c_street_2, &self.c_city, &self.c_state, &self.c_zip])?,
            c_phone: text(&self.c_phone)?,
            c_since: self.c_since.0,
            c_credit: text(&self.c_credit)?,
            c_credit_lim: self.c_credit_lim.0,
            c_discount: self.c_discount.0,
            c_balance: self.c_balance.0,
        })
    }
}

impl LineRow {
    pub(crate) fn line(&self) -> Result<ReportLine, Stop> {
        Ok(ReportLine {
            ol_i_id: id(self.ol_i_id)?,
            ol_supply_w_id: id(self.ol_supply_w_id)?,
            ol_quantity: id(i32::from(self.ol_quantity))?,
            ol_amount: self.ol_amount.0,
            ol_delivery_d: self.ol_delivery_d.map(|Seconds(date)| date),
        })
    }
}

fn address([street_1, street_2, city, state, zip]: [&String; 5]) -> Result<Address, Stop> {
    Ok(Address {
        street_1: text(street_1)?,
        street_2: text(street_2)?,
        city: text(city)?,
        state: text(state)?,
        zip: text(zip)?,
    })
}
