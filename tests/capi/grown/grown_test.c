/* SPDX-License-Identifier: Apache-2.0 */
/* A program compiled before every struct grew by 64 bytes (grow.py), linked with a library compiled
 * afterwards. Guards surround the structs; no call may touch them. */
#include "tests/capi/common/plan_harness.h"

enum { GUARDS = 16 };
#define GUARD UINT64_C(0xfeedfacecafebeef)

#define TW_STRUCT(type, number, last) \
  static struct {                     \
    type value;                       \
    uint64_t behind[GUARDS];          \
  } guarded_##type;
#include "capi/common/structs.inc"
#undef TW_STRUCT

/* Arrays that the library fills have guards behind their last elements. */
static struct {
  tw_rule_violation value[3];
  uint64_t behind[GUARDS];
} violations;
static struct {
  tw_gemm_candidate value[3];
  uint64_t behind[GUARDS];
} candidates;

#define G(type) (&guarded_##type.value)

static int intact(const uint64_t *behind) {
  for (int i = 0; i < GUARDS; ++i)
    if (behind[i] != GUARD) return 0;
  return 1;
}

static int all_intact(void) {
  int good = intact(violations.behind) && intact(candidates.behind);
#define TW_STRUCT(type, number, last) good = good && intact(guarded_##type.behind);
#include "capi/common/structs.inc"
#undef TW_STRUCT
  return good;
}

/* Checks that the call succeeds and touches no guard. */
#define CALL(call) (OK(call), check_(all_intact(), #call, __FILE__, __LINE__))

static void guard(uint64_t *behind) {
  for (int i = 0; i < GUARDS; ++i) behind[i] = GUARD;
}

