-- What differs on MySQL's dialect, as MariaDB speaks it: times are datetimes in UTC.

-- name: insert_history
insert into pgbench_history (tid, bid, aid, delta, mtime)
values (?1, ?2, ?3, ?4, utc_timestamp())
