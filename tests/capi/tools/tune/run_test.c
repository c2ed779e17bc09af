/* SPDX-License-Identifier: Apache-2.0 */
/* The tool but for its command line: what it writes makes plans of its choices, for as many rows as
 * the documentation says and no others. */
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "tests/capi/tools/tune/tune_harness.h"

/* A name of its own: the test for the other device may run at the same time. */
static char out[] = "run_test_XXXXXX";

static tune_options options_of(const char *const *lines) {
  tune_options options;
  memset(&options, 0, sizeof options);
  options.shapes = shapes_of(lines);
  options.out = out;
  options.kind = harness.kind;
  options.candidates = -1;
  options.rounds = 2;
  options.flush_bytes = 1 << 16;
  return options;
}

static int run(const char *const *lines, int merge) {
  tune_options options = options_of(lines);
  int status;
  options.merge = merge;
  said();
  status = tune_run(&options);
  shapes_free(&options.shapes);
  return status;
}

/* What is in the file, as a set. */
static tw_gemm_tuning *loaded(void) {
  tw_gemm_tuning *tuning = NULL;
  char *const text = file_read(out);
  OK(tw_gemm_tuning_create(&tuning));
  if (CHECK(text != NULL)) OK(tw_gemm_tuning_load(tuning, text));
  free(text);
  return tuning;
}

/* Whether a plan for m rows says that its kernel was measured. */
static int takes(tw_device *device, const tw_gemm_tuning *tuning, tw_gemm_desc desc, int64_t m) {
  static char text[1 << 14];
  tw_plan *plan = NULL;
  text[0] = '\0';
  desc.m = desc.min_m = m;
  if (OK(tw_gemm_plan_tuned(device, &desc, tuning, &plan)))
    OK(tw_plan_explain(plan, text, sizeof text, NULL));
  tw_plan_destroy(plan);
  return strstr(text, "the fastest when it was measured") != NULL;
}

/* A product as a program describes it that knows nothing of the tool's own promises. */
static tw_gemm_desc product(void) {
  tw_gemm_desc desc;
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  desc.n = 96;
  desc.k = 64;
  desc.b_order = TW_COLUMN_MAJOR;
  return desc;
}

/* Plans of `first` to `last` rows take the entry, and those around them none. */
static void serves(const char *const *lines, int64_t first, int64_t last) {
  tw_device *const device = open_device();
  EQUAL(run(lines, 0), TUNE_DONE);
  tw_gemm_tuning *const tuning = loaded();
  for (int64_t m = first > 20 ? first - 20 : 1; m <= last + 20; ++m)
    if (!CHECK(takes(device, tuning, product(), m) == (m >= first && m <= last)))
      printf("    m is %d\n", (int)m);
  tw_gemm_desc other = product();
  other.k = 72;
  CHECK(!takes(device, tuning, other, last));
  other = product();
  other.b_order = TW_ROW_MAJOR;
  CHECK(!takes(device, tuning, other, last));
  other = product();
  other.batch_count = 2;
  CHECK(!takes(device, tuning, other, last));
  tw_gemm_tuning_destroy(tuning);
  tw_device_destroy(device);
}

static void nearby(void) {
  static const char *const kOne[] = {"m=64 n=96 k=64", NULL};
  static const char *const kOdd[] = {"m=100 n=96 k=64", NULL};
  static const char *const kAll[] = {"m=40-150:all n=96 k=64", NULL};
  static const char *const kSame[] = {"m=1,3,8 n=96 k=64", NULL};
  serves(kOne, 57, 64);
  serves(kOdd, 89, 104);
  serves(kSame, 1, 8);
  serves(kAll, 33, 152);
}

/* The entries of the types, orders and options of a shape, and of each m. */
static void entries(void) {
  static const char *const kLines[] = {"m=16,32 n=96 k=64",
                                       "m=16 n=64 k=64 types=f16->f32 orders=rrr",
                                       "m=16 n=64 k=64 bias=column activation=silu",
                                       "m=16 n=64 k=64 batch=3 programmatic b_constant",
                                       "m=16 n=64 k=256 types=f8e4m3,f8e5m2->f8e4m3 a_scale=1x128 "
                                       "b_scale=128x128 d_quantize=1x128",
                                       "m=16 n=64 k=64 types=i8->i32",
                                       "m=16 n=64 k=64 types=f8e4m3->bf16 fast_accumulate",
                                       NULL};
  static const char *const kTexts[] = {"bf16 bf16 f32 rcr 1 16 96 64 gemm_host_",
                                       "bf16 bf16 f32 rcr 1 32 96 64 gemm_host_",
                                       "f16 f32 f32 rrr 1 16 64 64 gemm_host_",
                                       " x3 programmatic\n",
                                       "f8e4m3 f8e4m3 f32 rcr 1 16 64 256 gemm_host_scaled",
                                       " by f8e5m2 scales kb quantized\n",
                                       "i8 i32 f32 rcr 1 16 64 64 gemm_host_scaled",
                                       " fast\n"};
  const char *words;
  EQUAL(run(kLines, 0), TUNE_DONE);
  words = said();
  CHECK(strstr(words, "2 rounds; 65536 bytes are read before each run\n") != NULL);
  CHECK(strstr(words, "  8/8 ") != NULL);
  CHECK(strstr(words, "8 tuned, ") != NULL);
  if (harness.kind != TW_DEVICE_HOST) return;
  char *const text = file_read(out);
  if (!CHECK(text != NULL)) return;
  EQUAL(times(text, "\n"), 10);
  EQUAL(times(text, "\nbf16 bf16 f32 rcr 1 16 64 64 gemm_host_full"), 2);
  for (size_t i = 0; i < COUNT(kTexts); ++i)
    if (!CHECK(times(text, kTexts[i]) == 1)) printf("    %s in\n%s", kTexts[i], text);
  free(text);
}

