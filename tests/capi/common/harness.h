/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TESTS_HARNESS_H
#define TILEWRIGHT_TESTS_HARNESS_H
/* A test harness in C99, the language of the library's users. A test is a program of one file. Its
 * argument names the device, "host" or "cuda"; exit status 77 means that there is no such
 * device. */

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilewright/tilewright.h>

/* A test with threads defines this as thread-local, so that each thread counts its own failures. */
#ifndef HARNESS_STORAGE
#define HARNESS_STORAGE static
#endif
HARNESS_STORAGE struct {
  unsigned checks;
  unsigned failures;
  const char *test;
  tw_device_kind kind;
  char last_error[1024]; /* before the current call */
} harness;

static inline int check_(int good, const char *what, const char *file, int line) {
  ++harness.checks;
  if (!good) {
    ++harness.failures;
    printf("%s:%d: %s: failed: %s\n", file, line, harness.test, what);
  }
  return good;
}

/* Checks a condition. */
#define CHECK(condition) check_((condition) != 0, #condition, __FILE__, __LINE__)

static inline void equal_(int64_t a, int64_t b, const char *what, const char *file, int line) {
  if (!check_(a == b, what, file, line)) printf("    %" PRId64 " and %" PRId64 "\n", a, b);
}

/* Checks that two integers are equal; prints both. */
#define EQUAL(a, b) equal_((int64_t)(a), (int64_t)(b), #a " == " #b, __FILE__, __LINE__)

static inline void text_(const char *a, const char *b, const char *what, const char *file,
                         int line) {
  if (!check_(a && b && strcmp(a, b) == 0, what, file, line))
    printf("    \"%s\" and \"%s\"\n", a ? a : "(null)", b ? b : "(null)");
}

/* Checks that two texts are equal. */
#define TEXT(a, b) text_((a), (b), #a " is " #b, __FILE__, __LINE__)

static inline int ok_(tw_status status, const char *what, const char *file, int line) {
  if (check_(status == TW_OK, what, file, line)) return 1;
  printf("    %s: %s\n", tw_status_name(status), tw_last_error());
  return 0;
}

/* Checks that the call succeeds. */
#define OK(call) ok_((call), #call, __FILE__, __LINE__)
/* Likewise; returns from the test if the call fails. */
#define NEED(call)         \
  do {                     \
    if (!OK(call)) return; \
  } while (0)

/* Causes a known failure, so that an older message cannot pass for the expected one. */
static inline void poison_(void) {
  (void)tw_log_set(NULL, NULL, 4711);
}

/* Whether that failure is still the last one. Compares words, because an address in a message may
 * contain the same digits. */
static inline int poisoned_(void) {
  return strstr(tw_last_error(), "level 4711 is not a log level") != NULL;
}

static inline int fails_(tw_status expected, const char *argument, tw_status status,
                         const char *what, const char *file, int line) {
  tw_error_info info;
  const char *message = tw_last_error();
  if (!check_(status == expected, what, file, line)) {
    printf("    expected %s, got %s: %s\n", tw_status_name(expected), tw_status_name(status),
           status == TW_OK ? "" : message);
    return 0;
  }
  memset(&info, 0, sizeof info);
  tw_error_info_init(&info, sizeof info);
  if (!check_(message[0] != '\0' && !poisoned_(), what, file, line)) printf("    no message\n");
  if (!check_(tw_last_error_info(&info) == TW_OK && info.status == expected, what, file, line))
    printf("    tw_last_error_info() has %s\n", tw_status_name(info.status));
  if (argument) {
    if (!check_(info.argument && strcmp(info.argument, argument) == 0, what, file, line))
      printf("    argument \"%s\" expected, \"%s\" named: %s\n", argument,
             info.argument ? info.argument : "(null)", message);
    if (!check_(strstr(message, argument) != NULL, what, file, line))
      printf("    the message does not name \"%s\": %s\n", argument, message);
  }
  return 1;
}

