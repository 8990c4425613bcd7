/* What each call of the catalogue does on a connection, and its answer: rows become JSON where they lie. */
#include "catalogue.h"

enum {
  S_CATEGORIES,
  S_CATEGORY,
  S_INSERT_CATEGORY,
  S_UPDATE_CATEGORY,
  S_LOCK_CATEGORY,
  S_HOLD_CATEGORY,
  S_FOOD_OF_CATEGORY,
  S_DELETE_CATEGORY,
  S_FOOD,
  S_FOODS_BY_NAME_PAGE,
  S_FOODS_BY_NAME_AFTER,
  S_FOODS_BY_KCAL_PAGE,
  S_FOODS_BY_KCAL_AFTER,
  S_CATEGORY_FOODS_BY_NAME_PAGE,
  S_CATEGORY_FOODS_BY_NAME_AFTER,
  S_CATEGORY_FOODS_BY_KCAL_PAGE,
  S_CATEGORY_FOODS_BY_KCAL_AFTER,
  S_SEARCH_FOODS_BY_NAME_PAGE,
  S_SEARCH_FOODS_BY_NAME_AFTER,
  S_SEARCH_FOODS_BY_KCAL_PAGE,
  S_SEARCH_FOODS_BY_KCAL_AFTER,
  S_COUNT_FOODS,
  S_COUNT_CATEGORY_FOODS,
  S_COUNT_SEARCH_FOODS,
  S_INSERT_FOOD,
  S_INSERT_FOODS,
  S_UPDATE_FOOD,
  S_LOCK_FOOD,
  S_ITEM_OF_FOOD,
  S_DELETE_FOOD,
  S_TEMPLATE_FULL,
  STATEMENTS
};

static const char *const STATEMENT_NAMES[STATEMENTS] = {
    [S_CATEGORIES] = "categories",
    [S_CATEGORY] = "category",
    [S_INSERT_CATEGORY] = "insert_category",
    [S_UPDATE_CATEGORY] = "update_category",
    [S_LOCK_CATEGORY] = "lock_category",
    [S_HOLD_CATEGORY] = "hold_category",
    [S_FOOD_OF_CATEGORY] = "food_of_category",
    [S_DELETE_CATEGORY] = "delete_category",
    [S_FOOD] = "food",
    [S_FOODS_BY_NAME_PAGE] = "foods_by_name_page",
    [S_FOODS_BY_NAME_AFTER] = "foods_by_name_after",
    [S_FOODS_BY_KCAL_PAGE] = "foods_by_kcal_page",
    [S_FOODS_BY_KCAL_AFTER] = "foods_by_kcal_after",
    [S_CATEGORY_FOODS_BY_NAME_PAGE] = "category_foods_by_name_page",
    [S_CATEGORY_FOODS_BY_NAME_AFTER] = "category_foods_by_name_after",
    [S_CATEGORY_FOODS_BY_KCAL_PAGE] = "category_foods_by_kcal_page",
    [S_CATEGORY_FOODS_BY_KCAL_AFTER] = "category_foods_by_kcal_after",
    [S_SEARCH_FOODS_BY_NAME_PAGE] = "search_foods_by_name_page",
    [S_SEARCH_FOODS_BY_NAME_AFTER] = "search_foods_by_name_after",
    [S_SEARCH_FOODS_BY_KCAL_PAGE] = "search_foods_by_kcal_page",
    [S_SEARCH_FOODS_BY_KCAL_AFTER] = "search_foods_by_kcal_after",
    [S_COUNT_FOODS] = "count_foods",
    [S_COUNT_CATEGORY_FOODS] = "count_category_foods",
    [S_COUNT_SEARCH_FOODS] = "count_search_foods",
    [S_INSERT_FOOD] = "insert_food",
    [S_INSERT_FOODS] = "insert_foods",
    [S_UPDATE_FOOD] = "update_food",
    [S_LOCK_FOOD] = "lock_food",
    [S_ITEM_OF_FOOD] = "item_of_food",
    [S_DELETE_FOOD] = "delete_food",
    [S_TEMPLATE_FULL] = "template_full",
};

