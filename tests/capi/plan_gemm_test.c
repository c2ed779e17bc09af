/* SPDX-License-Identifier: Apache-2.0 */
/* tw_gemm_. */
#include "plan_harness.h"

enum { kM = 70, kN = 88, kK = 56, kLda = 64, kLdb = 96, kLdc = 90, kLdd = 96 };

static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static float from_bf16(uint16_t value) {
  const uint32_t bits = (uint32_t)value << 16;
  float out;
  memcpy(&out, &bits, 4);
  return out;
}

/* Small integers: exact in bf16, and every sum of them is exact in f32. */
static float a_value(int i, int k) {
  return (float)((i * 3 + k * 5) % 7 - 3);
}
static float b_value(int k, int j) {
  return (float)((k * 2 + j * 11) % 9 - 4);
}
static float c_value(int i, int j) {
  return (float)((i + j * 3) % 5 - 2);
}

static tw_gemm_desc gemm_desc(void) {
  tw_gemm_desc desc;
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_gemm_desc_init(&desc));
  desc.d_dtype = TW_DTYPE_F32;
  desc.m = kM;
  desc.n = kN;
  desc.k = kK;
  desc.lda = kLda;
  desc.ldb = kLdb;
  desc.ldc = kLdc;
  desc.ldd = kLdd;
  return desc;
}

static void inits(void) {
  tw_gemm_desc desc;
  tw_gemm_args args;
  NULL_FAILS("desc", tw_gemm_desc_init(NULL));
  NULL_FAILS("args", tw_gemm_args_init(NULL));
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_gemm_desc_init(&desc));
  EQUAL(desc.struct_size, sizeof desc);
  EQUAL(desc.ab_dtype, TW_DTYPE_BF16);
  EQUAL(desc.d_dtype, TW_DTYPE_BF16);
  EQUAL(desc.a_order, TW_ROW_MAJOR);
  EQUAL(desc.b_order, TW_ROW_MAJOR);
  EQUAL(desc.d_order, TW_ROW_MAJOR);
  EQUAL(desc.lda | desc.ldb | desc.ldc | desc.ldd | desc.reserved, 0);
  EQUAL(desc.accumulator_dtype, TW_DTYPE_F32);
  EQUAL(desc.d_padding_free, 0);
  EQUAL(desc.min_m, 0);
  memset(&args, 0xa5, sizeof args);
  OK(tw_gemm_args_init(&args));
  EQUAL(args.struct_size, sizeof args);
  CHECK(args.alpha == 1 && args.beta == 0);
  EQUAL(args.m, -1);
  EQUAL(args.a | args.b | args.c | args.d, 0);
}

