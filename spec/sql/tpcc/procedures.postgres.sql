-- TPC-C on PostgreSQL as functions: one call, one round trip and one transaction for each. Clause numbers are those of
-- TPC-C 5.11.
--
-- Each session makes the functions for itself, in `pg_temp`, so that nothing is left behind in a database of somebody's.
-- Locks are taken in the order of `statements.sql`: warehouse, district, stock by (item, warehouse), customer; what else
-- the sessions set is said in `pipelined.postgres.sql`. Functions are called in the select list and answer one record: called
-- in `from`, each would take a scan and a store for its only row. That record is filled by the last statement that has
-- something to tell: a variable for each column would be a copy for each, and of an array two, since PL/pgSQL unpacks those that
-- it keeps in variables. What a step tells the next is one record for the same reason. No function catches an exception: that
-- would cost a subtransaction. What ends a call early is raised and undoes all of it:
--   TC001  an item is unused (2.4.2.3); the detail holds what the screen still shows
--   TC002  no customer has that name
--   TC003  a row that must be there is not

-- New-Order (2.4.2.2) ------------------------------------------------------------------------------------------------

-- `lines_until` holds the last position of each round of lines: within a round no stock row comes twice, and lines are in
-- the order of stock rows. One round, unless an item is ordered twice.
-- name: function_new_order
create function pg_temp.new_order(
  home integer, district_id smallint, customer_id integer, all_local smallint,
  line_numbers smallint[], line_items integer[], line_suppliers integer[], line_quantities smallint[],
  lines_until integer[])
returns record
language plpgsql
as $$
declare
  rounds integer := cardinality(lines_until);
  lines integer := cardinality(line_items);
  head record;
  answer record;
  -- Only where there are several rounds: what was asked for, and what earlier rounds have told.
  first integer;
  last integer;
  all_numbers smallint[];
  all_items integer[];
  all_suppliers integer[];
  all_quantities smallint[];
  told_numbers smallint[];
  told_names text[];
  told_prices numeric[];
  told_left_over integer[];
  told_originals boolean[];
begin
  with claimed as (
    update district
    set d_next_o_id = d_next_o_id + 1
    where d_w_id = home and d_id = district_id
    returning d_next_o_id - 1 as o_id, d_tax
  ), placed as (
    insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    select home, district_id, o_id, customer_id, localtimestamp, null, lines, all_local
    from claimed
    returning o_entry_d
  ), queued as (
    insert into new_order (no_w_id, no_d_id, no_o_id)
    select home, district_id, o_id
    from claimed
  )
  select o_id::integer as order_id, o_entry_d::timestamp as entered_at, c_last::text as last_name, c_credit::text as credit,
    c_discount::numeric as discount, w_tax::numeric as warehouse_tax, d_tax::numeric as district_tax
  into head
  from claimed
  cross join placed
  cross join warehouse
  cross join customer
  where w_id = home and c_w_id = home and c_d_id = district_id and c_id = customer_id;
  if not found then
    raise exception using errcode = 'TC003', message = 'warehouse, district or customer not found';
  end if;

  if rounds > 1 then
    all_numbers := line_numbers;
    all_items := line_items;
    all_suppliers := line_suppliers;
    all_quantities := line_quantities;
  end if;
  for round in 1..rounds loop
    if rounds > 1 then
      first := coalesce(last, 0) + 1;
      last := lines_until[round];
      line_numbers := all_numbers[first:last];
      line_items := all_items[first:last];
      line_suppliers := all_suppliers[first:last];
      line_quantities := all_quantities[first:last];
    end if;
    with taken as (
      update stock
      set
        s_quantity = case
          when s_quantity - quantity >= 10 then s_quantity - quantity
          else s_quantity - quantity + 91
        end,
        s_ytd = s_ytd + quantity,
        s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + case when supplier = home then 0 else 1 end
      from unnest(line_numbers, line_items, line_suppliers, line_quantities)
        as line (number, item_id, supplier, quantity)
      join item on i_id = item_id
      where s_w_id = supplier and s_i_id = item_id
      returning number, item_id, supplier, quantity, i_name, i_price, s_quantity,
        i_data like '%ORIGINAL%' and s_data like '%ORIGINAL%' as original,
        case district_id when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04
          when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08
          when 9 then s_dist_09 when 10 then s_dist_10 end as dist_info
    ), stored as (
      insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
        ol_amount, ol_dist_info)
      select home, district_id, head.order_id, number, item_id, supplier, null, quantity, i_price * quantity, dist_info
      from taken
    )
    select head.order_id, head.entered_at, head.last_name, head.credit, head.discount, head.warehouse_tax,
      head.district_tax, told_numbers || array_agg(number) as numbers, told_names || array_agg(i_name::text) as names,
      told_prices || array_agg(i_price::numeric) as prices,
      told_left_over || array_agg(s_quantity::integer) as left_over, told_originals || array_agg(original) as originals
    into answer
    from taken;
    if round < rounds then
      told_numbers := answer.numbers;
      told_names := answer.names;
      told_prices := answer.prices;
      told_left_over := answer.left_over;
      told_originals := answer.originals;
    end if;
  end loop;

  if cardinality(answer.numbers) is distinct from lines then
    perform
    from unnest(coalesce(all_items, line_items)) as asked
    where not exists (select from item where i_id = asked);
    if not found then
      raise exception using errcode = 'TC003', message = 'stock not found';
    end if;
    raise exception using errcode = 'TC001', message = 'item number is not valid',
      detail = concat_ws(' ', head.order_id, head.last_name, head.credit);
  end if;
  return answer;
