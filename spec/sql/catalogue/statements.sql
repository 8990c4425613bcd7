-- The statements of the catalogue, in their canonical form; engines that need another form have it in a file of their own.
-- Names hold the characters a-z, 0-9, space and hyphen only, and are compared byte by byte.

-- name: categories
select id, name, version
from category
order by id

-- name: category
select id, name, version
from category
where id = ?1

-- name: insert_category
insert into category (id, name, version)
values (?1, ?2, 1)
on conflict (id) do nothing

-- name: update_category
update category
set name = ?3, version = version + 1
where id = ?1 and version = ?2

-- Before a category is removed: nothing may come into it from here on.
-- name: lock_category
select version
from category
where id = ?1

-- Before a food comes into a category: it may not be removed from here on.
-- name: hold_category
select 1
from category
where id = ?1

-- name: food_of_category
select 1
from food
where category = ?1
limit 1

-- name: delete_category
delete from category
where id = ?1

-- name: food
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where id = ?1

-- The list: each filter in each order, by page and from behind a food on. First come the parameters of the filter, then the
-- size, then where to begin. The id decides between equals.

-- name: foods_by_name_page
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
order by name, id
limit ?1 offset ?2

-- name: foods_by_name_after
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where (name, id) > (?2, ?3)
order by name, id
limit ?1

-- name: foods_by_kcal_page
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
order by kcal, id
limit ?1 offset ?2

-- name: foods_by_kcal_after
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where (kcal, id) > (?2, ?3)
order by kcal, id
limit ?1

-- name: count_foods
select count(*)
from food

-- name: category_foods_by_name_page
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = ?1
order by name, id
limit ?2 offset ?3

-- name: category_foods_by_name_after
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = ?1 and (name, id) > (?3, ?4)
order by name, id
limit ?2

-- name: category_foods_by_kcal_page
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = ?1
order by kcal, id
limit ?2 offset ?3

-- name: category_foods_by_kcal_after
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = ?1 and (kcal, id) > (?3, ?4)
order by kcal, id
limit ?2

-- name: count_category_foods
select count(*)
from food
where category = ?1

-- name: search_foods_by_name_page
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= ?1 and name < ?2
order by name, id
limit ?3 offset ?4

-- name: search_foods_by_name_after
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= ?1 and name < ?2 and (name, id) > (?4, ?5)
order by name, id
limit ?3

-- name: search_foods_by_kcal_page
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= ?1 and name < ?2
order by kcal, id
limit ?3 offset ?4

-- name: search_foods_by_kcal_after
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= ?1 and name < ?2 and (kcal, id) > (?4, ?5)
order by kcal, id
limit ?3

-- name: count_search_foods
select count(*)
from food
where name >= ?1 and name < ?2

-- name: insert_food
insert into food (id, category, name, kcal, protein, fat, carbs, fibre, price, version)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1)
on conflict (id) do nothing

-- name: insert_foods rows: 50
insert into food (id, category, name, kcal, protein, fat, carbs, fibre, price, version)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1)
on conflict (id) do nothing

-- name: update_food
update food
set name = ?3, kcal = ?4, protein = ?5, fat = ?6, carbs = ?7, fibre = ?8, price = ?9, version = version + 1
where id = ?1 and version = ?2

-- name: lock_food
select version
from food
where id = ?1

-- name: item_of_food
select 1
from template_item
where food = ?1
limit 1

-- name: delete_food
delete from food
where id = ?1

-- A template with all that is in it, in one join; days without meals and meals without items are rows as well.
-- name: template_full
select template.name, d.day, m.meal, coalesce(m.name, ''), f.id, coalesce(f.name, ''), coalesce(f.kcal, 0), coalesce(i.grams, 0)
from template
left join template_day as d on d.template = template.id
left join template_meal as m on m.template = d.template and m.day = d.day
left join template_item as i on i.template = m.template and i.day = m.day and i.meal = m.meal
left join food as f on f.id = i.food
where template.id = ?1
order by d.day, m.meal, i.item

-- The same with a query for each table.

-- name: template
select name
from template
where id = ?1

-- name: template_days
select day
from template_day
where template = ?1
order by day

-- name: template_meals
select day, meal, name
from template_meal
where template = ?1
order by day, meal

-- name: template_items
select i.day, i.meal, f.id, f.name, f.kcal, i.grams
from template_item as i
join food as f on f.id = i.food
where i.template = ?1
order by i.day, i.meal, i.item

-- And with a query for each thing: the days are those of `template_days`.

-- name: meals_of_day
select meal, name
from template_meal
where template = ?1 and day = ?2
order by meal

-- name: items_of_meal
select food, grams
from template_item
where template = ?1 and day = ?2 and meal = ?3
order by item

-- name: food_of_item
select name, kcal
from food
where id = ?1