const char *const *catalogue_statements(enum engine engine, size_t *count) {
  (void)engine;
  *count = STATEMENTS;
  return STATEMENT_NAMES;
}

bool catalogue_measure(struct conn *conn, enum engine engine, struct extent *into) {
  /* No call makes or removes a template, as calls do with foods: how many there are says how much was loaded. */
  static const char question[] = "select count(*) from template";
  enum { TEMPLATES_A_THOUSAND_FOODS = 60 };
  int64_t templates;
  bool read =
      engine == ENGINE_POSTGRES ? postgres_ask(conn, question, &templates, 1) : mariadb_ask(conn, question, &templates, 1);
  if (!read) {
    return false;
  }
  /* The unit is thousands of foods; the data of the golden vectors has fewer. */
  uint64_t scale = (uint64_t)templates / TEMPLATES_A_THOUSAND_FOODS;
  *into = (struct extent){.scale = scale < 1 ? 1 : scale};
  return true;
}

/* Why a call is declined. */
struct decline {
  unsigned status;
  const char *type;
  const char *title;
};

static const struct decline NO_CATEGORY = {404, "no-such-category", "there is no such category"};
static const struct decline NO_FOOD = {404, "no-such-food", "there is no such food"};
static const struct decline NO_TEMPLATE = {404, "no-such-template", "there is no such template"};
static const struct decline STALE = {412, "stale-version", "it has another version by now"};
static const struct decline CATEGORY_EXISTS = {409, "category-exists", "a category with this id is there already"};
static const struct decline FOOD_EXISTS = {409, "food-exists", "a food with this id is there already"};
static const struct decline CATEGORY_IN_USE = {409, "category-in-use", "foods belong to this category"};
static const struct decline FOOD_IN_USE = {409, "food-in-use", "templates use this food"};
static const struct decline UNKNOWN_CATEGORY = {422, "unknown-category",
                                                "the category that the food is to belong to does not exist"};

static enum ended declined(const struct decline *why, struct outcome *outcome) {
  struct problem problem = {.status = why->status,
                            .type = why->type,
                            .title = why->title,
                            .detail = "the call was declined, and changed nothing"};
  outcome->status = why->status;
  outcome->is_problem = true;
  outcome->version = 0;
  buffer_clear(&outcome->body);
  problem_write(&problem, &outcome->body);
  return ENDED_ROLLBACK;
}

static enum ended stored(int64_t version, struct outcome *outcome) {
  outcome->status = version == 1 ? 201 : 200;
  outcome->version = version;
  buffer_literal(&outcome->body, "{\"version\":");
  buffer_number(&outcome->body, version);
  buffer_literal(&outcome->body, "}");
  return ENDED_COMMIT;
}

static void write_category(struct conn *conn, struct buffer *into) {
  buffer_literal(into, "{\"id\":");
  buffer_number(into, conn_number(conn, 0));
  buffer_literal(into, ",\"name\":");
  buffer_string(into, conn_text(conn, 1));
  buffer_literal(into, ",\"version\":");
  buffer_number(into, conn_number(conn, 2));
  buffer_literal(into, "}");
}

/* Columns of a food, in the order of every statement that reads one. */
enum { C_ID, C_CATEGORY, C_NAME, C_KCAL, C_PROTEIN, C_FAT, C_CARBS, C_FIBRE, C_PRICE, C_VERSION };

