// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rounds floats to tf32 and to i8, with the same bits on the device and on the host.

#include "kernels/arguments.h"

namespace tw {

/// Adding this to a number below 2^22 rounds it to an integer in the lowest bits of the sum.
inline constexpr float kRounder = 0x1.8p23f;

/// Rounds like TFLOAT32 tensor maps: to nearest even, ten bits of mantissa, one pattern for NaN.
TW_KERNEL_HD inline float rounded_to_tf32(float value) {
  const u32 bits = __builtin_bit_cast(u32, value);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const u32 rounded = nan ? 0x7fffe000u : (bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu;
  return __builtin_bit_cast(float, rounded);
}

/// Rounds to nearest even and clamps to -128 .. 127. NaN becomes 0.
TW_KERNEL_HD inline i32 rounded_to_i8(float value) {
  float clamped = value > 127.0f ? 127.0f : value;
  clamped = clamped < -128.0f ? -128.0f : clamped;
  clamped = value == value ? clamped : 0.0f;
#ifdef __CUDA_ARCH__
  const float rounded = __fadd_rn(clamped, kRounder);
#else
  const float rounded = clamped + kRounder;
#endif
  return static_cast<i32>(__builtin_bit_cast(u32, rounded) - __builtin_bit_cast(u32, kRounder));
}

}  // namespace tw
