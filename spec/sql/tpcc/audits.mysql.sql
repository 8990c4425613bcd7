-- What differs on MariaDB and MySQL: exact decimals instead of SQLite's numbers, names for derived tables, window functions where
-- a limit would have to be a query, and `straight_join` where the order of a join is not to be guessed.
-- Temporary tables are Aria's, where there is Aria: they hold any number of rows, and nothing of them needs to survive.

-- One row an order that has lines, with what the order says of itself, if there is one: the lines of an order lie side by
-- side, so that its row is looked up once for all of them.
-- name: prepare_line_sums
create temporary table line_sums (
  w_id integer not null,
  d_id integer not null,
  o_id integer not null,
  ordered boolean not null,
  o_c_id integer,
  o_carrier_id integer,
  o_ol_cnt integer,
  o_all_local integer,
  line_count integer not null,
  open_count integer not null,
  remote_count integer not null,
  number_min integer not null,
  number_max integer not null,
  item_min integer not null,
  item_max integer not null,
  quantity_min integer not null,
  quantity_max integer not null,
  delivered_amount decimal(16,4) not null,
  delivered_min datetime,
  delivered_max datetime
) /*M! engine = Aria transactional = 0 */

-- name: prepare_line_sums_rows
insert into line_sums
select ol_w_id, ol_d_id, ol_o_id, orders.o_id is not null, o_c_id, o_carrier_id, o_ol_cnt, o_all_local, count(*),
  count(*) - count(ol_delivery_d), sum(ol_supply_w_id <> ol_w_id), min(ol_number), max(ol_number), min(ol_i_id),
  max(ol_i_id), min(ol_quantity), max(ol_quantity), sum(case when ol_delivery_d is null then 0 else ol_amount end),
  min(ol_delivery_d), max(ol_delivery_d)
from order_line
left join orders on o_w_id = ol_w_id and o_d_id = ol_d_id and orders.o_id = ol_o_id
group by ol_w_id, ol_d_id, ol_o_id

-- name: prepare_delivered_sums
create temporary table delivered_sums (
  w_id integer not null,
  d_id integer not null,
  c_id integer not null,
  amount decimal(16,4) not null,
  run_count integer not null,
  primary key (w_id, d_id, c_id)
) /*M! engine = Aria transactional = 0 */

-- name: prepare_delivered_sums_rows
insert into delivered_sums
select w_id, d_id, o_c_id, sum(delivered_amount), sum(o_carrier_id is not null and o_id >= ?2)
from line_sums
where ordered
group by w_id, d_id, o_c_id

-- name: prepare_paid_sums
create temporary table paid_sums (
  w_id integer not null,
  d_id integer not null,
  c_id integer not null,
  amount decimal(16,4) not null,
  payment_count integer not null,
  primary key (w_id, d_id, c_id)
) /*M! engine = Aria transactional = 0 */

-- name: prepare_customer_sums
create temporary table customer_sums (
  w_id integer not null,
  d_id integer not null,
  c_id integer not null,
  balance decimal(16,4) not null,
  ytd_payment decimal(16,4) not null,
  payment_cnt integer not null,
  delivery_cnt integer not null,
  bad_credit integer not null,
  delivered_amount decimal(16,4) not null,
  delivered_count integer not null,
  paid_amount decimal(16,4) not null,
  paid_count integer not null
) /*M! engine = Aria transactional = 0 */

-- name: district_line_counts
select district.d_w_id, district.d_id, coalesce(said, 0) as lines_said, coalesce(held, 0) as lines_held
from district
left join (
  select o_w_id, o_d_id, sum(o_ol_cnt) as said
  from orders
  group by o_w_id, o_d_id
) as sums_said on o_w_id = d_w_id and o_d_id = district.d_id
left join (
  select w_id, d_id, sum(line_count) as held
  from line_sums
  group by w_id, d_id
) as sums on sums.w_id = d_w_id and sums.d_id = district.d_id
where coalesce(said, 0) <> coalesce(held, 0)

-- Orders without lines are only looked for where not as many orders have lines as there are; MySQL, which reads a temporary table once
-- in a statement, always looks for them.
-- name: order_line_counts
select w_id, d_id, o_id, o_ol_cnt, line_count
from line_sums
where ordered and o_ol_cnt <> line_count
union all
select o_w_id, o_d_id, orders.o_id, o_ol_cnt, 0
from orders
where o_ol_cnt <> 0
  /*M! and (select count(*) from orders) <> (select coalesce(sum(ordered), 0) from line_sums) */
  and not exists (
    select ol_number from order_line where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = orders.o_id
  )

