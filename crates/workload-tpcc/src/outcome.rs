//! What is answered: the output fields of the standard's screens, as far as the caller does not know them already.

use crate::{Call, CustomerRow, DistrictRow, LINES_MAX, NewOrder, WarehouseRow, order_total};
use arrayvec::{ArrayString, ArrayVec};
use model::{BasisPoints, Cents};
use serde::{Deserialize, Serialize};

/// A text of at most `N` bytes that owns its bytes and allocates nothing.
pub type Text<const N: usize> = ArrayString<N>;

/// An outcome. Large (about 1.5 KiB) and on the stack, so that no call allocates.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "an outcome is passed by value once a call and never boxed")]
pub enum Outcome {
    /// The order was placed.
    Placed(Placed),
    /// An item is unused: nothing was stored (2.4.2.3). Declined.
    Unused(Unused),
    /// The payment was made.
    Paid(Paid),
    /// The customer's newest order.
    Status(OrderReport),
    Delivered(Delivered),
    /// Items are low in stock.
    Short(Short),
}

/// 2.4.3.3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// The order's number in its district.
    pub o_id: u32,
    /// When it was entered, in seconds since 1970.
    pub o_entry_d: i64,
    /// The customer's last name.
    pub c_last: Text<16>,
    /// "GC" or "BC".
    pub c_credit: Text<2>,
    /// Discount in ten-thousandths.
    pub c_discount: BasisPoints,
    /// Tax of the warehouse in ten-thousandths.
    pub w_tax: BasisPoints,
    /// Tax of the district in ten-thousandths.
    pub d_tax: BasisPoints,
    /// What the customer owes, in cents.
    pub total_amount: Cents,
    /// A line for each line of the call.
    pub lines: ArrayVec<PlacedLine, LINES_MAX>,
}

/// A line of a placed order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedLine {
    /// The item's name.
    pub i_name: Text<24>,
    /// Price of a piece in cents.
    pub i_price: Cents,
    /// What is left in stock after this line.
    pub s_quantity: i64,
    /// 'B' where both data fields hold "ORIGINAL", else 'G'.
    pub brand_generic: Text<1>,
    /// Price times quantity, in cents.
    pub ol_amount: Cents,
}

/// 2.4.3.4: what the screen shows next to "Item number is not valid".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unused {
    /// The number that the order would have had.
    pub o_id: u32,
    /// The customer's last name.
    pub c_last: Text<16>,
    /// "GC" or "BC".
    pub c_credit: Text<2>,
}

/// Name and address of a warehouse or district.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    pub street_1: Text<20>,
    pub street_2: Text<20>,
    pub city: Text<20>,
    pub state: Text<2>,
    pub zip: Text<9>,
}

impl From<&WarehouseRow> for Address {
    fn from(row: &WarehouseRow) -> Address {
        Address {
            street_1: row.w_street_1,
            street_2: row.w_street_2,
            city: row.w_city,
            state: row.w_state,
            zip: row.w_zip,
        }
    }
}

impl From<&DistrictRow> for Address {
    fn from(row: &DistrictRow) -> Address {
        Address {
            street_1: row.d_street_1,
            street_2: row.d_street_2,
            city: row.d_city,
            state: row.d_state,
            zip: row.d_zip,
        }
    }
}

/// The customer of a payment, as it was left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Customer {
    pub c_id: u32,
    pub c_first: Text<16>,
    pub c_middle: Text<2>,
    pub c_last: Text<16>,
    pub address: Address,
    pub c_phone: Text<16>,
    pub c_since: i64,
    pub c_credit: Text<2>,
    pub c_credit_lim: Cents,
    pub c_discount: BasisPoints,
    /// After the payment.
    pub c_balance: Cents,
}

impl From<&CustomerRow> for Customer {
    fn from(row: &CustomerRow) -> Customer {
        Customer {
            c_id: row.c_id,
            c_first: row.c_first,
            c_middle: row.c_middle,
            c_last: row.c_last,
            address: Address {
                street_1: row.c_street_1,
                street_2: row.c_street_2,
                city: row.c_city,
                state: row.c_state,
                zip: row.c_zip,
            },
            c_phone: row.c_phone,
            c_since: row.c_since,
            c_credit: row.c_credit,
            c_credit_lim: row.c_credit_lim,
            c_discount: row.c_discount,
            c_balance: row.c_balance,
        }
    }
}

