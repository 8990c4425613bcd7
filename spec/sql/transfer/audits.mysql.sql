-- What differs on MySQL's dialect, as MariaDB speaks it: whole numbers of 64 bits are cast to by another name.

-- name: tallies
select 1 as sort, run, worker, count(*) as transfers, cast(sum(amount) as signed) as units,
  cast(sum(sequence * 48271 % 2147483647) as signed) as mixed
from transfer
where state = 1
group by run, worker
union all
select 2, run, worker, count(*), cast(sum(amount) as signed), cast(sum(sequence * 48271 % 2147483647) as signed)
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
select 5, 0, 0, count(*), cast(coalesce(sum(balance), 0) as signed), 0
from account
order by 1, 2, 3
