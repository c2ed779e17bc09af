/* SPDX-License-Identifier: Apache-2.0 */
/* tw_gemm_tune() and the tw_gemm_tuning_ functions. */
#include "tests/capi/common/plan_harness.h"

/* Tiles of 128 x 128 x 64 fit with little padding, so that they are twice as fast as loops even
 * under a sanitizer. */
enum { kM = 120, kN = 120, kK = 192, kMany = 512 };

static uint16_t a[kM * kK], b[kK * kN];
static float d[kM * kN], before[kM * kN];
static tw_gemm_candidate list[kMany];
static char text[1 << 14];

static const char *const kEmpty = "tilewright gemm tuning 1\n";

static tw_gemm_desc gemm_desc(void) {
  tw_gemm_desc desc;
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  desc.d_dtype = TW_DTYPE_F32;
  desc.m = kM;
  desc.n = kN;
  desc.k = kK;
  return desc;
}

/* bf16 1 or -1: every product is a small integer. */
static int sign(int i) {
  return (i * 7919 >> 3 & 1) ? 1 : -1;
}

static tw_gemm_args upload_all(const setup *s) {
  tw_gemm_args args;
  for (int i = 0; i < kM * kK; ++i) a[i] = sign(i) > 0 ? 0x3f80 : 0xbf80;
  for (int i = 0; i < kK * kN; ++i) b[i] = sign(3 * i + 1) > 0 ? 0x3f80 : 0xbf80;
  for (int i = 0; i < kM * kN; ++i) before[i] = (float)i;
  OK(tw_gemm_args_init(&args, sizeof args));
  args.a = uploaded(s, a, sizeof a);
  args.b = uploaded(s, b, sizeof b);
  args.d = uploaded(s, before, sizeof before);
  return args;
}

static int product_of(int rows) {
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < kN; ++j) {
      int sum = 0;
      for (int k = 0; k < kK; ++k) sum += sign(i * kK + k) * sign(3 * (k * kN + j) + 1);
      if (d[i * kN + j] != (float)sum) return 0;
    }
  return 1;
}

static const char *format(const tw_gemm_tuning *tuning) {
  size_t length = 0;
  OK(tw_gemm_tuning_format(tuning, text, sizeof text, &length));
  EQUAL(strlen(text) + 1, length);
  return text;
}

/* Lists the candidates for kM rows, best by the cost model first. */
static int32_t listed(const setup *s, const tw_gemm_desc *desc) {
  int32_t count = 0;
  memset(list, 0, sizeof list);
  for (int i = 0; i < kMany; ++i) tw_gemm_candidate_init(&list[i], sizeof list[i]);
  OK(tw_gemm_candidates(s->device, desc, list, kMany, &count));
  CHECK(count >= 2 && count <= kMany);
  return count;
}

/* The text of a tuning set with one entry, which says that `candidate` was the fastest. */
static const char *planted(const setup *s, const char *candidate) {
  static char lines[512];
  tw_device_info info;
  tw_device_info_init(&info, sizeof info);
  OK(tw_device_get_info(s->device, &info));
  snprintf(lines, sizeof lines, "%sdevice %s\nbf16 f32 f32 rrr %d %d %d %d %s 1.000\n", kEmpty,
           info.name, (int)info.sm_count, kM, kN, kK, candidate);
  return lines;
}

static void inits(void) {
  tw_gemm_tune_desc how;
  NULL_FAILS("desc", tw_gemm_tune_desc_init(NULL, sizeof(tw_gemm_tune_desc)));
  memset(&how, 0xa5, sizeof how);
  OK(tw_gemm_tune_desc_init(&how, sizeof how));
  EQUAL(how.struct_size, sizeof how);
  EQUAL(how.candidates, 12);
  EQUAL(how.rounds, 7);
  EQUAL(how.scratch_d | how.flush | how.flush_bytes, 0);
}