static void every_init(void) {
  guard(violations.behind);
  guard(candidates.behind);
#define TW_STRUCT(type, number, last) guard(guarded_##type.behind);
#include "capi/common/structs.inc"
#undef TW_STRUCT
#define TW_STRUCT(type, number, last)       \
  CALL(type##_init(G(type), sizeof(type))); \
  EQUAL(G(type)->struct_size, sizeof(type));
#include "capi/common/structs.inc"
#undef TW_STRUCT
  for (int i = 0; i < 3; ++i) {
    CALL(tw_rule_violation_init(&violations.value[i], sizeof *violations.value));
    CALL(tw_gemm_candidate_init(&candidates.value[i], sizeof *candidates.value));
  }
}

/* Without this the other tests would prove nothing: the library accepts nonzero bytes behind a
 * struct of its own version, because they are fields that it knows. */
static void library_has_grown(void) {
  struct {
    tw_copy_args value;
    unsigned char grown[64];
  } args;
  setup s = open_setup();
  tw_plan *plan = NULL;
  tw_copy_desc *desc = G(tw_copy_desc);
  desc->rank = 1;
  desc->dtype = TW_DTYPE_U8;
  desc->shape[0] = 0;
  desc->src_stride[0] = desc->dst_stride[0] = 1;
  CALL(tw_copy_plan(s.device, desc, &plan));
  memset(&args, 0, sizeof args);
  OK(tw_copy_args_init(&args.value, sizeof args));
  args.grown[63] = 1;
  OK(tw_copy_run(plan, s.stream, &args.value));
  tw_plan_destroy(plan);
  close_setup(&s);
}

static void information(void) {
  tw_layout *layout = NULL;
  int32_t count = 0;
  tw_device *device = open_device();
  CALL(tw_device_get_info(device, G(tw_device_info)));
  EQUAL(G(tw_device_info)->kind, TW_DEVICE_HOST);
  EQUAL(tw_layout_parse("(", &layout), TW_ERROR_PARSE);
  CALL(tw_last_error_info(G(tw_error_info)));
  EQUAL(G(tw_error_info)->status, TW_ERROR_PARSE);
  OK(tw_embedded_kernel_get(0, NULL, &count));
  if (count > 0) {
    CALL(tw_embedded_kernel_get(0, G(tw_embedded_kernel), NULL));
    CHECK(G(tw_embedded_kernel)->image_bytes > 0);
    CALL(tw_embedded_kernel_info(G(tw_embedded_kernel)->name, G(tw_embedded_kernel)->target,
                                 G(tw_kernel_info)));
    CHECK(G(tw_kernel_info)->registers > 0);
  }
  tw_device_destroy(device);
}

static void tensor_maps(void) {
  setup s = open_setup();
  tw_tensor_map *map = NULL;
  tw_tensor_map_desc *desc = G(tw_tensor_map_desc);
  tw_tile_desc *tile = G(tw_tile_desc);
  tw_tensor *tensor = G(tw_tensor);
  unsigned char bytes[128];
  int32_t count = 0;
  desc->global_address = 0x100000;
  desc->global_dim[0] = 512;
  desc->global_dim[1] = 1024;
  desc->global_stride_bytes[0] = 1024;
  desc->box_dim[0] = 64;
  desc->box_dim[1] = 128;
  CALL(tw_tensor_map_create(s.device, desc, &map));
  CALL(tw_tensor_map_bytes(map, bytes));
  CALL(tw_tensor_map_get_desc(map, desc));
  EQUAL(desc->box_dim[1], 128);
  CALL(tw_tensor_map_decode(bytes, desc));
  EQUAL(desc->global_dim[1], 1024);
  tw_tensor_map_destroy(map);
  desc->box_dim[0] = 1000;
  desc->global_address = 8;
  EQUAL(tw_tensor_map_check(desc, TW_ARCH_SM_90, violations.value, 3, &count), TW_ERROR_RULE);
  CHECK(count >= 2 && violations.value[1].rule != NULL && all_intact());
  desc->global_address = 16;
  CALL(tw_tensor_map_propose(desc, TW_ARCH_SM_90, desc));
  CHECK(desc->box_dim[0] < 1000);
  tensor->dtype = TW_DTYPE_BF16;
  tensor->device_kind = TW_DEVICE_HOST;
  tensor->rank = 2;
  tensor->address = 0x100000;
  tensor->shape[0] = 1024;
  tensor->shape[1] = tensor->stride[0] = 512;
  tensor->stride[1] = 1;
  CALL(tw_tile_desc_from_tensor(tensor, tile));
  tile->tile[0] = tile->tile[1] = 64;
  CALL(tw_tensor_map_create_tile(s.device, tile, NULL, &map));
  tw_tensor_map_destroy(map);
  close_setup(&s);
}

/* Device memory with the bytes 1, 2, ... and a destination of the same size. */
enum { BYTES = 4096 };
static uint64_t source, target;

static void fill_memory(const setup *s) {
  unsigned char data[BYTES];
  for (int i = 0; i < BYTES; ++i) data[i] = (unsigned char)(i + 1);
  source = uploaded(s, data, sizeof data);
  memset(data, 0, sizeof data);
  target = uploaded(s, data, sizeof data);
}

static unsigned char byte_of_target(const setup *s, int index) {
  unsigned char data[BYTES];
  download(s, data, target, sizeof data);
  return data[index];
}

static void after_run(const setup *s, tw_plan *plan, int index, int wanted) {
  CALL(tw_plan_get_info(plan, G(tw_plan_info)));
  EQUAL(byte_of_target(s, index), wanted);
  OK(tw_memset(s->stream, target, 0, BYTES));
  tw_plan_destroy(plan);
}

static void copies(const setup *s) {
  tw_plan *plan = NULL;
  tw_copy_desc *copy = G(tw_copy_desc);
  tw_copies_desc *many = G(tw_copies_desc);
  tw_prefetch_desc *prefetch = G(tw_prefetch_desc);
  copy->shape[0] = 64;
  CALL(tw_copy_plan(s->device, copy, &plan));
  G(tw_copy_args)->src = source;
  G(tw_copy_args)->dst = target;
  CALL(tw_copy_run(plan, s->stream, G(tw_copy_args)));
  after_run(s, plan, 63, 64);

  many->dtype = TW_DTYPE_U8;
  many->rank = 1;
  many->shape[0] = 32;
  many->src_stride[0] = many->dst_stride[0] = 1;
  many->count = 1;
  CALL(tw_copies_plan(s->device, many, &plan));
  G(tw_copies_args)->src = uploaded(s, &source, sizeof source);
  G(tw_copies_args)->dst = uploaded(s, &target, sizeof target);
  CALL(tw_copies_run(plan, s->stream, G(tw_copies_args)));
  after_run(s, plan, 31, 32);

  prefetch->dtype = TW_DTYPE_U8;
  prefetch->rows = 1;
  prefetch->columns = BYTES;
  CALL(tw_prefetch_plan(s->device, prefetch, &plan));
  G(tw_prefetch_args)->src = source;
  CALL(tw_prefetch_run(plan, s->stream, G(tw_prefetch_args)));
  after_run(s, plan, 0, 0);
}

static void rows(const setup *s) {
  const int32_t index[1] = {2}, offsets[2] = {0, 1};
  tw_plan *plan = NULL;
  tw_rows_desc *gather = G(tw_rows_desc);
  tw_ragged_desc *ragged = G(tw_ragged_desc);
  gather->dtype = TW_DTYPE_U8;
  gather->table_rows = 4;
  gather->columns = 16;
  gather->count = 1;
  CALL(tw_gather_plan(s->device, gather, &plan));
  G(tw_rows_args)->table = source;
  G(tw_rows_args)->index = uploaded(s, index, sizeof index);
  G(tw_rows_args)->packed = target;
  CALL(tw_gather_run(plan, s->stream, G(tw_rows_args)));
  after_run(s, plan, 0, 33);
  CALL(tw_scatter_plan(s->device, gather, &plan));
  G(tw_rows_args)->table = target;
  G(tw_rows_args)->packed = source;
  CALL(tw_scatter_run(plan, s->stream, G(tw_rows_args)));
  after_run(s, plan, 32, 1);

  ragged->dtype = TW_DTYPE_U8;
  ragged->batch = ragged->tokens = 1;
  ragged->rows = 2;
  ragged->columns = 16;
  CALL(tw_ragged_plan(s->device, ragged, &plan));
  G(tw_ragged_args)->packed = source;
  G(tw_ragged_args)->offsets = uploaded(s, offsets, sizeof offsets);
  G(tw_ragged_args)->padded = target;
  CALL(tw_ragged_run(plan, s->stream, G(tw_ragged_args)));
  after_run(s, plan, 15, 16);
}

static void routing(const setup *s) {
  const float logits[4] = {1, 4, 3, 2};
  tw_plan *plan = NULL;
  tw_route_desc *route = G(tw_route_desc);
  int32_t ids[2] = {-1, -1};
  route->dtype = TW_DTYPE_F32;
  route->tokens = 1;
  route->experts = 4;
  route->top_k = 2;
  CALL(tw_route_plan(s->device, route, &plan));
  G(tw_route_args)->logits = uploaded(s, logits, sizeof logits);
  G(tw_route_args)->ids = uploaded(s, ids, sizeof ids);
  CALL(tw_route_run(plan, s->stream, G(tw_route_args)));
  download(s, ids, G(tw_route_args)->ids, sizeof ids);
  EQUAL(ids[0], 1);
  EQUAL(ids[1], 2);
  tw_plan_destroy(plan);
}

static void quantisation(const setup *s) {
  const uint16_t values[4] = {0x43e0, 0xc360, 0x0000, 0x3f80}; /* 448, -224, 0 and 1 */
  const uint8_t wanted[4] = {0x7e, 0xf6, 0x00, 0x38};
  uint8_t bytes[4] = {0, 0, 0, 0};
  float scale = 0;
  tw_plan *plan = NULL;
  tw_quantize_desc *desc = G(tw_quantize_desc);
  tw_quantize_args *args = G(tw_quantize_args);
  desc->src_dtype = TW_DTYPE_BF16;
  desc->dst_dtype = TW_DTYPE_F8E4M3;
  desc->scale = TW_SCALE_ROW;
  desc->rows = 1;
  desc->columns = 4;
  CALL(tw_quantize_plan(s->device, desc, &plan));
  args->src = uploaded(s, values, sizeof values);
  args->dst = uploaded(s, bytes, sizeof bytes);
  args->scale = uploaded(s, &scale, sizeof scale);
  CALL(tw_quantize_run(plan, s->stream, args));
  download(s, bytes, args->dst, sizeof bytes);
  download(s, &scale, args->scale, sizeof scale);
  EQUAL(memcmp(bytes, wanted, sizeof bytes), 0);
  CHECK(scale == 1);
  tw_plan_destroy(plan);
}

static void groups(const setup *s) {
  const uint16_t twos[4] = {0x4000, 0x4000, 0x4000, 0x4000};
  const float zeroes[4] = {0, 0, 0, 0};
  const int32_t end = 2;
  tw_plan *plan = NULL;
  tw_grouped_desc *desc = G(tw_grouped_desc);
  tw_grouped_args *args = G(tw_grouped_args);
  float d[4];
  desc->d_dtype = TW_DTYPE_F32;
  desc->m = desc->n = desc->k = 2;
  desc->group_count = 1;
  CALL(tw_grouped_plan(s->device, desc, &plan));
  args->a = uploaded(s, twos, sizeof twos);
  args->b = uploaded(s, twos, sizeof twos);
  args->d = uploaded(s, zeroes, sizeof zeroes);
  args->groups = uploaded(s, &end, sizeof end);
  CALL(tw_grouped_run(plan, s->stream, args));
  download(s, d, args->d, sizeof d);
  CHECK(d[0] == 8 && d[3] == 8);
  tw_plan_destroy(plan);
}

static void arithmetic(const setup *s) {
  tw_plan *plan = NULL;
  tw_gemm_tuning *tuning = NULL;
  tw_elementwise_desc *add = G(tw_elementwise_desc);
  tw_gemm_desc *gemm = G(tw_gemm_desc);
  int32_t count = 0;
  add->a_dtype = add->dst_dtype = TW_DTYPE_U8;
  add->rank = 1;
  add->shape[0] = 16;
  add->a_stride[0] = add->dst_stride[0] = 1;
  CALL(tw_elementwise_plan(s->device, add, &plan));
  G(tw_elementwise_args)->alpha = 3;
  G(tw_elementwise_args)->a = source;
  G(tw_elementwise_args)->dst = target;
  CALL(tw_elementwise_run(plan, s->stream, G(tw_elementwise_args)));
  after_run(s, plan, 1, 6);

  gemm->m = gemm->n = gemm->k = 16;
  CALL(tw_gemm_candidates(s->device, gemm, candidates.value, 3, &count));
  CHECK(count >= 1 && candidates.value[0].kernel != NULL);
  CALL(tw_gemm_plan(s->device, gemm, &plan));
  G(tw_gemm_args)->a = source;
  G(tw_gemm_args)->b = source + 1024;
  G(tw_gemm_args)->d = target;
  G(tw_gemm_args)->alpha = 0;
  CALL(tw_gemm_run(plan, s->stream, G(tw_gemm_args)));
  CALL(tw_gemm_ranges(plan, candidates.value, 3, &count));
  after_run(s, plan, 0, 0);
  G(tw_gemm_args)->alpha = 1;
  OK(tw_gemm_tuning_create(&tuning));
  G(tw_gemm_tune_desc)->candidates = 1;
  G(tw_gemm_tune_desc)->rounds = 1;
  CALL(tw_gemm_tune(tuning, s->stream, gemm, G(tw_gemm_args), G(tw_gemm_tune_desc),
                    G(tw_gemm_candidate)));
  CHECK(G(tw_gemm_candidate)->kernel != NULL);
  tw_gemm_tuning_destroy(tuning);
}

static void operations(void) {
  setup s = open_setup();
  fill_memory(&s);
  copies(&s);
  rows(&s);
  routing(&s);
  groups(&s);
  quantisation(&s);
  arithmetic(&s);
  close_setup(&s);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(every_init);
  RUN(library_has_grown);
  RUN(information);
  RUN(tensor_maps);
  RUN(operations);
  return harness_end();
}
