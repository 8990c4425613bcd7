#include "json.h"

#include <inttypes.h>

yyjson_doc *json_read(struct text body, struct problem *problem) {
  yyjson_read_err error;
  /* The reader never writes to its input unless it is asked to; its signature is older than that promise. */
  yyjson_doc *document = yyjson_read_opts((char *)(uintptr_t)body.bytes, body.length, YYJSON_READ_NOFLAG, NULL, &error);
  if (document == NULL) {
    problem_malformed(problem, "the body is not JSON: %s at byte %zu", error.msg, error.pos);
  }
  return document;
}

static bool find_field(const struct field *fields, size_t count, yyjson_val *key, size_t *at) {
  for (*at = 0; *at < count; (*at)++) {
    if (yyjson_equals_str(key, fields[*at].name)) {
      return true;
    }
  }
  return false;
}

bool json_fields(yyjson_val *value, const struct field *fields, size_t count, const char *place, yyjson_val **found,
                 struct problem *problem) {
  if (!yyjson_is_obj(value)) {
    return problem_invalid(problem, "%sthere must be an object, and not %s", place, yyjson_get_type_desc(value));
  }
  memset(found, 0, count * sizeof *found);
  yyjson_obj_iter members = yyjson_obj_iter_with(value);
  for (yyjson_val *key = yyjson_obj_iter_next(&members); key != NULL; key = yyjson_obj_iter_next(&members)) {
    size_t at;
    if (!find_field(fields, count, key, &at)) {
      return problem_invalid(problem, "%sthere is a field that is not known", place);
    }
    if (found[at] != NULL) {
      return problem_invalid(problem, "%s%s is given twice", place, fields[at].name);
    }
    found[at] = yyjson_obj_iter_get_val(key);
  }
  for (size_t at = 0; at < count; at++) {
    if (found[at] == NULL && !fields[at].optional) {
      return problem_invalid(problem, "%smissing field `%s`", place, fields[at].name);
    }
  }
  return true;
}

bool json_whole(yyjson_val *value, const char *place, const char *name, int64_t least, int64_t most, int64_t *into,
                struct problem *problem) {
  if (!yyjson_is_int(value)) {
    return problem_invalid(problem, "%s%s must be a whole number, and not %s", place, name, yyjson_get_type_desc(value));
  }
  bool fits = yyjson_is_sint(value) || yyjson_get_uint(value) <= INT64_MAX;
  int64_t number = fits ? yyjson_get_sint(value) : 0;
  if (!fits || number < least || number > most) {
    return problem_invalid(problem, "%s%s is out of range; it runs from %" PRId64 " to %" PRId64, place, name, least, most);
  }
  *into = number;
  return true;
}
