#include "fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *reason_name(enum fault_reason reason) {
  static const char *const names[] = {
      [REASON_NONE] = NULL,
      [REASON_BUSY] = "busy",
      [REASON_DEADLOCK] = "deadlock",
      [REASON_SERIALIZATION] = "serialization",
      [REASON_NO_SESSION] = "no-session",
      [REASON_QUEUE_FULL] = "queue-full",
      [REASON_SHEDDING] = "shedding",
      [REASON_UNREACHABLE] = "unreachable",
      [REASON_UNWRITABLE] = "unwritable",
      [REASON_DEADLINE] = "deadline",
      [REASON_CONNECTION_LOST] = "connection-lost",
      [REASON_COMMIT_UNANSWERED] = "commit-unanswered",
  };
  return names[reason];
}

static struct fault conflict(enum fault_reason reason) { return (struct fault){FAULT_CONFLICT, reason, ""}; }

struct fault fault_refused(enum fault_reason reason) { return (struct fault){FAULT_REFUSED, reason, ""}; }

struct fault fault_in_doubt(enum fault_reason reason) { return (struct fault){FAULT_IN_DOUBT, reason, ""}; }

struct fault fault_defect(const char *form, ...) {
  struct fault fault = {.kind = FAULT_DEFECT};
  va_list values;
  va_start(values, form);
  vsnprintf(fault.what, sizeof fault.what, form, values);
  va_end(values);
  return fault;
}

struct fault fault_lost(bool at_commit) {
  return fault_in_doubt(at_commit ? REASON_COMMIT_UNANSWERED : REASON_CONNECTION_LOST);
}

static bool is_one_of(const char *sqlstate, const char *const *list) {
  for (; *list != NULL; list++) {
    if (strcmp(sqlstate, *list) == 0) {
      return true;
    }
  }
  return false;
}

struct fault fault_of_postgres(const char *sqlstate, bool at_commit, const char *message) {
  /* Serialization failure, and the rarer "transaction rolled back". */
  static const char *const serialization[] = {"40001", "40000", NULL};
  /* Lock not available; a query that was cancelled, by the statement timeout among others. */
  static const char *const busy[] = {"55P03", "57014", NULL};
  /* Too many connections; starting up or shutting down: nobody was let in. */
  static const char *const closed[] = {"53300", "57P03", NULL};
  /* The server ended the session: shutdown, crash of another process, database dropped, idle too long. */
  static const char *const ended[] = {"57P01", "57P02", "57P04", "57P05", "25P03", "40003", NULL};
  if (is_one_of(sqlstate, serialization)) {
    return conflict(REASON_SERIALIZATION);
  }
  if (strcmp(sqlstate, "40P01") == 0) {
    return conflict(REASON_DEADLOCK);
  }
  if (is_one_of(sqlstate, busy)) {
    return conflict(REASON_BUSY);
  }
  if (is_one_of(sqlstate, closed)) {
    return fault_refused(REASON_UNREACHABLE);
  }
  /* Connection exceptions are the class 08. */
  if (is_one_of(sqlstate, ended) || strncmp(sqlstate, "08", 2) == 0) {
    return fault_lost(at_commit);
  }
  /* Read-only; disk full, out of memory, a limit of the configuration (53); errors of the system (58). */
  if (strncmp(sqlstate, "58", 2) == 0 && at_commit) {
    return fault_lost(at_commit);
  }
  if (strcmp(sqlstate, "25006") == 0 || strncmp(sqlstate, "53", 2) == 0 || strncmp(sqlstate, "58", 2) == 0) {
    return fault_refused(REASON_UNWRITABLE);
  }
  return fault_defect("PostgreSQL %s: %s", sqlstate, message);
}

static bool is_full_disk(unsigned code, const char *message) {
  /* ER_CANT_CREATE_FILE, ER_ERROR_ON_WRITE, ER_GET_ERRNO: they name the system's error, 28 of a full disk. */
  bool names_it = code == 1004 || code == 1026 || code == 1030;
  return names_it && (strstr(message, "No space left") != NULL || strstr(message, "error 28") != NULL);
}

struct fault fault_of_mariadb(unsigned code, bool at_commit, const char *message) {
  switch (code) {
  case 1213: /* ER_LOCK_DEADLOCK: the engine has rolled the transaction back. */
  case 1614: /* ER_XA_RBDEADLOCK */
    return conflict(REASON_DEADLOCK);
  case 1020: /* ER_CHECKREAD: the row has changed since the snapshot. */
    return conflict(REASON_SERIALIZATION);
  case 1205: /* ER_LOCK_WAIT_TIMEOUT */
  case 1206: /* ER_LOCK_TABLE_FULL */
  case 3572: /* ER_LOCK_NOWAIT */
    return conflict(REASON_BUSY);
  case 1040: /* ER_CON_COUNT_ERROR */
  case 1203: /* ER_TOO_MANY_USER_CONNECTIONS */
  case 1226: /* ER_USER_LIMIT_REACHED */
    return fault_refused(REASON_NO_SESSION);
  case 1317: /* ER_QUERY_INTERRUPTED */
  case 1969: /* ER_STATEMENT_TIMEOUT */
  case 3024: /* ER_QUERY_TIMEOUT of MySQL */
    return at_commit ? fault_lost(true) : conflict(REASON_BUSY);
  case 1180: /* ER_ERROR_DURING_COMMIT */
    return at_commit ? fault_lost(true) : fault_defect("MariaDB %u: %s", code, message);
  case 1053: /* ER_SERVER_SHUTDOWN */
  case 1927: /* ER_CONNECTION_KILLED */
  case 1152: /* ER_ABORTING_CONNECTION */
  case 1158: /* network errors of the server's own side, to 1161 */
  case 1159:
  case 1160:
  case 1161:
  case 1184: /* ER_NEW_ABORTING_CONNECTION */
  case 4031: /* ER_CLIENT_INTERACTION_TIMEOUT */
  case 2006: /* CR_SERVER_GONE_ERROR */
  case 2013: /* CR_SERVER_LOST */
  case 2026: /* CR_SSL_CONNECTION_ERROR */
  case 2027: /* CR_MALFORMED_PACKET */
  case 2055: /* CR_SERVER_LOST_EXTENDED */
  case 5014: /* CR_ERR_NET_READ */
    return fault_lost(at_commit);
  case 1290: /* ER_OPTION_PREVENTS_STATEMENT: read-only */
  case 1792: /* ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION */
  case 1036: /* ER_OPEN_AS_READONLY */
  case 1836: /* ER_READ_ONLY_MODE */
  case 1874: /* ER_INNODB_READ_ONLY */
  case 1021: /* ER_DISK_FULL */
  case 1114: /* ER_RECORD_FILE_FULL */
  case 1878: /* ER_TEMP_FILE_WRITE_FAILURE */
    return fault_refused(REASON_UNWRITABLE);
  default:
    return is_full_disk(code, message) ? fault_refused(REASON_UNWRITABLE) : fault_defect("MariaDB %u: %s", code, message);
  }
}

bool fault_spoils(const struct fault *fault) {
  switch (fault->kind) {
  case FAULT_NONE:
  case FAULT_CONFLICT:
  case FAULT_UNKNOWN_ID:
    return false;
  case FAULT_REFUSED:
    return fault->reason == REASON_UNREACHABLE;
  case FAULT_IN_DOUBT:
  case FAULT_DEFECT:
    break;
  }
  return true;
}
