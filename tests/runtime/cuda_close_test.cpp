// SPDX-License-Identifier: Apache-2.0
// Closing a CUDA device, on a fake driver: close() waits for threads that are inside the driver,
// and later calls fail without reaching it.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "doctest_main.hpp"
#include "fake_driver.hpp"
#include "runtime/device.hpp"
#include "runtime/open/open_device.hpp"

namespace tw::test {
namespace {

std::shared_ptr<Device> open_fake() {
  std::shared_ptr<Device> device;
  REQUIRE(open_device(DeviceKind::cuda, 0, &device).ok());
  return device;
}

TEST_CASE("objects that outlive their device give nothing back twice") {
  const FakeDriver driver;
  auto device = open_fake();
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Event> event;
  uint64_t address = 0;
  REQUIRE(device->create_stream(&stream).ok());
  REQUIRE(device->create_event(&event).ok());
  REQUIRE(device->allocate(64, &address).ok());
  device->close();
  CHECK(fake().clean());
  const int calls = fake().calls;
  CHECK(stream->device()->check_alive().code() == Code::ERROR_DEVICE_CLOSED);
  device.reset();
  stream.reset();
  event.reset();
  CHECK(fake().calls == calls);
}

TEST_CASE("a device is closed when nobody is inside the driver for it any more") {
  // While a thread uses the stream or is about to destroy it, another thread closes the device.
  for (const char* call : {"MemsetD8Async", "StreamDestroy"}) {
    const FakeDriver driver;
    const auto device = open_fake();
    std::unique_ptr<Stream> stream;
    REQUIRE(device->create_stream(&stream).ok());
    std::thread closer;
    bool early = false;
    fake().on_call = [&](const std::string& name) {
      if (name != call || closer.joinable()) return;
      closer = std::thread([&] { device->close(); });
      while (device->check_alive().ok()) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      early = fake().primary == 0;
    };
    if (call[0] == 'M')
      CHECK(stream->fill(0x1000, 0, 16).ok());
    else
      stream.reset();
    REQUIRE(closer.joinable());
    closer.join();
    fake().on_call = nullptr;
    CHECK_FALSE(early);
    CHECK(fake().clean());
    if (!stream) continue;
    const int calls = fake().calls;
    CHECK(stream->fill(0x1000, 0, 16).code() == Code::ERROR_DEVICE_CLOSED);
    CHECK(stream->query().code() == Code::ERROR_DEVICE_CLOSED);
    stream.reset();
    CHECK(fake().calls == calls);
  }
}

/// Waits for the stream or its event while another thread closes the device.
Status wait_for(bool event, Stream& stream, Event& recorded) {
  return event ? recorded.synchronize() : stream.synchronize();
}

TEST_CASE("work is waited for while another thread, closing the device, waits for it") {
  for (const bool by_event : {false, true}) {
    const FakeDriver driver;
    const auto device = open_fake();
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> event;
    REQUIRE(device->create_stream(&stream).ok());
    REQUIRE(device->create_event(&event).ok());
    REQUIRE(stream->record(*event).ok());
    std::atomic<bool> waiting{false}, done{false};
    fake().on_call = [&](const std::string& name) {
      if (name != "StreamSynchronize") return;
      waiting = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      done = true;
    };
    std::thread closer([&] { device->close(); });
    while (!waiting) std::this_thread::yield();
    CHECK(wait_for(by_event, *stream, *event).code() == Code::ERROR_DEVICE_CLOSED);
    CHECK(done);
    closer.join();
    fake().on_call = nullptr;
    CHECK(fake().clean());
    // After that a wait returns at once and makes no driver call.
    const int calls = fake().calls;
    CHECK(wait_for(by_event, *stream, *event).code() == Code::ERROR_DEVICE_CLOSED);
    CHECK(fake().calls == calls);
  }
}

TEST_CASE("work is waited for although closing the device has begun and not come so far") {
  for (const bool by_event : {false, true}) {
    const FakeDriver driver;
    const auto device = open_fake();
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> event;
    REQUIRE(device->create_stream(&stream).ok());
    REQUIRE(device->create_event(&event).ok());
    REQUIRE(stream->record(*event).ok());
    std::thread closer, waiter;
    std::atomic<bool> done{false}, late{false}, returned{false};
    // The thread inside MemsetD8Async delays close(). It also owns the fake driver's counters, so
    // that no other thread may enter the fake driver meanwhile.
    fake().on_call = [&](const std::string& name) {
      if (name == "StreamSynchronize" || name == "EventSynchronize") done = true;
      if (name != "MemsetD8Async") return;
      closer = std::thread([&] { device->close(); });
      while (device->check_alive().ok()) std::this_thread::yield();
      waiter = std::thread([&] {
        (void)wait_for(by_event, *stream, *event);
        late = !done;
        returned = true;
      });
      // The waiter must get in before close(): a lock that prefers writers would hold it back.
      for (int i = 0; i < 200 && !returned; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    CHECK(stream->fill(0x1000, 0, 16).ok());
    waiter.join();
    closer.join();
    fake().on_call = nullptr;
    CHECK(returned);
    CHECK_FALSE(late);
    CHECK(fake().clean());
  }
}

}  // namespace
}  // namespace tw::test
