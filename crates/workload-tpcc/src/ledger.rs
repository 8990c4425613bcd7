//! What was sent and what was acknowledged: the input audit's counts, and bounds for what must be stored.

use crate::{Call, Cardinality, DISTRICTS, NewOrder, Outcome, Tpcc, Who, kind};
use model::{Cents, Fault, Workload};
use serde::{Deserialize, Serialize};

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
    /// The highest order number acknowledged; 0 for none.
    pub o_id_max: u32,
    /// Σ o_id of orders placed, of one in doubt 0.
    #[serde(default)]
    pub o_ids: i64,
    /// Σ o_c_id of these.
    #[serde(default)]
    pub customers: i64,
    /// Σ o_c_id² of these.
    #[serde(default)]
    pub customers_squared: i64,
    /// Σ ol_i_id of their lines.
    #[serde(default)]
    pub items: i64,
    /// Σ h_c_id of payments received. Of one in doubt by a last name the number is not known: the most that it can be.
    #[serde(default)]
    pub payers: i64,
    /// Σ o_carrier_id of orders delivered.
    #[serde(default)]
    pub carriers: i64,
}

impl DistrictTally {
    fn absorb(&mut self, other: &DistrictTally) {
        self.orders += other.orders;
        self.lines += other.lines;
        self.amount = self.amount.saturating_add(other.amount);
        self.payments += other.payments;
        self.paid = self.paid.saturating_add(other.paid);
        self.deliveries += other.deliveries;
        self.o_id_max = self.o_id_max.max(other.o_id_max);
        self.o_ids = self.o_ids.saturating_add(other.o_ids);
        self.customers = self.customers.saturating_add(other.customers);
        self.customers_squared = self.customers_squared.saturating_add(other.customers_squared);
        self.items = self.items.saturating_add(other.items);
        self.payers = self.payers.saturating_add(other.payers);
        self.carriers = self.carriers.saturating_add(other.carriers);
    }

