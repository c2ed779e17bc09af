/* SPDX-License-Identifier: Apache-2.0 */
/* Imports and exports of DLPack tensors, with structs defined as in DLPack's specification. */
#include "tests/capi/common/harness.h"

typedef struct {
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
  dl_tensor tensor;
  void *context;
  void (*deleter)(struct dl_managed *);
} dl_managed;

typedef struct dl_versioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct dl_versioned *);
  uint64_t flags;
  dl_tensor tensor;
} dl_versioned;

static int64_t shape[] = {3, 4, 5}, strides[] = {100, 1, 8};
static float memory[400];

/* A row-major (3,4,5) f32 tensor on the CPU. */
static dl_tensor example(void) {
  dl_tensor t;
  memset(&t, 0, sizeof t);
  t.data = memory;
  t.device_type = 1;
  t.ndim = 3;
  t.code = 2;
  t.bits = 32;
  t.lanes = 1;
  t.shape = shape;
  return t;
}

static tw_tensor blank(void) {
  tw_tensor t;
  OK(tw_tensor_init(&t, sizeof t));
  return t;
}

static void reads_a_tensor(void) {
  dl_tensor from = example();
  tw_tensor to = blank();
  NEED(tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  EQUAL(to.struct_size, sizeof to);
  EQUAL(to.dtype, TW_DTYPE_F32);
  EQUAL(to.device_kind, TW_DEVICE_HOST);
  EQUAL(to.rank, 3);
  EQUAL(to.flags, 0);
  EQUAL(to.address, (uintptr_t)memory);
  CHECK(to.shape[0] == 3 && to.shape[1] == 4 && to.shape[2] == 5);
  CHECK(to.stride[0] == 20 && to.stride[1] == 5 && to.stride[2] == 1);
  from.strides = strides;
  from.byte_offset = 16;
  NEED(tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  CHECK(to.stride[0] == 100 && to.stride[1] == 1 && to.stride[2] == 8);
  EQUAL(to.address, (uintptr_t)memory + 16);
  from.device_type = 2; /* CUDA */
  from.device_id = 3;
  NEED(tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  EQUAL(to.device_kind, TW_DEVICE_CUDA);
  EQUAL(to.ordinal, 3);
  from.ndim = 0;
  from.shape = from.strides = NULL;
  OK(tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  EQUAL(to.rank, 0);
}

static void reads_every_type(void) {
  static const struct {
    uint8_t code, bits;
    tw_dtype dtype;
  } types[] = {{0, 8, TW_DTYPE_I8},   {0, 16, TW_DTYPE_I16},    {0, 32, TW_DTYPE_I32},
               {0, 64, TW_DTYPE_I64}, {1, 8, TW_DTYPE_U8},      {1, 16, TW_DTYPE_U16},
               {1, 32, TW_DTYPE_U32}, {1, 64, TW_DTYPE_U64},    {2, 16, TW_DTYPE_F16},
               {2, 32, TW_DTYPE_F32}, {2, 64, TW_DTYPE_F64},    {4, 16, TW_DTYPE_BF16},
               {6, 8, TW_DTYPE_U8},   {10, 8, TW_DTYPE_F8E4M3}, {12, 8, TW_DTYPE_F8E5M2}};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    dl_tensor from = example();
    tw_tensor to = blank();
    from.code = types[i].code;
    from.bits = types[i].bits;
    OK(tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
    EQUAL(to.dtype, types[i].dtype);
  }
}

static void refuses_what_it_cannot_describe(void) {
  static int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  static int64_t huge[3] = {INT64_MAX, 2, 2}, negative[3] = {2, -1, 2};
  tw_tensor to = blank();
  dl_tensor from = example();
  from.code = 5; /* complex */
  from.bits = 64;
  FAILS(TW_ERROR_UNSUPPORTED, "dlpack", tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  from = example();
  from.lanes = 4;
  FAILS(TW_ERROR_UNSUPPORTED, NULL, tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  from = example();
  from.device_type = 10; /* ROCm */
  FAILS(TW_ERROR_UNSUPPORTED, NULL, tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  from = example();
  from.device_type = 2; /* CUDA */
  from.device_id = -1;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "dlpack", tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  from.device_type = 13; /* CUDA managed */
  FAILS(TW_ERROR_INVALID_ARGUMENT, "dlpack", tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  CHECK(strstr(tw_last_error(), "CUDA device -1") != NULL);
  from = example();
  from.ndim = 9;
  from.shape = nine;
  FAILS(TW_ERROR_CAPACITY, NULL, tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  from = example();
  from.ndim = -1;
  FAILS(TW_ERROR_CAPACITY, NULL, tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  from = example();
  from.shape = huge;
  FAILS(TW_ERROR_OVERFLOW, NULL, tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  from.shape = negative;
  FAILS(TW_ERROR_INVALID_ARGUMENT, NULL, tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  from.shape = NULL;
  FAILS(TW_ERROR_INVALID_ARGUMENT, NULL, tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &to));
  from = example();
  FAILS(TW_ERROR_INVALID_ARGUMENT, "form", tw_tensor_from_dlpack(&from, 3, &to));
  CHECK(to.rank == 0 && to.address == 0);
}

static void reads_the_versioned_form(void) {
  dl_versioned from;
  tw_tensor to = blank();
  memset(&from, 0, sizeof from);
  from.major = 1;
  from.minor = 7;
  from.flags = 1;
  from.tensor = example();
  NEED(tw_tensor_from_dlpack(&from, TW_DLPACK_VERSIONED, &to));
  EQUAL(to.flags, TW_TENSOR_READ_ONLY);
  EQUAL(to.address, (uintptr_t)memory);
  /* In another major version even the tensor's offset is unknown. */
  from.major = 2;
  FAILS(TW_ERROR_UNSUPPORTED, "dlpack", tw_tensor_from_dlpack(&from, TW_DLPACK_VERSIONED, &to));
}

static int released;
static void release(void *user) {
  released += *(int *)user;
}

static void goes_out_and_comes_back(void) {
  int weight = 1;
  void *managed = NULL;
  tw_tensor from = blank(), to = blank();
  from.dtype = TW_DTYPE_BF16;
  from.rank = 2;
  from.address = (uintptr_t)memory;
  from.shape[0] = 3, from.shape[1] = 5;
  from.stride[0] = 8, from.stride[1] = 1;
  from.flags = TW_TENSOR_READ_ONLY;
  released = 0;
  NEED(tw_tensor_to_dlpack(&from, TW_DLPACK_VERSIONED, release, &weight, &managed));
  NEED(tw_tensor_from_dlpack(managed, TW_DLPACK_VERSIONED, &to));
  CHECK(memcmp(&from, &to, sizeof from) == 0);
  EQUAL(released, 0);
  ((dl_versioned *)managed)->deleter((dl_versioned *)managed);
  EQUAL(released, 1);
  weight = 10;
  from.flags = 0;
  NEED(tw_tensor_to_dlpack(&from, TW_DLPACK_TENSOR, release, &weight, &managed));
  NEED(tw_tensor_from_dlpack(managed, TW_DLPACK_TENSOR, &to));
  CHECK(memcmp(&from, &to, sizeof from) == 0);
  ((dl_managed *)managed)->deleter((dl_managed *)managed);
  EQUAL(released, 11);
  NEED(tw_tensor_to_dlpack(&from, TW_DLPACK_TENSOR, NULL, NULL, &managed));
  ((dl_managed *)managed)->deleter((dl_managed *)managed);
  from.dtype = TW_DTYPE_U6X16_ALIGN16B;
  FAILS(TW_ERROR_UNSUPPORTED, "dtype",
        tw_tensor_to_dlpack(&from, TW_DLPACK_TENSOR, NULL, NULL, &managed));
  CHECK(managed == NULL);
  from.dtype = TW_DTYPE_F32;
  from.rank = 9;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "rank",
        tw_tensor_to_dlpack(&from, TW_DLPACK_TENSOR, NULL, NULL, &managed));
  from.rank = 2;
  from.ordinal = 5; /* the host's only ordinal is 0 */
  FAILS(TW_ERROR_INVALID_ARGUMENT, "ordinal",
        tw_tensor_to_dlpack(&from, TW_DLPACK_TENSOR, NULL, NULL, &managed));
  CHECK(strstr(tw_last_error(), "ordinal is 5") != NULL);
  from.device_kind = TW_DEVICE_CUDA;
  from.ordinal = -7;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "ordinal",
        tw_tensor_to_dlpack(&from, TW_DLPACK_VERSIONED, NULL, NULL, &managed));
  CHECK(managed == NULL);
  from.device_kind = TW_DEVICE_HOST;
  from.ordinal = 0;
  from.shape[1] = -2;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "shape",
        tw_tensor_to_dlpack(&from, TW_DLPACK_TENSOR, NULL, NULL, &managed));
  /* What could not be imported is not exported. */
  from.shape[0] = from.shape[1] = INT64_MAX;
  FAILS(TW_ERROR_OVERFLOW, "shape",
        tw_tensor_to_dlpack(&from, TW_DLPACK_TENSOR, NULL, NULL, &managed));
  FAILS(TW_ERROR_OVERFLOW, "shape",
        tw_tensor_to_dlpack(&from, TW_DLPACK_VERSIONED, NULL, NULL, &managed));
  from.shape[0] = 0;
  OK(tw_tensor_to_dlpack(&from, TW_DLPACK_TENSOR, NULL, NULL, &managed));
  OK(tw_tensor_from_dlpack(managed, TW_DLPACK_TENSOR, &to));
  ((dl_managed *)managed)->deleter((dl_managed *)managed);
  /* The older form has no read-only flag, and its consumer might write. */
  from.flags = TW_TENSOR_READ_ONLY;
  FAILS(TW_ERROR_UNSUPPORTED, "form",
        tw_tensor_to_dlpack(&from, TW_DLPACK_TENSOR, NULL, NULL, &managed));
  CHECK(managed == NULL && strstr(tw_last_error(), "TW_TENSOR_READ_ONLY") != NULL);
  from.flags = 0;
  from.dtype = 0;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "dtype",
        tw_tensor_to_dlpack(&from, TW_DLPACK_TENSOR, NULL, NULL, &managed));
}

static void struct_sizes(void) {
  dl_tensor from = example();
  tw_tensor object = blank();
  STRUCT_SIZES_FAIL(object, "tensor", tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, &object));
  TAIL_CLEARED(tw_tensor, tw_tensor_from_dlpack(&from, TW_DLPACK_TENSOR, longer));
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(reads_a_tensor);
  RUN(reads_every_type);
  RUN(refuses_what_it_cannot_describe);
  RUN(reads_the_versioned_form);
  RUN(goes_out_and_comes_back);
  RUN(struct_sizes);
  return harness_end();
}
