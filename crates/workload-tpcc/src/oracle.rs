//! The truth in memory: what each call must answer, one at a time.
//!
//! Written from the clauses of the standard and apart from `sql`, so that a mistake has to be made twice to go unseen.
//! It takes no clock: every time that it sets is [`LOADED_AT`], which no real answer is earlier than.

use crate::{
    Address, Call, Cardinality, Customer, CustomerRow, DISTRICTS, Data, Delivered, Delivery, DistrictRow,
    HistoryRow, ItemRow, LOADED_AT, Line, NewOrder, OrderLineRow, OrderReport, OrderRow, OrderStatus,
    Outcome, Paid, Payment, Placed, PlacedLine, ReportLine, Short, StockLevel, StockRow, Text, Tpcc, Unused,
    WarehouseRow, Who, order_total,
};
use arrayvec::ArrayVec;
use model::{CallWork, Cents, DefectKind, Fault, Session};
use std::collections::{BTreeSet, VecDeque};

/// All data of a seed at some size, and what calls have made of it.
///
/// Holds every row: about 1 MiB for [`Cardinality::tiny`], and 100 MiB a warehouse of the standard's size.
#[derive(Debug, Clone)]
pub struct Oracle {
    size: Cardinality,
    pub(crate) warehouses: Vec<WarehouseRow>,
    pub(crate) districts: Vec<District>,
    pub(crate) items: Vec<ItemRow>,
    pub(crate) stock: Vec<StockRow>,
    pub(crate) history: Vec<HistoryRow>,
}

/// A district and what belongs to it.
#[derive(Debug, Clone)]
pub struct District {
    pub row: DistrictRow,
    /// Its customers, by number from 1.
    pub customers: Vec<CustomerRow>,
    /// Its orders, by number from 1.
    pub orders: Vec<Order>,
    /// Numbers of the orders that are not delivered (new_order), oldest first.
    pub undelivered: VecDeque<u32>,
}

/// An order with its lines.
#[derive(Debug, Clone)]
pub struct Order {
    pub row: OrderRow,
    /// Its lines, by number from 1.
    pub lines: Vec<OrderLineRow>,
}

impl Oracle {
    /// The state right after loading `data`.
    pub fn new(data: &Data) -> Oracle {
        let size = data.size();
        let warehouses = 1..=size.warehouses;
        let each_district = warehouses.clone().flat_map(|w_id| (1..=DISTRICTS).map(move |d_id| (w_id, d_id)));
        let each_stock = warehouses.clone().flat_map(|w_id| (1..=size.items).map(move |i_id| (w_id, i_id)));
        Oracle {
            size,
            warehouses: warehouses.map(|w_id| data.warehouse(w_id)).collect(),
            districts: each_district.clone().map(|(w_id, d_id)| District::new(data, w_id, d_id)).collect(),
            items: (1..=size.items).map(|i_id| data.item(i_id)).collect(),
            stock: each_stock.map(|(w_id, i_id)| data.stock(w_id, i_id)).collect(),
            history: each_district
                .flat_map(|(w_id, d_id)| (1..=size.customers).map(move |c_id| (w_id, d_id, c_id)))
                .map(|(w_id, d_id, c_id)| data.history(w_id, d_id, c_id))
                .collect(),
        }
    }

    /// How much data was loaded.
    pub const fn size(&self) -> Cardinality {
        self.size
    }

    /// The warehouses, in order.
    pub fn warehouses(&self) -> &[WarehouseRow] {
        &self.warehouses
    }

    /// The districts with their customers and orders, by (warehouse, district).
    pub fn districts(&self) -> &[District] {
        &self.districts
    }

    /// The items, in order. No call changes them.
    pub fn items(&self) -> &[ItemRow] {
        &self.items
    }

    /// The stock, by (warehouse, item).
    pub fn stock(&self) -> &[StockRow] {
        &self.stock
    }

    /// The history: first what was loaded, then the payments in their order.
    pub fn history(&self) -> &[HistoryRow] {
        &self.history
    }

