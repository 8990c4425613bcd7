-- What must hold in the stored data, whatever has run on it. An audit is a query: it returns the rows that violate a condition,
-- so it must return nothing.
--
-- Parameters, the same in all: ?1 events; ?2 the stock of each; ?3 every how-manieth of them is limited (0 for none); ?4 the
-- most tickets of one booking; ?5 the largest number of a user.

-- What was loaded is either available or booked.
-- name: event_stock
select event.id, event.stock, event.available, coalesce(b.tickets, 0) as booked, coalesce(b.bookings, 0) as bookings
from event
left join (
  select event, sum(quantity) as tickets, count(*) as bookings
  from booking
  group by event
) as b on b.event = event.id
where event.stock <> event.available + coalesce(b.tickets, 0)

-- name: oversold_events
select event.id, event.stock, event.available, coalesce(b.tickets, 0) as booked
from event
left join (
  select event, sum(quantity) as tickets
  from booking
  group by event
) as b on b.event = event.id
where event.available < 0 or coalesce(b.tickets, 0) > event.stock

-- name: limited_users
select booking.event, booking.user_id, count(*) as bookings
from booking
join event on event.id = booking.event
where event.limited = 1
group by booking.event, booking.user_id
having count(*) > 1

-- name: row_counts
select wanted, found, id_min, id_max
from (
  select ?1 * 1 as wanted, count(*) as found, min(id) as id_min, max(id) as id_max
  from event
) as counts
where found <> wanted or id_min <> 1 or id_max <> wanted or id_min is null

-- name: event_shape
select id, stock, available, limited
from event
where stock <> ?2
  or limited <> case when ?3 = 0 then 0 when id % (case when ?3 = 0 then 1 else ?3 end) = 0 then 1 else 0 end

-- A run has the number of nanoseconds since 1970 at its begin, and a row the microseconds since then by the clock of the engine. Other
-- callers may number their runs otherwise.
-- name: booking_shape
select booking.run, booking.worker, booking.sequence, booking.event, booking.user_id, booking.quantity
from booking
left join event on event.id = booking.event
where event.id is null or booking.quantity < 1 or booking.quantity > ?4 or booking.user_id < 1 or booking.user_id > ?5
  or booking.created <= 0
  or booking.run > 1577836800000000000 and booking.run < 4102444800000000000
    and (booking.created / 1000000 < booking.run / 1000000000 - 93600
      or booking.created / 1000000 > booking.run / 1000000000 + 2764800)
  or coalesce(booking.limited_to, 0) <> case when event.limited = 1 then booking.user_id else 0 end

-- What is still to be announced is a booking that is there.
-- name: outbox_rows
select outbox.id, outbox.run, outbox.worker, outbox.sequence, outbox.event, outbox.user_id, outbox.quantity
from outbox
left join booking on booking.run = outbox.run and booking.worker = outbox.worker and booking.sequence = outbox.sequence
where booking.run is null or booking.event <> outbox.event or booking.user_id <> outbox.user_id
  or booking.quantity <> outbox.quantity or outbox.created <= 0

-- For the ledger ---------------------------------------------------------------------------------------------------------

-- By run and worker, with count, tickets and mixed columns: bookings (1), and what is still to be announced of them (3); and events (2)
-- with the tickets that they have left.
-- name: tallies
select 1 as sort, run, worker, count(*) as bookings, cast(sum(quantity) as bigint) as tickets,
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((event * 16807 + user_id * 69621 + quantity * 40692) % 2147483647) % 2147483647
  ) as bigint) as mixed
from booking
group by run, worker
union all
select 2, 0, 0, count(*), cast(coalesce(sum(available), 0) as bigint), 0
from event
union all
select 3, run, worker, count(*), cast(sum(quantity) as bigint), cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((event * 16807 + user_id * 69621 + quantity * 40692) % 2147483647) % 2147483647
  ) as bigint)
from outbox
group by run, worker
order by 1, 2, 3

-- What is stored under the key of run ?1, worker ?2 and sequence ?3.
-- name: stored_booking
select quantity
from booking
where run = ?1 and worker = ?2 and sequence = ?3

-- What user ?2 has booked of event ?1, which is limited.
-- name: booking_of_user
select quantity
from booking
where event = ?1 and limited_to = ?2
