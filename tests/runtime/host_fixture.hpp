// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opens a host device and defines kernels for tests to run on it.

#include <memory>
#include <string>

#include "doctest_main.hpp"
#include "kernels/common/host_engine.hpp"
#include "runtime/device.hpp"
#include "runtime/host/host_device.hpp"
#include "runtime/open/open_device.hpp"

namespace tw::test {

inline std::shared_ptr<Device> open_host() {
  std::shared_ptr<Device> device;
  REQUIRE(open_device(DeviceKind::host, 0, &device).ok());
  return device;
}

inline std::unique_ptr<Stream> make_stream(Device& device) {
  std::unique_ptr<Stream> stream;
  REQUIRE(device.create_stream(&stream).ok());
  return stream;
}

inline std::unique_ptr<Event> make_event(Device& device) {
  std::unique_ptr<Event> event;
  REQUIRE(device.create_event(&event).ok());
  return event;
}

inline KernelEntry host_entry(const char* symbol, HostBody body) {
  KernelEntry entry{};
  entry.family = Family::copy;
  entry.feature = feature::host;
  entry.symbol = symbol;
  entry.host = body;
  entry.threads = 128;
  return entry;
}

inline std::unique_ptr<Kernel> make_kernel(Device& device, const KernelEntry& entry) {
  std::unique_ptr<Kernel> kernel;
  REQUIRE(device.prepare(entry, 0, &kernel).ok());
  return kernel;
}

inline bool message_has(const char* part) {
  return std::string(last_failure().message).find(part) != std::string::npos;
}

inline uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

}  // namespace tw::test
