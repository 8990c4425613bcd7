-- What differs on PostgreSQL: times are timestamps of a session in UTC.

-- name: insert_history
insert into pgbench_history (tid, bid, aid, delta, mtime)
values (?1, ?2, ?3, ?4, current_timestamp)
