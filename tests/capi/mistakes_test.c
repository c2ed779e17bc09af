/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes that a newcomer may make. None may pass silently or crash. Each must be refused before
 * anything happens, with a message that names the argument, the rule and a valid alternative. */

#include "tests/capi/common/plan_harness.h"

enum { kRows = 16, kColumns = 16, kBytes = 1 << 16 };

/* Valid descriptions, arguments and plans; each mistake spoils one of them. */
static struct {
  setup s;
  uint64_t memory; /* kBytes of zeros, divided into the operands */
  tw_plan *plan, *gemm_plan, *gather_plan, *copy_plan, *elementwise_plan;
  tw_tensor_map *map;
  tw_layout *layout;
  tw_copy_desc copy;
  tw_copy_args copy_args;
  tw_copies_desc copies;
  tw_prefetch_desc prefetch;
  tw_rows_desc rows;
  tw_rows_args rows_args;
  tw_ragged_desc ragged;
  tw_ragged_args ragged_args;
  tw_route_desc route;
  tw_quantize_desc quantize;
  tw_grouped_desc grouped;
  tw_elementwise_desc elementwise;
  tw_elementwise_args elementwise_args;
  tw_gemm_desc gemm;
  tw_gemm_args gemm_args;
  tw_tensor_map_desc tensor_map;
  tw_tile_desc tile;
  tw_tensor tensor;
  tw_device_info device_info;
  tw_plan_info plan_info;
  unsigned count; /* number of mistakes so far */
} m;

static void fresh_copies(void) {
  OK(tw_copy_desc_init(&m.copy, sizeof m.copy));
  m.copy.dtype = TW_DTYPE_F32;
  m.copy.rank = 2;
  m.copy.shape[0] = kRows, m.copy.shape[1] = kColumns;
  m.copy.src_stride[0] = m.copy.dst_stride[0] = kColumns;
  m.copy.src_stride[1] = m.copy.dst_stride[1] = 1;
  OK(tw_copy_args_init(&m.copy_args, sizeof m.copy_args));
  m.copy_args.src = m.memory;
  m.copy_args.dst = m.memory + 8192;
  OK(tw_copies_desc_init(&m.copies, sizeof m.copies));
  m.copies.dtype = TW_DTYPE_F32;
  m.copies.rank = 1;
  m.copies.shape[0] = 64;
  m.copies.src_stride[0] = m.copies.dst_stride[0] = 1;
  m.copies.count = 2;
  OK(tw_prefetch_desc_init(&m.prefetch, sizeof m.prefetch));
  m.prefetch.dtype = TW_DTYPE_F32;
  m.prefetch.rows = kRows, m.prefetch.columns = kColumns;
}

static void fresh_rows(void) {
  OK(tw_rows_desc_init(&m.rows, sizeof m.rows));
  m.rows.dtype = TW_DTYPE_F32;
  m.rows.table_rows = 64;
  m.rows.columns = kColumns;
  m.rows.count = 8;
  OK(tw_rows_args_init(&m.rows_args, sizeof m.rows_args));
  m.rows_args.table = m.memory;
  m.rows_args.index = m.memory + 16384;
  m.rows_args.packed = m.memory + 8192;
  OK(tw_ragged_desc_init(&m.ragged, sizeof m.ragged));
  m.ragged.dtype = TW_DTYPE_F32;
  m.ragged.batch = 2, m.ragged.tokens = 8, m.ragged.rows = 4, m.ragged.columns = kColumns;
  OK(tw_ragged_args_init(&m.ragged_args, sizeof m.ragged_args));
  OK(tw_route_desc_init(&m.route, sizeof m.route));
  m.route.dtype = TW_DTYPE_F32;
  m.route.tokens = m.route.experts = 8, m.route.top_k = 2;
  OK(tw_quantize_desc_init(&m.quantize, sizeof m.quantize));
  m.quantize.src_dtype = TW_DTYPE_BF16, m.quantize.dst_dtype = TW_DTYPE_F8E4M3;
  m.quantize.scale = TW_SCALE_1X128;
  m.quantize.rows = 8, m.quantize.columns = 256;
  OK(tw_grouped_desc_init(&m.grouped, sizeof m.grouped));
  m.grouped.m = m.grouped.n = m.grouped.k = 8, m.grouped.group_count = 2;
}

