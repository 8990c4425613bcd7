/* Opening a connection to PostgreSQL as the URL asks for, and what is in force there, read back. */
#include "postgres.h"

#include "text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { VERSION_LEAST = 130000 };

/* Settings that may change a figure, in the order of reports: the same in all servers. */
static const char SETTINGS_QUESTION[] =
    "select name, current_setting(name) from unnest(array['shared_buffers', 'max_connections', "
    "'max_prepared_transactions', 'wal_level', 'wal_sync_method', 'wal_compression', 'max_wal_size', "
    "'checkpoint_timeout', 'commit_delay', 'autovacuum', 'jit', "
    "'effective_io_concurrency', 'max_parallel_workers_per_gather', 'plan_cache_mode', 'work_mem', 'huge_pages', "
    "'track_io_timing', 'fsync', 'synchronous_commit', 'full_page_writes', 'synchronous_standby_names']) as name "
    "where current_setting(name, true) is not null";

/* What the server calls itself and the isolation in effect are asked for alike in all servers. */
static const char FACTS_QUESTION[] =
    "select current_setting('server_version')"
    " || coalesce(', ' || substring(version() from '^CockroachDB [^ ]* [^ ]*'), '')"
    " || coalesce((select ', Citus ' || extversion from pg_extension where extname = 'citus'), ''), "
    "current_setting('server_version_num'), "
    "coalesce(current_setting('yb_effective_transaction_isolation_level', true), "
    "current_setting('transaction_isolation')), pg_is_in_recovery(), current_setting('transaction_read_only'), "
    "(select setting from pg_settings where name = 'statement_timeout'), current_setting('TimeZone')";
enum { FACT_VERSION, FACT_VERSION_NUM, FACT_ISOLATION, FACT_RECOVERY, FACT_READ_ONLY, FACT_TIMEOUT, FACT_ZONE };

static const char TLS_QUESTION[] = "select version from pg_stat_ssl where pid = pg_backend_pid() and ssl";

void postgres_message(const char *from, char *into, size_t size) {
  snprintf(into, size, "%s", from);
  for (char *at = into; *at != '\0'; at++) {
    if (*at == '\n') {
      *at = ' ';
    }
  }
  size_t length = strlen(into);
  while (length > 0 && into[length - 1] == ' ') {
    into[--length] = '\0';
  }
}

void postgres_open_error(const PGresult *result, const PGconn *pg, struct open_error *error) {
  const char *sqlstate = result == NULL ? NULL : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  *error = (struct open_error){.unreachable = sqlstate == NULL || strncmp(sqlstate, "08", 2) == 0 ||
                                              strncmp(sqlstate, "53", 2) == 0 || strncmp(sqlstate, "57", 2) == 0 ||
                                              strncmp(sqlstate, "58", 2) == 0};
  postgres_message(PQerrorMessage(pg), error->what, sizeof error->what);
}

static PGresult *query(PGconn *pg, const char *text, struct open_error *error) {
  PGresult *result = PQexec(pg, text);
  ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
    return result;
  }
  postgres_open_error(result, pg, error);
  PQclear(result);
  return NULL;
}

static PGconn *dial(const struct database *database) {
  static const char *const modes[] = {
      [TLS_OFF] = "disable", [TLS_PREFER] = "prefer", [TLS_REQUIRE] = "require", [TLS_VERIFY] = "verify-full"};
  char port[8];
  snprintf(port, sizeof port, "%u", database->port);
  const char *const keys[] = {"host",
                              "port",
                              "user",
                              "password",
                              "dbname",
                              "sslmode",
                              "sslrootcert",
                              "application_name",
                              "client_encoding",
                              "connect_timeout",
                              NULL};
  const char *const values[] = {database->socket != NULL ? database->socket : database->host,
                                port,
                                database->user,
                                database->password,
                                database->name,
                                modes[database->tls],
                                database->authority,
                                "stackmark",
                                "UTF8",
                                "10",
                                NULL};
  return PQconnectdbParams(keys, values, 0);
}

