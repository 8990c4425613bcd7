//! What was sent and what was acknowledged: the input audit's counts, and bounds for what must be stored.

use crate::{Call, Cardinality, DISTRICTS, Line, NewOrder, Outcome, Tpcc, Who, district, kind};
use model::{Cents, Fault, Workload};
use serde::{Deserialize, Serialize};
use workload::{PRIME, mixed};

/// One item in sixteen is counted, so that the account of a worker stays small; skew is the same among them.
pub(crate) const ITEM_SAMPLE: u32 = 16;

/// 4.3.3.1: i_price is 100.00 at most.
const PRICE_MAX: i64 = 10_000;

/// What calls imply about a district.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DistrictTally {
    pub orders: u64,
    pub lines: u64,
    /// Σ ol_amount of these in cents. Of an order in doubt the prices are not known: the most that they can be.
    pub amount: i64,
    pub payments: u64,
    /// Their sum in cents.
    pub paid: i64,
    pub deliveries: u64,
    /// Deliveries that were answered with no order of it, as none waited (2.7.4.2).
    pub skipped: u64,
    /// The highest order number acknowledged; 0 for none.
    pub o_id_max: u32,
    /// What the rows of these add to the checksums of their tables. Of a call in doubt the most that they can.
    pub sums: RowSums,
}

/// Checksums ([`workload::mixed`]) of rows, of each table that calls add rows to or change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSums {
    /// Of orders: o_id with o_c_id, o_ol_cnt and o_all_local.
    pub orders: i64,
    /// Of lines: 16 × ol_o_id + ol_number with ol_i_id, ol_supply_w_id and ol_quantity.
    pub lines: i64,
    /// Of history: h_c_id with h_c_d_id, h_c_w_id and h_amount in cents.
    pub payments: i64,
    /// Of orders that have a carrier: o_id with o_carrier_id.
    pub deliveries: i64,
}

impl RowSums {
    fn absorb(&mut self, other: &RowSums) {
        self.orders = self.orders.saturating_add(other.orders);
        self.lines = self.lines.saturating_add(other.lines);
        self.payments = self.payments.saturating_add(other.payments);
        self.deliveries = self.deliveries.saturating_add(other.deliveries);
    }
}

impl DistrictTally {
    fn absorb(&mut self, other: &DistrictTally) {
        self.orders += other.orders;
        self.lines += other.lines;
        self.amount = self.amount.saturating_add(other.amount);
        self.payments += other.payments;
        self.paid = self.paid.saturating_add(other.paid);
        self.deliveries += other.deliveries;
        self.skipped += other.skipped;
        self.o_id_max = self.o_id_max.max(other.o_id_max);
        self.sums.absorb(&other.sums);
    }

    /// Enters an order under the number that it was answered, and its lines.
    fn order(&mut self, order: &NewOrder, o_id: u32) {
        let (o_id, count) = (i64::from(o_id), order.lines.len());
        self.orders += 1;
        self.lines += count as u64;
        let header = [i64::from(order.c_id), count as i64, i64::from(order.all_local())];
        self.sums.orders = self.sums.orders.saturating_add(mixed(o_id, header));
        let of_line = |(number, line): (i64, &Line)| {
            let parts = [line.i_id, line.supply_w_id, line.quantity].map(i64::from);
            mixed(16 * o_id + number, parts)
        };
        let lines = (1..).zip(&order.lines).map(of_line).sum();
        self.sums.lines = self.sums.lines.saturating_add(lines);
    }
}

/// Counts of what was really sent (the input audit compares them with the standard's shares).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputCounts {
    /// Calls of each kind.
    pub calls: [u64; 5],
    pub lines: u64,
    pub lines_remote: u64,
    pub payments_remote: u64,
    pub payments_by_name: u64,
    pub statuses_by_name: u64,
    /// New orders with an unused item.
    pub rollbacks_asked: u64,
    /// New orders answered as rolled back.
    pub rollbacks_answered: u64,
    /// Districts of a delivery that had nothing to deliver.
    pub deliveries_skipped: u64,
    pub deliveries_answered: u64,
}

