/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/capi/tools/tune/tune_harness.h"

/* Little of it is padding, so that tiles beat loops under a sanitizer too. */
static const char *const kLines[] = {"m=120 n=120 k=192 types=bf16->f32", NULL};

typedef struct {
  setup s;
  tune_shapes shapes;
  tune_job job;
  tune_session session;
} work;

static work open_work(void) {
  work w;
  memset(&w, 0, sizeof w);
  w.s = open_setup();
  w.shapes = shapes_of(kLines);
  w.job.shape = w.shapes.items;
  w.job.desc = w.job.shape->desc;
  w.job.desc.min_m = w.job.desc.m;
  w.session.device = w.s.device;
  w.session.stream = w.s.stream;
  OK(tw_gemm_tune_desc_init(&w.session.how, sizeof w.session.how));
  OK(tw_gemm_tuning_create(&w.session.set));
  EQUAL(memory_open(&w.session.memory, w.s.device, w.s.stream, 0), TUNE_DONE);
  said();
  return w;
}

static void close_work(work *w) {
  memory_close(&w->session.memory);
  tw_gemm_tuning_destroy(w->session.set);
  shapes_free(&w->shapes);
  close_setup(&w->s);
}

static const char *format(const tw_gemm_tuning *set) {
  static char text[1 << 13];
  OK(tw_gemm_tuning_format(set, text, sizeof text, NULL));
  return text;
}

/* Puts an entry for `m` rows of the work's product into the set. */
static void plant(work *w, int64_t m, const char *candidate) {
  char text[512];
  tw_device_info info;
  tw_device_info_init(&info, sizeof info);
  OK(tw_device_get_info(w->s.device, &info));
  snprintf(text, sizeof text,
           "tilewright gemm tuning 1\ndevice %s\nbf16 f32 f32 rcr %d %lld 120 192 %s 1.000\n",
           info.name, (int)info.sm_count, (long long)m, candidate);
  OK(tw_gemm_tuning_load(w->session.set, text));
}

/* The candidate that the cost model has last. */
static const char *slowest(const work *w) {
  static tw_gemm_candidate list[512];
  int32_t count = 0;
  for (size_t i = 0; i < COUNT(list); ++i) tw_gemm_candidate_init(&list[i], sizeof list[i]);
  OK(tw_gemm_candidates(w->s.device, &w->job.desc, list, COUNT(list), &count));
  CHECK(count >= 2 && count <= (int32_t)COUNT(list));
  return list[count - 1].text;
}

/* What holds whichever kernel was the fastest. */
static void consistent(const work *w, const tune_result *result) {
  tw_gemm_candidate now;
  CHECK(result->before.microseconds > 0 && result->tuned.microseconds > 0);
  CHECK(result->tuned.microseconds <= result->before.microseconds);
  OK(measure_chosen(w->s.device, &w->job, w->session.set, &now));
  TEXT(now.text, result->tuned.text);
  EQUAL(times(format(w->session.set), " 120 192 "), 1);
  CHECK(strstr(format(w->session.set), result->tuned.text) != NULL);
}

static void first_time(void) {
  work w = open_work();
  tw_gemm_candidate usual;
  tune_result result;
  OK(measure_chosen(w.s.device, &w.job, w.session.set, &usual));
  EQUAL(measure_job(&w.session, &w.job, &result), TUNE_DONE);
  TEXT(result.before.text, usual.text);
  consistent(&w, &result);
  TEXT(said(), "");
  close_work(&w);
}

/* An entry of a slow kernel is what a plan takes until it is measured. */
static void overrules(void) {
  work w = open_work();
  tune_result result;
  const char *const slow = slowest(&w);
  w.session.how.candidates = 0;
  w.session.how.rounds = 15;
  memset(&result, 0, sizeof result);
  /* What other programs do to the clock is another thing each time. */
  for (int i = 0; i < 4 && (i == 0 || strcmp(result.tuned.text, slow) == 0); ++i) {
    plant(&w, 120, slow);
    EQUAL(measure_job(&w.session, &w.job, &result), TUNE_DONE);
    TEXT(result.before.text, slow);
    consistent(&w, &result);
  }
  CHECK(strcmp(result.tuned.text, slow) != 0);
  close_work(&w);
}

/* Where two kernels are raced again and again, one or the other is kept, and all is told right. */
static void races(void) {
  work w = open_work();
  tune_result result;
  w.session.how.candidates = 2;
  w.session.how.rounds = 1;
  for (int i = 0; i < 10; ++i) {
    EQUAL(measure_job(&w.session, &w.job, &result), TUNE_DONE);
    consistent(&w, &result);
  }
  close_work(&w);
}

/* An entry for more rows of the same step would be taken instead of this job's. */
static void shadowed(void) {
  work w = open_work();
  tune_result result;
  char before[1024];
  w.job.desc.m = w.job.desc.min_m = 114;
  /* The slow one is overruled for 114 rows, but not for 120, which the step's plans go by. */
  for (int i = 0; i < 8; ++i) {
    plant(&w, 120, slowest(&w));
    snprintf(before, sizeof before, "%s", format(w.session.set));
    said();
    if (measure_job(&w.session, &w.job, &result) == TUNE_INCOMPLETE) break;
    tw_gemm_tuning_destroy(w.session.set);
    OK(tw_gemm_tuning_create(&w.session.set));
  }
  SAYS(
      "m=114 n=120 k=192 bf16->f32 rcr: the file has an entry for more rows of the same step, up "
      "to m=120");
  TEXT(format(w.session.set), before);
  close_work(&w);
}

/* A job that fails leaves the set as it was. */
static void fails(void) {
  work w = open_work();
  tune_result result;
  plant(&w, 120, slowest(&w));
  w.session.how.rounds = 1001;
  EQUAL(measure_job(&w.session, &w.job, &result), TUNE_INCOMPLETE);
  SAYS("line 1: m=120 n=120 k=192 bf16->f32 rcr: TW_ERROR_INVALID_ARGUMENT: rounds is 1001");
  EQUAL(times(format(w.session.set), " 120 192 "), 1);
  CHECK(strstr(format(w.session.set), slowest(&w)) != NULL);
  close_work(&w);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(first_time);
  RUN(overrules);
  RUN(races);
  RUN(shadowed);
  RUN(fails);
  return harness_end();
}