static void texts(void) {
  setup s = open_setup();
  const tw_gemm_desc desc = gemm_desc();
  tw_gemm_tuning *tuning = (tw_gemm_tuning *)&tuning;
  tw_error_info error;
  size_t length = 0;
  char part[8];
  const char *lines;
  NULL_FAILS("tuning", tw_gemm_tuning_create(NULL));
  NEED(tw_gemm_tuning_create(&tuning));
  TEXT(format(tuning), kEmpty);
  OK(tw_gemm_tuning_load(tuning, kEmpty));
  listed(&s, &desc);
  lines = planted(&s, list[0].text);
  OK(tw_gemm_tuning_load(tuning, lines));
  TEXT(format(tuning), lines);
  FAILS(TW_ERROR_BUFFER_TOO_SMALL, "capacity",
        tw_gemm_tuning_format(tuning, part, sizeof part, &length));
  EQUAL(length, strlen(lines) + 1);
  TEXT(part, "tilewri");

  tw_error_info_init(&error, sizeof error);
  FAILS(TW_ERROR_PARSE, "text", tw_gemm_tuning_load(tuning, "garbage\n\x01\x02"));
  CHECK(strstr(tw_last_error(), "line 1") != NULL);
  FAILS(TW_ERROR_PARSE, "text",
        tw_gemm_tuning_load(tuning,
                            "tilewright gemm tuning 1\ndevice x\n# fine so far\nbf16 bf16 f32 rcr "
                            "132 1 8 8 gemm_of_nobody 3.5\n"));
  OK(tw_last_error_info(&error));
  EQUAL(error.index, 4);
  CHECK(strstr(tw_last_error(), "line 4") != NULL);
  CHECK(strstr(tw_last_error(), "gemm_of_nobody") != NULL);
  NULL_FAILS("text", tw_gemm_tuning_load(tuning, NULL));
  NULL_FAILS("tuning", tw_gemm_tuning_load(NULL, kEmpty));
  NULL_FAILS("tuning", tw_gemm_tuning_format(NULL, NULL, 0, NULL));
  TEXT(format(tuning), lines); /* nothing was added */
  tw_gemm_tuning_destroy(tuning);
  tw_gemm_tuning_destroy(NULL);
  close_setup(&s);
}

/* A plan uses the tuning entry and computes the product. */
static void plans(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args = upload_all(&s);
  tw_gemm_tuning *tuning = NULL;
  tw_plan *plan = (tw_plan *)&plan;
  tw_plan_info info;
  const int32_t count = listed(&s, &desc);
  const tw_gemm_candidate *const last = &list[count - 1];
  NEED(tw_gemm_tuning_create(&tuning));
  NULL_FAILS("tuning", tw_gemm_plan_tuned(s.device, &desc, NULL, &plan));
  CHECK(plan == NULL);
  OK(tw_gemm_tuning_load(tuning, planted(&s, last->text)));
  NEED(tw_gemm_plan_tuned(s.device, &desc, tuning, &plan));
  tw_gemm_tuning_destroy(tuning); /* the plan no longer needs it */
  tw_plan_info_init(&info, sizeof info);
  OK(tw_plan_get_info(plan, &info));
  TEXT(info.kernel, last->kernel);
  OK(tw_plan_explain(plan, text, sizeof text, NULL));
  CHECK(strstr(text, "the fastest when it was measured") != NULL);
  OK(tw_gemm_run(plan, s.stream, &args));
  download(&s, d, args.d, sizeof d);
  CHECK(product_of(kM));
  tw_plan_destroy(plan);

  /* An entry of another chip is ignored. */
  NEED(tw_gemm_tuning_create(&tuning));
  snprintf(text, sizeof text, "%sdevice another\n%s", kEmpty,
           strstr(planted(&s, last->text), "bf16"));
  OK(tw_gemm_tuning_load(tuning, text));
  NEED(tw_gemm_plan_tuned(s.device, &desc, tuning, &plan));
  OK(tw_plan_get_info(plan, &info));
  TEXT(info.kernel, list[0].kernel);
  OK(tw_plan_explain(plan, text, sizeof text, NULL));
  CHECK(strstr(text, "the cheapest by the cost model") != NULL);
  tw_plan_destroy(plan);
  tw_gemm_tuning_destroy(tuning);
  close_setup(&s);
}

/* Tuning replaces a slow choice, does not write D if scratch memory is given, and leaves a text
 * from which plans make the same choice. */
