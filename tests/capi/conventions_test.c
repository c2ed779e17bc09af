/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that the header states once for all descriptions: types, reserved fields, struct_size, the
 * largest span of an operand, destroyed handles. */
#include "tests/capi/common/harness.h"

/* A valid description of every operation whose elements have a type. */
typedef struct descs {
  tw_copy_desc copy;
  tw_copies_desc copies;
  tw_prefetch_desc prefetch;
  tw_rows_desc rows;
  tw_ragged_desc ragged;
  tw_elementwise_desc elementwise;
  tw_gemm_desc gemm;
} descs;

static tw_device *device;

static descs right(void) {
  descs d;
  OK(tw_copy_desc_init(&d.copy, sizeof d.copy));
  d.copy.dtype = TW_DTYPE_U8;
  d.copy.rank = 2;
  d.copy.shape[0] = 2, d.copy.shape[1] = 1;
  d.copy.src_stride[0] = d.copy.dst_stride[0] = 16;
  d.copy.src_stride[1] = d.copy.dst_stride[1] = 1;
  OK(tw_copies_desc_init(&d.copies, sizeof d.copies));
  d.copies.dtype = TW_DTYPE_U8;
  d.copies.rank = 2;
  d.copies.count = 1;
  d.copies.shape[0] = 2, d.copies.shape[1] = 1;
  d.copies.src_stride[0] = d.copies.dst_stride[0] = 16;
  d.copies.src_stride[1] = d.copies.dst_stride[1] = 1;
  OK(tw_prefetch_desc_init(&d.prefetch, sizeof d.prefetch));
  d.prefetch.dtype = TW_DTYPE_U8;
  d.prefetch.rows = 2, d.prefetch.columns = 1, d.prefetch.pitch = 16;
  OK(tw_rows_desc_init(&d.rows, sizeof d.rows));
  d.rows.dtype = TW_DTYPE_U8;
  d.rows.table_rows = 2, d.rows.columns = 1, d.rows.table_pitch = 16, d.rows.count = 1;
  OK(tw_ragged_desc_init(&d.ragged, sizeof d.ragged));
  d.ragged.dtype = TW_DTYPE_U8;
  d.ragged.batch = 1, d.ragged.tokens = 2, d.ragged.rows = 1, d.ragged.columns = 1;
  d.ragged.packed_pitch = 16;
  OK(tw_elementwise_desc_init(&d.elementwise, sizeof d.elementwise));
  d.elementwise.a_dtype = d.elementwise.dst_dtype = TW_DTYPE_U8;
  d.elementwise.rank = 2;
  d.elementwise.shape[0] = 2, d.elementwise.shape[1] = 1;
  d.elementwise.a_stride[0] = d.elementwise.dst_stride[0] = 16;
  d.elementwise.a_stride[1] = d.elementwise.dst_stride[1] = 1;
  OK(tw_gemm_desc_init(&d.gemm, sizeof d.gemm));
  d.gemm.m = d.gemm.min_m = d.gemm.n = d.gemm.k = 64;
  return d;
}

/* Plans operation number `which` of those that move elements. */
enum { MOVES = 6 };
static const char *const move_names[MOVES] = {"copy",   "copies",  "prefetch",
                                              "gather", "scatter", "ragged"};
static tw_status plan_move(int which, const descs *d) {
  tw_plan *plan = NULL;
  tw_status status = TW_OK;
  switch (which) {
    case 0:
      status = tw_copy_plan(device, &d->copy, &plan);
      break;
    case 1:
      status = tw_copies_plan(device, &d->copies, &plan);
      break;
    case 2:
      status = tw_prefetch_plan(device, &d->prefetch, &plan);
      break;
    case 3:
      status = tw_gather_plan(device, &d->rows, &plan);
      break;
    case 4:
      status = tw_scatter_plan(device, &d->rows, &plan);
      break;
    default:
      status = tw_ragged_plan(device, &d->ragged, &plan);
  }
  tw_plan_destroy(plan);
  return status;
}

static tw_status plan_elementwise(const descs *d) {
  tw_plan *plan = NULL;
  const tw_status status = tw_elementwise_plan(device, &d->elementwise, &plan);
  tw_plan_destroy(plan);
  return status;
}

static tw_status plan_gemm(const descs *d) {
  tw_plan *plan = NULL;
  const tw_status status = tw_gemm_plan(device, &d->gemm, &plan);
  tw_plan_destroy(plan);
  return status;
}

static void set_dtypes(descs *d, tw_dtype dtype) {
  d->copy.dtype = d->copies.dtype = d->prefetch.dtype = d->rows.dtype = d->ragged.dtype = dtype;
  d->elementwise.a_dtype = d->elementwise.dst_dtype = dtype;
}

/* Checks that the last failure's message contains these words. */
static void says(const char *words) {
  if (!CHECK(strstr(tw_last_error(), words) != NULL))
    printf("    \"%s\" is not in: %s\n", words, tw_last_error());
}

/* Operations that move elements accept a type by its size, including the last group of types;
 * operations that compute do not. */