-- name: delivery_dates
select w_id, d_id, o_id, o_carrier_id, line_count, open_count
from line_sums
where ordered and open_count <> case when o_carrier_id is null then line_count else 0 end

-- name: orphaned_lines
select w_id, d_id, o_id, line_count
from line_sums
where not ordered

-- name: all_local
select w_id, d_id, o_id, o_all_local, remote_count
from line_sums
where ordered and (o_all_local <> 0) <> (remote_count = 0)

-- name: delivered_orders
select d_w_id, district.d_id, coalesce(placed, 0) as orders_placed, coalesce(waiting, 0) as orders_new,
  coalesce(delivered, 0) as deliveries_counted
from district
left join (
  select o_w_id, o_d_id, count(*) as placed
  from orders
  group by o_w_id, o_d_id
) as placings on o_w_id = d_w_id and o_d_id = district.d_id
left join (
  select no_w_id, no_d_id, count(*) as waiting
  from new_order
  group by no_w_id, no_d_id
) as waits on no_w_id = d_w_id and no_d_id = district.d_id
left join (
  select w_id, d_id, sum(delivery_cnt) as delivered
  from customer_sums
  group by w_id, d_id
) as sums on sums.w_id = d_w_id and sums.d_id = district.d_id
where coalesce(placed, 0) - coalesce(waiting, 0) <> ?2 - 1 + coalesce(delivered, 0)

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
) /*M! engine = Aria transactional = 0 */

-- name: prepare_sold_sums_rows
insert into sold_sums
select ol_supply_w_id, ol_i_id, count(*), sum(ol_supply_w_id <> ol_w_id), sum(ol_quantity),
  sum(i_price is not null and abs(ol_amount - ol_quantity * i_price) >= 0.005), sum(i_price is null),
  sum(ol_o_id >= ?4)
from district
straight_join order_line on ol_w_id = d_w_id and ol_d_id = d_id and ol_o_id > ?1
left join item on i_id = ol_i_id
group by ol_supply_w_id, ol_i_id

-- `lines` is a reserved word here.
-- name: stock_counters
select s_w_id, s_i_id, s_ytd, coalesce(quantity, 0) as quantity_sold, s_order_cnt, coalesce(line_count, 0) as lines_sold,
  s_remote_cnt, coalesce(remote_count, 0) as lines_remote, s_quantity
from stock
left join sold_sums on w_id = s_w_id and i_id = s_i_id
where s_ytd <> coalesce(quantity, 0) or s_order_cnt <> coalesce(line_count, 0)
  or s_remote_cnt <> coalesce(remote_count, 0) or s_quantity not between 10 and 100

-- name: item_skew
select (select count(*) from item), coalesce(sum(sold), 0),
  coalesce(sum(case when place <= (select (count(*) + 9) div 10 from item) then sold end), 0)
from (
  select sum(judged_count) as sold, row_number() over (order by sum(judged_count) desc) as place
  from sold_sums
  group by i_id
) as items

-- name: prepare_received_sums
create temporary table received_sums (
  w_id integer not null,
  d_id integer not null,
  amount decimal(16,4) not null,
  payment_count integer not null,
  remote_count integer not null,
  amount_min decimal(16,4) not null,
  amount_max decimal(16,4) not null,
  primary key (w_id, d_id)
) /*M! engine = Aria transactional = 0 */

-- name: warehouse_ytd
select w_id, w_ytd, coalesce(districts, 0) as districts_ytd
from warehouse
left join (
  select d_w_id, sum(d_ytd) as districts
  from district
  group by d_w_id
) as sums on d_w_id = w_id
where abs(w_ytd - coalesce(districts, 0)) >= 0.005

-- name: next_order_numbers
select d_w_id, d_id, d_next_o_id, o_max, no_max
from district
left join (
  select o_w_id, o_d_id, max(o_id) as o_max
  from orders
  group by o_w_id, o_d_id
) as placings on o_w_id = d_w_id and o_d_id = d_id
left join (
  select no_w_id, no_d_id, max(no_o_id) as no_max
  from new_order
  group by no_w_id, no_d_id
) as waits on no_w_id = d_w_id and no_d_id = d_id
where d_next_o_id - 1 <> coalesce(o_max, 0) or d_next_o_id - 1 <> coalesce(no_max, d_next_o_id - 1)

