-- What must hold in a TPC-C database, whoever loaded it and whatever ran on it. Clause numbers are those of TPC-C 5.11.
-- An audit is a query. Those of the first part return the rows that violate a condition, so they must return nothing;
-- those of the second return figures, and code judges them.
--
-- Parameters, the same in all: ?1 orders that a district was loaded with (3000); ?2 the first of them that was loaded
-- undelivered (2101); ?3 customers of a district (3000); ?4 the first order by whose items and customers skew is judged
-- (3001, or where the run began); ?5 last names that calls draw (1000); ?6 and ?7 the first and the last date of the run, in
-- seconds since 1970, with a day before and after; ?8 the first order that only the run can have delivered; ?9 the first date
-- of payments that were not loaded.
-- Money is compared with a slack of half the least unit, so that databases that keep it in floats are judged by their
-- sums and not by their last bits. Loaded order numbers end at ?1: what is above was placed by a run.
--
-- Audits that need the same sums share a connection and temporary tables (`prepare_*`): each large table is read once.

-- Orders ---------------------------------------------------------------------------------------------------------------

-- One row an order that has lines, from the only pass over all lines.
-- name: prepare_line_sums
create temporary table line_sums (
  w_id integer not null,
  d_id integer not null,
  o_id integer not null,
  line_count integer not null,
  open_count integer not null,
  remote_count integer not null,
  number_min integer not null,
  number_max integer not null,
  item_min integer not null,
  item_max integer not null,
  quantity_min integer not null,
  quantity_max integer not null,
  delivered_amount numeric not null,
  delivered_min integer,
  delivered_max integer,
  primary key (w_id, d_id, o_id)
) without rowid

-- name: prepare_line_sums_rows
insert into line_sums
select ol_w_id, ol_d_id, ol_o_id, count(*), count(*) - count(ol_delivery_d), sum(ol_supply_w_id <> ol_w_id),
  min(ol_number), max(ol_number), min(ol_i_id), max(ol_i_id), min(ol_quantity), max(ol_quantity),
  sum(case when ol_delivery_d is null then 0 else ol_amount end), min(ol_delivery_d), max(ol_delivery_d)
from order_line
group by ol_w_id, ol_d_id, ol_o_id

-- name: prepare_delivered_sums
create temporary table delivered_sums (
  w_id integer not null,
  d_id integer not null,
  c_id integer not null,
  amount numeric not null,
  run_count integer not null,
  primary key (w_id, d_id, c_id)
) without rowid

-- Orders that were loaded as delivered have not been counted in c_delivery_cnt.
-- name: prepare_delivered_sums_rows
insert into delivered_sums
select o_w_id, o_d_id, o_c_id, sum(delivered_amount), sum(o_carrier_id is not null and orders.o_id >= ?2)
from orders
join line_sums on w_id = o_w_id and d_id = o_d_id and line_sums.o_id = orders.o_id
group by o_w_id, o_d_id, o_c_id

-- name: prepare_paid_sums
create temporary table paid_sums (
  w_id integer not null,
  d_id integer not null,
  c_id integer not null,
  amount numeric not null,
  payment_count integer not null,
  primary key (w_id, d_id, c_id)
) without rowid

-- name: prepare_paid_sums_rows
insert into paid_sums
select h_c_w_id, h_c_d_id, h_c_id, sum(h_amount), count(*)
from history
group by h_c_w_id, h_c_d_id, h_c_id

-- One row a customer: what it says of itself, beside what its orders and payments say.
-- name: prepare_customer_sums
create temporary table customer_sums (
  w_id integer not null,
  d_id integer not null,
  c_id integer not null,
  balance numeric not null,
  ytd_payment numeric not null,
  payment_cnt integer not null,
  delivery_cnt integer not null,
  bad_credit integer not null,
  delivered_amount numeric not null,
  delivered_count integer not null,
  paid_amount numeric not null,
  paid_count integer not null
)

-- name: prepare_customer_sums_rows
insert into customer_sums
select c_w_id, c_d_id, customer.c_id, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_credit = 'BC',
  coalesce(delivered_sums.amount, 0), coalesce(run_count, 0), coalesce(paid_sums.amount, 0),
  coalesce(payment_count, 0)
from customer
left join delivered_sums
  on delivered_sums.w_id = c_w_id and delivered_sums.d_id = c_d_id and delivered_sums.c_id = customer.c_id
