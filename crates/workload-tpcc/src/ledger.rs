//! What was sent and what was acknowledged: the input audit's counts, and bounds for what must be stored.

use crate::{Call, Cardinality, DISTRICTS, Outcome, Tpcc, Who, kind};
use model::{Cents, Fault, LedgerFinding, Workload};
use serde::{Deserialize, Serialize};

/// One item in sixteen is counted, so that the account of a worker stays small; skew is the same among them.
pub(crate) const ITEM_SAMPLE: u32 = 16;

/// 4.3.3.1: i_price is 100.00 at most.
const PRICE_MAX: i64 = 10_000;

/// What calls imply about a district.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DistrictTally {
    /// Orders placed.
    pub orders: u64,
    /// Their lines.
    pub lines: u64,
    /// Σ ol_amount of these in cents. Of an order in doubt the prices are not known: the most that they can be.
    pub amount: i64,
    /// Payments received.
    pub payments: u64,
    /// Their sum in cents.
    pub paid: i64,
    /// Orders delivered.
    pub deliveries: u64,
    /// The highest order number acknowledged; 0 for none.
    pub o_id_max: u32,
}

impl DistrictTally {
    fn absorb(&mut self, other: &DistrictTally) {
        self.orders += other.orders;
        self.lines += other.lines;
        self.amount += other.amount;
        self.payments += other.payments;
        self.paid += other.paid;
        self.deliveries += other.deliveries;
        self.o_id_max = self.o_id_max.max(other.o_id_max);
    }
}

