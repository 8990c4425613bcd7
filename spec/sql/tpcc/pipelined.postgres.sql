-- TPC-C on PostgreSQL with few round trips: statements over many rows, several of them sent together. Clause numbers are
-- those of TPC-C 5.11. A change is committed only after the answers to all of its statements were seen.
--
-- Locks are taken in the order of `statements.sql`: warehouse, district, stock by (item, warehouse), customer. Where a
-- statement locks many rows, sessions turn hash and merge joins and scans of whole tables off, so that rows are visited in
-- the order in which they are given. Numbers are cast, so that parameters have the same types whatever the columns have.

-- name: begin
begin

-- name: commit
commit

-- name: roll_back
rollback

-- New-Order (2.4.2.2) ------------------------------------------------------------------------------------------------

-- Everything of an order but its lines. No row: warehouse, district or customer do not exist.
-- name: place_order
with claimed as (
  update district
  set d_next_o_id = d_next_o_id + 1
  where d_w_id = ?1::integer and d_id = ?2::smallint
  returning d_next_o_id - 1 as o_id, d_tax
), placed as (
  insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
  select ?1::integer, ?2::smallint, o_id, ?3::integer, localtimestamp, null, ?4::smallint, ?5::smallint
  from claimed
  returning o_entry_d
), queued as (
  insert into new_order (no_w_id, no_d_id, no_o_id)
  select ?1::integer, ?2::smallint, o_id
  from claimed
)
select o_id, o_entry_d, c_last, c_credit, c_discount, w_tax, d_tax
from claimed
cross join placed
cross join warehouse
cross join customer
where w_id = ?1::integer and c_w_id = ?1::integer and c_d_id = ?2::smallint and c_id = ?3::integer

-- Lines that meet each stock row once, in the order of stock rows: items read, stock taken, order lines stored under the
-- number that `place_order` has just claimed. Stock is refilled by 91 where less than 10 would be left. A line whose item
-- is unused gives no row, and the whole transaction rolls back (2.4.1.5).
-- name: take_lines
with taken as (
  update stock
  set
    s_quantity = case
      when s_quantity - quantity >= 10 then s_quantity - quantity
      else s_quantity - quantity + 91
    end,
    s_ytd = s_ytd + quantity,
    s_order_cnt = s_order_cnt + 1,
    s_remote_cnt = s_remote_cnt + case when supplier = ?1::integer then 0 else 1 end
  from unnest(?3::smallint[], ?4::integer[], ?5::integer[], ?6::smallint[]) as line (number, item_id, supplier, quantity)
  join item on i_id = item_id
  where s_w_id = supplier and s_i_id = item_id
  returning number, item_id, supplier, quantity, i_name, i_price, s_quantity,
    i_data like '%ORIGINAL%' and s_data like '%ORIGINAL%' as original,
    case ?2::smallint when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04
      when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08
      when 9 then s_dist_09 when 10 then s_dist_10 end as dist_info
), stored as (
  insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
    ol_amount, ol_dist_info)
  select ?1::integer, ?2::smallint,
    (select d_next_o_id - 1 from district where d_w_id = ?1::integer and d_id = ?2::smallint),
    number, item_id, supplier, null, quantity, i_price * quantity, dist_info
  from taken
)
select number, i_name, i_price, s_quantity::integer, original
from taken

-- How many different items exist. Asked only where `take_lines` found too few lines, on the way to the rollback: an unused
-- item is planned, a missing row of stock is not.
-- name: known_items
select count(*)::integer
from item
where i_id = any (?1::integer[])

-- Payment (2.5.2.2) --------------------------------------------------------------------------------------------------

-- Relative, so that no update is lost whatever the isolation. Amounts are given in cents.
-- name: pay_warehouse
update warehouse
set w_ytd = w_ytd + ?2::bigint * 0.01
where w_id = ?1::integer
returning w_name, w_street_1, w_street_2, w_city, w_state, w_zip

-- name: pay_district
update district
set d_ytd = d_ytd + ?3::bigint * 0.01
where d_w_id = ?1::integer and d_id = ?2::smallint
returning d_name, d_street_1, d_street_2, d_city, d_state, d_zip

-- The fact of a payment goes in front of c_data of customers with bad credit, and only the first 200 characters are shown.
-- The number of the customer stands before the rest of the fact.
-- name: pay_customer
update customer
set
  c_balance = c_balance - ?4::bigint * 0.01,
  c_ytd_payment = c_ytd_payment + ?4::bigint * 0.01,
  c_payment_cnt = c_payment_cnt + 1,
  c_data = case c_credit when 'BC' then left(c_id || ?5::text || c_data, 500) else c_data end
where c_w_id = ?1::integer and c_d_id = ?2::smallint and c_id = ?3::integer
returning c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
  c_credit_lim, c_discount, c_balance, case c_credit when 'BC' then left(c_data, 200) end

