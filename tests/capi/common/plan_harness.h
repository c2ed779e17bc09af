/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TESTS_PLAN_HARNESS_H
#define TILEWRIGHT_TESTS_PLAN_HARNESS_H
/* Shared by the tests of all operations: a device with a stream, and checks of every plan. */

#include "tests/capi/common/harness.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct {
  tw_device *device;
  tw_stream *stream;
} setup;

static inline setup open_setup(void) {
  setup s;
  s.device = open_device();
  s.stream = NULL;
  if (!OK(tw_stream_create(s.device, &s.stream))) exit(1);
  return s;
}

static inline void close_setup(setup *s) {
  OK(tw_stream_synchronize(s->stream));
  tw_stream_destroy(s->stream);
  tw_device_destroy(s->device);
}

static inline uint64_t allocated(const setup *s, uint64_t bytes) {
  uint64_t address = 0;
  if (!OK(tw_malloc(s->device, bytes, &address))) exit(1);
  return address;
}

static inline uint64_t uploaded(const setup *s, const void *data, uint64_t bytes) {
  const uint64_t address = allocated(s, bytes);
  OK(tw_memcpy_to_device(s->stream, address, data, bytes));
  OK(tw_stream_synchronize(s->stream));
  return address;
}

static inline void download(const setup *s, void *data, uint64_t address, uint64_t bytes) {
  OK(tw_memcpy_to_host(s->stream, data, address, bytes));
  OK(tw_stream_synchronize(s->stream));
}

/* Checks a plan's information and text, and the argument rules of both functions. */
static inline void describes_itself(const tw_plan *plan, tw_op op) {
  tw_plan_info info;
  char text[4096] = "", part[5];
  size_t needed = 0, length = 0;
  memset(&info, 0xa5, sizeof info);
  tw_plan_info_init(&info, sizeof info);
  OK(tw_plan_get_info(plan, &info));
  EQUAL(info.struct_size, sizeof info);
  EQUAL(info.op, op);
  CHECK(info.kernel != NULL && info.kernel[0] != '\0');
  CHECK(info.block[0] * info.block[1] * info.block[2] >= 1);
  NULL_FAILS("info", tw_plan_get_info(plan, NULL));
  STRUCT_SIZES_FAIL(info, "info", tw_plan_get_info(plan, &info));
  TAIL_CLEARED(tw_plan_info, tw_plan_get_info(plan, longer));
  NULL_FAILS("plan", tw_plan_get_info(NULL, &info));
  EQUAL(info.op, 0);
  CHECK(info.kernel == NULL);

  OK(tw_plan_explain(plan, NULL, 0, &needed));
  CHECK(needed > 10 && needed < sizeof text);
  OK(tw_plan_explain(plan, text, sizeof text, &length));
  EQUAL(length, needed);
  EQUAL(strlen(text) + 1, needed);
  FAILS(TW_ERROR_BUFFER_TOO_SMALL, "capacity", tw_plan_explain(plan, part, sizeof part, &length));
  EQUAL(length, needed);
  EQUAL(strlen(part), sizeof part - 1);
  NULL_FAILS("plan", tw_plan_explain(NULL, text, sizeof text, NULL));
  NULL_FAILS("buffer", tw_plan_explain(plan, NULL, 8, NULL));
}

/* Checks the rules for every operation's description; `make` plans it. */
#define PLAN_RULES(type, desc, make, device)                                              \
  do {                                                                                    \
    tw_plan *made_ = NULL;                                                                \
    NULL_FAILS("plan", make(device, &(desc), NULL));                                      \
    made_ = (tw_plan *)&made_;                                                            \
    NULL_FAILS("device", make(NULL, &(desc), &made_));                                    \
    CHECK(made_ == NULL);                                                                 \
    made_ = (tw_plan *)&made_;                                                            \
    NULL_FAILS("desc", make(device, NULL, &made_));                                       \
    CHECK(made_ == NULL);                                                                 \
    STRUCT_SIZES_FAIL(desc, "desc", make(device, &(desc), &made_));                       \
    TAIL_RULES(type, desc, "desc", make(device, longer, &made_), tw_plan_destroy(made_)); \
  } while (0)

/* Checks the rules for every operation's arguments; `run` succeeds with these. */
#define RUN_RULES(type, args, run, plan, on)                               \
  do {                                                                     \
    setup other_ = open_setup();                                           \
    FAILS(TW_ERROR_WRONG_DEVICE, NULL, run(plan, other_.stream, &(args))); \
    close_setup(&other_);                                                  \
    NULL_FAILS("plan", run(NULL, on, &(args)));                            \
    NULL_FAILS("stream", run(plan, NULL, &(args)));                        \
    NULL_FAILS("args", run(plan, on, NULL));                               \
    STRUCT_SIZES_FAIL(args, "args", run(plan, on, &(args)));               \
    TAIL_RULES(type, args, "args", run(plan, on, longer), (void)0);        \
  } while (0)

/* Destroys the device: the plan must report it and can still be destroyed. */
static inline void ends_with_its_device(tw_plan *plan) {
  tw_plan_info info;
  size_t length = 77;
  tw_plan_info_init(&info, sizeof info);
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_plan_get_info(plan, &info));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_plan_explain(plan, NULL, 0, &length));
  tw_plan_destroy(plan);
}

/* Checks a plan of any operation after its device was destroyed; `make` and `run` are its
 * functions. */
#define AFTER_THE_DEVICE(op, description, make, run)                    \
  do {                                                                  \
    setup s_ = open_setup();                                            \
    tw_##op##_desc desc_ = (description);                               \
    tw_##op##_args args_;                                               \
    tw_plan *plan_ = NULL;                                              \
    NEED(make(s_.device, &desc_, &plan_));                              \
    OK(tw_##op##_args_init(&args_, sizeof args_));                      \
    tw_device_destroy(s_.device);                                       \
    FAILS(TW_ERROR_DEVICE_CLOSED, NULL, run(plan_, s_.stream, &args_)); \
    ends_with_its_device(plan_);                                        \
    tw_stream_destroy(s_.stream);                                       \
  } while (0)

#endif