/* Whether a connection that failed was refused for good: libpq gives no SQLSTATE of it. */
static bool is_refused_for_good(const char *message) {
  static const char *const reasons[] = {"password", "does not exist", "authentication", "no pg_hba.conf",
                                        "SSL",      "certificate"};
  for (size_t at = 0; at < sizeof reasons / sizeof *reasons; at++) {
    if (strstr(message, reasons[at]) != NULL) {
      return strstr(message, "No such file or directory") == NULL;
    }
  }
  return false;
}

/* Whether the settings took, and the server can be used at all. */
static bool suits(const PGresult *facts, const struct database *database, struct open_error *error) {
  const char *zone = PQgetvalue(facts, 0, FACT_ZONE);
  const char *level = PQgetvalue(facts, 0, FACT_ISOLATION);
  unsigned timeout = (unsigned)strtoul(PQgetvalue(facts, 0, FACT_TIMEOUT), NULL, 10);
  enum isolation isolation;
  *error = (struct open_error){.unreachable = false};
  if (strtol(PQgetvalue(facts, 0, FACT_VERSION_NUM), NULL, 10) < VERSION_LEAST) {
    snprintf(error->what, sizeof error->what, "it is PostgreSQL %s, and 13 is the oldest that is supported",
             PQgetvalue(facts, 0, FACT_VERSION));
    return false;
  }
  if (!isolation_named(level, &isolation) || isolation != database->isolation || strcmp(zone, "UTC") != 0 ||
      (database->statement_timeout_ms > 0 && timeout != database->statement_timeout_ms)) {
    snprintf(error->what, sizeof error->what,
             "requested isolation %s, time zone UTC and statement_timeout %u ms, server uses %s, %s and %u ms",
             isolation_sql(database->isolation), database->statement_timeout_ms, level, zone, timeout);
    return false;
  }
  if (PQgetvalue(facts, 0, FACT_RECOVERY)[0] == 't' || strcmp(PQgetvalue(facts, 0, FACT_READ_ONLY), "on") == 0) {
    snprintf(error->what, sizeof error->what, "it takes no writes: a replica, or set to read-only");
    return false;
  }
  return true;
}

/* Makes the settings of a session; answers what the server says of them. */
static PGresult *settle(PGconn *pg, const struct database *database, struct open_error *error) {
  /* Nothing may depend on the defaults of the server, the database or the role. */
  char text[640];
  snprintf(
      text, sizeof text,
      "set statement_timeout = %u; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0; "
      "set time zone 'UTC'; set session characteristics as transaction isolation level %s, read write, not deferrable; "
      "select set_config(name, '0', false) from pg_settings where name = 'transaction_timeout'; "
      "select set_config('search_path', '\"$user\", public', false) "
      "where coalesce(current_schema(), 'pg_catalog') in ('pg_catalog', 'information_schema')",
      database->statement_timeout_ms, isolation_sql(database->isolation));
  PGresult *set = query(pg, text, error);
  PQclear(set);
  PGresult *facts = set == NULL ? NULL : query(pg, FACTS_QUESTION, error);
  if (facts != NULL && !suits(facts, database, error)) {
    PQclear(facts);
    facts = NULL;
  }
  return facts;
}

/* What an acknowledged commit survives. Sources: PostgreSQL's chapters "Asynchronous Commit" and "Write Ahead Log". */
static void durability(const char *fsync, const char *commit, const char *pages, const char *method, struct stack *stack) {
  const char *note = "settings that this version does not know";
  stack->tier = "volatile";
  if (strcmp(fsync, "off") == 0) {
    note = "nothing is flushed; a power failure may corrupt the database";
  } else if (strcmp(pages, "off") == 0) {
    note = "a power failure may leave a torn page that the log cannot repair";
  } else if (strcmp(commit, "off") == 0) {
    stack->tier = "delayed";
    note = "the log is flushed a moment later; a crash loses the last commits, and no more";
  } else if (strcmp(pages, "on") == 0 && (strcmp(commit, "on") == 0 || strcmp(commit, "local") == 0 ||
                                          strcmp(commit, "remote_write") == 0 || strcmp(commit, "remote_apply") == 0)) {
    stack->tier = "durable";
    note = "every commit is flushed before it is acknowledged";
  }
  snprintf(stack->detail, sizeof stack->detail,
           "fsync=%s, synchronous_commit=%s, full_page_writes=%s, wal_sync_method=%s: %s", fsync, commit, pages, method,
           note);
}