static void descriptions(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_plan *plan = (tw_plan *)&plan;
  NULL_FAILS("plan", tw_gemm_plan(s.device, &desc, NULL));
  NULL_FAILS("device", tw_gemm_plan(NULL, &desc, &plan));
  CHECK(plan == NULL);
  plan = (tw_plan *)&plan;
  NULL_FAILS("desc", tw_gemm_plan(s.device, NULL, &plan));
  CHECK(plan == NULL);
  STRUCT_SIZES_FAIL(desc, "desc", tw_gemm_plan(s.device, &desc, &plan));
  TAIL_RULES(tw_gemm_desc, desc, "desc", tw_gemm_plan(s.device, longer, &plan),
             tw_plan_destroy(plan));
#define BAD(status, argument, change)                                  \
  do {                                                                 \
    desc = gemm_desc();                                                \
    change;                                                            \
    plan = (tw_plan *)&plan;                                           \
    FAILS((status), (argument), tw_gemm_plan(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                               \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "ab_dtype", desc.ab_dtype = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "ab_dtype", desc.ab_dtype = TW_DTYPE_I8);
  BAD(TW_ERROR_INVALID_ARGUMENT, "d_dtype", desc.d_dtype = TW_DTYPE_F16);
  BAD(TW_ERROR_INVALID_ARGUMENT, "d_dtype", desc.d_dtype = -7);
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_order", desc.a_order = 2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "b_order", desc.b_order = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "d_order", desc.d_order = 7);
  BAD(TW_ERROR_INVALID_ARGUMENT, "m", desc.m = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "n", desc.n = INT64_MIN);
  BAD(TW_ERROR_INVALID_ARGUMENT, "k", desc.k = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "m", desc.m = INT64_MAX);
  BAD(TW_ERROR_INVALID_ARGUMENT, "lda", desc.lda = kK - 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "ldb", desc.ldb = kN - 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "ldc", desc.ldc = kN - 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "ldd", desc.ldd = -kLdd);
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_alignment", desc.a_alignment = 3);
  BAD(TW_ERROR_INVALID_ARGUMENT, "b_alignment", desc.b_alignment = 12);
  BAD(TW_ERROR_INVALID_ARGUMENT, "c_alignment", desc.c_alignment = 6);
  BAD(TW_ERROR_INVALID_ARGUMENT, "d_alignment", desc.d_alignment = 100);
  BAD(TW_ERROR_INVALID_ARGUMENT, NULL, desc.reserved = 1);
  BAD(TW_ERROR_OVERFLOW, "lda", desc.lda = INT64_MAX);
  BAD(TW_ERROR_INVALID_ARGUMENT, "accumulator_dtype", desc.accumulator_dtype = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "accumulator_dtype", desc.accumulator_dtype = TW_DTYPE_BF16);
  BAD(TW_ERROR_INVALID_ARGUMENT, "accumulator_dtype", desc.accumulator_dtype = TW_DTYPE_F16);
  BAD(TW_ERROR_INVALID_ARGUMENT, "accumulator_dtype",
      (desc.ab_dtype = TW_DTYPE_F16, desc.accumulator_dtype = TW_DTYPE_F16)); /* d_dtype is f32 */
  BAD(TW_ERROR_INVALID_ARGUMENT, "d_padding_free", desc.d_padding_free = 2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "min_m", desc.min_m = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "min_m", desc.min_m = kM + 1);
#undef BAD
  close_setup(&s);
}

static uint16_t a[kM * kLda], b[kK * kLdb];
static float c[kM * kLdc], d[kM * kLdd];

static tw_gemm_args upload_all(const setup *s) {
  tw_gemm_args args;
  for (int i = 0; i < kM; ++i)
    for (int k = 0; k < kLda; ++k) a[i * kLda + k] = k < kK ? to_bf16(a_value(i, k)) : 0x7fc0;
  for (int k = 0; k < kK; ++k)
    for (int j = 0; j < kLdb; ++j) b[k * kLdb + j] = j < kN ? to_bf16(b_value(k, j)) : 0x7fc0;
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kLdc; ++j) c[i * kLdc + j] = c_value(i, j);
  OK(tw_gemm_args_init(&args));
  args.a = uploaded(s, a, sizeof a);
  args.b = uploaded(s, b, sizeof b);
  args.c = uploaded(s, c, sizeof c);
  args.d = allocated(s, sizeof d);
  return args;
}

/* D after a run of `rows` rows; what lies outside D is left alone. */
static void has_product(const setup *s, const tw_gemm_args *args, int rows) {
  int wrong = 0, touched = 0;
  download(s, d, args->d, sizeof d);
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kLdd; ++j) {
      float sum = 0;
      if (i >= rows || j >= kN) {
        touched += d[i * kLdd + j] != 0;
        continue;
      }
      for (int k = 0; k < kK; ++k) sum += from_bf16(a[i * kLda + k]) * from_bf16(b[k * kLdb + j]);
      sum *= args->alpha;
      if (args->beta != 0) sum += args->beta * c[i * kLdc + j];
      wrong += d[i * kLdd + j] != sum;
    }
  EQUAL(wrong, 0);
  EQUAL(touched, 0);
}

