/* The driver over libpq: prepared statements, parameters and columns in their binary forms. */
#include "postgres.h"

#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>

/* Types by their numbers in pg_type, which never change. */
enum {
  TYPE_INT8 = 20,
  TYPE_INT2 = 21,
  TYPE_INT4 = 23,
  TYPE_TEXT = 25,
  TYPE_BPCHAR = 1042,
  TYPE_VARCHAR = 1043,
  TYPE_TIMESTAMP = 1114,
  TYPE_NUMERIC = 1700,
};

/* Seconds from 1970 to 2000, from where PostgreSQL counts. */
static const int64_t EPOCH = 946684800;
static const int64_t MICROS = 1000000;

/* A transaction that writes takes the isolation of the session, which is that of the URL. */
static const char *const CONTROL_TEXTS[CONTROLS] = {
    [CONTROL_BEGIN_READ] = "begin isolation level repeatable read read only",
    [CONTROL_BEGIN_WRITE] = "begin",
    [CONTROL_COMMIT] = "commit",
    [CONTROL_ROLLBACK] = "rollback",
};
static const char *const CONTROL_NAMES[CONTROLS] = {
    [CONTROL_BEGIN_READ] = "begin_read",
    [CONTROL_BEGIN_WRITE] = "begin_write",
    [CONTROL_COMMIT] = "commit",
    [CONTROL_ROLLBACK] = "rollback",
};

static void forget(struct postgres_conn *conn) {
  PQclear(conn->result);
  conn->result = NULL;
}

/* Notes what is wrong with an answer, if anything is. Answers whether the statement has been executed. */
static bool settled(struct postgres_conn *conn, bool at_commit) {
  ExecStatusType status = PQresultStatus(conn->result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
    return true;
  }
  char message[200];
  const char *sqlstate = PQresultErrorField(conn->result, PG_DIAG_SQLSTATE);
  const char *primary = PQresultErrorField(conn->result, PG_DIAG_MESSAGE_PRIMARY);
  postgres_message(primary != NULL ? primary : PQerrorMessage(conn->pg), message, sizeof message);
  if (sqlstate != NULL) {
    conn_fail(&conn->conn, fault_of_postgres(sqlstate, at_commit, message));
  } else if (PQstatus(conn->pg) != CONNECTION_OK) {
    conn_fail(&conn->conn, fault_lost(at_commit));
  } else {
    conn_fail(&conn->conn, fault_defect("libpq: %s", message));
  }
  forget(conn);
  return false;
}

/* Puts a number into the form of a parameter's type. Answers its length, 0 where it does not fit. */
static int put_number(Oid type, int64_t number, unsigned char *into) {
  switch (type) {
  case TYPE_INT2:
    put_be16(into, (uint16_t)number);
    return number >= INT16_MIN && number <= INT16_MAX ? 2 : 0;
  case TYPE_INT4:
    put_be32(into, (uint32_t)number);
    return number >= INT32_MIN && number <= INT32_MAX ? 4 : 0;
  case TYPE_INT8:
    put_be64(into, (uint64_t)number);
    return 8;
  case TYPE_NUMERIC:
    return number >= INT64_MIN / 100 && number <= INT64_MAX / 100 ? (int)numeric_of_cents(number * 100, into) : 0;
  default:
    return 0;
  }
}

static bool put_param(struct postgres_conn *conn, Oid type, const struct param *param, int at) {
  unsigned char *form = conn->forms[at];
  int length = 0;
  bool is_text = type == TYPE_VARCHAR || type == TYPE_TEXT || type == TYPE_BPCHAR;
  conn->formats[at] = 1;
  conn->values[at] = (const char *)form;
  switch (param->kind) {
  case PARAM_NULL:
    conn->values[at] = NULL;
    conn->lengths[at] = 0;
    return true;
  case PARAM_NUMBER:
    length = put_number(type, param->number, form);
    break;
  case PARAM_CENTS:
    length = type == TYPE_NUMERIC ? (int)numeric_of_cents(param->number, form) : 0;
    break;
  case PARAM_TEXT:
    conn->values[at] = param->text.bytes;
    conn->lengths[at] = (int)param->text.length;
    return is_text;
  }
  conn->lengths[at] = length;
  return length > 0;
}

