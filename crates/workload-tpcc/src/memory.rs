//! What a worker holds answers to beyond their call: the rows that were loaded, and what it and others were told before.
//!
//! [`Knowledge`] is shared by all workers of a trial, [`Memory`] is one worker's. Both take all their room before the first
//! call. Only answers are entered, so that a call without one can make no later answer look wrong.

use crate::data::ByName;
use crate::outcome::ensure;
use crate::{
    Call, Cardinality, DISTRICTS, Data, Delivered, Delivery, LINES_MAX, Line, NewOrder, OrderReport, Outcome,
    Paid, Placed, StoredTally, Text, Unused, Who,
};
use arrayvec::ArrayVec;
use model::BasisPoints;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use workload::{Drawn, Registers};

/// More warehouses than this are not searched for namesakes: a thousand take about 2 s and 20 MB.
const NAMED_MAX: u32 = 1_000;
/// Customers whose newest order a worker remembers, at 8 bytes each; a power of two.
const NEWEST_MAX: usize = 2_048;
/// Groups of 32 order numbers of a district that are remembered; 512 bytes a district.
const GROUPS: usize = 64;

/// 4.3.3.1, 2.4.2.2: a stock is loaded with so many pieces, and is filled up by 91 where fewer would be left.
const STOCK: RangeInclusive<i64> = 10..=100;
const FILLED_UP_BY: i64 = 91;

/// What all workers of a trial know.
#[derive(Debug)]
pub struct Knowledge {
    size: Cardinality,
    /// Absent where someone else has loaded the data.
    loaded: Option<Loaded>,
    /// Numbers that were given, by district in the order of (warehouse, district).
    numbers: Box<[OrderNumbers]>,
    /// Numbers of orders that were delivered, in the same order.
    delivered: Box<[OrderNumbers]>,
    /// What waits for delivery, in the same order.
    queues: Box<[Queue]>,
    /// Deliveries that were drawn, by warehouse; none where what was acknowledged may be lost.
    deliveries: Box<[AtomicU64]>,
    /// What orders have taken from stocks, in the order of (warehouse, item).
    stocks: Registers,
    /// Whether no order was placed since the data was loaded.
    is_fresh: bool,
}

/// What is known of a district's orders, and of those that wait for delivery.
#[derive(Debug, Default)]
struct Queue {
    /// How many waited before the first call, at least.
    before: u64,
    /// Orders that were drawn.
    drawn: AtomicU64,
    /// Orders that were acknowledged.
    placed: AtomicU64,
    /// Deliveries that were answered with nothing to deliver.
    empty: AtomicU64,
    /// The number of the last order before the first call, at most.
    last_before: AtomicU64,
}

/// Rows of our own load, as far as answers show them and no call changes them.
#[derive(Debug)]
struct Loaded {
    data: Data,
    /// Tax of each warehouse.
    w_tax: Box<[BasisPoints]>,
    /// Tax of each district.
    d_tax: Box<[BasisPoints]>,
    /// Who is meant by a last name, in each district.
    named: Option<ByName>,
}

impl Knowledge {
    /// Of data that was loaded as `data` says. `before` is what the store reports, where it can be read. `lossy`
    /// says that what was acknowledged may be lost, so that an order may rightly be delivered twice.
    pub fn of(data: Data, before: Option<&Vec<StoredTally>>, lossy: bool) -> Arc<Knowledge> {
        let size = data.size();
        let warehouses = 1..=size.warehouses;
        let districts = warehouses.clone().flat_map(|w_id| (1..=DISTRICTS).map(move |d_id| (w_id, d_id)));
        let loaded = Loaded {
            w_tax: warehouses.map(|w_id| data.warehouse(w_id).w_tax).collect(),
            d_tax: districts.map(|(w_id, d_id)| data.district(w_id, d_id).d_tax).collect(),
            named: (size.warehouses <= NAMED_MAX).then(|| data.by_name()),
            data,
        };
        Knowledge::new(size, Some(loaded), before, lossy)
    }

    /// Of data that someone else has loaded: what it holds shows in the answers alone, and in what the store reports.
    pub fn of_others(size: Cardinality, before: Option<&Vec<StoredTally>>, lossy: bool) -> Arc<Knowledge> {
        Knowledge::new(size, None, before, lossy)
    }

