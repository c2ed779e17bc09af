/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "tests/capi/common/harness.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static void memory(void) {
  const uint64_t huge[] = {UINT64_MAX, UINT64_MAX - 255, (uint64_t)1 << 63, (uint64_t)1 << 56};
  tw_device *device = open_device();
  uint64_t address = 77;
  OK(tw_malloc(device, 0, &address));
  EQUAL(address, 0);
  NULL_FAILS("address", tw_malloc(device, 16, NULL));
  address = 77;
  NULL_FAILS("device", tw_malloc(NULL, 16, &address));
  EQUAL(address, 0);
  for (size_t i = 0; i < sizeof huge / sizeof *huge; ++i) {
    address = 77;
    FAILS(TW_ERROR_OUT_OF_MEMORY, NULL, tw_malloc(device, huge[i], &address));
    EQUAL(address, 0);
  }
  for (uint64_t bytes = 1; bytes < 5000; bytes = bytes * 3 + 1) {
    OK(tw_malloc(device, bytes, &address));
    CHECK(address != 0);
    EQUAL(address % 256, 0);
    FAILS(TW_ERROR_NOT_FOUND, "address", tw_free(device, address + 1));
    OK(tw_free(device, address));
    FAILS(TW_ERROR_NOT_FOUND, "address", tw_free(device, address));
  }
  NULL_FAILS("device", tw_free(NULL, address));
  NULL_FAILS("device", tw_free(NULL, 0));
  OK(tw_free(device, 0));
  FAILS(TW_ERROR_NOT_FOUND, "address", tw_free(device, 1));
  FAILS(TW_ERROR_NOT_FOUND, "address", tw_free(device, UINT64_MAX));
  tw_device_destroy(device);
}

static void memory_of_another_device(void) {
  tw_device *device = open_device();
  tw_device *other = open_device();
  uint64_t address = 0;
  NEED(tw_malloc(device, 256, &address));
  FAILS(TW_ERROR_NOT_FOUND, "address", tw_free(other, address));
  OK(tw_free(device, address));
  tw_device_destroy(other);
  tw_device_destroy(device);
}

static void host_memory(void) {
  tw_device *device = open_device(), *other = open_device();
  tw_stream *stream = NULL;
  void *memory = &memory, *more = NULL;
  uint64_t address = 0;
  OK(tw_malloc_host(device, 0, &memory));
  CHECK(memory == NULL);
  memory = &memory;
  FAILS(TW_ERROR_OUT_OF_MEMORY, "bytes", tw_malloc_host(device, UINT64_MAX, &memory));
  CHECK(memory == NULL);
  NEED(tw_malloc_host(device, 1000, &memory));
  NEED(tw_malloc_host(device, 1, &more)); /* freed by the device */
  NEED(tw_malloc(device, 1000, &address));
  CHECK(memory != NULL && (uintptr_t)memory % 256 == 0);
  NEED(tw_stream_create(device, &stream));
  memset(memory, 0x5a, 1000);
  OK(tw_memcpy_to_device(stream, address, memory, 1000));
  OK(tw_memset(stream, address, 1, 500));
  OK(tw_memcpy_to_host(stream, memory, address, 1000));
  OK(tw_stream_synchronize(stream));
  CHECK(((unsigned char *)memory)[499] == 1 && ((unsigned char *)memory)[500] == 0x5a);
  /* Each kind of memory is freed by its own function, on its own device, once. */
  FAILS(TW_ERROR_NOT_FOUND, "address", tw_free(device, (uintptr_t)memory));
  FAILS(TW_ERROR_NOT_FOUND, "memory", tw_free_host(device, (void *)(uintptr_t)address));
  FAILS(TW_ERROR_NOT_FOUND, "memory", tw_free_host(other, memory));
  OK(tw_free_host(device, memory));
  FAILS(TW_ERROR_NOT_FOUND, "memory", tw_free_host(device, memory));
  OK(tw_free_host(device, NULL));
  OK(tw_free(device, address));
  tw_stream_destroy(stream);
  tw_device_destroy(other);
  tw_device_destroy(device);
}

