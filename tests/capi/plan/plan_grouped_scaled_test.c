/* SPDX-License-Identifier: Apache-2.0 */
/* Scales of 8-bit types through the tw_grouped_ functions: a product whose result is exact, and
   refusals that name the argument. */
#include "tests/capi/common/plan_harness.h"

enum { kRows = 5, kTokens = 3, kN = 130, kK = 257, kBlocks = 3, kGroups = 2 };

static uint8_t a[kTokens * kK], b[kGroups * kN * kK];
static float a_scale[kBlocks * 4], b_scale[kGroups * 2 * kBlocks], d[kRows * kN];
static const int32_t kOffsets[kGroups + 1] = {0, 2, 5}, kIndices[kRows] = {2, 0, 1, 9, 2};

/* e4m3: 1, -1, 2 and 0.5. */
static const uint8_t kCodes[] = {0x38, 0xb8, 0x40, 0x30};
static const float kValues[] = {1, -1, 2, 0.5f};

static int a_code(int i, int k) {
  return (i * 3 + k) % 4;
}
static int b_code(int g, int k, int j) {
  return (g + k * 5 + j * 3 + k / 7) % 4;
}
static float a_factor(int i, int block) {
  return (float)(1 + (i + block) % 3);
}
static float b_factor(int g, int block, int columns) {
  return columns + block == g ? -0.5f : 2;
}

/* Gathers rows of three tokens, with DeepGEMM's layout of scales: those of A are M-major with a
   leading dimension of 4, those of each weight matrix are n / 128 rows of k / 128. */
static tw_grouped_desc scaled_desc(void) {
  tw_grouped_desc desc;
  OK(tw_grouped_desc_init(&desc, sizeof desc));
  desc.a_dtype = TW_DTYPE_F8E4M3;
  desc.d_dtype = TW_DTYPE_F32;
  desc.b_order = TW_COLUMN_MAJOR;
  desc.grouping = TW_GROUPING_OFFSETS;
  desc.flags = TW_GROUPED_GATHER;
  desc.m = kRows, desc.n = kN, desc.k = kK;
  desc.group_count = kGroups;
  desc.a_count = kTokens;
  desc.a_scale = TW_SCALE_1X128;
  desc.a_scale_order = TW_COLUMN_MAJOR;
  desc.a_scale_ld = 4;
  desc.b_scale = TW_SCALE_128X128;
  desc.b_scale_order = TW_COLUMN_MAJOR;
  return desc;
}

static tw_grouped_args upload_all(const setup *s) {
  tw_grouped_args args;
  for (int k = 0; k < kK; ++k) {
    for (int i = 0; i < kTokens; ++i) a[i * kK + k] = kCodes[a_code(i, k)];
    for (int g = 0; g < kGroups; ++g)
      for (int j = 0; j < kN; ++j) b[(g * kN + j) * kK + k] = kCodes[b_code(g, k, j)];
  }
  for (int block = 0; block < kBlocks; ++block) {
    for (int i = 0; i < 4; ++i) a_scale[block * 4 + i] = i < kTokens ? a_factor(i, block) : 1e30f;
    for (int at = 0; at < kGroups * 2; ++at)
      b_scale[at * kBlocks + block] = b_factor(at / 2, block, at % 2);
  }
  OK(tw_grouped_args_init(&args, sizeof args));
  args.a = uploaded(s, a, sizeof a);
  args.b = uploaded(s, b, sizeof b);
  args.d = allocated(s, sizeof d);
  args.groups = uploaded(s, kOffsets, sizeof kOffsets);
  args.a_rows = uploaded(s, kIndices, sizeof kIndices);
  args.a_scale = uploaded(s, a_scale, sizeof a_scale);
  args.b_scale = uploaded(s, b_scale, sizeof b_scale);
  return args;
}

static float wanted(int r, int j) {
  const int g = r >= kOffsets[1], i = kIndices[r];
  float sum = 0;
  for (int k = 0; k < kK && i < kTokens; ++k)
    sum += a_factor(i, k / 128) * b_factor(g, k / 128, j / 128) * kValues[a_code(i, k)] *
           kValues[b_code(g, k, j)];
  return sum;
}

