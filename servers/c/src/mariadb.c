/* The driver over MariaDB's Connector/C: prepared statements, bound parameters and columns. */
#include "mariadb.h"

#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>

/* Bytes of a column that a statement may have; the longest of the workloads has 500 characters. */
enum { COLUMN_BYTES_MOST = 1 << 16 };

/* A read-only transaction has its snapshot at REPEATABLE READ. */
static const char *const CONTROL_TEXTS[CONTROLS] = {
    [CONTROL_BEGIN_READ] = "start transaction read only",
    [CONTROL_BEGIN_WRITE] = "start transaction",
    [CONTROL_COMMIT] = "commit",
    [CONTROL_ROLLBACK] = "rollback",
};

/* Forgets the answer at hand, all of which has been read. */
static void forget(struct mariadb_conn *conn) {
  if (conn->current != NULL) {
    mysql_stmt_free_result(conn->current->handle);
    conn->current = NULL;
  }
}

static bool fail(struct conn *base, unsigned code, bool at_commit, const char *message) {
  conn_fail(base, fault_of_mariadb(code, at_commit, message));
  return false;
}

static void bind_param(struct mariadb_statement *statement, unsigned at, const struct param *param) {
  MYSQL_BIND *bind = &statement->params[at];
  /* What the driver remembers of the last time does not matter: all that it reads is set. */
  *bind = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_NULL};
  switch (param->kind) {
  case PARAM_NULL:
    break;
  case PARAM_NUMBER:
    statement->numbers[at] = param->number;
    bind->buffer_type = MYSQL_TYPE_LONGLONG;
    bind->buffer = &statement->numbers[at];
    break;
  case PARAM_CENTS:
    /* The protocol has no other form of a decimal that the server takes exactly. */
    bind->buffer_type = MYSQL_TYPE_STRING;
    bind->buffer = statement->decimals[at];
    bind->buffer_length = decimal_of_cents(param->number, statement->decimals[at]);
    break;
  case PARAM_TEXT:
    bind->buffer_type = MYSQL_TYPE_STRING;
    bind->buffer = (void *)(uintptr_t)param->text.bytes;
    bind->buffer_length = param->text.length;
    break;
  }
}

static bool control(struct conn *base, enum control what) {
  struct mariadb_conn *conn = mariadb(base);
  const char *text = CONTROL_TEXTS[what];
  forget(conn);
  if (mysql_real_query(conn->mysql, text, strlen(text)) != 0) {
    return fail(base, mysql_errno(conn->mysql), what == CONTROL_COMMIT, mysql_error(conn->mysql));
  }
  return true;
}

static bool next(struct conn *base) {
  struct mariadb_conn *conn = mariadb(base);
  if (conn->current == NULL) {
    return false;
  }
  int fetched = mysql_stmt_fetch(conn->current->handle);
  if (fetched == 1) {
    return fail(base, mysql_stmt_errno(conn->current->handle), false, mysql_stmt_error(conn->current->handle));
  }
  /* What was cut off is noticed where the column is read. */
  return fetched != MYSQL_NO_DATA;
}

/* A column of the row at hand, if there is one. */
static const struct mariadb_column *column_of(struct conn *base, unsigned column, enum enum_field_types *type) {
  const struct mariadb_statement *statement = mariadb(base)->current;
  if (statement == NULL || column >= statement->columns_count) {
    return NULL;
  }
  *type = statement->columns[column].buffer_type;
  return &statement->values[column];
}

static bool is_null(struct conn *base, unsigned column) {
  enum enum_field_types type;
  const struct mariadb_column *found = column_of(base, column, &type);
  return found == NULL || found->is_null;
}

static bool seconds_of(const MYSQL_TIME *date, int64_t *into) {
  *into = seconds_of_day(date->year, date->month, date->day) + (int64_t)date->hour * 3600 + (int64_t)date->minute * 60 +
          (int64_t)date->second;
  /* MariaDB may hold zeros in the place of a date. */
  return date->month >= 1 && date->month <= 12 && date->day >= 1;
}

static bool number(struct conn *base, unsigned column, int64_t *into) {
  enum enum_field_types type;
  const struct mariadb_column *found = column_of(base, column, &type);
  if (found == NULL || found->is_null) {
    return false;
  }
  if (type == MYSQL_TYPE_LONGLONG) {
    *into = found->number;
    return true;
  }
  if (type == MYSQL_TYPE_DATETIME) {
    return seconds_of(&found->date, into);
  }
  return !found->is_cut && decimal_scaled((struct text){found->text, found->length}, 0, into);
}

