/* Opening a connection to MariaDB as the URL asks for, and what is in force there, read back. */
#include "mariadb.h"

#include <ctype.h>
#include <errmsg.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* What our sessions say of values that do not fit: no. */
#define SQL_MODE "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
/* The statements need `insert … returning`; 10.6 is the oldest that is tested with. */
enum { VERSION_LEAST = 100600, CONNECT_S_MOST = 10 };

/* Settings worth comparing, in the order of the report: the same in all servers. */
static const char *const COMPARED[] = {
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_log_buffer_size",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_doublewrite",
    "innodb_io_capacity",
    "innodb_lock_wait_timeout",
    "innodb_snapshot_isolation",
    "innodb_page_size",
    "max_connections",
    "thread_handling",
    "log_bin",
    "sync_binlog",
    "max_statement_time",
    "performance_schema",
    "sql_mode",
};
enum { COMPARED_COUNT = sizeof COMPARED / sizeof *COMPARED };
/* And those that are asked for with them. */
static const char *const OTHERS[] = {"innodb_flush_log_at_timeout", "tx_isolation", "version", "read_only",
                                     "innodb_read_only"};
enum { OTHERS_COUNT = sizeof OTHERS / sizeof *OTHERS, VALUE_MOST = 128 };

/* Variables of a session by their names; an empty value for one that the server does not know. */
struct variables {
  bool known[COMPARED_COUNT + OTHERS_COUNT];
  char values[COMPARED_COUNT + OTHERS_COUNT][VALUE_MOST];
};

static const char *variable_name(size_t at) { return at < COMPARED_COUNT ? COMPARED[at] : OTHERS[at - COMPARED_COUNT]; }

static const char *value_of(const struct variables *variables, const char *name) {
  for (size_t at = 0; at < COMPARED_COUNT + OTHERS_COUNT; at++) {
    if (strcmp(variable_name(at), name) == 0) {
      return variables->values[at];
    }
  }
  return "";
}

static bool is_on(const struct variables *variables, const char *name) {
  const char *value = value_of(variables, name);
  return strcasecmp(value, "ON") == 0 || strcmp(value, "1") == 0;
}

void mariadb_open_error(MYSQL *mysql, struct open_error *error) {
  unsigned code = mysql_errno(mysql);
  /* ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED, ER_SERVER_SHUTDOWN, ER_CONNECTION_KILLED; and
   * all that the driver itself says but for a refusal to encrypt. */
  bool later = code == 1040 || code == 1203 || code == 1226 || code == 1053 || code == 1927 ||
               (code >= CR_MIN_ERROR && code <= CR_MAX_ERROR && code != CR_SSL_CONNECTION_ERROR);
  *error = (struct open_error){.unreachable = later};
  snprintf(error->what, sizeof error->what, "it says %u: %s", code, mysql_error(mysql));
}

static bool unusable(struct open_error *error, const char *why) {
  *error = (struct open_error){.unreachable = false};
  snprintf(error->what, sizeof error->what, "%s", why);
  return false;
}

static bool run(MYSQL *mysql, const char *text, struct open_error *error) {
  if (mysql_query(mysql, text) == 0) {
    return true;
  }
  mariadb_open_error(mysql, error);
  return false;
}

static bool dial(MYSQL *mysql, const struct database *database, struct open_error *error) {
  const unsigned seconds = CONNECT_S_MOST;
  const my_bool on = 1, off = 0;
  const bool encrypts = database->tls == TLS_REQUIRE || database->tls == TLS_VERIFY;
  mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
  mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_options(mysql, MYSQL_OPT_RECONNECT, &off);
  if (encrypts) {
    mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &on);
    mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, database->tls == TLS_VERIFY ? &on : &off);
    if (database->authority != NULL) {
      mysql_options(mysql, MYSQL_OPT_SSL_CA, database->authority);
    }
  }
  /* A host by its name would lead to the server's usual socket. */
  const enum mysql_protocol_type protocol = database->socket != NULL ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
  mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol);
  /* An update counts the rows that it found, also those that it left as they were. */
  if (mysql_real_connect(mysql, database->socket != NULL ? NULL : database->host, database->user, database->password,
                         database->name, database->port, database->socket, CLIENT_FOUND_ROWS) == NULL) {
    mariadb_open_error(mysql, error);
    return false;
  }
  return true;
}

