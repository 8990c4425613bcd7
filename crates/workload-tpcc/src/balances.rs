//! What customers owe: bounds for c_balance while payments and deliveries change it.
//!
//! A payment takes its amount from a balance. A delivery adds what an order came to, and its caller does not know whose order
//! that will be. So the amount is drawn with the order, and acknowledged with the delivery that is answered its number.

use crate::data::BALANCE;
use crate::{DISTRICTS, Data};
use std::sync::atomic::{AtomicU64, Ordering};
use workload::{Drawn, Registers};

/// The balances of customers of data that no call had changed before.
#[derive(Debug)]
pub(crate) struct Balances {
    /// In the order of (warehouse, district, customer).
    rows: Registers,
    /// Customers of a district.
    customers: u32,
    waiting: Waiting,
}

impl Balances {
    /// Goes through the orders that were loaded undelivered: about 90 ms for 1,000 warehouses.
    pub(crate) fn of(data: &Data) -> Balances {
        let size = data.size();
        let count = u64::from(size.warehouses * DISTRICTS) * u64::from(size.customers);
        let rows = Registers::new(count, Some(BALANCE.0));
        let balances = Balances { rows, customers: size.customers, waiting: Waiting::default() };
        let districts = (1..=size.warehouses).flat_map(|w_id| (1..=DISTRICTS).map(move |d_id| (w_id, d_id)));
        for (w_id, d_id) in districts {
            let undelivered =
                (1..).zip(data.order_customers(w_id, d_id)).skip(size.undelivered_from() as usize - 1);
            for (o_id, c_id) in undelivered {
                if balances.draw((w_id, d_id, c_id), 0).slot().is_none() {
                    continue;
                }
                let mut amount = 0;
                data.order_lines(w_id, d_id, o_id, |line| amount += line.ol_amount.0);
                let order = balances.draw((w_id, d_id, c_id), amount);
                balances.place(crate::district(w_id, d_id), o_id, order);
            }
        }
        balances
    }

    /// A call was drawn that is to add `delta` to what a customer, named as (warehouse, district, customer), owes; or to read it
    /// where that is 0.
    pub(crate) fn draw(&self, (w_id, d_id, c_id): (u32, u32, u32), delta: i64) -> Drawn {
        let district = crate::district(w_id, d_id) as u64;
        self.rows.draw(district * u64::from(self.customers) + u64::from(c_id - 1), delta)
    }

    /// A call was answered, which `before` it found that balance. Whether that is possible.
    pub(crate) fn done(&self, drawn: Drawn, before: i64) -> bool {
        self.rows.done(drawn, Some(before))
    }

    /// An order was declined, and is never delivered.
    pub(crate) fn declined(&self, drawn: Drawn) {
        self.rows.declined(drawn, None);
    }

    /// An order was given its number: it waits for delivery.
    pub(crate) fn place(&self, district: usize, o_id: u32, drawn: Drawn) {
        if let Some(slot) = drawn.slot() {
            self.waiting.put(district, o_id, slot, drawn.delta());
        }
    }

    /// An order was delivered.
    pub(crate) fn deliver(&self, district: usize, o_id: u32) {
        if let Some((slot, amount)) = self.waiting.take(district, o_id) {
            self.rows.add(slot, amount);
        }
    }
}

/// What orders that wait for delivery come to. Several may share a place: the later one takes it, and the delivery of the earlier
/// one is never seen to be done, so that its customer's bounds stay apart by its amount.
#[derive(Debug)]
struct Waiting(Box<[AtomicU64]>);

/// Bits of a place's number, of what tells its orders apart, of a slot of [`Registers`], and of an amount in cents: 15 lines of
/// 9,999.99 at most (4.3.3.1).
const PLACE: u32 = 16;
const TAG: u32 = 22;
const SLOT: u32 = 16;
const AMOUNT: u32 = 24;
/// An order's key has so many bits: district, and 24 of its number.
const KEY: u32 = PLACE + TAG;
const O_ID: u32 = 24;
/// Any odd number makes every key another one of as many bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

const _: () = assert!(TAG + SLOT + AMOUNT < u64::BITS, "all of an order's parts and a mark fit in a word");

