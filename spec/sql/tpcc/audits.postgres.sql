-- What differs on PostgreSQL: there is no sum over comparisons; derived tables are made in one step from a query, which
-- several processes share; statistics are made of them, so that joins are planned for their true size; the ledger reads
-- whole cents.

-- Each order beside its lines, also where either is missing: orders and lines are read and joined once. In two halves,
-- because two processes can make one each, and a group's sums are then made by one of them alone.
-- name: prepare_line_sums
create temporary table line_sums as
select coalesce(o_w_id, ol_w_id) as w_id, coalesce(o_d_id, ol_d_id) as d_id, coalesce(orders.o_id, ol_o_id) as o_id,
  orders.o_id is not null as ordered, o_c_id, o_carrier_id, o_ol_cnt, o_all_local, coalesce(line_count, 0) as line_count,
  open_count, remote_count, number_min, number_max, item_min, item_max, quantity_min, quantity_max,
  coalesce(delivered_amount, 0) as delivered_amount, delivered_min, delivered_max
from (
  select o_w_id, o_d_id, o_id, o_c_id, o_carrier_id, o_ol_cnt, o_all_local
  from orders
  where o_d_id <= 5
) as orders
full join (
  select ol_w_id, ol_d_id, ol_o_id, count(*) as line_count, count(*) - count(ol_delivery_d) as open_count,
    count(*) filter (where ol_supply_w_id <> ol_w_id) as remote_count, min(ol_number) as number_min,
    max(ol_number) as number_max, min(ol_i_id) as item_min, max(ol_i_id) as item_max, min(ol_quantity) as quantity_min,
    max(ol_quantity) as quantity_max, sum(ol_amount) filter (where ol_delivery_d is not null) as delivered_amount,
    min(ol_delivery_d) as delivered_min, max(ol_delivery_d) as delivered_max
  from order_line
  where ol_d_id <= 5
  group by ol_w_id, ol_d_id, ol_o_id
) as lines on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = orders.o_id
union all
select coalesce(o_w_id, ol_w_id) as w_id, coalesce(o_d_id, ol_d_id) as d_id, coalesce(orders.o_id, ol_o_id) as o_id,
  orders.o_id is not null as ordered, o_c_id, o_carrier_id, o_ol_cnt, o_all_local, coalesce(line_count, 0) as line_count,
  open_count, remote_count, number_min, number_max, item_min, item_max, quantity_min, quantity_max,
  coalesce(delivered_amount, 0) as delivered_amount, delivered_min, delivered_max
from (
  select o_w_id, o_d_id, o_id, o_c_id, o_carrier_id, o_ol_cnt, o_all_local
  from orders
  where o_d_id > 5
) as orders
full join (
  select ol_w_id, ol_d_id, ol_o_id, count(*) as line_count, count(*) - count(ol_delivery_d) as open_count,
    count(*) filter (where ol_supply_w_id <> ol_w_id) as remote_count, min(ol_number) as number_min,
    max(ol_number) as number_max, min(ol_i_id) as item_min, max(ol_i_id) as item_max, min(ol_quantity) as quantity_min,
    max(ol_quantity) as quantity_max, sum(ol_amount) filter (where ol_delivery_d is not null) as delivered_amount,
    min(ol_delivery_d) as delivered_min, max(ol_delivery_d) as delivered_max
  from order_line
  where ol_d_id > 5
  group by ol_w_id, ol_d_id, ol_o_id
) as lines on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = orders.o_id

-- name: prepare_line_sums_rows
analyze line_sums

-- name: prepare_delivered_sums
create temporary table delivered_sums (
  w_id integer not null,
  d_id integer not null,
  c_id integer not null,
  amount numeric not null,
  run_count integer not null
)

-- name: prepare_delivered_sums_rows
insert into delivered_sums
select w_id, d_id, o_c_id, sum(delivered_amount), count(*) filter (where o_carrier_id is not null and o_id >= ?2)
from line_sums
where ordered and line_count > 0
group by w_id, d_id, o_c_id

-- One row a customer, without its orders.
-- name: prepare_paid_sums
create temporary table paid_sums as
select c_w_id as w_id, c_d_id as d_id, customer.c_id, c_balance as balance, c_ytd_payment as ytd_payment,
  c_payment_cnt as payment_cnt, c_delivery_cnt as delivery_cnt, (c_credit = 'BC')::integer as bad_credit,
  coalesce(amount, 0) as paid_amount, coalesce(payment_count, 0) as paid_count
