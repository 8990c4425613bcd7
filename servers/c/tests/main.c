#include "check.h"

atomic_int checks_failed;
atomic_int checks_made;

int main(void) {
  test_text();
  test_numbers();
  test_statements();
  test_database();
  test_settings();
  test_fault();
  test_catalogue();
  test_tpcc();
  test_sessions();
  printf("%d checks, %d failed\n", checks_made, checks_failed);
  return checks_failed == 0 ? 0 : 1;
}
