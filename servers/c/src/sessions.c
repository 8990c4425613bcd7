#include "sessions.h"

#include "log.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

enum { LANE_STACK = 256 << 10, WATCH_MS = 250 };

/* A place for a connection: empty after one was lost, and filled by the next call that takes it. */
struct slot {
  struct sessions *sessions;
  unsigned number;
  struct conn *conn;
  pthread_t lane;
  struct slot *next_free;
  /* While a call is on it or it is being opened, when that must have ended; 0 otherwise. Under the lock, as is the cutting
   * of it. */
  int64_t deadline;
  int socket;
  bool cut;
};

/* Somebody who waits for a slot, and is given it. */
struct waiter {
  pthread_cond_t given;
  struct slot *slot;
  struct waiter *next;
};

struct sessions {
  struct sessions_options options;
  pthread_mutex_t lock;
  struct slot *slots;
  struct slot *free;
  /* Those who wait for a slot, in their order: threads in one form, calls in the other. */
  struct waiter *waiters;
  struct waiter **waiters_end;
  struct job *jobs;
  struct job **jobs_end;
  pthread_cond_t job_came;
  unsigned waiting;
  unsigned lanes;
  /* Nothing is begun any more, and what waits is refused. */
  bool refusing;
  bool stopping;
  pthread_t watch;
  bool watched;
  pthread_cond_t watch_ended;
};

static void init_condition(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

static int wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t ns) {
  const struct timespec when = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
  return pthread_cond_timedwait(condition, lock, &when);
}

/* From here on the watch may cut the connection. Not where nothing is to be begun any more. */
static bool arm(struct slot *slot, int socket, int64_t deadline) {
  pthread_mutex_lock(&slot->sessions->lock);
  bool may = !slot->sessions->refusing;
  slot->socket = socket;
  slot->deadline = may ? deadline : 0;
  slot->cut = false;
  pthread_mutex_unlock(&slot->sessions->lock);
  return may;
}

static bool disarm(struct slot *slot) {
  pthread_mutex_lock(&slot->sessions->lock);
  slot->deadline = 0;
  bool cut = slot->cut;
  pthread_mutex_unlock(&slot->sessions->lock);
  return cut;
}

/* A connection that is being opened has logged in, or is about to be closed again. */
static void on_connected(void *of, int socket) {
  struct slot *slot = of;
  if (socket < 0) {
    disarm(slot);
  } else if (!arm(slot, socket, now_ns() + OPEN_NS_MOST)) {
    shutdown(socket, SHUT_RDWR);
  }
}

/* Opens a connection with its statements. */
static struct conn *open_one(struct slot *slot, struct stack *stack, struct open_error *error) {
  const struct sessions_options *options = &slot->sessions->options;
  const struct opening opening = {.connected = on_connected, .of = slot};
  struct conn *conn = options->open(options->database, &opening, stack, error);
  if (conn != NULL && !conn->driver->prepare(conn, options->statements, error)) {
    opening_failed(&opening, conn);
    conn = NULL;
  }
  if (disarm(slot) && conn != NULL) {
    *error = (struct open_error){.unreachable = true, .what = "it took too long to answer"};
    shutdown(conn->socket, SHUT_RDWR);
    conn_close(conn);
    conn = NULL;
  }
  return conn;
}

static void drop(struct slot *slot) {
  if (slot->conn != NULL) {
    conn_close(slot->conn);
    slot->conn = NULL;
  }
}

/* Drops a connection that may be in the middle of something. A driver that says good-bye would wait for what never comes,
 * so the socket is cut first. */
static void drop_broken(struct slot *slot) {
  shutdown(slot->conn->socket, SHUT_RDWR);
  drop(slot);
}