static void write_food(struct conn *conn, struct buffer *into) {
  buffer_literal(into, "{\"id\":");
  buffer_number(into, conn_number(conn, C_ID));
  buffer_literal(into, ",\"category\":");
  buffer_number(into, conn_number(conn, C_CATEGORY));
  buffer_literal(into, ",\"name\":");
  buffer_string(into, conn_text(conn, C_NAME));
  buffer_literal(into, ",\"kcal\":");
  buffer_number(into, conn_number(conn, C_KCAL));
  buffer_literal(into, ",\"protein\":");
  buffer_number(into, conn_number(conn, C_PROTEIN));
  buffer_literal(into, ",\"fat\":");
  buffer_number(into, conn_number(conn, C_FAT));
  buffer_literal(into, ",\"carbs\":");
  buffer_number(into, conn_number(conn, C_CARBS));
  buffer_literal(into, ",\"fibre\":");
  if (conn_is_null(conn, C_FIBRE)) {
    buffer_literal(into, "null");
  } else {
    buffer_number(into, conn_number(conn, C_FIBRE));
  }
  buffer_literal(into, ",\"price\":");
  buffer_number(into, conn_number(conn, C_PRICE));
  buffer_literal(into, ",\"version\":");
  buffer_number(into, conn_number(conn, C_VERSION));
  buffer_literal(into, "}");
}

/* Writes what is left of an answer's rows as the items of an array. */
static void write_rows(struct conn *conn, void (*write)(struct conn *, struct buffer *), struct buffer *into) {
  for (bool first = true; conn_next(conn); first = false) {
    if (!first) {
      buffer_literal(into, ",");
    }
    write(conn, into);
  }
}

static enum ended categories(struct conn *conn, struct outcome *outcome) {
  conn_rows(conn, S_CATEGORIES, NULL);
  buffer_literal(&outcome->body, "{\"categories\":[");
  write_rows(conn, write_category, &outcome->body);
  buffer_literal(&outcome->body, "]}");
  return ENDED_COMMIT;
}

static enum ended category(struct conn *conn, const struct catalogue_call *call, struct outcome *outcome) {
  const struct param id[] = {NUMBER(call->id)};
  if (!conn_row(conn, S_CATEGORY, id)) {
    return declined(&NO_CATEGORY, outcome);
  }
  write_category(conn, &outcome->body);
  outcome->version = conn_number(conn, 2);
  return ENDED_COMMIT;
}

static enum ended food(struct conn *conn, const struct catalogue_call *call, struct outcome *outcome) {
  const struct param id[] = {NUMBER(call->id)};
  if (!conn_row(conn, S_FOOD, id)) {
    return declined(&NO_FOOD, outcome);
  }
  write_food(conn, &outcome->body);
  outcome->version = conn_number(conn, C_VERSION);
  return ENDED_COMMIT;
}

static enum ended create_category(struct conn *conn, const struct catalogue_call *call, struct outcome *outcome) {
  const struct param row[] = {NUMBER(call->id), STRING(name_text(&call->name))};
  if (conn_change(conn, S_INSERT_CATEGORY, row) == 0) {
    return declined(&CATEGORY_EXISTS, outcome);
  }
  return stored(1, outcome);
}

/* The version as its column can hold it. What is out of the column's range no row has, and none has 0. */
static int64_t version_of(const struct catalogue_call *call) { return call->version > INT32_MAX ? 0 : call->version; }

/* Changes what has the version; only where nothing has, it is looked whether the row is there. */
static enum ended change(struct conn *conn, const struct catalogue_call *call, size_t update, const struct param *params,
                         size_t look, const struct decline *absent, struct outcome *outcome) {
  if (conn_change(conn, update, params) > 0) {
    return stored(call->version + 1, outcome);
  }
  return declined(conn_row(conn, look, params) ? &STALE : absent, outcome);
}

static enum ended update_category(struct conn *conn, const struct catalogue_call *call, struct outcome *outcome) {
  const struct param row[] = {NUMBER(call->id), NUMBER(version_of(call)), STRING(name_text(&call->name))};
  return change(conn, call, S_UPDATE_CATEGORY, row, S_CATEGORY, &NO_CATEGORY, outcome);
}

static struct param fibre_of(const struct food *food) {
  struct param fibre = NUMBER(food->fibre);
  if (food->fibre < 0) {
    fibre.kind = PARAM_NULL;
  }
  return fibre;
}

