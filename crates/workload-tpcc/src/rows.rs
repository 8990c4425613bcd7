//! The rows of the nine tables (1.3), with the standard's column names, and how they are handed to a loader.

use crate::Text;
use model::rows::RowSink;
use model::{BasisPoints, Cents};

macro_rules! row {
    ($(#[$doc:meta])* $name:ident in $table:literal { $($column:ident : $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name { $(pub $column: $type),+ }

        impl $name {
            pub(crate) const TABLE: &'static str = $table;
            pub(crate) const COLUMNS: &'static [&'static str] = &[$(stringify!($column)),+];
            pub(crate) fn give(&self, sink: &mut dyn RowSink) {
                $(Value::give(&self.$column, sink);)+
                sink.end();
            }
        }
    };
}

trait Value {
    fn give(&self, sink: &mut dyn RowSink);
}
impl Value for u32 {
    fn give(&self, sink: &mut dyn RowSink) {
        sink.int(i64::from(*self));
    }
}
impl Value for i64 {
    fn give(&self, sink: &mut dyn RowSink) {
        sink.int(*self);
    }
}
impl Value for Cents {
    fn give(&self, sink: &mut dyn RowSink) {
        sink.int(self.0);
    }
}
impl Value for BasisPoints {
    fn give(&self, sink: &mut dyn RowSink) {
        sink.int(self.0);
    }
}
impl<const N: usize> Value for Text<N> {
    fn give(&self, sink: &mut dyn RowSink) {
        sink.text(self);
    }
}
impl<T: Value> Value for Option<T> {
    fn give(&self, sink: &mut dyn RowSink) {
        match self {
            Some(value) => value.give(sink),
            None => sink.null(),
        }
    }
}

row!(
    WarehouseRow in "warehouse" {
        w_id: u32, w_name: Text<10>, w_street_1: Text<20>, w_street_2: Text<20>, w_city: Text<20>,
        w_state: Text<2>, w_zip: Text<9>, w_tax: BasisPoints, w_ytd: Cents,
    }
);
row!(
    DistrictRow in "district" {
        d_id: u32, d_w_id: u32, d_name: Text<10>, d_street_1: Text<20>, d_street_2: Text<20>,
        d_city: Text<20>, d_state: Text<2>, d_zip: Text<9>, d_tax: BasisPoints, d_ytd: Cents,
        d_next_o_id: u32,
    }
);
row!(
    CustomerRow in "customer" {
        c_id: u32, c_d_id: u32, c_w_id: u32, c_first: Text<16>, c_middle: Text<2>, c_last: Text<16>,
        c_street_1: Text<20>, c_street_2: Text<20>, c_city: Text<20>, c_state: Text<2>, c_zip: Text<9>,
        c_phone: Text<16>, c_since: i64, c_credit: Text<2>, c_credit_lim: Cents, c_discount: BasisPoints,
        c_balance: Cents, c_ytd_payment: Cents, c_payment_cnt: u32, c_delivery_cnt: u32,
        c_data: Text<500>,
    }
);
row!(
    HistoryRow in "history" {
        h_c_id: u32, h_c_d_id: u32, h_c_w_id: u32, h_d_id: u32, h_w_id: u32, h_date: i64,
        h_amount: Cents, h_data: Text<24>,
    }
);
row!(
    NewOrderRow in "new_order" { no_o_id: u32, no_d_id: u32, no_w_id: u32 }
);
row!(
    OrderRow in "orders" {
        o_id: u32, o_d_id: u32, o_w_id: u32, o_c_id: u32, o_entry_d: i64, o_carrier_id: Option<u32>,
        o_ol_cnt: u32, o_all_local: u32,
    }
);
row!(
    OrderLineRow in "order_line" {
        ol_o_id: u32, ol_d_id: u32, ol_w_id: u32, ol_number: u32, ol_i_id: u32, ol_supply_w_id: u32,
        ol_delivery_d: Option<i64>, ol_quantity: u32, ol_amount: Cents, ol_dist_info: Text<24>,
    }
);
row!(
    ItemRow in "item" { i_id: u32, i_im_id: u32, i_name: Text<24>, i_price: Cents, i_data: Text<50> }
);
row!(
    StockRow in "stock" {
        s_i_id: u32, s_w_id: u32, s_quantity: i64, s_dist_01: Text<24>, s_dist_02: Text<24>,
        s_dist_03: Text<24>, s_dist_04: Text<24>, s_dist_05: Text<24>, s_dist_06: Text<24>,
        s_dist_07: Text<24>, s_dist_08: Text<24>, s_dist_09: Text<24>, s_dist_10: Text<24>,
        s_ytd: i64, s_order_cnt: u32, s_remote_cnt: u32, s_data: Text<50>,
    }
);