/* CUDA's own handles of the library's objects. */
static void cuda_handles(void) {
  tw_device *device = open_device();
  tw_stream *stream = NULL, *wrapped = NULL;
  tw_event *event = NULL, *same = (tw_event *)&same;
  struct CUctx_st *context = (struct CUctx_st *)8;
  struct CUstream_st *cuda_stream = (struct CUstream_st *)8, *again = NULL;
  struct CUevent_st *cuda_event = (struct CUevent_st *)8, *copy = NULL;
  NEED(tw_stream_create(device, &stream));
  NEED(tw_event_create(device, &event));
  NULL_FAILS("cuda_event", tw_event_create_from(device, NULL, &same));
  CHECK(same == NULL);
  if (harness.kind == TW_DEVICE_HOST) {
    FAILS(TW_ERROR_WRONG_DEVICE, "device", tw_device_get_cuda_context(device, &context));
    FAILS(TW_ERROR_WRONG_DEVICE, "stream", tw_stream_get_cuda(stream, &cuda_stream));
    FAILS(TW_ERROR_WRONG_DEVICE, "event", tw_event_get_cuda(event, &cuda_event));
    CHECK(context == NULL && cuda_stream == NULL && cuda_event == NULL);
    FAILS(TW_ERROR_WRONG_DEVICE, "device",
          tw_event_create_from(device, (struct CUevent_st *)8, &same));
  } else {
    OK(tw_device_get_cuda_context(device, &context));
    OK(tw_stream_get_cuda(stream, &cuda_stream));
    OK(tw_event_get_cuda(event, &cuda_event));
    CHECK(context != NULL && cuda_stream != NULL && cuda_event != NULL);
    /* An exported handle can be wrapped again, and survives the wrapper. */
    NEED(tw_stream_create_from(device, cuda_stream, &wrapped));
    NEED(tw_event_create_from(device, cuda_event, &same));
    OK(tw_stream_get_cuda(wrapped, &again));
    OK(tw_event_get_cuda(same, &copy));
    CHECK(again == cuda_stream && copy == cuda_event);
    OK(tw_event_record(same, wrapped));
    tw_event_destroy(same);
    tw_stream_destroy(wrapped);
    OK(tw_event_synchronize(event));
    OK(tw_stream_synchronize(stream));
  }
  tw_event_destroy(event);
  tw_stream_destroy(stream);
  tw_device_destroy(device);
}

static void between_devices(void) {
  enum { kBytes = 1000 };
  static unsigned char in[kBytes], out[kBytes];
  tw_device *device = open_device(), *other = open_device(), *third = open_device();
  tw_device *host = NULL;
  tw_stream *stream = NULL;
  uint64_t a = 0, b = 0, same = 0;
  NEED(tw_stream_create(device, &stream));
  NEED(tw_malloc(device, kBytes, &a));
  NEED(tw_malloc(device, kBytes, &same));
  NEED(tw_malloc(other, kBytes, &b));
  for (int i = 0; i < kBytes; ++i) in[i] = (unsigned char)(i * 7);
  OK(tw_memcpy_to_device(stream, a, in, kBytes));
  OK(tw_memcpy_between_devices(stream, other, b, device, a, kBytes));
  OK(tw_memset(stream, a, 0, kBytes));
  OK(tw_memcpy_between_devices(stream, device, a, other, b, kBytes));
  OK(tw_memcpy_between_devices(stream, device, same, device, a, kBytes));
  OK(tw_memcpy_to_host(stream, out, same, kBytes));
  OK(tw_stream_synchronize(stream));
  CHECK(memcmp(in, out, kBytes) == 0);
  OK(tw_memcpy_between_devices(stream, other, 0, device, 0, 0));
  NULL_FAILS("stream", tw_memcpy_between_devices(NULL, other, b, device, a, 4));
  NULL_FAILS("dst_device", tw_memcpy_between_devices(stream, NULL, b, device, a, 4));
  NULL_FAILS("src_device", tw_memcpy_between_devices(stream, other, b, NULL, a, 4));
  NULL_FAILS("dst", tw_memcpy_between_devices(stream, other, 0, device, a, 4));
  NULL_FAILS("src", tw_memcpy_between_devices(stream, other, b, device, 0, 4));
  FAILS(TW_ERROR_OVERFLOW, NULL,
        tw_memcpy_between_devices(stream, other, b, device, a, UINT64_MAX));
  FAILS(TW_ERROR_OVERLAP, "dst", tw_memcpy_between_devices(stream, device, a, device, a + 3, 4));
  FAILS(TW_ERROR_WRONG_DEVICE, "stream",
        tw_memcpy_between_devices(stream, other, b, third, b + 500, 4));
  if (harness.kind == TW_DEVICE_CUDA) {
    NEED(tw_device_create(TW_DEVICE_HOST, 0, &host));
    FAILS(TW_ERROR_WRONG_DEVICE, "src_device",
          tw_memcpy_between_devices(stream, device, a, host, b, 4));
    FAILS(TW_ERROR_WRONG_DEVICE, "dst_device",
          tw_memcpy_between_devices(stream, host, b, device, a, 4));
    CHECK(strstr(tw_last_error(), "tw_memcpy_to_host()") != NULL);
    tw_device_destroy(host);
  }
  tw_stream_destroy(stream);
  tw_device_destroy(other);
  tw_device_destroy(device);
  tw_device_destroy(third);
}

