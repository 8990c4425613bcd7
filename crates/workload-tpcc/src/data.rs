//! The initial rows as a pure function of seed, table and key (4.3.3.1), so that any number of loader threads makes
//! the same database, and the oracle can know a row without a database.

use crate::rows::{
    CustomerRow, DistrictRow, HistoryRow, ItemRow, NewOrderRow, OrderLineRow, OrderRow, StockRow,
    WarehouseRow,
};
use crate::{DISTRICTS, Text, last_name};
use model::random::Random;
use model::rows::{Dataset, RowSink, Table};
use model::{BasisPoints, Cents};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much data there is. The standard's numbers except in tests and conformance runs, which use a tiny set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cardinality {
    pub warehouses: u32,
    pub items: u32,
    /// Customers of a district.
    pub customers: u32,
    /// Last names in use; the first that many customers of a district take one each.
    pub names: u32,
    /// Orders of a district; one a customer.
    pub orders: u32,
    /// Of these, the newest that are not delivered yet.
    pub undelivered: u32,
}

/// Most warehouses that can be asked for: about 10 TB of rows.
pub const WAREHOUSES_MAX: u32 = 100_000;

impl Cardinality {
    /// The standard's (1.2.1).
    pub const fn standard(warehouses: u32) -> Cardinality {
        Cardinality {
            warehouses,
            items: 100_000,
            customers: 3_000,
            names: 1_000,
            orders: 3_000,
            undelivered: 900,
        }
    }

    /// Two warehouses that load in milliseconds, for conformance and tests. Three customers share each last name.
    pub const fn tiny() -> Cardinality {
        Cardinality { warehouses: 2, items: 100, customers: 30, names: 10, orders: 30, undelivered: 9 }
    }

    /// Several times as much in each respect, and still loaded in a second: numbers of warehouses, customers, items and orders that
    /// [`Cardinality::tiny`] has not.
    pub const fn larger() -> Cardinality {
        Cardinality { warehouses: 3, items: 700, customers: 75, names: 25, orders: 75, undelivered: 22 }
    }

    /// The first order of a district that is not delivered: 2101 in the standard.
    pub const fn undelivered_from(&self) -> u32 {
        self.orders - self.undelivered + 1
    }
}

/// Who is meant by a last name.
#[derive(Debug)]
pub(crate) struct ByName {
    /// The names that are in use and their numbers, sorted.
    names: Box<[(Text<16>, u32)]>,
    /// c_id of who is meant, by district and name.
    meant: Box<[u32]>,
}

impl ByName {
    /// Who is meant by a name in a district, counted from 0 in the order of (warehouse, district).
    pub(crate) fn meant(&self, district: usize, name: &str) -> Option<u32> {
        let at = self.names.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        Some(self.meant[district * self.names.len() + self.names[at].1 as usize])
    }
}

/// Seconds since 1970 that stand for "now" in loaded rows: 2024-01-01. The standard takes the clock; a constant keeps
/// rows a function of the seed alone.
pub const LOADED_AT: i64 = 1_704_067_200;

/// What every customer has paid in advance (4.3.3.1).
pub(crate) const BALANCE: Cents = Cents(-1_000);

/// The first number in the path of each table's random streams. Frozen: they decide what a seed means.
mod path {
    pub(super) const C_LOAD: u64 = 0;
    pub(super) const WAREHOUSE: u64 = 1;
    pub(super) const DISTRICT: u64 = 2;
    pub(super) const CUSTOMER: u64 = 3;
    pub(super) const HISTORY: u64 = 4;
    pub(super) const PERMUTATION: u64 = 5;
    pub(super) const ORDER: u64 = 6;
    pub(super) const LINES: u64 = 7;
    pub(super) const ITEM: u64 = 8;
    pub(super) const STOCK: u64 = 9;
}

/// Rows of item or stock in a chunk.
const ITEMS_A_CHUNK: u32 = 5_000;

/// All initial rows of a seed at some size.
#[derive(Debug, Clone)]
pub struct Data {
    size: Cardinality,
    seed: u64,
    c_load: u32,
    tables: Vec<Table>,
}

impl Data {
    /// The data of a seed.
    pub fn new(size: Cardinality, seed: u64) -> Data {
        let c_load = Data::c_load_of(seed);
        Data { size, seed, c_load, tables: tables(size) }
    }

    pub const fn size(&self) -> Cardinality {
        self.size
    }

    /// C-Load of c_last under a seed (2.1.6.1).
    pub fn c_load_of(seed: u64) -> u32 {
        Random::stream(seed, &[path::C_LOAD]).below(256) as u32
    }

