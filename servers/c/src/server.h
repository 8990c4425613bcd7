/* The server of HTTP: requests become calls, calls go to the sessions, and what comes of them is answered. */
#ifndef SERVER_H
#define SERVER_H

#include "sessions.h"
#include "settings.h"

#include <stdatomic.h>

struct MHD_Daemon;

enum {
  CONNECTIONS_MOST = 4096,
  /* Seconds without a byte on an open connection, and from the head of a request to the end of its body. */
  IDLE_S_MOST = 300,
  BODY_S_MOST = 10,
  /* For calls in flight when the server is asked to stop. */
  DRAIN_S_MOST = 10,
  /* The status of a server that had to cut calls off. */
  EXIT_CUT_OFF = 1,
};

struct server {
  const struct workload *workload;
  struct sessions *sessions;
  struct extent extent;
  enum form form;
  /* `/about`, as it is sent. */
  struct buffer about;
  struct MHD_Daemon *daemon;
  atomic_bool stopping;
  /* Calls between their body and the end of their answer. */
  atomic_uint calls;
  atomic_uint connections;
};

/* Takes connections on a socket that listens. */
bool server_start(struct server *server, int listening, unsigned threads);

/* Takes no more calls, answers those that it has, and ends. Whether all of them were answered. */
bool server_stop(struct server *server);

/* Opens the socket that is listened on; -1 with the reason. `place` gets where it is, as a URL has it. */
int server_listen(const char *listen, char *place, size_t place_size, char *why, size_t why_size);

void about_write(const struct settings *settings, const struct extent *extent, const struct stack *stack,
                 struct buffer *into);

#endif
