/* SPDX-License-Identifier: Apache-2.0 */
/* The tw_quantize_ functions. */
#include "tests/capi/common/plan_harness.h"

enum { kRows = 2, kColumns = 130 };

static tw_quantize_desc quantize_desc(void) {
  tw_quantize_desc desc;
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_quantize_desc_init(&desc, sizeof desc));
  desc.src_dtype = TW_DTYPE_F32;
  desc.dst_dtype = TW_DTYPE_F8E4M3;
  desc.scale = TW_SCALE_1X128;
  desc.rows = kRows;
  desc.columns = kColumns;
  return desc;
}

static void inits(void) {
  tw_quantize_desc desc;
  tw_quantize_args args;
  NULL_FAILS("desc", tw_quantize_desc_init(NULL, sizeof(tw_quantize_desc)));
  NULL_FAILS("args", tw_quantize_args_init(NULL, sizeof(tw_quantize_args)));
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_quantize_desc_init(&desc, sizeof desc));
  EQUAL(desc.struct_size, sizeof desc);
  EQUAL(desc.src_dtype | desc.dst_dtype, 0);
  EQUAL(desc.scale, TW_SCALE_NONE);
  EQUAL(desc.scale_order, TW_ROW_MAJOR);
  EQUAL(desc.flags | desc.max_sms, 0);
  EQUAL(desc.src_cache | desc.dst_cache, 0);
  CHECK(desc.rows == TW_UNSET && desc.columns == TW_UNSET);
  EQUAL(desc.src_pitch | desc.dst_pitch | desc.scale_ld, 0);
  memset(&args, 0xa5, sizeof args);
  OK(tw_quantize_args_init(&args, sizeof args));
  EQUAL(args.struct_size, sizeof args);
  EQUAL(args.rows, -1);
  EQUAL(args.src | args.dst | args.scale | args.amax, 0);
  EQUAL(args.workspace | args.workspace_bytes, 0);
}

