/* TPC-C 5.11: its calls, as they are read from requests (tpcc_calls.c) and run on a connection (tpcc_sql.c). The contract
 * is spec/openapi/tpcc.yaml; numbers in comments are the standard's clauses. */
#ifndef TPCC_H
#define TPCC_H

#include "workload.h"

enum { LINES_LEAST = 5, LINES_MOST = 15, DISTRICTS = 10, LAST_NAME_MOST = 16, DATA_MOST = 500, DATA_SHOWN = 200 };

/* The kinds of calls, in the order of the routes. */
enum tpcc_kind { NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL, TPCC_KINDS };

struct order_line {
  int64_t i_id;
  int64_t supply_w_id;
  int64_t quantity;
};

struct tpcc_call {
  enum tpcc_kind kind;
  int64_t w_id;
  int64_t d_id;
  /* Of a payment, where the customer belongs; of other calls the same as above. */
  int64_t c_w_id;
  int64_t c_d_id;
  /* 0 where the customer is named by the last name. */
  int64_t c_id;
  size_t c_last_length;
  char c_last[LAST_NAME_MOST];
  int64_t h_amount;
  int64_t o_carrier_id;
  int64_t threshold;
  size_t lines_count;
  struct order_line lines[LINES_MOST];
};

bool tpcc_decode(size_t kind, const struct request *request, const struct extent *extent, void *call,
                 struct problem *problem);
const char *const *tpcc_statements(enum engine engine, size_t *count);
bool tpcc_measure(struct conn *conn, enum engine engine, struct extent *into);
enum tx tpcc_tx(const void *call);
enum ended tpcc_run(struct conn *conn, enum engine engine, const void *call, struct outcome *outcome);

/* 2.4.2.2: the sum of the amounts times (1 - discount) times (1 + taxes), in cents, rounded once, half a cent up. */
int64_t order_total(int64_t amounts, int64_t discount, int64_t w_tax, int64_t d_tax);

/* 2.5.2.2: what a payment keeps in c_data of a customer with bad credit: the fact in front, cut at 500 characters. */
size_t bad_credit_data(const struct tpcc_call *call, int64_t c_id, struct text old, char into[DATA_MOST]);

/* The places of the lines in the order of their stock rows. */
void working_order(const struct order_line *lines, size_t count, size_t into[LINES_MOST]);

#endif
