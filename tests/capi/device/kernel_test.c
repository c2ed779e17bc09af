/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/capi/common/harness.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* out[i] = value + i for every i below n. The parameters have 8, 4 and 4 bytes. */
static const char kPtx[] =
    ".version 8.0\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".visible .entry fill(.param .u64 out, .param .u32 n, .param .u32 value)\n"
    "{\n"
    "  .reg .pred %p<2>;\n"
    "  .reg .b32 %r<7>;\n"
    "  .reg .b64 %d<4>;\n"
    "  ld.param.u64 %d1, [out];\n"
    "  ld.param.u32 %r1, [n];\n"
    "  ld.param.u32 %r2, [value];\n"
    "  mov.u32 %r3, %ctaid.x;\n"
    "  mov.u32 %r4, %ntid.x;\n"
    "  mov.u32 %r5, %tid.x;\n"
    "  mad.lo.s32 %r6, %r3, %r4, %r5;\n"
    "  setp.ge.u32 %p1, %r6, %r1;\n"
    "  @%p1 bra DONE;\n"
    "  cvta.to.global.u64 %d1, %d1;\n"
    "  mul.wide.u32 %d2, %r6, 4;\n"
    "  add.s64 %d3, %d1, %d2;\n"
    "  add.u32 %r2, %r2, %r6;\n"
    "  st.global.u32 [%d3], %r2;\n"
    "DONE:\n"
    "  ret;\n"
    "}\n";

static void arguments(void) {
  tw_device *device = open_device();
  tw_stream *stream = NULL;
  tw_module *module = (tw_module *)&module;
  tw_kernel *kernel = (tw_kernel *)&kernel;
  tw_kernel_info info;
  tw_launch_desc desc;
  int32_t blocks = 77, clusters = 77;
  const uint32_t size = 8;
  const uint64_t value = 0;
  NEED(tw_stream_create(device, &stream));
  NULL_FAILS("desc", tw_launch_desc_init(NULL, sizeof(tw_launch_desc)));
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_launch_desc_init(&desc, sizeof desc));
  EQUAL(desc.struct_size, sizeof desc);
  EQUAL(desc.flags, 0);
  EQUAL(desc.dynamic_smem_bytes, 0);
  for (int i = 0; i < 3; ++i) {
    EQUAL(desc.grid[i], 1);
    EQUAL(desc.block[i], i == 0 ? 128 : 1);
    EQUAL(desc.cluster[i], 1);
  }

  NULL_FAILS("module", tw_module_load(device, kPtx, sizeof kPtx, NULL));
  NULL_FAILS("device", tw_module_load(NULL, kPtx, sizeof kPtx, &module));
  CHECK(module == NULL);
  module = (tw_module *)&module;
  NULL_FAILS("image", tw_module_load(device, NULL, sizeof kPtx, &module));
  CHECK(module == NULL);
  NULL_FAILS("kernel", tw_kernel_get(NULL, "fill", NULL));
  NULL_FAILS("module", tw_kernel_get(NULL, "fill", &kernel));
  CHECK(kernel == NULL);
  tw_kernel_info_init(&info, sizeof info);
  NULL_FAILS("info", tw_kernel_get_info(NULL, NULL));
  NULL_FAILS("kernel", tw_kernel_get_info(NULL, &info));
  STRUCT_SIZES_FAIL(info, "info", tw_kernel_get_info(NULL, &info));
  NULL_FAILS("kernel", tw_kernel_occupancy(NULL, &desc, &blocks, &clusters));
  EQUAL(blocks, 0);
  EQUAL(clusters, 0);
  clusters = 77;
  NULL_FAILS("blocks_per_sm", tw_kernel_occupancy(NULL, &desc, NULL, &clusters));
  EQUAL(clusters, 0);
  blocks = 77;
  NULL_FAILS("clusters", tw_kernel_occupancy(NULL, &desc, &blocks, NULL));
  EQUAL(blocks, 0);
  NULL_FAILS("kernel", tw_launch(stream, NULL, &desc, 1, &size, &value));
  NULL_FAILS("stream", tw_launch(NULL, NULL, &desc, 1, &size, &value));
  tw_module_destroy(NULL);
  tw_kernel_destroy(NULL);
  tw_stream_destroy(stream);
  tw_device_destroy(device);
}

