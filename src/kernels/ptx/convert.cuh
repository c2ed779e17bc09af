// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversions of pairs of 8-bit floats, one instruction each.

#include "kernels/arguments.h"

namespace tw::ptx {

/// Converts two e4m3 numbers to two f16 numbers, which is exact.
__device__ __forceinline__ u32 e4m3_to_f16(unsigned short pair) {
  u32 halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
  return halves;
}

/// Packs two numbers, rounded to nearest even and saturated (infinities too). Every NaN becomes
/// 0x7f.
__device__ __forceinline__ u32 pack_e4m3(float low, float high) {
  unsigned short pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ u32 pack_e5m2(float low, float high) {
  unsigned short pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
}

}  // namespace tw::ptx