/* A connection that can be used, or a fault. */
static bool make_ready(struct slot *slot, unsigned *reconnects, struct fault *fault) {
  struct open_error error;
  if (slot->conn != NULL && !conn_is_alive(slot->conn)) {
    drop_broken(slot);
    *reconnects = 1;
  }
  if (slot->conn == NULL) {
    slot->conn = open_one(slot, NULL, &error);
    if (slot->conn == NULL) {
      log_line("connection %u: %s", slot->number, error.what);
      *fault = fault_refused(error.unreachable ? REASON_UNREACHABLE : REASON_NO_SESSION);
      return false;
    }
  }
  return true;
}

static bool is_refusing(struct sessions *sessions) {
  pthread_mutex_lock(&sessions->lock);
  bool refusing = sessions->refusing;
  pthread_mutex_unlock(&sessions->lock);
  return refusing;
}

/* Runs a call on a slot that is this thread's for now. */
static void run_on(struct slot *slot, struct job *job) {
  const struct sessions_options *options = &slot->sessions->options;
  if (is_refusing(slot->sessions)) {
    job->fault = fault_refused(REASON_SHEDDING);
    return;
  }
  unsigned reconnects = 0;
  if (!make_ready(slot, &reconnects, &job->fault)) {
    return;
  }
  struct conn *conn = slot->conn;
  if (!arm(slot, conn->socket, job->asked + CALL_NS_MOST)) {
    job->fault = fault_refused(REASON_SHEDDING);
    return;
  }
  conn->work = (struct work){0};
  workload_run(options->workload, conn, options->database->engine, job->call, &job->outcome);
  job->work = conn->work;
  job->work.reconnects = reconnects;
  job->fault = conn->fault;
  bool cut = disarm(slot);
  if (cut && job->fault.kind == FAULT_IN_DOUBT) {
    job->fault.reason = REASON_DEADLINE;
  }
  if (cut || conn->open || fault_spoils(&job->fault)) {
    drop_broken(slot);
  }
}

/* Takes a slot; whoever has waited longest is given the next. Null with a fault where that takes too long. */
static struct slot *take(struct sessions *sessions, struct job *job) {
  struct waiter self = {.slot = NULL};
  pthread_mutex_lock(&sessions->lock);
  struct slot *slot = sessions->free;
  if (sessions->refusing) {
    slot = NULL;
    job->fault = fault_refused(REASON_SHEDDING);
  } else if (slot != NULL) {
    sessions->free = slot->next_free;
  } else if (sessions->waiting == QUEUED_MOST) {
    job->fault = fault_refused(REASON_QUEUE_FULL);
  } else {
    init_condition(&self.given);
    /* It leaves the line before this function ends. */
    // cppcheck-suppress autoVariables
    *sessions->waiters_end = &self;
    // cppcheck-suppress autoVariables
    sessions->waiters_end = &self.next;
    sessions->waiting++;
    int late = 0;
    while (self.slot == NULL && late == 0 && !sessions->refusing) {
      late = wait_until(&self.given, &sessions->lock, job->asked + CALL_NS_MOST);
    }
    slot = self.slot;
    if (slot == NULL) {
      struct waiter **at = &sessions->waiters;
      while (*at != &self) {
        at = &(*at)->next;
      }
      *at = self.next;
      if (*at == NULL) {
        sessions->waiters_end = at;
      }
      sessions->waiting--;
      job->fault = fault_refused(sessions->refusing ? REASON_SHEDDING : REASON_NO_SESSION);
    }
    pthread_cond_destroy(&self.given);
  }
  pthread_mutex_unlock(&sessions->lock);
  return slot;
}

static void give_back(struct slot *slot) {
  struct sessions *sessions = slot->sessions;
  pthread_mutex_lock(&sessions->lock);
  struct waiter *first = sessions->waiters;
  if (first != NULL) {
    sessions->waiters = first->next;
    if (sessions->waiters == NULL) {
      sessions->waiters_end = &sessions->waiters;
    }
    sessions->waiting--;
    first->slot = slot;
    pthread_cond_signal(&first->given);
  } else {
    slot->next_free = sessions->free;
    sessions->free = slot;
  }
  pthread_mutex_unlock(&sessions->lock);
}

