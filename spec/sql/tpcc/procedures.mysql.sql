-- TPC-C with a procedure for each transaction, for MariaDB. One call is one transaction and one round trip: the procedure
-- begins it, gives its rows, and commits last, so that rows followed by no error mean that it is committed. An error
-- leaves the transaction to the caller, who rolls it back. Locks are taken in the order of the plain style, and every
-- statement says what the one of the same purpose says there. Texts are declared like the columns that they meet. A row that
-- must be there and is not is signalled, and ends the run.

-- A statement costs more than the rows that it touches, so one statement does a step for all lines. They come as JSON, sorted
-- by their stock rows, and each as [place in the order, item, supplying warehouse, quantity, pass]: where two lines take from
-- the same stock, the second takes what the first has left, in a pass of its own. They go back as text, in any order:
-- fields are divided by U+001F and lines ended by U+001E. What was placed is null where an item is unused, and then nothing
-- was stored (2.4.2.3).
-- name: stackmark_new_order
create or replace procedure stackmark_new_order (
  in p_w_id integer, in p_d_id integer, in p_c_id integer, in p_ol_cnt integer, in p_all_local integer,
  in p_lines varchar(700) character set utf8mb4 collate utf8mb4_bin, in p_passes integer
)
modifies sql data
begin
  declare v_w_tax, v_d_tax, v_c_discount decimal(4,4);
  declare v_c_last varchar(16) character set utf8mb4 collate utf8mb4_bin;
  declare v_c_credit char(2) character set utf8mb4 collate utf8mb4_bin;
  declare v_o_id integer;
  declare v_pass, v_stored integer default 0;
  declare v_entered datetime;
  declare v_field char(1) character set utf8mb4 collate utf8mb4_bin default char(31 using utf8mb4);
  declare v_line char(1) character set utf8mb4 collate utf8mb4_bin default char(30 using utf8mb4);
  declare v_told, v_placed varchar(2000) character set utf8mb4 collate utf8mb4_bin default '';

  start transaction;
  update district set d_next_o_id = d_next_o_id + 1 where d_w_id = p_w_id and d_id = p_d_id;
  select d_next_o_id - 1, d_tax, w_tax, c_discount, c_last, c_credit
  into v_o_id, v_d_tax, v_w_tax, v_c_discount, v_c_last, v_c_credit
  from district, warehouse, customer
  where d_w_id = p_w_id and d_id = p_d_id and w_id = p_w_id and c_w_id = p_w_id and c_d_id = p_d_id and c_id = p_c_id;
  if v_o_id is null then
    signal sqlstate '45000' set message_text = 'the warehouse, district or customer of an order is not there';
  end if;
  set v_entered = utc_timestamp();
  insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
  values (p_w_id, p_d_id, v_o_id, p_c_id, v_entered, null, p_ol_cnt, p_all_local);
  insert into new_order (no_w_id, no_d_id, no_o_id) values (p_w_id, p_d_id, v_o_id);

  while v_pass < p_passes do
    -- Locks the rows in the order of the lines; what is read of them afterwards is this transaction's own.
    update json_table(p_lines, '$[*]' columns (
        number integer path '$[0]', i_id integer path '$[1]', supply_w_id integer path '$[2]',
        quantity integer path '$[3]', pass integer path '$[4]'
      )) as line
    straight_join stock on s_w_id = line.supply_w_id and s_i_id = line.i_id
    set s_quantity = s_quantity - line.quantity + if(s_quantity - line.quantity >= 10, 0, 91),
      s_ytd = s_ytd + line.quantity, s_order_cnt = s_order_cnt + 1,
      s_remote_cnt = s_remote_cnt + (line.supply_w_id <> p_w_id)
    where line.pass = v_pass;
    insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
      ol_amount, ol_dist_info)
    select p_w_id, p_d_id, v_o_id, line.number, line.i_id, line.supply_w_id, null, line.quantity,
      i_price * line.quantity,
      case p_d_id when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04
        when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08
        when 9 then s_dist_09 when 10 then s_dist_10 end
    from json_table(p_lines, '$[*]' columns (
        number integer path '$[0]', i_id integer path '$[1]', supply_w_id integer path '$[2]',
        quantity integer path '$[3]', pass integer path '$[4]'
      )) as line
    straight_join item on item.i_id = line.i_id
    straight_join stock on s_w_id = line.supply_w_id and s_i_id = line.i_id
    where line.pass = v_pass;
    set v_stored = v_stored + row_count();
    select group_concat(line.number, v_field, i_price, v_field, i_price * line.quantity, v_field, s_quantity, v_field,
      if(instr(i_data, 'ORIGINAL') > 0 and instr(s_data, 'ORIGINAL') > 0, 'B', 'G'), v_field, i_name, v_line separator '')
    into v_told
    from json_table(p_lines, '$[*]' columns (
        number integer path '$[0]', i_id integer path '$[1]', supply_w_id integer path '$[2]',
        quantity integer path '$[3]', pass integer path '$[4]'
      )) as line
    straight_join item on item.i_id = line.i_id
    straight_join stock on s_w_id = line.supply_w_id and s_i_id = line.i_id
    where line.pass = v_pass;
    set v_placed = concat(v_placed, ifnull(v_told, '')), v_pass = v_pass + 1;
  end while;

  if v_stored = p_ol_cnt then
    select v_o_id, v_entered, v_c_last, v_c_credit, v_c_discount, v_w_tax, v_d_tax, v_placed;
    commit;
  elseif v_stored = p_ol_cnt - (
    select count(*)
    from json_table(p_lines, '$[*]' columns (
        number integer path '$[0]', i_id integer path '$[1]', supply_w_id integer path '$[2]',
        quantity integer path '$[3]', pass integer path '$[4]'
      )) as line
    left join item on item.i_id = line.i_id
    where item.i_id is null
  ) then
    select v_o_id, v_entered, v_c_last, v_c_credit, v_c_discount, v_w_tax, v_d_tax, null;
    rollback;
  else
    signal sqlstate '45000' set message_text = 'the stock of an ordered item is not there';
  end if;
