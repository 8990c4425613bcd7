-- What differs on PostgreSQL. Rows that are read to be written are locked (`for no key update`), so that no update is
-- lost at READ COMMITTED. A parameter that nothing else gives a type gets it by a cast. Dates are timestamps of a session
-- in UTC.

-- name: insert_order
insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
values (?1, ?2, ?3, ?4, localtimestamp, null, ?5, ?6)
returning o_entry_d

-- name: read_stock
select s_quantity, s_data,
  case ?3::integer when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04
    when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08
    when 9 then s_dist_09 when 10 then s_dist_10 end
from stock
where s_w_id = ?1 and s_i_id = ?2
for no key update

-- name: read_customer
select c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
  c_credit_lim, c_discount, c_balance
from customer
where c_w_id = ?1 and c_d_id = ?2 and c_id = ?3
for no key update

-- name: insert_history
insert into history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
values (?1, ?2, ?3, ?4, ?5, localtimestamp, ?6, ?7)
returning h_date

-- name: deliver_lines
update order_line
set ol_delivery_d = localtimestamp
where ol_w_id = ?1 and ol_d_id = ?2 and ol_o_id = ?3
