/* The rules of TPC-C that need no database. */
#include "tpcc.h"

#include <stdio.h>

int64_t order_total(int64_t amounts, int64_t discount, int64_t w_tax, int64_t d_tax) {
  /* Whole numbers: the largest order (15 lines of 10 pieces at 100.00) times both factors stays below 2^50. */
  const int64_t one = 10000;
  int64_t total = amounts * (one - discount) * (one + w_tax + d_tax) + one * one / 2;
  return total / (one * one) - (total % (one * one) < 0);
}

size_t bad_credit_data(const struct tpcc_call *call, int64_t c_id, struct text old, char into[DATA_MOST]) {
  char fact[160];
  int length = snprintf(fact, sizeof fact, "%lld %lld %lld %lld %lld %lld.%02lld ", (long long)c_id,
                        (long long)call->c_d_id, (long long)call->c_w_id, (long long)call->d_id, (long long)call->w_id,
                        (long long)call->h_amount / 100, (long long)call->h_amount % 100);
  size_t written = length < 0 ? 0 : (size_t)length;
  size_t kept = text_cut(old, DATA_MOST - written);
  memcpy(into, fact, written);
  memcpy(into + written, old.bytes, kept);
  return written + kept;
}

void working_order(const struct order_line *lines, size_t count, size_t into[LINES_MOST]) {
  for (size_t at = 0; at < count; at++) {
    size_t place = at;
    for (; place > 0; place--) {
      const struct order_line *before = &lines[into[place - 1]], *line = &lines[at];
      bool later = before->i_id != line->i_id ? before->i_id > line->i_id : before->supply_w_id > line->supply_w_id;
      if (!later) {
        break;
      }
      into[place] = into[place - 1];
    }
    into[place] = at;
  }
}
