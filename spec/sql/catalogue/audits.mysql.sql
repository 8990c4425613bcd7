-- What differs on MySQL's dialect, as MariaDB speaks it: whole numbers of 64 bits are cast to by another name.

-- name: stored
select 1 as place, count(*) as stored_rows, cast(coalesce(sum(version), 0) as signed) as versions,
  cast(coalesce(sum(id % 2147483647 * 48271 % 2147483647 * (version * 16807 % 2147483647) % 2147483647), 0) as signed) as mixed
from category
union all
select 2, count(*), cast(coalesce(sum(version), 0) as signed),
  cast(coalesce(sum(
    id % 2147483647 * 48271 % 2147483647
    * ((version * 16807 + (protein + fat * 1024 + carbs * 1048576) * 69621
      + (kcal + coalesce(fibre + 1, 0) * 1024 + char_length(name) * 2097152) * 40692) % 2147483647) % 2147483647
  ), 0) as signed)
from food
order by 1
