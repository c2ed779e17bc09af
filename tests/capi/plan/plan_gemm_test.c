/* SPDX-License-Identifier: Apache-2.0 */
/* The tw_gemm_ functions. */
#include "tests/capi/common/gemm_harness.h"

static void inits(void) {
  tw_gemm_desc desc;
  tw_gemm_args args;
  NULL_FAILS("desc", tw_gemm_desc_init(NULL, sizeof(tw_gemm_desc)));
  NULL_FAILS("args", tw_gemm_args_init(NULL, sizeof(tw_gemm_args)));
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  EQUAL(desc.struct_size, sizeof desc);
  EQUAL(desc.a_dtype, TW_DTYPE_BF16);
  EQUAL(desc.b_dtype | desc.c_dtype | desc.d_dtype, 0);
  EQUAL(desc.m, TW_UNSET);
  EQUAL(desc.n, TW_UNSET);
  EQUAL(desc.k, TW_UNSET);
  EQUAL(desc.a_order, TW_ROW_MAJOR);
  EQUAL(desc.b_order, TW_ROW_MAJOR);
  EQUAL(desc.d_order, TW_ROW_MAJOR);
  EQUAL(desc.lda | desc.ldb | desc.ldc | desc.ldd | desc.reserved, 0);
  EQUAL(desc.accumulator_dtype, TW_DTYPE_F32);
  EQUAL(desc.min_m | desc.a_scale_ld | desc.b_scale_ld | desc.d_block_scale_ld, 0);
  EQUAL(desc.a_scale_batch_stride, -1);
  EQUAL(desc.b_scale_batch_stride, -1);
  EQUAL(desc.d_block_scale_batch_stride, -1);
  EQUAL(desc.d_quantize | desc.d_block_scale_order, 0);
  EQUAL(desc.batch_count, 1);
  CHECK(desc.a_batch_stride == -1 && desc.b_batch_stride == -1);
  CHECK(desc.c_batch_stride == -1 && desc.d_batch_stride == -1);
  EQUAL(desc.flags | desc.reserved, 0);
  EQUAL(desc.bias | desc.bias_dtype | desc.activation | desc.gate | desc.d_factor, 0);
  memset(&args, 0xa5, sizeof args);
  OK(tw_gemm_args_init(&args, sizeof args));
  EQUAL(args.struct_size, sizeof args);
  CHECK(args.alpha == 1 && args.beta == 0);
  EQUAL(args.m, -1);
  EQUAL(args.a | args.b | args.c | args.d | args.workspace | args.workspace_bytes, 0);
  EQUAL(args.device_m | args.device_alpha | args.device_beta | args.invalid_count, 0);
  EQUAL(args.bias | args.d_factor | args.amax | args.a_scale | args.b_scale | args.d_block_scale,
        0);
  CHECK(args.d_factor_value == 1);
}

