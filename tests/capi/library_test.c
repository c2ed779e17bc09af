/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/capi/common/harness.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct {
  tw_status status;
  const char *name;
} kStatuses[] = {
#define ROW(name) \
  { name, #name }
    ROW(TW_OK),
    ROW(TW_ERROR_NO_DRIVER),
    ROW(TW_ERROR_DRIVER_TOO_OLD),
    ROW(TW_ERROR_NO_DEVICE),
    ROW(TW_ERROR_UNSUPPORTED_DEVICE),
    ROW(TW_ERROR_NO_KERNEL_IMAGE),
    ROW(TW_ERROR_NOT_BUILT),
    ROW(TW_ERROR_INVALID_ARGUMENT),
    ROW(TW_ERROR_STRUCT),
    ROW(TW_ERROR_PARSE),
    ROW(TW_ERROR_OVERFLOW),
    ROW(TW_ERROR_CAPACITY),
    ROW(TW_ERROR_RULE),
    ROW(TW_ERROR_MISALIGNED),
    ROW(TW_ERROR_OVERLAP),
    ROW(TW_ERROR_WRONG_DEVICE),
    ROW(TW_ERROR_INVALID_IMAGE),
    ROW(TW_ERROR_NOT_FOUND),
    ROW(TW_ERROR_BUFFER_TOO_SMALL),
    ROW(TW_ERROR_NOT_A_LAYOUT),
    ROW(TW_ERROR_UNSUPPORTED),
    ROW(TW_ERROR_NOT_READY),
    ROW(TW_ERROR_DEVICE_CLOSED),
    ROW(TW_ERROR_FORKED),
    ROW(TW_ERROR_CAPTURE),
    ROW(TW_ERROR_SHUTDOWN),
    ROW(TW_ERROR_OUT_OF_MEMORY),
    ROW(TW_ERROR_DEVICE_LOST),
    ROW(TW_ERROR_DRIVER),
    ROW(TW_ERROR_INTERNAL),
#undef ROW
};

static void before_the_first_failure(void) {
  tw_error_info info;
  memset(&info, 0xff, sizeof info);
  tw_error_info_init(&info, sizeof info);
  TEXT(tw_last_error(), "");
  OK(tw_last_error_info(&info));
  EQUAL(info.struct_size, sizeof info);
  EQUAL(info.status, TW_OK);
  EQUAL(info.driver_result, 0);
  CHECK(info.argument == NULL);
  CHECK(info.rule == NULL);
}

static void version(void) {
  char text[32];
  EQUAL(tw_version(), TW_VERSION_MAJOR * 10000 + TW_VERSION_MINOR * 100 + TW_VERSION_PATCH);
  snprintf(text, sizeof text, "%d.%d.%d", TW_VERSION_MAJOR, TW_VERSION_MINOR, TW_VERSION_PATCH);
  TEXT(tw_version_string(), text);
  CHECK(tw_version_string() == tw_version_string());
}

static void statuses(void) {
  const tw_status unknown[] = {-1, 7, 99, 113, 201, 305, 403, 501, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < COUNT(kStatuses); ++i) {
    TEXT(tw_status_name(kStatuses[i].status), kStatuses[i].name);
    CHECK(tw_status_text(kStatuses[i].status)[0] != '\0');
  }
  for (size_t i = 0; i < COUNT(unknown); ++i) {
    TEXT(tw_status_name(unknown[i]), "TW_ERROR_?");
    CHECK(tw_status_text(unknown[i]) != NULL && tw_status_text(unknown[i])[0] != '\0');
  }
}

/* Numbers that bindings of other languages have compiled in: changing one breaks them. */
static void pinned_numbers(void) {
  EQUAL(TW_ERROR_NO_DRIVER, 1);
  EQUAL(TW_ERROR_INVALID_ARGUMENT, 100);
  EQUAL(TW_ERROR_RULE, 105);
  EQUAL(TW_ERROR_UNSUPPORTED, 200);
  EQUAL(TW_ERROR_DEVICE_CLOSED, 301);
  EQUAL(TW_ERROR_DEVICE_LOST, 401);
  EQUAL(TW_ERROR_INTERNAL, 500);
  EQUAL(TW_DEVICE_HOST, 1);
  EQUAL(TW_DEVICE_CUDA, 2);
  EQUAL(TW_DTYPE_BF16, 21);
  EQUAL(TW_DTYPE_F32, 22);
  EQUAL(TW_OP_GEMM, 5);
  EQUAL(TW_SWIZZLE_128B, 3);
  EQUAL(sizeof(tw_status), 4);
  EQUAL(sizeof(tw_dtype), 4);
}

static void last_error(void) {
  tw_error_info info;
  tw_error_info_init(&info, sizeof info);
  NULL_FAILS("info", tw_last_error_info(NULL));
  STRUCT_SIZES_FAIL(info, "info", tw_last_error_info(&info));
  TAIL_CLEARED(tw_error_info, tw_last_error_info(longer));

  /* A success keeps the last failure. */
  EQUAL(tw_log_set(NULL, NULL, 99), TW_ERROR_INVALID_ARGUMENT);
  OK(tw_log_set(NULL, NULL, TW_LOG_ERROR));
  OK(tw_last_error_info(&info));
  EQUAL(info.status, TW_ERROR_INVALID_ARGUMENT);
  TEXT(info.argument, "level");
  EQUAL(info.got, 99);
  CHECK(strstr(tw_last_error(), "99") != NULL);
}

static char last_line[1200];

static void count_lines(void *user, tw_log_level level, const char *message) {
  int *lines = (int *)user;
  tw_layout *layout = NULL;
  ++*lines;
  CHECK(level >= TW_LOG_ERROR && level <= TW_LOG_DEBUG);
  CHECK(message != NULL && message[0] != '\0');
  snprintf(last_line, sizeof last_line, "%s", message);
  /* Calls from a callback must not deadlock or change anything, including the last failure. */
  OK(tw_log_set(NULL, NULL, TW_LOG_ERROR));
  (void)tw_version();
  EQUAL(tw_layout_parse("(inside", &layout), TW_ERROR_PARSE);
}

static void what_is_told(void) {
  tw_device *device = NULL;
  tw_plan *plan = NULL;
  tw_plan_info info;
  tw_copy_desc desc;
  tw_error_info error;
  tw_layout *layout = NULL;
  int lines = 0;
  tw_error_info_init(&error, sizeof error);
  tw_plan_info_init(&info, sizeof info);
  OK(tw_copy_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_U8;
  desc.rank = 1;
  desc.shape[0] = desc.src_stride[0] = desc.dst_stride[0] = 1;
  /* TW_LOG_INFO reports the device, but not plans and failures. */
  OK(tw_log_set(count_lines, &lines, TW_LOG_INFO));
  OK(tw_device_create(TW_DEVICE_HOST, 0, &device));
  EQUAL(lines, 1);
  CHECK(strstr(last_line, "host") != NULL);
  NEED(tw_copy_plan(device, &desc, &plan));
  tw_plan_destroy(plan);
  EQUAL(tw_layout_parse("(", &layout), TW_ERROR_PARSE);
  EQUAL(lines, 1);
  /* TW_LOG_DEBUG reports those. The callback could not remove itself. */
  OK(tw_log_set(count_lines, &lines, TW_LOG_DEBUG));
  NEED(tw_copy_plan(device, &desc, &plan));
  EQUAL(lines, 2);
  OK(tw_plan_get_info(plan, &info));
  CHECK(strstr(last_line, info.kernel) != NULL);
  EQUAL(tw_layout_parse("(outside", &layout), TW_ERROR_PARSE);
  EQUAL(lines, 3);
  CHECK(strstr(last_line, "TW_ERROR_PARSE: ") != NULL &&
        strstr(last_line, tw_last_error()) != NULL);
  CHECK(strstr(tw_last_error(), "outside") != NULL);
  OK(tw_last_error_info(&error));
  EQUAL(error.status, TW_ERROR_PARSE);
  /* A failure inside the callback, during a call that succeeds, is not the caller's failure. */
  tw_plan_destroy(plan);
  NEED(tw_copy_plan(device, &desc, &plan));
  EQUAL(lines, 4);
  CHECK(strstr(tw_last_error(), "outside") != NULL);
  OK(tw_log_set(NULL, NULL, TW_LOG_DEBUG));
  EQUAL(tw_layout_parse("(", &layout), TW_ERROR_PARSE);
  EQUAL(lines, 4);
  tw_plan_destroy(plan);
  tw_device_destroy(device);
}

/* Counts messages, and checks that a callback can neither deadlock nor install another one. */
static void count_for_device(void *user, tw_log_level level, const char *message) {
  ++*(int *)user;
  CHECK(level >= TW_LOG_ERROR && level <= TW_LOG_DEBUG);
  snprintf(last_line, sizeof last_line, "%s", message);
  OK(tw_log_set(NULL, NULL, TW_LOG_ERROR));
}

static void device_log(void) {
  tw_device *device = NULL, *other = NULL;
  tw_stream *stream = NULL;
  tw_layout *layout = NULL;
  uint64_t address = 0;
  int process = 0, own = 0;
  const uint64_t never = UINT64_MAX;
  OK(tw_log_set(count_for_device, &process, TW_LOG_DEBUG));
  OK(tw_device_create(TW_DEVICE_HOST, 0, &device));
  OK(tw_device_create(TW_DEVICE_HOST, 0, &other));
  OK(tw_stream_create(device, &stream));
  EQUAL(process, 2);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "level", tw_device_log_set(device, count_for_device, &own, 0));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "level", tw_device_log_set(device, NULL, NULL, 5));
  NULL_FAILS("device", tw_device_log_set(NULL, count_for_device, &own, TW_LOG_DEBUG));
  process = 0;
  OK(tw_device_log_set(device, count_for_device, &own, TW_LOG_DEBUG));
  /* The device's callback gets failures on the device and its handles, and nothing else. */
  EQUAL(tw_free(device, never), TW_ERROR_NOT_FOUND);
  EQUAL(own, 1);
  CHECK(strstr(last_line, "TW_ERROR_NOT_FOUND: ") != NULL);
  EQUAL(tw_stream_wait_event(stream, NULL), TW_ERROR_INVALID_ARGUMENT);
  EQUAL(own, 2);
  EQUAL(process, 0);
  EQUAL(tw_free(other, never), TW_ERROR_NOT_FOUND);
  EQUAL(tw_layout_parse("(", &layout), TW_ERROR_PARSE);
  EQUAL(process, 2);
  EQUAL(own, 2);
  /* The device's own level applies to it, whatever the process's level is. */
  OK(tw_device_log_set(device, count_for_device, &own, TW_LOG_INFO));
  EQUAL(tw_free(device, never), TW_ERROR_NOT_FOUND);
  EQUAL(own, 2);
  EQUAL(process, 2);
  OK(tw_log_set(NULL, NULL, TW_LOG_ERROR));
  OK(tw_device_log_set(device, count_for_device, &own, TW_LOG_DEBUG));
  EQUAL(tw_free(device, never), TW_ERROR_NOT_FOUND);
  EQUAL(own, 3);
  /* Without a callback of its own the device logs to the process's again. */
  OK(tw_log_set(count_for_device, &process, TW_LOG_DEBUG));
  OK(tw_device_log_set(device, NULL, NULL, TW_LOG_DEBUG));
  EQUAL(tw_free(device, never), TW_ERROR_NOT_FOUND);
  EQUAL(own, 3);
  EQUAL(process, 3);
  /* A handle may outlive its device, but the device's callback is no longer called. */
  OK(tw_device_log_set(device, count_for_device, &own, TW_LOG_DEBUG));
  tw_device_destroy(device);
  own = 0;
  EQUAL(tw_stream_query(stream), TW_ERROR_DEVICE_CLOSED);
  EQUAL(tw_malloc(device, 16, &address), TW_ERROR_INVALID_ARGUMENT);
  EQUAL(own, 0);
  EQUAL(process, 5);
  OK(tw_log_set(NULL, NULL, TW_LOG_ERROR));
  tw_stream_destroy(stream);
  tw_device_destroy(other);
}

