#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

enum { LINES_MOST = 100 };

void log_line(const char *form, ...) {
  static atomic_ulong lines;
  unsigned long number = atomic_fetch_add(&lines, 1) + 1;
  if (number > LINES_MOST && (number & (number - 1)) != 0) {
    return;
  }
  char line[600];
  va_list values;
  va_start(values, form);
  vsnprintf(line, sizeof line, form, values);
  va_end(values);
  /* One write a line: lines of several threads do not mix. */
  fprintf(stderr, "%s%s\n", line, number > LINES_MOST ? " (most lines are left out by now)" : "");
}
