-- The statements of a booking. Canonical form, which SQLite takes as it is; what differs on another engine is in
-- statements.ENGINE.sql under the same name. Parameters: ?1, ?2, …

-- Event ?1, and what is stored under the key ?2, ?3, ?4: 1 the same booking, of user ?5 and ?6 tickets; 2 another one; null none.
-- name: look
select available, limited,
  (select case when booking.event = ?1 and user_id = ?5 and quantity = ?6 then 1 else 2 end
   from booking where run = ?2 and worker = ?3 and sequence = ?4) as kept
from event
where id = ?1

-- The same, and whether the user has a booking of the event, which is limited. It is a statement of its own since events are not limited
-- by default, and PostgreSQL prepares a subquery in each execution, also where its result is not used.
-- name: look_limited
select available, limited,
  (select case when booking.event = ?1 and user_id = ?5 and quantity = ?6 then 1 else 2 end
   from booking where run = ?2 and worker = ?3 and sequence = ?4) as kept,
  case when exists (select 1 from booking where booking.event = ?1 and limited_to = ?5) then 1 else 0 end as taken
from event
where id = ?1

-- A key that is there already is left alone, and so is a user who has a booking of a limited event.
-- name: insert_booking
insert into booking (run, worker, sequence, event, user_id, quantity, limited_to, created)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, cast(unixepoch('subsec') * 1000000 as integer))
on conflict do nothing

-- name: take_tickets
update event
set available = available - ?2
where id = ?1 and available >= ?2

-- name: read_booking
select event, user_id, quantity
from booking
where run = ?1 and worker = ?2 and sequence = ?3

-- name: read_event
select stock, available
from event
where id = ?1

-- After the tickets are taken: bookings of an event then have numbers in the order in which they commit.
-- name: insert_outbox
insert into outbox (run, worker, sequence, event, user_id, quantity, created)
values (?1, ?2, ?3, ?4, ?5, ?6, cast(unixepoch('subsec') * 1000000 as integer))
