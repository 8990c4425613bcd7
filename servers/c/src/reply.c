/* Answers: body, timing headers, nothing else. */
#include "client.h"

#include "log.h"

#include <inttypes.h>
#include <stdio.h>

enum { HEADER_MOST = 320 };

/* A duration in `server-timing`: milliseconds with the nanosecond as their last place. */
static int put_span(char *into, size_t size, const char *name, int64_t ns) {
  return snprintf(into, size, "%s;dur=%" PRId64 ".%06" PRId64, name, ns / 1000000, ns % 1000000);
}

static void server_timing(const struct client *client, char into[HEADER_MOST]) {
  const struct job *job = &client->job;
  const struct {
    const char *name;
    int64_t ns;
  } spans[] = {{"queue", client->queue_ns},          {", pool", job->pool_ns},          {", begin", job->work.begin_ns},
               {", query", job->work.query_ns},      {", commit", job->work.commit_ns}, {", encode", client->encode_ns},
               {", total", now_ns() - client->begun}};
  size_t length = 0;
  for (size_t at = 0; at < sizeof spans / sizeof *spans; at++) {
    length += (size_t)put_span(into + length, HEADER_MOST - length, spans[at].name, spans[at].ns);
  }
}

static void add_work(const struct client *client, struct MHD_Response *response) {
  const struct work *work = &client->job.work;
  char value[HEADER_MOST];
  server_timing(client, value);
  MHD_add_response_header(response, "server-timing", value);
  int length = snprintf(value, sizeof value, "attempts=%u, statements=%u, rows=%" PRIu64 ", commits=%u", work->attempts,
                        work->statements, work->rows, work->commits);
  if (work->reconnects > 0 && length > 0 && (size_t)length < sizeof value) {
    snprintf(value + length, sizeof value - (size_t)length, ", reconnects=%u", work->reconnects);
  }
  MHD_add_response_header(response, "stackmark-work", value);
}

/* The body stays where it is: it is not written again before the answer has been sent. */
static struct MHD_Response *response_of(struct text body) {
  return MHD_create_response_from_buffer(body.length, (void *)(uintptr_t)body.bytes, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result send_it(struct client *client, unsigned status, struct MHD_Response *response, bool closes) {
  client->phase = PHASE_ANSWERED;
  if (closes || client->is_over || atomic_load(&client->server->stopping)) {
    MHD_add_response_header(response, "connection", "close");
  }
  add_work(client, response);
  enum MHD_Result result = MHD_queue_response(client->connection, status, response);
  MHD_destroy_response(response);
  return result;
}

enum MHD_Result client_answer_text(struct client *client, struct text json) {
  struct MHD_Response *response = response_of(json);
  if (response == NULL) {
    return MHD_NO;
  }
  MHD_add_response_header(response, "content-type", "application/json");
  return send_it(client, 200, response, false);
}

enum MHD_Result client_answer_problem(struct client *client, const struct problem *problem) {
  struct buffer *body = &client->job.outcome.body;
  buffer_clear(body);
  problem_write(problem, body);
  struct MHD_Response *response = body->failed ? NULL : response_of((struct text){body->data, body->length});
  if (response == NULL) {
    return MHD_NO;
  }
  MHD_add_response_header(response, "content-type", "application/problem+json");
  if (problem->status == 503) {
    MHD_add_response_header(response, "retry-after", "1");
  }
  if (problem->status == 405) {
    MHD_add_response_header(response, "allow", client->allow);
  }
  return send_it(client, problem->status, response, problem->closes);
}

enum MHD_Result client_answer_call(struct client *client) {
  struct job *job = &client->job;
  if (job->fault.kind != FAULT_NONE) {
    struct problem problem;
    if (job->fault.kind == FAULT_DEFECT) {
      log_line("defect: %s", job->fault.what);
    }
    problem_of_fault(&problem, &job->fault);
    return client_answer_problem(client, &problem);
  }
  const struct outcome *outcome = &job->outcome;
  struct MHD_Response *response = response_of((struct text){outcome->body.data, outcome->body.length});
  if (response == NULL) {
    return MHD_NO;
  }
  if (outcome->status != 204) {
    MHD_add_response_header(response, "content-type",
                            outcome->is_problem ? "application/problem+json" : "application/json");
  }
  if (outcome->version > 0) {
    char tag[24];
    snprintf(tag, sizeof tag, "\"%" PRId64 "\"", outcome->version);
    MHD_add_response_header(response, "etag", tag);
  }
  client->encode_ns += now_ns() - client->job.ended - client->queue_ns;
  return send_it(client, outcome->status, response, false);
}
