/* The food catalogue: its calls, as they are read from requests (catalogue_calls.c) and run on a connection
 * (catalogue_sql.c). The contract is spec/openapi/catalogue.yaml. */
#ifndef CATALOGUE_H
#define CATALOGUE_H

#include "workload.h"

enum { NAME_MOST = 48, BULK_MOST = 50 };

/* The kinds of calls, in the order of the routes. */
enum catalogue_kind {
  CATEGORIES,
  CATEGORY_READ,
  CATEGORY_CREATE,
  CATEGORY_UPDATE,
  CATEGORY_DELETE,
  FOODS_LIST,
  FOOD_READ,
  FOOD_CREATE,
  FOOD_UPDATE,
  FOOD_DELETE,
  FOODS_INSERT,
  TEMPLATE_READ,
  CATALOGUE_KINDS
};

/* A name, or with one byte more what is above all names that begin with it. */
struct name {
  char bytes[NAME_MOST + 1];
  uint8_t length;
};

struct food {
  int64_t id;
  struct name name;
  int32_t kcal;
  int32_t protein;
  int32_t fat;
  int32_t carbs;
  /* -1 where it is not known. */
  int32_t fibre;
  int32_t price;
};

enum filter { FILTER_ALL, FILTER_CATEGORY, FILTER_SEARCH };
enum order { ORDER_NAME, ORDER_KCAL };

struct list {
  enum filter filter;
  enum order order;
  /* Of a filter by name. */
  struct name search;
  /* Counted from 1; 0 where the list goes on behind a food. */
  int64_t page;
  int64_t size;
  /* The food before. */
  struct name after_name;
  int64_t after_kcal;
  int64_t after_id;
};

struct catalogue_call {
  enum catalogue_kind kind;
  int64_t id;
  int64_t version;
  int64_t category;
  union {
    struct name name;
    struct list list;
    struct {
      size_t count;
      struct food list[BULK_MOST];
    } foods;
  };
};

bool catalogue_decode(size_t kind, const struct request *request, const struct extent *extent, void *call,
                      struct problem *problem);
const char *const *catalogue_statements(enum engine engine, size_t *count);
bool catalogue_measure(struct conn *conn, enum engine engine, struct extent *into);
enum tx catalogue_tx(const void *call);
enum ended catalogue_run(struct conn *conn, enum engine engine, const void *call, struct outcome *outcome);

static inline struct text name_text(const struct name *name) { return (struct text){name->bytes, name->length}; }

#endif