/* The host device refuses all GPU code. */
static void host_refuses(void) {
  tw_device *device = NULL;
  tw_module *module = (tw_module *)&module;
  NEED(tw_device_create(TW_DEVICE_HOST, 0, &device));
  FAILS(TW_ERROR_WRONG_DEVICE, NULL, tw_module_load(device, kPtx, sizeof kPtx, &module));
  CHECK(module == NULL);
  module = (tw_module *)&module;
  FAILS(TW_ERROR_WRONG_DEVICE, NULL, tw_module_load(device, "", 1, &module));
  CHECK(module == NULL);
  tw_device_destroy(device);
}

static void damaged_images(void) {
  static const unsigned char elf[] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x33, 7, 0, 0, 0};
  static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba, 1,    0,
                                         16,   0,    0xff, 0xff, 0xff, 0xff};
  static const unsigned char zeros[4096];
  tw_device *device = open_device();
  tw_module *module = NULL;
  const struct {
    const void *image;
    size_t size;
  } bad[] = {
      {kPtx, 0},      {kPtx, 1},
      {elf, 4},       {elf, sizeof elf},
      {fatbin, 4},    {fatbin, sizeof fatbin},
      {zeros, 1},     {zeros, sizeof zeros},
      {"garbage", 8},
  };
  for (size_t i = 0; i < COUNT(bad); ++i) {
    module = (tw_module *)&module;
    if (!FAILS(TW_ERROR_INVALID_IMAGE, NULL,
               tw_module_load(device, bad[i].image, bad[i].size, &module)))
      printf("    image %zu\n", i);
    CHECK(module == NULL);
  }
  tw_device_destroy(device);
}

static void own_kernel(void) {
  enum { kCount = 1000 };
  static uint32_t out[kCount];
  tw_device *device = open_device();
  tw_device *host = NULL;
  tw_stream *stream = NULL, *host_stream = NULL;
  tw_module *module = NULL;
  tw_kernel *kernel = (tw_kernel *)&kernel;
  tw_kernel_info info;
  tw_launch_desc desc, bad;
  uint64_t address = 0;
  unsigned char params[16];
  const uint32_t sizes[] = {8, 4, 4}, wrong[] = {8, 8, 4}, n = kCount, value = 5;
  int32_t blocks = 0, clusters = 0;
  NEED(tw_stream_create(device, &stream));
  NEED(tw_malloc(device, sizeof out, &address));
  NEED(tw_module_load(device, kPtx, sizeof kPtx, &module));
  FAILS(TW_ERROR_NOT_FOUND, "name", tw_kernel_get(module, "missing", &kernel));
  CHECK(kernel == NULL);
  FAILS(TW_ERROR_NOT_FOUND, "name", tw_kernel_get(module, "", &kernel));
  NULL_FAILS("name", tw_kernel_get(module, NULL, &kernel));
  NEED(tw_kernel_get(module, "fill", &kernel));
  tw_module_destroy(module); /* the kernel outlives the module's handle */

  tw_kernel_info_init(&info, sizeof info);
  OK(tw_kernel_get_info(kernel, &info));
  CHECK(info.registers > 0 && info.max_threads >= 128);
  EQUAL(info.param_count, 3);
  EQUAL(info.param_bytes, 16);
  CHECK(info.binary_version >= 90);
  OK(tw_launch_desc_init(&desc, sizeof desc));
  OK(tw_kernel_occupancy(kernel, &desc, &blocks, &clusters));
  CHECK(blocks >= 1 && clusters >= 1);

  memcpy(params, &address, 8);
  memcpy(params + 8, &n, 4);
  memcpy(params + 12, &value, 4);
  desc.grid[0] = (kCount + 127) / 128;
  OK(tw_launch(stream, kernel, &desc, 3, sizes, params));
  memset(params, 0xff, sizeof params); /* parameters were copied */
  OK(tw_memcpy_to_host(stream, out, address, sizeof out));
  OK(tw_stream_synchronize(stream));
  for (uint32_t i = 0; i < kCount; ++i)
    if (out[i] != value + i) {
      EQUAL(out[i], value + i);
      break;
    }
  memcpy(params, &address, 8);
  memcpy(params + 8, &n, 4);
  memcpy(params + 12, &value, 4);

  FAILS(TW_ERROR_INVALID_ARGUMENT, "param_count",
        tw_launch(stream, kernel, &desc, 2, sizes, params));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "param_count",
        tw_launch(stream, kernel, &desc, 4, sizes, params));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "param_count",
        tw_launch(stream, kernel, &desc, 0, sizes, params));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "param_sizes",
        tw_launch(stream, kernel, &desc, 3, wrong, params));
  NULL_FAILS("param_sizes", tw_launch(stream, kernel, &desc, 3, NULL, params));
  NULL_FAILS("params", tw_launch(stream, kernel, &desc, 3, sizes, NULL));
  NULL_FAILS("desc", tw_launch(stream, kernel, NULL, 3, sizes, params));
  STRUCT_SIZES_FAIL(desc, "desc", tw_launch(stream, kernel, &desc, 3, sizes, params));
  TAIL_RULES(tw_launch_desc, desc, "desc", tw_launch(stream, kernel, longer, 3, sizes, params),
             (void)0);
