/* What the two files of the driver over MariaDB's Connector/C share. */
#ifndef MARIADB_H
#define MARIADB_H

#include "conn.h"

#include <mysql.h>

/* Where the driver puts a column. Numbers come as 64 bits, decimals and texts as text, dates in their parts. */
struct mariadb_column {
  int64_t number;
  MYSQL_TIME date;
  char *text;
  unsigned long length;
  my_bool is_null;
  my_bool is_cut;
};

struct mariadb_statement {
  MYSQL_STMT *handle;
  const uint16_t *order;
  unsigned places;
  MYSQL_BIND *params;
  int64_t *numbers;
  char (*decimals)[24];
  MYSQL_BIND *columns;
  struct mariadb_column *values;
  unsigned columns_count;
};

struct mariadb_conn {
  struct conn conn;
  MYSQL *mysql;
  bool is_encrypted;
  struct mariadb_statement *statements;
  size_t count;
  /* Whose answer is at hand; null for none. */
  struct mariadb_statement *current;
};

static inline struct mariadb_conn *mariadb(struct conn *conn) { return (struct mariadb_conn *)conn; }

void mariadb_open_error(MYSQL *mysql, struct open_error *error);

extern const struct driver mariadb_driver;

#endif
