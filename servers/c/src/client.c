#include "client.h"

#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>

struct client *client_open(struct server *server, struct MHD_Connection *connection) {
  struct client *client = calloc(1, sizeof *client);
  void *call = calloc(1, server->workload->call_size);
  if (client == NULL || call == NULL) {
    free(client);
    free(call);
    return NULL;
  }
  client->server = server;
  client->connection = connection;
  client->call = call;
  client->phase = PHASE_ANSWERED;
  return client;
}

void client_close(struct client *client) {
  buffer_free(&client->target);
  buffer_free(&client->body);
  buffer_free(&client->job.outcome.body);
  free(client->call);
  free(client);
}

void client_begin(struct client *client, const char *target) {
  client->begun = now_ns();
  client->phase = PHASE_HEAD;
  client->encode_ns = 0;
  client->queue_ns = 0;
  client->body_bytes = 0;
  client->allow[0] = '\0';
  client->job.work = (struct work){0};
  client->job.pool_ns = 0;
  client->job.fault.kind = FAULT_NONE;
  buffer_clear(&client->target);
  buffer_clear(&client->body);
  buffer_text(&client->target, target);
}

/* RFC 3986 3.2.2 and 3.2.3: names, numbers, IPv6 in brackets, and a port behind a colon. */
static bool is_of_a_host(char byte) {
  bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
  return plain || (byte != '\0' && strchr("-._~%!$&'()*+,;=:[]", byte) != NULL);
}

static bool is_host(struct text value) {
  for (size_t at = 0; at < value.length; at++) {
    if (!is_of_a_host(value.bytes[at])) {
      return false;
    }
  }
  return true;
}

static struct text cut_at(struct text *rest, char mark) {
  const char *found = rest->length == 0 ? NULL : memchr(rest->bytes, mark, rest->length);
  size_t length = found == NULL ? rest->length : (size_t)(found - rest->bytes);
  struct text part = {rest->bytes, length};
  size_t taken = length + (found != NULL);
  *rest = (struct text){rest->bytes + taken, rest->length - taken};
  return part;
}

/* Whether a parameter of a media type asks for another character set than UTF-8. */
static bool is_other_charset(struct text parameter) {
  struct text name = cut_at(&parameter, '=');
  struct text value = text_trimmed(parameter);
  if (value.length >= 2 && value.bytes[0] == '"' && value.bytes[value.length - 1] == '"') {
    value = (struct text){value.bytes + 1, value.length - 2};
  }
  return text_is_whatever_case(text_trimmed(name), "charset") && !text_is_whatever_case(value, "utf-8");
}

/* `application/json`, in UTF-8 where it says in what: RFC 8259 8.1 knows nothing else. */
static bool is_json(struct text value) {
  bool found = text_is_whatever_case(text_trimmed(cut_at(&value, ';')), "application/json");
  while (found && value.length > 0) {
    found = !is_other_charset(text_trimmed(cut_at(&value, ';')));
  }
  return found;
}

static bool is_visible(struct text value) {
  for (size_t at = 0; at < value.length; at++) {
    unsigned char byte = (unsigned char)value.bytes[at];
    if (byte != '\t' && (byte < 0x20 || byte > 0x7e)) {
      return false;
    }
  }
  return true;
}

static enum MHD_Result read_header(void *of, enum MHD_ValueKind kind, const char *key, size_t key_size,
                                   const char *value_bytes, size_t value_size) {
  (void)kind;
  struct head *head = of;
  struct text name = {key, key_size};
  /* Blanks around it are none of it (RFC 9110 5.5). */
  struct text value = text_trimmed(value_bytes == NULL ? TEXT("") : (struct text){value_bytes, value_size});
  if (text_is_whatever_case(name, "host")) {
    head->bad_host = head->bad_host || head->has_host || !is_host(value);
    head->has_host = true;
  } else if (text_is_whatever_case(name, "content-type")) {
    head->bad_type = head->bad_type || head->has_type || !is_json(value);
    head->has_type = true;
  } else if (text_is_whatever_case(name, "if-match")) {
    /* One that is no text is as good as none, and two are no tag. */
    bool first = head->if_match.bytes == NULL;
    head->has_if_match = !first || is_visible(value);
    head->if_match = first ? value : TEXT("");
  } else if (text_is_whatever_case(name, "content-length")) {
    head->has_length = true;
    head->length = value;
  } else if (text_is_whatever_case(name, "transfer-encoding")) {
    head->is_chunked = true;
  }
  return MHD_YES;
}

