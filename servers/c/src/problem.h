/* Problem documents (RFC 9457): answers other than an outcome. One text for the client; what it must not see is for the
 * log. */
#ifndef PROBLEM_H
#define PROBLEM_H

#include "fault.h"
#include "text.h"

enum { BODY_BYTES_MOST = 65536 };

struct problem {
  unsigned status;
  /* The type, without `urn:stackmark:problem:`. */
  const char *type;
  const char *title;
  char detail[256];
  enum fault_reason reason;
  /* Whether something may have been stored. */
  bool maybe_applied;
  /* Whether the connection is closed: the rest of the request will not be read. */
  bool closes;
};

/* Each answers false, as whoever meets a problem does. */
bool problem_malformed(struct problem *into, const char *form, ...) __attribute__((format(printf, 2, 3)));
bool problem_invalid(struct problem *into, const char *form, ...) __attribute__((format(printf, 2, 3)));
bool problem_unknown_id(struct problem *into, const char *form, ...) __attribute__((format(printf, 2, 3)));
bool problem_unconditional(struct problem *into);
bool problem_unknown_path(struct problem *into);
bool problem_method(struct problem *into);
bool problem_type(struct problem *into);
bool problem_host(struct problem *into);
bool problem_large(struct problem *into);
bool problem_slow(struct problem *into);
bool problem_of_fault(struct problem *into, const struct fault *fault);

void problem_write(const struct problem *problem, struct buffer *into);

#endif
