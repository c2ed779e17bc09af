/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TESTS_CONTRACT_SAMPLES_H
#define TILEWRIGHT_TESTS_CONTRACT_SAMPLES_H
/* Valid arguments for every function, by type, for the tests that contract.py generates. */

#include <dlfcn.h>

#include "tests/capi/common/harness.h"

typedef struct {
  tw_device *device;
  tw_stream *stream;
  tw_stream *idle, *capturing; /* one is not captured, the other is */
  tw_event *event;
  tw_graph *graph, *captured; /* one is instantiated, the other is not */
  tw_layout *layout, *boxes;
  tw_linear *linear;
  tw_tuple *tuple;
  tw_tiler *tiler;
  const tw_tiler *tilers[16];
  tw_tensor_map *tensor_map;
  tw_plan *copy, *prefetch, *gather, *scatter, *gemm, *elementwise, *ragged, *copies, *route,
      *grouped, *quantize;
  uint64_t memory;
  const char *text;
  const char *kernel_name, *kernel_target; /* any text if the build has no kernels */
  int has_kernels;
  /* The host device has none of these. The image is PTX and must outlive the samples. */
  tw_module *module;
  tw_kernel *kernel;
  struct CUctx_st *cuda_context;
  struct CUstream_st *cuda_stream;
  struct CUevent_st *cuda_event;
  const void *image;
  size_t image_size;
  /* Refreshed before each call. */
  char buffer[256];
  unsigned char void_array[256], void_out[256];
  int32_t int32_t_array[64], int32_t_out[64];
  int64_t int64_t_array[64], int64_t_out[64];
  uint32_t uint32_t_array[64];
  uint64_t uint64_t_out[8];
  size_t size_t_out[8];
  float float_out[8];
  void *void_pointer_out[8];
  struct CUctx_st *CUctx_st_out[8];
  struct CUstream_st *CUstream_st_out[8];
  struct CUevent_st *CUevent_st_out[8];
  tw_error_info error_info;
  tw_device_info device_info;
  tw_tensor tensor;
  void *managed; /* a DLManagedTensor */
  tw_kernel_info kernel_info;
  tw_plan_info plan_info;
  tw_embedded_kernel embedded_kernel;
  tw_rule_violation rule_violation[8];
  tw_tensor_map_desc tensor_map_desc;
  tw_tile_desc tile_desc;
  tw_launch_desc launch_desc;
  tw_copy_desc copy_desc;
  tw_copy_args copy_args;
  tw_prefetch_desc prefetch_desc;
  tw_prefetch_args prefetch_args;
  tw_elementwise_desc elementwise_desc;
  tw_elementwise_args elementwise_args;
  tw_rows_desc rows_desc;
  tw_rows_args rows_args;
  tw_copies_desc copies_desc;
  tw_copies_args copies_args;
  tw_ragged_desc ragged_desc;
  tw_ragged_args ragged_args;
  tw_route_desc route_desc;
  tw_route_args route_args;
  tw_grouped_desc grouped_desc;
  tw_grouped_args grouped_args;
  tw_quantize_desc quantize_desc;
  tw_quantize_args quantize_args;
  tw_gemm_desc gemm_desc;
  tw_gemm_args gemm_args;
  tw_gemm_candidate gemm_candidate[8];
  tw_gemm_tuning *gemm_tuning;
  tw_gemm_tune_desc gemm_tune_desc;
} samples;

static const char contract_ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry own(.param .u64 a)\n{ ret; }\n";