static enum method method_named(const char *name) {
  static const char *const names[] = {[METHOD_GET] = "GET",
                                      [METHOD_POST] = "POST",
                                      [METHOD_PUT] = "PUT",
                                      [METHOD_PATCH] = "PATCH",
                                      [METHOD_DELETE] = "DELETE"};
  for (int method = METHOD_GET; method < METHOD_OTHER; method++) {
    if (strcmp(name, names[method]) == 0) {
      return (enum method)method;
    }
  }
  /* The library leaves out the body of an answer to HEAD. */
  return strcmp(name, "HEAD") == 0 ? METHOD_GET : METHOD_OTHER;
}

void client_read_head(struct client *client, const char *method, const char *version) {
  client->head = (struct head){0};
  MHD_get_connection_values_n(client->connection, MHD_HEADER_KIND, read_header, &client->head);
  /* Only HTTP/1.0 knows requests that do not name their host. */
  client->head.bad_host |= !client->head.has_host && strcmp(version, "HTTP/1.0") != 0;
  struct text target = {client->target.data, client->target.length};
  /* The absolute form (RFC 9112 3.2.2) has the path behind its authority. */
  if (target.length > 7 && memcmp(target.bytes, "http://", 7) == 0) {
    const char *slash = memchr(target.bytes + 7, '/', target.length - 7);
    size_t skipped = slash == NULL ? target.length : (size_t)(slash - target.bytes);
    target = (struct text){target.bytes + skipped, target.length - skipped};
  }
  struct text path = cut_at(&target, '?');
  client->request = (struct request){.method = method_named(method),
                                     .path = path,
                                     .query = target,
                                     .has_if_match = client->head.has_if_match,
                                     .if_match = client->head.if_match};
}

bool client_asks(const struct client *client, const char *path) { return text_is(client->request.path, path); }

/* Whether a path is one of a template, and which of its segments stands for the id. */
static bool fits(const char *pattern, struct text path, struct text *id) {
  struct text template = text_of(pattern);
  *id = (struct text){NULL, 0};
  /* A slash at the end begins a segment, which templates have not. */
  if (path.length > 0 && path.bytes[path.length - 1] == '/') {
    return false;
  }
  while (template.length > 0 || path.length > 0) {
    if (template.length == 0 || path.length == 0) {
      return false;
    }
    struct text wanted = cut_at(&template, '/'), found = cut_at(&path, '/');
    if (wanted.length > 0 && wanted.bytes[0] == '{') {
      *id = found;
      if (found.length == 0) {
        return false;
      }
    } else if (wanted.length != found.length || memcmp(wanted.bytes, found.bytes, found.length) != 0) {
      return false;
    }
  }
  return true;
}

static const char *method_name(enum method method) {
  static const char *const names[] = {"GET", "POST", "PUT", "PATCH", "DELETE", ""};
  return names[method];
}

static void allow(struct client *client, enum method method) {
  size_t length = strlen(client->allow);
  snprintf(client->allow + length, sizeof client->allow - length, "%s%s", length > 0 ? ", " : "", method_name(method));
}

/* Finds the kind of the call. A path without ids comes before one with them. */
static bool route(struct client *client, struct problem *problem) {
  const struct workload *workload = client->server->workload;
  struct request *request = &client->request;
  const char *path = NULL;
  struct text id;
  for (size_t at = 0; at < workload->routes_count; at++) {
    const struct route *one = &workload->routes[at];
    if (fits(one->path, request->path, &id) && (path == NULL || id.bytes == NULL)) {
      path = one->path;
      request->id = id;
    }
  }
  if (path == NULL) {
    return problem_unknown_path(problem);
  }
  client->allow[0] = '\0';
  for (size_t at = 0; at < workload->routes_count; at++) {
    const struct route *one = &workload->routes[at];
    if (strcmp(one->path, path) != 0) {
      continue;
    }
    if (one->method == request->method) {
      client->kind = at;
      return true;
    }
    allow(client, one->method);
  }
  return problem_method(problem);
}

static bool has_body(enum method method) { return method == METHOD_POST || method == METHOD_PUT || method == METHOD_PATCH; }

bool client_decode(struct client *client, struct problem *problem) {
  const struct server *server = client->server;
  if (!route(client, problem)) {
    return false;
  }
  if (has_body(client->request.method) && (!client->head.has_type || client->head.bad_type)) {
    return problem_type(problem);
  }
  if (client->body_bytes > BODY_BYTES_MOST) {
    return problem_large(problem);
  }
  client->request.body = (struct text){client->body.data, client->body.length};
  return server->workload->decode(client->kind, &client->request, &server->extent, client->call, problem);
}