static enum ended update_food(struct conn *conn, const struct catalogue_call *call, struct outcome *outcome) {
  const struct food *food = &call->foods.list[0];
  const struct param row[] = {
      NUMBER(call->id),    NUMBER(version_of(call)), STRING(name_text(&food->name)),
      NUMBER(food->kcal),  NUMBER(food->protein),    NUMBER(food->fat),
      NUMBER(food->carbs), fibre_of(food),           NUMBER(food->price),
  };
  return change(conn, call, S_UPDATE_FOOD, row, S_FOOD, &NO_FOOD, outcome);
}

/* Removes a row that nothing uses. It is locked first, so that nothing comes to use it between the look and the removal. */
static enum ended remove_row(struct conn *conn, const struct catalogue_call *call, size_t lock, size_t used, size_t delete,
                             const struct decline *absent, const struct decline *in_use, struct outcome *outcome) {
  const struct param id[] = {NUMBER(call->id)};
  if (!conn_row(conn, lock, id)) {
    return declined(absent, outcome);
  }
  if (conn_number(conn, 0) != call->version) {
    return declined(&STALE, outcome);
  }
  if (conn_row(conn, used, id)) {
    return declined(in_use, outcome);
  }
  conn_change(conn, delete, id);
  outcome->status = 204;
  return ENDED_COMMIT;
}

/* Columns of a food that is inserted. */
enum { FOOD_COLUMNS = 9 };

static void put_row(int64_t category, const struct food *food, struct param *into) {
  const struct param row[FOOD_COLUMNS] = {
      NUMBER(food->id),    NUMBER(category),      STRING(name_text(&food->name)),
      NUMBER(food->kcal),  NUMBER(food->protein), NUMBER(food->fat),
      NUMBER(food->carbs), fibre_of(food),        NUMBER(food->price),
  };
  memcpy(into, row, sizeof row);
}

static uint64_t insert_at_once(struct conn *conn, const struct catalogue_call *call) {
  struct param rows[BULK_MOST * FOOD_COLUMNS];
  for (size_t at = 0; at < BULK_MOST; at++) {
    put_row(call->category, &call->foods.list[at], rows + at * FOOD_COLUMNS);
  }
  return conn_change(conn, S_INSERT_FOODS, rows);
}

static uint64_t insert_each(struct conn *conn, const struct catalogue_call *call) {
  uint64_t inserted = 0;
  for (size_t at = 0; at < call->foods.count; at++) {
    struct param row[FOOD_COLUMNS];
    put_row(call->category, &call->foods.list[at], row);
    inserted += conn_change(conn, S_INSERT_FOOD, row);
  }
  return inserted;
}

/* As many as inputs insert go in one statement, and any other number one by one. Where one of them is there already, none
 * is inserted. The category stays until the transaction has ended. */
static enum ended insert_foods(struct conn *conn, const struct catalogue_call *call, struct outcome *outcome) {
  const struct param category[] = {NUMBER(call->category)};
  if (!conn_row(conn, S_HOLD_CATEGORY, category)) {
    return declined(&UNKNOWN_CATEGORY, outcome);
  }
  uint64_t inserted = call->foods.count == BULK_MOST ? insert_at_once(conn, call) : insert_each(conn, call);
  if (inserted != call->foods.count) {
    return declined(&FOOD_EXISTS, outcome);
  }
  if (call->kind == FOOD_CREATE) {
    return stored(1, outcome);
  }
  outcome->status = 201;
  buffer_literal(&outcome->body, "{\"inserted\":");
  buffer_number(&outcome->body, (int64_t)inserted);
  buffer_literal(&outcome->body, "}");
  return ENDED_COMMIT;
}

/* The statement of a list: by its filter, its order and where it begins. */
static size_t list_statement(const struct list *list) {
  static const size_t first[] = {[FILTER_ALL] = S_FOODS_BY_NAME_PAGE,
                                 [FILTER_CATEGORY] = S_CATEGORY_FOODS_BY_NAME_PAGE,
                                 [FILTER_SEARCH] = S_SEARCH_FOODS_BY_NAME_PAGE};
  return first[list->filter] + (list->order == ORDER_KCAL ? 2 : 0) + (list->page == 0 ? 1 : 0);
}

