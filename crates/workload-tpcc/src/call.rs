//! What is asked: one value for each of the five transactions, plain data of fixed size.

use arrayvec::{ArrayString, ArrayVec};
use model::Cents;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

/// 2.4.1: a customer orders 5 to 15 items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewOrder {
    /// The terminal's home warehouse.
    pub w_id: u32,
    /// District, 1 to 10.
    pub d_id: u32,
    /// Customer, 1 to 3000.
    pub c_id: u32,
    /// The lines, in order.
    pub lines: ArrayVec<Line, 15>,
}

/// A line of a new order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The item; one beyond the last item is unused, and rolls the order back.
    pub i_id: u32,
    /// The warehouse that supplies it.
    pub supply_w_id: u32,
    /// 1 to 10.
    pub quantity: u32,
}

/// How a customer is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Id(u32),
    /// By last name: of all who have it, the one in the middle by first name.
    LastName(ArrayString<16>),
}

/// 2.5.1: a customer pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// The terminal's home warehouse, which receives the money.
    pub w_id: u32,
    /// The district that receives the money.
    pub d_id: u32,
    /// The customer's warehouse.
    pub c_w_id: u32,
    /// The customer's district.
    pub c_d_id: u32,
    pub customer: Who,
    /// 1.00 to 5,000.00.
    pub h_amount: Cents,
}

/// 2.6.1: what became of a customer's newest order?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderStatus {
    /// The terminal's home warehouse.
    pub w_id: u32,
    /// District, 1 to 10.
    pub d_id: u32,
    pub customer: Who,
}

/// 2.7.1: deliver the oldest order of each district.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// The terminal's home warehouse.
    pub w_id: u32,
    /// 1 to 10.
    pub o_carrier_id: u32,
}

/// 2.8.1: how many recently sold items are low in stock?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StockLevel {
    /// The terminal's warehouse.
    pub w_id: u32,
    /// The terminal's district.
    pub d_id: u32,
    /// 10 to 20.
    pub threshold: u32,
}

impl NewOrder {
    /// Whether every line is supplied by the home warehouse (o_all_local).
    pub fn all_local(&self) -> bool {
        self.lines.iter().all(|line| line.supply_w_id == self.w_id)
    }

    /// Whether it names an item that is not sold, of data with so many `items`: then it is to be declined (2.4.1.4).
    pub fn names_unused(&self, items: u32) -> bool {
        self.lines.iter().any(|line| line.i_id == 0 || line.i_id > items)
    }
}
