-- What differs on MySQL's dialect, as MariaDB speaks it: times come from its clock, and a key that is there already is ignored
-- by another word.

-- name: insert_booking
insert ignore into booking (run, worker, sequence, event, user_id, quantity, limited_to, created)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, cast(unix_timestamp(sysdate(6)) * 1000000 as signed))

-- name: insert_outbox
insert into outbox (run, worker, sequence, event, user_id, quantity, created)
values (?1, ?2, ?3, ?4, ?5, ?6, cast(unix_timestamp(sysdate(6)) * 1000000 as signed))
