/* The five transactions over the narrow port of conn.h, one statement at a time. Each body reads like its clause. */
#include "tpcc.h"

#include <stdio.h>

enum {
  S_WAREHOUSE_TAX,
  S_CLAIM_ORDER_ID,
  S_CUSTOMER_TERMS,
  S_INSERT_ORDER,
  S_INSERT_NEW_ORDER,
  S_READ_ITEM,
  S_READ_STOCK,
  S_UPDATE_STOCK,
  S_INSERT_ORDER_LINE,
  S_PAY_WAREHOUSE,
  S_PAY_DISTRICT,
  S_CUSTOMERS_BY_NAME,
  S_READ_CUSTOMER,
  S_READ_CUSTOMER_DATA,
  S_PAY_CUSTOMER,
  S_PAY_CUSTOMER_WITH_DATA,
  S_INSERT_HISTORY,
  S_CUSTOMER_STATUS,
  S_NEWEST_ORDER,
  S_ORDER_LINES,
  S_OLDEST_NEW_ORDER,
  S_DELETE_NEW_ORDER,
  S_CARRY_ORDER,
  S_DELIVER_LINES,
  S_SUM_LINES,
  S_CREDIT_CUSTOMER,
  S_NEXT_ORDER_ID,
  S_LOW_STOCK,
  /* Only where an update gives no rows back. */
  S_READ_CLAIM,
  S_READ_PAID_WAREHOUSE,
  S_READ_PAID_DISTRICT,
  S_READ_CARRIED,
  STATEMENTS
};

static const char *const STATEMENT_NAMES[STATEMENTS] = {
    [S_WAREHOUSE_TAX] = "warehouse_tax",
    [S_CLAIM_ORDER_ID] = "claim_order_id",
    [S_CUSTOMER_TERMS] = "customer_terms",
    [S_INSERT_ORDER] = "insert_order",
    [S_INSERT_NEW_ORDER] = "insert_new_order",
    [S_READ_ITEM] = "read_item",
    [S_READ_STOCK] = "read_stock",
    [S_UPDATE_STOCK] = "update_stock",
    [S_INSERT_ORDER_LINE] = "insert_order_line",
    [S_PAY_WAREHOUSE] = "pay_warehouse",
    [S_PAY_DISTRICT] = "pay_district",
    [S_CUSTOMERS_BY_NAME] = "customers_by_name",
    [S_READ_CUSTOMER] = "read_customer",
    [S_READ_CUSTOMER_DATA] = "read_customer_data",
    [S_PAY_CUSTOMER] = "pay_customer",
    [S_PAY_CUSTOMER_WITH_DATA] = "pay_customer_with_data",
    [S_INSERT_HISTORY] = "insert_history",
    [S_CUSTOMER_STATUS] = "customer_status",
    [S_NEWEST_ORDER] = "newest_order",
    [S_ORDER_LINES] = "order_lines",
    [S_OLDEST_NEW_ORDER] = "oldest_new_order",
    [S_DELETE_NEW_ORDER] = "delete_new_order",
    [S_CARRY_ORDER] = "carry_order",
    [S_DELIVER_LINES] = "deliver_lines",
    [S_SUM_LINES] = "sum_lines",
    [S_CREDIT_CUSTOMER] = "credit_customer",
    [S_NEXT_ORDER_ID] = "next_order_id",
    [S_LOW_STOCK] = "low_stock",
    [S_READ_CLAIM] = "read_claim",
    [S_READ_PAID_WAREHOUSE] = "read_paid_warehouse",
    [S_READ_PAID_DISTRICT] = "read_paid_district",
    [S_READ_CARRIED] = "read_carried",
};

/* How many decimal places money and rates have. */
enum { CENT_DIGITS = 2, RATE_DIGITS = 4 };

const char *const *tpcc_statements(enum engine engine, size_t *count) {
  *count = engine == ENGINE_POSTGRES ? S_READ_CLAIM : STATEMENTS;
  return STATEMENT_NAMES;
}

bool tpcc_measure(struct conn *conn, enum engine engine, struct extent *into) {
  /* As spec/sql/tpcc/discover.sql asks. Every district has as many customers as the first. */
  static const char question[] = "select (select count(*) from warehouse), count(*) from customer "
                                 "where c_w_id = 1 and c_d_id = 1";
  int64_t found[2];
  bool read = engine == ENGINE_POSTGRES ? postgres_ask(conn, question, found, 2) : mariadb_ask(conn, question, found, 2);
  if (!read || found[0] < 1) {
    return false;
  }
  *into = (struct extent){.scale = (uint64_t)found[0], .warehouses = found[0], .customers = found[1]};
  return true;
}