static void tunes(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args = upload_all(&s);
  tw_gemm_tune_desc how;
  tw_gemm_candidate best, again;
  tw_gemm_tuning *tuning = NULL, *copy = NULL;
  tw_plan *plan = NULL;
  int32_t count;
  int same = 1;
  const char *slow;
  OK(tw_gemm_tune_desc_init(&how, sizeof how));
  how.candidates = 0;
  how.rounds = 31; /* enough rounds that other load does not move the median */
  how.scratch_d = allocated(&s, sizeof d);
  tw_gemm_candidate_init(&best, sizeof best);
  tw_gemm_candidate_init(&again, sizeof again);
  NEED(tw_gemm_tuning_create(&tuning));
  NEED(tw_gemm_tune(tuning, s.stream, &desc, &args, &how, &best));
  CHECK(best.microseconds > 0);
  EQUAL(best.m_last, kM);
  CHECK(strstr(format(tuning), best.text) != NULL);
  download(&s, d, args.d, sizeof d);
  for (int i = 0; i < kM * kN; ++i) same &= d[i] == before[i];
  CHECK(same);
  tw_gemm_tuning_destroy(tuning);

  count = listed(&s, &desc);
  slow = list[strcmp(list[count - 1].text, best.text) ? count - 1 : count - 2].text;
  NEED(tw_gemm_tuning_create(&tuning));
  OK(tw_gemm_tuning_load(tuning, planted(&s, slow)));
  how.flush = args.b;
  how.flush_bytes = sizeof b;
  /* A tuner that trusted the existing entry would repeat it every time; load on the machine
   * varies. */
  for (int i = 0; i < 4 && (i == 0 || strcmp(again.text, slow) == 0); ++i)
    NEED(tw_gemm_tune(tuning, s.stream, &desc, &args, &how, &again));
  CHECK(strcmp(again.text, slow) != 0);
  CHECK(strstr(format(tuning), slow) == NULL);

  NEED(tw_gemm_tuning_create(&copy));
  OK(tw_gemm_tuning_load(copy, format(tuning)));
  NEED(tw_gemm_plan_tuned(s.device, &desc, copy, &plan));
  for (int i = 0; i < kMany; ++i) tw_gemm_candidate_init(&list[i], sizeof list[i]);
  OK(tw_gemm_ranges(plan, list, kMany, &count));
  TEXT(list[count - 1].text, again.text);
  tw_plan_destroy(plan);

  /* Without scratch memory the tuner writes D. */
  how.scratch_d = how.flush = how.flush_bytes = 0;
  args.m = 40;
  OK(tw_gemm_tune(copy, s.stream, &desc, &args, &how, NULL));
  OK(tw_gemm_tune(copy, s.stream, &desc, &args, NULL, NULL));
  download(&s, d, args.d, sizeof d);
  CHECK(product_of(40));
  EQUAL((int)d[40 * kN], (int)before[40 * kN]);
  tw_gemm_tuning_destroy(copy);
  tw_gemm_tuning_destroy(tuning);
  close_setup(&s);
}