static bool execute(struct conn *base, size_t number, const struct param *params) {
  struct postgres_conn *conn = postgres(base);
  const struct postgres_statement *statement = &conn->statements[number];
  for (int at = 0; at < statement->places; at++) {
    if (!put_param(conn, statement->types[at], &params[statement->order[at]], at)) {
      conn_fail(base,
                fault_defect("parameter %d of statement %zu is not of type %u", at + 1, number, statement->types[at]));
      return false;
    }
  }
  forget(conn);
  conn->result =
      PQexecPrepared(conn->pg, statement->name, statement->places, conn->values, conn->lengths, conn->formats, 1);
  if (!settled(conn, conn_commits(base))) {
    return false;
  }
  conn->row = -1;
  base->rows = (uint64_t)PQntuples(conn->result);
  base->changed = 0;
  for (const char *digit = PQcmdTuples(conn->result); *digit != '\0'; digit++) {
    base->changed = base->changed * 10 + (uint64_t)(*digit - '0');
  }
  return true;
}

static bool control(struct conn *base, enum control what) {
  struct postgres_conn *conn = postgres(base);
  forget(conn);
  conn->result = PQexecPrepared(conn->pg, CONTROL_NAMES[what], 0, NULL, NULL, NULL, 1);
  return settled(conn, what == CONTROL_COMMIT);
}

static bool next(struct conn *base) {
  struct postgres_conn *conn = postgres(base);
  return conn->result != NULL && ++conn->row < PQntuples(conn->result);
}

static bool is_null(struct conn *base, unsigned column) {
  struct postgres_conn *conn = postgres(base);
  return PQgetisnull(conn->result, conn->row, (int)column) != 0;
}

/* The bytes of a column, if it is there and not null. */
static const unsigned char *raw(struct postgres_conn *conn, int column, Oid *type, size_t *length) {
  if (column >= PQnfields(conn->result) || PQgetisnull(conn->result, conn->row, column)) {
    return NULL;
  }
  *type = PQftype(conn->result, column);
  *length = (size_t)PQgetlength(conn->result, conn->row, column);
  return (const unsigned char *)PQgetvalue(conn->result, conn->row, column);
}

static int64_t seconds_of(int64_t micros) { return micros / MICROS - (micros % MICROS < 0) + EPOCH; }

static bool number(struct conn *base, unsigned column, int64_t *into) {
  Oid type = 0;
  size_t length = 0;
  const unsigned char *bytes = raw(postgres(base), (int)column, &type, &length);
  if (bytes == NULL) {
    return false;
  }
  switch (type) {
  case TYPE_INT4:
    *into = length == 4 ? (int32_t)be32(bytes) : 0;
    return length == 4;
  case TYPE_INT8:
    *into = length == 8 ? (int64_t)be64(bytes) : 0;
    return length == 8;
  case TYPE_INT2:
    *into = length == 2 ? (int16_t)be16(bytes) : 0;
    return length == 2;
  case TYPE_TIMESTAMP:
    *into = length == 8 ? seconds_of((int64_t)be64(bytes)) : 0;
    /* The two ends stand for infinity. */
    return length == 8 && (int64_t)be64(bytes) != INT64_MAX && (int64_t)be64(bytes) != INT64_MIN;
  case TYPE_NUMERIC:
    return numeric_scaled(bytes, length, 0, into);
  default:
    return false;
  }
}

static bool scaled(struct conn *base, unsigned column, unsigned digits, int64_t *into) {
  Oid type = 0;
  size_t length = 0;
  const unsigned char *bytes = raw(postgres(base), (int)column, &type, &length);
  return bytes != NULL && type == TYPE_NUMERIC && numeric_scaled(bytes, length, digits, into);
}

/* A text, without the blanks that fill up a `char(n)`. */
static bool text(struct conn *base, unsigned column, struct text *into) {
  Oid type = 0;
  size_t length = 0;
  const char *bytes = (const char *)raw(postgres(base), (int)column, &type, &length);
  if (bytes == NULL || (type != TYPE_VARCHAR && type != TYPE_TEXT && type != TYPE_BPCHAR)) {
    return false;
  }
  while (type == TYPE_BPCHAR && length > 0 && bytes[length - 1] == ' ') {
    length--;
  }
  *into = (struct text){bytes, length};
  return true;
}

