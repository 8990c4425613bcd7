/* Who answers, and what is behind it: the document at `/about`. */
#include "server.h"

#include <microhttpd.h>
#include <unistd.h>

static const char VERSION[] = "0.1.0";

static void add_member(struct buffer *into, const char *name, const char *value) {
  buffer_literal(into, "\"");
  buffer_text(into, name);
  buffer_literal(into, "\":");
  buffer_string(into, text_of(value));
  buffer_literal(into, ",");
}

static void add_number(struct buffer *into, const char *name, int64_t value, const char *behind) {
  buffer_literal(into, "\"");
  buffer_text(into, name);
  buffer_literal(into, "\":");
  buffer_number(into, value);
  buffer_text(into, behind);
}

static void add_stack(const struct stack *stack, struct buffer *into) {
  buffer_literal(into, "\"stack\":{");
  add_member(into, "engine", stack->engine);
  add_member(into, "engine_version", stack->engine_version);
  add_member(into, "adapter", stack->adapter);
  add_member(into, "adapter_version", stack->adapter_version);
  add_member(into, "style", "plain");
  add_member(into, "route", "direct");
  buffer_literal(into, "\"server\":null,");
  add_member(into, "isolation", stack->isolation);
  buffer_literal(into, "\"durability\":{\"tier\":");
  buffer_string(into, text_of(stack->tier));
  buffer_literal(into, ",\"detail\":");
  buffer_string(into, text_of(stack->detail));
  buffer_literal(into, "},\"settings\":[");
  for (size_t at = 0; at < stack->settings_count; at++) {
    buffer_text(into, at > 0 ? ",[" : "[");
    buffer_string(into, text_of(stack->settings[at].name));
    buffer_literal(into, ",");
    buffer_string(into, text_of(stack->settings[at].value));
    buffer_literal(into, "]");
  }
  buffer_literal(into, "]}");
}

static void add_limits(const struct settings *settings, struct buffer *into) {
  const int64_t second = INT64_C(1000000000);
  buffer_literal(into, "\"limits\":{");
  add_number(into, "body_bytes_max", BODY_BYTES_MOST, ",");
  add_number(into, "connections_max", CONNECTIONS_MOST, ",");
  add_number(into, "queued_max", QUEUED_MOST, ",");
  add_number(into, "body_read_ns_max", BODY_S_MOST * second, ",");
  add_number(into, "idle_ns_max", IDLE_S_MOST * second, ",");
  add_number(into, "call_ns_max", CALL_NS_MOST, ",");
  add_number(into, "drain_ns_max", DRAIN_S_MOST * second, ",");
  /* One process: its threads share all connections. */
  add_number(into, "connections-per-worker", settings->pool, "},");
}

void about_write(const struct settings *settings, const struct extent *extent, const struct stack *stack,
                 struct buffer *into) {
  buffer_literal(into, "{\"name\":\"microhttpd\",\"version\":\"");
  buffer_text(into, VERSION);
  buffer_literal(into, " (libmicrohttpd ");
  buffer_text(into, MHD_get_version());
  buffer_literal(into, ")\",\"contract\":\"");
  buffer_text(into, settings->workload);
  buffer_literal(into, "/1\",");
  add_member(into, "workload", settings->workload);
  add_number(into, "scale", (int64_t)extent->scale, ",");
  add_number(into, "pool", settings->pool, ",");
  /* A thread for each connection of HTTP is as many as there are; the process is one. */
  add_number(into, "workers", settings->form == FORM_THREADS ? 1 : settings->threads, ",");
  add_number(into, "pid", getpid(), ",");
  add_limits(settings, into);
  add_stack(stack, into);
  buffer_literal(into, "}");
}
