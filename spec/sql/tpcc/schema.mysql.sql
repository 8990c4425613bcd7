-- TPC-C 1.3 on MariaDB (InnoDB): the standard's names, DECIMAL money and rates, and the types that other tools use, so that
-- their consistency checkers take a database of ours. Rows are clustered by their keys, which are therefore made with the
-- tables; other indexes and references are made after the rows are in. Texts compare byte by byte, as on the other engines.

-- name: table_warehouse
create table warehouse (
  w_id integer not null,
  w_name varchar(10) not null,
  w_street_1 varchar(20) not null,
  w_street_2 varchar(20) not null,
  w_city varchar(20) not null,
  w_state char(2) not null,
  w_zip char(9) not null,
  w_tax decimal(4,4) not null,
  w_ytd decimal(12,2) not null,
  primary key (w_id)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- name: table_district
create table district (
  d_id smallint not null,
  d_w_id integer not null,
  d_name varchar(10) not null,
  d_street_1 varchar(20) not null,
  d_street_2 varchar(20) not null,
  d_city varchar(20) not null,
  d_state char(2) not null,
  d_zip char(9) not null,
  d_tax decimal(4,4) not null,
  d_ytd decimal(12,2) not null,
  d_next_o_id integer not null,
  primary key (d_w_id, d_id)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- name: table_customer
create table customer (
  c_id integer not null,
  c_d_id smallint not null,
  c_w_id integer not null,
  c_first varchar(16) not null,
  c_middle char(2) not null,
  c_last varchar(16) not null,
  c_street_1 varchar(20) not null,
  c_street_2 varchar(20) not null,
  c_city varchar(20) not null,
  c_state char(2) not null,
  c_zip char(9) not null,
  c_phone char(16) not null,
  c_since datetime not null,
  c_credit char(2) not null,
  c_credit_lim decimal(12,2) not null,
  c_discount decimal(4,4) not null,
  c_balance decimal(12,2) not null,
  c_ytd_payment decimal(12,2) not null,
  c_payment_cnt integer not null,
  c_delivery_cnt integer not null,
  c_data varchar(500) not null,
  primary key (c_w_id, c_d_id, c_id)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- name: table_history
create table history (
  h_c_id integer not null,
  h_c_d_id smallint not null,
  h_c_w_id integer not null,
  h_d_id smallint not null,
  h_w_id integer not null,
  h_date datetime not null,
  h_amount decimal(6,2) not null,
  h_data varchar(24) not null
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- name: table_new_order
create table new_order (
  no_o_id integer not null,
  no_d_id smallint not null,
  no_w_id integer not null,
  primary key (no_w_id, no_d_id, no_o_id)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- name: table_orders
create table orders (
  o_id integer not null,
  o_d_id smallint not null,
  o_w_id integer not null,
  o_c_id integer not null,
  o_entry_d datetime not null,
  o_carrier_id smallint,
  o_ol_cnt smallint not null,
  o_all_local smallint not null,
  primary key (o_w_id, o_d_id, o_id)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- name: table_order_line
create table order_line (
  ol_o_id integer not null,
  ol_d_id smallint not null,
  ol_w_id integer not null,
  ol_number smallint not null,
  ol_i_id integer not null,
  ol_supply_w_id integer not null,
  ol_delivery_d datetime,
  ol_quantity smallint not null,
  ol_amount decimal(6,2) not null,
  ol_dist_info char(24) not null,
  primary key (ol_w_id, ol_d_id, ol_o_id, ol_number)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- name: table_item
create table item (
  i_id integer not null,
  i_im_id integer not null,
  i_name varchar(24) not null,
  i_price decimal(5,2) not null,
  i_data varchar(50) not null,
  primary key (i_id)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- name: table_stock
create table stock (
  s_i_id integer not null,
  s_w_id integer not null,
  s_quantity smallint not null,
  s_dist_01 char(24) not null,
  s_dist_02 char(24) not null,
  s_dist_03 char(24) not null,
  s_dist_04 char(24) not null,
  s_dist_05 char(24) not null,
  s_dist_06 char(24) not null,
  s_dist_07 char(24) not null,
  s_dist_08 char(24) not null,
  s_dist_09 char(24) not null,
  s_dist_10 char(24) not null,
  s_ytd integer not null,
  s_order_cnt integer not null,
  s_remote_cnt integer not null,
  s_data varchar(50) not null,
  primary key (s_w_id, s_i_id)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- Serves the look-up by last name, already sorted by first name (2.5.2.2).
-- name: index_customer_name
create index customer_name on customer (c_w_id, c_d_id, c_last, c_first, c_id)

-- Serves Order-Status: the newest order of a customer (2.6.2.2).
-- name: index_orders_customer
create index orders_customer on orders (o_w_id, o_d_id, o_c_id, o_id)

-- References (1.3.1) are made only when they are asked for: the standard does not oblige anybody to have them enforced, each
-- costs a look-up a row, and a result says whether they were there.

-- name: reference_district_warehouse
alter table district add constraint district_warehouse_fkey foreign key (d_w_id) references warehouse (w_id)

-- name: reference_customer_district
alter table customer add constraint customer_district_fkey foreign key (c_w_id, c_d_id) references district (d_w_id, d_id)

-- name: reference_history_customer
alter table history add constraint history_customer_fkey foreign key (h_c_w_id, h_c_d_id, h_c_id) references customer (c_w_id, c_d_id, c_id)

-- name: reference_history_district
alter table history add constraint history_district_fkey foreign key (h_w_id, h_d_id) references district (d_w_id, d_id)

-- name: reference_new_order_orders
alter table new_order add constraint new_order_orders_fkey foreign key (no_w_id, no_d_id, no_o_id) references orders (o_w_id, o_d_id, o_id)

-- name: reference_orders_customer
alter table orders add constraint orders_customer_fkey foreign key (o_w_id, o_d_id, o_c_id) references customer (c_w_id, c_d_id, c_id)

-- name: reference_order_line_orders
alter table order_line add constraint order_line_orders_fkey foreign key (ol_w_id, ol_d_id, ol_o_id) references orders (o_w_id, o_d_id, o_id)

-- name: reference_order_line_stock
alter table order_line add constraint order_line_stock_fkey foreign key (ol_supply_w_id, ol_i_id) references stock (s_w_id, s_i_id)

-- name: reference_stock_warehouse
alter table stock add constraint stock_warehouse_fkey foreign key (s_w_id) references warehouse (w_id)

-- name: reference_stock_item
alter table stock add constraint stock_item_fkey foreign key (s_i_id) references item (i_id)
