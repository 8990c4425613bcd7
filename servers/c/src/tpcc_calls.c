/* TPC-C's requests: bodies of POST. */
#include "tpcc.h"

#include "json.h"

#include <inttypes.h>

static const int64_t AMOUNT_MOST = 1000000000;

static const struct route ROUTES[TPCC_KINDS] = {
    [NEW_ORDER] = {METHOD_POST, "/tpcc/new-order"},       [PAYMENT] = {METHOD_POST, "/tpcc/payment"},
    [ORDER_STATUS] = {METHOD_POST, "/tpcc/order-status"}, [DELIVERY] = {METHOD_POST, "/tpcc/delivery"},
    [STOCK_LEVEL] = {METHOD_POST, "/tpcc/stock-level"},
};

const struct workload tpcc = {
    .name = "tpcc",
    .routes = ROUTES,
    .routes_count = TPCC_KINDS,
    .call_size = sizeof(struct tpcc_call),
    .statements = tpcc_statements,
    .measure = tpcc_measure,
    .decode = tpcc_decode,
    .tx = tpcc_tx,
    .run = tpcc_run,
};

/* The fields that several calls have. */
enum { F_W_ID, F_D_ID, F_C_ID, F_C_LAST, F_C_W_ID, F_C_D_ID, F_H_AMOUNT, PAYMENT_FIELDS };
static const struct field PAYMENT_BODY[PAYMENT_FIELDS] = {
    [F_W_ID] = {"w_id", false},         [F_D_ID] = {"d_id", false},     [F_C_ID] = {"c_id", true},
    [F_C_LAST] = {"c_last", true},      [F_C_W_ID] = {"c_w_id", false}, [F_C_D_ID] = {"c_d_id", false},
    [F_H_AMOUNT] = {"h_amount", false},
};
enum { STATUS_FIELDS = F_C_W_ID };

/* A number of 32 bits, which is no more than a type. */
static bool json_id(yyjson_val *value, const char *name, int64_t *into, struct problem *problem) {
  return json_whole(value, "", name, 0, UINT32_MAX, into, problem);
}

/* An id of something stored. */
static bool known(const char *name, int64_t id, int64_t most, struct problem *problem) {
  if (id >= 1 && id <= most) {
    return true;
  }
  return problem_unknown_id(problem, "%s %" PRId64 " does not exist; it runs from 1 to %" PRId64, name, id, most);
}

static bool within(const char *name, int64_t value, int64_t least, int64_t most, struct problem *problem) {
  if (value >= least && value <= most) {
    return true;
  }
  return problem_invalid(problem, "%s is %" PRId64 "; it runs from %" PRId64 " to %" PRId64, name, value, least, most);
}

static bool home(const struct tpcc_call *call, const struct extent *extent, struct problem *problem) {
  return known("w_id", call->w_id, extent->warehouses, problem) && known("d_id", call->d_id, DISTRICTS, problem);
}

static bool is_given(const yyjson_val *value) { return value != NULL && !yyjson_is_null((yyjson_val *)(uintptr_t)value); }

/* Reads who the customer is: by exactly one of number and last name. Null is as good as left out. */
static bool read_customer(yyjson_val *c_id, yyjson_val *c_last, struct tpcc_call *call, struct problem *problem) {
  call->c_id = 0;
  call->c_last_length = 0;
  if (is_given(c_id) && !json_id(c_id, "c_id", &call->c_id, problem)) {
    return false;
  }
  if (is_given(c_last)) {
    size_t length = yyjson_get_len(c_last);
    if (!yyjson_is_str(c_last) || length > LAST_NAME_MOST) {
      return problem_invalid(problem, "c_last must be a text of at most %d bytes", LAST_NAME_MOST);
    }
    memcpy(call->c_last, yyjson_get_str(c_last), length);
    call->c_last_length = length;
  }
  return true;
}

static bool join(yyjson_val *c_id, yyjson_val *c_last, const struct tpcc_call *call, const struct extent *extent,
                 struct problem *problem) {
  if (is_given(c_id) == is_given(c_last)) {
    return problem_invalid(problem, "exactly one of c_id and c_last names the customer");
  }
  if (is_given(c_last) && memchr(call->c_last, 0, call->c_last_length) != NULL) {
    return problem_unknown_id(problem, "no customer has a last name with a zero byte");
  }
  return !is_given(c_id) || known("c_id", call->c_id, extent->customers, problem);
}

static bool read_lines(yyjson_val *list, struct tpcc_call *call, struct problem *problem) {
  static const struct field fields[] = {{"i_id", false}, {"supply_w_id", false}, {"quantity", false}};
  yyjson_val *found[3];
  if (!yyjson_is_arr(list) || yyjson_arr_size(list) > LINES_MOST) {
    return problem_invalid(problem, "lines must be a list of %d to %d lines", LINES_LEAST, LINES_MOST);
  }
  call->lines_count = yyjson_arr_size(list);
  yyjson_arr_iter items = yyjson_arr_iter_with(list);
  for (size_t at = 0; at < call->lines_count; at++) {
    struct order_line *line = &call->lines[at];
    if (!json_fields(yyjson_arr_iter_next(&items), fields, 3, "lines: ", found, problem) ||
        !json_id(found[0], "i_id", &line->i_id, problem) ||
        !json_id(found[1], "supply_w_id", &line->supply_w_id, problem) ||
        !json_id(found[2], "quantity", &line->quantity, problem)) {
      return false;
    }
  }
  return true;
}