static void log_callback(void) {
  /* The last one has the digits of the harness's own failure, as an address might. */
  const tw_log_level bad[] = {0, -1, 5, INT32_MIN, INT32_MAX, 47110};
  int lines = 0;
  tw_device *device = NULL;
  for (size_t i = 0; i < COUNT(bad); ++i) {
    FAILS(TW_ERROR_INVALID_ARGUMENT, "level", tw_log_set(count_lines, &lines, bad[i]));
    FAILS(TW_ERROR_INVALID_ARGUMENT, "level", tw_log_set(NULL, NULL, bad[i]));
  }
  OK(tw_log_set(count_lines, &lines, TW_LOG_DEBUG));
  OK(tw_device_create(TW_DEVICE_HOST, 0, &device));
  tw_device_destroy(device);
  OK(tw_log_set(NULL, NULL, TW_LOG_DEBUG));
  lines = -1;
  device = NULL;
  OK(tw_device_create(TW_DEVICE_HOST, 0, &device));
  tw_device_destroy(device);
  EQUAL(lines, -1);
}

static void dtypes(void) {
  static const struct {
    tw_dtype dtype;
    int32_t size;
    const char *name;
  } rows[] = {
      {TW_DTYPE_U8, 1, "u8"},
      {TW_DTYPE_I8, 1, "i8"},
      {TW_DTYPE_U16, 2, "u16"},
      {TW_DTYPE_I16, 2, "i16"},
      {TW_DTYPE_U32, 4, "u32"},
      {TW_DTYPE_I32, 4, "i32"},
      {TW_DTYPE_U64, 8, "u64"},
      {TW_DTYPE_I64, 8, "i64"},
      {TW_DTYPE_B128, 16, "b128"},
      {TW_DTYPE_F16, 2, "f16"},
      {TW_DTYPE_BF16, 2, "bf16"},
      {TW_DTYPE_F32, 4, "f32"},
      {TW_DTYPE_F64, 8, "f64"},
      {TW_DTYPE_TF32, 4, "tf32"},
      {TW_DTYPE_F8E4M3, 1, "f8e4m3"},
      {TW_DTYPE_F8E5M2, 1, "f8e5m2"},
      {TW_DTYPE_F32_FTZ, 4, "f32_ftz"},
      {TW_DTYPE_TF32_FTZ, 4, "tf32_ftz"},
      {TW_DTYPE_U4X16_ALIGN8B, 8, "u4x16_align8b"},
      {TW_DTYPE_U4X16_ALIGN16B, 16, "u4x16_align16b"},
      {TW_DTYPE_U6X16_ALIGN16B, 16, "u6x16_align16b"},
  };
  const tw_dtype unknown[] = {0, -1, 10, 19, 27, 39, 45, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < COUNT(rows); ++i) {
    EQUAL(tw_dtype_size(rows[i].dtype), rows[i].size);
    TEXT(tw_dtype_name(rows[i].dtype), rows[i].name);
  }
  for (size_t i = 0; i < COUNT(unknown); ++i) {
    EQUAL(tw_dtype_size(unknown[i]), 0);
    TEXT(tw_dtype_name(unknown[i]), "?");
  }
}

int main(int argc, char **argv) {
  harness.test = "main";
  RUN(before_the_first_failure);
  harness_start(argc, argv);
  RUN(version);
  RUN(statuses);
  RUN(pinned_numbers);
  RUN(last_error);
  RUN(log_callback);
  RUN(device_log);
  RUN(what_is_told);
  RUN(dtypes);
  return harness_end();
}
