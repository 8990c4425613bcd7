/* What kept a call from completing, by what may be done about it: repeat (nothing was applied), come again later (nothing
 * was attempted), look (nobody knows), or mend (a bug). Which error of an engine is which stands in fault.c. */
#ifndef FAULT_H
#define FAULT_H

#include <stdbool.h>

enum fault_kind {
  FAULT_NONE,
  FAULT_CONFLICT,
  FAULT_REFUSED,
  FAULT_IN_DOUBT,
  FAULT_DEFECT,
  /* The call names something that only the database knows not to be there. */
  FAULT_UNKNOWN_ID,
};

enum fault_reason {
  REASON_NONE,
  REASON_BUSY,
  REASON_DEADLOCK,
  REASON_SERIALIZATION,
  REASON_NO_SESSION,
  REASON_QUEUE_FULL,
  REASON_SHEDDING,
  REASON_UNREACHABLE,
  REASON_UNWRITABLE,
  REASON_DEADLINE,
  REASON_CONNECTION_LOST,
  REASON_COMMIT_UNANSWERED,
};

struct fault {
  enum fault_kind kind;
  enum fault_reason reason;
  /* Of a defect, for the log; of an unknown id, for the client. */
  char what[256];
};

/* As problem documents name it; null for none. */
const char *reason_name(enum fault_reason reason);

struct fault fault_refused(enum fault_reason reason);
struct fault fault_in_doubt(enum fault_reason reason);
struct fault fault_defect(const char *form, ...) __attribute__((format(printf, 1, 2)));

/* A connection that is gone. Before the commit was sent nothing was applied. */
struct fault fault_lost(bool at_commit);

/* What an error of PostgreSQL means, by its five characters; `at_commit` says whether the commit had been sent. */
struct fault fault_of_postgres(const char *sqlstate, bool at_commit, const char *message);

/* What an error of MariaDB means, by its number. */
struct fault fault_of_mariadb(unsigned code, bool at_commit, const char *message);

/* Whether the connection must be replaced after this. */
bool fault_spoils(const struct fault *fault);

#endif
