/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the host device knows. For each operand of each operation: a run is accepted if the
 * operand's memory is registered to its last byte, and refused by the operand's name if one byte is
 * missing. */
#include "tests/capi/common/plan_harness.h"

/* The caller's own memory, unknown to the device. Operands lie in separate parts of 8 KiB. */
enum { PARTS = 16, PART = 8192 };
static uint64_t arena_words[PARTS * PART / 8];
static unsigned char arena_before[sizeof arena_words];

static uint64_t part(int number) {
  const uint64_t base = ((uint64_t)(uintptr_t)arena_words + 255) / 256 * 256;
  return base + (uint64_t)number * PART + 4096;
}

/* An operand: the field for its address, and which bytes it has relative to it. */
typedef struct {
  const char *name;
  uint64_t *address;
  int64_t low;
  uint64_t bytes;
} operand;

typedef tw_status (*runner)(tw_plan *plan, tw_stream *stream, const void *args);
#define RUNNER(op, type)                                                          \
  static tw_status run_##op(tw_plan *plan, tw_stream *stream, const void *args) { \
    return tw_##op##_run(plan, stream, (const type *)args);                       \
  }
RUNNER(copy, tw_copy_args)
RUNNER(prefetch, tw_prefetch_args)
RUNNER(elementwise, tw_elementwise_args)
RUNNER(gather, tw_rows_args)
RUNNER(scatter, tw_rows_args)
RUNNER(copies, tw_copies_args)
RUNNER(ragged, tw_ragged_args)
RUNNER(route, tw_route_args)
RUNNER(grouped, tw_grouped_args)
RUNNER(quantize, tw_quantize_args)
RUNNER(gemm, tw_gemm_args)

static void says(const char *words) {
  if (!CHECK(strstr(tw_last_error(), words) != NULL))
    printf("    \"%s\" is not in: %s\n", words, tw_last_error());
}

static void says_numbers(const char *format, const char *name, uint64_t bytes, uint64_t address,
                         uint64_t there) {
  char words[256];
  snprintf(words, sizeof words, format, name, bytes, address, there);
  says(words);
}

/* Registers exactly the operands' bytes, except for the last `missing` bytes of operand `one`. */
static void register_all(const setup *s, const operand *operands, int count, int one,
                         uint64_t missing) {
  for (int i = 0; i < count; ++i)
    OK(tw_memory_register(s->device, *operands[i].address + (uint64_t)operands[i].low,
                          operands[i].bytes - (i == one ? missing : 0)));
}

static void unregister_all(const setup *s, const operand *operands, int count) {
  for (int i = 0; i < count; ++i)
    OK(tw_memory_unregister(s->device, *operands[i].address + (uint64_t)operands[i].low));
}

/* With all operands registered the run succeeds. With the last byte, or all, of one operand missing
 * it fails with the operand's name and writes nothing. */