static void types(void) {
  static const tw_dtype last_group[] = {TW_DTYPE_F32_FTZ, TW_DTYPE_TF32_FTZ, TW_DTYPE_U4X16_ALIGN8B,
                                        TW_DTYPE_U4X16_ALIGN16B, TW_DTYPE_U6X16_ALIGN16B};
  descs d = right();
  for (int i = 0; i < 5; ++i) {
    set_dtypes(&d, last_group[i]);
    for (int which = 0; which < MOVES; ++which)
      if (!OK(plan_move(which, &d))) printf("    %s\n", move_names[which]);
    FAILS(TW_ERROR_UNSUPPORTED, "a_dtype", plan_elementwise(&d));
    d.gemm.a_dtype = last_group[i];
    FAILS(TW_ERROR_UNSUPPORTED, "a_dtype", plan_gemm(&d));
  }
}

static void types_that_are_not_set(void) {
  descs d = right();
  for (tw_dtype dtype = 0; dtype < 60; dtype += 59) {
    set_dtypes(&d, dtype);
    for (int which = 0; which < MOVES; ++which) {
      FAILS(TW_ERROR_INVALID_ARGUMENT, "dtype", plan_move(which, &d));
      says("set desc.dtype");
      CHECK((strstr(tw_last_error(), "an unset field") != NULL) == (dtype == 0));
    }
    FAILS(TW_ERROR_INVALID_ARGUMENT, "a_dtype", plan_elementwise(&d));
    says("set desc.a_dtype");
  }
  d = right();
  for (int i = 0; i < 3; ++i) {
    const tw_dtype dtype = i == 0 ? 0 : i == 1 ? TW_DTYPE_F32 : 59;
    d.rows.index_dtype = d.ragged.offset_dtype = dtype;
    for (int which = 3; which < MOVES; ++which) {
      FAILS(TW_ERROR_INVALID_ARGUMENT, which == 5 ? "offset_dtype" : "index_dtype",
            plan_move(which, &d));
      says(which == 5 ? "set desc.offset_dtype to TW_DTYPE_I32 (6) or TW_DTYPE_I64 (8)"
                      : "set desc.index_dtype to TW_DTYPE_I32 (6) or TW_DTYPE_I64 (8)");
      says(dtype == TW_DTYPE_F32 ? "_dtype is 22 (f32): " : "not an element type");
    }
  }
}

