#include "check.h"
#include "database.h"
#include "settings.h"

#include <stdlib.h>
#include <string.h>

static bool is_wrong(const char *url, const char *expected) {
  struct database found;
  char why[256] = "";
  bool parsed = database_parse(url, &found, why, sizeof why);
  if (parsed) {
    database_free(&found);
  }
  return !parsed && strstr(why, expected) != NULL && strstr(why, "secret") == NULL;
}

void test_database(void) {
  struct database found;
  char why[256];
  CHECK(database_parse("postgresql://b%40b:s%2Fcret@db.example:5433/tpcc?sslmode=verify-full&isolation=serializable",
                       &found, why, sizeof why));
  CHECK(strcmp(found.user, "b@b") == 0 && strcmp(found.password, "s/cret") == 0 && found.port == 5433);
  CHECK(strcmp(found.host, "db.example") == 0 && found.tls == TLS_VERIFY && found.isolation == SERIALIZABLE);
  database_free(&found);
  CHECK(
      database_parse("mariadb://root@localhost/tpcc?socket=/run/m.sock&statement_timeout_ms=70", &found, why, sizeof why));
  CHECK(found.engine == ENGINE_MARIADB && found.port == 3306 && found.tls == TLS_OFF && found.isolation == REPEATABLE_READ);
  CHECK(strcmp(found.socket, "/run/m.sock") == 0 && found.statement_timeout_ms == 70);
  database_free(&found);
  CHECK(database_parse("postgres://a@[::1]:5/b", &found, why, sizeof why));
  CHECK(strcmp(found.host, "::1") == 0 && found.port == 5 && found.tls == TLS_OFF);
  database_free(&found);
  CHECK(database_parse("postgres://a@%2Frun%2Fpg/b", &found, why, sizeof why) && strcmp(found.socket, "/run/pg") == 0);
  database_free(&found);
  CHECK(database_parse("postgres://a@far/b", &found, why, sizeof why) && found.tls == TLS_PREFER);
  database_free(&found);
  CHECK(is_wrong("postgres://u:secret@h", "database is missing"));
  CHECK(is_wrong("postgres://:secret@h/d", "user is missing"));
  CHECK(is_wrong("postgres://u:secret@/d", "host is missing"));
  CHECK(is_wrong("mysql://u:secret@h/d?host=/run", "an option that is none of"));
  CHECK(is_wrong("mysql://u:secret@h:port/d", "port"));
  CHECK(is_wrong("postgres://u@h/d?password=secret&sslmode=maybe", "sslmode is one of"));
  CHECK(is_wrong("postgres://u:secret@h/d?isolation=none", "isolation is one of"));
  CHECK(is_wrong("postgres://u:secret@h/d?statement_timeout_ms=x", "whole number"));
  CHECK(is_wrong("postgres://u:secret%@h/d", "percent-encoded"));
  CHECK(is_wrong("oracle://u:secret@h/d", "does not begin with"));
}

static bool is_unusable(const char *name, const char *value, const char *expected) {
  struct settings settings;
  char why[256] = "";
  setenv("STACKMARK_WORKLOAD", "tpcc", 1);
  setenv("STACKMARK_ADAPTER", "libpq", 1);
  setenv("STACKMARK_DB", "postgres://u@h/d", 1);
  setenv("STACKMARK_POOL", "8", 1);
  setenv("STACKMARK_THREADS", "2", 1);
  setenv("STACKMARK_LISTEN", "127.0.0.1:0", 1);
  unsetenv("STACKMARK_DB_1");
  if (value == NULL) {
    unsetenv(name);
  } else {
    setenv(name, value, 1);
  }
  bool read = settings_read(&settings, why, sizeof why);
  if (read) {
    database_free(&settings.database);
  }
  return expected == NULL ? read : !read && strstr(why, expected) != NULL;
}

void test_settings(void) {
  CHECK(is_unusable("STACKMARK_ADAPTER", "libpq/epoll", NULL));
  CHECK(is_unusable("STACKMARK_ADAPTER", "libmariadb", "of another engine"));
  CHECK(is_unusable("STACKMARK_ADAPTER", "pgx", "STACKMARK_ADAPTER must be"));
  const char *const needed[] = {"STACKMARK_WORKLOAD", "STACKMARK_ADAPTER", "STACKMARK_DB",
                                "STACKMARK_POOL",     "STACKMARK_THREADS", "STACKMARK_LISTEN"};
  for (size_t at = 0; at < sizeof needed / sizeof *needed; at++) {
    CHECK(is_unusable(needed[at], NULL, needed[at]));
  }
  CHECK(is_unusable("STACKMARK_POOL", "0", "STACKMARK_POOL"));
  CHECK(is_unusable("STACKMARK_POOL", "4097", "STACKMARK_POOL"));
  CHECK(is_unusable("STACKMARK_THREADS", "two", "STACKMARK_THREADS"));
  CHECK(is_unusable("STACKMARK_DB_1", "postgres://u@h/e", "split"));
  unsetenv("STACKMARK_DB_1");
}
