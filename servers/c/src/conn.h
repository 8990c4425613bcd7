/* A connection to an engine with a workload's statements prepared, and the account of what is done on it.
 *
 * Errors are sticky: the first fault stays in `fault` until the next attempt begins, and what is asked of the connection
 * after it does nothing. So the logic of a call looks for one where it must decide, and nothing is ever committed after
 * one. */
#ifndef CONN_H
#define CONN_H

#include "database.h"
#include "fault.h"
#include "statements.h"
#include "text.h"

enum tx {
  /* Reads of one moment. */
  TX_READ,
  TX_WRITE,
  /* One statement, sent without a transaction around it. */
  TX_ONE_READ,
  TX_ONE_WRITE,
};

enum control { CONTROL_BEGIN_READ, CONTROL_BEGIN_WRITE, CONTROL_COMMIT, CONTROL_ROLLBACK };
enum { CONTROLS = CONTROL_ROLLBACK + 1 };

enum param_kind { PARAM_NULL, PARAM_NUMBER, PARAM_CENTS, PARAM_TEXT };

struct param {
  enum param_kind kind;
  int64_t number;
  struct text text;
};

#define NUMBER(value) ((struct param){.kind = PARAM_NUMBER, .number = (value)})
#define CENTS(value) ((struct param){.kind = PARAM_CENTS, .number = (value)})
#define STRING(value) ((struct param){.kind = PARAM_TEXT, .text = (value)})

/* What a call took, summed over its attempts. Statements are counted without begin and commit. */
struct work {
  unsigned attempts;
  unsigned statements;
  uint64_t rows;
  unsigned commits;
  /* Connections that were opened again because they had been closed between calls. */
  unsigned reconnects;
  int64_t begin_ns;
  int64_t query_ns;
  int64_t commit_ns;
};

struct conn;

/* Why no connection came about. */
struct open_error {
  /* Whether trying again later may help. */
  bool unreachable;
  char what[400];
};

/* What a driver does; `conn.c` keeps the account and decides what is asked. */
struct driver {
  /* Sends a statement and takes its whole answer; a fault is in the connection afterwards. */
  bool (*execute)(struct conn *conn, size_t statement, const struct param *params);
  bool (*control)(struct conn *conn, enum control control);
  /* Goes to the next row of the answer. */
  bool (*next)(struct conn *conn);
  bool (*is_null)(struct conn *conn, unsigned column);
  bool (*number)(struct conn *conn, unsigned column, int64_t *into);
  bool (*scaled)(struct conn *conn, unsigned column, unsigned digits, int64_t *into);
  bool (*text)(struct conn *conn, unsigned column, struct text *into);
  bool (*is_open)(struct conn *conn);
  /* Prepares the workload's statements. */
  bool (*prepare)(struct conn *conn, const struct statements *statements, struct open_error *error);
  void (*close)(struct conn *conn);
};

struct conn {
  const struct driver *driver;
  struct fault fault;
  enum tx tx;
  /* Whether a transaction may be open that was begun here. After a call there is one only where it could not be ended. */
  bool open;
  /* Of the last answer. */
  uint64_t rows;
  uint64_t changed;
  int64_t begun;
  struct work work;
  /* A second descriptor of the connection's socket, by which somebody else may cut it. */
  int socket;
};

/* Nanoseconds of a clock that only goes forward. */
int64_t now_ns(void);

bool conn_begin(struct conn *conn, enum tx tx);
bool conn_commit(struct conn *conn);
void conn_rollback(struct conn *conn);

/* Rows that a statement changed. */
uint64_t conn_change(struct conn *conn, size_t statement, const struct param *params);
/* Whether a statement found a row; the first is then the one that is read. */
bool conn_row(struct conn *conn, size_t statement, const struct param *params);
/* Asks for rows; `conn_next` goes from one to the next. */
void conn_rows(struct conn *conn, size_t statement, const struct param *params);
bool conn_next(struct conn *conn);

/* Columns of the row at hand. One that is not what it should be is a fault. */
bool conn_is_null(struct conn *conn, unsigned column);
int64_t conn_number(struct conn *conn, unsigned column);
int64_t conn_scaled(struct conn *conn, unsigned column, unsigned digits);
struct text conn_text(struct conn *conn, unsigned column);

static inline bool conn_failed(const struct conn *conn) { return conn->fault.kind != FAULT_NONE; }

/* Keeps the first fault. */
void conn_fail(struct conn *conn, struct fault fault);

/* What the connection was told, for a driver: an error of a statement that is a transaction of its own may have hit its
 * commit. */
static inline bool conn_commits(const struct conn *conn) { return conn->tx == TX_ONE_WRITE; }

/* Whether an idle connection can be used: the engine has not closed it. */
bool conn_is_alive(struct conn *conn);
void conn_close(struct conn *conn);

/* What is behind the server, read back from a connection. */
enum { STACK_SETTINGS_MOST = 40 };

struct stack {
  const char *engine;
  const char *adapter;
  char engine_version[128];
  char adapter_version[32];
  char isolation[80];
  const char *tier;
  char detail[400];
  struct {
    char name[48];
    char value[128];
  } settings[STACK_SETTINGS_MOST];
  size_t settings_count;
};

void stack_add(struct stack *stack, const char *name, const char *value);

/* Who is told of the socket of a connection that is being opened, as soon as it has logged in: what follows waits for the
 * engine without a limit of its own, until the socket is shut down. Told -1 where the opening fails, before the socket is
 * closed. */
struct opening {
  void (*connected)(void *of, int socket);
  void *of;
};

/* Gives a connection its duplicate of a socket, and tells of it. */
bool opening_connected(const struct opening *opening, struct conn *conn, int socket, struct open_error *error);
/* Closes what could not be opened. */
void opening_failed(const struct opening *opening, struct conn *conn);

/* Opens a connection of the database's engine, makes the settings of its session and reads them back. Its statements are
 * not prepared yet. With a stack, that is read back too. `opening` may be null. */
struct conn *postgres_open(const struct database *database, const struct opening *opening, struct stack *stack,
                           struct open_error *error);
struct conn *mariadb_open(const struct database *database, const struct opening *opening, struct stack *stack,
                          struct open_error *error);
struct conn *conn_open(const struct database *database, const struct opening *opening, struct stack *stack,
                       struct open_error *error);

/* One number, asked by text. */
bool postgres_ask(struct conn *conn, const char *text, int64_t *numbers, size_t count);
bool mariadb_ask(struct conn *conn, const char *text, int64_t *numbers, size_t count);

#endif
