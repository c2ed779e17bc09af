// SPDX-License-Identifier: Apache-2.0
// The C++ classes: ownership when objects are moved and destroyed, and exceptions on failure.
// Results of the calls are tested with the C API. Cases named "device ..." run on the device under
// test.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tilewright/tilewright.hpp>
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
static_assert(kMoveOnly<Device> && kMoveOnly<Memory> && kMoveOnly<Stream> && kMoveOnly<Event>);
static_assert(kMoveOnly<Layout> && kMoveOnly<TensorMap> && kMoveOnly<Module>);
static_assert(kMoveOnly<Kernel> && kMoveOnly<Plan>);

/// The device under test; empty, with a message that the case is skipped, if there is none.
std::optional<Device> open_device() {
  if (std::string(tw::test::test_device()) == "host") return Device::host();
  try {
    return Device::cuda();
  } catch (const Error& error) {
    tw::test::skip(error.what());
    return std::nullopt;
  }
}

/// The status that a call throws; TW_OK if it does not throw.
template <typename Call>
tw_status thrown(Call call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(std::string(error.what()) != "");
    return error.status();
  }
  return TW_OK;
}

tw_copy_desc row_of(int64_t count) {
  tw_copy_desc desc = copy_desc();
  desc.dtype = TW_DTYPE_F32;
  desc.rank = 1;
  desc.shape[0] = count;
  desc.src_stride[0] = desc.dst_stride[0] = 1;
  return desc;
}

TEST_CASE("device memory moves, and is freed once") {
  auto device = open_device();
  if (!device) return;
  Stream stream(*device);
  Memory first(*device, 1000);
  const uint64_t address = first.address();
  Memory second(std::move(first));
  CHECK(first.address() == 0);
  CHECK(second.address() == address);
  Memory third(*device, 10);
  third = std::move(second);
  CHECK(third.address() == address);
  CHECK(third.bytes() == 1000);
  Memory& same = third;
  third = std::move(same);  // self-assignment
  CHECK(third.address() == address);

  std::vector<uint8_t> bytes(1000);
  stream.fill(third.address(), 7, third.bytes());
  stream.to_host(bytes, third);
  stream.synchronize();
  CHECK(bytes == std::vector<uint8_t>(1000, 7));
  CHECK(stream.done());
  third.reset();
  CHECK(thrown([&] { check(tw_free(device->get(), address)); }) == TW_ERROR_NOT_FOUND);
}

TEST_CASE("memory is registered until its object ends") {
  Device device = Device::host();
  Stream stream(device);
  std::vector<uint8_t> bytes(64);
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const auto fill = [&] { stream.fill(address, 7, bytes.size()); };
  CHECK(thrown(fill) == TW_ERROR_INVALID_ARGUMENT);
  {
    RegisteredMemory first(device, std::span<uint8_t>(bytes));
    RegisteredMemory second(std::move(first));
    CHECK(first.address() == 0);
    CHECK(second.address() == address);
    CHECK(second.bytes() == 64);
    first = std::move(second);
    fill();
    stream.synchronize();
    CHECK(bytes == std::vector<uint8_t>(64, 7));
  }
  CHECK(thrown(fill) == TW_ERROR_INVALID_ARGUMENT);
  CHECK(thrown([&] { RegisteredMemory(device, 0, 8); }) == TW_ERROR_INVALID_ARGUMENT);
  RegisteredMemory last(device, address, 64);
  { Device gone(std::move(device)); }
  last.reset();  // its device is gone: nothing to free
}

TEST_CASE("device objects outlive their device") {
  auto device = open_device();
  if (!device) return;
  Memory memory(*device, 64);
  Stream stream(*device);
  Event event(*device);
  const Plan plan = Plan::copy(*device, row_of(16));
  Device moved(std::move(*device));
  stream.synchronize();
  { Device gone(std::move(moved)); }
  CHECK(thrown([&] { stream.synchronize(); }) == TW_ERROR_DEVICE_CLOSED);
  CHECK(thrown([&] { plan.run(stream, copy_args()); }) == TW_ERROR_DEVICE_CLOSED);
}

TEST_CASE("a device that is assigned to closes the one it was") {
  Device first = Device::host();
  Device second = Device::host();
  const Stream of_first(first);
  const Stream of_second(second);
  Memory memory(first, 64);
  first = std::move(second);
  CHECK(second.get() == nullptr);
  CHECK(thrown([&] { of_first.synchronize(); }) == TW_ERROR_DEVICE_CLOSED);
  of_second.synchronize();
  Device& same = first;
  first = std::move(same);  // self-assignment
  of_second.synchronize();
  memory.reset();  // its device is gone: nothing to free
}