static void each_operand(const setup *s, tw_plan *plan, runner run, const void *args,
                         const operand *operands, int count) {
  register_all(s, operands, count, -1, 0);
  OK(run(plan, s->stream, args));
  OK(tw_stream_synchronize(s->stream));
  unregister_all(s, operands, count);
  memcpy(arena_before, arena_words, sizeof arena_words);
  for (int i = 0; i < count; ++i) {
    const uint64_t bytes = operands[i].bytes;
    const uint64_t low = *operands[i].address + (uint64_t)operands[i].low;
    tw_error_info info;
    OK(tw_error_info_init(&info, sizeof info));
    register_all(s, operands, count, i, 1);
    if (FAILS(TW_ERROR_INVALID_ARGUMENT, operands[i].name, run(plan, s->stream, args)) &&
        bytes > 1) {
      says_numbers("%s needs %" PRIu64 " bytes from 0x%" PRIx64
                   ", but the range from tw_memory_register ends after %" PRIu64 " bytes",
                   operands[i].name, bytes, low, bytes - 1);
      OK(tw_last_error_info(&info));
      EQUAL(info.got, bytes - 1);
      EQUAL(info.limit, bytes);
    }
    unregister_all(s, operands, count);
    register_all(s, operands, count, i, bytes);
    if (FAILS(TW_ERROR_INVALID_ARGUMENT, operands[i].name, run(plan, s->stream, args)))
      says_numbers("%s needs %" PRIu64 " bytes from 0x%" PRIx64 ", which lies in no block",
                   operands[i].name, bytes, low, 0);
    unregister_all(s, operands, count);
  }
  OK(tw_stream_synchronize(s->stream));
  CHECK(memcmp(arena_before, arena_words, sizeof arena_words) == 0);
  tw_plan_destroy(plan);
}
#define EACH_OPERAND(op, args, ...)                                                          \
  do {                                                                                       \
    operand operands_[] = {__VA_ARGS__};                                                     \
    for (size_t i_ = 0; i_ < COUNT(operands_); ++i_) *operands_[i_].address = part((int)i_); \
    each_operand(&s, plan, run_##op, &(args), operands_, (int)COUNT(operands_));             \
  } while (0)

static void copies_of_tensors(void) {
  setup s = open_setup();
  tw_copy_desc desc;
  tw_copy_args args;
  tw_plan *plan = NULL;
  OK(tw_copy_desc_init(&desc, sizeof desc));
  OK(tw_copy_args_init(&args, sizeof args));
  desc.dtype = TW_DTYPE_U16;
  desc.rank = 2;
  desc.shape[0] = 4, desc.shape[1] = 8;
  desc.src_stride[0] = -20, desc.src_stride[1] = 1;
  desc.dst_stride[0] = 16, desc.dst_stride[1] = 1;
  NEED(tw_copy_plan(s.device, &desc, &plan));
  EACH_OPERAND(copy, args, {"src", &args.src, -120, 136}, {"dst", &args.dst, 0, 112});
  /* A window that begins one row into a tensor of three rows reads two of them. */
  desc.src_stride[0] = 20;
  desc.src_shape[0] = 3, desc.src_shape[1] = 8;
  desc.src_start[0] = 1;
  NEED(tw_copy_plan(s.device, &desc, &plan));
  EACH_OPERAND(copy, args, {"src", &args.src, 40, 56}, {"dst", &args.dst, 0, 112});
  /* Padding that may be written belongs to the operand, up to 16 bytes after the last row. */
  OK(tw_copy_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_U8;
  desc.rank = 2;
  desc.flags = TW_COPY_PADDING_WRITABLE;
  desc.shape[0] = 3, desc.shape[1] = 5;
  desc.src_stride[0] = desc.dst_stride[0] = 32;
  desc.src_stride[1] = desc.dst_stride[1] = 1;
  NEED(tw_copy_plan(s.device, &desc, &plan));
  EACH_OPERAND(copy, args, {"src", &args.src, 0, 69}, {"dst", &args.dst, 0, 80});
  close_setup(&s);
}

static void prefetches(void) {
  setup s = open_setup();
  tw_prefetch_desc desc;
  tw_prefetch_args args;
  tw_plan *plan = NULL;
  OK(tw_prefetch_desc_init(&desc, sizeof desc));
  OK(tw_prefetch_args_init(&args, sizeof args));
  desc.dtype = TW_DTYPE_U8;
  desc.rows = 3, desc.columns = 10, desc.pitch = 16;
  NEED(tw_prefetch_plan(s.device, &desc, &plan));
  EACH_OPERAND(prefetch, args, {"src", &args.src, 0, 42});
  OK(tw_prefetch_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_U8;
  desc.rank = 2;
  desc.shape[0] = 3, desc.shape[1] = 10;
  desc.stride[0] = -16, desc.stride[1] = 1;
  desc.budget = 16; /* the operand includes what the budget leaves out */
  NEED(tw_prefetch_plan(s.device, &desc, &plan));
  EACH_OPERAND(prefetch, args, {"src", &args.src, -32, 42});
  close_setup(&s);
}

static void elementwise(void) {
  setup s = open_setup();
  tw_elementwise_desc desc;
  tw_elementwise_args args;
  tw_plan *plan = NULL;
  OK(tw_elementwise_desc_init(&desc, sizeof desc));
  OK(tw_elementwise_args_init(&args, sizeof args));
  desc.a_dtype = TW_DTYPE_BF16, desc.b_dtype = TW_DTYPE_BF16;
  desc.flags = TW_ELEMENTWISE_DEVICE_SCALARS;
  desc.rank = 2;
  desc.shape[0] = 3, desc.shape[1] = 5;
  desc.a_stride[0] = 8, desc.b_stride[0] = 0, desc.dst_stride[0] = 5;
  desc.a_stride[1] = -1, desc.b_stride[1] = desc.dst_stride[1] = 1;
  NEED(tw_elementwise_plan(s.device, &desc, &plan));
  EACH_OPERAND(elementwise, args, {"a", &args.a, -8, 42}, {"b", &args.b, 0, 10},
               {"dst", &args.dst, 0, 60}, {"device_alpha", &args.device_alpha, 0, 4},
               {"device_beta", &args.device_beta, 0, 4});
  close_setup(&s);
}

static void rows(void) {
  setup s = open_setup();
  tw_rows_desc desc;
  tw_rows_args args;
  tw_plan_info info;
  tw_plan *plan = NULL;
  OK(tw_plan_info_init(&info, sizeof info));
  OK(tw_rows_desc_init(&desc, sizeof desc));
  OK(tw_rows_args_init(&args, sizeof args));
  desc.dtype = TW_DTYPE_F32;
  desc.table_rows = 3, desc.table_pitch = 16, desc.column = 2, desc.columns = 5;
  desc.count = 4, desc.packed_pitch = 8;
  NEED(tw_gather_plan(s.device, &desc, &plan));
  EACH_OPERAND(gather, args, {"table", &args.table, 8, 148}, {"index", &args.index, 0, 16},
               {"packed", &args.packed, 0, 116}, {"device_count", &args.device_count, 0, 4},
               {"invalid_count", &args.invalid_count, 0, 8});
  OK(tw_rows_args_init(&args, sizeof args));
  desc.group = 2;
  desc.flags = TW_ROWS_WEIGHTS;
  NEED(tw_gather_plan(s.device, &desc, &plan));
  EACH_OPERAND(gather, args, {"table", &args.table, 8, 148}, {"index", &args.index, 0, 32},
               {"packed", &args.packed, 0, 116}, {"weights", &args.weights, 0, 32});
  OK(tw_rows_args_init(&args, sizeof args));
  desc.group = 1;
  desc.flags = TW_SCATTER_LAST_WINS;
  NEED(tw_scatter_plan(s.device, &desc, &plan));
  OK(tw_plan_get_info(plan, &info));
  CHECK(info.workspace_bytes > 0 && info.workspace_bytes <= PART - 4096);
  args.workspace_bytes = info.workspace_bytes;
  EACH_OPERAND(scatter, args, {"table", &args.table, 8, 148}, {"index", &args.index, 0, 16},
               {"packed", &args.packed, 0, 116},
               {"workspace", &args.workspace, 0, info.workspace_bytes});
  /* A scatter does not read columns outside the table: here the leftmost one of each row. */
  OK(tw_rows_desc_init(&desc, sizeof desc));
  OK(tw_rows_args_init(&args, sizeof args));
  desc.dtype = TW_DTYPE_U8;
  desc.table_rows = 1, desc.table_columns = 4, desc.column = 2, desc.columns = 5, desc.count = 2;
  NEED(tw_scatter_plan(s.device, &desc, &plan));
  EACH_OPERAND(scatter, args, {"table", &args.table, 2, 2}, {"index", &args.index, 0, 8},
               {"packed", &args.packed, 0, 7});
  close_setup(&s);
}

static void put(uint64_t at, uint64_t word) {
  memcpy((void *)(uintptr_t)at, &word, sizeof word);
}

static void many_copies(void) {
  setup s = open_setup();
  tw_copies_desc desc;
  tw_copies_args args;
  tw_plan *plan = NULL;
  uint64_t places[4] = {0};
  OK(tw_copies_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_U16;
  desc.rank = 2;
  desc.count = 2;
  desc.shape[0] = 3, desc.shape[1] = 8;
  desc.src_stride[0] = 20, desc.src_stride[1] = 1;
  desc.dst_stride[0] = 16, desc.dst_stride[1] = 1;
  for (int counts = 0; counts < 2; ++counts) {
    OK(tw_copies_args_init(&args, sizeof args));
    NEED(tw_copies_plan(s.device, &desc, &plan));
    for (int i = 0; i < 2; ++i)
      put(part(0) + 8 * (uint64_t)i, part(2 + i)), put(part(1) + 8 * (uint64_t)i, part(4 + i));
    if (counts) {
      EACH_OPERAND(copies, args, {"src", &args.src, 0, 16}, {"dst", &args.dst, 0, 16},
                   {"src", &places[0], 0, 96}, {"src", &places[1], 0, 96},
                   {"dst", &places[2], 0, 80}, {"dst", &places[3], 0, 80},
                   {"invalid_count", &args.invalid_count, 0, 8});
      continue;
    }
    EACH_OPERAND(copies, args, {"src", &args.src, 0, 16}, {"dst", &args.dst, 0, 16},
                 {"src", &places[0], 0, 96}, {"src", &places[1], 0, 96}, {"dst", &places[2], 0, 80},
                 {"dst", &places[3], 0, 80});
    says("pair 1: dst needs");
  }
  /* A pair that is counted as invalid and skipped has no memory. */
  NEED(tw_copies_plan(s.device, &desc, &plan));
  put(part(0), 0), put(part(1) + 8, 1);
  EACH_OPERAND(copies, args, {"src", &args.src, 0, 16}, {"dst", &args.dst, 0, 16},
               {"invalid_count", &args.invalid_count, 0, 8});
  close_setup(&s);
}

static void ragged(void) {
  setup s = open_setup();
  tw_ragged_desc desc;
  tw_ragged_args args;
  tw_plan *plan = NULL;
  OK(tw_ragged_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_F32;
  desc.batch = 2, desc.tokens = 5, desc.rows = 3, desc.columns = 4;
  desc.packed_pitch = 8, desc.padded_pitch = 6;
  for (tw_ragged_direction way = TW_RAGGED_PAD; way <= TW_RAGGED_UNPAD; ++way) {
    OK(tw_ragged_args_init(&args, sizeof args));
    desc.direction = way;
    NEED(tw_ragged_plan(s.device, &desc, &plan));
    EACH_OPERAND(ragged, args, {"packed", &args.packed, 0, 144}, {"offsets", &args.offsets, 0, 12},
                 {"padded", &args.padded, 0, 136}, {"invalid_count", &args.invalid_count, 0, 8});
  }
  close_setup(&s);
}

static void route(void) {
  setup s = open_setup();
  tw_route_desc desc;
  tw_route_args args;
  tw_plan *plan = NULL;
  OK(tw_route_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_F32;
  desc.tokens = 5, desc.experts = 6, desc.top_k = 2, desc.logits_pitch = 8;
  OK(tw_route_args_init(&args, sizeof args));
  NEED(tw_route_plan(s.device, &desc, &plan));
  EACH_OPERAND(route, args, {"logits", &args.logits, 0, 152}, {"bias", &args.bias, 0, 24},
               {"expert_map", &args.expert_map, 0, 24}, {"ids", &args.ids, 0, 40},
               {"weights", &args.weights, 0, 40}, {"counts", &args.counts, 0, 24},
               {"offsets", &args.offsets, 0, 28}, {"order", &args.order, 0, 40},
               {"order_tokens", &args.order_tokens, 0, 40}, {"inverse", &args.inverse, 0, 40},
               {"invalid_count", &args.invalid_count, 0, 8});
  OK(tw_route_desc_init(&desc, sizeof desc));
  desc.flags = TW_ROUTE_GIVEN_IDS;
  desc.tokens = 5, desc.experts = 6, desc.top_k = 2;
  OK(tw_route_args_init(&args, sizeof args));
  NEED(tw_route_plan(s.device, &desc, &plan));
  EACH_OPERAND(route, args, {"given_ids", &args.given_ids, 0, 40},
               {"given_weights", &args.given_weights, 0, 40}, {"weights", &args.weights, 0, 40},
               {"inverse", &args.inverse, 0, 40});
  close_setup(&s);
}

static void quantize(void) {
  setup s = open_setup();
  tw_quantize_desc desc;
  tw_quantize_args args;
  tw_plan *plan = NULL;
  OK(tw_quantize_desc_init(&desc, sizeof desc));
  desc.src_dtype = TW_DTYPE_BF16, desc.dst_dtype = TW_DTYPE_F8E4M3;
  desc.scale = TW_SCALE_1X128, desc.scale_order = TW_COLUMN_MAJOR;
  desc.rows = 5, desc.columns = 200;
  desc.src_pitch = 208, desc.dst_pitch = 201, desc.scale_ld = 8;
  OK(tw_quantize_args_init(&args, sizeof args));
  NEED(tw_quantize_plan(s.device, &desc, &plan));
  EACH_OPERAND(quantize, args, {"src", &args.src, 0, 4 * 416 + 400},
               {"dst", &args.dst, 0, 4 * 201 + 200}, {"scale", &args.scale, 0, 32 + 20});
  desc.scale = TW_SCALE_TENSOR, desc.scale_order = TW_ROW_MAJOR, desc.scale_ld = 0;
  OK(tw_quantize_args_init(&args, sizeof args));
  NEED(tw_quantize_plan(s.device, &desc, &plan));
  args.workspace_bytes = 4096;
  EACH_OPERAND(quantize, args, {"src", &args.src, 0, 4 * 416 + 400},
               {"dst", &args.dst, 0, 4 * 201 + 200}, {"scale", &args.scale, 0, 4},
               {"amax", &args.amax, 0, 4}, {"workspace", &args.workspace, 0, 4096});
  close_setup(&s);
}

static void grouped(void) {
  setup s = open_setup();
  tw_grouped_desc desc;
  tw_grouped_args args;
  tw_plan *plan = NULL;
  OK(tw_grouped_desc_init(&desc, sizeof desc));
  desc.m = 5, desc.n = 6, desc.k = 4, desc.group_count = 3, desc.weight_count = 2;
  desc.bias_dtype = TW_DTYPE_F32;
  desc.lda = 8, desc.ldb = 7, desc.ldd = 9, desc.b_stride = 40, desc.bias_stride = 10;
  desc.flags = TW_GROUPED_GATHER | TW_GROUPED_SCATTER | TW_GROUPED_INVERSE;
  desc.combine = TW_GROUPED_COMBINE_SUM;
  desc.a_count = 7, desc.d_count = 2, desc.d_divisor = 3;
  desc.row_index_dtype = TW_DTYPE_I64;
  OK(tw_grouped_args_init(&args, sizeof args));
  NEED(tw_grouped_plan(s.device, &desc, &plan));
  args.workspace_bytes = 256;
  EACH_OPERAND(grouped, args, {"a", &args.a, 0, 104}, {"b", &args.b, 0, 134},
               {"bias", &args.bias, 0, 64}, {"groups", &args.groups, 0, 12},
               {"group_map", &args.group_map, 0, 12}, {"group_alpha", &args.group_alpha, 0, 8},
               {"a_rows", &args.a_rows, 0, 40}, {"d_rows", &args.d_rows, 0, 40},
               {"row_weights", &args.row_weights, 0, 20}, {"inverse", &args.inverse, 0, 24},
               {"d", &args.d, 0, 30}, {"invalid_count", &args.invalid_count, 0, 8},
               {"workspace", &args.workspace, 0, 256});
  OK(tw_grouped_desc_init(&desc, sizeof desc));
  desc.grouping = TW_GROUPING_K_RANGES;
  desc.m = 5, desc.n = 6, desc.k = 4, desc.group_count = 3, desc.d_stride = 40;
  OK(tw_grouped_args_init(&args, sizeof args));
  NEED(tw_grouped_plan(s.device, &desc, &plan));
  EACH_OPERAND(grouped, args, {"a", &args.a, 0, 40}, {"b", &args.b, 0, 48},
               {"groups", &args.groups, 0, 12}, {"d", &args.d, 0, 440});
  close_setup(&s);
}

static void gemm(void) {
  setup s = open_setup();
  tw_gemm_desc desc;
  tw_gemm_args args;
  tw_plan_info info;
  tw_plan *plan = NULL;
  OK(tw_plan_info_init(&info, sizeof info));
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  OK(tw_gemm_args_init(&args, sizeof args));
  desc.m = 5, desc.n = 6, desc.k = 7;
  desc.lda = 8, desc.ldb = 9, desc.ldc = 10, desc.ldd = 11;
  desc.b_order = TW_COLUMN_MAJOR;
  desc.d_dtype = TW_DTYPE_F32;
  desc.bias = TW_PER_COLUMN, desc.bias_dtype = TW_DTYPE_BF16;
  desc.d_factor = TW_PER_ROW;
  desc.flags = TW_GEMM_DEVICE_M | TW_GEMM_DEVICE_SCALARS | TW_GEMM_AMAX;
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  EACH_OPERAND(gemm, args, {"a", &args.a, 0, 78}, {"b", &args.b, 0, 104}, {"c", &args.c, 0, 184},
               {"d", &args.d, 0, 200}, {"bias", &args.bias, 0, 12},
               {"d_factor", &args.d_factor, 0, 20}, {"amax", &args.amax, 0, 4},
               {"device_m", &args.device_m, 0, 8}, {"device_alpha", &args.device_alpha, 0, 4},
               {"device_beta", &args.device_beta, 0, 4});
  /* The workspace of staging copies. The operands' pitches are not multiples of 16 bytes. */
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  OK(tw_gemm_args_init(&args, sizeof args));
  desc.m = desc.min_m = 5, desc.n = 6, desc.k = 7;
  desc.flags = TW_GEMM_STAGING_COPY;
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  OK(tw_plan_get_info(plan, &info));
  CHECK(info.workspace_bytes > 0 && info.workspace_bytes <= PART - 4096);
  args.workspace_bytes = info.workspace_bytes;
  EACH_OPERAND(gemm, args, {"a", &args.a, 0, 70}, {"b", &args.b, 0, 84}, {"d", &args.d, 0, 60},
               {"workspace", &args.workspace, 0, info.workspace_bytes});
  /* A batch spans all its matrices. With free padding D includes its whole last line. */
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  OK(tw_gemm_args_init(&args, sizeof args));
  desc.m = 5, desc.n = 6, desc.k = 8, desc.ldd = 8;
  desc.batch_count = 3;
  desc.b_batch_stride = 0;
  desc.flags = TW_GEMM_D_PADDING_WRITABLE;
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  EACH_OPERAND(gemm, args, {"a", &args.a, 0, 240}, {"b", &args.b, 0, 96}, {"d", &args.d, 0, 240});
  close_setup(&s);
}

static void gemm_by_addresses(void) {
  setup s = open_setup();
  tw_gemm_desc desc;
  tw_gemm_args args;
  tw_plan_info info;
  tw_plan *plan = NULL;
  uint64_t places[6] = {0};
  OK(tw_plan_info_init(&info, sizeof info));
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  desc.m = 4, desc.n = 8, desc.k = 8;
  desc.batch_count = 2;
  desc.flags = TW_GEMM_BATCH_POINTERS;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) put(part(i) + 8 * (uint64_t)j, part(5 + 2 * i + j));
  OK(tw_gemm_args_init(&args, sizeof args));
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  OK(tw_plan_get_info(plan, &info));
  args.workspace_bytes = info.workspace_bytes;
  EACH_OPERAND(gemm, args, {"a", &args.a, 0, 16}, {"b", &args.b, 0, 16}, {"d", &args.d, 0, 16},
               {"workspace", &args.workspace, 0, info.workspace_bytes},
               {"invalid_count", &args.invalid_count, 0, 8}, {"a", &places[0], 0, 64},
               {"a", &places[1], 0, 64}, {"b", &places[2], 0, 128}, {"b", &places[3], 0, 128},
               {"d", &places[4], 0, 64}, {"d", &places[5], 0, 64});
  says("matrix 1 of the batch: d needs");
  /* A product that is counted as invalid and skipped has no memory. */
  put(part(0), 0), put(part(2) + 8, 0);
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  EACH_OPERAND(gemm, args, {"a", &args.a, 0, 16}, {"b", &args.b, 0, 16}, {"d", &args.d, 0, 16},
               {"workspace", &args.workspace, 0, info.workspace_bytes},
               {"invalid_count", &args.invalid_count, 0, 8});
  close_setup(&s);
}

static void tuning(void) {
  setup s = open_setup();
  tw_gemm_desc desc;
  tw_gemm_args args;
  tw_gemm_tune_desc how;
  tw_gemm_tuning *set = NULL;
  const uint64_t block = allocated(&s, 1024);
  OK(tw_gemm_tuning_create(&set));
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  OK(tw_gemm_args_init(&args, sizeof args));
  OK(tw_gemm_tune_desc_init(&how, sizeof how));
  how.candidates = how.rounds = 1;
  desc.m = desc.n = desc.k = 8;
  args.a = block, args.b = block + 256, args.d = block + 512;
  OK(tw_gemm_tune(set, s.stream, &desc, &args, &how, NULL));
  how.flush = part(0), how.flush_bytes = 64;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "flush", tw_gemm_tune(set, s.stream, &desc, &args, &how, NULL));
  how.flush = how.flush_bytes = 0;
  how.scratch_d = block + 1024 - 127;
  FAILS(TW_ERROR_MISALIGNED, "d", tw_gemm_tune(set, s.stream, &desc, &args, &how, NULL));
  how.scratch_d = block + 1024 - 126;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "d", tw_gemm_tune(set, s.stream, &desc, &args, &how, NULL));
  says("scratch_d is the runs' d: d needs 128 bytes");
  tw_gemm_tuning_destroy(set);
  close_setup(&s);
}

/* D has memory for bf16 but is described as f32. */
static void described_as_another_type(void) {
  setup s = open_setup();
  tw_gemm_desc desc;
  tw_gemm_args args;
  tw_plan *plan = NULL;
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  OK(tw_gemm_args_init(&args, sizeof args));
  desc.m = 64, desc.n = 32, desc.k = 16;
  desc.d_dtype = TW_DTYPE_F32;
  args.a = allocated(&s, 64 * 16 * 2);
  args.b = allocated(&s, 16 * 32 * 2);
  args.d = allocated(&s, 64 * 32 * 2);
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "d", tw_gemm_run(plan, s.stream, &args));
  says("d needs 8192 bytes from 0x");
  says("but the block from tw_malloc ends after 4096 bytes");
  OK(tw_free(s.device, args.b));
  args.d = allocated(&s, 64 * 32 * 4);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "b", tw_gemm_run(plan, s.stream, &args));
  says("a block of 1024 bytes from 0x");
  says("was there until tw_free removed it");
  tw_plan_destroy(plan);
  close_setup(&s);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  if (harness.kind == TW_DEVICE_CUDA) {
    printf("skipped: the host device alone checks where operands lie\n");
    return 77;
  }
  RUN(copies_of_tensors);
  RUN(prefetches);
  RUN(elementwise);
  RUN(rows);
  RUN(many_copies);
  RUN(ragged);
  RUN(route);
  RUN(grouped);
  RUN(quantize);
  RUN(gemm);
  RUN(gemm_by_addresses);
  RUN(tuning);
  RUN(described_as_another_type);
  return harness_end();
}