static inline void refresh_descriptions(samples *s) {
  OK(tw_tensor_map_desc_init(&s->tensor_map_desc, sizeof s->tensor_map_desc));
  s->tensor_map_desc.global_address = s->memory;
  s->tensor_map_desc.global_dim[0] = s->tensor_map_desc.global_dim[1] = 16;
  s->tensor_map_desc.global_stride_bytes[0] = 32;
  s->tensor_map_desc.box_dim[0] = s->tensor_map_desc.box_dim[1] = 8;
  OK(tw_tile_desc_init(&s->tile_desc, sizeof s->tile_desc));
  s->tile_desc.global_address = s->memory;
  s->tile_desc.rank = 2;
  s->tile_desc.shape[0] = s->tile_desc.shape[1] = s->tile_desc.stride[0] = 16;
  s->tile_desc.stride[1] = 1;
  s->tile_desc.tile[0] = s->tile_desc.tile[1] = 8;
  OK(tw_tensor_init(&s->tensor, sizeof s->tensor));
  s->tensor.dtype = TW_DTYPE_F32;
  s->tensor.rank = 1;
  s->tensor.address = s->memory;
  s->tensor.shape[0] = s->tensor.stride[0] = 1;
  OK(tw_launch_desc_init(&s->launch_desc, sizeof s->launch_desc));
  OK(tw_copy_desc_init(&s->copy_desc, sizeof s->copy_desc));
  s->copy_desc.dtype = TW_DTYPE_U8;
  s->copy_desc.rank = 1;
  s->copy_desc.shape[0] = 64;
  s->copy_desc.src_stride[0] = s->copy_desc.dst_stride[0] = 1;
  OK(tw_copy_args_init(&s->copy_args, sizeof s->copy_args));
  s->copy_args.src = s->memory;
  s->copy_args.dst = s->memory + 1024;
  OK(tw_prefetch_desc_init(&s->prefetch_desc, sizeof s->prefetch_desc));
  s->prefetch_desc.dtype = TW_DTYPE_U8;
  s->prefetch_desc.rows = 1;
  s->prefetch_desc.columns = 64;
  OK(tw_prefetch_args_init(&s->prefetch_args, sizeof s->prefetch_args));
  s->prefetch_args.src = s->memory;
  OK(tw_elementwise_desc_init(&s->elementwise_desc, sizeof s->elementwise_desc));
  s->elementwise_desc.rank = 1;
  s->elementwise_desc.shape[0] = 64;
  s->elementwise_desc.a_stride[0] = s->elementwise_desc.dst_stride[0] = 1;
  OK(tw_elementwise_args_init(&s->elementwise_args, sizeof s->elementwise_args));
  s->elementwise_args.a = s->memory;
  s->elementwise_args.dst = s->memory + 1024;
  OK(tw_rows_desc_init(&s->rows_desc, sizeof s->rows_desc));
  s->rows_desc.dtype = TW_DTYPE_F32;
  s->rows_desc.table_rows = s->rows_desc.columns = s->rows_desc.count = 4;
  OK(tw_rows_args_init(&s->rows_args, sizeof s->rows_args));
  s->rows_args.table = s->memory;
  s->rows_args.index = s->memory + 2048;
  s->rows_args.packed = s->memory + 1024;
  OK(tw_copies_desc_init(&s->copies_desc, sizeof s->copies_desc));
  s->copies_desc.dtype = TW_DTYPE_U8;
  s->copies_desc.rank = 1;
  s->copies_desc.shape[0] = 64;
  s->copies_desc.src_stride[0] = s->copies_desc.dst_stride[0] = 1;
  s->copies_desc.count = 2;
  OK(tw_copies_args_init(&s->copies_args, sizeof s->copies_args));
  s->copies_args.src = s->memory + 3072; /* zeros that no other sample writes */
  s->copies_args.dst = s->memory + 3088;
  s->copies_args.invalid_count = s->memory + 3104;
  OK(tw_ragged_desc_init(&s->ragged_desc, sizeof s->ragged_desc));
  s->ragged_desc.dtype = TW_DTYPE_F32;
  s->ragged_desc.batch = s->ragged_desc.rows = s->ragged_desc.tokens = s->ragged_desc.columns = 4;
  OK(tw_ragged_args_init(&s->ragged_args, sizeof s->ragged_args));
  s->ragged_args.packed = s->memory;
  s->ragged_args.offsets = s->memory + 2048;
  s->ragged_args.padded = s->memory + 1024;
  OK(tw_route_desc_init(&s->route_desc, sizeof s->route_desc));
  s->route_desc.dtype = TW_DTYPE_F32;
  s->route_desc.tokens = s->route_desc.experts = 4;
  s->route_desc.top_k = 2;
  OK(tw_route_args_init(&s->route_args, sizeof s->route_args));
  s->route_args.logits = s->memory;
  s->route_args.ids = s->memory + 1024;
  OK(tw_grouped_desc_init(&s->grouped_desc, sizeof s->grouped_desc));
  s->grouped_desc.m = s->grouped_desc.n = s->grouped_desc.k = s->grouped_desc.group_count = 4;
  OK(tw_grouped_args_init(&s->grouped_args, sizeof s->grouped_args));
  s->grouped_args.a = s->memory;
  s->grouped_args.b = s->memory + 512;
  s->grouped_args.d = s->memory + 1024;
  s->grouped_args.groups = s->memory + 2048;
  OK(tw_quantize_desc_init(&s->quantize_desc, sizeof s->quantize_desc));
  s->quantize_desc.src_dtype = TW_DTYPE_BF16;
  s->quantize_desc.dst_dtype = TW_DTYPE_F8E4M3;
  s->quantize_desc.scale = TW_SCALE_ROW;
  s->quantize_desc.rows = s->quantize_desc.columns = 4;
  OK(tw_quantize_args_init(&s->quantize_args, sizeof s->quantize_args));
  s->quantize_args.src = s->memory;
  s->quantize_args.dst = s->memory + 512;
  s->quantize_args.scale = s->memory + 1024;
  OK(tw_gemm_desc_init(&s->gemm_desc, sizeof s->gemm_desc));
  s->gemm_desc.m = s->gemm_desc.n = s->gemm_desc.k = 8;
  OK(tw_gemm_args_init(&s->gemm_args, sizeof s->gemm_args));
  s->gemm_args.a = s->memory;
  s->gemm_args.b = s->memory + 1024;
  s->gemm_args.d = s->memory + 2048;
  OK(tw_gemm_tune_desc_init(&s->gemm_tune_desc, sizeof s->gemm_tune_desc));
}

