#include "numbers.h"

#include <stdlib.h>

/* PostgreSQL's decimals have digits of this base. */
enum { BASE = 10000, BASE_DIGITS = 4, NUMERIC_HEAD = 8 };
enum { NUMERIC_POSITIVE = 0x0000, NUMERIC_NEGATIVE = 0x4000 };

static bool times_plus(int64_t *value, int64_t factor, int64_t more) {
  return !__builtin_mul_overflow(*value, factor, value) && !__builtin_add_overflow(*value, more, value);
}

static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

bool whole_number(struct text text, int64_t least, int64_t most, int64_t *into) {
  if (text.length == 0 || (text.length > 1 && text.bytes[0] == '0')) {
    return false;
  }
  int64_t value = 0;
  for (size_t at = 0; at < text.length; at++) {
    if (!is_digit(text.bytes[at]) || !times_plus(&value, 10, text.bytes[at] - '0')) {
      return false;
    }
  }
  *into = value;
  return value >= least && value <= most;
}

bool decimal_scaled(struct text text, unsigned digits, int64_t *into) {
  size_t at = 0;
  bool negative = text.length > 0 && text.bytes[0] == '-';
  at += negative || (text.length > 0 && text.bytes[0] == '+');
  int64_t value = 0;
  bool any = false, behind = false;
  unsigned kept = 0;
  for (; at < text.length; at++) {
    char byte = text.bytes[at];
    if (byte == '.' && !behind) {
      behind = true;
      continue;
    }
    if (!is_digit(byte)) {
      return false;
    }
    any = true;
    if (behind && kept == digits) {
      if (byte != '0') {
        return false;
      }
      continue;
    }
    kept += behind;
    if (!times_plus(&value, 10, byte - '0')) {
      return false;
    }
  }
  for (; kept < digits; kept++) {
    if (!times_plus(&value, 10, 0)) {
      return false;
    }
  }
  *into = negative ? -value : value;
  return any;
}

/* The digits of a number; answers how many. */
static size_t put_digits(uint64_t number, char *into) {
  char reversed[DECIMAL_MOST];
  size_t count = 0, length = 0;
  do {
    reversed[count++] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  while (count > 0) {
    into[length++] = reversed[--count];
  }
  return length;
}

size_t decimal_of_cents(int64_t cents, char into[DECIMAL_MOST]) {
  uint64_t amount = cents < 0 ? 0 - (uint64_t)cents : (uint64_t)cents;
  size_t length = 0;
  if (cents < 0) {
    into[length++] = '-';
  }
  length += put_digits(amount / 100, into + length);
  into[length++] = '.';
  into[length++] = (char)('0' + amount / 10 % 10);
  into[length++] = (char)('0' + amount % 10);
  return length;
}

static bool power_of_ten(int exponent, int64_t *power) {
  *power = 1;
  for (; exponent > 0; exponent--) {
    if (!times_plus(power, 10, 0)) {
      return false;
    }
  }
  return true;
}

/* Adds a digit of the base that counts for so many powers of ten. Below the last place only zeros may stand. */
static bool add_digit(int64_t *value, int64_t digit, int exponent) {
  int64_t power, part;
  if (digit == 0) {
    return true;
  }
  if (digit >= BASE || exponent <= -BASE_DIGITS || !power_of_ten(abs(exponent), &power)) {
    return false;
  }
  if (exponent < 0) {
    part = digit / power;
    return digit % power == 0 && !__builtin_add_overflow(*value, part, value);
  }
  return !__builtin_mul_overflow(digit, power, &part) && !__builtin_add_overflow(*value, part, value);
}

bool numeric_scaled(const unsigned char *raw, size_t length, unsigned digits, int64_t *into) {
  if (length < NUMERIC_HEAD) {
    return false;
  }
  size_t count = be16(raw);
  int weight = (int16_t)be16(raw + 2);
  unsigned sign = be16(raw + 4);
  if (length != NUMERIC_HEAD + 2 * count || (sign != NUMERIC_POSITIVE && sign != NUMERIC_NEGATIVE)) {
    return false;
  }
  int64_t value = 0;
  for (size_t at = 0; at < count; at++) {
    int exponent = (weight - (int)at) * BASE_DIGITS + (int)digits;
    if (!add_digit(&value, be16(raw + NUMERIC_HEAD + 2 * at), exponent)) {
      return false;
    }
  }
  *into = sign == NUMERIC_NEGATIVE ? -value : value;
  return true;
}

size_t numeric_of_cents(int64_t cents, unsigned char into[NUMERIC_MOST]) {
  uint64_t amount = cents < 0 ? 0 - (uint64_t)cents : (uint64_t)cents;
  uint16_t whole[5];
  size_t count = 0, length = NUMERIC_HEAD;
  for (uint64_t rest = amount / 100; rest > 0; rest /= BASE) {
    whole[count++] = (uint16_t)(rest % BASE);
  }
  uint16_t fraction = (uint16_t)(amount % 100 * 100);
  put_be16(into, (uint16_t)(count + (fraction > 0)));
  put_be16(into + 2, (uint16_t)(count - 1));
  put_be16(into + 4, cents < 0 ? NUMERIC_NEGATIVE : NUMERIC_POSITIVE);
  put_be16(into + 6, 2);
  for (size_t at = count; at > 0; at--, length += 2) {
    put_be16(into + length, whole[at - 1]);
  }
  if (fraction > 0) {
    put_be16(into + length, fraction);
    length += 2;
  }
  return length;
}

int64_t seconds_of_day(int64_t year, int64_t month, int64_t day) {
  /* Years begin in March, so that the leap day is the last of them; 400 of them have 146,097 days. */
  year -= month <= 2;
  month = (month + 9) % 12;
  int64_t era = year / 400, in_era = year % 400;
  int64_t in_year = (153 * month + 2) / 5 + day - 1;
  int64_t days = era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year;
  return (days - 719468) * 86400;
}