    fn stream(&self, table: u64, key: &[u32]) -> Random {
        let mut steps = [table, 0, 0, 0];
        for (step, part) in steps[1..].iter_mut().zip(key) {
            *step = u64::from(*part);
        }
        Random::stream(self.seed, &steps[..=key.len()])
    }

    pub fn warehouse(&self, w_id: u32) -> WarehouseRow {
        let random = &mut self.stream(path::WAREHOUSE, &[w_id]);
        WarehouseRow {
            w_id,
            w_name: letters(random, 6, 10),
            w_street_1: letters(random, 10, 20),
            w_street_2: letters(random, 10, 20),
            w_city: letters(random, 10, 20),
            w_state: letters(random, 2, 2),
            w_zip: zip(random),
            w_tax: BasisPoints(random.range(0, 2_000)),
            // 300,000.00 and 30,000.00 in the standard: 10.00 for each row of history (consistency 8 and 9).
            w_ytd: Cents(1_000 * i64::from(DISTRICTS * self.size.customers)),
        }
    }

    pub fn district(&self, w_id: u32, d_id: u32) -> DistrictRow {
        let random = &mut self.stream(path::DISTRICT, &[w_id, d_id]);
        DistrictRow {
            d_id,
            d_w_id: w_id,
            d_name: letters(random, 6, 10),
            d_street_1: letters(random, 10, 20),
            d_street_2: letters(random, 10, 20),
            d_city: letters(random, 10, 20),
            d_state: letters(random, 2, 2),
            d_zip: zip(random),
            d_tax: BasisPoints(random.range(0, 2_000)),
            d_ytd: Cents(1_000 * i64::from(self.size.customers)),
            d_next_o_id: self.size.orders + 1,
        }
    }

    pub fn customer(&self, w_id: u32, d_id: u32, c_id: u32) -> CustomerRow {
        let random = &mut self.stream(path::CUSTOMER, &[w_id, d_id, c_id]);
        let profile = self.drawn_profile(random, (w_id, d_id, c_id));
        CustomerRow { c_data: letters(random, 300, 500), ..profile }
    }

    /// A customer without its c_data: about 0.5 µs.
    pub(crate) fn profile(&self, w_id: u32, d_id: u32, c_id: u32) -> CustomerRow {
        let random = &mut self.stream(path::CUSTOMER, &[w_id, d_id, c_id]);
        self.drawn_profile(random, (w_id, d_id, c_id))
    }

    fn drawn_profile(&self, random: &mut Random, (w_id, d_id, c_id): (u32, u32, u32)) -> CustomerRow {
        let name = self.name(random, c_id);
        CustomerRow {
            c_id,
            c_d_id: d_id,
            c_w_id: w_id,
            c_first: letters(random, 8, 16),
            c_middle: fixed("OE"),
            c_last: last_name(name),
            c_street_1: letters(random, 10, 20),
            c_street_2: letters(random, 10, 20),
            c_city: letters(random, 10, 20),
            c_state: letters(random, 2, 2),
            c_zip: zip(random),
            c_phone: digits(random, 16),
            c_since: LOADED_AT,
            c_credit: fixed(if random.chance(1, 10) { "BC" } else { "GC" }),
            c_credit_lim: Cents(5_000_000),
            c_discount: BasisPoints(random.range(0, 5_000)),
            c_balance: BALANCE,
            c_ytd_payment: Cents(1_000),
            c_payment_cnt: 1,
            c_delivery_cnt: 0,
            c_data: Text::new(),
        }
    }

    /// The number of a customer's last name, which is the first that is drawn of a customer.
    fn name(&self, random: &mut Random, c_id: u32) -> u32 {
        // 4.3.3.1: the first thousand take the thousand names in turn, the rest draws them.
        let names = self.size.names;
        if c_id <= names { c_id - 1 } else { crate::input::nurand(random, 255, self.c_load, 0, names - 1) }
    }