from customer
left join (
  select h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) as amount, count(*) as payment_count
  from history
  where h_c_d_id <= 5
  group by h_c_w_id, h_c_d_id, h_c_id
) as paid on h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = customer.c_id
where c_d_id <= 5
union all
select c_w_id as w_id, c_d_id as d_id, customer.c_id, c_balance as balance, c_ytd_payment as ytd_payment,
  c_payment_cnt as payment_cnt, c_delivery_cnt as delivery_cnt, (c_credit = 'BC')::integer as bad_credit,
  coalesce(amount, 0) as paid_amount, coalesce(payment_count, 0) as paid_count
from customer
left join (
  select h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) as amount, count(*) as payment_count
  from history
  where h_c_d_id > 5
  group by h_c_w_id, h_c_d_id, h_c_id
) as paid on h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = customer.c_id
where c_d_id > 5

-- name: prepare_paid_sums_rows
analyze paid_sums, delivered_sums

-- name: prepare_customer_sums_rows
insert into customer_sums
select paid_sums.w_id, paid_sums.d_id, paid_sums.c_id, balance, ytd_payment, payment_cnt, delivery_cnt, bad_credit,
  coalesce(amount, 0), coalesce(run_count, 0), paid_amount, paid_count
from paid_sums
left join delivered_sums
  on delivered_sums.w_id = paid_sums.w_id and delivered_sums.d_id = paid_sums.d_id
    and delivered_sums.c_id = paid_sums.c_id

-- name: order_line_counts
select w_id, d_id, o_id, o_ol_cnt, line_count
from line_sums
where ordered and o_ol_cnt <> line_count

-- name: delivery_dates
select w_id, d_id, o_id, o_carrier_id, line_count, open_count
from line_sums
where ordered and line_count > 0 and open_count <> case when o_carrier_id is null then line_count else 0 end

-- name: line_ranges
select w_id, d_id, o_id, line_count, number_min, number_max, quantity_min, quantity_max
from line_sums
where line_count > 0 and (number_min <> 1 or number_max <> line_count or line_count not between 5 and 15
  or quantity_min < 1 or quantity_max > 10)

-- name: orphaned_lines
select w_id, d_id, o_id, line_count
from line_sums
where not ordered

-- name: all_local
select w_id, d_id, o_id, o_all_local, remote_count
from line_sums
where ordered and line_count > 0 and (o_all_local <> 0) <> (remote_count = 0)

-- name: prepare_sold_sums
create temporary table sold_sums (
  w_id integer not null,
  i_id integer not null,
  line_count integer not null,
  remote_count integer not null,
  quantity integer not null,
  wrong_amounts integer not null,
  unknown_items integer not null,
  judged_count integer not null,
  primary key (w_id, i_id)
)

-- name: prepare_sold_sums_rows
insert into sold_sums
select ol_supply_w_id, ol_i_id, count(*), count(*) filter (where ol_supply_w_id <> ol_w_id), sum(ol_quantity),
  count(*) filter (where abs(ol_amount - ol_quantity * i_price) >= 0.005), count(*) filter (where i_price is null),
  count(*) filter (where ol_o_id >= ?4)
from order_line
left join item on i_id = ol_i_id
where ol_o_id > ?1
group by ol_supply_w_id, ol_i_id

-- name: prepare_received_sums
create temporary table received_sums (
  w_id integer not null,
  d_id integer not null,
  amount numeric not null,
  payment_count integer not null,
  remote_count integer not null,
  amount_min numeric not null,
  amount_max numeric not null,
  primary key (w_id, d_id)
)

-- name: prepare_received_sums_rows
insert into received_sums
select h_w_id, h_d_id, sum(h_amount), count(*), count(*) filter (where h_c_w_id <> h_w_id), min(h_amount),
  max(h_amount)
from history
group by h_w_id, h_d_id

-- name: customer_skew
select ?3, coalesce((select count(*) from orders where o_id >= ?4), 0), coalesce(sum(placed), 0)
from (
  select count(*) as placed
  from orders
  where o_id >= ?4
  group by o_c_id
  order by placed desc
  limit (?3 + 9) / 10
) as most

-- name: cardinality
select w_id, districts, customers, stocks
from (
  select w_id, coalesce(districts, 0) as districts, coalesce(customers, 0) as customers, coalesce(stocks, 0) as stocks
  from warehouse
  left join (select d_w_id, count(*) as districts from district group by d_w_id) as d on d_w_id = w_id
  left join (select c_w_id, count(*) as customers from customer group by c_w_id) as c on c_w_id = w_id
  left join (select s_w_id, count(*) as stocks from stock group by s_w_id) as s on s_w_id = w_id
) as counted
where districts <> 10 or customers <> 10 * ?3 or stocks <> (select count(*) from item)

-- PostgreSQL before 16 wants a name for each derived table.

