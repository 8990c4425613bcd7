-- What differs on PostgreSQL: dates are read as seconds.

-- name: history_dates
select bid, count(*) as row_count, cast(extract(epoch from min(mtime)) as bigint) as earliest,
  cast(extract(epoch from max(mtime)) as bigint) as latest
from pgbench_history
where mtime < timestamp '1970-01-01' + ?5 * interval '1 second'
  or mtime > timestamp '1970-01-01' + ?6 * interval '1 second'
group by bid
order by bid
