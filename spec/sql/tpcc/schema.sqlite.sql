-- TPC-C 1.3 on SQLite: the standard's names. Money in cents, rates in ten-thousandths, dates in seconds since 1970.
-- Tables are strict, so that a wrong type is an error and not a surprise. Small rows are clustered by their key
-- (without rowid); customer and stock, whose rows are wide, keep a rowid and an index, because a clustered b-tree of
-- wide rows has few of them a page and grows deep.

-- name: table_warehouse
create table warehouse (
  w_id integer primary key,
  w_name text not null,
  w_street_1 text not null,
  w_street_2 text not null,
  w_city text not null,
  w_state text not null,
  w_zip text not null,
  w_tax integer not null,
  w_ytd integer not null
) strict;

-- name: table_district
create table district (
  d_id integer not null,
  d_w_id integer not null,
  d_name text not null,
  d_street_1 text not null,
  d_street_2 text not null,
  d_city text not null,
  d_state text not null,
  d_zip text not null,
  d_tax integer not null,
  d_ytd integer not null,
  d_next_o_id integer not null,
  primary key (d_w_id, d_id)
) strict, without rowid;

-- name: table_customer
create table customer (
  c_id integer not null,
  c_d_id integer not null,
  c_w_id integer not null,
  c_first text not null,
  c_middle text not null,
  c_last text not null,
  c_street_1 text not null,
  c_street_2 text not null,
  c_city text not null,
  c_state text not null,
  c_zip text not null,
  c_phone text not null,
  c_since integer not null,
  c_credit text not null,
  c_credit_lim integer not null,
  c_discount integer not null,
  c_balance integer not null,
  c_ytd_payment integer not null,
  c_payment_cnt integer not null,
  c_delivery_cnt integer not null,
  c_data text not null
) strict;

-- name: table_history
create table history (
  h_c_id integer not null,
  h_c_d_id integer not null,
  h_c_w_id integer not null,
  h_d_id integer not null,
  h_w_id integer not null,
  h_date integer not null,
  h_amount integer not null,
  h_data text not null
) strict;

-- name: table_new_order
create table new_order (
  no_o_id integer not null,
  no_d_id integer not null,
  no_w_id integer not null,
  primary key (no_w_id, no_d_id, no_o_id)
) strict, without rowid;

-- name: table_orders
create table orders (
  o_id integer not null,
  o_d_id integer not null,
  o_w_id integer not null,
  o_c_id integer not null,
  o_entry_d integer not null,
  o_carrier_id integer,
  o_ol_cnt integer not null,
  o_all_local integer not null,
  primary key (o_w_id, o_d_id, o_id)
) strict, without rowid;

-- name: table_order_line
create table order_line (
  ol_o_id integer not null,
  ol_d_id integer not null,
  ol_w_id integer not null,
  ol_number integer not null,
  ol_i_id integer not null,
  ol_supply_w_id integer not null,
  ol_delivery_d integer,
  ol_quantity integer not null,
  ol_amount integer not null,
  ol_dist_info text not null,
  primary key (ol_w_id, ol_d_id, ol_o_id, ol_number)
) strict, without rowid;

-- name: table_item
create table item (
  i_id integer primary key,
  i_im_id integer not null,
  i_name text not null,
  i_price integer not null,
  i_data text not null
) strict;

-- name: table_stock
create table stock (
  s_i_id integer not null,
  s_w_id integer not null,
  s_quantity integer not null,
  s_dist_01 text not null,
  s_dist_02 text not null,
  s_dist_03 text not null,
  s_dist_04 text not null,
  s_dist_05 text not null,
  s_dist_06 text not null,
  s_dist_07 text not null,
  s_dist_08 text not null,
  s_dist_09 text not null,
  s_dist_10 text not null,
  s_ytd integer not null,
  s_order_cnt integer not null,
  s_remote_cnt integer not null,
  s_data text not null
) strict;

-- Made after the rows are in: building an index over sorted rows is faster than keeping one in order.

-- name: index_customer_key
create unique index customer_key on customer (c_w_id, c_d_id, c_id);

-- Serves the look-up by last name, already sorted by first name (2.5.2.2).
-- name: index_customer_name
create index customer_name on customer (c_w_id, c_d_id, c_last, c_first, c_id);

-- Serves Order-Status: the newest order of a customer (2.6.2.2).
-- name: index_orders_customer
create index orders_customer on orders (o_w_id, o_d_id, o_c_id, o_id);

-- name: index_stock_key
create unique index stock_key on stock (s_w_id, s_i_id);
