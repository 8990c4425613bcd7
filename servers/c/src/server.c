#include "client.h"

#include "log.h"
#include "numbers.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  BACKLOG = 1024,
  STACK_BYTES = 256 << 10,
  /* Of a body that is too large, this much is read past, so that whoever sends it comes to read the answer. */
  DISCARD_MOST = 1 << 20,
  /* Beyond those that are served there are some that are told so. */
  CONNECTIONS_OVER = 64,
  /* Seconds for one of these to ask for something, so that others come to be told as well. */
  OVER_S_MOST = 5,
  /* Seconds for calls to end whose connections have been cut. */
  CUT_S_MOST = 3,
};

static struct client *client_of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

static void set_timeout(struct client *client, unsigned seconds) {
  MHD_set_connection_option(client->connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}

static void on_connection(void *of, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code) {
  struct server *server = of;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    struct client *client = client_open(server, connection);
    unsigned open = atomic_fetch_add(&server->connections, 1) + 1;
    if (client != NULL) {
      client->is_over = open > CONNECTIONS_MOST;
    }
    if (client != NULL && client->is_over) {
      set_timeout(client, OVER_S_MOST);
    }
    *context = client;
    return;
  }
  atomic_fetch_sub(&server->connections, 1);
  if (*context != NULL) {
    client_close(*context);
    *context = NULL;
  }
}

/* The first that is known of a request: its target, before anything is done to it. */
static void *on_target(void *of, const char *target, struct MHD_Connection *connection) {
  (void)of;
  struct client *client = client_of(connection);
  if (client != NULL) {
    client_begin(client, target);
  }
  return client;
}

/* Targets are read as they came; nothing is decoded on the way. */
static size_t leave_escaped(void *of, struct MHD_Connection *connection, char *text) {
  (void)of;
  (void)connection;
  return strlen(text);
}

static bool expects_body(const struct client *client) {
  return client->head.is_chunked || (client->head.has_length && !text_is(client->head.length, "0"));
}

/* Whether so large a body is announced that it is not even read past. */
static bool is_huge(const struct client *client) {
  int64_t length = 0;
  return client->head.has_length && !whole_number(client->head.length, 0, DISCARD_MOST, &length) && length > 0;
}

static enum MHD_Result on_head(struct client *client, const char *method, const char *version) {
  struct problem problem;
  client_read_head(client, method, version);
  client->headed = now_ns();
  client->phase = PHASE_BODY;
  if (is_huge(client)) {
    problem_large(&problem);
    return client_answer_problem(client, &problem);
  }
  if (expects_body(client)) {
    set_timeout(client, BODY_S_MOST);
  }
  return MHD_YES;
}