    /// Answers a call, and keeps what it changes.
    ///
    /// # Errors
    /// A [`DefectKind::BadCall`] when the call names a warehouse, district, customer or last name that does not exist;
    /// nothing has changed then.
    pub fn answer(&mut self, call: &Call) -> Result<Outcome, Fault> {
        match call {
            Call::NewOrder(call) => self.new_order(call),
            Call::Payment(call) => self.payment(call),
            Call::OrderStatus(call) => self.order_status(call),
            Call::Delivery(call) => self.delivery(call),
            Call::StockLevel(call) => self.stock_level(call),
        }
    }

    /// 2.4: everything that could fail is asked before anything changes, so there is nothing to roll back.
    fn new_order(&mut self, call: &NewOrder) -> Result<Outcome, Fault> {
        let home = self.warehouse_at(call.w_id)?;
        let at = self.district_at(call.w_id, call.d_id)?;
        let customer = self.districts[at].customer_at(call.c_id)?;
        for line in &call.lines {
            self.warehouse_at(line.supply_w_id)?;
        }
        let district = &mut self.districts[at];
        let o_id = district.row.d_next_o_id;
        let CustomerRow { c_last, c_credit, c_discount, .. } = district.customers[customer];
        // 2.4.2.3: an unused item undoes the order, its number included.
        if call.names_unused(self.size.items) {
            return Ok(Outcome::Unused(Unused { o_id, c_last, c_credit }));
        }

        district.row.d_next_o_id += 1;
        district.undelivered.push_back(o_id);
        let d_tax = district.row.d_tax;
        let mut order = Order {
            row: OrderRow {
                o_id,
                o_d_id: call.d_id,
                o_w_id: call.w_id,
                o_c_id: call.c_id,
                o_entry_d: LOADED_AT,
                o_carrier_id: None,
                o_ol_cnt: call.lines.len() as u32,
                o_all_local: u32::from(call.lines.iter().all(|line| line.supply_w_id == call.w_id)),
            },
            lines: Vec::with_capacity(call.lines.len()),
        };
        let mut lines = ArrayVec::new();
        for line in &call.lines {
            let (shown, kept) = self.take(call, line, o_id, lines.len() as u32 + 1);
            lines.push(shown);
            order.lines.push(kept);
        }
        self.districts[at].orders.push(order);

        let w_tax = self.warehouses[home].w_tax;
        let sum = lines.iter().map(|line| line.ol_amount).sum();
        let total_amount = order_total(sum, c_discount, w_tax, d_tax);
        let o_entry_d = LOADED_AT;
        Ok(Outcome::Placed(Placed {
            o_id,
            o_entry_d,
            c_last,
            c_credit,
            c_discount,
            w_tax,
            d_tax,
            total_amount,
            lines,
        }))
    }

    /// 2.4.2.2: takes a line's items out of stock. What the screen shows, and the row of order_line.
    fn take(&mut self, call: &NewOrder, line: &Line, o_id: u32, number: u32) -> (PlacedLine, OrderLineRow) {
        let item = &self.items[line.i_id as usize - 1];
        let at = (line.supply_w_id - 1) as usize * self.size.items as usize + line.i_id as usize - 1;
        let stock = &mut self.stock[at];
        stock.s_quantity -= i64::from(line.quantity);
        if stock.s_quantity < 10 {
            stock.s_quantity += 91;
        }
        stock.s_ytd += i64::from(line.quantity);
        stock.s_order_cnt += 1;
        stock.s_remote_cnt += u32::from(line.supply_w_id != call.w_id);

        let ol_amount = Cents(item.i_price.0 * i64::from(line.quantity));
        let original = item.i_data.contains("ORIGINAL") && stock.s_data.contains("ORIGINAL");
        let shown = PlacedLine {
            i_name: item.i_name,
            i_price: item.i_price,
            s_quantity: stock.s_quantity,
            brand_generic: Text::from(if original { "B" } else { "G" }).expect("one letter"),
            ol_amount,
        };
        let kept = OrderLineRow {
            ol_o_id: o_id,
            ol_d_id: call.d_id,
            ol_w_id: call.w_id,
            ol_number: number,
            ol_i_id: line.i_id,
            ol_supply_w_id: line.supply_w_id,
            ol_delivery_d: None,
            ol_quantity: line.quantity,
            ol_amount,
            ol_dist_info: dist_info(stock, call.d_id),
        };
        (shown, kept)
    }