-- name: order_numbers
select d_w_id, d_id, d_next_o_id, coalesce(lowest, 0) as lowest, coalesce(placed, 0) as orders_placed
from district
left join (
  select o_w_id, o_d_id, min(o_id) as lowest, count(*) as placed
  from orders
  group by o_w_id, o_d_id
) as placings on o_w_id = d_w_id and o_d_id = d_id
where coalesce(lowest, 1) <> 1 or d_next_o_id - 1 <> coalesce(placed, 0)

-- name: customer_skew
select ?3, coalesce(sum(placed), 0), coalesce(sum(case when place <= (?3 + 9) div 10 then placed end), 0)
from (
  select count(*) as placed, row_number() over (order by count(*) desc) as place
  from district
  straight_join orders on o_w_id = d_w_id and o_d_id = d_id and o_id >= ?4
  group by o_c_id
) as customers

-- name: line_texts
select ol_w_id, ol_d_id, count(*) as mislabelled, min(ol_o_id) as lowest
from district
straight_join order_line on ol_w_id = d_w_id and ol_d_id = d_id and ol_o_id >= ?4
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
where h_date > '2024-01-01' and h_data <> concat(w_name, '    ', d_name)
group by h_w_id, h_d_id

-- name: bad_credit_data
select w_id, d_id, c_id, payments, timestampdiff(second, noted, newest) as seconds_behind, length_held, length_noted, not_noted
from (
  select h_c_w_id as w_id, h_c_d_id as d_id, h_c_id as c_id, count(*) as payments, max(h_date) as newest,
    coalesce(max(case when left(c_data, char_length(fact)) = fact then h_date end), '1970-01-01') as noted,
    max(char_length(c_data)) as length_held, 300 + sum(char_length(fact)) as length_noted, sum(instr(c_data, fact) = 0) as not_noted
  from (
    select h_c_w_id, h_c_d_id, h_c_id, h_date,
      concat_ws(' ', h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, cast(h_amount as decimal(12,2)), '') as fact
    from history
    where h_date > '2024-01-01'
  ) as paid
  straight_join customer on c_w_id = h_c_w_id and c_d_id = h_c_d_id and customer.c_id = h_c_id and c_credit = 'BC'
  group by h_c_w_id, h_c_d_id, h_c_id
) as noted_of
where timestampdiff(second, noted, newest) > 5 or length_held > 500
  or length_held < 500 and length_held < length_noted or length_noted <= 800 and not_noted > 0

-- name: run_dates
select what, w_id, d_id, row_count, earliest, latest
from (
  select 'orders' as what, o_w_id as w_id, o_d_id as d_id, count(*) as row_count, timestampdiff(second, '1970-01-01', min(o_entry_d)) as earliest,
    timestampdiff(second, '1970-01-01', max(o_entry_d)) as latest
  from orders
  where o_id >= ?4 and (o_entry_d < timestampadd(second, ?6, '1970-01-01') or o_entry_d > timestampadd(second, ?7, '1970-01-01'))
  group by o_w_id, o_d_id
  union all
  select 'deliveries', w_id, d_id, count(*), timestampdiff(second, '1970-01-01', min(delivered_min)), timestampdiff(second, '1970-01-01', max(delivered_max))
  from line_sums
  where o_id >= ?8 and (delivered_min < timestampadd(second, ?6, '1970-01-01') or delivered_max > timestampadd(second, ?7, '1970-01-01'))
  group by w_id, d_id
  union all
  select what, h_w_id, h_d_id, count(*), timestampdiff(second, '1970-01-01', min(h_date)), timestampdiff(second, '1970-01-01', max(h_date))
  from (
    select case when h_date = '2024-01-01' then 'loaded payments' else 'payments' end as what, h_w_id, h_d_id, h_date
    from history
    where h_date = '2024-01-01' or h_date < timestampadd(second, ?9, '1970-01-01') or h_date > timestampadd(second, ?7, '1970-01-01')
  ) as dated_payments
  group by what, h_w_id, h_d_id
  having what = 'payments' or count(*) > ?3
) as dated
order by what, w_id, d_id

