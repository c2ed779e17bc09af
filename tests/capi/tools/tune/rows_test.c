/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/capi/tools/tune/tune_harness.h"

/* The list as text, "1 8 64", or what is wrong with it. */
static const char *read(const char *text) {
  static char out[1024];
  tune_rows rows;
  char why[512] = "";
  size_t length = 0;
  if (rows_read(text, &rows, why, sizeof why) != 0) {
    snprintf(out, sizeof out, "%s", why);
  } else {
    out[0] = '\0';
    for (int32_t i = 0; i < rows.count && length < sizeof out; ++i, length = strlen(out))
      snprintf(out + length, sizeof out - length, "%s%lld", i > 0 ? " " : "", (long long)rows.m[i]);
  }
  rows_free(&rows);
  return out;
}

static void lists(void) {
  TEXT(read("1"), "1");
  TEXT(read("2147482624"), "2147482624");
  TEXT(read("1,8,64-256"), "1 8 64 128 256");
  TEXT(read("8-512"), "8 16 32 64 128 256 512");
  TEXT(read("64,8,64,1"), "1 8 64");
  TEXT(read("5-5"), "5");
  TEXT(read("3-100"), "3 6 12 24 48 96 100"); /* the last is always there */
  TEXT(read("64-256:64"), "64 128 192 256");
  TEXT(read("10-25:10"), "10 20 25");
  TEXT(read("10-25:1000,7"), "7 10 25");
  TEXT(read("1-8:all"), "8");
  TEXT(read("33-100:all"), "40 48 56 72 88 100");
  TEXT(read("1-64:all"), "8 16 24 32 40 48 56 64");
  TEXT(read("1073741824-2147482624"), "1073741824 2147482624");
}

/* Every number of rows of a range has an entry that serves it, and none could be spared. */
static void alls(void) {
  tune_rows rows;
  char why[512];
  EQUAL(rows_read("1000-70000:all", &rows, why, sizeof why), 0);
  EQUAL(rows.m[rows.count - 1], 70000);
  CHECK(step_served_from(rows.m[0]) <= 1000);
  for (int32_t i = 1; i < rows.count; ++i) {
    EQUAL(step_served_from(rows.m[i]), rows.m[i - 1] + 1);
    EQUAL(step_end(rows.m[i - 1]), rows.m[i - 1]);
  }
  rows_free(&rows);
}

static void refused(void) {
  static const char *const kBad[] = {"",
                                     "0",
                                     "-1",
                                     "+1",
                                     " 1",
                                     "1 ",
                                     "1.5",
                                     "m",
                                     "1,",
                                     ",1",
                                     "1,,2",
                                     "1-",
                                     "-5",
                                     "8-4",
                                     "1-8:",
                                     "1-8:0",
                                     "1-8:some",
                                     "1-8:all1",
                                     "1:2",
                                     "1-2-3",
                                     "1-8:2:2",
                                     "0x10",
                                     "1e3",
                                     "2147482625",
                                     "99999999999999999999",
                                     "1-99999999999999999999"};
  for (size_t i = 0; i < COUNT(kBad); ++i)
    if (!CHECK(strstr(read(kBad[i]), "as in 1,8,64-256") != NULL))
      printf("    \"%s\": %s\n", kBad[i], read(kBad[i]));
  /* The item that is wrong is named, not the list. */
  CHECK(strstr(read("1,8,x9,64"), "\"x9\" is no number of rows") != NULL);
  CHECK(strstr(read("1-2147482624:1"), "a larger step has fewer") != NULL);
  CHECK(strstr(read("1-2147482624:1"), "4096") != NULL);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(lists);
  RUN(alls);
  RUN(refused);
  return harness_end();
}
