#include "check.h"
#include "tpcc.h"

static unsigned rejected(enum tpcc_kind kind, const char *json) {
  static const struct extent extent = {.scale = 2, .warehouses = 2, .customers = 3000};
  struct tpcc_call call;
  struct problem problem = {0};
  const struct request request = {.body = text_of(json)};
  return tpcc_decode(kind, &request, &extent, &call, &problem) ? 0 : problem.status;
}

#define LINE "{\"i_id\":1,\"supply_w_id\":1,\"quantity\":1}"
#define FIVE LINE "," LINE "," LINE "," LINE "," LINE
#define ORDER(lines) "{\"w_id\":1,\"d_id\":1,\"c_id\":1,\"lines\":[" lines "]}"

static void calls_are_held_to_what_is_loaded(void) {
  CHECK(rejected(STOCK_LEVEL, "{\"w_id\":2,\"d_id\":10,\"threshold\":10}") == 0);
  CHECK(rejected(STOCK_LEVEL, "{\"w_id\":3,\"d_id\":1,\"threshold\":10}") == 404);
  CHECK(rejected(STOCK_LEVEL, "{\"w_id\":1,\"d_id\":11,\"threshold\":10}") == 404);
  CHECK(rejected(STOCK_LEVEL, "{\"w_id\":1,\"d_id\":-1,\"threshold\":10}") == 422);
  CHECK(rejected(STOCK_LEVEL, "{\"w_id\":1,\"d_id\":1,\"threshold\":21}") == 422);
  CHECK(rejected(DELIVERY, "{\"w_id\":1,\"o_carrier_id\":11}") == 422);
  CHECK(rejected(ORDER_STATUS, "{\"w_id\":1,\"d_id\":1,\"c_id\":3000}") == 0);
  CHECK(rejected(ORDER_STATUS, "{\"w_id\":1,\"d_id\":1,\"c_id\":null,\"c_last\":\"BAR\"}") == 0);
  CHECK(rejected(ORDER_STATUS, "{\"w_id\":1,\"d_id\":1,\"c_id\":3001}") == 404);
  CHECK(rejected(ORDER_STATUS, "{\"w_id\":1,\"d_id\":1}") == 422);
  CHECK(rejected(ORDER_STATUS, "{\"w_id\":1,\"d_id\":1,\"c_id\":1,\"c_last\":\"BAR\"}") == 422);
  CHECK(rejected(ORDER_STATUS, "{\"w_id\":1,\"d_id\":1,\"c_last\":\"BARBARBARBARBARBA\"}") == 422);
  CHECK(rejected(PAYMENT, "{\"w_id\":1,\"d_id\":1,\"c_w_id\":2,\"c_d_id\":2,\"c_id\":1,\"h_amount\":0}") == 422);
  CHECK(rejected(PAYMENT, "{\"w_id\":1,\"d_id\":1,\"c_w_id\":2,\"c_d_id\":2,\"c_id\":1,\"h_amount\":1}") == 0);
  CHECK(rejected(NEW_ORDER, ORDER(FIVE)) == 0 && rejected(NEW_ORDER, ORDER(LINE)) == 422);
  CHECK(rejected(NEW_ORDER, ORDER(FIVE "," FIVE "," FIVE "," LINE)) == 422);
  CHECK(rejected(NEW_ORDER, ORDER(FIVE ",[1,1,1]")) == 422);
  CHECK(rejected(NEW_ORDER, ORDER(FIVE ",{\"i_id\":4294967295,\"supply_w_id\":1,\"quantity\":1}")) == 0);
}

static void a_total_is_exact_and_rounds_half_up(void) {
  CHECK(order_total(10000, 0, 0, 0) == 10000 && order_total(10000, 5000, 2000, 2000) == 7000);
  CHECK(order_total(1, 5000, 0, 0) == 1 && order_total(1, 5001, 0, 0) == 0);
  CHECK(order_total(1500000, 0, 2000, 2000) == 2100000);
}

static void the_fact_of_a_payment_goes_in_front(void) {
  const struct tpcc_call call = {.w_id = 1, .d_id = 2, .c_w_id = 3, .c_d_id = 4, .h_amount = 123405};
  char old[DATA_MOST], data[DATA_MOST];
  memset(old, 'x', sizeof old);
  CHECK(bad_credit_data(&call, 5, (struct text){old, sizeof old}, data) == DATA_MOST);
  CHECK(memcmp(data, "5 4 3 2 1 1234.05 xxxx", 22) == 0);
  CHECK(bad_credit_data(&call, 5, TEXT("y"), data) == 19);
}

static void lines_are_worked_in_the_order_of_their_stock_rows(void) {
  const struct order_line lines[] = {{7, 2, 1}, {7, 1, 1}, {3, 9, 1}, {7, 2, 1}, {100001, 1, 1}};
  static const size_t expected[] = {2, 1, 0, 3, 4};
  size_t found[LINES_MOST];
  working_order(lines, 5, found);
  CHECK(memcmp(found, expected, sizeof expected) == 0);
}

void test_tpcc(void) {
  calls_are_held_to_what_is_loaded();
  a_total_is_exact_and_rounds_half_up();
  the_fact_of_a_payment_goes_in_front();
  lines_are_worked_in_the_order_of_their_stock_rows();
}