    fn new(
        size: Cardinality,
        loaded: Option<Loaded>,
        before: Option<&Vec<StoredTally>>,
        lossy: bool,
    ) -> Arc<Knowledge> {
        let districts = (size.warehouses * DISTRICTS) as usize;
        let queue = |at: usize| {
            let stored = before.filter(|before| before.len() == districts).and_then(|before| before.get(at));
            let before = stored.and_then(|district| u64::try_from(district.undelivered).ok());
            let last = stored.and_then(|district| u64::try_from(district.next_o_id - 1).ok());
            let last_before = AtomicU64::new(last.unwrap_or(u64::MAX));
            Queue { before: before.unwrap_or(0), last_before, ..Queue::default() }
        };
        let stocks = match lossy {
            true => Registers::none(),
            false => Registers::new(u64::from(size.warehouses) * u64::from(size.items), None),
        };
        let is_new = |district: &StoredTally| district.next_o_id == i64::from(size.orders) + 1;
        Arc::new(Knowledge {
            size,
            stocks,
            is_fresh: before.is_some_and(|before| before.len() == districts && before.iter().all(is_new)),
            loaded,
            numbers: (0..districts).map(|_| OrderNumbers::default()).collect(),
            delivered: (0..districts).map(|_| OrderNumbers::default()).collect(),
            queues: (0..districts).map(queue).collect(),
            deliveries: (0..if lossy { 0 } else { size.warehouses }).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    fn district(&self, w_id: u32, d_id: u32) -> usize {
        ((w_id - 1) * DISTRICTS + d_id - 1) as usize
    }

    /// Whether what was acknowledged may be lost.
    fn is_lossy(&self) -> bool {
        self.deliveries.is_empty()
    }

    /// A line of an order was drawn, which will take from a stock. An unused item has none.
    fn draw_line(&self, line: &Line) -> Drawn {
        if line.i_id > self.size.items {
            return Drawn::default();
        }
        let row = u64::from(line.supply_w_id - 1) * u64::from(self.size.items) + u64::from(line.i_id - 1);
        self.stocks.draw(row, -i64::from(line.quantity))
    }

    /// 2.4.2.2: what a stock holds after a line is what all orders have left of it, but for how often it was filled up.
    fn has_left(&self, line: &Line, drawn: Drawn, s_quantity: i64) -> bool {
        let opening = || {
            let loaded = self.loaded.as_ref().filter(|_| self.is_fresh)?;
            Some(loaded.data.in_stock(line.supply_w_id, line.i_id))
        };
        self.stocks.done_modulo(drawn, s_quantity + i64::from(line.quantity), FILLED_UP_BY, opening)
    }
}

/// Order numbers of a district, as far as they were answered: the newest 2,048 or so. Each word holds which 32
/// numbers it stands for, and a bit for each of them.
#[derive(Debug)]
struct OrderNumbers([AtomicU64; GROUPS]);

impl Default for OrderNumbers {
    fn default() -> OrderNumbers {
        OrderNumbers([const { AtomicU64::new(0) }; GROUPS])
    }
}

impl OrderNumbers {
    /// Enters a number. False where it was entered before; of one too old to be remembered no one can tell.
    fn enter(&self, o_id: u32) -> bool {
        let (group, bit) = (o_id / 32, 1_u64 << (o_id % 32));
        let word = &self.0[group as usize % GROUPS];
        let mut new = true;
        // Workers of other threads enter numbers of the same group: on contention it is tried again, which is rare.
        let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |locked| {
            let of = (locked >> 32) as u32;
            new = of != group || locked & bit == 0;
            match of.cmp(&group) {
                std::cmp::Ordering::Less => Some(u64::from(group) << 32 | bit),
                std::cmp::Ordering::Equal => Some(locked | bit),
                std::cmp::Ordering::Greater => None,
            }
        });
        new
    }
}

/// What one worker was told.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    known: Arc<Knowledge>,
    /// The highest order number that it was answered in each district of its warehouse.
    highest: [u32; DISTRICTS as usize],
    /// Customers of its warehouse, and the number of an order that each is known to have. Customers share places: the later
    /// one takes it.
    newest: Box<[(u32, u32)]>,
    /// Taxes of the warehouse and of its districts as first answered, for data that someone else has loaded.
    w_tax: Option<BasisPoints>,
    d_tax: [Option<BasisPoints>; DISTRICTS as usize],
    /// Orders that were acknowledged in each district of its warehouse before it drew its newest delivery.
    placed: [u64; DISTRICTS as usize],
    /// What was known of the stocks of its newest order, line by line.
    lines: ArrayVec<Drawn, LINES_MAX>,
    /// Orders that were acknowledged in its district before it drew its newest order.
    placed_before: u64,
}

impl Memory {
    pub(crate) fn new(known: &Arc<Knowledge>) -> Memory {
        Memory {
            known: Arc::clone(known),
            highest: [0; DISTRICTS as usize],
            newest: vec![(0, 0); NEWEST_MAX].into(),
            w_tax: None,
            d_tax: [None; DISTRICTS as usize],
            placed: [0; DISTRICTS as usize],
            lines: ArrayVec::new(),
            placed_before: 0,
        }
    }

