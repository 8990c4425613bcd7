-- What differs on MariaDB: rows that are there already are passed over by other words, locks have other names, and rows of
-- values are not looked up in an index when they are compared, so that what follows a food is asked for in two steps.

-- name: insert_category
insert ignore into category (id, name, version)
values (?1, ?2, 1)

-- name: lock_category
select version
from category
where id = ?1
for update

-- name: hold_category
select 1
from category
where id = ?1
lock in share mode

-- name: lock_food
select version
from food
where id = ?1
for update

-- name: foods_by_name_after
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= ?2 and (name > ?2 or id > ?3)
order by name, id
limit ?1

-- name: foods_by_kcal_after
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where kcal >= ?2 and (kcal > ?2 or id > ?3)
order by kcal, id
limit ?1

-- name: category_foods_by_name_after
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = ?1 and name >= ?3 and (name > ?3 or id > ?4)
order by name, id
limit ?2

-- name: category_foods_by_kcal_after
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = ?1 and kcal >= ?3 and (kcal > ?3 or id > ?4)
order by kcal, id
limit ?2

-- name: search_foods_by_name_after
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= ?1 and name < ?2 and name >= ?4 and (name > ?4 or id > ?5)
order by name, id
limit ?3

-- name: search_foods_by_kcal_after
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= ?1 and name < ?2 and kcal >= ?4 and (kcal > ?4 or id > ?5)
order by kcal, id
limit ?3

-- name: insert_food
insert ignore into food (id, category, name, kcal, protein, fat, carbs, fibre, price, version)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1)

-- name: insert_foods rows: 50
insert ignore into food (id, category, name, kcal, protein, fat, carbs, fibre, price, version)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1)