/// Blocks a thread inside the library: the log callback waits at the first failure until released.
struct Held {
  std::mutex mutex;
  std::condition_variable changed;
  bool inside = false, closed = false;

  static void told(void* user, tw_log_level, const char*) {
    auto& held = *static_cast<Held*>(user);
    std::unique_lock lock(held.mutex);
    if (std::exchange(held.inside, true)) return;
    held.changed.notify_all();
    held.changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return held.closed; });
  }
};

TEST_CASE("a device is closed when its destructor returns, while another thread frees memory") {
  std::optional<Device> device(Device::host());
  const Stream stream(*device);
  Memory memory(*device, 64);
  check(tw_free(device->get(), memory.address()));  // so that the next free fails and logs
  Held held;
  check(tw_log_set(Held::told, &held, TW_LOG_DEBUG));
  std::thread freeing([&] { memory.reset(); });
  {
    std::unique_lock lock(held.mutex);
    held.changed.wait(lock, [&] { return held.inside; });
  }
  device.reset();
  const tw_status status = tw_stream_query(stream.get());
  {
    const std::lock_guard lock(held.mutex);
    held.closed = true;
  }
  held.changed.notify_all();
  freeing.join();
  check(tw_log_set(nullptr, nullptr, TW_LOG_ERROR));
  CHECK(status == TW_ERROR_DEVICE_CLOSED);
}

TEST_CASE("device plans run, and events time them") {
  auto device = open_device();
  if (!device) return;
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8};
  const Memory src(*device, 32);
  const Memory dst(*device, 32);
  Stream stream(*device);
  Event start(*device);
  Event stop(*device);
  stream.to_device(src, values);
  const Plan plan = Plan::copy(*device, row_of(8));
  tw_copy_args args = copy_args();
  args.src = src.address();
  args.dst = dst.address();
  start.record(stream);
  plan.run(stream, args);
  stop.record(stream);
  std::vector<float> result(8);
  stream.to_host(result, dst);
  stream.synchronize();
  CHECK(result == values);
  CHECK(stop.milliseconds_since(start) >= 0);
  CHECK(plan.info().op == TW_OP_COPY);
  CHECK(plan.explain().find(plan.info().kernel) != std::string::npos);
}

TEST_CASE("device gather and scatter take the same arguments") {
  auto device = open_device();
  if (!device) return;
  tw_rows_desc desc = rows_desc();
  desc.dtype = TW_DTYPE_I32;
  desc.table_rows = 3;
  desc.columns = 4;
  desc.count = 3;
  const std::vector<int32_t> table{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23};
  const std::vector<int32_t> index{2, 0, 1};
  const Memory table_memory(*device, 48);
  const Memory index_memory(*device, 12);
  const Memory packed(*device, 48);
  const Memory back(*device, 48);
  Stream stream(*device);
  stream.to_device(table_memory, table);
  stream.to_device(index_memory, index);
  tw_rows_args args = rows_args();
  args.table = table_memory.address();
  args.index = index_memory.address();
  args.packed = packed.address();
  Plan::gather(*device, desc).run(stream, args);
  std::vector<int32_t> result(12);
  stream.to_host(result, packed);
  stream.synchronize();
  CHECK(result == std::vector<int32_t>{20, 21, 22, 23, 0, 1, 2, 3, 10, 11, 12, 13});
  args.table = back.address();
  Plan::scatter(*device, desc).run(stream, args);
  stream.to_host(result, back);
  stream.synchronize();
  CHECK(result == table);
}

TEST_CASE("an error carries status, message and numbers") {
  const Device device = Device::host();
  try {
    const Memory memory(device, ~uint64_t{0});
    FAIL("18 exabytes were allocated");
  } catch (const Error& error) {
    CHECK(error.status() == TW_ERROR_OUT_OF_MEMORY);
    CHECK(error.info().status == TW_ERROR_OUT_OF_MEMORY);
    CHECK(std::string(error.what()) == tw_last_error());
  }
  CHECK(thrown([] { Device(TW_DEVICE_HOST, 1); }) == TW_ERROR_NO_DEVICE);
  CHECK(thrown([&] { Module(device, {}); }) != TW_OK);
  CHECK(Device::count(TW_DEVICE_HOST) == 1);
}

