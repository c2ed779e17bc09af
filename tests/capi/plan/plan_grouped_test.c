/* SPDX-License-Identifier: Apache-2.0 */
/* The tw_grouped_ functions. */
#include "tests/capi/common/plan_harness.h"

/* Two groups of two rows (tokens) each, with numbers that are exact in bf16 and f32. */
enum { kRows = 4, kN = 2, kK = 2, kGroups = 2, kTokens = 2 };

#define ONE 0x3f80
#define TWO 0x4000
#define THREE 0x4040
static const uint16_t kA[kTokens][kK] = {{ONE, TWO}, {THREE, ONE}};
static const uint16_t kB[kGroups][kK][kN] = {{{ONE, 0}, {0, ONE}}, {{TWO, ONE}, {0, TWO}}};
static const int32_t kEnds[kGroups] = {2, 4}, kPairs[kRows] = {0, 2, 1, 3};

static tw_grouped_desc grouped_desc(void) {
  tw_grouped_desc desc;
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_grouped_desc_init(&desc, sizeof desc));
  desc.d_dtype = TW_DTYPE_F32;
  desc.m = kRows, desc.n = kN, desc.k = kK;
  desc.group_count = kGroups;
  return desc;
}

/* Both groups multiply both tokens. */
static tw_grouped_desc layer_desc(tw_grouped_combine combine) {
  tw_grouped_desc desc = grouped_desc();
  desc.flags = TW_GROUPED_GATHER | TW_GROUPED_SCATTER;
  desc.combine = combine;
  desc.a_count = desc.d_count = kTokens;
  desc.a_divisor = desc.d_divisor = 2;
  return desc;
}

static void inits(void) {
  tw_grouped_desc desc;
  tw_grouped_args args;
  NULL_FAILS("desc", tw_grouped_desc_init(NULL, sizeof(tw_grouped_desc)));
  NULL_FAILS("args", tw_grouped_args_init(NULL, sizeof(tw_grouped_args)));
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_grouped_desc_init(&desc, sizeof desc));
  EQUAL(desc.struct_size, sizeof desc);
  EQUAL(desc.a_dtype, TW_DTYPE_BF16);
  EQUAL(desc.d_dtype | desc.bias_dtype, 0);
  EQUAL(desc.index_dtype, TW_DTYPE_I32);
  EQUAL(desc.row_index_dtype, TW_DTYPE_I32);
  EQUAL(desc.b_order, TW_ROW_MAJOR);
  EQUAL(desc.grouping, TW_GROUPING_ENDS);
  EQUAL(desc.combine, TW_GROUPED_COMBINE_STORE);
  EQUAL(desc.activation | desc.gate, 0);
  CHECK(desc.gate_limit == 0 && desc.gate_offset == 0 && desc.gate_slope == 1);
  EQUAL(desc.flags | desc.max_sms | desc.a_alignment | desc.b_alignment | desc.d_alignment, 0);
  CHECK(desc.m == TW_UNSET && desc.n == TW_UNSET && desc.k == TW_UNSET);
  CHECK(desc.group_count == TW_UNSET);
  EQUAL(desc.weight_count | desc.lda | desc.ldb | desc.ldd | desc.b_stride | desc.d_stride, 0);
  EQUAL(desc.bias_stride | desc.group_rows | desc.row_alignment | desc.expected_rows, 0);
  EQUAL(desc.a_count | desc.d_count | desc.a_divisor | desc.d_divisor, 0);
  EQUAL(desc.b_dtype | desc.a_scale | desc.b_scale | desc.a_scale_order | desc.b_scale_order, 0);
  EQUAL(desc.a_scale_ld | desc.b_scale_ld | desc.a_scale_stride | desc.b_scale_stride, 0);
  memset(&args, 0xa5, sizeof args);
  OK(tw_grouped_args_init(&args, sizeof args));
  EQUAL(args.struct_size, sizeof args);
  CHECK(args.alpha == 1 && args.beta == 0);
  CHECK(args.m == -1 && args.k == -1 && args.a_count == -1 && args.d_count == -1);
  EQUAL(args.a | args.b | args.d | args.bias | args.groups | args.group_map | args.group_alpha, 0);
  EQUAL(args.a_rows | args.d_rows | args.row_weights | args.inverse | args.invalid_count, 0);
  EQUAL(args.workspace | args.workspace_bytes | args.a_scale | args.b_scale, 0);
}

