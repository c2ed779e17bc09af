// SPDX-License-Identifier: Apache-2.0
// Calls every function of the C API on a CUDA device with a fake driver, while its first, second,
// ... driver call fails with one of several results, or its first, second, ... host allocation
// fails. The call must fail with a message or do without. The previous context must be current
// again, every handle destroyable, and nothing may be left in the driver.
#include "tests/capi/common/contract_calls.h"
#include "tests/capi/common/failing_allocator.hpp"
#include "tests/runtime/fake_driver.hpp"

using tw::test::fake;

namespace {

constexpr CUresult kResults[] = {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY,
                                 CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_DEINITIALIZED,
                                 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};

int g_failures = 0;

/// Samples on the fake GPU, with the caller's own context current.
void open_on_fake(samples *s) {
  open_samples(s);
  OK(tw_module_load(s->device, s->image, s->image_size, &s->module));
  OK(tw_kernel_get(s->module, "own", &s->kernel));
  s->cuda_context = tw::test::fake_other_context();
  s->cuda_stream = tw::test::fake_callers_stream();
  s->cuda_event = tw::test::fake_callers_event();
  refresh(s);
  fake().stack = {tw::test::fake_other_context()};
}

/// The k-th driver call of the function fails. Returns false if there was no k-th call.
bool fails_at(const contract_call &function, int k, CUresult result) {
  const tw::test::FakeDriver driver;
  samples s;
  void *made[CONTRACT_OUTPUTS] = {};
  open_on_fake(&s);
  fake().calls = 0;
  fake().log.clear();
  fake().fail_at = k;
  fake().fail_with = result;
  poison_();
  const tw_status status = function.call(&s, made);
  const bool failed = fake().calls >= k;
  const std::string at = failed ? fake().log[static_cast<size_t>(k) - 1] : "nothing";
  fake().fail_at = 0;
  if (failed) ++g_failures;
  if (!CHECK(strcmp(tw_status_name(status), "TW_ERROR_?") != 0 && status != TW_ERROR_INTERNAL))
    printf("    %s\n", tw_last_error());
  if (failed && status != TW_OK) {
    CHECK(tw_last_error()[0] != '\0' && !poisoned_());
    for (void *handle : made) CHECK(handle == nullptr);
    // Releasing objects afterwards must not have replaced the failure.
    tw_error_info info;
    tw_error_info_init(&info, sizeof info);
    OK(tw_last_error_info(&info));
    EQUAL(info.status, status);
  }
  CHECK(fake().stack == std::vector<CUcontext>{tw::test::fake_other_context()});
  CHECK(fake().mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
  CHECK(fake().strict_calls.empty());
  function.undo(&s, made);
  destroy_samples(&s);
  fake().stack.clear();
  // If an object's context cannot be entered, its contents remain.
  if (at == "CtxPushCurrent") fake().forget_objects();
  if (!CHECK(fake().clean())) {
    printf("    call %d, %s, failed with %d: %s\n", k, at.c_str(), static_cast<int>(result),
           status == TW_OK ? "TW_OK" : tw_last_error());
    for (const std::string &what : fake().misuse) printf("    %s\n", what.c_str());
  }
  return failed;
}

/// The k-th host allocation of the function fails. Returns false if there was no k-th allocation.
bool lacks_memory(const contract_call &function, int k, tw_status wanted) {
  const tw::test::FakeDriver driver;
  samples s;
  void *made[CONTRACT_OUTPUTS] = {};
  open_on_fake(&s);
  poison_();
  g_failed = false;
  g_fail_at = k;
  const tw_status status = function.call(&s, made);
  g_fail_at = 0;
  const bool failed = g_failed;
  if (status == TW_ERROR_OUT_OF_MEMORY) {
    CHECK(tw_last_error()[0] != '\0' && !poisoned_());
    for (void *handle : made) CHECK(handle == nullptr);
  } else {
    EQUAL(status, wanted);  // an allocation that the call can do without
  }
  CHECK(fake().stack == std::vector<CUcontext>{tw::test::fake_other_context()});
  function.undo(&s, made);
  destroy_samples(&s);
  fake().stack.clear();
  if (!CHECK(fake().clean())) {
    printf("    allocation %d failed: %s\n", k, status == TW_OK ? "TW_OK" : tw_last_error());
    for (const std::string &what : fake().misuse) printf("    %s\n", what.c_str());
  }
  return failed;
}

/// A device's first plan loads the image of its kernels. A host allocation of this fails; the
/// device unloads what was loaded. Returns false if there was no k-th allocation.
bool loads_without_memory(int k) {
  const tw::test::FakeDriver driver;
  tw_device *device = nullptr;
  tw_plan *plan = nullptr;
  tw_rows_desc desc;
  OK(tw_device_create(TW_DEVICE_CUDA, 0, &device));
  OK(tw_rows_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_F32;
  desc.table_rows = desc.columns = desc.count = 64;
  g_failed = false;
  g_fail_at = k;
  const tw_status status = tw_gather_plan(device, &desc, &plan);
  g_fail_at = 0;
  if (!CHECK(status == TW_OK || status == TW_ERROR_OUT_OF_MEMORY)) printf("%s\n", tw_last_error());
  CHECK(status != TW_OK || !fake().libraries.empty());
  tw_plan_destroy(plan);
  tw_device_destroy(device);
  if (!CHECK(fake().clean())) printf("    allocation %d of a first plan failed\n", k);
  return g_failed;
}

/// The function's status if nothing fails.
tw_status answer(const contract_call &function) {
  const tw::test::FakeDriver driver;
  samples s;
  void *made[CONTRACT_OUTPUTS] = {};
  open_on_fake(&s);
  const tw_status status = function.call(&s, made);
  function.undo(&s, made);
  destroy_samples(&s);
  fake().stack.clear();
  return status;
}

void count_losses(void *user, tw_log_level level, const char *message) {
  if (level == TW_LOG_ERROR && strstr(message, "lost: cuStreamSynchronize failed"))
    ++*static_cast<int *>(user);
}

/// The same call on a lost device: it must fail at once without a driver call.
void lost(const contract_call &function) {
  const tw::test::FakeDriver driver;
  samples s;
  void *made[CONTRACT_OUTPUTS] = {};
  open_on_fake(&s);
  fake().stream_result = CUDA_ERROR_ILLEGAL_ADDRESS;
  int told = 0;
  OK(tw_log_set(count_losses, &told, TW_LOG_ERROR));
  EQUAL(tw_stream_synchronize(s.stream), TW_ERROR_DEVICE_LOST);
  fake().stream_result = CUDA_SUCCESS;
  EQUAL(tw_stream_synchronize(s.stream), TW_ERROR_DEVICE_LOST);
  EQUAL(told, 1);
  OK(tw_log_set(nullptr, nullptr, TW_LOG_ERROR));
  fake().calls = 0;
  const tw_status status = function.call(&s, made);
  EQUAL(status, TW_ERROR_DEVICE_LOST);
  EQUAL(fake().calls, 0);
  function.undo(&s, made);
  destroy_samples(&s);
  fake().stack.clear();
  CHECK(fake().clean());
}

/// The same call on a destroyed device.
void closed(const contract_call &function) {
  const tw::test::FakeDriver driver;
  samples s;
  void *made[CONTRACT_OUTPUTS] = {};
  open_on_fake(&s);
  tw_device_destroy(s.device);
  s.device = nullptr;
  fake().calls = 0;
  EQUAL(function.call(&s, made), TW_ERROR_DEVICE_CLOSED);
  EQUAL(fake().calls, 0);
  function.undo(&s, made);
  destroy_samples(&s);
  fake().stack.clear();
  CHECK(fake().clean());
}

/// Failures that the library handles internally are not the caller's: each of these calls must keep
/// the thread's last failure, which the harness checks.
void silence() {
  const tw::test::FakeDriver driver;
  tw_device *device = nullptr;
  tw_stream *stream = nullptr;
  tw_event *event = nullptr;
  OK(tw_device_create(TW_DEVICE_CUDA, 0, &device));
  OK(tw_stream_create(device, &stream));
  OK(tw_event_create(device, &event));
  poison_();
  fake().fail_with = CUDA_ERROR_INVALID_CONTEXT;
  fake().on_call = [](const std::string &name) {
    if (name == "CtxPushCurrent") fake().fail_at = fake().calls + 1;
  };
  tw_stream_destroy(stream);
  tw_event_destroy(event);
  tw_device_destroy(device);
  fake().on_call = nullptr;
  fake().devices = 0;
  int32_t count = -1;
  OK(tw_device_count(TW_DEVICE_CUDA, &count));
  EQUAL(count, 0);
  CHECK(poisoned_());
}

/// From here on destroying a handle leaves the number of allocations unchanged.
void fill_destroyed() {
  const tw::test::FakeDriver driver;
  samples s;
  open_on_fake(&s);
  fill_destroyed_handles(&s);
  destroy_samples(&s);
  fake().stack.clear();
  CHECK(fake().clean());
}

/// Attempts twice: the second attempt must leave the number of allocations unchanged.
template <class Attempt>
bool twice(Attempt attempt) {
  if (!attempt()) return false;
  const int64_t before = g_live;
  (void)attempt();
  EQUAL(g_live, before);
  return true;
}

}  // namespace

int main(int argc, char **argv) {
  harness_start(argc, argv);
  harness.kind = TW_DEVICE_CUDA;
  int functions = 0, allocations = 0;
  g_exempt = tw::test::inside_fake_driver;
  RUN(silence);
  RUN(fill_destroyed);
  harness.test = "loads_without_memory";
  int loading = 1;
  while (loading < 1000 && loads_without_memory(loading)) ++loading;
  CHECK(loading > 5 && loading < 1000);
  const bool stops = std::getenv("TW_STOP_AT_FAILURE") != nullptr;  // for mutants.py
  for (int i = 0; i < contract_call_count; ++i) {
    if (stops && harness.failures != 0) break;
    const contract_call &function = contract_calls[i];
    harness.test = function.name;
    if (function.of_device) lost(function);
    if (function.of_device && !function.device) closed(function);
    // Skip functions without driver calls.
    if (!fails_at(function, 1, kResults[0])) continue;
    ++functions;
    for (const CUresult result : kResults)
      for (int k = 1; k < 1000 && twice([&] { return fails_at(function, k, result); }); ++k) {
      }
    const tw_status wanted = answer(function);
    for (int k = 1; k < 1000 && twice([&] { return lacks_memory(function, k, wanted); }); ++k)
      ++allocations;
  }
  printf("%d functions, %d driver calls and %d allocations failed\n", functions, g_failures,
         allocations);
  EQUAL(contract_call_failures(), 0);
  CHECK(functions > 30 && g_failures > 1000 && allocations > 100);
  return harness_end();
}