end

-- No row: nobody has that name. c_data is given for bad credit only.
-- name: stackmark_payment
create or replace procedure stackmark_payment (
  in p_w_id integer, in p_d_id integer, in p_c_w_id integer, in p_c_d_id integer, in p_c_id integer,
  in p_c_last varchar(16) character set utf8mb4 collate utf8mb4_bin, in p_amount decimal(12,2)
)
modifies sql data
begin
  declare v_c_id, v_middle integer;
  declare v_paid datetime;

  start transaction;
  update warehouse set w_ytd = w_ytd + p_amount where w_id = p_w_id;
  update district set d_ytd = d_ytd + p_amount where d_w_id = p_w_id and d_id = p_d_id;
  -- 2.5.2.2: the customer at position n/2, rounded up, of all who have the name, sorted by first name.
  if p_c_last is null then
    set v_c_id = p_c_id;
  else
    select (count(*) + 1) div 2 - 1 into v_middle
    from customer where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_last = p_c_last;
    if v_middle >= 0 then
      select c_id into v_c_id
      from customer where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_last = p_c_last
      order by c_first, c_id limit 1 offset v_middle;
    end if;
  end if;
  if v_c_id is null then
    rollback;
  else
    update customer
    set c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1,
      c_data = if(c_credit = 'BC', left(concat(v_c_id, ' ', p_c_d_id, ' ', p_c_w_id, ' ', p_d_id, ' ', p_w_id, ' ',
        p_amount, ' ', c_data), 500), c_data)
    where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id;
    if row_count() <> 1 then
      signal sqlstate '45000' set message_text = 'the customer of a payment is not there';
    end if;
    set v_paid = utc_timestamp();
    insert into history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
    select p_c_w_id, p_c_d_id, v_c_id, p_w_id, p_d_id, v_paid, p_amount, concat(w_name, '    ', d_name)
    from warehouse, district
    where w_id = p_w_id and d_w_id = p_w_id and d_id = p_d_id;
    select v_paid, w_street_1, w_street_2, w_city, w_state, w_zip, d_street_1, d_street_2, d_city, d_state, d_zip, c_id,
      c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim,
      c_discount, c_balance, if(c_credit = 'BC', left(c_data, 200), '')
    from customer, district, warehouse
    where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id and d_w_id = p_w_id and d_id = p_d_id and w_id = p_w_id;
    commit;
  end if;
