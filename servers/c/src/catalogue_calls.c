/* The catalogue's requests: paths, queries and bodies. */
#include "catalogue.h"

#include "json.h"
#include "numbers.h"

#include <stdio.h>

static const int64_t ID_MOST = 9007199254740991;
enum { KCAL_MOST = 900, NUTRIENT_MOST = 1000, PRICE_MOST = 1000000 };
enum { PAGE_MOST = 1000000, SIZE_MOST = 100, SIZE_USUAL = 20 };

static const struct route ROUTES[CATALOGUE_KINDS] = {
    [CATEGORIES] = {METHOD_GET, "/categories"},
    [CATEGORY_READ] = {METHOD_GET, "/categories/{id}"},
    [CATEGORY_CREATE] = {METHOD_POST, "/categories"},
    [CATEGORY_UPDATE] = {METHOD_PUT, "/categories/{id}"},
    [CATEGORY_DELETE] = {METHOD_DELETE, "/categories/{id}"},
    [FOODS_LIST] = {METHOD_GET, "/foods"},
    [FOOD_READ] = {METHOD_GET, "/foods/{id}"},
    [FOOD_CREATE] = {METHOD_POST, "/foods"},
    [FOOD_UPDATE] = {METHOD_PUT, "/foods/{id}"},
    [FOOD_DELETE] = {METHOD_DELETE, "/foods/{id}"},
    [FOODS_INSERT] = {METHOD_POST, "/foods/bulk"},
    [TEMPLATE_READ] = {METHOD_GET, "/templates/{id}/full"},
};

const struct workload catalogue = {
    .name = "catalogue",
    .routes = ROUTES,
    .routes_count = CATALOGUE_KINDS,
    .call_size = sizeof(struct catalogue_call),
    .statements = catalogue_statements,
    .measure = catalogue_measure,
    .decode = catalogue_decode,
    .tx = catalogue_tx,
    .run = catalogue_run,
};

static bool is_name_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == ' ' || byte == '-';
}

/* 1 to 48 of the characters of names, with no space at either end. */
static bool read_name(struct text text, struct name *into) {
  if (text.length < 1 || text.length > NAME_MOST || text.bytes[0] == ' ' || text.bytes[text.length - 1] == ' ') {
    return false;
  }
  for (size_t at = 0; at < text.length; at++) {
    if (!is_name_byte(text.bytes[at])) {
      return false;
    }
  }
  memcpy(into->bytes, text.bytes, text.length);
  into->length = (uint8_t)text.length;
  return true;
}

static bool json_name(yyjson_val *value, const char *place, struct name *into, struct problem *problem) {
  struct text text = {yyjson_get_str(value), yyjson_get_len(value)};
  if (!yyjson_is_str(value) || !read_name(text, into)) {
    return problem_invalid(problem, "%sname must be 1 to %d of a-z, 0-9, space and hyphen, with no space at either end",
                           place, NAME_MOST);
  }
  return true;
}

/* The id in the path. What is no id names nothing. */
static bool path_id(const struct request *request, int64_t *into, struct problem *problem) {
  if (!whole_number(request->id, 1, ID_MOST, into)) {
    return problem_unknown_id(problem, "the id in the path is not a number of 1 to %lld", (long long)ID_MOST);
  }
  return true;
}

/* The version that a change is for: one strong entity tag (RFC 9110 13.1.1). */
static bool if_match(const struct request *request, int64_t *into, struct problem *problem) {
  struct text tag = request->if_match;
  if (!request->has_if_match) {
    return problem_unconditional(problem);
  }
  bool quoted = tag.length > 2 && tag.bytes[0] == '"' && tag.bytes[tag.length - 1] == '"';
  struct text inner = {tag.bytes + 1, quoted ? tag.length - 2 : 0};
  if (!quoted || !whole_number(inner, 1, INT64_MAX - 1, into)) {
    return problem_invalid(problem, "if-match is not the etag of an answer: a version in quotes, such as \"1\"");
  }
  return true;
}

