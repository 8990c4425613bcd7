-- The catalogue on SQLite. Tables are strict, so that a wrong type is an error and not a surprise; texts are compared byte by
-- byte, which is its default. Rows are clustered by their keys.

-- name: table_category
create table category (
  id integer primary key,
  name text not null,
  version integer not null
) strict

-- name: table_food
create table food (
  id integer primary key,
  category integer not null,
  name text not null,
  kcal integer not null,
  protein integer not null,
  fat integer not null,
  carbs integer not null,
  fibre integer,
  price integer not null,
  version integer not null
) strict

-- name: table_template
create table template (
  id integer primary key,
  name text not null
) strict

-- name: table_template_day
create table template_day (
  template integer not null,
  day integer not null,
  primary key (template, day)
) strict, without rowid

-- name: table_template_meal
create table template_meal (
  template integer not null,
  day integer not null,
  meal integer not null,
  name text not null,
  primary key (template, day, meal)
) strict, without rowid

-- name: table_template_item
create table template_item (
  template integer not null,
  day integer not null,
  meal integer not null,
  item integer not null,
  food integer not null,
  grams integer not null,
  primary key (template, day, meal, item)
) strict, without rowid

-- For each order of the list, with and without a category, and for what must not be removed while it is used.

-- name: index_food_name
create index food_name on food (name, id)

-- name: index_food_kcal
create index food_kcal on food (kcal, id)

-- name: index_food_category_name
create index food_category_name on food (category, name, id)

-- name: index_food_category_kcal
create index food_category_kcal on food (category, kcal, id)

-- name: index_template_item_food
create index template_item_food on template_item (food)
