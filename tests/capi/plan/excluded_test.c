/* SPDX-License-Identifier: Apache-2.0 */
/* Every field and address that the rest of a description can make unused: it must keep its initial
 * value and is refused by name otherwise. Exempt are the workspace, and C in a run with beta 0. */

#include "tests/capi/common/plan_harness.h"

static setup s;
static uint64_t memory; /* zeros */
static tw_plan *made;
static unsigned pairs;

static tw_copy_desc copy;
static tw_prefetch_desc prefetch;
static tw_rows_desc rows;
static tw_rows_args rows_args;
static tw_ragged_desc ragged;
static tw_route_desc route;
static tw_grouped_desc grouped;
static tw_quantize_desc quantize;
static tw_quantize_args quantize_args;
static tw_elementwise_desc elementwise;
static tw_elementwise_args elementwise_args;
static tw_gemm_desc gemm;
static tw_gemm_args gemm_args;
static tw_copies_desc copies;
static tw_tile_desc tile;

static void fresh(void) {
  OK(tw_copy_desc_init(&copy, sizeof copy));
  copy.dtype = TW_DTYPE_F32;
  copy.rank = 1;
  copy.shape[0] = 16, copy.src_stride[0] = copy.dst_stride[0] = 1;
  OK(tw_copies_desc_init(&copies, sizeof copies));
  copies.dtype = TW_DTYPE_F32;
  copies.rank = 1;
  copies.shape[0] = 16, copies.src_stride[0] = copies.dst_stride[0] = 1;
  copies.count = 1;
  OK(tw_prefetch_desc_init(&prefetch, sizeof prefetch));
  prefetch.dtype = TW_DTYPE_F32;
  OK(tw_rows_desc_init(&rows, sizeof rows));
  rows.dtype = TW_DTYPE_F32;
  rows.table_rows = 16, rows.columns = 16, rows.count = 4;
  OK(tw_rows_args_init(&rows_args, sizeof rows_args));
  rows_args.table = memory, rows_args.packed = memory + 4096, rows_args.index = memory + 8192;
  OK(tw_ragged_desc_init(&ragged, sizeof ragged));
  ragged.dtype = TW_DTYPE_F32;
  ragged.batch = 1, ragged.tokens = 4, ragged.rows = 4, ragged.columns = 16;
  OK(tw_route_desc_init(&route, sizeof route));
  route.dtype = TW_DTYPE_F32;
  route.tokens = 4, route.experts = 16, route.top_k = 2;
  OK(tw_grouped_desc_init(&grouped, sizeof grouped));
  grouped.m = grouped.n = grouped.k = 16, grouped.group_count = 2;
  OK(tw_quantize_desc_init(&quantize, sizeof quantize));
  quantize.src_dtype = TW_DTYPE_BF16, quantize.dst_dtype = TW_DTYPE_F8E4M3;
  quantize.scale = TW_SCALE_TENSOR;
  quantize.rows = quantize.columns = 16;
  OK(tw_quantize_args_init(&quantize_args, sizeof quantize_args));
  quantize_args.src = memory, quantize_args.dst = memory + 4096;
  quantize_args.scale = memory + 8192;
  OK(tw_elementwise_desc_init(&elementwise, sizeof elementwise));
  elementwise.rank = 1;
  elementwise.shape[0] = 16, elementwise.a_stride[0] = elementwise.dst_stride[0] = 1;
  OK(tw_elementwise_args_init(&elementwise_args, sizeof elementwise_args));
  elementwise_args.a = memory, elementwise_args.dst = memory + 4096;
  OK(tw_gemm_desc_init(&gemm, sizeof gemm));
  gemm.m = gemm.n = gemm.k = 16;
  OK(tw_gemm_args_init(&gemm_args, sizeof gemm_args));
  gemm_args.a = memory, gemm_args.b = memory + 4096, gemm_args.d = memory + 8192;
  OK(tw_tile_desc_init(&tile, sizeof tile));
  tile.global_address = memory;
  tile.rank = 1;
  tile.shape[0] = 64, tile.stride[0] = 1, tile.tile[0] = 64;
}

/* Checks that `field` is refused by name after `change` sets it; `call` plans or runs. */
#define EXCLUDED(field, change, call)              \
  do {                                             \
    fresh();                                       \
    ++pairs;                                       \
    harness.test = field " by " #change;           \
    change;                                        \
    FAILS(TW_ERROR_INVALID_ARGUMENT, field, call); \
  } while (0)