static void descriptions(void) {
  setup s = open_setup();
  tw_plan *plan = NULL;
  tw_quantize_desc desc = quantize_desc();
  PLAN_RULES(tw_quantize_desc, desc, tw_quantize_plan, s.device);
#define BAD(status, argument, change)                                      \
  do {                                                                     \
    desc = quantize_desc();                                                \
    change;                                                                \
    plan = (tw_plan *)&plan;                                               \
    FAILS((status), (argument), tw_quantize_plan(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                                   \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "src_dtype", desc.src_dtype = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dst_dtype", desc.dst_dtype = 77);
  BAD(TW_ERROR_UNSUPPORTED, "src_dtype", desc.src_dtype = TW_DTYPE_F64);
  BAD(TW_ERROR_UNSUPPORTED, "dst_dtype", desc.dst_dtype = TW_DTYPE_U8);
  BAD(TW_ERROR_UNSUPPORTED, "dst_dtype", desc.dst_dtype = TW_DTYPE_BF16);
  BAD(TW_ERROR_UNSUPPORTED, "dst_dtype", desc.src_dtype = TW_DTYPE_I8);
  BAD(TW_ERROR_INVALID_ARGUMENT, "scale", desc.scale = TW_SCALE_NONE);
  BAD(TW_ERROR_INVALID_ARGUMENT, "scale", desc.scale = 5);
  BAD(TW_ERROR_UNSUPPORTED, "scale", desc.scale = TW_SCALE_K32_UE8M0);
  BAD(TW_ERROR_UNSUPPORTED, "scale", desc.scale = TW_SCALE_K16_UE4M3);
  BAD(TW_ERROR_INVALID_ARGUMENT, "scale_order", desc.scale_order = 2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "flags", desc.flags = 4);
  BAD(TW_ERROR_INVALID_ARGUMENT, "flags", desc.flags = TW_QUANTIZE_GIVEN_SCALE);
  BAD(TW_ERROR_INVALID_ARGUMENT, "src_cache", desc.src_cache = 9);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dst_cache", desc.dst_cache = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rows", desc.rows = TW_UNSET);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rows", desc.rows = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "columns", desc.columns = -1);
  BAD(TW_ERROR_OVERFLOW, "columns", desc.columns = INT64_C(1) << 31);
  BAD(TW_ERROR_OVERFLOW, "rows", desc.rows = (INT64_C(1) << 29) + 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "src_pitch", desc.src_pitch = kColumns - 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dst_pitch", desc.dst_pitch = kColumns - 1);
  BAD(TW_ERROR_OVERFLOW, "dst_pitch", desc.dst_pitch = INT64_MAX);
  BAD(TW_ERROR_INVALID_ARGUMENT, "scale_ld", desc.scale_ld = 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "scale_ld",
      (desc.scale_order = TW_COLUMN_MAJOR, desc.scale_ld = kRows - 1));
  BAD(TW_ERROR_OVERFLOW, "scale_ld", desc.scale_ld = INT64_MAX);
#undef BAD
  close_setup(&s);
}

/* Quantizes and dequantizes rows of 1 to 129 and 0.5, times a factor per row. The scales, in
 * column-major order, are multiples of 128/448 and 129/448. */
static void there_and_back(void) {
  static float values[kRows][kColumns], again[kRows][kColumns], scales[2][4];
  static unsigned char bytes[kRows][kColumns];
  setup s = open_setup();
  tw_quantize_desc desc = quantize_desc();
  tw_quantize_args args;
  tw_plan *plan = NULL;
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j)
      values[i][j] = (float)(i + 1) * (j == kColumns - 1 ? 0.5f : (float)(j + 1));
  for (int i = 0; i < 8; ++i) scales[i / 4][i % 4] = -1;
  desc.scale_order = TW_COLUMN_MAJOR;
  desc.scale_ld = 4;
  NEED(tw_quantize_plan(s.device, &desc, &plan));
  describes_itself(plan, TW_OP_QUANTIZE);
  OK(tw_quantize_args_init(&args, sizeof args));
  args.src = uploaded(&s, values, sizeof values);
  args.dst = uploaded(&s, bytes, sizeof bytes);
  args.scale = uploaded(&s, scales, sizeof scales);
  OK(tw_quantize_run(plan, s.stream, &args));
  download(&s, bytes, args.dst, sizeof bytes);
  download(&s, scales, args.scale, sizeof scales);
  for (int i = 0; i < kRows; ++i) {
    CHECK(scales[0][i] == (float)(i + 1) * 128 / 448.0f);
    CHECK(scales[1][i] == (float)(i + 1) * 129 / 448.0f);
    CHECK(scales[0][i + 2] == -1 && scales[1][i + 2] == -1);
    EQUAL(bytes[i][127], 0x7e); /* the largest number */
    EQUAL(bytes[i][63], 0x76);  /* half of it */
    EQUAL(bytes[i][128], 0x7e);
  }
  tw_plan_destroy(plan);

  desc.src_dtype = TW_DTYPE_F8E4M3;
  desc.dst_dtype = TW_DTYPE_F32;
  NEED(tw_quantize_plan(s.device, &desc, &plan));
  describes_itself(plan, TW_OP_QUANTIZE);
  args.src = args.dst;
  args.dst = uploaded(&s, again, sizeof again);
  OK(tw_quantize_run(plan, s.stream, &args));
  download(&s, again, args.dst, sizeof again);
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) {
      const float error = again[i][j] - values[i][j], bound = values[i][j] / 15;
      CHECK(error <= bound && error >= -bound);
    }
  tw_plan_destroy(plan);
  close_setup(&s);
}

/* NaN and infinities do not affect the scale, and convert as the header says. */
static void special_numbers(void) {
  const uint32_t bits[6] = {0x7fc00000, 0x7f800000, 0xff800000, 0x42fe0000, 0xc0200000, 0x3f000000};
  const signed char wanted[6] = {0, 127, -128, 127, -2, 0}; /* ties to even */
  signed char bytes[6];
  float scale = 0;
  setup s = open_setup();
  tw_quantize_desc desc = quantize_desc();
  tw_quantize_args args;
  tw_plan *plan = NULL;
  desc.dst_dtype = TW_DTYPE_I8;
  desc.scale = TW_SCALE_ROW;
  desc.rows = 1, desc.columns = 6;
  NEED(tw_quantize_plan(s.device, &desc, &plan));
  OK(tw_quantize_args_init(&args, sizeof args));
  args.src = uploaded(&s, bits, sizeof bits); /* NaN, infinities, 127, -2.5 and 0.5 */
  args.dst = uploaded(&s, wanted, sizeof wanted);
  args.scale = uploaded(&s, &scale, sizeof scale);
  OK(tw_quantize_run(plan, s.stream, &args));
  download(&s, bytes, args.dst, sizeof bytes);
  download(&s, &scale, args.scale, sizeof scale);
  CHECK(scale == 1);
  CHECK(memcmp(bytes, wanted, sizeof bytes) == 0);
  tw_plan_destroy(plan);
  close_setup(&s);
}

/* A scale for the whole matrix: computed by two kernels with a workspace, or given. With amax. */
static void one_scale(void) {
  static float values[kRows][kColumns];
  static unsigned char bytes[kRows][kColumns];
  float scale = 0, amax = 3;
  setup s = open_setup();
  tw_quantize_desc desc = quantize_desc();
  tw_quantize_args args;
  tw_plan_info info;
  tw_plan *plan = NULL;
  for (int j = 0; j < kColumns; ++j) values[0][j] = 1, values[1][j] = -2;
  values[1][100] = -5;
  desc.scale = TW_SCALE_TENSOR;
  desc.flags = TW_QUANTIZE_POWERS_OF_TWO;
  NEED(tw_quantize_plan(s.device, &desc, &plan));
  OK(tw_plan_info_init(&info, sizeof info));
  OK(tw_plan_get_info(plan, &info));
  EQUAL(info.workspace_bytes, 4096);
  OK(tw_quantize_args_init(&args, sizeof args));
  args.src = uploaded(&s, values, sizeof values);
  args.dst = uploaded(&s, bytes, sizeof bytes);
  args.scale = uploaded(&s, &scale, sizeof scale);
  args.amax = uploaded(&s, &amax, sizeof amax);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "workspace", tw_quantize_run(plan, s.stream, &args));
  args.workspace = allocated(&s, 4096);
  args.workspace_bytes = 4095;
  FAILS(TW_ERROR_BUFFER_TOO_SMALL, "workspace_bytes", tw_quantize_run(plan, s.stream, &args));
  args.workspace_bytes = 4096;
  OK(tw_quantize_run(plan, s.stream, &args));
  download(&s, &scale, args.scale, sizeof scale);
  download(&s, &amax, args.amax, sizeof amax);
  download(&s, bytes, args.dst, sizeof bytes);
  CHECK(scale == 1.0f / 64); /* 5 / 448 rounded up to a power of two */
  CHECK(amax == 5);
  EQUAL(bytes[0][0], 0x68);   /* 64 */
  EQUAL(bytes[1][0], 0xf0);   /* -128 */
  EQUAL(bytes[1][100], 0xfa); /* -320 */
  tw_plan_destroy(plan);

  desc.flags = TW_QUANTIZE_GIVEN_SCALE;
  NEED(tw_quantize_plan(s.device, &desc, &plan));
  OK(tw_plan_get_info(plan, &info));
  EQUAL(info.workspace_bytes, 0);
  scale = 0.5f;
  amax = 7;
  OK(tw_memcpy_to_device(s.stream, args.scale, &scale, sizeof scale));
  OK(tw_memcpy_to_device(s.stream, args.amax, &amax, sizeof amax));
  args.workspace = args.workspace_bytes = 0;
  OK(tw_quantize_run(plan, s.stream, &args));
  download(&s, &scale, args.scale, sizeof scale);
  download(&s, &amax, args.amax, sizeof amax);
  download(&s, bytes, args.dst, sizeof bytes);
  CHECK(scale == 0.5f);
  CHECK(amax == 7);
  EQUAL(bytes[0][0], 0x40);   /* 2 */
  EQUAL(bytes[1][100], 0xd2); /* -10 */
  tw_plan_destroy(plan);
  close_setup(&s);
}