    /// Enters who ordered what.
    fn order(&mut self, order: &NewOrder) {
        let c_id = i64::from(order.c_id);
        self.orders += 1;
        self.lines += order.lines.len() as u64;
        self.customers += c_id;
        self.customers_squared += c_id * c_id;
        self.items += order.lines.iter().map(|line| i64::from(line.i_id)).sum::<i64>();
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
#[derive(Debug, Clone, PartialEq, Eq)]
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

    fn district(&self, w_id: u32, d_id: u32) -> usize {
        ((w_id - 1) * DISTRICTS + d_id - 1) as usize
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
                let tally = &mut self.sure[self.district(order.w_id, order.d_id)];
                tally.order(order);
                tally.o_ids += i64::from(placed.o_id);
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
                let tally = &mut self.sure[self.district(payment.w_id, payment.d_id)];
                tally.payments += 1;
                tally.paid += payment.h_amount.0;
                tally.payers += i64::from(paid.customer.c_id);
            }
            (Call::Delivery(delivery), Outcome::Delivered(delivered)) => {
                self.counts.deliveries_answered += 1;
                for (d_id, o_id) in (1..).zip(&delivered.o_ids) {
                    let at = self.district(delivery.w_id, d_id);
                    self.sure[at].deliveries += u64::from(o_id.is_some());
                    self.sure[at].carriers += o_id.map_or(0, |_| i64::from(delivery.o_carrier_id));
                    self.counts.deliveries_skipped += u64::from(o_id.is_none());
                }
            }
            _ => {}
        }
    }

    fn doubt(&mut self, call: &Call) {
        match call {
            Call::NewOrder(order) if !order.names_unused(self.size.items) => {
                let tally = &mut self.doubtful[self.district(order.w_id, order.d_id)];
                tally.order(order);
                tally.amount +=
                    order.lines.iter().map(|line| PRICE_MAX * i64::from(line.quantity)).sum::<i64>();
            }
            Call::Payment(payment) => {
                let Cents(amount) = payment.h_amount;
                let c_id = match payment.customer {
                    Who::Id(c_id) => c_id,
                    Who::LastName(_) => self.size.customers,
                };
                let tally = &mut self.doubtful[self.district(payment.w_id, payment.d_id)];
                tally.payments += 1;
                tally.paid += amount;
                tally.payers += i64::from(c_id);
            }
            Call::Delivery(delivery) => {
                for d_id in 1..=DISTRICTS {
                    let tally = &mut self.doubtful[self.district(delivery.w_id, d_id)];
                    tally.deliveries += 1;
                    tally.carriers += i64::from(delivery.o_carrier_id);
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
mod tests {
    use super::*;
    use crate::{Claims, Delivered, Delivery, Payment, Placed, StoredSums, StoredTally};
    use model::{BasisPoints, Doubt, Ledger as _};

    fn district(w_id: u32, d_id: u32) -> StoredTally {
        StoredTally {
            w_id,
            d_id,
            next_o_id: 31,
            ytd: 30_000,
            lines: 300,
            undelivered: 9,
            payments: 30,
            amount: 5_000,
            sums: Some(StoredSums::default()),
        }
    }

    fn before() -> Vec<StoredTally> {
        (1..=2).flat_map(|w_id| (1..=10).map(move |d_id| district(w_id, d_id))).collect()
    }

    fn order() -> Call {
        let line = crate::Line { i_id: 1, supply_w_id: 1, quantity: 1 };
        Call::NewOrder(NewOrder { w_id: 1, d_id: 2, c_id: 3, lines: [line; 15].into() })
    }

    fn placed(o_id: u32) -> Result<Outcome, Fault> {
        Ok(Outcome::Placed(Placed {
            o_id,
            o_entry_d: 0,
            c_last: crate::last_name(0),
            c_credit: crate::Text::from("GC").unwrap(),
            c_discount: BasisPoints(0),
            w_tax: BasisPoints(0),
            d_tax: BasisPoints(0),
            total_amount: Cents(0),
            lines: arrayvec::ArrayVec::new(),
        }))
    }

    fn payment() -> Call {
        Call::Payment(Payment {
            w_id: 2,
            d_id: 1,
            c_w_id: 1,
            c_d_id: 1,
            customer: Who::Id(1),
            h_amount: Cents(500),
        })
    }

    /// Sentences of all violations after `change` was made to the store.
    fn check(ledger: &Ledger, complete: bool, change: impl Fn(&mut Vec<StoredTally>)) -> Vec<String> {
        let mut after = before();
        change(&mut after);
        let findings = Claims::of(ledger, complete).audit(&before(), &after).unwrap();
        findings.into_iter().flat_map(|finding| finding.violations).collect()
    }

    #[test]
    fn an_acknowledged_call_that_never_committed_is_found() {
        let mut ledger = Ledger::new(Cardinality::tiny());
        ledger.post(&order(), &placed(31));
        let stored = |after: &mut Vec<StoredTally>| {
            after[1].next_o_id += 1;
            after[1].lines += 15;
            after[1].undelivered += 1;
            let sums = after[1].sums.as_mut().unwrap();
            *sums = StoredSums { customers: 3, customers_squared: 9, items: 15, ..*sums };
        };
        assert_eq!(check(&ledger, true, stored), [""; 0]);
        let lost = check(&ledger, true, |_| {});
        assert!(lost[0].contains("district 1/2: acknowledged 1 orders, stored 0"), "{lost:?}");
        assert!(lost[1].contains("order 31 was acknowledged, the next is 31"), "{lost:?}");
    }

    #[test]
    fn money_from_nowhere_is_found() {
        let mut ledger = Ledger::new(Cardinality::tiny());
        ledger.post(&payment(), &Err(Fault::InDoubt(Doubt::Deadline)));
        let paid = |cents: i64, rows: i64| {
            move |after: &mut Vec<StoredTally>| {
                after[10].ytd += cents;
                after[10].payments += rows;
            }
        };
        assert_eq!(check(&ledger, true, paid(0, 0)), [""; 0]);
        assert_eq!(check(&ledger, true, paid(500, 1)), [""; 0]);
        assert!(
            check(&ledger, true, paid(501, 1))[0].contains("at most 500 cents were asked for, stored 501")
        );
        // What came after the last claims is unknown, so only losses can be told.
        assert_eq!(check(&ledger, false, paid(99_999, 7)), [""; 0]);
    }

    #[test]
    fn deliveries_count_by_district() {
        let mut ledger = Ledger::new(Cardinality::tiny());
        let call = Call::Delivery(Delivery { w_id: 1, o_carrier_id: 1 });
        let o_ids = (0..10).map(|district| (district != 4).then_some(22)).collect();
        ledger.post(&call, &Ok(Outcome::Delivered(Delivered { o_ids })));
        let all_but = |skipped: usize| {
            move |after: &mut Vec<StoredTally>| {
                (0..10).filter(|at| *at != skipped).for_each(|at| {
                    after[at].undelivered -= 1;
                    after[at].sums.as_mut().unwrap().carriers += 1;
                });
            }
        };
        assert_eq!(check(&ledger, true, all_but(4)), [""; 0]);
        // Of one district too many and of another too few, orders and their carriers.
        assert_eq!(check(&ledger, true, all_but(5)).len(), 4);
        assert_eq!(ledger.counts().deliveries_skipped, 1);
    }

    /// A change of a sum, how the ledger names what it is the sum of, and in which district it is told.
    type Swap = (fn(&mut StoredSums), &'static str);

    #[test]
    fn another_customer_item_carrier_or_stock_is_found_by_its_sum() {
        let ledger = Ledger::new(Cardinality::tiny());
        let swaps: [Swap; 6] = [
            (|sums| sums.customers += 1, "sum of numbers"),
            (|sums| sums.customers_squared -= 2, "sum of squares"),
            (|sums| sums.items -= 1, "sum of numbers"),
            (|sums| sums.payers += 1, "sum of numbers"),
            (|sums| sums.carriers -= 1, "sum of numbers"),
            (|sums| sums.stock += 1, "weighted sum"),
        ];
        for (swap, words) in swaps {
            let found = check(&ledger, true, |after| swap(after[10].sums.as_mut().unwrap()));
            assert!(found.len() == 1 && found[0].starts_with("district 2/1: ") && found[0].contains(words));
        }
        // No call changes it, so no claim need be known.
        let stock = |after: &mut Vec<StoredTally>| after[0].sums.as_mut().unwrap().stock += 91;
        assert_eq!(check(&ledger, false, stock).len(), 1);
    }

    #[test]
    fn claims_of_an_older_version_are_held_to_what_they_say() {
        let mut ledger = Ledger::new(Cardinality::tiny());
        ledger.post(&order(), &placed(31));
        let before: Vec<_> =
            before().into_iter().map(|district| StoredTally { sums: None, ..district }).collect();
        let mut after = before.clone();
        after[1].next_o_id += 1;
        after[1].lines += 15;
        after[1].undelivered += 1;
        after[1].sums = Some(StoredSums { customers: 99, ..StoredSums::default() });
        let findings = Claims::of(&ledger, true).audit(&before, &after).unwrap();
        assert!(
            findings.len() == 6 && findings.iter().all(|found| found.violations.is_empty()),
            "{findings:?}"
        );
    }

    #[test]
    fn absorbing_adds_and_clearing_forgets() {
        let mut one = Ledger::new(Cardinality::tiny());
        one.post(&payment(), &Err(Fault::InDoubt(Doubt::Deadline)));
        one.post(&order(), &placed(40));
        let mut sum = one.clone();
        sum.absorb(&one);
        assert_eq!((sum.sure()[1].orders, sum.sure()[1].o_id_max), (2, 40));
        assert_eq!(sum.doubtful()[10].paid, 1_000);
        assert_eq!(sum.counts().calls, [2, 2, 0, 0, 0]);
        one.clear();
        assert_eq!(one, Ledger::new(Cardinality::tiny()));
    }
}