-- The same for the customer at position n/2, rounded up, of all who have the name, sorted by first name.
-- name: pay_customer_by_name
update customer
set
  c_balance = c_balance - ?4::bigint * 0.01,
  c_ytd_payment = c_ytd_payment + ?4::bigint * 0.01,
  c_payment_cnt = c_payment_cnt + 1,
  c_data = case c_credit when 'BC' then left(c_id || ?5::text || c_data, 500) else c_data end
where c_w_id = ?1::integer and c_d_id = ?2::smallint and c_id = (
  select (array_agg(namesake.c_id))[(count(*) + 1) / 2]
  from (
    select c_id
    from customer
    where c_w_id = ?1::integer and c_d_id = ?2::smallint and c_last = ?3::text
    order by c_first, c_id
  ) as namesake
)
returning c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
  c_credit_lim, c_discount, c_balance, case c_credit when 'BC' then left(c_data, 200) end

-- name: insert_history
insert into history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
values (?1::integer, ?2::smallint, ?3::integer, ?4::integer, ?5::smallint, localtimestamp, ?6::bigint * 0.01, ?7::text)
returning h_date

-- Order-Status (2.6.2.2): one statement, so one snapshot ----------------------------------------------------------------

-- A row a line of the customer's newest order.
-- name: order_status
select c_id, c_first, c_middle, c_last, c_balance, o_id, o_entry_d, o_carrier_id::integer,
  ol_i_id, ol_supply_w_id, ol_quantity::integer, ol_amount, ol_delivery_d
from customer
cross join lateral (
  select o_id, o_entry_d, o_carrier_id
  from orders
  where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
  order by o_id desc
  limit 1
) as newest
join order_line on ol_w_id = c_w_id and ol_d_id = c_d_id and ol_o_id = o_id
where c_w_id = ?1::integer and c_d_id = ?2::smallint and c_id = ?3::integer
order by ol_number

-- name: order_status_by_name
select c_id, c_first, c_middle, c_last, c_balance, o_id, o_entry_d, o_carrier_id::integer,
  ol_i_id, ol_supply_w_id, ol_quantity::integer, ol_amount, ol_delivery_d
from customer
cross join lateral (
  select o_id, o_entry_d, o_carrier_id
  from orders
  where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
  order by o_id desc
  limit 1
) as newest
join order_line on ol_w_id = c_w_id and ol_d_id = c_d_id and ol_o_id = o_id
where c_w_id = ?1::integer and c_d_id = ?2::smallint and c_id = (
  select (array_agg(namesake.c_id))[(count(*) + 1) / 2]
  from (
    select c_id
    from customer
    where c_w_id = ?1::integer and c_d_id = ?2::smallint and c_last = ?3::text
    order by c_first, c_id
  ) as namesake
)
order by ol_number

-- Delivery (2.7.4.2), all ten districts ------------------------------------------------------------------------------

-- A row for each district with something to deliver. The oldest order of a district is locked first, one district after
-- the other: who comes second waits, and goes on to the next order once the first has delivered this one.
-- name: deliver
with oldest as (
  select district_id, no_o_id as order_id
  from generate_series(1, 10) as district_id
  cross join lateral (
    select no_o_id
    from new_order
    where no_w_id = ?1::integer and no_d_id = district_id
    order by no_o_id
    limit 1
    for update
  ) as waiting
), gone as (
  delete from new_order
  using oldest
  where no_w_id = ?1::integer and no_d_id = district_id and no_o_id = order_id
  returning district_id, order_id
), carried as (
  update orders
  set o_carrier_id = ?2::smallint
  from gone
  where o_w_id = ?1::integer and o_d_id = district_id and o_id = order_id
  returning district_id, order_id, o_c_id as customer_id
), delivered as (
  update order_line
  set ol_delivery_d = localtimestamp
  from gone
  where ol_w_id = ?1::integer and ol_d_id = district_id and ol_o_id = order_id
  returning district_id, ol_amount
), summed as (
  select district_id, sum(ol_amount) as amount
  from delivered
  group by district_id
), credited as (
  update customer
  set c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
  from carried
  join summed using (district_id)
  where c_w_id = ?1::integer and c_d_id = carried.district_id and c_id = customer_id
  returning carried.district_id
)
select oldest.district_id, order_id, credited.district_id is not null
from oldest
left join credited using (district_id)

-- Stock-Level (2.8.2.2): one statement, so one snapshot -----------------------------------------------------------------

-- Distinct items of the last 20 orders whose stock in the terminal's warehouse is below the threshold.
-- name: stock_level
select count(*)::integer
from (
  select distinct ol_i_id
  from district
  join order_line on ol_w_id = d_w_id and ol_d_id = d_id and ol_o_id >= d_next_o_id - 20 and ol_o_id < d_next_o_id
  where d_w_id = ?1::integer and d_id = ?2::smallint
) as recent
join stock on s_w_id = ?1::integer and s_i_id = ol_i_id
where s_quantity < ?3::integer