static void descriptions(void) {
  setup s = open_setup();
  tw_plan *plan = NULL;
  tw_grouped_desc desc = grouped_desc();
  PLAN_RULES(tw_grouped_desc, desc, tw_grouped_plan, s.device);
#define BAD(status, argument, change)                                     \
  do {                                                                    \
    desc = grouped_desc();                                                \
    change;                                                               \
    plan = (tw_plan *)&plan;                                              \
    FAILS((status), (argument), tw_grouped_plan(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                                  \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "m", desc.m = TW_UNSET);
  BAD(TW_ERROR_INVALID_ARGUMENT, "n", desc.n = TW_UNSET);
  BAD(TW_ERROR_INVALID_ARGUMENT, "k", desc.k = TW_UNSET);
  BAD(TW_ERROR_INVALID_ARGUMENT, "group_count", desc.group_count = TW_UNSET);
  BAD(TW_ERROR_UNSUPPORTED, "a_dtype", desc.a_dtype = TW_DTYPE_TF32);
  BAD(TW_ERROR_UNSUPPORTED, "b_dtype", desc.b_dtype = TW_DTYPE_F16);
  BAD(TW_ERROR_UNSUPPORTED, "d_dtype", desc.d_dtype = TW_DTYPE_F16);
  BAD(TW_ERROR_UNSUPPORTED, "index_dtype", desc.index_dtype = TW_DTYPE_U64);
  BAD(TW_ERROR_UNSUPPORTED, "grouping", desc.grouping = TW_GROUPING_BLOCKS);
  BAD(TW_ERROR_INVALID_ARGUMENT, "grouping", desc.grouping = 7);
  BAD(TW_ERROR_INVALID_ARGUMENT, "combine", desc.combine = TW_GROUPED_COMBINE_SUM);
  BAD(TW_ERROR_INVALID_ARGUMENT, "flags", desc.flags = 256);
  BAD(TW_ERROR_INVALID_ARGUMENT, "flags", desc.flags = TW_GROUPED_INVERSE);
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_count", desc.flags = TW_GROUPED_GATHER);
  BAD(TW_ERROR_INVALID_ARGUMENT, "d_count", desc.flags = TW_GROUPED_SCATTER);
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_count", desc.a_count = 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "gate_offset", desc.gate_offset = 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "group_count", desc.group_count = -1);
  BAD(TW_ERROR_UNSUPPORTED, "group_count", desc.group_count = 1025);
  BAD(TW_ERROR_INVALID_ARGUMENT, "lda", desc.lda = 1);
  BAD(TW_ERROR_OVERFLOW, "b_stride", desc.b_stride = INT64_MAX);
#undef BAD
  desc = grouped_desc();
  desc.grouping = TW_GROUPING_ONE;
  desc.group_count = TW_UNSET;
  NEED(tw_grouped_plan(s.device, &desc, &plan));
  describes_itself(plan, TW_OP_GROUPED);
  tw_plan_destroy(plan);
  close_setup(&s);
}

static void give_operands(const setup *s, tw_grouped_args *args) {
  OK(tw_grouped_args_init(args, sizeof *args));
  args->a = uploaded(s, kA, sizeof kA);
  args->b = uploaded(s, kB, sizeof kB);
  args->groups = uploaded(s, kEnds, sizeof kEnds);
}

static void give_workspace(const setup *s, const tw_plan *plan, tw_grouped_args *args) {
  tw_plan_info info;
  OK(tw_plan_info_init(&info, sizeof info));
  OK(tw_plan_get_info(plan, &info));
  args->workspace_bytes = info.workspace_bytes;
  if (info.workspace_bytes != 0) args->workspace = allocated(s, info.workspace_bytes);
}

/* Runs a plan and compares D, which was filled with 8. */
static void gives(const setup *s, const tw_grouped_desc *desc, tw_grouped_args *args,
                  const float *wanted, size_t count) {
  static const float eights[8] = {8, 8, 8, 8, 8, 8, 8, 8};
  float d[8];
  tw_plan *plan = NULL;
  NEED(tw_grouped_plan(s->device, desc, &plan));
  give_workspace(s, plan, args);
  args->d = uploaded(s, eights, sizeof eights);
  OK(tw_grouped_run(plan, s->stream, args));
  download(s, d, args->d, sizeof d);
  CHECK(memcmp(d, wanted, count * sizeof *d) == 0);
  CHECK(memcmp(d + count, eights, (8 - count) * sizeof *d) == 0);
  tw_plan_destroy(plan);
}

static void products(void) {
  /* Fixed groups of one row each; the results are rows 0 and 1. */
  static const float stored[] = {1, 2, 6, 5}, skipped[] = {1, 2, 8, 8}, cleared[] = {1, 2, 0, 0};
  static const int32_t ends[kGroups] = {1, 2}, map[kGroups] = {0, -1};
  setup s = open_setup();
  tw_grouped_desc desc = grouped_desc();
  tw_grouped_args args;
  desc.m = kTokens;
  give_operands(&s, &args);
  args.groups = uploaded(&s, ends, sizeof ends);
  gives(&s, &desc, &args, stored, 4);
  args.group_map = uploaded(&s, map, sizeof map);
  gives(&s, &desc, &args, skipped, 4);
  desc.flags = TW_GROUPED_ZERO_OTHER_ROWS;
  gives(&s, &desc, &args, cleared, 4);
  close_setup(&s);
}

static void ranges(void) {
  static const uint16_t a[kK][2] = {{ONE, TWO}, {THREE, ONE}}, b[kK][kN] = {{ONE, TWO}, {TWO, ONE}};
  static const int32_t ends[kGroups] = {2, 2};
  static const float replaced[] = {7, 5, 4, 5, 0, 0, 0, 0}, added[] = {15, 13, 12, 13, 8, 8, 8, 8};
  setup s = open_setup();
  tw_grouped_desc desc = grouped_desc();
  tw_grouped_args args;
  desc.grouping = TW_GROUPING_K_RANGES;
  desc.d_dtype = 0;
  desc.m = 2;
  OK(tw_grouped_args_init(&args, sizeof args));
  args.a = uploaded(&s, a, sizeof a);
  args.b = uploaded(&s, b, sizeof b);
  args.groups = uploaded(&s, ends, sizeof ends);
  gives(&s, &desc, &args, replaced, 8);
  args.beta = 1;
  gives(&s, &desc, &args, added, 8);
  close_setup(&s);
}

static void layers(void) {
  /* Token 0 gives 1 2 and 2 5, token 1 gives 3 1 and 6 5. The pairs' weights are 1, 2, 1, 3. */
  static const float sums[] = {5, 12, 21, 16}, added[] = {13, 20, 29, 24};
  static const float weights[kRows] = {1, 2, 1, 3};
  static const int32_t inverse[kRows] = {0, 2, 1, 3};
  setup s = open_setup();
  tw_grouped_desc desc = layer_desc(TW_GROUPED_COMBINE_SUM);
  tw_grouped_args args;
  desc.flags |= TW_GROUPED_ROW_WEIGHT_BY_INDEX;
  give_operands(&s, &args);
  args.a_rows = args.d_rows = uploaded(&s, kPairs, sizeof kPairs);
  args.row_weights = uploaded(&s, weights, sizeof weights);
  gives(&s, &desc, &args, sums, 4);
  desc.flags |= TW_GROUPED_INVERSE;
  args.inverse = uploaded(&s, inverse, sizeof inverse);
  gives(&s, &desc, &args, sums, 4);
  desc.combine = TW_GROUPED_COMBINE_ADD;
  gives(&s, &desc, &args, added, 4);
  desc.flags &= ~(uint32_t)TW_GROUPED_INVERSE;
  args.inverse = 0;
  gives(&s, &desc, &args, added, 4);
  desc.combine = TW_GROUPED_COMBINE_ADD_ATOMIC;
  gives(&s, &desc, &args, added, 4);
  close_setup(&s);
}

/* Invalid numbers are counted and ignored. */
static void mistakes(void) {
  static const int32_t ends[kGroups] = {5, 4}, rows[kRows] = {0, 9, -1, 3}, map[kGroups] = {7, 0};
  static const float zeroes[4] = {0, 0, 0, 0};
  setup s = open_setup();
  tw_grouped_desc desc = layer_desc(TW_GROUPED_COMBINE_SUM);
  tw_grouped_args args;
  uint64_t faults = 5;
  give_operands(&s, &args);
  args.groups = uploaded(&s, ends, sizeof ends);
  args.a_rows = args.d_rows = uploaded(&s, kPairs, sizeof kPairs);
  args.invalid_count = uploaded(&s, &faults, sizeof faults);
  gives(&s, &desc, &args, zeroes, 4);
  download(&s, &faults, args.invalid_count, sizeof faults);
  EQUAL(faults, 7);
  args.groups = uploaded(&s, kEnds, sizeof kEnds);
  args.a_rows = uploaded(&s, rows, sizeof rows);
  args.group_map = uploaded(&s, map, sizeof map);
  desc.combine = TW_GROUPED_COMBINE_STORE;
  {
    /* Only the second group, with the first matrix: rows of zeros and 3 1, for pairs 1 and 3. */
    static const float wanted[] = {0, 0, 3, 1};
    gives(&s, &desc, &args, wanted, 4);
  }
  download(&s, &faults, args.invalid_count, sizeof faults);
  EQUAL(faults, 8);
  close_setup(&s);
}

static void runs(void) {
  setup s = open_setup();
  tw_grouped_desc desc = layer_desc(TW_GROUPED_COMBINE_SUM);
  tw_grouped_args args, bad;
  tw_plan *plan = NULL;
  NEED(tw_grouped_plan(s.device, &desc, &plan));
  give_operands(&s, &args);
  give_workspace(&s, plan, &args);
  args.a_rows = args.d_rows = uploaded(&s, kPairs, sizeof kPairs);
  args.d = allocated(&s, kTokens * kN * sizeof(float));
  RUN_RULES(tw_grouped_args, args, tw_grouped_run, plan, s.stream);
#define BAD(status, argument, change)                                  \
  do {                                                                 \
    bad = args;                                                        \
    change;                                                            \
    FAILS((status), (argument), tw_grouped_run(plan, s.stream, &bad)); \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "m", bad.m = kRows + 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_count", bad.a_count = kTokens + 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "k", bad.k = kK);
  BAD(TW_ERROR_INVALID_ARGUMENT, "beta", bad.beta = 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "a", bad.a = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "groups", bad.groups = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "d_rows", bad.d_rows = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "bias", bad.bias = args.a);
  BAD(TW_ERROR_INVALID_ARGUMENT, "inverse", bad.inverse = args.a);
  BAD(TW_ERROR_INVALID_ARGUMENT, "workspace", bad.workspace = 0);
  BAD(TW_ERROR_BUFFER_TOO_SMALL, "workspace_bytes", bad.workspace_bytes -= 1);
  BAD(TW_ERROR_MISALIGNED, "a", bad.a += 1);
  BAD(TW_ERROR_MISALIGNED, "d", bad.d += 2);
  BAD(TW_ERROR_MISALIGNED, "invalid_count", bad.invalid_count = args.d + 4);
  BAD(TW_ERROR_OVERLAP, NULL, bad.d = bad.a);
  BAD(TW_ERROR_OVERLAP, NULL, bad.invalid_count = bad.d);
#undef BAD
  args.m = 0;
  OK(tw_grouped_run(plan, s.stream, &args));
  OK(tw_stream_synchronize(s.stream));
  tw_plan_destroy(plan);
  close_setup(&s);
}

static tw_tensor tensor_of(tw_dtype dtype, int32_t rank, int64_t first, int64_t second,
                           int64_t third) {
  const int64_t shape[] = {first, second, third};
  tw_tensor tensor;
  OK(tw_tensor_init(&tensor, sizeof tensor));
  tensor.address = 4096;
  tensor.dtype = dtype;
  tensor.rank = rank;
  memcpy(tensor.shape, shape, sizeof(int64_t) * (size_t)rank);
  for (int64_t stride = 1, i = rank; i-- > 0; stride *= shape[i]) tensor.stride[i] = stride;
  return tensor;
}

static void from_tensors(void) {
  tw_tensor a = tensor_of(TW_DTYPE_F16, 2, 10, 6, 0), b = tensor_of(TW_DTYPE_F16, 3, 3, 6, 8);
  tw_tensor d = tensor_of(TW_DTYPE_F32, 2, 10, 8, 0), other;
  tw_grouped_desc desc;
  OK(tw_grouped_desc_init(&desc, sizeof desc));
  OK(tw_grouped_desc_from_tensors(&a, &b, &d, &desc));
  EQUAL(desc.a_dtype, TW_DTYPE_F16);
  EQUAL(desc.b_dtype, TW_DTYPE_F16);
  EQUAL(desc.d_dtype, TW_DTYPE_F32);
  CHECK(desc.m == 10 && desc.n == 8 && desc.k == 6 && desc.group_count == 3 &&
        desc.weight_count == 3);
  CHECK(desc.lda == 6 && desc.ldb == 8 && desc.ldd == 8 && desc.b_stride == 48);
  EQUAL(desc.b_order, TW_ROW_MAJOR);
  /* B as n rows of k elements. */
  other = b;
  other.stride[1] = 1, other.stride[2] = 6;
  OK(tw_grouped_desc_from_tensors(&a, &other, &d, &desc));
  EQUAL(desc.b_order, TW_COLUMN_MAJOR);
  EQUAL(desc.ldb, 6);
  /* Rows chosen by index need not agree with the number of tokens. */
  OK(tw_grouped_desc_init(&desc, sizeof desc));
  desc.flags = TW_GROUPED_GATHER | TW_GROUPED_SCATTER;
  desc.gate = TW_GATE_HALVES;
  other = tensor_of(TW_DTYPE_F16, 2, 5, 4, 0);
  OK(tw_grouped_desc_from_tensors(&a, &b, &other, &desc));
  CHECK(desc.m == TW_UNSET && desc.a_count == 10 && desc.d_count == 5);
  OK(tw_grouped_desc_init(&desc, sizeof desc));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "d", tw_grouped_desc_from_tensors(&a, &b, &other, &desc));
  CHECK(desc.n == TW_UNSET);
  other = tensor_of(TW_DTYPE_BF16, 3, 3, 6, 8);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "b", tw_grouped_desc_from_tensors(&a, &other, &d, &desc));
  other = b;
  other.stride[0] = 0;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "b", tw_grouped_desc_from_tensors(&a, &other, &d, &desc));
  other = d;
  other.flags = TW_TENSOR_READ_ONLY;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "d", tw_grouped_desc_from_tensors(&a, &b, &other, &desc));
  /* Ranges of k. */
  desc.grouping = TW_GROUPING_K_RANGES;
  b = tensor_of(TW_DTYPE_F16, 2, 10, 8, 0);
  d = tensor_of(TW_DTYPE_F32, 3, 4, 6, 8);
  OK(tw_grouped_desc_from_tensors(&a, &b, &d, &desc));
  CHECK(desc.m == 6 && desc.n == 8 && desc.k == 10 && desc.group_count == 4 && desc.d_stride == 48);
  b = tensor_of(TW_DTYPE_F16, 2, 9, 8, 0);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "b", tw_grouped_desc_from_tensors(&a, &b, &d, &desc));
}

