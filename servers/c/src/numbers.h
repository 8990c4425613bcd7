/* Numbers and dates between texts, drivers and ours. Money is whole cents everywhere, rates are whole ten-thousandths,
 * times are seconds since 1970; nothing here goes through floating point. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "text.h"

enum { DECIMAL_MOST = 24, NUMERIC_MOST = 8 + 2 * 6 };

/* Digits without a sign and without zeros before them, within a range. */
bool whole_number(struct text text, int64_t least, int64_t most, int64_t *into);

/* A decimal's text as the whole number of its last digit: `-12.3` with two digits is -1230. False for what is no decimal,
 * has more of a fraction than that, or is out of range. */
bool decimal_scaled(struct text text, unsigned digits, int64_t *into);

/* Cents as the text of a decimal; answers its length. */
size_t decimal_of_cents(int64_t cents, char into[DECIMAL_MOST]);

/* PostgreSQL's binary form of a decimal, read as `decimal_scaled` reads a text. */
bool numeric_scaled(const unsigned char *raw, size_t length, unsigned digits, int64_t *into);

/* Cents in PostgreSQL's binary form; answers its length. */
size_t numeric_of_cents(int64_t cents, unsigned char into[NUMERIC_MOST]);

/* Seconds from 1970 to the midnight that begins a day of the Gregorian calendar. */
int64_t seconds_of_day(int64_t year, int64_t month, int64_t day);

static inline uint16_t be16(const unsigned char *raw) { return (uint16_t)(raw[0] << 8 | raw[1]); }

static inline uint32_t be32(const unsigned char *raw) { return (uint32_t)be16(raw) << 16 | be16(raw + 2); }

static inline uint64_t be64(const unsigned char *raw) { return (uint64_t)be32(raw) << 32 | be32(raw + 4); }

static inline void put_be16(unsigned char *into, uint16_t value) {
  into[0] = (unsigned char)(value >> 8);
  into[1] = (unsigned char)value;
}

static inline void put_be32(unsigned char *into, uint32_t value) {
  put_be16(into, (uint16_t)(value >> 16));
  put_be16(into + 2, (uint16_t)value);
}

static inline void put_be64(unsigned char *into, uint64_t value) {
  put_be32(into, (uint32_t)(value >> 32));
  put_be32(into + 4, (uint32_t)value);
}

#endif