static void absent(struct conn *conn, size_t statement) {
  conn_fail(conn, fault_defect("statement `%s` found no row where there must be one", STATEMENT_NAMES[statement]));
}

/* The row of a statement that must find one. */
static bool one(struct conn *conn, size_t statement, const struct param *params) {
  if (!conn_row(conn, statement, params)) {
    absent(conn, statement);
    return false;
  }
  return true;
}

/* A change of exactly one row. */
static bool change_one(struct conn *conn, size_t statement, const struct param *params) {
  if (conn_change(conn, statement, params) != 1) {
    absent(conn, statement);
    return false;
  }
  return true;
}

/* The row that an update changed: in one statement where there is `returning`, in two where there is not. The second reads
 * what the first has locked, by the same parameters. */
static bool returning(struct conn *conn, enum engine engine, size_t update, size_t read_back, const struct param *params) {
  if (engine == ENGINE_POSTGRES) {
    return one(conn, update, params);
  }
  return change_one(conn, update, params) && one(conn, read_back, params);
}

static bool has(struct text text, const char *word) { return memmem(text.bytes, text.length, word, strlen(word)) != NULL; }

static void member_text(struct buffer *into, const char *name, struct text value) {
  buffer_text(into, name);
  buffer_string(into, value);
}

static void member_number(struct buffer *into, const char *name, int64_t value) {
  buffer_text(into, name);
  buffer_number(into, value);
}

/* A text that outlives the row that it came from. */
struct kept {
  size_t length;
  char bytes[32];
};

static struct kept keep(struct conn *conn, unsigned column) {
  struct kept kept = {0};
  struct text text = conn_text(conn, column);
  if (text.length > sizeof kept.bytes) {
    conn_fail(conn, fault_defect("column %u is longer than the standard's", column + 1));
    return kept;
  }
  kept.length = text.length;
  memcpy(kept.bytes, text.bytes, text.length);
  return kept;
}

static struct text kept_text(const struct kept *kept) { return (struct text){kept->bytes, kept->length}; }

/* New-Order (2.4.2.2). */

struct placed_line {
  struct kept i_name;
  int64_t i_price;
  int64_t s_quantity;
  char brand;
  int64_t ol_amount;
};

/* One line: item, stock, order_line. False where the item is unused, or a fault was met. */
static bool order_line(struct conn *conn, const struct tpcc_call *call, int64_t o_id, size_t at, struct placed_line *into) {
  const struct order_line *line = &call->lines[at];
  /* What is out of the column's range is no item, as 0 is none. */
  const struct param item[] = {NUMBER(line->i_id > INT32_MAX ? 0 : line->i_id)};
  if (!conn_row(conn, S_READ_ITEM, item)) {
    return false;
  }
  into->i_price = conn_scaled(conn, 0, CENT_DIGITS);
  into->i_name = keep(conn, 1);
  bool i_original = has(conn_text(conn, 2), "ORIGINAL");
  const struct param stock[] = {NUMBER(line->supply_w_id), NUMBER(line->i_id), NUMBER(call->d_id)};
  if (!one(conn, S_READ_STOCK, stock)) {
    return false;
  }
  int64_t left = conn_number(conn, 0) - line->quantity;
  bool s_original = has(conn_text(conn, 1), "ORIGINAL");
  struct kept dist_info = keep(conn, 2);
  /* 2.4.2.2: refill by 91 when less than 10 would be left. */
  into->s_quantity = left >= 10 ? left : left + 91;
  const struct param update[] = {NUMBER(line->supply_w_id), NUMBER(line->i_id), NUMBER(into->s_quantity),
                                 NUMBER(line->quantity), NUMBER(line->supply_w_id != call->w_id)};
  conn_change(conn, S_UPDATE_STOCK, update);
  into->ol_amount = into->i_price * line->quantity;
  into->brand = i_original && s_original ? 'B' : 'G';
  const struct param insert[] = {NUMBER(call->w_id),      NUMBER(call->d_id),     NUMBER(o_id),
                                 NUMBER((int64_t)at + 1), NUMBER(line->i_id),     NUMBER(line->supply_w_id),
                                 NUMBER(line->quantity),  CENTS(into->ol_amount), STRING(kept_text(&dist_info))};
  conn_change(conn, S_INSERT_ORDER_LINE, insert);
  return !conn_failed(conn);
}