/// The account of a worker, and after absorbing all workers that of the trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    size: Cardinality,
    sure: Box<[DistrictTally]>,
    doubtful: Box<[DistrictTally]>,
    counts: InputCounts,
    items: Box<[u32]>,
    customers: Box<[u32]>,
}

impl Ledger {
    /// An empty account for data of that size. About 50 KiB and 210 bytes a district.
    pub fn new(size: Cardinality) -> Ledger {
        let districts = (size.warehouses * DISTRICTS) as usize;
        Ledger {
            size,
            sure: vec![DistrictTally::default(); districts].into(),
            doubtful: vec![DistrictTally::default(); districts].into(),
            counts: InputCounts::default(),
            items: vec![0; (size.items / ITEM_SAMPLE) as usize + 1].into(),
            customers: vec![0; size.customers as usize + 1].into(),
        }
    }

    /// What acknowledged calls imply, by district in the order of (warehouse, district).
    pub fn sure(&self) -> &[DistrictTally] {
        &self.sure
    }

    /// What calls in doubt would add if all of them had been applied.
    pub fn doubtful(&self) -> &[DistrictTally] {
        &self.doubtful
    }

    pub const fn counts(&self) -> &InputCounts {
        &self.counts
    }

    /// How often each sampled item was ordered.
    pub fn item_counts(&self) -> &[u32] {
        &self.items[1..]
    }

    /// How often each customer number was drawn by number, over all districts.
    pub fn customer_counts(&self) -> &[u32] {
        &self.customers[1..]
    }

    fn count(&mut self, call: &Call) {
        self.counts.calls[Tpcc::kind(call)] += 1;
        match call {
            Call::NewOrder(order) => {
                self.counts.lines += order.lines.len() as u64;
                self.customers[order.c_id as usize] += 1;
                for line in &order.lines {
                    self.counts.lines_remote += u64::from(line.supply_w_id != order.w_id);
                    if line.i_id > self.size.items {
                        self.counts.rollbacks_asked += 1;
                    } else if line.i_id.is_multiple_of(ITEM_SAMPLE) {
                        self.items[(line.i_id / ITEM_SAMPLE) as usize] += 1;
                    }
                }
            }
            Call::Payment(payment) => {
                self.counts.payments_remote += u64::from(payment.c_w_id != payment.w_id);
                match payment.customer {
                    Who::Id(c_id) => self.customers[c_id as usize] += 1,
                    Who::LastName(_) => self.counts.payments_by_name += 1,
                }
            }
            Call::OrderStatus(status) => match status.customer {
                Who::Id(c_id) => self.customers[c_id as usize] += 1,
                Who::LastName(_) => self.counts.statuses_by_name += 1,
            },
            Call::Delivery(_) | Call::StockLevel(_) => {}
        }
    }

    fn acknowledge(&mut self, call: &Call, outcome: &Outcome) {
        match (call, outcome) {
            (Call::NewOrder(order), Outcome::Placed(placed)) => {
                let tally = &mut self.sure[district(order.w_id, order.d_id)];
                tally.order(order, placed.o_id);
                let amounts = placed.lines.iter().map(|line| line.ol_amount);
                tally.amount = tally.amount.saturating_add(amounts.sum::<Cents>().0);
                tally.o_id_max = tally.o_id_max.max(placed.o_id);
            }
            // Who answers declined though nothing was wrong may have stored the order all the same.
            (Call::NewOrder(order), Outcome::Unused(_)) if !order.names_unused(self.size.items) => {
                self.doubt(call);
            }
            (Call::NewOrder(_), Outcome::Unused(_)) => self.counts.rollbacks_answered += 1,
            (Call::Payment(payment), Outcome::Paid(paid)) => {
                let tally = &mut self.sure[district(payment.w_id, payment.d_id)];
                tally.payments += 1;
                tally.paid += payment.h_amount.0;
                let parts = [payment.c_d_id.into(), payment.c_w_id.into(), payment.h_amount.0];
                tally.sums.payments += mixed(paid.customer.c_id.into(), parts);
            }
            (Call::Delivery(delivery), Outcome::Delivered(delivered)) => {
                self.counts.deliveries_answered += 1;
                for (d_id, o_id) in (1..).zip(&delivered.o_ids) {
                    let tally = &mut self.sure[district(delivery.w_id, d_id)];
                    let Some(o_id) = o_id else {
                        self.counts.deliveries_skipped += 1;
                        tally.skipped += 1;
                        continue;
                    };
                    tally.deliveries += 1;
                    tally.sums.deliveries += mixed(i64::from(*o_id), [delivery.o_carrier_id.into()]);
                }
            }
            _ => {}
        }
    }

