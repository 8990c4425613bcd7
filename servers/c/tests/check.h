/* The least that tests need: a condition that is said where it does not hold. */
#ifndef CHECK_H
#define CHECK_H

#include <stdatomic.h>
#include <stdio.h>

extern atomic_int checks_failed;
extern atomic_int checks_made;

#define CHECK(condition)                                                                                                   \
  do {                                                                                                                     \
    checks_made++;                                                                                                         \
    if (!(condition)) {                                                                                                    \
      checks_failed++;                                                                                                     \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                      \
    }                                                                                                                      \
  } while (0)

void test_text(void);
void test_numbers(void);
void test_statements(void);
void test_database(void);
void test_settings(void);
void test_fault(void);
void test_catalogue(void);
void test_tpcc(void);
void test_sessions(void);

#endif
