-- What differs on PostgreSQL: times come from its clock, and a list in JSON is read by another function. As an array it is looked up
-- in the index, however many rows the table seems to have.

-- name: take_lease
update outbox_lease
set holder = ?1, expires = (extract(epoch from clock_timestamp()) * 1000000)::bigint + ?2
where id = 1 and (holder = ?1 or expires < (extract(epoch from clock_timestamp()) * 1000000)::bigint)

-- name: read_clock
select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us

-- name: remove_rows
delete from outbox
where id = any (array(select value::bigint from json_array_elements_text(?1::text::json) as listed(value)))