-- Names compare byte by byte, whatever their column's character set.
-- name: last_names
with syllables (digit, syllable) as (
  select 0, 'BAR' union all select 1, 'OUGHT' union all select 2, 'ABLE' union all select 3, 'PRI' union all select 4, 'PRES'
  union all select 5, 'ESE' union all select 6, 'ANTI' union all select 7, 'CALLY' union all select 8, 'ATION' union all select 9, 'EING'
),
drawn (name) as (
  select concat(hundreds.syllable, tens.syllable, ones.syllable)
  from syllables as hundreds
  cross join syllables as tens
  cross join syllables as ones
  where 100 * hundreds.digit + 10 * tens.digit + ones.digit < ?5
)
select d_w_id, d_id, coalesce(held, 0) as names_held, ?5 as names_drawn
from district
left join (
  select c_w_id, c_d_id, count(*) as held
  from (select distinct c_w_id, c_d_id, c_last from customer) as used
  where convert(c_last using utf8mb4) collate utf8mb4_bin in (select name from drawn)
  group by c_w_id, c_d_id
) as named on c_w_id = d_w_id and c_d_id = d_id
where coalesce(held, 0) <> ?5

-- Money in whole cents, as the ledger counts it.
-- name: district_tallies
select d_w_id, d_id, d_next_o_id, cast(d_ytd * 100 as signed), coalesce(said, 0), coalesce(waiting, 0),
  coalesce(payments, 0), cast(coalesce(amount, 0) * 100 as signed), coalesce(of_orders, 0), coalesce(of_lines, 0),
  coalesce(of_payments, 0), coalesce(of_deliveries, 0), coalesce(stocks, 0)
from district
left join (
  select o_w_id, o_d_id, sum(o_ol_cnt) as said,
    cast(sum(
      o_id * 48271 % 2147483647 * ((o_c_id * 16807 + o_ol_cnt * 69621 + o_all_local * 40692) % 2147483647) % 2147483647
    ) as signed) as of_orders,
    cast(sum(o_id * 48271 % 2147483647 * (o_carrier_id * 16807 % 2147483647) % 2147483647) as signed) as of_deliveries
  from orders
  group by o_w_id, o_d_id
) as placings on o_w_id = d_w_id and o_d_id = d_id
left join (
  select no_w_id, no_d_id, count(*) as waiting
  from new_order
  group by no_w_id, no_d_id
) as waits on no_w_id = d_w_id and no_d_id = d_id
left join (
  select h_w_id, h_d_id, count(*) as payments,
    cast(sum(
      h_c_id * 48271 % 2147483647
      * ((h_c_d_id * 16807 + h_c_w_id * 69621 + cast(h_amount * 100 as signed) * 40692) % 2147483647) % 2147483647
    ) as signed) as of_payments
  from history
  group by h_w_id, h_d_id
) as paid on h_w_id = d_w_id and h_d_id = d_id
left join (
  select ol_w_id, ol_d_id, sum(ol_amount) as amount,
    cast(sum(
      (16 * ol_o_id + ol_number) * 48271 % 2147483647
      * ((ol_i_id * 16807 + ol_supply_w_id * 69621 + ol_quantity * 40692) % 2147483647) % 2147483647
    ) as signed) as of_lines
  from order_line
  group by ol_w_id, ol_d_id
) as sold on ol_w_id = d_w_id and ol_d_id = d_id
left join (
  select s_w_id, cast(sum(s_i_id * ((s_quantity + s_ytd) % 91)) as signed) as stocks
  from stock
  group by s_w_id
) as stocked on s_w_id = d_w_id
order by d_w_id, d_id

-- name: totals
select warehouses, balances, payments, payment_count, deliveries, quantities, sold, orders, remote
from (select cast(sum(w_ytd) * 100 as signed) as warehouses from warehouse) as of_warehouses
cross join (
  select cast(sum(c_balance) * 100 as signed) as balances, cast(sum(c_ytd_payment) * 100 as signed) as payments,
    cast(sum(c_payment_cnt) as signed) as payment_count, cast(sum(c_delivery_cnt) as signed) as deliveries
  from customer
) as of_customers
cross join (
  select cast(sum(s_quantity) as signed) as quantities, cast(sum(s_ytd) as signed) as sold,
    cast(sum(s_order_cnt) as signed) as orders, cast(sum(s_remote_cnt) as signed) as remote
  from stock
) as of_stock