static void streams(void) {
  tw_device *device = open_device();
  tw_stream *stream = (tw_stream *)&stream;
  NULL_FAILS("stream", tw_stream_create(device, NULL));
  NULL_FAILS("device", tw_stream_create(NULL, &stream));
  CHECK(stream == NULL);
  stream = (tw_stream *)&stream;
  if (harness.kind == TW_DEVICE_CUDA) { /* the legacy default stream */
    struct CUstream_st *wrapped = (struct CUstream_st *)8;
    OK(tw_stream_create_from(device, NULL, &stream));
    OK(tw_stream_get_cuda(stream, &wrapped));
    CHECK(wrapped == NULL);
    FAILS(TW_ERROR_CAPTURE, "stream", tw_stream_begin_capture(stream));
    OK(tw_stream_synchronize(stream));
    tw_stream_destroy(stream);
    stream = NULL;
  }
  NULL_FAILS("stream", tw_stream_create_from(device, (struct CUstream_st *)8, NULL));
  NULL_FAILS("device", tw_stream_create_from(NULL, (struct CUstream_st *)8, &stream));
  if (harness.kind == TW_DEVICE_HOST) {
    stream = (tw_stream *)&stream;
    FAILS(TW_ERROR_WRONG_DEVICE, NULL,
          tw_stream_create_from(device, (struct CUstream_st *)8, &stream));
    CHECK(stream == NULL);
    for (uintptr_t special = 0; special < 3; ++special)
      FAILS(TW_ERROR_WRONG_DEVICE, NULL,
            tw_stream_create_from(device, (struct CUstream_st *)special, &stream));
  }
  NULL_FAILS("stream", tw_stream_synchronize(NULL));
  NULL_FAILS("stream", tw_stream_query(NULL));
  NEED(tw_stream_create(device, &stream));
  OK(tw_stream_synchronize(stream));
  OK(tw_stream_query(stream));
  tw_stream_destroy(stream);
  tw_stream_destroy(NULL);
  tw_device_destroy(device);
}

