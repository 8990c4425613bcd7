-- What differs on PostgreSQL: it keeps branches of transactions over several databases until they are decided.

-- A branch that was prepared in this store is committed or rolled back in the end.
-- name: prepared_branches
select gid as branch
from pg_prepared_xacts
where database = current_database()

-- name: tallies
select 1 as sort, run, worker, count(*) as transfers, cast(sum(amount) as bigint) as units,
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint) as mixed
from transfer
where state <> 2
group by run, worker
union all
select 2, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from transfer
where state = 2
group by run, worker
union all
select 3, run, worker, count(*), cast(-sum(amount) as bigint), cast(sum(sequence * 48271 % 2147483647) as bigint)
from entry
where amount < 0
group by run, worker
union all
select 4, run, worker, count(*), cast(sum(amount) as bigint), cast(sum(sequence * 48271 % 2147483647) as bigint)
from entry
where amount > 0
group by run, worker
union all
select 12, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from transfer
where state = 2 and not exists (select 1 from shard_range where transfer.target between first_account and last_account)
group by run, worker
union all
select 7, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from transfer
where state = 3
group by run, worker
union all
select 8, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from transfer
where state = 4
group by run, worker
union all
select 9, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from transfer
where state = 5
group by run, worker
union all
select 10, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from inbox
where state = 1
group by run, worker
union all
select 11, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from inbox
where state = 2
group by run, worker
union all
select 13, run, worker, count(*), cast(sum(amount) as bigint), cast(sum(sequence * 48271 % 2147483647) as bigint)
from transfer
where state <> 2
group by run, worker
union all
select 14, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + account * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from entry
where amount > 0 and account <> source
group by run, worker
union all
select 15, run, worker, count(*), cast(sum(balance) as bigint),
  cast(sum((sequence + 1) * 48271 % 2147483647 * (balance * 16807 % 2147483647) % 2147483647) as bigint)
from transfer
group by run, worker
union all
select sort, run, worker, transfers, units, mixed
from forgotten
union all
select 5, 0, 0, count(*), cast(coalesce(sum(balance), 0) as bigint), 0
from account
union all
select 6, 0, 0, count(*), 0, 0
from pg_prepared_xacts
where database = current_database()
having count(*) > 0
order by 1, 2, 3