static void write_placed_line(const struct placed_line *line, struct buffer *into) {
  member_text(into, "{\"i_name\":", kept_text(&line->i_name));
  member_number(into, ",\"i_price\":", line->i_price);
  member_number(into, ",\"s_quantity\":", line->s_quantity);
  member_text(into, ",\"brand_generic\":", (struct text){&line->brand, 1});
  member_number(into, ",\"ol_amount\":", line->ol_amount);
  buffer_literal(into, "}");
}

static bool is_all_local(const struct tpcc_call *call) {
  for (size_t at = 0; at < call->lines_count; at++) {
    if (call->lines[at].supply_w_id != call->w_id) {
      return false;
    }
  }
  return true;
}

/* What is read and stored before the lines. */
struct order {
  int64_t w_tax;
  int64_t d_tax;
  int64_t c_discount;
  int64_t o_id;
  int64_t o_entry_d;
  struct kept c_last;
  struct kept c_credit;
};

static bool begin_order(struct conn *conn, enum engine engine, const struct tpcc_call *call, struct order *into) {
  const struct param place[] = {NUMBER(call->w_id), NUMBER(call->d_id), NUMBER(call->c_id)};
  if (!one(conn, S_WAREHOUSE_TAX, place)) {
    return false;
  }
  into->w_tax = conn_scaled(conn, 0, RATE_DIGITS);
  if (!returning(conn, engine, S_CLAIM_ORDER_ID, S_READ_CLAIM, place)) {
    return false;
  }
  into->o_id = conn_number(conn, 0);
  into->d_tax = conn_scaled(conn, 1, RATE_DIGITS);
  if (!one(conn, S_CUSTOMER_TERMS, place)) {
    return false;
  }
  into->c_discount = conn_scaled(conn, 0, RATE_DIGITS);
  into->c_last = keep(conn, 1);
  into->c_credit = keep(conn, 2);
  const struct param order[] = {NUMBER(call->w_id),
                                NUMBER(call->d_id),
                                NUMBER(into->o_id),
                                NUMBER(call->c_id),
                                NUMBER((int64_t)call->lines_count),
                                NUMBER(is_all_local(call))};
  if (!one(conn, S_INSERT_ORDER, order)) {
    return false;
  }
  into->o_entry_d = conn_number(conn, 0);
  conn_change(conn, S_INSERT_NEW_ORDER, order);
  return !conn_failed(conn);
}

static void write_order(const char *status, const struct order *order, struct buffer *into) {
  buffer_text(into, status);
  member_number(into, ",\"o_id\":", order->o_id);
  member_text(into, ",\"c_last\":", kept_text(&order->c_last));
  member_text(into, ",\"c_credit\":", kept_text(&order->c_credit));
}

static enum ended new_order(struct conn *conn, enum engine engine, const struct tpcc_call *call, struct outcome *outcome) {
  struct buffer *into = &outcome->body;
  struct order order;
  struct placed_line placed[LINES_MOST];
  size_t places[LINES_MOST];
  int64_t amounts = 0;
  if (!begin_order(conn, engine, call, &order)) {
    return ENDED_ROLLBACK;
  }
  /* All orders take their stock rows in the same order: those that want the same rows wait for each other in one direction
   * only, and no deadlock can come of it. An unused item number is the highest of all, so it still comes last. */
  working_order(call->lines, call->lines_count, places);
  for (size_t at = 0; at < call->lines_count; at++) {
    if (!order_line(conn, call, order.o_id, places[at], &placed[places[at]])) {
      /* 2.4.2.3: the item number is not valid, and everything so far is undone. */
      write_order("{\"status\":\"item-not-valid\"", &order, into);
      buffer_literal(into, "}");
      return ENDED_ROLLBACK;
    }
    amounts += placed[places[at]].ol_amount;
  }
  write_order("{\"status\":\"placed\"", &order, into);
  member_number(into, ",\"o_entry_d\":", order.o_entry_d);
  member_number(into, ",\"c_discount\":", order.c_discount);
  member_number(into, ",\"w_tax\":", order.w_tax);
  member_number(into, ",\"d_tax\":", order.d_tax);
  member_number(into, ",\"total_amount\":", order_total(amounts, order.c_discount, order.w_tax, order.d_tax));
  buffer_literal(into, ",\"lines\":[");
  for (size_t at = 0; at < call->lines_count; at++) {
    buffer_text(into, at > 0 ? "," : "");
    write_placed_line(&placed[at], into);
  }
  buffer_literal(into, "]}");
  return ENDED_COMMIT;
}

