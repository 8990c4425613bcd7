-- The statements of spec/sql/booking as postgres takes them. Made from there, not by hand: see servers/README.md.

-- name: look
-- params: 1 2 3 4 5 6
select available, limited,
  (select case when booking.event = $1 and user_id = $5 and quantity = $6 then 1 else 2 end
   from booking where run = $2 and worker = $3 and sequence = $4) as kept
from event
where id = $1

-- name: look_limited
-- params: 1 2 3 4 5 6
select available, limited,
  (select case when booking.event = $1 and user_id = $5 and quantity = $6 then 1 else 2 end
   from booking where run = $2 and worker = $3 and sequence = $4) as kept,
  case when exists (select 1 from booking where booking.event = $1 and limited_to = $5) then 1 else 0 end as taken
from event
where id = $1

-- name: insert_booking
-- params: 1 2 3 4 5 6 7
insert into booking (run, worker, sequence, event, user_id, quantity, limited_to, created)
values ($1, $2, $3, $4, $5, $6, $7, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
on conflict do nothing

-- name: take_tickets
-- params: 1 2
update event
set available = available - $2
where id = $1 and available >= $2

-- name: read_booking
-- params: 1 2 3
select event, user_id, quantity
from booking
where run = $1 and worker = $2 and sequence = $3

-- name: read_event
-- params: 1
select stock, available
from event
where id = $1

-- name: insert_outbox
-- params: 1 2 3 4 5 6
insert into outbox (run, worker, sequence, event, user_id, quantity, created)
values ($1, $2, $3, $4, $5, $6, (extract(epoch from clock_timestamp()) * 1000000)::bigint)

-- name: take_lease
-- params: 1 2
update outbox_lease
set holder = $1, expires = (extract(epoch from clock_timestamp()) * 1000000)::bigint + $2
where id = 1 and (holder = $1 or expires < (extract(epoch from clock_timestamp()) * 1000000)::bigint)

-- name: read_clock
-- params:
select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us

-- name: read_outbox
-- params: 1
select id, created, run, worker, sequence, event, user_id, quantity
from outbox
order by id
limit $1

-- name: remove_rows
-- params: 1
delete from outbox
where id = any (array(select value::bigint from json_array_elements_text($1::text::json) as listed(value)))