static void fresh_arithmetic(void) {
  OK(tw_elementwise_desc_init(&m.elementwise, sizeof m.elementwise));
  m.elementwise.rank = 1;
  m.elementwise.shape[0] = 64;
  m.elementwise.a_stride[0] = m.elementwise.dst_stride[0] = 1;
  OK(tw_elementwise_args_init(&m.elementwise_args, sizeof m.elementwise_args));
  m.elementwise_args.a = m.memory;
  m.elementwise_args.dst = m.memory + 8192;
  OK(tw_gemm_desc_init(&m.gemm, sizeof m.gemm));
  m.gemm.m = m.gemm.n = m.gemm.k = 16;
  OK(tw_gemm_args_init(&m.gemm_args, sizeof m.gemm_args));
  m.gemm_args.a = m.memory;
  m.gemm_args.b = m.memory + 4096;
  m.gemm_args.d = m.memory + 8192;
}

static void fresh_maps(void) {
  OK(tw_tensor_map_desc_init(&m.tensor_map, sizeof m.tensor_map));
  m.tensor_map.global_address = m.memory;
  m.tensor_map.global_dim[0] = m.tensor_map.global_dim[1] = 64;
  m.tensor_map.global_stride_bytes[0] = 128;
  m.tensor_map.box_dim[0] = m.tensor_map.box_dim[1] = 8;
  OK(tw_tile_desc_init(&m.tile, sizeof m.tile));
  m.tile.rank = 2;
  m.tile.global_address = m.memory;
  m.tile.shape[0] = m.tile.shape[1] = 64;
  m.tile.stride[0] = 64, m.tile.stride[1] = 1;
  m.tile.tile[0] = m.tile.tile[1] = 16;
  OK(tw_tensor_init(&m.tensor, sizeof m.tensor));
  m.tensor.dtype = TW_DTYPE_F32;
  OK(tw_device_info_init(&m.device_info, sizeof m.device_info));
  OK(tw_plan_info_init(&m.plan_info, sizeof m.plan_info));
}

static void fresh(void) {
  fresh_copies();
  fresh_rows();
  fresh_arithmetic();
  fresh_maps();
}

/* One mistake: `what` describes it. The remaining argument is an expression that spoils something
 * and makes the call, which must fail with `status` and a message that contains `words`. */
#define MISTAKE(what, status, words, ...)                             \
  do {                                                                \
    fresh();                                                          \
    ++m.count;                                                        \
    harness.test = (what);                                            \
    if (FAILS((status), NULL, (__VA_ARGS__)))                         \
      if (!CHECK(strstr(tw_last_error(), (words)) != NULL))           \
        printf("    \"%s\" is not in: %s\n", words, tw_last_error()); \
  } while (0)
#define WRONG TW_ERROR_INVALID_ARGUMENT

static tw_status copy(void) {
  return tw_copy_plan(m.s.device, &m.copy, &m.plan);
}
static tw_status copies(void) {
  return tw_copies_plan(m.s.device, &m.copies, &m.plan);
}
static tw_status prefetch(void) {
  return tw_prefetch_plan(m.s.device, &m.prefetch, &m.plan);
}
static tw_status gather(void) {
  return tw_gather_plan(m.s.device, &m.rows, &m.plan);
}
static tw_status scatter(void) {
  return tw_scatter_plan(m.s.device, &m.rows, &m.plan);
}
static tw_status ragged(void) {
  return tw_ragged_plan(m.s.device, &m.ragged, &m.plan);
}
static tw_status route(void) {
  return tw_route_plan(m.s.device, &m.route, &m.plan);
}
static tw_status quantize(void) {
  return tw_quantize_plan(m.s.device, &m.quantize, &m.plan);
}
static tw_status grouped(void) {
  return tw_grouped_plan(m.s.device, &m.grouped, &m.plan);
}
static tw_status elementwise(void) {
  return tw_elementwise_plan(m.s.device, &m.elementwise, &m.plan);
}
static tw_status gemm(void) {
  return tw_gemm_plan(m.s.device, &m.gemm, &m.plan);
}
static tw_status tile(void) {
  return tw_tensor_map_create_tile(m.s.device, &m.tile, NULL, &m.map);
}
static tw_status map(void) {
  return tw_tensor_map_create(m.s.device, &m.tensor_map, &m.map);
}
static tw_status run_copy(void) {
  return tw_copy_run(m.copy_plan, m.s.stream, &m.copy_args);
}
static tw_status run_gather(void) {
  return tw_gather_run(m.gather_plan, m.s.stream, &m.rows_args);
}
static tw_status run_elementwise(void) {
  return tw_elementwise_run(m.elementwise_plan, m.s.stream, &m.elementwise_args);
}
static tw_status run_gemm(void) {
  return tw_gemm_run(m.gemm_plan, m.s.stream, &m.gemm_args);
}

