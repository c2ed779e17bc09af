// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/device/common/live_driver.hpp"

namespace tw::test {

/// Host memory that the GPU reads over its bus. A staging copy from there takes several times as
/// long as the start of a GEMM kernel, which makes a missing wait visible.
class FarMemory {
 public:
  explicit FarMemory(size_t bytes) {
    if (driver_.open()) REQUIRE(driver_.allocate_host(&memory_, bytes, 0) == 0);
    REQUIRE(memory_ != nullptr);
  }
  ~FarMemory() { CHECK(driver_.release_host(memory_) == 0); }
  FarMemory(const FarMemory&) = delete;
  FarMemory& operator=(const FarMemory&) = delete;
  void* data() const { return memory_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory_); }
  /// Copies bytes of device memory here.
  void take(uint64_t from, size_t bytes) { CHECK(driver_.to_host(memory_, from, bytes) == 0); }

 private:
  LiveDriver driver_;
  void* memory_ = nullptr;
};

}  // namespace tw::test