/* 2.5.2.2: by last name, the customer at position n/2, rounded up, of all who have it, sorted by first name. 0 where a
 * fault was met. */
static int64_t identify(struct conn *conn, const struct tpcc_call *call) {
  if (call->c_id != 0) {
    return call->c_id;
  }
  const struct text name = {call->c_last, call->c_last_length};
  const struct param key[] = {NUMBER(call->c_w_id), NUMBER(call->c_d_id), STRING(name)};
  conn_rows(conn, S_CUSTOMERS_BY_NAME, key);
  uint64_t middle = (conn->rows + 1) / 2;
  for (uint64_t row = 0; row < middle; row++) {
    conn_next(conn);
  }
  if (middle > 0) {
    return conn_number(conn, 0);
  }
  struct fault unknown = {.kind = FAULT_UNKNOWN_ID};
  snprintf(unknown.what, sizeof unknown.what, "no customer is called %.*s", (int)name.length, name.bytes);
  conn_fail(conn, unknown);
  return 0;
}

/* Payment (2.5.2.2). */

static void write_address(struct conn *conn, unsigned first, struct buffer *into) {
  member_text(into, "{\"street_1\":", conn_text(conn, first));
  member_text(into, ",\"street_2\":", conn_text(conn, first + 1));
  member_text(into, ",\"city\":", conn_text(conn, first + 2));
  member_text(into, ",\"state\":", conn_text(conn, first + 3));
  member_text(into, ",\"zip\":", conn_text(conn, first + 4));
  buffer_literal(into, "}");
}

/* Columns of `read_customer`. */
enum { C_FIRST, C_MIDDLE, C_LAST, C_STREET_1, C_PHONE = 8, C_SINCE, C_CREDIT, C_CREDIT_LIM, C_DISCOUNT, C_BALANCE };

/* Writes the customer as the payment leaves it, and answers whether the credit is bad. */
static bool write_customer(struct conn *conn, const struct tpcc_call *call, int64_t c_id, struct buffer *into) {
  struct text credit = conn_text(conn, C_CREDIT);
  member_number(into, "{\"c_id\":", c_id);
  member_text(into, ",\"c_first\":", conn_text(conn, C_FIRST));
  member_text(into, ",\"c_middle\":", conn_text(conn, C_MIDDLE));
  member_text(into, ",\"c_last\":", conn_text(conn, C_LAST));
  buffer_literal(into, ",\"address\":");
  write_address(conn, C_STREET_1, into);
  member_text(into, ",\"c_phone\":", conn_text(conn, C_PHONE));
  member_number(into, ",\"c_since\":", conn_number(conn, C_SINCE));
  member_text(into, ",\"c_credit\":", credit);
  member_number(into, ",\"c_credit_lim\":", conn_scaled(conn, C_CREDIT_LIM, CENT_DIGITS));
  member_number(into, ",\"c_discount\":", conn_scaled(conn, C_DISCOUNT, RATE_DIGITS));
  member_number(into, ",\"c_balance\":", conn_scaled(conn, C_BALANCE, CENT_DIGITS) - call->h_amount);
  buffer_literal(into, "}");
  return text_is(credit, "BC");
}

static void pay_customer(struct conn *conn, const struct tpcc_call *call, int64_t c_id, bool bad_credit,
                         struct buffer *into) {
  struct param pay[] = {
      NUMBER(call->c_w_id), NUMBER(call->c_d_id), NUMBER(c_id), CENTS(call->h_amount), {.kind = PARAM_NULL}};
  if (!bad_credit) {
    conn_change(conn, S_PAY_CUSTOMER, pay);
    return;
  }
  if (!one(conn, S_READ_CUSTOMER_DATA, pay)) {
    return;
  }
  char room[DATA_MOST];
  struct text data = {room, bad_credit_data(call, c_id, conn_text(conn, 0), room)};
  pay[4] = STRING(data);
  conn_change(conn, S_PAY_CUSTOMER_WITH_DATA, pay);
  member_text(into, ",\"c_data\":", (struct text){room, text_cut(data, DATA_SHOWN)});
}