static void structs(void) {
  MISTAKE("a description on the stack is never initialised", TW_ERROR_STRUCT,
          "tw_gemm_desc_init(desc, ", (memset(&m.gemm, 0xcc, sizeof m.gemm), gemm()));
  MISTAKE("a description is only zeroed", TW_ERROR_STRUCT, "tw_copy_desc_init(desc, ",
          (memset(&m.copy, 0, sizeof m.copy), copy()));
  MISTAKE("a description is zeroed and its size set by hand", TW_ERROR_STRUCT,
          "tw_rows_desc_init(desc, ",
          (memset(&m.rows, 0, sizeof m.rows), m.rows.struct_size = sizeof m.rows, gather()));
  MISTAKE("arguments are not initialised", TW_ERROR_STRUCT, "tw_gemm_args_init(args, ",
          (memset(&m.gemm_args, 0, sizeof m.gemm_args), run_gemm()));
  MISTAKE("a struct to be filled is not initialised", TW_ERROR_STRUCT, "tw_device_info_init(info, ",
          (memset(&m.device_info, 0, sizeof m.device_info),
           tw_device_get_info(m.s.device, &m.device_info)));
  MISTAKE("arguments are passed as another operation's", TW_ERROR_STRUCT,
          "initialized as a tw_copy_args",
          tw_gemm_run(m.gemm_plan, m.s.stream, (const tw_gemm_args *)(const void *)&m.copy_args));
  MISTAKE("the size of a pointer is given instead of the struct's", TW_ERROR_STRUCT, "size is 8",
          tw_gemm_desc_init(&m.gemm, sizeof(tw_gemm_desc *)));
}

