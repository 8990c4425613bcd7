#include "check.h"
#include "text.h"

static bool written(struct buffer *buffer, const char *expected) {
  bool same = text_is((struct text){buffer->data, buffer->length}, expected);
  buffer_clear(buffer);
  return same;
}

void test_text(void) {
  struct buffer buffer = {0};
  buffer_string(&buffer, text_of("plain"));
  CHECK(written(&buffer, "\"plain\""));
  buffer_string(&buffer, (struct text){"a\"b\\c\n\0d", 8});
  CHECK(written(&buffer, "\"a\\\"b\\\\c\\u000a\\u0000d\""));
  buffer_string(&buffer, text_of(""));
  CHECK(written(&buffer, "\"\""));
  buffer_number(&buffer, 0);
  buffer_literal(&buffer, " ");
  buffer_number(&buffer, INT64_MIN);
  buffer_literal(&buffer, " ");
  buffer_number(&buffer, INT64_MAX);
  CHECK(written(&buffer, "0 -9223372036854775808 9223372036854775807"));
  buffer_millis(&buffer, 12345678901);
  buffer_literal(&buffer, " ");
  buffer_millis(&buffer, 1);
  buffer_literal(&buffer, " ");
  buffer_millis(&buffer, -5);
  CHECK(written(&buffer, "12345.678901 0.000001 0.000000"));
  for (int at = 0; at < 100000; at++) {
    buffer_literal(&buffer, "0123456789");
  }
  CHECK(buffer.length == 1000000 && !buffer.failed);
  CHECK(!buffer_room(&buffer, SIZE_MAX / 2) && buffer.failed);
  buffer_free(&buffer);
  CHECK(text_is(text_trimmed(text_of(" \ta b ")), "a b"));
  CHECK(text_is_whatever_case(text_of("Content-TYPE"), "content-type"));
  CHECK(!text_is(text_of("a"), "ab"));
}