    /// 2.5.
    fn payment(&mut self, call: &Payment) -> Result<Outcome, Fault> {
        let home = self.warehouse_at(call.w_id)?;
        let at = self.district_at(call.w_id, call.d_id)?;
        let customer_at = self.district_at(call.c_w_id, call.c_d_id)?;
        let index = self.districts[customer_at].find(call.customer)?;

        let warehouse = &mut self.warehouses[home];
        warehouse.w_ytd += call.h_amount;
        let district = &mut self.districts[at].row;
        district.d_ytd += call.h_amount;
        let h_data = format!("{}    {}", warehouse.w_name, district.d_name);
        let addresses = (Address::from(&*warehouse), Address::from(&*district));

        let customer = &mut self.districts[customer_at].customers[index];
        customer.c_balance -= call.h_amount;
        customer.c_ytd_payment += call.h_amount;
        customer.c_payment_cnt += 1;
        let mut c_data = None;
        if customer.c_credit.as_str() == "BC" {
            let all = format!("{}{}", fact(call, customer.c_id), customer.c_data);
            customer.c_data = front(&all);
            c_data = Some(front(&all));
        }
        self.history.push(HistoryRow {
            h_c_id: customer.c_id,
            h_c_d_id: call.c_d_id,
            h_c_w_id: call.c_w_id,
            h_d_id: call.d_id,
            h_w_id: call.w_id,
            h_date: LOADED_AT,
            h_amount: call.h_amount,
            h_data: Text::from(&h_data).expect("two names of at most 10 letters and 4 spaces"),
        });
        let (warehouse, district) = addresses;
        let customer = Customer::from(&*customer);
        Ok(Outcome::Paid(Paid { h_date: LOADED_AT, warehouse, district, customer, c_data }))
    }

    /// 2.6.
    fn order_status(&self, call: &OrderStatus) -> Result<Outcome, Fault> {
        let district = &self.districts[self.district_at(call.w_id, call.d_id)?];
        let customer = &district.customers[district.find(call.customer)?];
        let newest = district.orders.iter().rev().find(|order| order.row.o_c_id == customer.c_id);
        let order = newest.ok_or_else(|| {
            Fault::defect(DefectKind::BadData, format!("customer {} has never ordered", customer.c_id))
        })?;
        let line = |line: &OrderLineRow| ReportLine {
            ol_supply_w_id: line.ol_supply_w_id,
            ol_i_id: line.ol_i_id,
            ol_quantity: line.ol_quantity,
            ol_amount: line.ol_amount,
            ol_delivery_d: line.ol_delivery_d,
        };
        Ok(Outcome::Status(OrderReport {
            c_id: customer.c_id,
            c_first: customer.c_first,
            c_middle: customer.c_middle,
            c_last: customer.c_last,
            c_balance: customer.c_balance,
            o_id: order.row.o_id,
            o_entry_d: order.row.o_entry_d,
            o_carrier_id: order.row.o_carrier_id,
            lines: order.lines.iter().map(line).collect(),
        }))
    }

    /// 2.7.
    fn delivery(&mut self, call: &Delivery) -> Result<Outcome, Fault> {
        let first = self.district_at(call.w_id, 1)?;
        let districts = &mut self.districts[first..first + DISTRICTS as usize];
        let o_ids = districts.iter_mut().map(|district| district.deliver(call.o_carrier_id)).collect();
        Ok(Outcome::Delivered(Delivered { o_ids }))
    }

    /// 2.8.
    fn stock_level(&self, call: &StockLevel) -> Result<Outcome, Fault> {
        let district = &self.districts[self.district_at(call.w_id, call.d_id)?];
        let recent = district.orders.iter().rev().take(20);
        let items: BTreeSet<u32> =
            recent.flat_map(|order| order.lines.iter().map(|line| line.ol_i_id)).collect();
        let stock = &self.stock[(call.w_id - 1) as usize * self.size.items as usize..];
        let low = |i_id: &u32| stock[*i_id as usize - 1].s_quantity < i64::from(call.threshold);
        let low_stock = items.iter().filter(|i_id| low(i_id)).count() as u32;
        Ok(Outcome::Short(Short { low_stock }))
    }

