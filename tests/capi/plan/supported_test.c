/* SPDX-License-Identifier: Apache-2.0 */
/* tw_x_supported() must answer like tw_x_plan() for random descriptions of every operation, and
 * must be faster than planning. */

#define _POSIX_C_SOURCE 199309L
#include <time.h>

#include "tests/capi/common/plan_harness.h"
#include "tests/capi/common/random_descs.h"

enum { DESCRIPTIONS = 10000, REPETITIONS = 20 };

typedef union {
  tw_copy_desc copy;
  tw_copies_desc copies;
  tw_prefetch_desc prefetch;
  tw_rows_desc rows;
  tw_ragged_desc ragged;
  tw_route_desc route;
  tw_grouped_desc grouped;
  tw_quantize_desc quantize;
  tw_elementwise_desc elementwise;
  tw_gemm_desc gemm;
  uint32_t head[2];
} any_desc;

typedef struct {
  const char *name;
  size_t size;
  int has_unsupported; /* valid descriptions may be unsupported */
  void (*draw)(random_source *r, any_desc *desc);
  tw_status (*plan)(tw_device *device, const any_desc *desc, tw_plan **plan);
  tw_status (*supported)(tw_device *device, const any_desc *desc);
  /* The library's function without the harness's checks. */
  tw_status (*bare)(tw_device *device, const any_desc *desc);
} operation;

#define OPERATION(op, member)                                                           \
  static void draw_##op(random_source *r, any_desc *desc) {                             \
    random_##op(r, &desc->member);                                                      \
  }                                                                                     \
  static tw_status plan_##op(tw_device *device, const any_desc *desc, tw_plan **plan) { \
    return tw_##op##_plan(device, desc ? &desc->member : NULL, plan);                   \
  }                                                                                     \
  static tw_status supported_##op(tw_device *device, const any_desc *desc) {            \
    return tw_##op##_supported(device, desc ? &desc->member : NULL);                    \
  }                                                                                     \
  static tw_status bare_##op(tw_device *device, const any_desc *desc) {                 \
    return (tw_##op##_supported)(device, &desc->member);                                \
  }
OPERATION(copy, copy)
OPERATION(copies, copies)
OPERATION(prefetch, prefetch)
OPERATION(gather, rows)
OPERATION(scatter, rows)
OPERATION(ragged, ragged)
OPERATION(route, route)
OPERATION(grouped, grouped)
OPERATION(quantize, quantize)
OPERATION(elementwise, elementwise)
OPERATION(gemm, gemm)
#undef OPERATION

