-- What differs on PostgreSQL: times come from its clock.

-- name: range_young
select (extract(epoch from clock_timestamp()) * 1000000)::bigint - ?5 as made_before, cast(coalesce(sum(case when state = 3 or created >= (extract(epoch from clock_timestamp()) * 1000000)::bigint - ?5 then 1 else 0 end), 0) as bigint) as young
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4

-- name: lock_forgetting
select first_account
from shard_range
order by first_account
limit 1
for update