/* The error for a reserved field that is not 0 states its name and value. */
static void reserved_fields(void) {
  descs d = right();
#define RESERVED(name, field, plan)               \
  d.name.field = 4660;                            \
  FAILS(TW_ERROR_INVALID_ARGUMENT, #field, plan); \
  says("desc->" #field " is 4660: ");             \
  d.name.field = 0;                               \
  OK(plan)
  RESERVED(copy, reserved, plan_move(0, &d));
  RESERVED(gemm, reserved, plan_gemm(&d));
#undef RESERVED
}

/* An operand spans at most 2^60 bytes, including the last element. */
static void spans(void) {
  const int64_t most = ((int64_t)1 << 60) - 1;
  for (int64_t over = 0; over < 2; ++over) {
    descs d = right();
    d.copy.src_stride[0] = d.copies.src_stride[0] = most + over;
    d.prefetch.pitch = d.rows.table_pitch = d.ragged.packed_pitch = most + over;
    d.elementwise.a_stride[0] = most + over;
    for (int which = 0; which < MOVES; ++which) {
      if (over) {
        FAILS(TW_ERROR_OVERFLOW, NULL, plan_move(which, &d));
        says("2^60 bytes");
      } else if (!OK(plan_move(which, &d))) {
        printf("    %s\n", move_names[which]);
      }
    }
    if (over) {
      FAILS(TW_ERROR_OVERFLOW, NULL, plan_elementwise(&d));
      says("2^60 bytes");
    } else {
      OK(plan_elementwise(&d));
    }
  }
}

/* A later version's struct has up to 4096 bytes, a multiple of its alignment. */
static void struct_sizes(void) {
  static union {
    tw_copy_desc desc;
    tw_plan_info info;
    unsigned char bytes[8192];
  } longer;
  descs d = right();
  tw_plan *plan = NULL;
  const uint32_t taken[] = {sizeof d.copy, sizeof d.copy + 8, 4088, 4096};
  const uint32_t refused[] = {sizeof d.copy + 1, sizeof d.copy + 4, 4092, 4100, 4104, 8192};
  longer.desc = d.copy;
  for (size_t i = 0; i < sizeof taken / sizeof *taken; ++i) {
    longer.desc.struct_size = taken[i];
    NEED(tw_copy_plan(device, &longer.desc, &plan));
    tw_plan_destroy(plan);
  }
  for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
    longer.desc.struct_size = refused[i];
    FAILS(TW_ERROR_STRUCT, "desc", tw_copy_plan(device, &longer.desc, &plan));
  }
  /* Without the mark of its own init function a struct is neither read nor filled. */
  memset(&longer, 0, sizeof longer);
  longer.desc.struct_size = sizeof longer.desc;
  FAILS(TW_ERROR_STRUCT, "desc", tw_copy_plan(device, &longer.desc, &plan));
  says("tw_copy_desc_init(desc, ");
  NEED(tw_copy_plan(device, &d.copy, &plan));
  FAILS(TW_ERROR_STRUCT, "info", tw_plan_get_info(plan, &longer.info));
  says("tw_plan_info_init(info, ");
  OK(tw_copy_desc_init(&longer.desc, sizeof longer.desc));
  FAILS(TW_ERROR_STRUCT, "info", tw_plan_get_info(plan, &longer.info));
  says("initialized as a tw_copy_desc");
  tw_plan_destroy(plan);
}

/* The last 1,024 destroyed handles of each kind are recognized, even if their memory was reused.
 * Older ones are freed, as a leak checker verifies. `use` is any call that takes the handle. */
enum { KEPT = 1024, DESTROYED = 2500 };
#define LAST_DESTROYED(type, name, make, use)                                    \
  static void last_destroyed_##type(void) {                                      \
    static type *gone[DESTROYED];                                                \
    type *alive = NULL, *handle = NULL;                                          \
    NEED(make);                                                                  \
    alive = handle;                                                              \
    for (int i = 0; i < DESTROYED; ++i) {                                        \
      NEED(make);                                                                \
      gone[i] = handle;                                                          \
      type##_destroy(handle);                                                    \
    }                                                                            \
    for (int i = DESTROYED - KEPT; i < DESTROYED; ++i) {                         \
      handle = gone[i];                                                          \
      if (!FAILS(TW_ERROR_INVALID_ARGUMENT, name, use)) printf("    %d\n", i);   \
      says(name " was destroyed with " #type "_destroy() and can no longer be"); \
      type##_destroy(handle); /* does nothing: the oldest stays known */         \
    }                                                                            \
    handle = gone[DESTROYED - KEPT];                                             \
    FAILS(TW_ERROR_INVALID_ARGUMENT, name, use);                                 \
    handle = alive;                                                              \
    OK(use);                                                                     \
    type##_destroy(handle);                                                      \
  }

static tw_status info_of_device(tw_device *handle) {
  tw_device_info info;
  OK(tw_device_info_init(&info, sizeof info));
  return tw_device_get_info(handle, &info);
}
static tw_status make_plan(tw_plan **plan) {
  const descs d = right();
  return tw_copy_plan(device, &d.copy, plan);
}
static tw_status make_map(tw_tensor_map **map) {
  tw_tensor_map_desc desc;
  OK(tw_tensor_map_desc_init(&desc, sizeof desc));
  desc.global_address = 1024;
  desc.global_dim[0] = desc.global_dim[1] = 16;
  desc.global_stride_bytes[0] = 32;
  desc.box_dim[0] = desc.box_dim[1] = 8;
  return tw_tensor_map_create(device, &desc, map);
}

static int64_t number;
static int32_t small_number;
static size_t length;
LAST_DESTROYED(tw_device, "device", tw_device_create(harness.kind, 0, &handle),
               info_of_device(handle))
LAST_DESTROYED(tw_stream, "stream", tw_stream_create(device, &handle), tw_stream_query(handle))
LAST_DESTROYED(tw_event, "event", tw_event_create(device, &handle), tw_event_query(handle))
LAST_DESTROYED(tw_layout, "layout", tw_layout_parse("4", &handle), tw_layout_size(handle, &number))
LAST_DESTROYED(tw_tuple, "tuple", tw_tuple_parse("4", &handle), tw_tuple_product(handle, &number))
LAST_DESTROYED(tw_tiler, "tiler", tw_tiler_parse("4", &handle),
               tw_tiler_format(handle, NULL, 0, &length))
LAST_DESTROYED(tw_linear, "linear",
               tw_linear_parse("register=[[1]] lane=[] warp=[] block=[] -> (2)", &handle),
               tw_linear_format(handle, NULL, 0, &length))
LAST_DESTROYED(tw_tensor_map, "map", make_map(&handle), tw_tensor_map_boxes(handle, &small_number))
LAST_DESTROYED(tw_plan, "plan", make_plan(&handle), tw_plan_explain(handle, NULL, 0, &length))
LAST_DESTROYED(tw_gemm_tuning, "tuning", tw_gemm_tuning_create(&handle),
               tw_gemm_tuning_format(handle, NULL, 0, &length))

int main(int argc, char **argv) {
  harness_start(argc, argv);
  device = open_device();
  RUN(types);
  RUN(types_that_are_not_set);
  RUN(reserved_fields);
  RUN(spans);
  RUN(struct_sizes);
  RUN(last_destroyed_tw_device);
  RUN(last_destroyed_tw_stream);
  RUN(last_destroyed_tw_event);
  RUN(last_destroyed_tw_layout);
  RUN(last_destroyed_tw_tuple);
  RUN(last_destroyed_tw_tiler);
  RUN(last_destroyed_tw_linear);
  RUN(last_destroyed_tw_tensor_map);
  RUN(last_destroyed_tw_plan);
  RUN(last_destroyed_tw_gemm_tuning);
  tw_device_destroy(device);
  return harness_end();
}