/* Encryption may have something to say between calls. What else comes is mostly that the connection ends, and where it is a
 * setting that was reloaded, a new connection does no harm. */
static bool is_open(struct conn *base) { return PQsslInUse(postgres(base)->pg) != 0; }

/* Asks for the types of a statement's parameters. */
static bool describe(struct postgres_conn *conn, struct postgres_statement *statement, struct open_error *error) {
  PGresult *described = PQdescribePrepared(conn->pg, statement->name);
  bool known = PQresultStatus(described) == PGRES_COMMAND_OK;
  statement->types = known ? calloc((size_t)statement->places + 1, sizeof *statement->types) : NULL;
  if (!known) {
    postgres_open_error(described, conn->pg, error);
  } else if (statement->types == NULL || PQnparams(described) != statement->places) {
    *error = (struct open_error){.what = "a statement has another number of parameters than its file says"};
    known = false;
  }
  for (int at = 0; known && at < statement->places; at++) {
    statement->types[at] = PQparamtype(described, at);
  }
  PQclear(described);
  return known;
}

static bool prepare_one(struct postgres_conn *conn, const char *name, const char *sql, struct open_error *error) {
  PGresult *prepared = PQprepare(conn->pg, name, sql, 0, NULL);
  bool done = PQresultStatus(prepared) == PGRES_COMMAND_OK;
  if (!done) {
    postgres_open_error(prepared, conn->pg, error);
  }
  PQclear(prepared);
  return done;
}

static bool prepare(struct conn *base, const struct statements *statements, struct open_error *error) {
  struct postgres_conn *conn = postgres(base);
  size_t most = 1;
  conn->statements = calloc(statements->count, sizeof *conn->statements);
  for (size_t at = 0; at < statements->count && conn->statements != NULL; at++) {
    const struct statement *from = &statements->list[at];
    struct postgres_statement *into = &conn->statements[at];
    *into = (struct postgres_statement){.order = from->order, .places = (int)from->places};
    snprintf(into->name, sizeof into->name, "s%zu", at);
    conn->count = at + 1;
    most = from->places > most ? from->places : most;
    if (!prepare_one(conn, into->name, from->text, error) || !describe(conn, into, error)) {
      return false;
    }
  }
  for (size_t at = 0; at < CONTROLS; at++) {
    if (!prepare_one(conn, CONTROL_NAMES[at], CONTROL_TEXTS[at], error)) {
      return false;
    }
  }
  conn->values = calloc(most, sizeof *conn->values);
  conn->lengths = calloc(most, sizeof *conn->lengths);
  conn->formats = calloc(most, sizeof *conn->formats);
  conn->forms = calloc(most, sizeof *conn->forms);
  bool room = conn->statements && conn->values && conn->lengths && conn->formats && conn->forms;
  if (!room) {
    *error = (struct open_error){.unreachable = true, .what = "there is no memory for a connection"};
  }
  return room;
}

static void close_it(struct conn *base) {
  struct postgres_conn *conn = postgres(base);
  forget(conn);
  for (size_t at = 0; at < conn->count; at++) {
    free(conn->statements[at].types);
  }
  free(conn->statements);
  free(conn->values);
  free(conn->lengths);
  free(conn->formats);
  free(conn->forms);
  PQfinish(conn->pg);
  free(conn);
}

bool postgres_ask(struct conn *base, const char *question, int64_t *numbers, size_t count) {
  PGresult *answer = PQexec(postgres(base)->pg, question);
  bool read = PQresultStatus(answer) == PGRES_TUPLES_OK && PQntuples(answer) == 1 && PQnfields(answer) == (int)count;
  for (size_t at = 0; read && at < count; at++) {
    read = whole_number(text_of(PQgetvalue(answer, 0, (int)at)), 0, INT64_MAX, &numbers[at]);
  }
  PQclear(answer);
  return read;
}

const struct driver postgres_driver = {
    .execute = execute,
    .control = control,
    .next = next,
    .is_null = is_null,
    .number = number,
    .scaled = scaled,
    .text = text,
    .is_open = is_open,
    .prepare = prepare,
    .close = close_it,
};