/* Calls the deleter of a managed tensor, which follows its DLTensor, as a consumer does. */
static inline void release_managed(samples *s) {
  struct dl_managed {
    unsigned char tensor[48];
    void *context;
    void (*deleter)(struct dl_managed *);
  };
  struct dl_managed *managed = (struct dl_managed *)s->managed;
  if (managed) managed->deleter(managed);
  s->managed = NULL;
}

static inline void refresh_streams(samples *s) {
  if (!s->idle) OK(tw_stream_create(s->device, &s->idle));
  if (!s->capturing) OK(tw_stream_create(s->device, &s->capturing));
  /* Fails, harmlessly, if a failed call left the earlier capture active. */
  (void)tw_stream_begin_capture(s->capturing);
}

/* Resets the samples to the state before any call. */
static inline void refresh(samples *s) {
  release_managed(s);
  refresh_streams(s);
  for (int i = 0; i < 64; ++i) {
    s->int32_t_array[i] = s->int32_t_out[i] = 0;
    s->int64_t_array[i] = s->int64_t_out[i] = 0;
    s->uint32_t_array[i] = 4;
  }
  /* The sizes of a kernel's parameters. */
  s->uint32_t_array[0] = 8;
  s->uint32_t_array[1] = 128;
  /* Extents are 1. Coordinates, strides and modes also use the zeros after them. */
  for (int i = 0; i < 4; ++i) s->int64_t_array[i] = 1;
  tw_error_info_init(&s->error_info, sizeof s->error_info);
  tw_device_info_init(&s->device_info, sizeof s->device_info);
  tw_kernel_info_init(&s->kernel_info, sizeof s->kernel_info);
  tw_plan_info_init(&s->plan_info, sizeof s->plan_info);
  tw_embedded_kernel_init(&s->embedded_kernel, sizeof s->embedded_kernel);
  for (int i = 0; i < 8; ++i) {
    tw_rule_violation_init(&s->rule_violation[i], sizeof s->rule_violation[i]);
    tw_gemm_candidate_init(&s->gemm_candidate[i], sizeof s->gemm_candidate[i]);
  }
  refresh_descriptions(s);
}

static inline void find_kernel(samples *s) {
  tw_embedded_kernel entry;
  int32_t count = 0;
  tw_embedded_kernel_init(&entry, sizeof entry);
  OK(tw_embedded_kernel_get(0, NULL, &count));
  s->has_kernels = count > 0 && OK(tw_embedded_kernel_get(0, &entry, NULL));
  s->kernel_name = s->has_kernels ? entry.name : s->text;
  s->kernel_target = s->has_kernels ? entry.target : s->text;
}

/* A graph of a single fill. */
static inline tw_graph *sample_graph(samples *s) {
  tw_graph *graph = NULL;
  OK(tw_stream_begin_capture(s->stream));
  OK(tw_memset(s->stream, s->memory, 0, 16));
  OK(tw_stream_end_capture(s->stream, &graph));
  return graph;
}

