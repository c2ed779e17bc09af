/* SPDX-License-Identifier: Apache-2.0 */
/* Narrow types and their scales through the tw_gemm_ functions: fields, refusals that name the
   argument, and products whose results are exact. */
#include "tests/capi/common/plan_harness.h"

enum { kM = 5, kN = 130, kK = 257, kBlocks = 3 };

static uint8_t a[kM * kK], b[kN * kK], d8[kM * kN];
static float a_scale[kBlocks * 8], b_scale[2 * kBlocks], d[kM * kN], d_block_scale[kM * 2];

/* e4m3: 1, -1, 2 and 0.5. */
static const uint8_t kCodes[] = {0x38, 0xb8, 0x40, 0x30};
static const float kValues[] = {1, -1, 2, 0.5f};

static int a_code(int i, int k) {
  return (i * 3 + k) % 4;
}
static int b_code(int k, int j) {
  return (k * 5 + j * 3 + k / 7) % 4;
}
static float a_factor(int i, int block) {
  return (float)(1 + (i + block) % 3);
}
static float b_factor(int block, int columns) {
  return columns + block == 1 ? -0.5f : 2;
}

/* A is row-major, B column-major. Scales of A are M-major with a leading dimension of 8, those of B
   are n / 128 rows of k / 128. */
static tw_gemm_desc scaled_desc(void) {
  tw_gemm_desc desc;
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  desc.a_dtype = TW_DTYPE_F8E4M3;
  desc.d_dtype = TW_DTYPE_F32;
  desc.b_order = TW_COLUMN_MAJOR;
  desc.m = kM;
  desc.n = kN;
  desc.k = kK;
  desc.a_scale = TW_SCALE_1X128;
  desc.a_scale_order = TW_COLUMN_MAJOR;
  desc.a_scale_ld = 8;
  desc.b_scale = TW_SCALE_128X128;
  desc.b_scale_order = TW_COLUMN_MAJOR;
  return desc;
}

static tw_gemm_args upload_all(const setup *s) {
  tw_gemm_args args;
  for (int k = 0; k < kK; ++k) {
    for (int i = 0; i < kM; ++i) a[i * kK + k] = kCodes[a_code(i, k)];
    for (int j = 0; j < kN; ++j) b[j * kK + k] = kCodes[b_code(k, j)];
  }
  for (int block = 0; block < kBlocks; ++block) {
    for (int i = 0; i < 8; ++i) a_scale[block * 8 + i] = i < kM ? a_factor(i, block) : 1e30f;
    for (int columns = 0; columns < 2; ++columns)
      b_scale[columns * kBlocks + block] = b_factor(block, columns);
  }
  OK(tw_gemm_args_init(&args, sizeof args));
  args.a = uploaded(s, a, sizeof a);
  args.b = uploaded(s, b, sizeof b);
  args.d = allocated(s, sizeof d);
  args.a_scale = uploaded(s, a_scale, sizeof a_scale);
  args.b_scale = uploaded(s, b_scale, sizeof b_scale);
  return args;
}

static float wanted(int i, int j) {
  float sum = 0;
  for (int k = 0; k < kK; ++k)
    sum += a_factor(i, k / 128) * b_factor(k / 128, j / 128) * kValues[a_code(i, k)] *
           kValues[b_code(k, j)];
  return sum;
}

static void values(void) {
  EQUAL(TW_SCALE_NONE, 0);
  EQUAL(TW_SCALE_TENSOR, 1);
  EQUAL(TW_SCALE_ROW, 2);
  EQUAL(TW_SCALE_1X128, 3);
  EQUAL(TW_SCALE_128X128, 4);
  EQUAL(TW_SCALE_K32_UE8M0, 20);
  EQUAL(TW_SCALE_K16_UE4M3, 21);
  EQUAL(TW_GEMM_FAST_ACCUMULATE, 1024);
}