static bool settle(MYSQL *mysql, const struct database *database, struct open_error *error) {
  char text[512];
  if (mysql_get_server_version(mysql) < VERSION_LEAST || strcasestr(mysql_get_server_info(mysql), "mariadb") == NULL) {
    return unusable(error, "it is not MariaDB 10.6 or newer, which the statements need");
  }
  /* Nothing may depend on the defaults of the server. */
  snprintf(text, sizeof text,
           "set time_zone = '+00:00', sql_mode = '" SQL_MODE "', autocommit = 1, completion_type = 'NO_CHAIN', "
           "character_set_client = utf8mb4, character_set_results = utf8mb4, collation_connection = utf8mb4_general_ci, "
           "sql_select_limit = 18446744073709551615, sql_big_selects = 1, sql_safe_updates = 0, sql_auto_is_null = 0, "
           "foreign_key_checks = 1, unique_checks = 1, "
           "max_statement_time = %u.%03u",
           database->statement_timeout_ms / 1000, database->statement_timeout_ms % 1000);
  if (!run(mysql, text, error)) {
    return false;
  }
  snprintf(text, sizeof text, "set session transaction isolation level %s, read write", isolation_sql(database->isolation));
  return run(mysql, text, error);
}

/* Asks for the variables of the session. */
static bool read_variables(MYSQL *mysql, struct variables *into, struct open_error *error) {
  struct buffer question = {0};
  *into = (struct variables){0};
  buffer_literal(&question, "show session variables where variable_name in (");
  for (size_t at = 0; at < COMPARED_COUNT + OTHERS_COUNT; at++) {
    buffer_text(&question, at > 0 ? ", '" : "'");
    buffer_text(&question, variable_name(at));
    buffer_literal(&question, "'");
  }
  buffer_literal(&question, ")");
  bool asked = run(mysql, buffer_ended(&question), error);
  buffer_free(&question);
  MYSQL_RES *rows = asked ? mysql_store_result(mysql) : NULL;
  if (rows == NULL) {
    mariadb_open_error(mysql, error);
    return false;
  }
  for (MYSQL_ROW row = mysql_fetch_row(rows); row != NULL; row = mysql_fetch_row(rows)) {
    for (size_t at = 0; at < COMPARED_COUNT + OTHERS_COUNT; at++) {
      if (row[0] != NULL && row[1] != NULL && strcasecmp(row[0], variable_name(at)) == 0) {
        into->known[at] = true;
        snprintf(into->values[at], VALUE_MOST, "%s", row[1]);
      }
    }
  }
  mysql_free_result(rows);
  return true;
}

/* Whether the settings took, and the server can be used at all. */
static bool suits(const struct variables *variables, const struct database *database, struct open_error *error) {
  enum isolation isolation;
  char why[256];
  if (!isolation_named(value_of(variables, "tx_isolation"), &isolation) || isolation != database->isolation) {
    snprintf(why, sizeof why, "requested isolation %s, server uses %s", isolation_sql(database->isolation),
             value_of(variables, "tx_isolation"));
    return unusable(error, why);
  }
  if (strstr(value_of(variables, "sql_mode"), "STRICT_ALL_TABLES") == NULL) {
    return unusable(error, "asked for strict mode, and it did not take");
  }
  if (is_on(variables, "read_only") || is_on(variables, "innodb_read_only")) {
    return unusable(error, "it is read-only: a replica, or set so");
  }
  return true;
}

/* What an acknowledged commit survives. Sources: MariaDB's documentation of the system variables, and of group commit with
 * the binary log: recovery commits what it finds there, so one that is not flushed can lose an acknowledged commit. */
static const char *promise(const struct variables *variables, const char *method, const char **tier, char *room,
                           size_t room_size) {
  const char *doublewrite = value_of(variables, "innodb_doublewrite");
  const char *at_commit = value_of(variables, "innodb_flush_log_at_trx_commit");
  const char *timeout = value_of(variables, "innodb_flush_log_at_timeout");
  *tier = "volatile";
  if (strcmp(method, "NOSYNC") == 0 || strcmp(method, "LITTLESYNC") == 0) {
    return "files are not flushed; a power failure may corrupt the database";
  }
  if (strcasecmp(doublewrite, "OFF") == 0 || strcmp(doublewrite, "0") == 0 || strcasecmp(doublewrite, "FALSE") == 0) {
    return "there is no doublewrite buffer; a power failure may tear a page beyond repair, unless the disk writes pages as "
           "a "
           "whole";
  }
  if (strcmp(at_commit, "1") == 0 || strcmp(at_commit, "3") == 0) {
    bool behind = is_on(variables, "log_bin") && strcmp(value_of(variables, "sync_binlog"), "1") != 0;
    *tier = behind ? "delayed" : "durable";
    return behind ? "the binary log, which recovery follows, is not flushed at each commit; a power failure loses the last "
                    "ones"
                  : "every commit is flushed before it is acknowledged";
  }
  if (strcmp(at_commit, "2") != 0 && strcmp(at_commit, "0") != 0) {
    return "a value that this version does not know";
  }
  *tier = "delayed";
  snprintf(room, room_size,
           *at_commit == '2'
               ? "the log is written at each commit and flushed every %.20s s; a power failure loses what came between"
               : "the log is written and flushed every %.20s s; a crash of the server alone loses what came between",
           timeout);
  return room;
}