static inline void open_samples(samples *s) {
  const unsigned failures = harness.failures;
  memset(s, 0, sizeof *s);
  s->device = open_device();
  s->text = "(2,3)";
  find_kernel(s);
  s->image = contract_ptx;
  s->image_size = sizeof contract_ptx;
  OK(tw_malloc(s->device, 4096, &s->memory));
  refresh(s);
  OK(tw_stream_create(s->device, &s->stream));
  OK(tw_memset(s->stream, s->memory, 0, 4096));
  OK(tw_event_create(s->device, &s->event));
  OK(tw_event_record(s->event, s->stream));
  OK(tw_stream_synchronize(s->stream));
  s->graph = sample_graph(s);
  s->captured = sample_graph(s);
  OK(tw_graph_instantiate(s->graph));
  OK(tw_layout_parse("(4,6):(1,4)", &s->layout));
  OK(tw_layout_parse("(2,6):(2@0,1@1)", &s->boxes));
  OK(tw_linear_parse("register=[[0,1]] lane=[[1,0]] warp=[[2,0]] block=[[4,0]] -> (8,2)",
                     &s->linear));
  OK(tw_tuple_parse("(2,3)", &s->tuple));
  OK(tw_gemm_tuning_create(&s->gemm_tuning));
  OK(tw_tiler_parse("(2,3)", &s->tiler));
  for (int i = 0; i < 16; ++i) s->tilers[i] = s->tiler;
  OK(tw_tensor_map_create(s->device, &s->tensor_map_desc, &s->tensor_map));
  OK(tw_copy_plan(s->device, &s->copy_desc, &s->copy));
  OK(tw_prefetch_plan(s->device, &s->prefetch_desc, &s->prefetch));
  OK(tw_elementwise_plan(s->device, &s->elementwise_desc, &s->elementwise));
  OK(tw_gather_plan(s->device, &s->rows_desc, &s->gather));
  OK(tw_scatter_plan(s->device, &s->rows_desc, &s->scatter));
  OK(tw_gemm_plan(s->device, &s->gemm_desc, &s->gemm));
  OK(tw_copies_plan(s->device, &s->copies_desc, &s->copies));
  OK(tw_ragged_plan(s->device, &s->ragged_desc, &s->ragged));
  OK(tw_route_plan(s->device, &s->route_desc, &s->route));
  OK(tw_grouped_plan(s->device, &s->grouped_desc, &s->grouped));
  OK(tw_quantize_plan(s->device, &s->quantize_desc, &s->quantize));
  if (harness.failures != failures) exit(1);
}

/* Returns a handle of each kind that was destroyed twice. The host device has no modules: NULL. */
#define DESTROYED_HANDLE(kind, make)                      \
  static inline tw_##kind *destroyed_##kind(samples *s) { \
    tw_##kind *handle = NULL;                             \
    (void)s;                                              \
    OK(make);                                             \
    tw_##kind##_destroy(handle);                          \
    tw_##kind##_destroy(handle);                          \
    return handle;                                        \
  }
DESTROYED_HANDLE(device, tw_device_create(harness.kind, 0, &handle))
DESTROYED_HANDLE(stream, tw_stream_create(s->device, &handle))
DESTROYED_HANDLE(event, tw_event_create(s->device, &handle))
DESTROYED_HANDLE(graph, (handle = sample_graph(s)) ? TW_OK : TW_ERROR_INTERNAL)
DESTROYED_HANDLE(layout, tw_layout_parse("4", &handle))
DESTROYED_HANDLE(tuple, tw_tuple_parse("4", &handle))
DESTROYED_HANDLE(tiler, tw_tiler_parse("4", &handle))
DESTROYED_HANDLE(linear, tw_linear_parse("register=[[1]] lane=[] warp=[] block=[] -> (2)", &handle))
DESTROYED_HANDLE(tensor_map, tw_tensor_map_create(s->device, &s->tensor_map_desc, &handle))
DESTROYED_HANDLE(gemm_tuning, tw_gemm_tuning_create(&handle))
DESTROYED_HANDLE(plan, tw_copy_plan(s->device, &s->copy_desc, &handle))
#undef DESTROYED_HANDLE

