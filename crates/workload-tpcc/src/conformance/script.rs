//! The script: hand-made calls for what random ones meet seldom or never.

use crate::{
    Call, DISTRICTS, Data, Delivery, LINES_MAX, Line, NewOrder, OrderStatus, Payment, StockLevel, Text, Who,
};
use model::Cents;
use std::collections::{BTreeMap, BTreeSet};

/// The terminal of the script, and the warehouse that is not its own (where there is one).
const HOME: u32 = 1;
const AWAY: u32 = 2;

/// Payments after which the c_data of any customer has been cut: each fact has at least 18 characters, c_data at least 300.
const CUTTING_PAYMENTS: u32 = 11;

/// All calls, in order. Some need a row of a certain sort; where the data has none, they are left out.
pub(super) fn calls(data: &Data) -> Vec<Call> {
    let mut script = Script { data, calls: Vec::new(), last: data.size().items, low: 0 };
    script.ask_about_loaded_orders();
    script.order_until_refilled();
    script.order();
    script.order_from_away();
    script.order_unused_items();
    script.ask_about_placed_orders();
    script.pay_by_number();
    script.pay_by_name();
    script.pay_with_bad_credit();
    script.name_no_one();
    script.deliver_everything();
    script.calls
}

struct Script<'a> {
    data: &'a Data,
    calls: Vec<Call>,
    /// Plain items are taken from the last one down, …
    last: u32,
    /// … special ones from the first one up, so that they do not meet.
    low: u32,
}

fn line(i_id: u32, quantity: u32) -> Line {
    Line { i_id, supply_w_id: HOME, quantity }
}