static void runs(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args = upload_all(&s), bad;
  tw_plan *plan = NULL;
  tw_plan_info info;
  static const struct {
    float alpha, beta;
    int64_t m;
  } cases[] = {{1, 0, -1},  {1, 0, kM}, {2, 0, -1}, {1, 1, -1},
               {-1, 2, 33}, {1, 0, 1},  {0, 1, -1}, {1, 0, 0}};
  desc.a_alignment = 16;
  desc.d_alignment = 4;
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  describes_itself(plan, TW_OP_GEMM);
  info.struct_size = sizeof info;
  OK(tw_plan_get_info(plan, &info));
  EQUAL(info.flops, (int64_t)2 * kM * kN * kK);
  for (size_t i = 0; i < COUNT(cases); ++i) {
    args.alpha = cases[i].alpha;
    args.beta = cases[i].beta;
    args.m = cases[i].m;
    OK(tw_memset(s.stream, args.d, 0, sizeof d));
    OK(tw_gemm_run(plan, s.stream, &args));
    has_product(&s, &args, cases[i].m < 0 ? kM : (int)cases[i].m);
  }
  args.alpha = 1;
  args.beta = 0;
  args.m = -1;

  NULL_FAILS("plan", tw_gemm_run(NULL, s.stream, &args));
  NULL_FAILS("stream", tw_gemm_run(plan, NULL, &args));
  NULL_FAILS("args", tw_gemm_run(plan, s.stream, NULL));
  STRUCT_SIZES_FAIL(args, "args", tw_gemm_run(plan, s.stream, &args));
  TAIL_RULES(tw_gemm_args, args, "args", tw_gemm_run(plan, s.stream, longer), (void)0);
#define BAD(status, argument, change)                               \
  do {                                                              \
    bad = args;                                                     \
    change;                                                         \
    FAILS((status), (argument), tw_gemm_run(plan, s.stream, &bad)); \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "a", bad.a = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "b", bad.b = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "c", (bad.c = 0, bad.beta = 1));
  BAD(TW_ERROR_INVALID_ARGUMENT, "d", bad.d = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "m", bad.m = -2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "m", bad.m = kM + 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "m", bad.m = INT64_MAX);
  BAD(TW_ERROR_INVALID_ARGUMENT, NULL, bad.reserved = 1);
  BAD(TW_ERROR_MISALIGNED, "a", bad.a += 8);
  BAD(TW_ERROR_MISALIGNED, "b", bad.b += 1);
  BAD(TW_ERROR_MISALIGNED, "d", bad.d += 2);
  BAD(TW_ERROR_OVERLAP, NULL, bad.d = bad.a);
  BAD(TW_ERROR_OVERLAP, NULL, bad.d = bad.b + 256);
  BAD(TW_ERROR_OVERLAP, NULL, (bad.c = bad.d + 4, bad.beta = 1));
  BAD(TW_ERROR_OVERLAP, NULL, (bad.c = bad.d, bad.beta = 1)); /* with another pitch */
#undef BAD
  /* Without beta C is not looked at. */
  args.c = 0;
  OK(tw_gemm_run(plan, s.stream, &args));
  has_product(&s, &args, kM);
  {
    tw_copy_args copy;
    setup other = open_setup();
    FAILS(TW_ERROR_WRONG_DEVICE, NULL, tw_gemm_run(plan, other.stream, &args));
    close_setup(&other);
    OK(tw_copy_args_init(&copy));
    FAILS(TW_ERROR_INVALID_ARGUMENT, "plan", tw_copy_run(plan, s.stream, &copy));
  }
  tw_plan_destroy(plan);
  close_setup(&s);
}

/* C may be D where their pitches agree. */
static void in_place(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args = upload_all(&s);
  tw_plan *plan = NULL;
  desc.ldc = kLdd;
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  OK(tw_memset(s.stream, args.d, 0, sizeof d));
  args.beta = 1;
  args.c = args.d;
  OK(tw_gemm_run(plan, s.stream, &args));
  OK(tw_gemm_run(plan, s.stream, &args));
  args.alpha = 2; /* twice one, on zeros, is two */
  args.beta = 0;
  has_product(&s, &args, kM);
  tw_plan_destroy(plan);
  close_setup(&s);
}

enum { kMany = 512 };
static tw_gemm_candidate list[kMany];

static void sized(tw_gemm_candidate *candidates, int32_t count) {
  memset(candidates, 0xa5, (size_t)count * sizeof *candidates);
  for (int32_t i = 0; i < count; ++i) candidates[i].struct_size = sizeof *candidates;
}