/* The fields of a food, behind those that not every body has. */
enum { F_NAME, F_KCAL, F_PROTEIN, F_FAT, F_CARBS, F_FIBRE, F_PRICE, F_ID, F_CATEGORY, FOOD_FIELDS };
static const struct field FOOD[FOOD_FIELDS] = {
    [F_NAME] = {"name", false},   [F_KCAL] = {"kcal", false},   [F_PROTEIN] = {"protein", false},
    [F_FAT] = {"fat", false},     [F_CARBS] = {"carbs", false}, [F_FIBRE] = {"fibre", true},
    [F_PRICE] = {"price", false}, [F_ID] = {"id", false},       [F_CATEGORY] = {"category", false},
};
enum { FIELDS_OF_CHANGE = F_ID, FIELDS_OF_MANY = F_CATEGORY };

static bool facts(yyjson_val *const *found, const char *place, struct food *into, struct problem *problem) {
  int64_t numbers[FOOD_FIELDS] = {[F_FIBRE] = -1};
  static const int64_t most[FOOD_FIELDS] = {[F_KCAL] = KCAL_MOST,      [F_PROTEIN] = NUTRIENT_MOST, [F_FAT] = NUTRIENT_MOST,
                                            [F_CARBS] = NUTRIENT_MOST, [F_FIBRE] = NUTRIENT_MOST,   [F_PRICE] = PRICE_MOST};
  if (!json_name(found[F_NAME], place, &into->name, problem)) {
    return false;
  }
  for (size_t at = F_KCAL; at <= F_PRICE; at++) {
    bool unknown = at == F_FIBRE && (found[at] == NULL || yyjson_is_null(found[at]));
    if (!unknown && !json_whole(found[at], place, FOOD[at].name, 0, most[at], &numbers[at], problem)) {
      return false;
    }
  }
  if (numbers[F_PROTEIN] + numbers[F_FAT] + numbers[F_CARBS] > NUTRIENT_MOST) {
    return problem_invalid(problem, "%sprotein, fat and carbs are more than 100 g in 100 g", place);
  }
  into->kcal = (int32_t)numbers[F_KCAL];
  into->protein = (int32_t)numbers[F_PROTEIN];
  into->fat = (int32_t)numbers[F_FAT];
  into->carbs = (int32_t)numbers[F_CARBS];
  into->fibre = (int32_t)numbers[F_FIBRE];
  into->price = (int32_t)numbers[F_PRICE];
  return true;
}

static bool body_category(yyjson_val *body, struct catalogue_call *call, struct problem *problem) {
  static const struct field fields[] = {{"name", false}, {"id", false}};
  yyjson_val *found[2];
  return json_fields(body, fields, 2, "", found, problem) &&
         json_whole(found[1], "", "id", 1, ID_MOST, &call->id, problem) && json_name(found[0], "", &call->name, problem);
}

static bool body_name(yyjson_val *body, struct catalogue_call *call, struct problem *problem) {
  static const struct field fields[] = {{"name", false}};
  yyjson_val *found[1];
  return json_fields(body, fields, 1, "", found, problem) && json_name(found[0], "", &call->name, problem);
}

static bool body_food(yyjson_val *body, struct catalogue_call *call, struct problem *problem) {
  yyjson_val *found[FOOD_FIELDS];
  struct food *food = &call->foods.list[0];
  call->foods.count = 1;
  return json_fields(body, FOOD, FOOD_FIELDS, "", found, problem) &&
         json_whole(found[F_ID], "", "id", 1, ID_MOST, &food->id, problem) && facts(found, "", food, problem) &&
         json_whole(found[F_CATEGORY], "", "category", 1, ID_MOST, &call->category, problem);
}

static bool body_facts(yyjson_val *body, struct catalogue_call *call, struct problem *problem) {
  yyjson_val *found[FOOD_FIELDS];
  return json_fields(body, FOOD, FIELDS_OF_CHANGE, "", found, problem) && facts(found, "", &call->foods.list[0], problem);
}

static bool food_of_many(yyjson_val *value, size_t at, struct catalogue_call *call, struct problem *problem) {
  char place[24];
  snprintf(place, sizeof place, "foods[%zu]: ", at);
  yyjson_val *found[FOOD_FIELDS];
  struct food *food = &call->foods.list[at];
  if (!json_fields(value, FOOD, FIELDS_OF_MANY, place, found, problem) ||
      !json_whole(found[F_ID], place, "id", 1, ID_MOST, &food->id, problem)) {
    return false;
  }
  for (size_t other = 0; other < at; other++) {
    if (call->foods.list[other].id == food->id) {
      return problem_invalid(problem, "%sid is that of a food before it", place);
    }
  }
  return facts(found, place, food, problem);
}

