-- What must hold in the tables of the catalogue, whatever has run on them. An audit is a query that returns the rows that
-- violate a condition, so it must return nothing.
--
-- Parameters, the same in all: ?1 categories; ?2 foods; ?3 templates; ?4 days of a template; ?5 meals of a day; ?6 items of
-- all templates. Rows that calls create have ids above those that were loaded.

-- name: row_counts
select catalogue_table, wanted, found
from (
  select 'category' as catalogue_table, ?1 * 1 as wanted, count(*) as found from category where id <= ?1
  union all
  select 'food', ?2 * 1, count(*) from food where id <= ?2
  union all
  select 'template', ?3 * 1, count(*) from template
  union all
  select 'template_day', ?3 * ?4, count(*) from template_day
  union all
  select 'template_meal', ?3 * ?4 * ?5, count(*) from template_meal
  union all
  select 'template_item', ?6 * 1, count(*) from template_item
) as counts
where found <> wanted

-- name: food_references
select food.id, food.category
from food
left join category on category.id = food.category
where category.id is null
order by food.id

-- name: food_values
select id, kcal, protein, fat, carbs, fibre, price
from food
where kcal not between 0 and 900
  or protein < 0 or fat < 0 or carbs < 0 or protein + fat + carbs > 1000
  or coalesce(fibre, 0) not between 0 and 1000
  or price not between 0 and 1000000
order by id

-- A price is a function of the food and its version, so a write that was lost or came twice shows.
-- name: food_versions
select id, version, price
from food
where price <> 100 + ((id % 900) * 7 + (version % 900) * 13) % 900
order by id

-- name: versions
select 'category' as catalogue_table, id, version
from category
where version < 1
union all
select 'food', id, version
from food
where version < 1

-- name: template_references
select 'template_day' as catalogue_table, d.template, d.day, 0 as meal, 0 as food
from template_day as d
left join template as t on t.id = d.template
where t.id is null
union all
select 'template_meal', m.template, m.day, m.meal, 0
from template_meal as m
left join template_day as d on d.template = m.template and d.day = m.day
where d.template is null
union all
select 'template_item', i.template, i.day, i.meal, i.food
from template_item as i
left join template_meal as m on m.template = i.template and m.day = i.day and m.meal = i.meal
left join food as f on f.id = i.food
where m.template is null or f.id is null

-- Not an audit: rows, the sum of their versions and a checksum of ids, versions and names, of each table that calls change; of
-- foods also of nutrients and categories. Of a name its length and its second, middle and last character.
-- name: stored
select 1 as place, count(*) as stored_rows, cast(coalesce(sum(version), 0) as bigint) as versions,
  cast(coalesce(sum(
    id % 2147483647 * 48271 % 2147483647
    * ((cast(version as bigint) * 16807
      + cast(length(name) + coalesce(unicode(substr(name, 2, 1)), 0) % 256 * 256
          + coalesce(unicode(substr(name, (length(name) >> 1) + 1, 1)), 0) % 256 * 32768 + coalesce(unicode(substr(name, -1)), 0) % 256 * 4194304 as bigint) * 69621) % 2147483647) % 2147483647
  ), 0) as bigint) as mixed
from category
union all
select 2, count(*), cast(coalesce(sum(version), 0) as bigint),
  cast(coalesce(sum(
    id % 2147483647 * 48271 % 2147483647
    * ((cast(version as bigint) * 16807 + (cast(carbs as bigint) * 1048576 + cast(fat as bigint) * 1024 + protein) * 69621
      + (cast(length(name) + coalesce(unicode(substr(name, 2, 1)), 0) % 256 * 256
          + coalesce(unicode(substr(name, (length(name) >> 1) + 1, 1)), 0) % 256 * 32768 + coalesce(unicode(substr(name, -1)), 0) % 256 * 4194304 as bigint) * 2097152
        + cast(coalesce(fibre + 1, 0) as bigint) * 1024 + kcal) % 2147483647 * 40692
      + category % 2147483647 * 39373) % 2147483647) % 2147483647
  ), 0) as bigint)
from food
order by 1
