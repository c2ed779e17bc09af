// SPDX-License-Identifier: Apache-2.0
// The CUDA device's own logic on a fake driver: contexts, limits, lost devices, and cleanup after a
// failure of each single driver call.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "base/log.hpp"
#include "doctest_main.hpp"
#include "fake_driver.hpp"
#include "runtime/device.hpp"
#include "runtime/open/open_device.hpp"
#include "test_images.hpp"

namespace tw::test {
namespace {

bool message_has(const char* part) {
  return std::string(last_failure().message).find(part) != std::string::npos;
}

std::shared_ptr<Device> open_fake() {
  std::shared_ptr<Device> device;
  REQUIRE(open_device(DeviceKind::cuda, 0, &device).ok());
  return device;
}

TEST_CASE("what the device says of itself") {
  const FakeDriver driver;
  const auto device = open_fake();
  CHECK(device->info().name == "fake GPU");
  CHECK(device->info().compute_major == 9);
  CHECK(device->info().sm_count == 66);  // the context's SMs, not the chip's 132
  CHECK(device->info().max_dynamic_smem_bytes == 232448);
  CHECK((device->info().features & feature::wgmma) != 0);
  CHECK((device->info().features & feature::host) == 0);
  device->close();
  CHECK(fake().clean());
}

TEST_CASE("where the driver is told to compile PTX, no kernel that has none is offered") {
  const FakeDriver driver;
  setenv("CUDA_FORCE_PTX_JIT", "1", 1);
  const auto forced = open_fake();
  setenv("CUDA_FORCE_PTX_JIT", "0", 1);
  const auto free = open_fake();
  unsetenv("CUDA_FORCE_PTX_JIT");
  CHECK(forced->info().kernel_features == (feature::tma | feature::mma));
  CHECK((free->info().kernel_features & feature::wgmma) != 0);
  // The chip is unchanged: the caller's own PTX may use all its features.
  CHECK(forced->info().features == free->info().features);
  forced->close();
  free->close();
}

TEST_CASE("devices that cannot be opened") {
  const FakeDriver driver;
  std::shared_ptr<Device> device;
  for (const int32_t ordinal : {-1, 1, 1 << 30})
    CHECK(open_device(DeviceKind::cuda, ordinal, &device).code() == Code::ERROR_NO_DEVICE);
  fake().compute_major = 8;
  CHECK(open_device(DeviceKind::cuda, 0, &device).code() == Code::ERROR_UNSUPPORTED_DEVICE);
  CHECK(message_has("compute capability 8.0"));
  CHECK(open_cuda_context(reinterpret_cast<CUcontext>(0xbad0), &device).code() ==
        Code::ERROR_INVALID_ARGUMENT);
  int32_t count = -1;
  CHECK(count_devices(DeviceKind::cuda, &count).ok());
  CHECK(count == 1);
  fake().devices = 0;
  CHECK(count_devices(DeviceKind::cuda, &count).ok());
  CHECK(count == 0);
  CHECK(open_device(DeviceKind::cuda, 0, &device).code() == Code::ERROR_NO_DEVICE);
  CHECK(device == nullptr);
  CHECK(fake().clean());
}

/// Creates and uses one object of each kind. Returns at the first failure, as a program would.
Status use_everything(bool own_context) {
  std::shared_ptr<Device> device;
  if (own_context)
    TW_TRY(open_cuda_context(fake_other_context(), &device));
  else
    TW_TRY(open_device(DeviceKind::cuda, 0, &device));
  struct Closer {
    Device& device;
    ~Closer() { device.close(); }
  } closer{*device};
  uint64_t address = 0;
  uint64_t kept = 0;
  TW_TRY(device->allocate(1024, &address));
  TW_TRY(device->allocate(1024, &kept));
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Stream> second;
  std::unique_ptr<Event> start;
  std::unique_ptr<Event> end;
  TW_TRY(device->create_stream(&stream));
  TW_TRY(device->create_stream(&second));
  TW_TRY(device->create_event(&start));
  TW_TRY(device->create_event(&end));
  TW_TRY(stream->record(*start));
  char host[16] = {};
  TW_TRY(stream->copy_to_device(address, host, 16));
  TW_TRY(stream->copy_on_device(address + 512, address, 16));
  TW_TRY(stream->fill(address, 0, 16));
  TW_TRY(stream->copy_to_host(host, address, 16));
  TW_TRY(stream->copy_between(*device, address, *device, address + 64, 16));
  void* pinned = nullptr;
  TW_TRY(device->allocate_host(64, &pinned));
  TW_TRY(device->allocate_host(64, &pinned));
  TW_TRY(device->release_host(pinned));
  std::unique_ptr<Graph> graph, again;
  for (std::unique_ptr<Graph>* out : {&graph, &again}) {
    TW_TRY(second->begin_capture());
    TW_TRY(second->fill(address, 0, 16));
    TW_TRY(second->end_capture(out));
  }
  TW_TRY(graph->instantiate());
  TW_TRY(graph->update(*again));
  TW_TRY(graph->launch(*stream));
  again.reset();
  std::unique_ptr<Module> module;
  const Image image = make_fatbin();
  TW_TRY(device->load_module(image.data(), image.size(), &module));
  std::unique_ptr<Kernel> kernel;
  TW_TRY(module->kernel("own", &kernel));
  module.reset();
  KernelInfo info;
  TW_TRY(kernel->info(&info));
  int32_t blocks = 0;
  int32_t clusters = 0;
  TW_TRY(kernel->occupancy({.grid = {4, 1, 1}, .cluster = {2, 1, 1}}, &blocks, &clusters));
  void* params[] = {&address, host, nullptr};
  TW_TRY(stream->launch_params(*kernel, {.grid = {4, 1, 1}}, params));
  TW_TRY(stream->record(*end));
  TW_TRY(second->wait(*end));
  TW_TRY(second->query());
  TW_TRY(end->synchronize());
  float milliseconds = 0;
  TW_TRY(end->elapsed_since(*start, &milliseconds));
  TW_TRY(stream->synchronize());
  TensorMapDesc desc;
  desc.global_address = 0x1000;
  desc.global_dim[0] = desc.global_dim[1] = 64;
  desc.global_stride_bytes[0] = 128;
  desc.box_dim[0] = desc.box_dim[1] = 64;
  TensorMapBytes bytes;
  TW_TRY(device->encode(desc, &bytes));
  return device->release(address);
}

TEST_CASE("whatever driver call fails, nothing leaks and the caller's context is current again") {
  for (const bool own_context : {false, true})
    for (const CUresult result : {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY,
                                  CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_DEINITIALIZED}) {
      int calls = 0;
      {
        const FakeDriver driver;
        REQUIRE(use_everything(own_context).ok());
        CHECK(fake().clean());
        CHECK(fake().strict_calls.empty());
        calls = fake().calls;
      }
      REQUIRE(calls > 50);
      for (int k = 1; k <= calls; ++k) {
        const FakeDriver driver;
        fake().fail_at = k;
        fake().fail_with = result;
        const Status status = use_everything(own_context);
        CAPTURE(k);
        CAPTURE(static_cast<int>(result));
        CAPTURE(fake().log.back());
        if (!status.ok()) CHECK(last_failure().message[0] != '\0');
        CHECK(fake().stack.empty());
        CHECK(fake().primary == 0);
        CHECK(fake().libraries.empty());
        CHECK(fake().misuse.empty());
        CHECK(fake().mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
        // If the context cannot be entered, its objects stay. Otherwise nothing is left.
        const std::string& failed = fake().log[static_cast<size_t>(k) - 1];
        if (failed == "CtxPushCurrent") fake().forget_objects();
        CHECK(fake().clean());
      }
    }
}

TEST_CASE("memory whose context cannot be entered can be freed again") {
  const FakeDriver driver;
  auto device = open_fake();
  uint64_t address = 0;
  void* pinned = nullptr;
  REQUIRE(device->allocate(64, &address).ok());
  REQUIRE(device->allocate_host(64, &pinned).ok());
  fake().fail_with = CUDA_ERROR_INVALID_VALUE;
  fake().fail_at = fake().calls + 1;
  CHECK_FALSE(device->release(address).ok());
  fake().fail_at = fake().calls + 1;
  CHECK_FALSE(device->release_host(pinned).ok());
  fake().fail_at = 0;
  CHECK(device->release(address).ok());
  CHECK(device->release_host(pinned).ok());
  device->close();
  CHECK(fake().clean());
}

TEST_CASE("the context that was current stays so") {
  const FakeDriver driver;
  fake().stack.push_back(fake_other_context());
  REQUIRE(use_everything(false).ok());
  CHECK(fake().stack == std::vector<CUcontext>{fake_other_context()});
}

TEST_CASE("a sticky result loses the device and names the kernel") {
  const FakeDriver driver;
  auto device = open_fake();
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Module> module;
  std::unique_ptr<Kernel> kernel;
  REQUIRE(device->create_stream(&stream).ok());
  const Image image = make_cubin();
  REQUIRE(device->load_module(image.data(), image.size(), &module).ok());
  REQUIRE(module->kernel("trap", &kernel).ok());
  uint64_t values[17] = {};
  void* params[] = {values, values + 1, nullptr};
  REQUIRE(stream->launch_params(*kernel, {}, params).ok());
  fake().stream_result = CUDA_ERROR_ILLEGAL_INSTRUCTION;
  CHECK(stream->synchronize().code() == Code::ERROR_DEVICE_LOST);
  CHECK(message_has("trap"));
  CHECK(message_has("715"));
  CHECK(message_has("restart the process"));
  fake().stream_result = CUDA_SUCCESS;
  CHECK(device->check_alive().code() == Code::ERROR_DEVICE_LOST);
  CHECK(last_failure().fault.driver_result == CUDA_ERROR_ILLEGAL_INSTRUCTION);
  stream.reset();
  device->close();
  CHECK(fake().clean());
}

TEST_CASE("a busy stream or event is not ready, and loses nothing") {
  const FakeDriver driver;
  const auto device = open_fake();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  fake().stream_result = CUDA_ERROR_NOT_READY;
  CHECK(stream->query().code() == Code::ERROR_NOT_READY);
  CHECK(device->check_alive().ok());
}

TEST_CASE("a captured stream is not asked, which would destroy the capture") {
  const FakeDriver driver;
  const auto device = open_fake();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  fake().capturing = true;
  fake().log.clear();
  CHECK(stream->synchronize().code() == Code::ERROR_CAPTURE);
  CHECK(stream->query().code() == Code::ERROR_CAPTURE);
  for (const std::string& call : fake().log) {
    CHECK(call != "StreamSynchronize");
    CHECK(call != "StreamQuery");
  }
}

TEST_CASE("wrapped streams must be of the device's context and stay the caller's") {
  const FakeDriver driver;
  auto device = open_fake();
  std::unique_ptr<Stream> stream;
  CHECK(device->wrap_stream(reinterpret_cast<CUstream>(0x999), &stream).code() ==
        Code::ERROR_WRONG_DEVICE);
  REQUIRE(device->wrap_stream(fake_callers_stream(), &stream).ok());
  CHECK(stream->synchronize().ok());
  stream.reset();
  device->close();
  for (const std::string& call : fake().log) CHECK(call != "StreamDestroy");
}

TEST_CASE("launches carry their attributes, kernels their raised limits") {
  const FakeDriver driver;
  const auto device = open_fake();
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Module> module;
  std::unique_ptr<Kernel> kernel;
  REQUIRE(device->create_stream(&stream).ok());
  const Image image = make_cubin();
  REQUIRE(device->load_module(image.data(), image.size(), &module).ok());
  CHECK(module->kernel("missing", &kernel).code() == Code::ERROR_NOT_FOUND);
  REQUIRE(module->kernel("own", &kernel).ok());
  CHECK(fake().function_attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] == 232000);
  CHECK(fake().function_attributes[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED] == 1);
  KernelInfo info;
  REQUIRE(kernel->info(&info).ok());
  CHECK(info.param_count == 2);
  CHECK(info.param_bytes == 256);

  void* params[] = {&info, &info, nullptr};
  LaunchConfig config{.grid = {32, 2, 1},
                      .block = {256, 1, 1},
                      .cluster = {16, 1, 1},
                      .dynamic_smem_bytes = 232000,
                      .programmatic = true};
  REQUIRE(stream->launch_params(*kernel, config, params).ok());
  CHECK(fake().launch.gridDimX == 32);
  CHECK(fake().launch.sharedMemBytes == 232000);
  REQUIRE(fake().attributes.size() == 2);
  CHECK(fake().attributes[0].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  CHECK(fake().attributes[0].value.clusterDim.x == 16);
  CHECK(fake().attributes[1].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  config.dynamic_smem_bytes = 232001;
  CHECK(stream->launch_params(*kernel, config, params).code() == Code::ERROR_INVALID_ARGUMENT);
  REQUIRE(stream->launch_params(*kernel, {}, params).ok());
  CHECK(fake().attributes.empty());
  // The driver reports two parameters; a precompiled kernel has one.
  CHECK(stream->launch(*kernel, {}, &info, sizeof info).code() == Code::ERROR_INTERNAL);
}

TEST_CASE("SMs are set up for shared memory where an entry says so, if the driver likes") {
  const FakeDriver driver;
  constexpr int kCarveout = CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  const auto device = open_fake();
  int first = 0, others = 0;
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    if (!entry.image || (others > 0 && !entry.prefers_shared_carveout)) continue;
    INFO(std::string(entry.symbol));
    fake().function_attributes.clear();
    std::unique_ptr<Kernel> kernel;
    REQUIRE(device->prepare(entry, 0, &kernel).ok());
    ++(entry.prefers_shared_carveout ? first : others);
    CHECK(fake().function_attributes.count(kCarveout) == (entry.prefers_shared_carveout ? 1u : 0u));
    if (!entry.prefers_shared_carveout) continue;
    CHECK(std::string(entry.symbol) == "gemm_realign");
    CHECK(fake().function_attributes[kCarveout] == 100);
    fake().refused_attribute = kCarveout;
    CHECK(device->prepare(entry, 0, &kernel).ok());
    CHECK(device->check_alive().ok());
    fake().refused_attribute = -1;
  }
  CHECK(first == 1);
  CHECK(others == 1);
  device->close();
  CHECK(fake().misuse.empty());
}

TEST_CASE("images that the driver refuses are explained") {
  const FakeDriver driver;
  const auto device = open_fake();
  std::unique_ptr<Module> module;
  const Image image = make_fatbin();
  CHECK(device->load_module("garbage, not an image", 21, &module).code() ==
        Code::ERROR_INVALID_IMAGE);
  CHECK(fake().libraries.empty());
  fake().load_result = CUDA_ERROR_NO_BINARY_FOR_GPU;
  CHECK(device->load_module(image.data(), image.size(), &module).code() ==
        Code::ERROR_NO_KERNEL_IMAGE);
  CHECK(message_has("compute capability 9.0"));
  CHECK(message_has("sm_90 code, compute_90 PTX"));
  fake().load_result = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  CHECK(device->load_module(image.data(), image.size(), &module).code() ==
        Code::ERROR_DRIVER_TOO_OLD);
  CHECK(message_has("580"));
  KernelEntry entry{};
  entry.symbol = "kernel_without_image";
  entry.image = "copy_7";
  entry.family = Family::copy;
  std::unique_ptr<Kernel> kernel;
  CHECK(device->prepare(entry, 0, &kernel).code() == Code::ERROR_NO_KERNEL_IMAGE);
  CHECK(message_has("kernel_without_image"));
}

TEST_CASE("memory: unknown addresses and sizes that do not fit") {
  const FakeDriver driver;
  const auto device = open_fake();
  uint64_t address = 0;
  CHECK(device->allocate(~uint64_t{0}, &address).code() == Code::ERROR_OUT_OF_MEMORY);
  CHECK(address == 0);
  CHECK(device->release(0x1234).code() == Code::ERROR_NOT_FOUND);
}

TEST_CASE("a tensor map that differs from the library's encoding is logged, the driver's is used") {
  const FakeDriver driver;
  const auto device = open_fake();
  int warnings = 0;
  process_log().set([](void* count, int32_t, const char*) { ++*static_cast<int*>(count); },
                    &warnings, LogLevel::warning);
  TensorMapDesc desc;
  desc.global_address = 0x1000;
  desc.global_dim[0] = desc.global_dim[1] = 64;
  desc.global_stride_bytes[0] = 128;
  desc.box_dim[0] = desc.box_dim[1] = 64;
  TensorMapBytes bytes;
  CHECK(device->encode(desc, &bytes).ok());
  process_log().set(nullptr, nullptr, LogLevel::warning);
  CHECK(warnings > 0);
  CHECK(bytes.words[1] == 0xccccccccccccccccu);
  desc.box_dim[0] = 1000;
  fake().log.clear();
  CHECK(device->encode(desc, &bytes).code() == Code::ERROR_RULE);
  CHECK(fake().log.empty());  // refused before any driver call
}

TEST_CASE("a child that is forked while the driver is being initialised does not wait for that") {
  const FakeDriver driver;
  pid_t child = -1;
  fake().on_call = [&](const std::string& name) {
    if (name != "Init" || child >= 0) return;
    child = fork();
    if (child != 0) return;
    alarm(10);  // ends a child that waits
    int32_t count = 0;
    _exit(count_devices(DeviceKind::cuda, &count).code() == Code::ERROR_FORKED ? 0 : 1);
  };
  int32_t count = 0;
  CHECK(count_devices(DeviceKind::cuda, &count).ok());
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a forked child touches no driver") {
  const FakeDriver driver;
  auto device = open_fake();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int calls = fake().calls;
    bool right = device->check_alive().code() == Code::ERROR_FORKED;
    std::shared_ptr<Device> fresh;
    right = right && open_device(DeviceKind::cuda, 0, &fresh).code() == Code::ERROR_FORKED;
    stream.reset();
    device->close();
    device.reset();
    _exit(right && fake().calls == calls ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace tw::test
