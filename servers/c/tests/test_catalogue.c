#include "catalogue.h"
#include "check.h"

#include <stdlib.h>

static const struct extent extent = {.scale = 1};

/* The status of what is wrong with a request; 0 where it is a call. */
static unsigned rejected(enum catalogue_kind kind, struct request request, struct catalogue_call *call) {
  struct problem problem = {0};
  return catalogue_decode(kind, &request, &extent, call, &problem) ? 0 : problem.status;
}

static unsigned body(enum catalogue_kind kind, const char *json) {
  struct catalogue_call call;
  return rejected(kind,
                  (struct request){.id = TEXT("7"), .has_if_match = true, .if_match = TEXT("\"1\""), .body = text_of(json)},
                  &call);
}

static unsigned query(const char *text, struct catalogue_call *call) {
  return rejected(FOODS_LIST, (struct request){.query = text_of(text)}, call);
}

#define FACTS "\"name\":\"oat milk\",\"kcal\":46,\"protein\":10,\"fat\":15,\"carbs\":67,\"price\":199"

static void bodies_are_read_strictly(void) {
  CHECK(body(CATEGORY_CREATE, "{\"id\":11,\"name\":\"sweets\"}") == 0);
  CHECK(body(CATEGORY_CREATE, "{\"id\":11,\"name\":\"sweets\",\"id\":11}") == 422);
  CHECK(body(CATEGORY_CREATE, "{\"id\":11}") == 422);
  CHECK(body(CATEGORY_CREATE, "[11,\"sweets\"]") == 422);
  CHECK(body(CATEGORY_CREATE, "{\"id\":11.0,\"name\":\"sweets\"}") == 422);
  CHECK(body(CATEGORY_CREATE, "{\"id\":9007199254740992,\"name\":\"sweets\"}") == 422);
  CHECK(body(CATEGORY_CREATE, "{\"id\":18446744073709551615,\"name\":\"sweets\"}") == 422);
  CHECK(body(CATEGORY_CREATE, "{\"id\":11,\"name\":\"sweets\"}}") == 400);
  CHECK(body(CATEGORY_CREATE, "") == 400);
  CHECK(body(CATEGORY_UPDATE, "{\"name\":\"a\\u0000\"}") == 422);
  CHECK(body(CATEGORY_UPDATE, "{\"name\":\" a\"}") == 422 && body(CATEGORY_UPDATE, "{\"name\":\"a b-9\"}") == 0);
  CHECK(body(FOOD_CREATE, "{\"id\":1,\"category\":2," FACTS "}") == 0);
  CHECK(body(FOOD_CREATE, "{\"id\":1,\"category\":2," FACTS ",\"fibre\":null}") == 0);
  CHECK(body(FOOD_CREATE, "{\"id\":1,\"category\":2," FACTS ",\"fibre\":1001}") == 422);
  CHECK(body(FOOD_UPDATE, "{" FACTS "}") == 0 && body(FOOD_UPDATE, "{" FACTS ",\"id\":1}") == 422);
  CHECK(body(FOOD_UPDATE, "{\"name\":\"a\",\"kcal\":1,\"protein\":400,\"fat\":400,\"carbs\":201,\"price\":1}") == 422);
  CHECK(body(FOODS_INSERT, "{\"category\":1,\"foods\":[{\"id\":1," FACTS "},{\"id\":2," FACTS "}]}") == 0);
  CHECK(body(FOODS_INSERT, "{\"category\":1,\"foods\":[{\"id\":1," FACTS "},{\"id\":1," FACTS "}]}") == 422);
  CHECK(body(FOODS_INSERT, "{\"category\":1,\"foods\":[]}") == 422 &&
        body(FOODS_INSERT, "{\"category\":1,\"foods\":{}}") == 422);
}

static void deep_nesting_does_no_harm(void) {
  enum { DEPTH = 30000 };
  char *json = malloc(2 * DEPTH);
  memset(json, '[', DEPTH);
  memset(json + DEPTH, ']', DEPTH);
  struct catalogue_call call;
  CHECK(rejected(CATEGORY_CREATE, (struct request){.body = {json, 2 * DEPTH}}, &call) == 422);
  CHECK(rejected(CATEGORY_CREATE, (struct request){.body = {json, DEPTH}}, &call) == 400);
  free(json);
}

static void ids_and_tags_are_read_strictly(void) {
  struct catalogue_call call;
  CHECK(rejected(FOOD_READ, (struct request){.id = TEXT("9007199254740991")}, &call) == 0 && call.id == 9007199254740991);
  const char *const wrong[] = {"", "0", "01", "-1", "abc", "1%00", "9007199254740992"};
  for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
    CHECK(rejected(FOOD_READ, (struct request){.id = text_of(wrong[at])}, &call) == 404);
  }
  CHECK(rejected(FOOD_DELETE, (struct request){.id = TEXT("1")}, &call) == 428);
  const char *const tags[] = {"1", "*", "\"\"", "\"", "\"x\"", "W/\"1\"", "\"1\", \"2\"", "\"9223372036854775807\""};
  for (size_t at = 0; at < sizeof tags / sizeof *tags; at++) {
    struct request request = {.id = TEXT("1"), .has_if_match = true, .if_match = text_of(tags[at])};
    CHECK(rejected(FOOD_DELETE, request, &call) == 422);
  }
}

static void lists_are_asked_for_in_a_query(void) {
  struct catalogue_call call;
  CHECK(query("", &call) == 0 && call.list.page == 1 && call.list.size == 20 && call.list.filter == FILTER_ALL);
  CHECK(query("order=kcal&category=3&after=120,7&size=100", &call) == 0 && call.list.page == 0 &&
        call.list.after_kcal == 120);
  CHECK(query("search=brown%20ri&after=brown+rice,9", &call) == 0 && call.list.after_id == 9 &&
        call.list.search.length == 8);
  const char *const wrong[] = {"nonsense=1",
                               "page=1&page=1",
                               "page=0",
                               "page=1000001",
                               "size=101",
                               "size=",
                               "category=1&search=a",
                               "order=price",
                               "page=1&after=a,1",
                               "after=a",
                               "after=a,b",
                               "search=%ff",
                               "order=kcal&after=a,1",
                               "search= a",
                               "%00=1"};
  for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
    CHECK(query(wrong[at], &call) == 422);
  }
}

void test_catalogue(void) {
  bodies_are_read_strictly();
  deep_nesting_does_no_harm();
  ids_and_tags_are_read_strictly();
  lists_are_asked_for_in_a_query();
}