#define COPY tw_copy_plan(s.device, &copy, &made)
#define PREFETCH tw_prefetch_plan(s.device, &prefetch, &made)
#define GATHER tw_gather_plan(s.device, &rows, &made)
#define SCATTER tw_scatter_plan(s.device, &rows, &made)
#define RAGGED tw_ragged_plan(s.device, &ragged, &made)
#define ROUTE tw_route_plan(s.device, &route, &made)
#define GROUPED tw_grouped_plan(s.device, &grouped, &made)
#define QUANTIZE tw_quantize_plan(s.device, &quantize, &made)
#define ELEMENTWISE tw_elementwise_plan(s.device, &elementwise, &made)
#define GEMM tw_gemm_plan(s.device, &gemm, &made)

static void by_the_rank(void) {
  tw_tensor_map *map = NULL;
  EXCLUDED("shape", copy.shape[1] = 1, COPY);
  EXCLUDED("shape", copy.shape[7] = 0, COPY);
  EXCLUDED("src_stride", copy.src_stride[1] = 1, COPY);
  EXCLUDED("dst_stride", copy.dst_stride[1] = 1, COPY);
  EXCLUDED("src_shape", copy.src_shape[1] = 1, COPY);
  EXCLUDED("src_start", copy.src_start[1] = 1, COPY);
  EXCLUDED("shape", copies.shape[1] = 1, tw_copies_plan(s.device, &copies, &made));
  EXCLUDED("src_stride", copies.src_stride[1] = 1, tw_copies_plan(s.device, &copies, &made));
  EXCLUDED("dst_stride", copies.dst_stride[1] = 1, tw_copies_plan(s.device, &copies, &made));
  EXCLUDED("shape", elementwise.shape[1] = 1, ELEMENTWISE);
  EXCLUDED("a_stride", elementwise.a_stride[1] = 1, ELEMENTWISE);
  EXCLUDED("dst_stride", elementwise.dst_stride[1] = 1, ELEMENTWISE);
  EXCLUDED("b_stride",
           (elementwise.b_dtype = TW_DTYPE_F32, elementwise.b_stride[0] = 1,
            elementwise.b_stride[1] = 1),
           ELEMENTWISE);
  EXCLUDED("shape", tile.shape[1] = 1, tw_tensor_map_create_tile(s.device, &tile, NULL, &map));
  EXCLUDED("stride", tile.stride[1] = 1, tw_tensor_map_create_tile(s.device, &tile, NULL, &map));
  EXCLUDED("tile", tile.tile[1] = 1, tw_tensor_map_create_tile(s.device, &tile, NULL, &map));
  /* Prefetches have two forms. */
  EXCLUDED("shape", (prefetch.rows = prefetch.columns = 4, prefetch.shape[0] = 4), PREFETCH);
  EXCLUDED("stride", (prefetch.rows = prefetch.columns = 4, prefetch.stride[0] = 1), PREFETCH);
#define RANKED prefetch.rank = 1, prefetch.shape[0] = 4, prefetch.stride[0] = 1
  EXCLUDED("rows", (RANKED, prefetch.rows = 4), PREFETCH);
  EXCLUDED("columns", (RANKED, prefetch.columns = 4), PREFETCH);
  EXCLUDED("pitch", (RANKED, prefetch.pitch = 4), PREFETCH);
  EXCLUDED("shape", (RANKED, prefetch.shape[1] = 4), PREFETCH);
}

