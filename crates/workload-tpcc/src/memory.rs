//! What a worker holds answers to beyond their call: the rows that were loaded, and what it and others were told before.
//!
//! [`Knowledge`] is shared by all workers of a trial, [`Memory`] is one worker's. Both take all their room before the first
//! call. Only answers are entered, so that a call without one can make no later answer look wrong.

use crate::balances::Balances;
use crate::dates::{Dates, Going};
use crate::loaded::Loaded;
use crate::outcome::ensure;
use crate::{
    Call, Cardinality, DISTRICTS, Data, Delivered, Delivery, ItemRow, LINES_MAX, Line, NewOrder, OrderReport,
    OrderStatus, Outcome, Paid, Payment, Placed, PlacedLine, ReportLine, StoredTally, Tpcc, Unused, Who,
    district,
};
use arrayvec::ArrayVec;
use model::random::mix;
use model::{BasisPoints, Cents};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use workload::{Benchmark, Drawn, Registers};

/// Customers whose newest order a worker remembers, at 12 bytes each; a power of two.
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
    /// Whether no call was made since the data was loaded.
    is_fresh: bool,
    /// What customers owe; absent where something else may change it, or orders of an earlier run wait for delivery.
    balances: Option<Balances>,
    dates: Dates,
    last_orders: LastOrders,
}

/// What is known of a run before its first call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Run {
    /// Whether what was acknowledged may be lost, so that an order may rightly be delivered twice.
    pub lossy: bool,
    /// When it began, in seconds since 1970.
    pub begin: Option<i64>,
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

impl Knowledge {
    /// Of data that was loaded as `data` says. `before` is what the store reports, where it can be read.
    pub fn of(data: Data, before: Option<&Vec<StoredTally>>, run: Run) -> Arc<Knowledge> {
        Knowledge::new(data.size(), Some(Loaded::of(data)), before, run)
    }

    /// Of data that someone else has loaded: what it holds shows in the answers alone, and in what the store reports.
    pub fn of_others(size: Cardinality, before: Option<&Vec<StoredTally>>, run: Run) -> Arc<Knowledge> {
        Knowledge::new(size, None, before, run)
    }

    fn new(
        size: Cardinality,
        loaded: Option<Loaded>,
        before: Option<&Vec<StoredTally>>,
        Run { lossy, begin }: Run,
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
        let is_fresh =
            before.is_some_and(|before| before.len() == districts && Tpcc::is_fresh(before, &size));
        let known = loaded.as_ref().filter(|loaded| is_fresh && !lossy && loaded.knows_names());
        Arc::new(Knowledge {
            size,
            stocks,
            is_fresh,
            balances: known.map(|loaded| Balances::of(loaded.data())),
            dates: Dates::of_run(begin),
            last_orders: LastOrders::default(),
            loaded,
            numbers: (0..districts).map(|_| OrderNumbers::default()).collect(),
            delivered: (0..districts).map(|_| OrderNumbers::default()).collect(),
            queues: (0..districts).map(queue).collect(),
            deliveries: (0..if lossy { 0 } else { size.warehouses }).map(|_| AtomicU64::new(0)).collect(),
        })
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
            Some(loaded.data().in_stock(line.supply_w_id, line.i_id))
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

    /// Whether a number was entered, as far as it is remembered.
    fn has(&self, o_id: u32) -> bool {
        let word = self.0[(o_id / 32) as usize % GROUPS].load(Ordering::Relaxed);
        (word >> 32) as u32 == o_id / 32 && word & 1 << (o_id % 32) != 0
    }
}

/// Places for customers of [`LastOrders`], at 8 bytes each; a power of two.
const LAST_MAX: usize = 1 << 15;

/// The highest number of an order that any answer has shown of a customer. Customers share places: the later one takes it.
#[derive(Debug)]
struct LastOrders(Box<[AtomicU64]>);

impl Default for LastOrders {
    fn default() -> LastOrders {
        LastOrders((0..LAST_MAX).map(|_| AtomicU64::new(0)).collect())
    }
}

impl LastOrders {
    fn place(&self, customer: u32) -> &AtomicU64 {
        &self.0[customer as usize % LAST_MAX]
    }

