// SPDX-License-Identifier: Apache-2.0
#pragma once
// Division of 31-bit numbers by a divisor that the host knows: a multiplication and a shift instead
// of some forty instructions.

#include "kernels/arguments.h"

namespace tw {

/// Divides numbers below 2^31.
struct Divider {
  u32 divisor;
  u32 multiplier;
  u32 shift;
};

/// Numerators must be below this limit, divisors must not exceed it.
inline constexpr u64 kDividerLimit = 1ull << 31;

/// `divisor` is 1 to 2^31. With l = ceil(log2(divisor)) the multiplier is 2^(31+l) / divisor
/// rounded up. Its excess times a numerator below 2^31 is below 2^(31+l), so quotients are exact.
TW_KERNEL_HD constexpr Divider make_divider(u32 divisor) {
  u32 log = 0;
  while ((1ull << log) < divisor) ++log;
  const u64 power = 1ull << (31 + log);
  return {divisor, static_cast<u32>((power + divisor - 1) / divisor), 31 + log};
}

TW_KERNEL_HD constexpr u32 divide(u32 number, const Divider& by) {
  return static_cast<u32>((static_cast<u64>(number) * by.multiplier) >> by.shift);
}

}  // namespace tw
