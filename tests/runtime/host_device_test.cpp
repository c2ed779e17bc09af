// SPDX-License-Identifier: Apache-2.0
// The host device: allocation, closing, loss, forking, and what it refuses.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "host_fixture.hpp"
#include "runtime/fork_mark.hpp"

extern "C" {
long __real_sysconf(int name);
long __wrap_sysconf(int name);
void* __real_aligned_alloc(size_t alignment, size_t bytes);
void* __wrap_aligned_alloc(size_t alignment, size_t bytes);
int __real_madvise(void* page, size_t bytes, int advice);
int __wrap_madvise(void* page, size_t bytes, int advice);
}

namespace tw::test {
namespace {

bool g_memory_unknown = false;
bool g_no_memory = false;
enum class Advice { followed, refused, ignored } g_advice = Advice::followed;

}  // namespace
}  // namespace tw::test

long __wrap_sysconf(int name) {
  return tw::test::g_memory_unknown && name == _SC_PHYS_PAGES ? -1 : __real_sysconf(name);
}

void* __wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return tw::test::g_no_memory ? nullptr : __real_aligned_alloc(alignment, bytes);
}

int __wrap_madvise(void* page, size_t bytes, int advice) {
  using tw::test::Advice;
  if (tw::test::g_advice == Advice::followed) return __real_madvise(page, bytes, advice);
  return tw::test::g_advice == Advice::ignored ? 0 : -1;
}

namespace tw::test {
namespace {

TEST_CASE("what the host device says of itself") {
  const auto device = open_host();
  CHECK(device->info().kind == DeviceKind::host);
  CHECK(device->info().features == feature::host);
  CHECK(device->info().compute_major == 0);
  CHECK(device->info().sm_count == 1);
  CHECK(device->info().total_memory_bytes > 0);
  int32_t count = 0;
  CHECK(count_devices(DeviceKind::host, &count).ok());
  CHECK(count == 1);
  std::shared_ptr<Device> none;
  CHECK(open_device(DeviceKind::host, 1, &none).code() == Code::ERROR_NO_DEVICE);
  CHECK(open_device(DeviceKind::host, -1, &none).code() == Code::ERROR_NO_DEVICE);
  CHECK(none == nullptr);
}

TEST_CASE("allocations are aligned, known, and freed once") {
  const auto device = open_host();
  uint64_t address = 0;
  REQUIRE(device->allocate(1, &address).ok());
  CHECK(address % 256 == 0);
  std::memset(reinterpret_cast<void*>(address), 1, 1);
  CHECK(device->release(address + 1).code() == Code::ERROR_NOT_FOUND);
  CHECK(device->release(address).ok());
  CHECK(device->release(address).code() == Code::ERROR_NOT_FOUND);
  int local = 0;
  CHECK(device->release(address_of(&local)).code() == Code::ERROR_NOT_FOUND);
}

TEST_CASE("an allocation larger than the machine is refused with the numbers") {
  const auto device = open_host();
  for (const uint64_t bytes : {uint64_t{1} << 60, ~uint64_t{0}, ~uint64_t{0} - 255}) {
    uint64_t address = 0;
    CHECK(device->allocate(bytes, &address).code() == Code::ERROR_OUT_OF_MEMORY);
    CHECK(address == 0);
    CHECK(message_has(std::to_string(bytes).c_str()));
  }
}

TEST_CASE("an allocation that the machine would have room for is refused in other words") {
  const auto device = open_host();
  uint64_t address = 0;
  g_no_memory = true;
  const Status status = device->allocate(1 << 20, &address);
  g_no_memory = false;
  CHECK(status.code() == Code::ERROR_OUT_OF_MEMORY);
  CHECK(address == 0);
  CHECK(message_has("1048576 bytes"));
  CHECK(message_has("the process has reached its limit"));
  CHECK_FALSE(message_has("the machine has"));
  CHECK(last_failure().fault.limit == 0);
}

TEST_CASE("a size that rounding up would wrap is refused where the machine's memory is unknown") {
  g_memory_unknown = true;
  const auto device = open_host();
  g_memory_unknown = false;
  REQUIRE(device->info().total_memory_bytes == 0);
  for (const uint64_t bytes : {~uint64_t{0}, ~uint64_t{0} - 254}) {
    uint64_t address = 0;
    CHECK(device->allocate(bytes, &address).code() == Code::ERROR_OUT_OF_MEMORY);
    CHECK(address == 0);
  }
  uint64_t address = 0;
  CHECK(device->allocate(1000, &address).ok());
}

TEST_CASE("a closed device refuses by name, and its objects can still be destroyed") {
  auto device = open_host();
  auto stream = make_stream(*device);
  auto event = make_event(*device);
  uint64_t address = 0;
  REQUIRE(device->allocate(1 << 20, &address).ok());  // freed by close(), as leak checkers verify
  REQUIRE(stream->fill(address, 1, 1 << 20).ok());
  device->close();
  device->close();
  CHECK(device->check_alive().code() == Code::ERROR_DEVICE_CLOSED);
  CHECK(stream->device()->check_alive().code() == Code::ERROR_DEVICE_CLOSED);
  CHECK(stream->fill(address, 1, 1).code() == Code::ERROR_DEVICE_CLOSED);
  device.reset();
  CHECK(event->device()->check_alive().code() == Code::ERROR_DEVICE_CLOSED);
  stream.reset();
  event.reset();
}

TEST_CASE("the host device refuses what only a GPU can do") {
  const auto device = open_host();
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Module> module;
  std::unique_ptr<Kernel> kernel;
  CHECK(device->wrap_stream(reinterpret_cast<CUstream_st*>(16), &stream).code() ==
        Code::ERROR_WRONG_DEVICE);
  CHECK(device->load_module("x", 1, &module).code() == Code::ERROR_WRONG_DEVICE);
  const KernelEntry device_entry = host_entry("no_body", nullptr);
  CHECK(device->prepare(device_entry, 0, &kernel).code() == Code::ERROR_UNSUPPORTED);
  CHECK(message_has("no_body"));
  const KernelEntry entry = host_entry("entry", [](HostEngine&, const void*) {});
  CHECK(device->prepare(entry, HostEngine::kSharedBytes + 1, &kernel).code() ==
        Code::ERROR_UNSUPPORTED);
}

struct Bulk {
  uint64_t src;
  uint64_t dst;
  uint32_t bytes;
};
void bulk_copy(HostEngine& engine, const void* arguments) {
  const auto& a = *static_cast<const Bulk*>(arguments);
  engine.load_bulk(a.src, 0, a.bytes);
  engine.store_bulk(a.dst, 0, a.bytes);
}

TEST_CASE("launches count what they move") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  const KernelEntry entry = host_entry("bulk_copy", bulk_copy);
  const auto kernel = make_kernel(*device, entry);
  uint64_t address = 0;
  REQUIRE(device->allocate(512, &address).ok());
  REQUIRE(stream->fill(address, 3, 256).ok());
  REQUIRE(stream->fill(address + 256, 0, 256).ok());
  const Bulk arguments{address, address + 256, 256};
  for (int i = 0; i < 3; ++i)
    REQUIRE(stream->launch(*kernel, LaunchConfig{}, &arguments, sizeof arguments).ok());
  REQUIRE(stream->synchronize().ok());
  CHECK(host_counters(*device).boxes_loaded == 3);
  CHECK(host_counters(*device).boxes_stored == 3);
  CHECK(reinterpret_cast<const unsigned char*>(address)[511] == 3);
}

TEST_CASE("a fault loses the device for good, names itself, and drops later work") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  const auto other = make_stream(*device);
  const auto event = make_event(*device);
  const KernelEntry entry = host_entry("bulk_copy_by_8", bulk_copy);
  const auto kernel = make_kernel(*device, entry);
  uint64_t address = 0;
  REQUIRE(device->allocate(512, &address).ok());
  REQUIRE(stream->fill(address, 0, 512).ok());
  // not a multiple of 16 bytes, so that the bulk copy faults
  const Bulk arguments{address, address + 256, 8};
  REQUIRE(stream->launch(*kernel, LaunchConfig{}, &arguments, sizeof arguments).ok());
  REQUIRE(stream->fill(address, 1, 512).ok());
  REQUIRE(stream->record(*event).ok());
  (void)other->wait(*event);
  CHECK(stream->synchronize().code() == Code::ERROR_DEVICE_LOST);
  CHECK(message_has("bulk_copy_by_8"));
  CHECK(message_has("open it again"));
  CHECK(last_failure().fault.driver_result != 0);
  CHECK(reinterpret_cast<const unsigned char*>(address)[0] == 0);
  CHECK(event->synchronize().code() == Code::ERROR_DEVICE_LOST);
  CHECK(other->synchronize().code() == Code::ERROR_DEVICE_LOST);
  CHECK(device->check_alive().code() == Code::ERROR_DEVICE_LOST);
  // Other devices are unaffected.
  CHECK(open_host()->check_alive().ok());
}

