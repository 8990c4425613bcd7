-- The statements of the relay of an outbox. Canonical form, which SQLite takes as it is; what differs on another engine is in
-- relay.ENGINE.sql under the same name. Parameters: ?1, ?2, ...

-- For the relay ?1, for ?2 microseconds from now on: if it is that one's already, or has run out.
-- name: take_lease
update outbox_lease
set holder = ?1, expires = cast(unixepoch('subsec') * 1000000 as integer) + ?2
where id = 1 and (holder = ?1 or expires < cast(unixepoch('subsec') * 1000000 as integer))

-- name: read_clock
select cast(unixepoch('subsec') * 1000000 as integer) as now_us

-- The first ?1 rows.
-- name: read_outbox
select id, created, run, worker, sequence, event, user_id, quantity
from outbox
order by id
limit ?1

-- Those whose numbers are in the list ?1.
-- name: remove_rows
delete from outbox
where id in (select value from json_each(?1))
