#include "check.h"
#include "numbers.h"

static bool is_whole(const char *text, int64_t expected) {
  int64_t found = -1;
  return whole_number(text_of(text), 1, INT64_MAX - 1, &found) && found == expected;
}

static bool is_scaled(const char *text, unsigned digits, int64_t expected) {
  int64_t found = 0;
  return decimal_scaled(text_of(text), digits, &found) && found == expected;
}

static bool is_no_decimal(const char *text, unsigned digits) {
  int64_t found;
  return !decimal_scaled(text_of(text), digits, &found);
}

static void whole_numbers_have_no_sign_and_no_zeros_before_them(void) {
  int64_t found;
  CHECK(is_whole("1", 1) && is_whole("9223372036854775806", INT64_MAX - 1));
  const char *const wrong[] = {
      "", "0", "01", "-1", "+1", "1.5", " 1", "1 ", "abc", "9223372036854775807", "99999999999999999999"};
  for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
    CHECK(!is_whole(wrong[at], -1) && !whole_number(text_of(wrong[at]), 1, INT64_MAX - 1, &found));
  }
  CHECK(whole_number(text_of("0"), 0, 9, &found) && found == 0);
  CHECK(!whole_number(text_of("10"), 0, 9, &found));
}

static void decimals_are_exact(void) {
  CHECK(is_scaled("-12.3", 2, -1230) && is_scaled("12", 2, 1200) && is_scaled("0.05", 2, 5) && is_scaled("+1.50", 1, 15));
  CHECK(is_scaled("0.1250", 4, 1250) && is_scaled("92233720368547758.07", 2, INT64_MAX));
  CHECK(is_no_decimal("", 2) && is_no_decimal(".", 2) && is_no_decimal("-", 2) && is_no_decimal("1.234", 2));
  CHECK(is_no_decimal("1.2.3", 2) && is_no_decimal("1e3", 2) && is_no_decimal("92233720368547758.08", 2));
}

static void cents_are_written_as_decimals(void) {
  static const struct {
    int64_t cents;
    const char *text;
  } table[] = {{0, "0.00"}, {5, "0.05"}, {-5, "-0.05"}, {123405, "1234.05"}, {INT64_MIN, "-92233720368547758.08"}};
  for (size_t at = 0; at < sizeof table / sizeof *table; at++) {
    char text[DECIMAL_MOST];
    size_t length = decimal_of_cents(table[at].cents, text);
    CHECK(text_is((struct text){text, length}, table[at].text));
  }
}

static void the_binary_form_of_a_decimal_survives(void) {
  static const int64_t table[] = {0, 1, 99, 100, 10000, 999999, 1000000, 123456789012, -1, -250, INT64_MAX, -INT64_MAX};
  for (size_t at = 0; at < sizeof table / sizeof *table; at++) {
    unsigned char raw[NUMERIC_MOST];
    size_t length = numeric_of_cents(table[at], raw);
    int64_t found = 7;
    CHECK(length <= NUMERIC_MOST && numeric_scaled(raw, length, 2, &found) && found == table[at]);
  }
  /* 0.1250 as PostgreSQL sends it: one digit of 1250 with weight -1. */
  static const unsigned char eighth[] = {0, 1, 0xff, 0xff, 0, 0, 0, 4, 0x04, 0xe2};
  static const unsigned char not_a_number[] = {0, 0, 0, 0, 0xc0, 0, 0, 0};
  int64_t found;
  CHECK(numeric_scaled(eighth, sizeof eighth, 4, &found) && found == 1250);
  CHECK(!numeric_scaled(eighth, sizeof eighth, 2, &found));
  CHECK(!numeric_scaled(eighth, sizeof eighth - 1, 4, &found));
  CHECK(!numeric_scaled(not_a_number, sizeof not_a_number, 2, &found));
}

static void days_are_counted_from_1970(void) {
  CHECK(seconds_of_day(1970, 1, 1) == 0 && seconds_of_day(2000, 1, 1) == 946684800);
  CHECK(seconds_of_day(2024, 2, 29) == 1709164800 && seconds_of_day(1969, 12, 31) == -86400);
}

void test_numbers(void) {
  whole_numbers_have_no_sign_and_no_zeros_before_them();
  decimals_are_exact();
  cents_are_written_as_decimals();
  the_binary_form_of_a_decimal_survives();
  days_are_counted_from_1970();
}
