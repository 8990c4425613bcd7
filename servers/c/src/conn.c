#include "conn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void conn_fail(struct conn *conn, struct fault fault) {
  if (!conn_failed(conn)) {
    conn->fault = fault;
  }
}

/* A connection that was found gone before anything of the transaction was done: the call was never attempted. */
static void fail_unreached(struct conn *conn) {
  if (conn->fault.kind == FAULT_IN_DOUBT) {
    conn->fault = fault_refused(REASON_UNREACHABLE);
  }
}

static bool roll_back(struct conn *conn) {
  if (!conn->open) {
    return true;
  }
  conn->open = !conn->driver->control(conn, CONTROL_ROLLBACK);
  return !conn->open;
}

static bool begin(struct conn *conn) {
  if (!roll_back(conn)) {
    fail_unreached(conn);
    return false;
  }
  if (conn->tx == TX_ONE_READ || conn->tx == TX_ONE_WRITE) {
    return true;
  }
  conn->open = true;
  if (!conn->driver->control(conn, conn->tx == TX_READ ? CONTROL_BEGIN_READ : CONTROL_BEGIN_WRITE)) {
    conn->open = false;
    fail_unreached(conn);
  }
  return !conn_failed(conn);
}

bool conn_begin(struct conn *conn, enum tx tx) {
  int64_t asked = now_ns();
  conn->fault = (struct fault){.kind = FAULT_NONE};
  conn->tx = tx;
  bool begun = begin(conn);
  conn->begun = now_ns();
  conn->work.attempts++;
  conn->work.begin_ns += conn->begun - asked;
  return begun;
}

/* The span of the statements ends where that of the end of the transaction begins. */
static int64_t end_statements(struct conn *conn) {
  int64_t asked = now_ns();
  conn->work.query_ns += asked - conn->begun;
  return asked;
}

bool conn_commit(struct conn *conn) {
  int64_t asked = end_statements(conn);
  if (conn->open && !conn_failed(conn)) {
    conn->driver->control(conn, CONTROL_COMMIT);
    /* Whatever was answered, the transaction is over: what could not be answered has lost its connection. */
    conn->open = false;
  }
  conn->work.commits += !conn_failed(conn);
  conn->work.commit_ns += now_ns() - asked;
  return !conn_failed(conn);
}

void conn_rollback(struct conn *conn) {
  int64_t asked = end_statements(conn);
  /* The fault of the body tells more than one of the roll-back that follows it. */
  struct fault before = conn->fault;
  conn->fault = (struct fault){.kind = FAULT_NONE};
  roll_back(conn);
  if (before.kind != FAULT_NONE) {
    conn->fault = before;
  }
  conn->work.commit_ns += now_ns() - asked;
}

static bool execute(struct conn *conn, size_t statement, const struct param *params) {
  return !conn_failed(conn) && conn->driver->execute(conn, statement, params);
}

static void count(struct conn *conn, uint64_t rows) {
  conn->work.statements++;
  conn->work.rows += rows;
}

uint64_t conn_change(struct conn *conn, size_t statement, const struct param *params) {
  if (!execute(conn, statement, params)) {
    return 0;
  }
  count(conn, conn->changed);
  return conn->changed;
}

bool conn_row(struct conn *conn, size_t statement, const struct param *params) {
  if (!execute(conn, statement, params)) {
    return false;
  }
  count(conn, conn->rows > 0);
  return conn->rows > 0 && conn->driver->next(conn);
}

void conn_rows(struct conn *conn, size_t statement, const struct param *params) {
  if (execute(conn, statement, params)) {
    count(conn, conn->rows);
  }
}

bool conn_next(struct conn *conn) { return !conn_failed(conn) && conn->driver->next(conn); }

static void fail_column(struct conn *conn, unsigned column, const char *wanted) {
  conn_fail(conn, fault_defect("column %u is not %s", column + 1, wanted));
}

bool conn_is_null(struct conn *conn, unsigned column) { return conn_failed(conn) || conn->driver->is_null(conn, column); }

int64_t conn_number(struct conn *conn, unsigned column) {
  int64_t number = 0;
  if (!conn_failed(conn) && !conn->driver->number(conn, column, &number)) {
    fail_column(conn, column, "a whole number");
  }
  return number;
}

int64_t conn_scaled(struct conn *conn, unsigned column, unsigned digits) {
  int64_t number = 0;
  if (!conn_failed(conn) && !conn->driver->scaled(conn, column, digits, &number)) {
    fail_column(conn, column, "a decimal of that many digits");
  }
  return number;
}

struct text conn_text(struct conn *conn, unsigned column) {
  struct text text = {"", 0};
  if (!conn_failed(conn) && !conn->driver->text(conn, column, &text)) {
    fail_column(conn, column, "a text");
    text = (struct text){"", 0};
  }
  return text;
}

bool conn_is_alive(struct conn *conn) {
  /* An engine has nothing to say to an idle connection but that it ends; encryption may have. */
  struct pollfd looked = {.fd = conn->socket, .events = POLLIN | POLLRDHUP};
  if (poll(&looked, 1, 0) <= 0) {
    return true;
  }
  return looked.revents == POLLIN && conn->driver->is_open(conn);
}

bool opening_connected(const struct opening *opening, struct conn *conn, int socket, struct open_error *error) {
  conn->socket = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (conn->socket < 0) {
    *error = (struct open_error){.unreachable = true, .what = "the system gives no more file descriptors"};
    return false;
  }
  if (opening != NULL) {
    opening->connected(opening->of, conn->socket);
  }
  return true;
}

void opening_failed(const struct opening *opening, struct conn *conn) {
  if (opening != NULL && conn->socket >= 0) {
    opening->connected(opening->of, -1);
  }
  conn_close(conn);
}

void conn_close(struct conn *conn) {
  int duplicate = conn->socket;
  conn->driver->close(conn);
  if (duplicate >= 0) {
    close(duplicate);
  }
}

struct conn *conn_open(const struct database *database, const struct opening *opening, struct stack *stack,
                       struct open_error *error) {
  return database->engine == ENGINE_POSTGRES ? postgres_open(database, opening, stack, error)
                                             : mariadb_open(database, opening, stack, error);
}

void stack_add(struct stack *stack, const char *name, const char *value) {
  if (stack->settings_count < STACK_SETTINGS_MOST) {
    size_t at = stack->settings_count++;
    snprintf(stack->settings[at].name, sizeof stack->settings[at].name, "%s", name);
    snprintf(stack->settings[at].value, sizeof stack->settings[at].value, "%s", value);
  }
}