/* Entries of the file are kept, but for those that are measured anew. */
static void merges(void) {
  static const char *const kFirst[] = {"m=16,32 n=96 k=64", NULL};
  static const char *const kSecond[] = {"m=32,64 n=96 k=64", NULL};
  remove(out);
  EQUAL(run(kFirst, 1), TUNE_DONE); /* there is no file yet */
  EQUAL(run(kSecond, 1), TUNE_DONE);
  char *text = file_read(out);
  EQUAL(times(text, " 96 64 "), 3);
  free(text);
  EQUAL(run(kSecond, 0), TUNE_DONE); /* another file takes its place */
  text = file_read(out);
  EQUAL(times(text, " 96 64 "), 2);
  free(text);
}

static void overwrite(const char *text) {
  EQUAL(file_write(out, text), TUNE_DONE);
}

static void refused(void) {
  static const char *const kGood[] = {"m=8 n=8 k=8", NULL};
  static const char *const kWrong[] = {"m=8 n=8 k=8", "m=8 n=8 k=8 lda=7", NULL};
  static const char *const kUnsupported[] = {"m=8,16 n=8 k=8 types=f32->f32", "m=8 n=8 k=8", NULL};
  static const char *const kNone[] = {"m=8 n=8 k=8 types=f32->f32", NULL};
  overwrite("a text that is no tuning\n");
  EQUAL(run(kGood, 1), TUNE_FAILED);
  SAYS(": TW_ERROR_PARSE: text, line 1: ");
  EQUAL(run(kWrong, 0), TUNE_MISUSED);
  SAYS("line 2: m=8 n=8 k=8 bf16->bf16 rcr lda=7: TW_ERROR_INVALID_ARGUMENT: lda is 7");
  EQUAL(run(kNone, 0), TUNE_INCOMPLETE);
  SAYS("nothing was tuned, and nothing is written\n");
  char *text = file_read(out);
  TEXT(text, "a text that is no tuning\n");
  free(text);
  /* One that this device does not take is left out, and told of once. */
  EQUAL(run(kUnsupported, 0), TUNE_INCOMPLETE);
  const char *const words = said();
  EQUAL(times(words, "line 1: "), 1);
  CHECK(strstr(words, "f32->f32 rcr: TW_ERROR_UNSUPPORTED: a_dtype is f32") != NULL);
  CHECK(strstr(words, "2 not tuned, for the reasons above\n") != NULL);
  text = file_read(out);
  EQUAL(times(text, " 8 8 8 "), 1);
  free(text);
  overwrite(""); /* as mktemp leaves it */
  EQUAL(run(kGood, 1), TUNE_DONE);
}

/* A dry run measures nothing, and writes to the standard output alone. */
static void dry(void) {
  static const char *const kLines[] = {"m=16,32 n=96 k=64", NULL};
  tune_options options = options_of(kLines);
  options.dry_run = 1;
  remove(out);
  said();
  EQUAL(tune_run(&options), TUNE_DONE);
  TEXT(said(), "");
  EQUAL(file_exists(out), 0);
  shapes_free(&options.shapes);
}

/* The last: afterwards every run stops at once. */
static void interrupted(void) {
  static const char *const kLines[] = {"m=16,32 n=96 k=64", NULL};
  tune_interrupt();
  EQUAL(run(kLines, 0), TUNE_INCOMPLETE);
  SAYS("interrupted: the rest was not tuned\n");
  EQUAL(file_exists(out), 0);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  const int made = mkstemp(out);
  if (made < 0 || close(made)) return 1;
  RUN(nearby);
  RUN(entries);
  RUN(merges);
  RUN(refused);
  RUN(dry);
  RUN(interrupted);
  remove(out);
  return harness_end();
}
