// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by all device tests: the device under test, guarded memory, random numbers.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "doctest_main.hpp"
#include "runtime/cuda/open_cuda.hpp"
#include "runtime/device.hpp"
#include "runtime/host/host_device.hpp"
#ifdef TW_PTX_MACHINE
#include "tests/ptx_machine/device/recorded_device.hpp"
#endif

#define TW_REQUIRE_OK(expression)              \
  do {                                         \
    const ::tw::Status status_ = (expression); \
    INFO(::tw::last_failure().message);        \
    REQUIRE(status_.ok());                     \
  } while (0)

namespace tw::test {

/// Returns the device under test (TW_TEST_DEVICE), opened once per process. Skips the test case and
/// returns nullptr if there is none; opening the host device must not fail.
inline std::shared_ptr<Device> open_test_device() {
  static std::shared_ptr<Device> device;
  if (device) return device;
  if (std::string(test_device()) == "host") {
    TW_REQUIRE_OK(open_host_device(&device));
  } else if (std::string(test_device()) == "ptx") {
#ifdef TW_PTX_MACHINE
    if (!ptx_machine::open_test_machine(&device).ok()) skip(last_failure().message);
#else
    skip("this program has no PTX machine");
#endif
  } else if (!open_cuda_device(0, &device).ok()) {
    skip(last_failure().message);
    return nullptr;
  }
  return device;
}

inline std::unique_ptr<Stream> new_stream(const std::shared_ptr<Device>& device) {
  std::unique_ptr<Stream> stream;
  TW_REQUIRE_OK(device->create_stream(&stream));
  return stream;
}

/// Whether a test runs this kernel: all, or with TW_KERNELS=text those whose name has the text.
inline bool is_chosen_kernel(const std::string& name) {
  const char* text = std::getenv("TW_KERNELS");
  return !text || name.find(text) != std::string::npos;
}

/// Device memory between guards: `bytes` at an address `offset` past a multiple of 1024. All of it
/// starts as kPoison. read() copies everything back, and guards_intact() checks the guards.
class Guarded {
 public:
  static constexpr uint64_t kGuard = 4096;
  static constexpr uint8_t kPoison = 0xa7;

  Guarded(const std::shared_ptr<Device>& device, Stream& stream, uint64_t bytes,
          uint64_t offset = 0)
      : device_(device), stream_(stream), bytes_(bytes), before_(kGuard + offset) {
    image_.assign(before_ + bytes + kGuard + 1024, kPoison);
    TW_REQUIRE_OK(device_->allocate(image_.size() + 1024, &base_));
    aligned_ = (base_ + 1023) / 1024 * 1024;
    upload();
  }
  ~Guarded() {
    if (!device_->release(base_).ok()) MESSAGE(last_failure().message);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  uint64_t address() const { return aligned_ + before_; }
  uint64_t bytes() const { return bytes_; }
  /// Host image of the memory between the guards: upload() after writing, read() before reading.
  uint8_t* data() { return image_.data() + before_; }
  void upload() {
    TW_REQUIRE_OK(stream_.copy_to_device(aligned_, image_.data(), image_.size()));
    TW_REQUIRE_OK(stream_.synchronize());
  }
  void read() {
    TW_REQUIRE_OK(stream_.copy_to_host(image_.data(), aligned_, image_.size()));
    TW_REQUIRE_OK(stream_.synchronize());
  }
  bool guards_intact() const {
    for (uint64_t i = 0; i < image_.size(); ++i)
      if ((i < before_ || i >= before_ + bytes_) && image_[i] != kPoison) return false;
    return true;
  }

 private:
  std::shared_ptr<Device> device_;
  Stream& stream_;
  uint64_t bytes_;
  uint64_t before_;
  uint64_t base_ = 0;
  uint64_t aligned_ = 0;
  std::vector<uint8_t> image_;
};

/// A random number from low to high, both included.
inline int64_t pick(std::mt19937_64& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

}  // namespace tw::test