static enum ended foods(struct conn *conn, const struct catalogue_call *call, struct outcome *outcome) {
  static const size_t counts[] = {
      [FILTER_ALL] = S_COUNT_FOODS, [FILTER_CATEGORY] = S_COUNT_CATEGORY_FOODS, [FILTER_SEARCH] = S_COUNT_SEARCH_FOODS};
  const struct list *list = &call->list;
  struct param params[5];
  size_t at = 0;
  /* What is above every name that begins with the text, and below all others that are above it: `{` follows `z`. */
  struct name above = list->search;
  above.bytes[above.length++] = '{';
  if (list->filter == FILTER_CATEGORY) {
    params[at++] = NUMBER(call->category);
  } else if (list->filter == FILTER_SEARCH) {
    params[at++] = STRING(name_text(&list->search));
    params[at++] = STRING(name_text(&above));
  }
  buffer_literal(&outcome->body, "{");
  if (list->page > 0) {
    bool counted = conn_row(conn, counts[list->filter], params);
    buffer_literal(&outcome->body, "\"total\":");
    buffer_number(&outcome->body, counted ? conn_number(conn, 0) : 0);
    buffer_literal(&outcome->body, ",");
    params[at++] = NUMBER(list->size);
    params[at++] = NUMBER((list->page - 1) * list->size);
  } else {
    params[at++] = NUMBER(list->size);
    params[at++] = list->order == ORDER_NAME ? STRING(name_text(&list->after_name)) : NUMBER(list->after_kcal);
    params[at++] = NUMBER(list->after_id);
  }
  conn_rows(conn, list_statement(list), params);
  buffer_literal(&outcome->body, "\"foods\":[");
  write_rows(conn, write_food, &outcome->body);
  buffer_literal(&outcome->body, "]}");
  return ENDED_COMMIT;
}

/* Columns of the join over a template. What is below a day without meals, or a meal without items, is null. */
enum { T_NAME, T_DAY, T_MEAL, T_MEAL_NAME, T_FOOD, T_FOOD_NAME, T_KCAL, T_GRAMS };

/* Where the writing of a template is: what is open, by its number; 0 where nothing is. */
struct template_place {
  int64_t day;
  int64_t meal;
  bool any_item;
};

static void close_meal(struct template_place *place, struct buffer *into) {
  if (place->meal != 0) {
    buffer_literal(into, "]}");
  }
  place->meal = 0;
}

static void close_day(struct template_place *place, struct buffer *into) {
  close_meal(place, into);
  if (place->day != 0) {
    buffer_literal(into, "]}");
  }
  place->day = 0;
}

static void open_day(struct template_place *place, int64_t day, struct buffer *into) {
  bool first = place->day == 0;
  close_day(place, into);
  buffer_text(into, first ? "{\"day\":" : ",{\"day\":");
  buffer_number(into, day);
  buffer_literal(into, ",\"meals\":[");
  place->day = day;
}

static void open_meal(struct conn *conn, struct template_place *place, int64_t meal, struct buffer *into) {
  bool first = place->meal == 0;
  close_meal(place, into);
  buffer_text(into, first ? "{\"meal\":" : ",{\"meal\":");
  buffer_number(into, meal);
  buffer_literal(into, ",\"name\":");
  buffer_string(into, conn_text(conn, T_MEAL_NAME));
  buffer_literal(into, ",\"items\":[");
  place->meal = meal;
  place->any_item = false;
}

static void write_item(struct conn *conn, struct template_place *place, struct buffer *into) {
  buffer_text(into, place->any_item ? ",{\"food\":" : "{\"food\":");
  buffer_number(into, conn_number(conn, T_FOOD));
  buffer_literal(into, ",\"name\":");
  buffer_string(into, conn_text(conn, T_FOOD_NAME));
  buffer_literal(into, ",\"kcal\":");
  buffer_number(into, conn_number(conn, T_KCAL));
  buffer_literal(into, ",\"grams\":");
  buffer_number(into, conn_number(conn, T_GRAMS));
  buffer_literal(into, "}");
  place->any_item = true;
}

