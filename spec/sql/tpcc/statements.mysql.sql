-- What differs on MySQL's dialect. There is no `update … returning`: what an update changed is read back by the statement that
-- follows it here. MariaDB has `insert … returning`; MySQL takes that for a comment, keeps the date in a variable of the session
-- instead (which MariaDB takes for a comment), and reads it back. Rows that are read to be written are locked, because at REPEATABLE READ a
-- plain read sees the snapshot and an update the newest row. Dates are datetimes of a session in UTC. Amounts that are
-- added are cast: a driver sends a decimal as text, and the sum of a decimal and a text is a float.

-- name: claim_order_id
update district
set d_next_o_id = d_next_o_id + 1
where d_w_id = ?1 and d_id = ?2

-- name: read_claim
select d_next_o_id - 1, d_tax
from district
where d_w_id = ?1 and d_id = ?2

-- name: insert_order
insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
values (?1, ?2, ?3, ?4, /*!50708 @stackmark_date := */ utc_timestamp(), null, ?5, ?6)
/*M! returning o_entry_d */

-- Only MySQL needs it.
-- name: read_date
select cast(@stackmark_date as datetime)

-- name: read_stock
select s_quantity, s_data,
  case ?3 when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04
    when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08
    when 9 then s_dist_09 when 10 then s_dist_10 end
from stock
where s_w_id = ?1 and s_i_id = ?2
for update

-- name: pay_warehouse
update warehouse
set w_ytd = w_ytd + cast(?2 as decimal(12,2))
where w_id = ?1

-- name: read_paid_warehouse
select w_name, w_street_1, w_street_2, w_city, w_state, w_zip
from warehouse
where w_id = ?1

-- name: pay_district
update district
set d_ytd = d_ytd + cast(?3 as decimal(12,2))
where d_w_id = ?1 and d_id = ?2

-- name: read_paid_district
select d_name, d_street_1, d_street_2, d_city, d_state, d_zip
from district
where d_w_id = ?1 and d_id = ?2

-- name: read_customer
select c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
  c_credit_lim, c_discount, c_balance
from customer
where c_w_id = ?1 and c_d_id = ?2 and c_id = ?3
for update

-- The row is locked: the newest state of it is read, and not that of the snapshot.
-- name: read_customer_data
select c_data
from customer
where c_w_id = ?1 and c_d_id = ?2 and c_id = ?3
for update

-- name: pay_customer
update customer
set c_balance = c_balance - cast(?4 as decimal(12,2)), c_ytd_payment = c_ytd_payment + cast(?4 as decimal(12,2)),
  c_payment_cnt = c_payment_cnt + 1
where c_w_id = ?1 and c_d_id = ?2 and c_id = ?3

-- name: pay_customer_with_data
update customer
set c_balance = c_balance - cast(?4 as decimal(12,2)), c_ytd_payment = c_ytd_payment + cast(?4 as decimal(12,2)),
  c_payment_cnt = c_payment_cnt + 1, c_data = ?5
where c_w_id = ?1 and c_d_id = ?2 and c_id = ?3

-- name: insert_history
insert into history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
values (?1, ?2, ?3, ?4, ?5, /*!50708 @stackmark_date := */ utc_timestamp(), ?6, ?7)
/*M! returning h_date */

-- name: carry_order
update orders
set o_carrier_id = ?4
where o_w_id = ?1 and o_d_id = ?2 and o_id = ?3

-- name: read_carried
select o_c_id
from orders
where o_w_id = ?1 and o_d_id = ?2 and o_id = ?3

-- name: deliver_lines
update order_line
set ol_delivery_d = utc_timestamp()
where ol_w_id = ?1 and ol_d_id = ?2 and ol_o_id = ?3

-- The lines were updated by this transaction, so the snapshot holds them.
-- name: sum_lines
select sum(ol_amount)
from order_line
where ol_w_id = ?1 and ol_d_id = ?2 and ol_o_id = ?3
for update

-- name: credit_customer
update customer
set c_balance = c_balance + cast(?4 as decimal(12,2)), c_delivery_cnt = c_delivery_cnt + 1
where c_w_id = ?1 and c_d_id = ?2 and c_id = ?3