/// Counts of what was really sent (the input audit compares them with the standard's shares).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each name says what it counts")]
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
    /// Deliveries answered.
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
    /// An empty account for data of that size. About 50 KiB and 120 bytes a district.
    #[must_use]
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
    #[must_use]
    pub fn sure(&self) -> &[DistrictTally] {
        &self.sure
    }

    /// What calls in doubt would add if all of them had been applied.
    #[must_use]
    pub fn doubtful(&self) -> &[DistrictTally] {
        &self.doubtful
    }

    /// What was sent.
    #[must_use]
    pub const fn counts(&self) -> &InputCounts {
        &self.counts
    }

    /// How often each sampled item was ordered.
    #[must_use]
    pub fn item_counts(&self) -> &[u32] {
        &self.items[1..]
    }

    /// How often each customer number was drawn by number, over all districts.
    #[must_use]
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
                tally.orders += 1;
                tally.lines += order.lines.len() as u64;
                tally.amount += placed.lines.iter().map(|line| line.ol_amount.0).sum::<i64>();
                tally.o_id_max = tally.o_id_max.max(placed.o_id);
            }
            (Call::NewOrder(_), Outcome::Unused(_)) => self.counts.rollbacks_answered += 1,
            (Call::Payment(payment), Outcome::Paid(_)) => {
                let tally = &mut self.sure[self.district(payment.w_id, payment.d_id)];
                tally.payments += 1;
                tally.paid += payment.h_amount.0;
            }
            (Call::Delivery(delivery), Outcome::Delivered(delivered)) => {
                self.counts.deliveries_answered += 1;
                for (d_id, o_id) in (1..).zip(&delivered.o_ids) {
                    let at = self.district(delivery.w_id, d_id);
                    self.sure[at].deliveries += u64::from(o_id.is_some());
                    self.counts.deliveries_skipped += u64::from(o_id.is_none());
                }
            }
            _ => {}
        }
    }

    fn doubt(&mut self, call: &Call) {
        match call {
            Call::NewOrder(order) if order.lines.iter().all(|line| line.i_id <= self.size.items) => {
                let tally = &mut self.doubtful[self.district(order.w_id, order.d_id)];
                tally.orders += 1;
                tally.lines += order.lines.len() as u64;
                tally.amount +=
                    order.lines.iter().map(|line| PRICE_MAX * i64::from(line.quantity)).sum::<i64>();
            }
            Call::Payment(payment) => {
                let Cents(amount) = payment.h_amount;
                let tally = &mut self.doubtful[self.district(payment.w_id, payment.d_id)];
                tally.payments += 1;
                tally.paid += amount;
            }
            Call::Delivery(delivery) => {
                for d_id in 1..=DISTRICTS {
                    self.doubtful[self.district(delivery.w_id, d_id)].deliveries += 1;
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

/// What the store says about a district, read before and after a trial by the query `district_tallies`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTally {
    /// Warehouse.
    pub w_id: u32,
    /// District.
    pub d_id: u32,
    /// d_next_o_id.
    pub next_o_id: i64,
    /// d_ytd in cents.
    pub ytd: i64,
    /// Σ o_ol_cnt.
    pub lines: i64,
    /// Rows of new_order.
    pub undelivered: i64,
    /// Rows of history.
    pub payments: i64,
    /// Σ ol_amount in cents.
    pub amount: i64,
}

impl StoredTally {
    /// From a row of `district_tallies`.
    #[must_use]
    pub fn from_row(row: &[i64]) -> Option<StoredTally> {
        let &[w_id, d_id, next_o_id, ytd, lines, undelivered, payments, amount] = row else { return None };
        let (w_id, d_id) = (u32::try_from(w_id).ok()?, u32::try_from(d_id).ok()?);
        Some(StoredTally { w_id, d_id, next_o_id, ytd, lines, undelivered, payments, amount })
    }

    fn delivered(&self) -> i64 {
        self.next_o_id - 1 - self.undelivered
    }
}

/// What acknowledged and doubtful calls imply, in a form that can be written to a partial result and read back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// By district, from acknowledged calls.
    pub sure: Vec<DistrictTally>,
    /// By district, from calls in doubt.
    pub doubtful: Vec<DistrictTally>,
    /// False where calls may have been acknowledged after these claims were written: then only the lower bounds hold.
    pub complete: bool,
}

impl Claims {
    /// The claims of a ledger.
    #[must_use]
    pub fn of(ledger: &Ledger, complete: bool) -> Claims {
        Claims { sure: ledger.sure.to_vec(), doubtful: ledger.doubtful.to_vec(), complete }
    }

    /// The ledger audit: the store must have grown by what was acknowledged, and by no more than that plus what is in
    /// doubt, in each district. `None` where the three do not speak of the same districts.
    #[must_use]
    pub fn audit(&self, before: &[StoredTally], after: &[StoredTally]) -> Option<Vec<LedgerFinding>> {
        let same = before.len() == after.len()
            && before.len() == self.sure.len()
            && before.len() == self.doubtful.len()
            && before.iter().zip(after).all(|(old, new)| (old.w_id, old.d_id) == (new.w_id, new.d_id));
        same.then(|| MEASURES.iter().map(|measure| self.hold(measure, before, after)).collect())
    }

    fn hold(&self, measure: &Measure, before: &[StoredTally], after: &[StoredTally]) -> LedgerFinding {
        let (name, unit) = (measure.name, measure.unit);
        let mut finding = LedgerFinding { name, unit, low: 0, high: 0, stored: 0, violations: Vec::new() };
        for (index, (old, new)) in before.iter().zip(after).enumerate() {
            let low = (measure.claimed)(&self.sure[index]);
            let high = low + (measure.claimed)(&self.doubtful[index]);
            let grown = (measure.stored)(new) - (measure.stored)(old);
            finding.low += low;
            finding.high += high;
            finding.stored += grown;
            let at = format!("district {}/{}", new.w_id, new.d_id);
            if grown < low {
                finding.violations.push(format!("{at}: acknowledged {low} {unit}, stored {grown}"));
            } else if self.complete && grown > high {
                finding
                    .violations
                    .push(format!("{at}: at most {high} {unit} were asked for, stored {grown}"));
            }
            if measure.numbers && i64::from(self.sure[index].o_id_max) >= new.next_o_id {
                let (acknowledged, next) = (self.sure[index].o_id_max, new.next_o_id);
                finding
                    .violations
                    .push(format!("{at}: order {acknowledged} was acknowledged, the next is {next}"));
            }
        }
        finding
    }
}

struct Measure {
    name: &'static str,
    unit: &'static str,
    claimed: fn(&DistrictTally) -> i64,
    stored: fn(&StoredTally) -> i64,
    /// Whether order numbers are checked along with it.
    numbers: bool,
}

const MEASURES: [Measure; 6] = [
    Measure {
        name: "orders placed",
        unit: "orders",
        claimed: |tally| tally.orders as i64,
        stored: |tally| tally.next_o_id,
        numbers: true,
    },
    Measure {
        name: "order lines",
        unit: "lines",
        claimed: |tally| tally.lines as i64,
        stored: |tally| tally.lines,
        numbers: false,
    },
    Measure {
        name: "order amounts",
        unit: "cents",
        claimed: |tally| tally.amount,
        stored: |tally| tally.amount,
        numbers: false,
    },
    Measure {
        name: "payments",
        unit: "rows of history",
        claimed: |tally| tally.payments as i64,
        stored: |tally| tally.payments,
        numbers: false,
    },
    Measure {
        name: "money received",
        unit: "cents",
        claimed: |tally| tally.paid,
        stored: |tally| tally.ytd,
        numbers: false,
    },
    Measure {
        name: "orders delivered",
        unit: "orders",
        claimed: |tally| tally.deliveries as i64,
        stored: StoredTally::delivered,
        numbers: false,
    },
];

/// Share of all that the most frequent tenth gets (the skew of NURand).
#[must_use]
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
    use crate::{Delivered, Delivery, NewOrder, Payment, Placed};
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
                (0..10).filter(|at| *at != skipped).for_each(|at| after[at].undelivered -= 1);
            }
        };
        assert_eq!(check(&ledger, true, all_but(4)), [""; 0]);
        assert_eq!(check(&ledger, true, all_but(5)).len(), 2);
        assert_eq!(ledger.counts().deliveries_skipped, 1);
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
