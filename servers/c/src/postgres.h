/* What the two files of the driver over libpq share. */
#ifndef POSTGRES_H
#define POSTGRES_H

#include "conn.h"

#include <libpq-fe.h>

/* A statement as the server knows it: the types of its parameters decide their binary forms. */
struct postgres_statement {
  char name[24];
  const uint16_t *order;
  int places;
  Oid *types;
};

struct postgres_conn {
  struct conn conn;
  PGconn *pg;
  struct postgres_statement *statements;
  size_t count;
  /* Room for the parameters of the statement that has most of them. */
  const char **values;
  int *lengths;
  int *formats;
  unsigned char (*forms)[24];
  /* The last answer, and its row at hand. */
  PGresult *result;
  int row;
};

static inline struct postgres_conn *postgres(struct conn *conn) { return (struct postgres_conn *)conn; }

/* The message of an error without its newlines. */
void postgres_message(const char *from, char *into, size_t size);

void postgres_open_error(const PGresult *result, const PGconn *pg, struct open_error *error);

extern const struct driver postgres_driver;

#endif
