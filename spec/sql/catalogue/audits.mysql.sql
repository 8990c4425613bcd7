-- What differs on MySQL's dialect, as MariaDB speaks it: whole numbers of 64 bits are cast to by another name,
-- and characters have numbers by another function.

-- name: stored
select 1 as place, count(*) as stored_rows, cast(coalesce(sum(version), 0) as signed) as versions,
  cast(coalesce(sum(
    id % 2147483647 * 48271 % 2147483647
    * ((version * 16807
      + (length(name) + ascii(substr(name, 2, 1)) * 256
          + ascii(substr(name, (length(name) >> 1) + 1, 1)) * 32768 + ascii(right(name, 1)) * 4194304) * 69621) % 2147483647) % 2147483647
  ), 0) as signed) as mixed
from category
union all
select 2, count(*), cast(coalesce(sum(version), 0) as signed),
  cast(coalesce(sum(
    id % 2147483647 * 48271 % 2147483647
    * ((version * 16807 + (carbs * 1048576 + fat * 1024 + protein) * 69621
      + ((length(name) + ascii(substr(name, 2, 1)) * 256
          + ascii(substr(name, (length(name) >> 1) + 1, 1)) * 32768 + ascii(right(name, 1)) * 4194304) * 2097152
        + coalesce(fibre + 1, 0) * 1024 + kcal) % 2147483647 * 40692
      + category % 2147483647 * 39373) % 2147483647) % 2147483647
  ), 0) as signed)
from food
order by 1
