/* SPDX-License-Identifier: Apache-2.0 */
/* How programs end: with live handles, with work in flight, with handles that an atexit() handler
 * destroys, and after their own kernel destroyed the context. Each case runs in a child, forked
 * before any device is open. */
#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>
#include <unistd.h>

#include "tests/capi/common/harness.h"

/* Static, so that leak checkers accept what is alive at exit. */
static tw_device *device;
static tw_stream *stream;
static tw_plan *plan;
static tw_tensor_map *map;
static uint64_t memory;
enum { BYTES = 1 << 22 };

static void open_all(void) {
  tw_copy_desc desc;
  tw_tensor_map_desc map_desc;
  device = open_device();
  NEED(tw_stream_create(device, &stream));
  NEED(tw_malloc(device, 2 * BYTES, &memory));
  NEED(tw_copy_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_U8;
  desc.rank = 1;
  desc.shape[0] = BYTES;
  desc.src_stride[0] = desc.dst_stride[0] = 1;
  NEED(tw_copy_plan(device, &desc, &plan));
  NEED(tw_tensor_map_desc_init(&map_desc, sizeof map_desc));
  map_desc.global_address = memory;
  map_desc.global_dim[0] = map_desc.global_dim[1] = 64;
  map_desc.global_stride_bytes[0] = 128;
  map_desc.box_dim[0] = map_desc.box_dim[1] = 8;
  NEED(tw_tensor_map_create(device, &map_desc, &map));
}

static void run_often(void) {
  tw_copy_args args;
  NEED(tw_copy_args_init(&args, sizeof args));
  args.src = memory;
  args.dst = memory + BYTES;
  for (int i = 0; i < 20; ++i) OK(tw_copy_run(plan, stream, &args));
}

static void destroy_all(void) {
  tw_tensor_map_destroy(map);
  tw_plan_destroy(plan);
  tw_stream_destroy(stream);
  tw_device_destroy(device);
}

static void live_handles(void) {
  open_all();
}

static void work_in_flight(void) {
  open_all();
  run_often();
}

static void destroyed_by_a_handler(void) {
  atexit(destroy_all);
  open_all();
  run_often();
}

static void destroyed_with_work_in_flight(void) {
  open_all();
  run_often();
  tw_plan_destroy(plan);
  tw_stream_destroy(stream);
  tw_tensor_map_destroy(map);
  tw_device_destroy(device);
}

/* The caller's own kernel, which stops the GPU with a trap. */
static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry caller_traps()\n{\n  trap;\n  ret;\n}\n";

static void a_kernel_that_traps(void) {
  tw_module *module = NULL;
  tw_kernel *kernel = NULL;
  tw_launch_desc launch;
  tw_error_info info;
  uint64_t address = 7;
  if (harness.kind != TW_DEVICE_CUDA) return;
  open_all();
  NEED(tw_module_load(device, ptx, sizeof ptx, &module));
  NEED(tw_kernel_get(module, "caller_traps", &kernel));
  NEED(tw_launch_desc_init(&launch, sizeof launch));
  OK(tw_launch(stream, kernel, &launch, 0, NULL, NULL));
  FAILS(TW_ERROR_DEVICE_LOST, NULL, tw_stream_synchronize(stream));
  CHECK(strstr(tw_last_error(), "caller_traps") != NULL);
  tw_error_info_init(&info, sizeof info);
  OK(tw_last_error_info(&info));
  CHECK(info.driver_result != 0);
  /* From here on every call reports it at once. */
  FAILS(TW_ERROR_DEVICE_LOST, NULL, tw_malloc(device, 64, &address));
  EQUAL(address, 0);
  FAILS(TW_ERROR_DEVICE_LOST, NULL, tw_stream_synchronize(stream));
  FAILS(TW_ERROR_DEVICE_LOST, NULL, tw_memset(stream, memory, 0, 16));
  tw_kernel_destroy(kernel);
  tw_module_destroy(module);
  destroy_all();
}

/* Runs a case in a child process, which leaves by exit(). */
static void in_a_process(const char *name, void (*body)(void)) {
  int status = -1;
  pid_t child;
  harness.test = name;
  fflush(stdout);
  child = fork();
  if (child == 0) {
    alarm(60);
    harness.failures = 0;
    body();
    exit(harness.failures ? 1 : 0);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0))
    printf("    %s %d\n", WIFSIGNALED(status) ? "signal" : "exit code",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void nothing_fails(void) {
  CHECK(1);
}
static void something_fails(void) {
  printf("    (a failure that is meant: the next line)\n");
  CHECK(0);
}

/* A child's failure must be detected. */
static void the_test_can_fail(void) {
  const unsigned before = harness.failures;
  in_a_process("something_fails", something_fails);
  harness.failures = harness.failures == before + 1 ? before : before + 1;
}

static int probe(void) {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) {
    tw_device_destroy(open_device());
    exit(0);
  }
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                               : 1;
}

int main(int argc, char **argv) {
  int found;
  harness_start(1, argv);
  if (argc == 2 && strcmp(argv[1], "cuda") == 0) harness.kind = TW_DEVICE_CUDA;
  fflush(stdout);
  found = probe();
  if (found) return found;
  the_test_can_fail();
  in_a_process("nothing_fails", nothing_fails);
  in_a_process("live_handles", live_handles);
  in_a_process("work_in_flight", work_in_flight);
  in_a_process("destroyed_by_a_handler", destroyed_by_a_handler);
  in_a_process("destroyed_with_work_in_flight", destroyed_with_work_in_flight);
  in_a_process("a_kernel_that_traps", a_kernel_that_traps);
  return harness_end();
}
