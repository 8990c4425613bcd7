/* Reading the JSON of calls strictly: an object has the fields of the contract, each once, and nothing else. */
#ifndef JSON_H
#define JSON_H

#include "problem.h"
#include "yyjson.h"

struct field {
  const char *name;
  bool optional;
};

/* Reads a body; the document is freed by the caller. Null where it is not JSON. */
yyjson_doc *json_read(struct text body, struct problem *problem);

/* Takes an object apart: the values of `fields`, in their order, null for an optional one that is not there. `place` begins
 * what is said of it. */
bool json_fields(yyjson_val *value, const struct field *fields, size_t count, const char *place, yyjson_val **found,
                 struct problem *problem);

/* A whole number of a range; out of it is invalid. */
bool json_whole(yyjson_val *value, const char *place, const char *name, int64_t least, int64_t most, int64_t *into,
                struct problem *problem);

#endif
