//! The rows of our own load, as far as answers show them and no call changes them.

use crate::bad_credit::bad_credit_data;
use crate::data::ByName;
use crate::outcome::ensure;
use crate::{
    Address, Customer, CustomerRow, DISTRICTS, Data, ItemRow, Line, NewOrder, OrderReport, OrderStatus, Paid,
    Payment, Placed, PlacedLine, Unused, Who,
};
use model::BasisPoints;

/// More warehouses than this are not searched for namesakes: a thousand take about 2 s and 20 MB.
const NAMED_MAX: u32 = 1_000;

/// What was loaded.
#[derive(Debug)]
pub(crate) struct Loaded {
    data: Data,
    /// Tax of each warehouse.
    w_tax: Box<[BasisPoints]>,
    /// Tax of each district, in the order of (warehouse, district).
    d_tax: Box<[BasisPoints]>,
    /// Who is meant by a last name, in each district.
    named: Option<ByName>,
}

impl Loaded {
    pub(crate) fn of(data: Data) -> Loaded {
        let size = data.size();
        let warehouses = 1..=size.warehouses;
        let districts = warehouses.clone().flat_map(|w_id| (1..=DISTRICTS).map(move |d_id| (w_id, d_id)));
        Loaded {
            w_tax: warehouses.map(|w_id| data.warehouse(w_id).w_tax).collect(),
            d_tax: districts.map(|(w_id, d_id)| data.district(w_id, d_id).d_tax).collect(),
            named: (size.warehouses <= NAMED_MAX).then(|| data.by_name()),
            data,
        }
    }

    pub(crate) const fn data(&self) -> &Data {
        &self.data
    }

    /// Who is meant, where that is known.
    pub(crate) fn meant(&self, w_id: u32, d_id: u32, who: Who) -> Option<u32> {
        match who {
            Who::Id(c_id) => Some(c_id),
            Who::LastName(name) => self.named.as_ref()?.meant(crate::district(w_id, d_id), &name),
        }
    }

    /// Whether all names are known.
    pub(crate) const fn knows_names(&self) -> bool {
        self.named.is_some()
    }