#define BAD_LAUNCH(argument, change)                                                               \
  do {                                                                                             \
    bad = desc;                                                                                    \
    change;                                                                                        \
    FAILS(TW_ERROR_INVALID_ARGUMENT, argument, tw_launch(stream, kernel, &bad, 3, sizes, params)); \
  } while (0)
  BAD_LAUNCH("flags", bad.flags = 0x80000000u);
  BAD_LAUNCH("grid", bad.grid[0] = 0);
  BAD_LAUNCH("grid", bad.grid[1] = 65536);
  BAD_LAUNCH("grid", bad.grid[0] = UINT32_MAX);
  BAD_LAUNCH("block", bad.block[2] = 0);
  BAD_LAUNCH("block", bad.block[0] = 1025);
  BAD_LAUNCH("block", (bad.block[0] = 64, bad.block[1] = 32));
  BAD_LAUNCH("block", bad.block[0] = UINT32_MAX);
  BAD_LAUNCH("cluster", bad.cluster[0] = 0);
  BAD_LAUNCH("cluster", bad.cluster[0] = 3);
  BAD_LAUNCH("cluster", (bad.grid[0] = 64, bad.cluster[0] = 64));
  BAD_LAUNCH("dynamic_smem_bytes", bad.dynamic_smem_bytes = 1 << 20);
  BAD_LAUNCH("dynamic_smem_bytes", bad.dynamic_smem_bytes = UINT32_MAX);
#undef BAD_LAUNCH
  blocks = clusters = 77;
  bad = desc;
  bad.block[0] = 4096;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "block", tw_kernel_occupancy(kernel, &bad, &blocks, &clusters));
  EQUAL(blocks, 0);
  EQUAL(clusters, 0);

  NEED(tw_device_create(TW_DEVICE_HOST, 0, &host));
  NEED(tw_stream_create(host, &host_stream));
  FAILS(TW_ERROR_WRONG_DEVICE, NULL, tw_launch(host_stream, kernel, &desc, 3, sizes, params));
  tw_stream_destroy(host_stream);
  tw_device_destroy(host);

  /* None of the failures above harmed the context. */
  OK(tw_launch(stream, kernel, &desc, 3, sizes, params));
  OK(tw_stream_synchronize(stream));
  tw_device_destroy(device);
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_launch(stream, kernel, &desc, 3, sizes, params));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_kernel_get_info(kernel, &info));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_kernel_occupancy(kernel, &desc, &blocks, &clusters));
  tw_stream_destroy(stream);
  tw_kernel_destroy(kernel);
}

static void module_after_the_device(void) {
  tw_device *device = open_device();
  tw_module *module = NULL;
  tw_kernel *kernel = (tw_kernel *)&kernel;
  NEED(tw_module_load(device, kPtx, sizeof kPtx, &module));
  tw_device_destroy(device);
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_kernel_get(module, "fill", &kernel));
  CHECK(kernel == NULL);
  tw_module_destroy(module);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(arguments);
  RUN(host_refuses);
  if (harness.kind == TW_DEVICE_CUDA) {
    RUN(damaged_images);
    RUN(own_kernel);
    RUN(module_after_the_device);
  }
  return harness_end();
}