static void copies(void) {
  enum { kBytes = 100003 };
  static unsigned char in[kBytes], out[kBytes];
  tw_device *device = open_device();
  tw_stream *stream = NULL;
  uint64_t a = 0, b = 0;
  NEED(tw_stream_create(device, &stream));
  NEED(tw_malloc(device, kBytes, &a));
  NEED(tw_malloc(device, kBytes, &b));
  for (int i = 0; i < kBytes; ++i) in[i] = (unsigned char)(i * 7 + i / 251);
  OK(tw_memcpy_to_device(stream, a, in, kBytes));
  OK(tw_memset(stream, b, 0x5a, kBytes));
  OK(tw_memcpy_on_device(stream, b + 3, a + 1, kBytes - 10));
  OK(tw_memcpy_to_host(stream, out, b, kBytes));
  OK(tw_stream_synchronize(stream));
  CHECK(memcmp(out + 3, in + 1, kBytes - 10) == 0);
  CHECK(out[0] == 0x5a && out[2] == 0x5a && out[kBytes - 7] == 0x5a && out[kBytes - 1] == 0x5a);

  /* Adjacent ranges do not overlap. */
  OK(tw_memcpy_on_device(stream, a, a + 500, 500));
  OK(tw_memcpy_on_device(stream, a + 500, a, 500));
  FAILS(TW_ERROR_OVERLAP, NULL, tw_memcpy_on_device(stream, a, a + 499, 500));
  FAILS(TW_ERROR_OVERLAP, NULL, tw_memcpy_on_device(stream, a + 499, a, 500));
  FAILS(TW_ERROR_OVERLAP, NULL, tw_memcpy_on_device(stream, a, a, 1));
  /* Host memory may be device memory, too. */
  FAILS(TW_ERROR_OVERLAP, "dst", tw_memcpy_to_device(stream, a, (void *)(uintptr_t)(a + 499), 500));
  FAILS(TW_ERROR_OVERLAP, "dst", tw_memcpy_to_device(stream, a + 499, (void *)(uintptr_t)a, 500));
  FAILS(TW_ERROR_OVERLAP, "dst", tw_memcpy_to_host(stream, (void *)(uintptr_t)(a + 499), a, 500));
  FAILS(TW_ERROR_OVERLAP, "dst", tw_memcpy_to_host(stream, (void *)(uintptr_t)a, a + 499, 500));
  CHECK(strstr(tw_last_error(), "only 499 bytes apart: ranges of 500 bytes overlap") != NULL);
  if (harness.kind == TW_DEVICE_HOST) {
    OK(tw_memcpy_to_device(stream, a, (void *)(uintptr_t)(a + 500), 500));
    OK(tw_memcpy_to_host(stream, (void *)(uintptr_t)(a + 500), a, 500));
  }

  /* An empty copy needs no address. */
  OK(tw_memcpy_to_device(stream, 0, NULL, 0));
  OK(tw_memcpy_to_host(stream, NULL, 0, 0));
  OK(tw_memcpy_on_device(stream, 0, 0, 0));
  OK(tw_memset(stream, 0, 0, 0));

  NULL_FAILS("stream", tw_memcpy_to_device(NULL, a, in, 4));
  NULL_FAILS("stream", tw_memcpy_to_host(NULL, out, a, 4));
  NULL_FAILS("stream", tw_memcpy_on_device(NULL, a, b, 4));
  NULL_FAILS("stream", tw_memset(NULL, a, 0, 4));
  NULL_FAILS("dst", tw_memcpy_to_device(stream, 0, in, 4));
  NULL_FAILS("src", tw_memcpy_to_device(stream, a, NULL, 4));
  NULL_FAILS("dst", tw_memcpy_to_host(stream, NULL, a, 4));
  NULL_FAILS("src", tw_memcpy_to_host(stream, out, 0, 4));
  NULL_FAILS("dst", tw_memcpy_on_device(stream, 0, a, 4));
  NULL_FAILS("src", tw_memcpy_on_device(stream, a, 0, 4));
  NULL_FAILS("dst", tw_memset(stream, 0, 0, 4));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "value", tw_memset(stream, a, -1, 4));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "value", tw_memset(stream, a, 256, 4));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "value", tw_memset(stream, a, INT32_MIN, 4));

  /* Lengths beyond the end of the address space are refused before any access. */
  FAILS(TW_ERROR_OVERFLOW, NULL, tw_memcpy_to_device(stream, a, in, UINT64_MAX));
  FAILS(TW_ERROR_OVERFLOW, NULL, tw_memcpy_to_host(stream, out, a, UINT64_MAX));
  FAILS(TW_ERROR_OVERFLOW, NULL, tw_memcpy_on_device(stream, a, b, UINT64_MAX));
  FAILS(TW_ERROR_OVERFLOW, NULL, tw_memset(stream, a, 0, UINT64_MAX));
  OK(tw_stream_synchronize(stream));

  OK(tw_free(device, a));
  OK(tw_free(device, b));
  tw_stream_destroy(stream);
  tw_device_destroy(device);
}