left join paid_sums
  on paid_sums.w_id = c_w_id and paid_sums.d_id = c_d_id and paid_sums.c_id = customer.c_id

-- 3.3.2.4: an order says how many lines it has, and a district holds as many.
-- name: district_line_counts
select district.d_w_id, district.d_id, coalesce(said, 0) as lines_said, coalesce(held, 0) as lines_held
from district
left join (
  select o_w_id, o_d_id, sum(o_ol_cnt) as said
  from orders
  group by o_w_id, o_d_id
) on o_w_id = d_w_id and o_d_id = district.d_id
left join (
  select w_id, d_id, sum(line_count) as held
  from line_sums
  group by w_id, d_id
) as sums on sums.w_id = d_w_id and sums.d_id = district.d_id
where coalesce(said, 0) <> coalesce(held, 0)

-- 3.3.2.6: the same for each order.
-- name: order_line_counts
select o_w_id, o_d_id, orders.o_id, o_ol_cnt, coalesce(line_count, 0) as lines_held
from orders
left join line_sums on w_id = o_w_id and d_id = o_d_id and line_sums.o_id = orders.o_id
where o_ol_cnt <> coalesce(line_count, 0)

-- 3.3.2.7: all lines of an order have a delivery date where the order has a carrier, and none where it has not.
-- name: delivery_dates
select o_w_id, o_d_id, orders.o_id, o_carrier_id, line_count, open_count
from orders
join line_sums on w_id = o_w_id and d_id = o_d_id and line_sums.o_id = orders.o_id
where open_count <> case when o_carrier_id is null then line_count else 0 end

-- 3.3.2.10: a customer's balance is what was delivered less what was paid.
-- name: customer_balances
select w_id, d_id, c_id, balance, delivered_amount, paid_amount
from customer_sums
where abs(balance - delivered_amount + paid_amount) >= 0.005

-- 3.3.2.11, in the form that also holds after a run: the orders of a district that are not new are those that were
-- loaded as delivered and those that its customers count as delivered.
-- name: delivered_orders
select d_w_id, district.d_id, coalesce(placed, 0) as orders_placed, coalesce(waiting, 0) as orders_new,
  coalesce(delivered, 0) as deliveries_counted
from district
left join (
  select o_w_id, o_d_id, count(*) as placed
  from orders
  group by o_w_id, o_d_id
) on o_w_id = d_w_id and o_d_id = district.d_id
left join (
  select no_w_id, no_d_id, count(*) as waiting
  from new_order
  group by no_w_id, no_d_id
) on no_w_id = d_w_id and no_d_id = district.d_id
left join (
  select w_id, d_id, sum(delivery_cnt) as delivered
  from customer_sums
  group by w_id, d_id
) as sums on sums.w_id = d_w_id and sums.d_id = district.d_id
where coalesce(placed, 0) - coalesce(waiting, 0) <> ?2 - 1 + coalesce(delivered, 0)

-- 3.3.2.12: balance and payments together are what was delivered.
-- name: customer_balances_and_payments
select w_id, d_id, c_id, balance, ytd_payment, delivered_amount
from customer_sums
where abs(balance + ytd_payment - delivered_amount) >= 0.005

-- Shape: each customer counts as many payments, of as much, as history holds.
-- name: payment_counters
select w_id, d_id, c_id, payment_cnt, paid_count, ytd_payment, paid_amount
from customer_sums
where payment_cnt <> paid_count or abs(ytd_payment - paid_amount) >= 0.005

-- Shape: each customer counts as many deliveries as its orders show.
-- name: delivery_counters
select w_id, d_id, c_id, delivery_cnt, delivered_count
from customer_sums
where delivery_cnt <> delivered_count

-- Shape: lines are numbered from one without a gap; orders have 5 to 15 (2.4.1.3) of 1 to 10 pieces (2.4.1.5).
-- name: line_ranges
select w_id, d_id, o_id, line_count, number_min, number_max, quantity_min, quantity_max
from line_sums
where number_min <> 1 or number_max <> line_count or line_count not between 5 and 15
  or quantity_min < 1 or quantity_max > 10

