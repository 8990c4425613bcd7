/* Bytes: a piece of text that somebody else owns, and a buffer that grows while JSON is written into it. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A piece of text; not ended by a zero. */
struct text {
  const char *bytes;
  size_t length;
};

#define TEXT(literal) ((struct text){(literal), sizeof(literal) - 1})

struct text text_of(const char *string);
bool text_is(struct text text, const char *string);
bool text_is_whatever_case(struct text text, const char *string);
struct text text_trimmed(struct text text);
/* Cuts a text of UTF-8 at so many bytes, before a character that would not fit whole; answers what is left. */
size_t text_cut(struct text text, size_t most);

/* A buffer that grows. Where there is no memory for more it keeps what it has and says so in `failed`, which is looked at
 * once, when everything has been written. */
struct buffer {
  char *data;
  size_t length;
  size_t capacity;
  bool failed;
};

/* Makes room for so many bytes more. */
bool buffer_grow(struct buffer *buffer, size_t more);

static inline bool buffer_room(struct buffer *buffer, size_t more) {
  return buffer->capacity - buffer->length >= more || buffer_grow(buffer, more);
}

static inline void buffer_clear(struct buffer *buffer) {
  buffer->length = 0;
  buffer->failed = false;
}

static inline void buffer_add(struct buffer *buffer, const char *bytes, size_t length) {
  if (length > 0 && buffer_room(buffer, length)) {
    memcpy(buffer->data + buffer->length, bytes, length);
    buffer->length += length;
  }
}

/* Adds a literal, whose length is known when it is compiled. */
#define buffer_literal(buffer, literal) buffer_add((buffer), (literal), sizeof(literal) - 1)

void buffer_text(struct buffer *buffer, const char *string);
void buffer_number(struct buffer *buffer, int64_t number);
/* Milliseconds with the nanosecond as their last place. */
void buffer_millis(struct buffer *buffer, int64_t ns);
/* A JSON string, in its quotes. */
void buffer_string(struct buffer *buffer, struct text text);
/* Ends it with a zero that is not counted. */
const char *buffer_ended(struct buffer *buffer);
void buffer_free(struct buffer *buffer);

#endif