end
$$

-- name: new_order
select pg_temp.new_order(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- Payment (2.5.2.2) --------------------------------------------------------------------------------------------------

-- By last name where `customer_id` is null. `h_data` is made of both names (2.5.3.3), and the fact of the payment goes in
-- front of c_data of customers with bad credit, behind the number of the customer.
-- name: function_payment
create function pg_temp.payment(
  home integer, district_id smallint, customer_home integer, customer_district smallint, customer_id integer,
  customer_name text, cents bigint, fact text)
returns record
language plpgsql
as $$
declare
  amount numeric := cents * 0.01;
  customer_number integer := customer_id;
  paid_home record;
  paid_district record;
  answer record;
begin
  update warehouse
  set w_ytd = w_ytd + amount
  where w_id = home
  returning w_name, array[w_street_1, w_street_2, w_city, w_state, w_zip]::text[] as address into paid_home;

  update district
  set d_ytd = d_ytd + amount
  where d_w_id = home and d_id = district_id
  returning d_name, array[d_street_1, d_street_2, d_city, d_state, d_zip]::text[] as address into paid_district;

  if customer_id is null then
    select (array_agg(c_id))[(count(*) + 1) / 2] into customer_number
    from (
      select c_id
      from customer
      where c_w_id = customer_home and c_d_id = customer_district and c_last = customer_name
      order by c_first, c_id
    ) as namesake;
    if customer_number is null then
      raise exception using errcode = 'TC002', message = 'no customer has that name';
    end if;
  end if;

  update customer
  set
    c_balance = c_balance - amount,
    c_ytd_payment = c_ytd_payment + amount,
    c_payment_cnt = c_payment_cnt + 1,
    c_data = case c_credit when 'BC' then left(c_id || fact || c_data, 500) else c_data end
  where c_w_id = customer_home and c_d_id = customer_district and c_id = customer_number
  returning localtimestamp, paid_home.address, paid_district.address, c_id::integer,
    array[c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone]::text[],
    c_since::timestamp, c_credit::text, c_credit_lim::numeric, c_discount::numeric, c_balance::numeric,
    case c_credit when 'BC' then left(c_data, 200) end
  into answer;
  if not found or paid_home.address is null or paid_district.address is null then
    raise exception using errcode = 'TC003', message = 'warehouse, district or customer not found';
  end if;

  insert into history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
  values (customer_home, customer_district, customer_number, home, district_id, localtimestamp, amount,
    paid_home.w_name || '    ' || paid_district.d_name);
  return answer;
end
$$

-- name: payment
select pg_temp.payment(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- Order-Status (2.6.2.2) ---------------------------------------------------------------------------------------------

-- By last name where `customer_id` is null. A stable function sees one snapshot, that of the statement which calls it: without
-- that the name and the order would be looked up at one each.
-- name: function_order_status
create function pg_temp.order_status(
  home integer, district_id smallint, customer_id integer, customer_name text)
returns record
language plpgsql
stable
as $$
declare
  customer_number integer := customer_id;
  answer record;
begin
  if customer_id is null then
    select (array_agg(c_id))[(count(*) + 1) / 2] into customer_number
    from (
      select c_id
      from customer
      where c_w_id = home and c_d_id = district_id and c_last = customer_name
      order by c_first, c_id
    ) as namesake;
    if customer_number is null then
      raise exception using errcode = 'TC002', message = 'no customer has that name';
    end if;
  end if;

  select c_id::integer, array[c_first, c_middle, c_last]::text[], c_balance::numeric, o_id::integer, o_entry_d::timestamp,
    o_carrier_id::integer, ol_items, ol_suppliers, ol_quantities, ol_amounts, ol_delivered
  into answer
  from customer
  cross join lateral (
    select o_id, o_entry_d, o_carrier_id
    from orders
    where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
    order by o_id desc
    limit 1
  ) as newest
  cross join lateral (
    select array_agg(ol_i_id::integer) as ol_items, array_agg(ol_supply_w_id::integer) as ol_suppliers,
      array_agg(ol_quantity::integer) as ol_quantities, array_agg(ol_amount::numeric) as ol_amounts,
      array_agg(ol_delivery_d::timestamp) as ol_delivered
    from (
      select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
      from order_line
      where ol_w_id = c_w_id and ol_d_id = c_d_id and ol_o_id = o_id
      order by ol_number
    ) as line
  ) as lines
  where c_w_id = home and c_d_id = district_id and c_id = customer_number;
  if not found then
    raise exception using errcode = 'TC003', message = 'customer without an order';
  end if;
  return answer;
end
$$

-- name: order_status
select pg_temp.order_status(?1, ?2, ?3, ?4)

-- Delivery (2.7.4.2), all ten districts ------------------------------------------------------------------------------

-- The oldest order of a district is locked first, one district after the other: who comes second waits, and goes on to the
-- next order once the first has delivered this one.
-- name: function_delivery
create function pg_temp.delivery(home integer, carrier smallint, out district_ids integer[], out order_ids integer[])
language plpgsql
as $$
declare
  all_credited boolean;
begin
  with oldest as (
    select district_id, no_o_id as order_id
    from generate_series(1, 10) as district_id
    cross join lateral (
      select no_o_id
      from new_order
      where no_w_id = home and no_d_id = district_id
      order by no_o_id
      limit 1
      for update
    ) as waiting
  ), gone as (
    delete from new_order
    using oldest
    where no_w_id = home and no_d_id = district_id and no_o_id = order_id
    returning district_id, order_id
  ), carried as (
    update orders
    set o_carrier_id = carrier
    from gone
    where o_w_id = home and o_d_id = district_id and o_id = order_id
    returning district_id, order_id, o_c_id as customer_id
  ), delivered as (
    update order_line
    set ol_delivery_d = localtimestamp
    from gone
    where ol_w_id = home and ol_d_id = district_id and ol_o_id = order_id
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
    where c_w_id = home and c_d_id = carried.district_id and c_id = customer_id
    returning carried.district_id
  )
  select array_agg(oldest.district_id), array_agg(order_id), bool_and(credited.district_id is not null)
  into district_ids, order_ids, all_credited
  from oldest
  left join credited using (district_id);
  if not all_credited then
    raise exception using errcode = 'TC003', message = 'order, lines or customer of a new_order not found';
  end if;
end
$$

-- name: delivery
select pg_temp.delivery(?1, ?2)

-- Stock-Level (2.8.2.2) ----------------------------------------------------------------------------------------------

-- Items of the last 20 orders whose stock in the terminal's warehouse is below the threshold. An item in two of the orders is
-- one row of stock, so it is counted once.
-- name: function_stock_level
create function pg_temp.stock_level(home integer, district_id smallint, threshold integer) returns integer
language plpgsql
stable
as $$
begin
  return (
    select count(*)
    from stock
    where s_w_id = home and s_quantity < threshold and s_i_id = any (array(
      select ol_i_id
      from district
      join order_line on ol_w_id = d_w_id and ol_d_id = d_id and ol_o_id >= d_next_o_id - 20 and ol_o_id < d_next_o_id
      where d_w_id = home and d_id = district_id
    ))
  );
end
$$

-- name: stock_level
select pg_temp.stock_level(?1, ?2, ?3)