static void candidates(void) {
  setup s = open_setup();
  tw_grouped_desc desc = grouped_desc();
  tw_gemm_candidate found[4], none;
  tw_plan *plan = NULL;
  int32_t count = -1;
  for (int i = 0; i < 4; ++i) OK(tw_gemm_candidate_init(&found[i], sizeof found[i]));
  OK(tw_grouped_candidates(s.device, &desc, NULL, 0, &count));
  CHECK(count >= 1 && count <= 4);
  OK(tw_grouped_candidates(s.device, &desc, found, 4, &count));
  for (int32_t i = 0; i < count; ++i) {
    tw_plan_info info;
    CHECK(strcmp(found[i].text, found[i].kernel) == 0);
    EQUAL(found[i].m_last, kRows);
    CHECK(found[i].microseconds > 0 && found[i].waves > 0);
    OK(tw_grouped_plan_candidate(s.device, &desc, found[i].text, &plan));
    OK(tw_plan_info_init(&info, sizeof info));
    OK(tw_plan_get_info(plan, &info));
    CHECK(strcmp(info.kernel, found[i].kernel) == 0);
    tw_plan_destroy(plan);
  }
  FAILS(TW_ERROR_INVALID_ARGUMENT, "capacity",
        tw_grouped_candidates(s.device, &desc, found, -1, &count));
  memset(&none, 0, sizeof none);
  FAILS(TW_ERROR_STRUCT, "candidates", tw_grouped_candidates(s.device, &desc, &none, 1, &count));
  EQUAL(count, 0);
  FAILS(TW_ERROR_PARSE, "candidate", tw_grouped_plan_candidate(s.device, &desc, "", &plan));
  FAILS(TW_ERROR_NOT_FOUND, "candidate",
        tw_grouped_plan_candidate(s.device, &desc, "grouped_none", &plan));
  FAILS(TW_ERROR_NOT_FOUND, "candidate",
        tw_grouped_plan_candidate(s.device, &desc, "grouped_clear_host", &plan));
  FAILS(TW_ERROR_UNSUPPORTED, "candidate",
        tw_grouped_plan_candidate(s.device, &desc, "grouped_ranges_host", &plan));
  CHECK(plan == NULL);
  NULL_FAILS("candidate", tw_grouped_plan_candidate(s.device, &desc, NULL, &plan));
  close_setup(&s);
}

static void after_the_device(void) {
  AFTER_THE_DEVICE(grouped, grouped_desc(), tw_grouped_plan, tw_grouped_run);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(inits);
  RUN(descriptions);
  RUN(products);
  RUN(ranges);
  RUN(layers);
  RUN(mistakes);
  RUN(runs);
  RUN(from_tensors);
  RUN(candidates);
  RUN(after_the_device);
  return harness_end();
}