    /// `items` are those of the order's lines.
    pub(crate) fn check_placed(
        &self,
        call: &NewOrder,
        placed: &Placed,
        items: &[ItemRow],
    ) -> Result<(), &'static str> {
        let rates = (self.w_tax[call.w_id as usize - 1], self.d_tax[crate::district(call.w_id, call.d_id)]);
        ensure(rates == (placed.w_tax, placed.d_tax), "a tax is not as loaded")?;
        let CustomerRow { c_last, c_credit, c_discount, .. } =
            self.data.profile(call.w_id, call.d_id, call.c_id);
        ensure(
            (c_last, c_credit, c_discount) == (placed.c_last, placed.c_credit, placed.c_discount),
            "the customer of the order is not as loaded",
        )?;
        let mut lines = call.lines.iter().zip(&placed.lines).zip(items);
        ensure(
            lines.all(|((line, shown), item)| self.is_of_item(line, shown, item)),
            "an item of the order is not as loaded",
        )?;
        ensure(placed.o_id > self.data.size().orders, "the order has the number of one that was loaded")
    }

    fn is_of_item(&self, line: &Line, shown: &PlacedLine, item: &ItemRow) -> bool {
        let is_original = |text: &str| text.contains("ORIGINAL");
        // Most items settle it alone.
        let branded =
            is_original(&item.i_data) && is_original(&self.data.stock(line.supply_w_id, line.i_id).s_data);
        let brand_generic = if branded { "B" } else { "G" };
        (item.i_name, item.i_price) == (shown.i_name, shown.i_price)
            && shown.brand_generic.as_str() == brand_generic
    }

    pub(crate) fn check_unused(&self, call: &NewOrder, unused: &Unused) -> Result<(), &'static str> {
        let CustomerRow { c_last, c_credit, .. } = self.data.profile(call.w_id, call.d_id, call.c_id);
        ensure(
            (c_last, c_credit) == (unused.c_last, unused.c_credit),
            "the customer of the order is not as loaded",
        )
    }

    pub(crate) fn check_paid(&self, call: &Payment, paid: &Paid) -> Result<(), &'static str> {
        let Paid { warehouse, district, customer, c_data, .. } = paid;
        let row = CustomerRow {
            c_balance: customer.c_balance,
            ..self.data.profile(call.c_w_id, call.c_d_id, customer.c_id)
        };
        ensure(Customer::from(&row) == *customer, "the payment's customer is not as loaded")?;
        let addresses = (
            Address::from(&self.data.warehouse(call.w_id)),
            Address::from(&self.data.district(call.w_id, call.d_id)),
        );
        ensure(addresses == (*warehouse, *district), "an address is not as loaded")?;
        let Some(c_data) = c_data else { return Ok(()) };
        let fact = bad_credit_data(call, customer.c_id, "");
        ensure(c_data.starts_with(fact.as_str()), "c_data does not begin with the payment")
    }

    pub(crate) fn check_status(&self, call: &OrderStatus, report: &OrderReport) -> Result<(), &'static str> {
        let CustomerRow { c_first, c_middle, c_last, .. } =
            self.data.profile(call.w_id, call.d_id, report.c_id);
        ensure(
            (c_first, c_middle, c_last) == (report.c_first, report.c_middle, report.c_last),
            "the customer of the status is not as loaded",
        )?;
        let size = self.data.size();
        if report.o_id > size.orders {
            let is_priced = |line: &crate::ReportLine| {
                (1..=size.items).contains(&line.ol_i_id)
                    && self.data.item(line.ol_i_id).i_price.times(line.ol_quantity.into()) == line.ol_amount
            };
            return ensure(
                report.lines.iter().all(is_priced),
                "an amount of the status is not price times quantity",
            );
        }
        ensure(self.is_loaded_order(call, report), "an order that was loaded is not as loaded")
    }

    fn is_loaded_order(&self, call: &OrderStatus, report: &OrderReport) -> bool {
        let order = self.data.order(call.w_id, call.d_id, report.o_id, report.c_id);
        // One that was not delivered may be by now.
        let delivered = order.o_carrier_id.is_some();
        let mut same = order.o_entry_d == report.o_entry_d
            && order.o_ol_cnt as usize == report.lines.len()
            && (!delivered || order.o_carrier_id == report.o_carrier_id);
        let mut lines = report.lines.iter();
        self.data.order_lines(call.w_id, call.d_id, report.o_id, |row| {
            same &= lines.next().is_some_and(|line| {
                (row.ol_supply_w_id, row.ol_i_id, row.ol_quantity, row.ol_amount)
                    == (line.ol_supply_w_id, line.ol_i_id, line.ol_quantity, line.ol_amount)
                    && (!delivered || row.ol_delivery_d == line.ol_delivery_d)
            });
        });
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cardinality;
    use model::Cents;

    #[test]
    fn an_item_is_branded_where_both_texts_say_so() {
        let loaded = Loaded::of(Data::new(Cardinality::standard(1), 7));
        let has_mark = |text: &str| text.contains("ORIGINAL");
        let mut seen = [0; 3];
        for i_id in 1..=2_000 {
            let (item, stock) = (loaded.data.item(i_id), loaded.data.stock(1, i_id));
            let marks = usize::from(has_mark(&item.i_data)) + usize::from(has_mark(&stock.s_data));
            seen[marks] += 1;
            let line = Line { i_id, supply_w_id: 1, quantity: 1 };
            let shown = |brand_generic: &str| PlacedLine {
                i_name: item.i_name,
                i_price: item.i_price,
                s_quantity: 50,
                brand_generic: brand_generic.parse().expect("one letter"),
                ol_amount: Cents(0),
            };
            assert_eq!(loaded.is_of_item(&line, &shown("B"), &item), marks == 2, "{i_id}");
            assert_eq!(loaded.is_of_item(&line, &shown("G"), &item), marks < 2, "{i_id}");
        }
        assert!(seen.iter().all(|count| *count > 5), "{seen:?}");
    }
}
