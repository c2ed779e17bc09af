/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a device knows: registration, and which memory copies and fills may access. */
#include "tests/capi/common/plan_harness.h"

/* The caller's own memory, not allocated by a device. */
static uint64_t own(void) {
  static uint64_t words[64];
  return (uint64_t)(uintptr_t)words;
}

static void says(const char *words) {
  if (!CHECK(strstr(tw_last_error(), words) != NULL))
    printf("    \"%s\" is not in: %s\n", words, tw_last_error());
}

static void copies_and_fills(void) {
  setup s = open_setup();
  unsigned char host[64] = {0};
  const uint64_t block = allocated(&s, 64);
  OK(tw_memset(s.stream, block, 1, 64));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "dst", tw_memset(s.stream, block, 1, 65));
  says("dst needs 65 bytes");
  FAILS(TW_ERROR_INVALID_ARGUMENT, "dst", tw_memset(s.stream, own(), 1, 1));
  says("tw_memory_register");
  OK(tw_memcpy_to_device(s.stream, block + 63, host, 1));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "dst", tw_memcpy_to_device(s.stream, block + 63, host, 2));
  OK(tw_memcpy_to_host(s.stream, host, block, 64));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "src", tw_memcpy_to_host(s.stream, host, block + 1, 64));
  OK(tw_memcpy_on_device(s.stream, block, block + 32, 32));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "src", tw_memcpy_on_device(s.stream, block, block + 40, 32));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "dst", tw_memcpy_on_device(s.stream, block + 40, block, 32));
  /* Each operand must be known to its own device, whichever allocator it came from. */
  setup other = open_setup();
  void *pinned = NULL;
  OK(tw_malloc_host(other.device, 32, &pinned));
  const uint64_t theirs = (uint64_t)(uintptr_t)pinned;
  OK(tw_memcpy_between_devices(s.stream, other.device, theirs, s.device, block, 32));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "dst",
        tw_memcpy_between_devices(s.stream, other.device, theirs, s.device, block, 33));
  says("but the block from tw_malloc_host ends after");
  FAILS(TW_ERROR_INVALID_ARGUMENT, "src",
        tw_memcpy_between_devices(s.stream, other.device, theirs, s.device, block + 40, 32));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "src",
        tw_memcpy_between_devices(s.stream, s.device, block, s.device, theirs, 32));
  OK(tw_stream_synchronize(s.stream));
  OK(tw_free_host(other.device, pinned));
  close_setup(&other);
  close_setup(&s);
}

static void registration(void) {
  setup s = open_setup();
  setup other = open_setup();
  const uint64_t at = own();
  const int host = harness.kind == TW_DEVICE_HOST;
  NULL_FAILS("device", tw_memory_register(NULL, at, 8));
  NULL_FAILS("device", tw_memory_unregister(NULL, at));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "address", tw_memory_register(s.device, 0, 1));
  FAILS(TW_ERROR_OVERFLOW, "bytes", tw_memory_register(s.device, at, UINT64_MAX));
  FAILS(TW_ERROR_OVERFLOW, "bytes", tw_memory_register(s.device, UINT64_MAX, 1));
  OK(tw_memory_register(s.device, UINT64_MAX - 1, 1));
  OK(tw_memory_unregister(s.device, UINT64_MAX - 1));
  OK(tw_memory_register(s.device, 0, 0));
  OK(tw_memory_unregister(s.device, 0));
  OK(tw_memory_register(s.device, at, 0));
  OK(tw_memory_unregister(s.device, at));
  if (host) {
    FAILS(TW_ERROR_NOT_FOUND, "address", tw_memory_unregister(s.device, at));
    OK(tw_memory_register(s.device, at, 8));
    OK(tw_memory_register(s.device, at, 16));
    OK(tw_memory_register(s.device, at + 8, 16));
    OK(tw_memset(s.stream, at, 1, 16));
    OK(tw_memset(s.stream, at + 8, 1, 16));
    FAILS(TW_ERROR_INVALID_ARGUMENT, "dst", tw_memset(s.stream, at, 1, 17));
    FAILS(TW_ERROR_INVALID_ARGUMENT, "dst", tw_memset(other.stream, at, 1, 1));
    FAILS(TW_ERROR_NOT_FOUND, "address", tw_memory_unregister(other.device, at));
    OK(tw_memory_unregister(s.device, at));
    OK(tw_memset(s.stream, at, 1, 16));
    OK(tw_memory_unregister(s.device, at));
    FAILS(TW_ERROR_INVALID_ARGUMENT, "dst", tw_memset(s.stream, at, 1, 1));
    says("was there until tw_memory_unregister removed it");
    FAILS(TW_ERROR_NOT_FOUND, "address", tw_memory_unregister(s.device, at));
    OK(tw_memset(s.stream, at + 8, 1, 16));
    OK(tw_memory_unregister(s.device, at + 8));
  } else {
    OK(tw_memory_unregister(s.device, at)); /* nobody registered it */
  }
  close_setup(&other);
  close_setup(&s);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(registration);
  if (harness.kind == TW_DEVICE_HOST) RUN(copies_and_fills);
  return harness_end();
}