static void refusals(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc(), bad_desc;
  tw_gemm_args args = upload_all(&s), bad_args;
  tw_gemm_tune_desc how, bad_how;
  tw_gemm_candidate best;
  tw_gemm_tuning *tuning = NULL;
  NEED(tw_gemm_tuning_create(&tuning));
  OK(tw_gemm_tune_desc_init(&how, sizeof how));
  tw_gemm_candidate_init(&best, sizeof best);
  NULL_FAILS("tuning", tw_gemm_tune(NULL, s.stream, &desc, &args, &how, &best));
  NULL_FAILS("stream", tw_gemm_tune(tuning, NULL, &desc, &args, &how, &best));
  NULL_FAILS("desc", tw_gemm_tune(tuning, s.stream, NULL, &args, &how, &best));
  NULL_FAILS("args", tw_gemm_tune(tuning, s.stream, &desc, NULL, &how, &best));
  STRUCT_SIZES_FAIL(how, "how", tw_gemm_tune(tuning, s.stream, &desc, &args, &how, &best));
  STRUCT_SIZES_FAIL(best, "best", tw_gemm_tune(tuning, s.stream, &desc, &args, &how, &best));
#define BAD(status, argument, change)                                             \
  do {                                                                            \
    bad_desc = desc;                                                              \
    bad_args = args;                                                              \
    bad_how = how;                                                                \
    change;                                                                       \
    FAILS((status), (argument),                                                   \
          tw_gemm_tune(tuning, s.stream, &bad_desc, &bad_args, &bad_how, &best)); \
    CHECK(best.kernel == NULL);                                                   \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "candidates", bad_how.candidates = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rounds", bad_how.rounds = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rounds", bad_how.rounds = INT32_MAX);
  BAD(TW_ERROR_INVALID_ARGUMENT, "flush", bad_how.flush = args.a);
  BAD(TW_ERROR_INVALID_ARGUMENT, "flush", bad_how.flush_bytes = 64);
  BAD(TW_ERROR_INVALID_ARGUMENT, "m", bad_args.m = kM + 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "m", bad_args.m = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "n", (bad_desc.n = 0, bad_desc.ldb = kN));
  BAD(TW_ERROR_UNSUPPORTED, "a_dtype", bad_desc.a_dtype = TW_DTYPE_U8);
  BAD(TW_ERROR_INVALID_ARGUMENT, "a", bad_args.a = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "d", bad_args.d = 0);
  BAD(TW_ERROR_MISALIGNED, "b", bad_args.b += 1);
  BAD(TW_ERROR_MISALIGNED, "d", bad_how.scratch_d = args.d + 2);
  BAD(TW_ERROR_OVERLAP, NULL, bad_how.scratch_d = args.a);
  BAD(TW_ERROR_INVALID_ARGUMENT, "scratch_d",
      (bad_desc.flags = TW_GEMM_BATCH_POINTERS, bad_how.scratch_d = args.d));
#undef BAD
  TEXT(format(tuning), kEmpty);
  tw_gemm_tuning_destroy(tuning);
  close_setup(&s);
}

/* On a GPU the rates are a line of the text; the host device has none. */
static void calibrates(void) {
  enum { BYTES = TW_GEMM_CALIBRATION_BYTES };
  setup s = open_setup();
  tw_gemm_tuning *tuning = NULL;
  uint64_t scratch = 0;
  NEED(tw_gemm_tuning_create(&tuning));
  NULL_FAILS("tuning", tw_gemm_calibrate(NULL, s.stream, 256, BYTES));
  NULL_FAILS("stream", tw_gemm_calibrate(tuning, NULL, 256, BYTES));
  if (harness.kind == TW_DEVICE_HOST) {
    FAILS(TW_ERROR_UNSUPPORTED, "stream", tw_gemm_calibrate(tuning, s.stream, 256, BYTES));
    TEXT(format(tuning), kEmpty);
  } else {
    double gigabytes = 0, teraflops = 0;
    const char *line;
    FAILS(TW_ERROR_MISALIGNED, "scratch", tw_gemm_calibrate(tuning, s.stream, 128, BYTES));
    FAILS(TW_ERROR_BUFFER_TOO_SMALL, "scratch_bytes",
          tw_gemm_calibrate(tuning, s.stream, 256, BYTES - 1));
    NEED(tw_malloc(s.device, BYTES, &scratch));
    OK(tw_gemm_calibrate(tuning, s.stream, scratch, BYTES));
    line = strstr(format(tuning), "\nrates ");
    CHECK(line != NULL && sscanf(line, " rates %lf %lf", &gigabytes, &teraflops) == 2);
    /* Any chip with kernels lies between these. */
    CHECK(gigabytes > 500 && gigabytes < 20000);
    CHECK(teraflops > 50 && teraflops < 5000);
    printf("%s", line ? line + 1 : "");
    OK(tw_free(s.device, scratch));
  }
  tw_gemm_tuning_destroy(tuning);
  close_setup(&s);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(inits);
  RUN(texts);
  RUN(plans);
  RUN(tunes);
  RUN(refusals);
  RUN(calibrates);
  return harness_end();
}
