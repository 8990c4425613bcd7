/* `postgres://USER:PASSWORD@HOST:PORT/DATABASE?…` and `mysql://…`: which database, and how it is to be used. */
#ifndef DATABASE_H
#define DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum engine { ENGINE_POSTGRES, ENGINE_MARIADB };

enum tls { TLS_OFF, TLS_PREFER, TLS_REQUIRE, TLS_VERIFY };

/* Of transactions that write. */
enum isolation { READ_COMMITTED, REPEATABLE_READ, SERIALIZABLE };

struct database {
  enum engine engine;
  char *host;
  uint16_t port;
  /* PostgreSQL: the folder of the unix socket. MariaDB: the socket itself. Null for TCP. */
  char *socket;
  char *user;
  char *password;
  char *name;
  enum tls tls;
  /* A file of certificates to trust; null for none. */
  char *authority;
  enum isolation isolation;
  /* 0 leaves the engine's. */
  unsigned statement_timeout_ms;
};

/* Reads a URL. What is wrong is said without the password. */
bool database_parse(const char *url, struct database *into, char *why, size_t why_size);

void database_free(struct database *database);

/* The words in SQL: `read committed`. */
const char *isolation_sql(enum isolation isolation);

/* The level by its name in a URL, in SQL, or as a server reads it back (`REPEATABLE-READ`). */
bool isolation_named(const char *name, enum isolation *into);

#endif