static bool body_foods(yyjson_val *body, struct catalogue_call *call, struct problem *problem) {
  static const struct field fields[] = {{"category", false}, {"foods", false}};
  yyjson_val *found[2];
  if (!json_fields(body, fields, 2, "", found, problem)) {
    return false;
  }
  size_t count = yyjson_arr_size(found[1]);
  if (!yyjson_is_arr(found[1]) || count < 1 || count > BULK_MOST) {
    return problem_invalid(problem, "foods must be a list of 1 to %d foods", BULK_MOST);
  }
  yyjson_arr_iter items = yyjson_arr_iter_with(found[1]);
  for (size_t at = 0; at < count; at++) {
    if (!food_of_many(yyjson_arr_iter_next(&items), at, call, problem)) {
      return false;
    }
  }
  call->foods.count = count;
  return json_whole(found[0], "", "category", 1, ID_MOST, &call->category, problem);
}

/* The parameters of the list. */
enum { P_CATEGORY, P_SEARCH, P_ORDER, P_PAGE, P_AFTER, P_SIZE, PARAMETERS };
static const char *const PARAMETER[PARAMETERS] = {"category", "search", "order", "page", "after", "size"};
/* Of a value, decoded; none that is right is longer. */
enum { VALUE_MOST = 80 };

struct value {
  bool given;
  size_t length;
  char bytes[VALUE_MOST];
};

static struct text value_text(const struct value *value) { return (struct text){value->bytes, value->length}; }