-- name: district_line_counts
select d_w_id, district.d_id, coalesce(said, 0) as lines_said, coalesce(held, 0) as lines_held
from district
left join (
  select w_id, d_id, sum(o_ol_cnt) as said, sum(line_count) as held
  from line_sums
  group by w_id, d_id
) as sums on sums.w_id = d_w_id and sums.d_id = district.d_id
where coalesce(said, 0) <> coalesce(held, 0)

-- name: delivered_orders
select d_w_id, district.d_id, coalesce(placed, 0) as orders_placed, coalesce(waiting, 0) as orders_new,
  coalesce(delivered, 0) as deliveries_counted
from district
left join (
  select o_w_id, o_d_id, count(*) as placed
  from orders
  group by o_w_id, o_d_id
) as orders_of on o_w_id = d_w_id and o_d_id = district.d_id
left join (
  select no_w_id, no_d_id, count(*) as waiting
  from new_order
  group by no_w_id, no_d_id
) as new_order_of on no_w_id = d_w_id and no_d_id = district.d_id
left join (
  select w_id, d_id, sum(delivery_cnt) as delivered
  from customer_sums
  group by w_id, d_id
) as sums on sums.w_id = d_w_id and sums.d_id = district.d_id
where coalesce(placed, 0) - coalesce(waiting, 0) <> ?2 - 1 + coalesce(delivered, 0)

-- name: warehouse_ytd
select w_id, w_ytd, coalesce(districts, 0) as districts_ytd
from warehouse
left join (
  select d_w_id, sum(d_ytd) as districts
  from district
  group by d_w_id
) as district_of on d_w_id = w_id
where abs(w_ytd - coalesce(districts, 0)) >= 0.005

-- name: next_order_numbers
select d_w_id, d_id, d_next_o_id, o_max, no_max
from district
left join (
  select o_w_id, o_d_id, max(o_id) as o_max
  from orders
  group by o_w_id, o_d_id
) as orders_of on o_w_id = d_w_id and o_d_id = d_id
left join (
  select no_w_id, no_d_id, max(no_o_id) as no_max
  from new_order
  group by no_w_id, no_d_id
) as new_order_of on no_w_id = d_w_id and no_d_id = d_id
where d_next_o_id - 1 <> coalesce(o_max, 0) or d_next_o_id - 1 <> coalesce(no_max, d_next_o_id - 1)

-- name: order_numbers
select d_w_id, d_id, d_next_o_id, coalesce(lowest, 0) as lowest, coalesce(placed, 0) as orders_placed
from district
left join (
  select o_w_id, o_d_id, min(o_id) as lowest, count(*) as placed
  from orders
  group by o_w_id, o_d_id
) as orders_of on o_w_id = d_w_id and o_d_id = d_id
where coalesce(lowest, 1) <> 1 or d_next_o_id - 1 <> coalesce(placed, 0)

-- name: line_texts
select ol_w_id, ol_d_id, count(*) as mislabelled, min(ol_o_id) as lowest
from district
join order_line on ol_w_id = d_w_id and ol_d_id = d_id and ol_o_id >= ?4
join stock on s_w_id = ol_supply_w_id and s_i_id = ol_i_id
where ol_dist_info <>
    case ol_d_id
      when 1 then s_dist_01
      when 2 then s_dist_02
      when 3 then s_dist_03
      when 4 then s_dist_04
      when 5 then s_dist_05
      when 6 then s_dist_06
      when 7 then s_dist_07
      when 8 then s_dist_08
      when 9 then s_dist_09
      when 10 then s_dist_10
    end or length(ol_dist_info) <> 24
group by ol_w_id, ol_d_id

-- name: payment_texts
select h_w_id, h_d_id, count(*) as mislabelled
from history
join warehouse on w_id = h_w_id
join district on d_w_id = h_w_id and d_id = h_d_id
where h_date > timestamp '2024-01-01' and h_data <> w_name || '    ' || d_name
group by h_w_id, h_d_id