static void forgotten_sizes(void) {
  MISTAKE("gemm without m", WRONG, "m is required but not set", (m.gemm.m = TW_UNSET, gemm()));
  MISTAKE("gemm without n", WRONG, "n is required but not set", (m.gemm.n = TW_UNSET, gemm()));
  MISTAKE("gemm without k", WRONG, "k is required but not set", (m.gemm.k = TW_UNSET, gemm()));
  MISTAKE("gather without count", WRONG, "count is required but not set",
          (m.rows.count = TW_UNSET, gather()));
  MISTAKE("gather without columns", WRONG, "columns is required but not set",
          (m.rows.columns = TW_UNSET, gather()));
  MISTAKE("scatter without table_rows", WRONG, "table_rows is required but not set",
          (m.rows.table_rows = TW_UNSET, scatter()));
  MISTAKE("gather without dtype", WRONG, "dtype", (m.rows.dtype = 0, gather()));
  MISTAKE("copy without shape", WRONG, "shape[0] is required but not set",
          (m.copy.shape[0] = TW_UNSET, copy()));
  MISTAKE("copy without rank", WRONG, "rank", (m.copy.rank = 0, copy()));
  MISTAKE("copy with half a source stride", WRONG, "src_stride[1] is required but not set",
          (m.copy.src_stride[1] = TW_UNSET, copy()));
  MISTAKE("copies without count", WRONG, "count is required but not set",
          (m.copies.count = TW_UNSET, copies()));
  MISTAKE("prefetch without rows", WRONG, "rows is required but not set",
          (m.prefetch.rows = TW_UNSET, prefetch()));
  MISTAKE("ragged copy without batch", WRONG, "batch is required but not set",
          (m.ragged.batch = TW_UNSET, ragged()));
  MISTAKE("ragged copy without tokens", WRONG, "tokens is required but not set",
          (m.ragged.tokens = TW_UNSET, ragged()));
  MISTAKE("routing without experts", WRONG, "experts is required but not set",
          (m.route.experts = TW_UNSET, route()));
  MISTAKE("routing without dtype", WRONG, "dtype", (m.route.dtype = 0, route()));
  MISTAKE("quantisation without a kind of scale", WRONG, "scale is 0: give TW_SCALE_TENSOR",
          (m.quantize.scale = TW_SCALE_NONE, quantize()));
  MISTAKE("quantisation to 16 bits", TW_ERROR_UNSUPPORTED, "bf16 becomes f8e4m3, f8e5m2 or i8",
          (m.quantize.dst_dtype = TW_DTYPE_F16, quantize()));
  MISTAKE("scales of another order", WRONG, "column-major, it must be at least the rows",
          (m.quantize.scale_order = TW_COLUMN_MAJOR, m.quantize.scale_ld = 2, quantize()));
  MISTAKE("grouped product without groups", WRONG, "group_count is required but not set",
          (m.grouped.group_count = TW_UNSET, grouped()));
  MISTAKE("grouped product that gathers from nowhere", WRONG, "it is the number of rows of A",
          (m.grouped.flags = TW_GROUPED_GATHER, grouped()));
  MISTAKE("elementwise without a destination stride", WRONG,
          "dst_stride[0] is required but not set",
          (m.elementwise.dst_stride[0] = TW_UNSET, elementwise()));
  MISTAKE("a tile without its extents", WRONG, "tile[0] is required but not set",
          (m.tile.tile[0] = TW_UNSET, tile()));
  MISTAKE("a tensor map without a box", TW_ERROR_RULE, "box_dim",
          (m.tensor_map.box_dim[0] = 0, map()));
}

static void wrong_sizes(void) {
  MISTAKE("a size is negative", WRONG, "m is -16", (m.gemm.m = -16, gemm()));
  MISTAKE("the rank is one too small for the shape", WRONG, "shape[1] is 16, but rank is 1",
          (m.copy.rank = 1, copy()));
  MISTAKE("the rank is one too large for the shape", WRONG, "shape[2] is required but not set",
          (m.copy.rank = 3, copy()));
  MISTAKE("the rank is beyond what there is", WRONG, "rank", (m.copy.rank = 9, copy()));
  MISTAKE("rows and columns of the pitch are confused", WRONG, "lda is 8",
          (m.gemm.lda = 8, gemm()));
  MISTAKE("a leading dimension is in bytes and too large", TW_ERROR_OVERFLOW, "lda",
          (m.gemm.lda = INT64_MAX / 2, gemm()));
  MISTAKE("a destination's stride is 0", TW_ERROR_OVERLAP, "dst_stride",
          (m.copy.dst_stride[0] = 0, copy()));
  MISTAKE("matrices of D lie on one another", TW_ERROR_OVERLAP, "d_batch_stride",
          (m.gemm.batch_count = 2, m.gemm.d_batch_stride = 16, gemm()));
  MISTAKE("a tile's strides are given in bytes", TW_ERROR_RULE, "look like bytes",
          (m.tile.stride[0] = 128, m.tile.stride[1] = 2, tile()));
  MISTAKE("a tensor map's strides are given in elements", TW_ERROR_RULE, "global_stride_bytes",
          (m.tensor_map.global_stride_bytes[0] = 72, map()));
  MISTAKE("a tensor map of a misaligned tensor", TW_ERROR_RULE, "global_address",
          (m.tensor_map.global_address += 2, map()));
  MISTAKE("a box is larger than the hardware takes", TW_ERROR_RULE, "box_dim",
          (m.tensor_map.box_dim[1] = 300, map()));
  MISTAKE("a swizzle is narrower than the box", TW_ERROR_RULE, "swizzle",
          (m.tensor_map.swizzle = TW_SWIZZLE_32B, m.tensor_map.box_dim[0] = 64, map()));
  MISTAKE("a gate halves an odd number of columns", WRONG, "n is 15",
          (m.gemm.gate = TW_GATE_HALVES, m.gemm.n = 15, gemm()));
  MISTAKE("min_m is more than m", WRONG, "min_m", (m.gemm.min_m = 17, gemm()));
  MISTAKE("a group of a gather is 0", WRONG, "group is 0", (m.rows.group = 0, gather()));
}

