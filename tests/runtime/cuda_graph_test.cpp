// SPDX-License-Identifier: Apache-2.0
// What a CUDA device shares with other CUDA code, and its graphs, on a fake driver.
#include <memory>
#include <string>

#include "doctest_main.hpp"
#include "fake_driver.hpp"
#include "runtime/device.hpp"
#include "runtime/open/open_device.hpp"

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

std::unique_ptr<Stream> new_stream(Device& device) {
  std::unique_ptr<Stream> stream;
  REQUIRE(device.create_stream(&stream).ok());
  return stream;
}

std::unique_ptr<Graph> captured_fills(Stream& stream, int count) {
  std::unique_ptr<Graph> graph;
  REQUIRE(stream.begin_capture().ok());
  for (int i = 0; i < count; ++i) REQUIRE(stream.fill(0x1000, 0, 16).ok());
  REQUIRE(stream.end_capture(&graph).ok());
  return graph;
}

int calls_of(const char* name) {
  int count = 0;
  for (const std::string& call : fake().log) count += call == name;
  return count;
}

TEST_CASE("the default streams can be wrapped and are not asked whose they are") {
  const FakeDriver driver;
  const auto device = open_fake();
  for (CUstream special : {CUstream{nullptr}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    std::unique_ptr<Stream> stream;
    REQUIRE(device->wrap_stream(special, &stream).ok());
    CUstream_st* handle = fake_callers_stream();
    REQUIRE(stream->cuda_handle(&handle).ok());
    CHECK(handle == special);
    CHECK(stream->fill(0x1000, 0, 16).ok());
    CHECK(stream->synchronize().ok());
    const bool capturable = special == CU_STREAM_PER_THREAD;
    CHECK(stream->begin_capture().code() == (capturable ? Code::OK : Code::ERROR_CAPTURE));
    if (capturable)
      CHECK(stream->end_capture(nullptr).ok());
    else
      CHECK(message_has("legacy default stream"));
  }
  CHECK(calls_of("StreamGetCtx") == 0);
  CHECK(calls_of("StreamDestroy") == 0);
  device->close();
  CHECK(fake().clean());
}

TEST_CASE("handles are exported, and wrapped events stay the caller's") {
  const FakeDriver driver;
  const auto device = open_fake();
  const auto stream = new_stream(*device);
  std::unique_ptr<Event> own, callers;
  REQUIRE(device->create_event(&own).ok());
  REQUIRE(device->wrap_event(fake_callers_event(), &callers).ok());
  CUctx_st* context = nullptr;
  CUstream_st* cuda_stream = nullptr;
  CUevent_st* cuda_event = nullptr;
  REQUIRE(device->cuda_handle(&context).ok());
  CHECK(context == fake_primary());
  REQUIRE(stream->cuda_handle(&cuda_stream).ok());
  CHECK(fake().streams.count(cuda_stream) == 1);
  REQUIRE(own->cuda_handle(&cuda_event).ok());
  CHECK(fake().events.count(cuda_event) == 1);
  REQUIRE(callers->cuda_handle(&cuda_event).ok());
  CHECK(cuda_event == fake_callers_event());
  CHECK(stream->record(*callers).ok());
  CHECK(stream->wait(*callers).ok());
  callers.reset();
  CHECK(calls_of("EventDestroy") == 0);
  own.reset();
  CHECK(calls_of("EventDestroy") == 1);
}

TEST_CASE("a caller's event may have been recorded elsewhere, and may not be able to time") {
  const FakeDriver driver;
  const auto device = open_fake();
  const auto stream = new_stream(*device);
  std::unique_ptr<Event> own, callers;
  REQUIRE(device->create_event(&own).ok());
  REQUIRE(device->wrap_event(fake_callers_event(), &callers).ok());
  float milliseconds = 0;
  CHECK(own->elapsed_since(*callers, &milliseconds).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(message_has("end was never recorded"));
  REQUIRE(stream->record(*own).ok());
  CHECK(own->elapsed_since(*callers, &milliseconds).ok());
  fake().event_without_timing = true;
  CHECK(own->elapsed_since(*callers, &milliseconds).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(message_has("start is a wrapped CUDA event"));
  CHECK(callers->elapsed_since(*own, &milliseconds).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(message_has("end is a wrapped CUDA event"));
  CHECK(device->check_alive().ok());
}

TEST_CASE("copies between devices name both contexts, whichever the stream is of") {
  const FakeDriver driver;
  const auto first = open_fake();
  std::shared_ptr<Device> second;
  REQUIRE(open_cuda_context(fake_other_context(), &second).ok());
  for (const auto& own : {first, second}) {
    const auto stream = new_stream(*own);
    REQUIRE(stream->copy_between(*first, 0x1000, *second, 0x2000, 16).ok());
    CHECK(fake().peers.first == fake_primary());
    CHECK(fake().peers.second == fake_other_context());
    REQUIRE(stream->copy_between(*second, 0x1000, *first, 0x2000, 16).ok());
    CHECK(fake().peers.first == fake_other_context());
    REQUIRE(stream->copy_between(*own, 0x1000, *own, 0x2000, 16).ok());
    CHECK(fake().peers.first == fake().peers.second);
  }
  const auto stream = new_stream(*first);
  second->close();
  CHECK(stream->copy_between(*first, 0x1000, *second, 0x2000, 16).code() ==
        Code::ERROR_DEVICE_CLOSED);
  CHECK(first->check_alive().ok());
  CHECK(fake().stack.empty());
}

TEST_CASE("pinned memory is freed once, by its own device, or with it") {
  const FakeDriver driver;
  auto device = open_fake();
  void *memory = nullptr, *kept = nullptr;
  REQUIRE(device->allocate_host(64, &memory).ok());
  REQUIRE(device->allocate_host(64, &kept).ok());
  CHECK(device->release(reinterpret_cast<uintptr_t>(memory)).code() == Code::ERROR_NOT_FOUND);
  CHECK(device->release_host(memory).ok());
  CHECK(device->release_host(memory).code() == Code::ERROR_NOT_FOUND);
  CHECK(device->allocate_host(~uint64_t{0}, &memory).code() == Code::ERROR_OUT_OF_MEMORY);
  CHECK(fake().host_memory.size() == 1);
  device->close();
  CHECK(fake().clean());
}

TEST_CASE("a graph is launched on any stream and gives everything back") {
  const FakeDriver driver;
  const auto device = open_fake();
  const auto stream = new_stream(*device), other = new_stream(*device);
  auto graph = captured_fills(*stream, 2);
  CHECK(graph->launch(*other).code() == Code::ERROR_INVALID_ARGUMENT);
  REQUIRE(graph->instantiate().ok());
  REQUIRE(graph->instantiate().ok());
  CHECK(fake().execs.size() == 1);
  CHECK(graph->launch(*other).ok());
  CHECK(graph->launch(*stream).ok());
  graph.reset();
  CHECK(fake().execs.empty());
  CHECK(fake().graphs.empty());
  CHECK(fake().strict_calls.empty());
}

TEST_CASE("an update that the driver refuses is explained and undone") {
  const FakeDriver driver;
  const auto device = open_fake();
  const auto stream = new_stream(*device);
  auto graph = captured_fills(*stream, 2), same = captured_fills(*stream, 2);
  auto more = captured_fills(*stream, 3);
  CHECK(graph->update(*same).code() == Code::ERROR_INVALID_ARGUMENT);
  REQUIRE(graph->instantiate().ok());
  REQUIRE(graph->update(*same).ok());
  same.reset();
  CHECK(fake().graphs.size() == 2);  // the first is gone; the one in use is shared
  fake().log.clear();
  CHECK(graph->update(*more).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(message_has("the number of operations or their order differs"));
  CHECK(last_failure().fault.driver_result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  // the second call restores what the first may have changed
  CHECK(calls_of("GraphExecUpdate") == 2);
  CHECK(graph->launch(*stream).ok());
  CHECK(graph->update(*graph).ok());
  // Any other driver failure is reported as it is, and undone too.
  fake().fail_at = fake().calls + 2;  // the call after CtxPushCurrent
  fake().fail_with = CUDA_ERROR_OUT_OF_MEMORY;
  fake().log.clear();
  CHECK(graph->update(*graph).code() == Code::ERROR_OUT_OF_MEMORY);
  CHECK(calls_of("GraphExecUpdate") == 2);
}

TEST_CASE("every reason of the driver's has words") {
  const FakeDriver driver;
  const auto device = open_fake();
  const auto stream = new_stream(*device);
  auto graph = captured_fills(*stream, 1);
  REQUIRE(graph->instantiate().ok());
  std::set<std::string> messages;
  for (int reason = 2; reason <= 8; ++reason) {
    fake().refused_update = reason;
    // If the restore fails as well, its failure is reported instead.
    CHECK(graph->update(*graph).code() == Code::ERROR_DRIVER);
    fake().on_call = [](const std::string& name) {
      if (name == "GraphExecUpdate" && calls_of("GraphExecUpdate") % 2 == 1)
        fake().refused_update = 0;
    };
    fake().log.clear();
    CHECK(graph->update(*graph).code() == Code::ERROR_INVALID_ARGUMENT);
    CHECK(!message_has("no reason"));
    messages.insert(last_failure().message);
    fake().on_call = nullptr;
  }
  CHECK(messages.size() == 6);  // two reasons are both about functions
}

TEST_CASE("states in which nothing is captured or ended") {
  const FakeDriver driver;
  const auto device = open_fake();
  const auto stream = new_stream(*device);
  std::unique_ptr<Graph> graph;
  CHECK(stream->end_capture(&graph).code() == Code::ERROR_CAPTURE);
  CHECK(message_has("tw_stream_begin_capture"));
  REQUIRE(stream->begin_capture().ok());
  CHECK(stream->begin_capture().code() == Code::ERROR_CAPTURE);
  CHECK(message_has("already"));
  bool captured = false;
  CHECK(stream->is_captured(&captured).ok());
  CHECK(captured);
  CHECK(stream->synchronize().code() == Code::ERROR_CAPTURE);
  // Ending a broken capture ends it, whether or not the caller wants the graph.
  for (const bool wanted : {true, false}) {
    fake().fail_at = fake().calls + 3;  // the call after CtxPushCurrent and StreamIsCapturing
    fake().fail_with = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    CHECK(stream->end_capture(wanted ? &graph : nullptr).code() ==
          (wanted ? Code::ERROR_CAPTURE : Code::OK));
    CHECK(graph == nullptr);
    CHECK(stream->synchronize().ok());
    REQUIRE(stream->begin_capture().ok());
  }
  REQUIRE(stream->end_capture(nullptr).ok());
  CHECK(fake().graphs.empty());
}

TEST_CASE("a stream or a device that ends in a capture discards it") {
  const FakeDriver driver;
  auto device = open_fake();
  auto stream = new_stream(*device), kept = new_stream(*device);
  auto graph = captured_fills(*stream, 1);
  REQUIRE(graph->instantiate().ok());
  REQUIRE(stream->begin_capture().ok());
  REQUIRE(kept->begin_capture().ok());
  stream.reset();
  CHECK(fake().captures.size() == 1);
  CHECK(fake().misuse.empty());
  device->close();
  CHECK(fake().clean());
  const int calls = fake().calls;
  graph.reset();
  kept.reset();
  CHECK(fake().calls == calls);
}

TEST_CASE("a driver without an optional function lacks one feature") {
  const FakeDriver driver;
  const auto device = open_fake();
  const auto stream = new_stream(*device);
  const auto lacks = [&](auto member, auto&& call) {
    const auto kept = fake_table()->*member;
    fake_table()->*member = nullptr;
    const Status status = call();
    CHECK(status.code() == Code::ERROR_DRIVER_TOO_OLD);
    CHECK(message_has("update the driver"));
    fake_table()->*member = kept;
  };
  void* memory = nullptr;
  lacks(&Driver::MemHostAlloc, [&] { return device->allocate_host(16, &memory); });
  lacks(&Driver::MemFreeHost, [&] { return device->allocate_host(16, &memory); });
  lacks(&Driver::MemcpyPeerAsync,
        [&] { return stream->copy_between(*device, 0x1000, *device, 0x2000, 16); });
  const auto begin = [&] { return stream->begin_capture(); };
  lacks(&Driver::StreamBeginCapture, begin);
  lacks(&Driver::StreamEndCapture, begin);
  lacks(&Driver::GraphInstantiateWithFlags, begin);
  lacks(&Driver::GraphLaunch, begin);
  lacks(&Driver::GraphExecUpdate, begin);
  lacks(&Driver::GraphExecDestroy, begin);
  lacks(&Driver::GraphDestroy, begin);
  CHECK(device->check_alive().ok());
  CHECK(stream->fill(0x1000, 0, 16).ok());
}

}  // namespace
}  // namespace tw::test