/* Each candidate is listed once, can be forced, and multiplies. */
static void candidates(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args = upload_all(&s);
  tw_plan *plan = NULL;
  tw_plan_info info;
  int32_t count = 0, again = 0;
  OK(tw_gemm_candidates(s.device, &desc, NULL, 0, &count));
  CHECK(count >= 2 && count <= kMany); /* through maps, and plain */
  sized(list, kMany);
  OK(tw_gemm_candidates(s.device, &desc, list, kMany, &again));
  EQUAL(again, count);
  for (int32_t i = 0; i < count; ++i) {
    const tw_gemm_candidate *const c = &list[i];
    EQUAL(c->struct_size, sizeof *c);
    CHECK(strncmp(c->text, c->kernel, strlen(c->kernel)) == 0);
    CHECK(c->split >= 1 && c->split <= 8);
    CHECK((c->split > 1) == (c->text[strlen(c->kernel)] == '/'));
    CHECK(c->microseconds > 0 && c->waves > 0);
    CHECK(i == 0 || c->microseconds >= list[i - 1].microseconds);
    for (int32_t j = 0; j < i; ++j) CHECK(strcmp(c->text, list[j].text) != 0);
    EQUAL(c->m_first, kM);
    EQUAL(c->m_last, kM);
    if (!OK(tw_gemm_plan_candidate(s.device, &desc, c->text, &plan))) continue;
    info.struct_size = sizeof info;
    OK(tw_plan_get_info(plan, &info));
    TEXT(info.kernel, c->kernel);
    for (args.m = kM; args.m > 0; args.m -= 23) {
      OK(tw_memset(s.stream, args.d, 0, sizeof d));
      OK(tw_gemm_run(plan, s.stream, &args));
      has_product(&s, &args, (int)args.m);
    }
    tw_plan_destroy(plan);
  }
  /* The first is the plan's. */
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  info.struct_size = sizeof info;
  OK(tw_plan_get_info(plan, &info));
  TEXT(info.kernel, list[0].kernel);
  tw_plan_destroy(plan);

  sized(list, 2);
  OK(tw_gemm_candidates(s.device, &desc, list, 1, NULL));
  CHECK(list[1].split == 0xa5a5a5a5u); /* beyond the capacity */
  FAILS(TW_ERROR_INVALID_ARGUMENT, "capacity",
        tw_gemm_candidates(s.device, &desc, list, -1, &count));
  EQUAL(count, 0);
  NULL_FAILS("candidates", tw_gemm_candidates(s.device, &desc, NULL, 1, &count));
  list[0].struct_size = 8;
  FAILS(TW_ERROR_STRUCT_SIZE, "candidates", tw_gemm_candidates(s.device, &desc, list, 1, NULL));
  desc.lda = 1;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "lda", tw_gemm_candidates(s.device, &desc, NULL, 0, &count));
  close_setup(&s);
}

static void forcing(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args = upload_all(&s);
  tw_plan *plan = (tw_plan *)&plan;
  const char *const foreign = harness.kind == TW_DEVICE_CUDA ? "gemm_host_128x128x64"
                                                             : "gemm_bf16_bf16_rc_128x128_2x1_coop";
  int32_t count = 0;
  FAILS(TW_ERROR_NOT_FOUND, "candidate", tw_gemm_plan_candidate(s.device, &desc, "", &plan));
  CHECK(plan == NULL);
  FAILS(TW_ERROR_NOT_FOUND, "candidate",
        tw_gemm_plan_candidate(s.device, &desc, "gemm_of_nobody/2", &plan));
  FAILS(TW_ERROR_PARSE, "candidate",
        tw_gemm_plan_candidate(s.device, &desc, "gemm_bf16_bf16_rc_128x128_1x1_split/9", &plan));
  FAILS(TW_ERROR_UNSUPPORTED, "candidate", tw_gemm_plan_candidate(s.device, &desc, foreign, &plan));
  CHECK(strstr(tw_last_error(), "does not run on") != NULL);
  CHECK(plan == NULL);
  /* The first candidate goes through maps: addresses that maps cannot have are refused. */
  sized(list, 1);
  NEED(tw_gemm_candidates(s.device, &desc, list, 1, &count));
  NEED(tw_gemm_plan_candidate(s.device, &desc, list[0].text, &plan));
  args.a += 2;
  FAILS(TW_ERROR_MISALIGNED, "a", tw_gemm_run(plan, s.stream, &args));
  args.a -= 2;
  args.b += 8;
  FAILS(TW_ERROR_MISALIGNED, "b", tw_gemm_run(plan, s.stream, &args));
  tw_plan_destroy(plan);
  desc.lda = kLda + 1; /* no map has this pitch */
  FAILS(TW_ERROR_UNSUPPORTED, "candidate",
        tw_gemm_plan_candidate(s.device, &desc, list[0].text, &plan));
  CHECK(strstr(tw_last_error(), "lda is 65") != NULL);
  close_setup(&s);
}

