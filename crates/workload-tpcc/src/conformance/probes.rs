//! Random calls: mostly what the inputs of several terminals draw, and between them calls that pry where inputs seldom go.

use super::ConformancePlan;
use crate::{
    Call, Cardinality, DISTRICTS, Data, Delivery, Inputs, LINES_MAX, LINES_MIN, Line, NewOrder, OrderStatus,
    Payment, StockLevel, Text, Who,
};
use model::random::Random;
use model::{Cents, Inputs as _};

/// The path of the random stream, apart from those of load and run.
const CONFORMANCE: u64 = 200;

/// Terminals whose inputs are interleaved, at most.
const TERMINALS_MAX: u32 = 20;

/// Customers with bad credit that are known, at most.
const DEBTORS_MAX: usize = 20;

/// An endless stream of calls.
pub(crate) struct Probes {
    size: Cardinality,
    terminals: Vec<Inputs>,
    random: Random,
    /// Customers with bad credit.
    debtors: Vec<(u32, u32, u32)>,
    /// Last names, as they are stored.
    names: Vec<(u32, u32, Text<16>)>,
    /// The latest call, to be asked about.
    latest: Option<Call>,
}

impl Probes {
    pub(crate) fn new(data: &Data, plan: &ConformancePlan) -> Probes {
        let &ConformancePlan { size, load_seed, seed, .. } = plan;
        let terminals = (size.warehouses * DISTRICTS).min(TERMINALS_MAX);
        let c_load = Data::c_load_of(load_seed);
        // A thousand customers of the first warehouses hold enough of each sort.
        let customers = (1..=size.warehouses.min(2)).flat_map(|w_id| {
            (1..=DISTRICTS)
                .flat_map(move |d_id| (1..=size.customers.min(50)).map(move |c_id| (w_id, d_id, c_id)))
        });
        let (mut debtors, mut names) = (Vec::new(), Vec::new());
        for (w_id, d_id, c_id) in customers {
            let row = data.customer(w_id, d_id, c_id);
            names.push((w_id, d_id, row.c_last));
            if row.c_credit.as_str() == "BC" && debtors.len() < DEBTORS_MAX {
                debtors.push((w_id, d_id, c_id));
            }
        }
        Probes {
            size,
            terminals: (0..terminals).map(|worker| Inputs::new(size, c_load, seed, worker)).collect(),
            random: Random::stream(seed, &[CONFORMANCE]),
            debtors,
            names,
            latest: None,
        }
    }

    pub(crate) fn draw(&mut self) -> Call {
        let call = if self.random.chance(2, 3) {
            let terminal = self.random.below(self.terminals.len() as u64) as usize;
            self.terminals[terminal].draw()
        } else {
            self.pry()
        };
        self.latest = Some(call.clone());
        call
    }

    fn pry(&mut self) -> Call {
        match self.random.below(8) {
            0 | 1 => self.look_back(),
            2 => Call::NewOrder(self.odd_order()),
            3 => self.invalid_order(),
            4 => self.payment_of_debtor(),
            5 => self.payment_by_name(),
            6 => {
                let (w_id, _) = self.district();
                Call::Delivery(Delivery { w_id, o_carrier_id: self.between(1, 10) })
            }
            _ => {
                let (w_id, d_id) = self.district();
                Call::StockLevel(StockLevel { w_id, d_id, threshold: self.between(10, 20) })
            }
        }
    }

    /// Asks for what the latest call may have changed.
    fn look_back(&mut self) -> Call {
        match self.latest.clone() {
            Some(Call::NewOrder(order)) if self.random.chance(1, 2) => {
                let threshold = self.between(10, 20);
                Call::StockLevel(StockLevel { w_id: order.w_id, d_id: order.d_id, threshold })
            }
            Some(Call::NewOrder(NewOrder { w_id, d_id, c_id, .. })) => {
                Call::OrderStatus(OrderStatus { w_id, d_id, customer: Who::Id(c_id) })
            }
            Some(Call::Payment(Payment { c_w_id, c_d_id, customer, .. })) => {
                Call::OrderStatus(OrderStatus { w_id: c_w_id, d_id: c_d_id, customer })
            }
            _ => {
                let (w_id, d_id) = self.district();
                let customer = Who::Id(self.between(1, self.size.customers));
                Call::OrderStatus(OrderStatus { w_id, d_id, customer })
            }
        }
    }

    /// Few items, large quantities, any supplier: stock is refilled, and items meet themselves within the order.
    fn odd_order(&mut self) -> NewOrder {
        let (w_id, d_id) = self.district();
        let first = self.between(1, self.size.items);
        let width = self.between(1, self.size.items - first + 1).min(5);
        let count = self.between(LINES_MIN as u32, LINES_MAX as u32);
        let lines = (0..count)
            .map(|_| Line {
                i_id: first + self.between(0, width - 1),
                supply_w_id: self.between(1, self.size.warehouses),
                quantity: self.between(5, 10),
            })
            .collect();
        NewOrder { w_id, d_id, c_id: self.between(1, self.size.customers), lines }
    }

    /// An unused item anywhere.
    fn invalid_order(&mut self) -> Call {
        let mut order = self.odd_order();
        let position = self.random.below(order.lines.len() as u64) as usize;
        order.lines[position].i_id = self.size.items + self.between(1, 1_000);
        Call::NewOrder(order)
    }

    fn payment_of_debtor(&mut self) -> Call {
        if self.debtors.is_empty() {
            return self.payment_by_name();
        }
        let at = self.random.below(self.debtors.len() as u64) as usize;
        let (c_w_id, c_d_id, c_id) = self.debtors[at];
        self.payment(c_w_id, c_d_id, Who::Id(c_id))
    }

    fn payment_by_name(&mut self) -> Call {
        let at = self.random.below(self.names.len() as u64) as usize;
        let (c_w_id, c_d_id, name) = self.names[at];
        self.payment(c_w_id, c_d_id, Who::LastName(name))
    }

    fn payment(&mut self, c_w_id: u32, c_d_id: u32, customer: Who) -> Call {
        let (w_id, d_id) = self.district();
        let h_amount = Cents(self.random.range(100, 500_000));
        Call::Payment(Payment { w_id, d_id, c_w_id, c_d_id, customer, h_amount })
    }

    fn district(&mut self) -> (u32, u32) {
        (self.between(1, self.size.warehouses), self.between(1, DISTRICTS))
    }

    fn between(&mut self, low: u32, high: u32) -> u32 {
        self.random.range(i64::from(low), i64::from(high)) as u32
    }
}
