-- What differs on MySQL's dialect, as MariaDB speaks it: whole numbers of 64 bits are cast to by another name.

-- name: tallies
select 1 as sort, run, worker, count(*) as bookings, cast(sum(quantity) as signed) as tickets,
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((event * 16807 + user_id * 69621 + quantity * 40692) % 2147483647) % 2147483647
  ) as signed) as mixed
from booking
group by run, worker
union all
select 2, 0, 0, count(*), cast(coalesce(sum(available), 0) as signed), 0
from event
union all
select 3, run, worker, count(*), cast(sum(quantity) as signed), cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((event * 16807 + user_id * 69621 + quantity * 40692) % 2147483647) % 2147483647
  ) as signed)
from outbox
group by run, worker
order by 1, 2, 3
