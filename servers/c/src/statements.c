#include "statements.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILE_BYTES_MOST = 1 << 20, STATEMENTS_MOST = 256, PLACES_MOST = 1024 };

static const char NAME_LINE[] = "-- name: ";
static const char PARAMS_LINE[] = "-- params:";

static bool begins(const char *line, const char *with) { return strncmp(line, with, strlen(with)) == 0; }

/* The numbers of a `-- params:` line. */
static bool parse_order(const char *line, struct statement *into) {
  uint16_t order[PLACES_MOST];
  size_t count = 0;
  for (char *end = NULL;; line = end) {
    long number = strtol(line, &end, 10);
    if (end == line) {
      break;
    }
    if (number < 1 || number > PLACES_MOST || count == PLACES_MOST) {
      return false;
    }
    order[count++] = (uint16_t)(number - 1);
  }
  into->order = calloc(count > 0 ? count : 1, sizeof *order);
  if (into->order == NULL || line[strspn(line, " \r")] != '\0') {
    return false;
  }
  memcpy(into->order, order, count * sizeof *order);
  into->places = count;
  return true;
}

static void trim_end(char *text) {
  size_t length = strlen(text);
  while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' ')) {
    text[--length] = '\0';
  }
}

/* Takes apart what stands behind `-- name: `. */
static bool parse_one(char *from, struct statement *into) {
  char *params = strchr(from, '\n');
  if (params == NULL) {
    return false;
  }
  *params++ = '\0';
  char *text = strchr(params, '\n');
  if (text == NULL || !begins(params, PARAMS_LINE)) {
    return false;
  }
  *text++ = '\0';
  trim_end(text);
  into->name = from;
  into->text = text;
  return *text != '\0' && parse_order(params + strlen(PARAMS_LINE), into);
}

/* The next `-- name: ` at the beginning of a line. */
static char *next_name(char *from) {
  char *found = strstr(from, "\n-- name: ");
  return found == NULL ? NULL : found + 1;
}

bool statements_parse(char *file, struct statements *into, char *why, size_t why_size) {
  *into = (struct statements){.file = file, .list = calloc(STATEMENTS_MOST, sizeof(struct statement))};
  if (into->list == NULL) {
    snprintf(why, why_size, "there is no memory for the statements");
    return false;
  }
  char *at = begins(file, NAME_LINE) ? file : next_name(file);
  while (at != NULL) {
    char *next = next_name(at);
    if (next != NULL) {
      next[-1] = '\0';
    }
    if (into->count == STATEMENTS_MOST || !parse_one(at + strlen(NAME_LINE), &into->list[into->count++])) {
      snprintf(why, why_size, "statement %zu is not as servers/README.md describes it", into->count);
      return false;
    }
    at = next;
  }
  return true;
}

static char *read_file(const char *path, char *why, size_t why_size) {
  FILE *file = fopen(path, "rb");
  char *text = file == NULL ? NULL : calloc(1, FILE_BYTES_MOST + 1);
  if (text == NULL) {
    snprintf(why, why_size, "could not read %s: %s", path, strerror(errno));
  } else if (fread(text, 1, FILE_BYTES_MOST, file) == FILE_BYTES_MOST || ferror(file)) {
    snprintf(why, why_size, "%s is too large, or cannot be read", path);
    free(text);
    text = NULL;
  }
  if (file != NULL) {
    fclose(file);
  }
  return text;
}

static const struct statement *find(const struct statements *all, const char *name) {
  for (size_t at = 0; at < all->count; at++) {
    if (strcmp(all->list[at].name, name) == 0) {
      return &all->list[at];
    }
  }
  return NULL;
}

/* Puts those that are wanted first, in their order, and forgets the others. */
static bool pick(struct statements *all, const char *const *names, size_t count, char *why, size_t why_size) {
  struct statement *picked = calloc(count, sizeof *picked);
  for (size_t at = 0; at < count && picked != NULL; at++) {
    const struct statement *found = find(all, names[at]);
    if (found == NULL) {
      snprintf(why, why_size, "there is no statement `%s`", names[at]);
      free(picked);
      return false;
    }
    picked[at] = *found;
  }
  if (picked == NULL) {
    snprintf(why, why_size, "there is no memory for the statements");
    return false;
  }
  for (size_t at = 0; at < all->count; at++) {
    bool kept = false;
    for (size_t other = 0; other < count; other++) {
      kept |= picked[other].order == all->list[at].order;
    }
    if (!kept) {
      free(all->list[at].order);
    }
  }
  free(all->list);
  all->list = picked;
  all->count = count;
  return true;
}

bool statements_read(const char *path, const char *const *names, size_t count, struct statements *into, char *why,
                     size_t why_size) {
  char wrong[256];
  *into = (struct statements){0};
  char *file = read_file(path, why, why_size);
  if (file == NULL) {
    return false;
  }
  if (!statements_parse(file, into, wrong, sizeof wrong) || !pick(into, names, count, wrong, sizeof wrong)) {
    snprintf(why, why_size, "%s: %s", path, wrong);
    statements_free(into);
    return false;
  }
  return true;
}

void statements_free(struct statements *statements) {
  for (size_t at = 0; at < statements->count; at++) {
    free(statements->list[at].order);
  }
  free(statements->list);
  free(statements->file);
  *statements = (struct statements){0};
}