static const char *setting(const struct stack *stack, const char *name) {
  for (size_t at = 0; at < stack->settings_count; at++) {
    if (strcmp(stack->settings[at].name, name) == 0) {
      return stack->settings[at].value;
    }
  }
  return "";
}

static bool read_settings(PGconn *pg, const struct database *database, struct stack *stack, struct open_error *error) {
  PGresult *rows = query(pg, SETTINGS_QUESTION, error);
  PGresult *tls = rows == NULL ? NULL : query(pg, TLS_QUESTION, error);
  if (tls != NULL) {
    for (int row = 0; row < PQntuples(rows); row++) {
      stack_add(stack, PQgetvalue(rows, row, 0), PQgetvalue(rows, row, 1));
    }
    durability(setting(stack, "fsync"), setting(stack, "synchronous_commit"), setting(stack, "full_page_writes"),
               setting(stack, "wal_sync_method"), stack);
    stack_add(stack, "protocol", "extended, prepared, binary");
    stack_add(stack, "transport", database->socket != NULL ? "unix" : "tcp");
    stack_add(stack, "tls", PQntuples(tls) > 0 ? PQgetvalue(tls, 0, 0) : "off");
  }
  PQclear(rows);
  PQclear(tls);
  return tls != NULL;
}

static bool read_stack(PGconn *pg, const PGresult *facts, const struct database *database, struct stack *stack,
                       struct open_error *error) {
  int version = PQlibVersion();
  *stack = (struct stack){.engine = "postgres", .adapter = "libpq"};
  snprintf(stack->adapter_version, sizeof stack->adapter_version, "%d.%d", version / 10000, version % 10000);
  snprintf(stack->engine_version, sizeof stack->engine_version, "%s", PQgetvalue(facts, 0, FACT_VERSION));
  snprintf(stack->isolation, sizeof stack->isolation, "%.40s; repeatable read where only read",
           PQgetvalue(facts, 0, FACT_ISOLATION));
  if (!read_settings(pg, database, stack, error)) {
    return false;
  }
  stack_add(stack, "statement_timeout_ms", PQgetvalue(facts, 0, FACT_TIMEOUT));
  return true;
}

/* Notices tell nobody anything here. */
static void ignore_notice(void *closure, const char *message) {
  (void)closure;
  (void)message;
}

struct conn *postgres_open(const struct database *database, const struct opening *opening, struct stack *stack,
                           struct open_error *error) {
  struct postgres_conn *conn = calloc(1, sizeof *conn);
  if (conn == NULL) {
    *error = (struct open_error){.unreachable = true, .what = "there is no memory for a connection"};
    return NULL;
  }
  conn->conn = (struct conn){.driver = &postgres_driver, .socket = -1};
  conn->pg = dial(database);
  PQsetNoticeProcessor(conn->pg, ignore_notice, NULL);
  PGresult *facts = NULL;
  if (PQstatus(conn->pg) != CONNECTION_OK) {
    postgres_open_error(NULL, conn->pg, error);
    error->unreachable = !is_refused_for_good(error->what);
  } else if (opening_connected(opening, &conn->conn, PQsocket(conn->pg), error)) {
    facts = settle(conn->pg, database, error);
  }
  bool open = facts != NULL && (stack == NULL || read_stack(conn->pg, facts, database, stack, error));
  PQclear(facts);
  if (!open) {
    opening_failed(opening, &conn->conn);
    return NULL;
  }
  return &conn->conn;
}
