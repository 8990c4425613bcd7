#include "check.h"
#include "statements.h"
#include "workload.h"

static bool parses(const char *text, struct statements *into) {
  char why[256];
  bool parsed = statements_parse(strdup(text), into, why, sizeof why);
  if (!parsed) {
    statements_free(into);
  }
  return parsed;
}

static void a_file_is_taken_apart(void) {
  struct statements found;
  CHECK(parses("-- A head.\n\n-- name: one\n-- params: 3 1 2\nselect 1\nfrom a\n\n-- name: two\n-- params:\nselect 2\n",
               &found));
  CHECK(found.count == 2 && strcmp(found.list[0].name, "one") == 0 && strcmp(found.list[0].text, "select 1\nfrom a") == 0);
  CHECK(found.list[0].places == 3 && found.list[0].order[0] == 2 && found.list[0].order[2] == 1);
  CHECK(found.list[1].places == 0 && strcmp(found.list[1].text, "select 2") == 0);
  statements_free(&found);
  CHECK(!parses("-- name: one\nselect 1\n", &found));
  CHECK(!parses("-- name: one\n-- params: 1 x\nselect 1\n", &found));
  CHECK(!parses("-- name: one\n-- params: 0\nselect 1\n", &found));
  CHECK(!parses("-- name: one\n-- params:\n\n", &found));
}

static void the_files_have_what_the_code_asks_for(void) {
  const struct workload *const workloads[] = {&catalogue, &tpcc};
  for (size_t at = 0; at < 2; at++) {
    for (int engine = ENGINE_POSTGRES; engine <= ENGINE_MARIADB; engine++) {
      char path[128], why[256];
      size_t count;
      struct statements found;
      const char *const *names = workloads[at]->statements((enum engine)engine, &count);
      snprintf(path, sizeof path, "../sql/%s.%s.sql", workloads[at]->name,
               engine == ENGINE_POSTGRES ? "postgres" : "mariadb");
      CHECK(statements_read(path, names, count, &found, why, sizeof why));
      CHECK(found.count == count);
      statements_free(&found);
    }
  }
  static const char *const missing[] = {"no_such_statement"};
  char why[256];
  struct statements found;
  CHECK(!statements_read("../sql/tpcc.postgres.sql", missing, 1, &found, why, sizeof why));
  CHECK(strstr(why, "no_such_statement") != NULL);
  CHECK(!statements_read("../sql/nothing.sql", missing, 1, &found, why, sizeof why));
}

void test_statements(void) {
  a_file_is_taken_apart();
  the_files_have_what_the_code_asks_for();
}
