// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns the packed parameters of a caller's own kernel into one pointer per parameter, as
// cuLaunchKernelEx wants them.
//
// The object lies on the stack of the launching call, so a launch allocates nothing; the driver
// copies the values before the launch returns. The 128-byte alignment suits tensor maps by value.

#include <cstddef>
#include <cstdint>

#include "runtime/device.hpp"

namespace tw {

class LaunchParameters {
 public:
  /// The limit for kernels of compute capability 7.0 and up.
  static constexpr size_t kMaxBytes = 32764;
  static constexpr uint32_t kMaxCount = 512;

  /// Checks `count` and `sizes` against the kernel's own parameter list and copies each value to
  /// its offset there. `packed` holds the values one after the other without padding.
  Status unpack(Kernel& kernel, uint32_t count, const uint32_t* sizes, const void* packed);

  void** pointers() { return pointers_; }

 private:
  alignas(128) unsigned char bytes_[kMaxBytes + 4];
  void* pointers_[kMaxCount + 1];
};

}  // namespace tw
