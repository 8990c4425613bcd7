-- What differs on PostgreSQL: SQLite has one writer at a time, and needs no locks on rows.

-- name: lock_category
select version
from category
where id = ?1
for update

-- name: hold_category
select 1
from category
where id = ?1
for key share

-- name: lock_food
select version
from food
where id = ?1
for update