/* Checks that the call fails with this status and a message that names `argument`, unless NULL. */
#define FAILS(expected, argument, call) \
  fails_((expected), (argument), (poison_(), (call)), #call, __FILE__, __LINE__)

/* Checks that NULL for the pointer `argument` is refused. */
#define NULL_FAILS(argument, call) FAILS(TW_ERROR_INVALID_ARGUMENT, (argument), (call))

/* The size in bytes of the first version of the struct with this mark. */
static inline uint32_t first_version_(uint32_t mark) {
#define TW_STRUCT(type, number, last) \
  if (mark == 0x54570000u + (number)) \
    return (uint32_t)(offsetof(type, last) + sizeof(((type *)0)->last) + 7) / 8 * 8;
#include "capi/common/structs.inc"
#undef TW_STRUCT
  return 0;
}

/* Checks that every struct_size of no version is refused. `call` reads `object`. */
#define STRUCT_SIZES_FAIL(object, argument, call)                                     \
  do {                                                                                \
    const uint32_t keep_ = (object).struct_size;                                      \
    const uint32_t first_ = first_version_((object).struct_mark);                     \
    const uint32_t bad_[] = {0, 1, 4, first_ - 8, 4097, 8192, INT32_MAX, UINT32_MAX}; \
    for (size_t i_ = 0; i_ < sizeof bad_ / sizeof *bad_; ++i_) {                      \
      (object).struct_size = bad_[i_];                                                \
      if (!FAILS(TW_ERROR_STRUCT, argument, call)) printf("    size %u\n", bad_[i_]); \
    }                                                                                 \
    (object).struct_size = keep_;                                                     \
  } while (0)

/* Checks that a struct of a later version is accepted only while its unknown tail is zero. `call`
 * reads through `longer`; `cleanup` undoes a success. */
#define TAIL_RULES(type, object, argument, call, cleanup) \
  do {                                                    \
    struct {                                              \
      type value;                                         \
      unsigned char tail[64];                             \
    } tailed_;                                            \
    const type *longer = &tailed_.value;                  \
    memset(&tailed_, 0, sizeof tailed_);                  \
    tailed_.value = (object);                             \
    tailed_.value.struct_size = (uint32_t)sizeof tailed_; \
    if (OK(call)) {                                       \
      cleanup;                                            \
    }                                                     \
    tailed_.tail[63] = 1;                                 \
    FAILS(TW_ERROR_STRUCT, argument, call);               \
    tailed_.tail[63] = 0;                                 \
    tailed_.tail[0] = 255;                                \
    FAILS(TW_ERROR_STRUCT, argument, call);               \
  } while (0)

/* Checks that the tail of a later version's information struct is set to zero. */
#define TAIL_CLEARED(type, call)                                                      \
  do {                                                                                \
    struct {                                                                          \
      type value;                                                                     \
      unsigned char tail[64];                                                         \
    } tailed_;                                                                        \
    type *longer = &tailed_.value;                                                    \
    OK(type##_init(&tailed_.value, sizeof tailed_));                                  \
    memset((char *)&tailed_ + 8, 0xa5, sizeof tailed_ - 8);                           \
    OK(call);                                                                         \
    EQUAL(tailed_.value.struct_size, sizeof tailed_);                                 \
    for (size_t i_ = 0; i_ < sizeof tailed_.tail; ++i_) CHECK(tailed_.tail[i_] == 0); \
  } while (0)

/* Opens the device under test, or exits with 77. */
static inline tw_device *open_device(void) {
  tw_device *device = NULL;
  const tw_status status = tw_device_create(harness.kind, 0, &device);
  if (harness.kind == TW_DEVICE_CUDA &&
      (status == TW_ERROR_NO_DRIVER || status == TW_ERROR_NO_DEVICE ||
       status == TW_ERROR_UNSUPPORTED_DEVICE || status == TW_ERROR_NOT_BUILT)) {
    printf("skipped: %s\n", tw_last_error());
    exit(77);
  }
  if (status != TW_OK) {
    printf("the device does not open: %s: %s\n", tw_status_name(status), tw_last_error());
    exit(1);
  }
  return device;
}

static inline void harness_start(int argc, char **argv) {
  harness.test = "main";
  harness.kind = TW_DEVICE_HOST;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc > 2 || (argc == 2 && strcmp(argv[1], "host") && strcmp(argv[1], "cuda"))) {
    fprintf(stderr, "usage: %s [host|cuda]\n", argv[0]);
    exit(2);
  }
  if (argc == 2 && strcmp(argv[1], "cuda") == 0) {
    harness.kind = TW_DEVICE_CUDA;
    tw_device_destroy(open_device());
  }
}

/* Runs before each call (documented.h): remembers the thread's last failure. */
static inline void remember_(void) {
  snprintf(harness.last_error, sizeof harness.last_error, "%s", tw_last_error());
}

/* Runs after each call that does not fail: the last failure must be unchanged. */
static inline void kept_(const char *function, const char *file, int line) {
  if (strcmp(tw_last_error(), harness.last_error) == 0) return;
  check_(0, "a call that does not fail keeps the last failure", file, line);
  printf("    %s leaves another one: %s\n", function, tw_last_error());
}

/* Checks that the header lists the returned status for this function: `listed` has the names,
 * separated by spaces. NULL pointers and destroyed handles are documented once for all functions.
 * Used by documented.h. */
static inline tw_status documented_(tw_status status, const char *function, const char *listed,
                                    const char *file, int line) {
  char word[64];
  if (status == TW_OK) {
    kept_(function, file, line);
    return status;
  }
  snprintf(word, sizeof word, " %s ", tw_status_name(status));
  if (strstr(listed, word)) return status;
  if (status == TW_ERROR_INVALID_ARGUMENT &&
      (strstr(tw_last_error(), " is NULL") || strstr(tw_last_error(), " was destroyed with tw_")))
    return status;
  check_(0, "the answer is documented", file, line);
  printf("    the comment of %s does not speak of%s: %s\n", function, word, tw_last_error());
  return status;
}

#define RUN(function)         \
  do {                        \
    harness.test = #function; \
    function();               \
  } while (0)

static inline int harness_end(void) {
  printf("%u checks, %u failed\n", harness.checks, harness.failures);
  return harness.failures || harness.checks == 0;
}

/* Wraps each call of the library from here on. */
#include "documented.h"

#endif