/* A row of the join opens a day and a meal where they are others than those of the row before. */
static void write_template_row(struct conn *conn, struct template_place *place, struct buffer *into) {
  if (conn_is_null(conn, T_DAY)) {
    return;
  }
  int64_t day = conn_number(conn, T_DAY);
  if (day != place->day) {
    open_day(place, day, into);
  }
  if (conn_is_null(conn, T_MEAL)) {
    return;
  }
  int64_t meal = conn_number(conn, T_MEAL);
  if (meal != place->meal) {
    open_meal(conn, place, meal, into);
  }
  if (!conn_is_null(conn, T_FOOD)) {
    write_item(conn, place, into);
  }
}

static enum ended template_full(struct conn *conn, const struct catalogue_call *call, struct outcome *outcome) {
  const struct param id[] = {NUMBER(call->id)};
  struct template_place place = {0};
  struct buffer *into = &outcome->body;
  conn_rows(conn, S_TEMPLATE_FULL, id);
  if (!conn_next(conn)) {
    return declined(&NO_TEMPLATE, outcome);
  }
  buffer_literal(into, "{\"id\":");
  buffer_number(into, call->id);
  buffer_literal(into, ",\"name\":");
  buffer_string(into, conn_text(conn, T_NAME));
  buffer_literal(into, ",\"days\":[");
  do {
    write_template_row(conn, &place, into);
  } while (conn_next(conn));
  close_day(&place, into);
  buffer_literal(into, "]}");
  return ENDED_COMMIT;
}

/* A page and its total are of one moment. */
enum tx catalogue_tx(const void *of) {
  const struct catalogue_call *call = of;
  switch (call->kind) {
  case FOODS_LIST:
    return call->list.page > 0 ? TX_READ : TX_ONE_READ;
  case CATEGORY_CREATE:
  case CATEGORY_UPDATE:
  case FOOD_UPDATE:
    /* Only when nothing was changed is asked why. */
    return TX_ONE_WRITE;
  case CATEGORY_DELETE:
  case FOOD_CREATE:
  case FOOD_DELETE:
  case FOODS_INSERT:
    return TX_WRITE;
  case CATEGORIES:
  case CATEGORY_READ:
  case FOOD_READ:
  case TEMPLATE_READ:
  case CATALOGUE_KINDS:
    break;
  }
  return TX_ONE_READ;
}

enum ended catalogue_run(struct conn *conn, enum engine engine, const void *of, struct outcome *outcome) {
  (void)engine;
  const struct catalogue_call *call = of;
  switch (call->kind) {
  case CATEGORIES:
    return categories(conn, outcome);
  case CATEGORY_READ:
    return category(conn, call, outcome);
  case CATEGORY_CREATE:
    return create_category(conn, call, outcome);
  case CATEGORY_UPDATE:
    return update_category(conn, call, outcome);
  case CATEGORY_DELETE:
    return remove_row(conn, call, S_LOCK_CATEGORY, S_FOOD_OF_CATEGORY, S_DELETE_CATEGORY, &NO_CATEGORY, &CATEGORY_IN_USE,
                      outcome);
  case FOODS_LIST:
    return foods(conn, call, outcome);
  case FOOD_READ:
    return food(conn, call, outcome);
  case FOOD_UPDATE:
    return update_food(conn, call, outcome);
  case FOOD_DELETE:
    return remove_row(conn, call, S_LOCK_FOOD, S_ITEM_OF_FOOD, S_DELETE_FOOD, &NO_FOOD, &FOOD_IN_USE, outcome);
  case FOOD_CREATE:
  case FOODS_INSERT:
    return insert_foods(conn, call, outcome);
  case TEMPLATE_READ:
    return template_full(conn, call, outcome);
  case CATALOGUE_KINDS:
    break;
  }
  return ENDED_ROLLBACK;
}