static void runs(void) {
  static float values[kRows][kColumns];
  static unsigned char bytes[kRows][kColumns];
  float scales[kRows * 2] = {0};
  setup s = open_setup();
  tw_quantize_desc desc = quantize_desc();
  tw_quantize_args args, bad;
  tw_plan *plan = NULL;
  NEED(tw_quantize_plan(s.device, &desc, &plan));
  OK(tw_quantize_args_init(&args, sizeof args));
  args.src = uploaded(&s, values, sizeof values);
  args.dst = uploaded(&s, bytes, sizeof bytes);
  args.scale = uploaded(&s, scales, sizeof scales);
  RUN_RULES(tw_quantize_args, args, tw_quantize_run, plan, s.stream);
#define BAD(status, argument, change)                                   \
  do {                                                                  \
    bad = args;                                                         \
    change;                                                             \
    FAILS((status), (argument), tw_quantize_run(plan, s.stream, &bad)); \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "rows", bad.rows = kRows + 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rows", bad.rows = -2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "src", bad.src = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dst", bad.dst = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "scale", bad.scale = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "amax", bad.amax = args.scale);
  BAD(TW_ERROR_MISALIGNED, "src", bad.src += 2);
  BAD(TW_ERROR_MISALIGNED, "scale", bad.scale += 2);
  BAD(TW_ERROR_OVERLAP, NULL, bad.dst = bad.src);
  BAD(TW_ERROR_OVERLAP, NULL, bad.scale = bad.src + 16);
  BAD(TW_ERROR_OVERLAP, NULL, bad.scale = bad.dst);
#undef BAD
  args.rows = 0;
  OK(tw_quantize_run(plan, s.stream, &args));
  OK(tw_stream_synchronize(s.stream));
  tw_plan_destroy(plan);
  desc.rows = 0;
  NEED(tw_quantize_plan(s.device, &desc, &plan));
  OK(tw_quantize_args_init(&args, sizeof args));
  OK(tw_quantize_run(plan, s.stream, &args)); /* an empty matrix needs no operands */
  tw_plan_destroy(plan);
  close_setup(&s);
}

static void after_the_device(void) {
  AFTER_THE_DEVICE(quantize, quantize_desc(), tw_quantize_plan, tw_quantize_run);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(inits);
  RUN(descriptions);
  RUN(there_and_back);
  RUN(special_numbers);
  RUN(one_scale);
  RUN(runs);
  RUN(after_the_device);
  return harness_end();
}
