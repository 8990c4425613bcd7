-- TPC-C on PostgreSQL as functions: one call, one round trip and one transaction for each. Clause numbers are those of
-- TPC-C 5.11.
--
-- Each session makes the functions for itself, in `pg_temp`, so that nothing is left behind in a database of somebody's.
-- Locks are taken in the order of `statements.sql`: warehouse, district, stock by (item, warehouse), customer; what else
-- the sessions set is said in `pipelined.postgres.sql`. Functions are called in the select list and answer one record: called
-- in `from`, each would take a scan and a store for its only row. No function catches an exception: that would cost a
-- subtransaction. What ends a call early is raised and undoes all of it:
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
  lines_until integer[],
  out order_id integer, out entered_at timestamp, out last_name text, out credit text, out discount numeric,
  out warehouse_tax numeric, out district_tax numeric,
  out taken_numbers smallint[], out names text[], out prices numeric[], out left_over integer[], out originals boolean[])
language plpgsql
as $$
declare
  rounds integer := cardinality(lines_until);
  skipped integer := 0;
  items integer[] := line_items;
begin
  update district
  set d_next_o_id = d_next_o_id + 1
  from warehouse
  cross join customer
  where d_w_id = home and d_id = district_id and w_id = home
    and c_w_id = home and c_d_id = district_id and c_id = customer_id
  returning d_next_o_id - 1, d_tax, w_tax, c_discount, c_last, c_credit
  into order_id, district_tax, warehouse_tax, discount, last_name, credit;
  if not found then
    raise exception using errcode = 'TC003', message = 'warehouse, district or customer not found';
  end if;

  entered_at := localtimestamp;
  insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
  values (home, district_id, order_id, customer_id, entered_at, null, cardinality(line_items), all_local);
  insert into new_order (no_w_id, no_d_id, no_o_id)
  values (home, district_id, order_id);

  for round in 1..rounds loop
    if rounds > 1 then
      skipped := coalesce(lines_until[round - 1], 0);
      items := line_items[skipped + 1:lines_until[round]];
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
        s_remote_cnt = s_remote_cnt + case when s_w_id = home then 0 else 1 end
      from (
        select line_numbers[skipped + at], item_id, line_suppliers[skipped + at], line_quantities[skipped + at]
        from unnest(items) with ordinality as asked (item_id, at)
      ) as line (number, item_id, supplier, quantity)
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
      select home, district_id, order_id, number, item_id, supplier, null, quantity, i_price * quantity, dist_info
      from taken
    )
    select taken_numbers || array_agg(number), names || array_agg(i_name::text), prices || array_agg(i_price),
      left_over || array_agg(s_quantity::integer), originals || array_agg(original)
    into taken_numbers, names, prices, left_over, originals
    from taken;
  end loop;

  if cardinality(taken_numbers) is distinct from cardinality(line_items) then
    perform from unnest(line_items) as asked where not exists (select from item where i_id = asked);
    if not found then
      raise exception using errcode = 'TC003', message = 'stock not found';
    end if;
    raise exception using errcode = 'TC001', message = 'item number is not valid',
      detail = concat_ws(' ', order_id, last_name, credit);
  end if;
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
  customer_name text, cents bigint, fact text,
  out paid_at timestamp,
  out w_row text[], out d_row text[],
  out customer_number integer, out c_row text[], out since timestamp, out credit text, out credit_limit numeric,
  out discount numeric, out balance numeric, out data text)
language plpgsql
as $$
declare
  amount numeric := cents * 0.01;
  warehouse_name text;
  district_name text;
begin
  update warehouse
  set w_ytd = w_ytd + amount
  where w_id = home
  returning w_name, array[w_street_1, w_street_2, w_city, w_state, w_zip] into warehouse_name, w_row;

  update district
  set d_ytd = d_ytd + amount
  where d_w_id = home and d_id = district_id
  returning d_name, array[d_street_1, d_street_2, d_city, d_state, d_zip] into district_name, d_row;

  customer_number := customer_id;
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
  returning array[c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone], c_since, c_credit,
    c_credit_lim, c_discount, c_balance, case c_credit when 'BC' then left(c_data, 200) end
  into c_row, since, credit, credit_limit, discount, balance, data;
  if not found or w_row is null or d_row is null then
    raise exception using errcode = 'TC003', message = 'warehouse, district or customer not found';
  end if;

  paid_at := localtimestamp;
  insert into history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
  values (customer_home, customer_district, customer_number, home, district_id, paid_at, amount,
    warehouse_name || '    ' || district_name);
end
$$

-- name: payment
select pg_temp.payment(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- Order-Status (2.6.2.2) ---------------------------------------------------------------------------------------------

-- By last name where `customer_id` is null. Runs at the snapshots of its statements, so it asks in one.
-- name: function_order_status
create function pg_temp.order_status(
  home integer, district_id smallint, customer_id integer, customer_name text,
  out customer_number integer, out c_row text[], out balance numeric, out order_id integer, out entered_at timestamp,
  out carrier integer, out items integer[], out suppliers integer[], out quantities integer[], out amounts numeric[],
  out delivered_at timestamp[])
language plpgsql
as $$
begin
  customer_number := customer_id;
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

  select array[c_first, c_middle, c_last], c_balance, o_id, o_entry_d, o_carrier_id, ol_items, ol_suppliers,
    ol_quantities, ol_amounts, ol_delivered
  into c_row, balance, order_id, entered_at, carrier, items, suppliers, quantities, amounts, delivered_at
  from customer
  cross join lateral (
    select o_id, o_entry_d, o_carrier_id
    from orders
    where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
    order by o_id desc
    limit 1
  ) as newest
  cross join lateral (
    select array_agg(ol_i_id) as ol_items, array_agg(ol_supply_w_id) as ol_suppliers,
      array_agg(ol_quantity::integer) as ol_quantities, array_agg(ol_amount) as ol_amounts,
      array_agg(ol_delivery_d) as ol_delivered
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
