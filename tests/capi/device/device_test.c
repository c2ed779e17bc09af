/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/capi/common/harness.h"

static const tw_device_kind kBadKinds[] = {0, -1, 3, 100, INT32_MIN, INT32_MAX};
enum { kBadKindCount = sizeof kBadKinds / sizeof *kBadKinds };

static void count(void) {
  int32_t number = 77;
  OK(tw_device_count(TW_DEVICE_HOST, &number));
  EQUAL(number, 1);
  NULL_FAILS("count", tw_device_count(TW_DEVICE_HOST, NULL));
  NULL_FAILS("count", tw_device_count(0, NULL));
  for (int i = 0; i < kBadKindCount; ++i) {
    number = 77;
    FAILS(TW_ERROR_INVALID_ARGUMENT, "kind", tw_device_count(kBadKinds[i], &number));
    EQUAL(number, 0);
  }
  /* The answer must be consistent, whatever this machine has. */
  number = 77;
  poison_();
  const tw_status status = tw_device_count(TW_DEVICE_CUDA, &number);
  if (status == TW_OK) {
    CHECK(number >= 0);
  } else {
    CHECK(status == TW_ERROR_NO_DRIVER || status == TW_ERROR_NOT_BUILT ||
          status == TW_ERROR_DRIVER_TOO_OLD);
    EQUAL(number, 0);
    CHECK(tw_last_error()[0] != '\0' && !poisoned_());
  }
  if (harness.kind == TW_DEVICE_CUDA) CHECK(status == TW_OK && number >= 1);
}

static void create(void) {
  const int32_t bad_ordinals[] = {-1, 1000, INT32_MIN, INT32_MAX};
  tw_device *device = (tw_device *)&device;
  NULL_FAILS("device", tw_device_create(harness.kind, 0, NULL));
  for (int i = 0; i < kBadKindCount; ++i) {
    device = (tw_device *)&device;
    FAILS(TW_ERROR_INVALID_ARGUMENT, "kind", tw_device_create(kBadKinds[i], 0, &device));
    CHECK(device == NULL);
  }
  for (size_t i = 0; i < sizeof bad_ordinals / sizeof *bad_ordinals; ++i) {
    device = (tw_device *)&device;
    FAILS(TW_ERROR_NO_DEVICE, "ordinal", tw_device_create(harness.kind, bad_ordinals[i], &device));
    CHECK(device == NULL);
  }
  if (harness.kind == TW_DEVICE_HOST) {
    device = (tw_device *)&device;
    FAILS(TW_ERROR_NO_DEVICE, "ordinal", tw_device_create(TW_DEVICE_HOST, 1, &device));
    CHECK(device == NULL);
  }
  /* Without a GPU, opening one is a clear error and never opens the host device. */
  device = (tw_device *)&device;
  poison_();
  const tw_status status = tw_device_create(TW_DEVICE_CUDA, 0, &device);
  if (status != TW_OK) {
    CHECK(device == NULL);
    CHECK(status == TW_ERROR_NO_DRIVER || status == TW_ERROR_NOT_BUILT ||
          status == TW_ERROR_DRIVER_TOO_OLD || status == TW_ERROR_NO_DEVICE ||
          status == TW_ERROR_UNSUPPORTED_DEVICE);
    CHECK(tw_last_error()[0] != '\0' && !poisoned_());
  }
  tw_device_destroy(device);
  tw_device_destroy(NULL);
}

static void create_from_context(void) {
  tw_device *device = (tw_device *)&device;
  NULL_FAILS("device", tw_device_create_from_context((struct CUctx_st *)&device, NULL));
  NULL_FAILS("context", tw_device_create_from_context(NULL, &device));
  CHECK(device == NULL);
  if (tw_device_create(TW_DEVICE_CUDA, 0, &device) == TW_OK) {
    tw_device_destroy(device);
    return;
  }
  /* Without a driver no address is a context, and the library does not dereference it. */
  const tw_status expected = tw_device_create(TW_DEVICE_CUDA, 0, &device);
  if (expected != TW_ERROR_NO_DRIVER && expected != TW_ERROR_NOT_BUILT) return;
  device = (tw_device *)&device;
  FAILS(expected, NULL, tw_device_create_from_context((struct CUctx_st *)8, &device));
  CHECK(device == NULL);
}

static void get_info(void) {
  tw_device *device = open_device();
  tw_device_info info;
  memset(&info, 0xa5, sizeof info);
  tw_device_info_init(&info, sizeof info);
  OK(tw_device_get_info(device, &info));
  EQUAL(info.struct_size, sizeof info);
  EQUAL(info.kind, harness.kind);
  EQUAL(info.ordinal, 0);
  CHECK(info.sm_count >= 1);
  CHECK(info.max_dynamic_smem_bytes >= 48 * 1024);
  CHECK(memchr(info.name, '\0', sizeof info.name) != NULL && info.name[0] != '\0');
  if (harness.kind == TW_DEVICE_HOST) {
    EQUAL(info.sm_count, 1);
    CHECK((info.features & TW_FEATURE_HOST) != 0);
    EQUAL(info.driver_version, 0);
  } else {
    CHECK((info.features & TW_FEATURE_HOST) == 0);
    CHECK((info.features & TW_FEATURE_TMA) != 0);
    CHECK(info.compute_major >= 9);
    CHECK(info.driver_version >= 12000);
    CHECK(info.total_memory_bytes > 0 && info.l2_bytes > 0);
  }
  NULL_FAILS("info", tw_device_get_info(device, NULL));
  NULL_FAILS("device", tw_device_get_info(NULL, &info));
  EQUAL(info.sm_count, 0);
  EQUAL(info.name[0], 0);
  STRUCT_SIZES_FAIL(info, "info", tw_device_get_info(device, &info));
  TAIL_CLEARED(tw_device_info, tw_device_get_info(device, longer));
  tw_device_destroy(device);
}

/* Two handles of one physical device are two devices: they share neither handles nor lifetime. */
static void two_handles(void) {
  tw_device *first = open_device();
  tw_device *second = open_device();
  tw_stream *stream = NULL;
  CHECK(first != second);
  NEED(tw_stream_create(second, &stream));
  tw_device_destroy(first);
  OK(tw_stream_synchronize(stream));
  tw_stream_destroy(stream);
  tw_device_destroy(second);
}

static void open_and_close_often(void) {
  for (int i = 0; i < 50; ++i) {
    uint64_t address = 0;
    tw_stream *stream = NULL;
    tw_device *device = open_device();
    OK(tw_malloc(device, 1000, &address)); /* freed when the device is destroyed */
    OK(tw_stream_create(device, &stream));
    OK(tw_memset(stream, address, i, 1000));
    tw_device_destroy(device); /* waits for the stream */
    tw_stream_destroy(stream);
  }
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(count);
  RUN(create);
  RUN(create_from_context);
  RUN(get_info);
  RUN(two_handles);
  RUN(open_and_close_often);
  return harness_end();
}
