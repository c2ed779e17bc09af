// SPDX-License-Identifier: Apache-2.0
#pragma once
// BitSwizzle: CuTe's Swizzle<B,M,S>, the function x ^ ((x & Y) >> S) on integers. Y selects B bits
// from bit M + max(0,S) on; a negative S shifts left. It is its own inverse, because |S| >= B keeps
// the bits of Y apart from the bits that it changes.

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

/// Fails unless B, M >= 0, |S| >= B and all bits are below 62.
Status check(const BitSwizzle& swizzle);

}  // namespace tw