TEST_CASE("a forked child is refused and may destroy what it inherited") {
  auto device = open_host();
  auto stream = make_stream(*device);
  uint64_t address = 0;
  REQUIRE(device->allocate(256, &address).ok());
  REQUIRE(stream->fill(address, 1, 256).ok());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool refused = device->check_alive().code() == Code::ERROR_FORKED;
    stream.reset();
    device->close();
    device.reset();
    std::shared_ptr<Device> fresh;
    const bool opens = open_device(DeviceKind::host, 0, &fresh).ok() && fresh->check_alive().ok();
    _exit(refused && opens ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(stream->synchronize().ok());
}

TEST_CASE("a forked child is known where the system refuses advice on memory, or ignores it") {
  for (const Advice advice : {Advice::followed, Advice::refused, Advice::ignored}) {
    g_advice = advice;
    const ForkMark mark;
    g_advice = Advice::followed;
    CHECK(!mark.forked());
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(mark.forked() ? 0 : 1);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(!mark.forked());
  }
}

TEST_CASE("a tensor map's broken rule is found on the host device too") {
  const auto device = open_host();
  TensorMapDesc desc;
  desc.dtype = DType::BF16;
  desc.rank = 2;
  desc.global_address = 0x1000;
  desc.global_dim[0] = desc.global_dim[1] = 64;
  desc.global_stride_bytes[0] = 128;
  desc.box_dim[0] = desc.box_dim[1] = 64;
  TensorMapBytes bytes;
  CHECK(device->encode(desc, &bytes).ok());
  CHECK(bytes.words[0] == 0x1000);
  desc.box_dim[0] = 257;
  CHECK(device->encode(desc, &bytes).code() == Code::ERROR_RULE);
}

}  // namespace
}  // namespace tw::test