-- Shape: lines without an order are what a rolled-back or lost order leaves behind.
-- name: orphaned_lines
select w_id, d_id, line_sums.o_id, line_count
from line_sums
left join orders on o_w_id = w_id and o_d_id = d_id and orders.o_id = line_sums.o_id
where orders.o_id is null

-- Shape: a line of an item that is not sold must have rolled its order back (2.4.1.4).
-- name: unknown_items
select w_id, d_id, o_id, item_min, item_max
from line_sums
where item_min < (select min(i_id) from item) or item_max > (select max(i_id) from item)

-- Shape: an order says whether all its lines come from its own warehouse (2.4.2.2).
-- name: all_local
select o_w_id, o_d_id, orders.o_id, o_all_local, remote_count
from orders
join line_sums on w_id = o_w_id and d_id = o_d_id and line_sums.o_id = orders.o_id
where (o_all_local <> 0) <> (remote_count = 0)

-- Shape: what is noted of bad credit begins with one of the customer's newest payments (2.5.2.2), has grown with each up to 500 characters, and
-- has all of them while they fit in. The moment of a payment may be that of its transaction's beginning, which others overtake while
-- it waits. Loaded payments are of 2024-01-01.
-- name: bad_credit_data
select w_id, d_id, c_id, payments, newest - noted as seconds_behind, length_held, length_noted, not_noted
from (
  select h_c_w_id as w_id, h_c_d_id as d_id, h_c_id as c_id, count(*) as payments, max(h_date) as newest,
    coalesce(max(case when substr(c_data, 1, length(fact)) = fact then h_date end), 0) as noted,
    max(length(c_data)) as length_held, 300 + sum(length(fact)) as length_noted, sum(instr(c_data, fact) = 0) as not_noted
  from (
    select h_c_w_id, h_c_d_id, h_c_id, h_date, h_c_id || ' ' || h_c_d_id || ' ' || h_c_w_id || ' ' || h_d_id || ' ' ||
      h_w_id || printf(' %d.%02d ', h_amount / 100, h_amount % 100) as fact
    from history
    where h_date > 1704067200
  ) as paid
  cross join customer on c_w_id = h_c_w_id and c_d_id = h_c_d_id and customer.c_id = h_c_id and c_credit = 'BC'
  group by h_c_w_id, h_c_d_id, h_c_id
) as noted_of
where newest - noted > 5 or length_held > 500 or length_held < 500 and length_held < length_noted or length_noted <= 800 and not_noted > 0

-- Figures: customers, and those with bad credit (4.3.3.1: one in ten).
-- name: bad_credit
select count(*), coalesce(sum(bad_credit), 0)
from customer_sums

-- Stock ----------------------------------------------------------------------------------------------------------------

-- One row an item that a run has taken from a warehouse, from the lines placed by runs.
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
) without rowid

-- Found through the districts, because lines are clustered by district and order: loaded lines are not read.
-- name: prepare_sold_sums_rows
insert into sold_sums
select ol_supply_w_id, ol_i_id, count(*), sum(ol_supply_w_id <> ol_w_id), sum(ol_quantity),
  sum(i_price is not null and abs(ol_amount - ol_quantity * i_price) >= 0.005), sum(i_price is null),
  sum(ol_o_id >= ?4)
from district
cross join order_line on ol_w_id = d_w_id and ol_d_id = d_id and ol_o_id > ?1
left join item on i_id = ol_i_id
group by ol_supply_w_id, ol_i_id

-- Shape: each stock counts what the lines took from it, wherever they were ordered.
-- name: stock_counters
select s_w_id, s_i_id, s_ytd, coalesce(quantity, 0) as quantity_sold, s_order_cnt, coalesce(line_count, 0) as lines,
  s_remote_cnt, coalesce(remote_count, 0) as lines_remote, s_quantity
from stock
left join sold_sums on w_id = s_w_id and i_id = s_i_id
where s_ytd <> coalesce(quantity, 0) or s_order_cnt <> coalesce(line_count, 0)
  or s_remote_cnt <> coalesce(remote_count, 0) or s_quantity not between 10 and 100

-- Shape: an amount is quantity times price (2.4.2.2).
-- name: line_amounts
select w_id, i_id, line_count, wrong_amounts
from sold_sums
where wrong_amounts > 0