/// 2.5.3.3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paid {
    /// When, in seconds since 1970.
    pub h_date: i64,
    pub warehouse: Address,
    pub district: Address,
    pub customer: Customer,
    /// The first 200 characters of c_data, for customers with bad credit; else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub c_data: Option<Text<200>>,
}

/// 2.6.3.3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderReport {
    pub c_id: u32,
    pub c_first: Text<16>,
    pub c_middle: Text<2>,
    pub c_last: Text<16>,
    pub c_balance: Cents,
    pub o_id: u32,
    pub o_entry_d: i64,
    /// Absent while the order is not delivered.
    pub o_carrier_id: Option<u32>,
    pub lines: ArrayVec<ReportLine, LINES_MAX>,
}

/// A line of a reported order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportLine {
    pub ol_supply_w_id: u32,
    pub ol_i_id: u32,
    pub ol_quantity: u32,
    pub ol_amount: Cents,
    /// Absent while the order is not delivered.
    pub ol_delivery_d: Option<i64>,
}

/// 2.7.3: the order delivered in each district, in the order of districts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// Absent where the district had nothing to deliver, which is counted as skipped (2.7.4.2).
    pub o_ids: ArrayVec<Option<u32>, 10>,
}

/// 2.8.3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Short {
    /// Items below the threshold.
    pub low_stock: u32,
}

/// What every right answer satisfies whatever the data.
pub(crate) fn check(call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
    match (call, outcome) {
        (Call::NewOrder(call), Outcome::Placed(placed)) => check_placed(call, placed),
        (Call::NewOrder(_), Outcome::Unused(unused)) => order_id(unused.o_id),
        (Call::Payment(call), Outcome::Paid(paid)) => {
            let named = match call.customer {
                crate::Who::Id(c_id) => paid.customer.c_id == c_id,
                crate::Who::LastName(name) => paid.customer.c_last == name,
            };
            ensure(named, "the payment names another customer")?;
            ensure(
                (paid.customer.c_credit.as_str() == "BC") == paid.c_data.is_some(),
                "c_data must be there exactly for bad credit",
            )
        }
        (Call::OrderStatus(call), Outcome::Status(report)) => {
            let named = match call.customer {
                crate::Who::Id(c_id) => report.c_id == c_id,
                crate::Who::LastName(name) => report.c_last == name,
            };
            ensure(named, "the status names another customer")?;
            order_id(report.o_id)?;
            ensure(report.lines.len() >= crate::LINES_MIN, "the order has fewer than 5 lines")?;
            let carrier = report.o_carrier_id.is_none_or(|carrier| (1..=10).contains(&carrier));
            ensure(carrier, "the order's carrier is not 1 to 10")?;
            let delivered = report.o_carrier_id.is_some();
            ensure(
                report.lines.iter().all(|line| line.ol_delivery_d.is_some() == delivered),
                "a line's delivery date disagrees with the order's carrier",
            )
        }
        (Call::Delivery(_), Outcome::Delivered(delivered)) => ensure(
            delivered.o_ids.len() == crate::DISTRICTS as usize,
            "the delivery does not list ten districts",
        ),
        (Call::StockLevel(_), Outcome::Short(short)) => {
            // Twenty orders of fifteen lines.
            ensure(short.low_stock <= 300, "more low items than the last 20 orders can hold")
        }
        _ => Err("the answer belongs to another kind of call"),
    }
}

fn check_placed(call: &NewOrder, placed: &Placed) -> Result<(), &'static str> {
    order_id(placed.o_id)?;
    ensure(placed.lines.len() == call.lines.len(), "the answer has another number of lines")?;
    let mut amounts = Cents(0);
    for (asked, line) in call.lines.iter().zip(&placed.lines) {
        ensure(
            line.ol_amount == line.i_price.times(i64::from(asked.quantity)),
            "an amount is not price times quantity",
        )?;
        amounts += line.ol_amount;
    }
    let total = order_total(amounts, placed.c_discount, placed.w_tax, placed.d_tax);
    ensure(placed.total_amount == total, "the total does not follow from its lines")
}

fn order_id(o_id: u32) -> Result<(), &'static str> {
    ensure(o_id > 0, "an order number is not positive")
}

pub(crate) fn ensure(holds: bool, otherwise: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(otherwise) }
}