static void descriptions(void) {
  setup s = open_setup();
  tw_gemm_desc desc = scaled_desc();
  tw_plan *plan;
  OK(tw_gemm_supported(s.device, &desc));
#define BAD(status, argument, change)                                  \
  do {                                                                 \
    desc = scaled_desc();                                              \
    change;                                                            \
    plan = (tw_plan *)&plan;                                           \
    FAILS((status), (argument), tw_gemm_plan(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                               \
  } while (0)
#define UNSUPPORTED(argument, change) BAD(TW_ERROR_UNSUPPORTED, argument, change)
#define WRONG(argument, change) BAD(TW_ERROR_INVALID_ARGUMENT, argument, change)
#define SCALES(a, b)                                                          \
  (desc.a_scale = (a), desc.b_scale = (b), desc.a_scale_order = TW_ROW_MAJOR, \
   desc.b_scale_order = TW_ROW_MAJOR, desc.a_scale_ld = 0)
  /* types */
  UNSUPPORTED("b_dtype", (desc.a_dtype = TW_DTYPE_F8E5M2, desc.b_dtype = TW_DTYPE_F8E5M2));
  UNSUPPORTED("b_dtype", desc.b_dtype = TW_DTYPE_I8);
  UNSUPPORTED("b_dtype", (desc.a_dtype = TW_DTYPE_I8, desc.b_dtype = TW_DTYPE_U8));
  UNSUPPORTED("b_dtype", (desc.a_dtype = TW_DTYPE_TF32, desc.b_dtype = TW_DTYPE_F32));
  UNSUPPORTED("d_dtype", desc.d_dtype = TW_DTYPE_I8);
  UNSUPPORTED("d_dtype", desc.d_dtype = TW_DTYPE_I32);
  UNSUPPORTED("d_dtype", (desc.a_dtype = TW_DTYPE_I8, desc.d_dtype = TW_DTYPE_F8E4M3));
  UNSUPPORTED("d_dtype", desc.d_dtype = TW_DTYPE_F64);
  WRONG("d_dtype", desc.d_dtype = 77);
  UNSUPPORTED("c_dtype", desc.c_dtype = TW_DTYPE_BF16);
  UNSUPPORTED("accumulator_dtype", desc.accumulator_dtype = TW_DTYPE_F16);
  UNSUPPORTED("accumulator_dtype", desc.accumulator_dtype = TW_DTYPE_I32);
  UNSUPPORTED("bias_dtype", (desc.bias = TW_PER_ROW, desc.bias_dtype = TW_DTYPE_F8E4M3));
  /* pairs of scales */
  UNSUPPORTED("a_scale", desc.b_scale = TW_SCALE_TENSOR);
  UNSUPPORTED("a_scale", SCALES(TW_SCALE_128X128, TW_SCALE_128X128));
  UNSUPPORTED("a_scale", SCALES(TW_SCALE_128X128, TW_SCALE_1X128));
  UNSUPPORTED("a_scale", SCALES(TW_SCALE_ROW, TW_SCALE_TENSOR));
  UNSUPPORTED("a_scale", SCALES(TW_SCALE_TENSOR, TW_SCALE_NONE));
  UNSUPPORTED("b_scale", SCALES(TW_SCALE_NONE, TW_SCALE_ROW));
  UNSUPPORTED("a_scale", SCALES(TW_SCALE_K32_UE8M0, TW_SCALE_K32_UE8M0));
  UNSUPPORTED("b_scale", SCALES(TW_SCALE_NONE, TW_SCALE_K16_UE4M3));
  WRONG("a_scale", SCALES(5, TW_SCALE_TENSOR));
  WRONG("b_scale", SCALES(TW_SCALE_TENSOR, -1));
  /* layout of scales */
  WRONG("a_scale_ld", desc.a_scale_ld = kM - 1);
  WRONG("b_scale_ld", desc.b_scale_ld = kBlocks - 1);
  WRONG("a_scale_ld", desc.a_scale_ld = -8);
  WRONG("a_scale_order", desc.a_scale_order = 2);
  WRONG("b_scale_order", desc.b_scale_order = -1);
  WRONG("a_scale_ld", (SCALES(TW_SCALE_ROW, TW_SCALE_ROW), desc.a_scale_ld = kM));
  WRONG("b_scale_order",
        (SCALES(TW_SCALE_ROW, TW_SCALE_ROW), desc.b_scale_order = TW_COLUMN_MAJOR));
  WRONG("a_scale_batch_stride", desc.a_scale_batch_stride = -2);
  BAD(TW_ERROR_OVERFLOW, "a_scale_ld", desc.a_scale_ld = INT64_MAX);
  BAD(TW_ERROR_OVERFLOW, "b_scale_batch_stride",
      (desc.batch_count = 3, desc.b_scale_batch_stride = INT64_MAX / 8));
  /* combinations with other fields */
  UNSUPPORTED("flags", desc.flags = TW_GEMM_FAST_ACCUMULATE);
  UNSUPPORTED("flags", (SCALES(0, 0), desc.a_dtype = TW_DTYPE_I8, desc.d_dtype = TW_DTYPE_F32,
                        desc.flags = TW_GEMM_FAST_ACCUMULATE));
  UNSUPPORTED("d_quantize", desc.d_quantize = TW_SCALE_1X128);
  UNSUPPORTED("d_quantize", (desc.d_dtype = TW_DTYPE_F8E4M3, desc.d_quantize = TW_SCALE_128X128));
  UNSUPPORTED("d_quantize", (desc.d_dtype = TW_DTYPE_F8E4M3, desc.d_quantize = TW_SCALE_1X128,
                             desc.d_order = TW_COLUMN_MAJOR));
  WRONG("d_block_scale_ld", (desc.d_dtype = TW_DTYPE_F8E4M3, desc.d_quantize = TW_SCALE_1X128,
                             desc.d_block_scale_ld = 1));
#define EXACT(change) \
  (SCALES(0, 0), desc.a_dtype = TW_DTYPE_I8, desc.d_dtype = TW_DTYPE_I32, (change))
  UNSUPPORTED("bias", EXACT(desc.bias = TW_PER_ROW));
  UNSUPPORTED("activation", EXACT(desc.activation = TW_ACTIVATION_RELU));
  UNSUPPORTED("gate", EXACT(desc.gate = TW_GATE_HALVES));
  UNSUPPORTED("d_factor", EXACT(desc.d_factor = TW_PER_TENSOR));
  UNSUPPORTED("flags", EXACT(desc.flags = TW_GEMM_AMAX));
  UNSUPPORTED("flags", EXACT(desc.flags = TW_GEMM_DEVICE_SCALARS));
  UNSUPPORTED("a_scale", EXACT(desc.a_scale = desc.b_scale = TW_SCALE_TENSOR));
#undef BAD
  close_setup(&s);
}

static void exact_results(void) {
  setup s = open_setup();
  tw_gemm_args args = upload_all(&s), bad;
  tw_gemm_desc desc = scaled_desc();
  tw_plan *plan = NULL;
  static char text[4096];
  int wrong = 0;
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  OK(tw_plan_explain(plan, text, sizeof text, NULL));
  CHECK(strstr(text, "f8e4m3 to f32") != NULL);
  CHECK(strstr(text, "scales of A: one for each row and 128 of k; of B: one for each block") !=
        NULL);
  OK(tw_gemm_run(plan, s.stream, &args));
  download(&s, d, args.d, sizeof d);
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j) wrong += d[i * kN + j] != wanted(i, j);
  EQUAL(wrong, 0);
#define BAD(status, argument, change)                               \
  do {                                                              \
    bad = args;                                                     \
    change;                                                         \
    FAILS((status), (argument), tw_gemm_run(plan, s.stream, &bad)); \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_scale", bad.a_scale = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "b_scale", bad.b_scale = 0);
  BAD(TW_ERROR_MISALIGNED, "a_scale", bad.a_scale += 2);
  BAD(TW_ERROR_MISALIGNED, "b_scale", bad.b_scale += 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "d_block_scale", bad.d_block_scale = args.a_scale);
  BAD(TW_ERROR_OVERLAP, NULL, bad.a_scale = args.d);
  /* With alpha 0 scales are not read and may be null. */
  args.alpha = 0;
  args.a_scale = args.b_scale = 0;
  OK(tw_gemm_run(plan, s.stream, &args));
  download(&s, d, args.d, sizeof d);
  for (int i = 0; i < kM * kN; ++i) wrong += d[i] != 0;
  EQUAL(wrong, 0);
  tw_plan_destroy(plan);
#undef BAD
  close_setup(&s);
}

/* D is f8e4m3 with a scale for each row and 128 columns. The largest element of each block is 448
   times a power of two, so that scales and elements are exact. */
static void quantized(void) {
  setup s = open_setup();
  tw_gemm_args args = upload_all(&s);
  tw_gemm_desc desc = scaled_desc();
  tw_plan *plan = NULL;
  int wrong = 0;
  desc.d_dtype = TW_DTYPE_F8E4M3;
  desc.d_quantize = TW_SCALE_1X128;
  args.d_block_scale = allocated(&s, sizeof d_block_scale);
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  OK(tw_gemm_run(plan, s.stream, &args));
  download(&s, d8, args.d, sizeof d8);
  download(&s, d_block_scale, args.d_block_scale, sizeof d_block_scale);
  for (int i = 0; i < kM; ++i)
    for (int block = 0; block < 2; ++block) {
      const int end = block == 0 ? 128 : kN;
      float largest = 0;
      int most = 0;
      for (int j = block * 128; j < end; ++j) {
        const float value = wanted(i, j) < 0 ? -wanted(i, j) : wanted(i, j);
        if (value > largest) largest = value;
        if ((d8[i * kN + j] & 0x7f) > most) most = d8[i * kN + j] & 0x7f;
        wrong += wanted(i, j) != 0 && (d8[i * kN + j] & 0x80) != (wanted(i, j) < 0 ? 0x80 : 0);
      }
      wrong += most != 0x7e;
      wrong += d_block_scale[i * 2 + block] != largest / 448;
    }
  EQUAL(wrong, 0);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "d_block_scale",
        (args.d_block_scale = 0, tw_gemm_run(plan, s.stream, &args)));
  tw_plan_destroy(plan);
  close_setup(&s);
}

static void integers(void) {
  setup s = open_setup();
  tw_gemm_args args = upload_all(&s), bad;
  tw_gemm_desc desc = scaled_desc();
  tw_plan *plan = NULL;
  static int32_t sums[kM * kN];
  int wrong = 0;
  EXACT((void)0);
  desc.accumulator_dtype = TW_DTYPE_I32;
  args.a_scale = args.b_scale = 0;
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  OK(tw_gemm_run(plan, s.stream, &args));
  download(&s, sums, args.d, sizeof sums);
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j) {
      int32_t sum = 0;
      for (int k = 0; k < kK; ++k) sum += (int8_t)a[i * kK + k] * (int8_t)b[j * kK + k];
      wrong += sums[i * kN + j] != sum;
    }
  EQUAL(wrong, 0);
  bad = args;
  bad.alpha = 2;
  FAILS(TW_ERROR_UNSUPPORTED, "alpha", tw_gemm_run(plan, s.stream, &bad));
  bad = args;
  bad.beta = 1;
  bad.c = bad.d;
  FAILS(TW_ERROR_UNSUPPORTED, "beta", tw_gemm_run(plan, s.stream, &bad));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "a_scale",
        (bad = args, bad.a_scale = args.a, tw_gemm_run(plan, s.stream, &bad)));
  tw_plan_destroy(plan);
  close_setup(&s);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(values);
  RUN(descriptions);
  RUN(exact_results);
  RUN(quantized);
  RUN(integers);
  return harness_end();
}
