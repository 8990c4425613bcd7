/* What a workload is to the server: paths, the reading of calls, and what each call does on a connection. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include "conn.h"
#include "problem.h"
#include "text.h"

enum method { METHOD_GET, METHOD_POST, METHOD_PUT, METHOD_PATCH, METHOD_DELETE, METHOD_OTHER };

/* A method and a path, in which a segment in braces is an id: `/foods/{id}`. Its place in the list is the kind of the call.
 */
struct route {
  enum method method;
  const char *path;
};

/* A request as a workload reads it. */
struct request {
  enum method method;
  struct text path;
  struct text query;
  /* The segment of the path that stands for the id. */
  struct text id;
  bool has_if_match;
  struct text if_match;
  struct text body;
};

/* What is answered to a call that has completed. */
struct outcome {
  unsigned status;
  /* Whether the body is a problem document: the call was declined. */
  bool is_problem;
  /* The version for `etag`; 0 for none. */
  int64_t version;
  struct buffer body;
};

enum ended { ENDED_COMMIT, ENDED_ROLLBACK };

/* How much is loaded, as far as calls are held to it. */
struct extent {
  uint64_t scale;
  int64_t warehouses;
  int64_t customers;
};

struct workload {
  const char *name;
  const struct route *routes;
  size_t routes_count;
  /* Bytes of a call that has been read. */
  size_t call_size;
  const char *const *(*statements)(enum engine engine, size_t *count);
  /* Reads how much is loaded, over a connection with the statements prepared. */
  bool (*measure)(struct conn *conn, enum engine engine, struct extent *into);
  /* Reads a call of a kind, and checks all that can be checked without the database. */
  bool (*decode)(size_t kind, const struct request *request, const struct extent *extent, void *call,
                 struct problem *problem);
  enum tx (*tx)(const void *call);
  /* Does what the call asks for, between begin and commit. Faults are in the connection. */
  enum ended (*run)(struct conn *conn, enum engine engine, const void *call, struct outcome *outcome);
};

extern const struct workload catalogue;
extern const struct workload tpcc;

const struct workload *workload_named(const char *name);

/* Runs a call on a connection to its end: conflicts are repeated, at most ten attempts in all, and nothing else is. The
 * fault that is left is in the connection. */
bool workload_run(const struct workload *workload, struct conn *conn, enum engine engine, const void *call,
                  struct outcome *outcome);

#endif
