-- What holds at any moment, also while calls are made, since each of them is done whole or not at all. A condition is a query: it
-- returns what breaks it. None has parameters, and all engines take the same text.

-- A payment pays a warehouse and a district.
-- name: districts
select w_id, w_ytd, in_districts
from warehouse
join (select d_w_id, sum(d_ytd) as in_districts from district group by d_w_id) as d on d_w_id = w_id
where w_ytd <> in_districts

-- And leaves a row of history.
-- name: history
select w_id, w_ytd, in_history
from warehouse
join (select h_w_id, sum(h_amount) as in_history from history group by h_w_id) as h on h_w_id = w_id
where w_ytd <> in_history

-- The last order of a district is there with all of its lines.
-- name: last_orders
select d_w_id, d_id, d_next_o_id
from district
left join orders on o_w_id = d_w_id and o_d_id = d_id and o_id = d_next_o_id - 1
where o_id is null or o_ol_cnt <> (select count(*) from order_line where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id)