    fn enter(&self, customer: u32, o_id: u32) {
        let (place, order) = (self.place(customer), u64::from(customer) << 32 | u64::from(o_id));
        let kept = place.load(Ordering::SeqCst);
        // One that loses against another worker's is not entered, and what is known is less.
        if kept >> 32 != u64::from(customer) || kept < order {
            let _ = place.compare_exchange(kept, order, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// Nothing is 0.
    fn find(&self, customer: u32) -> u32 {
        let kept = self.place(customer).load(Ordering::SeqCst);
        if kept >> 32 == u64::from(customer) { kept as u32 } else { 0 }
    }
}

/// An order that a customer is known to have.
#[derive(Debug, Clone, Copy, Default)]
struct Newest {
    /// The customer's; 0 for none.
    key: u32,
    o_id: u32,
    /// A checksum of its date and lines.
    lines: u32,
}

/// A checksum of an order's date and of its lines: item, supplying warehouse, quantity and amount of each.
fn checksum(o_entry_d: i64, lines: impl Iterator<Item = [i64; 4]>) -> u32 {
    let first = mix(o_entry_d as u64);
    lines.flatten().fold(first, |sum, part| mix(sum.rotate_left(7) ^ part as u64)) as u32
}

/// An order that the worker has delivered; the key of none is 0.
#[derive(Debug, Clone, Copy, Default)]
struct Carried {
    key: u32,
    o_carrier_id: u32,
}

/// An order of a worker's warehouse, in which there are far fewer than 2^28 in each district.
const fn order_key(d_id: u32, o_id: u32) -> u32 {
    o_id << 4 | d_id
}

/// What one worker was told.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    known: Arc<Knowledge>,
    /// The highest order number that it was answered in each district of its warehouse.
    highest: [u32; DISTRICTS as usize],
    /// Customers of its warehouse, and an order that each is known to have. Customers share places: the later one takes it.
    newest: Box<[Newest]>,
    /// Orders that it has delivered, which share places, too.
    carried: Box<[Carried]>,
    /// Taxes of the warehouse and of its districts as first answered, for data that someone else has loaded.
    w_tax: Option<BasisPoints>,
    d_tax: [Option<BasisPoints>; DISTRICTS as usize],
    /// Orders that were acknowledged in each district of its warehouse before it drew its newest delivery.
    placed: [u64; DISTRICTS as usize],
    /// What was known of the stocks of its newest order, line by line.
    lines: ArrayVec<Drawn, LINES_MAX>,
    /// Of data that we have loaded, the items of these lines.
    items: ArrayVec<ItemRow, LINES_MAX>,
    /// Orders that were acknowledged in its district before it drew its newest order.
    placed_before: u64,
    /// What was known of the balance of the customer of its newest call.
    balance: Drawn,
    /// The number of an order of the customer of its newest Order-Status that any answer had shown by then; 0 for none.
    shown: u32,
    going: Going,
}

impl Memory {
    pub(crate) fn new(known: &Arc<Knowledge>) -> Memory {
        Memory {
            known: Arc::clone(known),
            highest: [0; DISTRICTS as usize],
            newest: vec![Newest::default(); NEWEST_MAX].into(),
            carried: vec![Carried::default(); NEWEST_MAX].into(),
            w_tax: None,
            d_tax: [None; DISTRICTS as usize],
            placed: [0; DISTRICTS as usize],
            lines: ArrayVec::new(),
            items: ArrayVec::new(),
            placed_before: 0,
            balance: Drawn::default(),
            shown: 0,
            going: Going::default(),
        }
    }

    /// A call was drawn: what it will change is not in any answer so far.
    pub(crate) fn draw(&mut self, call: &Call) {
        match call {
            Call::NewOrder(order) => self.draw_order(order),
            Call::Payment(payment) => {
                let Payment { c_w_id, c_d_id, customer, h_amount, .. } = *payment;
                self.draw_balance((c_w_id, c_d_id, customer), -h_amount.0);
            }
            Call::OrderStatus(OrderStatus { w_id, d_id, customer }) => {
                self.draw_balance((*w_id, *d_id, *customer), 0);
                let meant = match (customer, &self.known.loaded) {
                    (Who::Id(c_id), _) => Some(*c_id),
                    (_, loaded) => loaded.as_ref().and_then(|loaded| loaded.meant(*w_id, *d_id, *customer)),
                };
                let shown = |c_id| self.known.last_orders.find(self.customer(*w_id, *d_id, c_id));
                self.shown = meant.map_or(0, shown);
            }
            Call::Delivery(delivery) => self.draw_delivery(delivery),
            Call::StockLevel(_) => {}
        }
    }

    fn draw_balance(&mut self, (w_id, d_id, who): (u32, u32, Who), delta: i64) {
        let Knowledge { balances, loaded, .. } = &*self.known;
        let known = balances.as_ref().zip(loaded.as_ref());
        let drawn = known.and_then(|(balances, loaded)| {
            Some(balances.draw((w_id, d_id, loaded.meant(w_id, d_id, who)?), delta))
        });
        self.balance = drawn.unwrap_or_default();
    }

    /// Whether a call that was answered may have found that its customer owed so much.
    fn owed(&self, before: i64) -> Result<(), &'static str> {
        let possible =
            self.known.balances.as_ref().is_none_or(|balances| balances.done(self.balance, before));
        ensure(possible, "a customer's balance is not what payments and deliveries have made of it")
    }

    fn draw_order(&mut self, order: &NewOrder) {
        self.items.clear();
        let sold = order.lines.iter().filter(|line| line.i_id <= self.known.size.items);
        if let Some(loaded) = &self.known.loaded {
            self.items.extend(sold.map(|line| loaded.data().item(line.i_id)));
        }
        let of_line = |(line, item): (&Line, &ItemRow)| item.i_price.times(line.quantity.into());
        let amount = order.lines.iter().zip(&self.items).map(of_line).sum::<Cents>();
        // One that is to be declined is never delivered.
        let amount = if order.names_unused(self.known.size.items) { 0 } else { amount.0 };
        self.draw_balance((order.w_id, order.d_id, Who::Id(order.c_id)), amount);
        self.lines.clear();
        self.lines.extend(order.lines.iter().map(|line| self.known.draw_line(line)));
        let queue = &self.known.queues[district(order.w_id, order.d_id)];
        self.placed_before = queue.placed.load(Ordering::SeqCst);
        queue.drawn.fetch_add(1, Ordering::SeqCst);
    }

    /// It will find the orders that have been acknowledged by now.
    fn draw_delivery(&mut self, delivery: &Delivery) {
        let known = &*self.known;
        let first = district(delivery.w_id, 1);
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
            (Call::Payment(call), Outcome::Paid(paid)) => self.check_paid(call, paid),
            (Call::OrderStatus(call), Outcome::Status(report)) => self.check_status(call, report),
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
        let at = district(call.w_id, call.d_id);
        if let Some(loaded) = &self.known.loaded {
            loaded.check_placed(call, placed, &self.items)?;
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
        if let Some(balances) = &self.known.balances {
            balances.place(at, placed.o_id, self.balance);
            // The answer to its delivery may have come first.
            if self.known.delivered[at].has(placed.o_id) {
                balances.deliver(at, placed.o_id);
            }
        }
        let parts = |(line, placed): (&Line, &PlacedLine)| {
            [line.i_id.into(), line.supply_w_id.into(), line.quantity.into(), placed.ol_amount.0]
        };
        let lines = checksum(placed.o_entry_d, call.lines.iter().zip(&placed.lines).map(parts));
        self.remember((call.w_id, call.d_id, call.c_id), (placed.o_id, lines));
        self.check_date(placed.o_entry_d, "an order's date is not that of its call")
    }

    /// That a date is of its call.
    fn check_date(&mut self, date: i64, why: &'static str) -> Result<(), &'static str> {
        ensure(self.known.dates.admit(date), why)?;
        let is_looked_at = self.known.dates.is_known() && self.going.is_due();
        let goes_on = !is_looked_at || self.going.goes_on(date, measure::unix_seconds().cast_signed());
        ensure(goes_on, "dates stand still")
    }

    fn check_paid(&mut self, call: &Payment, paid: &Paid) -> Result<(), &'static str> {
        let owed = self.owed(paid.customer.c_balance.0.saturating_add(call.h_amount.0));
        self.check_named(call.c_w_id, call.c_d_id, call.customer, paid.customer.c_id)?;
        if let Some(loaded) = &self.known.loaded {
            loaded.check_paid(call, paid)?;
        }
        owed?;
        self.check_date(paid.h_date, "a payment's date is not that of its call")
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
        let queue = &self.known.queues[district(call.w_id, call.d_id)];
        let numbered = self.check_number(queue, unused.o_id);
        queue.drawn.fetch_sub(1, Ordering::SeqCst);
        if let Some(balances) = &self.known.balances {
            balances.declined(self.balance);
        }
        let is_next = self.known.is_lossy() || unused.o_id > self.highest[call.d_id as usize - 1];
        ensure(is_next, "an order number is not above those before it")?;
        numbered?;
        self.known.loaded.as_ref().map_or(Ok(()), |loaded| loaded.check_unused(call, unused))
    }

    /// 2.7.4.2: a district is skipped only where no order waits, and an order is delivered once.
    fn check_delivered(&mut self, call: &Delivery, delivered: &Delivered) -> Result<(), &'static str> {
        let known = &*self.known;
        let Some(drawn) = known.deliveries.get(call.w_id as usize - 1) else { return Ok(()) };
        let from = known.loaded.as_ref().map_or(1, |_| known.size.undelivered_from());
        for (index, o_id) in delivered.o_ids.iter().enumerate() {
            let at = district(call.w_id, 1) + index;
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
            // Read in this order: what was drawn since only makes it more.
            let last_before = queue.last_before.load(Ordering::SeqCst);
            let most = last_before.saturating_add(queue.drawn.load(Ordering::SeqCst));
            ensure(u64::from(o_id) <= most, "an order is delivered that does not exist")?;
            ensure(known.delivered[at].enter(o_id), "an order is delivered twice")?;
            let key = order_key(index as u32 + 1, o_id);
            self.carried[place(key)] = Carried { key, o_carrier_id: call.o_carrier_id };
            if let Some(balances) = &known.balances {
                balances.deliver(at, o_id);
            }
        }
        Ok(())
    }

    /// 2.5.2.2, 2.6.2.2: of several customers of a name one is meant.
    fn check_named(&self, w_id: u32, d_id: u32, who: Who, c_id: u32) -> Result<(), &'static str> {
        ensure((1..=self.known.size.customers).contains(&c_id), "the customer's number is out of range")?;
        let meant = self.known.loaded.as_ref().and_then(|loaded| loaded.meant(w_id, d_id, who));
        ensure(meant.is_none_or(|meant| meant == c_id), "of the customers of that name another one is meant")
    }