end

-- The customer and the newest order, repeated for each of its lines. No row: nobody has that name.
-- name: stackmark_order_status
create or replace procedure stackmark_order_status (
  in p_w_id integer, in p_d_id integer, in p_c_id integer,
  in p_c_last varchar(16) character set utf8mb4 collate utf8mb4_bin
)
reads sql data
begin
  declare v_c_id, v_middle, v_o_id integer;

  start transaction read only;
  if p_c_last is null then
    set v_c_id = p_c_id;
  else
    select (count(*) + 1) div 2 - 1 into v_middle
    from customer where c_w_id = p_w_id and c_d_id = p_d_id and c_last = p_c_last;
    if v_middle >= 0 then
      select c_id into v_c_id
      from customer where c_w_id = p_w_id and c_d_id = p_d_id and c_last = p_c_last
      order by c_first, c_id limit 1 offset v_middle;
    end if;
  end if;
  select max(o_id) into v_o_id from orders where o_w_id = p_w_id and o_d_id = p_d_id and o_c_id = v_c_id;
  select c_id, c_first, c_middle, c_last, c_balance, o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity,
    ol_amount, ol_delivery_d
  from customer, orders, order_line
  where c_w_id = p_w_id and c_d_id = p_d_id and c_id = v_c_id and o_w_id = p_w_id and o_d_id = p_d_id and o_id = v_o_id
    and ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id = v_o_id
  order by ol_number;
  commit;
end

-- One row: the order that was delivered in each district, divided by spaces, with 0 where there was none (2.7.4.2).
-- name: stackmark_delivery
create or replace procedure stackmark_delivery (in p_w_id integer, in p_carrier_id integer)
modifies sql data
begin
  declare v_d_id integer default 1;
  declare v_o_id, v_c_id integer;
  declare v_amount decimal(12,2);
  declare v_delivered varchar(200) character set ascii collate ascii_bin default '';

  start transaction;
  while v_d_id <= 10 do
    select min(no_o_id) into v_o_id from new_order where no_w_id = p_w_id and no_d_id = v_d_id;
    if v_o_id is not null then
      delete from new_order where no_w_id = p_w_id and no_d_id = v_d_id and no_o_id = v_o_id;
      if row_count() = 0 then
        -- Another Delivery has taken it since we looked. All of this one is done anew, on what is there now.
        signal sqlstate 'HY000' set mysql_errno = 1020, message_text = 'another delivery has taken the order';
      end if;
      update orders set o_carrier_id = p_carrier_id where o_w_id = p_w_id and o_d_id = v_d_id and o_id = v_o_id;
      update order_line set ol_delivery_d = utc_timestamp()
      where ol_w_id = p_w_id and ol_d_id = v_d_id and ol_o_id = v_o_id;
      select o_c_id, sum(ol_amount) into v_c_id, v_amount
      from orders, order_line
      where o_w_id = p_w_id and o_d_id = v_d_id and o_id = v_o_id and ol_w_id = p_w_id and ol_d_id = v_d_id
        and ol_o_id = v_o_id;
      update customer set c_balance = c_balance + v_amount, c_delivery_cnt = c_delivery_cnt + 1
      where c_w_id = p_w_id and c_d_id = v_d_id and c_id = v_c_id;
      if row_count() <> 1 then
        signal sqlstate '45000' set message_text = 'the customer of a delivered order is not there';
      end if;
    end if;
    set v_delivered = concat(v_delivered, ifnull(v_o_id, 0), ' '), v_d_id = v_d_id + 1;
  end while;
  select v_delivered;
  commit;
end

-- name: stackmark_stock_level
create or replace procedure stackmark_stock_level (in p_w_id integer, in p_d_id integer, in p_threshold integer)
reads sql data
begin
  declare v_next integer;

  start transaction read only;
  select d_next_o_id into v_next from district where d_w_id = p_w_id and d_id = p_d_id;
  select count(distinct s_i_id)
  from order_line
  join stock on s_w_id = p_w_id and s_i_id = ol_i_id
  where ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id >= v_next - 20 and ol_o_id < v_next and s_quantity < p_threshold;
  commit;
end