static void events(void) {
  tw_device *device = open_device();
  tw_stream *stream = NULL, *second = NULL;
  tw_event *start = (tw_event *)&start, *end = NULL, *never = NULL;
  uint64_t address = 0;
  float milliseconds = 77;
  NULL_FAILS("event", tw_event_create(device, NULL));
  NULL_FAILS("device", tw_event_create(NULL, &start));
  CHECK(start == NULL);
  NEED(tw_event_create(device, &start));
  NEED(tw_event_create(device, &end));
  NEED(tw_event_create(device, &never));
  NEED(tw_stream_create(device, &stream));
  NEED(tw_stream_create(device, &second));
  NEED(tw_malloc(device, 1 << 20, &address));

  /* An event that was never recorded is complete, blocks nobody and cannot be timed. */
  OK(tw_event_query(never));
  OK(tw_event_synchronize(never));
  OK(tw_stream_wait_event(stream, never));

  OK(tw_event_record(start, stream));
  OK(tw_memset(stream, address, 1, 1 << 20));
  OK(tw_event_record(end, stream));
  OK(tw_stream_wait_event(second, end));
  OK(tw_stream_synchronize(second));
  OK(tw_event_query(end));
  OK(tw_event_synchronize(start));
  OK(tw_event_elapsed(start, end, &milliseconds));
  CHECK(milliseconds >= 0 && milliseconds < 60000);
  milliseconds = 77;
  FAILS(TW_ERROR_INVALID_ARGUMENT, NULL, tw_event_elapsed(start, never, &milliseconds));
  CHECK(milliseconds == 0);
  milliseconds = 77;
  FAILS(TW_ERROR_INVALID_ARGUMENT, NULL, tw_event_elapsed(never, end, &milliseconds));
  CHECK(milliseconds == 0);

  /* After a second record, the last one counts. */
  OK(tw_event_record(start, stream));
  OK(tw_event_synchronize(start));

  NULL_FAILS("milliseconds", tw_event_elapsed(start, end, NULL));
  NULL_FAILS("start", tw_event_elapsed(NULL, end, &milliseconds));
  NULL_FAILS("end", tw_event_elapsed(start, NULL, &milliseconds));
  NULL_FAILS("event", tw_event_record(NULL, stream));
  NULL_FAILS("stream", tw_event_record(start, NULL));
  NULL_FAILS("event", tw_event_synchronize(NULL));
  NULL_FAILS("event", tw_event_query(NULL));
  NULL_FAILS("stream", tw_stream_wait_event(NULL, start));
  NULL_FAILS("event", tw_stream_wait_event(stream, NULL));
  OK(tw_free(device, address));
  tw_event_destroy(start);
  tw_event_destroy(end);
  tw_event_destroy(never);
  tw_event_destroy(NULL);
  tw_stream_destroy(stream);
  tw_stream_destroy(second);
  tw_device_destroy(device);
}

static void handles_of_two_devices(void) {
  tw_device *device = open_device();
  tw_device *other = open_device();
  tw_stream *stream = NULL;
  tw_event *event = NULL, *foreign = NULL;
  float milliseconds = 77;
  NEED(tw_stream_create(device, &stream));
  NEED(tw_event_create(device, &event));
  NEED(tw_event_create(other, &foreign));
  FAILS(TW_ERROR_WRONG_DEVICE, NULL, tw_event_record(foreign, stream));
  FAILS(TW_ERROR_WRONG_DEVICE, NULL, tw_stream_wait_event(stream, foreign));
  OK(tw_event_record(event, stream));
  FAILS(TW_ERROR_WRONG_DEVICE, NULL, tw_event_elapsed(event, foreign, &milliseconds));
  CHECK(milliseconds == 0);
  tw_event_destroy(event);
  tw_event_destroy(foreign);
  tw_stream_destroy(stream);
  tw_device_destroy(other);
  tw_device_destroy(device);
}

