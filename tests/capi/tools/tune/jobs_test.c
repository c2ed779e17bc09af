/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/capi/tools/tune/tune_harness.h"

static void jobs_are(const tune_jobs *jobs, const int64_t *m, int32_t count) {
  EQUAL(jobs->count, count);
  for (int32_t i = 0; i < jobs->count && i < count; ++i) {
    EQUAL(jobs->items[i].desc.m, m[i]);
    EQUAL(jobs->items[i].desc.min_m, m[i]);
  }
}

/* Of the m of one step the largest stays, in the place of the first. */
static void steps(void) {
  static const char *const kLines[] = {"m=1,8,60-64:1,100 n=32 k=64", NULL};
  static const int64_t kLeft[] = {8, 64, 100};
  tune_shapes shapes = shapes_of(kLines);
  tune_jobs jobs;
  said();
  EQUAL(jobs_make(&shapes, &jobs), TUNE_DONE);
  jobs_leave_out(&jobs, 132);
  jobs_are(&jobs, kLeft, COUNT(kLeft));
  SAYS("left out: line 1: n=32 k=64 bf16->bf16 rcr with m=1,60,61,62,63: of a step of m");
  jobs_free(&jobs);
  shapes_free(&shapes);
}

/* Jobs are told apart as tuning entries are. */
static void products(void) {
  static const char *const kLines[] = {
      "m=16 n=32 k=64", "m=16 n=32 k=65", "m=16 n=33 k=64", "m=16 n=32 k=64 types=f16->f16",
      "m=16 n=32 k=64 types=bf16->f32", "m=16 n=32 k=64 orders=rrr", "m=16 n=32 k=64 bias=row",
      "m=16 n=32 k=64 batch=2", "m=16 n=32 k=64 max_sms=100", "m=16 n=32 k=64 programmatic",
      /* And these are for entries of some of the above. */
      "m=16 n=32 k=64", "m=16 n=32 k=64 max_sms=132", "m=14 n=32 k=64 activation=silu",
      "m=15 n=32 k=64 batch=2 batch_pointers", "m=9 n=32 k=64 programmatic b_constant", NULL};
  tune_shapes shapes = shapes_of(kLines);
  tune_jobs jobs;
  const char *words;
  said();
  EQUAL(jobs_make(&shapes, &jobs), TUNE_DONE);
  jobs_leave_out(&jobs, 132);
  EQUAL(jobs.count, 10);
  for (int32_t i = 0; i < jobs.count; ++i) CHECK(jobs.items[i].shape == &shapes.items[i]);
  words = said();
  EQUAL(times(words, "left out: "), 5);
  CHECK(strstr(words, "line 13: n=32 k=64 bf16->bf16 rcr activation=silu with m=14: ") != NULL);
  CHECK(strstr(words, "here of line 7\n") != NULL);
  jobs_free(&jobs);
  shapes_free(&shapes);
}

/* So are those of narrow types, for which an epilogue makes no difference. */
static void narrow(void) {
  static const char *const kLines[] = {
      "m=16 n=32 k=64 types=f8e4m3->bf16", "m=16 n=32 k=64 types=f8e4m3,f8e5m2->bf16",
      "m=16 n=32 k=64 types=f8e4m3->bf16 fast_accumulate",
      "m=16 n=32 k=64 types=f8e4m3->bf16 a_scale=1x128 b_scale=128x128",
      "m=16 n=32 k=64 types=f8e4m3->bf16 a_scale=1x128 b_scale=1x128",
      "m=16 n=32 k=64 types=f8e4m3->f8e4m3", "m=16 n=32 k=64 types=f8e4m3->f8e4m3 d_quantize=1x128",
      "m=16 n=32 k=64 types=i8->i32",
      /* And these are for entries of some of the above. */
      "m=16 n=32 k=64 types=f8e4m3->bf16 bias=row",
      "m=15 n=32 k=64 types=f8e4m3->bf16 a_scale=1x128 b_scale=128x128 scale_orders=cc",
      "m=16 n=32 k=64 types=f8e4m3,f8e4m3->f8e4m3 amax", NULL};
  tune_shapes shapes = shapes_of(kLines);
  tune_jobs jobs;
  said();
  EQUAL(jobs_make(&shapes, &jobs), TUNE_DONE);
  jobs_leave_out(&jobs, 132);
  EQUAL(jobs.count, 8);
  for (int32_t i = 0; i < jobs.count; ++i) CHECK(jobs.items[i].shape == &shapes.items[i]);
  EQUAL(times(said(), "left out: "), 3);
  jobs_free(&jobs);
  shapes_free(&shapes);
}

/* A later shape of more rows takes an earlier one's place. */
static void larger(void) {
  static const char *const kLines[] = {"m=10 n=32 k=64 lda=72", "m=12 n=32 k=64", NULL};
  tune_shapes shapes = shapes_of(kLines);
  tune_jobs jobs;
  char name[256];
  said();
  EQUAL(jobs_make(&shapes, &jobs), TUNE_DONE);
  jobs_leave_out(&jobs, 1);
  EQUAL(jobs.count, 1);
  job_name(jobs.items, name, sizeof name);
  TEXT(name, "line 2: m=12 n=32 k=64 bf16->bf16 rcr");
  SAYS("line 1: n=32 k=64 bf16->bf16 rcr lda=72 with m=10: ");
  jobs_free(&jobs);
  shapes_free(&shapes);
}

/* A list of any length is told in one line. */
static void long_lists(void) {
  static const char *const kLines[] = {"m=1-512:1 n=32 k=64", NULL};
  tune_shapes shapes = shapes_of(kLines);
  tune_jobs jobs;
  const char *words;
  said();
  EQUAL(jobs_make(&shapes, &jobs), TUNE_DONE);
  jobs_leave_out(&jobs, 1);
  EQUAL(jobs.count, 64);
  words = said();
  EQUAL(times(words, "\n"), 1);
  CHECK(strstr(words, "with m=1,2,3,4,5,6,7,9,...: ") != NULL);
  jobs_free(&jobs);
  shapes_free(&shapes);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(steps);
  RUN(products);
  RUN(narrow);
  RUN(larger);
  RUN(long_lists);
  return harness_end();
}