    fn doubt(&mut self, call: &Call) {
        match call {
            Call::NewOrder(order) if !order.names_unused(self.size.items) => {
                let tally = &mut self.doubtful[district(order.w_id, order.d_id)];
                tally.orders += 1;
                tally.lines += order.lines.len() as u64;
                // Its number is not known.
                tally.sums.orders += PRIME;
                tally.sums.lines += PRIME * order.lines.len() as i64;
                tally.amount +=
                    order.lines.iter().map(|line| PRICE_MAX * i64::from(line.quantity)).sum::<i64>();
            }
            Call::Payment(payment) => {
                let Cents(amount) = payment.h_amount;
                let tally = &mut self.doubtful[district(payment.w_id, payment.d_id)];
                tally.payments += 1;
                tally.paid += amount;
                tally.sums.payments += PRIME;
            }
            Call::Delivery(delivery) => {
                for d_id in 1..=DISTRICTS {
                    let tally = &mut self.doubtful[district(delivery.w_id, d_id)];
                    tally.deliveries += 1;
                    tally.sums.deliveries += PRIME;
                }
            }
            Call::NewOrder(_) | Call::OrderStatus(_) | Call::StockLevel(_) => {}
        }
    }
}

impl model::Ledger<Tpcc> for Ledger {
    fn post(&mut self, call: &Call, result: &Result<Outcome, Fault>) {
        self.count(call);
        match result {
            Ok(outcome) => self.acknowledge(call, outcome),
            // A defect says nothing about the store either: a wrong answer may have been applied.
            Err(Fault::InDoubt(_) | Fault::Defect(_)) => self.doubt(call),
            Err(Fault::Conflict(_) | Fault::Refused(_)) => {}
        }
    }

    fn absorb(&mut self, other: &Ledger) {
        self.sure.iter_mut().zip(&other.sure).for_each(|(mine, theirs)| mine.absorb(theirs));
        self.doubtful.iter_mut().zip(&other.doubtful).for_each(|(mine, theirs)| mine.absorb(theirs));
        self.items.iter_mut().zip(&other.items).for_each(|(mine, theirs)| *mine += theirs);
        self.customers.iter_mut().zip(&other.customers).for_each(|(mine, theirs)| *mine += theirs);
        let (mine, theirs) = (&mut self.counts, &other.counts);
        mine.calls.iter_mut().zip(&theirs.calls).for_each(|(mine, theirs)| *mine += theirs);
        mine.lines += theirs.lines;
        mine.lines_remote += theirs.lines_remote;
        mine.payments_remote += theirs.payments_remote;
        mine.payments_by_name += theirs.payments_by_name;
        mine.statuses_by_name += theirs.statuses_by_name;
        mine.rollbacks_asked += theirs.rollbacks_asked;
        mine.rollbacks_answered += theirs.rollbacks_answered;
        mine.deliveries_skipped += theirs.deliveries_skipped;
        mine.deliveries_answered += theirs.deliveries_answered;
    }

    fn clear(&mut self) {
        self.sure.fill(DistrictTally::default());
        self.doubtful.fill(DistrictTally::default());
        self.items.fill(0);
        self.customers.fill(0);
        self.counts = InputCounts::default();
    }
}

/// Share of all that the most frequent tenth gets (the skew of NURand).
pub fn top_tenth(counts: &[u32]) -> f64 {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let total: u64 = sorted.iter().map(|count| u64::from(*count)).sum();
    let top: u64 = sorted[..sorted.len().div_ceil(10)].iter().map(|count| u64::from(*count)).sum();
    if total == 0 { 0.0 } else { top as f64 / total as f64 }
}

const _: () = assert!(kind::STOCK_LEVEL == 4, "InputCounts::calls has a place for each kind");

#[cfg(test)]
mod tests;
