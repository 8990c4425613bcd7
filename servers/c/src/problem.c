#include "problem.h"

#include <stdarg.h>
#include <stdio.h>

static bool rejected(struct problem *into, unsigned status, const char *type, const char *title, const char *detail) {
  *into = (struct problem){.status = status, .type = type, .title = title};
  snprintf(into->detail, sizeof into->detail, "%s", detail);
  return false;
}

/* Fills in the detail of one whose detail depends on the call. */
#define FILL_DETAIL(into, form)                                                                                            \
  do {                                                                                                                     \
    va_list values;                                                                                                        \
    va_start(values, form);                                                                                                \
    vsnprintf((into)->detail, sizeof(into)->detail, form, values);                                                         \
    va_end(values);                                                                                                        \
  } while (0)

bool problem_malformed(struct problem *into, const char *form, ...) {
  rejected(into, 400, "malformed", "malformed call", "");
  FILL_DETAIL(into, form);
  return false;
}

bool problem_invalid(struct problem *into, const char *form, ...) {
  rejected(into, 422, "invalid", "invalid call", "");
  FILL_DETAIL(into, form);
  return false;
}

bool problem_unknown_id(struct problem *into, const char *form, ...) {
  rejected(into, 404, "unknown-id", "unknown id", "");
  FILL_DETAIL(into, form);
  return false;
}

bool problem_unconditional(struct problem *into) {
  return rejected(into, 428, "unconditional", "unconditional change",
                  "if-match is missing; it names the version to be changed, as etag does: \"1\"");
}

bool problem_unknown_path(struct problem *into) {
  return rejected(into, 404, "unknown-path", "unknown path", "nothing is served at this path; the contract lists what is");
}

bool problem_method(struct problem *into) {
  return rejected(into, 405, "method-not-allowed", "method not allowed",
                  "this path exists with another method; see the allow header");
}

bool problem_type(struct problem *into) {
  return rejected(into, 415, "unsupported-type", "unsupported content type",
                  "the content type must be application/json, once, and in no other charset than utf-8");
}

bool problem_host(struct problem *into) {
  rejected(into, 400, "malformed", "malformed request",
           "the request must have one host header with a host, and a port if it has one (RFC 9112 3.2)");
  /* What a request that names two hosts means by its length is not to be trusted either. */
  into->closes = true;
  return false;
}

bool problem_large(struct problem *into) {
  rejected(into, 413, "too-large", "body too large", "");
  snprintf(into->detail, sizeof into->detail, "the body is over %d bytes", BODY_BYTES_MOST);
  into->closes = true;
  return false;
}

bool problem_slow(struct problem *into) {
  rejected(into, 408, "too-slow", "body too slow", "the body did not arrive in time");
  into->closes = true;
  return false;
}

bool problem_of_fault(struct problem *into, const struct fault *fault) {
  switch (fault->kind) {
  case FAULT_CONFLICT:
    rejected(into, 409, "conflict", "conflict", "the engine refused every attempt; repeating is safe");
    break;
  case FAULT_REFUSED:
    rejected(into, 503, "refused", "refused", "the call was not attempted; trying again later may help");
    break;
  case FAULT_IN_DOUBT:
    rejected(into, fault->reason == REASON_DEADLINE ? 504 : 500, "in-doubt", "in doubt",
             "the call may or may not have been applied");
    into->maybe_applied = true;
    break;
  case FAULT_UNKNOWN_ID:
    rejected(into, 404, "unknown-id", "unknown id", fault->what);
    break;
  case FAULT_NONE:
  case FAULT_DEFECT:
    rejected(into, 500, "defect", "defect", "internal error; see the server log");
    into->maybe_applied = true;
    break;
  }
  into->reason = fault->reason;
  return false;
}

void problem_write(const struct problem *problem, struct buffer *into) {
  buffer_literal(into, "{\"type\":\"urn:stackmark:problem:");
  buffer_text(into, problem->type);
  buffer_literal(into, "\",\"title\":");
  buffer_string(into, text_of(problem->title));
  buffer_literal(into, ",\"status\":");
  buffer_number(into, problem->status);
  buffer_literal(into, ",\"detail\":");
  buffer_string(into, text_of(problem->detail));
  buffer_literal(into, ",\"applied\":");
  buffer_text(into, problem->maybe_applied ? "\"unknown\"" : "\"no\"");
  if (problem->reason != REASON_NONE) {
    buffer_literal(into, ",\"reason\":");
    buffer_string(into, text_of(reason_name(problem->reason)));
  }
  buffer_literal(into, "}");
}
