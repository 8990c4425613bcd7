//! TPC-C 5.11. Clause numbers in comments are those of the standard.
//!
//! In reading order: `call` (what is asked), `outcome` (what is answered), `input` (how calls are drawn), `memory`
//! (what answers are held to, with `loaded` and `balances`), `data` (the initial rows), `sql` (the transactions), `oracle` (the truth in memory), `ledger` (what answers imply), `claims` (what must be stored by it). It knows no
//! driver and no protocol; `wire` turns calls and outcomes into JSON and back.

pub mod audit;
mod bad_credit;
mod balances;
mod benchmark;
mod call;
mod claims;
pub mod columns;
pub mod conformance;
mod data;
mod dates;
pub mod foreign_schema;
mod input;
mod ledger;
mod loaded;
mod memory;
mod money;
mod names;
mod oracle;
mod outcome;
mod races;
mod rows;
mod sql;
mod wire;

use model::{Facet, Kind, Nanos, Pace, Verdict, Workload};

pub use call::{Call, Delivery, Line, NewOrder, OrderStatus, Payment, StockLevel, Who};
pub use claims::{Claims, StoredSums, StoredTally};
pub use data::{Cardinality, Data, LOADED_AT, WAREHOUSES_MAX};
pub use input::{Inputs, Terminal};
pub use ledger::{DistrictTally, InputCounts, Ledger, RowSums, top_tenth};
pub use memory::{Knowledge, Run};
pub use money::order_total;
pub use names::last_name;
pub use oracle::{District, Oracle, Order};
pub use outcome::{
    Address, Customer, Delivered, OrderReport, Outcome, Paid, Placed, PlacedLine, ReportLine, Short, Text,
    Unused,
};
pub use rows::{
    CustomerRow, DistrictRow, HistoryRow, ItemRow, NewOrderRow, OrderLineRow, OrderRow, StockRow,
    WarehouseRow,
};
pub use sql::{PROCEDURE, ROUND, SqlSession, SqlTarget, Stmt, catalogue, schema};

/// Districts of a warehouse; Delivery visits all of them.
pub const DISTRICTS: u32 = 10;
/// Most lines of an order (2.4.1.3).
pub const LINES_MAX: usize = 15;
/// Fewest lines of an order.
pub const LINES_MIN: usize = 5;

/// The place of a district in the order of (warehouse, district), from 0.
const fn district(w_id: u32, d_id: u32) -> usize {
    ((w_id - 1) * DISTRICTS + d_id - 1) as usize
}

#[derive(Debug, Clone, Copy)]
pub struct Tpcc;

/// Index of each kind of call.
pub mod kind {
    pub const NEW_ORDER: usize = 0;
    pub const PAYMENT: usize = 1;
    pub const ORDER_STATUS: usize = 2;
    pub const DELIVERY: usize = 3;
    pub const STOCK_LEVEL: usize = 4;
}

/// Index of each part of a kind that is also shown apart.
mod facet {
    pub(super) const PAYMENT_BY_ID: usize = 0;
    pub(super) const PAYMENT_BY_NAME: usize = 1;
    pub(super) const ORDER_STATUS_BY_ID: usize = 2;
    pub(super) const ORDER_STATUS_BY_NAME: usize = 3;
}

/// 1 % of the orders have an unused item (2.4.1.4) and are rolled back.
const NEW_ORDER_DECLINED_MAX: f64 = 0.05;

const fn kind_of(name: &'static str, keying: u64, think: u64, p90: u64) -> Kind {
    Kind {
        name,
        headline: false,
        declined_max: 0.0,
        pace: Some(Pace { keying: Nanos::from_secs(keying), think_mean: Nanos::from_secs(think) }),
        p90_max: Some(Nanos::from_secs(p90)),
        deferred_p90_max: None,
        writes: true,
    }
}

impl Workload for Tpcc {
    const NAME: &'static str = "tpcc";
    /// Keying and think times, and limits of the 90th percentile, from 5.2.5.7.
    const KINDS: &'static [Kind] = &[
        Kind { headline: true, declined_max: NEW_ORDER_DECLINED_MAX, ..kind_of("new-order", 18, 12, 5) },
        kind_of("payment", 3, 12, 5),
        kind_of("order-status", 2, 10, 5).reading(),
        // 2.7.2.2: queued within 5 s, done within 80 s.
        Kind { deferred_p90_max: Some(Nanos::from_secs(80)), ..kind_of("delivery", 2, 5, 5) },
        kind_of("stock-level", 2, 5, 20).reading(),
    ];
    const STATEMENTS: &'static [&'static str] = &sql::CLOCKED;
    /// 2.5.1.2 and 2.6.1.2: 60 % name the customer by last name, which takes a statement more, over several rows.
    const FACETS: &'static [Facet] = &[
        Facet { kind: kind::PAYMENT, name: "by id" },
        Facet { kind: kind::PAYMENT, name: "by last name" },
        Facet { kind: kind::ORDER_STATUS, name: "by id" },
        Facet { kind: kind::ORDER_STATUS, name: "by last name" },
    ];
    type Call = Call;
    type Outcome = Outcome;
    type Inputs = Inputs;
    type Ledger = Ledger;

    fn kind(call: &Call) -> usize {
        match call {
            Call::NewOrder(_) => kind::NEW_ORDER,
            Call::Payment(_) => kind::PAYMENT,
            Call::OrderStatus(_) => kind::ORDER_STATUS,
            Call::Delivery(_) => kind::DELIVERY,
            Call::StockLevel(_) => kind::STOCK_LEVEL,
        }
    }

    fn facet(call: &Call) -> Option<usize> {
        match call {
            Call::Payment(Payment { customer: Who::Id(_), .. }) => Some(facet::PAYMENT_BY_ID),
            Call::Payment(Payment { customer: Who::LastName(_), .. }) => Some(facet::PAYMENT_BY_NAME),
            Call::OrderStatus(OrderStatus { customer: Who::Id(_), .. }) => Some(facet::ORDER_STATUS_BY_ID),
            Call::OrderStatus(OrderStatus { customer: Who::LastName(_), .. }) => {
                Some(facet::ORDER_STATUS_BY_NAME)
            }
            Call::NewOrder(_) | Call::Delivery(_) | Call::StockLevel(_) => None,
        }
    }

    fn verdict(outcome: &Outcome) -> Verdict {
        match outcome {
            Outcome::Unused(_) => Verdict::Declined,
            Outcome::Placed(_)
            | Outcome::Paid(_)
            | Outcome::Status(_)
            | Outcome::Delivered(_)
            | Outcome::Short(_) => Verdict::Committed,
        }
    }

    fn check(call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        outcome::check(call, outcome)
    }
}