static void by_what_is_described(void) {
  EXCLUDED("fill", copy.fill = TW_OOB_FILL_NAN, COPY);
  EXCLUDED("src_start", copy.src_start[0] = 1, COPY);
  EXCLUDED("fill", (ragged.direction = TW_RAGGED_UNPAD, ragged.fill = TW_OOB_FILL_NAN), RAGGED);
#define GIVEN route.flags = TW_ROUTE_GIVEN_IDS, route.dtype = 0
  EXCLUDED("id_dtype", route.id_dtype = TW_DTYPE_I64, ROUTE);
  EXCLUDED("dtype", (GIVEN, route.dtype = TW_DTYPE_F32), ROUTE);
  EXCLUDED("score", (GIVEN, route.score = TW_ROUTE_SIGMOID), ROUTE);
  EXCLUDED("groups", (GIVEN, route.groups = 2), ROUTE);
  EXCLUDED("logits_pitch", (GIVEN, route.logits_pitch = 16), ROUTE);
  EXCLUDED("top_groups", route.top_groups = 1, ROUTE);
  EXCLUDED("group_score", route.group_score = TW_ROUTE_GROUP_TOP2, ROUTE);
#undef GIVEN
  EXCLUDED("row_alignment", grouped.row_alignment = 64, GROUPED);
  EXCLUDED("group_rows", grouped.group_rows = 8, GROUPED);
  EXCLUDED("d_stride", grouped.d_stride = 256, GROUPED);
  EXCLUDED("bias_stride", grouped.bias_stride = 16, GROUPED);
  EXCLUDED("gate_limit", grouped.gate_limit = 7, GROUPED);
  EXCLUDED("gate_slope", (grouped.gate = TW_GATE_HALVES, grouped.gate_slope = 2), GROUPED);
  EXCLUDED("a_count", grouped.a_count = 8, GROUPED);
  EXCLUDED("d_divisor", grouped.d_divisor = 2, GROUPED);
  EXCLUDED("combine", grouped.combine = TW_GROUPED_COMBINE_ADD_ATOMIC, GROUPED);
  EXCLUDED("flags", grouped.flags = TW_GROUPED_ROW_WEIGHT_BY_INDEX, GROUPED);
  EXCLUDED("flags", grouped.flags = TW_GROUPED_INVERSE, GROUPED);
#define RANGES grouped.grouping = TW_GROUPING_K_RANGES
  EXCLUDED("flags", (RANGES, grouped.flags = TW_GROUPED_ZERO_OTHER_ROWS), GROUPED);
  EXCLUDED("weight_count", (RANGES, grouped.weight_count = 2), GROUPED);
  EXCLUDED("b_order", (RANGES, grouped.b_order = TW_COLUMN_MAJOR), GROUPED);
#undef RANGES
  EXCLUDED("scale_order", quantize.scale_order = TW_COLUMN_MAJOR, QUANTIZE);
  EXCLUDED("scale_ld", quantize.scale_ld = 1, QUANTIZE);
  EXCLUDED("flags", quantize.flags = TW_QUANTIZE_GIVEN_SCALE | TW_QUANTIZE_POWERS_OF_TWO, QUANTIZE);
  EXCLUDED("flags", (quantize.scale = TW_SCALE_ROW, quantize.flags = TW_QUANTIZE_GIVEN_SCALE),
           QUANTIZE);
#define BACK quantize.src_dtype = TW_DTYPE_I8, quantize.dst_dtype = TW_DTYPE_F32
  EXCLUDED("flags", (BACK, quantize.flags = TW_QUANTIZE_POWERS_OF_TWO), QUANTIZE);
#undef BACK
  EXCLUDED("reduction", rows.reduction = TW_REDUCE_ADD, GATHER);
  EXCLUDED("flags", rows.flags = TW_SCATTER_LAST_WINS, GATHER);
  EXCLUDED("flags", rows.flags = TW_SCATTER_DETERMINISTIC, GATHER);
  EXCLUDED("flags", rows.flags = TW_ROWS_ACCUMULATE_F32, GATHER);
  EXCLUDED("group", rows.group = 2, SCATTER);
  EXCLUDED("flags", rows.flags = TW_ROWS_WEIGHTS, SCATTER);
  EXCLUDED("flags", rows.flags = TW_ROWS_ACCUMULATE_F32, SCATTER);
  EXCLUDED("flags", (rows.reduction = TW_REDUCE_ADD, rows.flags = TW_SCATTER_LAST_WINS), SCATTER);
  EXCLUDED("flags", (rows.reduction = TW_REDUCE_MAX, rows.flags = TW_ROWS_WEIGHTS), SCATTER);
  EXCLUDED("b_stride", elementwise.b_stride[0] = 1, ELEMENTWISE);
  EXCLUDED("b_alignment", elementwise.b_alignment = 16, ELEMENTWISE);
  EXCLUDED("bias_dtype", gemm.bias_dtype = TW_DTYPE_F32, GEMM);
  EXCLUDED("flags", gemm.flags = TW_GEMM_A_CONSTANT, GEMM);
  EXCLUDED("flags", gemm.flags = TW_GEMM_B_CONSTANT, GEMM);
  EXCLUDED("flags", gemm.flags = TW_GEMM_BATCH_POINTERS | TW_GEMM_STAGING_COPY, GEMM);
  EXCLUDED("a_scale", gemm.a_scale_ld = 1, GEMM);
  EXCLUDED("a_scale", gemm.a_scale_order = TW_COLUMN_MAJOR, GEMM);
  EXCLUDED("b_scale", gemm.b_scale_ld = 1, GEMM);
  EXCLUDED("b_scale", gemm.b_scale_order = TW_COLUMN_MAJOR, GEMM);
#define POINTERS gemm.flags = TW_GEMM_BATCH_POINTERS
  EXCLUDED("a_batch_stride", (POINTERS, gemm.a_batch_stride = 256), GEMM);
  EXCLUDED("b_batch_stride", (POINTERS, gemm.b_batch_stride = 256), GEMM);
  EXCLUDED("c_batch_stride", (POINTERS, gemm.c_batch_stride = 256), GEMM);
  EXCLUDED("d_batch_stride", (POINTERS, gemm.d_batch_stride = 256), GEMM);
}