-- name: run_dates
select what, w_id, d_id, row_count, earliest, latest
from (
  select 'orders' as what, o_w_id as w_id, o_d_id as d_id, count(*) as row_count, cast(extract(epoch from min(o_entry_d)) as bigint) as earliest,
    cast(extract(epoch from max(o_entry_d)) as bigint) as latest
  from orders
  where o_id >= ?4 and (o_entry_d < timestamp '1970-01-01' + ?6 * interval '1 second' or o_entry_d > timestamp '1970-01-01' + ?7 * interval '1 second')
  group by o_w_id, o_d_id
  union all
  select 'deliveries', w_id, d_id, count(*), cast(extract(epoch from min(delivered_min)) as bigint), cast(extract(epoch from max(delivered_max)) as bigint)
  from line_sums
  where o_id >= ?8 and (delivered_min < timestamp '1970-01-01' + ?6 * interval '1 second' or delivered_max > timestamp '1970-01-01' + ?7 * interval '1 second')
  group by w_id, d_id
  union all
  select what, h_w_id, h_d_id, count(*), cast(extract(epoch from min(h_date)) as bigint), cast(extract(epoch from max(h_date)) as bigint)
  from (
    select case when h_date = timestamp '2024-01-01' then 'loaded payments' else 'payments' end as what, h_w_id, h_d_id, h_date
    from history
    where h_date = timestamp '2024-01-01' or h_date < timestamp '1970-01-01' + ?9 * interval '1 second' or h_date > timestamp '1970-01-01' + ?7 * interval '1 second'
  ) as dated_payments
  group by what, h_w_id, h_d_id
  having what = 'payments' or count(*) > ?3
) as dated
order by what, w_id, d_id

-- name: bad_credit_data
select w_id, d_id, c_id, payments, extract(epoch from newest - noted)::bigint as seconds_behind, length_held, length_noted, not_noted
from (
  select h_c_w_id as w_id, h_c_d_id as d_id, h_c_id as c_id, count(*) as payments, max(h_date) as newest,
    coalesce(max(h_date) filter (where starts_with(c_data, fact)), timestamp '1970-01-01') as noted,
    max(length(c_data)) as length_held, 300 + sum(length(fact)) as length_noted,
    count(*) filter (where strpos(c_data, fact) = 0) as not_noted
  from (
    select h_c_w_id, h_c_d_id, h_c_id, h_date,
      concat_ws(' ', h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_amount::decimal(12,2), '') as fact
    from history
    where h_date > timestamp '2024-01-01'
  ) as paid
  join customer on c_w_id = h_c_w_id and c_d_id = h_c_d_id and customer.c_id = h_c_id and c_credit = 'BC'
  group by h_c_w_id, h_c_d_id, h_c_id
) as noted_of
where newest - noted > interval '5 seconds' or length_held > 500 or length_held < 500 and length_held < length_noted
  or length_noted <= 800 and not_noted > 0

-- Whole cents: DECIMAL here, and in other tools' databases whatever they keep.
-- name: district_tallies
select d_w_id, d_id, d_next_o_id, (d_ytd * 100)::bigint, coalesce(said, 0), coalesce(waiting, 0), coalesce(payments, 0),
  (coalesce(amount, 0) * 100)::bigint, coalesce(of_orders, 0), coalesce(of_lines, 0), coalesce(of_payments, 0),
  coalesce(of_deliveries, 0), coalesce(stocks, 0)
from district
left join (
  select o_w_id, o_d_id, sum(o_ol_cnt) as said,
    sum(
      o_id::bigint * 48271 % 2147483647
      * ((o_c_id::bigint * 16807 + o_ol_cnt::bigint * 69621 + o_all_local::bigint * 40692) % 2147483647) % 2147483647
    )::bigint as of_orders,
    sum(o_id::bigint * 48271 % 2147483647 * (o_carrier_id::bigint * 16807 % 2147483647) % 2147483647)::bigint
      as of_deliveries
  from orders
  group by o_w_id, o_d_id
) as orders_of on o_w_id = d_w_id and o_d_id = d_id
left join (
  select no_w_id, no_d_id, count(*) as waiting
  from new_order
  group by no_w_id, no_d_id
) as new_order_of on no_w_id = d_w_id and no_d_id = d_id
left join (
  select h_w_id, h_d_id, count(*) as payments,
    sum(
      h_c_id::bigint * 48271 % 2147483647
      * ((h_c_d_id::bigint * 16807 + h_c_w_id::bigint * 69621 + (h_amount * 100)::bigint * 40692) % 2147483647) % 2147483647
    )::bigint as of_payments
  from history
  group by h_w_id, h_d_id
) as history_of on h_w_id = d_w_id and h_d_id = d_id
left join (
  select ol_w_id, ol_d_id, sum(ol_amount) as amount,
    sum(
      (16 * ol_o_id::bigint + ol_number::bigint) * 48271 % 2147483647
      * ((ol_i_id::bigint * 16807 + ol_supply_w_id::bigint * 69621 + ol_quantity::bigint * 40692) % 2147483647) % 2147483647
    )::bigint as of_lines
  from order_line
  group by ol_w_id, ol_d_id
) as order_line_of on ol_w_id = d_w_id and ol_d_id = d_id
left join (
  select s_w_id, sum(s_i_id::bigint * ((s_quantity + s_ytd)::bigint % 91))::bigint as stocks
  from stock
  group by s_w_id
) as stock_of on s_w_id = d_w_id
order by d_w_id, d_id
