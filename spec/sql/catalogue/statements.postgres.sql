-- What differs on PostgreSQL: SQLite has one writer at a time, and needs no locks on rows. A version that is asked for may be greater
-- than any that a column holds; its type is said, because that of the column would have no room for it.

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

-- name: update_category
update category
set name = ?3, version = version + 1
where id = ?1 and version = ?2::bigint

-- name: update_food
update food
set name = ?3, kcal = ?4, protein = ?5, fat = ?6, carbs = ?7, fibre = ?8, price = ?9, version = version + 1
where id = ?1 and version = ?2::bigint
