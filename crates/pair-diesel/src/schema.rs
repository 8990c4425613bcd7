//! The nine tables, once for both engines: their SQL types differ by engine where Diesel's own would make the code differ.

use diesel::sql_types::{Foldable, Nullable, SqlType, ops};
use diesel::{allow_tables_to_appear_in_same_query, query_builder::QueryId, table};

/// Money: cents in SQLite, `decimal` in PostgreSQL. Named so because columns of that name may be calculated with.
#[derive(Debug, Clone, Copy, SqlType, QueryId)]
#[diesel(sqlite_type(name = "Long"), postgres_type(oid = 1700, array_oid = 1231))]
pub struct Decimal;

/// A tax or a discount: ten-thousandths in SQLite, `decimal` in PostgreSQL.
#[derive(Debug, Clone, Copy, SqlType, QueryId)]
#[diesel(sqlite_type(name = "Long"), postgres_type(oid = 1700, array_oid = 1231))]
pub struct Rate;

/// A date: seconds since 1970 in SQLite, `timestamp` in PostgreSQL.
#[derive(Debug, Clone, Copy, SqlType, QueryId)]
#[diesel(sqlite_type(name = "Long"), postgres_type(oid = 1114, array_oid = 1115))]
pub struct Moment;

impl ops::Add for Decimal {
    type Rhs = Decimal;
    type Output = Decimal;
}

impl ops::Sub for Decimal {
    type Rhs = Decimal;
    type Output = Decimal;
}

impl ops::Mul for Decimal {
    type Rhs = Decimal;
    type Output = Decimal;
}

impl ops::Div for Decimal {
    type Rhs = Decimal;
    type Output = Decimal;
}

impl Foldable for Decimal {
    type Sum = Nullable<Decimal>;
    type Avg = Nullable<Decimal>;
}

table! {
    use diesel::sql_types::{Integer, Text};
    use super::{Decimal, Rate};
    warehouse (w_id) {
        w_id -> Integer,
        w_name -> Text,
        w_street_1 -> Text,
        w_street_2 -> Text,
        w_city -> Text,
        w_state -> Text,
        w_zip -> Text,
        w_tax -> Rate,
        w_ytd -> Decimal,
    }
}

table! {
    use diesel::sql_types::{Integer, SmallInt, Text};
    use super::{Decimal, Rate};
    district (d_w_id, d_id) {
        d_id -> SmallInt,
        d_w_id -> Integer,
        d_name -> Text,
        d_street_1 -> Text,
        d_street_2 -> Text,
        d_city -> Text,
        d_state -> Text,
        d_zip -> Text,
        d_tax -> Rate,
        d_ytd -> Decimal,
        d_next_o_id -> Integer,
    }
}

table! {
    use diesel::sql_types::{Integer, SmallInt, Text};
    use super::{Decimal, Moment, Rate};
    customer (c_w_id, c_d_id, c_id) {
        c_id -> Integer,
        c_d_id -> SmallInt,
        c_w_id -> Integer,
        c_first -> Text,
        c_middle -> Text,
        c_last -> Text,
        c_street_1 -> Text,
        c_street_2 -> Text,
        c_city -> Text,
        c_state -> Text,
        c_zip -> Text,
        c_phone -> Text,
        c_since -> Moment,
        c_credit -> Text,
        c_credit_lim -> Decimal,
        c_discount -> Rate,
        c_balance -> Decimal,
        c_ytd_payment -> Decimal,
        c_payment_cnt -> Integer,
        c_delivery_cnt -> Integer,
        c_data -> Text,
    }
}

table! {
    use diesel::sql_types::{Integer, SmallInt, Text};
    use super::{Decimal, Moment};
    // It has no key; Diesel wants one, and nothing here uses it.
    history (h_c_w_id, h_c_d_id, h_c_id, h_date) {
        h_c_id -> Integer,
        h_c_d_id -> SmallInt,
        h_c_w_id -> Integer,
        h_d_id -> SmallInt,
        h_w_id -> Integer,
        h_date -> Moment,
        h_amount -> Decimal,
        h_data -> Text,
    }
}

table! {
    use diesel::sql_types::{Integer, SmallInt};
    new_order (no_w_id, no_d_id, no_o_id) {
        no_o_id -> Integer,
        no_d_id -> SmallInt,
        no_w_id -> Integer,
    }
}

table! {
    use diesel::sql_types::{Integer, Nullable, SmallInt};
    use super::Moment;
    orders (o_w_id, o_d_id, o_id) {
        o_id -> Integer,
        o_d_id -> SmallInt,
        o_w_id -> Integer,
        o_c_id -> Integer,
        o_entry_d -> Moment,
        o_carrier_id -> Nullable<SmallInt>,
        o_ol_cnt -> SmallInt,
        o_all_local -> SmallInt,
    }
}

table! {
    use diesel::sql_types::{Integer, Nullable, SmallInt, Text};
    use super::{Decimal, Moment};
    order_line (ol_w_id, ol_d_id, ol_o_id, ol_number) {
        ol_o_id -> Integer,
        ol_d_id -> SmallInt,
        ol_w_id -> Integer,
        ol_number -> SmallInt,
        ol_i_id -> Integer,
        ol_supply_w_id -> Integer,
        ol_delivery_d -> Nullable<Moment>,
        ol_quantity -> SmallInt,
        ol_amount -> Decimal,
        ol_dist_info -> Text,
    }
}

table! {
    use diesel::sql_types::{Integer, Text};
    use super::Decimal;
    item (i_id) {
        i_id -> Integer,
        i_im_id -> Integer,
        i_name -> Text,
        i_price -> Decimal,
        i_data -> Text,
    }
}

table! {
    use diesel::sql_types::{Integer, SmallInt, Text};
    stock (s_w_id, s_i_id) {
        s_i_id -> Integer,
        s_w_id -> Integer,
        s_quantity -> SmallInt,
        s_dist_01 -> Text,
        s_dist_02 -> Text,
        s_dist_03 -> Text,
        s_dist_04 -> Text,
        s_dist_05 -> Text,
        s_dist_06 -> Text,
        s_dist_07 -> Text,
        s_dist_08 -> Text,
        s_dist_09 -> Text,
        s_dist_10 -> Text,
        s_ytd -> Integer,
        s_order_cnt -> Integer,
        s_remote_cnt -> Integer,
        s_data -> Text,
    }
}

allow_tables_to_appear_in_same_query!(order_line, stock);