static bool scaled(struct conn *base, unsigned column, unsigned digits, int64_t *into) {
  enum enum_field_types type;
  const struct mariadb_column *found = column_of(base, column, &type);
  return found != NULL && !found->is_null && !found->is_cut && type == MYSQL_TYPE_STRING &&
         decimal_scaled((struct text){found->text, found->length}, digits, into);
}

static bool text(struct conn *base, unsigned column, struct text *into) {
  enum enum_field_types type;
  const struct mariadb_column *found = column_of(base, column, &type);
  if (found == NULL || found->is_null || found->is_cut || type != MYSQL_TYPE_STRING) {
    return false;
  }
  *into = (struct text){found->text, found->length};
  return true;
}

/* Encryption may have something to say between calls; nothing else has. */
static bool is_open(struct conn *base) { return mariadb(base)->is_encrypted; }

static enum enum_field_types bound_type(enum enum_field_types type) {
  switch (type) {
  case MYSQL_TYPE_TINY:
  case MYSQL_TYPE_SHORT:
  case MYSQL_TYPE_INT24:
  case MYSQL_TYPE_LONG:
  case MYSQL_TYPE_LONGLONG:
  case MYSQL_TYPE_YEAR:
    return MYSQL_TYPE_LONGLONG;
  case MYSQL_TYPE_DATE:
  case MYSQL_TYPE_DATETIME:
  case MYSQL_TYPE_TIMESTAMP:
    return MYSQL_TYPE_DATETIME;
  default:
    return MYSQL_TYPE_STRING;
  }
}

/* Gives a column its place. */
static bool bind_column(const MYSQL_FIELD *field, MYSQL_BIND *bind, struct mariadb_column *value) {
  *bind = (MYSQL_BIND){.buffer_type = bound_type(field->type),
                       .length = &value->length,
                       .is_null = &value->is_null,
                       .error = &value->is_cut};
  if (bind->buffer_type == MYSQL_TYPE_LONGLONG) {
    bind->buffer = &value->number;
    bind->buffer_length = sizeof value->number;
  } else if (bind->buffer_type == MYSQL_TYPE_DATETIME) {
    bind->buffer = &value->date;
    bind->buffer_length = sizeof value->date;
  } else {
    unsigned long length = field->length < COLUMN_BYTES_MOST ? field->length : COLUMN_BYTES_MOST;
    value->text = calloc(1, length + 1);
    bind->buffer = value->text;
    bind->buffer_length = length + 1;
  }
  return bind->buffer != NULL;
}

static bool bind_columns(struct mariadb_statement *statement, struct open_error *error) {
  MYSQL_RES *fields = mysql_stmt_result_metadata(statement->handle);
  if (fields == NULL) {
    return true;
  }
  unsigned count = mysql_num_fields(fields);
  free(statement->columns);
  free(statement->values);
  statement->columns = calloc(count, sizeof *statement->columns);
  statement->values = calloc(count, sizeof *statement->values);
  bool bound = statement->columns != NULL && statement->values != NULL;
  for (unsigned at = 0; bound && at < count; at++) {
    bound = bind_column(mysql_fetch_field_direct(fields, at), &statement->columns[at], &statement->values[at]);
    statement->columns_count = at + 1;
  }
  mysql_free_result(fields);
  if (!bound) {
    *error = (struct open_error){.unreachable = true, .what = "there is no memory for a connection"};
  }
  return bound;
}

