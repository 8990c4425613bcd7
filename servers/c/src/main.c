/* A server of a workload over libmicrohttpd. What it is told is in the environment: docs/servers.md. */
#include "log.h"
#include "server.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Exit statuses: what it was told is wrong, or cannot be had; and calls were cut off at the end. */
enum { EXIT_UNUSABLE = 2 };

static int unusable(const char *why) {
  fprintf(stderr, "microhttpd: %s\n", why);
  return EXIT_UNUSABLE;
}

/* The soft limit on open files is there for old programs; each connection is one. */
static void raise_files(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

/* A descriptor that can be read once the server is asked to stop. The signals are taken nowhere else. */
static int open_signals(void) {
  sigset_t asked;
  sigemptyset(&asked);
  sigaddset(&asked, SIGTERM);
  sigaddset(&asked, SIGINT);
  pthread_sigmask(SIG_BLOCK, &asked, NULL);
  signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &asked, SFD_CLOEXEC);
}

/* Standard input has nothing to say: it ends when nobody is left who would stop this server. */
static void wait_until_asked(int signals) {
  struct pollfd both[] = {{.fd = signals, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
  for (;;) {
    if (poll(both, 2, -1) < 0 && errno != EINTR) {
      return;
    }
    if (both[0].revents != 0) {
      return;
    }
    char said[256];
    if (both[1].revents != 0 && read(STDIN_FILENO, said, sizeof said) <= 0) {
      return;
    }
  }
}

/* The statements lie beside the folder of the program, wherever it was started. */
static bool read_statements(const struct settings *settings, const struct workload *workload, struct statements *into,
                            char *why, size_t why_size) {
  char own[PATH_MAX], path[PATH_MAX + 64];
  ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  if (length <= 0) {
    snprintf(why, why_size, "could not find the folder of this program: %s", strerror(errno));
    return false;
  }
  own[length] = '\0';
  *strrchr(own, '/') = '\0';
  snprintf(path, sizeof path, "%s/../sql/%s.%s.sql", own, workload->name,
           settings->database.engine == ENGINE_POSTGRES ? "postgres" : "mariadb");
  size_t count;
  const char *const *names = workload->statements(settings->database.engine, &count);
  return statements_read(path, names, count, into, why, why_size);
}

static int serve(struct server *server, const struct settings *settings, const struct statements *statements, int signals) {
  char why[512], place[96];
  struct open_error error;
  struct stack stack;
  const struct sessions_options options = {.database = &settings->database,
                                           .workload = server->workload,
                                           .statements = statements,
                                           .count = settings->pool,
                                           .open = conn_open,
                                           .lanes = settings->form == FORM_EPOLL};
  int listening = server_listen(settings->listen, place, sizeof place, why, sizeof why);
  if (listening < 0) {
    return unusable(why);
  }
  server->sessions = sessions_open(&options, &stack, &server->extent, &error);
  if (server->sessions == NULL) {
    close(listening);
    return unusable(error.what);
  }
  about_write(settings, &server->extent, &stack, &server->about);
  int status = EXIT_SUCCESS;
  if (server->about.failed || !server_start(server, listening, settings->threads)) {
    close(listening);
    status = unusable("could not start the threads that speak HTTP");
  } else {
    fprintf(stderr, "%u connections, shared by all threads of this one worker\n", settings->pool);
    printf("listening on %s\n", place);
    fflush(stdout);
    wait_until_asked(signals);
    status = server_stop(server) ? EXIT_SUCCESS : EXIT_CUT_OFF;
  }
  sessions_close(server->sessions);
  buffer_free(&server->about);
  return status;
}

int main(void) {
  char why[512];
  struct settings settings;
  struct statements statements;
  struct server server = {.daemon = NULL};
  if (!settings_read(&settings, why, sizeof why)) {
    return unusable(why);
  }
  server.workload = workload_named(settings.workload);
  server.form = settings.form;
  int status;
  if (server.workload == NULL) {
    status = unusable("STACKMARK_WORKLOAD must be catalogue or tpcc");
  } else if (!read_statements(&settings, server.workload, &statements, why, sizeof why)) {
    status = unusable(why);
  } else {
    raise_files();
    int signals = open_signals();
    status = signals < 0 ? unusable("could not wait for signals") : serve(&server, &settings, &statements, signals);
    statements_free(&statements);
  }
  database_free(&settings.database);
  return status;
}