/* Answers past the library, where it has no words for it; the connection is closed by whoever called. */
static void tell(const struct client *client, const struct problem *problem, const char *words) {
  struct buffer body = {0}, answer = {0};
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(client->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  problem_write(problem, &body);
  buffer_literal(&answer, "HTTP/1.1 ");
  buffer_number(&answer, problem->status);
  buffer_text(&answer, words);
  buffer_literal(&answer, "\r\ncontent-type: application/problem+json\r\nconnection: close\r\nserver-timing: total;dur=");
  buffer_millis(&answer, now_ns() - client->begun);
  buffer_literal(&answer, "\r\ncontent-length: ");
  buffer_number(&answer, (int64_t)body.length);
  buffer_literal(&answer, "\r\n\r\n");
  buffer_add(&answer, body.data, body.length);
  if (info != NULL && !answer.failed && !body.failed) {
    /* Where it does not take all of it at once, nobody is there to read it. */
    ssize_t sent = send(info->connect_fd, answer.data, answer.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent;
  }
  buffer_free(&body);
  buffer_free(&answer);
}

static void tell_too_slow(const struct client *client) {
  struct problem problem;
  problem_slow(&problem);
  tell(client, &problem, " Request Timeout");
}

static enum MHD_Result on_body(struct client *client, const char *data, size_t *size) {
  client->body_bytes += *size;
  if (client->body_bytes > DISCARD_MOST) {
    struct problem problem;
    problem_large(&problem);
    tell(client, &problem, " Content Too Large");
    client->phase = PHASE_ANSWERED;
    return MHD_NO;
  }
  if (now_ns() - client->headed > BODY_S_MOST * INT64_C(1000000000)) {
    tell_too_slow(client);
    client->phase = PHASE_ANSWERED;
    return MHD_NO;
  }
  if (client->body_bytes <= BODY_BYTES_MOST) {
    buffer_add(&client->body, data, *size);
  }
  *size = 0;
  return client->body.failed ? MHD_NO : MHD_YES;
}

static enum MHD_Result answer_refused(struct client *client, enum fault_reason reason) {
  struct problem problem;
  const struct fault fault = fault_refused(reason);
  problem_of_fault(&problem, &fault);
  return client_answer_problem(client, &problem);
}

static bool is_stopping(const struct client *client) { return atomic_load(&client->server->stopping) || client->is_over; }

/* The server's own paths; nothing where it is none. */
static bool on_own_path(struct client *client, enum MHD_Result *result) {
  struct problem problem;
  bool health = client_asks(client, "/health");
  if (!health && !client_asks(client, "/about")) {
    return false;
  }
  if (client->request.method != METHOD_GET) {
    snprintf(client->allow, sizeof client->allow, "GET");
    problem_method(&problem);
    *result = client_answer_problem(client, &problem);
  } else if (health && is_stopping(client)) {
    *result = answer_refused(client, REASON_SHEDDING);
  } else if (health) {
    *result = client_answer_text(client, TEXT("{\"status\":\"ok\"}"));
  } else {
    const struct buffer *about = &client->server->about;
    *result = client_answer_text(client, (struct text){about->data, about->length});
  }
  return true;
}

static void on_done(struct job *job) {
  struct client *client = (struct client *)(void *)((char *)job - offsetof(struct client, job));
  client->phase = PHASE_RETURNED;
  MHD_resume_connection(client->connection);
}

static enum MHD_Result run(struct client *client) {
  struct server *server = client->server;
  client->job.call = client->call;
  client->counted = true;
  atomic_fetch_add(&server->calls, 1);
  /* Looked at once more: whoever stops the server waits for what is counted, and for nothing else. */
  if (atomic_load(&server->stopping)) {
    return answer_refused(client, REASON_SHEDDING);
  }
  if (server->form == FORM_THREADS) {
    sessions_run(server->sessions, &client->job);
    return client_answer_call(client);
  }
  client->job.done = on_done;
  client->phase = PHASE_CALLED;
  /* Suspended before a lane can have it: it may be done at once. */
  MHD_suspend_connection(client->connection);
  if (!sessions_submit(server->sessions, &client->job)) {
    on_done(&client->job);
  }
  return MHD_YES;
}

/* The request has come to its end. */
static enum MHD_Result on_request(struct client *client) {
  struct problem problem;
  enum MHD_Result result;
  int64_t begun = now_ns();
  if (expects_body(client)) {
    set_timeout(client, IDLE_S_MOST);
  }
  if (client->head.bad_host) {
    problem_host(&problem);
    return client_answer_problem(client, &problem);
  }
  if (on_own_path(client, &result)) {
    return result;
  }
  if (is_stopping(client)) {
    return answer_refused(client, REASON_SHEDDING);
  }
  bool decoded = client_decode(client, &problem);
  client->encode_ns = now_ns() - begun;
  return decoded ? run(client) : client_answer_problem(client, &problem);
}

static enum MHD_Result on_access(void *of, struct MHD_Connection *connection, const char *url, const char *method,
                                 const char *version, const char *data, size_t *size, void **context) {
  (void)of;
  (void)connection;
  (void)url;
  struct client *client = *context;
  if (client == NULL) {
    return MHD_NO;
  }
  switch (client->phase) {
  case PHASE_HEAD:
    return on_head(client, method, version);
  case PHASE_BODY:
    return *size > 0 ? on_body(client, data, size) : on_request(client);
  case PHASE_RETURNED:
    client->queue_ns = now_ns() - client->job.ended;
    return client_answer_call(client);
  case PHASE_CALLED:
  case PHASE_ANSWERED:
    break;
  }
  return MHD_YES;
}

static void on_completed(void *of, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code) {
  struct server *server = of;
  (void)connection;
  struct client *client = *context;
  if (client == NULL) {
    return;
  }
  if (code == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED && client->phase == PHASE_BODY) {
    tell_too_slow(client);
  }
  if (client->counted) {
    client->counted = false;
    atomic_fetch_sub(&server->calls, 1);
  }
  client->phase = PHASE_ANSWERED;
}

int server_listen(const char *listen_on, char *place, size_t place_size, char *why, size_t why_size) {
  char host[64], port[8], number[8];
  int64_t wanted;
  const char *colon = strrchr(listen_on, ':');
  size_t length = colon == NULL ? 0 : (size_t)(colon - listen_on);
  bool bracketed = length > 2 && listen_on[0] == '[' && listen_on[length - 1] == ']';
  if (length == 0 || length >= sizeof host || !whole_number(text_of(colon + 1), 0, UINT16_MAX, &wanted)) {
    snprintf(why, why_size, "STACKMARK_LISTEN must be an address and a port, such as 127.0.0.1:0");
    return -1;
  }
  snprintf(host, sizeof host, "%.*s", (int)(bracketed ? length - 2 : length), listen_on + bracketed);
  snprintf(port, sizeof port, "%d", (int)wanted);
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
  struct addrinfo *found = NULL;
  struct sockaddr_storage bound;
  socklen_t bound_size = sizeof bound;
  const int on = 1;
  int listening = -1;
  if (getaddrinfo(host, port, &hints, &found) == 0) {
    listening = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  } else {
    errno = EINVAL;
  }
  bool taken = listening >= 0 && setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
               bind(listening, found->ai_addr, found->ai_addrlen) == 0 && listen(listening, BACKLOG) == 0 &&
               getsockname(listening, (struct sockaddr *)&bound, &bound_size) == 0 &&
               getnameinfo((struct sockaddr *)&bound, bound_size, host, sizeof host, number, sizeof number,
                           NI_NUMERICHOST | NI_NUMERICSERV) == 0;
  if (!taken) {
    snprintf(why, why_size, "could not listen on %s: %s", listen_on, strerror(errno));
    if (listening >= 0) {
      close(listening);
    }
    listening = -1;
  } else {
    snprintf(place, place_size, found->ai_family == AF_INET6 ? "http://[%s]:%s" : "http://%s:%s", host, number);
  }
  if (found != NULL) {
    freeaddrinfo(found);
  }
  return listening;
}

bool server_start(struct server *server, int listening, unsigned threads) {
  unsigned flags = server->form == FORM_THREADS
                       ? MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL
                       : MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME;
  struct MHD_OptionItem pool[] = {{MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)threads, NULL}, {MHD_OPTION_END, 0, NULL}};
  /* One thread is no pool to the library. */
  if (server->form == FORM_THREADS || threads < 2) {
    pool[0].option = MHD_OPTION_END;
  }
  server->daemon = MHD_start_daemon(
      flags | MHD_USE_ITC | MHD_USE_TURBO, 0, NULL, NULL, on_access, server, MHD_OPTION_LISTEN_SOCKET, listening,
      MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
      MHD_OPTION_URI_LOG_CALLBACK, on_target, server, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, server,
      MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S_MOST, MHD_OPTION_CONNECTION_LIMIT,
      (unsigned)(CONNECTIONS_MOST + CONNECTIONS_OVER), MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
      MHD_OPTION_STRICT_FOR_CLIENT, -1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY, pool, MHD_OPTION_END);
  return server->daemon != NULL;
}

/* Waits for the calls in flight. */
static bool drained(const struct server *server, int seconds) {
  const struct timespec pause = {.tv_nsec = 2000000};
  int64_t until = now_ns() + seconds * INT64_C(1000000000);
  while (atomic_load(&server->calls) > 0 && now_ns() < until) {
    nanosleep(&pause, NULL);
  }
  return atomic_load(&server->calls) == 0;
}

bool server_stop(struct server *server) {
  atomic_store(&server->stopping, true);
  int listening = MHD_quiesce_daemon(server->daemon);
  /* Closed only behind the threads that know its number. */
  if (listening >= 0) {
    shutdown(listening, SHUT_RDWR);
  }
  bool in_time = drained(server, DRAIN_S_MOST);
  if (!in_time) {
    log_line("%u calls were cut off %d s after the server was asked to stop", atomic_load(&server->calls), DRAIN_S_MOST);
    sessions_cut(server->sessions);
    if (!drained(server, CUT_S_MOST)) {
      /* The library would wait for them, or take them for a mistake. */
      _exit(EXIT_CUT_OFF);
    }
  }
  MHD_stop_daemon(server->daemon);
  if (listening >= 0) {
    close(listening);
  }
  return in_time;
}