static void types_and_options(void) {
  MISTAKE("unsigned operands", TW_ERROR_UNSUPPORTED, "a_dtype is u8",
          (m.gemm.a_dtype = TW_DTYPE_U8, gemm()));
  MISTAKE("a pair of scales that nothing multiplies", TW_ERROR_UNSUPPORTED,
          "b_scale TW_SCALE_ROW: pairs",
          (m.gemm.a_dtype = TW_DTYPE_F8E4M3, m.gemm.d_dtype = TW_DTYPE_BF16,
           m.gemm.a_scale = TW_SCALE_TENSOR, m.gemm.b_scale = TW_SCALE_ROW, gemm()));
  MISTAKE("operands of two types", TW_ERROR_UNSUPPORTED, "b_dtype is f16",
          (m.gemm.b_dtype = TW_DTYPE_F16, gemm()));
  MISTAKE("f32 operands", TW_ERROR_UNSUPPORTED, "a_dtype is f32",
          (m.gemm.a_dtype = TW_DTYPE_F32, gemm()));
  MISTAKE("a number that names no type", WRONG, "12345", (m.gemm.a_dtype = 12345, gemm()));
  MISTAKE("scaled operands", TW_ERROR_UNSUPPORTED, "a_scale",
          (m.gemm.a_scale = TW_SCALE_1X128, gemm()));
  MISTAKE("a float conversion of integers", TW_ERROR_UNSUPPORTED, "i32",
          (m.elementwise.a_dtype = TW_DTYPE_I32, elementwise()));
  MISTAKE("f32 indices", WRONG, "index_dtype", (m.rows.index_dtype = TW_DTYPE_F32, gather()));
  MISTAKE("unknown flag bits", WRONG, "flags is 0x80000000", (m.gemm.flags = 1u << 31, gemm()));
  MISTAKE("an alignment that is no power of two", WRONG, "a_alignment",
          (m.gemm.a_alignment = 24, gemm()));
  MISTAKE("a bias for the whole tensor", TW_ERROR_UNSUPPORTED, "bias is TW_PER_TENSOR",
          (m.gemm.bias = TW_PER_TENSOR, gemm()));
  MISTAKE("a constant operand without a dependent launch", WRONG, "TW_GEMM_PROGRAMMATIC",
          (m.gemm.flags = TW_GEMM_B_CONSTANT, gemm()));
  MISTAKE("a fill without a window", WRONG, "fill is 1", (m.copy.fill = TW_OOB_FILL_NAN, copy()));
  MISTAKE("b's stride without b", WRONG, "b_stride[0] is 1, but b_dtype is 0",
          (m.elementwise.b_stride[0] = 1, elementwise()));
  MISTAKE("a gather with a reduction", WRONG, "reduction",
          (m.rows.reduction = TW_REDUCE_ADD, gather()));
  MISTAKE("prefetch with a rank and rows", WRONG, "rows is 16",
          (m.prefetch.rank = 1, m.prefetch.shape[0] = 64, m.prefetch.stride[0] = 1, prefetch()));
}

