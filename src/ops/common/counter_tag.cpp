// SPDX-License-Identifier: Apache-2.0
#include "ops/common/counter_tag.hpp"

#include <chrono>

#include "kernels/gemm/arguments/gemm_stream.h"

namespace tw {

u64 counter_tag() {
  static const auto start =
      static_cast<u64>(std::chrono::steady_clock::now().time_since_epoch().count());
  u64 z = start + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return ((z ^ (z >> 31)) | (kGemmStreamCounterFields + 1)) & ~kGemmStreamCounterFields;
}

}  // namespace tw