static void begin_job(struct job *job) {
  job->fault = (struct fault){.kind = FAULT_NONE};
  job->work = (struct work){0};
  job->asked = now_ns();
  job->pool_ns = 0;
  job->next = NULL;
}

void sessions_run(struct sessions *sessions, struct job *job) {
  begin_job(job);
  struct slot *slot = take(sessions, job);
  job->pool_ns = now_ns() - job->asked;
  if (slot != NULL) {
    run_on(slot, job);
    give_back(slot);
  }
  job->ended = now_ns();
}

bool sessions_submit(struct sessions *sessions, struct job *job) {
  begin_job(job);
  pthread_mutex_lock(&sessions->lock);
  bool refusing = sessions->refusing;
  bool room = !refusing && sessions->waiting < QUEUED_MOST;
  if (room) {
    *sessions->jobs_end = job;
    sessions->jobs_end = &job->next;
    sessions->waiting++;
    pthread_cond_signal(&sessions->job_came);
  }
  pthread_mutex_unlock(&sessions->lock);
  if (!room) {
    job->fault = fault_refused(refusing ? REASON_SHEDDING : REASON_QUEUE_FULL);
    job->ended = now_ns();
  }
  return room;
}

/* The first of the line; under the lock. */
static struct job *first_job(struct sessions *sessions) {
  struct job *job = sessions->jobs;
  sessions->jobs = job->next;
  if (sessions->jobs == NULL) {
    sessions->jobs_end = &sessions->jobs;
  }
  sessions->waiting--;
  return job;
}

static void *lane(void *of) {
  struct slot *slot = of;
  struct sessions *sessions = slot->sessions;
  pthread_mutex_lock(&sessions->lock);
  for (;;) {
    while (sessions->jobs == NULL && !sessions->stopping) {
      pthread_cond_wait(&sessions->job_came, &sessions->lock);
    }
    if (sessions->jobs == NULL) {
      break;
    }
    struct job *job = first_job(sessions);
    pthread_mutex_unlock(&sessions->lock);
    job->pool_ns = now_ns() - job->asked;
    run_on(slot, job);
    job->ended = now_ns();
    job->done(job);
    pthread_mutex_lock(&sessions->lock);
  }
  pthread_mutex_unlock(&sessions->lock);
  return NULL;
}

static void cut(struct slot *slot) {
  slot->cut = true;
  shutdown(slot->socket, SHUT_RDWR);
}

/* Refuses the calls at the head of the line that no lane has begun in time, and all where nothing is begun any more; under
 * the lock, which it lets go meanwhile. */
static void refuse_late(struct sessions *sessions, int64_t now) {
  while (sessions->jobs != NULL && (sessions->refusing || now - sessions->jobs->asked > CALL_NS_MOST)) {
    struct job *job = first_job(sessions);
    job->fault = fault_refused(sessions->refusing ? REASON_SHEDDING : REASON_NO_SESSION);
    pthread_mutex_unlock(&sessions->lock);
    job->pool_ns = now - job->asked;
    job->ended = now_ns();
    job->done(job);
    pthread_mutex_lock(&sessions->lock);
  }
}

/* Cuts the connections whose calls have taken too long: the engine's answer is not waited for any more. */
static void *watch(void *of) {
  struct sessions *sessions = of;
  pthread_mutex_lock(&sessions->lock);
  while (!sessions->stopping) {
    wait_until(&sessions->watch_ended, &sessions->lock, now_ns() + WATCH_MS * INT64_C(1000000));
    int64_t now = now_ns();
    for (unsigned at = 0; at < sessions->options.count; at++) {
      struct slot *slot = &sessions->slots[at];
      if (slot->deadline != 0 && now > slot->deadline && !slot->cut) {
        cut(slot);
      }
    }
    refuse_late(sessions, now);
  }
  pthread_mutex_unlock(&sessions->lock);
  return NULL;
}