static void runs(void) {
  MISTAKE("an operand is forgotten", WRONG, "b is 0", (m.gemm_args.b = 0, run_gemm()));
  MISTAKE("beta without C", WRONG, "c is 0", (m.gemm_args.beta = 1, run_gemm()));
  MISTAKE("a bias that the plan knows nothing of", WRONG, "the description has no bias",
          (m.gemm_args.bias = m.memory, run_gemm()));
  MISTAKE("an amax that the plan knows nothing of", WRONG, "TW_GEMM_AMAX",
          (m.gemm_args.amax = m.memory + 12288, run_gemm()));
  MISTAKE("factors that the plan knows nothing of", WRONG, "d_factor",
          (m.gemm_args.d_factor = m.memory + 12288, run_gemm()));
  MISTAKE("a factor by value that the plan knows nothing of", WRONG, "d_factor_value",
          (m.gemm_args.d_factor_value = 2, run_gemm()));
  MISTAKE("m on the device without the flag", WRONG, "TW_GEMM_DEVICE_M",
          (m.gemm_args.device_m = m.memory + 12288, run_gemm()));
  MISTAKE("more rows than were planned", WRONG, "m is 17", (m.gemm_args.m = 17, run_gemm()));
  MISTAKE("D lies on A", TW_ERROR_OVERLAP, "d", (m.gemm_args.d = m.gemm_args.a, run_gemm()));
  MISTAKE("an address between two elements", TW_ERROR_MISALIGNED, "a is 0x",
          (m.gemm_args.a += 1, run_gemm()));
  MISTAKE("weights that the plan knows nothing of", WRONG, "weights",
          (m.rows_args.weights = m.memory + 20480, run_gather()));
  MISTAKE("more rows of a gather than were planned", WRONG, "count is 9",
          (m.rows_args.count = 9, run_gather()));
  MISTAKE("b without a second source", WRONG, "the description has no b",
          (m.elementwise_args.b = m.memory + 4096, run_elementwise()));
  MISTAKE("source and destination overlap", TW_ERROR_OVERLAP, "dst",
          (m.copy_args.dst = m.copy_args.src + 4, run_copy()));
  MISTAKE("a plan of another operation", WRONG, "plan is a gather plan",
          tw_gemm_run(m.gather_plan, m.s.stream, &m.gemm_args));
}

static void handles(void) {
  tw_device *other = NULL;
  tw_stream *elsewhere = NULL;
  OK(tw_device_create(harness.kind, 0, &other));
  OK(tw_stream_create(other, &elsewhere));
  MISTAKE("a stream of another device", TW_ERROR_WRONG_DEVICE, "opened twice",
          tw_gemm_run(m.gemm_plan, elsewhere, &m.gemm_args));
  tw_device_destroy(other);
  MISTAKE("a stream whose device is gone", TW_ERROR_DEVICE_CLOSED, "",
          tw_stream_synchronize(elsewhere));
  tw_stream_destroy(elsewhere);
  MISTAKE("a device that does not exist", TW_ERROR_NO_DEVICE, "4711",
          tw_device_create(TW_DEVICE_HOST, 4711, &other));
  MISTAKE("a kind of device that does not exist", WRONG, "kind", tw_device_create(9, 0, &other));
  MISTAKE("memory is freed twice", TW_ERROR_NOT_FOUND, "0x", (tw_free(m.s.device, m.memory + 16)));
  MISTAKE("a layout's text has a typing error", TW_ERROR_PARSE, "(4,3:(1,4)",
          tw_layout_parse("(4,3:(1,4)", &m.layout));
  MISTAKE("a DLPack form that does not exist", WRONG, "form",
          tw_tensor_from_dlpack(&m.tensor, 7, &m.tensor));
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  m.s = open_setup();
  m.memory = allocated(&m.s, kBytes);
  OK(tw_memset(m.s.stream, m.memory, 0, kBytes));
  fresh();
  OK(tw_copy_plan(m.s.device, &m.copy, &m.copy_plan));
  OK(tw_gather_plan(m.s.device, &m.rows, &m.gather_plan));
  OK(tw_elementwise_plan(m.s.device, &m.elementwise, &m.elementwise_plan));
  OK(tw_gemm_plan(m.s.device, &m.gemm, &m.gemm_plan));
  /* Without mistakes, the calls succeed. */
  OK(run_copy());
  OK(run_gather());
  OK(run_elementwise());
  OK(run_gemm());
  RUN(structs);
  RUN(forgotten_sizes);
  RUN(wrong_sizes);
  RUN(types_and_options);
  RUN(runs);
  RUN(handles);
  harness.test = "main";
  CHECK(m.count >= 65);
  printf("%u mistakes\n", m.count);
  tw_plan_destroy(m.copy_plan);
  tw_plan_destroy(m.gather_plan);
  tw_plan_destroy(m.elementwise_plan);
  tw_plan_destroy(m.gemm_plan);
  close_setup(&m.s);
  return harness_end();
}