static void insert_history(struct conn *conn, const struct tpcc_call *call, int64_t c_id, const struct kept *w_name,
                           const struct kept *d_name, struct buffer *into) {
  /* h_data is both names with four spaces between them. */
  char data[2 * sizeof w_name->bytes + 8];
  int length =
      snprintf(data, sizeof data, "%.*s    %.*s", (int)w_name->length, w_name->bytes, (int)d_name->length, d_name->bytes);
  const struct text h_data = {data, length < 0 ? 0 : (size_t)length};
  const struct param history[] = {NUMBER(call->c_w_id), NUMBER(call->c_d_id),  NUMBER(c_id),  NUMBER(call->w_id),
                                  NUMBER(call->d_id),   CENTS(call->h_amount), STRING(h_data)};
  if (one(conn, S_INSERT_HISTORY, history)) {
    member_number(into, ",\"h_date\":", conn_number(conn, 0));
  }
}

static enum ended payment(struct conn *conn, enum engine engine, const struct tpcc_call *call, struct outcome *outcome) {
  struct buffer *into = &outcome->body;
  const struct param warehouse[] = {NUMBER(call->w_id), CENTS(call->h_amount)};
  if (!returning(conn, engine, S_PAY_WAREHOUSE, S_READ_PAID_WAREHOUSE, warehouse)) {
    return ENDED_ROLLBACK;
  }
  struct kept w_name = keep(conn, 0);
  buffer_literal(into, "{\"warehouse\":");
  write_address(conn, 1, into);
  const struct param district[] = {NUMBER(call->w_id), NUMBER(call->d_id), CENTS(call->h_amount)};
  if (!returning(conn, engine, S_PAY_DISTRICT, S_READ_PAID_DISTRICT, district)) {
    return ENDED_ROLLBACK;
  }
  struct kept d_name = keep(conn, 0);
  buffer_literal(into, ",\"district\":");
  write_address(conn, 1, into);
  int64_t c_id = identify(conn, call);
  const struct param key[] = {NUMBER(call->c_w_id), NUMBER(call->c_d_id), NUMBER(c_id)};
  if (conn_failed(conn) || !one(conn, S_READ_CUSTOMER, key)) {
    return ENDED_ROLLBACK;
  }
  buffer_literal(into, ",\"customer\":");
  bool bad_credit = write_customer(conn, call, c_id, into);
  pay_customer(conn, call, c_id, bad_credit, into);
  insert_history(conn, call, c_id, &w_name, &d_name, into);
  buffer_literal(into, "}");
  return ENDED_COMMIT;
}

/* Order-Status (2.6.2.2). */

static void write_report_line(struct conn *conn, struct buffer *into) {
  member_number(into, "{\"ol_supply_w_id\":", conn_number(conn, 1));
  member_number(into, ",\"ol_i_id\":", conn_number(conn, 0));
  member_number(into, ",\"ol_quantity\":", conn_number(conn, 2));
  member_number(into, ",\"ol_amount\":", conn_scaled(conn, 3, CENT_DIGITS));
  buffer_literal(into, ",\"ol_delivery_d\":");
  if (conn_is_null(conn, 4)) {
    buffer_literal(into, "null}");
  } else {
    buffer_number(into, conn_number(conn, 4));
    buffer_literal(into, "}");
  }
}

static enum ended order_status(struct conn *conn, const struct tpcc_call *call, struct outcome *outcome) {
  struct buffer *into = &outcome->body;
  int64_t c_id = identify(conn, call);
  struct param key[] = {NUMBER(call->w_id), NUMBER(call->d_id), NUMBER(c_id)};
  if (conn_failed(conn) || !one(conn, S_CUSTOMER_STATUS, key)) {
    return ENDED_ROLLBACK;
  }
  member_number(into, "{\"c_id\":", c_id);
  member_text(into, ",\"c_first\":", conn_text(conn, 0));
  member_text(into, ",\"c_middle\":", conn_text(conn, 1));
  member_text(into, ",\"c_last\":", conn_text(conn, 2));
  member_number(into, ",\"c_balance\":", conn_scaled(conn, 3, CENT_DIGITS));
  if (!one(conn, S_NEWEST_ORDER, key)) {
    return ENDED_ROLLBACK;
  }
  int64_t o_id = conn_number(conn, 0);
  member_number(into, ",\"o_id\":", o_id);
  member_number(into, ",\"o_entry_d\":", conn_number(conn, 1));
  if (conn_is_null(conn, 2)) {
    buffer_literal(into, ",\"o_carrier_id\":null");
  } else {
    member_number(into, ",\"o_carrier_id\":", conn_number(conn, 2));
  }
  key[2] = NUMBER(o_id);
  conn_rows(conn, S_ORDER_LINES, key);
  buffer_literal(into, ",\"lines\":[");
  for (int line = 0; line < LINES_MOST && conn_next(conn); line++) {
    buffer_text(into, line > 0 ? "," : "");
    write_report_line(conn, into);
  }
  buffer_literal(into, "]}");
  return ENDED_COMMIT;
}