TEST_CASE("layouts") {
  const Layout layout("((2,3),4):((1,8),2)");
  CHECK(layout.text() == "((2,3),4):((1,8),2)");
  CHECK(layout.size() == 24);
  CHECK(layout.rank() == 2);
  CHECK(layout.depth() == 2);
  CHECK(layout.leaves() == 3);
  CHECK(layout(5, 3) == 1 + 16 + 6);
  CHECK(layout(23) == layout(1, 2, 3));
  CHECK(layout.unravel(23) == std::vector<int64_t>{1, 2, 3});
  CHECK(layout.find(layout(7)) == 7);
  CHECK(layout.mode(1).text() == "4:2");
  CHECK(thrown([] { Layout("(2,"); }) == TW_ERROR_PARSE);

  const std::vector<int64_t> shape{8, 6};
  const std::vector<int64_t> tile{4, 3};
  const std::vector<int64_t> one{1, 1};
  const auto [inner, offset] = Layout(shape).local_tile(tile, one);
  CHECK(inner.text() == "(4,3):(1,8)");
  CHECK(offset == 4 + 3 * 8);
  CHECK_THROWS_AS(Layout(shape, std::vector<int64_t>{1}), std::invalid_argument);
  const std::vector<int64_t> coordinate{2, 3};
  CHECK(Layout("(4,5):(1@1,1@0)").coordinate(coordinate) == std::vector<int64_t>{3, 2});
}

TEST_CASE("tensor maps name every broken rule") {
  tw_tensor_map_desc desc = tensor_map_desc();
  desc.global_address = 4096;
  desc.global_dim[0] = desc.global_dim[1] = 64;
  desc.global_stride_bytes[0] = 128;
  desc.box_dim[0] = 64;
  desc.box_dim[1] = 8;
  CHECK(TensorMap::violations(desc, TW_ARCH_SM_90).empty());
  const Device device = Device::host();
  const TensorMap map(device, desc);
  CHECK(map.desc().box_dim[1] == 8);
  CHECK(map.coordinates().text() == "(0,0) o (64,64):(1@1,1@0)");
  CHECK(!map.explain().empty());
  CHECK(map.bytes() == TensorMap(device, desc).bytes());

  desc.global_stride_bytes[0] = 120;
  desc.box_dim[1] = 500;
  const auto broken = TensorMap::violations(desc, TW_ARCH_SM_90);
  CHECK(broken.size() == 2);
  for (const tw_rule_violation& rule : broken) CHECK(std::string(rule.message) != "");
  CHECK(thrown([&] { TensorMap(device, desc); }) == TW_ERROR_RULE);
}

/// A tuning's text with another chip's name.
std::string of_chip(std::string text, const std::string& chip) {
  const size_t name = text.find("\ndevice ") + 8;
  return text.replace(name, text.find('\n', name) - name, chip);
}

TEST_CASE("a tuned gemm takes what was the fastest") {
  const Device device = Device::host();
  const Stream stream(device);
  const Memory memory(device, 8192);
  tw_gemm_desc desc = gemm_desc();
  desc.m = desc.n = desc.k = 32;
  tw_gemm_args args = gemm_args();
  args.a = memory.address();
  args.b = memory.address() + 2048;
  args.d = memory.address() + 4096;
  GemmTuning tuning;
  const tw_gemm_candidate best = tuning.tune(stream, desc, args);
  CHECK(best.microseconds > 0);
  GemmTuning copy;
  copy.load(tuning.text());
  CHECK(copy.text() == tuning.text());

  int chips = 0;
  const auto growing = [&](const tw_gemm_tuning* set, char* buffer, size_t capacity,
                           size_t* length) {
    const tw_status status = tw_gemm_tuning_format(set, buffer, capacity, length);
    // Simulates another thread's load() between two calls that fetch the text.
    if (chips < 3) copy.load(of_chip(tuning.text(), "chip " + std::to_string(chips++)));
    return status;
  };
  const std::string text = detail::text(growing, copy.get());
  CHECK(chips == 3);
  CHECK(text == copy.text());
  const Plan plan = Plan::gemm(device, desc, copy);
  CHECK(std::string(plan.info().kernel) == best.kernel);
  plan.run(stream, args);
  stream.synchronize();
  CHECK(thrown([&] { copy.load("garbage"); }) == TW_ERROR_PARSE);
}

TEST_CASE("a text with a zero byte is refused, not cut there") {
  using namespace std::string_literals;
  GemmTuning tuning;
  const auto refused = [](const char* argument, auto call) {
    CAPTURE(argument);
    try {
      call();
    } catch (const Error& error) {
      CHECK(error.status() == TW_ERROR_INVALID_ARGUMENT);
      CHECK(error.info().struct_size == sizeof(tw_error_info));
      CHECK(std::string(error.info().argument) == argument);
      CHECK(std::string(error.what()).find(argument + " has a zero byte at "s) == 0);
      return;
    }
    FAIL_CHECK("nothing was thrown");
  };
  refused("text", [] { Layout("(4,3):(1,8)\0)garbage"s); });
  refused("text", [&] { tuning.load("tilewright gemm tuning 1\n\0nonsense"s); });
  refused("text", [] { Layout("\0"s); });
  CHECK(Layout("(4,3):(1,8)"s).text() == "(4,3):(1,8)");
}

}  // namespace
