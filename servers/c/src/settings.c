#include "settings.h"

#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>

enum { POOL_MOST = 4096, THREADS_MOST = 1024 };

static bool read_count(const char *name, unsigned most, unsigned *into, char *why, size_t why_size) {
  const char *value = getenv(name);
  int64_t number = 0;
  if (value == NULL || !whole_number(text_of(value), 1, most, &number)) {
    snprintf(why, why_size, "%s is %s; it must be a number of 1 to %u", name, value == NULL ? "not set" : "wrong", most);
    return false;
  }
  *into = (unsigned)number;
  return true;
}

static bool read_how(struct settings *into, char *why, size_t why_size) {
  static const struct {
    const char *how;
    enum engine engine;
    enum form form;
  } ways[] = {{"libpq", ENGINE_POSTGRES, FORM_THREADS},
              {"libpq/epoll", ENGINE_POSTGRES, FORM_EPOLL},
              {"libmariadb", ENGINE_MARIADB, FORM_THREADS},
              {"libmariadb/epoll", ENGINE_MARIADB, FORM_EPOLL}};
  const char *how = getenv("STACKMARK_ADAPTER");
  for (size_t at = 0; how != NULL && at < sizeof ways / sizeof *ways; at++) {
    if (strcmp(how, ways[at].how) == 0) {
      into->form = ways[at].form;
      if (ways[at].engine == into->database.engine) {
        return true;
      }
      snprintf(why, why_size, "STACKMARK_ADAPTER is %s, and STACKMARK_DB is of another engine", how);
      return false;
    }
  }
  snprintf(why, why_size, "STACKMARK_ADAPTER must be libpq, libpq/epoll, libmariadb or libmariadb/epoll");
  return false;
}

static bool read_database(struct database *into, char *why, size_t why_size) {
  const char *url = getenv("STACKMARK_DB");
  const char *password = getenv("STACKMARK_DB_PASSWORD");
  if (url == NULL) {
    snprintf(why, why_size, "STACKMARK_DB is not set; it must be the URL of a loaded database");
    return false;
  }
  if (getenv("STACKMARK_DB_1") != NULL) {
    snprintf(why, why_size, "STACKMARK_DB_1 is set, and data that is split over several databases is not served");
    return false;
  }
  if (!database_parse(url, into, why, why_size)) {
    return false;
  }
  if (password != NULL && *password != '\0') {
    free(into->password);
    into->password = strdup(password);
  }
  return true;
}

bool settings_read(struct settings *into, char *why, size_t why_size) {
  *into = (struct settings){.workload = getenv("STACKMARK_WORKLOAD"), .listen = getenv("STACKMARK_LISTEN")};
  if (into->workload == NULL) {
    snprintf(why, why_size, "STACKMARK_WORKLOAD is not set; it must be catalogue or tpcc");
    return false;
  }
  if (into->listen == NULL) {
    snprintf(why, why_size, "STACKMARK_LISTEN is not set; it must be an address and a port, such as 127.0.0.1:0");
    return false;
  }
  bool read = read_count("STACKMARK_POOL", POOL_MOST, &into->pool, why, why_size) &&
              read_count("STACKMARK_THREADS", THREADS_MOST, &into->threads, why, why_size) &&
              read_database(&into->database, why, why_size) && read_how(into, why, why_size);
  if (!read) {
    database_free(&into->database);
  }
  return read;
}
