-- The catalogue on PostgreSQL. Names are compared byte by byte, whatever the locale of the database.

-- name: table_category
create table category (
  id bigint primary key,
  name varchar(48) collate "C" not null,
  version int not null
)

-- name: table_food
create table food (
  id bigint primary key,
  category bigint not null,
  name varchar(48) collate "C" not null,
  kcal int not null,
  protein int not null,
  fat int not null,
  carbs int not null,
  fibre int,
  price int not null,
  version int not null
)

-- name: table_template
create table template (
  id bigint primary key,
  name varchar(48) collate "C" not null
)

-- name: table_template_day
create table template_day (
  template bigint not null,
  day int not null,
  primary key (template, day)
)

-- name: table_template_meal
create table template_meal (
  template bigint not null,
  day int not null,
  meal int not null,
  name varchar(48) collate "C" not null,
  primary key (template, day, meal)
)

-- name: table_template_item
create table template_item (
  template bigint not null,
  day int not null,
  meal int not null,
  item int not null,
  food bigint not null,
  grams int not null,
  primary key (template, day, meal, item)
)

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

-- References are made only when they are asked for: each costs a look-up a row. The rules that they would hold are the
-- service's own (a category in use, a food in use, a category that is not there).

-- name: reference_food_category
alter table food add constraint food_category_fkey foreign key (category) references category (id)

-- name: reference_day_template
alter table template_day add constraint template_day_fkey foreign key (template) references template (id)

-- name: reference_meal_day
alter table template_meal add constraint template_meal_fkey foreign key (template, day) references template_day (template, day)

-- name: reference_item_meal
alter table template_item add constraint template_item_meal_fkey foreign key (template, day, meal) references template_meal (template, day, meal)

-- name: reference_item_food
alter table template_item add constraint template_item_food_fkey foreign key (food) references food (id)
