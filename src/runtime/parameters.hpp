// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parameters of a launch of the caller's own kernel: packed bytes in, one pointer a parameter out.
//
// The copy is aligned as tensor maps by value want it and lies on the stack of the launching call,
// so a launch allocates nothing; the driver copies the values before the launch returns.

#include <cstddef>
#include <cstdint>

#include "runtime/device.hpp"

namespace tw {

class LaunchParameters {
 public:
  /// As much as a kernel of compute capability 7.0 and up can take.
  static constexpr size_t kMaxBytes = 32764;
  static constexpr uint32_t kMaxCount = 512;

  /// Holds count and sizes against what the kernel says of itself, and copies each value to the
  /// kernel's own offset of it.
  Status unpack(Kernel& kernel, uint32_t count, const uint32_t* sizes, const void* packed);

  void** pointers() { return pointers_; }

 private:
  alignas(128) unsigned char bytes_[kMaxBytes + 4];
  void* pointers_[kMaxCount + 1];
};

}  // namespace tw
