-- What differs on PostgreSQL: characters have numbers by another function, which takes no empty text everywhere.

-- name: stored
select 1 as place, count(*) as stored_rows, cast(coalesce(sum(version), 0) as bigint) as versions,
  cast(coalesce(sum(
    id % 2147483647 * 48271 % 2147483647
    * ((cast(version as bigint) * 16807
      + cast(length(name) + ascii(substr(name, 2, 1) || ' ') % 256 * 256
          + ascii(substr(name, (length(name) >> 1) + 1, 1) || ' ') % 256 * 32768 + ascii(right(name, 1) || ' ') % 256 * 4194304 as bigint) * 69621) % 2147483647) % 2147483647
  ), 0) as bigint) as mixed
from category
union all
select 2, count(*), cast(coalesce(sum(version), 0) as bigint),
  cast(coalesce(sum(
    id % 2147483647 * 48271 % 2147483647
    * ((cast(version as bigint) * 16807 + (cast(carbs as bigint) * 1048576 + cast(fat as bigint) * 1024 + protein) * 69621
      + (cast(length(name) + ascii(substr(name, 2, 1) || ' ') % 256 * 256
          + ascii(substr(name, (length(name) >> 1) + 1, 1) || ' ') % 256 * 32768 + ascii(right(name, 1) || ' ') % 256 * 4194304 as bigint) * 2097152
        + cast(coalesce(fibre + 1, 0) as bigint) * 1024 + kcal) % 2147483647 * 40692
      + category % 2147483647 * 39373) % 2147483647) % 2147483647
  ), 0) as bigint)
from food
order by 1
