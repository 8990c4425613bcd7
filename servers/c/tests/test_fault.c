#include "check.h"
#include "fault.h"
#include "problem.h"

#include <string.h>

static bool means(struct fault fault, enum fault_kind kind, enum fault_reason reason) {
  return fault.kind == kind && fault.reason == reason;
}

static void sqlstates_have_their_reactions(void) {
  static const struct {
    const char *sqlstate;
    bool at_commit;
    enum fault_kind kind;
    enum fault_reason reason;
  } table[] = {
      {"40001", false, FAULT_CONFLICT, REASON_SERIALIZATION},
      {"40P01", true, FAULT_CONFLICT, REASON_DEADLOCK},
      {"55P03", false, FAULT_CONFLICT, REASON_BUSY},
      {"57014", true, FAULT_CONFLICT, REASON_BUSY},
      {"25006", false, FAULT_REFUSED, REASON_UNWRITABLE},
      {"53100", false, FAULT_REFUSED, REASON_UNWRITABLE},
      {"53200", true, FAULT_REFUSED, REASON_UNWRITABLE},
      {"53300", false, FAULT_REFUSED, REASON_UNREACHABLE},
      {"57P03", false, FAULT_REFUSED, REASON_UNREACHABLE},
      {"57P01", false, FAULT_IN_DOUBT, REASON_CONNECTION_LOST},
      {"57P01", true, FAULT_IN_DOUBT, REASON_COMMIT_UNANSWERED},
      {"08006", true, FAULT_IN_DOUBT, REASON_COMMIT_UNANSWERED},
      {"58030", false, FAULT_REFUSED, REASON_UNWRITABLE},
      {"58030", true, FAULT_IN_DOUBT, REASON_COMMIT_UNANSWERED},
      {"XX000", false, FAULT_DEFECT, REASON_NONE},
      {"23505", false, FAULT_DEFECT, REASON_NONE},
  };
  for (size_t at = 0; at < sizeof table / sizeof *table; at++) {
    CHECK(means(fault_of_postgres(table[at].sqlstate, table[at].at_commit, ""), table[at].kind, table[at].reason));
  }
}

static void numbers_have_their_reactions(void) {
  static const struct {
    unsigned code;
    bool at_commit;
    enum fault_kind kind;
    enum fault_reason reason;
  } table[] = {
      {1213, true, FAULT_CONFLICT, REASON_DEADLOCK},
      {1205, false, FAULT_CONFLICT, REASON_BUSY},
      {1020, false, FAULT_CONFLICT, REASON_SERIALIZATION},
      {1969, false, FAULT_CONFLICT, REASON_BUSY},
      {1969, true, FAULT_IN_DOUBT, REASON_COMMIT_UNANSWERED},
      {1180, true, FAULT_IN_DOUBT, REASON_COMMIT_UNANSWERED},
      {1180, false, FAULT_DEFECT, REASON_NONE},
      {2006, false, FAULT_IN_DOUBT, REASON_CONNECTION_LOST},
      {2013, true, FAULT_IN_DOUBT, REASON_COMMIT_UNANSWERED},
      {1040, false, FAULT_REFUSED, REASON_NO_SESSION},
      {1290, true, FAULT_REFUSED, REASON_UNWRITABLE},
      {1021, false, FAULT_REFUSED, REASON_UNWRITABLE},
      {1062, false, FAULT_DEFECT, REASON_NONE},
  };
  for (size_t at = 0; at < sizeof table / sizeof *table; at++) {
    CHECK(means(fault_of_mariadb(table[at].code, table[at].at_commit, ""), table[at].kind, table[at].reason));
  }
  CHECK(means(fault_of_mariadb(1030, false, "Got error 28"), FAULT_REFUSED, REASON_UNWRITABLE));
  CHECK(means(fault_of_mariadb(1030, false, "Got error 5"), FAULT_DEFECT, REASON_NONE));
}

static unsigned status_of(struct fault fault) {
  struct problem problem;
  problem_of_fault(&problem, &fault);
  return problem.status;
}

static void faults_become_problems(void) {
  struct buffer json = {0};
  struct problem problem;
  struct fault defect = fault_defect("a secret of the %s", "log");
  CHECK(status_of(fault_refused(REASON_QUEUE_FULL)) == 503 && status_of(fault_in_doubt(REASON_DEADLINE)) == 504);
  CHECK(status_of(fault_lost(true)) == 500 && status_of(defect) == 500);
  CHECK(fault_spoils(&defect));
  problem_of_fault(&problem, &defect);
  problem_write(&problem, &json);
  CHECK(strstr(buffer_ended(&json), "secret") == NULL && strstr(json.data, "\"applied\":\"unknown\"") != NULL);
  buffer_clear(&json);
  struct fault full = fault_refused(REASON_QUEUE_FULL);
  problem_of_fault(&problem, &full);
  problem_write(&problem, &json);
  CHECK(text_is(
      (struct text){json.data, json.length},
      "{\"type\":\"urn:stackmark:problem:refused\",\"title\":\"refused\",\"status\":503,\"detail\":\"the call was not "
      "attempted; trying again later may help\",\"applied\":\"no\",\"reason\":\"queue-full\"}"));
  buffer_free(&json);
}

void test_fault(void) {
  sqlstates_have_their_reactions();
  numbers_have_their_reactions();
  faults_become_problems();
}
