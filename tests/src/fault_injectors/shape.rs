//! What only data of the standard's size shows.

use super::{FaultInjector, behind};
use crate::faulty::Trick;
use workload_tpcc::{Call, Cardinality, Payment};

/// Those whose work shows in the shape of data of the standard's size only. The inputs are as they should be.
pub const SHAPE: &[FaultInjector] = &[
    behind(
        "the service works at home only, whatever it is asked for",
        Trick::Instead(|call| match call {
            Call::NewOrder(mut call) => {
                call.lines.iter_mut().for_each(|line| line.supply_w_id = call.w_id);
                Call::NewOrder(call)
            }
            Call::Payment(call) => Call::Payment(Payment { c_w_id: call.w_id, ..call }),
            other => other,
        }),
        &[
            "remote-lines",
            "remote-payments",
            "ledger: contents of order lines",
            "ledger: contents of orders",
            "ledger: contents of payments",
        ],
    ),
    behind(
        "the service sells all items alike, to all customers alike",
        Trick::Instead(|call| match call {
            Call::NewOrder(mut call) => {
                let items = Cardinality::standard(1).items;
                for line in call.lines.iter_mut().filter(|line| line.i_id <= items) {
                    // Shifted by what differs from order to order.
                    line.i_id = (line.i_id + call.c_id * 7_919 + call.d_id * 104_729) % items + 1;
                }
                call.c_id = (call.c_id * 2_003 + call.lines[0].i_id) % 3_000 + 1;
                Call::NewOrder(call)
            }
            other => other,
        }),
        &["item-skew", "customer-skew", "ledger: contents of order lines", "ledger: contents of orders"],
    ),
];