/* After the device was destroyed each call reports it; its handles can still be destroyed. */
static void after_the_device(void) {
  tw_device *device = open_device();
  tw_stream *stream = NULL;
  tw_event *event = NULL, *second = NULL;
  uint64_t address = 0;
  unsigned char byte = 0;
  float milliseconds = 77;
  NEED(tw_stream_create(device, &stream));
  NEED(tw_event_create(device, &event));
  NEED(tw_event_create(device, &second));
  NEED(tw_malloc(device, 256, &address));
  OK(tw_event_record(event, stream));
  OK(tw_event_record(second, stream));
  tw_device_destroy(device);
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_stream_synchronize(stream));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_stream_query(stream));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_stream_wait_event(stream, event));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_memcpy_to_device(stream, address, &byte, 1));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_memcpy_to_host(stream, &byte, address, 1));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_memcpy_on_device(stream, address, address + 8, 1));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_memset(stream, address, 0, 1));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_event_record(event, stream));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_event_synchronize(event));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_event_query(event));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_event_elapsed(event, second, &milliseconds));
  CHECK(milliseconds == 0);
  tw_event_destroy(event);
  tw_stream_destroy(stream);
  tw_event_destroy(second);
}

/* Destroying a handle with work in flight does not cancel the work. */
static void destroyed_in_flight(void) {
  static unsigned char out[1 << 20];
  tw_device *device = open_device();
  tw_stream *stream = NULL;
  tw_event *event = NULL;
  uint64_t address = 0;
  NEED(tw_malloc(device, sizeof out, &address));
  NEED(tw_stream_create(device, &stream));
  NEED(tw_event_create(device, &event));
  for (int i = 0; i < 20; ++i) OK(tw_memset(stream, address, i, sizeof out));
  OK(tw_memcpy_to_host(stream, out, address, sizeof out));
  OK(tw_event_record(event, stream));
  tw_stream_destroy(stream);
  OK(tw_event_synchronize(event));
  CHECK(out[0] == 19 && out[sizeof out - 1] == 19);
  tw_event_destroy(event);
  tw_device_destroy(device);
}

/* A forked child gets an error, and can destroy what it inherited without hanging. */
static void forked(void) {
  tw_device *device = open_device();
  tw_stream *stream = NULL;
  tw_event *event = NULL;
  int status = 0;
  NEED(tw_stream_create(device, &stream));
  NEED(tw_event_create(device, &event));
  OK(tw_event_record(event, stream));
  OK(tw_stream_synchronize(stream));
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    uint64_t address = 77;
    tw_stream *none = (tw_stream *)&none;
    alarm(30);
    harness.failures = 0;
    FAILS(TW_ERROR_FORKED, NULL, tw_malloc(device, 16, &address));
    EQUAL(address, 0);
    FAILS(TW_ERROR_FORKED, NULL, tw_stream_create(device, &none));
    CHECK(none == NULL);
    FAILS(TW_ERROR_FORKED, NULL, tw_stream_synchronize(stream));
    FAILS(TW_ERROR_FORKED, NULL, tw_event_query(event));
    tw_event_destroy(event);
    tw_stream_destroy(stream);
    tw_device_destroy(device);
    fflush(stdout);
    _exit(harness.failures ? 1 : 0);
  }
  CHECK(child > 0);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  OK(tw_stream_synchronize(stream));
  tw_event_destroy(event);
  tw_stream_destroy(stream);
  tw_device_destroy(device);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(memory);
  RUN(memory_of_another_device);
  RUN(host_memory);
  RUN(cuda_handles);
  RUN(between_devices);
  RUN(streams);
  RUN(copies);
  RUN(events);
  RUN(handles_of_two_devices);
  RUN(after_the_device);
  RUN(destroyed_in_flight);
  RUN(forked);
  return harness_end();
}