    /// Who is meant by each last name in each district (2.5.2.2): about 2 ms and 20 KB a warehouse.
    pub(crate) fn by_name(&self) -> ByName {
        let Cardinality { warehouses, customers, names, .. } = self.size;
        let mut meant = Vec::with_capacity((warehouses * DISTRICTS * names) as usize);
        let mut bearers: Vec<(u32, Text<16>, u32)> = Vec::with_capacity(customers as usize);
        for (w_id, d_id) in (1..=warehouses).flat_map(|w_id| (1..=DISTRICTS).map(move |d_id| (w_id, d_id))) {
            bearers.clear();
            bearers.extend((1..=customers).map(|c_id| {
                let random = &mut self.stream(path::CUSTOMER, &[w_id, d_id, c_id]);
                let name = self.name(random, c_id);
                (name, letters(random, 8, 16), c_id)
            }));
            bearers.sort_unstable();
            // Each name has a bearer, because the first customers take them in turn.
            meant.extend(
                bearers
                    .chunk_by(|one, next| one.0 == next.0)
                    .map(|namesakes| namesakes[namesakes.len().div_ceil(2) - 1].2),
            );
        }
        let places: BTreeMap<_, _> = (0..names).map(|name| (last_name(name), name)).collect();
        ByName { names: places.into_iter().collect(), meant: meant.into() }
    }

    /// The row of history of a customer's first payment.
    pub fn history(&self, w_id: u32, d_id: u32, c_id: u32) -> HistoryRow {
        let random = &mut self.stream(path::HISTORY, &[w_id, d_id, c_id]);
        HistoryRow {
            h_c_id: c_id,
            h_c_d_id: d_id,
            h_c_w_id: w_id,
            h_d_id: d_id,
            h_w_id: w_id,
            h_date: LOADED_AT,
            h_amount: Cents(1_000),
            h_data: letters(random, 12, 24),
        }
    }

    /// The customers of a district's orders: o_id − 1 is the index (a random permutation).
    pub fn order_customers(&self, w_id: u32, d_id: u32) -> Vec<u32> {
        let mut customers: Vec<u32> = (1..=self.size.customers).collect();
        self.stream(path::PERMUTATION, &[w_id, d_id]).shuffle(&mut customers);
        customers
    }

    /// An order, whose customer is known from [`Data::order_customers`].
    pub fn order(&self, w_id: u32, d_id: u32, o_id: u32, o_c_id: u32) -> OrderRow {
        let random = &mut self.stream(path::ORDER, &[w_id, d_id, o_id]);
        let o_ol_cnt = random.range(5, 15) as u32;
        let delivered = o_id < self.size.undelivered_from();
        OrderRow {
            o_id,
            o_d_id: d_id,
            o_w_id: w_id,
            o_c_id,
            o_entry_d: LOADED_AT,
            o_carrier_id: delivered.then(|| random.range(1, 10) as u32),
            o_ol_cnt,
            o_all_local: 1,
        }
    }

    /// The lines of an order, in order.
    pub fn order_lines(&self, w_id: u32, d_id: u32, o_id: u32, mut each: impl FnMut(&OrderLineRow)) {
        let order = self.order(w_id, d_id, o_id, 0);
        let random = &mut self.stream(path::LINES, &[w_id, d_id, o_id]);
        let delivered = order.o_carrier_id.is_some();
        for ol_number in 1..=order.o_ol_cnt {
            each(&OrderLineRow {
                ol_o_id: o_id,
                ol_d_id: d_id,
                ol_w_id: w_id,
                ol_number,
                ol_i_id: random.range(1, i64::from(self.size.items)) as u32,
                ol_supply_w_id: w_id,
                ol_delivery_d: delivered.then_some(LOADED_AT),
                ol_quantity: 5,
                ol_amount: Cents(if delivered { 0 } else { random.range(1, 999_999) }),
                ol_dist_info: letters(random, 24, 24),
            });
        }
    }

    pub fn item(&self, i_id: u32) -> ItemRow {
        let random = &mut self.stream(path::ITEM, &[i_id]);
        ItemRow {
            i_id,
            i_im_id: random.range(1, 10_000) as u32,
            i_name: letters(random, 14, 24),
            i_price: Cents(random.range(100, 10_000)),
            i_data: data(random),
        }
    }

    /// Pieces of an item in a warehouse, without the rest of its row.
    pub(crate) fn in_stock(&self, w_id: u32, i_id: u32) -> i64 {
        self.stream(path::STOCK, &[w_id, i_id]).range(10, 100)
    }

    /// The stock of an item in a warehouse.
    pub fn stock(&self, w_id: u32, i_id: u32) -> StockRow {
        let random = &mut self.stream(path::STOCK, &[w_id, i_id]);
        StockRow {
            s_i_id: i_id,
            s_w_id: w_id,
            s_quantity: random.range(10, 100),
            s_dist_01: letters(random, 24, 24),
            s_dist_02: letters(random, 24, 24),
            s_dist_03: letters(random, 24, 24),
            s_dist_04: letters(random, 24, 24),
            s_dist_05: letters(random, 24, 24),
            s_dist_06: letters(random, 24, 24),
            s_dist_07: letters(random, 24, 24),
            s_dist_08: letters(random, 24, 24),
            s_dist_09: letters(random, 24, 24),
            s_dist_10: letters(random, 24, 24),
            s_ytd: 0,
            s_order_cnt: 0,
            s_remote_cnt: 0,
            s_data: data(random),
        }
    }
}