-- Shape: a run's lines name items that exist and stocks that exist.
-- name: sold_without_stock
select w_id, i_id, line_count, unknown_items
from sold_sums
left join stock on s_w_id = w_id and s_i_id = i_id
where unknown_items > 0 or s_i_id is null

-- Shape: a line says of its district what its stock has for that (2.4.2.2). Of the judged orders alone.
-- name: line_texts
select ol_w_id, ol_d_id, count(*) as mislabelled, min(ol_o_id) as lowest
from district
cross join order_line on ol_w_id = d_w_id and ol_d_id = d_id and ol_o_id >= ?4
cross join stock on s_w_id = ol_supply_w_id and s_i_id = ol_i_id
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

-- Figures: a run's lines, and those supplied by another warehouse (2.4.1.5: one in a hundred).
-- name: remote_lines
select coalesce(sum(line_count), 0), coalesce(sum(remote_count), 0)
from sold_sums

-- Figures: items; the judged lines; those of the tenth of items that has most.
-- name: item_skew
select (select count(*) from item), (select coalesce(sum(judged_count), 0) from sold_sums),
  coalesce(sum(lines), 0)
from (
  select sum(judged_count) as lines
  from sold_sums
  group by i_id
  order by lines desc
  limit (select (count(*) + 9) / 10 from item)
) as most

-- The books of warehouses and districts ---------------------------------------------------------------------------------

-- One row a district that was paid at.
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
) without rowid

-- name: prepare_received_sums_rows
insert into received_sums
select h_w_id, h_d_id, sum(h_amount), count(*), sum(h_c_w_id <> h_w_id), min(h_amount), max(h_amount)
from history
group by h_w_id, h_d_id

-- 3.3.2.1: a warehouse has received what its districts have.
-- name: warehouse_ytd
select w_id, w_ytd, coalesce(districts, 0) as districts_ytd
from warehouse
left join (
  select d_w_id, sum(d_ytd) as districts
  from district
  group by d_w_id
) on d_w_id = w_id
where abs(w_ytd - coalesce(districts, 0)) >= 0.005

-- 3.3.2.2: the next order number is one more than the highest, among orders and, where some wait, among new orders.
-- name: next_order_numbers
select d_w_id, d_id, d_next_o_id, o_max, no_max
from district
left join (
  select o_w_id, o_d_id, max(o_id) as o_max
  from orders
  group by o_w_id, o_d_id
) on o_w_id = d_w_id and o_d_id = d_id
left join (
  select no_w_id, no_d_id, max(no_o_id) as no_max
  from new_order
  group by no_w_id, no_d_id
) on no_w_id = d_w_id and no_d_id = d_id
where d_next_o_id - 1 <> coalesce(o_max, 0) or d_next_o_id - 1 <> coalesce(no_max, d_next_o_id - 1)

-- 3.3.2.3: the new orders of a district follow each other without a gap.
-- name: new_order_gaps
select no_w_id, no_d_id, min(no_o_id) as lowest, max(no_o_id) as highest, count(*) as held
from new_order
group by no_w_id, no_d_id
having max(no_o_id) - min(no_o_id) + 1 <> count(*)

-- 3.3.2.5: an order has no carrier exactly where it is new.
-- name: carriers
select o_w_id, o_d_id, o_id, o_carrier_id, no_o_id
from orders
left join new_order on no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id
where (o_carrier_id is null) <> (no_o_id is not null)
union all
select no_w_id, no_d_id, null, null, no_o_id
from new_order
left join orders on o_w_id = no_w_id and o_d_id = no_d_id and o_id = no_o_id
where o_id is null

-- 3.3.2.8: a warehouse has received what history holds.
-- name: warehouse_history
select warehouse.w_id, w_ytd, coalesce(paid, 0) as paid
from warehouse
left join (
  select w_id, sum(amount) as paid
  from received_sums
  group by w_id
) as sums on sums.w_id = warehouse.w_id
where abs(w_ytd - coalesce(paid, 0)) >= 0.005

-- 3.3.2.9: so has a district.
-- name: district_history
select d_w_id, district.d_id, d_ytd, coalesce(amount, 0) as paid
from district
left join received_sums on w_id = d_w_id and received_sums.d_id = district.d_id
where abs(d_ytd - coalesce(amount, 0)) >= 0.005