    /// An order was drawn: what it will take is not in any answer so far.
    pub(crate) fn draw_order(&mut self, order: &NewOrder) {
        self.lines.clear();
        self.lines.extend(order.lines.iter().map(|line| self.known.draw_line(line)));
        let queue = &self.known.queues[self.known.district(order.w_id, order.d_id)];
        self.placed_before = queue.placed.load(Ordering::SeqCst);
        queue.drawn.fetch_add(1, Ordering::SeqCst);
    }

    /// A delivery was drawn: it will find the orders that have been acknowledged by now.
    pub(crate) fn draw(&mut self, delivery: &Delivery) {
        let known = &*self.known;
        let first = known.district(delivery.w_id, 1);
        let placed = known.queues[first..].iter().map(|queue| queue.placed.load(Ordering::SeqCst));
        self.placed.iter_mut().zip(placed).for_each(|(mine, placed)| *mine = placed);
        if let Some(drawn) = known.deliveries.get(delivery.w_id as usize - 1) {
            drawn.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Holds an answer that fits its call to what is known, and remembers it.
    pub(crate) fn check(&mut self, call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        match (call, outcome) {
            (Call::NewOrder(call), Outcome::Placed(placed)) => self.check_placed(call, placed),
            (Call::NewOrder(call), Outcome::Unused(unused)) => self.check_unused(call, unused),
            (Call::Payment(call), Outcome::Paid(paid)) => {
                let Paid { customer, .. } = paid;
                self.check_named(call.c_w_id, call.c_d_id, call.customer, customer.c_id)?;
                let Some(loaded) = &self.known.loaded else { return Ok(()) };
                let terms = loaded.data.terms(call.c_w_id, call.c_d_id, customer.c_id);
                ensure(
                    terms == (customer.c_last, customer.c_credit, customer.c_discount),
                    "the payment's customer is not as loaded",
                )
            }
            (Call::OrderStatus(call), Outcome::Status(report)) => {
                self.check_named(call.w_id, call.d_id, call.customer, report.c_id)?;
                self.check_status(call.d_id, report)
            }
            (Call::Delivery(call), Outcome::Delivered(delivered)) => self.check_delivered(call, delivered),
            (Call::StockLevel(call), Outcome::Short(short)) => {
                let least = i64::from(call.threshold) <= *STOCK.start();
                ensure(
                    !least || short.low_stock == 0,
                    "more items are reported below the threshold than possible",
                )
            }
            _ => Ok(()),
        }
    }

    fn check_placed(&mut self, call: &NewOrder, placed: &Placed) -> Result<(), &'static str> {
        let at = self.known.district(call.w_id, call.d_id);
        if let Some(loaded) = &self.known.loaded {
            let rates = (loaded.w_tax[call.w_id as usize - 1], loaded.d_tax[at]);
            ensure(rates == (placed.w_tax, placed.d_tax), "a tax is not as loaded")?;
            let terms = loaded.data.terms(call.w_id, call.d_id, call.c_id);
            ensure(
                terms == (placed.c_last, placed.c_credit, placed.c_discount),
                "the customer of the order is not as loaded",
            )?;
            ensure(placed.o_id > self.known.size.orders, "the order has the number of one that was loaded")?;
        } else {
            let of_district = self.d_tax[call.d_id as usize - 1].get_or_insert(placed.d_tax);
            let same =
                *of_district == placed.d_tax && *self.w_tax.get_or_insert(placed.w_tax) == placed.w_tax;
            ensure(same, "a tax is not what it was before")?;
        }
        let stocked = placed.lines.iter().all(|line| STOCK.contains(&line.s_quantity));
        ensure(stocked, "a stock is not 10 to 100 pieces")?;
        let lines = call.lines.iter().zip(&placed.lines).zip(&self.lines);
        // Every one of them is entered, also behind one that is wrong.
        let wrong = lines
            .filter(|((line, placed), drawn)| !self.known.has_left(line, **drawn, placed.s_quantity))
            .count();
        ensure(wrong == 0, "a stock is not what orders have left of it")?;
        // The calls of a worker follow each other, so that their numbers do.
        let highest = &mut self.highest[call.d_id as usize - 1];
        ensure(placed.o_id > *highest, "an order number is not above those before it")?;
        *highest = placed.o_id;
        ensure(self.known.numbers[at].enter(placed.o_id), "an order number was given twice")?;
        self.check_number(&self.known.queues[at], placed.o_id)?;
        self.known.queues[at].placed.fetch_add(1, Ordering::SeqCst);
        self.remember(call.d_id, call.c_id, placed.o_id);
        Ok(())
    }

    /// 2.4.2.2: a district's orders are numbered without gaps. So no number is higher than that of the last order before the first
    /// call, plus one for each order that was drawn since.
    fn check_number(&self, queue: &Queue, o_id: u32) -> Result<(), &'static str> {
        if self.known.is_lossy() {
            return Ok(());
        }
        let Some(last) = u64::from(o_id).checked_sub(1 + self.placed_before) else {
            return Err("an order has the number of an earlier one");
        };
        let last = queue.last_before.fetch_min(last, Ordering::SeqCst).min(last);
        let most = last + queue.drawn.load(Ordering::SeqCst);
        ensure(u64::from(o_id) <= most, "an order has a higher number than there are orders")
    }