static bool execute(struct conn *base, size_t number, const struct param *params) {
  struct mariadb_conn *conn = mariadb(base);
  struct mariadb_statement *statement = &conn->statements[number];
  MYSQL_STMT *handle = statement->handle;
  forget(conn);
  for (unsigned at = 0; at < statement->places; at++) {
    bind_param(statement, at, &params[statement->order[at]]);
  }
  base->rows = base->changed = 0;
  if ((statement->places > 0 && mysql_stmt_bind_param(handle, statement->params) != 0) || mysql_stmt_execute(handle) != 0) {
    return fail(base, mysql_stmt_errno(handle), conn_commits(base), mysql_stmt_error(handle));
  }
  if (mysql_stmt_field_count(handle) == 0) {
    base->changed = mysql_stmt_affected_rows(handle);
    return true;
  }
  /* Of an `insert … returning` the server tells only with its answer which columns it has. */
  struct open_error error;
  if (statement->columns_count == 0 && !bind_columns(statement, &error)) {
    conn_fail(base, fault_defect("%s", error.what));
    return false;
  }
  /* All rows at once: an error among them is one of the statement, and the connection is free for the next. */
  conn->current = statement;
  if (mysql_stmt_bind_result(handle, statement->columns) != 0 || mysql_stmt_store_result(handle) != 0) {
    return fail(base, mysql_stmt_errno(handle), conn_commits(base), mysql_stmt_error(handle));
  }
  base->rows = mysql_stmt_num_rows(handle);
  return true;
}

static bool prepare_one(struct mariadb_conn *conn, const struct statement *from, struct mariadb_statement *into,
                        struct open_error *error) {
  into->order = from->order;
  into->places = (unsigned)from->places;
  into->handle = mysql_stmt_init(conn->mysql);
  size_t room = from->places + 1;
  into->params = calloc(room, sizeof *into->params);
  into->numbers = calloc(room, sizeof *into->numbers);
  into->decimals = calloc(room, sizeof *into->decimals);
  if (into->handle == NULL || into->params == NULL || into->numbers == NULL || into->decimals == NULL) {
    *error = (struct open_error){.unreachable = true, .what = "there is no memory for a connection"};
    return false;
  }
  if (mysql_stmt_prepare(into->handle, from->text, strlen(from->text)) != 0) {
    unsigned code = mysql_stmt_errno(into->handle);
    /* From 2000 to 2999 it is the driver who speaks: the connection broke. */
    *error = (struct open_error){.unreachable = code >= 2000 && code < 3000};
    snprintf(error->what, sizeof error->what, "it does not take the statement `%s`: %s", from->name,
             mysql_stmt_error(into->handle));
    return false;
  }
  if (mysql_stmt_param_count(into->handle) != from->places) {
    *error = (struct open_error){.unreachable = false};
    snprintf(error->what, sizeof error->what, "statement `%s` has another number of parameters than its file says",
             from->name);
    return false;
  }
  return bind_columns(into, error);
}

static bool prepare(struct conn *base, const struct statements *statements, struct open_error *error) {
  struct mariadb_conn *conn = mariadb(base);
  conn->statements = calloc(statements->count, sizeof *conn->statements);
  if (conn->statements == NULL) {
    *error = (struct open_error){.unreachable = true, .what = "there is no memory for a connection"};
    return false;
  }
  for (size_t at = 0; at < statements->count; at++) {
    conn->count = at + 1;
    if (!prepare_one(conn, &statements->list[at], &conn->statements[at], error)) {
      return false;
    }
  }
  return true;
}

static void free_statement(struct mariadb_statement *statement) {
  for (unsigned at = 0; at < statement->columns_count; at++) {
    free(statement->values[at].text);
  }
  free(statement->columns);
  free(statement->values);
  free(statement->params);
  free(statement->numbers);
  free(statement->decimals);
}

static void close_it(struct conn *base) {
  struct mariadb_conn *conn = mariadb(base);
  forget(conn);
  /* The server forgets its statements with the connection: nothing is said for each. */
  MYSQL *mysql = conn->mysql;
  for (size_t at = 0; at < conn->count; at++) {
    if (conn->statements[at].handle != NULL) {
      mysql_stmt_close(conn->statements[at].handle);
    }
    free_statement(&conn->statements[at]);
  }
  mysql_close(mysql);
  free(conn->statements);
  free(conn);
}

bool mariadb_ask(struct conn *base, const char *question, int64_t *numbers, size_t count) {
  MYSQL *mysql = mariadb(base)->mysql;
  if (mysql_query(mysql, question) != 0) {
    return false;
  }
  MYSQL_RES *answer = mysql_store_result(mysql);
  MYSQL_ROW row = answer == NULL ? NULL : mysql_fetch_row(answer);
  bool read = row != NULL && mysql_num_fields(answer) == count;
  for (size_t at = 0; read && at < count; at++) {
    read = row[at] != NULL && whole_number(text_of(row[at]), 0, INT64_MAX, &numbers[at]);
  }
  mysql_free_result(answer);
  return read;
}

const struct driver mariadb_driver = {
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