static void upper(const char *from, char *into, size_t size) {
  size_t at = 0;
  for (; from[at] != '\0' && at + 1 < size; at++) {
    into[at] = (char)toupper((unsigned char)from[at]);
  }
  into[at] = '\0';
}

static void durability(const struct variables *variables, struct stack *stack) {
  char method[VALUE_MOST], doublewrite[VALUE_MOST], room[160], log[VALUE_MOST + 16] = "log_bin=off";
  upper(value_of(variables, "innodb_flush_method"), method, sizeof method);
  upper(value_of(variables, "innodb_doublewrite"), doublewrite, sizeof doublewrite);
  if (is_on(variables, "log_bin")) {
    snprintf(log, sizeof log, "sync_binlog=%s", value_of(variables, "sync_binlog"));
  }
  const char *note = promise(variables, method, &stack->tier, room, sizeof room);
  snprintf(stack->detail, sizeof stack->detail,
           "innodb_flush_log_at_trx_commit=%.20s, %.40s, innodb_doublewrite=%.20s, innodb_flush_method=%.40s: %s",
           value_of(variables, "innodb_flush_log_at_trx_commit"), log, doublewrite, method, note);
}

static void read_stack(MYSQL *mysql, const struct variables *variables, const struct database *database,
                       struct stack *stack) {
  char transport[VALUE_MOST] = "TCP";
  const char *cipher = mysql_get_ssl_cipher(mysql);
  *stack = (struct stack){.engine = "mariadb", .adapter = "libmariadb"};
  snprintf(stack->adapter_version, sizeof stack->adapter_version, "%s", MARIADB_PACKAGE_VERSION);
  snprintf(stack->engine_version, sizeof stack->engine_version, "%s", value_of(variables, "version"));
  const char *isolation = value_of(variables, "tx_isolation");
  for (size_t at = 0; isolation[at] != '\0' && at + 1 < sizeof stack->isolation; at++) {
    stack->isolation[at] = (char)tolower((unsigned char)isolation[at]);
  }
  durability(variables, stack);
  for (size_t at = 0; at < COMPARED_COUNT; at++) {
    if (variables->known[at]) {
      stack_add(stack, COMPARED[at], variables->values[at]);
    }
  }
  if (database->socket != NULL) {
    snprintf(transport, sizeof transport, "unix socket");
  } else if (cipher != NULL && *cipher != '\0') {
    snprintf(transport, sizeof transport, "TCP, %s", cipher);
  }
  stack_add(stack, "transport", transport);
  stack_add(stack, "protocol", "prepared, binary");
}

struct conn *mariadb_open(const struct database *database, const struct opening *opening, struct stack *stack,
                          struct open_error *error) {
  struct variables variables;
  struct mariadb_conn *conn = calloc(1, sizeof *conn);
  MYSQL *mysql = conn == NULL ? NULL : mysql_init(NULL);
  if (mysql == NULL) {
    free(conn);
    *error = (struct open_error){.unreachable = true, .what = "there is no memory for a connection"};
    return NULL;
  }
  conn->conn = (struct conn){.driver = &mariadb_driver, .socket = -1};
  conn->mysql = mysql;
  bool open =
      dial(mysql, database, error) && opening_connected(opening, &conn->conn, (int)mysql_get_socket(mysql), error) &&
      settle(mysql, database, error) && read_variables(mysql, &variables, error) && suits(&variables, database, error);
  if (!open) {
    opening_failed(opening, &conn->conn);
    return NULL;
  }
  if (stack != NULL) {
    read_stack(mysql, &variables, database, stack);
  }
  conn->is_encrypted = mysql_get_ssl_cipher(mysql) != NULL;
  return &conn->conn;
}
