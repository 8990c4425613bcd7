/* The pool and the running of calls, over an engine that is not there. */
#include "check.h"
#include "sessions.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* What the engine does with the next statements. */
static struct {
  atomic_int open_now, opened, conflicts, losses, executed, busy, busy_most;
  atomic_bool down;
  int pause_ms;
  /* The engine's end of the connection that was opened last. */
  int theirs;
} engine;

struct fake {
  struct conn conn;
  int ours, theirs;
};

static void sleep_ms(int ms) {
  const struct timespec pause = {.tv_nsec = ms * 1000000L};
  nanosleep(&pause, NULL);
}

static bool fake_execute(struct conn *conn, size_t statement, const struct param *params) {
  (void)statement;
  (void)params;
  int busy = atomic_fetch_add(&engine.busy, 1) + 1;
  if (busy > atomic_load(&engine.busy_most)) {
    atomic_store(&engine.busy_most, busy);
  }
  sleep_ms(engine.pause_ms);
  atomic_fetch_sub(&engine.busy, 1);
  atomic_fetch_add(&engine.executed, 1);
  if (atomic_load(&engine.conflicts) > 0) {
    atomic_fetch_sub(&engine.conflicts, 1);
    conn_fail(conn, (struct fault){.kind = FAULT_CONFLICT, .reason = REASON_DEADLOCK});
  } else if (atomic_load(&engine.losses) > 0) {
    atomic_fetch_sub(&engine.losses, 1);
    conn_fail(conn, fault_lost(conn_commits(conn)));
  }
  conn->rows = 0;
  conn->changed = 1;
  return !conn_failed(conn);
}

static bool fake_control(struct conn *conn, enum control control) {
  (void)conn;
  (void)control;
  return true;
}

static bool fake_is_open(struct conn *conn) {
  (void)conn;
  return false;
}

static bool fake_prepare(struct conn *conn, const struct statements *statements, struct open_error *error) {
  (void)conn;
  (void)statements;
  (void)error;
  return true;
}

static void fake_close(struct conn *conn) {
  struct fake *fake = (struct fake *)conn;
  close(fake->ours);
  close(fake->theirs);
  free(fake);
  atomic_fetch_sub(&engine.open_now, 1);
}

static const struct driver fake_driver = {.execute = fake_execute,
                                          .control = fake_control,
                                          .is_open = fake_is_open,
                                          .prepare = fake_prepare,
                                          .close = fake_close};

static struct conn *fake_open(const struct database *database, const struct opening *opening, struct stack *stack,
                              struct open_error *error) {
  (void)database;
  (void)stack;
  int pair[2];
  struct fake *fake = calloc(1, sizeof *fake);
  if (atomic_load(&engine.down) || fake == NULL || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
    free(fake);
    *error = (struct open_error){.unreachable = true, .what = "it is down, as this test wants it"};
    return NULL;
  }
  *fake = (struct fake){.conn = {.driver = &fake_driver, .socket = dup(pair[0])}, .ours = pair[0], .theirs = pair[1]};
  atomic_fetch_add(&engine.open_now, 1);
  atomic_fetch_add(&engine.opened, 1);
  engine.theirs = fake->theirs;
  opening->connected(opening->of, fake->conn.socket);
  return &fake->conn;
}

static bool fake_measure(struct conn *conn, enum engine which, struct extent *into) {
  (void)conn;
  (void)which;
  into->scale = 1;
  return true;
}

static enum tx fake_tx(const void *call) {
  (void)call;
  return TX_WRITE;
}

static enum ended fake_run(struct conn *conn, enum engine which, const void *call, struct outcome *outcome) {
  (void)which;
  (void)call;
  conn_change(conn, 0, NULL);
  buffer_literal(&outcome->body, "{}");
  return ENDED_COMMIT;
}

static const struct workload fake_workload = {.name = "fake", .measure = fake_measure, .tx = fake_tx, .run = fake_run};

static struct sessions *open_sessions(unsigned count, bool lanes) {
  static const struct database database = {.engine = ENGINE_POSTGRES};
  const struct sessions_options options = {
      .database = &database, .workload = &fake_workload, .count = count, .open = fake_open, .lanes = lanes};
  struct extent extent;
  struct open_error error;
  memset(&engine, 0, sizeof engine);
  return sessions_open(&options, NULL, &extent, &error);
}

static struct fault run_one(struct sessions *sessions, struct work *work) {
  struct job job = {.call = NULL};
  sessions_run(sessions, &job);
  buffer_free(&job.outcome.body);
  *work = job.work;
  return job.fault;
}

static void conflicts_are_repeated_and_nothing_else_is(void) {
  struct sessions *sessions = open_sessions(1, false);
  struct work work;
  engine.conflicts = 9;
  CHECK(run_one(sessions, &work).kind == FAULT_NONE && work.attempts == 10 && work.statements == 1 && work.commits == 1);
  engine.conflicts = 10;
  CHECK(run_one(sessions, &work).kind == FAULT_CONFLICT && work.attempts == 10 && work.commits == 0);
  engine.losses = 1;
  CHECK(run_one(sessions, &work).reason == REASON_CONNECTION_LOST && work.attempts == 1);
  sessions_close(sessions);
}

