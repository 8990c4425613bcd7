#include "database.h"

#include "numbers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static const char *const ISOLATIONS[] = {
    [READ_COMMITTED] = "read committed", [REPEATABLE_READ] = "repeatable read", [SERIALIZABLE] = "serializable"};

const char *isolation_sql(enum isolation isolation) { return ISOLATIONS[isolation]; }

static bool is_same_name(const char *name, const char *words) {
  for (; *name != '\0' && *words != '\0'; name++, words++) {
    char byte = *name == '-' || *name == '_' ? ' ' : (char)tolower((unsigned char)*name);
    if (byte != *words) {
      return false;
    }
  }
  return *name == *words;
}

bool isolation_named(const char *name, enum isolation *into) {
  for (int level = READ_COMMITTED; level <= SERIALIZABLE; level++) {
    if (is_same_name(name, ISOLATIONS[level])) {
      *into = (enum isolation)level;
      return true;
    }
  }
  return false;
}

static int hex_digit(char byte) {
  if (byte >= '0' && byte <= '9') {
    return byte - '0';
  }
  byte = (char)tolower((unsigned char)byte);
  return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* A copy without percent-encoding; null where it is broken, or has a zero byte. */
static char *decoded(struct text text) {
  char *copy = malloc(text.length + 1);
  size_t length = 0;
  for (size_t at = 0; at < text.length && copy != NULL; at++) {
    char byte = text.bytes[at];
    if (byte == '%') {
      int high = at + 2 < text.length ? hex_digit(text.bytes[at + 1]) : -1;
      int low = high >= 0 ? hex_digit(text.bytes[at + 2]) : -1;
      byte = (char)(low < 0 ? 0 : high << 4 | low);
      if (byte == '\0') {
        free(copy);
        return NULL;
      }
      at += 2;
    }
    copy[length++] = byte;
  }
  if (copy != NULL) {
    copy[length] = '\0';
  }
  return copy;
}

/* Puts a decoded copy where another stood before. */
static bool put(char **into, struct text text) {
  free(*into);
  *into = decoded(text);
  return *into != NULL;
}

static bool set_tls(struct database *database, const char *value) {
  static const struct {
    const char *name;
    enum tls tls;
  } modes[] = {
      {"disable", TLS_OFF},        {"disabled", TLS_OFF},     {"prefer", TLS_PREFER},
      {"preferred", TLS_PREFER},   {"require", TLS_REQUIRE},  {"required", TLS_REQUIRE},
      {"verify full", TLS_VERIFY}, {"verify ca", TLS_VERIFY}, {"verify identity", TLS_VERIFY},
  };
  for (size_t at = 0; at < sizeof modes / sizeof *modes; at++) {
    if (is_same_name(value, modes[at].name)) {
      database->tls = modes[at].tls;
      return true;
    }
  }
  return false;
}

static bool set_number(const char *value, int64_t most, unsigned *into) {
  int64_t number;
  if (!whole_number(text_of(value), 0, most, &number)) {
    return false;
  }
  *into = (unsigned)number;
  return true;
}

/* One option of the query. Answers what is wrong with it, or null. */
static const char *set_option(struct database *database, const char *key, const char *value, bool *tls_given) {
  bool postgres = database->engine == ENGINE_POSTGRES;
  unsigned number = 0;
  if (strcmp(key, "sslmode") == 0 || strcmp(key, "ssl-mode") == 0) {
    *tls_given = true;
    return set_tls(database, value) ? NULL : "sslmode is one of disable, prefer, require, verify-full";
  }
  if (strcmp(key, "isolation") == 0) {
    return isolation_named(value, &database->isolation)
               ? NULL
               : "isolation is one of read-committed, repeatable-read, serializable";
  }
  if (strcmp(key, "statement_timeout_ms") == 0) {
    return set_number(value, INT32_MAX, &database->statement_timeout_ms)
               ? NULL
               : "statement_timeout_ms is a whole number of milliseconds";
  }
  if (strcmp(key, "port") == 0) {
    bool fits = set_number(value, UINT16_MAX, &number) && number > 0;
    database->port = (uint16_t)number;
    return fits ? NULL : "port is 1 to 65535";
  }
  char **place = NULL;
  if (strcmp(key, "sslrootcert") == 0 || strcmp(key, "ssl-ca") == 0) {
    place = &database->authority;
  } else if ((postgres && strcmp(key, "host") == 0 && *value == '/') || (!postgres && strcmp(key, "socket") == 0)) {
    place = &database->socket;
  } else if (strcmp(key, "user") == 0) {
    place = &database->user;
  } else if (strcmp(key, "password") == 0) {
    place = &database->password;
  } else {
    return postgres
               ? "it has an option that is none of sslmode, sslrootcert, isolation, statement_timeout_ms and host=/FOLDER"
               : "it has an option that is none of sslmode, sslrootcert, isolation, statement_timeout_ms and socket=/FILE";
  }
  free(*place);
  *place = strdup(value);
  return *place == NULL ? "there is no memory for it" : NULL;
}

static const char *parse_options(struct database *database, struct text query, bool *tls_given) {
  while (query.length > 0) {
    const char *end = memchr(query.bytes, '&', query.length);
    struct text pair = {query.bytes, end == NULL ? query.length : (size_t)(end - query.bytes)};
    query.bytes += pair.length + (end != NULL);
    query.length -= pair.length + (end != NULL);
    if (pair.length == 0) {
      continue;
    }
    const char *equals = memchr(pair.bytes, '=', pair.length);
    size_t name = equals == NULL ? pair.length : (size_t)(equals - pair.bytes);
    size_t behind = equals == NULL ? pair.length : name + 1;
    char *key = decoded((struct text){pair.bytes, name});
    char *value = decoded((struct text){pair.bytes + behind, pair.length - behind});
    const char *wrong = key == NULL || value == NULL ? "an option is not percent-encoded as it should be"
                                                     : set_option(database, key, value, tls_given);
    free(key);
    free(value);
    if (wrong != NULL) {
      return wrong;
    }
  }
  return NULL;
}

/* HOST, HOST:PORT or [IPv6]:PORT. */
static const char *parse_host(struct database *database, struct text text) {
  struct text host = text, port = {NULL, 0};
  const char *bracket = text.length > 0 && text.bytes[0] == '[' ? memchr(text.bytes, ']', text.length) : NULL;
  const char *from = bracket == NULL ? text.bytes : bracket;
  const char *colon = memchr(from, ':', text.length - (size_t)(from - text.bytes));
  if (colon != NULL) {
    host.length = (size_t)(colon - text.bytes);
    port = (struct text){colon + 1, text.length - host.length - 1};
  }
  if (bracket != NULL) {
    host = (struct text){text.bytes + 1, (size_t)(bracket - text.bytes) - 1};
  }
  int64_t number = database->port;
  if (port.length > 0 && !whole_number(port, 1, UINT16_MAX, &number)) {
    return "the port is no number of 1 to 65535";
  }
  database->port = (uint16_t)number;
  if (!put(&database->host, host)) {
    return "the host is not percent-encoded as it should be";
  }
  /* PostgreSQL's drivers take a percent-encoded folder in the place of a host. */
  if (database->host[0] == '/') {
    free(database->socket);
    database->socket = database->host;
    database->host = strdup("");
  }
  return database->host == NULL ? "there is no memory for it" : NULL;
}

static const char *parse_user(struct database *database, struct text text) {
  const char *colon = memchr(text.bytes, ':', text.length);
  struct text user = {text.bytes, colon == NULL ? text.length : (size_t)(colon - text.bytes)};
  bool read = put(&database->user, user);
  if (colon != NULL) {
    read = read && put(&database->password, (struct text){colon + 1, text.length - user.length - 1});
  }
  return read ? NULL : "user and password are not percent-encoded as they should be";
}

static bool is_near(const char *host) {
  return strcmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 || strcmp(host, "::1") == 0;
}

/* What follows the `://`. */
static const char *parse_rest(struct database *database, const char *rest) {
  const char *query = strchr(rest, '?');
  struct text whole = {rest, query == NULL ? strlen(rest) : (size_t)(query - rest)};
  const char *slash = memchr(whole.bytes, '/', whole.length);
  struct text authority = {whole.bytes, slash == NULL ? whole.length : (size_t)(slash - whole.bytes)};
  /* The last of several: a password may have one. */
  const char *at = memrchr(authority.bytes, '@', authority.length);
  const char *wrong = NULL;
  if (at != NULL) {
    size_t before = (size_t)(at - authority.bytes);
    wrong = parse_user(database, (struct text){authority.bytes, before});
    authority = (struct text){at + 1, authority.length - before - 1};
  }
  wrong = wrong != NULL ? wrong : parse_host(database, authority);
  if (wrong == NULL && slash != NULL) {
    struct text name = {slash + 1, whole.length - (size_t)(slash - whole.bytes) - 1};
    wrong = put(&database->name, name) ? NULL : "the database is not percent-encoded as it should be";
  }
  bool tls_given = false;
  if (wrong == NULL && query != NULL) {
    wrong = parse_options(database, text_of(query + 1), &tls_given);
  }
  if (wrong != NULL) {
    return wrong;
  }
  if (database->user == NULL || *database->user == '\0') {
    return "the user is missing";
  }
  if (database->name == NULL || *database->name == '\0') {
    return "the database is missing";
  }
  if (*database->host == '\0' && database->socket == NULL) {
    return "the host is missing";
  }
  if (!tls_given) {
    database->tls = database->socket != NULL || is_near(database->host) ? TLS_OFF : TLS_PREFER;
  }
  return NULL;
}

bool database_parse(const char *url, struct database *into, char *why, size_t why_size) {
  static const struct {
    const char *scheme;
    enum engine engine;
  } schemes[] = {{"postgres://", ENGINE_POSTGRES},
                 {"postgresql://", ENGINE_POSTGRES},
                 {"mysql://", ENGINE_MARIADB},
                 {"mariadb://", ENGINE_MARIADB}};
  *into = (struct database){0};
  for (size_t at = 0; at < sizeof schemes / sizeof *schemes; at++) {
    size_t length = strlen(schemes[at].scheme);
    if (strncmp(url, schemes[at].scheme, length) != 0) {
      continue;
    }
    bool postgres = schemes[at].engine == ENGINE_POSTGRES;
    into->engine = schemes[at].engine;
    into->port = postgres ? 5432 : 3306;
    into->isolation = postgres ? READ_COMMITTED : REPEATABLE_READ;
    const char *wrong = parse_rest(into, url + length);
    if (wrong != NULL) {
      snprintf(why, why_size, "the URL of the database: %s", wrong);
      database_free(into);
    }
    return wrong == NULL;
  }
  snprintf(why, why_size, "the URL of the database does not begin with postgres:// or mysql://");
  return false;
}

void database_free(struct database *database) {
  free(database->host);
  free(database->socket);
  free(database->user);
  free(database->password);
  free(database->name);
  free(database->authority);
  *database = (struct database){0};
}