impl Default for Waiting {
    fn default() -> Waiting {
        Waiting((0..1 << PLACE).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Waiting {
    /// Where an order is kept, and what tells it from others there; nothing where district or number do not fit into a key.
    fn find(&self, district: usize, o_id: u32) -> Option<(&AtomicU64, u64)> {
        let district = district as u64;
        if o_id >> O_ID > 0 || district >> (KEY - O_ID) > 0 {
            return None;
        }
        let key = (district << O_ID | u64::from(o_id)).wrapping_mul(SPREAD) & ((1 << KEY) - 1);
        Some((&self.0[(key >> TAG) as usize], key & ((1 << TAG) - 1)))
    }

    fn put(&self, district: usize, o_id: u32, slot: u32, amount: i64) {
        let Some((place, tag)) = self.find(district, o_id) else { return };
        let Some(amount) = u64::try_from(amount).ok().filter(|amount| amount >> AMOUNT == 0) else { return };
        let mark = 1 << (TAG + SLOT + AMOUNT);
        place.store(mark | tag << (SLOT + AMOUNT) | u64::from(slot) << AMOUNT | amount, Ordering::SeqCst);
    }

    /// The slot and the amount of an order, once.
    fn take(&self, district: usize, o_id: u32) -> Option<(u32, i64)> {
        let (place, tag) = self.find(district, o_id)?;
        let found = place.load(Ordering::SeqCst);
        if found == 0 || found >> (SLOT + AMOUNT) & ((1 << TAG) - 1) != tag {
            return None;
        }
        place.compare_exchange(found, 0, Ordering::SeqCst, Ordering::SeqCst).ok()?;
        Some(((found >> AMOUNT & ((1 << SLOT) - 1)) as u32, (found & ((1 << AMOUNT) - 1)) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cardinality, CustomerRow};

    #[test]
    fn an_order_that_waits_is_found_once_under_its_own_number_alone() {
        let waiting = Waiting::default();
        for o_id in 1..=3_000 {
            waiting.put(7, o_id, o_id % 32_768, i64::from(o_id) * 5_000);
        }
        let found = (1..=3_000).filter(|o_id| {
            assert_eq!(waiting.take(8, *o_id), None, "{o_id} of another district");
            let taken = waiting.take(7, *o_id);
            assert!(taken.is_none_or(|taken| taken == (*o_id, i64::from(*o_id) * 5_000)), "{taken:?}");
            taken.is_some()
        });
        let found = found.count();
        assert!(found > 2_800, "{found} of 3,000 have kept their places");
        assert!((1..=3_000).all(|o_id| waiting.take(7, o_id).is_none()), "each was taken");
        // What has no room is left out.
        waiting.put(7, 1 << O_ID, 1, 1);
        waiting.put(1 << 14, 1, 1, 1);
        waiting.put(7, 1, 1, 1 << AMOUNT);
        waiting.put(7, 2, 1, -1);
        assert!(waiting.0.iter().all(|place| place.load(Ordering::SeqCst) == 0));
    }

    #[test]
    fn a_customer_owes_what_was_delivered_less_what_was_paid() {
        let data = Data::new(Cardinality::tiny(), 5);
        let (size, balances) = (data.size(), Balances::of(&data));
        let customers = data.order_customers(1, 2);
        let mut loaded = 0;
        data.order_lines(1, 2, 30, |line| loaded += line.ol_amount.0);
        // Whose order was loaded last, and is not delivered.
        let who = (1, 2, customers[29]);
        let CustomerRow { c_balance, .. } = data.customer(1, 2, who.2);
        let reads = |balance: i64| balances.done(balances.draw(who, 0), balance);
        assert!(reads(c_balance.0) && reads(c_balance.0 + loaded), "it may be delivered at any moment");
        assert!(!reads(c_balance.0 - 1) && !reads(c_balance.0 + loaded + 1));
        balances.deliver(crate::district(1, 2), 30);
        assert!(!reads(c_balance.0) && reads(c_balance.0 + loaded));
        // One that is placed now, and one that is declined.
        balances.place(crate::district(1, 2), 31, balances.draw(who, 700));
        balances.declined(balances.draw(who, 900));
        assert!(balances.done(balances.draw(who, -50), c_balance.0 + loaded));
        assert!(reads(c_balance.0 + loaded - 50) && reads(c_balance.0 + loaded + 650));
        assert!(!reads(c_balance.0 + loaded - 51) && !reads(c_balance.0 + loaded + 651));
        balances.deliver(crate::district(1, 2), 31);
        assert!(!reads(c_balance.0 + loaded - 50) && reads(c_balance.0 + loaded + 650));
        // Of another customer nothing has changed, whose only order was loaded as delivered.
        let other = (1, 2, customers[0]);
        assert_eq!(size.undelivered_from(), 22);
        assert!(balances.done(balances.draw(other, 0), c_balance.0));
        assert!(!balances.done(balances.draw(other, 0), c_balance.0 + 1));
    }
}
