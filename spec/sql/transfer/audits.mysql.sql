-- What differs on MySQL's dialect, as MariaDB speaks it: whole numbers of 64 bits are cast to by another name and divided by
-- another operator, and branches of transactions over several databases are kept until they are decided. Those whose owner has
-- gone have no thread; the engine does not say of which database they are.

-- The engine has short transactions of its own without a thread, so that a branch is one that is still there after a second.
-- name: prepare_branches
create temporary table noted_branch (branch bigint unsigned not null)

-- name: prepare_branches_rows
insert into noted_branch
select trx_id
from information_schema.innodb_trx
where trx_mysql_thread_id = 0

-- name: prepare_branches_wait
select sleep(least(count(*), 1))
from noted_branch

-- A branch that was prepared in this store is committed or rolled back in the end.
-- name: prepared_branches
select branch
from information_schema.innodb_trx
join noted_branch on branch = trx_id
where trx_mysql_thread_id = 0

-- name: tallies
select 1 as sort, run, worker, count(*) as transfers, cast(sum(amount) as signed) as units,
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as signed) as mixed
from transfer
where state <> 2
group by run, worker
union all
select 2, run, worker, count(*), cast(sum(amount) as signed),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as signed)
from transfer
where state = 2
group by run, worker
union all
select 3, run, worker, count(*), cast(-sum(amount) as signed), cast(sum(sequence * 48271 % 2147483647) as signed)
from entry
where amount < 0
group by run, worker
union all
select 4, run, worker, count(*), cast(sum(amount) as signed), cast(sum(sequence * 48271 % 2147483647) as signed)
from entry
where amount > 0
group by run, worker
union all
select 12, run, worker, count(*), cast(sum(amount) as signed),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as signed)
from transfer
where state = 2 and not exists (select 1 from shard_range where transfer.target between first_account and last_account)
group by run, worker
union all
select 7, run, worker, count(*), cast(sum(amount) as signed),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as signed)
from transfer
where state = 3
group by run, worker
union all
select 8, run, worker, count(*), cast(sum(amount) as signed),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as signed)
from transfer
where state = 4
group by run, worker
union all
select 9, run, worker, count(*), cast(sum(amount) as signed),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as signed)
from transfer
where state = 5
group by run, worker
union all
select 10, run, worker, count(*), cast(sum(amount) as signed),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as signed)
from inbox
where state = 1
group by run, worker
union all
select 11, run, worker, count(*), cast(sum(amount) as signed),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as signed)
from inbox
where state = 2
group by run, worker
union all
select 13, run, worker, count(*), cast(sum(amount) as signed), cast(sum(sequence * 48271 % 2147483647) as signed)
from transfer
where state <> 2
group by run, worker
union all
select 14, run, worker, count(*), cast(sum(amount) as signed),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + account * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as signed)
from entry
where amount > 0 and account <> source
group by run, worker
union all
select 15, run, worker, count(*), cast(sum(balance) as signed),
  cast(sum((sequence + 1) * 48271 % 2147483647 * (balance * 16807 % 2147483647) % 2147483647) as signed)
from transfer
group by run, worker
union all
select sort, run, worker, transfers, units, mixed
from forgotten
union all
select 5, 0, 0, count(*), cast(coalesce(sum(balance), 0) as signed), 0
from account
union all
select 6, 0, 0, count(*), 0, 0
from information_schema.innodb_trx
where trx_mysql_thread_id = 0
having count(*) > 0
order by 1, 2, 3

-- name: settlement
select 1 as sort, (settled - created) div 100 as number, count(*) as transfers
from transfer
where state in (4, 5) and created >= ?1 and created < ?2
group by 2
union all
select 2, 0, count(*)
from transfer
where state = 5 and created >= ?1 and created < ?2
union all
select 3, (created - ?1) div 1000000, count(*)
from transfer
where state in (3, 4, 5) and created >= ?1 and created < ?2
group by 2
union all
select 4, (settled - ?1) div 1000000, count(*)
from transfer
where state in (4, 5) and settled >= ?1 and settled < ?2
group by 2
union all
select 5, 0, count(*)
from transfer
where state in (3, 4, 5) and created < ?1 and (settled = 0 or settled >= ?1)

-- name: totals
select count(*), cast(coalesce(sum(id % 2147483647 * (balance % 2147483647) % 2147483647), 0) as signed)
from account
