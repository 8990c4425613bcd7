-- What differs on MySQL's dialect, as MariaDB speaks it: times come from its clock, and a list in JSON is read as a table.

-- name: take_lease
update outbox_lease
set holder = ?1, expires = cast(unix_timestamp(sysdate(6)) * 1000000 as signed) + ?2
where id = 1 and (holder = ?1 or expires < cast(unix_timestamp(sysdate(6)) * 1000000 as signed))

-- name: read_clock
select cast(unix_timestamp(sysdate(6)) * 1000000 as signed) as now_us

-- name: remove_rows
delete outbox
from json_table(?1, '$[*]' columns (id bigint path '$')) as listed
straight_join outbox on outbox.id = listed.id