static void descriptions(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_plan *plan = (tw_plan *)&plan;
  PLAN_RULES(tw_gemm_desc, desc, tw_gemm_plan, s.device);
#define BAD(status, argument, change)                                  \
  do {                                                                 \
    desc = gemm_desc();                                                \
    change;                                                            \
    plan = (tw_plan *)&plan;                                           \
    FAILS((status), (argument), tw_gemm_plan(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                               \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_dtype", desc.a_dtype = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_dtype", desc.a_dtype = -5);
  BAD(TW_ERROR_UNSUPPORTED, "a_dtype", desc.a_dtype = TW_DTYPE_U8);
  BAD(TW_ERROR_UNSUPPORTED, "a_dtype", desc.a_dtype = TW_DTYPE_F64);
  BAD(TW_ERROR_UNSUPPORTED, "b_dtype", desc.b_dtype = TW_DTYPE_F16);
  BAD(TW_ERROR_INVALID_ARGUMENT, "b_dtype", desc.b_dtype = 77);
  BAD(TW_ERROR_UNSUPPORTED, "c_dtype", desc.c_dtype = TW_DTYPE_BF16);
  BAD(TW_ERROR_UNSUPPORTED, "a_scale", desc.a_scale = TW_SCALE_1X128);
  BAD(TW_ERROR_UNSUPPORTED, "b_scale", desc.b_scale = TW_SCALE_K32_UE8M0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "b_scale", desc.b_scale = 11);
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_scale", desc.a_scale_ld = 4);
  BAD(TW_ERROR_INVALID_ARGUMENT, "b_scale", desc.b_scale_order = TW_COLUMN_MAJOR);
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_scale", desc.a_scale_batch_stride = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "d_quantize", desc.d_block_scale_ld = 4);
  BAD(TW_ERROR_UNSUPPORTED, "d_quantize", desc.d_quantize = TW_SCALE_1X128);
  BAD(TW_ERROR_UNSUPPORTED, "flags", desc.flags = TW_GEMM_FAST_ACCUMULATE);
  BAD(TW_ERROR_UNSUPPORTED, "d_dtype", desc.d_dtype = TW_DTYPE_F16);
  BAD(TW_ERROR_INVALID_ARGUMENT, "d_dtype", desc.d_dtype = -7);
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_order", desc.a_order = 2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "b_order", desc.b_order = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "d_order", desc.d_order = 7);
  BAD(TW_ERROR_INVALID_ARGUMENT, "m", desc.m = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "n", desc.n = INT64_MIN);
  BAD(TW_ERROR_INVALID_ARGUMENT, "k", desc.k = -1);
  BAD(TW_ERROR_UNSUPPORTED, "m", desc.m = INT64_MAX);
  BAD(TW_ERROR_UNSUPPORTED, "bias", desc.bias = TW_PER_TENSOR);
  BAD(TW_ERROR_UNSUPPORTED, "bias_dtype", (desc.bias = TW_PER_ROW, desc.bias_dtype = TW_DTYPE_F64));
  BAD(TW_ERROR_INVALID_ARGUMENT, "bias_dtype", (desc.bias = TW_PER_ROW, desc.bias_dtype = 77));
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
  BAD(TW_ERROR_UNSUPPORTED, "accumulator_dtype", desc.accumulator_dtype = TW_DTYPE_BF16);
  BAD(TW_ERROR_UNSUPPORTED, "accumulator_dtype", desc.accumulator_dtype = TW_DTYPE_F16);
  BAD(TW_ERROR_UNSUPPORTED, "accumulator_dtype",
      (desc.a_dtype = TW_DTYPE_F16, desc.accumulator_dtype = TW_DTYPE_F16)); /* d_dtype is f32 */
  BAD(TW_ERROR_INVALID_ARGUMENT, "reserved", desc.reserved = 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "batch_count", desc.batch_count = -1);
  BAD(TW_ERROR_UNSUPPORTED, "batch_count", desc.batch_count = (1 << 20) + 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_batch_stride", desc.a_batch_stride = -2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "b_batch_stride", desc.b_batch_stride = INT64_MIN);
  BAD(TW_ERROR_INVALID_ARGUMENT, "c_batch_stride", desc.c_batch_stride = -3);
  BAD(TW_ERROR_INVALID_ARGUMENT, "d_batch_stride", desc.d_batch_stride = -kLdd);
  BAD(TW_ERROR_OVERFLOW, "a_batch_stride",
      (desc.batch_count = 1 << 20, desc.a_batch_stride = INT64_MAX / 8));
  BAD(TW_ERROR_OVERLAP, "d_batch_stride", (desc.batch_count = 2, desc.d_batch_stride = 0));
  BAD(TW_ERROR_OVERLAP, "d_batch_stride", (desc.batch_count = 2, desc.d_batch_stride = kN - 1));
  BAD(TW_ERROR_OVERLAP, "d_batch_stride", (desc.batch_count = 2, desc.d_batch_stride = kLdd));
  BAD(TW_ERROR_INVALID_ARGUMENT, "flags", desc.flags = 2048);
  BAD(TW_ERROR_INVALID_ARGUMENT, "flags",
      desc.flags = TW_GEMM_STAGING_COPY | TW_GEMM_BATCH_POINTERS);
  BAD(TW_ERROR_INVALID_ARGUMENT, "lda",
      (desc.a_order = TW_COLUMN_MAJOR, desc.lda = 0, desc.flags = TW_GEMM_BATCH_INVARIANT));
  BAD(TW_ERROR_OVERLAP, "b_batch_stride",
      (desc.flags = TW_GEMM_STAGING_COPY, desc.min_m = kM, desc.batch_count = 2, desc.ldb = 4096,
       desc.b_batch_stride = 8));
  BAD(TW_ERROR_INVALID_ARGUMENT, "min_m", desc.min_m = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "min_m", desc.min_m = kM + 1);
#undef BAD
  close_setup(&s);
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
  tw_plan_info_init(&info, sizeof info);
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

  RUN_RULES(tw_gemm_args, args, tw_gemm_run, plan, s.stream);
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
  BAD(TW_ERROR_INVALID_ARGUMENT, "device_m", bad.device_m = bad.a);
  BAD(TW_ERROR_INVALID_ARGUMENT, "device_alpha", bad.device_alpha = bad.a);
  BAD(TW_ERROR_INVALID_ARGUMENT, "device_beta", bad.device_beta = bad.a);
  BAD(TW_ERROR_INVALID_ARGUMENT, "invalid_count", bad.invalid_count = bad.a);
  BAD(TW_ERROR_MISALIGNED, "a", bad.a += 8);
  BAD(TW_ERROR_MISALIGNED, "b", bad.b += 1);
  BAD(TW_ERROR_MISALIGNED, "d", bad.d += 2);
  BAD(TW_ERROR_OVERLAP, NULL, bad.d = bad.a);
  BAD(TW_ERROR_OVERLAP, NULL, bad.d = bad.b + 256);
  BAD(TW_ERROR_OVERLAP, NULL, (bad.c = bad.d + 4, bad.beta = 1));
  BAD(TW_ERROR_OVERLAP, "c", (bad.c = bad.d, bad.beta = 1)); /* with different pitches */
#undef BAD
  /* With beta 0 C is ignored. */
  args.c = 0;
  OK(tw_gemm_run(plan, s.stream, &args));
  has_product(&s, &args, kM);
  {
    tw_copy_args copy;
    OK(tw_copy_args_init(&copy, sizeof copy));
    FAILS(TW_ERROR_INVALID_ARGUMENT, "plan", tw_copy_run(plan, s.stream, &copy));
  }
  tw_plan_destroy(plan);
  close_setup(&s);
}

/* C may be D if their pitches agree. */
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
  args.alpha = 2; /* two runs with beta 1 added A B twice to zeros */
  args.beta = 0;
  has_product(&s, &args, kM);
  tw_plan_destroy(plan);
  close_setup(&s);
}

/* C and D, or A and D, lie side by side in the lines of one buffer and share no byte. */
static void halves(void) {
  enum { kPitch = 800, kBeside = 416 }; /* bytes of a line; offset of D's columns */
  static unsigned char both[kM * kPitch];
  setup s = open_setup();
  tw_gemm_args args = upload_all(&s);
  for (int with_c = 0; with_c < 2; ++with_c) {
    tw_gemm_desc desc = gemm_desc();
    tw_plan *plan = NULL;
    int wrong = 0, touched = 0;
    const size_t used = with_c ? kN * 4 : kK * 2;
    memset(both, 0, sizeof both);
    for (int i = 0; i < kM; ++i)
      memcpy(both + i * kPitch, with_c ? (void *)(c + i * kLdc) : (void *)(a + i * kLda), used);
    desc.ldd = kPitch / 4;
    *(with_c ? &desc.ldc : &desc.lda) = with_c ? kPitch / 4 : kPitch / 2;
    NEED(tw_gemm_plan(s.device, &desc, &plan));
    args = upload_all(&s);
    args.beta = (float)with_c;
    args.d = uploaded(&s, both, sizeof both) + kBeside;
    *(with_c ? &args.c : &args.a) = args.d - kBeside;
    OK(tw_gemm_run(plan, s.stream, &args));
    download(&s, both, args.d - kBeside, sizeof both);
    for (int i = 0; i < kM; ++i) {
      const unsigned char *const line = both + i * kPitch;
      touched += memcmp(line, with_c ? (void *)(c + i * kLdc) : (void *)(a + i * kLda), used) != 0;
      for (size_t byte = used; byte < kPitch; ++byte)
        touched += (byte < kBeside || byte >= kBeside + kN * 4) && line[byte] != 0;
      for (int j = 0; j < kN; ++j) {
        float sum = with_c ? c_value(i, j) : 0, got;
        for (int k = 0; k < kK; ++k) sum += a_value(i, k) * b_value(k, j);
        memcpy(&got, line + kBeside + j * 4, 4);
        wrong += got != sum;
      }
    }
    EQUAL(wrong, 0);
    EQUAL(touched, 0);
    *(with_c ? &args.c : &args.a) += with_c ? 80 : 32; /* the last element reaches into D */
    FAILS(TW_ERROR_OVERLAP, "d", tw_gemm_run(plan, s.stream, &args));
    tw_plan_destroy(plan);
  }
  close_setup(&s);
}

/* Addresses and pitches that no map can have are served unless alignment was promised. */
static void odd_addresses(void) {
  setup s = open_setup();
  static const int moves[][2] = {{2, 0}, {0, 2}, {8, 6}, {0, 0}};
  for (size_t i = 0; i < COUNT(moves); ++i) {
    tw_gemm_desc desc = gemm_desc();
    tw_gemm_args args = upload_all(&s);
    tw_plan *plan = NULL;
    const uint64_t a_room = allocated(&s, sizeof a + 16), b_room = allocated(&s, sizeof b + 16);
    OK(tw_memcpy_on_device(s.stream, a_room + (uint64_t)moves[i][0], args.a, sizeof a));
    OK(tw_memcpy_on_device(s.stream, b_room + (uint64_t)moves[i][1], args.b, sizeof b));
    args.a = a_room + (uint64_t)moves[i][0];
    args.b = b_room + (uint64_t)moves[i][1];
    NEED(tw_gemm_plan(s.device, &desc, &plan));
    OK(tw_memset(s.stream, args.d, 0, sizeof d));
    OK(tw_gemm_run(plan, s.stream, &args));
    has_product(&s, &args, kM);
    tw_plan_destroy(plan);
  }
  close_setup(&s);
}

/* With staging copies, operands of any pitch and address go through tensor maps. */
static void realigned(void) {
  setup s = open_setup();
  tw_gemm_args args = upload_all(&s), bad;
  const uint64_t a_bytes = sizeof a + 64, b_bytes = sizeof b + 64;
  const uint64_t a_room = allocated(&s, 2 * a_bytes), b_room = allocated(&s, 2 * b_bytes);
  /* Extra pitch of A and B beyond kK and kN, and the offsets of their addresses. */
  static const int cases[][4] = {
      {1, 0, 0, 0}, {0, 1, 2, 0}, {1, 3, 6, 2}, {8, 8, 2, 4}, {8, 8, 0, 0}};
  uint64_t workspace = 0;
  for (size_t i = 0; i < COUNT(cases); ++i) {
    tw_gemm_desc desc = gemm_desc();
    tw_plan *plan = NULL;
    tw_plan_info info;
    static char text[4096];
    const int lda = kK + cases[i][0], ldb = kN + cases[i][1];
    uint16_t *const wide_a = calloc(1, (size_t)kM * (size_t)lda * 2);
    uint16_t *const wide_b = calloc(1, (size_t)kK * (size_t)ldb * 2);
    if (!CHECK(wide_a && wide_b)) return;
    for (int r = 0; r < kM; ++r) memcpy(wide_a + r * lda, a + r * kLda, kK * 2);
    for (int r = 0; r < kK; ++r) memcpy(wide_b + r * ldb, b + r * kLdb, kN * 2);
    desc.lda = lda;
    desc.ldb = ldb;
    desc.flags |= TW_GEMM_STAGING_COPY;
    desc.min_m = kM;
    args.a = a_room + (uint64_t)cases[i][2];
    args.b = b_room + (uint64_t)cases[i][3];
    OK(tw_memcpy_to_device(s.stream, args.a, wide_a,
                           ((uint64_t)kM - 1) * (uint64_t)lda * 2 + kK * 2));
    OK(tw_memcpy_to_device(s.stream, args.b, wide_b,
                           ((uint64_t)kK - 1) * (uint64_t)ldb * 2 + kN * 2));
    OK(tw_stream_synchronize(s.stream));
    free(wide_a);
    free(wide_b);
    NEED(tw_gemm_plan(s.device, &desc, &plan));
    tw_plan_info_init(&info, sizeof info);
    OK(tw_plan_get_info(plan, &info));
    CHECK(info.workspace_bytes >= (uint64_t)kM * kK * 2 + (uint64_t)kK * kN * 2);
    CHECK(strstr(info.kernel, "plain") == NULL);
    OK(tw_plan_explain(plan, text, sizeof text, NULL));
    CHECK(strstr(text, "copied into a workspace") != NULL);
    workspace = allocated(&s, info.workspace_bytes);
    args.workspace = workspace;
    args.workspace_bytes = info.workspace_bytes;
    OK(tw_memset(s.stream, args.d, 0, sizeof d));
    OK(tw_memset(s.stream, workspace, 0xff, info.workspace_bytes)); /* NaN, in case it is read */
    OK(tw_gemm_run(plan, s.stream, &args));
    has_product(&s, &args, kM);
#define BAD(status, argument, change)                               \
  do {                                                              \
    bad = args;                                                     \
    change;                                                         \
    FAILS((status), (argument), tw_gemm_run(plan, s.stream, &bad)); \
  } while (0)
    BAD(TW_ERROR_INVALID_ARGUMENT, "workspace", bad.workspace = 0);
    BAD(TW_ERROR_MISALIGNED, "workspace", bad.workspace += 16);
    BAD(TW_ERROR_BUFFER_TOO_SMALL, "workspace_bytes", --bad.workspace_bytes);
    BAD(TW_ERROR_BUFFER_TOO_SMALL, "workspace_bytes", bad.workspace_bytes = 0);
    BAD(TW_ERROR_OVERLAP, "workspace", bad.workspace = bad.d / 256 * 256);
    BAD(TW_ERROR_OVERLAP, "workspace", bad.workspace = bad.b / 256 * 256);
#undef BAD
    tw_plan_destroy(plan);
    desc.min_m = 0; /* the copy could read beyond a shorter A */
    FAILS(TW_ERROR_UNSUPPORTED, "flags", tw_gemm_plan(s.device, &desc, &plan));
    desc.lda = kLda;
    desc.a_alignment = 16;
    OK(tw_gemm_plan(s.device, &desc, &plan)); /* A needs no staging copy: any m */
    tw_plan_destroy(plan);
    desc.ldb = kLdb;
    desc.b_alignment = 16;
    NEED(tw_gemm_plan(s.device, &desc, &plan));
    OK(tw_plan_get_info(plan, &info));
    EQUAL(info.workspace_bytes, 0);
    tw_plan_destroy(plan);
  }
  close_setup(&s);
}

/* The f16 pattern of an integer of at most 11 bits. */
static uint16_t f16_of(int value) {
  uint32_t bits;
  const float number = (float)value;
  memcpy(&bits, &number, 4);
  return value == 0 ? 0
                    : (uint16_t)((bits >> 16 & 0x8000) |
                                 ((((bits >> 23 & 0xff) - 112) << 10) | (bits >> 13 & 0x3ff)));
}

/* f16 accumulators, on request; these integers are exact. */
static void half_sums(void) {
  enum { kRows = 40, kColumns = 48, kDepth = 96 };
  static uint16_t ha[kRows * kDepth], hb[kDepth * kColumns], hd[kRows * kColumns];
  setup s = open_setup();
  tw_gemm_desc desc;
  tw_gemm_args args;
  for (int i = 0; i < kRows * kDepth; ++i) ha[i] = f16_of((int)a_value(i / kDepth, i % kDepth));
  for (int i = 0; i < kDepth * kColumns; ++i)
    hb[i] = f16_of((int)b_value(i / kColumns, i % kColumns));
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  OK(tw_gemm_args_init(&args, sizeof args));
  desc.a_dtype = desc.d_dtype = TW_DTYPE_F16;
  desc.m = kRows;
  desc.n = kColumns;
  desc.k = kDepth;
  args.a = uploaded(&s, ha, sizeof ha);
  args.b = uploaded(&s, hb, sizeof hb);
  args.d = allocated(&s, sizeof hd);
  for (int half = 0; half < 2; ++half) {
    tw_plan *plan = NULL;
    int wrong = 0;
    desc.accumulator_dtype = half ? TW_DTYPE_F16 : TW_DTYPE_F32;
    NEED(tw_gemm_plan(s.device, &desc, &plan));
    OK(tw_memset(s.stream, args.d, 0xff, sizeof hd));
    OK(tw_gemm_run(plan, s.stream, &args));
    download(&s, hd, args.d, sizeof hd);
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kColumns; ++j) {
        float sum = 0;
        for (int k = 0; k < kDepth; ++k) sum += a_value(i, k) * b_value(k, j);
        wrong += (hd[i * kColumns + j] & (sum == 0 ? 0x7fff : 0xffff)) != f16_of((int)sum);
      }
    EQUAL(wrong, 0);
    tw_plan_destroy(plan);
  }
  close_setup(&s);
}

static void after_the_device(void) {
  AFTER_THE_DEVICE(gemm, gemm_desc(), tw_gemm_plan, tw_gemm_run);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(inits);
  RUN(descriptions);
  RUN(runs);
  RUN(in_place);
  RUN(halves);
  RUN(odd_addresses);
  RUN(realigned);
  RUN(half_sums);
  RUN(after_the_device);
  return harness_end();
}