/* Addresses and scalars in a run whose plan does not use them. */
static void of_runs(void) {
  tw_plan *gather = NULL, *sum = NULL, *product = NULL, *scaled = NULL, *multiplied = NULL;
  fresh();
  NEED(tw_gather_plan(s.device, &rows, &gather));
  NEED(tw_elementwise_plan(s.device, &elementwise, &sum));
  NEED(tw_gemm_plan(s.device, &gemm, &product));
  elementwise.b_dtype = TW_DTYPE_F32, elementwise.b_stride[0] = 1;
  elementwise.combine = TW_COMBINE_MULTIPLY;
  elementwise.flags = TW_ELEMENTWISE_DEVICE_SCALARS;
  NEED(tw_elementwise_plan(s.device, &elementwise, &multiplied));
  gemm.d_factor = TW_PER_TENSOR;
  NEED(tw_gemm_plan(s.device, &gemm, &scaled));
#define RUN_GATHER tw_gather_run(gather, s.stream, &rows_args)
#define RUN_SUM tw_elementwise_run(sum, s.stream, &elementwise_args)
#define RUN_GEMM tw_gemm_run(product, s.stream, &gemm_args)
  EXCLUDED("weights", rows_args.weights = memory, RUN_GATHER);
  EXCLUDED("b", elementwise_args.b = memory, RUN_SUM);
  EXCLUDED("beta", elementwise_args.beta = 2, RUN_SUM);
  EXCLUDED("device_alpha", elementwise_args.device_alpha = memory, RUN_SUM);
  EXCLUDED("device_beta", elementwise_args.device_beta = memory, RUN_SUM);
#define RUN_PRODUCT tw_elementwise_run(multiplied, s.stream, &elementwise_args)
#define WITH_B elementwise_args.b = memory + 12288
  EXCLUDED("beta", (WITH_B, elementwise_args.beta = 2), RUN_PRODUCT);
  EXCLUDED("device_beta", (WITH_B, elementwise_args.device_beta = memory), RUN_PRODUCT);
  EXCLUDED("bias", gemm_args.bias = memory, RUN_GEMM);
  EXCLUDED("d_factor", gemm_args.d_factor = memory, RUN_GEMM);
  EXCLUDED("d_factor_value", gemm_args.d_factor_value = 2, RUN_GEMM);
  EXCLUDED("d_factor_value", (gemm_args.d_factor_value = 2, gemm_args.d_factor = memory + 12288),
           tw_gemm_run(scaled, s.stream, &gemm_args));
  EXCLUDED("amax", gemm_args.amax = memory, RUN_GEMM);
  EXCLUDED("device_m", gemm_args.device_m = memory, RUN_GEMM);
  EXCLUDED("device_alpha", gemm_args.device_alpha = memory, RUN_GEMM);
  EXCLUDED("device_beta", gemm_args.device_beta = memory, RUN_GEMM);
  EXCLUDED("invalid_count", gemm_args.invalid_count = memory, RUN_GEMM);
  EXCLUDED("a_scale", gemm_args.a_scale = memory, RUN_GEMM);
  EXCLUDED("b_scale", gemm_args.b_scale = memory, RUN_GEMM);
  /* Exempt: a workspace that is not needed, and C with beta 0. */
  fresh();
  gemm_args.c = gemm_args.d, gemm_args.workspace = memory + 16384;
  gemm_args.workspace_bytes = 256;
  OK(RUN_GEMM);
  rows_args.workspace = memory + 16384, rows_args.workspace_bytes = 256;
  OK(RUN_GATHER);
  tw_plan_destroy(gather);
  tw_plan_destroy(sum);
  tw_plan_destroy(product);
  tw_plan_destroy(scaled);
  tw_plan_destroy(multiplied);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  s = open_setup();
  memory = allocated(&s, 1 << 16);
  OK(tw_memset(s.stream, memory, 0, 1 << 16));
  RUN(by_the_rank);
  RUN(by_what_is_described);
  RUN(of_runs);
  printf("%u pairs\n", pairs);
  close_setup(&s);
  return harness_end();
}
