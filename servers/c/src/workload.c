#include "workload.h"

#include <stdio.h>

enum { ATTEMPTS_MOST = 10 };

const struct workload *workload_named(const char *name) {
  const struct workload *const all[] = {&catalogue, &tpcc};
  for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
    if (strcmp(name, all[at]->name) == 0) {
      return all[at];
    }
  }
  return NULL;
}

static void attempt(const struct workload *workload, struct conn *conn, enum engine engine, const void *call,
                    struct outcome *outcome) {
  outcome->status = 200;
  outcome->is_problem = false;
  outcome->version = 0;
  buffer_clear(&outcome->body);
  if (!conn_begin(conn, workload->tx(call))) {
    return;
  }
  enum ended ended = workload->run(conn, engine, call, outcome);
  if (outcome->body.failed) {
    conn_fail(conn, fault_defect("there is no memory for an answer"));
  }
  if (ended == ENDED_COMMIT && !conn_failed(conn)) {
    conn_commit(conn);
  } else {
    conn_rollback(conn);
  }
}

bool workload_run(const struct workload *workload, struct conn *conn, enum engine engine, const void *call,
                  struct outcome *outcome) {
  for (int made = 1; made <= ATTEMPTS_MOST; made++) {
    attempt(workload, conn, engine, call, outcome);
    if (conn->fault.kind != FAULT_CONFLICT) {
      break;
    }
  }
  return !conn_failed(conn);
}