impl Script<'_> {
    fn place(&mut self, d_id: u32, c_id: u32, lines: impl IntoIterator<Item = Line>) {
        let lines = lines.into_iter().collect();
        self.calls.push(Call::NewOrder(NewOrder { w_id: HOME, d_id, c_id, lines }));
    }

    fn ask(&mut self, w_id: u32, d_id: u32, customer: Who) {
        self.calls.push(Call::OrderStatus(OrderStatus { w_id, d_id, customer }));
    }

    fn pay(&mut self, district: (u32, u32), customer: Who, h_amount: i64) {
        let (c_w_id, c_d_id) = district;
        let (w_id, d_id) = (HOME, if c_w_id == HOME { c_d_id } else { DISTRICTS });
        let h_amount = Cents(h_amount);
        self.calls.push(Call::Payment(Payment { w_id, d_id, c_w_id, c_d_id, customer, h_amount }));
    }

    fn level(&mut self, w_id: u32, d_id: u32, threshold: u32) {
        self.calls.push(Call::StockLevel(StockLevel { w_id, d_id, threshold }));
    }

    fn deliver(&mut self, w_id: u32, o_carrier_id: u32) {
        self.calls.push(Call::Delivery(Delivery { w_id, o_carrier_id }));
    }

    /// `count` lines of different plain items, with quantities that differ.
    fn plain(&mut self, count: u32) -> Vec<Line> {
        let first = self.last;
        let half = self.data.size().items / 2;
        self.last = if first > half + 2 * LINES_MAX as u32 { first - count } else { self.data.size().items };
        (0..count).map(|step| line(first.saturating_sub(step).max(1), step % 10 + 1)).collect()
    }

    /// The next special item whose stock at home fits.
    fn special(&mut self, fits: impl Fn(i64, bool, bool) -> bool) -> Option<u32> {
        let found = (self.low + 1..=self.data.size().items / 2).find(|&i_id| {
            let (item, stock) = (self.data.item(i_id), self.data.stock(HOME, i_id));
            fits(stock.s_quantity, item.i_data.contains("ORIGINAL"), stock.s_data.contains("ORIGINAL"))
        })?;
        self.low = found;
        Some(found)
    }

    /// An item whose data fits, wherever it is.
    fn branded(&self, item_original: bool, stock_original: bool) -> Option<u32> {
        (1..=self.data.size().items).find(|&i_id| {
            self.data.item(i_id).i_data.contains("ORIGINAL") == item_original
                && self.data.stock(HOME, i_id).s_data.contains("ORIGINAL") == stock_original
        })
    }

    /// The customer of a loaded order.
    fn customer_of(&self, w_id: u32, d_id: u32, o_id: u32) -> Who {
        Who::Id(self.data.order_customers(w_id, d_id)[o_id as usize - 1])
    }

    /// Items below the threshold among the last `orders` that were loaded.
    fn low_stock(&self, (d_id, threshold): (u32, u32), orders: u32) -> usize {
        let mut items = BTreeSet::new();
        let newest = self.data.size().orders;
        for o_id in newest.saturating_sub(orders) + 1..=newest {
            self.data.order_lines(HOME, d_id, o_id, |line| items.extend([line.ol_i_id]));
        }
        let low = |i_id: &&u32| self.data.stock(HOME, **i_id).s_quantity < i64::from(threshold);
        items.iter().filter(low).count()
    }

    fn has_away(&self) -> bool {
        self.data.size().warehouses >= AWAY
    }

    fn ask_about_loaded_orders(&mut self) {
        let size = self.data.size();
        let customers = [1, size.undelivered_from() - 1, size.undelivered_from(), size.orders]
            .map(|o_id| self.customer_of(HOME, 1, o_id));
        for customer in customers {
            self.ask(HOME, 1, customer);
        }
        self.level(HOME, 1, 10);
        self.level(HOME, 1, 20);
        if self.has_away() {
            self.level(AWAY, DISTRICTS, 15);
        }
        // 2.8.2.2: twenty orders, neither one fewer nor one more.
        let asked = (1..=DISTRICTS).flat_map(|d_id| (10..=20).map(move |threshold| (d_id, threshold)));
        for other in [19, 21] {
            let tells = |at: &(u32, u32)| self.low_stock(*at, other) != self.low_stock(*at, 20);
            if let Some((d_id, threshold)) = asked.clone().find(tells) {
                self.level(HOME, d_id, threshold);
            }
        }
    }

    /// 2.4.2.2: ten may be left; where it would be fewer, 91 are added.
    fn order_until_refilled(&mut self) {
        let ten_left = self.special(|left, _, _| (11..=20).contains(&left));
        let nine_left = self.special(|left, _, _| (10..=19).contains(&left));
        for (i_id, left) in [(ten_left, 10), (nine_left, 9)] {
            let Some(i_id) = i_id else { continue };
            let quantity = self.data.stock(HOME, i_id).s_quantity - left;
            let mut lines = self.plain(5);
            lines.insert(2, line(i_id, quantity as u32));
            self.place(4, 3, lines);
        }
        // Both once more, and an item twice: the second line finds what the first one left.
        let mut lines = self.plain(5);
        lines.push(line(lines[0].i_id, 10));
        lines.extend(ten_left.iter().chain(&nine_left).map(|&i_id| line(i_id, 1)));
        self.place(5, 4, lines);
        // And in every line, through several refills.
        let i_id = self.plain(1)[0].i_id;
        self.place(6, 5, [line(i_id, 10); LINES_MAX]);
        self.level(HOME, 6, 20);
    }

    fn order(&mut self) {
        let fewest = self.plain(5);
        self.place(1, 1, fewest);
        let most = self.plain(LINES_MAX as u32);
        self.place(2, self.data.size().customers, most);
        // 2.4.3.3: brand "B" takes the mark in both texts.
        let branded = [(true, true), (true, false), (false, true)];
        let marked: Vec<u32> =
            branded.iter().filter_map(|&(item, stock)| self.branded(item, stock)).collect();
        let mut lines = self.plain(5);
        lines.extend(marked.iter().map(|&i_id| line(i_id, 1)));
        self.place(3, 2, lines);
    }

    /// 2.4.1.5: lines supplied by another warehouse.
    fn order_from_away(&mut self) {
        if !self.has_away() {
            return;
        }
        let mut one = self.plain(6);
        one[3].supply_w_id = AWAY;
        self.place(7, 6, one);
        let all = self.plain(7).into_iter().map(|line| Line { supply_w_id: AWAY, ..line });
        self.place(8, 7, all);
        // The same item from both: two rows of stock.
        let mut both = self.plain(5);
        both.push(Line { supply_w_id: AWAY, ..both[0] });
        self.place(9, 8, both);
    }

    /// 2.4.1.4, 2.4.2.3: an unused item anywhere leaves no trace, and the order number is given again.
    fn order_unused_items(&mut self) {
        let unused = self.data.size().items + 1;
        let lines = self.plain(6);
        for position in [0, 3, 5] {
            let mut lines = lines.clone();
            lines[position].i_id = unused;
            self.place(10, 9, lines);
        }
        let mut remote = lines.clone();
        remote[5] = line(u32::MAX, 10);
        if self.has_away() {
            remote[0].supply_w_id = AWAY;
        }
        self.place(10, 9, remote);
        self.ask(HOME, 10, Who::Id(9));
        self.place(10, 9, lines);
        self.level(HOME, 10, 18);
    }

    fn ask_about_placed_orders(&mut self) {
        self.ask(HOME, 1, Who::Id(1));
        self.ask(HOME, 6, Who::Id(5));
        if self.has_away() {
            self.ask(HOME, 8, Who::Id(7));
        }
        let name = self.data.customer(HOME, 10, 9).c_last;
        self.ask(HOME, 10, Who::LastName(name));
    }

    fn customer_with_credit(&self, credit: &str, w_id: u32, after: u32) -> Option<((u32, u32), u32)> {
        let size = self.data.size();
        (after..=DISTRICTS)
            .flat_map(|d_id| (1..=size.customers).map(move |c_id| (d_id, c_id)))
            .find(|&(d_id, c_id)| self.data.customer(w_id, d_id, c_id).c_credit.as_str() == credit)
            .map(|(d_id, c_id)| ((w_id, d_id), c_id))
    }

    fn pay_by_number(&mut self) {
        let Some((district, c_id)) = self.customer_with_credit("GC", HOME, 1) else { return };
        self.pay(district, Who::Id(c_id), 100);
        self.pay(district, Who::Id(c_id), 500_000);
        self.ask(district.0, district.1, Who::Id(c_id));
        if !self.has_away() {
            return;
        }
        let Some((district, c_id)) = self.customer_with_credit("GC", AWAY, 4) else { return };
        self.pay(district, Who::Id(c_id), 123_456);
        self.ask(district.0, district.1, Who::Id(c_id));
    }

    /// 2.5.2.2: the one at n/2 rounded up, for one, an even and an odd number of bearers, and the most there are.
    fn pay_by_name(&mut self) {
        let size = self.data.size();
        let mut cases: BTreeMap<usize, (u32, Text<16>)> = BTreeMap::new();
        for d_id in 1..=DISTRICTS {
            let mut bearers: BTreeMap<Text<16>, usize> = BTreeMap::new();
            for c_id in 1..=size.customers {
                *bearers.entry(self.data.customer(HOME, d_id, c_id).c_last).or_default() += 1;
            }
            for (name, count) in bearers {
                cases.entry(count).or_insert((d_id, name));
            }
        }
        let most = cases.keys().last().copied();
        for (&count, &(d_id, name)) in &cases {
            if count <= 5 || Some(count) == most {
                self.pay((HOME, d_id), Who::LastName(name), 2_005);
                self.ask(HOME, d_id, Who::LastName(name));
            }
        }
        if self.has_away() {
            let name = self.data.customer(AWAY, 7, 1).c_last;
            self.pay((AWAY, 7), Who::LastName(name), 9_999);
        }
    }

    /// 2.5.2.2: each fact goes in front of c_data, which never grows beyond 500.
    fn pay_with_bad_credit(&mut self) {
        if let Some((district, c_id)) = self.customer_with_credit("BC", HOME, 1) {
            for step in 0..CUTTING_PAYMENTS {
                self.pay(district, Who::Id(c_id), 499_001 - i64::from(step) * 10_007);
            }
        }
        if !self.has_away() {
            return;
        }
        if let Some((district, c_id)) = self.customer_with_credit("BC", AWAY, 3) {
            self.pay(district, Who::Id(c_id), 100_000);
        }
        if let Some((d_id, name)) = self.sole_debtor(AWAY) {
            self.pay((AWAY, d_id), Who::LastName(name), 100_001);
        }
    }

    /// A customer with bad credit whose last name no one else in the district has.
    fn sole_debtor(&self, w_id: u32) -> Option<(u32, Text<16>)> {
        (1..=DISTRICTS).find_map(|d_id| {
            let mut bearers: BTreeMap<Text<16>, (u32, bool)> = BTreeMap::new();
            for c_id in 1..=self.data.size().customers {
                let row = self.data.customer(w_id, d_id, c_id);
                let (count, bad) = bearers.entry(row.c_last).or_default();
                *count += 1;
                *bad |= row.c_credit.as_str() == "BC";
            }
            bearers.into_iter().find(|(_, facts)| *facts == (1, true)).map(|(name, _)| (d_id, name))
        })
    }

    fn name_no_one(&mut self) {
        let nobody = Who::LastName(Text::from("NOBODY").expect("it fits"));
        self.pay((HOME, 1), nobody, 1_000);
        self.ask(HOME, 1, nobody);
    }

    /// 2.7.4.2: oldest first, until districts run dry, one after the other; then again when there is something.
    fn deliver_everything(&mut self) {
        let size = self.data.size();
        self.deliver(HOME, 1);
        let first = self.customer_of(HOME, 4, size.undelivered_from());
        self.ask(HOME, 4, first);
        self.pay((HOME, 4), first, 100);
        if self.has_away() {
            self.deliver(AWAY, 10);
        }
        // The script places at most three orders in a district.
        for step in 1..size.undelivered + 3 {
            self.deliver(HOME, step % 10 + 1);
        }
        self.ask(HOME, 1, Who::Id(1));
        self.ask(HOME, 6, Who::Id(5));
        self.deliver(HOME, 5);
        let lines = self.plain(5);
        self.place(2, 10, lines);
        self.ask(HOME, 2, Who::Id(10));
        self.deliver(HOME, 6);
        self.ask(HOME, 2, Who::Id(10));
        self.level(HOME, 2, 20);
    }
}