-- Shape: order numbers run from 1 to the next one without a gap, so that no order is lost and none is left of one that
-- was rolled back.
-- name: order_numbers
select d_w_id, d_id, d_next_o_id, coalesce(lowest, 0) as lowest, coalesce(placed, 0) as orders_placed
from district
left join (
  select o_w_id, o_d_id, min(o_id) as lowest, count(*) as placed
  from orders
  group by o_w_id, o_d_id
) on o_w_id = d_w_id and o_d_id = d_id
where coalesce(lowest, 1) <> 1 or d_next_o_id - 1 <> coalesce(placed, 0)

-- Shape: history notes of a payment the names of its warehouse and its district (2.5.2.2). Loaded payments are of 2024-01-01.
-- name: payment_texts
select h_w_id, h_d_id, count(*) as mislabelled
from history
join warehouse on w_id = h_w_id
join district on d_w_id = h_w_id and d_id = h_d_id
where h_date > 1704067200 and h_data <> w_name || '    ' || d_name
group by h_w_id, h_d_id

-- Shape: payments are 1.00 to 5,000.00 (2.5.1.3). The unit is read off the credit limit, 50,000.00 for everybody.
-- name: payment_amounts
select w_id, d_id, amount_min, amount_max
from received_sums
where amount_min * 50000 < (select c_credit_lim from customer limit 1)
  or amount_max * 10 > (select c_credit_lim from customer limit 1)

-- Figures: payments beyond the one that each customer was loaded with, and those for a customer of another warehouse
-- (2.5.1.2: 15 in a hundred).
-- name: remote_payments
select coalesce(sum(payment_count), 0) - (select count(*) from district) * ?3, coalesce(sum(remote_count), 0)
from received_sums

-- Figures: customer numbers; the judged orders; those of the tenth of customer numbers that has most.
-- name: customer_skew
select ?3, coalesce((select sum(orders_placed) from (
    select count(*) as orders_placed
    from district
    cross join orders on o_w_id = d_w_id and o_d_id = d_id and o_id >= ?4
    group by d_w_id, d_id
  ) as counted), 0),
  coalesce(sum(placed), 0)
from (
  select count(*) as placed
  from district
  cross join orders on o_w_id = d_w_id and o_d_id = d_id and o_id >= ?4
  group by o_c_id
  order by placed desc
  limit (?3 + 9) / 10
) as most

-- Shape: a warehouse has ten districts, each with its customers, and a stock of every item (1.2.1).
-- name: cardinality
select w_id, districts, customers, stocks
from (
  select w_id,
    (select count(*) from district where d_w_id = w_id) as districts,
    (select count(*) from customer where c_w_id = w_id) as customers,
    (select count(*) from stock where s_w_id = w_id) as stocks
  from warehouse
) as counted
where districts <> 10 or customers <> 10 * ?3 or stocks <> (select count(*) from item)

-- Load: each customer of a district has one of the orders that it was loaded with (4.3.3.1), so that Order-Status finds one.
-- name: order_customers
select o_w_id, o_d_id, count(*) as orders, count(distinct o_c_id) as customers, min(o_c_id) as lowest,
  max(o_c_id) as highest
from orders
where o_id <= ?1
group by o_w_id, o_d_id
having count(distinct o_c_id) <> ?3 or min(o_c_id) <> 1 or max(o_c_id) <> ?3

-- Shape: what the run has written is dated in it. Loaded rows are of 2024-01-01: of payments one for each customer.
-- name: run_dates
select what, w_id, d_id, row_count, earliest, latest
from (
  select 'orders' as what, o_w_id as w_id, o_d_id as d_id, count(*) as row_count, min(o_entry_d) as earliest,
    max(o_entry_d) as latest
  from orders
  where o_id >= ?4 and (o_entry_d < ?6 or o_entry_d > ?7)
  group by o_w_id, o_d_id
  union all
  select 'deliveries', w_id, d_id, count(*), min(delivered_min), max(delivered_max)
  from line_sums
  where o_id >= ?8 and (delivered_min < ?6 or delivered_max > ?7)
  group by w_id, d_id
  union all
  select what, h_w_id, h_d_id, count(*), min(h_date), max(h_date)
  from (
    select case when h_date = 1704067200 then 'loaded payments' else 'payments' end as what, h_w_id, h_d_id, h_date
    from history
    where h_date = 1704067200 or h_date < ?9 or h_date > ?7
  ) as dated_payments
  group by what, h_w_id, h_d_id
  having what = 'payments' or count(*) > ?3
) as dated
order by what, w_id, d_id

