-- What differs on PostgreSQL: times come from its clock.

-- name: insert_booking
insert into booking (run, worker, sequence, event, user_id, quantity, limited_to, created)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
on conflict do nothing

-- name: insert_outbox
insert into outbox (run, worker, sequence, event, user_id, quantity, created)
values (?1, ?2, ?3, ?4, ?5, ?6, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