static inline tw_module *destroyed_module(samples *s) {
  tw_module *module = NULL;
  if (harness.kind != TW_DEVICE_CUDA) return NULL;
  OK(tw_module_load(s->device, s->image, s->image_size, &module));
  tw_module_destroy(module);
  tw_module_destroy(module);
  return module;
}

static inline tw_kernel *destroyed_kernel(samples *s) {
  tw_module *module = NULL;
  tw_kernel *kernel = NULL;
  if (harness.kind != TW_DEVICE_CUDA) return NULL;
  OK(tw_module_load(s->device, s->image, s->image_size, &module));
  OK(tw_kernel_get(module, "own", &kernel));
  tw_kernel_destroy(kernel);
  tw_kernel_destroy(kernel);
  tw_module_destroy(module);
  return kernel;
}

/* The library remembers the last 1,024 destroyed handles of each kind. Once these are full,
 * destroying a handle frees another, so that a test can count allocations. */
static inline void fill_destroyed_handles(samples *s) {
  for (int i = 0; i < 1024; ++i) {
    destroyed_device(s);
    destroyed_stream(s);
    destroyed_event(s);
    destroyed_graph(s);
    destroyed_layout(s);
    destroyed_tuple(s);
    destroyed_tiler(s);
    destroyed_linear(s);
    destroyed_tensor_map(s);
    destroyed_gemm_tuning(s);
    destroyed_plan(s);
    destroyed_kernel(s);
  }
}

/* Works in every state of the device. */
static inline void destroy_samples(samples *s) {
  release_managed(s);
  tw_kernel_destroy(s->kernel);
  tw_module_destroy(s->module);
  tw_plan_destroy(s->copy);
  tw_plan_destroy(s->prefetch);
  tw_plan_destroy(s->elementwise);
  tw_plan_destroy(s->gather);
  tw_plan_destroy(s->scatter);
  tw_plan_destroy(s->gemm);
  tw_plan_destroy(s->ragged);
  tw_plan_destroy(s->route);
  tw_plan_destroy(s->grouped);
  tw_plan_destroy(s->quantize);
  tw_plan_destroy(s->copies);
  tw_tensor_map_destroy(s->tensor_map);
  tw_tiler_destroy(s->tiler);
  tw_tuple_destroy(s->tuple);
  tw_gemm_tuning_destroy(s->gemm_tuning);
  tw_linear_destroy(s->linear);
  tw_layout_destroy(s->layout);
  tw_layout_destroy(s->boxes);
  tw_graph_destroy(s->graph);
  tw_graph_destroy(s->captured);
  tw_event_destroy(s->event);
  tw_stream_destroy(s->idle);
  tw_stream_destroy(s->capturing);
  tw_stream_destroy(s->stream);
  tw_device_destroy(s->device);
}

static inline void close_samples(samples *s) {
  harness.test = "close_samples";
  OK(tw_stream_synchronize(s->stream));
  destroy_samples(s);
}

/* On a GPU the test makes its own context current; it must be current again after every call. */
static struct {
  int (*create)(void **context, unsigned flags, int device);
  int (*destroy)(void *context);
  int (*current)(void **context);
  void *context;
} neutral;

static inline void neutral_find(const char *name, void *function) {
  void *found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
  CHECK(found != NULL);
  memcpy(function, &found, sizeof found);
}

static inline void neutral_start(void) {
  if (harness.kind != TW_DEVICE_CUDA) return;
  neutral_find("cuCtxCreate_v2", &neutral.create);
  neutral_find("cuCtxDestroy_v2", &neutral.destroy);
  neutral_find("cuCtxGetCurrent", &neutral.current);
  if (harness.failures) exit(1);
  CHECK(neutral.create(&neutral.context, 0, 0) == 0);
}

static inline void neutral_check(void) {
  void *now = NULL;
  if (!neutral.context) return;
  CHECK(neutral.current(&now) == 0 && now == neutral.context);
}

static inline void neutral_end(void) {
  if (neutral.context) CHECK(neutral.destroy(neutral.context) == 0);
}

/* Any answer must be a status of this library, and a failure must have a message. */
static inline int answered(tw_status status) {
  CHECK(strcmp(tw_status_name(status), "TW_ERROR_?") != 0);
  if (status != TW_OK) CHECK(tw_last_error()[0] != '\0');
  CHECK(status != TW_ERROR_INTERNAL);
  return status == TW_OK;
}

#endif