static int hex_digit(char byte) {
  if (byte >= '0' && byte <= '9') {
    return byte - '0';
  }
  byte |= 0x20;
  return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* One byte of a form that is sent in a URL: `+` is a space, and a `%` that begins no byte is itself. */
static char form_byte(struct text text, size_t *at) {
  char byte = text.bytes[(*at)++];
  if (byte == '+') {
    return ' ';
  }
  if (byte == '%' && *at + 1 < text.length) {
    int high = hex_digit(text.bytes[*at]), low = hex_digit(text.bytes[*at + 1]);
    if (high >= 0 && low >= 0) {
      *at += 2;
      return (char)(high << 4 | low);
    }
  }
  return byte;
}

/* Decodes; what is too long to be right keeps a length that says so. */
static void form_decode(struct text text, struct value *into) {
  into->given = true;
  into->length = 0;
  for (size_t at = 0; at < text.length && into->length < VALUE_MOST;) {
    into->bytes[into->length++] = form_byte(text, &at);
  }
}

static struct text cut_at(struct text *rest, char mark) {
  const char *found = rest->length == 0 ? NULL : memchr(rest->bytes, mark, rest->length);
  size_t length = found == NULL ? rest->length : (size_t)(found - rest->bytes);
  struct text part = {rest->bytes, length};
  size_t taken = length + (found != NULL);
  *rest = (struct text){rest->bytes + taken, rest->length - taken};
  return part;
}

/* Each parameter once at most, and none that the list does not have. */
static bool parameters(struct text query, struct value given[PARAMETERS], struct problem *problem) {
  while (query.length > 0) {
    struct text pair = cut_at(&query, '&');
    if (pair.length == 0) {
      continue;
    }
    struct value name = {.given = false};
    form_decode(cut_at(&pair, '='), &name);
    size_t at = 0;
    while (at < PARAMETERS && !text_is(value_text(&name), PARAMETER[at])) {
      at++;
    }
    if (at == PARAMETERS) {
      return problem_invalid(problem,
                             "the query has a parameter that is none of category, search, order, page, after, size");
    }
    if (given[at].given) {
      return problem_invalid(problem, "%s is given twice", PARAMETER[at]);
    }
    form_decode(pair, &given[at]);
  }
  return true;
}

static bool number_of(const struct value *given, size_t at, int64_t most, int64_t *into, struct problem *problem) {
  if (given[at].given && !whole_number(value_text(&given[at]), 1, most, into)) {
    return problem_invalid(problem, "%s is not a number of 1 to %lld", PARAMETER[at], (long long)most);
  }
  return true;
}

/* Where a list goes on: `NAME,ID` or `KCAL,ID` of the last food before, by what the list is ordered. */
static bool behind(struct text after, struct list *into, struct problem *problem) {
  const char *comma = memchr(after.bytes, ',', after.length);
  struct text key = cut_at(&after, ',');
  bool by_name = into->order == ORDER_NAME;
  bool read = comma != NULL && whole_number(after, 1, ID_MOST, &into->after_id) &&
              (by_name ? read_name(key, &into->after_name) : whole_number(key, 0, KCAL_MOST, &into->after_kcal));
  if (!read) {
    return problem_invalid(problem,
                           "after is not %s and the id of a food with a comma between them, as this order asks for",
                           by_name ? "the name" : "the kcal");
  }
  return true;
}

static bool list(struct text query, struct catalogue_call *call, struct problem *problem) {
  struct value given[PARAMETERS];
  struct list *into = &call->list;
  for (size_t at = 0; at < PARAMETERS; at++) {
    given[at].given = false;
  }
  *into = (struct list){.filter = FILTER_ALL, .page = 1, .size = SIZE_USUAL};
  if (!parameters(query, given, problem) || !number_of(given, P_CATEGORY, ID_MOST, &call->category, problem)) {
    return false;
  }
  if (given[P_CATEGORY].given && given[P_SEARCH].given) {
    return problem_invalid(problem, "category and search exclude each other");
  }
  if (given[P_SEARCH].given && !read_name(value_text(&given[P_SEARCH]), &into->search)) {
    return problem_invalid(problem, "search must be what a name can begin with");
  }
  into->filter = given[P_CATEGORY].given ? FILTER_CATEGORY : given[P_SEARCH].given ? FILTER_SEARCH : FILTER_ALL;
  struct text order = value_text(&given[P_ORDER]);
  if (given[P_ORDER].given && !text_is(order, "name") && !text_is(order, "kcal")) {
    return problem_invalid(problem, "order is neither name nor kcal");
  }
  into->order = given[P_ORDER].given && text_is(order, "kcal") ? ORDER_KCAL : ORDER_NAME;
  if (!number_of(given, P_PAGE, PAGE_MOST, &into->page, problem)) {
    return false;
  }
  if (given[P_PAGE].given && given[P_AFTER].given) {
    return problem_invalid(problem, "page and after exclude each other");
  }
  if (given[P_AFTER].given) {
    into->page = 0;
    if (!behind(value_text(&given[P_AFTER]), into, problem)) {
      return false;
    }
  }
  return number_of(given, P_SIZE, SIZE_MOST, &into->size, problem);
}

static bool decode_body(const struct request *request, struct catalogue_call *call, struct problem *problem) {
  static bool (*const readers[CATALOGUE_KINDS])(yyjson_val *, struct catalogue_call *, struct problem *) = {
      [CATEGORY_CREATE] = body_category, [CATEGORY_UPDATE] = body_name, [FOOD_CREATE] = body_food,
      [FOOD_UPDATE] = body_facts,        [FOODS_INSERT] = body_foods,
  };
  yyjson_doc *document = json_read(request->body, problem);
  bool read = document != NULL && readers[call->kind](yyjson_doc_get_root(document), call, problem);
  yyjson_doc_free(document);
  return read;
}

bool catalogue_decode(size_t kind, const struct request *request, const struct extent *extent, void *into,
                      struct problem *problem) {
  /* Whatever ids are asked for, whether they name anything is for the database to say. */
  (void)extent;
  struct catalogue_call *call = into;
  call->kind = (enum catalogue_kind)kind;
  switch (call->kind) {
  case CATEGORIES:
    return true;
  case CATEGORY_READ:
  case FOOD_READ:
  case TEMPLATE_READ:
    return path_id(request, &call->id, problem);
  case CATEGORY_DELETE:
  case FOOD_DELETE:
    return path_id(request, &call->id, problem) && if_match(request, &call->version, problem);
  case CATEGORY_UPDATE:
  case FOOD_UPDATE:
    return path_id(request, &call->id, problem) && if_match(request, &call->version, problem) &&
           decode_body(request, call, problem);
  case FOODS_LIST:
    return list(request->query, call, problem);
  case CATEGORY_CREATE:
  case FOOD_CREATE:
  case FOODS_INSERT:
    return decode_body(request, call, problem);
  case CATALOGUE_KINDS:
    break;
  }
  return problem_unknown_path(problem);
}
