-- The statements of spec/sql/tpcc as mariadb takes them. Made from there, not by hand: see servers/README.md.

-- name: warehouse_tax
-- params: 1
select w_tax
from warehouse
where w_id = ?

-- name: claim_order_id
-- params: 1 2
update district
set d_next_o_id = d_next_o_id + 1
where d_w_id = ? and d_id = ?

-- name: customer_terms
-- params: 1 2 3
select c_discount, c_last, c_credit
from customer
where c_w_id = ? and c_d_id = ? and c_id = ?

-- name: insert_order
-- params: 1 2 3 4 5 6
insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
values (?, ?, ?, ?, /*!50708 @stackmark_date := */ utc_timestamp(), null, ?, ?)
/*M! returning o_entry_d */

-- name: insert_new_order
-- params: 1 2 3
insert into new_order (no_w_id, no_d_id, no_o_id)
values (?, ?, ?)

-- name: read_item
-- params: 1
select i_price, i_name, i_data
from item
where i_id = ?

-- name: read_stock
-- params: 3 1 2
select s_quantity, s_data,
  case ? when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04
    when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08
    when 9 then s_dist_09 when 10 then s_dist_10 end
from stock
where s_w_id = ? and s_i_id = ?
for update

-- name: update_stock
-- params: 3 4 5 1 2
update stock
set s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?
where s_w_id = ? and s_i_id = ?

-- name: insert_order_line
-- params: 1 2 3 4 5 6 7 8 9
insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
  ol_amount, ol_dist_info)
values (?, ?, ?, ?, ?, ?, null, ?, ?, ?)

-- name: pay_warehouse
-- params: 2 1
update warehouse
set w_ytd = w_ytd + cast(? as decimal(12,2))
where w_id = ?

-- name: pay_district
-- params: 3 1 2
update district
set d_ytd = d_ytd + cast(? as decimal(12,2))
where d_w_id = ? and d_id = ?

-- name: customers_by_name
-- params: 1 2 3
select c_id
from customer
where c_w_id = ? and c_d_id = ? and c_last = ?
order by c_first, c_id

-- name: read_customer
-- params: 1 2 3
select c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
  c_credit_lim, c_discount, c_balance
from customer
where c_w_id = ? and c_d_id = ? and c_id = ?
for update

-- name: read_customer_data
-- params: 1 2 3
select c_data
from customer
where c_w_id = ? and c_d_id = ? and c_id = ?
for update

-- name: pay_customer
-- params: 4 4 1 2 3
update customer
set c_balance = c_balance - cast(? as decimal(12,2)), c_ytd_payment = c_ytd_payment + cast(? as decimal(12,2)),
  c_payment_cnt = c_payment_cnt + 1
where c_w_id = ? and c_d_id = ? and c_id = ?

-- name: pay_customer_with_data
-- params: 4 4 5 1 2 3
update customer
set c_balance = c_balance - cast(? as decimal(12,2)), c_ytd_payment = c_ytd_payment + cast(? as decimal(12,2)),
  c_payment_cnt = c_payment_cnt + 1, c_data = ?
where c_w_id = ? and c_d_id = ? and c_id = ?

-- name: insert_history
-- params: 1 2 3 4 5 6 7
insert into history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
values (?, ?, ?, ?, ?, /*!50708 @stackmark_date := */ utc_timestamp(), ?, ?)
/*M! returning h_date */

-- name: customer_status
-- params: 1 2 3
select c_first, c_middle, c_last, c_balance
from customer
where c_w_id = ? and c_d_id = ? and c_id = ?

-- name: newest_order
-- params: 1 2 3
select o_id, o_entry_d, o_carrier_id
from orders
where o_w_id = ? and o_d_id = ? and o_c_id = ?
order by o_id desc
limit 1

-- name: order_lines
-- params: 1 2 3
select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
from order_line
where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?
order by ol_number

-- name: oldest_new_order
-- params: 1 2
select no_o_id
from new_order
where no_w_id = ? and no_d_id = ?
order by no_o_id
limit 1

-- name: delete_new_order
-- params: 1 2 3
delete from new_order
where no_w_id = ? and no_d_id = ? and no_o_id = ?

-- name: carry_order
-- params: 4 1 2 3
update orders
set o_carrier_id = ?
where o_w_id = ? and o_d_id = ? and o_id = ?

-- name: deliver_lines
-- params: 1 2 3
update order_line
set ol_delivery_d = utc_timestamp()
where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?

-- name: sum_lines
-- params: 1 2 3
select sum(ol_amount)
from order_line
where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?
for update

-- name: credit_customer
-- params: 4 1 2 3
update customer
set c_balance = c_balance + cast(? as decimal(12,2)), c_delivery_cnt = c_delivery_cnt + 1
where c_w_id = ? and c_d_id = ? and c_id = ?

-- name: next_order_id
-- params: 1 2
select d_next_o_id
from district
where d_w_id = ? and d_id = ?

-- name: low_stock
-- params: 1 1 2 3 3 4
select count(distinct s_i_id)
from order_line
join stock on s_w_id = ? and s_i_id = ol_i_id
where ol_w_id = ? and ol_d_id = ? and ol_o_id >= ? - 20 and ol_o_id < ? and s_quantity < ?

-- name: read_claim
-- params: 1 2
select d_next_o_id - 1, d_tax
from district
where d_w_id = ? and d_id = ?

-- name: read_paid_warehouse
-- params: 1
select w_name, w_street_1, w_street_2, w_city, w_state, w_zip
from warehouse
where w_id = ?

-- name: read_paid_district
-- params: 1 2
select d_name, d_street_1, d_street_2, d_city, d_state, d_zip
from district
where d_w_id = ? and d_id = ?

-- name: read_carried
-- params: 1 2 3
select o_c_id
from orders
where o_w_id = ? and o_d_id = ? and o_id = ?

-- name: read_date
-- params:
select cast(@stackmark_date as datetime)
