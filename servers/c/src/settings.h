/* What the server is told: the environment of docs/servers.md, and nothing else. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "database.h"

enum form {
  /* A thread for each connection of HTTP. */
  FORM_THREADS,
  /* A few threads with epoll, and a thread for each connection to the engine. */
  FORM_EPOLL,
};

struct settings {
  const char *workload;
  enum form form;
  struct database database;
  unsigned pool;
  unsigned threads;
  /* HOST:PORT, as it was given. */
  const char *listen;
};

/* Reads them, or says what is missing or wrong. */
bool settings_read(struct settings *into, char *why, size_t why_size);

#endif