#define ROW(op, type, has_unsupported) \
  { #op, sizeof(type), has_unsupported, draw_##op, plan_##op, supported_##op, bare_##op }
static const operation operations[] = {ROW(copy, tw_copy_desc, 1),
                                       ROW(copies, tw_copies_desc, 0),
                                       ROW(prefetch, tw_prefetch_desc, 0),
                                       ROW(gather, tw_rows_desc, 1),
                                       ROW(scatter, tw_rows_desc, 1),
                                       ROW(ragged, tw_ragged_desc, 1),
                                       ROW(elementwise, tw_elementwise_desc, 1),
                                       ROW(gemm, tw_gemm_desc, 1),
                                       ROW(route, tw_route_desc, 1),
                                       ROW(grouped, tw_grouped_desc, 1),
                                       ROW(quantize, tw_quantize_desc, 1)};
#undef ROW

static any_desc descs[DESCRIPTIONS];

static void draw(const operation *op) {
  random_source r = {UINT64_C(0x9e3779b97f4a7c15)};
  memset(descs, 0, sizeof descs);
  for (int i = 0; i < DESCRIPTIONS; ++i) op->draw(&r, &descs[i]);
}

/* Checks that both answers are equal, and returns the status. */
static tw_status same_answer(const operation *op, tw_device *device, const any_desc *desc) {
  char message[1024];
  tw_error_info first, second;
  tw_plan *plan = NULL;
  tw_status asked, planned;
  memset(&first, 0, sizeof first);
  memset(&second, 0, sizeof second);
  tw_error_info_init(&first, sizeof first);
  tw_error_info_init(&second, sizeof second);
  poison_();
  asked = op->supported(device, desc);
  OK(tw_last_error_info(&first));
  snprintf(message, sizeof message, "%s", tw_last_error());
  CHECK(asked == TW_OK ? poisoned_() : !poisoned_());
  poison_();
  planned = op->plan(device, desc, &plan);
  OK(tw_last_error_info(&second));
  tw_plan_destroy(plan);
  if (!CHECK(asked == planned))
    printf("    %s: %s asked and %s planned: %s\n", op->name, tw_status_name(asked),
           tw_status_name(planned), planned == TW_OK ? message : tw_last_error());
  if (planned == TW_OK || asked != planned) return planned;
  if (!CHECK(strcmp(message, tw_last_error()) == 0))
    printf("    asked:   %s\n    planned: %s\n", message, tw_last_error());
  /* including the pointers to names, which are literals */
  CHECK(memcmp(&first, &second, sizeof first) == 0);
  return planned;
}

static void answers_as_planning_does(void) {
  tw_device *device = open_device();
  for (size_t o = 0; o < COUNT(operations); ++o) {
    const operation *op = &operations[o];
    unsigned planned = 0, unsupported = 0, invalid = 0, others = 0;
    draw(op);
    for (int i = 0; i < DESCRIPTIONS; ++i) {
      const tw_status status = same_answer(op, device, &descs[i]);
      planned += status == TW_OK;
      unsupported += status == TW_ERROR_UNSUPPORTED;
      invalid += status == TW_ERROR_INVALID_ARGUMENT;
      others +=
          status != TW_OK && status != TW_ERROR_UNSUPPORTED && status != TW_ERROR_INVALID_ARGUMENT;
    }
    printf(
        "%-12s %4.1f %% can be planned, %4.1f %% are unsupported, %4.1f %% invalid, %4.1f %% "
        "fail otherwise\n",
        op->name, planned * 100.0 / DESCRIPTIONS, unsupported * 100.0 / DESCRIPTIONS,
        invalid * 100.0 / DESCRIPTIONS, others * 100.0 / DESCRIPTIONS);
    CHECK(planned >= DESCRIPTIONS * 3 / 10);
    CHECK(unsupported >= (op->has_unsupported ? DESCRIPTIONS / 10 : 0));
    CHECK(invalid > 0);
    CHECK(others > 0);
  }
  tw_device_destroy(device);
}

/* Products near the largest number of tiles of a launch, for each kind of kernel. */
static void answers_at_the_limits_of_tiles(void) {
  static const int64_t extents[] = {1 << 17, 1 << 20, 1 << 23, (INT64_C(1) << 31) - 1024};
  static const int64_t batches[] = {1, 1 << 10, 1 << 20};
  tw_device *device = open_device();
  any_desc desc;
  unsigned refused = 0;
  memset(&desc, 0, sizeof desc);
  for (size_t m = 0; m < COUNT(extents); ++m)
    for (size_t n = 0; n < COUNT(extents); ++n)
      for (size_t b = 0; b < COUNT(batches); ++b)
        for (uint32_t options = 0; options < 16; ++options) {
          OK(tw_gemm_desc_init(&desc.gemm, sizeof desc.gemm));
          desc.gemm.m = (options & 8) != 0 ? 1 : extents[m];
          desc.gemm.n = extents[n];
          desc.gemm.k = 64;
          desc.gemm.min_m = desc.gemm.m; /* a single range; planning many would take long */
          desc.gemm.batch_count = batches[b];
          desc.gemm.a_batch_stride = desc.gemm.b_batch_stride = 0;
          desc.gemm.a_alignment = desc.gemm.b_alignment = (options & 1) != 0 ? 16 : 0;
          desc.gemm.flags = (options & 2) != 0 ? TW_GEMM_BATCH_INVARIANT : 0;
          desc.gemm.activation = (options & 4) != 0 ? TW_ACTIVATION_RELU : 0;
          refused += same_answer(&operations[7], device, &desc) == TW_ERROR_UNSUPPORTED;
        }
  CHECK(refused > 0);
  tw_device_destroy(device);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The best of many rounds, because other load only makes rounds slower. */
static double seconds_of_a_call(const operation *op, tw_device *device) {
  double best = 1;
  for (int round = 0; round < REPETITIONS; ++round) {
    const double start = now();
    double took;
    for (int i = 0; i < DESCRIPTIONS; ++i) (void)op->bare(device, &descs[i]);
    took = (now() - start) / DESCRIPTIONS;
    if (took < best) best = took;
  }
  return best;
}

static void answers_in_two_microseconds(void) {
  tw_device *device = open_device();
  for (size_t o = 0; o < COUNT(operations); ++o) {
    double seconds;
    draw(&operations[o]);
    seconds = seconds_of_a_call(&operations[o], device);
    printf("%-12s %6.0f ns a call\n", operations[o].name, seconds * 1e9);
/* meson.build defines TW_UNTIMED in builds with a sanitizer and for an emulator. */
#if defined(__OPTIMIZE__) && !defined(TW_UNTIMED)
    CHECK(seconds < 2e-6);
#endif
  }
  tw_device_destroy(device);
}

static void refuses_as_planning_does(void) {
  setup s = open_setup();
  for (size_t o = 0; o < COUNT(operations); ++o) {
    const operation *op = &operations[o];
    any_desc bare;
    draw(op);
    EQUAL(same_answer(op, NULL, &descs[0]), TW_ERROR_INVALID_ARGUMENT);
    NULL_FAILS("device", op->supported(NULL, &descs[0]));
    EQUAL(same_answer(op, s.device, NULL), TW_ERROR_INVALID_ARGUMENT);
    NULL_FAILS("desc", op->supported(s.device, NULL));
    memset(&bare, 0, sizeof bare);
    EQUAL(same_answer(op, s.device, &bare), TW_ERROR_STRUCT);
    bare = descs[0];
    bare.head[0] = 4097;
    EQUAL(same_answer(op, s.device, &bare), TW_ERROR_STRUCT);
    bare.head[0] = (uint32_t)op->size;
    bare.head[1] += 1;
    EQUAL(same_answer(op, s.device, &bare), TW_ERROR_STRUCT);
  }
  OK(tw_stream_synchronize(s.stream));
  tw_stream_destroy(s.stream);
  tw_device_destroy(s.device);
  for (size_t o = 0; o < COUNT(operations); ++o) {
    draw(&operations[o]);
    EQUAL(same_answer(&operations[o], s.device, &descs[0]), TW_ERROR_INVALID_ARGUMENT);
  }
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(refuses_as_planning_does);
  RUN(answers_as_planning_does);
  RUN(answers_at_the_limits_of_tiles);
  RUN(answers_in_two_microseconds);
  return harness_end();
}