static void a_broken_connection_is_replaced_when_it_is_next_used(void) {
  struct sessions *sessions = open_sessions(1, false);
  struct work work;
  engine.losses = 1;
  CHECK(run_one(sessions, &work).kind == FAULT_IN_DOUBT && engine.open_now == 0);
  engine.down = true;
  CHECK(run_one(sessions, &work).reason == REASON_UNREACHABLE && engine.open_now == 0);
  engine.down = false;
  CHECK(run_one(sessions, &work).kind == FAULT_NONE && engine.open_now == 1 && engine.opened == 2 && work.reconnects == 0);
  sessions_close(sessions);
  CHECK(engine.open_now == 0);
}

static void a_connection_that_was_closed_between_calls_is_opened_again_and_counted(void) {
  struct sessions *sessions = open_sessions(1, false);
  struct work work;
  CHECK(run_one(sessions, &work).kind == FAULT_NONE && work.reconnects == 0);
  shutdown(engine.theirs, SHUT_RDWR);
  CHECK(run_one(sessions, &work).kind == FAULT_NONE && work.reconnects == 1 && engine.opened == 2);
  CHECK(run_one(sessions, &work).kind == FAULT_NONE && work.reconnects == 0 && engine.opened == 2);
  sessions_close(sessions);
}

static void *run_some(void *of) {
  struct work work;
  for (int at = 0; at < 20; at++) {
    CHECK(run_one(of, &work).kind == FAULT_NONE);
  }
  return NULL;
}

static void no_more_calls_are_in_the_engine_than_there_are_connections(void) {
  pthread_t threads[12];
  struct sessions *sessions = open_sessions(3, false);
  engine.pause_ms = 1;
  for (size_t at = 0; at < 12; at++) {
    CHECK(pthread_create(&threads[at], NULL, run_some, sessions) == 0);
  }
  for (size_t at = 0; at < 12; at++) {
    pthread_join(threads[at], NULL);
  }
  CHECK(engine.executed == 240 && engine.busy_most == 3 && engine.opened == 3);
  sessions_close(sessions);
}

static atomic_uint done;

static void on_done(struct job *job) {
  (void)job;
  atomic_fetch_add(&done, 1);
}

static void the_line_of_the_lanes_is_bounded(void) {
  struct sessions *sessions = open_sessions(1, true);
  struct job *jobs = calloc(QUEUED_MOST + 2, sizeof *jobs);
  unsigned taken = 0;
  atomic_store(&done, 0);
  engine.pause_ms = 200;
  for (size_t at = 0; at < QUEUED_MOST + 2; at++) {
    jobs[at].done = on_done;
    taken += sessions_submit(sessions, &jobs[at]);
  }
  CHECK(taken >= QUEUED_MOST && taken <= QUEUED_MOST + 1);
  CHECK(jobs[QUEUED_MOST + 1].fault.reason == REASON_QUEUE_FULL);
  engine.pause_ms = 0;
  /* Those that wait are answered before the lanes end. */
  sessions_close(sessions);
  CHECK(atomic_load(&done) == taken && engine.open_now == 0);
  for (size_t at = 0; at < QUEUED_MOST + 2; at++) {
    buffer_free(&jobs[at].outcome.body);
  }
  free(jobs);
}

/* A stop that has waited long enough: what goes on is cut, what waits is refused, and nothing is begun any more. */
static void what_waits_is_refused_when_all_is_cut(void) {
  enum { JOBS = 5 };
  struct job jobs[JOBS] = {{.call = NULL}};
  struct sessions *sessions = open_sessions(1, true);
  atomic_store(&done, 0);
  engine.pause_ms = 300;
  for (size_t at = 0; at < JOBS; at++) {
    jobs[at].done = on_done;
    CHECK(sessions_submit(sessions, &jobs[at]));
  }
  const struct timespec begun = {.tv_nsec = 100000000};
  nanosleep(&begun, NULL);
  sessions_cut(sessions);
  CHECK(atomic_load(&done) >= JOBS - 1);
  for (size_t at = 1; at < JOBS; at++) {
    CHECK(jobs[at].fault.reason == REASON_SHEDDING);
  }
  struct job late = {.done = on_done};
  CHECK(!sessions_submit(sessions, &late) && late.fault.reason == REASON_SHEDDING);
  struct work work;
  CHECK(run_one(sessions, &work).reason == REASON_SHEDDING);
  sessions_close(sessions);
  for (size_t at = 0; at < JOBS; at++) {
    buffer_free(&jobs[at].outcome.body);
  }
}

void test_sessions(void) {
  what_waits_is_refused_when_all_is_cut();
  conflicts_are_repeated_and_nothing_else_is();
  a_broken_connection_is_replaced_when_it_is_next_used();
  a_connection_that_was_closed_between_calls_is_opened_again_and_counted();
  no_more_calls_are_in_the_engine_than_there_are_connections();
  the_line_of_the_lanes_is_bounded();
}
