#include "text.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

enum { CAPACITY_LEAST = 512, DIGITS_MOST = 20 };

struct text text_of(const char *string) { return (struct text){string, strlen(string)}; }

bool text_is(struct text text, const char *string) {
  return text.length == strlen(string) && memcmp(text.bytes, string, text.length) == 0;
}

bool text_is_whatever_case(struct text text, const char *string) {
  return text.length == strlen(string) && strncasecmp(text.bytes, string, text.length) == 0;
}

struct text text_trimmed(struct text text) {
  while (text.length > 0 && isspace((unsigned char)text.bytes[0])) {
    text.bytes++;
    text.length--;
  }
  while (text.length > 0 && isspace((unsigned char)text.bytes[text.length - 1])) {
    text.length--;
  }
  return text;
}

size_t text_cut(struct text text, size_t most) {
  if (text.length <= most) {
    return text.length;
  }
  while (most > 0 && ((unsigned char)text.bytes[most] & 0xc0) == 0x80) {
    most--;
  }
  return most;
}

bool buffer_grow(struct buffer *buffer, size_t more) {
  if (buffer->failed || more > SIZE_MAX / 4 || buffer->length > SIZE_MAX / 4) {
    buffer->failed = true;
    return false;
  }
  size_t capacity = buffer->capacity < CAPACITY_LEAST ? CAPACITY_LEAST : buffer->capacity;
  while (capacity - buffer->length < more) {
    capacity *= 2;
  }
  char *data = realloc(buffer->data, capacity);
  if (data == NULL) {
    buffer->failed = true;
    return false;
  }
  buffer->data = data;
  buffer->capacity = capacity;
  return true;
}

void buffer_text(struct buffer *buffer, const char *string) { buffer_add(buffer, string, strlen(string)); }

void buffer_number(struct buffer *buffer, int64_t number) {
  char digits[DIGITS_MOST];
  char *at = digits + sizeof digits;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do {
    *--at = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest > 0);
  if (number < 0) {
    *--at = '-';
  }
  buffer_add(buffer, at, (size_t)(digits + sizeof digits - at));
}

void buffer_millis(struct buffer *buffer, int64_t ns) {
  char places[] = ".000000";
  uint64_t rest = ns < 0 ? 0 : (uint64_t)ns;
  buffer_number(buffer, (int64_t)(rest / 1000000));
  rest %= 1000000;
  for (size_t at = 6; at > 0; at--) {
    places[at] = (char)('0' + rest % 10);
    rest /= 10;
  }
  buffer_add(buffer, places, 7);
}

static bool is_plain(unsigned char byte) { return byte >= 0x20 && byte != '"' && byte != '\\'; }

static void add_escaped(struct buffer *buffer, unsigned char byte) {
  static const char hex[] = "0123456789abcdef";
  char escaped[] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
  switch (byte) {
  case '"':
    buffer_literal(buffer, "\\\"");
    break;
  case '\\':
    buffer_literal(buffer, "\\\\");
    break;
  default:
    buffer_add(buffer, escaped, sizeof escaped);
  }
}

void buffer_string(struct buffer *buffer, struct text text) {
  buffer_literal(buffer, "\"");
  size_t from = 0;
  for (size_t at = 0; at < text.length; at++) {
    unsigned char byte = (unsigned char)text.bytes[at];
    if (!is_plain(byte)) {
      buffer_add(buffer, text.bytes + from, at - from);
      add_escaped(buffer, byte);
      from = at + 1;
    }
  }
  buffer_add(buffer, text.bytes + from, text.length - from);
  buffer_literal(buffer, "\"");
}

const char *buffer_ended(struct buffer *buffer) {
  if (!buffer_room(buffer, 1)) {
    return "";
  }
  buffer->data[buffer->length] = '\0';
  return buffer->data;
}

void buffer_free(struct buffer *buffer) {
  free(buffer->data);
  *buffer = (struct buffer){0};
}
