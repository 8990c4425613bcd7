-- What differs on MySQL's dialect, as MariaDB speaks it: times come from its clock, and sums are whole numbers when they are cast.

-- name: range_young
select cast(unix_timestamp(sysdate(6)) * 1000000 as signed) - ?5 as made_before, cast(coalesce(sum(case when state = 3 or created >= cast(unix_timestamp(sysdate(6)) * 1000000 as signed) - ?5 then 1 else 0 end), 0) as signed) as young
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4

-- name: lock_forgetting
select first_account
from shard_range
order by first_account
limit 1
for update

-- name: sum_transfers
insert into forgotten (sort, run, worker, transfers, units, mixed)
select 1, run, worker, count(*), sum(amount),
  sum((sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647)
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and created < ?5 and state in (1, 4, 5)
group by run, worker
union all
select 13, run, worker, count(*), sum(amount), sum(sequence * 48271 % 2147483647)
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and created < ?5 and state in (1, 4, 5)
group by run, worker
union all
select 2, run, worker, count(*), sum(amount),
  sum((sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647)
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and created < ?5 and state = 2
group by run, worker
union all
select 12, run, worker, count(*), sum(amount),
  sum((sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647)
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and created < ?5 and state = 2
  and not exists (select 1 from shard_range where transfer.target between first_account and last_account)
group by run, worker
union all
select 8, run, worker, count(*), sum(amount),
  sum((sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647)
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and created < ?5 and state = 4
group by run, worker
union all
select 9, run, worker, count(*), sum(amount),
  sum((sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647)
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and created < ?5 and state = 5
group by run, worker
on duplicate key update
  transfers = forgotten.transfers + values(transfers),
  units = forgotten.units + values(units),
  mixed = forgotten.mixed + values(mixed)

-- name: sum_inbox
insert into forgotten (sort, run, worker, transfers, units, mixed)
select state + 9, run, worker, count(*), sum(amount),
  sum((sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647)
from inbox
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and source between ?5 and ?6
group by run, worker, state
on duplicate key update
  transfers = forgotten.transfers + values(transfers),
  units = forgotten.units + values(units),
  mixed = forgotten.mixed + values(mixed)