/* An unknown item is no bad call: it is the standard's way to ask for a roll-back. */
static bool admit_lines(const struct tpcc_call *call, const struct extent *extent, struct problem *problem) {
  if (call->lines_count < LINES_LEAST) {
    return problem_invalid(problem, "an order has %d to %d lines, not %zu", LINES_LEAST, LINES_MOST, call->lines_count);
  }
  for (size_t at = 0; at < call->lines_count; at++) {
    const struct order_line *line = &call->lines[at];
    if (!known("supply_w_id", line->supply_w_id, extent->warehouses, problem) ||
        !within("i_id", line->i_id, 1, UINT32_MAX, problem) || !within("quantity", line->quantity, 1, 10, problem)) {
      return false;
    }
  }
  return true;
}

static bool new_order(yyjson_val *body, const struct extent *extent, struct tpcc_call *call, struct problem *problem) {
  static const struct field fields[] = {{"w_id", false}, {"d_id", false}, {"c_id", false}, {"lines", false}};
  yyjson_val *found[4];
  return json_fields(body, fields, 4, "", found, problem) && json_id(found[0], "w_id", &call->w_id, problem) &&
         json_id(found[1], "d_id", &call->d_id, problem) && json_id(found[2], "c_id", &call->c_id, problem) &&
         read_lines(found[3], call, problem) && home(call, extent, problem) &&
         known("c_id", call->c_id, extent->customers, problem) && admit_lines(call, extent, problem);
}

static bool payment(yyjson_val *body, const struct extent *extent, struct tpcc_call *call, struct problem *problem) {
  yyjson_val *found[PAYMENT_FIELDS];
  return json_fields(body, PAYMENT_BODY, PAYMENT_FIELDS, "", found, problem) &&
         json_id(found[F_W_ID], "w_id", &call->w_id, problem) && json_id(found[F_D_ID], "d_id", &call->d_id, problem) &&
         json_id(found[F_C_W_ID], "c_w_id", &call->c_w_id, problem) &&
         json_id(found[F_C_D_ID], "c_d_id", &call->c_d_id, problem) &&
         read_customer(found[F_C_ID], found[F_C_LAST], call, problem) &&
         json_whole(found[F_H_AMOUNT], "", "h_amount", INT64_MIN, INT64_MAX, &call->h_amount, problem) &&
         join(found[F_C_ID], found[F_C_LAST], call, extent, problem) && home(call, extent, problem) &&
         known("c_w_id", call->c_w_id, extent->warehouses, problem) && known("c_d_id", call->c_d_id, DISTRICTS, problem) &&
         within("h_amount", call->h_amount, 1, AMOUNT_MOST, problem);
}

static bool order_status(yyjson_val *body, const struct extent *extent, struct tpcc_call *call, struct problem *problem) {
  yyjson_val *found[STATUS_FIELDS];
  bool read = json_fields(body, PAYMENT_BODY, STATUS_FIELDS, "", found, problem) &&
              json_id(found[F_W_ID], "w_id", &call->w_id, problem) &&
              json_id(found[F_D_ID], "d_id", &call->d_id, problem) &&
              read_customer(found[F_C_ID], found[F_C_LAST], call, problem) && home(call, extent, problem) &&
              join(found[F_C_ID], found[F_C_LAST], call, extent, problem);
  call->c_w_id = call->w_id;
  call->c_d_id = call->d_id;
  return read;
}

static bool delivery(yyjson_val *body, const struct extent *extent, struct tpcc_call *call, struct problem *problem) {
  static const struct field fields[] = {{"w_id", false}, {"o_carrier_id", false}};
  yyjson_val *found[2];
  return json_fields(body, fields, 2, "", found, problem) && json_id(found[0], "w_id", &call->w_id, problem) &&
         json_id(found[1], "o_carrier_id", &call->o_carrier_id, problem) &&
         known("w_id", call->w_id, extent->warehouses, problem) &&
         within("o_carrier_id", call->o_carrier_id, 1, 10, problem);
}

static bool stock_level(yyjson_val *body, const struct extent *extent, struct tpcc_call *call, struct problem *problem) {
  static const struct field fields[] = {{"w_id", false}, {"d_id", false}, {"threshold", false}};
  yyjson_val *found[3];
  return json_fields(body, fields, 3, "", found, problem) && json_id(found[0], "w_id", &call->w_id, problem) &&
         json_id(found[1], "d_id", &call->d_id, problem) && json_id(found[2], "threshold", &call->threshold, problem) &&
         home(call, extent, problem) && within("threshold", call->threshold, 10, 20, problem);
}

bool tpcc_decode(size_t kind, const struct request *request, const struct extent *extent, void *into,
                 struct problem *problem) {
  static bool (*const readers[TPCC_KINDS])(yyjson_val *, const struct extent *, struct tpcc_call *, struct problem *) = {
      [NEW_ORDER] = new_order, [PAYMENT] = payment,         [ORDER_STATUS] = order_status,
      [DELIVERY] = delivery,   [STOCK_LEVEL] = stock_level,
  };
  struct tpcc_call *call = into;
  *call = (struct tpcc_call){.kind = (enum tpcc_kind)kind};
  yyjson_doc *document = json_read(request->body, problem);
  bool read = document != NULL && readers[kind](yyjson_doc_get_root(document), extent, call, problem);
  yyjson_doc_free(document);
  return read;
}