/// The column with the warehouse that a row belongs to; items belong to none.
fn warehouse(columns: &[&'static str]) -> Option<&'static str> {
    const WAREHOUSE: [&str; 8] =
        ["w_id", "d_w_id", "s_w_id", "c_w_id", "h_w_id", "o_w_id", "no_w_id", "ol_w_id"];
    columns.iter().copied().find(|column| WAREHOUSE.contains(column))
}

fn tables(size: Cardinality) -> Vec<Table> {
    let districts = u64::from(size.warehouses) * u64::from(DISTRICTS);
    let per_district = size.warehouses * DISTRICTS;
    let item_chunks = size.items.div_ceil(ITEMS_A_CHUNK);
    let table = |name, columns, chunks, rows: u64| Table {
        spread_by: warehouse(columns),
        ..Table::new(name, columns, chunks, rows)
    };
    vec![
        table(ItemRow::TABLE, ItemRow::COLUMNS, item_chunks, u64::from(size.items)),
        table(WarehouseRow::TABLE, WarehouseRow::COLUMNS, 1, u64::from(size.warehouses)),
        table(DistrictRow::TABLE, DistrictRow::COLUMNS, 1, districts),
        table(
            StockRow::TABLE,
            StockRow::COLUMNS,
            size.warehouses * item_chunks,
            u64::from(size.warehouses) * u64::from(size.items),
        ),
        table(CustomerRow::TABLE, CustomerRow::COLUMNS, per_district, districts * u64::from(size.customers)),
        table(HistoryRow::TABLE, HistoryRow::COLUMNS, per_district, districts * u64::from(size.customers)),
        table(OrderRow::TABLE, OrderRow::COLUMNS, per_district, districts * u64::from(size.orders)),
        table(
            NewOrderRow::TABLE,
            NewOrderRow::COLUMNS,
            per_district,
            districts * u64::from(size.undelivered),
        ),
        // About: 5 to 15 lines an order.
        table(
            OrderLineRow::TABLE,
            OrderLineRow::COLUMNS,
            per_district,
            districts * u64::from(size.orders) * 10,
        ),
    ]
}

impl Dataset for Data {
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn not_on_spider(&self) -> Option<&'static str> {
        Some(
            "it reports 0 rows for each `delete` (10.11), and a delivery must know whether it took the oldest new order",
        )
    }

    fn fill(&self, table: usize, chunk: u32, sink: &mut dyn RowSink) {
        let size = self.size;
        let (w_id, d_id) = (chunk / DISTRICTS + 1, chunk % DISTRICTS + 1);
        let items = |chunk: u32| {
            let first = chunk * ITEMS_A_CHUNK + 1;
            first..=(first + ITEMS_A_CHUNK - 1).min(size.items)
        };
        match self.tables[table].name {
            "item" => items(chunk).for_each(|i_id| self.item(i_id).give(sink)),
            "warehouse" => (1..=size.warehouses).for_each(|w_id| self.warehouse(w_id).give(sink)),
            "district" => {
                for w_id in 1..=size.warehouses {
                    (1..=DISTRICTS).for_each(|d_id| self.district(w_id, d_id).give(sink));
                }
            }
            "stock" => {
                let chunks = size.items.div_ceil(ITEMS_A_CHUNK);
                items(chunk % chunks).for_each(|i_id| self.stock(chunk / chunks + 1, i_id).give(sink));
            }
            "customer" => {
                (1..=size.customers).for_each(|c_id| self.customer(w_id, d_id, c_id).give(sink));
            }
            "history" => (1..=size.customers).for_each(|c_id| self.history(w_id, d_id, c_id).give(sink)),
            "orders" => {
                for (o_id, c_id) in (1..).zip(self.order_customers(w_id, d_id)) {
                    self.order(w_id, d_id, o_id, c_id).give(sink);
                }
            }
            "new_order" => {
                for no_o_id in size.undelivered_from()..=size.orders {
                    NewOrderRow { no_o_id, no_d_id: d_id, no_w_id: w_id }.give(sink);
                }
            }
            "order_line" => {
                for o_id in 1..=size.orders {
                    self.order_lines(w_id, d_id, o_id, |line| line.give(sink));
                }
            }
            name => unreachable!("no table {name} in `tables`"),
        }
    }
}

/// 62 letters and digits; 'e' and 'a' stand twice, so that six bits choose one.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789ea";

/// A random a-string of `low` to `high` characters (4.3.2.2).
fn letters<const N: usize>(random: &mut Random, low: usize, high: usize) -> Text<N> {
    let length = if low == high { low } else { random.range(low as i64, high as i64) as usize };
    let mut bytes = [b'a'; N];
    for ten in bytes[..length].chunks_mut(10) {
        let mut bits = random.bits();
        for byte in ten {
            *byte = ALPHABET[(bits & 63) as usize];
            bits >>= 6;
        }
    }
    text(&bytes[..length])
}

/// A random n-string of `length` digits.
fn digits<const N: usize>(random: &mut Random, length: usize) -> Text<N> {
    let mut bytes = [b'0'; N];
    for byte in &mut bytes[..length] {
        *byte = b'0' + random.below(10) as u8;
    }
    text(&bytes[..length])
}

/// Four random digits and "11111" (4.3.2.7).
fn zip(random: &mut Random) -> Text<9> {
    let mut zip = digits::<9>(random, 4);
    zip.push_str("11111");
    zip
}

/// 26 to 50 characters; one in ten holds "ORIGINAL" at a random position.
fn data(random: &mut Random) -> Text<50> {
    const MARK: &[u8] = b"ORIGINAL";
    let plain: Text<50> = letters(random, 26, 50);
    if !random.chance(1, 10) {
        return plain;
    }
    let mut bytes = [0u8; 50];
    bytes[..plain.len()].copy_from_slice(plain.as_bytes());
    let at = random.below((plain.len() - MARK.len() + 1) as u64) as usize;
    bytes[at..at + MARK.len()].copy_from_slice(MARK);
    text(&bytes[..plain.len()])
}

fn text<const N: usize>(bytes: &[u8]) -> Text<N> {
    let letters = std::str::from_utf8(bytes).expect("made of ASCII letters and digits");
    Text::from(letters).expect("no longer than its capacity, by the callers")
}

fn fixed(value: &str) -> Text<2> {
    Text::from(value).expect("two letters, by the callers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_function_of_its_seed_and_key() {
        let (one, same, other) = (
            Data::new(Cardinality::tiny(), 1),
            Data::new(Cardinality::tiny(), 1),
            Data::new(Cardinality::tiny(), 2),
        );
        assert_eq!(one.customer(1, 2, 3), same.customer(1, 2, 3));
        assert_ne!(one.customer(1, 2, 3).c_data, other.customer(1, 2, 3).c_data);
        assert_ne!(one.customer(1, 2, 3).c_data, one.customer(2, 1, 3).c_data);
    }

    #[test]
    fn the_initial_data_has_the_standards_shares() {
        let data = Data::new(Cardinality::standard(1), 7);
        let original = (1..=20_000).filter(|i_id| data.item(*i_id).i_data.contains("ORIGINAL")).count();
        assert!((1_850..2_150).contains(&original), "{original} of 20,000 items hold ORIGINAL");
        let bad = (1..=3_000)
            .flat_map(|c_id| [1, 2, 3].map(|d_id| data.customer(1, d_id, c_id).c_credit))
            .filter(|credit| credit.as_str() == "BC")
            .count();
        assert!((800..1_000).contains(&bad), "{bad} of 9,000 customers have bad credit");
    }

    #[test]
    fn orders_go_to_a_permutation_of_the_customers() {
        let data = Data::new(Cardinality::standard(1), 7);
        let mut customers = data.order_customers(1, 1);
        assert_ne!(customers, (1..=3_000).collect::<Vec<_>>());
        customers.sort_unstable();
        assert_eq!(customers, (1..=3_000).collect::<Vec<_>>());
    }

    #[test]
    fn lines_follow_their_order() {
        let data = Data::new(Cardinality::tiny(), 3);
        for o_id in 1..=30 {
            let order = data.order(2, 10, o_id, 1);
            let mut count = 0;
            data.order_lines(2, 10, o_id, |line| {
                count += 1;
                assert_eq!(line.ol_delivery_d.is_some(), order.o_carrier_id.is_some());
                assert_eq!(line.ol_amount == Cents(0), o_id < 22);
            });
            assert_eq!(count, order.o_ol_cnt);
        }
    }

    #[test]
    fn every_text_fits_its_column() {
        let data = Data::new(Cardinality::standard(1), 11);
        for c_id in 1..=3_000 {
            let row = data.customer(1, 1, c_id);
            assert!((300..=500).contains(&row.c_data.len()) && row.c_zip.ends_with("11111"));
        }
    }
}