static void descriptions(void) {
  setup s = open_setup();
  tw_grouped_desc desc = scaled_desc();
  tw_plan *plan;
  EQUAL(TW_GROUPED_FAST_ACCUMULATE, 128);
  OK(tw_grouped_supported(s.device, &desc));
#define BAD(status, argument, change)                                     \
  do {                                                                    \
    desc = scaled_desc();                                                 \
    change;                                                               \
    plan = (tw_plan *)&plan;                                              \
    FAILS((status), (argument), tw_grouped_plan(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                                  \
  } while (0)
#define UNSUPPORTED(argument, change) BAD(TW_ERROR_UNSUPPORTED, argument, change)
#define WRONG(argument, change) BAD(TW_ERROR_INVALID_ARGUMENT, argument, change)
  UNSUPPORTED("b_dtype", (desc.a_dtype = desc.b_dtype = TW_DTYPE_F8E5M2));
  UNSUPPORTED("d_dtype", desc.d_dtype = 0);
  UNSUPPORTED("d_dtype", desc.d_dtype = TW_DTYPE_F8E4M3);
  UNSUPPORTED("a_scale", desc.b_scale = TW_SCALE_ROW);
  UNSUPPORTED("a_scale", desc.a_scale = TW_SCALE_K32_UE8M0);
  UNSUPPORTED("flags", desc.flags |= TW_GROUPED_FAST_ACCUMULATE);
  WRONG("a_scale", desc.a_scale = 5);
  WRONG("a_scale_ld", desc.a_scale_ld = kTokens - 1);
  WRONG("b_scale_ld", desc.b_scale_ld = kBlocks - 1);
  WRONG("a_scale_order", desc.a_scale_order = 2);
  WRONG("a_scale_stride", desc.a_scale_stride = 100);
  WRONG("b_scale_stride", desc.b_scale_stride = -1);
  WRONG("reserved", desc.reserved = 1);
  BAD(TW_ERROR_OVERFLOW, "b_scale_stride", desc.b_scale_stride = INT64_MAX / 4);
#undef BAD
  desc = scaled_desc();
  desc.a_scale = desc.b_scale = TW_SCALE_ROW;
  desc.a_scale_order = desc.b_scale_order = TW_ROW_MAJOR;
  desc.a_scale_ld = 0;
  desc.flags |= TW_GROUPED_FAST_ACCUMULATE;
  OK(tw_grouped_supported(s.device, &desc));
  close_setup(&s);
}

static void exact_results(void) {
  setup s = open_setup();
  tw_grouped_args args = upload_all(&s), bad;
  tw_grouped_desc desc = scaled_desc();
  tw_plan *plan = NULL;
  int wrong = 0;
  NEED(tw_grouped_plan(s.device, &desc, &plan));
  OK(tw_grouped_run(plan, s.stream, &args));
  download(&s, d, args.d, sizeof d);
  for (int r = 0; r < kRows; ++r)
    for (int j = 0; j < kN; ++j) wrong += d[r * kN + j] != wanted(r, j);
  EQUAL(wrong, 0);
#define BAD(status, argument, change)                                  \
  do {                                                                 \
    bad = args;                                                        \
    change;                                                            \
    FAILS((status), (argument), tw_grouped_run(plan, s.stream, &bad)); \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_scale", bad.a_scale = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "b_scale", bad.b_scale = 0);
  BAD(TW_ERROR_MISALIGNED, "a_scale", bad.a_scale += 2);
  BAD(TW_ERROR_MISALIGNED, "b_scale", bad.b_scale += 1);
  BAD(TW_ERROR_OVERLAP, NULL, bad.a_scale = args.d);
#undef BAD
  tw_plan_destroy(plan);
  /* Without scales their addresses must be null. */
  desc.a_scale = desc.b_scale = TW_SCALE_NONE;
  desc.a_scale_order = desc.b_scale_order = TW_ROW_MAJOR;
  desc.a_scale_ld = 0;
  NEED(tw_grouped_plan(s.device, &desc, &plan));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "a_scale", tw_grouped_run(plan, s.stream, &args));
  tw_plan_destroy(plan);
  close_setup(&s);
}

static void from_tensors(void) {
  tw_tensor of_a, of_b, of_d;
  tw_grouped_desc desc;
  tw_tensor *const tensors[] = {&of_a, &of_b, &of_d};
  static const int64_t shapes[3][3] = {{10, 6, 0}, {3, 6, 8}, {10, 8, 0}};
  for (int i = 0; i < 3; ++i) {
    tw_tensor *const tensor = tensors[i];
    OK(tw_tensor_init(tensor, sizeof *tensor));
    tensor->address = 4096;
    tensor->dtype = i == 2 ? TW_DTYPE_F32 : TW_DTYPE_F8E4M3;
    tensor->rank = i == 1 ? 3 : 2;
    memcpy(tensor->shape, shapes[i], sizeof shapes[i]);
    for (int64_t stride = 1, axis = tensor->rank; axis-- > 0; stride *= tensor->shape[axis])
      tensor->stride[axis] = stride;
  }
  of_b.dtype = TW_DTYPE_F8E5M2;
  OK(tw_grouped_desc_init(&desc, sizeof desc));
  desc.a_scale = desc.b_scale = TW_SCALE_TENSOR;
  OK(tw_grouped_desc_from_tensors(&of_a, &of_b, &of_d, &desc));
  EQUAL(desc.a_dtype, TW_DTYPE_F8E4M3);
  EQUAL(desc.b_dtype, TW_DTYPE_F8E5M2);
  EQUAL(desc.b_scale, TW_SCALE_TENSOR);
  of_b.dtype = TW_DTYPE_I8;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "b", tw_grouped_desc_from_tensors(&of_a, &of_b, &of_d, &desc));
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(descriptions);
  RUN(exact_results);
  RUN(from_tensors);
  return harness_end();
}