    fn check_unused(&self, call: &NewOrder, unused: &Unused) -> Result<(), &'static str> {
        for drawn in &self.lines {
            self.known.stocks.declined(*drawn, None);
        }
        // 2.4.2.3: it is rolled back, and its number is given to the next one.
        self.known.queues[self.known.district(call.w_id, call.d_id)].drawn.fetch_sub(1, Ordering::SeqCst);
        let Some(loaded) = &self.known.loaded else { return Ok(()) };
        let (c_last, c_credit, _): (Text<16>, Text<2>, _) =
            loaded.data.terms(call.w_id, call.d_id, call.c_id);
        ensure(
            (c_last, c_credit) == (unused.c_last, unused.c_credit),
            "the customer of the order is not as loaded",
        )
    }

    /// 2.7.4.2: a district is skipped only where no order waits, and an order is delivered once.
    fn check_delivered(&self, call: &Delivery, delivered: &Delivered) -> Result<(), &'static str> {
        let known = &*self.known;
        let Some(drawn) = known.deliveries.get(call.w_id as usize - 1) else { return Ok(()) };
        let from = known.loaded.as_ref().map_or(1, |_| known.size.undelivered_from());
        for (index, o_id) in delivered.o_ids.iter().enumerate() {
            let at = known.district(call.w_id, 1) + index;
            let queue = &known.queues[at];
            let Some(o_id) = *o_id else {
                // Read in this order: a delivery that is among the empty ones is among those that were drawn.
                let empty = queue.empty.load(Ordering::SeqCst);
                let drawn = drawn.load(Ordering::SeqCst);
                // Each of the others has taken one order, or will, unless it was answered that there was none.
                let taken = drawn.saturating_sub(empty + 1);
                ensure(
                    queue.before + self.placed[index] <= taken,
                    "a district is skipped although orders wait for delivery",
                )?;
                queue.empty.fetch_add(1, Ordering::SeqCst);
                continue;
            };
            ensure(o_id >= from, "an order is delivered that was loaded as delivered")?;
            ensure(known.delivered[at].enter(o_id), "an order is delivered twice")?;
        }
        Ok(())
    }

    /// 2.5.2.2, 2.6.2.2: of several customers of a name one is meant.
    fn check_named(&self, w_id: u32, d_id: u32, who: Who, c_id: u32) -> Result<(), &'static str> {
        ensure((1..=self.known.size.customers).contains(&c_id), "the customer's number is out of range")?;
        let (Who::LastName(name), Some(loaded)) = (who, &self.known.loaded) else { return Ok(()) };
        let Some(named) = &loaded.named else { return Ok(()) };
        let meant = named.meant(self.known.district(w_id, d_id), &name);
        ensure(meant == Some(c_id), "of the customers of that name another one is meant")
    }

    /// What this worker has placed or seen is there when it looks again.
    fn check_status(&mut self, d_id: u32, report: &OrderReport) -> Result<(), &'static str> {
        let key = self.key(d_id, report.c_id);
        let (of, o_id) = self.newest[place(key)];
        ensure(of != key || report.o_id >= o_id, "the status shows an order older than one known before")?;
        self.remember(d_id, report.c_id, report.o_id);
        Ok(())
    }

    fn remember(&mut self, d_id: u32, c_id: u32, o_id: u32) {
        let key = self.key(d_id, c_id);
        self.newest[place(key)] = (key, o_id);
    }

    /// A number from 1 for each customer of the worker's warehouse.
    fn key(&self, d_id: u32, c_id: u32) -> u32 {
        d_id * (self.known.size.customers + 1) + c_id
    }
}

/// Where a customer is remembered. Neighbours are ordered from alike, so they are put apart.
fn place(key: u32) -> usize {
    key.wrapping_mul(0x9e37_79b1) as usize >> (u32::BITS - NEWEST_MAX.ilog2())
}

#[cfg(test)]
mod tests;
