// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor division, which reads the digits of a number in a mixed radix.

#include <cstdint>

namespace tw {

struct Digit {
  int64_t quotient;
  int64_t remainder;
};

/// Floor division by a positive extent: 0 <= remainder < extent. It divides in 32 bits if both fit,
/// which is several times faster on older processors.
inline Digit divide(int64_t x, int64_t extent) {
  if (((x | extent) >> 32) == 0) {
    const auto a = static_cast<uint32_t>(x), b = static_cast<uint32_t>(extent);
    return {a / b, a % b};
  }
  int64_t quotient = x / extent, remainder = x % extent;
  if (remainder < 0) {
    remainder += extent;
    --quotient;
  }
  return {quotient, remainder};
}

}  // namespace tw
