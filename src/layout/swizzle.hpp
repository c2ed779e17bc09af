// SPDX-License-Identifier: Apache-2.0
#pragma once
// BitSwizzle: CuTe's Swizzle<B,M,S>, a function on integers: x ^ ((x & Y) >> S) where Y selects B
// bits from bit M + max(0,S) on; a negative S shifts left. Its own inverse, as Y's bits and the
// bits that they are mixed into never overlap (|S| >= B).

#include <cstdint>

#include "base/status.hpp"

namespace tw {

struct BitSwizzle {
  int32_t bits = 0;   ///< B; 0 is the identity
  int32_t base = 0;   ///< M
  int32_t shift = 0;  ///< S

  uint64_t source_mask() const {
    return ((uint64_t{1} << bits) - 1) << (base + (shift > 0 ? shift : 0));
  }
  uint64_t target_mask() const {
    return ((uint64_t{1} << bits) - 1) << (base + (shift < 0 ? -shift : 0));
  }
  int64_t operator()(int64_t x) const {
    const uint64_t picked = static_cast<uint64_t>(x) & source_mask();
    return x ^ static_cast<int64_t>(shift >= 0 ? picked >> shift : picked << -shift);
  }
  bool is_identity() const { return bits == 0; }
  friend bool operator==(const BitSwizzle& a, const BitSwizzle& b) {
    return a.bits == b.bits && a.base == b.base && a.shift == b.shift;
  }
};

/// Holds a swizzle against its rules: B, M >= 0, |S| >= B, every bit below 62.
Status check(const BitSwizzle& swizzle);

}  // namespace tw
