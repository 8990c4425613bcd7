/* The connections to the engine, as many as were asked for and no more, and who may use one when. A call waits in one
 * bounded line for the next that is free, first come, first served, and never longer than a call may take.
 *
 * In one form whoever has a call takes a connection and gives it back; in the other each connection has a thread of its
 * own, which takes the next call from the line. A connection that is broken is replaced when it is next used. */
#ifndef SESSIONS_H
#define SESSIONS_H

#include "workload.h"

enum { QUEUED_MOST = 4096 };
#define CALL_NS_MOST INT64_C(60000000000)
/* For the settings and the statements of a new connection, which has logged in. */
#define OPEN_NS_MOST INT64_C(10000000000)

struct sessions;

struct sessions_options {
  const struct database *database;
  const struct workload *workload;
  const struct statements *statements;
  unsigned count;
  /* Opens a connection; `conn_open`, but in tests. */
  struct conn *(*open)(const struct database *database, const struct opening *opening, struct stack *stack,
                       struct open_error *error);
  /* Whether each connection has a thread of its own. */
  bool lanes;
};

/* A call on its way through. */
struct job {
  /* Given by who asks. */
  const void *call;
  struct outcome outcome;
  /* What is told when a lane is done with it, on the lane's thread. */
  void (*done)(struct job *job);
  /* Given back. */
  struct fault fault;
  struct work work;
  /* Waited for a connection. */
  int64_t pool_ns;
  int64_t ended;
  /* For the line. */
  struct job *next;
  int64_t asked;
};

/* Opens all connections. With a stack, what is behind them is read back; and how much is loaded. */
struct sessions *sessions_open(const struct sessions_options *options, struct stack *stack, struct extent *extent,
                               struct open_error *error);

/* Runs a call on the next free connection, on this thread. */
void sessions_run(struct sessions *sessions, struct job *job);

/* Hands a call to the lanes, which tell when it is done; false where the line is full, and then it is done already. */
bool sessions_submit(struct sessions *sessions, struct job *job);

/* Cuts what is still going on in the engine and refuses what waits for it, so that every call comes to an end. */
void sessions_cut(struct sessions *sessions);

/* Closes all connections; no call may be going on. */
void sessions_close(struct sessions *sessions);

#endif
