/* A connection of HTTP: its request, the call that was read from it, and the answer. Used again for each request. */
#ifndef CLIENT_H
#define CLIENT_H

#include "server.h"

#include <microhttpd.h>

enum phase {
  /* A head has come. */
  PHASE_HEAD,
  /* A body is coming. */
  PHASE_BODY,
  /* A lane has the call. */
  PHASE_CALLED,
  /* The lane is done with it. */
  PHASE_RETURNED,
  PHASE_ANSWERED,
};

/* What is looked at of a head. */
struct head {
  bool has_host;
  bool bad_host;
  bool has_type;
  bool bad_type;
  bool has_if_match;
  struct text if_match;
  bool has_length;
  struct text length;
  bool is_chunked;
};

struct client {
  struct server *server;
  struct MHD_Connection *connection;
  enum phase phase;
  /* One connection too many: it is answered 503 and closed. */
  bool is_over;
  bool counted;
  /* As it came, with its query. */
  struct buffer target;
  struct head head;
  struct buffer body;
  /* Bytes of the body, also those that are not kept. */
  size_t body_bytes;
  struct request request;
  size_t kind;
  void *call;
  struct job job;
  int64_t begun;
  /* When its head was there. */
  int64_t headed;
  int64_t encode_ns;
  int64_t queue_ns;
  /* Methods of the path, for `allow`. */
  char allow[32];
};

struct client *client_open(struct server *server, struct MHD_Connection *connection);
void client_close(struct client *client);

/* Begins a request. */
void client_begin(struct client *client, const char *target);

/* Reads the head of the request. */
void client_read_head(struct client *client, const char *method, const char *version);

/* Finds out what is asked for: a call that has been read, or the problem with it. */
bool client_decode(struct client *client, struct problem *problem);

/* Answers, each with the headers that tell what it took. */
enum MHD_Result client_answer_call(struct client *client);
enum MHD_Result client_answer_problem(struct client *client, const struct problem *problem);
enum MHD_Result client_answer_text(struct client *client, struct text json);

/* Whether the path is one of the server's own. */
bool client_asks(const struct client *client, const char *path);

#endif