/* Bytes behind N are touched where they are free, and then only to the end of 16 bytes. */
static void padding(void) {
  enum { kOdd = 85 };
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args = upload_all(&s);
  desc.n = kOdd;
  for (uint32_t is_free = 0; is_free < 2; ++is_free) {
    tw_plan *plan = NULL;
    int wrong = 0, beyond = 0, behind = 0;
    desc.d_padding_free = is_free;
    NEED(tw_gemm_plan(s.device, &desc, &plan));
    OK(tw_memset(s.stream, args.d, 0x55, sizeof d));
    OK(tw_gemm_run(plan, s.stream, &args));
    download(&s, d, args.d, sizeof d);
    for (int i = 0; i < kM; ++i)
      for (int j = 0; j < kLdd; ++j) {
        const float got = d[i * kLdd + j];
        uint32_t bits;
        float sum = 0;
        memcpy(&bits, &got, 4);
        if (j >= (kOdd + 3) / 4 * 4) {
          beyond += bits != 0x55555555u;
        } else if (j >= kOdd) {
          behind += bits != 0x55555555u;
        } else {
          for (int k = 0; k < kK; ++k) sum += a_value(i, k) * b_value(k, j);
          wrong += got != sum;
        }
      }
    EQUAL(wrong, 0);
    EQUAL(beyond, 0);
    if (!is_free) EQUAL(behind, 0);
    if (is_free) { /* the last line's padding is D's too: nothing else may lie there */
      const uint64_t kept = args.b;
      args.b = args.d + ((uint64_t)(kM - 1) * kLdd + kOdd) * 4 + 12;
      FAILS(TW_ERROR_OVERLAP, "d", tw_gemm_run(plan, s.stream, &args));
      args.b = kept;
    }
    tw_plan_destroy(plan);
  }
  close_setup(&s);
}

/* A plan's ranges of m cover what it serves. */
static void ranges(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args = upload_all(&s);
  tw_copy_desc copy_desc;
  tw_plan *plan = NULL, *copy = NULL;
  int32_t count = 0;
  desc.min_m = 9;
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  sized(list, kMany);
  NEED(tw_gemm_ranges(plan, list, kMany, &count));
  CHECK(count >= 1 && count <= kMany);
  EQUAL(list[0].m_first, 9);
  EQUAL(list[count - 1].m_last, kM);
  for (int32_t i = 1; i < count; ++i) EQUAL(list[i].m_first, list[i - 1].m_last + 1);
  args.m = 8;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "m", tw_gemm_run(plan, s.stream, &args));
  args.m = 0;
  OK(tw_gemm_run(plan, s.stream, &args));
  args.m = 9;
  OK(tw_memset(s.stream, args.d, 0, sizeof d));
  OK(tw_gemm_run(plan, s.stream, &args));
  has_product(&s, &args, 9);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "capacity", tw_gemm_ranges(plan, list, -1, &count));
  NULL_FAILS("candidates", tw_gemm_ranges(plan, NULL, 1, &count));
  NULL_FAILS("plan", tw_gemm_ranges(NULL, list, 1, &count));
  EQUAL(count, 0);
  OK(tw_copy_desc_init(&copy_desc));
  copy_desc.dtype = TW_DTYPE_U8;
  copy_desc.rank = 1;
  copy_desc.shape[0] = 64;
  copy_desc.src_stride[0] = copy_desc.dst_stride[0] = 1;
  NEED(tw_copy_plan(s.device, &copy_desc, &copy));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "plan", tw_gemm_ranges(copy, NULL, 0, &count));
  tw_plan_destroy(copy);
  tw_plan_destroy(plan);
  close_setup(&s);
}

static void after_the_device(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args;
  tw_plan *plan = NULL;
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  OK(tw_gemm_args_init(&args));
  tw_device_destroy(s.device);
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_gemm_run(plan, s.stream, &args));
  ends_with_its_device(plan);
  tw_stream_destroy(s.stream);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(inits);
  RUN(descriptions);
  RUN(runs);
  RUN(in_place);
  RUN(candidates);
  RUN(forcing);
  RUN(padding);
  RUN(ranges);
  RUN(after_the_device);
  return harness_end();
}
