/* What the server is set against: the least that a handler in the same library and over the same driver does for one
 * prepared point read. It knows two paths, checks nothing, counts nothing, and answers with a text that is always the same.
 */
#include "client.h"
#include "log.h"
#include "numbers.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char BODY[] = "{\"id\":1,\"category\":1,\"name\":\"creamy potato 1\",\"kcal\":396,\"protein\":332,\"fat\":192,"
                           "\"carbs\":226,\"fibre\":null,\"price\":148,\"version\":1}";

/* A request that a worker has: only in the form with epoll. */
struct asked {
  struct MHD_Connection *connection;
  int64_t id;
  bool found;
  struct asked *next;
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t free;
  struct conn **conns;
  unsigned count;
  struct asked *first;
  struct asked **last;
  pthread_cond_t came;
  enum form form;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .free = PTHREAD_COND_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};

static bool point_read(struct conn *conn, int64_t id) {
  const struct param params[] = {NUMBER(id)};
  conn->fault.kind = FAULT_NONE;
  conn->tx = TX_ONE_READ;
  return conn_row(conn, 0, params);
}

static bool read_on_any(int64_t id) {
  pthread_mutex_lock(&pool.lock);
  while (pool.count == 0) {
    pthread_cond_wait(&pool.free, &pool.lock);
  }
  struct conn *conn = pool.conns[--pool.count];
  pthread_mutex_unlock(&pool.lock);
  bool found = point_read(conn, id);
  pthread_mutex_lock(&pool.lock);
  pool.conns[pool.count++] = conn;
  pthread_cond_signal(&pool.free);
  pthread_mutex_unlock(&pool.lock);
  return found;
}

static void *work(void *of) {
  for (;;) {
    pthread_mutex_lock(&pool.lock);
    while (pool.first == NULL) {
      pthread_cond_wait(&pool.came, &pool.lock);
    }
    struct asked *asked = pool.first;
    pool.first = asked->next;
    if (pool.first == NULL) {
      pool.last = &pool.first;
    }
    pthread_mutex_unlock(&pool.lock);
    asked->found = point_read(of, asked->id);
    MHD_resume_connection(asked->connection);
  }
  return NULL;
}

static void submit(struct asked *asked) {
  MHD_suspend_connection(asked->connection);
  pthread_mutex_lock(&pool.lock);
  asked->next = NULL;
  *pool.last = asked;
  pool.last = &asked->next;
  pthread_cond_signal(&pool.came);
  pthread_mutex_unlock(&pool.lock);
}

static enum MHD_Result answer(struct MHD_Connection *connection, bool found) {
  struct MHD_Response *response =
      MHD_create_response_from_buffer(sizeof BODY - 1, (void *)(uintptr_t)BODY, MHD_RESPMEM_PERSISTENT);
  MHD_add_response_header(response, "content-type", "application/json");
  enum MHD_Result result = MHD_queue_response(connection, found ? 200 : 404, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result on_request(void *of, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *size, void **context) {
  static const char foods[] = "/foods/";
  static char head;
  (void)of;
  (void)method;
  (void)version;
  (void)data;
  (void)size;
  int64_t id = strcmp(url, "/categories") == 0 ? 1 : 0;
  if (strncmp(url, foods, strlen(foods)) == 0 && !whole_number(text_of(url + strlen(foods)), 1, INT64_MAX, &id)) {
    id = 0;
  }
  if (*context == NULL) {
    /* An answer before the end of the request would close the connection. */
    *context = &head;
    return MHD_YES;
  }
  if (*context != &head) {
    struct asked *asked = *context;
    bool found = asked->found;
    free(asked);
    *context = NULL;
    return answer(connection, found);
  }
  if (pool.form == FORM_THREADS || id == 0) {
    return answer(connection, id != 0 && read_on_any(id));
  }
  struct asked *asked = calloc(1, sizeof *asked);
  if (asked == NULL) {
    return MHD_NO;
  }
  *asked = (struct asked){.connection = connection, .id = id};
  *context = asked;
  submit(asked);
  return MHD_YES;
}

static bool open_pool(const struct settings *settings, const struct statements *statements) {
  struct open_error error = {.what = "there is no memory"};
  pool.form = settings->form;
  pool.last = &pool.first;
  pool.conns = calloc(settings->pool, sizeof(struct conn *));
  for (unsigned at = 0; pool.conns != NULL && at < settings->pool; at++) {
    struct conn *conn = conn_open(&settings->database, NULL, NULL, &error);
    pthread_t worker;
    if (conn == NULL || !conn->driver->prepare(conn, statements, &error)) {
      break;
    }
    pool.conns[pool.count++] = conn;
    if (settings->form == FORM_EPOLL && pthread_create(&worker, NULL, work, conn) != 0) {
      break;
    }
  }
  if (pool.count < settings->pool) {
    fprintf(stderr, "minimal: %s\n", error.what);
  }
  return pool.count == settings->pool;
}

static struct MHD_Daemon *start(const struct settings *settings, int listening) {
  unsigned flags = settings->form == FORM_THREADS
                       ? MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL
                       : MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME;
  struct MHD_OptionItem threads[] = {{MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)settings->threads, NULL},
                                     {MHD_OPTION_END, 0, NULL}};
  if (settings->form == FORM_THREADS || settings->threads < 2) {
    threads[0].option = MHD_OPTION_END;
  }
  return MHD_start_daemon(flags | MHD_USE_ITC | MHD_USE_TURBO, 0, NULL, NULL, on_request, NULL, MHD_OPTION_LISTEN_SOCKET,
                          listening, MHD_OPTION_CONNECTION_LIMIT, 4096U, MHD_OPTION_ARRAY, threads, MHD_OPTION_END);
}

static void wait_until_asked(void) {
  sigset_t asked;
  int signal;
  sigemptyset(&asked);
  sigaddset(&asked, SIGTERM);
  sigaddset(&asked, SIGINT);
  sigwait(&asked, &signal);
}

int main(void) {
  static const char *const names[] = {"food"};
  char own[PATH_MAX], path[PATH_MAX + 64], why[512], place[96];
  struct settings settings;
  struct statements statements;
  sigset_t asked;
  sigemptyset(&asked);
  sigaddset(&asked, SIGTERM);
  sigaddset(&asked, SIGINT);
  pthread_sigmask(SIG_BLOCK, &asked, NULL);
  ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  own[length > 0 ? length : 0] = '\0';
  char *slash = strrchr(own, '/');
  if (slash != NULL) {
    *slash = '\0';
  }
  if (!settings_read(&settings, why, sizeof why)) {
    fprintf(stderr, "minimal: %s\n", why);
    return 2;
  }
  snprintf(path, sizeof path, "%s/../sql/catalogue.%s.sql", own,
           settings.database.engine == ENGINE_POSTGRES ? "postgres" : "mariadb");
  int listening = server_listen(settings.listen, place, sizeof place, why, sizeof why);
  if (listening < 0 || !statements_read(path, names, 1, &statements, why, sizeof why)) {
    fprintf(stderr, "minimal: %s\n", why);
    return 2;
  }
  if (!open_pool(&settings, &statements) || start(&settings, listening) == NULL) {
    return 2;
  }
  printf("listening on %s\n", place);
  fflush(stdout);
  wait_until_asked();
  return 0;
}