    /// What this worker has placed or seen is there when it looks again.
    fn check_status(&mut self, call: &OrderStatus, report: &OrderReport) -> Result<(), &'static str> {
        let owed = self.owed(report.c_balance.0);
        self.check_named(call.w_id, call.d_id, call.customer, report.c_id)?;
        let key = self.key(call.d_id, report.c_id);
        let Newest { key: of, o_id, lines: known } = self.newest[place(key)];
        let known_before = if of == key { o_id.max(self.shown) } else { self.shown };
        ensure(report.o_id >= known_before, "the status shows an order older than one known before")?;
        let parts = |line: &ReportLine| {
            [line.ol_i_id.into(), line.ol_supply_w_id.into(), line.ol_quantity.into(), line.ol_amount.0]
        };
        let lines = checksum(report.o_entry_d, report.lines.iter().map(parts));
        let is_same = self.known.is_lossy() || (of, o_id) != (key, report.o_id) || lines == known;
        ensure(is_same, "the status shows another date or other lines than the order had before")?;
        let key = order_key(call.d_id, report.o_id);
        let Carried { key: of, o_carrier_id } = self.carried[place(key)];
        let is_carried = of != key || report.o_carrier_id == Some(o_carrier_id);
        ensure(is_carried, "the status shows another carrier than the order was delivered with")?;
        self.remember((call.w_id, call.d_id, report.c_id), (report.o_id, lines));
        if let Some(loaded) = &self.known.loaded {
            loaded.check_status(call, report)?;
        }
        owed?;
        ensure(self.is_dated(report), "the status shows a date that is not in the run")
    }

    /// Whether all its dates are of the load or of this run; of data that other runs have used that is not known.
    fn is_dated(&self, report: &OrderReport) -> bool {
        let Knowledge { size, dates, is_fresh, .. } = &*self.known;
        let is_of_load = report.o_id < size.undelivered_from();
        !is_fresh
            || is_of_load
            || (report.o_id <= size.orders || dates.admit(report.o_entry_d))
                && report.lines.iter().filter_map(|line| line.ol_delivery_d).all(|date| dates.admit(date))
    }

    fn remember(&mut self, (w_id, d_id, c_id): (u32, u32, u32), (o_id, lines): (u32, u32)) {
        if !self.known.is_lossy() {
            self.known.last_orders.enter(self.customer(w_id, d_id, c_id), o_id);
        }
        let key = self.key(d_id, c_id);
        self.newest[place(key)] = Newest { key, o_id, lines };
    }

    /// A number from 1 for each customer of all warehouses.
    fn customer(&self, w_id: u32, d_id: u32, c_id: u32) -> u32 {
        (district(w_id, d_id) as u32).wrapping_mul(self.known.size.customers).wrapping_add(c_id)
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
