/* The statements of a workload for an engine, read from the file that all servers share: ../sql/WORKLOAD.ENGINE.sql. */
#ifndef STATEMENTS_H
#define STATEMENTS_H

#include "text.h"

struct statement {
  const char *name;
  const char *text;
  /* Which parameter is sent at each place, counted from 0: MariaDB has a place for each mention. */
  uint16_t *order;
  size_t places;
};

struct statements {
  char *file;
  struct statement *list;
  size_t count;
};

/* Reads the text of a file, which is taken apart in place and freed with the rest. On an error, says it and answers false.
 */
bool statements_parse(char *file, struct statements *into, char *why, size_t why_size);

/* Reads a file and keeps of it the statements of these names, in their order. */
bool statements_read(const char *path, const char *const *names, size_t count, struct statements *into, char *why,
                     size_t why_size);

void statements_free(struct statements *statements);

#endif
