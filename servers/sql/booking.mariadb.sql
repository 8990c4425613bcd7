-- The statements of spec/sql/booking as mariadb takes them. Made from there, not by hand: see servers/README.md.

-- name: look
-- params: 1 5 6 2 3 4 1
select available, limited,
  (select case when booking.event = ? and user_id = ? and quantity = ? then 1 else 2 end
   from booking where run = ? and worker = ? and sequence = ?) as kept
from event
where id = ?

-- name: look_limited
-- params: 1 5 6 2 3 4 1 5 1
select available, limited,
  (select case when booking.event = ? and user_id = ? and quantity = ? then 1 else 2 end
   from booking where run = ? and worker = ? and sequence = ?) as kept,
  case when exists (select 1 from booking where booking.event = ? and limited_to = ?) then 1 else 0 end as taken
from event
where id = ?

-- name: insert_booking
-- params: 1 2 3 4 5 6 7
insert ignore into booking (run, worker, sequence, event, user_id, quantity, limited_to, created)
values (?, ?, ?, ?, ?, ?, ?, cast(unix_timestamp(sysdate(6)) * 1000000 as signed))

-- name: take_tickets
-- params: 2 1 2
update event
set available = available - ?
where id = ? and available >= ?

-- name: read_booking
-- params: 1 2 3
select event, user_id, quantity
from booking
where run = ? and worker = ? and sequence = ?

-- name: read_event
-- params: 1
select stock, available
from event
where id = ?

-- name: insert_outbox
-- params: 1 2 3 4 5 6
insert into outbox (run, worker, sequence, event, user_id, quantity, created)
values (?, ?, ?, ?, ?, ?, cast(unix_timestamp(sysdate(6)) * 1000000 as signed))

-- name: take_lease
-- params: 1 2 1
update outbox_lease
set holder = ?, expires = cast(unix_timestamp(sysdate(6)) * 1000000 as signed) + ?
where id = 1 and (holder = ? or expires < cast(unix_timestamp(sysdate(6)) * 1000000 as signed))

-- name: read_clock
-- params:
select cast(unix_timestamp(sysdate(6)) * 1000000 as signed) as now_us

-- name: read_outbox
-- params: 1
select id, created, run, worker, sequence, event, user_id, quantity
from outbox
order by id
limit ?

-- name: remove_rows
-- params: 1
delete outbox
from json_table(?, '$[*]' columns (id bigint path '$')) as listed
straight_join outbox on outbox.id = listed.id
