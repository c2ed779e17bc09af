// SPDX-License-Identifier: Apache-2.0
// Pinned memory, CUDA handles and graphs through the C++ classes.
#include <optional>
#include <string>
#include <tilewright/graph.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "doctest_main.hpp"

namespace {

using namespace tilewright;

template <typename T>
constexpr bool kMoveOnly =
    std::is_nothrow_move_constructible_v<T>&& std::is_nothrow_move_assignable_v<T> &&
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
static_assert(kMoveOnly<Graph> && kMoveOnly<Capture> && kMoveOnly<HostMemory>);

std::optional<Device> open_device() {
  if (std::string(tw::test::test_device()) == "host") return Device::host();
  try {
    return Device::cuda();
  } catch (const Error& error) {
    tw::test::skip(error.what());
    return std::nullopt;
  }
}

template <typename Call>
tw_status thrown(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.status();
  }
  return TW_OK;
}

Graph fill_of(Stream& stream, const Memory& memory, uint8_t value) {
  Capture capture(stream);
  stream.fill(memory.address(), value, memory.bytes());
  return capture.end();
}

TEST_CASE("device graphs are launched and updated") {
  auto device = open_device();
  if (!device) return;
  Stream stream(*device);
  const Memory first(*device, 64), second(*device, 64);
  HostMemory bytes(*device, 64);
  Graph graph = fill_of(stream, first, 7);
  CHECK(thrown([&] { graph.launch(stream); }) == TW_ERROR_INVALID_ARGUMENT);
  graph.instantiate();
  graph.update(fill_of(stream, second, 8));
  stream.fill(second.address(), 1, 64);
  Graph moved(std::move(graph));
  moved.launch(stream);
  stream.to_host(bytes.as<uint8_t>(), second.address());
  stream.synchronize();
  CHECK(bytes.as<uint8_t>()[63] == 8);
}

TEST_CASE("device captures end with their scope") {
  auto device = open_device();
  if (!device) return;
  Stream stream(*device);
  const Memory memory(*device, 64);
  {
    Capture capture(stream);
    Capture moved(std::move(capture));
    CHECK(thrown([&] { stream.synchronize(); }) == TW_ERROR_CAPTURE);
    CHECK(thrown([&] { Capture second(stream); }) == TW_ERROR_CAPTURE);
    CHECK(thrown([&] { stream.synchronize(); }) == TW_ERROR_CAPTURE);  // the capture continues
  }
  stream.synchronize();
  Capture capture(stream);
  capture.end();
  stream.synchronize();
}

TEST_CASE("device memory of the host moves, and goes with its device") {
  auto device = open_device();
  if (!device) return;
  HostMemory first(*device, 100);
  void* const address = first.address();
  HostMemory second(std::move(first));
  CHECK(first.address() == nullptr);
  CHECK(second.address() == address);
  CHECK(second.as<uint64_t>().size() == 12);
  second.reset();
  CHECK(thrown([&] { check(tw_free_host(device->get(), address)); }) == TW_ERROR_NOT_FOUND);
  HostMemory outlives(*device, 100);
  device.reset();
}

TEST_CASE("device handles of CUDA's") {
  auto device = open_device();
  if (!device) return;
  Stream stream(*device);
  Event event(*device);
  if (device->info().kind == TW_DEVICE_HOST) {
    CHECK(thrown([&] { device->cuda_context(); }) == TW_ERROR_WRONG_DEVICE);
    CHECK(thrown([&] { stream.cuda(); }) == TW_ERROR_WRONG_DEVICE);
    CHECK(thrown([&] { event.cuda(); }) == TW_ERROR_WRONG_DEVICE);
    return;
  }
  CHECK(device->cuda_context() != nullptr);
  Stream wrapped(*device, stream.cuda());
  Event same(*device, event.cuda());
  same.record(wrapped);
  event.synchronize();
}

TEST_CASE("device to device") {
  auto device = open_device();
  if (!device) return;
  auto other = open_device();
  Stream stream(*device);
  const Memory here(*device, 64), there(*other, 64);
  std::vector<uint8_t> bytes(64);
  stream.fill(here.address(), 9, 64);
  stream.between_devices(*other, there.address(), *device, here.address(), 64);
  stream.synchronize();
  Stream theirs(*other);
  theirs.to_host(bytes, there);
  theirs.synchronize();
  CHECK(bytes == std::vector<uint8_t>(64, 9));
}

}  // namespace