    fn warehouse_at(&self, w_id: u32) -> Result<usize, Fault> {
        index("warehouse", w_id, self.size.warehouses)
    }

    fn district_at(&self, w_id: u32, d_id: u32) -> Result<usize, Fault> {
        let before = self.warehouse_at(w_id)? * DISTRICTS as usize;
        Ok(before + index("district", d_id, DISTRICTS)?)
    }
}

impl Session<Tpcc> for Oracle {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        work.attempts += 1;
        self.answer(call)
    }
}

impl District {
    fn new(data: &Data, w_id: u32, d_id: u32) -> District {
        let size = data.size();
        let order = |(o_id, c_id)| {
            let mut lines = Vec::new();
            data.order_lines(w_id, d_id, o_id, |line| lines.push(line.clone()));
            Order { row: data.order(w_id, d_id, o_id, c_id), lines }
        };
        District {
            row: data.district(w_id, d_id),
            customers: (1..=size.customers).map(|c_id| data.customer(w_id, d_id, c_id)).collect(),
            orders: (1..).zip(data.order_customers(w_id, d_id)).map(order).collect(),
            undelivered: (size.undelivered_from()..=size.orders).collect(),
        }
    }

    fn customer_at(&self, c_id: u32) -> Result<usize, Fault> {
        index("customer", c_id, self.customers.len() as u32)
    }

    /// 2.5.2.2, 2.6.2.2: of n customers of a last name, sorted by first name, the one at n/2 rounded up.
    fn find(&self, who: Who) -> Result<usize, Fault> {
        let name = match who {
            Who::Id(c_id) => return self.customer_at(c_id),
            Who::LastName(name) => name,
        };
        let mut bearers: Vec<&CustomerRow> =
            self.customers.iter().filter(|customer| customer.c_last == name).collect();
        // The standard leaves equal first names open; we take the lower number.
        bearers.sort_by_key(|customer| (customer.c_first, customer.c_id));
        match bearers.len().div_ceil(2) {
            0 => Err(Fault::defect(DefectKind::BadCall, format!("there is no customer {name}"))),
            position => Ok(bearers[position - 1].c_id as usize - 1),
        }
    }

    /// 2.7.4.2: the oldest order, or none where everything is delivered.
    fn deliver(&mut self, carrier: u32) -> Option<u32> {
        let o_id = self.undelivered.pop_front()?;
        let order = &mut self.orders[o_id as usize - 1];
        order.row.o_carrier_id = Some(carrier);
        let customer = &mut self.customers[order.row.o_c_id as usize - 1];
        for line in &mut order.lines {
            line.ol_delivery_d = Some(LOADED_AT);
            customer.c_balance += line.ol_amount;
        }
        customer.c_delivery_cnt += 1;
        Some(o_id)
    }
}

/// The position of an id that runs from 1.
fn index(what: &str, id: u32, count: u32) -> Result<usize, Fault> {
    if (1..=count).contains(&id) {
        return Ok(id as usize - 1);
    }
    Err(Fault::defect(DefectKind::BadCall, format!("there is no {what} {id}")))
}

/// 2.5.2.2: what is put in front of c_data. The standard names the fields; spaces between them are ours.
fn fact(call: &Payment, c_id: u32) -> String {
    let whole = call.h_amount.0 / 100;
    let rest = call.h_amount.0 % 100;
    let ids = [c_id, call.c_d_id, call.c_w_id, call.d_id, call.w_id].map(|id| id.to_string()).join(" ");
    format!("{ids} {whole}.{rest:0>2} ")
}

/// As many of the first characters as there is room for.
fn front<const N: usize>(all: &str) -> Text<N> {
    let kept: String = all.chars().take(N).collect();
    Text::from(&kept).expect("ASCII, and no more characters than fit")
}

fn dist_info(stock: &StockRow, d_id: u32) -> Text<24> {
    let by_district = [
        stock.s_dist_01,
        stock.s_dist_02,
        stock.s_dist_03,
        stock.s_dist_04,
        stock.s_dist_05,
        stock.s_dist_06,
        stock.s_dist_07,
        stock.s_dist_08,
        stock.s_dist_09,
        stock.s_dist_10,
    ];
    by_district[d_id as usize - 1]
}

#[cfg(test)]
mod tests;