void sessions_cut(struct sessions *sessions) {
  pthread_mutex_lock(&sessions->lock);
  sessions->refusing = true;
  for (struct waiter *waiter = sessions->waiters; waiter != NULL; waiter = waiter->next) {
    pthread_cond_signal(&waiter->given);
  }
  refuse_late(sessions, now_ns());
  for (unsigned at = 0; at < sessions->options.count; at++) {
    if (sessions->slots[at].deadline != 0 && !sessions->slots[at].cut) {
      cut(&sessions->slots[at]);
    }
  }
  pthread_mutex_unlock(&sessions->lock);
}

/* The watch, or the lanes. */
static bool start_threads(struct sessions *sessions, bool lanes) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, LANE_STACK);
  bool started = true;
  if (!lanes) {
    started = sessions->watched = pthread_create(&sessions->watch, &attributes, watch, sessions) == 0;
  }
  for (unsigned at = 0; started && lanes && at < sessions->options.count; at++) {
    started = pthread_create(&sessions->slots[at].lane, &attributes, lane, &sessions->slots[at]) == 0;
    sessions->lanes += started;
  }
  pthread_attr_destroy(&attributes);
  return started;
}

static bool open_all(struct sessions *sessions, struct stack *stack, struct extent *extent, struct open_error *error) {
  const struct sessions_options *options = &sessions->options;
  for (unsigned at = options->count; at-- > 0;) {
    struct slot *slot = &sessions->slots[at];
    slot->next_free = sessions->free;
    slot->conn = open_one(slot, at == 0 ? stack : NULL, error);
    if (slot->conn == NULL) {
      return false;
    }
    /* The last one is taken first: in the order of their numbers under light load. */
    sessions->free = slot;
  }
  struct conn *first = sessions->slots[0].conn;
  if (!options->workload->measure(first, options->database->engine, extent)) {
    *error = (struct open_error){.what = "it does not say how much is loaded"};
    return false;
  }
  return true;
}

struct sessions *sessions_open(const struct sessions_options *options, struct stack *stack, struct extent *extent,
                               struct open_error *error) {
  struct sessions *sessions = calloc(1, sizeof *sessions);
  struct slot *slots = calloc(options->count, sizeof *slots);
  *error = (struct open_error){.unreachable = true, .what = "there is no memory for connections"};
  if (sessions == NULL || slots == NULL) {
    free(sessions);
    free(slots);
    return NULL;
  }
  sessions->options = *options;
  sessions->slots = slots;
  sessions->waiters_end = &sessions->waiters;
  sessions->jobs_end = &sessions->jobs;
  pthread_mutex_init(&sessions->lock, NULL);
  init_condition(&sessions->job_came);
  init_condition(&sessions->watch_ended);
  for (unsigned at = 0; at < options->count; at++) {
    slots[at] = (struct slot){.sessions = sessions, .number = at};
  }
  /* The watch also cuts what takes too long to be opened. */
  bool watched = start_threads(sessions, false);
  if (watched && !open_all(sessions, stack, extent, error)) {
    sessions_close(sessions);
    return NULL;
  }
  if (!watched || (options->lanes && !start_threads(sessions, true))) {
    *error = (struct open_error){.unreachable = true, .what = "the system gives no more threads"};
    sessions_close(sessions);
    return NULL;
  }
  return sessions;
}

void sessions_close(struct sessions *sessions) {
  pthread_mutex_lock(&sessions->lock);
  sessions->stopping = true;
  pthread_cond_broadcast(&sessions->job_came);
  pthread_cond_broadcast(&sessions->watch_ended);
  pthread_mutex_unlock(&sessions->lock);
  for (unsigned at = 0; at < sessions->lanes; at++) {
    pthread_join(sessions->slots[at].lane, NULL);
  }
  if (sessions->watched) {
    pthread_join(sessions->watch, NULL);
  }
  for (unsigned at = 0; at < sessions->options.count; at++) {
    drop(&sessions->slots[at]);
  }
  pthread_cond_destroy(&sessions->job_came);
  pthread_cond_destroy(&sessions->watch_ended);
  pthread_mutex_destroy(&sessions->lock);
  free(sessions->slots);
  free(sessions);
}