/* Delivery (2.7.4.2), all ten districts in one transaction. */

/* The oldest order of a district; 0 where there is nothing to deliver, or a fault was met. */
static int64_t deliver_district(struct conn *conn, enum engine engine, const struct tpcc_call *call, int64_t d_id) {
  struct param order[] = {NUMBER(call->w_id), NUMBER(d_id), {.kind = PARAM_NULL}, NUMBER(call->o_carrier_id)};
  if (!conn_row(conn, S_OLDEST_NEW_ORDER, order)) {
    return 0;
  }
  int64_t o_id = conn_number(conn, 0);
  order[2] = NUMBER(o_id);
  if (conn_change(conn, S_DELETE_NEW_ORDER, order) == 0) {
    /* Another Delivery has taken it since we looked. All of this one is done anew, on what is there now. */
    conn_fail(conn, (struct fault){.kind = FAULT_CONFLICT, .reason = REASON_SERIALIZATION});
    return 0;
  }
  if (!returning(conn, engine, S_CARRY_ORDER, S_READ_CARRIED, order)) {
    return 0;
  }
  int64_t c_id = conn_number(conn, 0);
  conn_change(conn, S_DELIVER_LINES, order);
  if (!one(conn, S_SUM_LINES, order)) {
    return 0;
  }
  int64_t amount = conn_scaled(conn, 0, CENT_DIGITS);
  const struct param credit[] = {NUMBER(call->w_id), NUMBER(d_id), NUMBER(c_id), CENTS(amount)};
  return change_one(conn, S_CREDIT_CUSTOMER, credit) ? o_id : 0;
}

static enum ended delivery(struct conn *conn, enum engine engine, const struct tpcc_call *call, struct outcome *outcome) {
  buffer_literal(&outcome->body, "{\"o_ids\":[");
  for (int64_t d_id = 1; d_id <= DISTRICTS; d_id++) {
    int64_t o_id = deliver_district(conn, engine, call, d_id);
    if (conn_failed(conn)) {
      return ENDED_ROLLBACK;
    }
    buffer_text(&outcome->body, d_id > 1 ? "," : "");
    if (o_id == 0) {
      buffer_literal(&outcome->body, "null");
    } else {
      buffer_number(&outcome->body, o_id);
    }
  }
  buffer_literal(&outcome->body, "]}");
  return ENDED_COMMIT;
}

/* Stock-Level (2.8.2.2). */
static enum ended stock_level(struct conn *conn, const struct tpcc_call *call, struct outcome *outcome) {
  struct param recent[] = {NUMBER(call->w_id), NUMBER(call->d_id), {.kind = PARAM_NULL}, NUMBER(call->threshold)};
  if (!one(conn, S_NEXT_ORDER_ID, recent)) {
    return ENDED_ROLLBACK;
  }
  recent[2] = NUMBER(conn_number(conn, 0));
  if (!one(conn, S_LOW_STOCK, recent)) {
    return ENDED_ROLLBACK;
  }
  member_number(&outcome->body, "{\"low_stock\":", conn_number(conn, 0));
  buffer_literal(&outcome->body, "}");
  return ENDED_COMMIT;
}

enum tx tpcc_tx(const void *of) {
  const struct tpcc_call *call = of;
  return call->kind == ORDER_STATUS || call->kind == STOCK_LEVEL ? TX_READ : TX_WRITE;
}

enum ended tpcc_run(struct conn *conn, enum engine engine, const void *of, struct outcome *outcome) {
  const struct tpcc_call *call = of;
  switch (call->kind) {
  case NEW_ORDER:
    return new_order(conn, engine, call, outcome);
  case PAYMENT:
    return payment(conn, engine, call, outcome);
  case ORDER_STATUS:
    return order_status(conn, call, outcome);
  case DELIVERY:
    return delivery(conn, engine, call, outcome);
  case STOCK_LEVEL:
    return stock_level(conn, call, outcome);
  case TPCC_KINDS:
    break;
  }
  return ENDED_ROLLBACK;
}