-- Load: each last name that calls draw is some customer's in each district (4.3.2.3, 4.3.3.1: the first thousand customers
-- have one each), so that Payment and Order-Status find somebody of that name. Read off the index of names, where there is one.
-- name: last_names
with syllables (digit, syllable) as (
  values (0, 'BAR'), (1, 'OUGHT'), (2, 'ABLE'), (3, 'PRI'), (4, 'PRES'), (5, 'ESE'), (6, 'ANTI'), (7, 'CALLY'),
    (8, 'ATION'), (9, 'EING')
),
drawn (name) as (
  select hundreds.syllable || tens.syllable || ones.syllable
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
  where c_last in (select name from drawn)
  group by c_w_id, c_d_id
) as named on c_w_id = d_w_id and c_d_id = d_id
where coalesce(held, 0) <> ?5

-- The ledger audit -------------------------------------------------------------------------------------------------------

-- What the store says of each district, before and after a trial; a row is what the ledger reads. Sums of what rows name
-- show a row that names another. Of a stock no order changes s_quantity + s_ytd modulo 91, whatever it takes.
-- name: district_tallies
select d_w_id, d_id, d_next_o_id, d_ytd, coalesce(said, 0), coalesce(waiting, 0), coalesce(payments, 0),
  coalesce(amount, 0), coalesce(of_orders, 0), coalesce(of_lines, 0), coalesce(of_payments, 0),
  coalesce(of_deliveries, 0), coalesce(stocks, 0)
from district
left join (
  select o_w_id, o_d_id, sum(o_ol_cnt) as said,
    sum(
      o_id * 48271 % 2147483647 * ((o_c_id * 16807 + o_ol_cnt * 69621 + o_all_local * 40692) % 2147483647) % 2147483647
    ) as of_orders,
    sum(o_id * 48271 % 2147483647 * (o_carrier_id * 16807 % 2147483647) % 2147483647) as of_deliveries
  from orders
  group by o_w_id, o_d_id
) on o_w_id = d_w_id and o_d_id = d_id
left join (
  select no_w_id, no_d_id, count(*) as waiting
  from new_order
  group by no_w_id, no_d_id
) on no_w_id = d_w_id and no_d_id = d_id
left join (
  select h_w_id, h_d_id, count(*) as payments,
    sum(
      h_c_id * 48271 % 2147483647
      * ((h_c_d_id * 16807 + h_c_w_id * 69621 + h_amount * 40692) % 2147483647) % 2147483647
    ) as of_payments
  from history
  group by h_w_id, h_d_id
) on h_w_id = d_w_id and h_d_id = d_id
left join (
  select ol_w_id, ol_d_id, sum(ol_amount) as amount,
    sum(
      (16 * ol_o_id + ol_number) * 48271 % 2147483647
      * ((ol_i_id * 16807 + ol_supply_w_id * 69621 + ol_quantity * 40692) % 2147483647) % 2147483647
    ) as of_lines
  from order_line
  group by ol_w_id, ol_d_id
) on ol_w_id = d_w_id and ol_d_id = d_id
left join (
  select s_w_id, sum(s_i_id * ((s_quantity + s_ytd) % 91)) as stocks
  from stock
  group by s_w_id
) on s_w_id = d_w_id
order by d_w_id, d_id

-- Not an audit: sums of columns that calls change and the tallies leave out. Nothing changes them after the last answer.
-- name: totals
select warehouses, balances, payments, payment_count, deliveries, quantities, sold, orders, remote
from (select cast(sum(w_ytd) * 100 as bigint) as warehouses from warehouse) as of_warehouses
cross join (
  select cast(sum(c_balance) * 100 as bigint) as balances, cast(sum(c_ytd_payment) * 100 as bigint) as payments,
    cast(sum(c_payment_cnt) as bigint) as payment_count, cast(sum(c_delivery_cnt) as bigint) as deliveries from customer
) as of_customers
cross join (
  select cast(sum(s_quantity) as bigint) as quantities, cast(sum(s_ytd) as bigint) as sold,
    cast(sum(s_order_cnt) as bigint) as orders, cast(sum(s_remote_cnt) as bigint) as remote from stock) as of_stock
